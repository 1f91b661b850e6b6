"""Thresholds of a development set: they come from the JSON of an evaluation there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from spoofspan.base.errors import DataError, UsageError
from spoofspan.measures.measure import Measure

# How a signature says that utterance scores were given.
GIVEN = "|utterance-scores:given|"


def read_eer_threshold(path: Path, measures: Sequence[str], *, given: bool = False) -> float:
    """Read the threshold of the EER, of the same basis as the measures, from the JSON of an evaluation.

    ``given`` utterance scores have thresholds of their own, which must not be mixed up with those of lowest scores.
    """
    bases = {str(Measure.parse(one).eer) for one in measures}
    if len(bases) > 1:
        raise UsageError(
            f"--threshold-from: {' and '.join(sorted(bases))} have thresholds of their own; measure them apart"
        )
    wanted = bases.pop() if bases else "range-eer"
    try:
        found = json.loads(path.expanduser().read_text(encoding="utf-8"))["measurements"]
        thresholds = {one["measure"]: one["threshold"] for one in found}
        of_given = {one["measure"] for one in found if GIVEN in one["signature"]["comparable"]}
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{path}: not the JSON of an evaluation; write one with eval --format json --out") from None
    if wanted not in thresholds:
        raise DataError(f"{path}: it has no {wanted} (only {', '.join(thresholds)}); evaluate it there as well")
    if wanted == "utterance-eer" and given != (wanted in of_given):
        there, here = ("given utterance scores", "lowest scores")[:: 1 if wanted in of_given else -1]
        raise DataError(f"{path}: its {wanted} is of {there}, and here it would be of {here}; evaluate both alike")
    return float(thresholds[wanted])

"""PartialSpoof's ``log_output_{set}``: ``Output, <utt>, <label>, <20ms>, ..., <640ms>, <utterance>``; high = bona fide.

Each resolution's value is the minimum over the utterance, so all of them are utterance scores; the last one, the
score of the utterance branch, is read unless ``column`` names another (``20ms``, ``40ms``, ..., ``640ms``). Other
lines of the log are passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.sources import Source
from spoofspan.formats.text.score_fields import first_lines, polarity, wrong_width
from spoofspan.formats.text.utterance_scores import UtteranceRows

MARK = "Output,"
COLUMNS = {"20ms": 3, "40ms": 4, "80ms": 5, "160ms": 6, "320ms": 7, "640ms": 8, "utterance": 9}
WIDTH = 10


def recognises(head: bytes) -> bool:
    """Whether there are lines of output, each with its ten fields."""
    lines = [line.split(",") for line in first_lines(head) if line.startswith(MARK)]
    return bool(lines) and all(len(fields) == WIDTH for fields in lines)


def read(sources: Sequence[Source], options: ReadOptions) -> UtteranceScores:
    """Read the utterance scores of a log."""
    name = "utterance" if options.column is None else options.column
    if name not in COLUMNS:
        raise UsageError(f"no column {name!r}: {nearest_name(name, COLUMNS)}")
    higher = polarity("bonafide", options, "log-output")
    rows = UtteranceRows()
    for source in sources:
        for number, line in source.lines():
            if not line.startswith(MARK):
                continue
            place, fields = f"{source.name}:{number}", [field.strip() for field in line.split(",")]
            if len(fields) != WIDTH:
                rows.problems.add(
                    wrong_width(place, fields[1:], "utterance, label, six minima, score")
                    + " (decimals have a point, not a comma)"
                )
            else:
                rows.add(place, fields[1], fields[COLUMNS[name]])
            if rows.full:
                break
    return rows.build(sources, higher)


FORMAT: Format[Any] = Format(
    "log-output",
    "Output, <utt>, <label>, <20ms>, ..., <640ms>, <utterance>, high = bona fide: PartialSpoof, log_output_eval",
    read,
    recognises,
)

"""What lies under the scores of a batch, known before any of its scores is.

References, numbers of frames and rules decide which scores count, for how long and for which class; the values do not.
So the rules run where the references are, on the host, over *row numbers in the place of scores*, and an accelerator
needs three or four small columns to do the rest with scores that never leave it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spoofspan.base.columns import offsets_of
from spoofspan.base.errors import NothingToMeasureError, UsageError
from spoofspan.base.times import Int64
from spoofspan.data.references import Range, References
from spoofspan.data.scores import Scores
from spoofspan.evaluation.plan import Plan
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.histogram import Amounts


@dataclass(frozen=True, eq=False)
class Rows:
    """The points or frames that count: each has the lowest of the scores ``first`` to ``last``, and its amounts.

    Rows are numbered through the batch, those of the second utterance after those of the first.
    """

    first: Int64
    last: Int64
    bona_fide: Int64
    spoof: Int64
    undecided: Amounts


def rows_of(references: References, frames: Sequence[int], hop: float, plan: Plan) -> Rows:
    """Lay the references of a batch over so many frames of each of its utterances.

    >>> from spoofspan.measures.measure import Measure
    >>> from spoofspan.evaluation.plan import EvaluationOptions
    >>> references = References.from_ranges({"u1": [(0.0, 0.03, "bonafide"), (0.03, 0.06, "spoof")]})
    >>> rows = rows_of(references, [3], 0.02, EvaluationOptions().plan(Measure("range-eer"), 0.02))
    >>> rows.first.tolist(), rows.bona_fide.tolist(), rows.spoof.tolist()
    ([0, 1, 2], [20000000, 10000000, 0], [0, 10000000, 20000000])
    """
    offsets = offsets_of(frames)
    numbers = np.arange(offsets[-1], dtype=np.float64)

    def mass_of(values: Any) -> ScoreMass:
        scores = Scores.from_columns(references.utterances, offsets, values, hop=hop, higher="bonafide")
        return plan.mass(references, scores)[0]

    try:
        blocks = list(mass_of(numbers).blocks())
    except NothingToMeasureError:
        blocks = []
    columns = [(block.scores, block.bona_fide, block.spoof) for block in blocks]
    empty = np.zeros(0, np.int64)
    first, bona_fide, spoof = (np.concatenate(column) for column in zip((empty,) * 3, *columns, strict=True))
    last = first
    if plan.kind == "point" and blocks:
        # the lowest of the numbers turned round is the last
        last = -np.concatenate([block.scores for block in mass_of(-numbers).blocks()])
    counted = np.flatnonzero((bona_fide > 0) | (spoof > 0))
    return Rows(
        first[counted].astype(np.int64),
        last[counted].astype(np.int64),
        bona_fide[counted],
        spoof[counted],
        (sum(block.undecided_bona_fide for block in blocks), sum(block.undecided_spoof for block in blocks)),
    )


def batch_references(references: References | Sequence[Sequence[Range]], size: int) -> References:
    """The references of a batch: as they are, or from a list of ranges for each of its utterances."""
    if not isinstance(references, References):
        if isinstance(references, Mapping | str):
            raise UsageError("references must be References, or a list with the ranges of each utterance of the batch")
        built = References.from_ranges({str(i): list(rows) for i, rows in enumerate(references)})
        # one batch may well have one class only
        references = replace(built, names_both_classes=True)
    if len(references) != size:
        raise UsageError(f"{len(references)} references for a batch of {size}; give one for each, in the same order")
    return references

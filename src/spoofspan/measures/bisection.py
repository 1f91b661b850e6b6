"""Algorithm 1 of the paper: estimate the range-based EER by bisection over quantiles of the scores.

Start at the minimum, the maximum and the median of the (unweighted) scores; while ``|FPR - FNR|`` at the middle is not
below ``precision``, keep the half in which the difference changes its sign, and put the new middle at the middle
*quantile*. Two forms:

- ``quantiles="integer"``: as printed, ``Q = floor((Ql + Qr) / 2)``: percentiles are whole numbers;
- ``quantiles="real"``: ``Q = (Ql + Qr) / 2``, as the published script does.

Read literally, neither ends when no threshold reaches the precision (ties, small data). Both stop here when the
quantiles cannot move any more. The value is that of the best step; ``reached`` says whether it met the precision.

The rules (what a gap is, ...) are those of the exact measure. The arithmetic shares no code with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from spoofspan.base.errors import DataError, UndefinedMeasureError, UsageError
from spoofspan.base.times import Float64, Int64
from spoofspan.data.references import BONA_FIDE, SPOOF, References
from spoofspan.data.rules import Rules
from spoofspan.data.scores import Scores
from spoofspan.mass.labelling import Labelling
from spoofspan.mass.ranges import Overlay
from spoofspan.mass.score_runs import FrameRuns, RangeRuns, ScoreRuns, mirrored

Quantiles = Literal["integer", "real"]
# Quantiles closer than this lie between the same two scores for any corpus below 10**13 scores.
NARROWEST = 2.0**-40


@dataclass(frozen=True)
class BisectionStep:
    """One evaluation: threshold (in bona fide polarity), its quantile in percent, and the rates there."""

    threshold: float
    quantile: float
    false_positive_rate: float
    false_negative_rate: float

    @property
    def difference(self) -> float:
        """FPR - FNR."""
        return self.false_positive_rate - self.false_negative_rate


@dataclass(frozen=True)
class Bisection:
    """Result of Algorithm 1, with its steps."""

    trace: tuple[BisectionStep, ...]
    reached: bool
    bracketed: bool

    @property
    def best(self) -> BisectionStep:
        """The step of least |FPR - FNR|, the first of them on a tie."""
        return min(self.trace, key=lambda step: abs(step.difference))


class RangeRates:
    """Eqs. 5 to 7: FPR and FNR at a threshold, by summing overlaps of reference ranges and score ranges."""

    def __init__(self, references: References, scores: Scores, rules: Rules) -> None:
        overlay = Overlay.of(references, scores, rules)
        labelling, runs = overlay.labelling, overlay.runs
        columns, self.touched = overlay.undecided()
        undecided = [int(column.sum(dtype=object)) for column in columns]
        self.utterances = labelling.utterances
        self.scores: Float64 = mirrored(runs.values, scores.higher).astype(np.float64)
        self.bona_fide, self.spoof = _overlaps(labelling, runs)
        scored = self.bona_fide + self.spoof > 0
        self.scores, self.bona_fide, self.spoof = self.scores[scored], self.bona_fide[scored], self.spoof[scored]
        keep = 0 if rules.uncovered == "ignore" else 1
        self.all_bona_fide = float(self.bona_fide.sum()) + keep * undecided[0]
        self.all_spoof = float(self.spoof.sum()) + keep * undecided[1]
        self._always_false_positive = undecided[0] if rules.uncovered == "spoof" else 0
        self._always_false_negative = undecided[1] if rules.uncovered == "bonafide" else 0
        if not self.all_bona_fide or not self.all_spoof or not self.scores.size:
            raise UndefinedMeasureError("the EER needs bona fide and spoofed time under scores")

    def at(self, threshold: float, quantile: float) -> BisectionStep:
        """Evaluate Eqs. 5 and 6."""
        called_spoof = self.scores < threshold
        false_positive = float(self.bona_fide[called_spoof].sum()) + self._always_false_positive
        false_negative = float(self.spoof[~called_spoof].sum()) + self._always_false_negative
        return BisectionStep(threshold, quantile, false_positive / self.all_bona_fide, false_negative / self.all_spoof)


def _overlaps(labelling: Labelling, runs: ScoreRuns) -> tuple[Float64, Float64]:
    """Eq. 7, summed over the ranges of each class: how long each score range overlaps it (ns, in doubles)."""
    columns: tuple[list[Float64], list[Float64]] = ([], [])
    for i in range(len(labelling.utterances)):
        starts, ends = _times_of(runs, i)
        rows = slice(int(labelling.offsets[i]), int(labelling.offsets[i + 1]))
        edges = np.concatenate(([0], labelling.ends[rows]))
        for column, label in zip(columns, (BONA_FIDE, SPOOF), strict=True):
            # the time of the class up to t is piecewise linear in t
            lasted = np.diff(edges) * (labelling.labels[rows] == label)
            up_to = np.concatenate(([0], np.cumsum(lasted)))
            column.append(np.interp(ends, edges, up_to) - np.interp(starts, edges, up_to))
    return np.rint(np.concatenate(columns[0])), np.rint(np.concatenate(columns[1]))


def _times_of(runs: ScoreRuns, i: int) -> tuple[Int64, Int64]:
    rows = slice(int(runs.offsets[i]), int(runs.offsets[i + 1]))
    if isinstance(runs, RangeRuns):
        return runs.starts[rows], runs.ends[rows]
    if not isinstance(runs, FrameRuns):
        raise TypeError("unknown score runs")
    edges = np.minimum(runs.origins[i] + np.arange(rows.stop - rows.start + 1) * runs.hops[i], runs.last[i])
    edges[runs.used[i] :] = runs.last[i]
    return edges[:-1], edges[1:]


def bisect(rates: RangeRates, precision: float, quantiles: Quantiles) -> Bisection:
    """Run Algorithm 1."""
    if quantiles not in ("integer", "real"):
        raise UsageError(f"quantiles={quantiles!r}: valid: 'integer' (as printed), 'real' (as the script)")
    if not precision > 0:
        raise UsageError(f"precision={precision!r}: must be positive")
    scores = np.sort(rates.scores)
    if np.isinf(scores[[0, -1]]).any():
        raise DataError("quantiles between infinite scores are undefined; use range_eer, which is exact")
    left, right = rates.at(float(scores[0]), 0.0), rates.at(float(scores[-1]), 100.0)
    middle = rates.at(_percentile(scores, 50.0), 50.0)
    trace = [left, right, middle]
    bracketed = left.difference * right.difference <= 0
    while left.threshold <= right.threshold and abs(middle.difference) >= precision:
        if left.difference * middle.difference <= 0:
            right = middle
        else:
            left = middle
        quantile = (left.quantile + right.quantile) / 2
        if quantiles == "integer":
            quantile = float(int(quantile))
        if quantile == middle.quantile or right.quantile - left.quantile < NARROWEST:
            break
        middle = rates.at(_percentile(scores, quantile), quantile)
        trace.append(middle)
    return Bisection(tuple(trace), abs(middle.difference) < precision, bracketed)


def _percentile(ordered: Float64, quantile: float) -> float:
    """Linear interpolation between the two scores around a quantile."""
    place = quantile / 100 * (ordered.size - 1)
    index = min(int(place), ordered.size - 2) if ordered.size > 1 else 0
    low, high = float(ordered[index]), float(ordered[min(index + 1, ordered.size - 1)])
    return min(low + (high - low) * (place - index), high)

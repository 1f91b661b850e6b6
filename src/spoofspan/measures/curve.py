"""The whole error curve: FPR and FNR at every threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.base.times import Float64
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.crossing import meet_diagonal, sum_ties
from spoofspan.measures.operating_point import OperatingPoint, Totals, totals

Points = TypeVar("Points", bound="OperatingPoints")


@dataclass(frozen=True, eq=False)
class OperatingPoints:
    """FPR and FNR at some thresholds, ordered so that ever more is called spoof; the last calls everything spoof."""

    thresholds: Float64
    false_positive_rates: Float64
    false_negative_rates: Float64
    sums: Totals = field(repr=False)
    called_bona_fide: npt.NDArray[Any] = field(repr=False)  # amounts called spoof at each threshold
    called_spoof: npt.NDArray[Any] = field(repr=False)

    @classmethod
    def of(cls: type[Points], sums: Totals, tau: npt.NDArray[Any], called: Sequence[npt.NDArray[Any]]) -> Points:
        """Make points of thresholds in bona fide polarity and the amounts called spoof at each, then at the end."""
        sign = 1.0 if sums.higher == "bonafide" else -1.0
        thresholds = np.append(sign * tau.astype(np.float64), sign * np.inf) + 0.0
        return cls(thresholds, *rates(sums, *called), sums, *called)

    def __len__(self) -> int:
        return self.thresholds.size

    def point(self, index: int) -> OperatingPoint:
        """The operating point of the index-th threshold."""
        last = index in (-1, len(self) - 1)
        sign = 1 if self.sums.higher == "bonafide" else -1
        tau = None if last else sign * float(self.thresholds[index])
        return self.sums.point(tau, int(self.called_bona_fide[index]), int(self.called_spoof[index]))


@dataclass(frozen=True, eq=False)
class ErrorCurve(OperatingPoints):
    """FPR and FNR at every candidate threshold: each distinct score with counted time, then "everything is spoof".

    Parameters
    ----------
    thresholds
        On the scale of the scores as given, ordered so that ever more is called spoof.
    false_positive_rates, false_negative_rates
        At each threshold; the first rise, the second fall.
    sums
        What the mass adds up to.
    called_bona_fide, called_spoof
        The amounts called spoof at each threshold.

    Examples
    --------
    >>> import spoofspan as ss
    >>> references = ss.References.from_ranges({"u1": [(0.0, 0.04, "bonafide"), (0.04, 0.08, "spoof")]})
    >>> scores = ss.Scores.from_frames({"u1": [0.9, 0.2, 0.3, -0.2]}, hop=0.02, higher="bonafide")
    >>> curve = ss.error_curve(references, scores)
    >>> curve.thresholds.tolist(), curve.false_positive_rates.tolist(), curve.false_negative_rates.tolist()
    ([-0.2, 0.2, 0.3, 0.9, inf], [0.0, 0.0, 0.5, 0.5, 1.0], [1.0, 0.5, 0.5, 0.0, 0.0])
    >>> curve.at(0.25).decision
    'spoof iff score < 0.25'

    """

    def __repr__(self) -> str:
        return f"ErrorCurve({len(self):,} thresholds)"

    def at(self, threshold: float) -> OperatingPoint:
        """Rates and confusion amounts at any threshold (on the scale of the scores)."""
        if np.isnan(threshold):
            raise UsageError("a threshold must be a number, not NaN")
        sign = 1 if self.sums.higher == "bonafide" else -1
        # the first candidate that is not below the threshold calls the same scores spoof
        index = int(np.searchsorted(sign * self.thresholds[:-1], sign * threshold))
        return replace(self.point(index), threshold=float(threshold), everything=False)

    def hull_crossing(self) -> Fraction:
        """Where the lower convex hull of all points (FPR, FNR) meets FPR = FNR."""
        hull: list[int] = []
        x, y = self.called_bona_fide, self.called_spoof  # FNR falls as the called spoof rises
        for i in _corners(x, y):
            while len(hull) >= 2 and _turns_down(hull[-2], hull[-1], i, x, y):
                hull.pop()
            hull.append(i)
        for left, right in pairwise(hull):
            p, q = self.point(left), self.point(right)
            rates = [(point.exact_false_positive_rate, point.exact_false_negative_rate) for point in (p, q)]
            if rates[0][0] <= rates[0][1] and rates[1][0] >= rates[1][1]:
                return meet_diagonal(rates[0], rates[1])
        raise UndefinedMeasureError("FPR and FNR never cross; use eer_rule='nearest'")


def _corners(x: npt.NDArray[Any], y: npt.NDArray[Any]) -> list[int]:
    """Points at which the curve turns from spoof-only to bona fide steps can be on the hull; few others need a look."""
    rises_x, rises_y = x[1:] > x[:-1], y[1:] > y[:-1]
    keep = np.ones(x.size, bool)
    # inside a run of steps along one axis
    keep[1:-1] = ~((~rises_x[:-1] & ~rises_x[1:]) | (~rises_y[:-1] & ~rises_y[1:]))
    return [int(i) for i in np.flatnonzero(keep)]


def _turns_down(a: int, b: int, c: int, x: npt.NDArray[Any], y: npt.NDArray[Any]) -> bool:
    """Whether b lies on or below the line from a to c (in called spoof over called bona fide)."""
    first = (int(x[b]) - int(x[a])) * (int(y[c]) - int(y[a]))
    second = (int(x[c]) - int(x[a])) * (int(y[b]) - int(y[a]))
    return first >= second


def error_curve_of(mass: ScoreMass) -> ErrorCurve:
    """Sort a mass into its whole curve (held in memory: about 40 bytes per distinct score)."""
    sums = totals(mass)
    sums.check()
    pieces = [(block.scores, block.bona_fide, block.spoof) for block in mass.blocks()]
    scores, bona_fide, spoof = (np.concatenate(column) for column in zip(*pieces, strict=True))
    distinct, columns = sum_ties(scores, bona_fide, spoof)
    called = [np.concatenate(([0], np.cumsum(column))) for column in columns]
    return ErrorCurve.of(sums, distinct, called)


def rates(sums: Totals, bona_fide: npt.NDArray[Any], spoof: npt.NDArray[Any]) -> tuple[Float64, Float64]:
    """FPR and FNR if these amounts are called spoof."""
    false_positive, false_negative = sums.errors(0, 0)
    return (
        rates_of(false_positive + bona_fide, sums.all_bona_fide),
        rates_of(false_negative - spoof, sums.all_spoof),
    )


def rates_of(amounts: npt.NDArray[Any], whole: int) -> Float64:
    """Divide, correctly rounded: doubles hold integers up to 2**53, Python divides larger ones."""
    if whole < 2**53:
        return amounts.astype(np.float64) / whole
    return np.array([int(amount) / whole for amount in amounts], np.float64)

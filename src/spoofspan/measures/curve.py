"""The error curve: FPR and FNR at every threshold (:class:`ErrorCurve`), or at a few of them (:class:`ThinCurve`).

The whole curve of 12 million scores is sorted and held in memory; a picture needs a few thousand points of it, each
exact, so close to each other that a drawing shows the whole curve. A sample of the scores suggests thresholds; one pass
sums what lies below each of them, exactly. Where two neighbours turn out to be further apart than the tolerance, scores
in between are added and the pass is repeated. How far apart two rates are may be asked on another scale than their own,
such as that of a DET figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags, first_of_equals
from spoofspan.base.errors import UndefinedMeasureError
from spoofspan.base.plain_results import NearAttributes
from spoofspan.base.times import Float64, Int64
from spoofspan.data.scores import Values
from spoofspan.mass.score_mass import MassBlock, ScoreMass
from spoofspan.mass.score_runs import mirrored
from spoofspan.measures.eer import meet_diagonal, sort_order, sum_ties
from spoofspan.measures.operating_point import OperatingPoint, RunningTotals, Threshold, Totals, check_threshold

Points = TypeVar("Points", bound="OperatingPoints")


@dataclass(frozen=True, eq=False)
class OperatingPoints:
    """FPR and FNR at some thresholds, ordered so that ever more is called spoof; the last calls everything spoof."""

    thresholds: Float64
    sums: Totals = field(repr=False)
    called_bona_fide: npt.NDArray[Any] = field(repr=False)  # amounts called spoof at each threshold
    called_spoof: npt.NDArray[Any] = field(repr=False)

    @classmethod
    def of(cls: type[Points], sums: Totals, tau: npt.NDArray[Any], called: Sequence[npt.NDArray[Any]]) -> Points:
        """Make points of thresholds in bona fide polarity and the amounts called spoof at each, then at the end."""
        thresholds = mirrored(np.append(tau.astype(np.float64), np.inf), sums.higher) + 0.0
        return cls(thresholds, sums, *called)

    def __len__(self) -> int:
        return self.thresholds.size

    @cached_property
    def false_positive_rates(self) -> Float64:
        """FPR at each threshold."""
        return rates_of(self.sums.errors(0, 0)[0] + self.called_bona_fide, self.sums.all_bona_fide)

    @cached_property
    def false_negative_rates(self) -> Float64:
        """FNR at each threshold."""
        return rates_of(self.sums.errors(0, 0)[1] - self.called_spoof, self.sums.all_spoof)

    def point(self, index: int) -> OperatingPoint:
        """The operating point of the index-th threshold."""
        last = index in (-1, len(self) - 1)
        tau = None if last else mirrored(float(self.thresholds[index]), self.sums.higher)
        return self.sums.point(tau, int(self.called_bona_fide[index]), int(self.called_spoof[index]))


@dataclass(frozen=True, eq=False)
class ErrorCurve(NearAttributes, OperatingPoints):
    """FPR and FNR at every candidate threshold: each distinct score with counted time, then "everything is spoof".

    Parameters
    ----------
    thresholds
        On the scale of the scores as given, ordered so that ever more is called spoof.
    sums
        Total amounts of both classes.
    called_bona_fide, called_spoof
        The amounts called spoof at each threshold.

    Attributes
    ----------
    false_positive_rates, false_negative_rates : array
        At each threshold; the first rise, the second fall.

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

    def at(self, threshold: Threshold) -> OperatingPoint:
        """Rates and confusion amounts at any threshold (on the scale of the scores), or at that of a measurement."""
        threshold = check_threshold(threshold)
        candidates, tau = mirrored(self.thresholds[:-1], self.sums.higher), mirrored(threshold, self.sums.higher)
        # the first candidate that is not below the threshold calls the same scores spoof
        index = int(np.searchsorted(candidates, tau))
        return replace(self.point(index), threshold=threshold, everything=False)

    def hull_crossing(self) -> Fraction:
        """Intersection of the lower convex hull of all points (FPR, FNR) with FPR = FNR."""
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
    """True if b lies on or below the line from a to c (in called spoof over called bona fide)."""
    first = (int(x[b]) - int(x[a])) * (int(y[c]) - int(y[a]))
    second = (int(x[c]) - int(x[a])) * (int(y[b]) - int(y[a]))
    return first >= second


# The curve of the mass that was sorted last, for as long as that mass exists: measures of one corpus share it.
_LATEST: WeakKeyDictionary[ScoreMass, ErrorCurve] = WeakKeyDictionary()


def error_curve_of(mass: ScoreMass) -> ErrorCurve:
    """Sort a mass into its whole curve (24 bytes per distinct score); asked for again, the same curve is returned."""
    found = _LATEST.get(mass)
    if found is None:
        _LATEST.clear()  # or else two would be in memory at once
        found = _LATEST[mass] = _sorted(mass)
    return found


def _sorted(mass: ScoreMass) -> ErrorCurve:
    running, pieces = RunningTotals(mass), []
    for block in mass.blocks():
        running.add(block)
        pieces.append((block.scores, block.bona_fide, block.spoof))
    sums = running.totals()
    sums.check()
    scores, bona_fide, spoof = (np.concatenate(column) for column in zip(*pieces, strict=True))
    distinct, columns = sum_ties(scores, bona_fide, spoof)
    called = [np.concatenate(([0], np.cumsum(column))) for column in columns]
    return ErrorCurve.of(sums, distinct, called)


def rates(sums: Totals, bona_fide: npt.NDArray[Any], spoof: npt.NDArray[Any]) -> tuple[Float64, Float64]:
    """FPR and FNR if these amounts are called spoof."""
    false_positive, false_negative = sums.errors(0, 0)
    return rates_of(false_positive + bona_fide, sums.all_bona_fide), rates_of(false_negative - spoof, sums.all_spoof)


def rates_of(amounts: npt.NDArray[Any], whole: int) -> Float64:
    """Divide, correctly rounded: doubles hold integers up to 2**53, Python divides larger ones."""
    if whole < 2**53:
        return amounts.astype(np.float64) / whole
    return np.array([int(amount) / whole for amount in amounts], np.float64)


# ---------------------------------------------------------------- a few points

TOLERANCE = 5e-4  # of a rate: 0.05 points
SAMPLE = 1 << 18
# A sampled step of half the tolerance is rarely a true one of more than the tolerance.
OF_TOLERANCE = 0.5
MOST_PASSES = 8
MOST_PER_GAP = 8  # scores that are added; wide gaps of many blocks would have hundreds
Scale = Callable[[Float64], Float64]  # from rates; it rises


def _as_they_are(rates: Float64) -> Float64:
    return rates


@dataclass(frozen=True, eq=False)
class ThinCurve(OperatingPoints):
    """A few operating points of an :class:`~spoofspan.ErrorCurve`.

    Between two neighbours neither rate moves by more than the tolerance, unless it is at one score that it moves.
    """

    def thinned(self, tolerance: float, include: Float64, scale: Scale = _as_they_are) -> ThinCurve:
        """Without the points that a drawing does not need; thresholds to ``include`` stay."""
        columns = (scale(column).tolist() for column in (self.false_positive_rates, self.false_negative_rates))
        scaled = list(zip(*columns, strict=True))
        must_stay = np.isin(self.thresholds, include)
        kept = [0]
        for index in range(1, len(self)):
            here, last = scaled[index], scaled[kept[-1]]
            too_far = here[0] - last[0] > tolerance or last[1] - here[1] > tolerance
            if too_far and kept[-1] != index - 1:
                kept.append(index - 1)
            if must_stay[index] or index == len(self) - 1:
                kept.append(index)
        return replace(self, **{one.name: getattr(self, one.name)[kept] for one in fields(self) if one.name != "sums"})


def thin_curve(
    mass: ScoreMass, *, tolerance: float = TOLERANCE, include: Iterable[float] = (), scale: Scale = _as_they_are
) -> ThinCurve:
    """Find such points; ``include`` has thresholds (on the scale of the scores) that must be among them.

    The tolerance is one on the ``scale`` of the rates.
    """
    finite = np.array([one for one in include if np.isfinite(one)], np.float64)
    wanted = mirrored(finite, mass.higher).astype(mass.dtype)
    candidates = np.unique(np.concatenate((_suggested(mass, tolerance, scale), wanted)))
    for _ in range(MOST_PASSES):
        found = _one_pass(mass, candidates)
        wide = found.wide_gaps(tolerance, scale)
        more = found.inside(mass, wide) if wide.size else wide
        if not more.size:
            break
        candidates = np.unique(np.concatenate((found.thresholds, more)))
    return found.curve().thinned(tolerance, mirrored(wanted.astype(np.float64), mass.higher), scale)


def _suggested(mass: ScoreMass, tolerance: float, scale: Scale) -> Values:
    """Thresholds at which, in a sample, one of the rates has moved by half the tolerance."""
    distinct, columns = sum_ties(*mass.sample(SAMPLE))
    if not distinct.size:
        return distinct
    moves = np.zeros(distinct.size, bool)
    for column in columns:
        called = np.cumsum(column.astype(np.float64))
        if called[-1]:
            moves |= np.diff(np.floor(scale(called / called[-1]) / (OF_TOLERANCE * tolerance)), prepend=-np.inf) > 0
    moved = np.flatnonzero(moves)
    # a score with much time under it stands alone, so the next one is a threshold as well
    chosen: Values = distinct[np.unique(np.concatenate((moved, np.minimum(moved + 1, distinct.size - 1))))]
    return chosen


@dataclass(frozen=True, eq=False)
class _Counted:
    """Thresholds in bona fide polarity, and the amounts below each."""

    thresholds: Values
    below: tuple[npt.NDArray[Any], npt.NDArray[Any]]
    sums: Totals
    least: Any  # the lowest score with counted time

    def wide_gaps(self, tolerance: float, scale: Scale) -> Int64:
        """Thresholds from which a rate moves too far until the next; -1 stands for what lies below all of them."""
        columns = rates(self.sums, *self.called())
        wide = np.any([np.abs(np.diff(scale(column))) > tolerance for column in columns], axis=0)
        return np.flatnonzero(wide) - 1

    def called(self, start: int = 0) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Amounts called spoof: nothing, those below each threshold from ``start`` on, everything."""
        bona_fide, spoof = self.below
        return (
            np.concatenate(([0], bona_fide[start:], [self.sums.bona_fide])),
            np.concatenate(([0], spoof[start:], [self.sums.spoof])),
        )

    def inside(self, mass: ScoreMass, wide: Int64) -> Values:
        """A few scores inside of each wide gap, of two of each block; a gap that has none is a jump at one score."""
        edges = np.concatenate(([-np.inf], self.thresholds, [np.inf]))
        kept: list[Values] = [self.thresholds[:0]]
        for block in mass.blocks():
            scores = np.sort(block.scores[block.counted])
            # scores above the lower edge and below the upper one; -inf may be a score, and a threshold
            first = np.searchsorted(scores, edges[wide + 1], side="right")
            first[wide < 0] = 0
            last = np.searchsorted(scores, edges[wide + 2])
            last[wide == self.thresholds.size - 1] = scores.size
            some = last > first
            # the one next to the lower edge, because a rate may jump there, and the middle one
            kept.extend((scores[first[some]], scores[(first[some] + last[some]) // 2]))
        found = np.unique(np.concatenate(kept))
        return found[_few_of_each(np.searchsorted(self.thresholds, found, side="right"))]

    def curve(self) -> ThinCurve:
        """Put everything together, with the point that calls everything spoof at the end."""
        # the first point calls nothing; thresholds below the lowest score would only repeat it
        start = int(np.searchsorted(self.thresholds, self.least, side="right"))
        return ThinCurve.of(self.sums, np.concatenate(([self.least], self.thresholds[start:])), self.called(start))


def _few_of_each(groups: Int64) -> Flags:
    """Flag the first of each run of equal numbers, and a few others evenly spread."""
    first = first_of_equals(groups)
    starts = np.flatnonzero(first)
    counts = np.diff(np.append(starts, groups.size))
    shares = (np.arange(groups.size) - np.repeat(starts, counts)) * MOST_PER_GAP // np.repeat(counts, counts)
    few: Flags = first | (np.diff(shares, prepend=0) > 0)
    return few


def _one_pass(mass: ScoreMass, thresholds: Values) -> _Counted:
    running = RunningTotals(mass)
    below: npt.NDArray[Any] = np.zeros((2, thresholds.size), np.int64)
    least: Any = None
    for block in mass.blocks():
        running.add(block)
        so_far = running.totals()
        if max(so_far.bona_fide, so_far.spoof) >= 2**62 and below.dtype != object:
            below = below.astype(object)
        for column, called in zip(below, _below(block, thresholds), strict=True):
            column += called
        # few blocks have a lower score, and only there it matters whether it has counted time
        if least is None or (block.scores.size and block.scores.min() < least):
            counted = block.scores[block.counted]
            if counted.size:
                least = counted.min() if least is None else min(least, counted.min())
    sums = running.totals()
    sums.check()
    return _Counted(thresholds, (below[0], below[1]), sums, least)


def _below(block: MassBlock, thresholds: Values) -> Iterator[Int64]:
    """The bona fide and the spoofed amount below each threshold.

    Of scores that all last as long, the sorted scores are enough (looking up each of them is 20 times slower).
    """
    for flags, more in ((block.is_bona_fide, block.more_bona_fide), (block.is_spoof, block.more_spoof)):
        if isinstance(block.amounts, int):
            found = np.searchsorted(np.sort(block.scores[flags]), thresholds) * np.int64(block.amounts)
        else:
            found = _summed_below(block.scores[flags], block.amounts[flags], thresholds)
        yield found + _summed_below(block.scores[block.rows], more, thresholds)


def _summed_below(scores: Values, amounts: Int64, thresholds: Values) -> Int64:
    order = sort_order(scores)
    sums: Int64 = np.concatenate(([0], np.cumsum(amounts[order])))
    return sums[np.searchsorted(scores[order], thresholds)]

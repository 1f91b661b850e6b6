"""A few points of the error curve, each exact, so close to each other that a drawing shows the whole curve.

The whole curve of 12 million scores is sorted and held in memory; a picture needs a few thousand points of it. A sample
of the scores suggests thresholds; one pass sums what lies below each of them, exactly. Where two neighbours turn out to
be further apart than the tolerance, scores in between are added and the pass is repeated. How far apart two rates are
may be asked on another scale than their own, such as that of a DET figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.times import Float64, Int64
from spoofspan.data.scores import Values
from spoofspan.mass.mass_block import MassBlock
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.crossing import sum_ties
from spoofspan.measures.curve import OperatingPoints, rates
from spoofspan.measures.operating_point import RunningTotals, Totals

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
    mass: ScoreMass,
    *,
    tolerance: float = TOLERANCE,
    include: Iterable[float] = (),
    scale: Scale = _as_they_are,
) -> ThinCurve:
    """Find such points; ``include`` has thresholds (on the scale of the scores) that must be among them.

    The tolerance is one on the ``scale`` of the rates.
    """
    sign = 1 if mass.higher == "bonafide" else -1
    wanted = np.array([sign * one for one in include if np.isfinite(one)], np.float64).astype(mass.dtype)
    candidates = np.unique(np.concatenate((_suggested(mass, tolerance, scale), wanted)))
    for _ in range(MOST_PASSES):
        found = _one_pass(mass, candidates)
        wide = found.wide_gaps(tolerance, scale)
        more = found.inside(mass, wide) if wide.size else wide
        if not more.size:
            break
        candidates = np.unique(np.concatenate((found.thresholds, more)))
    return found.curve().thinned(tolerance, wanted.astype(np.float64) * sign, scale)


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
        """How much is called spoof: nothing, what is below each threshold from ``start`` on, everything."""
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
            # what lies behind the lower edge and before the upper one; -inf may be a score, and a threshold
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


def _few_of_each(groups: Int64) -> npt.NDArray[np.bool_]:
    """Of each run of equal numbers: the first, and a few others evenly spread."""
    first = np.append(True, groups[1:] != groups[:-1])[: groups.size]
    starts = np.flatnonzero(first)
    counts = np.diff(np.append(starts, groups.size))
    shares = (np.arange(groups.size) - np.repeat(starts, counts)) * MOST_PER_GAP // np.repeat(counts, counts)
    few: npt.NDArray[np.bool_] = first | (np.diff(shares, prepend=0) > 0)
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
        if block.counted.any():
            here = block.scores[block.counted].min()
            least = here if least is None else min(least, here)
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
    order = np.argsort(scores)
    sums: Int64 = np.concatenate(([0], np.cumsum(amounts[order])))
    return sums[np.searchsorted(scores[order], thresholds)]

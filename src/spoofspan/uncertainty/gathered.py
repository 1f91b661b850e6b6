"""The scores of a mass under other weights of its units: gathered once, sorted and cut into groups.

A bootstrap needs a measure of ``mass.reweight(w)`` for many ``w``. The values lie close to each other, so that only
some scores matter: for an EER those near the crossing, found by a bracket; for other measures all of them::

    scores      below the bracket    |  group 0  |  group 1  |  group 2  |   above
    summed      per unit             |  per unit |  per unit |  per unit |   (what is left)

For each replicate, one product of its weights with the sums per unit gives the amounts called spoof at the edges of
groups; single scores are examined only in a group that matters. Without one unit, the sums of all units are reused, and
only the few rows of the unit are examined. All decisions are in Python integers, so that values have the bits of the
measure of the re-weighted mass.

Memory: 24 bytes and the score for each gathered score (equal scores of a unit count once), and ``16 * (groups + 3)``
bytes per unit, twice. Of 12.46 million scores the bracket held 0.3 % with 71,237 units, and 18 % with 20 units that
differ widely.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.errors import UndefinedMeasureError
from spoofspan.base.times import Int64
from spoofspan.data.scores import Higher, Values
from spoofspan.mass.ranges import TimedPart
from spoofspan.mass.score_mass import NS_PER_BLOCK, Columns, ScoreMass, UtteranceBlock
from spoofspan.mass.score_runs import mirrored
from spoofspan.measures.eer import SAMPLE, Amounts, Reached, crossing, sum_ties
from spoofspan.measures.operating_point import Totals
from spoofspan.uncertainty.left_out import sampled_scores
from spoofspan.uncertainty.replicates import ExactColumns, add_by_unit, all_but_one, confusions_by_unit, each_by_unit

# The number of columns of sums per unit before those of the groups.
TOTALS = 4
MOST_GROUPS = 512
# For the best of all thresholds, groups are so many times smaller, since more of them are examined.
MANY_GROUPS = 6
# The most sums of units in groups, for each class (64 MB).
MOST_SUMS = 1 << 23

# Bona fide and spoof amounts below each group and below the end of the last.
Below = tuple[list[int], list[int]]
# The bona fide and spoof amounts called spoof once each distinct score is.
Called = Sequence[npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Reaching:
    """The amounts called spoof around the point where a condition becomes true; None beyond the gathered scores."""

    before: Amounts | None
    after: Amounts | None
    group: int = 0
    place: int = 0  # of the distinct score in its group


@dataclass(frozen=True, eq=False)
class Replicate:
    """One choice of weights: its totals, and the amounts called spoof at any gathered score.

    ``called`` takes the first group and the one after the last. ``weights`` may change when the next replicate is made.
    """

    weights: Int64
    whole: Totals
    below: Below
    called: Callable[[int, int], Called]

    @property
    def is_defined(self) -> bool:
        """True if both classes are present, and some time has scores."""
        whole = self.whole
        return bool(whole.all_bona_fide and whole.all_spoof and whole.bona_fide + whole.spoof)

    def first(self, reached: Reached) -> Reaching:
        """Find where a condition becomes true as more scores are called spoof."""
        (bona_fide, spoof), edges = self.below, len(self.below[0])
        edge = bisect_left(range(edges), True, key=lambda g: reached(bona_fide[g], spoof[g]))
        before = (bona_fide[edge - 1], spoof[edge - 1]) if edge else None
        if edge in (0, edges):
            return Reaching(before, None if edge else (bona_fide[0], spoof[0]))
        columns = self.called(edge - 1, edge)
        place = bisect_left(range(columns[0].size), True, key=lambda k: reached(int(columns[0][k]), int(columns[1][k])))
        if place:
            before = int(columns[0][place - 1]), int(columns[1][place - 1])
        return Reaching(before, (int(columns[0][place]), int(columns[1][place])), edge - 1, place)


@dataclass(frozen=True, eq=False)
class Gathered:
    """Gathered scores in ascending groups, with sums for each unit.

    ``columns`` has, for each unit: bona fide and spoofed time with scores, the same without scores, then the amounts
    below each group and below the end of the last, first bona fide, then spoofed.
    """

    columns: ExactColumns
    distinct: Values
    ends: Int64  # of each distinct score: the row after its last
    group_ends: Int64  # of each group: the distinct score after its last; starts with 0
    unit: Int64
    bona_fide: Int64
    spoof: Int64
    facts: tuple[Higher, str, str]  # higher, unit and uncovered of the mass

    @property
    def units(self) -> int:
        """Number of weighted units."""
        return len(self.columns.columns)

    def replicates(self, weights: Int64) -> Iterator[Replicate]:
        """A replicate for each row of weights."""
        for row, sums in zip(weights, self.columns.weighted(weights), strict=True):
            below = self._below(sums)
            yield self._replicate(row, sums, below, partial(self._called_under, row, below))

    def without_each(self) -> Iterator[Replicate]:
        """A replicate without each unit.

        All units are summed once (BCa with 71,237 units costs 75 range EERs instead of 1,340).
        """
        columns = self.columns.columns
        whole = columns.sum(axis=0)
        of_all = [np.cumsum(column)[self.ends - 1] for column in (self.bona_fide, self.spoof)]
        order = np.argsort(self.unit, kind="stable")
        starts = np.searchsorted(self.unit[order], np.arange(self.units + 1)).tolist()
        place = np.searchsorted(self.ends, order, side="right")
        for unit, weights in enumerate(all_but_one(self.units)):
            sums, own = whole - columns[unit], slice(starts[unit], starts[unit + 1])
            below = self._below(sums)
            called = partial(self._called_without, of_all, place[own], order[own], below)
            yield self._replicate(weights, sums, below, called)

    def _replicate(
        self, weights: Int64, sums: npt.NDArray[Any], below: Below, called: Callable[[int, int], Called]
    ) -> Replicate:
        return Replicate(weights, Totals(*self.facts, *sums[:TOTALS].tolist()), below, called)

    def _below(self, sums: npt.NDArray[Any]) -> Below:
        edges = len(self.group_ends)
        return sums[TOTALS : TOTALS + edges].tolist(), sums[TOTALS + edges :].tolist()

    def _called_under(self, weights: Int64, below: Below, group: int, end: int) -> Called:
        """Amounts called spoof under weights, at each distinct score of some groups."""
        first, last = int(self.group_ends[group]), int(self.group_ends[end])
        start = int(self.ends[first - 1]) if first else 0
        ends = self.ends[first:last] - start
        rows = slice(start, start + int(ends[-1]))
        by_row: npt.NDArray[Any] = weights[self.unit[rows]]
        if max(column[end] for column in below) >= 2**62:
            by_row = by_row.astype(object)
        return [
            so_far[group] + np.cumsum(by_row * column[rows])[ends - 1]
            for so_far, column in zip(below, (self.bona_fide, self.spoof), strict=True)
        ]

    def _called_without(self, of_all: Called, place: Int64, rows: Int64, below: Below, group: int, end: int) -> Called:
        """Amounts called spoof without a unit, given its rows and their places among distinct scores."""
        first, last = int(self.group_ends[group]), int(self.group_ends[end])
        inside = slice(*np.searchsorted(place, (first, last)))
        called = []
        for so_far, whole, column in zip(below, of_all, (self.bona_fide, self.spoof), strict=True):
            gone = np.zeros(last - first, np.int64)
            np.add.at(gone, place[inside] - first, column[rows[inside]])
            start = whole[first - 1] if first else 0
            called.append(so_far[group] - start + whole[first:last] - np.cumsum(gone))
        return called


# ---------------------------------------------------------------- gathering


def gather_near_crossing(
    mass: ScoreMass, unit_of: Int64, units: int, deviations: float, few_rows: int
) -> Gathered | None:
    """Gather all rows of a small mass, or those of possible crossings; None if sums could overflow."""
    low = top = None
    sizes = [part.runs.values.size for part in mass.parts if isinstance(part, TimedPart)]
    if len(sizes) < len(mass.parts) or sum(sizes) > few_rows:  # the size of shards is unknown
        low, top = _bracket(mass, unit_of, units, deviations)
    return _gather(mass, unit_of, units, low, top)


def gather_all(mass: ScoreMass, unit_of: Int64, units: int, *, many_groups: bool = False) -> Gathered | None:
    """Gather all rows; None if sums could overflow."""
    return _gather(mass, unit_of, units, None, None, MANY_GROUPS if many_groups else 1)


def _bracket(mass: ScoreMass, unit_of: Int64, units: int, deviations: float) -> tuple[Any, Any]:
    """Two scores around the crossings of replicates, where FPR - FNR is some standard deviations from 0."""
    try:
        found = crossing(mass)
    except UndefinedMeasureError:
        return None, None
    if found.before is None or found.after is None:
        return None, None
    tau = mirrored(found.before.threshold, mass.higher)
    called = confusions_by_unit(mass, unit_of, units, lambda scores: scores < scores.dtype.type(tau))
    sums = called.astype(np.float64)
    bona_fide, spoof = (max(float(column.sum()), 1.0) for column in sums.T[:2])
    positive_rate, called_rate = float(sums[:, 4].sum()) / bona_fide, float(sums[:, 5].sum()) / spoof
    # the effect of each unit on FPR - FNR, to first order
    pull = (sums[:, 4] - positive_rate * sums[:, 0]) / bona_fide + (sums[:, 5] - called_rate * sums[:, 1]) / spoof
    sample = mass.sample(SAMPLE)
    if not sample[0].size:  # shards have none at hand
        sample = sampled_scores(mass)
    return _scores_around(sample, tau, deviations * float(np.sqrt((pull**2).sum())))


def _scores_around(sample: Columns, tau: float, distance: float) -> tuple[Any, Any]:
    """Two scores of a sample at which FPR - FNR differs by a distance from its value at tau; None: outside."""
    distinct, columns = sum_ties(*sample)
    curves = [np.cumsum(column.astype(np.float64)) for column in columns]
    if not distinct.size or not all(curve[-1] for curve in curves):
        return None, None
    called = curves[0] / curves[0][-1] + curves[1] / curves[1][-1]
    at = int(np.searchsorted(distinct, distinct.dtype.type(tau)))
    here = float(called[at - 1]) if at else 0.0
    # two more on each side: a sample is coarse, and the next score after the crossing is wanted too
    low = int(np.searchsorted(called, here - distance, side="right")) - 3
    top = int(np.searchsorted(called, here + distance)) + 3
    return (distinct[low] if low >= 0 else None), (distinct[top] if top < distinct.size else None)


def _gather(mass: ScoreMass, unit_of: Int64, units: int, low: Any, top: Any, finer: int = 1) -> Gathered | None:
    """One pass: sum the amounts below the bracket per unit, and gather the rows inside."""
    sums = np.zeros((units, 6), np.int64)
    inside: list[tuple[Values, Int64, Int64, Int64]] = []
    whole = 0.0
    for unit, (amount, matrices, rows, owner) in each_by_unit(mass, unit_of, partial(_gathered_of, low, top)):
        whole += amount
        if whole >= NS_PER_BLOCK:
            return None
        add_by_unit(sums, unit, matrices)
        inside.append(_sum_ties_of_units(rows[0].astype(mass.dtype, copy=False), unit[owner], rows[1], rows[2]))
    scores, unit, bona_fide, spoof = (np.concatenate(column) for column in zip(*inside, strict=True))
    return _grouped(mass, sums, _sum_ties_of_units(scores, unit, bona_fide, spoof), finer)


def _gathered_of(low: Any, top: Any, block: UtteranceBlock) -> tuple[float, Int64, Columns, Int64]:
    """The total of a block, the matrix of each utterance, and the rows inside the bracket with their utterances."""
    scores, bona_fide, spoof = block.mass.scores, block.mass.bona_fide, block.mass.spoof
    amounts = (bona_fide, spoof, block.undecided_bona_fide, block.undecided_spoof)
    whole = float(sum(column.sum(dtype=np.float64) for column in amounts))
    below = np.zeros(scores.size, bool) if low is None else scores < low
    chosen = block.mass.counted & ~below
    if top is not None:
        chosen &= scores <= top
    rows = np.flatnonzero(chosen)
    owner = np.searchsorted(block.offsets, rows, side="right") - 1
    return whole, block.confusions(below), (scores[rows], bona_fide[rows], spoof[rows]), owner


def _sum_ties_of_units(
    scores: Values, unit: Int64, bona_fide: Int64, spoof: Int64
) -> tuple[Values, Int64, Int64, Int64]:
    """Sort by score and unit, and sum rows that are equal in both."""
    if not scores.size:
        return scores, unit, bona_fide, spoof
    order = np.lexsort((unit, scores))
    scores, unit = scores[order], unit[order]
    begins = np.flatnonzero(np.concatenate(([True], (scores[1:] != scores[:-1]) | (unit[1:] != unit[:-1]))))
    bona_fide, spoof = (np.add.reduceat(column[order], begins) for column in (bona_fide, spoof))
    return scores[begins], unit[begins], bona_fide, spoof


def _grouped(mass: ScoreMass, sums: Int64, rows: tuple[Values, Int64, Int64, Int64], finer: int) -> Gathered | None:
    """Cut sorted rows into groups of about equal size, at distinct scores, given the confusion matrix of each unit."""
    scores, unit, bona_fide, spoof = rows
    if not scores.size:
        return None
    units = len(sums)
    ends = np.append(np.flatnonzero(scores[1:] != scores[:-1]) + 1, scores.size)
    # a product with the sums of a group costs, per unit, about a 400th of examining a row
    wanted = min(max(isqrt(400 * scores.size // max(units, 1)), 4) * finer, MOST_GROUPS, ends.size)
    wanted = min(wanted, max(MOST_SUMS // max(units, 1), 4))
    cuts = np.searchsorted(ends, np.linspace(0, scores.size, wanted + 1)[1:])
    group_ends = np.unique(np.concatenate(([0], np.minimum(cuts + 1, ends.size), [ends.size])))
    edges = np.concatenate(([0], ends[group_ends[1:] - 1]))
    group_of_row = np.repeat(np.arange(group_ends.size - 1), np.diff(edges))
    cumulated = []
    for column, values in enumerate((bona_fide, spoof)):
        by_group = np.zeros((units, group_ends.size), np.int64)
        by_group[:, 0] = sums[:, TOTALS + column]
        np.add.at(by_group, (unit, group_of_row + 1), values)
        cumulated.append(np.cumsum(by_group, axis=1))
    columns = ExactColumns(np.concatenate((sums[:, :TOTALS], *cumulated), axis=1))
    facts = mass.higher, mass.unit, mass.uncovered
    return Gathered(columns, scores[ends - 1], ends, group_ends, unit, bona_fide, spoof, facts)

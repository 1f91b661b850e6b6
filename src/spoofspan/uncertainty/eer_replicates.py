"""Exact EERs of one mass whose utterances are counted more or less often, thousands of them.

A bootstrap asks for the EER of ``mass.reweight(w)`` for many ``w``. The answers lie close to each other, so only scores
near the crossing can matter. They are gathered once (:mod:`spoofspan.uncertainty.gathered`), sorted and cut into
groups::

    scores      below the bracket    |  group 0  |  group 1  |  group 2  |   above
    summed      per unit             |  per unit |  per unit |  per unit |   (what is left)

Of each replicate, one product of its weights with the sums per unit says in which group its crossing lies; only the
scores of that group are looked at one by one. Crossings are decided in Python integers. A replicate that crosses
elsewhere is computed from the whole mass. Either way value and threshold have the bits of
``equal_error_rate(mass.reweight(w))``. It is apart from :mod:`spoofspan.measures.crossing`, which passes over the whole
mass each time it is asked.

Memory: 24 bytes and the score for each score inside the bracket (equal scores of a unit count once), and
``16 * (groups + 3)`` bytes per unit, twice. Of 12.46 million scores the bracket held 0.3 % with 71,237 units, and 18 %
with 20 units that differ widely.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.base.times import Float64, Int64
from spoofspan.data.scores import Values
from spoofspan.mass.ranges import TimedPart
from spoofspan.mass.score_mass import NS_PER_BLOCK, Columns, ScoreMass, UtteranceBlock
from spoofspan.mass.score_runs import mirrored
from spoofspan.measures.crossing import SAMPLE, crossing, sum_ties
from spoofspan.measures.eer import equal_error_rate
from spoofspan.measures.eer_rules import NEIGHBOUR_RULES, check_eer_rule
from spoofspan.uncertainty.gathered import TOTALS, CalledIn, Gathered, OutsideError
from spoofspan.uncertainty.replicates import (
    BlocksByUtterance,
    ExactColumns,
    add_by_unit,
    all_but_one,
    confusions,
    each_by_unit,
    refuse_shards,
)
from spoofspan.uncertainty.score_sample import sampled_scores

# The bracket holds the crossings of replicates up to so many standard deviations away.
DEVIATIONS = 5.0
# So many scores are all gathered: to look for a bracket would cost more.
FEW_ROWS = 1 << 17
MOST_GROUPS = 512
# Where the best of all thresholds is sought, groups are so many times smaller: more of them are looked at.
MANY_GROUPS = 6
# So many sums of units in groups are held for each class (64 MB).
MOST_SUMS = 1 << 23


def gather_near_crossing(
    mass: ScoreMass, unit_of: Int64, units: int, deviations: float, few_rows: int
) -> Gathered | None:
    """Gather all rows of a small mass, otherwise those that replicates may cross at; None if sums could overflow."""
    low = top = None
    sizes = [part.runs.values.size for part in mass.parts if isinstance(part, TimedPart)]
    if len(sizes) < len(mass.parts) or sum(sizes) > few_rows:  # of shards nobody knows how many they have
        low, top = _bracket(mass, unit_of, units, deviations)
    return _gather(mass, unit_of, units, low, top)


def gather_all(mass: ScoreMass, unit_of: Int64, units: int, *, many_groups: bool = False) -> Gathered | None:
    """Gather all rows; None if sums could overflow."""
    return _gather(mass, unit_of, units, None, None, MANY_GROUPS if many_groups else 1)


def _bracket(mass: ScoreMass, unit_of: Int64, units: int, deviations: float) -> tuple[Any, Any]:
    """Two scores between which replicates cross: where FPR - FNR is so many standard deviations from 0."""
    try:
        found = crossing(mass)
    except UndefinedMeasureError:
        return None, None
    if found.before is None or found.after is None:
        return None, None
    tau = mirrored(found.before.threshold, mass.higher)
    sums = np.zeros((units, 6), np.float64)
    for unit, found_here in each_by_unit(
        mass, unit_of, lambda block: confusions(block, block.mass.scores < block.mass.scores.dtype.type(tau))
    ):
        add_by_unit(sums, unit, found_here)
    bona_fide, spoof = (max(float(column.sum()), 1.0) for column in sums.T[:2])
    positive_rate, called_rate = float(sums[:, 4].sum()) / bona_fide, float(sums[:, 5].sum()) / spoof
    # how far each unit pulls FPR - FNR, to first order
    pull = (sums[:, 4] - positive_rate * sums[:, 0]) / bona_fide + (sums[:, 5] - called_rate * sums[:, 1]) / spoof
    sample = mass.sample(SAMPLE)
    if not sample[0].size:  # shards have none at hand
        sample = sampled_scores(mass)
    return _scores_around(sample, tau, deviations * float(np.sqrt((pull**2).sum())))


def _scores_around(sample: Columns, tau: float, distance: float) -> tuple[Any, Any]:
    """Two scores of a sample at which FPR - FNR differs by a distance from that at tau; None: beyond the sample."""
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
    """One pass: sum what lies below the bracket per unit, gather what lies inside."""
    sums = np.zeros((units, 6), np.int64)
    inside: list[tuple[Values, Int64, Int64, Int64]] = []
    whole = 0.0
    for unit, part in each_by_unit(mass, unit_of, partial(_gathered_of, low, top)):
        whole += part.whole
        if whole >= NS_PER_BLOCK:
            return None
        add_by_unit(sums, unit, part.matrices)
        scores, bona_fide, spoof = part.inside
        inside.append(_sum_ties_of_units(scores.astype(mass.dtype, copy=False), unit[part.owner], bona_fide, spoof))
    scores, unit, bona_fide, spoof = (np.concatenate(column) for column in zip(*inside, strict=True))
    return _grouped(mass, sums, _sum_ties_of_units(scores, unit, bona_fide, spoof), finer)


@dataclass(frozen=True, eq=False)
class _BlockGathered:
    """What a block has: of all, of each utterance, and the rows inside the bracket with their utterances."""

    whole: float
    matrices: Int64
    inside: Columns
    owner: Int64


def _gathered_of(low: Any, top: Any, block: UtteranceBlock) -> _BlockGathered:
    scores, bona_fide, spoof = block.mass.scores, block.mass.bona_fide, block.mass.spoof
    amounts = (bona_fide, spoof, block.undecided_bona_fide, block.undecided_spoof)
    whole = float(sum(column.sum(dtype=np.float64) for column in amounts))
    below = np.zeros(scores.size, bool) if low is None else scores < low
    chosen = block.mass.counted & ~below
    if top is not None:
        chosen &= scores <= top
    rows = np.flatnonzero(chosen)
    owner = np.searchsorted(block.offsets, rows, side="right") - 1
    return _BlockGathered(whole, confusions(block, below), (scores[rows], bona_fide[rows], spoof[rows]), owner)


def _sum_ties_of_units(
    scores: Values, unit: Int64, bona_fide: Int64, spoof: Int64
) -> tuple[Values, Int64, Int64, Int64]:
    """Sort by score, then unit, and add up what is equal in both."""
    if not scores.size:
        return scores, unit, bona_fide, spoof
    order = np.lexsort((unit, scores))
    scores, unit = scores[order], unit[order]
    begins = np.flatnonzero(np.concatenate(([True], (scores[1:] != scores[:-1]) | (unit[1:] != unit[:-1]))))
    bona_fide, spoof = (np.add.reduceat(column[order], begins) for column in (bona_fide, spoof))
    return scores[begins], unit[begins], bona_fide, spoof


def _grouped(mass: ScoreMass, sums: Int64, rows: tuple[Values, Int64, Int64, Int64], finer: int) -> Gathered | None:
    """Cut sorted rows into groups of about equal size, at distinct scores; ``sums`` are those of :func:`confusions`."""
    scores, unit, bona_fide, spoof = rows
    if not scores.size:
        return None
    units = len(sums)
    ends = np.append(np.flatnonzero(scores[1:] != scores[:-1]) + 1, scores.size)
    # a product with the sums of a group costs a unit about a 400th of what a row costs that is looked at
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
    return Gathered(columns, scores[ends - 1], ends, group_ends, unit, bona_fide, spoof, mass.higher, mass.uncovered)


@dataclass(frozen=True, eq=False)
class Eers:
    """The EERs of some replicates; NaN where one class is missing."""

    values: Float64
    thresholds: Float64
    outside: int  # how many had to be computed from the whole mass


class EerReplicates:
    """Exact EERs of a mass under any weights of its units.

    >>> import spoofspan.demo
    >>> corpus = spoofspan.demo.load()
    >>> mass = spoofspan.overlay(corpus.references, corpus.systems[0.02])
    >>> replicates = EerReplicates(mass)
    >>> once = replicates.eers(np.ones((1, replicates.units), np.int64))
    >>> once.values.tolist() == [float(equal_error_rate(mass).value)]
    True
    """

    def __init__(
        self,
        mass: ScoreMass,
        unit_of_utterance: Int64 | None = None,
        *,
        units: int | None = None,
        rule: str = "nearest",
        deviations: float = DEVIATIONS,
        few_rows: int = FEW_ROWS,
    ) -> None:
        count = len(mass.utterances)
        self._mass = mass
        self._rule = check_eer_rule(rule)
        self._unit_of = np.arange(count) if unit_of_utterance is None else unit_of_utterance
        if self._unit_of.shape != (count,):
            raise UsageError(f"{count} utterances need as many units, not {self._unit_of.shape}")
        self.units = int(self._unit_of.max(initial=-1)) + 1 if units is None else units
        self._gathered: Gathered | None = None
        if self._rule in NEIGHBOUR_RULES and all(isinstance(part, BlocksByUtterance) for part in mass.parts):
            self._gathered = gather_near_crossing(mass, self._unit_of, self.units, deviations, few_rows)
        if self._gathered is None:
            refuse_shards(mass)

    @property
    def amounts(self) -> Int64 | None:
        """What each unit has of both classes, under scores and under none; None if that was not gathered."""
        return None if self._gathered is None else self._gathered.columns.columns[:, :TOTALS]

    def eers(self, weights: Int64) -> Eers:
        """The EERs of replicates: a row of ``weights`` for each, a whole number for each unit."""
        gathered = self._gathered
        if gathered is None:
            return self._collect([self._whole(row) for row in weights], len(weights))
        sums = gathered.columns.weighted(weights)
        return self._eers(gathered, iter(weights), sums, (partial(gathered.called_under, row) for row in weights))

    def values(self, weights: Int64) -> Float64:
        """The values of :meth:`eers`."""
        return self.eers(weights).values

    def values_without_each(self) -> Float64:
        """The value without each of the units, as a jackknife needs them."""
        if self._gathered is None:
            return np.array([self._whole(row)[0] for row in all_but_one(self.units)], np.float64)
        return self._eers(self._gathered, all_but_one(self.units), *self._gathered.without_each()).values

    def _eers(
        self, gathered: Gathered, weights: Iterator[Int64], sums: npt.NDArray[Any], called: Iterator[CalledIn]
    ) -> Eers:
        found, outside = [], 0
        for row, row_sums, called_in in zip(weights, sums, called, strict=True):
            try:
                found.append(gathered.eer(row_sums.tolist(), called_in, self._rule))
            except OutsideError:
                outside += 1
                found.append(self._whole(row))
        return self._collect(found, outside)

    def _whole(self, weights: Int64) -> tuple[float, float]:
        """The EER from the whole mass."""
        try:
            eer = equal_error_rate(self._mass.reweight(weights[self._unit_of]), self._rule)
        except UndefinedMeasureError:
            return float("nan"), float("nan")
        return float(eer.value), eer.point.threshold

    @staticmethod
    def _collect(found: list[tuple[float, float]], outside: int) -> Eers:
        values, thresholds = np.array(found, np.float64).reshape(-1, 2).T
        return Eers(values, thresholds, outside)

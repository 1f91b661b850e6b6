"""Replicates of measures over all thresholds: scores are gathered once, and only counted for each replicate.

- **EER**: :class:`EerReplicates`, of the scores near the crossing. A replicate that crosses elsewhere is computed from
  the whole mass.
- **The best of all thresholds** (minDCF, t-DCF, best F1) and **FNR at an FPR**: :class:`CurveReplicates`, of all
  scores. Both errors at the edges of a group bound what can be had inside of it, so only groups that may hold the best
  threshold are examined.
- **AUC**: :class:`AucReplicates`. Twice the number of pairs in the right order, a tie counting once, is a whole number.
- **Cllr**: :class:`CostReplicates`, a ratio of sums over units; the same as the measure but for rounding.

All but the last have the bits of the measure of the re-weighted mass (:mod:`spoofspan.uncertainty.gathered`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, nan
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.base.times import Float64, Int64
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.confusion import ConfusionMatrix, Formula, Positive
from spoofspan.measures.eer import Step, crossing_at, eer_of, equal_error_rate
from spoofspan.measures.measure import NEIGHBOUR_RULES, check_eer_rule
from spoofspan.measures.operating_point import Totals
from spoofspan.measures.ranking import exact_dot
from spoofspan.uncertainty.gathered import TOTALS, Gathered, Reaching, Replicate, gather_all, gather_near_crossing
from spoofspan.uncertainty.replicates import (
    BlocksByUtterance,
    SummedReplicates,
    all_but_one,
    each_by_unit,
    refuse_shards,
)

# The bracket includes crossings of replicates up to so many standard deviations away.
DEVIATIONS = 5.0
# Up to so many scores, all are gathered: a bracket would cost more.
FEW_ROWS = 1 << 17
# Ratios in doubles this close to the best are compared exactly.
CLOSE = 1e-12
# Up to so many units, the AUC is a sum over pairs of units.
MOST_PAIRED = 2048


@dataclass(frozen=True, eq=False)
class Eers:
    """The EERs of some replicates; NaN if a class is missing."""

    values: Float64
    thresholds: Float64
    outside: int  # the number that was computed from the whole mass


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
        """The amounts of both classes of each unit, with and without scores; None if they were not gathered."""
        return None if self._gathered is None else self._gathered.columns.columns[:, :TOTALS]

    def eers(self, weights: Int64) -> Eers:
        """The EERs of replicates: a row of ``weights`` for each, a whole number for each unit."""
        if self._gathered is None:
            return _collected((*self._whole(row), True) for row in weights)
        return _collected(map(self._eer, self._gathered.replicates(weights)))

    def values(self, weights: Int64) -> Float64:
        """The values of :meth:`eers`."""
        return self.eers(weights).values

    def values_without_each(self) -> Float64:
        """The value without each unit, for a jackknife."""
        if self._gathered is None:
            return np.array([self._whole(row)[0] for row in all_but_one(self.units)], np.float64)
        return _collected(map(self._eer, self._gathered.without_each())).values

    def _eer(self, replicate: Replicate) -> tuple[float, float, bool]:
        """The EER of a replicate and its threshold; True if it was computed from the whole mass."""
        if not replicate.is_defined:
            return nan, nan, False
        step = self._step(replicate)
        if step is None:
            return *self._whole(replicate.weights), True
        eer = eer_of(crossing_at(replicate.whole, step), self._rule)
        return float(eer.value), eer.point.threshold, False

    def _step(self, replicate: Replicate) -> Step | None:
        """The score at which FPR >= FNR; None if it, or the next one, was not gathered."""
        found, gathered = replicate.first(replicate.whole.crossed), self._gathered
        if gathered is None or found.before is None or found.after is None:
            return None
        following = _next_score(gathered, replicate, found)
        if following is None and sum(found.after) < replicate.whole.bona_fide + replicate.whole.spoof:
            return None
        score = float(gathered.distinct[int(gathered.group_ends[found.group]) + found.place])
        here = found.after[0] - found.before[0], found.after[1] - found.before[1]
        return Step(score, *found.before, *here, following)

    def _whole(self, weights: Int64) -> tuple[float, float]:
        """The EER from the whole mass."""
        try:
            eer = equal_error_rate(self._mass.reweight(weights[self._unit_of]), self._rule)
        except UndefinedMeasureError:
            return nan, nan
        return float(eer.value), eer.point.threshold


def _collected(found: Iterable[tuple[float, float, bool]]) -> Eers:
    values, thresholds, outside = np.array(list(found), np.float64).reshape(-1, 3).T
    return Eers(values, thresholds, int(outside.sum()))


def _next_score(gathered: Gathered, replicate: Replicate, found: Reaching) -> float | None:
    """The next gathered score with counted time; None if there is none."""
    so_far, first = sum(found.after or ()), found.place + 1
    for group in range(found.group, len(gathered.group_ends) - 1):
        bona_fide, spoof = replicate.called(group, group + 1)
        # what is called never falls; where it rises, a score has counted time
        later = np.flatnonzero((bona_fide + spoof)[first:] > so_far)
        if later.size:
            return float(gathered.distinct[int(gathered.group_ends[group]) + first + int(later[0])])
        first = 0
    return None


class CurveReplicates:
    """A measure at the best of all thresholds, or at the last one that keeps a rate within a bound.

    ``limit`` is the rate and its bound; without one, the threshold is the best for the formula.
    """

    def __init__(
        self,
        gathered: Gathered,
        formula: Formula,
        positive: Positive = "spoof",
        limit: tuple[Literal["fpr", "fnr"], Fraction] | None = None,
    ) -> None:
        self.units = gathered.units
        self._gathered, self._formula, self._positive, self._limit = gathered, formula, positive, limit
        self._sign = 1.0 if formula.direction == "higher" else -1.0

    def values(self, weights: Int64) -> Float64:
        """The value of each replicate; NaN where it has none."""
        return np.array([self._value(one) for one in self._gathered.replicates(weights)], np.float64)

    def values_without_each(self) -> Float64:
        """The value without each unit."""
        return np.array([self._value(one) for one in self._gathered.without_each()], np.float64)

    def _value(self, replicate: Replicate) -> float:
        """The best value at the candidate thresholds."""
        called = self._called(replicate) if replicate.is_defined else set()
        if not called:
            return nan
        sign = int(self._sign)
        exact = (self._formula.at(replicate.whole.point(0.0, *pair), self._positive) for pair in called)
        return float(sign * max(sign * value for value in exact))

    def _called(self, replicate: Replicate) -> set[tuple[int, int]]:
        """Amounts called spoof at the threshold, or at several that are equal in doubles."""
        if self._limit is None:
            return self._best(replicate)
        (rate, bound), whole = self._limit, replicate.whole

        def beyond(bona_fide: int, spoof: int) -> bool:
            """True if FPR is above its bound; or, from the other end, FNR within its bound."""
            false_positive, false_negative = whole.errors(bona_fide, spoof)
            if rate == "fpr":
                return false_positive * bound.denominator > bound.numerator * whole.all_bona_fide
            return false_negative * bound.denominator <= bound.numerator * whole.all_spoof

        # one rate is as high as its bound allows, and the other as low as it can be
        found = replicate.first(beyond)
        pair = found.before if rate == "fpr" else found.after
        return set() if pair is None else {pair}

    def _best(self, replicate: Replicate) -> set[tuple[int, int]]:
        """Amounts called spoof at the best thresholds, which are equal in doubles."""
        edges, whole = [np.array(column) for column in replicate.below], replicate.whole
        # at the edges; and the fewest of bona fide called spoof with the most of spoof: inside nothing is better
        at_edges, bounds = self._ratios(whole, *edges), self._ratios(whole, edges[0][:-1], edges[1][1:])
        top = float(at_edges.max())
        found = [(at_edges, *edges)]
        groups = np.flatnonzero(bounds >= top - CLOSE * abs(top))
        if groups.size:  # mostly neighbours, so examined together
            called = replicate.called(int(groups[0]), int(groups[-1]) + 1)
            found.append((self._ratios(whole, *called), *called))
            top = max(top, float(found[-1][0].max()))
        pairs: set[tuple[int, int]] = set()
        for ratios, bona_fide, spoof in found:
            close = np.flatnonzero(ratios >= top - CLOSE * abs(top))
            pairs.update(zip(bona_fide[close].tolist(), spoof[close].tolist(), strict=True))
        return pairs

    def _ratios(self, whole: Totals, bona_fide: npt.NDArray[Any], spoof: npt.NDArray[Any]) -> Float64:
        """The values in doubles, higher is better; -inf where there is none."""
        amounts = whole.bona_fide, whole.spoof, whole.undecided_bona_fide, whole.undecided_spoof
        doubles: Any = Totals(whole.higher, whole.unit, whole.uncovered, *map(float, amounts))  # type: ignore[arg-type]
        called = doubles.point(None, bona_fide.astype(np.float64), spoof.astype(np.float64))
        above, under = self._formula.terms(ConfusionMatrix.of(called, self._positive))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios: Float64 = self._sign * np.asarray(above, np.float64) / np.asarray(under, np.float64)
        ratios[np.isnan(ratios)] = -np.inf
        return ratios


def curve_replicates(
    mass: ScoreMass,
    unit_of: Int64,
    units: int,
    formula: Formula,
    positive: Positive = "spoof",
    limit: tuple[Literal["fpr", "fnr"], Fraction] | None = None,
) -> CurveReplicates | None:
    """Gather all scores; None if sums could overflow."""
    gathered = gather_all(mass, unit_of, units, many_groups=limit is None)
    return None if gathered is None else CurveReplicates(gathered, formula, positive, limit)


class AucReplicates:
    """The AUC under any weights of the units."""

    def __init__(self, mass: ScoreMass, gathered: Gathered) -> None:
        self.units = gathered.units
        self._unit = gathered.unit
        amounts = gathered.bona_fide, gathered.spoof, gathered.columns.columns[:, 2:4]
        # in units of their common divisor the amounts are small, and products of them fit into int64
        tick = max(gcd(*(int(np.gcd.reduce(column, axis=None)) for column in amounts if column.size)), 1)
        self._bona_fide, self._spoof = gathered.bona_fide // tick, gathered.spoof // tick
        self._undecided = gathered.columns.columns[:, 2:4] // tick
        self._undecided_first = mass.uncovered == "spoof"
        ends = gathered.ends
        distinct = np.repeat(np.arange(ends.size), np.diff(ends, prepend=0))
        self._start, self._end = np.concatenate(([0], ends[:-1]))[distinct], ends[distinct]
        by_class = [
            np.bincount(self._unit, column.astype(np.float64), minlength=self.units).astype(np.int64)
            for column in (self._bona_fide, self._spoof)
        ]
        self._scored = np.stack(by_class, axis=1)

    def values(self, weights: Int64) -> Float64:
        """The value of each replicate; NaN where it has none."""
        scored, undecided = weights @ self._scored, weights @ self._undecided
        whole = scored + undecided
        pairs = [int(b) * int(s) for b, s in whole]
        if self.units <= MOST_PAIRED and 2 * max(pairs, default=0) < 2**53:
            doubles = weights.astype(np.float64)
            in_order = ((doubles @ self._pairs) * doubles).sum(axis=1).astype(np.int64).tolist()
        else:
            in_order = [self._in_order(row, 2 * most) for row, most in zip(weights, pairs, strict=True)]
        values = []
        for twice, most, (b, s), (u_b, u_s) in zip(in_order, pairs, scored.tolist(), undecided.tolist(), strict=True):
            ends = u_s * (2 * b + u_b) if self._undecided_first else u_b * (2 * s + u_s)
            values.append(float(Fraction(twice + ends, 2 * most)) if most else nan)
        return np.array(values, np.float64)

    def _in_order(self, weights: Int64, most: int) -> int:
        """Twice the pairs in the right order, of all scores."""
        by_row = weights[self._unit]
        before = np.concatenate(([0], np.cumsum(self._spoof * by_row)))
        # of each row, what of spoof lies below it and what up to it: with half of the ties, twice
        amounts, others = self._bona_fide * by_row, before[self._start] + before[self._end]
        return int((amounts * others).sum()) if most < 2**62 else exact_dot(amounts, others)

    @cached_property
    def _pairs(self) -> Float64:
        """Twice the pairs in the right order, of the bona fide of one unit (a row) and the spoof of one (a column)."""
        some = np.flatnonzero(self._bona_fide)
        unit, amounts, start, end = (one[some] for one in (self._unit, self._bona_fide, self._start, self._end))
        spoofed = np.flatnonzero(self._spoof)
        spoofed = spoofed[np.argsort(self._unit[spoofed], kind="stable")]
        edges = np.searchsorted(self._unit[spoofed], np.arange(self.units + 1))
        pairs = np.zeros((self.units, self.units))
        for other in range(self.units):
            rows = spoofed[edges[other] : edges[other + 1]]
            if rows.size:
                before = np.concatenate(([0], np.cumsum(self._spoof[rows])))
                found = before[np.searchsorted(rows, start)] + before[np.searchsorted(rows, end)]
                pairs[:, other] = np.bincount(unit, amounts * found, minlength=self.units)
        return pairs

    def values_without_each(self) -> Float64:
        """The value without each unit: without its pairs with all units, plus its own pairs, removed twice."""
        bona_fide, spoof = self._bona_fide.astype(np.float64), self._spoof.astype(np.float64)
        u_bona_fide, u_spoof = (column.astype(np.float64) for column in self._undecided.T)

        def by_unit(column: Float64) -> Float64:
            return np.bincount(self._unit, column, minlength=self.units).astype(np.float64, copy=False)

        spoof_before, bona_fide_before = (np.concatenate(([0.0], np.cumsum(one))) for one in (spoof, bona_fide))
        of_bona_fide = by_unit(bona_fide * (spoof_before[self._start] + spoof_before[self._end]))
        above = 2 * bona_fide_before[-1] - bona_fide_before[self._start] - bona_fide_before[self._end]
        of_spoof = by_unit(spoof * above)
        b, s = by_unit(bona_fide), by_unit(spoof)
        own = self._own_pairs(bona_fide, spoof)
        if self._undecided_first:
            of_bona_fide += 2 * b * u_spoof.sum() + u_bona_fide * u_spoof.sum()
            of_spoof += u_spoof * (2 * b.sum() + u_bona_fide.sum())
            own += u_spoof * (2 * b + u_bona_fide)
        else:
            of_bona_fide += u_bona_fide * (2 * s.sum() + u_spoof.sum())
            of_spoof += 2 * s * u_bona_fide.sum() + u_spoof * u_bona_fide.sum()
            own += u_bona_fide * (2 * s + u_spoof)
        left = of_bona_fide.sum() - of_bona_fide - of_spoof + own
        all_bona_fide, all_spoof = b + u_bona_fide, s + u_spoof
        with np.errstate(divide="ignore", invalid="ignore"):
            whole = (all_bona_fide.sum() - all_bona_fide) * (all_spoof.sum() - all_spoof)
            return np.where(whole > 0, left / (2 * whole), nan)

    def _own_pairs(self, bona_fide: Float64, spoof: Float64) -> Float64:
        """The pairs inside of each unit: equal scores of a unit are one row already."""
        order = np.argsort(self._unit, kind="stable")
        unit = self._unit[order]
        before = np.concatenate(([0.0], np.cumsum(spoof[order])))
        first = before[np.searchsorted(unit, unit)]
        pairs = bona_fide[order] * (before[:-1] + before[1:] - 2 * first)
        return np.bincount(unit, pairs, minlength=self.units).astype(np.float64, copy=False)


class CostReplicates(SummedReplicates):
    """Half the sum of the mean costs of both classes, given the costs of a score under each class."""

    def __init__(
        self, mass: ScoreMass, unit_of: Int64, units: int, costs: Callable[[Float64], tuple[Float64, Float64]]
    ) -> None:
        columns = np.zeros((units, 4))
        for unit, block in each_by_unit(mass, unit_of, lambda block: block):
            of_row = np.repeat(unit, np.diff(block.offsets))
            for column, (amounts, cost) in enumerate(
                zip((block.mass.bona_fide, block.mass.spoof), costs(block.mass.scores.astype(np.float64)), strict=True)
            ):
                some = np.flatnonzero(amounts)  # elsewhere the cost may be infinite, and does not count
                columns[:, column] += np.bincount(of_row[some], amounts[some] * cost[some], minlength=units)
                columns[:, 2 + column] += np.bincount(of_row[some], amounts[some], minlength=units)
        super().__init__(columns)

    def values_of(self, sums: npt.NDArray[Any]) -> Float64:
        """The mean of the mean costs; NaN without a class."""
        with np.errstate(divide="ignore", invalid="ignore"):
            values: Float64 = (sums[:, 0] / sums[:, 2] + sums[:, 1] / sums[:, 3]) / 2
        values[~((sums[:, 2] > 0) & (sums[:, 3] > 0))] = nan
        return values

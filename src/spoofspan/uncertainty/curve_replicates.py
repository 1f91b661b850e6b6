"""Replicates of measures over all thresholds: the scores are sorted once, and only counted anew for each replicate.

- **The best of all thresholds** (minDCF, t-DCF, best F1) and **FNR at an FPR**: :class:`CurveReplicates`. Scores are in
  groups (:class:`~spoofspan.uncertainty.gathered.Gathered`). Both errors at the edges of a group bound what can
  be had inside of it, so only groups that may hold the best threshold are looked at. The result has the bits of the
  measure of the re-weighted mass.
- **AUC**: :class:`AucReplicates`. Twice the number of pairs in the right order, a tie counting once, is a whole number.
- **Cllr**: :class:`CostReplicates`, a ratio of sums over units; the same as the measure but for rounding.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property, partial
from math import gcd, nan
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from spoofspan.base.times import Float64, Int64
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.confusion import ConfusionMatrix, Formula, Positive
from spoofspan.measures.operating_point import Totals
from spoofspan.measures.ranking import exact_dot
from spoofspan.uncertainty.eer_replicates import gather_all
from spoofspan.uncertainty.gathered import TOTALS, Below, Gathered
from spoofspan.uncertainty.replicates import SummedReplicates, all_but_one, blocks_by_unit

# Ratios in doubles this close to the best are compared exactly.
CLOSE = 1e-12
# Given what a replicate adds up to and its weights: the amounts of bona fide and spoof that are called spoof.
Finder = Callable[[Totals, Int64], set[tuple[int, int]]]
# Up to so many units, the AUC is a sum over pairs of units.
MOST_PAIRED = 2048


class CurveReplicates:
    """A measure at the best of all thresholds, or at the last one that keeps a rate within a bound.

    ``limit`` is the rate and its bound; without one, the threshold is the best for the formula.
    """

    def __init__(
        self,
        mass: ScoreMass,
        gathered: Gathered,
        formula: Formula,
        positive: Positive = "spoof",
        limit: tuple[Literal["fpr", "fnr"], Fraction] | None = None,
    ) -> None:
        self.units = len(gathered.columns.columns)
        self._mass, self._gathered, self._formula, self._positive = mass, gathered, formula, positive
        self._limit = limit
        self._sign = 1.0 if formula.direction == "higher" else -1.0

    def values(self, weights: Int64) -> Float64:
        """The value of each replicate; NaN where it has none."""
        return self._values(iter(weights), self._gathered.columns.weighted(weights))

    def values_without_each(self) -> Float64:
        """The value without each of the units."""
        columns = self._gathered.columns.columns
        return self._values(all_but_one(self.units), columns.sum(axis=0) - columns)

    def _values(self, weights: Iterator[Int64], sums: npt.NDArray[Any]) -> Float64:
        called = self._last_within if self._limit is not None else self._best
        values = []
        for row, whole, found in zip(weights, self._wholes(sums), called(sums), strict=True):
            both = whole.all_bona_fide and whole.all_spoof and whole.bona_fide + whole.spoof
            values.append(self._exact(whole, found(whole, row)) if both else nan)
        return np.array(values, np.float64)

    def _wholes(self, sums: npt.NDArray[Any]) -> Iterator[Totals]:
        for row in sums[:, :TOTALS].tolist():
            yield Totals(self._mass.higher, self._mass.unit, self._mass.uncovered, *row)

    def _exact(self, whole: Totals, called: set[tuple[int, int]]) -> float:
        """The best value of those that are called spoof."""
        if not called:
            return nan
        sign = int(self._sign)
        exact = (self._formula.at(whole.point(0.0, *pair), self._positive) for pair in called)
        return float(sign * max(sign * value for value in exact))

    def _edges(self, sums: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """What lies below the groups: a row for each replicate."""
        edges = len(self._gathered.group_ends)
        return sums[:, TOTALS : TOTALS + edges], sums[:, TOTALS + edges :]

    def _best(self, sums: npt.NDArray[Any]) -> Iterator[Finder]:
        """What is called spoof at the best thresholds of each replicate: those that doubles cannot tell apart."""
        below_bona_fide, below_spoof = self._edges(sums)
        totals = (sums[:, k : k + 1].astype(np.float64) for k in range(TOTALS))
        wholes = Totals(self._mass.higher, self._mass.unit, self._mass.uncovered, *totals)  # type: ignore[arg-type]
        # at the edges; and the fewest of bona fide called spoof with the most of spoof: inside nothing is better
        at_edges = self._ratios(wholes, below_bona_fide, below_spoof)
        bounds = self._ratios(wholes, below_bona_fide[:, :-1], below_spoof[:, 1:])
        best = at_edges.max(axis=1)
        worth_it = bounds >= (best - CLOSE * np.abs(best))[:, None]

        def find(number: int, whole: Totals, weights: Int64) -> set[tuple[int, int]]:
            below = below_bona_fide[number], below_spoof[number]
            found = [(at_edges[number], *below)]
            top = float(best[number])
            groups = np.flatnonzero(worth_it[number])
            if groups.size:  # neighbours of each other, mostly: looked at together
                first, last = int(groups[0]), int(groups[-1])
                bona_fide, spoof = self._gathered.called_under(weights, first, below, last + 1)
                ratios = self._ratios(whole, bona_fide, spoof)
                top = max(top, float(ratios.max()))
                found.append((ratios, bona_fide, spoof))
            pairs: set[tuple[int, int]] = set()
            for ratios, bona_fide, spoof in found:
                close = np.flatnonzero(ratios >= top - CLOSE * abs(top))
                pairs.update(zip(bona_fide[close].tolist(), spoof[close].tolist(), strict=True))
            return pairs

        return (partial(find, number) for number in range(len(sums)))

    def _ratios(self, whole: Totals, bona_fide: npt.NDArray[Any], spoof: npt.NDArray[Any]) -> Float64:
        """The values in doubles, higher is better; -inf where there is none."""
        fp, fn = whole.errors(bona_fide.astype(np.float64), spoof.astype(np.float64))  # type: ignore[arg-type]
        unanswered = whole.uncovered == "unanswered"
        tp = whole.all_spoof - fn - (whole.undecided_spoof if unanswered else 0)
        tn = whole.all_bona_fide - fp - (whole.undecided_bona_fide if unanswered else 0)
        matrix = ConfusionMatrix(tp, fp, fn, tn, 1.0 * whole.all_spoof, 1.0 * whole.all_bona_fide)
        above, under = self._formula.terms(matrix.seen_from(self._positive))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios: Float64 = self._sign * np.asarray(above, np.float64) / np.asarray(under, np.float64)
        ratios[np.isnan(ratios)] = -np.inf
        return ratios

    def _last_within(self, sums: npt.NDArray[Any]) -> Iterator[Finder]:
        """What is called spoof where one rate is as high as its bound allows, and the other as low as it can be."""
        for bona_fide, spoof in zip(*(column.tolist() for column in self._edges(sums)), strict=True):
            yield partial(self._at_bound, (bona_fide, spoof))

    def _at_bound(self, below: Below, whole: Totals, weights: Int64) -> set[tuple[int, int]]:
        rate, bound = self._limit or ("fpr", Fraction(0))

        def beyond(bona_fide: int, spoof: int) -> bool:
            """Whether FPR is above its bound; or, from the other end, FNR within its bound."""
            false_positive, false_negative = whole.errors(bona_fide, spoof)
            if rate == "fpr":
                return false_positive * bound.denominator > bound.numerator * whole.all_bona_fide
            return false_negative * bound.denominator <= bound.numerator * whole.all_spoof

        edges = range(len(below[0]))
        edge = bisect_left(edges, True, key=lambda g: beyond(below[0][g], below[1][g]))
        if edge in (0, len(edges)):
            # at once: no threshold has so low an FPR, or the lowest has so low an FNR; never: the other way round
            if (edge == 0) == (rate == "fpr"):
                return set()
            last = edge - 1 if edge else 0
            return {(below[0][last], below[1][last])}
        inside = self._gathered.called_under(weights, edge - 1, below)
        place = bisect_left(range(len(inside[0])), True, key=lambda k: beyond(int(inside[0][k]), int(inside[1][k])))
        if rate == "fnr":
            return {(int(inside[0][place]), int(inside[1][place]))}
        if not place:
            return {(below[0][edge - 1], below[1][edge - 1])}
        return {(int(inside[0][place - 1]), int(inside[1][place - 1]))}


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
    return None if gathered is None else CurveReplicates(mass, gathered, formula, positive, limit)


class AucReplicates:
    """The AUC under any weights of the units."""

    def __init__(self, mass: ScoreMass, gathered: Gathered) -> None:
        self.units = len(gathered.columns.columns)
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
        """The value without each of the units, by taking away its pairs with all units, and giving back its own."""
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
    """Half the sum of the mean costs of both classes, given what a score costs under each class."""

    def __init__(
        self, mass: ScoreMass, unit_of: Int64, units: int, costs: Callable[[Float64], tuple[Float64, Float64]]
    ) -> None:
        columns = np.zeros((units, 4))
        for unit, block in blocks_by_unit(mass, unit_of):
            of_row = np.repeat(unit, np.diff(block.offsets))
            for column, (amounts, cost) in enumerate(
                zip((block.mass.bona_fide, block.mass.spoof), costs(block.mass.scores.astype(np.float64)), strict=True)
            ):
                some = np.flatnonzero(amounts)  # elsewhere the cost may be infinite, and does not count
                columns[:, column] += np.bincount(of_row[some], amounts[some] * cost[some], minlength=units)
                columns[:, 2 + column] += np.bincount(of_row[some], amounts[some], minlength=units)
        super().__init__(columns)

    def sums(self, weights: Int64) -> npt.NDArray[Any]:
        """Costs and amounts of both classes: a row to be given to :meth:`values_of`."""
        sums: npt.NDArray[Any] = weights @ self.columns
        return sums

    def values_of(self, sums: npt.NDArray[Any]) -> Float64:
        """The mean of the mean costs; NaN without a class."""
        with np.errstate(divide="ignore", invalid="ignore"):
            values: Float64 = (sums[:, 0] / sums[:, 2] + sums[:, 1] / sums[:, 3]) / 2
        values[~((sums[:, 2] > 0) & (sums[:, 3] > 0))] = nan
        return values

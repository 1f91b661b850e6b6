"""Replicates of measures over all thresholds: the scores are sorted once, and only counted anew for each replicate.

- **The best of all thresholds** (minDCF, t-DCF, best F1) and **FNR at an FPR**: :class:`CurveReplicates`. Scores are in
  groups (:class:`~spoofspan.uncertainty.eer_replicates.Gathered`). Both errors at the edges of a group bound what can
  be had inside of it, so only groups that may hold the best threshold are looked at. The result has the bits of the
  measure of the re-weighted mass.
- **AUC**: :class:`AucReplicates`. Twice the number of pairs in the right order, a tie counting once, is a whole number.
- **Cllr**: :class:`CostReplicates`, a ratio of sums over units; the same as the measure but for rounding.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from math import gcd, nan
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from spoofspan.base.times import Float64, Int64
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.confusion import ConfusionMatrix, Formula, Positive
from spoofspan.measures.operating_point import Totals
from spoofspan.measures.ranking import exact_dot
from spoofspan.uncertainty.eer_replicates import Below, Gathered, gather_all
from spoofspan.uncertainty.replicates import SummedReplicates, all_but_one, blocks_by_unit

# Ratios in doubles this close to the best are compared exactly.
CLOSE = 1e-12


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
        sums = self._gathered.columns.weighted(weights)
        return np.array([self._value(row, one.tolist()) for row, one in zip(weights, sums, strict=True)], np.float64)

    def values_without_each(self) -> Float64:
        """The value without each of the units."""
        columns = self._gathered.columns.columns
        rows = zip(all_but_one(self.units), columns.sum(axis=0) - columns, strict=True)
        return np.array([self._value(row, one.tolist()) for row, one in rows], np.float64)

    def _value(self, weights: Int64, sums: list[int]) -> float:
        whole = Totals(self._mass.higher, self._mass.unit, self._mass.uncovered, *sums[:4])
        if not whole.all_bona_fide or not whole.all_spoof or not whole.bona_fide + whole.spoof:
            return nan
        edges = len(self._gathered.group_ends)
        below = sums[4 : 4 + edges], sums[4 + edges :]
        find = self._best if self._limit is None else self._last_within
        called = find(whole, weights, below)
        if not called:
            return nan
        sign = int(self._sign)
        exact = (self._formula.at(whole.point(0.0, *pair), self._positive) for pair in called)
        return float(sign * max(sign * value for value in exact))

    def _best(self, whole: Totals, weights: Int64, below: Below) -> set[tuple[int, int]]:
        """What is called spoof at the best thresholds: those that doubles cannot tell apart."""
        bona_fide, spoof = (np.array(column) for column in below)
        at_edges = self._ratios(whole, bona_fide, spoof)
        best = float(at_edges.max())
        # fewest of bona fide called spoof, most of spoof: no threshold of a group is better
        bounds = self._ratios(whole, bona_fide[:-1], spoof[1:])
        found = [(at_edges, bona_fide, spoof)]
        for group in np.flatnonzero(bounds >= best - CLOSE * abs(best)).tolist():
            bona_fide, spoof = self._gathered.called_under(weights, group, below)
            ratios = self._ratios(whole, bona_fide, spoof)
            best = max(best, float(ratios.max()))
            found.append((ratios, bona_fide, spoof))
        least = best - CLOSE * abs(best)
        pairs: set[tuple[int, int]] = set()
        for ratios, *called in found:
            close = np.flatnonzero(ratios >= least)
            pairs.update(zip(*(column[close].tolist() for column in called), strict=True))
        return pairs

    def _ratios(self, whole: Totals, bona_fide: npt.NDArray[Any], spoof: npt.NDArray[Any]) -> Float64:
        """The values in doubles, higher is better; -inf where there is none."""
        fp, fn = whole.errors(bona_fide.astype(np.float64), spoof.astype(np.float64))  # type: ignore[arg-type]
        unanswered = whole.uncovered == "unanswered"
        tp = whole.all_spoof - fn - (whole.undecided_spoof if unanswered else 0)
        tn = whole.all_bona_fide - fp - (whole.undecided_bona_fide if unanswered else 0)
        matrix = ConfusionMatrix(tp, fp, fn, tn, float(whole.all_spoof), float(whole.all_bona_fide))
        above, under = self._formula.terms(matrix.seen_from(self._positive))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios: Float64 = self._sign * np.asarray(above, np.float64) / np.asarray(under, np.float64)
        ratios[np.isnan(ratios)] = -np.inf
        return ratios

    def _last_within(self, whole: Totals, weights: Int64, below: Below) -> set[tuple[int, int]]:
        """What is called spoof where one rate is as high as its bound allows, and the other as low as it can be."""
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


def curve_replicates(mass: ScoreMass, unit_of: Int64, units: int, *arguments: Any) -> CurveReplicates | None:
    """Gather all scores; None if sums could overflow."""
    gathered = gather_all(mass, unit_of, units)
    return None if gathered is None else CurveReplicates(mass, gathered, *arguments)


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

    def values(self, weights: Int64) -> Float64:
        """The value of each replicate; NaN where it has none."""
        return np.array([self._value(row) for row in weights], np.float64)

    def _value(self, weights: Int64) -> float:
        by_row = weights[self._unit]
        bona_fide, spoof = self._bona_fide * by_row, self._spoof * by_row
        undecided_bona_fide, undecided_spoof = (int(one) for one in weights @ self._undecided)
        all_bona_fide, all_spoof = int(bona_fide.sum()) + undecided_bona_fide, int(spoof.sum()) + undecided_spoof
        if not all_bona_fide or not all_spoof:
            return nan
        before = np.concatenate(([0], np.cumsum(spoof)))
        # of each row, what of spoof lies below it and what up to it: with half of the ties, twice
        twice = self._dot(bona_fide, before[self._start] + before[self._end], all_bona_fide * all_spoof)
        scored_bona_fide, scored_spoof = all_bona_fide - undecided_bona_fide, all_spoof - undecided_spoof
        if self._undecided_first:
            twice += undecided_spoof * (2 * scored_bona_fide + undecided_bona_fide)
        else:
            twice += undecided_bona_fide * (2 * scored_spoof + undecided_spoof)
        return float(Fraction(twice, 2 * all_bona_fide * all_spoof))

    @staticmethod
    def _dot(amounts: Int64, others: Int64, bound: int) -> int:
        return int((amounts * others).sum()) if 2 * bound < 2**62 else exact_dot(amounts, others)

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

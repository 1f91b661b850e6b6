"""The jackknife over clusters: the variance of a value over other test sets, from its values without each cluster.

With n clusters and the values v_i of a system without cluster i, the variance of its value from one test set of the
same kind to the next is about::

    (n - 1) / n * sum of (v_i - mean of v)^2

and the covariance of two systems on the same clusters likewise. Any sum of systems with weights (a *contrast*: 1 and -1
for a difference, 1 / k each for a mean of k) has the variance of the sum of their values without each cluster.

**Degrees of freedom.** A variance is itself an estimate, and a poor one where few clusters make it up. Its degrees of
freedom are the smaller of two numbers. One is Satterthwaite's: those of the chi-square with the same mean and variance
as the sum of squares, 2 V^2 / Var(V), with Var(V) from the spread of the squares. Where a handful of clusters has all
the errors, it is a handful. The other is the number of clusters with the scarcer class, minus one: for spoof, 60
utterances with spoof in four of them are as good as four.

**Differences.** The standard error of a rate grows with the rate. Where the errors of one system pile up in few
clusters, a test set that lacks such clusters has a low rate and, with it, a standard error that is too small: the
system seems better, and too surely. On the scale of logits the two hardly go together. So a difference of shares has
the larger of two standard errors: that of the values as they are, and that of their logits, multiplied by the slope
between both values. With values that are alike, both are the same.

**Crossed factors.** The variance over speakers and attacks is that over speakers, plus that over attacks, less that
over their pairs (:mod:`~spoofspan.uncertainty.clusters`). Where noise makes the sum 0 or less, it is the largest of the
parts. Its degrees of freedom are the smallest number of levels of a factor, less one.

With few clusters of a class there is a caution, with fewer than three neither interval nor p-value
(:class:`~spoofspan.uncertainty.clusters.ClusterCounts`).

For several systems: ``Jackknife.of(measured systems, clusters)`` has ``values`` (one for each system), ``without`` (a
row for each cluster, a column for each system), ``covariance`` (between systems), ``counts`` (of clusters, by class),
and ``estimate(contrast)`` with the standard error and the degrees of freedom of any contrast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, fsum, inf, isclose, isnan, log, nan, sqrt

import numpy as np

from spoofspan.base.times import Float64
from spoofspan.measures.kind import Scale
from spoofspan.measures.measure import Measure
from spoofspan.uncertainty.clusters import ClusterCounts, Clusters
from spoofspan.uncertainty.left_out import LeftOut, count_left_out
from spoofspan.uncertainty.measured_system import Measured, leave_out
from spoofspan.uncertainty.student import quantile, two_sided_p

# Limits the slope of logits: few errors would make the logit of a rate useless.
MOST_STRETCH = 3.0
# exp of more overflows.
MOST_EXPONENT = 700.0


def bounds(found: Estimate, scale: Scale, confidence: float) -> tuple[float, float]:
    """Both ends of a t interval on a scale; on the raw scale for a value at the end of its scale.

    >>> from spoofspan.uncertainty.jackknife import Estimate
    >>> low, high = bounds(Estimate(0.1, 0.02, 30), "logit", 0.95)
    >>> round(low, 4), round(high, 4)
    (0.0659, 0.1489)
    """
    value, reach = found.value, found.reach(confidence)
    if scale == "logit" and 0 < value < 1:
        odds = value / (1 - value)
        factor = exp(min(reach / (value * (1 - value)), MOST_EXPONENT))
        return odds / (odds + factor), odds * factor / (1 + odds * factor)
    if scale == "log" and value > 0:
        factor = exp(min(reach / value, MOST_EXPONENT))
        return value / factor, value * factor
    low, high = value - reach, value + reach
    if scale == "raw":
        return low, high
    return max(low, 0.0), min(high, 1.0) if scale == "logit" else high


def stretches(first: float, second: float) -> tuple[float, float]:
    """Slope of the logit at each of two shares over the mean slope between them, at most 3; 1 at 0 and 1.

    >>> [round(one, 3) for one in stretches(0.2, 0.1)]
    [0.771, 1.37]
    """
    if first == second or not all(0 < value < 1 for value in (first, second)):
        return 1.0, 1.0
    chord = (log(first / (1 - first)) - log(second / (1 - second))) / (first - second)
    at_first, at_second = (min(1 / (value * (1 - value) * chord), MOST_STRETCH) for value in (first, second))
    return at_first, at_second


def positive_semidefinite(covariance: Float64) -> Float64:
    """The nearest positive semidefinite covariance; one that is, or has NaN, is returned as it is.

    >>> positive_semidefinite(np.array([[1.0, 2.0], [2.0, 1.0]]))
    array([[1.5, 1.5],
           [1.5, 1.5]])
    """
    if np.isnan(covariance).any():
        return covariance
    values, vectors = np.linalg.eigh(covariance)
    if values.size == 0 or values[0] >= -1e-9 * abs(values[-1]):
        return covariance
    nearest: Float64 = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return nearest


def is_share(measure: Measure) -> bool:
    """True if a measure is a rate or a share, not a cost."""
    return measure.kind.scale == "logit" and measure.kind.percent


@dataclass(frozen=True)
class Term:
    """A variance that is added (or, if negative, subtracted), and its degrees of freedom."""

    variance: float
    degrees: float


def satterthwaite(terms: Sequence[Term]) -> Term:
    """The sum of variances, with the degrees of freedom of the nearest chi-squared law.

    >>> satterthwaite([Term(2.0, 10), Term(2.0, 10)])
    Term(variance=4.0, degrees=20.0)
    """
    whole = sum(term.variance for term in terms)
    spread = sum(term.variance**2 / term.degrees for term in terms)
    return Term(whole, max(whole**2 / spread, 1.0) if spread else inf)


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error over test sets, and the degrees of freedom of the latter."""

    value: float
    standard_error: float
    degrees_of_freedom: float

    @property
    def p_value(self) -> float:
        """The two-sided p-value of the true value being 0."""
        if isnan(self.standard_error):
            return nan
        if not self.standard_error:
            return nan if self.value else 1.0
        return two_sided_p(self.value / self.standard_error, self.degrees_of_freedom)

    def reach(self, confidence: float) -> float:
        """Half the width of the interval."""
        return quantile(confidence, self.degrees_of_freedom) * self.standard_error

    def with_terms(self, terms: Sequence[Term]) -> Estimate:
        """The estimate with variances added to that of the jackknife."""
        if not terms:
            return self
        whole = satterthwaite([Term(self.standard_error**2, self.degrees_of_freedom), *terms])
        return Estimate(self.value, sqrt(whole.variance), whole.degrees)


@dataclass(frozen=True, eq=False)
class Jackknife:
    """Systems on the same clusters, measured without each cluster in turn.

    Parameters
    ----------
    values
        The value of each system with all clusters.
    without
        A row for each cluster, a column for each system: the value without it. With crossed factors, the rows of
        each factor and of each product of several follow each other.
    counts
        The numbers of clusters, by class.
    shares
        True if the values are rates or shares, whose differences are also judged on the scale of logits.
    """

    values: Float64
    without: Float64
    counts: ClusterCounts
    shares: bool = False
    ways: tuple[tuple[int, int], ...] = ()  # of each factor and product: its sign and its rows; (): one, of all rows

    @classmethod
    def of(cls, systems: Sequence[Measured], clusters: Clusters) -> Jackknife:
        """Leave out each cluster of systems that were measured by one measure on the same utterances."""
        left_out = [leave_out(one, clusters) for one in systems]
        return cls.from_left_out([one.value for one in systems], left_out, shares=is_share(systems[0].measure))

    @classmethod
    def from_left_out(cls, values: Sequence[float], systems: Sequence[LeftOut], *, shares: bool) -> Jackknife:
        """Combine the values of several systems without each cluster."""
        without = np.stack([np.concatenate([way.without for way in one.ways]) for one in systems], axis=1)
        ways = tuple((way.sign, way.without.size) for way in systems[0].ways)
        return cls(np.array(values, np.float64), without, count_left_out(systems), shares, ways)

    @cached_property
    def _parts(self) -> list[tuple[int, int, slice]]:
        """Sign, number of clusters and rows of each factor and product of factors."""
        ways = self.ways or ((1, len(self.without)),)
        ends = np.cumsum([rows for _, rows in ways]).tolist()
        return [(sign, rows, slice(end - rows, end)) for (sign, rows), end in zip(ways, ends, strict=True)]

    @cached_property
    def row_weights(self) -> Float64:
        """The weight of the square of each deviation in a variance: (n - 1) / n, negative if it is subtracted."""
        return np.concatenate([np.full(rows, sign * (rows - 1) / rows) for sign, rows, _ in self._parts])

    @cached_property
    def deviations(self) -> Float64:
        """Distance of each value without a cluster from the mean of its factor: a row for each cluster."""
        blocks = [self.without[rows] for *_, rows in self._parts]
        return np.concatenate([block - block.mean(axis=0) for block in blocks])

    @cached_property
    def covariance(self) -> Float64:
        """The covariance of the systems' values from one test set to the next."""
        blocks = [(sign, count, self.deviations[rows]) for sign, count, rows in self._parts]
        covariance: Float64 = sum(sign * (count - 1) / count * (block.T @ block) for sign, count, block in blocks)
        return covariance if len(blocks) == 1 else positive_semidefinite(covariance)

    def estimate(self, contrast: Sequence[float] | Float64) -> Estimate:
        """A sum of systems with weights, its standard error and degrees of freedom; NaN where it is refused."""
        weights = np.asarray(contrast, np.float64)
        value = fsum((self.values * weights).tolist())  # exactly 0 for systems that are the same
        if self.refusal is not None:
            return Estimate(value, nan, nan)
        both = [self._estimate(value, one) for one in (weights, self._of_logits(weights))]
        return max(both, key=lambda one: one.standard_error)

    def _estimate(self, value: float, weights: Float64) -> Estimate:
        squares = self._squares(weights)
        parts = self._variances(squares)
        variance = sum(sign * part for (sign, *_), part in zip(self._parts, parts, strict=True))
        if variance <= 0:
            variance = max(parts)
        return Estimate(value, sqrt(variance), self._degrees_of_freedom(squares))

    def variances(self, contrast: Sequence[float] | Float64) -> list[float]:
        """The variance of a sum of systems over the levels of each factor, and over each product of several."""
        return self._variances(self._squares(np.asarray(contrast, np.float64)))

    def _variances(self, squares: Float64) -> list[float]:
        return [(count - 1) / count * float(squares[rows].sum()) for _, count, rows in self._parts]

    def _squares(self, weights: Float64) -> Float64:
        """Squared deviations of a sum of systems.

        Nearly all sums are of one or two systems of many: for 40 systems on 71,237 clusters, to read theirs alone takes
        a tenth of the time of the whole product.
        """
        columns = np.flatnonzero(weights).tolist()
        if not 0 < len(columns) <= 2:
            return np.asarray((self.deviations @ weights) ** 2)
        first, *second = (weights[column] * self._by_system[column] for column in columns)
        return np.asarray((first + second[0] if second else first) ** 2)

    @cached_property
    def _by_system(self) -> Float64:
        """The deviations with those of each system side by side."""
        return np.ascontiguousarray(self.deviations.T)

    def _of_logits(self, weights: Float64) -> Float64:
        """The weights of a difference with the slope of logits at each side, relative to that between both."""
        first, second = np.maximum(weights, 0.0), np.maximum(-weights, 0.0)
        whole = float(first.sum())
        if not self.shares or not isclose(whole, float(second.sum())):  # no difference
            return weights
        steeper = stretches(float(self.values @ first) / whole, float(self.values @ second) / whole)
        return first * steeper[0] - second * steeper[1]

    def _degrees_of_freedom(self, squares: Float64) -> float:
        most = float(self.counts.fewest - 1)
        if len(self._parts) > 1:
            return most
        spread = float(((squares - squares.mean()) ** 2).sum()) * squares.size / (squares.size - 1)
        if not spread:
            return most
        return max(min(2 * float(squares.sum()) ** 2 / spread, most), 1.0)

    @cached_property
    def refusal(self) -> str | None:
        """The reason for having no interval and no p-value; None if there are some."""
        if self.counts.refusal is None and np.isnan(self.without).any():
            return "without one of the clusters the measure has no value, so there is no interval and no p-value"
        return self.counts.refusal

"""The jackknife over clusters: how far a value moves when each is left out, and what follows for other test sets.

With n clusters and the values v_i of a system without cluster i, the variance of its value from one test set of the
same kind to the next is about::

    (n - 1) / n * sum of (v_i - mean of v)^2

and the covariance of two systems on the same clusters likewise. Any sum of systems with weights (a *contrast*: 1 and -1
for a difference, 1 / k each for a mean of k) has the variance of the sum of their values without each cluster.

**Degrees of freedom.** A variance is itself an estimate, and a poor one where few clusters make it up. Its degrees of
freedom are the smaller of two numbers. One is Satterthwaite's: those of the chi-square with the same mean and variance
as the sum of squares, 2 V^2 / Var(V), with Var(V) from the spread of the squares. Where a handful of clusters has all
the errors, it is a handful. The other counts the clusters of the scarcer class, less one: 60 utterances of which four
have spoof know as much of spoof as four do.

**Differences.** The standard error of a rate grows with the rate. Where the errors of one system pile up in few
clusters, a test set that lacks such clusters has a low rate and, with it, a standard error that is too small: the
system seems better, and too surely. On the scale of logits the two hardly go together. So a difference of shares has
the larger of two standard errors: that of the values as they are, and that of their logits, multiplied by the slope
between both values. With values that are alike, both are the same.

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
from math import isclose, isnan, nan, sqrt
from typing import TYPE_CHECKING

import numpy as np

from spoofspan.base.times import Float64
from spoofspan.uncertainty.clusters import ClusterCounts, Clusters
from spoofspan.uncertainty.left_out import LeftOut
from spoofspan.uncertainty.scales import is_share, stretches
from spoofspan.uncertainty.student import quantile, two_sided_p

if TYPE_CHECKING:
    from spoofspan.uncertainty.measured_system import Measured


@dataclass(frozen=True)
class Estimate:
    """A value, its standard error from one test set to the next, and the degrees of freedom of that."""

    value: float
    standard_error: float
    degrees_of_freedom: float

    @property
    def p_value(self) -> float:
        """The chance of a value at least as far from 0, if the true one were 0; two-sided."""
        if isnan(self.standard_error):
            return nan
        if not self.standard_error:
            return nan if self.value else 1.0
        return two_sided_p(self.value / self.standard_error, self.degrees_of_freedom)

    def reach(self, confidence: float) -> float:
        """How far the interval reaches to either side."""
        return quantile(confidence, self.degrees_of_freedom) * self.standard_error


@dataclass(frozen=True, eq=False)
class Jackknife:
    """Systems on the same clusters, measured without each cluster in turn.

    Parameters
    ----------
    values
        The value of each system with all clusters.
    without
        A row for each cluster, a column for each system: the value without it.
    counts
        How many clusters there are, by class.
    shares
        Whether the values are rates or shares, whose differences are looked at on the scale of logits too.
    """

    values: Float64
    without: Float64
    counts: ClusterCounts
    shares: bool = False

    @classmethod
    def of(cls, systems: Sequence[Measured], clusters: Clusters) -> Jackknife:
        """Leave out each cluster of systems that were measured by one measure on the same utterances."""
        left_out = [one.left_out(clusters) for one in systems]
        return cls.from_left_out([one.value for one in systems], left_out, shares=is_share(systems[0].measure))

    @classmethod
    def from_left_out(cls, values: Sequence[float], systems: Sequence[LeftOut], *, shares: bool) -> Jackknife:
        """Put together what was left out of each system."""
        without = np.stack([one.without for one in systems], axis=1)
        return cls(np.array(values, np.float64), without, counts_of(systems), shares)

    @property
    def left_out(self) -> int:
        """How many times something was left out: a cluster, or a group of them."""
        return len(self.without)

    @cached_property
    def deviations(self) -> Float64:
        """How far each value without a cluster is from their mean: a row for each cluster."""
        deviations: Float64 = self.without - self.without.mean(axis=0)
        return deviations

    @cached_property
    def covariance(self) -> Float64:
        """The covariance of the systems' values from one test set to the next."""
        covariance: Float64 = (self.left_out - 1) / self.left_out * (self.deviations.T @ self.deviations)
        return covariance

    def estimate(self, contrast: Sequence[float] | Float64) -> Estimate:
        """A sum of systems with weights, its standard error and degrees of freedom; NaN where it is refused."""
        weights = np.asarray(contrast, np.float64)
        value = float(self.values @ weights)
        if self.refusal is not None:
            return Estimate(value, nan, nan)
        both = [self._estimate(value, one) for one in (weights, self._of_logits(weights))]
        return max(both, key=lambda one: one.standard_error)

    def _estimate(self, value: float, weights: Float64) -> Estimate:
        squares = (self.deviations @ weights) ** 2
        error = sqrt((self.left_out - 1) / self.left_out * float(squares.sum()))
        return Estimate(value, error, self._degrees_of_freedom(squares))

    def _of_logits(self, weights: Float64) -> Float64:
        """The weights of a difference if the slope of logits at each side counts, instead of that between both."""
        first, second = np.maximum(weights, 0.0), np.maximum(-weights, 0.0)
        whole = float(first.sum())
        if not self.shares or not isclose(whole, float(second.sum())):  # no difference
            return weights
        steeper = stretches(float(self.values @ first) / whole, float(self.values @ second) / whole)
        return first * steeper[0] - second * steeper[1]

    def _degrees_of_freedom(self, squares: Float64) -> float:
        most = float(self.counts.fewest - 1)
        spread = float(((squares - squares.mean()) ** 2).sum()) * squares.size / (squares.size - 1)
        if not spread:
            return most
        return max(min(2 * float(squares.sum()) ** 2 / spread, most), 1.0)

    @cached_property
    def refusal(self) -> str | None:
        """Why nothing can be said of other test sets; None if something can."""
        if self.counts.refusal is None and np.isnan(self.without).any():
            return "without one of the clusters the measure has no value, so there is no interval and no p-value"
        return self.counts.refusal


def counts_of(systems: Sequence[LeftOut]) -> ClusterCounts:
    """How many clusters have any of a class, of the system that has fewest."""
    flags = [one.bona_fide for one in systems], [one.spoof for one in systems]
    counts = [[int(np.count_nonzero(one)) for one in column if one is not None] for column in flags]
    bona_fide, spoof = (min(column) if column else None for column in counts)
    return ClusterCounts(systems[0].clusters, bona_fide, spoof)

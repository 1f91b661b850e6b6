"""Spreads: the variation of values over test sets, from which intervals and p-values are computed.

``jackknife-t`` leaves out each cluster once (:mod:`spoofspan.uncertainty.jackknife`); its interval is that of Student's
t with the degrees of freedom that the clusters allow. It is symmetric on the logit scale for rates, and on the
logarithmic scale for costs that may exceed 1, where their distributions are nearer to t. Differences are on the raw
scale.

A value at the best of all thresholds (minDCF, a-DCF, best F1) or after the best calibration (minCllr) is too good on
average. Its interval is the union of two: around the value, and around the value corrected for that optimism
(:mod:`spoofspan.uncertainty.optimism`).

If no error was observed, a standard error of 0 would mislead. With n clusters without any error, the true rate may be
as high as 1 - (alpha / 2)^(1 / n), the exact binomial bound; the interval extends at least to the value at that rate.

``percentile`` and ``bca`` draw clusters with replacement and measure each draw exactly: the interval between two
quantiles of the replicates, or between quantiles that are corrected for bias and acceleration (Efron, 1987). Their
p-value is the interval inverted: the highest 1 - confidence at which it still holds 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isnan, nan, nextafter
from statistics import NormalDist
from typing import Any, Literal, cast

import numpy as np

from spoofspan.base.errors import IntervalWarning, UndefinedMeasureError, warn_user
from spoofspan.base.plain_results import NearAttributes
from spoofspan.base.times import Float64, Int64
from spoofspan.measures.kind import Scale
from spoofspan.measures.measure import Measure
from spoofspan.uncertainty.clusters import ATTACK, ClusterCounts, Clusters, Resampling, draw_replicates, estimand
from spoofspan.uncertainty.curve_replicates import EerReplicates
from spoofspan.uncertainty.jackknife import Estimate, Jackknife, Term, bounds, is_share
from spoofspan.uncertainty.left_out import LeftOut, class_flags, count_left_out
from spoofspan.uncertainty.measured_system import Measured, clusters_of, leave_out
from spoofspan.uncertainty.methods import METHODS, Method
from spoofspan.uncertainty.replicates import Replicates


def quantiles(replicates: Float64, shares: tuple[float, float]) -> tuple[float, float]:
    """Quantiles as order statistics: the k-th lowest of B is that of k / (B + 1), in between along a line.

    >>> quantiles(np.arange(1.0, 40.0), (0.025, 0.975))
    (1.0, 39.0)
    """
    low, high = np.quantile(replicates, shares, method="weibull")
    return float(low), float(high)


@dataclass(frozen=True)
class BcaCorrection:
    """The correction of quantiles of replicates by BCa (Efron, 1987)."""

    bias: float
    acceleration: float

    @classmethod
    def of(cls, estimate: float, replicates: Float64, without_each: Float64) -> BcaCorrection:
        """Bias from the replicates below the estimate, acceleration from the values without each cluster."""
        if np.isnan(without_each).any():
            raise UndefinedMeasureError(
                "BCa leaves out each cluster once, and without one of them a class is missing; use method='percentile'"
            )
        count = replicates.size
        below = np.count_nonzero(replicates < estimate) + np.count_nonzero(replicates == estimate) / 2
        bias = NormalDist().inv_cdf(min(max(below / count, 0.5 / count), 1 - 0.5 / count))
        pull = without_each.mean() - without_each
        spread = float((pull**2).sum())
        return cls(bias, float((pull**3).sum()) / (6 * spread**1.5) if spread else 0.0)

    def share(self, asked: float) -> float:
        """The corrected quantile for a nominal one."""
        shifted = self.bias + NormalDist().inv_cdf(asked)
        room = 1 - self.acceleration * shifted
        if room <= 0:  # outside the domain of the formula: the end of the replicates
            return float(shifted > 0)
        return NormalDist().cdf(self.bias + shifted / room)

    def asked(self, share: float) -> float:
        """The nominal quantile for a corrected one: the inverse of :meth:`share`."""
        pushed = NormalDist().inv_cdf(share) - self.bias
        room = 1 + self.acceleration * pushed
        if room <= 0:
            return float(pushed > 0)
        return NormalDist().cdf(pushed / room - self.bias)


def inverted_p_value(replicates: Float64, correction: BcaCorrection | None = None) -> float:
    """The highest 1 - confidence at which the interval of the replicates contains 0; at least 2 / (B + 1).

    >>> inverted_p_value(np.array([-1.0, *range(1, 99)]))
    0.03
    """
    down, up = _share_up_to_zero(np.sort(replicates)), _share_up_to_zero(np.sort(-replicates))
    if correction is not None:
        down, up = correction.asked(down), 1 - correction.asked(1 - up)
    return float(min(max(2 * min(down, up), 2 / (replicates.size + 1)), 1.0))


def _share_up_to_zero(ordered: Float64) -> float:
    """The highest quantile that is at most 0, interpolated linearly between replicates."""
    count = ordered.size
    place = int(np.searchsorted(ordered, 0.0, side="right"))
    if place in (0, count):
        return max(place, 1) / (count + 1)
    below, above = float(ordered[place - 1]), float(ordered[place])
    return (place - below / (above - below)) / (count + 1)


TOO_GOOD = (
    "the value is the best of this very test set and too good on average, and replicates repeat that: the interval is "
    "too narrow; use jackknife-t (leave --interval out), which corrects it"
)
SAYS_NOTHING = "leaving out any cluster changes nothing, so the interval says nothing of other test sets"


@dataclass(frozen=True, kw_only=True, repr=False)
class Interval(NearAttributes):
    """An estimate with its interval over other test sets of the same kind.

    If there are too few clusters for an interval, the bounds are NaN and ``warnings`` has the reason.

    Parameters
    ----------
    measure
        The measure.
    estimate
        Its value on the test set.
    low, high
        The bounds, at the confidence ``level``.
    level
        The confidence level, such as 0.95.
    method
        ``"jackknife-t"``, ``"percentile"`` or ``"bca"``.
    clusters
        The number of clusters.
    redrawn
        The number of replicates without a value, which were drawn again.
    standard_error
        The standard error over test sets: by the jackknife, or the standard deviation of the replicates.
    replicates
        The value of each replicate; none with ``"jackknife-t"``.
    warnings
        Cautions about the interval.
    drawn_by
        The clusters that were left out or drawn: ``"utterance"``, ``"speaker"``, ...
    seed
        Seed of the random draws.
    degrees_of_freedom
        The degrees of freedom of t, with ``"jackknife-t"``.
    with_bona_fide, with_spoof
        The numbers of clusters with that class; None for a class that the measure does not use.
    levels
        The number of levels of each factor, such as ``{"speaker": 40, "attack": 13}``. ``clusters``, ``with_bona_fide``
        and ``with_spoof`` are the fewest of any factor.
    these_attacks
        For an interval over new attacks, the one for the attacks of the test set, by the other factor alone.
    seeds
        For a mean over several trainings: the interval is for ``"these"`` or for ``"other"`` seeds.
    spread
        The jackknife spread of one system; together with those of its other trainings, it gives the interval of their
        mean.

    Examples
    --------
    See :func:`spoofspan.interval`.

    """

    measure: str
    estimate: float
    low: float
    high: float
    level: float
    method: Method
    clusters: int
    standard_error: float
    redrawn: int = 0
    replicates: Float64 = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)
    warnings: tuple[str, ...] = ()
    drawn_by: str = "cluster"
    seed: int = 0
    degrees_of_freedom: float | None = None
    with_bona_fide: int | None = None
    with_spoof: int | None = None
    levels: Mapping[str, int] = field(default_factory=dict)
    seeds: Literal["", "these", "other"] = ""
    these_attacks: Interval | None = field(default=None, repr=False)
    spread: JackknifeSpread | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "spread": None}  # its functions cannot be pickled

    def __repr__(self) -> str:
        return f"Interval({str(self).splitlines()[0]})"

    def __iter__(self) -> Iterator[float]:
        """Both bounds: ``low, high = interval``."""
        return iter((self.low, self.high))

    def __hash__(self) -> int:
        return hash((self.measure, self.estimate, self.low, self.high))

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        ends = "none" if self.refused else f"{self.low:.5g} to {self.high:.5g}"
        bounds = f"{100 * self.level:g} % interval {ends}"
        first = f"{self.measure} {self.estimate:.5g}, {bounds} ({self.how})"
        return "\n".join([first, *(f"  warning: {text}" for text in self.warnings)])

    @property
    def refused(self) -> bool:
        """True if there is no interval; ``warnings`` has the reason."""
        return isnan(self.low)

    @property
    def estimand(self) -> str:
        """Scope of the interval, in words."""
        return estimand(self.drawn_by.split(" x "), self.seeds)

    @property
    def how(self) -> str:
        """Method and scope of the interval, in words."""
        counted = f"{self.clusters:,} of them"
        if len(self.levels) > 1:
            counted = ", ".join(f"{count:,} {name}{'s' * (count != 1)}" for name, count in self.levels.items())
        by = f"by {self.drawn_by} ({counted}{self._by_class})"
        if not METHODS[self.method].draws:
            return f"{self.method} {by}, {self.estimand}"
        again = f", {self.redrawn:,} drawn again" if self.redrawn else ""
        return f"{self.method}, {self.replicates.size:,} replicates {by}, seed {self.seed}{again}, {self.estimand}"

    @property
    def _by_class(self) -> str:
        named = {"bona fide": self.with_bona_fide, "spoof": self.with_spoof}
        known = {name: count for name, count in named.items() if count is not None and count <= self.clusters}
        parts = [f"{count:,} with {name}" for name, count in known.items()]
        return f"; {', '.join(parts)}" if parts else ""

    def agreeing_with(self, p_value: float) -> Interval:
        """Move an end across 0 if rounding makes the interval and its p-value disagree."""
        holds = self.low <= 0 <= self.high
        if isnan(p_value) or self.refused or holds == (p_value >= 1 - self.level):
            return self
        if self.estimate > 0:
            return replace(self, low=nextafter(0, 1) if holds else 0.0)
        return replace(self, high=nextafter(0, -1) if holds else 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the replicates as plain data."""
        names = (
            "measure estimate low high level method drawn_by clusters levels with_bona_fide with_spoof "
            "degrees_of_freedom seed replicates redrawn standard_error"
        )
        plain = {name: getattr(self, name) for name in names.split()}
        plain |= {"levels": dict(self.levels), "estimand": self.estimand}
        if self.these_attacks is not None:
            plain["these_attacks"] = self.these_attacks.to_dict()
        return {**plain, "replicates": int(self.replicates.size), "warnings": list(self.warnings)}


@dataclass(frozen=True, eq=False)
class Spread(ABC):
    """The variation of values of systems on the same clusters, by one method.

    A contrast has a weight for each system: 1 for one of them, 1 and -1 for a difference, 1 / k each for a mean.
    """

    measure: str
    scale: Scale
    how: Resampling
    counts: ClusterCounts
    estimates: Float64

    @classmethod
    @abstractmethod
    def of(cls, systems: Sequence[Measured], clusters: Clusters, how: Resampling) -> Spread:
        """Measure systems on other choices of the clusters."""

    @abstractmethod
    def interval(self, contrast: Float64, terms: Sequence[Term] = ()) -> Interval:
        """The interval of a contrast; ``terms`` are further variances, such as that of training."""

    @abstractmethod
    def p_value(self, contrast: Float64, terms: Sequence[Term], interval: Interval) -> float:
        """The p-value of a contrast being 0, given its interval."""

    @abstractmethod
    def p_value_below(self, contrast: Float64, terms: Sequence[Term], bound: float) -> float:
        """The one-sided p-value of a contrast being at least a bound."""

    @abstractmethod
    def movements(self, contrasts: Float64) -> Float64:
        """Joint movements of contrasts, a row for each; products of rows, times :attr:`signs`, sum to covariances."""

    @property
    def signs(self) -> Float64:
        """1 for each column of :meth:`movements` that is added, -1 if it is subtracted; a single 1 for all."""
        return np.ones(1)

    def one(self, system: int) -> Interval:
        """The interval of one system."""
        return self.interval(np.eye(len(self.estimates))[system])

    def difference(self, first: int, second: int) -> tuple[Interval, float]:
        """The interval of first - second, and its p-value."""
        unit = np.eye(len(self.estimates))
        return self.tested(unit[first] - unit[second])

    def tested(self, contrast: Float64, terms: Sequence[Term] = ()) -> tuple[Interval, float]:
        """The interval of a difference and its p-value: under 1 - confidence iff the interval does not contain 0."""
        interval = self.interval(contrast, terms)
        p_value = self.p_value(contrast, terms, interval)
        return interval.agreeing_with(p_value), p_value

    def _unseen_rate(self, clusters: int) -> float:
        """The highest error rate that is consistent with a number of clusters without any error."""
        tail = (1 - self.how.confidence) / 2
        return float(1 - tail ** (1 / clusters))

    def made(self, estimate: float, low: float, high: float, cautions: tuple[str, ...], **more: Any) -> Interval:
        """Make an interval with the method, the level and the clusters of this spread."""
        return Interval(
            measure=self.measure,
            estimate=estimate,
            low=low,
            high=high,
            level=self.how.confidence,
            method=self.how.method,
            clusters=self.counts.clusters,
            warnings=cautions,
            drawn_by=self.how.drawn_by,
            seed=self.how.seed,
            with_bona_fide=self.counts.with_bona_fide,
            with_spoof=self.counts.with_spoof,
            levels=self.counts.levels,
            **more,
        )


@dataclass(frozen=True, eq=False)
class JackknifeSpread(Spread):
    """The values of systems without each cluster in turn."""

    left_out: tuple[LeftOut, ...]  # of each system

    @classmethod
    def of(cls, systems: Sequence[Measured], clusters: Clusters, how: Resampling) -> JackknifeSpread:
        """Leave out each cluster once."""
        values = [one.value for one in systems]
        spread = cls.from_left_out(systems[0].measure, how, values, [leave_out(one, clusters) for one in systems])
        _warn(spread.measure, spread.counts.cautions)
        return spread

    @classmethod
    def from_left_out(
        cls, measure: Measure, how: Resampling, values: Sequence[float] | Float64, left_out: Sequence[LeftOut]
    ) -> JackknifeSpread:
        """The spread of systems with known values without each cluster."""
        estimates = np.asarray(values, np.float64)
        counts = count_left_out(left_out)
        return cls(str(measure), measure.kind.scale, how, counts, estimates, tuple(left_out))

    @classmethod
    def joined(cls, spreads: Sequence[JackknifeSpread]) -> JackknifeSpread:
        """The spread of several systems, given that of each alone on the same clusters."""
        left_out = [one for spread in spreads for one in spread.left_out]
        estimates = np.concatenate([one.estimates for one in spreads])
        return cls.from_left_out(Measure.parse(spreads[0].measure), spreads[0].how, estimates, left_out)

    @cached_property
    def jackknife(self) -> Jackknife:
        """The jackknife of all systems."""
        return Jackknife.from_left_out(
            self.estimates.tolist(), self.left_out, shares=is_share(Measure.parse(self.measure))
        )

    def movements(self, contrasts: Float64) -> Float64:
        """Joint movements of contrasts."""
        moved: Float64 = np.sqrt(np.abs(self.jackknife.row_weights)) * (
            contrasts @ np.nan_to_num(self.jackknife.deviations).T
        )
        return moved

    @property
    def signs(self) -> Float64:
        """Columns of products of an even number of factors are subtracted."""
        return np.sign(self.jackknife.row_weights)

    def p_value(self, contrast: Float64, terms: Sequence[Term], interval: Interval) -> float:
        """The p-value by Student's t, of the estimate of the interval."""
        degrees = cast("float", interval.degrees_of_freedom)
        return Estimate(interval.estimate, interval.standard_error, degrees).p_value

    def p_value_below(self, contrast: Float64, terms: Sequence[Term], bound: float) -> float:
        """One side of the p-value by Student's t."""
        found = self.jackknife.estimate(contrast).with_terms(terms)
        two_sided = replace(found, value=found.value - bound).p_value
        return two_sided / 2 if found.value < bound else 1 - two_sided / 2

    def interval(self, contrast: Float64, terms: Sequence[Term] = ()) -> Interval:
        """The interval by Student's t, widened for classes without observed errors."""
        found = self.jackknife.estimate(contrast).with_terms(terms)
        reason = self.jackknife.refusal
        low = high = nan
        if reason is None:
            mean = (contrast >= 0).all()  # of one system or several
            optimism = float(contrast @ np.array([one.optimism for one in self.left_out])) if mean else 0.0
            centres = replace(found, value=found.value + optimism), found
            ends = [end for one in centres for end in bounds(one, self.scale if mean else "raw", self.how.confidence)]
            low, high = self._with_unseen_errors(contrast, found, min(ends), max(ends))
        cautions = (reason,) if reason is not None else (*self.counts.cautions, *self._few_errors(contrast))
        if found.standard_error == 0 and low == high:
            cautions = (*cautions, SAYS_NOTHING)
        degrees, error = found.degrees_of_freedom, found.standard_error
        fixed = None if self.of_these_attacks is None else self.of_these_attacks.interval(contrast, terms)
        more: dict[str, Any] = {"standard_error": error, "degrees_of_freedom": degrees, "these_attacks": fixed}
        return self.made(found.value, low, high, cautions, **more)

    @cached_property
    def of_these_attacks(self) -> JackknifeSpread | None:
        """The spread over the other factor alone, if attacks are one of two."""
        factors = self.how.factors
        others = [name for name in factors if name != ATTACK]
        if len(factors) != 2 or len(others) != 1:
            return None
        ways = [next(way for way in one.ways if way.factor == others[0]) for one in self.left_out]
        left_out = tuple(replace(way, crossed=()) for way in ways)
        how = replace(self.how, clusters=factors[others[0]], clusters_are=others[0])
        return replace(self, how=how, left_out=left_out, counts=count_left_out(left_out))

    def _few_errors(self, contrast: Float64) -> tuple[str, ...]:
        """Cautions of the systems in a contrast, each once."""
        systems = (one for one, weight in zip(self.left_out, contrast.tolist(), strict=True) if weight)
        return tuple(dict.fromkeys(text for one in systems for text in one.cautions))

    def _with_unseen_errors(self, contrast: Float64, found: Estimate, low: float, high: float) -> tuple[float, float]:
        """Widen an interval for classes without observed errors; of a difference only if its standard error is 0."""
        mean = (contrast >= 0).all()
        if not mean and found.standard_error:
            return low, high
        for weight, value, system in zip(contrast.tolist(), self.estimates.tolist(), self.left_out, strict=True):
            if not weight:
                continue
            worst = value if system.worst is None else self.worst_value(system)
            if self.scale == "logit":
                if system.worst is None and value in (0.0, 1.0):
                    worst = abs(value - self._unseen_rate(self.counts.fewest))
                worst = min(max(worst, 0.0), 1.0)
            end = found.value + weight * (worst - value)
            low, high = min(low, end), max(high, end)
        return low, high

    def worst_value(self, system: LeftOut) -> float:
        """The value of a system with the highest consistent rates of unobserved errors; NaN if all were observed."""
        if system.worst is None:
            return nan
        counts = self.counts.with_bona_fide, self.counts.with_spoof
        return system.worst(*(self._unseen_rate(self.counts.fewest if one is None else one) for one in counts))


@dataclass(frozen=True, eq=False)
class PercentileSpread(Spread):
    """The values of systems on draws of the clusters."""

    values: Float64  # a row for each system, a column for each replicate
    redrawn: int = 0
    without: Float64 = field(default_factory=lambda: np.zeros((0, 0)))  # without each cluster, if that is needed
    cautions: tuple[str, ...] = ()

    @classmethod
    def of(cls, systems: Sequence[Measured], clusters: Clusters, how: Resampling) -> PercentileSpread:
        """Draw clusters with replacement."""
        engines = [one.replicates(clusters) for one in systems]
        flags = (class_flags(_amounts(*both, clusters)) for both in zip(engines, systems, strict=True))
        counts = ClusterCounts.of(flags, clusters.factor, clusters.alone)
        estimates, measure = np.array([one.value for one in systems]), systems[0].measure
        spread = cls.drawn(str(measure), measure.kind.scale, counts, estimates, engines, how)
        cautions = (TOO_GOOD,) if measure.kind.optimistic else ()
        _warn(spread.measure, cautions)
        return replace(spread, cautions=cautions)

    @classmethod
    def drawn(
        cls,
        name: str,
        scale: Scale,
        counts: ClusterCounts,
        estimates: Float64,
        engines: Sequence[Replicates],
        how: Resampling,
    ) -> PercentileSpread:
        """Measure replicates by their engines."""
        _warn(name, counts.cautions)
        sample = draw_replicates(engines, how)
        return cls(name, scale, how, counts, estimates, sample.values, sample.redrawn, cls.without_each(engines))

    @classmethod
    def without_each(cls, engines: Sequence[Replicates]) -> Float64:
        """The values without each cluster, if they are needed."""
        return np.zeros((len(engines), 0))

    def movements(self, contrasts: Float64) -> Float64:
        """Joint movements of contrasts."""
        drawn = contrasts @ self.values
        around: Float64 = (drawn - drawn.mean(axis=1, keepdims=True)) / np.sqrt(drawn.shape[1] - 1)
        return around

    def correction(self, contrast: Float64) -> BcaCorrection | None:
        """The correction of nominal quantiles; None without one."""
        return None

    def p_value(self, contrast: Float64, terms: Sequence[Term], interval: Interval) -> float:
        """The highest 1 - confidence at which the interval contains 0."""
        return nan if interval.refused else inverted_p_value(interval.replicates, self.correction(contrast))

    def p_value_below(self, contrast: Float64, terms: Sequence[Term], bound: float) -> float:
        """One side of the p-value of the replicates, moved by the bound."""
        if self.counts.refusal is not None:
            return nan
        two_sided = inverted_p_value(contrast @ self.values - bound, self.correction(contrast))
        return two_sided / 2 if float(contrast @ self.estimates) < bound else 1 - two_sided / 2

    def interval(self, contrast: Float64, terms: Sequence[Term] = ()) -> Interval:
        """The interval between two quantiles of the replicates."""
        estimate, replicates = float(contrast @ self.estimates), contrast @ self.values
        tail = (1 - self.how.confidence) / 2
        correction = self.correction(contrast)
        shares = (tail, 1 - tail) if correction is None else (correction.share(tail), correction.share(1 - tail))
        low, high = quantiles(replicates, shares)
        cautions = (*self.counts.cautions, *self.cautions)
        if (replicates == replicates[0]).all():
            useless = "every replicate has the same value, so the interval says nothing of other test sets"
            cautions = (*cautions, useless)
            if self.scale == "logit" and low == high == estimate in (0.0, 1.0):
                low, high = sorted((estimate, abs(estimate - self._unseen_rate(max(self.counts.fewest, 1)))))
        if self.counts.refusal is not None:
            low = high = nan
        error = float(np.std(replicates, ddof=1))
        drawn = {"replicates": replicates, "redrawn": self.redrawn}
        return self.made(estimate, low, high, cautions, standard_error=error, **drawn)


@dataclass(frozen=True, eq=False)
class BcaSpread(PercentileSpread):
    """Percentiles that are corrected for bias and acceleration."""

    @classmethod
    def without_each(cls, engines: Sequence[Replicates]) -> Float64:
        """The values without each cluster."""
        return np.stack([one.values_without_each() for one in engines])

    def correction(self, contrast: Float64) -> BcaCorrection:
        """The correction for bias and acceleration of a contrast."""
        return BcaCorrection.of(float(contrast @ self.estimates), contrast @ self.values, contrast @ self.without)


def spread_of(measured: Mapping[str, Measured], how: Resampling) -> Spread:
    """The spread of several systems by the chosen method."""
    systems = list(measured.values())
    return how.chosen.spread.of(systems, clusters_of(systems, how), how)


def interval_of_system(system: Measured, how: Resampling) -> Interval:
    """The interval of a measured system."""
    spread = spread_of({"": system}, how)
    return replace(spread.one(0), spread=spread if isinstance(spread, JackknifeSpread) else None)


def _amounts(engine: Replicates, system: Measured, clusters: Clusters) -> Int64:
    """The amounts of both classes in each cluster, which replicates of an EER already have."""
    held = engine.amounts if isinstance(engine, EerReplicates) else None
    return system.amounts(clusters) if held is None else held


def _warn(name: str, cautions: Sequence[str]) -> None:
    for caution in cautions:
        warn_user(f"{name}: {caution}", IntervalWarning)

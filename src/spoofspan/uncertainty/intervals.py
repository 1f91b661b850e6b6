"""Intervals: in which range a value would lie on other test sets of the same kind.

Test sets differ by the clusters they happen to have: speakers where they are known, utterances otherwise, **never
frames**. The frames of an utterance are alike, so counting them as independent makes an interval too narrow
(``docs/uncertainty.md`` shows by how much: up to half as wide as it should be in the simulation).

``jackknife-t`` leaves out each cluster once (:mod:`spoofspan.uncertainty.jackknife`) and reaches as many standard
errors to either side as t does with the degrees of freedom that the clusters allow. It is symmetric on the logit scale
for rates, and on that of logarithms for costs that may exceed 1: there their distributions are nearer to t. Differences
are taken as they are.

A value at the best of all thresholds (minDCF, a-DCF, best F1) is too good on average. Its interval is the union of two:
around the value, and around what it is without that optimism (:mod:`spoofspan.uncertainty.optimism`).

Where no error was seen, a standard error of 0 would be a lie. Of n clusters without any error, the true rate may be as
high as 1 - (alpha / 2)^(1 / n), the exact binomial bound; the interval reaches at least to the value at that rate.

``percentile`` and ``bca`` draw clusters with replacement and measure each draw exactly: the interval between two
quantiles of the replicates, or between quantiles that are corrected for bias and acceleration (Efron, 1987). Their
p-value is the interval inverted: the highest 1 - confidence at which it still holds 0.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isnan, nan, nextafter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from spoofspan.base.errors import SpoofspanWarning
from spoofspan.base.threads import use_threads
from spoofspan.base.times import Float64, Int64
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.measure import Measure
from spoofspan.measures.operating_point import Threshold
from spoofspan.uncertainty.clusters import ClusterCounts, Clusters, Method, Resampling, draw_replicates
from spoofspan.uncertainty.eer_replicates import EerReplicates
from spoofspan.uncertainty.jackknife import Estimate, Jackknife, counts_of
from spoofspan.uncertainty.left_out import LeftOut, count_classes, sums_by_unit
from spoofspan.uncertainty.measured_system import BootstrapArguments, Measured, measured_system, split_arguments
from spoofspan.uncertainty.quantiles import BcaCorrection, inverted_p_value, quantiles
from spoofspan.uncertainty.replicates import MeasuredReplicates, Replicates
from spoofspan.uncertainty.scales import Scale, bounds, is_share, scale_of
from spoofspan.uncertainty.variance_components import Term, with_terms

if TYPE_CHECKING:
    from typing_extensions import Unpack

SAYS_NOTHING = "leaving out any cluster changes nothing, so the interval says nothing of other test sets"


@dataclass(frozen=True, eq=False, kw_only=True)
class Interval:
    """An estimate and the interval in which it would lie on other test sets of the same kind.

    Where nothing can be said of other test sets, the bounds are NaN and ``warnings`` has the reason.

    Parameters
    ----------
    measure
        What was measured.
    estimate
        Its value on the test set.
    low, high
        The bounds, at the confidence ``level``.
    level
        As 0.95.
    method
        ``"jackknife-t"``, ``"percentile"`` or ``"bca"``.
    clusters
        How many clusters there are.
    redrawn
        How many replicates had no value and were drawn again.
    standard_error
        From one test set to the next: by the jackknife, or the standard deviation of the replicates.
    replicates
        The value of each replicate; none with ``"jackknife-t"``.
    warnings
        Reasons to look twice at it.
    drawn_by
        What was left out or drawn: ``"utterance"``, ``"speaker"``, ...
    seed
        Seed of the random draws.
    degrees_of_freedom
        Of t, with ``"jackknife-t"``.
    with_bona_fide, with_spoof
        How many clusters have any of that class; None for one that the measure does not look at.
    spread
        What it was read off, by the jackknife and for one system: with those of its other trainings, it gives the
        interval of their mean.

    Examples
    --------
    See :func:`spoofspan.bootstrap`.

    """

    measure: str
    estimate: float
    low: float
    high: float
    level: float
    method: Method
    clusters: int
    redrawn: int
    standard_error: float
    replicates: Float64 = field(repr=False)
    warnings: tuple[str, ...] = ()
    drawn_by: str = "cluster"
    seed: int = 0
    degrees_of_freedom: float | None = None
    with_bona_fide: int | None = None
    with_spoof: int | None = None
    spread: Spread | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "spread": None}  # which has functions that cannot be pickled

    def __str__(self) -> str:
        ends = "none" if self.refused else f"{self.low:.5g} to {self.high:.5g}"
        bounds = f"{100 * self.level:g} % interval {ends}"
        first = f"{self.measure} {self.estimate:.5g}, {bounds} ({self.how})"
        return "\n".join([first, *(f"  warning: {text}" for text in self.warnings)])

    @property
    def refused(self) -> bool:
        """Whether nothing can be said of other test sets; ``warnings`` has the reason."""
        return isnan(self.low)

    @property
    def how(self) -> str:
        """How it was made, in words."""
        by = f"by {self.drawn_by} ({self.clusters:,} of them{self._by_class})"
        if self.method == "jackknife-t":
            return f"{self.method} {by}"
        again = f", {self.redrawn:,} drawn again" if self.redrawn else ""
        return f"{self.method}, {self.replicates.size:,} replicates {by}, seed {self.seed}{again}"

    @property
    def _by_class(self) -> str:
        named = {"bona fide": self.with_bona_fide, "spoof": self.with_spoof}
        parts = [f"{count:,} with {name}" for name, count in named.items() if count is not None]
        return f"; {', '.join(parts)}" if parts else ""

    def agreeing_with(self, p_value: float) -> Interval:
        """Move an end across 0 where rounding makes the interval and its p-value disagree."""
        holds = self.low <= 0 <= self.high
        if isnan(p_value) or self.refused or holds == (p_value >= 1 - self.level):
            return self
        if self.estimate > 0:
            return replace(self, low=nextafter(0, 1) if holds else 0.0)
        return replace(self, high=nextafter(0, -1) if holds else 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the replicates as plain data."""
        names = (
            "measure estimate low high level method drawn_by clusters with_bona_fide with_spoof degrees_of_freedom "
            "seed replicates redrawn standard_error"
        )
        plain = {name: getattr(self, name) for name in names.split()}
        return {**plain, "replicates": int(self.replicates.size), "warnings": list(self.warnings)}


@dataclass(frozen=True, eq=False)
class Spread:
    """How far the values of systems on the same clusters move, from which intervals and p-values are read off.

    A contrast is a weight for each system: 1 for one of them, 1 and -1 for a difference, 1 / k each for a mean.
    """

    measure: str
    scale: Scale
    how: Resampling
    counts: ClusterCounts
    estimates: Float64
    left_out: tuple[LeftOut, ...]  # of each system, with jackknife-t
    values: Float64  # of replicates: a row for each system; no columns with jackknife-t
    without: Float64 | None = None  # of each cluster, a row for each system, with BCa
    redrawn: int = 0

    @classmethod
    def from_left_out(
        cls, measure: Measure, how: Resampling, values: Sequence[float] | Float64, left_out: Sequence[LeftOut]
    ) -> Spread:
        """The spread of systems whose values without each cluster are known."""
        estimates, none = np.asarray(values, np.float64), np.zeros((len(left_out), 0))
        return cls(str(measure), scale_of(measure), how, counts_of(left_out), estimates, tuple(left_out), none)

    @classmethod
    def joined(cls, spreads: Sequence[Spread]) -> Spread:
        """The spread of several systems, given that of each alone on the same clusters, by the jackknife."""
        left_out = [one for spread in spreads for one in spread.left_out]
        estimates = np.concatenate([one.estimates for one in spreads])
        none = np.zeros((len(left_out), 0))
        counts = counts_of(left_out)
        return replace(spreads[0], estimates=estimates, left_out=tuple(left_out), counts=counts, values=none)

    @cached_property
    def jackknife(self) -> Jackknife:
        """What leaving out each cluster says of all systems."""
        return Jackknife.from_left_out(
            self.estimates.tolist(), self.left_out, shares=is_share(Measure.parse(self.measure))
        )

    def one(self, system: int) -> Interval:
        """The interval of one system."""
        return self.interval(np.eye(len(self.estimates))[system])

    def difference(self, first: int, second: int) -> tuple[Interval, float]:
        """The interval of first - second, and its p-value."""
        unit = np.eye(len(self.estimates))
        return self.tested(unit[first] - unit[second])

    def tested(self, contrast: Float64, terms: Sequence[Term] = ()) -> tuple[Interval, float]:
        """The interval of a difference and its p-value: under 1 - confidence iff the interval does not hold 0."""
        interval = self.interval(contrast, terms)
        p_value = self._p_value(contrast, terms, interval)
        return interval.agreeing_with(p_value), p_value

    def interval(self, contrast: Float64, terms: Sequence[Term] = ()) -> Interval:
        """The interval of a contrast; ``terms`` are variances that no test set shows, as that of training."""
        if not self.how.draws:
            return self._by_jackknife(contrast, terms)
        without = None if self.without is None else contrast @ self.without
        return self.of_replicates(float(contrast @ self.estimates), contrast @ self.values, without)

    def _by_jackknife(self, contrast: Float64, terms: Sequence[Term]) -> Interval:
        jackknife = self.jackknife
        found = with_terms(jackknife.estimate(contrast), terms)
        reason = jackknife.refusal
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
        return self._interval(found.value, low, high, found.standard_error, np.zeros(0), cautions, found)

    def _few_errors(self, contrast: Float64) -> tuple[str, ...]:
        """Cautions of the systems in a contrast, each once."""
        systems = (one for one, weight in zip(self.left_out, contrast.tolist(), strict=True) if weight)
        return tuple(dict.fromkeys(text for one in systems for text in one.cautions))

    def _with_unseen_errors(self, contrast: Float64, found: Estimate, low: float, high: float) -> tuple[float, float]:
        """Widen an interval by errors that may be there although none was seen; a difference only if nothing was."""
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
        """The value of a system if errors that were not seen were as frequent as they may be; NaN if all were seen."""
        return nan if system.worst is None else system.worst(*self._unseen_rates())

    def _unseen_rates(self) -> tuple[float, float]:
        """The highest error rates of bona fide and of spoof that go with clusters without any error."""
        counts = self.counts.with_bona_fide, self.counts.with_spoof
        bona_fide, spoof = (self._unseen_rate(self.counts.fewest if count is None else count) for count in counts)
        return bona_fide, spoof

    def _unseen_rate(self, clusters: int) -> float:
        tail = (1 - self.how.confidence) / 2
        return float(1 - tail ** (1 / clusters))

    def of_replicates(self, estimate: float, replicates: Float64, without_each: Float64 | None = None) -> Interval:
        """The interval of an estimate by its replicates; BCa needs its values without each cluster."""
        tail = (1 - self.how.confidence) / 2
        shares = (tail, 1 - tail)
        if without_each is not None:
            correction = BcaCorrection.of(estimate, replicates, without_each)
            shares = correction.share(tail), correction.share(1 - tail)
        low, high = quantiles(replicates, shares)
        cautions = self.counts.cautions
        if (replicates == replicates[0]).all():
            useless = "every replicate has the same value, so the interval says nothing of other test sets"
            cautions = (*cautions, useless)
            if self.scale == "logit" and low == high == estimate in (0.0, 1.0):
                low, high = sorted((estimate, abs(estimate - self._unseen_rate(max(self.counts.fewest, 1)))))
        if self.counts.refusal is not None:
            low = high = nan
        return self._interval(estimate, low, high, float(np.std(replicates, ddof=1)), replicates, cautions)

    def _p_value(self, contrast: Float64, terms: Sequence[Term], interval: Interval) -> float:
        if not self.how.draws:
            return with_terms(self.jackknife.estimate(contrast), terms).p_value
        if interval.refused:
            return nan
        correction = None
        if self.without is not None:
            correction = BcaCorrection.of(interval.estimate, interval.replicates, contrast @ self.without)
        return inverted_p_value(interval.replicates, correction)

    def _interval(
        self,
        estimate: float,
        low: float,
        high: float,
        error: float,
        replicates: Float64,
        cautions: tuple[str, ...],
        found: Estimate | None = None,
    ) -> Interval:
        return Interval(
            measure=self.measure,
            estimate=estimate,
            low=low,
            high=high,
            level=self.how.confidence,
            method=self.how.method,
            clusters=self.counts.clusters,
            redrawn=self.redrawn,
            standard_error=error,
            replicates=replicates,
            warnings=cautions,
            drawn_by=self.how.drawn_by,
            seed=self.how.seed,
            degrees_of_freedom=None if found is None else found.degrees_of_freedom,
            with_bona_fide=self.counts.with_bona_fide,
            with_spoof=self.counts.with_spoof,
        )


def spread_of(measured: Mapping[str, Measured], how: Resampling) -> Spread:
    """Leave out or draw the clusters of several systems."""
    systems = list(measured.values())
    some = systems[0]
    # systems on different utterances have the clusters of all; one that a system lacks leaves its value as it is
    clusters = Clusters.of(list(dict.fromkeys(utt for one in systems for utt in one.utterances)), how.clusters)
    estimates = np.array([one.value for one in systems])
    if how.draws:
        with use_threads(how.workers):
            engines = [one.replicates(clusters) for one in systems]
        counts = count_classes([_amounts(*both, clusters) for both in zip(engines, systems, strict=True)])
        return _drawn(str(some.measure), scale_of(some.measure), counts, estimates, engines, how)
    spread = Spread.from_left_out(some.measure, how, estimates, [one.left_out(clusters) for one in systems])
    _warn(spread.measure, spread.counts)
    return spread


def _amounts(engine: Replicates, system: Measured, clusters: Clusters) -> Int64:
    """What each cluster has of both classes; replicates of an EER have it at hand."""
    held = engine.amounts if isinstance(engine, EerReplicates) else None
    return system.amounts(clusters) if held is None else held


def _drawn(
    name: str, scale: Scale, counts: ClusterCounts, estimates: Float64, engines: Sequence[Replicates], how: Resampling
) -> Spread:
    _warn(name, counts)
    sample = draw_replicates(engines, how)
    without = np.stack([one.values_without_each() for one in engines]) if how.method == "bca" else None
    return Spread(name, scale, how, counts, estimates, (), sample.values, without, sample.redrawn)


def _warn(name: str, counts: ClusterCounts) -> None:
    for caution in counts.cautions:
        warnings.warn(f"{name}: {caution}", SpoofspanWarning, stacklevel=5)


def interval(
    references: References,
    scores: Scores,
    measure: str | Measure = "range-eer",
    *,
    threshold: Threshold | None = None,
    **arguments: Unpack[BootstrapArguments],
) -> Interval:
    """Measure a system, with the interval in which its value would lie on other test sets of the same kind.

    Parameters
    ----------
    references, scores
        What is measured.
    measure
        As ``"range-eer"`` or ``"point-f1@20ms"``.
    threshold
        Of a measure at a threshold.
    **arguments
        Those of :class:`~spoofspan.Resampling` (``clusters``, ``confidence``, ``method``, ``replicates``, ``seed``,
        ``workers``), ``convention``, ``eer_rule``, ``scores_are``, and every rule of :class:`~spoofspan.Rules`.

    Returns
    -------
    Interval

    Raises
    ------
    UndefinedMeasureError
        If the measure has no value on the test set, or hardly ever on a draw.

    Examples
    --------
    >>> import spoofspan.demo
    >>> corpus = spoofspan.demo.load()
    >>> found = interval(corpus.references, corpus.systems[0.02])
    >>> found.method, found.low < found.estimate < found.high
    ('jackknife-t', True)

    """
    how, options = split_arguments(arguments)
    return interval_of_system(measured_system(references, scores, Measure.parse(measure), options, threshold), how)


def bootstrap(
    references: References,
    scores: Scores,
    measure: str | Measure = "range-eer",
    *,
    threshold: Threshold | None = None,
    **arguments: Unpack[BootstrapArguments],
) -> Interval:
    """Measure a system, with an interval by a bootstrap over clusters.

    EERs and measures at a fixed threshold are fast; others are measured anew for each replicate.

    Parameters
    ----------
    references, scores, measure, threshold
        As in :func:`interval`.
    **arguments
        As in :func:`interval`; ``method`` is ``"percentile"`` unless given.

    Returns
    -------
    Interval

    Examples
    --------
    >>> import spoofspan.demo
    >>> corpus = spoofspan.demo.load()
    >>> found = bootstrap(corpus.references, corpus.systems[0.02], replicates=500)
    >>> found.replicates.size, found.low < found.estimate < found.high
    (500, True)

    """
    arguments.setdefault("method", "percentile")
    return interval(references, scores, measure, threshold=threshold, **arguments)


def interval_of_system(system: Measured, how: Resampling) -> Interval:
    """The interval of a system that was measured."""
    spread = spread_of({"": system}, how)
    return replace(spread.one(0), spread=None if how.draws else spread)


def bootstrap_of(
    mass: ScoreMass,
    function: Callable[[ScoreMass], float],
    *,
    clusters: Mapping[str, str] | None = None,
    replicates: int = 2000,
    confidence: float = 0.95,
    method: Literal["percentile", "bca"] = "percentile",
    seed: int = 0,
    workers: int | None = None,
) -> Interval:
    """Give any function of a mass its interval; the function is called once per replicate."""
    how = Resampling(clusters, replicates, confidence, method, seed, workers)
    drawn = Clusters.of(mass.utterances, clusters)
    engine = MeasuredReplicates(mass, drawn.units_of(mass.utterances), drawn.count, function)
    name, estimates = getattr(function, "__name__", "value"), np.array([float(function(mass))])
    counts = count_classes([sums_by_unit(mass, drawn.units_of(mass.utterances), drawn.count, None)])
    return _drawn(name, "raw", counts, estimates, [engine], how).one(0)

"""Intervals by the cluster bootstrap: draw clusters with replacement, measure what was drawn, exactly; repeat.

Clusters are what was sampled independently: speakers where they are known, utterances otherwise, **never frames**. The
frames of an utterance are alike, so counting them as independent makes an interval too narrow (``docs/uncertainty.md``
shows by how much: up to half as wide as it should be in the simulation).

``percentile``: the interval between two quantiles of the replicates. ``bca`` (Efron, 1987): the same with quantiles
that are corrected for bias and for acceleration; the acceleration comes from leaving out each cluster once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.base.errors import SpoofspanWarning, UndefinedMeasureError
from spoofspan.base.times import Float64
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.measure import Measure
from spoofspan.uncertainty.clusters import Clusters, Method, Resampling, draw_replicates
from spoofspan.uncertainty.measured_system import BootstrapArguments, MeasuredSystem, measured_system, split_arguments
from spoofspan.uncertainty.replicates import MeasuredReplicates, Replicates

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True, eq=False, kw_only=True)
class Interval:
    """An estimate and the interval in which it would lie on other test sets of the same kind.

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
        ``"percentile"`` or ``"bca"``.
    clusters
        How many clusters were drawn from.
    redrawn
        How many replicates had no value and were drawn again.
    standard_error
        The standard deviation of the replicates.
    replicates
        The value of each replicate.
    warnings
        Reasons to look twice at it.
    drawn_by
        What was drawn: ``"utterance"``, ``"speaker"``, ...
    seed
        Of the draws.

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

    def __str__(self) -> str:
        bounds = f"{100 * self.level:g} % interval {self.low:.5g} to {self.high:.5g}"
        first = f"{self.measure} {self.estimate:.5g}, {bounds} ({self.how})"
        return "\n".join([first, *(f"  warning: {text}" for text in self.warnings)])

    @property
    def how(self) -> str:
        """How it was made, in words."""
        again = f", {self.redrawn:,} drawn again" if self.redrawn else ""
        return (
            f"{self.method}, {self.replicates.size:,} replicates by {self.drawn_by} ({self.clusters:,} of them), "
            f"seed {self.seed}{again}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the replicates as plain data."""
        names = "measure estimate low high level method drawn_by clusters seed replicates redrawn standard_error"
        plain = {name: getattr(self, name) for name in names.split()}
        return {**plain, "replicates": int(self.replicates.size), "warnings": list(self.warnings)}


@dataclass(frozen=True, eq=False)
class Draws:
    """Systems measured on the same draws of clusters, from which intervals are read off."""

    measure: str
    how: Resampling
    clusters: int
    cautions: tuple[str, ...]
    values: Float64  # a row for each system, a column for each replicate
    redrawn: int

    @classmethod
    def of(cls, measure: str, systems: Sequence[Replicates], clusters: Clusters, how: Resampling) -> Draws:
        """Draw clusters and measure all systems on each draw; too few clusters are warned of."""
        cautions = clusters.cautions()
        for caution in cautions:
            warnings.warn(f"{measure}: {caution}", SpoofspanWarning, stacklevel=4)
        sample = draw_replicates(systems, how)
        return cls(measure, how, clusters.count, cautions, sample.values, sample.redrawn)

    def interval(self, estimate: float, replicates: Float64, without_each: Float64 | None = None) -> Interval:
        """The interval of an estimate; ``without_each`` has its values without each cluster, which BCa needs."""
        tail = (1 - self.how.confidence) / 2
        shares = (tail, 1 - tail)
        if without_each is not None:
            shares = _bca_shares(shares, estimate, replicates, without_each)
        low, high = quantiles(replicates, shares)
        cautions = self.cautions
        if (replicates == replicates[0]).all():
            useless = "every replicate has the same value, so the interval says nothing of other test sets"
            cautions = (*cautions, useless)
        return Interval(
            measure=self.measure,
            estimate=estimate,
            low=low,
            high=high,
            level=self.how.confidence,
            method=self.how.method,
            clusters=self.clusters,
            redrawn=self.redrawn,
            standard_error=float(np.std(replicates, ddof=1)),
            replicates=replicates,
            warnings=cautions,
            drawn_by=self.how.drawn_by,
            seed=self.how.seed,
        )


def bootstrap(
    references: References,
    scores: Scores,
    measure: str | Measure = "range-eer",
    *,
    threshold: float | None = None,
    **arguments: Unpack[BootstrapArguments],
) -> Interval:
    """Measure a system, with an interval by a bootstrap over clusters.

    EERs and measures at a fixed threshold are fast; others are measured anew for each replicate.

    Parameters
    ----------
    references, scores
        What is measured.
    measure
        As ``"range-eer"`` or ``"point-f1@20ms"``.
    threshold
        Of a measure at a threshold.
    **arguments
        Those of :class:`~spoofspan.Resampling` (``clusters``, ``replicates``, ``confidence``, ``method``, ``seed``,
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
    >>> interval = bootstrap(corpus.references, corpus.systems[0.02], replicates=500)
    >>> interval.low < interval.estimate < interval.high
    True

    """
    how, options = split_arguments(arguments)
    return interval_of_system(measured_system(references, scores, Measure.parse(measure), options, threshold), how)


def interval_of_system(system: MeasuredSystem, how: Resampling) -> Interval:
    """The interval of a system that was measured."""
    clusters = Clusters.of(system.mass.utterances, how.clusters)
    return _interval_of(system.name, system.value, system.replicates(clusters), clusters, how)


def bootstrap_of(
    mass: ScoreMass,
    function: Callable[[ScoreMass], float],
    *,
    clusters: Mapping[str, str] | None = None,
    replicates: int = 2000,
    confidence: float = 0.95,
    method: Method = "percentile",
    seed: int = 0,
    workers: int = 1,
) -> Interval:
    """Give any function of a mass its interval; the function is called once per replicate."""
    how = Resampling(clusters, replicates, confidence, method, seed, workers)
    drawn = Clusters.of(mass.utterances, clusters)
    engine = MeasuredReplicates(mass, drawn.units_of(mass.utterances), drawn.count, function)
    return _interval_of(getattr(function, "__name__", "value"), float(function(mass)), engine, drawn, how)


def draw_systems(measured: Mapping[str, MeasuredSystem], how: Resampling) -> tuple[dict[str, Replicates], Draws]:
    """Measure several systems on the same draws; returns what measures each of them, and the draws."""
    some = next(iter(measured.values()))
    clusters = Clusters.of(some.mass.utterances, how.clusters)
    engines = {name: system.replicates(clusters) for name, system in measured.items()}
    return engines, Draws.of(some.name, list(engines.values()), clusters, how)


def _interval_of(name: str, value: float, engine: Replicates, clusters: Clusters, how: Resampling) -> Interval:
    draws = Draws.of(name, [engine], clusters, how)
    return draws.interval(value, draws.values[0], engine.values_without_each() if how.method == "bca" else None)


def quantiles(replicates: Float64, shares: tuple[float, float]) -> tuple[float, float]:
    """Quantiles as order statistics: the k-th lowest of B is that of k / (B + 1), in between along a line.

    >>> quantiles(np.arange(1.0, 40.0), (0.025, 0.975))
    (1.0, 39.0)
    """
    low, high = np.quantile(replicates, shares, method="weibull")
    return float(low), float(high)


def _bca_shares(
    shares: tuple[float, float], estimate: float, replicates: Float64, without_each: Float64
) -> tuple[float, float]:
    """Correct the shares for bias and acceleration (Efron, 1987)."""
    if np.isnan(without_each).any():
        raise UndefinedMeasureError(
            "BCa leaves out each cluster once, and without one of them a class is missing; use method='percentile'"
        )
    normal = NormalDist()
    count = replicates.size
    below = np.count_nonzero(replicates < estimate) + np.count_nonzero(replicates == estimate) / 2
    bias = normal.inv_cdf(min(max(below / count, 0.5 / count), 1 - 0.5 / count))
    pull = without_each.mean() - without_each
    spread = float((pull**2).sum())
    acceleration = float((pull**3).sum()) / (6 * spread**1.5) if spread else 0.0

    def corrected(share: float) -> float:
        shifted = bias + normal.inv_cdf(share)
        room = 1 - acceleration * shifted
        if room <= 0:  # beyond what the formula can say: the end of the replicates
            return float(shifted > 0)
        return normal.cdf(bias + shifted / room)

    return corrected(shares[0]), corrected(shares[1])

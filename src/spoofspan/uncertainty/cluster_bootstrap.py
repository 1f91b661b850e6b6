"""The cluster bootstrap of one system: draw clusters with replacement, measure what was drawn, exactly; repeat.

Clusters are what was sampled independently: speakers where they are known, utterances otherwise, **never frames**. The
frames of an utterance are alike, so counting them as independent makes an interval too narrow (``docs/uncertainty.md``
shows by how much: up to half as wide as it should be in the simulation).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from spoofspan.base.errors import SpoofspanWarning
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.measure import Measure
from spoofspan.uncertainty.clusters import Clusters, Method, Resampling, draw_replicates
from spoofspan.uncertainty.intervals import Interval, interval
from spoofspan.uncertainty.measured_system import MeasuredSystem, clusters_of, measured_system, told_apart
from spoofspan.uncertainty.replicates import MeasuredReplicates, Replicates

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.uncertainty.measured_system import BootstrapArguments


def bootstrap(
    references: References,
    scores: Scores,
    measure: str | Measure = "range-eer",
    *,
    threshold: float | None = None,
    **arguments: Unpack[BootstrapArguments],
) -> Interval:
    """Give a measure its interval, by a bootstrap over clusters.

    Arguments: those of :class:`~spoofspan.uncertainty.Resampling` (``clusters``, ``replicates``, ``confidence``,
    ``method``, ``seed``, ``workers``), ``convention``, ``eer_rule``, ``scores_are`` and every rule. EERs and measures
    at a fixed ``threshold`` are fast; others are measured anew for each replicate.

    >>> import spoofspan.demo
    >>> corpus = spoofspan.demo.load()
    >>> interval = bootstrap(corpus.references, corpus.systems[0.02], replicates=500)
    >>> interval.low < interval.estimate < interval.high
    True
    """
    how, settings = told_apart(arguments)
    return interval_of_system(measured_system(references, scores, Measure.parse(measure), settings, threshold), how)


def interval_of_system(system: MeasuredSystem, how: Resampling) -> Interval:
    """The interval of a system that was measured."""
    drawn, cautions = clusters_of({"": system}, how)
    return _interval_of(system.name, system.value, system.replicates(drawn), drawn, how, cautions)


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
    """As :func:`bootstrap`, for any function of a mass; it is called once per replicate."""
    how = Resampling(clusters, replicates, confidence, method, seed, workers)
    drawn = Clusters.of(mass.utterances, clusters)
    engine = MeasuredReplicates(mass, drawn.units_of(mass.utterances), drawn.count, function)
    name, cautions = getattr(function, "__name__", "value"), drawn.cautions()
    for caution in cautions:
        warnings.warn(f"{name}: {caution}", SpoofspanWarning, stacklevel=2)
    return _interval_of(name, float(function(mass)), engine, drawn, how, cautions)


def _interval_of(
    name: str, value: float, engine: Replicates, drawn: Clusters, how: Resampling, cautions: tuple[str, ...]
) -> Interval:
    sample = draw_replicates([engine], how)
    return interval(
        name, value, sample.values[0], how, drawn.count, sample.redrawn, engine.values_without_each, cautions
    )

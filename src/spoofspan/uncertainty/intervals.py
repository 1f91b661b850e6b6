"""Intervals of a value over other test sets of the same kind.

Test sets differ in their clusters: speakers if they are known, utterances otherwise, **never frames**. The frames of an
utterance are alike, so counting them as independent makes an interval too narrow (``docs/uncertainty.md`` shows by how
much: up to half as wide as it should be in the simulation).

:mod:`spoofspan.uncertainty.methods` lists the methods, :mod:`spoofspan.uncertainty.spreads` computes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import nan
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from spoofspan.data.front_door import opens_inputs
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.kind import Scale
from spoofspan.measures.measure import Measure
from spoofspan.measures.operating_point import Threshold
from spoofspan.uncertainty.clusters import ClusterCounts, Clusters, Resampling
from spoofspan.uncertainty.jackknife import Jackknife, bounds
from spoofspan.uncertainty.left_out import LeftOut, class_flags, sums_by_unit
from spoofspan.uncertainty.measured_system import BootstrapArguments, System, measured_system, split_arguments
from spoofspan.uncertainty.replicates import MeasuredReplicates
from spoofspan.uncertainty.spreads import Interval, JackknifeSpread, PercentileSpread, interval_of_system

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.evaluation.utterances import Truth


@opens_inputs
def interval(
    references: Truth,
    scores: System,
    measure: str | Measure = "range-eer",
    *,
    threshold: Threshold | None = None,
    **arguments: Unpack[BootstrapArguments],
) -> Interval:
    """Measure a system, with an interval of its value over other test sets of the same kind.

    Parameters
    ----------
    references, scores
        References with scores in time or proposals; or scores of whole utterances, which may have a protocol or a label
        by utterance instead of references.
    measure
        A measure, such as ``"range-eer"``, ``"point-f1@20ms"`` or ``"utterance-eer"``.
    threshold
        The threshold, for a measure at one.
    **arguments
        Those of :class:`~spoofspan.Resampling` (``clusters``, ``confidence``, ``method``, ``replicates``, ``seed``),
        ``convention``, ``eer_rule``, ``scores_are``, ``asv_scores``, ``asv_rates``,
        and every rule of :class:`~spoofspan.Rules`.

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
    >>> drawn = interval(corpus.references, corpus.systems[0.02], method="percentile", replicates=500)
    >>> drawn.replicates.size
    500

    """
    how, options = split_arguments(arguments)
    return interval_of_system(measured_system(references, scores, Measure.parse(measure), options, threshold), how)


def bootstrap_of(
    mass: ScoreMass,
    function: Callable[[ScoreMass], float],
    *,
    clusters: Mapping[str, str] | None = None,
    replicates: int = 2000,
    confidence: float = 0.95,
    method: Literal["percentile", "bca"] = "percentile",
    seed: int = 0,
) -> Interval:
    """Bootstrap interval of any function of a mass, which is called once per replicate."""
    how = Resampling(clusters, replicates, confidence, method, seed)
    drawn = Clusters.of(mass.utterances, clusters)
    units = drawn.units_of(mass.utterances)
    engine = MeasuredReplicates(mass, units, drawn.count, function)
    name, estimates = getattr(function, "__name__", "value"), np.array([float(function(mass))])
    counts = ClusterCounts.of([class_flags(sums_by_unit(mass, units, drawn.count, None))])
    return cast("type[PercentileSpread]", how.chosen.spread).drawn(name, "raw", counts, estimates, [engine], how).one(0)


def interval_of_left_out(
    name: str, value: float, left_out: LeftOut, confidence: float, *, scale: Scale = "raw"
) -> Interval:
    """Jackknife interval of any statistic, given its values without each cluster."""
    how = Resampling(clusters={}, confidence=confidence, clusters_are=left_out.factor)  # which checks the level
    jackknife = Jackknife.from_left_out([value], [left_out], shares=False)
    found, refusal, counts = jackknife.estimate([1.0]), jackknife.refusal, jackknife.counts
    low, high = (nan, nan) if refusal is not None else bounds(found, scale, how.confidence)
    error, degrees = found.standard_error, found.degrees_of_freedom
    spread = JackknifeSpread(name, scale, how, counts, np.array([value]), (left_out,))
    cautions = counts.cautions if refusal is None else (refusal,)
    return spread.made(value, low, high, cautions, standard_error=error, degrees_of_freedom=degrees)

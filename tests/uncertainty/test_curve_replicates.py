"""Replicates of measures over all thresholds have the value of the re-weighted mass, whatever the rules."""

import numpy as np
import pytest
from test_uncertainty import random_masses, toy

import spoofspan as ss
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.measures.measure import Measure
from spoofspan.uncertainty.clusters import Clusters, draw_weights, stream
from spoofspan.uncertainty.curve_replicates import AucReplicates, CostReplicates, CurveReplicates
from spoofspan.uncertainty.measured_system import MeasuredSystem
from spoofspan.uncertainty.replicates import ConfusionReplicates, MeasuredReplicates

EXACT = [
    "range-min-dcf",
    "range-min-dcf@p_spoof=0.9,cost_miss=3",
    "range-best-f1",
    "range-best-f1-bonafide",
    "range-auc",
    "range-fnr@fpr=0.1",
    "range-fnr@fpr=0",
    "range-recall@fpr=0.25",
    "range-fpr@fnr=0.1",
    "range-fpr@fnr=0",
]


def measured(measure, mass, **options):
    plan = EvaluationOptions(**options).plan(Measure.parse(measure), 0.02)
    return MeasuredSystem(plan, mass, float(plan.value(mass).value))


def slowly(system, clusters):
    """The same replicates, each measured from the whole mass."""
    units = clusters.units_of(system.mass.utterances)
    return MeasuredReplicates(system.mass, units, clusters.count, lambda mass: float(system.plan.value(mass).value))


def text(values):
    """NaN equals NaN, and bits count."""
    return [repr(value) for value in values.tolist()]


@pytest.mark.parametrize("batch", range(3))
def test_replicates_have_the_bits_of_the_whole_mass(batch):
    seen = set()
    for rng, mass in random_masses(20 + batch, 14):
        if len(mass.utterances) < 2:
            continue
        for measure in rng.sample(EXACT, 4):
            try:
                system = measured(measure, mass)
            except ss.UndefinedMeasureError:
                continue
            clusters = Clusters.of(mass.utterances, None)
            engine = system.replicates(clusters)
            assert isinstance(engine, CurveReplicates | AucReplicates)
            weights = np.array([[rng.randrange(rng.choice([1, 2, 4])) for _ in mass.utterances] for _ in range(5)])
            assert text(engine.values(weights)) == text(slowly(system, clusters).values(weights)), measure
            seen.add(measure)
    assert len(seen) == len(EXACT)


@pytest.mark.parametrize("digits", [None, 1, 0])
@pytest.mark.parametrize("measure", EXACT)
def test_replicates_of_a_bootstrap_by_speaker(measure, digits):
    references, scores = toy(60, 20, digits=digits)
    system = measured(measure, ss.overlay(references, scores))
    clusters = Clusters.of(system.mass.utterances, {utt: f"S{i % 30}" for i, utt in enumerate(references.utterances)})
    weights = draw_weights([stream(0, b) for b in range(10)], 30)
    engine, slow = system.replicates(clusters), slowly(system, clusters)
    assert text(engine.values(weights)) == text(slow.values(weights))
    assert engine.values_without_each() == pytest.approx(slow.values_without_each(), abs=1e-12)


@pytest.mark.parametrize("scores_are", ["llr", "probability"])
@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
def test_ratios_of_sums_are_the_cost_of_declared_scores(scores_are, higher):
    references, scores = toy(40, higher=higher)
    if scores_are == "probability":
        values = 1 / (1 + np.exp(-scores.values.astype(np.float64)))
        scores = ss.Scores.from_columns(scores.utterances, scores.offsets, values, hop=0.02, higher=higher)
    weights = draw_weights([stream(0, b) for b in range(10)], 40)
    for measure, kind in (("range-cllr", CostReplicates), ("range-act-dcf", ConfusionReplicates)):
        system = measured(measure, ss.overlay(references, scores), scores_are=scores_are)
        clusters = Clusters.of(references.utterances, None)
        engine, slow = system.replicates(clusters), slowly(system, clusters)
        assert isinstance(engine, kind)
        assert engine.values(weights) == pytest.approx(slow.values(weights), abs=1e-12)
        assert engine.values_without_each() == pytest.approx(slow.values_without_each(), abs=1e-12)


def test_amounts_beyond_int64_are_multiplied_in_whole_numbers():
    """Times without a common divisor, counted up to a million times: twice the pairs are beyond 2**62."""
    references, scores = toy(12, 6)
    odd = references.ends + np.where(references.ends < references.durations[0], 1 + np.arange(72) % 7, 0)
    starts = np.where(references.starts > 0, np.roll(odd, 1), 0)
    references = ss.References.from_columns(
        references.utterances, references.durations, references.offsets, starts, odd, references.labels == 1
    )
    mass = ss.overlay(references, scores)
    system = measured("range-auc", mass)
    clusters = Clusters.of(mass.utterances, None)
    weights = np.random.default_rng(1).integers(0, 10**6, (5, 12))
    assert text(system.replicates(clusters).values(weights)) == text(slowly(system, clusters).values(weights))

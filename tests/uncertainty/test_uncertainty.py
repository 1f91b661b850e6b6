"""Bootstrap intervals: exact replicates, and oracles that share no code."""

import random
import warnings
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest
from outcomes import build
from random_corpora import random_case

import spoofspan as ss
from spoofspan.uncertainty import Resampling, bootstrap_of, interval, seed_variation
from spoofspan.uncertainty.clusters import Clusters, draw_replicates, draw_weights, stream
from spoofspan.uncertainty.curve_replicates import EerReplicates
from spoofspan.uncertainty.replicates import ExactColumns, MeasuredReplicates

pytestmark = pytest.mark.quick

RULES = ("nearest", "interpolated")


def toy(utterances=40, frames=8, seed=0, digits=None, higher="bonafide", shift=1.5, dtype=np.float32):
    """A small corpus: frames of 20 ms, each with its own label."""
    rng = np.random.default_rng(seed)
    spoof = rng.integers(0, 2, (utterances, frames)).astype(bool)
    values = np.where(spoof, -shift, shift) / 2 + rng.normal(size=spoof.shape)
    values = values if digits is None else np.round(values, digits)
    values = values if higher == "bonafide" else -values
    ids = [f"u{i:03d}" for i in range(utterances)]
    edges = np.arange(frames) * 20_000_000
    offsets = np.arange(utterances + 1) * frames
    references = ss.References.from_columns(
        ids,
        np.full(utterances, frames * 20_000_000),
        offsets,
        np.tile(edges, utterances),
        np.tile(edges + 20_000_000, utterances),
        spoof.reshape(-1),
    )
    scores = ss.Scores.from_columns(ids, offsets, values.reshape(-1).astype(dtype), hop=0.02, higher=higher)
    return references, scores


def speakers_of(references, count):
    return {utt: f"S{i % count}" for i, utt in enumerate(references.utterances)}


def whole(mass, weights, rule):
    """Value and threshold from the re-weighted mass, as text, so that NaN equals NaN and 0.0 is not -0.0."""
    try:
        eer = ss.equal_error_rate(mass.reweight(weights), rule)
    except ss.UndefinedMeasureError:
        return "nan", "nan"
    return repr(float(eer.value)), repr(float(eer.point.threshold))


def random_masses(batch, count):
    rng = random.Random(1000 + batch)
    made = 0
    while made < count:
        case = random_case(rng)
        if case.wild:
            continue
        try:
            references, scores = build(case)
            if rng.random() < 0.5:
                mass = ss.overlay(references, scores, **case.rules)
            else:
                rules = {**case.rules, **case.point_rules}
                mass = ss.point_mass(references, scores, rules.pop("resolution"), **rules)
        except ss.SpoofspanError:
            continue
        made += 1
        yield rng, mass


@pytest.mark.filterwarnings("ignore:the times of the scores look like")  # drawn at random, some are far too long
@pytest.mark.quick_cases("0")
@pytest.mark.parametrize("batch", range(4))
def test_fast_replicates_have_the_bits_of_the_reweighted_mass(batch):
    for rng, mass in random_masses(batch, 60):
        rule = rng.choice(RULES)
        if rng.random() < 0.2:
            mass = mass.reweight(np.array([rng.randrange(3) for _ in mass.utterances]))
        unit_of = np.array([rng.randrange(2) for _ in mass.utterances]) if rng.random() < 0.3 else None
        units = None if unit_of is None else 2
        # a bracket of no width sends almost everything to the exact path, a wide one almost nothing
        bracket = rng.choice([{}, {"few_rows": 0, "deviations": rng.choice([0.0, 0.1, 1.0, 5.0])}])
        replicates = EerReplicates(mass, unit_of, units=units, rule=rule, **bracket)
        count = replicates.units
        weights = np.array([[rng.randrange(rng.choice([1, 2, 4, 10**6])) for _ in range(count)] for _ in range(4)])
        found = replicates.eers(weights)
        of_utterance = np.arange(count) if unit_of is None else unit_of
        for row, value, threshold in zip(weights, found.values, found.thresholds, strict=True):
            assert (repr(float(value)), repr(float(threshold))) == whole(mass, row[of_utterance], rule)
        for row, value in zip(1 - np.eye(count, dtype=np.int64), replicates.values_without_each(), strict=True):
            assert repr(float(value)) == whole(mass, row[of_utterance], rule)[0]


@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
@pytest.mark.parametrize("digits", [None, 1, 0])
@pytest.mark.parametrize("rule", RULES)
def test_a_bracket_holds_the_crossings_of_a_bootstrap_or_the_whole_mass_answers(higher, digits, rule):
    mass = ss.overlay(*toy(60, 20, digits=digits, higher=higher))
    weights = draw_weights([stream(0, b) for b in range(40)], 60)
    outside = {}
    for deviations in (0.0, 5.0):
        found = EerReplicates(mass, rule=rule, few_rows=0, deviations=deviations).eers(weights)
        outside[deviations] = found.outside
        for row, value, threshold in zip(weights, found.values, found.thresholds, strict=True):
            assert (repr(float(value)), repr(float(threshold))) == whole(mass, row, rule)
    assert outside[5.0] == 0
    if digits is None:
        assert outside[0.0] > 0


def test_masses_of_two_parts_are_replicated_as_one():
    first, second = (ss.overlay(*toy(10, 8, seed=seed, dtype=dtype)) for seed, dtype in ((1, "f4"), (2, "f8")))
    mass = first + second
    weights = draw_weights([stream(3, b) for b in range(10)], 20)
    found = EerReplicates(mass).eers(weights)
    expected = [float(ss.equal_error_rate(mass.reweight(row)).value) for row in weights]
    assert found.values.tolist() == expected


def test_weighted_sums_are_exact_beyond_doubles_and_beyond_int64():
    rng = np.random.default_rng(0)
    for most, heavy in ((10, 3), (2**40, 100), (2**61, 5), (2**61, 2**40)):
        columns = rng.integers(0, most, (50, 3))
        weights = rng.integers(0, heavy, (4, 50))
        expected = [
            [sum(int(w) * int(x) for w, x in zip(row, column, strict=True)) for column in columns.T] for row in weights
        ]
        assert ExactColumns(columns).weighted(weights).tolist() == expected


def test_unit_weights_return_the_estimate():
    for measure, mass in {
        "range": ss.overlay(*toy()),
        "point": ss.point_mass(*toy(), 0.04),
    }.items():
        replicates = EerReplicates(mass)
        value = replicates.values(np.ones((1, replicates.units), np.int64))
        assert value.tolist() == [float(ss.equal_error_rate(mass).value)], measure


@pytest.mark.parametrize("measure", ["range-eer", "point-eer@40ms", "utterance-eer"])
def test_the_estimate_of_an_interval_is_the_measurement(measure):
    references, scores = toy(60, 8, shift=0.4) if measure == "utterance-eer" else toy()
    if measure == "utterance-eer":  # with eight frames of both classes hardly any utterance is bona fide
        references, scores = toy(60, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.SpoofspanWarning)
        expected = ss.evaluate(references, scores, [measure])[measure].value
        found = interval(references, scores, measure, replicates=100, method="percentile")
    assert found.estimate == expected
    assert found.low <= found.high
    assert found.replicates.size == 100


def test_all_possible_draws_of_a_tiny_corpus_make_the_interval():
    """Three utterances have 27 draws; the bootstrap's shares of values come near their exact shares."""
    references, scores = toy(3, 12, seed=5)
    mass = ss.overlay(references, scores)
    exact: dict[float, int] = {}
    for draw in product(range(3), repeat=3):
        value = float(ss.equal_error_rate(mass.reweight(np.bincount(draw, minlength=3))).value)
        exact[value] = exact.get(value, 0) + 1
    with pytest.warns(ss.SpoofspanWarning, match="only 3 utterances"):
        found = interval(references, scores, replicates=4000, method="percentile")
    values, counts = np.unique(found.replicates, return_counts=True)
    assert values.tolist() == sorted(exact)
    for value, count in zip(values, counts, strict=True):
        assert abs(count / 4000 - exact[value] / 27) < 0.04


def test_percentiles_are_order_statistics():
    references, scores = toy()
    found = interval(references, scores, replicates=199, method="percentile")
    ordered = sorted(found.replicates)
    # 2.5 % of 199 + 1 is the 5th lowest, 97.5 % the 195th
    assert (found.low, found.high) == pytest.approx((ordered[4], ordered[194]), abs=1e-15)


def test_bca_equals_the_textbook():
    references, scores = toy(40, 6, seed=2)
    mass = ss.overlay(references, scores)
    found = interval(references, scores, replicates=2000, method="bca")
    estimate, values = found.estimate, found.replicates
    without = []
    for left_out in range(40):
        weights = np.ones(40, np.int64)
        weights[left_out] = 0
        without.append(float(ss.equal_error_rate(mass.reweight(weights)).value))
    pulls = [sum(without) / 40 - one for one in without]
    a = sum(p**3 for p in pulls) / (6 * sum(p**2 for p in pulls) ** 1.5)
    normal = NormalDist()
    z0 = normal.inv_cdf((sum(values < estimate) + sum(values == estimate) / 2) / 2000)
    ordered = np.concatenate(([-np.inf], np.sort(values)))
    for end, share in ((found.low, 0.025), (found.high, 0.975)):
        z = z0 + normal.inv_cdf(share)
        place = normal.cdf(z0 + z / (1 - a * z)) * 2001
        below = int(place)
        expected = ordered[below] + (place - below) * (ordered[below + 1] - ordered[below])
        assert end == pytest.approx(expected, abs=1e-12)


def test_bca_needs_many_replicates():
    with pytest.raises(ss.UsageError, match="at least 2,000"):
        interval(*toy(), method="bca", replicates=1000)


@pytest.mark.parametrize("clusters", [None, 35])
def test_a_seed_gives_the_same_replicates_each_time(clusters):
    references, scores = toy(70)
    clusters = clusters and speakers_of(references, clusters)
    one, again = (
        interval(references, scores, clusters=clusters, replicates=600, seed=4, method="percentile") for _ in range(2)
    )
    assert one.replicates.tobytes() == again.replicates.tobytes()
    assert (one.low, one.high, one.redrawn) == (again.low, again.high, again.redrawn)
    other = interval(references, scores, clusters=clusters, replicates=600, seed=5, method="percentile")
    assert other.replicates.tobytes() != one.replicates.tobytes()
    # a longer run begins with the shorter one
    longer = interval(references, scores, clusters=clusters, replicates=700, seed=4, method="percentile")
    assert longer.replicates[:600].tobytes() == one.replicates.tobytes()


def test_the_order_of_utterances_changes_nothing():
    references, scores = toy(40)
    order = np.random.default_rng(0).permutation(40)
    a = interval(references, scores, replicates=200, method="percentile")
    b = interval(references.take(order), scores.take(order), replicates=200, method="percentile")
    assert a.replicates.tobytes() == b.replicates.tobytes()


def test_replicates_over_clusters_count_whole_clusters():
    references, scores = toy(60)
    clusters = speakers_of(references, 30)
    found = interval(references, scores, clusters=clusters, replicates=100, seed=1, method="percentile")
    mass = ss.overlay(references, scores)
    names = sorted(set(clusters.values()))
    for b in range(10):
        drawn = np.bincount(stream(1, b).integers(0, 30, 30), minlength=30)
        weights = {utt: int(drawn[names.index(clusters[utt])]) for utt in mass.utterances}
        assert found.replicates[b] == float(ss.equal_error_rate(mass.reweight(weights)).value)


def test_replicates_with_one_class_are_drawn_again_and_counted():
    """One utterance of six is spoof: a third of all draws miss it."""
    ranges = {f"u{i}": [(0.0, 0.1, "spoof" if i == 0 else "bonafide")] for i in range(6)}
    references = ss.References.from_ranges(ranges)
    rng = np.random.default_rng(0)
    scores = ss.Scores.from_frames({utt: rng.normal(size=5) for utt in ranges}, hop=0.02, higher="bonafide")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.SpoofspanWarning)
        found = interval(references, scores, replicates=600, method="percentile")
    assert not np.isnan(found.replicates).any()
    missed = (5 / 6) ** 6
    assert found.redrawn / (600 + found.redrawn) == pytest.approx(missed, abs=0.07)
    assert "drawn again" in str(found)
    with pytest.raises(ss.UndefinedMeasureError, match="percentile"), pytest.warns(ss.SpoofspanWarning):
        interval(references, scores, replicates=2000, method="bca")


def test_few_clusters_warn():
    references, scores = toy(60)
    with pytest.warns(ss.SpoofspanWarning, match="only 29 clusters"):
        found = interval(references, scores, clusters=speakers_of(references, 29), replicates=100, method="percentile")
    assert found.clusters == 29
    assert found.warnings
    assert not interval(
        references, scores, clusters=speakers_of(references, 30), replicates=100, method="percentile"
    ).warnings


def test_an_utterance_without_a_cluster_is_an_error():
    references, scores = toy(5)
    with pytest.raises(ss.DataError, match="'u004'"):
        interval(references, scores, clusters={f"u{i:03d}": "S" for i in range(4)}, method="percentile")
    with pytest.raises(ss.UsageError, match="all utterances have the same cluster"):
        Clusters.of(["a", "b"], {"a": "S", "b": "S"})


FEW = {"replicates": 30, "method": "percentile"}


def test_wrong_settings_are_refused():
    for wrong in ({"confidence": 95}, {"replicates": 0}, {"method": "normal"}, {"seed": -1}, FEW):
        with pytest.raises(ss.UsageError):
            Resampling(**wrong)
    with pytest.raises(ss.UsageError, match="not taken at a threshold"):
        interval(*toy(), "range-eer", threshold=0.0, method="percentile")


@pytest.mark.parametrize("rule", ["convex-hull", "bucketed(-6,6,50)"])
def test_other_eer_rules_are_measured_from_the_whole_mass(rule):
    references, scores = toy(40)
    found = interval(references, scores, eer_rule=rule, replicates=40, method="percentile")
    slow = bootstrap_of(
        ss.overlay(references, scores), lambda mass: float(ss.equal_error_rate(mass, rule).value), replicates=40
    )
    assert found.replicates.tobytes() == slow.replicates.tobytes()
    assert found.estimate == slow.estimate


@pytest.mark.parametrize("basis", ["range-{}", "point-{}@40ms"])
@pytest.mark.parametrize("kind", ["f1", "fpr", "hter"])
@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
def test_measures_at_a_fixed_threshold_equal_the_whole_mass(basis, kind, higher):
    from spoofspan.measures.confusion import value_at
    from spoofspan.measures.operating_point import point_at

    references, scores = toy(60, higher=higher)
    found = interval(references, scores, basis.format(kind), threshold=0.1, replicates=60, method="percentile")
    mass = ss.overlay(references, scores) if "range" in basis else ss.point_mass(references, scores, 0.04)
    slow = bootstrap_of(mass, lambda m: float(value_at(point_at(m, 0.1), kind, "spoof")), replicates=60)
    assert found.replicates.tobytes() == slow.replicates.tobytes()


def test_any_other_measure_has_an_interval_too():
    found = interval(*toy(40), "range-auc", replicates=40, method="percentile")
    assert found.low < found.estimate < found.high


def test_frames_as_clusters_would_make_intervals_too_narrow():
    """Forty utterances whose scores hardly differ within an utterance: frames are no evidence of their own."""
    rng = np.random.default_rng(0)
    ranges = {f"u{i:02d}": [(0.0, 0.4, "spoof" if i % 2 else "bonafide")] for i in range(40)}
    centres = {utt: rng.normal(-0.8 if i % 2 else 0.8) for i, utt in enumerate(ranges)}
    frames = {utt: centre + 0.05 * rng.normal(size=20) for utt, centre in centres.items()}
    references = ss.References.from_ranges(ranges)
    with pytest.warns(ss.SpoofspanWarning, match="only 20 utterances with bona fide"):
        by_utterance = interval(
            references, ss.Scores.from_frames(frames, hop=0.02, higher="bonafide"), replicates=400, method="percentile"
        )
    single = {f"{utt}-{k:02d}": [(0.0, 0.02, ranges[utt][0][2])] for utt in ranges for k in range(20)}
    split = {f"{utt}-{k:02d}": [frames[utt][k]] for utt in ranges for k in range(20)}
    scores = ss.Scores.from_frames(split, hop=0.02, higher="bonafide")
    by_frame = interval(ss.References.from_ranges(single), scores, replicates=400, method="percentile")
    assert by_frame.estimate == by_utterance.estimate
    assert by_utterance.standard_error > 3 * by_frame.standard_error


def test_paired_draws_redraw_for_all_systems_at_once():
    references, scores = toy(40)
    mass = ss.overlay(references, scores)
    calls = iter([float("nan"), *[0.5] * 1000])
    fussy = MeasuredReplicates(mass, np.arange(40), 40, lambda _: next(calls))
    sample = draw_replicates([EerReplicates(mass), fussy], Resampling(replicates=100))
    assert sample.redrawn == 1
    assert not np.isnan(sample.values).any()


def seeds(count):
    references, first = toy(40, seed=0)
    rng = np.random.default_rng(9)
    made = {}
    for i in range(count):
        values = first.values + rng.normal(0, 0.7, first.values.size).astype(np.float32)
        made[f"seed{i}"] = ss.Scores.from_columns(first.utterances, first.offsets, values, hop=0.02, higher="bonafide")
    return references, made


def test_several_seeds_have_values_mean_deviation_and_an_interval_with_the_seeds_fixed():
    references, made = seeds(3)
    found = seed_variation(references, made)
    values = [ss.range_eer(references, scores).value for scores in made.values()]
    assert list(found.values.values()) == values
    assert found.mean == pytest.approx(np.mean(values))
    assert found.standard_deviation == pytest.approx(np.std(values, ddof=1))
    jackknife = jackknife_of(references, made)
    assert found.test_set.standard_error**2 == pytest.approx(jackknife.covariance.mean())
    assert found.test_set.low < found.mean < found.test_set.high
    assert "test set and seeds" in str(found)


def jackknife_of(references, systems):
    from spoofspan.evaluation.plan import EvaluationOptions
    from spoofspan.uncertainty.clusters import Clusters
    from spoofspan.uncertainty.jackknife import Jackknife
    from spoofspan.uncertainty.measured_system import measured_systems

    measured = measured_systems(references, systems, ss.Measure.parse("range-eer"), EvaluationOptions(), {})
    return Jackknife.of(list(measured.values()), Clusters.of(references.utterances, None))


def test_a_joint_interval_varies_by_test_set_and_seeds_and_counts_their_interaction_once():
    references, made = seeds(5)
    found = seed_variation(references, made)
    covariance = jackknife_of(references, made).covariance
    shared = covariance[~np.eye(5, dtype=bool)].mean()
    interaction = np.diag(covariance).mean() - shared
    between = found.standard_deviation**2
    expected = shared + max(between, interaction) / 5  # of seeds that differ by less than noise, training is 0
    assert found.joint.standard_error**2 == pytest.approx(expected)
    assert found.joint.standard_error >= found.test_set.standard_error
    parts = found.components
    assert (parts.test_set, parts.interaction) == pytest.approx((shared, interaction))
    assert parts.seed == pytest.approx(max(between - interaction, 0.0))
    with pytest.raises(ss.UsageError, match="at least two seeds"):
        seed_variation(references, {"one": made["seed0"]})
    with pytest.raises(ss.UsageError, match="jackknife-t"):
        seed_variation(references, made, method="percentile")

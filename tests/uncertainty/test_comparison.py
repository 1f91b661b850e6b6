"""Comparing systems: paired draws, p-values that mean something, and refusals."""

import warnings

import numpy as np
import pytest
from test_uncertainty import speakers_of, toy

import spoofspan as ss
from spoofspan.uncertainty import compare, interval
from spoofspan.uncertainty.max_t import holm
from spoofspan.uncertainty.spreads import inverted_p_value, quantiles

pytestmark = pytest.mark.quick


def noisy(scores, deviation, seed=1):
    values = scores.values + np.random.default_rng(seed).normal(0, deviation, scores.values.size)
    return mapped(scores, values)


def mapped(scores, values, higher="bonafide"):
    return ss.Scores.from_columns(scores.utterances, scores.offsets, values, hop=0.02, higher=higher)


def systems(utterances=60):
    references, first = toy(utterances)
    return references, {"A": first, "B": noisy(first, 0.8), "C": noisy(first, 3.0, seed=2)}


def test_differences_are_first_minus_second_on_the_same_draws():
    references, made = systems()
    found = compare(references, made, method="percentile", replicates=300, seed=3)
    assert [(one.first, one.second) for one in found.differences] == [("A", "B"), ("A", "C"), ("B", "C")]
    single = {
        name: interval(references, scores, replicates=300, seed=3, method="percentile") for name, scores in made.items()
    }
    for one in found.differences:
        first, second = single[one.first], single[one.second]
        assert one.value == first.estimate - second.estimate
        differences = first.replicates - second.replicates
        assert one.interval.replicates.tobytes() == differences.tobytes()
        assert one.p_value == pytest.approx(p_by_trying(differences), abs=1e-6)
    assert found["A", "C"].value < 0
    assert found["A", "C"].p_value == 2 / 301
    assert 2 / 301 < found["A", "B"].p_value < 1
    assert found.direction == "lower"
    assert "A - C" in str(found)
    assert found.to_dict()["differences"][0]["first"] == "A"


def p_by_trying(replicates):
    """The highest 1 - confidence at which the interval holds 0, by trying ever finer."""
    low, high = 2 / (replicates.size + 1), 1.0
    if not holds_zero(replicates, low):
        return low
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if holds_zero(replicates, middle) else (low, middle)
    return high


def holds_zero(replicates, alpha):
    low, high = quantiles(replicates, (alpha / 2, 1 - alpha / 2))
    return low <= 0 <= high


@pytest.mark.parametrize("method", ["jackknife-t", "percentile"])
def test_a_system_equals_itself(method):
    references, made = systems()
    found = compare(references, {"A": made["A"], "again": made["A"]}, method=method, replicates=200)
    assert found["A", "again"].value == 0
    assert found["A", "again"].p_value == 1
    assert found.better(found["A", "again"]) is None


@pytest.mark.parametrize(
    "increase", [np.exp, np.arctan, lambda x: 5 * x - 300, lambda x: np.sign(x) * x**2, lambda x: x / 1e6]
)
@pytest.mark.parametrize("method", ["jackknife-t", "percentile"])
def test_an_increasing_map_of_one_systems_scores_changes_no_p_value(increase, method):
    references, made = systems()
    values = made["B"].values.astype(np.float64)
    made["B"] = mapped(made["B"], values)
    how = {"method": method, "replicates": 200}
    before = compare(references, made, **how)
    after = compare(references, {**made, "B": mapped(made["B"], increase(values))}, **how)
    for one, other in zip(before.differences, after.differences, strict=True):
        assert (one.p_value, one.adjusted_p_value) == (other.p_value, other.adjusted_p_value)
        assert (one.interval.low, one.interval.high) == (other.interval.low, other.interval.high)


def test_negated_scores_of_the_other_polarity_change_no_p_value():
    references, made = systems()
    before = compare(references, made, replicates=200)
    after = compare(references, {**made, "B": mapped(made["B"], -made["B"].values, "spoof")}, replicates=200)
    assert [one.p_value for one in before.differences] == [one.p_value for one in after.differences]


@pytest.mark.parametrize("method", ["jackknife-t", "percentile"])
def test_speakers_are_drawn_whole(method):
    references, made = systems()
    clusters = speakers_of(references, 12)
    with pytest.warns(ss.SpoofspanWarning, match="only 12 clusters"):
        found = compare(references, made, clusters=clusters, method=method, replicates=100)
    assert found.intervals["A"].clusters == 12
    assert "only 12 clusters" in str(found)


def test_bca_of_a_difference_is_near_the_percentile_interval():
    references, made = systems()
    pair = {"A": made["A"], "B": made["B"]}
    plain, corrected = (compare(references, pair, method=method)["A", "B"] for method in ("percentile", "bca"))
    width = plain.interval.high - plain.interval.low
    assert plain.p_value == pytest.approx(corrected.p_value, abs=0.05)
    assert abs(plain.interval.low - corrected.interval.low) < 0.3 * width
    assert abs(plain.interval.high - corrected.interval.high) < 0.3 * width


def test_p_at_fixed_thresholds_is_near_that_of_a_randomisation():
    """Another test of the same question: swap the confusion matrices of two systems, utterance by utterance."""
    references, first = toy(60)
    for deviation in (0.7, 1.1):
        made = {"A": first, "B": noisy(first, deviation)}
        thresholds = {"A": 0.0, "B": 0.1}
        errors = {
            name: ss.errors_by_utterance(references, scores, thresholds[name]).sorted() for name, scores in made.items()
        }
        a, b = (
            np.stack([one.false_positive, one.false_negative, one.bona_fide, one.spoof])
            for one in (errors["A"], errors["B"])
        )

        def hter(cells):
            false_positive, false_negative, bona_fide, spoof = cells.sum(axis=1)
            return (false_positive / bona_fide + false_negative / spoof) / 2

        seen = abs(hter(a) - hter(b))
        coins = np.random.default_rng(0).integers(0, 2, (4000, 60)).astype(bool)
        reached = sum(abs(hter(np.where(swap, b, a)) - hter(np.where(swap, a, b))) >= seen - 1e-12 for swap in coins)
        found = compare(references, made, "range-hter", thresholds=thresholds)
        assert found.test == "jackknife-t"
        assert found["A", "B"].value == pytest.approx(hter(a) - hter(b))
        assert found["A", "B"].p_value == pytest.approx(reached / 4000, abs=0.04)


def test_measures_at_a_threshold_need_one_for_each_system():
    references, made = systems()
    with pytest.raises(ss.UsageError, match="give each system its own"):
        compare(references, made, "range-f1", thresholds={"A": 0.0, "B": 0.0})
    with pytest.raises(ss.UsageError, match="no system"):
        compare(references, made, "range-f1", thresholds={"D": 0.0})
    with pytest.raises(ss.UsageError, match="not taken at a threshold"):
        compare(references, made, "range-eer", thresholds=dict.fromkeys(made, 0.0))
    assert (
        compare(references, made, "range-f1", thresholds=dict.fromkeys(made, 0.0), replicates=100).direction == "higher"
    )


def test_systems_on_different_utterances_are_refused():
    references, made = systems()
    made["B"] = made["B"].take(np.arange(50))
    with pytest.raises(ss.UsageError, match="10 are in one of them only"):
        compare(references, made, partial=True, replicates=100)
    with pytest.raises(ss.UsageError, match="at least two systems"):
        compare(references, {"A": made["A"]})


def test_systems_under_different_rules_are_refused():
    """The rules of a convention may depend on the hop: points finer than it are treated apart."""
    references, made = systems()
    coarse = ss.Scores.from_columns(
        made["A"].utterances, made["A"].offsets // 2, made["A"].values[::2], hop=0.04, higher="bonafide"
    )
    pair = {"A": made["A"], "coarse": coarse}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.SpoofspanWarning)
        assert compare(references, pair, "range-eer", replicates=100).differences
        signatures = [
            ss.evaluate(references, one, ["point-eer@20ms"], convention="nii-2023")["point-eer@20ms"].signature
            for one in pair.values()
        ]
        assert signatures[0].comparable != signatures[1].comparable
        with pytest.raises(ss.UsageError, match="different rules"):
            compare(references, pair, "point-eer@20ms", convention="nii-2023", replicates=100)


def test_holm_as_by_hand():
    assert holm([0.04]) == [0.04]
    assert holm([0.01, 0.02, 0.03]) == pytest.approx([0.03, 0.04, 0.04])
    assert holm([0.5, 0.9, 0.001]) == pytest.approx([1.0, 1.0, 0.003])


def test_p_is_never_zero():
    assert inverted_p_value(np.full(99, 1.0)) == inverted_p_value(np.full(99, -1.0)) == 0.02

"""Which of several systems may be the best, and what the best value owes to having been chosen."""

import numpy as np
import pytest

import spoofspan as ss
from spoofspan.uncertainty.best import set_p_values, without_winners_curse


def losses(seed, clusters=400):
    rng = np.random.default_rng(seed)
    means = np.array([0, 0, 0.05, 0.1, 0.15, 0.3]) * (seed % 3)
    return rng.normal(size=(clusters, 1)) + rng.normal(size=(clusters, means.size)) + means


@pytest.mark.parametrize("seed", range(5))
def test_the_confidence_set_is_that_of_arch(seed):
    bootstrap = pytest.importorskip("arch.bootstrap")
    found = losses(seed)
    theirs = bootstrap.MCS(found, size=0.05, reps=5000, block_size=1, method="max", seed=1)
    theirs.compute()
    covariance = np.cov(found.T) / len(found)
    ours = set_p_values(found.mean(axis=0).tolist(), covariance, len(found) - 1, "lower")
    np.testing.assert_allclose(ours, theirs.pvalues["Pvalue"].sort_index(), atol=0.03)


def test_of_two_systems_p_is_that_of_the_two_sided_t_test():
    covariance = np.diag([1.0, 1.0])
    # a difference of 2 standard errors: normal 0.0455, t with 10 degrees of freedom 0.0734
    for degrees, expected in ((np.inf, 0.0455), (10, 0.0734)):
        found = set_p_values([0.0, 2 * np.sqrt(2)], covariance, degrees, "lower")
        assert found[0] == 1
        assert found[1] == pytest.approx(expected, abs=0.008)
    assert set_p_values([2.0, 0.0], covariance, 10, "higher")[0] == 1


def test_equal_systems_are_all_among_the_best_as_often_as_is_said():
    rng = np.random.default_rng(1)
    removed = [min(set_p_values(rng.normal(size=6), np.eye(6), np.inf, "lower", i)) < 0.05 for i in range(200)]
    assert 2 <= sum(removed) <= 20  # 10 are expected, with a standard error of 3


def test_systems_that_are_the_same_are_both_among_the_best():
    assert set_p_values([0.1, 0.1], np.ones((2, 2)), 20, "lower") == [1.0, 1.0]
    assert set_p_values([0.1, 0.2], np.ones((2, 2)), 20, "lower")[1] < 0.001


def test_the_winner_of_equal_systems_loses_most_of_its_luck():
    rng = np.random.default_rng(2)
    drawn = rng.normal(size=(60, 20))
    corrected = [without_winners_curse(one, np.eye(20), "lower", i) for i, one in enumerate(drawn)]
    luck = -1.867  # the expected least of 20 standard normal values
    assert drawn.min(axis=1).mean() == pytest.approx(luck, abs=0.25)
    assert 0.7 * -luck < np.mean(corrected) - drawn.min(axis=1).mean() < 1.0 * -luck
    mirrored = without_winners_curse(-drawn[0], np.eye(20), "higher", 0)
    assert mirrored == pytest.approx(-corrected[0], abs=0.1)


def systems_of(distances, utterances=200, seed=0):
    rng = np.random.default_rng(seed)
    labels = {f"u{i:03}": ("bonafide", "spoof")[i % 2] for i in range(utterances)}
    side = np.array([1.0 if label == "bonafide" else -1.0 for label in labels.values()])
    common = rng.normal(size=utterances)
    return labels, {
        name: ss.UtteranceScores(tuple(labels), one * side + common + rng.normal(size=utterances), "bonafide")
        for name, one in zip("abcdef", distances, strict=False)
    }


def test_against_best_says_which_systems_may_be_the_best():
    labels, systems = systems_of([2.0, 1.95, 0.6])
    found = ss.compare(labels, systems, "utterance-eer", against="best")
    assert found.against == min(found.intervals, key=lambda name: found.intervals[name].estimate)
    assert set(found.among_best) == {"a", "b"}
    assert [found.better(one) for one in found.differences] == [None, found.against]
    assert found.compared == 2
    assert "may be the best; c is not among the best (p < 0.001)" in found.verdict
    assert found.best_corrected > found.intervals[found.against].estimate
    whole = ss.compare(labels, systems, "utterance-eer")
    assert whole.best_corrected == found.best_corrected
    with pytest.raises(ss.UsageError, match="one_family"):
        ss.uncertainty.compare_measures(labels, systems, ["utterance-eer"], against="best", one_family=True)


def test_two_systems_are_equivalent_iff_the_90_percent_interval_lies_within_the_margin():
    labels, systems = systems_of([1.5, 1.45])
    ends = ss.compare(labels, systems, "utterance-eer", confidence=0.9)["a", "b"].interval
    widest = max(abs(ends.low), abs(ends.high))
    for margin, verdict in ((1.01 * widest, "equivalent"), (0.99 * widest, ("a not worse", "b not worse", None))):
        (one,) = ss.compare(labels, systems, "utterance-eer", margin=margin).differences
        assert one.within_margin == verdict or one.within_margin in verdict
        assert (one.margin.equivalent < 0.05) == (verdict == "equivalent")


def test_a_margin_is_judged_in_the_direction_of_the_measure():
    labels, systems = systems_of([2.0, 1.0])
    for measure in ("utterance-eer", "utterance-auc"):
        (one,) = ss.compare(labels, systems, measure, margin=0.01).differences
        assert one.within_margin == "a not worse"
        drawn = ss.compare(labels, systems, measure, margin=0.01, method="percentile", replicates=199).differences[0]
        assert drawn.within_margin == "a not worse"
        assert drawn.margin.second_not_worse > 0.9
    for wrong in (0, -1, float("nan")):
        with pytest.raises(ss.UsageError, match="margin="):
            ss.compare(labels, systems, "utterance-eer", margin=wrong)


def test_p_values_of_several_pairs_are_adjusted_for_pairs_and_not_for_sides():
    labels, systems = systems_of([1.5, 1.45, 1.4])
    alone = ss.compare(labels, {name: systems[name] for name in "ab"}, "utterance-eer", margin=0.1)["a", "b"].margin
    among = ss.compare(labels, systems, "utterance-eer", margin=0.1)["a", "b"].margin
    assert alone.equivalent <= among.equivalent <= 3 * alone.equivalent + 1e-12


def test_a_verdict_on_many_systems_names_the_leaders_first():
    labels, systems = systems_of([2.0, 1.95, 1.9, 0.6])
    found = ss.compare(labels, systems, "utterance-eer")
    assert sum(found.better(one) is None for one in found.differences) == 3  # a, b and c
    first, *others = [one.system for one in found.ranks][:3]
    leaders = f"{first} ranks first, and {others[0]} and {others[1]} do not differ significantly from it"
    assert found.verdict.startswith(f"{leaders}; d is worse than all 3 others (p < 0.001); 3 of 6 pairs do not")
    two = ss.compare(labels, {name: systems[name] for name in "abd"}, "utterance-eer").verdict
    assert two.startswith("d is worse than both others (p < 0.001); a and b do not differ significantly: the true")

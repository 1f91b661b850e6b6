"""Each of many submissions of a team against the best before it, at one level for all of them."""

import numpy as np
import pytest

import spoofspan as ss
from spoofspan.uncertainty.clusters import Resampling
from spoofspan.uncertainty.improvements import improvements
from spoofspan.uncertainty.left_out import LeftOut

CLLR = ss.Measure.parse("range-cllr")


def submissions(means, clusters=60, seed=0):
    """Costs that are means over clusters: their values, and those without each cluster."""
    drawn = np.random.default_rng(seed).normal(1.0, 0.1, (len(means), clusters)) + np.array(means)[:, None]
    every = np.ones(clusters, bool)
    without = (drawn.sum(axis=1, keepdims=True) - drawn) / (clusters - 1)
    names = [f"s{place}" for place in range(len(means))]
    return (
        drawn,
        dict(zip(names, drawn.mean(axis=1).tolist(), strict=True)),
        [LeftOut(w, every, every) for w in without],
    )


def test_the_second_submission_is_tested_by_t_times_the_number_of_steps():
    stats = pytest.importorskip("scipy.stats")
    drawn, values, left_out = submissions([0.0, 0.05])
    (found,) = improvements(CLLR, values, left_out, Resampling(), steps=9)
    expected = 9 * stats.ttest_rel(drawn[0], drawn[1]).pvalue
    assert found.p_value == pytest.approx(min(expected, 1.0), rel=0.05)  # fewer degrees of freedom
    assert (found.new, found.before, found.better) == ("s1", "s0", None if expected > 0.05 else "s0")


def test_a_new_submission_is_held_against_the_best_before_it():
    _, values, left_out = submissions([0.0, 0.3, -0.3, -0.1])
    found = improvements(CLLR, values, left_out, Resampling(), steps=9)
    assert [(one.new, one.before, one.better) for one in found] == [
        ("s1", "s0", "s0"),
        ("s2", "s0", "s2"),
        ("s3", "s2", "s2"),
    ]
    assert found[1].difference == pytest.approx(values["s2"] - values["s0"])


def test_later_submissions_change_nothing_that_was_said():
    _, values, left_out = submissions([0.0, -0.02, -0.04, -0.06, -0.05])
    whole = improvements(CLLR, values, left_out, Resampling(), steps=9)
    for count in range(2, 5):
        first = dict(list(values.items())[:count])
        assert improvements(CLLR, first, left_out[:count], Resampling(), steps=9) == whole[: count - 1]


def test_every_step_costs_as_much_as_holm_would_at_most():
    stats = pytest.importorskip("scipy.stats")
    drawn, values, left_out = submissions([0.0, 0.0, 0.0, -0.07])
    last = improvements(CLLR, values, left_out, Resampling(), steps=3)[-1]
    place = int(last.before[1:])
    alone = stats.ttest_rel(drawn[3], drawn[place]).pvalue
    assert 3 * alone < last.p_value <= 3 * 3 * alone


def test_too_few_clusters_allow_no_verdict():
    _, values, left_out = submissions([0.0, 0.5], clusters=2)
    (found,) = improvements(CLLR, values, left_out, Resampling(), steps=9)
    assert np.isnan(found.p_value)
    assert found.better is None

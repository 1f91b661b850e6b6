"""Attacks and corpora as a sample of those to come, against textbook formulas and simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from spoofspan.uncertainty.random_units import spread_over_units

RAW = {"scale": "raw", "direction": "lower", "level": 0.95, "unit": "corpus"}


def test_the_mean_has_the_interval_of_hartung_and_knapp_with_equal_weights():
    rng = np.random.default_rng(0)
    values, within = rng.normal(0.1, 0.03, 7), 0.01**2
    weights = np.full(7, 1 / (within + 0.03**2))  # any equal ones
    mean = (weights * values).sum() / weights.sum()
    q = (weights * (values - mean) ** 2).sum() / 6
    reach = stats.t.ppf(0.975, 6) * math.sqrt(q / weights.sum())
    found = spread_over_units(dict(zip("abcdefg", values, strict=True)), np.eye(7) * within, 1e9, **RAW)
    # the variance within is taken off once and added once, so only the degrees of freedom are Satterthwaite's
    degrees = (q / weights.sum()) ** 2 / ((values.var(ddof=1) / 7) ** 2 / 6)
    assert degrees == pytest.approx(6)
    assert (found.low, found.high) == pytest.approx((mean - reach, mean + reach), rel=1e-6)


def test_the_next_unit_has_the_prediction_interval_of_textbooks_where_each_value_is_exact():
    values = np.array([0.02, 0.05, 0.04, 0.09, 0.01])
    found = spread_over_units(dict(zip("abcde", values, strict=True)), np.zeros((5, 5)), 100, **RAW)
    reach = stats.t.ppf(0.975, 3) * values.std(ddof=1) * math.sqrt(1 + 1 / 5)
    assert (found.next_low, found.next_high) == pytest.approx((values.mean() - reach, values.mean() + reach))
    assert found.worst == "d"
    logits = np.log(values / (1 - values))
    reach = stats.t.ppf(0.975, 3) * logits.std(ddof=1) * math.sqrt(1 + 1 / 5)
    ends = 1 / (1 + np.exp(-(logits.mean() + np.array([-reach, reach]))))
    found = spread_over_units(
        dict(zip("abcde", values, strict=True)), np.zeros((5, 5)), 100, **{**RAW, "scale": "logit"}
    )
    assert (found.next_low, found.next_high) == pytest.approx(tuple(ends))


@pytest.mark.parametrize("common", [0.0, 0.5])
@pytest.mark.parametrize("between", [0.3, 1.0, 3.0])
def test_intervals_hold_the_mean_and_the_next_unit_as_often_as_they_say(between, common):
    """Values around 0 with an error of 1, of which a part is common to all units."""
    rng = np.random.default_rng(1)
    covariance = (1 - common) * np.eye(6) + common * np.ones((6, 6))
    held = []
    for _ in range(2000):
        units = rng.normal(0, between, 7)
        values = units[:6] + math.sqrt(1 - common) * rng.normal(size=6) + math.sqrt(common) * rng.normal()
        found = spread_over_units(dict(zip("abcdef", values, strict=True)), covariance, 200, **RAW)
        held.append((found.low <= 0 <= found.high, found.next_low <= units[6] <= found.next_high))
    mean, following = np.mean(held, axis=0)
    assert 0.925 < mean < 0.985  # binomial standard error 0.005
    assert following > 0.9  # worst where units vary as much as their errors: 0.91; otherwise from 0.949 on


def test_two_units_say_nothing_of_new_ones():
    found = spread_over_units({"a": 0.1, "b": 0.2}, np.eye(2), 50, **RAW)
    assert math.isnan(found.low)
    assert math.isnan(found.next_high)
    assert found.warnings == ("2 corpora say nothing of new ones (under 3)",)


def test_a_value_of_zero_is_predicted_as_it_is():
    values = {"a": 0.0, "b": 0.02, "c": 0.03, "d": 0.01}
    found = spread_over_units(values, np.eye(4) * 1e-8, 50, **{**RAW, "scale": "logit"})
    assert found.next_low == 0.0
    assert 0.03 < found.next_high < 0.2

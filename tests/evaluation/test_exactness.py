"""The exact path equals a brute force in fractions, to the last bit, on thousands of random corpora."""

import random

import pytest
from outcomes import assert_same, outcome_of_brute_force, outcome_of_package
from random_corpora import random_case

pytestmark = pytest.mark.quick

CASES = 12_000
BATCHES = 24
QUICK_BATCHES = 1


@pytest.mark.quick_cases("0")
@pytest.mark.parametrize(
    "batch", [*range(QUICK_BATCHES), *(pytest.param(i, marks=pytest.mark.slow) for i in range(QUICK_BATCHES, BATCHES))]
)
def test_value_threshold_and_rates_equal_the_brute_force_to_the_last_bit(batch):
    answered = 0
    for seed in range(batch * CASES // BATCHES, (batch + 1) * CASES // BATCHES):
        case = random_case(random.Random(seed))
        for measure in ("range", "point"):
            expected = outcome_of_brute_force(case, measure)
            found = outcome_of_package(case, measure, as_columns=seed % 3 == 0)
            try:
                assert_same(found, expected, case)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, {measure}: {found} != {expected}\n{case}") from error
            answered += not isinstance(expected, str)
    # most cases must have a number, or nothing would be compared
    assert answered > CASES / BATCHES

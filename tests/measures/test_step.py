"""The step among the scores that a bracket holds, against a loop over sorted Python numbers."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from listed_blocks import step_by_hand

from spoofspan.measures.eer import step_inside
from spoofspan.measures.operating_point import Totals

pytestmark = pytest.mark.quick

FEW = [-0.0, 0.0, 0.5, 0.50048828125, 1.0, 7.0]
SCORES = {
    np.float16: st.sampled_from(FEW) | st.floats(width=16, allow_nan=False),
    np.float32: st.sampled_from(FEW) | st.floats(width=32, allow_nan=False) | st.floats(0, 1, width=32),
    np.float64: st.sampled_from(FEW) | st.floats(allow_nan=False) | st.floats(0, 1) | st.floats(0, 1e-320),
}
# what a row has of both classes: often nothing, sometimes more than doubles hold exactly
AMOUNTS = st.tuples(*[st.integers(0, 3) | st.integers(0, 2**53 + 7) | st.just(2**61)] * 2)


def of_all(rows, below=(0, 0), above=(0, 0)):
    """What is counted of each score, and the totals; rows are (score, (bona fide, spoof))."""
    counted = defaultdict(lambda: [0, 0])
    for score, amounts in rows:
        for column in (0, 1):
            counted[float(score)][column] += amounts[column]
    listed = sorted((score, *amounts) for score, amounts in counted.items() if any(amounts))
    bona_fide, spoof = (below[k] + above[k] + sum(row[k + 1] for row in listed) for k in (0, 1))
    return listed, Totals("bonafide", "ns", "error", bona_fide, spoof, 0, 0)


def columns(rows, dtype):
    """Rows as a block has them."""
    amounts = np.array([amounts for _, amounts in rows], np.int64).reshape(-1, 2)
    return np.array([score for score, _ in rows], dtype), amounts[:, 0], amounts[:, 1]


@pytest.mark.parametrize("dtype", SCORES, ids=lambda dtype: dtype.__name__)
@given(data=st.data())
def test_the_step_inside_a_bracket_is_that_of_all_rows(dtype, data):
    rows = data.draw(st.lists(st.tuples(SCORES[dtype], AMOUNTS), min_size=1, max_size=40))
    tied = dict(data.draw(st.lists(st.tuples(SCORES[dtype].map(dtype), AMOUNTS), min_size=1, max_size=3)))
    below, more = data.draw(AMOUNTS), data.draw(AMOUNTS)  # under and above the bracket
    listed, whole = of_all([*((dtype(score), amounts) for score, amounts in rows), *tied.items()], below, more)
    cut = data.draw(st.integers(0, len(rows)))
    inside = [columns(rows[:cut], dtype), columns(rows[cut:], dtype)]
    expected = step_by_hand(listed, whole.crossed, below)
    assert step_inside(whole, below, tied, inside) == expected


def test_the_next_score_is_the_next_one_with_counted_time():
    for seed in range(150):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(2, 40))
        scores = rng.integers(-20, 20, count) / 8  # ties, and gaps
        amounts = rng.integers(0, 3, (count, 2)) * (rng.random((count, 1)) < 0.7)  # some have no counted time
        rows = list(zip(scores.tolist(), amounts.tolist(), strict=True))
        below, above = rng.integers(0, 2 * count, (2, 2)).tolist()
        listed, whole = of_all([(-9.0, (0, 0)), *rows], below, above)
        found = step_inside(whole, tuple(below), {-9.0: (0, 0)}, [columns(rows, np.float64)])
        assert found == step_by_hand(listed, whole.crossed, tuple(below)), seed

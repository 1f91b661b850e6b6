"""Orders: of scores, faster than by NumPy, and of ids."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spoofspan as ss
from spoofspan.base.columns import positions
from spoofspan.measures.eer import sort_order

pytestmark = pytest.mark.quick

NEAR = [1.0, 1.0 + 2**-40, 1.0 - 2**-40, 1.0 + 2**-52]  # one single when rounded
EDGES = [0.0, -0.0, np.inf, -np.inf, 5e-324, -5e-324, 1e300, -1e300, 2e300, 65504.0, 1e-45, *NEAR]
LONG = [f"CON_E_{i:07d}" for i in range(2000)] + [f"LA_E_{i:07d}" for i in range(2000)]


def shuffled(ids, seed=0):
    return [ids[i] for i in np.random.default_rng(seed).permutation(len(ids))]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@given(values=st.lists(st.one_of(st.sampled_from(EDGES), st.floats(allow_nan=False)), max_size=40))
def test_scores_are_sorted_as_numpy_sorts_them(dtype, values):
    with np.errstate(over="ignore"):
        scores = np.array(values, dtype)
    before = scores.copy()
    assert sort_order(scores).tolist() == np.argsort(scores, kind="stable").tolist()
    np.testing.assert_array_equal(scores, before)  # which are not touched


def test_integers_are_sorted_too():
    assert sort_order(np.array([2**62 + 1, 2**62, -(2**62)])).tolist() == [2, 1, 0]


def test_doubles_that_differ_by_less_than_singles_can_tell_are_sorted():
    values = np.random.default_rng(0).permutation(1.0 + np.arange(5000) * 2.0**-52)
    assert (np.diff(values[sort_order(values)]) > 0).all()


@pytest.mark.parametrize(
    ("wanted", "utterances"),
    [
        (LONG, LONG),
        (["short", "a NUL\0in it", "Ωμέγα", *LONG], ["short", "a NUL\0in it", "Ωμέγα", *LONG]),
        (LONG, LONG[1:]),
        ([*LONG[1:], "another id"], LONG),
        (["a lone \udc80 surrogate", *LONG], ["a lone \udc81 surrogate", *LONG]),
    ],
)
def test_ids_are_found_in_any_order(wanted, utterances):
    wanted, utterances = shuffled(wanted), shuffled(utterances, 1)
    where = {utt: i for i, utt in enumerate(utterances)}
    assert positions(wanted, utterances).tolist() == [where.get(utt, -1) for utt in wanted]


def test_an_order_of_the_ids_changes_nothing():
    ids = LONG[:50]
    references = ss.References.from_ranges({utt: [(0.0, 0.05, "bonafide"), (0.05, 0.1, "spoof")] for utt in ids})
    values = {utt: np.sin(np.arange(5.0) + i) for i, utt in enumerate(ids)}
    in_order = ss.Scores.from_frames(values, hop=0.02, higher="bonafide")
    other = ss.Scores.from_frames({utt: values[utt] for utt in shuffled(ids)}, hop=0.02, higher="bonafide")
    found, expected = ss.range_eer(references, other), ss.range_eer(references, in_order)
    assert (found.value, found.threshold, found.signature) == (expected.value, expected.threshold, expected.signature)
    assert ss.overlay(references, other).utterances == other.utterances

"""Means are rounded once: pooled scores and the means of overlapping scores, against fractions and plain counting."""

import itertools
import math
import random
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_corpora import frames_of, references_of

import spoofspan as ss
from spoofspan.data.rules import Rules
from spoofspan.mass import score_runs
from spoofspan.mass.exact_sums import digits, group_means, quotients
from spoofspan.mass.score_runs import RangeRuns

pytestmark = [pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning"), pytest.mark.quick]

explored = settings(max_examples=300, deadline=None, derandomize=True)


def mean_of(values, weights):
    """The mean in fractions, rounded once."""
    counted = [(float(value), int(weight)) for value, weight in zip(values, weights, strict=True) if weight]
    infinite = {value for value, _ in counted if math.isinf(value)}
    if infinite:
        return infinite.pop() if len(infinite) == 1 else math.nan
    total = sum(weight for _, weight in counted)
    return float(sum(Fraction(value) * weight for value, weight in counted) / total) if counted else 0.0


def values_of(width):
    """Any floats, and such as leave the last bit of a mean in doubt."""
    near = [1.0, -1.0, 3.0, 1 + 2.0**-10, 0.5, 2.0**-24, -(2.0**-24)]
    if width == 64:
        near += [1 + 2.0**-52, 2.0**-53, -(2.0**-53), 2.0**-60, 2.0**-110, 5e-324, 1.7e308, -1.7e308]
    return st.one_of(st.sampled_from(near), st.floats(allow_nan=False, width=width))


@st.composite
def groups(draw):
    width = draw(st.sampled_from([16, 32, 64]))
    listed = draw(st.lists(st.lists(values_of(width), min_size=1, max_size=7), min_size=1, max_size=5))
    offsets = np.concatenate(([0], np.cumsum([len(one) for one in listed])))
    size = int(offsets[-1])
    some = st.lists(st.one_of(st.just(20_000_000), st.integers(0, 2**56)), min_size=size, max_size=size)
    weights = draw(st.one_of(st.just([20_000_000] * size), some))
    return np.array([value for one in listed for value in one], f"f{width // 8}"), np.array(weights), offsets


@explored
@given(drawn=groups())
def test_a_mean_is_that_of_fractions_rounded_once(drawn):
    values, weights, offsets = drawn
    rows = [slice(*pair) for pair in itertools.pairwise(offsets)]
    expected = [mean_of(values[one], weights[one]) for one in rows]
    np.testing.assert_array_equal(group_means(values, weights, offsets), expected)
    # in any order
    turned = [np.concatenate([column[one][::-1] for one in rows]) for column in (values, weights)]
    np.testing.assert_array_equal(group_means(*turned, offsets), expected)


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 10**9, 2**53 - 1, 2**53 + 1])
def test_quotients_half_way_between_doubles_go_to_the_even_one(divisor):
    # 2**53 + odd / 2 is half way between two doubles, and a little more or less is not
    wholes = [2 * (2**53 + k) + 1 for k in range(6)]
    wholes = [whole * divisor + little for whole in wholes for little in (-1, 0, 1)]
    columns = [[whole >> 60 for whole in wholes], [whole % 2**60 for whole in wholes]]
    sums = [(59, np.array(columns[0])), (-1, np.array(columns[1]))]
    assert quotients(sums, np.full(len(wholes), divisor)).tolist() == [whole / (2 * divisor) for whole in wholes]


def test_digits_of_the_longest_time_and_the_widest_range_add_up():
    values = np.array([1.7e308, -5e-324, 1.0, 1 + 2.0**-52, 0.0])
    for most in (1, 2**30, 2**60 - 1):
        parts = list(digits(values, most))
        exact = [
            sum(Fraction(int(column[i])) * Fraction(2) ** exponent for exponent, column in parts) for i in range(5)
        ]
        assert exact == list(map(Fraction, values))
        assert max(int(np.abs(column).max()) for _, column in parts) * most < 2**62


# ---------------------------------------------------------------- pooled scores


@pytest.mark.parametrize(("measure", "pooling"), [("point", "mean"), ("utterance", "mean"), ("utterance", "top-k(3)")])
@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
def test_equal_means_of_different_scores_are_tied(measure, pooling, higher):
    """As doubles added in turn, (-1e16 + 1) + 1 is less than (-1e16 + 0) + 2."""
    sign = 1 if higher == "bonafide" else -1
    frames = [[-1e16, 1.0, 1.0], [-1e16, 0.0, 2.0], [2.0, -1e16, 0.0], [1.0, 1.0, -1e16]]
    references = references_of([(60, "b")], [(60, "s")], [(60, "s")], [(60, "b")])
    scores = frames_of(*[[sign * one for one in row] for row in frames], higher=higher)
    if measure == "point":
        found = ss.point_eer(references, scores, 0.06, pooling=pooling)
    else:
        found = ss.utterance_eer(references, scores, pooling=pooling)
    assert found.exact_value == Fraction(1, 2)
    assert [point.everything for point in found.neighbours] == [False, True]


def test_the_mean_of_a_point_does_not_depend_on_the_order_of_its_scores():
    rng = np.random.default_rng(5)
    frames = [rng.normal(size=11).astype(dtype) * 10.0 ** rng.integers(-3, 4, 11) for dtype in (np.float32, np.float64)]
    for one in frames:
        mass = ss.point_mass(
            references_of([(8800, "b")]),
            frames_of(np.concatenate([rng.permutation(one) for _ in range(40)])),
            0.22,
            pooling="mean",
        )
        assert set(mass.scores.tolist()) == {mean_of(one, [1] * 11)}


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("pooling", ["mean", "top-k(2)"])
def test_a_mean_near_the_largest_double_does_not_overflow(pooling, sign):
    references = references_of([(40, "b")], [(40, "s")])
    scores = frames_of([sign * 1.7e308, sign * 1.6e308], [sign * 1.5e308, sign * 1.7e308])
    found = ss.utterance_eer(references, scores, pooling=pooling)
    assert found.value == (0.0 if sign > 0 else 1.0)
    assert found.neighbours[0].threshold == sign * mean_of(
        [1.5e308, 1.7e308] if sign > 0 else [1.7e308, 1.6e308], [1, 1]
    )


def test_a_point_without_a_score_takes_no_part_in_a_mean():
    references = references_of([(40, "b"), (80, "s")])
    scores = frames_of([math.inf, -1.0])
    found = ss.point_eer(references, scores, 0.02, pooling="mean", uncovered="unanswered", slack=0.0)
    assert found.value == 0.0


def test_the_lowest_of_both_infinities_have_no_mean():
    references = references_of([(40, "b")], [(40, "s")])
    scores = frames_of([-math.inf, math.inf], [0.0, 1.0])
    with pytest.raises(ss.DataError, match="'u0' has infinite scores of both signs"):
        ss.utterance_eer(references, scores, pooling="top-k(2)")
    assert ss.utterance_eer(references, scores, pooling="top-k(1)").value == 1.0


def test_the_noisy_or_does_not_depend_on_the_order_of_frames():
    rng = np.random.default_rng(0)
    frames = rng.uniform(0.01, 0.99, 50)
    references = references_of(*[[(1000, "bs"[k % 2])] for k in range(40)])
    scores = frames_of(*[rng.permutation(frames) for _ in range(40)])
    found = ss.utterance_eer(references, scores, pooling="noisy-or")
    assert [point.everything for point in found.neighbours] == [False, True]


# ---------------------------------------------------------------- overlapping scores


def brute_cells(rows, combine):
    edges = sorted({edge for row in rows for edge in row[:2]})
    found = []
    for start, end in itertools.pairwise(edges):
        here = [score for a, b, score in rows if a <= start < b]
        if here:
            found.append((start, end, combine(here)))
    return found


def combined(utterances, rule, higher="bonafide", dtype=np.float64):
    """Overlapping rows of each utterance, resolved."""
    sorted_rows = [sorted(rows) for rows in utterances]
    flat = [row for rows in sorted_rows for row in rows]
    starts, ends = (np.array([row[i] for row in flat], np.int64) for i in (0, 1))
    offsets = np.concatenate(([0], np.cumsum([len(rows) for rows in sorted_rows])))
    runs = RangeRuns(offsets, np.array([row[2] for row in flat], dtype), higher, starts, ends)
    names = tuple(f"u{i}" for i in range(len(utterances)))
    made = score_runs.resolve_overlaps(names, runs, Rules(overlap=rule), [])
    columns = zip(made.starts.tolist(), made.ends.tolist(), made.values.tolist(), strict=True)
    listed = list(columns)
    return [listed[a:b] for a, b in zip(made.offsets[:-1], made.offsets[1:], strict=True)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
@pytest.mark.parametrize("rows_per_block", [1, 1 << 18])
def test_overlaps_equal_the_brute_force(higher, dtype, rows_per_block, monkeypatch):
    monkeypatch.setattr(score_runs, "ROWS_PER_BLOCK", rows_per_block)
    for seed in range(60):
        rng = random.Random(seed)

        def draw(rng=rng):
            score = rng.choice(
                [rng.gauss(0, 1), rng.choice([0.1, 0.2, 0.3]), rng.gauss(0, 1) * 10 ** rng.randint(-30, 30)]
            )
            return float(dtype(score))

        utterances = []
        for _ in range(rng.randint(1, 4)):
            starts = [rng.randrange(60) for _ in range(rng.choice([0, 1, 2, 5, 40]))]
            utterances.append([(start, start + rng.randint(1, 60), draw()) for start in starts])
        utterances.append([(0, 9, draw()), (3, 12, draw())])
        utterances.append([])
        lowest = min if higher == "bonafide" else max
        assert combined(utterances, "min", higher, dtype) == [brute_cells(rows, lowest) for rows in utterances]
        assert combined(utterances, "mean", higher, dtype) == [
            brute_cells(rows, lambda here: mean_of(here, [1] * len(here))) for rows in utterances
        ]


@pytest.mark.parametrize("rule", ["min", "mean"])
def test_nested_rows_take_memory_in_proportion_to_their_number(rule):
    """8,000 ranges, each inside of the one before, cover 64 million cells together."""
    count = 8000
    rng = np.random.default_rng(2)
    scores = rng.normal(size=count)
    rows = [(k, 4 * count - k, score) for k, score in enumerate(scores.tolist())]
    tracemalloc.start()
    try:
        (found,) = combined([rows], rule)
        assert tracemalloc.get_traced_memory()[1] < 24 << 20
    finally:
        tracemalloc.stop()
    # the cells rise to the innermost range, and fall again
    if rule == "min":
        expected = np.minimum.accumulate(scores).tolist()
    else:
        totals, total = [], Fraction(0)
        for score in scores.tolist():
            total += Fraction(score)
            totals.append(total)
        expected = [float(total / (k + 1)) for k, total in enumerate(totals)]
    assert [score for _, _, score in found] == [*expected, *expected[-2::-1]]


def test_means_of_overlapping_scores_do_not_drift():
    """Large scores come and go, and leave nothing behind."""
    rows = [(0, 100, 0.1)] + [(k, k + 2, (-1) ** k * 10.0 ** (k % 17)) for k in range(0, 90, 3)]
    (found,) = combined([rows], "mean")
    assert found == brute_cells(rows, lambda here: mean_of(here, [1] * len(here)))
    assert found[-1][2] == 0.1


def test_the_mean_of_overlapping_scores_near_the_largest_double_is_finite():
    (found,) = combined([[(0, 10, 1.7e308), (0, 10, 1.6e308), (5, 10, 5e-324)]], "mean")
    assert [score for _, _, score in found] == [
        mean_of([1.7e308, 1.6e308], [1, 1]),
        mean_of([1.7e308, 1.6e308, 5e-324], [1] * 3),
    ]


@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
def test_two_scores_over_the_same_time_have_no_border_between_their_centres(higher):
    """The lower one came first, so that the polarity decided which half it got, and the EER was 0 or 1."""
    references = ss.References.from_ranges({"u1": [(0.0, 1.0, "bonafide"), (1.0, 2.0, "spoof")]})
    sign = 1 if higher == "bonafide" else -1
    scores = ss.Scores.from_ranges({"u1": [(0.0, 2.0, 0.2 * sign), (0.0, 2.0, 0.8 * sign)]}, higher=higher)
    with pytest.raises(ss.DataError, match=r"two scores over the same time have one centre; use 'min' or 'mean'"):
        ss.range_eer(references, scores, overlap="centre")
    alike = ss.Scores.from_ranges({"u1": [(0.0, 2.0, 0.2), (0.0, 2.0, 0.2)]}, higher=higher)
    assert ss.range_eer(references, alike, overlap="centre").value == 0.5


@explored
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 8), st.integers(1, 6), st.sampled_from([0.1, 0.5, 0.9])), min_size=1, max_size=6
    )
)
def test_centres_do_not_depend_on_the_polarity(rows):
    ranges = [(start / 10, (start + length) / 10, score) for start, length, score in rows]
    references = ss.References.from_ranges({"u1": [(0.0, 0.7, "bonafide"), (0.7, 1.4, "spoof")]})

    def outcome(sign, higher):
        given_rows = {"u1": [(a, b, sign * score) for a, b, score in ranges]}
        scores = ss.Scores.from_ranges(given_rows, higher=higher)
        try:
            return ss.range_eer(references, scores, overlap="centre", uncovered="unanswered").exact_value
        except (ss.DataError, ss.UndefinedMeasureError) as error:
            return type(error)

    assert outcome(1, "bonafide") == outcome(-1, "spoof")

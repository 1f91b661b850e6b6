"""Pooling: the score of a point of several scores, against fractions, plain counting and a table made elsewhere."""

import math
import random
from fractions import Fraction

import brute_force
import numpy as np
import pytest
from outcomes import assert_same, build, outcome_of_brute_force, outcome_of_package
from random_corpora import random_case
from small_corpora import frames_of, references_of

import spoofspan as ss
import spoofspan.demo
from spoofspan.mass.points import extreme

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")

# Point EERs (%) of the demo's 20 ms system at coarser points, by another person's brute force on frames: a frame is
# spoof if any of it is, a window if any frame is, or half of the frames are; a held tail is more frames.
POOLINGS = [("min", "any"), ("min", "majority"), ("mean", "any"), ("mean", "majority"), ("max", "any")]
IN_FRAMES = {
    0.02: (5.39, 5.39, 5.39, 5.39, 5.39),
    0.16: (5.86, 5.95, 6.50, 5.35, 8.97),
    0.32: (6.68, 6.90, 7.18, 4.49, 12.98),
    0.64: (8.22, 9.92, 8.64, 4.62, 17.91),
}


@pytest.fixture(scope="module")
def demo():
    return spoofspan.demo.load()


@pytest.fixture(scope="module")
def in_frames(demo):
    """The demo as frames: one label and one score for each 20 ms, the last score held."""
    ranges, frames, scores = {}, {}, demo.systems[0.02]
    references = demo.references
    for i, utterance in enumerate(references.utterances):
        rows = slice(references.offsets[i], references.offsets[i + 1])
        count = -(-int(references.durations[i]) // 20_000_000)
        edges = np.arange(count + 1) * 20_000_000
        spoofed = np.zeros(count, bool)
        bounds = references.starts[rows], np.append(references.starts[rows][1:], references.durations[i])
        for start, end, label in zip(*bounds, references.labels[rows], strict=True):
            spoofed |= (label == 1) & (edges[:-1] < end) & (edges[1:] > start)
        words = np.where(spoofed, "spoof", "bonafide").tolist()
        ranges[utterance] = [(0.02 * k, 0.02 * (k + 1), word) for k, word in enumerate(words)]
        at = scores.utterances.index(utterance)
        values = scores.values[scores.offsets[at] : scores.offsets[at + 1]][:count]
        frames[utterance] = np.pad(values, (0, count - values.size), mode="edge")
    return ss.References.from_ranges(ranges), ss.Scores.from_frames(frames, hop=0.02, higher=scores.higher)


@pytest.mark.parametrize("resolution", IN_FRAMES)
def test_the_demo_in_frames_has_the_table_that_was_counted_elsewhere(in_frames, resolution):
    found = [100 * ss.point_eer(*in_frames, resolution, pooling=one, label=label).value for one, label in POOLINGS]
    assert [round(value, 2) for value in found] == list(IN_FRAMES[resolution])


@pytest.mark.parametrize("resolution", IN_FRAMES)
@pytest.mark.parametrize("pooling", ["min", "max"])
def test_the_lowest_and_the_highest_need_no_frames(demo, resolution, pooling):
    found = ss.point_eer(demo.references, demo.systems[0.02], resolution, pooling=pooling).value
    assert round(100 * found, 2) == IN_FRAMES[resolution][POOLINGS.index((pooling, "any"))]


def test_the_mean_equals_the_brute_force_in_fractions_to_the_last_bit():
    answered = 0
    for seed in range(120):
        rng = random.Random(seed)
        case = random_case(rng)
        finite = {u: [(a, b, max(min(s, 8.0), -8.0)) for a, b, s in rows] for u, rows in case.scores.items()}
        case.scores = finite
        case.scores_seconds = {
            u: [(*times[:2], row[2]) for times, row in zip(case.scores_seconds[u], rows, strict=True)]
            for u, rows in finite.items()
        }
        if case.values is not None:
            case.values = {u: [row[2] for row in rows] for u, rows in finite.items()}
        case.point_rules["pooling"] = "mean"
        case.eer_rule = rng.choice(["nearest", "interpolated"])
        expected = outcome_of_brute_force(case, "point")
        assert_same(outcome_of_package(case, "point", as_columns=seed % 2 == 0), expected, case)
        answered += not isinstance(expected, str)
        if case.values is not None and case.window is None and not isinstance(expected, str):
            _assert_top_k(case, rng.randrange(1, 6))
    assert answered > 40


def _assert_top_k(case, k):
    """The mean of the k lowest frames of each utterance, against sorting fractions."""
    rules = {**case.rules, "pooling": f"top-k({k})", "label": "any"}
    try:
        expected = brute_force.point_eer(**case.inputs(), **rules, resolution=1e6)
    except (brute_force.Undefined, brute_force.BadData):
        return
    assert ss.utterance_eer(*build(case), **rules).exact_value == expected.value


def test_the_mean_is_over_time_so_splitting_a_range_changes_nothing():
    references = references_of([(500, "b"), (1000, "s")], [(1000, "b")])
    whole = ss.Scores.from_ranges({"u0": [(0, 0.3, 0.1), (0.3, 1, 0.7)], "u1": [(0, 1, 0.6)]}, higher="bonafide")
    split = ss.Scores.from_ranges(
        {"u0": [(0, 0.1, 0.1), (0.1, 0.3, 0.1), (0.3, 0.9, 0.7), (0.9, 1, 0.7)], "u1": [(0, 0.2, 0.6), (0.2, 1, 0.6)]},
        higher="bonafide",
    )
    for scores in (whole, split):
        mass = ss.point_mass(references, scores, 1.0, pooling="mean")
        assert mass.scores.tolist() == pytest.approx([0.52, 0.6], abs=1e-15)
        # the mean of equal scores is that score, to the last bit
        assert mass.scores[1] == 0.6


@pytest.mark.parametrize("pooling", ["mean", "max", "top-k(7)"])
def test_blocks_leave_no_trace(demo, pooling, monkeypatch):
    measure = f"{'utterance' if pooling.startswith('top') else 'point'}-eer"
    measure += "" if measure.startswith("utterance") else "@320ms"

    def measured():
        return ss.evaluate(demo.references, demo.systems[0.02], [measure], pooling=pooling)[measure]

    whole = measured()
    monkeypatch.setattr("spoofspan.mass.points.ROWS_PER_BLOCK", 300)
    parts = measured()
    assert (parts.exact_value, parts.threshold) == (whole.exact_value, whole.threshold)


@pytest.mark.parametrize("pooling", ["min", "mean", "max"])
def test_pooling_of_mirrored_scores_is_the_mirrored_pooling(demo, pooling):
    scores = demo.systems[0.02]
    mirrored = ss.Scores.from_columns(scores.utterances, scores.offsets, -scores.values, hop=0.02, higher="spoof")
    one, other = (ss.point_eer(demo.references, each, 0.16, pooling=pooling) for each in (scores, mirrored))
    assert (one.exact_value, one.threshold) == (other.exact_value, -other.threshold)


def test_noisy_or_orders_utterances_by_the_chance_that_nothing_is_spoofed():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 40)
    ranges = [[(4000, "s" if label else "b")] for label in labels]
    frames = [rng.beta(2, 3 + (1 - label), 200).round(3) for label in labels]
    references = references_of(*ranges)
    for higher, given in (("spoof", frames), ("bonafide", [1 - one for one in frames])):
        found = ss.utterance_eer(references, frames_of(*given, higher=higher), pooling="noisy-or")
        # in fractions, since the product of 200 probabilities is below what a double can be told from 0
        chances = [math.prod(1 - Fraction(str(p)) for p in one) for one in frames]
        spoofed = sorted(chance for chance, label in zip(chances, labels, strict=True) if label)
        bona_fide = sorted(chance for chance, label in zip(chances, labels, strict=True) if not label)
        rates = [
            (
                Fraction(sum(c < tau for c in bona_fide), len(bona_fide)),
                Fraction(sum(c >= tau for c in spoofed), len(spoofed)),
            )
            for tau in [*sorted(chances), 2]
        ]
        fpr, fnr = min(rates, key=lambda pair: abs(pair[0] - pair[1]))
        assert found.exact_value == (fpr + fnr) / 2
        assert "ln P" in found.notes[0]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"pooling": "median"}, "pooling='median'"),
        ({"pooling": "top-k(0)"}, r"top-k\(5\) for utterances"),
        ({"pooling": "top-k(3)"}, "is for whole utterances"),
        ({"pooling": "noisy-or"}, "is for whole utterances"),
    ],
)
def test_a_pooling_that_means_nothing_for_points_is_refused(demo, rules, message):
    with pytest.raises(ss.UsageError, match=message):
        ss.point_eer(demo.references, demo.systems[0.02], 0.16, **rules)


def test_what_counts_frames_refuses_ranges_and_noisy_or_refuses_other_scores(demo):
    references = references_of([(500, "b"), (1000, "s")])
    ranges = ss.Scores.from_ranges({"u0": [(0, 1, 0.3)]}, higher="bonafide")
    with pytest.raises(ss.UsageError, match="these scores are ranges"):
        ss.utterance_eer(references, ranges, pooling="top-k(2)")
    with pytest.raises(ss.UsageError, match="for probabilities"):
        ss.utterance_eer(demo.references, demo.systems[0.02], pooling="noisy-or")


def test_infinities_of_both_signs_have_no_mean():
    references = references_of([(20, "b"), (40, "s")])
    scores = frames_of([math.inf, -math.inf])
    with pytest.raises(ss.DataError, match="'u0' has infinite scores of both signs"):
        ss.point_eer(references, scores, 0.04, pooling="mean", label="majority")
    assert ss.point_eer(references, scores, 0.02, pooling="mean").value == 0.0


def test_the_pooling_is_signed(demo):
    found = ss.point_eer(demo.references, demo.systems[0.02], 0.64)
    assert found.signature.comparable == (
        "point-eer@640ms|nearest|uncovered:error|slack:auto|overlong:error|last_frame:use|overlap:error|label:any|"
        "last_point:use|pooling:min|rules:2|references:2eebecdc9c673d5b|utterances:169:5048a183d9048f3a"
    )
    assert ss.point_eer(demo.references, demo.systems[0.02], 0.64, pooling="min").signature == found.signature
    other = ss.point_eer(demo.references, demo.systems[0.02], 0.64, pooling="mean").signature.comparable
    assert other == found.signature.comparable.replace("|pooling:min|", "|pooling:mean|")


@pytest.mark.parametrize("pooling", ["min", "max"])
@pytest.mark.parametrize("lengths", [[3] * 9, [3] * 5 + [1, 2, 4, 40], [1, 2, 3, 4, 5, 6, 7, 8], [5], [60, 1]])
def test_stretches_of_equal_and_of_different_lengths_have_their_own_extreme(lengths, pooling):
    values = np.random.default_rng(3).normal(size=sum(lengths)).astype(np.float32)
    ends = np.cumsum(lengths)
    first, last = ends - lengths, ends - 1
    found = extreme(values, first, last, pooling)
    expected = [(min if pooling == "min" else max)(values[a : b + 1]) for a, b in zip(first, last, strict=True)]
    assert found.tolist() == expected
    # in any order, and twice
    again = np.concatenate((first[::-1], first)), np.concatenate((last[::-1], last))
    assert extreme(values, *again, pooling).tolist() == [*expected[::-1], *expected]


@pytest.mark.parametrize("pooling", ["min", "max"])
@pytest.mark.parametrize("resolution", [0.02, 0.04, 0.06, 0.16])
def test_points_of_whole_frames_have_the_scores_of_points_that_are_looked_up(pooling, resolution, monkeypatch):
    rng = np.random.default_rng(3)
    counts = rng.integers(1, 40, 50)
    extents = {f"u{i}": 0.02 * n + float(rng.choice([-0.005, 0.0, 0.015, 0.03])) for i, n in enumerate(counts)}
    references = ss.References.from_ranges({utt: [(0.0, end / 2, "spoof")] for utt, end in extents.items()}, extents)
    frames = {f"u{i}": rng.normal(size=n).astype(np.float32) for i, n in enumerate(counts)}
    scores = ss.Scores.from_frames(frames, hop=0.02, higher="spoof")

    def found():
        mass = ss.point_mass(references, scores, resolution, gaps="bonafide", pooling=pooling)
        return mass.scores.tolist(), mass.bona_fide.tolist(), mass.spoof.tolist()

    at_once = found()
    monkeypatch.setattr("spoofspan.mass.points._of_whole_frames", lambda *_: None)
    assert found() == at_once

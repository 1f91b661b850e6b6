"""The brute force against numbers worked out by hand; times in ms here."""

import math
from fractions import Fraction

import pytest
from brute_force import (
    BadData,
    Confusion,
    Undefined,
    confusion,
    eer,
    frames,
    point_entries,
    range_eer,
    range_entries,
)

pytestmark = pytest.mark.quick

MS = 1_000_000


def corpus(reference, scores, duration, hop=None, higher="bonafide"):
    """One utterance, from (start, end, thing) in ms."""
    return {
        "references": {"u": [(a * MS, b * MS, label) for a, b, label in reference]},
        "durations": {"u": duration * MS},
        "scores": {"u": [(a * MS, b * MS, value) for a, b, value in scores]},
        "hop": hop,
        "higher": higher,
    }


HALVES = [(0, 100, "bonafide"), (100, 200, "spoof")]


def total(entries):
    """{score: [bona fide ms, spoof ms]}."""
    out = {}
    for score, bona_fide, spoof in entries:
        row = out.setdefault(score, [0, 0])
        row[0] += bona_fide // MS
        row[1] += spoof // MS
    return out


def test_a_range_across_the_border_counts_on_both_sides_in_either_polarity():
    data = corpus(HALVES, [(0, 70, 0.9), (70, 120, 0.5), (120, 200, 0.1)], 200)
    assert total(range_entries(**data)) == {0.9: [70, 0], 0.5: [30, 20], 0.1: [0, 80]}
    # tau 0.1: 0 and 1; tau 0.5: 0 and 20/100; tau 0.9: 30/100 and 0; everything: 1 and 0
    result = range_eer(**data)
    assert (result.value, result.fpr, result.fnr) == (Fraction(1, 10), 0, Fraction(1, 5))
    assert (result.threshold, result.gap) == (0.5, Fraction(1, 5))
    assert (result.below.threshold, result.above.threshold) == (0.5, 0.9)
    # from (0, 0.2) to (0.3, 0): x = 0.2 - 2x/3
    assert range_eer(**data, eer_rule="interpolated").value == Fraction(3, 25)
    assert range_eer(**data, eer_rule="convex-hull").value == Fraction(3, 25)
    mirrored = corpus(HALVES, [(0, 70, -0.9), (70, 120, -0.5), (120, 200, -0.1)], 200, higher="spoof")
    assert range_eer(**mirrored) == result


def test_a_tail_of_five_ms_is_held_and_one_of_26_is_not():
    held = corpus(HALVES, [(0, 100, 1.0), (100, 195, -1.0)], 200)
    assert total(range_entries(**held)) == {1.0: [100, 0], -1.0: [0, 100]}
    late = corpus(HALVES, [(0, 100, 1.0), (100, 174, -1.0)], 200)
    with pytest.raises(BadData):
        range_entries(**late)
    assert total(range_entries(**late, uncovered="unanswered"))[None] == [0, 26]
    assert total(range_entries(**late, uncovered="ignore")) == {1.0: [100, 0], -1.0: [0, 74]}
    assert total(range_entries(**late | {"hop": 0.001})) == {1.0: [100, 0], -1.0: [0, 100]}


def test_undecided_time_is_an_error_of_the_class_it_is_not_called():
    entries = [(1.0, 60, 10), (-1.0, 20, 70), (None, 20, 20)]
    assert confusion(entries, 1.0, "unanswered") == Confusion(fp=20, fn=10, tp=70, tn=60)
    assert confusion(entries, 1.0, "bonafide") == Confusion(fp=20, fn=30, tp=70, tn=80)
    assert confusion(entries, 1.0, "spoof") == Confusion(fp=40, fn=10, tp=90, tn=60)


def test_frames_of_a_third_are_rounded_one_by_one():
    assert [f[:2] for f in frames([0, 0, 0], 1 / 3)] == [
        (0, 333333333),
        (333333333, 666666667),
        (666666667, 1000000000),
    ]
    assert frames([0, 7], 0.02, start=-0.01, window=0.025)[1] == (10 * MS, 35 * MS, 7.0)


def test_overlapping_windows_follow_the_rule():
    data = corpus([(0, 20, "bonafide"), (20, 50, "spoof")], [(0, 30, 3.0), (20, 50, 1.0)], 50, hop=0.02)
    with pytest.raises(BadData):
        range_entries(**data)
    assert total(range_entries(**data, overlap="min")) == {3.0: [20, 0], 1.0: [0, 30]}
    assert total(range_entries(**data, overlap="mean")) == {3.0: [20, 0], 2.0: [0, 10], 1.0: [0, 20]}
    assert total(range_entries(**data, overlap="centre")) == {3.0: [20, 5], 1.0: [0, 25]}


def test_snap_gaps_and_collar_come_in_this_order():
    reference = [(1, 99, "bonafide"), (101, 150, "spoof"), (160, 199, "nonspeech")]
    data = corpus(reference, [(0, 200, 0.0)], 200)
    rules = {"snap": 0.002, "gaps": "following", "nonspeech": "ignore", "collar": 0.003}
    # bona fide 0-101, spoof 101-150, ignored 150-200; collars 98-104 and 147-153
    assert total(range_entries(**data, **rules)) == {0.0: [98, 43]}
    # with 1 ms the gap from 99 to 101 stays and is spoof; without, none follows the gap from 199 to 200
    assert total(range_entries(**data, **rules | {"snap": 0.001})) == {0.0: [96, 45]}
    with pytest.raises(BadData):
        range_entries(**data, **rules | {"snap": 0.0})


def test_point_labels_follow_the_rule():
    # points of 20 ms up to 105, the sixth only 5 ms long; the label changes in the middle of the third
    scores = [(0, 40, 4.0), (40, 70, 1.0), (70, 105, 2.0)]
    data = corpus([(0, 50, "bonafide"), (50, 105, "spoof")], scores, 105)
    any_spoof = [(4.0, 1, 0), (4.0, 1, 0), (1.0, 0, 1), (1.0, 0, 1), (2.0, 0, 1), (2.0, 0, 1)]
    assert point_entries(**data, resolution=0.02) == any_spoof
    assert point_entries(**data, resolution=0.02, last_point="round") == any_spoof[:5]
    assert point_entries(**data, resolution=0.02, label="majority") == any_spoof
    assert point_entries(**data, resolution=0.02, label=0.75)[2] == (1.0, 1, 0)


def test_rounded_labels_leave_a_short_last_point_to_spoof():
    # 50 / 20 = 2.5 is rounded to 2 and 105 / 20 = 5.25 to 5
    data = corpus([(0, 50, "spoof"), (50, 105, "bonafide")], [(0, 105, 4.0)], 105)
    labels = [spoof for _, _, spoof in point_entries(**data, resolution=0.02, label="rounded")]
    assert labels == [1, 1, 0, 0, 0, 1]


def test_infinite_scores_leave_one_more_candidate():
    entries = [(math.inf, 5, 5), (-math.inf, 5, 5)]
    result = eer(entries, "error")
    assert (result.value, result.threshold, result.everything) == (Fraction(1, 2), math.inf, False)
    assert eer([(math.inf, 1, 3)], "error").threshold == math.inf
    assert not eer([(math.inf, 1, 3)], "error").everything
    with pytest.raises(Undefined):
        eer([(0.0, 1, 0), (None, 3, 0)], "unanswered")


def test_zeros_of_both_signs_are_one_candidate_and_the_lowest_wins_a_tie():
    result = eer([(0.0, 1, 0), (-0.0, 0, 1)], "error")
    assert (result.value, result.threshold, result.everything) == (Fraction(1, 2), 0.0, False)
    assert (result.below.everything, result.above.everything) == (False, True)
    assert eer([(0.0, 1, 0), (-0.0, 0, 1)], "error", "interpolated").value == Fraction(1, 2)
    # spoof polarity: -0.9, -0.5, -0.1 fall into the buckets 0, 2 and 4 of [-1, 0) in fifths
    entries = [(0.9, 3, 0), (0.5, 1, 1), (0.1, 0, 3)]
    assert eer(entries, "error", "bucketed(-1,0,5)").value == eer(entries, "error").value

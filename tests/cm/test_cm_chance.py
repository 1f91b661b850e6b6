"""False ranges by chance: counts, the negative binomial as a Poisson number of unknown rate, likelihood ratios."""

import dataclasses
import math

import numpy as np
import pytest

import spoofspan as ss
from spoofspan.cm.chance import THRESHOLDS, ChanceRanges

COUNTS = ChanceRanges((-1.0, 0.0, 1.0), (1, 4, 9), (5, 8, 10), 120.0, 20, 10, 4)


def tail(k, count, seconds, steps=40_000):
    """P(N >= count) and P(N = count) of a Poisson number whose rate has a gamma distribution, by a sum over rates."""
    rates = (np.arange(steps) + 0.5) / steps * (k + 40) / 120
    weights = rates ** (k - 0.5) * np.exp(-120 * rates)
    weights /= weights.sum()
    mean = rates * seconds
    at = [np.exp(-mean) * mean**n / math.factorial(n) for n in range(count + 1)]
    return 1 - float((weights * sum(at[:count])).sum()), [float((weights * one).sum()) for one in at]


@pytest.mark.parametrize(("ranges", "seconds"), [(0, 5.0), (1, 5.0), (3, 60.0), (12, 200.0)])
def test_the_answer_is_that_of_a_poisson_number_of_unknown_rate(ranges, seconds):
    answer = COUNTS.answer(ranges, seconds, 0.0)
    chance, exact = tail(4, ranges, seconds)
    assert answer.expected == pytest.approx(4.5 * seconds / 120)
    assert answer.chance == pytest.approx(chance, abs=1e-5)
    hit = 8.5 / 11
    one_more = hit * exact[ranges - 1] / exact[ranges] if ranges else 0.0
    assert answer.ratio == pytest.approx(one_more + 1 - hit, rel=1e-4)
    assert answer.probability == pytest.approx(answer.ratio / (1 + answer.ratio))


def test_between_thresholds_the_more_lenient_one_counts():
    assert COUNTS.per_minute(-0.3) == COUNTS.per_minute(0.0) == 60 * 4.5 / 120
    assert COUNTS.per_minute(1.5) is None
    assert COUNTS.answer(1, 2.0, 1.5) is None
    assert COUNTS.cautious_threshold(1.0) == -1.0
    assert COUNTS.cautious_threshold(100) == 0.0
    spread = dataclasses.replace(COUNTS, upper=(0.9, 101.0, 102.0))  # from speaker to speaker
    assert spread.cautious_threshold(100) == spread.cautious_threshold(1.0) == -1.0


def test_ranges_are_counted_in_bona_fide_recordings_and_met_in_spoofed_ones():
    references = ss.References.from_ranges(
        {"a": [(0, 2, "bonafide")], "b": [(0, 1, "bonafide"), (1, 2, "spoof")], "c": [(0, 2, "spoof")]}
    )
    frames = {name: np.full(100, 5.0) for name in "cba"}
    frames["a"][[*range(10, 20), *range(50, 60), *range(80, 83)]] = -2.5  # two ranges, and one that is too short
    frames["b"][:40] = -2.5  # where nothing is spoofed
    frames["c"][50:60] = -0.5
    found = ChanceRanges.learn(references, ss.Scores.from_frames(frames, hop=0.02, higher="bonafide"), ("x", "y", "y"))
    counts = dict(zip(THRESHOLDS, zip(found.false, found.found, strict=True), strict=True))
    assert (counts[-3.0], counts[-2.0], counts[0.0]) == ((0, 0), (2, 0), (2, 1))
    assert (found.seconds, found.recordings, found.spoofed, found.speakers) == (2.0, 1, 2, 1)
    assert ChanceRanges.from_dict(found.to_dict(), "card.json") == found


def test_the_upper_rate_is_that_of_a_jackknife_over_speakers():
    labels = {f"{who}{k}": [(0, 6, "bonafide")] for who in "abcd" for k in range(2)}
    references = ss.References.from_ranges(labels | {"s": [(0, 2, "spoof")]})
    frames = {name: np.full(300 if name != "s" else 100, 5.0) for name in labels} | {"s": np.full(100, -9.0)}
    for place in (20, 60, 100):  # all ranges are of one speaker
        frames["a0"][place : place + 10] = -2.5
    scores = ss.Scores.from_frames(frames, hop=0.02, higher="bonafide")
    found = ChanceRanges.learn(references, scores, [name[0] for name in references.utterances])
    place = THRESHOLDS.index(-2.0)
    rest = np.array([0.0, 5.0, 5.0, 5.0])  # a minute, without a, b, c and d: 3 ranges in 36 s
    error = np.sqrt(3 / 4 * np.square(rest - rest.mean()).sum())
    assert found.upper[place] == pytest.approx(3 / 0.8 + 3.18245 * error, rel=1e-4)
    assert (found.false[place], found.upper[THRESHOLDS.index(-3.0)]) == (3, 0.0)
    assert ChanceRanges.from_dict(found.to_dict(), "card.json") == found
    assert ChanceRanges.learn(references, scores).upper == ()


@pytest.mark.parametrize(
    "change",
    [
        {"false": [1]},
        {"seconds": 0},
        {"found": [1, 2, 99]},
        {"thresholds": [1.0, 0.0, 2.0]},
        {"false": "abc"},
        {"false": [-1, 0, 1]},
    ],
    ids=str,
)
def test_counts_that_are_none_are_refused(change):
    with pytest.raises(ss.DataError, match=r"card\.json: the counts of false ranges"):
        ChanceRanges.from_dict({**COUNTS.to_dict(), **change}, "card.json")

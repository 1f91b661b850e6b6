"""Claims about points that mutation testing found unguarded (see tools/mutation/README.md)."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from small_corpora import MS, TWO, TWO_SCORES, content, frames_of, references_of

import spoofspan as ss
import spoofspan.mass.points
from spoofspan.mass.point_labels import Grid
from spoofspan.measures.operating_point import totals

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")


def ns(*times: int) -> np.ndarray:
    """Nanoseconds, which an array may have as few of as it likes; a list of small integers is refused."""
    return np.array(times)


@pytest.mark.parametrize("resolution", [0, -0.02, 1e-10])
def test_a_resolution_must_be_positive(resolution):
    with pytest.raises(ss.UsageError, match="must be positive"):
        ss.point_eer(TWO, TWO_SCORES, resolution)
    with pytest.raises(ss.UsageError, match="must be positive"):
        TWO_SCORES.resample(resolution)


def test_points_and_their_grid_cannot_be_changed():
    for resolution in (0.02, 1 / 30):
        part = ss.point_mass(TWO, TWO_SCORES, resolution).parts[0]
        for thing in (part, part.grid, part.grid.runs()):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(thing, dataclasses.fields(thing)[0].name, None)
            # arrays have no single truth, so these are equal only to themselves
            assert thing != dataclasses.replace(thing)


def test_a_block_of_points_counts_from_its_own_first():
    """Points of a thirtieth of a second in 0.1, 0.05, 0.2 and 0.1 s."""
    block = Grid.over(np.array([100, 50, 200, 100]) * MS, 1 / 30, "use").block(1, 3).runs()
    assert block.offsets.tolist() == [0, 2, 8]
    ends = [33333333, 50 * MS, 33333333, 66666667, 100 * MS, 133333333, 166666667, 200 * MS]
    assert block.run_ends(np.repeat([0, 1], [2, 6]), np.array([0, 1, 0, 1, 2, 3, 4, 5])).tolist() == ends
    assert block.values.size == 8


@pytest.mark.parametrize(
    ("edge", "end", "last_point", "expected"),
    [
        (46, 50, "use", {0.9: (1, 0), 0.8: (1, 0), 0.7: (1, 0)}),  # 6 of the last 10 ms are bona fide
        (45, 50, "use", {0.9: (1, 0), 0.8: (1, 0), 0.7: (0, 1)}),
        (32, 49, "round", {0.9: (1, 0), 0.8: (1, 0)}),  # 12 of 20 ms; the last point is dropped
        (30, 49, "round", {0.9: (1, 0), 0.8: (0, 1)}),
    ],
)
def test_the_majority_of_a_last_point_is_that_of_its_own_time(edge, end, last_point, expected):
    references = references_of([(edge, "b"), (end, "s")])
    scores = frames_of([0.9, 0.8, 0.7])
    for resolution in (0.02, 0.02 + 1e-12):  # as whole nanoseconds, and not
        mass = ss.point_mass(references, scores, resolution, label="majority", last_point=last_point)
        assert content(mass) == expected


def test_a_last_point_of_half_its_length_is_rounded_up():
    for end, points in ((50, 3), (49, 2), (60, 3), (61, 3)):
        references = references_of([(20, "b"), (end, "s")])
        mass = ss.point_mass(references, frames_of([0.9, 0.8, 0.7, 0.6][: -(-end // 20)]), 0.02, last_point="round")
        assert len(mass.scores) == points


def test_rounding_gives_labels_to_points_with_labelled_time_only():
    """Points of 20 ns; the last one is left empty by rounding, and so spoof, if any of it is labelled."""
    for label, counted in ((0, {0.9: (2, 0), 0.1: (0, 1)}), (1, {0.9: (2, 0), 0.1: (0, 1)}), (2, {0.9: (2, 0)})):
        references = ss.References.from_columns(["u"], ns(41), [0, 2], ns(0, 40), ns(40, 41), labels=[0, label])
        scores = ss.Scores.from_columns(["u"], [0, 2], [0.9, 0.1], starts=ns(0, 40), ends=ns(40, 41), higher="bonafide")
        mass = ss.point_mass(references, scores, 20e-9, label="rounded", nonspeech="ignore")
        assert content(mass) == counted


def test_points_of_years_lie_where_doubles_put_them():
    """Beyond 10**15 ns the edges are no multiples of a whole number of ns any more."""
    resolution = 12_345_678.123456789
    grid = Grid.over(np.array([10**14, 2**60, 10**14]), resolution, "use")
    k = np.arange(int(grid.counts[1]) - 1)
    expected = np.rint((k + 1) * resolution * 1e9).astype(np.int64)
    assert (expected != (k + 1) * round(resolution * 1e9)).any()
    block = grid.runs().block(0, 3)
    np.testing.assert_array_equal(block.run_ends(np.ones_like(k), k), expected)


def test_a_point_of_one_nanosecond_is_a_point():
    references = ss.References.from_columns(["u"], ns(6), [0, 2], ns(0, 3), ns(3, 6), np.array([False, True]))
    scores = ss.Scores.from_columns(["u"], [0, 2], [1.0, 0.0], starts=ns(0, 3), ends=ns(3, 6), higher="bonafide")
    for label in ("any", "majority", "rounded", 0.3):
        assert content(ss.point_mass(references, scores, 1e-9, label=label)) == {1.0: (3, 0), 0.0: (0, 3)}


@pytest.mark.parametrize("label", ["any", "majority", 0.3, "rounded"])
@pytest.mark.parametrize("last", [0, 1, 2])
def test_a_last_point_of_one_nanosecond_is_a_point(label, last):
    """Points of 20 ns in 41 ns; the last nanosecond is bona fide, spoof or non-speech."""
    references = ss.References.from_columns(["u"], ns(41), [0, 3], ns(0, 20, 40), ns(20, 40, 41), labels=[0, 1, last])
    scores = ss.Scores.from_columns(
        ["u"], [0, 3], [0.9, 0.1, 0.5], starts=ns(0, 20, 40), ends=ns(20, 40, 41), higher="bonafide"
    )
    mass = ss.point_mass(references, scores, 20e-9, label=label, nonspeech="ignore")
    # rounding moves the edge at 40 to no other place, and leaves the last point to the spoof class
    counted = {0: (1, 0), 1: (0, 1), 2: (0, 0)} if label != "rounded" else {0: (0, 1), 1: (0, 1), 2: (0, 0)}
    expected = {0.9: (1, 0), 0.1: (0, 1), 0.5: counted[last]}
    assert content(mass) == {score: amounts for score, amounts in expected.items() if any(amounts)}


def test_a_corpus_whose_points_are_all_rounded_away_has_no_eer():
    references = references_of([(4, "b"), (8, "s")])
    for label in ("any", "majority", "rounded"):
        with pytest.raises(ss.UndefinedMeasureError, match="no bona fide point"):
            ss.point_eer(references, frames_of([0.9]), 0.02, label=label, last_point="round")


@pytest.mark.parametrize("block", [1, 1 << 17])
@pytest.mark.parametrize(
    ("edge", "bona_fide"), [(10, 0), (11, 1), (29, 1), (30, 2), (31, 2), (50, 2), (51, 3), (70, 4), (90, 4)]
)
def test_edges_are_rounded_to_points_half_to_even(monkeypatch, edge, bona_fide, block):
    monkeypatch.setattr(spoofspan.mass.points, "ROWS_PER_BLOCK", block)
    references = references_of([(edge, "b"), (100, "s")], [(100, "b")], [(60, "s"), (100, "b")])
    mass = ss.point_mass(references, frames_of([0.5] * 5, [0.6] * 5, [0.7] * 5), 0.02, label="rounded")
    assert content(mass) == {0.5: (bona_fide, 5 - bona_fide), 0.6: (5, 0), 0.7: (2, 3)}


def test_products_of_long_points_and_a_small_fraction_are_exact():
    """16 times 2**59 ns is 2**63; the other utterance is short, and has less spoof than a sixteenth."""
    long = 2**59
    references = ss.References.from_columns(
        ["u", "v"],
        [long + 7, 40],
        [0, 2, 4],
        np.array([0, long, 0, 39]),
        np.array([long, long + 7, 39, 40]),
        labels=[1, 2, 0, 1],
    )
    scores = ss.Scores.from_columns(
        ["u", "v"], [0, 1, 2], [0.1, 0.9], starts=[0, 0], ends=[long + 7, 40], higher="bonafide"
    )
    mass = ss.point_mass(references, scores, (long + 4096) / 1e9, label=0.0625, nonspeech="ignore")
    assert content(mass) == {0.1: (0, 1), 0.9: (1, 0)}


@pytest.mark.parametrize("label", ["majority", 0.3, 1.0, 0.125])
def test_labels_of_very_long_points_are_exact(label):
    """Products with the denominator of the fraction pass 2**63."""
    long = 2**60
    share = {"majority": Fraction(1, 2), 0.3: Fraction(3, 10), 1.0: Fraction(1), 0.125: Fraction(1, 8)}[label]
    least = math.ceil(share * long)
    for spoofed in (least - 1, least):
        references = ss.References.from_columns(
            ["u", "v", "w", "short"],
            [long, long, long, 9],
            [0, 2, 3, 4, 5],
            np.array([0, spoofed, 0, 0, 0]),
            np.array([spoofed, long, long, long, 9]),
            np.array([True, False, False, True, True]),
        )
        scores = ss.Scores.from_columns(
            ["u", "v", "w", "short"],
            np.arange(5),
            [0.0, 1.0, 2.0, 3.0],
            starts=[0] * 4,
            ends=[long, long, long, 9],
            higher="bonafide",
        )
        mass = ss.point_mass(references, scores, long / 1e9, label=label)
        first = (int(spoofed < least), int(spoofed >= least))
        assert content(mass) == {0.0: first, 1.0: (1, 0), 2.0: (0, 1), 3.0: (0, 1)}


def test_a_point_that_reaches_one_nanosecond_into_a_frame_has_its_score():
    references = references_of([(40, "b"), (80, "s")])
    for hop, resolution in ((0.02, 0.020000001), (0.02, 0.04), (1 / 50.0001, 0.020000001)):
        mass = ss.point_mass(references, frames_of([0.9, 0.7, 0.8, 0.1], hop=hop), resolution, label="majority")
        expected = {0.7: (2, 0), 0.1: (0, 2)} if resolution < 0.03 else {0.7: (1, 0), 0.1: (0, 1)}
        assert content(mass) == expected


def test_a_score_that_ends_where_a_point_starts_is_not_its_score():
    """The middle score lasts one nanosecond, until the second point starts."""
    references = ss.References.from_columns(["u"], ns(40), [0, 2], ns(0, 20), ns(20, 40), np.array([True, False]))
    scores = ss.Scores.from_columns(
        ["u"], [0, 3], [0.5, 0.1, 0.9], starts=ns(0, 19, 20), ends=ns(19, 20, 40), higher="bonafide"
    )
    assert content(ss.point_mass(references, scores, 20e-9)) == {0.1: (0, 1), 0.9: (1, 0)}


def test_ignored_uncovered_time_leaves_no_undecided_points():
    """Before the first score, after the last one, and in an utterance without any."""
    references = references_of([(50, "b"), (200, "s")], [(30, "s"), (100, "b")], [(100, "s")])
    scores = frames_of([0.1, 0.2], [], [0.3], start={"u0": 0.04, "u1": 0.0, "u2": 0.06})
    for resolution in (0.02, 0.01, 0.007):
        mass = ss.point_mass(references, scores, resolution, uncovered="ignore", slack=0.0)
        found = totals(mass)
        assert (found.undecided_bona_fide, found.undecided_spoof) == (0, 0)
    mass = ss.point_mass(references, scores, 0.02, uncovered="ignore", slack=0.0)
    assert content(mass) == {0.1: (0, 1), 0.2: (0, 1), 0.3: (0, 1)}


@pytest.mark.parametrize("empty", [0, 1, 2])
def test_an_utterance_without_scores_leaves_its_points_undecided(empty):
    """Two points of each class in every utterance; as ranges, and as frames."""
    references = references_of(*[[(40, "b"), (80, "s")]] * 3)
    ranges = {f"u{i}": [(0.0, 0.02, 0.9), (0.02, 0.08, 0.2 * i)] if i != empty else [] for i in range(3)}
    frames = [[0.9, 0.2 * i, 0.2 * i, 0.2 * i] if i != empty else [] for i in range(3)]
    expected = {0.9: (2, 0), **{0.2 * i: (1, 2) for i in range(3) if i != empty}}
    for scores in (ss.Scores.from_ranges(ranges, higher="bonafide"), frames_of(*frames)):
        mass = ss.point_mass(references, scores, 0.02, uncovered="unanswered")
        assert content(mass) == expected
        assert (totals(mass).undecided_bona_fide, totals(mass).undecided_spoof) == (2, 2)


def test_a_corpus_of_one_score_can_leave_points_undecided():
    references = references_of([(20, "b"), (40, "s"), (80, "b")])
    mass = ss.point_mass(references, frames_of([0.5]), 0.02, uncovered="spoof", slack=0.0)
    assert content(mass) == {0.5: (1, 0)}
    assert (totals(mass).undecided_bona_fide, totals(mass).undecided_spoof) == (2, 1)


def test_a_point_that_ends_where_a_score_starts_does_not_overlap_it():
    references = references_of([(40, "b"), (80, "s")])
    scores = ss.Scores.from_ranges({"u0": [(0.0, 0.02, 0.9), (0.04, 0.05, 0.1), (0.06, 0.08, 0.5)]}, higher="bonafide")
    mass = ss.point_mass(references, scores, 0.02, uncovered="spoof", slack=0.0)
    assert content(mass) == {0.9: (1, 0), 0.1: (0, 1), 0.5: (0, 1)}
    assert totals(mass).undecided_bona_fide == 1
    assert totals(mass).undecided_spoof == 0


# ---------------------------------------------------------------- re-sampling


def naive_resample(ranges, extent, resolution):
    """Lowest score over each point, by looking at all ranges; None where there is none."""
    out, k = [], 0
    edge = [round(i * resolution * 1e9) for i in range(10_000)]
    while edge[k] < extent:
        start, end = edge[k], min(edge[k + 1], extent)
        over = [value for a, b, value in ranges if a < end and b > start]
        out.append(min(over, default=None))
        k += 1
    return out


@pytest.mark.parametrize("block", [1, 1 << 17])
@pytest.mark.parametrize("resolution", [0.01, 0.02, 0.03, 0.04, 0.1, 1 / 30, 0.0071])
@pytest.mark.parametrize("kind", ["frames", "odd hops", "ranges", "start", "early start", "window", "two hops"])
def test_resampled_scores_are_the_lowest_over_each_frame(monkeypatch, kind, resolution, block):
    monkeypatch.setattr(spoofspan.mass.points, "ROWS_PER_BLOCK", block)
    rng = np.random.default_rng(3)
    values = {"a": rng.normal(size=9), "b": np.zeros(0), "c": rng.normal(size=4), "d": rng.normal(size=11)}
    layout = {
        "frames": {"hop": 0.02},
        "odd hops": {"hop": 1 / 30},
        "early start": {"hop": 0.02, "start": -0.013},
        "start": {"hop": 0.02, "start": {"a": 0.0, "b": 0.0, "c": 0.0, "d": -0.02}},
        "window": {"hop": 0.02, "window": 0.015},
        "two hops": {"hop": {"a": 0.02, "b": 0.01, "c": 0.03, "d": 0.01}},
    }
    times = {}
    for utt, row in values.items():
        if kind == "ranges":
            edges = np.concatenate(([0], np.cumsum(rng.integers(1, 60, row.size)))) * MS
            times[utt] = list(zip(edges[:-1].tolist(), edges[1:].tolist(), row.tolist(), strict=True))
            continue
        hop = layout[kind]["hop"]
        hop = hop[utt] if isinstance(hop, dict) else hop
        start = layout[kind].get("start", 0.0)
        start = round((start[utt] if isinstance(start, dict) else start) * 1e9)
        window = layout[kind].get("window")
        times[utt] = [
            (
                start + round(k * hop * 1e9),
                start + (round((k + 1) * hop * 1e9) if window is None else round(k * hop * 1e9) + round(window * 1e9)),
                value,
            )
            for k, value in enumerate(row.tolist())
        ]
    for higher, sign in (("bonafide", 1), ("spoof", -1)):
        if kind == "ranges":
            given = {utt: [(a / 1e9, b / 1e9, sign * value) for a, b, value in rows] for utt, rows in times.items()}
            scores = ss.Scores.from_ranges(given, higher=higher)
        else:
            given = {utt: sign * row for utt, row in values.items()}
            scores = ss.Scores.from_frames(given, higher=higher, **layout[kind])
        for durations in (None, {"a": 0.1, "b": 0.3, "c": 0.021, "d": 0.5}):
            expected = {}
            for utt, rows in times.items():
                ends = [b for _, b, _ in rows]
                extent = max(ends, default=0) if durations is None else round(durations[utt] * 1e9)
                reach = min(max(ends, default=0), extent)
                inside = [(a, min(b, extent), value) for a, b, value in rows if a < extent]
                reach = min(reach, max((b for _, b, _ in inside), default=0))
                expected[utt] = naive_resample(inside, reach, resolution)
            if any(None in row for row in expected.values()):
                with pytest.raises(ss.DataError, match="holes"):
                    scores.resample(resolution, durations)
                continue
            result = scores.resample(resolution, durations)
            assert (result.higher, result.hop, result.window) == (higher, resolution, None)
            assert result.origins.tolist() == [0, 0, 0, 0]
            for i, utt in enumerate(scores.utterances):
                found = result.values[result.offsets[i] : result.offsets[i + 1]]
                assert (sign * found).tolist() == expected[utt]


@pytest.mark.parametrize("block", [1, 1 << 17])
def test_a_hole_is_refused_and_named(monkeypatch, block):
    monkeypatch.setattr(spoofspan.mass.points, "ROWS_PER_BLOCK", block)
    scores = ss.Scores.from_ranges(
        {"a": [(0.0, 0.1, 1.0)], "b": [(0.0, 0.03, 1.0), (0.06, 0.07, 2.0)], "c": [(0.0, 0.1, 1.0)]}, higher="bonafide"
    )
    with pytest.raises(ss.DataError, match="utterance 'b' has no score for frame 2; scores with holes"):
        scores.resample(0.02)
    with pytest.raises(ss.DataError, match="3 problems") as error:
        scores.resample(0.01)
    assert [line.strip() for line in str(error.value).splitlines()[1:]] == [
        f"utterance 'b' has no score for frame {k}" for k in (3, 4, 5)
    ]


def test_a_hole_at_the_start_of_an_utterance_is_its_own():
    scores = ss.Scores.from_ranges({"a": [(0.0, 0.1, 1.0)], "b": [(0.02, 0.04, 1.0)]}, higher="bonafide")
    with pytest.raises(ss.DataError, match="utterance 'b' has no score for frame 0; scores with holes"):
        scores.resample(0.02)


def test_a_window_longer_than_the_hop_is_resampled_to_its_end():
    scores = frames_of([0.5], [0.25], hop=0.02, window=0.03)
    assert scores.resample(0.01).values.tolist() == [0.5] * 3 + [0.25] * 3


def test_scores_before_0_alone_leave_nothing_to_resample():
    scores = frames_of([0.5, 0.4], [0.1, 0.2, 0.3], start={"u0": -0.1, "u1": 0.0})
    assert scores.resample(0.02).offsets.tolist() == [0, 0, 3]

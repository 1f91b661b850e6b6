"""Bad input gets a sentence that says where and what to do, and never a number."""

import math
import re
import warnings
from contextlib import contextmanager

import numpy as np
import pytest

import spoofspan as ss
from spoofspan.base.errors import NothingToMeasureError
from spoofspan.cli.inputs import Inputs

pytestmark = pytest.mark.quick

NAN, INF = float("nan"), float("inf")

RANGES = {
    "u1": [(0.0, 1.0, "bonafide"), (1.0, 2.0, "spoof")],
    "u2": [(0.0, 0.5, "spoof"), (0.5, 1.0, "bonafide")],
}
DURATIONS = {"u1": 2.0, "u2": 1.0}
FRAMES = {"u1": np.linspace(1.0, -1.0, 100), "u2": np.linspace(-1.0, 1.0, 50)}


def references(ranges=RANGES, durations=DURATIONS, **more):
    return ss.References.from_ranges(ranges, durations, **more)


def scores(frames=FRAMES, hop=0.02, higher="bonafide", **more):
    return ss.Scores.from_frames(frames, hop=hop, higher=higher, **more)


def one(rows, duration=2.0, **more):
    """References of one utterance."""
    return references({"u1": rows}, None if duration is None else {"u1": duration}, **more)


ONE_SCORE = {"u1": np.linspace(1.0, -1.0, 100)}


@contextmanager
def refused(error, *words):
    """The error is of this class and its message has all these words; nothing is warned about on the way."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error) as caught:
            yield
    missing = [word for word in words if word not in str(caught.value)]
    assert not missing, f"{missing} missing in: {caught.value}"
    assert type(caught.value) is error


# ---------------------------------------------------------------- the hierarchy


def test_every_error_has_an_exit_code_and_is_a_spoofspan_error():
    codes = {ss.SpoofspanError: 1, ss.UsageError: 2, ss.DataError: 3, ss.UndefinedMeasureError: 4}
    for error, code in codes.items():
        assert error.exit_code == code
        assert issubclass(error, ss.SpoofspanError)
    for error in (ss.UsageError, ss.DataError, ss.UndefinedMeasureError):
        assert issubclass(error, ValueError)
        with pytest.raises(ss.SpoofspanError):
            raise error("so")
    assert issubclass(ss.SpoofspanWarning, UserWarning)


# ---------------------------------------------------------------- references


@pytest.mark.parametrize("time", [NAN, INF, -INF, 1e11])
def test_a_time_that_is_no_time_is_refused(time):
    with refused(ss.DataError, "utterance 'u2', range 0", "start", "seconds"):
        references({"u1": RANGES["u1"], "u2": [(time, 1.0, "spoof")]})
    with refused(ss.DataError, "utterance 'u2', range 1", "end", "seconds"):
        references({"u1": RANGES["u1"], "u2": [(0.0, 0.5, "spoof"), (0.5, time, "spoof")]})
    with refused(ss.DataError, "utterance 'u2'", "duration", "seconds"):
        references(durations={"u1": 2.0, "u2": time})
    with refused(ss.DataError, "utterance 'u1', score 1", "end", "seconds"):
        ss.Scores.from_ranges({"u1": [(0.0, 1.0, 0.5), (1.0, time, 0.5)]}, higher="bonafide")


def test_a_time_that_is_no_number_is_refused_with_the_name_of_the_utterance():
    with refused(ss.DataError, "'u1'", "zero"):
        one([("zero", 1.0, "spoof")])


def test_a_range_that_ends_before_it_starts_is_refused():
    with refused(ss.DataError, "utterance 'u1', range 1", "ends before it starts", "1.200 s to 0.900 s", "correct or"):
        one([(0.0, 0.9, "bonafide"), (1.2, 0.9, "spoof")])
    with refused(ss.DataError, "utterance 'u1', range 0", "ends before it starts", "correct or"):
        ss.Scores.from_ranges({"u1": [(1.0, 0.5, 0.3)]}, higher="bonafide")


def test_a_range_before_zero_is_refused():
    with refused(ss.DataError, "utterance 'u1', range 0", "starts before 0", "-0.100 s"):
        one([(-0.1, 0.9, "bonafide")])
    with refused(ss.DataError, "utterance 'u1', range 0", "starts before 0"):
        ss.Scores.from_ranges({"u1": [(-0.1, 0.5, 0.3)]}, higher="bonafide")


def test_int64_times_are_nanoseconds_and_too_many_of_them_are_refused():
    with refused(ss.DataError, "utterance 'u1', range 0", "36 years", "int64 times are nanoseconds"):
        ss.References.from_columns(["u1"], None, [0, 1], np.array([0]), np.array([2**61]), np.array([True]))


def test_different_labels_at_the_same_time_are_refused():
    with refused(
        ss.DataError,
        "utterance 'u1'",
        "bonafide [0.000 s, 1.200 s)",
        "spoof [1.000 s, 2.000 s)",
        "overlap",
        "give every instant one label",
    ):
        one([(0.0, 1.2, "bonafide"), (1.0, 2.0, "spoof")])
    # also where ranges of the same label lie between them
    with refused(ss.DataError, "utterance 'u1'", "overlap"):
        one([(0.0, 1.8, "bonafide"), (0.1, 0.2, "bonafide"), (1.5, 2.0, "spoof")])
    # edges that miss each other by no more than snap are no overlap
    near = one([(0.0, 1.001, "bonafide"), (1.0, 2.0, "spoof")], snap=0.002)
    assert ss.range_eer(near, scores(ONE_SCORE)).touched["snap"].utterances == 1
    with refused(ss.DataError, "utterance 'u1'", "snap="):
        ss.range_eer(near, scores(ONE_SCORE), snap=0.0)


def test_an_unknown_label_is_refused_with_the_nearest_one():
    with refused(ss.DataError, "utterance 'u1'", "unknown label 'bona fide'", "did you mean 'bonafide'?"):
        one([(0.0, 1.2, "bona fide")])
    with refused(ss.DataError, "2 problems", "'u1'", "'u2'", "did you mean 'spoof'?", "fourth place"):
        references({"u1": [(0.0, 1.0, "spoofed")], "u2": [(0.0, 1.0, "spoof ")]})
    with refused(ss.DataError, "utterance 'u1'", "unknown label 1"):
        one([(0.0, 1.2, 1)])


def test_a_range_is_three_or_four_things():
    for row in [(0.0, 1.0), (0.0, 1.0, "spoof", "A07", "more")]:
        with refused(ss.UsageError, "utterance 'u1'", "(start, end, label[, attack])"):
            one([row])


def test_duplicate_empty_and_other_ids_are_refused():
    times = ([0, 1, 2], np.array([0, 0]), np.array([1, 1]), np.array([True, False]))
    with refused(ss.DataError, "utterance 'u1' occurs more than once", "one id"):
        ss.References.from_columns(["u1", "u1"], None, *times)
    with refused(ss.DataError, "utterance 'u1' occurs more than once"):
        ss.Scores.from_columns(["u1", "u1"], [0, 1, 2], [0.1, 0.2], hop=0.02, higher="bonafide")
    for bad in ("", 7, None, b"u1"):
        with refused(ss.DataError, repr(bad), "ids are non-empty strings"):
            ss.References.from_columns(["u1", bad], None, *times)
        with refused(ss.DataError, repr(bad), "ids are non-empty strings"):
            scores({"u1": [0.1], bad: [0.2]})


def test_numpy_strings_are_ids_too():
    table = np.array(["u1", "u2"])
    built = ss.Scores.from_columns(table, [0, 1, 2], [0.1, 0.2], hop=0.02, higher="bonafide")
    assert built.utterances == ("u1", "u2")
    assert all(type(utt) is str for utt in built.utterances)


def test_an_empty_corpus_is_refused():
    with refused(ss.DataError, "empty", "at least one utterance"):
        references({}, None)
    with refused(ss.DataError, "empty", "at least one utterance"):
        scores({})
    with refused(ss.DataError, "empty", "at least one utterance"):
        ss.Scores.from_ranges({}, higher="bonafide")


def test_durations_are_given_for_all_utterances_or_for_none():
    with refused(ss.DataError, "utterance 'u2' has no duration", "or none at all"):
        references(durations={"u1": 2.0})
    for bad in (-1.0, 0.0):
        with refused(ss.DataError, "utterance 'u2'", "duration", "must be positive"):
            references(durations={"u1": 2.0, "u2": bad})
    with refused(ss.UsageError, "1 durations for 2 utterances"):
        ss.References.from_columns(
            ["u1", "u2"], [1.0], [0, 1, 2], np.array([0, 0]), np.array([1, 1]), np.array([True, False])
        )


@pytest.mark.parametrize(
    "offsets",
    [
        [0, 2],  # too few
        [0, 1, 2, 2],  # too many
        [0, 3, 2],  # falls
        [1, 1, 2],  # does not start at 0
        [0, 1, 1],  # does not end at the rows
        [0, 1, 3],
        [0.0, 1.0, 2.0],
        [[0, 1, 2]],
    ],
)
def test_wrong_offsets_are_refused(offsets):
    with refused(ss.UsageError, "offsets"):
        ss.References.from_columns(
            ["u1", "u2"], None, offsets, np.array([0, 0]), np.array([1, 1]), np.array([True, False])
        )
    with refused(ss.UsageError, "offsets"):
        ss.Scores.from_columns(["u1", "u2"], offsets, [0.1, 0.2], hop=0.02, higher="bonafide")


def test_columns_of_different_lengths_are_refused():
    arrays = {"starts": np.array([0, 0]), "ends": np.array([1, 1])}
    with refused(ss.UsageError, "1 starts", "2 ends", "one per range"):
        ss.References.from_columns(["u1", "u2"], None, [0, 1, 2], np.array([0]), arrays["ends"], np.array([True] * 2))
    with refused(ss.UsageError, "1 attacks for 2 ranges"):
        ss.References.from_columns(
            ["u1", "u2"], None, [0, 1, 2], **arrays, is_spoof=np.array([True] * 2), attacks=["A"]
        )
    with refused(ss.UsageError, "2 starts", "1 scores"):
        ss.Scores.from_columns(["u1"], [0, 1], [0.5], **arrays, higher="bonafide")


def test_classes_are_bool_or_codes_and_given_once():
    arrays = (["u1"], None, [0, 1], np.array([0]), np.array([1]))
    with refused(ss.UsageError, "is_spoof", "bool", "labels="):
        ss.References.from_columns(*arrays, np.array([1]))
    with refused(ss.UsageError, "0 bona fide, 1 spoof, 2 non-speech"):
        ss.References.from_columns(*arrays, labels=np.array([3]))
    with refused(ss.UsageError, "either is_spoof or labels"):
        ss.References.from_columns(*arrays)
    with refused(ss.UsageError, "either is_spoof or labels"):
        ss.References.from_columns(*arrays, np.array([True]), labels=np.array([1]))
    with refused(ss.UsageError, "start", "int64 (nanoseconds) or float (seconds)"):
        ss.References.from_columns(["u1"], None, [0, 1], np.array(["0"]), np.array([1]), np.array([True]))


# ---------------------------------------------------------------- scores


def test_nan_scores_are_refused_with_their_place():
    frames = {"u1": [0.1, 0.2], "u2": [0.1, NAN, 0.3]}
    with refused(ss.DataError, "utterance 'u2', score 1 is NaN", "why the system gave no number"):
        scores(frames)
    for dtype in (np.float16, np.float32, np.float64):
        with refused(ss.DataError, "utterance 'u1', score 0 is NaN"):
            scores({"u1": np.array([NAN, INF], dtype)})
    with refused(ss.DataError, "utterance 'u1', score 0 is NaN"):
        ss.Scores.from_ranges({"u1": [(0.0, 1.0, NAN)]}, higher="bonafide")


def test_hard_decisions_are_refused():
    with refused(ss.UsageError, "hard decisions", "an EER needs scores"):
        scores({"u1": [True, False]})
    with refused(ss.UsageError, "hard decisions"):
        ss.Scores.from_ranges({"u1": [(0.0, 1.0, True)]}, higher="bonafide")


def test_hard_decisions_are_refused_beside_real_scores_too():
    with refused(ss.UsageError, "hard decisions"):
        scores({"u1": [True, False], "u2": [0.5]})


def test_integers_that_are_no_doubles_are_refused():
    assert scores({"u1": [2**53, -3, 0]}).values.tolist() == [2.0**53, -3.0, 0.0]
    with refused(ss.DataError, "2**53", "rescale"):
        scores({"u1": [2**53 + 1]})
    with refused(ss.DataError, "2**53", "rescale"):
        ss.Scores.from_ranges({"u1": [(0.0, 1.0, 2**53 + 1)]}, higher="bonafide")


def test_integers_that_are_no_doubles_are_refused_with_their_place():
    with refused(ss.DataError, "utterance 'u2', score 1"):
        scores({"u1": [1], "u2": [2, 2**53 + 1]})


@pytest.mark.parametrize("value", [np.int64(2**63 - 1), np.uint64(2**64 - 1), np.uint64(2**63 + 1)])
def test_the_largest_integers_are_refused_without_a_warning(value):
    with refused(ss.DataError, "2**53"):
        scores({"u1": np.array([value])})


def test_integers_that_are_no_doubles_are_refused_beside_floats_too():
    with refused(ss.DataError, "2**53"):
        scores({"u1": [2**53 + 1], "u2": [0.5]})


def test_scores_that_are_no_real_numbers_are_refused():
    for values in ([1j], ["0.5"], [None], np.array(["2026-01-01"], "M8[s]")):
        with refused(ss.UsageError, "float16, float32, float64 or integers"):
            scores({"u1": values})
    with refused(ss.UsageError, "utterance 'u1'", "one-dimensional"):
        scores({"u1": [[0.1, 0.2]]})
    with refused(ss.UsageError, "one-dimensional"):
        ss.Scores.from_columns(["u1"], [0, 2], [[0.1, 0.2]], hop=0.02, higher="bonafide")


def test_polarity_is_never_guessed():
    for build in (
        lambda **more: ss.Scores.from_frames(FRAMES, hop=0.02, **more),
        lambda **more: ss.Scores.from_ranges({"u1": [(0.0, 1.0, 0.5)]}, **more),
        lambda **more: ss.Scores.from_columns(["u1"], [0, 1], [0.5], hop=0.02, **more),
    ):
        with pytest.raises(TypeError, match="higher"):
            build()
        for wrong in ("bona fide", "genuine", "Spoof", None, True):
            with refused(ss.UsageError, f"higher={wrong!r}: must be 'bonafide' or 'spoof'"):
                build(higher=wrong)


@pytest.mark.parametrize("hop", [0, 0.0, -0.02, NAN, INF, -INF, 1e-12, {"u1": 0.02, "u2": 0.0}, None])
def test_a_hop_that_is_no_spacing_is_refused(hop):
    with refused(ss.UsageError, "hop", "positive"):
        scores(hop=hop)


@pytest.mark.parametrize("hop", ["20ms", 1e10, 1e300])
def test_a_hop_that_is_no_possible_time_is_refused(hop):
    with refused(ss.UsageError, "hop"):
        scores(hop=hop)


@pytest.mark.parametrize("start", [NAN, INF, -INF, 1e12])
def test_a_start_that_is_no_time_is_refused(start):
    for value in (start, {"u1": 0.0, "u2": start}):
        with pytest.raises(ss.SpoofspanError, match="start"):
            scores(start=value)


@pytest.mark.parametrize("window", [0, -0.02, NAN, INF, "x"])
def test_a_window_that_is_no_length_is_refused(window):
    with refused(ss.UsageError, "window"):
        scores(window=window)


def test_hops_and_starts_are_given_for_every_utterance():
    with refused(ss.DataError, "utterance 'u2' has no hop", "one for all"):
        scores(hop={"u1": 0.02})
    with refused(ss.DataError, "utterance 'u2' has no start", "one for all"):
        scores(start={"u1": 0.02})
    with refused(ss.UsageError, "hop", "one per utterance"):
        ss.Scores.from_columns(["u1"], [0, 1], [0.5], hop=[0.02, 0.02], higher="bonafide")


def test_scores_are_frames_or_ranges():
    times = {"starts": np.array([0]), "ends": np.array([1])}
    with refused(ss.UsageError, "not both"):
        ss.Scores.from_columns(["u1"], [0, 1], [0.5], hop=0.02, **times, higher="bonafide")
    with refused(ss.UsageError, "hop=", "starts= and ends="):
        ss.Scores.from_columns(["u1"], [0, 1], [0.5], higher="bonafide")
    with refused(ss.UsageError, "hop=", "starts= and ends="):
        ss.Scores.from_columns(["u1"], [0, 1], [0.5], starts=np.array([0]), higher="bonafide")
    for more in ({"start": 0.1}, {"window": 0.1}):
        with refused(ss.UsageError, "belong to frames"):
            ss.Scores.from_columns(["u1"], [0, 1], [0.5], **times, **more, higher="bonafide")


def test_overlapping_scores_need_a_rule():
    rows = [(0.0, 1.2, 0.5), (1.0, 2.0, -0.5)]
    overlapping = ss.Scores.from_ranges({"u1": rows}, higher="bonafide")
    given = one(RANGES["u1"])
    with refused(ss.DataError, "utterance 'u1'", "starts at 1.000 s", "ends at 1.200 s", "overlap='min'"):
        ss.range_eer(given, overlapping)
    nested = ss.Scores.from_ranges({"u1": [(0.0, 2.0, 0.5), (1.0, 1.5, -0.5)]}, higher="bonafide")
    with refused(ss.DataError, "utterance 'u1'", "ranges inside ranges", "'min' or 'mean'"):
        ss.range_eer(given, nested, overlap="centre")


def test_the_mean_of_opposite_infinities_is_refused():
    rows = [(0.0, 1.2, INF), (1.0, 2.0, -INF)]
    overlapping = ss.Scores.from_ranges({"u1": rows}, higher="bonafide")
    with refused(ss.DataError, "'u1'", "infinities of both signs", "overlap='min'"):
        ss.range_eer(one(RANGES["u1"]), overlapping, overlap="mean")


# ---------------------------------------------------------------- what is put right silently, and counted


def test_unsorted_ranges_are_sorted():
    tidy, messy = references(), references({utt: rows[::-1] for utt, rows in RANGES.items()})
    assert messy.starts.tolist() == tidy.starts.tolist() == [0, 10**9, 0, 5 * 10**8]
    assert messy.labels.tolist() == tidy.labels.tolist() == [0, 1, 1, 0]
    assert messy.dropped_empty == 0
    ranges = {"u1": [(0.7, 2.0, -0.4), (0.0, 0.7, 0.9)]}
    assert ss.Scores.from_ranges(ranges, higher="bonafide").values.tolist() == [0.9, -0.4]
    kinds = one([(1.0, 2.0, "spoof", "A07"), (0.0, 1.0, "bonafide")])
    assert [kinds.attack_names[kind] if kind >= 0 else None for kind in kinds.attacks] == [None, "A07"]


def test_empty_ranges_are_dropped_and_counted():
    built = one([(0.0, 1.0, "bonafide"), (0.3, 0.3, "spoof"), (1.0, 2.0, "spoof"), (2.0, 2.0, "bonafide")])
    assert (built.dropped_empty, built.starts.size) == (2, 2)
    ranges = {"u1": [(0.0, 1.0, 0.3), (1.0, 1.0, 0.9), (1.0, 2.0, 0.1)]}
    assert ss.Scores.from_ranges(ranges, higher="bonafide").dropped_empty == 1
    assert one(RANGES["u1"]).dropped_empty == 0


def test_columns_are_not_copied_and_not_changed():
    count = 3
    tenth = np.int64(10**8)
    durations = np.full(count, 10 * tenth)
    starts, ends = np.tile([0 * tenth, 5 * tenth], count), np.tile([5 * tenth, 10 * tenth], count)
    is_spoof = np.tile([False, True], count)
    offsets = 2 * np.arange(count + 1, dtype=np.int64)
    values = np.tile([0.9, 0.1], count).astype(np.float32)
    columns = [durations, starts, ends, is_spoof, offsets, values]
    for column in columns:
        column.setflags(write=False)
    ids = ["a", "b", "c"]
    built = ss.References.from_columns(ids, durations, offsets, starts, ends, is_spoof)
    ranges = ss.Scores.from_columns(ids, offsets, values, starts=starts, ends=ends, higher="bonafide")
    frames = ss.Scores.from_columns(ids, offsets, values, hop=0.5, higher="spoof")
    for mine, theirs in [
        (built.durations, durations),
        (built.offsets, offsets),
        (built.starts, starts),
        (built.ends, ends),
        (built.labels, is_spoof),
        (ranges.values, values),
        (ranges.starts, starts),
        (ranges.ends, ends),
        (frames.values, values),
        (frames.offsets, offsets),
    ]:
        assert np.shares_memory(mine, theirs)
    codes = is_spoof.astype(np.int8)
    assert np.shares_memory(ss.References.from_columns(ids, None, offsets, starts, ends, labels=codes).labels, codes)
    before = [column.copy() for column in columns]
    assert ss.range_eer(built, ranges).value == 0.0
    assert ss.point_eer(built, ranges, 0.1, collar=0.01, uncovered="hold", last_frame="drop").value == 0.0
    with pytest.warns(ss.SpoofspanWarning, match="polarity"):
        assert ss.range_eer(built, frames).value == 1.0
    # ranges that must be sorted are sorted in a copy
    unsorted = ss.References.from_columns(
        ids, durations, offsets, starts.reshape(-1, 2)[:, ::-1].ravel(), ends.reshape(-1, 2)[:, ::-1].ravel(), is_spoof
    )
    assert unsorted.labels.tolist() == [1, 0] * count
    assert all(np.array_equal(column, copy) for column, copy in zip(columns, before, strict=True))


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "i2", "u4", "i8"])
def test_arrays_in_the_other_byte_order_are_read(kind):
    def measured(order):
        values = np.array([9, 7, 8, 2, 5, 3, 6, 1], order + kind)
        built = ss.References.from_columns(
            ["u1"],
            np.array([16 * 10**7], order + "i8"),
            np.array([0, 2], order + "i4"),
            np.array([0.0, 0.08], order + "f8"),
            np.array([0.08, 0.16], order + "f8"),
            labels=np.array([0, 1], order + "i2"),
        )
        frames = ss.Scores.from_frames({"u1": values}, 0.02, higher="bonafide")
        edges = np.arange(9, dtype=order + "i8") * 2 * 10**7
        ranges = ss.Scores.from_columns(
            ["u1"], np.array([0, 8], order + "i8"), values, starts=edges[:-1], ends=edges[1:], higher="bonafide"
        )
        state = ss.EerState(values.dtype if kind[0] == "f" else "f8", higher="bonafide")
        state.add(values, bona_fide=edges[:-1], spoof=edges[::-1][:-1])
        found = [str(ss.range_eer(built, one).signature) for one in (frames, ranges)]
        found += [ss.point_eer(built, frames, 0.04).value, ss.range_eer(built, frames).threshold, state.to_bytes()]
        return found, frames.values.dtype

    big, little = measured(">"), measured("<")
    assert big == little
    assert big[1].isnative


# ---------------------------------------------------------------- references and scores that do not fit


def test_utterances_on_one_side_only_are_listed():
    some = scores({"u1": FRAMES["u1"], "u3": FRAMES["u1"]})
    with refused(
        ss.DataError,
        "2 problems",
        "utterance 'u2' has references but no scores",
        "utterance 'u3' has scores but no references",
        "partial=True",
    ):
        ss.range_eer(references(), some)
    measured = ss.range_eer(references(), some, partial=True)
    assert measured.utterances == 1
    assert measured.touched["partial"].utterances == 2
    assert "(rule: partial)" in str(measured)
    assert measured.value == ss.range_eer(one(RANGES["u1"]), scores(ONE_SCORE)).value


def test_no_utterance_in_common_is_undefined():
    other = scores({"v1": FRAMES["u1"]})
    with refused(NothingToMeasureError, "no utterance in common", "check the ids"):
        ss.range_eer(references(), other, partial=True)
    with refused(ss.DataError, "3 problems"):
        ss.range_eer(references(), other)


@pytest.mark.filterwarnings("ignore:.*FPR and FNR differ by:spoofspan.SpoofspanWarning")
def test_gaps_are_listed_in_seconds():
    gappy = references({"u1": [(0.25, 1.0, "bonafide"), (1.5, 1.75, "spoof")], "u2": RANGES["u2"]})
    with refused(ss.DataError, "utterance 'u1': 1.000 s without a label", "gaps='bonafide', 'spoof', 'ignore'"):
        ss.range_eer(gappy, scores())
    for rule in ("bonafide", "spoof", "ignore"):
        touched = ss.range_eer(gappy, scores(), gaps=rule).touched["gaps"]
        assert (touched.value, touched.seconds, touched.utterances) == (rule, 1.0, 1)
    with refused(
        ss.DataError, "utterance 'u1': 0.250 s without a label", "no range follows", "extent='last-range-end'"
    ):
        ss.range_eer(gappy, scores(), gaps="following")


def test_an_utterance_without_any_range_is_one_gap():
    empty = references({"u1": RANGES["u1"]})  # u2 is listed in the durations only
    assert len(empty) == 2
    with refused(ss.DataError, "utterance 'u2': 1.000 s without a label"):
        ss.range_eer(empty, scores())


def test_nonspeech_needs_a_rule():
    given = one([(0.0, 1.0, "bonafide"), (1.0, 1.25, "nonspeech"), (1.25, 2.0, "spoof")])
    with refused(ss.DataError, "utterance 'u1': 0.250 s of non-speech", "nonspeech='ignore', 'bonafide' or 'spoof'"):
        ss.range_eer(given, scores(ONE_SCORE))
    assert ss.range_eer(given, scores(ONE_SCORE), nonspeech="ignore").point.spoof == 75 * 10**7


def test_a_range_past_the_duration_needs_a_rule():
    given = one([(0.0, 1.0, "bonafide"), (1.0, 2.5, "spoof")])
    with refused(
        ss.DataError, "utterance 'u1'", "ends at 2.500 s", "past the duration of 2.000 s", "extent='cut-at-duration'"
    ):
        ss.range_eer(given, scores(ONE_SCORE))
    assert ss.range_eer(given, scores(ONE_SCORE), extent="cut-at-duration").point.spoof == 10**9


def test_spoof_only_references_need_durations():
    spoofs = one([(0.5, 1.0, "spoof")], duration=None)
    with refused(ss.DataError, "one class only", "give durations"):
        ss.range_eer(spoofs, scores(ONE_SCORE), gaps="bonafide")
    assert one(RANGES["u1"], duration=None).names_both_classes


def test_labelled_time_without_a_score_is_refused():
    short = scores({"u1": FRAMES["u1"][:90], "u2": FRAMES["u2"]})
    with refused(
        ss.DataError, "utterance 'u1': 0.200 s of 2.000 s have no score", "check hop and durations", "uncovered='hold'"
    ):
        ss.range_eer(references(), short)
    with refused(ss.DataError, "utterance 'u1'", "have no score"):
        ss.point_eer(references(), short, 0.02)
    for rule in ("hold", "bonafide", "spoof", "ignore", "unanswered"):
        touched = ss.range_eer(references(), short, uncovered=rule).touched["uncovered"]
        assert (touched.value, touched.seconds) == (rule, 0.2)


def test_an_utterance_without_any_score_cannot_be_held():
    none = scores({"u1": FRAMES["u1"], "u2": []})
    with refused(ss.DataError, "utterance 'u2': 1.000 s of 1.000 s have no score", "needs at least one score"):
        ss.range_eer(references(), none, uncovered="hold")
    assert ss.range_eer(references(), none, uncovered="ignore").value == 0.0


def test_a_tail_of_one_hop_and_25_ms_is_held():
    for missing, held in ((2, True), (3, False)):
        frames = scores({"u1": FRAMES["u1"][: 100 - missing]})
        given = one(RANGES["u1"])
        if held:
            assert ss.range_eer(given, frames).touched["slack"].seconds == 0.04
        else:
            with refused(ss.DataError, "0.060 s"):
                ss.range_eer(given, frames)


def test_two_frames_past_the_end_are_cut_and_three_are_refused():
    for more in (0, 1, 2):
        frames = scores({"u1": np.append(FRAMES["u1"], [9.0] * more)})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            measured = ss.range_eer(one(RANGES["u1"]), frames)
        assert (measured.value, measured.warnings) == (0.0, ())
        assert ("overlong" in measured.touched) == (more > 0)
    late = scores({"u1": np.append(FRAMES["u1"], [9.0] * 3)})
    with refused(ss.DataError, "utterance 'u1': 3 scores start after its end", "check hop", "overlong='cut'"):
        ss.range_eer(one(RANGES["u1"]), late)
    assert ss.range_eer(one(RANGES["u1"]), late, overlong="cut").touched["overlong"].seconds == 0.06
    ranges = [(0.0, 2.0, 0.5), (2.0, 2.1, 9.0), (2.1, 2.2, 9.0), (2.2, 2.3, 9.0)]
    with refused(ss.DataError, "utterance 'u1': 3 scores start after its end"):
        ss.range_eer(one(RANGES["u1"]), ss.Scores.from_ranges({"u1": ranges}, higher="bonafide"))


def test_more_than_twenty_problems_show_twenty_and_the_count():
    many = {f"u{i:04}": [(0.0, 1.0, "bonafide")] for i in range(1500)}
    many["both"] = [(0.0, 0.5, "bonafide"), (0.5, 1.0, "spoof")]
    frames = {utt: [0.5] * 40 for utt in many}
    with pytest.raises(ss.DataError) as caught:
        ss.range_eer(references(many, dict.fromkeys(many, 1.0)), scores(frames))
    head, *lines = str(caught.value).splitlines()
    assert head.startswith("1,501 problems; check hop and durations")
    assert len(lines) == 21
    assert lines[0] == "  utterance 'u0000': 0.200 s of 1.000 s have no score"
    assert lines[-1] == "  ... and 1,481 more"
    twenty = {utt: many[utt] for utt in [*list(many)[:19], "both"]}
    with pytest.raises(ss.DataError) as caught:
        ss.range_eer(references(twenty, dict.fromkeys(twenty, 1.0)), scores({utt: frames[utt] for utt in twenty}))
    assert len(str(caught.value).splitlines()) == 21
    assert "more" not in str(caught.value)


# ---------------------------------------------------------------- one class only


@pytest.mark.parametrize("label", ["bonafide", "spoof"])
def test_one_class_only_is_undefined(label):
    given, missing = one([(0.0, 2.0, label)]), {"bonafide": "spoofed", "spoof": "bona fide"}[label]
    frames = scores(ONE_SCORE)
    for measure in (ss.range_eer, lambda *args, **more: ss.point_eer(*args, 0.02, **more)):
        for eer_rule in ("nearest", "interpolated", "convex-hull", "bucketed(-2,2,10)"):
            with refused(ss.UndefinedMeasureError, f"no {missing} ", "has no value", "both classes"):
                measure(given, frames, eer_rule=eer_rule)
        with pytest.warns(ss.SpoofspanWarning, match=f"no {missing} "):
            measured = measure(given, frames, undefined="nan")
        assert math.isnan(measured.value)
        assert math.isnan(measured.threshold)
        assert math.isnan(measured.gap)
        assert measured.exact_value is None
        assert measured.neighbours == (None, None)
        assert measured.warnings
        assert "nan" in str(measured)
    with refused(ss.UndefinedMeasureError, f"no {missing} "):
        ss.error_curve(given, frames)
    with refused(ss.UndefinedMeasureError):
        ss.bisection_eer(given, frames)
    with refused(ss.UndefinedMeasureError, f"no {missing} "):
        ss.best_possible(given, 0.02)


def test_time_without_any_score_is_undefined():
    with refused(ss.UndefinedMeasureError, "no time lies under any score"):
        ss.range_eer(one(RANGES["u1"]), scores({"u1": []}), uncovered="unanswered")
    with refused(ss.UndefinedMeasureError, "no bona fide time"):
        ss.range_eer(one(RANGES["u1"]), scores({"u1": []}), uncovered="ignore")


def test_rates_that_never_cross_have_a_nearest_point_only():
    given = one([(0.0, 0.5, "bonafide"), (0.5, 2.0, "spoof")])
    half = ss.Scores.from_ranges({"u1": [(0.0, 1.0, 0.5)]}, higher="bonafide")
    # 1 s of 1.5 s of spoof is called bona fide at every threshold, so FNR falls from 1 to 2/3 while FPR rises to 1:
    # x = t, y = 1 - t / 3 meet at 3/4
    with pytest.warns(ss.SpoofspanWarning):
        assert ss.range_eer(given, half, uncovered="bonafide", eer_rule="interpolated").value == 0.75
    late = ss.Scores.from_ranges({"u1": [(1.0, 2.0, 0.5)]}, higher="bonafide")
    # no bona fide time is under a score: FPR stays 0 while FNR falls from 1 to 1/3
    for eer_rule in ("interpolated", "convex-hull"):
        with refused(ss.UndefinedMeasureError, "never cross", "eer_rule='nearest'"):
            ss.range_eer(given, late, uncovered="bonafide", eer_rule=eer_rule)
    with pytest.warns(ss.SpoofspanWarning, match="differ by 33.33 points"):
        assert ss.range_eer(given, late, uncovered="bonafide").value == pytest.approx(1 / 6)


def test_nothing_left_to_measure_is_undefined():
    given = one(RANGES["u1"])
    with refused(ss.UndefinedMeasureError, "no bona fide time"):
        ss.range_eer(given, scores(ONE_SCORE), regions={})
    con = references({"CON_1": [(0.0, 2.0, "bonafide")]}, {"CON_1": 2.0})
    with refused(NothingToMeasureError, "drop-bonafide-CON"):
        ss.range_eer(con, scores({"CON_1": FRAMES["u1"]}), utterances="drop-bonafide-CON")
    nothing = references({"u1": []}, {"u1": 2.0})
    with refused(NothingToMeasureError, "no utterance has any time"):
        ss.range_eer(nothing, scores(ONE_SCORE), extent="last-range-end", overlong="cut")


# ---------------------------------------------------------------- rules, conventions, measures


def test_an_unknown_rule_is_refused_with_the_nearest_name():
    for call in (ss.range_eer, ss.overlay, ss.error_curve, ss.bisection_eer):
        with refused(ss.UsageError, "unknown rule 'gap'", "did you mean 'gaps'?"):
            call(references(), scores(), gap="bonafide")
    with refused(ss.UsageError, "'gap'", "'uncoverd'", "did you mean 'uncovered'?"):
        ss.point_eer(references(), scores(), 0.02, gap="bonafide", uncoverd="hold")
    with refused(ss.UsageError, "unknown rule 'colar'", "did you mean 'collar'?"):
        ss.evaluate(references(), scores(), ["range-eer"], colar=0.1)
    for name, meant in (("confidance", "confidence"), ("replicate", "replicates"), ("gap", "gaps")):
        with refused(ss.UsageError, f"unknown argument {name!r}", f"did you mean {meant!r}?"):
            ss.interval(references(), scores(), **{name: 0.9})
    with refused(ss.UsageError, "unknown rule 'nonspech'", "did you mean 'nonspeech'?"):
        ss.best_possible(references(), 0.02, nonspech="ignore")


@pytest.mark.parametrize(
    ("rule", "value", "meant"),
    [
        ("gaps", "bona-fide", "bonafide"),
        ("extent", "cut-at-durations", "cut-at-duration"),
        ("nonspeech", "ignored", "ignore"),
        ("uncovered", "holding", "hold"),
        ("overlong", "cutt", "cut"),
        ("last_frame", "used", "use"),
        ("overlap", "center", "centre"),
        ("utterances", "al", "all"),
        ("last_point", "rounded", "round"),
        ("label", "anyy", "any"),
        ("label", "majorty", "majority"),
    ],
)
def test_an_unknown_value_of_a_rule_is_refused_with_the_nearest_one(rule, value, meant):
    with refused(ss.UsageError, f"{rule}={value!r}", f"did you mean {meant!r}?", "valid: "):
        ss.range_eer(references(), scores(), **{rule: value})


@pytest.mark.parametrize(
    "wrong",
    [
        {"gaps": None},
        {"gaps": ["bonafide"]},
        {"snap": -0.001},
        {"snap": NAN},
        {"slack": "x"},
        {"slack": INF},
        {"collar": -1},
        {"collar": None},
        {"partial": 1},
        {"partial": "yes"},
        {"label": 0},
        {"label": 1.5},
        {"label": -0.1},
        {"label": NAN},
        {"label": None},
        {"regions": [("u1", 0.0, 1.0)]},
    ],
    ids=str,
)
def test_a_value_that_no_rule_has_is_refused(wrong):
    (name,) = wrong
    with refused(ss.UsageError, name):
        ss.point_eer(references(), scores(), 0.02, **wrong)


def test_regions_are_ranges_of_time():
    for region in ((1.0, 0.5), (-0.5, 0.5), (0.0, NAN)):
        with refused(ss.UsageError, "'u1'"):
            ss.range_eer(references(), scores(), regions={"u1": [region]})


@pytest.mark.parametrize("region", [(0.0, 0.5, 1.0), (0.0,), 0.5, "ab"])
def test_regions_that_are_no_pairs_are_refused(region):
    with refused(ss.UsageError, "'u1'"):
        ss.range_eer(references(), scores(), regions={"u1": [region]})


def test_an_unknown_convention_is_refused():
    with refused(ss.UsageError, "convention='nii2023'", "did you mean 'nii-2023'?", "wedefense"):
        ss.range_eer(references(), scores(), convention="nii2023")
    with refused(ss.UsageError, "convention=None", "valid: "):
        ss.range_eer(references(), scores(), convention=None)
    with refused(ss.UsageError, "convention='partialspoof'", "PartialSpoof's authors are 'nii-2023'"):
        ss.range_eer(references(), scores(), convention="partialspoof")


def test_a_convention_without_the_measure_is_refused():
    with refused(ss.UsageError, "'wedefense' defines no point-based measure", "another convention"):
        ss.point_eer(references(), scores(), 0.02, convention="wedefense")
    with refused(ss.UsageError, "'wedefense' defines no point-based measure"):
        ss.evaluate(references(), scores(), ["range-eer", "point-eer@20ms"], convention="wedefense")


@pytest.mark.parametrize(
    "rule",
    ["nearst", "bucketed", "bucketed()", "bucketed(1,2)", "bucketed(0,1,-5)", "bucketed(0,1,2.5)", "Nearest", 3],
)
def test_an_unknown_eer_rule_is_refused(rule):
    with refused(ss.UsageError, f"eer_rule={rule!r}", "nearest", "bucketed(lo,hi,n)"):
        ss.range_eer(references(), scores(), eer_rule=rule)


@pytest.mark.parametrize("rule", ["bucketed(2,1,10)", "bucketed(0,1,0)", "bucketed(nan,1,10)", "bucketed(0,inf,10)"])
def test_buckets_need_room(rule):
    with refused(ss.UsageError, "lo < hi"):
        ss.range_eer(references(), scores(), eer_rule=rule)


def test_buckets_have_numbers_for_edges():
    with refused(ss.UsageError, "bucketed(low,high,10)"):
        ss.range_eer(references(), scores(), eer_rule="bucketed(low,high,10)")


def test_scores_outside_the_buckets_are_refused():
    with refused(ss.UsageError, "-1 to 1", "0 to 1", "wider buckets"):
        ss.range_eer(references(), scores(), eer_rule="bucketed(0,1,10)")
    infinite = ss.Scores.from_ranges({"u1": [(0.0, 1.0, INF), (1.0, 2.0, 0.0)]}, higher="bonafide")
    for rule in ("bucketed(-9,9,10)", "bucketed(2max,10)"):
        with pytest.raises(ss.UsageError):
            ss.range_eer(one(RANGES["u1"]), infinite, eer_rule=rule)


@pytest.mark.parametrize("resolution", [0, 0.0, -0.02, NAN, INF, "20ms", None, 1e-10])
def test_a_resolution_that_is_no_length_is_refused(resolution):
    for call in (
        lambda: ss.point_eer(references(), scores(), resolution),
        lambda: ss.point_mass(references(), scores(), resolution),
        lambda: scores().resample(resolution),
    ):
        with refused(ss.UsageError, "resolution"):
            call()
    with refused(ss.UsageError, "hop"):
        ss.best_possible(references(), resolution)


def test_measures_have_one_spelling():
    wrong = ["range-err", "point-eer", "range-eer@20ms", "point-eer@0ms", "point-eer@1.2.3ms", "point-eer@20", "eer"]
    with pytest.raises(ss.UsageError) as caught:
        ss.evaluate(references(), scores(), ["range-eer", *wrong])
    for spelling in wrong:
        assert re.search(rf"no measure '{re.escape(spelling)}':", str(caught.value))
    assert "did you mean 'range-eer'?" in str(caught.value)
    result = ss.evaluate(references(), scores(), ["range-eer", "point-eer@20ms", "point-eer@0.04s"])
    assert list(result.measurements) == ["range-eer", "point-eer@20ms", "point-eer@40ms"]
    assert result["point-eer@0.02s"] is result["point-eer@20.0ms"] is result.measurements["point-eer@20ms"]
    with refused(ss.UsageError, "no measure 'point-eer@'"):
        result["point-eer@"]


def test_other_arguments_are_checked_too():
    with refused(ss.UsageError, "undefined='zero'", "'nan'"):
        ss.range_eer(references(), scores(), undefined="zero")
    with refused(ss.UsageError, "quantiles='whole'", "'integer'"):
        ss.bisection_eer(references(), scores(), quantiles="whole")
    for precision in (0, -1, NAN):
        with refused(ss.UsageError, "precision", "positive"):
            ss.bisection_eer(references(), scores(), precision=precision)
    with refused(ss.UsageError, "threshold", "NaN"):
        ss.error_curve(references(), scores()).at(NAN)
    with refused(ss.UsageError, "points, not time"):
        ss.error_curve(references(), scores(), resolution=0.02).at(0.0).seconds()
    with refused(ss.UsageError, "at least one system"):
        ss.resolution_table(references(), {})
    with refused(ss.UsageError, "a hop of 40ms", "one of 20ms"):
        ss.resolution_table(references(), {0.04: scores()})


# ---------------------------------------------------------------- masses


@pytest.mark.parametrize(
    "weights",
    [[1.0, 2.0], [1, -1], [1], [1, 1, 1], [True, False], [[1, 1]], ["1", "1"], 3, [2**70, 1], [NAN, 1.0]],
    ids=str,
)
def test_weights_are_whole_numbers_one_per_utterance(weights):
    for mass in (ss.overlay(references(), scores()), ss.point_mass(references(), scores(), 0.02)):
        with refused(ss.UsageError, "whole numbers from 0 on, one per utterance"):
            mass.reweight(weights)


def test_weights_are_given_for_every_utterance():
    mass = ss.overlay(references(), scores())
    with refused(ss.UsageError, "no weight for 'u2'", "one for every utterance"):
        mass.reweight({"u1": 1})
    with refused(ss.UsageError, "weight", "too large"):
        mass.reweight([2**62, 1])
    with refused(ss.UndefinedMeasureError, "no bona fide time"):
        ss.equal_error_rate(mass.reweight([0, 0]))


def test_only_known_utterances_can_be_selected():
    mass = ss.overlay(references(), scores())
    with refused(ss.UsageError, "no such utterance: 'u7', 'u8'"):
        mass.select(["u1", "u8", "u7"])
    with refused(ss.UsageError, "at least one utterance"):
        mass.select([])


def test_masses_of_different_kinds_do_not_add():
    mass = ss.overlay(references(), scores())
    for other in (
        ss.overlay(references(), scores(higher="spoof")),
        ss.point_mass(references(), scores(), 0.02),
        ss.overlay(references(), scores(), uncovered="hold"),
    ):
        with refused(ss.UsageError, "do not add"):
            mass + other


# ---------------------------------------------------------------- re-sampling


def test_resampling_needs_durations_for_every_utterance():
    with refused(ss.DataError, "utterance 'u2' has no duration", "for every utterance"):
        scores().resample(0.04, durations={"u1": 2.0})
    with refused(ss.UsageError, "no durations", "durations="):
        scores().resample(0.04, durations=references(durations=None))
    with refused(ss.UsageError, "duration of 'u2'"):
        scores().resample(0.04, durations={"u1": 2.0, "u2": NAN})


def test_resampling_refuses_negative_durations_by_name():
    with refused(ss.DataError, "'u2'", "negative"):
        scores().resample(0.04, durations={"u1": 2.0, "u2": -1.0})


def test_resampling_refuses_holes():
    holes = ss.Scores.from_ranges({"u1": [(0.0, 0.1, 0.5), (0.3, 0.4, 0.2)]}, higher="bonafide")
    with refused(ss.DataError, "2 problems", "utterance 'u1' has no score for frame 1", "fill them"):
        holes.resample(0.1)


# ---------------------------------------------------------------- numbers to look at twice


def test_a_wide_gap_is_warned_about():
    given = one([(0.0, 1.0, "bonafide"), (1.0, 2.0, "spoof")])
    few = ss.Scores.from_ranges({"u1": [(0.0, 0.9, 0.9), (0.9, 1.0, 0.1), (1.0, 2.0, 0.1)]}, higher="bonafide")
    with pytest.warns(ss.SpoofspanWarning, match=r"range-eer: FPR and FNR differ by 10.00 points") as caught:
        measured = ss.range_eer(given, few)
    assert "eer_rule='interpolated'" in measured.warnings[0]
    assert measured.gap == pytest.approx(0.1)
    assert caught[0].filename == __file__
    with pytest.warns(ss.SpoofspanWarning, match="point-eer@100ms: FPR and FNR differ"):
        ss.point_eer(given, few, 0.1)


def test_an_eer_over_fifty_percent_is_warned_about_and_nothing_is_flipped():
    given = one(RANGES["u1"])
    with pytest.warns(ss.SpoofspanWarning, match="wrong polarity.*higher='spoof'"):
        measured = ss.range_eer(given, scores(ONE_SCORE, higher="spoof"))
    assert measured.value == 1.0
    assert len(measured.warnings) == 1
    assert "warning: " in str(measured)


def test_a_good_number_has_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        measured = ss.range_eer(one(RANGES["u1"]), scores(ONE_SCORE))
    assert (measured.value, measured.warnings, measured.notes, dict(measured.touched)) == (0.0, (), (), {})


def test_a_point_coarser_than_the_hop_is_noted():
    for resolution, noted in ((0.04, True), (0.02, False), (0.01, False), (0.64, True)):
        measured = ss.point_eer(references(), scores(), resolution, eer_rule="interpolated", uncovered="hold")
        assert bool(measured.notes) == noted
        if noted:
            assert "coarser than the scores' hop of 20ms" in measured.notes[0]
            assert "an easier task, not a better system" in str(measured)
    ranges = ss.Scores.from_ranges({"u1": [(0.0, 1.0, 0.5), (1.0, 2.0, 0.1)]}, higher="bonafide")
    assert ss.point_eer(one(RANGES["u1"]), ranges, 0.1).notes == ()


def test_an_error_of_the_references_comes_before_one_of_the_scores(tmp_path):
    (tmp_path / "ref.rttm").write_text("SPEAKER u1 1 0.0 banana <NA> <NA> spoof <NA> <NA>\n")
    (tmp_path / "unit0.02.score").write_text("u1 0 0.1 banana\n" * 3)
    with pytest.raises(ss.DataError, match=r"ref\.rttm:1"):
        Inputs(str(tmp_path / "ref.rttm"), str(tmp_path / "unit0.02.score")).read()

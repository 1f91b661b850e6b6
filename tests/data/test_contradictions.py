"""Labels that contradict each other up to `snap`: refused, with both lines; the order of lines decides nothing.

What is accepted is compared with a picture in cells of a millisecond, in which the range that starts last wins.
"""

import io
import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import spoofspan as ss
from spoofspan.data.rules import Rules
from spoofspan.mass.labelling import label_references

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")  # few scores have wide gaps
MS = 10**6
SNAP = 2  # ms
LABELS = ("bonafide", "spoof", "nonspeech")
LONGEST = 24  # ms


def rttm(rows):
    """The lines of (utterance, start, end, label), times in ms."""
    return [
        f"SPEAKER {utt} 1 {start / 1000:.3f} {(end - start) / 1000:.3f} <NA> <NA> {label} <NA> <NA>\n"
        for utt, start, end, label in rows
    ]


def csv(rows):
    return [f"{utt},{start / 1000:.3f},{end / 1000:.3f},{label}\n" for utt, start, end, label in rows]


def segments(rows):
    """A line for each utterance, with its ranges in the order given."""
    lines = {}
    for utt, start, end, label in rows:
        lines.setdefault(utt, []).append((f"{start / 1000:.3f}-{end / 1000:.3f}-{label}", label))
    return [
        f"{utt} {LONGEST / 1000} {'spoof' if any(label == 'spoof' for _, label in items) else 'bonafide'} "
        f"{' '.join(item for item, _ in items)}\n"
        for utt, items in lines.items()
    ]


WRITERS = {"rttm": rttm, "csv": csv, "segment-list": segments}


def read(name, lines):
    head = "utterance,start,end,label\n" if name == "csv" else ""
    return ss.read_references(io.BytesIO((head + "".join(lines)).encode()), format=name, snap=SNAP / 1000)


def outcome(name, rows):
    """What comes out: numbers to the last bit and the signature, or the error with lines instead of their numbers."""
    lines = WRITERS[name](rows)
    utterances = sorted({utt for utt, *_ in rows})
    values = np.arange(LONGEST, dtype=np.float64) ** 2 % 7
    scores = ss.Scores.from_frames(dict.fromkeys(utterances, values), hop=0.001, higher="bonafide")
    try:
        references = read(name, lines)
        found = ss.range_eer(references, scores, gaps="bonafide", nonspeech="ignore", overlong="cut", undefined="nan")
        return repr((found.value, found.threshold, found.touched, found.signature))
    except ss.SpoofspanError as error:
        first = 2 if name == "csv" else 1
        # of a segment list the line has another order of ranges; its utterance says enough
        texts = [re.sub(r" \d.*", "", line) for line in lines] if name == "segment-list" else lines
        named = re.sub(r"<stream>:(\d+)", lambda match: texts[int(match[1]) - first].strip(), str(error))
        return type(error).__name__ + "\n".join(sorted(named.splitlines()))


def picture(rows):
    """The label of each millisecond up to the last end, None in a gap; "refused" if the rows contradict each other."""
    rows = sorted({row for row in rows if row[0] < row[1]})
    if any(a[0] == b[0] and a[2] != b[2] for a in rows for b in rows):
        return "refused"
    united = True
    while united:
        united = False
        for a in rows:
            for b in rows:
                other_between = any(a[0] <= c[0] <= b[0] and c[2] != a[2] for c in rows)
                joins = a[0] <= b[0] < a[1] or (b[0] == a[1] and not other_between)
                if a != b and a[2] == b[2] and joins:
                    rows = sorted({*(c for c in rows if c not in (a, b)), (a[0], max(a[1], b[1]), a[2])})
                    united = True
                    break
            if united:
                break
    for a in rows:
        for b in rows:
            if a[2] != b[2] and a[0] <= b[0] < a[1] and (a[0] == b[0] or b[1] < a[1] or a[1] - b[0] > SNAP):
                return "refused"
    cells = []
    for cell in range(max((end for _, end, _ in rows), default=0)):
        over = [row for row in rows if row[0] <= cell < row[1]]
        before = [row for row in rows if row[1] <= cell]
        after = [row for row in rows if row[0] > cell]
        if over:
            cells.append(max(over)[2])  # the one that starts last
        elif not before and after and min(after)[0] <= SNAP:
            cells.append(min(after)[2])
        elif before and after and min(after)[0] - max(row[1] for row in before) <= SNAP:
            cells.append(max(before)[2])
        else:
            cells.append(None)
    return cells


def cells_of(references):
    labelling, _ = label_references(references, Rules(gaps="ignore", nonspeech="ignore", snap=SNAP / 1000))
    edges = np.searchsorted(labelling.ends, np.arange(labelling.extents[0] // MS) * MS, side="right")
    return [{0: "bonafide", 1: "spoof"}.get(int(labelling.labels[run])) for run in edges]


edge = st.integers(0, LONGEST)
ranges = st.tuples(edge, st.integers(0, 6), st.sampled_from(LABELS)).map(
    lambda drawn: (drawn[0], min(drawn[0] + drawn[1], LONGEST), drawn[2])
)
# a chain, each starting where the one before ends but for rounding: most of these are accepted
chains = st.lists(
    st.tuples(st.integers(1, 6), st.integers(-2, 2), st.sampled_from(LABELS[:2])), min_size=2, max_size=6
).map(
    lambda drawn: [
        (start, min(max(start + length + miss, start), LONGEST), label)
        for (length, miss, label), start in zip(
            drawn, np.cumsum([0] + [length for length, _, _ in drawn[:-1]]).tolist(), strict=True
        )
        if start <= LONGEST
    ]
)


@settings(max_examples=80)
@given(st.one_of(st.lists(ranges, min_size=1, max_size=6), chains))
@example([(0, 2, "bonafide"), (0, 2, "spoof")])
@example([(0, 10, "bonafide"), (9, 10, "spoof"), (10, 20, "bonafide")])
@example([(0, 10, "bonafide"), (8, 9, "spoof")])
def test_what_is_accepted_is_as_pictured(rows):
    expected = picture(rows)
    # both classes are named elsewhere, so that the last end is the extent
    others = {"u0": [(0.0, 1.0, "bonafide"), (1.0, 2.0, "spoof")]}
    given_rows = [(start / 1000, end / 1000, label) for start, end, label in rows]
    if expected == "refused":
        with pytest.raises(ss.DataError, match="overlap"):
            ss.References.from_ranges({"u1": given_rows, **others}, snap=SNAP / 1000)
        return
    references = ss.References.from_ranges({"u1": given_rows, **others}, snap=SNAP / 1000)
    assert cells_of(references)[: len(expected)] == [None if one == "nonspeech" else one for one in expected]


@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=20)
@given(data=st.data())
def test_the_order_of_lines_decides_nothing(name, data):
    labels = LABELS[:2] if name == "segment-list" else (*LABELS, "A07", "A08")
    own = st.one_of(
        st.lists(ranges, min_size=1, max_size=5).map(
            lambda rows: [(start, end, labels[(start + end) % len(labels)]) for start, end, _ in rows]
        ),
        chains,
    )
    drawn = {utt: data.draw(own, label=utt) for utt in ("u1", "u2")}
    rows = [(utt, *row) for utt, listed in drawn.items() for row in listed]
    permuted = data.draw(st.permutations(rows), label="permuted")
    assert outcome(name, permuted) == outcome(name, rows)


@pytest.mark.parametrize("label", ["spoof", "A07"])
def test_two_labels_of_one_range_are_refused_with_both_lines(tmp_path, label):
    """The EER was 55.05 or 50 %, as the order of the two lines was."""
    lines = rttm([("u1", 0, 2, "bonafide"), ("u1", 0, 2, label), ("u1", 2, 20, "bonafide")])
    for order in ((0, 1, 2), (1, 0, 2), (2, 1, 0)):
        path = tmp_path / "ref.rttm"
        path.write_text("".join(lines[i] for i in order))
        numbers = [order.index(0) + 1, order.index(1) + 1]
        with pytest.raises(ss.DataError) as caught:
            ss.read_references(path)
        assert str(caught.value).startswith(
            f"{path}:{numbers[0]} and {path}:{numbers[1]}: utterance 'u1': bonafide [0.000 s, 0.002 s) and spoof "
            "[0.000 s, 0.002 s) overlap, one within the other;"
        )


def test_ranges_of_python_are_named_by_their_times():
    rows = [(0.0, 1.0, "bonafide"), (0.998, 0.999, "spoof")]
    for given_rows in (rows, rows[::-1]):
        with pytest.raises(ss.DataError, match=r"'u1': bonafide \[0\.000 s, 1\.000 s\) and spoof \[0\.998 s, 0\.999"):
            ss.References.from_ranges({"u1": given_rows}, snap=0.002)


def test_a_snap_of_the_user_s_decides_how_much_may_be_cut():
    rows = {"u1": [(0.0, 1.0, "bonafide"), (0.96, 2.0, "spoof")]}
    assert len(ss.References.from_ranges(rows, snap=0.04)) == 1
    with pytest.raises(ss.DataError, match="overlap; give"):
        ss.References.from_ranges(rows, snap=0.039)
    within = {"u1": [(0.0, 1.0, "bonafide"), (0.97, 0.99, "spoof")]}
    with pytest.raises(ss.DataError, match="one within the other"):
        ss.References.from_ranges(within, snap=0.04)


def test_a_range_past_the_duration_does_not_vanish():
    rows = {"u1": [(0.0, 1.0, "bonafide"), (1.0, 1.002, "spoof")]}
    scores = ss.Scores.from_frames({"u1": np.zeros(50)}, hop=0.02, higher="bonafide")
    references = ss.References.from_ranges(rows, {"u1": 1.0}, snap=0.002)
    with pytest.raises(ss.DataError, match=r"utterance 'u1': a range ends at 1\.002 s, past the duration of 1\.000 s"):
        ss.range_eer(references, scores)
    inside = ss.References.from_ranges(rows, {"u1": 1.001}, snap=0.002)
    assert ss.range_eer(inside, scores).touched["snap"].utterances == 1


def test_equal_ranges_of_two_attacks_are_signed_alike_in_any_order():
    rows = [(0.0, 1.0, "spoof", "A08"), (0.0, 1.0, "spoof", "A07"), (1.0, 2.0, "bonafide")]
    scores = ss.Scores.from_frames({"u1": np.arange(100.0)}, hop=0.02, higher="bonafide")
    found = {
        repr(ss.range_eer(ss.References.from_ranges({"u1": order}), scores).signature)
        for order in (rows, rows[::-1], [rows[1], rows[2], rows[0]])
    }
    assert len(found) == 1


def test_the_mean_of_equal_score_ranges_has_the_same_bits_in_any_order():
    rows = [(0.0, 1.0, 0.1), (0.0, 1.0, 1e16), (0.0, 1.0, -1e16)]
    references = ss.References.from_ranges({"u1": [(0.0, 0.5, "bonafide"), (0.5, 1.0, "spoof")]})
    found = {
        ss.range_eer(
            references, ss.Scores.from_ranges({"u1": order}, higher="bonafide"), overlap="mean", undefined="nan"
        ).threshold
        for order in (rows, rows[::-1], [rows[1], rows[2], rows[0]])
    }
    assert len(found) == 1


def test_hypotheses_that_start_together_are_refused_in_any_order():
    """The first start was moved to 0 first, and no longer equalled that of the second."""
    lines = rttm([("u1", 1, 2, "bonafide"), ("u1", 1, 2, "spoof"), ("u1", 2, 20, "bonafide")])
    for order in (lines, [lines[1], lines[0], lines[2]]):
        with pytest.raises(
            ss.DataError, match=r"<stream>:[12] and <stream>:[12]: utterance 'u1': .* \[0\.001 s, .* overlap"
        ):
            ss.read_scores(io.BytesIO("".join(order).encode()), format="hypothesis-rttm")


def test_streamed_references_are_refused_with_both_lines(tmp_path):
    (tmp_path / "ref.rttm").write_text("".join(rttm([("u1", 0, 2, "bonafide"), ("u1", 0, 2, "spoof")])))
    (tmp_path / "scores.txt").write_text("u1 0 0.5\nu1 1 0.4\n")
    files = tmp_path / "ref.rttm", tmp_path / "scores.txt"
    with (
        pytest.raises(ss.DataError, match=r"ref\.rttm:1 and .*ref\.rttm:2: utterance 'u1'"),
        ss.sharded(*files, hop=0.02, higher="bonafide"),
    ):
        pass

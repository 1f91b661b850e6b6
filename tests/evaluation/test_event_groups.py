"""Measures of matched events by kind and length: against a count by hand, and against leaving out speakers by hand."""

import json
import random
from fractions import Fraction
from itertools import groupby

import numpy as np
import pytest
from command_line import run_command as run

import spoofspan as ss
from spoofspan.formats.datasets.proposals import write as write_proposals
from spoofspan.formats.tables import parquet

pytestmark = [pytest.mark.quick, pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")]
EDGES = [0, 100, 200, 400, 800, 1600, 10**9]


def drawn(seed, utterances=30):
    """Labels and proposals in ms: (start, end, kind) and (start, end, confidence)."""
    draw = random.Random(seed)
    events, proposals = {}, {}
    for i in range(utterances):
        at, rows, made = 0, [], []
        for _ in range(draw.randint(0, 5)):
            start = at + draw.choice([0, 0, 300]) + draw.choice([0, 250])
            end = start + draw.choice([50, 100, 150, 300, 700, 900, 2000])
            rows.append((start, end, draw.choice(["A01", "A02", "A03"])))
            at = end
            if draw.random() < 0.8:
                shift = draw.choice([-20, 0, 10, 20])
                made.append((max(start + shift, 0), end + draw.choice([-10, 30]), draw.choice([0.1, 0.5, 0.9])))
        events[f"u{i}"], proposals[f"u{i}"] = rows, made
    return events, proposals


def sides(events, proposals):
    references = {file: [(a / 1000, b / 1000, "spoof", kind) for a, b, kind in rows] for file, rows in events.items()}
    found = {file: [(a / 1000, b / 1000, c) for a, b, c in rows] for file, rows in proposals.items()}
    return ss.References.from_ranges(references, dict.fromkeys(events, 30.0)), ss.Proposals.from_ranges(found)


def united(rows):
    """Events with all their kinds; ranges that touch are one."""
    found = []
    for start, end, kind in rows:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], end, [*found[-1][2], kind])
        else:
            found.append((start, end, [kind]))
    return [(start, end, "+".join(kind for kind, _ in groupby(dict.fromkeys(kinds)))) for start, end, kinds in found]


def matches(events, proposals, iou=Fraction(1, 2)):
    """Each event with the start of the proposal that takes it, or None."""
    found = []
    for file, rows in events.items():
        taken, free = {}, united(rows)
        for start, end, _ in sorted(proposals.get(file, ()), key=lambda row: (-row[2], *row[:2])):
            for event in free:
                both = min(end, event[1]) - max(start, event[0])
                if event not in taken and both > 0 and Fraction(both, end - start + event[1] - event[0] - both) >= iou:
                    taken[event] = start
                    break
        found += [(event, taken.get(event)) for event in free]
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("by", ["attack", "length"])
def test_each_group_has_its_own_events_among_all_proposals(by, seed):
    events, proposals = drawn(seed)
    names = ["event-recall@iou=0.5", "event-onset-error@iou=0.5"]
    found = ss.evaluate(*sides(events, proposals), names, by=by)
    all_matches = matches(events, proposals)
    groups = {}
    for event, start in all_matches:
        length = event[1] - event[0]
        name = event[2] if by == "attack" else next(k for k, edge in enumerate(EDGES[1:]) if length < edge)
        groups.setdefault(name, []).append((event, start))
    breakdowns = [found[name].breakdown for name in names]
    recalls, errors = ([one[row, "pooled"].value for row in one.rows] for one in breakdowns)
    expected = [all_matches, *(groups[name] for name in sorted(groups))]
    for recall, error, group in zip(recalls, errors, expected, strict=True):
        starts = [abs(start - event[0]) for event, start in group if start is not None]
        assert recall == pytest.approx(len(starts) / len(group), abs=1e-15)
        assert error == pytest.approx(np.mean(starts) / 1000, abs=1e-12) if starts else np.isnan(error)
    assert found[names[0]].value == recalls[0]
    assert [breakdowns[0][row, "pooled"].spoof for row in breakdowns[0].rows] == [len(one) for one in expected]


@pytest.mark.parametrize("seed", range(4))
def test_groups_by_distance_from_words_have_the_events_counted_by_hand(seed, tmp_path, capsys):
    events, proposals = drawn(seed)
    draw = random.Random(seed)
    words = {}
    for file in sorted(events)[3:]:
        cuts = sorted(draw.sample(range(8000), 40))
        words[file] = list(zip(cuts[::2], cuts[1::2], strict=True))
    bins = {"within 20 ms": 20, "20 to 40 ms": 40, "40 to 80 ms": 80, "80 to 160 ms": 160, "over 160 ms": 10**9}
    groups = {}
    for file in events:
        edges = {edge for row in words.get(file, ()) for edge in row} | {0, 30_000}
        for event, start in matches({file: events[file]}, proposals):
            far = max(min(abs(edge - one) for one in edges) for edge in event[:2])
            name = next(name for name, most in bins.items() if far <= most) if file in words else "no words"
            groups.setdefault(name, []).append(start is not None)
    references, found = sides(events, proposals)
    (tmp_path / "r.parquet").write_bytes(b"".join(parquet.write_references(references)))
    (tmp_path / "p.json").write_bytes(b"".join(write_proposals(found)))
    lines = [f"{f} 1 {a / 1000} {(b - a) / 1000:.3f} w" for f, rows in words.items() for a, b in rows]
    (tmp_path / "a.ctm").write_text("\n".join(lines) + "\n", encoding="utf-8")
    asked = ["eval", tmp_path / "r.parquet", tmp_path / "p.json", "-m", "event-recall", "--by", "boundary"]
    code, printed, said = run([*asked, "--words", tmp_path / "a.ctm", "--format", "json"], capsys)
    assert code == 0, said
    (crossed,) = json.loads(printed)["crossed"]
    expected = {name: np.mean(groups[name]) for name in (*bins, "no words") if name in groups}
    values = [row[0] for row in crossed["values"]]
    assert dict(zip(crossed["rows"], values, strict=True)) == pytest.approx({"pooled": values[0], **expected})


def test_intervals_of_groups_leave_out_speakers():
    events, proposals = drawn(3, 60)
    speakers = {file: f"s{int(file[1:]) // 5}" for file in events}
    how = {"confidence": 0.95, "clusters": {"speaker": speakers}}
    found = ss.evaluate(*sides(events, proposals), "event-recall", by="length", **how)["event-recall"].breakdown
    row = "0.8 to 1.6 s"
    of = [
        (file, start)
        for file in events
        for event, start in matches({file: events[file]}, proposals)
        if 800 <= event[1] - event[0] < 1600
    ]
    who = sorted({speakers[file] for file, _ in of})
    without = np.array([np.mean([hit is not None for file, hit in of if speakers[file] != one]) for one in who])
    names = len(set(speakers.values()))
    values = np.append(without, np.full(names - without.size, np.mean([hit is not None for _, hit in of])))
    error = np.sqrt((names - 1) / names * np.sum((values - values.mean()) ** 2))
    assert found[row, "pooled"].interval.standard_error == pytest.approx(error, rel=0.1)
    assert found[row, "pooled"].interval.low < found[row, "pooled"].value < found[row, "pooled"].interval.high


def test_columns_of_metadata_have_intervals_too():
    events, proposals = drawn(4, 60)
    side = {file: "ab"[int(file[1:]) % 2] for file in events}
    found = ss.evaluate(*sides(events, proposals), "event-f1", by={"half": side}, confidence=0.9)["event-f1"].breakdown
    alone = {file for file in events if side[file] == "a"}
    some = sides({f: events[f] for f in alone}, {f: proposals[f] for f in alone})
    expected = ss.interval(*some, "event-f1", confidence=0.9)
    assert found["a", "pooled"].interval.low == pytest.approx(expected.low)
    assert found["a", "pooled"].value == expected.estimate


def test_the_command_line_groups_events(tmp_path, capsys):
    references, proposals = sides(*drawn(1))
    (tmp_path / "r.parquet").write_bytes(b"".join(parquet.write_references(references)))
    (tmp_path / "p.json").write_bytes(b"".join(write_proposals(proposals)))
    files = ["eval", tmp_path / "r.parquet", tmp_path / "p.json"]
    code, printed, said = run(
        [*files, "-m", "event-recall", "--by", "length", "--by", "attack", "--format", "json"], capsys
    )
    assert code == 0, said
    crossed = json.loads(printed)["crossed"]
    assert [one["by"] for one in crossed] == [["length"], ["attack"]]
    assert sum(row[0] for row in crossed[0]["spoof"][1:]) == crossed[0]["spoof"][0][0]
    for measure, by, text in (
        ("event-f1", "length", "belong to no length; by length there are event-recall"),
        ("event-recall", "boundary", "give these (--words FILE)"),
    ):
        code, _, said = run([*files, "-m", measure, "--by", by], capsys)
        assert (code, text in " ".join(said.split())) == (2, True), said

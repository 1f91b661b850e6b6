"""The ledger: lines that are whole, in order, and never changed; whoever writes them."""

import json
import subprocess
import sys

import pytest
from challenge_cases import clock

import spoofspan as ss
from spoofspan.challenge.definition import as_text, parse_time
from spoofspan.challenge.season import Ledger, public_reason

NOON = clock("2027-01-15 12:00:00")


def append(folder, count=1):
    for _ in range(count):
        with Ledger(folder, NOON).open() as writer:
            entry = writer.append("withdraw", team="älpha", reason="asked", submission=len(writer.entries))
    return entry


def test_lines_come_back_as_they_were_written(tmp_path):
    last = append(tmp_path, 3)
    entries = Ledger(tmp_path).entries()
    assert [one.number for one in entries] == [1, 2, 3]
    assert entries[-1] == last
    assert (last.team, last.reason, last.time, last.about) == (
        "älpha",
        "asked",
        "2027-01-15 12:00:00",
        {"submission": 2},
    )
    assert [json.loads(line)["team"] for line in (tmp_path / "ledger.jsonl").read_text("utf-8").splitlines()] == [
        "älpha"
    ] * 3
    assert sorted(one.name for one in tmp_path.iterdir()) == ["ledger.jsonl"]


@pytest.mark.parametrize("torn", [b'{"number": 4, "ti', b"\xff", b"null"])
def test_a_line_that_was_cut_off_never_happened(torn, tmp_path):
    append(tmp_path, 3)
    before = (tmp_path / "ledger.jsonl").read_bytes()
    (tmp_path / "ledger.jsonl").write_bytes(before + torn)
    assert len(Ledger(tmp_path).entries()) == 3
    append(tmp_path)
    content = (tmp_path / "ledger.jsonl").read_bytes()
    assert content.startswith(before)
    assert content[len(before) :].count(b"\n") == 1
    assert len(Ledger(tmp_path).entries()) == 4


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [lines[0].replace(b"asked", b"cheat"), *lines[1:]],
        lambda lines: lines[1:],
        lambda lines: [lines[0], lines[2]],
        lambda lines: [lines[1], lines[0], lines[2]],
        lambda lines: [b"[]\n", *lines],
        lambda lines: [b"{}\n", *lines],
    ],
)
def test_a_line_that_was_changed_or_removed_is_noticed(change, tmp_path):
    append(tmp_path, 3)
    lines = (tmp_path / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "ledger.jsonl").write_bytes(b"".join(change(lines)))
    with pytest.raises(ss.DataError, match="restore the file from a copy"):
        Ledger(tmp_path).entries()


def test_operators_at_once_lose_no_line(tmp_path):
    program = (
        "import sys; from pathlib import Path; from spoofspan.challenge.season import Ledger\n"
        "for i in range(25):\n"
        "    with Ledger(Path(sys.argv[1])).open() as writer:\n"
        "        writer.append('publish', reason=sys.argv[2])\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name]) for name in ("one", "two")]
    assert [one.wait(60) for one in both] == [0, 0]
    reasons = [one.reason for one in Ledger(tmp_path).entries()]
    assert sorted(reasons) == ["one"] * 25 + ["two"] * 25


def test_times_are_utc():
    assert as_text(parse_time("2027-01-31T23:30-02:00", "--received")) == "2027-02-01 01:30:00"
    assert as_text(parse_time("2027-01-31", "--received")) == "2027-01-31 00:00:00"
    with pytest.raises(ss.UsageError, match="write it in UTC"):
        parse_time("yesterday", "--received")


@pytest.mark.parametrize("reason", ["", "  ", "two\nlines", "x" * 301, "\x1b[1m"])
def test_a_reason_is_one_line(reason):
    with pytest.raises(ss.UsageError, match="the board shows it"):
        public_reason(reason)

"""Text at a terminal: it fits, warnings are folded, and nothing of it reaches a pipe, a file or NO_COLOR."""

import io
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import spoofspan as ss
from spoofspan.base.terminal import Screen, fitted, folded, laid_out_for, screen_of
from spoofspan.evaluation.explain import explain
from spoofspan.formats.datasets.benchmarks import benchmarks
from spoofspan.report.results import benchmark_table
from spoofspan.report.table import Shown, Table

ANSI = re.compile(r"\x1b\[[0-9;]*m")
TABLE = Table(
    ("measure", "EER %", "95 % from", "to", "decision"),
    (("range-eer", "5.21", "4.37", "6.19", "spoof iff score < 0.3872576951980591"),),
    ("", "intervals: jackknife-t by utterance (169 of them), for other utterances; speakers are not considered", "x"),
    "a is better than b (p = 0.017): the true difference lies between -1.95 and -0.19 points",
)


def on(width, emphasis=False, table=TABLE):
    with laid_out_for(Screen(width, emphasis)):
        return table.render("text")


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_lines_fit_and_nothing_is_lost(width):
    text = on(width)
    assert max(map(len, text.splitlines())) <= max(width, len("range-eer  spoof iff score < 0.3872576951980591"))
    words = re.findall(r"[^\s-]+", TABLE.render("text"))
    assert set(words) == set(re.findall(r"[^\s-]+", text))


def test_sixty_columns_are_enough_for_a_table_of_measures():
    assert max(map(len, on(60).splitlines())) <= 60


def test_a_table_that_fits_is_the_one_of_a_pipe():
    plain = TABLE.render("text").splitlines()
    assert on(200).splitlines()[:6] == plain[:6]


def test_emphasis_changes_no_letter():
    coloured = on(80, emphasis=True)
    assert "\x1b[1m" in coloured
    assert ANSI.sub("", coloured) == on(80)
    strong = Table(("a", "b"), (("x", Shown("1", strong=True)),))
    assert "\x1b[1m1" in on(80, emphasis=True, table=strong)


def test_one_long_cell_does_not_push_the_others_off_the_screen():
    facts = Table(
        ("what", "found"), (("utterances", "169"), ("values", "-0.935 to 0.997 (float32, higher = bonafide)" * 2))
    )
    assert "utterances  169" in on(60, table=facts).splitlines()
    assert max(map(len, on(60, table=facts).splitlines())) <= 60


@pytest.mark.parametrize("width", [60, 80])
def test_every_explanation_and_list_fits(width):
    for text in (explain("measures"), explain("rules"), explain("range-eer"), benchmark_table_text(width)):
        lines = fitted(text, Screen(width, False)).splitlines()
        assert [line for line in lines if len(line) > width and len(line.split()) > 2] == []
        assert " ".join(text.split()) == " ".join(" ".join(lines).split())
    assert fitted("x" * 200, None) == "x" * 200


def benchmark_table_text(width):
    return "".join(on(width, table=benchmark_table(one)) for one in benchmarks().values())


def test_signatures_stay_whole():
    signature = "signature " + "range-eer|default|eer:nearest|rules:2|refs:2eebecdc|n:169|scores:52f2cdde|v0.1"
    assert signature in on(60, table=Table(("a",), (("1",),), (signature,))).splitlines()


def test_many_warnings_of_a_kind_are_counted():
    notes = [f"warning: sys-{i}: {i + 1} seeds say little about training" for i in range(7)]
    notes += [
        "warning: leaving out any cluster changes nothing",
        "warning: sys-1: scores have 3 values",
        "lower is better",
    ]
    shown = folded(notes)
    assert shown[:5] == [*notes[:2], *notes[7:]]
    assert shown[5].startswith("warning: 9 warnings of 3 kinds; 5 more like those above")
    assert folded(notes[:2]) == notes[:2]


def test_a_pipe_and_a_file_are_no_screen(monkeypatch):
    assert screen_of(io.StringIO()) is None

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert screen_of(Terminal()) == Screen(60, emphasis=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert screen_of(Terminal()) == Screen(60, emphasis=False)
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert screen_of(Terminal()) == Screen(60, emphasis=False)


@pytest.fixture
def files(tmp_path):
    labels = {f"u{i}": np.repeat([0, 1, 0], 20) for i in range(4)}
    rng = np.random.default_rng(1)
    frames = {name: rng.normal(1 - one) for name, one in labels.items()}
    ss.write_references(ss.References.from_labels(labels, 0.02, spoof_label=1), tmp_path / "ref.parquet")
    ss.write_scores(ss.Scores.from_frames(frames, 0.02, higher="bonafide"), tmp_path / "scores.parquet")
    return [str(tmp_path / "ref.parquet"), str(tmp_path / "scores.parquet")]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of this kind")
def test_a_real_terminal_has_emphasis_and_a_pipe_has_none(files, tmp_path):
    import fcntl
    import pty
    import struct
    import termios

    def typed(*more, **environment):
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        command = [sys.executable, "-m", "spoofspan", "eval", *files, *more]
        clean = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
        done = subprocess.Popen(command, stdout=follower, stderr=follower, env=clean | {"TERM": "xterm"} | environment)
        os.close(follower)
        parts = []
        while True:
            try:
                part = os.read(leader, 4096)
            except OSError:  # Linux says so at the end
                break
            if not part:
                break
            parts.append(part)
        done.wait()
        return b"".join(parts).decode().replace("\r\n", "\n")

    shown = typed()
    assert "\x1b[1m" in shown
    plain = ANSI.sub("", shown)
    lines = [line for line in plain.splitlines() if not line.startswith("signature")]
    assert max(map(len, lines)) <= 60
    assert "\x1b" not in typed(NO_COLOR="1")
    assert "\x1b[1;31merror" in typed("--hop", "1")
    out = tmp_path / "out.txt"
    typed("--out", str(out))
    piped = subprocess.run(
        [sys.executable, "-m", "spoofspan", "eval", *files], capture_output=True, text=True, check=True
    ).stdout
    assert out.read_text(encoding="utf-8") == piped
    assert "\x1b" not in piped

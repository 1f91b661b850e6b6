"""Progress: silent in a library, short in a log, one line on a terminal, and never on stdout."""

import contextlib
import io
import os
import re
import subprocess
import sys
import time

import pytest

import spoofspan as ss
from spoofspan.base import progress
from spoofspan.cli import main
from spoofspan.formats.sources import counted, sources


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def quick(monkeypatch):
    """Everything a hundred times faster; loading rich would take longer than the tasks."""
    import rich.progress  # noqa: F401

    monkeypatch.setattr(progress, "SILENT", 0.01)
    monkeypatch.setattr(progress, "REDRAWN", 0.002)
    monkeypatch.delenv(progress.SWITCH, raising=False)


ESCAPE = re.compile(r"\x1b\[[?0-9;]*[a-zA-Z]")
ERASE = "\x1b[2K"


def lines_on(terminal):
    """What was drawn, one after the other, without colours and bars."""
    drawn = (ESCAPE.sub("", re.sub("[━╸╺]", "", line)) for line in terminal.getvalue().split("\r"))
    return [" ".join(line.split()) for line in drawn if line.strip()]


def screen_of(terminal):
    """What a terminal shows in the end: the line after it was erased for the last time."""
    return ESCAPE.sub("", terminal.getvalue().rpartition(ERASE)[2]).strip()


def work(advance, amount=100, pieces=40):
    for _ in range(pieces):
        advance(amount // pieces)
        time.sleep(0.003)


def test_a_library_says_nothing(capsys):
    with progress.progress("reading", total=10) as advance:
        advance(5)
    assert list(progress.track([1, 2], "measuring")) == [1, 2]
    assert capsys.readouterr() == ("", "")
    assert not progress.is_shown()


def test_a_terminal_shows_share_rate_and_time_left_and_is_clean_in_the_end(quick):
    terminal = Terminal()
    with progress.shown_on(terminal), progress.progress("reading a.txt", total=40_000_000, unit="B") as advance:
        work(advance, 40_000_000)
    lines = lines_on(terminal)
    assert lines
    assert all(line.startswith("reading a.txt") for line in lines)
    shown = r"reading a.txt \d+% [\d.]+/40.0 MB [\d.]+ [MG]B/s 0:00:\d\d left"
    assert any(re.fullmatch(shown, line) for line in lines), lines
    assert "━" in terminal.getvalue()
    assert screen_of(terminal) == ""
    assert terminal.getvalue().count("\x1b[?25h") > terminal.getvalue().count("\x1b[?25l")  # the cursor stays


def test_what_is_short_is_not_shown(monkeypatch):
    monkeypatch.delenv(progress.SWITCH, raising=False)
    terminal = Terminal()
    with progress.shown_on(terminal), progress.progress("reading", total=100) as advance:
        work(advance)
    assert terminal.getvalue() == ""


def test_a_log_gets_few_lines(quick, monkeypatch):
    monkeypatch.setattr(progress, "FIRST_LINE", 0.02)
    log = io.StringIO()
    with progress.shown_on(log), progress.progress("reading", total=100) as advance:
        work(advance)  # at least 0.12 s: lines after 0.02, 0.04 and 0.08 s, and more only if the machine is slow
    lines = log.getvalue().splitlines()
    assert 1 <= len(lines) <= 8
    assert all(re.fullmatch(r"reading +\d+% +\d+/100 +\S+ left", line) for line in lines), lines
    assert "\r" not in log.getvalue()
    assert "\x1b" not in log.getvalue()


def test_one_may_turn_it_off(quick, monkeypatch):
    for how in ("environment", "hide"):
        terminal = Terminal()
        if how == "environment":
            monkeypatch.setenv(progress.SWITCH, "0")
        else:
            monkeypatch.delenv(progress.SWITCH)
        with progress.shown_on(terminal):
            if how == "hide":
                progress.hide()
            with progress.progress("reading", total=100) as advance:
                work(advance)
        assert terminal.getvalue() == ""


def test_the_innermost_task_is_shown_and_each_item_named(quick):
    terminal = Terminal()
    with progress.shown_on(terminal), progress.progress("everything"):
        for _ in progress.track(["range-eer", "utterance-eer"], "measuring"):
            time.sleep(0.05)
        time.sleep(0.05)
    said = " ".join(lines_on(terminal))
    assert "measuring range-eer (1 of 2)" in said
    assert "measuring utterance-eer (2 of 2)" in said
    assert lines_on(terminal)[-1].startswith("everything")


def test_an_error_leaves_a_clean_line(quick):
    terminal = Terminal()

    def fail():
        with progress.shown_on(terminal), progress.progress("reading"):
            time.sleep(0.05)
            raise ss.DataError("the file is damaged")

    with pytest.raises(ss.DataError):
        fail()
    assert lines_on(terminal)
    assert screen_of(terminal) == ""


def test_a_stream_that_is_gone_does_not_stop_the_work(quick):
    terminal = Terminal()
    with progress.shown_on(terminal), progress.progress("reading"):
        terminal.close()
        terminal.isatty = lambda: True
        time.sleep(0.05)


def test_something_else_may_be_printed_on_a_clean_line(quick, monkeypatch):
    terminal = Terminal()
    with progress.shown_on(terminal), progress.progress("reading"):
        time.sleep(0.05)
        assert lines_on(terminal)
        monkeypatch.setattr(progress, "SILENT", 60.0)  # so that it is not drawn again
        progress.wipe()
        time.sleep(0.01)
        assert screen_of(terminal) == ""


def test_rich_is_loaded_when_the_first_bar_shows():
    script = (
        "import io, sys, time; from spoofspan.base import progress\n"
        "progress.SILENT = float(sys.argv[1])\n"
        "terminal = type('Terminal', (io.StringIO,), {'isatty': lambda _: True})()\n"
        "with progress.shown_on(terminal), progress.progress('reading'):\n"
        "    time.sleep(0.3)\n"
        "print('rich' in sys.modules)"
    )
    for silent, loaded in (("60", "False"), ("0.05", "True")):
        found = subprocess.run([sys.executable, "-c", script, silent], check=True, capture_output=True, text=True)
        assert found.stdout.strip() == loaded


def test_advancing_costs_next_to_nothing(quick):
    with progress.shown_on(io.StringIO()), progress.progress("reading", total=10**6) as advance:
        began = time.perf_counter()
        for _ in range(100_000):
            advance(1)
        assert time.perf_counter() - began < 1  # 10 us each, on the slowest of machines


def test_bytes_are_counted_whatever_reads_them(tmp_path, quick):
    paths = [tmp_path / "unit0.02.score", tmp_path / "more" / "unit0.02.score"]
    paths[1].parent.mkdir()
    for number, path in enumerate(paths):
        path.write_text("".join(f"u{number} {k} 0.5 -0.5\n" for k in range(1000)))
    seen = []
    with progress.shown_on(io.StringIO()), counted(sources(paths)) as found:
        (task,) = progress._display.get()._tasks
        assert task.total == sum(path.stat().st_size for path in paths)
        for source in found:
            source.read()
            seen.append(task.done)
        found[0].read()  # again: what was read counts once
        assert task.done == seen[-1] == task.total
    assert seen[0] == paths[0].stat().st_size


def test_counted_files_are_read_the_same(tmp_path, quick):
    scores = ss.Scores.from_frames({"u1": [0.5, -0.5]}, hop=0.02, higher="bonafide")
    from spoofspan.formats.convert import write_converted

    for name in ("s.parquet", "s.jsonl.gz", "s.npz", "x_score_ali_2.pkl"):
        write_converted(scores, str(tmp_path / name))
        told = {} if name.endswith((".parquet", ".pkl")) else {"hop": 0.02, "higher": "bonafide"}
        with progress.shown_on(io.StringIO()):
            assert ss.read_scores(tmp_path / name, **told).values.tolist() == [0.5, -0.5]


def on_a_terminal(command):
    """What a command prints, and what a terminal gets from its stderr."""
    pty = pytest.importorskip("pty", reason="there are no such terminals here")
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True) as process:
        os.close(theirs)
        drawn = b""
        with contextlib.suppress(OSError):  # the terminal is closed
            while piece := os.read(ours, 4096):
                drawn += piece
        printed = process.stdout.read()
    os.close(ours)
    return printed, Terminal(drawn.decode())


@pytest.mark.slow
def test_quiet_and_stdout_of_the_command(tmp_path):
    script = (
        "import sys; from spoofspan.base import progress; progress.SILENT = 0.0; progress.FIRST_LINE = 0.0;"
        "progress.REDRAWN = 0.001; from spoofspan.cli import main; main()"
    )
    ss_demo = [sys.executable, "-c", "from spoofspan.cli import main; main()", "demo", "--out", tmp_path / "d"]
    subprocess.run(ss_demo, check=True, capture_output=True)
    files = [tmp_path / "d" / name for name in ("references.rttm", "unit0.02.score")]
    command = [sys.executable, "-c", script, "eval", *files, "--durations", tmp_path / "d" / "reco2dur"]
    loud = subprocess.run(command, check=True, capture_output=True, text=True)
    quiet = subprocess.run([*command, "--quiet"], check=True, capture_output=True, text=True)
    assert "reading unit0.02.score" in loud.stderr
    assert quiet.stderr == ""
    assert loud.stdout == quiet.stdout
    printed, terminal = on_a_terminal(command)
    assert printed == quiet.stdout
    assert any(line.startswith("reading unit0.02.score") for line in lines_on(terminal))
    assert screen_of(terminal) == ""  # wiped before the results
    printed, terminal = on_a_terminal([*command, "--quiet"])
    assert printed == quiet.stdout
    assert terminal.getvalue() == ""


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("eval {} -m range-eer --by attack", "measuring groups"),
        ("compare {} coarse.parquet --by attack", "comparing 2 systems, comparing groups"),
        ("convert scores.parquet found.rttm --threshold 0.3", "finding ranges, writing found.rttm"),
        ("convert scores.parquet out.csv", "writing out.csv"),
        ("calibrate {} --folds 0", "learning the map"),
    ],
)
def test_long_steps_of_commands_are_told(typed, told, demo, tmp_path, monkeypatch, capsys):
    references, scores = demo
    ss.write_references(references, tmp_path / "references.parquet")
    for name, one in (("scores", scores), ("coarse", scores)):
        ss.write_scores(one, tmp_path / f"{name}.parquet")
    made = []
    task = progress._Task
    monkeypatch.setattr(progress, "_Task", lambda what, *rest: made.append(what) or task(what, *rest))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["spoofspan", *typed.format("references.parquet scores.parquet").split()])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code
    assert [one for one in told.split(", ") if one not in made] == []

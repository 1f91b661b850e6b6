"""Ctrl-C ends a command at once, with exit code 130, without a traceback, and leaves nothing half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import spoofspan as ss

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
# the keyboard interrupts when a module is looked for
INTERRUPTED_AT = """
import os, signal, sys

class Keyboard:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Keyboard())
"""
# a finalizer runs between any two instructions, and what it raises is lost
LOST = """
import os, signal, spoofspan.cli.eval as command

class Finalizer:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)

check = command.o.must_be_free

def interrupted(*arguments, **options):
    Finalizer()
    for _ in range(1_000_000):
        pass
    check(*arguments, **options)

command.o.must_be_free = interrupted
"""
COMMAND = """
from spoofspan.cli import main
if __name__ == "__main__":
    main()
"""
REFERENCES = "utterance,start,end,label,duration\nu1,0,0.08,bonafide,0.16\nu1,0.08,0.16,spoof,0.16\n"
SCORES = "utterance,frame,score\n" + "".join(f"u1,{k},{score}\n" for k, score in enumerate("98763421"))
EVAL = ("eval", "r.csv", "s.csv", "--hop", "0.02", "--higher", "bonafide", "--measure", "range-eer")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "r.csv").write_text(REFERENCES)
    (tmp_path / "s.csv").write_text(SCORES)
    return tmp_path


def begin(folder: Path, *arguments: str, before: str = "", **how: object) -> subprocess.Popen[str]:
    temporary = folder.parent / f"{folder.name} temporary"
    temporary.mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(Path(ss.__file__).parents[1]), "TMPDIR": str(temporary)}
    command = [sys.executable, "-c", before + COMMAND, *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True, **how}
    return subprocess.Popen(command, cwd=folder, env=environment, **pipes)


def assert_interrupted(process: subprocess.Popen[str], folder: Path) -> None:
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, ""), err
    assert not any(word in err for word in ("Traceback", "Exception", "error:")), err
    assert not list(folder.with_name(f"{folder.name} temporary").iterdir())
    assert not (folder / "result.json").exists()
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize(
    "module",
    [
        "click",
        "spoofspan.cli.eval",
        "numpy",
        "numpy._core",
        "numpy.linalg",
        "pyarrow",
        "pyarrow.lib",
        "pyarrow._parquet",
    ],
)
def test_an_interruption_while_packages_are_imported(corpus: Path, module: str) -> None:
    command = EVAL
    if module.startswith("pyarrow"):  # for Parquet alone
        ss.write_scores(ss.read_scores(corpus / "s.csv", hop=0.02, higher="bonafide"), corpus / "s.parquet")
        (corpus / "s.csv").unlink()
        command = (*EVAL[:2], "s.parquet", *EVAL[3:])
    process = begin(corpus, *command, "--out", "result.json", before=INTERRUPTED_AT.format(module=module))
    assert_interrupted(process, corpus)


def test_an_interruption_that_a_finalizer_loses_is_raised_again(corpus: Path) -> None:
    assert_interrupted(begin(corpus, *EVAL, "--out", "result.json", before=LOST), corpus)


@pytest.mark.parametrize("more", [(), ("--stream",), ("--jobs", "2")])
def test_an_interruption_while_scores_are_read(corpus: Path, more: tuple[str, ...]) -> None:
    """They come from a pipe whose other end writes a little, and then waits."""
    (corpus / "s.csv").unlink()
    os.mkfifo(corpus / "s.csv")
    process = begin(corpus, *EVAL, *more, "--out", "result.json")
    with (corpus / "s.csv").open("w") as pipe:  # opened once the command reads
        pipe.write(SCORES)
        pipe.flush()
        time.sleep(0.3)
        os.killpg(process.pid, signal.SIGINT)
        began = time.monotonic()
        assert_interrupted(process, corpus)
    assert time.monotonic() - began < 10


# ---------------------------------------------------------------- closed streams


@pytest.mark.parametrize("more", [(), ("--jobs", "2")])
@pytest.mark.parametrize("stderr", ["closed", "/dev/full", "a pipe without a reader"])
def test_diagnostics_that_are_lost_do_not_lose_the_result(corpus: Path, stderr: str, more: tuple[str, ...]) -> None:
    if stderr == "/dev/full" and not Path(stderr).exists():
        pytest.skip("a file of Linux")
    (corpus / "r.csv").write_text(REFERENCES.replace(",duration", "").replace(",0.16\n", "\n"))  # there is a note
    expected, note = begin(corpus, *EVAL, *more).communicate(timeout=60)
    assert note
    reader, writer = os.pipe()
    os.close(reader)
    lost = os.open(stderr, os.O_WRONLY) if stderr == "/dev/full" else writer
    close = {"preexec_fn": lambda: os.close(2)} if stderr == "closed" else {}
    process = begin(corpus, *EVAL, *more, stderr=lost, **close)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, expected)


def test_an_error_has_its_exit_code_although_nobody_can_read_it(corpus: Path) -> None:
    process = begin(corpus, "eval", "r.csv", stderr=subprocess.DEVNULL, preexec_fn=lambda: os.close(2))
    assert process.communicate(timeout=60)[0] == ""
    assert process.returncode == 2


def test_without_any_stream_a_result_is_a_failure(corpus: Path) -> None:
    streams = {"stdout": None, "stderr": None, "preexec_fn": lambda: os.closerange(0, 3)}
    assert begin(corpus, *EVAL, **streams).wait(60) == 1
    assert begin(corpus, *EVAL, "--out", "result.json", **streams).wait(60) == 0
    assert "range-eer" in (corpus / "result.json").read_text()

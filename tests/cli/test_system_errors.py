"""What the system refuses (a path, a full disk, a closed stdout) is told with what was tried, and where."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

import spoofspan as ss
from spoofspan.base.errors import DataError, UsageError
from spoofspan.formats.text.durations import read_durations
from spoofspan.formats.text.protocol import read_metadata
from spoofspan.formats.writing import write_atomically

posix = pytest.mark.skipif(sys.platform == "win32", reason="a POSIX system's files")
linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux's files")
COMMAND = "from spoofspan.cli import main; main()"
REFERENCES = "utterance,start,end,label,duration\nu1,0,0.08,bonafide,0.16\nu1,0.08,0.16,spoof,0.16\n"
SCORES = "utterance,frame,score\n" + "".join(f"u1,{k},{score}\n" for k, score in enumerate("98763421"))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "r.csv").write_text(REFERENCES)
    (tmp_path / "s.csv").write_text(SCORES)
    return tmp_path


def run(folder: Path, *arguments: str, before: str = "", **how: object) -> subprocess.CompletedProcess[str]:
    """Run the command line, after some other lines."""
    environment = {**os.environ, "PYTHONPATH": str(Path(ss.__file__).parents[1])}
    command = [sys.executable, "-c", f"{before}\n{COMMAND}", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True, check=False, **how)


EVAL = ("eval", "r.csv", "s.csv", "--hop", "0.02", "--higher", "bonafide", "--measure", "range-eer")


# ---------------------------------------------------------------- reading


@linux
@pytest.mark.parametrize(
    "read",
    [
        ss.read_references,
        lambda path: ss.read_references(path, format="csv"),
        lambda path: ss.read_references(path, format="parquet"),
        lambda path: ss.read_scores(path, hop=0.02, higher="spoof"),
        lambda path: ss.read_scores(path, format="npy-dict", hop=0.02, higher="spoof"),
        lambda path: read_metadata(path, "speaker"),
        read_durations,
    ],
)
def test_a_file_that_cannot_be_read_is_not_called_damaged(read) -> None:
    with pytest.raises(DataError, match=r"^/proc/self/mem: cannot be read \(Input/output error\); check the path"):
        read("/proc/self/mem")


def test_a_file_that_ends_early_is_called_damaged(tmp_path: Path) -> None:
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(REFERENCES.encode())[:-6])
    with pytest.raises(DataError, match=r"r\.csv\.gz: the file is truncated or damaged"):
        ss.read_references(tmp_path / "r.csv.gz")


@posix
def test_a_name_that_the_system_refuses_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a{300}: cannot be read \(File name too long\); check the path"):
        ss.read_references(tmp_path / ("a" * 300))


@posix
def test_a_folder_that_must_not_be_entered_is_named(corpus: Path) -> None:
    closed = corpus / "closed" / "r.csv"
    closed.parent.mkdir()
    closed.write_text(REFERENCES)
    closed.parent.chmod(0)
    leave = """
import os, sys, spoofspan
spoofspan.read_references("r.csv")
if os.geteuid() == 0:
    os.seteuid(65534)  # root may enter
try:
    spoofspan.read_references(sys.argv[1])
except spoofspan.DataError as error:
    sys.exit(str(error))
"""
    done = run(corpus, str(closed), before=leave)
    assert done.stderr == f"{closed}: cannot be read (Permission denied); check the path and its rights\n"


# ---------------------------------------------------------------- writing

# no file may grow past some bytes; that is refused as a full disk is, in other words
LITTLE_ROOM = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))"


@posix
def test_a_full_disk_names_the_file(corpus: Path) -> None:
    done = run(corpus, *EVAL, "--format", "json", "--out", "result.json", before=LITTLE_ROOM)
    assert done.returncode == 2
    assert done.stderr == "error: 'result.json' cannot be written (File too large)\n"
    assert sorted(path.name for path in corpus.iterdir() if path.suffix != ".pyc") == ["r.csv", "s.csv"]


@linux
def test_a_device_without_room_is_named() -> None:
    with pytest.raises(UsageError, match=r"^'/dev/full' cannot be written \(No space left on device\)"):
        write_atomically("/dev/full", [b"a"])


@pytest.mark.slow
@posix
def test_a_full_disk_names_the_folder_of_the_shards(corpus: Path) -> None:
    done = run(corpus, *EVAL, "--stream", before=f"{LITTLE_ROOM}; import os; os.environ['TMPDIR'] = {str(corpus)!r}")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {corpus}")
    assert done.stderr.endswith(
        ": shards cannot be kept there (File too large); make room, or set TMPDIR to a folder on another disk\n"
    )


@linux
def test_a_result_that_cannot_be_printed_is_a_failure(corpus: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = run(corpus, *EVAL, stdout=full)
    assert done.returncode == 1
    assert done.stderr == "error: the result cannot be written to stdout (No space left on device)\n"


@posix
@pytest.mark.parametrize("more", [(), ("--format", "json"), ("--out", "result.txt")])
def test_a_result_for_a_closed_stdout_is_a_failure(corpus: Path, more: tuple[str, ...]) -> None:
    done = run(corpus, *EVAL, *more, preexec_fn=lambda: os.close(1))
    if "--out" in more:  # nothing is lost
        assert (done.returncode, done.stderr) == (0, "")
        assert "range-eer" in (corpus / "result.txt").read_text()
    else:
        assert (done.returncode, done.stderr) == (1, "error: the result cannot be written to stdout (it is closed)\n")

"""Two at once do not mix, and what a killed process left behind goes with the next, and no sooner."""

import errno
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import spoofspan as ss
from spoofspan.base import locks
from spoofspan.corpus import building
from spoofspan.corpus.settings import Settings
from spoofspan.formats.writing import write_atomically

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a POSIX signal")

# Programs that say "ready" in the middle of their work, and then wait.
WAIT = "print('ready', flush=True); time.sleep(100)\n"
WRITING = f"""
import sys, time
from spoofspan.formats.writing import write_atomically
def chunks():
    yield b"half" * 100_000
    {WAIT}
write_atomically(sys.argv[1], chunks(), force=True)
"""
SHARDING = f"""
import sys, time
from spoofspan.base.locks import temporary_folder
with temporary_folder() as folder:
    (folder / "shard").write_bytes(b"half")
    {WAIT}
"""
BUILDING = f"""
import sys, time
from spoofspan.corpus import building
from spoofspan.corpus.settings import Settings
def speak(*_):
    {WAIT}
building.write_voices = speak
building.build(sys.argv[1], settings=Settings(utterances=dict(eval=2)))
"""


@contextmanager
def at_work(program, *arguments, **environment):
    """A process in the middle of its work; it is killed when this is left, if not before."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)], stdout=subprocess.PIPE, env=os.environ | environment
    )
    try:
        assert process.stdout.readline() == b"ready\n"
        yield process
    finally:
        process.kill()
        process.communicate(timeout=30)


@pytest.fixture
def impatient(monkeypatch):
    """Nobody waits for workers that are about to end."""
    monkeypatch.setattr(locks, "PATIENCE", 0.1)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# ---------------------------------------------------------------- files


def test_the_second_who_writes_a_file_says_so_and_the_first_is_not_disturbed(tmp_path, impatient):
    target = tmp_path / "out.csv"
    target.write_bytes(b"old")
    with at_work(WRITING, target) as first:
        with pytest.raises(ss.UsageError, match=r"out.csv' is being written by another process; wait until"):
            write_atomically(target, [b"second"], force=True)
        assert first.poll() is None
        assert locks.part_of(target).stat().st_size >= 300_000
        write_atomically(tmp_path / "other.csv", [b"other"])
    assert target.read_bytes() == b"old"
    assert (tmp_path / "other.csv").read_bytes() == b"other"


def test_a_killed_writer_blocks_nobody_and_what_it_left_is_used_up(tmp_path):
    target = tmp_path / "out.csv"
    with at_work(WRITING, target):
        pass
    assert names(tmp_path) == [locks.part_of(target).name]
    began = time.monotonic()
    write_atomically(target, [b"new"])
    assert time.monotonic() - began < locks.PATIENCE
    assert target.read_bytes() == b"new"
    assert names(tmp_path) == ["out.csv"]


def test_the_rights_of_what_was_left_are_not_those_of_the_next(tmp_path):
    one, other = tmp_path / "out.csv", tmp_path / "other.csv"
    one.touch(mode=0o600)
    with at_work(WRITING, one):
        one.unlink()
    for path in (one, other):
        write_atomically(path, [b"new"])
    assert one.stat().st_mode == other.stat().st_mode


def test_two_threads_of_one_process_do_not_mix_either(tmp_path, impatient):
    target = tmp_path / "out.csv"

    def chunks():
        yield b"first"
        with pytest.raises(ss.UsageError, match="is being written"):
            write_atomically(target, [b"second"])

    write_atomically(target, chunks())
    assert target.read_bytes() == b"first"


def test_who_waits_gets_the_file_after_the_first_and_not_its_bytes(tmp_path):
    target = tmp_path / "out.csv"
    slow = WRITING.replace("time.sleep(100)", "time.sleep(0.3)")
    with at_work(slow, target) as first:
        write_atomically(target, [b"second"], force=True)  # it opened what the first one renames meanwhile
        assert first.wait(10) == 0
    assert target.read_bytes() == b"second"
    assert names(tmp_path) == ["out.csv"]


@pytest.mark.skipif(hasattr(os, "getuid") and os.getuid() == 0, reason="rights mean nothing to root")
def test_a_read_only_file_can_be_replaced_after_a_kill(tmp_path):
    target = tmp_path / "out.csv"
    target.write_bytes(b"old")
    target.chmod(0o440)
    with at_work(WRITING, target):
        pass
    write_atomically(target, [b"new"], force=True)
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o440


def test_a_read_only_file_stays_so_and_what_is_left_of_it_can_be_written(tmp_path):
    target = tmp_path / "out.csv"
    target.write_bytes(b"old")
    target.chmod(0o440)
    with at_work(WRITING, target):
        assert locks.part_of(target).stat().st_mode & 0o777 == 0o640
    write_atomically(target, [b"new"], force=True)
    assert target.stat().st_mode & 0o777 == 0o440


def test_names_that_begin_alike_have_parts_of_their_own(tmp_path):
    one, other = (tmp_path / ("n" * 200 + ending) for ending in ("1", "2"))
    assert locks.part_of(one) != locks.part_of(other)
    assert len(os.fsencode(locks.part_of(tmp_path / ("\N{SNOWMAN}" * 85)).name)) < 255


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a fork while there are threads
def test_a_forked_child_keeps_no_lock_and_writes_nothing(tmp_path):
    target = tmp_path / "out.csv"
    with locks.own_file(target, "it") as own:
        own.stream.write(b"waiting in a buffer")
        child = os.fork()
        if child == 0:
            with suppress(BaseException):
                own.stream.flush()
                time.sleep(30)
            os._exit(0)
        own.stream.flush()
    try:
        assert not target.exists()
        with locks.own_file(target, "it", patience=0) as again:  # the child lives, and has nothing of it
            assert again.path.read_bytes() == b""
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_without_locks_in_the_file_system_files_are_written_as_ever(tmp_path, monkeypatch):
    import fcntl

    def flock(*_):  # what Lustre says that was mounted without it
        raise OSError(errno.ENOSYS, "Function not implemented")

    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(locks.tempfile, "tempdir", str(temporary))
    with locks.temporary_folder() as theirs:
        (theirs / "shard").touch()
        monkeypatch.setattr(fcntl, "flock", flock)
        with locks.temporary_folder():
            assert (theirs / "shard").exists()  # nobody can tell whether it is in use
    assert names(temporary) == []
    target = tmp_path / "out.csv"

    def chunks():
        yield b"first"
        write_atomically(target, [b"second"])

    with pytest.raises(ss.UsageError, match="exists"):
        write_atomically(target, chunks())
    assert target.read_bytes() == b"second"
    with locks.own_folder(tmp_path), locks.temporary_folder() as folder:
        (folder / "x").touch()
    assert names(tmp_path) == ["out.csv", "temporary"]


# ---------------------------------------------------------------- temporary folders


def test_shards_of_a_killed_process_go_with_the_next_and_those_of_a_living_one_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(locks.tempfile, "tempdir", str(tmp_path))
    (tmp_path / "spoofspan-notes").mkdir()
    (tmp_path / "spoofspan-notes" / "mine").touch()
    with at_work(SHARDING, TMPDIR=str(tmp_path)):
        pass
    killed = set(names(tmp_path)) - {"spoofspan-notes"}
    assert len(killed) == 1
    with at_work(SHARDING, TMPDIR=str(tmp_path)):
        living = set(names(tmp_path)) - {"spoofspan-notes"}
        assert len(living) == 1
        assert living.isdisjoint(killed)
        with locks.temporary_folder() as ours:
            assert set(names(tmp_path)) == {*living, "spoofspan-notes", ours.parent.name}
        assert set(names(tmp_path)) == {*living, "spoofspan-notes"}
        (shard,) = tmp_path.rglob("shard")
        assert shard.read_bytes() == b"half"


@pytest.mark.parametrize("left", [[], [locks.LOCK]])
def test_an_empty_folder_goes_when_nobody_can_be_about_to_lock_it(left, tmp_path, monkeypatch):
    monkeypatch.setattr(locks.tempfile, "tempdir", str(tmp_path))
    for name, age in (("spoofspan-new", 0), ("spoofspan-old", 2 * locks.NEW)):
        (tmp_path / name).mkdir()
        for one in left:
            (tmp_path / name / one).touch()
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    with locks.temporary_folder():
        pass
    assert names(tmp_path) == ["spoofspan-new"]


# ---------------------------------------------------------------- folders


class BegunError(Exception):
    """A build has checked its folder, and would begin."""


@pytest.fixture
def only_begin(monkeypatch):
    def stop(*_):
        raise BegunError

    monkeypatch.setattr(building, "write_voices", stop)


def test_two_who_build_a_corpus_do_not_mix_and_a_killed_one_is_taken_up(tmp_path, impatient, only_begin):
    out, settings = tmp_path / "corpus", Settings(utterances={"eval": 2})
    with at_work(BUILDING, out), pytest.raises(ss.UsageError, match="corpus' is being written by another process"):
        building.build(out, settings=settings)
    assert names(out) == [locks.LOCK, ".work"]
    with pytest.raises(BegunError):
        building.build(out, settings=settings)
    assert names(out) == [".work"]


def test_a_build_that_was_killed_before_its_first_note_is_taken_up(tmp_path, only_begin):
    out = tmp_path / "corpus"
    (out / ".work").mkdir(parents=True)
    for name in (locks.LOCK, f".work/{locks.part_of(Path('build.json')).name}"):
        (out / name).touch()
    with pytest.raises(BegunError):
        building.build(out, settings=Settings(utterances={"eval": 2}))
    assert names(out / ".work") == ["build.json"]


def test_a_folder_that_is_refused_is_left_as_it_was(tmp_path, impatient):
    (tmp_path / "file").touch()
    with pytest.raises(ss.UsageError, match="is a file"), locks.own_folder(tmp_path / "file"):
        pass
    with pytest.raises(ss.UsageError, match="cannot be made"), locks.own_folder(tmp_path / "file" / "folder"):
        pass
    with locks.own_folder(tmp_path / "new"):
        assert names(tmp_path / "new") == [locks.LOCK]
    assert names(tmp_path) == ["file"]
    with locks.own_folder(tmp_path / "new"):
        (tmp_path / "new" / "result").touch()
    assert names(tmp_path / "new") == ["result"]
    with locks.own_folder(tmp_path), pytest.raises(ss.UsageError, match="is being written"), locks.own_folder(tmp_path):
        pass
    assert names(tmp_path) == ["file", "new"]

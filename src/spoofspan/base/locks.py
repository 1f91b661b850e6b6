"""Locks of the system that show who writes a file or a folder; they end with the process that holds them.

A lock belongs to an open file (``flock``; ``LockFile`` on Windows). A process that was killed holds none, so what it
left behind can be told from what is in use, and it blocks nobody. Ids of processes are not written down: they come
again. Without file locks (some network file systems), everything works except detecting stale files.

The file that is locked is the one that is written, and nothing else is left beside it. The package ``filelock`` locks a
second file and leaves it there: it would stand for :func:`_lock` and half of :func:`_take`, 30 lines.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from spoofspan.base.errors import UsageError

LOCK = ".spoofspan.lock"
PARTS = ".*." + 16 * "[0-9a-f]" + ".part"  # what part_of gives
FOLDERS, WORK = "spoofspan-", "work"
NEW = 60.0  # seconds
PATIENCE = 2.0  # seconds: the workers of a process that was killed end a moment after it
PAUSE = 0.02

_held: set[int] = set()  # descriptors


@dataclass(frozen=True)
class OwnFile:
    """A file that no other process has while it is open."""

    path: Path
    stream: IO[bytes]

    def become(self, target: Path) -> None:
        """Take the place of another file, at once."""
        if os.name == "nt":  # it renames no open file
            self.stream.close()
        self.path.replace(target)

    def is_there(self) -> bool:
        """True if the name still means this file; another process may have removed or renamed it."""
        try:
            return os.path.samestat(os.fstat(self.stream.fileno()), self.path.stat())
        except (FileNotFoundError, ValueError):  # ValueError: it is closed
            return False


@contextmanager
def own_file(path: Path, what: str, patience: float | None = None) -> Iterator[OwnFile]:
    """An empty file of this process alone while this lasts; afterwards it is gone, unless it took another's place.

    One that a killed process left behind is removed. ``what`` is being written, for messages.
    """
    try:
        own = _take(path, PATIENCE if patience is None else patience)
    except OSError as error:
        raise UsageError(f"{what} cannot be written ({error.strerror or error})") from None
    if own is None:
        raise UsageError(f"{what} is being written by another process; wait until it has ended, or choose another name")
    descriptor = own.stream.fileno()
    _held.add(descriptor)
    try:
        yield own
    finally:
        _held.discard(descriptor)
        if os.name == "nt":  # it removes no open file, so nobody's but this one
            with suppress(OSError):
                own.stream.close()
                own.path.unlink(missing_ok=True)
        elif own.is_there():
            own.path.unlink()
        with suppress(OSError):  # a full disk was told when the bytes were written
            own.stream.close()


def _take(path: Path, patience: float) -> OwnFile | None:
    """Open and lock a file; None if another process has it all the time."""
    deadline = time.monotonic() + patience
    while True:
        try:
            own, is_new = OwnFile(path, path.open("xb")), True
        except FileExistsError:  # it is not known yet whose it is, so it keeps its bytes
            own, is_new = OwnFile(path, path.open("ab")), False
        try:
            free = _lock(own.stream)
        except OSError:  # the file system has no locks: a name that nobody else has, then
            own.stream.close()
            path.unlink(missing_ok=True)
            other = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
            return OwnFile(other, other.open("xb"))
        if free and own.is_there():
            if is_new or os.name == "nt":  # Windows removes no open file
                own.stream.truncate(0)
                return own
            path.unlink()  # by whoever holds its lock; its rights may be another file's
        own.stream.close()
        if not free:
            if time.monotonic() >= deadline:
                return None
            time.sleep(PAUSE)


def _lock(stream: IO[bytes]) -> bool:
    """Lock an open file; False if it is locked."""
    try:
        if os.name == "nt":
            import msvcrt

            os.lseek(stream.fileno(), 0, os.SEEK_SET)
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        else:
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _forget() -> None:
    """Let go of the parent's locks after a fork: else they would last as long as the child.

    What the parent has not written yet stays with it: the child's copy goes nowhere.
    """
    for descriptor in _held:
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, descriptor, inheritable=False)
        os.close(nowhere)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def part_of(target: Path) -> Path:
    """Path of a file until it is whole: always the same, so that two who write it meet there.

    >>> part_of(Path("out/scores.csv")).as_posix()
    'out/.scores.csv.a8edeb792edcc115.part'
    """
    same = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]
    return target.with_name(f".{target.name[:40]}.{same}.part")


def remove_parts(paths: Iterable[Path]) -> None:
    """Remove partial files of killed processes; refuse if a process is still writing one."""
    for path in paths:
        with own_file(path, repr(str(path))):
            pass


@contextmanager
def own_folder(folder: Path) -> Iterator[None]:
    """Let no other process that asks for it write into a folder; it is made, and goes if nothing was put into it."""
    made = not folder.exists()
    if not made and not folder.is_dir():
        raise UsageError(f"{str(folder)!r} is a file; give the name of a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{str(folder)!r} cannot be made ({error.strerror or error})") from None
    try:
        with own_file(folder / LOCK, repr(str(folder))):
            remove_parts(folder.glob(PARTS))
            yield
    finally:
        if made:
            with suppress(OSError):  # it has something in it
                folder.rmdir()


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for this process alone (TMPDIR says where), which goes when the work is done.

    What a killed process left there is removed by the next one that comes here.
    """
    _remove_folders(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=FOLDERS))
    try:
        with own_file(folder / LOCK, repr(str(folder))):
            work = folder / WORK
            work.mkdir()
            try:
                yield work
            finally:
                shutil.rmtree(work, ignore_errors=True)
    finally:
        with suppress(OSError):
            folder.rmdir()


@contextmanager
def stored_in(folder: Path) -> Iterator[None]:
    """Turn errors of the system about files in a folder, such as a full disk, into a sentence that names the folder."""
    try:
        yield
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else error
        raise UsageError(
            f"{folder}: shards cannot be kept there ({why}); make room, or set TMPDIR to a folder on another disk"
        ) from None


def _remove_folders(parent: Path) -> None:
    """Remove the folders of processes that are gone, and of no other user."""
    for folder in parent.glob(f"{FOLDERS}*"):
        with suppress(OSError, UsageError):  # in use, or someone else was quicker
            about = folder.lstat()
            mine = about.st_uid == getattr(os, "getuid", lambda: 0)()
            names = {one.name for one in folder.iterdir()}
            # an empty one may be about to be locked
            left = names == {LOCK, WORK} or (names <= {LOCK} and time.time() - about.st_mtime > NEW)
            if mine and left and stat.S_ISDIR(about.st_mode):
                with own_file(folder / LOCK, repr(str(folder)), patience=0) as own:
                    if own.path.name == LOCK:  # else there are no locks here, and it may be in use
                        shutil.rmtree(folder / WORK, ignore_errors=True)
                folder.rmdir()

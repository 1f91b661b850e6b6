"""Writing files: whole or not at all.

Bytes go to a temporary file in the same folder, which takes the place of the target when all is written; whatever
interrupts this leaves the old file as it was and nothing half-written. Its name follows from the target's and it is
locked: a second process that writes the same file says so, and what a killed one left is used up by the next.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from spoofspan.base.errors import UsageError
from spoofspan.base.locks import own_file, part_of
from spoofspan.base.progress import progress
from spoofspan.formats import arrow as pa


def write_atomically(path: str | Path, chunks: Iterable[bytes], force: bool = False) -> None:
    """Write chunks to a file; ``-`` is standard output; a name that ends in .gz or .zst is packed so.

    An existing file is replaced only with ``force``.
    """
    if str(path) == "-":
        for chunk in chunks:
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        return
    try:
        _write(path, chunks, force)
    except OSError as error:  # a full disk, for example
        raise UsageError(f"{str(path)!r} cannot be written ({error.strerror or error})") from None


def _write(path: str | Path, chunks: Iterable[bytes], force: bool) -> None:
    target = Path(path).expanduser()
    if target.exists() and not target.is_file() and not target.is_dir():  # a device or a pipe has no place to take
        with target.open("wb") as stream:
            stream.writelines(chunks)
        return
    target = target.resolve() if target.is_symlink() else target
    check_target(target, force)
    with own_file(part_of(target), repr(str(target))) as own:
        rights = stat.S_IMODE(target.stat().st_mode) if target.is_file() else None
        if rights is not None:  # the next one must be able to use up what this one leaves behind
            own.path.chmod(rights | stat.S_IWUSR)
        with progress(f"writing {target.name}"), _packed(own.stream, target.suffix) as out:
            for chunk in chunks:
                out.write(chunk)
        own.stream.flush()
        os.fsync(own.stream.fileno())
        check_target(target, force)
        own.become(target)
        if rights is not None and not rights & stat.S_IWUSR:
            target.chmod(rights)
    _sync_folder(target.parent)


def check_target(target: Path, force: bool) -> None:
    """Refuse a target that cannot or must not be written; worth knowing before long work."""
    if target.is_dir():
        raise UsageError(f"{str(target)!r} is a folder; give the name of a file")
    if target.is_file() and not force:
        raise UsageError(f"{str(target)!r} exists; choose another name, or give force=True (--force) to replace it")
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {str(target.parent)!r}; create it first")


@contextmanager
def _packed(stream: IO[bytes], suffix: str) -> Iterator[Any]:
    if suffix == ".gz":
        import gzip

        # no name and no time inside, so that equal content gives equal bytes
        with gzip.GzipFile(filename="", fileobj=stream, mode="wb", compresslevel=6, mtime=0) as packed:
            yield cast(IO[bytes], packed)
    elif suffix == ".zst":
        with pa.CompressedOutputStream(pa.PythonFile(_KeptOpen(stream), mode="w"), "zstd") as packed:
            yield packed
    else:
        yield stream


class _KeptOpen(io.RawIOBase):
    """A stream that is not closed with what is written to it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._stream.write(data)


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where the system can."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        with suppress(OSError):  # some network file systems cannot
            os.fsync(descriptor)
        os.close(descriptor)

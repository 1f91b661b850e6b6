"""Pipes: standard input, ``<(zcat scores.gz)``, named pipes. They give their bytes once, and readers look twice.

What comes is kept as it is asked for, so the head that shows the format is given again to the format's reader: the
first ``MEMORY`` bytes in memory, then all in a file without a name (TMPDIR says where), which no kill leaves behind.
Within one command a pipe that is asked for again gives the same bytes; elsewhere, who reads it again reads what comes
then.
"""

from __future__ import annotations

import io
import threading
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, cast

from spoofspan.base.errors import DataError

MEMORY, MOST = 1 << 26, 1 << 36  # bytes
BLOCK = 1 << 18

_known: ContextVar[dict[object, Pipe] | None] = ContextVar("pipes", default=None)


@contextmanager
def remembered() -> Iterator[None]:
    """Let every pipe give its bytes to whoever asks, as long as this lasts."""
    pipes: dict[object, Pipe] = {}
    token = _known.set(pipes)
    try:
        yield
    finally:
        _known.reset(token)
        for pipe in pipes.values():
            pipe.close()


def pipe_of(where: Path | IO[bytes], name: str) -> Pipe:
    """The pipe at a path, or that an open file reads from."""
    pipe, known = Pipe(where, name), _known.get()
    if known is None:
        return pipe
    about = where.stat() if isinstance(where, Path) else None
    return known.setdefault(where if about is None else (about.st_dev, about.st_ino), pipe)


class Pipe:
    """The bytes of a pipe, which is opened when the first are asked for."""

    def __init__(self, where: Path | IO[bytes], name: str) -> None:
        import tempfile

        self._where, self._name = where, name
        self._stream: IO[bytes] | None = None
        self._size, self._ended = 0, False
        self._lock = threading.Lock()  # some readers have a thread of their own
        files = ExitStack()
        self._kept = files.enter_context(tempfile.SpooledTemporaryFile(MEMORY))  # noqa: SIM115 - it is one
        self._files, self.close = files, weakref.finalize(self, files.close)

    def open(self) -> IO[bytes]:
        """Read from the first byte on."""
        return cast(IO[bytes], io.BufferedReader(_Reading(self), BLOCK))

    def read(self, position: int, size: int) -> bytes:
        """At most ``size`` bytes from a position on, as soon as there are any."""
        with self._lock:
            self._await(position + 1)
            self._kept.seek(position)
            return self._kept.read(size)

    def size(self) -> int:
        """Number of bytes in the end."""
        with self._lock:
            self._await(MOST)
            return self._size

    def _await(self, size: int) -> None:
        """Wait until there are ``size`` bytes, or the end."""
        if self._stream is None:
            where = self._where
            self._stream = self._files.enter_context(where.open("rb")) if isinstance(where, Path) else where
        self._kept.seek(0, io.SEEK_END)
        while self._size < size and not self._ended:
            piece = cast(io.BufferedReader, self._stream).read1(BLOCK)
            if self._size + len(piece) > MOST:
                raise DataError(f"{self._name}: more than {MOST >> 30} GiB came; write it to a file, and give that")
            self._keep(piece)
            self._size += len(piece)
            self._ended = not piece

    def _keep(self, piece: bytes) -> None:
        try:
            self._kept.write(piece)
        except OSError as error:
            import tempfile

            raise DataError(
                f"{self._name}: {self._size:,} bytes that came could not be kept in {tempfile.gettempdir()!r} "
                f"({error.strerror or error}); set TMPDIR to a folder with more room, or give a file"
            ) from None


class _Reading(io.RawIOBase):
    """A pipe as a file that can be read from any place."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe, self._position = pipe, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._pipe.read(self._position, len(buffer))
        buffer[: len(found)] = found
        self._position += len(found)
        return len(found)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        starts = {io.SEEK_SET: lambda: 0, io.SEEK_CUR: lambda: self._position, io.SEEK_END: self._pipe.size}
        self._position = max(starts[whence]() + offset, 0)
        return self._position

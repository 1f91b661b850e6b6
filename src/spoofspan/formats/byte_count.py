"""Counting the bytes that are read, for progress: one count for all sources of a corpus, whatever reads them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, cast

from spoofspan.base.progress import Advance, is_shown, progress
from spoofspan.formats.sources import Source


@contextmanager
def counted(found: Sequence[Source]) -> Iterator[Sequence[Source]]:
    """The same sources; while they are read, progress shows how far that is."""
    if not is_shown():
        yield found
        return
    sizes = [_size(source) for source in found]
    what = Path(found[0].name).name if len(found) == 1 else f"{len(found):,} files"
    with progress(f"reading {what}", total=sum(sizes), unit="B") as advance:
        yield [_counted(source, advance) if size else source for source, size in zip(found, sizes, strict=True)]


def _size(source: Source) -> int:
    """How many bytes a file has; 0 for what is no plain file."""
    try:
        return source.path.stat().st_size if source.path is not None and source.path.is_file() else 0
    except OSError:  # opening it will say why
        return 0


def _counted(source: Source, advance: Advance) -> Source:
    read = 0

    def note(amount: int) -> None:
        nonlocal read
        read += amount
        advance(amount)

    def opener() -> IO[bytes]:
        note(-read)  # some readers look twice
        return cast(IO[bytes], io.BufferedReader(_CountedFile(str(source.path), note)))

    return replace(source, opener=opener)


class _CountedFile(io.FileIO):
    """A file that says how much of it was read. It stays a FileIO, so that readers may still map it into memory."""

    def __init__(self, name: str, note: Advance) -> None:
        super().__init__(name, "rb")
        self._note = note

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer)
        self._note(count)
        return count

    def readall(self) -> bytes:
        data = super().readall()
        self._note(len(data))
        return data

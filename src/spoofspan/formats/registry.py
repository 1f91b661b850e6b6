"""The formats by name: how each is recognised, read and written.

A reader turns sources into References or Scores, once; a writer turns them into bytes. Everything else (packing,
folders, standard input, half-written files) is handled outside the formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from spoofspan.errors import DataError, UsageError, nearest_name
from spoofspan.formats.sources import Source
from spoofspan.references import References
from spoofspan.scores import Higher, Scores

T = TypeVar("T", References, Scores)


@dataclass(frozen=True)
class ReadOptions:
    """What a user may have to tell a reader, because the file does not say it."""

    durations: Mapping[str, float] | None = None  # seconds
    hop: float | None = None  # seconds
    higher: Higher | None = None
    column: str | None = None  # which column or class holds the score, where there are several
    snap: float | None = None  # seconds; None: what suits the format


@dataclass(frozen=True)
class Format(Generic[T]):
    """One format of references or of scores."""

    name: str
    about: str  # one line: the grammar, and whose format it is
    read: Callable[[Sequence[Source], ReadOptions], T]
    recognises: Callable[[bytes], bool]  # from the first 64 KiB, unpacked; True only if unambiguous
    write: Callable[[T], Iterable[bytes]] | None = None
    suffixes: tuple[str, ...] = ()  # which files of a folder belong to it
    needs: tuple[str, ...] = field(default=())  # options without which it cannot be read


class Registry(Generic[T]):
    """Formats of one kind, by name."""

    def __init__(self, kind: str, formats: Iterable[Format[T]]) -> None:
        self.kind = kind
        self.formats: dict[str, Format[T]] = {one.name: one for one in formats}

    def named(self, name: str) -> Format[T]:
        """Look up a format by name."""
        if name not in self.formats:
            raise UsageError(f"no {self.kind} format {name!r}: {nearest_name(name, self.formats)}")
        return self.formats[name]

    def recognise(self, source: Source) -> Format[T]:
        """Find the one format whose content this is."""
        head = source.head
        if not head.strip():
            raise DataError(f"{source.name}: the file is empty")
        fits = [one for one in self.formats.values() if one.recognises(head)]
        if len(fits) == 1:
            return fits[0]
        how = f"state it with format= (--{self.kind}-format)"
        if not fits:
            raise DataError(f"{source.name}: no {self.kind} format is recognised; {how}: {', '.join(self.formats)}")
        raise DataError(f"{source.name}: could be {' or '.join(one.name for one in fits)}; {how}")


def text_of(head: bytes) -> str:
    """Decode the first bytes of a text file up to the last whole line; empty if it is no text."""
    whole = head.rpartition(b"\n")[0] if b"\n" in head[:-1] and len(head) >= 1 << 16 else head
    try:
        text = whole.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return "" if "\0" in text else text

"""Containers: kinds of file that hold tables. Each says how its tables are found and written, and nothing more.

What the tables mean, and every check of it, is the same for all: :mod:`reference_tables` and :mod:`score_tables`. The
plainest of them is :mod:`arrow_ipc`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from spoofspan.base.errors import DataError
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.formats import arrow as pa
from spoofspan.formats.format import Format, ReadOptions, T
from spoofspan.formats.line_blocks import native_buffer
from spoofspan.formats.sources import Source
from spoofspan.formats.tables.arrow_tables import REFERENCES, SCORES, Schema, table_from_references, table_from_scores
from spoofspan.formats.tables.table_columns import Part

FromParts = Callable[[Sequence[Part], ReadOptions], T]


@dataclass(frozen=True)
class Container:
    """One kind of file.

    ``parts`` reads the columns of the given names, where the file has them: some rows at a time, for files larger than
    memory, or as fast as it can where all will be held at once (True).
    """

    name: str
    about: str  # completes "columns utterance, start, ..., "
    suffixes: tuple[str, ...]
    recognises: Callable[[bytes, Schema], bool]
    parts: Callable[[Source, Sequence[str], bool], Iterator[Part]]
    write: Callable[[Any], Iterator[bytes]]
    text: bool = False  # without types and metadata: times are seconds
    lists: bool = True  # a cell may hold all scores of an utterance

    @property
    def references(self) -> Format[References]:
        """References in this container, for the registry."""
        return replace(self._format(REFERENCES, _references_from_parts, self.write_references), takes=("spoof_label",))

    @property
    def scores(self) -> Format[Scores]:
        """Scores in this container, for the registry."""
        return self._format(SCORES, _scores_from_parts, self.write_scores)

    def write_references(self, references: References) -> Iterator[bytes]:
        """Write one row per range."""
        return self.write(table_from_references(references, text=self.text))

    def write_scores(self, scores: Scores) -> Iterator[bytes]:
        """Write frames as one list per utterance (where there are lists), ranges as one row each."""
        return self.write(table_from_scores(scores, long=scores.hops is None or not self.lists, text=self.text))

    def _format(self, schema: Schema, from_parts: FromParts[T], write: Callable[[T], Iterator[bytes]]) -> Format[T]:
        grammar = schema.grammar if self.lists else schema.grammar.removesuffix(" or utterance, scores (a list)")

        def columns(options: ReadOptions) -> Sequence[str]:
            return tuple(dict.fromkeys((*schema.columns, options.column or "utterance")))

        def read(sources: Sequence[Source], options: ReadOptions) -> T:
            return from_parts([joined(self.parts(source, columns(options), True)) for source in sources], options)

        def stream(sources: Sequence[Source], options: ReadOptions) -> Iterator[Part]:
            for source in sources:
                yield from self.parts(source, columns(options), False)

        def recognises(head: bytes) -> bool:
            return self.recognises(head, schema)

        return Format(
            self.name, f"{grammar}, {self.about}", read, recognises, write, suffixes=self.suffixes, stream=stream
        )


# What reads tables is imported when there is one: whatever a file is, all formats are asked whether it is theirs.
def _references_from_parts(parts: Sequence[Part], options: ReadOptions) -> References:
    from spoofspan.formats.tables.reference_tables import references_from_parts

    return references_from_parts(parts, options)


def _scores_from_parts(parts: Sequence[Part], options: ReadOptions) -> Scores:
    from spoofspan.formats.tables.score_tables import scores_from_parts

    return scores_from_parts(parts, options)


def joined(pieces: Iterable[Part]) -> Part:
    """All pieces of a file as one part."""
    parts = [replace(piece, rows=None) for piece in pieces]
    if len(parts) == 1:
        return parts[0]
    names = list(dict.fromkeys(name for part in parts for name in part.all_columns))
    line = parts[0].first_line if len({part.first_line for part in parts}) == 1 else None
    table = pa.concat_tables([part.table for part in parts], promote_options="default")
    return replace(parts[0], table=table, first_line=line, all_columns=names)


@contextmanager
def arrow_errors(broken: Callable[[Exception], DataError]) -> Iterator[None]:
    """Turn errors of Arrow about bytes that it cannot read into what ``broken`` makes of them, which names the file."""
    try:
        yield
    except pa.ArrowMemoryError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise broken(error) from None


def random_access(source: Source, *, mapped: bool = True) -> Any:
    """Open a source for reading at any place: a local file itself, by memory map or not, anything else in a buffer.

    Mapped pages are not copied, but count as memory in use.
    """
    if source.path is not None and source.head and not source.is_compressed:
        return pa.memory_map(str(source.path)) if mapped else pa.OSFile(str(source.path), "rb")
    return pa.BufferReader(native_buffer([source.read()]))  # not the bytes themselves: see line_blocks


def in_pieces(
    table: Any, rows: int, writer: Callable[[Any], Any], prepare: Callable[[Any], Any] = lambda piece: piece
) -> Iterator[bytes]:
    """Write an Arrow table, ``rows`` at a time; yield the bytes of each piece when it is done."""
    sink = io.BytesIO()

    def written() -> bytes:
        data = sink.getvalue()
        sink.seek(0)
        sink.truncate()
        return data

    with writer(sink) as out:
        for first in range(0, table.num_rows, rows):
            out.write_table(prepare(table.slice(first, rows)))
            yield written()
    yield written()

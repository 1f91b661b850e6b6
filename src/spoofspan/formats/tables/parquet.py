"""Parquet: the tables of :mod:`spoofspan.formats.tables.tables`, packed with zstd; frames as one list per utterance."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from spoofspan.base.errors import DataError
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.sources import Source
from spoofspan.formats.tables.reference_tables import (
    LABEL_NAMES,
    REFERENCE_COLUMNS,
    REFERENCE_GRAMMAR,
    references_from_parts,
)
from spoofspan.formats.tables.score_tables import SCORE_COLUMNS, SCORE_GRAMMAR, SCORE_NAMES, scores_from_parts
from spoofspan.formats.tables.table_columns import Part
from spoofspan.formats.tables.tables import plain_texts, table_from_references, table_from_scores

VALUES_PER_GROUP = 1 << 20
VALUES_PER_BATCH = 1 << 18


def recognises(head: bytes) -> bool:
    """Whether the bytes begin as a Parquet file does."""
    return head.startswith(b"PAR1")


def random_access(source: Source) -> Any:
    """Open a source for reading at any place: a local file by memory map, anything else from a buffer."""
    import pyarrow as pa

    with source.open() as stream:
        raw = getattr(stream, "raw", None)
        if isinstance(raw, io.FileIO) and isinstance(raw.name, str) and source.head:
            return pa.memory_map(raw.name)
    return pa.BufferReader(pa.py_buffer(source.read()))


def _part(source: Source, names: Sequence[str]) -> Part:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with random_access(source) as opened:
            schema = pq.read_schema(opened)
            found = schema.names
            texts = [one.name for one in schema if one.name == "utterance" and pa.types.is_string(one.type)]
            table = pq.ParquetFile(opened, read_dictionary=texts, page_checksum_verification=True).read(
                [name for name in found if name in names]
            )
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise source.broken(error) from None
    return Part(table, source.name, all_columns=found)


def stream(names: Sequence[str], sources: Sequence[Source], options: ReadOptions) -> Iterator[Part]:
    """Read Parquet files some rows at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for source in sources:
        try:
            with _opened(source) as opened:
                file = pq.ParquetFile(opened, pre_buffer=False, page_checksum_verification=True)
                found = file.schema_arrow.names
                chosen = [name for name in found if name in (*names, options.column)]
                batches = file.iter_batches(_rows_per_batch(file.metadata), columns=chosen, use_threads=False)
                first = 0
                for batch in batches:
                    table = pa.Table.from_batches([batch]).replace_schema_metadata(file.schema_arrow.metadata)
                    yield Part(table, source.name, all_columns=found, rows=np.arange(first, first + table.num_rows))
                    first += table.num_rows
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise source.broken(error) from None


@dataclass(frozen=True)
class RowGroups:
    """Some row groups of a Parquet file, which whoever sees the file can read."""

    path: str
    name: str
    groups: tuple[int, ...]
    first_row: int
    nbytes: int


def row_groups(path: Path, name: str, most: int) -> list[RowGroups]:
    """All row groups of a file, in pieces of about so many bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(name, error) from None
    if not metadata.num_rows:
        raise DataError(f"{name}: the table has no rows; there is nothing to measure")
    pieces: list[RowGroups] = []
    first = row = size = 0
    for group in range(metadata.num_row_groups):
        about = metadata.row_group(group)
        if group > first and size + about.total_byte_size > most:
            pieces.append(RowGroups(str(path), name, tuple(range(first, group)), row, size))
            row += sum(metadata.row_group(one).num_rows for one in range(first, group))
            first, size = group, 0
        size += about.total_byte_size
    pieces.append(RowGroups(str(path), name, tuple(range(first, metadata.num_row_groups)), row, size))
    return pieces


def read_groups(piece: RowGroups, names: Sequence[str]) -> Part:
    """Read the columns of these names of some row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pa.OSFile(piece.path, "rb") as opened:
            file = pq.ParquetFile(opened, page_checksum_verification=True)
            found = file.schema_arrow.names
            chosen = [name for name in found if name in names]
            table = file.read_row_groups(list(piece.groups), columns=chosen, use_threads=False)
            table = table.replace_schema_metadata(file.schema_arrow.metadata)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _unreadable(piece.name, error) from None
    rows = np.arange(piece.first_row, piece.first_row + table.num_rows)
    return Part(table, piece.name, all_columns=found, rows=rows)


def _unreadable(name: str, error: Exception) -> DataError:
    return DataError(f"{name}: cannot be read ({error}); the file must be whole, and visible on every machine")


def _opened(source: Source) -> Any:
    """Open for reading at any place, without a memory map: mapped pages count as memory in use."""
    import pyarrow as pa

    if source.path is not None and source.head.startswith(b"PAR1"):
        return pa.OSFile(str(source.path), "rb")
    return random_access(source)


def _rows_per_batch(metadata: Any) -> int:
    """As many rows as hold about a quarter of a million values, in lists or not."""
    most = max(
        (
            group.column(i).num_values / max(group.num_rows, 1)
            for group in map(metadata.row_group, range(metadata.num_row_groups))
            for i in range(group.num_columns)
        ),
        default=1,
    )
    return max(1, int(VALUES_PER_BATCH / max(most, 1)))


def kind_of(source: Source) -> str | None:
    """Tell from the column names, which stand at a Parquet file's end: "references", "scores", or None (unclear)."""
    names = set(_part(source, ()).column_names)
    labels, scores = bool(LABEL_NAMES & names), bool(SCORE_NAMES & names)
    return None if labels == scores else "references" if labels else "scores"


def read_references(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read references from Parquet files."""
    return references_from_parts([_part(source, REFERENCE_COLUMNS) for source in sources], options)


def read_scores(sources: Sequence[Source], options: ReadOptions) -> Scores:
    """Read scores from Parquet files."""
    names = (*SCORE_COLUMNS, options.column or "score")
    return scores_from_parts([_part(source, names) for source in sources], options)


def write_references(references: References) -> Iterator[bytes]:
    """Write references, one row per range."""
    return _write(table_from_references(references), VALUES_PER_GROUP)


def write_scores(scores: Scores) -> Iterator[bytes]:
    """Write scores: frames as one list per utterance, ranges as one row each."""
    table = table_from_scores(scores, long=scores.hops is None)
    return _write(table, max(1, VALUES_PER_GROUP * table.num_rows // max(1, scores.values.size)))


def _write(table: Any, rows: int) -> Iterator[bytes]:
    import pyarrow.parquet as pq

    # a dictionary of all ids would be written into every row group
    schema = plain_texts(table.slice(0, 0)).schema
    names = [name for name in ("utterance", "label", "kind") if name in table.column_names]

    def writer(sink: Any) -> Any:
        return pq.ParquetWriter(sink, schema, compression="zstd", use_dictionary=names, write_page_checksum=True)

    return in_pieces(table, rows, writer, plain_texts)


def in_pieces(
    table: Any, rows: int, writer: Callable[[Any], Any], prepare: Callable[[Any], Any] = lambda piece: piece
) -> Iterator[bytes]:
    """Write so many rows of a table at a time, yielding the bytes of each piece when it is done."""
    sink = _Sink()
    with writer(sink) as out:
        for first in range(0, table.num_rows, rows):
            out.write_table(prepare(table.slice(first, rows)))
            yield sink.take()
    yield sink.take()


class _Sink(io.RawIOBase):
    """Keeps what is written until it is taken."""

    def __init__(self) -> None:
        self._written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._written += view
        return len(view)

    def take(self) -> bytes:
        taken, self._written = bytes(self._written), bytearray()
        return taken


SUFFIXES = (".parquet", ".pq")
REFERENCE_FORMATS = (
    Format(
        "parquet",
        f"{REFERENCE_GRAMMAR}, in a Parquet file",
        read_references,
        recognises,
        write_references,
        SUFFIXES,
        stream=partial(stream, REFERENCE_COLUMNS),
    ),
)
SCORE_FORMATS = (
    Format(
        "parquet",
        f"{SCORE_GRAMMAR}, in a Parquet file",
        read_scores,
        recognises,
        write_scores,
        SUFFIXES,
        stream=partial(stream, SCORE_COLUMNS),
    ),
)

"""Parquet, packed with zstd."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from spoofspan.base.errors import DataError
from spoofspan.formats import arrow as pa
from spoofspan.formats.column_names import table_names
from spoofspan.formats.recognition import Begins
from spoofspan.formats.sources import MOST_UNPACKED, UNPACKED_ALLOWANCE, Source
from spoofspan.formats.tables.arrow_tables import (
    arrow_errors,
    from_arrow,
    in_pieces,
    plain_texts,
    random_access,
    to_arrow,
)
from spoofspan.formats.tables.containers import Container
from spoofspan.formats.tables.corpus_tables import REFERENCES, SCORES, ColumnTable, Lists, Part

VALUES_PER_GROUP = 1 << 20
VALUES_PER_BATCH = 1 << 18
BYTES_PER_VALUE = 8
# Columns with few words, or with ids that come again: their codes are read, and encoded nowhere else.
TEXTS = ("utterance", "label", "attack")


def _parts(source: Source, names: Sequence[str], whole: bool) -> Iterator[Part]:
    first = 0
    with arrow_errors(source.broken), random_access(source, mapped=whole) as opened:
        # read ahead, a file in pieces would lie in memory whole before its end
        file = pa.parquet.ParquetFile(opened, pre_buffer=whole, page_checksum_verification=True)
        schema = file.schema_arrow
        chosen = [name for name in schema.names if name in names]
        _check_chunks(file, opened.size())
        _refuse_bomb(source.name, file.metadata, opened.size())
        if whole:
            texts = [one.name for one in schema if one.name in TEXTS and pa.types.is_string(one.type)]
            how = {"metadata": file.metadata, "read_dictionary": texts, "page_checksum_verification": True}
            file = pa.parquet.ParquetFile(opened, **how)
            yield _part(file, source.name, file.read(chosen), 0, chosen)
            return
        for batch in file.iter_batches(_rows_per_batch(file.metadata), columns=chosen, use_threads=False):
            yield _part(file, source.name, pa.Table.from_batches([batch]), first, chosen)
            first += batch.num_rows


class _NoBytes(io.RawIOBase):
    """A file of a given size that must not be read."""

    class ReadError(Exception):
        """Somebody wanted its bytes."""

    def __init__(self, size: int) -> None:
        self._size, self._at = size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> Any:
        raise self.ReadError


def _check_chunks(file: Any, size: int) -> None:
    """See that what the file says of its columns can be looked at.

    Where that is damaged, ``row_group(i).column(j)`` ends the whole process: an error of C++ that nobody catches.
    A reader looks at the same, and says so; here it gets no further than to the first byte of a column.
    """
    reader = pa.parquet.ParquetFile(_NoBytes(size), metadata=file.metadata, pre_buffer=False)
    for group in range(file.metadata.num_row_groups):
        for name in file.schema_arrow.names:
            with suppress(_NoBytes.ReadError):
                next(reader.iter_batches(1, row_groups=[group], columns=[name], use_threads=False), None)


def _refuse_bomb(name: str, metadata: Any, size: int) -> None:
    """Refuse a few bytes that stand for far more values than files hold: repeating a value costs nothing there."""
    values = _most_values(metadata)
    if values * BYTES_PER_VALUE > UNPACKED_ALLOWANCE + MOST_UNPACKED * size:
        raise DataError(
            f"{name}: {size:,} bytes for {values:,} values of a column, more than {MOST_UNPACKED} times its size; if "
            "that is right, write the file again without a dictionary (use_dictionary=False, compression=None)"
        )


def _most_values(metadata: Any) -> int:
    """Number of values that the column with the most has."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    return max((sum(group.column(i).num_values for group in groups) for i in range(metadata.num_columns)), default=0)


def _part(file: Any, name: str, table: Any, first: int, chosen: Sequence[str]) -> Part:
    """Some rows of a file, from the given one on."""
    found = from_arrow(table.replace_schema_metadata(file.schema_arrow.metadata), name, chosen)
    return Part(found, name, all_columns=file.schema_arrow.names, rows=np.arange(first, first + found.size))


@dataclass(frozen=True)
class RowGroups:
    """Some row groups of a Parquet file, which whoever sees the file can read."""

    path: str
    name: str
    groups: tuple[int, ...]
    first_row: int
    nbytes: int


def row_groups(path: Path, name: str, most: int) -> list[RowGroups]:
    """All row groups of a file, in pieces of about ``most`` bytes."""
    with arrow_errors(partial(_unreadable, name)):
        metadata = pa.parquet.read_metadata(path)
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
    with arrow_errors(partial(_unreadable, piece.name)), pa.OSFile(piece.path, "rb") as opened:
        file = pa.parquet.ParquetFile(opened, page_checksum_verification=True)
        chosen = [name for name in file.schema_arrow.names if name in names]
        table = file.read_row_groups(list(piece.groups), columns=chosen, use_threads=False)
        return _part(file, piece.name, table, piece.first_row, chosen)


def _unreadable(name: str, error: Exception) -> DataError:
    return DataError(f"{name}: cannot be read ({error}); the file must be whole, and visible on every machine")


def _rows_per_batch(metadata: Any) -> int:
    """As many rows as hold about a quarter of a million values, in lists or not."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    values = [group.column(i).num_values / max(group.num_rows, 1) for group in groups for i in range(group.num_columns)]
    return max(1, int(VALUES_PER_BATCH / max(1, *values)))


def kind_of(source: Source) -> str | None:
    """Tell from the column names, which stand at a Parquet file's end: "references", "scores", or None (unclear)."""
    names = table_names(next(_parts(source, (), True)).column_names)
    references, scores = not REFERENCES.telling.isdisjoint(names), not SCORES.telling.isdisjoint(names)
    return None if references == scores else "references" if references else "scores"


def _write(table: ColumnTable) -> Iterator[bytes]:
    # a dictionary of all ids would be written into every row group
    written = to_arrow(table)
    schema = plain_texts(written.slice(0, 0)).schema
    names = [name for name in TEXTS if name in table.columns]
    lists = table.columns.get("scores")
    values = len(lists.items) if isinstance(lists, Lists) else table.size

    def writer(sink: Any) -> Any:
        return pa.parquet.ParquetWriter(
            sink, schema, compression="zstd", use_dictionary=names, write_page_checksum=True
        )

    return in_pieces(written, max(1, VALUES_PER_GROUP * table.size // max(1, values)), writer, plain_texts)


PARQUET = Container(
    "parquet",
    "in a Parquet file",
    (".parquet", ".pq"),
    Begins(b"PAR1"),
    lambda head, schema: True,  # the columns stand at the end
    _parts,
    _write,
)
write_references, write_scores = PARQUET.write_references, PARQUET.write_scores

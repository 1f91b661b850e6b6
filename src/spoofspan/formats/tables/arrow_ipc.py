"""Arrow IPC, file or stream; files are mapped into memory and read without a copy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from spoofspan.formats import arrow as pa
from spoofspan.formats.sources import Source
from spoofspan.formats.tables.arrow_tables import Schema
from spoofspan.formats.tables.containers import Container, damage_told, in_pieces, random_access
from spoofspan.formats.tables.table_columns import Part

FILE, STREAM = b"ARROW1", b"\xff\xff\xff\xff"
BYTES_PER_PIECE = 1 << 22


def _recognises(head: bytes, schema: Schema) -> bool:
    """Whether this is Arrow with columns that fit, or with a schema too long to tell."""
    if not head.startswith((FILE, STREAM)):
        return False
    try:
        # a file is its magic, padded to 8 bytes, and then a stream
        return schema.fits(pa.ipc.open_stream(head[8:] if head.startswith(FILE) else head).schema.names)
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return True


def _parts(source: Source, names: Sequence[str], whole: bool) -> Iterator[Part]:
    is_file, first = source.head.startswith(FILE), 0
    with damage_told(source.broken):
        opened = random_access(source)
        reader = pa.ipc.open_file(opened) if is_file else pa.ipc.open_stream(opened)
        found = reader.schema.names  # names that are no text fail here
        if whole:
            yield Part(reader.read_all(), source.name, all_columns=found)
            return
        for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader:
            rows = max(1, BYTES_PER_PIECE * batch.num_rows // max(batch.nbytes, 1))
            for start in range(0, batch.num_rows, rows):
                table = pa.Table.from_batches([batch.slice(start, rows)])
                yield Part(table, source.name, rows=np.arange(first, first + table.num_rows))
                first += table.num_rows


def _write(table: Any) -> Iterator[bytes]:
    # one batch, so that a reader needs no copy to have the scores in one piece
    return in_pieces(table, max(1, table.num_rows), lambda sink: pa.ipc.new_file(sink, table.schema))


ARROW = Container(
    "arrow", "in an Arrow IPC file or stream", (".arrow", ".feather", ".ipc", ".arrows"), _recognises, _parts, _write
)

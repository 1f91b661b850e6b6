"""Arrow: the tables of :mod:`spoofspan.formats.tables.tables` as Arrow IPC, file or stream; read without a copy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.sources import Source
from spoofspan.formats.tables.parquet import in_pieces, random_access
from spoofspan.formats.tables.reference_tables import LABEL_NAMES, REFERENCE_GRAMMAR, references_from_parts
from spoofspan.formats.tables.score_tables import SCORE_GRAMMAR, SCORE_NAMES, scores_from_parts
from spoofspan.formats.tables.table_columns import Part
from spoofspan.formats.tables.tables import table_from_references, table_from_scores

FILE, STREAM = b"ARROW1", b"\xff\xff\xff\xff"
BYTES_PER_PIECE = 1 << 22


def recognises(head: bytes) -> bool:
    """Whether the bytes begin as an Arrow file or stream does."""
    return head.startswith((FILE, STREAM))


def _recognises_with(head: bytes, telling: frozenset[str]) -> bool:
    """Whether this is Arrow with one of these columns, or with a schema too long to tell."""
    import pyarrow as pa

    if not recognises(head):
        return False
    try:
        # a file is its magic, padded to 8 bytes, and then a stream
        names = pa.ipc.open_stream(head[8:] if head.startswith(FILE) else head).schema.names
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return True
    return bool(telling & set(names)) or not (LABEL_NAMES | SCORE_NAMES) & set(names)


def _part(source: Source) -> Part:
    import pyarrow as pa

    try:
        opened = random_access(source)
        reader = pa.ipc.open_file(opened) if source.head.startswith(FILE) else pa.ipc.open_stream(opened)
        table = reader.read_all()
        return Part(table, source.name, all_columns=table.column_names)  # names that are no text fail here
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise source.broken(error) from None


def read_references(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read references from Arrow files."""
    return references_from_parts([_part(source) for source in sources], options)


def read_scores(sources: Sequence[Source], options: ReadOptions) -> Scores:
    """Read scores from Arrow files."""
    return scores_from_parts([_part(source) for source in sources], options)


def stream(sources: Sequence[Source], options: ReadOptions) -> Iterator[Part]:
    """Read Arrow files some rows at a time; one that is mapped into memory is not copied."""
    import pyarrow as pa

    for source in sources:
        first = 0
        try:
            for batch in _batches(source):
                rows = max(1, BYTES_PER_PIECE * batch.num_rows // max(batch.nbytes, 1))
                for start in range(0, batch.num_rows, rows):
                    table = pa.Table.from_batches([batch.slice(start, rows)])
                    yield Part(table, source.name, rows=np.arange(first, first + table.num_rows))
                    first += table.num_rows
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise source.broken(error) from None


def _batches(source: Source) -> Iterator[Any]:
    import pyarrow as pa

    opened = random_access(source)
    if source.head.startswith(FILE):
        file = pa.ipc.open_file(opened)
        yield from map(file.get_batch, range(file.num_record_batches))
    else:
        yield from pa.ipc.open_stream(opened)


def write_references(references: References) -> Iterator[bytes]:
    """Write references, one row per range."""
    return _write(table_from_references(references))


def write_scores(scores: Scores) -> Iterator[bytes]:
    """Write scores: frames as one list per utterance, ranges as one row each."""
    return _write(table_from_scores(scores, long=scores.hops is None))


def _write(table: Any) -> Iterator[bytes]:
    import pyarrow as pa

    # one batch, so that a reader needs no copy to have the scores in one piece
    return in_pieces(table, max(1, table.num_rows), lambda sink: pa.ipc.new_file(sink, table.schema))


SUFFIXES = (".arrow", ".feather", ".ipc", ".arrows")
REFERENCE_FORMATS = (
    Format(
        "arrow",
        f"{REFERENCE_GRAMMAR}, in an Arrow IPC file or stream",
        read_references,
        lambda head: _recognises_with(head, LABEL_NAMES),
        write_references,
        SUFFIXES,
        stream=stream,
    ),
)
SCORE_FORMATS = (
    Format(
        "arrow",
        f"{SCORE_GRAMMAR}, in an Arrow IPC file or stream",
        read_scores,
        lambda head: _recognises_with(head, SCORE_NAMES),
        write_scores,
        SUFFIXES,
        stream=stream,
    ),
)

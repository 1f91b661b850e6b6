"""Arrow IPC, file or stream: files are mapped into memory and read without a copy."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from spoofspan.base.errors import DataError
from spoofspan.formats import arrow as pa
from spoofspan.formats.recognition import Begins
from spoofspan.formats.sources import MOST_UNPACKED, UNPACKED_ALLOWANCE, Source
from spoofspan.formats.tables.arrow_tables import arrow_errors, from_arrow, in_pieces, random_access, to_arrow
from spoofspan.formats.tables.containers import Container
from spoofspan.formats.tables.corpus_tables import ColumnTable, Part, Schema

FILE, STREAM = b"ARROW1", b"\xff\xff\xff\xff"
END = STREAM + bytes(4)  # of the messages
BYTES_PER_PIECE = 1 << 22
DICTIONARY_BATCH = 2  # among the kinds of messages


def _holds(head: bytes, schema: Schema) -> bool:
    """True if the columns fit, or with a schema too long to tell."""
    try:
        # a file is its magic, padded to 8 bytes, and then a stream
        return schema.fits(pa.ipc.open_stream(head[8:] if head.startswith(FILE) else head).schema.names)
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return True


def _parts(source: Source, names: Sequence[str], whole: bool) -> Iterator[Part]:
    is_file, first = source.head.startswith(FILE), 0
    with arrow_errors(source.broken):
        opened = random_access(source)
        _check_messages(source, opened, is_file)
        reader = pa.ipc.open_file(opened) if is_file else pa.ipc.open_stream(opened)
        found = reader.schema.names  # names that are no text fail here
        if whole:
            yield Part(from_arrow(reader.read_all(), source.name, names), source.name, all_columns=found)
            return
        for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader:
            rows = max(1, BYTES_PER_PIECE * batch.num_rows // max(batch.nbytes, 1))
            for start in range(0, batch.num_rows, rows):
                table = from_arrow(pa.Table.from_batches([batch.slice(start, rows)]), source.name, names)
                yield Part(table, source.name, all_columns=found, rows=np.arange(first, first + table.size))
                first += table.size


def _check_messages(source: Source, opened: Any, is_file: bool) -> None:
    """Refuse a file whose messages do not tile it, or unpack to far more than they are.

    Bytes that were inserted or removed shift the numbers after them.

    A file is its magic, padded to 8 bytes, a stream, the footer, its length in 4 bytes, and the magic again. A stream
    is messages, one after the other, and the mark of their end, which some writers leave out.
    """
    end = opened.size()
    if is_file:
        end -= 4 + len(FILE)
        end -= int.from_bytes(_bytes_at(opened, end, 4), "little")
    position, unpacked = 8 if is_file else 0, 0
    messages = pa.ipc.MessageReader.open_stream(opened)
    # Arrow takes messages of before 0.15 too, without the mark; among others such a one is the rest of a damaged one
    marked = _bytes_at(opened, position, len(STREAM)) == STREAM
    with suppress(StopIteration):
        while position < end and (_bytes_at(opened, position, len(STREAM)) == STREAM) == marked:
            opened.seek(position)
            message = messages.read_next_message()
            position = opened.tell()
            if message.body:  # a schema has none
                try:
                    unpacked += unpacked_bytes(message.metadata, message.body)
                except (struct.error, ValueError, IndexError):  # offsets that lead out of the message
                    raise source.broken(ValueError("the description of its buffers is damaged")) from None
    # where nothing follows the last message, its own last bytes must not be the mark: they would have been pulled in
    ends = (len(END),) if _bytes_at(opened, end - len(END), len(END)) == END else (0,) if marked else (0, 4)
    opened.seek(0)
    if end - position not in ends:
        raise DataError(f"{source.name}: bytes were inserted or removed in the file; get it again")
    if unpacked > UNPACKED_ALLOWANCE + MOST_UNPACKED * end:
        raise DataError(
            f"{source.name}: its {end:,} bytes unpack to more than {MOST_UNPACKED} times as many; if that is right, "
            "write the file without compression"
        )


def unpacked_bytes(metadata: Any, body: Any) -> int:
    """Number of bytes that the packed buffers of a message say that they unpack to; Arrow would make room for them.

    A message is a flatbuffer (Message.fbs and Schema.fbs of Arrow's format). A packed buffer begins with the length of
    what is in it, or with -1 if that is not packed.
    """
    message = _Record.root(memoryview(metadata))
    batch = message.record(2)
    if message.data[message.at(1)] == DICTIONARY_BATCH:
        batch = batch.record(1)
    if not batch.has(3):  # a compression
        return 0
    start, count = batch.vector(2)
    buffers = np.frombuffer(batch.data, "<i8", 2 * count, start).reshape(-1, 2)  # where, and how many bytes
    stated = [
        int.from_bytes(body[at : at + 8].to_pybytes(), "little", signed=True) for at, size in buffers if size >= 8
    ]
    return sum(max(one, 0) for one in stated)


@dataclass(frozen=True)
class _Record:
    """A table of a flatbuffer: what is stored of each field, found by its number in the schema."""

    data: memoryview
    start: int

    @classmethod
    def root(cls, data: memoryview) -> _Record:
        return cls(data, _integer("<I", data, 0))

    def has(self, field: int) -> bool:
        return self.at(field) != self.start

    def at(self, field: int) -> int:
        """Location of a field; at the start of the record if it is left out."""
        offsets = self.start - _integer("<i", self.data, self.start)
        entry = 4 + 2 * field
        return self.start + (
            _integer("<H", self.data, offsets + entry) if entry < _integer("<H", self.data, offsets) else 0
        )

    def record(self, field: int) -> _Record:
        return _Record(self.data, self.at(field) + _integer("<I", self.data, self.at(field)))

    def vector(self, field: int) -> tuple[int, int]:
        """Location of the items of a vector, and how many."""
        start = self.at(field) + _integer("<I", self.data, self.at(field))
        return start + 4, _integer("<I", self.data, start)


def _integer(kind: str, data: memoryview, at: int) -> int:
    return struct.unpack_from(kind, data, at)[0]  # type: ignore[no-any-return]


def _bytes_at(opened: Any, position: int, count: int) -> bytes:
    opened.seek(position)
    return opened.read(count)  # type: ignore[no-any-return]


def _write(table: ColumnTable) -> Iterator[bytes]:
    # one batch, so that a reader needs no copy to have the scores in one piece
    written = to_arrow(table)
    return in_pieces(written, max(1, table.size), lambda sink: pa.ipc.new_file(sink, written.schema))


ARROW = Container(
    "arrow",
    "in an Arrow IPC file or stream",
    (".arrow", ".feather", ".ipc", ".arrows"),
    Begins(FILE + b"|" + STREAM),
    _holds,
    _parts,
    _write,
)

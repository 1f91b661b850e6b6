"""Blocks of whole lines from any source, as memory of Arrow's own.

Arrow's readers get these blocks instead of an open Python file: a worker of Arrow that drops the last reference to a
Python object while the interpreter ends aborts the process (apache/arrow#34314).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from spoofspan.base.errors import DataError
from spoofspan.formats.sources import Source

if TYPE_CHECKING:
    import pyarrow as pa

BOM = b"\xef\xbb\xbf"
MOST_BYTES_PER_LINE = 1 << 26


def line_blocks(source: Source, size: int) -> Iterator[pa.Buffer]:
    """Yield the unpacked bytes of a source in blocks of about ``size`` bytes that end where a line ends.

    The last block ends where the source does. Only LF ends a line here: where a cell of a CSV file has one inside
    quotes, the next block may begin in the middle of the cell.
    """
    begun: list[bytes] = []  # of a line that has no end yet
    length = done = 0
    try:
        with source.open() as stream:
            while piece := stream.read(size):
                end = piece.rfind(b"\n") + 1
                if length + (piece.find(b"\n") if end else len(piece)) > MOST_BYTES_PER_LINE:
                    raise DataError(
                        f"{source.name}:{_line_at(source, done)}: the line is longer than "
                        f"{MOST_BYTES_PER_LINE >> 20} MiB; is this a text file? Give each row a line of its own"
                    )
                whole, piece, block = memoryview(piece)[:end], piece[end:], None
                if end:
                    block = _block([*begun, whole], inside=done > 0)
                    done += length + end
                    begun, length = [], 0
                if piece:
                    begun.append(piece)
                    length += len(piece)
                del whole, piece  # or else they would stay in memory for as long as the block is in use
                if block is not None:
                    yield block
    except (OSError, EOFError, zlib.error) as error:
        raise source.broken(error) from None
    if begun:
        yield _block(begun, inside=done > 0)


def native_buffer(pieces: Sequence[Any]) -> pa.Buffer:
    """Join bytes, or buffers, in memory of Arrow's own."""
    import pyarrow as pa

    buffer = pa.allocate_buffer(sum(map(len, pieces)))
    with pa.FixedSizeBufferWriter(buffer) as writer:
        for piece in pieces:
            writer.write(piece)
    return buffer


def refuse_empty(source: Source) -> None:
    """Refuse a text file that is blank."""
    if not source.head.removeprefix(BOM).strip() and not source.read().removeprefix(BOM).strip():
        raise DataError(f"{source.name}: the file is empty")


def _block(pieces: list[Any], *, inside: bool) -> pa.Buffer:
    """Join pieces. Arrow drops a byte order mark at the start of a block; inside a file it is text, so it gets two."""
    starts_so = b"".join(piece[:3] for piece in pieces[:3]).startswith(BOM)
    return native_buffer([BOM, *pieces] if inside and starts_so else pieces)


def _line_at(source: Source, position: int) -> int:
    """The number of the line that begins at a position."""
    line, step = 1, 1 << 20
    with source.open() as stream:
        while position > 0 and (piece := stream.read(min(position, step))):
            line += piece.count(b"\n")
            position -= len(piece)
    return line

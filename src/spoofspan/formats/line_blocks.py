"""Lines of text as Arrow's readers get them: blocks of whole lines from any source, and plain text as columns at once.

Arrow's readers get these blocks instead of an open Python file: a worker of Arrow that drops the last reference to a
Python object while the interpreter ends aborts the process (apache/arrow#34314).
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from spoofspan.base.errors import DataError
from spoofspan.base.threads import ALL_CORES, in_order
from spoofspan.formats import arrow as pa
from spoofspan.formats.sources import MOST_BYTES_PER_LINE, Source

BOM = codecs.BOM_UTF8
BLOCK_BYTES = 1 << 19
CACHE_LINE = 64
# what Python takes for white space in text, and not in bytes; quotes are for the reader of lines to judge
UNUSUAL = b'\0\v\f\x1c\x1d\x1e\x1f"'


def line_blocks(source: Source, size: int) -> Iterator[Any]:
    """Yield the unpacked bytes of a source in blocks of about ``size`` bytes that end where a line ends.

    The last block ends where the source does. Only LF ends a line here: where a cell of a CSV file has one inside
    quotes, the next block may begin in the middle of the cell.
    """
    carried = b""  # of a line that has no end yet
    done = 0
    with source.read_errors(), source.open() as stream:
        while True:
            # straight into memory of Arrow's own: bytes that are copied into it take a tenth longer to parse; to
            # an address that is no multiple of a cache line the system copies five times as slowly
            begin = -(-len(carried) // CACHE_LINE) * CACHE_LINE
            first = begin - len(carried)
            buffer = pa.allocate_buffer(begin + size)
            with memoryview(buffer).cast("B") as memory:
                memory[first:begin] = carried
                filled = begin + cast(io.BufferedReader, stream).readinto(memory[begin:])
                if filled == begin:
                    break
                length = _last_line_end(memory[begin:filled])  # what was carried has none
                length += len(carried) if length else 0
                if filled - first > MOST_BYTES_PER_LINE:
                    line = re.search(b"\n", memory[first:filled])
                    if (filled - first if line is None else line.start()) > MOST_BYTES_PER_LINE:
                        raise source.line_too_long(_line_at(source, done), MOST_BYTES_PER_LINE)
                carried = bytes(memory[first + length : filled])
            block = _whole(buffer.slice(first, length), inside=done > 0) if length else None
            del buffer  # or else two would be in memory at once
            if block is not None:
                done += length
                yield block
                del block
    if carried:
        yield _whole(native_buffer([carried]), inside=done > 0)


def _last_line_end(memory: memoryview) -> int:
    """Offset after the last newline, or 0."""
    end, step = len(memory), 1 << 10
    while end:  # from the back, a copy of one step at a time
        begin = max(end - step, 0)
        found = bytes(memory[begin:end]).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end, step = begin, 1 << 20
    return 0


def native_buffer(pieces: Sequence[Any]) -> Any:
    """Join bytes, or buffers, in memory of Arrow's own."""
    buffer = pa.allocate_buffer(sum(map(len, pieces)))
    with pa.FixedSizeBufferWriter(buffer) as writer:
        for piece in pieces:
            writer.write(piece)
    return buffer


def plain_table(source: Source, widths: Sequence[int], types: Mapping[int, Any]) -> Any:
    """Some columns of a text, named by their index; None if it is not plain, or its lines are of other widths.

    The quick way into files of hundreds of thousands of lines. It only ever says yes to plain ASCII in which nothing is
    unusual; whatever it declines is read line by line, where every problem gets its place.
    """
    width = len(source.head.split(b"\n", 1)[0].split())
    if width not in widths:
        return None
    parsing = pa.csv.ParseOptions(delimiter=" ", quote_char=False)
    named = {str(i): kind for i, kind in types.items()}
    conversion = pa.csv.ConvertOptions(column_types=named, include_columns=list(named), null_values=[])

    def parsed(block: Any) -> Any:
        data = _single_spaces(block.to_pybytes())
        if data is None:
            return None
        names = [str(i) for i in range(width)]
        reading = pa.csv.ReadOptions(use_threads=False, block_size=data.size + 1, column_names=names)
        return pa.csv.read_csv(pa.BufferReader(native_buffer([data])), reading, parsing, conversion)

    try:
        tables = []
        for table in in_order(parsed, line_blocks(source, BLOCK_BYTES), unasked=ALL_CORES):
            if table is None:
                return None
            tables.append(table)
        return pa.concat_tables(tables) if tables else None
    except pa.ArrowMemoryError:
        raise
    except pa.ArrowException:
        return None


def _single_spaces(data: bytes) -> npt.NDArray[np.uint8] | None:
    """Lines with one space between words; None if anything in them is unusual."""
    if not data.isascii() or any(bytes([byte]) in data for byte in UNUSUAL):
        return None
    for byte, replaced in ((b"\r", (b"\r\n", b"\n")), (b"\t", (b"\t", b" "))):
        if byte in data:  # looking for one byte costs next to nothing
            data = data.replace(*replaced)
    if b"\r" in data:  # of which Arrow would make an end of line
        return None
    # a space goes if another, or the end of the line, follows; bytes.replace takes three times as long
    text = np.frombuffer(data, np.uint8)
    kept: npt.NDArray[np.bool_] = text != ord(" ")
    in_word = kept & (text != ord("\n"))
    kept[:-1] |= in_word[1:]
    return text[kept]


def refuse_empty(source: Source) -> None:
    """Refuse a text file that is blank."""
    if not source.head.removeprefix(BOM).strip() and not source.text().removeprefix(BOM).strip():
        raise DataError(f"{source.name}: the file is empty")


def _whole(block: Any, *, inside: bool) -> Any:
    """A block. Arrow drops a byte order mark at its start; inside a file it is text, so it gets two."""
    starts_so = inside and block.slice(0, min(3, block.size)).to_pybytes() == BOM
    return native_buffer([BOM, block]) if starts_so else block


def _line_at(source: Source, position: int) -> int:
    """The number of the line that begins at a position."""
    line, step = 1, 1 << 20
    with source.open() as stream:
        while position > 0 and (piece := stream.read(min(position, step))):
            line += piece.count(b"\n")
            position -= len(piece)
    return line

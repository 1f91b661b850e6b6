"""Plain text whose lines all have the same number of words, read as columns at once.

The quick way into files of hundreds of thousands of lines. It only ever says yes to plain ASCII in which nothing is
unusual; whatever it declines is read line by line, where every problem gets its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from spoofspan.formats.line_blocks import native_buffer

if TYPE_CHECKING:
    import pyarrow as pa

# what Python takes for white space in text, and not in bytes; quotes are for the reader of lines to judge
UNUSUAL = b'\0\v\f\x1c\x1d\x1e\x1f"'


def plain_table(data: bytes, widths: Sequence[int], types: Mapping[int, pa.DataType]) -> pa.Table | None:
    """Some columns of a text, named by their index; None if it is not plain, or its lines are of other widths."""
    import pyarrow as pa
    from pyarrow import csv

    if not data.isascii() or len(data.translate(None, UNUSUAL)) != len(data):
        return None
    for several, one in ((b"\r\n", b"\n"), (b"\t", b" "), (b"   ", b" "), (b"  ", b" "), (b" \n", b"\n")):
        if several in data:  # looking costs less than replacing nothing
            data = data.replace(several, one)
    width = data.partition(b"\n")[0].count(b" ") + 1
    if width not in widths or b"\r" in data:  # of which Arrow would make an end of line
        return None
    named = {str(i): kind for i, kind in types.items()}
    try:
        return csv.read_csv(
            pa.BufferReader(native_buffer([data])),
            csv.ReadOptions(use_threads=False, column_names=[str(i) for i in range(width)]),
            csv.ParseOptions(delimiter=" ", quote_char=False),
            csv.ConvertOptions(column_types=named, include_columns=list(named), null_values=[]),
        )
    except pa.ArrowException:
        return None

"""Tables from and to Arrow, for Parquet, Arrow files and data frames."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags
from spoofspan.base.documents import parse_json
from spoofspan.base.errors import DataError
from spoofspan.formats import arrow as pa
from spoofspan.formats.sources import Source
from spoofspan.formats.tables.corpus_tables import Column, ColumnTable, Lists, Numbers, OtherCells, Texts

METADATA_KEY = b"spoofspan"
METADATA_VERSION = 1
TEXT_TYPES = ("string", "large_string", "string_view")


# ---------------------------------------------------------------- from Arrow


def from_arrow(table: Any, name: str, wanted: Collection[str]) -> ColumnTable:
    """The wanted columns of an Arrow table; of several with one name, the first."""
    places = {one: at for at, one in reversed(list(enumerate(table.column_names))) if one in wanted}
    try:  # refuse damaged columns before anything trusts their offsets
        table.select(sorted(places.values())).validate(full=True)
    except pa.ArrowException as error:
        raise DataError(f"{name}: the table is damaged or not UTF-8 ({error}); write it again") from None
    columns = {one: _column(table.column(places[one])) for one in table.column_names if one in places}
    return ColumnTable(columns, table.num_rows, _stated(name, table.schema.metadata or {}))


def _stated(name: str, metadata: Any) -> dict[str, Any]:
    """Metadata of a table that spoofspan wrote; empty for other tables."""
    if (packed := metadata.get(METADATA_KEY)) is None:
        return {}
    try:
        stated = parse_json(packed)
    except ValueError:
        stated = None
    if not isinstance(stated, dict) or not isinstance(stated.get("version"), int):
        raise DataError(f"{name}: its metadata 'spoofspan' cannot be read; write the file again")
    if stated["version"] > METADATA_VERSION:
        raise DataError(f"{name}: written by a newer spoofspan; update spoofspan to read it")
    return stated


def _column(column: Any) -> Column:
    kind = column.type
    is_dictionary = pa.types.is_dictionary(kind)
    if str(kind.value_type if is_dictionary else kind) in TEXT_TYPES:
        if not is_dictionary:
            plain = column.cast(pa.large_string()) if str(kind) == "string_view" else column
            column = plain.dictionary_encode()
        return _texts(column, str(kind))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        lists = one_array(column)
        items, offsets = items_of(lists)
        return Lists(offsets.astype(np.int64), _numbers(items), _missing(lists), str(kind))
    return _numbers(one_array(column))


def _numbers(array: Any) -> Numbers | OtherCells:
    kind, missing = array.type, _missing(array)
    if pa.types.is_null(kind) or pa.types.is_decimal(kind):
        array = array.cast(pa.float64())
    elif not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        return OtherCells(len(array), str(kind))
    return Numbers(flat_array(array) if missing is None else _filled(array, missing), missing, str(kind))


def _missing(array: Any) -> Flags | None:
    """The missing cells of an array; None if there are none.

    The functions of Arrow for this (``is_null``, ``fill_null``) import pandas wherever it is installed.
    """
    if not array.null_count:
        return None
    validity = array.buffers()[0]
    if validity is None:  # a column of nulls
        return np.ones(len(array), bool)
    bits = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little")
    missing: Flags = bits[array.offset : array.offset + len(array)] == 0
    return missing


def _filled(array: Any, missing: Flags) -> npt.NDArray[Any]:
    """An array of numbers with 0 in the place of missing ones."""
    without_validity = [None, array.buffers()[1]]
    values: npt.NDArray[Any] = flat_array(
        pa.Array.from_buffers(array.type, len(array), without_validity, 0, array.offset)
    ).copy()
    values[missing] = 0
    return values


def _texts(column: Any, kind: str) -> Texts:
    """The texts of a dictionary column."""
    # one dictionary for all chunks; each may come with all ids of the corpus
    encoded = one_array(column.unify_dictionaries())
    found, index = encoded.dictionary.to_pylist(), encoded.indices
    if not index.null_count and not encoded.dictionary.null_count and len(set(found)) == len(found):
        return Texts(flat_array(index).astype(np.int32, copy=False), found, kind)
    values = [text for text in dict.fromkeys(found) if text is not None]
    codes = {text: code for code, text in enumerate(values)}
    own = [codes.get(text, -1) for text in found] + [-1]  # index -1: null
    missing = _missing(index)
    places = flat_array(index) if missing is None else np.where(missing, -1, _filled(index, missing).astype(np.int64))
    return Texts(np.array(own, np.int32)[places], values, kind)


def flat_array(array: Any) -> npt.NDArray[Any]:
    """An Arrow array as a numpy one."""
    if array.null_count == 0 and (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
        # without a copy; to_numpy would import pandas wherever it is installed, which takes half a second
        return np.from_dlpack(array)
    return array.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def items_of(lists: Any) -> tuple[Any, npt.NDArray[Any]]:
    """The items of lists, and where among them each list begins and the last one ends.

    What ``flatten`` gives, which would import pyarrow.compute.
    """
    if pa.types.is_fixed_size_list(lists.type):
        return lists.flatten(), np.arange(len(lists) + 1) * lists.type.list_size
    offsets = flat_array(lists.offsets)
    return lists.values.slice(offsets[0], offsets[-1] - offsets[0]), offsets - offsets[0]


def one_array(column: Any) -> Any:
    """Join the chunks of a column; one chunk is taken as it is."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


# ---------------------------------------------------------------- to Arrow


def to_arrow(table: ColumnTable) -> Any:
    """The same table as Arrow has it; ids as a dictionary, other texts plain."""
    columns = {name: _arrow_column(name, one) for name, one in table.columns.items()}
    stated = {"version": METADATA_VERSION, **table.stated}
    metadata = {METADATA_KEY: json.dumps(stated).encode()} if table.stated else None
    return pa.table(columns).replace_schema_metadata(metadata)


def _arrow_column(name: str, column: Column) -> Any:
    if isinstance(column, Texts):
        codes = pa.array(column.codes, mask=column.missing)
        encoded = pa.DictionaryArray.from_arrays(codes, pa.array(column.values, pa.string()))
        return encoded if name == "utterance" else encoded.cast(pa.string())
    if isinstance(column, Lists):
        kind, integer = (pa.ListArray, np.int32) if column.offsets[-1] < 2**31 else (pa.LargeListArray, np.int64)
        return kind.from_arrays(pa.array(column.offsets.astype(integer)), _arrow_column(name, column.items))
    return pa.nulls(len(column)) if isinstance(column, OtherCells) else pa.array(column.values, mask=column.missing)


def plain_texts(table: Any) -> Any:
    """The same Arrow table, text as such instead of as a dictionary."""
    for at, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(pa.string()))
    return table


# ---------------------------------------------------------------- files


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
    # In memory of Arrow's own: a worker of Arrow that drops the last reference to a Python object while the interpreter
    # ends aborts the process (apache/arrow#34314).
    data = source.read()
    buffer = pa.allocate_buffer(len(data))
    with pa.FixedSizeBufferWriter(buffer) as writer:
        writer.write(data)
    return pa.BufferReader(buffer)


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

"""JSON Lines: one JSON object a line.

::

    {"utterance": "u1", "start": 0.0, "end": 1.2, "label": "bonafide"}
    {"utterance": "u1", "scores": [0.9, 0.8, -0.4], "hop": 0.02, "higher": "bonafide"}

Text has no types: times are always seconds. Infinite scores are written as Python's json does (``Infinity``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from spoofspan.base.documents import parse_json
from spoofspan.base.errors import DataError, Problems
from spoofspan.formats import arrow as pa
from spoofspan.formats.line_blocks import BOM, line_blocks, refuse_empty
from spoofspan.formats.sources import Source
from spoofspan.formats.tables.arrow_tables import SCORES, TEXTS, Schema, with_metadata
from spoofspan.formats.tables.containers import Container
from spoofspan.formats.tables.table_columns import Part
from spoofspan.formats.text.rows import TEXT_SNAP, is_unicode

BLOCK_BYTES = 1 << 24
BYTES_PER_PIECE = 1 << 23
BYTES_AT_ONCE = 1 << 25  # of a file that is read whole
ROWS_PER_PIECE = 1 << 12
START = re.compile(rb'\s*\{[^{}]*?"utterance"\s*:')
NULL_VALUE = re.compile(rb"[:\[,]\s*null")
KEY = re.compile(rb'"([a-z]+)"\s*:')


def _recognises(head: bytes, schema: Schema) -> bool:
    """Whether the first object has an utterance, and the first line has keys that fit."""
    text = head.removeprefix(BOM)
    first = text.lstrip().split(b"\n", 1)[0]
    return START.match(text) is not None and schema.fits({key.decode() for key in KEY.findall(first)})


def _parts(source: Source, wanted: Sequence[str], whole: bool) -> Iterator[Part]:
    """Read blocks of lines; line by line only where the fast way fails."""
    refuse_empty(source)
    types: dict[str, Any] = {}
    done, gapless = 0, True
    for block in line_blocks(source, BYTES_AT_ONCE if whole else BYTES_PER_PIECE):
        data = block.to_pybytes()
        if data.startswith(BOM):
            block, data = block.slice(len(BOM)), data.removeprefix(BOM)
        types = types or {name: _arrow_type(name, data) for name in wanted}
        table = _fast(block, data, types)
        if table is None:
            try:
                table = _line_by_line(source.name, data, types)
            except DataError:
                _line_by_line(source.name, source.text().removeprefix(BOM), types)  # it says which line is wrong
                raise
        lines = data.count(b"\n") + (not data.endswith(b"\n"))
        one_line_each = gapless and table.num_rows in (lines, data.rstrip().count(b"\n") + 1)
        gapless = gapless and table.num_rows == lines
        done += lines
        if not table.num_rows:  # blank lines
            continue
        first = _first_object(data)
        used = [name for name in types if name in first or table.column(name).null_count < max(1, table.num_rows)]
        names = list(dict.fromkeys([*first, *used]))
        rows = np.arange(done - lines, done - lines + table.num_rows)
        table = with_metadata(table.select(used), {"snap": TEXT_SNAP})
        yield Part(table, source.name, 1 if one_line_each else None, names, rows)


def _arrow_type(name: str, data: bytes) -> Any:
    if name in TEXTS:
        return pa.string()
    if name == "frame":
        return pa.int64()
    is_list = name == "scores" or (
        name not in SCORES.columns and re.search(rb'"' + re.escape(name.encode()) + rb'"\s*:\s*\[', data[: 1 << 20])
    )
    return pa.list_(pa.float64()) if is_list else pa.float64()


def _fast(block: Any, data: bytes, types: dict[str, Any]) -> Any:
    """Read with pyarrow; None if it cannot."""
    # a null where an object belongs crashes pyarrow (apache/arrow#47409)
    if b"null" in data and data.count(b"null") > sum(1 for _ in NULL_VALUE.finditer(data)):
        return None
    try:
        table = pa.json.read_json(
            pa.BufferReader(block),
            read_options=pa.json.ReadOptions(block_size=BLOCK_BYTES),
            parse_options=pa.json.ParseOptions(
                explicit_schema=pa.schema(list(types.items())), unexpected_field_behavior="ignore"
            ),
        )
        table.validate(full=True)
    except pa.ArrowMemoryError:
        raise
    except pa.ArrowException:
        return None
    return table


def _first_object(data: bytes) -> dict[str, Any]:
    """The first line's object; its keys are columns even where they are null throughout."""
    with suppress(ValueError):
        first = parse_json(data.lstrip().split(b"\n", 1)[0])
        return first if isinstance(first, dict) else {}
    return {}


def _line_by_line(name: str, data: bytes, types: dict[str, Any]) -> Any:
    """Read with Python's json, naming the line of every problem."""
    columns: dict[str, list[Any]] = {name: [] for name in types}
    problems = Problems()
    for number, raw in enumerate(data.split(b"\n"), 1):
        if not raw.strip():
            continue
        place = f"{name}:{number}"
        try:
            item = parse_json(raw.decode("utf-8"), object_pairs_hook=_once)
        except UnicodeDecodeError:
            problems.add(f"{place}: not UTF-8 text")
            continue
        except ValueError as error:
            problems.add(f"{place}: not a JSON object on one line ({error})")
            continue
        if not isinstance(item, dict):
            problems.add(f"{place}: not a JSON object but {type(item).__name__}; write one object a line")
            continue
        for key, kind in types.items():
            value = item.get(key)
            if key == "label" and isinstance(value, int | float):
                value = f"{value:g}"
            wrong = None if value is None else _wrong(key, value, pa.types.is_list(kind))
            if wrong is not None:
                owner = f", utterance {item.get('utterance')!r}" if key != "utterance" else ""
                problems.add(f"{place}{owner}: {wrong}")
            columns[key].append(value)
    problems.raise_if_any("correct the file")
    return pa.table({key: pa.array(columns[key], kind) for key, kind in types.items()})


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    item = dict(pairs)
    if len(item) < len(pairs):
        raise ValueError("a key occurs twice")
    return item


def _wrong(name: str, value: Any, is_list: bool) -> str | None:
    """Say what is wrong with a value; None if nothing is."""
    if name in TEXTS:
        return None if isinstance(value, str) and is_unicode(value) else f"{name} must be text, not {value!r}"
    if is_list:
        if not isinstance(value, list):
            return f"{name} must be a list of numbers, not {value!r}"
        bad = [i for i, item in enumerate(value) if item is not None and not _is_number(item)]
        return f"{name}: item {bad[0]} is {value[bad[0]]!r}, not a number" if bad else None
    if name == "frame":
        return None if _is_number(value) and isinstance(value, int) else f"frame must be an integer, not {value!r}"
    hint = ": use a decimal point" if isinstance(value, str) and "," in value else ""
    return None if _is_number(value) else f"{name} must be a number, not {value!r}{hint}"


def _is_number(value: Any) -> bool:
    """Whether a value is a float, or an integer that Arrow can hold."""
    return isinstance(value, float) or (type(value) is int and abs(value) < 2**63)


def _write(table: Any) -> Iterator[bytes]:
    for batch in table.to_batches(max_chunksize=ROWS_PER_PIECE):
        yield "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist()).encode()


JSONL = Container(
    "jsonl", "one JSON object a line; times in seconds", (".jsonl", ".ndjson"), _recognises, _parts, _write, text=True
)

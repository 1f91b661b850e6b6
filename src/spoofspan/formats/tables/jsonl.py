"""JSON Lines: one JSON object a line.

::

    {"utterance": "u1", "start": 0.0, "end": 1.2, "label": "bonafide"}
    {"utterance": "u1", "scores": [0.9, 0.8, -0.4], "hop": 0.02, "higher": "bonafide"}

Text has no types: times are always seconds. Infinite scores are written as Python's json does (``Infinity``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from spoofspan.base.columns import offsets_of
from spoofspan.base.documents import parse_json
from spoofspan.base.errors import Problems
from spoofspan.formats.column_names import OF_TABLES, table_names, table_polarity
from spoofspan.formats.fields import BOM, line_blocks, refuse_empty
from spoofspan.formats.recognition import Begins
from spoofspan.formats.sources import Source
from spoofspan.formats.tables.containers import Container
from spoofspan.formats.tables.corpus_tables import (
    REFERENCES,
    SCORES,
    TEXTS,
    Column,
    ColumnTable,
    Lists,
    Numbers,
    Part,
    Schema,
    Texts,
)
from spoofspan.formats.text.rows import TEXT_SNAP, is_unicode

BYTES_PER_PIECE = 1 << 23
ROWS_PER_PIECE = 1 << 12
START = re.compile(rb'\s*\{[^{}]*?"utterance"\s*:')
KEY = re.compile(rb'"([A-Za-z_-]+)"\s*:')


def _holds(head: bytes, schema: Schema) -> bool:
    """True if the first object has an utterance, and the first line has keys that fit."""
    text = head.removeprefix(BOM)
    first = text.lstrip().split(b"\n", 1)[0]
    names = set(table_names(list(dict.fromkeys(key.decode() for key in KEY.findall(first)))))
    if START.match(text) is not None:
        return schema.fits(names)
    # under other names, what a table needs must be there
    timed = {"start", "end"} <= names or bool(names & {"frame", "scores", "labels"})
    return "utterance" in names and bool(names & schema.telling) and timed


def _parts(source: Source, wanted: Sequence[str], whole: bool) -> Iterator[Part]:
    """Read blocks of lines."""
    refuse_empty(source)
    problems = Problems()
    lists: set[str] = set()
    found: dict[str, None] = {}
    ours: dict[str, str] = {}  # names of columns that are called otherwise here
    stated: dict[str, Any] = {"snap": TEXT_SNAP}
    done, gapless = 0, True
    for block in line_blocks(source, BYTES_PER_PIECE):
        if not done:
            keys = _first_keys(block)
            asked = next((key for key in keys if key in tuple(wanted) and key not in OF_TABLES), None)
            ours = dict(zip(keys, table_names(keys, asked), strict=True))
            higher = table_polarity(keys, asked)
            stated |= {} if higher is None else {"higher": higher}
            written = {mine: key for key, mine in ours.items()}
            lists = {name for name in wanted if _is_list(name, written.get(name, name), block)}
        cells: dict[str, list[Any]] = {name: [] for name in wanted}
        lines = block.split(b"\n") if not block.endswith(b"\n") else block[:-1].split(b"\n")
        for number, raw in enumerate(lines, done + 1):
            if raw.strip():
                item = _object(f"{source.name}:{number}", raw, ours, lists, cells, problems)
                found.update(
                    dict.fromkeys(item if not found else [name for name in wanted if item.get(name) is not None])
                )
        size = len(cells["utterance"])
        if size and not problems.total:
            columns = {name: _column(name, cells[name], name in lists) for name in wanted if name in found}
            rows = np.arange(done, done + size)
            one_line_each = gapless and size in (len(lines), block.rstrip().count(b"\n") + 1)
            yield Part(ColumnTable.of(columns, **stated), source.name, 1 if one_line_each else None, list(found), rows)
        gapless = gapless and size == len(lines)
        done += len(lines)
    problems.raise_if_any("correct the file")


def _first_keys(block: bytes) -> list[str]:
    """The keys of the first line's object."""
    with suppress(ValueError):
        first = parse_json(block.lstrip().split(b"\n", 1)[0])
        return list(first) if isinstance(first, dict) else []
    return []


def _is_list(name: str, written: str, block: bytes) -> bool:
    if name in REFERENCES.columns + SCORES.columns:
        return name in ("scores", "labels")
    return re.search(rb'"' + re.escape(written.encode()) + rb'"\s*:\s*\[', block[: 1 << 20]) is not None


def _object(
    place: str,
    raw: bytes,
    ours: Mapping[str, str],
    lists: set[str],
    cells: dict[str, list[Any]],
    problems: Problems,
) -> dict[str, Any]:
    """Read the object of a line, and note its values or what is wrong with it."""
    try:
        item = parse_json(raw.decode("utf-8"), object_pairs_hook=_once)
    except UnicodeDecodeError:
        problems.add(f"{place}: not UTF-8 text")
        return {}
    except ValueError as error:
        problems.add(f"{place}: not a JSON object on one line ({error})")
        return {}
    if not isinstance(item, dict):
        problems.add(f"{place}: not a JSON object but {type(item).__name__}; write one object a line")
        return {}
    item = {ours.get(key, key): value for key, value in item.items()}
    for key, values in cells.items():
        value = item.get(key)
        if key == "label" and isinstance(value, int | float):
            value = f"{value:g}"
        wrong = None if value is None else _wrong(key, value, key in lists)
        if wrong is not None:
            owner = f", utterance {item.get('utterance')!r}" if key != "utterance" else ""
            problems.add(f"{place}{owner}: {wrong}")
        elif key in lists and value is not None:  # an array takes a fifth of the memory
            value = Numbers.of(value, np.float64)
        values.append(value)
    return item


def _column(name: str, values: list[Any], is_list: bool) -> Column:
    if name in TEXTS:
        return Texts.of(values)
    if not is_list:
        return Numbers.of(values, np.int64 if name == "frame" else np.float64)
    lists = [Numbers(np.zeros(0)) if value is None else value for value in values]
    none = [np.zeros(len(one), np.bool_) if one.missing is None else one.missing for one in lists]
    missing = np.concatenate(none) if any(one.missing is not None for one in lists) else None
    items = Numbers(np.concatenate([one.values for one in lists]), missing)
    absent = np.array([value is None for value in values])
    return Lists(offsets_of(list(map(len, lists))), items, absent if absent.any() else None)


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
        if set(map(type, value)) == {float}:
            return None
        bad = [i for i, item in enumerate(value) if item is not None and not _is_number(item)]
        return f"{name}: item {bad[0]} is {value[bad[0]]!r}, not a number" if bad else None
    if name == "frame":
        return None if _is_number(value) and isinstance(value, int) else f"frame must be an integer, not {value!r}"
    hint = ": use a decimal point" if isinstance(value, str) and "," in value else ""
    return None if _is_number(value) else f"{name} must be a number, not {value!r}{hint}"


def _is_number(value: Any) -> bool:
    """True if a value is a float, or an integer of 64 bits."""
    return isinstance(value, float) or (type(value) is int and abs(value) < 2**63)


def _write(table: ColumnTable) -> Iterator[bytes]:
    for first in range(0, table.size, ROWS_PER_PIECE):
        rows = np.arange(first, min(first + ROWS_PER_PIECE, table.size))
        columns = [column.take(rows).to_list() for column in table.columns.values()]
        items = (dict(zip(table.columns, row, strict=True)) for row in zip(*columns, strict=True))
        yield "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items).encode()


JSONL = Container(
    "jsonl",
    "one JSON object a line; times in seconds",
    (".jsonl", ".ndjson"),
    Begins(r"\{"),
    _holds,
    _parts,
    _write,
    text=True,
)

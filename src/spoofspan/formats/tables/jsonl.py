"""JSON Lines: the tables of :mod:`spoofspan.formats.tables.tables`, one JSON object a line.

::

    {"utterance": "u1", "start": 0.0, "end": 1.2, "label": "bonafide"}
    {"utterance": "u1", "scores": [0.9, 0.8, -0.4], "hop": 0.02, "higher": "bonafide"}

Text has no types: times are always seconds. Infinite scores are written as Python's json does (``Infinity``).
"""

from __future__ import annotations

import io
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from spoofspan.base.errors import DataError, Problems
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.sources import Source
from spoofspan.formats.tables.reference_tables import (
    LABEL_NAMES,
    REFERENCE_COLUMNS,
    REFERENCE_GRAMMAR,
    references_from_parts,
)
from spoofspan.formats.tables.score_tables import SCORE_COLUMNS, SCORE_GRAMMAR, SCORE_NAMES, scores_from_parts
from spoofspan.formats.tables.table_columns import Part
from spoofspan.formats.tables.tables import metadata_of, table_from_references, table_from_scores
from spoofspan.formats.text.rows import TEXT_SNAP

BOM = b"\xef\xbb\xbf"
BLOCK_BYTES = 1 << 24
BYTES_PER_PIECE = 1 << 23
ROWS_PER_PIECE = 1 << 12
TEXTS = ("utterance", "label", "kind", "higher")
START = re.compile(rb'\s*\{[^{}]*?"utterance"\s*:')
NULL_VALUE = re.compile(rb"[:\[,]\s*null")
KEY = re.compile(rb'"([a-z]+)"\s*:')


def recognises(head: bytes) -> bool:
    """Whether the first object has an utterance."""
    return START.match(head.removeprefix(BOM)) is not None


def _recognises_with(head: bytes, telling: frozenset[str]) -> bool:
    """Whether this is JSON Lines with one of these keys in its first line, or with neither kind of key in sight."""
    if not recognises(head):
        return False
    first = head.removeprefix(BOM).lstrip().split(b"\n", 1)[0]
    keys = {key.decode() for key in KEY.findall(first)}
    return bool(keys & telling) or not keys & (LABEL_NAMES | SCORE_NAMES)


def _part(source: Source, wanted: Sequence[str]) -> Part:
    """Read one file; line by line only when the fast way fails."""
    import pyarrow as pa
    import pyarrow.json as pa_json

    data = source.read().removeprefix(BOM)
    if not source.head.removeprefix(BOM).strip() and not data.removeprefix(BOM).strip():
        raise DataError(f"{source.name}: the file is empty")
    types = _types(data, wanted)
    try:
        if _has_null_for_an_object(data):
            raise pa.ArrowInvalid
        table = pa_json.read_json(
            pa.BufferReader(pa.py_buffer(data)),
            read_options=pa_json.ReadOptions(block_size=BLOCK_BYTES),
            parse_options=pa_json.ParseOptions(
                explicit_schema=pa.schema(list(types.items())), unexpected_field_behavior="ignore"
            ),
        )
        table.validate(full=True)
    except pa.ArrowException:
        table, one_line_each = _line_by_line(source, data, types)
    else:
        one_line_each = table.num_rows == data.count(b"\n") + (not data.endswith(b"\n"))
    first = _first_object(data)
    used = [name for name in types if name in first or table.column(name).null_count < max(1, table.num_rows)]
    names = list(dict.fromkeys([*first, *used]))
    return Part(table.select(used), source.name, 1 if one_line_each else None, names)


def stream(
    sources: Sequence[Source], options: ReadOptions, *, wanted: Sequence[str], snap: float | None = None
) -> Iterator[Part]:
    """Read JSON Lines some lines at a time."""
    names = (*wanted, options.column) if options.column else tuple(wanted)
    for source in sources:
        first = 0
        try:
            with source.open() as opened:
                while lines := opened.readlines(BYTES_PER_PIECE):
                    part = _piece(source, b"".join(lines), names)
                    table = part.table
                    if snap is not None:
                        table = table.replace_schema_metadata(metadata_of({"snap": snap}))
                    yield replace(part, table=table, rows=np.arange(first, first + len(lines))[: table.num_rows])
                    first += len(lines)
        except (OSError, EOFError, zlib.error) as error:
            raise source.broken(error) from None


def _piece(source: Source, data: bytes, wanted: Sequence[str]) -> Part:
    try:
        return _part(Source(source.name, lambda: io.BytesIO(data)), wanted)
    except DataError:
        _part(source, wanted)  # read whole, it says which line is wrong
        raise


def _has_null_for_an_object(data: bytes) -> bool:
    """Whether a null may stand where an object belongs: pyarrow crashes on it (apache/arrow#47409)."""
    return data.count(b"null") > sum(1 for _ in NULL_VALUE.finditer(data)) if b"null" in data else False


def _first_object(data: bytes) -> dict[str, Any]:
    """The first line's object; its keys are columns even where they are null throughout."""
    try:
        first = json.loads(data.lstrip().split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        return {}
    return first if isinstance(first, dict) else {}


def _types(data: bytes, wanted: Sequence[str]) -> dict[str, Any]:
    import pyarrow as pa

    def kind(name: str) -> Any:
        if name in TEXTS:
            return pa.string()
        if name == "frame":
            return pa.int64()
        is_list = name == "scores" or (
            name not in SCORE_COLUMNS and re.search(rb'"' + re.escape(name.encode()) + rb'"\s*:\s*\[', data[: 1 << 20])
        )
        return pa.list_(pa.float64()) if is_list else pa.float64()

    return {name: kind(name) for name in wanted}


def _line_by_line(source: Source, data: bytes, types: dict[str, Any]) -> tuple[Any, bool]:
    """Read with Python's json, naming the line of every problem."""
    import pyarrow as pa

    columns: dict[str, list[Any]] = {name: [] for name in types}
    problems = Problems()
    lines: list[int] = []
    for number, raw in enumerate(data.split(b"\n"), 1):
        if not raw.strip():
            continue
        lines.append(number)
        place = f"{source.name}:{number}"
        try:
            item = json.loads(raw.decode("utf-8"), object_pairs_hook=_once)
        except UnicodeDecodeError:
            problems.add(f"{place}: not UTF-8 text")
            continue
        except (ValueError, RecursionError) as error:
            problems.add(f"{place}: not a JSON object on one line ({error})")
            continue
        if not isinstance(item, dict):
            problems.add(f"{place}: not a JSON object but {type(item).__name__}; write one object a line")
            continue
        for name, kind in types.items():
            value = item.get(name)
            wrong = None if value is None else _wrong(name, value, pa.types.is_list(kind))
            if wrong is not None:
                owner = f", utterance {item.get('utterance')!r}" if name != "utterance" else ""
                problems.add(f"{place}{owner}: {wrong}")
            columns[name].append(value)
    problems.raise_if_any("correct the file")
    return pa.table({name: pa.array(columns[name], kind) for name, kind in types.items()}), lines == list(
        range(1, len(lines) + 1)
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    item = dict(pairs)
    if len(item) < len(pairs):
        raise ValueError("a key occurs twice")
    return item


def _wrong(name: str, value: Any, is_list: bool) -> str | None:
    """Say what is wrong with a value; None if nothing is."""
    if name in TEXTS:
        return None if isinstance(value, str) and _is_unicode(value) else f"{name} must be text, not {value!r}"
    if is_list:
        if not isinstance(value, list):
            return f"{name} must be a list of numbers, not {value!r}"
        bad = [i for i, item in enumerate(value) if item is not None and not _is_number(item)]
        return f"{name}: item {bad[0]} is {value[bad[0]]!r}, not a number" if bad else None
    if name == "frame":
        whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
        return None if whole else f"frame must be an integer, not {value!r}"
    hint = ": use a decimal point" if isinstance(value, str) and "," in value else ""
    return None if _is_number(value) else f"{name} must be a number, not {value!r}{hint}"


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return isinstance(value, float) or abs(value) < 2**63


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def read_references(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read references from JSON Lines."""
    return references_from_parts([_part(one, REFERENCE_COLUMNS) for one in sources], options, snap=TEXT_SNAP)


def read_scores(sources: Sequence[Source], options: ReadOptions) -> Scores:
    """Read scores from JSON Lines."""
    wanted = dict.fromkeys((*SCORE_COLUMNS, options.column or "score"))
    return scores_from_parts([_part(one, tuple(wanted)) for one in sources], options)


def write_references(references: References) -> Iterator[bytes]:
    """Write references, one object per range."""
    return _write(table_from_references(references, text=True))


def write_scores(scores: Scores) -> Iterator[bytes]:
    """Write scores: frames as one object per utterance, ranges as one each; all with their polarity."""
    return _write(table_from_scores(scores, long=scores.hops is None, text=True))


def _write(table: Any) -> Iterator[bytes]:
    for batch in table.to_batches(max_chunksize=ROWS_PER_PIECE):
        yield "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist()).encode()


SUFFIXES = (".jsonl", ".ndjson")
REFERENCE_FORMATS = (
    Format(
        "jsonl",
        f"{REFERENCE_GRAMMAR}, one JSON object a line; times in seconds",
        read_references,
        lambda head: _recognises_with(head, LABEL_NAMES),
        write_references,
        SUFFIXES,
        stream=partial(stream, wanted=REFERENCE_COLUMNS, snap=TEXT_SNAP),
    ),
)
SCORE_FORMATS = (
    Format(
        "jsonl",
        f"{SCORE_GRAMMAR}, one JSON object a line; times in seconds",
        read_scores,
        lambda head: _recognises_with(head, SCORE_NAMES),
        write_scores,
        SUFFIXES,
        stream=partial(stream, wanted=SCORE_COLUMNS),
    ),
)

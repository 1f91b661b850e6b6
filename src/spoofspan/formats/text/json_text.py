"""JSON as files of the field hold it: read whole or an object a line, recognised by its beginning, and written.

Whatever is wrong with a file is an error that names it and, where the parser tells, the line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from spoofspan.base.documents import TooComplexError, parse_json
from spoofspan.base.errors import DataError
from spoofspan.base.times import SECOND
from spoofspan.formats.recognition import Begins, beginning
from spoofspan.formats.sources import Source
from spoofspan.formats.text.rows import WrittenRange, check_utf8

BLANKS = b"\xef\xbb\xbf \t\r\n"  # a byte order mark among them
NUMBER = r"\s*-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\s*"


# ---------------------------------------------------------------- reading


class Pairs(tuple[tuple[str, Any], ...]):
    """A JSON object as its pairs, so that a name that is there twice is seen."""

    __slots__ = ()


def json_document(
    source: Source, shape: str, hook: Callable[[list[tuple[str, Any]]], Any] | None = None, parse_int: Any = float
) -> Any:
    """Read the JSON of a whole file; ``shape`` is what it should be, and ``hook`` makes something else of objects."""
    data = source.document()
    if not data.strip():
        raise DataError(f"{source.name}: the file is empty")
    try:
        return parse_json(data, object_pairs_hook=hook, parse_int=parse_int)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{source.name}:{line}: not UTF-8 text; convert it") from None
    except json.JSONDecodeError as error:
        raise DataError(
            f"{source.name}:{error.lineno}: no JSON from column {error.colno} on ({error.msg}); expected {shape}; it "
            "is another file, or truncated or damaged"
        ) from None
    except TooComplexError as error:
        raise DataError(f"{source.name}: {error}; expected {shape}") from None
    except ValueError:  # a whole number of thousands of digits
        raise DataError(f"{source.name}: a number cannot be read; expected {shape}") from None


def json_pairs(source: Source, shape: str) -> Pairs:
    """Read the one object of a file as pairs."""
    found = json_document(source, shape, Pairs)
    if not isinstance(found, Pairs):
        raise DataError(f"{source.name}: the JSON is no object; expected {shape}")
    return found


def json_objects(source: Source, shape: str) -> Iterator[tuple[str, Any]]:
    """The place and the value of each object: one a line, or the items of one list."""
    if source.head.lstrip(BLANKS).startswith(b"["):
        yield from ((f"{source.name}[{i}]", one) for i, one in enumerate(json_document(source, shape)))
        return
    for number, text in source.lines():
        try:
            yield f"{source.name}:{number}", parse_json(text, parse_int=float)
        except ValueError as error:
            raise DataError(f"{source.name}:{number}: not a JSON object on one line ({error})") from None


# ---------------------------------------------------------------- recognising


def _lists_of(numbers: int) -> Begins:
    """A JSON object of lists of rows of so many numbers each."""
    opening = r'\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\['
    rows = rf'"\s*:\s*\[\s*\[{",".join([NUMBER] * numbers)}\]'
    return Begins(rf"(?s)(?={opening}).*?{rows}")


PAIRS, TRIPLES = _lists_of(2), _lists_of(3)


def lists_ranges(head: bytes) -> bool:
    """True if the pairs of the first list can be ranges in their order, and not two scores for each frame."""
    found = re.search(r'"\s*:\s*\[\s*(\[.*?\])\s*(?:\]|$)', beginning(head), re.DOTALL)
    pairs = re.findall(rf"\[({NUMBER}),({NUMBER})\]", found[1]) if found is not None else []
    edges = [float(edge) for pair in pairs for edge in pair]
    return edges == sorted(edges) and min(edges, default=0) >= 0


# ---------------------------------------------------------------- writing


def json_list(items: Iterable[Any], name: str) -> Iterator[bytes]:
    """Write a list, an item a line; ``name`` is the format, for messages."""
    yield from _rows((_text(one, name) for one in items), "[]")


def json_object(items: Iterable[tuple[str, Any]], name: str) -> Iterator[bytes]:
    """Write an object, a key and its value a line."""
    yield from _rows((f"{_text(key, name)}: {_text(value, name)}" for key, value in items), "{}")


def json_periods(ranges: Sequence[WrittenRange]) -> list[list[float]]:
    """Ranges in seconds, whose digits read back to the nanosecond."""
    return [[one.start / SECOND, one.end / SECOND] for one in ranges]


def _text(value: Any, name: str) -> str:
    text = json.dumps(value, ensure_ascii=False)
    check_utf8(text, name)
    return text


def _rows(rows: Iterable[str], brackets: str) -> Iterator[bytes]:
    between = brackets[0]
    for row in rows:
        yield f"{between}\n{row}".encode()
        between = ","
    yield f"\n{brackets[1]}\n".encode()

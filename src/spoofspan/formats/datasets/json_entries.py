"""Metadata as a JSON list with an object per file, each with its fake periods in seconds: LAV-DF and AV-Deepfake1M.

An entry is checked key by key, and every problem keeps its place. Only one entry is held at a time.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from spoofspan.base.errors import DataError, UsageError, nearest_name
from spoofspan.formats.sources import Source
from spoofspan.formats.text.rows import RangeRows, WrittenRange, check_utf8, time_text

SPACE = re.compile(r"[ \t\n\r]*")


@dataclass(frozen=True)
class Entry:
    """One object of the list; its key ``file`` is the utterance."""

    rows: RangeRows
    place: str
    utterance: str
    values: dict[str, Any]

    def problem(self, what: str) -> None:
        """Note what is wrong with it."""
        self.rows.problems.add(f"{self.place}: utterance {self.utterance!r}: {what}")

    def add(self, periods: Iterable[tuple[float, float]] | None, kind: str | None = None) -> None:
        """Note periods as spoof."""
        for start, end in periods or ():
            self.rows.add(self.place, self.utterance, start, end, "spoof", kind=kind)

    def seconds(self, value: object, what: str) -> float:
        """Read a JSON number of seconds; NaN (and a problem) if it is none."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.problem(f"{what} must be a number of seconds, not {short(value)}")
            return math.nan
        return self.rows.seconds(f"{self.place}: utterance {self.utterance!r}", repr(value), what)

    def periods(self, key: str) -> list[tuple[float, float]] | None:
        """Read a list of [start, end]; None (and a problem) if it is no such list."""
        found = self.values.get(key)
        if not isinstance(found, list):
            self.problem(f"{key} must be a list of [start, end] in seconds, not {short(found)}")
            return None
        result: list[tuple[float, float]] = []
        for i, period in enumerate(found):
            if not isinstance(period, list) or len(period) != 2:
                self.problem(f"{key}[{i}] must be [start, end] in seconds, not {short(period)}")
                return None
            start, end = (self.seconds(value, f"{key}[{i}]") for value in period)
            result.append((start, end))
        return result


def first_keys(head: bytes) -> set[str]:
    """Return the keys of the first object of a JSON list; none if the file does not begin with one."""
    # The head may end within a character, so that is ignored.
    text = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "ignore")
    opening = re.match(r"\s*\[\s*", text)
    if opening is None:
        return set()
    try:
        first, _ = json.JSONDecoder().raw_decode(text, opening.end())
    except (ValueError, RecursionError):
        return set()
    return set(first) if isinstance(first, dict) else set()


def entries_of_split(rows: RangeRows, sources: Sequence[Source], name: str, split: str | None) -> Iterator[Entry]:
    """Yield the entries of one split, or of all if none is asked for; a file may have only one of them."""
    splits: set[str] = set()
    for source in sources:
        for place, values in _objects(source, name):
            splits.add(str(values.get("split", "")))
            if split is not None and values.get("split") != split:
                continue
            utterance = values.get("file")
            if not is_name(utterance):
                rows.problems.add(f"{place}: file must be a name, not {short(utterance)}")
            elif rows.name_once(place, utterance):
                yield Entry(rows, place, utterance, values)
    if split is not None and split not in splits:
        raise UsageError(f"{sources[0].name}: no split {split!r}: {nearest_name(split, splits - {''})}")


def _objects(source: Source, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the content of each object of a JSON list."""
    try:
        text = source.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{source.name}: not UTF-8 text (byte {error.start}); convert it to UTF-8") from None
    if not text.strip():
        raise DataError(f"{source.name}: the file is empty")
    position = _skip(text, 0)
    if text[position] != "[":
        raise DataError(
            f"{source.name}: {name} is a JSON list of objects, this file begins with "
            f"{text[position : position + 20]!r}; give the whole metadata file"
        )
    if text.startswith("]", _skip(text, position + 1)):
        raise DataError(f"{source.name}: the list is empty; there is no reference in the file")
    decoder, index = json.JSONDecoder(), 0
    try:
        while text[position] != "]":  # but the bracket or the comma before an entry
            place = f"{source.name}[{index}]"
            entry, position = decoder.raw_decode(text, _skip(text, position + 1))
            if not isinstance(entry, dict):
                raise DataError(f"{place}: each entry of the list must be an object, not {short(entry)}; correct it")
            yield place, entry
            index += 1
            position = _skip(text, position)
            if not text.startswith((",", "]"), position):
                raise json.JSONDecodeError("Expecting ',' delimiter", text, position)
        position = _skip(text, position + 1)
        if position < len(text):
            raise json.JSONDecodeError("Extra data", text, position)
    except DataError:
        raise
    except json.JSONDecodeError as error:
        raise DataError(
            f"{source.name}:{error.lineno}: entry [{index}] is no valid JSON (column {error.colno}: {error.msg}); "
            "the file is damaged or truncated, get it again"
        ) from None
    except (RecursionError, ValueError) as error:
        raise DataError(
            f"{source.name}[{index}]: cannot be read ({error}); the file is damaged, get it again"
        ) from None


def _skip(text: str, position: int) -> int:
    match = SPACE.match(text, position)
    return match.end() if match is not None else position


def is_name(value: object) -> TypeGuard[str]:
    """Tell whether a JSON value is text that can be written again (JSON can hold halves of characters)."""
    return isinstance(value, str) and value != "" and not re.search("[\ud800-\udfff]", value)


def short(value: object) -> str:
    """Describe a JSON value for a message."""
    if isinstance(value, (list, dict)):
        return ("a list" if isinstance(value, list) else "an object") + f" of {len(value)}"
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."


# ---------------------------------------------------------------- writing


def json_name(text: str, name: str) -> str:
    """Write an id as JSON."""
    check_utf8(text, name)
    return json.dumps(text, ensure_ascii=False)


def json_periods(ranges: list[WrittenRange]) -> str:
    """Write ranges as JSON, times in seconds."""
    return "[" + ", ".join(f"[{time_text(one.start)}, {time_text(one.end)}]" for one in ranges) + "]"


def json_list(objects: Iterator[str]) -> Iterator[bytes]:
    """Write objects as a list, a line each."""
    between = "[\n"
    for one in objects:
        yield f"{between}{one}".encode()
        between = ",\n"
    yield b"\n]\n"

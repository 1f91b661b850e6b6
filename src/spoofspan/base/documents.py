"""JSON and TOML that strangers wrote.

Both parsers of the standard library recurse, so a few thousand brackets end in a ``RecursionError``, here or later when
the data are printed. Every document passes through this module instead: nested at most 64 deep, with a bounded number
of keys and values, and any fault is a ``ValueError`` for the caller to name the file in.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

MOST_DEPTH = 64
MOST_KEYS = 5_000_000
MOST_VALUES = 50_000_000
MOST_BYTES = 64 << 20  # of a file that is not data: a description, a card, a result
MOST_BYTES_TOML = 1 << 20
PIECE = 1 << 20
# a string, or what is left of one: linear in its length, as every way to match takes a character of its own
_STRING = re.compile(rb'"[^"\\]*(?:\\.?[^"\\]*)*(?:"|\Z)', re.DOTALL)
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"[{")], _STEPS[list(b"]}")] = 1, -1


class TooComplexError(ValueError):
    """A document that is nested too deeply, or has too many keys or values."""


def parse_json(
    data: bytes | str,
    *,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
    parse_int: Callable[[str], Any] | None = None,
) -> Any:
    """Parse JSON; anything wrong with it is a ``ValueError``.

    >>> parse_json(b'{"a": [1, 2]}')
    {'a': [1, 2]}
    >>> parse_json("[" * 100_000)
    Traceback (most recent call last):
    spoofspan.base.documents.TooComplexError: nested more than 64 deep
    """
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    check_json(raw)
    text = raw.decode("utf-8-sig") if isinstance(data, bytes) else data
    return json.loads(text, object_pairs_hook=object_pairs_hook, parse_int=parse_int)


def check_json(raw: bytes) -> None:
    """Refuse JSON that is too deep or has too many keys or values, before anything is built of it."""
    keys, brackets = raw.count(b":"), raw.count(b"[") + raw.count(b"{")
    if keys > MOST_KEYS or brackets + raw.count(b",") > MOST_VALUES:
        raise TooComplexError(f"more than {MOST_KEYS:,} keys or {MOST_VALUES:,} values")
    if brackets > MOST_DEPTH and _depth(raw) > MOST_DEPTH:
        raise TooComplexError(f"nested more than {MOST_DEPTH} deep")


def read_json(path: Path, most_bytes: int = MOST_BYTES) -> Any:
    """Read a JSON file; raises ``OSError`` or ``ValueError``."""
    return parse_json(_read(path, most_bytes))


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; anything wrong with it is a ``ValueError``.

    >>> parse_toml("a = 1")
    {'a': 1}
    >>> parse_toml("a = " + "[" * 10_000)
    Traceback (most recent call last):
    spoofspan.base.documents.TooComplexError: nested more than 64 deep
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    if len(text) > MOST_BYTES_TOML:
        raise TooComplexError(f"more than {MOST_BYTES_TOML:,} characters")
    # a key in parts is on one line; tomllib keeps all its beginnings, gigabytes of a key of 20,000 parts
    if any(line.count(".") > MOST_DEPTH for line in text.splitlines()):
        raise TooComplexError(f"nested more than {MOST_DEPTH} deep")
    try:
        found: dict[str, Any] = tomllib.loads(text)
    except RecursionError:
        raise TooComplexError(f"nested more than {MOST_DEPTH} deep") from None
    level: list[Any] = [found]
    for _ in range(MOST_DEPTH):
        inner = (one.values() if isinstance(one, dict) else one for one in level)
        level = [one for values in inner for one in values if isinstance(one, dict | list)]
        if not level:
            return found
    raise TooComplexError(f"nested more than {MOST_DEPTH} deep")


def read_text(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """Read a text file that is held whole; raises ``OSError`` or ``ValueError``."""
    return _read(path, most_bytes).decode("utf-8")


def _read(path: Path, most_bytes: int) -> bytes:
    with path.open("rb") as stream:
        pieces = []
        while piece := stream.read(PIECE):  # to read(n), Python gives n bytes at once
            pieces.append(piece)
            if sum(map(len, pieces)) > most_bytes:
                raise TooComplexError(f"more than {most_bytes:,} bytes")
    return b"".join(pieces)


def _depth(data: bytes) -> int:
    """Nesting depth of brackets, those within strings left out."""
    bare = np.frombuffer(_STRING.sub(b"", data), np.uint8)
    deepest = level = 0
    for first in range(0, bare.size, PIECE):
        levels = level + np.cumsum(_STEPS[bare[first : first + PIECE]], dtype=np.int64)
        deepest, level = max(deepest, int(levels.max())), int(levels[-1])
    return deepest

"""JSON, TOML and YAML.

Both parsers of the standard library recurse, so a few thousand brackets end in a ``RecursionError``, here or later when
the data are printed. Every document passes through this module instead: nested at most 64 deep, with a bounded number
of keys and values, and any fault is a ``ValueError`` for the caller to name the file in.

YAML is read as far as a small record needs it, and written with all text in quotes; no package is needed for either.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
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
# key: value, possibly indented; a colon within a key is not followed by a space
_YAML_LINE = re.compile(r"(  )?([A-Za-z][^\s:\"#]*(?::[^\s:\"#]+)*):(?: +(\S.*))?")
_YAML_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
# text that every version of YAML reads as such without quotes; no word for a truth value or null
_YAML_PLAIN = re.compile(r"(?!(?:true|false|yes|no|on|off|null|y|n)$)[A-Za-z](?:[^:#]|:(?! |$)|(?<! )#)*", re.I)
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


def parse_yaml(text: str) -> dict[str, Any]:
    r"""Parse a small record in YAML; any other YAML, and anything wrong, is a ``ValueError``.

    Lines are ``key: value``, or a key alone and further lines below it, indented by two spaces. A value is a number,
    plain text, or text in double quotes as in JSON. Comments have lines of their own.

    >>> parse_yaml("source: Table 3\nvalues:\n  range-eer: 30.40")
    {'source': 'Table 3', 'values': {'range-eer': 30.4}}
    >>> parse_yaml("set: no")
    Traceback (most recent call last):
    ValueError: line 1: put the text in double quotes: "no"
    """
    found: dict[str, Any] = {}
    below: dict[str, Any] | None = None
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        parts = _YAML_LINE.fullmatch(line.rstrip())
        if parts is None or not _YAML_PLAIN.fullmatch(parts[2]):
            raise ValueError(
                f"line {number}: write 'key: value', or two spaces before it where it belongs to a key above"
            )
        indent, key, value = parts.groups()
        if indent and below is None:
            raise ValueError(f"line {number}: {key} is indented, and no key above it has lines below")
        record = below if indent and below is not None else found
        if key in record:
            raise ValueError(f"line {number}: {key} is given twice")
        if not indent:
            below = {} if value is None else None
        elif value is None:
            raise ValueError(f"line {number}: {key} has no value")
        record[key] = below if value is None else _yaml_value(value, number)
    if empty := [key for key, value in found.items() if value == {}]:
        raise ValueError(f"{empty[0]} has no value")
    return found


def _yaml_value(text: str, line: int) -> Any:
    if _YAML_NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    if text.startswith('"'):
        try:
            return json.loads(text)
        except ValueError:
            raise ValueError(f"line {line}: the text in double quotes is not as in JSON") from None
    if not _YAML_PLAIN.fullmatch(text):
        raise ValueError(f"line {line}: put the text in double quotes: {json.dumps(text, ensure_ascii=False)}")
    return text


def yaml_text(plain: Any) -> str:
    """Write plain data as YAML, all text in double quotes.

    >>> print(yaml_text({"system": {"name": "ours: a"}, "values": [{"eer": 5.2}]}), end="")
    system:
      name: "ours: a"
    values:
      - eer: 5.2
    """
    return "\n".join(_yaml_lines(plain)) + "\n"


def _yaml_lines(plain: Any) -> list[str]:
    lines = []
    if isinstance(plain, dict) and plain:
        for key, value in plain.items():
            inner = _yaml_lines(value)
            is_plain = key.isprintable() and _YAML_LINE.fullmatch(f"{key}:") and _YAML_PLAIN.fullmatch(key)
            name = key if is_plain else _yaml_scalar(key)
            deeper = isinstance(value, dict | list) and value
            lines += [f"{name}:", *(f"  {line}" for line in inner)] if deeper else [f"{name}: {inner[0]}"]
    elif isinstance(plain, list) and plain:
        for value in plain:
            first, *rest = _yaml_lines(value)
            lines += [f"- {first}", *(f"  {line}" for line in rest)]
    else:
        lines = [_yaml_scalar(plain)]
    return lines


def _yaml_scalar(value: Any) -> str:
    """A value as in JSON, except where YAML would read that differently."""
    written = json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        if not np.isfinite(value):
            return {"NaN": ".nan", "Infinity": ".inf", "-Infinity": "-.inf"}[written]
        return written if "." in written else written.replace("e", ".0e")  # 1e-05 is text to older versions
    # YAML has no place for control characters and unpaired surrogates, and ends lines at some others
    return "".join(
        f"\\U{ord(c):08x}" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Cn", "Co") else c
        for c in written
    )


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

"""Recognition: what a format states of the first bytes of its files, and one look at these bytes for all formats.

A format states how its files begin (:class:`Begins`) or what the fields of its lines are (:class:`Lines`). Only where
that is so, and does not suffice, does a function of its own look further. The text, the lines and the fields of the
first 64 KiB are found once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from spoofspan.formats.sources import HEAD_BYTES
from spoofspan.formats.text.lines import is_finite

Field = Callable[[str], object]  # true of the fields of a kind
Recognises = Callable[[bytes], bool]
# how many lines are looked at to recognise a format of scores, and one of references
SCORE_LINES_LOOKED_AT, REFERENCE_LINES_LOOKED_AT = 200, 20

# ---------------------------------------------------------------- first bytes


@lru_cache(4)
def text_of(head: bytes) -> str:
    """Decode the first bytes of a text file up to the last whole line; empty if it is no text."""
    whole = head.rpartition(b"\n")[0] if b"\n" in head[:-1] and len(head) >= HEAD_BYTES else head
    try:
        text = whole.decode("utf-8-sig")
    except UnicodeDecodeError:
        return ""
    return "" if "\0" in text else text


def beginning(head: bytes) -> str:
    """The text of the first bytes, also where they end within the only line of a file, even within a character."""
    return text_of(head) or head[:-3].decode("utf-8", "ignore")


@lru_cache(4)
def _text_after_blanks(head: bytes) -> str:
    return beginning(head).lstrip("\ufeff \t\r\n")


@lru_cache(4)
def first_lines(head: bytes) -> Sequence[str]:
    """The first lines that are not blank; none if it is no text."""
    lines = (line.rstrip("\r") for line in text_of(head).split("\n"))
    return tuple(islice((line for line in lines if line.strip()), SCORE_LINES_LOOKED_AT))


def first_line(head: bytes) -> str:
    """The first line that is not blank; empty if there is none, or this is no text."""
    return "".join(first_lines(head)[:1])


@lru_cache(16)
def first_rows(head: bytes, cut: Callable[[str], list[str]]) -> Sequence[list[str]]:
    """The fields of the first lines."""
    return [cut(line) for line in first_lines(head)]


@lru_cache(4)
def first_object(head: bytes) -> dict[str, Any]:
    """The JSON object that a file begins with, alone, on its first line or in a list; empty if the head ends in it."""
    text = beginning(head).removeprefix("\ufeff").lstrip()
    try:
        found, _ = json.JSONDecoder().raw_decode(text.removeprefix("[").lstrip())
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


# ---------------------------------------------------------------- statements


@dataclass(frozen=True)
class Begins:
    """Files that begin as a regular expression says; ``also`` looks further where they do.

    An expression of bytes is of the first of all, one of text of the first characters that are not blank.
    """

    pattern: bytes | str
    also: Recognises | None = None

    def __call__(self, head: bytes) -> bool:
        """True if a file begins so."""
        if isinstance(self.pattern, bytes):
            found = re.match(self.pattern, head) is not None
        else:
            found = re.match(self.pattern, _text_after_blanks(head)) is not None
        return found and (self.also is None or self.also(head))


@dataclass(frozen=True)
class Lines:
    """Text whose first lines have these fields, all of them or ``most``.

    With ``most``, a header or one bad line is for the reader to report.
    """

    fields: Sequence[Field]
    cut: Callable[[str], list[str]] = str.split
    least: int | None = None  # number of fields, if the last ones may be missing
    more: bool = False  # other fields may follow
    comment: str = ""
    most: bool = False
    each: Callable[[list[str]], bool] | None = None  # looks further at a line
    rows: Callable[[Sequence[list[str]]], bool] | None = None  # looks further at all of them

    def __call__(self, head: bytes) -> bool:
        """True if the first lines of a file have the fields."""
        return self.fit(first_rows(head, self.cut))

    def fit(self, rows: Sequence[list[str]]) -> bool:
        """True if these lines have the fields."""
        if self.comment:
            rows = [row for row in rows if not row[0].startswith(self.comment)]
        looked_at = rows[:REFERENCE_LINES_LOOKED_AT] if self.most else rows
        if self.most:
            found = sum(map(self.fits, looked_at)) * 2 > len(looked_at)
        else:
            found = bool(rows) and all(map(self.fits, rows))
        return found and (self.rows is None or self.rows(rows))

    def fits(self, row: list[str]) -> bool:
        """True if one line has the fields."""
        least = len(self.fields) if self.least is None else self.least
        return (
            least <= len(row)
            and (self.more or len(row) <= len(self.fields))
            and all(test(field) for test, field in zip(self.fields, row, strict=False))
            and (self.each is None or self.each(row))
        )


def at_spaces(line: str) -> list[str]:
    """Cut a line at white space, if there are no tabs in it."""
    return [] if "\t" in line else line.split()


def at_separators(line: str) -> list[str]:
    """Cut a line at commas, or else at tabs, or else at white space."""
    return [field.strip() for field in line.split("," if "," in line else "\t" if "\t" in line else None)]


def at_tabs(line: str) -> list[str]:
    """Cut a line at tabs."""
    return line.split("\t")


# Kinds of fields.


def anything(field: str) -> bool:
    """True of every field."""
    return True


def is_name(field: str) -> bool:
    """True if a field is no number, and so may name something."""
    return not is_finite(field)


def is_seconds(field: str) -> bool:
    """True if a field is a time or a duration."""
    return is_finite(field) and float(field) >= 0


def one_of(*words: str) -> Field:
    """The fields that are one of these words."""
    return frozenset(words).__contains__

"""Lines of text files: the fields of a line with its place, and what most formats ask of a field.

A reader walks :func:`lines_of` its sources and notes what is wrong in a Problems; it states only its own fields, checks
and messages.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from spoofspan.base.errors import DataError, Problems
from spoofspan.formats.sources import Source

# float() alone would also take 1_000 and digits of other scripts
NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan)", re.ASCII | re.IGNORECASE)

MOST_FIELDS = 1 << 20


class Line(NamedTuple):
    """A line that is not blank, and its fields."""

    place: str  # file:12
    number: int
    text: str
    fields: list[str]

    @property
    def hint(self) -> str:
        """Things to say of a line that cannot be read: without any digit, at the top, it is probably a header."""
        return " (a header line? remove it)" if self.number == 1 and not re.search(r"\d", self.text) else ""


def lines_of(
    sources: Iterable[Source],
    separator: str | None = None,
    *,
    comment: str | None = None,
    problems: Problems | None = None,
    empty: str = "the file is empty",
) -> Iterator[Line]:
    """Yield the lines of some files; fields stand between white space, or between separators.

    Lines that begin with ``comment`` are skipped. With ``problems``, a file without lines is one of them.
    """
    for source in sources:
        number = 0
        for number, text in source.lines():
            if comment is None or not text.startswith(comment):
                place = f"{source.name}:{number}"
                yield Line(place, number, text, fields_of(text, separator, place))
        if not number and problems is not None:
            problems.add(f"{source.name}: {empty}")


def fields_of(text: str, separator: str | None, place: str) -> list[str]:
    """Cut a line at separators that are not in quotes, or at white space.

    A line that would take far more memory than its text is refused.
    """
    if separator is not None and '"' in text:
        try:
            return [field.strip() for field in next(csv.reader([text], delimiter=separator))]
        except csv.Error as error:
            raise DataError(f"{place}: {error}; correct the file") from None
    fields = text.split(separator, MOST_FIELDS)
    if len(fields) > MOST_FIELDS:
        raise DataError(f"{place}: the line has more than {MOST_FIELDS:,} fields; is this a text file?")
    return fields if separator is None else [field.strip() for field in fields]


# ---------------------------------------------------------------- fields


def plain_number(text: str) -> float | None:
    """Read a number; None if it is none.

    >>> plain_number("1e-05"), plain_number("0,5"), plain_number("1_000")
    (1e-05, None, None)
    """
    text = text.strip()  # of more kinds of white space than float
    return float(text) if is_number(text) else None


def is_number(text: str) -> bool:
    """True if a field is a number, which may be infinite or NaN.

    >>> is_number("-1.5e-3"), is_number("0,5"), is_number("1_000")
    (True, False, False)
    """
    return NUMBER.fullmatch(text) is not None


def is_finite(text: str) -> bool:
    """True if a field is a finite number.

    >>> is_finite("1e-05"), is_finite("0,5"), is_finite("nan")
    (True, False, False)
    """
    value = plain_number(text)
    return value is not None and math.isfinite(value)


def score_of(text: str, place: str, problems: Problems) -> float:
    """Read one score; NaN (and a problem) if it is none."""
    if not is_number(text):
        hint = "use a decimal point" if re.fullmatch(r"[+-]?\d+,\d+", text) else "it must be a number"
        problems.add(f"{place}: the score {text[:40]!r} cannot be read; {hint}")
        return math.nan
    value = float(text)
    if math.isnan(value):
        problems.add(f"{place}: the score is NaN; find out why the system gave no number there")
    return value


def is_header(fields: Iterable[str]) -> bool:
    """True if fields that should be numbers are words, as in a header.

    >>> is_header(["frame", "score"]), is_header(["0,5"]), is_header(["nan"])
    (True, False, False)
    """
    return not any(is_number(field) or any(map(str.isdigit, field)) for field in fields)


def wrong_width(place: str, fields: Sequence[str], expected: str) -> str:
    """Say that a line has too few or too many fields."""
    number = f"{len(fields)} field{'s' * (len(fields) != 1)}"
    return f"{place}: utterance {fields[0].strip()[:40]!r}: {number} instead of {expected}"


def check_word(utterance: str, name: str) -> None:
    """Refuse an id with white space, which a format of this name would cut."""
    if utterance.split() != [utterance]:
        raise DataError(f"utterance {utterance!r} cannot be written as {name}: its id has white space")

"""Fields of score files: a number, the column of a class, and what its high values mean."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from spoofspan.base.errors import Problems, UsageError, nearest_name
from spoofspan.data.scores import Higher
from spoofspan.formats.format import ReadOptions, text_of

# float() alone would also take 1_000 and digits of other scripts
NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan)", re.ASCII | re.IGNORECASE)
LINES_LOOKED_AT = 200


def is_number(text: str) -> bool:
    """Whether a field is a number.

    >>> is_number("-1.5e-3"), is_number("0,5"), is_number("1_000")
    (True, False, False)
    """
    return NUMBER.fullmatch(text) is not None


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
    """Whether fields that should be numbers are words, as in a header.

    >>> is_header(["frame", "score"]), is_header(["0,5"]), is_header(["nan"])
    (True, False, False)
    """
    return not any(is_number(field) or any(map(str.isdigit, field)) for field in fields)


def wrong_width(place: str, fields: Sequence[str], expected: str) -> str:
    """Say that a line has too few or too many fields."""
    number = f"{len(fields)} field{'s' * (len(fields) != 1)}"
    return f"{place}: utterance {fields[0].strip()[:40]!r}: {number} instead of {expected}"


def class_column(columns: Mapping[str, int], options: ReadOptions) -> tuple[int, Higher]:
    """Choose between the columns of the two classes: the spoof column, unless ``options.column`` says otherwise."""
    name = "spoof" if options.column is None else options.column
    if name not in columns:
        raise UsageError(f"no column {name!r}: {nearest_name(name, columns)}")
    higher: Higher = "bonafide" if name == "bonafide" else "spoof"
    return columns[name], polarity(higher, options, f"the column {name!r}")


def polarity(stated: Higher, options: ReadOptions, what: str) -> Higher:
    """Return what high values mean in this format, refusing a user's word against it."""
    if options.higher not in (None, stated):
        raise UsageError(
            f"high values of {what} mean {stated}, not {options.higher}; leave higher= (--higher) out, or choose "
            "another column= (--column) or format"
        )
    return stated


def first_lines(head: bytes) -> list[str]:
    """Return the first lines that are not blank, for recognising a format; none if it is no text."""
    lines = (line.rstrip("\r") for line in text_of(head).split("\n"))
    return list(islice((line for line in lines if line.strip()), LINES_LOOKED_AT))

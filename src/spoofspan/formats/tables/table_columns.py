"""Columns of a table as checked arrays: every problem keeps its row and its utterance.

In typed tables integer times are nanoseconds and float times are seconds; text is never taken for a number. A missing
value is a null; a problem with it is found here or by whoever asked for the column, never passed on.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags
from spoofspan.base.errors import DataError, Problems
from spoofspan.base.times import SECOND, Int64, is_rounded, seconds_text, warn_of_rounded_times
from spoofspan.formats.tables.corpus_tables import Column, Numbers, Part, Texts
from spoofspan.formats.text.rows import SUSPICIOUS_SECONDS


@dataclass(frozen=True)
class Times:
    """A column of times in ns; ``missing`` is None where none is."""

    ns: Int64
    missing: Flags | None
    were_integers: bool


class PartColumns:
    """The columns of one part, with its problems."""

    def __init__(self, part: Part, names: Sequence[str]) -> None:
        self.part = part
        self.problems = Problems()
        found = part.column_names
        for name in names:
            if (count := found.count(name)) > 1:
                raise DataError(f"{part.name}: {count} columns are called {name!r}; keep one")
        self.names: set[str] = set(found)
        self.require(("utterance",))
        if not part.table.size:
            raise DataError(f"{part.name}: the table has no rows; there is nothing to measure")
        self.utterances = Texts(np.full(part.table.size, -1, np.int32), [])
        self.utterances = self._utterances()

    def require(self, wanted: Iterable[str], hint: str = "") -> None:
        """Refuse a table without these columns, naming what was found."""
        if missing := [name for name in wanted if name not in self.names]:
            raise DataError(f"{self.part.name}: {missing_columns(missing, self.part.column_names)}{hint}")

    def _utterances(self) -> Texts:
        texts = self.texts("utterance", "ids are text")
        self.note(np.flatnonzero(texts.codes < 0), lambda row: "no utterance id")
        if "" in texts.values:
            self.note(np.flatnonzero(texts.codes == texts.values.index("")), lambda row: "the utterance id is empty")
        self.stop_if_any()
        return texts

    def note(self, rows: npt.NDArray[Any], describe: Callable[[int], str]) -> None:
        """Note a problem with each of these rows."""
        self.note_texts(rows, map(describe, map(int, rows)))

    def note_texts(self, rows: npt.NDArray[Any], texts: Iterable[str]) -> None:
        """Note a problem with each of these rows, one text for each."""

        def place(row: int) -> str:
            owner = self.utterances.at(row)
            return self.part.place(row) + (f", utterance {owner!r}" if owner else "")

        pairs = zip(rows, texts, strict=False)  # texts may be one without end
        self.problems.extend((f"{place(int(row))}: {text}" for row, text in pairs), rows.size)

    def column(self, name: str) -> Column:
        """The column of this name."""
        return self.part.table.columns[name]

    def missing(self, name: str) -> Flags | None:
        """Rows of a column that are null; None where none is."""
        return self.column(name).missing

    def stop_if_any(self, remedy: str = "correct the data") -> None:
        """Raise if there are problems so far."""
        self.problems.raise_if_any(remedy)

    def texts(self, name: str, meaning: str, *, empty_is_missing: bool = False, numbers: bool = False) -> Texts:
        """Take a column of text; ``numbers`` become text if allowed."""
        column = self.column(name)
        if isinstance(column, Numbers) and column.are_unknown:
            return Texts(np.full(len(column), -1, np.int32), [])
        if isinstance(column, Numbers) and numbers and column.values.dtype.kind in "iufb":
            distinct, codes = np.unique(column.values, return_inverse=True)
            codes = codes if column.missing is None else np.where(column.missing, -1, codes)
            return Texts(
                codes.astype(np.int32),
                [f"{value:g}" if isinstance(value, float) else str(int(value)) for value in distinct.tolist()],
            )
        if not isinstance(column, Texts):
            raise DataError(f"{self.part.name}: column {name!r} is of type {column.kind}; {meaning}: make it text")
        if empty_is_missing and "" in column.values:
            empty = column.values.index("")
            own = np.arange(-1, len(column.values), dtype=np.int32)  # the code of each code, counted from -1
            own[empty + 1] = -1
            own[empty + 2 :] -= 1
            return Texts(own[column.codes + 1], [text for text in column.values if text])
        return column

    def times(self, name: str) -> Times:
        """Take a column of times: integers are ns, floats are seconds."""
        column = self.column(name)
        if not isinstance(column, Numbers) or column.values.dtype.kind == "b":
            raise DataError(
                f"{self.part.name}: column {name!r} is of type {column.kind}; times are floats (seconds) or integers "
                "(nanoseconds): convert the column"
            )
        given, missing = column.values, column.missing
        if given.dtype.kind in "iu":
            if given.dtype == np.uint64 and given.size and given.max() > np.iinfo(np.int64).max:
                raise DataError(f"{self.part.name}: a time does not fit ({given.max()} ns); correct the data")
            return Times(given.astype(np.int64, copy=False), missing, True)
        seconds = given.astype(np.float64, copy=False)
        with np.errstate(invalid="ignore"):
            bad = ~(np.abs(seconds) <= SUSPICIOUS_SECONDS)
        if bad.any():
            self.note(np.flatnonzero(bad), lambda row: f"{name} {_doubtful(float(seconds[row]))}")
            seconds = np.where(bad, 0.0, seconds)
        elif name in ("start", "end", "duration") and is_rounded(seconds.astype(given.dtype)):
            warn_of_rounded_times(given.dtype)
        return Times(np.rint(seconds * SECOND).astype(np.int64), missing, False)

    def bare_rows(self, parts: dict[str, Flags | None]) -> Flags | None:
        """Rows that have none of these values; a row with only some of them is a problem."""
        if all(missing is None for missing in parts.values()):
            return None
        none = np.zeros(self.part.table.size, np.bool_)
        masks = {name: none if missing is None else missing for name, missing in parts.items()}
        bare: Flags = np.logical_and.reduce(list(masks.values()))
        for name, mask in masks.items():
            self.note_texts(np.flatnonzero(mask & ~bare), repeat(f"{name} is missing (null or NaN)"))
        return bare

    def check_ranges(self, starts: Times, ends: Times) -> None:
        """Note ranges that no rule could make sense of."""

        def falls(row: int) -> str:
            return f"the range ends before it starts ({seconds_text(starts.ns[row])} > {seconds_text(ends.ns[row])})"

        early = np.flatnonzero(starts.ns < 0)
        self.note(early, lambda row: f"the range starts before 0 ({seconds_text(starts.ns[row])})")
        self.note(np.flatnonzero(ends.ns < starts.ns), falls)

    def refuse_tiny_integers(self, ends: Times) -> None:
        """Integers are ns; where the longest is below a millisecond they are something else."""
        longest = int(ends.ns.max(initial=0))
        if ends.were_integers and 0 < longest < SECOND // 1000 and not self.part.stated:
            raise DataError(
                f"{self.part.name}: integer times are nanoseconds, and the longest end is {longest} ns; if these "
                "are seconds, milliseconds or samples, make them floats in seconds"
            )


def missing_columns(missing: Sequence[str], found: Sequence[str]) -> str:
    """Say which columns are missing, which there are, and which was probably meant.

    >>> missing_columns(["utterance"], ["utt", "start"])
    "no column 'utterance' (found: 'utt', 'start'); rename 'utt' to 'utterance'"
    """
    names = ", ".join(repr(name) for name in missing)
    listing = ", ".join(repr(name) for name in found[:20]) + (", ..." if len(found) > 20 else "")
    text = f"no column {names} (found: {listing or 'none'})"
    for name in missing:
        for close in difflib.get_close_matches(name, found, n=1, cutoff=0.5):
            text += f"; rename {close!r} to {name!r}"
    return text


def _doubtful(seconds: float) -> str:
    if not np.isfinite(seconds):
        return f"is not a time ({seconds})"
    return f"is over a day ({seconds} s); are these milliseconds, samples or nanoseconds?"

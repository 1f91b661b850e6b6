"""Columns of an Arrow table as checked arrays: every problem keeps its row and its utterance.

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
from spoofspan.base.documents import parse_json
from spoofspan.base.errors import DataError, Problems
from spoofspan.base.times import SECOND, Int64, is_rounded, seconds_text, warn_of_rounded_times
from spoofspan.formats import arrow as pa
from spoofspan.formats.tables.arrow_tables import METADATA_KEY, METADATA_VERSION
from spoofspan.formats.text.rows import SUSPICIOUS_SECONDS

TEXT_TYPES = ("string", "large_string", "string_view")


@dataclass(frozen=True)
class Part:
    """One table of a corpus (often: one file), and how messages name it and its rows."""

    table: Any
    name: str = "the table"
    first_line: int | None = None  # the line of row 0, in text where every row is one line
    all_columns: Sequence[str] = ()  # where only some of them were read
    rows: Int64 | None = None  # which rows of the file these are, if not all

    @property
    def column_names(self) -> list[str]:
        """The columns that there are, read or not."""
        return list(self.all_columns or self.table.column_names)

    def place(self, row: int) -> str:
        """Say where a row is: its line, or its number counted from 1."""
        number = row if self.rows is None else int(self.rows[row])
        line = self.first_line
        return f"{self.name}, row {number + 1}" if line is None else f"{self.name}:{number + line}"

    def metadata(self) -> dict[str, Any]:
        """What a table that spoofspan wrote says about itself; empty for other tables."""
        if (packed := (self.table.schema.metadata or {}).get(METADATA_KEY)) is None:
            return {}
        try:
            stated = parse_json(packed)
        except ValueError:
            stated = None
        if not isinstance(stated, dict) or not isinstance(stated.get("version"), int):
            raise DataError(f"{self.name}: its metadata 'spoofspan' cannot be read; write the file again")
        if stated["version"] > METADATA_VERSION:
            raise DataError(f"{self.name}: written by a newer spoofspan; update spoofspan to read it")
        return stated


@dataclass(frozen=True)
class Texts:
    """A column of text as codes into its distinct values; -1 where it is missing."""

    codes: npt.NDArray[np.int32]
    values: list[str]

    @property
    def missing(self) -> Flags | None:
        """Which rows have none; None where all have one."""
        missing = self.codes < 0
        return missing if missing.any() else None

    def at(self, row: int) -> str | None:
        """Return the text of a row."""
        code = int(self.codes[row])
        return None if code < 0 else self.values[code]


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
        if not part.table.num_rows:
            raise DataError(f"{part.name}: the table has no rows; there is nothing to measure")
        try:  # refuse damaged columns before anything trusts their offsets
            part.table.select(sorted(self.names.intersection(names))).validate(full=True)
        except pa.ArrowException as error:
            raise DataError(f"{part.name}: the table is damaged or not UTF-8 ({error}); write it again") from None
        self.utterances = Texts(np.full(part.table.num_rows, -1, np.int32), [])
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

    def column(self, name: str) -> Any:
        """The column of this name, in chunks."""
        return self.part.table.column(name)

    def missing(self, name: str) -> Flags | None:
        """Which rows of a column are null; None where none is."""
        column = self.column(name)
        return flat(column.is_null()) if column.null_count else None

    def stop_if_any(self, remedy: str = "correct the data") -> None:
        """Raise if there are problems so far."""
        self.problems.raise_if_any(remedy)

    def texts(self, name: str, meaning: str, *, empty_is_missing: bool = False, numbers: bool = False) -> Texts:
        """Take a column of text, plain or as a dictionary; ``numbers`` become text if allowed."""
        column = self.column(name)
        if numbers:
            column = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
            if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
                column = column.cast(pa.string())
        dictionary = pa.types.is_dictionary(column.type)
        kind = column.type.value_type if dictionary else column.type
        if pa.types.is_null(kind):
            return Texts(np.full(len(column), -1, np.int32), [])
        if str(kind) not in TEXT_TYPES:
            raise DataError(f"{self.part.name}: column {name!r} is of type {column.type}; {meaning}: make it text")
        if not dictionary:
            plain = column.cast(pa.large_string()) if str(kind) == "string_view" else column
            column = plain.dictionary_encode()
        return encoded_texts(column, empty_is_missing=empty_is_missing)

    def times(self, name: str) -> Times:
        """Take a column of times: integers are ns, floats are seconds."""
        column = self.column(name)
        kind, missing = column.type, self.missing(name)
        integers, floats = pa.types.is_integer(kind), pa.types.is_floating(kind)
        if not (integers or floats or pa.types.is_decimal(kind) or pa.types.is_null(kind)):
            raise DataError(
                f"{self.part.name}: column {name!r} is of type {kind}; times are floats (seconds) or integers "
                "(nanoseconds): convert the column"
            )
        if not floats and kind != pa.int64():
            try:
                column = column.cast(pa.int64() if integers else pa.float64())
            except pa.ArrowInvalid as error:
                raise DataError(f"{self.part.name}: a time does not fit ({error}); correct the data") from None
        if integers:
            return Times(flat(column if missing is None else column.fill_null(0)), missing, True)
        given = flat(column)
        seconds = given.astype(np.float64, copy=False)
        if missing is not None:
            seconds = np.where(missing, 0.0, seconds)
        with np.errstate(invalid="ignore"):
            bad = ~(np.abs(seconds) <= SUSPICIOUS_SECONDS)
        if bad.any():
            self.note(np.flatnonzero(bad), lambda row: f"{name} {_doubtful(float(seconds[row]))}")
            seconds = np.where(bad, 0.0, seconds)
        elif name in ("start", "end", "duration") and is_rounded(seconds.astype(given.dtype)):
            warn_of_rounded_times(given.dtype)
        return Times(np.rint(seconds * SECOND).astype(np.int64), missing, False)

    def bare_rows(self, parts: dict[str, Flags | None]) -> Flags | None:
        """Which rows have none of these values; a row with only some of them is a problem."""
        if all(missing is None for missing in parts.values()):
            return None
        none = np.zeros(self.part.table.num_rows, np.bool_)
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
        if ends.were_integers and 0 < longest < SECOND // 1000 and not self.part.metadata():
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


def flat(column: Any) -> npt.NDArray[Any]:
    """One array of a column without nulls; without a copy where it has one chunk of numbers."""
    return flat_array(one_array(column))


def encoded_texts(column: Any, *, empty_is_missing: bool = False) -> Texts:
    """The texts of a dictionary column."""
    # one dictionary for all chunks; each may come with all ids of the corpus
    encoded = one_array(column.unify_dictionaries())
    found = encoded.dictionary.to_pylist()
    index = encoded.indices
    some_missing = index.null_count or encoded.dictionary.null_count or (empty_is_missing and "" in found)
    if not some_missing and len(set(found)) == len(found):
        return Texts(flat_array(index).astype(np.int32, copy=False), found)
    values = [text for text in dict.fromkeys(found) if text is not None and (text or not empty_is_missing)]
    codes = {text: code for code, text in enumerate(values)}
    own = [codes.get(text, -1) for text in found] + [-1]  # index -1: null
    index = index.cast(pa.int64(), safe=False).fill_null(-1) if index.null_count else index
    return Texts(np.array(own, np.int32)[flat_array(index)], values)


def flat_array(array: Any) -> npt.NDArray[Any]:
    """An Arrow array as a numpy one."""
    if array.null_count == 0 and (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
        # without a copy; to_numpy would import pandas wherever it is installed, which takes half a second
        return np.from_dlpack(array)
    return array.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def items_of(lists: Any) -> tuple[Any, npt.NDArray[Any]]:
    """The items of lists, of which none is null, and where among them each list begins and the last one ends.

    What ``flatten`` gives, which would import pyarrow.compute.
    """
    if pa.types.is_fixed_size_list(lists.type):
        return lists.flatten(), np.arange(len(lists) + 1) * lists.type.list_size
    offsets = flat_array(lists.offsets)
    return lists.values.slice(offsets[0], offsets[-1] - offsets[0]), offsets - offsets[0]


def one_array(column: Any) -> Any:
    """Join the chunks of a column; one chunk is taken as it is."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _doubtful(seconds: float) -> str:
    if not np.isfinite(seconds):
        return f"is not a time ({seconds})"
    return f"is over a day ({seconds} s); are these milliseconds, samples or nanoseconds?"

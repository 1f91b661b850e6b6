"""A corpus as a table in memory: NumPy columns, and which of them references and scores have.

Files and data frames of every kind become such tables, and are written from them; :mod:`arrow_tables` translates from
and to Arrow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags, offsets_of, rows_from, rows_of
from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.times import SECOND, Int64
from spoofspan.data.references import LABELS, References
from spoofspan.data.scores import Scores
from spoofspan.formats.column_names import is_alias, table_names, table_polarity
from spoofspan.formats.text.rows import is_unicode

TEXTS = ("utterance", "label", "attack", "higher")  # columns of words; all others are numbers


@dataclass(frozen=True)
class Schema:
    """The columns of one kind of content."""

    columns: tuple[str, ...]
    telling: frozenset[str]  # a table with one of these columns has this content
    grammar: str

    def fits(self, names: Collection[str]) -> bool:
        """True if a table with these columns may have this content: a column tells so, or none tells anything."""
        return bool(self.telling & set(names)) or not (REFERENCES.telling | SCORES.telling) & set(names)


REFERENCES = Schema(
    ("utterance", "start", "end", "label", "attack", "duration", "labels", "hop"),
    frozenset({"label", "labels"}),
    "columns utterance, start, end, label[, attack, duration] or utterance, labels (a list)",
)
SCORES = Schema(
    ("utterance", "start", "end", "frame", "score", "scores", "hop", "origin", "window", "higher"),
    frozenset({"score", "scores"}),
    "columns utterance, start, end, score or utterance, frame, score or utterance, scores (a list)",
)


class Wanted(tuple[str, ...]):
    """Columns to read; one of another name for the same thing is in it too, unless text is asked about its own names.

    >>> "utt_id" in Wanted(("utterance", "start")), "note" in Wanted(("utterance", "start"))
    (True, False)
    """

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and is_alias(name))


# ---------------------------------------------------------------- columns


@dataclass(frozen=True)
class Texts:
    """A column of text as codes into its distinct values; -1 where it is missing."""

    codes: npt.NDArray[np.int32]
    values: list[str]
    kind: str = "string"

    @classmethod
    def of(cls, texts: Iterable[str | None], counts: Int64 | None = None) -> Texts:
        """Encode texts; with ``counts``, each of them stands in so many rows."""
        known: dict[str | None, int] = {None: -1}
        codes = np.array([known.setdefault(text, len(known) - 1) for text in texts], np.int32)
        values = [text for text in known if text is not None]
        return cls(codes if counts is None else np.repeat(codes, counts), values)

    def __len__(self) -> int:
        return self.codes.size

    @property
    def missing(self) -> Flags | None:
        """Rows that have none; None where all have one."""
        missing: Flags = self.codes < 0
        return missing if missing.any() else None

    def at(self, row: int) -> str | None:
        """Return the text of a row."""
        code = int(self.codes[row])
        return None if code < 0 else self.values[code]

    def take(self, rows: Int64) -> Texts:
        """The texts of these rows."""
        used, codes = np.unique(self.codes[rows], return_inverse=True)
        none = int(used.size > 0 and used[0] < 0)
        return Texts((codes - none).astype(np.int32), [self.values[code] for code in used[none:].tolist()], self.kind)

    def to_list(self) -> list[str | None]:
        """The text of every row."""
        return list(map([*self.values, None].__getitem__, self.codes.tolist()))


@dataclass(frozen=True)
class Numbers:
    """A column of numbers, 0 where one is missing; ``missing`` is None where none is."""

    values: npt.NDArray[Any]
    missing: Flags | None = None
    kind: str = ""  # as messages call the type

    @classmethod
    def of(cls, values: Sequence[Any], dtype: type[np.generic]) -> Numbers:
        """A column of these values, of which some may be None."""
        if None not in values:
            return cls(np.array(values, dtype))
        missing = np.array([value is None for value in values])
        return cls(np.array([0 if value is None else value for value in values], dtype), missing)

    def __len__(self) -> int:
        return self.values.size

    def take(self, rows: Int64) -> Numbers:
        """The numbers of these rows."""
        missing = None if self.missing is None else self.missing[rows]
        return replace(
            self, values=self.values[rows], missing=missing if missing is not None and missing.any() else None
        )

    def to_list(self) -> list[Any]:
        """The number of every row, None where it is missing."""
        values = self.values.tolist()
        if self.missing is not None:
            for row in np.flatnonzero(self.missing).tolist():
                values[row] = None
        return values  # type: ignore[no-any-return]

    @property
    def are_unknown(self) -> bool:
        """True if nothing tells the type, as every row is missing."""
        return self.kind == "null"


@dataclass(frozen=True)
class Lists:
    """A column of lists of numbers: those of row i are ``items[offsets[i]:offsets[i + 1]]``."""

    offsets: Int64
    items: Numbers | OtherCells
    missing: Flags | None = None
    kind: str = "list"

    def __len__(self) -> int:
        return self.offsets.size - 1

    def take(self, rows: Int64) -> Lists:
        """The lists of these rows."""
        chosen, offsets = rows_of(self.offsets, rows)
        missing = None if self.missing is None else self.missing[rows]
        return replace(self, offsets=offsets, items=self.items.take(chosen), missing=missing)

    def to_list(self) -> list[Any]:
        """The list of every row, None where it is missing."""
        items, edges = self.items.to_list(), self.offsets.tolist()
        none = np.zeros(len(self), np.bool_) if self.missing is None else self.missing
        return [
            None if empty else items[first:last]
            for first, last, empty in zip(edges[:-1], edges[1:], none.tolist(), strict=True)
        ]


@dataclass(frozen=True)
class OtherCells:
    """A column of a type that no column may have: only its name is of interest, for a message."""

    size: int
    kind: str

    def __len__(self) -> int:
        return self.size

    @property
    def missing(self) -> Flags | None:
        """Nothing is known of its rows."""
        return None

    def take(self, rows: Int64) -> OtherCells:
        """As many rows."""
        return replace(self, size=rows.size)

    def to_list(self) -> list[Any]:
        """Nothing of any row."""
        return [None] * self.size


Column = Texts | Numbers | Lists | OtherCells


@dataclass(frozen=True)
class ColumnTable:
    """Columns of equal length, and what a file states beside them."""

    columns: Mapping[str, Column]
    size: int
    stated: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, columns: Mapping[str, Column], **stated: Any) -> ColumnTable:
        """A table of these columns, which states this."""
        return cls(columns, len(next(iter(columns.values()))), stated)

    def take(self, rows: Int64) -> ColumnTable:
        """The same table with these rows only."""
        return replace(self, columns={name: one.take(rows) for name, one in self.columns.items()}, size=rows.size)


def joined_tables(tables: Sequence[ColumnTable]) -> ColumnTable:
    """Rows of several tables, one after the other; where one has not a column, its rows have no value in it."""
    if len(tables) == 1:
        return tables[0]
    names = dict.fromkeys(name for table in tables for name in table.columns)
    columns = {name: _joined([table.columns.get(name) or _nothing(table.size) for table in tables]) for name in names}
    return ColumnTable(columns, sum(table.size for table in tables), tables[0].stated)


def _nothing(size: int) -> Numbers:
    """A column without any value, of no type."""
    return Numbers(np.zeros(size), np.ones(size, np.bool_), "null")


def _joined(columns: Sequence[Column]) -> Column:
    size = sum(map(len, columns))
    known = [one for one in columns if not (isinstance(one, Numbers) and one.are_unknown)]
    first = (known or columns)[0]
    if isinstance(first, OtherCells) or any(type(one) is not type(first) for one in known):
        return OtherCells(size, " and ".join(dict.fromkeys(one.kind for one in known)))
    if isinstance(first, Texts):
        codes: dict[str, int] = {}
        pieces = []
        for one in columns:
            texts = one if isinstance(one, Texts) else Texts(np.full(len(one), -1, np.int32), [])
            own = [codes.setdefault(text, len(codes)) for text in texts.values]
            pieces.append(np.array([*own, -1], np.int32)[texts.codes])
        return Texts(np.concatenate(pieces), list(codes), first.kind)
    missing = None
    if any(one.missing is not None for one in columns):
        none = (np.zeros(len(one), np.bool_) if one.missing is None else one.missing for one in columns)
        missing = np.concatenate(list(none))
    if isinstance(first, Lists):
        counts = [np.diff(one.offsets) if isinstance(one, Lists) else np.zeros(len(one), np.int64) for one in columns]
        items = _joined([one.items for one in columns if isinstance(one, Lists) and len(one.items)] or [first.items])
        return Lists(offsets_of(np.concatenate(counts)), cast("Numbers | OtherCells", items), missing, first.kind)
    values = [one.values for one in columns if isinstance(one, Numbers)]
    kind = np.result_type(*(one.values for one in known if isinstance(one, Numbers))) if known else first.values.dtype
    return Numbers(np.concatenate(values, dtype=kind, casting="unsafe"), missing, first.kind)


# ---------------------------------------------------------------- a corpus as a table


def table_from_references(references: References, *, text: bool = False) -> ColumnTable:
    """Make a table: one row per range; ``text``: times in seconds, for files without types."""
    rows = _Rows(references.offsets)
    columns: dict[str, Column] = {
        "utterance": rows.ids(references.utterances),
        "start": rows.times(references.starts, text),
        "end": rows.times(references.ends, text),
        "label": Texts(rows.spread(references.labels.astype(np.int32), -1), list(LABELS)),
    }
    if references.attacks is not None:
        attacks = rows.spread(references.attacks.astype(np.int32), -1)
        columns["attack"] = Texts(attacks, _written(references.attack_names))
    if references.durations is not None:
        durations = references.durations[rows.utterance]
        columns["duration"] = Numbers(durations / SECOND if text else durations)
    stated: dict[str, Any] = {"snap": references.snap / SECOND}
    if references.modality is not None:
        stated["modality"] = references.modality
    return ColumnTable.of(columns, **({} if text else stated))


def table_from_scores(scores: Scores, long: bool = True, *, text: bool = False) -> ColumnTable:
    """Make a table: a row per frame or range, or (``long=False``, frames only) a list per utterance.

    ``text`` is for files without types and metadata: times in seconds, scores as float64 (so that their decimals are
    exact), hop and polarity as columns.
    """
    if scores.decisions:
        raise UsageError(
            "a table cannot say that its scores are hard decisions, and an EER could come of it; write hypothesis-rttm"
        )
    if scores.hops is None and not long:
        raise UsageError("scores of ranges have no hop, so they cannot be a list; write them long")
    values = scores.values.astype(np.float64, copy=False) if text else scores.values
    rows = _Rows(scores.offsets) if long else _Rows(np.arange(len(scores) + 1))
    columns: dict[str, Column] = {"utterance": rows.ids(scores.utterances)}
    stated: dict[str, Any] = {"higher": scores.higher}
    if scores.training_resolution is not None and not text:
        stated["training_resolution"] = scores.training_resolution
    if scores.starts is not None and scores.ends is not None:
        columns["start"], columns["end"] = rows.times(scores.starts, text), rows.times(scores.ends, text)
    elif long:
        counts = np.diff(scores.offsets)
        columns["frame"] = rows.numbers(rows_from(np.zeros_like(counts), counts))
    if long:
        columns["score"] = rows.numbers(values)
    else:
        columns["scores"] = Lists(scores.offsets, Numbers(values))
    if scores.hops is not None and scores.origins is not None:
        for name, key, one_each, usual in (
            ("hop", "hop", scores.hops, None),
            ("origin", "start", scores.origins / SECOND, 0.0),
            ("window", "window", np.full(len(scores), np.nan if scores.window is None else scores.window), None),
        ):
            if np.isnan(one_each).all():
                continue
            uniform = bool((one_each == one_each[0]).all())
            if uniform and not text:
                stated[key] = float(one_each[0])
            elif not uniform or one_each[0] != usual:
                columns[name] = Numbers(one_each[rows.utterance])
    if text:
        columns["higher"] = Texts(np.zeros(rows.utterance.size, np.int32), [scores.higher])
    return ColumnTable.of(columns, **({} if text else stated))


def _written(texts: Sequence[str]) -> list[str]:
    """Texts that any file can hold; JSON and Python can hold halves of characters."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        wrong = next(text for text in texts if not is_unicode(text))
        raise DataError(f"{wrong!r} is not valid Unicode, so no table can hold it; rename it") from None
    return list(texts)


class _Rows:
    """Rows of a long table: those of each utterance, or one empty row where it has none."""

    def __init__(self, offsets: Int64) -> None:
        counts = np.diff(offsets)
        shown = np.maximum(counts, 1)
        self.utterance = np.repeat(np.arange(counts.size), shown)
        self.empty: Flags | None = np.repeat(counts == 0, shown) if (counts == 0).any() else None

    def ids(self, utterances: Sequence[str]) -> Texts:
        return Texts(self.utterance.astype(np.int32), _written(utterances))

    def spread(self, values: npt.NDArray[Any], filler: int) -> npt.NDArray[Any]:
        if self.empty is None:
            return values
        spread = np.full(self.empty.size, filler, values.dtype)
        spread[~self.empty] = values
        return spread

    def numbers(self, values: npt.NDArray[Any]) -> Numbers:
        return Numbers(self.spread(values, 0), self.empty)

    def times(self, ns: Int64, text: bool) -> Numbers:
        return self.numbers(ns / SECOND if text else ns)


# ---------------------------------------------------------------- parts of a corpus


@dataclass(frozen=True)
class Part:
    """One table of a corpus (often: one file), and how messages name it and its rows."""

    table: ColumnTable
    name: str = "the table"
    first_line: int | None = None  # the line of row 0, in text where every row is one line
    all_columns: Sequence[str] = ()  # where only some of them were read
    rows: Int64 | None = None  # which rows of the file these are, if not all

    @property
    def column_names(self) -> list[str]:
        """The columns that there are, read or not."""
        return list(self.all_columns or self.table.columns)

    @property
    def stated(self) -> Mapping[str, Any]:
        """Metadata of a file that spoofspan wrote; empty for others."""
        return self.table.stated

    def place(self, row: int) -> str:
        """Say where a row is: its line, or its number counted from 1."""
        number = row if self.rows is None else int(self.rows[row])
        line = self.first_line
        return f"{self.name}, row {number + 1}" if line is None else f"{self.name}:{number + line}"


def with_our_names(part: Part, asked: str | None = None) -> Part:
    """The same table, its columns called as they are here; it states what the name of a score says."""
    found = part.column_names
    ours, higher = table_names(found, asked), table_polarity(found, asked)
    if ours == found and higher is None:
        return part
    renamed = dict(zip(found, ours, strict=True))
    columns = {renamed.get(name, name): column for name, column in part.table.columns.items()}
    stated = part.stated if higher is None else {"higher": higher, **part.stated}
    table = replace(part.table, columns=columns, stated=stated)
    return replace(part, table=table, all_columns=ours if part.all_columns else ())


def joined_parts(pieces: Iterable[Part]) -> Part:
    """All pieces of a file as one part."""
    parts = list(pieces)
    if len(parts) == 1:
        return parts[0]
    names = list(dict.fromkeys(name for part in parts for name in part.all_columns))
    line = parts[0].first_line if len({part.first_line for part in parts}) == 1 else None
    rows = [part.rows for part in parts if part.rows is not None]
    table = joined_tables([part.table for part in parts])
    kept = np.concatenate(rows) if len(rows) == len(parts) else None
    return replace(parts[0], table=table, first_line=line, all_columns=names, rows=kept)

"""A corpus as an Arrow table, for files and data frames: which columns it has, and how it says what they do not."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags, rows_from
from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.times import SECOND, Int64
from spoofspan.data.references import LABELS, References
from spoofspan.data.scores import Scores, Values
from spoofspan.formats import arrow as pa

METADATA_KEY = b"spoofspan"
METADATA_VERSION = 1
TEXTS = ("utterance", "label", "kind", "higher")  # columns of words; all others are numbers


@dataclass(frozen=True)
class Schema:
    """The columns of one kind of content."""

    columns: tuple[str, ...]
    telling: frozenset[str]  # a table with one of these columns has this content
    grammar: str

    def fits(self, names: Collection[str]) -> bool:
        """Whether a table with these columns may have this content: a column tells so, or none tells anything."""
        return bool(self.telling & set(names)) or not (REFERENCES.telling | SCORES.telling) & set(names)


REFERENCES = Schema(
    ("utterance", "start", "end", "label", "kind", "duration"),
    frozenset({"label"}),
    "columns utterance, start, end, label[, kind, duration]",
)
SCORES = Schema(
    ("utterance", "start", "end", "frame", "score", "scores", "hop", "origin", "window", "higher"),
    frozenset({"score", "scores"}),
    "columns utterance, start, end, score or utterance, frame, score or utterance, scores (a list)",
)


def with_metadata(table: Any, stated: dict[str, Any]) -> Any:
    """The same Arrow table, stating this (and nothing else) about itself in the metadata of its schema."""
    packed = {METADATA_KEY: json.dumps({"version": METADATA_VERSION, **stated}).encode()} if stated else None
    return table.replace_schema_metadata(packed)


def table_from_references(references: References, *, text: bool = False) -> Any:
    """Make an Arrow table: one row per range; ``text``: times in seconds, for files without types."""
    rows = _Rows(references.offsets)
    columns: dict[str, Any] = {
        "utterance": rows.ids(references.utterances),
        "start": rows.times(references.starts, text),
        "end": rows.times(references.ends, text),
        "label": pa.array([*LABELS, None], pa.string()).take(pa.array(rows.spread(references.labels, 3))),
    }
    if references.kinds is not None:
        kinds = rows.spread(references.kinds, -1)
        kinds = np.where(kinds < 0, len(references.kind_names), kinds)
        columns["kind"] = _strings([*references.kind_names, None]).take(pa.array(kinds))
    if references.durations is not None:
        durations = references.durations[rows.utterance]
        columns["duration"] = pa.array(durations / SECOND if text else durations)
    stated: dict[str, Any] = {"snap": references.snap / SECOND}
    if references.modality is not None:
        stated["modality"] = references.modality
    return with_metadata(pa.table(columns), {} if text else stated)


def table_from_scores(scores: Scores, long: bool = True, *, text: bool = False) -> Any:
    """Make an Arrow table: a row per frame or range, or (``long=False``, frames only) a list per utterance.

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
    columns: dict[str, Any] = {"utterance": rows.ids(scores.utterances)}
    metadata: dict[str, Any] = {"higher": scores.higher}
    if scores.starts is not None and scores.ends is not None:
        columns["start"], columns["end"] = rows.times(scores.starts, text), rows.times(scores.ends, text)
    elif long:
        counts = np.diff(scores.offsets)
        columns["frame"] = rows.numbers(rows_from(np.zeros_like(counts), counts))
    if long:
        columns["score"] = rows.numbers(values)
    else:
        columns["scores"] = _lists(scores.offsets, values)
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
                metadata[key] = float(one_each[0])
            elif not uniform or one_each[0] != usual:
                columns[name] = pa.array(one_each[rows.utterance])
    if text:
        first = pa.array(np.zeros(rows.utterance.size, np.int8))
        columns["higher"] = pa.DictionaryArray.from_arrays(first, [scores.higher])
    return with_metadata(pa.table(columns), {} if text else metadata)


def plain_texts(table: Any) -> Any:
    """The same table, text as such instead of as a dictionary."""
    for at, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(pa.string()))
    return table


def _strings(texts: Sequence[str | None]) -> Any:
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError as error:
        raise DataError(f"{error.object!r} is not valid Unicode, so no table can hold it; rename it") from None


def _lists(offsets: Int64, values: Values) -> Any:
    kind, integer = (pa.ListArray, np.int32) if offsets[-1] < 2**31 else (pa.LargeListArray, np.int64)
    return kind.from_arrays(pa.array(offsets.astype(integer)), pa.array(values))


class _Rows:
    """Rows of a long table: those of each utterance, or one empty row where it has none."""

    def __init__(self, offsets: Int64) -> None:
        counts = np.diff(offsets)
        shown = np.maximum(counts, 1)
        self.utterance = np.repeat(np.arange(counts.size), shown)
        self.empty: Flags | None = np.repeat(counts == 0, shown) if (counts == 0).any() else None

    def ids(self, utterances: Sequence[str]) -> Any:
        return pa.DictionaryArray.from_arrays(pa.array(self.utterance.astype(np.int32)), _strings(utterances))

    def spread(self, values: npt.NDArray[Any], filler: int) -> npt.NDArray[Any]:
        if self.empty is None:
            return values
        spread = np.full(self.empty.size, filler, values.dtype)
        spread[~self.empty] = values
        return spread

    def numbers(self, values: npt.NDArray[Any]) -> Any:
        return pa.array(self.spread(values, 0), mask=self.empty)

    def times(self, ns: Int64, text: bool) -> Any:
        return self.numbers(ns / SECOND if text else ns)

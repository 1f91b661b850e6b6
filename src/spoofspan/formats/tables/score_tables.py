"""Scores from tables, long (a row per range or frame) or wide (a list per utterance).

Hop, origin, window and polarity come from the caller, from a column, or from the metadata; whoever says it twice must
say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags, first_rows, offsets_of, utterance_of_rows, within_utterances
from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.times import SECOND, Float64, Int64
from spoofspan.data.scores import Higher, Scores, Values
from spoofspan.formats.column_names import column_name, score_columns
from spoofspan.formats.format import ReadOptions
from spoofspan.formats.tables.corpus_tables import REFERENCES, SCORES, Column, Lists, Numbers, Part, with_our_names
from spoofspan.formats.tables.table_columns import PartColumns, missing_columns
from spoofspan.formats.tables.table_groups import Grouped, Groups, group, joined_groups, without_bare_rows

# which rows positions among the scores belong to, and what the scores there are called
Places = Callable[[Int64], tuple[Int64, Iterable[str]]]


@dataclass(frozen=True)
class _PartScores(Grouped):
    higher: Higher
    window: float | None = None


def scores_from_parts(parts: Sequence[Part], options: ReadOptions) -> Scores:
    """Make Scores of tables, which must agree on their polarity and layout."""
    read = [_read_part(with_our_names(part, options.column), options) for part in parts]
    joined = joined_groups(read)
    for part in read[1:]:
        for what, mine, other in (
            ("what high scores mean", part.higher, read[0].higher),
            ("their window", part.window, read[0].window),
            ("being frames or ranges", part.columns.keys(), read[0].columns.keys()),
        ):
            if mine != other:
                raise DataError(f"{part.name} and {read[0].name} differ in {what}; read them apart")
    stated: dict[str, Any] = {"higher": read[0].higher, "window": read[0].window}
    trained = {_number(part.name, part.stated, "training_resolution") for part in parts}
    if len(trained) > 1:
        raise DataError(f"{joined.name}: its parts differ in their training resolution; read them apart")
    scores = Scores.from_columns(joined.ids, offsets_of(joined.counts), **joined.columns, **stated)
    return replace(scores, training_resolution=trained.pop())


def _read_part(part: Part, options: ReadOptions) -> _PartScores:
    columns = PartColumns(part, (*SCORES.columns, options.column) if options.column else SCORES.columns)
    column = _value_column(columns, options)
    if isinstance(lists := columns.column(column), Lists):
        return _read_wide(columns, column, lists, options)
    if {"start", "end"} <= columns.names:
        return _read_ranges(columns, column, options)
    if "frame" in columns.names:
        return _read_long_frames(columns, column, options)
    why = missing_columns(["frame"], part.column_names)
    raise DataError(f"{part.name}: scores need a time: {why}; or give start and end")


def _value_column(columns: PartColumns, options: ReadOptions) -> str:
    """Find the column with the scores."""
    if options.column is not None:
        if options.column not in columns.names:
            found = ", ".join(map(repr, columns.part.column_names))
            raise UsageError(f"{columns.part.name}: no column {options.column!r} (found: {found})")
        return options.column
    present = [name for name in ("score", "scores") if name in columns.names]
    if len(present) == 2:
        raise UsageError(f"{columns.part.name}: it has the columns 'score' and 'scores'; say which with column=")
    several = [] if present else [name for name in columns.part.column_names if score_columns([column_name(name)])]
    if len(several) > 1:
        raise UsageError(
            f"{columns.part.name}: several columns may hold the scores, {', '.join(several)}; say which with column="
        )
    hint = "; these look like references, not scores" if REFERENCES.telling & columns.names else ""
    columns.require(present or ["score"], hint)
    return present[0]


def _read_wide(columns: PartColumns, column: str, lists: Lists, options: ReadOptions) -> _PartScores:
    """One row per utterance, with a list of scores."""
    groups = group(columns.utterances)
    rows = np.arange(columns.part.table.size)
    if len(groups.ids) < rows.size:
        columns.note(np.setdiff1d(rows, groups.first(rows)), lambda row: "the utterance occurs more than once")
        columns.stop_if_any("keep one row of each")
    if lists.missing is not None:
        columns.note(np.flatnonzero(lists.missing), lambda row: f"{column} is missing (null)")
        columns.stop_if_any("give a list of scores, empty if there are none")
    offsets = lists.offsets

    def places(positions: Int64) -> tuple[Int64, Iterable[str]]:
        owners = np.searchsorted(offsets, positions, side="right") - 1
        return owners, (f"score {item}" for item in positions - offsets[owners])

    values = _numbers(columns, column, lists.items, places)
    times, window = _frame_times(columns, groups, options)
    columns.stop_if_any()
    higher = _polarity(columns, options)
    return _PartScores(columns.part.name, groups.ids, np.diff(offsets), {"values": values, **times}, higher, window)


def _numbers(columns: PartColumns, name: str, column: Column, places: Places, allowed: Flags | None = None) -> Values:
    """Take scores as they are; ``allowed`` nulls become 0."""

    def note(wrong: Flags, what: str) -> None:
        rows, names = places(np.flatnonzero(wrong))
        columns.note_texts(rows, (f"{name} is {what}" for name in names))

    if not isinstance(column, Numbers):
        raise DataError(
            f"{columns.part.name}: column {name!r} is of type {column.kind}; scores are numbers: convert it"
        )
    values, missing = column.values, column.missing
    if missing is not None:
        note(missing if allowed is None else missing & ~allowed, "missing (null or NaN)")
    if values.dtype.kind == "f" and values.size and np.isnan(values.min()):
        note(np.isnan(values), "NaN")
    columns.stop_if_any("find out why the system gave no number there")
    return values


def _long_values(columns: PartColumns, column: str, bare: Flags | None) -> Values:
    return _numbers(columns, column, columns.column(column), lambda rows: (rows, repeat(column)), bare)


def _read_ranges(columns: PartColumns, column: str, options: ReadOptions) -> _PartScores:
    """One row per range."""
    if options.hop is not None:
        raise UsageError(f"{columns.part.name}: its scores have starts and ends, so hop= says nothing; leave it out")
    starts, ends = columns.times("start"), columns.times("end")
    bare = columns.bare_rows({"start": starts.missing, "end": ends.missing, column: columns.missing(column)})
    columns.check_ranges(starts, ends)
    columns.refuse_tiny_integers(ends)
    columns.stop_if_any()
    by_row = {"values": _long_values(columns, column, bare), "starts": starts.ns, "ends": ends.ns}
    groups = without_bare_rows(columns, group(columns.utterances), bare, "score")
    read = {name: groups.sort(array) for name, array in by_row.items()}
    return _PartScores(columns.part.name, groups.ids, groups.counts, read, _polarity(columns, options))


def _read_long_frames(columns: PartColumns, column: str, options: ReadOptions) -> _PartScores:
    """One row per frame; each utterance has the frames 0, 1, 2, ..., each once."""
    raw = columns.column("frame")
    if not isinstance(raw, Numbers) or not (raw.are_unknown or raw.values.dtype.kind in "iu"):
        raise DataError(f"{columns.part.name}: column 'frame' is of type {raw.kind}; frames are integers from 0 on")
    bare = columns.bare_rows({"frame": columns.missing("frame"), column: columns.missing(column)})
    columns.stop_if_any()
    frames = raw.values
    values = _long_values(columns, column, bare)
    all_rows = group(columns.utterances)
    groups = _in_frame_order(columns, without_bare_rows(columns, all_rows, bare, "score"), frames)
    times, window = _frame_times(columns, all_rows, options)
    columns.stop_if_any()
    read = {"values": groups.sort(values), **times}
    return _PartScores(columns.part.name, groups.ids, groups.counts, read, _polarity(columns, options), window)


def _in_frame_order(columns: PartColumns, groups: Groups, frames: npt.NDArray[Any]) -> Groups:
    """Sort the rows of each utterance by frame, which must then count 0, 1, 2, ..."""
    ordered = groups.sort(frames)
    heads = first_rows(groups.offsets)

    def jumps() -> Flags:
        return within_utterances(groups.offsets, ordered[1:] != ordered[:-1] + np.ones(1, ordered.dtype))

    wrong = jumps()
    if wrong.any() or ordered[heads].any():
        order = np.lexsort((ordered, utterance_of_rows(groups.offsets)))
        groups = Groups(groups.ids, groups.offsets, groups.rows(order))
        ordered = groups.sort(frames)
        wrong = jumps()
    late = heads[ordered[heads] != 0]
    why = " (they all start at 1: subtract 1)" if late.size == heads.size and bool((ordered[heads] == 1).all()) else ""
    texts = (f"the first frame is {ordered[p]}, frames count from 0{why}" for p in late)
    columns.note_texts(groups.rows(late), texts)
    after = np.flatnonzero(wrong) + 1
    texts = (
        f"frame {ordered[p]} occurs twice"
        if ordered[p] == ordered[p - 1]
        else f"frame {int(ordered[p - 1]) + 1} is missing before frame {ordered[p]}"
        for p in after
    )
    columns.note_texts(groups.rows(after), texts)
    columns.stop_if_any("give every utterance the frames 0, 1, 2, ..., each once")
    return groups


# ---------------------------------------------------------------- hop, origin, window and polarity


def _frame_times(columns: PartColumns, groups: Groups, options: ReadOptions) -> tuple[dict[str, Float64], float | None]:
    """Hop and start (of frame 0) of each utterance, and the window of all, in seconds."""
    name, metadata = columns.part.name, columns.part.stated
    hops, stated = _one_per_utterance(columns, groups, "hop"), _number(name, metadata, "hop")
    if hops is not None and stated is not None and (hops != stated).any():
        raise DataError(f"{name}: its column and its metadata give different hops; write the file again")
    if hops is None:
        known = options.hop if stated is None else stated
        if known is None:
            raise UsageError(f"{name}: nothing says how far its frames are apart; give hop= in seconds")
        hops = np.full(len(groups.ids), float(known))
    if options.hop is not None and bool((np.abs(hops - options.hop) * SECOND > 0.5).any()):
        raise UsageError(
            f"{name}: it says that its hop is {hops.max():g} s, hop={options.hop:g} contradicts it; leave "
            "hop= out, or write the file again if it is wrong"
        )
    origins = _one_per_utterance(columns, groups, "origin")
    if origins is None:
        origins = np.full(len(groups.ids), _number(name, metadata, "start") or 0.0)
    windows = _one_per_utterance(columns, groups, "window")
    if windows is not None and np.unique(windows).size > 1:
        raise DataError(f"{name}: it has several windows; all scores of a system have one")
    window = _number(name, metadata, "window") if windows is None else float(windows[0])
    return {"hop": hops, "start": origins}, window


def _number(name: str, metadata: Mapping[str, Any], key: str) -> float | None:
    if (value := metadata.get(key)) is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise DataError(f"{name}: its metadata give {key} = {value!r}; write the file again")
    if key != "start" and value <= 0:
        raise DataError(f"{name}: its metadata give {key} = {value!r}, which must be positive")
    return float(value)


def _one_per_utterance(columns: PartColumns, groups: Groups, name: str) -> Float64 | None:
    """A column that repeats one time (s) in every row of an utterance."""
    if name not in columns.names:
        return None
    if (missing := columns.missing(name)) is not None:
        if missing.all():
            return None
        columns.note(np.flatnonzero(missing), lambda row: f"{name} is missing (null or NaN)")
        columns.stop_if_any(f"give the {name} in every row or in none")
    times = columns.times(name)
    columns.stop_if_any()
    seconds = times.ns / SECOND if times.were_integers else _exact_seconds(cast(Numbers, columns.column(name)).values)
    if name != "origin":
        columns.note(np.flatnonzero(seconds <= 0), lambda row: f"{name} must be positive, not {seconds[row]:g}")
        columns.stop_if_any()
    firsts = groups.first(seconds)
    differ = np.flatnonzero(groups.sort(seconds) != np.repeat(firsts, groups.counts))
    columns.note(groups.rows(differ), lambda row: f"the utterance has more than one {name}")
    columns.stop_if_any(f"give each utterance one {name}")
    return firsts


def _exact_seconds(values: Any) -> Float64:
    """Times as they were meant: 0.02 as float32 would put frame 5,000 two microseconds early."""
    if values.dtype == np.float64:
        return cast(Float64, values)
    distinct, index = np.unique(values, return_inverse=True)
    return np.array([float(str(value)) for value in distinct])[index]


def _polarity(columns: PartColumns, options: ReadOptions) -> Higher:
    """Meaning of high scores, as the table or the caller says it."""
    name = columns.part.name
    said: list[Any] = [columns.part.stated.get("higher")]
    if "higher" in columns.names:
        texts = columns.texts("higher", "it says 'bonafide' or 'spoof'", empty_is_missing=True)
        if texts.values and texts.missing is not None:
            columns.note(np.flatnonzero(texts.missing), lambda row: "higher is missing")
            columns.stop_if_any("say in every row what high scores mean, or in none")
        said += texts.values
    said = [word for word in said if word is not None]
    for word in said:
        if word not in ("bonafide", "spoof"):
            raise DataError(f"{name}: it says that high scores mean {word!r}; that must be 'bonafide' or 'spoof'")
    if len(set(said)) > 1:
        raise DataError(
            f"{name}: it says both that high scores mean bona fide and that they mean spoof; "
            "write it again with one of them"
        )
    if options.higher is not None and options.higher not in (said or [options.higher]):
        raise UsageError(
            f"{name}: it says that high scores mean {said[0]}, higher={options.higher!r} contradicts it; leave "
            "higher= out, or correct the file"
        )
    if options.higher is None and not said:
        raise UsageError(f"{name}: nothing says what high scores mean; give higher='bonafide' or 'spoof'")
    return cast(Higher, options.higher or said[0])

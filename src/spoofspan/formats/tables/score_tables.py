"""Scores from tables, long (a row per range or frame) or wide (a list per utterance)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags, first_rows, offsets_of, utterance_of_rows, within_utterances
from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.times import Int64
from spoofspan.data.scores import Higher, Scores, Values
from spoofspan.formats import arrow as pa
from spoofspan.formats.format import ReadOptions
from spoofspan.formats.tables.schema import REFERENCES, SCORES
from spoofspan.formats.tables.score_facts import frame_times, polarity
from spoofspan.formats.tables.table_columns import Part, PartColumns, flat, flat_array, missing_columns, one_array
from spoofspan.formats.tables.table_groups import Grouped, Groups, group, joined_groups, without

# which rows positions among the scores belong to, and what the scores there are called
Places = Callable[[Int64], tuple[Int64, Iterable[str]]]


@dataclass(frozen=True)
class _PartScores(Grouped):
    higher: Higher
    window: float | None = None


def scores_from_parts(parts: Sequence[Part], options: ReadOptions) -> Scores:
    """Make Scores of tables, which must agree on their polarity and layout."""
    read = [_read_part(part, options) for part in parts]
    joined = joined_groups(read)
    for part in read[1:]:
        for what, mine, other in (
            ("what high scores mean", part.higher, read[0].higher),
            ("their window", part.window, read[0].window),
            ("being frames or ranges", part.columns.keys(), read[0].columns.keys()),
        ):
            if mine != other:
                raise DataError(f"{part.name} and {read[0].name} differ in {what}; read them apart")
    higher, window = read[0].higher, read[0].window
    try:
        return Scores.from_columns(
            joined.ids, offsets_of(joined.counts), **joined.columns, higher=higher, window=window
        )
    except DataError as error:
        raise DataError(f"{joined.name}: {error}") from None


def _read_part(part: Part, options: ReadOptions) -> _PartScores:
    columns = PartColumns(part, (*SCORES.columns, options.column) if options.column else SCORES.columns)
    column = _value_column(columns, options)
    kind = part.table.column(column).type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _read_wide(columns, column, options)
    if {"start", "end"} <= columns.names:
        return _read_ranges(columns, column, options)
    if "frame" in columns.names:
        return _read_long_frames(columns, column, options)
    found = part.column_names
    raise DataError(f"{part.name}: scores need a time: {missing_columns(['frame'], found)}; or give start and end")


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
    hint = "; these look like references, not scores" if REFERENCES.telling & columns.names else ""
    columns.require(present or ["score"], hint)
    return present[0]


def _read_wide(columns: PartColumns, column: str, options: ReadOptions) -> _PartScores:
    """One row per utterance, with a list of scores."""
    groups = group(columns.utterances)
    rows = np.arange(columns.part.table.num_rows)
    if len(groups.ids) < rows.size:
        columns.note(np.setdiff1d(rows, groups.first(rows)), lambda row: "the utterance occurs more than once")
        columns.stop_if_any("keep one row of each")
    lists = one_array(columns.column(column))
    if lists.null_count:
        columns.note(np.flatnonzero(flat_array(lists.is_null())), lambda row: f"{column} is missing (null)")
        columns.stop_if_any("give a list of scores, empty if there are none")
    counts = flat_array(pa.compute.list_value_length(lists)).astype(np.int64)
    offsets = offsets_of(counts)

    def places(positions: Int64) -> tuple[Int64, Iterable[str]]:
        owners = np.searchsorted(offsets, positions, side="right") - 1
        return owners, (f"score {item}" for item in positions - offsets[owners])

    values = _numbers(columns, column, lists.flatten(), places)
    times, window = frame_times(columns, groups, options)
    columns.stop_if_any()
    higher = polarity(columns, options)
    return _PartScores(columns.part.name, groups.ids, counts, {"values": values, **times}, higher, window)


def _numbers(columns: PartColumns, column: str, array: Any, places: Places, allowed: Flags | None = None) -> Values:
    """Take scores as they are; ``allowed`` nulls become 0."""

    def note(wrong: Flags, what: str) -> None:
        rows, names = places(np.flatnonzero(wrong))
        columns.note_texts(rows, (f"{name} is {what}" for name in names))

    kind = array.type
    if pa.types.is_null(kind) or pa.types.is_decimal(kind):
        array = array.cast(pa.float64())
    elif not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        raise DataError(f"{columns.part.name}: column {column!r} is of type {kind}; scores are numbers: convert it")
    values = flat_array(array)
    if array.null_count:
        missing = flat_array(array.is_null())
        note(missing if allowed is None else missing & ~allowed, "missing (null or NaN)")
        values = np.where(missing, np.zeros(1, values.dtype), values)
    if values.dtype.kind == "f" and values.size and np.isnan(values.min()):
        note(np.isnan(values), "NaN")
    columns.stop_if_any("find out why the system gave no number there")
    return values


def _long_values(columns: PartColumns, column: str, bare: Flags | None) -> Values:
    array = one_array(columns.column(column))
    return _numbers(columns, column, array, lambda rows: (rows, repeat(column)), bare)


def _read_ranges(columns: PartColumns, column: str, options: ReadOptions) -> _PartScores:
    """One row per range."""
    if options.hop is not None:
        raise UsageError(f"{columns.part.name}: its scores have starts and ends, so hop= says nothing; leave it out")
    starts, ends = columns.times("start"), columns.times("end")
    bare = columns.bare_rows({"start": starts.missing, "end": ends.missing, column: columns.missing(column)})
    columns.check_ranges(starts, ends)
    columns.refuse_tiny_integers(ends, "end")
    columns.stop_if_any()
    by_row = {"values": _long_values(columns, column, bare), "starts": starts.ns, "ends": ends.ns}
    groups = without(columns, group(columns.utterances), bare, "score")
    read = {name: groups.sort(array) for name, array in by_row.items()}
    return _PartScores(columns.part.name, groups.ids, groups.counts, read, polarity(columns, options))


def _read_long_frames(columns: PartColumns, column: str, options: ReadOptions) -> _PartScores:
    """One row per frame; each utterance has the frames 0, 1, 2, ..., each once."""
    raw = columns.column("frame")
    if pa.types.is_null(raw.type):
        raw = raw.cast(pa.int64())
    if not pa.types.is_integer(raw.type):
        raise DataError(f"{columns.part.name}: column 'frame' is of type {raw.type}; frames are integers from 0 on")
    bare = columns.bare_rows({"frame": columns.missing("frame"), column: columns.missing(column)})
    columns.stop_if_any()
    frames = flat(raw.fill_null(0) if raw.null_count else raw)
    values = _long_values(columns, column, bare)
    all_rows = group(columns.utterances)
    groups = _in_frame_order(columns, without(columns, all_rows, bare, "score"), frames)
    times, window = frame_times(columns, all_rows, options)
    columns.stop_if_any()
    read = {"values": groups.sort(values), **times}
    return _PartScores(columns.part.name, groups.ids, groups.counts, read, polarity(columns, options), window)


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

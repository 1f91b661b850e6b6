"""Scores from tables, long (a row per range or frame) or wide (a list per utterance)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags, offsets_of, utterance_of_rows, within_utterances
from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.times import SECOND, Float64, Int64
from spoofspan.data.scores import Higher, Scores, Values
from spoofspan.formats.format import ReadOptions
from spoofspan.formats.tables.table_columns import (
    Part,
    PartColumns,
    flat,
    flat_array,
    missing_columns,
    missing_rows,
    one_array,
)
from spoofspan.formats.tables.table_groups import (
    Groups,
    all_utterances,
    bare_rows,
    check_times,
    group,
    join,
    names_of,
    without,
)

SCORE_COLUMNS = ("utterance", "start", "end", "frame", "score", "scores", "hop", "origin", "window", "higher")
SCORE_GRAMMAR = "columns utterance, start, end, score or utterance, frame, score or utterance, scores (a list)"
SCORE_NAMES = frozenset({"score", "scores"})  # a table with one of these holds scores


@dataclass(frozen=True)
class _PartScores:
    name: str
    ids: list[str]
    counts: Int64
    values: Values
    higher: Higher
    hops: Float64 | None = None
    origins: Int64 | None = None
    window: float | None = None
    starts: Int64 | None = None
    ends: Int64 | None = None


def scores_from_parts(parts: Sequence[Part], options: ReadOptions) -> Scores:
    """Make Scores of tables, which must agree on their polarity and layout."""
    read = [_read_scores(part, options) for part in parts]
    ids = all_utterances([(part.name, part.ids) for part in read])
    for part in read[1:]:
        for what, mine, other in (
            ("what high scores mean", part.higher, read[0].higher),
            ("their window", part.window, read[0].window),
            ("being frames or ranges", part.hops is None, read[0].hops is None),
        ):
            if mine != other:
                raise DataError(f"{part.name} and {read[0].name} differ in {what}; read them apart")
    offsets = offsets_of(join([part.counts for part in read]))
    values = join([part.values for part in read])
    try:
        if read[0].hops is not None:
            origins = join([cast(Int64, part.origins) for part in read])
            return Scores.from_columns(
                ids,
                offsets,
                values,
                hop=join([cast(Float64, part.hops) for part in read]),
                start=origins / SECOND if origins.any() else 0.0,
                window=read[0].window,
                higher=read[0].higher,
            )
        return Scores.from_columns(
            ids,
            offsets,
            values,
            starts=join([cast(Int64, part.starts) for part in read]),
            ends=join([cast(Int64, part.ends) for part in read]),
            higher=read[0].higher,
        )
    except DataError as error:
        raise DataError(f"{names_of(parts)}: {error}") from None


def _read_scores(part: Part, options: ReadOptions) -> _PartScores:
    import pyarrow as pa

    columns = PartColumns(part, (*SCORE_COLUMNS, options.column) if options.column else SCORE_COLUMNS)
    column = _value_column(columns, options)
    kind = part.table.column(column).type
    if any(is_list(kind) for is_list in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)):
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
    hint = "; these look like references, not scores" if "label" in columns.names else ""
    columns.require(present or ["score"], hint)
    return present[0]


def _read_wide(columns: PartColumns, column: str, options: ReadOptions) -> _PartScores:
    """One row per utterance, with a list of scores."""
    import pyarrow.compute as pc

    groups = group(columns.utterances)
    if len(groups.ids) < columns.part.table.num_rows:
        firsts = set(groups.first(np.arange(columns.part.table.num_rows)).tolist())
        again = np.array([row for row in range(columns.part.table.num_rows) if row not in firsts], np.int64)
        columns.note(again, lambda row: "the utterance occurs more than once")
        columns.stop_if_any("keep one row of each")
    lists = one_array(columns.part.table.column(column))
    if lists.null_count:
        columns.note(np.flatnonzero(flat_array(lists.is_null())), lambda row: f"{column} is missing (null)")
        columns.stop_if_any("give a list of scores, empty if there are none")
    counts = flat_array(pc.list_value_length(lists)).astype(np.int64)
    offsets = offsets_of(counts)
    values = _numbers(columns, column, lists.flatten(), lambda i: _row_and_item(offsets, i))
    hops, origins, window = _frame_times(columns, groups, options)
    columns.stop_if_any()
    higher = _higher(columns, options)
    return _PartScores(columns.part.name, groups.ids, counts, values, higher, hops, origins, window)


def _row_and_item(offsets: Int64, position: int) -> tuple[int, str]:
    row = int(np.searchsorted(offsets, position, side="right")) - 1
    return row, f"score {position - int(offsets[row])}"


def _numbers(columns: PartColumns, column: str, array: Any, place: Any, allowed: Flags | None = None) -> Values:
    """Take scores as they are; ``place`` turns a position into its row and a name, ``allowed`` nulls become 0."""
    import pyarrow as pa

    kind = array.type
    if pa.types.is_null(kind) or pa.types.is_decimal(kind):
        array = array.cast(pa.float64())
    elif not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        raise DataError(f"{columns.part.name}: column {column!r} is of type {kind}; scores are numbers: convert it")
    if array.null_count:
        missing = flat_array(array.is_null())
        wrong = np.flatnonzero(missing if allowed is None else missing & ~allowed)
        columns.problems.extend(
            (f"{columns.say(row)}: {item} is missing (null or NaN)" for row, item in map(place, map(int, wrong))),
            wrong.size,
        )
    values = flat_array(array)
    if array.null_count:
        values = np.where(missing, np.zeros(1, values.dtype), values)
    if values.dtype.kind == "f" and values.size and np.isnan(values.min()):
        bad = np.flatnonzero(np.isnan(values))
        columns.problems.extend(
            (f"{columns.say(row)}: {item} is NaN" for row, item in map(place, map(int, bad))), bad.size
        )
    columns.stop_if_any("find out why the system gave no number there")
    return values


def _long_values(columns: PartColumns, column: str, bare: Flags | None) -> Values:
    array = one_array(columns.part.table.column(column))
    return _numbers(columns, column, array, lambda row: (row, column), bare)


def _read_ranges(columns: PartColumns, column: str, options: ReadOptions) -> _PartScores:
    """One row per range."""
    if options.hop is not None:
        raise UsageError(f"{columns.part.name}: its scores have starts and ends, so hop= says nothing; leave it out")
    starts, ends = columns.times("start"), columns.times("end")
    missing = missing_rows(columns.part.table.column(column))
    bare = bare_rows(columns, {"start": starts.missing, "end": ends.missing, column: missing})
    check_times(columns, starts.ns, ends.ns)
    columns.refuse_tiny_integers(ends, "end")
    columns.stop_if_any()
    values = _long_values(columns, column, bare)
    groups = without(columns, group(columns.utterances), bare, "score")
    return _PartScores(
        columns.part.name,
        groups.ids,
        np.diff(groups.offsets),
        groups.sort(values),
        _higher(columns, options),
        starts=groups.sort(starts.ns),
        ends=groups.sort(ends.ns),
    )


def _read_long_frames(columns: PartColumns, column: str, options: ReadOptions) -> _PartScores:
    """One row per frame; each utterance has the frames 0, 1, 2, ..., each once."""
    import pyarrow as pa

    raw = columns.part.table.column("frame")
    if pa.types.is_null(raw.type):
        raw = raw.cast(pa.int64())
    if not pa.types.is_integer(raw.type):
        raise DataError(f"{columns.part.name}: column 'frame' is of type {raw.type}; frames are integers from 0 on")
    missing = missing_rows(columns.part.table.column(column))
    bare = bare_rows(columns, {"frame": missing_rows(raw), column: missing})
    columns.stop_if_any()
    frames = flat(raw.fill_null(0) if raw.null_count else raw)
    values = _long_values(columns, column, bare)
    all_rows = group(columns.utterances)
    groups = _in_frame_order(columns, without(columns, all_rows, bare, "score"), frames)
    hops, origins, window = _frame_times(columns, all_rows, options)
    columns.stop_if_any()
    counts = np.diff(groups.offsets)
    higher = _higher(columns, options)
    return _PartScores(columns.part.name, groups.ids, counts, groups.sort(values), higher, hops, origins, window)


def _in_frame_order(columns: PartColumns, groups: Groups, frames: npt.NDArray[Any]) -> Groups:
    """Sort the rows of each utterance by frame, which must then count 0, 1, 2, ..."""
    ordered = groups.sort(frames)
    filled = groups.offsets[1:] > groups.offsets[:-1]
    heads = groups.offsets[:-1][filled]

    def jumps() -> Flags:
        return within_utterances(groups.offsets, ordered[1:] != ordered[:-1] + np.ones(1, ordered.dtype))

    wrong = jumps()
    if wrong.any() or ordered[heads].any():
        order = np.lexsort((ordered, utterance_of_rows(groups.offsets)))
        groups = Groups(groups.ids, groups.offsets, order if groups.order is None else groups.order[order])
        ordered = groups.sort(frames)
        wrong = jumps()

    def note(positions: npt.NDArray[Any], texts: Iterable[str]) -> None:
        columns.problems.extend(
            (f"{columns.say(groups.row(int(p)))}: {text}" for p, text in zip(positions, texts, strict=False)),
            positions.size,
        )

    late = heads[ordered[heads] != 0]
    why = " (they all start at 1: subtract 1)" if late.size == heads.size and bool((ordered[heads] == 1).all()) else ""
    note(late, (f"the first frame is {ordered[p]}, frames count from 0{why}" for p in late))
    after = np.flatnonzero(wrong) + 1
    note(
        after,
        (
            f"frame {ordered[p]} occurs twice"
            if ordered[p] == ordered[p - 1]
            else f"frame {int(ordered[p - 1]) + 1} is missing before frame {ordered[p]}"
            for p in after
        ),
    )
    columns.stop_if_any("give every utterance the frames 0, 1, 2, ..., each once")
    return groups


def _frame_times(columns: PartColumns, groups: Groups, options: ReadOptions) -> tuple[Float64, Int64, float | None]:
    """Hop (s) and origin (ns) of each utterance and the window (s) of all."""
    name, metadata = columns.part.name, columns.part.metadata()
    count = len(groups.ids)
    hops = _one_per_utterance(columns, groups, "hop")
    stated = _number(name, metadata, "hop")
    if hops is not None and stated is not None and (hops != stated).any():
        raise DataError(f"{name}: its column and its metadata give different hops; write the file again")
    if hops is None and stated is not None:
        hops = np.full(count, stated)
    if hops is None:
        if options.hop is None:
            raise UsageError(f"{name}: nothing says how far its frames are apart; give hop= (--hop) in seconds")
        hops = np.full(count, float(options.hop))
    elif options.hop is not None and bool((np.abs(hops - options.hop) * SECOND > 0.5).any()):
        raise UsageError(f"{name}: it says that its hop is {hops.max():g} s, hop={options.hop:g} contradicts it")
    origins = _one_per_utterance(columns, groups, "origin")
    if origins is None:
        origins = np.full(count, _number(name, metadata, "start") or 0.0)
    window = _number(name, metadata, "window")
    windows = _one_per_utterance(columns, groups, "window")
    if windows is not None:
        if np.unique(windows).size > 1:
            raise DataError(f"{name}: it has several windows; all scores of a system have one")
        window = float(windows[0])
    return hops, np.rint(origins * SECOND).astype(np.int64), window


def _number(name: str, metadata: dict[str, Any], key: str) -> float | None:
    value = metadata.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise DataError(f"{name}: its metadata give {key} = {value!r}; write the file again")
    if key != "start" and value <= 0:
        raise DataError(f"{name}: its metadata give {key} = {value!r}, which must be positive")
    return float(value)


def _one_per_utterance(columns: PartColumns, groups: Groups, name: str) -> Float64 | None:
    """A column that repeats one time (s) in every row of an utterance."""
    import pyarrow as pa

    if name not in columns.names:
        return None
    column = columns.part.table.column(name)
    if column.null_count == len(column):
        return None
    if column.null_count:
        columns.note(np.flatnonzero(flat(column.is_null())), lambda row: f"{name} is missing (null or NaN)")
        columns.stop_if_any(f"give the {name} in every row or in none")
    if pa.types.is_integer(column.type):
        seconds = flat(column).astype(np.float64) / SECOND
    else:
        columns.times(name)  # its checks
        columns.stop_if_any()
        seconds = flat(column.cast(pa.float64()) if pa.types.is_decimal(column.type) else column).astype(np.float64)
        if pa.types.is_float32(column.type) or pa.types.is_float16(column.type):
            # 0.02 as it was meant: as float32 it would put frame 5,000 two microseconds early
            distinct, index = np.unique(flat(column), return_inverse=True)
            seconds = np.array([float(str(value)) for value in distinct])[index]
    if name != "origin":
        columns.note(np.flatnonzero(seconds <= 0), lambda row: f"{name} must be positive, not {seconds[row]:g}")
        columns.stop_if_any()
    firsts = groups.first(seconds)
    differ = np.flatnonzero(groups.sort(seconds) != np.repeat(firsts, np.diff(groups.offsets)))
    columns.note(
        np.array([groups.row(int(p)) for p in differ], np.int64), lambda row: f"the utterance has more than one {name}"
    )
    columns.stop_if_any(f"give each utterance one {name}")
    return firsts


def _higher(columns: PartColumns, options: ReadOptions) -> Higher:
    """What high scores mean, as the table or the caller says it."""
    name = columns.part.name
    said = {columns.part.metadata().get("higher")}
    if "higher" in columns.names:
        texts = columns.texts("higher", "it says 'bonafide' or 'spoof'", empty_is_missing=True)
        if texts.values and (texts.codes < 0).any():
            columns.note(np.flatnonzero(texts.codes < 0), lambda row: "higher is missing")
            columns.stop_if_any("say in every row what high scores mean, or in none")
        said |= set(texts.values)
    said.discard(None)
    for word in said:
        if word not in ("bonafide", "spoof"):
            raise DataError(f"{name}: it says that high scores mean {word!r}; that must be 'bonafide' or 'spoof'")
    if len(said) > 1:
        raise DataError(f"{name}: it says both that high scores mean bona fide and that they mean spoof")
    if options.higher is not None and said - {options.higher}:
        raise UsageError(
            f"{name}: it says that high scores mean {said.pop()}, higher={options.higher!r} contradicts it; leave "
            "higher= out, or correct the file"
        )
    stated = options.higher or (said.pop() if said else None)
    if stated is None:
        raise UsageError(f"{name}: nothing says what high scores mean; give higher='bonafide' or 'spoof' (--higher)")
    return cast(Higher, stated)

"""Hop, origin, window and polarity of scores in a table: from the caller, from a column, or from the metadata.

Whoever says it twice must say the same.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.times import SECOND, Float64
from spoofspan.data.scores import Higher
from spoofspan.formats.format import ReadOptions
from spoofspan.formats.tables.table_columns import PartColumns, flat
from spoofspan.formats.tables.table_groups import Groups


def frame_times(columns: PartColumns, groups: Groups, options: ReadOptions) -> tuple[dict[str, Float64], float | None]:
    """Hop and start (of frame 0) of each utterance, and the window of all, in seconds."""
    name, metadata = columns.part.name, columns.part.metadata()
    hops, stated = _one_per_utterance(columns, groups, "hop"), _number(name, metadata, "hop")
    if hops is not None and stated is not None and (hops != stated).any():
        raise DataError(f"{name}: its column and its metadata give different hops; write the file again")
    if hops is None:
        known = options.hop if stated is None else stated
        if known is None:
            raise UsageError(f"{name}: nothing says how far its frames are apart; give hop= (--hop) in seconds")
        hops = np.full(len(groups.ids), float(known))
    if options.hop is not None and bool((np.abs(hops - options.hop) * SECOND > 0.5).any()):
        raise UsageError(f"{name}: it says that its hop is {hops.max():g} s, hop={options.hop:g} contradicts it")
    origins = _one_per_utterance(columns, groups, "origin")
    if origins is None:
        origins = np.full(len(groups.ids), _number(name, metadata, "start") or 0.0)
    windows = _one_per_utterance(columns, groups, "window")
    if windows is not None and np.unique(windows).size > 1:
        raise DataError(f"{name}: it has several windows; all scores of a system have one")
    window = _number(name, metadata, "window") if windows is None else float(windows[0])
    return {"hop": hops, "start": origins}, window


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
    if name not in columns.names:
        return None
    missing = columns.missing(name)
    if missing is not None:
        if missing.all():
            return None
        columns.note(np.flatnonzero(missing), lambda row: f"{name} is missing (null or NaN)")
        columns.stop_if_any(f"give the {name} in every row or in none")
    times = columns.times(name)
    columns.stop_if_any()
    seconds = times.ns / SECOND if times.were_integers else _exact_seconds(flat(columns.column(name)))
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


def polarity(columns: PartColumns, options: ReadOptions) -> Higher:
    """What high scores mean, as the table or the caller says it."""
    name = columns.part.name
    said: list[Any] = [columns.part.metadata().get("higher")]
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
        raise DataError(f"{name}: it says both that high scores mean bona fide and that they mean spoof")
    if options.higher is not None and options.higher not in (said or [options.higher]):
        raise UsageError(
            f"{name}: it says that high scores mean {said[0]}, higher={options.higher!r} contradicts it; leave "
            "higher= out, or correct the file"
        )
    if options.higher is None and not said:
        raise UsageError(f"{name}: nothing says what high scores mean; give higher='bonafide' or 'spoof' (--higher)")
    return cast(Higher, options.higher or said[0])

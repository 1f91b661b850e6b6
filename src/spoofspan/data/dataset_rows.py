"""Rows of data sets: one row per utterance, of a Hugging Face ``Dataset`` (streamed or not) or any list of dicts.

A row has an id, its labelled ranges, and if it is known its duration; or an id and its scores::

    {"utterance": "u1", "duration": 2.0, "ranges": [{"start": 0.0, "end": 1.2, "label": "bonafide"}, ...]}
    {"utterance": "u1", "scores": [0.9, 0.8, ...]}

Ranges may be a list of dicts, of ``(start, end, label)``, or a dict of lists, which is what ``datasets`` makes of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from spoofspan.base.errors import DataError, UsageError, nearest_name
from spoofspan.data.references import References
from spoofspan.data.scores import Higher, Scores

Row = Mapping[str, Any]


def references_from_rows(
    rows: Iterable[Row],
    *,
    utterance: str = "utterance",
    ranges: str = "ranges",
    duration: str = "duration",
    snap: float = 0.0,
) -> References:
    """References from rows, one per utterance; the arguments are the names of the columns.

    Parameters
    ----------
    rows : iterable of mappings
        A ``datasets.Dataset``, streamed or not, or any list of dicts.
    utterance, ranges, duration : str
        The columns of the id, of the labelled ranges, and of the duration in seconds (which may be missing).
    snap : float
        Edges that miss each other by no more than this many seconds are joined.

    Returns
    -------
    spoofspan.References
        In the order of the rows.

    Raises
    ------
    DataError
        If a column or a part of a range is missing, or an utterance is there twice.

    Examples
    --------
    >>> rows = [{"utterance": "u1", "duration": 2.0, "ranges": {"start": [0.0], "end": [2.0], "label": ["spoof"]}}]
    >>> references_from_rows(rows)
    References(1 utterance, 1 ranges: 2.000 s spoof)

    """
    listed: dict[str, list[Any]] = {}
    durations: dict[str, float] = {}
    for number, row in enumerate(rows):
        name = _new_id(row, utterance, number, listed)
        listed[name] = ranges_of_cell(_cell(row, ranges, number), name)
        if row.get(duration) is not None:
            durations[name] = row[duration]
    return References.from_ranges(listed, durations or None, snap=snap)


def scores_from_rows(
    rows: Iterable[Row],
    *,
    hop: float,
    higher: Higher,
    utterance: str = "utterance",
    scores: str = "scores",
    dtype: str = "float32",
) -> Scores:
    """Scores from rows, one per utterance.

    Parameters
    ----------
    rows : iterable of mappings
        A ``datasets.Dataset``, streamed or not, or any list of dicts.
    hop : float
        Spacing of the scores in seconds.
    higher : {"bonafide", "spoof"}
        Meaning of high scores.
    utterance, scores : str
        The columns of the id and of the scores.
    dtype : str
        Type of scores given as lists of Python floats; arrays keep theirs.

    Returns
    -------
    Scores
        In the order of the rows.

    Examples
    --------
    >>> scores_from_rows([{"utterance": "u1", "scores": [0.9, -0.4]}], hop=0.02, higher="bonafide")
    Scores(1 utterance, 2 frames of 20 ms, float32, higher = bonafide)

    """
    frames: dict[str, Any] = {}
    for number, row in enumerate(rows):
        name = _new_id(row, utterance, number, frames)
        values = _cell(row, scores, number)
        frames[name] = _array(values, dtype)
    return Scores.from_frames(frames, hop, higher=higher)


def _array(values: Any, dtype: str) -> Any:
    """Convert a list of numbers to an array; anything else is returned as it is, to be refused later if it is wrong."""
    if not isinstance(values, list | tuple) or (values and isinstance(values[0], bool)):
        return values
    try:
        return np.asarray(values, dtype)
    except (TypeError, ValueError):
        return values


def _cell(row: Row, column: str, number: int) -> Any:
    if column not in row:
        raise DataError(f"row {number}: no column {column!r}: {nearest_name(column, row)}; name the right one")
    return row[column]


def _new_id(row: Row, column: str, number: int, known: Mapping[str, Any]) -> str:
    if not isinstance(row, Mapping):
        raise UsageError(
            f"rows must be dicts, one per utterance, and row {number} is a {type(row).__name__}; give one split of a "
            "DatasetDict, dataset.with_format(None), or frame.to_dict('records') of a data frame"
        )
    cell = _cell(row, column, number)
    if cell is None:
        raise DataError(f"row {number}: no id in column {column!r}; give every utterance one")
    name = str(cell.item() if hasattr(cell, "item") else cell)  # the id of a tensor is its number
    if name in known:
        raise DataError(f"row {number}: utterance {name!r} is there twice; keep one of its rows")
    return name


def ranges_of_cell(cell: Any, utterance: str) -> list[tuple[Any, ...]]:
    """Ranges as tuples: of dicts, of tuples, or of a dict of lists."""
    if isinstance(cell, Mapping):
        columns = [cell[name] for name in ("start", "end", "label") if name in cell]
        if len(columns) != 3:
            raise DataError(f"utterance {utterance!r}: ranges need start, end and label, not {', '.join(cell)}")
        if cell.get("attack") is not None:
            columns.append(cell["attack"])
        if len({len(column) for column in columns}) > 1:
            raise DataError(f"utterance {utterance!r}: ranges need as many starts as ends and labels (and attacks)")
        return list(zip(*columns, strict=True))
    if not isinstance(cell, Iterable):
        raise DataError(
            f"utterance {utterance!r}: its ranges are {cell!r}; give a list, empty where nothing is labelled"
        )
    found = []
    for one in cell:
        if isinstance(one, Mapping):
            missing = [name for name in ("start", "end", "label") if name not in one]
            if missing:
                raise DataError(f"utterance {utterance!r}: a range has no {missing[0]}; give start, end and label")
            attack = one.get("attack")
            one = (one["start"], one["end"], one["label"], *([] if attack is None else [attack]))
        found.append(one)
    return found

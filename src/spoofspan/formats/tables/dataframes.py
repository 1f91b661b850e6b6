"""Data frames: anything with the Arrow interface (pandas, polars, pyarrow, duckdb, ...) to and from a corpus.

The columns are those of :mod:`spoofspan.formats.tables`: integer times are nanoseconds, float times are seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.extras import package
from spoofspan.base.times import SECOND, TimeUnit
from spoofspan.data.references import References
from spoofspan.data.scores import Higher, Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.formats import arrow as pa
from spoofspan.formats.column_names import column_names
from spoofspan.formats.format import ReadOptions
from spoofspan.formats.tables import arrow_tables
from spoofspan.formats.tables.corpus_tables import (
    REFERENCES,
    SCORES,
    Part,
    Wanted,
    table_from_references,
    table_from_scores,
)
from spoofspan.formats.tables.reference_tables import references_from_parts
from spoofspan.formats.tables.score_tables import scores_from_parts

TIMES = ("start", "end", "duration")


def references_from(
    obj: Any,
    *,
    durations: Mapping[str, float] | None = None,
    snap: float | None = None,
    spoof_label: int | None = None,
) -> References:
    """Make References of a data frame with the columns utterance, start, end, label[, attack, duration].

    Labels are words; of the numbers 0 and 1, ``spoof_label`` is the one that means spoof.

    >>> import pyarrow as pa
    >>> table = pa.table({"utterance": ["u1"], "start": [0.0], "end": [1.2], "label": ["spoof"]})
    >>> references_from(table)
    References(1 utterance, 1 ranges: 1.200 s spoof)
    """
    options = ReadOptions(durations=durations, snap=snap, spoof_label=spoof_label)
    return references_from_parts([_part(obj, REFERENCES.columns)], options)


def scores_from(
    obj: Any, *, hop: float | None = None, higher: Higher | None = None, column: str | None = None
) -> Scores:
    """Make Scores of a data frame: utterance with start, end, score, or with frame, score, or with a list, scores.

    >>> import pyarrow as pa
    >>> scores_from(pa.table({"utterance": ["u1"], "scores": [[0.9, -0.4]]}), hop=0.02, higher="bonafide")
    Scores(1 utterance, 2 frames of 20 ms, float64, higher = bonafide)
    """
    wanted = SCORES.columns if column is None else (*SCORES.columns, column)
    return scores_from_parts([_part(obj, wanted)], ReadOptions(hop=hop, higher=higher, column=column))


def columns_of(obj: Any) -> list[str]:
    """The names of the columns in one spelling."""
    return column_names(arrow_table(obj).column_names)


def utterance_scores_from(obj: Any, *, higher: Higher) -> UtteranceScores:
    """Make UtteranceScores of a data frame with the columns utterance and score.

    >>> import pyarrow as pa
    >>> utterance_scores_from(pa.table({"utterance": ["u1", "u2"], "score": [0.9, -0.4]}), higher="bonafide")
    UtteranceScores(2 utterances, higher = bonafide)
    """
    scores = by_utterance(obj, "score")
    return UtteranceScores(tuple(scores), np.array(list(scores.values()), np.float64), higher=higher)


def by_utterance(obj: Any, column: str) -> dict[str, Any]:
    """A column of a table with one row for each utterance.

    >>> import pyarrow as pa
    >>> by_utterance(pa.table({"utterance": ["u1", "u2"], "label": ["spoof", "bonafide"]}), "label")
    {'u1': 'spoof', 'u2': 'bonafide'}
    """
    table = arrow_table(obj)
    names = column_names(table.column_names)
    missing = [name for name in ("utterance", column) if name not in names]
    if missing:
        raise DataError(f"the table has no column {missing[0]!r}, only {', '.join(table.column_names)}; rename one")
    ids, values = (table.column(names.index(name)).to_pylist() for name in ("utterance", column))
    found = dict(zip(map(str, ids), values, strict=True))
    if len(found) < len(ids):
        raise DataError("the table has several rows of one utterance and no times; give start and end, or one row each")
    return found


def _part(obj: Any, wanted: Sequence[str]) -> Part:
    table = arrow_table(obj)
    return Part(arrow_tables.from_arrow(table, Part.name, Wanted(wanted)), all_columns=table.column_names)


def to_arrow(corpus: References | Scores, *, long: bool = True, unit: TimeUnit = "ns") -> Any:
    """Make a pyarrow table; ``long=False`` gives frames as one list per utterance."""
    if unit not in ("s", "ns"):
        raise UsageError(f"unit={unit!r}: valid: 's' (seconds), 'ns' (nanoseconds)")
    if isinstance(corpus, References):
        table = arrow_tables.to_arrow(table_from_references(corpus))
    elif isinstance(corpus, Scores):
        table = arrow_tables.to_arrow(table_from_scores(corpus, long=long))
    else:
        raise UsageError(f"only References and Scores become tables, not {type(corpus).__name__}")
    for place, name in enumerate(table.column_names if unit == "s" else ()):
        if name in TIMES:
            chunks = (chunk.cast(pa.float64()).to_numpy(zero_copy_only=False) for chunk in table[name].chunks)
            seconds = [pa.array(one / SECOND, pa.float64(), from_pandas=True) for one in chunks]  # nan stays missing
            table = table.set_column(place, name, pa.chunked_array(seconds, pa.float64()))
    return table


def to_pandas(corpus: References | Scores, *, long: bool = True, unit: TimeUnit = "s") -> Any:
    """Make a pandas data frame; it does not say what high scores mean nor their hop, so keep both."""
    # plain integers cannot be missing in pandas, and would become floats: seconds
    nullable = {pa.int64(): package("pandas").Int64Dtype()}.get
    table = to_arrow(corpus, long=long, unit=unit)
    return table.to_pandas(types_mapper=nullable if any(column.null_count for column in table.columns) else None)


def to_polars(corpus: References | Scores, *, long: bool = True, unit: TimeUnit = "s") -> Any:
    """Make a polars data frame; it does not say what high scores mean nor their hop, so keep both."""
    return package("polars").from_arrow(to_arrow(corpus, long=long, unit=unit))


def arrow_table(obj: Any) -> Any:
    """Take anything tabular as a pyarrow table, without a copy where the interface allows."""
    try:
        if type(obj).__module__.startswith("polars.") and hasattr(obj, "to_arrow"):
            obj = obj.to_arrow()  # its stream has string views, which pyarrow 15 cannot cast
        if isinstance(obj, pa.Table):
            return obj
        if isinstance(obj, pa.RecordBatchReader):
            return obj.read_all()
        if hasattr(obj, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(obj).read_all()
        if hasattr(obj, "__arrow_c_array__"):
            return pa.Table.from_batches([pa.record_batch(obj)])
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"this {type(obj).__name__} is no table with plain columns ({error}); convert them") from None
    raise UsageError(
        f"a {type(obj).__name__} has no Arrow interface; give a data frame (pandas, polars, ...) or a pyarrow table"
    )

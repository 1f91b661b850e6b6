"""Errors by utterance as a file: CSV, JSON or Parquet, by the end of its name.

What has no value is an empty cell (null in JSON and Parquet), and the column ``undefined`` says why.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from spoofspan.report.results import finite
from spoofspan.report.table import Table

if TYPE_CHECKING:
    from spoofspan.measures.operating_point import OperatingPoint
    from spoofspan.measures.per_utterance import UtteranceErrors

ROWS_PER_PIECE = 1 << 16


def utterances_file(errors: UtteranceErrors, target: str, at: OperatingPoint) -> Iterable[bytes]:
    """The bytes of the file; ``at`` is where the errors were measured."""
    suffix = PurePath(target.removesuffix(".gz").removesuffix(".zst")).suffix
    if suffix == ".json":
        return _json(errors, at)
    if suffix in (".parquet", ".pq"):
        return _parquet(errors)
    return [utterances_table(errors).render("csv").encode()]


def utterances_table(errors: UtteranceErrors) -> Table:
    """One row per utterance."""
    columns = {name: list(map(_cell, values)) for name, values in _plain(errors).items()}
    return Table(tuple(columns), tuple(zip(*columns.values(), strict=True)))


def _plain(errors: UtteranceErrors) -> dict[str, list[Any]]:
    """The columns as lists, None where there is no value."""
    columns = errors.columns().items()
    lists = {name: values if isinstance(values, list) else values.tolist() for name, values in columns}
    return {name: [None if value != value else value for value in values] for name, values in lists.items()}


def _cell(value: Any) -> str:
    """A number with all its digits."""
    return "" if value is None else value if isinstance(value, str) else repr(value)


def _json(errors: UtteranceErrors, at: OperatingPoint) -> Iterator[bytes]:
    from spoofspan.base.version import __version__

    head = {"spoofspan": __version__, "threshold": at.threshold, "decision": at.decision}
    yield json.dumps(finite(head), ensure_ascii=False)[:-1].encode() + b', "utterances": ['
    columns = _plain(errors)
    separator = "\n"
    for row in zip(*columns.values(), strict=True):
        one = finite(dict(zip(columns, row, strict=True)))
        yield (separator + json.dumps(one, ensure_ascii=False)).encode()
        separator = ",\n"
    yield b"\n]}\n"


def _parquet(errors: UtteranceErrors) -> Iterator[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from spoofspan.formats.tables.containers import in_pieces

    columns = _plain(errors)
    texts = ("utterance", "undefined")
    schema = pa.schema([(name, pa.string() if name in texts else pa.float64()) for name in columns])
    table = pa.table(columns, schema=schema)
    return in_pieces(table, ROWS_PER_PIECE, lambda sink: pq.ParquetWriter(sink, schema, compression="zstd"))

"""Metadata of utterances, for breakdowns and clusters: a table with a column ``utterance``, or a protocol."""

from __future__ import annotations

from collections.abc import Mapping

from spoofspan.base.errors import DataError, UsageError, nearest_name
from spoofspan.formats import arrow as pa
from spoofspan.formats.line_blocks import native_buffer
from spoofspan.formats.sources import Source, Where, sources
from spoofspan.formats.text.protocol import read_protocol

SPEAKER = "speaker"
PROTOCOL_COLUMNS = (SPEAKER, "attack", "label")


def read_metadata(where: Where, column: str) -> Mapping[str, str]:
    """Read one column: utterance -> value. Tables have a header; a protocol has speaker, attack and label."""
    found = sources(where)
    if len(found) != 1:
        raise UsageError(f"{where}: metadata are one file, not {len(found)}")
    source = found[0]
    if source.head.startswith(b"PAR1") or b"utterance" in source.head.split(b"\n", 1)[0]:
        return _from_table(source, column)
    if column not in PROTOCOL_COLUMNS:
        raise UsageError(f"{source.name}: no column {column!r} in a protocol: {nearest_name(column, PROTOCOL_COLUMNS)}")
    protocol = read_protocol(source)
    values = getattr(protocol, column)
    return {utt: value or "-" for utt, value in zip(protocol.utterance, values, strict=True)}


def read_clusters(where: Where | None, column: str | None) -> tuple[str, Mapping[str, str]] | None:
    """What a bootstrap draws, with its name; None: utterances.

    Without a ``column`` that is speakers, if the metadata know them.
    """
    if column == "utterance" or (column is None and where is None):
        return None
    if where is None:
        raise UsageError(f"the {column} of every utterance is not known; give metadata (--metadata FILE)")
    try:
        return column or SPEAKER, read_metadata(where, column or SPEAKER)
    except NoColumnError:
        if column is not None:
            raise
        return None


class NoColumnError(UsageError):
    """Metadata without the column asked for."""


def _from_table(source: Source, column: str) -> Mapping[str, str]:
    try:
        content = pa.BufferReader(native_buffer([source.read()]))
        if source.head.startswith(b"PAR1"):
            table = pa.parquet.read_table(content)
        else:
            tabs = b"\t" in source.head.split(b"\n", 1)[0]
            table = pa.csv.read_csv(content, parse_options=pa.csv.ParseOptions(delimiter="\t" if tabs else ","))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"{source.name}: cannot be read as a table ({error}); correct the file") from None
    for name in ("utterance", column):
        if name not in table.column_names:
            raise NoColumnError(f"{source.name}: no column {name!r}: {nearest_name(name, table.column_names)}")
    ids, values = table.column("utterance").to_pylist(), table.column(column).to_pylist()
    known: dict[str, str] = {}
    for row, (utterance, value) in enumerate(zip(ids, values, strict=True), 1):
        if utterance is None or value is None:
            raise DataError(f"{source.name}, row {row}: {'utterance' if utterance is None else column} is missing")
        if known.setdefault(str(utterance), str(value)) != str(value):
            raise DataError(f"{source.name}, row {row}: utterance {utterance!r} has two values of {column}; keep one")
    return known

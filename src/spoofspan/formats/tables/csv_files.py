"""CSV and TSV: the tables of :mod:`spoofspan.formats.tables.tables` as text, with a header, quoted as in RFC 4180.

Text has no types: times are always seconds (``2`` is two seconds), frames are integers, ids are text (``007`` stays
``007``). An empty cell is a missing value. Numbers are written so that they read back exactly.

Ids are written as they are, also those that begin with ``=``, ``+``, ``-`` or ``@``: these files are data, made to be
read back, and must not change an id. Making such cells harmless for spreadsheets is for tables of results.
"""

from __future__ import annotations

import csv
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from spoofspan.base.errors import DataError, Problems
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.formats.format import Format, ReadOptions, text_of
from spoofspan.formats.sources import Source
from spoofspan.formats.tables.reference_tables import (
    LABEL_NAMES,
    REFERENCE_COLUMNS,
    REFERENCE_GRAMMAR,
    references_from_parts,
)
from spoofspan.formats.tables.score_tables import SCORE_COLUMNS, SCORE_GRAMMAR, SCORE_NAMES, scores_from_parts
from spoofspan.formats.tables.table_columns import Part, missing_columns
from spoofspan.formats.tables.tables import metadata_of, plain_texts, table_from_references, table_from_scores
from spoofspan.formats.text.rows import TEXT_SNAP

BOM = b"\xef\xbb\xbf"
ROWS_PER_PIECE = 1 << 18
BYTES_PER_PIECE = 1 << 23
TEXTS = ("utterance", "label", "kind", "higher")
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf(inity)?|nan)\s*", re.IGNORECASE)
INTEGER = re.compile(r"\s*[+-]?\d+\s*")


def header_of(head: bytes, delimiter: str) -> list[str]:
    """Read the names in the first line that is not blank; none if this is no text."""
    for line in text_of(head).splitlines():
        if line.strip():
            try:
                return next(csv.reader([line], delimiter=delimiter))
            except (csv.Error, StopIteration):
                return []
    return []


def recognises_references(head: bytes, delimiter: str) -> bool:
    """Whether the header names a label and two more of the columns."""
    names = set(header_of(head, delimiter))
    return bool(names & LABEL_NAMES) and len(names & {"utterance", "start", "end"}) >= 2


def recognises_scores(head: bytes, delimiter: str) -> bool:
    """Whether the header names a score and one more of the columns, or utterance and frame."""
    names = set(header_of(head, delimiter))
    return {"utterance", "frame"} <= names or bool(names & SCORE_NAMES and names & {"utterance", "frame", "start"})


def _part(source: Source, wanted: Sequence[str], delimiter: str) -> Part:
    """Read one file; the slow search for what is wrong begins only when something is."""
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    data = source.read()
    if not source.head.removeprefix(BOM).strip() and not data.removeprefix(BOM).strip():
        raise DataError(f"{source.name}: the file is empty")
    if b"\0" in data:
        raise DataError(f"{source.name}: not a text file (it has a NUL byte)")
    names = header_of(data[: 1 << 16], delimiter)
    chosen = [name for name in names if name in wanted]
    _check_header(source, data, names, chosen, delimiter)
    quoted = b'"' in data
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(pa.py_buffer(data)),
            parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=quoted),
            convert_options=_conversion(chosen),
        )
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        _explain(source, data, names, chosen, delimiter)
        raise DataError(f"{source.name}: cannot be read ({error}); correct the file") from None
    one_line_each = not quoted and table.num_rows + 1 == data.count(b"\n") + (not data.endswith(b"\n"))
    return Part(table, source.name, 2 if one_line_each else None, names)


def _conversion(chosen: Sequence[str]) -> Any:
    import pyarrow.csv as pa_csv

    return pa_csv.ConvertOptions(
        column_types={name: _arrow_type(name) for name in chosen},
        include_columns=list(dict.fromkeys(chosen)),
        null_values=[""],
        strings_can_be_null=False,
    )


def stream(
    sources: Sequence[Source], options: ReadOptions, *, wanted: Sequence[str], delimiter: str, snap: float | None = None
) -> Iterator[Part]:
    """Read CSV or TSV files some lines at a time."""
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    for source in sources:
        names = header_of(source.head, delimiter)
        chosen = [name for name in names if name in (*wanted, options.column)]
        first = 0
        try:
            _check_header(source, source.head, names, chosen, delimiter)
            with source.open() as opened:
                for batch in pa_csv.open_csv(
                    opened,
                    read_options=pa_csv.ReadOptions(block_size=BYTES_PER_PIECE, use_threads=False),
                    parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in source.head),
                    convert_options=_conversion(chosen),
                ):
                    table = pa.Table.from_batches([batch])
                    if snap is not None:
                        table = table.replace_schema_metadata(metadata_of({"snap": snap}))
                    yield Part(table, source.name, 2, names, np.arange(first, first + table.num_rows))
                    first += table.num_rows
        except (pa.ArrowException, UnicodeDecodeError) as error:
            _part(source, (*wanted, options.column or ""), delimiter)  # read whole, it says which line is wrong
            raise DataError(f"{source.name}: cannot be read piece by piece ({error}); read it whole") from None
        except (OSError, EOFError, zlib.error) as error:
            raise source.broken(error) from None


def _check_header(source: Source, data: bytes, names: list[str], chosen: list[str], delimiter: str) -> None:
    if len(set(chosen)) >= 2 and "utterance" in chosen:
        return
    if not names:
        _explain(source, data, names, chosen, delimiter)
        raise DataError(f"{source.name}: the first line cannot be read; it must name the columns")
    for other, word in ((";", "semicolons"), (",", "commas"), ("\t", "tabs")):
        if other != delimiter and any(other in name and "utterance" in name.split(other) for name in names):
            remedy = "use format csv" if other == "," else "use format tsv" if other == "\t" else "write commas"
            raise DataError(f"{source.name}: the columns are separated by {word}; {remedy} (and decimal points)")
    if not chosen:
        raise DataError(
            f"{source.name}:1: no header; the first line must name the columns, for example utterance"
            f"{delimiter}start{delimiter}end, not {', '.join(names)[:60]!r}"
        )
    if "utterance" not in chosen:
        raise DataError(f"{source.name}:1: {missing_columns(['utterance'], names)}")


def _arrow_type(name: str) -> Any:
    import pyarrow as pa

    if name in TEXTS:
        return pa.dictionary(pa.int32(), pa.string())
    return pa.int64() if name == "frame" else pa.float64()


def _explain(source: Source, data: bytes, names: list[str], chosen: list[str], delimiter: str) -> None:
    """Raise for what a line by line look finds."""
    try:
        text = data.removeprefix(BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{source.name}:{line}: not UTF-8 text; convert it (for example: iconv -f latin1 -t utf-8)"
        ) from None
    problems = Problems()
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    numbers = [(names.index(name), name) for name in chosen if name not in TEXTS]
    owner = names.index("utterance") if "utterance" in names else None
    begun = False
    try:
        for row in rows:
            if not row:
                continue
            if not begun:
                begun = True
                continue
            place = f"{source.name}:{rows.line_num}"
            if owner is not None and len(row) > owner:
                place += f", utterance {row[owner]!r}"
            if len(row) != len(names):
                commas = "; are there decimal commas? Use decimal points" if len(row) > len(names) else ""
                problems.add(f"{place}: {len(row)} cells, the header has {len(names)}{commas}")
                continue
            for at, name in numbers:
                wrong = row[at] and not (INTEGER if name == "frame" else NUMBER).fullmatch(row[at])
                if wrong:
                    problems.add(f"{place}: {name} {row[at]!r} cannot be read; {_remedy(name, row[at])}")
    except csv.Error as error:
        problems.add(f"{source.name}:{rows.line_num}: {error}")
    problems.raise_if_any("correct the file")


def _remedy(name: str, cell: str) -> str:
    if "," in cell:
        return "use a decimal point"
    return "it must be an integer" if name == "frame" else "it must be a number"


def read_references(sources: Sequence[Source], options: ReadOptions, delimiter: str) -> References:
    """Read references from CSV or TSV files."""
    parts = [_part(source, REFERENCE_COLUMNS, delimiter) for source in sources]
    return references_from_parts(parts, options, snap=TEXT_SNAP)


def read_scores(sources: Sequence[Source], options: ReadOptions, delimiter: str) -> Scores:
    """Read scores from CSV or TSV files."""
    wanted = (*SCORE_COLUMNS, options.column or "score")
    return scores_from_parts([_part(source, wanted, delimiter) for source in sources], options)


def write_references(references: References, delimiter: str) -> Iterator[bytes]:
    """Write references, one row per range."""
    return _write(table_from_references(references, text=True), delimiter)


def write_scores(scores: Scores, delimiter: str) -> Iterator[bytes]:
    """Write scores, one row per frame or range, with their hop and polarity in every row."""
    return _write(table_from_scores(scores, text=True), delimiter)


def _write(table: Any, delimiter: str) -> Iterator[bytes]:
    import pyarrow.csv as pa_csv

    # pyarrow quotes all text or none; none where nothing needs it
    needs = re.compile(f'["\r\n{delimiter}]')
    texts = {text for name in table.column_names if name in TEXTS for text in table.column(name).unique().to_pylist()}
    quoting = "needed" if any(text is not None and needs.search(text) for text in texts) else "none"
    options = pa_csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=quoting)
    yield (delimiter.join(table.column_names) + "\n").encode()
    for first in range(0, table.num_rows, ROWS_PER_PIECE):
        piece = io.BytesIO()
        pa_csv.write_csv(plain_texts(table.slice(first, ROWS_PER_PIECE)), piece, options)
        yield piece.getvalue()


def _formats(name: str, delimiter: str, word: str) -> tuple[Format[References], Format[Scores]]:
    return (
        Format(
            name,
            f"{REFERENCE_GRAMMAR}, {word}, with a header; times in seconds",
            partial(read_references, delimiter=delimiter),
            partial(recognises_references, delimiter=delimiter),
            partial(write_references, delimiter=delimiter),
            (f".{name}",),
            stream=partial(stream, wanted=REFERENCE_COLUMNS, delimiter=delimiter, snap=TEXT_SNAP),
        ),
        Format(
            name,
            f"{SCORE_GRAMMAR.removesuffix(' or utterance, scores (a list)')}, {word}, with a header; times in seconds",
            partial(read_scores, delimiter=delimiter),
            partial(recognises_scores, delimiter=delimiter),
            partial(write_scores, delimiter=delimiter),
            (f".{name}",),
            stream=partial(stream, wanted=SCORE_COLUMNS, delimiter=delimiter),
        ),
    )


_CSV, _TSV = _formats("csv", ",", "separated by commas"), _formats("tsv", "\t", "separated by tabs")
REFERENCE_FORMATS = (_CSV[0], _TSV[0])
SCORE_FORMATS = (_CSV[1], _TSV[1])

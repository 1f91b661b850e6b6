"""CSV and TSV: text with a header, quoted as in RFC 4180.

Text has no types: times are always seconds (``2`` is two seconds), frames are integers, ids are text (``007`` stays
``007``). An empty cell is a missing value. Numbers are written so that they read back exactly.

Ids are written as they are, also those that begin with ``=``, ``+``, ``-`` or ``@``: these files are data, made to be
read back, and must not change an id. Making such cells harmless for spreadsheets is for tables of results.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from spoofspan.base.errors import DataError, Problems
from spoofspan.formats.column_names import OF_TABLES, column_name, score_columns, table_names, table_polarity
from spoofspan.formats.fields import fields_of_lines, line_blocks, refuse_empty
from spoofspan.formats.recognition import Begins, text_of
from spoofspan.formats.sources import MOST_BYTES_PER_LINE, Source, not_utf8
from spoofspan.formats.tables.containers import Container
from spoofspan.formats.tables.corpus_tables import (
    REFERENCES,
    TEXTS,
    Column,
    ColumnTable,
    Numbers,
    Part,
    Schema,
    Texts,
)
from spoofspan.formats.tables.table_columns import missing_columns
from spoofspan.formats.text.lines import plain_number
from spoofspan.formats.text.rows import TEXT_SNAP

ROWS_PER_PIECE = 1 << 16
BYTES_PER_PIECE = 1 << 23
BYTES_AT_ONCE = 1 << 21  # of a file that is read whole
FIRST_LINE = re.compile(rb"\s*[^\r\n]*(?:\r\n|\r|\n)?")
INTEGER = re.compile(r"\s*[+-]?\d{1,18}\s*", re.ASCII)


def _header(head: bytes, delimiter: str) -> list[str]:
    """Read the names in the first line that is not blank; none if this is no text."""
    first = next(filter(str.strip, text_of(head).splitlines()), "")
    try:
        return next(csv.reader([first], delimiter=delimiter), [])
    except csv.Error:
        return []


def _holds(delimiter: str, head: bytes, schema: Schema) -> bool:
    """True if the header names what tells the content, and more of its columns."""
    names = set(table_names(_header(head, delimiter)))
    if schema is REFERENCES:
        return "label" in names and "utterance" in names and bool(names & {"start", "end"})
    scores = "score" in names or score_columns([column_name(name) for name in names])
    return {"utterance", "frame"} <= names or bool(scores and names & {"frame", "start"})


def _parts(delimiter: str, source: Source, wanted: Sequence[str], whole: bool) -> Iterator[Part]:
    """Read blocks of rows; the slow search for what is wrong begins only when something is."""
    refuse_empty(source)
    written = _header(source.head, delimiter)
    # a column that is asked for keeps its name, and its name alone says what high scores mean
    asked = next((name for name in written if name in tuple(wanted) and name not in OF_TABLES), None)
    names = table_names(written, asked)
    chosen = [name for name in names if name in wanted]
    higher = table_polarity(written, asked)
    stated = {"snap": TEXT_SNAP} | ({} if higher is None else {"higher": higher})
    problems = Problems()
    reader = _Rows(source.name, names, tuple(dict.fromkeys(chosen)), delimiter, problems)
    line, first, begun, one_line_each = 1, 0, False, True
    for block in _row_blocks(source, BYTES_AT_ONCE if whole else BYTES_PER_PIECE):
        if b"\0" in block:
            raise DataError(f"{source.name}: not a text file (it has a NUL byte)")
        if not begun and not block.strip():
            line += block.count(b"\n")
            continue
        rows = block
        if not begun:
            if not names:
                _decoded(source.name, block, line)
            _check_header(source, names, chosen, delimiter)
            rows, begun = FIRST_LINE.sub(b"", block, count=1), True
            line += block.count(b"\n") - rows.count(b"\n")
        # once something is wrong, the rest is only looked at for more of it
        table = (None if problems.total else reader.fast(rows)) or reader.slow(rows, line)
        line += rows.count(b"\n") + (rows[-1:] not in (b"", b"\n"))
        first += table.size
        one_line_each &= first == line - 2
        if not problems.total:
            found = ColumnTable(table.columns, table.size, stated)
            yield Part(found, source.name, 2 if one_line_each else None, names, np.arange(first - table.size, first))
        if problems.full:
            break
    problems.raise_if_any("correct the file")


def _row_blocks(source: Source, size: int) -> Iterator[bytes]:
    """Blocks of whole rows: one that ends within quotes is taken together with those after it."""
    begun: list[bytes] = []
    for block in line_blocks(source, size):
        begun.append(block)
        # where quotes stay open for longer than a line may be, one is a letter
        if sum(one.count(b'"') for one in begun) % 2 == 0 or sum(map(len, begun)) > MOST_BYTES_PER_LINE:
            yield b"".join(begun)
            begun = []
    if begun:
        yield b"".join(begun)


@dataclass(frozen=True)
class _Rows:
    """Reads the rows of a file in blocks: all at once where nothing is unusual, or else one by one."""

    file: str
    names: list[str]
    chosen: Sequence[str]
    delimiter: str
    problems: Problems

    def fast(self, rows: bytes) -> ColumnTable | None:
        """Read rows at once; None if anything is unusual."""
        fields = None if b'"' in rows else fields_of_lines(rows, len(self.names), self.delimiter)
        if fields is None:
            return None
        columns: dict[str, Column] = {}
        for name in self.chosen:
            at = self.names.index(name)
            if name in TEXTS:
                try:
                    columns[name] = Texts.of(*fields.runs(at))
                except UnicodeDecodeError:
                    return None
                continue
            values = fields.integers(at) if name == "frame" else fields.numbers(at)
            if values is None:
                return None
            empty = fields.begins[:, at] == fields.ends[:, at]
            columns[name] = Numbers(np.where(empty, 0, values), empty) if empty.any() else Numbers(values)
        return ColumnTable(columns, len(fields))

    def slow(self, rows: bytes, first_line: int) -> ColumnTable:
        """Read rows one by one; note what is wrong with them."""
        text = _decoded(self.file, rows, first_line)
        owner = self.names.index("utterance")
        cells: dict[str, list[Any]] = {name: [] for name in self.chosen}
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=self.delimiter, strict=True)
        try:
            for row in filter(None, reader):  # no blank lines
                place = f"{self.file}:{first_line - 1 + reader.line_num}"
                if len(row) > owner:
                    place += f", utterance {row[owner]!r}"
                if len(row) != len(self.names):
                    commas = "; are there decimal commas? Use decimal points" if len(row) > len(self.names) else ""
                    self.problems.add(f"{place}: {len(row)} cells, the header has {len(self.names)}{commas}")
                    continue
                for name, values in cells.items():
                    values.append(self._value(place, name, row[self.names.index(name)]))
        except csv.Error as error:
            self.problems.add(f"{self.file}:{first_line - 1 + reader.line_num}: {error}")
        columns = {
            name: Texts.of(values) if name in TEXTS else Numbers.of(values, np.int64 if name == "frame" else np.float64)
            for name, values in cells.items()
        }
        return ColumnTable(columns, len(next(iter(cells.values()))))

    def _value(self, place: str, name: str, cell: str) -> Any:
        if name in TEXTS:
            return cell
        if not cell:
            return None
        value = plain_number(cell) if name != "frame" else int(cell) if INTEGER.fullmatch(cell) else None
        if value is None:
            kind = "it must be an integer" if name == "frame" else "it must be a number"
            remedy = "use a decimal point" if "," in cell else kind
            self.problems.add(f"{place}: {name} {cell!r} cannot be read; {remedy}")
        return value


def _decoded(file: str, rows: bytes, first_line: int) -> str:
    try:
        return rows.decode("utf-8")
    except UnicodeDecodeError as error:
        raise not_utf8(file, first_line + rows.count(b"\n", 0, error.start)) from None


def _check_header(source: Source, names: list[str], chosen: list[str], delimiter: str) -> None:
    if len(set(chosen)) >= 2 and "utterance" in chosen:
        return
    if not names:
        raise DataError(f"{source.name}: the first line cannot be read; it must name the columns")
    others = (";", "semicolons", "write commas"), (",", "commas", "use format csv"), ("\t", "tabs", "use format tsv")
    for other, word, remedy in others:
        if other != delimiter and any(other in name and "utterance" in name.split(other) for name in names):
            raise DataError(f"{source.name}: the columns are separated by {word}; {remedy} (and decimal points)")
    if not chosen:
        raise DataError(
            f"{source.name}:1: no header; the first line must name the columns, for example utterance"
            f"{delimiter}start{delimiter}end, not {', '.join(names)[:60]!r}"
        )
    if "utterance" not in chosen:
        raise DataError(f"{source.name}:1: {missing_columns(['utterance'], names)}")


def _write(delimiter: str, table: ColumnTable) -> Iterator[bytes]:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(table.columns)
    for first in range(0, table.size, ROWS_PER_PIECE):
        rows = np.arange(first, min(first + ROWS_PER_PIECE, table.size))
        writer.writerows(zip(*(column.take(rows).to_list() for column in table.columns.values()), strict=True))
        yield out.getvalue().encode()
        out.seek(0)
        out.truncate()


def _container(name: str, delimiter: str, word: str) -> Container:
    return Container(
        name,
        f"separated by {word}, with a header; times in seconds",
        (f".{name}",),
        Begins(rf"[^\n]*{delimiter}"),
        partial(_holds, delimiter),
        partial(_parts, delimiter),
        partial(_write, delimiter),
        text=True,
        lists=False,
    )


CSV, TSV = _container("csv", ",", "commas"), _container("tsv", "\t", "tabs")

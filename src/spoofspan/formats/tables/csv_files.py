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
from functools import partial
from typing import Any

import numpy as np

from spoofspan.base.errors import DataError, Problems
from spoofspan.formats import arrow as pa
from spoofspan.formats.format import text_of
from spoofspan.formats.line_blocks import BOM, line_blocks, native_buffer, refuse_empty
from spoofspan.formats.sources import MOST_BYTES_PER_LINE, Source, not_utf8
from spoofspan.formats.tables.arrow_tables import REFERENCES, SCORES, TEXTS, Schema, plain_texts, with_metadata
from spoofspan.formats.tables.containers import Container, in_pieces
from spoofspan.formats.tables.table_columns import Part, missing_columns
from spoofspan.formats.text.rows import TEXT_SNAP

ROWS_PER_PIECE = 1 << 18
BYTES_PER_PIECE = 1 << 23
BYTES_AT_ONCE = 1 << 25  # of a file that is read whole
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf(inity)?|nan)\s*", re.IGNORECASE)
INTEGER = re.compile(r"\s*[+-]?\d+\s*")
# What others call the columns; the name of a score may say what high ones mean.
SCORE_WORDS = {
    "spoof": {"prob_fake", "prob_spoof", "p_fake", "p_spoof", "fake_prob", "spoof_prob", "fake_score", "spoof_score"},
    "bonafide": {"prob_real", "prob_bonafide", "p_real", "p_bonafide", "real_prob", "bonafide_prob", "bonafide_score"},
}
WORDS = {
    **dict.fromkeys(("filename", "file_name", "file", "utt_id", "utterance_id"), "utterance"),
    **dict.fromkeys(("start_time", "onset", "start_s", "begin"), "start"),
    **dict.fromkeys(("end_time", "offset", "end_s", "stop"), "end"),
    **dict.fromkeys(("event_label",), "label"),
    **dict.fromkeys((word for words in SCORE_WORDS.values() for word in words), "score"),
}


def _header(head: bytes, delimiter: str) -> list[str]:
    """Read the names in the first line that is not blank; none if this is no text."""
    first = next(filter(str.strip, text_of(head).splitlines()), "")
    try:
        return next(csv.reader([first], delimiter=delimiter), [])
    except csv.Error:
        return []


def _named(names: list[str]) -> list[str]:
    """The names of columns as they are called here, where others call them otherwise.

    >>> _named(["filename", "start_time", "end_time", "prob_fake", "note"])
    ['utterance', 'start', 'end', 'score', 'note']
    """
    found = [WORDS.get(name.strip().lower(), name) for name in names]
    # a column that is called so already is meant; and two words for one thing mean neither
    return [
        mine if mine == name or (mine not in names and found.count(mine) == 1) else name
        for mine, name in zip(found, names, strict=True)
    ]


def _polarity(names: list[str]) -> dict[str, str]:
    """What high scores mean, where the name of their column says it."""
    said = {higher for name in names for higher, words in SCORE_WORDS.items() if name.strip().lower() in words}
    return {"higher": said.pop()} if len(said) == 1 and "score" in _named(names) and "score" not in names else {}


def _recognises(delimiter: str, head: bytes, schema: Schema) -> bool:
    """Whether the header names what tells the content, and more of its columns."""
    names = set(_named(_header(head, delimiter)))
    if schema is REFERENCES:
        return bool(names & schema.telling) and len(names & {"utterance", "start", "end"}) >= 2
    return {"utterance", "frame"} <= names or bool(names & schema.telling and names & {"utterance", "frame", "start"})


def _parts(delimiter: str, source: Source, wanted: Sequence[str], whole: bool) -> Iterator[Part]:
    """Read blocks of rows; the slow search for what is wrong begins only when something is."""
    refuse_empty(source)
    written = _header(source.head, delimiter)
    # a column that is asked for keeps its name, and its name alone says what high scores mean
    asked = [name for name in written if name in wanted and name not in SCORES.columns]
    names = [own if own in asked else mine for own, mine in zip(written, _named(written), strict=True)]
    chosen = [name for name in names if name in wanted]
    called = dict(zip(names, written, strict=True))
    stated = {"snap": TEXT_SNAP, **_polarity([one for one in written if one in asked] or written)}
    conversions = [
        pa.csv.ConvertOptions(
            column_types={words[name]: _arrow_type(name) for name in chosen},
            include_columns=list(dict.fromkeys(words[name] for name in chosen)),
            null_values=[""],
            strings_can_be_null=False,
        )
        for words in (called, dict(zip(names, names, strict=True)))
    ]
    first, one_line_each = 0, True
    try:
        for number, block in enumerate(_row_blocks(source, BYTES_AT_ONCE if whole else BYTES_PER_PIECE)):
            if _count(block, "\0"):
                raise DataError(f"{source.name}: not a text file (it has a NUL byte)")
            if not number:
                _check_header(source, names, chosen, delimiter)
            table = pa.csv.read_csv(
                pa.BufferReader(block),
                read_options=pa.csv.ReadOptions(column_names=names if number else None, use_threads=whole),
                parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=_count(block, '"') > 0),
                convert_options=conversions[min(number, 1)],
            )
            if not number:  # its header has the words of whoever wrote it
                table = table.rename_columns(list(dict.fromkeys(chosen)))
            lines = _count(block, "\n") + (block[-1:] != b"\n") - (not number)
            one_line_each &= table.num_rows == lines
            rows = np.arange(first, first + table.num_rows)
            table = with_metadata(table, stated)
            yield Part(table, source.name, 2 if one_line_each else None, names, rows)
            first += table.num_rows
    except pa.ArrowMemoryError:
        raise
    except (pa.ArrowException, UnicodeDecodeError) as error:
        _explain(source, names, chosen, delimiter)
        raise DataError(f"{source.name}: cannot be read ({error}); correct the file") from None


def _row_blocks(source: Source, size: int) -> Iterator[Any]:
    """Blocks of whole rows: one that ends within quotes is taken together with those after it."""
    begun: list[Any] = []
    for block in line_blocks(source, size):
        begun.append(block)
        # where quotes stay open for longer than a line may be, one is a letter, or Arrow will say what is wrong
        if sum(_count(one, '"') for one in begun) % 2 == 0 or sum(map(len, begun)) > MOST_BYTES_PER_LINE:
            yield begun.pop() if len(begun) == 1 else native_buffer(begun)
            begun = []
    if begun:
        yield native_buffer(begun)


def _count(block: Any, letter: str) -> int:
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord(letter)))


def _check_header(source: Source, names: list[str], chosen: list[str], delimiter: str) -> None:
    if len(set(chosen)) >= 2 and "utterance" in chosen:
        return
    if not names:
        _explain(source, names, chosen, delimiter)
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


def _arrow_type(name: str) -> Any:
    if name in TEXTS:
        return pa.dictionary(pa.int32(), pa.string())
    return pa.int64() if name == "frame" else pa.float64()


def _explain(source: Source, names: list[str], chosen: list[str], delimiter: str) -> None:
    """Raise for what a line by line look finds."""
    data = source.text()
    try:
        text = data.removeprefix(BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise not_utf8(source.name, line) from None
    problems = Problems()
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    numbers = [(names.index(name), name) for name in chosen if name not in TEXTS]
    owner = names.index("utterance") if "utterance" in names else None
    begun = False
    try:
        for row in rows:
            if not row or not begun:  # a blank line, or the header
                begun |= bool(row)
                continue
            place = f"{source.name}:{rows.line_num}"
            if owner is not None and len(row) > owner:
                place += f", utterance {row[owner]!r}"
            if len(row) != len(names):
                commas = "; are there decimal commas? Use decimal points" if len(row) > len(names) else ""
                problems.add(f"{place}: {len(row)} cells, the header has {len(names)}{commas}")
                continue
            for at, name in numbers:
                if row[at] and not (INTEGER if name == "frame" else NUMBER).fullmatch(row[at]):
                    kind = "it must be an integer" if name == "frame" else "it must be a number"
                    remedy = "use a decimal point" if "," in row[at] else kind
                    problems.add(f"{place}: {name} {row[at]!r} cannot be read; {remedy}")
    except csv.Error as error:
        problems.add(f"{source.name}:{rows.line_num}: {error}")
    problems.raise_if_any("correct the file")


def _write(delimiter: str, table: Any) -> Iterator[bytes]:
    # pyarrow quotes all text or none; none where nothing needs it
    needs = re.compile(f'["\r\n{delimiter}]')
    texts = {text for name in table.column_names if name in TEXTS for text in table.column(name).unique().to_pylist()}
    quoting = "needed" if any(text is not None and needs.search(text) for text in texts) else "none"
    options = pa.csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=quoting)
    yield (delimiter.join(table.column_names) + "\n").encode()
    schema = plain_texts(table.slice(0, 0)).schema
    writer = partial(pa.csv.CSVWriter, schema=schema, write_options=options)
    yield from in_pieces(table, ROWS_PER_PIECE, writer, plain_texts)


def _container(name: str, delimiter: str, word: str) -> Container:
    return Container(
        name,
        f"separated by {word}, with a header; times in seconds",
        (f".{name}",),
        partial(_recognises, delimiter),
        partial(_parts, delimiter),
        partial(_write, delimiter),
        text=True,
        lists=False,
    )


CSV, TSV = _container("csv", ",", "commas"), _container("tsv", "\t", "tabs")

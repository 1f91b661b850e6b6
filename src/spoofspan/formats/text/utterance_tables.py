"""Tables with one row per utterance or trial: scores, keys and metadata, with or without a header.

Under a header, columns are found by their names (:mod:`spoofspan.formats.column_names`); fields stand between tabs,
commas, semicolons, bars or white space. Without one, the lines must be of a known form: ``forms.json``, next to this
module, lists the forms, each with its columns, its writers and what high scores mean where every writer of the form
agrees on that. JSON Lines, Parquet and Arrow tables are read by the same names.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spoofspan.base.documents import parse_json, read_json
from spoofspan.base.errors import DataError, Problems
from spoofspan.data.references import BONA_FIDE, SPOOF
from spoofspan.data.scores import Higher
from spoofspan.data.utterance_scores import TRIALS
from spoofspan.formats.column_names import UTTERANCE, column_name, column_names
from spoofspan.formats.recognition import Field, Lines, anything, first_lines, text_of
from spoofspan.formats.sources import Source
from spoofspan.formats.text.lines import fields_of, is_number, wrong_width
from spoofspan.formats.text.rows import LABEL_WORDS

if TYPE_CHECKING:
    from spoofspan.formats.tables.corpus_tables import ColumnTable, Part

SPEAKER, ATTACK, LABEL, TRIAL_LABEL = "spk", "attack", "cm-label", "asv-label"
SEPARATORS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}
BINARY = (b"PAR1", b"ARROW1")
# Labels of whole utterances, as words; nothing else is one.
CLASS_WORDS = {word: ("bonafide", "spoof")[code] for word, code in LABEL_WORDS.items() if code in (BONA_FIDE, SPOOF)}
# The columns of a form whose fields are words of a list; those of its scores are numbers, others may be anything.
WORDS = {
    LABEL: frozenset(CLASS_WORDS),
    TRIAL_LABEL: frozenset(TRIALS),
    "digit": frozenset("01"),
}
LABELS = (LABEL, "label", "digit")  # columns of labels of whole utterances, the surest first
OF_LABELS = {*LABELS, TRIAL_LABEL}
NOT_OF_UTTERANCES = {"start", "end", "frame", "labels", "segments", "duration"}  # columns of labels in time
NO_ATTACK = frozenset(("-", "bonafide", "bona-fide", "genuine", "A00"))


@dataclass(frozen=True)
class Form:
    """Lines without a header.

    ``columns`` are named in their order; ``scores`` are those that hold a number, the one that is read by default
    first: a key has none. ``higher`` is None where writers of this form disagree.
    """

    name: str
    columns: str
    scores: str = ""
    whose: str = ""
    higher: Higher | None = None
    separator: str | None = None
    mark: str = ""  # only lines that begin with it count

    @property
    def names(self) -> list[str]:
        """The columns in their order."""
        return self.columns.split()

    @property
    def score_names(self) -> list[str]:
        """The columns that hold numbers."""
        return self.scores.split()

    @property
    def line(self) -> str:
        """A line, for messages and the documentation."""
        shown = {LABEL: "bonafide|spoof", TRIAL_LABEL: "target|nontarget|spoof", "digit": "0|1", UTTERANCE: "utt"}
        between = " " if self.separator is None else f"{self.separator} " if self.mark else self.separator
        return f"{self.mark} ".lstrip() + between.join(f"<{shown.get(name, name)}>" for name in self.names)

    def fields(self, text: str, place: str) -> list[str]:
        """Cut a line; a mark is no field."""
        return fields_of(text.removeprefix(self.mark), self.separator, place)

    def fits(self, head: bytes) -> bool:
        """True if all of the first lines are of this form, and name an utterance (or trial) each; of a log, all."""
        kinds: dict[str, Field] = {name: words.__contains__ for name, words in WORDS.items()}
        kinds |= dict.fromkeys(self.score_names, is_number)
        lines = Lines([kinds.get(name, anything) for name in self.names], rows=self._name_utterances)
        if self.separator is None:
            return lines(head)
        if self.separator.encode() not in head:
            return False
        texts = text_of(head).split("\n") if self.mark else first_lines(head)
        return lines.fit([self.fields(one.rstrip("\r"), "") for one in texts if one.startswith(self.mark)])

    def _name_utterances(self, rows: Sequence[list[str]]) -> bool:
        names = self.names
        columns = dict(zip(names, zip(*rows, strict=True), strict=True))
        ids = list(zip(columns.get(SPEAKER, columns[UTTERANCE]), columns[UTTERANCE], strict=True))
        # <utt> <frame> <score>
        frames = len(self.score_names) == 2 and not self.mark and all(map(str.isdecimal, columns[names[1]]))
        return len(set(ids)) == len(ids) and not all(map(is_number, columns[UTTERANCE])) and not frames


FORMS = {row["name"]: Form(**row) for row in read_json(Path(__file__).with_name("forms.json"))}


@dataclass(frozen=True)
class Layout:
    """The columns of a table, and how its rows are cut."""

    names: Sequence[str]  # in one spelling
    written: Sequence[str]  # as they stand in the header
    separator: str | None = None
    form: Form | None = None  # of a table without a header
    binary: bool = False  # Parquet or Arrow
    json: bool = False
    first_row: str = ""  # below a header

    @property
    def columns_of_lists(self) -> list[str]:
        """The columns whose cell in the first row is a list, as they are written."""
        cells = fields_of(self.first_row, self.separator, "")
        return [name for name, cell in zip(self.written, cells, strict=False) if cell.startswith("[")]

    def position(self, name: str) -> int | None:
        """Location of a column, by any of its spellings; None if it is not there, or twice."""
        for wanted, names in ((name, self.written), (column_name(name), self.names)):
            if list(names).count(wanted) == 1:
                return list(names).index(wanted)
        return None


@dataclass(frozen=True)
class Header:
    """Tables whose columns satisfy a condition; those of Parquet and Arrow stand elsewhere, and may be ``binary``."""

    fits: Callable[[Layout], bool]
    binary: bool = False

    def __call__(self, head: bytes) -> bool:
        """True if a file has such columns, as far as its first line tells."""
        if self.binary and head.startswith(BINARY):
            return True
        layout = header_layout(head)
        return layout is not None and self.fits(layout)


@lru_cache(4)
def header_layout(head: bytes) -> Layout | None:
    """The columns that the first line (or JSON object) names, if one of them identifies utterances."""
    first, second = (line.strip() for line in (*first_lines(head)[:2], "", "")[:2])
    if first.startswith("{"):
        try:
            found = parse_json(first)
        except ValueError:
            return None
        written = list(found) if isinstance(found, dict) else []
        names = column_names(written)
        return Layout(names, written, json=True) if UTTERANCE in names and len(names) > 1 else None
    between = next((one for one in SEPARATORS if one in first), None)
    written = fields_of(first, between, "")
    if len(written) < 2 or any(map(is_number, written)):
        return None
    names = column_names(written)
    return Layout(names, written, between, first_row=second) if names.count(UTTERANCE) == 1 else None


def recognises_utterance_labels(head: bytes) -> bool:
    """True if these are labels of whole utterances or of trials, and not ranges."""
    layout = header_layout(head)
    if layout is not None:
        return has_only_labels(layout)
    return any(form.fits(head) for form in FORMS.values() if not OF_LABELS.isdisjoint(form.names))


def has_only_labels(layout: Layout) -> bool:
    """True if a table has labels, and no times."""
    return not OF_LABELS.isdisjoint(layout.names) and NOT_OF_UTTERANCES.isdisjoint(layout.names)


def form_layout(form: Form) -> Layout:
    """The columns of lines without a header."""
    return Layout(form.names, form.names, form.separator, form)


def layout_of(source: Source, forms: Sequence[Form] = tuple(FORMS.values())) -> Layout | None:
    """The columns of a table of any kind; None if it is none that is known."""
    if source.head.startswith(BINARY):
        written = list(_binary_table(source, ()).column_names)
        return Layout(column_names(written), written, binary=True)
    if (found := header_layout(source.head)) is not None:
        return found
    fits = [form for form in forms if form.fits(source.head)]
    return form_layout(fits[0]) if fits else None


def rows_of(
    source: Source, layout: Layout, names: Sequence[str], problems: Problems
) -> Iterator[tuple[str, list[str]]]:
    """Yield the place and the named columns of every row, as text."""
    columns = [layout.position(name) for name in names]
    if None in columns:
        wanted = " and ".join(repr("filename" if name == UTTERANCE else name) for name in names)
        problems.add(f"{source.name}:1: the header must have {wanted}, tabs between them")
        return
    chosen = [column for column in columns if column is not None]
    if layout.binary:
        table = _binary_table(source, [layout.written[column] for column in chosen]).table
        values = [_values(source.name, layout.written[column], table) for column in chosen]
        for number, row in enumerate(zip(*values, strict=True), 1):
            yield f"{source.name}, row {number}", [_cell_text(value) for value in row]
        return
    form, width = layout.form, len(layout.names)
    expected = f"the {width} of the header, {SEPARATORS.get(str(layout.separator), 'spaces')} between them"
    waiting = form is None and not layout.json  # for the header
    for number, text in source.lines():
        place = f"{source.name}:{number}"
        if form is not None and not text.startswith(form.mark):
            continue
        if waiting:
            waiting = False
            continue
        if layout.json:
            fields = _json_fields(text, layout, place, problems)
        else:
            fields = form.fields(text, place) if form is not None else fields_of(text, layout.separator, place)
        if fields is not None and len(fields) != width:
            comma = " (decimals have a point, not a comma)" if layout.separator == "," else ""
            problems.add(wrong_width(place, fields, (expected if form is None else form.line) + comma))
        elif fields is not None:
            yield place, [fields[column] for column in chosen]
        if problems.full:
            return


def _json_fields(text: str, layout: Layout, place: str, problems: Problems) -> list[str] | None:
    try:
        found = parse_json(text)
    except ValueError as error:
        problems.add(f"{place}: not a JSON object on one line ({error})")
        return None
    if not isinstance(found, dict):
        problems.add(f"{place}: not a JSON object but {type(found).__name__}; write one object a line")
        return None
    return [_cell_text(found.get(name)) for name in layout.written]


def _cell_text(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, default=str)


def _binary_table(source: Source, columns: Sequence[str]) -> Part:
    """These columns of a Parquet or Arrow file; the names alone if none are chosen."""
    from spoofspan.formats.tables.arrow_ipc import ARROW
    from spoofspan.formats.tables.corpus_tables import joined_parts
    from spoofspan.formats.tables.parquet import PARQUET

    return joined_parts((PARQUET if source.head.startswith(b"PAR1") else ARROW).parts(source, columns, True))


def _values(name: str, column: str, table: ColumnTable) -> list[Any]:
    from spoofspan.formats.tables.corpus_tables import OtherCells

    found = table.columns[column]
    if isinstance(found, OtherCells):
        raise DataError(f"{name}: column {column!r} is of type {found.kind}; make it text or numbers")
    return found.to_list()


# ---------------------------------------------------------------- polarity that a file shows


def seen_polarity(source: Source, layout: Layout, score: str) -> str:
    """Evidence for the polarity in the first rows of labelled scores; empty without labels of both classes."""
    at, label_at = layout.position(score), layout.position(LABEL)
    label_at = layout.position("label") if label_at is None else label_at
    if at is None or label_at is None or layout.binary or layout.json:
        return ""
    found: dict[str, list[float]] = {"bonafide": [], "spoof": []}
    for text in first_lines(source.head)[layout.form is None :]:
        fields = layout.form.fields(text, "") if layout.form is not None else fields_of(text, layout.separator, "")
        word = CLASS_WORDS.get(fields[label_at].lower()) if len(fields) == len(layout.names) else None
        if word is not None and is_number(fields[at]):
            found[word].append(float(fields[at]))
    if not all(found.values()):
        return ""
    medians = {word: statistics.median(values) for word, values in found.items()}
    return (
        f" (its first lines have a median of {medians['bonafide']:.4g} for bona fide and of {medians['spoof']:.4g} for "
        "spoof)"
    )

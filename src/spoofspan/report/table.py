"""One table, five spellings: text for a terminal, Markdown, LaTeX (booktabs), CSV, and HTML for notebooks.

Cells are text. Whatever they contain is made harmless for where it is shown: control characters are escaped on a
terminal, markup in Markdown and LaTeX, and a CSV cell that a spreadsheet would run as a formula gets an apostrophe.
"""

from __future__ import annotations

import csv
import html
import io
import json
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.base.numbers import is_number

_NAMED = {"\\": "textbackslash", "^": "textasciicircum", "~": "textasciitilde", "<": "textless", ">": "textgreater"}
_LATEX = str.maketrans({c: f"\\{c}" for c in "{}$&#%_"} | {c: f"\\{name}{{}}" for c, name in _NAMED.items()})
_MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>#|"})


@dataclass(frozen=True)
class Table:
    """Columns, rows of cells, and lines below them; numbers stand to the right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def render(self, spelling: str) -> str:
        """Write the table as ``text``, ``markdown``, ``latex``, ``csv`` or ``html``."""
        writers: dict[str, Callable[[Table], str]] = {
            "text": _text,
            "markdown": _markdown,
            "latex": _latex,
            "csv": _csv,
            "html": _html,
        }
        if spelling not in writers:
            raise UsageError(f"no table format {spelling!r}: {nearest_name(spelling, writers)}")
        return writers[spelling](self)


def json_text(plain: Any) -> str:
    """Plain data as JSON for people and programs."""
    return json.dumps(plain, indent=2, ensure_ascii=False) + "\n"


def printable(text: str) -> str:
    r"""Escape what a terminal would act on: control characters, line ends, changes of writing direction.

    >>> printable("u1\x1b[31m\u202e")
    'u1\\x1b[31m\\u202e'
    """
    return "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") else c
        for c in text
    )


def latex_text(text: str) -> str:
    r"""Make text harmless in LaTeX.

    >>> print(latex_text("50 % of a_b"))
    50 \% of a\_b
    """
    return printable(text).translate(_LATEX)


def harmless_cell(text: str) -> str:
    """Keep a spreadsheet from running a cell as a formula; numbers stay numbers.

    >>> harmless_cell("=1+1"), harmless_cell("-0.5")
    ("'=1+1", '-0.5')
    """
    if text[:1] in ("=", "+", "-", "@", "\t", "\r") and not is_number(text):
        return f"'{text}"
    return text


def _numeric_columns(table: Table) -> list[bool]:
    return [
        bool(table.rows) and all(not row[i] or row[i][0] in "+-0123456789." for row in table.rows)
        for i in range(len(table.columns))
    ]


def _aligned(rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> list[list[str]]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(numeric))]
    return [
        [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ]
        for row in rows
    ]


def _text(table: Table) -> str:
    rows = [tuple(map(printable, row)) for row in (table.columns, *table.rows)]
    lines = ["  ".join(row).rstrip() for row in _aligned(rows, _numeric_columns(table))]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join([*lines, *map(printable, table.notes)]) + "\n"


def _markdown(table: Table) -> str:
    numeric = _numeric_columns(table)
    rows = [tuple(printable(cell).translate(_MARKDOWN) for cell in row) for row in (table.columns, *table.rows)]
    head, *body = ("| " + " | ".join(row) + " |" for row in _aligned(rows, numeric))
    rule = "|" + "|".join("---:" if right else "---" for right in numeric) + "|"
    notes = [printable(note).translate(_MARKDOWN) + "  " for note in table.notes if note]
    notes = ["", *notes] if notes else []
    return "\n".join([head, rule, *body, *notes]) + "\n"


def _latex(table: Table) -> str:
    numeric = _numeric_columns(table)
    rows = [" & ".join(map(latex_text, row)) + r" \\" for row in (table.columns, *table.rows)]
    notes = [f"% {printable(note)}" for note in table.notes if note]
    begin = r"\begin{tabular}{" + "".join("r" if right else "l" for right in numeric) + "}"
    lines = [begin, r"\toprule", rows[0], r"\midrule", *rows[1:], r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*notes, *lines]) + "\n"


def _csv(table: Table) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([harmless_cell(cell) for cell in row] for row in table.rows)
    return buffer.getvalue()


def _html(table: Table) -> str:
    """A table for notebooks; text from files is escaped."""

    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(printable(cell))}</{tag}>" for cell in cells) + "</tr>"

    lines = ["<table>", row(table.columns, "th"), *(row(cells, "td") for cells in table.rows), "</table>"]
    notes = [f"<div>{html.escape(printable(note))}</div>" for note in table.notes if note]
    return "\n".join([*lines, *notes]) + "\n"

"""One table, five spellings: text for a terminal, Markdown, LaTeX (booktabs), CSV, and HTML for notebooks.

Cells are text. Whatever they contain is made harmless for where it is shown: control characters are escaped on a
terminal, markup in Markdown and LaTeX, and a CSV cell that a spreadsheet would run as a formula gets an apostrophe.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.base.numbers import is_number
from spoofspan.base.terminal import Screen, current_screen

MAIN = re.compile(r"\b(eer|value)\b|-eer|difference", re.IGNORECASE)  # the column of a table that matters most
MINUS = "\u2212"
NARROWEST_CELL = 20  # columns; a cell with less room goes below its row
ROWS_OF_A_PAGE = 40
# a table alone in a browser: readable in light and dark, long lines broken
_STYLE = (
    ":root{color-scheme:light dark}body{font:1rem/1.4 system-ui,sans-serif;margin:2rem;overflow-wrap:anywhere}"
    "table{border-collapse:collapse;margin:1rem 0}th,td{border-bottom:1px solid;padding:.2rem .6rem;text-align:left;"
    "font-variant-numeric:tabular-nums;overflow-wrap:normal}"
)
_MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>#|"})


class Shown(str):
    """A cell or the head of a column as it is read; CSV and LaTeX may have something else.

    Parameters
    ----------
    text
        What a terminal, Markdown and HTML show.
    exact
        What CSV has: the number with all its digits.
    paper
        What LaTeX has: a readable name, four digits. A column whose head has none ("") is left out of LaTeX.
    strong
        Whether Markdown and HTML emphasize it.

    Examples
    --------
    >>> cell = Shown("5.21", exact="5.2055619")
    >>> cell, cell.exact, cell.paper
    ('5.21', '5.2055619', '5.21')

    """

    exact: str
    paper: str
    strong: bool

    def __new__(cls, text: str, *, exact: str | None = None, paper: str | None = None, strong: bool = False) -> Shown:
        """Make one; what is not said is the text."""
        made = super().__new__(cls, text)
        made.exact = text if exact is None else exact
        made.paper = text if paper is None else paper
        made.strong = strong
        return made


@dataclass(frozen=True)
class Table:
    """Columns, rows of cells, and lines below them; numbers stand to the right. Any text may be :class:`Shown`.

    ``lead`` is a sentence above the table, which CSV has not.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    lead: str = ""

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


def finite(value: Any) -> Any:
    """Replace infinities and NaN, which JSON does not have, by text."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [finite(item) for item in value]
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        return str(value)
    return value


def printable(text: str) -> str:
    r"""Escape what a terminal would act on: control characters, line ends, changes of writing direction.

    >>> printable("u1\x1b[31m\u202e")
    'u1\\x1b[31m\\u202e'
    """
    return "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") else c
        for c in text
    )


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


def _on_screen(table: Table, screen: Screen) -> str:
    """A table that fits a terminal: columns that do not are put below, with the first one repeated."""
    rows = [tuple(map(printable, row)) for row in (table.columns, *table.rows)]
    numeric = _numeric_columns(table)
    widths = [len(cell) for cell in _aligned(rows, numeric)[0]]
    if len(widths) == 2 and sum(widths) + 2 > screen.width:
        numeric = [False, False]  # one long cell does not push the others off the screen
    aligned = _aligned(rows, numeric)
    # what the table is about: its first value, or what is strong
    main = next((i for i, name in enumerate(table.columns) if numeric[i] and MAIN.search(name)), None)
    lines: list[str] = []
    for block in _blocks(widths, screen.width):
        lines += [""] if lines else []
        for number, row in enumerate(aligned):
            cells = []
            for i in block:
                strong = number == 0 or i == main or getattr(table.rows[number - 1][i], "strong", False)
                # a blank that nobody sees may be left out at the end of a line
                cell = row[i].rstrip() if i == block[-1] else row[i]
                cells.append(screen.shown(cell, "strong") if strong else cell)
            before = sum(widths[i] + 2 for i in block[:-1])
            if not strong and before + len(cell) > screen.width:  # a last cell of words continues below itself
                first, *rest = _wrapped_cell(cell, before, screen.width)
                cells[-1:] = [first] if first else []
                lines += ["  ".join(cells).rstrip(), *rest]
                continue
            lines.append("  ".join(cells).rstrip())
            if number == 0:
                wide = sum(widths[i] for i in block) + 2 * len(block) - 2
                lines.append(screen.shown("-" * min(wide, screen.width), "faint"))
    lead = [*(screen.shown(line, "strong") for line in screen.lines([printable(table.lead)])), ""] if table.lead else []
    return "\n".join([*lead, *lines, *screen.lines(map(printable, table.notes))]) + "\n"


def _wrapped_cell(cell: str, before: int, room: int) -> list[str]:
    """Lines of the last cell of a row, with so many columns ``before`` it; the first is empty if all go below.

    >>> _wrapped_cell("one two three four five six seven", 10, 40)
    ['one two three four five six', '          seven']
    >>> _wrapped_cell("one two three four five six seven", 30, 40)
    ['', '    one two three four five six seven']
    """
    narrow = room - before < NARROWEST_CELL
    indent = " " * (4 if narrow else before)
    lines = wrap(
        cell, room, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return ["", *lines] if narrow else [lines[0].lstrip(), *lines[1:]]


def _blocks(widths: Sequence[int], room: int) -> list[list[int]]:
    """Columns that fit side by side; each block begins with the first column.

    >>> _blocks([4, 10, 10, 10], 30)
    [[0, 1, 2], [0, 3]]
    """
    blocks = [[0]]
    for i in range(1, len(widths)):
        taken = sum(widths[j] + 2 for j in blocks[-1])
        if taken + widths[i] > room and len(blocks[-1]) > 1:
            blocks.append([0])
        blocks[-1].append(i)
    return blocks


def _text(table: Table) -> str:
    if (screen := current_screen()) is not None:
        return _on_screen(table, screen)
    rows = [tuple(map(printable, row)) for row in (table.columns, *table.rows)]
    lines = ["  ".join(row).rstrip() for row in _aligned(rows, _numeric_columns(table))]
    lines.insert(1, "-" * max(map(len, lines)))
    lead = [printable(table.lead), ""] if table.lead else []
    return "\n".join([*lead, *lines, *map(printable, table.notes)]) + "\n"


def _markdown(table: Table) -> str:
    numeric = _numeric_columns(table)
    rows = [tuple(map(_markdown_cell, row)) for row in (table.columns, *table.rows)]
    head, *body = ("| " + " | ".join(row) + " |" for row in _aligned(rows, numeric))
    rule = "|" + "|".join("---:" if right else "---" for right in numeric) + "|"
    notes = [printable(note).translate(_MARKDOWN) + "  " for note in table.notes if note]
    notes = ["", *notes] if notes else []
    lead = [printable(table.lead).translate(_MARKDOWN), ""] if table.lead else []
    return "\n".join([*lead, head, rule, *body, *notes]) + "\n"


def _markdown_cell(cell: str) -> str:
    text = printable(cell).translate(_MARKDOWN)
    return f"**{text}**" if getattr(cell, "strong", False) else text


def _latex(table: Table) -> str:
    """The columns for a paper, in floats that fit it; notes are comments."""
    from spoofspan.report import latex

    numeric = _numeric_columns(table)
    paper = [[getattr(cell, "paper", cell) for cell in row] for row in (table.columns, *table.rows)]
    columns = []
    for i, head in enumerate(paper[0]):
        if head or not table.columns[i]:
            cells = tuple(row[i] for row in paper[1:])
            lines = latex.two_lines(head, max(map(len, cells), default=0))
            columns.append(latex.PaperColumn(tuple(lines), cells, numeric[i]))
    columns, wide = latex.fitted(columns)
    lines = [*(latex.comment(note) for note in (table.lead, *table.notes) if note), latex.NEEDS]
    for first in range(0, max(len(table.rows), 1), ROWS_OF_A_PAGE):
        rows = range(first, min(first + ROWS_OF_A_PAGE, len(table.rows)))
        lines += latex.floating([latex.tabular(block, rows) for block in latex.blocks(columns)], wide=wide)
    return "\n".join(lines) + "\n"


def _csv(table: Table) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for row in (table.columns, *table.rows):
        writer.writerow([harmless_cell(getattr(cell, "exact", cell)) for cell in row])
    return buffer.getvalue()


def _html(table: Table) -> str:
    """A table for notebooks; text from files is escaped."""
    from html import escape

    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{emphasized(cell)}</{tag}>" for cell in cells) + "</tr>"

    def emphasized(cell: str) -> str:
        text = escape(printable(cell))
        return f"<strong>{text}</strong>" if getattr(cell, "strong", False) else text

    lead = [f"<p>{escape(printable(table.lead))}</p>"] if table.lead else []
    lines = [*lead, "<table>", row(table.columns, "th"), *(row(cells, "td") for cells in table.rows), "</table>"]
    notes = [f"<div>{escape(printable(note))}</div>" for note in table.notes if note]
    return "\n".join([*lines, *notes]) + "\n"


def html_document(tables: str) -> str:
    """Make a page of tables in HTML, which is the fragment that a notebook shows."""
    head = f'<meta charset="utf-8">\n<title>spoofspan: results</title>\n<style>{_STYLE}</style>'
    body = f"<main>\n<h1>Results</h1>\n{tables}</main>"
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n'

"""One table, five spellings: text for a terminal, Markdown, LaTeX (booktabs), CSV, and HTML for notebooks.

Cells are text. Whatever they contain is made harmless for where it is shown: control characters are escaped on a
terminal, markup in Markdown and LaTeX, and a CSV cell that a spreadsheet would run as a formula gets an apostrophe.
"""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.base.numbers import is_number

MINUS = "\u2212"
# LaTeX that a Unicode character means, whatever the encoding of the paper
_TYPESET = {MINUS: "$-$", "\u2013": "--", "\u2020": "$\\dagger$", "\u221e": "$\\infty$"}
# shrinks a table to the width of its column of paper, and never lets it grow
FIT = r"\noindent\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
# the same for the height of the page, of tables that may have more rows than it
FIT_HEIGHT = r"\noindent\resizebox*{!}{\ifdim\totalheight>.95\textheight .95\textheight\else\totalheight\fi}{%"
ROWS_OF_A_PAGE = 40
NEEDS = r"% needs \usepackage{booktabs,graphicx}"
_NAMED = {"\\": "textbackslash", "^": "textasciicircum", "~": "textasciitilde", "<": "textless", ">": "textgreater"}
_LATEX = str.maketrans({c: f"\\{c}" for c in "{}$&#%_"} | {c: f"\\{name}{{}}" for c, name in _NAMED.items()} | _TYPESET)
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

    Examples
    --------
    >>> cell = Shown("5.21", exact="5.2055619")
    >>> cell, cell.exact, cell.paper
    ('5.21', '5.2055619', '5.21')

    """

    exact: str
    paper: str

    def __new__(cls, text: str, *, exact: str | None = None, paper: str | None = None) -> Shown:
        """Make one; what is not said is the text."""
        made = super().__new__(cls, text)
        made.exact = text if exact is None else exact
        made.paper = text if paper is None else paper
        return made


@dataclass(frozen=True)
class Table:
    """Columns, rows of cells, and lines below them; numbers stand to the right. Any text may be :class:`Shown`."""

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
    >>> print(latex_text("[1] ours"))
    {}[1] ours
    """
    harmless = printable(text).translate(_LATEX)
    # at the beginning of a row, [ and * would be an argument of the line end or the rule before it
    return "{}" + harmless if harmless.lstrip()[:1] in ("[", "*") else harmless


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
    """The columns for a paper, shrunk where they are wider than one of its columns."""
    numeric = _numeric_columns(table)
    paper = [[getattr(cell, "paper", cell) for cell in row] for row in (table.columns, *table.rows)]
    kept = [i for i, head in enumerate(paper[0]) if head or not table.columns[i]]
    heads = [_head(paper[0][i], max((len(row[i]) for row in paper[1:]), default=0), numeric[i]) for i in kept]
    body = [[_typeset(row[i], numeric[i]) for i in kept] for row in paper[1:]]
    rows = [" & ".join(row) + r" \\" for row in (heads, *body)]
    notes = [f"% {printable(note)}" for note in table.notes if note]
    begin = r"\setlength{\tabcolsep}{4pt}\begin{tabular}{" + "".join("r" if numeric[i] else "l" for i in kept) + "}"
    long = len(body) > ROWS_OF_A_PAGE
    end = r"\end{tabular}}" + "}" * long
    fit = [FIT_HEIGHT, FIT] if long else [FIT]
    lines = [NEEDS, *fit, begin, r"\toprule", rows[0], r"\midrule", *rows[1:], r"\bottomrule", end]
    return "\n".join([*notes, *lines]) + "\n"


def _head(text: str, width: int, is_number: bool) -> str:
    """The head of a column in LaTeX: in two lines, where it is longer than what stands below it."""
    words = text.split()
    if len(words) < 2 or len(text) <= max(width, 6):
        return latex_text(text)
    lines = [(" ".join(words[:cut]), " ".join(words[cut:])) for cut in range(1, len(words))]
    first, second = min(lines, key=lambda both: max(map(len, both)))
    return rf"\shortstack[{'r' if is_number else 'l'}]{{{latex_text(first)}\\{latex_text(second)}}}"


def _typeset(text: str, is_number: object) -> str:
    """A cell in LaTeX; the sign of a number is a minus, not a hyphen."""
    if is_number and text[:1] in ("-", "+"):
        return f"${text[0]}${latex_text(text[1:])}"
    return latex_text(text)


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
        return "<tr>" + "".join(f"<{tag}>{escape(printable(cell))}</{tag}>" for cell in cells) + "</tr>"

    lines = ["<table>", row(table.columns, "th"), *(row(cells, "td") for cells in table.rows), "</table>"]
    notes = [f"<div>{escape(printable(note))}</div>" for note in table.notes if note]
    return "\n".join([*lines, *notes]) + "\n"


def html_document(tables: str) -> str:
    """Make a page of tables in HTML, which is the fragment that a notebook shows."""
    head = f'<meta charset="utf-8">\n<title>spoofspan: results</title>\n<style>{_STYLE}</style>'
    body = f"<main>\n<h1>Results</h1>\n{tables}</main>"
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n'

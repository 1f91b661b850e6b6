r"""LaTeX for two-column papers: text made harmless, and tables that fit without type under 7 pt.

Tables are set in ``\footnotesize`` (8 pt in a 10 pt paper), what stands below a number in ``\scriptsize`` (7 pt), and
nothing is scaled. A table that is too wide for a column of the paper breaks the lines of its text columns, then takes
both columns (``table*``), then breaks into blocks. Widths are estimated from the characters, a little too large.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from spoofspan.report.table import MINUS, printable

COLUMN, PAGE = 224.0, 462.0  # pt; the narrowest of article, IEEEtran and the Interspeech kit, less a little
SIZE, SMALL_SIZE = 8.0, 7.0  # pt of \footnotesize and \scriptsize
SEPARATION = 3.0  # pt on both sides of a column
NARROWEST = 56.0  # pt of a column whose text is broken into lines
NEEDS = r"% needs \usepackage{booktabs}"
# LaTeX that a Unicode character means, whatever the encoding of the paper
_TYPESET = {
    MINUS: "$-$",
    "\u2013": "--",
    "\u2020": "$\\dagger$",
    "\u221e": "$\\infty$",
    "\u00b1": "$\\pm$",
    "\u00d7": "$\\times$",
}
_NAMED = {"\\": "textbackslash", "^": "textasciicircum", "~": "textasciitilde", "<": "textless", ">": "textgreater"}
_LATEX = str.maketrans({c: f"\\{c}" for c in "{}$&#%_"} | {c: f"\\{name}{{}}" for c, name in _NAMED.items()} | _TYPESET)
_POWER = re.compile(r"(\d(?:\.\d+)?)e([+-])0*(\d+)$")
_NARROW, _WIDE = frozenset("iljtfrI.,:;|!'()[]/ "), frozenset("mwMWQO%@&\u221e\u00b1\u00d7\u2212+=<>")


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


def latex_number(text: str) -> str:
    r"""Typeset a number: a minus for its sign, a power of ten for its exponent.

    >>> print(latex_number("7.2e-06"), latex_number("-0.21"), latex_number("> 1.2e+04"))
    $7.2\times10^{-6}$ $-$0.21 \textgreater{} $1.2\times10^{4}$
    """
    power = _POWER.search(text)
    head, tail = (text[: power.start()], power) if power else (text, None)
    sign = f"${head[0]}$" if head[:1] in ("-", "+") else ""
    typeset = sign + latex_text(head[1:] if sign else head)
    if tail is None:
        return typeset
    mantissa, minus, exponent = tail.groups()
    return typeset + rf"${mantissa}\times10^{{{minus.strip('+')}{exponent}}}$"


def comment(text: str) -> str:
    r"""A line of text as a comment of LaTeX.

    >>> print(comment("95 % from\na file"))
    % 95 % from\na file
    """
    return f"% {printable(text)}"


def text_width(text: str, size: float = SIZE) -> float:
    """Estimated width in pt of text in a serif typeface.

    >>> 4 * 4 < text_width("12.39") < 5 * 5
    True
    """
    return size * sum(0.34 if c in _NARROW else 0.86 if c in _WIDE else 0.74 if c.isupper() else 0.54 for c in text)


def two_lines(text: str, width: int) -> list[str]:
    """Break the head of a column into two lines, where it is longer than what stands below it."""
    words = text.split()
    if len(words) < 2 or len(text) <= max(width, 6):
        return [text]
    lines = [(" ".join(words[:cut]), " ".join(words[cut:])) for cut in range(1, len(words))]
    return list(min(lines, key=lambda both: max(map(len, both))))


@dataclass(frozen=True)
class PaperColumn:
    """A column of a table in a paper: its head in lines, its cells, and how they are aligned."""

    head: tuple[str, ...]
    cells: tuple[str, ...]
    is_number: bool
    width: float = 0.0  # pt, where its lines are broken

    @property
    def natural(self) -> float:
        """Estimated width in pt without broken lines."""
        return max(map(text_width, (*self.head, *self.cells)))

    @property
    def taken(self) -> float:
        """Width in pt with the space around it."""
        return (self.width or self.natural) + 2 * SEPARATION

    @property
    def alignment(self) -> str:
        """As an argument of ``tabular``."""
        if self.width:
            return rf"p{{{self.width:.0f}pt}}"
        return "r" if self.is_number else "l"

    def typeset_head(self) -> str:
        """The head, in one line or two."""
        lines = [latex_text(line) for line in self.head]
        if self.width or len(lines) == 1:
            return " ".join(lines)
        return rf"\shortstack[{'r' if self.is_number else 'l'}]{{{BREAK.join(lines)}}}"

    def typeset_cell(self, row: int) -> str:
        """A cell; lines that are broken are ragged."""
        text = self.cells[row]
        typeset = latex_number(text) if self.is_number else _with_powers(text)
        return rf"{{\raggedright {typeset}\par}}" if self.width else typeset


BREAK = r"\\"
# exponents in the size of the text, which TeX would set in 6 pt
EXPONENTS = r"\everymath{\scriptfont0=\textfont0 \scriptfont2=\textfont2 }"


def _with_powers(text: str) -> str:
    """Text whose last word may be a number with an exponent."""
    return latex_number(text) if _POWER.search(text) and text[:1] in "<>\u2264\u2265" else latex_text(text)


def fitted(columns: Sequence[PaperColumn]) -> tuple[list[PaperColumn], bool]:
    """Fit columns into a column of the paper, or into both; and whether they need both."""
    for room in (COLUMN, PAGE):
        missing = sum(one.taken for one in columns) - room
        if missing <= 0:
            return list(columns), room == PAGE
        widths = [0.0 if one.is_number else one.natural for one in columns]
        kept = list(widths)
        # the widest text columns give most
        while missing > 0 and max(widths, default=0.0) > NARROWEST:
            at = widths.index(max(widths))
            cut = min(missing, max(widths[at] * 0.1, 1.0), widths[at] - NARROWEST)
            widths[at], missing = widths[at] - cut, missing - cut
        if missing <= 1e-6:
            broken = [
                PaperColumn(one.head, one.cells, one.is_number, width if width < before else 0.0)
                for one, width, before in zip(columns, widths, kept, strict=True)
            ]
            return broken, room == PAGE
    return list(columns), True


def blocks(columns: Sequence[PaperColumn]) -> list[list[PaperColumn]]:
    """Divide columns that do not fit the page into blocks that do; each begins with the first column."""
    if sum(one.taken for one in columns) <= PAGE:
        return [list(columns)]
    found = [[columns[0]]]
    for one in columns[1:]:
        if len(found[-1]) > 1 and sum(each.taken for each in (*found[-1], one)) > PAGE:
            found.append([columns[0]])
        found[-1].append(one)
    return found


def tabular(columns: Sequence[PaperColumn], rows: range) -> list[str]:
    """The lines of a table without its float."""
    cells = [" & ".join(one.typeset_cell(row) for one in columns) + r" \\" for row in rows]
    head = " & ".join(one.typeset_head() for one in columns) + r" \\"
    begin = rf"\begin{{tabular}}{{{''.join(one.alignment for one in columns)}}}"
    return [begin, r"\toprule", head, r"\midrule", *cells, r"\bottomrule", r"\end{tabular}"]


def floating(tabulars: Sequence[Sequence[str]], *, wide: bool, caption: str = "", label: str = "") -> list[str]:
    """The float around tables that stand below each other; ``caption`` is LaTeX already."""
    name = "table*" if wide else "table"
    body = [line for one in tabulars for line in (r"\par\medskip", *one)][1:]
    said = [rf"\caption{{{caption}}}"] if caption else []
    said += [rf"\label{{{label}}}"] if label else []
    look = [EXPONENTS] if any(r"\times10^" in line for line in body) else []
    look += [r"\centering", r"\footnotesize", rf"\setlength{{\tabcolsep}}{{{SEPARATION:g}pt}}"]
    return [rf"\begin{{{name}}}[t]", *said, *look, *body, rf"\end{{{name}}}"]

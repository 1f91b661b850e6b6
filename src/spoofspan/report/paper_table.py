r"""Resolution tables in LaTeX, in the shape of the paper's Tables 3 and 4.

Sets stand side by side where they fit the page, otherwise below each other. A cell has its number, and below it the
standard deviation over seeds and the interval, in 7 pt. The caption says how to read the numbers; notes on rules, and
signatures, are comments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spoofspan.evaluation.resolution_table import RANGE, ResolutionTable
from spoofspan.measures.measure import Measure, in_percent, short_measure
from spoofspan.report import latex
from spoofspan.report.cells import measure_name
from spoofspan.report.latex import latex_text, text_width
from spoofspan.report.resolutions import (
    FLOOR_COLUMN,
    PrintedCell,
    TableLook,
    notes,
    printed_rows,
    row_heads,
    seeds_text,
    set_title,
    shown_columns,
    spaced,
)

TITLE = "Range-based and point-based EER"


@dataclass(frozen=True)
class _Column:
    """A column of numbers of one set."""

    set_name: str
    measure: str
    cells: tuple[PrintedCell, ...]

    @property
    def head(self) -> tuple[str, ...]:
        """In lines, bottom aligned."""
        if self.measure == FLOOR_COLUMN:
            return ("Floor",)
        if self.measure == RANGE:
            return ("Range-", "based EER")
        if self.is_point:
            return (_ms(Measure.parse(self.measure).resolution),)
        return tuple(latex.two_lines(measure_name(self.measure), 6))

    @property
    def is_point(self) -> bool:
        return self.measure.startswith("point-eer@")

    @property
    def taken(self) -> float:
        """Width in pt, with the space around it."""
        lines = [text_width(f"{one.number} {one.letters}".strip()) * (1.1 if one.best else 1.0) for one in self.cells]
        small = [text_width(text, latex.SMALL_SIZE) for one in self.cells for text in _below(one)]
        return max([*map(text_width, self.head), *lines, *small]) + 2 * latex.SEPARATION


def latex_table(tables: Mapping[str, ResolutionTable], look: TableLook) -> str:
    """Write tables of several sets, by the name of the set."""
    first = next(iter(tables.values()))
    columns = [
        _Column(name, measure, tuple(row[i] for row in printed))
        for name, table in tables.items()
        for printed in [printed_rows(table, look, name)]
        for i, measure in enumerate(shown_columns(table, look))
    ]
    names = _names(first)
    before = sum(max(map(text_width, column)) + 2 * latex.SEPARATION for column in zip(*names, strict=True))
    narrow = before + sum(one.taken for one in columns) <= latex.COLUMN
    blocks = [columns] if narrow else _blocks(columns, latex.PAGE - before)
    # several blocks may be narrow enough for one column of the paper
    wide = not narrow and any(before + sum(one.taken for one in block) > latex.COLUMN for block in blocks)
    body = [_tabular(block, names, any(tables)) for block in blocks]
    caption = latex_text(look.caption) if look.caption else _caption(tables, columns)
    lines = [*map(latex.comment, notes(tables, look)), latex.NEEDS]
    lines += latex.floating(body, wide=wide, caption=caption, label=look.label)
    return "\n".join(lines) + "\n"


def _names(table: ResolutionTable) -> list[list[str]]:
    """Text before the numbers, in plain text: the head, then the rows."""
    head, *rows = row_heads(table)
    titles = {"hop": "Hop (ms)", "system": "System"}
    return [[titles[one] for one in head], *([one.removesuffix(" ms") for one in row] for row in rows)]


def _blocks(columns: Sequence[_Column], room: float) -> list[list[_Column]]:
    """Divide the columns: all sets side by side, or each set in blocks of its own."""
    if sum(one.taken for one in columns) <= room:
        return [list(columns)]
    found: list[list[_Column]] = []
    for one in columns:
        full = bool(found) and sum(each.taken for each in (*found[-1], one)) > room
        if not found or full or found[-1][0].set_name != one.set_name:
            found.append([])
        found[-1].append(one)
    return found


def _tabular(columns: Sequence[_Column], names: Sequence[Sequence[str]], named_sets: bool) -> list[str]:
    heads = len(names[0])
    left = "".join("l" if title == "System" else "r" for title in names[0])
    lines = [rf"\begin{{tabular}}{{{left}{'c' * len(columns)}}}", r"\toprule"]
    if named_sets:
        lines += _spanning(columns, heads, [latex_text(set_title(one.set_name)) for one in columns])
    if any(one.is_point for one in columns):
        lines += _spanning(columns, heads, ["Point-based EER at (ms)" if one.is_point else "" for one in columns])
    most = max(len(one.head) for one in columns)
    titles = [("", *[""] * (most - 2), name)[-most:] for name in names[0]]
    titles += [(*[""] * (most - len(one.head)), *one.head) for one in columns]
    lines += [" & ".join(latex_text(title[i]) for title in titles) + r" \\" for i in range(most)]
    lines.append(r"\midrule")
    for row, name in enumerate(names[1:]):
        lines += _row([latex_text(one) for one in name], [one.cells for one in columns], row)
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def _spanning(columns: Sequence[_Column], heads: int, titles: Sequence[str]) -> list[str]:
    """A line of heads over several columns: neighbours of one set with the same title."""
    spans: list[tuple[str, str, int, int]] = []  # set, title, first and last column
    for i, (one, title) in enumerate(zip(columns, titles, strict=True), heads + 1):
        if spans and spans[-1][:2] == (one.set_name, title):
            spans[-1] = (*spans[-1][:3], i)
        else:
            spans.append((one.set_name, title, i, i))
    cells = [
        rf"\multicolumn{{{last - first + 1}}}{{c}}{{{title}}}" if title else "&" * (last - first)
        for _, title, first, last in spans
    ]
    rules = [rf"\cmidrule(lr){{{first}-{last}}}" for _, title, first, last in spans if title]
    return [" & ".join([*[""] * heads, *cells]).strip() + r" \\", " ".join(rules)]


def _row(names: Sequence[str], cells: Sequence[Sequence[PrintedCell]], row: int) -> list[str]:
    """The lines of a row: the numbers, and what stands below them."""
    below = [_below(column[row]) for column in cells]
    lines = [" & ".join([*names, *(_typeset(column, row) for column in cells)]) + r" \\"]
    empty = [""] * len(names)
    for i in range(max(map(len, below))):
        small = [rf"\scriptsize {latex_text(one[i])}" if i < len(one) else "" for one in below]
        lines.append(" & ".join([*empty, *small]).strip() + r" \\")
    if len(lines) > 1:
        lines[-1] += "[2pt]"
    return lines


def _below(cell: PrintedCell) -> list[str]:
    lines = [f"\u00b1{cell.deviation}"] if cell.deviation else []
    return [*lines, cell.interval] if cell.interval else lines


def _typeset(cells: Sequence[PrintedCell], row: int) -> str:
    """One number, as wide as the widest of its column, as in the paper."""
    cell = cells[row]
    digits = [len(one.number.partition(".")[0]) for one in cells]
    missing = max(digits) - digits[row] if cell.number else 0
    before = r"\phantom{" + "0" * missing + "}" if missing else ""
    text = latex_text(cell.number)
    text = rf"\textit{{{text}}}" if cell.native else text
    text = rf"\textbf{{{text}}}" if cell.best else text
    longest = max((one.letters for one in cells), key=len)
    padding = rf"\phantom{{{longest[len(cell.letters) :]}}}" if len(cell.letters) < len(longest) else ""
    letters = rf"\,{{\scriptsize {latex_text(cell.letters)}{padding}}}" if longest else ""
    return before + text + letters


def _caption(tables: Mapping[str, ResolutionTable], columns: Sequence[_Column]) -> str:
    """Sentences that explain the numbers."""
    first = next(iter(tables.values()))
    measures = [one.measure for one in columns if one.measure != FLOOR_COLUMN]
    eers = [one for one in measures if one == RANGE or one.startswith("point-eer@")]
    others = [one for one in measures if one not in eers]
    title = TITLE if eers else f"{Measure.parse(others[0]).basis.capitalize()} measures"
    title += ", and other measures" if eers and others else ""
    plain = dict.fromkeys(short_measure(one) for one in measures if not in_percent(one))
    if len(plain) < len(set(measures)):
        title += r" (\%" + (latex_text(f", except {', '.join(plain)}") if plain else "") + ")"
    seeds = seeds_text(tables)
    said = [f"{title}, {seeds}" if seeds else title]
    cells = [cell for one in columns for cell in one.cells]
    if any(cell.deviation for cell in cells):
        said[0] += r" ($\pm$ standard deviation)"
    if some := next((m.interval for _, c in first.rows[0].cells for m in c.measurements.values() if m.interval), None):
        said.append(rf"In brackets: {100 * some.level:g}\,\% confidence intervals over {latex_text(some.drawn_by)}s")
    said += ["Bold: best of the column"] if any(cell.best for cell in cells) else []
    said += ["Italics: at the hop of the system"] if any(cell.native for cell in cells) else []
    if any(cell.letters for cell in cells):
        said.append("Systems of a column that share a letter do not differ significantly")
    said += ["Floor: a perfect system with one score per hop"] * any(one.measure == FLOOR_COLUMN for one in columns)
    return ". ".join(said) + "."


def _ms(seconds: float | None) -> str:
    return spaced(seconds).removesuffix(" ms")

"""Resolution tables as LaTeX, in the shape of the paper's Tables 3 and 4."""

from __future__ import annotations

from collections.abc import Mapping

from spoofspan.evaluation.resolution_table import ResolutionTable
from spoofspan.report.names import measure_name
from spoofspan.report.resolutions import (
    Look,
    by_hop,
    captions,
    columns_of,
    details,
    numbers_of,
    row_heads,
    set_title,
    spaced,
)
from spoofspan.report.table import FIT, NEEDS, latex_text, printable

TITLE = r"Range-based and point-based EER (\%)"
OF_EVENTS = r"Event measures (\%)"
ITALICS = "Italics: the row's own resolution."


def latex(tables: Mapping[str, ResolutionTable], look: Look) -> str:
    """Write tables of several sets, by the name of the set."""
    first = next(iter(tables.values()))
    heads = len(row_heads(first)[0])
    group = len(columns_of(first, look))
    said = captions(tables, look, ITALICS)
    kind = "table" if len(tables) == 1 else "table*"  # over one column of paper, or over both
    what, _, mark = said[0].partition(". ")
    title = TITLE if first.rows[0].ranges is not None else OF_EVENTS
    if first.rows[0].ranges is not None and first.rows[0].measures:
        title = f"{title}, and other measures"
    title += latex_text(what.partition("in %")[2].rstrip("."))
    below = " ".join(latex_text(text) for text in (mark, *said[1:]) if text)
    lines = [
        *(f"% {printable(line)}" for line in details(tables)),
        NEEDS,
        rf"\begin{{{kind}}}[t]",
        rf"\caption{{{title}.}}",
        r"\label{tab:resolutions}",
        r"\renewcommand\arraystretch{1.1}",
        r"\centering",
        r"\scriptsize",
        FIT,
        rf"\begin{{tabular}}{{{'r' if by_hop(first) else 'lr'[:heads]}{'c' * (group * len(tables))}}}",
        r"\toprule",
        *_head(tables, look, heads, group),
        r"\midrule",
        *_body(tables, look),
        r"\bottomrule",
        r"\end{tabular}}",
        *([rf"\par\smallskip\raggedright {below}"] if below else []),
        rf"\end{{{kind}}}",
    ]
    return "\n".join(lines) + "\n"


def _head(tables: Mapping[str, ResolutionTable], look: Look, heads: int, group: int) -> list[str]:
    first = next(iter(tables.values()))
    points = len(first.resolutions)
    starts = [1 + heads + number * group for number in range(len(tables))]
    empty = " & ".join([""] * heads)
    lines = []
    if any(tables):
        titles = [rf"\multicolumn{{{group}}}{{c}}{{{latex_text(set_title(name))}}}" for name in tables]
        lines.append(f"{empty} & {' & '.join(titles)} \\\\")
        lines.append(" ".join(rf"\cmidrule(lr){{{start}-{start + group - 1}}}" for start in starts))
    more = [latex_text(measure_name(one)) for one in first.rows[0].measures]
    names = ["Training"] if heads == 1 else ["System", "Training"]
    if first.rows[0].ranges is None:
        lines.append(" & ".join(["System", *more * len(tables)]) + r" \\")
        return lines
    before = ["Reso. of"] if heads == 1 else ["", "Reso. of"]
    floor = [""] if look.floor else []
    points_title = rf"\multicolumn{{{points}}}{{c}}{{Point-based EER}}"
    ranges = [*floor, "Range-", *([points_title] if points else []), *[""] * len(more)]
    lines.append(" & ".join([*before, *ranges * len(tables)]) + r" \\")
    if points:
        spans = [(start + len(floor) + 1, start + len(floor) + points) for start in starts]
        lines.append(" ".join(rf"\cmidrule(lr){{{span[0]}-{span[1]}}}" for span in spans))
    numbers = [_ms(one) for one in first.resolutions]
    columns = [*(["Floor"] if look.floor else []), "based EER", *numbers, *more]
    lines.append(" & ".join([*names, *columns * len(tables)]) + r" \\")
    return lines


def _body(tables: Mapping[str, ResolutionTable], look: Look) -> list[str]:
    first = next(iter(tables.values()))
    blocks = [[numbers_of(row, look) for row in table.rows] for table in tables.values()]
    lines = []
    for number, system in enumerate(first.rows):
        named = [latex_text(system.name)] * (not by_hop(first))
        heads = [*named, *([] if system.ranges is None else [_ms(system.hop)])]
        cells = [_typeset(block, number, column) for block in blocks for column in range(len(block[0]))]
        lines.append(" & ".join([*heads, *cells]) + r" \\")
    return lines


def _typeset(rows: list[list[tuple[str, bool]]], row: int, column: int) -> str:
    """One number, as wide as the widest of its column, as in the paper."""
    number, native = rows[row][column]
    digits = [len(one[column][0].partition(".")[0]) for one in rows]
    missing = max(digits) - digits[row] if number else 0
    before = r"\phantom{" + "0" * missing + "}" if missing else ""
    return before + (rf"\textit{{{number}}}" if native else number)


def _ms(seconds: float | None) -> str:
    return spaced(seconds).removesuffix(" ms")

r"""Resolution tables in LaTeX, in the shape of the paper's Tables 3 and 4: booktabs, sets side by side, ``table*``.

The row's own resolution is in italics. The caption is that of the text table.
"""

from __future__ import annotations

from collections.abc import Mapping

from spoofspan.evaluation.measurement import milliseconds
from spoofspan.evaluation.resolution_table import ResolutionRow, ResolutionTable
from spoofspan.report.resolutions import Look, by_hop, captions, details, percent, set_title
from spoofspan.report.tables import latex_text, printable

NEEDS = r"% needs \usepackage{booktabs,graphicx}"
FIT = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"  # shrinks, never grows
TITLE = r"Range-based and point-based EER (\%)"
ITALICS = "Italics: the row's own resolution."


def latex(tables: Mapping[str, ResolutionTable], look: Look) -> str:
    """Write tables of several sets, by the name of the set."""
    first = next(iter(tables.values()))
    heads = 1 if by_hop(first) else 2
    group = (2 if look.floor else 1) + len(first.resolutions)
    said = captions(tables, look, ITALICS)
    kind = "table" if len(tables) == 1 else "table*"  # over one column of paper, or over both
    caption = " ".join([TITLE + latex_text(said[0].removeprefix("EER in %")), *map(latex_text, said[1:])])
    lines = [
        *(f"% {printable(line)}" for line in details(tables)),
        NEEDS,
        rf"\begin{{{kind}}}[t]",
        rf"\caption{{{caption}}}",
        r"\label{tab:resolutions}",
        r"\renewcommand\arraystretch{1.1}",
        r"\centering",
        r"\scriptsize",
        FIT,
        rf"\begin{{tabular}}{{{'r' if heads == 1 else 'lr'}{'c' * (group * len(tables))}}}",
        r"\toprule",
        *_head(tables, look, heads, group),
        r"\midrule",
        *_body(tables, look),
        r"\bottomrule",
        r"\end{tabular}}",
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
    before = ["Reso. of"] if heads == 1 else ["", "Reso. of"]
    floor = [""] if look.floor else []
    points_title = rf"\multicolumn{{{points}}}{{c}}{{Point-based EER}}"
    ranges = [*floor, "Range-", *([points_title] if points else [])]
    lines.append(" & ".join([*before, *ranges * len(tables)]) + r" \\")
    if points:
        lines.append(" ".join(rf"\cmidrule(lr){{{start + group - points}-{start + group - 1}}}" for start in starts))
    names = ["Training"] if heads == 1 else ["System", "Training"]
    numbers = [_ms(one) for one in first.resolutions]
    columns = [*(["Floor"] if look.floor else []), "based EER", *numbers]
    lines.append(" & ".join([*names, *columns * len(tables)]) + r" \\")
    return lines


def _body(tables: Mapping[str, ResolutionTable], look: Look) -> list[str]:
    first = next(iter(tables.values()))
    columns = [[_row(row, look) for row in table.rows] for table in tables.values()]
    # numbers of one column are as wide as its widest, as in the paper
    for table in columns:
        for i in range(len(table[0])):
            digits = max(len(row[i][0].partition(".")[0]) for row in table)
            for row in table:
                missing = digits - len(row[i][0].partition(".")[0]) if row[i][0] else 0
                row[i] = (row[i][0], (r"\phantom{" + "0" * missing + "}" if missing else "") + row[i][1])
    lines = []
    for number, system in enumerate(first.rows):
        heads = [_ms(system.hop)] if by_hop(first) else [latex_text(system.name), _ms(system.hop)]
        cells = [cell for table in columns for _, cell in table[number]]
        lines.append(" & ".join([*heads, *cells]) + r" \\")
    return lines


def _row(row: ResolutionRow, look: Look) -> list[tuple[str, str]]:
    """The numbers of a row: bare, and as they are set."""
    plain = [] if not look.floor else ["" if row.floor is None else percent(row.floor.value, look.decimals)]
    cells = [(one, one) for one in [*plain, percent(row.range_eer.value, look.decimals)]]
    for resolution, cell in row.point_eers.items():
        number = percent(cell.value, look.decimals)
        cells.append((number, rf"\textit{{{number}}}" if row.is_native(resolution) else number))
    return cells


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else milliseconds(seconds).removesuffix("ms")

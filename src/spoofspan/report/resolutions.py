"""Resolution tables as text, Markdown, LaTeX, CSV, HTML or JSON: one set, or several side by side.

The row's own resolution is marked with ``*``. What is printed below names the cells that are measured coarser than the
hop, the rules, and whether labels come from two sources. LaTeX has the shape of the paper's Tables 3 and 4: booktabs,
sets side by side, own resolutions in italics, and the lines below the table as its caption.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from spoofspan.base.errors import UsageError
from spoofspan.base.times import milliseconds
from spoofspan.base.version import __version__
from spoofspan.evaluation.resolution_rows import RANGE, ResolutionRow, TableCell
from spoofspan.evaluation.resolution_table import ResolutionTable
from spoofspan.evaluation.signature import Signature
from spoofspan.measures.catalogue import EVENT
from spoofspan.measures.measure import Measure, in_percent, plain_text
from spoofspan.report.names import measure_name, short_measure
from spoofspan.report.results import finite
from spoofspan.report.table import FIT, NEEDS, Table, json_text, latex_text, printable
from spoofspan.uncertainty import Interval

SET_NAMES = {"train": "Training set", "dev": "Development set", "eval": "Evaluation set"}
NATIVE = "*"
BETWEEN = "   "  # two sets side by side
TEXT_WIDTH = 80  # of the lines below a table
LATEX_TITLE = "Range-based and point-based EER"
PER_CENT, PLAIN = "in %", "as plain numbers"
ITALICS = "Italics: the row's own resolution."


@dataclass(frozen=True)
class Look:
    """How a table is written."""

    decimals: int | None = 2  # None: all digits
    floor: bool = True
    intervals: bool = True  # in brackets behind each number
    width: int | None = None  # characters of a terminal; sets that do not fit side by side go below each other
    full_signature: bool = False  # in text; the other formats have it in any case


def render(tables: Mapping[str, ResolutionTable], spelling: str, look: Look | None = None) -> str:
    """Write tables of several sets, by the name of the set (empty for a single one without a name)."""
    check_alike(tables)
    chosen = Look() if look is None else look
    if spelling == "json":
        return json_text(tables_dict(tables))
    if spelling == "text":
        return _text(tables, chosen)
    if spelling == "latex":
        return _latex(tables, chosen)
    return _flat(tables, chosen, spelling).render(spelling)


def check_alike(tables: Mapping[str, ResolutionTable]) -> None:
    """Refuse sets that do not have the same rows, columns and rules."""
    if not tables:
        raise UsageError("give at least one table")
    (one, first), *others = tables.items()
    for two, other in others:
        if other.resolutions != first.resolutions or other.label_sources != first.label_sources:
            raise UsageError(
                f"the tables of {one!r} and {two!r} have different columns; "
                "measure both at the same resolutions, with the same label sources"
            )
        names = [[row.name for row in table.rows] for table in (first, other)]
        if names[0] != names[1]:
            apart = [name for name in dict.fromkeys(names[0] + names[1]) if (name in names[0]) != (name in names[1])]
            raise UsageError(
                f"the sets {one!r} and {two!r} have different systems"
                + (f" ({', '.join(apart)} only in one of them)" if apart else ", or in another order")
            )
        for row, row_of_other in zip(first.rows, other.rows, strict=True):
            for (column, a), (_, b) in zip(row.cells, row_of_other.cells, strict=True):
                # measure and rules, without the references and their utterances
                if len({_signature(cell).comparable.rsplit("|", 2)[0] for cell in (a, b)}) > 1:
                    raise UsageError(
                        f"{row.name}, {column}: {one!r} and {two!r} are measured under different rules; "
                        "measure both with the same rules and convention"
                    )


def tables_dict(tables: Mapping[str, ResolutionTable]) -> dict[str, Any]:
    """Tables as plain data, in the shape of ``docs/schema/table.json``."""
    first = next(iter(tables.values()))
    return {
        "spoofspan": __version__,
        "resolutions": list(first.resolutions),
        "label_sources": first.label_sources,
        "sets": [{"name": name, "rows": finite(table.to_dict()["rows"])} for name, table in tables.items()],
        "notes": notes(tables),
    }


# ---------------------------------------------------------------- cells


def percent(value: float, decimals: int | None) -> str:
    """A rate in per cent, without the sign; all digits where no number of decimals is given."""
    return repr(float(100 * value)) if decimals is None else f"{100 * value:.{decimals}f}"


def value_text(measure: str, value: float, decimals: int | None) -> str:
    """A value as it stands in a cell: in per cent, or, where it is no share, with two more decimals."""
    if in_percent(measure):
        return percent(value, decimals)
    return repr(float(value)) if decimals is None else plain_text(value, decimals + 2)


def set_title(name: str) -> str:
    """What stands above a set.

    >>> set_title("dev"), set_title("LlamaPartialSpoof")
    ('Development set', 'LlamaPartialSpoof')
    """
    return SET_NAMES.get(name, name)


def by_hop(table: ResolutionTable) -> bool:
    """Whether the rows are named by nothing but their hop."""
    return all(row.hop is not None and row.name == milliseconds(row.hop) for row in table.rows)


def spaced(seconds: float | None) -> str:
    """A hop or a resolution to be read.

    >>> spaced(0.02)
    '20 ms'
    """
    return "" if seconds is None else f"{milliseconds(seconds).removesuffix('ms')} ms"


def row_heads(table: ResolutionTable) -> list[tuple[str, ...]]:
    """What stands before the numbers: the head, then one entry a row."""
    if by_hop(table):
        return [("hop",), *((spaced(row.hop),) for row in table.rows)]
    if all(row.ranges is None for row in table.rows):  # only scores in time have a hop
        return [("system",), *((row.name,) for row in table.rows)]
    return [("system", "hop"), *((row.name, spaced(row.hop)) for row in table.rows)]


def numbers_of(row: ResolutionRow, look: Look) -> list[tuple[str, bool]]:
    """The numbers of a row, each with whether it is of the row's own resolution."""
    floor = "" if row.floor is None else percent(row.floor.value, look.decimals)
    points = [(_number(RANGE, cell, look), row.is_native(one)) for one, cell in row.point_eers.items()]
    more = [(_number(measure, cell, look), False) for measure, cell in row.measures.items()]
    if row.ranges is None:
        return more
    return [*([(floor, False)] if look.floor else []), (_number(RANGE, row.ranges, look), False), *points, *more]


def _number(measure: str, cell: TableCell, look: Look) -> str:
    """The number of a cell, with its interval if it has one."""
    number, interval = value_text(measure, cell.value, look.decimals), cell.interval
    if interval is None or not look.intervals:
        return number
    ends = [value_text(measure, end, look.decimals) for end in (interval.low, interval.high)]
    return f"{number} [{'none' if interval.refused else ', '.join(ends)}]"


def _marked(row: ResolutionRow, look: Look) -> list[str]:
    return [number + (NATIVE if native else " ") for number, native in numbers_of(row, look)]


# ---------------------------------------------------------------- text


def _text(tables: Mapping[str, ResolutionTable], look: Look) -> str:
    beside = _beside(tables, look)
    if look.width is None or max(map(len, beside)) <= look.width or len(tables) == 1:
        lines = beside
    else:
        blocks = [[set_title(name), *_block(table, look, heads=True)] for name, table in tables.items()]
        lines = [line for block in blocks for line in (*block, "")][:-1]
    said = [*captions(tables, look), *details(tables, short=not look.full_signature)]
    below = [line for note in said for line in wrapped(note)]
    return "\n".join([*lines, "", *below]) + "\n"


def wrapped(note: str) -> list[str]:
    """Break a line below a table; a signature stays whole, to be copied."""
    if note.startswith("signature"):
        return [note]
    return textwrap.wrap(note, TEXT_WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _beside(tables: Mapping[str, ResolutionTable], look: Look) -> list[str]:
    """All sets in one block of lines."""
    blocks = []
    for number, (name, table) in enumerate(tables.items()):
        lines = _block(table, look, heads=not number)
        if any(tables):
            indent = 0 if number else max(map(len, (row[0] for row in row_heads(table)))) + 2
            lines = [" " * indent + set_title(name), *lines]
        width = max(map(len, lines))
        blocks.append([line.ljust(width) for line in lines])
    return [BETWEEN.join(parts).rstrip() for parts in zip_longest(*blocks, fillvalue="")]


def _block(table: ResolutionTable, look: Look, *, heads: bool) -> list[str]:
    before = row_heads(table) if heads else [()] * (1 + len(table.rows))
    numbers = [[f"{one} " for one in columns_of(table, look)], *(_marked(row, look) for row in table.rows)]
    texts = [[printable(cell) for cell in head] for head in before]
    lines = [
        "  ".join(_padded(texts, i)) + ("  " if heads else "") + " ".join(_padded(numbers, i))
        for i in range(len(numbers))
    ]
    lines = [line.rstrip() for line in lines]
    return [lines[0], "-" * max(map(len, lines)), *lines[1:]]


def _padded(rows: list[list[str]], number: int) -> list[str]:
    """One of the rows, its cells as wide as their columns: names begin, numbers and hops end below each other."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        cell.ljust(width) if rows[0][i] == "system" else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(rows[number], widths, strict=True))
    ]


def columns_of(table: ResolutionTable, look: Look) -> list[str]:
    """The heads of the columns of numbers."""
    row = table.rows[0]
    eers = [] if row.ranges is None else [*(["floor"] if look.floor else []), "range", *map(spaced, table.resolutions)]
    return [*eers, *map(short_measure, row.measures)]


# ---------------------------------------------------------------- Markdown, CSV, HTML


def _flat(tables: Mapping[str, ResolutionTable], look: Look, spelling: str) -> Table:
    """One header line; the name of the set stands in every column."""
    exact = spelling == "csv"
    if exact:
        look = replace(look, decimals=None, intervals=False)
    columns = [f"{name} {column}".strip() for name, table in tables.items() for column in columns_of(table, look)]
    head, *heads = row_heads(next(iter(tables.values())))
    rows = []
    for number, before in enumerate(heads):
        cells = [cell.strip() for table in tables.values() for cell in _marked(table.rows[number], look)]
        rows.append((*before, *(cell.rstrip(NATIVE) if exact else cell for cell in cells)))
    if exact and _intervals(tables):  # ends in columns of their own, so that all cells are numbers
        names = [(name, short_measure(what)) for name, table in tables.items() for what, _ in table.rows[0].cells]
        columns += [f"{name} {what} {end}".strip() for name, what in names for end in ("from", "to")]
        rows = [(*row, *_ends(tables, number, look)) for number, row in enumerate(rows)]
    return Table((*head, *columns), tuple(rows), () if exact else tuple(notes(tables, look)))


def _ends(tables: Mapping[str, ResolutionTable], row: int, look: Look) -> Iterator[str]:
    """Both ends of each interval of a row."""
    for table in tables.values():
        for measure, cell in table.rows[row].cells:
            for end in ("", "") if cell.interval is None else (cell.interval.low, cell.interval.high):
                yield end if isinstance(end, str) else value_text(measure, end, look.decimals)


def _intervals(tables: Mapping[str, ResolutionTable]) -> list[Interval]:
    cells = [cell for table in tables.values() for row in table.rows for _, cell in row.cells]
    return [cell.interval for cell in cells if cell.interval is not None]


def _asked_in_vain(tables: Mapping[str, ResolutionTable]) -> bool:
    """Whether there are means over seeds whose parts have intervals."""
    cells = [cell for table in tables.values() for row in table.rows for _, cell in row.cells]
    return any(m.interval is not None for cell in cells if cell.interval is None for m in cell.measurements.values())


# ---------------------------------------------------------------- below the table

EASIER = "Coarser than the hop (an easier task, not a better system)"
FLOOR = "Floor: the range EER of a perfect system that must give one score per hop."
NII_SOURCES = (
    "Label sources nii-2023: the range EER and points finer than the hop are measured against the ranges (RTTM), "
    "points at the hop or coarser against the segment label array of the hop, as in the published scripts. Numbers "
    "from different sources may not be compared, not even within a column."
)


def notes(tables: Mapping[str, ResolutionTable], look: Look | None = None) -> list[str]:
    """The lines below a table."""
    return [*captions(tables, look), *details(tables)]


def captions(
    tables: Mapping[str, ResolutionTable], look: Look | None = None, mark: str = f"{NATIVE} the row's own resolution."
) -> list[str]:
    """What a reader of the numbers must know."""
    first = next(iter(tables.values()))
    what = f"{_subject(first)} {_unit(first)}"
    lines = [f"{what}." if all(row.seeds == ("",) for row in first.rows) else f"{what}, {_seeds(tables)}."]
    if any(row.is_native(one) for row in first.rows for one in first.resolutions):
        lines[0] += f" {mark}"
    easier = "; ".join(_coarser(first))
    if easier:
        lines.append(f"{EASIER}: {easier}.")
    if (look is None or look.floor) and any(row.floor is not None for row in first.rows):
        lines.append(FLOOR)
    if first.label_sources != "one":
        lines.append(NII_SOURCES)
    lines += _of_measures(tables)
    if _asked_in_vain(tables):
        lines.append("Means over seeds have intervals by the method jackknife-t only.")
    if found := _intervals(tables):
        some = next((one for one in found if one.seeds), found[0])
        lines.append(f"In brackets: {100 * some.level:g} % intervals, {some.how}.")
        lines += [f"Warning: {text}." for text in dict.fromkeys(text for one in found for text in one.warnings)]
    return lines


def _subject(table: ResolutionTable) -> str:
    row = table.rows[0]
    if not row.measures:
        return "EER"
    return "All" if row.ranges is None else "EER and the other measures"


def _unit(table: ResolutionTable) -> str:
    """The unit of the numbers, with the columns that have none."""
    columns = [column for column, _ in table.rows[0].cells]
    plain = [column for column in columns if not in_percent(column)]
    if len(plain) == len(columns):
        return PLAIN
    return f"{PER_CENT}, but for {', '.join(map(short_measure, plain))}" if plain else PER_CENT


def _of_measures(tables: Mapping[str, ResolutionTable]) -> Iterator[str]:
    """Where the other measures are taken, and what else must be known of them."""
    rows = [row for table in tables.values() for row in table.rows]
    said: dict[str, list[str]] = {}  # note -> the columns that it is about
    for column in rows[0].measures:
        found = [m for row in rows for m in row.measures[column].measurements.values()]
        at_eer = "threshold:eer" in found[0].eer_rule
        taken = ["at the threshold of each system's own EER: an optimistic number"] if at_eer else []
        for note in dict.fromkeys((*taken, *(note for m in found for note in m.notes))):
            said.setdefault(note, []).append(short_measure(column))
    for note, columns in said.items():
        yield f"{', '.join(columns)}: {note}."


def _seeds(tables: Mapping[str, ResolutionTable]) -> str:
    counts = {(f"{name} {row.name}".strip(), len(row.seeds)) for name, table in tables.items() for row in table.rows}
    different = {count for _, count in counts}
    if len(different) == 1:
        count = different.pop()
        return f"means over {count} seeds" if count > 1 else "one seed each"
    return f"means over seeds ({', '.join(f'{name}: {count}' for name, count in sorted(counts))})"


def _coarser(table: ResolutionTable) -> Iterator[str]:
    """Which cells are coarser than the hop of their row, by hop."""
    rising = list(table.resolutions) == sorted(table.resolutions)
    for hop, row in sorted({row.hop: row for row in table.rows if row.hop is not None}.items()):
        found = [milliseconds(one) for one in table.resolutions if row.is_coarser(one)]
        if found:
            some = f"{found[0]} to {found[-1]}" if rising and len(found) > 2 else " and ".join(found)
            yield f"{milliseconds(hop)} at {some}"


def details(tables: Mapping[str, ResolutionTable], *, short: bool = False) -> Iterator[str]:
    """Rules, what they touched, and the comparable part of the range EER's signature."""
    for name, table in tables.items():
        of_set = f"{set_title(name)}: " if name else ""
        row = table.rows[0]
        first = next(row.cells)[1].measurements[row.seeds[0]]
        measure = Measure.parse(first.measure)
        how = ", proposals as given" if row.ranges is None and measure.basis == EVENT else ""
        how = f", EER rule {first.eer_rule}" if measure.kind.name == "eer" else how
        yield f"{of_set}{first.utterances:,} utterances, convention {first.convention}{how}."
        everything = [m for row in table.rows for _, cell in row.cells for m in cell.measurements.values()]
        for rule in dict.fromkeys(rule for m in everything for rule in m.touched):
            entries = [m.touched[rule] for m in everything if rule in m.touched]
            least, most = (f(entry.seconds for entry in entries) for f in (min, max))
            values = " or ".join(dict.fromkeys(entry.value for entry in entries))
            utterances = max(entry.utterances for entry in entries)
            span = f"{most:.3f} s" if least == most else f"{least:.3f} to {most:.3f} s"
            yield f"{of_set}{rule}={values}: {span} in {'up to ' if least != most else ''}{utterances:,} utterances."
    for name, table in tables.items():
        for column, cell in table.rows[0].cells:
            if column == RANGE or column in table.rows[0].measures:
                signature = _signature(cell).short_comparable if short else _signature(cell).comparable
                title = "the range EER" if column == RANGE else short_measure(column)
                yield f"signature of {title}{f' ({name})' if name else ''}: {signature}"


def _signature(cell: TableCell) -> Signature:
    return next(iter(cell.measurements.values())).signature


def _latex(tables: Mapping[str, ResolutionTable], look: Look) -> str:
    """Write tables of several sets, by the name of the set."""
    first = next(iter(tables.values()))
    heads = len(row_heads(first)[0])
    group = len(columns_of(first, look))
    said = captions(tables, look, ITALICS)
    kind = "table" if len(tables) == 1 else "table*"  # over one column of paper, or over both
    what, _, mark = said[0].partition(". ")
    about = what.removeprefix(f"{_subject(first)} ").rstrip(".")
    title = LATEX_TITLE
    if first.rows[0].ranges is None:
        title = f"{Measure.parse(next(iter(first.rows[0].measures))).basis.capitalize()} measures"
    title += r" (\%)" if about.startswith(PER_CENT) else ""
    if first.rows[0].ranges is not None and first.rows[0].measures:
        title = f"{title}, and other measures"
    title += latex_text(about.removeprefix(PER_CENT).removeprefix(PLAIN))
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
        *_latex_head(tables, look, heads, group),
        r"\midrule",
        *_latex_body(tables, look),
        r"\bottomrule",
        r"\end{tabular}}",
        *([rf"\par\smallskip\raggedright {below}"] if below else []),
        rf"\end{{{kind}}}",
    ]
    return "\n".join(lines) + "\n"


def _latex_head(tables: Mapping[str, ResolutionTable], look: Look, heads: int, group: int) -> list[str]:
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


def _latex_body(tables: Mapping[str, ResolutionTable], look: Look) -> list[str]:
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

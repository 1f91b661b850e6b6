"""Resolution tables as text, Markdown, LaTeX, CSV, HTML or JSON: one set, or several side by side.

The row's own resolution is marked with ``*``. What is printed below names the cells that are measured coarser than the
hop, the rules, and whether labels come from two sources. :mod:`spoofspan.report.paper_table` writes LaTeX.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.base.terminal import current_screen
from spoofspan.base.times import milliseconds
from spoofspan.base.version import __version__
from spoofspan.evaluation.resolution_table import RANGE, ResolutionRow, ResolutionTable, TableCell, point_measure
from spoofspan.evaluation.signature import Signature
from spoofspan.measures.catalogue import EVENT
from spoofspan.measures.measure import Measure, in_percent, plain_text, short_measure
from spoofspan.report.table import Shown, Table, finite, json_text, printable
from spoofspan.uncertainty import Interval

SET_NAMES = {"train": "Training set", "dev": "Development set", "eval": "Evaluation set"}
NATIVE = "*"
BETWEEN = "   "  # two sets side by side
TEXT_WIDTH = 80  # of the lines below a table
FLOOR_COLUMN = "floor"
PER_CENT, PLAIN = "in %", "as plain numbers"


Letters = Mapping[str, Mapping[str, Mapping[str, str]]]  # by set, column and row


@dataclass(frozen=True)
class TableLook:
    """Look of a table."""

    decimals: int | None = 2  # None: all digits
    floor: bool = True
    intervals: bool = True  # in brackets behind each number
    deviations: bool = False  # standard deviations over seeds, behind each mean
    bold: bool = False  # the best number of each column, in Markdown and LaTeX
    letters: Letters | None = None  # systems that share one do not differ significantly
    columns: tuple[str, ...] = ()  # those to show, in this order; all without any
    caption: str = ""  # of LaTeX, in place of the one that is made
    label: str = "tab:resolutions"  # of LaTeX
    width: int | None = None  # characters of a terminal; sets that do not fit side by side go below each other
    full_signature: bool = False  # in text; the other formats have it in any case


@dataclass(frozen=True)
class PrintedCell:
    """A number of a row as text, with what stands beside it."""

    number: str
    deviation: str = ""
    interval: str = ""
    letters: str = ""
    native: bool = False  # of the row's own resolution
    best: bool = False  # of its column

    def __str__(self) -> str:
        parts = (self.number, self.deviation and f"\u00b1 {self.deviation}", self.interval, self.letters)
        return " ".join(part for part in parts if part)


def render(tables: Mapping[str, ResolutionTable], spelling: str, look: TableLook | None = None) -> str:
    """Write tables of several sets, by the name of the set (empty for a single one without a name)."""
    check_alike(tables)
    chosen = TableLook() if look is None else look
    if spelling == "json":
        return json_text(tables_dict(tables))
    if spelling == "text":
        return _text(tables, chosen)
    if spelling == "latex":
        from spoofspan.report.paper_table import latex_table

        return latex_table(tables, chosen)
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
    """Text above a set.

    >>> set_title("dev"), set_title("LlamaPartialSpoof")
    ('Development set', 'LlamaPartialSpoof')
    """
    return SET_NAMES.get(name, name)


def by_hop(table: ResolutionTable) -> bool:
    """True if the rows are named by nothing but their hop."""
    return all(row.hop is not None and row.name == milliseconds(row.hop) for row in table.rows)


def spaced(seconds: float | None) -> str:
    """A hop or a resolution to be read.

    >>> spaced(0.02)
    '20 ms'
    """
    return "" if seconds is None else f"{milliseconds(seconds).removesuffix('ms')} ms"


def row_heads(table: ResolutionTable) -> list[tuple[str, ...]]:
    """Text before the numbers: the head, then one entry a row."""
    if by_hop(table):
        return [("hop",), *((spaced(row.hop),) for row in table.rows)]
    if all(row.ranges is None for row in table.rows):  # only scores in time have a hop
        return [("system",), *((row.name,) for row in table.rows)]
    return [("system", "hop"), *((row.name, spaced(row.hop)) for row in table.rows)]


def shown_columns(table: ResolutionTable, look: TableLook) -> list[str]:
    """The columns of numbers by their measure, ``floor`` for the floor: those that were chosen, or all."""
    row = table.rows[0]
    floor = [FLOOR_COLUMN] if look.floor and row.ranges is not None else []
    known = [*floor, *(column for column, _ in row.cells)]
    if not look.columns:
        return known
    found = [column_named(one, known) for one in look.columns]
    if len(set(found)) < len(found):
        raise UsageError(f"columns {', '.join(look.columns)}: one is named twice")
    return found


def column_named(typed: str, known: Sequence[str]) -> str:
    """Find a column by its measure, or by what stands above it: ``range``, ``20ms``, ``20``.

    >>> column_named("20", ["floor", "range-eer", "point-eer@20ms"])
    'point-eer@20ms'
    """
    short = typed.replace(" ", "")
    names = (short, f"{short}-eer", f"point-eer@{short}", f"point-eer@{short}ms")
    by_short = {short_measure(one): one for one in known} | {one: one for one in known}
    for name in names:
        if name in by_short:
            return by_short[name]
    raise UsageError(f"no column {typed!r} in this table: {nearest_name(typed, known)}")


def select_rows(tables: Mapping[str, ResolutionTable], names: Sequence[str]) -> dict[str, ResolutionTable]:
    """Keep some rows, in the order of their names."""
    chosen = {}
    for name, table in tables.items():
        known = {row.name: row for row in table.rows}
        for one in names:
            if one not in known:
                raise UsageError(f"no row {one!r} in this table: {nearest_name(one, list(known))}")
        chosen[name] = replace(table, rows=tuple(known[one] for one in names))
    return chosen


def printed_rows(table: ResolutionTable, look: TableLook, set_name: str = "") -> list[list[PrintedCell]]:
    """The numbers of each row."""
    columns = shown_columns(table, look)
    best = {column: _best(column, table) for column in columns} if look.bold else {}
    letters = (look.letters or {}).get(set_name, {})
    return [
        [_printed(row, column, look, best.get(column), letters.get(column, {}).get(row.name, "")) for column in columns]
        for row in table.rows
    ]


def _printed(row: ResolutionRow, column: str, look: TableLook, best: float | None, letters: str) -> PrintedCell:
    if column == FLOOR_COLUMN:
        return PrintedCell("" if row.floor is None else percent(row.floor.value, look.decimals))
    cell, interval, deviation = dict(row.cells)[column], "", ""
    if cell.interval is not None and look.intervals:
        ends = (cell.interval.low, cell.interval.high)
        inside = "none" if cell.interval.refused else ", ".join(value_text(column, one, look.decimals) for one in ends)
        interval = f"[{inside}]"
    if look.deviations and cell.standard_deviation is not None:
        deviation = value_text(column, cell.standard_deviation, look.decimals)
    native = any(row.is_native(one) for one in row.point_eers if point_measure(one) == column)
    number = value_text(column, cell.value, look.decimals)
    return PrintedCell(number, deviation, interval, letters, native, cell.value == best)


def _best(column: str, table: ResolutionTable) -> float | None:
    """The best value of a column of two rows or more."""
    values = [dict(row.cells)[column].value for row in table.rows if column != FLOOR_COLUMN]
    if len(values) < 2:
        return None
    direction = Measure.parse(column).kind.direction
    return max(values) if direction == "higher" else min(values, key=abs) if direction == "nearer 0" else min(values)


def _marked(cells: Sequence[PrintedCell]) -> list[str]:
    return [f"{cell}{NATIVE if cell.native else ' '}" for cell in cells]


# ---------------------------------------------------------------- text


def _text(tables: Mapping[str, ResolutionTable], look: TableLook) -> str:
    beside, screen = _beside(tables, look), current_screen()
    said = [*captions(tables, look), *details(tables, short=not look.full_signature)]
    if screen is not None and max(map(len, beside)) > screen.width:
        return replace(_flat(tables, look, "text"), notes=("", *said)).render("text")
    if look.width is None or max(map(len, beside)) <= look.width or len(tables) == 1:
        lines = beside
    else:
        blocks = [[set_title(name), *_block(name, table, look, heads=True)] for name, table in tables.items()]
        lines = [line for block in blocks for line in (*block, "")][:-1]
    below = [line for note in said for line in wrapped(note)] if screen is None else screen.lines(said)
    return "\n".join([*lines, "", *below]) + "\n"


def wrapped(note: str) -> list[str]:
    """Break a line below a table; a signature stays whole, to be copied."""
    if note.startswith("signature"):
        return [note]
    return textwrap.wrap(note, TEXT_WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _beside(tables: Mapping[str, ResolutionTable], look: TableLook) -> list[str]:
    """All sets in one block of lines."""
    blocks = []
    for number, (name, table) in enumerate(tables.items()):
        lines = _block(name, table, look, heads=not number)
        if any(tables):
            indent = 0 if number else max(map(len, (row[0] for row in row_heads(table)))) + 2
            lines = [" " * indent + set_title(name), *lines]
        width = max(map(len, lines))
        blocks.append([line.ljust(width) for line in lines])
    return [BETWEEN.join(parts).rstrip() for parts in zip_longest(*blocks, fillvalue="")]


def _block(name: str, table: ResolutionTable, look: TableLook, *, heads: bool) -> list[str]:
    before = row_heads(table) if heads else [()] * (1 + len(table.rows))
    numbers = [[f"{one} " for one in columns_of(table, look)], *map(_marked, printed_rows(table, look, name))]
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


def columns_of(table: ResolutionTable, look: TableLook) -> list[str]:
    """The heads of the columns of numbers."""
    return [column_head(one) for one in shown_columns(table, look)]


def column_head(column: str) -> str:
    """Text above a column.

    >>> column_head("range-eer"), column_head("point-eer@20ms"), column_head("floor")
    ('range', '20 ms', 'floor')
    """
    if column.startswith("point-eer@"):
        return spaced(Measure.parse(column).resolution)
    return "range" if column == RANGE else short_measure(column)


# ---------------------------------------------------------------- Markdown, CSV, HTML


def _flat(tables: Mapping[str, ResolutionTable], look: TableLook, spelling: str) -> Table:
    """One header line; the name of the set stands in every column."""
    exact = spelling == "csv"
    if exact:
        look = replace(look, decimals=None, intervals=False, deviations=False, letters=None)
    columns = [f"{name} {column}".strip() for name, table in tables.items() for column in columns_of(table, look)]
    head, *heads = row_heads(next(iter(tables.values())))
    printed = [printed_rows(table, look, name) for name, table in tables.items()]
    rows = []
    for number, before in enumerate(heads):
        cells = [cell for block in printed for cell in block[number]]
        rows.append((*before, *(cell.number if exact else _flat_cell(cell) for cell in cells)))
    if exact and _intervals(tables):  # ends in columns of their own, so that all cells are numbers
        names = [(name, short_measure(what)) for name, table in tables.items() for what in _measured(table, look)]
        columns += [f"{name} {what} {end}".strip() for name, what in names for end in ("from", "to")]
        rows = [(*row, *_ends(tables, number, look)) for number, row in enumerate(rows)]
    return Table((*head, *columns), tuple(rows), () if exact else tuple(notes(tables, look)))


def _flat_cell(cell: PrintedCell) -> str:
    """A cell in one line; Markdown marks the best of a column."""
    text = _marked([cell])[0].strip()
    return Shown(text, strong=True) if cell.best else text


def _ends(tables: Mapping[str, ResolutionTable], row: int, look: TableLook) -> Iterator[str]:
    """Both ends of each interval of a row."""
    for table in tables.values():
        cells = dict(table.rows[row].cells)
        for measure in _measured(table, look):
            cell = cells[measure]
            for end in ("", "") if cell.interval is None else (cell.interval.low, cell.interval.high):
                yield end if isinstance(end, str) else value_text(measure, end, look.decimals)


def _measured(table: ResolutionTable, look: TableLook) -> list[str]:
    return [column for column in shown_columns(table, look) if column != FLOOR_COLUMN]


def _intervals(tables: Mapping[str, ResolutionTable]) -> list[Interval]:
    cells = [cell for table in tables.values() for row in table.rows for _, cell in row.cells]
    return [cell.interval for cell in cells if cell.interval is not None]


def _asked_in_vain(tables: Mapping[str, ResolutionTable]) -> bool:
    """True if there are means over seeds whose parts have intervals."""
    cells = [cell for table in tables.values() for row in table.rows for _, cell in row.cells]
    return any(m.interval is not None for cell in cells if cell.interval is None for m in cell.measurements.values())


# ---------------------------------------------------------------- below the table

EASIER = "Coarser than the {} (an easier task, not a better system)"
FLOOR = "Floor: the range EER of a perfect system that must give one score per hop."
NII_SOURCES = (
    "Label sources nii-2023: the range EER and points finer than the hop are measured against the ranges (RTTM), "
    "points at the hop or coarser against the segment label array of the hop, as in the published scripts. Numbers "
    "from different sources may not be compared, not even within a column."
)


def notes(tables: Mapping[str, ResolutionTable], look: TableLook | None = None) -> list[str]:
    """The lines below a table."""
    return [*captions(tables, look), *details(tables)]


def captions(tables: Mapping[str, ResolutionTable], look: TableLook | None = None) -> list[str]:
    """Notes for readers of the numbers."""
    first = next(iter(tables.values()))
    what = f"{_subject(first)} {_unit(first)}"
    seeds = seeds_text(tables)
    lines = [f"{what}, {seeds}." if seeds else f"{what}."]
    if any(row.is_native(one) for row in first.rows for one in first.resolutions):
        lines[0] += f" {NATIVE} the row's own resolution."
    easier = "; ".join(_coarser(first))
    if easier:
        known = any(row.training_resolution is not None for row in first.rows)
        lines.append(f"{EASIER.format('training resolution' if known else 'hop')}: {easier}.")
    if FLOOR_COLUMN in shown_columns(first, look or TableLook()) and any(row.floor is not None for row in first.rows):
        lines.append(FLOOR)
    if first.label_sources != "one":
        lines.append(NII_SOURCES)
    lines += _of_measures(tables)
    if look is not None and look.letters:
        lines.append("In each column, systems that share a letter do not differ significantly.")
    if look is not None and look.deviations and any(len(row.seeds) > 1 for row in first.rows):
        lines.append("\u00b1: standard deviation over seeds.")
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
    """Notes on the thresholds of the other measures."""
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


def seeds_text(tables: Mapping[str, ResolutionTable]) -> str:
    """Over how many seeds the numbers are means; empty where no seed has a name."""
    if all(row.seeds == ("",) for row in next(iter(tables.values())).rows):
        return ""
    counts = {(f"{name} {row.name}".strip(), len(row.seeds)) for name, table in tables.items() for row in table.rows}
    different = {count for _, count in counts}
    if len(different) == 1:
        count = different.pop()
        return f"means over {count} seeds" if count > 1 else "one seed each"
    return f"means over seeds ({', '.join(f'{name}: {count}' for name, count in sorted(counts))})"


def _coarser(table: ResolutionTable) -> Iterator[str]:
    """Cells that are coarser than the hop of their row, by hop."""
    rising = list(table.resolutions) == sorted(table.resolutions)
    known = {row.own_resolution: row for row in table.rows if row.own_resolution is not None}
    for hop, row in sorted(known.items()):
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

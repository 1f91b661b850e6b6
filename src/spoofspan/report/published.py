"""Published numbers, beside one's own: what a paper or a tool prints, under which rules, of which system.

The numbers are data (``published.json``): EERs in per cent, by the hop of the scores. They are set beside a resolution
table row by row; the lines below say which rules differ, since numbers under different rules may not be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from spoofspan.base.documents import read_json
from spoofspan.base.times import milliseconds
from spoofspan.data.rules import rules_for
from spoofspan.evaluation.measurement import Measurement
from spoofspan.evaluation.resolution_rows import ResolutionRow
from spoofspan.evaluation.resolution_table import ResolutionTable
from spoofspan.report.resolutions import Look, percent, render, spaced, tables_dict
from spoofspan.report.table import Table, json_text

FILE = Path(__file__).with_name("published.json")
AT_HOP = "point-eer@hop"  # a column whose points are as long as the scores


@dataclass(frozen=True)
class Published:
    """Numbers of one system on one set, as one source prints them.

    Parameters
    ----------
    name, source
        As it is called here, and where the numbers are printed.
    data, set, system
        What was measured.
    convention, label_sources
        The rules, as far as they are known; ``nii-2023`` sources mix two kinds of labels.
    measures, values
        The columns, and a row of per cents by hop; the hop of utterance scores is empty.
    """

    name: str
    source: str
    data: str
    set: str
    system: str
    convention: str
    label_sources: str
    measures: tuple[str, ...]
    values: Mapping[str, tuple[float, ...]]

    def value(self, hop: str, measure: str) -> float | None:
        """A number in per cent, or None if it is not in print."""
        names = [one if one != AT_HOP else f"point-eer@{hop}" for one in self.measures]
        row = self.values.get(hop)
        return None if row is None or measure not in names else row[names.index(measure)]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        rows = {hop: list(row) for hop, row in self.values.items()}
        return {**vars(self), "measures": list(self.measures), "values": rows}


@cache
def published() -> tuple[Published, ...]:
    """All that is registered."""
    rows = read_json(FILE)
    return tuple(
        Published(
            **{**row, "measures": tuple(row["measures"]), "values": {h: tuple(v) for h, v in row["values"].items()}}
        )
        for row in rows
    )


def published_table() -> Table:
    """The register itself: a row for each hop of each source."""
    resolutions = dict.fromkeys(
        m for one in published() for m in one.measures if m.startswith("point-") and m != AT_HOP
    )
    measures = ["range-eer", *resolutions, "utterance-eer"]
    rows = tuple(
        (one.name, one.set, hop, *(_cell(one.value(hop, measure)) for measure in measures))
        for one in published()
        for hop in one.values
    )
    short = (one.removeprefix("point-eer@").removesuffix("-eer") for one in measures)
    about = dict.fromkeys(f"{one.name}: {one.data}, {one.system}; {one.source}" for one in published())
    return Table(("source", "set", "hop", *short), rows, ("", "EER in %.", *about))


def render_beside(tables: Mapping[str, ResolutionTable], spelling: str, look: Look) -> str:
    """Write a resolution table with the published numbers that belong beside it."""
    if spelling != "json":
        return render(tables, spelling, look) + "\n" + beside(tables, look).render(spelling)
    entries = [
        {
            **one.to_dict(),
            "differs": [
                {"rule": rule, "theirs": theirs, "yours": yours} for rule, theirs, yours in _differing(one, tables)
            ],
        }
        for one in _entries(tables)
    ]
    return json_text(tables_dict(tables) | {"published": entries})


def beside(tables: Mapping[str, ResolutionTable], look: Look) -> Table:
    """Own rows, each followed by what is in print for the same hop and set, and below it which rules differ."""
    first = next(iter(tables.values()))
    measures = ["range-eer", *(f"point-eer@{milliseconds(one)}" for one in first.resolutions)]
    found = _entries(tables)
    rows: list[tuple[str, ...]] = []
    for name, table in tables.items():
        for row in table.rows:
            hop = _hop(row)
            numbers = (percent(cell.value, look.decimals) for _, cell in row.eers)
            rows.append((spaced(row.hop), name, f"yours: {row.name}", *numbers))
            for one in found:
                if hop in one.values and name in ("", one.set):
                    cells = (_cell(one.value(hop, measure)) for measure in measures)
                    rows.append((spaced(row.hop), one.set, one.name, *cells))
    columns = ("hop", "set", "system", "range", *map(spaced, first.resolutions))
    notes = [line for one in {one.name: one for one in found}.values() for line in _notes(one, tables)]
    nothing = "Nothing is in print for these hops and sets; spoofspan table --published lists what is."
    return Table(columns, tuple(rows), ("", *(notes or [nothing])))


def _hop(row: ResolutionRow) -> str:
    return "" if row.hop is None else milliseconds(row.hop)


def _entries(tables: Mapping[str, ResolutionTable]) -> list[Published]:
    """What is in print for the hops and sets of some tables."""
    wanted = {(name, _hop(row)) for name, table in tables.items() for row in table.rows if row.hop is not None}
    return [one for one in published() if any(hop in one.values and name in ("", one.set) for name, hop in wanted)]


def _notes(one: Published, tables: Mapping[str, ResolutionTable]) -> Iterator[str]:
    yield f"{one.name}: {one.system}; {one.source}."
    differ = [f"{rule} ({theirs}, yours {yours})" for rule, theirs, yours in _differing(one, tables)]
    yield f"  rules that differ: {', '.join(differ)}" if differ else "  the same rules as yours"


def _differing(one: Published, tables: Mapping[str, ResolutionTable]) -> list[tuple[str, str, str]]:
    first = next(iter(tables.values()))
    own = next(iter(first.rows[0].range_eer.measurements.values()))
    return list(differences(one, own, first.label_sources))


def differences(one: Published, own: Measurement, label_sources: str) -> Iterator[tuple[str, str, str]]:
    """What differs between the rules of published range EERs and of one's own: name, theirs, yours."""
    rules, eer_rule = rules_for("range", one.convention, {})
    theirs = rules.spelled("range") | {"EER rule": eer_rule, "label sources": one.label_sources}
    yours = own.rules.spelled("range") | {"EER rule": own.eer_rule, "label sources": label_sources}
    for name, value in theirs.items():
        if yours[name] != value:
            yield name, value, yours[name]


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"

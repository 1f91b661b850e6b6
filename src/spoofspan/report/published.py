"""The register of published numbers, and a system among them.

A row of the register is a file of its own in ``register/``: what one source prints of one system on one set, under
which rules as far as they are known. Rows are facts, checked by the tests; ``docs/papers.md`` says how to add one.
Numbers under different rules may not be compared, so the rules that differ are named wherever a system is shown among
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from spoofspan.base.documents import parse_yaml, read_text
from spoofspan.base.times import milliseconds
from spoofspan.data.rules import CONVENTIONS, RULES, rules_for
from spoofspan.evaluation.resolution_table import ResolutionTable
from spoofspan.measures.measure import Measure, in_percent
from spoofspan.report.resolutions import TableLook, render, spaced, tables_dict, value_text
from spoofspan.report.table import Table, json_text

FOLDER = Path(__file__).with_name("register")
NONE = "No published number has the same hop, set and measure; spoofspan table --published lists all."


@dataclass(frozen=True)
class Published:
    """Numbers of one system on one set, as one source prints them: a row of the register.

    Parameters
    ----------
    name, source
        The name in tables, and where the numbers are printed.
    data, set, system
        What was measured; the set is empty if it is not stated.
    values
        Measure -> value, in per cent where the measure is a share.
    hop
        Spacing of the scores in seconds; None for scores of whole utterances.
    convention, eer_rule, rules
        The rules as far as they are known: a named set of them, the EER rule and rules that deviate.
    label_sources
        ``nii-2023`` where a table mixes ranges and segment labels.
    signature
        Of a number that spoofspan measured.

    """

    name: str
    source: str
    data: str
    system: str
    values: Mapping[str, float]
    set: str = ""
    hop: float | None = None
    convention: str = ""
    eer_rule: str = ""
    rules: Mapping[str, Any] = field(default_factory=dict)
    label_sources: str = ""
    signature: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return asdict(self)

    def known_rules(self, basis: str) -> dict[str, str]:
        """Known rules of its measures of ranges, points or utterances, as text."""
        if self.convention:
            known = _rules(basis, self.convention, self.eer_rule, **self.rules)
            return known | {"label sources": self.label_sources or "one"}
        kind = _kind(basis)
        known = {name: RULES[name].spell(value) for name, value in self.rules.items() if kind in RULES[name].of}
        return known | ({"EER rule": self.eer_rule} if self.eer_rule else {})


@cache
def published() -> tuple[Published, ...]:
    """Read the register.

    Examples
    --------
    >>> {row.data for row in published() if row.name == "zhang-2023-table-3"}
    {'PartialSpoof'}

    """
    rows = (Published(**parse_yaml(read_text(path, 1 << 16))) for path in FOLDER.glob("*.yaml"))
    return tuple(sorted(rows, key=lambda row: (row.name, row.data, row.set, row.hop or 0.0)))


def _kind(basis: str) -> str:
    return "point" if basis == "point" else "range"


def _rules(basis: str, convention: str, eer_rule: str | None, **rules: Any) -> dict[str, str]:
    """The rules of ranges or points under a convention as text; those of utterances are the rules of ranges."""
    kind: Any = _kind(basis)
    if basis not in ("range", "point") and convention in CONVENTIONS and kind not in CONVENTIONS[convention].measures:
        kind = "point"
    chosen, usual = rules_for(kind, convention, rules)
    return chosen.spelled(kind) | {"EER rule": eer_rule or usual}


# ---------------------------------------------------------------- a system among published numbers


@dataclass(frozen=True)
class OwnRow:
    """Values of one's own system by measure, and the hop and the set that they belong to."""

    system: str
    values: Mapping[str, float]
    hop: float | None = None
    set: str = ""


@dataclass(frozen=True)
class Beside:
    """Own rows, each with the published rows of the same hop and set.

    Parameters
    ----------
    own
        The own systems.
    measures
        The columns.
    arguments, label_sources
        How the own systems were measured: convention, EER rule and rules, as of :func:`spoofspan.evaluate`.
    data
        The database that they were measured on, if it is known, and its set, as ``--dataset`` names them
        (``partialspoof:FOLDER:eval``): no other is shown then.
    decimals
        Digits after the point.

    """

    own: Sequence[OwnRow]
    measures: Sequence[str]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    label_sources: str = "one"
    data: str = ""
    decimals: int | None = 2

    def found(self) -> list[Published]:
        """The published rows that belong beside the own ones."""
        return [one for one in published() if any(self._belongs(one, own) for own in self.own)]

    def _belongs(self, one: Published, own: OwnRow) -> bool:
        data, _, rest = self.data.partition(":")
        subset = own.set or rest.rpartition(":")[2]
        if (data and _letters(data) != _letters(one.data)) or (subset and one.set not in ("", subset)):
            return False
        same_hop = None not in (one.hop, own.hop) and milliseconds(one.hop) == milliseconds(own.hop)  # type: ignore[arg-type]
        common = [measure for measure in self.measures if measure in one.values and measure in own.values]
        return any(same_hop or (one.hop is None and measure.startswith("utterance-")) for measure in common)

    def table(self) -> Table:
        """Own and published rows as a table, and below it the sources and the rules that differ."""
        rows: list[tuple[str, ...]] = []
        left = self.found()
        for hop, name in dict.fromkeys((own.hop, own.set) for own in self.own):
            group = [own for own in self.own if (own.hop, own.set) == (hop, name)]
            for own in group:
                cells = (self._own_cell(measure, own.values.get(measure)) for measure in self.measures)
                rows.append((spaced(hop), "", name, f"yours: {own.system}", *cells))
            here = [one for one in left if any(self._belongs(one, own) for own in group)]
            left = [one for one in left if one not in here]
            for one in here:
                cells = (_cell(measure, one.values.get(measure)) for measure in self.measures)
                rows.append((spaced(one.hop), one.data, one.set, one.name, *cells))
        columns = ("hop", "data", "set", "system", *map(_head, self.measures))
        notes = dict.fromkeys(tuple(self._notes(one)) for one in self.found())  # of several rows of a source, once
        return Table(columns, tuple(rows), ("", *(line for lines in notes or [(NONE,)] for line in lines)))

    def _own_cell(self, measure: str, value: float | None) -> str:
        return "" if value is None else value_text(measure, value, self.decimals)

    def _notes(self, one: Published) -> Iterator[str]:
        yield f"{one.name}: {one.system}; {one.source}."
        differ = [f"{rule} ({theirs}, yours {yours})" for rule, theirs, yours in self.differences(one)]
        if differ:
            yield f"  rules that differ: {', '.join(differ)}"
        elif one.convention:
            yield "  the same rules as yours"
        if not one.convention:
            yield "  further rules are not known" if one.rules or one.eer_rule else "  its rules are not known"
        if one.signature:
            yield f"  signature: {one.signature}"

    def differences(self, one: Published) -> list[tuple[str, str, str]]:
        """Rules that differ between a published row and the own ones: name, theirs, yours."""
        found: dict[str, tuple[str, str]] = {}
        for measure in self.measures:
            if measure in one.values:
                basis = Measure.parse(measure).basis
                yours = _rules(basis, **{"convention": "default", "eer_rule": None, **self.arguments})
                yours |= {"label sources": self.label_sources}
                theirs = one.known_rules(basis)
                for rule in theirs:
                    if theirs[rule] != yours[rule]:
                        found.setdefault(rule, (theirs[rule], yours[rule]))
        return [(rule, *both) for rule, both in found.items()]

    def to_list(self) -> list[dict[str, Any]]:
        """The published rows as plain data, each with the rules that differ."""
        return [
            one.to_dict() | {"differs": [{"rule": a, "theirs": b, "yours": c} for a, b, c in self.differences(one)]}
            for one in self.found()
        ]


def own_rows(tables: Mapping[str, ResolutionTable]) -> tuple[list[OwnRow], list[str]]:
    """The rows and the measures of resolution tables, by the name of the set."""
    rows = [
        OwnRow(row.name, {measure: cell.value for measure, cell in row.cells}, row.hop, name)
        for name, table in tables.items()
        for row in table.rows
    ]
    return rows, list(rows[0].values)


def render_beside(tables: Mapping[str, ResolutionTable], spelling: str, look: TableLook, beside: Beside) -> str:
    """Write resolution tables with the published numbers that belong beside them."""
    if spelling == "json":
        return json_text(tables_dict(tables) | {"published": beside.to_list()})
    return render(tables, spelling, look) + "\n" + beside.table().render(spelling)


def published_measures() -> list[str]:
    """The measures of the register in the order of columns."""
    order = {"range": 0, "point": 1, "utterance": 2}
    used = {measure for one in published() for measure in one.values}
    return sorted(used, key=lambda one: (order.get(one.partition("-")[0], 3), Measure.parse(one).resolution or 0, one))


def published_table() -> Table:
    """Show the whole register."""
    measures = published_measures()
    rows = tuple(
        (one.name, one.data, one.set, spaced(one.hop), *(_cell(name, one.values.get(name)) for name in measures))
        for one in published()
    )
    about = dict.fromkeys(f"{one.name}: {one.system}; {one.source}." for one in published())
    return Table(("system", "data", "set", "hop", *map(_head, measures)), rows, ("", "EER in %.", *about))


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()


def _head(measure: str) -> str:
    found = Measure.parse(measure)
    if found.eer != found:
        return measure
    return spaced(found.resolution) if found.basis == "point" else found.basis


def _cell(measure: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if in_percent(measure) else f"{value:g}"

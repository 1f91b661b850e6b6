"""Crossed breakdowns: one measure by two columns, such as each attack under each codec.

::

    attack   pooled   codec 1   codec 2
    pooled     7.9      4.1      11.2
    A17        5.0      2.2       8.1         each cell is measured as a corpus of its own
    A18       10.4      6.3      13.9

With measures of whole utterances, a column that separates bona fide from spoof (an attack, with ``-`` for bona fide)
leaves every cell with all bona fide utterances: an attack is measured against all bona fide speech, as in the tables of
ASVspoof. Any other column (a codec, a speaker) selects utterances of both classes. Measures at a threshold are taken at
the threshold of the whole corpus.

A cell of a tandem measure takes its own trials of the verification system in the same way: the spoofs of its attack,
and the targets, non-targets and spoofs of its codec. A cell whose trials are unknown has no value. The interval of a
cell is over its own utterances.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.base.columns import Flags
from spoofspan.base.errors import DataError, UndefinedMeasureError, UsageError, quietly, reason_of
from spoofspan.base.other_ids import id_remedy
from spoofspan.base.times import Int64
from spoofspan.data.references import BONA_FIDE, SPOOF, Labels
from spoofspan.data.utterance_scores import TRIALS, VerificationScores
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.mass.utterances import UtterancePart
from spoofspan.measures.eer import equal_error_rate
from spoofspan.measures.operating_point import totals

if TYPE_CHECKING:
    from spoofspan.evaluation.corpus import PlannedMass
    from spoofspan.uncertainty import Interval
    from spoofspan.uncertainty.clusters import Resampling
    from spoofspan.uncertainty.measured_system import Measured

POOLED = "pooled"
NO_INTERVALS = "cells of events have no intervals in shards; read the corpus whole"
Columns = Mapping[str, Mapping[str, str]]  # name -> utterance -> value
Place = Mapping[str, str]  # of a cell: its value of each column; a column that is pooled is left out
CellOf = Callable[[Int64, Place], "CrossedCell"]  # of its utterances and its place


@dataclass(frozen=True)
class CrossedCell:
    """A cell of a table: its value (NaN with a reason if it has none) and its amounts of both classes."""

    value: float
    bona_fide: int
    spoof: int
    reason: str = ""
    interval: Interval | None = None

    @classmethod
    def of(cls, value: Callable[[], tuple[float, Interval | None]], bona_fide: int, spoof: int) -> CrossedCell:
        """Measure a cell and its interval, if there is one; without a value, keep the reason."""
        try:
            number, interval = value()
            return cls(number, bona_fide, spoof, interval=interval)
        except UndefinedMeasureError as error:
            return cls(float("nan"), bona_fide, spoof, reason_of(error))


@dataclass(frozen=True)
class CrossedBreakdown:
    """A measure by one or two columns; the first row and the first column are pooled over all values."""

    by: tuple[str, ...]
    measure: str
    unit: str  # of the amounts of both classes: ns, points or utterances
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], CrossedCell]
    about: str = ""

    def __getitem__(self, place: tuple[str, str]) -> CrossedCell:
        return self.cells[place]

    def values(self) -> list[list[float]]:
        """The values, row by row."""
        return [[self.cells[row, column].value for column in self.columns] for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        shown = {"by": list(self.by), "measure": self.measure, "unit": self.unit}
        named = {"rows": list(self.rows), "columns": list(self.columns), "values": self.values()}
        amounts: dict[str, Any] = {
            name: [[getattr(self.cells[row, column], name) for column in self.columns] for row in self.rows]
            for name in ("bona_fide", "spoof")
        }
        if any(cell.interval is not None for cell in self.cells.values()):
            lines = ([self.cells[row, column].interval for column in self.columns] for row in self.rows)
            amounts["intervals"] = [[None if one is None else one.to_dict() for one in line] for line in lines]
        return {**shown, **named, **amounts}


def crossed(whole: PlannedMass, columns: Columns, resampling: Resampling | None = None) -> CrossedBreakdown:
    """Break a corpus down by one or two columns, with intervals if ``resampling`` is given."""
    plan, mass = whole.plan, whole.mass
    if plan.measure.macro:
        raise UsageError(f"{plan.measure} is a mean over utterances, which crossed tables have not; leave -macro out")
    if plan.measure.at_threshold and plan.threshold is None:
        plan = replace(plan, threshold=equal_error_rate(mass, plan.eer_rule).point.threshold)
    (part,) = mass.parts
    classes = whole.classes
    if classes is None and plan.measure.basis == "utterance":
        classes = part.classes if isinstance(part, UtterancePart) else _classes_of_utterances(mass)
    asv = plan.asv_scores
    spoofs_only = against_all(part.utterances, columns, classes) if asv is not None else []

    def cell_of(chosen: Int64, place: Place) -> CrossedCell:
        cell = whole.take(chosen, plan)
        sums = totals(cell.mass)

        def value() -> tuple[float, Interval | None]:
            own = cell
            if isinstance(asv, VerificationScores):
                own = replace(cell, plan=replace(plan, asv_scores=verification_in(asv, columns, place, spoofs_only)))
            found = own.value()
            return float(found.value), interval_in_cell(own.system(found), resampling and resampling.within(place))

        return CrossedCell.of(value, sums.all_bona_fide, sums.all_spoof)

    found = crossed_cells(part.utterances, columns, cell_of, (str(plan.measure), mass.unit), classes)
    if asv is None:
        return found
    if isinstance(asv, VerificationScores):
        whose = "each cell has its own trials of the verification system"
        whose += " (in intervals they stay as they are)" if resampling is not None else ""
    else:
        whose = "the rates of the verification system are as given, the same in all cells"
    return replace(found, about="; ".join(filter(None, (found.about, whose))))


def _classes_of_utterances(mass: ScoreMass) -> Labels:
    """The class of each utterance of a mass in time: spoof, if any of it is."""
    from spoofspan.uncertainty.left_out import class_flags, sums_by_unit

    count = len(mass.utterances)
    _, spoofed = class_flags(sums_by_unit(mass, np.arange(count), count, None))
    return np.where(spoofed, SPOOF, BONA_FIDE).astype(np.int8)


def interval_in_cell(system: Measured, resampling: Resampling | None) -> Interval | None:
    """The interval of a cell; None if none was requested, or with one cluster only, or replicates without a class."""
    if resampling is None:
        return None
    from spoofspan.uncertainty.spreads import interval_of_system

    try:
        with quietly():  # small cells are cautioned in their intervals
            return interval_of_system(system, resampling)
    except (UndefinedMeasureError, UsageError):
        return None


def verification_in(
    asv: VerificationScores, columns: Columns, place: Place, spoofs_only: Collection[str]
) -> VerificationScores:
    """The trials of a verification system in a cell; columns in ``spoofs_only`` (attacks) choose among spoofs alone."""
    for name, value in place.items():
        if asv.trials:
            kinds = ("spoof",) if name in spoofs_only else TRIALS
            chosen = {kind: _has_value(name, columns[name], asv.trials[kind], value) for kind in kinds}
        elif name in spoofs_only and asv.attacks:
            chosen = {"spoof": np.array([attack == value for attack in asv.attacks])}
        else:
            raise UndefinedMeasureError(
                f"the verification scores do not tell which trials have which {name}; give a table with a score of "
                "each trial (spk, filename, asv-score) as --asv-scores"
            )
        for kind, flags in chosen.items():
            if not flags.any():
                raise UndefinedMeasureError(f"there is no {kind} trial of {name} {value} in the verification scores")
        asv = asv.take(chosen)
    return asv


def _has_value(name: str, column: Mapping[str, str], trials: Sequence[str], value: str) -> Flags:
    column = by_trial(column, trials)
    check_column(name, column, trials)
    return np.array([column[trial] == value for trial in trials], bool)


def by_trial(column: Mapping[str, str], trials: Sequence[str]) -> Mapping[str, str]:
    """Extend a column of recordings to trials ``<spk> <utt>``, or a column of trials to recordings."""
    if all(trial in column for trial in trials):
        return column
    recordings: dict[str, set[str]] = {}
    for trial, value in column.items():
        recordings.setdefault(trial.rpartition(" ")[2], set()).add(value)
    known = {name: values.pop() for name, values in recordings.items() if len(values) == 1}
    others = {trial: trial.rpartition(" ")[2] for trial in trials if trial not in column}
    return {**column, **{trial: known[name] for trial, name in others.items() if name in known}}


def against_all(utterances: Sequence[str], columns: Columns, classes: Labels | None) -> list[str]:
    """Columns that separate bona fide from spoof, such as attacks: each value is measured against all bona fide."""
    found = (ColumnGroups.of(name, column, utterances, classes) for name, column in columns.items())
    return [one.name for one in found if one.against_all is not None]


def crossed_cells(
    utterances: Sequence[str],
    columns: Columns,
    cell_of: CellOf,
    what: tuple[str, str],
    classes: Labels | None = None,
    about: str = "",
) -> CrossedBreakdown:
    """Measure the utterances of every cell; ``what`` is the measure and its unit, ``about`` a remark on the table."""
    if not 1 <= len(columns) <= 2:
        raise UsageError(f"a table has one or two columns of metadata, not {', '.join(columns)}; leave some out")
    first, *rest = [ColumnGroups.of(name, column, utterances, classes) for name, column in columns.items()]
    second = rest[0] if rest else None
    shown = (POOLED, *second.names) if second is not None else (POOLED,)
    cells = {}
    for row in (POOLED, *first.names):
        for column in shown:
            chosen = np.flatnonzero(first.rows_of(row) & (second.rows_of(column) if second is not None else True))
            place = {name: one for name, one in zip(columns, (row, column), strict=False) if one != POOLED}
            cells[row, column] = (
                cell_of(chosen, place) if chosen.size else CrossedCell(float("nan"), 0, 0, "there is nothing")
            )
    against = [one.name for one in (first, *rest) if one.against_all is not None]
    whose = "each cell is of its own utterances alone, bona fide and spoof"
    whose = f"each {' and '.join(against)} is measured against all bona fide" if against else whose
    about = "; ".join(filter(None, (whose, about)))
    return CrossedBreakdown(tuple(columns), *what, (POOLED, *first.names), shown, cells, about)


@dataclass(frozen=True, eq=False)
class ColumnGroups:
    """Groups of utterances by the values of a column."""

    name: str
    names: tuple[str, ...]
    codes: Int64
    against_all: Flags | None  # the bona fide utterances, if the column separates them from the others

    @classmethod
    def of(
        cls, name: str, column: Mapping[str, str], utterances: Sequence[str], classes: Labels | None
    ) -> ColumnGroups:
        """The groups of a column; with ``classes``, one that separates bona fide from spoof is recognised."""
        column = by_trial(column, utterances)
        check_column(name, column, utterances)
        values = np.array([column[utt] for utt in utterances])
        names, codes = np.unique(values, return_inverse=True)
        against = None
        if classes is not None:
            real = classes == BONA_FIDE
            if not set(values[real].tolist()) & set(values[~real].tolist()):
                against, names = real, np.unique(values[~real])
                codes = np.searchsorted(names, values)
                codes[real] = -1
        return cls(name, tuple(names.tolist()), codes.astype(np.int64), against)

    def rows_of(self, name: str) -> Flags:
        """Flags of the utterances of a value, or of all of them."""
        if name == POOLED:
            return np.ones(self.codes.size, bool)
        chosen: Flags = self.codes == self.names.index(name)
        return chosen if self.against_all is None else chosen | self.against_all


def check_column(name: str, column: Mapping[str, str], utterances: Sequence[str]) -> None:
    """Refuse a column that lacks values for some utterances, with the likely reason."""
    missing = [utt for utt in utterances if column.get(utt) is None]
    if missing:
        why = id_remedy(missing, column, their_name="metadata") or "give one for every utterance"
        if column and len(missing) == len(utterances) and why.startswith("give"):
            raise DataError(
                f"{name}: the metadata name none of the utterances: they have {next(iter(column))!r}, the references "
                f"{missing[0]!r}; correct the ids of the metadata"
            )
        raise DataError(f"{name}: no value for {', '.join(map(repr, missing[:20]))}; {why}")


def columns_of(by: str, read_column: Callable[[str], Mapping[str, str]]) -> Columns:
    """Read the named columns: one, or two separated by a comma."""
    return {name: read_column(name) for name in (one.strip() for one in by.split(","))}

"""Breakdowns of a measure by attack, speaker, length, or distance from a boundary.

Each group is measured as a corpus of its own (its own EER, for instance). Beside the value stands the group's share of
the error of the whole corpus, at the threshold of the whole corpus. A group without one of the classes has no EER; it
states the reason, and still has its share of the error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from spoofspan.base.errors import (
    NothingToMeasureError,
    UndefinedMeasureError,
    UsageError,
    quietly,
    reason_of,
    strangers,
)
from spoofspan.base.tabular import Tabular
from spoofspan.base.times import Int64
from spoofspan.data.front_door import opens_inputs
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.evaluation.corpus import Corpus, CorpusInMemory, LayLater, PlannedMass, ReadColumn, Shard
from spoofspan.evaluation.crossed import check_column
from spoofspan.evaluation.measurement import Measurement
from spoofspan.evaluation.plan import EvaluationArguments, EvaluationOptions, Plan
from spoofspan.evaluation.selections import (
    NAMED_ALREADY,
    ChosenUtterances,
    Selection,
    SpoofCut,
    SpoofedRanges,
    ranges_by_attack,
    ranges_by_length,
    ranges_by_share,
    ranges_by_value,
)
from spoofspan.mass.ranges import Lay
from spoofspan.measures.eer import equal_error_rate
from spoofspan.measures.kind import Value
from spoofspan.measures.measure import Measure
from spoofspan.measures.operating_point import OperatingPoint, count_again
from spoofspan.measures.per_utterance import UtteranceErrors

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.uncertainty.comparison import Difference
    from spoofspan.uncertainty.measured_system import Measured
    from spoofspan.uncertainty.random_units import UnitSpread

LENGTHS = (0.1, 0.2, 0.4, 0.8, 1.6)  # seconds
DISTANCES = (0.02, 0.04, 0.08, 0.16)  # seconds
# The breakdowns that need no column of metadata.
BREAKDOWNS = ("attack", "length", "share", "boundary")


class BreakdownArguments(EvaluationArguments, total=False):
    """The measure of the groups and its settings, as keyword arguments."""

    measure: str


@dataclass(frozen=True)
class Group:
    """A part of a corpus, with its own value and its share of the error of the whole corpus."""

    name: str
    utterances: int
    bona_fide_seconds: float
    spoof_seconds: float
    error_seconds: float
    share_of_error: float  # NaN where there is no error at all
    measurement: Measurement | None
    reason: str = ""  # for having no value

    @property
    def value(self) -> float:
        """The value of the group; NaN if it has none."""
        return math.nan if self.measurement is None else self.measurement.value

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        plain = {name: value for name, value in vars(self).items() if name not in ("measurement", "reason")}
        interval = None if self.measurement is None else self.measurement.interval
        return {
            **plain,
            "value": None if self.measurement is None else self.measurement.value,
            "reason": self.reason,
            "interval": None if interval is None else interval.to_dict(),
        }


@dataclass(frozen=True)
class Breakdown(Tabular):
    """The groups of a corpus by one property."""

    by: str
    measure: str
    threshold: float
    groups: tuple[Group, ...]
    about: str = ""
    differences: tuple[Difference, ...] = ()  # of every pair of groups with a value, if intervals were asked for
    over_attacks: UnitSpread | None = None  # the groups as a sample of attacks, if they are attacks

    def __getitem__(self, name: str) -> Group:
        for group in self.groups:
            if group.name == name:
                return group
        raise KeyError(name)

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each group."""
        return [{"by": self.by, "measure": self.measure, **group.to_dict()} for group in self.groups]

    def __repr__(self) -> str:
        return f"Breakdown({self.measure} by {self.by}: {len(self.groups)} groups)"

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        from spoofspan.report.verdicts import breakdown_table

        return breakdown_table(self).render("html")

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "by": self.by,
            "measure": self.measure,
            "threshold": self.threshold,
            "groups": [group.to_dict() for group in self.groups],
            "about": self.about,
            "differences": [one.to_dict() for one in self.differences],
            "over_attacks": None if self.over_attacks is None else self.over_attacks.to_dict(),
        }


@opens_inputs
def by_column(
    references: References,
    scores: Scores,
    column: Mapping[str, str],
    *,
    name: str = "column",
    differences: bool = True,
    **arguments: Unpack[BreakdownArguments],
) -> Breakdown:
    """Break down by a value that every utterance has (speaker, codec, language): utterance -> value."""
    if name == "attack":
        raise UsageError("attacks are measured by groups.by_attack(references, scores, column=...)")
    return _in_memory(references, scores, **arguments).by_column(column, name, differences=differences)


@opens_inputs
def by_attack(
    references: References,
    scores: Scores,
    *,
    column: Mapping[str, str] | None = None,
    differences: bool = True,
    **arguments: Unpack[BreakdownArguments],
) -> Breakdown:
    """Break down by the attack of the spoofed ranges: each attack against all bona fide time.

    Attacks are named by the references, or by a ``column``: utterance -> attack.
    """
    if column is not None and references.attacks is not None:
        raise UsageError(NAMED_ALREADY)
    return _in_memory(references, scores, **arguments).by_attack(column, differences=differences)


@opens_inputs
def by_length(
    references: References,
    scores: Scores,
    *,
    edges: Sequence[float] = LENGTHS,
    differences: bool = True,
    **arguments: Unpack[BreakdownArguments],
) -> Breakdown:
    """Break down by the length of the spoofed ranges (``edges`` in seconds), each against all bona fide time."""
    return _in_memory(references, scores, **arguments).by_length(edges, differences=differences)


@opens_inputs
def by_boundary(
    references: References,
    scores: Scores,
    *,
    distances: Sequence[float] = DISTANCES,
    differences: bool = True,
    **arguments: Unpack[BreakdownArguments],
) -> Breakdown:
    """Break down by the distance from the nearest true boundary, with the share of the error within each distance.

    The value of a group is measured on the time *outside* its distance, as with a collar. Each distance includes the
    smaller ones, so ``differences`` has no effect.
    """
    return _in_memory(references, scores, **arguments).by_boundary(distances)


def _in_memory(
    references: References, scores: Scores, *, measure: str = "range-eer", **arguments: Unpack[EvaluationArguments]
) -> MeasuredCorpus:
    return MeasuredCorpus(CorpusInMemory(references, scores), measure, EvaluationOptions.from_arguments(arguments))


class MeasuredCorpus:
    """A corpus with its value and its errors at one threshold, for breakdowns.

    ``at`` is the operating point of all groups, by default that of the value.
    """

    def __init__(
        self, corpus: Corpus, measure: str, options: EvaluationOptions, at: OperatingPoint | None = None
    ) -> None:
        _ = corpus.higher  # refuses proposals, which are not broken down in time
        self.corpus, self.options, self.resampling = corpus, options, options.resampling
        plan = corpus.plan(check_measure_of_ranges(measure), options)
        (lay,) = corpus.lay([plan], signed=options.signed)
        self.planned = lay()
        with quietly():
            self.measured = self.planned.measured()
        self.parts: dict[str, Measured] = {}  # groups with a value, if intervals are asked for
        self.point = self.measured.point if at is None else at
        if self.point.threshold != self.point.threshold:  # a value over all thresholds
            self.point = equal_error_rate(self.planned.mass, plan.eer_rule).point
        groups_too = plan.measure.kind.at_threshold  # they are measured where the whole corpus is
        self.plan = replace(plan, threshold=self.point.threshold) if groups_too else plan

    @cached_property
    def totals(self) -> OperatingPoint:
        """All time (ns), and the errors in it at the threshold of all groups."""
        return count_again(self.planned.mass, self.point)

    @cached_property
    def attack_names(self) -> frozenset[str]:
        """The attacks that the references name."""
        return self.corpus.attack_names()

    @cached_property
    def errors(self) -> UtteranceErrors:
        """The errors of each utterance at the threshold of all groups."""
        return cast("Any", self.planned.errors_at)(self.point)  # type: ignore[no-any-return]

    def break_down(self, by: str, read_column: ReadColumn, *, differences: bool = True) -> Breakdown:
        """The groups by attack, length, share, boundary or a column, which is read only if needed."""
        if by == "attack":
            return self.by_attack(None if self.attack_names else read_column(by), differences=differences)
        if by == "length":
            return self.by_length(differences=differences)
        if by == "share":
            return self._by_ranges("share", ranges_by_share(), differences)
        if by == "boundary":
            return self.by_boundary()
        return self.by_column(read_column(by), by, differences=differences)

    def by_column(self, column: Mapping[str, str], name: str = "column", *, differences: bool = True) -> Breakdown:
        """The groups of utterances with the same value."""
        self._vary_within(name)
        utterances = self.errors.utterances
        check_column(name, column, utterances)
        rows: dict[str, list[int]] = {}
        for row, utt in enumerate(utterances):
            rows.setdefault(column[utt], []).append(row)
        values = sorted(rows)
        later = self._lay([ChosenUtterances(frozenset(utterances[row] for row in rows[one])) for one in values])
        errors = self.errors.false_positive + self.errors.false_negative
        groups = []
        for value, lay in zip(values, later, strict=True):
            chosen = rows[value]
            times = int(self.errors.bona_fide[chosen].sum()), int(self.errors.spoof[chosen].sum())
            found = self._try_on(value, lay)
            groups.append(_group(value, len(chosen), times, (int(errors[chosen].sum()), int(errors.sum())), found))
        whose = f"each {name} is measured on its own utterances, with the bona fide time inside them only"
        about = "; ".join((whose, *strangers(f"a {name}", column, utterances)))
        return self._breakdown(name, groups, about, differences)

    def by_attack(self, column: Mapping[str, str] | None = None, *, differences: bool = True) -> Breakdown:
        """The spoofed ranges of each attack, which the references or a column of utterances name."""
        if column is None:
            return self._by_ranges("attack", ranges_by_attack(self.attack_names), differences)
        check_column("attack", column, self.errors.utterances)
        return self._by_ranges("attack", ranges_by_value(column), differences)

    def by_length(self, edges: Sequence[float] = LENGTHS, *, differences: bool = True) -> Breakdown:
        """The spoofed ranges by their length."""
        return self._by_ranges("length", ranges_by_length(edges), differences)

    def by_boundary(self, distances: Sequence[float] = DISTANCES) -> Breakdown:
        """Share of the error near true boundaries."""
        groups = []
        for distance in distances:
            options = replace(self.options, rules={**self.options.rules, "collar": distance})
            outside = MeasuredCorpus(self.corpus, str(self.plan.measure), options, self.point)
            all_time, left = self.totals, outside.totals
            times = all_time.bona_fide - left.bona_fide, all_time.spoof - left.spoof
            error = _error(all_time) - _error(left), _error(all_time)
            found = outside._with_interval("", outside.planned, outside.measured), ""
            groups.append(_group(f"within {distance * 1000:g} ms", self.planned.count, times, error, found))
        value = self.measured.value_text
        about = f"each value: on the time farther than that from any boundary; on all time it is {value}"
        return self._breakdown("boundary", groups, about, differences=False)

    def _by_ranges(self, by: str, chosen: Mapping[str, SpoofedRanges], differences: bool) -> Breakdown:
        """Measure each selection of spoofed ranges against all bona fide time."""
        self._vary_within(by)
        work = partial(_range_totals, self.plan, list(chosen.values()), self.point, self.corpus.lay_sides)
        totals = self.corpus.merged(work, np.add, "groups").tolist()
        there = {name: row for name, row in zip(chosen, totals, strict=True) if row[0]}
        groups = []
        for name, lay in zip(there, self._lay([chosen[name] for name in there]), strict=True):
            utterances, spoof, missed = there[name]
            found = self._try_on(name, lay)
            error = 0 if found[0] is None else missed, self.totals.false_negative
            groups.append(_group(name, utterances, (self.totals.bona_fide, spoof), error, found))
        whose = f"each {by} is measured against all bona fide time"
        about = f"{whose}; errors here are misses only: false alarms lie in no spoofed range"
        return self._breakdown(by, groups, about, differences)

    def _vary_within(self, by: str) -> None:
        """Take intervals over what varies within a group: for each attack over speakers, not over attacks."""
        self.resampling = self.options.resampling and self.options.resampling.within([by])
        self.parts = {}  # differences are between the groups of one breakdown

    def _lay(self, selections: Sequence[Selection]) -> Sequence[LayLater]:
        return self.corpus.lay([replace(self.plan, selection=one) for one in selections], signed=False)

    def _try_on(self, name: str, lay: LayLater) -> tuple[Measurement | None, str]:
        """Measure a part of the corpus, or return the reason for having no value."""
        try:
            planned = lay()
            with quietly():
                found = planned.measured()
        except UndefinedMeasureError as error:
            return None, reason_of(error)
        return self._with_interval(name, planned, found), ""

    def _with_interval(self, name: str, planned: PlannedMass, found: Measurement) -> Measurement:
        if self.resampling is None:
            return found
        from spoofspan.uncertainty.spreads import interval_of_system

        self.parts[name] = planned.system(Value(found.value, found.point))
        try:
            with quietly():  # small groups are cautioned in their intervals
                return replace(found, interval=interval_of_system(self.parts[name], self.resampling))
        except (UndefinedMeasureError, UsageError) as error:  # one cluster only, or replicates without a class
            return replace(found, notes=(*found.notes, f"no interval: {reason_of(error)}"))

    def _breakdown(self, by: str, groups: Sequence[Group], about: str, differences: bool) -> Breakdown:
        whole = by, str(self.plan.measure), self.point.threshold, tuple(groups), about
        how = self.resampling
        if not differences or how is None or how.draws or len(self.parts) < 2:
            return Breakdown(*whole)
        from spoofspan.uncertainty.comparison import MeasuredGroups

        found = MeasuredGroups.of(self.parts, self.planned.mass.utterances, how)
        sample = found.as_sample("attack") if by == "attack" and "attack" not in how.factors else None
        return Breakdown(*whole, found.differences(), sample)


def check_measure_of_ranges(measure: str) -> Measure:
    """Parse a measure of ranges; other measures are refused, since groups are in seconds."""
    parsed = Measure.parse(measure)
    if parsed.basis != "range":
        raise UsageError(
            f"{measure}: a breakdown by attack, length or boundary is in seconds, so its measure is one of ranges; "
            "take range-eer first, or group whole utterances by a column of metadata (--by attack --metadata FILE)"
        )
    return parsed


def _range_totals(plan: Plan, selections: Sequence[SpoofedRanges], at: OperatingPoint, lay: Lay, shard: Shard) -> Int64:
    """A row for each selection: number of utterances, duration of its ranges and missed time (ns)."""
    references, scores = shard
    if references is None:
        return np.zeros((len(selections), 3), np.int64)
    missed = [0] * len(selections)
    if scores is not None:
        with suppress(NothingToMeasureError):
            laid = plan.laid(references, scores, lay)
            cut = SpoofCut.of(references, laid)
            missed = cut.missed(selections, references, laid, at)
    rows = [(*one.extent(references), amount) for one, amount in zip(selections, missed, strict=True)]
    return np.array(rows, np.int64).reshape(-1, 3)


def _error(at: OperatingPoint) -> int:
    """False positive and false negative time (ns)."""
    return at.false_positive + at.false_negative


def _group(
    name: str, utterances: int, times: tuple[int, int], error: tuple[int, int], found: tuple[Measurement | None, str]
) -> Group:
    """Make a group of its bona fide and spoofed time (ns), its error and the total error, its value or the reason."""
    share = error[0] / error[1] if error[1] else float("nan")
    return Group(name, utterances, times[0] / 1e9, times[1] / 1e9, error[0] / 1e9, share, *found)

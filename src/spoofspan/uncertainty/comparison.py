"""Comparison of systems: significance of their differences, and their ranks.

All systems are measured on the same clusters. A difference is ``first - second``: for an error rate, negative
means that the first system is better.

A p-value and the interval of a difference come from one construction, so that they cannot disagree: p is under
1 - confidence if and only if the interval does not hold 0. By the jackknife both come from the same t; by percentiles
or BCa, p is the interval inverted. Of several pairs, p is also given adjusted for their number
(:mod:`spoofspan.uncertainty.max_t`), which keeps the chance of any false claim among them at the level. From all pairs
follow the systems' ranks (:mod:`spoofspan.uncertainty.ranks`).

A test sees the scores of a system only through its values, so an increasing map of one system's scores changes no p.
That is why scores of two systems are never swapped: they have no common scale.

A system may have several trainings. Its value is then the mean over its seeds, and intervals and tests hold for other
trainings as well as for other test sets (:mod:`spoofspan.uncertainty.seeds`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from spoofspan.base.columns import Flags
from spoofspan.base.errors import UndefinedMeasureError, UsageError, nearest_name, quietly, reason_of
from spoofspan.base.plain_results import NearAttributes
from spoofspan.base.progress import progress
from spoofspan.base.tabular import Tabular
from spoofspan.data.front_door import check_references, check_systems, opens_inputs, training_name
from spoofspan.data.references import References
from spoofspan.data.utterance_scores import VerificationScores
from spoofspan.evaluation.breakdown import DISTANCES, LENGTHS, check_measure_of_ranges
from spoofspan.evaluation.corpus import corpus_of
from spoofspan.evaluation.crossed import ColumnGroups, Columns, check_column, verification_in
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.evaluation.selections import (
    NAMED_ALREADY,
    attacks_in,
    ranges_by_attack,
    ranges_by_length,
    ranges_by_share,
    ranges_by_value,
    spoofed_shares,
)
from spoofspan.measures.measure import Measure
from spoofspan.measures.operating_point import Threshold
from spoofspan.uncertainty.clusters import Resampling
from spoofspan.uncertainty.families import Family, Systems, Task, Trainings
from spoofspan.uncertainty.fragility import Fragility, fragility_of
from spoofspan.uncertainty.jackknife import positive_semidefinite
from spoofspan.uncertainty.left_out import LeftOut
from spoofspan.uncertainty.max_t import MarginTest, adjusted_p_values, margin_tests
from spoofspan.uncertainty.measured_system import (
    BootstrapArguments,
    Measured,
    SignedSystems,
    clusters_of,
    leave_out,
    signers_of,
    split_arguments,
)
from spoofspan.uncertainty.random_units import UnitSpread, over_units
from spoofspan.uncertainty.ranks import Rank, ranks
from spoofspan.uncertainty.sentences import comparison_sentence
from spoofspan.uncertainty.spreads import Interval, JackknifeSpread

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.evaluation.resolution_table import ResolutionTable
    from spoofspan.evaluation.utterances import Truth

# Stands for the system with the best value.
BEST = "best"
# Groups of time, with a remark on each.
PARTS_IN_TIME = {
    "attack": "the spoofed ranges of each attack are measured against all bona fide time",
    "length": "spoofed ranges of each length are measured against all bona fide time",
    "share": "spoofed ranges of utterances with each share of spoofed time are measured against all bona fide time",
    "boundary": "each row: the time farther than that from any boundary",
}
# The options of a group, and its utterances (None: all).
Part = Callable[[], tuple[EvaluationOptions, Sequence[str] | None]]


@dataclass(frozen=True)
class Difference(NearAttributes):
    """The difference of two systems, first - second."""

    first: str
    second: str
    interval: Interval
    p_value: float
    adjusted_p_value: float  # for the number of comparisons; against the best: of being among the best
    margin: MarginTest | None = None
    fragility: tuple[Fragility, ...] = ()

    @property
    def value(self) -> float:
        """The difference."""
        return self.interval.estimate

    @property
    def within_margin(self) -> str | None:
        """The verdict by the margin: "equivalent", or the system that is not worse."""
        level = 1 - self.interval.level
        return None if self.margin is None else self.margin.verdict(self.first, self.second, level)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "first": self.first,
            "second": self.second,
            "difference": self.value,
            "low": self.interval.low,
            "high": self.interval.high,
            "p_value": self.p_value,
            "adjusted_p_value": self.adjusted_p_value,
            **_of_these_attacks(self.interval),
            **({"fragility": [one.to_dict() for one in self.fragility]} if self.fragility else {}),
            **({} if self.margin is None else {"margin": {**self.margin.to_dict(), "verdict": self.within_margin}}),
        }


@dataclass(frozen=True, kw_only=True)
class Comparison(SignedSystems, Tabular):
    """Several systems on one corpus: the value of each, and the difference of every pair.

    Parameters
    ----------
    measure
        The measure.
    direction
        The direction of better values, ``"lower"`` or ``"higher"``.
    test
        The origin of the p-values.
    intervals
        System -> its value with an interval.
    differences
        First - second of every pair of systems; with ``against``, of each system and that one.
    compared
        The number of comparisons for which p-values are adjusted.
    against
        The system that all others were compared with; None: every pair.
    ranks
        The rank of each system with its interval, the best value first; none if only one system was compared with the
        others.
    among_best
        With ``against="best"``: the systems that may be the best, at the level of confidence.
    best_corrected
        The best value without the optimism of having been chosen; None without ``ranks`` of three systems or more.
    trainings
        System -> seed -> value, of systems with several.
    cautions
        Cautions about all comparisons, see :attr:`warnings`.
    signers
        System (and seed) -> a function that signs its value, see :attr:`signatures`.

    Examples
    --------
    See :func:`spoofspan.compare`.

    """

    measure: str
    direction: Literal["lower", "higher"]  # is better
    test: str
    intervals: Mapping[str, Interval]
    differences: tuple[Difference, ...]
    compared: int = 1
    against: str | None = None
    ranks: tuple[Rank, ...] = ()
    among_best: tuple[str, ...] = ()
    best_corrected: float | None = None
    trainings: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    cautions: tuple[str, ...] = ()

    def better(self, difference: Difference) -> str | None:
        """The better of two systems at the level of the intervals; None: undecided."""
        return better_of(difference, self.direction)

    @property
    def verdict(self) -> str:
        """Verdict in one sentence."""
        return comparison_sentence(self)

    @property
    def estimand(self) -> str:
        """Scope of intervals and tests, in words."""
        found = (*(one.interval for one in self.differences), *self.intervals.values())
        return found[0].estimand

    @property
    def of_one_training(self) -> bool:
        """True if every system has one training, so that intervals do not cover other seeds."""
        return bool(self.signers) and not self.trainings

    @property
    def warnings(self) -> tuple[str, ...]:
        """Cautions about intervals and p-values, each once."""
        found = (*self.intervals.values(), *(one.interval for one in self.differences))
        return tuple(dict.fromkeys((*(text for one in found for text in one.warnings), *self.cautions)))

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each difference: its interval, its p-values, and the better system."""
        return [
            {"measure": self.measure, "first": one.first, "second": one.second, "difference": one.value}
            | {"low": one.interval.low, "high": one.interval.high, "p_value": one.p_value}
            | {"adjusted_p_value": one.adjusted_p_value, "better": self.better(one)}
            | _of_these_attacks(one.interval)
            | self._within_margin(one)
            for one in self.differences
        ]

    def _within_margin(self, one: Difference) -> dict[str, Any]:
        if one.margin is None:
            return {}
        return {**one.margin.to_dict(), "within_margin": one.within_margin}

    def __repr__(self) -> str:
        values = ", ".join(f"{name} {one.estimate:.4g}" for name, one in self.intervals.items())
        return f"Comparison({self.measure}: {values})"

    def _repr_html_(self) -> str:
        """Two tables, for notebooks."""
        from spoofspan.report.verdicts import comparison_tables

        return "\n".join(table.render("html") for table in comparison_tables(self, signatures=False))

    def __getitem__(self, pair: tuple[str, str] | str) -> Difference:
        for difference in self.differences:
            if (difference.first, difference.second) == pair:
                return difference
        names = list(self.intervals)
        if pair in names:
            raise UsageError(f"{pair!r} is one system, whose value is in .intervals[{pair!r}]; a pair has a difference")
        pairs = ", ".join(repr((one.first, one.second)) for one in self.differences[:6])
        raise UsageError(f"there is no pair {pair!r}; the pairs are {pairs}{', ...' * (len(self.differences) > 6)}")

    def __str__(self) -> str:
        some = next(iter(self.intervals.values()))
        lines = [self.verdict, f"{self.measure} ({self.direction} is better); {self.test}; {some.how}"]
        lines += [
            f"{name}: {one.estimate:.5g} ({one.low:.5g} to {one.high:.5g})" for name, one in self.intervals.items()
        ]
        adjusted = self.compared > 1
        lines += [
            f"{one.first} - {one.second}: {one.value:+.5g} ({one.interval.low:+.5g} to {one.interval.high:+.5g}), "
            f"p = {one.p_value:.4g}" + (f", adjusted {one.adjusted_p_value:.4g}" if adjusted else "")
            for one in self.differences
        ]
        if len(self.ranks) > 2:
            lines += [f"rank of {one.system}: {one.low} to {one.high}, group {one.groups}" for one in self.ranks]
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "measure": self.measure,
            "direction": self.direction,
            "test": self.test,
            "against": self.against,
            "compared": self.compared,
            "estimand": self.estimand,
            "verdict": self.verdict,
            "systems": [
                {"system": name, "value": one.estimate, "interval": one.to_dict(), **self._signed(name)}
                for name, one in self.intervals.items()
            ],
            "differences": [{**one.to_dict(), "better": self.better(one)} for one in self.differences],
            "ranks": [one.to_dict() for one in self.ranks],
            "among_best": list(self.among_best),
            "best_corrected": self.best_corrected,
            "warnings": list(self.warnings),
        }

    def _signed(self, name: str) -> dict[str, Any]:
        """The signature of a system, or of each of its trainings."""
        if name not in self.trainings:
            return {"signature": self.signatures[name].to_dict()}
        seeds = [
            {"seed": seed, "value": value, "signature": self.signatures[training_name(name, seed)].to_dict()}
            for seed, value in self.trainings[name].items()
        ]
        return {"seeds": seeds}


def _of_these_attacks(interval: Interval) -> dict[str, float]:
    """Both ends for these attacks, if the interval is for new ones."""
    fixed = interval.these_attacks
    return {} if fixed is None else {"these_attacks_low": fixed.low, "these_attacks_high": fixed.high}


def better_of(difference: Difference, direction: Literal["lower", "higher"]) -> str | None:
    """The better of two systems; None if they do not differ significantly."""
    if not difference.adjusted_p_value < 1 - difference.interval.level or not difference.value:
        return None
    first_is = (difference.value < 0) == (direction == "lower")
    return difference.first if first_is else difference.second


@opens_inputs
def compare(
    references: Truth,
    systems: Mapping[str, Trainings],
    measure: str | Measure = "range-eer",
    *,
    thresholds: Mapping[str, Threshold] | None = None,
    against: str | None = None,
    margin: float | None = None,
    fragility: bool = False,
    unpaired: bool = False,
    **arguments: Unpack[BootstrapArguments],
) -> Comparison:
    """Compare every pair of two or more systems on the same clusters.

    Parameters
    ----------
    references
        Reference labels; for scores of whole utterances also a protocol, or a label by utterance.
    systems
        Name -> scores, proposals for event measures, or scores of whole utterances for measures of utterances; with
        several trainings, name -> seed -> one of these.
    measure
        As ``"range-eer"``, or ``"utterance-eer"``.
    thresholds
        For a measure at a threshold only: one for each system (a number, or a measurement with a threshold), chosen
        beforehand on other data.
    against
        Compare all other systems with this one only, or with the ``"best"``: then the adjusted p of a system is that of
        being among the best.
    margin
        The smallest difference that matters, as 0.005: also test for equivalence, and that no system is worse by it.
    fragility
        Also find the few speakers (or attacks, ...) without which each verdict is lost, by comparing again.
    unpaired
        Measure each system on its own utterances, even if others lack them.
    **arguments
        As in :func:`~spoofspan.interval`.

    Returns
    -------
    Comparison

    Raises
    ------
    UsageError
        If the systems are measured under different rules, or on different utterances.

    Examples
    --------
    >>> import spoofspan.demo
    >>> corpus = spoofspan.demo.load()
    >>> found = compare(corpus.references, {"A": corpus.systems[0.02], "B": corpus.systems[0.64]})
    >>> found["A", "B"].value < 0, found["A", "B"].p_value < 0.05
    (True, True)

    """
    given = {str(measure): thresholds} if thresholds is not None else {}
    how: dict[str, Any] = {"against": against, "margin": margin, "fragility": fragility, "unpaired": unpaired}
    how |= arguments
    (found,) = compare_measures(references, systems, [measure], thresholds=given, **how)
    return found


@opens_inputs
def compare_measures(
    references: Truth,
    systems: Mapping[str, Trainings],
    measures: Sequence[str | Measure],
    *,
    thresholds: Mapping[str, Mapping[str, Threshold]] | None = None,
    against: str | None = None,
    margin: float | None = None,
    fragility: bool = False,
    one_family: bool = False,
    unpaired: bool = False,
    **arguments: Unpack[BootstrapArguments],
) -> tuple[Comparison, ...]:
    """Compare systems by several measures.

    Parameters
    ----------
    references, systems, against, margin, fragility, unpaired
        As in :func:`compare`.
    measures
        As ``["range-eer", "point-eer@20ms"]``.
    thresholds
        Measure -> system -> threshold.
    one_family
        Adjust p-values for the comparisons of all measures together, so that no verdict by any of them is wrong, at the
        level of confidence. By default, each measure is a family of its own.
    **arguments
        As in :func:`~spoofspan.interval`.

    Returns
    -------
    tuple of Comparison
        One for each measure.

    """
    how, options = split_arguments(arguments)
    if margin is not None and not margin > 0:
        raise UsageError(f"margin={margin!r}: must be above 0, the smallest difference that matters")
    if one_family and against == BEST:
        raise UsageError("the best system may be another one by each measure; leave one_family= (--one-family) out")
    measured = Systems(references, systems, options, how, thresholds or {}, unpaired)
    found = _compared(measured, measures, against, margin, one_family=one_family)
    if not fragility:
        return found
    return tuple(_with_fragility(one, measured, wanted) for one, wanted in zip(found, measures, strict=True))


def _with_fragility(found: Comparison, systems: Systems, measure: str | Measure) -> Comparison:
    """Add the fragility of each verdict to a comparison."""

    def tested(one: Difference) -> Difference:
        if found.better(one) is None:
            return one
        pair = systems.only((one.first, one.second))

        def remeasure(utterances: Sequence[str]) -> Task:
            return replace(pair, utterances=utterances).task(measure)

        return replace(one, fragility=fragility_of(pair.task(measure), (0, 1), remeasure))

    return replace(found, differences=tuple(tested(one) for one in found.differences))


def letters_of(
    references: Truth,
    systems: Mapping[Any, Trainings],
    table: ResolutionTable,
    arguments: Mapping[str, Any],
) -> dict[str, dict[str, str]]:
    """Letters for the columns of a table: systems that share a letter do not differ significantly by that measure.

    Measures at a threshold have none, since the threshold of a table is chosen on the test set itself.

    Parameters
    ----------
    references, systems
        The inputs of the table.
    table
        A table of at least two systems.
    arguments
        As in :func:`~spoofspan.interval`.

    Returns
    -------
    dict
        Measure -> row -> letters.

    """
    columns = [column for column, _ in table.rows[0].cells if not Measure.parse(column).at_threshold]
    if len(table.rows) < 2 or not columns:
        raise UsageError("letters compare systems by measures without a threshold; give at least two systems")
    order = list(systems) if isinstance(next(iter(systems)), str) else sorted(systems)
    named = {row.name: systems[key] for row, key in zip(table.rows, order, strict=True)}
    single = {name: one[""] if isinstance(one, Mapping) and list(one) == [""] else one for name, one in named.items()}
    with progress("comparing systems"):
        found = compare_measures(references, single, columns, **arguments)
    return {
        column: {one.system: one.groups for one in comparison.ranks}
        for column, comparison in zip(columns, found, strict=True)
    }


@dataclass(frozen=True)
class GroupedComparison(Tabular):
    """Systems compared on each group of utterances, such as each attack.

    Parameters
    ----------
    by
        The noun for a group.
    measure
        The measure.
    groups
        Group -> its comparison. P-values are adjusted within each group.
    reasons
        Group -> the reason for having none.
    about
        A remark on the utterances of a group.

    Examples
    --------
    See :func:`spoofspan.groups.compare_groups`.
    """

    by: str
    measure: str
    groups: Mapping[str, Comparison]
    reasons: Mapping[str, str]
    about: str

    def __getitem__(self, group: str) -> Comparison:
        return self.groups[group]

    def __repr__(self) -> str:
        return f"GroupedComparison({self.measure} by {self.by}: {len(self.groups)} groups)"

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each difference in each group."""
        return [{self.by: name, **row} for name, one in self.groups.items() for row in one.to_rows()]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        groups = [{"group": name, **one.to_dict()} for name, one in self.groups.items()]
        reasons = [{"group": name, "reason": text} for name, text in self.reasons.items()]
        return {"by": self.by, "measure": self.measure, "groups": groups, "without_value": reasons}


@opens_inputs
def compare_groups(
    references: Truth,
    systems: Mapping[str, Trainings],
    column: Mapping[str, str] | Columns | str,
    measure: str | Measure = "range-eer",
    *,
    name: str = "group",
    thresholds: Mapping[str, Threshold] | None = None,
    against: str | None = None,
    unpaired: bool = False,
    **arguments: Unpack[BootstrapArguments],
) -> GroupedComparison:
    """Compare systems on each group of utterances, or on the spoofed ranges of each attack.

    Parameters
    ----------
    references, systems, measure, thresholds, against, unpaired
        As in :func:`spoofspan.compare`.
    column
        The group of each utterance (:func:`spoofspan.read_metadata`). With measures of utterances, a column that
        separates bona fide from spoof, such as attacks, leaves every group with all bona fide utterances. Several
        columns by their names are crossed. With measures of ranges also ``"attack"``, ``"length"`` or ``"share"`` (the
        spoofed ranges of each against all bona fide time, as with a column ``attack``) and ``"boundary"`` (the time
        beyond a distance from any boundary).
    name
        The noun for a group, such as ``"attack"``.
    **arguments
        As in :func:`~spoofspan.interval`. A group takes its own trials of ``asv_scores``.

    Returns
    -------
    GroupedComparison

    Examples
    --------
    >>> import numpy as np
    >>> from spoofspan.data.utterance_scores import UtteranceScores
    >>> attacks = {f"u{i}": ("-", "A01", "A02")[i % 3] for i in range(90)}
    >>> labels = {utterance: "bonafide" if attack == "-" else "spoof" for utterance, attack in attacks.items()}
    >>> drawn = np.random.default_rng(0).normal(size=(2, 90)) + [label == "bonafide" for label in labels.values()]
    >>> systems = {name: UtteranceScores(tuple(labels), one, "bonafide") for name, one in zip("ab", drawn)}
    >>> list(compare_groups(labels, systems, attacks, "utterance-eer", name="attack").groups)
    ['A01', 'A02']

    """
    how, options = split_arguments(arguments)
    check_systems(systems)
    wanted = Measure.parse(measure)
    if column == "share" and wanted.basis != "range":
        column = {"share": spoofed_shares(_ranges_of(references))}
    columns = {} if isinstance(column, str) else _as_columns(column, name)
    if isinstance(column, str) or (wanted.basis == "range" and [*columns] == ["attack"]):
        name = column if isinstance(column, str) else "attack"
        if columns and getattr(references, "attacks", None) is not None:
            raise UsageError(NAMED_ALREADY)
        parts, about = _parts_in_time(references, wanted, options, name, columns.get(name)), PARTS_IN_TIME[name]
    else:
        parts, about = _parts_of_utterances(references, systems, wanted, options, columns)
        name = ",".join(columns)
    how = how.within(name.split(","))
    groups: dict[str, Comparison] = {}
    reasons: dict[str, str] = {}
    given = {str(measure): thresholds} if thresholds is not None else {}
    for value, part in parts.items():
        try:
            own, chosen = part()
            with quietly():  # small groups are cautioned in their intervals
                part_of_systems = Systems(references, systems, own, how, given, unpaired, chosen)
                (groups[value],) = _compared(part_of_systems, [measure], against)
        except (UndefinedMeasureError, UsageError) as error:  # without a class, or with one cluster only
            reasons[value] = reason_of(error)
            if len(reasons) == len(parts):
                raise
    return GroupedComparison(name, str(wanted), groups, reasons, about)


def _as_columns(column: Mapping[str, str] | Columns, name: str) -> Columns:
    """Columns by their names; a single one has the ``name``."""
    several = all(isinstance(one, Mapping) for one in column.values()) and bool(column)
    return cast("Columns", column) if several else {name: cast("Mapping[str, str]", column)}


def _parts_of_utterances(
    references: Truth,
    systems: Mapping[str, Trainings],
    wanted: Measure,
    options: EvaluationOptions,
    columns: Columns,
) -> tuple[dict[str, Part], str]:
    """The groups by the values of one or several columns, and a remark on them."""
    first: Any = next(iter(systems.values()))
    corpus = corpus_of(references, next(iter(first.values())) if isinstance(first, Mapping) else first)
    classes = corpus.classes()
    utterances = list(classes)
    labels = np.array(list(classes.values()), np.int8) if wanted.basis == "utterance" else None
    each = [ColumnGroups.of(name, one, utterances, labels) for name, one in columns.items()]
    real = [one.name for one in each if one.against_all is not None]

    def part(place: Mapping[str, str], chosen: Flags) -> tuple[EvaluationOptions, list[str]]:
        own = options
        if isinstance(options.asv_scores, VerificationScores):
            own = replace(options, asv_scores=verification_in(options.asv_scores, columns, place, real))
        return own, [utterances[i] for i in np.flatnonzero(chosen).tolist()]

    parts: dict[str, Part] = {}
    for values in product(*(one.names for one in each)):
        chosen = np.logical_and.reduce([one.rows_of(value) for one, value in zip(each, values, strict=True)])
        if chosen.any():
            parts[",".join(values)] = partial(part, dict(zip(columns, values, strict=True)), chosen)
    name = ",".join(columns)
    if real:
        return parts, f"each {','.join(real)} is measured against all bona fide"
    return parts, f"each {name} is of its own utterances alone"


def groups_in_time(by: str, references: Truth, measure: str | Measure) -> bool:
    """True if the groups of a measure need no column: in time, or by attacks that the references name."""
    named = by != "attack" or (
        Measure.parse(measure).basis == "range" and getattr(references, "attacks", None) is not None
    )
    return by in PARTS_IN_TIME and named


def _parts_in_time(
    references: Truth, wanted: Measure, options: EvaluationOptions, by: str, column: Mapping[str, str] | None = None
) -> dict[str, Part]:
    """The groups of spoofed ranges by attack, length or share, or of time by its distance from boundaries.

    A ``column`` has the attack of every utterance, if the references do not name attacks.
    """
    if by not in PARTS_IN_TIME:
        raise UsageError(f"no groups by {by!r}: {nearest_name(by, PARTS_IN_TIME)}; or give a column")
    check_measure_of_ranges(str(wanted))
    truth = _ranges_of(references)
    if by == "boundary":
        collars = {f"beyond {one * 1000:g} ms": {**options.rules, "collar": one} for one in DISTANCES}
        found = {name: replace(options, rules=rules) for name, rules in collars.items()}
    else:
        if column is not None:
            check_column("attack", column, truth.utterances)
            chosen = ranges_by_value(column)
        elif by == "attack":
            chosen = ranges_by_attack(attacks_in(truth))
        else:
            chosen = ranges_by_share() if by == "share" else ranges_by_length(LENGTHS)
        found = {name: replace(options, selection=one) for name, one in chosen.items() if one.extent(truth)[0]}
    return {name: partial(lambda own: (own, None), own) for name, own in found.items()}


def _ranges_of(references: Truth) -> References:
    """Check for references in time, which groups of spoofed ranges need."""
    check_references(references)
    return cast("References", references)


def _compared(
    systems: Systems,
    measures: Sequence[str | Measure],
    against: str | None,
    margin: float | None = None,
    *,
    one_family: bool = False,
) -> tuple[Comparison, ...]:
    """Compare systems by several measures."""
    names = systems.systems
    check_systems(names)
    if len(names) < 2:
        raise UsageError("compare at least two systems; for one, interval gives an interval")
    if against is not None and against not in (*names, BEST):
        raise UsageError(f"against={against!r}: no such system; {nearest_name(against, (*names, BEST))}")
    wanted = [Measure.parse(one) for one in measures]
    systems.options.refuse_proposing_without_events(wanted)
    for one in wanted:
        one.kind.ranked_by()  # or refused
    tasks = [systems.task(one) for one in measures]
    families = [tasks] if one_family else [[task] for task in tasks]
    return tuple(
        _comparison(family, number, against, margin)
        for family in (_family(one, against) for one in families)
        for number in range(len(family.tasks))
    )


def _family(tasks: Sequence[Task], against: str | None) -> Family:
    """Test every pair, or each system against one."""
    names = list(tasks[0].rows)
    if against is None:
        return Family.of(tasks, list(combinations(range(len(names)), 2)))
    one, best = against, None
    if against == BEST:
        values, direction = tasks[0].values, tasks[0].measure.kind.ranked_by()
        one = (min if direction == "lower" else max)(values, key=lambda name: values[name])
        best = names.index(one)
    place = names.index(one)
    return Family.of(tasks, [(other, place) for other in range(len(names)) if other != place], best)


def compare_left_out(
    measure: Measure,
    values: Mapping[str, float],
    left_out: Sequence[LeftOut],
    how: Resampling,
    against: str | None = None,
) -> Comparison:
    """Compare systems from their values without each cluster; a single system is ranked."""
    rows = {name: [place] for place, name in enumerate(values)}
    spread = JackknifeSpread.from_left_out(measure, how, list(values.values()), left_out)
    task = Task(measure, {}, rows, {name: [] for name in rows}, spread)
    return _comparison(_family([task], against), 0, against)


def _comparison(family: Family, number: int, against: str | None, margin: float | None = None) -> Comparison:
    """The comparison by one measure of a family."""
    task = family.tasks[number]
    names, direction, how = list(task.rows), task.measure.kind.ranked_by(), task.spread.how
    tests: Sequence[MarginTest | None] = [None] * len(family.pairs)
    if margin is not None:
        tests = margin_tests(margin, [task.not_worse(pair, margin) for pair in family.pairs])
    found_of_pairs = zip(family.pairs, family.tested[number], family.adjusted[number], tests, strict=True)
    differences = [
        Difference(names[i], names[j], one, p, adjusted, test) for (i, j), (one, p), adjusted, test in found_of_pairs
    ]
    ranked: tuple[Rank, ...] = ()
    among_best: tuple[str, ...] = ()
    if against is None:
        found = [(one, better_of(one, direction)) for one in differences]
        verdicts = [(better, one.second if better == one.first else one.first) for one, better in found if better]
        ranked = ranks(task.values, verdicts, direction)
    elif against == BEST:
        against = names[family.pairs[0][1]]
        among_best = (against, *(one.first for one in differences if better_of(one, direction) is None))
    intervals = {name: task.interval(name) for name in names}
    return Comparison(
        measure=task.spread.measure,
        direction=direction,
        test=how.chosen.test,
        intervals=intervals,
        differences=tuple(differences),
        compared=family.compared,
        against=against,
        ranks=ranked,
        among_best=among_best,
        best_corrected=_best_corrected(task) if len(ranked) > 2 or among_best else None,
        trainings={
            name: dict(zip(seeds, task.spread.estimates[task.rows[name]].tolist(), strict=True))
            for name, seeds in task.seeds.items()
            if seeds
        },
        cautions=tuple(family.cautions),
        signers=signers_of(task.measured),
    )


def _best_corrected(task: Task) -> float | None:
    """The best value without its optimism; None if intervals are refused."""
    return None if task.interval(next(iter(task.rows))).refused else task.best_corrected()


# ---------------------------------------------------------------- groups of one corpus


@dataclass(frozen=True, eq=False)
class MeasuredGroups:
    """Groups of one corpus by name (attacks, speakers, lengths), measured without each cluster of the corpus.

    All clusters are left out of every group in turn: values of groups are correlated by speakers that are in several
    groups, and by bona fide time that several attacks are measured against. Leaving out a cluster that a group does not
    have does not change its value. Only the jackknife does this, since replicates of a small group may lack a class.
    """

    measure: Measure
    values: Mapping[str, float]
    left_out: Sequence[LeftOut]  # of each group
    how: Resampling

    @classmethod
    def of(cls, groups: Mapping[str, Measured], utterances: Sequence[str], how: Resampling) -> MeasuredGroups:
        """Leave the clusters of all ``utterances`` of the corpus out of each group."""
        clusters, some = clusters_of(groups.values(), how, utterances), next(iter(groups.values()))
        values = {name: float(one.value) for name, one in groups.items()}
        return cls(some.measure, values, [leave_out(one, clusters) for one in groups.values()], how)

    def _spread(self, chosen: Sequence[int]) -> JackknifeSpread:
        values = list(self.values.values())
        left_out = [self.left_out[i] for i in chosen]
        return JackknifeSpread.from_left_out(self.measure, self.how, [values[i] for i in chosen], left_out)

    def differences(self) -> tuple[Difference, ...]:
        """The difference of every pair of groups, first - second, with p-values for all of them together."""
        names = list(self.values)
        pairs = list(combinations(range(len(names)), 2))
        found = [self._spread(pair).difference(0, 1) for pair in pairs]
        degrees = [one.degrees_of_freedom for one, p in found if one.degrees_of_freedom is not None and not np.isnan(p)]
        covariance = positive_semidefinite(np.nan_to_num(self._spread(range(len(names))).jackknife.covariance))
        middle = float(np.median(degrees)) if degrees else float("inf")
        adjusted = adjusted_p_values([p for _, p in found], pairs, covariance, middle, self.how.seed)
        return tuple(
            Difference(names[i], names[j], one, p, after)
            for (i, j), (one, p), after in zip(pairs, found, adjusted, strict=True)
        )

    def as_sample(self, unit: str) -> UnitSpread:
        """The mean over the groups as a sample, and the prediction of a new one."""
        count = len(self.values)
        return over_units(self.values, np.eye(count), self._spread(range(count)), unit)

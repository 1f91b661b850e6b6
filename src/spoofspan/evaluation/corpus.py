"""Corpora to evaluate: in memory, in shards, on a cluster, or as scores of whole utterances.

::

    measures ──parse──▶ Measure ──plan──▶ Plan ──a corpus lays it──▶ PlannedMass ──▶ Measurement ──▶ Evaluation

All corpora share the loop of :meth:`Corpus.evaluate`, groups, tables of cells and the systems that intervals measure
again. They differ in the way in which they make masses of plans (:meth:`Corpus.lay`): with all data in memory, or by
passes over shards. :func:`corpus_of` makes a corpus of any labels and any scores in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from operator import add, or_
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast

from spoofspan.base.columns import positions
from spoofspan.base.errors import (
    NothingToMeasureError,
    SpoofspanWarning,
    UndefinedMeasureError,
    UsageError,
    nearest_name,
    reason_of,
    strangers,
    warn_user,
)
from spoofspan.base.progress import progress, track
from spoofspan.base.tabular import Tabular
from spoofspan.base.times import Int64
from spoofspan.base.version import __version__
from spoofspan.data.front_door import check_scores, check_sides, check_utterance_scores
from spoofspan.data.references import Labels, References
from spoofspan.data.rules import CONVENTIONS, RULES_VERSION, Touched
from spoofspan.data.scores import Higher, Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.cautions import refuse_strange_regions, with_cautions
from spoofspan.evaluation.measurement import Measurement
from spoofspan.evaluation.plan import EvaluationOptions, HashedInputs, OnUndefined, Plan, Undefined, no_point
from spoofspan.evaluation.signature import Signature, references_hash
from spoofspan.mass.ranges import LatestOverlay, Lay, Overlay
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.catalogue import EVENT, USUAL_OF_EVENTS
from spoofspan.measures.kind import Value
from spoofspan.measures.measure import Measure, flat_name, parse_measures
from spoofspan.measures.operating_point import OperatingPoint

if TYPE_CHECKING:
    from spoofspan.data.proposals import Proposals
    from spoofspan.evaluation.breakdown import Breakdown
    from spoofspan.evaluation.crossed import Columns, CrossedBreakdown
    from spoofspan.evaluation.events import EventEvaluation
    from spoofspan.evaluation.measurement import EventMeasurement
    from spoofspan.evaluation.utterances import Truth, UtteranceCorpus
    from spoofspan.evaluation.words import Words
    from spoofspan.measures.per_utterance import UtteranceErrors
    from spoofspan.uncertainty.clusters import Resampling
    from spoofspan.uncertainty.measured_system import Measured

# Ends a message about something that scores of whole utterances do not have.
NEEDS_TIME = "needs scores in time: give SCORES after REFERENCES"
ReadColumn = Callable[[str], Mapping[str, str]]
# Groups are cuts of time, matched events, or cells of a table of utterances (or points).
WayOfGroups = Literal["time", "events", "cells"]
Signer = Callable[[], Signature]
# References or scores are None where a shard has utterances on one side only.
Shard = tuple[References | None, Scores | None]
T = TypeVar("T")
Laid = tuple[ScoreMass, tuple[Touched, ...]]


class Events(Protocol):
    """Event measures of one system on one corpus."""

    def measured(self, measure: Measure) -> EventMeasurement:
        """Take one measure."""

    def ready(self, measure: Measure) -> Measured:
        """Measure one thing for intervals, which leave out its clusters."""


@dataclass(frozen=True)
class Evaluation(Tabular):
    """Several measurements of one system on one corpus, by name; :func:`spoofspan.evaluate` makes it.

    Parameters
    ----------
    measurements
        The measurements by the spelling of their measures.

    Examples
    --------
    >>> import spoofspan as ss
    >>> import spoofspan.demo
    >>> corpus = spoofspan.demo.load()
    >>> evaluation = ss.evaluate(corpus.references, corpus.systems[0.02], ["range-eer", "range-f1"])
    >>> len(evaluation), f"{evaluation['range-eer'].value:.4f}"
    (2, '0.0521')
    >>> sorted(evaluation.to_flat_dict())
    ['range_eer', 'range_eer_threshold', 'range_f1', 'range_f1_threshold']
    """

    measurements: Mapping[str, Measurement]

    def __getitem__(self, measure: str) -> Measurement:
        name = str(Measure.parse({flat_name(one): one for one in self.measurements}.get(measure, measure)))
        if name not in self.measurements:
            raise UsageError(f"{name} was not measured: {nearest_name(name, self.measurements)}")
        return self.measurements[name]

    def _meant(self, name: str) -> str | None:
        return next((f"evaluation[{one!r}]" for one in self.measurements if flat_name(one) == name), None)

    def __len__(self) -> int:
        return len(self.measurements)

    def __iter__(self) -> Iterator[str]:
        return iter(self.measurements)

    def get(self, measure: str, default: Measurement | None = None) -> Measurement | None:
        """The measurement of a measure, or a default."""
        return self.measurements.get(measure, default)

    def keys(self) -> Iterable[str]:
        """The measures, so that ``dict(evaluation)`` has the measurements."""
        return self.measurements.keys()

    def values(self) -> Iterable[Measurement]:
        """The measurements."""
        return self.measurements.values()

    def items(self) -> Iterable[tuple[str, Measurement]]:
        """Each measure with its measurement."""
        return self.measurements.items()

    def __repr__(self) -> str:
        return f"Evaluation({', '.join(f'{m.measure} {m.value_text}' for m in self.measurements.values())})"

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each measurement: value, threshold, rates, interval, signature."""
        names = ("measure", "value", "threshold", "false_positive_rate", "false_negative_rate", "utterances")
        return [
            {name: getattr(m, name) for name in names}
            | {end: None if m.interval is None else getattr(m.interval, end) for end in ("low", "high")}
            | m.signature.to_dict()
            for m in self.measurements.values()
        ]

    def __str__(self) -> str:
        return "\n".join(map(str, self.measurements.values()))

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        from spoofspan.report.results import results_table

        return results_table(self, signatures=False).render("html")

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: the content of a result file, in the shape of ``docs/schema/evaluation.json``."""
        versions = {"spoofspan": __version__, "rules_version": RULES_VERSION}
        return {**versions, "measurements": [m.to_dict() for m in self.measurements.values()]}

    def to_flat_dict(self) -> dict[str, float]:
        """Numbers by plain names, for a logger of experiments (MLflow, W&B, TensorBoard): ``log_metrics(flat)``.

        These are the values and their thresholds. Signatures state what the values may be compared with: log these
        too, as tags or parameters.
        """
        flat: dict[str, float] = {}
        for name, one in self.measurements.items():
            flat[flat_name(name)] = one.value
            if one.threshold == one.threshold:  # a value over all thresholds has none
                flat[f"{flat_name(name)}_threshold"] = one.threshold
        return flat


@dataclass(frozen=True, eq=False)
class PlannedMass:
    """The mass of a corpus, or of a part of it, under a plan.

    Parameters
    ----------
    plan, mass, touched
        The settings, the mass, and the amounts that rules touched.
    count
        The number of utterances; a mass in shards does not list them.
    signer
        Signs a value of it.
    errors_at
        The errors of each utterance at an operating point, for means over utterances.
    both_classes
        Whether the references list both classes; None where nothing lasts any time.
    classes
        The class of each utterance, if the mass does not have it: targets and non-targets of trials are bona fide.
    """

    plan: Plan
    mass: ScoreMass
    touched: Sequence[Touched]
    count: int
    signer: Signer
    errors_at: Callable[[OperatingPoint], UtteranceErrors] | None = None
    both_classes: bool | None = None
    classes: Labels | None = None

    def value(self) -> Value:
        """The value."""
        return self.plan.value(self.mass)

    def measured(self, undefined: Undefined = "raise") -> Measurement:
        """The value as a measurement."""
        if undefined not in ("raise", "nan"):
            raise UsageError(f"undefined={undefined!r}: valid: 'raise', 'nan'")
        plan, notes = self.plan, self.plan.notes
        cautions: tuple[str, ...] = ()
        try:
            found = self.value()
            if plan.measure.macro and found.point is not None and self.errors_at is not None:
                found, note = plan.mean(found.point, self.errors_at(found.point))
                notes = (*notes, note)
        except UndefinedMeasureError as error:
            refuse_strange_regions(plan.rules.regions, self.mass.utterances if plan.rules.regions else ())
            if undefined == "raise":
                raise
            found, cautions = Value(float("nan")), (str(error),)
        cautions = cautions or plan.measure.kind.cautions(plan, found)
        for caution in cautions:
            warn_user(f"{plan.measure}: {caution}", SpoofspanWarning)
        return Measurement(
            measure=str(plan.measure),
            value=float(found.value),
            point=no_point(self.mass) if found.point is None else found.point,
            neighbours=found.neighbours,
            eer_rule=plan.read_off,
            convention=plan.convention,
            rules=plan.rules,
            touched={entry.rule: entry for entry in self.touched},
            utterances=self.count,
            exact_value=found.value if isinstance(found.value, Fraction) else None,
            warnings=cautions,
            notes=notes,
            signer=self.signer,
        )

    def cautioned(self, undefined: Undefined = "raise", resampling: Resampling | None = None) -> Measurement:
        """The measurement of a whole corpus, with cautions, and with an interval if ``resampling`` is given."""
        found = self.measured(undefined)
        if self.both_classes is not None:
            found = with_cautions(found, self.plan, self.mass, both_classes=self.both_classes)
        if resampling is None:
            return found
        from spoofspan.uncertainty.spreads import interval_of_system

        interval = interval_of_system(self.system(Value(found.value, found.point)), resampling)
        known = self.mass.utterances
        notes = [text for name, of in resampling.factors.items() for text in strangers(f"a {name}", of, known)]
        return replace(found, interval=interval, notes=(*found.notes, *notes))

    def system(self, found: Value) -> Measured:
        """The measured system, for intervals."""
        from spoofspan.uncertainty.measured_system import MeasuredSystem

        return MeasuredSystem(self.plan, self.mass, float(found.value), self.signer, found.point)

    def take(self, chosen: Int64, plan: Plan | None = None) -> PlannedMass:
        """Some of the utterances, under another plan if one is given; their value has no signature of its own."""
        (part,) = self.mass.parts
        classes = None if self.classes is None else self.classes[chosen]
        mass = replace(self.mass, parts=(part.take(chosen),))
        return replace(self, plan=plan or self.plan, mass=mass, count=chosen.size, classes=classes)


LayLater = Callable[[], PlannedMass]


class Corpus(ABC):
    """Reference labels and system scores, in memory or elsewhere.

    A corpus plans a measure (:meth:`plan`) and makes masses of plans (:meth:`lay`). A group is a plan with a selection;
    a corpus in memory can also be restricted to some utterances (:meth:`take`). Work on all utterances is done shard by
    shard (:meth:`merged`); a corpus in memory is one shard.
    """

    @property
    def lay_sides(self) -> Lay:
        """The function that makes the overlay of a shard."""
        return Overlay.of

    @property
    @abstractmethod
    def higher(self) -> Higher:
        """Meaning of high scores."""

    @abstractmethod
    def default_measures(self, convention: str) -> list[str]:
        """Measures used if none is named."""

    @abstractmethod
    def plan(self, measure: Measure, options: EvaluationOptions) -> Plan:
        """Plan a measure; one that this corpus does not have is refused."""

    @abstractmethod
    def lay(self, plans: Sequence[Plan], *, signed: bool = True) -> Sequence[LayLater]:
        """For each plan, a function that makes its mass; plans share work."""

    def events(self, measures: Sequence[Measure], options: EvaluationOptions) -> Events:
        """The evaluator of event measures, which share their proposals."""
        raise UsageError(f"{measures[0]} {NEEDS_TIME}")

    def classes(self) -> Mapping[str, int]:
        """The class of each utterance: spoof, if any of it is."""
        raise UsageError("the classes of utterances are known of a corpus in memory; read it whole")

    def input_hashes(self) -> Mapping[str, str]:
        """Hashes of the inputs that are at hand, by their names in a signature."""
        return {}

    def take(self, utterances: Sequence[str]) -> Corpus:
        """The corpus of those of some utterances that it has."""
        raise UsageError("only a corpus in memory is cut into corpora; read it whole")

    def merged(self, work: Callable[[Shard], T], merge: Callable[[T, T], T], what: str) -> T:
        """Merge the results of all shards, in any order and grouping."""
        raise UsageError(f"{what} {NEEDS_TIME}")

    def attack_names(self) -> frozenset[str]:
        """The attacks that the references name, and ``(no attack)`` if some spoofed ranges have none."""
        found: frozenset[str] = self.merged(_attacks_of_shard, or_, "attacks")
        return found

    def knows_groups(self, by: str) -> bool:
        """True if groups need no column: groups in time, and attacks that the references name."""
        from spoofspan.evaluation.breakdown import BREAKDOWNS

        return by in BREAKDOWNS and (by != "attack" or bool(self.attack_names()))

    def errors(self, plan: Plan, at: OperatingPoint, own_rule: str | None = None) -> UtteranceErrors:
        """The errors of each utterance at an operating point; with ``own_rule``, also its own EER by that rule."""
        work = partial(_errors_of_shard, plan, at, own_rule, self.lay_sides)
        found: list[UtteranceErrors | str] = self.merged(work, add, "errors by utterance")
        errors = [one for one in found if not isinstance(one, str)]
        if not errors:
            raise NothingToMeasureError(str(found[0]), ())
        return errors[0].joined(errors)

    def errors_by_utterance(
        self, at: OperatingPoint, options: EvaluationOptions, *, own_eer: bool = False
    ) -> UtteranceErrors:
        """The errors of each utterance at an operating point, optionally with its own range EER."""
        plan = self.plan(Measure("range-eer" if own_eer else "range-hter"), replace(options, threshold=None))
        if not own_eer:
            return self.errors(plan, at)
        from spoofspan.measures.per_utterance import check_own_rule

        return self.errors(plan, at, check_own_rule(plan.eer_rule))

    def planned(self, measure: Measure, options: EvaluationOptions) -> PlannedMass:
        """The mass of one measure, which is not of events."""
        (lay,) = self.lay([self.plan(measure, options)], signed=options.signed)
        return lay()

    def measure(self, measure: Measure, options: EvaluationOptions, undefined: Undefined = "raise") -> Measurement:
        """Take one measure, which is not of events."""
        return self.planned(measure, options).cautioned(undefined, options.resampling)

    def ready(self, measure: Measure, options: EvaluationOptions) -> Measured:
        """Take one measure for intervals, which measure again under other weights of the clusters."""
        if measure.basis == EVENT:
            return self.events([measure], options).ready(measure)
        planned = self.planned(measure, options)
        if measure.macro:
            from spoofspan.uncertainty.measured_system import values_of_utterances
            from spoofspan.uncertainty.replicates import mean_of

            return planned.system(Value(mean_of(values_of_utterances(planned.plan, planned.mass))))
        return planned.system(planned.value())

    def way_of_groups(self, by: str, measure: str) -> WayOfGroups:
        """The way to measure groups by attack, length, share, boundary, a column, or two columns (``a,b``)."""
        basis = Measure.parse(measure).basis
        if "," in by or (by == "share" and basis != "range"):
            return "cells"
        if basis == EVENT:
            return "events" if self.knows_groups(by) else "cells"
        return "time" if basis == "range" or by in ("length", "boundary") else "cells"

    def groups(
        self,
        by: str,
        measure: str,
        options: EvaluationOptions,
        read_column: ReadColumn,
        *,
        way: WayOfGroups | None = None,
        words: Words | None = None,
    ) -> Breakdown | CrossedBreakdown:
        """Measure groups in the way that suits the measure, or in a given one; a column is read only if needed."""
        way = way or self.way_of_groups(by, measure)
        if way == "events":
            return self.group_events(by, measure, options, words)
        return (self.break_down if way == "time" else self.cross)(by, measure, options, read_column)

    def break_down(self, by: str, measure: str, options: EvaluationOptions, read_column: ReadColumn) -> Breakdown:
        """Groups in time by attack, length, share, boundary or a column, which is read only if needed."""
        from spoofspan.evaluation.breakdown import MeasuredCorpus

        with progress("measuring groups"):
            return MeasuredCorpus(self, measure, options).break_down(by, read_column)

    def cross(self, by: str, measure: str, options: EvaluationOptions, read_column: ReadColumn) -> CrossedBreakdown:
        """A measure by one or two columns of metadata, separated by a comma."""
        from spoofspan.evaluation.crossed import columns_of, crossed

        wanted = Measure.parse(measure)
        columns = columns_of(by, lambda name: self.shares() if name == "share" else read_column(name))
        if wanted.basis == EVENT:
            return self.cross_events(wanted, columns, options)
        with progress("measuring groups"):
            return crossed(self.planned(wanted, replace(options, signed=False)), columns, options.resampling)

    def shares(self) -> Mapping[str, str]:
        """The share of each utterance that is spoofed, as a column."""
        raise UsageError("by share: it is known of references in memory; read the corpus whole")

    def cross_events(self, measure: Measure, columns: Columns, options: EvaluationOptions) -> CrossedBreakdown:
        """An event measure by one or two columns of metadata, with the proposals of the whole corpus."""
        raise UsageError(f"{measure} {NEEDS_TIME}")

    def group_events(
        self, by: str, measure: str, options: EvaluationOptions, words: Words | None = None
    ) -> CrossedBreakdown:
        """A measure of matched events by attack or length, or by their distance from the edges of words."""
        from spoofspan.evaluation.events import EventEvaluation, group_events

        events = self.events([wanted := Measure.parse(measure)], options)
        if not isinstance(events, EventEvaluation):
            raise UsageError(f"by={by!r}: events of shards are not grouped; read the corpus whole (--no-stream)")
        return group_events(events, wanted, by, words)

    def evaluate(
        self,
        measures: str | Sequence[str | Measure],
        options: EvaluationOptions,
        on_undefined: OnUndefined | None = None,
    ) -> Evaluation:
        """Take measures; one without a value is an error, or is reported to ``on_undefined`` and left out."""
        wanted = list(dict.fromkeys(parse_measures(measures)))  # one that is asked for twice is measured once
        options.refuse_proposing_without_events(wanted)
        of_events = [one for one in wanted if one.basis == EVENT]
        events = self.events(of_events, options) if of_events else None
        plans = {one: self.plan(one, options) for one in wanted if one.basis != EVENT}
        later = dict(zip(plans, self.lay(list(plans.values()), signed=options.signed), strict=True))
        results: dict[Measure, Measurement] = {}
        # measures that share a mass come one after the other
        first = {(one.basis, one.resolution): place for place, one in reversed(list(enumerate(wanted)))}
        for measure in track(sorted(wanted, key=lambda one: first[one.basis, one.resolution]), "measuring"):
            try:
                if events is not None and measure.basis == EVENT:
                    results[measure] = events.measured(measure)
                else:
                    results[measure] = later[measure]().cautioned(resampling=options.resampling)
            except UndefinedMeasureError as error:
                if on_undefined is None:
                    raise
                on_undefined(measure, error)
        return Evaluation({str(one): results[one] for one in wanted if one in results})

    def evaluate_asked(
        self,
        measures: str | Sequence[str | Measure] | None,
        options: EvaluationOptions,
        on_undefined: OnUndefined | None = None,
    ) -> Evaluation:
        """Take measures, or the default ones; a threshold that none of them uses is refused."""
        options.refuse_unused_threshold(measures or self.default_measures(options.convention))
        if measures is None:
            return self.evaluate_defaults(options, on_undefined or warn_left_out)
        return self.evaluate(measures, options, on_undefined)

    def evaluate_defaults(self, options: EvaluationOptions, on_undefined: OnUndefined) -> Evaluation:
        """Take the default measures; only the first one must have a value."""
        usual = self.default_measures(options.convention)

        def all_but_first(measure: Measure, error: UndefinedMeasureError) -> None:
            if str(measure) == usual[0]:
                raise error
            on_undefined(measure, error)

        return self.evaluate(usual, options, all_but_first)

    def range_operating_point(
        self, evaluation: Evaluation, options: EvaluationOptions, threshold: float | None
    ) -> OperatingPoint:
        """The operating point of ranges: a given threshold, that of the first range measure, or the range EER."""
        higher = self.higher
        if threshold is not None:
            return OperatingPoint(threshold, higher, 0, 0, 0, 0)
        for one in evaluation.measurements.values():
            if one.measure.startswith("range-") and one.has_threshold:
                return one.point
        return self.evaluate(["range-eer"], replace(options, threshold=None))["range-eer"].point


def warn_left_out(measure: Measure, error: UndefinedMeasureError) -> None:
    """Warn that a default measure has no value on a corpus."""
    warn_user(f"{measure} is left out: {reason_of(error)}", SpoofspanWarning)


def corpus_of(
    truth: Truth | Corpus,
    system: Scores | Proposals | UtteranceScores | None,
    *,
    utterance_scores: UtteranceScores | None = None,
    boundary_scores: Scores | None = None,
) -> Corpus:
    """Make a corpus in memory of labels and one system: scores in time, proposals, or scores of whole utterances.

    Scores in time may come with ``utterance_scores`` and ``boundary_scores``. A corpus is returned as it is.
    """
    if isinstance(truth, Corpus):
        return truth
    if not isinstance(system, UtteranceScores):
        return CorpusInMemory(cast("Any", truth), cast("Any", system), utterance_scores, boundary_scores)  # are checked
    if utterance_scores is not None or boundary_scores is not None:
        raise UsageError("scores of whole utterances stand alone; leave utterance_scores= and boundary_scores= out")
    from spoofspan.evaluation.utterances import UtteranceCorpus, labels_of

    return UtteranceCorpus(labels_of(truth), system)


@dataclass(frozen=True, eq=False)
class CorpusInMemory(Corpus):
    """References with scores or proposals in memory, and optional scores of whole utterances and of boundaries."""

    references: References
    system: Scores | Proposals
    utterance_scores: UtteranceScores | None = None
    boundary_scores: Scores | None = None

    def __post_init__(self) -> None:
        check_sides(self.references, self.system, proposals=True)
        if self.utterance_scores is not None:
            check_utterance_scores(self.utterance_scores)
        if self.boundary_scores is not None:
            check_scores(self.boundary_scores)
            if self.boundary_scores.higher != "spoof":
                raise UsageError(
                    "boundary scores must be high where a boundary is, which is higher='spoof'; mirror them first"
                )

    @property
    def scores(self) -> Scores:
        """The scores; proposals are refused."""
        if isinstance(self.system, Scores):
            return self.system
        raise UsageError("--by and --per-utterance need scores, and these are proposals; leave them out")

    def attack_names(self) -> frozenset[str]:
        """The attacks that the references name."""
        from spoofspan.evaluation.selections import attacks_in

        return attacks_in(self.references)

    @property
    def higher(self) -> Higher:
        """Meaning of high scores."""
        return self.scores.higher

    def default_measures(self, convention: str) -> list[str]:
        """Measures used if none is named."""
        return default_measures(self.system, convention)

    def plan(self, measure: Measure, options: EvaluationOptions) -> Plan:
        """Plan a measure."""
        if not isinstance(self.system, Scores):
            raise UsageError(
                f"{measure} needs scores, and these are proposals; they have event measures: event-ap@iou=0.5"
            )
        if self._utterances is not None and measure.basis == "utterance":
            return self._utterances.plan(measure, options)
        scores = self._scores_for(measure)
        return options.plan_for(measure, scores, boundaries=scores is self.boundary_scores)

    def _scores_for(self, measure: Measure) -> Scores:
        """The scores that a measure uses."""
        if measure.kind.of_boundaries and self.boundary_scores is not None:
            return self.boundary_scores
        return self.scores

    def lay(self, plans: Sequence[Plan], *, signed: bool = True) -> Sequence[LayLater]:
        """For each plan, a function that makes its mass; equal rules and resolutions share a mass and its curve."""
        latest: list[tuple[object, Laid]] = []

        def mass_of(plan: Plan, inputs: HashedInputs) -> Laid:
            key = plan.kind, plan.measure.resolution, plan.measure.kind.of_boundaries, plan.rules, plan.selection
            if not latest or latest[0][0] != key:
                latest.clear()  # or else two would be in memory at once
                latest.append((key, plan.mass(inputs.references, inputs.scores, self.lay_sides)))
            return latest[0][1]

        return [partial(self._laid, plan, mass_of) for plan in plans]

    def _laid(self, plan: Plan, mass_of: Callable[[Plan, HashedInputs], Laid]) -> PlannedMass:
        if self._utterances is not None and plan.measure.basis == "utterance":
            return self._utterances.laid(plan)
        references, scores = self.references, self._scores_for(plan.measure)
        inputs = self._inputs if scores is self.system else HashedInputs(references, scores)
        try:
            mass, touched = mass_of(plan, inputs)
        except UndefinedMeasureError:
            refuse_strange_regions(plan.rules.regions, references.utterances)  # that may be why
            raise
        plan = replace(plan, notes=(*plan.notes, *strangers("regions", plan.rules.regions or (), mass.utterances)))
        return PlannedMass(
            plan,
            mass,
            touched,
            len(mass.utterances),
            partial(plan.sign_value, inputs, mass.utterances),
            partial(plan.errors, references, scores, self.lay_sides),
            references.names_both_classes,
        )

    @cached_property
    def lay_sides(self) -> Lay:
        """The function that makes overlays; it keeps the latest one."""
        return LatestOverlay().of

    @cached_property
    def _inputs(self) -> HashedInputs:
        """Both sides with their hashes, shared by all measurements."""
        return HashedInputs(self.references, self.scores)

    @cached_property
    def _utterances(self) -> UtteranceCorpus | None:
        if self.utterance_scores is None:
            return None
        from spoofspan.evaluation.utterances import UtteranceCorpus

        return UtteranceCorpus(self.references, self.utterance_scores)

    def events(self, measures: Sequence[Measure], options: EvaluationOptions) -> EventEvaluation:
        """The evaluator of event measures, which share their proposals."""
        from spoofspan.evaluation.events import EventEvaluation

        def range_eer() -> tuple[OperatingPoint, str]:
            found = self.measure(Measure("range-eer"), replace(options, resampling=None))
            return found.point, found.eer_rule

        inputs = self._inputs if isinstance(self.system, Scores) else None
        return EventEvaluation(self.references, self.system, options, range_eer, inputs)

    def cross_events(self, measure: Measure, columns: Columns, options: EvaluationOptions) -> CrossedBreakdown:
        """An event measure by one or two columns of metadata."""
        from spoofspan.evaluation.events import crossed_events

        return crossed_events(self, measure, columns, options)

    def classes(self) -> Mapping[str, int]:
        """The class of each utterance: spoof, if any of it is."""
        return self.references.classes()

    def input_hashes(self) -> Mapping[str, str]:
        """Hashes of references and scores."""
        if not isinstance(self.system, Scores):
            return {"references": references_hash(self.references)}
        inputs = self._inputs
        return {"references": inputs.references_hash, **inputs.said(rows=False), **inputs.said(rows=True)}

    def shares(self) -> Mapping[str, str]:
        """The share of each utterance that is spoofed, as a column."""
        from spoofspan.evaluation.selections import spoofed_shares

        return spoofed_shares(self.references)

    def take(self, utterances: Sequence[str]) -> CorpusInMemory:
        """The corpus of those of some utterances that it has."""
        return replace(
            self,
            references=taken(self.references, utterances),
            system=taken(self.system, utterances),
            utterance_scores=taken(self.utterance_scores, utterances),
            boundary_scores=taken(self.boundary_scores, utterances),
        )

    def merged(self, work: Callable[[Shard], T], merge: Callable[[T, T], T], what: str) -> T:
        """The result of the corpus, which is one shard."""
        with progress(what):
            return work((self.references, self.scores))


def _attacks_of_shard(shard: Shard) -> frozenset[str]:
    from spoofspan.evaluation.selections import attacks_in

    return frozenset() if shard[0] is None else attacks_in(shard[0])


def _errors_of_shard(
    plan: Plan, at: OperatingPoint, own_rule: str | None, lay: Lay, shard: Shard
) -> list[UtteranceErrors | str]:
    """The errors of each utterance of a shard, or the reason for having none."""
    references, scores = shard
    if references is None or scores is None:
        return ["no utterance has any time to measure; check references and durations"]
    try:
        return [plan.errors(references, scores, lay, at, own_rule)]
    except NothingToMeasureError as error:
        return [str(error)]


def taken(side: T, utterances: Sequence[str]) -> T:
    """Some utterances of references, scores or labels by utterance; None stays None."""
    if side is None:
        return side
    if isinstance(side, Mapping):
        return {utt: side[utt] for utt in utterances if utt in side}  # type: ignore[return-value]
    known = positions(utterances, side.utterances)  # type: ignore[attr-defined]
    chosen = known[known >= 0]
    if hasattr(side, "take_for"):  # proposals keep files without any
        return side.take_for(utterances, chosen)  # type: ignore[no-any-return]
    return side.take(chosen)  # type: ignore[attr-defined, no-any-return]


def default_measures(scores: Scores | Proposals, convention: str = "default") -> list[str]:
    """The default measures.

    Parameters
    ----------
    scores
        Scores or proposals of a system.
    convention
        A named set of rules; not every one defines all measures.

    Returns
    -------
    list of str
        The EER of ranges, of points at the hop and of utterances; AP and AR of proposals.

    Examples
    --------
    >>> default_measures(Scores.from_frames({"u1": [0.9, 0.4]}, hop=0.02, higher="bonafide"))
    ['range-eer', 'point-eer@20ms', 'utterance-eer']
    """
    check_scores(scores, proposals=True)
    return measures_for_hop(scores.hop, convention) if isinstance(scores, Scores) else list(USUAL_OF_EVENTS)


def measures_for_hop(hop: float | None, convention: str) -> list[str]:
    """The default measures of scores of a hop, None for ranges: the EER of ranges, of points and of utterances."""
    if convention in CONVENTIONS and "point" not in CONVENTIONS[convention].measures:
        return ["range-eer"]
    at_hop = [str(Measure("point-eer", hop))] if hop is not None else []
    return ["range-eer", *at_hop, "utterance-eer"]

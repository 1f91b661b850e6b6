"""A corpus to evaluate, wherever it lies: in memory, in shards, on a cluster, or as scores of whole utterances.

::

    measures ──parse──▶ Measure ──plan──▶ Plan ──a corpus measures──▶ Measurement ──▶ Evaluation

All of them share the loop of :meth:`Corpus.evaluate`. What they differ in is how they prepare to take measures
(:meth:`Corpus.prepare`): with all data at hand, or by a pass over shards.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spoofspan.base.documents import read_json
from spoofspan.base.errors import DataError, UndefinedMeasureError, UsageError, strangers
from spoofspan.base.progress import progress, track
from spoofspan.base.tabular import Tabular
from spoofspan.data.references import References
from spoofspan.data.rules import CONVENTIONS, Touched
from spoofspan.data.scores import Higher, Scores
from spoofspan.data.sides import check_scores, check_sides, check_utterance_scores
from spoofspan.evaluation.cautions import refuse_strange_regions, with_cautions
from spoofspan.evaluation.measurement import Measurement
from spoofspan.evaluation.plan import EvaluationOptions, OnUndefined, Plan, Undefined
from spoofspan.evaluation.signature import Inputs
from spoofspan.mass.ranges import LatestOverlay
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.catalogue import EVENT, USUAL_OF_EVENTS
from spoofspan.measures.measure import Measure, flat_name, parse_measures
from spoofspan.measures.operating_point import OperatingPoint

if TYPE_CHECKING:
    from spoofspan.data.proposals import Proposals
    from spoofspan.data.utterance_scores import UtteranceScores
    from spoofspan.evaluation.breakdown import Breakdown
    from spoofspan.evaluation.crossed import CrossedBreakdown
    from spoofspan.evaluation.events import EventEvaluation
    from spoofspan.evaluation.utterances import UtteranceCorpus
    from spoofspan.measures.per_utterance import UtteranceErrors
    from spoofspan.uncertainty.clusters import Resampling

# How a signature says that utterance scores were given.
GIVEN = "|utterance-scores:given|"
MeasureOne = Callable[[Measure], Measurement]
ReadColumn = Callable[[str], Mapping[str, str]]


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
        return self.measurements[str(Measure.parse(measure))]

    def __len__(self) -> int:
        return len(self.measurements)

    def __iter__(self) -> Iterator[str]:
        return iter(self.measurements)

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
        """Everything as plain data, ready for JSON."""
        return {"measurements": [m.to_dict() for m in self.measurements.values()]}

    def to_flat_dict(self) -> dict[str, float]:
        """Numbers by plain names, for a logger of experiments (MLflow, W&B, TensorBoard): ``log_metrics(flat)``.

        The values, and the thresholds they were taken at. What they may be compared with stands in the signatures:
        log these too, as tags or parameters.
        """
        flat: dict[str, float] = {}
        for name, one in self.measurements.items():
            flat[flat_name(name)] = one.value
            if one.threshold == one.threshold:  # a value over all thresholds has none
                flat[f"{flat_name(name)}_threshold"] = one.threshold
        return flat


class Corpus(ABC):
    """References and what a system said of them, ready to be measured."""

    @property
    @abstractmethod
    def higher(self) -> Higher:
        """What high scores mean."""

    @abstractmethod
    def default_measures(self, convention: str) -> list[str]:
        """What is measured if nothing is asked for."""

    @abstractmethod
    def prepare(self, measures: Sequence[Measure], options: EvaluationOptions) -> MeasureOne:
        """Plan the measures; return the function that takes one of them."""

    @abstractmethod
    def errors_by_utterance(
        self, at: OperatingPoint, options: EvaluationOptions, *, own_eer: bool = False
    ) -> UtteranceErrors:
        """The errors of each utterance at an operating point, with each one's own range EER if asked for."""

    @abstractmethod
    def break_down(self, by: str, measure: str, options: EvaluationOptions, read_column: ReadColumn) -> Breakdown:
        """The groups of the corpus by kind, length, boundary or a column, which is read if it is needed."""

    @abstractmethod
    def cross(self, by: str, measure: str, options: EvaluationOptions, read_column: ReadColumn) -> CrossedBreakdown:
        """A measure by one or two columns of metadata, with a comma between them."""

    def evaluate(
        self, measures: Sequence[str | Measure], options: EvaluationOptions, on_undefined: OnUndefined | None = None
    ) -> Evaluation:
        """Take measures; one without a value is an error, or is left out if ``on_undefined`` is there to be told."""
        wanted = list(dict.fromkeys(parse_measures(measures)))  # one that is asked for twice is measured once
        options.refuse_proposing_without_events(wanted)
        measured = self.prepare(wanted, options)
        results: dict[str, Measurement] = {}
        # measures that share a mass come one after the other
        first = {(one.basis, one.resolution): place for place, one in reversed(list(enumerate(wanted)))}
        for measure in track(sorted(wanted, key=lambda one: first[one.basis, one.resolution]), "measuring"):
            try:
                results[str(measure)] = measured(measure)
            except UndefinedMeasureError as error:
                if on_undefined is None:
                    raise
                on_undefined(measure, error)
        return Evaluation({name: results[name] for name in map(str, wanted) if name in results})

    def evaluate_defaults(self, options: EvaluationOptions, on_undefined: OnUndefined) -> Evaluation:
        """Take the default measures; only the first must have a value, as not every corpus has one for the others."""
        usual = self.default_measures(options.convention)

        def all_but_first(measure: Measure, error: UndefinedMeasureError) -> None:
            if str(measure) == usual[0]:
                raise error
            on_undefined(measure, error)

        return self.evaluate(usual, options, all_but_first)

    def range_operating_point(
        self, evaluation: Evaluation, options: EvaluationOptions, threshold: float | None
    ) -> OperatingPoint:
        """Where ranges are decided: at a given threshold, that of the first range measure, or that of the range EER."""
        higher = self.higher
        if threshold is not None:
            return OperatingPoint(threshold, higher, 0, 0, 0, 0)
        for one in evaluation.measurements.values():
            if one.measure.startswith("range-") and one.has_threshold:
                return one.point
        return self.evaluate(["range-eer"], replace(options, threshold=None))["range-eer"].point


@dataclass(frozen=True, eq=False)
class CorpusInMemory(Corpus):
    """References, and scores or proposals, all of them at hand; scores of whole utterances may come besides."""

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
        """The scores, which proposals are not."""
        if isinstance(self.system, Scores):
            return self.system
        raise UsageError("--by and --per-utterance need scores, and these are proposals; leave them out")

    @property
    def higher(self) -> Higher:
        """What high scores mean."""
        return self.scores.higher

    def default_measures(self, convention: str) -> list[str]:
        """What is measured if nothing is asked for."""
        return default_measures(self.system, convention)

    def prepare(self, measures: Sequence[Measure], options: EvaluationOptions) -> MeasureOne:
        """Plan the measures; return the function that takes one of them."""
        measure_event = self.events(options).measured if any(one.basis == EVENT for one in measures) else None
        plans = {one: self._plan(one, options) for one in measures if one.basis != EVENT}
        masses = SharedMasses()

        def measured(measure: Measure) -> Measurement:
            if measure_event is not None and measure.basis == EVENT:
                return measure_event(measure)
            return self._measured(plans[measure], options, masses)

        return measured

    def _plan(self, measure: Measure, options: EvaluationOptions) -> Plan:
        if not isinstance(self.system, Scores):
            raise UsageError(
                f"{measure} needs scores, and these are proposals; they have event measures: event-ap@iou=0.5"
            )
        if self.utterance_scores is not None and measure.basis == "utterance":
            return options.plan(measure, None)
        scores = self._scores_for(measure)
        return options.plan_for(measure, scores, boundaries=scores is self.boundary_scores)

    def _scores_for(self, measure: Measure) -> Scores:
        """The scores that a measure is taken of."""
        if measure.kind.of_boundaries and self.boundary_scores is not None:
            return self.boundary_scores
        return self.scores

    def _measured(self, plan: Plan, options: EvaluationOptions, masses: SharedMasses | None = None) -> Measurement:
        if self._utterances is not None and plan.measure.basis == "utterance":
            return self._utterances.measure(plan, options.resampling)
        scores = self._scores_for(plan.measure)
        inputs = self._inputs if scores is self.system else Inputs(self.references, scores)
        return measure_scores(inputs, plan, resampling=options.resampling, masses=masses)

    @cached_property
    def _inputs(self) -> Inputs:
        """Both sides, with hashes that all measurements share."""
        return Inputs(self.references, self.scores)

    @cached_property
    def _utterances(self) -> UtteranceCorpus | None:
        if self.utterance_scores is None:
            return None
        from spoofspan.evaluation.utterances import UtteranceCorpus

        return UtteranceCorpus(self.references, self.utterance_scores)

    def events(self, options: EvaluationOptions) -> EventEvaluation:
        """What takes event measures, which share their proposals and their matching."""
        from spoofspan.evaluation.events import EventEvaluation
        from spoofspan.measures.events.proposals_from_scores import ProposalOptions

        def range_eer() -> tuple[OperatingPoint, str]:
            alone = replace(options, resampling=None)
            found = self._measured(self._plan(Measure("range-eer"), alone), alone)
            return found.point, found.eer_rule

        proposing = ProposalOptions(options.smoothing, options.min_duration, options.merge_gap)
        inputs = self._inputs if isinstance(self.system, Scores) else None
        return EventEvaluation(self.references, self.system, options, proposing, range_eer, inputs)

    def errors_by_utterance(
        self, at: OperatingPoint, options: EvaluationOptions, *, own_eer: bool = False
    ) -> UtteranceErrors:
        """The errors of each utterance at an operating point."""
        from spoofspan.measures.per_utterance import errors_by_utterance

        with progress("errors by utterance"):
            return errors_by_utterance(
                self.references,
                self.scores,
                at.threshold,
                everything=at.everything,
                own_eer=own_eer,
                convention=options.convention,
                eer_rule=options.eer_rule,
                **options.rules,
            )

    def break_down(self, by: str, measure: str, options: EvaluationOptions, read_column: ReadColumn) -> Breakdown:
        """The groups of the corpus by kind, length, boundary or a column."""
        from spoofspan.evaluation.breakdown import BREAKDOWNS, by_column

        arguments = {"measure": measure, **options.to_arguments()}
        if by in BREAKDOWNS:
            return BREAKDOWNS[by](self.references, self.scores, **arguments)
        return by_column(self.references, self.scores, read_column(by), name=by, **arguments)

    def cross(self, by: str, measure: str, options: EvaluationOptions, read_column: ReadColumn) -> CrossedBreakdown:
        """A measure by one or two columns of metadata, with a comma between them."""
        from spoofspan.evaluation.crossed import columns_of, crossed

        wanted = Measure.parse(measure)
        if wanted.basis == EVENT:
            from spoofspan.evaluation.events import crossed_events

            return crossed_events(self, wanted, columns_of(by, read_column), options)
        if self._utterances is not None and wanted.basis == "utterance":
            return self._utterances.cross(by, measure, options, read_column)
        plan = self._plan(wanted, options)
        mass, _ = plan.mass(self.references, self._scores_for(wanted))
        return crossed(mass, plan, columns_of(by, read_column), options.resampling)


def default_measures(scores: Scores | Proposals, convention: str = "default") -> list[str]:
    """The measures that are taken if none is named.

    Parameters
    ----------
    scores
        What a system said.
    convention
        A named set of rules, which may not define every measure.

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


class SharedMasses:
    """The masses of one corpus: measures under the same rules and resolution share one, and with it its curve."""

    def __init__(self) -> None:
        self._lay = LatestOverlay().of
        self._key: object = None
        self._latest: tuple[ScoreMass, tuple[Touched, ...]] | None = None

    def of(self, plan: Plan, inputs: Inputs) -> tuple[ScoreMass, tuple[Touched, ...]]:
        """The mass of a plan, and the amounts that its rules touched; only the latest mass is kept."""
        key = plan.kind, plan.measure.resolution, plan.measure.kind.of_boundaries, plan.rules, plan.selection
        if self._latest is None or self._key != key:
            self._latest = None  # or else two would be in memory at once
            self._latest, self._key = plan.mass(inputs.references, inputs.scores, self._lay), key
        return self._latest


def measure_scores(
    inputs: Inputs,
    plan: Plan,
    undefined: Undefined = "raise",
    resampling: Resampling | None = None,
    masses: SharedMasses | None = None,
) -> Measurement:
    """Take one measure of scores, with an interval if it is said how to resample."""
    references, scores = inputs.references, inputs.scores

    def errors_at(point: OperatingPoint) -> UtteranceErrors:
        from spoofspan.measures.per_utterance import errors_with

        return errors_with(references, scores, point, plan.rules)

    try:
        mass, touched = (masses or SharedMasses()).of(plan, inputs)
        plan = replace(plan, notes=(*plan.notes, *strangers("regions", plan.rules.regions or (), mass.utterances)))
        found = plan.measured(
            mass,
            touched,
            len(mass.utterances),
            plan.signer(inputs, mass.utterances),
            undefined,
            errors_at,
        )
    except UndefinedMeasureError:
        refuse_strange_regions(plan.rules.regions, references.utterances)  # that may be why
        raise
    found = with_cautions(found, plan, mass, both_classes=references.names_both_classes)
    return with_interval(found, plan, mass, resampling)


def with_interval(found: Measurement, plan: Plan, mass: ScoreMass, resampling: Resampling | None) -> Measurement:
    """A measurement of a mass with its interval, if it is said how to resample."""
    if resampling is None:
        return found
    from spoofspan.uncertainty.intervals import interval_of_system
    from spoofspan.uncertainty.measured_system import MeasuredSystem

    notes = strangers(f"a {resampling.clusters_are}", resampling.clusters or (), mass.utterances)
    interval = interval_of_system(MeasuredSystem(plan, mass, found.value, found_at=found.point), resampling)
    return replace(found, interval=interval, notes=(*found.notes, *notes))


def read_eer_threshold(path: Path, measures: Sequence[str], *, given: bool = False) -> float:
    """Read the threshold of the EER, of the same basis as the measures, from the JSON of an evaluation.

    ``given`` utterance scores have thresholds of their own, which must not be mixed up with those of lowest scores.
    """
    bases = {str(Measure.parse(one).eer) for one in measures}
    if len(bases) > 1:
        raise UsageError(
            f"--threshold-from: {' and '.join(sorted(bases))} have thresholds of their own; measure them apart"
        )
    wanted = bases.pop() if bases else "range-eer"
    try:
        found = read_json(path.expanduser())["measurements"]
        stated = {str(one["measure"]): one["threshold"] for one in found}
        thresholds = {name: None if value is None else float(value) for name, value in stated.items()}
        of_given = {str(one["measure"]) for one in found if GIVEN in one["signature"]["comparable"]}
    except FileNotFoundError:
        raise UsageError(f"there is no file {str(path)!r}; eval --format json --out writes it") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, OverflowError):
        raise DataError(f"{path}: not the JSON of an evaluation; write one with eval --format json --out") from None
    if wanted not in thresholds:
        raise DataError(f"{path}: it has no {wanted} (only {', '.join(thresholds)}); evaluate it there as well")
    if wanted == "utterance-eer" and given != (wanted in of_given):
        there, here = ("given utterance scores", "lowest scores")[:: 1 if wanted in of_given else -1]
        raise DataError(f"{path}: its {wanted} is of {there}, and here it would be of {here}; evaluate both alike")
    threshold = thresholds[wanted]
    if threshold is None:
        raise DataError(f"{path}: its {wanted} has no threshold; evaluate it on data that have one")
    return threshold

"""Plans: the settings of one measure, resolved before any data are read.

A plan has the rules and the EER rule, makes the score mass of a corpus or of one shard, and computes the value of a
mass. The same plan serves a corpus in memory (:mod:`spoofspan.evaluation.evaluate`) and a corpus in shards
(:mod:`spoofspan.scale.shards`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.base.times import milliseconds
from spoofspan.data.distinct_values import DECISION_THRESHOLD, DistinctValues
from spoofspan.data.front_door import RulesAndInputs
from spoofspan.data.references import References
from spoofspan.data.rules import RULES, Rules, Touched, rules_for
from spoofspan.data.scores import Higher, Scores
from spoofspan.evaluation.signature import (
    Signature,
    applied_rules,
    given_threshold,
    references_hash,
    scores_hash,
    sign_hashes,
    used_hash,
)
from spoofspan.mass.ranges import Lay, Overlay
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.mass.score_runs import automatic_slack
from spoofspan.measures.catalogue import EVENT
from spoofspan.measures.kind import Value
from spoofspan.measures.measure import Measure, MeasureSettings, ScoresAre, check_eer_rule, parse_measures
from spoofspan.measures.operating_point import OperatingPoint, Threshold, check_threshold, totals

# Imports that only some measures need are local: eval of one EER starts without 30 modules (40 ms).
if TYPE_CHECKING:
    from spoofspan.data.utterance_scores import VerificationScores
    from spoofspan.evaluation.selections import Selection
    from spoofspan.measures.costs import VerificationErrors
    from spoofspan.measures.per_utterance import UtteranceErrors
    from spoofspan.uncertainty.clusters import Grouping, Resampling

Undefined = Literal["raise", "nan"]
OnUndefined = Callable[[Measure, UndefinedMeasureError], None]


@dataclass(frozen=True, eq=False)
class HashedInputs:
    """References and scores with their hashes, which are computed on demand and shared by all measurements."""

    references: References
    scores: Scores

    @cached_property
    def references_hash(self) -> str:
        """Hash of the labels in time."""
        return references_hash(self.references)

    @cached_property
    def scores_hash(self) -> str:
        """Hash of the scores as a function of time."""
        return scores_hash(self.scores)

    @cached_property
    def rows_hash(self) -> str:
        """Hash of the scores row by row."""
        return scores_hash(self.scores, rows=True)

    @cached_property
    def slack(self) -> set[int]:
        """The automatic slack of the scores (ns)."""
        return automatic_slack(self.scores)

    def said(self, *, rows: bool) -> dict[str, str]:
        """The hash of the scores for a signature, row by row or as a function of time."""
        return {"score-rows": self.rows_hash} if rows else {"scores": self.scores_hash}

    @cached_property
    def _applied(self) -> dict[tuple[Any, ...], tuple[Sequence[str], dict[str, str]]]:
        return {}

    def applied_rules(self, rules: Rules, utterances: Sequence[str]) -> dict[str, str]:
        """The rules about references that change a label of these utterances.

        Cached, since measures share most of them: joining edges takes a sixth of the time of hashing the scores.
        """
        if rules.regions is not None:
            return applied_rules(rules, self.references, utterances)
        values = tuple(getattr(rules, name) for name, rule in RULES.items() if rule.signed == "applied")
        known = self._applied.get(values)
        if known is None or known[0] != utterances:
            known = self._applied[values] = utterances, applied_rules(rules, self.references, utterances)
        return known[1]


@dataclass(frozen=True, kw_only=True)
class Plan(MeasureSettings):
    """Settings of one measure of references and scores."""

    rules: Rules
    convention: str
    notes: tuple[str, ...] = ()
    selection: Selection | None = None  # the part of a corpus to measure; None: all of it

    @property
    def kind(self) -> Literal["range", "point"]:
        """Unit of the measure: durations of ranges, or points."""
        return "range" if self.measure.basis == "range" else "point"

    @property
    def shared(self) -> Mapping[str, str]:
        """Settings that two numbers must share to be compared."""
        return {"value": self.read_off, **self.rules.spelled(self.kind)}

    def mass(
        self,
        references: References,
        scores: Scores,
        lay: Lay = Overlay.of,
    ) -> tuple[ScoreMass, tuple[Touched, ...]]:
        """The score mass of references and scores, and what the rules touched."""
        if self.kind == "range":
            return self.laid(references, scores, lay).mass()
        from spoofspan.mass.points import WHOLE_UTTERANCE, point_mass_with

        resolution = WHOLE_UTTERANCE if self.measure.resolution is None else self.measure.resolution
        points, rules = self.measure.kind.labelled(references, resolution, self.rules)
        return point_mass_with(points, scores, resolution, rules, lay)

    def laid(self, references: References, scores: Scores, lay: Lay = Overlay.of) -> Overlay:
        """The overlay of references and scores, or of the selection."""
        laid = lay(references, scores, self.rules)
        return laid if self.selection is None else self.selection.of(references, laid)

    def signed_rules(self, inputs: HashedInputs, utterances: Sequence[str]) -> dict[str, str]:
        """The rules to state in a signature of these inputs on these utterances."""
        signed = self.rules.signed(self.kind, inputs.slack)
        return inputs.applied_rules(self.rules, utterances) | signed

    def sign_value(self, inputs: HashedInputs, utterances: Sequence[str]) -> Signature:
        """Sign a value of these inputs, or of the selection, on these utterances."""
        plan, selection = self, self.selection
        if selection is not None:
            plan = replace(self, rules=selection.signed_rules(self.rules, inputs.references))
            hashed = selection.hashed(inputs.references, inputs.scores, utterances)
            inputs = inputs if hashed[1] is inputs.scores else HashedInputs(*hashed)  # whose hashes are shared
        return plan.sign(str(self.measure), self.read_off, inputs, utterances)

    def sign(
        self, measure: str, read_off: str, inputs: HashedInputs, utterances: Sequence[str], *, rows: bool = False
    ) -> Signature:
        """Sign a value under the name of a measure; ``rows``: it depends on single rows of scores."""
        rules = self.signed_rules(inputs, utterances)
        hashes = inputs.references_hash, used_hash(utterances)
        said = inputs.said(rows=rows or self.counts_rows)
        system = self.signed_system(said, inputs.scores.higher, inputs.slack)
        return sign_hashes(measure, read_off, rules, hashes, system, self.convention)

    @property
    def counts_rows(self) -> bool:
        """True if the value depends on the rows of scores, and not only on the score of each instant."""
        pooled = self.kind == "point" and self.rules.pooling not in ("min", "mean", "max")
        return pooled or self.rules.last_frame == "drop"

    def signed_system(self, said: Mapping[str, str], higher: Higher, slack: AbstractSet[int]) -> dict[str, str]:
        """The part of a signature that identifies a system, of the hash of its scores and its automatic slack (ns)."""
        return {**said, **self.rules.system_slack(slack), **given_threshold(self.threshold, higher)}

    def errors(
        self, references: References, scores: Scores, lay: Lay, point: OperatingPoint, own_rule: str | None = None
    ) -> UtteranceErrors:
        """The errors of each utterance at an operating point; with ``own_rule``, also its own EER by that rule."""
        from spoofspan.measures.per_utterance import errors_of_overlay

        return errors_of_overlay(self.laid(references, scores, lay), point.threshold, point.everything, own_rule)

    def mean(self, point: OperatingPoint, errors: UtteranceErrors) -> tuple[Value, str]:
        """The mean over the utterances that have a value, and a note."""
        from spoofspan.measures.confusion import macro_at

        mean = macro_at(errors, self.measure.kind.name, self.measure.positive, self.measure.parameters)
        left_out = f"; {mean.left_out} have no value and are left out" if mean.left_out else ""
        return Value(mean.value, point), f"the mean of {mean.utterances} utterances{left_out}"


def no_point(mass: ScoreMass) -> OperatingPoint:
    """Stand-in for the operating point of a value that has none: its threshold is NaN."""
    return replace(totals(mass).point(float("nan"), 0, 0), threshold=float("nan"))


class MeasuringArguments(RulesAndInputs, total=False):
    """Settings of a measurement, and every rule, as keyword arguments."""

    convention: str
    eer_rule: str | None
    scores_are: ScoresAre | None
    asv_scores: VerificationScores | VerificationErrors | None
    asv_rates: Sequence[float] | None
    smoothing: int | None
    min_duration: float
    merge_gap: float


class EvaluationArguments(MeasuringArguments, total=False):
    """The same with a threshold and settings of intervals."""

    threshold: Threshold | None
    confidence: float | None
    resampling: Resampling | None


@dataclass(frozen=True)
class EvaluationOptions:
    """Settings of measures of any corpus; ``rules`` has only those that were given."""

    convention: str = "default"
    eer_rule: str | None = None
    threshold: Any = None  # a number, or a measurement in the place of its threshold
    scores_are: ScoresAre | None = None
    asv_scores: VerificationScores | VerificationErrors | None = None
    resampling: Resampling | None = None
    smoothing: int | None = None
    min_duration: float = 0.0
    merge_gap: float = 0.0
    signed: bool = True
    selection: Selection | None = None  # the part of a corpus to measure; None: all of it
    rules: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.threshold is not None:
            object.__setattr__(self, "threshold", check_threshold(self.threshold))

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, Any]) -> EvaluationOptions:
        """Split keyword arguments into options and rules."""
        arguments = dict(arguments)
        if "asv_rates" in arguments:
            arguments["asv_scores"] = verification_of(arguments.get("asv_scores"), arguments.pop("asv_rates"))
        if "confidence" in arguments:
            arguments["resampling"] = resampling_at(arguments.pop("confidence"), arguments.get("resampling"))
        options = {name: value for name, value in arguments.items() if name in cls.__dataclass_fields__}
        rules = {name: value for name, value in arguments.items() if name not in options}
        return cls(**options, rules=rules)

    def plan(
        self,
        measure: Measure,
        hop: float | None,
        *,
        trials: bool = False,
        boundaries: bool = False,
        training_resolution: float | None = None,
        copied_resolution: float | None = None,
        distinct: DistinctValues | None = None,
    ) -> Plan:
        """Plan a measure of scores with a (coarsest) hop, None for ranges; of trials or of boundaries."""
        measure.kind.check(measure, trials=trials, boundaries=boundaries)
        if distinct is not None and (self.threshold is None or not measure.at_threshold):
            distinct.refuse(str(measure))
        if self.scores_are not in (None, "llr", "probability"):
            raise UsageError(f"scores_are={self.scores_are!r}: valid: 'llr', 'probability'")
        notes: tuple[str, ...] = ()
        if measure.basis == "range":
            rules, convention_rule = rules_for("range", self.convention, self.rules)
        elif measure.resolution is None:
            rules, convention_rule = rules_for("point", self.convention, {**self.rules, "last_point": "use"})
        else:
            from spoofspan.mass.points import check_resolution

            resolution = check_resolution(measure.resolution)
            measure = replace(measure, resolution=resolution)
            rules, convention_rule = point_rules(hop, resolution, self.convention, self.rules)
            notes = _notes_on_resolution(resolution, hop, training_resolution, copied_resolution)
        if measure.basis != "range" and rules.pooling == "noisy-or":
            notes = (*notes, "thresholds are of ln P(no frame is spoofed), or minus it where high scores mean spoof")
        plan = Plan(
            measure=measure,
            rules=rules,
            eer_rule=check_eer_rule(self.eer_rule or convention_rule),
            convention=self.convention,
            threshold=self.threshold if measure.at_threshold else None,
            scores_are=self.scores_are,
            asv_scores=self.asv_scores if measure.kind.needs_asv else None,
            selection=self.selection,
            distinct=distinct,
        )
        return replace(plan, notes=(*notes, *measure.kind.notes(plan)))

    def plan_for(self, measure: Measure, scores: Scores, *, boundaries: bool = False) -> Plan:
        """Plan a measure of given scores, which may be hard decisions, or scores of boundaries."""
        hop = scores.hop
        return replace(self, threshold=self.threshold_for(scores)).plan(
            measure,
            hop,
            boundaries=boundaries,
            training_resolution=scores.training_resolution,
            copied_resolution=scores.copied_resolution if measure.resolution is not None else None,
            distinct=scores.distinct,
        )

    def threshold_for(self, scores: Scores) -> float | None:
        """The threshold of scores; hard decisions have a fixed one."""
        if not scores.decisions:
            return cast("float | None", self.threshold)
        if self.threshold not in (None, DECISION_THRESHOLD):
            raise UsageError(f"hard decisions have no threshold to move to {self.threshold}; leave threshold= out")
        return DECISION_THRESHOLD

    @property
    def makes_proposals(self) -> bool:
        """True if an option for making proposals of scores is given."""
        return self.smoothing is not None or bool(self.min_duration or self.merge_gap)

    def refuse_proposing_without_events(self, measures: Iterable[Measure]) -> None:
        """Refuse options for proposals if no measure is of events."""
        if self.makes_proposals and not any(measure.basis == EVENT for measure in measures):
            raise UsageError(
                "smoothing=, min_duration= and merge_gap= are for event measures, and none is asked for; "
                "event-ap@iou=0.5 is one"
            )

    def refuse_unused_threshold(self, measures: str | Measure | Sequence[str | Measure]) -> None:
        """Refuse a threshold that none of the measures is taken at."""
        if self.threshold is None:
            return
        wanted = parse_measures(measures)
        if len({measure.kind.of_boundaries for measure in wanted if measure.takes_threshold}) > 1:
            raise UsageError(
                "threshold= (--threshold) is on the scale of the scores or on that of the boundary track; measure "
                f"{' and '.join(str(measure) for measure in wanted if measure.kind.of_boundaries)} apart"
            )
        if not any(measure.takes_threshold for measure in wanted):
            verb = "is" if len(wanted) == 1 else "are"
            raise UsageError(
                f"{' and '.join(map(str, wanted))} {verb} not taken at a threshold; leave threshold= out, or ask for "
                "a measure that is, such as range-f1"
            )


def _notes_on_resolution(
    resolution: float, hop: float | None, trained: float | None, copied: float | None
) -> tuple[str, ...]:
    """Notes on points that are as coarse as the training resolution or coarser; the paper recommends finer ones."""
    notes = []
    if copied is not None and hop is not None and trained is None:
        notes.append(
            f"the scores are copies: each is repeated in {round(copied / hop)} frames, so {milliseconds(copied)} is "
            "taken as the training resolution"
        )
    known = trained or copied
    limit = known or hop
    if limit is None:
        return tuple(notes)
    if resolution > limit * (1 + 1e-9):
        name = "training resolution" if known else "scores' hop"
        notes.append(
            f"measured at {milliseconds(resolution)}, coarser than the {name} of {milliseconds(limit)}: "
            "an easier task, not a better system"
        )
    elif known and resolution >= limit * (1 - 1e-9):
        notes.append(
            f"measured at the training resolution of {milliseconds(limit)}, where points hide part of the error; the "
            "paper recommends finer points, or the range EER"
        )
    return tuple(notes)


def verification_of(
    scores: VerificationScores | VerificationErrors | None, rates: Sequence[float] | None
) -> VerificationScores | VerificationErrors | None:
    """The speaker verification system, given by its scores or by its three error rates."""
    if rates is None:
        return scores
    if scores is not None:
        raise UsageError("give asv_scores or asv_rates (--asv-scores, --asv-rates), not both")
    from spoofspan.measures.costs import VerificationErrors

    return VerificationErrors.of_rates(rates)


def resampling_at(
    confidence: float | None, resampling: Resampling | None, clusters: Grouping | None = None
) -> Resampling | None:
    """Settings of intervals, with another level or other clusters if these are given."""
    if resampling is not None and not hasattr(resampling, "method"):
        raise UsageError(f"resampling={resampling!r}: must be a Resampling: Resampling(method={resampling!r})")
    if confidence is None and clusters is None:
        return resampling
    from spoofspan.uncertainty.clusters import Resampling

    chosen = resampling or Resampling()
    chosen = chosen if confidence is None else replace(chosen, confidence=confidence)
    return chosen if clusters is None else replace(chosen, clusters=clusters)


def point_rules(
    hop: float | None, resolution: float, convention: str, overrides: Mapping[str, Any]
) -> tuple[Rules, str]:
    """The rules and the EER rule of points; some conventions have other ones for points finer than the hop."""
    finer = hop is not None and resolution < hop * (1 - 1e-9)
    return rules_for("point", convention, overrides, finer_than_hop=finer)

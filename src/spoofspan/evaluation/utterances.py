"""Scores of whole utterances, measured against labels of whole utterances or against references.

If a system scores each utterance as a whole, its utterance measures use these scores instead of the lowest score of
each utterance. The labels come from a protocol (or any mapping utterance -> label), or follow from references under the
rules: an utterance is spoof if any of it is, unless the rule ``label`` is different.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.base.hashing import labels_hash
from spoofspan.data.front_door import check_truth, check_utterance_scores
from spoofspan.data.protocol import Protocol
from spoofspan.data.references import BONA_FIDE, SPOOF, References
from spoofspan.data.rules import Rules, Touched
from spoofspan.data.scores import Higher
from spoofspan.data.utterance_scores import DUMMY, TrialKey, UtteranceScores
from spoofspan.evaluation.corpus import NEEDS_TIME, Corpus, LayLater, PlannedMass, ReadColumn, taken
from spoofspan.evaluation.plan import EvaluationOptions, Plan
from spoofspan.evaluation.signature import (
    Signature,
    applied_rules,
    given_threshold,
    references_hash,
    sign_hashes,
    used_hash,
    utterance_scores_hash,
)
from spoofspan.mass.point_labels import classes_of
from spoofspan.mass.ranges import drop_empty, label_utterances, pair
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.mass.utterances import mass_of_classes, trial_mass, utterance_mass
from spoofspan.measures.curve import error_curve_of
from spoofspan.measures.kind import Value
from spoofspan.measures.measure import Measure
from spoofspan.measures.tandem import trial_weights

if TYPE_CHECKING:
    from spoofspan.evaluation.crossed import CrossedBreakdown
    from spoofspan.measures.operating_point import OperatingPoint
    from spoofspan.uncertainty.trial_intervals import MeasuredTrials

Truth = References | Mapping[str, str] | Protocol
# Values of rules with which a list of spoofs alone is enough; other values need the durations of utterances.
UNTIMED: Mapping[str, tuple[Any, ...]] = {
    "label": ("any",),
    "gaps": ("error", "bonafide"),
    "extent": ("duration",),
    "nonspeech": ("error", "bonafide"),
    "utterances": ("all",),
    "regions": (None,),
    "collar": (0.0,),
}
RULES_OF_TIMED_SCORES = ("uncovered", "slack", "overlong", "last_frame", "overlap", "last_point", "pooling")


@dataclass(frozen=True, eq=False)
class UtteranceCorpus(Corpus):
    """Scores of whole utterances, with labels or references."""

    truth: References | Mapping[str, str]
    scores: UtteranceScores

    def __post_init__(self) -> None:
        check_truth(self.truth)
        check_utterance_scores(self.scores)
        if isinstance(self.truth, TrialKey) and not self.scores.of_trials:
            several = DUMMY in self.truth.values() or not self.truth.keys() & set(self.scores.utterances)
            if several and self.truth.recordings.keys() & set(self.scores.utterances):
                object.__setattr__(self, "truth", self.truth.recordings)
        if isinstance(self.truth, References) or DUMMY not in self.truth.values():
            return
        # dummy trials do not count: neither side has them
        counted = {trial: kind for trial, kind in self.truth.items() if kind != DUMMY}
        dummies = set(self.truth) - set(counted)
        chosen = np.array([i for i, trial in enumerate(self.scores.utterances) if trial not in dummies], np.int64)
        object.__setattr__(self, "truth", counted)
        object.__setattr__(self, "scores", self.scores.take(chosen))

    def scores_for(self, measure: Measure) -> UtteranceScores:
        """The scores that a measure uses, of a table with those of a countermeasure and of trials."""
        return self.scores.of_column(trials=bool(measure.kind.trials))

    @cached_property
    def trials(self) -> Mapping[str, str] | None:
        """The label of each trial (target, nontarget or spoof); None if the labels are not of trials."""
        named = not isinstance(self.truth, References) and "target" in self.truth.values()
        return cast("Mapping[str, str]", self.truth) if named else None

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """Bona fide or spoof; targets and non-targets are bona fide."""
        truth = cast("Mapping[str, str]", self.truth)
        if self.trials is None:
            return truth
        return {trial: "spoof" if kind == "spoof" else "bonafide" for trial, kind in truth.items()}

    @cached_property
    def truth_hash(self) -> str:
        """Hash of the labels."""
        return references_hash(self.truth) if isinstance(self.truth, References) else labels_hash(self.labels)

    @cached_property
    def scores_hash(self) -> str:
        """Hash of the scores of a countermeasure, or of all scores."""
        return utterance_scores_hash(self.scores)

    def input_hashes(self) -> Mapping[str, str]:
        """Hashes of labels and scores."""
        return {"references": self.truth_hash, "utterance-scores": self.scores_hash}

    def mass(self, rules: Rules, against: tuple[str, ...] = ()) -> tuple[ScoreMass, tuple[Touched, ...]]:
        """Numbers of utterances by score, and what the rules touched; for trials, targets ``against`` others."""
        scores = self.scores.of_column(trials=bool(against))
        if isinstance(self.truth, References):
            return _mass_of_references(self.truth, scores, rules)
        if against and self.trials is not None:
            mass = trial_mass(scores, self.trials, against, partial=rules.partial)
        else:
            mass = utterance_mass(scores, self.labels, partial=rules.partial)
        left_out = len(set(self.scores.utterances) ^ set(self.truth))
        return mass, (Touched("partial", "True", 0, left_out),) if left_out else ()

    def signed_rules(self, plan: Plan, used: Sequence[str]) -> dict[str, str]:
        """The rules to state in a signature, as text."""
        if not isinstance(self.truth, References):
            return {"utterance-scores": "given", "labels": "given"}
        stated = plan.rules.signed(plan.kind)
        applied = {} if _is_untimed(self.truth, plan.rules) else applied_rules(plan.rules, self.truth, used)
        return {"utterance-scores": "given", **applied} | {
            rule: value for rule, value in stated.items() if rule not in RULES_OF_TIMED_SCORES
        }

    def sign(self, plan: Plan, used: Sequence[str]) -> Signature:
        """Generate the signature of a measurement on the utterances ``used``."""
        truth = labels_hash(self.trials) if plan.measure.kind.trials and self.trials is not None else self.truth_hash
        rules = self.signed_rules(plan, used)
        said = utterance_scores_hash(self.scores_for(plan.measure)) if self.scores.columns else self.scores_hash
        system = {"utterance-scores": said, **given_threshold(plan.threshold, self.scores.higher)}
        return sign_hashes(str(plan.measure), plan.read_off, rules, (truth, used_hash(used)), system)

    def default_measures(self, convention: str) -> list[str]:
        """The EER."""
        return ["utterance-eer"]

    def plan(self, measure: Measure, options: EvaluationOptions) -> Plan:
        """Plan a measure of utterances; others are refused."""
        unused = [rule for rule in options.rules if rule != "partial"]
        if unused and not isinstance(self.truth, References):
            raise UsageError(
                f"the rule {unused[0]!r} is about time, and labels of whole utterances have none; leave it out, or "
                "give references"
            )
        if measure.basis != "utterance":
            raise UsageError(
                f"{measure} needs scores in time; of utterance scores there is utterance-{measure.kind.name}"
            )
        return options.plan(measure, None, trials=self.trials is not None, distinct=self.scores_for(measure).distinct)

    def lay(self, plans: Sequence[Plan], *, signed: bool = True) -> Sequence[LayLater]:
        """For each plan, a function that makes its mass."""
        return [partial(self.laid, plan) for plan in plans]

    def laid(self, plan: Plan) -> PlannedMass:
        """The mass of a plan, in which each utterance counts once; an a-DCF weighs trials by their costs."""
        mass, touched = self.mass(plan.rules, plan.measure.kind.trials)
        used = mass.utterances
        noted = replace(plan, notes=(*plan.notes, "utterance scores as given"))
        laid = noted, mass, touched, len(used), partial(self.sign, plan, used)
        if self.trials is None:
            return PlannedMass(*laid)
        # an attack is measured against all targets and all non-targets
        spoofed = [self.labels[trial] == "spoof" for trial in used]
        classes = np.where(spoofed, SPOOF, BONA_FIDE).astype(np.int8)
        if not plan.measure.kind.priced:
            return PlannedMass(*laid, classes=classes)
        return PricedTrials(*laid, classes=classes, kinds=self.trials, scores=self.scores_for(plan.measure))

    def classes(self) -> Mapping[str, int]:
        """The class of each utterance: spoof, if any of it is."""
        if isinstance(self.truth, References):
            return self.truth.classes()
        return {utt: SPOOF if label == "spoof" else BONA_FIDE for utt, label in self.labels.items()}

    def take(self, utterances: Sequence[str]) -> UtteranceCorpus:
        """The corpus of those of some utterances that it has."""
        return replace(self, truth=taken(self.truth, utterances), scores=taken(self.scores, utterances))

    @property
    def higher(self) -> Higher:
        """Meaning of high scores."""
        return self.scores.higher

    def range_operating_point(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: there are no errors in time."""
        raise UsageError(f"--per-utterance {NEEDS_TIME}")

    def attack_names(self) -> frozenset[str]:
        """Empty: attacks of whole utterances are a column."""
        return frozenset()

    def break_down(self, by: str, *_: Any) -> NoReturn:
        """Refused: there is no time to break down."""
        raise UsageError(f"--by {by} {NEEDS_TIME}")

    def shares(self) -> Mapping[str, str]:
        """The share of each utterance that is spoofed, as a column."""
        from spoofspan.evaluation.selections import spoofed_shares

        if not isinstance(self.truth, References):
            raise UsageError("by share: labels of whole utterances do not say how much of each is spoofed; give ranges")
        return spoofed_shares(self.truth)

    def cross(self, by: str, measure: str, options: EvaluationOptions, read_column: ReadColumn) -> CrossedBreakdown:
        """A measure by one or two columns of metadata, separated by a comma."""
        if by in ("length", "boundary"):
            self.break_down(by)
        return super().cross(by, measure, options, read_column)


@dataclass(frozen=True, eq=False)
class PricedTrials(PlannedMass):
    """Trials of an a-DCF, weighted by the costs of their kinds."""

    kinds: Mapping[str, str] = field(default_factory=dict)  # target, nontarget or spoof
    scores: UtteranceScores | None = None

    def value(self) -> Value:
        """The value with the weights of costs; its operating point counts each trial once."""
        costs = {name: float(value) for name, value in self.plan.measure.parameters}
        weights = trial_weights([self.kinds[trial] for trial in self.mass.utterances], **costs)
        found = self.plan.value(self.mass.reweight(weights))
        curve, at = error_curve_of(self.mass), cast("OperatingPoint", found.point)
        return replace(found, point=curve.point(-1) if at.everything else curve.at(at.threshold))

    def system(self, found: Value) -> MeasuredTrials:
        """The measured system, for intervals."""
        from spoofspan.uncertainty.trial_intervals import MeasuredTrials

        scores, point = cast("UtteranceScores", self.scores), cast("OperatingPoint", found.point)
        return MeasuredTrials(
            self.plan, scores, self.kinds, self.mass.utterances, float(found.value), point, self.signer
        )


def _is_untimed(references: References, rules: Rules) -> bool:
    """True if the references list spoofs alone, without durations, and no rule needs durations."""
    untimed = references.durations is None and not references.names_both_classes
    return untimed and all(getattr(rules, name) in values for name, values in UNTIMED.items())


def _mass_of_references(
    references: References, scores: UtteranceScores, rules: Rules
) -> tuple[ScoreMass, tuple[Touched, ...]]:
    if rules.label == "rounded":
        raise UsageError("label='rounded' needs points of a resolution; utterances have label='any', or a fraction")
    touched: list[Touched] = []
    if _is_untimed(references, rules):
        # without durations, a list of spoofs still gives the class of each utterance
        rules.check_modality(references.modality)
        references, scores = pair(references, scores, rules, touched)
        classes = np.array(list(references.classes().values()), np.int8)
        return mass_of_classes(scores, classes, "utterance scores"), tuple(touched)
    labelling, scores = drop_empty(*label_utterances(references, scores, rules, touched), touched)
    classes = classes_of(labelling.time_of(BONA_FIDE), labelling.time_of(SPOOF), rules)
    return mass_of_classes(scores, classes, f"utterance scores, {rules.label}"), tuple(touched)


def labels_of(truth: Truth) -> References | Mapping[str, str]:
    """The labels of a protocol; other labels are returned as they are."""
    return dict(zip(truth.utterance, truth.label, strict=True)) if isinstance(truth, Protocol) else truth

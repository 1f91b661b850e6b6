"""Utterance scores of a system's own: measured against labels of whole utterances, or against references.

Where a system says of each utterance as a whole how bona fide it is, its utterance measures are those of these scores,
and not of the lowest score of each utterance. The labels are a protocol's (or any utterance -> label), or follow from
references under the rules: an utterance is spoof if any of it is, unless the rule ``label`` says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.base.hashing import labels_hash
from spoofspan.data.protocol import Protocol
from spoofspan.data.references import BONA_FIDE, SPOOF, References
from spoofspan.data.rules import RuleArguments, Rules, Touched
from spoofspan.data.scores import Scores
from spoofspan.data.sides import check_scores, check_truth, check_utterance_scores
from spoofspan.data.utterance_scores import DUMMY, TrialKey, UtteranceScores
from spoofspan.evaluation.corpus import Corpus, Evaluation, MeasureOne, ReadColumn, with_interval
from spoofspan.evaluation.measurement import Measurement
from spoofspan.evaluation.plan import EvaluationOptions, OnUndefined, Plan, verification_of
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
from spoofspan.measures.measure_settings import ScoresAre
from spoofspan.measures.operating_point import Threshold
from spoofspan.measures.tandem import trial_weights

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.data.utterance_scores import VerificationScores
    from spoofspan.evaluation.crossed import CrossedBreakdown
    from spoofspan.measures.operating_point import OperatingPoint
    from spoofspan.uncertainty.clusters import Resampling
    from spoofspan.uncertainty.utterance_intervals import MeasuredTrials

Truth = References | Mapping[str, str] | Protocol
# What is done with scores in time says nothing about scores without time.
NEEDS_SCORES = "needs scores in time: give SCORES after REFERENCES"
# Rules at which a list of spoofs alone says who is spoofed; any other needs to know where utterances end.
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
    """Scores of whole utterances, and the labels or references they are measured against."""

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
        """The scores that a measure is taken of, where a table has those of a countermeasure and of trials."""
        return self.scores.of_column(trials=bool(measure.kind.trials))

    @cached_property
    def trials(self) -> Mapping[str, str] | None:
        """What each trial is, where the labels are of trials: target, nontarget or spoof."""
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
        """Who is spoofed, or who is spoofed when."""
        return references_hash(self.truth) if isinstance(self.truth, References) else labels_hash(self.labels)

    @cached_property
    def scores_hash(self) -> str:
        """Hash of the scores of a countermeasure, or of all there are."""
        return utterance_scores_hash(self.scores)

    def mass(self, rules: Rules, against: tuple[str, ...] = ()) -> tuple[ScoreMass, tuple[Touched, ...]]:
        """Count utterances under each score, and say what the rules touched; of trials, targets ``against`` others."""
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
        """The rules that a signature states, as text."""
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

    def measure(self, plan: Plan, resampling: Resampling | None = None) -> Measurement:
        """Take one measure, with an interval if it is said how to resample."""
        mass, touched = self.mass(plan.rules, plan.measure.kind.trials)
        used = mass.utterances
        noted = replace(plan, notes=(*plan.notes, "utterance scores as given"))
        weighted = self.priced(plan, mass) if plan.measure.kind.priced else mass
        found = noted.measured(weighted, touched, len(used), partial(self.sign, plan, used))
        if weighted is not mass:  # trials as they are counted, not as they are priced
            curve = error_curve_of(mass)
            point = curve.point(-1) if found.point.everything else curve.at(found.threshold)
            found = replace(found, point=point)
            if resampling is None:
                return found
            from spoofspan.uncertainty.intervals import interval_of_system

            system = self.measured_trials(plan, mass, Value(found.value, point))
            return replace(found, interval=interval_of_system(system, resampling))
        return with_interval(found, plan, mass, resampling)

    def priced(self, plan: Plan, mass: ScoreMass) -> ScoreMass:
        """The trials of an a-DCF, each as often as its kind costs."""
        kinds = cast("Mapping[str, str]", self.trials)
        costs = {name: float(value) for name, value in plan.measure.parameters}
        return mass.reweight(trial_weights([kinds[trial] for trial in mass.utterances], **costs))

    def default_measures(self, convention: str) -> list[str]:
        """The EER."""
        return ["utterance-eer"]

    def prepare(self, measures: Sequence[Measure], options: EvaluationOptions) -> MeasureOne:
        """Plan measures of utterances; others are refused."""
        unused = [rule for rule in options.rules if rule != "partial"]
        if unused and not isinstance(self.truth, References):
            raise UsageError(
                f"the rule {unused[0]!r} is about time, and labels of whole utterances have none; leave it out, or "
                "give references"
            )
        plans = {}
        for measure in measures:
            if measure.basis != "utterance":
                raise UsageError(
                    f"{measure} needs scores in time; of utterance scores there is utterance-{measure.kind.name}"
                )
            plans[measure] = options.plan(measure, None, trials=self.trials is not None)
        return lambda measure: self.measure(plans[measure], options.resampling)

    @property
    def higher(self) -> NoReturn:
        """There are no scores in time."""
        raise UsageError(f"--per-utterance {NEEDS_SCORES}")

    def errors_by_utterance(self, *_: Any, **__: Any) -> NoReturn:
        """There is no time to err on."""
        raise UsageError(f"--per-utterance {NEEDS_SCORES}")

    def break_down(self, by: str, *_: Any) -> NoReturn:
        """There is no time to break down."""
        raise UsageError(f"--by {by} {NEEDS_SCORES}")

    def cross(self, by: str, measure: str, options: EvaluationOptions, read_column: ReadColumn) -> CrossedBreakdown:
        """A measure by one or two columns of metadata, with a comma between them."""
        from spoofspan.evaluation.crossed import columns_of, crossed

        if by in ("kind", "length", "boundary"):
            self.break_down(by)
        wanted = Measure.parse(measure)
        self.prepare([wanted], options)
        plan = options.plan(wanted, None, trials=self.trials is not None)
        mass, _ = self.mass(plan.rules, wanted.kind.trials)
        classes = None
        if self.trials is not None:  # an attack is measured against all targets and all non-targets
            spoofed = [self.labels[trial] == "spoof" for trial in mass.utterances]
            classes = np.where(spoofed, SPOOF, BONA_FIDE).astype(np.int8)
        columns, how = columns_of(by, read_column), options.resampling
        if not wanted.kind.priced:
            return crossed(mass, plan, columns, how, classes=classes)

        def value_of(plan: Plan, mass: ScoreMass) -> Value:
            return plan.value(self.priced(plan, mass))

        return crossed(mass, plan, columns, how, value_of=value_of, system_of=self.measured_trials, classes=classes)

    def measured_trials(self, plan: Plan, mass: ScoreMass, found: Value) -> MeasuredTrials:
        """An a-DCF that was measured, ready to be measured again without a cluster."""
        from spoofspan.uncertainty.utterance_intervals import MeasuredTrials

        kinds = cast("Mapping[str, str]", self.trials)
        point = cast("OperatingPoint", found.point)
        scores = self.scores_for(plan.measure)
        return MeasuredTrials(plan.measure, scores, kinds, mass.utterances, float(found.value), point)


def _is_untimed(references: References, rules: Rules) -> bool:
    """Whether the references list spoofs alone, without durations, and no rule needs to know where utterances end."""
    untimed = references.durations is None and not references.names_both_classes
    return untimed and all(getattr(rules, name) in values for name, values in UNTIMED.items())


def _mass_of_references(
    references: References, scores: UtteranceScores, rules: Rules
) -> tuple[ScoreMass, tuple[Touched, ...]]:
    if rules.label == "rounded":
        raise UsageError("label='rounded' needs points of a resolution; utterances have label='any', or a fraction")
    touched: list[Touched] = []
    if _is_untimed(references, rules):
        # a list of spoofs says who is spoofed, though not how long anybody lasts
        rules.check_modality(references.modality)
        references, scores = pair(references, scores, rules, touched)
        spoofed = np.diff(np.concatenate(([0], np.cumsum(references.labels == SPOOF)))[references.offsets]) > 0
        return mass_of_classes(scores, np.where(spoofed, SPOOF, BONA_FIDE).astype(np.int8), "utterance scores"), tuple(
            touched
        )
    labelling, scores = drop_empty(*label_utterances(references, scores, rules, touched), touched)
    classes = classes_of(labelling.time_of(BONA_FIDE), labelling.time_of(SPOOF), rules)
    return mass_of_classes(scores, classes, f"utterance scores, {rules.label}"), tuple(touched)


def evaluate_utterances(
    truth: Truth,
    scores: UtteranceScores,
    measures: Sequence[str | Measure] = ("utterance-eer",),
    *,
    convention: str = "default",
    eer_rule: str | None = None,
    threshold: Threshold | None = None,
    scores_are: ScoresAre | None = None,
    asv_scores: VerificationScores | None = None,
    asv_rates: Sequence[float] | None = None,
    on_undefined: OnUndefined | None = None,
    resampling: Resampling | None = None,
    **rules: Unpack[RuleArguments],
) -> Evaluation:
    """Measure scores of whole utterances against a protocol, labels by utterance, or references.

    Parameters
    ----------
    truth
        A protocol, a label ("bonafide" or "spoof"; of trials "target", "nontarget" or "spoof") by utterance, or
        references.
    scores
        A score of each utterance.
    measures
        Measures of utterances (``utterance-eer``, ``utterance-min-dcf``, ...).
    convention, eer_rule, threshold, scores_are, asv_scores, asv_rates, on_undefined, resampling, **rules
        As in :func:`spoofspan.evaluate`. Labels have no time, so rules of time go with references only.

    Returns
    -------
    Evaluation
        The measurements by name.

    Examples
    --------
    >>> import numpy as np
    >>> scores = UtteranceScores(("u1", "u2", "u3"), np.array([0.9, -0.4, 0.2]), higher="bonafide")
    >>> labels = {"u1": "bonafide", "u2": "spoof", "u3": "spoof"}
    >>> evaluate_utterances(labels, scores)["utterance-eer"].value
    0.0
    """
    asv = verification_of(asv_scores, asv_rates)
    options = EvaluationOptions(convention, eer_rule, threshold, scores_are, asv, resampling, rules=rules)
    options.refuse_unused_threshold(measures)
    return UtteranceCorpus(labels_of(truth), scores).evaluate(measures, options, on_undefined)


def cross_utterances(
    truth: Truth,
    scores: UtteranceScores,
    columns: Mapping[str, Mapping[str, str]],
    measure: str = "utterance-eer",
    *,
    convention: str = "default",
    eer_rule: str | None = None,
    threshold: float | None = None,
    scores_are: ScoresAre | None = None,
    asv_scores: VerificationScores | None = None,
    asv_rates: Sequence[float] | None = None,
    resampling: Resampling | None = None,
    **rules: Unpack[RuleArguments],
) -> CrossedBreakdown:
    """Break a measure of whole utterances or trials down by one or two columns, such as attack and codec.

    Parameters
    ----------
    truth, scores
        As in :func:`spoofspan.evaluate_utterances`.
    columns
        One or two columns by name, each with a value by utterance (:func:`spoofspan.read_metadata`).
    measure
        A measure of utterances.
    asv_scores
        Scores of a verification system. Each cell takes its own trials of them.
    convention, eer_rule, threshold, scores_are, asv_rates, resampling, **rules
        As in :func:`spoofspan.evaluate`.

    Returns
    -------
    CrossedBreakdown
        A cell for every pair of values, and for all of them pooled.

    Examples
    --------
    >>> import numpy as np
    >>> attacks = {"u1": "-", "u2": "-", "u3": "A01", "u4": "A02", "u5": "A02"}
    >>> labels = {utterance: "bonafide" if attack == "-" else "spoof" for utterance, attack in attacks.items()}
    >>> scores = UtteranceScores(tuple(labels), np.array([0.9, 0.1, -0.4, 0.5, -1.0]), higher="bonafide")
    >>> found = cross_utterances(labels, scores, {"attack": attacks})
    >>> found["A01", "pooled"].value, found["A02", "pooled"].value
    (0.0, 0.5)
    """
    asv = verification_of(asv_scores, asv_rates)
    options = EvaluationOptions(convention, eer_rule, threshold, scores_are, asv, resampling, rules=rules)
    corpus = UtteranceCorpus(labels_of(truth), scores)
    return corpus.cross(",".join(columns), measure, options, columns.__getitem__)


def labels_of(truth: Truth) -> References | Mapping[str, str]:
    """The labels of a protocol; what is none stays as it is."""
    return dict(zip(truth.utterance, truth.label, strict=True)) if isinstance(truth, Protocol) else truth


def mass_of_either(
    truth: Truth, scores: Scores | UtteranceScores, measure: Measure, options: EvaluationOptions
) -> tuple[ScoreMass, str]:
    """The mass of scores in time, or of scores of whole utterances, for an EER; and by which rule it is read off."""
    if isinstance(scores, UtteranceScores):
        if measure.basis != "utterance":
            raise UsageError(f"{measure} is of scores in time, and these are of whole utterances; take utterance-eer")
        plan = options.plan(measure, None)
        return UtteranceCorpus(labels_of(truth), scores).mass(plan.rules)[0], plan.eer_rule
    if not isinstance(truth, References):
        raise UsageError(f"{measure} of scores in time needs references that say when the spoofs are, not labels alone")
    check_scores(scores)
    plan = options.plan_for(measure, scores)
    return plan.mass(truth, scores)[0], plan.eer_rule

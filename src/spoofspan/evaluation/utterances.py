"""Utterance scores of a system's own: measured against labels of whole utterances, or against references.

Where a system says of each utterance as a whole how bona fide it is, its utterance measures are those of these scores,
and not of the lowest score of each utterance. The labels are a protocol's (or any utterance -> label), or follow from
references under the rules: an utterance is spoof if any of it is, unless the rule ``label`` says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.base.errors import NothingToMeasureError, UndefinedMeasureError, UsageError
from spoofspan.base.progress import track
from spoofspan.data.protocol import Protocol
from spoofspan.data.references import BONA_FIDE, SPOOF, References
from spoofspan.data.rules import Rules, Touched
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.measurement import Measure, Measurement, parse_measures
from spoofspan.evaluation.plan import OnUndefined, Plan, ScoresAre, Undefined, plan_measure
from spoofspan.evaluation.signature import (
    Signature,
    labels_hash,
    references_hash,
    sign_hashes,
    utterance_scores_hash,
    utterances_hash,
)
from spoofspan.mass.labelling import label_references
from spoofspan.mass.points import classes_of, labels_of
from spoofspan.mass.ranges import drop_bona_fide_con, pair
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.mass.utterances import WholeUtterances, utterance_mass

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.data.rules import RuleArguments
    from spoofspan.data.verification_scores import VerificationScores
    from spoofspan.evaluation.evaluate import Evaluation
    from spoofspan.uncertainty.clusters import Resampling

Truth = References | Mapping[str, str] | Protocol
# What is done with scores in time says nothing about scores without time.
RULES_OF_TIMED_SCORES = ("uncovered", "slack", "overlong", "last_frame", "overlap", "last_point")


@dataclass(frozen=True, eq=False)
class GivenScores:
    """Utterance scores and what they are measured against; several measurements share the hashes."""

    truth: References | Mapping[str, str]
    scores: UtteranceScores

    @classmethod
    def of(cls, truth: Truth, scores: UtteranceScores) -> GivenScores:
        """Take the labels of a protocol."""
        if isinstance(truth, Protocol):
            truth = dict(zip(truth.utterance, truth.label, strict=True))
        return cls(truth, scores)

    @cached_property
    def truth_hash(self) -> str:
        """Who is spoofed, or who is spoofed when."""
        return references_hash(self.truth) if isinstance(self.truth, References) else labels_hash(self.truth)

    @cached_property
    def scores_hash(self) -> str:
        """What a system said."""
        return utterance_scores_hash(self.scores)

    def mass(self, rules: Rules) -> tuple[ScoreMass, tuple[Touched, ...]]:
        """Count utterances under each score, and say what the rules touched."""
        if isinstance(self.truth, References):
            return _mass_of_references(self.truth, self.scores, rules)
        mass = utterance_mass(self.scores, self.truth, partial=rules.partial)
        left_out = len(set(self.scores.utterances) ^ set(self.truth))
        return mass, (Touched("partial", "True", 0, left_out),) if left_out else ()

    def spelled_rules(self, plan: Plan) -> dict[str, str]:
        """The rules that count, as text."""
        if not isinstance(self.truth, References):
            return {"utterance-scores": "given", "labels": "given", "partial": str(plan.rules.partial)}
        spelled = plan.spelled_rules(self.truth.snap)
        return {"utterance-scores": "given"} | {
            rule: value for rule, value in spelled.items() if rule not in RULES_OF_TIMED_SCORES
        }

    def sign(self, plan: Plan, used: Sequence[str]) -> Signature:
        """Generate the signature of a measurement on the utterances ``used``."""
        hashes = self.truth_hash, f"{len(used)}:{utterances_hash(used)}", self.scores_hash
        signed = sign_hashes(str(plan.measure), plan.read_off, self.spelled_rules(plan), hashes, plan.rules.regions)
        return replace(signed, input=f"utterance-{signed.input}")

    def measure(self, plan: Plan, undefined: Undefined = "raise", resampling: Resampling | None = None) -> Measurement:
        """Take one measure, with an interval if it is known how to draw."""
        mass, touched = self.mass(plan.rules)
        used = mass.utterances
        noted = replace(plan, notes=(*plan.notes, "utterance scores as given"))
        found = noted.measured(mass, touched, len(used), partial(self.sign, plan, used), undefined)
        if resampling is None:
            return found
        from spoofspan.evaluation.evaluate import with_interval

        return with_interval(found, plan, mass, resampling)


def _mass_of_references(
    references: References, scores: UtteranceScores, rules: Rules
) -> tuple[ScoreMass, tuple[Touched, ...]]:
    if rules.label == "rounded":
        raise UsageError("label='rounded' needs points of a resolution; utterances have label='any', or a fraction")
    touched: list[Touched] = []
    references, scores = pair(references, scores, rules, touched)
    labelling, label_touched = label_references(references, rules)
    touched += label_touched
    chosen = drop_bona_fide_con(labelling, rules, touched)
    if chosen is not None:
        labelling, scores = labelling.take(chosen), scores.take(chosen)
    if not labelling.extents.all():
        some = np.flatnonzero(labelling.extents)
        if not some.size:
            raise NothingToMeasureError("no utterance has any time to measure; check references and durations", touched)
        labelling, scores = labelling.take(some), scores.take(some)
    part = WholeUtterances(
        scores.utterances,
        scores.values if scores.higher == "bonafide" else -scores.values,
        classes_of(*labels_of(labelling.time_of(BONA_FIDE), labelling.time_of(SPOOF), rules)),
        np.ones(len(scores), np.int64),
    )
    return ScoreMass((part,), scores.higher, "utterances", "error", f"utterance scores, {rules.label}"), tuple(touched)


def evaluate_utterances(
    truth: Truth,
    scores: UtteranceScores,
    measures: Sequence[str | Measure] = ("utterance-eer",),
    *,
    convention: str = "default",
    eer_rule: str | None = None,
    threshold: float | None = None,
    scores_are: ScoresAre | None = None,
    asv_scores: VerificationScores | None = None,
    on_undefined: OnUndefined | None = None,
    resampling: Resampling | None = None,
    **rules: Unpack[RuleArguments],
) -> Evaluation:
    """Measure utterance scores against a protocol, labels by utterance, or references.

    As :func:`spoofspan.evaluate`, for measures of utterances. ``asv_scores`` are for ``utterance-min-tdcf``,
    ``resampling`` for intervals.

    >>> scores = UtteranceScores(("u1", "u2", "u3"), np.array([0.9, -0.4, 0.2]), higher="bonafide")
    >>> labels = {"u1": "bonafide", "u2": "spoof", "u3": "spoof"}
    >>> evaluate_utterances(labels, scores)["utterance-eer"].value
    0.0
    """
    from spoofspan.evaluation.evaluate import Evaluation

    given = GivenScores.of(truth, scores)
    if isinstance(given.truth, Mapping):
        refuse_rules_of_time(rules)
    results: dict[str, Measurement] = {}
    for measure in track(parse_measures(measures), "measuring"):
        if measure.basis != "utterance":
            raise UsageError(
                f"{measure} needs scores in time; of utterance scores there is utterance-{measure.kind.name}"
            )
        plan = plan_measure(measure, None, convention, eer_rule, rules, threshold, scores_are, asv_scores)
        try:
            results[str(measure)] = given.measure(plan, resampling=resampling)
        except UndefinedMeasureError as error:
            if on_undefined is None:
                raise
            on_undefined(measure, error)
    return Evaluation(results)


def refuse_rules_of_time(rules: Mapping[str, Any]) -> None:
    """Labels of whole utterances have no time that a rule could decide on."""
    unused = [rule for rule in rules if rule != "partial"]
    if unused:
        raise UsageError(
            f"the rule {unused[0]!r} is about time, and labels of whole utterances have none; leave it out, or give "
            "references"
        )

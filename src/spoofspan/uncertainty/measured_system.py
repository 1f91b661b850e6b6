"""Systems, measured once and ready to be measured again under any weights of their clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.base.times import Float64
from spoofspan.data.references import References
from spoofspan.data.rules import RuleArguments
from spoofspan.data.scores import DECISION_THRESHOLD, Scores
from spoofspan.evaluation.plan import EvaluationOptions, Plan, ScoresAre
from spoofspan.evaluation.signature import Inputs, Signature
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.confusion import value_at
from spoofspan.measures.measure import Measure
from spoofspan.measures.operating_point import OperatingPoint
from spoofspan.uncertainty.clusters import Clusters, Method, Resampling
from spoofspan.uncertainty.eer_replicates import EerReplicates
from spoofspan.uncertainty.left_out import LeftOut, class_flags, has_slope, left_out_at, sums_by_unit
from spoofspan.uncertainty.replicates import (
    ConfusionReplicates,
    MeanReplicates,
    MeasuredReplicates,
    Replicates,
    mean_of,
)

Signer = Callable[[], Signature]


class BootstrapArguments(RuleArguments, total=False):
    """How replicates are drawn (:class:`Resampling`), under which rules, and every rule, as keyword arguments."""

    clusters: Mapping[str, str] | None
    replicates: int
    confidence: float
    method: Method
    seed: int
    workers: int
    clusters_are: str
    convention: str
    eer_rule: str | None
    scores_are: ScoresAre | None


def split_arguments(arguments: Mapping[str, Any]) -> tuple[Resampling, EvaluationOptions]:
    """Split keyword arguments into those of the bootstrap and those that say how a system is measured."""
    rest = dict(arguments)
    drawn, ruled = (
        {name: rest.pop(name) for name in names if name in rest}
        for names in (Resampling.__dataclass_fields__, ("convention", "eer_rule", "scores_are"))
    )
    return Resampling(**drawn), EvaluationOptions(**ruled, rules=rest)


@dataclass(frozen=True, eq=False)
class MeasuredSystem:
    """One system, ready to be measured under any weights."""

    plan: Plan
    mass: ScoreMass
    value: float
    signer: Signer | None = None

    @property
    def name(self) -> str:
        """What is measured."""
        return str(self.plan.measure)

    def replicates(self, clusters: Clusters) -> Replicates:
        """The fastest exact way to measure replicates."""
        units = clusters.units_of(self.mass.utterances)
        measure, plan = self.plan.measure, self.plan
        if measure.kind.group == "eer":
            return EerReplicates(self.mass, units, units=clusters.count, rule=plan.eer_rule)
        if measure.macro:
            return MeanReplicates(values_of_utterances(plan, self.mass), units, clusters.count)
        if plan.threshold is not None:
            return ConfusionReplicates(self.mass, units, clusters.count, plan.threshold, _value_at(plan))
        return MeasuredReplicates(self.mass, units, clusters.count, partial(_value, plan))

    def left_out(self, clusters: Clusters) -> LeftOut:
        """The value without each cluster in turn."""
        units, measure = clusters.units_of(self.mass.utterances), self.plan.measure
        point = None if measure.macro else self.plan.value(self.mass).point
        sums = sums_by_unit(self.mass, units, clusters.count, point)
        if point is not None and has_slope(self.plan):
            return left_out_at(self.plan, self.mass, point, self.value, sums)
        without = self.replicates(clusters).values_without_each()
        return LeftOut(without, *class_flags(sums))


@dataclass(frozen=True, kw_only=True)
class SignedSystems:
    """A result of several systems, each of which can sign its value."""

    signers: Mapping[str, Signer] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def signatures(self) -> dict[str, Signature]:
        """The signature of each system's value; hashes are computed when they are first asked for."""
        return {name: signer() for name, signer in self.signers.items()}


def signers_of(systems: Mapping[str, MeasuredSystem]) -> dict[str, Signer]:
    """What signs the value of each system."""
    return {name: system.signer for name, system in systems.items() if system.signer is not None}


def values_of_utterances(plan: Plan, mass: ScoreMass) -> Float64:
    """The value of a measure at a fixed threshold on each utterance; NaN where it has none."""
    if plan.threshold is None:
        name = str(plan.measure)
        raise UsageError(
            f"{name}: the threshold of the EER moves with the utterances that are drawn, so a mean over utterances has "
            f"no interval there; give a threshold, or measure {name.replace('-macro', '')}"
        )
    count = len(mass.utterances)
    each = ConfusionReplicates(mass, np.arange(count), count, plan.threshold, _value_at(plan))
    return each.values_of(each.columns)


def _value_at(plan: Plan) -> Callable[[OperatingPoint], float]:
    return lambda point: float(value_at(point, plan.measure.kind.name, plan.measure.positive))


def _value(plan: Plan, mass: ScoreMass) -> float:
    return float(plan.value(mass).value)


def measured_system(
    references: References, scores: Scores, measure: Measure, options: EvaluationOptions, threshold: float | None = None
) -> MeasuredSystem:
    """Settle the rules, lay over and measure once."""
    if not measure.at_threshold:
        scores.refuse_decisions(str(measure))
        if threshold is not None:
            raise UsageError(f"{measure} is not taken at a threshold; leave threshold= out")
    at = DECISION_THRESHOLD if scores.decisions else threshold
    plan = replace(options, threshold=at).plan(measure, scores.hop)
    mass, _ = plan.mass(references, scores)
    value = mean_of(values_of_utterances(plan, mass)) if measure.macro else _value(plan, mass)
    return MeasuredSystem(plan, mass, value, plan.signer(Inputs(references, scores), mass.utterances))


def measured_systems(
    references: References,
    systems: Mapping[str, Scores],
    measure: Measure,
    options: EvaluationOptions,
    thresholds: Mapping[str, float],
) -> dict[str, MeasuredSystem]:
    """Measure several systems once; those whose numbers may not be compared are refused."""
    measured = {
        name: measured_system(references, scores, measure, options, thresholds.get(name))
        for name, scores in systems.items()
    }
    # with the same references, the comparable parts of two signatures differ if and only if one of these does; nothing
    # has to be hashed
    (first_name, first), *others = measured.items()
    used = set(first.mass.utterances)
    for name, other in others:
        spelled = [
            {"measure": str(one.plan.measure), "value": one.plan.read_off, **one.plan.spelled_rules(references.snap)}
            for one in (first, other)
        ]
        differ = [key for key in spelled[0] if spelled[0][key] != spelled[1].get(key)]
        if differ:
            key = differ[0]
            raise UsageError(
                f"{first_name!r} and {name!r} are measured under different rules ({key}: {spelled[0][key]} and "
                f"{spelled[1].get(key)}), so their numbers cannot be compared; set {key} for all"
            )
        if used != set(other.mass.utterances):
            apart = sorted(used ^ set(other.mass.utterances))
            raise UsageError(
                f"{first_name!r} and {name!r} are measured on different utterances ({len(apart):,} are in one of them "
                f"only, as {apart[0]!r}); score the same utterances"
            )
    return measured

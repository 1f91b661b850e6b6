"""Systems, measured once and ready to be measured again under any weights of their clusters."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from math import isnan
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

import numpy as np

from spoofspan.base.errors import SpoofspanWarning, UsageError, nearest_name
from spoofspan.base.times import Float64, Int64
from spoofspan.data.references import References
from spoofspan.data.rules import RULES, RuleArguments
from spoofspan.data.scores import DECISION_THRESHOLD, Scores
from spoofspan.data.sides import check_sides, check_systems
from spoofspan.evaluation.measurement import warnings_for
from spoofspan.evaluation.plan import EvaluationOptions, Plan, ScoresAre, no_point
from spoofspan.evaluation.signature import Inputs, Signature
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.catalogue import EVENT
from spoofspan.measures.confusion import value_at
from spoofspan.measures.costs import least_score_costs, score_costs
from spoofspan.measures.curve import error_curve_of
from spoofspan.measures.measure import Measure
from spoofspan.measures.operating_point import OperatingPoint, Threshold
from spoofspan.uncertainty.clusters import Clusters, Resampling, dealt
from spoofspan.uncertainty.curve_replicates import AucReplicates, CostReplicates, curve_replicates
from spoofspan.uncertainty.eer_replicates import EerReplicates, gather_all
from spoofspan.uncertainty.left_out import LeftOut, class_flags, formula_at, has_slope, left_out_at, sums_by_unit
from spoofspan.uncertainty.methods import Method
from spoofspan.uncertainty.optimism import halves, optimism
from spoofspan.uncertainty.replicates import (
    ConfusionReplicates,
    MeanReplicates,
    MeasuredReplicates,
    Replicates,
    mean_of,
)

if TYPE_CHECKING:
    from spoofspan.data.proposals import Proposals

Signer = Callable[[], Signature]
# Of measures without a fast way, more clusters than this are left out in groups.
MOST_LEFT_OUT, GROUPS_LEFT_OUT = 2000, 1000
# Measures that are taken at the best of all thresholds.
BEST_OF_ALL = ("min-dcf", "min-tdcf", "best-f1")
# Of the evaluation; the last three say how proposals are made for event measures.
OPTIONS = ("convention", "eer_rule", "scores_are", "smoothing", "min_duration", "merge_gap")


class Measured(Protocol):
    """One measure of one system, ready to be taken again without any cluster."""

    @property
    def measure(self) -> Measure:
        """What is measured."""

    @property
    def value(self) -> float:
        """Its value on the test set."""

    @property
    def utterances(self) -> Sequence[str]:
        """What it was measured on."""

    @property
    def signer(self) -> Signer | None:
        """What signs the value."""

    def left_out(self, clusters: Clusters) -> LeftOut:
        """The value without each cluster in turn."""

    def replicates(self, clusters: Clusters) -> Replicates:
        """The fastest exact way to measure draws of clusters."""

    def amounts(self, clusters: Clusters) -> Int64:
        """What each cluster has of both classes."""


class BootstrapArguments(RuleArguments, total=False):
    """How replicates are drawn, how a system is measured, and every rule, as keyword arguments."""

    clusters: Mapping[str, str] | None
    replicates: int
    confidence: float
    method: Method
    seed: int
    workers: int | None
    clusters_are: str
    convention: str
    eer_rule: str | None
    scores_are: ScoresAre | None
    smoothing: int | None
    min_duration: float
    merge_gap: float


def split_arguments(arguments: Mapping[str, Any]) -> tuple[Resampling, EvaluationOptions]:
    """Split keyword arguments into those of the bootstrap and those that say how a system is measured."""
    rest = dict(arguments)
    drawn, ruled = (
        {name: rest.pop(name) for name in names if name in rest} for names in (Resampling.__dataclass_fields__, OPTIONS)
    )
    for name in rest:
        if name not in RULES:
            valid = (*Resampling.__dataclass_fields__, *OPTIONS, *RULES)
            raise UsageError(f"unknown argument {name!r}: {nearest_name(name, valid)}")
    return Resampling(**drawn), EvaluationOptions(**ruled, rules=rest)


@dataclass(frozen=True, eq=False)
class MeasuredSystem:
    """One system, ready to be measured under any weights."""

    plan: Plan
    mass: ScoreMass
    value: float
    signer: Signer | None = None
    found_at: OperatingPoint | None = None  # where the value was taken, if that is known

    @property
    def measure(self) -> Measure:
        """What is measured."""
        return self.plan.measure

    @property
    def utterances(self) -> Sequence[str]:
        """What it was measured on."""
        return self.mass.utterances

    def amounts(self, clusters: Clusters) -> Int64:
        """What each cluster has of both classes."""
        return sums_by_unit(self.mass, clusters.units_of(self.utterances), clusters.count, None)

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
        return self._over_thresholds(units, clusters.count) or MeasuredReplicates(
            self.mass, units, clusters.count, plan.number
        )

    def _over_thresholds(self, units: Int64, count: int) -> Replicates | None:
        """A fast way for measures over all thresholds; None if there is none."""
        mass, plan, measure = self.mass, self.plan, self.plan.measure
        kind = measure.kind.name
        if kind == "act-dcf":
            at, formula = self._point.threshold, formula_at(plan)
            return ConfusionReplicates(mass, units, count, at, lambda point: float(formula.at(point)))
        if kind == "cllr":
            return CostReplicates(mass, units, count, self._score_costs)
        if kind == "auc":
            gathered = gather_all(mass, units, count)
            return None if gathered is None else AucReplicates(mass, gathered)
        if measure.given is not None:
            name, bound = measure.given
            # one rate is as low as the bound on the other allows: at the last threshold within it
            if measure.positive == "spoof" and (name, kind) in (("fpr", "fnr"), ("fpr", "recall"), ("fnr", "fpr")):
                limit = cast("Literal['fpr', 'fnr']", name), Fraction(bound)
                return curve_replicates(mass, units, count, formula_at(plan), "spoof", limit)
            return None
        if kind in BEST_OF_ALL:
            return curve_replicates(mass, units, count, formula_at(plan), measure.positive)
        return None

    @cached_property
    def _point(self) -> OperatingPoint:
        """The operating point of the value; the threshold is NaN where there is none."""
        return self.found_at or self.plan.value(self.mass).point or no_point(self.mass)

    def _score_costs(self, scores: Float64) -> tuple[Float64, Float64]:
        return score_costs(scores, self.mass.higher, cast("ScoresAre", self.plan.scores_are))

    def left_out(self, clusters: Clusters) -> LeftOut:
        """The value without each cluster in turn."""
        units, measure = clusters.units_of(self.mass.utterances), self.plan.measure
        if not measure.macro and has_slope(self.plan) and not isnan(self._point.threshold):
            sums = sums_by_unit(self.mass, units, clusters.count, self._point)
            left_out = left_out_at(self.plan, self.mass, self._point, self.value, sums)
            if measure.kind.name not in BEST_OF_ALL:
                return left_out
            engine = self.replicates(clusters)
            return replace(left_out, optimism=optimism(self.value, engine.values(halves(*class_flags(sums)))))
        flags = class_flags(sums_by_unit(self.mass, units, clusters.count, None))
        if measure.kind.name == "min-cllr":  # the best map of the scores stays: a small change of it costs nothing
            costs = least_score_costs(error_curve_of(self.mass))
            return LeftOut(CostReplicates(self.mass, units, clusters.count, costs).values_without_each(), *flags)
        engine = self.replicates(clusters)
        if isinstance(engine, MeasuredReplicates) and clusters.count > MOST_LEFT_OUT:
            group = dealt(GROUPS_LEFT_OUT, *flags)
            engine = MeasuredReplicates(self.mass, group[units], GROUPS_LEFT_OUT, self.plan.number)
        return LeftOut(engine.values_without_each(), *flags)


@dataclass(frozen=True, kw_only=True)
class SignedSystems:
    """A result of several systems, each of which can sign its value."""

    signers: Mapping[str, Signer] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def signatures(self) -> dict[str, Signature]:
        """The signature of each system's value; hashes are computed when they are first asked for."""
        return {name: signer() for name, signer in self.signers.items()}

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled or copied: the signatures, and not the corpus that is needed to make them."""
        return {**vars(self), "signers": {name: partial(replace, one) for name, one in self.signatures.items()}}


def signers_of(systems: Mapping[str, Measured]) -> dict[str, Signer]:
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
    measure = plan.measure
    return lambda point: float(value_at(point, measure.kind.name, measure.positive, measure.parameters))


def measured_system(
    references: References,
    scores: Scores,
    measure: Measure,
    options: EvaluationOptions,
    threshold: Threshold | None = None,
) -> MeasuredSystem:
    """Settle the rules, lay over and measure once."""
    check_sides(references, scores)
    if not measure.at_threshold:
        scores.refuse_decisions(str(measure))
        if threshold is not None:
            raise UsageError(f"{measure} is not taken at a threshold; leave threshold= out")
    at = DECISION_THRESHOLD if scores.decisions else threshold
    plan = replace(options, threshold=at).plan(measure, scores.hop)
    mass, _ = plan.mass(references, scores)
    signer = plan.signer(Inputs(references, scores), mass.utterances)
    if measure.macro:
        return MeasuredSystem(plan, mass, mean_of(values_of_utterances(plan, mass)), signer)
    found = plan.value(mass)
    return MeasuredSystem(plan, mass, float(found.value), signer, found.point)


def measured_systems(
    references: References,
    systems: Mapping[str, Scores | Proposals],
    measure: Measure,
    options: EvaluationOptions,
    thresholds: Mapping[str, float],
    *,
    unpaired: bool = False,
) -> dict[str, Measured]:
    """Measure several systems once; those whose numbers may not be compared are refused.

    Systems on different utterances are, too, unless they are meant to be (``unpaired``).
    """
    check_systems(systems)
    for system in systems.values():
        check_sides(references, system, proposals=True)
    measured: dict[str, Measured] = {}
    rules: dict[str, Mapping[str, str]] = {}
    for name, system in systems.items():
        if measure.basis == EVENT:
            from spoofspan.uncertainty.event_intervals import measured_events

            measured[name], rules[name] = measured_events(references, system, measure, options, thresholds.get(name))
        elif isinstance(system, Scores):
            found = measured_system(references, system, measure, options, thresholds.get(name))
            measured[name] = found
            rules[name] = {"value": found.plan.read_off, **found.plan.rules.spelled(found.plan.kind)}
            if measure.kind.group == "eer" and found.found_at is not None:
                for text in warnings_for(found.value, found.found_at, found.plan.eer_rule):
                    warnings.warn(f"{name}, {measure}: {text}", SpoofspanWarning, stacklevel=4)
        else:
            raise UsageError(f"{measure} needs scores, and {name!r} has proposals; compare by event-ap@iou=0.5")
    # numbers of the same measure on the same references may be compared if these are equal; nothing has to be hashed
    (first_name, first), *others = measured.items()
    used = set(first.utterances)
    for name, other in others:
        one, two = rules[first_name], rules[name]
        differ = [key for key in {**one, **two} if one.get(key) != two.get(key)]
        if differ:
            key = differ[0]
            raise UsageError(
                f"{first_name!r} and {name!r} are measured under different rules ({key}: {one.get(key)} and "
                f"{two.get(key)}), so their numbers cannot be compared; set {key} for all"
            )
        if not unpaired and used != set(other.utterances):
            apart = sorted(used ^ set(other.utterances))
            raise UsageError(
                f"{first_name!r} and {name!r} are measured on different utterances ({len(apart):,} are in one of them "
                f"only, as {apart[0]!r}); score the same utterances, or compare them with unpaired=True"
            )
    return measured

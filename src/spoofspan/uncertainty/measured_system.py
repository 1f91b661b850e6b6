"""Systems that are measured once, and again under other weights of their clusters for intervals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial, singledispatch
from math import isnan
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np

from spoofspan.base.columns import Flags
from spoofspan.base.errors import SpoofspanWarning, UsageError, nearest_name, warn_user
from spoofspan.base.times import Float64, Int64
from spoofspan.data.front_door import of_whole_utterances
from spoofspan.data.proposals import Proposals
from spoofspan.data.rules import RULES
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.corpus import Corpus, Signer, corpus_of
from spoofspan.evaluation.plan import EvaluationOptions, MeasuringArguments, Plan, no_point
from spoofspan.evaluation.signature import Signature
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.catalogue import EVENT
from spoofspan.measures.confusion import Formula
from spoofspan.measures.kind import BestKind, EerKind, Kind, PairKind, RatioKind, ScoreCostKind, StatedKind, Value
from spoofspan.measures.measure import Measure
from spoofspan.measures.operating_point import OperatingPoint, Threshold
from spoofspan.uncertainty.clusters import Clusters, Grouping, Resampling, dealt
from spoofspan.uncertainty.curve_replicates import AucReplicates, CostReplicates, EerReplicates, curve_replicates
from spoofspan.uncertainty.gathered import gather_all
from spoofspan.uncertainty.left_out import LeftOut, class_flags, left_out_at, sums_by_unit
from spoofspan.uncertainty.methods import Method
from spoofspan.uncertainty.optimism import BETTER, BETTER_CALIBRATED, halves, optimism
from spoofspan.uncertainty.replicates import (
    ConfusionReplicates,
    MeanReplicates,
    MeasuredReplicates,
    Replicates,
)

if TYPE_CHECKING:
    from spoofspan.evaluation.utterances import Truth
    from spoofspan.uncertainty.event_intervals import MeasuredEvents
    from spoofspan.uncertainty.trial_intervals import MeasuredTrials

# One measure of one system, for intervals.
Measured: TypeAlias = "MeasuredSystem | MeasuredEvents | MeasuredTrials"
# With more clusters than the first, measures without a fast way leave out as many groups as the second.
MOST_LEFT_OUT, GROUPS_LEFT_OUT = 2000, 1000
# Options of measures; the last three are for making proposals.
OPTIONS = ("convention", "eer_rule", "scores_are", "asv_scores", "asv_rates", "smoothing", "min_duration", "merge_gap")
System: TypeAlias = "Scores | Proposals | UtteranceScores"  # of one training


class OnlyLeftOut:
    """A measured system whose clusters cannot be drawn."""

    def replicates(self, clusters: Clusters) -> Replicates:
        """Refuse to draw clusters."""
        measure = cast("Measured", self).measure
        raise UsageError(f"{measure} has intervals by the method 'jackknife-t' only; leave method= (--interval) out")

    def amounts(self, clusters: Clusters) -> Int64:
        """Refuse to draw clusters."""
        raise UsageError(f"{cast('Measured', self).measure}: clusters cannot be drawn")


class OfPlan:
    """A value that was measured under a plan."""

    plan: Plan

    @property
    def measure(self) -> Measure:
        """Measure of the value."""
        return self.plan.measure

    @property
    def shared(self) -> Mapping[str, str]:
        """Settings that two numbers must share to be compared."""
        return self.plan.shared


def leave_out(system: Measured, clusters: Clusters) -> LeftOut:
    """The values without each cluster, and without each level of the factors crossed with them."""
    found = replace(system.left_out(clusters), factor=clusters.factor, alone=clusters.alone, sign=clusters.sign)
    others = tuple(leave_out(system, one) for one in clusters.crossed)
    cautions = dict.fromkeys(text for one in (found, *others) if one.factor for text in one.cautions)
    return replace(found, crossed=others, cautions=tuple(cautions))


def clusters_of(systems: Iterable[Measured], how: Resampling, utterances: Sequence[str] | None = None) -> Clusters:
    """The clusters of several systems, by default of all utterances that any of them was measured on.

    Leaving out a cluster that a system does not have does not change its value.
    """
    some = list(systems)
    if utterances is None:
        utterances = list(dict.fromkeys(utt for one in some for utt in one.utterances))
    return Clusters.of(utterances, how.clusters, how.clusters_are, lambda: {utt for one in some for utt in one.spoofed})


class BootstrapArguments(MeasuringArguments, total=False):
    """Settings of intervals and of a measurement, and every rule, as keyword arguments."""

    clusters: Grouping | None
    replicates: int
    confidence: float
    method: Method
    seed: int
    clusters_are: str


def split_arguments(arguments: Mapping[str, Any]) -> tuple[Resampling, EvaluationOptions]:
    """Split keyword arguments into settings of intervals and of a measurement."""
    drawn = {name: value for name, value in arguments.items() if name in Resampling.__dataclass_fields__}
    rest = {name: value for name, value in arguments.items() if name not in drawn}
    for name in rest:
        if name not in (*OPTIONS, *RULES):
            valid = (*Resampling.__dataclass_fields__, *OPTIONS, *RULES)
            raise UsageError(f"unknown argument {name!r}: {nearest_name(name, valid)}")
    return Resampling(**drawn), EvaluationOptions.from_arguments(rest)


@dataclass(frozen=True, eq=False)
class MeasuredSystem(OfPlan):
    """One measure of one system in time or of whole utterances, for intervals."""

    plan: Plan
    mass: ScoreMass
    value: float
    signer: Signer | None = None
    found_at: OperatingPoint | None = None  # of the value, if it is known

    @property
    def utterances(self) -> Sequence[str]:
        """Utterances that were measured."""
        return self.mass.utterances

    @property
    def spoofed(self) -> Collection[str]:
        """The utterances with any spoof."""
        count = len(self.utterances)
        _, spoof = class_flags(sums_by_unit(self.mass, np.arange(count), count, None))
        return {self.utterances[i] for i in np.flatnonzero(spoof).tolist()}

    def amounts(self, clusters: Clusters) -> Int64:
        """Amounts of both classes in each cluster."""
        return sums_by_unit(self.mass, clusters.units_of(self.utterances), clusters.count, None)

    def replicates(self, clusters: Clusters) -> Replicates:
        """The fastest exact way to measure replicates."""
        units = clusters.units_of(self.mass.utterances)
        if self.measure.macro:
            return MeanReplicates(values_of_utterances(self.plan, self.mass), units, clusters.count)
        return fast_replicates(self.measure.kind, self, units, clusters.count) or MeasuredReplicates(
            self.mass, units, clusters.count, self.plan.number
        )

    @cached_property
    def point(self) -> OperatingPoint:
        """The operating point of the value; its threshold is NaN without one."""
        return self.found_at or self.plan.value(self.mass).point or no_point(self.mass)

    def left_out(self, clusters: Clusters) -> LeftOut:
        """The values without each cluster."""
        units, count, kind = clusters.units_of(self.mass.utterances), clusters.count, self.measure.kind
        formula = None if self.measure.macro else kind.rates_formula(self.plan)
        if formula is not None and not isnan(self.point.threshold):
            sums = sums_by_unit(self.mass, units, count, self.point)
            left_out = left_out_at(self.plan, formula, self.mass, self.point, self.value, sums)
            return self._corrected(left_out, clusters, class_flags(sums))
        flags = class_flags(sums_by_unit(self.mass, units, count, None))
        costs = kind.score_costs(self.plan, self.mass)
        if costs is not None:
            without = CostReplicates(self.mass, units, count, costs).values_without_each()
            return self._corrected(LeftOut(without, *flags), clusters, flags)
        engine = self.replicates(clusters)
        if isinstance(engine, MeasuredReplicates) and count > MOST_LEFT_OUT:
            group = dealt(GROUPS_LEFT_OUT, *flags)
            engine = MeasuredReplicates(self.mass, group[units], GROUPS_LEFT_OUT, self.plan.number)
        return self._corrected(LeftOut(engine.values_without_each(), *flags), clusters, flags)

    def _corrected(self, left_out: LeftOut, clusters: Clusters, flags: tuple[Flags, Flags]) -> LeftOut:
        """The values without each cluster, with the optimism of a value that is fitted to this corpus."""
        if not self.measure.kind.optimistic:
            return left_out
        few_calibrated = isinstance(self.measure.kind, ScoreCostKind) and self.measure.basis == "utterance"
        better = BETTER_CALIBRATED if few_calibrated else BETTER
        of_halves = self.replicates(clusters).values(halves(*flags))
        return replace(left_out, optimism=optimism(self.value, of_halves, better))


@singledispatch
def fast_replicates(kind: Kind, system: MeasuredSystem, units: Int64, count: int) -> Replicates | None:
    """A fast way to measure replicates; None if the family of the measure has none."""
    return None


@fast_replicates.register(EerKind)
def _of_eer(kind: EerKind, system: MeasuredSystem, units: Int64, count: int) -> Replicates:
    return EerReplicates(system.mass, units, units=count, rule=system.plan.eer_rule)


@fast_replicates.register(RatioKind)
def _of_ratio(kind: RatioKind, system: MeasuredSystem, units: Int64, count: int) -> Replicates | None:
    mass, plan, measure = system.mass, system.plan, system.measure
    if plan.threshold is not None:
        return ConfusionReplicates(mass, units, count, plan.threshold, _value_at(plan))
    if measure.given is None or measure.positive != "spoof":
        return None
    name, bound = measure.given
    # one rate is at its minimum at the last threshold where the other is within its bound
    if (name, kind.of_class) not in (("fpr", "positives"), ("fnr", "negatives")):
        return None
    limit = cast("Literal['fpr', 'fnr']", name), Fraction(bound)
    return curve_replicates(mass, units, count, kind.ratio(measure.parameters), "spoof", limit)


@fast_replicates.register(PairKind)
def _of_pairs(kind: PairKind, system: MeasuredSystem, units: Int64, count: int) -> Replicates | None:
    gathered = gather_all(system.mass, units, count)
    return None if gathered is None else AucReplicates(system.mass, gathered)


@fast_replicates.register(ScoreCostKind)
def _of_score_costs(kind: ScoreCostKind, system: MeasuredSystem, units: Int64, count: int) -> Replicates | None:
    if kind.optimistic:  # fitted anew to each draw
        return None
    return CostReplicates(system.mass, units, count, kind.score_costs(system.plan, system.mass))


@fast_replicates.register(BestKind)
def _at_best_threshold(kind: BestKind, system: MeasuredSystem, units: Int64, count: int) -> Replicates | None:
    return curve_replicates(system.mass, units, count, kind.rates_formula(system.plan), system.measure.positive)


@fast_replicates.register(StatedKind)
def _at_stated_threshold(kind: StatedKind, system: MeasuredSystem, units: Int64, count: int) -> Replicates:
    return ConfusionReplicates(system.mass, units, count, system.point.threshold, _value_at(system.plan))


@dataclass(frozen=True, kw_only=True)
class SignedSystems:
    """A result of several systems, each of which can sign its value."""

    signers: Mapping[str, Signer] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def signatures(self) -> dict[str, Signature]:
        """The signature of each system's value; hashes are computed on first access."""
        return {name: signer() for name, signer in self.signers.items()}

    def __getstate__(self) -> dict[str, Any]:
        """State for pickling and copying, with the signatures instead of the corpus behind them."""
        return {**vars(self), "signers": {name: partial(replace, one) for name, one in self.signatures.items()}}


def signers_of(systems: Mapping[str, Measured]) -> dict[str, Signer]:
    """For each system, a function that signs its value."""
    return {name: system.signer for name, system in systems.items() if system.signer is not None}


def values_of_utterances(plan: Plan, mass: ScoreMass) -> Float64:
    """The value of a measure at a fixed threshold on each utterance; NaN without a value."""
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
    """A function that computes the value of a measure at an operating point."""
    formula, positive = cast("Formula", plan.measure.kind.rates_formula(plan)), plan.measure.positive
    return lambda point: float(formula.at(point, positive))


def measured_system(
    truth: Truth | Corpus,
    system: System,
    measure: Measure,
    options: EvaluationOptions,
    threshold: Threshold | None = None,
) -> Measured:
    """Measure a system once, for intervals."""
    return _measured(corpus_of(truth, system), measure, options, threshold)


def _measured(corpus: Corpus, measure: Measure, options: EvaluationOptions, threshold: Threshold | None) -> Measured:
    if threshold is not None and not measure.takes_threshold:
        raise UsageError(f"{measure} is not taken at a threshold; leave threshold= out")
    return corpus.ready(measure, replace(options, threshold=threshold, resampling=None))


def measured_systems(
    truth: Truth,
    systems: Mapping[str, System],
    measure: Measure,
    options: EvaluationOptions,
    thresholds: Mapping[str, float],
    *,
    unpaired: bool = False,
    utterances: Sequence[str] | None = None,
) -> dict[str, Measured]:
    """Measure several systems once, on all or some utterances; incomparable systems are refused.

    Systems on different utterances are refused unless they are ``unpaired``.
    """
    of_whole_utterances(systems)  # refuses a mixture
    corpora = {name: corpus_of(truth, one) for name, one in systems.items()}  # all are checked before any is measured
    if utterances is not None:
        corpora = {name: one.take(utterances) for name, one in corpora.items()}
    measured: dict[str, Measured] = {}
    for name, corpus in corpora.items():
        if isinstance(systems[name], Proposals) and measure.basis != EVENT:
            raise UsageError(f"{measure} needs scores, and {name!r} has proposals; compare by event-ap@iou=0.5")
        measured[name] = found = _measured(corpus, measure, options, thresholds.get(name))
        if isinstance(found, MeasuredSystem):
            for text in measure.kind.cautions(found.plan, Value(found.value, found.found_at)):
                warn_user(f"{name}, {measure}: {text}", SpoofspanWarning)
    # numbers of the same measure on the same references may be compared if these are equal; nothing has to be hashed
    (first_name, first), *others = measured.items()
    used = set(first.utterances)
    for name, other in others:
        one, two = first.shared, other.shared
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

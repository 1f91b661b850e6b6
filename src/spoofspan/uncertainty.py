"""Uncertainty: how far a number would move if the test set had been another one of the same kind.

The *cluster bootstrap*: draw as many clusters as there are, with replacement; measure what was drawn, exactly; repeat.
Clusters are what was sampled independently: speakers where they are known, utterances otherwise, **never frames**. The
frames of an utterance are alike, so counting them as independent makes an interval too narrow (``docs/uncertainty.md``
shows by how much: up to half as wide as it should be in the simulation).

``percentile``: the interval between two quantiles of the replicates. ``bca`` (Efron, 1987): the same with quantiles
that are corrected for bias and for acceleration; the acceleration comes from leaving out each cluster once.

Replicate b has a random stream of its own, made of the seed and b, so the result has the same bits on any number of
workers. A replicate on which the measure has no value (one class only) is drawn again, and counted.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from spoofspan.errors import DataError, SpoofspanWarning, UndefinedMeasureError, UsageError
from spoofspan.mass import ScoreMass
from spoofspan.measures import Measure
from spoofspan.nanoseconds import Float64, Int64
from spoofspan.operating_point import OperatingPoint
from spoofspan.plan import Plan, plan_measure
from spoofspan.progress import progress
from spoofspan.references import References
from spoofspan.replicates import ConfusionReplicates, EerReplicates, MeasuredReplicates, Replicates
from spoofspan.scores import DECISION_THRESHOLD, Scores
from spoofspan.valuing import ScoresAre, value_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.rules import RuleArguments

Method = Literal["percentile", "bca"]
METHODS = ("percentile", "bca")
# With fewer clusters the replicates say too little about other test sets; the interval is too narrow.
FEW_CLUSTERS = 30
# BCa reads quantiles further out than they are asked for.
FEWEST_FOR_BCA = 2000
# So many weights are held at once by a worker.
WEIGHTS_HELD = 1 << 21
MOST_REDRAWS = 1000


@dataclass(frozen=True, eq=False)
class Interval:
    """An estimate with its interval."""

    measure: str
    estimate: float
    low: float
    high: float
    level: float
    method: Method
    clusters: int
    redrawn: int
    standard_error: float
    replicates: Float64 = field(repr=False)
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        drawn = f", {self.redrawn} drawn again" if self.redrawn else ""
        lines = [
            f"{self.measure} {self.estimate:.5g}, {100 * self.level:g} % interval {self.low:.5g} to {self.high:.5g} "
            f"({self.method}, {self.replicates.size:,} replicates of {self.clusters:,} clusters{drawn})"
        ]
        return "\n".join([*lines, *(f"  warning: {text}" for text in self.warnings)])

    def to_dict(self) -> dict[str, Any]:
        """Everything but the replicates as plain data."""
        return {
            "measure": self.measure,
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "method": self.method,
            "clusters": self.clusters,
            "replicates": int(self.replicates.size),
            "redrawn": self.redrawn,
            "standard_error": self.standard_error,
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True)
class Resampling:
    """How replicates are drawn, and what is read off them."""

    replicates: int = 2000
    confidence: float = 0.95
    method: Method = "percentile"
    seed: int = 0
    workers: int = 1

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UsageError(f"method={self.method!r}: valid: {', '.join(map(repr, METHODS))}")
        if not 0 < self.confidence < 1:
            raise UsageError(f"confidence={self.confidence!r}: must lie between 0 and 1, as 0.95")
        if self.replicates < 1 or self.workers < 1 or self.seed < 0:
            raise UsageError("replicates and workers must be at least 1, seed at least 0")
        if self.method == "bca" and self.replicates < FEWEST_FOR_BCA:
            raise UsageError(f"method='bca' needs at least {FEWEST_FOR_BCA:,} replicates; use more, or 'percentile'")
        if (self.replicates + 1) * (1 - self.confidence) / 2 < 1:
            raise UsageError(
                f"{self.replicates} replicates are too few for an interval at {self.confidence:g}; "
                f"use at least {int(np.ceil(2 / (1 - self.confidence)))}"
            )


def bootstrap(
    references: References,
    scores: Scores,
    measure: str | Measure = "range-eer",
    *,
    clusters: Mapping[str, str] | None = None,
    replicates: int = 2000,
    confidence: float = 0.95,
    method: Method = "percentile",
    seed: int = 0,
    workers: int = 1,
    convention: str = "default",
    eer_rule: str | None = None,
    threshold: float | None = None,
    scores_are: ScoresAre | None = None,
    **rules: Unpack[RuleArguments],
) -> Interval:
    """Give a measure its interval, by a bootstrap over clusters.

    ``clusters`` says to which cluster (speaker, session, source recording) each utterance belongs; None: each
    utterance is one. EERs and measures at a fixed ``threshold`` are fast; others are measured anew for each replicate.

    >>> import spoofspan.demo
    >>> corpus = spoofspan.demo.load()
    >>> interval = bootstrap(corpus.references, corpus.systems[0.02], replicates=500)
    >>> interval.low < interval.estimate < interval.high
    True
    """
    how = Resampling(replicates, confidence, method, seed, workers)
    settings = Settings(convention, eer_rule, scores_are, rules)
    system = measured_system(references, scores, Measure.parse(measure), settings, threshold)
    drawn = Clusters.of(system.mass.utterances, clusters)
    return _interval_of(str(system.plan.measure), system.value, system.replicates(drawn), drawn, how)


def bootstrap_of(
    mass: ScoreMass,
    function: Callable[[ScoreMass], float],
    *,
    clusters: Mapping[str, str] | None = None,
    replicates: int = 2000,
    confidence: float = 0.95,
    method: Method = "percentile",
    seed: int = 0,
    workers: int = 1,
) -> Interval:
    """As :func:`bootstrap`, for any function of a mass; it is called once per replicate."""
    how = Resampling(replicates, confidence, method, seed, workers)
    drawn = Clusters.of(mass.utterances, clusters)
    engine = MeasuredReplicates(mass, drawn.units_of(mass.utterances), drawn.count, function)
    return _interval_of(getattr(function, "__name__", "value"), float(function(mass)), engine, drawn, how)


def _interval_of(name: str, value: float, engine: Replicates, drawn: Clusters, how: Resampling) -> Interval:
    cautions = drawn.cautions()
    for caution in cautions:
        warnings.warn(f"{name}: {caution}", SpoofspanWarning, stacklevel=3)
    sample = draw_replicates([engine], how)
    return interval(
        name, value, sample.values[0], how, drawn.count, sample.redrawn, engine.values_without_each, cautions
    )


# --- Clusters -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Clusters:
    """What is drawn: clusters in the order of their names, and to which one each utterance belongs."""

    names: tuple[str, ...]
    unit_of: Mapping[str, int]

    @classmethod
    def of(cls, utterances: Sequence[str], clusters: Mapping[str, str] | None) -> Clusters:
        """Group utterances; the order in which they are given makes no difference."""
        if clusters is None:
            names = sorted(utterances)
            of_utterance = {utt: utt for utt in utterances}
        else:
            missing = [utt for utt in utterances if utt not in clusters]
            if missing:
                listed = ", ".join(map(repr, missing[:20]))
                raise DataError(f"{len(missing):,} utterances belong to no cluster: {listed}; name one for each")
            of_utterance = {utt: clusters[utt] for utt in utterances}
            names = sorted(set(of_utterance.values()))
        if len(names) < 2:
            raise UsageError("a bootstrap needs at least two clusters; draw utterances (clusters=None) instead")
        place = {name: i for i, name in enumerate(names)}
        return cls(tuple(names), {utt: place[name] for utt, name in of_utterance.items()})

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.names)

    def units_of(self, utterances: Sequence[str]) -> Int64:
        """The cluster of each utterance, as a number."""
        return np.fromiter((self.unit_of[utt] for utt in utterances), np.int64, len(utterances))

    def cautions(self) -> tuple[str, ...]:
        """Reasons to look twice at an interval."""
        if self.count >= FEW_CLUSTERS:
            return ()
        return (
            f"{self.count} clusters are few (under {FEW_CLUSTERS}): the interval is likely too narrow; say how many "
            "there are wherever it is printed",
        )


# --- What is measured ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """Under which rules all systems are measured."""

    convention: str = "default"
    eer_rule: str | None = None
    scores_are: ScoresAre | None = None
    rules: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class MeasuredSystem:
    """One system, ready to be measured under any weights."""

    plan: Plan
    mass: ScoreMass
    value: float

    def replicates(self, clusters: Clusters) -> Replicates:
        """The fastest exact way to measure replicates."""
        units = clusters.units_of(self.mass.utterances)
        measure, plan = self.plan.measure, self.plan
        if measure.kind.group == "eer":
            return EerReplicates(self.mass, units, units=clusters.count, rule=plan.eer_rule)
        if plan.threshold is not None:
            return self.confusions(clusters, plan.threshold)
        function = partial(_value, plan)
        return MeasuredReplicates(self.mass, units, clusters.count, function)

    def confusions(self, clusters: Clusters, threshold: float) -> ConfusionReplicates:
        """The confusion matrices of clusters at a fixed threshold."""
        from spoofspan.detection import value_at

        measure = self.plan.measure

        def at(point: OperatingPoint) -> float:
            return float(value_at(point, measure.kind.name, measure.positive))

        units = clusters.units_of(self.mass.utterances)
        return ConfusionReplicates(self.mass, units, clusters.count, threshold, at)


def _value(plan: Plan, mass: ScoreMass) -> float:
    return float(value_of(mass, plan.measure, plan.eer_rule, plan.threshold, plan.scores_are).value)


def measured_system(
    references: References,
    scores: Scores,
    measure: Measure,
    settings: Settings,
    threshold: float | None = None,
) -> MeasuredSystem:
    """Settle the rules, lay over and measure once."""
    if measure.macro:
        raise UsageError(f"{measure}: no interval for a mean over utterances; use {str(measure).replace('-macro', '')}")
    at_threshold = measure.kind.group == "threshold" and measure.given is None
    if scores.decisions:
        if not at_threshold:
            scores.refuse_decisions(str(measure))
        threshold = DECISION_THRESHOLD
    if threshold is not None and not at_threshold:
        raise UsageError(f"{measure} is not taken at a threshold; leave threshold= out")
    plan = plan_measure(
        measure,
        scores.hop,
        settings.convention,
        settings.eer_rule,
        settings.rules,
        threshold,
        settings.scores_are,
    )
    mass, _ = plan.mass(references, scores)
    return MeasuredSystem(plan, mass, _value(plan, mass))


def same_basis(systems: Mapping[str, MeasuredSystem], references: References) -> None:
    """Refuse systems whose numbers may not be compared.

    With the same references, the comparable parts of two signatures differ if and only if one of these does; nothing
    has to be hashed.
    """
    names = list(systems)
    first = systems[names[0]]
    used = set(first.mass.utterances)
    for name in names[1:]:
        other = systems[name]
        spelled = [
            {"measure": str(one.plan.measure), "value": one.plan.read_off, **one.plan.spelled_rules(references.snap)}
            for one in (first, other)
        ]
        differ = [key for key in spelled[0] if spelled[0][key] != spelled[1].get(key)]
        if differ:
            key = differ[0]
            raise UsageError(
                f"{names[0]!r} and {name!r} are measured under different rules ({key}: {spelled[0][key]} and "
                f"{spelled[1].get(key)}), so their numbers cannot be compared; set {key} for all"
            )
        if used != set(other.mass.utterances):
            apart = sorted(used ^ set(other.mass.utterances))
            raise UsageError(
                f"{names[0]!r} and {name!r} are measured on different utterances ({len(apart):,} are in one of them "
                f"only, as {apart[0]!r}); score the same utterances"
            )


# --- Drawing ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sample:
    """The values of replicates: a row for each system, a column for each replicate."""

    values: Float64
    redrawn: int


def stream(seed: int, replicate: int) -> np.random.Generator:
    """The random stream of one replicate."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(replicate,))))


def draw_weights(streams: Iterable[np.random.Generator], clusters: int) -> Int64:
    """How often each cluster is drawn: a row for each stream."""
    rows = [np.bincount(one.integers(0, clusters, clusters), minlength=clusters) for one in streams]
    return np.stack(rows).astype(np.int64, copy=False)


def draw_replicates(systems: Sequence[Replicates], how: Resampling) -> Sample:
    """Measure all systems on the same draws of clusters."""
    clusters = systems[0].units
    at_once = min(max(WEIGHTS_HELD // clusters, 1), 256)
    starts = range(0, how.replicates, at_once)

    def measure(start: int) -> Sample:
        return _measure_draws(systems, how, range(start, min(start + at_once, how.replicates)))

    pieces = []
    with progress("bootstrap replicates", total=how.replicates) as advance:
        if how.workers == 1:
            for start in starts:
                pieces.append(measure(start))
                advance(pieces[-1].values.shape[1])
        else:
            # threads: the columns are shared, and NumPy works outside of the interpreter's lock
            with ThreadPoolExecutor(how.workers) as pool:
                for piece in pool.map(measure, starts):
                    pieces.append(piece)
                    advance(piece.values.shape[1])
    return Sample(np.concatenate([piece.values for piece in pieces], axis=1), sum(piece.redrawn for piece in pieces))


def _measure_draws(systems: Sequence[Replicates], how: Resampling, numbers: range) -> Sample:
    streams = [stream(how.seed, number) for number in numbers]
    clusters = systems[0].units
    values = np.full((len(systems), len(streams)), np.nan)
    open_, redrawn = np.arange(len(streams)), 0
    for _ in range(MOST_REDRAWS):
        weights = draw_weights((streams[i] for i in open_), clusters)
        values[:, open_] = [system.values(weights) for system in systems]
        open_ = np.flatnonzero(np.isnan(values).any(axis=0))
        if not open_.size:
            return Sample(values, redrawn)
        redrawn += open_.size
    raise UndefinedMeasureError(
        f"a replicate had no value in {MOST_REDRAWS:,} draws: hardly any choice of {clusters} clusters has both "
        "classes; use smaller clusters"
    )


# --- Intervals ----------------------------------------------------------------------------------------------


def interval(
    name: str,
    estimate: float,
    replicates: Float64,
    how: Resampling,
    clusters: int,
    redrawn: int,
    without_each: Callable[[], Float64],
    cautions: tuple[str, ...] = (),
) -> Interval:
    """Read an interval off replicates; ``without_each`` gives the jackknife values, which only BCa needs."""
    tail = (1 - how.confidence) / 2
    shares = (tail, 1 - tail)
    if how.method == "bca":
        shares = _bca_shares(shares, estimate, replicates, without_each())
    low, high = quantiles(replicates, shares)
    error = float(np.std(replicates, ddof=1))
    return Interval(
        name, estimate, low, high, how.confidence, how.method, clusters, redrawn, error, replicates, cautions
    )


def quantiles(replicates: Float64, shares: tuple[float, float]) -> tuple[float, float]:
    """Quantiles as order statistics: the k-th lowest of B is that of k / (B + 1), in between along a line.

    >>> quantiles(np.arange(1.0, 40.0), (0.025, 0.975))
    (1.0, 39.0)
    """
    low, high = np.quantile(replicates, shares, method="weibull")
    return float(low), float(high)


def _bca_shares(
    shares: tuple[float, float], estimate: float, replicates: Float64, without_each: Float64
) -> tuple[float, float]:
    """Correct the shares for bias and acceleration (Efron, 1987)."""
    if np.isnan(without_each).any():
        raise UndefinedMeasureError(
            "BCa leaves out each cluster once, and without one of them a class is missing; use method='percentile'"
        )
    normal = NormalDist()
    count = replicates.size
    below = np.count_nonzero(replicates < estimate) + np.count_nonzero(replicates == estimate) / 2
    bias = normal.inv_cdf(min(max(below / count, 0.5 / count), 1 - 0.5 / count))
    pull = without_each.mean() - without_each
    spread = float((pull**2).sum())
    acceleration = float((pull**3).sum()) / (6 * spread**1.5) if spread else 0.0

    def corrected(share: float) -> float:
        shifted = bias + normal.inv_cdf(share)
        room = 1 - acceleration * shifted
        if room <= 0:  # beyond what the formula can say: the end of the replicates
            return float(shifted > 0)
        return normal.cdf(bias + shifted / room)

    return corrected(shares[0]), corrected(shares[1])

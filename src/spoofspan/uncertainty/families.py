"""A family of comparisons: systems measured by one or several measures, whose differences are tested together.

A *task* is one measure of all systems. The values of the systems in a family are correlated from one test set to
another, also between measures; the p-values of all differences are adjusted with their covariance
(:mod:`spoofspan.uncertainty.max_t`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, isnan
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.base.times import Float64
from spoofspan.data.distinct_values import DECISION_THRESHOLD
from spoofspan.data.front_door import training_name
from spoofspan.data.proposals import Proposals
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.measures.measure import Measure
from spoofspan.measures.operating_point import Threshold, check_threshold
from spoofspan.uncertainty.best import set_p_values, without_winners_curse
from spoofspan.uncertainty.clusters import Resampling
from spoofspan.uncertainty.jackknife import Term, positive_semidefinite
from spoofspan.uncertainty.max_t import adjusted_p_values
from spoofspan.uncertainty.measured_system import Measured, System, measured_systems
from spoofspan.uncertainty.seeds import components_of, joint_interval, mean_of_rows, refuse_draws, seed_cautions
from spoofspan.uncertainty.spreads import Interval, Spread, spread_of
from spoofspan.uncertainty.variance_components import VarianceComponents

if TYPE_CHECKING:
    from spoofspan.evaluation.utterances import Truth

# Scores, proposals or scores of whole utterances of a system, or of each of its trainings by name.
Trainings: TypeAlias = "System | Mapping[str, Scores] | Mapping[str, Proposals] | Mapping[str, UtteranceScores]"
# The most replicates, if fewer cannot decide.
MOST_REPLICATES = 20_000
Pair: TypeAlias = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Systems:
    """Systems on one corpus, each with its trainings, and the settings of their measurement.

    ``unpaired`` systems are measured on the utterances that each has. Default: all ``utterances``.
    """

    truth: Truth
    systems: Mapping[str, Trainings]
    options: EvaluationOptions
    how: Resampling
    thresholds: Mapping[str, Mapping[str, Threshold]] = field(default_factory=dict)  # by measure and system
    unpaired: bool = False
    utterances: Sequence[str] | None = None

    def only(self, names: Sequence[str]) -> Systems:
        """Some of the systems."""
        thresholds = {
            measure: {name: one[name] for name in names if name in one} for measure, one in self.thresholds.items()
        }
        return replace(self, systems={name: self.systems[name] for name in names}, thresholds=thresholds)

    def task(self, wanted: str | Measure) -> Task:
        """Measure every training of every system."""
        options, how, measure = self.options, self.how, Measure.parse(wanted)
        if self.unpaired:
            if how.draws:
                raise UsageError("unpaired systems need the method 'jackknife-t'; leave method= (--interval) out")
            options = replace(options, rules={**options.rules, "partial": True})  # each on the utterances it has
        seeds = {name: list(one) if isinstance(one, Mapping) else [] for name, one in self.systems.items()}
        refuse_draws(how.draws and any(seeds.values()))
        scores: dict[str, System] = {}
        rows: dict[str, list[int]] = {}
        for name, one in self.systems.items():
            trained = {training_name(name, s): one[s] for s in one} if isinstance(one, Mapping) else {name: one}
            rows[name] = list(range(len(scores), len(scores) + len(trained)))
            scores |= trained
        fixed = _fixed_thresholds(measure, scores, rows, self.thresholds.get(str(wanted)))
        measured = measured_systems(
            self.truth, scores, measure, options, fixed, unpaired=self.unpaired, utterances=self.utterances
        )
        return Task(measure, measured, rows, seeds, spread_of(measured, how))


@dataclass(frozen=True, eq=False)
class Task:
    """Systems measured by one measure, each with its trainings."""

    measure: Measure
    measured: Mapping[str, Measured]  # by training
    rows: Mapping[str, list[int]]  # system -> the indices of its trainings among these
    seeds: Mapping[str, list[str]]
    spread: Spread

    def with_replicates(self, replicates: int) -> Task:
        """The task with more replicates."""
        return replace(self, spread=spread_of(self.measured, replace(self.spread.how, replicates=replicates)))

    @property
    def values(self) -> dict[str, float]:
        """The value of each system: the mean over its trainings."""
        return {name: float(self.spread.estimates[rows].mean()) for name, rows in self.rows.items()}

    @cached_property
    def contrasts(self) -> Float64:
        """A row for each system: the weights of the trainings in its value."""
        return np.stack([mean_of_rows(self.spread, rows) for rows in self.rows.values()])

    @cached_property
    def components(self) -> dict[str, VarianceComponents | None]:
        """System -> its variance components, for systems with several trainings."""
        return {name: components_of(self.spread, rows) for name, rows in self.rows.items()}

    def p_values_of_best(self, degrees: float) -> list[float]:
        """The p-value of each system being among the best."""
        values, direction = list(self.values.values()), self.measure.kind.ranked_by()
        return set_p_values(values, _covariance([self]), degrees, direction, self.spread.how.seed)

    def best_corrected(self) -> float:
        """The best value without the optimism of having been chosen among the systems."""
        values, direction = list(self.values.values()), self.measure.kind.ranked_by()
        return without_winners_curse(values, _covariance([self]), direction, self.spread.how.seed)

    def interval(self, name: str) -> Interval:
        """The interval of a system's value over test sets and, with several trainings, over trainings."""
        return joint_interval(self.spread, self.rows[name], name)

    def difference(self, pair: Pair) -> tuple[Interval, float]:
        """The interval of the difference of two systems, and its p-value."""
        names = list(self.rows)
        trained = {names[place]: self.components[names[place]] for place in pair}
        found, p_value = self.spread.tested(self.contrasts[pair[0]] - self.contrasts[pair[1]], self.terms(pair))
        several = [name for name in trained if self.seeds[name]]
        alone = [
            f"{name} was trained once: what another training changes is not in its comparison with {several[0]}"
            for name in trained
            if several and not self.seeds[name]
        ]
        cautions = (*found.warnings, *seed_cautions(trained), *alone)
        return replace(found, seeds="other" if several else "", warnings=cautions), p_value

    def not_worse(self, pair: Pair, margin: float) -> tuple[float, float]:
        """The p-values of each of two systems being worse by a margin."""
        sign = 1.0 if self.measure.kind.ranked_by() == "lower" else -1.0
        contrast = sign * (self.contrasts[pair[0]] - self.contrasts[pair[1]])
        terms = self.terms(pair)
        first, second = (self.spread.p_value_below(one, terms, margin) for one in (contrast, -contrast))
        return first, second

    def terms(self, pair: Pair) -> list[Term]:
        """The variance that training adds to the difference of two systems."""
        parts = [list(self.components.values())[place] for place in pair]
        return [term for one in parts if one is not None for term in one.terms]

    def movements(self) -> Float64:
        """Joint movements of the systems' values: a row for each, whose products are covariances."""
        return self.spread.movements(self.contrasts)


@dataclass(frozen=True, eq=False)
class Family:
    """Tasks on the same systems and clusters, and their differences with p-values adjusted for all of them."""

    tasks: Sequence[Task]
    pairs: Sequence[Pair]
    tested: Sequence[Sequence[tuple[Interval, float]]]  # of each task and pair
    adjusted: Sequence[Sequence[float]]
    needed: int | None  # the number of replicates that could decide more

    @classmethod
    def of(cls, tasks: Sequence[Task], pairs: Sequence[Pair], best: int | None = None) -> Family:
        """Compare, with more replicates until they can decide, up to a limit.

        With the ``best`` system, the other system of each pair is tested for being among the best of all.
        """
        while True:
            tested = [[task.difference(pair) for pair in pairs] for task in tasks]
            degrees = _middle_degrees(tested)
            if best is None:
                adjusted = _adjusted(tasks, pairs, tested, degrees)
            else:
                (task,) = tasks
                among = task.p_values_of_best(degrees)
                adjusted = [among[one if other == best else other] for one, other in pairs]
            needed = _replicates_needed(tasks[0].spread.how, tested, adjusted)
            if needed is None or needed > MOST_REPLICATES:
                split = [adjusted[place * len(pairs) :][: len(pairs)] for place in range(len(tasks))]
                return cls(tasks, pairs, tested, split, needed)
            tasks = [task.with_replicates(needed) for task in tasks]

    @property
    def compared(self) -> int:
        """Number of comparisons."""
        return len(self.tasks) * len(self.pairs)

    @property
    def cautions(self) -> list[str]:
        """A caution if there are too few replicates."""
        if self.needed is None:
            return []
        replicates = self.tasks[0].spread.how.replicates
        return [
            f"{replicates:,} replicates are too few for {self.compared:,} comparisons: some stay undecided although no "
            f"replicate speaks against them; it takes {self.needed:,} (replicates=, --replicates), or jackknife-t"
        ]


def _adjusted(
    tasks: Sequence[Task],
    pairs: Sequence[Pair],
    tested: Sequence[Sequence[tuple[Interval, float]]],
    degrees: float,
) -> list[float]:
    size = len(tasks[0].rows)
    places = [(number * size + i, number * size + j) for number in range(len(tasks)) for i, j in pairs]
    p_values = [p for row in tested for _, p in row]
    return adjusted_p_values(p_values, places, _covariance(tasks), degrees, tasks[0].spread.how.seed)


def _middle_degrees(tested: Sequence[Sequence[tuple[Interval, float]]]) -> float:
    """Degrees of freedom of the covariance: the median of those of the differences."""
    degrees = [one.degrees_of_freedom for row in tested for one, _ in row if one.degrees_of_freedom is not None]
    known = [one for one in degrees if not isnan(one)]
    return float(np.median(known)) if known else float("inf")


def _covariance(tasks: Sequence[Task]) -> Float64:
    """The covariance of the systems' values by all measures, over other test sets and trainings."""
    moved = [task.movements() for task in tasks]
    signed = [(rows, task.spread.signs) for rows, task in zip(moved, tasks, strict=True)]
    parts = [one for task in tasks for one in task.components.values()]
    trained = [0.0 if one is None else sum(term.variance for term in one.terms) for one in parts]
    # measures that left out other groups of clusters are taken as uncorrelated
    covariance = np.diag(trained) + np.block(
        [[a * s @ b.T if a.shape[1] == b.shape[1] else np.zeros((len(a), len(b))) for b in moved] for a, s in signed]
    )
    return positive_semidefinite(covariance)  # that of crossed factors need not be


def _replicates_needed(
    how: Resampling, tested: Sequence[Sequence[tuple[Interval, float]]], adjusted: Sequence[float]
) -> int | None:
    """The number of replicates that could decide more: p is never lower than 2 / (replicates + 1)."""
    if not how.draws:
        return None
    level, least = 1 - how.confidence, 2 / (how.replicates + 1)
    p_values = [p for row in tested for _, p in row]
    open_ = any(p <= least * (1 + 1e-9) and after >= level for p, after in zip(p_values, adjusted, strict=True))
    return ceil(2 * len(p_values) / level) + 1 if open_ else None


def _fixed_thresholds(
    measure: Measure,
    scores: Mapping[str, System],
    rows: Mapping[str, list[int]],
    thresholds: Mapping[str, Threshold] | None,
) -> dict[str, float]:
    """The threshold of each training for a measure at a threshold; empty for threshold-free measures.

    The default threshold of proposals is that of the EER of the scores.
    """
    if not measure.takes_threshold:
        if thresholds is not None:
            raise UsageError(f"{measure} is not taken at a threshold; leave thresholds= out")
        return {}
    if not hasattr(thresholds or {}, "keys"):
        raise UsageError(f"thresholds={thresholds!r}: give each system its own: {{{next(iter(rows))!r}: ...}}")
    given = dict(thresholds or {})
    unknown = [name for name in given if name not in rows]
    if unknown:
        raise UsageError(f"a threshold for {unknown[0]!r}, which is no system; systems: {', '.join(rows)}")
    names, found = list(scores), {}
    for system, places in rows.items():
        for name in (names[place] for place in places):
            one = scores[name]
            if isinstance(one, Scores) and one.decisions:
                found[name] = DECISION_THRESHOLD
            elif system in given:
                found[name] = check_threshold(given[system])
            elif measure.at_threshold:
                raise UsageError(
                    f"{measure} is taken at a threshold: give each system its own, chosen on other data, "
                    "with thresholds= (--system-threshold), or compare a threshold-free measure such as range-eer"
                )
    return found

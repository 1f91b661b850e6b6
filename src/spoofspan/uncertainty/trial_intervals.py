"""The a-DCF of trials under the jackknife over clusters.

It has three classes: targets, non-targets and spoofs. It is taken where it is least, so that a small move of the
threshold changes nothing: as with the minDCF, the threshold stays when a cluster leaves, and the three rates are those
of the other clusters.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from spoofspan.base.columns import Flags, positions
from spoofspan.base.times import Float64, Int64
from spoofspan.data.utterance_scores import TRIALS, UtteranceScores
from spoofspan.evaluation.corpus import Signer
from spoofspan.evaluation.plan import Plan
from spoofspan.mass.score_runs import mirrored
from spoofspan.measures.operating_point import OperatingPoint
from spoofspan.measures.tandem import trial_costs
from spoofspan.uncertainty.clusters import Clusters
from spoofspan.uncertainty.left_out import LeftOut
from spoofspan.uncertainty.measured_system import OfPlan, OnlyLeftOut
from spoofspan.uncertainty.optimism import halves, optimism


@dataclass(frozen=True, eq=False)
class MeasuredTrials(OfPlan, OnlyLeftOut):
    """The a-DCF of one system, for intervals."""

    plan: Plan
    scores: UtteranceScores
    kinds: Mapping[str, str]  # target, nontarget or spoof
    utterances: Sequence[str]
    value: float
    point: OperatingPoint  # where it is least
    signer: Signer | None = None

    @property
    def spoofed(self) -> Collection[str]:
        """The trials that are spoof."""
        return {trial for trial in self.utterances if self.kinds[trial] == "spoof"}

    @cached_property
    def _errors(self) -> tuple[Int64, Flags]:
        """The class of each trial as an index into TRIALS, and flags of wrong decisions."""
        values = self.scores.values[positions(self.utterances, self.scores.utterances)]
        tau, high_is_target = self.point.threshold, self.scores.higher == "bonafide"
        rejected = values < tau if high_is_target else values > tau
        if self.point.everything:
            rejected = np.ones(values.size, bool)
        classes = np.array([TRIALS.index(self.kinds[trial]) for trial in self.utterances])
        return classes, np.where(classes == TRIALS.index("target"), rejected, ~rejected)

    def left_out(self, clusters: Clusters) -> LeftOut:
        """The values without each cluster, at the same threshold."""
        units = clusters.units_of(self.utterances)
        classes, wrong = self._errors
        trials, errors = np.zeros((2, clusters.count, len(TRIALS)), np.int64)
        np.add.at(trials, (units, classes), 1)
        np.add.at(errors, (units, classes), wrong)
        every, all_wrong = trials.sum(axis=0), errors.sum(axis=0)
        base = self._cost(all_wrong / every)
        with np.errstate(divide="ignore", invalid="ignore"):
            others = (all_wrong - errors) / (every - trials)
        without = self.value + (self._cost(others) - base)

        def worst(of_targets: float, of_others: float) -> float:
            unseen = np.array([of_targets, of_others, of_others])
            return float(self._cost(np.where(all_wrong == 0, unseen, all_wrong / every)))

        has_target, has_other = trials[:, 0] > 0, trials[:, 1:].sum(axis=1) > 0
        too_good = optimism(self.value, self._least_costs(units, halves(has_target, has_other)))
        return LeftOut(without, has_target, has_other, worst if (all_wrong == 0).any() else None, optimism=too_good)

    def _least_costs(self, units: Int64, weights: Int64) -> Float64:
        """The least cost of the trials of some clusters, for each row of weights; NaN without a class."""
        values = self.scores.values[positions(self.utterances, self.scores.utterances)]
        order = np.argsort(mirrored(values, self.scores.higher))
        ends = np.append(np.diff(values[order]) != 0, True)  # a threshold lies between two scores
        kinds = self._errors[0][order] == np.arange(len(TRIALS))[:, None]
        least = []
        for row in weights[:, units[order]]:
            below = np.concatenate((np.zeros((len(TRIALS), 1)), np.cumsum(kinds * row, axis=1)[:, ends]), axis=1)
            with np.errstate(invalid="ignore"):
                rejected = below / below[:, -1:]
            rejected[1:] = 1 - rejected[1:]
            least.append(self._cost(rejected.T).min())
        return np.array(least)

    def _cost(self, rates: Float64) -> Any:
        """The normalised cost of the three error rates, the classes in the last axis."""
        costs = {name: float(value) for name, value in self.measure.parameters}
        prices = np.array([float(one) for one in trial_costs(**costs)])
        return rates @ prices / min(prices[0], prices[1:].sum())

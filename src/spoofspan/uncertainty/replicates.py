"""Replicates: one measure of one mass, under any weights of its units.

A *unit* is what gets one weight: an utterance, or all utterances of a speaker. EERs have a fast way of their own
(:mod:`spoofspan.uncertainty.eer_replicates`). At a fixed threshold (:class:`ConfusionReplicates`) the confusion matrix
of each unit is all that is needed, and of a mean over utterances (:class:`MeanReplicates`) the value of each. Anything
else (:class:`MeasuredReplicates`) is measured from the whole mass each time: slow, and right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import sum_by_utterance
from spoofspan.base.errors import UndefinedMeasureError
from spoofspan.base.times import Float64, Int64
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.operating_point import OperatingPoint, Totals
from spoofspan.uncertainty.exact_columns import ExactColumns
from spoofspan.uncertainty.utterance_blocks import blocks_with_units


class Replicates(Protocol):
    """One measure of one mass, under any weights of its units."""

    @property
    def units(self) -> int:
        """How many units get a weight."""
        ...

    def values(self, weights: Int64) -> Float64:
        """The value of each replicate (a row of weights, one per unit); NaN where it has none."""
        ...

    def values_without_each(self) -> Float64:
        """The value without each of the units, as a jackknife needs them."""
        ...


class SummedReplicates(Replicates, Protocol):
    """Replicates whose values are functions of sums over units, so that two systems may swap units."""

    def sums(self, weights: Int64) -> npt.NDArray[Any]:
        """The sums of each replicate: a row to be given to :meth:`values_of`."""
        ...

    def values_of(self, sums: npt.NDArray[Any]) -> Float64:
        """The value of each row of sums; NaN where it has none."""
        ...


def all_but_one(units: int) -> Iterator[Int64]:
    """Weights that leave out each unit once; always the same array."""
    weights = np.ones(units, np.int64)
    for unit in range(units):
        weights[unit] = 0
        yield weights
        weights[unit] = 1


class ConfusionReplicates:
    """A measure at one fixed threshold: the confusion matrices of the units are all it needs."""

    def __init__(
        self,
        mass: ScoreMass,
        unit_of_utterance: Int64,
        units: int,
        threshold: float,
        value_at: Callable[[OperatingPoint], float],
    ) -> None:
        self.units = units
        self._mass, self._threshold, self._value_at = mass, threshold, value_at
        tau = threshold if mass.higher == "bonafide" else -threshold
        # for each unit: bona fide and spoof under scores, under none, and what of the former is called spoof
        columns = np.zeros((units, 6), np.int64)
        for unit, block in blocks_with_units(mass, unit_of_utterance):
            # in doubles, so that a float32 score and a threshold from text compare as they are
            called = block.scores.astype(np.float64) < tau
            amounts = block.bona_fide, block.spoof
            undecided = block.undecided_bona_fide, block.undecided_spoof
            for column in range(2):
                np.add.at(columns[:, column], unit, sum_by_utterance(amounts[column], block.offsets))
                np.add.at(columns[:, 2 + column], unit, undecided[column])
                np.add.at(columns[:, 4 + column], unit, sum_by_utterance(amounts[column] * called, block.offsets))
        self._columns = ExactColumns(columns)

    def values(self, weights: Int64) -> Float64:
        """The value of each replicate; NaN where it has none."""
        return self.values_of(self.sums(weights))

    def values_without_each(self) -> Float64:
        """The value without each of the units."""
        return self.values_of(self._columns.columns.sum(axis=0) - self._columns.columns)

    def values_of_each(self) -> Float64:
        """The value of each unit alone; NaN where it has none."""
        return self.values_of(self._columns.columns)

    def sums(self, weights: Int64) -> npt.NDArray[Any]:
        """The confusion matrix of each replicate: a row to be given to :meth:`values_of`."""
        return self._columns.weighted(weights)

    def values_of(self, sums: npt.NDArray[Any]) -> Float64:
        """The value of each confusion matrix; NaN where it has none."""
        return np.array([self._value(row) for row in sums.tolist()], np.float64)

    def _value(self, sums: list[int]) -> float:
        bona_fide, spoof, undecided_bona_fide, undecided_spoof, *called = sums
        whole = Totals(
            self._mass.higher,
            self._mass.unit,
            self._mass.uncovered,
            bona_fide,
            spoof,
            undecided_bona_fide,
            undecided_spoof,
        )
        try:
            whole.check()
            return self._value_at(whole.point(self._threshold, called[0], called[1]))
        except UndefinedMeasureError:
            return float("nan")


class MeasuredReplicates:
    """Any function of a re-weighted mass, called once per replicate."""

    def __init__(
        self, mass: ScoreMass, unit_of_utterance: Int64, units: int, function: Callable[[ScoreMass], float]
    ) -> None:
        self.units = units
        self._mass, self._unit_of, self._function = mass, unit_of_utterance, function

    def values(self, weights: Int64) -> Float64:
        """The value of each replicate; NaN where it has none."""
        return np.array([self._value(row) for row in weights], np.float64)

    def values_without_each(self) -> Float64:
        """The value without each of the units."""
        return np.array([self._value(row) for row in all_but_one(self.units)], np.float64)

    def _value(self, weights: Int64) -> float:
        try:
            return float(self._function(self._mass.reweight(weights[self._unit_of])))
        except UndefinedMeasureError:
            return float("nan")


def mean_of(values: Float64) -> float:
    """The mean of the values there are."""
    known = values[~np.isnan(values)]
    if not known.size:
        raise UndefinedMeasureError("the measure has no value on any utterance; measure them pooled")
    return math.fsum(known.tolist()) / known.size


class MeanReplicates:
    """The mean of values that utterances have, counted more or less often; NaN where an utterance has none."""

    def __init__(self, values: Float64, unit_of_utterance: Int64, units: int) -> None:
        self.units = units
        known = ~np.isnan(values)
        place = unit_of_utterance[known]
        # of each unit: the sum of its values, and how many there are
        self._columns = np.stack(
            [np.bincount(place, values[known], minlength=units), np.bincount(place, minlength=units)], axis=1
        )

    def values(self, weights: Int64) -> Float64:
        """The value of each replicate; NaN where it has none."""
        return self.values_of(self.sums(weights))

    def values_without_each(self) -> Float64:
        """The value without each of the units."""
        return self.values_of(self._columns.sum(axis=0) - self._columns)

    def sums(self, weights: Int64) -> npt.NDArray[Any]:
        """Sum and count of each replicate: a row to be given to :meth:`values_of`."""
        return weights @ self._columns

    def values_of(self, sums: npt.NDArray[Any]) -> Float64:
        """The mean of each row; NaN where nothing was counted."""
        means = np.full(len(sums), np.nan)
        np.divide(sums[:, 0], sums[:, 1], out=means, where=sums[:, 1] > 0)
        return means

"""Replicates: one measure of one mass, under any weights of its units.

A *unit* is what gets one weight: an utterance, or all utterances of a speaker. EERs and other measures over all
thresholds have a fast way (:mod:`spoofspan.uncertainty.curve_replicates`). At a fixed threshold
(:class:`ConfusionReplicates`) the confusion matrix of each unit is all that is needed, and of a mean over utterances
(:class:`MeanReplicates`) the value of each. Anything else (:class:`MeasuredReplicates`) is measured from the whole mass
each time: slow, and right.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags
from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.base.times import Float64, Int64
from spoofspan.data.scores import Values
from spoofspan.mass.score_mass import ScoreMass, UtteranceBlock
from spoofspan.measures.histogram import RemotePart
from spoofspan.measures.operating_point import OperatingPoint, Totals, called_spoof

Result = TypeVar("Result")


class Replicates(Protocol):
    """One measure of one mass, under any weights of its units."""

    @property
    def units(self) -> int:
        """Number of weighted units."""

    def values(self, weights: Int64) -> Float64:
        """The value of each replicate (a row of weights, one per unit); NaN without a value."""

    def values_without_each(self) -> Float64:
        """The value without each unit, for a jackknife."""


@runtime_checkable
class BlocksByUtterance(Protocol):
    """A part of a mass with rows by utterance."""

    def utterance_blocks(self) -> Iterator[UtteranceBlock]:
        """Compute it piece by piece."""


def all_but_one(units: int) -> Iterator[Int64]:
    """Weights without each unit in turn; the array is reused."""
    weights = np.ones(units, np.int64)
    for unit in range(units):
        weights[unit] = 0
        yield weights
        weights[unit] = 1


def refuse_shards(mass: ScoreMass) -> None:
    """Refuse to measure shards again for every replicate, which would be a pass over all of them."""
    if any(isinstance(part, RemotePart) for part in mass.parts):
        raise UsageError(
            "in shards, this measure has no interval by this method: it would be measured anew, from all shards, for "
            "each draw or each cluster; read the corpus into memory (--no-stream, without --jobs and --scheduler)"
        )


def each_by_unit(
    mass: ScoreMass, unit_of: Int64, work: Callable[[UtteranceBlock], Result]
) -> Iterator[tuple[Int64, Result]]:
    """Results of work on each block of a mass, in order, with the units of its utterances."""

    def worked(block: UtteranceBlock) -> tuple[int, int, Result]:
        return block.first, block.last, work(block)

    done = 0
    for part in mass.parts:
        if not isinstance(part, BlocksByUtterance):
            raise UsageError(f"the rows of a {type(part).__name__} cannot be told to their utterances")
        for first, last, found in map(worked, part.utterance_blocks()):  # keeps no block while the next is made
            yield unit_of[done + first : done + last], found
        done += len(part.utterances)


def add_by_unit(sums: npt.NDArray[Any], unit: Int64, matrices: Int64) -> None:
    """Add the matrices of some utterances to those of their units."""
    for column, more in zip(sums.T, matrices.T, strict=True):
        np.add.at(column, unit, more)


def confusions_by_unit(mass: ScoreMass, unit_of: Int64, units: int, called: Callable[[Values], Flags]) -> Int64:
    """The confusion matrix of each unit, given which scores are called spoof."""
    sums = np.zeros((units, 6), np.int64)
    for unit, found in each_by_unit(mass, unit_of, lambda block: block.confusions(called(block.mass.scores))):
        add_by_unit(sums, unit, found)
    return sums


class ExactColumns:
    """Integers per unit with exact weighted sums, computed as products of doubles.

    Doubles add integers exactly below 2**53; larger numbers are split into limbs.
    """

    def __init__(self, columns: Int64) -> None:
        self.columns = columns
        self._largest = int(columns.max(initial=0))
        self._limbs: tuple[int, list[Float64]] = (0, [])

    def weighted(self, weights: Int64) -> npt.NDArray[Any]:
        """A row of sums for each row of weights; Python integers where int64 could overflow."""
        most = int(weights.max(initial=0)) * self.columns.shape[0]
        heaviest = int(weights.sum(axis=1).max(initial=0)) if most < 2**62 else most
        bits = 53 - heaviest.bit_length()
        if bits < 8:
            exact: npt.NDArray[Any] = weights.astype(object) @ self.columns.astype(object)
            return exact
        held, limbs = self._limbs
        if held != bits:
            limbs = self._split(bits)
            self._limbs = bits, limbs
        dtype = np.int64 if heaviest * self._largest < 2**62 else object
        doubles = weights.astype(np.float64)
        sums = np.zeros((weights.shape[0], self.columns.shape[1]), dtype)
        for number, limb in enumerate(limbs):
            sums += (doubles @ limb).astype(np.int64).astype(dtype) * (1 << bits * number)
        return sums

    def _split(self, bits: int) -> list[Float64]:
        count = max(-(-self._largest.bit_length() // bits), 1)
        mask = (1 << bits) - 1
        return [((self.columns >> (bits * number)) & mask).astype(np.float64) for number in range(count)]


class SummedReplicates(ABC):
    """Replicates whose values are functions of sums over units."""

    def __init__(self, columns: npt.NDArray[Any]) -> None:
        self.columns = columns  # a row for each unit
        self.units = len(columns)

    def sums(self, weights: Int64) -> npt.NDArray[Any]:
        """The sums of each replicate: a row to be given to :meth:`values_of`."""
        sums: npt.NDArray[Any] = weights @ self.columns
        return sums

    @abstractmethod
    def values_of(self, sums: npt.NDArray[Any]) -> Float64:
        """The value of each row of sums; NaN where it has none."""

    def values(self, weights: Int64) -> Float64:
        """The value of each replicate; NaN without a value."""
        return self.values_of(self.sums(weights))

    def values_without_each(self) -> Float64:
        """The value without each unit."""
        return self.values_of(self.columns.sum(axis=0) - self.columns)


class ConfusionReplicates(SummedReplicates):
    """A measure at one fixed threshold, from the confusion matrices of the units."""

    def __init__(
        self,
        mass: ScoreMass,
        unit_of_utterance: Int64,
        units: int,
        threshold: float,
        value_at: Callable[[OperatingPoint], float],
    ) -> None:
        self._mass, self._threshold, self._value_at = mass, threshold, value_at
        columns = confusions_by_unit(
            mass, unit_of_utterance, units, lambda scores: called_spoof(scores, threshold, mass.higher)
        )
        super().__init__(columns)
        self._exact = ExactColumns(columns)

    def sums(self, weights: Int64) -> npt.NDArray[Any]:
        """The confusion matrix of each replicate: a row to be given to :meth:`values_of`."""
        return self._exact.weighted(weights)

    def values_of(self, sums: npt.NDArray[Any]) -> Float64:
        """The value of each confusion matrix; NaN where it has none."""
        return np.array([self._value(row) for row in sums.tolist()], np.float64)

    def _value(self, sums: list[int]) -> float:
        whole = Totals(self._mass.higher, self._mass.unit, self._mass.uncovered, *sums[:4])
        try:
            whole.check()
            return self._value_at(whole.point(self._threshold, *sums[4:]))
        except UndefinedMeasureError:
            return float("nan")


class MeasuredReplicates:
    """Any function of a re-weighted mass, called once per replicate."""

    def __init__(
        self, mass: ScoreMass, unit_of_utterance: Int64, units: int, function: Callable[[ScoreMass], float]
    ) -> None:
        refuse_shards(mass)
        self.units = units
        self._mass, self._unit_of, self._function = mass, unit_of_utterance, function

    def values(self, weights: Int64) -> Float64:
        """The value of each replicate; NaN without a value."""
        return np.array([self._value(row) for row in weights], np.float64)

    def values_without_each(self) -> Float64:
        """The value without each unit."""
        return np.array([self._value(row) for row in all_but_one(self.units)], np.float64)

    def _value(self, weights: Int64) -> float:
        try:
            return float(self._function(self._mass.reweight(weights[self._unit_of])))
        except UndefinedMeasureError:
            return float("nan")


def mean_of(values: Float64) -> float:
    """The mean of the values that are not NaN."""
    known = values[~np.isnan(values)]
    if not known.size:
        raise UndefinedMeasureError("the measure has no value on any utterance; measure them pooled")
    return math.fsum(known.tolist()) / known.size


class MeanReplicates(SummedReplicates):
    """A weighted mean of values of utterances, of which some may be NaN."""

    def __init__(self, values: Float64, unit_of_utterance: Int64, units: int) -> None:
        known = ~np.isnan(values)
        unit = unit_of_utterance[known]
        # of each unit: the sum of its values, and how many there are
        counts = np.bincount(unit, minlength=units)
        super().__init__(np.stack([np.bincount(unit, values[known], minlength=units), counts], axis=1))

    def values_of(self, sums: npt.NDArray[Any]) -> Float64:
        """The mean of each row; NaN where nothing was counted."""
        means = np.full(len(sums), np.nan)
        np.divide(sums[:, 0], sums[:, 1], out=means, where=sums[:, 1] > 0)
        return means

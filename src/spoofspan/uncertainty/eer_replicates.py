"""Exact EERs of one mass whose utterances are counted more or less often, thousands of them.

A bootstrap asks for the EER of ``mass.reweight(w)`` for many ``w``. The answers lie close to each other, so only scores
near the crossing can matter (:mod:`spoofspan.uncertainty.near_crossing`). A replicate that crosses elsewhere is
computed from the whole mass. Either way value and threshold have the bits of ``equal_error_rate(mass.reweight(w))``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.base.times import Float64, Int64
from spoofspan.mass.ranges import TimedPart
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.eer import check_eer_rule, equal_error_rate
from spoofspan.uncertainty.near_crossing import CalledIn, Gathered, OutsideError, gather_near_crossing
from spoofspan.uncertainty.replicates import all_but_one

# The bracket holds the crossings of replicates up to so many standard deviations away.
DEVIATIONS = 5.0
# So many scores are all gathered: to look for a bracket would cost more.
FEW_ROWS = 1 << 17
FAST_RULES = ("nearest", "interpolated")


@dataclass(frozen=True, eq=False)
class Eers:
    """The EERs of some replicates; NaN where one class is missing."""

    values: Float64
    thresholds: Float64
    outside: int  # how many had to be computed from the whole mass


class EerReplicates:
    """Exact EERs of a mass under any weights of its units.

    >>> import spoofspan.demo
    >>> corpus = spoofspan.demo.load()
    >>> mass = spoofspan.overlay(corpus.references, corpus.systems[0.02])
    >>> replicates = EerReplicates(mass)
    >>> once = replicates.eers(np.ones((1, replicates.units), np.int64))
    >>> once.values.tolist() == [float(equal_error_rate(mass).value)]
    True
    """

    def __init__(
        self,
        mass: ScoreMass,
        unit_of_utterance: Int64 | None = None,
        *,
        units: int | None = None,
        rule: str = "nearest",
        deviations: float = DEVIATIONS,
        few_rows: int = FEW_ROWS,
    ) -> None:
        count = len(mass.utterances)
        self._mass = mass
        self._rule = check_eer_rule(rule)
        self._unit_of = np.arange(count) if unit_of_utterance is None else unit_of_utterance
        if self._unit_of.shape != (count,):
            raise UsageError(f"{count} utterances need as many units, not {self._unit_of.shape}")
        self.units = int(self._unit_of.max(initial=-1)) + 1 if units is None else units
        self._gathered: Gathered | None = None
        if self._rule in FAST_RULES and all(isinstance(part, TimedPart) for part in mass.parts):
            self._gathered = gather_near_crossing(mass, self._unit_of, self.units, deviations, few_rows)

    def eers(self, weights: Int64) -> Eers:
        """The EERs of replicates: a row of ``weights`` for each, a whole number for each unit."""
        gathered = self._gathered
        if gathered is None:
            return self._collect([self._whole(row) for row in weights], len(weights))
        sums = gathered.columns.weighted(weights)
        return self._eers(gathered, iter(weights), sums, (partial(gathered.called_under, row) for row in weights))

    def values(self, weights: Int64) -> Float64:
        """The values of :meth:`eers`."""
        return self.eers(weights).values

    def values_without_each(self) -> Float64:
        """The value without each of the units, as a jackknife needs them."""
        if self._gathered is None:
            return np.array([self._whole(row)[0] for row in all_but_one(self.units)], np.float64)
        return self._eers(self._gathered, all_but_one(self.units), *self._gathered.without_each()).values

    def _eers(
        self, gathered: Gathered, weights: Iterator[Int64], sums: npt.NDArray[Any], called: Iterator[CalledIn]
    ) -> Eers:
        found, outside = [], 0
        for row, row_sums, called_in in zip(weights, sums, called, strict=True):
            try:
                found.append(gathered.eer(row_sums.tolist(), called_in, self._rule))
            except OutsideError:
                outside += 1
                found.append(self._whole(row))
        return self._collect(found, outside)

    def _whole(self, weights: Int64) -> tuple[float, float]:
        """The EER from the whole mass."""
        try:
            eer = equal_error_rate(self._mass.reweight(weights[self._unit_of]), self._rule)
        except UndefinedMeasureError:
            return float("nan"), float("nan")
        return float(eer.value), eer.point.threshold

    @staticmethod
    def _collect(found: list[tuple[float, float]], outside: int) -> Eers:
        values, thresholds = np.array(found, np.float64).reshape(-1, 2).T
        return Eers(values, thresholds, outside)

"""The scores near the crossings of replicates, ascending and in groups, and the EERs that can be read off them.

:mod:`spoofspan.uncertainty.eer_replicates` gathers them and says what for.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.times import Int64
from spoofspan.data.scores import Values
from spoofspan.mass.score_runs import mirrored
from spoofspan.measures.crossing import mean_rate, rate_between
from spoofspan.uncertainty.replicates import ExactColumns

# Columns of sums per unit that stand before those of the groups.
TOTALS = 4

# Bona fide and spoof amounts below each group and below the end of the last.
Below = tuple[list[int], list[int]]
# For a group: the bona fide and spoof amounts called spoof once each distinct score of it is.
Called = Sequence["npt.NDArray[Any] | _CalledWithout"]
CalledIn = Callable[[int, Below], Called]


class OutsideError(Exception):
    """A crossing that the gathered scores do not show."""


@dataclass(frozen=True, eq=False)
class Gathered:
    """The scores inside a bracket, ascending and in groups, and what each unit has around them.

    ``columns`` has, for each unit: bona fide and spoofed time under scores, then that under none, then what lies below
    each of the groups and below the end of the last, first bona fide, then spoofed.
    """

    columns: ExactColumns
    distinct: Values
    ends: Int64  # of each distinct score: the row after its last
    group_ends: Int64  # of each group: the distinct score after its last; starts with 0
    unit: Int64
    bona_fide: Int64
    spoof: Int64
    higher: str
    uncovered: str

    def eer(self, sums: list[int], called_in: CalledIn, rule: str) -> tuple[float, float]:
        """Value and threshold of one replicate, given the weighted sums of ``columns`` and those inside of a group."""
        bona_fide, spoof = sums[0] + sums[2], sums[1] + sums[3]
        if not bona_fide or not spoof or not sums[0] + sums[1]:
            return float("nan"), float("nan")
        always_positive = sums[2] if self.uncovered == "spoof" else 0
        always_negative = sums[3] if self.uncovered == "bonafide" else 0
        all_negative = sums[1] + always_negative
        edges = len(self.group_ends)
        below = sums[TOTALS : TOTALS + edges], sums[TOTALS + edges :]

        def difference(bona_fide_called: int, spoof_called: int) -> int:
            # FPR - FNR, times both denominators
            return (always_positive + bona_fide_called) * spoof - (all_negative - spoof_called) * bona_fide

        edge = bisect_left(range(edges), True, key=lambda g: difference(below[0][g], below[1][g]) >= 0)
        if edge in (0, edges):
            raise OutsideError
        group = edge - 1
        called = called_in(group, below)
        count = len(called[0])
        place = bisect_left(range(count), True, key=lambda k: difference(int(called[0][k]), int(called[1][k])) >= 0)
        before = (int(called[0][place - 1]), int(called[1][place - 1])) if place else (below[0][group], below[1][group])
        after = int(called[0][place]), int(called[1][place])
        short, long = -difference(*before), difference(*after)

        nearest = before if short <= long else after
        if rule == "nearest":
            false_positive, false_negative = always_positive + nearest[0], all_negative - nearest[1]
            value = mean_rate(false_positive, false_negative, bona_fide, spoof)
        else:  # on the line between both, where FPR = FNR
            ends = always_positive + before[0], always_positive + after[0]
            value = rate_between(*ends, short, long, bona_fide)
        if nearest is before:
            tau: float | None = float(self.distinct[int(self.group_ends[group]) + place])
        else:
            tau = self._next_score(called, called_in, group, place, below, sums)
        return value, mirrored(float("inf") if tau is None else tau, self.higher) + 0.0

    def called_under(
        self, weights: Int64, group: int, below: Below, end: int | None = None
    ) -> Sequence[npt.NDArray[Any]]:
        """What is called spoof under weights once each distinct score of a group, or of several, is."""
        end = group + 1 if end is None else end
        first, last = int(self.group_ends[group]), int(self.group_ends[end])
        start = int(self.ends[first - 1]) if first else 0
        ends = self.ends[first:last] - start
        rows = slice(start, start + int(ends[-1]))
        by_row: npt.NDArray[Any] = weights[self.unit[rows]]
        if max(column[end] for column in below) >= 2**62:
            by_row = by_row.astype(object)
        return [
            so_far[group] + np.cumsum(by_row * column[rows])[ends - 1]
            for so_far, column in zip(below, (self.bona_fide, self.spoof), strict=True)
        ]

    def without_each(self) -> tuple[npt.NDArray[Any], Iterator[CalledIn]]:
        """For each unit: the sums without it, and what is called spoof without it.

        What all units together have in a group is summed once; of the one left out, only its few rows are looked at
        (BCa with 71,237 units: 83 range EERs instead of 1,340, on a busy machine).
        """
        columns = self.columns.columns
        order = np.argsort(self.unit, kind="stable")
        starts = np.searchsorted(self.unit[order], np.arange(columns.shape[0] + 1))
        place = np.searchsorted(self.ends, order, side="right")
        all_of_group: dict[int, list[list[int]]] = {}

        def called(unit: int, group: int, below: Below) -> Sequence[_CalledWithout]:
            first, last = int(self.group_ends[group]), int(self.group_ends[group + 1])
            if group not in all_of_group:
                once = np.ones(columns.shape[0], np.int64)
                zero = [0] * len(self.group_ends), [0] * len(self.group_ends)
                all_of_group[group] = [column.tolist() for column in self.called_under(once, group, zero)]
            rows = slice(int(starts[unit]), int(starts[unit + 1]))
            inside = slice(*(np.searchsorted(place[rows], (first, last)) + rows.start).tolist())
            places = (place[inside] - first).tolist()
            return [
                _CalledWithout(so_far[group], whole, places, np.cumsum(column[order[inside]]).tolist())
                for so_far, whole, column in zip(below, all_of_group[group], (self.bona_fide, self.spoof), strict=True)
            ]

        return columns.sum(axis=0) - columns, (partial(called, unit) for unit in range(columns.shape[0]))

    def _next_score(
        self, called: Called, called_in: CalledIn, group: int, place: int, below: Below, sums: list[int]
    ) -> float | None:
        """The next score with counted time after a place in a group; None if there is none at all."""
        so_far = int(called[0][place]) + int(called[1][place])
        while True:
            # what is called never falls; where it rises, a score has counted time
            for following in range(place + 1, len(called[0])):
                if int(called[0][following]) + int(called[1][following]) > so_far:
                    return float(self.distinct[int(self.group_ends[group]) + following])
            group, place = group + 1, -1
            if group == len(self.group_ends) - 1:
                break
            called = called_in(group, below)
        if sums[0] + sums[1] > so_far:
            raise OutsideError
        return None


@dataclass(frozen=True)
class _CalledWithout:
    """What is called spoof in a group without one unit; computed only where it is looked up."""

    below: int
    of_all: list[int]
    places: list[int]  # of the unit's rows
    of_unit: list[int]  # cumulated

    def __len__(self) -> int:
        return len(self.of_all)

    def __getitem__(self, place: int) -> int:
        rows = bisect_right(self.places, place)
        return self.below + self.of_all[place] - (self.of_unit[rows - 1] if rows else 0)

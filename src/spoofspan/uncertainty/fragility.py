"""Fragility: how few speakers, or attacks, a verdict rests on.

A verdict that one system is better may hang on a few clusters. Those that support it most are left out first, by how
far the difference moves without each of them, and the comparison is made anew on the rest: with twice as many until the
verdict goes, then with fewer until it holds again. That it goes without these, and holds with the last of them, is
measured. That no other few would do is not: measures are not means, and all subsets are too many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spoofspan.base.errors import SpoofspanError, UsageError, quietly
from spoofspan.uncertainty.clusters import FEWEST_CLUSTERS, Clusters
from spoofspan.uncertainty.families import Pair, Task
from spoofspan.uncertainty.measured_system import clusters_of
from spoofspan.uncertainty.spreads import JackknifeSpread

Remeasure = Callable[[Sequence[str]], Task]  # on these utterances


@dataclass(frozen=True)
class Fragility:
    """The clusters without which a verdict goes, or holds all the same.

    Parameters
    ----------
    factor
        What was left out, as ``"speaker"``.
    left_out
        Their names, those that support the verdict most first.
    goes
        Whether the verdict goes without them; otherwise all that support it were left out, but three.
    of
        How many there are.
    """

    factor: str
    left_out: tuple[str, ...]
    goes: bool
    of: int

    def __str__(self) -> str:
        count = f"{len(self.left_out):,} of {self.of:,} {self.factor}s"
        if not self.goes:
            return f"holds even without {count}"
        return f"undecided without {count} ({', '.join(self.left_out[:5])}{', ...' * (len(self.left_out) > 5)})"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {**vars(self), "left_out": list(self.left_out)}


def fragility_of(task: Task, pair: Pair, remeasure: Remeasure) -> tuple[Fragility, ...]:
    """The fragility of the verdict on two systems, by each factor.

    Parameters
    ----------
    task
        The measured systems, by the jackknife.
    pair
        The places of the two systems, which the test tells apart.
    remeasure
        Measures the same systems on some utterances.

    Returns
    -------
    tuple of Fragility
    """
    if not isinstance(task.spread, JackknifeSpread):
        raise UsageError("fragility needs the method 'jackknife-t'; leave method= (--interval) out")
    some = next(iter(task.measured.values()))
    clusters = clusters_of(task.measured.values(), task.spread.how)
    contrast = task.contrasts[pair[0]] - task.contrasts[pair[1]]
    found = []
    for place, way in enumerate((clusters, *clusters.crossed)):
        if not way.factor:  # pairs of a speaker and an attack
            continue
        without = np.stack([one.ways[place].without for one in task.spread.left_out], axis=1) @ contrast
        if without.size != way.count:
            raise UsageError(f"there are too many {way.factor}s to leave out one by one; group them (--cluster)")
        found.append(_fewest(task, pair, way, without - contrast @ task.spread.estimates, some.utterances, remeasure))
    return tuple(found)


def _fewest(
    task: Task, pair: Pair, clusters: Clusters, moved: Any, utterances: Sequence[str], remeasure: Remeasure
) -> Fragility:
    """Leave out the clusters that support a verdict most, until it goes."""
    verdict = _verdict(task, pair)
    named = clusters.count - clusters.alone
    order = np.argsort(verdict * moved[:named], kind="stable")
    supporting = order[: min(int((verdict * moved[:named] < 0).sum()), named - FEWEST_CLUSTERS)].tolist()
    units = clusters.units_of(utterances)

    def holds(count: int) -> bool:
        kept = np.flatnonzero(~np.isin(units, supporting[:count])).tolist()
        try:
            with quietly():
                return _verdict(remeasure([utterances[i] for i in kept]), pair) == verdict
        except SpoofspanError:  # without a class, or with too few clusters of it
            return True

    low, high = 0, 1
    while high <= len(supporting) and holds(high):
        low, high = high, min(2 * high, len(supporting)) if high < len(supporting) else high + 1
    goes = high <= len(supporting)
    while goes and high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return Fragility(clusters.factor, tuple(clusters.names[i] for i in supporting[:high]), goes, named)


def _verdict(task: Task, pair: Pair) -> int:
    """The sign of a difference that the test shows; 0 if it shows none."""
    found, p_value = task.difference(pair)
    if found.refused:
        raise UsageError("too few clusters are left")
    return int(np.sign(found.estimate)) if p_value < 1 - found.level else 0

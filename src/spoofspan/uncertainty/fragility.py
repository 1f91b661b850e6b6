"""Fragility: the number of speakers, or attacks, that a verdict depends on.

A verdict that one system is better may depend on a few clusters. Clusters that support it most, by the change of the
difference without each of them, are left out first, and the comparison is repeated on the rest: with twice as many
until the verdict is lost, then with fewer until it holds again. It is measured that the verdict is lost without these
clusters and holds with the last of them, but not that no other set is as small: there are too many subsets.
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
    """The clusters without which a verdict is lost, or still holds.

    Parameters
    ----------
    factor
        The noun for a cluster, such as ``"speaker"``.
    left_out
        The names of the clusters, the strongest support of the verdict first.
    goes
        True if the verdict is lost without them; otherwise all but three of its supporters were left out.
    of
        The number of all clusters.
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
        The indices of the two systems, which differ significantly.
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
    """Leave out the strongest supporters of a verdict until it is lost."""
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
    """The sign of a significant difference; 0 if it is not significant."""
    found, p_value = task.difference(pair)
    if found.refused:
        raise UsageError("too few clusters are left")
    return int(np.sign(found.estimate)) if p_value < 1 - found.level else 0

"""Groups of one corpus (attacks, speakers, lengths): the interval of each, and the difference of every pair.

All clusters of the corpus are left out in turn, from every group: speakers that are in two groups, and bona fide time
that several attacks are measured against, make their values move together. A cluster that a group does not have leaves
its value as it is.

Attacks are also a sample of attacks to come: the mean over them and the next one are those of
:mod:`~spoofspan.uncertainty.random_units`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from spoofspan.uncertainty.clusters import Clusters, Resampling
from spoofspan.uncertainty.comparison import Difference
from spoofspan.uncertainty.jackknife import positive_semidefinite
from spoofspan.uncertainty.left_out import LeftOut
from spoofspan.uncertainty.max_t import adjusted_p_values
from spoofspan.uncertainty.measured_system import Measured, clusters_of, leave_out
from spoofspan.uncertainty.random_units import UnitSpread, over_units
from spoofspan.uncertainty.spreads import JackknifeSpread


@dataclass(frozen=True, eq=False)
class MeasuredGroups:
    """Groups of a corpus by name, measured without each of its clusters.

    Only by the jackknife: replicates of a small group may lack a class.
    """

    groups: Mapping[str, Measured]
    clusters: Clusters
    how: Resampling

    @classmethod
    def of(cls, groups: Mapping[str, Measured], utterances: Sequence[str], how: Resampling) -> MeasuredGroups:
        """Leave the clusters of all ``utterances`` of the corpus out of each group."""
        return cls(groups, clusters_of(groups.values(), how, utterances), how)

    @cached_property
    def _left_out(self) -> list[LeftOut]:
        return [leave_out(group, self.clusters) for group in self.groups.values()]

    @cached_property
    def _values(self) -> list[float]:
        return [float(group.value) for group in self.groups.values()]

    def _spread(self, chosen: Sequence[int]) -> JackknifeSpread:
        some = next(iter(self.groups.values()))
        return JackknifeSpread.from_left_out(
            some.measure, self.how, [self._values[i] for i in chosen], [self._left_out[i] for i in chosen]
        )

    def differences(self) -> tuple[Difference, ...]:
        """The difference of every pair of groups, first - second, with p-values for all of them together."""
        names = list(self.groups)
        pairs = list(combinations(range(len(names)), 2))
        found = [self._spread(pair).difference(0, 1) for pair in pairs]
        degrees = [one.degrees_of_freedom for one, p in found if one.degrees_of_freedom is not None and not np.isnan(p)]
        covariance = positive_semidefinite(np.nan_to_num(self._spread(range(len(names))).jackknife.covariance))
        middle = float(np.median(degrees)) if degrees else float("inf")
        adjusted = adjusted_p_values([p for _, p in found], pairs, covariance, middle, self.how.seed)
        return tuple(
            Difference(names[i], names[j], one, p, after)
            for (i, j), (one, p), after in zip(pairs, found, adjusted, strict=True)
        )

    def as_sample(self, unit: str) -> UnitSpread:
        """The mean over the groups as a sample of such groups, and the value of the next one."""
        spread = self._spread(range(len(self.groups)))
        return over_units(dict(zip(self.groups, self._values, strict=True)), np.eye(len(self.groups)), spread, unit)

"""Groups of one corpus (attacks, speakers, lengths): the interval of each, and the difference of every two.

All clusters of the corpus are left out in turn, from every group: speakers that are in two groups, and bona fide time
that several attacks are measured against, make their values move together. A cluster that a group does not have leaves
its value as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from spoofspan.uncertainty.clusters import Resampling
from spoofspan.uncertainty.comparison import Difference
from spoofspan.uncertainty.jackknife import positive_semidefinite
from spoofspan.uncertainty.max_t import adjusted_p_values
from spoofspan.uncertainty.measured_system import Measured, clusters_of, leave_out
from spoofspan.uncertainty.spreads import JackknifeSpread


def group_differences(
    groups: Mapping[str, Measured], utterances: Sequence[str], how: Resampling
) -> tuple[Difference, ...]:
    """The difference of every two groups, first - second, with p-values for all of them together.

    ``utterances`` are those of the corpus. Only by the jackknife: replicates of a small group may lack a class.
    """
    if how.draws or len(groups) < 2:
        return ()
    clusters = clusters_of(groups.values(), how, utterances)
    names = list(groups)
    left_out = [leave_out(group, clusters) for group in groups.values()]
    values = np.array([group.value for group in groups.values()])
    some = next(iter(groups.values()))
    pairs = list(combinations(range(len(names)), 2))

    def spread(chosen: Sequence[int]) -> JackknifeSpread:
        return JackknifeSpread.from_left_out(some.measure, how, values[list(chosen)], [left_out[i] for i in chosen])

    found = [spread(pair).difference(0, 1) for pair in pairs]
    degrees = [one.degrees_of_freedom for one, p in found if one.degrees_of_freedom is not None and not np.isnan(p)]
    covariance = positive_semidefinite(np.nan_to_num(spread(range(len(names))).jackknife.covariance))
    middle = float(np.median(degrees)) if degrees else float("inf")
    adjusted = adjusted_p_values([p for _, p in found], pairs, covariance, middle, how.seed)
    return tuple(
        Difference(names[i], names[j], one, p, after)
        for (i, j), (one, p), after in zip(pairs, found, adjusted, strict=True)
    )

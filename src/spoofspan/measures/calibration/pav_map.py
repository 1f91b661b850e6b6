"""The PAV map: the increasing map of least Cllr, kept away from certainty.

Pooling adjacent violators gives groups of neighbouring scores, each with one log-likelihood ratio. The lowest group of
a good system holds no bona fide and the highest no spoof, so their ratios would be infinite, and one such score that is
wrong on other data would cost infinitely much. As in Laplace's rule of succession, the mean amount of each class in an
utterance is therefore added below the lowest and above the highest score: a set of U utterances never states more than
about ln(U).

Between two groups the map is the line from the highest score of one to the lowest of the next.
"""

from __future__ import annotations

import math

import numpy as np

from spoofspan.base.errors import DataError
from spoofspan.base.times import Float64
from spoofspan.data.calibration import PavMap
from spoofspan.measures.costs import ScoredAmounts, log_ratios_of, pool_adjacent_violators


def pav_map(amounts: ScoredAmounts, utterances: int, name: str = "scores") -> PavMap:
    """Learn the map of distinct scores and the amounts under them.

    >>> amounts = ScoredAmounts(np.array([-1.0, 0.0, 1.0]), np.array([0.0, 1, 3]), np.array([3.0, 1, 0]))
    >>> found = pav_map(amounts, utterances=4)
    >>> found.scores, [round(ratio, 3) for ratio in found.knots]
    ((-1.0, -1.0, 0.0, 0.0, 1.0, 1.0), [-1.386, -1.386, 0.0, 0.0, 1.386, 1.386])
    """
    if not np.isfinite(amounts.scores).all():
        raise DataError(f"{name}: infinite scores cannot be calibrated; replace them by the largest finite ones")

    def padded(column: Float64) -> Float64:
        one = math.fsum(column) / utterances
        return np.concatenate(([one], column, [one]))

    bona_fide, spoof = padded(amounts.bona_fide), padded(amounts.spoof)
    each = bona_fide + spoof
    bona_fide, spoof = pool_adjacent_violators(bona_fide, spoof)
    knots = log_ratios_of(bona_fide, spoof)
    # a score belongs to the group that the middle of its amount falls into
    group = np.searchsorted(np.cumsum(bona_fide + spoof), np.cumsum(each) - each / 2)[1:-1]
    first = np.searchsorted(group, np.unique(group))
    if first.size == 1:
        raise DataError(
            f"{name}: high scores do not lie over bona fide more than over spoof, so an increasing map does not help; "
            "check what high scores mean (higher=)"
        )
    last = np.append(first[1:], group.size) - 1
    scores = np.stack((amounts.scores[first], amounts.scores[last]), axis=1).ravel()
    return PavMap(tuple(scores.tolist()), tuple(np.repeat(knots[group[first]], 2).tolist()))

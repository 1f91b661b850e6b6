"""How large a test set must be to tell two values apart, and what a test set of a given size can tell.

A jackknife over the clusters of one evaluation says by how much one cluster moves a value: with C clusters and the
variance V of the value, one cluster contributes ``C V``. On n clusters of the same kind the difference of two systems
varies by::

    (s1^2 + s2^2 - 2 r s1 s2) / n        s^2 = C V of a system, r the correlation of both over clusters

r is that of the two systems where both were measured on the same clusters (*paired*), and 0 on different ones
(*unpaired*, n clusters for each). The power of the two-sided t test at n - 1 degrees of freedom (2 n - 2, unpaired)
is a noncentral t probability. It is integrated over the law of the estimated standard error::

    power = E[ 1 - Phi(t u - delta) + Phi(-t u - delta) ],    u^2 ~ chi^2(df) / df,   delta = difference / standard error

A rate of another height varies by another amount. Where the values to be told apart are not those of the evaluation,
``s^2`` is scaled as a share's variance is, by ``p (1 - p)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.uncertainty.student import NORMAL, t_deviate

FEWEST = 3
MOST = 10**9
# Points of the integral over the law of the standard error.
POINTS = 400


@dataclass(frozen=True)
class Needed:
    """How many clusters it takes, paired or not.

    Parameters
    ----------
    paired
        Whether both systems are measured on the same clusters.
    correlation
        Of both systems over clusters; 0 if unpaired.
    clusters
        How many it takes, for each system.
    utterances
        How many that are, with as many in a cluster as now.
    power_now
        With as many clusters as the evaluation has.
    detectable
        The difference that these would tell with the power asked for.

    """

    paired: bool
    correlation: float
    clusters: int
    utterances: int
    power_now: float
    detectable: float

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return dict(vars(self))


def power_of(difference: float, deviation: float, clusters: float, level: float, samples: int = 1) -> float:
    """The chance that a two-sided t test at the level finds a difference.

    Parameters
    ----------
    difference
        The true one.
    deviation
        The standard deviation of the difference that one cluster gives.
    clusters
        How many there are, for each system.
    level
        As 0.05.
    samples
        1: both systems on the same clusters. 2: on different ones.

    Returns
    -------
    float

    Examples
    --------
    >>> round(power_of(0.5, 1.0, 34, 0.05), 3)  # of standard deviations: textbooks say 34 pairs for 80 %
    0.808

    """
    degrees = samples * (clusters - 1)
    distance = abs(difference) / deviation * math.sqrt(clusters) if deviation else math.inf
    if math.isinf(distance):
        return 1.0
    critical = t_deviate(1 - level / 2, degrees)
    spread = 1 / math.sqrt(2 * degrees)
    edges = np.linspace(max(1 - 9 * spread, 0.0), 1 + 12 * spread, POINTS + 1)
    u = (edges[1:] + edges[:-1]) / 2
    density = np.exp((degrees - 1) * np.log(u) - degrees * (u**2 - 1) / 2)
    found = [NORMAL.cdf(distance - critical * one) + NORMAL.cdf(-distance - critical * one) for one in u]
    return float(np.dot(density, found) / density.sum())


def clusters_needed(difference: float, deviation: float, power: float, level: float, samples: int = 1) -> int:
    """The fewest clusters (for each system) with which a difference is found with at least this power."""
    if not difference:
        raise UsageError("equal values cannot be told apart; give two different ones")

    def enough(clusters: int) -> bool:
        return power_of(difference, deviation, clusters, level, samples) >= power

    low, high = FEWEST - 1, FEWEST
    while not enough(high):
        low, high = high, 2 * high
        if high > MOST:
            raise UsageError(f"it takes more than {MOST:,} clusters; the values are too close to each other")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def detectable_difference(deviation: float, clusters: int, power: float, level: float, samples: int = 1) -> float:
    """The least difference that so many clusters find with this power."""
    low, high = 0.0, deviation
    while power_of(high, deviation, clusters, level, samples) < power:
        low, high = high, 2 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        enough = power_of(middle, deviation, clusters, level, samples) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high

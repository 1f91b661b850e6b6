"""The power of a two-sided t test, and how many clusters a power takes.

The power is a noncentral t probability, integrated over the law of the estimated standard error::

    power = E[1 - Phi(t u - delta) + Phi(-t u - delta)],    u^2 ~ chi^2(df) / df,    delta = difference / standard error
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.uncertainty.student import quantile

NORMAL = NormalDist()
FEWEST = 3
MOST = 10**9
# Points of the integral over the law of the standard error.
POINTS = 400


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
    critical = quantile(1 - level, degrees)
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
    """Smallest difference detectable with n clusters at this power."""
    low, high = 0.0, deviation
    while power_of(high, deviation, clusters, level, samples) < power:
        low, high = high, 2 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        enough = power_of(middle, deviation, clusters, level, samples) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high

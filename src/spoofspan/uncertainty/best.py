"""The best of several systems: the systems that may be the best, and the optimism of the best value.

**Model confidence set** (Hansen, Lunde and Nason, 2011), by their statistic T_max. Of the systems that are left, the
one that is farthest behind their mean, in standard errors, is removed if that is farther than the farthest of equally
good systems would be; this law comes from draws with the covariance of the systems, as in
:mod:`~spoofspan.uncertainty.max_t`. The p-value of a system is the largest on the way to its removal. With the level's
confidence, the remaining systems include all the best ones; many steps cost no more than one.

**Winner's curse.** The best of several values is too good, because chance helped to make it the best. How much is
estimated by drawing: around the values found, as if they were the truth, the winner of a draw is better than its truth
by a bias on average. Values found differ more than the truth does, so this is too little, by 29 % where all systems
are equal; the same again inside of each draw says by how much, and corrects it to 16 %.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spoofspan.base.times import Float64
from spoofspan.measures.kind import Direction
from spoofspan.uncertainty.max_t import MANY_DEGREES, draw_values

SET_DRAWS = 10_000
BIAS_DRAWS = 500


def set_p_values(
    values: Sequence[float], covariance: Float64, degrees: float, direction: Direction, seed: int = 0
) -> list[float]:
    """The p-value of each system being among the best: those at or above a level are its confidence set.

    Parameters
    ----------
    values
        The values of the systems.
    covariance
        The covariance of these values over test sets.
    degrees
        The degrees of freedom of the covariance.
    direction
        The direction of better values.
    seed
        Seed of the random draws.

    Returns
    -------
    list of float
        1 for the best value.

    Examples
    --------
    >>> found = set_p_values([0.05, 0.052, 0.09], np.eye(3) * 1e-5, 50, "lower")
    >>> [one > 0.05 for one in found]
    [True, True, False]

    """
    behind = np.array(values) if direction == "lower" else -np.array(values)
    found = np.ones(behind.size)
    left = list(range(behind.size))
    rng, reached = np.random.default_rng([seed, behind.size]), 0.0
    drawn, covariances = draw_values(rng, SET_DRAWS, covariance, degrees if degrees < MANY_DEGREES else np.inf)
    both = covariance[None] if covariances is None else np.concatenate((covariance[None], covariances))
    own, rows = np.diagonal(both, axis1=1, axis2=2), both.sum(axis=2)  # of the true covariance, and of each estimate
    while (count := len(left)) > 1:
        # of each value less the mean of all that are left
        variances = own[:, left] - 2 * rows[:, left] / count + rows[:, left].sum(axis=1, keepdims=True) / count**2
        same = variances[0] <= 1e-12 * own[0, left].max()  # systems that are the same, up to rounding
        spread = np.where(same, np.inf, np.sqrt(np.maximum(variances, 0.0)))
        distance = behind[left] - behind[left].mean()
        ratios = np.where(same & (distance > 0), np.inf, distance / spread[0])
        noise = drawn[:, left] - drawn[:, left].mean(axis=1, keepdims=True)
        largest = (noise / (spread if covariances is None else spread[1:])).max(axis=1)
        worst = int(ratios.argmax())
        reached = max(reached, (np.count_nonzero(largest >= ratios[worst]) + 1) / (SET_DRAWS + 1))
        found[left[worst]] = reached
        rows = rows - both[:, :, left.pop(worst)]
    return [float(one) for one in found]


def without_winners_curse(values: Sequence[float], covariance: Float64, direction: Direction, seed: int = 0) -> float:
    """The best of several values without the optimism of having been chosen.

    Parameters
    ----------
    values, covariance, direction, seed
        As in :func:`set_p_values`.

    Returns
    -------
    float

    Examples
    --------
    >>> found = without_winners_curse([0.05, 0.051, 0.052], np.eye(3) * 1e-5, "lower")
    >>> round(found, 3)  # closer together than their noise of 0.003
    0.053
    >>> far_apart = without_winners_curse([0.05, 0.2], np.eye(2) * 1e-5, "lower")
    >>> round(far_apart, 4)
    0.05

    """
    sign = 1.0 if direction == "lower" else -1.0
    found = sign * np.array(values)
    noise, _ = draw_values(np.random.default_rng([seed, found.size]), BIAS_DRAWS, covariance, np.inf)
    noise = np.concatenate((noise, -noise))  # so that it has no mean of its own

    def bias(truth: Float64) -> float:
        winners = (truth + noise).argmin(axis=1)
        return float(noise[np.arange(len(noise)), winners].mean())

    once = bias(found)
    twice = float(np.mean([bias(found + one) for one in noise[:: len(noise) // 200]]))
    return float(sign * (found.min() - min(2 * once - twice, 0.0)))

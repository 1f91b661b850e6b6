"""Quantiles of replicates: the ends of percentile and BCa intervals, and the p-value that goes with them."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from spoofspan.base.errors import UndefinedMeasureError
from spoofspan.base.times import Float64


def quantiles(replicates: Float64, shares: tuple[float, float]) -> tuple[float, float]:
    """Quantiles as order statistics: the k-th lowest of B is that of k / (B + 1), in between along a line.

    >>> quantiles(np.arange(1.0, 40.0), (0.025, 0.975))
    (1.0, 39.0)
    """
    low, high = np.quantile(replicates, shares, method="weibull")
    return float(low), float(high)


@dataclass(frozen=True)
class BcaCorrection:
    """Which quantile of the replicates BCa takes instead of another one (Efron, 1987)."""

    bias: float
    acceleration: float

    @classmethod
    def of(cls, estimate: float, replicates: Float64, without_each: Float64) -> BcaCorrection:
        """From the replicates below the estimate, and from the values without each cluster."""
        if np.isnan(without_each).any():
            raise UndefinedMeasureError(
                "BCa leaves out each cluster once, and without one of them a class is missing; use method='percentile'"
            )
        count = replicates.size
        below = np.count_nonzero(replicates < estimate) + np.count_nonzero(replicates == estimate) / 2
        bias = NormalDist().inv_cdf(min(max(below / count, 0.5 / count), 1 - 0.5 / count))
        pull = without_each.mean() - without_each
        spread = float((pull**2).sum())
        return cls(bias, float((pull**3).sum()) / (6 * spread**1.5) if spread else 0.0)

    def share(self, asked: float) -> float:
        """The share of replicates to go to for a quantile that is asked for."""
        shifted = self.bias + NormalDist().inv_cdf(asked)
        room = 1 - self.acceleration * shifted
        if room <= 0:  # beyond what the formula can say: the end of the replicates
            return float(shifted > 0)
        return NormalDist().cdf(self.bias + shifted / room)

    def asked(self, share: float) -> float:
        """Which quantile leads to a share of the replicates: the inverse of :meth:`share`."""
        pushed = NormalDist().inv_cdf(share) - self.bias
        room = 1 + self.acceleration * pushed
        if room <= 0:
            return float(pushed > 0)
        return NormalDist().cdf(pushed / room - self.bias)


def inverted_p_value(replicates: Float64, correction: BcaCorrection | None = None) -> float:
    """The highest 1 - confidence at which the interval of the replicates still holds 0; at least 2 / (B + 1).

    >>> inverted_p_value(np.array([-1.0, *range(1, 99)]))
    0.03
    """
    down, up = _share_up_to_zero(np.sort(replicates)), _share_up_to_zero(np.sort(-replicates))
    if correction is not None:
        down, up = correction.asked(down), 1 - correction.asked(1 - up)
    return float(min(max(2 * min(down, up), 2 / (replicates.size + 1)), 1.0))


def _share_up_to_zero(ordered: Float64) -> float:
    """The highest quantile that is at most 0, along a line between two replicates; never beyond the last of them."""
    count = ordered.size
    place = int(np.searchsorted(ordered, 0.0, side="right"))
    if place in (0, count):
        return max(place, 1) / (count + 1)
    below, above = float(ordered[place - 1]), float(ordered[place])
    return (place - below / (above - below)) / (count + 1)

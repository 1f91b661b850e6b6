"""Intervals: an estimate and how far it would move on another test set of the same kind.

``percentile``: the interval between two quantiles of the replicates. ``bca`` (Efron, 1987): the same with quantiles
that are corrected for bias and for acceleration; the acceleration comes from leaving out each cluster once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

from spoofspan.base.errors import UndefinedMeasureError
from spoofspan.base.times import Float64
from spoofspan.uncertainty.clusters import Method, Resampling


@dataclass(frozen=True, eq=False)
class Interval:
    """An estimate with its interval."""

    measure: str
    estimate: float
    low: float
    high: float
    level: float
    method: Method
    clusters: int
    redrawn: int
    standard_error: float
    replicates: Float64 = field(repr=False)
    warnings: tuple[str, ...] = ()
    drawn_by: str = "cluster"
    seed: int = 0

    def __str__(self) -> str:
        lines = [
            f"{self.measure} {self.estimate:.5g}, {100 * self.level:g} % interval {self.low:.5g} to {self.high:.5g} "
            f"({self.how})"
        ]
        return "\n".join([*lines, *(f"  warning: {text}" for text in self.warnings)])

    @property
    def how(self) -> str:
        """How it was made, in words."""
        again = f", {self.redrawn:,} drawn again" if self.redrawn else ""
        return (
            f"{self.method}, {self.replicates.size:,} replicates by {self.drawn_by} ({self.clusters:,} of them), "
            f"seed {self.seed}{again}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the replicates as plain data."""
        return {
            "measure": self.measure,
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "method": self.method,
            "drawn_by": self.drawn_by,
            "clusters": self.clusters,
            "seed": self.seed,
            "replicates": int(self.replicates.size),
            "redrawn": self.redrawn,
            "standard_error": self.standard_error,
            "warnings": list(self.warnings),
        }


def interval(
    name: str,
    estimate: float,
    replicates: Float64,
    how: Resampling,
    clusters: int,
    redrawn: int,
    without_each: Callable[[], Float64],
    cautions: tuple[str, ...] = (),
) -> Interval:
    """Read an interval off replicates; ``without_each`` gives the jackknife values, which only BCa needs."""
    tail = (1 - how.confidence) / 2
    shares = (tail, 1 - tail)
    if how.method == "bca":
        shares = _bca_shares(shares, estimate, replicates, without_each())
    low, high = quantiles(replicates, shares)
    if (replicates == replicates[0]).all():
        cautions = (*cautions, "every replicate has the same value, so the interval says nothing of other test sets")
    error = float(np.std(replicates, ddof=1))
    return Interval(
        name,
        estimate,
        low,
        high,
        how.confidence,
        how.method,
        clusters,
        redrawn,
        error,
        replicates,
        cautions,
        how.drawn_by,
        how.seed,
    )


def quantiles(replicates: Float64, shares: tuple[float, float]) -> tuple[float, float]:
    """Quantiles as order statistics: the k-th lowest of B is that of k / (B + 1), in between along a line.

    >>> quantiles(np.arange(1.0, 40.0), (0.025, 0.975))
    (1.0, 39.0)
    """
    low, high = np.quantile(replicates, shares, method="weibull")
    return float(low), float(high)


def _bca_shares(
    shares: tuple[float, float], estimate: float, replicates: Float64, without_each: Float64
) -> tuple[float, float]:
    """Correct the shares for bias and acceleration (Efron, 1987)."""
    if np.isnan(without_each).any():
        raise UndefinedMeasureError(
            "BCa leaves out each cluster once, and without one of them a class is missing; use method='percentile'"
        )
    normal = NormalDist()
    count = replicates.size
    below = np.count_nonzero(replicates < estimate) + np.count_nonzero(replicates == estimate) / 2
    bias = normal.inv_cdf(min(max(below / count, 0.5 / count), 1 - 0.5 / count))
    pull = without_each.mean() - without_each
    spread = float((pull**2).sum())
    acceleration = float((pull**3).sum()) / (6 * spread**1.5) if spread else 0.0

    def corrected(share: float) -> float:
        shifted = bias + normal.inv_cdf(share)
        room = 1 - acceleration * shifted
        if room <= 0:  # beyond what the formula can say: the end of the replicates
            return float(shifted > 0)
        return normal.cdf(bias + shifted / room)

    return corrected(shares[0]), corrected(shares[1])

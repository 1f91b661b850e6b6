"""Multiple comparisons by step-down max-T, which limits the probability of any wrong verdict to the level.

The differences of systems on the same clusters are correlated. Their joint law, if no system differs
from any other, is that of normal values with the covariance of the systems, each difference divided by its own
standard error, which is estimated from as many degrees of freedom (a Wishart law). Drawing from it says how large the
largest of all the ratios gets by chance, and that is what the largest of those found is held against; then the largest
of the rest, and so on (Westfall and Young, 1993; Romano and Wolf, 2005).

Under the same law Holm's correction is an upper bound that needs no draws. The adjusted p is the smaller of both: the
draws make it sharp where comparisons are alike, and a p that is small enough for the number of comparisons is so
whatever the number of draws.

**Margins.** "Not significantly different" does not mean "equal". With a margin m, the smallest difference that matters,
a system is not worse than another one if the test rejects that it is worse by m or more, and both are equivalent if
neither is worse (two one-sided tests; Schuirmann, 1987). At the level 5 %, two systems are equivalent if and only if
the 90 % interval of their difference lies within the margin. Of the two hypotheses of a pair at most one is true, so
p-values are adjusted for the number of pairs, by Holm's correction with that bound (Shaffer, 1986).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from spoofspan.base.times import Float64, Int64
from spoofspan.uncertainty.student import statistic_of

DRAWS = 100_000
FEWEST_DRAWS = 10_000
# The most ratios drawn in all, and at once.
RATIOS_DRAWN = 1 << 23
RATIOS_HELD = 1 << 21
# With more degrees of freedom, standard errors are taken as known.
MANY_DEGREES = 100.0


def adjusted_p_values(
    p_values: Sequence[float], pairs: Sequence[tuple[int, int]], covariance: Float64, degrees: float, seed: int = 0
) -> list[float]:
    """Adjust two-sided p-values of differences for their number.

    Parameters
    ----------
    p_values
        The p-value of each pair.
    pairs
        The rows of the covariance of each pair.
    covariance
        The covariance of the values of the systems.
    degrees
        The degrees of freedom of the covariance.
    seed
        Seed of the random draws.

    Returns
    -------
    list of float
        NaN where p is.

    Examples
    --------
    >>> many = adjusted_p_values([0.01, 0.2, 0.3], [(0, 1), (0, 2), (1, 2)], np.eye(3), float("inf"))
    >>> 0.02 < many[0] < 0.03  # Holm's correction gives 0.03
    True

    """
    p = np.asarray(p_values, np.float64)
    if p.size < 2:
        return list(p_values)
    if degrees >= MANY_DEGREES:
        degrees = np.inf
    elif degrees < len(covariance):  # a covariance of lower rank is drawn from so many normal values
        degrees = max(int(degrees), 1)
    # p-values may have different degrees of freedom: they are compared as deviates on one scale
    found = np.array([0.0 if np.isnan(one) else _deviate(one, degrees) for one in p_values])
    order = np.argsort(p, kind="stable")
    columns = np.asarray(pairs, np.int64)[order]
    count = int(np.clip(RATIOS_DRAWN // p.size, FEWEST_DRAWS, DRAWS))
    at_once = max(RATIOS_HELD // max(p.size, covariance.size), 1)
    rng = np.random.default_rng([seed, p.size])
    reached = np.zeros(p.size, np.int64)
    for start in range(0, count, at_once):
        ratios = draw_ratios(rng, min(at_once, count - start), columns, covariance, degrees)
        # the largest of those not decided before
        largest = np.maximum.accumulate(ratios[:, ::-1], axis=1)[:, ::-1]
        reached += np.count_nonzero(largest >= found[order], axis=0)
    drawn = np.maximum.accumulate((reached + 1) / (count + 1))
    adjusted = np.empty_like(p)
    adjusted[order] = drawn
    return [float(one) for one in np.maximum(np.minimum(adjusted, holm(p_values)), p)]


def _deviate(p: float, degrees: float) -> float:
    """The absolute statistic with this two-sided p-value."""
    if np.isfinite(degrees):
        return statistic_of(p, degrees) if p < 1 else 0.0
    return -NormalDist().inv_cdf(p / 2) if p / 2 > 0 else np.inf


def draw_ratios(rng: np.random.Generator, count: int, pairs: Int64, covariance: Float64, degrees: float) -> Float64:
    """Draw |difference| / its estimated standard error of each pair: a row for each draw."""
    drawn, estimated = draw_values(rng, count, covariance, degrees)
    first, second = pairs.T
    variance = (covariance[first, first] + covariance[second, second] - 2 * covariance[first, second])[None, :]
    # systems that are the same do not differ, up to rounding
    same = variance[0] <= 1e-12 * (covariance[first, first] + covariance[second, second])
    if estimated is not None:
        diagonal = np.diagonal(estimated, axis1=1, axis2=2)
        variance = diagonal[:, first] + diagonal[:, second] - 2 * estimated[:, first, second]
    ratios = np.zeros((count, len(pairs)))
    apart = np.abs(drawn[:, first] - drawn[:, second])
    np.divide(apart, np.sqrt(np.maximum(variance, 0.0)), out=ratios, where=np.broadcast_to(~same, ratios.shape))
    return ratios


def draw_values(
    rng: np.random.Generator, count: int, covariance: Float64, degrees: float
) -> tuple[Float64, Float64 | None]:
    """Draw normal values, a row for each draw, and estimated covariances; None if the covariance is known."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn = rng.standard_normal((count, len(root))) @ root.T
    return drawn, _draw_covariances(rng, count, root, degrees) if np.isfinite(degrees) else None


def _draw_covariances(rng: np.random.Generator, count: int, root: Float64, degrees: float) -> Float64:
    """Covariances as estimated with these degrees of freedom: Wishart, divided by them."""
    size = len(root)
    if degrees >= size:  # Bartlett's decomposition
        factors = np.tril(rng.standard_normal((count, size, size)), -1)
        chi = np.sqrt(rng.chisquare(degrees - np.arange(size), (count, size)))
        factors[:, np.arange(size), np.arange(size)] = chi
        spread = root @ factors
    else:
        spread = root @ rng.standard_normal((count, size, int(degrees)))
    covariances: Float64 = spread @ spread.transpose(0, 2, 1) / degrees
    return covariances


def holm(p_values: Sequence[float], most: int | None = None) -> list[float]:
    """Holm's correction: the lowest p times their number, the next times one less, ..., never falling, at most 1.

    Where no more than ``most`` of the hypotheses can be true together, no p is multiplied by more (Shaffer, 1986).

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]

    A pair without a p-value stays NaN, and counts as one of the pairs.
    """
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")  # NaN comes last, and stays
    adjusted = np.empty_like(p)
    left = np.minimum(p.size - np.arange(p.size), p.size if most is None else most)
    adjusted[order] = np.minimum(np.maximum.accumulate(left * p[order]), 1.0)
    return [float(one) for one in adjusted]


# ---------------------------------------------------------------- margins


@dataclass(frozen=True)
class MarginTest:
    """Two systems against a margin; p-values are adjusted for the number of pairs.

    Parameters
    ----------
    margin
        The smallest difference that matters.
    first_not_worse
        P-value of the first system being worse by the margin or more.
    second_not_worse
        P-value of the second system being so.
    """

    margin: float
    first_not_worse: float
    second_not_worse: float

    @property
    def equivalent(self) -> float:
        """P-value of either system being worse by the margin or more."""
        return max(self.first_not_worse, self.second_not_worse)

    def verdict(self, first: str, second: str, level: float) -> str | None:
        """Equivalence, or the system that is not worse; None if neither is shown."""
        if self.equivalent < level:
            return "equivalent"
        for name, p in ((first, self.first_not_worse), (second, self.second_not_worse)):
            if p < level:
                return f"{name} not worse"
        return None

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {**vars(self), "equivalent": self.equivalent}


def margin_tests(margin: float, p_values: Sequence[tuple[float, float]]) -> list[MarginTest]:
    """Adjust the p-values of pairs for their number.

    >>> [one.equivalent for one in margin_tests(0.5, [(0.01, 0.001), (0.02, 0.6)])]
    [0.02, 0.6]
    """
    adjusted = holm([p for pair in p_values for p in pair], len(p_values))
    return [MarginTest(margin, *adjusted[2 * place :][:2]) for place in range(len(p_values))]

"""Student's t law: its tail and its quantiles, in doubles."""

from __future__ import annotations

import math
from statistics import NormalDist

NORMAL = NormalDist()


def t_tail(t: float, degrees: float) -> float:
    """P(T >= t) for t >= 0.

    >>> round(t_tail(2.228, 10), 4)
    0.025
    """
    if math.isinf(t):
        return 0.0
    if math.isinf(degrees):
        return math.erfc(t / math.sqrt(2)) / 2
    return _beta_share(degrees / (degrees + t * t), degrees / 2, 0.5) / 2


def t_deviate(share: float, degrees: float) -> float:
    """The t below which T lies with this chance.

    >>> round(t_deviate(0.975, 10), 3)
    2.228
    """
    tail = 1 - share
    if share < 0.5:
        return -t_deviate(tail, degrees)
    if tail == 0:
        return math.inf
    if math.isinf(degrees):
        return NORMAL.inv_cdf(share)
    low, high = 0.0, 1.0
    while t_tail(high, degrees) > tail:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if t_tail(middle, degrees) > tail else (low, middle)
    return (low + high) / 2


def _beta_share(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_share(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    total = d
    for m in range(1, 10_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 / (1 + term * d), 1 + term / c
            total *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return front * total

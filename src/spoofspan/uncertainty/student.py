"""Student's t distribution, with any positive number of degrees of freedom.

With t of nu degrees of freedom and x = nu / (nu + t^2), the chance of a value at least as far from 0 as t is the
regularised incomplete beta function I_x(nu / 2, 1 / 2). Its continued fraction (Abramowitz and Stegun, 26.5.8) is
summed by Lentz's method.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, inf, isinf, lgamma, log, log1p, pi

# A term of the continued fraction that changes the product by less than this is the last.
PRECISION = 1e-14
TINY = 1e-300
MOST_TERMS = 10_000


def two_sided_p(statistic: float, degrees: float) -> float:
    """The two-sided p-value of a statistic.

    >>> round(two_sided_p(12.7062, 1), 6), two_sided_p(0.0, 5)
    (0.05, 1.0)
    """
    square = statistic * statistic
    if isinf(square):
        return 0.0
    return _incomplete_beta(degrees / 2, 0.5, degrees / (degrees + square), square / (degrees + square))


def quantile(confidence: float, degrees: float) -> float:
    """The bound of |t| with this confidence.

    >>> round(quantile(0.95, 1), 3), round(quantile(0.95, 30), 3)
    (12.706, 2.042)
    """
    return statistic_of(1 - confidence, degrees)


@lru_cache(maxsize=4096)
def statistic_of(p: float, degrees: float) -> float:
    """The statistic with this two-sided p, which may be smaller than 1 - confidence can be.

    >>> round(statistic_of(0.05, 30), 3), statistic_of(0.0, 30)
    (2.042, inf)
    """
    if not p:
        return inf
    low, high, middle = 0.0, inf, 1.0
    # Newton's steps, replaced by bisection or doubling outside the bracket
    while True:
        excess = two_sided_p(middle, degrees) - p
        if excess > 0:
            low = middle
        else:
            high = middle
        density = _density(middle, degrees)  # 0 far out
        step = middle + excess / (2 * density) if density else inf
        if not low < step < high:
            step = 2 * middle if isinf(high) else (low + high) / 2
        if abs(step - middle) <= PRECISION * middle or not low < step < high:
            return step
        middle = step


def _density(t: float, degrees: float) -> float:
    norm = lgamma((degrees + 1) / 2) - lgamma(degrees / 2) - log(degrees * pi) / 2
    return exp(norm - (degrees + 1) / 2 * log1p(t * t / degrees))


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """I_x(a, b), regularised; ``rest`` is 1 - x, which may be too small to be had from x."""
    if not x or not rest:
        return float(x > 0)
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side
        return 1 - _incomplete_beta(b, a, rest, x)
    # of the smaller part, the logarithm as it is; of the larger one, from the smaller
    log_x = log(x) if x < 0.5 else log1p(-rest)
    log_rest = log(rest) if rest < 0.5 else log1p(-x)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log_x + b * log_rest) / a
    return front / _fraction(a, b, x)


def _fraction(a: float, b: float, x: float) -> float:
    """1 + d1 / (1 + d2 / (1 + ...)), by Lentz's method."""
    product, above, below = 1.0, 1.0, 0.0
    for term in range(1, MOST_TERMS):
        half, odd = divmod(term, 2)
        if odd:
            factor = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            factor = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        below = 1 / _away_from_zero(1 + factor * below)
        above = _away_from_zero(1 + factor / above)
        product *= above * below
        if abs(above * below - 1) < PRECISION:
            return product
    return product


def _away_from_zero(value: float) -> float:
    return value if abs(value) > TINY else TINY

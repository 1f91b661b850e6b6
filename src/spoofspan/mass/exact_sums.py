"""Means of floats, rounded once: sums without rounding error, and their quotients to the nearest double.

Sums of doubles depend on their order, so equal means of different scores could come out as different doubles: a tie
would be split, and an EER move. Here a sum is a few columns of integers, ``sum(column * 2**exponent)``: scores are cut
into :func:`digits`, and sums of integers are exact. Python divides integers of any size and rounds once. Equal means
are equal doubles, in any order, and a mean of finite scores is finite.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from spoofspan.base.times import Float64, Int64
from spoofspan.data.scores import Values

# No sum of a column is longer.
SUM_BITS = 62
MANTISSA_BITS = 53


def digits(values: Values, most_summed: int) -> Iterator[tuple[int, Int64]]:
    """Cut finite floats into columns of integers with falling exponents: ``values == sum(column * 2**exponent)``.

    Sums of ``most_summed`` of these integers do not overflow.

    >>> [(exponent, column.tolist()) for exponent, column in digits(np.array([5.0, -0.25]), 2**59)]
    [(1, [2, 0]), (-1, [2, 0]), (-3, [0, -2])]
    """
    bits = min(SUM_BITS - most_summed.bit_length(), MANTISSA_BITS)
    rest = values.astype(np.float64)
    while largest := float(max(rest.max(initial=0.0), -rest.min(initial=0.0))):
        exponent = math.frexp(largest)[1] - bits
        leading = np.trunc(_scaled(rest, -exponent))
        rest -= _scaled(leading, exponent)
        yield exponent, leading.astype(np.int64)


def _scaled(values: Float64, exponent: int) -> Float64:
    # a power of two is a double only up to here, and multiplying takes a fifth of the time
    return values * 2.0**exponent if abs(exponent) < 1000 else np.ldexp(values, exponent)


def group_means(values: Values, weights: Int64, offsets: Int64) -> Float64:
    """The weighted mean of each group of values, rounded once; NaN where infinities of both signs meet.

    Rows ``offsets[i]`` to ``offsets[i + 1] - 1`` are group i, and every group has a row. Values without weight do not
    count; the mean of nothing is 0.

    >>> group_means(np.array([0.1, 0.7, 1e308, 1.5e308]), np.array([3, 1, 20, 20]), np.array([0, 2, 4])).tolist()
    [0.25, 1.25e+308]
    """
    begins = offsets[:-1]
    # equal weights decide nothing, and small ones leave more bits to the values
    alike = np.minimum.reduceat(weights, begins) == np.maximum.reduceat(weights, begins)
    weights = np.where(np.repeat(alike, np.diff(offsets)), np.minimum(weights, 1), weights)
    total = np.add.reduceat(weights, begins)
    return group_quotients(values, weights, offsets, np.maximum(total, 1))


def group_quotients(values: Values, weights: Int64, offsets: Int64, divisors: Int64) -> Float64:
    """The weighted sum of each group of values by its divisor, rounded once; as :func:`group_means`."""
    begins = offsets[:-1]
    infinite = np.flatnonzero(np.isinf(values))
    finite = values
    if infinite.size:
        finite = values.copy()
        finite[infinite] = 0.0
    most = int(np.add.reduceat(weights, begins).max(initial=1))
    sums = [(exponent, np.add.reduceat(column * weights, begins)) for exponent, column in digits(finite, most)]
    found = quotients(sums, divisors)
    if infinite.size:
        infinite = infinite[weights[infinite] > 0]
        group = np.searchsorted(offsets, infinite, side="right") - 1
        with np.errstate(invalid="ignore"):
            np.add.at(found, group, values[infinite].astype(np.float64))
    return found


def quotients(sums: Sequence[tuple[int, Int64]], divisors: Int64) -> Float64:
    """Divide ``sum(column * 2**exponent)`` by positive integers, row by row, each rounded once."""
    if not sums or not divisors.size:
        return np.zeros(divisors.size)
    lowest = min(0, *(exponent for exponent, _ in sums))
    whole = sum(column.astype(object) << exponent - lowest for exponent, column in sums)
    found: Float64 = (whole / (divisors.astype(object) << -lowest)).astype(np.float64)
    return found

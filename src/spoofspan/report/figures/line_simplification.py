"""Curves thinned to what can be seen: few points, and none of the others further away than a bound.

Of an error curve, :func:`.thin_curve.thin_curve` first picks points so close to each other that none of the
others is far from them. Then Douglas and Peucker's algorithm drops those that lie near enough to the line between their
neighbours. Everything kept is a point of the exact curve.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from spoofspan.base.times import Float64, Int64

TOLERANCE = 0.0005  # 0.05 points: how far a rate may be from the exact one
SHARE_OF_PICKING = 0.2  # of the bound is for picking points, the rest for lines
VISIBLE = 0.01  # normal deviates: less cannot be seen on a DET plot, whose axes are some 4 of them long
STEP = 0.0004  # normal deviates
EXTREME = 1e-6  # on normal-deviate axes, rates closer to 0 or 1 than this are drawn there

_NORMAL = NormalDist()
Distances = Callable[[Float64, Float64], Float64]


def deviates(rates: npt.ArrayLike) -> Float64:
    """Rates on the scale of a normal deviate (the inverse of the normal distribution).

    >>> deviates([0.5, 0.975]).round(2).tolist()
    [0.0, 1.96]
    """
    clipped = np.clip(np.asarray(rates, np.float64), EXTREME, 1 - EXTREME)
    return np.array([_NORMAL.inv_cdf(rate) for rate in clipped.ravel()], np.float64).reshape(clipped.shape)


def rates_of(deviate: npt.ArrayLike) -> Float64:
    """The rates of normal deviates."""
    array = np.asarray(deviate, np.float64)
    return np.array([_NORMAL.cdf(one) for one in array.ravel()], np.float64).reshape(array.shape)


def thin_det(false_positive_rates: Float64, false_negative_rates: Float64, tolerance: float = TOLERANCE) -> Int64:
    """Points of a DET curve to keep, so that lines between them on normal-deviate axes show all others.

    It may be a picked curve, whose points are up to :data:`STEP` from each other on either axis.
    """
    x, y = deviates(false_positive_rates), deviates(false_negative_rates)
    # A rate changes by the density times as much as its deviate; within VISIBLE, densities differ by 5 % at most.
    density = np.exp(-(np.minimum(np.abs(x), np.abs(y)) ** 2) / 2) / (2 * np.pi) ** 0.5
    bound = np.minimum(VISIBLE, 0.95 * tolerance / density) - 2**0.5 * STEP
    return _peucker(x, y, bound, _distances)


def thin_function(x: Float64, y: Float64, tolerance: float = TOLERANCE) -> Int64:
    """Points of a function (x rises, y is monotone, jumps have two points) to keep, so that y is near."""
    return _peucker(x, y, np.full(x.size, tolerance), _heights)


def _peucker(x: Float64, y: Float64, bound: Float64, distances: Distances) -> Int64:
    keep = np.zeros(x.size, bool)
    keep[[0, -1]] = True
    waiting = [(0, x.size - 1)]
    while waiting:
        first, last = waiting.pop()
        if last - first < 2:
            continue
        here = slice(first, last + 1)
        away = distances(x[here], y[here]) / bound[here]
        worst = int(away.argmax())
        if away[worst] > 1:
            keep[first + worst] = True
            waiting += [(first, first + worst), (first + worst, last)]
    return np.flatnonzero(keep)


def _distances(x: Float64, y: Float64) -> Float64:
    """Distances of points from the line between the first and the last of them."""
    dx, dy = x[-1] - x[0], y[-1] - y[0]
    length = dx * dx + dy * dy
    along = np.clip(((x - x[0]) * dx + (y - y[0]) * dy) / length, 0, 1) if length else np.zeros_like(x)
    away: Float64 = np.hypot(x - x[0] - along * dx, y - y[0] - along * dy)
    return away


def _heights(x: Float64, y: Float64) -> Float64:
    """Vertical distance of points from the line between the first and the last of them."""
    dx = x[-1] - x[0]
    if not dx:  # a jump: y is monotone, so all points lie on it
        return np.zeros_like(x)
    away: Float64 = np.abs(y - y[0] - (x - x[0]) / dx * (y[-1] - y[0]))
    return away

"""On which scale the interval of a measure is symmetric, and both of its ends there."""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING

from spoofspan.measures.kind import Scale
from spoofspan.measures.measure import Measure

if TYPE_CHECKING:
    from spoofspan.uncertainty.jackknife import Estimate

# Values that are so far apart need no more, and few errors would make the logit of a rate useless.
MOST_STRETCH = 3.0
# exp of more overflows.
MOST_EXPONENT = 700.0


def bounds(found: Estimate, scale: Scale, confidence: float) -> tuple[float, float]:
    """Both ends of a t interval on a scale; as they are where a value lies at the end of its scale.

    >>> from spoofspan.uncertainty.jackknife import Estimate
    >>> low, high = bounds(Estimate(0.1, 0.02, 30), "logit", 0.95)
    >>> round(low, 4), round(high, 4)
    (0.0659, 0.1489)
    """
    value, reach = found.value, found.reach(confidence)
    if scale == "logit" and 0 < value < 1:
        odds = value / (1 - value)
        factor = exp(min(reach / (value * (1 - value)), MOST_EXPONENT))
        return odds / (odds + factor), odds * factor / (1 + odds * factor)
    if scale == "log" and value > 0:
        factor = exp(min(reach / value, MOST_EXPONENT))
        return value / factor, value * factor
    low, high = value - reach, value + reach
    if scale == "raw":
        return low, high
    return max(low, 0.0), min(high, 1.0) if scale == "logit" else high


def stretches(first: float, second: float) -> tuple[float, float]:
    """How much steeper logits are at each of two shares than between them on average, at most 3; 1 at 0 and 1.

    >>> [round(one, 3) for one in stretches(0.2, 0.1)]
    [0.771, 1.37]
    """
    if first == second or not all(0 < value < 1 for value in (first, second)):
        return 1.0, 1.0
    chord = (log(first / (1 - first)) - log(second / (1 - second))) / (first - second)
    at_first, at_second = (min(1 / (value * (1 - value) * chord), MOST_STRETCH) for value in (first, second))
    return at_first, at_second


def is_share(measure: Measure) -> bool:
    """Whether a measure is a rate or a share, and no cost."""
    return measure.kind.scale == "logit" and measure.kind.percent

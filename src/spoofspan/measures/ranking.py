"""Measures of the order of the scores: no threshold is chosen, all of them count.

**AUC** is the area under the curve of recall over FPR: the chance that a moment of spoof has a lower score (in bona
fide polarity) than a moment of bona fide, a tie counting one half. It is the same whichever class is positive.

**Average precision** goes through the operating points by rising recall R, from R = 0::

    AP = sum of (R_k - R_(k-1)) * precision_k

Equal scores are one step in both. Time under no score (rule 13) is called the same at every threshold, so it stands at
that end of the order: before all scores under ``uncovered="spoof"``, after them under ``"bonafide"``. In the AP, what
no threshold calls positive is never recalled and adds nothing. Unanswered time has no place in the order: it counts as
never recalled in the AP, and the AUC is refused.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.errors import UndefinedMeasureError
from spoofspan.measures.confusion import ConfusionMatrix, Positive, ValueAtPoint, best_point, formula_of
from spoofspan.measures.curve import ErrorCurve

# Products of two digits of this many bits, and sums of as many rows, fit into int64.
DIGIT_BITS, ROWS_SUMMED = 21, 1 << 20


def auc(curve: ErrorCurve) -> Fraction:
    """The area under the curve of recall over FPR, exactly."""
    sums = curve.sums
    if sums.uncovered == "unanswered" and sums.undecided_bona_fide + sums.undecided_spoof:
        raise UndefinedMeasureError(
            "the AUC has no value with unanswered time, which has no place in the order of the scores; "
            "use uncovered='hold', 'bonafide', 'spoof' or 'ignore'"
        )
    # the ends of the curve: nothing is called spoof, everything is
    matrix = ConfusionMatrix.of_curve(curve)
    x = _with_ends(matrix.false_positive, sums.all_bona_fide)
    y = _with_ends(matrix.true_positive, sums.all_spoof)
    # twice the area below each step, in whole numbers
    twice = exact_dot(np.diff(x), y[1:]) + exact_dot(np.diff(x), y[:-1])
    return Fraction(twice, 2 * sums.all_bona_fide * sums.all_spoof)


def average_precision(curve: ErrorCurve, positive: Positive = "spoof") -> float:
    """The average precision, to within 2**-50 of itself (its exact denominator would have millions of digits)."""
    matrix = ConfusionMatrix.of_curve(curve, positive)
    found, called = matrix.true_positive, matrix.true_positive + matrix.false_positive
    if positive == "bonafide":  # ever more is called bona fide from the last threshold to the first
        found, called = found[::-1], called[::-1]
    gained = np.diff(found, prepend=0)
    steps = np.flatnonzero(gained > 0)
    gained, found, called = (column[steps].astype(np.float64) for column in (gained, found, called))
    # fsum rounds once, whatever the order
    return math.fsum(gained * (found / called)) / int(matrix.positives)


def best_f1(curve: ErrorCurve, positive: Positive = "spoof") -> ValueAtPoint:
    """The highest F1 of all thresholds, exactly, with the lowest threshold that has it (in bona fide polarity)."""
    return best_point(curve, formula_of("f1"), positive)


def exact_dot(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> int:
    """The sum of products of amounts as a Python integer; int64 products would overflow beyond 3 s of audio.

    >>> exact_dot(np.array([2**40, 3]), np.array([2**40, 5])) == 2**80 + 15
    True
    """
    if object in (a.dtype, b.dtype):
        return sum(int(x) * int(y) for x, y in zip(a, b, strict=True))
    total, mask = 0, (1 << DIGIT_BITS) - 1
    for first in range(0, a.size, ROWS_SUMMED):
        rows = slice(first, first + ROWS_SUMMED)
        digits = [[(column[rows] >> shift) & mask for shift in range(0, 63, DIGIT_BITS)] for column in (a, b)]
        for i, x in enumerate(digits[0]):
            for j, y in enumerate(digits[1]):
                total += int(np.dot(x, y)) << (DIGIT_BITS * (i + j))
    return total


def _with_ends(column: npt.NDArray[Any], whole: int) -> npt.NDArray[Any]:
    return np.concatenate((np.zeros(1, column.dtype), column, np.array([whole], column.dtype)))

"""Measures of the order of the scores: no threshold is chosen, all of them count.

**AUC** is the area under the curve of recall over FPR: the chance that a moment of spoof has a lower score (in bona
fide polarity) than a moment of bona fide, a tie counting one half. It is the same whichever class is positive.
The **partial AUC** is the part of it where FPR is low, on a scale from 1/2 (by chance) to 1.

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

from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.measures.confusion import (
    ROWS_AT_ONCE,
    ConfusionMatrix,
    Positive,
    as_fraction,
)
from spoofspan.measures.curve import ErrorCurve

# Products of two digits of this many bits, and sums of as many rows, fit into int64.
DIGIT_BITS, ROWS_SUMMED = 21, 1 << 20


def auc(curve: ErrorCurve) -> Fraction:
    """The area under the curve of recall over FPR, exactly."""
    _refuse_unanswered(curve, "the AUC")
    return _area(curve, "spoof", Fraction(1))


def partial_auc(curve: ErrorCurve, max_fpr: float, positive: Positive = "spoof") -> Fraction:
    """The standardised area under the curve of recall over FPR, up to a highest FPR, exactly."""
    most = as_fraction(max_fpr, "max_fpr")
    if not 0 < most <= 1:
        raise UsageError(f"max_fpr={max_fpr:g}: must be above 0 and at most 1, such as 0.1")
    _refuse_unanswered(curve, "the partial AUC")
    by_chance = most * most / 2
    return (1 + (_area(curve, positive, most) - by_chance) / (most - by_chance)) / 2


def _refuse_unanswered(curve: ErrorCurve, what: str) -> None:
    sums = curve.sums
    if sums.uncovered == "unanswered" and sums.undecided_bona_fide + sums.undecided_spoof:
        raise UndefinedMeasureError(
            f"{what} has no value with unanswered time, which has no place in the order of the scores; "
            "use uncovered='hold', 'bonafide', 'spoof' or 'ignore'"
        )


def _area(curve: ErrorCurve, positive: Positive, most: Fraction) -> Fraction:
    """The area under recall over FPR, from FPR = 0 to the highest one."""
    matrix = ConfusionMatrix.of_curve(curve, positive)
    onwards = slice(None, None, 1 if positive == "spoof" else -1)  # ever more is called spoof along the curve
    false, true = (
        np.concatenate(([0], called[onwards], [whole]))
        for called, whole in ((matrix.false_positive, matrix.negatives), (matrix.true_positive, matrix.positives))
    )
    limit = most * matrix.negatives
    last = int(np.searchsorted(false, math.floor(limit), side="right")) - 1
    # twice the area below each step, in whole numbers
    twice = Fraction(exact_dot(np.diff(false[: last + 1]), true[1 : last + 1] + true[:last]))
    if last + 1 < false.size:  # a part of the next step
        width, rise = int(false[last + 1] - false[last]), int(true[last + 1] - true[last])
        part = (limit - int(false[last])) / width
        twice += part * width * (2 * int(true[last]) + part * rise)
    return twice / (2 * int(matrix.negatives) * int(matrix.positives))


def average_precision(curve: ErrorCurve, positive: Positive = "spoof") -> float:
    """The average precision, to within 2**-50 of itself (its exact denominator would have millions of digits)."""
    starts = range(0, len(curve), ROWS_AT_ONCE)
    steps, recalled, positives = [], 0, 1
    # ever more is called bona fide from the last threshold to the first
    for start in starts if positive == "spoof" else reversed(starts):
        matrix = ConfusionMatrix.of_curve(curve, positive, slice(start, start + ROWS_AT_ONCE))
        found, called = matrix.true_positive, matrix.true_positive + matrix.false_positive
        if positive == "bonafide":
            found, called = found[::-1], called[::-1]
        gained = np.diff(found, prepend=recalled)
        some = gained > 0
        steps.append(
            gained[some].astype(np.float64) * (found[some].astype(np.float64) / called[some].astype(np.float64))
        )
        recalled, positives = found[-1], matrix.positives
    # fsum rounds once, whatever the order
    return math.fsum(np.concatenate(steps)) / int(positives)


def exact_dot(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> int:
    """The sum of products of amounts as a Python integer; int64 products would overflow beyond 3 s of audio.

    >>> exact_dot(np.array([2**40, 3]), np.array([2**40, 5])) == 2**80 + 15
    True
    """
    if object in (a.dtype, b.dtype):
        return sum(int(x) * int(y) for x, y in zip(a, b, strict=True))
    total, mask = 0, (1 << DIGIT_BITS) - 1
    shifts = [range(0, int(column.max(initial=0)).bit_length(), DIGIT_BITS) for column in (a, b)]
    for first in range(0, a.size, ROWS_SUMMED):
        rows = slice(first, first + ROWS_SUMMED)
        digits = [[(column[rows] >> one) & mask for one in of] for column, of in zip((a, b), shifts, strict=True)]
        for i, x in enumerate(digits[0]):
            for j, y in enumerate(digits[1]):
                total += int(np.dot(x, y)) << (DIGIT_BITS * (i + j))
    return total

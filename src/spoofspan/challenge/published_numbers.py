"""The numbers that teams see: few enough values that each says little of the labels, and how much that is.

A number with 16 digits can hold the label of every utterance, if the scores were made for it. So whatever is computed
from the labels is rounded to one of a few values before it leaves the organisers:

==============================  ============================================================  ==============  =========
number                          rounded to                                                    possible values bits
==============================  ============================================================  ==============  =========
of a measure from 0 to 1        four decimals (0.01 %)                                        10,002          13.3
of any other, a difference      three significant digits, at most four decimals; at most      14,600          13.9
                                999,000 either way
p-value                         two significant digits, at least 0.0001                       362             8.5
==============================  ============================================================  ==============  =========

"None", where there is no value or no interval, is one of the values. The ends of intervals are rounded as the value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import floor, isnan, log2, log10, nan
from typing import Any

import numpy as np

from spoofspan.data.scores import Values
from spoofspan.measures.measure import Measure, ScoresAre, in_percent, number_text
from spoofspan.report.cells import measure_name

DECIMALS = 4  # of every number, at most
DIGITS = 3  # that count, of numbers that may exceed 1
LARGEST = 999_000.0
LEAST_P = 1e-4
# Beyond odds of 10^15 to one, a log-likelihood ratio counts as this.
MOST_LLR = 34.5
VALUES_OF_SHARES = 10**DECIMALS + 2
# 0.0001 to 0.0999, then 900 of each power of ten up to 999,000; both signs, 0 and none
VALUES = 2 * (999 + 900 * 7) + 2
VALUES_OF_P = 90 * 4 + 2  # of each power of ten, 1 and none
BITS_OF_A_NUMBER = log2(VALUES)
BITS_OF_A_P_VALUE = log2(VALUES_OF_P)


def rounded(measure: str, value: float) -> float:
    """A value of a measure, or an end of its interval, as teams see it.

    >>> rounded("range-eer", 0.123456), rounded("range-cllr", 1234.5), rounded("range-cllr", float("inf"))
    (0.1235, 1230.0, 999000.0)
    """
    if is_share(measure):
        return nan if isnan(value) else min(max(round(value, DECIMALS), 0.0), 1.0)
    return rounded_difference(value)


def rounded_values(measured: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The value of each measure of a result, as its team sees it."""
    return {one["measure"]: rounded(one["measure"], float(one["value"])) for one in measured}


def rounded_difference(value: float) -> float:
    """A difference of two values as teams see it.

    >>> rounded_difference(-0.0123456), rounded_difference(0.00004), rounded_difference(9.996)
    (-0.0123, 0.0, 10.0)
    """
    if isnan(value) or abs(value) >= LARGEST:
        return nan if isnan(value) else LARGEST if value > 0 else -LARGEST
    decimals = DECIMALS if abs(value) < 10.0**-DECIMALS else min(DECIMALS, DIGITS - 1 - floor(log10(abs(value))))
    return round(float(value), decimals) + 0.0


def rounded_p(p_value: float) -> float:
    """A p-value as teams see it.

    >>> rounded_p(0.012345), rounded_p(1e-9)
    (0.012, 0.0001)
    """
    return nan if isnan(p_value) else float(f"{max(p_value, LEAST_P):.2g}")


def is_share(measure: str) -> bool:
    """True if all values of a measure lie between 0 and 1."""
    return Measure.parse(measure).kind.scale == "logit"


def column_title(measure: str) -> str:
    """The heading of a column of values.

    >>> column_title("range-eer"), column_title("range-cllr")
    ('Range EER %', 'Range Cllr')
    """
    return measure_name(measure) + (" %" if in_percent(measure) else "")


def published_text(measure: str, value: float) -> str:
    """A rounded value as it is read, without digits that it does not have.

    >>> published_text("range-eer", 0.1235), published_text("range-cllr", 0.21), published_text("range-der", 1.23)
    ('12.35', '0.210', '123')
    """
    return number_text(measure, value) if is_share(measure) else difference_text(measure, value)


def difference_text(measure: str, value: float) -> str:
    """A rounded difference as it is read, in points where the measure is in per cent.

    >>> difference_text("range-eer", -0.123), difference_text("range-eer", 0.0021), difference_text("range-eer", 0.0)
    ('-12.3', '0.21', '0.00')
    """
    number, most = (100 * value, DECIMALS - 2) if in_percent(measure) else (value, DECIMALS)
    size = floor(log10(abs(number)) + 1e-9) if number == number and number else -DECIMALS
    return f"{number:.{min(max(DIGITS - 1 - size, 0), most)}f}"


def clipped(scores: Values, scores_are: ScoresAre | None) -> Values:
    """Scores that are taken at their word, no more certain than ``MOST_LLR``; the same array if none is.

    >>> clipped(np.array([0.0, 0.5, 1.0]), "probability").tolist()
    [1.039538011670221e-15, 0.5, 0.999999999999999]
    """
    if scores_are == "probability":
        least = 1 / (1 + np.exp(MOST_LLR))
        low, high = least, 1 - least
    else:
        low, high = -MOST_LLR, MOST_LLR
    if not scores.size or (scores.min() >= low and scores.max() <= high):
        return scores
    return np.clip(scores.astype(np.float64), low, high)


def bits_of_result(measures: int) -> float:
    """Bits of the labels in the result of one submission: whether there is one, and three numbers of each measure."""
    return 1 + 3 * measures * BITS_OF_A_NUMBER


def bits_of_leaderboard(measures: int, groups: int, teams: int, *, pairs: bool = False) -> float:
    """Bits of the labels that a leaderboard reveals to one team: its row, and the verdicts of all teams.

    By each measure, a team has a place, and one of every two teams is better, or none: which also depends on the
    others that they are adjusted for. With ``pairs``, their numbers are shown too.
    """
    two = teams * (teams - 1) / 2
    ranked = log2(teams) + two * log2(3)
    paired = (teams - 1) * (3 * BITS_OF_A_NUMBER + BITS_OF_A_P_VALUE) + two * BITS_OF_A_P_VALUE if pairs else 0.0
    return bits_of_result(measures) + 3 * groups * BITS_OF_A_NUMBER + measures * (ranked + paired)

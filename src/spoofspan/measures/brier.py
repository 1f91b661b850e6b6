"""How far stated probabilities are from the truth: the Brier score and the expected calibration error.

With the probability of spoof p that the scores state, and y = 1 for spoof and 0 for bona fide::

    Brier = mean of (p - y)**2
    ECE = sum over bins of the bin's share * |mean of p in it - share of spoof in it|

Means are over all that is counted, so the share of spoof is that of the corpus; log-likelihood ratios become
probabilities with that share. Bins are of equal width, ``[k / bins, (k + 1) / bins)``, the last includes 1.
"""

from __future__ import annotations

import math
from fractions import Fraction

from spoofspan.base.errors import UsageError
from spoofspan.measures.costs import ScoredAmounts, ScoresAre, probabilities_of_spoof, reliability
from spoofspan.measures.curve import ErrorCurve


def brier(curve: ErrorCurve, scores_are: ScoresAre) -> float:
    """The mean squared difference of the stated probability of spoof and the truth."""
    amounts = ScoredAmounts.of(curve)
    stated = probabilities_of_spoof(curve, scores_are, _share(curve))
    wrong = amounts.bona_fide * stated**2 + amounts.spoof * (1 - stated) ** 2
    return math.fsum(wrong) / (curve.sums.bona_fide + curve.sums.spoof)


def expected_calibration_error(curve: ErrorCurve, scores_are: ScoresAre, bins: float) -> float:
    """The mean distance of what is stated and what is found, in bins of equal width."""
    if not bins >= 1 or not float(bins).is_integer():
        raise UsageError(f"bins={bins:g}: needs a whole number from 1 on")
    return reliability(curve, scores_are, bins=int(bins), prior=_share(curve)).error


def _share(curve: ErrorCurve) -> Fraction:
    return Fraction(curve.sums.spoof, curve.sums.bona_fide + curve.sums.spoof)

"""Stated probabilities against the truth: the Brier score, the expected calibration error, the reliability diagram.

With the probability of spoof p that the scores state, and y = 1 for spoof and 0 for bona fide::

    Brier = mean of (p - y)**2
    ECE = sum over bins of the bin's share * |mean of p in it - share of spoof in it|

Means are over all that is counted, so the share of spoof is that of the corpus; log-likelihood ratios become
probabilities with that share. Bins are of equal width, ``[k / bins, (k + 1) / bins)``, the last includes 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.base.times import Float64
from spoofspan.measures.costs import EVEN, ScoredAmounts, check_declared, inside_0_1
from spoofspan.measures.curve import ErrorCurve
from spoofspan.measures.measure import ScoresAre


def brier(curve: ErrorCurve, scores_are: ScoresAre) -> float:
    """The mean squared difference of the stated probability of spoof and the truth."""
    amounts = ScoredAmounts.of(curve)
    stated = probabilities_of_spoof(curve, scores_are, _share(curve))
    wrong = amounts.bona_fide * stated**2 + amounts.spoof * (1 - stated) ** 2
    return math.fsum(wrong) / (curve.sums.bona_fide + curve.sums.spoof)


def expected_calibration_error(curve: ErrorCurve, scores_are: ScoresAre, bins: float) -> float:
    """The mean distance between stated and found probabilities, in bins of equal width."""
    if not bins >= 1 or not float(bins).is_integer():
        raise UsageError(f"bins={bins:g}: needs a whole number from 1 on")
    return reliability(curve, scores_are, bins=int(bins), prior=_share(curve)).error


def _share(curve: ErrorCurve) -> Fraction:
    return Fraction(curve.sums.spoof, curve.sums.bona_fide + curve.sums.spoof)


@dataclass(frozen=True)
class ReliabilityBin:
    """Scores whose probability of spoof lies in [low, high): its mean, and the share of spoof among them.

    ``weight`` is the bin's part of everything; bona fide and spoof are the amounts in it.
    """

    low: float
    high: float
    predicted: float
    observed: float
    weight: float
    bona_fide: int
    spoof: int


@dataclass(frozen=True)
class Reliability:
    """The table of a reliability diagram; bins without any amount are left out."""

    bins: tuple[ReliabilityBin, ...]
    prior: float

    @property
    def error(self) -> float:
        """The expected calibration error: the mean distance of predicted and observed, by weight."""
        return math.fsum(one.weight * abs(one.predicted - one.observed) for one in self.bins)


def probabilities_of_spoof(curve: ErrorCurve, scores_are: ScoresAre, prior: Fraction | float) -> Float64:
    """Stated probabilities of distinct scores; ratios become probabilities with ``prior`` as the share of spoof."""
    share, scores = float(inside_0_1(prior, "prior")), curve.thresholds[:-1]
    check_declared(scores, scores_are)
    if scores_are == "probability":
        return scores if curve.sums.higher == "spoof" else 1.0 - scores
    log_odds = math.log(share / (1 - share)) - ScoredAmounts.of(curve).scores
    stated: Float64 = np.exp(-np.logaddexp(0.0, -log_odds))
    return stated


def reliability(
    curve: ErrorCurve, scores_are: ScoresAre, *, bins: int = 10, prior: Fraction | float = EVEN
) -> Reliability:
    """Compare the probability of spoof that the scores state with the share of spoof, in bins of equal width.

    Both are meant for ``prior`` as the share of spoof: ratios become probabilities with it, and the classes are
    weighted to it. For the share in the corpus give ``Fraction(spoof, spoof + bona_fide)``. The last bin includes 1.
    """
    if not isinstance(bins, int) or bins < 1:
        raise UsageError(f"bins={bins!r}: needs a whole number from 1 on")
    amounts, share = ScoredAmounts.of(curve), float(inside_0_1(prior, "prior"))
    predicted = probabilities_of_spoof(curve, scores_are, prior)
    bona_fide_weight = amounts.bona_fide * ((1 - share) / curve.sums.bona_fide)
    spoof_weight = amounts.spoof * (share / curve.sums.spoof)
    weights = bona_fide_weight + spoof_weight
    places = np.minimum((predicted * bins).astype(np.int64), bins - 1)
    sums = [
        np.bincount(places, column, minlength=bins)
        for column in (weights, weights * predicted, spoof_weight, amounts.bona_fide, amounts.spoof)
    ]
    rows = [
        ReliabilityBin(k / bins, (k + 1) / bins, stated / weight, found / weight, weight, int(b), int(s))
        for k, (weight, stated, found, b, s) in enumerate(zip(*(column.tolist() for column in sums), strict=True))
        if weight
    ]
    return Reliability(tuple(rows), share)

"""Optimism of a value at the best threshold of a corpus, or after its best calibration.

These are minDCF, a-DCF, best F1 and minCllr.

The least cost of a corpus lies below that of the population, since some threshold looks good by chance. On half of the
clusters it is lower still. Costs jump at scores, so the best threshold is known to n^(-1/3) and the least cost to
n^(-2/3) of n clusters (Kim and Pollard, 1990). Half of them have 2^(2/3) = 1.59 times the bias of all, and what the
halves are better by on average is 0.59 times the bias.

The best calibration follows the same rate, but of a few hundred scores it separates a half almost as well as the whole.
In simulations with 10 utterances of each speaker, halves were better by 0.46 to 0.64 times the bias of the utterance
minCllr with 80 speakers, 0.37 to 0.58 with 40, and 0.29 to 0.54 with 20. So 0.41 is taken there, that of a bias as
n^(-1/2). Of ranges, with thousands of scores, they were better by 0.79 to 0.84 times the bias.

Clusters are dealt into 16 groups (8 or 4 if there are few), and these are split in half in 15 ways, the rows of a
Hadamard matrix: every two groups are together in about half of the splits.
"""

from __future__ import annotations

import numpy as np

from spoofspan.base.columns import Flags
from spoofspan.base.times import Float64, Int64
from spoofspan.uncertainty.clusters import dealt

MOST_GROUPS, FEWEST_GROUPS = 16, 4
# Advantage of halves, in biases of the whole: at the best threshold, and after the best calibration of utterances.
BETTER, BETTER_CALIBRATED = 2 ** (2 / 3) - 1, 2 ** (1 / 2) - 1


def halves(bona_fide: Flags, spoof: Flags) -> Int64:
    """Weights of halves of the clusters: a row for each half, the two halves of a split next to each other.

    >>> halves(np.array([True] * 4), np.array([True] * 4)).sum(axis=1).tolist()
    [2, 2, 2, 2, 2, 2]
    """
    groups = MOST_GROUPS
    while groups > max(bona_fide.size, FEWEST_GROUPS):
        groups //= 2
    signs = np.ones((1, 1), np.int64)
    while len(signs) < groups:
        signs = np.block([[signs, signs], [signs, -signs]])
    of_cluster = signs[1:, dealt(groups, bona_fide, spoof)]
    both: Int64 = np.stack((of_cluster > 0, of_cluster < 0), axis=1).reshape(-1, bona_fide.size).astype(np.int64)
    return both


def optimism(value: float, of_halves: Float64, better: float = BETTER) -> float:
    """The correction to add to a value, given the values of the halves, of which some may be NaN.

    >>> round(optimism(0.30, np.array([0.26, 0.28, 0.27, 0.27])), 4)
    0.0511
    """
    splits = of_halves.reshape(-1, 2)
    known = splits[~np.isnan(splits).any(axis=1)]
    return (value - float(known.mean())) / better if known.size else 0.0

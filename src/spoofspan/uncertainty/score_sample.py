"""Distinct scores of a mass of any size and how much of each class has them: all, or of many every 2^k-th.

The bits of a score decide whether it is taken, so neither the order of the rows nor shards make a difference.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spoofspan.base.columns import Flags
from spoofspan.data.scores import Values
from spoofspan.mass.score_mass import Columns, ScoreMass
from spoofspan.measures.crossing import SAMPLE, sum_ties

# Multiplied by this odd number (2^64 over the golden ratio), the bits of scores that are alike are not.
MIXER = np.uint64(0x9E3779B97F4A7C15)


def sampled_scores(mass: ScoreMass) -> Columns:
    """The scores, rising, and the bona fide and the spoofed amount of each."""
    held: list[Columns] = []
    rows, every = 0, 0
    for block in mass.blocks():
        scores: Values = block.scores.astype(np.float64, copy=False)
        taken = _taken(scores, every)
        held.append((scores[taken], block.bona_fide[taken], block.spoof[taken]))
        rows += held[-1][0].size
        if rows > 4 * SAMPLE:
            held, every = _thinned(held, every)
            rows = held[0][0].size
    (sample,), _ = _thinned(held, every)
    return sample


def _thinned(held: Sequence[Columns], every: int) -> tuple[list[Columns], int]:
    """Put equal scores together, and take fewer until they are few enough: every 2^k-th, and k."""
    scores, (bona_fide, spoof) = sum_ties(*(np.concatenate(column) for column in zip(*held, strict=True)))
    while scores.size > 2 * SAMPLE:
        every += 1
        taken = _taken(scores, every)
        scores, bona_fide, spoof = scores[taken], bona_fide[taken], spoof[taken]
    return [(scores, bona_fide, spoof)], every


def _taken(scores: Values, every: int) -> Flags:
    if not every:
        return np.ones(scores.size, bool)
    mixed = (scores + 0.0).view(np.uint64) * MIXER  # - 0.0 is 0.0
    flags: Flags = mixed >> np.uint64(64 - every) == 0
    return flags

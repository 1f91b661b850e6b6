"""What classes the time in points has, whatever their scores are."""

from __future__ import annotations

import numpy as np

from spoofspan.base.columns import blocks
from spoofspan.base.times import Float64
from spoofspan.mass.labelling import Labelling
from spoofspan.mass.points import Grid
from spoofspan.mass.ranges import overlay_block
from spoofspan.mass.score_mass import NS_PER_BLOCK, ROWS_PER_BLOCK


def bona_fide_shares(labelling: Labelling, grid: Grid) -> Float64:
    """The share of bona fide time in the labelled time of each point; 0 where there is none."""
    shares, runs = np.empty(int(grid.offsets[-1])), grid.runs()
    for first, last in blocks(grid.counts, labelling.extents, ROWS_PER_BLOCK, NS_PER_BLOCK):
        _, laid = overlay_block(labelling, runs, first, last)
        here = shares[grid.offsets[first] : grid.offsets[last]]
        # points of one class are 0 or 1, only the others have to be divided
        here[:] = laid.is_bona_fide
        mixed = np.zeros(here.size, bool)
        mixed[laid.rows] = True
        _, bona_fide, spoof = laid.columns_of(mixed)
        here[mixed] = bona_fide / np.maximum(bona_fide + spoof, 1)
    return shares

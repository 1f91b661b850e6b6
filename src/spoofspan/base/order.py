"""The order of many scores, three to five times faster than ``np.argsort``.

NumPy sorts integers with vector instructions, but not the places of floats. So the bits of a score, which order like
the score once the sign is handled, and its place are packed into one integer of 64 bits.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.times import Int64

MOST = 2**31  # places that fit into half an integer


def sort_order(scores: npt.NDArray[Any]) -> Int64:
    """Return the places of scores from the lowest to the highest; of equal ones, the first comes first.

    >>> sort_order(np.array([0.5, -1.0, -0.0, 0.0, -np.inf])).tolist()
    [4, 1, 2, 3, 0]
    """
    if scores.dtype.kind != "f" or scores.size >= MOST:
        return np.argsort(scores, kind="stable").astype(np.int64, copy=False)
    with np.errstate(over="ignore"):
        rounded = scores.astype(np.float32)
    rounded += np.float32(0)  # no negative zero
    bits = rounded.view(np.int32)
    bits ^= (bits >> 31) & np.int32(2**31 - 1)  # the lower a negative float, the higher are its bits
    order = np.empty(scores.size, np.int64)
    halves = order.view(np.int32)
    low, high = (0, 1) if sys.byteorder == "little" else (1, 0)
    halves[low::2] = np.arange(scores.size, dtype=np.int32)
    halves[high::2] = bits
    order.sort()
    order &= MOST - 1
    if scores.dtype.itemsize > rounded.itemsize:
        # doubles that are one single when rounded are still in their old order: few, and next to each other
        found = scores[order]
        if (found[1:] < found[:-1]).any():
            order = order[np.argsort(found, kind="stable")]
    return order

"""Finding a crossing in a ScoreMass of any size: integer histograms on the ordered bits of the scores.

A float's bits, with the sign handled, order like the float. One pass over the mass sums both columns into 65,536 bins
of the leading 16 bits; the crossing lies in one bin; the next pass splits that bin by the next 16 bits. float16 needs
one pass, float32 two, float64 four. Memory is bounded, nothing is sorted, and histograms of shards simply add.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.mass import MassBlock, ScoreMass
from spoofspan.nanoseconds import Int64
from spoofspan.scores import Values

BITS_PER_PASS = 16
BINS = 1 << BITS_PER_PASS

Bits = npt.NDArray[np.unsignedinteger[Any]]
# Decides, from the bona fide and the spoof amounts called spoof so far, whether the crossing has been reached.
Reached = Callable[[int, int], bool]


@dataclass(frozen=True)
class Step:
    """The score at which a monotone condition becomes true, as the scores are called spoof from the lowest on."""

    score: float
    bona_fide_below: int
    spoof_below: int
    bona_fide_at: int
    spoof_at: int
    next_score: float | None  # the next higher score with counted time; None if there is none


def ordered_bits(scores: Values) -> Bits:
    """Map floats to unsigned integers of the same order; -0.0 and 0.0 become equal.

    >>> ordered_bits(np.float16([-1, -0.0, 0.0, 1])).tolist()
    [17407, 32768, 32768, 48128]
    """
    size = scores.dtype.itemsize
    signed, unsigned = np.dtype(f"i{size}"), np.dtype(f"u{size}")
    # + 0.0 turns -0.0 into 0.0
    bits = (scores + scores.dtype.type(0)).view(signed)
    flip = (bits >> (8 * size - 1)).view(unsigned) | unsigned.type(1 << (8 * size - 1))
    result: Bits = bits.view(unsigned) ^ flip
    return result


def score_of_bits(bits: int, dtype: np.dtype[Any]) -> float:
    """Undo :func:`ordered_bits` for one score."""
    width = 8 * dtype.itemsize
    sign = 1 << (width - 1)
    raw = bits ^ sign if bits & sign else bits ^ ((1 << width) - 1)
    return float(np.array([raw], f"u{dtype.itemsize}").view(dtype)[0])


class Bins:
    """Integer sums per bin that cannot overflow."""

    def __init__(self) -> None:
        self._sums = np.zeros(BINS, np.int64)
        self._spilled: npt.NDArray[Any] | None = None
        self._held = 0

    def add(self, bins: npt.NDArray[np.intp], amounts: Int64) -> None:
        """Add amounts to bins; their sum must fit into int64."""
        total = int(amounts.sum())
        if self._held + total >= 2**62:
            spilled = self._sums.astype(object)
            self._spilled = spilled if self._spilled is None else self._spilled + spilled
            self._sums, self._held = np.zeros(BINS, np.int64), 0
        self._held += total
        if total < 2**53 and bins.size > BINS // 16:
            # bincount sums doubles, which is exact up to here, and faster than add.at for many scores
            self._sums += np.bincount(bins, weights=amounts, minlength=BINS).astype(np.int64)
        else:
            np.add.at(self._sums, bins, amounts)

    def totals(self) -> npt.NDArray[Any]:
        """The sums, as Python integers where int64 could overflow."""
        return self._sums if self._spilled is None else self._spilled + self._sums.astype(object)


def find_step(
    mass: ScoreMass, reached: Reached, first_pass: Callable[[MassBlock], None] = lambda block: None
) -> Step | None:
    """Find the lowest score at whose inclusion ``reached`` becomes true; None if it never does.

    ``first_pass`` sees every block once, before ``reached`` is asked for the first time.
    """
    width = 8 * mass.dtype.itemsize
    prefix, below = 0, (0, 0)
    at = (0, 0)
    found: tuple[Int64, int] = (np.zeros(0, np.int64), 0)
    for level in range(width // BITS_PER_PASS):
        shift = width - BITS_PER_PASS * (level + 1)
        seen = (lambda block: None) if level else first_pass
        columns = [bins.totals() for bins in _count(mass, prefix, level, shift, seen)]
        # scores without counted time leave their bins empty
        filled = np.flatnonzero((columns[0] != 0) | (columns[1] != 0))
        sums = [np.cumsum(column[filled]) for column in columns]
        place = first_reached(below, sums, reached)
        if place is None:
            return None
        if place:
            below = (below[0] + int(sums[0][place - 1]), below[1] + int(sums[1][place - 1]))
        prefix = (prefix << BITS_PER_PASS) | int(filled[place])
        at = int(columns[0][filled[place]]), int(columns[1][filled[place]])
        found = filled, place
    score = score_of_bits(prefix, mass.dtype)
    filled, place = found
    if place + 1 < filled.size:
        following: float | None = score_of_bits(prefix - int(filled[place]) + int(filled[place + 1]), mass.dtype)
    else:
        following = next_score(mass, score)
    return Step(score, *below, *at, following)


def next_score(mass: ScoreMass, score: float) -> float | None:
    """The lowest score with counted time above another one; None if there is none."""
    lowest = [
        float(block.scores[higher].min())
        for block in mass.blocks()
        if (higher := (block.scores > block.scores.dtype.type(score)) & (block.bona_fide + block.spoof > 0)).any()
    ]
    return min(lowest, default=None)


def first_reached(below: tuple[int, int], sums: list[npt.NDArray[Any]], reached: Reached) -> int | None:
    """Bisect for the first place of two cumulated columns at which ``reached`` is true."""

    def is_reached(place: int) -> bool:
        return reached(below[0] + int(sums[0][place]), below[1] + int(sums[1][place]))

    first, last = 0, sums[0].size - 1
    if last < 0 or not is_reached(last):
        return None
    while first < last:
        middle = (first + last) // 2
        if is_reached(middle):
            last = middle
        else:
            first = middle + 1
    return last


def _count(
    mass: ScoreMass, prefix: int, level: int, shift: int, seen: Callable[[MassBlock], None]
) -> tuple[Bins, Bins]:
    """One pass: sum the scores that begin with ``prefix`` by their next 16 bits."""
    bona_fide, spoof = Bins(), Bins()
    for block in mass.blocks():
        seen(block)
        keys, columns = ordered_bits(block.scores), (block.bona_fide, block.spoof)
        if level:
            inside = np.flatnonzero(keys >> keys.dtype.type(shift + BITS_PER_PASS) == prefix)
            keys, columns = keys[inside], (columns[0][inside], columns[1][inside])
        bins = ((keys >> keys.dtype.type(shift)) & keys.dtype.type(BINS - 1)).astype(np.intp)
        bona_fide.add(bins, columns[0])
        spoof.add(bins, columns[1])
    return bona_fide, spoof

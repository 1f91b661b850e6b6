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
        if total < 2**53:
            # bincount sums doubles, which is exact up to here, and three times faster than add.at
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
    above: int | None = None
    place: int | None = None
    for level in range(width // BITS_PER_PASS):
        shift = width - BITS_PER_PASS * (level + 1)
        seen = (lambda block: None) if level else first_pass
        bins_bona_fide, bins_spoof, above = _count(mass, prefix, level, shift, above, seen)
        columns = bins_bona_fide.totals(), bins_spoof.totals()
        filled = np.flatnonzero((columns[0] != 0) | (columns[1] != 0))
        sums = [np.cumsum(column[filled]) for column in columns]
        place = first_reached(below, sums, reached)
        if place is None:
            return None
        if place:
            below = (below[0] + int(sums[0][place - 1]), below[1] + int(sums[1][place - 1]))
        found = int(filled[place])
        prefix = (prefix << BITS_PER_PASS) | found
    if place is None:
        return None
    if place + 1 < filled.size:
        above = prefix - found + int(filled[place + 1])
    return Step(
        score_of_bits(prefix, mass.dtype),
        *below,
        int(columns[0][found]),
        int(columns[1][found]),
        None if above is None else score_of_bits(above, mass.dtype),
    )


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
    mass: ScoreMass, prefix: int, level: int, shift: int, above: int | None, seen: Callable[[MassBlock], None]
) -> tuple[Bins, Bins, int | None]:
    """One pass: sum the scores that begin with ``prefix`` by their next 16 bits; note the lowest score beyond it."""
    bona_fide, spoof = Bins(), Bins()
    for block in mass.blocks():
        seen(block)
        keys, block = _counted_keys(block)
        if level:
            leading = keys >> keys.dtype.type(shift + BITS_PER_PASS)
            beyond = keys[leading > prefix]
            if beyond.size:
                above = int(beyond.min()) if above is None else min(above, int(beyond.min()))
            inside = leading == prefix
            keys = keys[inside]
            columns = block.bona_fide[inside], block.spoof[inside]
        else:
            columns = block.bona_fide, block.spoof
        bins = ((keys >> keys.dtype.type(shift)) & keys.dtype.type(BINS - 1)).astype(np.intp)
        bona_fide.add(bins, columns[0])
        spoof.add(bins, columns[1])
    return bona_fide, spoof, above


def _counted_keys(block: MassBlock) -> tuple[Bits, MassBlock]:
    counted = (block.bona_fide > 0) | (block.spoof > 0)
    if not counted.all():
        block = MassBlock(block.scores[counted], block.bona_fide[counted], block.spoof[counted])
    return ordered_bits(block.scores), block

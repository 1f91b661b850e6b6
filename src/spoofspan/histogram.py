"""Finding a crossing in a ScoreMass of any size: integer histograms on the ordered bits of the scores.

A float's bits, with the sign handled, order like the float. One pass over the mass sums both columns into 65,536 bins
of the leading 16 bits; the crossing lies in one bin; the next pass splits that bin by the next 16 bits. float16 needs
one pass, float32 two, float64 four. Memory is bounded, nothing is sorted, and histograms of shards simply add.

Scores go into the bins by their bits as they are; the sign is handled once per bin (:func:`raw_bins`), not per score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.mass import Flags, MassBlock, ScoreMass
from spoofspan.references import BONA_FIDE, SPOOF
from spoofspan.scores import Values

BITS_PER_PASS = 16
BINS = 1 << BITS_PER_PASS
# So many scores are counted at once: counting costs as much per call as for a few hundred thousand of them.
ROWS_COUNTED = 1 << 20

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


def raw_bits(scores: Values) -> Bits:
    """The bits of floats as unsigned integers; -0.0 gets those of 0.0."""
    # + 0.0 turns -0.0 into 0.0
    bits: Bits = (scores + scores.dtype.type(0)).view(f"u{scores.dtype.itemsize}")
    return bits


def raw_bins(level: int, negative: bool) -> npt.NDArray[np.int64]:
    """The raw 16 bits of a level in the order of the floats, given the sign that the leading level decided.

    >>> raw_bins(0, False)[[0, 32767, 32768, 65535]].tolist()
    [65535, 32768, 0, 32767]
    """
    rising = np.arange(BINS)
    if level:
        return rising[::-1] if negative else rising
    half = BINS // 2
    return np.concatenate((rising[: half - 1 : -1], rising[:half]))


def score_of_bits(bits: int, dtype: np.dtype[Any]) -> float:
    """Undo :func:`raw_bits` for one score."""
    return float(np.array([bits], f"u{dtype.itemsize}").view(dtype)[0])


class Bins:
    """The bona fide and the spoofed amount per bin, as integers that cannot overflow."""

    def __init__(self) -> None:
        self._sums = np.zeros((2, BINS), np.int64)
        self._spilled: npt.NDArray[Any] | None = None
        self._held = 0
        # whole blocks whose scores all have the same amount are counted, many at a time
        self._keys: list[Bits] = []
        self._rows = self._amount = 0

    def add_chosen(self, block: MassBlock, bins: Bits, chosen: Flags) -> None:
        """Add some rows of a block, given the bin of each of them."""
        self._make_room(sum(block.sums(chosen)))
        _, *columns = block.columns_of(chosen)
        for sums, column in zip(self._sums, columns, strict=True):
            np.add.at(sums, bins, column)

    def add(self, block: MassBlock, bins: Bits) -> None:
        """Add a block, given the bin of each of its rows."""
        bona_fide, spoof = block.sums()
        self._make_room(bona_fide + spoof)
        if isinstance(block.amounts, int):
            if self._rows >= ROWS_COUNTED or block.amounts != self._amount:
                self._count()
            self._amount = block.amounts
            self._rows += bins.size
            self._keys.append(bins.astype(np.uint32) | (block.classes.astype(np.uint32) << np.uint32(BITS_PER_PASS)))
            for sums, more in zip(self._sums, (block.more_bona_fide, block.more_spoof), strict=True):
                np.add.at(sums, bins[block.rows], more)
        else:
            for sums, column in zip(self._sums, (block.bona_fide, block.spoof), strict=True):
                if bona_fide + spoof < 2**53 and bins.size > BINS // 16:
                    # bincount sums doubles, which is exact up to here, and faster than add.at for many scores
                    # (of signed integers: NumPy before 2 refuses to count 64 unsigned bits)
                    sums += np.bincount(bins.astype(np.int64), weights=column, minlength=BINS).astype(np.int64)
                else:
                    np.add.at(sums, bins, column)

    def _make_room(self, total: int) -> None:
        if self._held + total >= 2**62:
            self._spilled = self.totals().astype(object)
            self._sums, self._held = np.zeros((2, BINS), np.int64), 0
        self._held += total

    def _count(self) -> None:
        """Count what has been kept for it."""
        if self._keys:
            counts = np.bincount(np.concatenate(self._keys), minlength=4 * BINS).reshape(4, BINS)
            self._sums += counts[[BONA_FIDE, SPOOF]] * self._amount
        self._keys, self._rows = [], 0

    def totals(self) -> npt.NDArray[Any]:
        """The sums, as Python integers where int64 could overflow."""
        self._count()
        return self._sums if self._spilled is None else self._spilled + self._sums.astype(object)


def find_step(
    mass: ScoreMass, reached: Reached, first_pass: Callable[[MassBlock], None] = lambda block: None
) -> Step | None:
    """Find the lowest score at whose inclusion ``reached`` becomes true; None if it never does.

    ``first_pass`` sees every block once, before ``reached`` is asked for the first time.
    """
    width = 8 * mass.dtype.itemsize
    prefix = 0
    below = at = (0, 0)
    following: int | None = None
    for level in range(width // BITS_PER_PASS):
        shift = width - BITS_PER_PASS * (level + 1)
        seen = (lambda block: None) if level else first_pass
        order = raw_bins(level, negative=level > 0 and bool(prefix >> (BITS_PER_PASS * level - 1)))
        columns = _count(mass, prefix, level, shift, seen).totals()[:, order]
        # scores without counted time leave their bins empty
        filled = np.flatnonzero((columns[0] != 0) | (columns[1] != 0))
        sums = [np.cumsum(column[filled]) for column in columns]
        place = first_reached(below, sums, reached)
        if place is None:
            return None
        if place:
            below = (below[0] + int(sums[0][place - 1]), below[1] + int(sums[1][place - 1]))
        bits = [(prefix << BITS_PER_PASS) | int(order[one]) for one in filled[place : place + 2]]
        prefix, following = bits[0], bits[1] if len(bits) > 1 else None
        at = int(columns[0][filled[place]]), int(columns[1][filled[place]])
    score = score_of_bits(prefix, mass.dtype)
    higher = next_score(mass, score) if following is None else score_of_bits(following, mass.dtype)
    return Step(score, *below, *at, higher)


def next_score(mass: ScoreMass, score: float) -> float | None:
    """The lowest score with counted time above another one; None if there is none."""
    lowest = [
        float(block.scores[higher].min())
        for block in mass.blocks()
        if (higher := (block.scores > block.scores.dtype.type(score)) & block.counted).any()
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


def _count(mass: ScoreMass, prefix: int, level: int, shift: int, seen: Callable[[MassBlock], None]) -> Bins:
    """One pass: sum the scores that begin with ``prefix`` by their next 16 bits."""
    bins = Bins()
    for block in mass.blocks():
        seen(block)
        bits = raw_bits(block.scores)
        if level == 0:
            bins.add(block, bits >> bits.dtype.type(shift))
            continue
        chosen = bits >> bits.dtype.type(shift + BITS_PER_PASS) == prefix
        bins.add_chosen(block, (bits[chosen] >> bits.dtype.type(shift)) & bits.dtype.type(BINS - 1), chosen)
    return bins

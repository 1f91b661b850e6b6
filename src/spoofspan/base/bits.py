"""Flags of many rows as bits, 32 to a word: to count those that two sets of flags share.

A stretch of flags that are set, from row a to row b - 1, is the difference of two numbers of one bit each::

    rows        0 1 2 3 4 5 6 7
    flags       . . 1 1 1 . . .       2**5 - 2**2

So a few sums per word make the bits of thousands of stretches. Bytes take 1.7 times as long to make and to count, and
``np.repeat``, which makes them, keeps Python's lock.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags
from spoofspan.base.times import Int64

WORD = np.dtype("<u4")  # in this order of bytes, bits follow each other on any machine
COUNTED = 40  # bits of a sum that are for the word itself and its sign


@dataclass(frozen=True, eq=False)
class Bits:
    """The flag of row i is bit ``i % 32`` of word ``i // 32``; bits behind the last row are not set."""

    words: npt.NDArray[np.uint32]

    @classmethod
    def of(cls, flags: Flags) -> Bits:
        """Pack flags."""
        words = np.zeros(flags.size // 32 + 1, WORD)
        words.view(np.uint8)[: -(-flags.size // 8)] = np.packbits(flags, bitorder="little")
        return cls(words)

    @classmethod
    def of_stretches(cls, ends: Int64, flags: Flags) -> Bits:
        """The flag of each stretch of rows: stretch i ends before row ``ends[i]``, where stretch i + 1 begins.

        >>> Bits.of_stretches(np.array([2, 5, 8]), np.array([False, True, False])).words.tolist()
        [28]
        """
        closes = flags.astype(np.int64)  # 1 where flags that are set end, -1 where they begin
        closes[:-1] -= flags[1:]
        sums = np.zeros((int(ends[-1]) if ends.size else 0) // 32 + 1, np.int64)
        # above what a word can hold, the same sum counts how many stretches end in it more than begin
        np.add.at(sums, ends >> 5, closes * ((1 << (ends & 31)) | 1 << COUNTED))
        sums[0] -= flags[:1].sum() * (1 | 1 << COUNTED)
        # a word that begins amid set flags takes its first bits from the word before
        sums[1:] += np.cumsum((sums[:-1] + (1 << COUNTED - 1)) >> COUNTED)
        return cls(sums.astype(WORD))

    def __and__(self, other: Bits) -> Bits:
        return Bits(self.words & other.words)

    def count(self) -> int:
        """How many flags are set."""
        return int(np.bitwise_count(self.words).sum(dtype=np.int64))

    def at(self, rows: Int64) -> Flags:
        """The flags of some rows."""
        flags: Flags = (self.words[rows >> 5] >> (rows & 31) & 1).astype(bool)
        return flags

    def flags(self, rows: int) -> Flags:
        """The flags of the first rows, a byte each."""
        return np.unpackbits(self.words.view(np.uint8), count=rows, bitorder="little").view(np.bool_)

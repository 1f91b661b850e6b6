"""Fine bins: those next to 1, -1 and 0, where probabilities saturate.

The leading 16 bits of a float make bins that are narrow near 0 and wide near 1: those of float32 are 0.004 wide there,
and most probabilities of a confident system lie in the last one below 1. Fine bins split the bins from 0.5 to 1 by
their distance to 1, as finely as the leading bits split those near 0, and tell exactly 1 and exactly 0 from their
neighbours; -0.5 to -1 likewise. Each fine bin lies in one bin of leading bits.

The key of a score ``1 - (d + 1) * ulp`` is read off the leading bits of the float ``d``, so it takes no logarithm. For
float32::

    key      0    1    2 .......... 2945
    score    1    1 - 2**-24 ...... 0.5        keys of -1 to -0.5 follow, then that of 0
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from spoofspan.base.times import Int64

LEADING_BITS = 16


@dataclass(frozen=True)
class SubBin:
    """The raw bits of the first and the last magnitude of a part of a bin, and its key (None: what has no key)."""

    smallest: int
    largest: int
    key: int | None


@dataclass(frozen=True)
class FineBins:
    """The fine bins of a type of scores; float16 needs none, as its leading bits are all it has."""

    dtype: np.dtype[Any]

    @cached_property
    def shift(self) -> int:
        """How many bits follow the leading ones."""
        return 8 * self.dtype.itemsize - LEADING_BITS

    @cached_property
    def one(self) -> int:
        """The bits of 1.0."""
        return self._bits(1.0)

    @cached_property
    def below_one(self) -> int:
        """How many floats there are from 0.5 on and below 1."""
        return self.one - self._bits(0.5)

    @cached_property
    def one_sided(self) -> int:
        """Keys of each sign."""
        return self._leading_of_distance(self.below_one - 1) + 3

    @cached_property
    def zero(self) -> int:
        """The key of 0, the last one."""
        return 2 * self.one_sided

    @cached_property
    def size(self) -> int:
        """The number of keys.

        >>> [FineBins(np.dtype(name)).size for name in ("float16", "float32", "float64")]
        [0, 5893, 1669]
        """
        return self.zero + 1 if self.shift else 0

    def _bits(self, value: float) -> int:
        return int(np.array([value], self.dtype).view(f"u{self.dtype.itemsize}")[0])

    def _float(self, bits: int) -> float:
        return float(np.array([bits], f"u{self.dtype.itemsize}").view(self.dtype)[0])

    def _leading_of_distance(self, distance: int) -> int:
        """The leading bits of a distance as a float, counted from those of 1.0; 0 is counted as -1."""
        return (self._bits(float(distance)) >> self.shift) - (self.one >> self.shift) if distance else -1

    def keys(self, bits: Any) -> tuple[Int64, Int64]:
        """The rows of raw bits (-0.0 made 0.0) that have a key, and their keys."""
        kind = bits.dtype.type
        magnitude = bits & kind((1 << 8 * self.dtype.itemsize - 1) - 1)
        rows = np.flatnonzero((magnitude - kind(self.one - self.below_one) <= kind(self.below_one)) | (bits == 0))
        bits, distance = bits[rows], kind(self.one) - magnitude[rows]  # 0 for 1.0
        # distances are whole numbers that the type holds exactly
        leading = (np.maximum(distance, 1) - kind(1)).astype(self.dtype).view(bits.dtype) >> kind(self.shift)
        keys = np.where(
            distance > 1, leading.astype(np.int64) - (self.one >> self.shift) + 2, distance.astype(np.int64)
        )
        keys += np.where(bits != magnitude[rows], self.one_sided, 0)
        return rows, np.where(bits == 0, self.zero, keys)

    def parts(self, leading: int) -> Iterator[SubBin]:
        """The parts of a bin of leading bits, by falling magnitude; none where it is not split."""
        negative, magnitude = divmod(leading, 1 << LEADING_BITS - 1)
        sign = negative << 8 * self.dtype.itemsize - 1
        first, offset = magnitude << self.shift, negative * self.one_sided
        last = first + (1 << self.shift) - 1
        if not self.shift:
            return
        if leading == 0 or first == self.one:
            yield SubBin(sign + first + 1, sign + last, None)
            yield SubBin(sign + first, sign + first, offset if magnitude else self.zero)
        elif self.one - self.below_one <= first < self.one:
            greatest = self.one - 1  # below 1
            keys = [self._leading_of_distance(greatest - end) + 2 for end in (last, first)]
            for key in range(keys[0], keys[1] + 1):
                closest, farthest = self._distances(key)
                if closest <= farthest:  # no whole number lies between some floats near 1
                    yield SubBin(sign + greatest - farthest, sign + greatest - closest, offset + key)

    def _distances(self, key: int) -> tuple[int, int]:
        """The least and the greatest distance of a key."""
        if key == 1:
            return 0, 0
        bits = self.one + (key - 2 << self.shift)
        return math.ceil(self._float(bits)), math.floor(self._float(bits + (1 << self.shift) - 1))

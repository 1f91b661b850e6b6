"""Weighted sums of whole numbers, by products of matrices, without a rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.times import Float64, Int64


class ExactColumns:
    """Whole numbers per unit, whose weighted sums are exact although they are products of doubles.

    Doubles add whole numbers exactly below 2**53. Numbers that are too large for that are split into limbs.
    """

    def __init__(self, columns: Int64) -> None:
        self.columns = columns
        self._largest = int(columns.max(initial=0))
        self._limbs: tuple[int, list[Float64]] = (0, [])

    def weighted(self, weights: Int64) -> npt.NDArray[Any]:
        """A row of sums for each row of weights; Python integers where int64 could overflow."""
        most = int(weights.max(initial=0)) * self.columns.shape[0]
        heaviest = int(weights.sum(axis=1).max(initial=0)) if most < 2**62 else most
        bits = 53 - heaviest.bit_length()
        if bits < 8:
            exact: npt.NDArray[Any] = weights.astype(object) @ self.columns.astype(object)
            return exact
        held, limbs = self._limbs
        if held != bits:
            limbs = self._split(bits)
            self._limbs = bits, limbs
        dtype = np.int64 if heaviest * self._largest < 2**62 else object
        doubles = weights.astype(np.float64)
        sums = np.zeros((weights.shape[0], self.columns.shape[1]), dtype)
        for place, limb in enumerate(limbs):
            sums += (doubles @ limb).astype(np.int64).astype(dtype) * (1 << bits * place)
        return sums

    def _split(self, bits: int) -> list[Float64]:
        count = max(-(-self._largest.bit_length() // bits), 1)
        mask = (1 << bits) - 1
        return [((self.columns >> (bits * place)) & mask).astype(np.float64) for place in range(count)]

"""Stretches: the labels of many rows, as runs of rows of one label; there are 30 times fewer of them than frames.

::

    rows        0  1  2  3  4  5  6  7
    labels      b  b  b  s  s  b  b  b
    ends                 3     5        8
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from spoofspan.base.bits import Bits
from spoofspan.base.times import Int64
from spoofspan.data.references import Labels


@dataclass(frozen=True, eq=False)
class Stretches:
    """Rows of one label: stretch i ends before row ``ends[i]``, where stretch i + 1 begins; some may be empty."""

    ends: Int64
    labels: Labels
    _bits: dict[int, Bits] = field(default_factory=dict)

    def of_rows(self) -> Labels:
        """The label of each row."""
        if self.labels.size and not self.labels.max() > 1:  # bits are labels, and made in half the time
            return self.where(1).flags(int(self.ends[-1])).view(np.int8)
        return np.repeat(self.labels, np.diff(self.ends, prepend=0))

    def where(self, label: int) -> Bits:
        """Which rows have a label."""
        if label not in self._bits:
            self._bits[label] = Bits.of_stretches(self.ends, np.equal(self.labels, label))
        return self._bits[label]

"""A piece of a ScoreMass: the rows of some consecutive utterances, small enough to be computed and summed at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from spoofspan.base.columns import Flags
from spoofspan.base.errors import UsageError
from spoofspan.base.times import Int64
from spoofspan.data.references import BONA_FIDE, SPOOF, Labels
from spoofspan.data.scores import Values

# Measured on two cores: a quarter as many rows cost a third more time, four times as many up to a fifth more.
ROWS_PER_BLOCK = 1 << 18
# A block's sums must fit into int64.
NS_PER_BLOCK = 2**62

# Scores, and the bona fide and spoofed amount under each.
Columns = tuple[Values, Int64, Int64]


def _no_rows() -> Int64:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class MassBlock:
    """A piece of a ScoreMass: scores in bona fide polarity, the two columns, and what no score decides.

    Most scores lie under one class for as long as all others, so the columns are written as a byte per score (its
    class), one amount for all, and a few exceptions: what ``more_bona_fide`` and ``more_spoof`` add in certain rows.
    """

    scores: Values
    classes: Labels  # BONA_FIDE, SPOOF, or another number for neither
    amounts: Int64 | int  # of each score, or of all
    rows: Int64 = field(default_factory=_no_rows)  # the exceptions; a row may occur twice
    more_bona_fide: Int64 = field(default_factory=_no_rows)
    more_spoof: Int64 = field(default_factory=_no_rows)
    undecided_bona_fide: int = 0
    undecided_spoof: int = 0

    @cached_property
    def is_bona_fide(self) -> Flags:
        """Whether a score's amount is bona fide."""
        return np.equal(self.classes, BONA_FIDE)

    @cached_property
    def is_spoof(self) -> Flags:
        """Whether a score's amount is spoof."""
        return np.equal(self.classes, SPOOF)

    @cached_property
    def bona_fide(self) -> Int64:
        """The bona fide amount under each score."""
        return self._column(self.is_bona_fide, self.more_bona_fide)

    @cached_property
    def spoof(self) -> Int64:
        """The spoofed amount under each score."""
        return self._column(self.is_spoof, self.more_spoof)

    def _column(self, flags: Flags, more: Int64) -> Int64:
        column = np.multiply(flags, self.amounts, dtype=np.int64)
        np.add.at(column, self.rows, more)
        return column

    @property
    def counted(self) -> Flags:
        """Which scores have any amount."""
        return (self.bona_fide > 0) | (self.spoof > 0)

    def sums(self, chosen: Flags | None = None) -> tuple[int, int]:
        """The bona fide and the spoofed amount of all, or of the chosen, scores."""
        return (
            self._sum(self.is_bona_fide, self.more_bona_fide, chosen),
            self._sum(self.is_spoof, self.more_spoof, chosen),
        )

    def _sum(self, flags: Flags, more: Int64, chosen: Flags | None) -> int:
        if chosen is not None:
            flags, more = flags & chosen, more[chosen[self.rows]]
        if isinstance(self.amounts, int):
            return int(np.count_nonzero(flags)) * self.amounts + int(more.sum())
        # multiplying by flags is seven times faster than indexing with them
        return int((self.amounts * flags).sum()) + int(more.sum())

    def weigh(self, weights: Int64) -> MassBlock:
        """Count each row ``weights`` times."""
        return replace(
            self,
            amounts=self.amounts * weights,
            more_bona_fide=self.more_bona_fide * weights[self.rows],
            more_spoof=self.more_spoof * weights[self.rows],
        )

    def columns_of(self, chosen: Flags) -> Columns:
        """The scores and both columns of the chosen rows."""
        rows, found = np.flatnonzero(chosen), np.flatnonzero(chosen[self.rows])
        few = MassBlock(
            self.scores[rows],
            self.classes[rows],
            self.amounts if isinstance(self.amounts, int) else self.amounts[rows],
            np.searchsorted(rows, self.rows[found]),
            self.more_bona_fide[found],
            self.more_spoof[found],
        )
        return few.scores, few.bona_fide, few.spoof


@dataclass(frozen=True, eq=False)
class UtteranceBlock:
    """A block whose rows are known to belong to utterances first to last - 1, and what no score decides in each."""

    first: int
    last: int
    offsets: Int64  # rows offsets[i]:offsets[i + 1] of the mass belong to utterance first + i
    mass: MassBlock
    undecided_bona_fide: Int64
    undecided_spoof: Int64


def combine_weights(old: Int64 | None, new: Int64, heaviest: int) -> Int64:
    """Multiply weights; refuse those with which one utterance alone could overflow."""
    largest = int(new.max()) * (1 if old is None else int(old.max()))
    if largest * max(heaviest, 1) >= NS_PER_BLOCK:
        raise UsageError(f"a weight of {largest} is too large for the longest utterance")
    return new if old is None else old * new

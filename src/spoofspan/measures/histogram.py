"""Finding a crossing in a ScoreMass of any size: integer histograms of the codes of the scores.

The *code* of a score is the integer of its bits, with the sign handled, so that codes order like scores
(:func:`~spoofspan.measures.eer.in_order`). One pass over the mass sums both columns into 65,536 bins by the leading
16 bits of the code; the crossing lies in one bin; the next pass splits that bin into up to 65,536 again. float16 needs
one pass, float32 two, float64 four. Memory is bounded, nothing is sorted, and histograms of shards simply add.

**Fine bins** lie next to 1, -1 and 0, where probabilities saturate. The leading 16 bits of a float make bins that are
narrow near 0 and wide near 1: those of float32 are 0.004 wide there, and most probabilities of a confident system lie
in the last one below 1. Where bounds are wanted after one pass, the bins from 0.5 to 1 are split by their distance to
1, as finely as the leading bits split those near 0, and exactly 1 and exactly 0 have bins of their own; likewise those
from -0.5 to -1. For float32::

    leading bits     0.5 ........ 0.9961              1 ....... 1.0078
    fine bins        0.5 ........ 1 - 2**-23  1 - 2**-24  1  1 + 2**-23 ....
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags
from spoofspan.base.errors import UsageError
from spoofspan.base.times import Int64, exact_sum
from spoofspan.data.scores import Values
from spoofspan.mass.score_mass import MassBlock, ScoreMass
from spoofspan.measures.eer import Amounts, Reached, Step, first_reached, in_order

BITS_PER_PASS = 16
BINS = 1 << BITS_PER_PASS
# Sums stay int64 as long as no sum of them can pass this; then they become Python integers.
MOST = 2**62
# Python integers are written as so many bits, and what is above them.
LOW_BITS = 60
Span = tuple[int, int]  # the first and the last code of a bin
EVERYTHING: Span = (-(2**63), 2**63 - 1)


def codes_of(scores: Values) -> npt.NDArray[np.signedinteger[Any]]:
    """The codes of scores; -0.0 gets that of 0.0."""
    return in_order((scores + scores.dtype.type(0)).view(f"i{scores.dtype.itemsize}"))


def score_of_code(code: int, dtype: np.dtype[Any]) -> float:
    """Undo :func:`codes_of` for one score."""
    return float(in_order(np.array([code], f"i{dtype.itemsize}")).view(dtype)[0])


def code_of(score: float, dtype: np.dtype[Any]) -> int:
    """The code of one score."""
    return int(codes_of(np.array([score], dtype))[0])


def rest_bits(dtype: np.dtype[Any]) -> int:
    """Number of bits of a code that follow the leading ones."""
    return 8 * dtype.itemsize - BITS_PER_PASS


@lru_cache
def first_codes(dtype: np.dtype[Any], fine: bool) -> Int64:
    """The first code of each bin of the first pass.

    >>> [first_codes(np.dtype(name), True).size for name in ("float16", "float32", "float64")]
    [65536, 69635, 67075]
    """
    shift = rest_bits(dtype)
    codes = np.arange(-BINS // 2, BINS // 2) << shift
    if not fine or not shift:
        return codes
    one = code_of(1.0, dtype)
    # distances to the greatest float below 1, in codes: a bin holds those that share their leading bits as a float
    widest = code_of(one - code_of(0.5, dtype) - 1, dtype)
    alike = np.arange(one >> shift, (widest >> shift) + 1) << shift
    distances = np.ceil(alike.astype(f"i{dtype.itemsize}").view(dtype)).astype(np.int64)
    split = np.append(one - distances, one + 1)
    return np.unique(np.concatenate((codes, split, -split, [1])))


@dataclass(frozen=True)
class BinIndex:
    """Codes that a histogram counts: those of one bin of the last pass, or in the first pass all.

    ``below`` is what lies under it; ``inside`` what the last pass found in it. The next higher score with counted time
    is in the bin ``following``, and is ``next_score`` where a pass found it.
    """

    level: int = 0
    span: Span = EVERYTHING
    below: Amounts = (0, 0)
    inside: Amounts | None = None
    following: Span | None = None
    next_score: float | None = None


@dataclass(eq=False)
class Histogram:
    """Both columns of a mass by the code of the score; histograms of shards that look at the same codes add."""

    dtype: np.dtype[Any]
    index: BinIndex = field(default_factory=BinIndex)
    fine: bool = False  # fine bins, and ``longer``: where bounds are wanted, in the first pass
    undecided: Amounts = (0, 0)
    lowest_following: float | None = None  # found by this pass
    longer: bool = False  # whether any score has more than its leading bits

    def __post_init__(self) -> None:
        self.sums: npt.NDArray[Any] = np.zeros((2, self._starts.size), np.int64)
        self._most = 0  # no sum of sums is larger

    @cached_property
    def _step_bits(self) -> int:
        """Bins of a further pass hold two to this power codes each."""
        first, last = self._ends
        return max((last - first).bit_length() - BITS_PER_PASS, 0)

    @cached_property
    def _ends(self) -> Span:
        """The first and the last code that is counted; codes beyond infinity are NaN."""
        first, last = self.index.span
        return max(first, code_of(-np.inf, self.dtype)), min(last, code_of(np.inf, self.dtype))

    @cached_property
    def _starts(self) -> Int64:
        """The first code of each bin."""
        if self.index.level == 0:
            return first_codes(self.dtype, self.fine)
        return np.arange(self._ends[0], self._ends[1] + 1, 1 << self._step_bits)

    @property
    def is_last(self) -> bool:
        """True if its bins are single scores."""
        if self.index.level == 0:
            return rest_bits(self.dtype) == 0 or (self.fine and not self.longer)
        return self._step_bits == 0

    def distinct(self) -> frozenset[float] | None:
        """The distinct scores; None if they are more than two, or if bins are no single scores."""
        occupied = self._starts[np.flatnonzero(self.sums.any(axis=0))]
        if occupied.size > 2 or not self.is_last:
            return None
        return frozenset(score_of_code(int(code), self.dtype) for code in occupied)

    def emptied(self) -> Histogram:
        """Another one that looks at the same scores and has seen nothing."""
        return Histogram(self.dtype, self.index, self.fine)

    def add(self, block: MassBlock) -> None:
        """Count a block, whose scores are in bona fide polarity and of this type."""
        self.add_undecided((block.undecided_bona_fide, block.undecided_spoof))
        codes, size = codes_of(block.scores), self._starts.size
        sums = np.zeros((4, size), np.int64)  # a row for each class, so that one call counts them all
        if self.index.level == 0:
            bins = self._bins(codes)
            np.add.at(sums.reshape(-1), bins + block.classes * np.int32(size), block.amounts)
            np.add.at(sums[0], bins[block.rows], block.more_bona_fide)
            np.add.at(sums[1], bins[block.rows], block.more_spoof)
            self._look_for_more_bits(block)
        else:
            first, last = self._ends
            inside = (codes >= first) & (codes <= last)
            _, *columns = block.columns_of(inside)
            for row, column in zip(sums, columns, strict=False):
                np.add.at(row, (codes[inside] - first) >> self._step_bits, column)
            self._look_for_next(block, codes)
        self.add_sums(sums[:2])

    def _bins(self, codes: Any) -> npt.NDArray[np.int32]:
        """The bin of each code, in the first pass."""
        leading: npt.NDArray[np.int32] = (codes >> rest_bits(self.dtype)).astype(np.int32) + np.int32(BINS // 2)
        if not self.fine:
            return leading
        first, by_distance = self._tables
        bins: npt.NDArray[np.int32] = first[leading]
        split = np.flatnonzero((np.diff(first) > 1)[leading])
        codes = codes[split]
        distance = self._leading_of_distance(codes)
        near = (distance >= 0) & (distance < by_distance.shape[1])
        # a search takes ten times as long; what is not near 1 here is 1 itself, just above 1, or next to 0
        bins[split[near]] = by_distance[(codes[near] < 0).view(np.int8), distance[near]]
        bins[split[~near]] = np.searchsorted(self._starts.astype(codes.dtype), codes[~near], side="right") - 1
        return bins

    @cached_property
    def _tables(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """The first bin of each value of the leading bits, and one more; the bin of each distance, for both signs."""
        kind = f"i{self.dtype.itemsize}"
        first = np.searchsorted(self._starts, np.append(first_codes(self.dtype, False), np.iinfo(kind).max))
        distance = self._leading_of_distance(self._starts.astype(kind))
        widest = self._leading_of_distance(codes_of(self.dtype.type([0.5])))[0]
        near = np.flatnonzero((distance >= 0) & (distance <= widest))
        by_distance = np.zeros((2, int(distance[near].max(initial=-1)) + 1), np.int32)
        by_distance[(self._starts[near] < 0).view(np.int8), distance[near]] = near
        return first.astype(np.int32), by_distance

    def _leading_of_distance(self, codes: Any) -> Any:
        """Leading bits of the distance to the greatest float below 1, as a float; negative from 1 on."""
        distance = code_of(1.0, self.dtype) - 1 - np.where(codes < 0, ~codes, codes)
        return distance.astype(self.dtype).view(codes.dtype) >> rest_bits(self.dtype)

    def _look_for_more_bits(self, block: MassBlock) -> None:
        if self.fine and not self.longer:
            bits = block.scores.view(f"i{self.dtype.itemsize}")
            longer = (bits & bits.dtype.type((1 << rest_bits(self.dtype)) - 1)) != 0
            self.longer = bool(longer.any()) and bool((longer & block.counted).any())

    def _look_for_next(self, block: MassBlock, codes: Any) -> None:
        """Find the lowest score with counted time in the bin that follows, unless it is known."""
        if self.index.following is None or self.index.next_score is not None:
            return
        first, last = self.index.following
        chosen: Flags = (codes >= first) & (codes <= last)
        scores, bona_fide, spoof = block.columns_of(chosen)
        counted = scores[(bona_fide > 0) | (spoof > 0)]
        if counted.size:
            self._see_next(float(counted.min()))

    def _see_next(self, score: float | None) -> None:
        if score is not None and (self.lowest_following is None or score < self.lowest_following):
            self.lowest_following = score

    def add_undecided(self, amounts: Amounts) -> None:
        """Add amounts without a score."""
        self.undecided = self.undecided[0] + int(amounts[0]), self.undecided[1] + int(amounts[1])

    def add_sums(self, sums: npt.NDArray[Any]) -> None:
        """Add bona fide and spoof of each bin."""
        self._most += sum(map(exact_sum, sums))
        if self._most >= MOST:
            self.sums = self.sums.astype(object)
        self.sums = self.sums + sums

    def merge(self, other: Histogram) -> None:
        """Add the counts of another one of the same index."""
        if (self.dtype, self.index, self.fine) != (other.dtype, other.index, other.fine):
            raise UsageError("histograms of different types of scores, or of different passes, do not add")
        self.add_sums(other.sums)
        self.add_undecided(other.undecided)
        self._see_next(other.lowest_following)
        self.longer |= other.longer

    def totals(self) -> Amounts:
        """Sum over all bins."""
        return int(self.sums[0].sum()), int(self.sums[1].sum())

    def steps(self) -> npt.NDArray[Any]:
        """Bona fide and spoof of the bins that are not empty, from the lowest score on."""
        return self.sums[:, self._filled]

    @property
    def _filled(self) -> Int64:
        """The bins that are not empty; scores without counted time leave theirs empty."""
        return np.flatnonzero((self.sums != 0).any(axis=0))

    def find(self, reached: Reached) -> BinIndex | None:
        """Find the bin in which ``reached`` becomes true, as the index of the next pass; None: in none."""
        filled = self._filled
        found = first_reached(self.index.below, list(self.sums[:, filled]), reached)
        if found is None:
            return None
        row, below, inside = found
        level, span = self.index.level + 1, self._span(int(filled[row]))
        if row + 1 < filled.size:
            following = self._span(int(filled[row + 1]))
            return BinIndex(level, span, below, inside, following, self._score(following) if self.is_last else None)
        # the last bin here: what follows it is what followed all of them
        known = self.index.next_score if self.lowest_following is None else self.lowest_following
        return BinIndex(level, span, below, inside, self.index.following, known)

    def step(self, reached: Reached) -> Step | None:
        """The step itself, where bins are single scores; None if the condition never becomes true."""
        found = self.find(reached)
        if found is None or found.inside is None:
            return None
        return Step(self._score(found.span), *found.below, *found.inside, found.next_score)

    def _span(self, place: int) -> Span:
        """The codes of a bin that are looked at."""
        last = int(self._starts[place + 1]) - 1 if place + 1 < self._starts.size else self._ends[1]
        return max(int(self._starts[place]), self._ends[0]), min(last, self._ends[1])

    def _score(self, span: Span) -> float:
        """The only score of a bin: its only code, or the one without bits after the leading ones."""
        first, last = span
        if first != last:
            rest = (1 << rest_bits(self.dtype)) - 1
            last = last & ~rest if first >= 0 else ~(~first & ~rest)
        return score_of_code(last, self.dtype)

    def to_bytes(self) -> bytes:
        """Bins that are not empty, and their sums; at most 1.8 MB."""
        filled = self._filled
        flags = np.zeros(self._starts.size, bool)
        flags[filled] = True
        sums = self.sums[:, filled]
        if sums.dtype != object:
            return np.packbits(flags).tobytes() + sums.astype("<i8").tobytes()
        low, high = (sums & ((1 << LOW_BITS) - 1)).astype("<i8"), (sums >> LOW_BITS).astype("<i4")
        return np.packbits(flags).tobytes() + low.tobytes() + high.tobytes()

    def add_bytes(self, packed: bytes) -> None:
        """Add the counts that another one wrote by :meth:`to_bytes`."""
        size = self._starts.size
        start = -(-size // 8)
        filled = np.flatnonzero(np.unpackbits(np.frombuffer(packed, np.uint8, start), count=size))
        low = np.frombuffer(packed, "<i8", 2 * filled.size, start).reshape(2, -1)
        high = np.frombuffer(packed, "<i4", offset=start + 16 * filled.size)
        sums = np.zeros((2, size), object if high.size else np.int64)
        sums[:, filled] = low + (high.astype(object).reshape(2, -1) << LOW_BITS) if high.size else low
        self.add_sums(sums)


@runtime_checkable
class RemotePart(Protocol):
    """A part of a mass that is counted elsewhere: in several processes, on a cluster."""

    def counted(self, histogram: Histogram) -> Histogram:
        """Fill an empty histogram."""


def fill(histogram: Histogram, mass: ScoreMass) -> Histogram:
    """Count a mass: one pass."""
    for part in mass.parts:
        if isinstance(part, RemotePart):
            histogram.merge(part.counted(histogram.emptied()))
        else:
            for block in part.blocks():
                histogram.add(block.as_type(histogram.dtype))
    return histogram


def find_inside(histogram: Histogram, mass: ScoreMass, reached: Reached) -> Step | None:
    """Find the lowest score at whose inclusion ``reached`` becomes true; None if it never does.

    The histogram has seen the mass once; as many more passes follow as there are bits left.
    """
    while not histogram.is_last and (index := histogram.find(reached)) is not None:
        histogram = fill(Histogram(histogram.dtype, index), mass)
    return histogram.step(reached)

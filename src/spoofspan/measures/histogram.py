"""Finding a crossing in a ScoreMass of any size: integer histograms on the ordered bits of the scores.

A float's bits, with the sign handled, order like the float. One pass over the mass sums both columns into 65,536 bins
of the leading 16 bits; the crossing lies in one bin; the next pass splits that bin by the next 16 bits. float16 needs
one pass, float32 two, float64 four. Memory is bounded, nothing is sorted, and histograms of shards simply add.

Scores go into the bins by their bits as they are; the sign is handled once per bin (:func:`raw_bins`), not per score.

**Fine bins** lie next to 1, -1 and 0, where probabilities saturate. The leading 16 bits of a float make bins that are
narrow near 0 and wide near 1: those of float32 are 0.004 wide there, and most probabilities of a confident system lie
in the last one below 1. Fine bins split the bins from 0.5 to 1 by their distance to 1, as finely as the leading bits
split those near 0, and tell exactly 1 and exactly 0 from their neighbours; -0.5 to -1 likewise. Each fine bin lies in
one bin of leading bits.

The key of a score ``1 - (d + 1) * ulp`` is read off the leading bits of the float ``d``, so it takes no logarithm. For
float32::

    key      0    1    2 .......... 2945
    score    1    1 - 2**-24 ...... 0.5        keys of -1 to -0.5 follow, then that of 0
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags
from spoofspan.base.errors import UsageError
from spoofspan.base.times import Int64, exact_sum
from spoofspan.data.scores import Values
from spoofspan.mass.score_mass import MassBlock, ScoreMass
from spoofspan.measures.eer import Amounts, Reached, Step, first_reached

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
        """Number of bits that follow the leading ones."""
        return 8 * self.dtype.itemsize - LEADING_BITS

    @cached_property
    def one(self) -> int:
        """The bits of 1.0."""
        return self._bits(1.0)

    @cached_property
    def below_one(self) -> int:
        """Number of floats from 0.5 on and below 1."""
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


BITS_PER_PASS = 16
BINS = 1 << BITS_PER_PASS
# Sums that could pass 2**62 hand what is above these bits over to their carry.
CARRIED_BITS = 60

Bits = npt.NDArray[np.unsignedinteger[Any]]


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
    """The bona fide and the spoofed amount per bin, as integers that cannot overflow: a sum and what it carried."""

    def __init__(self, size: int = BINS) -> None:
        self._sums = np.zeros((2, size), np.int64)
        self._carries: npt.NDArray[np.int32] | None = None
        self._held = 0  # no sum is larger

    @property
    def nbytes(self) -> int:
        """Bytes of the sums."""
        return self._sums.nbytes + (0 if self._carries is None else self._carries.nbytes)

    def add_rows(self, bins: Bits, bona_fide: npt.NDArray[np.int64], spoof: npt.NDArray[np.int64]) -> None:
        """Add rows of a block, given the bin of each of them."""
        self._make_room(int(bona_fide.sum()) + int(spoof.sum()))
        for sums, column in zip(self._sums, (bona_fide, spoof), strict=True):
            np.add.at(sums, bins, column)

    def add_sums(self, sums: npt.NDArray[np.int64], carries: npt.NDArray[np.int32] | None = None) -> None:
        """Add sums per bin that were made elsewhere, with what they carried."""
        self._make_room(int(sums.max(initial=0)))
        self._sums += sums
        if carries is not None:
            self._add_carries(carries)

    def to_bytes(self) -> bytes:
        """The bins that are not empty, packed: at most 1.7 MB."""
        sums, carries = self.parts()
        where = np.flatnonzero(self._some())
        packed = [
            np.array([where.size, carries is not None], "<i8").tobytes(),
            where.astype("<u2").tobytes(),
            sums[:, where].astype("<i8").tobytes(),
        ]
        if carries is not None:
            packed.append(carries[:, where].astype("<i4").tobytes())
        return b"".join(packed)

    @classmethod
    def from_bytes(cls, packed: bytes, size: int = BINS) -> Bins:
        """Undo :meth:`to_bytes`."""
        count, carried = (int(one) for one in np.frombuffer(packed, "<i8", 2))
        where = np.frombuffer(packed, "<u2", count, 16).astype(np.int64)
        sums = np.zeros((2, size), np.int64)
        sums[:, where] = np.frombuffer(packed, "<i8", 2 * count, 16 + 2 * count).reshape(2, count)
        carries = None
        if carried:
            carries = np.zeros((2, size), np.int32)
            carries[:, where] = np.frombuffer(packed, "<i4", 2 * count, 16 + 18 * count).reshape(2, count)
        bins = cls(size)
        bins.add_sums(sums, carries)
        return bins

    def __reduce__(self) -> tuple[Any, ...]:
        return Bins.from_bytes, (self.to_bytes(), self._sums.shape[1])

    def _some(self) -> Flags:
        sums, carries = self.parts()
        some: Flags = (sums != 0).any(axis=0) if carries is None else ((sums != 0) | (carries != 0)).any(axis=0)
        return some

    def parts(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32] | None]:
        """The sums per bin, and what they carried."""
        return self._sums, self._carries

    def _make_room(self, total: int) -> None:
        if self._held + total >= 2**62:
            self._add_carries(self._sums >> CARRIED_BITS)
            self._sums &= (1 << CARRIED_BITS) - 1
            self._held = 1 << CARRIED_BITS
        self._held += total

    def _add_carries(self, more: npt.NDArray[Any]) -> None:
        carries = more.astype(np.int64) + (0 if self._carries is None else self._carries)
        if int(carries.max()) >= 2**31:
            raise UsageError("more than 2**91 ns (10**10 years) under one score; give smaller weights")
        self._carries = carries.astype(np.int32)

    def total(self) -> Amounts:
        """Sum over all bins."""
        sums, carries = self.parts()
        bona_fide, spoof = map(exact_sum, sums)
        if carries is not None:
            bona_fide += int(carries[0].sum(dtype=np.int64)) << CARRIED_BITS
            spoof += int(carries[1].sum(dtype=np.int64)) << CARRIED_BITS
        return bona_fide, spoof

    def filled(self, order: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], list[npt.NDArray[Any]]]:
        """The bins that are not empty, in an order, and their amounts."""
        bins = order[self._some()[order]]
        return bins, self.columns(bins)

    def columns(self, bins: npt.NDArray[np.int64]) -> list[npt.NDArray[Any]]:
        """The amounts of some bins: Python integers where sums could overflow."""
        sums, carries = self.parts()
        if carries is None and sum(self.total()) < 2**62:
            return [column[bins] for column in sums]
        columns = [column[bins].astype(object) for column in sums]
        if carries is not None:
            columns = [
                column + carry[bins].astype(object) * (1 << CARRIED_BITS)
                for column, carry in zip(columns, carries, strict=True)
            ]
        return columns


@dataclass(frozen=True)
class BinIndex:
    """Which scores a histogram looks at: those that begin with ``prefix`` (16 bits for each level above).

    ``below`` is what lies under it; ``inside`` what the last pass found in it. The next higher score with counted time
    begins with ``following`` (16 bits for each of ``following_levels``), and is ``next_score`` where a pass found it.
    """

    level: int = 0
    prefix: int = 0
    below: Amounts = (0, 0)
    inside: Amounts | None = None
    following: int | None = None
    following_levels: int = 0
    next_score: float | None = None


@dataclass(frozen=True)
class NarrowBin:
    """Scores from ``lowest`` to ``highest``, what lies below and inside, and a bound of the next higher score there."""

    lowest: float
    highest: float
    below: Amounts
    inside: Amounts
    following: float | None


@dataclass(eq=False)
class Fine:
    """What bounds that rest on one pass need besides: fine bins, and whether any score has more than 16 bits."""

    bins: Bins
    longer: bool = False

    @classmethod
    def of(cls, dtype: np.dtype[Any]) -> Fine:
        """Those of a histogram that has seen nothing."""
        return cls(Bins(FineBins(dtype).size))

    def add(self, block: MassBlock, bits: Bits, dtype: np.dtype[Any]) -> None:
        """Count a block, given the raw bits of its scores."""
        split = FineBins(dtype)
        if not split.shift:
            return
        rows, keys = split.keys(bits)
        if rows.size:
            chosen = np.zeros(bits.size, bool)
            chosen[rows] = True
            _, bona_fide, spoof = block.columns_of(chosen)
            self.bins.add_rows(keys.view(np.uint64), bona_fide, spoof)
        if not self.longer:
            longer = (bits & bits.dtype.type((1 << split.shift) - 1)) != 0
            self.longer = bool(longer.any()) and bool((longer & block.counted).any())

    def merge(self, other: Fine) -> None:
        """Add what another one has seen."""
        self.bins.add_sums(*other.bins.parts())
        self.longer |= other.longer


@dataclass(eq=False)
class Histogram:
    """Both columns of a mass by 16 bits of the score; histograms of shards that look at the same scores add."""

    dtype: np.dtype[Any]
    index: BinIndex = field(default_factory=BinIndex)
    bins: Bins = field(default_factory=Bins)
    undecided: Amounts = (0, 0)
    lowest_following: float | None = None  # found by this pass
    fine: Fine | None = None  # only where bounds are wanted, in the first pass

    @property
    def is_last(self) -> bool:
        """True if its bins are single scores."""
        return self._shift == 0 or (self.fine is not None and not self.fine.longer)

    @property
    def _shift(self) -> int:
        return 8 * self.dtype.itemsize - BITS_PER_PASS * (self.index.level + 1)

    def emptied(self) -> Histogram:
        """Another one that looks at the same scores and has seen nothing."""
        return Histogram(self.dtype, self.index, fine=None if self.fine is None else Fine.of(self.dtype))

    def add(self, block: MassBlock) -> None:
        """Count a block, whose scores are in bona fide polarity and of this type."""
        bits, index = raw_bits(block.scores), self.index
        self.add_undecided((block.undecided_bona_fide, block.undecided_spoof))
        if index.level == 0:
            self.bins.add_rows(bits >> bits.dtype.type(self._shift), block.bona_fide, block.spoof)
            if self.fine is not None:
                self.fine.add(block, bits, self.dtype)
            return
        kind = bits.dtype.type
        leading = bits >> kind(self._shift + BITS_PER_PASS)
        scores, *columns = block.columns_of(leading == index.prefix)
        self.bins.add_rows((raw_bits(scores) >> kind(self._shift)) & kind(BINS - 1), *columns)
        if index.following_levels == index.level:  # the last pass found where the next score lies
            self._see_following(block, leading == index.following)

    def add_undecided(self, amounts: Amounts) -> None:
        """Add what lies under no score."""
        self.undecided = self.undecided[0] + int(amounts[0]), self.undecided[1] + int(amounts[1])

    def _see_following(self, block: MassBlock, chosen: Flags) -> None:
        if not chosen.any():
            return
        scores, bona_fide, spoof = block.columns_of(chosen)
        counted = scores[(bona_fide > 0) | (spoof > 0)]
        if counted.size:
            self._lower_following(float(counted.min()))

    def _lower_following(self, score: float | None) -> None:
        if score is not None and (self.lowest_following is None or score < self.lowest_following):
            self.lowest_following = score

    def merge(self, other: Histogram) -> None:
        """Add what another one of the same index has seen."""
        if (self.dtype, self.index) != (other.dtype, other.index):
            raise UsageError("histograms of different types of scores, or of different passes, do not add")
        self.bins.add_sums(*other.bins.parts())
        self.add_undecided(other.undecided)
        self._lower_following(other.lowest_following)
        if self.fine is not None and other.fine is not None:
            self.fine.merge(other.fine)

    def sums(self) -> Amounts:
        """Sum over all bins."""
        return self.bins.total()

    def find(self, reached: Reached) -> BinIndex | None:
        """Find the bin in which ``reached`` becomes true, as the index of the next pass; None: in none."""
        level, prefix, below = self.index.level, self.index.prefix, self.index.below
        order = raw_bins(level, negative=level > 0 and bool(prefix >> (BITS_PER_PASS * level - 1)))
        # scores without counted time leave their bins empty
        filled, columns = self.bins.filled(order)
        reaches = first_reached(below, columns, reached)
        if reaches is None:
            return None
        row, below, inside = reaches
        bits = [(prefix << BITS_PER_PASS) | int(one) for one in filled[row : row + 2]]
        found = BinIndex(level + 1, bits[0], below, inside, bits[-1], level + 1)
        if len(bits) > 1:
            return replace(found, next_score=self._score(bits[1])) if self.is_last else found
        # the last bin here: what follows it is what followed all of them
        known = self.index.next_score if self.lowest_following is None else self.lowest_following
        return replace(
            found, following=self.index.following, following_levels=self.index.following_levels, next_score=known
        )

    def step(self, reached: Reached) -> Step | None:
        """The step itself, where bins are single scores; None if the condition never becomes true."""
        found = self.find(reached)
        if found is None or found.inside is None:
            return None
        return Step(self._score(found.prefix), *found.below, *found.inside, found.next_score)

    def _score(self, prefix: int) -> float:
        """The lowest magnitude that begins with these bits; where bins are single scores, the only one."""
        return score_of_bits(prefix << self._shift, self.dtype)

    def refined(self, found: BinIndex, reached: Reached) -> NarrowBin | None:
        """The part of a found bin in which ``reached`` becomes true; None where fine bins do not split it."""
        if self.fine is None or found.level != 1 or found.inside is None:
            return None
        split = self._split(found.prefix, found.inside)
        if split is None:
            return None  # bins that were made elsewhere, without fine ones
        parts, columns = split
        filled = np.flatnonzero((columns[0] != 0) | (columns[1] != 0))
        reaches = first_reached(found.below, [column[filled] for column in columns], reached)
        if reaches is None:
            return None
        row, below, inside = reaches
        lowest, highest = self._scores_of(parts[filled[row]])
        following = self._scores_of(parts[filled[row + 1]])[1] if row + 1 < filled.size else None
        return NarrowBin(lowest, highest, below, inside, following)

    def _split(self, prefix: int, inside: Amounts) -> tuple[list[SubBin], list[npt.NDArray[Any]]] | None:
        """The parts of a bin from the lowest score on, and their amounts; None if the fine bins have not seen it."""
        assert self.fine is not None  # noqa: S101 - for the type checker
        parts = list(FineBins(self.dtype).parts(prefix))
        order = np.array([-1 if part.key is None else part.key for part in parts], np.int64)
        if not parts or not prefix >> BITS_PER_PASS - 1:
            parts, order = parts[::-1], order[::-1]
        columns = [column.astype(object) for column in self.fine.bins.columns(order)]
        for column, whole in zip(columns, inside, strict=True):
            column[order < 0] = whole - int(column[order >= 0].sum())
            if int(column.min(initial=0)) < 0 or int(column.sum()) != whole:
                return None
        return parts, columns

    def steps(self) -> list[Amounts]:
        """The amounts of both classes from the lowest score on, in the narrowest bins of the first pass."""
        filled, columns = self.bins.filled(raw_bins(0, negative=False))
        found: list[Amounts] = []
        for prefix, bona_fide, spoof in zip(filled.tolist(), *(column.tolist() for column in columns), strict=True):
            split = None if self.fine is None else self._split(prefix, (bona_fide, spoof))
            parts = [(bona_fide, spoof)] if split is None or not split[0] else zip(*split[1], strict=True)
            found += [(int(first), int(second)) for first, second in parts if first or second]
        return found

    def _scores_of(self, part: SubBin) -> tuple[float, float]:
        """The lowest and the highest score of a part of a bin."""
        ends = score_of_bits(part.smallest, self.dtype), score_of_bits(part.largest, self.dtype)
        return min(ends), max(ends)


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

"""ScoreMass: the duration of bona fide and of spoofed speech under each score. Read this module first.

References state when an utterance is spoofed; a system gives each stretch of time a score. Overlay both (frames of
20 ms)::

    reference   |      bona fide      |        spoof        |   bona fide   |
    scores      |   0.9   |   0.8   |   0.3   |   -0.2  |   0.1   |   0.7   |
    ms          0         20        40 45     60        80  88    100       120

and sum, for each score, the time of both classes under it::

    score       0.9   0.8   0.3  -0.2   0.1   0.7
    bona fide    20    20     5     0    12    20      77
    spoof         0     0    15    20     8     0      43

The scores with both amounts are the mass, and every measure is a function of it. With a threshold tau, time under a
score s is called spoof iff s < tau: at tau = 0.3 the scores -0.2 and 0.1 are called spoof, so 12 of 77 ms of bona fide
time are false positives, and 15 of 43 ms of spoofed time are false negatives. Moving tau from the lowest to the highest
score traces the error curve; the EER is where both rates meet (Eqs. 3 to 7 of the paper).

Amounts are integers (nanoseconds, points, or utterances), so their sums have the same bits for any order, blocks and
number of shards. Masses therefore add, and one mechanism serves memory, streaming, several processes and a cluster.

A mass is never held whole. It consists of parts, one for each corpus or shard (:class:`MassPart`), which compute it
block by block: :mod:`spoofspan.mass.ranges` for ranges, :mod:`spoofspan.mass.points` for points,
:mod:`spoofspan.mass.utterances` for scores of whole utterances.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from operator import methodcaller
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags, no_rows, sum_by_utterance
from spoofspan.base.errors import UsageError
from spoofspan.base.times import Int64
from spoofspan.data.references import BONA_FIDE, SPOOF, Labels
from spoofspan.data.scores import Higher, Values
from spoofspan.mass.score_runs import mirrored

# A block's sums must fit into int64.
NS_PER_BLOCK = 2**62

# Scores, and the bona fide and spoofed amount under each.
Columns = tuple[Values, Int64, Int64]


class MassPart(Protocol):
    """One corpus inside a ScoreMass."""

    @property
    def utterances(self) -> tuple[str, ...]:
        """Its utterances."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its scores."""

    def blocks(self) -> Iterator[MassBlock]:
        """Compute it piece by piece."""

    def sample(self, size: int) -> Columns:
        """About ``size`` of its rows, spread over the corpus; the two columns may be approximate."""

    def take(self, chosen: Int64) -> MassPart:
        """Keep chosen utterances."""

    def weigh(self, weights: Int64) -> MassPart:
        """Count each utterance ``weights`` times."""


@dataclass(frozen=True, eq=False)
class ScoreMass:
    """Amounts of bona fide and spoof (ns, points or utterances) under each score.

    Masses add, which is all that shards and workers need. Utterances can be selected or re-weighted without laying
    references and scores over each other again.

    Parameters
    ----------
    parts
        Parts that compute the mass block by block: one for each corpus or shard. :func:`spoofspan.overlay` and
        :func:`spoofspan.point_mass` make them.
    higher
        Meaning of high scores, ``"bonafide"`` or ``"spoof"``.
    unit
        Unit of the amounts: ``"ns"``, ``"points"`` or ``"utterances"``.
    uncovered
        Treatment of time without a score: a value of the rule of that name.
    basis
        The rules and the resolution under which it was made; only masses of the same basis add.

    Examples
    --------
    >>> import spoofspan as ss
    >>> references = ss.References.from_ranges({"u1": [(0.0, 0.03, "bonafide"), (0.03, 0.06, "spoof")]})
    >>> scores = ss.Scores.from_frames({"u1": [0.9, 0.3, -0.2]}, hop=0.02, higher="bonafide")
    >>> mass = ss.overlay(references, scores)
    >>> mass
    ScoreMass(1 utterance, ns, float64, higher = bonafide)
    >>> mass.scores.tolist(), mass.bona_fide.tolist(), mass.spoof.tolist()
    ([0.9, 0.3, -0.2], [20000000, 10000000, 0], [0, 10000000, 20000000])
    >>> mass.reweight({"u1": 2}).bona_fide.tolist()
    [40000000, 20000000, 0]

    """

    parts: tuple[MassPart, ...]
    higher: Higher
    unit: str = "ns"
    uncovered: str = "error"
    basis: str = ""  # the rules and the resolution under which it was made

    def __repr__(self) -> str:
        count = len(self.utterances)
        return f"ScoreMass({count:,} utterance{'s' * (count != 1)}, {self.unit}, {self.dtype}, higher = {self.higher})"

    def __add__(self, other: ScoreMass) -> ScoreMass:
        if not isinstance(other, ScoreMass):
            return NotImplemented
        if (self.higher, self.unit) != (other.higher, other.unit):
            raise UsageError(
                f"masses of {self.unit} with higher={self.higher!r} and of {other.unit} with higher={other.higher!r} "
                "do not add"
            )
        if self.basis != other.basis:
            raise UsageError(f"masses made under different rules do not add: {self.basis} and {other.basis}")
        return replace(self, parts=self.parts + other.parts)

    @property
    def utterances(self) -> tuple[str, ...]:
        """All utterances, in order."""
        if len(self.parts) == 1:
            return self.parts[0].utterances
        return tuple(chain.from_iterable(part.utterances for part in self.parts))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type in which all scores of the parts can be compared."""
        return np.result_type(*(part.dtype for part in self.parts))

    def blocks(self) -> Iterator[MassBlock]:
        """Iterate piece by piece; nothing larger than a piece is held."""
        dtype = self.dtype
        for part in self.parts:
            yield from map(methodcaller("as_type", dtype), part.blocks())  # keeps no block while the next is made

    def sample(self, size: int) -> Columns:
        """About ``size`` rows, spread over all utterances, for a guess at where the curve lies."""
        samples = [part.sample(max(size // len(self.parts), 64)) for part in self.parts]
        scores, bona_fide, spoof = (np.concatenate(column) for column in zip(*samples, strict=True))
        return scores.astype(self.dtype, copy=False), bona_fide, spoof

    def _column(self, name: str) -> npt.NDArray[Any]:
        return np.concatenate([getattr(block, name)[block.counted] for block in self.blocks()])

    @property
    def scores(self) -> Values:
        """The scores with counted time, in corpus order and as given (held whole; :meth:`blocks` is not)."""
        return mirrored(self._column("scores"), self.higher)

    @property
    def bona_fide(self) -> Int64:
        """The bona fide time under each of :attr:`scores`."""
        return self._column("bona_fide")

    @property
    def spoof(self) -> Int64:
        """The spoofed time under each of :attr:`scores`."""
        return self._column("spoof")

    def select(self, utterances: Sequence[str]) -> ScoreMass:
        """Keep only these utterances."""
        wanted = {utterances} if isinstance(utterances, str) else set(utterances)
        unknown = wanted - set(self.utterances)
        if unknown:
            raise UsageError(f"no such utterance: {', '.join(map(repr, sorted(unknown)[:20]))}")
        parts = []
        for part in self.parts:
            chosen = np.array([i for i, utt in enumerate(part.utterances) if utt in wanted], np.int64)
            if chosen.size:
                parts.append(part.take(chosen))
        if not parts:
            raise UsageError("select at least one utterance")
        return replace(self, parts=tuple(parts))

    def reweight(self, weights: Mapping[str, int] | npt.ArrayLike) -> ScoreMass:
        """Count each utterance ``weights`` times (whole numbers; 0 leaves it out), as a bootstrap does.

        Weights are an array in the order of :attr:`utterances`, or a dict that lists every utterance.
        """
        utterances = self.utterances
        if isinstance(weights, Mapping):
            missing = [utt for utt in utterances if utt not in weights]
            if missing:
                raise UsageError(f"no weight for {', '.join(map(repr, missing[:20]))}; give one for every utterance")
            weights = np.array([weights[utt] for utt in utterances])
        array = np.asarray(weights)
        if array.dtype.kind not in "iu" or array.shape != (len(utterances),) or (array < 0).any():
            raise UsageError("weights must be whole numbers from 0 on, one per utterance")
        if int(array.max()) >= NS_PER_BLOCK:
            raise UsageError(f"a weight of {int(array.max())} is too large")
        parts, done = [], 0
        for part in self.parts:
            count = len(part.utterances)
            parts.append(part.weigh(array[done : done + count].astype(np.int64)))
            done += count
        return replace(self, parts=tuple(parts))


@dataclass(frozen=True, eq=False)
class MassBlock:
    """A piece of a ScoreMass: scores in bona fide polarity, both columns, and the amounts without a score.

    Most scores lie under one class for as long as all others, so the columns are written as one class per score, one
    amount for all, and a few exceptions: what ``more_bona_fide`` and ``more_spoof`` add in certain rows.
    """

    scores: Values
    classes: Labels  # BONA_FIDE, SPOOF, or another number for neither
    amounts: Int64 | int  # of each score, or of all
    rows: Int64 = field(default_factory=no_rows)  # the exceptions; a row may occur twice
    more_bona_fide: Int64 = field(default_factory=no_rows)
    more_spoof: Int64 = field(default_factory=no_rows)
    undecided_bona_fide: int = 0
    undecided_spoof: int = 0

    @cached_property
    def is_bona_fide(self) -> Flags:
        """True if a score's amount is bona fide."""
        return np.equal(self.classes, BONA_FIDE)

    @cached_property
    def is_spoof(self) -> Flags:
        """True if a score's amount is spoof."""
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
        """Scores that have any amount."""
        flags: Flags = (self.is_bona_fide | self.is_spoof) & np.greater(self.amounts, 0)
        odd = np.zeros(flags.size, bool)
        odd[self.rows] = True
        _, bona_fide, spoof = self.columns_of(odd)
        flags[odd] = (bona_fide > 0) | (spoof > 0)
        return flags

    def as_type(self, dtype: np.dtype[Any]) -> MassBlock:
        """The block with scores of another type."""
        return self if self.scores.dtype == dtype else replace(self, scores=self.scores.astype(dtype))

    def sums(self, chosen: Flags | None = None) -> tuple[int, int]:
        """The bona fide and the spoofed amount of all, or of the chosen, scores."""
        bona_fide, spoof = (
            self._sum(flags if chosen is None else flags & chosen) for flags in (self.is_bona_fide, self.is_spoof)
        )
        if chosen is None:
            return bona_fide + int(self.more_bona_fide.sum()), spoof + int(self.more_spoof.sum())
        # multiplying by flags is seven times faster than indexing with them
        odd = chosen[self.rows]
        return bona_fide + int((self.more_bona_fide * odd).sum()), spoof + int((self.more_spoof * odd).sum())

    def _sum(self, flags: Flags) -> int:
        """The amount of some scores, without the exceptions."""
        if isinstance(self.amounts, int):
            return int(np.count_nonzero(flags)) * self.amounts
        return int((self.amounts * flags).sum())

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
        places = np.searchsorted(rows, self.rows[found])
        classes, amounts = self.classes[rows], self.amounts if isinstance(self.amounts, int) else self.amounts[rows]
        columns = []
        for label, more in ((BONA_FIDE, self.more_bona_fide), (SPOOF, self.more_spoof)):
            column = np.multiply(classes == label, amounts, dtype=np.int64)
            np.add.at(column, places, more[found])
            columns.append(column)
        return self.scores[rows], columns[0], columns[1]


@dataclass(frozen=True, eq=False)
class UtteranceBlock:
    """A block with the rows of utterances first to last - 1, and the amounts without a score in each utterance."""

    first: int
    last: int
    offsets: Int64  # rows offsets[i]:offsets[i + 1] of the mass belong to utterance first + i
    mass: MassBlock
    undecided_bona_fide: Int64
    undecided_spoof: Int64

    def confusions(self, called: Flags) -> Int64:
        """The confusion matrix of each utterance, given which rows are called spoof.

        The bona fide and the spoofed amount under scores, those under none, and what of the former is called spoof.
        """
        both = self.mass.bona_fide, self.mass.spoof
        under = [sum_by_utterance(amounts, self.offsets) for amounts in both]
        below = [sum_by_utterance(amounts * called, self.offsets) for amounts in both]
        return np.stack([*under, self.undecided_bona_fide, self.undecided_spoof, *below], axis=1)


def combine_weights(old: Int64 | None, new: Int64, heaviest: int) -> Int64:
    """Multiply weights; refuse those with which one utterance alone could overflow."""
    largest = int(new.max()) * (1 if old is None else int(old.max()))
    if largest * max(heaviest, 1) >= NS_PER_BLOCK:
        raise UsageError(f"a weight of {largest} is too large for the longest utterance")
    return new if old is None else old * new

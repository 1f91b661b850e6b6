"""Parts of one overlay that ignore different stretches of it, as groups of spoofed ranges do.

Stretches of time that all parts treat alike are of one *sort*::

    labels         | bona fide |  spoof  | bona fide |  spoof  |
    part A ignores                                   [ x x x x )
    part B ignores             [ x x x x )
    sorts          |     0     |    1    |     0     |    2    |

A part is the sum of a few sorts, so one pass that counts for each sort counts for every part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags, blocks, no_rows, offsets_of
from spoofspan.base.order import sort_order
from spoofspan.base.times import Int64
from spoofspan.data.references import Labels
from spoofspan.data.scores import Values
from spoofspan.mass.labelling import IGNORED, CutLabelling, Labelling
from spoofspan.mass.ranges import LaidBlock, Overlay, RangePart, lay_block
from spoofspan.mass.score_mass import NS_PER_BLOCK, ROWS_PER_BLOCK

# An integer tells sorts apart: labels take two bits, and each part one that says whether it ignores a cell. More parts
# would fit in, but what is gathered of each of them is in memory at once.
MOST_PARTS = 32


@dataclass(frozen=True, eq=False)
class SortedScores:
    """Scores in ascending order, and the amount under each, or under all of them."""

    scores: Values
    amounts: Int64 | int

    @classmethod
    def of(cls, scores: Values, amounts: Int64 | int) -> SortedScores:
        """Sort them; scores of one amount are sorted alone, which takes half of the time."""
        if isinstance(amounts, int):
            return cls(np.sort(scores), amounts)
        order = sort_order(scores)
        return cls(scores[order], amounts[order])

    def below(self, thresholds: Values) -> Int64:
        """The amount below each threshold."""
        rows = np.searchsorted(self.scores, thresholds)
        below: Int64 = rows * self.amounts if isinstance(self.amounts, int) else offsets_of(self.amounts)[rows]
        return below

    def total(self) -> int:
        """The amount of all."""
        return self.scores.size * self.amounts if isinstance(self.amounts, int) else int(self.amounts.sum())

    def between(self, low: float, high: float) -> SortedScores:
        """The scores from low to high, both included, with equal ones added up."""
        here = slice(np.searchsorted(self.scores, low), np.searchsorted(self.scores, high, side="right"))
        scores = self.scores[here]
        last = np.flatnonzero(np.append(scores[1:] != scores[:-1], True)[: scores.size])
        amounts = self.amounts if isinstance(self.amounts, int) else self.amounts[here]
        summed = (last + 1) * np.int64(amounts) if isinstance(amounts, int) else np.cumsum(amounts)[last]
        return SortedScores(scores[last], np.diff(summed, prepend=0))


@dataclass(frozen=True, eq=False)
class JointParts:
    """Parts of an overlay: part ``k`` ignores the cells that are flagged in ``ignored[k]``."""

    laid: Overlay  # cut at the edges of what is ignored
    ignored: Sequence[Flags]

    @classmethod
    def of(cls, laid: Overlay, cut: CutLabelling, ranges: Sequence[Flags]) -> JointParts:
        """The overlay without some of the ranges that its labelling was cut at: those flagged for each part."""
        return cls(replace(laid, labelling=cut.cells), [cut.covered(one) for one in ranges])

    def overlay(self, k: int) -> Overlay:
        """One part alone."""
        cells = self.laid.labelling
        labels = np.where(self.ignored[k], np.int8(IGNORED), cells.labels)
        return replace(self.laid, labelling=replace(cells, labels=labels))

    @cached_property
    def _sorts(self) -> tuple[Labelling, npt.NDArray[np.int64]]:
        """The cells with the number of their sort as label, and what each sort is: its label, and who ignores it."""
        cells = self.laid.labelling
        told = cells.labels.astype(np.int64)
        for k, flags in enumerate(self.ignored):
            told |= flags.astype(np.int64) << (k + 2)
        kinds, numbers = np.unique(told, return_inverse=True)
        # few sorts need one byte or two, which are sorted three times faster than integers of eight
        return replace(cells, labels=numbers.astype(np.min_scalar_type(-kinds.size))), kinds

    def labels(self, k: int) -> Labels:
        """The label that each sort has in a part."""
        kinds = self._sorts[1]
        return np.where(kinds >> (k + 2) & 1, IGNORED, kinds & 3).astype(np.int8)

    def sample(self, size: int) -> tuple[Values, Labels, Int64]:
        """About ``size`` scores in ascending order, with the sort and the time of each, near enough for a guess."""
        part = RangePart(self._sorts[0], self.laid.runs, no_rows(), no_rows())
        scores, sorts, time = part.labelled_sample(size)
        order = sort_order(scores)
        return scores[order], sorts[order], time[order]

    def blocks(self) -> Iterator[list[tuple[int, SortedScores]]]:
        """The scores of each sort, block by block; a sort may come twice, a negative amount corrects another."""
        labelling, runs = self._sorts[0], self.laid.runs
        for span in blocks(np.diff(runs.offsets), labelling.extents, ROWS_PER_BLOCK, NS_PER_BLOCK):
            laid = lay_block(labelling.block(*span), runs.block(*span))
            yield [*_by_sort(*_whole_runs(laid)), *_by_sort(*_corrections(laid))]


def _whole_runs(laid: LaidBlock) -> tuple[Values, Labels, Int64 | int]:
    """All runs under the sort of their first instant."""
    if not laid.without_time.size:
        return laid.runs.values, laid.labels, laid.durations
    some = np.ones(laid.labels.size, bool)
    some[laid.without_time] = False
    durations = laid.durations if isinstance(laid.durations, int) else laid.durations[some]
    return laid.runs.values[some], laid.labels[some], durations


def _corrections(laid: LaidBlock) -> tuple[Values, Labels, Int64]:
    """Runs that last longer or shorter than others, and the rests that edges hand from one sort to another."""
    rows = np.concatenate((laid.odd, laid.cut, laid.cut))
    sorts = np.concatenate((laid.labels[laid.odd], laid.giver, laid.taker))
    return laid.runs.values[rows], sorts, np.concatenate((laid.odd_by, -laid.rest, laid.rest))


def _by_sort(scores: Values, sorts: Labels, amounts: Int64 | int) -> Iterator[tuple[int, SortedScores]]:
    order = np.argsort(sorts, kind="stable")
    counts = np.bincount(sorts)
    offsets, scores = offsets_of(counts), scores[order]
    amounts = amounts if isinstance(amounts, int) else amounts[order]
    for sort in np.flatnonzero(counts).tolist():
        here = slice(int(offsets[sort]), int(offsets[sort + 1]))
        yield sort, SortedScores.of(scores[here], amounts if isinstance(amounts, int) else amounts[here])

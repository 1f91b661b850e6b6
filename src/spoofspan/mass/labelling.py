"""A labelling: one label for every instant of an utterance.

References say what somebody wrote down; a :class:`Labelling` says what counts::

    references     [ bona fide )  [ spoof )[nonspeech)[ bona fide )
    labelling     |. bona fide .|.|. spoof .|. ignored .|. bona fide .|      gaps=bonafide, nonspeech=ignore
    ends                        e0 e1       e2          e3            e4 = extent

Its runs of one label touch each other and fill [0, extent). What can be done with it: :func:`overwrite` some time,
:func:`cut_at` the edges of ranges, :func:`cut_at_both`. :mod:`spoofspan.mass.label_rules` makes it of references.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import (
    Flags,
    block_rows,
    chosen_ids,
    ends_before,
    offsets_of,
    rows_from,
    rows_of,
    rows_that_end_after,
    sum_by_utterance,
    utterance_of_rows,
)
from spoofspan.base.times import Int64
from spoofspan.data.references import Labels


class TimeAxis:
    """All utterances one after the other, so that a time of any of them is one number.

    Corpora of more than 146 years do not fit onto it; their times are compared utterance by utterance.
    """

    def __init__(self, extents: Int64) -> None:
        self._shift: Int64 | None = None
        if int(extents.sum(dtype=np.float64)) + extents.size < 2**61:
            self._shift = np.concatenate(([0], np.cumsum(extents[:-1] + 1)))

    def order(self, utterance: Int64, time: Int64) -> npt.NDArray[np.intp]:
        """The rows by utterance, then time."""
        if self._shift is None:
            return np.lexsort((time, utterance))
        # rows are mostly in order, or a few such columns one after the other, which this sort merges
        return np.argsort(self._shift[utterance] + time, kind="stable")

    def last_at_or_before(self, utterance: Int64, time: Int64, run_utterance: Int64, run_start: Int64) -> Any:
        """The last of all runs, by utterance and start, that starts no later than each time; -1: none."""
        if self._shift is not None:
            starts = np.sort(self._shift[run_utterance] + run_start)
            return np.searchsorted(starts, self._shift[utterance] + time, side="right") - 1
        # both in one order, runs before times of the same instant: how many runs come before each time
        merged_utterance = np.concatenate((run_utterance, utterance))
        merged_time = np.concatenate((run_start, time))
        is_time = np.arange(merged_time.size) >= run_start.size
        order = np.lexsort((is_time, merged_time, merged_utterance))
        counts = np.empty(order.size, np.int64)
        counts[order] = np.cumsum(~is_time[order])
        return counts[run_start.size :] - 1


# The label of time that counts on neither side; the others are those of references.
IGNORED = 3


@dataclass(frozen=True, eq=False)
class Labelling:
    """Runs of one label that fill [0, extent) of each utterance: run i ends at ``ends[i]``, where run i + 1 starts."""

    utterances: tuple[str, ...]
    extents: Int64
    offsets: Int64
    ends: Int64
    labels: Labels

    @property
    def starts(self) -> Int64:
        """Where each run starts."""
        return ends_before(self.ends, self.offsets)

    def take(self, chosen: Int64) -> Labelling:
        """Keep chosen utterances, in that order."""
        rows, offsets = rows_of(self.offsets, chosen)
        names = chosen_ids(self.utterances, chosen)
        return Labelling(names, self.extents[chosen], offsets, self.ends[rows], self.labels[rows])

    def block(self, first: int, last: int) -> Labelling:
        """The runs of utterances first to last - 1."""
        rows, offsets = block_rows(self.offsets, first, last)
        here = slice(first, last)
        return Labelling(self.utterances[here], self.extents[here], offsets, self.ends[rows], self.labels[rows])

    def without(self, ignored: Flags) -> Labelling:
        """The same labels, but for runs that are ignored."""
        return replace(self, labels=np.where(ignored, np.int8(IGNORED), self.labels))

    def runs_at(self, utterance: Int64, times: Int64) -> Int64:
        """The run in which each time lies; all are before the extent of their utterance."""
        return rows_that_end_after(times, self.ends, self.offsets, utterance)

    def times_of(self, labels: Sequence[int], utterance: Int64, starts: Int64, ends: Int64) -> list[Int64]:
        """The time of some labels in ranges that start before the extent: a column for each label."""
        first = self.runs_at(utterance, starts)
        last = first.copy()
        longer = np.flatnonzero(ends > self.ends[first])  # few of short ranges
        last[longer] = self.runs_at(utterance[longer], ends[longer] - 1)
        offsets = offsets_of(last + 1 - first)
        begins, runs = offsets[:-1], rows_from(first, last + 1 - first)
        run_starts, run_ends = self.ends[runs - 1], self.ends[runs]
        run_starts[begins], run_ends[offsets[1:] - 1] = starts, ends
        return [np.add.reduceat((run_ends - run_starts) * (self.labels[runs] == label), begins) for label in labels]

    def time_of(self, label: int) -> Int64:
        """Sum the time of one label in each utterance."""
        return sum_by_utterance((self.ends - self.starts) * (self.labels == label), self.offsets)


def overwrite(labelling: Labelling, utterance: Int64, starts: Int64, ends: Int64, label: int) -> Labelling:
    """Give the time in these ranges (any order, they may overlap) a label of its own.

    ::

        runs        |     a     |    b    |
        ranges          [ x x x x )
        result      | a |   x    |  b     |
    """
    keep = ends > starts
    cut = cut_at(labelling, utterance[keep], starts[keep], ends[keep])
    return replace(cut.cells, labels=np.where(cut.covered(), np.int8(label), cut.cells.labels))


@dataclass(frozen=True, eq=False)
class CutLabelling:
    """A labelling that is cut at the edges of ranges: range i is made of the cells ``first[i]`` to ``last[i]``."""

    cells: Labelling
    first: Int64
    last: Int64

    def covered(self, ranges: Flags | slice = slice(None)) -> Flags:
        """The cells under any of the chosen ranges: more of these have started than ended."""
        count = self.cells.ends.size + 1
        begun, over = (np.bincount(at[ranges], minlength=count) for at in (self.first, self.last + 1))
        flags: Flags = np.cumsum(begun - over)[:-1] > 0
        return flags


def cut_at(labelling: Labelling, utterance: Int64, starts: Int64, ends: Int64) -> CutLabelling:
    """Cut the runs of a labelling at the edges of ranges (any order, they may overlap), none of which is empty."""
    runs = labelling.ends.size
    edge_utterance = np.concatenate((utterance_of_rows(labelling.offsets), utterance, utterance))
    edge = np.concatenate((labelling.ends, starts, ends))
    order = TimeAxis(labelling.extents).order(edge_utterance, edge)
    in_order_utterance, in_order = edge_utterance[order], edge[order]
    ends_cell = np.ones(edge.size, bool)
    ends_cell[1:] = (in_order_utterance[1:] != in_order_utterance[:-1]) | (in_order[1:] != in_order[:-1])
    ends_cell &= (in_order > 0) | (labelling.extents == 0)[in_order_utterance]  # an empty utterance keeps one
    # the cell that each edge ends; an edge at 0 ends none, and counts as the end of the utterance before
    cell = np.empty(edge.size, np.int64)
    cell[order] = np.cumsum(ends_cell) - 1
    offsets = offsets_of(np.bincount(in_order_utterance[ends_cell], minlength=labelling.extents.size))
    labels = np.repeat(labelling.labels, np.diff(cell[:runs], prepend=-1))
    cells = Labelling(labelling.utterances, labelling.extents, offsets, in_order[ends_cell], labels)
    return CutLabelling(cells, cell[runs : runs + starts.size] + 1, cell[runs + starts.size :])


def cut_at_both(a: Labelling, b: Labelling) -> tuple[Labelling, Labels]:
    """Cut two labellings of the same utterances and extents at the edges of both; returns a's runs and b's labels."""
    cut = cut_at(a, utterance_of_rows(b.offsets), b.starts, b.ends)
    return cut.cells, np.repeat(b.labels, cut.last + 1 - cut.first)

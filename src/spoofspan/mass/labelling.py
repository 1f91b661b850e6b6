"""A labelling: one label for every instant of an utterance.

Runs of one label touch each other and fill [0, extent)::

    runs       |. bona fide .|. spoof .|. ignored .|. bona fide .|
    ends                     e0        e1          e2            e3 = extent

Here is the type and what can be done with it (:func:`overwrite` some time, :func:`cut_at_both`);
:mod:`spoofspan.mass.label_rules` makes one of references.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import ends_before, offsets_of, rows_of, sum_by_utterance, utterance_of_rows
from spoofspan.base.times import Int64
from spoofspan.data.references import Labels

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
        names = tuple(self.utterances[i] for i in chosen.tolist())
        return Labelling(names, self.extents[chosen], offsets, self.ends[rows], self.labels[rows])

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
    count = labelling.extents.size
    keep = ends > starts
    utterance, starts, ends = utterance[keep], starts[keep], ends[keep]
    axis = _Axis(labelling.extents)
    # Cut the runs at the ranges' edges, then find the label of every cell by its first instant.
    run_utterance = utterance_of_rows(labelling.offsets)
    cell_utterance = np.concatenate((run_utterance, utterance, utterance))
    cell_end = np.concatenate((labelling.ends, starts, ends))
    order = axis.order(cell_utterance, cell_end)
    cell_utterance, cell_end = cell_utterance[order], cell_end[order]
    distinct = np.ones(cell_end.size, bool)
    distinct[1:] = (cell_utterance[1:] != cell_utterance[:-1]) | (cell_end[1:] != cell_end[:-1])
    distinct &= cell_end > 0
    cell_utterance, cell_end = cell_utterance[distinct], cell_end[distinct]
    offsets = offsets_of(np.bincount(cell_utterance, minlength=count))
    cells = Labelling(labelling.utterances, labelling.extents, offsets, cell_end, np.empty(0, np.int8))
    cell_start = cells.starts
    labels = labelling.labels[axis.last_at_or_before(cell_utterance, cell_start, run_utterance, labelling.starts)]
    # A cell is covered if more ranges have started than ended at its first instant.
    opened = axis.count_at_or_before(cell_utterance, cell_start, utterance, starts)
    closed = axis.count_at_or_before(cell_utterance, cell_start, utterance, ends)
    labels = np.where(opened > closed, np.int8(label), labels)
    return replace(cells, labels=labels)


def cut_at_both(a: Labelling, b: Labelling) -> tuple[Labelling, Labels]:
    """Cut two labellings of the same utterances and extents at the edges of both; returns a's runs and b's labels."""
    utterance, starts = utterance_of_rows(b.offsets), b.starts
    # an overwrite with a's own labels only cuts
    cells = overwrite(a, utterance, starts, b.ends, IGNORED)
    cell_utterance, cell_start = utterance_of_rows(cells.offsets), cells.starts
    axis = _Axis(a.extents)
    labels_a = a.labels[axis.last_at_or_before(cell_utterance, cell_start, utterance_of_rows(a.offsets), a.starts)]
    labels_b = b.labels[axis.last_at_or_before(cell_utterance, cell_start, utterance, starts)]
    return replace(cells, labels=labels_a), labels_b


class _Axis:
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
        return np.argsort(self._shift[utterance] + time)

    def count_at_or_before(self, utterance: Int64, time: Int64, other_utterance: Int64, other_time: Int64) -> Any:
        """Count, over all utterances up to and including its own, the other times that do not come later."""
        if self._shift is not None:
            others = np.sort(self._shift[other_utterance] + other_time)
            return np.searchsorted(others, self._shift[utterance] + time, side="right")
        merged_utterance = np.concatenate((other_utterance, utterance))
        merged_time = np.concatenate((other_time, time))
        is_query = np.concatenate((np.zeros(other_time.size, bool), np.ones(time.size, bool)))
        order = np.lexsort((is_query, merged_time, merged_utterance))
        seen = np.cumsum(~is_query[order])
        counts = np.empty(order.size, np.int64)
        counts[order] = seen
        return counts[other_time.size :]

    def last_at_or_before(self, utterance: Int64, time: Int64, run_utterance: Int64, run_start: Int64) -> Any:
        """Find the run that each time lies in; runs start at 0, so there always is one in the same utterance."""
        return self.count_at_or_before(utterance, time, run_utterance, run_start) - 1

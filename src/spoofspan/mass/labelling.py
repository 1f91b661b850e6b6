"""A labelling: one label for every instant of an utterance.

References say what somebody wrote down; a :class:`Labelling` says what counts::

    references     [ bona fide )  [ spoof )[nonspeech)[ bona fide )
    labelling     |. bona fide .|.|. spoof .|. ignored .|. bona fide .|      gaps=bonafide, nonspeech=ignore
    ends                        e0 e1       e2          e3            e4 = extent

Its runs of one label touch each other and fill [0, extent). What can be done with it: :func:`overwrite` some time,
:func:`cut_at_both`. :mod:`spoofspan.mass.label_rules` makes it of references.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from spoofspan.base.columns import (
    block_rows,
    chosen_ids,
    ends_before,
    offsets_of,
    rows_of,
    sum_by_utterance,
    utterance_of_rows,
)
from spoofspan.base.times import Int64
from spoofspan.data.references import Labels
from spoofspan.mass.label_guess import LabelGuess
from spoofspan.mass.time_axis import TimeAxis

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

    def guess(self) -> LabelGuess:
        """The labels at a few thousand times, quickly and nearly always right."""
        return LabelGuess(self.extents, self.offsets, self.ends, self.labels)

    @cached_property
    def kept_guess(self) -> LabelGuess:
        """The same for several resolutions: it takes eight bytes for each run and label."""
        return self.guess()

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
    axis = TimeAxis(labelling.extents)
    run_utterance, run_starts = utterance_of_rows(labelling.offsets), labelling.starts
    first, last = (axis.last_at_or_before(utterance, at, run_utterance, run_starts) for at in (starts, ends - 1))
    if np.array_equal(run_starts[first], starts) and np.array_equal(labelling.ends[last], ends):
        # whole runs, as reference ranges are where no rule cut them: nothing to cut
        begun, over = (np.bincount(rows, minlength=labelling.ends.size + 1) for rows in (first, last + 1))
        covered = np.cumsum(begun - over)[:-1] > 0
        return replace(labelling, labels=np.where(covered, np.int8(label), labelling.labels))
    # Cut the runs at the ranges' edges, then find the label of every cell by its first instant.
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
    labels = labelling.labels[axis.last_at_or_before(cell_utterance, cell_start, run_utterance, run_starts)]
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
    axis = TimeAxis(a.extents)
    labels_a = a.labels[axis.last_at_or_before(cell_utterance, cell_start, utterance_of_rows(a.offsets), a.starts)]
    labels_b = b.labels[axis.last_at_or_before(cell_utterance, cell_start, utterance, starts)]
    return replace(cells, labels=labels_a), labels_b

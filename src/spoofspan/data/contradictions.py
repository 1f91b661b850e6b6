"""Contradictions: ranges that give one time two labels (rules 1 and 3 of ``docs/rules.md``).

Text rounds edges, so the end of a range may lie up to ``snap`` after the start of the next, which cuts it. Starts are
rounded once and stay in order::

    bona fide   [-----------)
    spoof                 [---------)          the bona fide range ends where the spoof starts

Where two start together, nothing says which comes first; and a range that ends before the one around it is no next
one. Such ranges are refused, however short they are::

    bona fide   [-----------)                  [--)
    spoof               [-)                    [---)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import utterance_of_rows, within_utterances
from spoofspan.base.times import Int64


@dataclass
class LabelledStretch:
    """Ranges of one label that are one (rule 1), and the time that they cover."""

    label: int
    start: int
    end: int
    rows: list[tuple[int, int, int]] = field(default_factory=list)  # start, end, row

    def row_at(self, time: int) -> int:
        """The first of its ranges that covers an instant."""
        return next(row for start, end, row in self.rows if start <= time < end)


@dataclass(frozen=True)
class Contradiction:
    """Two stretches of different labels that overlap; the one starts first, or together with the other."""

    one: LabelledStretch
    other: LabelledStretch

    @property
    def rows(self) -> tuple[int, int]:
        """A range of each, which overlap."""
        return self.one.row_at(self.other.start), self.other.row_at(self.other.start)

    @property
    def is_within(self) -> bool:
        """True if one lies within the other."""
        return self.one.start == self.other.start or self.other.end <= self.one.end


def contradictions(
    offsets: Int64, starts: Int64, ends: Int64, labels: npt.NDArray[np.int8], snap: int
) -> list[tuple[int, Contradiction]]:
    """Find the contradictions of each utterance, whose ranges are sorted by start, then end; none is empty."""
    over = ends[:-1] - starts[1:]
    overlapping = within_utterances(offsets, over > 0)
    if not overlapping.any():
        return []
    # Almost every utterance has edges that were rounded. Where starts rise and ends do not fall from neighbour to
    # neighbour, and none overlaps the next but one, there are at most overlaps of two, and short ones are fine.
    overlapping &= (over > snap) | (ends[1:] < ends[:-1]) | (starts[1:] == starts[:-1])
    utterance = utterance_of_rows(offsets)
    third = (starts[2:] < ends[:-2]) & (utterance[2:] == utterance[:-2])
    found: list[tuple[int, Contradiction]] = []
    for i in np.unique(np.concatenate((utterance[1:][overlapping], utterance[2:][third]))).tolist():
        first, last = int(offsets[i]), int(offsets[i + 1])
        rows = zip(*(column[first:last].tolist() for column in (starts, ends, labels)), strict=True)
        found += [(i, one) for one in contradictions_among(rows, snap, first)]
    return found


def contradictions_among(rows: Iterable[tuple[int, int, int]], snap: int, first: int = 0) -> Iterator[Contradiction]:
    """Find the contradictions among the ranges (start, end, label) of an utterance, sorted and not empty.

    >>> [(one.rows, one.is_within) for one in contradictions_among([(0, 9, 0), (8, 20, 1), (12, 15, 0)], snap=2)]
    [((1, 2), True)]
    """
    listed = list(rows)
    singles = [
        LabelledStretch(label, start, end, [(start, end, row)]) for row, (start, end, label) in enumerate(listed, first)
    ]
    together = [(a, b) for a, b in pairwise(singles) if a.start == b.start and a.label != b.label]
    if together:  # of lines as they are, before any two are made one
        yield from (Contradiction(a, b) for a, b in together)
        return
    latest: dict[int, LabelledStretch] = {}
    for later in _stretches(listed, first):
        # of every other label only the latest stretch can reach so far
        for earlier in latest.values():
            over = earlier.end - later.start
            if earlier.label == later.label or over <= 0:
                continue
            if over > snap or later.end < earlier.end:
                yield Contradiction(earlier, later)
        latest[later.label] = later


def _stretches(rows: Iterable[tuple[int, int, int]], first: int) -> list[LabelledStretch]:
    """Make one of ranges of a label that overlap, and of neighbours that touch.

    Two that touch with another label between them stay apart: the end of the first may have been rounded.
    """
    latest: dict[int, LabelledStretch] = {}
    stretches: list[LabelledStretch] = []
    for row, (start, end, label) in enumerate(rows, first):
        own = latest.get(label)
        if own is None or start > own.end or (start == own.end and own is not stretches[-1]):
            own = latest[label] = LabelledStretch(label, start, end)
            stretches.append(own)
        own.end = max(own.end, end)
        own.rows.append((start, end, row))
    return stretches

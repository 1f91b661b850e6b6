"""Events: spoofed ranges of a corpus as columns, in order of their start, and how they are united.

::

    spoof ranges   [----)[---)   [------)          u1
                                    [-------)
    united         [---------)   [----------)

Rows ``offsets[i]:offsets[i + 1]`` belong to utterance ``i``; times are int64 nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from spoofspan.base.columns import offsets_of, utterance_of_rows, within_utterances
from spoofspan.base.times import Int64
from spoofspan.data.references import SPOOF, References

Time = TypeVar("Time", int, float)


@dataclass(frozen=True, eq=False)
class Ranges:
    """Ranges without a label; those of an utterance are in order of their start."""

    offsets: Int64
    starts: Int64
    ends: Int64


def spoof_ranges(references: References, *, unite: bool) -> Ranges:
    """Return the spoof ranges of references, as listed, or with those that touch or overlap made one.

    What the source rounded apart (by no more than ``snap``, with nothing between) touches.
    """
    return events_and_heads(references)[0] if unite else _listed(references)[0]


def events_and_heads(references: References) -> tuple[Ranges, Int64]:
    """Return the united spoof ranges, and the first listed spoof range of each."""
    listed, rows = _listed(references)
    return united(listed, np.where(np.diff(rows) == 1, references.snap, 0))


def _listed(references: References) -> tuple[Ranges, Int64]:
    spoof = references.labels == SPOOF
    rows = np.flatnonzero(spoof)
    before = np.concatenate(([0], np.cumsum(spoof)))
    return Ranges(before[references.offsets], references.starts[rows], references.ends[rows]), rows


def snap_matters(references: References, extents: Int64 | None) -> bool:
    """True if ``snap`` unites events, or takes edges inside an utterance to its ends."""
    snapped = spoof_ranges(references, unite=True)
    if snapped.starts.size != spoof_ranges(replace(references, snap=0), unite=True).starts.size:
        return True
    inside = (inner_edges(snapped, extents, snap)[0].size for snap in (references.snap, 0))
    return len(set(inside)) > 1


def ordered(offsets: Int64, starts: Int64, ends: Int64) -> Ranges:
    """Bring ranges into order of their start; empty ones are dropped, for they cover nothing."""
    rows = np.flatnonzero(ends > starts)
    utterance = utterance_of_rows(offsets)[rows]
    order = rows[np.lexsort((ends[rows], starts[rows], utterance))]
    return Ranges(np.searchsorted(rows, offsets), starts[order], ends[order])


def united(ranges: Ranges, gap: int | Int64 = 0) -> tuple[Ranges, Int64]:
    """Make one of ranges that are at most ``gap`` apart (0: they touch or overlap).

    ``gap`` is one for all, or one for each pair of neighbouring rows. Returns the ranges and the first row of each.
    """
    reach = _reach(ranges)
    joined = within_utterances(ranges.offsets, ranges.starts[1:] <= reach[:-1] + gap)
    if not joined.any():
        return ranges, np.arange(ranges.starts.size)
    heads = np.flatnonzero(np.concatenate(([True], ~joined)))[: ranges.starts.size]
    last = np.append(heads[1:], ranges.starts.size) - 1 if heads.size else heads
    return Ranges(np.searchsorted(heads, ranges.offsets), ranges.starts[heads], reach[last]), heads


def ranges_without(
    ranges: Iterable[tuple[Time, Time]], others: Sequence[tuple[Time, Time]]
) -> Iterator[tuple[Time, Time]]:
    """The parts of ranges that lie outside of others; both are in order.

    >>> list(ranges_without([(0, 5), (6, 9)], [(1, 2), (4, 7)]))
    [(0, 1), (2, 4), (7, 9)]
    """
    for start, end in ranges:
        for first, last in others:
            if start < first < end:
                yield start, first
            if first < end:
                start = max(start, last)
        if start < end:
            yield start, end


def _reach(ranges: Ranges) -> Int64:
    """Return the latest end so far in the utterance, at every row."""
    falls = within_utterances(ranges.offsets, ranges.ends[1:] < ranges.ends[:-1])
    if not falls.any():
        return ranges.ends
    # ranks of (utterance, end) rise from utterance to utterance, so one running maximum serves all of them
    by_end = np.lexsort((ranges.ends, utterance_of_rows(ranges.offsets)))
    rank = np.empty(by_end.size, np.int64)
    rank[by_end] = np.arange(by_end.size)
    reach: Int64 = ranges.ends[by_end[np.maximum.accumulate(rank)]]
    return reach


def inner_edges(ranges: Ranges, extents: Int64 | None, snap: int = 0) -> tuple[Int64, Int64]:
    """Return the edges strictly inside (0, extent), in order, and their offsets.

    What misses 0 or the extent by no more than ``snap`` lies there: the source rounded it.
    """
    edges = np.stack((ranges.starts, ranges.ends), axis=1).ravel()
    utterance = np.repeat(utterance_of_rows(ranges.offsets), 2)
    inside = edges > snap
    if extents is not None:
        inside &= edges < extents[utterance] - snap
    counts = np.bincount(utterance[inside], minlength=ranges.offsets.size - 1)
    return edges[inside], offsets_of(counts)

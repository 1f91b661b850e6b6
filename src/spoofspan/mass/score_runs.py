"""Score runs: one score, or none, for every instant of an utterance.

Scores say what a system wrote; score runs are what lies inside [0, extent), in order and without overlap::

    scores          | 0.9 | 0.8 | 0.7 | -0.2 | -0.4 |-0.4 |
    score runs      [ 0.9 | 0.8 | 0.7 | -0.2 | -0.4 )
                    0                             extent

Frames stay arithmetic (:class:`FrameRuns`: no array of times is ever made for 12 million of them); everything else
becomes :class:`RangeRuns`. Both are read in blocks of consecutive utterances (:meth:`FrameRuns.block`,
:meth:`RangeRuns.block`), whose rows and utterances are counted from the block's own first, and whose scores are in bona
fide polarity.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from spoofspan.base.columns import (
    Flags,
    block_rows,
    has_rows,
    kept_offsets,
    last_rows,
    no_rows,
    rows_after,
    rows_from,
    rows_of,
    sum_by_utterance,
    utterance_of_rows,
)
from spoofspan.base.times import Float64, Int64
from spoofspan.data.scores import Higher, Values

# Scores, or a threshold.
Mirrored = TypeVar("Mirrored", float, Float64, Values)


def mirrored(values: Mirrored, higher: str) -> Mirrored:
    """Turn scores, or a threshold, into bona fide polarity, or back: where high means spoof, the sign changes.

    >>> mirrored(0.3, "bonafide"), mirrored(0.3, "spoof"), mirrored(-0.3, "spoof")
    (0.3, -0.3, 0.3)
    """
    return values if higher == "bonafide" else -values


@dataclass(frozen=True, eq=False)
class FrameRuns:
    """Frames of whole nanoseconds: run k is ``[origin + k * hop, origin + (k + 1) * hop)``; the last is cut or held."""

    offsets: Int64
    values: Values
    higher: Higher
    hops: Int64
    origins: Int64
    used: Int64  # runs with time inside the extent; rows after them have none
    last: Int64  # where the last used run ends

    def block(self, first: int, last: int) -> FrameRuns:
        """Return the runs of utterances first to last - 1, in bona fide polarity."""
        rows, offsets = block_rows(self.offsets, first, last)
        columns = (column[first:last] for column in (self.hops, self.origins, self.used, self.last))
        return FrameRuns(offsets, mirrored(self.values[rows], self.higher), "bonafide", *columns)

    def take(self, chosen: Int64) -> FrameRuns:
        """Keep chosen utterances, in that order."""
        rows, offsets = rows_of(self.offsets, chosen)
        columns = (column[chosen] for column in (self.hops, self.origins, self.used, self.last))
        return FrameRuns(offsets, self.values[rows], self.higher, *columns)

    def spans(self, utterance: Int64, rows: Int64) -> tuple[Int64, Int64]:
        """Where single runs start and end, near enough for a sample."""
        hops = self.hops[utterance]
        starts = self.origins[utterance] + (rows - self.offsets[utterance]) * hops
        return starts, starts + hops

    def covered(self) -> Int64:
        """The time under a score in each utterance."""
        return np.where(self.used > 0, self.last - self.origins, 0)

    def cover(self) -> tuple[Int64, Int64, Int64]:
        """The time under a score as (utterance, start, end) of ranges."""
        some = np.flatnonzero(self.used)
        return some, self.origins[some], self.last[some]

    def fill(self, extents: Int64) -> bool:
        """Whether frames of one hop lie from 0 to the extent in each utterance."""
        return self._alike and not self._late and np.array_equal(self.last, extents)

    @cached_property
    def _alike(self) -> bool:
        """Whether all have one hop: dividing by one number takes a fifth of the time of dividing by many."""
        return bool(self.hops.size) and bool((self.hops == self.hops[0]).all())

    @cached_property
    def _late(self) -> bool:
        """Whether any starts after 0: most do not, and looking up where each starts takes as long as to divide."""
        return bool(self.origins.any())

    def _hop_of(self, utterance: Int64) -> Any:
        return self.hops[0] if self._alike else self.hops[utterance]

    def rows_before(self, utterance: Int64, times: Int64) -> Int64:
        """Count the runs of an utterance that start before a time."""
        hop = self._hop_of(utterance)
        whole = np.maximum(-((self.origins[utterance] - times) // hop) if self._late else -(-times // hop), 0)
        rows: Int64 = np.minimum(whole, self.used[utterance], out=whole)
        return rows

    def cut_at(self, offsets: Int64, times: Int64) -> tuple[Int64, Int64]:
        """Return the row after each time, and how much of the row before it lies behind the time.

        The times of an utterance rise; every utterance has at least one, and offsets tell whose they are.
        """
        times_of = np.diff(offsets)
        hop = self.hops[0] if self._alike else np.repeat(self.hops, times_of)
        since = times - np.repeat(self.origins, times_of) if self._late else times
        rows = since + (hop - 1)
        rows //= hop
        rest = rows * hop
        rest -= since
        if self._late:  # nothing lies behind a time before the first run
            begun = rows > 0
            rows *= begun
            rest *= begun
        rows += np.repeat(self.offsets[:-1], times_of)
        # the last used run may be shorter or longer: times in it or behind it are the last ones of their utterance
        stop = self.offsets[:-1] + self.used
        at, utterance = rows_after(stop - 1, rows, offsets)
        rows[at] = stop[utterance]
        rest[at] = np.maximum(self.last[utterance] - times[at], 0) * (self.used[utterance] > 0)
        return rows, rest

    def run_ends(self, utterance: Int64, position: Int64) -> Int64:
        """Where the runs at these positions in their utterances end."""
        ends: Int64 = (position + 1) * self._hop_of(utterance)
        if self._late:
            ends += self.origins[utterance]
        final = np.flatnonzero(position == self.used[utterance] - 1)
        ends[final] = self.last[utterance[final]]
        return ends

    def durations(self) -> tuple[Int64 | int, Int64, Int64]:
        """The hop, and the last used runs, which may be shorter or longer."""
        hops = int(self.hops[0]) if self._alike else np.repeat(self.hops, self.offsets[1:] - self.offsets[:-1])
        difference = self.last - self.origins - self.used * self.hops
        odd = np.flatnonzero((self.used > 0) & (difference != 0))
        return hops, self.offsets[odd] + self.used[odd] - 1, difference[odd]

    def rows_without_time(self) -> Int64:
        """Rows after the last used ones."""
        unused = self.offsets[1:] - self.offsets[:-1] - self.used
        return rows_from(self.offsets[:-1] + self.used, unused) if unused.any() else no_rows()


@dataclass(frozen=True, eq=False)
class RangeRuns:
    """Runs of any length: inside [0, extent), in order, without overlap; there may be gaps between them."""

    offsets: Int64
    values: Values
    higher: Higher
    starts: Int64
    ends: Int64

    def block(self, first: int, last: int) -> RangeRuns:
        """Return the runs of utterances first to last - 1, in bona fide polarity."""
        rows, offsets = block_rows(self.offsets, first, last)
        values = mirrored(self.values[rows], self.higher)
        return RangeRuns(offsets, values, "bonafide", self.starts[rows], self.ends[rows])

    def take(self, chosen: Int64) -> RangeRuns:
        """Keep chosen utterances, in that order."""
        rows, offsets = rows_of(self.offsets, chosen)
        return RangeRuns(offsets, self.values[rows], self.higher, self.starts[rows], self.ends[rows])

    def spans(self, utterance: Int64, rows: Int64) -> tuple[Int64, Int64]:
        """Where single runs start and end."""
        return self.starts[rows], self.ends[rows]

    def covered(self) -> Int64:
        """The time under a score in each utterance."""
        # two sums need no array of differences, and may overflow: their difference is right all the same
        return sum_by_utterance(self.ends, self.offsets) - sum_by_utterance(self.starts, self.offsets)

    def last_ends(self) -> Int64:
        """Where the last run of each utterance ends."""
        last = np.zeros(self.offsets.size - 1, np.int64)
        last[has_rows(self.offsets)] = self.ends[last_rows(self.offsets)]
        return last

    def cover(self) -> tuple[Int64, Int64, Int64]:
        """The time under a score as (utterance, start, end) of ranges."""
        return utterance_of_rows(self.offsets), self.starts, self.ends

    def _axis(self) -> tuple[Int64, Int64, Int64]:
        """One axis for all utterances of a block, where each begins after the last end of the one before.

        Where each utterance begins on it, how far each reaches, and where each run starts; made anew rather than kept,
        as it is as large as the block's own columns.
        """
        reach = np.zeros(self.offsets.size, np.int64)
        reach[1:][has_rows(self.offsets)] = self.ends[last_rows(self.offsets)]
        shift = np.cumsum(reach)[:-1]
        starts = np.repeat(shift, np.diff(self.offsets))
        starts += self.starts
        return shift, reach[1:], starts

    def rows_before(self, utterance: Int64, times: Int64) -> Int64:
        """Count the runs of an utterance that start before a time."""
        shift, reach, starts = self._axis()
        on_axis = shift[utterance] + np.minimum(times, reach[utterance])
        rows: Int64 = np.searchsorted(starts, on_axis) - self.offsets[utterance]
        return rows

    def cut_at(self, offsets: Int64, times: Int64) -> tuple[Int64, Int64]:
        """Return the row after each time, and how much of the row before it lies behind the time; as for frames."""
        utterance = utterance_of_rows(offsets)
        before = self.rows_before(utterance, times)
        some = np.flatnonzero(before)
        rest = np.zeros_like(times)
        rest[some] = np.maximum(self.run_ends(utterance[some], before[some] - 1) - times[some], 0)
        return before + self.offsets[utterance], rest

    def run_ends(self, utterance: Int64, position: Int64) -> Int64:
        """Where the runs at these positions in their utterances end."""
        ends: Int64 = self.ends[self.offsets[utterance] + position]
        return ends

    def durations(self) -> tuple[Int64 | int, Int64, Int64]:
        """Each run has its own."""
        return self.ends - self.starts, no_rows(), no_rows()

    def rows_without_time(self) -> Int64:
        """None: runs lie inside the extent."""
        return no_rows()


def keep_runs(runs: RangeRuns, keep: Flags) -> RangeRuns:
    """Keep some of the runs."""
    if keep.all():
        return runs
    offsets = kept_offsets(runs.offsets, keep)
    return RangeRuns(offsets, runs.values[keep], runs.higher, runs.starts[keep], runs.ends[keep])


ScoreRuns = FrameRuns | RangeRuns

"""How much events and proposals overlap, for a whole corpus at once.

Files with equally many proposals are the lines of a matrix, and every event meets the line of its file::

    starts of file 7     0.1  0.9  1.4        event [0.8, 1.5)
    ends of file 7       0.5  1.6  1.9
    in common           -0.3  0.6  0.1

In doubles, which hold these integers exactly as long as they are below 2**53; longer times take a slower way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import utterance_of_rows
from spoofspan.base.times import Float64, Int64
from spoofspan.measures.events.matching import PAIRS_PER_BLOCK, SURE, Pairs, joined, overlapping_pairs
from spoofspan.measures.events.spoof_ranges import Ranges

Matrix = npt.NDArray[np.float64]
EXACT = 2**53


@dataclass(frozen=True, eq=False)
class Lines:
    """Events whose files have equally many proposals, and these files, line by line."""

    events: Int64 | slice
    line: Int64  # of each event
    starts: Int64
    ends: Int64


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Events against proposals: rows ``offsets[j]:offsets[j + 1]`` of ``starts`` and ``ends`` belong to file j.

    ``where`` says which file belongs to utterance i of the events (-1: none).
    """

    events: Ranges
    offsets: Int64
    starts: Int64
    ends: Int64
    where: Int64

    def reaching(self, iou: Fraction, *, strictly: bool = False) -> Pairs:
        """Find the pairs with this IoU at least, or with more than it (``strictly``)."""
        # IoU >= n/d  <=>  common * (n + d) >= n * (length of the one + length of the other)
        num, both = iou.numerator, iou.numerator + iou.denominator
        if 2 * both * self._latest >= EXACT:
            return self._everything.reaching(iou, strictly=strictly)
        found: list[tuple[Int64, ...]] = []
        groups = 0
        for lines in self._lines():
            groups += 1
            mine = (self.events.ends - self.events.starts)[lines.events] * float(num)
            files, numbers = self._files[lines.events], np.arange(self.events.starts.size)[lines.events]
            for here, common, lengths in self._common(lines):
                common *= both
                lengths *= num
                common -= lengths
                enough = common > mine[here] if strictly else common >= mine[here]
                event, column = np.divmod(np.flatnonzero(enough.T.ravel()), common.shape[0])
                event += here.start
                found.append(self._measured(numbers[event], self.offsets[files[event]] + column))
        pairs = joined(found)
        return pairs.at(np.argsort(pairs.events, kind="stable")) if groups > 1 else pairs

    def found(self, thresholds: list[Fraction], *, strictly: bool = False) -> int:
        """Count the events that some proposal reaches, added up over IoU thresholds."""
        if 4 * self._latest >= EXACT:
            return sum(_events_in(self._everything.reaching(iou, strictly=strictly)) for iou in thresholds)
        total = 0
        for lines in self._lines():
            best = self._best(lines)
            for iou in thresholds:
                bound = float(iou / (1 + iou))
                sure, likely = (int(np.count_nonzero(best > limit)) for limit in (bound + SURE, bound - SURE))
                total += sure
                if likely > sure:
                    near = np.flatnonzero(np.abs(best - bound) <= SURE)
                    some = self._only(np.arange(self.events.starts.size)[lines.events][near])
                    total += _events_in(some.reaching(iou, strictly=strictly))
        return total

    @cached_property
    def _files(self) -> Int64:
        """The file of each event; -1: none."""
        return self.where[utterance_of_rows(self.events.offsets)]

    @cached_property
    def _latest(self) -> int:
        """The largest number among all times."""
        return max(int(self.ends.max(initial=0)), int(self.events.ends.max(initial=0)))

    @cached_property
    def _everything(self) -> Pairs:
        return overlapping_pairs(self.events, self.offsets, self.starts, self.ends, self.where)

    def _only(self, events: Int64) -> Overlaps:
        """Keep some of the events, each as an utterance of its own."""
        ranges = Ranges(np.arange(events.size + 1), self.events.starts[events], self.events.ends[events])
        return Overlaps(ranges, self.offsets, self.starts, self.ends, self._files[events])

    def _lines(self) -> Iterator[Lines]:
        counts = np.diff(self.offsets)
        if counts.size and counts[0] and (counts == counts[0]).all() and (self._files >= 0).all():
            yield Lines(
                slice(None), self._files, self.starts.reshape(counts.size, -1), self.ends.reshape(counts.size, -1)
            )
            return
        of_events = np.where(self._files >= 0, counts[self._files], 0)
        for count in np.unique(of_events[of_events > 0]).tolist():
            events = np.flatnonzero(of_events == count)
            files, line = np.unique(self._files[events], return_inverse=True)
            rows = self.offsets[files][:, None] + np.arange(count)
            yield Lines(events, line, self.starts[rows], self.ends[rows])

    def _common(self, lines: Lines) -> Iterator[tuple[slice, Matrix, Matrix]]:
        """Yield blocks of events, the time that each has in common with its proposals, and how long these are.

        A column of the matrices is an event, so that all of a row is worked on at once (measured: twice as fast).
        """
        height = max(PAIRS_PER_BLOCK // lines.starts.shape[1], 1)
        starts, ends = (column[lines.events].astype(np.float64) for column in (self.events.starts, self.events.ends))
        for low in range(0, lines.line.size, height):
            here = slice(low, low + height)
            start, end = (
                np.take(column, lines.line[here], axis=0).T.astype(np.float64, order="C")
                for column in (lines.starts, lines.ends)
            )
            lengths = end - start
            np.minimum(end, ends[here], out=end)
            np.maximum(start, starts[here], out=start)
            end -= start
            yield here, end, lengths

    def _best(self, lines: Lines) -> Float64:
        """Return, per event, the largest time in common / sum of both lengths, which rises with the IoU."""
        best = np.empty(lines.line.size)
        mine = (self.events.ends - self.events.starts)[lines.events].astype(np.float64)
        for here, common, lengths in self._common(lines):
            lengths += mine[here]
            common /= lengths
            np.max(common, axis=0, out=best[here])
        return best

    def _measured(self, events: Int64, rows: Int64) -> tuple[Int64, Int64, Int64, Int64]:
        """Return pairs with their time in both and in at least one."""
        start, end = self.starts[rows], self.ends[rows]
        event_start, event_end = self.events.starts[events], self.events.ends[events]
        common = np.minimum(end, event_end) - np.maximum(start, event_start)
        return events, rows, common, end - start + (event_end - event_start) - common


def _events_in(pairs: Pairs) -> int:
    """Count the events that are in a pair."""
    return int(np.count_nonzero(np.diff(pairs.events))) + bool(pairs.events.size)

"""Which proposal takes which event: pairs by intersection over union (IoU), and greedy matching.

::

    events          [----------)         [-----)        IoU = time in both / time in at least one
    proposals     [-----------)  [---)  [--------)
    pairs          0 - 0                 1 - 2

IoU is compared exactly: ``intersection * denominator >= union * numerator``, never as a quotient of rounded floats.

Pairs are found for a whole corpus at once. Files with equally many proposals are the lines of a matrix, and every event
meets the line of its file::

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

from spoofspan.base.columns import Flags, blocks, rows_from, utterance_of_rows
from spoofspan.base.times import Float64, Int64
from spoofspan.measures.events.spoof_ranges import Ranges

# Pairs that are looked at together: small enough for the cache (measured: 2**15 to 2**17 are alike, 2**22 takes twice
# as long), large enough to make the calls cheap.
PAIRS_PER_BLOCK = 2**16
# Two quotients of integers below 2**61 that differ by more than this in float64 do differ, in that direction.
SURE = 1e-14
# Doubles hold whole numbers below this exactly.
EXACT = 2**53
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Events and proposals of one utterance that overlap, in order of the event, then of the proposal."""

    events: Int64
    proposals: Int64
    intersections: Int64
    unions: Int64

    def at(self, rows: Int64) -> Pairs:
        """Keep some of the pairs."""
        return Pairs(self.events[rows], self.proposals[rows], self.intersections[rows], self.unions[rows])

    def reaching(self, iou: Fraction, *, strictly: bool = False) -> Pairs:
        """Keep the pairs with this IoU at least, or with more than it (``strictly``)."""
        return self.at(np.flatnonzero(_reaches(self.intersections, self.unions, iou, strictly)))

    def on(self, iou: Fraction) -> Int64:
        """Return the proposals of the pairs with exactly this IoU, each as often as it is in one."""
        both = self.intersections, self.unions, iou
        return self.proposals[_reaches(*both, strictly=False) & ~_reaches(*both, strictly=True)]

    def contested(self, utterances: Int64) -> Flags:
        """Tell which pairs lie in utterances where some proposal is in two pairs; ``utterances`` is each pair's own."""
        often = np.bincount(self.proposals, minlength=1) > 1
        if not often.any():
            return np.zeros(self.proposals.size, bool)
        crowded = np.zeros(int(utterances.max()) + 1, bool)
        crowded[utterances[often[self.proposals]]] = True
        return crowded[utterances]


def _reaches(intersections: Int64, unions: Int64, iou: Fraction, strictly: bool) -> Flags:
    num, den = iou.numerator, iou.denominator
    if intersections.size and int(unions.max()) * den >= 2**63:
        quotient = intersections / unions
        result: Flags = quotient > float(iou)
        near = np.flatnonzero(np.abs(quotient - float(iou)) <= SURE)
        left, right = intersections[near].astype(object) * den, unions[near].astype(object) * num
        result[near] = left > right if strictly else left >= right
        return result
    left, right = intersections * den, unions * num
    return left > right if strictly else left >= right


def joined(found: list[tuple[Int64, ...]]) -> Pairs:
    """Make one of pairs that were found piece by piece."""
    if not found:
        nothing = np.zeros(0, np.int64)
        return Pairs(nothing, nothing, nothing, nothing)
    return Pairs(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def most_confident(pairs: Pairs, confidences: Float64) -> Int64:
    """Return the proposal that takes each event, where no proposal is in two pairs: the most confident.

    Among equals it is the last.
    """
    if not pairs.events.size:
        return pairs.proposals
    confidence = confidences[pairs.proposals]
    heads = np.flatnonzero(np.concatenate(([True], pairs.events[1:] != pairs.events[:-1])))
    counts = np.diff(np.append(heads, pairs.events.size))
    highest = np.flatnonzero(confidence == np.repeat(np.maximum.reduceat(confidence, heads), counts))
    last = np.append(pairs.events[highest][1:] != pairs.events[highest][:-1], True)
    taking: Int64 = pairs.proposals[highest[last]]
    return taking


def greedy_matching(takers: Int64, taken: Int64, ranks: Int64) -> Int64:
    """Return the rows that a greedy matching keeps: by rising rank, each taker gets the first of its wishes still free.

    Rows are wishes, those of a taker next to each other and in order of preference; ``ranks`` is the rank of the row's
    taker, its own in the whole corpus.

    All choose at once: where several want the same, the lowest rank gets it, and whoever is turned down or driven out
    goes on to the next wish. Nobody drives out the lowest rank of all, so it keeps its first wish; nobody but it drives
    out the next one, and so on: the result is that of choosing one by one, in a few rounds.
    """
    count = takers.size
    if not count:
        return np.zeros(0, np.int64)
    starts_here = np.concatenate(([True], takers[1:] != takers[:-1]))
    goes_on = np.append(~starts_here[1:], False)  # the next row is another wish of the same taker
    nobody = np.iinfo(np.int64).max
    best = np.full(int(taken.max()) + 1, nobody)
    holder = np.full(best.size, -1)  # the row that has it
    asking = np.flatnonzero(starts_here)
    while asking.size:
        wanted = taken[asking]
        np.minimum.at(best, wanted, ranks[asking])
        gets = ranks[asking] == best[wanted]
        winners = asking[gets]
        driven_out = holder[taken[winners]]
        holder[taken[winners]] = winners
        turned_down = np.concatenate((asking[~gets], driven_out[driven_out >= 0]))
        asking = turned_down[goes_on[turned_down]] + 1
    return holder[holder >= 0]


def ranks_in_file(offsets: Int64, *keys: Int64 | Float64, needed: Flags) -> Int64:
    """Return the rank of every row among those of its utterance, from 0; the last key decides first.

    Only ``needed`` utterances are looked at. Those with equally many rows are sorted together, as the lines of a matrix
    (measured: ten times faster than sorting the corpus by utterance and key).
    """
    ranks = np.zeros(int(offsets[-1]), np.int64)
    counts = np.where(needed, np.diff(offsets), 0)
    for count in np.unique(counts[counts > 1]).tolist():
        rows = offsets[:-1][counts == count][:, None] + np.arange(count)
        order = np.lexsort(tuple(key[rows] for key in keys), axis=-1)
        ranks[np.take_along_axis(rows, order, axis=1)] = np.arange(count)
    return ranks


def by_falling_iou(pairs: Pairs, *, later_event_first: bool = False) -> Pairs:
    """Order pairs by their proposal, then by falling IoU, exactly; equal IoUs by their event."""
    tie = -pairs.events if later_event_first else pairs.events
    quotient = pairs.intersections / pairs.unions
    order = np.lexsort((tie, -quotient, pairs.proposals))
    proposal, value = pairs.proposals[order], quotient[order]
    # what floats cannot tell apart is compared as fractions, proposal by proposal; it is rare
    near = np.flatnonzero((proposal[1:] == proposal[:-1]) & (np.abs(np.diff(value)) <= SURE))

    def exactly(row: int) -> tuple[Fraction, int]:
        return -Fraction(int(pairs.intersections[row]), int(pairs.unions[row])), int(tie[row])

    for low in np.unique(np.searchsorted(proposal, proposal[near])).tolist():
        high = int(np.searchsorted(proposal, proposal[low], side="right"))
        order[low:high] = sorted(order[low:high].tolist(), key=exactly)
    return pairs.at(order)


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
            return self.pairs.reaching(iou, strictly=strictly)
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
            return sum(_events_in(self.pairs.reaching(iou, strictly=strictly)) for iou in thresholds)
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
    def pairs(self) -> Pairs:
        """Every event and proposal with time in common."""
        first = self.offsets[self._files]
        counts = np.where(self._files >= 0, self.offsets[self._files + 1] - first, 0)
        found: list[tuple[Int64, ...]] = []
        for low, high in blocks(counts, counts, PAIRS_PER_BLOCK, 2**62):
            count = counts[low:high]
            rows = rows_from(first[low:high], count)
            before_end = self.starts[rows] < np.repeat(self.events.ends[low:high], count)
            some = np.flatnonzero(before_end & (self.ends[rows] > np.repeat(self.events.starts[low:high], count)))
            found.append(self._measured(np.repeat(np.arange(low, high), count)[some], rows[some]))
        return joined(found)

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

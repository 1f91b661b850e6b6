"""Which proposal takes which event: pairs by intersection over union (IoU), and greedy matching.

::

    events          [----------)         [-----)        IoU = time in both / time in at least one
    proposals     [-----------)  [---)  [--------)
    pairs          0 - 0                 1 - 2

IoU is compared exactly: ``intersection * denominator >= union * numerator``, never as a quotient of rounded floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from spoofspan.base.columns import Flags, blocks, rows_from, utterance_of_rows
from spoofspan.base.times import Float64, Int64
from spoofspan.measures.events.spoof_ranges import Ranges

# Pairs that are looked at together: small enough for the cache (measured: 2**15 to 2**17 are alike, 2**22 takes twice
# as long), large enough to make the calls cheap.
PAIRS_PER_BLOCK = 2**16
# Two quotients of integers below 2**61 that differ by more than this in float64 do differ, in that direction.
SURE = 1e-14


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
        return _joined([pairs.reaching(iou, strictly=strictly) for pairs in self._blocks()])

    def found(self, thresholds: Sequence[Fraction], *, strictly: bool = False) -> int:
        """Count the events that some proposal reaches, added up over IoU thresholds."""
        if not thresholds:
            return 0
        pairs = self.reaching(min(thresholds), strictly=strictly)
        total = 0
        for iou in sorted(thresholds):  # ever fewer pairs
            pairs = pairs.reaching(iou, strictly=strictly)
            total += int(np.count_nonzero(np.diff(pairs.events, prepend=-1)))
        return total

    @cached_property
    def pairs(self) -> Pairs:
        """Every event and proposal with time in common."""
        return _joined(list(self._blocks()))

    def _blocks(self) -> Iterator[Pairs]:
        """All pairs, those of some events at a time."""
        files = self.where[utterance_of_rows(self.events.offsets)]
        first = self.offsets[files]
        counts = np.where(files >= 0, self.offsets[files + 1] - first, 0)
        for low, high in blocks(counts, counts, PAIRS_PER_BLOCK, 2**62):
            count = counts[low:high]
            rows, events = rows_from(first[low:high], count), np.repeat(np.arange(low, high), count)
            start, end = self.starts[rows], self.ends[rows]
            event_start, event_end = self.events.starts[events], self.events.ends[events]
            common = np.minimum(end, event_end) - np.maximum(start, event_start)
            union = end - start + (event_end - event_start) - common
            yield Pairs(events, rows, common, union).at(np.flatnonzero(common > 0))


def _joined(pieces: Sequence[Pairs]) -> Pairs:
    """Make one of pairs that were found piece by piece."""
    if not pieces:
        nothing = np.zeros(0, np.int64)
        return Pairs(nothing, nothing, nothing, nothing)
    return Pairs(*(np.concatenate(columns) for columns in zip(*(vars(one).values() for one in pieces), strict=True)))

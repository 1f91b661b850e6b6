"""Matching of proposals and events by intersection over union (IoU); AP and AR.

::

    events          [----------)         [-----)        IoU = time in both / time in at least one
    proposals     [-----------)  [---)  [--------)
    pairs          0 - 0                 1 - 2

IoU is compared exactly: ``intersection * denominator >= union * numerator``, never as a quotient of rounded floats.
Proposals are matched with events by confidence, under the rules of a variant (``docs/measures.md`` compares them).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np

from spoofspan.base.columns import (
    Flags,
    blocks,
    first_of_equals,
    last_of_equals,
    positions,
    rows_from,
    rows_of,
    utterance_of_rows,
)
from spoofspan.base.errors import UndefinedMeasureError, UsageError, nearest_name
from spoofspan.base.times import Float64, Int64, exact_sum
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.measures.events.spoof_ranges import Ranges, spoof_ranges

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
    heads = np.flatnonzero(first_of_equals(pairs.events))
    counts = np.diff(np.append(heads, pairs.events.size))
    highest = np.flatnonzero(confidence == np.repeat(np.maximum.reduceat(confidence, heads), counts))
    taking: Int64 = pairs.proposals[highest[last_of_equals(pairs.events[highest])]]
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
    starts_here = first_of_equals(takers)
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
    # quotients that floats cannot tell apart are compared as fractions, proposal by proposal; they are rare
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


Variant = Literal["spoofspan", "avdeepfake1m", "activitynet"]
VARIANTS: tuple[Variant, ...] = ("spoofspan", "avdeepfake1m", "activitynet")
# Quotients are summed with so many binary places.
PLACES = 128


@dataclass(frozen=True, eq=False)
class RankedMatching:
    """Events and proposals of a corpus, matched by the rules of a variant; its AP and AR."""

    variant: Variant
    events: Ranges
    where: Int64  # utterance of the references -> utterance of the proposals, -1 where there is none
    offsets: Int64  # of the proposals
    confidences: Float64
    starts: Int64
    ends: Int64

    @classmethod
    def of(cls, references: References, proposals: Proposals, variant: Variant) -> RankedMatching:
        """The matching of a corpus by the rules of a variant."""
        if variant not in VARIANTS:
            raise UsageError(f"no variant {variant!r}: {nearest_name(variant, VARIANTS)}")
        events = spoof_ranges(references, unite=variant == "spoofspan")
        where = positions(references.utterances, proposals.utterances)
        columns = proposals.offsets, proposals.confidences, proposals.starts, proposals.ends
        return cls(variant, events, where, *columns)

    def refuse_nothing(self, what: str) -> None:
        """Refuse to measure where there is nothing to find, or nothing that was found."""
        refuse_nothing(self.events.starts.size, self.counted, what)

    def average_precision(self, iou: Fraction) -> float:
        """AP at an IoU threshold, the float nearest to the exact value."""
        lost = self.variant == "avdeepfake1m"  # its curve starts at the first proposal, not at recall 0
        return area_of_steps(*self._steps(self.matched(iou)), self.events.starts.size, first_lost=lost)

    def found(self, n: int, thresholds: list[Fraction]) -> int:
        """The events that the first proposals of each file recall, summed over IoU thresholds."""
        first = self._only_first(n)
        # In the published variants one proposal may recall several events. From 1/2 on none can, if they are united.
        one_to_one = [iou for iou in thresholds if self.variant == "spoofspan" and iou < Fraction(1, 2)]
        others = [iou for iou in thresholds if iou not in one_to_one]
        found = sum(first.matched(iou).size for iou in one_to_one)
        return found + first._overlaps.found(others, strictly=self.variant == "avdeepfake1m")

    def average_recall(self, n: int, thresholds: list[Fraction]) -> float:
        """The mean over IoU thresholds of the recall of the first proposals of each file."""
        return float(Fraction(self.found(n, thresholds), len(thresholds) * self.events.starts.size))

    def matched(self, iou: Fraction) -> Int64:
        """Return the proposals that take an event."""
        pairs = self._overlaps.reaching(iou, strictly=self.variant == "avdeepfake1m")
        if self.variant == "avdeepfake1m":
            # events choose, in order of their start: the first proposal in the file that is free
            return pairs.proposals[greedy_matching(pairs.events, pairs.proposals, pairs.events)]
        # Nobody is in another's way in most utterances, and in none if events are united and the IoU is at least 1/2.
        if self.variant == "spoofspan" and iou >= Fraction(1, 2):
            return most_confident(pairs, self.confidences)
        contested = pairs.contested(self._utterances[pairs.events])
        alone = most_confident(pairs.at(np.flatnonzero(~contested)), self.confidences)
        if not contested.any():
            return alone
        rest = by_falling_iou(pairs.at(np.flatnonzero(contested)), later_event_first=self.variant == "activitynet")
        chosen = greedy_matching(rest.proposals, rest.events, self._ranks(rest.proposals))
        return np.concatenate((alone, rest.proposals[chosen]))

    def matched_pairs(self, iou: Fraction) -> Pairs:
        """Return the pairs of an event and the proposal that takes it, by our own rules."""
        wishes = by_falling_iou(self._overlaps.reaching(iou))
        if not wishes.events.size:
            return wishes
        return wishes.at(greedy_matching(wishes.proposals, wishes.events, self._ranks(wishes.proposals)))

    def pairs_on(self, thresholds: Sequence[Fraction], n: int | None = None) -> int:
        """Count the pairs whose IoU is exactly one of the thresholds; of all proposals, or of those of AR@n.

        Here a rule decides these; in code that computes in floats, rounding does.
        """
        pairs = self._overlaps.reaching(min(thresholds))
        proposals = np.concatenate([pairs.on(iou) for iou in thresholds])
        first = None if n is None or not proposals.size else self._first_rows(n)
        return int(proposals.size if first is None else np.isin(proposals, first).sum())

    @cached_property
    def counted(self) -> int:
        """Number of proposals that count."""
        return int(self._confidences.size)

    @cached_property
    def _overlaps(self) -> Overlaps:
        return Overlaps(self.events, self.offsets, self.starts, self.ends, self.where)

    @cached_property
    def _utterances(self) -> Int64:
        """The utterance of each event."""
        return utterance_of_rows(self.events.offsets)

    def _ranks(self, rows: Int64) -> Int64:
        """Rank proposals (rows of a column that is sorted, some of them several times) as the variant takes them."""
        heads = first_of_equals(rows)
        row = rows[heads]
        ranks = np.empty(row.size, np.int64)
        ranks[np.lexsort((*self._ties(row), -self.confidences[row]))] = np.arange(row.size)
        of_rows: Int64 = ranks[np.cumsum(heads) - 1]
        return of_rows

    def _ties(self, rows: Int64 | slice) -> tuple[Int64, ...]:
        """Sort keys of equal confidences, the last first; by time, so that the order of rows does not matter."""
        if self.variant == "activitynet":
            return (-np.arange(self.starts.size)[rows],)
        return self.ends[rows], self.starts[rows]

    def _only_first(self, n: int) -> RankedMatching:
        """Keep the proposals of each file that AR@n takes."""
        rows = self._first_rows(n)
        if rows is None:
            return self
        offsets = np.searchsorted(rows, self.offsets)
        columns = self.confidences[rows], self.starts[rows], self.ends[rows]
        return RankedMatching(self.variant, self.events, self.where, offsets, *columns)

    def _first_rows(self, n: int) -> Int64 | None:
        """The proposals of each file that AR@n takes; None if it takes all."""
        if n not in self._latest_rows:
            self._latest_rows.clear()
            self._latest_rows[n] = self._find_first_rows(n)
        return self._latest_rows[n]

    @cached_property
    def _latest_rows(self) -> dict[int, Int64 | None]:
        """The rows of the latest AR@n; they are needed twice."""
        return {}

    def _find_first_rows(self, n: int) -> Int64 | None:
        counts = np.diff(self.offsets)
        n = min(n, int(counts.max(initial=1)))  # more changes nothing
        limit = np.full(counts.size, n)
        if self.variant == "activitynet":
            here = self.where >= 0
            limit[self.where[here]] = n * np.maximum(np.diff(self.events.offsets)[here], 1)
        if (counts <= limit).all():
            return None
        if self.variant == "avdeepfake1m":
            kept = np.arange(self.starts.size) - np.repeat(self.offsets[:-1], counts) < n
        else:
            ranks = ranks_in_file(self.offsets, *self._ties(slice(None)), -self.confidences, needed=counts > limit)
            kept = ranks < np.repeat(limit, counts)
        return np.flatnonzero(kept)  # faster than to choose by flags three times

    @cached_property
    def _order(self) -> Int64 | slice:
        """The proposals that count, in the order that decides among equal confidences."""
        if self.variant == "avdeepfake1m":
            return rows_of(self.offsets, self.where[self.where >= 0])[0]
        return slice(None, None, -1 if self.variant == "activitynet" else None)

    @cached_property
    def _confidences(self) -> Float64:
        """The confidences of the proposals that count, in that order."""
        return self.confidences[self._order]

    @cached_property
    def sorted_confidences(self) -> Float64:
        """The confidences of the proposals that count, rising."""
        return np.sort(self._confidences)

    def _steps(self, matched: Int64) -> tuple[Int64, Int64]:
        """Return, for each step of recall, how many events are matched and how many proposals taken by then."""
        if self.variant == "spoofspan":
            return steps_of(self.sorted_confidences, self.confidences[matched])
        count = self.counted
        confidence, at_least, true = _ranks(self.sorted_confidences, self.confidences[matched])
        more = count - np.searchsorted(self.sorted_confidences, confidence, side="right")
        if (at_least - more > 1).any():  # equal confidences are steps of their own, in the order of the rows
            position = np.empty(self.confidences.size, np.int64)
            order = np.arange(position.size)[self._order]
            position[order[np.argsort(-self._confidences, kind="stable")]] = np.arange(count)
            more = np.sort(position[matched])
        return true, more + 1


def steps_of(rising: Float64, matched: Float64) -> tuple[Int64, Int64]:
    """The steps of recall of proposals with these confidences; equal ones are one step."""
    confidence, taken, true = _ranks(rising, matched)
    last = last_of_equals(confidence)
    return true[last], taken[last]


def _ranks(rising: Float64, matched: Float64) -> tuple[Float64, Int64, Int64]:
    """Falling confidences of matched proposals; numbers of proposals, and of matched ones, with at least each."""
    # sorting values is four times faster than sorting positions, so only the matched ones are looked up
    confidence = np.sort(matched)[::-1]
    at_least = rising.size - np.searchsorted(rising, confidence, side="left")
    return confidence, at_least, np.arange(1, matched.size + 1)


def area_of_steps(true: Int64, taken: Int64, events: int, *, first_lost: bool = False) -> float:
    """AP of steps of recall: how many events are matched and how many proposals taken by each of them."""
    if not true.size:
        return 0.0
    gains = np.diff(true, prepend=0)
    if first_lost and taken[0] == 1:
        gains[0] = 0
    # The best later precision only changes at a few steps. Quotients of counts below 2**26 are equal as floats only
    # if they are equal, so floats find those steps.
    precision = (true / taken)[::-1]
    best = np.maximum.accumulate(precision)
    levels = np.flatnonzero(np.concatenate(([True], best[1:] > best[:-1])))
    gained = np.add.reduceat(gains[::-1], levels)
    return float(sum_of_quotients(gained * true[::-1][levels], taken[::-1][levels]) / events)


def sum_of_quotients(dividends: Int64, divisors: Int64) -> Fraction:
    """Add up quotients of integers (divisors below 2**61) to ``PLACES`` binary places, far more than a float keeps.

    >>> float(sum_of_quotients(np.array([1, 2, 7]), np.array([3, 3, 2])))
    4.5
    """
    places = 63 - int(divisors.max(initial=1)).bit_length()  # that a remainder can be moved up without an overflow
    total, rest = Fraction(0), dividends
    for done in range(0, PLACES + places, places):
        whole, rest = np.divmod(rest, divisors)
        total += Fraction(exact_sum(whole), 1 << done)
        rest <<= places
    return total


def refuse_nothing(events: int, predicted: int, what: str) -> None:
    """Refuse to measure where there is nothing to find, or nothing that was found."""
    if not events:
        raise UndefinedMeasureError(f"{what} needs spoofed ranges, and the references have none; check their labels")
    if not predicted:
        raise UndefinedMeasureError(
            f"{what} needs proposals, and there is none for these references; check the ids, or move the threshold"
        )


def exact_iou(iou: float, variant: Variant = "spoofspan") -> Fraction:
    """Read a threshold as the decimal that it is written as: 0.55 is 11/20."""
    try:
        exact = Fraction(str(iou))
    except ValueError:
        raise UsageError(f"the IoU threshold must be a number, not {iou!r}") from None
    if not 0 < exact <= 1:
        raise UsageError(f"the IoU threshold must be above 0 and at most 1, not {iou!r}")
    if exact == 1 and variant == "avdeepfake1m":
        raise UsageError("variant 'avdeepfake1m' needs an IoU above the threshold, and none is above 1; lower it")
    return exact


def exact_ious(ious: float | str, variant: Variant = "spoofspan") -> list[Fraction]:
    """Read one threshold, or several spelled start:step:stop.

    >>> exact_ious("0.5:0.25:0.95")
    [Fraction(1, 2), Fraction(3, 4)]
    """
    if not isinstance(ious, str):
        return [exact_iou(ious, variant)]
    start, step, stop = map(Fraction, ious.split(":"))
    return [exact_iou(float(start + k * step), variant) for k in range(int((stop - start) / step) + 1)]

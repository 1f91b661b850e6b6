"""Event measures by collars and by intersection: F1 and its like at one threshold or the best one, and the PSDS.

A range finds an event by one of two criteria.

**Collars** (Mesaros et al., 2016). A range finds an event if it begins within ``onset`` of where the event begins, and
ends within ``max(offset, rate * length of the event)`` of where it ends. Ranges and events are matched one-to-one, as
many as possible; the rest of the ranges are false.

**Intersection** (Bilen et al., 2020). A range of which at least the share ``dtc`` is spoofed is relevant, any other is
false. An event is found if the relevant ranges have at least the share ``gtc`` of it in common with it.

Both are exact: times are integers of nanoseconds, shares are decimals. On the limit counts. With the events that are
found, the ranges that are false, and all events that are expected::

    precision = found / (found + false)      recall = found / expected
    F1 = 2 found / (found + false + expected)
    error rate = (false + expected - found) / expected

**PSDS** (Bilen et al., 2020) for one class, without cross-triggers: let TPR(x) be the highest recall of the thresholds
with at most x false ranges in an hour. Then PSDS is the mean of TPR over x from 0 to ``max_efpr``.

**All thresholds.** As ever more time is called spoof, ranges appear, grow and become one::

    scores            1   4   2   5   3
    5 and more                    [---)            one range
    4 and more            [---)   [---)            a second one appears
    3 and more            [---)   [-------)        it grows
    2 and more            [---------------)        both become one

As the threshold falls from score to score, one score's time is called spoof after the other. Each time at most two
ranges give way to one, so what they find is all that has to be counted anew. Files change independently of each other:
their changes are sorted by score and added up, which gives the counts of the corpus at every threshold, exactly.
(J. Ebbers, R. Serizel, R. Haeb-Umbach: Threshold-Independent Evaluation of Sound Event Detection Scores, ICASSP 2022,
has the idea of change points.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import first_of_equals, positions
from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.base.times import Float64, Int64, duration_ns, exact_sum
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.mass.score_runs import ScoreRuns
from spoofspan.measures.events.event_scores import EventCorpus, extents_of
from spoofspan.measures.events.proposals_from_scores import spans_of_runs
from spoofspan.measures.events.spoof_ranges import spoof_ranges
from spoofspan.measures.events.tallies import EventValue, Sums, Tally
from spoofspan.measures.measure import Measure

Span = tuple[int, int]


class EventCount(Protocol):
    """The events of one utterance, and how many of them the ranges so far find."""

    @property
    def found(self) -> int:
        """Number of events found."""

    @property
    def false(self) -> int:
        """Number of false ranges."""

    def add(self, span: Span) -> None:
        """Count a range."""

    def remove(self, span: Span) -> None:
        """Count a range no longer."""


Criterion = Callable[[Sequence[Span]], EventCount]


def collar_criterion(onset: float, offset: float, rate: float) -> Criterion:
    """The criterion of collars, in seconds and as a share of the event."""
    begin, end = duration_ns(onset, "onset"), duration_ns(offset, "offset")
    return lambda events: CollarCount(events, begin, end, Fraction(str(rate)))


def intersection_criterion(dtc: float, gtc: float) -> Criterion:
    """The criterion of intersection, by shares."""
    return lambda events: IntersectionCount(events, Fraction(str(dtc)), Fraction(str(gtc)))


class CollarCount:
    """Events found within collars."""

    def __init__(self, events: Sequence[Span], onset: int, offset: int, rate: Fraction) -> None:
        # differences are whole nanoseconds, so that the share may be rounded down
        self._events = [
            (start, end, max(offset, (end - start) * rate.numerator // rate.denominator)) for start, end in events
        ]
        self._onset = onset
        self._ranges = 0
        self._wishes: dict[Span, list[list[int]]] = {}  # of ranges that find some event; equal ranges are several
        self._found: int | None = 0

    @property
    def found(self) -> int:
        """Number of events found."""
        if self._found is None:
            self._found = largest_matching([wishes for equal in self._wishes.values() for wishes in equal])
        return self._found

    @property
    def false(self) -> int:
        """Number of false ranges."""
        return self._ranges - self.found

    def add(self, span: Span) -> None:
        """Count a range."""
        self._ranges += 1
        start, end = span
        wishes = [
            number
            for number, (event_start, event_end, reach) in enumerate(self._events)
            if abs(start - event_start) <= self._onset and abs(end - event_end) <= reach
        ]
        if wishes:
            self._wishes.setdefault(span, []).append(wishes)
            self._found = None

    def remove(self, span: Span) -> None:
        """Count a range no longer."""
        self._ranges -= 1
        if span in self._wishes:
            self._wishes[span].pop()
            if not self._wishes[span]:
                del self._wishes[span]
            self._found = None


class IntersectionCount:
    """Events found by intersection."""

    def __init__(self, events: Sequence[Span], dtc: Fraction, gtc: Fraction) -> None:
        self._events, self._dtc, self._gtc = events, dtc, gtc
        self._covered = [0] * len(events)
        self.found = self.false = 0

    def add(self, span: Span) -> None:
        """Count a range."""
        self._change(span, 1)

    def remove(self, span: Span) -> None:
        """Count a range no longer."""
        self._change(span, -1)

    def _change(self, span: Span, sign: int) -> None:
        start, end = span
        common = [
            (number, min(end, event_end) - max(start, event_start))
            for number, (event_start, event_end) in enumerate(self._events)
            if start < event_end and event_start < end
        ]
        if not _reaches(sum(time for _, time in common), end - start, self._dtc):
            self.false += sign
            return
        for number, time in common:
            self.found -= self._is_found(number)
            self._covered[number] += sign * time
            self.found += self._is_found(number)

    def _is_found(self, number: int) -> bool:
        start, end = self._events[number]
        return _reaches(self._covered[number], end - start, self._gtc)


def _reaches(time: int, whole: int, share: Fraction) -> bool:
    return time * share.denominator >= whole * share.numerator


def largest_matching(wishes: Sequence[Sequence[int]]) -> int:
    """Number of can that have one of their wishes, none of which is given twice (augmenting paths).

    >>> largest_matching([[0], [0, 1], [1]])
    2
    """
    holder: dict[int, int] = {}

    def gets_one(taker: int, tried: set[int]) -> bool:
        for wish in wishes[taker]:
            if wish not in tried:
                tried.add(wish)
                if wish not in holder or gets_one(holder[wish], tried):
                    holder[wish] = taker
                    return True
        return False

    return sum(gets_one(taker, set()) for taker in range(len(wishes)))


Change = tuple[float, int, int, int]  # score; events found, ranges false and ranges more than before
COUNTS = ("found", "false", "ranges")
ROW = np.dtype([("score", "<f8"), *((name, "<i4") for name in COUNTS)])
ROWS_PER_PIECE = 1 << 16


@dataclass(frozen=True)
class Spans:
    """Scored time of one file, in order: scores rise towards spoof. Proposals may overlap, scores do not."""

    events: list[Span]
    starts: Int64
    ends: Int64
    scores: Float64


@dataclass(frozen=True, eq=False)
class Changes:
    """The changes of some files, added up: rows by falling score, each score once."""

    levels: Float64  # scores with the other sign, so that they rise: a file of them can be searched
    more: Int64  # three columns: events found, ranges false and ranges more than before

    @classmethod
    def of(cls, changes: Iterable[Change]) -> Changes:
        """Add up the changes of files."""
        rows = np.fromiter(changes, ROW)
        rows = rows[np.argsort(-rows["score"], kind="stable")]
        levels = 0.0 - rows["score"]
        heads = np.flatnonzero(first_of_equals(levels))
        columns = [rows[name].astype(np.int64) for name in COUNTS]
        more = [np.add.reduceat(column, heads) if heads.size else heads for column in columns]
        return cls(levels[heads], np.stack(more, axis=1))


@dataclass(frozen=True, eq=False)
class EventCurve:
    """Events found and ranges false if scores from ``thresholds[k]`` on (in spoof polarity) are called spoof.

    Thresholds fall. Of a long curve this is a piece.
    """

    thresholds: Float64
    found: Int64
    false: Int64
    predicted: Int64

    def best_f1(self, expected: int) -> tuple[Fraction, int]:
        """The highest F1 of all thresholds, exactly, and its place: the highest threshold that has it."""
        above, below = 2 * self.found, self.found + self.false + expected
        ratios = above / below
        near = np.flatnonzero(ratios >= ratios.max() * (1 - 1e-12))
        values = [Fraction(int(above[k]), int(below[k])) for k in near.tolist()]
        best = max(values)
        return best, int(near[values.index(best)])


@dataclass(frozen=True)
class BestF1:
    """The threshold of the highest F1: what is found and false there, and the next lower threshold."""

    value: Fraction
    found: int
    false: int
    predicted: int
    lower: float | None  # None where it is not known yet


def curve_of(parts: Sequence[Changes]) -> Iterator[EventCurve]:
    """The curve of all changes, piece by piece; it begins at an infinite threshold, where nothing is called spoof."""
    totals = np.zeros(3, np.int64)
    yield EventCurve(np.array([np.inf]), *totals[:, None])
    for piece in _pieces(parts):
        counts = totals + np.cumsum(piece.more, axis=0)
        yield EventCurve(0.0 - piece.levels, *counts.T)
        totals = counts[-1]


def _pieces(parts: Sequence[Changes]) -> Iterator[Changes]:
    """Changes of several parts, added up; of each part only what lies between two levels is looked at together."""
    edges = np.unique(np.concatenate([part.levels[::ROWS_PER_PIECE] for part in parts]))
    done = [0] * len(parts)
    for edge in (*edges[1:].tolist(), None):
        ends = [part.levels.size if edge is None else int(np.searchsorted(part.levels, edge)) for part in parts]
        spans = [(part, slice(*span)) for part, *span in zip(parts, done, ends, strict=True)]
        levels, rows = np.unique(np.concatenate([part.levels[span] for part, span in spans]), return_inverse=True)
        more = np.zeros((levels.size, 3), np.int64)
        np.add.at(more, rows, np.concatenate([part.more[span] for part, span in spans]))
        if levels.size:
            yield Changes(levels, more)
        done = ends


def best_f1(pieces: Iterable[EventCurve], expected: int) -> BestF1:
    """Highest F1 of a curve, at the highest threshold that has it."""
    best = BestF1(Fraction(-1), 0, 0, 0, math.inf)
    for piece in pieces:
        if best.lower is None:
            best = replace(best, lower=float(piece.thresholds[0]))
        value, place = piece.best_f1(expected)
        if value > best.value:
            found, false, predicted = (int(column[place]) for column in (piece.found, piece.false, piece.predicted))
            lower = float(piece.thresholds[place + 1]) if place + 1 < piece.thresholds.size else None
            best = BestF1(value, found, false, predicted, lower)
    return best


def area_under(pieces: Iterable[EventCurve], expected: int, hours: Fraction, most: Fraction) -> Fraction:
    """The area under found events over false ranges per hour, up to ``most`` and as its share.

    At each number of false ranges the most events count that are found with no more of them.
    """
    limit = most * hours  # as a number of false ranges
    whole = limit.numerator // limit.denominator
    most_found = np.zeros(0, np.int64)  # by the number of false ranges
    for piece in pieces:
        rows = np.flatnonzero(piece.false <= whole)
        false = piece.false[rows]
        missing = max(int(false.max(initial=-1)) + 1 - most_found.size, 0)
        most_found = np.append(most_found, np.zeros(missing, np.int64))
        np.maximum.at(most_found, false, piece.found[rows])
    height = np.maximum.accumulate(most_found)
    steps = np.flatnonzero(np.diff(height, prepend=0))
    area, before, here = Fraction(0), 0, 0
    for place in steps.tolist():
        area, before, here = area + (place - before) * here, place, int(height[place])
    return (area + (limit - before) * here) / limit / expected


def falling_threshold(spans: Spans, criterion: Criterion) -> Iterator[Change]:
    """The changes of a file as its scores are called spoof, from the highest on; touching time is one range."""
    merged = _equal_neighbours_joined(spans)
    if not spans.events:
        yield from _ranges_alone(merged)
        return
    count, starts, ends = criterion(spans.events), merged.starts.tolist(), merged.ends.tolist()
    size = len(starts)
    touches = [False, *(starts[k] == ends[k - 1] for k in range(1, size)), False]
    first, last = [-1] * size, [-1] * size  # of the range that a called score begins or ends
    ranges = 0
    for score, rows in _from_the_highest(merged.scores):
        before = count.found, count.false, ranges
        for row in rows:
            low = high = row
            if touches[row] and first[row - 1] >= 0:
                low = first[row - 1]
                count.remove((starts[low], ends[row - 1]))
                ranges -= 1
            if touches[row + 1] and last[row + 1] >= 0:
                high = last[row + 1]
                count.remove((starts[row + 1], ends[high]))
                ranges -= 1
            count.add((starts[low], ends[high]))
            ranges += 1
            # inside of a range nobody looks them up again
            first[row], last[row] = low, high
            first[high], last[low] = low, high
        after = count.found, count.false, ranges
        if after != before:
            yield score, after[0] - before[0], after[1] - before[1], after[2] - before[2]


def falling_confidence(spans: Spans, criterion: Criterion) -> Iterator[Change]:
    """The changes of a file as its proposals are taken, from the most confident on; they stay as they are."""
    count: EventCount = criterion(spans.events)
    starts, ends = spans.starts.tolist(), spans.ends.tolist()
    for confidence, rows in _from_the_highest(spans.scores):
        found, false = count.found, count.false
        for row in rows:
            count.add((starts[row], ends[row]))
        yield confidence, count.found - found, count.false - false, len(rows)


def _from_the_highest(scores: Float64) -> Iterator[tuple[float, list[int]]]:
    """Falling scores, and the rows of each."""
    order = np.argsort(-scores, kind="stable")
    in_order = scores[order]
    heads = np.flatnonzero(first_of_equals(in_order)).tolist()
    rows, levels = order.tolist(), in_order.tolist()
    for head, end in pairwise((*heads, len(rows))):
        yield levels[head], rows[head:end]


def _equal_neighbours_joined(spans: Spans) -> Spans:
    """Touching time with one score, made one."""
    new = np.ones(spans.scores.size, bool)
    new[1:] = (spans.scores[1:] != spans.scores[:-1]) | (spans.starts[1:] != spans.ends[:-1])
    heads = np.flatnonzero(new)
    last = np.append(heads[1:], new.size) - 1 if heads.size else heads
    return Spans(spans.events, spans.starts[heads], spans.ends[last], spans.scores[heads])


def _ranges_alone(spans: Spans) -> Iterator[Change]:
    """The changes of a file without events: a range appears at each local maximum, two become one at each minimum."""
    touches = spans.starts[1:] == spans.ends[:-1]
    higher_left = np.append(False, touches & (spans.scores[1:] < spans.scores[:-1]))
    higher_right = np.append(touches & (spans.scores[:-1] < spans.scores[1:]), False)
    more = 1 - higher_left.astype(np.int64) - higher_right
    some = np.flatnonzero(more)
    for score, ranges in zip(spans.scores[some].tolist(), more[some].tolist(), strict=True):
        yield score, 0, ranges, ranges


def smoothed(scores: Float64, frames: int) -> Float64:
    """The running median, the first and the last score repeated beyond the ends: as smoothing decisions does.

    >>> smoothed(np.array([0.0, 9.0, 1.0, 2.0]), 3).tolist()
    [0.0, 1.0, 2.0, 2.0]
    """
    if not scores.size:
        return scores
    windows: npt.NDArray[np.float64] = np.lib.stride_tricks.sliding_window_view(
        np.pad(scores, frames // 2, mode="edge"), frames
    )
    return np.median(windows, axis=1)


HOUR = 3600 * 10**9  # ns


class ScoredCorpus(EventCorpus):
    """References and scores to which the rules have been applied; proposals are those of every threshold."""

    scored = True

    def __init__(
        self, references: References, utterances: tuple[str, ...], runs: ScoreRuns, smoothing: int | None
    ) -> None:
        super().__init__(references, Proposals.nothing(utterances))
        self.runs, self.smoothing = runs, smoothing

    def part(self, kept: Int64, files: Int64) -> ScoredCorpus:
        """Keep some utterances of the references, and some of the scores."""
        utterances = tuple(self.proposals.utterances[i] for i in files.tolist())
        return ScoredCorpus(self.references.take(kept), utterances, self.runs.take(files), self.smoothing)


def collars(measure: Measure, corpus: EventCorpus, onset: float, offset: float, rate: float) -> Tally:
    """``collar-f1`` and its like."""
    return _counted(measure, corpus, collar_criterion(onset, offset, rate))


def intersections(measure: Measure, corpus: EventCorpus, dtc: float, gtc: float) -> Tally:
    """``intersection-f1`` and its like."""
    return _counted(measure, corpus, intersection_criterion(dtc, gtc))


def psds(measure: Measure, corpus: EventCorpus, dtc: float, gtc: float, max_efpr: float) -> Tally:
    """``psds``."""
    extents = extents_of(corpus.references)
    time = None if extents is None else exact_sum(extents)
    return _changes(corpus, intersection_criterion(dtc, gtc), time)


def _counted(measure: Measure, corpus: EventCorpus, criterion: Criterion) -> Tally:
    """Counts at the threshold of the proposals, or at every one."""
    if measure.event_kind.all_thresholds:
        return _changes(corpus, criterion)
    found = false = 0
    for file in _files(corpus):
        count = criterion(file.events)
        for span in zip(file.starts.tolist(), file.ends.tolist(), strict=True):
            count.add(span)
        found, false = found + count.found, false + count.false
    return Sums((found, false, _expected(corpus)), _ratio)


def _ratio(measure: Measure, found: int, false: int, expected: int) -> EventValue:
    parts = {"found": found, "false": false, "expected": expected}
    ratios: dict[str, Callable[[], float]] = {
        "precision": lambda: found / (found + false),
        "recall": lambda: found / expected,
        "f1": lambda: 2 * found / (found + false + expected),
        "rate": lambda: (false + expected - found) / expected,
    }
    name = measure.kind.name.rpartition("-")[2]
    if name == "precision" and not found + false:
        raise UndefinedMeasureError(
            f"{measure} has no value: no event is found and no range is false; move the threshold"
        )
    return EventValue(ratios[name](), parts)


@dataclass(frozen=True, eq=False)
class CurveTally:
    """Changes of the counts with the threshold; each part is of some files."""

    parts: tuple[Changes, ...]
    expected: int
    time: int | None = None  # ns, of all recordings; None where it is not known

    def __add__(self, other: CurveTally) -> CurveTally:
        time = None if self.time is None or other.time is None else self.time + other.time
        return CurveTally(self.parts + other.parts, self.expected + other.expected, time)

    def __sub__(self, part: CurveTally) -> CurveTally:
        time = None if self.time is None or part.time is None else self.time - part.time
        undone = tuple(Changes(one.levels, -one.more) for one in part.parts)
        return CurveTally(self.parts + undone, self.expected - part.expected, time)

    def value(self, measure: Measure) -> EventValue:
        """The PSDS, or the best F1 of all thresholds."""
        return self._psds(measure) if measure.kind.name == "psds" else self._best_f1(measure)

    def _best_f1(self, measure: Measure) -> EventValue:
        best = best_f1(curve_of(self.parts), self.expected)
        value = _ratio(measure, best.found, best.false, self.expected)
        lower = -math.inf if best.lower is None else best.lower
        return replace(value, parts={"called": best.predicted} | dict(value.parts), beyond=lower)

    def _psds(self, measure: Measure) -> EventValue:
        if self.time is None:
            raise UsageError(
                f"{measure} counts false alarms in an hour, so it needs how long every recording is; give durations "
                "(--durations)"
            )
        hours = Fraction(self.time, HOUR)
        if not hours:
            raise UndefinedMeasureError(f"{measure} has no value: the recordings have no length; check their durations")
        most = Fraction(str(dict(measure.parameters)["max_efpr"]))
        value = area_under(curve_of(self.parts), self.expected, hours, most)
        return EventValue(float(value), {"hours": float(hours)})


def _changes(corpus: EventCorpus, criterion: Criterion, time: int | None = None) -> CurveTally:
    """Events found and ranges false at every threshold."""
    change = falling_threshold if isinstance(corpus, ScoredCorpus) else falling_confidence
    changes = chain.from_iterable(change(file, criterion) for file in _files(corpus))
    return CurveTally((Changes.of(changes),), _expected(corpus), time)


def _expected(corpus: EventCorpus) -> int:
    return int(spoof_ranges(corpus.references, unite=True).starts.size)


def _files(corpus: EventCorpus) -> Iterator[Spans]:
    """The files with scored time or proposals; those that the references lack have no events."""
    events = spoof_ranges(corpus.references, unite=True)
    proposals = corpus.proposals
    where = positions(proposals.utterances, corpus.references.utterances).tolist()
    starts, ends, offsets = events.starts.tolist(), events.ends.tolist(), events.offsets.tolist()

    def events_of(place: int) -> list[tuple[int, int]]:
        row = slice(offsets[place], offsets[place + 1]) if place >= 0 else slice(0, 0)
        return list(zip(starts[row], ends[row], strict=True))

    if isinstance(corpus, ScoredCorpus):
        frames = corpus.smoothing
        for first, cuts, begin, end, scores in spans_of_runs(corpus.runs):
            for k, (low, high) in enumerate(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)):
                own = scores[low:high] if frames is None else smoothed(scores[low:high], frames)
                yield Spans(events_of(where[first + k]), begin[low:high], end[low:high], own)
        return
    lasting = proposals.ends > proposals.starts
    for k in np.flatnonzero(np.diff(proposals.offsets)).tolist():
        rows = np.arange(proposals.offsets[k], proposals.offsets[k + 1])
        rows = rows[lasting[rows]]
        yield Spans(events_of(where[k]), proposals.starts[rows], proposals.ends[rows], proposals.confidences[rows])

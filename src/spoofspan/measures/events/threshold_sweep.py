"""Events at every threshold: how many are found, and how many ranges are false, as ever more time is called spoof.

::

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

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from spoofspan.base.times import Float64, Int64
from spoofspan.measures.events.event_criteria import Criterion, EventCount, Span

Change = tuple[float, int, int, int]  # score; events found, ranges false and ranges more than before


@dataclass(frozen=True)
class Spans:
    """Scored time of one file, in order: scores rise towards spoof. Proposals may overlap, scores do not."""

    events: list[Span]
    starts: Int64
    ends: Int64
    scores: Float64


@dataclass(frozen=True, eq=False)
class EventCurve:
    """What is found and what is false if scores from ``thresholds[k]`` on (in spoof polarity) are called spoof.

    Thresholds fall; the first is infinite, where nothing is called spoof.
    """

    thresholds: Float64
    found: Int64
    false: Int64
    predicted: Int64
    expected: int

    @classmethod
    def of(cls, changes: Iterable[Change], expected: int) -> EventCurve:
        """Add up the changes of all files."""
        table = np.array([(np.inf, 0, 0, 0), *changes], np.float64)
        order = np.argsort(-table[:, 0], kind="stable")
        thresholds = table[order, 0]
        last = np.append(thresholds[1:] != thresholds[:-1], True)
        if np.isposinf(thresholds[1:]).any():  # a score may be infinite: nothing is called spoof before it
            last[0] = True
        counts = np.cumsum(table[order, 1:].astype(np.int64), axis=0)[last]
        found, false, predicted = counts.T
        return cls(thresholds[last], found, false, predicted, expected)

    def best_f1(self) -> tuple[Fraction, int]:
        """The highest F1 of all thresholds, exactly, and its place: the highest threshold that has it."""
        above, below = 2 * self.found, self.found + self.false + self.expected
        ratios = above / below
        near = np.flatnonzero(ratios >= ratios.max() * (1 - 1e-12))
        values = [Fraction(int(above[k]), int(below[k])) for k in near.tolist()]
        best = max(values)
        return best, int(near[values.index(best)])

    def psds(self, hours: Fraction, most: Fraction) -> Fraction:
        """The area under found events over false ranges per hour, up to ``most`` and as its share.

        At each number of false ranges the most events count that are found with no more of them.
        """
        limit = most * hours  # as a number of false ranges
        order = np.lexsort((self.found, self.false))
        false, found = self.false[order], np.maximum.accumulate(self.found[order])
        last = np.flatnonzero(
            np.append(false[1:] != false[:-1], True) & (false <= limit.numerator // limit.denominator)
        )
        steps = zip(false[last].tolist(), found[last].tolist(), strict=True)
        area, before, height = Fraction(0), Fraction(0), 0
        for here, reached in steps:
            area, before, height = area + (here - before) * height, Fraction(here), reached
        return (area + (limit - before) * height) / limit / self.expected


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
    heads = np.flatnonzero(np.append(True, in_order[1:] != in_order[:-1])[: in_order.size]).tolist()
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

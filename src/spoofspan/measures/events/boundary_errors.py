"""Errors at the boundaries of matched events, and the IoU of the matched pairs.

Events and proposals are matched as for ``event-f1``. For each matched pair, in seconds::

    onset error  = start of the proposal - start of the event       (negative: too early)
    offset error = end of the proposal - end of the event

``-error`` is the mean of absolute errors, ``-median-error`` their median, ``-bias`` the mean with signs;
``boundary-`` takes onsets and offsets together. Events that no proposal matches have no error, so these numbers stand
beside a recall.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt

import numpy as np

from spoofspan.base.errors import UndefinedMeasureError
from spoofspan.base.times import SECOND, Int64, exact_sum
from spoofspan.measures.events.event_scores import EventCorpus
from spoofspan.measures.events.matching import sum_of_quotients
from spoofspan.measures.events.tallies import EventValue, Sums, Tally
from spoofspan.measures.measure import Measure

IN_STEPS = (
    "the errors take few values, and the median of such errors jumps: its 95 % interval holds the true value in 81 to "
    "83 % of simulated test sets; take the mean error"
)


def _errors(measure: Measure, corpus: EventCorpus, iou: float) -> tuple[Int64, int, int]:
    """Signed errors (ns) at the edges that a measure is of, how many events are matched, and how many there are."""
    matching, (pairs, events) = corpus.matching(measure), corpus.matched(measure, iou)
    onsets = matching.starts[pairs.proposals] - matching.events.starts[pairs.events]
    offsets = matching.ends[pairs.proposals] - matching.events.ends[pairs.events]
    edge = measure.kind.name.partition("-")[0]
    errors = {"onset": onsets, "offset": offsets, "boundary": np.concatenate((onsets, offsets))}[edge]
    return errors, pairs.events.size, events


def mean_error(measure: Measure, corpus: EventCorpus, iou: float) -> Tally:
    """``onset-error``, ``offset-error`` and ``boundary-error``."""
    errors, *counts = _errors(measure, corpus, iou)
    return Sums((exact_sum(np.abs(errors)), errors.size, *counts), _mean)


def bias(measure: Measure, corpus: EventCorpus, iou: float) -> Tally:
    """``onset-bias`` and ``offset-bias``."""
    errors, *counts = _errors(measure, corpus, iou)
    return Sums((exact_sum(errors), errors.size, *counts), _mean)


def median_error(measure: Measure, corpus: EventCorpus, iou: float) -> Tally:
    """``onset-median-error``, ``offset-median-error`` and ``boundary-median-error``."""
    errors, *counts = _errors(measure, corpus, iou)
    return MedianTally((np.abs(errors),), *counts)


def mean_iou(measure: Measure, corpus: EventCorpus, iou: float) -> Tally:
    """``mean-iou``."""
    pairs, events = corpus.matched(measure, iou)
    matched = pairs.events.size
    total = sum_of_quotients(pairs.intersections, pairs.unions)
    return Sums((total, matched, matched, events), _mean_of_shares)


def _mean(measure: Measure, total: int, count: int, matched: int, events: int) -> EventValue:
    _refuse_unmatched(measure, matched)
    return _value(float(Fraction(total, SECOND * count)), matched, events, "in seconds, ")


def _mean_of_shares(measure: Measure, total: Fraction, count: int, matched: int, events: int) -> EventValue:
    _refuse_unmatched(measure, matched)
    return _value(float(total / count), matched, events)


def _value(value: float, matched: int, events: int, unit: str = "") -> EventValue:
    of = f"{unit}of the {matched:,} of {events:,} event{'s' * (events != 1)} that are matched"
    return EventValue(value, {"matched": matched, "expected": events}, (of,))


def _refuse_unmatched(measure: Measure, matched: int) -> None:
    if not matched:
        raise UndefinedMeasureError(
            f"{measure} needs matched events, and no proposal has that IoU with any; lower iou=, or the threshold"
        )


@dataclass(frozen=True, eq=False)
class MedianTally:
    """Absolute errors (ns), of which the median is taken."""

    errors: tuple[Int64, ...]
    matched: int
    events: int

    def __add__(self, other: MedianTally) -> MedianTally:
        return MedianTally(self.errors + other.errors, self.matched + other.matched, self.events + other.events)

    def __sub__(self, part: MedianTally) -> MedianWithout:
        return MedianWithout(self, part)

    @cached_property
    def rising(self) -> Int64:
        """All errors, rising."""
        return np.sort(np.concatenate(self.errors))

    @cached_property
    def median(self) -> float:
        """The median (ns)."""
        return float(np.median(self.rising))

    def up_to(self, error: float) -> float:
        """Number of smaller errors, plus half the number of equal ones."""
        return float(np.searchsorted(self.rising, error) + np.searchsorted(self.rising, error, side="right")) / 2

    @property
    def _reach(self) -> float:
        """About two standard errors of the rank of the median, as a share of all ranks."""
        return min(2 / sqrt(self.rising.size), 0.5)

    @cached_property
    def rise(self) -> float:
        """Rate at which errors rise with their rank around the median (ns): a chord."""
        low, high = np.quantile(self.rising, (0.5 - self._reach, 0.5 + self._reach))
        return float(high - low) / (2 * self._reach)

    @cached_property
    def cautions(self) -> tuple[str, ...]:
        """A caution if a quarter of the errors around the median repeat others, as those on a grid of frames do."""
        low, high = (round(self.rising.size * (0.5 + way * self._reach)) for way in (-1, 1))
        around = self.rising[low:high]
        return (IN_STEPS,) if 4 * np.unique(around).size < 3 * around.size else ()

    def value(self, measure: Measure) -> EventValue:
        """The median."""
        _refuse_unmatched(measure, self.matched)
        return _value(self.median / SECOND, self.matched, self.events, "in seconds, ")


@dataclass(frozen=True, eq=False)
class MedianWithout:
    """The median without some errors, moved along a chord: a jackknife of its jumps would be wrong at any size."""

    whole: MedianTally
    part: MedianTally

    def __add__(self, other: MedianWithout) -> MedianTally:
        raise TypeError("a median without a part does not add")

    def __sub__(self, part: MedianTally) -> MedianWithout:
        return MedianWithout(self.whole, self.part + part)

    def value(self, measure: Measure) -> EventValue:
        """The median without the part, in seconds."""
        whole, part = self.whole, self.part
        _refuse_unmatched(measure, whole.matched - part.matched)
        below, count = whole.up_to(whole.median), whole.rising.size
        shift = (below - part.up_to(whole.median)) / (count - part.rising.size) - below / count
        return EventValue((whole.median - shift * whole.rise) / SECOND, cautions=whole.cautions)

"""Tallies: counts of the events of some utterances. They add, and the value is that of their sum.

So a corpus may be counted shard by shard, in any order and grouping, and its value has the same bits. What was counted
of some utterances may be taken out of the sum again, for the value without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from spoofspan.base.times import Float64
from spoofspan.measures.events.matching import area_of_steps, exact_ious, refuse_nothing, steps_of
from spoofspan.measures.measure import Measure


@dataclass(frozen=True)
class EventValue:
    """A value, its components, and notes for the reader."""

    value: float
    parts: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    beyond: float | None = None  # the best threshold of all, in spoof polarity: what lies beyond it is proposed
    cautions: tuple[str, ...] = ()  # reasons to look twice at an interval around it


class Tally(Protocol):
    """Counts of a measure."""

    def __add__(self, other: Any) -> Tally:
        """Counts of both."""

    def __sub__(self, part: Any) -> Tally:
        """Counts without those of a part."""

    def value(self, measure: Measure) -> EventValue:
        """The value, if this is all there is."""


@dataclass(frozen=True)
class Sums:
    """Exact numbers, and the function (of a module, so that it can be sent) that makes a value of their sums."""

    numbers: tuple[Any, ...]
    finish: Callable[..., EventValue]

    def __add__(self, other: Sums) -> Sums:
        return Sums(tuple(a + b for a, b in zip(self.numbers, other.numbers, strict=True)), self.finish)

    def __sub__(self, part: Sums) -> Sums:
        return Sums(tuple(a - b for a, b in zip(self.numbers, part.numbers, strict=True)), self.finish)

    def value(self, measure: Measure) -> EventValue:
        """The value of these numbers."""
        return self.finish(measure, *self.numbers)


@dataclass(frozen=True, eq=False)
class RankedTally:
    """For AP: the confidences of all proposals, and of those that take an event, at each IoU threshold."""

    confidences: tuple[Float64, ...]
    matched: tuple[tuple[Float64, ...], ...]
    events: int

    def __add__(self, other: RankedTally) -> RankedTally:
        matched = tuple(a + b for a, b in zip(self.matched, other.matched, strict=True))
        return RankedTally(self.confidences + other.confidences, matched, self.events + other.events)

    def __sub__(self, part: RankedTally) -> RankedTally:
        confidences = _without(self.confidences, part.confidences)
        matched = tuple((_without(a, b),) for a, b in zip(self.matched, part.matched, strict=True))
        return RankedTally((confidences,), matched, self.events - part.events)

    def value(self, measure: Measure) -> EventValue:
        """AP, or its mean over IoU thresholds."""
        rising = np.sort(np.concatenate(self.confidences))
        steps = (steps_of(rising, np.concatenate(one)) for one in self.matched)
        return mean_of_aps(measure, [area_of_steps(*one, self.events) for one in steps])


def _without(columns: Sequence[Float64], gone: Sequence[Float64]) -> Float64:
    """All values, rising, without some of them, each as often as it is listed."""
    rising, taken = (np.sort(np.concatenate(values)) for values in (columns, gone))
    again = np.arange(taken.size) - np.searchsorted(taken, taken)  # of equal values, one after the other
    return np.delete(rising, np.searchsorted(rising, taken) + again)


@dataclass(frozen=True)
class WholeTally:
    """A value of rules that need the whole corpus, in the order of its files; it does not add."""

    compute: Callable[[], EventValue]

    def __add__(self, other: Any) -> WholeTally:
        raise TypeError("what needs the whole corpus does not add")

    __sub__ = __add__

    def value(self, measure: Measure) -> EventValue:
        """The value."""
        return self.compute()


def mean_of_aps(measure: Measure, values: list[float]) -> EventValue:
    """AP at the threshold of a measure, or the mean over its thresholds."""
    iou = dict(measure.parameters)["iou"]
    if not isinstance(iou, str):
        return EventValue(values[0])
    ious = exact_ious(iou, measure.event_kind.variant)
    parts = {f"ap@iou={float(one):g}": value for one, value in zip(ious, values, strict=True)}
    return EventValue(float(sum(map(Fraction, values)) / len(values)), parts)


@dataclass(frozen=True)
class EventTally:
    """Counts of a measure of a corpus or of a shard of one, how many events there are, and how many proposals."""

    events: int
    proposals: int
    scored: bool  # whether proposals are those of every threshold
    counted: Tally
    on_threshold: int = 0  # pairs whose IoU is exactly a threshold, where these were looked for

    def __add__(self, other: EventTally) -> EventTally:
        counted, on_threshold = self.counted + other.counted, self.on_threshold + other.on_threshold
        sums = self.events + other.events, self.proposals + other.proposals
        return EventTally(*sums, self.scored, counted, on_threshold)

    def __sub__(self, part: EventTally) -> EventTally:
        counted = self.counted - part.counted
        return EventTally(self.events - part.events, self.proposals - part.proposals, self.scored, counted)

    def value(self, measure: Measure) -> EventValue:
        """The value; refused where there is nothing to find, or nothing that was found."""
        refuse_nothing(self.events, self.scored or self.proposals, str(measure))
        return self.counted.value(measure)

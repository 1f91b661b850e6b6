"""When a proposed range finds an event: by collars, or by intersection.

**Collars** (Mesaros et al., 2016). A range finds an event if it begins within ``onset`` of where the event begins, and
ends within ``max(offset, rate * length of the event)`` of where it ends. Ranges and events are matched one-to-one, as
many as possible; the rest of the ranges are false.

**Intersection** (Bilen et al., 2020). A range of which at least the share ``dtc`` is spoofed is relevant, any other is
false. An event is found if the relevant ranges have at least the share ``gtc`` of it in common with it.

Both are exact: times are integers of nanoseconds, shares are decimals. On the limit counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Protocol

from spoofspan.base.times import duration_ns

Span = tuple[int, int]


class EventCount(Protocol):
    """The events of one utterance, and how many of them the ranges so far find."""

    @property
    def found(self) -> int:
        """How many events are found."""

    @property
    def false(self) -> int:
        """How many ranges are false."""

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
        """How many events are found."""
        if self._found is None:
            self._found = largest_matching([wishes for equal in self._wishes.values() for wishes in equal])
        return self._found

    @property
    def false(self) -> int:
        """How many ranges are false."""
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
    """How many can have one of their wishes, none of which is given twice (augmenting paths).

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

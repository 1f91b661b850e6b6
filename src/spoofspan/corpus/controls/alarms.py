"""Flagged time: of a control, of the same time in the unedited recordings, near joints and elsewhere; in whole ns.

::

    control     |--------[joint]-----------------|       near: within so many ms of a joint
    near              |===========|
    flagged        ####  ####            ##              extra alarms: the time flagged here ...
    unedited       ####                                  ... less the time flagged in what it was made of
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from spoofspan.base.times import Int64
from spoofspan.corpus.controls.control_set import Control
from spoofspan.corpus.survey import Span, merged
from spoofspan.data.references import SPOOF, References


class Alarms:
    """The ranges that a system flags, by utterance."""

    def __init__(self, called: References) -> None:
        self._ranges: dict[str, tuple[list[int], list[int], list[int]]] = {}
        flagged = called.labels == SPOOF
        for row, name in enumerate(called.utterances):
            here = slice(int(called.offsets[row]), int(called.offsets[row + 1]))
            chosen = flagged[here]
            starts, ends = (column[here][chosen].tolist() for column in (called.starts, called.ends))
            lengths = (end - start for start, end in zip(starts, ends, strict=True))
            self._ranges[name] = starts, ends, [0, *accumulate(lengths)]

    def __contains__(self, utterance: str) -> bool:
        return utterance in self._ranges

    def before(self, utterance: str, time: int) -> int:
        """The flagged time before a time."""
        starts, ends, done = self._ranges[utterance]
        place = bisect_right(starts, time)
        return done[place] - max(ends[place - 1] - time, 0) if place else 0

    def within(self, utterance: str, start: int, end: int) -> int:
        """The flagged time of a range."""
        return self.before(utterance, end) - self.before(utterance, start) if end > start else 0

    def any(self, utterance: str) -> bool:
        """True if anything is flagged."""
        return bool(self._ranges[utterance][0])


@dataclass
class Counted:
    """Time in ns: all of it, flagged in the control, and flagged in the unedited recordings."""

    time: int = 0
    edited: int = 0
    unedited: int = 0

    def add(self, alarms: Alarms, one: Control, start: int, end: int) -> None:
        """Count a range of a control."""
        self.time += max(end - start, 0)
        self.edited += alarms.within(one.utterance, start, end)
        for stretch in one.stretches:
            low, high = max(start, stretch.start), min(end, stretch.end)
            if low < high:
                moved = stretch.source_start - stretch.start
                self.unedited += alarms.within(stretch.unedited, low + moved, high + moved)


def near_joints(one: Control, reach: int) -> list[Span]:
    """Time of a control within so many ns of a joint."""
    spans = [(max(start - reach, 0), min(end + reach, one.duration)) for start, end in one.joints]
    return merged(spans)


def others(spans: Sequence[Span], duration: int) -> list[Span]:
    """The rest of the time.

    >>> others([(2, 3)], 10)
    [(0, 2), (3, 10)]
    """
    edges = [0, *(edge for span in spans for edge in span), duration]
    return [(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end]


# Of a group of controls, by speaker: a row each of these.
COLUMNS = (
    *("time", "edited", "unedited", "near time", "near edited", "near unedited"),
    *("recordings", "edited recordings", "unedited recordings"),
)


def counts_by_speaker(
    alarms: Alarms, group: Sequence[Control], speakers: Sequence[str], reach: int
) -> dict[str, Int64]:
    """The flagged time and recordings of a group of controls, for each speaker."""
    place = {name: row for row, name in enumerate(speakers)}
    found = {name: np.zeros(len(speakers), np.int64) for name in COLUMNS}
    for one in group:
        near, far = Counted(), Counted()
        spans = near_joints(one, reach)
        for start, end in spans:
            near.add(alarms, one, start, end)
        for start, end in others(spans, one.duration):
            far.add(alarms, one, start, end)
        row = place[one.speaker]
        for name in ("time", "edited", "unedited"):
            found[name][row] += getattr(near, name) + getattr(far, name)
            found[f"near {name}"][row] += getattr(near, name)
        found["recordings"][row] += 1
        found["edited recordings"][row] += alarms.any(one.utterance)
        found["unedited recordings"][row] += alarms.any(one.unedited)
    return found

"""The authenticity index: the share of alarms on real spoofs that survives when the cut is accounted for.

At one threshold, let H be the flagged share of the spoofed time of a corpus, and C the flagged share of bona fide
passages that were spliced in from other recordings of the same speaker, at the same distances from a joint::

    index = (H - C) / H

    C = sum over d of w(d) * c(d)       w(d): share of the spoofed time that lies at distance d from the nearest joint
                                        c(d): flagged share of the spliced passages at that distance

Passages of the same durations have their time at the same distances, so C is what a corpus of the same cuts would have
raised without a spoof. Distances are taken in classes (:data:`EDGES`). Spoofed time in utterances that are spoofed from
end to end has no joint; there, c is the flagged share of the unedited recordings. A class for which the controls have
no time takes the next one closer to the joint.

With F, the same as C but of the unedited recordings that the passages were taken from, the alarms divide into three::

    1 = F / H   (raised without a cut)  +  (C - F) / H   (raised by the cut)  +  index   (raised by the spoof)

A detector of cuts has C = H and an index of 0, and so has one that flags at random. One that flags no bona fide time
has 1, whatever share of the spoofs it finds. The index is negative where splices of real speech are flagged more than
spoofs.

Flagged time is counted in a control and in the unedited recordings, near joints and elsewhere, in whole ns::

    control     |--------[joint]-----------------|       near: within so many ms of a joint
    near              |===========|
    flagged        ####  ####            ##              extra alarms: the time flagged here ...
    unedited       ####                                  ... less the time flagged in what it was made of
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from math import nan

import numpy as np

from spoofspan.base.times import Float64, Int64
from spoofspan.corpus.controls.control_set import Control, Controls
from spoofspan.corpus.survey import Span, merged
from spoofspan.data.references import SPOOF, References
from spoofspan.mass.labelling import Labelling
from spoofspan.uncertainty.clusters import SPEAKER
from spoofspan.uncertainty.intervals import interval_of_left_out
from spoofspan.uncertainty.left_out import LeftOut
from spoofspan.uncertainty.spreads import Interval


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


# ---------------------------------------------------------------- flagged time

MS = 1_000_000
# Classes of the distance from the nearest joint, in ns; the last has no end.
EDGES = (0, 20 * MS, 40 * MS, 80 * MS, 160 * MS, 320 * MS, 640 * MS, 1 << 62)
NO_JOINT = len(EDGES) - 1
CLASSES = NO_JOINT + 1
INDEX = "authenticity-index"


@dataclass(frozen=True, kw_only=True)
class AuthenticityIndex:
    """Alarms of one system on real spoofs, and how many of them the cut explains, at one cross-fade.

    Parameters
    ----------
    cross_fade
        Of the splices that it was compared with, in seconds.
    hit_rate
        H: flagged share of the spoofed time.
    splice_rate
        C: flagged share of bona fide passages of the same durations, spliced in.
    uncut_rate
        F: flagged share of the same passages where they come from.
    interval
        The index, (H - C) / H, with its interval over speakers.
    beyond
        Share of the spoofed time that lies further from a joint than any spliced passage reaches.
    """

    cross_fade: float | None
    hit_rate: float
    splice_rate: float
    uncut_rate: float
    interval: Interval
    beyond: float

    @property
    def value(self) -> float:
        """The index."""
        return self.interval.estimate

    def to_dict(self) -> dict[str, object]:
        """Everything as plain data."""
        names = ("cross_fade", "hit_rate", "splice_rate", "uncut_rate", "beyond")
        plain: dict[str, object] = {name: getattr(self, name) for name in names}
        return {**plain, "index": self.value, "interval": self.interval.to_dict()}


def classes_of(start: int, end: int, *, left: bool, right: bool) -> Iterable[tuple[int, int, int]]:
    """Cut a passage by the distance from its nearest joint; ``left`` and ``right`` say where it has one.

    >>> list(classes_of(0, 50 * MS, left=True, right=False))
    [(0, 0, 20000000), (1, 20000000, 40000000), (2, 40000000, 50000000)]
    """
    if not left and not right:
        yield NO_JOINT, start, end
        return
    middle = (start + end) // 2 if left and right else end if left else start
    for number, (near, far) in enumerate(pairwise(EDGES)):
        if left and start + near < middle:
            yield number, start + near, min(start + far, middle)
        if right and end - near > middle:
            yield number, max(end - far, middle), end - near


@dataclass(frozen=True)
class SpoofAlarms:
    """Of the spoofed time of a corpus, by cluster: how much lies in each class, and how much is flagged."""

    clusters: tuple[str, ...]
    time: Int64  # clusters x classes
    flagged: Int64

    @classmethod
    def of(cls, alarms: Alarms, labelling: Labelling, clusters: Mapping[str, str]) -> SpoofAlarms:
        """Count the spoofed runs of a corpus; an edge inside of an utterance is a joint."""
        names = tuple(sorted(set(clusters.values())))
        place = {name: row for row, name in enumerate(names)}
        time, flagged = np.zeros((len(names), CLASSES), np.int64), np.zeros(len(names), np.int64)
        starts, ends, spoof = labelling.starts.tolist(), labelling.ends.tolist(), (labelling.labels == SPOOF).tolist()
        extents, offsets = labelling.extents.tolist(), labelling.offsets.tolist()
        for number, utterance in enumerate(labelling.utterances):
            row = place[clusters[utterance]]
            for i in range(offsets[number], offsets[number + 1]):
                if not spoof[i]:
                    continue
                flagged[row] += alarms.within(utterance, starts[i], ends[i])
                inside = {"left": starts[i] > 0, "right": ends[i] < extents[number]}
                for one, low, high in classes_of(starts[i], ends[i], **inside):
                    time[row, one] += high - low
        return cls(names, time, flagged)


@dataclass(frozen=True)
class SpliceAlarms:
    """Of the spliced passages at one cross-fade, by speaker and class: all time, flagged, and flagged where uncut."""

    time: Int64
    edited: Int64
    unedited: Int64

    @classmethod
    def of(cls, alarms: Alarms, controls: Controls, cross_fade: float | None) -> SpliceAlarms:
        """Count spliced passages, and the unedited recordings as time without a joint."""
        place = {name: row for row, name in enumerate(controls.speakers)}
        found = cls(*(np.zeros((len(place), CLASSES), np.int64) for _ in range(3)))
        for one in controls.splices(cross_fade):
            for start, end in one.passages():
                inside = {"left": start > 0, "right": end < one.duration}
                for number, low, high in classes_of(start, end, **inside):
                    counted = Counted()
                    counted.add(alarms, one, low, high)
                    found._add(place[one.speaker], number, counted)
        for one in controls.unedited:
            counted = Counted()
            counted.add(alarms, one, 0, one.duration)
            found._add(place[one.speaker], NO_JOINT, counted)
        return found

    def _add(self, row: int, number: int, counted: Counted) -> None:
        self.time[row, number] += counted.time
        self.edited[row, number] += counted.edited
        self.unedited[row, number] += counted.unedited


def authenticity(
    spoofs: SpoofAlarms,
    splices: SpliceAlarms,
    speakers: Sequence[str],
    cross_fade: float | None,
    confidence: float,
) -> AuthenticityIndex:
    """The index of one system at one cross-fade; a speaker of both corpora is left out of both at once."""
    everyone = sorted({*speakers, *spoofs.clusters})
    ours, theirs = (_spread(everyone, names) for names in (speakers, spoofs.clusters))
    time, edited, unedited = (ours @ column for column in (splices.time, splices.edited, splices.unedited))
    spoofed, flagged = theirs @ spoofs.time, theirs @ spoofs.flagged
    whole = [column.sum(axis=0, keepdims=True) for column in (time, edited, unedited, spoofed, flagged)]
    rest = [total - column for total, column in zip(whole, (time, edited, unedited, spoofed, flagged), strict=True)]
    hit, spliced, uncut = (float(column[0]) for column in _rates(*whole))
    hits_without, spliced_without, _ = _rates(*rest)
    explained = spliced / hit if hit else nan
    with np.errstate(divide="ignore", invalid="ignore"):
        without = np.where(hits_without > 0, spliced_without / hits_without, np.nan)
    left_out = LeftOut(without, time.sum(axis=1) > 0, spoofed.sum(axis=1) > 0, factor=SPEAKER)
    interval = _interval(explained, hit, left_out, confidence)
    reached = (whole[0][0] > 0) | (np.arange(CLASSES) == NO_JOINT)
    beyond = float(whole[3][0][~reached].sum() / max(whole[3].sum(), 1))
    return AuthenticityIndex(
        cross_fade=cross_fade, hit_rate=hit, splice_rate=spliced, uncut_rate=uncut, interval=interval, beyond=beyond
    )


def _spread(everyone: Sequence[str], names: Sequence[str]) -> Int64:
    """Matrix that moves the rows of some names to their places among all."""
    place = {name: row for row, name in enumerate(everyone)}
    found = np.zeros((len(everyone), len(names)), np.int64)
    found[[place[name] for name in names], np.arange(len(names))] = 1
    return found


def _rates(
    time: Int64, edited: Int64, unedited: Int64, spoofed: Int64, flagged: Int64
) -> tuple[Float64, Float64, Float64]:
    """H, C and F of each row."""
    whole = spoofed.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        hit: Float64 = flagged / whole
        weights = spoofed / whole[:, None]
        shares = [np.where(time > 0, column / time, np.nan) for column in (edited, unedited)]
    for share in shares:
        for number in range(1, NO_JOINT):  # what no passage reaches is as the time closer to the joint
            share[:, number] = np.where(np.isnan(share[:, number]), share[:, number - 1], share[:, number])
        for number in range(NO_JOINT - 2, -1, -1):
            share[:, number] = np.where(np.isnan(share[:, number]), share[:, number + 1], share[:, number])
    spliced, uncut = (np.where(weights > 0, weights * share, 0.0).sum(axis=1) for share in shares)
    return hit, spliced, uncut


def _interval(explained: float, hit: float, left_out: LeftOut, confidence: float) -> Interval:
    """The interval of 1 - C / H; no alarm among so many speakers does not mean that there can be none."""
    found = interval_of_left_out(INDEX, explained, left_out, confidence, scale="log")
    low, high = found.low, found.high
    if not explained and left_out.bona_fide is not None and not found.refused:
        tail = (1 - confidence) / 2
        high = float(1 - tail ** (1 / np.count_nonzero(left_out.bona_fide))) / hit
    warnings = found.warnings if hit else ("no spoofed time is flagged, so there is no index", *found.warnings)
    return replace(found, estimate=1 - explained, low=1 - high, high=1 - low, warnings=warnings)

"""Event measures by collars and by intersection: F1 and its like at one threshold or the best one, and the PSDS.

:mod:`~spoofspan.measures.events.threshold_sweep` says when an event is found, and how that changes with the threshold.
With the events that are found, the ranges that are false, and all events that are expected::

    precision = found / (found + false)      recall = found / expected
    F1 = 2 found / (found + false + expected)
    error rate = (false + expected - found) / expected

**PSDS** (Bilen et al., 2020) for one class, without cross-triggers: let TPR(x) be the highest recall of the thresholds
with at most x false ranges in an hour. Then PSDS is the mean of TPR over x from 0 to ``max_efpr``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain

import numpy as np

from spoofspan.base.columns import positions
from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.base.times import Int64, exact_sum
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.mass.score_runs import ScoreRuns
from spoofspan.measures.events.event_scores import EventCorpus, extents_of
from spoofspan.measures.events.proposals_from_scores import spans_of_runs
from spoofspan.measures.events.spoof_ranges import spoof_ranges
from spoofspan.measures.events.tallies import EventValue, Sums, Tally
from spoofspan.measures.events.threshold_sweep import (
    Changes,
    Criterion,
    Spans,
    best_f1,
    collar_criterion,
    curve_of,
    falling_confidence,
    falling_threshold,
    intersection_criterion,
    smoothed,
)
from spoofspan.measures.events.threshold_sweep import psds as area_under
from spoofspan.measures.measure import Measure

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
    return Sums((found, false, _expected(corpus)), _value)


def _value(measure: Measure, found: int, false: int, expected: int) -> EventValue:
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
    """What changes with the threshold; each part is of some files."""

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
        value = _value(measure, best.found, best.false, self.expected)
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
    """What is found and what is false at every threshold."""
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

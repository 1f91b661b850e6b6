"""Event measures: were the spoofed ranges found, and where do they begin and end.

An **event** is a spoofed range of the references; ranges that touch or overlap are one event. A **proposal** is a
range that a system believes to be spoofed, with a confidence. For a proposal p and an event e::

    IoU(p, e) = time in both / time in at least one

**AP@t.** Proposals are taken from the most confident to the least; each takes the free event of largest IoU, if that is
at least t. After the proposals of confidence c or more, with T(c) of N(c) of them matched::

    precision(c) = T(c) / N(c)        recall(c) = T(c) / events
    AP = sum over c, falling, of (recall(c) - recall before c) * max over c' <= c of precision(c')

Equal confidences are one step. **AR@N** is the mean over thresholds t of the recall of the N most confident proposals
of each file. Proposals of files without events are false, events of files without proposals are missed.

The two published variants count otherwise; ``docs/events.md`` says how. Everything is counted in integers and becomes
a float once, at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np

from spoofspan.columns import positions, rows_of, utterance_of_rows
from spoofspan.errors import UndefinedMeasureError, UsageError, nearest_name
from spoofspan.event_matching import (
    Pairs,
    by_falling_iou,
    most_confident,
    overlapping_pairs,
    places_in_file,
    take_in_turns,
)
from spoofspan.event_proposals import proposals_from_scores
from spoofspan.event_ranges import Ranges, inner_edges, ordered, spoof_ranges, united
from spoofspan.nanoseconds import Float64, Int64, duration_ns, exact_sum
from spoofspan.proposals import Proposals
from spoofspan.references import References
from spoofspan.scores import Scores

__all__ = [
    "AR_IOUS",
    "VARIANTS",
    "AVDeepfake1MScore",
    "EventScores",
    "Variant",
    "avdeepfake1m_score",
    "average_precision_at",
    "average_recall_at",
    "boundary_scores",
    "had_range_scores",
    "proposals_from_scores",
    "segment_f1",
    "segment_scores",
]

Variant = Literal["spoofspan", "avdeepfake1m", "activitynet"]
VARIANTS: tuple[Variant, ...] = ("spoofspan", "avdeepfake1m", "activitynet")
AR_IOUS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
CHALLENGE_IOUS = (0.5, 0.75, 0.9, 0.95)
CHALLENGE_COUNTS = (50, 30, 20, 10, 5)
# Fractions are summed with so many binary places, far more than a float keeps.
PLACES = 128


def average_precision_at(
    references: References, proposals: Proposals, iou: float, *, variant: Variant = "spoofspan"
) -> float:
    """Return AP at an IoU threshold, the float nearest to the exact value.

    >>> references = References.from_ranges({"u1": [(0.0, 1.0, "bonafide"), (1.0, 2.0, "spoof")]})
    >>> times = np.array([1_000_000_000, 0]), np.array([2_000_000_000, 500_000_000])
    >>> proposals = Proposals(("u1",), np.array([0, 2]), np.array([0.9, 0.2]), *times)
    >>> average_precision_at(references, proposals, 0.5)
    1.0
    >>> average_precision_at(references, proposals, 0.5, variant="avdeepfake1m")  # the first recall step is lost
    0.0
    """
    return _average_precision(_contest(references, proposals, variant, "AP"), _iou(iou, variant))


def average_recall_at(
    references: References,
    proposals: Proposals,
    n: int,
    *,
    ious: Iterable[float] = AR_IOUS,
    variant: Variant = "spoofspan",
) -> float:
    """Return the mean over IoU thresholds of the recall of the ``n`` first proposals of each file.

    ``variant="activitynet"`` takes ``n`` times as many as the file has events ("Recall@nx").
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise UsageError(f"n must be a whole number of proposals, 1 or more, not {n!r}")
    thresholds = [_iou(iou, variant) for iou in ious]
    if not thresholds:
        raise UsageError("ious is empty; give at least one IoU threshold")
    return _average_recall(_contest(references, proposals, variant, "AR"), int(n), thresholds)


@dataclass(frozen=True)
class EventScores:
    """What was found, what was predicted and what there was: numbers of ranges or boundaries, or ns of time."""

    matched: int
    predicted: int
    expected: int

    @property
    def precision(self) -> float:
        """How much of the predicted is right."""
        return self.matched / self.predicted

    @property
    def recall(self) -> float:
        """How much of the expected was found."""
        return self.matched / self.expected

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.matched / (self.predicted + self.expected)


def segment_scores(references: References, predicted: Proposals | Scores, iou: float) -> EventScores:
    """Count matched, predicted and expected ranges at an IoU threshold.

    The matching is that of AP, with all proposals kept. Hard decisions (``Scores.from_decisions``) are taken as the
    ranges decided spoof, in order of their start.
    """
    contest = _contest(references, _as_proposals(predicted), "spoofspan", "the segment F1")
    matched = contest.matched(contest.reaching(_iou(iou, "spoofspan")))
    return EventScores(matched.size, contest.confidences.size, contest.events.starts.size)


def segment_f1(references: References, predicted: Proposals | Scores, iou: float) -> float:
    """Return the segment F1 at an IoU threshold: ``2 * matched / (predicted + events)``."""
    return segment_scores(references, predicted, iou).f1


def boundary_scores(references: References, predicted: Proposals | Scores, tolerance: float) -> EventScores:
    """Count boundaries found within a tolerance in seconds (on the tolerance counts).

    Boundaries are the edges of the united spoof ranges on both sides, whether spoof begins or ends there. Edges at 0
    and at the end of the utterance (if it is known) are none: nothing changes there. The matching is one-to-one and
    optimal: no other one has more pairs.
    """
    if not (reach := duration_ns(tolerance, "tolerance")) >= 0:
        raise UsageError(f"tolerance must be 0 or more seconds, not {tolerance!r}")
    proposals = _as_proposals(predicted)
    where = positions(references.utterances, proposals.utterances)
    extents = _extents(references)
    expected, expected_offsets = inner_edges(spoof_ranges(references, unite=True), extents)
    ranges, _ = united(ordered(proposals.offsets, proposals.starts, proposals.ends))
    found, found_offsets = inner_edges(ranges, _extents_there(extents, where, len(proposals)))
    if not expected.size:
        raise UndefinedMeasureError(
            "boundary scores need boundaries, and in these references no spoof begins or ends inside an utterance; "
            "check their labels"
        )
    if not found.size:
        raise UndefinedMeasureError("boundary scores need a predicted boundary, and there is none; lower the threshold")
    # Neighbours have one axis: [edge, edge] and [edge - tolerance, edge + tolerance] meet iff they are near enough.
    # Both in order, each expected one takes the earliest free predicted one, which is optimal for equal tolerances.
    points = Ranges(expected_offsets, 2 * expected, 2 * expected + 1)
    pairs = overlapping_pairs(points, found_offsets, 2 * (found - reach), 2 * (found + reach) + 1, where)
    turns = _number_in_file(expected_offsets)[pairs.events]
    matched = take_in_turns(pairs.events, pairs.proposals, turns)
    return EventScores(matched.size, found.size, expected.size)


def had_range_scores(references: References, predicted: Proposals | Scores) -> EventScores:
    """Count time (ns): spoofed and predicted, predicted, spoofed.

    Our reading of the precision, recall and F1 that are published for the Half-truth corpus (HAD): of time. No text
    with their definition was at hand, so a published number may be of something else.
    """
    proposals = _as_proposals(predicted)
    events = spoof_ranges(references, unite=True)
    ranges, _ = united(ordered(proposals.offsets, proposals.starts, proposals.ends))
    _refuse_nothing(events.starts.size, ranges.starts.size, "the HAD range scores")
    where = positions(references.utterances, proposals.utterances)
    pairs = overlapping_pairs(events, ranges.offsets, ranges.starts, ranges.ends, where)
    return EventScores(
        exact_sum(pairs.intersections),
        exact_sum(ranges.ends - ranges.starts),
        exact_sum(events.ends - events.starts),
    )


@dataclass(frozen=True)
class AVDeepfake1MScore:
    """The score of the AV-Deepfake1M challenge (temporal localization), and what it is the mean of."""

    value: float
    average_precisions: Mapping[float, float]
    average_recalls: Mapping[int, float]


def avdeepfake1m_score(references: References, proposals: Proposals) -> AVDeepfake1MScore:
    """Return the mean of two means: AP at IoU 0.5, 0.75, 0.9, 0.95, and AR at 50, 30, 20, 10, 5 proposals.

    Both are of the variant ``avdeepfake1m``.
    """
    contest = _contest(references, proposals, "avdeepfake1m", "the AV-Deepfake1M score")
    ap = {iou: _average_precision(contest, _iou(iou, "avdeepfake1m")) for iou in CHALLENGE_IOUS}
    thresholds = [_iou(iou, "avdeepfake1m") for iou in AR_IOUS]
    ar = {n: _average_recall(contest, n, thresholds) for n in CHALLENGE_COUNTS}
    means = (sum(map(Fraction, values)) / len(values) for values in (ap.values(), ar.values()))
    return AVDeepfake1MScore(float(sum(means) / 2), ap, ar)


@dataclass(frozen=True, eq=False)
class _Contest:
    """Events and proposals of a corpus, and what overlaps; the variants differ in what they make of it."""

    variant: Variant
    events: Ranges
    proposals: Proposals
    where: Int64  # utterance of the references -> utterance of the proposals, -1 where there is none
    pairs: Pairs

    def reaching(self, iou: Fraction) -> Pairs:
        return self.pairs.reaching(iou, strictly=self.variant == "avdeepfake1m")

    def matched(self, pairs: Pairs) -> Int64:
        """Return the proposals that take an event."""
        if self.variant == "avdeepfake1m":
            # events choose, in order of their start: the first proposal in the file that is free
            turns = _number_in_file(self.events.offsets)[pairs.events]
            return pairs.proposals[take_in_turns(pairs.events, pairs.proposals, turns)]
        # Nobody is in another's way in most utterances, and in none if events are united and the IoU is at least 1/2.
        utterances = self.utterances[pairs.events]
        contested = pairs.contested(utterances)
        alone = most_confident(pairs.at(np.flatnonzero(~contested)), self.proposals.confidences)
        if not contested.any():
            return alone
        rows = np.flatnonzero(contested)
        rest = by_falling_iou(pairs.at(rows), later_event_first=self.variant == "activitynet")
        places = self.places(utterances[rows])
        chosen = take_in_turns(rest.proposals, rest.events, places[rest.proposals])
        return np.concatenate((alone, rest.proposals[chosen]))

    @cached_property
    def utterances(self) -> Int64:
        """The utterance of each event."""
        return utterance_of_rows(self.events.offsets)

    def places(self, utterances: Int64) -> Int64:
        """Return the place of each proposal in its file, for the files of these utterances.

        It is the order in which the variant takes them.
        """
        if self.variant == "avdeepfake1m":
            return _number_in_file(self.proposals.offsets)
        needed = np.zeros(len(self.proposals), bool)
        needed[self.where[utterances]] = True
        falling = -self.proposals.confidences
        if self.variant == "activitynet":
            return places_in_file(self.proposals.offsets, -np.arange(falling.size), falling, needed=needed)
        # by time among equals, so that the order of the rows does not matter
        times = self.proposals.ends, self.proposals.starts
        return places_in_file(self.proposals.offsets, *times, falling, needed=needed)

    @cached_property
    def order(self) -> Int64:
        """The proposals that count, in the order that decides among equal confidences."""
        if self.variant == "avdeepfake1m":
            return rows_of(self.proposals.offsets, self.where[self.where >= 0])[0]
        rows = np.arange(self.proposals.confidences.size)
        return rows[::-1] if self.variant == "activitynet" else rows

    @cached_property
    def confidences(self) -> Float64:
        """The confidences of the proposals that count, in that order."""
        return self.proposals.confidences[self.order]

    @cached_property
    def sorted_confidences(self) -> Float64:
        return np.sort(self.confidences)

    def steps(self, matched: Int64) -> tuple[Int64, Int64]:
        """Return, for each step of recall, how many events are matched and how many proposals taken by then."""
        count = self.confidences.size
        # sorting values is four times faster than sorting positions, so only the matched ones are looked up
        confidence = np.sort(self.proposals.confidences[matched])[::-1]
        at_least = count - np.searchsorted(self.sorted_confidences, confidence, side="left")
        true = np.arange(1, matched.size + 1)
        if self.variant == "spoofspan":
            last = np.append(confidence[1:] != confidence[:-1], True)[: matched.size]
            return true[last], at_least[last]
        more = count - np.searchsorted(self.sorted_confidences, confidence, side="right")
        if (at_least - more > 1).any():  # equal confidences are steps of their own, in the order of the rows
            position = np.empty(self.proposals.confidences.size, np.int64)
            position[self.order[np.argsort(-self.confidences, kind="stable")]] = np.arange(count)
            more = np.sort(position[matched])
        return true, more + 1


def _contest(references: References, proposals: Proposals, variant: Variant, what: str) -> _Contest:
    if variant not in VARIANTS:
        raise UsageError(f"no variant {variant!r}: {nearest_name(variant, VARIANTS)}")
    events = spoof_ranges(references, unite=variant == "spoofspan")
    where = positions(references.utterances, proposals.utterances)
    pairs = overlapping_pairs(events, proposals.offsets, proposals.starts, proposals.ends, where)
    contest = _Contest(variant, events, proposals, where, pairs)
    _refuse_nothing(events.starts.size, contest.confidences.size, what)
    return contest


def _average_precision(contest: _Contest, iou: Fraction) -> float:
    true, taken = contest.steps(contest.matched(contest.reaching(iou)))
    gains = np.diff(true, prepend=0)
    if contest.variant == "avdeepfake1m" and taken.size and taken[0] == 1:
        gains[0] = 0  # its curve starts at the first proposal, not at recall 0
    if not true.size:
        return 0.0
    # The best later precision only changes at a few steps. Quotients of counts below 2**26 are equal as floats only if
    # they are equal, so floats find those steps.
    precision = (true / taken)[::-1]
    best = np.maximum.accumulate(precision)
    levels = np.flatnonzero(np.concatenate(([True], best[1:] > best[:-1])))
    gained = np.add.reduceat(gains[::-1], levels)
    columns = (gained.tolist(), true[::-1][levels].tolist(), taken[::-1][levels].tolist())
    total = sum((gain * t << PLACES) // n for gain, t, n in zip(*columns, strict=True))
    return float(Fraction(total, contest.events.starts.size << PLACES))


def _average_recall(contest: _Contest, n: int, thresholds: list[Fraction]) -> float:
    pairs = contest.pairs.reaching(min(thresholds))
    if int(np.diff(contest.proposals.offsets).max()) > n:
        limit = np.full(contest.events.starts.size, n)
        if contest.variant == "activitynet":
            limit *= np.diff(contest.events.offsets)[contest.utterances]
        places = contest.places(contest.utterances[pairs.events])
        pairs = pairs.at(np.flatnonzero(places[pairs.proposals] < limit[pairs.events]))
    found = 0
    for iou in sorted(thresholds):
        pairs = pairs.reaching(iou, strictly=contest.variant == "avdeepfake1m")
        # In the published variants one proposal may recall several events. From 1/2 on none can, if they are united.
        one_to_one = contest.variant == "spoofspan" and iou < Fraction(1, 2)
        found += contest.matched(pairs).size if one_to_one else pairs.found()
    return float(Fraction(found, len(thresholds) * contest.events.starts.size))


def _iou(iou: float, variant: Variant) -> Fraction:
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


def _refuse_nothing(events: int, predicted: int, what: str) -> None:
    if not events:
        raise UndefinedMeasureError(f"{what} needs spoofed ranges, and the references have none; check their labels")
    if not predicted:
        raise UndefinedMeasureError(
            f"{what} needs proposals, and there is none for these references; check the ids, or lower the threshold"
        )


def _as_proposals(predicted: Proposals | Scores) -> Proposals:
    if isinstance(predicted, Proposals):
        return predicted
    if not predicted.decisions:
        raise UsageError("scores are no ranges; make proposals of them first: proposals_from_scores(scores, threshold)")
    return proposals_from_scores(predicted, 0.5)


def _number_in_file(offsets: Int64) -> Int64:
    """Number the rows of each utterance from 0."""
    number: Int64 = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))
    return number


def _extents(references: References) -> Int64 | None:
    """Where each utterance ends: its duration, or its last end if the references name both classes; else None."""
    if references.durations is not None or not references.names_both_classes:
        return references.durations
    ends = np.zeros(len(references), np.int64)
    np.maximum.at(ends, utterance_of_rows(references.offsets), references.ends)
    return ends


def _extents_there(extents: Int64 | None, where: Int64, utterances: int) -> Int64 | None:
    """Bring extents to the order of other utterances; those that the references lack have no end."""
    if extents is None:
        return None
    there = np.full(utterances, np.iinfo(np.int64).max)
    there[where[where >= 0]] = extents[where >= 0]
    return there

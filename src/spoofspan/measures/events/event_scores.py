"""Event measures: detection of spoofed ranges, and of their boundaries.

An **event** is a spoofed range of the references; ranges that touch or overlap are one event. A **proposal** is a
range that a system calls spoof, with a confidence. For a proposal p and an event e::

    IoU(p, e) = time in both / time in at least one

**AP@t.** Proposals are taken from the most confident to the least; each takes the free event of largest IoU, if that is
at least t. After the proposals of confidence c or more, with T(c) of N(c) of them matched::

    precision(c) = T(c) / N(c)        recall(c) = T(c) / events
    AP = sum over c, falling, of (recall(c) - recall before c) * max over c' <= c of precision(c')

Equal confidences are one step. **AR@N** is the mean over thresholds t of the recall of the N most confident proposals
of each file. Proposals of files without events are false, events of files without proposals are missed.

The two published variants count otherwise; ``docs/measures.md`` says how. Everything is counted in integers and becomes
a float once, at the end.

**ADD 2023**, track 2 (manipulation region location), as it is reported::

    score = 0.3 * sentence accuracy + 0.7 * segment F1

Sentence accuracy: utterances called what they are / utterances; an utterance is (called) spoof if any of it is.
Segment F1: of spoofed time, with spoof as positive, pooled over the corpus or as the mean over utterances. The
challenge's own script was not at hand, so a published number may differ in what this does not say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np

from spoofspan.base.columns import Flags, positions, rows_of, sum_by_utterance, utterance_of_rows
from spoofspan.base.errors import UndefinedMeasureError, UsageError, refuse
from spoofspan.base.times import Int64, duration_ns, exact_sum
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.measures.events.matching import (
    VARIANTS,
    Overlaps,
    Pairs,
    RankedMatching,
    Variant,
    exact_iou,
    exact_ious,
    greedy_matching,
    refuse_nothing,
    sum_of_quotients,
)
from spoofspan.measures.events.proposals_from_scores import proposals_from_scores
from spoofspan.measures.events.spoof_ranges import Ranges, inner_edges, ordered, spoof_ranges, united
from spoofspan.measures.events.tallies import EventTally, EventValue, RankedTally, Sums, Tally, WholeTally, mean_of_aps
from spoofspan.measures.measure import Measure

__all__ = [
    "AR_IOUS",
    "VARIANTS",
    "AVDeepfake1MScore",
    "Add2023Score",
    "EventScores",
    "Variant",
    "add2023_score",
    "avdeepfake1m_score",
    "average_precision_at",
    "average_recall_at",
    "boundary_scores",
    "had_range_scores",
    "proposals_from_scores",
    "segment_f1",
    "segment_scores",
]

AR_IOUS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
CHALLENGE_IOUS = (0.5, 0.75, 0.9, 0.95)
CHALLENGE_COUNTS = (50, 30, 20, 10, 5)
AP_PART, AR_PART = "ap@iou={:g}", "ar@n={}"
SENTENCE, SEGMENT = Fraction(3, 10), Fraction(7, 10)


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
    matching = RankedMatching.of(references, proposals, variant)
    matching.refuse_nothing("AP")
    return matching.average_precision(exact_iou(iou, variant))


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
    thresholds = [exact_iou(iou, variant) for iou in ious]
    if not thresholds:
        raise UsageError("ious is empty; give at least one IoU threshold")
    matching = RankedMatching.of(references, proposals, variant)
    matching.refuse_nothing("AR")
    return matching.average_recall(int(n), thresholds)


@dataclass(frozen=True)
class EventScores:
    """Matched, predicted and expected amounts: numbers of ranges or boundaries, or ns of time."""

    matched: int
    predicted: int
    expected: int

    @property
    def precision(self) -> float:
        """Share of the predicted that is right."""
        return self.matched / self.predicted

    @property
    def recall(self) -> float:
        """Share of the expected that was found."""
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
    return _counts("f1", references, predicted, iou=iou)


def _counts(name: str, references: References, predicted: Proposals | Scores, **parameters: float) -> EventScores:
    """Count events by a measure of the catalogue."""
    measure = Measure(f"event-{name}", parameters=tuple(parameters.items()))
    parts = EventCorpus(references, as_proposals(predicted)).value(measure).parts
    return EventScores(*(int(parts[one.name]) for one in fields(EventScores)))


def segment_f1(references: References, predicted: Proposals | Scores, iou: float) -> float:
    """Return the segment F1 at an IoU threshold: ``2 * matched / (predicted + events)``."""
    return segment_scores(references, predicted, iou).f1


def boundary_scores(references: References, predicted: Proposals | Scores, tolerance: float) -> EventScores:
    """Count boundaries found within a tolerance in seconds (on the tolerance counts).

    Boundaries are the edges of the united spoof ranges on both sides, whether spoof begins or ends there. Edges at 0
    and at the end of the utterance (if it is known) are none: nothing changes there (nor where the source rounded the
    reference's edge by no more than ``snap``). The matching is one-to-one and optimal: no other one has more pairs.
    """
    return _counts("boundary-f1", references, predicted, tolerance=tolerance)


def _boundary_counts(references: References, proposals: Proposals, tolerance: float) -> tuple[int, int, int]:
    if not (reach := duration_ns(tolerance, "tolerance")) >= 0:
        raise UsageError(f"tolerance must be 0 or more seconds, not {tolerance!r}")
    where = positions(references.utterances, proposals.utterances)
    extents = extents_of(references)
    expected, expected_offsets = inner_edges(spoof_ranges(references, unite=True), extents, references.snap)
    ranges, _ = united(ordered(proposals.offsets, proposals.starts, proposals.ends))
    found, found_offsets = inner_edges(ranges, _extents_there(extents, where, len(proposals)))
    # Neighbours have one axis: [edge, edge] and [edge - tolerance, edge + tolerance] meet iff they are near enough.
    # Both in order, each expected one takes the earliest free predicted one, which is optimal for equal tolerances.
    points = Ranges(expected_offsets, 2 * expected, 2 * expected + 1)
    pairs = Overlaps(points, found_offsets, 2 * (found - reach), 2 * (found + reach) + 1, where).pairs
    matched = greedy_matching(pairs.events, pairs.proposals, pairs.events)
    return matched.size, found.size, expected.size


def had_range_scores(references: References, predicted: Proposals | Scores) -> EventScores:
    """Count time (ns): spoofed and predicted, predicted, spoofed.

    Our reading of the precision, recall and F1 that are published for the Half-truth corpus (HAD): of time. No text
    with their definition was at hand, so a published number may be of something else.
    """
    return _counts("had-f1", references, predicted)


@dataclass(frozen=True, eq=False)
class SpoofedTime:
    """Spoofed time and predicted time, each united, and where they overlap."""

    events: Ranges
    ranges: Ranges
    where: Int64  # utterance of the references -> utterance of the proposals, -1 where there is none
    pairs: Pairs

    @classmethod
    def of(cls, references: References, proposals: Proposals) -> SpoofedTime:
        events = spoof_ranges(references, unite=True)
        ranges, _ = united(ordered(proposals.offsets, proposals.starts, proposals.ends))
        where = positions(references.utterances, proposals.utterances)
        pairs = Overlaps(events, ranges.offsets, ranges.starts, ranges.ends, where).pairs
        return cls(events, ranges, where, pairs)

    @property
    def spoofed(self) -> Int64:
        """Spoofed time of each utterance of the references."""
        return lasting(self.events)

    @property
    def called(self) -> Int64:
        """Predicted time of each utterance of the references; 0 without proposals."""
        return np.where(self.where >= 0, lasting(self.ranges)[self.where], 0)


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
    value = EventCorpus(references, proposals).value(Measure("event-avdeepfake1m"))
    ap = {iou: value.parts[AP_PART.format(iou)] for iou in CHALLENGE_IOUS}
    return AVDeepfake1MScore(value.value, ap, {n: value.parts[AR_PART.format(n)] for n in CHALLENGE_COUNTS})


def as_proposals(predicted: Proposals | Scores) -> Proposals:
    """Take hard decisions as the ranges decided spoof; scores need a threshold first."""
    if isinstance(predicted, Proposals):
        return predicted
    if not predicted.decisions:
        raise UsageError("scores are no ranges; make proposals of them first: proposals_from_scores(scores, threshold)")
    return proposals_from_scores(predicted, 0.5)


def extents_of(references: References) -> Int64 | None:
    """End of each utterance: its duration, or its last end if the references name both classes; else None."""
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


@dataclass(frozen=True)
class Add2023Score:
    """The score of ADD 2023, and what it is made of."""

    value: float
    sentence_accuracy: float
    segment_f1: float
    utterances: int
    left_out: int  # utterances without an F1, in the mean over utterances


def add2023_score(references: References, predicted: Proposals | Scores, *, macro: bool = False) -> Add2023Score:
    """Return 0.3 * sentence accuracy + 0.7 * segment F1, which is pooled, or with ``macro`` a mean over utterances.

    Utterances without spoofed time have no F1 and are left out of that mean, as in ``range-f1-macro``: otherwise such
    an utterance would count as 0 with the least error, and be left out without any.

    >>> references = References.from_ranges({"a": [(0.0, 1.0, "spoof")], "b": [(0.0, 1.0, "bonafide")]})
    >>> score = add2023_score(references, Proposals.from_ranges({"a": [(0.5, 1.0, 0.9)]}))
    >>> score.sentence_accuracy, round(score.segment_f1, 3), round(score.value, 3)
    (1.0, 0.667, 0.767)
    """
    return _add2023_score(macro, *_add2023_counts(references, as_proposals(predicted)))


def _add2023_counts(references: References, proposals: Proposals) -> tuple[int, int, int, int, int, Fraction, int]:
    """Counts over some utterances, as :func:`_add2023_score` takes them."""
    time = SpoofedTime.of(references, proposals)
    refuse_unknown(references, proposals, time.ranges)
    both = np.zeros(len(references), np.int64)
    np.add.at(both, utterance_of_rows(time.events.offsets)[time.pairs.events], time.pairs.intersections)
    spoofed, called = time.spoofed, time.called
    right = int(np.count_nonzero((spoofed > 0) == (called > 0)))
    some = np.flatnonzero(spoofed)
    f1s = sum_of_quotients(2 * both[some], (spoofed + called)[some])
    return right, len(references), exact_sum(both), exact_sum(spoofed), exact_sum(called), f1s, int(some.size)


def _add2023_score(
    macro: bool, right: int, utterances: int, both: int, spoofed: int, called: int, f1s: Fraction, with_f1: int
) -> Add2023Score:
    """The score, of utterances called right, of spoofed time (in both, in the references, called), and of F1s."""
    refuse_nothing(spoofed, called, "the ADD 2023 score")
    accuracy = Fraction(right, utterances)
    f1 = f1s / with_f1 if macro else Fraction(2 * both, spoofed + called)
    left_out = utterances - with_f1 if macro else 0
    return Add2023Score(float(SENTENCE * accuracy + SEGMENT * f1), float(accuracy), float(f1), utterances, left_out)


def lasting(ranges: Ranges) -> Int64:
    """Total length of the ranges of each utterance."""
    return sum_by_utterance(ranges.ends - ranges.starts, ranges.offsets)


def refuse_unknown(references: References, proposals: Proposals, ranges: Ranges) -> None:
    """Refuse a file whose label nobody knows: it is neither called right nor wrong."""
    unknown = (positions(proposals.utterances, references.utterances) < 0) & (np.diff(ranges.offsets) > 0)
    refuse(
        np.flatnonzero(unknown),
        lambda i: f"utterance {proposals.utterances[i]!r} has proposals but no references",
        "whole utterances are judged here; complete the references, or drop the proposals",
    )


# ---------------------------------------------------------------- by the catalogue's entries


class EventCorpus:
    """References and proposals of a corpus; several measures share their matching.

    With ``chosen``, only these of the united events count, among all proposals: of measures that are of each event.
    """

    scored = False  # whether there are scores, to make proposals of at every threshold

    def __init__(self, references: References, proposals: Proposals, chosen: Flags | None = None) -> None:
        self.references, self.proposals, self.chosen = references, proposals, chosen
        self._matchings: dict[Variant, RankedMatching] = {}

    def part(self, kept: Int64, files: Int64) -> EventCorpus:
        """Keep some utterances of the references, and some files of the proposals."""
        chosen = self.chosen
        if chosen is not None:
            chosen = chosen[rows_of(spoof_ranges(self.references, unite=True).offsets, kept)[0]]
        some = self.references.take(kept)
        return EventCorpus(some, self.proposals.take_for(some.utterances, files), chosen)

    def matched(self, measure: Measure, iou: float) -> tuple[Pairs, int]:
        """The pairs of a chosen event and the proposal that takes it, and how many events are chosen."""
        matching = self.matching(measure)
        pairs = matching.matched_pairs(exact_iou(iou))
        if self.chosen is None:
            return pairs, matching.events.starts.size
        return pairs.at(np.flatnonzero(self.chosen[pairs.events])), int(np.count_nonzero(self.chosen))

    def matching(self, measure: Measure) -> RankedMatching:
        """The matching by the rules that a measure follows, set up once."""
        variant = measure.event_kind.variant
        if variant not in self._matchings:
            self._matchings[variant] = RankedMatching.of(self.references, self.proposals, variant)
        return self._matchings[variant]

    def tally(self, measure: Measure) -> EventTally:
        """Counts of a measure."""
        matching = self.matching(measure)
        counted: Tally = measure.kind.function(measure, self, **dict(measure.parameters))
        events = matching.events.starts.size if self.chosen is None else np.count_nonzero(self.chosen)
        return EventTally(int(events), matching.counted, self.scored, counted)

    def pairs_on_threshold(self, measure: Measure) -> int:
        """Number of pairs of a proposal and an event have an IoU that is exactly a threshold of the measure."""
        parameters = dict(measure.parameters)
        if "iou" in parameters:
            return self.matching(measure).pairs_on(exact_ious(parameters["iou"]))
        of_recall = list(map(exact_iou, AR_IOUS))
        if measure.kind.function is average_recall:
            return self.matching(measure).pairs_on(of_recall, int(parameters["n"]))
        if measure.kind.function is not avdeepfake1m:
            return 0
        of_precision = list(map(exact_iou, CHALLENGE_IOUS))
        others = [iou for iou in of_recall if iou not in of_precision]
        matching = self.matching(measure)
        return matching.pairs_on(of_precision) + matching.pairs_on(others, max(CHALLENGE_COUNTS))

    def value(self, measure: Measure) -> EventValue:
        """The value of a measure."""
        return self.tally(measure).value(measure)


def check_parameters(measure: Measure) -> None:
    """Refuse parameters that no corpus could give a value for."""
    parameters = dict(measure.parameters)
    if "iou" in parameters:
        exact_ious(parameters["iou"], measure.event_kind.variant)
    if "n" in parameters and not (float(parameters["n"]) >= 1 and float(parameters["n"]).is_integer()):
        raise UsageError(f"{measure}: n must be a whole number of proposals, 1 or more")
    for name in ("tolerance", "onset", "offset", "rate"):
        if name in parameters and not 0 <= float(parameters[name]) < float("inf"):
            unit = "a share of the event, 0 or more" if name == "rate" else "0 or more seconds"
            raise UsageError(f"{measure}: {name} must be {unit}")
    for name in ("dtc", "gtc"):
        if name in parameters and not 0 < float(parameters[name]) <= 1:
            raise UsageError(f"{measure}: {name} is a share of a range, above 0 and at most 1")
    if "max_efpr" in parameters and not 0 < float(parameters["max_efpr"]) < float("inf"):
        raise UsageError(f"{measure}: max_efpr is a number of false alarms in an hour, above 0")


def average_precision(measure: Measure, corpus: EventCorpus, iou: float | str) -> Tally:
    """``ap`` and its variants, or their mean over several IoU thresholds."""
    matching = corpus.matching(measure)
    ious = exact_ious(iou, matching.variant)
    if matching.variant != "spoofspan":
        return WholeTally(lambda: mean_of_aps(measure, [matching.average_precision(one) for one in ious]))
    matched = tuple((matching.confidences[matching.matched(one)],) for one in ious)
    return RankedTally((matching.sorted_confidences,), matched, int(matching.events.starts.size))


def average_recall(measure: Measure, corpus: EventCorpus, n: float) -> Tally:
    """``ar`` and its variants."""
    matching = corpus.matching(measure)
    return Sums((matching.found(int(n), list(map(exact_iou, AR_IOUS))), int(matching.events.starts.size)), _recall)


def _recall(measure: Measure, found: int, events: int) -> EventValue:
    return EventValue(float(Fraction(found, len(AR_IOUS) * events)))


def avdeepfake1m(measure: Measure, corpus: EventCorpus) -> Tally:
    """``avdeepfake1m``."""
    return WholeTally(lambda: _avdeepfake1m(corpus.matching(measure)))


def _avdeepfake1m(matching: RankedMatching) -> EventValue:
    ap = {AP_PART.format(iou): matching.average_precision(exact_iou(iou)) for iou in CHALLENGE_IOUS}
    ar = {AR_PART.format(n): matching.average_recall(n, list(map(exact_iou, AR_IOUS))) for n in CHALLENGE_COUNTS}
    means = (sum(map(Fraction, values)) / len(values) for values in (ap.values(), ar.values()))
    return EventValue(float(sum(means) / 2), ap | ar)


def segments(measure: Measure, corpus: EventCorpus, iou: float) -> Tally:
    """``precision``, ``recall`` and ``f1``, which may be a mean over utterances."""
    matching = corpus.matching(measure)
    if measure.macro:
        return Sums(_f1_counts(matching, iou), _mean_f1)
    if corpus.chosen is not None:
        pairs, events = corpus.matched(measure, iou)
        return Sums((pairs.events.size, matching.counted, events), _one_of_three)
    counts = matching.matched(exact_iou(iou)).size, matching.counted, matching.events.starts.size
    return Sums(counts, _one_of_three)


def _f1_counts(matching: RankedMatching, iou: float) -> tuple[Fraction, int, int]:
    """The sum of F1 over the utterances that have events, how many these are, and how many have none."""
    predicted = np.diff(matching.offsets)
    rows = utterance_of_rows(matching.offsets)[matching.matched(exact_iou(iou))]
    matched = np.bincount(rows, minlength=predicted.size)
    there = matching.where >= 0
    matched, predicted = (np.where(there, column[matching.where], 0) for column in (matched, predicted))
    expected = np.diff(matching.events.offsets)
    some = np.flatnonzero(expected)
    total = sum_of_quotients(2 * matched[some], (predicted + expected)[some])
    return total, int(some.size), int(expected.size - some.size)


def _mean_f1(measure: Measure, total: Fraction, utterances: int, left_out: int) -> EventValue:
    more = f"; {left_out} have no event and are left out" if left_out else ""
    return EventValue(float(total / utterances), notes=(f"the mean of {utterances} utterances{more}",))


def boundaries(measure: Measure, corpus: EventCorpus, tolerance: float) -> Tally:
    """``boundary-precision``, ``boundary-recall`` and ``boundary-f1``."""
    return Sums(_boundary_counts(corpus.references, corpus.proposals, tolerance), _one_of_boundaries)


def _one_of_boundaries(measure: Measure, matched: int, predicted: int, expected: int) -> EventValue:
    if not expected:
        raise UndefinedMeasureError(
            "boundary scores need boundaries, and in these references no spoof begins or ends inside an utterance; "
            "check their labels"
        )
    if not predicted:
        raise UndefinedMeasureError("boundary scores need a predicted boundary, and there is none; move the threshold")
    return _one_of_three(measure, matched, predicted, expected)


def had_ranges(measure: Measure, corpus: EventCorpus) -> Tally:
    """``had-precision``, ``had-recall`` and ``had-f1``."""
    time = SpoofedTime.of(corpus.references, corpus.proposals)
    predicted, expected = (exact_sum(one.ends - one.starts) for one in (time.ranges, time.events))
    return Sums((exact_sum(time.pairs.intersections), predicted, expected), _one_of_time)


def _one_of_time(measure: Measure, matched: int, predicted: int, expected: int) -> EventValue:
    refuse_nothing(expected, predicted, "the HAD range scores")
    return replace(_one_of_three(measure, matched, predicted, expected), notes=(measure.kind.about,))


def _one_of_three(measure: Measure, *counts: int) -> EventValue:
    scores = EventScores(*counts)
    values = {name: getattr(scores, name) for name in ("precision", "recall", "f1")}
    return EventValue(values[measure.kind.name.rpartition("-")[2]], asdict(scores) | values)


def add2023(measure: Measure, corpus: EventCorpus) -> Tally:
    """``add2023``, pooled or as a mean over utterances."""
    return Sums(_add2023_counts(corpus.references, corpus.proposals), _add2023)


def _add2023(measure: Measure, *counts: Any) -> EventValue:
    score = _add2023_score(measure.macro, *counts)
    notes = [measure.kind.about]
    if measure.macro:
        left_out = f"; {score.left_out} have none and are left out" if score.left_out else ""
        notes.append(f"the F1 is the mean of {score.utterances - score.left_out} utterances{left_out}")
    parts = {"sentence_accuracy": score.sentence_accuracy, "segment_f1": score.segment_f1}
    return EventValue(score.value, parts, tuple(notes))

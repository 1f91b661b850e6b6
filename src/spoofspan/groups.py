"""Breakdowns: which attacks, speakers, lengths and boundaries carry the error of a system.

Every group is measured as a corpus of its own (its own EER, say), and next to it stands how much of the error of the
whole corpus it carries, at the threshold of the whole corpus. A group without one of the classes has no EER: it says
so, and still has its share of the error.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.breakdown import errors_with
from spoofspan.errors import DataError, SpoofspanWarning, UndefinedMeasureError, UsageError
from spoofspan.evaluate import evaluate
from spoofspan.measures import Measure, Measurement
from spoofspan.nanoseconds import Int64, duration_ns
from spoofspan.operating_point import OperatingPoint
from spoofspan.references import SPOOF, References
from spoofspan.rules import Regions
from spoofspan.scores import Scores

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.rules import RuleArguments

LENGTHS = (0.1, 0.2, 0.4, 0.8, 1.6)  # seconds
DISTANCES = (0.02, 0.04, 0.08, 0.16)  # seconds
FOREVER = 1e8  # seconds; no utterance is as long


@dataclass(frozen=True)
class Group:
    """A part of a corpus: its own value, and how much of the whole corpus's error it carries."""

    name: str
    utterances: int
    bona_fide_seconds: float
    spoof_seconds: float
    error_seconds: float
    share_of_error: float  # NaN where there is no error at all
    measurement: Measurement | None
    reason: str = ""  # why there is no value

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "name": self.name,
            "utterances": self.utterances,
            "bona_fide_seconds": self.bona_fide_seconds,
            "spoof_seconds": self.spoof_seconds,
            "error_seconds": self.error_seconds,
            "share_of_error": self.share_of_error,
            "value": None if self.measurement is None else self.measurement.value,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Breakdown:
    """The groups of a corpus, by something."""

    by: str
    measure: str
    threshold: float
    groups: tuple[Group, ...]
    about: str = ""

    def __getitem__(self, name: str) -> Group:
        for group in self.groups:
            if group.name == name:
                return group
        raise KeyError(name)

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        from spoofspan.report.results import breakdown_table

        return breakdown_table(self).render("html")

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "by": self.by,
            "measure": self.measure,
            "threshold": self.threshold,
            "groups": [group.to_dict() for group in self.groups],
        }


def by_column(
    references: References,
    scores: Scores,
    column: Mapping[str, str],
    *,
    name: str = "column",
    measure: str = "range-eer",
    **arguments: Unpack[RuleArguments],
) -> Breakdown:
    """Break down by a value that every utterance has (speaker, codec, language): utterance -> value."""
    whole = _Whole(references, scores, measure, arguments)
    missing = [utt for utt in whole.utterances if utt not in column]
    if missing:
        raise DataError(f"{name}: no value for {', '.join(map(repr, missing[:20]))}; give one for every utterance")
    values = [column[utt] for utt in whole.utterances]
    groups = [
        whole.group(value, np.array([one == value for one in values]), lambda utts: _select(references, scores, utts))
        for value in sorted(set(values))
    ]
    return Breakdown(name, measure, whole.point.threshold, tuple(groups))


def by_kind(
    references: References, scores: Scores, *, measure: str = "range-eer", **arguments: Unpack[RuleArguments]
) -> Breakdown:
    """Break down by the kind of the spoofed ranges: each attack against all bona fide time."""
    if references.kinds is None:
        raise UsageError("these references have no kinds; give RTTM with attack names, or a column 'kind'")
    codes = references.kinds
    names = [
        *references.kind_names,
        *(["(no kind)"] if bool(((codes < 0) & (references.labels == SPOOF)).any()) else []),
    ]
    chosen = [(name, codes == (i if i < len(references.kind_names) else -1)) for i, name in enumerate(names)]
    return _by_ranges("kind", references, scores, chosen, measure, arguments)


def by_length(
    references: References,
    scores: Scores,
    *,
    edges: Sequence[float] = LENGTHS,
    measure: str = "range-eer",
    **arguments: Unpack[RuleArguments],
) -> Breakdown:
    """Break down by the length of the spoofed ranges (``edges`` in seconds), each against all bona fide time."""
    bounds = [0, *(duration_ns(edge, "edge") for edge in edges), np.iinfo(np.int64).max]
    lengths = references.range_durations
    chosen = []
    for low, high in pairwise(bounds):
        name = f"under {high / 1e9:g} s" if not low else f"{low / 1e9:g} s and more" if high == bounds[-1] else ""
        chosen.append((name or f"{low / 1e9:g} to {high / 1e9:g} s", (lengths >= low) & (lengths < high)))
    return _by_ranges("length", references, scores, chosen, measure, arguments)


def by_boundary(
    references: References,
    scores: Scores,
    *,
    distances: Sequence[float] = DISTANCES,
    measure: str = "range-eer",
    **arguments: Unpack[RuleArguments],
) -> Breakdown:
    """Break down by the distance from the nearest true boundary: how much of the error lies within each.

    A group's value is that of the time *outside* its distance, as with a collar of it.
    """
    whole = _Whole(references, scores, measure, arguments)
    rest = whole.measured
    groups = []
    for distance in distances:
        outside = _Whole(references, scores, measure, {**arguments, "collar": distance}, at=whole.point)
        near = whole.error - outside.error
        times = whole.bona_fide - outside.bona_fide, whole.spoof - outside.spoof
        groups.append(
            Group(
                f"within {distance * 1000:g} ms",
                len(whole.utterances),
                times[0] / 1e9,
                times[1] / 1e9,
                near / 1e9,
                near / whole.error if whole.error else float("nan"),
                outside.measured,
            )
        )
    about = f"values are those of the time outside; {rest.measure} of all time is {rest.value_text}"
    return Breakdown("boundary", measure, whole.point.threshold, tuple(groups), about)


class _Whole:
    """A corpus, its value, and its errors by utterance at one threshold."""

    def __init__(
        self,
        references: References,
        scores: Scores,
        measure: str,
        arguments: Mapping[str, Any],
        at: OperatingPoint | None = None,
    ) -> None:
        if Measure.parse(measure).basis != "range":
            raise UsageError(f"breakdowns are in seconds, so the measure is one of ranges, not {measure}")
        self.measure, self.arguments = measure, arguments
        self.measured = _measure(references, scores, measure, arguments)
        self.point = self.measured.point if at is None else at
        if self.point.threshold != self.point.threshold:  # a value over all thresholds
            self.point = _measure(references, scores, "range-eer", arguments).point
        if Measure.parse(measure).kind.group == "threshold":  # groups are measured where the whole corpus is
            self.arguments = {**arguments, "threshold": self.point.threshold}
        self.errors = errors_with(references, scores, self.point, self.measured.rules)
        self.utterances = self.errors.utterances
        self.bona_fide, self.spoof = int(self.errors.bona_fide.sum()), int(self.errors.spoof.sum())
        self.by_utterance: Int64 = self.errors.false_positive + self.errors.false_negative
        self.error = int(self.by_utterance.sum())

    def group(self, name: str, rows: Any, select: Callable[[Sequence[str]], tuple[References, Scores]]) -> Group:
        """Measure some of the utterances."""
        chosen = np.flatnonzero(rows)
        error = int(self.by_utterance[chosen].sum())
        measured, reason = _try(*select([self.utterances[i] for i in chosen]), self.measure, self.arguments)
        return Group(
            name,
            chosen.size,
            int(self.errors.bona_fide[chosen].sum()) / 1e9,
            int(self.errors.spoof[chosen].sum()) / 1e9,
            error / 1e9,
            error / self.error if self.error else float("nan"),
            measured,
            reason,
        )


def _by_ranges(
    by: str,
    references: References,
    scores: Scores,
    chosen: Sequence[tuple[str, Any]],
    measure: str,
    arguments: Mapping[str, Any],
) -> Breakdown:
    """Measure some spoofed ranges at a time, the other spoofed ranges left out of account."""
    whole = _Whole(references, scores, measure, arguments)
    groups = []
    is_spoof = references.labels == SPOOF
    for name, kept in chosen:
        if not (is_spoof & kept).any():
            continue
        others = is_spoof & ~kept
        regions = _regions_without(references, others, arguments.get("regions"))
        measured, reason = _try(references, scores, measure, {**whole.arguments, "regions": regions})
        missed = 0
        if measured is not None:
            missed = int(errors_with(references, scores, whole.point, measured.rules).false_negative.sum())
        missed_of_all = int(whole.errors.false_negative.sum())
        groups.append(
            Group(
                name,
                int(np.count_nonzero(np.add.reduceat(is_spoof & kept, _heads(references)) > 0)),
                whole.bona_fide / 1e9,
                int(references.range_durations[is_spoof & kept].sum()) / 1e9,
                missed / 1e9,
                missed / missed_of_all if missed_of_all else float("nan"),
                measured,
                reason,
            )
        )
    about = "errors are missed spoof: false alarms belong to no range"
    return Breakdown(by, measure, whole.point.threshold, tuple(groups), about)


def _heads(references: References) -> Int64:
    filled = references.offsets[1:] > references.offsets[:-1]
    return references.offsets[:-1][filled]


def _regions_without(references: References, left_out: Any, given: Regions | None) -> Regions:
    """All time, or that of given regions, without some of the ranges."""
    regions: dict[str, list[tuple[float, float]]] = {}
    for i, utterance in enumerate(references.utterances):
        rows = range(int(references.offsets[i]), int(references.offsets[i + 1]))
        holes = [(references.starts[row] / 1e9, references.ends[row] / 1e9) for row in rows if left_out[row]]
        kept = [(0.0, FOREVER)] if given is None else sorted(given.get(utterance, ()))
        regions[utterance] = list(_minus(kept, holes))
    return regions


def _minus(
    ranges: Sequence[tuple[float, float]], holes: Sequence[tuple[float, float]]
) -> Iterator[tuple[float, float]]:
    for start, end in ranges:
        for hole_start, hole_end in sorted(holes):
            if hole_start > start and start < end:
                yield start, min(hole_start, end)
            start = max(start, hole_end)
        if start < end:
            yield start, end


def _select(references: References, scores: Scores, utterances: Sequence[str]) -> tuple[References, Scores]:
    wanted = set(utterances)
    return (
        references.take(np.array([i for i, utt in enumerate(references.utterances) if utt in wanted], np.int64)),
        scores.take(np.array([i for i, utt in enumerate(scores.utterances) if utt in wanted], np.int64)),
    )


def _measure(references: References, scores: Scores, measure: str, arguments: Mapping[str, Any]) -> Measurement:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpoofspanWarning)  # small groups have wide gaps
        return next(iter(evaluate(references, scores, [measure], **arguments).measurements.values()))


def _try(
    references: References, scores: Scores, measure: str, arguments: Mapping[str, Any]
) -> tuple[Measurement | None, str]:
    try:
        return _measure(references, scores, measure, arguments), ""
    except UndefinedMeasureError as error:
        return None, str(error).partition(";")[0]

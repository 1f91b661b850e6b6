"""Breakdowns: which attacks, speakers, lengths and boundaries carry the error of a system.

Every group is measured as a corpus of its own (its own EER, say), and next to it stands how much of the error of the
whole corpus it carries, at the threshold of the whole corpus. A group without one of the classes has no EER: it says
so, and still has its share of the error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.base.errors import DataError, UsageError, strangers
from spoofspan.base.other_ids import id_remedy
from spoofspan.base.tabular import Tabular
from spoofspan.base.times import duration_ns
from spoofspan.data.references import References
from spoofspan.data.rules import RuleArguments
from spoofspan.data.scores import Scores
from spoofspan.evaluation.measurement import Measurement
from spoofspan.evaluation.selections import NO_KIND, OfUtterances, RangesOfKind, RangesOfLength, SpoofedRanges
from spoofspan.evaluation.whole_corpus import Whole, WholeInMemory
from spoofspan.measures.operating_point import OperatingPoint

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.uncertainty.clusters import Resampling
    from spoofspan.uncertainty.comparison import Difference

LENGTHS = (0.1, 0.2, 0.4, 0.8, 1.6)  # seconds
DISTANCES = (0.02, 0.04, 0.08, 0.16)  # seconds


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
        plain = {name: value for name, value in vars(self).items() if name not in ("measurement", "reason")}
        interval = None if self.measurement is None else self.measurement.interval
        return {
            **plain,
            "value": None if self.measurement is None else self.measurement.value,
            "reason": self.reason,
            "interval": None if interval is None else interval.to_dict(),
        }


@dataclass(frozen=True)
class Breakdown(Tabular):
    """The groups of a corpus, by something."""

    by: str
    measure: str
    threshold: float
    groups: tuple[Group, ...]
    about: str = ""
    differences: tuple[Difference, ...] = ()  # of every two groups with a value, if intervals were asked for

    def __getitem__(self, name: str) -> Group:
        for group in self.groups:
            if group.name == name:
                return group
        raise KeyError(name)

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each group."""
        return [{"by": self.by, "measure": self.measure, **group.to_dict()} for group in self.groups]

    def __repr__(self) -> str:
        return f"Breakdown({self.measure} by {self.by}: {len(self.groups)} groups)"

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        from spoofspan.report.verdicts import breakdown_table

        return breakdown_table(self).render("html")

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "by": self.by,
            "measure": self.measure,
            "threshold": self.threshold,
            "groups": [group.to_dict() for group in self.groups],
            "differences": [one.to_dict() for one in self.differences],
        }


def by_column(
    references: References,
    scores: Scores,
    column: Mapping[str, str],
    *,
    name: str = "column",
    measure: str = "range-eer",
    resampling: Resampling | None = None,
    differences: bool = True,
    **arguments: Unpack[RuleArguments],
) -> Breakdown:
    """Break down by a value that every utterance has (speaker, codec, language): utterance -> value."""
    whole = WholeInMemory(references, scores, measure, {**arguments, "resampling": resampling})
    return groups_by_column(whole, column, name, differences=differences)


def by_kind(
    references: References,
    scores: Scores,
    *,
    measure: str = "range-eer",
    resampling: Resampling | None = None,
    differences: bool = True,
    **arguments: Unpack[RuleArguments],
) -> Breakdown:
    """Break down by the kind of the spoofed ranges: each attack against all bona fide time."""
    whole = WholeInMemory(references, scores, measure, {**arguments, "resampling": resampling})
    return groups_by_kind(whole, differences=differences)


def by_length(
    references: References,
    scores: Scores,
    *,
    edges: Sequence[float] = LENGTHS,
    measure: str = "range-eer",
    resampling: Resampling | None = None,
    differences: bool = True,
    **arguments: Unpack[RuleArguments],
) -> Breakdown:
    """Break down by the length of the spoofed ranges (``edges`` in seconds), each against all bona fide time."""
    whole = WholeInMemory(references, scores, measure, {**arguments, "resampling": resampling})
    return groups_by_length(whole, edges, differences=differences)


def by_boundary(
    references: References,
    scores: Scores,
    *,
    distances: Sequence[float] = DISTANCES,
    measure: str = "range-eer",
    resampling: Resampling | None = None,
    differences: bool = True,
    **arguments: Unpack[RuleArguments],
) -> Breakdown:
    """Break down by the distance from the nearest true boundary: how much of the error lies within each.

    The value of a group is measured on the time *outside* its distance, as with a collar. A distance holds the smaller
    ones, so there are no ``differences``, wanted or not.
    """
    whole = WholeInMemory(references, scores, measure, {**arguments, "resampling": resampling})
    return groups_by_boundary(whole, distances)


# The breakdowns that need nothing but references and scores, by name.
BREAKDOWNS: Mapping[str, Callable[..., Breakdown]] = {"kind": by_kind, "length": by_length, "boundary": by_boundary}


def refuse_missing(name: str, column: Mapping[str, str], utterances: Sequence[str]) -> None:
    """Refuse a column that does not know every utterance, with the reason if the ids tell it."""
    missing = [utt for utt in utterances if utt not in column]
    if missing:
        why = id_remedy(missing, column, their_name="metadata") or "give one for every utterance"
        raise DataError(f"{name}: no value for {', '.join(map(repr, missing[:20]))}; {why}")


def groups_by_column(
    whole: Whole, column: Mapping[str, str], name: str = "column", *, differences: bool = True
) -> Breakdown:
    """The groups of utterances with the same value."""
    utterances = whole.errors.utterances
    refuse_missing(name, column, utterances)
    rows: dict[str, list[int]] = {}
    for row, utt in enumerate(utterances):
        rows.setdefault(column[utt], []).append(row)
    values = sorted(rows)
    measurers = whole.measurers([OfUtterances(frozenset(utterances[row] for row in rows[one])) for one in values])
    errors = whole.errors.false_positive + whole.errors.false_negative
    groups = []
    for value, measure in zip(values, measurers, strict=True):
        chosen = rows[value]
        times = int(whole.errors.bona_fide[chosen].sum()), int(whole.errors.spoof[chosen].sum())
        found = whole.try_on(value, measure)
        groups.append(_group(value, len(chosen), times, (int(errors[chosen].sum()), int(errors.sum())), found))
    about = "; ".join(strangers(f"a {name}", column, utterances))
    return _breakdown(whole, name, groups, about, differences)


def groups_by_kind(whole: Whole, *, differences: bool = True) -> Breakdown:
    """The kinds of the spoofed ranges."""
    kinds = whole.kinds()
    if not kinds:
        raise UsageError("these references have no kinds; give RTTM with attack names, or a column 'kind'")
    names = [*sorted(kinds - {NO_KIND}), *sorted(kinds & {NO_KIND})]
    return _by_ranges(whole, "kind", {name: RangesOfKind(name) for name in names}, differences)


def groups_by_length(whole: Whole, edges: Sequence[float] = LENGTHS, *, differences: bool = True) -> Breakdown:
    """The spoofed ranges by their length."""
    bounds = [0, *(duration_ns(edge, "edge") for edge in edges), np.iinfo(np.int64).max]
    chosen: dict[str, SpoofedRanges] = {}
    for low, high in pairwise(bounds):
        name = f"under {high / 1e9:g} s" if not low else f"{low / 1e9:g} s and more" if high == bounds[-1] else ""
        chosen[name or f"{low / 1e9:g} to {high / 1e9:g} s"] = RangesOfLength(low, int(high))
    return _by_ranges(whole, "length", chosen, differences)


def groups_by_boundary(whole: Whole, distances: Sequence[float] = DISTANCES) -> Breakdown:
    """How much of the error lies near true boundaries."""
    groups = []
    for distance in distances:
        outside = whole.farther_than(distance)
        all_time, left = whole.totals, outside.totals
        times = all_time.bona_fide - left.bona_fide, all_time.spoof - left.spoof
        error = _error(all_time) - _error(left), _error(all_time)
        found = outside.with_interval(), ""
        groups.append(_group(f"within {distance * 1000:g} ms", len(whole.mass.utterances), times, error, found))
    value = whole.measured.value_text
    about = f"each value: on the time farther than that from any boundary; on all time it is {value}"
    return _breakdown(whole, "boundary", groups, about, differences=False)


def _by_ranges(whole: Whole, by: str, chosen: Mapping[str, SpoofedRanges], differences: bool) -> Breakdown:
    """Measure some spoofed ranges at a time."""
    groups = []
    for name, part in whole.spoofed_parts(chosen).items():
        found = whole.try_on(name, part.measure)
        error = 0 if found[0] is None else part.missed, whole.totals.false_negative
        groups.append(_group(name, part.utterances, (whole.totals.bona_fide, part.spoof), error, found))
    about = "errors: missed spoof only, since a false alarm lies in no spoofed range"
    return _breakdown(whole, by, groups, about, differences)


def _error(at: OperatingPoint) -> int:
    """All time that is called wrong (ns)."""
    return at.false_positive + at.false_negative


def _group(
    name: str, utterances: int, times: tuple[int, int], error: tuple[int, int], found: tuple[Measurement | None, str]
) -> Group:
    """A group of its bona fide and spoofed time (ns), its error and that of all, its value or why it has none."""
    share = error[0] / error[1] if error[1] else float("nan")
    return Group(name, utterances, times[0] / 1e9, times[1] / 1e9, error[0] / 1e9, share, *found)


def _breakdown(whole: Whole, by: str, groups: Sequence[Group], about: str, differences: bool) -> Breakdown:
    tested = whole.differences() if differences else ()
    return Breakdown(by, str(whole.plan.measure), whole.point.threshold, tuple(groups), about, tested)

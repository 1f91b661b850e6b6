"""Breakdowns: which attacks, speakers, lengths and boundaries carry the error of a system.

Every group is measured as a corpus of its own (its own EER, say), and next to it stands how much of the error of the
whole corpus it carries, at the threshold of the whole corpus. A group without one of the classes has no EER: it says
so, and still has its share of the error.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import first_rows, positions, utterance_of_rows
from spoofspan.base.errors import DataError, SpoofspanWarning, UndefinedMeasureError, UsageError, strangers
from spoofspan.base.tabular import Tabular
from spoofspan.base.times import Int64, duration_ns
from spoofspan.data.references import SPOOF, References
from spoofspan.data.rules import RuleArguments
from spoofspan.data.scores import Scores
from spoofspan.evaluation.measurement import Measurement
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.evaluation.regions_left import regions_without
from spoofspan.evaluation.signature import Inputs, Signature
from spoofspan.mass.ranges import Overlay
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.eer import equal_error_rate
from spoofspan.measures.measure import Measure
from spoofspan.measures.operating_point import OperatingPoint, point_at
from spoofspan.measures.per_utterance import UtteranceErrors, errors_of_overlay

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.uncertainty.clusters import Resampling
    from spoofspan.uncertainty.comparison import Difference
    from spoofspan.uncertainty.measured_system import MeasuredSystem

LENGTHS = (0.1, 0.2, 0.4, 0.8, 1.6)  # seconds
DISTANCES = (0.02, 0.04, 0.08, 0.16)  # seconds
Signer = Callable[[], Signature]


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
    whole = _Whole(references, scores, measure, {**arguments, "resampling": resampling})
    missing = [utt for utt in whole.utterances if utt not in column]
    if missing:
        raise DataError(f"{name}: no value for {', '.join(map(repr, missing[:20]))}; give one for every utterance")
    rows: dict[str, list[int]] = {}
    for row, utt in enumerate(whole.utterances):
        rows.setdefault(column[utt], []).append(row)
    groups = [whole.group_of(value, np.array(rows[value], np.int64)) for value in sorted(rows)]
    about = "; ".join(strangers(f"a {name}", column, whole.utterances))
    return Breakdown(
        name, measure, whole.point.threshold, tuple(groups), about, whole.differences() if differences else ()
    )


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
    if references.kinds is None:
        raise UsageError("these references have no kinds; give RTTM with attack names, or a column 'kind'")
    codes = references.kinds
    names = [
        *references.kind_names,
        *(["(no kind)"] if bool(((codes < 0) & (references.labels == SPOOF)).any()) else []),
    ]
    chosen = [(name, codes == (i if i < len(references.kind_names) else -1)) for i, name in enumerate(names)]
    return _by_ranges("kind", references, scores, chosen, measure, {**arguments, "resampling": resampling}, differences)


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
    bounds = [0, *(duration_ns(edge, "edge") for edge in edges), np.iinfo(np.int64).max]
    lengths = references.range_durations
    chosen = []
    for low, high in pairwise(bounds):
        name = f"under {high / 1e9:g} s" if not low else f"{low / 1e9:g} s and more" if high == bounds[-1] else ""
        chosen.append((name or f"{low / 1e9:g} to {high / 1e9:g} s", (lengths >= low) & (lengths < high)))
    return _by_ranges(
        "length", references, scores, chosen, measure, {**arguments, "resampling": resampling}, differences
    )


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
    whole = _Whole(references, scores, measure, arguments)
    rest = whole.measured
    groups = []
    for distance in distances:
        given = {**arguments, "collar": distance, "resampling": resampling}
        outside = _Whole(references, scores, measure, given, at=whole.point)
        times = whole.bona_fide - outside.bona_fide, whole.spoof - outside.spoof
        error = whole.error - outside.error, whole.error
        groups.append(
            _group(f"within {distance * 1000:g} ms", len(whole.utterances), times, error, (outside.with_interval(), ""))
        )
    about = f"each value: on the time farther than that from any boundary; on all time it is {rest.value_text}"
    return Breakdown("boundary", measure, whole.point.threshold, tuple(groups), about)


# The breakdowns that need nothing but references and scores, by name.
BREAKDOWNS: Mapping[str, Callable[..., Breakdown]] = {"kind": by_kind, "length": by_length, "boundary": by_boundary}


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
        parsed = Measure.parse(measure)
        if parsed.basis != "range":
            raise UsageError(
                f"{measure}: a breakdown by kind, length or boundary is in seconds, so its measure is one of ranges; "
                "take range-eer first, or group whole utterances by a column of metadata (--by attack --metadata FILE)"
            )
        self.inputs = Inputs(references, scores)
        options = EvaluationOptions.from_arguments(arguments)
        self.resampling = options.resampling
        self.parts: dict[str, MeasuredSystem] = {}  # groups with a value, if intervals are asked for
        self.plan = options.plan_for(parsed, scores)
        self.laid = Overlay.of(references, scores, self.plan.rules)
        self.mass, _ = self.laid.mass()
        self.measured = self._measured(self.laid, self.mass, self.plan.signer(self.inputs, self.mass.utterances))
        self.point = self.measured.point if at is None else at
        if self.point.threshold != self.point.threshold:  # a value over all thresholds
            self.point = equal_error_rate(self.mass, self.plan.eer_rule).point
        if parsed.kind.group == "threshold":  # groups are measured where the whole corpus is
            self.plan = replace(self.plan, threshold=self.point.threshold)
        self.errors = self.errors_of(self.laid)
        self.utterances = self.errors.utterances
        self.bona_fide, self.spoof = int(self.errors.bona_fide.sum()), int(self.errors.spoof.sum())
        self.by_utterance: Int64 = self.errors.false_positive + self.errors.false_negative
        self.error = int(self.by_utterance.sum())

    def errors_of(self, laid: Overlay) -> UtteranceErrors:
        """The errors at the threshold of the whole corpus."""
        return errors_of_overlay(laid, self.point.threshold, self.point.everything)

    def missed(self, laid: Overlay) -> int:
        """The spoofed time that is missed at the threshold of the whole corpus, of all utterances together."""
        if self.point.everything:
            return int(self.errors_of(laid).false_negative.sum())
        return point_at(laid.mass()[0], self.point.threshold).false_negative

    def group_of(self, name: str, chosen: Int64) -> Group:
        """Measure some of the utterances."""
        times = int(self.errors.bona_fide[chosen].sum()), int(self.errors.spoof[chosen].sum())
        error = int(self.by_utterance[chosen].sum()), self.error
        found = self.try_on(name, self.laid.take(chosen), partial(self._sign_selected, chosen))
        return _group(name, chosen.size, times, error, found)

    def without(self, ranges: npt.NDArray[np.bool_]) -> tuple[Overlay, Signer]:
        """The corpus without some of the ranges, and what signs its value."""
        references = self.inputs.references
        utterance = self._utterance_of_ranges
        rows = np.flatnonzero(ranges & (utterance >= 0))
        # a range may end a little after its utterance, where the rules let it
        extents = self.laid.labelling.extents[utterance[rows]]
        starts, ends = (np.minimum(times[rows], extents) for times in (references.starts, references.ends))
        return self.laid.without(utterance[rows], starts, ends), partial(self._sign_without, ranges)

    @cached_property
    def _utterance_of_ranges(self) -> Int64:
        """The index of each range's utterance in the labelling; -1 if it is not measured."""
        references = self.inputs.references
        return positions(references.utterances, self.laid.labelling.utterances)[utterance_of_rows(references.offsets)]

    def try_on(self, name: str, laid: Overlay, signer: Signer) -> tuple[Measurement | None, str]:
        """Measure a part of the corpus; or say why it has no value."""
        mass = laid.mass()[0]
        try:
            found = self._measured(laid, mass, signer)
        except UndefinedMeasureError as error:
            return None, str(error).partition(";")[0]
        return self._with_interval(name, found, mass), ""

    def with_interval(self) -> Measurement:
        """The value of the whole, with its interval if one is asked for."""
        return self._with_interval("", self.measured, self.mass)

    def _with_interval(self, name: str, found: Measurement, mass: ScoreMass) -> Measurement:
        if self.resampling is None:
            return found
        from spoofspan.uncertainty.intervals import interval_of_system
        from spoofspan.uncertainty.measured_system import MeasuredSystem

        self.parts[name] = MeasuredSystem(self.plan, mass, found.value, found_at=found.point)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SpoofspanWarning)  # small groups are cautioned in their intervals
                return replace(found, interval=interval_of_system(self.parts[name], self.resampling))
        except (UndefinedMeasureError, UsageError) as error:  # one cluster only, or replicates without a class
            return replace(found, notes=(*found.notes, f"no interval: {str(error).partition(';')[0]}"))

    def differences(self) -> tuple[Difference, ...]:
        """The difference of every two groups, if intervals are asked for."""
        if self.resampling is None:
            return ()
        from spoofspan.uncertainty.group_differences import group_differences

        return group_differences(self.parts, self.mass.utterances, self.resampling)

    def _measured(self, laid: Overlay, mass: ScoreMass, signer: Signer) -> Measurement:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SpoofspanWarning)  # small groups have wide gaps
            return self.plan.measured(
                mass,
                laid.touched,
                len(mass.utterances),
                signer,
                errors_at=lambda point: errors_of_overlay(laid, point.threshold, point.everything),
            )

    def _sign_selected(self, chosen: Int64) -> Signature:
        utterances = [self.laid.labelling.utterances[i] for i in chosen.tolist()]
        references, scores = self.inputs.references, self.inputs.scores
        part = Inputs(
            references.take(positions(utterances, references.utterances)),
            scores.take(positions(utterances, scores.utterances)),
        )
        return self.plan.signer(part, utterances)()

    def _sign_without(self, ranges: npt.NDArray[np.bool_]) -> Signature:
        regions = regions_without(self.inputs.references, ranges, self.plan.rules.regions)
        plan = replace(self.plan, rules=replace(self.plan.rules, regions=regions))
        return plan.signer(self.inputs, self.mass.utterances)()


def _group(
    name: str, utterances: int, times: tuple[int, int], error: tuple[int, int], found: tuple[Measurement | None, str]
) -> Group:
    """A group of its bona fide and spoofed time (ns), its error and that of all, its value or why it has none."""
    share = error[0] / error[1] if error[1] else float("nan")
    return Group(name, utterances, times[0] / 1e9, times[1] / 1e9, error[0] / 1e9, share, *found)


def _by_ranges(
    by: str,
    references: References,
    scores: Scores,
    chosen: Sequence[tuple[str, npt.NDArray[np.bool_]]],
    measure: str,
    arguments: Mapping[str, Any],
    differences: bool,
) -> Breakdown:
    """Measure some spoofed ranges at a time, the other spoofed ranges left out of account."""
    whole = _Whole(references, scores, measure, arguments)
    groups = []
    is_spoof = references.labels == SPOOF
    missed_of_all = int(whole.errors.false_negative.sum())
    for name, kept in chosen:
        if not (is_spoof & kept).any():
            continue
        laid, signer = whole.without(is_spoof & ~kept)
        found = whole.try_on(name, laid, signer)
        missed = 0 if found[0] is None else whole.missed(laid)
        utterances = int(np.count_nonzero(np.add.reduceat(is_spoof & kept, first_rows(references.offsets)) > 0))
        times = whole.bona_fide, int(references.range_durations[is_spoof & kept].sum())
        groups.append(_group(name, utterances, times, (missed, missed_of_all), found))
    about = "errors: missed spoof only, since a false alarm lies in no spoofed range"
    tested = whole.differences() if differences else ()
    return Breakdown(by, measure, whole.point.threshold, tuple(groups), about, tested)

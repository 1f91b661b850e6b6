"""A corpus that groups are cut out of: in memory here, in shards in :mod:`spoofspan.scale.shard_groups`."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from spoofspan.base.columns import positions
from spoofspan.base.errors import SpoofspanWarning, UndefinedMeasureError, UsageError, reason_of
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.evaluation.measurement import Measurement
from spoofspan.evaluation.plan import EvaluationOptions, Plan
from spoofspan.evaluation.selections import Selection, SpoofedRanges, cut_out, kinds_in, missed_spoof
from spoofspan.evaluation.signature import Inputs, Signature
from spoofspan.mass.ranges import Overlay
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.eer import equal_error_rate
from spoofspan.measures.measure import Measure
from spoofspan.measures.operating_point import OperatingPoint, count_again
from spoofspan.measures.per_utterance import UtteranceErrors, errors_of_overlay

if TYPE_CHECKING:
    from spoofspan.uncertainty.clusters import Resampling
    from spoofspan.uncertainty.comparison import Difference
    from spoofspan.uncertainty.measured_system import MeasuredSystem

Signer = Callable[[], Signature]
MeasurePart = Callable[[], tuple[Measurement, ScoreMass]]


@contextmanager
def quietly() -> Iterator[None]:
    """Say nothing of wide gaps and few clusters, which small groups have."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpoofspanWarning)
        yield


@dataclass(frozen=True)
class SpoofedPart:
    """Some of the spoofed ranges: how many utterances have any, how long they are (ns), and how much is missed."""

    utterances: int
    spoof: int
    missed: int
    measure: MeasurePart


class WholeCorpus(ABC):
    """A corpus, its value, and its errors at one threshold; groups are cut out of it."""

    plan: Plan  # of the groups
    resampling: Resampling | None
    mass: ScoreMass
    measured: Measurement
    point: OperatingPoint  # that of the whole corpus, also where some of it is left out

    @abstractmethod
    def kinds(self) -> frozenset[str]:
        """The kinds of the spoofed ranges; nothing where none are known."""

    @abstractmethod
    def measurers(self, selections: Sequence[Selection]) -> Sequence[MeasurePart]:
        """What measures each of some parts of the corpus."""

    @abstractmethod
    def spoofed_parts(self, chosen: Mapping[str, SpoofedRanges]) -> dict[str, SpoofedPart]:
        """The selections, by name, that have any ranges."""

    @abstractmethod
    def farther_than(self, distance: float) -> WholeCorpus:
        """The corpus without the time near boundaries (seconds), at the threshold of the whole."""

    @abstractmethod
    def errors_at(self, point: OperatingPoint) -> UtteranceErrors:
        """The errors of each utterance at an operating point."""

    def settle(self, plan: Plan, at: OperatingPoint | None) -> None:
        """Choose the threshold of all groups, once the value is known: its own, or a given one."""
        self.parts: dict[str, MeasuredSystem] = {}  # groups with a value, if intervals are asked for
        self.point = self.measured.point if at is None else at
        if self.point.threshold != self.point.threshold:  # a value over all thresholds
            self.point = equal_error_rate(self.mass, plan.eer_rule).point
        groups_too = plan.measure.kind.at_threshold  # they are measured where the whole corpus is
        self.plan = replace(plan, threshold=self.point.threshold) if groups_too else plan

    @cached_property
    def totals(self) -> OperatingPoint:
        """All time (ns), and how much of it is called wrong at the threshold of all groups."""
        return count_again(self.mass, self.point)

    @cached_property
    def errors(self) -> UtteranceErrors:
        """The errors of each utterance at the threshold of all groups."""
        return self.errors_at(self.point)

    def try_on(self, name: str, measure: MeasurePart) -> tuple[Measurement | None, str]:
        """Measure a part of the corpus; or say why it has no value."""
        try:
            found, mass = measure()
        except UndefinedMeasureError as error:
            return None, reason_of(error)
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
            with quietly():  # small groups are cautioned in their intervals
                return replace(found, interval=interval_of_system(self.parts[name], self.resampling))
        except (UndefinedMeasureError, UsageError) as error:  # one cluster only, or replicates without a class
            return replace(found, notes=(*found.notes, f"no interval: {reason_of(error)}"))

    def differences(self) -> tuple[Difference, ...]:
        """The difference of every two groups, if intervals are asked for."""
        if self.resampling is None:
            return ()
        from spoofspan.uncertainty.group_differences import group_differences

        return group_differences(self.parts, self.mass.utterances, self.resampling)


class WholeInMemory(WholeCorpus):
    """A corpus at hand, laid over once."""

    def __init__(
        self,
        references: References,
        scores: Scores,
        measure: str,
        arguments: Mapping[str, Any],
        at: OperatingPoint | None = None,
    ) -> None:
        self.inputs, self.arguments = Inputs(references, scores), arguments
        options = EvaluationOptions.from_arguments(arguments)
        self.resampling = options.resampling
        plan = self.plan = options.plan_for(measure_of_ranges(measure), scores)
        self.laid = Overlay.of(references, scores, plan.rules)
        self.mass = self.laid.mass()[0]
        self.measured, _ = self._measured(self.laid, plan.signer(self.inputs, self.mass.utterances))
        self.settle(plan, at)

    def errors_at(self, point: OperatingPoint) -> UtteranceErrors:
        """The errors of each utterance at an operating point."""
        return errors_of_overlay(self.laid, point.threshold, point.everything)

    def kinds(self) -> frozenset[str]:
        """The kinds of the spoofed ranges."""
        return kinds_in(self.inputs.references)

    def measurers(self, selections: Sequence[Selection]) -> Sequence[MeasurePart]:
        """What measures each of some parts of the corpus."""
        return [partial(self._part, one) for one in selections]

    def spoofed_parts(self, chosen: Mapping[str, SpoofedRanges]) -> dict[str, SpoofedPart]:
        """The selections, by name, that have any ranges."""
        references = self.inputs.references
        there = {name: one for name, one in chosen.items() if one.kept(references).any()}
        parts = {}
        for (name, one), laid in zip(there.items(), cut_out(references, self.laid, list(there.values())), strict=True):
            signer = partial(self._sign, one, laid.labelling.utterances)
            measure = partial(self._measured, laid, signer)
            parts[name] = SpoofedPart(*one.extent(references), missed_spoof(laid, self.point), measure)
        return parts

    def farther_than(self, distance: float) -> WholeInMemory:
        """The corpus without the time near boundaries."""
        given = {**self.arguments, "collar": distance}
        return WholeInMemory(self.inputs.references, self.inputs.scores, str(self.plan.measure), given, self.point)

    def _part(self, selection: Selection) -> tuple[Measurement, ScoreMass]:
        laid = selection.of(self.inputs.references, self.laid)
        return self._measured(laid, partial(self._sign, selection, laid.labelling.utterances))

    def _measured(self, laid: Overlay, signer: Signer) -> tuple[Measurement, ScoreMass]:
        mass = laid.mass()[0]
        with quietly():
            found = self.plan.measured(
                mass,
                laid.touched,
                len(mass.utterances),
                signer,
                errors_at=lambda point: errors_of_overlay(laid, point.threshold, point.everything),
            )
        return found, mass

    def _sign(self, selection: Selection, utterances: Sequence[str]) -> Signature:
        references, scores = self.inputs.references, self.inputs.scores
        if isinstance(selection, SpoofedRanges):
            regions = selection.regions(references, self.plan.rules.regions)
            plan = replace(self.plan, rules=replace(self.plan.rules, regions=regions))
            return plan.signer(self.inputs, self.mass.utterances)()
        part = Inputs(
            references.take(positions(utterances, references.utterances)),
            scores.take(positions(utterances, scores.utterances)),
        )
        return self.plan.signer(part, utterances)()


def measure_of_ranges(measure: str) -> Measure:
    """The measure of that name; groups are in seconds, so others than of ranges are refused."""
    parsed = Measure.parse(measure)
    if parsed.basis != "range":
        raise UsageError(
            f"{measure}: a breakdown by kind, length or boundary is in seconds, so its measure is one of ranges; "
            "take range-eer first, or group whole utterances by a column of metadata (--by attack --metadata FILE)"
        )
    return parsed

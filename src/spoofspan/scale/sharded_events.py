"""Event measures of a corpus in shards, from the sums of counts of each shard.

Events are matched within an utterance, so a count of a corpus is the sum over its shards. Measures that rank the
proposals of all utterances keep eight bytes for each (AP), or store each score on disk (measures over all thresholds).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from itertools import islice, pairwise
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import offsets_of
from spoofspan.base.errors import NothingToMeasureError, UndefinedMeasureError, UsageError
from spoofspan.base.locks import stored_in, temporary_folder
from spoofspan.base.times import Int64
from spoofspan.evaluation.corpus import Shard
from spoofspan.evaluation.crossed import NO_INTERVALS, Columns, CrossedBreakdown, CrossedCell, crossed_cells
from spoofspan.evaluation.events import Circumstances, EventEvaluation, Prepared, event_rules
from spoofspan.evaluation.measurement import EventMeasurement
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.evaluation.signature import Signature, sign_hashes
from spoofspan.measures.events.event_scores import EventCorpus, check_parameters
from spoofspan.measures.events.found_events import Changes, CurveTally
from spoofspan.measures.events.spoof_ranges import spoof_ranges
from spoofspan.measures.events.tallies import EventTally
from spoofspan.measures.measure import Measure
from spoofspan.measures.operating_point import OperatingPoint
from spoofspan.scale.shard_facts import unsigned
from spoofspan.uncertainty.event_intervals import MeasuredEvents, tallies_of_groups
from spoofspan.uncertainty.spreads import interval_of_system

if TYPE_CHECKING:
    from spoofspan.data.references import References
    from spoofspan.data.scores import Scores
    from spoofspan.scale.shards import CorpusLook, PreparedPlan, ShardedCorpus

Tallies = Mapping[Measure, EventTally]
Crossing = tuple[OperatingPoint, str]  # operating point and rule of the range EER


def refuse_whole(measures: Sequence[Measure], options: EvaluationOptions) -> None:
    """Refuse measures that cannot be taken at all, or not shard by shard, before any work."""
    if measures:
        event_rules(options)
    for measure in measures:
        check_parameters(measure)
        if measure.event_kind.variant != "spoofspan":
            raise UsageError(
                f"{measure} counts ranges in the order of the files, which shards do not keep; measure it in memory "
                "(--no-stream, without --jobs and --scheduler)"
            )


class ShardedEvents:
    """Event measures of one corpus; measures with the same proposals share a pass over the shards."""

    def __init__(self, corpus: ShardedCorpus, measures: Sequence[Measure], options: EvaluationOptions) -> None:
        refuse_whole(measures, options)
        self._corpus, self._measures, self._options = corpus, measures, options
        self._found: dict[Measure, EventMeasurement | UndefinedMeasureError] = {}

    def measured(self, measure: Measure) -> EventMeasurement:
        """Take one measure."""
        if measure not in self._found:
            swept = measure.event_kind.all_thresholds
            self._count([one for one in self._measures if one.event_kind.all_thresholds == swept])
        found = self._found[measure]
        if isinstance(found, UndefinedMeasureError):
            raise found
        return found

    def ready(self, measure: Measure) -> MeasuredEvents:
        """Take one measure for intervals, which leave out its clusters."""
        found = self.measured(measure)
        return replace(self._system(measure, found.value, list), signer=found.signer)

    @cached_property
    def _ranges(self) -> tuple[PreparedPlan, CorpusLook]:
        """A pass over all ranges, for the events and the default threshold of proposals at the range EER."""
        plan = self._corpus.plan(Measure("range-eer"), self._options)
        rows = self._options.smoothing not in (None, 1)
        look = self._corpus.look([plan], signed=self._options.signed, rows=rows)
        look.plans[0].settle(look.unpaired)
        return look.plans[0], look

    @cached_property
    def _eer(self) -> Crossing:
        ranges, look = self._ranges
        found = ranges.laid(self._corpus, look).cautioned()
        return found.point, found.eer_rule

    def _crossing(self, measure: Measure) -> Crossing | None:
        """The operating point of proposals, if no threshold is given and the measure is not over all thresholds."""
        return self._eer if self._options.threshold is None and not measure.event_kind.all_thresholds else None

    def _count(self, measures: Sequence[Measure]) -> None:
        """Count some measures in one pass over the shards."""
        ranges, _ = self._ranges
        crossing = self._crossing(measures[0])
        work = partial(_tallies, tuple(measures), self._options, crossing)
        about, total = None, None
        with temporary_folder() as folder:
            for _, found in self._corpus.each(work, "counting events", fetched=False):
                if found is None:
                    continue
                about, tallies = found
                kept = dict(zip(tallies, _on_disk(folder, tallies.values()), strict=True))
                total = kept if total is None else {measure: total[measure] + kept[measure] for measure in measures}
            if total is None or about is None:
                raise NothingToMeasureError("no utterance has any time to measure; check references and durations", ())
            stated = about.rules.signed("range", self._corpus.facts.slack)
            touched = tuple(ranges.touched.values())
            about = replace(about, signed=stated, utterances=ranges.utterances.count, touched=touched)
            for measure, tally in total.items():
                try:
                    value, interval = tally.value(measure), None
                    if self._options.resampling is not None:  # two more passes, in this process
                        system = self._system(measure, value.value, partial(_on_disk, folder))
                        interval = interval_of_system(system, self._options.resampling)
                    signer = partial(self._sign, measure, about)
                    self._found[measure] = about.measurement(measure, tally, value, signer=signer, interval=interval)
                except UndefinedMeasureError as error:
                    self._found[measure] = error

    def _system(self, measure: Measure, value: float, stored: Callable[..., list[EventTally]]) -> MeasuredEvents:
        shards = EventShards(self._corpus, measure, self._options, self._crossing(measure))
        return MeasuredEvents(measure, shards, value, stored=stored)

    def _sign(self, measure: Measure, about: Circumstances) -> Signature:
        """The signature of a value."""
        ranges, look = self._ranges
        said = (self._corpus.hashes(rows=about.counts_rows) if look.signed else None) or unsigned()
        hashes = said.references, f"{ranges.utterances.count}:{ranges.utterances.digest()}"
        system = about.signed_system(said.said(rows=about.counts_rows), self._corpus.facts.slack)
        return sign_hashes(str(measure), about.how, {**ranges.applied.spelled(), **about.signed}, hashes, system)


def cross_events(
    corpus: ShardedCorpus, measure: Measure, columns: Columns, options: EvaluationOptions
) -> CrossedBreakdown:
    """An event measure by one or two columns; counts of the finest cells add up to all others."""
    about = NO_INTERVALS if options.resampling is not None else ""
    options = replace(options, resampling=None)
    whole = corpus.evaluate([measure], options)[str(measure)]
    if not measure.event_kind.all_thresholds:
        options = replace(options, threshold=whole.threshold)
    finest: dict[tuple[str | None, ...], int] = {}  # the number of each combination of values
    cell_of_utterance: dict[str, int] = {}
    events: list[Int64] = []
    found: dict[int, EventTally] = {}
    with temporary_folder() as folder:
        for references, scores in corpus:
            if references is None:
                continue
            for utt in references.utterances:
                values = tuple(column.get(utt) for column in columns.values())
                cell_of_utterance[utt] = finest.setdefault(values, len(finest))
            events.append(np.diff(spoof_ranges(references, unite=True).offsets))
            if scores is None:
                continue
            with suppress(NothingToMeasureError):
                part = _prepared(measure, options, None, (references, scores)).corpus
                units = np.array([cell_of_utterance[utt] for utt in part.references.utterances])
                tallies = tallies_of_groups(part, measure, units)
                for cell, tally in zip(tallies, _on_disk(folder, tallies.values()), strict=True):
                    found[cell] = found[cell] + tally if cell in found else tally
        numbers = np.fromiter(cell_of_utterance.values(), np.int64)

        def cell_of(chosen: Int64, _: Any) -> CrossedCell:
            count = int(np.concatenate(events)[chosen].sum())
            counted = [found[cell] for cell in np.unique(numbers[chosen]).tolist() if cell in found]
            if not counted:
                return CrossedCell(float("nan"), 0, count, "references and scores have no utterance in common")
            return CrossedCell.of(lambda: (reduce(add, counted).value(measure).value, None), 0, count)

        return crossed_cells(list(cell_of_utterance), columns, cell_of, (str(measure), "events"), about=about)


@dataclass(frozen=True)
class EventShards:
    """The events of each shard that has something to measure."""

    corpus: ShardedCorpus
    measure: Measure
    options: EvaluationOptions
    crossing: Crossing | None

    def __iter__(self) -> Iterator[EventCorpus]:
        for shard in self.corpus.watched(f"{self.measure}, utterances left out"):
            with suppress(NothingToMeasureError):
                yield _prepared(self.measure, self.options, self.crossing, shard).corpus


def _tallies(
    measures: Sequence[Measure], options: EvaluationOptions, crossing: Crossing | None, shard: Shard
) -> tuple[Circumstances, Tallies] | None:
    """The counts of measures for a shard, with their circumstances."""
    references, scores = shard
    if references is None or scores is None:
        return None
    with suppress(NothingToMeasureError):
        prepared = _prepared(measures[0], options, crossing, (references, scores))
        return prepared.about, {measure: prepared.tally(measure) for measure in measures}
    return None


def _prepared(
    measure: Measure, options: EvaluationOptions, crossing: Crossing | None, shard: tuple[References, Scores]
) -> Prepared:
    """References and proposals of a shard for a measure; ``crossing`` is needed if no threshold is given."""
    return EventEvaluation(*shard, options, lambda: cast("Crossing", crossing)).prepared_for(measure)


# ---------------------------------------------------------------- changes of all thresholds, on disk


def _on_disk(folder: Path, tallies: Iterable[EventTally]) -> list[EventTally]:
    """The same tallies with their data of every threshold in two files."""
    held = list(tallies)
    parts = [part for one in held if isinstance(one.counted, CurveTally) for part in one.counted.parts]
    if not parts:
        return held
    levels = _mapped(folder, np.concatenate([part.levels for part in parts]))
    more = _mapped(folder, np.concatenate([part.more for part in parts]))
    edges = offsets_of(np.array([part.levels.size for part in parts])).tolist()
    stored = (Changes(levels[first:last], more[first:last]) for first, last in pairwise(edges))
    return [
        replace(one, counted=replace(one.counted, parts=tuple(islice(stored, len(one.counted.parts)))))
        if isinstance(one.counted, CurveTally)
        else one
        for one in held
    ]


def _mapped(folder: Path, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array in a file; an empty one cannot be mapped and stays."""
    if not array.size:
        return array
    path = folder / f"{uuid4().hex}.npy"
    with stored_in(folder):
        np.save(path, array, allow_pickle=False)
        mapped: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        return mapped

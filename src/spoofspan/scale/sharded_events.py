"""Event measures of a corpus in shards: each shard is counted by itself, and what is counted adds up.

Events are found within an utterance, so a count of a corpus is the sum over its shards. What ranks proposals of all
utterances keeps eight bytes for each of them (AP), or goes to disk score by score (measures of all thresholds).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np

from spoofspan.base.errors import NothingToMeasureError, UndefinedMeasureError, UsageError
from spoofspan.base.locks import stored_in, temporary_folder
from spoofspan.evaluation.events import Circumstances, EventEvaluation, event_rules
from spoofspan.evaluation.measurement import EventMeasurement
from spoofspan.evaluation.plan import EvaluationOptions, spelled_rules
from spoofspan.evaluation.signature import Signature, sign_hashes
from spoofspan.measures.events.event_scores import check_parameters
from spoofspan.measures.events.found_events import CurveTally
from spoofspan.measures.events.proposals_from_scores import ProposalOptions
from spoofspan.measures.events.tallies import EventTally
from spoofspan.measures.events.threshold_sweep import Changes
from spoofspan.measures.measure import Measure
from spoofspan.measures.operating_point import OperatingPoint

if TYPE_CHECKING:
    from spoofspan.data.rules import Touched
    from spoofspan.scale.shard_facts import Shard
    from spoofspan.scale.shards import ShardedCorpus

Tallies = Mapping[Measure, EventTally]
Crossing = tuple[OperatingPoint, str]  # where the range EER is, and by which rule


def refuse_whole(measures: Sequence[Measure], options: EvaluationOptions) -> None:
    """Refuse, before any work, what cannot be measured at all, or not shard by shard."""
    if measures:
        event_rules(options)
    for measure in measures:
        check_parameters(measure)
        if measure.kind.variant != "spoofspan":
            raise UsageError(
                f"{measure} counts ranges in the order of the files, which shards do not keep; measure it in memory "
                "(--no-stream, without --jobs and --scheduler)"
            )
        if options.resampling is not None:
            raise UsageError(
                f"{measure}: its interval leaves out utterances one by one, which takes the corpus in memory; leave "
                "--confidence out, or use --no-stream, without --jobs and --scheduler"
            )


@dataclass(frozen=True)
class Signed:
    """What a signature needs of a corpus: which utterances count, what rules touched, the hashes of both sides."""

    utterances: int
    digest: str
    touched: tuple[Touched, ...]
    references: str
    scores: str

    def sign(self, measure: Measure, about: Circumstances) -> Signature:
        """The signature of a value."""
        hashes = self.references, f"{self.utterances}:{self.digest}", self.scores
        return sign_hashes(str(measure), about.how, about.spelled, hashes, None)


class ShardedEvents:
    """Event measures of one corpus; those that share their proposals share a pass over the shards."""

    def __init__(
        self,
        corpus: ShardedCorpus,
        measures: Sequence[Measure],
        options: EvaluationOptions,
        eer: Callable[[], Crossing],
        signed: Callable[[], Signed],
    ) -> None:
        self._corpus, self._measures, self._options = corpus, measures, options
        self._eer, self._signed = eer, signed
        self._found: dict[Measure, EventMeasurement | UndefinedMeasureError] = {}

    def measured(self, measure: Measure) -> EventMeasurement:
        """Measure one thing."""
        if measure not in self._found:
            self._count([one for one in self._measures if one.kind.all_thresholds == measure.kind.all_thresholds])
        found = self._found[measure]
        if isinstance(found, UndefinedMeasureError):
            raise found
        return found

    def _count(self, measures: Sequence[Measure]) -> None:
        """Count some measures in one pass over the shards."""
        signed = self._signed()
        crossing = None
        if self._options.threshold is None and not measures[0].kind.all_thresholds:
            crossing = self._eer()
        work = partial(_tallies, tuple(measures), self._options, crossing)
        about, total = None, None
        with temporary_folder() as folder:
            for _, found in self._corpus.each(work, "counting events", fetched=False):
                if found is None:
                    continue
                about, tallies = found
                kept = {measure: _on_disk(tally, folder) for measure, tally in tallies.items()}
                total = kept if total is None else {measure: total[measure] + kept[measure] for measure in measures}
            if total is None or about is None:
                raise NothingToMeasureError("no utterance has any time to measure; check references and durations", ())
            facts = self._corpus.facts
            spelled = spelled_rules("range", about.rules, facts.snap, facts.modality)
            about = replace(about, spelled=spelled, utterances=signed.utterances, touched=signed.touched)
            for measure, tally in total.items():
                try:
                    signer = partial(signed.sign, measure, about)
                    self._found[measure] = about.measurement(measure, tally, tally.value(measure), signer=signer)
                except UndefinedMeasureError as error:
                    self._found[measure] = error


def _tallies(
    measures: Sequence[Measure], options: EvaluationOptions, crossing: Crossing | None, shard: Shard
) -> tuple[Circumstances, Tallies] | None:
    """What measures count of a shard, and under which circumstances."""
    references, scores = shard
    if references is None or scores is None:
        return None
    proposing = ProposalOptions(options.smoothing, options.min_duration, options.merge_gap)
    events = EventEvaluation(references, scores, options, proposing, partial(_known, crossing))
    with suppress(NothingToMeasureError):
        prepared = events.prepared_for(measures[0])
        return prepared.about, {measure: prepared.corpus.tally(measure) for measure in measures}
    return None


def _known(crossing: Crossing | None) -> Crossing:
    if crossing is None:
        raise UsageError("a threshold is needed, and none is known")
    return crossing


# ---------------------------------------------------------------- changes of all thresholds, on disk


def _on_disk(tally: EventTally, folder: Path) -> EventTally:
    """The same tally; what it has of every threshold is in a file."""
    if not isinstance(tally.counted, CurveTally):
        return tally
    parts = tuple(Changes(*_files(folder, (part.levels, part.more))) for part in tally.counted.parts)
    return replace(tally, counted=replace(tally.counted, parts=parts))


def _files(folder: Path, arrays: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
    for array in arrays:
        if not array.size:  # an empty file cannot be mapped
            yield array
            continue
        path = folder / f"{uuid4().hex}.npy"
        with stored_in(folder):
            np.save(path, array, allow_pickle=False)
            yield np.load(path, mmap_mode="r", allow_pickle=False)

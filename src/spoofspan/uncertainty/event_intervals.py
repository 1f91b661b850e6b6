"""Event measures (AP, AR, F1, boundaries, scores of challenges) under the jackknife over clusters.

Events are matched within an utterance, but ranked over all of them, so the measure is taken anew without each cluster.
With many clusters they are dealt into groups, which are left out one by one. Where proposals were made of scores, their
threshold stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from spoofspan.base.columns import positions
from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.base.progress import progress
from spoofspan.base.times import Float64, Int64
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.evaluation.corpus import CorpusInMemory
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.measures.events.event_scores import EventCorpus
from spoofspan.measures.events.spoof_ranges import spoof_ranges
from spoofspan.measures.measure import Measure
from spoofspan.uncertainty.clusters import Clusters, dealt
from spoofspan.uncertainty.left_out import LeftOut
from spoofspan.uncertainty.measured_system import Signer
from spoofspan.uncertainty.replicates import Replicates

# With more clusters than the first, as many groups as the second are left out.
MOST_LEFT_OUT, GROUPS_LEFT_OUT = 400, 200


@dataclass(frozen=True, eq=False)
class MeasuredEvents:
    """An event measure of one system, ready to be taken again without any cluster."""

    measure: Measure
    corpus: EventCorpus
    value: float
    signer: Signer | None = None

    @property
    def utterances(self) -> Sequence[str]:
        """What it was measured on."""
        return self.corpus.references.utterances

    def replicates(self, clusters: Clusters) -> Replicates:
        """Refuse to draw clusters."""
        raise UsageError(
            f"{self.measure}: event measures have intervals by the method 'jackknife-t' only; leave method= "
            "(--interval) out"
        )

    def amounts(self, clusters: Clusters) -> Int64:
        """Refuse to draw clusters."""
        raise UsageError(f"{self.measure}: clusters cannot be drawn")

    def left_out(self, clusters: Clusters) -> LeftOut:
        """The value without each cluster in turn, or without each group of them."""
        units = clusters.units_of(self.utterances)
        has_events = np.zeros(clusters.count, bool)
        has_events[units[np.diff(spoof_ranges(self.corpus.references, unite=True).offsets) > 0]] = True
        groups = clusters.count
        if clusters.count > MOST_LEFT_OUT:
            units, groups = dealt(GROUPS_LEFT_OUT, has_events)[units], GROUPS_LEFT_OUT
        return LeftOut(self._without_each(units, groups), None, has_events)

    def _without_each(self, units: Int64, groups: int) -> Float64:
        """The value without each group of utterances; NaN where there is none."""
        corpus = self.corpus
        # proposals of utterances that the references lack are false whatever is left out
        place = positions(corpus.proposals.utterances, self.utterances)
        unit_there = np.where(place >= 0, units[place], -1)
        values = np.full(groups, self.value)  # a cluster that the system lacks changes nothing
        with progress(f"{self.measure} without each", total=groups) as advance:
            for unit in np.unique(units).tolist():
                values[unit] = np.nan
                rest = corpus.part(np.flatnonzero(units != unit), np.flatnonzero(unit_there != unit))
                with suppress(UndefinedMeasureError):
                    values[unit] = rest.value(self.measure).value
                advance(1)
        return values


def measured_events(
    references: References,
    system: Scores | Proposals,
    measure: Measure,
    options: EvaluationOptions,
    threshold: float | None,
) -> tuple[MeasuredEvents, Mapping[str, str]]:
    """Take an event measure once; besides, the rules that numbers must share to be compared."""
    alone = replace(options, threshold=threshold, resampling=None)
    events = CorpusInMemory(references, system).events(alone)
    found = events.measured(measure)
    prepared = events.prepared_for(measure)
    signer = partial(events.sign, measure)
    return MeasuredEvents(measure, prepared.corpus, found.value, signer), {
        "value": prepared.about.how,
        **prepared.about.spelled,
    }

"""Event measures (AP, AR, F1, boundaries, scores of challenges) under the jackknife over clusters.

Events are matched within an utterance, so the counts of a cluster can be subtracted from those of a measure
(:mod:`spoofspan.measures.events.tallies`). The published variants count in the order of the files and are measured
again without each cluster. Many clusters are put into groups, which are left out one by one. The threshold of proposals
made of scores stays. The best F1 of all thresholds is corrected for its optimism, as a minDCF is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import chain
from operator import add
from typing import cast

import numpy as np

from spoofspan.base.columns import Flags, offsets_of, positions, sum_by_utterance
from spoofspan.base.errors import UndefinedMeasureError
from spoofspan.base.progress import progress
from spoofspan.base.times import Int64
from spoofspan.evaluation.corpus import Signer
from spoofspan.measures.events.event_scores import EventCorpus
from spoofspan.measures.events.spoof_ranges import spoof_ranges
from spoofspan.measures.events.tallies import EventTally
from spoofspan.measures.measure import Measure
from spoofspan.uncertainty.clusters import Clusters, dealt
from spoofspan.uncertainty.left_out import LeftOut
from spoofspan.uncertainty.measured_system import OnlyLeftOut
from spoofspan.uncertainty.optimism import halves, optimism

# With more clusters than the first, as many groups as the second are left out.
MOST_LEFT_OUT, GROUPS_LEFT_OUT = 400, 200


@dataclass(frozen=True, eq=False)
class MeasuredEvents(OnlyLeftOut):
    """An event measure of one system, for intervals."""

    measure: Measure
    corpora: Iterable[EventCorpus]  # the corpus, or its shards; iterated more than once
    value: float
    signer: Signer | None = None
    shared: Mapping[str, str] = field(default_factory=dict)  # settings that two numbers must share to be compared
    stored: Callable[[list[EventTally]], list[EventTally]] = list  # stores tallies of shards

    @property
    def utterances(self) -> Sequence[str]:
        """Utterances that were measured."""
        return self._events[0]

    @property
    def spoofed(self) -> Collection[str]:
        """The utterances with any event."""
        utterances, flags = self._events
        return {utterances[i] for i in np.flatnonzero(flags).tolist()}

    @cached_property
    def _events(self) -> tuple[tuple[str, ...], Flags]:
        """The utterances, and which of them have events."""
        found = [(one.references.utterances, _has_events(one)) for one in self.corpora]
        return tuple(chain.from_iterable(names for names, _ in found)), np.concatenate([flags for _, flags in found])

    def left_out(self, clusters: Clusters) -> LeftOut:
        """The value without each cluster in turn, or without each group of them."""
        utterances, flags = self._events
        units = clusters.units_of(utterances)
        has_events = np.zeros(clusters.count, bool)
        has_events[units[flags]] = True
        too_good = self._optimism(units, has_events) if self.measure.kind.optimistic else 0.0
        groups = clusters.count
        if clusters.count > MOST_LEFT_OUT:
            units, groups = dealt(GROUPS_LEFT_OUT, has_events)[units], GROUPS_LEFT_OUT
        values = np.full(groups, self.value)  # a cluster that the system lacks changes nothing
        adds = self.measure.event_kind.variant == "spoofspan"
        rests = self._counted_without_each(units) if adds else self._corpora_without_each(units)
        cautions: dict[str, None] = {}
        with progress(f"{self.measure} without each", total=groups) as advance:
            for unit, rest in rests:
                values[unit] = np.nan
                with suppress(UndefinedMeasureError):
                    found = rest.value(self.measure)
                    values[unit] = found.value
                    cautions |= dict.fromkeys(found.cautions)
                advance(1)
        return LeftOut(values, None, has_events, cautions=tuple(cautions), optimism=too_good)

    def _optimism(self, units: Int64, has_events: Flags) -> float:
        """The correction of a value that is the best of this corpus."""
        weights = halves(np.ones(has_events.size, bool), has_events)
        values = np.full(len(weights), np.nan)
        for place, chosen in enumerate(weights[:, units] > 0):
            done, tallies = 0, []
            for corpus in self.corpora:
                kept = chosen[done : done + len(corpus.references)]
                done += kept.size
                tallies += self.stored([_tally_of(corpus, self.measure, kept)])
            with suppress(UndefinedMeasureError):
                values[place] = reduce(add, tallies).value(self.measure).value
        return optimism(self.value, values)

    def _counted_without_each(self, units: Int64) -> Iterator[tuple[int, EventTally]]:
        """Each group of utterances, and the counts without it: all counts minus those of the group."""
        whole: EventTally | None = None
        of_group: dict[int, EventTally] = {}
        done = 0
        for corpus in self.corpora:
            here = units[done : done + len(corpus.references)]
            done += here.size
            tallies = tallies_of_groups(corpus, self.measure, here)
            tally, *of_groups = self.stored([corpus.tally(self.measure), *tallies.values()])
            whole = tally if whole is None else whole + tally
            for group, one in zip(tallies, of_groups, strict=True):
                of_group[group] = of_group[group] + one if group in of_group else one
        for group, one in of_group.items():
            yield group, cast("EventTally", whole) - one

    def _corpora_without_each(self, units: Int64) -> Iterator[tuple[int, EventCorpus]]:
        """Each group of utterances, and the corpus without it."""
        (corpus,) = self.corpora
        of_file = _units_of_files(corpus, units)
        for group in np.unique(units).tolist():
            yield group, corpus.part(*map(np.flatnonzero, (units != group, of_file != group)))


def tallies_of_groups(corpus: EventCorpus, measure: Measure, units: Int64) -> dict[int, EventTally]:
    """The counts of a measure for each group of utterances."""
    return {group: _tally_of(corpus, measure, units == group) for group in np.unique(units).tolist()}


def _tally_of(corpus: EventCorpus, measure: Measure, kept: Flags) -> EventTally:
    """The counts of a measure for some utterances."""
    files = _units_of_files(corpus, kept.astype(np.int64)) == 1
    return corpus.part(np.flatnonzero(kept), np.flatnonzero(files)).tally(measure)


def _has_events(corpus: EventCorpus) -> Flags:
    offsets = spoof_ranges(corpus.references, unite=True).offsets
    if corpus.chosen is not None:
        offsets = offsets_of(sum_by_utterance(corpus.chosen.astype(np.int64), offsets))
    flags: Flags = np.diff(offsets) > 0
    return flags


def _units_of_files(corpus: EventCorpus, units: Int64) -> Int64:
    """The unit of each file of proposals; -1 for files that the references lack, whose proposals are all false."""
    place = positions(corpus.proposals.utterances, corpus.references.utterances)
    return np.where(place >= 0, units[place], -1)

"""Intervals of event measures (AP, AR, F1, boundaries, scores of challenges): the jackknife over clusters.

Events are matched within an utterance, but ranked over all of them, so the measure is taken anew without each cluster.
With many clusters they are dealt into groups, which are left out one by one. Where proposals were made of scores, their
threshold stays.
"""

from __future__ import annotations

import warnings
from contextlib import suppress

import numpy as np

from spoofspan.base.columns import positions
from spoofspan.base.errors import SpoofspanWarning, UndefinedMeasureError, UsageError
from spoofspan.base.progress import progress
from spoofspan.base.times import Float64, Int64
from spoofspan.measures.events.event_scores import EventCorpus
from spoofspan.measures.events.spoof_ranges import spoof_ranges
from spoofspan.measures.measure import Measure
from spoofspan.uncertainty.clusters import Clusters, Resampling
from spoofspan.uncertainty.intervals import Interval, Spread, scale_of
from spoofspan.uncertainty.jackknife import counts_of
from spoofspan.uncertainty.left_out import LeftOut

# With more clusters than the first, as many groups as the second are left out.
MOST_LEFT_OUT, GROUPS_LEFT_OUT = 400, 200


def event_interval(corpus: EventCorpus, measure: Measure, value: float, how: Resampling) -> Interval:
    """The interval of an event measure."""
    if how.draws:
        raise UsageError(
            f"{measure}: event measures have intervals by the method 'jackknife-t' only; leave method= (--interval) out"
        )
    references = corpus.references
    clusters = Clusters.of(references.utterances, how.clusters)
    units = clusters.units_of(references.utterances)
    has_events = np.zeros(clusters.count, bool)
    has_events[units[np.diff(spoof_ranges(references, unite=True).offsets) > 0]] = True
    groups = clusters.count
    if clusters.count > MOST_LEFT_OUT:
        # clusters with events and without, each in random order, are dealt out evenly
        order = np.lexsort((np.random.default_rng(0).permutation(clusters.count), has_events))
        group = np.empty(clusters.count, np.int64)
        group[order] = np.arange(clusters.count) % GROUPS_LEFT_OUT
        units, groups = group[units], GROUPS_LEFT_OUT
    found = LeftOut(_without_each(corpus, measure, units, groups), None, has_events)
    counts = counts_of([found])
    for caution in counts.cautions:
        warnings.warn(f"{measure}: {caution}", SpoofspanWarning, stacklevel=4)
    spread = Spread(str(measure), scale_of(measure), how, counts, np.array([value]), (found,), np.zeros((1, 0)))
    return spread.one(0)


def _without_each(corpus: EventCorpus, measure: Measure, units: Int64, groups: int) -> Float64:
    """The value without each group of utterances; NaN where there is none."""
    references, proposals = corpus.references, corpus.proposals
    # proposals of utterances that the references lack are false whatever is left out
    place = positions(proposals.utterances, references.utterances)
    unit_there = np.where(place >= 0, units[place], -1)
    values = np.full(groups, np.nan)
    with progress(f"{measure} without each", total=groups) as advance:
        for unit in range(groups):
            kept = references.take(np.flatnonzero(units != unit))
            rest = EventCorpus(kept, proposals.take(np.flatnonzero(unit_there != unit)))
            with suppress(UndefinedMeasureError):
                values[unit] = rest.value(measure).value
            advance(1)
    return values

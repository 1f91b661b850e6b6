"""Measures of matched events, by the events' attack or length, or by how far they are from the edges of words.

Events of a group are found among all proposals: a proposal that takes an event of another group takes none of this one.
False proposals belong to no event, so only what is of each event by itself has such groups: recall, boundary errors and
the mean IoU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spoofspan.base.columns import Flags, utterance_of_rows
from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.base.times import Int64, duration_ns
from spoofspan.data.references import SPOOF, References
from spoofspan.evaluation.breakdown import DISTANCES, LENGTHS
from spoofspan.evaluation.crossed import POOLED, CrossedBreakdown, CrossedCell, interval_in_cell
from spoofspan.evaluation.selections import NO_ATTACK, NO_ATTACKS, bins
from spoofspan.measures.catalogue import EVENT_KINDS
from spoofspan.measures.events.event_scores import EventCorpus, extents_of
from spoofspan.measures.events.spoof_ranges import events_and_heads
from spoofspan.measures.kind import EventKind
from spoofspan.measures.measure import Measure
from spoofspan.uncertainty.event_intervals import MeasuredEvents

if TYPE_CHECKING:
    from spoofspan.evaluation.events import EventEvaluation
    from spoofspan.evaluation.words import Words
    from spoofspan.uncertainty import Interval

GROUPS = ("attack", "length")
NO_WORDS = "no words"


def group_events(
    evaluation: EventEvaluation, measure: Measure, by: str, words: Words | None = None
) -> CrossedBreakdown:
    """A measure of some events at a time, among all proposals."""
    if by == "boundary" and words is None:
        raise UsageError(
            f"by='boundary' groups events by their distance from the edges of words, for {measure}; give these "
            "(--words FILE), or a measure of ranges for the distance from true boundaries"
        )
    if by not in (*GROUPS, "boundary"):
        raise UsageError(
            f"by={by!r} cuts time, and {measure} is of whole events; {nearest_name(by, GROUPS)}, or give a column of "
            "metadata"
        )
    if not measure.event_kind.by_event:
        valid = (f"event-{kind.name}" for kind in EVENT_KINDS.values() if isinstance(kind, EventKind) and kind.by_event)
        raise UsageError(
            f"{measure} counts false proposals, or ranks all of them, and these belong to no {by}; by {by} there are "
            f"{', '.join(valid)}"
        )
    corpus, how = evaluation.prepared_for(measure).corpus, evaluation.options.resampling

    def cell(chosen: Flags | None, events: int) -> CrossedCell:
        part = EventCorpus(corpus.references, corpus.proposals, chosen)

        def value() -> tuple[float, Interval | None]:
            found = part.value(measure).value
            return found, None if how is None else interval_in_cell(MeasuredEvents(measure, [part], found), how)

        return CrossedCell.of(value, 0, events)

    if by == "boundary" and words is not None:
        chosen = by_distance(corpus.references, words)
    else:
        chosen = by_attack(corpus.references) if by == "attack" else by_length(corpus.references)
    cells = {(POOLED, POOLED): cell(None, sum(int(np.count_nonzero(one)) for one in chosen.values()))}
    cells |= {(name, POOLED): cell(one, int(np.count_nonzero(one))) for name, one in chosen.items()}
    about = "the events of each row are found among all proposals; false proposals belong to no event"
    if by == "boundary":
        about = f"distance of the farther edge of an event from the nearest edge of a word; {about}"
    return CrossedBreakdown((by,), str(measure), "events", (POOLED, *chosen), (POOLED,), cells, about)


def by_attack(references: References) -> dict[str, Flags]:
    """The events of each attack; one that is united of ranges of several attacks has all their names."""
    if references.attacks is None:
        raise UsageError(NO_ATTACKS)
    attacks, (_, heads) = references.attacks[references.labels == SPOOF], events_and_heads(references)
    names = [*references.attack_names, NO_ATTACK]  # -1 is none
    ends = [*heads[1:].tolist(), attacks.size]
    of_event = [
        "+".join(dict.fromkeys(names[code] for code in attacks[first:last].tolist()))
        for first, last in zip(heads.tolist(), ends, strict=True)
    ]
    column = np.array(of_event, dtype=object)
    return {name: np.array(column == name, bool) for name in sorted(set(of_event))}


def by_length(references: References) -> dict[str, Flags]:
    """The events between two lengths."""
    events, _ = events_and_heads(references)
    lengths = events.ends - events.starts
    found = {name: (lengths >= low) & (lengths < high) for name, (low, high) in bins(LENGTHS).items()}
    return {name: flags for name, flags in found.items() if flags.any()}


def by_distance(references: References, words: Words) -> dict[str, Flags]:
    """The events by the distance of their farther edge from a word's edge; both ends of an utterance count as edges."""
    if not any(words.get(utt) for utt in references.utterances):
        raise UsageError("references and words have no utterance in common; check the ids")
    events, _ = events_and_heads(references)
    extents, owner = extents_of(references), utterance_of_rows(events.offsets)
    distances = np.full(events.starts.size, -1)
    for i in np.unique(owner).tolist():
        utterance = references.utterances[i]
        if not words.get(utterance):
            continue
        times = {duration_ns(time, "word") for start, end, _ in words[utterance] for time in (start, end)} | {0}
        edges = np.sort(np.array([*times, *(() if extents is None else (int(extents[i]),))], np.int64))
        rows = owner == i
        distances[rows] = np.maximum(_to_nearest(edges, events.starts[rows]), _to_nearest(edges, events.ends[rows]))
    low, found = 0, {}
    for distance in DISTANCES:
        high = duration_ns(distance, "distance")
        name = f"{low / 1e6:g} to {high / 1e6:g} ms" if low else f"within {high / 1e6:g} ms"
        found[name] = (distances >= (low + 1 if low else 0)) & (distances <= high)
        low = high
    found[f"over {low / 1e6:g} ms"] = distances > low
    found[NO_WORDS] = distances < 0
    return {name: flags for name, flags in found.items() if flags.any()}


def _to_nearest(edges: Int64, times: Int64) -> Int64:
    """Distance of each time from the nearest edge; edges rise."""
    after = np.clip(np.searchsorted(edges, times), 1, edges.size - 1) if edges.size > 1 else np.zeros_like(times)
    nearest: Int64 = np.minimum(np.abs(times - edges[after]), np.abs(times - edges[np.maximum(after - 1, 0)]))
    return nearest

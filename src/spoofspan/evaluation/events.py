"""Event measures of references and proposals, or of scores from which proposals are made.

Given proposals are used as they are. Scores become proposals under the rules of range measures (``docs/rules.md``, 8 to
14), at a threshold. Events are the spoof ranges that the references list, so rules that would change them are refused.

Groups of events by attack, by length or by distance from the edges of words are matched among all proposals: a proposal
that matches an event of another group matches none of this one. False proposals belong to no event, so only measures of
single events have such groups: recall, boundary errors and the mean IoU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from spoofspan.base.columns import Flags, positions, utterance_of_rows
from spoofspan.base.errors import NothingToMeasureError, SpoofspanWarning, UsageError, nearest_name, warn_user
from spoofspan.base.hashing import ContentHash
from spoofspan.base.progress import progress
from spoofspan.base.times import Int64, duration_ns
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import SPOOF, References
from spoofspan.data.rules import Rules, Touched, rules_for
from spoofspan.data.scores import Scores
from spoofspan.evaluation.breakdown import DISTANCES, LENGTHS
from spoofspan.evaluation.crossed import POOLED, Columns, CrossedBreakdown, CrossedCell, crossed_cells, interval_in_cell
from spoofspan.evaluation.measurement import ALL_THRESHOLDS, EventMeasurement, counted
from spoofspan.evaluation.plan import EvaluationOptions, HashedInputs
from spoofspan.evaluation.selections import NO_ATTACK, NO_ATTACKS, bins
from spoofspan.evaluation.signature import Signature, given_threshold, references_hash, sign_hashes, used_hash
from spoofspan.mass.ranges import Overlay
from spoofspan.mass.score_runs import automatic_slack
from spoofspan.measures.catalogue import EVENT_KINDS
from spoofspan.measures.events.event_scores import EventCorpus, check_parameters, extents_of
from spoofspan.measures.events.found_events import ScoredCorpus
from spoofspan.measures.events.proposals_from_scores import (
    ProposalOptions,
    proposals_from_runs,
    refuse_smoothing_ranges,
)
from spoofspan.measures.events.spoof_ranges import events_and_heads, snap_matters, spoof_ranges
from spoofspan.measures.events.tallies import EventTally, EventValue
from spoofspan.measures.kind import EventKind
from spoofspan.measures.measure import Measure
from spoofspan.measures.operating_point import OperatingPoint

if TYPE_CHECKING:
    from spoofspan.evaluation.corpus import CorpusInMemory
    from spoofspan.evaluation.words import Words
    from spoofspan.uncertainty import Interval
    from spoofspan.uncertainty.event_intervals import MeasuredEvents

# Values of rules that would change events, or that apply to scores but not to proposals.
REFUSED: Mapping[str, Callable[[Any], bool]] = {
    "gaps": lambda value: value in ("spoof", "following"),
    "nonspeech": lambda value: value == "spoof",
    "extent": lambda value: value == "cut-at-duration",
    "collar": bool,
    "regions": lambda value: value is not None,
    "utterances": lambda value: value != "all",
    "uncovered": lambda value: value in ("spoof", "ignore"),
}
GIVEN = "proposals:given"
OF_SCORES = ("uncovered", "slack", "overlong", "last_frame", "overlap", "partial", "extent")


@dataclass(frozen=True, eq=False)
class Circumstances:
    """The rules of an event measure, and the origin of its proposals."""

    rules: Rules
    signed: dict[str, str]  # the rules about scores that a signature states
    how: str  # the origin of the proposals, as in the signature
    point: OperatingPoint  # of the proposals; its threshold is NaN if they were given
    utterances: int
    touched: tuple[Touched, ...] = ()
    notes: tuple[str, ...] = ()
    threshold: Mapping[str, str] = field(default_factory=dict)  # a given threshold, as in the signature

    @property
    def given(self) -> bool:
        """True if proposals were given, and not made of scores."""
        return self.how == GIVEN

    @property
    def shared(self) -> Mapping[str, str]:
        """Settings that two numbers must share to be compared."""
        return {"value": self.how, **self.rules.spelled("range")}

    @property
    def counts_rows(self) -> bool:
        """True if the value depends on the rows of scores, and not only on the score of each instant."""
        return self.rules.last_frame == "drop" or "smoothing:1," not in self.how

    def signed_system(self, said: Mapping[str, str], slack: AbstractSet[int]) -> dict[str, str]:
        """The part of a signature that identifies a system, of the hash of its scores and its automatic slack (ns)."""
        return {**said, **self.rules.system_slack(slack), **self.threshold}

    def measurement(self, measure: Measure, tally: EventTally, found: EventValue, **more: Any) -> EventMeasurement:
        """Make the measurement of a value and its counts."""
        point, notes = replace(self.point, spoof=tally.events), found.notes
        if found.beyond is not None and self.given:
            notes = (*notes, f"of the proposals with a confidence above {found.beyond!r}, the best choice of all")
        elif found.beyond is not None:
            sign = 1.0 if point.higher == "spoof" else -1.0
            point = replace(point, threshold=sign * found.beyond, everything=math.isinf(found.beyond))
            notes = (*notes, "at the best of all thresholds: an optimistic number")
        if tally.on_threshold:
            notes = (*notes, _on_threshold_note(measure, tally.on_threshold))
        return EventMeasurement(
            measure=str(measure),
            value=found.value,
            point=point,
            neighbours=(None, None),
            eer_rule=self.how,
            convention="default",
            rules=self.rules,
            touched={entry.rule: entry for entry in self.touched},
            utterances=self.utterances,
            notes=(*self.notes, *notes),
            events=tally.events,
            proposals=int(found.parts.get("called", tally.proposals)),
            on_threshold=tally.on_threshold,
            parts=found.parts,
            **more,
        )


def _on_threshold_note(measure: Measure, pairs: int) -> str:
    """Explain a possible difference to code that rounds."""
    has, counts = ("has", "counts") if pairs == 1 else ("have", "count")
    if measure.event_kind.variant == "avdeepfake1m":
        outcome = f"{counts} as missed here; in the official code, 32-bit rounding decides"
    else:
        outcome = f"{counts} as matched here; in code that uses floats, rounding decides"
    return f"{counted(pairs, 'pair')} of proposal and event {has} an IoU exactly on a threshold and {outcome}"


@dataclass(frozen=True, eq=False)
class Prepared:
    """References and proposals under the rules, and their origin."""

    corpus: EventCorpus
    about: Circumstances

    def tally(self, measure: Measure) -> EventTally:
        """The counts of a measure, with the number of pairs exactly at its thresholds."""
        return replace(self.corpus.tally(measure), on_threshold=self.corpus.pairs_on_threshold(measure))


@dataclass(frozen=True, eq=False)
class EventEvaluation:
    """Event measures of one system on one corpus."""

    references: References
    system: Scores | Proposals
    options: EvaluationOptions
    # the operating point of the range EER, and its rule; called only if no threshold is given
    eer: Callable[[], tuple[OperatingPoint, str]]
    inputs: HashedInputs | None = None  # with hashes to share; of scores only

    @property
    def proposing(self) -> ProposalOptions:
        """The options for making proposals of scores."""
        return ProposalOptions(self.options.smoothing, self.options.min_duration, self.options.merge_gap)

    def measured(self, measure: Measure) -> EventMeasurement:
        """Take one measure."""
        check_parameters(measure)
        event_rules(self.options)  # refuses before the threshold is computed
        if measure.event_kind.ranked and isinstance(self.system, Scores):
            self.system.distinct.refuse(str(measure))
        prepared = self.prepared_for(measure)
        with progress(str(measure)):
            tally = prepared.tally(measure)
            found = tally.value(measure)
        cautions: tuple[str, ...] = ()
        if isinstance(self.system, Scores) and self.options.threshold_for(self.system) is None:
            cautions = self.system.distinct.cautions(found.value)
        for caution in cautions:
            warn_user(f"{measure}: {caution}", SpoofspanWarning)
        interval = None
        if self.options.resampling is not None:
            from spoofspan.uncertainty.spreads import interval_of_system

            interval = interval_of_system(self._system(measure, prepared, found.value), self.options.resampling)
        signer = partial(self.sign, measure)
        return prepared.about.measurement(measure, tally, found, signer=signer, interval=interval, warnings=cautions)

    def ready(self, measure: Measure) -> MeasuredEvents:
        """Take one measure for intervals, which leave out its clusters."""
        found = self.measured(measure)
        return self._system(measure, self.prepared_for(measure), found.value)

    def _system(self, measure: Measure, prepared: Prepared, value: float) -> MeasuredEvents:
        from spoofspan.uncertainty.event_intervals import MeasuredEvents

        return MeasuredEvents(
            measure, [prepared.corpus], value, partial(self.sign, measure), shared=prepared.about.shared
        )

    def prepared_for(self, measure: Measure) -> Prepared:
        """References and proposals (or scores at all thresholds) for a measure."""
        swept = measure.event_kind.all_thresholds and isinstance(self.system, Scores)
        return self._swept if swept else self._prepared

    @cached_property
    def _prepared(self) -> Prepared:
        if isinstance(self.system, Proposals):
            return self._given(self.system)
        with progress("proposing"):
            return self._made(self.system)

    def _given(self, proposals: Proposals) -> Prepared:
        options = self.options
        given = {"threshold": options.threshold, "eer_rule": options.eer_rule, **vars(self.proposing)}
        default = {"threshold": None, "eer_rule": None, **vars(ProposalOptions())}
        given |= {name: options.rules[name] for name in OF_SCORES if name in options.rules}
        default |= {name: getattr(Rules(), name) for name in OF_SCORES}
        for name, value in given.items():
            if value != default[name]:
                raise UsageError(f"{name} speaks of scores, and these are proposals; leave {name}= ({_flag(name)}) out")
        rules = event_rules(self.options)
        rules.check_modality(self.references.modality)
        references = self._snapped(rules)
        known = positions(references.utterances, proposals.utterances)
        if not (known >= 0).any():
            raise NothingToMeasureError("references and proposals have no utterance in common; check the ids", ())
        notes = []
        if missing := int(np.count_nonzero(known < 0)):
            notes.append(f"without proposals, so that their events are missed: {counted(missing, 'utterance')}")
        unknown = positions(proposals.utterances, references.utterances) < 0
        if rows := int(np.diff(proposals.offsets)[unknown].sum()):
            notes.append(f"of utterances that the references lack: {counted(rows, 'proposal')}")
        point = OperatingPoint(float("nan"), "spoof", 0, 0, 0, 0, unit="events")
        about = Circumstances(rules, {}, GIVEN, point, len(references), notes=tuple(notes))
        return Prepared(EventCorpus(references, proposals), about)

    def _made(self, scores: Scores) -> Prepared:
        """Proposals of scores, at a threshold."""
        point, source, threshold = self._threshold(scores)
        rules, overlay, references = self._laid(scores)
        proposals = proposals_from_runs(
            overlay.labelling.utterances, overlay.runs, point.threshold, self.proposing, everything=point.everything
        )
        about = self._about(rules, overlay, references, f"proposals:{source},{self.proposing}", point)
        return Prepared(EventCorpus(references, proposals), replace(about, threshold=threshold))

    @cached_property
    def _swept(self) -> Prepared:
        """Scores for measures over all thresholds."""
        scores = cast("Scores", self.system)
        for name in ("min_duration", "merge_gap"):
            if getattr(self.proposing, name):
                raise UsageError(
                    f"{name} ({_flag(name)}) does not go with measures of all thresholds (best-f1, psds); leave it "
                    "out, or use smoothing"
                )
        rules, overlay, references = self._laid(scores)
        corpus = ScoredCorpus(references, overlay.labelling.utterances, overlay.runs, self.proposing.smoothing)
        point = OperatingPoint(float("nan"), scores.higher, 0, 0, 0, 0, unit="events")
        how = f"{ALL_THRESHOLDS},{self.proposing}"
        return Prepared(corpus, self._about(rules, overlay, references, how, point))

    def _about(
        self, rules: Rules, overlay: Overlay, references: References, how: str, point: OperatingPoint
    ) -> Circumstances:
        signed = rules.signed("range", automatic_slack(cast("Scores", self.system)))
        return Circumstances(rules, signed, how, point, len(references), overlay.undecided()[1])

    def _laid(self, scores: Scores) -> tuple[Rules, Overlay, References]:
        """The overlay under the rules of ranges, and the references with the durations of their utterances."""
        rules = event_rules(self.options)
        if self.proposing.smoothing is not None:
            refuse_smoothing_ranges(scores)
        overlay = Overlay.of(self.references, scores, rules)
        labelling = overlay.labelling
        # in the order of the references, which some variants keep among equals
        known = positions(self.references.utterances, labelling.utterances)
        some = np.flatnonzero(known >= 0)
        references = replace(self._snapped(rules).take(some), durations=labelling.extents[known[some]])
        return rules, overlay, references

    def _threshold(self, scores: Scores) -> tuple[OperatingPoint, str, Mapping[str, str]]:
        """The threshold of proposals, its source, and a given threshold as in the signature."""
        threshold = self.options.threshold_for(scores)
        if threshold is None:
            at, rule = self.eer()
            source = f"threshold:eer({rule})"
            point = OperatingPoint(at.threshold, at.higher, 0, 0, 0, 0, unit="events", everything=at.everything)
            return point, source, {}
        point = OperatingPoint(threshold, scores.higher, 0, 0, 0, 0, unit="events")
        return point, "threshold:given", given_threshold(threshold, scores.higher)

    def _snapped(self, rules: Rules) -> References:
        if rules.snap is None:
            return self.references
        return replace(self.references, snap=duration_ns(rules.snap, "snap"))

    def sign(self, measure: Measure) -> Signature:
        """The signature of a value."""
        prepared = self.prepared_for(measure)
        as_listed = measure.event_kind.variant != "spoofspan"
        rules = self._signed_rules(prepared)
        if as_listed:
            rules["listing"] = listing_hash(prepared.corpus.references)
        if self.inputs is None:
            system = {"proposals": proposals_hash(prepared.corpus.proposals, as_listed=as_listed)}
        else:
            said = self.inputs.said(rows=prepared.about.counts_rows)
            system = prepared.about.signed_system(said, self.inputs.slack)
        hashes = self._references_hash, used_hash(prepared.corpus.references.utterances)
        return sign_hashes(str(measure), prepared.about.how, rules, hashes, system)

    def _signed_rules(self, prepared: Prepared) -> dict[str, str]:
        """The rules to state in a signature."""
        references = prepared.corpus.references
        if self.inputs is not None:
            applied = self.inputs.applied_rules(prepared.about.rules, references.utterances)
        else:  # proposals need no label of every instant
            applied = {"snap": f"{references.snap}ns"} if snap_matters(references, extents_of(references)) else {}
        return applied | prepared.about.signed

    @cached_property
    def _references_hash(self) -> str:
        return references_hash(self.references) if self.inputs is None else self.inputs.references_hash


def event_rules(options: EvaluationOptions) -> Rules:
    """The rules of event measures; rules that would change events are refused."""
    convention = options.convention
    if convention != "default":
        raise UsageError(f"the convention {convention!r} defines no event measure; leave it out, and state the rules")
    rules, _ = rules_for("range", "default", options.rules)
    for name, refused in REFUSED.items():
        if refused(getattr(rules, name)):
            raise UsageError(
                f"{name}={getattr(rules, name)!r} does not go with event measures: events are the spoof ranges "
                f"that the references list; leave it out ({_flag(name)})"
            )
    return rules


def crossed_events(
    corpus: CorpusInMemory, measure: Measure, columns: Columns, options: EvaluationOptions
) -> CrossedBreakdown:
    """An event measure by one or two columns of metadata, with the proposals of the whole corpus."""
    how, options = options.resampling, replace(options, resampling=None)
    whole = corpus.evaluate([measure], options)[str(measure)]
    if isinstance(corpus.system, Scores) and not measure.event_kind.all_thresholds:
        options = replace(options, threshold=whole.threshold)
    utterances = corpus.references.utterances

    def cell_of(chosen: Any, _: Any) -> CrossedCell:
        part = corpus.take([utterances[i] for i in chosen.tolist()])
        events = int(spoof_ranges(part.references, unite=measure.event_kind.variant == "spoofspan").starts.size)

        def value() -> tuple[float, Interval | None]:
            system = part.ready(measure, options)
            return system.value, interval_in_cell(system, how)

        return CrossedCell.of(value, 0, events)

    return crossed_cells(utterances, columns, cell_of, (str(measure), "events"))


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def listing_hash(references: References) -> str:
    """Hash the spoof ranges as listed: the published variants count touching ranges separately, in file order."""
    rows = np.flatnonzero(references.labels == SPOOF)
    hashed = ContentHash("listing 1")
    hashed.add_texts("ids", references.utterances)
    hashed.add("offsets", np.searchsorted(rows, references.offsets).astype("<i8"))
    hashed.add("starts", references.starts[rows].astype("<i8"))
    hashed.add("ends", references.ends[rows].astype("<i8"))
    return hashed.digest()


def proposals_hash(proposals: Proposals, *, as_listed: bool) -> str:
    """Hash proposals; ``as_listed`` includes their order, for variants that depend on it."""
    hashed = ContentHash("proposals 1, as listed" if as_listed else "proposals 1")
    files = np.flatnonzero(np.diff(proposals.offsets))
    order = files.tolist() if as_listed else sorted(files.tolist(), key=proposals.utterances.__getitem__)
    hashed.add_texts("ids", [proposals.utterances[i] for i in order])
    hashed.add("counts", np.diff(proposals.offsets)[order].astype("<i8"))
    rank = np.full(len(proposals), -1)
    rank[order] = np.arange(len(order))
    of_row = np.repeat(rank, np.diff(proposals.offsets))
    keys = () if as_listed else (proposals.confidences, proposals.ends, proposals.starts)
    rows = np.lexsort((*keys, of_row))
    hashed.add("starts", proposals.starts[rows].astype("<i8"))
    hashed.add("ends", proposals.ends[rows].astype("<i8"))
    hashed.add("confidences", (proposals.confidences[rows] + 0.0).astype("<f8"))
    return hashed.digest()


# ---------------------------------------------------------------- groups of events

GROUPS = ("attack", "length")
NO_WORDS = "no words"


def group_events(
    evaluation: EventEvaluation, measure: Measure, by: str, words: Words | None = None
) -> CrossedBreakdown:
    """A measure of each group of events among all proposals."""
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
    from spoofspan.uncertainty.event_intervals import MeasuredEvents

    corpus, how = evaluation.prepared_for(measure).corpus, evaluation.options.resampling

    def cell(chosen: Flags | None, events: int) -> CrossedCell:
        part = EventCorpus(corpus.references, corpus.proposals, chosen)

        def value() -> tuple[float, Interval | None]:
            found = part.value(measure).value
            return found, interval_in_cell(MeasuredEvents(measure, [part], found), how)

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
    """Flags of the events of each attack; an event united from several attacks has all their names."""
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
    """Flags of the events of each length."""
    events, _ = events_and_heads(references)
    lengths = events.ends - events.starts
    found = {name: (lengths >= low) & (lengths < high) for name, (low, high) in bins(LENGTHS).items()}
    return {name: flags for name, flags in found.items() if flags.any()}


def by_distance(references: References, words: Words) -> dict[str, Flags]:
    """Flags of the events by the distance of their farther edge from a word edge, or an end of the utterance."""
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
    """Distance of each time from the nearest of the sorted edges."""
    after = np.clip(np.searchsorted(edges, times), 1, edges.size - 1) if edges.size > 1 else np.zeros_like(times)
    nearest: Int64 = np.minimum(np.abs(times - edges[after]), np.abs(times - edges[np.maximum(after - 1, 0)]))
    return nearest

"""Event measures by their spelling: references and proposals, or scores to make them of, in; measurements out.

Proposals are taken as they are. Scores become proposals under the rules of range measures (``docs/rules.md``, 8 to 14),
at a threshold. Events are the spoof ranges that the references list, so rules that would make others are refused.

From events and proposals to the value of any event measure, with what it is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from spoofspan.base.columns import positions
from spoofspan.base.errors import NothingToMeasureError, UsageError
from spoofspan.base.hashing import utterances_hash
from spoofspan.base.progress import progress
from spoofspan.base.times import duration_ns
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.data.rules import Rules, Touched, rules_for
from spoofspan.data.scores import DECISION_THRESHOLD, Scores
from spoofspan.evaluation.measurement import (
    EventMeasurement,
    Measure,
    Measurement,
    counted,
    listing_hash,
    proposals_hash,
)
from spoofspan.evaluation.plan import spelled_rules
from spoofspan.evaluation.signature import Inputs, Signature, references_hash, sign_hashes
from spoofspan.mass.ranges import overlay_part, undecided_time
from spoofspan.measures.events.average_precision import VARIANTS, Contest, Variant, exact_iou
from spoofspan.measures.events.proposals_from_scores import Making, proposals_from_runs, refuse_smoothing_ranges
from spoofspan.measures.events.scores import (
    AR_IOUS,
    EventScores,
    add2023_score,
    boundary_scores,
    challenge_score,
    had_range_scores,
)
from spoofspan.measures.operating_point import OperatingPoint


@dataclass(frozen=True)
class EventValue:
    """A value, the numbers it is made of, and what a reader should know."""

    value: float
    parts: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class EventSide:
    """References and proposals of a corpus; several measures share what is worked out about them."""

    def __init__(self, references: References, proposals: Proposals) -> None:
        self.references, self.proposals = references, proposals
        self._contests: dict[Variant, Contest] = {}

    def contest(self, variant: Variant) -> Contest:
        """The contest of a variant, set up once."""
        if variant not in self._contests:
            self._contests[variant] = Contest.of(self.references, self.proposals, variant)
        return self._contests[variant]


def variant_of(measure: Measure) -> Variant:
    """Whose rules a measure follows."""
    ending = measure.kind.name.rpartition("-")[2]
    return next((one for one in VARIANTS if one == ending), "spoofspan")


def event_value(measure: Measure, side: EventSide) -> EventValue:
    """Measure a corpus."""
    contest = side.contest(variant_of(measure))
    contest.refuse_nothing(str(measure))
    return _VALUES[measure.kind.name.partition("-")[0]](measure, side, contest)


def check_parameters(measure: Measure) -> None:
    """Refuse parameters that no corpus could give a value for."""
    parameters = dict(measure.parameters)
    if "iou" in parameters:
        exact_iou(parameters["iou"], variant_of(measure))
    if "n" in parameters and not (parameters["n"] >= 1 and float(parameters["n"]).is_integer()):
        raise UsageError(f"{measure}: n must be a whole number of proposals, 1 or more")
    if "tolerance" in parameters and not 0 <= parameters["tolerance"] < float("inf"):
        raise UsageError(f"{measure}: tolerance must be 0 or more seconds")


def _ap(measure: Measure, side: EventSide, contest: Contest) -> EventValue:
    return EventValue(contest.average_precision(exact_iou(dict(measure.parameters)["iou"], contest.variant)))


def _ar(measure: Measure, side: EventSide, contest: Contest) -> EventValue:
    return EventValue(contest.average_recall(int(dict(measure.parameters)["n"]), list(map(exact_iou, AR_IOUS))))


def _challenge(measure: Measure, side: EventSide, contest: Contest) -> EventValue:
    score = challenge_score(contest)
    parts = {f"ap@iou={iou:g}": value for iou, value in score.average_precisions.items()}
    return EventValue(score.value, parts | {f"ar@n={n}": value for n, value in score.average_recalls.items()})


def _segments(measure: Measure, side: EventSide, contest: Contest) -> EventValue:
    matched = contest.matched(exact_iou(dict(measure.parameters)["iou"]))
    return _one_of_three(measure, EventScores(matched.size, contest.counted, contest.events.starts.size))


def _boundaries(measure: Measure, side: EventSide, contest: Contest) -> EventValue:
    tolerance = dict(measure.parameters)["tolerance"]
    return _one_of_three(measure, boundary_scores(side.references, side.proposals, tolerance))


def _had(measure: Measure, side: EventSide, contest: Contest) -> EventValue:
    return _one_of_three(measure, had_range_scores(side.references, side.proposals), (measure.kind.about,))


def _one_of_three(measure: Measure, scores: EventScores, notes: tuple[str, ...] = ()) -> EventValue:
    name = measure.kind.name.rpartition("-")[2]
    values = {one: getattr(scores, one) for one in ("precision", "recall", "f1")}
    counts = {one: getattr(scores, one) for one in ("matched", "predicted", "expected")}
    return EventValue(values[name], counts | values, notes)


def _add2023(measure: Measure, side: EventSide, contest: Contest) -> EventValue:
    score = add2023_score(side.references, side.proposals, macro=measure.macro)
    notes = [measure.kind.about]
    if measure.macro:
        left_out = f"; {score.left_out} have none and are left out" if score.left_out else ""
        notes.append(f"the F1 is the mean of {score.utterances - score.left_out} utterances{left_out}")
    parts = {"sentence_accuracy": score.sentence_accuracy, "segment_f1": score.segment_f1}
    return EventValue(score.value, parts, tuple(notes))


# by the first word of the name
_VALUES: Mapping[str, Callable[[Measure, EventSide, Contest], EventValue]] = {
    "ap": _ap,
    "ar": _ar,
    "avdeepfake1m": _challenge,
    "precision": _segments,
    "recall": _segments,
    "f1": _segments,
    "boundary": _boundaries,
    "had": _had,
    "add2023": _add2023,
}


# What would make or change events, or what scores that are no proposals mean.
REFUSED: Mapping[str, Callable[[Any], bool]] = {
    "gaps": lambda value: value in ("spoof", "following"),
    "nonspeech": lambda value: value == "spoof",
    "extent": lambda value: value == "cut-at-duration",
    "collar": bool,
    "regions": lambda value: value is not None,
    "utterances": lambda value: value != "all",
    "uncovered": lambda value: value in ("spoof", "ignore"),
}
OF_SCORES = ("uncovered", "slack", "overlong", "last_frame", "overlap", "partial", "extent")


@dataclass(frozen=True, eq=False)
class Prepared:
    """Both sides, ready to be measured, and how they came about."""

    side: EventSide
    rules: Rules
    spelled: dict[str, str]
    how: str  # as it stands in the signature
    point: OperatingPoint  # where the proposals were made; its threshold is NaN where they were given
    touched: tuple[Touched, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class EventEvaluation:
    """Event measures of one system on one corpus."""

    references: References
    system: Scores | Proposals
    making: Making
    convention: str
    overrides: Mapping[str, Any]
    threshold: float | None
    eer_rule: str | None
    # measures the range EER, for its operating point; needed only where no threshold is given
    eer: Callable[[], Measurement]
    inputs: Inputs | None = None  # whose hashes are shared, where the system gave scores

    def measured(self, measure: Measure) -> EventMeasurement:
        """Measure one thing."""
        check_parameters(measure)
        if measure.kind.ranked and isinstance(self.system, Scores):
            self.system.refuse_decisions(str(measure))
        prepared = self._prepared
        with progress(str(measure)):
            found = event_value(measure, prepared.side)
        contest = prepared.side.contest(variant_of(measure))
        events = int(contest.events.starts.size)
        return EventMeasurement(
            measure=str(measure),
            value=found.value,
            point=replace(prepared.point, spoof=events),
            neighbours=(None, None),
            eer_rule=prepared.how,
            convention=self.convention,
            rules=prepared.rules,
            touched={entry.rule: entry for entry in prepared.touched},
            utterances=len(prepared.side.references),
            notes=(*prepared.notes, *found.notes),
            signer=partial(self._sign, measure),
            events=events,
            proposals=contest.counted,
            parts=found.parts,
        )

    @cached_property
    def _prepared(self) -> Prepared:
        if isinstance(self.system, Proposals):
            return self._given(self.system)
        with progress("proposing"):
            return self._made(self.system)

    def _given(self, proposals: Proposals) -> Prepared:
        given = {"threshold": self.threshold, "eer_rule": self.eer_rule, **vars(self.making)}
        default = {"threshold": None, "eer_rule": None, **vars(Making())}
        given |= {name: self.overrides[name] for name in OF_SCORES if name in self.overrides}
        default |= {name: getattr(Rules(), name) for name in OF_SCORES}
        for name, value in given.items():
            if value != default[name]:
                raise UsageError(f"{name} speaks of scores, and these are proposals; leave {name}= ({_flag(name)}) out")
        rules = self._rules()
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
        spelled = {"snap": f"{references.snap}ns"}
        point = OperatingPoint(float("nan"), "spoof", 0, 0, 0, 0, unit="events")
        return Prepared(EventSide(references, proposals), rules, spelled, "proposals:given", point, notes=tuple(notes))

    def _made(self, scores: Scores) -> Prepared:
        rules = self._rules()
        if self.making.smoothing is not None:
            refuse_smoothing_ranges(scores)
        point, source = self._threshold(scores)
        labelling, runs, touched = overlay_part(self.references, scores, rules)
        undecided_time(labelling, runs, rules, touched)
        proposals = proposals_from_runs(
            labelling.utterances, runs, point.threshold, self.making, everything=point.everything
        )
        # in the order of the references, which some variants keep among equals
        known = positions(self.references.utterances, labelling.utterances)
        some = np.flatnonzero(known >= 0)
        references = replace(self._snapped(rules).take(some), durations=labelling.extents[known[some]])
        spelled = spelled_rules("range", rules, self.references.snap)
        how = f"proposals:{source},{self.making}"
        return Prepared(EventSide(references, proposals), rules, spelled, how, point, tuple(touched))

    def _threshold(self, scores: Scores) -> tuple[OperatingPoint, str]:
        """Where proposals are made, and where that comes from."""
        if scores.decisions:
            if self.threshold not in (None, DECISION_THRESHOLD):
                raise UsageError(
                    f"hard decisions have no threshold to move to {self.threshold}; leave threshold= (--threshold) out"
                )
            threshold: float | None = DECISION_THRESHOLD
        else:
            threshold = self.threshold
        if threshold is None:
            measured = self.eer()
            at = measured.point
            source = f"threshold:eer({measured.eer_rule})"
            return OperatingPoint(at.threshold, at.higher, 0, 0, 0, 0, unit="events", everything=at.everything), source
        if threshold != threshold:
            raise UsageError("a threshold must be a number, not NaN")
        return OperatingPoint(float(threshold), scores.higher, 0, 0, 0, 0, unit="events"), "threshold:given"

    def _rules(self) -> Rules:
        if self.convention != "default":
            raise UsageError(
                f"the convention {self.convention!r} defines no event measure; leave it out, and state the rules"
            )
        rules, _ = rules_for("range", "default", self.overrides)
        for name, refused in REFUSED.items():
            if refused(getattr(rules, name)):
                raise UsageError(
                    f"{name}={getattr(rules, name)!r} does not go with event measures: events are the spoof ranges "
                    f"that the references list; leave it out ({_flag(name)})"
                )
        return rules

    def _snapped(self, rules: Rules) -> References:
        if rules.snap is None:
            return self.references
        return replace(self.references, snap=duration_ns(rules.snap, "snap"))

    def _sign(self, measure: Measure) -> Signature:
        prepared = self._prepared
        as_listed = variant_of(measure) != "spoofspan"
        rules = prepared.spelled | ({"listing": listing_hash(prepared.side.references)} if as_listed else {})
        used = prepared.side.references.utterances
        if self.inputs is not None:
            source, system = "scores", self.inputs.scores_hash
        else:
            source, system = "proposals", proposals_hash(prepared.side.proposals, as_listed=as_listed)
        hashes = self._references_hash, f"{len(used)}:{utterances_hash(used)}", system
        signed = sign_hashes(str(measure), prepared.how, rules, hashes, None)
        return Signature(signed.comparable, f"{source}:{system}")

    @cached_property
    def _references_hash(self) -> str:
        return references_hash(self.references) if self.inputs is None else self.inputs.references_hash


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"

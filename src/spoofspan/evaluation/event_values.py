"""From events and proposals to the value of any event measure, with what it is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from spoofspan.base.errors import UsageError
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.evaluation.measurement import Measure
from spoofspan.measures.events.add2023 import add2023_score
from spoofspan.measures.events.contest import VARIANTS, Contest, Variant, exact_iou
from spoofspan.measures.events.scores import AR_IOUS, EventScores, boundary_scores, challenge_score, had_range_scores


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

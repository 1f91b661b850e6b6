"""The measuring functions: pair, check, compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.base.columns import offsets_of
from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.base.progress import track
from spoofspan.base.times import milliseconds
from spoofspan.data.references import References
from spoofspan.data.rules import CONVENTIONS, rules_for
from spoofspan.data.scores import DECISION_THRESHOLD, Scores
from spoofspan.evaluation.measurement import (
    BisectionMeasurement,
    Measure,
    Measurement,
    flat_name,
    parse_measures,
)
from spoofspan.evaluation.plan import OnUndefined, Plan, ScoresAre, Undefined, plan_measure, point_rules, spelled_rules
from spoofspan.evaluation.signature import Inputs, sign
from spoofspan.mass.labelling import label_references
from spoofspan.mass.points import Grid, check_resolution, point_mass_with
from spoofspan.mass.ranges import lay_over, overlay_with
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.bisection import Quantiles, RangeRates, bisect
from spoofspan.measures.catalogue import BASIS as EVENT
from spoofspan.measures.catalogue import USUAL as USUAL_OF_EVENTS
from spoofspan.measures.curve import ErrorCurve, error_curve_of
from spoofspan.measures.operating_point import OperatingPoint

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.data.proposals import Proposals
    from spoofspan.data.rules import RuleArguments
    from spoofspan.data.utterance_scores import UtteranceScores
    from spoofspan.data.verification_scores import VerificationScores
    from spoofspan.evaluation.events import EventEvaluation
    from spoofspan.evaluation.utterances import GivenScores
    from spoofspan.measures.per_utterance import UtteranceErrors
    from spoofspan.uncertainty.clusters import Resampling


def overlay(
    references: References, scores: Scores, *, convention: str = "default", **rules: Unpack[RuleArguments]
) -> ScoreMass:
    """Lay references and scores over each other: how long each class lasted under each score.

    >>> references = References.from_ranges({"u1": [(0.0, 0.03, "bonafide"), (0.03, 0.06, "spoof")]})
    >>> scores = Scores.from_frames({"u1": [0.9, 0.4, -0.2]}, hop=0.02, higher="bonafide")
    >>> mass = overlay(references, scores)
    >>> mass.scores.tolist(), mass.bona_fide.tolist(), mass.spoof.tolist()
    ([0.9, 0.4, -0.2], [20000000, 10000000, 0], [0, 10000000, 20000000])
    """
    scores.refuse_decisions("a score mass")
    return _range_mass(references, scores, convention, rules)


def _range_mass(references: References, scores: Scores, convention: str, rules: Mapping[str, Any]) -> ScoreMass:
    chosen, _ = rules_for("range", convention, rules)
    return overlay_with(references, scores, chosen)[0]


def point_mass(
    references: References,
    scores: Scores,
    resolution: float,
    *,
    convention: str = "default",
    **rules: Unpack[RuleArguments],
) -> ScoreMass:
    """As :func:`overlay`, counted in points of a resolution (seconds)."""
    scores.refuse_decisions("a score mass")
    return _points_mass(references, scores, resolution, convention, rules)


def _points_mass(
    references: References, scores: Scores, resolution: float, convention: str, rules: Mapping[str, Any]
) -> ScoreMass:
    chosen, _ = point_rules(scores.hop, check_resolution(resolution), convention, rules)
    return point_mass_with(references, scores, resolution, chosen)[0]


def range_eer(
    references: References,
    scores: Scores,
    *,
    convention: str = "default",
    eer_rule: str | None = None,
    undefined: Undefined = "raise",
    **rules: Unpack[RuleArguments],
) -> Measurement:
    """Measure the range-based EER (Eqs. 3 to 7), exactly.

    >>> references = References.from_ranges({"u1": [(0.0, 0.08, "bonafide"), (0.08, 0.16, "spoof")]})
    >>> frames = {"u1": [0.9, 0.8, 0.7, 0.1, 0.2, -0.1, -0.2, -0.3]}
    >>> m = range_eer(references, Scores.from_frames(frames, hop=0.02, higher="bonafide"))
    >>> m.value, m.decision
    (0.25, 'spoof iff score < 0.2')
    """
    return _measure(Measure("range-eer"), Inputs(references, scores), convention, eer_rule, undefined, rules)


def point_eer(
    references: References,
    scores: Scores,
    resolution: float,
    *,
    convention: str = "default",
    eer_rule: str | None = None,
    undefined: Undefined = "raise",
    **rules: Unpack[RuleArguments],
) -> Measurement:
    """Measure the point-based EER (Eqs. 1 to 4) at a resolution in seconds."""
    measure = Measure("point-eer", check_resolution(resolution))
    return _measure(measure, Inputs(references, scores), convention, eer_rule, undefined, rules)


def utterance_eer(
    references: References,
    scores: Scores,
    *,
    convention: str = "default",
    eer_rule: str | None = None,
    undefined: Undefined = "raise",
    **rules: Unpack[RuleArguments],
) -> Measurement:
    """Measure the utterance-level EER: an utterance is spoof if any of it is, its score is its lowest.

    That is the point-based EER with one point per utterance. "Lowest" is meant in bona fide polarity.
    """
    return _measure(Measure("utterance-eer"), Inputs(references, scores), convention, eer_rule, undefined, rules)


def _measure(
    measure: Measure,
    inputs: Inputs,
    convention: str,
    eer_rule: str | None,
    undefined: Undefined,
    rules: Mapping[str, Any],
    threshold: float | None = None,
    scores_are: ScoresAre | None = None,
    asv_scores: VerificationScores | None = None,
    given: GivenScores | None = None,
    resampling: Resampling | None = None,
) -> Measurement:
    if given is not None and measure.basis == "utterance":
        plan = plan_measure(measure, None, convention, eer_rule, rules, threshold, scores_are, asv_scores)
        return given.measure(plan, undefined, resampling)
    references, scores = inputs.references, inputs.scores
    if scores.decisions:
        threshold = threshold_of_decisions(measure, scores, threshold)
    plan = plan_measure(measure, scores.hop, convention, eer_rule, rules, threshold, scores_are, asv_scores)
    mass, touched = plan.mass(references, scores)

    def errors_at(point: OperatingPoint) -> UtteranceErrors:
        from spoofspan.measures.per_utterance import errors_with

        return errors_with(references, scores, point, plan.rules)

    found = plan.measured(
        mass, touched, len(mass.utterances), plan.signer(inputs, mass.utterances), undefined, errors_at
    )
    return found if resampling is None else with_interval(found, plan, mass, resampling)


def with_interval(found: Measurement, plan: Plan, mass: ScoreMass, resampling: Resampling) -> Measurement:
    """A measurement of a mass with its interval."""
    from spoofspan.uncertainty.cluster_bootstrap import interval_of_system
    from spoofspan.uncertainty.measured_system import MeasuredSystem

    return replace(found, interval=interval_of_system(MeasuredSystem(plan, mass, found.value), resampling))


def threshold_of_decisions(measure: Measure, scores: Scores, threshold: float | None) -> float:
    """Hard decisions have one threshold; whatever needs another, or all of them, is refused."""
    if measure.kind.group != "threshold" or measure.given is not None:
        scores.refuse_decisions(str(measure))
    if threshold not in (None, DECISION_THRESHOLD):
        raise UsageError(f"hard decisions have no threshold to move to {threshold}; leave threshold= (--threshold) out")
    return DECISION_THRESHOLD


def bisection_eer(
    references: References,
    scores: Scores,
    *,
    precision: float = 1e-5,
    quantiles: Quantiles = "real",
    convention: str = "default",
    **rules: Unpack[RuleArguments],
) -> BisectionMeasurement:
    """Estimate the range-based EER by the paper's Algorithm 1; ``trace`` shows every step.

    ``quantiles="integer"`` is the algorithm as printed, ``"real"`` as in the published script.
    """
    scores.refuse_decisions("an EER")
    chosen, _ = rules_for("range", convention, rules)
    rates = RangeRates(references, scores, chosen)
    result = bisect(rates, precision, quantiles)
    best = result.best
    value = (best.false_positive_rate + best.false_negative_rate) / 2
    point = OperatingPoint(
        best.threshold if scores.higher == "bonafide" else -best.threshold,
        scores.higher,
        round(best.false_positive_rate * rates.all_bona_fide),
        round(best.false_negative_rate * rates.all_spoof),
        int(rates.all_bona_fide),
        int(rates.all_spoof),
    )
    notes = []
    if not result.reached:
        notes.append(f"the precision of {precision:g} was not reached: no quantile tried gives |FPR - FNR| below it")
    if not result.bracketed:
        notes.append("FPR - FNR has the same sign at the lowest and at the highest score, so nothing was bracketed")
    measure = f"bisection-eer({quantiles},{precision:g})"
    signer = partial(
        sign,
        measure,
        "bisection",
        spelled_rules("range", chosen, references.snap),
        Inputs(references, scores),
        rates.utterances,
        chosen.regions,
    )
    return BisectionMeasurement(
        measure,
        value,
        point,
        (None, None),
        "bisection",
        convention,
        chosen,
        {entry.rule: entry for entry in rates.touched},
        len(rates.utterances),
        Fraction(value),
        (),
        tuple(notes),
        signer,
        result,
    )


def error_curve(
    references: References,
    scores: Scores,
    *,
    resolution: float | None = None,
    convention: str = "default",
    **rules: Unpack[RuleArguments],
) -> ErrorCurve:
    """Compute FPR and FNR at every threshold, in durations or (with a ``resolution``) in points.

    Of hard decisions, only the point ``at(0.5)`` means anything: their errors as they are.

    >>> references = References.from_ranges({"u1": [(0.0, 0.03, "bonafide"), (0.03, 0.06, "spoof")]})
    >>> scores = Scores.from_frames({"u1": [0.9, 0.4, -0.2]}, hop=0.02, higher="bonafide")
    >>> curve = error_curve(references, scores)
    >>> curve.thresholds.tolist()
    [-0.2, 0.4, 0.9, inf]
    >>> curve.at(0.3).seconds()["false_negative"]
    0.01
    """
    if resolution is None:
        return error_curve_of(_range_mass(references, scores, convention, rules))
    return error_curve_of(_points_mass(references, scores, resolution, convention, rules))


@dataclass(frozen=True)
class Evaluation:
    """Several measurements of one system on one corpus, by name."""

    measurements: Mapping[str, Measurement]

    def __getitem__(self, measure: str) -> Measurement:
        return self.measurements[str(Measure.parse(measure))]

    def __len__(self) -> int:
        return len(self.measurements)

    def __str__(self) -> str:
        return "\n".join(map(str, self.measurements.values()))

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        from spoofspan.report.results import results_table

        return results_table(self, signatures=False).render("html")

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {"measurements": [m.to_dict() for m in self.measurements.values()]}

    def to_flat_dict(self) -> dict[str, float]:
        """Numbers by plain names, for a logger of experiments (MLflow, W&B, TensorBoard): ``log_metrics(flat)``.

        The values, and the thresholds they were taken at. What they may be compared with stands in the signatures:
        log these too, as tags or parameters.
        """
        flat: dict[str, float] = {}
        for name, one in self.measurements.items():
            flat[flat_name(name)] = one.value
            if one.threshold == one.threshold:  # a value over all thresholds has none
                flat[f"{flat_name(name)}_threshold"] = one.threshold
        return flat


def evaluate(
    references: References,
    scores: Scores | Proposals,
    measures: Sequence[str | Measure] = ("range-eer",),
    *,
    convention: str = "default",
    eer_rule: str | None = None,
    threshold: float | None = None,
    scores_are: ScoresAre | None = None,
    utterance_scores: UtteranceScores | None = None,
    asv_scores: VerificationScores | None = None,
    on_undefined: OnUndefined | None = None,
    smoothing: int | None = None,
    min_duration: float = 0.0,
    merge_gap: float = 0.0,
    confidence: float | None = None,
    resampling: Resampling | None = None,
    **rules: Unpack[RuleArguments],
) -> Evaluation:
    """Measure several things: ``evaluate(references, scores, ["range-eer", "range-f1", "point-eer@20ms"])``.

    Measures at a threshold (``range-f1``) are taken at ``threshold``, or else at that of the EER. ``scores_are`` ("llr"
    or "probability") is for those that take scores at their word (``range-cllr``). A measure without a value is an
    error; with ``on_undefined`` it is left out, and that is called with the reason.

    With ``utterance_scores``, measures of utterances are of these, and not of the lowest score of each utterance.
    ``asv_scores`` (:func:`spoofspan.read_verification_scores`) are for ``utterance-min-tdcf``.

    Event measures (``event-ap@iou=0.5``) also take proposals in the place of scores. Of scores, proposals are made at
    the threshold; ``smoothing``, ``min_duration`` and ``merge_gap`` are those of ``proposals_from_scores``.

    With ``confidence`` (0.95) each value has an interval, by a bootstrap over utterances; ``resampling`` says otherwise
    (``Resampling(clusters=...)``).
    """
    given = None
    if utterance_scores is not None:
        from spoofspan.evaluation.utterances import GivenScores

        given = GivenScores.of(references, utterance_scores)
    if confidence is not None:
        from spoofspan.uncertainty.clusters import Resampling

        resampling = replace(resampling or Resampling(), confidence=confidence)
    results: dict[str, Measurement] = {}
    wanted = parse_measures(measures)
    inputs = Inputs(references, scores) if isinstance(scores, Scores) else None

    def of_scores(measure: Measure) -> Measurement:
        if inputs is None:
            raise UsageError(
                f"{measure} needs scores, and these are proposals; they have event measures: event-ap@iou=0.5"
            )
        return _measure(
            measure,
            inputs,
            convention,
            eer_rule,
            "raise",
            rules,
            threshold,
            scores_are,
            asv_scores,
            given,
            resampling,
        )

    events: EventEvaluation | None = None
    if any(measure.basis == EVENT for measure in wanted):
        from spoofspan.evaluation.events import EventEvaluation
        from spoofspan.measures.events.proposals_from_scores import Making

        if resampling is not None:
            raise UsageError("event measures have no intervals yet; measure them without confidence= (--confidence)")
        making = Making(smoothing, min_duration, merge_gap)
        eer = partial(of_scores, Measure("range-eer"))
        events = EventEvaluation(references, scores, making, convention, rules, threshold, eer_rule, eer, inputs)
    elif smoothing is not None or min_duration or merge_gap:
        raise UsageError(
            "smoothing, min_duration and merge_gap are for event measures, and there is none: event-ap@iou=0.5"
        )
    for measure in track(wanted, "measuring"):
        try:
            result = events.measured(measure) if events and measure.basis == EVENT else of_scores(measure)
        except UndefinedMeasureError as error:
            if on_undefined is None:
                raise
            on_undefined(measure, error)
            continue
        results[str(measure)] = result
    return Evaluation(results)


def default_measures(scores: Scores | Proposals, convention: str = "default") -> list[str]:
    """What is measured if nothing is asked for: the EER of ranges, points and utterances; AP and AR of proposals."""
    if not isinstance(scores, Scores):
        return list(USUAL_OF_EVENTS)
    return measures_for_hop(scores.hop, convention)


def measures_for_hop(hop: float | None, convention: str) -> list[str]:
    """As :func:`default_measures`, given the hop (None for ranges)."""
    if convention in CONVENTIONS and "point" not in CONVENTIONS[convention].measures:
        return ["range-eer"]
    at_hop = [str(Measure("point-eer", hop))] if hop is not None else []
    return ["range-eer", *at_hop, "utterance-eer"]


def best_possible(
    references: References,
    hop: float,
    *,
    convention: str = "default",
    eer_rule: str | None = None,
    **rules: Unpack[RuleArguments],
) -> Measurement:
    """The floor: the range-based EER of a perfect system that must give one score per hop (seconds).

    Its frames are ordered by the share of bona fide time in each; no other scores of that hop give a better curve. The
    difference to a real system's EER is what the system does, the floor itself is what the resolution costs.
    """
    hop = check_resolution(hop)
    chosen, convention_rule = rules_for("range", convention, rules)
    labelling, touched = label_references(references, chosen)
    some = np.flatnonzero(labelling.extents > 0)
    if not some.size:
        raise UndefinedMeasureError("no utterance has any time to measure")
    labelling = labelling.take(some)
    grid = Grid.over(labelling.extents, hop, "use")
    _, laid = lay_over(labelling, grid.runs(), 0, some.size)
    shares = laid.bona_fide / np.maximum(laid.bona_fide + laid.spoof, 1)
    perfect = Scores.from_columns(labelling.utterances, offsets_of(grid.counts), shares, hop=hop, higher="bonafide")
    measured = range_eer(
        references.take(some), perfect, convention=convention, eer_rule=eer_rule or convention_rule, **rules
    )
    name = f"floor@{milliseconds(hop)}"
    signed_as_range = measured.signer
    signer = partial(sign, name, *signed_as_range.args[1:]) if isinstance(signed_as_range, partial) else signed_as_range
    return replace(measured, measure=name, touched={entry.rule: entry for entry in touched}, signer=signer)

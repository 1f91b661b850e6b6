"""The measuring functions: pair, check, compute."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from spoofspan.bisection import Quantiles, RangeRates, bisect
from spoofspan.columns import offsets_of
from spoofspan.curve import ErrorCurve, error_curve_of
from spoofspan.eer import EqualErrorRate, check_eer_rule, equal_error_rate
from spoofspan.errors import SpoofspanWarning, UndefinedMeasureError, UsageError
from spoofspan.labelling import label_references
from spoofspan.mass import ScoreMass
from spoofspan.measures import (
    BisectionMeasurement,
    Measure,
    Measurement,
    milliseconds,
    parse_measures,
    warnings_for,
)
from spoofspan.nanoseconds import LONGEST
from spoofspan.operating_point import OperatingPoint, totals
from spoofspan.overlaying import lay_over, overlay_with
from spoofspan.points import Grid, check_resolution, point_mass_with
from spoofspan.references import References
from spoofspan.rules import CONVENTIONS, Rules, Touched, rules_for
from spoofspan.scores import Scores
from spoofspan.signature import Signature, sign

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.rules import RuleArguments

Undefined = Literal["raise", "nan"]
# No utterance is as long as one point of this resolution (seconds).
WHOLE_UTTERANCE = LONGEST / 1e9


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
    chosen, _ = _point_rules(scores, check_resolution(resolution), convention, rules)
    return point_mass_with(references, scores, resolution, chosen)[0]


def _point_rules(scores: Scores, resolution: float, convention: str, overrides: Mapping[str, Any]) -> tuple[Rules, str]:
    finer = scores.hop is not None and resolution < scores.hop * (1 - 1e-9)
    return rules_for("point", convention, overrides, finer_than_hop=finer)


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
    chosen, convention_rule = rules_for("range", convention, rules)
    rule = check_eer_rule(eer_rule or convention_rule)
    mass, touched = overlay_with(references, scores, chosen)
    signer = _signer(Measure("range-eer"), rule, chosen, references, scores, mass)
    return _measured(Measure("range-eer"), mass, rule, convention, chosen, touched, signer, undefined)


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
    resolution = check_resolution(resolution)
    chosen, convention_rule = _point_rules(scores, resolution, convention, rules)
    rule = check_eer_rule(eer_rule or convention_rule)
    mass, touched = point_mass_with(references, scores, resolution, chosen)
    measure = Measure("point-eer", resolution)
    signer = _signer(measure, rule, chosen, references, scores, mass)
    measured = _measured(measure, mass, rule, convention, chosen, touched, signer, undefined)
    if scores.hop is not None and resolution > scores.hop * (1 + 1e-9):
        note = (
            f"measured at {milliseconds(resolution)}, coarser than the scores' hop of {milliseconds(scores.hop)}: "
            "an easier task, not a better system"
        )
        measured = replace(measured, notes=(*measured.notes, note))
    return measured


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
    chosen, convention_rule = rules_for("point", convention, {**rules, "last_point": "use"})
    rule = check_eer_rule(eer_rule or convention_rule)
    mass, touched = point_mass_with(references, scores, WHOLE_UTTERANCE, chosen)
    measure = Measure("utterance-eer")
    signer = _signer(measure, rule, chosen, references, scores, mass)
    return _measured(measure, mass, rule, convention, chosen, touched, signer, undefined)


def _signer(
    measure: Measure, rule: str, rules: Rules, references: References, scores: Scores, mass: ScoreMass
) -> partial[Signature]:
    spelled = _spelled_rules("range" if measure.family == "range-eer" else "point", rules, references)
    return partial(sign, str(measure), rule, spelled, references, scores, mass.utterances, rules.regions)


def _spelled_rules(kind: str, rules: Rules, references: References) -> dict[str, str]:
    """The rules as text; what the references decide is written out."""
    spelled = rules.spelled(kind)
    if rules.snap is None:
        spelled["snap"] = f"{references.snap}ns"
    return spelled


def _measured(
    measure: Measure,
    mass: ScoreMass,
    rule: str,
    convention: str,
    rules: Rules,
    touched: tuple[Touched, ...],
    signer: partial[Signature],
    undefined: Undefined,
) -> Measurement:
    if undefined not in ("raise", "nan"):
        raise UsageError(f"undefined={undefined!r}: valid: 'raise', 'nan'")
    found: EqualErrorRate | None = None
    try:
        found = equal_error_rate(mass, rule)
        point, neighbours = found.point, found.neighbours
        value, exact = float(found.value), found.value
        cautions = warnings_for(value, point, rule)
    except UndefinedMeasureError as error:
        if undefined == "raise":
            raise
        sums = totals(mass)
        point = replace(sums.point(float("nan"), 0, 0), threshold=float("nan"))
        neighbours, value, exact, cautions = (None, None), float("nan"), None, (str(error),)
    for caution in cautions:
        warnings.warn(f"{measure}: {caution}", SpoofspanWarning, stacklevel=3)
    return Measurement(
        str(measure),
        value,
        point,
        neighbours,
        rule,
        convention,
        rules,
        {entry.rule: entry for entry in touched},
        len(mass.utterances),
        exact,
        cautions,
        (),
        signer,
    )


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
        _spelled_rules("range", chosen, references),
        references,
        scores,
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

    >>> references = References.from_ranges({"u1": [(0.0, 0.03, "bonafide"), (0.03, 0.06, "spoof")]})
    >>> scores = Scores.from_frames({"u1": [0.9, 0.4, -0.2]}, hop=0.02, higher="bonafide")
    >>> curve = error_curve(references, scores)
    >>> curve.thresholds.tolist()
    [-0.2, 0.4, 0.9, inf]
    >>> curve.at(0.3).seconds()["false_negative"]
    0.01
    """
    if resolution is None:
        return error_curve_of(overlay(references, scores, convention=convention, **rules))
    return error_curve_of(point_mass(references, scores, resolution, convention=convention, **rules))


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

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {"measurements": [m.to_dict() for m in self.measurements.values()]}


def evaluate(
    references: References,
    scores: Scores,
    measures: Sequence[str | Measure] = ("range-eer",),
    *,
    convention: str = "default",
    eer_rule: str | None = None,
    **rules: Unpack[RuleArguments],
) -> Evaluation:
    """Measure several things: ``evaluate(references, scores, ["range-eer", "point-eer@20ms"])``."""
    results: dict[str, Measurement] = {}
    for measure in parse_measures(measures):
        if measure.family == "range-eer":
            result = range_eer(references, scores, convention=convention, eer_rule=eer_rule, **rules)
        elif measure.resolution is None:
            result = utterance_eer(references, scores, convention=convention, eer_rule=eer_rule, **rules)
        else:
            result = point_eer(
                references, scores, measure.resolution, convention=convention, eer_rule=eer_rule, **rules
            )
        results[str(measure)] = result
    return Evaluation(results)


def default_measures(scores: Scores, convention: str = "default") -> list[str]:
    """What is measured if nothing is asked for: range EER, point EER at the hop, utterance EER."""
    if convention in CONVENTIONS and "point" not in CONVENTIONS[convention].measures:
        return ["range-eer"]
    at_hop = [str(Measure("point-eer", scores.hop))] if scores.hop is not None else []
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

"""From a mass to the value of any measure, with the operating point that belongs to it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from spoofspan.base.errors import UsageError
from spoofspan.evaluation.measurement import Measure
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.curve import ErrorCurve, error_curve_of
from spoofspan.measures.eer import equal_error_rate
from spoofspan.measures.operating_point import OperatingPoint, point_at

if TYPE_CHECKING:
    from spoofspan.measures.confusion import ValueAtPoint
    from spoofspan.measures.tandem import VerificationScores

ScoresAre = Literal["llr", "probability"]
Neighbours = tuple[OperatingPoint | None, OperatingPoint | None]


@dataclass(frozen=True)
class Value:
    """A value; the operating point it was taken at, None where every threshold counts; neighbours of a crossing."""

    value: Fraction | float
    point: OperatingPoint | None = None
    neighbours: Neighbours = (None, None)


def value_of(
    mass: ScoreMass,
    measure: Measure,
    eer_rule: str,
    threshold: float | None = None,
    scores_are: ScoresAre | None = None,
    asv_scores: VerificationScores | None = None,
) -> Value:
    """Measure a mass. ``threshold`` is for measures at one; without it they are taken at that of the EER."""
    kind = measure.kind
    if kind.group == "eer":
        eer = equal_error_rate(mass, eer_rule)
        return Value(eer.value, eer.point, eer.neighbours)
    if kind.group != "threshold":
        return _of_the_curve(error_curve_of(mass), measure, scores_are, asv_scores)
    from spoofspan.measures.confusion import at_constraint, value_at

    if measure.given is not None:
        name, bound = measure.given
        found = at_constraint(error_curve_of(mass), kind.name, name, Fraction(bound), measure.positive)
        return Value(found.value, found.point)
    point = equal_error_rate(mass, eer_rule).point if threshold is None else point_at(mass, threshold)
    return Value(value_at(point, kind.name, measure.positive), point)


def _of_the_curve(
    curve: ErrorCurve, measure: Measure, scores_are: ScoresAre | None, asv_scores: VerificationScores | None
) -> Value:
    from spoofspan.measures import costs, ranking

    name, parameters = measure.kind.name, dict(measure.parameters)
    if name == "auc":
        return Value(ranking.auc(curve))
    if name == "average-precision":
        return Value(ranking.average_precision(curve, measure.positive))
    if name == "min-cllr":
        return Value(costs.min_cllr(curve))
    if name == "best-f1":
        found = ranking.best_f1(curve, measure.positive)
    elif name == "min-dcf":
        found = costs.min_dcf(curve, **parameters)
    elif name == "min-tdcf":
        found = _min_tdcf(curve, measure, asv_scores)
    elif scores_are is None:
        raise UsageError(
            f"{measure} takes scores at their word: say what they are with scores_are='llr' or 'probability' "
            "(--scores-are)"
        )
    elif name == "act-dcf":
        found = costs.act_dcf(curve, scores_are, **parameters)
    else:
        return Value(costs.cllr(curve, scores_are))
    return Value(found.value, found.point)


def _min_tdcf(curve: ErrorCurve, measure: Measure, asv_scores: VerificationScores | None) -> ValueAtPoint:
    from spoofspan.measures import tandem

    if asv_scores is None:
        raise UsageError(
            f"{measure} needs the scores of a speaker verification system: give asv_scores= (--asv-scores)"
        )
    return tandem.min_tdcf(curve, asv_scores.errors, *tandem.tandem_costs(dict(measure.parameters)))

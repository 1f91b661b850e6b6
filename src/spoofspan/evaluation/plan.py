"""Plans: what it takes to measure one thing, settled before any data are looked at.

A plan knows the rules, the EER rule and how to make the mass of a corpus or of a shard of one. That is why the same
plan serves a corpus in memory (:mod:`spoofspan.evaluate`) and one in shards (:mod:`spoofspan.scale.shards`).

From a mass to the value of any measure, with the operating point that belongs to it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from spoofspan.base.errors import SpoofspanWarning, UndefinedMeasureError, UsageError
from spoofspan.base.times import LONGEST, milliseconds
from spoofspan.data.references import References
from spoofspan.data.rules import Rules, Touched, rules_for
from spoofspan.data.scores import Scores
from spoofspan.evaluation.measurement import Measure, Measurement, warnings_for
from spoofspan.evaluation.signature import Inputs, Signature, sign, verification_hash
from spoofspan.mass.points import check_resolution, point_mass_with
from spoofspan.mass.ranges import overlay_with
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.curve import ErrorCurve, error_curve_of
from spoofspan.measures.eer import check_eer_rule, equal_error_rate
from spoofspan.measures.operating_point import OperatingPoint, point_at, totals

if TYPE_CHECKING:
    from spoofspan.data.verification_scores import VerificationScores
    from spoofspan.measures.confusion import ValueAtPoint
    from spoofspan.measures.per_utterance import UtteranceErrors

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
    errors = tandem.verification_errors(asv_scores)
    return tandem.min_tdcf(curve, errors, *tandem.tandem_costs(dict(measure.parameters)))


Undefined = Literal["raise", "nan"]
OnUndefined = Callable[[Measure, UndefinedMeasureError], None]
# No utterance is as long as one point of this resolution (seconds).
WHOLE_UTTERANCE = LONGEST / 1e9


@dataclass(frozen=True)
class Plan:
    """How one measure is taken."""

    measure: Measure
    rules: Rules
    eer_rule: str
    convention: str
    notes: tuple[str, ...] = ()
    threshold: float | None = None  # None: that of the EER, for measures at a threshold
    scores_are: ScoresAre | None = None
    asv_scores: VerificationScores | None = None  # of a speaker verification system, for the t-DCF

    @property
    def kind(self) -> Literal["range", "point"]:
        """Whether durations or points are counted."""
        return "range" if self.measure.basis == "range" else "point"

    @property
    def read_off(self) -> str:
        """How the value is read off the curve, as it stands in the signature."""
        group = self.measure.kind.group
        if group == "eer":
            return self.eer_rule
        if self.measure.kind.needs_asv and self.asv_scores is not None:
            return f"asv-scores:{verification_hash(self.asv_scores)}"
        if self.measure.kind.declared:
            return f"scores-are:{self.scores_are}"
        if group != "threshold" or self.measure.given is not None:
            return "all-thresholds"
        # the threshold itself belongs to the system: numbers at their own thresholds may be compared
        return f"threshold:eer({self.eer_rule})" if self.threshold is None else "threshold:given"

    def mass(self, references: References, scores: Scores) -> tuple[ScoreMass, tuple[Touched, ...]]:
        """Lay references and scores over each other, and say what the rules touched."""
        if self.kind == "range":
            return overlay_with(references, scores, self.rules)
        resolution = WHOLE_UTTERANCE if self.measure.resolution is None else self.measure.resolution
        return point_mass_with(references, scores, resolution, self.rules)

    def spelled_rules(self, snap: int) -> dict[str, str]:
        """The rules as text; what the references decide (their ``snap`` in ns) is written out."""
        return spelled_rules(self.kind, self.rules, snap)

    def signer(self, inputs: Inputs, utterances: Sequence[str]) -> Callable[[], Signature]:
        """What signs a value of these inputs, measured on these utterances; hashes are computed when it is called."""
        rules = self.spelled_rules(inputs.references.snap)
        return partial(sign, str(self.measure), self.read_off, rules, inputs, utterances, self.rules.regions)

    def measured(
        self,
        mass: ScoreMass,
        touched: Iterable[Touched],
        utterances: int,
        signer: Callable[[], Signature],
        undefined: Undefined = "raise",
        errors_at: Callable[[OperatingPoint], UtteranceErrors] | None = None,
    ) -> Measurement:
        """Compute the value of a mass, with all that belongs to it; a mean over utterances needs their errors."""
        if undefined not in ("raise", "nan"):
            raise UsageError(f"undefined={undefined!r}: valid: 'raise', 'nan'")
        cautions: tuple[str, ...] = ()
        notes = self.notes
        try:
            found = value_of(mass, self.measure, self.eer_rule, self.threshold, self.scores_are, self.asv_scores)
            if self.measure.macro and found.point is not None and errors_at is not None:
                found, note = self._mean(found.point, errors_at(found.point))
                notes = (*notes, note)
            point = no_point(mass) if found.point is None else found.point
            neighbours, value = found.neighbours, float(found.value)
            exact = found.value if isinstance(found.value, Fraction) else None
            if self.measure.kind.group == "eer":
                cautions = warnings_for(value, point, self.eer_rule)
        except UndefinedMeasureError as error:
            if undefined == "raise":
                raise
            point = no_point(mass)
            neighbours, value, exact, cautions = (None, None), float("nan"), None, (str(error),)
        for caution in cautions:
            warnings.warn(f"{self.measure}: {caution}", SpoofspanWarning, stacklevel=4)
        return Measurement(
            str(self.measure),
            value,
            point,
            neighbours,
            self.read_off,
            self.convention,
            self.rules,
            {entry.rule: entry for entry in touched},
            utterances,
            exact,
            cautions,
            notes,
            signer,
        )

    def _mean(self, point: OperatingPoint, errors: UtteranceErrors) -> tuple[Value, str]:
        """The mean over the utterances on which the measure has a value."""
        from spoofspan.measures.confusion import macro_at

        mean = macro_at(errors, self.measure.kind.name, self.measure.positive)
        left_out = f"; {mean.left_out} have no value and are left out" if mean.left_out else ""
        return Value(mean.value, point), f"the mean of {mean.utterances} utterances{left_out}"


def no_point(mass: ScoreMass) -> OperatingPoint:
    """What stands for the operating point of a value that has none: its threshold is NaN."""
    return replace(totals(mass).point(float("nan"), 0, 0), threshold=float("nan"))


def plan_measure(
    measure: Measure,
    hop: float | None,
    convention: str,
    eer_rule: str | None,
    overrides: Mapping[str, Any],
    threshold: float | None = None,
    scores_are: ScoresAre | None = None,
    asv_scores: VerificationScores | None = None,
) -> Plan:
    """Settle how a measure is taken on scores of a (coarsest) hop, None for ranges."""
    if scores_are not in (None, "llr", "probability"):
        raise UsageError(f"scores_are={scores_are!r}: valid: 'llr', 'probability'")
    if measure.kind.group == "event":
        raise UsageError(
            f"{measure} is measured by evaluate(references, proposals or scores) alone, with the corpus in memory "
            "(eval --no-stream); not in shards, not with intervals"
        )
    notes: tuple[str, ...] = ()
    if measure.kind.group != "threshold" or measure.given is not None:
        threshold = None
    if measure.basis == "range":
        rules, convention_rule = rules_for("range", convention, overrides)
    elif measure.resolution is None:
        rules, convention_rule = rules_for("point", convention, {**overrides, "last_point": "use"})
    else:
        resolution = check_resolution(measure.resolution)
        measure = replace(measure, resolution=resolution)
        rules, convention_rule = point_rules(hop, resolution, convention, overrides)
        if hop is not None and resolution > hop * (1 + 1e-9):
            notes = (
                f"measured at {milliseconds(resolution)}, coarser than the scores' hop of {milliseconds(hop)}: "
                "an easier task, not a better system",
            )
    if measure.kind.needs_asv and asv_scores is not None:
        from spoofspan.measures.tandem import verification_errors

        notes = (*notes, str(verification_errors(asv_scores)))
    rule = check_eer_rule(eer_rule or convention_rule)
    return Plan(measure, rules, rule, convention, notes, threshold, scores_are, asv_scores)


def point_rules(
    hop: float | None, resolution: float, convention: str, overrides: Mapping[str, Any]
) -> tuple[Rules, str]:
    """The rules and the EER rule of points: some conventions treat points finer than the hop apart."""
    finer = hop is not None and resolution < hop * (1 - 1e-9)
    return rules_for("point", convention, overrides, finer_than_hop=finer)


def spelled_rules(kind: str, rules: Rules, snap: int) -> dict[str, str]:
    """The rules as text; what the references decide (their ``snap`` in ns) is written out."""
    spelled = rules.spelled(kind)
    if rules.snap is None:
        spelled["snap"] = f"{snap}ns"
    return spelled

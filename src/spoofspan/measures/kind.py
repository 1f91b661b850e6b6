"""Families of measures. Each is a class; an entry of the catalogue is an object of one of them.

=====================  ==============================================================================================
family                 its function takes
=====================  ==============================================================================================
:class:`EerKind`       a mass and an EER rule
:class:`RatioKind`     a confusion matrix, of which it returns both terms of a ratio
:class:`CurveKind`     the error curve that all measures of a mass share; it returns a value, and perhaps its point
:class:`BestKind`      no data: it returns a formula, which is taken at the best threshold
:class:`StatedKind`    no data: it returns a formula of costs, which is taken at the threshold that the costs imply
:class:`EventKind`     a measure and an :class:`~spoofspan.measures.events.event_scores.EventCorpus`
=====================  ==============================================================================================

All but EERs also take the parameters of the measure, and the settings that the entry names (``takes``). The other
classes are variants of these, with data or intervals of their own.

:mod:`spoofspan.measures.catalogue` has the entries, :mod:`spoofspan.measures.catalogue` those of events.
Functions are named here and imported when they are used, so that help and completion start without NumPy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from spoofspan.base.errors import UsageError

if TYPE_CHECKING:
    from spoofspan.data.references import References
    from spoofspan.data.rules import Rules
    from spoofspan.mass.score_mass import ScoreMass
    from spoofspan.measures.confusion import Formula
    from spoofspan.measures.costs import CostFormula, ScoreCosts
    from spoofspan.measures.events.matching import Variant
    from spoofspan.measures.measure import Input, Measure, MeasureSettings
    from spoofspan.measures.operating_point import OperatingPoint

BASES = ("range", "point", "utterance")
EVENT = "event"
# Meaning of the symbols of formulas at a threshold.
SYMBOLS = (
    "TP, FP, FN, TN: the confusion matrix. P, N: all that is positive, negative, unanswered included. FPR = FP / N, "
    "FNR = FN / P."
)

Direction = Literal["lower", "higher", "nearer 0"]
# An amount that must not be 0: of the positive or the negative class, called positive or negative, decided, or any.
Needs = tuple[Literal["positives", "negatives", "called", "called-negative", "answered", "any"], ...]
# A number, or several as text: 0.5:0.05:0.95.
Parameters = tuple[tuple[str, float | str], ...]
# On which scale an interval is symmetric: logits of what lies between 0 and 1, logarithms of costs, values as they are.
Scale = Literal["logit", "log", "positive", "raw"]
# Invariant when a cluster leaves and the threshold moves: FPR - FNR, or one of the rates.
Kept = Literal["difference", "fpr", "fnr"]


@dataclass(frozen=True)
class Value:
    """A value; the operating point it was taken at, None where every threshold counts; neighbours of a crossing."""

    value: Fraction | float
    point: OperatingPoint | None = None
    neighbours: tuple[OperatingPoint | None, OperatingPoint | None] = (None, None)


@dataclass(frozen=True)
class Kind(ABC):
    """An entry of the catalogue: one kind of measure, with the methods of its family."""

    name: str
    direction: Direction  # is better
    formula: str
    computed_by: str  # "module:function" in spoofspan.measures
    about: str
    reference: str = ""
    percent: bool = True  # a share, shown in per cent
    positive: bool = False  # has a positive class, which may be bona fide
    scale: Scale = "logit"
    takes: tuple[Input, ...] = ()  # settings that its function takes
    parameters: Parameters = ()  # with their defaults
    ranges: tuple[str, ...] = ()  # parameters that may be several numbers, start:step:stop
    bases: tuple[str, ...] = BASES
    optimistic: bool = False  # is too good on average: something in it is fitted to this very corpus

    family: ClassVar[str] = ""  # threshold of its values, in the table of measures
    at_threshold: ClassVar[bool] = False  # is taken at a given threshold, that of the EER, or under a constraint
    of_boundaries: ClassVar[bool] = False  # is of scores that say how likely a boundary is, not of those of spoof
    priced: ClassVar[bool] = False  # counts each trial as often as its kind costs
    has_jackknife: ClassVar[bool] = True  # leaving out a cluster moves its value smoothly enough for an interval

    def ranked_by(self) -> Literal["lower", "higher"]:
        """The direction by which systems are ranked; refused where values have a sign."""
        if self.direction == "nearer 0":
            raise UsageError(
                f"systems are not ranked by {self.name}, whose sign says which way they err; take "
                f"{self.name.replace('bias', 'error')}, its absolute size"
            )
        return self.direction

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The function that computes it, imported when it is first asked for."""
        return _imported(self.computed_by)

    @property
    def declared(self) -> bool:
        """True if it needs to know what the scores are: log-likelihood ratios or probabilities."""
        return "scores_are" in self.takes

    @property
    def needs_asv(self) -> bool:
        """True if it needs a speaker verification system."""
        return "asv_scores" in self.takes or "asv_errors" in self.takes

    @property
    def trials(self) -> tuple[str, ...]:
        """Kinds of trials that targets are measured against; empty: it needs no key of trials."""
        return ()

    @property
    def proposes_at_threshold(self) -> bool:
        """True if it is of proposals that are made of scores at one threshold."""
        return False

    @property
    def taken(self) -> str:
        """Threshold of its values, in the table of measures."""
        return "with ASV scores" if self.needs_asv else "scores at their word" if self.declared else self.family

    def usage(self, basis: str) -> list[str]:
        """Lines that explain how it is asked for."""
        return []

    def has_mean(self, measure: Measure) -> bool:
        """True if there is a mean over utterances (-macro)."""
        return False

    def check(self, measure: Measure, *, trials: bool, boundaries: bool) -> None:
        """Refuse other data than it is measured of: a key of ``trials``, scores of ``boundaries``."""
        if self.trials and not trials:
            raise UsageError(
                f"{measure} needs a key that says of each trial whether it is target, nontarget or spoof, and one "
                "score of each trial: evaluate_utterances(key, scores) (eval KEY --utterance-scores FILE)"
            )

    def labelled(self, references: References, resolution: float, rules: Rules) -> tuple[References, Rules]:
        """The references that points are labelled by, and the rules for them."""
        return references, rules

    @abstractmethod
    def value(self, settings: MeasureSettings, mass: ScoreMass) -> Value:
        """Its value on a mass."""

    def read_off(self, settings: MeasureSettings) -> str:
        """Description of how the value is computed, as in the signature."""
        asv = settings.asv_scores if self.needs_asv else None
        stated = [] if asv is None else [asv.signed]
        if self.declared:
            stated.append(f"scores-are:{settings.scores_are}")
        return ",".join(stated) or "all-thresholds"

    def notes(self, settings: MeasureSettings) -> tuple[str, ...]:
        """Notes that go with every value."""
        if "asv_errors" not in self.takes or settings.asv_scores is None:
            return ()
        return (str(settings.argument("asv_errors")),)

    def cautions(self, settings: MeasureSettings, found: Value) -> tuple[str, ...]:
        """Reasons to look twice at a value."""
        if settings.distinct is None or settings.threshold is not None:
            return ()
        return settings.distinct.cautions(float(found.value))

    # For intervals: change of a value with the amounts of some utterances.

    def rates_formula(self, settings: MeasureSettings) -> Formula | None:
        """The formula of both rates at its operating point; None if its value does not follow from them."""
        return None

    def kept(self, settings: MeasureSettings) -> Kept | None:
        """Invariant of its threshold; None if the threshold does not move."""
        return None

    def highest(self, fpr: float, fnr: float, by_formula: Callable[[float, float], float]) -> float:
        """The highest value that rates at its operating point allow."""
        return by_formula(fpr, fnr)

    def score_costs(self, settings: MeasureSettings, mass: ScoreMass) -> ScoreCosts | None:
        """Costs of each score over bona fide and over spoof; None if its value is no mean of such costs."""
        return None


class EerKind(Kind):
    """EER by an EER rule."""

    family: ClassVar[str] = "EER rule"

    def value(self, settings: MeasureSettings, mass: ScoreMass) -> Value:
        """The value, its operating point and the two neighbours of the crossing."""
        eer = self.function(mass, settings.eer_rule)
        return Value(eer.value, eer.point, eer.neighbours)

    def read_off(self, settings: MeasureSettings) -> str:
        """The EER rule."""
        return settings.eer_rule

    def cautions(self, settings: MeasureSettings, found: Value) -> tuple[str, ...]:
        """A wide gap between both rates, or a value over 50 %."""
        from spoofspan.measures.eer import eer_cautions

        few_values = super().cautions(settings, found)
        if found.point is None:
            return few_values
        return *few_values, *eer_cautions(float(found.value), found.point, settings.eer_rule)

    def rates_formula(self, settings: MeasureSettings) -> Formula:
        """The mean of both rates."""
        from spoofspan.measures.confusion import formula_of

        return formula_of("hter")

    def kept(self, settings: MeasureSettings) -> Kept:
        """The threshold moves until both rates are as far apart as they were."""
        return "difference"

    def highest(self, fpr: float, fnr: float, by_formula: Callable[[float, float], float]) -> float:
        """Both rates are at most this at the threshold, so where they meet they are."""
        return max(fpr, fnr)


class OfBoundaries:
    """Common methods of measures of a boundary track."""

    of_boundaries: ClassVar[bool] = True

    def check(self, measure: Measure, *, trials: bool, boundaries: bool) -> None:
        """Refuse scores of spoof."""
        if not boundaries:
            raise UsageError(
                f"{measure} is measured of scores of boundaries, by evaluate(..., boundary_scores=) alone "
                "(eval --boundary-scores FILE)"
            )

    def labelled(self, references: References, resolution: float, rules: Rules) -> tuple[References, Rules]:
        """References whose spoof is the boundary points of a resolution."""
        from spoofspan.mass.point_labels import boundary_references, rules_of_boundaries

        return boundary_references(references, resolution, rules), rules_of_boundaries(rules)


class BoundaryEerKind(OfBoundaries, EerKind):
    """The EER of a boundary track."""


@dataclass(frozen=True)
class TrialEerKind(EerKind):
    """The EER of targets against others, of one score for all."""

    trials: tuple[str, ...] = ("nontarget", "spoof")


@dataclass(frozen=True)
class RatioKind(Kind):
    """A ratio of amounts at one threshold."""

    needs: Needs = ()  # without these it has no value
    of_class: Literal["positives", "negatives"] | None = None  # the only class whose amounts count, if there is one

    family: ClassVar[str] = "at a threshold"
    at_threshold: ClassVar[bool] = True

    def ratio(self, parameters: Parameters = ()) -> Formula:
        """Its formula; without parameters, with its own."""
        from spoofspan.measures.confusion import TITLES, Formula

        given = dict(parameters or self.parameters)
        terms = partial(self.function, **given) if given else self.function
        title = TITLES.get(self.name, self.name.replace("-", " "))
        return Formula(f"{title} = {self.formula}", self.direction, self.needs, terms)

    def value(self, settings: MeasureSettings, mass: ScoreMass) -> Value:
        """The value at a given threshold, at that of the EER, or at the best one under a constraint."""
        from spoofspan.measures.confusion import at_constraint
        from spoofspan.measures.curve import error_curve_of
        from spoofspan.measures.eer import equal_error_rate
        from spoofspan.measures.operating_point import point_at

        measure = settings.measure
        if measure.given is not None:
            name, bound = measure.given
            curve = error_curve_of(mass)
            return at_constraint(curve, self.name, name, Fraction(bound), measure.positive, measure.parameters)
        if settings.threshold is None:
            point = equal_error_rate(mass, settings.eer_rule).point
        else:
            point = point_at(mass, settings.threshold)
        return Value(self.ratio(measure.parameters).at(point, measure.positive), point)

    def read_off(self, settings: MeasureSettings) -> str:
        """Source of the threshold; it belongs to the system, so numbers at their own may be compared."""
        if settings.measure.given is not None:
            return "all-thresholds"
        return f"threshold:eer({settings.eer_rule})" if settings.threshold is None else "threshold:given"

    def has_mean(self, measure: Measure) -> bool:
        """Ranges have one, at a threshold."""
        return measure.at_threshold and measure.basis == "range"

    def usage(self, basis: str) -> list[str]:
        """The symbols of its formula, and where it is taken."""
        return [
            SYMBOLS,
            "Taken at --threshold, at that of --threshold-from, or at that of the EER;",
            f"at the best threshold under a constraint: {basis}-{self.name}@fpr=0.01.",
        ]

    def rates_formula(self, settings: MeasureSettings) -> Formula | None:
        """Its ratio, unless a constraint on something else than a rate moves the threshold."""
        given = settings.measure.given
        if given is not None and given[0] not in ("fpr", "fnr", "recall"):
            return None
        return self.ratio(settings.measure.parameters)

    def kept(self, settings: MeasureSettings) -> Kept | None:
        """The invariant of the EER or of the constraint; a given threshold does not move."""
        measure = settings.measure
        if measure.given is None:
            return "difference" if settings.threshold is None else None
        of_spoof = (measure.given[0] != "fpr") == (measure.positive == "spoof")
        return "fnr" if of_spoof else "fpr"


class BoundaryRatioKind(OfBoundaries, RatioKind):
    """A ratio of points of a boundary track, at one threshold of it."""


class CurveKind(Kind):
    """A function of the whole error curve."""

    family: ClassVar[str] = "over all"

    def arguments(self, settings: MeasureSettings) -> dict[str, Any]:
        """The parameters of the measure, and the settings that the function takes."""
        return dict(settings.measure.parameters) | {name: settings.argument(name) for name in self.takes}

    def value(self, settings: MeasureSettings, mass: ScoreMass) -> Value:
        """The value, and its operating point if the function finds one."""
        from spoofspan.measures.curve import error_curve_of

        found = self.function(error_curve_of(mass), **self.arguments(settings))
        return found if isinstance(found, Value) else Value(found)


class PairKind(CurveKind):
    """The share of pairs of a spoofed and a bona fide instant that are in the right order."""


@dataclass(frozen=True)
class ScoreCostKind(CurveKind):
    """Half the sum of the mean costs of both classes, each score having a cost under each class."""

    # "module:function" of a mass and the arguments, which returns what scores cost; where costs are fitted to this very
    # corpus (optimistic), leaving out a part of it changes them too little to matter
    costs_by: str = ""

    def score_costs(self, settings: MeasureSettings, mass: ScoreMass) -> ScoreCosts:
        """Costs of each score over bona fide and over spoof."""
        costs: ScoreCosts = _imported(self.costs_by)(mass, **self.arguments(settings))
        return costs


class TandemEerKind(CurveKind):
    """The EER of a countermeasure and a verification system, each at a threshold of its own."""

    has_jackknife: ClassVar[bool] = False

    def rates_formula(self, settings: MeasureSettings) -> Formula | None:
        """Refuse to say: there is none."""
        raise UsageError(
            f"{settings.measure} has no interval by the method 'jackknife-t': its two thresholds jump from trial to "
            "trial; take --interval percentile, or leave --confidence out"
        )


@dataclass(frozen=True)
class BestKind(CurveKind):
    """A formula at the best of all thresholds."""

    optimistic: bool = True

    def rates_formula(self, settings: MeasureSettings) -> Formula:
        """The formula."""
        formula: Formula = self.function(**self.arguments(settings))
        return formula

    def value(self, settings: MeasureSettings, mass: ScoreMass) -> Value:
        """The best value, and where it is."""
        from spoofspan.measures.confusion import best_point
        from spoofspan.measures.curve import error_curve_of

        curve, formula = error_curve_of(mass), self.rates_formula(settings)
        return best_point(curve, formula, settings.measure.positive)


@dataclass(frozen=True)
class TrialCostKind(BestKind):
    """A cost of targets, non-targets and spoofs that have one score, at the best of all thresholds."""

    trials: tuple[str, ...] = ("nontarget", "spoof")

    priced: ClassVar[bool] = True


class StatedKind(CurveKind):
    """A cost at the threshold that is best for scores that are what they are declared to be."""

    def rates_formula(self, settings: MeasureSettings) -> CostFormula:
        """The formula of the cost."""
        arguments = self.arguments(settings)
        del arguments["scores_are"]
        formula: CostFormula = self.function(**arguments)
        return formula

    def value(self, settings: MeasureSettings, mass: ScoreMass) -> Value:
        """The cost, and the threshold."""
        from spoofspan.measures.costs import actual_cost
        from spoofspan.measures.curve import error_curve_of

        formula, scores_are = self.rates_formula(settings), settings.argument("scores_are")
        return actual_cost(error_curve_of(mass), formula, scores_are)


@dataclass(frozen=True)
class EventKind(Kind):
    """A measure of proposed ranges against spoofed ranges."""

    bases: tuple[str, ...] = (EVENT,)
    ranked: bool = False  # needs confidences, which hard decisions have not
    all_thresholds: bool = False  # takes scores, or confidences, at every threshold
    averaged: bool = False  # has a mean over utterances of its own (-macro)
    by_event: bool = False  # is of each event by itself, so that some events have a value among all proposals
    variant: Variant = "spoofspan"  # whose rules of matching it follows

    @property
    def proposes_at_threshold(self) -> bool:
        """True if proposals are made at one threshold, where scores are given."""
        return not self.all_thresholds

    @property
    def taken(self) -> str:
        """Threshold of its values, in the table of measures."""
        return "of proposals, by confidence" if self.ranked else "of proposals"

    def has_mean(self, measure: Measure) -> bool:
        """A few have one of their own."""
        return self.averaged

    def usage(self, basis: str) -> list[str]:
        """Description of its proposals."""
        mean = [f"{basis}-{self.name}-macro has the mean over utterances."] if self.averaged else []
        if self.all_thresholds:
            return [
                *mean,
                "Of all thresholds of the scores, with --smoothing, or of all confidences. In full: docs/measures.md.",
            ]
        return [
            *mean,
            "Of proposals as given, or made of scores at --threshold, at that of --threshold-from, or at that of",
            "the range EER, with --smoothing, --merge-gap and --min-duration. In full: docs/measures.md.",
        ]

    def check(self, measure: Measure, *, trials: bool, boundaries: bool) -> None:
        """Refuse scores of time, points and utterances."""
        raise UsageError(
            f"{measure} is a measure of events, not of time or points: evaluate(references, proposals or scores) "
            "takes it (eval --measure)"
        )

    def value(self, settings: MeasureSettings, mass: ScoreMass) -> Value:
        """Refuse a mass, which has no events."""
        self.check(settings.measure, trials=False, boundaries=False)
        raise AssertionError


def _imported(named: str) -> Callable[..., Any]:
    module, _, name = named.partition(":")
    function: Callable[..., Any] = getattr(import_module(f"spoofspan.measures.{module}"), name)
    return function


def parameters_of(**parameters: float | str) -> Parameters:
    """Parameters with their defaults."""
    return tuple(parameters.items())


def by_name(*kinds: Kind) -> Mapping[str, Kind]:
    """Entries by their names."""
    return {kind.name: kind for kind in kinds}

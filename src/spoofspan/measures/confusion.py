"""Measures at a threshold: precision, recall, F1 and their like, at a given one or at the best one under a constraint.

All of them are ratios of amounts (ns, points or utterances) in the confusion matrix, seen from the positive class,
spoof unless stated otherwise::

                    called positive   called negative   unanswered
    positive              TP                FN              UP        P = TP + FN + UP
    negative              FP                TN              UN        N = FP + TN + UN

With ``positive="bonafide"`` the matrix is mirrored: TP is then bona fide called bona fide, FP spoof called bona fide.

Unanswered amounts (rule 13, ``uncovered="unanswered"``) are never an error but stay in the denominators: they are in P
and N, and not among what is called positive. So recall + FNR, and accuracy + share of errors, fall short of 1 by
them.

A ratio without a denominator has no value: it is an error that says why, never 0 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np

from spoofspan.base.columns import Flags
from spoofspan.base.errors import UndefinedMeasureError, UsageError, nearest_name
from spoofspan.base.times import Float64, Int64
from spoofspan.measures.catalogue import KINDS, Direction, Needs, Parameters
from spoofspan.measures.curve import ErrorCurve
from spoofspan.measures.kind import RatioKind, Value
from spoofspan.measures.operating_point import OperatingPoint
from spoofspan.measures.per_utterance import UtteranceErrors

Positive = Literal["spoof", "bonafide"]

# A ratio in doubles takes under 16 roundings: it is wrong by less than this share of itself, or, of a difference of
# shares (MCC), by less than this.
RELATIVE_ERROR = 2.0**-48
# So many ratios are compared in Python integers at once.
ROWS_AT_ONCE = 1 << 16
# All rows of an array.
ALL = slice(None)
# Roots are taken to so many binary places of themselves, at least: far more than a double keeps.
ROOT_PLACES = 128
TITLES = {
    "f1": "F1",
    "f-beta": "F-beta",
    "class-mean-f1": "mean F1 of both classes",
    "mcc": "MCC",
    "iou": "IoU",
    "fpr": "FPR",
    "fnr": "FNR",
    "hter": "HTER",
    "der": "DER",
    "dcf": "DCF",
}


@dataclass(frozen=True, eq=False)
class ConfusionMatrix:
    """The confusion matrix from the side of the positive class: integers, or arrays with an entry per threshold."""

    true_positive: Any
    false_positive: Any
    false_negative: Any
    true_negative: Any
    positives: Any
    negatives: Any

    @classmethod
    def of(cls, amounts: OperatingPoint | UtteranceErrors, positive: Positive = "spoof") -> ConfusionMatrix:
        """The matrix at an operating point, or those of utterances."""
        a = amounts
        matrix = cls(a.true_positive, a.false_positive, a.false_negative, a.true_negative, a.spoof, a.bona_fide)
        return matrix.seen_from(positive)

    @classmethod
    def of_curve(cls, curve: ErrorCurve, positive: Positive = "spoof", rows: slice | Int64 = ALL) -> ConfusionMatrix:
        """The matrices at all, or at some, thresholds of a curve, as exact integers."""
        sums = curve.sums
        bona_fide, spoof = curve.called_bona_fide[rows], curve.called_spoof[rows]
        if sums.all_bona_fide + sums.all_spoof >= 2**62:
            bona_fide, spoof = bona_fide.astype(object), spoof.astype(object)
        return cls.of(sums.point(None, bona_fide, spoof), positive)

    def seen_from(self, positive: Positive) -> ConfusionMatrix:
        """The same, mirrored if bona fide is the positive class."""
        if positive not in ("spoof", "bonafide"):
            raise UsageError(f"positive={positive!r}: valid: 'spoof', 'bonafide'")
        if positive == "spoof":
            return self
        tp, fp, fn, tn, p, n = self._cells()
        return ConfusionMatrix(tn, fn, fp, tp, n, p)

    def rows(self, chosen: Int64 | slice, dtype: type | None = None) -> ConfusionMatrix:
        """The matrices of the chosen thresholds or utterances; with ``dtype=object`` in Python integers."""
        return self._each(lambda cell: cell[chosen] if dtype is None else cell[chosen].astype(dtype))

    def doubles(self) -> ConfusionMatrix:
        """The same in doubles."""
        return self._each(lambda cell: cell.astype(np.float64))

    @property
    def answered(self) -> Any:
        """Amount called positive or negative."""
        return self.true_positive + self.false_positive + self.false_negative + self.true_negative

    def _each(self, change: Callable[[Any], Any]) -> ConfusionMatrix:
        return ConfusionMatrix(*(change(cell) if isinstance(cell, np.ndarray) else cell for cell in self._cells()))

    def _cells(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)]


@dataclass(frozen=True)
class Formula:
    """A ratio of amounts: its text, the better direction, the amounts it requires, and its two terms.

    The terms use only sums and products (and one a root), so that the same formula serves integers and arrays.
    """

    text: str
    direction: Direction
    needs: Needs
    terms: Callable[[ConfusionMatrix], tuple[Any, Any]]

    @property
    def multiplies(self) -> bool:
        """True if its terms need not fit into int64: they multiply amounts of both classes, or have parameters."""
        return len(self.needs) > 1 or isinstance(self.terms, partial)

    def at(self, point: OperatingPoint, positive: Positive = "spoof") -> Fraction:
        """Its exact value at an operating point."""
        matrix = ConfusionMatrix.of(point, positive)
        for amount, reason in self.required(matrix, positive):
            if not amount:
                raise UndefinedMeasureError(f"{self.text} has no value ({point.decision}): {reason}")
        return Fraction(*self.terms(matrix))

    def required(self, matrix: ConfusionMatrix, positive: Positive) -> Iterator[tuple[Any, str]]:
        """Amounts that must not be 0, each with the reason to give if it is."""
        names = {"spoof": "spoof", "bonafide": "bona fide"}
        other: Positive = "bonafide" if positive == "spoof" else "spoof"
        reasons = {
            "positives": (matrix.positives, f"there is no {names[positive]} to measure it on"),
            "negatives": (matrix.negatives, f"there is no {names[other]} to measure it on"),
            "called": (matrix.true_positive + matrix.false_positive, f"nothing is called {names[positive]}"),
            "called-negative": (matrix.true_negative + matrix.false_negative, f"nothing is called {names[other]}"),
            "answered": (matrix.answered, "nothing has a score"),
            "any": (matrix.positives + matrix.negatives, "there is nothing to measure it on"),
        }
        return (reasons[need] for need in self.needs)


# What the entries of the catalogue at a threshold compute: the two terms of their ratio.
Terms = tuple[Any, Any]


def precision(matrix: ConfusionMatrix) -> Terms:
    """TP / (TP + FP)."""
    return matrix.true_positive, matrix.true_positive + matrix.false_positive


def recall(matrix: ConfusionMatrix) -> Terms:
    """TP / P."""
    return matrix.true_positive, matrix.positives


def f1(matrix: ConfusionMatrix) -> Terms:
    """2 TP / (TP + FP + P)."""
    return 2 * matrix.true_positive, matrix.true_positive + matrix.false_positive + matrix.positives


def f_beta(matrix: ConfusionMatrix, beta: float) -> Terms:
    """(1 + beta^2) TP / (TP + FP + beta^2 P)."""
    square = as_fraction(beta, "beta") ** 2
    if not square > 0:
        raise UsageError(f"beta={beta:g}: recall counts beta times as much as precision; give a positive number")
    of_recall, of_precision = square.numerator, square.denominator
    called = matrix.true_positive + matrix.false_positive
    return (of_recall + of_precision) * matrix.true_positive, of_precision * called + of_recall * matrix.positives


def class_mean_f1(matrix: ConfusionMatrix) -> Terms:
    """TP / (TP + FP + P) + TN / (TN + FN + N)."""
    of_positive = matrix.true_positive + matrix.false_positive + matrix.positives
    of_negative = matrix.true_negative + matrix.false_negative + matrix.negatives
    above = matrix.true_positive * of_negative + matrix.true_negative * of_positive
    return above, of_positive * of_negative


def iou(matrix: ConfusionMatrix) -> Terms:
    """TP / (FP + P)."""
    return matrix.true_positive, matrix.false_positive + matrix.positives


def accuracy(matrix: ConfusionMatrix) -> Terms:
    """(TP + TN) / (P + N)."""
    return matrix.true_positive + matrix.true_negative, matrix.positives + matrix.negatives


def coverage(matrix: ConfusionMatrix) -> Terms:
    """(TP + FP + FN + TN) / (P + N)."""
    return matrix.answered, matrix.positives + matrix.negatives


def answered_accuracy(matrix: ConfusionMatrix) -> Terms:
    """(TP + TN) / (TP + FP + FN + TN)."""
    return matrix.true_positive + matrix.true_negative, matrix.answered


def balanced_accuracy(matrix: ConfusionMatrix) -> Terms:
    """(TP / P + TN / N) / 2."""
    right = matrix.true_positive * matrix.negatives + matrix.true_negative * matrix.positives
    return right, 2 * matrix.positives * matrix.negatives


def mcc(matrix: ConfusionMatrix) -> Terms:
    """(TP TN - FP FN) / sqrt((TP + FP) P N (TN + FN)); of whole numbers to ``ROOT_PLACES``."""
    tp, fp, fn, tn = matrix.true_positive, matrix.false_positive, matrix.false_negative, matrix.true_negative
    above = tp * tn - fp * fn
    below = (tp + fp) * matrix.positives * matrix.negatives * (tn + fn)
    if isinstance(below, int):
        return above << ROOT_PLACES, math.isqrt(below << 2 * ROOT_PLACES)
    if below.dtype == object:
        roots = [math.isqrt(int(one) << 2 * ROOT_PLACES) for one in below]
        return above * (1 << ROOT_PLACES), np.array(roots, object)
    return above, np.sqrt(below)


def fpr(matrix: ConfusionMatrix) -> Terms:
    """FP / N."""
    return matrix.false_positive, matrix.negatives


def fnr(matrix: ConfusionMatrix) -> Terms:
    """FN / P."""
    return matrix.false_negative, matrix.positives


def hter(matrix: ConfusionMatrix) -> Terms:
    """(FPR + FNR) / 2."""
    errors = matrix.false_positive * matrix.positives + matrix.false_negative * matrix.negatives
    return errors, 2 * matrix.positives * matrix.negatives


def der(matrix: ConfusionMatrix) -> Terms:
    """(FP + FN) / P."""
    return matrix.false_positive + matrix.false_negative, matrix.positives


def dcf(matrix: ConfusionMatrix, p_spoof: float, cost_miss: float, cost_false_alarm: float) -> Terms:
    """cost_miss (1 - p_spoof) FPR + cost_false_alarm p_spoof FNR."""
    share, miss, false_alarm = (
        as_fraction(number, name)
        for name, number in (("p_spoof", p_spoof), ("cost_miss", cost_miss), ("cost_false_alarm", cost_false_alarm))
    )
    if not 0 <= share <= 1 or min(miss, false_alarm) < 0:
        raise UsageError("p_spoof must lie in [0, 1], and no cost be negative")
    of_positive, of_negative = miss * (1 - share), false_alarm * share
    unit = math.lcm(of_positive.denominator, of_negative.denominator)  # whole numbers serve integers and arrays
    errors = int(of_positive * unit) * matrix.false_positive * matrix.positives
    errors = errors + int(of_negative * unit) * matrix.false_negative * matrix.negatives
    return errors, unit * matrix.positives * matrix.negatives


def iou_psynd(matrix: ConfusionMatrix) -> Terms:
    """(TP + TN) / (2 (P + N) - TP - TN)."""
    right = matrix.true_positive + matrix.true_negative
    return right, 2 * (matrix.positives + matrix.negatives) - right


def false_alarms_per_hour(matrix: ConfusionMatrix) -> Terms:
    """3600 FP / N."""
    return 3600 * matrix.false_positive, matrix.negatives


@dataclass(frozen=True)
class MeanOverUtterances:
    """A mean over utterances, of how many, and how many were left out because they have no value.

    The value is that of the exact mean to within 2**-51 of itself.
    """

    value: float
    utterances: int
    left_out: int


def formula_of(name: str, unit: str = "ns", parameters: Parameters = ()) -> Formula:
    """The formula of a measure at a threshold, by its name in the catalogue; without parameters, with its own."""
    known = {kind.name: kind for kind in KINDS.values() if isinstance(kind, RatioKind)}
    if name not in known:
        raise UsageError(f"no measure at a threshold {name!r}: {nearest_name(name, known)}")
    if known[name].bases == ("range",) and unit != "ns":
        raise UsageError(f"{name} needs time, and these amounts are {unit}; measure ranges, or use fpr")
    return known[name].ratio(parameters)


def f1_formula() -> Formula:
    """The formula of F1."""
    return formula_of("f1")


def value_at(point: OperatingPoint, name: str, positive: Positive = "spoof", parameters: Parameters = ()) -> Fraction:
    """The exact value of a measure, by its name in the catalogue, at an operating point.

    >>> point = OperatingPoint(0.5, "bonafide", false_positive=1, false_negative=2, bona_fide=10, spoof=5)
    >>> value_at(point, "precision"), value_at(point, "precision", positive="bonafide")
    (Fraction(3, 4), Fraction(9, 11))
    """
    return formula_of(name, point.unit, parameters).at(point, positive)


def values_by_utterance(
    errors: UtteranceErrors, name: str, positive: Positive = "spoof", parameters: Parameters = ()
) -> Float64:
    """The value of a measure on each utterance, correctly rounded; NaN where it has none."""
    formula = formula_of(name, parameters=parameters)
    matrix = ConfusionMatrix.of(errors, positive)
    defined = np.ones(len(errors.utterances), bool)
    for amount, _ in formula.required(matrix, positive):
        defined &= amount > 0
    some = np.flatnonzero(defined)
    # no term is more than 3600 times an amount, so of those under 18 minutes all terms are below 2**53
    small = not formula.multiplies and int((errors.bona_fide + errors.spoof).max(initial=0)) < 2**40
    above, below = formula.terms(matrix.rows(some, None if small else object))
    values = np.full(defined.size, np.nan)
    values[some] = above / below  # rounded once, by doubles or by Python
    return values


def macro_at(
    errors: UtteranceErrors, name: str, positive: Positive = "spoof", parameters: Parameters = ()
) -> MeanOverUtterances:
    """The mean of a measure over utterances; those on which it has no value are left out and counted."""
    values = values_by_utterance(errors, name, positive, parameters)
    some = values[~np.isnan(values)]
    if not some.size:
        raise UndefinedMeasureError(
            f"{formula_of(name).text} has no value on any of the {values.size:,} utterances; measure them pooled"
        )
    return MeanOverUtterances(math.fsum(some) / some.size, some.size, values.size - some.size)


def at_constraint(
    curve: ErrorCurve,
    wanted: str,
    given: str,
    bound: Fraction | float,
    positive: Positive = "spoof",
    parameters: Parameters = (),
) -> Value:
    """The best value of one measure among the thresholds at which another is good enough.

    ``at_constraint(curve, "fnr", "fpr", 0.01)`` is the least FNR among the thresholds with FPR <= 0.01;
    ``at_constraint(curve, "precision", "recall", 0.95)`` the highest precision among those with recall >= 0.95. Of
    several equally good thresholds the lowest counts (in bona fide polarity). A float is read as a decimal: 0.1 is one
    tenth. The answer is exact: doubles only rule out thresholds that are off by more than their rounding, Python
    integers decide among the rest.
    """
    unit = curve.sums.unit
    sought, limited = formula_of(wanted, unit, parameters), formula_of(given, unit)
    limit = as_fraction(bound, "bound")
    if limit < 0:
        raise UsageError(f"bound={bound}: {given} is never negative")
    allowed = _within(curve, positive, limited, limit)
    if not allowed.any():
        sign = ">=" if limited.direction == "higher" else "<="
        best = best_point(curve, limited, positive).value
        raise UndefinedMeasureError(
            f"no threshold has {given} {sign} {float(limit):g}, so {wanted} has no value there; "
            f"the best {given} is {float(best):.6g}"
        )
    return _best(curve, positive, sought, allowed)


def best_point(curve: ErrorCurve, formula: Formula, positive: Positive = "spoof") -> Value:
    """The best value over all thresholds, exactly; the lowest (in bona fide polarity) of equally good thresholds."""
    return _best(curve, positive, formula)


def as_fraction(number: Fraction | float, name: str) -> Fraction:
    """A number as it is written: the float 0.1 is one tenth.

    >>> as_fraction(0.05, "p_spoof")
    Fraction(1, 20)
    """
    try:
        return Fraction(number) if isinstance(number, Fraction | int) else Fraction(repr(float(number)))
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be a finite number, not {number!r}") from None


def _ratios(curve: ErrorCurve, positive: Positive, formula: Formula) -> Float64:
    """The ratios at all thresholds in doubles; NaN where there is no denominator."""
    ratios = np.empty(len(curve))
    for first in range(0, len(curve), ROWS_AT_ONCE):  # what is made on the way stays in the cache: three times faster
        rows = slice(first, first + ROWS_AT_ONCE)
        above, below = formula.terms(ConfusionMatrix.of_curve(curve, positive, rows).doubles())
        with np.errstate(divide="ignore", invalid="ignore"):
            np.divide(above, below, out=ratios[rows])
    ratios[np.isinf(ratios)] = np.nan
    return ratios


def _exact_terms(
    curve: ErrorCurve, positive: Positive, formula: Formula, rows: Int64
) -> Iterator[tuple[Int64, Any, Any]]:
    """Both terms in Python integers, some rows at a time."""
    for first in range(0, rows.size, ROWS_AT_ONCE):
        some = rows[first : first + ROWS_AT_ONCE]
        above, below = formula.terms(ConfusionMatrix.of_curve(curve, positive, some).rows(ALL, object))
        yield some, above, below if isinstance(below, np.ndarray) else np.full(some.size, below, object)


def _within(curve: ErrorCurve, positive: Positive, formula: Formula, limit: Fraction) -> Flags:
    """Thresholds that are good enough."""
    ratios, near = _ratios(curve, positive, formula), float(limit)
    allowed: Flags = ratios >= near if formula.direction == "higher" else ratios <= near
    doubtful = np.flatnonzero(np.abs(ratios - near) <= 4 * RELATIVE_ERROR * max(near, 1.0))
    for rows, above, below in _exact_terms(curve, positive, formula, doubtful):
        more, less = above * limit.denominator, below * limit.numerator
        allowed[rows] = more >= less if formula.direction == "higher" else more <= less
    return allowed


def _best(curve: ErrorCurve, positive: Positive, formula: Formula, allowed: Flags | None = None) -> Value:
    sign = 1 if formula.direction == "higher" else -1
    ratios = sign * _ratios(curve, positive, formula)
    ratios[np.isnan(ratios)] = -np.inf
    if allowed is not None:
        ratios[~allowed] = -np.inf
    top = float(ratios.max())
    if top == -np.inf:
        raise UndefinedMeasureError(f"{formula.text} has no value at any of these thresholds; nothing is called so")
    near = np.flatnonzero(ratios >= top - 4 * RELATIVE_ERROR * max(abs(top), 1.0))
    _, above, below = next(_exact_terms(curve, positive, formula, near[:1]))
    index, best = int(near[0]), Fraction(above[0], below[0])
    for rows, above, below in _exact_terms(curve, positive, formula, near):
        # often millions tie with the best; the loop sees only those that beat it
        for place in np.flatnonzero(sign * above * best.denominator > sign * best.numerator * below):
            value = Fraction(above[place], below[place])
            if sign * value > sign * best:
                index, best = int(rows[place]), value
    return Value(best, curve.point(index))

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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from spoofspan.base.columns import Flags
from spoofspan.base.errors import UndefinedMeasureError, UsageError, nearest_name
from spoofspan.base.times import Float64, Int64
from spoofspan.measures.curve import ErrorCurve
from spoofspan.measures.operating_point import OperatingPoint
from spoofspan.measures.per_utterance import UtteranceErrors

Positive = Literal["spoof", "bonafide"]
Direction = Literal["higher", "lower"]

# A ratio in doubles takes under 16 roundings, none of a difference: it is wrong by less than this share of itself.
RELATIVE_ERROR = 2.0**-48
# So many ratios are compared in Python integers at once.
ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class Cells:
    """The confusion matrix from the side of the positive class: integers, or arrays with an entry per threshold."""

    true_positive: Any
    false_positive: Any
    false_negative: Any
    true_negative: Any
    positives: Any
    negatives: Any

    @classmethod
    def of_point(cls, point: OperatingPoint, positive: Positive = "spoof") -> Cells:
        """The matrix at an operating point."""
        return cls(
            point.true_positive,
            point.false_positive,
            point.false_negative,
            point.true_negative,
            point.spoof,
            point.bona_fide,
        ).seen_from(positive)

    @classmethod
    def of_curve(cls, curve: ErrorCurve, positive: Positive = "spoof") -> Cells:
        """The matrices at all thresholds of a curve, as exact integers."""
        sums = curve.sums
        called = [curve.called_bona_fide, curve.called_spoof]
        if sums.all_bona_fide + sums.all_spoof >= 2**62:
            called = [amounts.astype(object) for amounts in called]
        nothing_called = sums.point(None, 0, 0)
        return cls(
            nothing_called.true_positive + called[1],
            nothing_called.false_positive + called[0],
            nothing_called.false_negative - called[1],
            nothing_called.true_negative - called[0],
            sums.all_spoof,
            sums.all_bona_fide,
        ).seen_from(positive)

    def seen_from(self, positive: Positive) -> Cells:
        """The same, mirrored if bona fide is the positive class."""
        if positive not in ("spoof", "bonafide"):
            raise UsageError(f"positive={positive!r}: valid: 'spoof', 'bonafide'")
        if positive == "spoof":
            return self
        return Cells(
            self.true_negative,
            self.false_negative,
            self.false_positive,
            self.true_positive,
            self.negatives,
            self.positives,
        )

    def rows(self, chosen: Int64) -> Cells:
        """Those of the chosen thresholds, in Python integers."""
        return self._each(lambda cell: cell[chosen].astype(object))

    def chosen(self, rows: Int64) -> Cells:
        """Those of the chosen rows."""
        return self._each(lambda cell: cell[rows])

    def doubles(self) -> Cells:
        """The same in doubles."""
        return self._each(lambda cell: cell.astype(np.float64))

    def _each(self, change: Callable[[Any], Any]) -> Cells:
        cells = [getattr(self, field.name) for field in fields(self)]
        return Cells(*(change(cell) if isinstance(cell, np.ndarray) else cell for cell in cells))


@dataclass(frozen=True)
class Formula:
    """A ratio of cells: its text, which direction is better, what it cannot do without, and its two terms.

    The terms use only sums and products, so that the same formula serves integers and arrays.
    """

    text: str
    direction: Direction
    needs: tuple[Literal["positives", "negatives", "called", "any"], ...]
    terms: Callable[[Cells], tuple[Any, Any]]
    products: bool = False  # its terms multiply amounts, which need not fit into int64

    def at(self, point: OperatingPoint, positive: Positive = "spoof") -> Fraction:
        """Its exact value at an operating point."""
        cells = Cells.of_point(point, positive)
        for amount, reason in self.required(cells, positive):
            if not amount:
                raise UndefinedMeasureError(f"{self.text} has no value ({point.decision}): {reason}")
        return Fraction(*self.terms(cells))

    def required(self, cells: Cells, positive: Positive) -> Iterator[tuple[Any, str]]:
        """The amounts that must not be 0, and what it means if one is."""
        names = {"spoof": "spoof", "bonafide": "bona fide"}
        other: Positive = "bonafide" if positive == "spoof" else "spoof"
        reasons = {
            "positives": (cells.positives, f"there is no {names[positive]} to measure it on"),
            "negatives": (cells.negatives, f"there is no {names[other]} to measure it on"),
            "called": (cells.true_positive + cells.false_positive, f"nothing is called {names[positive]}"),
            "any": (cells.positives + cells.negatives, "there is nothing to measure it on"),
        }
        return (reasons[need] for need in self.needs)


def _hter(cells: Cells) -> tuple[Any, Any]:
    errors = cells.false_positive * cells.positives + cells.false_negative * cells.negatives
    return errors, 2 * cells.positives * cells.negatives


def _balanced_accuracy(cells: Cells) -> tuple[Any, Any]:
    right = cells.true_positive * cells.negatives + cells.true_negative * cells.positives
    return right, 2 * cells.positives * cells.negatives


# F1 and IoU need the positive class: otherwise, in a mean over utterances, an all-negative utterance would count as 0
# with the least error and be left out without any.
AT_A_THRESHOLD: Mapping[str, Formula] = {
    "precision": Formula(
        "precision = TP / (TP + FP)",
        "higher",
        ("called",),
        lambda c: (c.true_positive, c.true_positive + c.false_positive),
    ),
    "recall": Formula("recall = TP / P", "higher", ("positives",), lambda c: (c.true_positive, c.positives)),
    "f1": Formula(
        "F1 = 2 TP / (TP + FP + P), the harmonic mean of precision and recall",
        "higher",
        ("positives",),
        lambda c: (2 * c.true_positive, c.true_positive + c.false_positive + c.positives),
    ),
    "iou": Formula(
        "IoU = TP / (FP + P), what is both over what is either",
        "higher",
        ("positives",),
        lambda c: (c.true_positive, c.false_positive + c.positives),
    ),
    "accuracy": Formula(
        "accuracy = (TP + TN) / (P + N)",
        "higher",
        ("any",),
        lambda c: (c.true_positive + c.true_negative, c.positives + c.negatives),
    ),
    "balanced-accuracy": Formula(
        "balanced accuracy = (TP / P + TN / N) / 2", "higher", ("positives", "negatives"), _balanced_accuracy, True
    ),
    "fpr": Formula("FPR = FP / N", "lower", ("negatives",), lambda c: (c.false_positive, c.negatives)),
    "fnr": Formula("FNR = FN / P", "lower", ("positives",), lambda c: (c.false_negative, c.positives)),
    "hter": Formula("HTER = (FPR + FNR) / 2", "lower", ("positives", "negatives"), _hter, True),
    "false-alarms-per-hour": Formula(
        "false alarms per hour = 3600 FP / N, seconds called positive in error per hour of the negative class",
        "lower",
        ("negatives",),
        lambda c: (3600 * c.false_positive, c.negatives),
    ),
}


class ValueAtPoint(NamedTuple):
    """A value and the operating point that has it."""

    value: Fraction
    point: OperatingPoint


@dataclass(frozen=True)
class MeanOverUtterances:
    """A mean over utterances, of how many, and how many were left out because they have no value.

    The value is that of the exact mean to within 2**-51 of itself.
    """

    value: float
    utterances: int
    left_out: int


def formula_of(name: str, unit: str = "ns") -> Formula:
    """Look up a measure at a threshold."""
    if name not in AT_A_THRESHOLD:
        raise UsageError(f"no measure at a threshold {name!r}: {nearest_name(name, AT_A_THRESHOLD)}")
    if name == "false-alarms-per-hour" and unit != "ns":
        raise UsageError(f"{name} needs time, and these amounts are {unit}; measure ranges, or use fpr")
    return AT_A_THRESHOLD[name]


def value_at(point: OperatingPoint, name: str, positive: Positive = "spoof") -> Fraction:
    """A measure of :data:`AT_A_THRESHOLD` at an operating point, exactly.

    >>> point = OperatingPoint(0.5, "bonafide", false_positive=1, false_negative=2, bona_fide=10, spoof=5)
    >>> value_at(point, "precision"), value_at(point, "precision", positive="bonafide")
    (Fraction(3, 4), Fraction(9, 11))
    """
    return formula_of(name, point.unit).at(point, positive)


def values_by_utterance(errors: UtteranceErrors, name: str, positive: Positive = "spoof") -> Float64:
    """A measure of each utterance, correctly rounded; NaN where it has no value."""
    formula = formula_of(name)
    cells = Cells(
        errors.true_positive,
        errors.false_positive,
        errors.false_negative,
        errors.true_negative,
        errors.spoof,
        errors.bona_fide,
    ).seen_from(positive)
    defined = np.ones(len(errors.utterances), bool)
    for amount, _ in formula.required(cells, positive):
        defined &= amount > 0
    some = np.flatnonzero(defined)
    # no term is more than 3600 times an amount, so of those under 18 minutes all terms are below 2**53
    small = not formula.products and int((errors.bona_fide + errors.spoof).max(initial=0)) < 2**40
    above, below = formula.terms(cells.chosen(some) if small else cells.rows(some))
    values = np.full(defined.size, np.nan)
    values[some] = above / below  # rounded once, by doubles or by Python
    return values


def macro_at(errors: UtteranceErrors, name: str, positive: Positive = "spoof") -> MeanOverUtterances:
    """The mean of a measure over utterances; those on which it has no value are left out and counted."""
    values = values_by_utterance(errors, name, positive)
    some = values[~np.isnan(values)]
    if not some.size:
        raise UndefinedMeasureError(
            f"{formula_of(name).text} has no value on any of the {values.size:,} utterances; measure them pooled"
        )
    return MeanOverUtterances(math.fsum(some) / some.size, some.size, values.size - some.size)


def at_constraint(
    curve: ErrorCurve, wanted: str, given: str, bound: Fraction | float, positive: Positive = "spoof"
) -> ValueAtPoint:
    """The best value of one measure among the thresholds at which another is good enough.

    ``at_constraint(curve, "fnr", "fpr", 0.01)`` is the least FNR among the thresholds with FPR <= 0.01;
    ``at_constraint(curve, "precision", "recall", 0.95)`` the highest precision among those with recall >= 0.95. Of
    several equally good thresholds the lowest counts (in bona fide polarity). A float is read as a decimal: 0.1 is one
    tenth. The answer is exact: doubles only rule out thresholds that are off by more than their rounding, Python
    integers decide among the rest.
    """
    unit = curve.sums.unit
    sought, limited = formula_of(wanted, unit), formula_of(given, unit)
    limit = as_fraction(bound, "bound")
    if limit < 0:
        raise UsageError(f"bound={bound}: {given} is never negative")
    cells = Cells.of_curve(curve, positive)
    allowed = _within(cells, limited, limit)
    if not allowed.any():
        sign = ">=" if limited.direction == "higher" else "<="
        best = best_point(curve, limited, positive).value
        raise UndefinedMeasureError(
            f"no threshold has {given} {sign} {float(limit):g}, so {wanted} has no value there; "
            f"the best {given} is {float(best):.6g}"
        )
    return _best(curve, cells, sought, allowed)


def best_point(curve: ErrorCurve, formula: Formula, positive: Positive = "spoof") -> ValueAtPoint:
    """The best value over all thresholds, exactly; the lowest (in bona fide polarity) of equally good thresholds."""
    return _best(curve, Cells.of_curve(curve, positive), formula, None)


def as_fraction(number: Fraction | float, name: str) -> Fraction:
    """A number as it is written: the float 0.1 is one tenth.

    >>> as_fraction(0.05, "p_spoof")
    Fraction(1, 20)
    """
    try:
        return Fraction(number) if isinstance(number, Fraction | int) else Fraction(repr(float(number)))
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be a finite number, not {number!r}") from None


def _ratios(cells: Cells, formula: Formula) -> Float64:
    """The ratios in doubles; NaN where there is no denominator."""
    above, below = formula.terms(cells.doubles())
    with np.errstate(divide="ignore", invalid="ignore"):
        # NumPy before 2 makes objects of doubles times a Python integer beyond int64, which a cost may be
        ratios: Float64 = np.divide(np.asarray(above, np.float64), np.asarray(below, np.float64))
    ratios[np.isinf(ratios)] = np.nan
    return ratios


def _exact_terms(cells: Cells, formula: Formula, rows: Int64) -> Iterator[tuple[Int64, Any, Any]]:
    """Both terms in Python integers, some rows at a time."""
    for first in range(0, rows.size, ROWS_AT_ONCE):
        some = rows[first : first + ROWS_AT_ONCE]
        above, below = formula.terms(cells.rows(some))
        yield some, above, below if isinstance(below, np.ndarray) else np.full(some.size, below, object)


def _within(cells: Cells, formula: Formula, limit: Fraction) -> Flags:
    """Which thresholds are good enough."""
    ratios, near = _ratios(cells, formula), float(limit)
    allowed: Flags = ratios >= near if formula.direction == "higher" else ratios <= near
    doubtful = np.flatnonzero(np.abs(ratios - near) <= 4 * RELATIVE_ERROR * near)
    for rows, above, below in _exact_terms(cells, formula, doubtful):
        more, less = above * limit.denominator, below * limit.numerator
        allowed[rows] = more >= less if formula.direction == "higher" else more <= less
    return allowed


def _best(curve: ErrorCurve, cells: Cells, formula: Formula, allowed: Flags | None) -> ValueAtPoint:
    sign = 1 if formula.direction == "higher" else -1
    ratios = sign * _ratios(cells, formula)
    ratios[np.isnan(ratios)] = -np.inf
    if allowed is not None:
        ratios[~allowed] = -np.inf
    top = float(ratios.max())
    if top == -np.inf:
        raise UndefinedMeasureError(f"{formula.text} has no value at any of these thresholds; nothing is called so")
    near = np.flatnonzero(ratios >= top - 4 * RELATIVE_ERROR * abs(top))
    index, best = int(near[0]), _exact_ratio(cells, formula, near[:1])
    for rows, above, below in _exact_terms(cells, formula, near):
        # often millions tie with the best; the loop sees only those that beat it
        for place in np.flatnonzero(sign * above * best.denominator > sign * best.numerator * below):
            value = Fraction(above[place], below[place])
            if sign * value > sign * best:
                index, best = int(rows[place]), value
    return ValueAtPoint(best, curve.point(index))


def _exact_ratio(cells: Cells, formula: Formula, row: Int64) -> Fraction:
    _, above, below = next(_exact_terms(cells, formula, row))
    return Fraction(above[0], below[0])

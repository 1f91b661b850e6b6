"""Operating points: the errors at one threshold.

With scores that are higher for bona fide, a range is called spoof iff ``s < tau`` (Eqs. 1, 2, 5 and 6)::

    FPR(tau) = bona fide time under scores < tau  / all bona fide time
    FNR(tau) = spoofed time under scores >= tau   / all spoofed time

All decisions are made in Python integers; a rate becomes a float once, at the end, correctly rounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from spoofspan.base.columns import Flags
from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.data.scores import Higher, Values
from spoofspan.mass.score_mass import MassBlock, ScoreMass
from spoofspan.mass.score_runs import mirrored

# Bona fide and spoof under scores, and under none.
BlockSums = tuple[int, int, int, int]


@dataclass(frozen=True)
class OperatingPoint:
    """The errors at one threshold: amounts (ns, points or utterances), and the rates they make.

    Parameters
    ----------
    threshold
        On the scale of the scores as given.
    higher
        Meaning of high scores, ``"bonafide"`` or ``"spoof"``.
    false_positive, false_negative
        Bona fide called spoof, and spoof called bona fide.
    bona_fide, spoof
        The denominators of both rates.
    unanswered_bona_fide, unanswered_spoof
        Amounts without a score that are called neither (rule ``uncovered="unanswered"``).
    unit
        Unit of the amounts: ``"ns"``, ``"points"``, ``"utterances"`` or ``"events"``.
    everything
        True if even the scores at the end of the scale are called spoof; the threshold is then infinite.

    Examples
    --------
    >>> point = OperatingPoint(0.25, "bonafide", 1, 2, bona_fide=10, spoof=10, unit="points")
    >>> point.false_positive_rate, point.false_negative_rate, point.true_positive
    (0.1, 0.2, 8)

    """

    threshold: float
    higher: Higher
    false_positive: int
    false_negative: int
    bona_fide: int
    spoof: int
    unanswered_bona_fide: int = 0
    unanswered_spoof: int = 0
    unit: str = "ns"
    everything: bool = False

    @property
    def true_positive(self) -> int:
        """Spoof called spoof."""
        return self.spoof - self.false_negative - self.unanswered_spoof

    @property
    def true_negative(self) -> int:
        """Bona fide called bona fide."""
        return self.bona_fide - self.false_positive - self.unanswered_bona_fide

    @property
    def exact_false_positive_rate(self) -> Fraction:
        """FPR as a fraction."""
        return Fraction(self.false_positive, self.bona_fide)

    @property
    def exact_false_negative_rate(self) -> Fraction:
        """FNR as a fraction."""
        return Fraction(self.false_negative, self.spoof)

    @property
    def false_positive_rate(self) -> float:
        """Share of bona fide that is called spoof."""
        return self.false_positive / self.bona_fide if self.bona_fide else float("nan")

    @property
    def false_negative_rate(self) -> float:
        """Share of spoof that is called bona fide."""
        return self.false_negative / self.spoof if self.spoof else float("nan")

    @property
    def gap(self) -> float:
        """``|FPR - FNR|``."""
        if not self.bona_fide or not self.spoof:
            return float("nan")
        return float(abs(self.exact_false_positive_rate - self.exact_false_negative_rate))

    @property
    def decision(self) -> str:
        """The inequality, in words.

        >>> OperatingPoint(0.25, "bonafide", 1, 2, 10, 10).decision
        'spoof iff score < 0.25'
        """
        if self.threshold != self.threshold:
            return "no threshold"
        if self.everything:
            return "everything is called spoof"
        return f"spoof iff score {'<' if self.higher == 'bonafide' else '>'} {self.threshold!r}"

    def seconds(self) -> dict[str, float]:
        """The four cells of the confusion matrix (and unanswered time) in seconds."""
        if self.unit != "ns":
            raise UsageError(f"this operating point counts {self.unit}, not time")
        return {name: count / 1e9 for name, count in self.cells.items()}

    @property
    def cells(self) -> dict[str, int]:
        """The four cells of the confusion matrix, and the unanswered amount, in the unit of the point."""
        names = ("true_positive", "false_negative", "false_positive", "true_negative")
        return {name: getattr(self, name) for name in names} | {
            "unanswered": self.unanswered_bona_fide + self.unanswered_spoof
        }


@dataclass(frozen=True)
class Totals:
    """Totals of a mass, from which the rates follow, given the amounts called spoof."""

    higher: Higher
    unit: str
    uncovered: str
    bona_fide: int  # under a score
    spoof: int
    undecided_bona_fide: int
    undecided_spoof: int

    @property
    def all_bona_fide(self) -> int:
        """The denominator of FPR."""
        return self.bona_fide + self.undecided_bona_fide

    @property
    def all_spoof(self) -> int:
        """The denominator of FNR."""
        return self.spoof + self.undecided_spoof

    def check(self) -> None:
        """Refuse rates without a denominator, and amounts without any score."""
        unit = "time" if self.unit == "ns" else self.unit.removesuffix("s")
        if not self.all_bona_fide + self.all_spoof:
            raise UndefinedMeasureError(
                f"there is no bona fide {unit} and no spoofed {unit}: nothing was counted, so the error rate has no "
                "value; give data first, see whether regions, a collar (in seconds) or uncovered='ignore' leave "
                "everything out, or use undefined='nan'"
            )
        for amount, name in ((self.all_bona_fide, "bona fide"), (self.all_spoof, "spoofed")):
            if not amount:
                other = "spoof" if name == "bona fide" else "bona fide"
                raise UndefinedMeasureError(
                    f"there is no {name} {unit}, so the error rate has no value; if all is labelled {other}, are the "
                    "labels the wrong way round, or does the file list one class only? Correct the labels, or "
                    "measure utterances that have both classes (a pooled corpus), or see whether regions or a collar "
                    "(in seconds) leave one out, or use undefined='nan'"
                )
        if not self.bona_fide + self.spoof:
            raise UndefinedMeasureError(f"no {unit} lies under any score; check hop, times and ids")

    def errors(self, bona_fide_called: int, spoof_called: int) -> tuple[int, int]:
        """FP and FN if this much of the scored amounts is called spoof."""
        false_positive = bona_fide_called + (self.undecided_bona_fide if self.uncovered == "spoof" else 0)
        false_negative = self.spoof - spoof_called
        false_negative += self.undecided_spoof if self.uncovered == "bonafide" else 0
        return false_positive, false_negative

    def difference(self, bona_fide_called: int, spoof_called: int) -> int:
        """FPR - FNR, times the product of both denominators: an integer, so the sign is certain."""
        false_positive, false_negative = self.errors(bona_fide_called, spoof_called)
        return false_positive * self.all_spoof - false_negative * self.all_bona_fide

    def crossed(self, bona_fide_called: int, spoof_called: int) -> bool:
        """True if FPR >= FNR if this much of the scored amounts is called spoof."""
        return self.difference(bona_fide_called, spoof_called) >= 0

    def point(self, tau: float | None, bona_fide_called: Any, spoof_called: Any) -> OperatingPoint:
        """The operating point of tau (in bona fide polarity; None calls everything spoof).

        Of arrays of amounts, the fields of the point are arrays too.
        """
        false_positive, false_negative = self.errors(bona_fide_called, spoof_called)
        unanswered = self.uncovered == "unanswered"
        threshold = float("inf") if tau is None else tau
        return OperatingPoint(
            # + 0.0: no negative zero
            mirrored(threshold, self.higher) + 0.0,
            self.higher,
            false_positive,
            false_negative,
            self.all_bona_fide,
            self.all_spoof,
            self.undecided_bona_fide if unanswered else 0,
            self.undecided_spoof if unanswered else 0,
            self.unit,
            tau is None,
        )


_TOTALS: WeakKeyDictionary[ScoreMass, Totals] = WeakKeyDictionary()


def totals(mass: ScoreMass) -> Totals:
    """Sum a mass, once."""
    if mass not in _TOTALS:
        sums = RunningTotals(mass)
        for found in map(sums_of, mass.blocks()):
            sums.add_sums(found)
        _TOTALS[mass] = sums.totals()
    return _TOTALS[mass]


class WithThreshold(Protocol):
    """A measurement or an operating point: a result at a threshold."""

    @property
    def threshold(self) -> float:
        """On the scale of the scores; NaN where a value has none."""


Threshold: TypeAlias = float | WithThreshold


def check_threshold(threshold: Any) -> float:
    """Return a threshold as a number: a number itself, or that of a measurement or an operating point.

    >>> check_threshold(OperatingPoint(0.4, "spoof", 0, 0, bona_fide=1, spoof=1))
    0.4
    >>> check_threshold("0.3")
    Traceback (most recent call last):
    spoofspan.base.errors.UsageError: threshold='0.3': must be a number in the polarity of the scores, and not NaN
    """
    if hasattr(threshold, "threshold"):
        found = float(threshold.threshold)
        if math.isnan(found):
            name = getattr(threshold, "measure", None) or f"this {type(threshold).__name__}"
            raise UsageError(f"threshold=: {name} has no threshold; give a number, or a measurement such as range_eer")
        return found
    if hasattr(threshold, "measurements"):
        raise UsageError("threshold=: an Evaluation has several thresholds; choose a measurement: found['range-eer']")
    try:
        number = math.nan if isinstance(threshold, str | bool) else float(threshold)
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number):
        raise UsageError(f"threshold={threshold!r}: must be a number in the polarity of the scores, and not NaN")
    return number


def point_at(mass: ScoreMass, threshold: float) -> OperatingPoint:
    """The operating point of a threshold on the scale of the scores, in one pass."""
    threshold = check_threshold(threshold)
    sums = RunningTotals(mass)
    called = [0, 0]

    for block in mass.blocks():
        sums.add_sums(sums_of(block))
        below = block.sums(called_spoof(block.scores, threshold, mass.higher))
        called = [called[0] + below[0], called[1] + below[1]]
    return sums.totals().point(mirrored(threshold, mass.higher), called[0], called[1])


def called_spoof(scores: Values, threshold: float, higher: Higher) -> Flags:
    """Flag the scores, in bona fide polarity, that are called spoof at a threshold on the scale as given."""
    # in doubles, so that a float32 score and a threshold from text compare as they are
    return np.less(scores.astype(np.float64, copy=False), mirrored(threshold, higher))


def count_again(mass: ScoreMass, point: OperatingPoint) -> OperatingPoint:
    """The errors of a mass at an operating point that was found on another one."""
    if not point.everything:
        return point_at(mass, point.threshold)
    sums = totals(mass)
    return sums.point(None, sums.bona_fide, sums.spoof)


def sums_of(block: MassBlock) -> BlockSums:
    """Totals of a block."""
    return (*block.sums(), block.undecided_bona_fide, block.undecided_spoof)


class RunningTotals:
    """Adds up blocks into :class:`Totals`."""

    def __init__(self, mass: ScoreMass) -> None:
        self._mass = mass
        self._sums = [0, 0, 0, 0]

    def add(self, block: MassBlock) -> None:
        """Add one block."""
        self.add_sums(sums_of(block))

    def add_sums(self, sums: BlockSums) -> None:
        """Add what one block adds up to."""
        self._sums = [a + b for a, b in zip(self._sums, sums, strict=True)]

    def totals(self) -> Totals:
        """Totals so far."""
        return Totals(self._mass.higher, self._mass.unit, self._mass.uncovered, *self._sums)

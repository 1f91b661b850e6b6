"""Countermeasures together with speaker verification: the a-DCF, the act t-DCF and the concurrent t-EER.

**a-DCF** (Shim et al., 2024). One score decides whether a trial is accepted; a target that is rejected and a
non-target or a spoof that is accepted have a price each::

    a-DCF(tau) = cost_miss p_target Pmiss + cost_false_alarm p_nontarget Pfa + cost_false_alarm_spoof p_spoof Pfa_spoof

divided by what it costs to accept everything, or to reject everything, whichever is less. It is the detection cost of
targets against all others, if these are weighted so that each of the two kinds has its share of the price
(:func:`trial_weights`).

**act t-DCF** is the t-DCF of :mod:`spoofspan.measures.costs` at the threshold ``L < ln(C2 / C1)``, which is the best
for scores L that are log-likelihood ratios of bona fide to spoof.

**t-EER** (Kinnunen et al., 2023). Behind a countermeasure that passes bona fide speech with 1 - FPR and spoofs with
FNR, a verification system with the rates Pmiss, Pfa and Pfa_spoof makes a tandem with::

    miss = FPR + (1 - FPR) Pmiss        false alarms: (1 - FPR) Pfa of non-targets, FNR Pfa_spoof of spoofs

At the concurrent t-EER all three are equal, whatever the share of spoofs. As in its authors' code: at each threshold of
the verification system (of those where Pmiss < (Pfa + Pfa_spoof) / 2) the countermeasure's threshold is the one at
which miss and mean false alarm are nearest, the first of equals; of these pairs the first counts at which
Pfa / Pfa_spoof and FNR / (1 - FPR) are nearest; the value is FNR Pfa_spoof there. Doubles find the candidates,
fractions decide among them. Equal scores are one step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from spoofspan.base.columns import Flags
from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.base.times import Float64, Int64
from spoofspan.data.utterance_scores import VerificationScores
from spoofspan.measures.confusion import ConfusionMatrix, as_fraction
from spoofspan.measures.costs import CostFormula, TandemCosts, cost_formula
from spoofspan.measures.curve import ErrorCurve
from spoofspan.measures.kind import Value

# Doubles that differ by less are compared as fractions.
NEAR = 1e-12

# ---------------------------------------------------------------- a-DCF


def a_dcf_formula(**costs: float) -> CostFormula:
    """The normalised a-DCF at a threshold, of non-targets and spoofs that have their weights."""
    of_misses, of_nontargets, of_spoofs = trial_costs(**costs)
    return cost_formula("a-DCF", of_misses, of_nontargets + of_spoofs)


def trial_weights(kinds: Sequence[str], **costs: float) -> Int64:
    """Weights of trials, so that non-targets and spoofs weigh what they cost, and all targets the same."""
    _, of_nontargets, of_spoofs = trial_costs(**costs)
    nontargets, spoofs = kinds.count("nontarget"), kinds.count("spoof")
    if not nontargets or not spoofs or "target" not in kinds:
        missing = next(kind for kind in ("target", "nontarget", "spoof") if kind not in kinds)
        raise UndefinedMeasureError(f"the a-DCF has no value: there is no {missing} trial; check the key")
    unit = math.lcm(of_nontargets.denominator, of_spoofs.denominator)
    each, other = int(of_nontargets * unit) * spoofs, int(of_spoofs * unit) * nontargets
    shared = math.gcd(each, other)
    weights = {"target": 1, "nontarget": each // shared, "spoof": other // shared}
    return np.array([weights[kind] for kind in kinds], np.int64)


def trial_costs(**costs: float) -> tuple[Fraction, Fraction, Fraction]:
    """Costs of rejecting all targets, accepting all non-targets and accepting all spoofs."""
    exact = {name: as_fraction(value, name) for name, value in vars(TandemCosts(**costs)).items()}
    p_target = 1 - exact["p_spoof"] - exact["p_nontarget"]
    if min(*exact.values(), p_target) <= 0:
        raise UsageError("p_spoof, p_nontarget and every cost must be positive, and leave something for targets")
    return (
        exact["cost_miss"] * p_target,
        exact["cost_false_alarm"] * exact["p_nontarget"],
        exact["cost_false_alarm_spoof"] * exact["p_spoof"],
    )


# ---------------------------------------------------------------- t-EER


def t_eer(curve: ErrorCurve, asv_scores: VerificationScores) -> Value:
    """The concurrent t-EER, exactly, and where the countermeasure's threshold is."""
    if not isinstance(asv_scores, VerificationScores):
        raise UsageError("the t-EER needs the scores of a verification system, not its rates: asv_scores=")
    tandem = _Tandem(curve, asv_scores)
    rows = np.flatnonzero(tandem.allowed)
    if not rows.size:
        raise UndefinedMeasureError(
            "the t-EER has no value: the verification system rejects targets no less often than it accepts others, at "
            "every threshold; check which way round its scores are"
        )
    places = tandem.nearest(rows)
    chosen = tandem.most_alike(rows, places)
    point = curve.point(int(places[chosen]))
    accepted = Fraction(int(tandem.spoofs[rows[chosen]]), asv_scores.spoof.size)
    return Value(point.exact_false_negative_rate * accepted, point)


class _Tandem:
    """Rejected targets, accepted non-targets and accepted spoofs at every threshold of the verification system."""

    def __init__(self, curve: ErrorCurve, asv: VerificationScores) -> None:
        matrix = ConfusionMatrix.of_curve(curve)
        self.false_positive, self.false_negative = matrix.false_positive, matrix.false_negative
        self.bona_fide, self.spoof = int(matrix.negatives), int(matrix.positives)
        thresholds = np.unique(np.concatenate((asv.target, asv.nontarget, asv.spoof)))
        counted = [np.searchsorted(np.sort(kind), thresholds) for kind in (asv.target, asv.nontarget, asv.spoof)]
        sizes = [asv.target.size, asv.nontarget.size, asv.spoof.size]
        # the last threshold rejects everything
        targets, nontargets, spoofs = (np.append(kind, size) for kind, size in zip(counted, sizes, strict=True))
        self.targets, self.nontargets, self.spoofs = targets, sizes[1] - nontargets, sizes[2] - spoofs
        self.sizes = sizes

    @property
    def allowed(self) -> Flags:
        """Thresholds at which targets are rejected less often than others are accepted, compared in integers."""
        target, nontarget, spoof = self.sizes
        columns = [column.astype(object) for column in (self.targets, self.nontargets, self.spoofs)]
        left = 2 * columns[0] * nontarget * spoof
        return np.asarray(left < columns[1] * target * spoof + columns[2] * target * nontarget, bool)

    def nearest(self, rows: Int64) -> Int64:
        """The countermeasure's threshold of least |miss - mean false alarm|, for each of these of verification."""
        low, high = np.zeros(rows.size, np.int64), np.full(rows.size, self.false_positive.size - 1)
        # the difference rises from threshold to threshold: find the first that is not below 0
        while (low < high).any():
            middle = (low + high) // 2
            rises = self._is_below_zero(rows, middle) & (low < high)
            low, high = np.where(rises, middle + 1, low), np.where(rises, high, middle)
        before = np.maximum(low - 1, 0)
        here, there = np.abs(self._difference(rows, low)), np.abs(self._difference(rows, before))
        take = there <= here
        for k in np.flatnonzero(np.abs(there - here) <= NEAR).tolist():
            take[k] = abs(self._exact(rows[k], before[k])) <= abs(self._exact(rows[k], low[k]))
        return np.where(take, before, low)

    def most_alike(self, rows: Int64, places: Int64) -> int:
        """The pair of thresholds at which both kinds of false alarms are nearest to being as frequent."""
        with np.errstate(divide="ignore", invalid="ignore"):
            verified = (self.nontargets[rows] / self.sizes[1]) / (self.spoofs[rows] / self.sizes[2])
            passed = (self.false_negative[places] / self.spoof) / (1 - self.false_positive[places] / self.bona_fide)
            apart = np.abs(np.asarray(verified - passed, np.float64))
        apart[~np.isfinite(apart)] = np.inf
        near = np.flatnonzero(apart <= apart.min() + NEAR)

        def exactly(k: int) -> tuple[Fraction, int]:
            row, place = rows[k], places[k]
            verified = Fraction(int(self.nontargets[row]) * self.sizes[2], int(self.spoofs[row]) * self.sizes[1])
            passing = self.bona_fide - int(self.false_positive[place])
            return abs(verified - Fraction(int(self.false_negative[place]) * self.bona_fide, passing * self.spoof)), k

        if not np.isfinite(apart.min()):
            raise UndefinedMeasureError("the t-EER has no value: no spoof is accepted anywhere; check the scores")
        return min(map(exactly, near.tolist()))[1]

    def _difference(self, rows: Int64, places: Int64) -> Float64:
        miss, wrong = (
            np.asarray(column[places], np.float64) / whole
            for column, whole in ((self.false_positive, self.bona_fide), (self.false_negative, self.spoof))
        )
        rejected, accepted, spoofs = self._rates(rows)
        difference: Float64 = miss + (1 - miss) * rejected - ((1 - miss) * accepted + wrong * spoofs) / 2
        return difference

    def _rates(self, rows: Int64) -> list[Any]:
        columns = (self.targets, self.nontargets, self.spoofs)
        return [column[rows] / size for column, size in zip(columns, self.sizes, strict=True)]

    def _is_below_zero(self, rows: Int64, places: Int64) -> Flags:
        difference = self._difference(rows, places)
        below: Flags = difference < 0
        for k in np.flatnonzero(np.abs(difference) <= NEAR).tolist():
            below[k] = self._exact(rows[k], places[k]) < 0
        return below

    def _exact(self, row: np.int64, place: np.int64) -> Fraction:
        miss = Fraction(int(self.false_positive[place]), self.bona_fide)
        wrong = Fraction(int(self.false_negative[place]), self.spoof)
        columns = (self.targets, self.nontargets, self.spoofs)
        rates = (Fraction(int(column[row]), size) for column, size in zip(columns, self.sizes, strict=True))
        rejected, accepted, spoofs = rates
        return miss + (1 - miss) * rejected - ((1 - miss) * accepted + wrong * spoofs) / 2

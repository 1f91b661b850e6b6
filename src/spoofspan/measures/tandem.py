"""The tandem detection cost (t-DCF) of a countermeasure in front of a speaker verification system.

The verification system (ASV) is fixed: its threshold is that of its own EER, targets against non-targets, and a trial
is accepted iff its score >= threshold. From its errors follow the constants of::

    t-DCF(tau) = (C0 + C1 * FPR(tau) + C2 * FNR(tau)) / (C0 + min(C1, C2))

with our FPR (bona fide called spoof, the countermeasure's *miss*) and FNR (spoof called bona fide, its *false alarm*):

    C0 = p_target * cost_miss * Pmiss + p_nontarget * cost_false_alarm * Pfa
    C1 = p_target * cost_miss - C0
    C2 = p_spoof * cost_false_alarm_spoof * Pfa_spoof

Pmiss, Pfa and Pfa_spoof are the shares of rejected targets, accepted non-targets and accepted spoofs. That is the form
of ASVspoof 2021. The ``"2019"`` (legacy) form has the same C1 and C2, and 0 for C0 in the t-DCF itself.

Everything is exact. Equal scores are one step, in the ASV scores too.

References: T. Kinnunen et al.: t-DCF, Odyssey 2018; T. Kinnunen et al.: Tandem Assessment of Spoofing Countermeasures
and Automatic Speaker Verification: Fundamentals, IEEE/ACM TASLP 28, 2020.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, cast

import numpy as np

from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.base.times import Float64
from spoofspan.data.utterance_scores import UtteranceScores, VerificationScores
from spoofspan.mass.utterances import utterance_mass
from spoofspan.measures.confusion import ValueAtPoint, as_fraction, best_point
from spoofspan.measures.costs import cost_formula
from spoofspan.measures.crossing import crossing
from spoofspan.measures.curve import ErrorCurve

Form = Literal["2019", "2021"]
FORMS = ("2019", "2021")


@dataclass(frozen=True)
class VerificationErrors:
    """The error rates of a verification system at a threshold: accepted iff score >= threshold."""

    threshold: float
    rejected_targets: Fraction
    accepted_nontargets: Fraction
    accepted_spoofs: Fraction

    def __str__(self) -> str:
        rates = (self.rejected_targets, self.accepted_nontargets, self.accepted_spoofs)
        rejected, accepted, spoofs = (f"{100 * float(rate):.2f} %" for rate in rates)
        return (
            f"the verification system, accepting from its EER threshold {self.threshold!r} on, rejects {rejected} of "
            f"targets and accepts {accepted} of non-targets and {spoofs} of spoofs"
        )


@dataclass(frozen=True)
class TandemCosts:
    """Priors and costs; those of ASVspoof 2019 and 2021 unless given. The prior of targets is what the others leave."""

    p_spoof: Fraction | float = 0.05
    p_nontarget: Fraction | float = 0.0095
    cost_miss: Fraction | float = 1
    cost_false_alarm: Fraction | float = 10
    cost_false_alarm_spoof: Fraction | float = 10


@lru_cache(maxsize=1)  # the same system is asked for in every replicate
def verification_errors(scores: VerificationScores) -> VerificationErrors:
    """The error rates at the threshold of the EER of targets against non-targets (rule ``nearest``).

    As in ASVspoof's scripts, the threshold is the highest score that is rejected at the EER, and the rates count that
    score as accepted: they are one step off the EER.
    """
    # a verification system tells targets from non-targets as a countermeasure tells bona fide from spoof
    values = np.concatenate((scores.target, scores.nontarget))
    ids = tuple(str(i) for i in range(values.size))
    labels = ["bonafide"] * scores.target.size + ["spoof"] * scores.nontarget.size
    mass = utterance_mass(UtteranceScores(ids, values, "bonafide"), dict(zip(ids, labels, strict=True)))
    point = crossing(mass).nearest
    rejected = values if point.everything else values[values < point.threshold]
    threshold = float(rejected.max()) if rejected.size else point.threshold

    def accepted(trials: Float64) -> Fraction:
        return Fraction(int(np.count_nonzero(trials >= threshold)), trials.size)

    return VerificationErrors(
        threshold, 1 - accepted(scores.target), accepted(scores.nontarget), accepted(scores.spoof)
    )


def min_tdcf_behind(curve: ErrorCurve, asv_scores: VerificationScores, form: float, **costs: float) -> ValueAtPoint:
    """As :func:`min_tdcf`, of parameters as they are spelled in the name of a measure."""
    spelled = f"{form:g}"
    if spelled not in FORMS:
        raise UsageError(f"form={spelled}: valid: {', '.join(FORMS)}")
    return min_tdcf(curve, verification_errors(asv_scores), cast("Form", spelled), TandemCosts(**costs))


def min_tdcf(
    curve: ErrorCurve, verification: VerificationErrors, form: Form = "2021", costs: TandemCosts | None = None
) -> ValueAtPoint:
    """The least normalised t-DCF of all thresholds of a countermeasure, exactly."""
    always, of_misses, of_false_alarms = _constants(verification, form, costs or TandemCosts())
    for name, cost in (("C1", of_misses), ("C2", of_false_alarms)):
        if cost <= 0:
            raise UndefinedMeasureError(
                f"the t-DCF has no value: {name} = {float(cost):.6g} is not positive; the verification system is too "
                "poor, or accepts no spoof at all, so check its scores and the costs"
            )
    return best_point(curve, cost_formula("t-DCF", of_misses, of_false_alarms, always))


def _constants(rates: VerificationErrors, form: Form, costs: TandemCosts) -> tuple[Fraction, Fraction, Fraction]:
    """C0, C1 and C2."""
    p_spoof, p_nontarget = as_fraction(costs.p_spoof, "p_spoof"), as_fraction(costs.p_nontarget, "p_nontarget")
    p_target = 1 - p_spoof - p_nontarget
    if min(p_spoof, p_nontarget, p_target) <= 0:
        raise UsageError("p_spoof and p_nontarget must be positive, and leave something for targets")
    miss = as_fraction(costs.cost_miss, "cost_miss")
    false_alarm = as_fraction(costs.cost_false_alarm, "cost_false_alarm")
    spoof = as_fraction(costs.cost_false_alarm_spoof, "cost_false_alarm_spoof")
    if min(miss, false_alarm, spoof) <= 0:
        raise UsageError("every cost must be positive; otherwise one kind of error is free")
    verifying = p_target * miss * rates.rejected_targets + p_nontarget * false_alarm * rates.accepted_nontargets
    of_misses = p_target * miss - verifying
    of_false_alarms = p_spoof * spoof * rates.accepted_spoofs
    if form == "2019":
        return Fraction(0), of_misses, of_false_alarms
    if form == "2021":
        return verifying, of_misses, of_false_alarms
    raise UsageError(f"form={form!r}: valid: '2019', '2021'")

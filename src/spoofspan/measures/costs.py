"""Detection costs: minDCF, actDCF, t-DCF, Cllr and minCllr.

The words are those of ASVspoof, where the target is bona fide. A *miss* is bona fide called spoof, so its rate is our
FPR; a *false alarm* is spoof called bona fide, so its rate is our FNR::

    DCF(tau) = cost_miss * (1 - p_spoof) * FPR(tau) + cost_false_alarm * p_spoof * FNR(tau)

divided by ``min(cost_miss * (1 - p_spoof), cost_false_alarm * p_spoof)``, what it costs to call everything the same.
**minDCF** is its minimum over all thresholds, **actDCF** its value at the threshold that would be best if the scores
were what they are declared to be. Both are exact.

**Cllr**, in bits, weighs the classes evenly whatever their amounts. L is the log-likelihood ratio of bona fide::

    Cllr = (mean of log2(1 + exp(-L)) over bona fide + mean of log2(1 + exp(L)) over spoof) / 2

**minCllr** is the Cllr after the best increasing map of the scores (pool adjacent violators); equal scores stay equal.

What depends on the size of a score must be told what it is (``scores_are``):

``"llr"``
    the natural logarithm of a likelihood ratio: of bona fide to spoof if ``higher="bonafide"``, else the other way;
``"probability"``
    of the class that ``higher`` names, as it would be if ``prior`` (one half) were the share of spoof.

**t-DCF** is the tandem detection cost of a countermeasure in front of a speaker verification system.
The verification system (ASV) is fixed: its threshold is that of its own EER, targets against non-targets, and a trial
is accepted iff its score >= threshold. From its errors follow the constants of::

    t-DCF(tau) = (C0 + C1 * FPR(tau) + C2 * FNR(tau)) / (C0 + min(C1, C2))

with our FPR (bona fide called spoof, the countermeasure's *miss*) and FNR (spoof called bona fide, its *false alarm*):

    C0 = p_target * cost_miss * Pmiss + p_nontarget * cost_false_alarm * Pfa
    C1 = p_target * cost_miss - C0
    C2 = p_spoof * cost_false_alarm_spoof * Pfa_spoof

Pmiss, Pfa and Pfa_spoof are the shares of rejected targets, accepted non-targets and accepted spoofs. That is the form
of ASVspoof 2021. The ``"2019"`` (legacy) form has the same C1 and C2, and 0 for C0 in the t-DCF itself.

The t-DCF is exact. Equal scores are one step, in the ASV scores too.

References: T. Kinnunen et al.: t-DCF, Odyssey 2018; T. Kinnunen et al.: Tandem Assessment of Spoofing Countermeasures
and Automatic Speaker Verification: Fundamentals, IEEE/ACM TASLP 28, 2020.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, cast

import numpy as np

from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.base.times import Float64
from spoofspan.data.references import BONA_FIDE, SPOOF
from spoofspan.data.utterance_scores import UtteranceScores, VerificationScores
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.mass.score_runs import mirrored
from spoofspan.mass.utterances import mass_of_classes
from spoofspan.measures.confusion import Formula, as_fraction
from spoofspan.measures.curve import ErrorCurve, error_curve_of
from spoofspan.measures.eer import crossing
from spoofspan.measures.kind import Value
from spoofspan.measures.measure import ScoresAre
from spoofspan.measures.operating_point import Totals

# What scores in bona fide polarity cost in bits, where they lie over bona fide and over spoof.
ScoreCosts = Callable[[Float64], tuple[Float64, Float64]]
EVEN = Fraction(1, 2)
# Pooling all neighbours at once is worth it while it removes at least this share of them.
WORTH_POOLING = 0.1


# ---------------------------------------------------------------- detection cost


@dataclass(frozen=True)
class CostFormula(Formula):
    """A normalised cost, and how many times as much calling all spoof bona fide costs as the reverse."""

    ratio: Fraction


def dcf_formula(**costs: Fraction | float) -> CostFormula:
    """The normalised detection cost at a threshold.

    ``costs`` are ``p_spoof``, ``cost_miss`` and ``cost_false_alarm``, those of ASVspoof 5 unless given.
    """
    return cost_formula("DCF", *_class_costs(**costs))


def actual_cost(
    curve: ErrorCurve, formula: CostFormula, scores_are: ScoresAre, prior: Fraction | float = EVEN
) -> Value:
    """A cost at the threshold that is best if the scores are what they are declared to be."""
    point = curve.at(threshold_of_ratio(curve, scores_are, formula.ratio, prior))
    return Value(formula.at(point), point)


def threshold_of_ratio(
    curve: ErrorCurve, scores_are: ScoresAre, ratio: Fraction, prior: Fraction | float = EVEN
) -> float:
    """The threshold below which (in bona fide polarity) the likelihood ratio of bona fide to spoof is less."""
    check_declared(curve.thresholds[:-1], scores_are)
    share = inside_0_1(prior, "prior")
    if scores_are == "llr":
        tau = math.log(ratio.numerator) - math.log(ratio.denominator)
        return mirrored(tau, curve.sums.higher)
    odds = ratio * (1 - share) / share
    return float(odds / (1 + odds) if curve.sums.higher == "bonafide" else 1 / (1 + odds))


def cost_formula(
    name: str, of_misses: Fraction, of_false_alarms: Fraction, always: Fraction = Fraction(0)
) -> CostFormula:
    """``(always + of_misses * FPR + of_false_alarms * FNR) / (always + min(of_misses, of_false_alarms))``."""
    least = always + min(of_misses, of_false_alarms)
    # whole numbers, so that the formula serves integers and arrays
    unit = math.lcm(*(cost.denominator for cost in (of_misses, of_false_alarms, always)))
    miss, false_alarm, fixed, norm = (int(cost * unit) for cost in (of_misses, of_false_alarms, always, least))
    return CostFormula(
        name,
        "lower",
        ("positives", "negatives"),
        lambda c: (
            # the numbers first: one product and one sum for each array
            miss * c.positives * c.false_positive
            + (false_alarm * c.negatives * c.false_negative + fixed * c.positives * c.negatives),
            norm * c.positives * c.negatives,
        ),
        of_false_alarms / of_misses,
    )


def _class_costs(
    p_spoof: Fraction | float = 0.05, cost_miss: Fraction | float = 1, cost_false_alarm: Fraction | float = 10
) -> tuple[Fraction, Fraction]:
    """Costs of calling all bona fide spoof, and all spoof bona fide."""
    share = inside_0_1(p_spoof, "p_spoof")
    costs = as_fraction(cost_miss, "cost_miss"), as_fraction(cost_false_alarm, "cost_false_alarm")
    for name, cost in zip(("cost_miss", "cost_false_alarm"), costs, strict=True):
        if cost <= 0:
            raise UsageError(f"{name} must be positive, not {cost}; otherwise one kind of error is free")
    return costs[0] * (1 - share), costs[1] * share


def inside_0_1(number: Fraction | float, name: str) -> Fraction:
    """A share as a fraction; it must lie strictly between 0 and 1."""
    share = as_fraction(number, name)
    if not 0 < share < 1:
        raise UsageError(f"{name} must lie between 0 and 1, not be {number}")
    return share


# ---------------------------------------------------------------- Cllr


@dataclass(frozen=True, eq=False)
class ScoredAmounts:
    """Distinct scores in bona fide polarity, ascending, and the amounts of both classes under each, as doubles."""

    scores: Float64
    bona_fide: Float64
    spoof: Float64

    @classmethod
    def of(cls, curve: ErrorCurve) -> ScoredAmounts:
        """Take the steps of a curve apart again."""
        sums = curve.sums
        refuse_undecided(sums)
        amounts = (np.diff(called).astype(np.float64) for called in (curve.called_bona_fide, curve.called_spoof))
        return cls(mirrored(curve.thresholds[:-1], sums.higher), *amounts)


def refuse_undecided(sums: Totals) -> None:
    """Refuse time without a score, where every score counts."""
    if sums.undecided_bona_fide + sums.undecided_spoof:
        raise UndefinedMeasureError(
            f"there is time under no score (uncovered={sums.uncovered!r}), which has no likelihood ratio; "
            "use uncovered='hold' or 'ignore'"
        )


def cllr(curve: ErrorCurve, scores_are: ScoresAre, *, prior: Fraction | float = EVEN) -> float:
    """The log-likelihood-ratio cost in bits: 0 is perfect, 1 is the cost of uninformative scores.

    A score that is certain (an infinite ratio, a probability of 0 or 1) and right costs nothing. One that is certain
    and wrong costs infinitely much, which is an error.
    """
    amounts = ScoredAmounts.of(curve)
    ratios = stated_ratios(amounts, curve, scores_are, prior)
    wrong = (np.isposinf(ratios) & (amounts.spoof > 0)) | (np.isneginf(ratios) & (amounts.bona_fide > 0))
    if wrong.any():
        score = float(curve.thresholds[:-1][wrong][0])
        raise UndefinedMeasureError(
            f"Cllr is infinite: the score {score!r} is certain, and wrong; keep scores away from certainty, "
            "or use minCllr, which needs only their order"
        )
    return _mean_cost(amounts.bona_fide, -ratios) / 2 + _mean_cost(amounts.spoof, ratios) / 2


def min_cllr(curve: ErrorCurve) -> float:
    """The Cllr in bits after the best increasing map of the scores; it depends on their order alone."""
    amounts = ScoredAmounts.of(curve)
    bona_fide, spoof = pool_adjacent_violators(amounts.bona_fide, amounts.spoof)
    ratios = log_ratios_of(bona_fide, spoof)
    return _mean_cost(bona_fide, -ratios) / 2 + _mean_cost(spoof, ratios) / 2


def log_ratios_of(bona_fide: Float64, spoof: Float64) -> Float64:
    """The log-likelihood ratio of each group: how much of all bona fide it holds, over how much of all spoof."""
    with np.errstate(divide="ignore"):
        ratios: Float64 = np.log(bona_fide / math.fsum(bona_fide)) - np.log(spoof / math.fsum(spoof))
    return ratios


def calibration_loss(curve: ErrorCurve, scores_are: ScoresAre) -> float:
    """Gain in Cllr by the best increasing map of the scores, in bits: Cllr - minCllr, never below 0."""
    return max(cllr(curve, scores_are) - min_cllr(curve), 0.0)


def pool_adjacent_violators(bona_fide: Float64, spoof: Float64) -> tuple[Float64, Float64]:
    """Pool neighbours until the share of bona fide rises from each group to the next.

    Neighbours whose share does not rise end up in one group whatever else happens, so whole runs of them are pooled at
    once; a stack settles what is left. Doubles decide: where they err, the shares are equal to their precision, and
    so is the cost.
    """
    while True:
        falls = bona_fide[:-1] * spoof[1:] >= bona_fide[1:] * spoof[:-1]  # or stays: the share of bona fide
        if not falls.any():
            return bona_fide, spoof
        if falls.mean() < WORTH_POOLING:
            break
        begins = np.flatnonzero(np.concatenate(([True], ~falls)))
        bona_fide, spoof = np.add.reduceat(bona_fide, begins), np.add.reduceat(spoof, begins)
    groups: list[tuple[float, float]] = []
    for b, s in zip(bona_fide.tolist(), spoof.tolist(), strict=True):
        group = (b, s)
        while groups and not groups[-1][0] * group[1] < group[0] * groups[-1][1]:
            before = groups.pop()
            group = (before[0] + group[0], before[1] + group[1])
        groups.append(group)
    pooled = np.array(groups)
    return pooled[:, 0], pooled[:, 1]


def _mean_cost(amounts: Float64, against: Float64) -> float:
    """The mean of log2(1 + exp(against)) over a class."""
    some = amounts > 0  # elsewhere the cost may be infinite, and does not count
    return math.fsum(amounts[some] * np.logaddexp(0.0, against[some])) / math.fsum(amounts) / math.log(2)


def stated_ratios(amounts: ScoredAmounts, curve: ErrorCurve, scores_are: ScoresAre, prior: Fraction | float) -> Float64:
    """The declared log-likelihood ratio of bona fide to spoof of each score of a curve."""
    check_declared(curve.thresholds[:-1], scores_are)
    return _log_ratios(amounts.scores, curve.sums.higher, scores_are, prior)


def stated_costs(mass: ScoreMass, scores_are: ScoresAre) -> ScoreCosts:
    """Costs of scores in bits, if they are what they are declared to be."""
    return lambda scores: _costs_of(_log_ratios(scores, mass.higher, scores_are, EVEN))


def _costs_of(ratios: Float64) -> tuple[Float64, Float64]:
    """Costs of log-likelihood ratios in bits, over bona fide and over spoof."""
    return np.logaddexp(0.0, -ratios) / math.log(2), np.logaddexp(0.0, ratios) / math.log(2)


def least_costs(mass: ScoreMass) -> ScoreCosts:
    """Costs of scores in bits after the best increasing map of the scores of a mass."""
    amounts = ScoredAmounts.of(error_curve_of(mass))
    bona_fide, spoof = pool_adjacent_violators(amounts.bona_fide, amounts.spoof)
    over_bona_fide, over_spoof = _costs_of(log_ratios_of(bona_fide, spoof))
    each = amounts.bona_fide + amounts.spoof
    # a score belongs to the group that the middle of its amount falls into
    group = np.searchsorted(np.cumsum(bona_fide + spoof), np.cumsum(each) - each / 2)

    def of_scores(scores: Float64) -> tuple[Float64, Float64]:
        place = group[np.minimum(np.searchsorted(amounts.scores, scores), amounts.scores.size - 1)]
        return over_bona_fide[place], over_spoof[place]

    return of_scores


def _log_ratios(scores: Float64, higher: str, scores_are: ScoresAre, prior: Fraction | float) -> Float64:
    """The declared log-likelihood ratios of bona fide to spoof, of scores in bona fide polarity."""
    share = float(inside_0_1(prior, "prior"))
    if scores_are == "llr":
        return scores
    given = mirrored(scores, higher)
    with np.errstate(divide="ignore"):
        log_odds = np.log(given) - np.log1p(-given)
    return mirrored(log_odds, higher) - math.log((1 - share) / share)


def check_declared(scores: Float64, scores_are: ScoresAre) -> None:
    """Refuse scores that contradict their declaration."""
    if scores_are not in ("llr", "probability"):
        raise UsageError(f"scores_are={scores_are!r}: valid: 'llr', 'probability'")
    if scores_are == "probability" and not (scores.min() >= 0 and scores.max() <= 1):
        what = "use scores_are='llr' if they are log-likelihood ratios"
        if scores.min() >= 0 and scores.max() <= 100:
            what = f"divide them by 100 if they are in per cent; {what}"
        raise UsageError(f"scores from {float(scores.min()):g} to {float(scores.max()):g} are no probabilities; {what}")


# ---------------------------------------------------------------- t-DCF

Form = Literal["2019", "2021", "2024"]
FORMS = ("2019", "2021", "2024")


@dataclass(frozen=True)
class VerificationErrors:
    """The error rates of a verification system at a threshold: accepted iff score >= threshold.

    The threshold is NaN where the rates are given.
    """

    threshold: float
    rejected_targets: Fraction
    accepted_nontargets: Fraction
    accepted_spoofs: Fraction

    def __str__(self) -> str:
        rates = (self.rejected_targets, self.accepted_nontargets, self.accepted_spoofs)
        rejected, accepted, spoofs = (f"{100 * float(rate):.2f} %" for rate in rates)
        how = "with rates as given" if self.given else f"accepting from its EER threshold {self.threshold!r} on"
        return (
            f"the verification system, {how}, rejects {rejected} of targets and accepts {accepted} of non-targets and "
            f"{spoofs} of spoofs"
        )

    @classmethod
    def of_rates(cls, rates: Sequence[float]) -> VerificationErrors:
        """Given rates: of accepted non-targets, rejected targets and accepted spoofs."""
        exact = [as_fraction(rate, "asv_rates") for rate in rates]
        if len(exact) != 3 or not all(0 <= rate <= 1 for rate in exact):
            raise UsageError(
                f"asv_rates={list(rates)}: these are three shares from 0 to 1: of accepted non-targets, rejected "
                "targets and accepted spoofs (--asv-rates PFA,PMISS,PFA_SPOOF)"
            )
        return cls(math.nan, exact[1], exact[0], exact[2])

    @property
    def given(self) -> bool:
        """True if the rates were given, and not found at a threshold."""
        return math.isnan(self.threshold)

    @property
    def signed(self) -> str:
        """The rates as they stand in a signature."""
        rates = self.accepted_nontargets, self.rejected_targets, self.accepted_spoofs
        return f"asv-rates:{','.join(repr(float(rate)) for rate in rates)}"


@dataclass(frozen=True)
class TandemCosts:
    """Priors and costs; those of ASVspoof 2019 and 2021 unless given. The prior of targets is what the others leave."""

    p_spoof: Fraction | float = 0.05
    p_nontarget: Fraction | float = 0.0095
    cost_miss: Fraction | float = 1
    cost_false_alarm: Fraction | float = 10
    cost_false_alarm_spoof: Fraction | float = 10


@lru_cache(maxsize=1)  # the same system is asked for in every replicate
def verification_errors(scores: VerificationScores | VerificationErrors) -> VerificationErrors:
    """The error rates, as given, or at the threshold of the EER of targets against non-targets (rule ``nearest``).

    As in ASVspoof's scripts, the threshold is the highest score that is rejected at the EER, and the rates count that
    score as accepted: they are one step off the EER.
    """
    if isinstance(scores, VerificationErrors):
        return scores
    # a verification system tells targets from non-targets as a countermeasure tells bona fide from spoof
    values = np.concatenate((scores.target, scores.nontarget))
    classes = np.repeat(np.array([BONA_FIDE, SPOOF], np.int8), [scores.target.size, scores.nontarget.size])
    ids = tuple(map(str, range(values.size)))
    point = crossing(mass_of_classes(UtteranceScores(ids, values, "bonafide"), classes, "verification")).nearest
    rejected = values if point.everything else values[values < point.threshold]
    threshold = float(rejected.max()) if rejected.size else point.threshold

    def accepted(trials: Float64) -> Fraction:
        return Fraction(int(np.count_nonzero(trials >= threshold)), trials.size)

    return VerificationErrors(
        threshold, 1 - accepted(scores.target), accepted(scores.nontarget), accepted(scores.spoof)
    )


def tdcf_formula_behind(asv_errors: VerificationErrors, form: float, **costs: float) -> CostFormula:
    """The normalised t-DCF at a threshold, by the parameters in the name of a measure."""
    spelled = f"{form:g}"
    if spelled not in FORMS:
        raise UsageError(f"form={spelled}: valid: {', '.join(FORMS)}")
    return tdcf_formula(asv_errors, cast("Form", spelled), TandemCosts(**costs))


def tdcf_formula(
    verification: VerificationErrors, form: Form = "2021", costs: TandemCosts | None = None
) -> CostFormula:
    """The normalised t-DCF at a threshold of a countermeasure."""
    always, of_misses, of_false_alarms = tandem_constants(verification, form, costs or TandemCosts())
    return cost_formula("t-DCF", of_misses, of_false_alarms, always)


def tandem_constants(rates: VerificationErrors, form: Form, costs: TandemCosts) -> tuple[Fraction, Fraction, Fraction]:
    """C0, C1 and C2; the last two are positive."""
    exact = {name: as_fraction(value, name) for name, value in vars(costs).items()}
    p_spoof, p_nontarget, miss, false_alarm, spoof = exact.values()
    p_target = 1 - p_spoof - p_nontarget
    if min(p_spoof, p_nontarget, p_target) <= 0:
        raise UsageError("p_spoof and p_nontarget must be positive, and leave something for targets")
    if min(miss, false_alarm, spoof) <= 0:
        raise UsageError("every cost must be positive; otherwise one kind of error is free")
    verifying = p_target * miss * rates.rejected_targets + p_nontarget * false_alarm * rates.accepted_nontargets
    of_misses = p_target * miss - verifying
    # ASVspoof 5's package has the share of rejected spoofs here, unless rates are given
    swapped = form == "2024" and not rates.given
    of_false_alarms = p_spoof * spoof * (1 - rates.accepted_spoofs if swapped else rates.accepted_spoofs)
    if form not in FORMS:
        raise UsageError(f"form={form!r}: valid: {', '.join(map(repr, FORMS))}")
    for name, cost in (("C1", of_misses), ("C2", of_false_alarms)):
        if cost <= 0:
            raise UndefinedMeasureError(
                f"the t-DCF has no value: {name} = {float(cost):.6g} is not positive; the verification system is too "
                "poor, or accepts no spoof at all, so check its scores and the costs"
            )
    return Fraction(0) if form == "2019" else verifying, of_misses, of_false_alarms

"""The catalogue of measures: one entry per kind, with its formula, its function, its direction and its reference.

Help, ``explain``, ``docs/measures.md``, completion and evaluation read these entries and nothing else. A measure is
spelled ``<basis>-<name>`` (:mod:`spoofspan.measures.measure`): the basis is ``range`` (durations), ``point`` (``@`` a
resolution), ``utterance`` or ``event`` (spoofed ranges against proposed ranges; ``docs/events.md`` defines them).

Formulas at a threshold are written in amounts of the basis, seen from the positive class: spoof, or bona fide where the
name ends in ``-bonafide``. TP, FP, FN and TN are as in any confusion matrix; P is all that is positive, N all that is
negative, both with what is unanswered (``uncovered="unanswered"``); FPR = FP / N and FNR = FN / P.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from spoofspan.measures.events.event_catalogue import EVENT_KINDS
from spoofspan.measures.kind import (
    BASES,
    EVENT,
    SYMBOLS,
    BestKind,
    BoundaryEerKind,
    CurveKind,
    Direction,
    EerKind,
    Kind,
    Needs,
    PairKind,
    Parameters,
    RatioKind,
    ScoreCostKind,
    StatedKind,
    TandemEerKind,
    TrialCostKind,
    TrialEerKind,
    by_name,
    parameters_of,
)

__all__ = ["BASES", "EVENT", "EVENT_KINDS", "SYMBOLS", "Direction", "Kind", "Needs", "Parameters"]

# What is measured of proposals if nothing is asked for.
USUAL_OF_EVENTS = ("event-ap@iou=0.5", "event-ap@iou=0.75", "event-ap@iou=0.95", "event-ar@n=20")
# Names that are published without a basis.
ALIASES = {"add2023": "event-add2023", "add2023-macro": "event-add2023-macro"}

PAPER = (
    "L. Zhang, X. Wang, E. Cooper, N. Evans, J. Yamagishi: Range-Based Equal Error Rate for Spoof Localization, 2023"
)
AGNITIO = "N. Brummer, E. de Villiers: The BOSARIS Toolkit, 2011 (arXiv:1304.2865)"
ASVSPOOF5 = "ASVspoof 5 evaluation plan, 2024; " + AGNITIO
TANDEM = (
    "T. Kinnunen et al.: Tandem Assessment of Spoofing Countermeasures and Automatic Speaker Verification: "
    "Fundamentals, IEEE/ACM TASLP 28, 2020; ASVspoof 2019 and 2021 evaluation plans"
)

TEER = "T. H. Kinnunen, K. A. Lee, H. Tak, N. Evans, A. Nautsch: t-EER, IEEE TPAMI, 2023"
ADCF = "H. Shim et al.: a-DCF, Odyssey 2024 (arXiv:2403.01355)"
SASV2022 = "J. Jung et al.: SASV 2022: the First Spoofing-Aware Speaker Verification Challenge, Interspeech 2022"
BAM = "J. Zhong, B. Li, J. Yi: Enhancing Partially Spoofed Audio Localization with Boundary-aware Attention, 2024"
PYANNOTE = "H. Bredin: pyannote.metrics, Interspeech 2017"
NIST = "NIST Open Speech Analytic Technologies (OpenSAT) evaluation plan, 2019: speech activity detection"
MATTHEWS = "B. W. Matthews: Comparison of the predicted and observed secondary structure of T4 phage lysozyme, 1975"
PSYND = "B. Zhang, T. Sim: Localizing Fake Segments in Speech, ICPR 2022"


def _ratio(name: str, direction: Direction, formula: str, needs: str, about: str, **more: Any) -> Kind:
    """A ratio of amounts at a threshold; it is computed by the function of its name in ``confusion``."""
    function, needed = f"confusion:{name.replace('-', '_')}", cast("Needs", tuple(needs.split()))
    return RatioKind(name, direction, formula, function, about, needs=needed, **more)


def _share(name: str, formula: str, needs: str, about: str, **more: Any) -> Kind:
    """A ratio that is high for a good system and depends on which class is positive."""
    return _ratio(name, "higher", formula, needs, about, positive=True, **more)


def _cost(
    family: type[CurveKind], name: str, formula: str, computed_by: str, about: str, reference: str = "", **more: Any
) -> Kind:
    """A cost, which is no share; its interval is symmetric on a logarithmic scale unless it is at most 1."""
    return family(name, "lower", formula, computed_by, about, reference, percent=False, **{"scale": "log", **more})


def _trial_eer(name: str, against: tuple[str, ...], whom: str) -> Kind:
    about = (
        f"The EER of targets against {whom}, of one score for all; the key names target, nontarget and spoof. The "
        "challenge interpolates: --eer-rule interpolated."
    )
    formula = "(Pmiss + Pfa) / 2 at the threshold of least |Pmiss - Pfa|"
    by = "eer:equal_error_rate"
    return TrialEerKind(name, "lower", formula, by, about, SASV2022, trials=against, bases=("utterance",))


_BOTH = "positives negatives"
NIST_DCF = parameters_of(p_spoof=0.75, cost_miss=1.0, cost_false_alarm=1.0)
# F1 and IoU need the positive class: otherwise, in a mean over utterances, an all-negative utterance would count as 0
# with the least error and be left out without any.
_RATIOS = (
    _share("precision", "TP / (TP + FP)", "called", "How much of what is called spoof is spoof."),
    _share("recall", "TP / P", "positives", "How much of the spoof is called spoof.", of_class="positives"),
    _share("f1", "2 TP / (TP + FP + P)", "positives", "The harmonic mean of precision and recall."),
    _share("iou", "TP / (FP + P)", "positives", "What is spoof and called so, of what is either (Jaccard)."),
    _ratio("accuracy", "higher", "(TP + TN) / (P + N)", "any", "How much is called what it is."),
    _ratio("balanced-accuracy", "higher", "(TP / P + TN / N) / 2", _BOTH, "How much of each class is called right."),
    _ratio(
        "mcc",
        "higher",
        "(TP TN - FP FN) / sqrt((TP + FP) P N (TN + FN))",
        "positives negatives called called-negative",
        "Matthews' correlation coefficient of labels and decisions: 1 if all is called right, 0 by chance.",
        reference=MATTHEWS,
        percent=False,
        scale="raw",
    ),
    _ratio("fpr", "lower", "FP / N", "negatives", "How much of the bona fide is called spoof.", of_class="negatives"),
    _ratio("fnr", "lower", "FN / P", "positives", "How much of the spoof is called bona fide.", of_class="positives"),
    _ratio("hter", "lower", "(FPR + FNR) / 2", _BOTH, "Half the total error rate."),
    _ratio(
        "der",
        "lower",
        "(FP + FN) / P",
        "positives",
        "The detection error rate of diarization: false alarm and miss over all spoof. It may exceed 1.",
        reference=PYANNOTE,
        scale="log",
    ),
    _ratio(
        "dcf",
        "lower",
        "cost_miss (1 - p_spoof) FPR + cost_false_alarm p_spoof FNR",
        _BOTH,
        "The detection cost at a threshold, not normalised. With its defaults it is NIST's cost with spoof as the "
        "class to find: 0.75 for what is missed, 0.25 for false alarms. The costs are named as in min-dcf.",
        reference=NIST,
        percent=False,
        scale="log",
        parameters=NIST_DCF,
    ),
    _ratio(
        "iou-psynd",
        "higher",
        "(TP + TN) / (2 (P + N) - TP - TN)",
        "any",
        "The IoU of both classes together: A / (2 - A) of the accuracy A, 1/3 by chance. Our reading of the measure "
        "of Psynd, from its chance level.",
        reference=PSYND,
    ),
    _ratio(
        "false-alarms-per-hour",
        "lower",
        "3600 FP / N",
        "negatives",
        "Seconds of false alarm in an hour of bona fide speech.",
        percent=False,
        scale="log",
        of_class="negatives",
        bases=("range",),
    ),
)

DCF = parameters_of(p_spoof=0.05, cost_miss=1.0, cost_false_alarm=10.0)
TDCF = parameters_of(form=2021.0, p_spoof=0.05, p_nontarget=0.0095, cost_miss=1.0)
TDCF += parameters_of(cost_false_alarm=10.0, cost_false_alarm_spoof=10.0)

KINDS: Mapping[str, Kind] = by_name(
    EerKind(
        "eer",
        "lower",
        "(FPR + FNR) / 2 at the threshold of least |FPR - FNR|",
        "eer:equal_error_rate",
        "The equal error rate, under an EER rule.",
        PAPER,
    ),
    BoundaryEerKind(
        "boundary-eer",
        "lower",
        "(FPR + FNR) / 2 at the threshold of least |FPR - FNR|, of boundary points against all others",
        "eer:equal_error_rate",
        "The EER of a boundary track (--boundary-scores, high where spoof begins or ends). A point is a boundary if it "
        "is spoof and the point before or after it is bona fide.",
        BAM,
        bases=("point",),
    ),
    *_RATIOS,
    PairKind(
        "auc",
        "higher",
        "integral of 1 - FNR over FPR",
        "ranking:auc",
        "The chance that a spoofed instant has a more spoof-like score than a bona fide one; ties count half.",
    ),
    CurveKind(
        "average-precision",
        "higher",
        "sum over thresholds of (recall step) * precision",
        "ranking:average_precision",
        "The area under the precision-recall curve, as steps; equal scores are one step.",
        takes=("positive",),
        positive=True,
    ),
    BestKind(
        "best-f1",
        "higher",
        "max over thresholds of F1",
        "confusion:f1_formula",
        "F1 at the threshold that is best for it: an optimistic number.",
        positive=True,
    ),
    _cost(
        BestKind,
        "min-dcf",
        "min over thresholds of (cost_miss (1 - p_spoof) FPR + cost_false_alarm p_spoof FNR) / best trivial cost",
        "costs:dcf_formula",
        "The normalised detection cost at the best threshold. As in ASVspoof the target is bona fide: a miss is "
        "bona fide speech called spoof (our FPR), a false alarm is spoof accepted (our FNR).",
        ASVSPOOF5,
        parameters=DCF,
        scale="logit",
    ),
    _cost(
        BestKind,
        "min-tdcf",
        "min over thresholds of (C0 + C1 FPR + C2 FNR) / (C0 + min(C1, C2)); form=2019: without C0; form=2024: as "
        "ASVspoof 5's package computes C2",
        "costs:tdcf_formula_behind",
        "The tandem detection cost of a countermeasure in front of a speaker verification system, whose errors "
        "make the constants (--asv-scores or --asv-rates); docs/costs.md has them. As in ASVspoof the target is bona "
        "fide: a miss of the countermeasure is our false positive.",
        TANDEM,
        parameters=TDCF,
        bases=("utterance",),
        scale="logit",
        takes=("asv_errors",),
    ),
    _cost(
        StatedKind,
        "act-tdcf",
        "the tandem detection cost at the threshold ln(C2 / C1) of the log-likelihood ratio, normalised as min-tdcf",
        "costs:tdcf_formula_behind",
        "What decisions of the countermeasure cost the tandem that take its scores at their word; it needs the "
        "verification system's scores (--asv-scores) or rates (--asv-rates).",
        TANDEM,
        parameters=TDCF,
        bases=("utterance",),
        takes=("scores_are", "asv_errors"),
    ),
    TandemEerKind(
        "t-eer",
        "lower",
        "FNR Pfa_spoof where FPR + (1 - FPR) Pmiss = (1 - FPR) Pfa = FNR Pfa_spoof, as nearly as thresholds allow",
        "tandem:t_eer",
        "The concurrent tandem equal error rate of a countermeasure (FPR, FNR) and a verification system (Pmiss, Pfa, "
        "Pfa_spoof; --asv-scores): the error rate at which targets, non-targets and spoofs are treated equally badly.",
        TEER,
        takes=("asv_scores",),
        bases=("utterance",),
    ),
    _cost(
        TrialCostKind,
        "a-dcf",
        "min over thresholds of (cost_miss p_target Pmiss + cost_false_alarm p_nontarget Pfa + cost_false_alarm_spoof "
        "p_spoof Pfa_spoof) / best trivial cost",
        "tandem:a_dcf_formula",
        "The architecture-agnostic detection cost of one score for targets, non-targets and spoofs, which the key "
        "names. p_target is what p_spoof and p_nontarget leave.",
        ADCF,
        parameters=tuple((name, value) for name, value in TDCF if name != "form"),
        bases=("utterance",),
        scale="logit",
    ),
    _trial_eer("sasv-eer", ("nontarget", "spoof"), "non-targets and spoofs together"),
    _trial_eer("sv-eer", ("nontarget",), "non-targets"),
    _trial_eer("spf-eer", ("spoof",), "spoofs"),
    _cost(
        ScoreCostKind,
        "min-cllr",
        "Cllr after the best monotone calibration (pool adjacent violators)",
        "costs:min_cllr",
        "The log-likelihood-ratio cost that ranking alone accounts for, in bits.",
        AGNITIO,
        scale="logit",
        costs_by="costs:least_costs",
        fitted=True,
    ),
    _cost(
        StatedKind,
        "act-dcf",
        "the detection cost at the threshold that the priors and costs imply, normalised as min-dcf",
        "costs:dcf_formula",
        "What decisions cost that take the scores at their word. For scores that are declared to be log-likelihood "
        "ratios or probabilities.",
        ASVSPOOF5,
        parameters=DCF,
        takes=("scores_are",),
    ),
    _cost(
        CurveKind,
        "brier",
        "mean of (p - y)^2, of the stated probability of spoof p and y = 1 for spoof, 0 for bona fide",
        "reliability:brier",
        "The Brier score of scores that are declared to be probabilities or log-likelihood ratios.",
        "G. W. Brier: Verification of Forecasts Expressed in Terms of Probability, 1950",
        takes=("scores_are",),
    ),
    _cost(
        CurveKind,
        "ece",
        "sum over bins of equal width of (share of the bin) |mean of p - share of spoof|",
        "reliability:expected_calibration_error",
        "The expected calibration error of the stated probability of spoof p, of scores that are declared to be "
        "probabilities or log-likelihood ratios.",
        parameters=parameters_of(bins=10.0),
        takes=("scores_are",),
    ),
    _cost(
        ScoreCostKind,
        "cllr",
        "mean over both classes of log2(1 + 1/LR) and log2(1 + LR), halved",
        "costs:cllr",
        "The log-likelihood-ratio cost in bits, for scores that are declared to be log-likelihood ratios or "
        "probabilities.",
        AGNITIO,
        takes=("scores_are",),
        costs_by="costs:stated_costs",
    ),
    _cost(
        CurveKind,
        "calibration-loss",
        "Cllr - minCllr",
        "costs:calibration_loss",
        "What the best monotone calibration would take off the Cllr, in bits; 0 for calibrated scores.",
        AGNITIO,
        takes=("scores_are",),
    ),
)


def kinds_of(basis: str) -> Mapping[str, Kind]:
    """The kinds of measures that a basis has, by name."""
    return EVENT_KINDS if basis == EVENT else KINDS


def all_kinds() -> tuple[Kind, ...]:
    """Every kind of measure."""
    return (*KINDS.values(), *EVENT_KINDS.values())

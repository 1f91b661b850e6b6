"""The catalogue of measures: one entry per kind, with its formula, its function, its direction and its reference.

Help, ``explain``, ``docs/measures.md``, completion and evaluation read these entries and nothing else. A measure is
spelled ``<basis>-<name>`` (:mod:`spoofspan.measures.measure`): the basis is ``range`` (durations), ``point`` (``@`` a
resolution), ``utterance`` or ``event`` (spoofed ranges against proposed ranges; ``docs/measures.md`` defines them).

Formulas at a threshold are written in amounts of the basis, seen from the positive class: spoof, or bona fide where the
name ends in ``-bonafide``. TP, FP, FN and TN are as in any confusion matrix; P is all that is positive, N all that is
negative, both with what is unanswered (``uncovered="unanswered"``); FPR = FP / N and FNR = FN / P.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from spoofspan.measures.kind import (
    BASES,
    EVENT,
    SYMBOLS,
    BestKind,
    BoundaryEerKind,
    BoundaryRatioKind,
    CurveKind,
    Direction,
    EerKind,
    EventKind,
    Kind,
    Needs,
    PairKind,
    Parameters,
    RatioKind,
    Scale,
    ScoreCostKind,
    StatedKind,
    TandemEerKind,
    TrialCostKind,
    TrialEerKind,
    by_name,
    parameters_of,
)

AVDEEPFAKE1M = "Z. Cai et al.: AV-Deepfake1M, 2024 (arXiv:2311.15308)"
ACTIVITYNET = "F. Caba Heilbron et al.: ActivityNet, CVPR 2015; as in UMMAFormer, 2023"
HAD = "J. Yi et al.: Half-Truth: A Partially Fake Audio Detection Dataset, 2021"
MESAROS = "A. Mesaros, T. Heittola, T. Virtanen: Metrics for Polyphonic Sound Event Detection, Applied Sciences 6, 2016"
BILEN = "C. Bilen et al.: A Framework for the Robust Evaluation of Sound Event Detection, ICASSP 2020"
ADD2023 = "J. Yi et al.: ADD 2023: the Second Audio Deepfake Detection Challenge, 2023 (arXiv:2305.13774)"


def _event(name: str, formula: str, function: str, about: str, reference: str = "", **more: Any) -> Kind:
    computed_by = f"events.{function}" if ":" in function else f"events.event_scores:{function}"
    if name.endswith("error-rate"):  # false alarms add to it without a bound
        return EventKind(name, "lower", formula, computed_by, about, reference, scale="log", **more)
    return EventKind(name, "higher", formula, computed_by, about, reference, **more)


def _ranked(name: str, formula: str, about: str, reference: str = "", **parameters: float) -> Kind:
    """AP and AR, and their published variants."""
    first, _, variant = name.partition("-")
    function = {"ap": "average_precision", "ar": "average_recall"}[first]
    more = {"ranked": True, "parameters": parameters_of(**parameters), "variant": variant or "spoofspan"}
    if first == "ap":
        more["ranges"] = ("iou",)
    return _event(name, formula, function, about, reference, **more)


def _three(name: str, matched: str, function: str, about: str, reference: str = "", **parameters: float) -> list[Kind]:
    """Precision, recall and F1 of something that is counted."""
    formulas = {
        "precision": f"{matched} / predicted",
        "recall": f"{matched} / expected",
        "f1": f"2 {matched} / (predicted + expected)",
    }
    given = parameters_of(**parameters)
    return [
        _event(name + one, text, function, about, reference, parameters=given, **(more if name == "" else {}))
        for (one, text), more in zip(formulas.items(), ({}, {"by_event": True}, {"averaged": True}), strict=True)
    ]


def _found(name: str, function: str, about: str, reference: str, **parameters: float) -> list[Kind]:
    """Precision, recall, F1 and error rate of found events, and the best F1 of all thresholds."""
    formulas = {
        "precision": "found / (found + false)",
        "recall": "found / expected",
        "f1": "2 found / (found + false + expected)",
        "best-f1": "max over thresholds of 2 found / (found + false + expected)",
        "error-rate": "(false + expected - found) / expected",
    }
    given, function = parameters_of(**parameters), f"found_events:{function}"
    best = {"all_thresholds": True, "ranked": True, "optimistic": True}
    return [
        _event(name + one, text, function, about, reference, parameters=given, **(best if one == "best-f1" else {}))
        for one, text in formulas.items()
    ]


def _boundary_errors(edge: str, time: str) -> list[Kind]:
    """The error where matched ranges begin, end, or at both edges: mean and median, and with its sign."""
    error = f"{time} of the proposal - {time} of the event"
    about = f"How far from the {time}s of events matched proposals have theirs, in seconds; matched as in f1."
    entries: list[tuple[str, Direction, str, str, Scale]] = [
        ("error", "lower", f"mean of |{error}|", "mean_error", "log"),
        ("median-error", "lower", f"median of |{error}|", "median_error", "log"),
        ("bias", "nearer 0", f"mean of ({error})", "bias", "raw"),
    ]
    return [
        EventKind(
            f"{edge}-{name}",
            direction,
            formula,
            f"events.boundary_errors:{function}",
            about if direction == "lower" else f"{about} Negative is too early.",
            percent=False,
            scale=scale,
            parameters=parameters_of(iou=0.5),
            by_event=True,
        )
        for name, direction, formula, function, scale in entries
        if (edge, name) != ("boundary", "bias")
    ]


_COLLARS = (
    "An event is found by a range that begins within onset (seconds) of it and ends within offset, or within the share "
    "rate of its length if that is more; one-to-one, as many as possible."
)
_INTERSECTIONS = (
    "A range is false unless the share dtc of it is spoofed; an event is found if the other ranges cover the share gtc "
    "of it."
)
_BOUNDARIES = "Boundaries: edges of spoof inside of utterances, one-to-one within the tolerance (seconds)."
_HAD = "Our reading, of time: no text with the published definition was at hand."

EVENT_KINDS: Mapping[str, Kind] = by_name(
    _ranked(
        "ap",
        "sum over falling confidences of (recall step) * (best precision from there on), at IoU >= iou",
        "Average precision: each proposal, from the most confident on, takes the free event of largest IoU. Of several "
        "thresholds, iou=0.5:0.05:0.95, it is the mean.",
        iou=0.5,
    ),
    _ranked(
        "ap-avdeepfake1m",
        "as ap, but IoU > iou, events take the first free proposal in file order, the first recall step is lost",
        "AP by the rules of AV-Deepfake1M, LAV-DF and CFPRF, events as listed.",
        AVDEEPFAKE1M,
        iou=0.5,
    ),
    _ranked(
        "ap-activitynet",
        "as ap, but equal confidences are steps of their own, the last row first",
        "AP by the rules of ActivityNet, events as listed.",
        ACTIVITYNET,
        iou=0.5,
    ),
    _ranked(
        "ar",
        "mean over IoU 0.5, 0.55, ..., 0.95 of the recall of the n most confident proposals of each file",
        "Average recall, by the matching of ap.",
        n=20,
    ),
    _ranked(
        "ar-avdeepfake1m",
        "mean over IoU 0.5, 0.55, ..., 0.95 of the recall of the first n proposals in file order, IoU > threshold",
        "AR by the rules of AV-Deepfake1M, LAV-DF and CFPRF: one proposal may recall several events.",
        AVDEEPFAKE1M,
        n=20,
    ),
    _ranked(
        "ar-activitynet",
        "mean over IoU 0.5, 0.55, ..., 0.95 of the recall of the n x (events of the file) most confident proposals",
        "AR by the rules of ActivityNet (Recall@nx): one proposal may recall several events.",
        ACTIVITYNET,
        n=1,
    ),
    _event(
        "avdeepfake1m",
        "(mean of ap-avdeepfake1m at iou 0.5, 0.75, 0.9, 0.95 + mean of ar-avdeepfake1m at n 50, 30, 20, 10, 5) / 2",
        "avdeepfake1m",
        "The score of the AV-Deepfake1M challenge, temporal localization.",
        AVDEEPFAKE1M,
        ranked=True,
        variant="avdeepfake1m",
    ),
    *_three("", "matched ranges", "segments", "Segments: ranges matched as in ap, all proposals kept.", iou=0.5),
    *_found("collar-", "collars", _COLLARS, MESAROS, onset=0.2, offset=0.2, rate=0.2),
    *_found("intersection-", "intersections", _INTERSECTIONS, BILEN, dtc=0.5, gtc=0.5),
    _event(
        "psds",
        "mean over x from 0 to max_efpr of the highest recall with at most x false ranges in an hour",
        "found_events:psds",
        f"The polyphonic sound detection score of one class. {_INTERSECTIONS}",
        BILEN,
        all_thresholds=True,
        ranked=True,
        parameters=parameters_of(dtc=0.7, gtc=0.7, max_efpr=100.0),
    ),
    *_three("boundary-", "matched boundaries", "boundaries", _BOUNDARIES, tolerance=0.04),
    *_boundary_errors("onset", "start"),
    *_boundary_errors("offset", "end"),
    *_boundary_errors("boundary", "edge"),
    _event(
        "mean-iou",
        "mean of IoU(proposal, event)",
        "boundary_errors:mean_iou",
        "The IoU of the proposal and the event of each matched pair; matched as in f1, all proposals kept.",
        parameters=parameters_of(iou=0.5),
        by_event=True,
    ),
    *_three("had-", "spoofed and predicted time", "had_ranges", _HAD, HAD),
    *(
        _event(
            f"three-class-{name}",
            formula,
            "three_classes:three_classes",
            "Of utterances: bona fide, partially spoofed, or fully spoofed (at least the share full of the duration); "
            "called by the time that proposals cover.",
            parameters=parameters_of(full=0.95),
        )
        for name, formula in (
            ("accuracy", "utterances called what they are / utterances"),
            ("f1", "mean over the three classes of 2 TP / (2 TP + FP + FN)"),
        )
    ),
    _event(
        "add2023",
        "0.3 (utterances called right / utterances) + 0.7 (F1 of spoofed time)",
        "add2023",
        "Reported definition: sentence accuracy (an utterance is called spoof if any of it is) and F1 of spoofed time; "
        "the challenge's own script was not at hand.",
        ADD2023,
        averaged=True,
    ),
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
RIJSBERGEN = "C. J. van Rijsbergen: Information Retrieval, 1979"
MCCLISH = "D. K. McClish: Analyzing a Portion of the ROC Curve, Medical Decision Making 9, 1989"
PSYND = "B. Zhang, T. Sim: Localizing Fake Segments in Speech, ICPR 2022"


def _ratio(name: str, direction: Direction, formula: str, needs: str, about: str, **more: Any) -> RatioKind:
    """A ratio of amounts at a threshold; it is computed by the function of its name in ``confusion``."""
    function, needed = f"confusion:{name.replace('-', '_')}", cast("Needs", tuple(needs.split()))
    return RatioKind(name, direction, formula, function, about, needs=needed, **more)


def _share(name: str, formula: str, needs: str, about: str, **more: Any) -> RatioKind:
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
    _share(
        "f-beta",
        "(1 + beta^2) TP / (TP + FP + beta^2 P)",
        "positives",
        "The weighted harmonic mean of precision and recall, in which recall counts beta times as much.",
        parameters=parameters_of(beta=2.0),
        reference=RIJSBERGEN,
    ),
    _ratio(
        "class-mean-f1",
        "higher",
        "TP / (TP + FP + P) + TN / (TN + FN + N)",
        _BOTH,
        "The mean of the F1 of spoof and the F1 of bona fide: the macro F1 of classification reports.",
    ),
    _share("iou", "TP / (FP + P)", "positives", "What is spoof and called so, of what is either (Jaccard)."),
    _ratio(
        "coverage",
        "higher",
        "(TP + FP + FN + TN) / (P + N)",
        "any",
        "How much a system decides that may abstain: what has a score, with --uncovered unanswered.",
    ),
    _ratio(
        "answered-accuracy",
        "higher",
        "(TP + TN) / (TP + FP + FN + TN)",
        "any answered",
        "How much is called what it is, of what has a score (--uncovered unanswered); the rest is 1 - coverage.",
    ),
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


def _of_boundaries(name: str) -> Kind:
    """A ratio of the boundary points of a track."""
    ratio = next(one for one in _RATIOS if one.name == name)
    about = f"The {name} of boundary points (--boundary-scores): here the positive class is boundaries, not spoof."
    return BoundaryRatioKind(
        f"boundary-{name}",
        ratio.direction,
        ratio.formula,
        ratio.computed_by,
        about,
        needs=ratio.needs,
        bases=("point",),
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
    *map(_of_boundaries, ("precision", "recall", "f1", "accuracy")),
    *_RATIOS,
    PairKind(
        "auc",
        "higher",
        "integral of 1 - FNR over FPR",
        "ranking:auc",
        "The chance that a spoofed instant has a more spoof-like score than a bona fide one; ties count half.",
    ),
    CurveKind(
        "partial-auc",
        "higher",
        "(1 + (A - m^2 / 2) / (m - m^2 / 2)) / 2, of the integral A of 1 - FNR over FPR from 0 to m = max_fpr",
        "ranking:partial_auc",
        "The AUC where FPR is at most max_fpr, as standardised by McClish and scikit-learn: 1 if all is in order, "
        "1/2 by chance. Between two operating points the curve is a straight line.",
        MCCLISH,
        takes=("positive",),
        positive=True,
        parameters=parameters_of(max_fpr=0.1),
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
        optimistic=True,
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
        scale="positive",
        optimistic=True,
    ),
)


def all_kinds() -> tuple[Kind, ...]:
    """Every kind of measure."""
    return (*KINDS.values(), *EVENT_KINDS.values())

"""What can be measured: every kind of measure with its formula, direction, parameters and reference.

A measure is spelled ``<basis>-<name>``: the basis is ``range`` (durations), ``point`` (``@`` a resolution),
``utterance`` or ``event`` (whose kinds are in
:mod:`spoofspan.measures.catalogue`). For what has a positive class that is
spoof; ``-bonafide`` at the end of the name makes it bona fide.

What can be measured of events: spoofed ranges against the ranges that a system proposes (basis ``event``).

``docs/events.md`` has the definitions in full. Parameters are part of the name: ``event-ap@iou=0.5``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

BASES = ("range", "point", "utterance")
PAPER = (
    "L. Zhang, X. Wang, E. Cooper, N. Evans, J. Yamagishi: Range-Based Equal Error Rate for Spoof Localization, 2023"
)
AGNITIO = "N. Brummer, E. de Villiers: The BOSARIS Toolkit, 2011 (arXiv:1304.2865)"

DCF = {"p_spoof": 0.05, "cost_miss": 1.0, "cost_false_alarm": 10.0}
TDCF = {"form": 2021.0, "p_spoof": 0.05, "p_nontarget": 0.0095, "cost_miss": 1.0}
TDCF |= {"cost_false_alarm": 10.0, "cost_false_alarm_spoof": 10.0}

Group = Literal["eer", "threshold", "ranking", "cost", "event"]


@dataclass(frozen=True)
class Kind:
    """One kind of measure."""

    name: str
    group: Group
    direction: Literal["lower", "higher"]  # is better
    formula: str
    about: str
    reference: str = ""
    percent: bool = True  # a share, shown in per cent
    positive: bool = False  # has a positive class, which may be bona fide
    needs_asv: bool = False  # needs the scores of a speaker verification system
    declared: bool = False  # needs to know what the scores are: log-likelihood ratios or probabilities
    ranked: bool = False  # needs confidences, which hard decisions have not
    averaged: bool = False  # has a mean over utterances of its own (-macro)
    parameters: Mapping[str, float] = field(default_factory=dict)  # with what they are if nothing is said
    bases: tuple[str, ...] = BASES


def _share(name: str, direction: Literal["lower", "higher"], formula: str, about: str, positive: bool = True) -> Kind:
    return Kind(name, "threshold", direction, formula, about, positive=positive)


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "eer",
            "eer",
            "lower",
            "(FPR + FNR) / 2 at the threshold of least |FPR - FNR|",
            "The equal error rate, under an EER rule.",
            PAPER,
        ),
        _share("precision", "higher", "TP / (TP + FP)", "How much of what is called spoof is spoof."),
        _share("recall", "higher", "TP / (TP + FN)", "How much of the spoof is called spoof."),
        _share("f1", "higher", "2 TP / (2 TP + FP + FN)", "The harmonic mean of precision and recall."),
        _share("iou", "higher", "TP / (TP + FP + FN)", "What is spoof and called so, of what is either (Jaccard)."),
        _share("accuracy", "higher", "(TP + TN) / (TP + FP + FN + TN)", "How much is called what it is.", False),
        _share("fpr", "lower", "FP / (FP + TN)", "How much of the bona fide is called spoof.", False),
        _share("fnr", "lower", "FN / (FN + TP)", "How much of the spoof is called bona fide.", False),
        _share("hter", "lower", "(FPR + FNR) / 2", "Half the total error rate.", False),
        Kind(
            "false-alarms-per-hour",
            "threshold",
            "lower",
            "seconds of FP / hours of bona fide time",
            "Seconds of false alarm in an hour of bona fide speech.",
            percent=False,
            bases=("range",),
        ),
        Kind(
            "auc",
            "ranking",
            "higher",
            "integral of 1 - FNR over FPR",
            "The chance that a spoofed instant has a more spoof-like score than a bona fide one; ties count half.",
        ),
        Kind(
            "average-precision",
            "ranking",
            "higher",
            "sum over thresholds of (recall step) * precision",
            "The area under the precision-recall curve, as steps; equal scores are one step.",
            positive=True,
        ),
        Kind(
            "best-f1",
            "ranking",
            "higher",
            "max over thresholds of F1",
            "F1 at the threshold that is best for it: an optimistic number.",
            positive=True,
        ),
        Kind(
            "min-dcf",
            "cost",
            "lower",
            "min over thresholds of (cost_miss (1 - p_spoof) FPR + cost_false_alarm p_spoof FNR) / best trivial cost",
            "The normalised detection cost at the best threshold. As in ASVspoof the target is bona fide: a miss is "
            "bona fide speech called spoof (our FPR), a false alarm is spoof accepted (our FNR).",
            "ASVspoof 5 evaluation plan, 2024; " + AGNITIO,
            percent=False,
            parameters=DCF,
        ),
        Kind(
            "min-tdcf",
            "cost",
            "lower",
            "min over thresholds of (C0 + C1 FPR + C2 FNR) / (C0 + min(C1, C2)); form=2019: without C0",
            "The tandem detection cost of a countermeasure in front of a speaker verification system, whose errors "
            "make the constants (--asv-scores); docs/costs.md has them. As in ASVspoof the target is bona fide: a miss "
            "of the countermeasure is our false positive.",
            "T. Kinnunen et al.: Tandem Assessment of Spoofing Countermeasures and Automatic Speaker Verification: "
            "Fundamentals, IEEE/ACM TASLP 28, 2020; ASVspoof 2019 and 2021 evaluation plans",
            percent=False,
            needs_asv=True,
            parameters=TDCF,
            bases=("utterance",),
        ),
        Kind(
            "min-cllr",
            "cost",
            "lower",
            "Cllr after the best monotone calibration (pool adjacent violators)",
            "The log-likelihood-ratio cost that ranking alone accounts for, in bits.",
            AGNITIO,
            percent=False,
        ),
        Kind(
            "act-dcf",
            "cost",
            "lower",
            "the detection cost at the threshold that the priors and costs imply, normalised as min-dcf",
            "What decisions cost that take the scores at their word. For scores that are declared to be log-likelihood "
            "ratios or probabilities.",
            "ASVspoof 5 evaluation plan, 2024; " + AGNITIO,
            percent=False,
            declared=True,
            parameters=DCF,
        ),
        Kind(
            "cllr",
            "cost",
            "lower",
            "mean over both classes of log2(1 + 1/LR) and log2(1 + LR), halved",
            "The log-likelihood-ratio cost in bits, for scores that are declared to be log-likelihood ratios or "
            "probabilities.",
            AGNITIO,
            percent=False,
            declared=True,
        ),
    )
}


BASIS = "event"
# What is measured of proposals if nothing is asked for.
USUAL = ("event-ap@iou=0.5", "event-ap@iou=0.75", "event-ap@iou=0.95", "event-ar@n=20")
# Names that are published without a basis.
ALIASES = {"add2023": "event-add2023", "add2023-macro": "event-add2023-macro"}

AVDEEPFAKE1M = "Z. Cai et al.: AV-Deepfake1M, 2024 (arXiv:2311.15308)"
ACTIVITYNET = "F. Caba Heilbron et al.: ActivityNet, CVPR 2015; as in UMMAFormer, 2023"
HAD = "J. Yi et al.: Half-Truth: A Partially Fake Audio Detection Dataset, 2021"
ADD2023 = "J. Yi et al.: ADD 2023: the Second Audio Deepfake Detection Challenge, 2023 (arXiv:2305.13774)"

_READING = "Our reading, of time: no text with the published definition was at hand."
_AP = "sum over falling confidences of (recall step) * (best precision from there on), at IoU >= iou"
_AR = "mean over IoU 0.5, 0.55, ..., 0.95 of the recall of the n most confident proposals of each file"
_REPORTED = (
    "Reported definition: sentence accuracy (an utterance is called spoof if any of it is) and F1 of spoofed time; the "
    "challenge's own script was not at hand."
)


def _kind(
    name: str,
    formula: str,
    about: str,
    reference: str = "",
    *,
    parameters: Mapping[str, float] | None = None,
    ranked: bool = False,
    averaged: bool = False,
) -> Kind:
    return Kind(
        name,
        "event",
        "higher",
        formula,
        about,
        reference,
        ranked=ranked,
        averaged=averaged,
        parameters=parameters or {},
        bases=(BASIS,),
    )


def _three(
    name: str, what: str, about: str, reference: str = "", parameters: Mapping[str, float] | None = None
) -> tuple[Kind, ...]:
    """Precision, recall and F1 of something that is counted."""
    formulas = {
        "precision": f"{what} / predicted",
        "recall": f"{what} / expected",
        "f1": f"2 {what} / (predicted + expected)",
    }
    return tuple(
        _kind(f"{name}{one}", formula, about, reference, parameters=parameters) for one, formula in formulas.items()
    )


EVENT_KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        _kind(
            "ap",
            _AP,
            "Average precision: each proposal, from the most confident on, takes the free event of largest IoU.",
            ranked=True,
            parameters={"iou": 0.5},
        ),
        _kind(
            "ap-avdeepfake1m",
            "as ap, but IoU > iou, events take the first free proposal in file order, the first recall step is lost",
            "AP by the rules of AV-Deepfake1M, LAV-DF and CFPRF, events as listed.",
            AVDEEPFAKE1M,
            ranked=True,
            parameters={"iou": 0.5},
        ),
        _kind(
            "ap-activitynet",
            "as ap, but equal confidences are steps of their own, the last row first",
            "AP by the rules of ActivityNet, events as listed.",
            ACTIVITYNET,
            ranked=True,
            parameters={"iou": 0.5},
        ),
        _kind("ar", _AR, "Average recall, by the matching of ap.", ranked=True, parameters={"n": 20}),
        _kind(
            "ar-avdeepfake1m",
            "mean over IoU 0.5, 0.55, ..., 0.95 of the recall of the first n proposals in file order, IoU > threshold",
            "AR by the rules of AV-Deepfake1M, LAV-DF and CFPRF: one proposal may recall several events.",
            AVDEEPFAKE1M,
            ranked=True,
            parameters={"n": 20},
        ),
        _kind(
            "ar-activitynet",
            "mean over IoU 0.5, 0.55, ..., 0.95 of the recall of the n x (events of the file) most confident proposals",
            "AR by the rules of ActivityNet (Recall@nx): one proposal may recall several events.",
            ACTIVITYNET,
            ranked=True,
            parameters={"n": 1},
        ),
        _kind(
            "avdeepfake1m",
            "(mean of ap-avdeepfake1m at iou 0.5, 0.75, 0.9, 0.95 + mean of ar-avdeepfake1m at n 50, 30, 20, 10, 5)"
            " / 2",
            "The score of the AV-Deepfake1M challenge, temporal localization.",
            AVDEEPFAKE1M,
            ranked=True,
        ),
        *_three(
            "", "matched ranges", "Segments: ranges matched as in ap, all proposals kept.", parameters={"iou": 0.5}
        ),
        *_three(
            "boundary-",
            "matched boundaries",
            "Boundaries: edges of spoof inside of utterances, one-to-one within the tolerance (seconds).",
            parameters={"tolerance": 0.04},
        ),
        *_three("had-", "spoofed and predicted time", _READING, HAD),
        _kind(
            "add2023",
            "0.3 (utterances called right / utterances) + 0.7 (F1 of spoofed time)",
            _REPORTED,
            ADD2023,
            averaged=True,
        ),
    )
}


def kinds_of(basis: str) -> Mapping[str, Kind]:
    """The kinds of measures that a basis has, by name."""
    return EVENT_KINDS if basis == BASIS else KINDS


def all_kinds() -> tuple[Kind, ...]:
    """Every kind of measure."""
    return (*KINDS.values(), *EVENT_KINDS.values())

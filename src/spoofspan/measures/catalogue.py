"""What can be measured: every kind of measure with its formula, direction, parameters and reference.

A measure is spelled ``<basis>-<name>``: the basis is ``range`` (durations), ``point`` (``@`` a resolution),
``utterance`` or ``event`` (whose kinds are in
:mod:`spoofspan.measures.event_kinds`). For what has a positive class that is
spoof; ``-bonafide`` at the end of the name makes it bona fide.
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

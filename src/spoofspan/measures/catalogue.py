"""The catalogue of measures: one entry per kind, with its formula, its function, its direction and its reference.

Help, ``explain``, ``docs/measures.md``, completion and evaluation read these entries and nothing else. A measure is
spelled ``<basis>-<name>`` (:mod:`spoofspan.measures.measure`): the basis is ``range`` (durations), ``point`` (``@`` a
resolution), ``utterance`` or ``event`` (spoofed ranges against proposed ranges; ``docs/events.md`` defines them).

Formulas at a threshold are written in amounts of the basis, seen from the positive class: spoof, or bona fide where the
name ends in ``-bonafide``. TP, FP, FN and TN are as in any confusion matrix; P is all that is positive, N all that is
negative, both with what is unanswered (``uncovered="unanswered"``); FPR = FP / N and FNR = FN / P.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, cast

if TYPE_CHECKING:
    from spoofspan.measures.events.average_precision import Variant

BASES = ("range", "point", "utterance")
EVENT = "event"
# What is measured of proposals if nothing is asked for.
USUAL_OF_EVENTS = ("event-ap@iou=0.5", "event-ap@iou=0.75", "event-ap@iou=0.95", "event-ar@n=20")
# Names that are published without a basis.
ALIASES = {"add2023": "event-add2023", "add2023-macro": "event-add2023-macro"}
# What the symbols of formulas at a threshold mean.
SYMBOLS = (
    "TP, FP, FN, TN: the confusion matrix. P, N: all that is positive, negative, unanswered included. FPR = FP / N, "
    "FNR = FN / P."
)

PAPER = (
    "L. Zhang, X. Wang, E. Cooper, N. Evans, J. Yamagishi: Range-Based Equal Error Rate for Spoof Localization, 2023"
)
AGNITIO = "N. Brummer, E. de Villiers: The BOSARIS Toolkit, 2011 (arXiv:1304.2865)"
ASVSPOOF5 = "ASVspoof 5 evaluation plan, 2024; " + AGNITIO
TANDEM = (
    "T. Kinnunen et al.: Tandem Assessment of Spoofing Countermeasures and Automatic Speaker Verification: "
    "Fundamentals, IEEE/ACM TASLP 28, 2020; ASVspoof 2019 and 2021 evaluation plans"
)
AVDEEPFAKE1M = "Z. Cai et al.: AV-Deepfake1M, 2024 (arXiv:2311.15308)"
ACTIVITYNET = "F. Caba Heilbron et al.: ActivityNet, CVPR 2015; as in UMMAFormer, 2023"
HAD = "J. Yi et al.: Half-Truth: A Partially Fake Audio Detection Dataset, 2021"
ADD2023 = "J. Yi et al.: ADD 2023: the Second Audio Deepfake Detection Challenge, 2023 (arXiv:2305.13774)"

Group = Literal["eer", "threshold", "ranking", "cost", "event"]
Direction = Literal["lower", "higher"]
# An amount that must not be 0: of the positive class, of the negative class, called positive, or any at all.
Needs = tuple[Literal["positives", "negatives", "called", "any"], ...]
Parameters = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Kind:
    """One kind of measure."""

    name: str
    group: Group
    direction: Direction  # is better
    formula: str
    computed_by: str  # "module:function" in spoofspan.measures
    about: str
    reference: str = ""
    percent: bool = True  # a share, shown in per cent
    positive: bool = False  # has a positive class, which may be bona fide
    needs: Needs = ()  # at a threshold: without these it has no value
    needs_asv: bool = False  # needs the scores of a speaker verification system
    declared: bool = False  # needs to know what the scores are: log-likelihood ratios or probabilities
    ranked: bool = False  # needs confidences, which hard decisions have not
    averaged: bool = False  # has a mean over utterances of its own (-macro)
    parameters: Parameters = ()  # with their defaults
    bases: tuple[str, ...] = BASES
    variant: Variant = "spoofspan"  # whose rules of matching it follows, of events

    @cached_property
    def function(self) -> Callable[..., Any]:
        """What computes it, imported when it is first asked for.

        What it takes depends on the group: a mass and an EER rule (eer); a confusion matrix, of which it returns the
        two terms of its ratio (threshold); a curve and the measure's parameters (ranking, cost); a measure, an
        :class:`~spoofspan.measures.events.event_scores.EventCorpus` and the measure's parameters (event).
        """
        module, _, name = self.computed_by.partition(":")
        function: Callable[..., Any] = getattr(import_module(f"spoofspan.measures.{module}"), name)
        return function


def _parameters(**parameters: float) -> Parameters:
    return tuple(parameters.items())


def _ratio(name: str, direction: Direction, formula: str, needs: str, about: str, **more: Any) -> Kind:
    """A ratio of amounts at a threshold; it is computed by the function of its name in ``confusion``."""
    function, needed = f"confusion:{name.replace('-', '_')}", cast("Needs", tuple(needs.split()))
    return Kind(name, "threshold", direction, formula, function, about, needs=needed, **more)


def _share(name: str, formula: str, needs: str, about: str) -> Kind:
    """A ratio that is high for a good system and depends on which class is positive."""
    return _ratio(name, "higher", formula, needs, about, positive=True)


def _ranking(name: str, formula: str, about: str, **more: Any) -> Kind:
    return Kind(name, "ranking", "higher", formula, f"ranking:{name.replace('-', '_')}", about, **more)


def _cost(name: str, formula: str, computed_by: str, about: str, reference: str, **more: Any) -> Kind:
    return Kind(name, "cost", "lower", formula, computed_by, about, reference, percent=False, **more)


def _event(name: str, formula: str, function: str, about: str, reference: str = "", **more: Any) -> Kind:
    computed_by = f"events.event_scores:{function}"
    return Kind(name, "event", "higher", formula, computed_by, about, reference, bases=(EVENT,), **more)


def _ranked(name: str, formula: str, about: str, reference: str = "", **parameters: float) -> Kind:
    """AP and AR, and their published variants."""
    first, _, variant = name.partition("-")
    function = {"ap": "average_precision", "ar": "average_recall"}[first]
    more = {"ranked": True, "parameters": _parameters(**parameters), "variant": variant or "spoofspan"}
    return _event(name, formula, function, about, reference, **more)


def _three(name: str, matched: str, function: str, about: str, reference: str = "", **parameters: float) -> list[Kind]:
    """Precision, recall and F1 of something that is counted."""
    formulas = {
        "precision": f"{matched} / predicted",
        "recall": f"{matched} / expected",
        "f1": f"2 {matched} / (predicted + expected)",
    }
    given = _parameters(**parameters)
    return [_event(name + one, text, function, about, reference, parameters=given) for one, text in formulas.items()]


def _by_name(*kinds: Kind) -> Mapping[str, Kind]:
    return {kind.name: kind for kind in kinds}


_BOTH = "positives negatives"
# F1 and IoU need the positive class: otherwise, in a mean over utterances, an all-negative utterance would count as 0
# with the least error and be left out without any.
_RATIOS = (
    _share("precision", "TP / (TP + FP)", "called", "How much of what is called spoof is spoof."),
    _share("recall", "TP / P", "positives", "How much of the spoof is called spoof."),
    _share("f1", "2 TP / (TP + FP + P)", "positives", "The harmonic mean of precision and recall."),
    _share("iou", "TP / (FP + P)", "positives", "What is spoof and called so, of what is either (Jaccard)."),
    _ratio("accuracy", "higher", "(TP + TN) / (P + N)", "any", "How much is called what it is."),
    _ratio("balanced-accuracy", "higher", "(TP / P + TN / N) / 2", _BOTH, "How much of each class is called right."),
    _ratio("fpr", "lower", "FP / N", "negatives", "How much of the bona fide is called spoof."),
    _ratio("fnr", "lower", "FN / P", "positives", "How much of the spoof is called bona fide."),
    _ratio("hter", "lower", "(FPR + FNR) / 2", _BOTH, "Half the total error rate."),
    _ratio(
        "false-alarms-per-hour",
        "lower",
        "3600 FP / N",
        "negatives",
        "Seconds of false alarm in an hour of bona fide speech.",
        percent=False,
        bases=("range",),
    ),
)

DCF = _parameters(p_spoof=0.05, cost_miss=1.0, cost_false_alarm=10.0)
TDCF = _parameters(form=2021.0, p_spoof=0.05, p_nontarget=0.0095, cost_miss=1.0)
TDCF += _parameters(cost_false_alarm=10.0, cost_false_alarm_spoof=10.0)

KINDS: Mapping[str, Kind] = _by_name(
    Kind(
        "eer",
        "eer",
        "lower",
        "(FPR + FNR) / 2 at the threshold of least |FPR - FNR|",
        "eer:equal_error_rate",
        "The equal error rate, under an EER rule.",
        PAPER,
    ),
    *_RATIOS,
    _ranking(
        "auc",
        "integral of 1 - FNR over FPR",
        "The chance that a spoofed instant has a more spoof-like score than a bona fide one; ties count half.",
    ),
    _ranking(
        "average-precision",
        "sum over thresholds of (recall step) * precision",
        "The area under the precision-recall curve, as steps; equal scores are one step.",
        positive=True,
    ),
    _ranking(
        "best-f1",
        "max over thresholds of F1",
        "F1 at the threshold that is best for it: an optimistic number.",
        positive=True,
    ),
    _cost(
        "min-dcf",
        "min over thresholds of (cost_miss (1 - p_spoof) FPR + cost_false_alarm p_spoof FNR) / best trivial cost",
        "costs:min_dcf",
        "The normalised detection cost at the best threshold. As in ASVspoof the target is bona fide: a miss is "
        "bona fide speech called spoof (our FPR), a false alarm is spoof accepted (our FNR).",
        ASVSPOOF5,
        parameters=DCF,
    ),
    _cost(
        "min-tdcf",
        "min over thresholds of (C0 + C1 FPR + C2 FNR) / (C0 + min(C1, C2)); form=2019: without C0",
        "costs:min_tdcf_behind",
        "The tandem detection cost of a countermeasure in front of a speaker verification system, whose errors "
        "make the constants (--asv-scores); docs/costs.md has them. As in ASVspoof the target is bona fide: a miss "
        "of the countermeasure is our false positive.",
        TANDEM,
        needs_asv=True,
        parameters=TDCF,
        bases=("utterance",),
    ),
    _cost(
        "min-cllr",
        "Cllr after the best monotone calibration (pool adjacent violators)",
        "costs:min_cllr",
        "The log-likelihood-ratio cost that ranking alone accounts for, in bits.",
        AGNITIO,
    ),
    _cost(
        "act-dcf",
        "the detection cost at the threshold that the priors and costs imply, normalised as min-dcf",
        "costs:act_dcf",
        "What decisions cost that take the scores at their word. For scores that are declared to be log-likelihood "
        "ratios or probabilities.",
        ASVSPOOF5,
        declared=True,
        parameters=DCF,
    ),
    _cost(
        "cllr",
        "mean over both classes of log2(1 + 1/LR) and log2(1 + LR), halved",
        "costs:cllr",
        "The log-likelihood-ratio cost in bits, for scores that are declared to be log-likelihood ratios or "
        "probabilities.",
        AGNITIO,
        declared=True,
    ),
    _cost(
        "calibration-loss",
        "Cllr - minCllr",
        "costs:calibration_loss",
        "What the best monotone calibration would take off the Cllr, in bits; 0 for calibrated scores.",
        AGNITIO,
        declared=True,
    ),
)

_BOUNDARIES = "Boundaries: edges of spoof inside of utterances, one-to-one within the tolerance (seconds)."
_HAD = "Our reading, of time: no text with the published definition was at hand."

EVENT_KINDS: Mapping[str, Kind] = _by_name(
    _ranked(
        "ap",
        "sum over falling confidences of (recall step) * (best precision from there on), at IoU >= iou",
        "Average precision: each proposal, from the most confident on, takes the free event of largest IoU.",
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
    *_three("boundary-", "matched boundaries", "boundaries", _BOUNDARIES, tolerance=0.04),
    *_three("had-", "spoofed and predicted time", "had_ranges", _HAD, HAD),
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


def kinds_of(basis: str) -> Mapping[str, Kind]:
    """The kinds of measures that a basis has, by name."""
    return EVENT_KINDS if basis == EVENT else KINDS


def all_kinds() -> tuple[Kind, ...]:
    """Every kind of measure."""
    return (*KINDS.values(), *EVENT_KINDS.values())

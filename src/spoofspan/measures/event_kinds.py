"""What can be measured of events: spoofed ranges against the ranges that a system proposes (basis ``event``).

``docs/events.md`` has the definitions in full. Parameters are part of the name: ``event-ap@iou=0.5``.
"""

from __future__ import annotations

from collections.abc import Mapping

from spoofspan.measures.catalogue import KINDS, Kind

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

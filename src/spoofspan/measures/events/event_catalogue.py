"""The catalogue of event measures: spoofed ranges of the references against proposed ranges (``docs/events.md``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spoofspan.measures.kind import EventKind, Kind, by_name, parameters_of

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
        _event(name + one, text, function, about, reference, parameters=given, averaged=(name, one) == ("", "f1"))
        for one, text in formulas.items()
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
    best = {"all_thresholds": True, "ranked": True}
    return [
        _event(name + one, text, function, about, reference, parameters=given, **(best if one == "best-f1" else {}))
        for one, text in formulas.items()
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

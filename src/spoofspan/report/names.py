"""Measures as people say them: "Range EER" for ``range-eer``, "Point EER, 20 ms" for ``point-eer@20ms``."""

from __future__ import annotations

from spoofspan.base.errors import UsageError
from spoofspan.measures.measure import Measure

_ACRONYMS = "ap ar auc dcf der ece eer f1 fnr fpr had hter psds sasv spf sv"
_WORDS = {word: word.upper() for word in _ACRONYMS.split()} | {
    "avdeepfake1m": "AV-Deepfake1M score",
    "activitynet": "(ActivityNet)",
    "add2023": "ADD 2023 score",
    "cllr": "Cllr",
    "iou": "IoU",
    "psynd": "(Psynd)",
    "tdcf": "t-DCF",
    "brier": "Brier score",
}
# names in which a hyphen belongs to the word
_WHOLE = {
    "t-eer": "t-EER",
    "a-dcf": "a-DCF",
    "f-beta": "F-beta",
    "class-mean-f1": "mean F1 of both classes",
    "partial-auc": "partial AUC",
    "mean-iou": "mean IoU",
    "three-class-accuracy": "three-class accuracy",
    "three-class-f1": "three-class F1",
    **{
        f"{edge}-{name}": f"{edge} {name.replace('-', ' ')} in s"
        for edge in ("onset", "offset", "boundary")
        for name in ("error", "median-error", "bias")
    },
    "ap-avdeepfake1m": "AP (AV-Deepfake1M)",
    "ar-avdeepfake1m": "AR (AV-Deepfake1M)",
}


def measure_name(spelling: str) -> str:
    """A measure as it is called in a heading; its spelling goes beside it, or into a tooltip.

    Parameters
    ----------
    spelling : str
        Of a measure, such as ``point-eer@20ms``; anything else is returned as it is.

    Returns
    -------
    str
        Its readable name; two measures never share one.

    Examples
    --------
    >>> measure_name("range-eer"), measure_name("point-eer@20ms"), measure_name("utterance-min-dcf")
    ('Range EER', 'Point EER, 20 ms', 'Utterance min DCF')
    >>> measure_name("range-fnr@fpr=0.01"), measure_name("range-f1-bonafide-macro"), measure_name("event-ap@iou=0.5")
    ('Range FNR at FPR 1 %', 'Range F1 of bona fide, mean over utterances', 'Event AP, IoU 0.5')

    """
    try:
        measure = Measure.parse(spelling)
    except UsageError:
        return spelling
    kind = measure.kind.name
    said = _WHOLE.get(kind) or " ".join(_WORDS.get(word, word) for word in kind.split("-"))
    name = f"{measure.basis.capitalize()} {said}"
    if measure.positive == "bonafide":
        name += " of bona fide"
    details = []
    if measure.resolution is not None:
        details.append(f"{1000 * measure.resolution:g} ms")
    if measure.given is not None:
        limit, bound = measure.given
        name += f" at {_WORDS.get(limit, limit)} {100 * float(bound):g} %"
    usual = dict(measure.kind.parameters)
    # the level of an event measure is part of what people call it; other parameters are named if they are unusual
    for parameter, value in measure.parameters:
        if parameter in ("iou", "n") or usual[parameter] != value:
            shown = f"{value:g}" if isinstance(value, float | int) else value
            details.append(f"{_WORDS.get(parameter, parameter.replace('_', ' '))} {shown}")
    if measure.macro:
        details.append("mean over utterances")
    return ", ".join([name, *details])

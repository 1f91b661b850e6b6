"""Heads and cells of tables: readable names of measures, intervals, differences, p-values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from spoofspan.base.errors import UsageError
from spoofspan.measures.measure import Measure, in_percent, number_text, short_measure
from spoofspan.report.table import MINUS, Shown

if TYPE_CHECKING:
    from spoofspan.uncertainty import Interval

# What stands where an interval or a p-value is refused.
NONE = "none"
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


def number_cell(measure: str, value: float, unit: str = "") -> Shown:
    """A value as it is read; CSV has all its digits, in the same unit."""
    return Shown(f"{number_text(measure, value)}{unit}", exact=all_digits(measure, value))


def all_digits(measure: str, value: float) -> str:
    """A value with all its digits, in per cent where the measure is read so."""
    return repr(float(100 * value if in_percent(measure) else value))


def amount_cell(value: float, digits: int = 2) -> Shown:
    """Seconds, or another amount; CSV has all digits."""
    return Shown(f"{value:.{digits}f}", exact=repr(float(value)))


def share_cell(value: float, digits: int = 2, unit: str = "") -> Shown:
    """A share in per cent; empty where there is none."""
    if value != value:
        return Shown("")
    return Shown(f"{100 * value:.{digits}f}{unit}", exact=repr(float(100 * value)))


def measure_cell(measure: str) -> Shown:
    """A measure in a row: its spelling, in a paper its name."""
    return Shown(measure, paper=measure_name(measure))


def four_digits(value: float) -> str:
    """A threshold as it is read: four digits that count, and a real minus sign.

    >>> four_digits(0.3872576951980591), four_digits(-12345.678), four_digits(float("inf"))
    ('0.3873', '\u22121.235e+04', '\u221e')
    """
    return f"{value:.4g}".replace("-", MINUS).replace("inf", "\u221e")


DECISION = Shown("decision", paper="spoof iff score")


def decision_cell(decision: str) -> Shown:
    """The inequality of a decision; a paper has four digits of its threshold."""
    rule, sign, threshold = decision.removeprefix("spoof iff score ").partition(" ")
    if not decision.startswith("spoof iff score ") or not sign:
        return Shown(decision)
    return Shown(decision, paper=f"{rule} {four_digits(float(threshold))}")


def interval_header(interval: Interval) -> tuple[str, ...]:
    """Two columns, so that both ends are numbers in a spreadsheet as well; two more for these attacks."""
    own = f"{100 * interval.level:g} % from", "to"
    return own if interval.these_attacks is None else (*own, "these attacks: from", "to")


def interval_cells(measure: str, interval: Interval | None, like: Interval | None = None) -> tuple[str, ...]:
    """Both ends, as the value of the measure is read; empty without an interval, as many as one of them has (like)."""
    if interval is None:
        return ("",) * (2 if like is None else len(interval_header(like)))
    ends: tuple[str, str] = (NONE, NONE)
    if not interval.refused:
        ends = number_cell(measure, interval.low), number_cell(measure, interval.high)
    if interval.these_attacks is not None:
        return *ends, *interval_cells(measure, interval.these_attacks)
    # within one attack: in the columns of these attacks
    return ends if like is None or like.these_attacks is None else ("", "", *ends)


def ranks_header(best: str, worst: str) -> tuple[str, str]:
    """Two columns of the ranks that a system may have; a paper has one."""
    return Shown(best, paper="ranks"), Shown(worst, paper="")


def ranks_cells(low: int, high: int) -> tuple[str, str]:
    """The best and the worst rank; a paper has both in one cell."""
    return Shown(str(low), paper=str(low) if low == high else f"{low}\u2013{high}"), str(high)


def heading(measure: str) -> str:
    """The head of a column of values."""
    unit = " %" if in_percent(measure) else ""
    return Shown(short_measure(measure) + unit, exact=measure + unit, paper=measure_name(measure) + unit)


def signed(measure: str, value: float) -> str:
    """A difference as it is read, with its sign."""
    text = number_text(measure, value)
    return Shown(text if text.startswith("-") else f"+{text}", exact=all_digits(measure, value))


def p_text(value: float) -> str:
    """A p-value as it is read."""
    if value != value:
        return NONE
    return Shown(f"{value:.4f}" if value >= 0.001 else f"{value:.2g}", exact=repr(float(value)))


def warnings_by_name(named: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Warnings of several groups, each once with the names of the groups.

    >>> warnings_by_name([("A01", ["few speakers"]), ("A02", ["few speakers", "no errors"])])
    ['warning: A01, A02: few speakers', 'warning: A02: no errors']
    """
    found: dict[str, list[str]] = {}
    for name, texts in named:
        for text in texts:
            found.setdefault(text, []).append(name)
    return warning_lines([f"{', '.join(dict.fromkeys(names))}: {text}" for text, names in found.items()])


def warning_lines(texts: Sequence[str]) -> list[str]:
    """Warnings, each once."""
    return [f"warning: {text}" for text in dict.fromkeys(texts)]

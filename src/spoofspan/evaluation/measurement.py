"""Measures and measurements: a measure is a name with one spelling, a measurement a value with all that belongs to it.

``range-eer``, ``point-eer@20ms``, ``range-f1``, ``range-fnr@fpr=0.01``, ``event-ap@iou=0.5`` are canonical spellings;
they are arguments, column titles and parts of signatures at once.
:mod:`spoofspan.measures.catalogue` lists what there is.

Measurements of events: a value with how its proposals came about, and its signature.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.base.times import milliseconds
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import SPOOF, References
from spoofspan.data.rules import Rules, Touched
from spoofspan.evaluation.signature import ContentHash, Signature
from spoofspan.measures.bisection import Bisection, BisectionStep
from spoofspan.measures.catalogue import ALIASES, BASIS, KINDS, Kind, all_kinds, kinds_of
from spoofspan.measures.operating_point import OperatingPoint

if TYPE_CHECKING:
    from spoofspan.uncertainty.intervals import Interval

EXAMPLES = (
    *(f"{basis}-{kind.name}" for kind in all_kinds() for basis in kind.bases if basis != "point"),
    *(f"point-{kind.name}@20ms" for kind in KINDS.values() if "point" in kind.bases),
)
_FAMILY = re.compile(
    r"(?P<basis>range|point|utterance|event)-(?P<name>[a-z0-9-]+?)(?P<positive>-bonafide)?(?P<macro>-macro)?"
)
_RESOLUTION = re.compile(r"(?P<number>[0-9.]+)(?P<unit>ms|s)")
# From this gap between FPR and FNR on, "equal" error rate is a bold name for their mean.
WIDE_GAP = 0.005


@dataclass(frozen=True)
class Measure:
    """What to measure.

    >>> Measure.parse("point-eer@20ms")
    Measure(family='point-eer', resolution=0.02)
    >>> str(Measure("point-eer", 0.64)), str(Measure("range-eer"))
    ('point-eer@640ms', 'range-eer')
    >>> str(Measure.parse("point-fnr@fpr=0.010@20ms"))
    'point-fnr@20ms@fpr=0.01'
    """

    family: str
    resolution: float | None = None  # seconds, of points
    given: tuple[str, str] | None = field(default=None, repr=False)  # a constraint: what, and its bound as text
    parameters: tuple[tuple[str, float], ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        parts = [self.family]
        if self.resolution is not None:
            parts.append(milliseconds(self.resolution))
        if self.given is not None:
            parts.append("=".join(self.given))
        if self.parameters:
            parts.append(",".join(f"{name}={_shortest(value)}" for name, value in self.parameters))
        return "@".join(parts)

    @property
    def basis(self) -> str:
        """What is counted: range (durations), point, utterance or event."""
        return self._matched()["basis"]

    @property
    def kind(self) -> Kind:
        """What is made of it."""
        return kinds_of(self.basis)[self._matched()["name"]]

    @property
    def eer(self) -> Measure:
        """The EER at whose threshold it is taken, if nothing else is said."""
        return Measure(f"{'range' if self.basis == BASIS else self.basis}-eer", self.resolution)

    @property
    def positive(self) -> Literal["spoof", "bonafide"]:
        """The positive class."""
        return "bonafide" if self._matched()["positive"] else "spoof"

    @property
    def macro(self) -> bool:
        """Whether it is the mean over utterances."""
        return self._matched()["macro"] is not None

    def _matched(self) -> re.Match[str]:
        match = _FAMILY.fullmatch(self.family)
        if match is None or match["name"] not in kinds_of(match["basis"]):
            raise UsageError(_no_measure(self.family))
        return match

    @classmethod
    def parse(cls, spelling: str | Measure) -> Measure:
        """Read a spelling, or say which one was meant."""
        if isinstance(spelling, Measure):
            return spelling
        family, *parts = str(spelling).strip().split("@")
        family = ALIASES.get(family, family)
        match = _FAMILY.fullmatch(family)
        kind = None if match is None else kinds_of(match["basis"]).get(match["name"])
        if match is None or kind is None or match["basis"] not in kind.bases:
            raise UsageError(_no_measure(str(spelling)))
        resolution: float | None = None
        given: tuple[str, str] | None = None
        parameters = dict(kind.parameters)
        for part in parts:
            if "=" not in part:
                resolution = _resolution(spelling, part)
            elif kind.group == "threshold" and "," not in part:
                given = _constraint(spelling, part)
            else:
                _set_parameters(spelling, part, parameters)
        if (match["basis"] == "point") != (resolution is not None):
            example = f"point-{kind.name if 'point' in kind.bases else 'eer'}@20ms"
            raise UsageError(f"no measure {spelling!r}: points have a resolution, and nothing else has: {example}")
        if match["positive"] and not kind.positive:
            raise UsageError(f"no measure {spelling!r}: {kind.name} has no positive class; leave -bonafide out")
        at_threshold = kind.group == "threshold" and match["basis"] == "range" and given is None
        if match["macro"] and not (at_threshold or kind.averaged):
            raise UsageError(
                f"no measure {spelling!r}: a mean over utterances is taken of range measures at a threshold: "
                "range-f1-macro"
            )
        return cls(family, resolution, given, tuple(parameters.items()))


def _shortest(value: float) -> str:
    """The shortest text of a number, so that two numbers never share one.

    >>> _shortest(10.0), _shortest(0.12345678)
    ('10', '0.12345678')
    """
    text = f"{value:g}"
    return text if float(text) == value else repr(value)


def _no_measure(spelling: str) -> str:
    close = difflib.get_close_matches(spelling, EXAMPLES, n=1, cutoff=0.5)
    meant = f"did you mean {close[0]!r}? " if close else ""
    some = "range-eer, point-eer@20ms, range-f1"
    return f"no measure {spelling!r}: {meant}({some}, ...: 'spoofspan explain measures' lists all)"


def _resolution(spelling: object, text: str) -> float:
    match = _RESOLUTION.fullmatch(text)
    try:
        number = Fraction(match["number"]) if match is not None else None
    except ValueError:
        number = None
    if match is None or number is None:
        raise UsageError(f"no measure {spelling!r}: {text!r} is no resolution; write @20ms")
    if not number:
        raise UsageError(f"no measure {spelling!r}: a resolution must be positive")
    return float(number / 1000 if match["unit"] == "ms" else number)


def _constraint(spelling: object, text: str) -> tuple[str, str]:
    name, _, bound = text.partition("=")
    known = [kind.name for kind in KINDS.values() if kind.group == "threshold"]
    if name not in known:
        raise UsageError(f"no measure {spelling!r}: {nearest_name(name, known)}")
    try:
        value = Decimal(bound)
    except InvalidOperation:
        value = Decimal(-1)
    if not 0 <= value < Decimal("inf"):
        raise UsageError(f"no measure {spelling!r}: {bound!r} is no bound; write {name}=0.01")
    return name, f"{value.normalize():f}"


def _set_parameters(spelling: object, text: str, parameters: dict[str, float]) -> None:
    for pair in text.split(","):
        name, _, number = pair.partition("=")
        if name not in parameters:
            valid = nearest_name(name, parameters) if parameters else "it has no parameters"
            raise UsageError(f"no measure {spelling!r}: no parameter {name!r}, {valid}")
        try:
            parameters[name] = float(number)
        except ValueError:
            raise UsageError(f"no measure {spelling!r}: {number!r} is no number") from None


def parse_measures(spellings: Sequence[str | Measure]) -> list[Measure]:
    """Read several spellings; all wrong ones are reported together."""
    measures, wrong = [], []
    for spelling in spellings:
        try:
            measures.append(Measure.parse(spelling))
        except UsageError as error:
            wrong.append(str(error))
    if wrong:
        raise UsageError("; ".join(wrong))
    return measures


def in_percent(measure: str) -> bool:
    """Whether a measure, by its spelling, is a share that is read in per cent."""
    name = _FAMILY.fullmatch(measure.partition("@")[0])
    kind = kinds_of(name["basis"]).get(name["name"]) if name is not None else None
    return kind is None or kind.percent


def number_text(measure: str, value: float) -> str:
    """A value as it is read, without a unit.

    >>> number_text("range-eer", 0.08552), number_text("range-min-dcf", 0.2104)
    ('8.55', '0.2104')
    """
    return f"{100 * value:.2f}" if in_percent(measure) else f"{value:.4f}"


@dataclass(frozen=True)
class Measurement:
    """A value with its threshold, its rates, what every rule touched, and its signature.

    ``threshold``, the rates and ``gap`` are those of the operating point nearest to FPR = FNR; ``value`` follows the
    EER rule. ``neighbours`` are the two operating points on both sides of the crossing.
    """

    measure: str
    value: float
    point: OperatingPoint
    neighbours: tuple[OperatingPoint | None, OperatingPoint | None]
    eer_rule: str
    convention: str
    rules: Rules
    touched: Mapping[str, Touched]
    utterances: int
    exact_value: Fraction | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    signer: Callable[[], Signature] | None = field(default=None, repr=False, compare=False)
    interval: Interval | None = field(default=None, compare=False, kw_only=True)

    @property
    def threshold(self) -> float:
        """The threshold, on the scale of the scores."""
        return self.point.threshold

    @property
    def has_threshold(self) -> bool:
        """Whether the value was taken at a threshold, and not over all of them."""
        return not math.isnan(self.point.threshold)

    @property
    def decision(self) -> str:
        """The inequality that belongs to the threshold."""
        return self.point.decision

    @property
    def false_positive_rate(self) -> float:
        """FPR at the threshold; NaN where there is none."""
        return self.point.false_positive_rate if self.has_threshold else math.nan

    @property
    def false_negative_rate(self) -> float:
        """FNR at the threshold; NaN where there is none."""
        return self.point.false_negative_rate if self.has_threshold else math.nan

    @property
    def exact_false_positive_rate(self) -> Fraction:
        """FPR at the threshold, as a fraction."""
        return self.point.exact_false_positive_rate

    @property
    def exact_false_negative_rate(self) -> Fraction:
        """FNR at the threshold, as a fraction."""
        return self.point.exact_false_negative_rate

    @property
    def gap(self) -> float:
        """|FPR - FNR| at the threshold; NaN where there is none."""
        return self.point.gap if self.has_threshold else math.nan

    @cached_property
    def signature(self) -> Signature:
        """The signature; hashes are computed when it is first asked for."""
        if self.signer is None:
            raise UsageError("this measurement was made without its inputs and has no signature")
        return self.signer()

    def __str__(self) -> str:
        rates = [f"{100 * rate:.2f} %" for rate in (self.false_positive_rate, self.false_negative_rate)]
        at = f"   (FPR {rates[0]}, FNR {rates[1]}, {self.decision})" if self.has_threshold else ""
        lines = [f"{self.measure} {self.value_text}{at}"]
        if self.interval is not None:
            lines.append(f"  {100 * self.interval.level:g} % interval {self.interval_text} ({self.interval.how})")
        lines += [f"  {text}" for text in (*self.touched_lines(), *self.notes)]
        lines += [f"  warning: {text}" for text in self.warnings]
        return "\n".join(lines)

    @property
    def value_text(self) -> str:
        """The value as it is read: shares in per cent, costs as they are."""
        return f"{number_text(self.measure, self.value)} %" if in_percent(self.measure) else f"{self.value:.4f}"

    @property
    def interval_text(self) -> str:
        """The interval as it is read, without a unit; nothing if there is none."""
        if self.interval is None:
            return ""
        return " to ".join(number_text(self.measure, end) for end in (self.interval.low, self.interval.high))

    def touched_lines(self) -> list[str]:
        """What the rules decided, a line each."""
        return [
            f"{entry.rule}={entry.value}: {entry.seconds:.3f} s in {entry.utterances} utterances"
            for entry in self.touched.values()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "measure": self.measure,
            "value": self.value,
            "threshold": self.threshold,
            "decision": self.decision,
            "false_positive_rate": self.false_positive_rate,
            "false_negative_rate": self.false_negative_rate,
            "gap": self.gap,
            "eer_rule": self.eer_rule,
            "convention": self.convention,
            "utterances": self.utterances,
            "bona_fide": self.point.bona_fide,
            "spoof": self.point.spoof,
            "unit": self.point.unit,
            "touched": {
                name: {"value": entry.value, "seconds": entry.seconds, "utterances": entry.utterances}
                for name, entry in self.touched.items()
            },
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "interval": None if self.interval is None else self.interval.to_dict(),
            "signature": self.signature.to_dict(),
        }


@dataclass(frozen=True)
class BisectionMeasurement(Measurement):
    """An estimate by the paper's Algorithm 1, with its trace."""

    bisection: Bisection = field(default=Bisection((), False, False), repr=False)

    @property
    def trace(self) -> tuple[BisectionStep, ...]:
        """Every threshold that was tried, with its quantile and rates."""
        return self.bisection.trace

    @property
    def reached(self) -> bool:
        """Whether |FPR - FNR| got below the precision asked for."""
        return self.bisection.reached

    @property
    def bracketed(self) -> bool:
        """Whether FPR - FNR changed its sign between the lowest and the highest score."""
        return self.bisection.bracketed


def flat_name(measure: str) -> str:
    """Spell a measure as a plain word, which every logger takes as the name of a number.

    >>> flat_name("point-eer@20ms"), flat_name("range-fnr@fpr=0.01")
    ('point_eer_20ms', 'range_fnr_fpr_0_01')
    """
    return re.sub(r"[^0-9A-Za-z]+", "_", measure).strip("_")


def warnings_for(value: float, point: OperatingPoint, eer_rule: str) -> tuple[str, ...]:
    """Reasons to look twice at an EER."""
    found = []
    if point.gap > WIDE_GAP and eer_rule not in ("interpolated", "convex-hull"):
        found.append(
            f"FPR and FNR differ by {100 * point.gap:.2f} points at the nearest threshold (few distinct scores?); "
            "report the gap, or use eer_rule='interpolated'"
        )
    if value > 0.5:
        found.append(
            f"an EER over 50 % ({100 * value:.2f} %) often means the wrong polarity; these scores were read with "
            f"higher={point.higher!r}, and nothing was flipped"
        )
    return tuple(found)


@dataclass(frozen=True)
class EventMeasurement(Measurement):
    """A value of events. ``threshold`` is where proposals were made of scores, NaN where they were given."""

    events: int = 0
    proposals: int = 0
    parts: Mapping[str, float] = field(default_factory=dict)  # what the value is made of

    @property
    def has_threshold(self) -> bool:
        """No: an event is found or not, there are no rates of time at a threshold."""
        return False

    @property
    def decision(self) -> str:
        """How the proposals came about."""
        return "proposals as given" if math.isnan(self.threshold) else super().decision

    def __str__(self) -> str:
        how = " as given" if math.isnan(self.threshold) else f": {self.decision}"
        first, *rest = super().__str__().splitlines()
        counts = f"{counted(self.events, 'event')}, {counted(self.proposals, 'proposal')}"
        return "\n".join([f"{first}   ({counts}{how})", *rest])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return super().to_dict() | {"events": self.events, "proposals": self.proposals, "parts": dict(self.parts)}


def counted(number: int, what: str) -> str:
    """Write a number of things.

    >>> counted(1, "event"), counted(2000, "event")
    ('1 event', '2,000 events')
    """
    return f"{number:,} {what}{'s' * (number != 1)}"


def listing_hash(references: References) -> str:
    """Hash the spoof ranges as they are listed: the published variants count touching ranges apart, in file order."""
    rows = np.flatnonzero(references.labels == SPOOF)
    hashed = ContentHash("listing 1")
    hashed.add_texts("ids", references.utterances)
    hashed.add("offsets", np.searchsorted(rows, references.offsets).astype("<i8"))
    hashed.add("starts", references.starts[rows].astype("<i8"))
    hashed.add("ends", references.ends[rows].astype("<i8"))
    return hashed.digest()


def proposals_hash(proposals: Proposals, *, as_listed: bool) -> str:
    """Hash what a system proposed; ``as_listed`` also in which order, for variants to which that matters."""
    hashed = ContentHash("proposals 1, as listed" if as_listed else "proposals 1")
    files = np.flatnonzero(np.diff(proposals.offsets))
    order = files.tolist() if as_listed else sorted(files.tolist(), key=proposals.utterances.__getitem__)
    hashed.add_texts("ids", (proposals.utterances[i] for i in order))
    hashed.add("counts", np.diff(proposals.offsets)[order].astype("<i8"))
    rank = np.full(len(proposals), -1)
    rank[order] = np.arange(len(order))
    of_row = np.repeat(rank, np.diff(proposals.offsets))
    keys = () if as_listed else (proposals.confidences, proposals.ends, proposals.starts)
    rows = np.lexsort((*keys, of_row))
    hashed.add("starts", proposals.starts[rows].astype("<i8"))
    hashed.add("ends", proposals.ends[rows].astype("<i8"))
    hashed.add("confidences", (proposals.confidences[rows] + 0.0).astype("<f8"))
    return hashed.digest()

"""Measures and measurements: a measure is a name with one spelling, a measurement a value with all that belongs to it.

``range-eer``, ``point-eer@20ms`` and ``utterance-eer`` are the canonical spellings; they are arguments, column titles
and parts of signatures at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

from spoofspan.bisection import Bisection, BisectionStep
from spoofspan.errors import UsageError, nearest_name
from spoofspan.operating_point import OperatingPoint
from spoofspan.rules import Rules, Touched
from spoofspan.signature import Signature

FAMILIES = ("range-eer", "point-eer", "utterance-eer")
EXAMPLES = ("range-eer", "point-eer@20ms", "utterance-eer")
_SPELLING = re.compile(r"(?P<family>[a-z-]+)(?:@(?P<resolution>[0-9.]+)(?P<unit>ms|s))?")
# From this gap between FPR and FNR on, "equal" error rate is a bold name for their mean.
WIDE_GAP = 0.005


@dataclass(frozen=True)
class Measure:
    """What to measure.

    >>> Measure.parse("point-eer@20ms")
    Measure(family='point-eer', resolution=0.02)
    >>> str(Measure("point-eer", 0.64)), str(Measure("range-eer"))
    ('point-eer@640ms', 'range-eer')
    """

    family: str
    resolution: float | None = None

    def __str__(self) -> str:
        if self.resolution is None:
            return self.family
        return f"{self.family}@{milliseconds(self.resolution)}"

    @classmethod
    def parse(cls, spelling: str | Measure) -> Measure:
        """Read a spelling, or say which one was meant."""
        if isinstance(spelling, Measure):
            return spelling
        match = _SPELLING.fullmatch(str(spelling).strip())
        if match is None or match["family"] not in FAMILIES:
            raise UsageError(f"no measure {spelling!r}: {nearest_name(str(spelling), EXAMPLES)}")
        family = match["family"]
        if (family == "point-eer") != (match["resolution"] is not None):
            raise UsageError(f"no measure {spelling!r}: only point-eer has a resolution: point-eer@20ms")
        if match["resolution"] is None:
            return cls(family)
        try:
            number = Fraction(match["resolution"])
        except ValueError:
            raise UsageError(f"no measure {spelling!r}: {match['resolution']!r} is no resolution") from None
        if not number:
            raise UsageError(f"no measure {spelling!r}: a resolution must be positive")
        return cls(family, float(number / 1000 if match["unit"] == "ms" else number))


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


def milliseconds(seconds: float) -> str:
    """Write a short time.

    >>> milliseconds(0.02), milliseconds(0.0125)
    ('20ms', '12.5ms')
    """
    # from the shortest decimal, so that two resolutions never share a spelling
    return f"{Decimal(repr(float(seconds))).scaleb(3).normalize():f}ms"


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

    @property
    def threshold(self) -> float:
        """The threshold, on the scale of the scores."""
        return self.point.threshold

    @property
    def decision(self) -> str:
        """The inequality that belongs to the threshold."""
        return self.point.decision

    @property
    def false_positive_rate(self) -> float:
        """FPR at the threshold."""
        return self.point.false_positive_rate

    @property
    def false_negative_rate(self) -> float:
        """FNR at the threshold."""
        return self.point.false_negative_rate

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
        """|FPR - FNR| at the threshold."""
        return self.point.gap

    @cached_property
    def signature(self) -> Signature:
        """The signature; hashes are computed when it is first asked for."""
        if self.signer is None:
            raise UsageError("this measurement was made without its inputs and has no signature")
        return self.signer()

    def __str__(self) -> str:
        lines = [
            f"{self.measure} {100 * self.value:.2f} %   "
            f"(FPR {100 * self.false_positive_rate:.2f} %, FNR {100 * self.false_negative_rate:.2f} %, {self.decision})"
        ]
        lines += [f"  {text}" for text in (*self.touched_lines(), *self.notes)]
        lines += [f"  warning: {text}" for text in self.warnings]
        return "\n".join(lines)

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
            "signature": {"comparable": self.signature.comparable, "input": self.signature.input},
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

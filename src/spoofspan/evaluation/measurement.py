"""Measurements: a value with its operating point, the amounts touched by rules, and its signature."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.base.plain_results import LikeFloat, NearAttributes
from spoofspan.data.rules import Rules, Touched
from spoofspan.evaluation.signature import Signature
from spoofspan.evaluation.signature_text import kind_of
from spoofspan.mass.score_runs import mirrored
from spoofspan.measures.measure import in_percent, number_text
from spoofspan.measures.operating_point import OperatingPoint

if TYPE_CHECKING:
    from spoofspan.evaluation.breakdown import Breakdown
    from spoofspan.evaluation.crossed import CrossedBreakdown
    from spoofspan.measures.bisection import Bisection, BisectionStep
    from spoofspan.uncertainty.spreads import Interval

# In a signature: events were matched at every threshold of the scores.
ALL_THRESHOLDS = "proposals:all-thresholds"


@dataclass(frozen=True, kw_only=True, eq=False)
class Measurement(LikeFloat, NearAttributes):
    """A value with its threshold, its rates, the amounts touched by rules, and its signature.

    Parameters
    ----------
    measure
        The measure in its canonical spelling.
    value
        The value; shares are fractions of 1. NaN where ``undefined="nan"`` was asked for and there is none.
    point
        The operating point of the value; for an EER, the one nearest to FPR = FNR. Its threshold is NaN if the value is
        over all thresholds.
    neighbours
        The operating points on both sides of the crossing, for an EER; else None and None.
    eer_rule
        How the value was computed: the EER rule, or the entry in its place in the signature.
    convention, rules
        The named set of rules, and the rules that were applied.
    touched
        The seconds and utterances that each rule decided, by rule.
    utterances
        The number of utterances measured.
    exact_value
        The value as a fraction, if it is exact.
    warnings, notes
        Cautions about the value, and remarks.
    signer
        Makes the signature when it is first requested.
    interval
        The confidence interval, if one was requested.
    breakdown
        The groups, if they were requested (``by=``).

    A measurement is also a number: ``round(m, 4)``, ``100 * m``, ``np.mean([m, n])``, ``f"{m:.2%}"``. Given as a
    threshold, it stands for its own threshold.

    Examples
    --------
    >>> import spoofspan as ss
    >>> references = ss.References.from_ranges({"u1": [(0.0, 0.08, "bonafide"), (0.08, 0.16, "spoof")]})
    >>> frames = {"u1": [0.9, 0.8, 0.7, 0.1, 0.2, -0.1, -0.2, -0.3]}
    >>> measurement = ss.range_eer(references, ss.Scores.from_frames(frames, hop=0.02, higher="bonafide"))
    >>> measurement.value, measurement.threshold, measurement.false_positive_rate, measurement.gap
    (0.25, 0.2, 0.25, 0.0)
    >>> print(measurement)
    range-eer 25.00 %   (FPR 25.00 %, FNR 25.00 %, spoof iff score < 0.2)

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
    interval: Interval | None = field(default=None, compare=False)
    breakdown: Breakdown | CrossedBreakdown | None = field(default=None, compare=False, repr=False)

    @property
    def threshold(self) -> float:
        """The threshold, on the scale of the scores."""
        return self.point.threshold

    @property
    def has_threshold(self) -> bool:
        """True if the value was taken at one threshold, and not over all of them."""
        return not math.isnan(self.point.threshold)

    @property
    def decision(self) -> str:
        """The inequality of a decision at the threshold."""
        return self.point.decision

    @property
    def false_positive_rate(self) -> float:
        """FPR at the threshold; NaN without a threshold."""
        return self.point.false_positive_rate if self.has_threshold else math.nan

    @property
    def false_negative_rate(self) -> float:
        """FNR at the threshold; NaN without a threshold."""
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
        """``|FPR - FNR|`` at the threshold; NaN without a threshold."""
        return self.point.gap if self.has_threshold else math.nan

    @cached_property
    def signature(self) -> Signature:
        """The signature; its hashes are computed on first access."""
        if self.signer is None:
            raise UsageError("this measurement was made without its inputs and has no signature")
        return replace(self.signer(), convention=self.convention)

    def __getstate__(self) -> dict[str, Any]:
        """State for pickling and copying, with the signature instead of the corpus behind it."""
        signer = None if self.signer is None else partial(replace, self.signature)
        return {**vars(self), "signer": signer}

    def __format__(self, spelling: str) -> str:
        """Format the value: ``f"{measurement:.2%}"``; without a format, as ``str``."""
        return format(self.value, spelling) if spelling else str(self)

    def __eq__(self, other: object) -> bool:
        """Measurements are equal if all fields but their intervals are; a number is compared with the value."""
        if isinstance(other, Measurement):
            names = [one.name for one in fields(self) if one.compare]
            return type(self) is type(other) and all(getattr(self, one) == getattr(other, one) for one in names)
        return bool(self.value == other) if isinstance(other, int | float | np.number) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.value)

    def __lt__(self, other: Measurement | float) -> bool:
        return self.value < self._comparable(other)

    def __le__(self, other: Measurement | float) -> bool:
        return self.value <= self._comparable(other)

    def __gt__(self, other: Measurement | float) -> bool:
        return self.value > self._comparable(other)

    def __ge__(self, other: Measurement | float) -> bool:
        return self.value >= self._comparable(other)

    def __sub__(self, other: Any) -> Any:
        """Subtract a number, or the value of a measurement that is comparable."""
        return super().__sub__(self._comparable(other))

    def _comparable(self, other: Measurement | float) -> float:
        """The value of another measurement, which must be comparable by its signature."""
        if not isinstance(other, Measurement):
            return other
        if apart := self.incomparable(other):
            raise UsageError(
                f"{self.measure} and {other.measure} may not be compared: their signatures differ in "
                f"{'; '.join(apart)}; measure both under the same rules, on the same references and utterances"
            )
        return other.value

    def incomparable(self, other: Measurement) -> list[str]:
        """Differences between two signatures that make the values incomparable.

        A slack that was given for both is the same rule, even if it is the automatic one of only one system.
        """
        apart = self.signature.differences(other.signature)
        if self.rules.slack == other.rules.slack:
            apart.pop("rule slack", None)
        return [f"{name}: {one} and {two}" for name, (one, two) in apart.items()]

    def __repr__(self) -> str:
        at = f", {self.decision}" if self.has_threshold else ""
        return f"{type(self).__name__}({self.measure} {self.value_text}{at})"

    def _repr_html_(self) -> str:
        """A table of one row, for notebooks."""
        from spoofspan.evaluation.corpus import Evaluation

        return Evaluation({self.measure: self})._repr_html_()

    def __str__(self) -> str:
        rates = [f"{100 * rate:.2f} %" for rate in (self.false_positive_rate, self.false_negative_rate)]
        at = f"   (FPR {rates[0]}, FNR {rates[1]}, {self.decision})" if self.has_threshold else ""
        lines = [f"{self.measure} {self.value_text}{at}"]
        if self.interval is not None:
            lines.append(f"  {100 * self.interval.level:g} % interval {self.interval_text} ({self.interval.how})")
        lines += [f"  {text}" for text in (*self.touched_lines(), *self.notes)]
        if self.breakdown is not None:
            lines.append(f"  by {self.breakdown.by}: {self.breakdown!r}")
        lines += [f"  warning: {text}" for text in (*self.warnings, *self.interval_warnings)]
        return "\n".join(lines)

    @property
    def value_text(self) -> str:
        """The value as text: shares in per cent, costs as they are."""
        return number_text(self.measure, self.value) + " %" * in_percent(self.measure)

    @property
    def interval_text(self) -> str:
        """The interval as text without a unit; empty without an interval."""
        if self.interval is None:
            return ""
        if self.interval.refused:
            return "none"
        return " to ".join(number_text(self.measure, end) for end in (self.interval.low, self.interval.high))

    @property
    def interval_warnings(self) -> tuple[str, ...]:
        """Cautions about the interval, or the reason for having none."""
        return () if self.interval is None else self.interval.warnings

    def touched_lines(self) -> list[str]:
        """A line for each rule that decided something."""
        return [str(entry) for entry in self.touched.values()]

    @property
    def confusion(self) -> dict[str, float] | None:
        """The confusion matrix at the threshold, in seconds or counts; None without a threshold."""
        if not self.has_threshold or math.isnan(self.threshold):
            return None
        return self.point.seconds() if self.point.unit == "ns" else dict(self.point.cells)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        at_point = ("threshold", "decision", "false_positive_rate", "false_negative_rate", "gap")
        names = ("measure", "value", *at_point, "eer_rule", "convention", "utterances")
        return {
            **{name: getattr(self, name) for name in names},
            **{name: getattr(self.point, name) for name in ("bona_fide", "spoof", "unit")},
            "confusion": self.confusion,
            "touched": {
                name: {"value": entry.value, "seconds": entry.seconds, "utterances": entry.utterances}
                for name, entry in self.touched.items()
            },
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "interval": None if self.interval is None else self.interval.to_dict(),
            "rules": self.rules.spelled(kind_of(self.measure)),
            "hashes": self.signature.fields.all_hashes,
            "signature": self.signature.to_dict(),
            "short_signature": self.signature.short,
        }


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class BisectionMeasurement(Measurement):
    """An estimate of the range-based EER by the paper's Algorithm 1, with its trace.

    Parameters
    ----------
    bisection
        The steps, and if the precision was reached. The other parameters are those of :class:`Measurement`.

    Examples
    --------
    >>> import spoofspan as ss
    >>> references = ss.References.from_ranges({"u1": [(0.0, 0.08, "bonafide"), (0.08, 0.16, "spoof")]})
    >>> frames = {"u1": [0.9, 0.8, 0.7, 0.1, 0.2, -0.1, -0.2, -0.3]}
    >>> estimate = ss.bisection_eer(references, ss.Scores.from_frames(frames, hop=0.02, higher="bonafide"))
    >>> estimate.value, estimate.reached, len(estimate.trace)
    (0.25, True, 3)

    """

    bisection: Bisection = field(repr=False)

    @property
    def trace(self) -> tuple[BisectionStep, ...]:
        """Every threshold that was tried, with its quantile and rates."""
        return self.bisection.trace

    @property
    def reached(self) -> bool:
        """True if ``|FPR - FNR|`` fell below the requested precision."""
        return self.bisection.reached

    @property
    def bracketed(self) -> bool:
        """True if FPR - FNR changed its sign between the lowest and the highest score."""
        return self.bisection.bracketed

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON; thresholds of the trace are in the polarity of the scores."""
        higher = self.point.higher
        steps = [vars(step) | {"threshold": mirrored(step.threshold, higher)} for step in self.trace]
        return super().to_dict() | {"reached": self.reached, "bracketed": self.bracketed, "trace": steps}


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class EventMeasurement(Measurement):
    """A value of events: spoofed ranges of the references against ranges proposed by a system.

    ``threshold`` is that of proposals made of scores, and NaN for given proposals.

    Parameters
    ----------
    events, proposals
        The number of events, and of proposals.
    parts
        The components of the value, by name.
    on_threshold
        The number of pairs of a proposal and an event with an IoU exactly at a threshold. Code that computes in floats
        may decide these differently. The other parameters are those of :class:`Measurement`.

    Examples
    --------
    >>> import spoofspan as ss
    >>> references = ss.References.from_ranges({"u1": [(0.0, 1.0, "spoof"), (1.0, 2.0, "bonafide")]})
    >>> proposals = ss.Proposals.from_ranges({"u1": [(0.0, 0.9, 0.8), (1.5, 1.7, 0.3)]})
    >>> found = ss.evaluate(references, proposals, ["event-f1@iou=0.5"])["event-f1@iou=0.5"]
    >>> found.events, found.proposals, found.parts["precision"], found.parts["recall"]
    (1, 2, 0.5, 1.0)

    """

    events: int = 0
    proposals: int = 0
    parts: Mapping[str, float] = field(default_factory=dict)
    on_threshold: int = 0

    @property
    def has_threshold(self) -> bool:
        """False: events have no rates of time at a threshold."""
        return False

    @property
    def decision(self) -> str:
        """Origin of the proposals."""
        if not math.isnan(self.threshold):
            return super().decision
        return "every threshold counts" if self.eer_rule.startswith(ALL_THRESHOLDS) else "proposals as given"

    def __str__(self) -> str:
        first, *rest = super().__str__().splitlines()
        proposals = counted(self.proposals, "proposal")
        if not math.isnan(self.threshold):
            proposals = f"{proposals}: {self.decision}"
        elif self.eer_rule.startswith(ALL_THRESHOLDS):
            proposals = self.decision
        else:
            proposals = f"{proposals} as given"
        return "\n".join([f"{first}   ({counted(self.events, 'event')}, {proposals})", *rest])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        counts = {"events": self.events, "proposals": self.proposals, "on_threshold": self.on_threshold}
        return super().to_dict() | counts | {"parts": dict(self.parts)}


def counted(number: int, what: str) -> str:
    """Write a number of things.

    >>> counted(1, "event"), counted(2000, "event")
    ('1 event', '2,000 events')
    """
    return f"{number:,} {what}{'s' * (number != 1)}"

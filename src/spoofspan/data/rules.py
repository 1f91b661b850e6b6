"""Rules: what a gap, a missing tail or an overlap means. Conventions: named sets of rules.

``docs/rules.md`` defines every rule to the nanosecond. Each is an argument of the same name of every measuring
function, and each is part of a result's signature. An unknown rule or value raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Literal, TypedDict

import numpy as np

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.base.times import Int64, duration_ns, exact_sum

# Raised whenever a rule changes its meaning, so that old and new numbers are not called comparable.
RULES_VERSION = 1

Gaps = Literal["error", "bonafide", "spoof", "ignore", "following"]
Extent = Literal["duration", "cut-at-duration", "last-range-end"]
Nonspeech = Literal["error", "ignore", "bonafide", "spoof"]
Uncovered = Literal["error", "hold", "bonafide", "spoof", "ignore", "unanswered"]
Overlong = Literal["error", "cut"]
LastFrame = Literal["use", "drop"]
Overlap = Literal["error", "min", "mean", "centre"]
Utterances = Literal["all", "drop-bonafide-CON"]
LastPoint = Literal["use", "round"]
Regions = Mapping[str, Sequence[tuple[float, float]]]

CHOICES: dict[str, tuple[str, ...]] = {
    "gaps": ("error", "bonafide", "spoof", "ignore", "following"),
    "extent": ("duration", "cut-at-duration", "last-range-end"),
    "nonspeech": ("error", "ignore", "bonafide", "spoof"),
    "uncovered": ("error", "hold", "bonafide", "spoof", "ignore", "unanswered"),
    "overlong": ("error", "cut"),
    "last_frame": ("use", "drop"),
    "overlap": ("error", "min", "mean", "centre"),
    "utterances": ("all", "drop-bonafide-CON"),
    "last_point": ("use", "round"),
}
LABEL_RULES = ("any", "majority", "rounded")
POINT_RULES = ("label", "last_point")


class RuleArguments(TypedDict, total=False):
    """The rules as keyword arguments."""

    gaps: Gaps
    snap: float | None
    extent: Extent
    nonspeech: Nonspeech
    uncovered: Uncovered
    slack: float | None
    overlong: Overlong
    last_frame: LastFrame
    overlap: Overlap
    regions: Regions | None
    collar: float
    partial: bool
    utterances: Utterances
    label: Literal["any", "majority", "rounded"] | float
    last_point: LastPoint


@dataclass(frozen=True)
class Rules:
    """One value for every rule; times in seconds.

    >>> Rules(gaps="bonafide").gaps
    'bonafide'
    >>> Rules(gaps="bona fide")
    Traceback (most recent call last):
    spoofspan.base.errors.UsageError: gaps='bona fide': did you mean 'bonafide'? (valid: bonafide, error, ...
    """

    gaps: Gaps = "error"
    snap: float | None = None  # None: what the source of the references asks for
    extent: Extent = "duration"
    nonspeech: Nonspeech = "error"
    uncovered: Uncovered = "error"
    slack: float | None = None  # None: one hop + 25 ms, or 25 ms for ranges
    overlong: Overlong = "error"
    last_frame: LastFrame = "use"
    overlap: Overlap = "error"
    regions: Regions | None = None
    collar: float = 0.0
    partial: bool = False
    utterances: Utterances = "all"
    label: Literal["any", "majority", "rounded"] | float = "any"
    last_point: LastPoint = "use"

    def __post_init__(self) -> None:
        for name, valid in CHOICES.items():
            value = getattr(self, name)
            if value not in valid:
                raise UsageError(f"{name}={value!r}: {nearest_name(value, valid)}")
        for name in ("snap", "slack", "collar"):
            value = getattr(self, name)
            if (value is not None or name == "collar") and duration_ns(value, name) < 0:
                raise UsageError(f"{name}={value!r}: must not be negative (seconds)")
        if not isinstance(self.partial, bool):
            raise UsageError(f"partial={self.partial!r}: must be True or False")
        if self.regions is not None and not isinstance(self.regions, Mapping):
            raise UsageError("regions must be a dict: utterance -> [(start, end), ...] in seconds")
        if self.label not in LABEL_RULES:
            self.spoof_fraction  # noqa: B018  (raises if the label is no fraction either)

    @property
    def spoof_fraction(self) -> Fraction:
        """The share of a point's labelled time from which on it is spoof."""
        if self.label == "majority":
            return Fraction(1, 2)
        try:
            # repr, so that 0.3 means three tenths and not the double next to it
            share = Fraction(repr(float(self.label)))
        except (TypeError, ValueError, OverflowError):
            share = Fraction(0)
        if not 0 < share <= 1:
            raise UsageError(
                f"label={self.label!r}: {nearest_name(str(self.label), LABEL_RULES)}, or a fraction in (0, 1]"
            )
        return share

    def spelled(self, measure: str) -> dict[str, str]:
        """Write the rules that a measure ("range" or "point") depends on as text, for the signature."""
        names = [f.name for f in fields(self) if measure == "point" or f.name not in POINT_RULES]
        return {name: _spell(name, getattr(self, name)) for name in names}


def _spell(name: str, value: Any) -> str:
    if name in ("snap", "slack", "collar"):
        return "auto" if value is None else f"{duration_ns(value, name)}ns"
    if name == "regions":
        return "all" if value is None else "given"
    if name == "label" and value not in LABEL_RULES:
        return str(Fraction(repr(float(value))))
    return str(value)


@dataclass(frozen=True)
class Convention:
    """What one tool or text does, per measure: rules and the EER rule. A measure it lacks is an error."""

    name: str
    about: str
    measures: Mapping[str, tuple[Rules, str]]


def _exactly(**rules: Any) -> Rules:
    """Rules of another tool: nothing is snapped and no tail is held unless the tool does so."""
    return Rules(**{"snap": 0.0, "slack": 0.0, "overlong": "cut", "nonspeech": "ignore", **rules})


_NII_POINT = _exactly(gaps="bonafide", uncovered="ignore", nonspeech="bonafide", extent="cut-at-duration")

CONVENTIONS: dict[str, Convention] = {
    convention.name: convention
    for convention in (
        Convention(
            "default",
            "spoofspan's own: whatever is not certain is an error",
            {"range": (Rules(), "nearest"), "point": (Rules(), "nearest")},
        ),
        Convention(
            "paper",
            "the equations of Zhang et al. 2023: only annotated time exists, time without a score is no error",
            {
                "range": (_exactly(gaps="ignore", uncovered="unanswered"), "nearest"),
                "point": (_exactly(gaps="ignore", uncovered="unanswered"), "nearest"),
            },
        ),
        Convention(
            "nii-2023",
            "the published script of PartialSpoof (RangeEER.py, SegmentEER.py)",
            {
                "range": (
                    _exactly(
                        gaps="bonafide",
                        uncovered="bonafide",
                        nonspeech="bonafide",
                        extent="cut-at-duration",
                        utterances="drop-bonafide-CON",
                    ),
                    "nearest",
                ),
                "point": (_NII_POINT, "nearest"),
                # measured finer than the hop, the script takes its labels from another source
                "finer-point": (replace(_NII_POINT, gaps="spoof", label="rounded"), "nearest"),
            },
        ),
        Convention(
            "partialspoof-metrics",
            "calculate_mseer.py and calculate_eer.py of partialspoof-metrics",
            {
                "range": (
                    _exactly(gaps="following", uncovered="hold", extent="last-range-end", last_frame="drop"),
                    "bucketed(-2,2,100000)",
                ),
                "point": (
                    _exactly(gaps="bonafide", uncovered="hold", last_point="round", nonspeech="bonafide"),
                    "bucketed(-2,2,10000)",
                ),
            },
        ),
        Convention(
            "wedefense",
            "metrics/localization/rangeeer.py of WeDefense",
            {
                "range": (
                    _exactly(gaps="following", uncovered="hold", extent="last-range-end"),
                    "bucketed(2max,100000)",
                )
            },
        ),
    )
}


def rules_for(
    measure: Literal["range", "point"],
    convention: str,
    overrides: Mapping[str, Any],
    *,
    finer_than_hop: bool = False,
) -> tuple[Rules, str]:
    """Return the rules and the EER rule of a measure under a convention, with explicit rules put on top."""
    if convention not in CONVENTIONS:
        raise UsageError(f"convention={convention!r}: {nearest_name(convention, CONVENTIONS)}")
    measures = CONVENTIONS[convention].measures
    if measure not in measures:
        raise UsageError(
            f"the convention {convention!r} defines no {measure}-based measure "
            f"(only {', '.join(measures)}-based); use another convention or state the rules"
        )
    chosen = f"finer-{measure}" if finer_than_hop and f"finer-{measure}" in measures else measure
    rules, eer_rule = measures[chosen]
    valid = {f.name for f in fields(Rules)}
    unknown = [name for name in overrides if name not in valid]
    if unknown:
        raise UsageError("; ".join(f"unknown rule {name!r}: {nearest_name(name, valid)}" for name in unknown))
    return replace(rules, **overrides), eer_rule


@dataclass(frozen=True)
class Touched:
    """How much time, in how many utterances, a rule decided."""

    rule: str
    value: str
    ns: int
    utterances: int

    @property
    def seconds(self) -> float:
        """The time in seconds."""
        return self.ns / 1e9


def note_touched(touched: list[Touched], rule: str, value: str, by_utterance: Int64) -> None:
    """Add what a rule decided, given in ns per utterance, if it decided anything."""
    count = int(np.count_nonzero(by_utterance))
    if count:
        touched.append(Touched(rule, value, exact_sum(by_utterance), count))

"""Rules: what a gap, a missing tail or an overlap means. Conventions: named sets of rules.

A rule is declared once, as a field of :class:`Rules`: its type and values, its default, a line of help and an
explanation. Validation, signatures, the flags of the command line, their completion and ``spoofspan explain`` read that
declaration (:data:`RULES`); :class:`RuleArguments` repeats the types, because keyword arguments are checked by them.
``docs/rules.md`` defines every rule to the nanosecond. An unknown rule or value raises.
"""

# ruff: noqa: RUF009  (what declares a rule is a dataclass field)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from inspect import cleandoc
from typing import Any, Literal, TypedDict, get_args, get_type_hints

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
CollarEdges = Literal["inside", "all"]
Utterances = Literal["all", "drop-bonafide-CON"]
Label = Literal["any", "majority", "rounded"] | float
LastPoint = Literal["use", "round"]
Regions = Mapping[str, Sequence[tuple[float, float]]]


class RuleArguments(TypedDict, total=False):
    """The rules as keyword arguments: the fields of :class:`Rules`, each of which may be left out."""

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
    collar_edges: CollarEdges
    partial: bool
    utterances: Utterances
    label: Label
    last_point: LastPoint


def _rule(
    default: Any, help: str, explanation: str, of: tuple[str, ...] = ("range", "point"), implied: str | None = None
) -> Any:
    """Declare a rule; ``{}`` in the help stands for its values, ``of`` are the measures that depend on it.

    A rule that is younger than the first signatures says which value these ``implied``.
    """
    return field(default=default, metadata={"help": help, "explanation": explanation, "of": of, "implied": implied})


@dataclass(frozen=True)
class Rules:
    """One value for every rule; times in seconds.

    Examples
    --------
    >>> Rules(gaps="bonafide").gaps
    'bonafide'
    >>> Rules(gaps="bona fide")
    Traceback (most recent call last):
    spoofspan.base.errors.UsageError: gaps='bona fide': did you mean 'bonafide'? (valid: bonafide, error, ...

    """

    gaps: Gaps = _rule(
        "error",
        "Time without a label: {}.",
        "Time in the reference under no range. following: it takes the label of the next range.",
    )
    snap: float | None = _rule(
        None,
        "Join edges that miss each other by up to this many seconds.",
        "Reference edges that miss each other, 0 or the end by at most this are joined (2 ms for RTTM, else 0).",
    )
    extent: Extent = _rule(
        "duration",
        "Where an utterance ends: {}.",
        "Where an utterance ends: at its duration, or at the end of its last range.",
    )
    nonspeech: Nonspeech = _rule(
        "error", "Ranges labelled non-speech: {}.", "What ranges labelled non-speech count as."
    )
    uncovered: Uncovered = _rule(
        "error",
        "Time without a score: {}.",
        "Labelled time under no score. hold: every score lasts until the next; bonafide, spoof: called so at every\n"
        "threshold; ignore: not counted; unanswered: never an error, but in the denominators.",
    )
    slack: float | None = _rule(
        None,
        "Missing tail that is held in any case, in seconds.",
        "A missing tail of at most this is held under every rule: one hop + 25 ms, or 25 ms for ranges.",
    )
    overlong: Overlong = _rule(
        "error",
        "Scores after the end: {}.",
        "Scores that start after the end of an utterance; up to two are cut in any case.",
    )
    last_frame: LastFrame = _rule(
        "use",
        "A last frame that sticks out: {}.",
        "A last frame that ends after the utterance: used up to the end, or dropped.",
    )
    overlap: Overlap = _rule(
        "error",
        "Score windows that overlap: {}.",
        "Score ranges that overlap: the lowest, the mean, or cut between their centres.",
    )
    regions: Regions | None = _rule(
        None, "UEM file: the time that counts.", "Only time inside these ranges (a UEM file) counts."
    )
    collar: float = _rule(
        0.0,
        "Ignore this many seconds around each boundary.",
        "Time within this of a boundary between labels is ignored.",
    )
    collar_edges: CollarEdges = _rule(
        "inside",
        "Which edges have a collar: {}.",
        "Which edges have a collar. inside: those between labels; all: also 0 and the end, where spoof lies there.",
        implied="inside",
    )
    partial: bool = _rule(
        False,
        "Measure only the utterances that both sides have.",
        "Measure the utterances that both sides have, instead of refusing.",
    )
    utterances: Utterances = _rule(
        "all",
        "Which utterances count: {}.",
        "drop-bonafide-CON: utterances without spoof whose id starts with CON are left out.",
    )
    label: Label = _rule(
        "any",
        "Label of a point: {}, or a fraction.",
        "Label of a point: any spoof, majority, a fraction, or rounded edges (as in the published script).",
        ("point",),
    )
    last_point: LastPoint = _rule(
        "use",
        "The last, shorter point: {}.",
        "The last, shorter point: used, or only if at least half of it exists.",
        ("point",),
    )

    def __post_init__(self) -> None:
        for rule in RULES.values():
            rule.check(getattr(self, rule.name))
        if self.label not in RULES["label"].values:
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
            valid = nearest_name(str(self.label), RULES["label"].values)
            raise UsageError(f"label={self.label!r}: {valid}, or a fraction in (0, 1]")
        return share

    def spelled(self, measure: str, *, every: bool = False) -> dict[str, str]:
        """Write the rules that a measure ("range" or "point") depends on as text, for the signature.

        Unless ``every`` rule is wanted, one that was implied before it could be stated is left out, so that signatures
        of then and now are equal.
        """
        texts = {name: rule.spell(getattr(self, name)) for name, rule in RULES.items() if measure in rule.of}
        return {name: text for name, text in texts.items() if every or text != RULES[name].implied}


@dataclass(frozen=True)
class Rule:
    """One rule as it is declared in :class:`Rules`."""

    name: str
    kind: str  # choice, label, seconds, flag or regions
    default: Any
    values: tuple[str, ...]  # its names, the default first; empty where it is a number, a flag or regions
    help: str
    explanation: str
    of: tuple[str, ...]  # the measures that depend on it: "range", "point"
    implied: str | None  # its value in signatures that were written before it was a rule

    def check(self, value: Any) -> None:
        """Refuse what is no value of this rule."""
        if self.kind == "choice" and value not in self.values:
            raise UsageError(f"{self.name}={value!r}: {nearest_name(value, self.values)}")
        given = value is not None or self.default is not None
        if self.kind == "seconds" and given and duration_ns(value, self.name) < 0:
            raise UsageError(f"{self.name}={value!r}: must not be negative (seconds)")
        if self.kind == "flag" and not isinstance(value, bool):
            raise UsageError(f"{self.name}={value!r}: must be True or False")
        if self.kind == "regions" and given and not isinstance(value, Mapping):
            raise UsageError(f"{self.name} must be a dict: utterance -> [(start, end), ...] in seconds")

    def spell(self, value: Any) -> str:
        """Write a value as text, for the signature."""
        if self.kind == "seconds":
            return "auto" if value is None else f"{duration_ns(value, self.name)}ns"
        if self.kind == "regions":
            return "all" if value is None else "given"
        if self.kind == "label" and value not in self.values:
            return str(Fraction(repr(float(value))))
        return str(value)


# Of the types of fields; all others are names to choose from.
_KINDS = {float: "seconds", float | None: "seconds", bool: "flag", Regions | None: "regions", Label: "label"}


def _declared() -> dict[str, Rule]:
    """Every rule, read off the fields of :class:`Rules`."""
    found, types = {}, get_type_hints(Rules)
    for one in fields(Rules):
        kind = _KINDS.get(types[one.name], "choice")
        names = get_args(types[one.name]) if kind in ("choice", "label") else ()
        values = get_args(names[0]) if kind == "label" else names
        about = {**one.metadata, "help": one.metadata["help"].format(", ".join(values))}
        found[one.name] = Rule(one.name, kind, one.default, values, **about)
    return found


RULES: Mapping[str, Rule] = _declared()
_PARAMETERS = "\n".join(
    f"{rule.name} : {', '.join(map(repr, rule.values)) or 'optional'}, default {rule.default!r}\n"
    f"    {' '.join(rule.explanation.split())}"
    for rule in RULES.values()
)
Rules.__doc__ = cleandoc(Rules.__doc__ or "").replace(
    "\nExamples", f"\nParameters\n----------\n{_PARAMETERS}\n\nExamples"
)


@dataclass(frozen=True)
class Convention:
    """A named set of rules: what one tool or text does, per measure. A measure it lacks is an error.

    Parameters
    ----------
    name
        As in ``convention="paper"``.
    about
        Whose rules they are.
    measures
        For ``"range"``, ``"point"`` or ``"finer-point"`` (finer than the hop): the rules, and the EER rule.

    Examples
    --------
    >>> rules, eer_rule = CONVENTIONS["paper"].measures["range"]
    >>> rules.uncovered, eer_rule
    ('unanswered', 'nearest')

    """

    name: str
    about: str
    measures: Mapping[str, tuple[Rules, str]]


def _exactly(**rules: Any) -> Rules:
    """Rules of another tool: nothing is snapped and no tail is held unless the tool does so."""
    return Rules(**{"snap": 0.0, "slack": 0.0, "overlong": "cut", "nonspeech": "ignore", **rules})


_PAPER = _exactly(gaps="ignore", uncovered="unanswered")
_NII = _exactly(gaps="bonafide", nonspeech="bonafide", extent="cut-at-duration")
_NII_POINT = replace(_NII, uncovered="ignore")
_MILLISECONDS = _exactly(gaps="following", uncovered="hold", extent="last-range-end")

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
            {"range": (_PAPER, "nearest"), "point": (_PAPER, "nearest")},
        ),
        Convention(
            "nii-2023",
            "the published script of PartialSpoof (RangeEER.py, SegmentEER.py)",
            {
                "range": (replace(_NII, uncovered="bonafide", utterances="drop-bonafide-CON"), "nearest"),
                "point": (_NII_POINT, "nearest"),
                # measured finer than the hop, the script takes its labels from another source
                "finer-point": (replace(_NII_POINT, gaps="spoof", label="rounded"), "nearest"),
            },
        ),
        Convention(
            "partialspoof-metrics",
            "calculate_mseer.py and calculate_eer.py of partialspoof-metrics",
            {
                "range": (replace(_MILLISECONDS, last_frame="drop"), "bucketed(-2,2,100000)"),
                "point": (
                    _exactly(gaps="bonafide", uncovered="hold", last_point="round", nonspeech="bonafide"),
                    "bucketed(-2,2,10000)",
                ),
            },
        ),
        Convention(
            "wedefense",
            "metrics/localization/rangeeer.py of WeDefense",
            {"range": (_MILLISECONDS, "bucketed(2max,100000)")},
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
    unknown = [name for name in overrides if name not in RULES]
    if unknown:
        raise UsageError("; ".join(f"unknown rule {name!r}: {nearest_name(name, RULES)}" for name in unknown))
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

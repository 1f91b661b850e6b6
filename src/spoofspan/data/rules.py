"""Rules for gaps, missing tails, overlaps and the like. Conventions: named sets of rules.

A rule is declared once, as a field of :class:`Rules`: its type and values, its default, a line of help and an
explanation. Validation, signatures, the flags of the command line, their completion and ``spoofspan explain`` read that
declaration (:data:`RULES`); :class:`RuleArguments` repeats the types, because keyword arguments are checked by them.
``docs/rules.md`` defines every rule to the nanosecond. An unknown rule or value raises.
"""

# ruff: noqa: RUF009  (what declares a rule is a dataclass field)

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from fractions import Fraction
from inspect import cleandoc
from typing import Any, Literal, TypedDict, get_args, get_type_hints

from spoofspan.base.errors import UsageError, dated_names, nearest_name
from spoofspan.base.seconds import duration_ns

# Raised whenever a rule changes its meaning, so that old and new numbers are not called comparable.
RULES_VERSION = 2

Gaps = Literal["error", "bonafide", "spoof", "ignore", "following"]
Extent = Literal["duration", "cut-at-duration", "last-range-end"]
Nonspeech = Literal["error", "ignore", "bonafide", "spoof"]
Uncovered = Literal["error", "hold", "bonafide", "spoof", "ignore", "unanswered"]
Overlong = Literal["error", "cut"]
LastFrame = Literal["use", "drop"]
Overlap = Literal["error", "min", "mean", "centre"]
CollarEdges = Literal["inside", "all"]
Utterances = Literal["all", "drop-bonafide-CON"]
Label = Literal["any", "majority", "rounded"] | str | float  # or "over(0.5)", or 0.5
LastPoint = Literal["use", "round", "drop", "scored"]
Pooling = Literal["min", "mean", "max", "noisy-or"] | str  # or "top-k(5)"
Modality = Literal["any", "audio", "visual"]
Regions = Mapping[str, Sequence[tuple[float, float]]]
Signed = Literal["always", "applied", "never"]


def declared(
    default: Any,
    help: str,
    explanation: str,
    of: tuple[str, ...] = ("range", "point"),
    signed: Signed = "always",
) -> Any:
    """Declare a rule; ``{}`` in the help stands for its values, ``of`` are the measures that depend on it.

    It is ``signed`` always, where it was applied, or never, since the hashes of a signature show what it did.
    """
    return field(default=default, metadata={"help": help, "explanation": explanation, "of": of, "signed": signed})


@dataclass(frozen=True)
class Rule:
    """One rule as it is declared in :class:`Rules`."""

    name: str
    kind: str  # choice, label, pooling, seconds, flag or regions
    default: Any
    values: tuple[str, ...]  # its names, the default first; empty where it is a number, a flag or regions
    help: str
    explanation: str
    of: tuple[str, ...]  # its dependents: measures of "range", "point", or the reading of "references"
    signed: Signed

    def check(self, value: Any) -> None:
        """Refuse invalid values of this rule."""
        given = value is not None or self.default is not None
        if self.kind == "choice" and given and value not in self.values:
            raise UsageError(f"{self.name}={value!r}: {nearest_name(value, self.values)}")
        if self.kind == "pooling" and value not in self.values and top_k(value) is None:
            raise UsageError(f"{self.name}={value!r}: {nearest_name(value, self.values)}, or top-k(5) for utterances")
        if self.kind == "seconds" and given and duration_ns(value, self.name) < 0:
            raise UsageError(f"{self.name}={value!r}: must not be negative (seconds)")
        if self.kind == "flag" and not isinstance(value, bool):
            raise UsageError(f"{self.name}={value!r}: must be True or False")
        if self.kind == "regions" and given and not isinstance(value, Mapping):
            raise UsageError(f"{self.name} must be a dict: utterance -> [(start, end), ...] in seconds")

    def spell(self, value: Any) -> str:
        """Write a value as text; equal values have one text."""
        if self.kind == "seconds":
            return "auto" if value is None else f"{duration_ns(value, self.name)}ns"
        if self.kind == "regions":
            return "all" if value is None else "given"
        if self.kind == "label" and value not in self.values and over(value) is None:
            share = Fraction(repr(float(value)))
            return "majority" if share == Fraction(1, 2) else str(share)
        return str(value)


def top_k(pooling: object) -> int | None:
    """Number of frames that ``top-k(5)`` takes; None for any other pooling.

    >>> top_k("top-k(5)"), top_k("mean")
    (5, None)
    """
    found = re.fullmatch(r"top-k\(([1-9]\d{0,8})\)", str(pooling))
    return None if found is None else int(found[1])


def over(label: object) -> str | None:
    """The share of ``over(0.5)`` in its shortest spelling; None for any other label, and for a share of 1 or more.

    >>> over("over(0.50)"), over("majority"), over("over(1)")
    ('0.5', None, None)
    """
    found = re.fullmatch(r"over\((\d{0,18}\.?\d{0,18})\)", str(label))
    if found is None or not found[1].strip(".") or Decimal(found[1]) >= 1:
        return None
    return format(Decimal(found[1]).normalize(), "f")


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
    pooling: Pooling
    modality: Modality | None


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

    gaps: Gaps = declared(
        "error",
        "Time without a label: {}.",
        "Time without a label in the references. following: it takes the label of the next range.",
        signed="applied",
    )
    snap: float | None = declared(
        None,
        "Join edges that miss each other by up to this many seconds.",
        "Reference edges that miss each other, 0 or the end by at most this are joined (2 ms for RTTM, else 0).",
        signed="applied",
    )
    extent: Extent = declared(
        "duration",
        "Where an utterance ends: {}.",
        "Where an utterance ends: at its duration (cut-at-duration cuts ranges there), or at the end of its last\n"
        "range.",
        signed="applied",
    )
    nonspeech: Nonspeech = declared(
        "error", "Ranges labelled non-speech: {}.", "What ranges labelled non-speech count as.", signed="applied"
    )
    uncovered: Uncovered = declared(
        "error",
        "Time without a score: {}.",
        "Labelled time without a score. hold: every score lasts until the next; bonafide, spoof: called so at every\n"
        "threshold; ignore: not counted; unanswered: counted in the totals, but never as an error.",
    )
    slack: float | None = declared(
        None,
        "Longest missing tail that takes the last score, in seconds.",
        "A missing tail of at most this takes the last score, whatever uncovered is: one hop + 25 ms, or 25 ms for\n"
        "ranges.",
    )
    overlong: Overlong = declared(
        "error",
        "Scores after the end: {}.",
        "Scores that start after the end of an utterance; up to two are cut in any case.",
    )
    last_frame: LastFrame = declared(
        "use",
        "A last frame that ends after the utterance: {}.",
        "A last frame that ends after the utterance: used up to the end, or dropped.",
    )
    overlap: Overlap = declared(
        "error",
        "Score windows that overlap: {}.",
        "Score ranges that overlap: the lowest, the mean, or cut between their centres.",
    )
    regions: Regions | None = declared(
        None, "UEM file: the time that counts.", "Only time inside these ranges (a UEM file) counts.", signed="applied"
    )
    collar: float = declared(
        0.0,
        "Ignore this many seconds around each boundary.",
        "Time within this of a boundary between labels is ignored.",
        signed="applied",
    )
    collar_edges: CollarEdges = declared(
        "inside",
        "Which edges have a collar: {}.",
        "Which edges have a collar. inside: those between labels; all: also 0 and the end, if there is spoof.",
        signed="applied",
    )
    partial: bool = declared(
        False,
        "Measure only the utterances that both sides have.",
        "Measure the utterances that both sides have, instead of refusing.",
        signed="never",
    )
    utterances: Utterances = declared(
        "all",
        "Which utterances count: {}.",
        "drop-bonafide-CON: utterances without spoof whose id starts with CON are left out.",
        signed="never",
    )
    label: Label = declared(
        "any",
        "Label of a point: {}, a fraction, or over(0.5).",
        "A point is spoof if any of it is, if the majority or at least a fraction is, if more than a fraction is\n"
        "(over(0.5), the sensitivity of partialspoof-metrics), or by rounded edges (as in the published script).",
        ("point",),
    )
    last_point: LastPoint = declared(
        "use",
        "The last, shorter point: {}.",
        "The last, shorter point: used, only if at least half of it exists, or dropped. scored: points that end after\n"
        "the last score are dropped too.",
        ("point",),
    )
    pooling: Pooling = declared(
        "min",
        "Score of a point or utterance: {}, or top-k(5).",
        "The score of a point (or utterance) with several scores, in bona fide polarity: the lowest, the mean over\n"
        "time, the highest. For utterances also top-k(5): the mean of the 5 lowest frames; and noisy-or, for\n"
        "probabilities: ln of the product of the frames' probabilities of bona fide.",
        ("point",),
    )
    modality: Modality | None = declared(
        None,
        "Which fakes of audio-visual labels are spoof: {}.",
        "Which fakes of audio-visual metadata (LAV-DF, AV-Deepfake1M) are spoof: those of sound or picture (any, as\n"
        "both benchmarks rank), of the sound, or of the picture. It applies when the labels are read.",
        ("references",),
        signed="never",
    )

    def __post_init__(self) -> None:
        for rule in RULES.values():
            rule.check(getattr(self, rule.name))
        if (share := over(self.label)) is not None:
            # one spelling of each value, in signatures and wherever rules are compared
            object.__setattr__(self, "label", f"over({share})" if Decimal(share) else "any")
        elif self.label not in RULES["label"].values:
            self.spoof_fraction  # noqa: B018  (raises if the label is no fraction either)
        if self.collar_edges != "inside" and not self.collar:
            raise UsageError(
                f"collar_edges={self.collar_edges!r} says which edges have a collar, and there is none; give collar= "
                "too, such as collar=0.25, or leave it out"
            )

    @property
    def spoof_fraction(self) -> Fraction:
        """The share of a point's labelled time from which on it is spoof; above which, if ``spoof_strictly``."""
        if self.label == "majority":
            return Fraction(1, 2)
        if (share_text := over(self.label)) is not None:
            return Fraction(share_text)
        try:
            # repr, so that 0.3 means three tenths and not the double next to it
            share = Fraction(repr(float(self.label)))
        except (TypeError, ValueError, OverflowError):
            share = Fraction(0)
        if not 0 < share <= 1:
            valid = nearest_name(str(self.label), RULES["label"].values)
            raise UsageError(
                f"label={self.label!r}: {valid}, a fraction in (0, 1], or more than a fraction below 1: over(0.5)"
            )
        return share

    @property
    def spoof_strictly(self) -> bool:
        """True if a point is spoof only above the ``spoof_fraction``, and not at it."""
        return over(self.label) is not None

    def system_slack(self, automatic_slack: AbstractSet[int]) -> dict[str, str]:
        """The slack (ns) that scores have of themselves, where a value may depend on it.

        Frames and the ranges they stand for have their own. Where uncovered time is an error or is held, every tail is.
        """
        if self.uncovered in ("error", "hold") or not self._is_automatic(automatic_slack):
            return {}
        return {"slack": ",".join(f"{ns}ns" for ns in sorted(automatic_slack))}

    def _is_automatic(self, automatic_slack: AbstractSet[int]) -> bool:
        return self.slack is None or {duration_ns(self.slack, "slack")} == automatic_slack

    def check_modality(self, read_with: str | None) -> None:
        """Refuse a modality other than that which references were read with."""
        if self.modality not in (None, read_with):
            known = f"were read with {read_with!r}" if read_with else "have none"
            raise UsageError(
                f"modality={self.modality!r}: these references {known}; it is settled when audio-visual metadata are "
                f"read: read_references(..., modality={self.modality!r})"
            )

    def spelled(self, measure: str) -> dict[str, str]:
        """Write the rules that a measure ("range" or "point") depends on as text."""
        return {name: rule.spell(getattr(self, name)) for name, rule in RULES.items() if measure in rule.of}

    def signed(self, measure: str, automatic_slack: AbstractSet[int] = frozenset()) -> dict[str, str]:
        """Write the rules that every signature of a measure states, whatever the references are.

        ``automatic_slack`` is what the scores have where none is given (ns); to give the same says nothing more.
        """
        found = {name: text for name, text in self.spelled(measure).items() if RULES[name].signed == "always"}
        if self.uncovered == "hold":  # which holds the last score in any case
            del found["slack"]
        elif self._is_automatic(automatic_slack):
            found["slack"] = RULES["slack"].spell(None)
        return found


# Of the types of fields; all others are names to choose from.
_KINDS = {float: "seconds", float | None: "seconds", bool: "flag", Regions | None: "regions"}
_KINDS |= {Label: "label", Pooling: "pooling"}


def _declared() -> dict[str, Rule]:
    """Every rule, read off the fields of :class:`Rules`."""
    found, types = {}, get_type_hints(Rules)
    for one in fields(Rules):
        kind = _KINDS.get(types[one.name], "choice")
        names = get_args(types[one.name]) if kind in ("choice", "label", "pooling") else ()
        # of a union, the names are the first part
        values = get_args(names[0]) or names if names else ()
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
    """A named set of rules: those of one tool or text, per measure. A measure it lacks is an error.

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
# every frame with a label has one of the two, and frames on one side only are cut
_FRAMES = _exactly(gaps="bonafide", nonspeech="bonafide", uncovered="ignore")
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
        Convention(
            "xps-forensic-2026-03",
            "compute_segment_eer of XPS-Forensic in March 2026, with mean scores and majority labels of whole segments",
            {
                "point": (
                    replace(_FRAMES, label="majority", pooling="mean", last_point="scored"),
                    "interpolated",
                )
            },
        ),
        Convention(
            "xps-forensic-2026-06",
            "the code of XPS-Forensic's cross-domain audit, published in June 2026 (IJCB 2026), with the least "
            "spoof-like score of each whole segment, which is spoof if any of it is",
            {"point": (replace(_FRAMES, pooling="max", last_point="scored"), "interpolated")},
        ),
        Convention(
            "deepfense",
            "SEGMENT_EER and MULTIRES_EER of DeepFense with its defaults (pool: min, label_merge_rule: any_spoof)",
            {"point": (_FRAMES, "nearest")},
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
        hint = dated_names(convention, {name: one.about for name, one in CONVENTIONS.items()})
        if str(convention).lower() in ("partialspoof", "partial-spoof", "ps"):
            hint = "the scripts of PartialSpoof's authors are 'nii-2023'; 'partialspoof-metrics' is another package"
        raise UsageError(f"convention={convention!r}: {hint or nearest_name(convention, CONVENTIONS)}")
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
        raise UsageError("; ".join(_unknown(name) for name in unknown))
    return replace(rules, **overrides), eer_rule


# Names of arguments in other libraries, and their equivalents here.
OTHER_ARGUMENTS = {
    **dict.fromkeys(("measure", "metric", "metrics"), "measures=['range-eer', ...] of evaluate"),
    **dict.fromkeys(("alpha", "ci", "confidence_level"), "confidence=0.95"),
    **dict.fromkeys(
        ("n_bootstrap", "n_resamples", "replicates", "random_state", "seed", "interval", "rng"),
        "resampling=ss.Resampling(method='percentile', replicates=1000, seed=0) of evaluate and compare",
    ),
    **dict.fromkeys(("groupby", "group_by", "groups"), "by="),
    **dict.fromkeys(("pos_label", "positive_label"), "spoof_label="),
    **dict.fromkeys(("frame_shift", "hop_length", "stride", "resolution_ms"), "hop=, in seconds"),
    **dict.fromkeys(("polarity", "higher_is", "higher_is_better"), "higher='bonafide' or higher='spoof'"),
    **dict.fromkeys(("title", "xlabel", "ylabel"), "a call of the Axes that is returned, such as ax.set_title(...)"),
    **dict.fromkeys(("color", "colors", "cmap", "linestyle", "lw"), "style={'axes.prop_cycle': ...}, or the rcParams"),
    **dict.fromkeys(("figsize", "dpi"), "ax=, from plt.subplots(figsize=..., dpi=...)"),
    **dict.fromkeys(("save", "out", "path", "filename", "show"), "ax.figure.savefig(...) or plt.show()"),
    "sample_weight": "the durations: they weigh every score already",
    "threshold": "threshold= of evaluate, or error_curve(references, scores).at(threshold)",
}


def _unknown(name: str) -> str:
    if name in OTHER_ARGUMENTS:
        return f"there is no argument {name!r} here; use {OTHER_ARGUMENTS[name]}"
    return f"unknown rule {name!r}: {nearest_name(name, RULES)}"


@dataclass(frozen=True)
class Touched:
    """Time and number of utterances that a rule decided."""

    rule: str
    value: str
    ns: int
    utterances: int

    @property
    def seconds(self) -> float:
        """The time in seconds."""
        return self.ns / 1e9

    def __str__(self) -> str:
        """The decision as a sentence.

        >>> print(Touched("slack", "held", 2_490_000_000, 169))
        2.490 s at the end of 169 utterances took the last score (rule: slack)
        """
        where = "1 utterance" if self.utterances == 1 else f"{self.utterances} utterances"
        what = _WHAT_RULES_DO[self.rule].format(where=where, outcome=_OUTCOMES.get(self.value, self.value))
        return f"{what if self.rule == 'partial' else f'{self.seconds:.3f} s {what}'} (rule: {self.rule})"


_WHAT_RULES_DO = {
    "snap": "between edges in {where} closed",
    "extent": "between duration and last label in {where} settled by {outcome}",
    "gaps": "without a label in {where} {outcome}",
    "nonspeech": "of non-speech in {where} {outcome}",
    "collar": "around boundaries in {where} ignored",
    "regions": "outside the regions of {where} ignored",
    "overlong": "of scores after the end of {where} cut",
    "last_frame": "of last frames past the end of {where} {outcome}",
    "overlap": "under several scores in {where} took their {outcome}",
    "slack": "at the end of {where} took the last score",
    "uncovered": "without a score in {where} {outcome}",
    "utterances": "in {where} left out by {outcome}",
    "partial": "{where} left out: only the references or only the scores have them",
}
_OUTCOMES = {
    "bonafide": "counted as bona fide",
    "spoof": "counted as spoof",
    "ignore": "ignored",
    "following": "took the next label",
    "hold": "took the score before",
    "unanswered": "left unanswered",
    "use": "cut",
    "drop": "dropped with their frames",
    "min": "lowest score",
    "mean": "mean",
    "centre": "nearest score",
}

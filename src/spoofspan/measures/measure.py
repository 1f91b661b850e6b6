"""A measure, as a value with one spelling, and everything that its value depends on besides the data.

``range-eer``, ``point-eer@20ms``, ``range-f1``, ``range-fnr@fpr=0.01``, ``event-ap@iou=0.5`` are canonical spellings;
they are arguments, column titles and parts of signatures at once. :mod:`spoofspan.measures.catalogue` lists what there
is. EER rules (``nearest``, ``bucketed(-2,2,10000)``) are spelled here too.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.base.numbers import is_number, shortest_text
from spoofspan.base.seconds import milliseconds
from spoofspan.measures.catalogue import ALIASES, BASES, EVENT, EVENT_KINDS, KINDS, Kind, Parameters, all_kinds
from spoofspan.measures.kind import EventKind, Value

if TYPE_CHECKING:
    from spoofspan.data.distinct_values import DistinctValues
    from spoofspan.data.utterance_scores import VerificationScores
    from spoofspan.mass.score_mass import ScoreMass
    from spoofspan.measures.costs import VerificationErrors

EXAMPLES = (
    *(f"{basis}-{kind.name}" for kind in all_kinds() for basis in kind.bases if basis != "point"),
    *(f"point-{kind.name}@20ms" for kind in KINDS.values() if "point" in kind.bases),
)
_FAMILY = re.compile(
    r"(?P<basis>range|point|utterance|event)-(?P<name>[a-z0-9-]+?)(?P<positive>-bonafide)?(?P<macro>-macro)?"
)
LARGE = 1e7  # numbers from here on are shown with a power of ten
_RESOLUTION = re.compile(r"(?P<number>[0-9.]+)(?P<unit>ms|s)")


@dataclass(frozen=True)
class Measure:
    """Name of a measure, parsed; equal to every other of the same spelling.

    Parameters
    ----------
    family
        ``<basis>-<name>``, then ``-bonafide`` where that is the positive class, ``-macro`` for a mean over utterances.
    resolution
        Length of a point in seconds; None unless the basis is ``point``.
    given
        A constraint: the name of a measure at a threshold, and its bound as text.
    parameters
        Names and values, such as the costs of ``range-min-dcf``. :meth:`parse` fills in those that are not spelled out.

    Attributes
    ----------
    basis : str
        Unit of the amounts: ``range`` (durations), ``point``, ``utterance`` or ``event``.
    kind : Kind
        Its entry in the catalogue.
    positive : {"spoof", "bonafide"}
        The positive class.
    macro : bool
        True if it is the mean over utterances.

    Raises
    ------
    UsageError
        If there is no such measure; the message names the nearest one.

    Examples
    --------
    >>> Measure.parse("point-eer@20ms")
    Measure(family='point-eer', resolution=0.02)
    >>> str(Measure("point-eer", 0.64)), str(Measure("range-eer"))
    ('point-eer@640ms', 'range-eer')
    >>> str(Measure.parse("point-fnr@fpr=0.010@20ms"))
    'point-fnr@20ms@fpr=0.01'

    """

    family: str
    resolution: float | None = None
    given: tuple[str, str] | None = field(default=None, repr=False)
    parameters: Parameters = field(default=(), repr=False)
    # what the family says, read once
    basis: str = field(init=False, repr=False, compare=False)
    kind: Kind = field(init=False, repr=False, compare=False)
    positive: Literal["spoof", "bonafide"] = field(init=False, repr=False, compare=False)
    macro: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        found = _look_up(self.family)
        if found is None:
            raise UsageError(_no_measure(self.family))
        match, kind = found
        positive = "bonafide" if match["positive"] else "spoof"
        vars(self).update(basis=match["basis"], kind=kind, positive=positive, macro=match["macro"] is not None)

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
    def at_threshold(self) -> bool:
        """True if it is taken at one threshold: a given one, or that of the EER."""
        return self.kind.at_threshold and self.given is None

    @property
    def takes_threshold(self) -> bool:
        """True if a given threshold matters: the measure is taken at it, or makes proposals of scores there."""
        return self.at_threshold or self.kind.proposes_at_threshold

    @property
    def event_kind(self) -> EventKind:
        """Its entry in the catalogue of events."""
        if isinstance(self.kind, EventKind):
            return self.kind
        raise UsageError(f"{self} is no measure of events; event-ap@iou=0.5 is one")

    @property
    def eer(self) -> Measure:
        """The EER at whose threshold it is taken, if nothing else is said."""
        name = "boundary-eer" if self.kind.of_boundaries else "eer"
        return Measure(f"{'range' if self.basis == EVENT else self.basis}-{name}", self.resolution)

    @classmethod
    def parse(cls, spelling: str | Measure) -> Measure:
        """Read a spelling, or say which one was meant."""
        if isinstance(spelling, Measure):
            return spelling
        family, *parts = str(spelling).strip().split("@")
        family = ALIASES.get(family, family)
        found = _look_up(family)
        if found is None:
            raise UsageError(_no_measure(str(spelling)))
        match, kind = found
        resolution: float | None = None
        given: tuple[str, str] | None = None
        parameters = dict(kind.parameters)
        for part in parts:
            if "=" not in part:
                resolution = _resolution(spelling, part)
            elif kind.at_threshold and part.partition("=")[0] not in parameters:
                given = _constraint(spelling, part)
            else:
                _set_parameters(spelling, part, parameters, kind.ranges)
        if (match["basis"] == "point") != (resolution is not None):
            example = f"point-{kind.name if 'point' in kind.bases else 'eer'}@20ms"
            raise UsageError(
                f"no measure {spelling!r}: point measures need a resolution, e.g. {example}; other measures have none"
            )
        if match["positive"] and not kind.positive:
            raise UsageError(f"no measure {spelling!r}: {kind.name} has no positive class; leave -bonafide out")
        measure = cls(family, resolution, given, tuple(parameters.items()))
        if measure.macro and not kind.has_mean(measure):
            raise UsageError(
                f"no measure {spelling!r}: a mean over utterances is taken of range measures at a threshold: "
                "range-f1-macro"
            )
        return measure


def _look_up(family: str) -> tuple[re.Match[str], Kind] | None:
    """The parts of a family and its entry in the catalogue; None if there is no such measure."""
    match = _FAMILY.fullmatch(family)
    if match is None:
        return None
    kind = (EVENT_KINDS if match["basis"] == EVENT else KINDS).get(match["name"])
    return None if kind is None or match["basis"] not in kind.bases else (match, kind)


def _shortest(value: float | str) -> str:
    """The shortest text of a parameter; several numbers are text already.

    >>> _shortest(10.0), _shortest(0.12345678)
    ('10', '0.12345678')
    """
    return value if isinstance(value, str) else shortest_text(value)


def _no_measure(spelling: str) -> str:
    # a name without its basis ("eer") is one of several measures, not a slip of the pen
    name, at, rest = spelling.strip().lower().partition("@")
    bases = [basis for basis in ("range", "point", "utterance", EVENT) if _look_up(f"{basis}-{name}")]
    if bases:
        ends = {basis: at + rest or "@20ms" * (basis == "point") for basis in bases}
        whole = ", ".join(f"{basis}-{name}{end}" for basis, end in ends.items())
        return f"no measure {spelling!r}: which one? {whole} ('spoofspan explain measures' says what they are)"
    several = re.split(r"[,\s]+", spelling.strip())
    if len(several) > 1 and all(_look_up(one.partition("@")[0]) for one in several):
        each = " ".join(f"-m {one}" for one in several)
        return f"no measure {spelling!r}: these are several; give them one by one ({each})"
    # RangeEER, the class of the training metric, and range_eer, the function, are spelled like the measure here
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", "-", spelling).lower()
    close = nearest_measure(plain)
    close = close or next(iter(difflib.get_close_matches(plain, EXAMPLES, n=1, cutoff=0.5)), None)
    meant = f"did you mean {close!r}?" if close else "there are range-eer, point-eer@20ms, range-f1, ..."
    return f"no measure {spelling!r}: {meant} ('spoofspan explain measures' lists all)"


def nearest_measure(spelling: str) -> str | None:
    """The measure that was meant by words in another order or spelling; None if they name no measure.

    The name comes first: another basis, or no mean over utterances, is nearer than another name.

    >>> nearest_measure("range-macro-f1"), nearest_measure("utterance_macro_F1"), nearest_measure("Range EER")
    ('range-f1-macro', 'utterance-f1', 'range-eer')
    >>> nearest_measure("range-tdcf"), nearest_measure("point-acuracy"), nearest_measure("utterance-xyzzy")
    ('utterance-min-tdcf', 'point-accuracy@20ms', None)
    """
    plain = re.sub(r"[_\s]+", "-", spelling.partition("@")[0].strip().lower()).replace("bona-fide", "bonafide")
    words = [word for word in plain.split("-") if word]
    basis = next((word for word in words if word in (*BASES, EVENT)), None)
    added = [word for word in ("bonafide", "macro") if word in words]
    name = "-".join(word for word in words if word != basis and word not in added)
    if not name:
        return None
    kinds = [*(kind for kind in all_kinds() if basis in kind.bases), *all_kinds()]
    found = next((kind for kind in kinds if kind.name == name), None)
    if found is None and (basis is not None or added):
        found = next((kind for kind in kinds if kind.name.endswith(f"-{name}")), None)
        close = difflib.get_close_matches(name, [kind.name for kind in kinds], n=1, cutoff=0.75)
        found = found or next((kind for kind in kinds if kind.name in close), None)
    if found is None:
        return None
    basis = basis if basis in found.bases else found.bases[0]
    for left_out in ((), ("macro",), ("bonafide",), ("macro", "bonafide")):
        kept = [word for word in added if word not in left_out]
        family = "-".join([basis, found.name, *kept]) + "@20ms" * (basis == "point")
        with suppress(UsageError):
            Measure.parse(family)
            return family
    return None


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
    known = [kind.name for kind in KINDS.values() if kind.at_threshold]
    if name not in known:
        raise UsageError(f"no measure {spelling!r}: {nearest_name(name, known)}")
    try:
        value = Decimal(bound)
    except InvalidOperation:
        value = Decimal(-1)
    if not 0 <= value < Decimal("inf"):
        raise UsageError(f"no measure {spelling!r}: {bound!r} is no bound; write {name}=0.01")
    if name in ("fpr", "fnr") and value >= 1:
        raise UsageError(
            f"no measure {spelling!r}: {name}={bound} allows {100 * value.normalize():f} % and bounds nothing; "
            f"{value.normalize():f} % is {name}={(value / 100).normalize():f}"
        )
    return name, f"{value.normalize():f}"


def _set_parameters(spelling: object, text: str, parameters: dict[str, float | str], ranges: tuple[str, ...]) -> None:
    for pair in text.split(","):
        name, _, number = pair.partition("=")
        if name not in parameters:
            valid = nearest_name(name, parameters) if parameters else "it has no parameters"
            raise UsageError(f"no measure {spelling!r}: no parameter {name!r}, {valid}")
        try:
            if name in ranges and ":" in number:
                parameters[name] = _several(number)
            else:
                parameters[name] = float(number)
        except (ValueError, InvalidOperation):
            raise UsageError(f"no measure {spelling!r}: {number!r} is no number") from None


def _several(text: str) -> str:
    """Numbers from start to stop, start:step:stop, in one spelling."""
    start, step, stop = (Decimal(one) for one in text.split(":"))
    if not 0 < step < Decimal("inf") or not -Decimal("inf") < start <= stop < Decimal("inf"):
        raise ValueError(text)
    return ":".join(f"{one.normalize():f}" for one in (start, step, stop))


def parse_measures(spellings: str | Measure | Sequence[str | Measure]) -> list[Measure]:
    """Read one spelling or several; all wrong ones are reported together."""
    measures, wrong = [], []
    for spelling in [spellings] if isinstance(spellings, (str, Measure)) else spellings:
        try:
            measures.append(Measure.parse(spelling))
        except UsageError as error:
            wrong.append(str(error))
    if wrong:
        raise UsageError("; ".join(wrong))
    return measures


def short_measure(spelling: str) -> str:
    """A measure without its parameters, where these are the usual ones.

    >>> short_measure("event-psds@dtc=0.7,gtc=0.7,max_efpr=100"), short_measure("event-ar@n=5")
    ('event-psds', 'event-ar@n=5')
    """
    short = spelling.partition("@")[0]
    try:
        return short if str(Measure.parse(short)) == spelling else spelling
    except UsageError:  # of a resolution
        return spelling


def in_percent(measure: str) -> bool:
    """True if a measure, by its spelling, is a share that is read in per cent."""
    found = _look_up(measure.partition("@")[0])
    return found is None or found[1].percent


def from_printed(value: float, *measures: str) -> float:
    """A value as it is printed, in the unit of the measures.

    >>> from_printed(0.5, "range-eer"), from_printed(0.5, "range-cllr")
    (0.005, 0.5)
    """
    percent = {in_percent(one) for one in measures}
    if len(percent) > 1:
        raise UsageError(f"{value:g}: some measures are shares and some are not; take one measure")
    return value / 100 if True in percent else value


def number_text(measure: str, value: float) -> str:
    """A value as it is read, without a unit.

    >>> number_text("range-eer", 0.08552), number_text("range-min-dcf", 0.2104), number_text("range-cllr", 1e50)
    ('8.55', '0.2104', '1.000e+50')
    """
    shown, digits = (100 * value, 2) if in_percent(measure) else (value, 4)
    return plain_text(shown, digits)


def plain_text(value: float, digits: int) -> str:
    """A number with decimals; a very large one with a power of ten, not with all its digits.

    >>> plain_text(0.5, 2), plain_text(123456.789, 2), plain_text(-1e50, 4), plain_text(float("inf"), 4)
    ('0.50', '123456.79', '-1.000e+50', 'inf')
    """
    return f"{value:.{digits}f}" if abs(value) < LARGE or math.isinf(value) or math.isnan(value) else f"{value:.3e}"


def flat_name(measure: str) -> str:
    """Spell a measure as a plain word, which every logger takes as the name of a number.

    >>> flat_name("point-eer@20ms"), flat_name("range-fnr@fpr=0.01")
    ('point_eer_20ms', 'range_fnr_fpr_0_01')
    """
    return re.sub(r"[^0-9A-Za-z]+", "_", measure).strip("_")


ScoresAre = Literal["llr", "probability"]
# Arguments that the function of a measure may take: the positive class, the declared meaning of scores, the scores of a
# verification system, or its errors, which may be given as rates.
Input = Literal["positive", "scores_are", "asv_scores", "asv_errors"]


@dataclass(frozen=True)
class MeasureSettings:
    """A measure, and how its value is taken of a mass.

    Examples
    --------
    >>> import spoofspan as ss
    >>> references = ss.References.from_ranges({"u1": [(0.0, 1.0, "bonafide"), (1.0, 2.0, "spoof")]})
    >>> scores = ss.Scores.from_ranges({"u1": [(0.0, 0.9, 0.8), (0.9, 2.0, -0.4)]}, higher="bonafide")
    >>> at_zero = MeasureSettings(Measure.parse("range-f1"), threshold=0.0)
    >>> at_zero.value(ss.overlay(references, scores)).value, at_zero.read_off
    (Fraction(20, 21), 'threshold:given')
    """

    measure: Measure
    eer_rule: str = "nearest"
    threshold: float | None = None  # None: that of the EER, for measures at a threshold
    scores_are: ScoresAre | None = None
    asv_scores: VerificationScores | VerificationErrors | None = None  # of a speaker verification system, for the t-DCF
    distinct: DistinctValues | None = field(default=None, repr=False)  # of the scores, where they are known

    @property
    def read_off(self) -> str:
        """Description of how the value is computed, as in the signature."""
        return self.measure.kind.read_off(self)

    def value(self, mass: ScoreMass) -> Value:
        """Measure a mass."""
        return self.measure.kind.value(self, mass)

    def number(self, mass: ScoreMass) -> float:
        """The value of a mass, as a float."""
        return float(self.value(mass).value)

    def argument(self, name: Input) -> Any:
        """An argument of the function of a measure; a missing one is refused."""
        return _ARGUMENTS[name](self)


def _scores_are(settings: MeasureSettings) -> ScoresAre:
    if settings.scores_are is None:
        raise UsageError(
            f"{settings.measure} takes scores at their word: say what they are with scores_are='llr' or "
            "'probability' (--scores-are)"
        )
    return settings.scores_are


def _asv_scores(settings: MeasureSettings, needed: str = "asv_scores=") -> VerificationScores | VerificationErrors:
    if settings.asv_scores is None:
        raise UsageError(f"{settings.measure} needs a speaker verification system: give {needed}")
    return settings.asv_scores


def _asv_errors(settings: MeasureSettings) -> VerificationErrors:
    from spoofspan.measures.costs import verification_errors

    return verification_errors(_asv_scores(settings, "asv_scores= or asv_rates="))


_ARGUMENTS: Mapping[Input, Callable[[MeasureSettings], Any]] = {
    "positive": lambda settings: settings.measure.positive,
    "scores_are": _scores_are,
    "asv_scores": _asv_scores,
    "asv_errors": _asv_errors,
}


# Descriptions of the rules; a bucketed one has its numbers in brackets.
EER_RULES: Mapping[str, str] = {
    "nearest": "The mean of FPR and FNR at the threshold of least |FPR - FNR|; the lowest such threshold.",
    "interpolated": "Where the line between the two neighbouring operating points meets FPR = FNR.",
    "convex-hull": "Where the lower convex hull of all operating points meets FPR = FNR (ROCCH).",
    "bucketed": "Scores are quantised to n buckets between lo and hi first, as some tools do: bucketed(lo,hi,n).",
}
# Rules that need no more of the curve than the two points next to the crossing.
NEIGHBOUR_RULES = ("nearest", "interpolated")
_PLAIN = tuple(name for name in EER_RULES if name != "bucketed")
BUCKETED = re.compile(r"bucketed\((?:2max|([^,()]+),([^,()]+)),(\d{1,15})\)")  # doubles count so many buckets


def check_eer_rule(rule: str) -> str:
    """Return the canonical spelling of an EER rule.

    >>> check_eer_rule("bucketed(-2.0, 2e0, 10000)")
    'bucketed(-2,2,10000)'
    """
    spelled = str(rule).replace(" ", "")
    if spelled in _PLAIN:
        return spelled
    match = BUCKETED.fullmatch(spelled)
    if match is None or not all(map(is_number, match.groups("0"))):
        raise UsageError(f"eer_rule={rule!r}: valid: {', '.join(_PLAIN)}, bucketed(lo,hi,n), bucketed(2max,n)")
    edges = "2max" if match[1] is None else ",".join(shortest_text(float(edge)) for edge in match.groups()[:2])
    return f"bucketed({edges},{int(match[3])})"

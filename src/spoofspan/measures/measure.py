"""A measure: what to measure, as a value with one spelling.

``range-eer``, ``point-eer@20ms``, ``range-f1``, ``range-fnr@fpr=0.01``, ``event-ap@iou=0.5`` are canonical spellings;
they are arguments, column titles and parts of signatures at once. :mod:`spoofspan.measures.catalogue` lists what there
is.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Literal

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.base.numbers import shortest_text
from spoofspan.base.seconds import milliseconds
from spoofspan.measures.catalogue import ALIASES, BASES, EVENT, KINDS, Kind, Parameters, all_kinds, kinds_of

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
    """What to measure: a parsed value, equal to every other of the same spelling.

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
        What is counted: ``range`` (durations), ``point``, ``utterance`` or ``event``.
    kind : Kind
        Its entry in the catalogue.
    positive : {"spoof", "bonafide"}
        The positive class.
    macro : bool
        Whether it is the mean over utterances.

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
        """Whether it is taken at one threshold: a given one, or that of the EER."""
        return self.kind.group == "threshold" and self.given is None

    @property
    def takes_threshold(self) -> bool:
        """Whether a given threshold matters: the measure is taken at it, or makes proposals of scores there."""
        return self.at_threshold or (self.basis == EVENT and not self.kind.all_thresholds)

    @property
    def eer(self) -> Measure:
        """The EER at whose threshold it is taken, if nothing else is said."""
        return Measure(f"{'range' if self.basis == EVENT else self.basis}-eer", self.resolution)

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
            elif kind.group == "threshold" and part.partition("=")[0] not in parameters:
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
        if measure.macro and not (kind.averaged or (measure.at_threshold and measure.basis == "range")):
            raise UsageError(
                f"no measure {spelling!r}: a mean over utterances is taken of range measures at a threshold: "
                "range-f1-macro"
            )
        return measure


def _look_up(family: str) -> tuple[re.Match[str], Kind] | None:
    """The parts of a family and its entry in the catalogue; None if there is no such measure."""
    match = _FAMILY.fullmatch(family)
    kind = None if match is None else kinds_of(match["basis"]).get(match["name"])
    return None if match is None or kind is None or match["basis"] not in kind.bases else (match, kind)


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
    several = spelling.split(",")
    if len(several) > 1 and all(_look_up(one.strip().partition("@")[0]) for one in several):
        each = " ".join(f"-m {one.strip()}" for one in several)
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
    known = [kind.name for kind in KINDS.values() if kind.group == "threshold"]
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


def in_percent(measure: str) -> bool:
    """Whether a measure, by its spelling, is a share that is read in per cent."""
    found = _look_up(measure.partition("@")[0])
    return found is None or found[1].percent


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

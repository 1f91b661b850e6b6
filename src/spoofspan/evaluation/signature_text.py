"""Signatures as text: their fields, one parser for every printed form, and the printer of the short form.

A signature is printed in full, as ``comparable || input``, or short, for papers, with at most 80 characters::

    range-eer|default|eer:nearest|gaps:bonafide|rules:2|refs:7bfc076a|n:169|v0.1

The short form has the measure, the convention, every rule that differs from it, the version of the rules, the first
digits of the hashes, the number of utterances and the version of spoofspan. If 80 characters are too few, digits are
left out first, then the EER rule if it is that of the convention, then the hash of the scores; then names are shortened
to unique prefixes. Fields that still do not fit are replaced by their number and a hash (``+2:1f3a``).

A copy may have lost or gained line breaks, with or without hyphens; it may have the comment signs of LaTeX, the escapes
of Markdown or the ligatures of a PDF. An incomplete signature is an error.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from hashlib import sha256
from itertools import product
from typing import Any, NoReturn, TypeVar

from spoofspan.base.errors import UsageError
from spoofspan.base.seconds import SECOND
from spoofspan.base.version import __version__
from spoofspan.data.rules import CONVENTIONS, RULES, RULES_VERSION, Rule, over, top_k
from spoofspan.measures.measure import EER_RULES, Measure, check_eer_rule

T = TypeVar("T")
MOST_CHARACTERS = 80
_HASH = r"(?:[0-9a-f]{16}|unsigned-[0-9a-f]{8})"
_DIGITS = r"(?:[0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{4})"
_NUMBER = r"-?(?:[0-9.]+(?:e[+-]?[0-9]+)?|inf)"
# Measures in signatures that are not in the catalogue.
BISECTION = re.compile(r"bisection-eer\((?P<quantiles>integer|real),(?P<precision>[0-9.e+-]+)\)")
_OTHER_MEASURES = re.compile(rf"floor@[0-9.]+ms|{BISECTION.pattern}|calibration-[a-z-]+")
_MADE = r"smoothing:(?P<smoothing>\d{1,5}),min_duration:(?P<min_duration>\d+ns),merge_gap:(?P<merge_gap>\d+ns)"
_SCORES_ARE = r"scores-are:(?P<scores_are>llr|probability|None)"
_READ_OFF = tuple(
    re.compile(one)
    for one in (
        "bisection|all-thresholds|proposals:given",
        r"threshold:(?:(?P<threshold>given)|eer\((?P<eer>.+)\))",
        rf"proposals:(?:all-thresholds|threshold:(?:(?P<threshold>given)|eer\((?P<eer>.+)\))),{_MADE}",
        _SCORES_ARE,
        rf"asv-(?:rates:(?P<asv_rates>{_NUMBER},{_NUMBER},{_NUMBER})|scores:(?P<asv_scores>{_HASH}))(?:,{_SCORES_ARE})?",
        rf"prior:(?P<prior>none|{_NUMBER})(?:,ridge:(?P<ridge>{_NUMBER}))?",
        r"(?P<eer>.+)",
    )
)
# Default options of proposals, left out of short signatures.
_MADE_BY_DEFAULT = {"smoothing": "1", "min_duration": "0ns", "merge_gap": "0ns"}
# Settings in the short form, with patterns of their values.
_SETTINGS = {
    "eer": r".+",
    "at": _NUMBER,
    "scores-are": "llr|probability|None",
    "asv-rates": f"{_NUMBER},{_NUMBER},{_NUMBER}",
    "asv-scores": _DIGITS,
    "smoothing": r"\d{1,5}",
    "min_duration": r"[0-9.]+(?:ms|ns)",
    "merge_gap": r"[0-9.]+(?:ms|ns)",
}
# Hashes of scores by kind, with their names in the short form.
_SYSTEMS = {"scores": "scores", "score-rows": "rows", "utterance-scores": "utt-scores", "proposals": "proposals"}
_INPUT = re.compile(
    rf"(?P<kind>{'|'.join(_SYSTEMS)}):(?P<hash>{_HASH}(?:,{_HASH})*)"
    rf"(?:\|slack:(?P<slack>\d+ns(?:,\d+ns)*))?(?:\|threshold:(?P<threshold>{_NUMBER}))?"
)
_SYSTEM_LINE = re.compile(rf"^[ \t]*(?P<name>\S.*?): (?P<input>{_INPUT.pattern})[ \t]*$", re.MULTILINE)
# Further fields of the short form, with patterns of their values.
_SHORT_FIELDS = {"rules": r"\d{1,12}", "n": r"\d{1,12}", "refs": _DIGITS, "listing": _DIGITS, "labels": "given"}
_BARS = re.compile(r"\|\s*\|")
# Fields that are no rules, with patterns of their values; the last three end every comparable part.
_OTHER_FIELDS = {"utterance-scores": "given", "labels": "given", "listing": _HASH}
_LAST_FIELDS = {"rules": r"[1-9]\d{0,5}", "references": _HASH, "utterances": rf"\d+:{_HASH}"}
_FORMS = {
    "seconds": r"\d+ns|auto",
    "flag": "True|False",
    "regions": f"all|given|{_HASH}",
    "label": r"1|\d+/\d+",
}


@dataclass(frozen=True)
class SignatureFields:
    """The fields of a signature in any of its printed forms.

    Parameters
    ----------
    measure
        The measure, in its canonical spelling.
    settings
        Settings of the value by name: ``eer``, ``threshold``, ``scores-are``, ``asv-rates``, ``smoothing``, ...
    rules
        The stated rules, with their values as text; in the short form, those that differ from the convention.
    hashes
        ``references``, and ``utterances`` if stated; first digits only in a short signature.
    count
        The number of utterances.
    systems
        By the name of the system (empty for a single one): the hash of its scores by kind, ``slack``, ``threshold``.
    version
        The version of the rules.
    convention, spoofspan
        The convention and the version of spoofspan; None if not stated.
    omitted
        The hash of fields that did not fit into a short signature; empty if all did.
    short
        Whether it was read from the short form.
    """

    measure: str
    settings: Mapping[str, str]
    rules: Mapping[str, str]
    hashes: Mapping[str, str]
    version: int
    count: int | None = None
    systems: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    convention: str | None = None
    spoofspan: str | None = None
    omitted: str = ""
    short: bool = False

    @property
    def system(self) -> Mapping[str, str]:
        """Hash, slack and threshold of the first system."""
        return next(iter(self.systems.values()), {})

    @property
    def system_hash(self) -> str:
        """The hash of the scores of any kind."""
        return next((value for name, value in self.system.items() if name in _SYSTEMS), "")

    @property
    def all_hashes(self) -> dict[str, str]:
        """The hashes of references, utterances and scores, by kind."""
        return {**self.hashes, **{name: value for name, value in self.system.items() if name in _SYSTEMS}}

    def named(self) -> dict[str, str]:
        """All fields that affect comparability or identify an input, by names for people."""
        found = {"measure": self.measure, **self.settings}
        found |= {f"rule {name}" if name in RULES else name: value for name, value in self.rules.items()}
        found |= {"version of the rules": str(self.version), **self.hashes}
        if self.count is not None:
            found["number of utterances"] = str(self.count)
        said = {_SYSTEM_WORDS.get(name, name): value for name, value in self.system.items()}
        if self.convention is not None:
            found["convention"] = self.convention
        return found | said

    def differences(self, other: SignatureFields) -> dict[str, tuple[str, str]]:
        """The fields in which two signatures differ, by name; fields that a short one leaves out are not compared."""
        first, second = self.named(), other.named()
        short = self.short or other.short
        found = {}
        for name in {**first, **second}:
            one, two = first.get(name, ""), second.get(name, "")
            if one == two or (short and name in _MAY_BE_LEFT_OUT and not (one and two)):
                continue
            if short and name in _HASHED and one and two and (one.startswith(two) or two.startswith(one)):
                continue
            found[name] = (one or NOTHING, two or NOTHING)
        return found

    def under(self, convention: str) -> SignatureFields:
        """The fields as in the short form: with a convention, and the rules that differ from it."""
        settings = {name: value for name, value in self.settings.items() if _MADE_BY_DEFAULT.get(name) != value}
        rules, _ = nearest_rules(self.measure, self.rules, convention)
        systems = {
            name: {key: value for key, value in said.items() if key != "slack"} for name, said in self.systems.items()
        }
        return replace(self, settings=settings, rules=rules, convention=convention, systems=systems, short=True)


NOTHING = "nothing"
_SYSTEM_WORDS = dict.fromkeys(_SYSTEMS, "scores") | {"threshold": "given threshold"}
_HASHED = ("references", "utterances", "scores", "asv-scores", "rule regions", "listing")
_MAY_BE_LEFT_OUT = ("eer", "utterances", "scores", "slack", "number of utterances", "convention", "utterance-scores")


def kind_of(measure: str) -> str:
    """The kind of rules of a measure: ``range`` or ``point``."""
    basis = "range" if _OTHER_MEASURES.fullmatch(measure) else Measure.parse(measure).basis
    return "range" if basis in ("range", "event") else "point"


@cache
def convention_rules(measure: str, convention: str) -> list[tuple[dict[str, str], str]]:
    """The sets of rules (as text) and EER rules of a convention for a measure; empty if it does not define any."""
    kind, sets = kind_of(measure), CONVENTIONS[convention].measures
    found = [sets[one] for one in (kind, f"finer-{kind}") if one in sets]
    # an utterance has one point, whatever its length
    last_point = {"last_point": "use"} if measure.startswith("utterance-") else {}
    return [(rules.spelled(kind) | last_point, eer_rule) for rules, eer_rule in found]


def nearest_rules(measure: str, stated: Mapping[str, str], convention: str) -> tuple[dict[str, str], str]:
    """The stated rules that differ from a convention, and its EER rule; of two sets of rules, the nearer one."""
    found = [
        ({name: value for name, value in stated.items() if rules.get(name) != value}, eer_rule)
        for rules, eer_rule in convention_rules(measure, convention)
    ]
    return min(found, key=lambda one: len(one[0]), default=(dict(stated), "nearest"))


def nearest_conventions(fields: SignatureFields) -> dict[str, dict[str, str]]:
    """The conventions that differ least from the stated rules and EER rule, with the differences."""
    found = {}
    for name in CONVENTIONS:
        if not convention_rules(fields.measure, name):
            continue
        apart, eer_rule = nearest_rules(fields.measure, fields.rules, name)
        apart = {rule: value for rule, value in apart.items() if rule in RULES}
        if fields.settings.get("eer", eer_rule) != eer_rule:
            apart["eer"] = fields.settings["eer"]
        found[name] = apart
    fewest = min(map(len, found.values()), default=0)
    return {name: apart for name, apart in found.items() if len(apart) == fewest}


# ---------------------------------------------------------------- the short form


def short_text(fields: SignatureFields, convention: str = "default", spoofspan: str = __version__) -> str:
    """The most detailed short form of a full signature with at most 80 characters."""
    return next(one for one in _short_texts(fields.under(convention), spoofspan) if len(one) <= MOST_CHARACTERS)


def _short_texts(fields: SignatureFields, spoofspan: str) -> Iterator[str]:
    own_eer = {eer_rule for _, eer_rule in convention_rules(fields.measure, str(fields.convention))}
    kind, said = next(((key, value) for key, value in fields.system.items() if key in _SYSTEMS), ("", ""))
    needed = kind not in ("scores", "score-rows")  # other kinds are not stated elsewhere

    def written(
        spelled: Callable[[str, str], str],
        digits: int,
        *,
        eer: bool = False,
        scores: bool = True,
        kept: int | None = None,
    ) -> str:
        settings = [spelled(*one) for one in _short_settings(fields) if eer or one[0] != "eer" or one[1] not in own_eer]
        deviations = [spelled(*one) for one in fields.rules.items() if one[0] not in _IMPLIED]
        if kept is not None:
            rest = deviations[kept:]
            deviations[kept:] = [f"+{len(rest)}:{_digest('|'.join(rest))}"]
        return _joined(fields, [*settings, *deviations], digits, kind if scores or needed else "", said, spoofspan)

    for spelled in (_whole, _cut):
        yield from (written(spelled, digits, eer=True) for digits in (8, 6))
        yield from (written(spelled, digits) for digits in (8, 6, 4))
        yield from (written(spelled, digits, scores=False) for digits in (8, 4))
    for kept in reversed(range(len(fields.rules))):
        yield written(_cut, 4, scores=False, kept=kept)
    everything = f"+:{_digest('|'.join(f'{name}={value}' for name, value in sorted(fields.named().items())))}"
    yield _joined(fields, [everything], 4, "", "", spoofspan)
    yield _joined(replace(fields, measure=f"{fields.measure[:12]}..."), [everything], 4, "", "", spoofspan)


def _joined(fields: SignatureFields, stated: Sequence[str], digits: int, kind: str, said: str, spoofspan: str) -> str:
    counted = [] if fields.count is None else [f"n:{fields.count}"]
    system = [f"{_SYSTEMS[kind]}:{said[:digits]}"] if kind else []
    hashed = [f"rules:{fields.version}", f"refs:{fields.hashes['references'][:digits]}", *counted, *system]
    release = f"v{'.'.join(spoofspan.split('.')[:2])}"
    return "|".join([fields.measure, str(fields.convention), *stated, *hashed, release])


def _short_settings(fields: SignatureFields) -> Iterator[tuple[str, str]]:
    for name, value in fields.settings.items():
        if name != "threshold":
            yield name, value
        elif "threshold" in fields.system:  # systems that share a signature may have thresholds of their own
            yield "at", fields.system["threshold"]


# Fields of the long form that the kind of the hash implies.
_IMPLIED = ("utterance-scores",)


def _whole(name: str, value: str) -> str:
    return f"{name}:{_in_short(value, 4)}"


def _cut(name: str, value: str) -> str:
    """A field with unique prefixes of its name and value, of at least three characters."""
    rule = RULES.get(name)
    if name == "eer" and value in EER_RULES:
        return f"eer:{_prefix(value, EER_RULES)}"
    if rule is None:
        return _whole(name, value)
    value = _prefix(value, rule.values) if value in rule.values else _in_short(value, 4)
    return f"{_prefix(name, RULES)}:{value}"


def _prefix(name: str, among: Iterable[str]) -> str:
    others = [one for one in among if one != name]
    lengths = (n for n in range(3, len(name)) if not any(one.startswith(name[:n]) for one in others))
    return name[: next(lengths, len(name))]


def _in_short(value: str, digits: int) -> str:
    """Milliseconds for nanoseconds, and the first digits of a hash."""
    if (found := re.fullmatch(r"(\d+)ns", value)) and not int(found[1]) % 1000:
        return f"{int(found[1]) / 1e6:.12g}ms"
    return value[:digits] if re.fullmatch(_HASH, value) else value


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:4]


# ---------------------------------------------------------------- reading


def is_signature(text: str) -> bool:
    """True if a text looks like a signature or a part of one.

    >>> is_signature("range-eer|default|rules:2|refs:7bfc076a|v0.1"), is_signature("range-eer")
    (True, False)
    """
    return "|" in text or '"comparable"' in text or _INPUT.fullmatch("".join(_plain(text).split())) is not None


def parse_signature(text: str) -> SignatureFields:
    """Read a signature in any of its printed forms.

    >>> fields = parse_signature("range-eer|default|eer:near- est|gaps:bonafide|rules:2|refs:7bfc 076a|n:169|v0.1")
    >>> fields.convention, dict(fields.rules), dict(fields.settings), fields.hashes["references"]
    ('default', {'gaps': 'bonafide'}, {'eer': 'nearest'}, '7bfc076a')
    """
    plain = _plain(text)
    whole = re.sub(r"-?\s+", "", plain)
    if _INPUT.fullmatch("".join(plain.split())):
        return SignatureFields("", {}, {}, {}, RULES_VERSION, systems={"": _parsed_input(plain)})
    comparable, bars, said = plain.partition("||")
    if "refs:" in whole and "references:" not in whole and not bars:
        return _parse_short(comparable)
    systems: dict[str, Mapping[str, str]] = {}
    if bars:
        systems[""] = _parsed_input(said)
    else:
        systems = {match["name"]: _parsed_input(match["input"]) for match in _SYSTEM_LINE.finditer(comparable)}
        comparable = _SYSTEM_LINE.sub("", comparable)
    return _parse_full(comparable, systems)


def _plain(text: str) -> str:
    """A signature without the marks of output formats and of copying from a page."""
    unquoted = _from_json(text)
    normal = unicodedata.normalize("NFKC", unquoted.replace("\u00ad\n", "").replace("\u00ad", ""))
    normal = re.sub("[\u2010-\u2015\u2212]", "-", normal).replace("\u200b", "")
    lines = normal.replace("\\", "").splitlines()
    without_signs = "\n".join(line.lstrip("%").rstrip() if line.startswith("%") else line.rstrip() for line in lines)
    return _BARS.sub("||", without_signs).strip()


def _from_json(text: str) -> str:
    """Join both parts of a signature in JSON; any other text is returned as it is."""
    if '"comparable"' not in text:
        return text
    from spoofspan.base.documents import parse_json  # imports NumPy

    inside = text.strip().rstrip(",")
    for candidate in (inside, f"{{{inside}}}"):
        try:
            found = parse_json(candidate)
        except ValueError:
            continue
        found = found.get("signature", found) if isinstance(found, dict) else None
        if isinstance(found, dict) and isinstance(found.get("comparable"), str):
            return f"{found['comparable']} || {found['input']}" if "input" in found else str(found["comparable"])
    return text


def refuse(reason: str) -> NoReturn:
    """Raise an error with the reason why a text is no signature."""
    raise UsageError(
        f"this signature cannot be read: {reason}; copy all of it, from the name of the measure to the last hash "
        "('spoofspan explain signature' says what it consists of)"
    )


def _readings(piece: str) -> Iterator[str]:
    """The possible texts of a piece with line breaks: a hyphen before one may belong to it or not."""
    first, *rest = re.split(r"-(?:\s+|$)", piece.strip())
    if len(rest) > 6:
        refuse(f"{piece.strip()!r} is broken too often")
    for signs in product(("-", ""), repeat=len(rest)):
        yield "".join((first + "".join(sign + part for sign, part in zip(signs, rest, strict=True))).split())


def _read(piece: str, read: Callable[[str], T | None], what: str) -> T:
    """The result of the first reading of a piece that is valid."""
    for one in _readings(piece):
        if (found := read(one)) is not None:
            return found
    return refuse(f"{next(_readings(piece))!r} {what}")


def _parsed_input(text: str) -> dict[str, str]:
    found = _read(text, _INPUT.fullmatch, "is not the hash of the scores, which comes after ||")
    system = {found["kind"]: found["hash"], "slack": found["slack"], "threshold": found["threshold"]}
    return {name: value for name, value in system.items() if value is not None}


def _measure_at_end(text: str) -> str:
    """The measure at the end of a text; words before it name the system."""
    words = re.split(r"(?<!-)\s+", text.strip())
    for first in reversed(range(len(words))):
        for name in _readings("".join(words[first:]).removeprefix("signature")):
            if is_measure(name) and (not first or words[0] == "signature"):
                return name
    return refuse(f"{text.strip()!r} is no measure")


def is_measure(name: str) -> bool:
    """True if a text is a measure in the spelling of signatures."""
    try:
        Measure.parse(name)
    except UsageError:
        return _OTHER_MEASURES.fullmatch(name) is not None
    return True


def _parse_full(comparable: str, systems: Mapping[str, Mapping[str, str]]) -> SignatureFields:
    first, *rest = comparable.split("|")
    measure = _measure_at_end(first)
    read_off, *others = rest or [""]
    settings = _read(read_off, _settings, "is no EER rule, and nothing else by which a value is read off")
    others = [one for one in others if one.strip()]
    count = len(_LAST_FIELDS)
    rules = [_read(one, _rule, "is no rule") for one in others[:-count]]
    if len(dict(rules)) < len(rules):
        refuse("a rule is there twice")
    last = [
        _read(one, re.compile(f"{name}:(?P<value>{form})").fullmatch, f"is not the field {name!r} of a signature")
        for (name, form), one in zip(_LAST_FIELDS.items(), others[-count:], strict=False)
    ]
    if len(last) < count:
        refuse(f"it does not end with {', '.join(_LAST_FIELDS)}")
    values = {name: one["value"] for name, one in zip(_LAST_FIELDS, last, strict=True)}
    number, _, used = values["utterances"].partition(":")
    hashes = {"references": values["references"], "utterances": used}
    return SignatureFields(measure, settings, dict(rules), hashes, int(values["rules"]), int(number), systems)


def _settings(read_off: str) -> dict[str, str] | None:
    """The settings of a value by name; None if the text is not valid."""
    for pattern in _READ_OFF:
        found = pattern.fullmatch(read_off)
        if found is None:
            continue
        settings = {name: value for name, value in found.groupdict().items() if value is not None}
        if "eer" in settings:
            try:
                check_eer_rule(settings["eer"])
            except UsageError:
                continue
        return {re.sub("^(asv|scores)_", r"\1-", name): value for name, value in settings.items()}
    return None


def _rule(text: str) -> tuple[str, str] | None:
    name, _, value = text.partition(":")
    if name in RULES:
        good = _is_value(RULES[name], value)
    else:
        good = name in _OTHER_FIELDS and re.fullmatch(_OTHER_FIELDS[name], value) is not None
    return (name, value) if good else None


def _is_value(rule: Rule, value: str) -> bool:
    """True if a text is a value of a rule in a signature."""
    if value in rule.values:
        return True
    if rule.kind == "pooling":
        return top_k(value) is not None
    if rule.kind == "label" and over(value) is not None:
        return True
    return rule.kind in _FORMS and re.fullmatch(_FORMS[rule.kind], value) is not None


def _parse_short(text: str) -> SignatureFields:
    first, second, *rest = (*text.split("|"), "")
    convention = _read(second, CONVENTIONS.get, "is no convention").name
    found: dict[str, str] = {}
    settings: dict[str, str] = {}
    rules: dict[str, str] = {}
    systems: dict[str, str] = {}
    measure = "" if "..." in first else _measure_at_end(first)
    for piece in rest:
        if not piece.strip():
            continue
        name, value = _short_field(piece)
        is_rule = name in RULES or name in _OTHER_FIELDS
        place = settings if name in _SETTINGS else systems if name in _SYSTEMS else rules if is_rule else found
        if name in place:
            refuse(f"{name} is there twice")
        place[name] = value
    for name in ("rules", "refs", "v"):
        if name not in found:
            refuse(f"it has no field {name!r}")
    if "at" in settings:
        settings["threshold"], systems["threshold"] = "given", settings.pop("at")
    return SignatureFields(
        measure,
        settings,
        rules | ({"utterance-scores": "given"} if "utterance-scores" in systems else {}),
        {"references": found["refs"]},
        int(found["rules"]),
        int(found["n"]) if "n" in found else None,
        {"": systems} if systems else {},
        convention,
        found["v"],
        omitted=found.get("+", ""),
        short=True,
    )


def _short_field(piece: str) -> tuple[str, str]:
    """The name and the value of a field of the short form."""
    for one in _readings(piece):
        if found := re.fullmatch(r"v(\d+(?:\.\w+)*)", one):
            return "v", found[1]
        if found := re.fullmatch(r"\+(\d*:[0-9a-f]{4})", one):
            return "+", found[1]
        name, _, value = one.partition(":")
        if name in _SHORT_FIELDS and re.fullmatch(_SHORT_FIELDS[name], value):
            return name, value
        for long, short in _SYSTEMS.items():
            if name == short and re.fullmatch(_DIGITS, value):
                return long, value
        if name in _SETTINGS and re.fullmatch(_SETTINGS[name], value):
            with suppress(UsageError):
                return name, check_eer_rule(_by_prefix(value, EER_RULES) or value) if name == "eer" else in_nanoseconds(
                    value
                )
        if (rule := _by_prefix(name, RULES)) is not None:
            known = RULES[rule]
            whole = in_nanoseconds(value) if known.kind == "seconds" else _by_prefix(value, known.values) or value
            if _is_value(known, whole) or (known.kind == "regions" and re.fullmatch(_DIGITS, whole)):
                return rule, whole
    return refuse(f"{next(_readings(piece))!r} is no field of a short signature")


def _by_prefix(text: str, names: Iterable[str]) -> str | None:
    """The name that equals a text, or else the only one that begins with it."""
    found = [one for one in names if one == text] or [one for one in names if len(text) > 2 and one.startswith(text)]
    return found[0] if len(found) == 1 else None


def in_nanoseconds(value: str) -> str:
    """Convert milliseconds to the spelling of signatures.

    >>> in_nanoseconds("12.5ms"), in_nanoseconds("auto")
    ('12500000ns', 'auto')
    """
    found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,6})?)ms", value)
    return value if found is None else f"{int(Fraction(found[1]) * 1_000_000)}ns"


def rule_value(name: str, text: str) -> Any:
    """Convert the value of a rule in a signature or a result file to an argument.

    >>> rule_value("collar", "50000000ns"), rule_value("label", "3/10"), rule_value("slack", "auto")
    (0.05, 0.3, None)
    """
    rule = RULES.get(name)
    if rule is None or not _is_value(rule, text):
        raise UsageError(f"the rule {name!r} has no value {text!r}")
    if rule.kind == "seconds":
        return None if text == "auto" else int(text.removesuffix("ns")) / SECOND
    if rule.kind == "flag":
        return text == "True"
    if rule.kind == "label" and text not in rule.values and over(text) is None:
        return float(Fraction(text))
    return text

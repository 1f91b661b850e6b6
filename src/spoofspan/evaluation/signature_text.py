"""Signatures as they are printed, read back and explained field by field.

A signature is printed in full, as ``comparable || input``, or as short hashes of its parts. Several measures or systems
may share a part. A copy may have lost its line ends or gained some, and may carry the comment sign of LaTeX or the
escapes of Markdown. What cannot be read is an error: half a signature says nothing about a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NoReturn

from spoofspan.base.errors import UsageError
from spoofspan.data.rules import RULES, RULES_VERSION, top_k
from spoofspan.measures.eer_rules import check_eer_rule
from spoofspan.measures.measure import Measure

_HASH = r"(?:[0-9a-f]{16}|unsigned-[0-9a-f]{8})"
_NUMBER = r"-?(?:[0-9.]+(?:e[+-]?[0-9]+)?|inf)"
_INPUT = re.compile(
    rf"(?:scores|score-rows|utterance-scores|proposals):{_HASH}(?:,{_HASH})*"
    rf"(?:\|slack:\d+ns(?:,\d+ns)*)?(?:\|threshold:{_NUMBER})?"
)
_IN_FULL = re.compile(r"\s*".join(map(re.escape, "(infull:--signature)")))  # broken anywhere
_BARS = re.compile(r"\|\s*\|")
_SYSTEM_LINE = re.compile(rf"^[ \t]*(?P<name>\S.*?): (?P<input>{_INPUT.pattern})[ \t]*$", re.MULTILINE)
_SHORT = re.compile(r"(?:^|(?<=\s))(?:[0-9a-f]\s*){7}[0-9a-f]$")
_OTHER_MEASURES = re.compile(r"floor@[0-9.]+ms|bisection-eer\((?:integer|real),[0-9.e+-]+\)|calibration-[a-z-]+")
_MADE = r"smoothing:\d+,min_duration:\d+ns,merge_gap:\d+ns"
_READ_OFF = re.compile(
    rf"bisection|all-thresholds|threshold:given|scores-are:(?:llr|probability)|prior:(?:none|{_NUMBER},ridge:{_NUMBER})"
    rf"|asv-(?:rates:{_NUMBER},{_NUMBER},{_NUMBER}|scores:{_HASH})(?:,scores-are:(?:llr|probability|None))?"
    rf"|proposals:given|proposals:(?:all-thresholds|threshold:given),{_MADE}"
)
_AT_EER = re.compile(rf"threshold:eer\((?P<bare>.+)\)|proposals:threshold:eer\((?P<made>.+)\),{_MADE}")
# What is no rule, and what it may say; the last three end every comparable part.
_OTHER_FIELDS = {"utterance-scores": "given", "labels": "given", "listing": _HASH}
_LAST_FIELDS = {"rules": r"\d+", "references": _HASH, "utterances": rf"\d+:{_HASH}"}
_ABOUT = {
    "rules": "version of the rules",
    "references": "hash of the references",
    "utterance-scores": "scores of whole utterances, not the lowest of each",
    "labels": "labels of whole utterances",
    "listing": "hash of the spoof ranges as they are listed",
}
_ABOUT_SYSTEM = {
    "scores": "hash of the scores",
    "score-rows": "hash of the scores, row by row",
    "utterance-scores": "hash of the scores",
    "proposals": "hash of the proposals",
    "slack": "the automatic one of these scores",
    "threshold": "as given, with the sign of scores that are higher for bona fide",
}


def is_signature(text: str) -> bool:
    """Whether a text is meant as a signature, or as a part of one.

    >>> is_signature("range-eer 99fea0c7 || 69c5edc4"), is_signature("signature"), is_signature("range-eer")
    (True, False, False)
    """
    plain = _plain(text)
    words = plain.split()
    labelled = plain.startswith("signature ") and _SHORT.search(plain) is not None
    return "|" in plain or labelled or '"comparable"' in text or bool(_INPUT.fullmatch("".join(words)) or _alone(plain))


def explain_signature(text: str) -> str:
    """Explain a signature in any of its printed forms.

    >>> print(explain_signature("range-eer 99fea0c7 || 69c5edc4").splitlines()[0])
    A short signature: the first eight characters of a hash of each part.
    """
    plain = _plain(text)
    squeezed = "".join(plain.split())
    if _INPUT.fullmatch(squeezed):
        return "\n".join(_explained_systems({"": squeezed}))
    if "|" in squeezed.replace("||", ""):
        return _explain_full(plain)
    return _explain_short(" ".join(plain.split()))


def _plain(text: str) -> str:
    """A signature without what the formats of output put around it."""
    unquoted = _from_json(text)
    lines = unquoted.replace("\\", "").splitlines()
    without_signs = "\n".join(line.lstrip("%").rstrip() if line.startswith("%") else line.rstrip() for line in lines)
    return _BARS.sub("||", _IN_FULL.sub("", without_signs)).strip()


def _from_json(text: str) -> str:
    """Both parts of a signature as JSON has them; any other text as it is."""
    if '"comparable"' not in text:
        return text
    from spoofspan.base.documents import parse_json  # it takes NumPy, which other words do without

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


def _alone(plain: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{8}", plain) is not None


def _refuse(reason: str) -> NoReturn:
    raise UsageError(
        f"this signature cannot be read: {reason}; copy all of it, from the name of the measure to the last hash "
        "('spoofspan explain signature' says what it consists of)"
    )


# ---------------------------------------------------------------- in full


def _explain_full(plain: str) -> str:
    comparable, bars, said = plain.partition("||")
    systems: dict[str, str] = {}
    if bars:
        systems[""] = "".join(said.split())
        if not _INPUT.fullmatch(systems[""]):
            _refuse(f"after || comes {systems['']!r}, where the hash of the scores should be")
    else:
        systems = {match["name"]: match["input"] for match in _SYSTEM_LINE.finditer(comparable)}
        comparable = _SYSTEM_LINE.sub("", comparable)
    first, *rest = comparable.split("|")
    measure = _measure_at_end(first)
    read_off, *fields = ("".join(field.split()) for field in (*rest, ""))
    if not _is_read_off(read_off):
        _refuse(f"{read_off!r} is no EER rule, and nothing else by which {measure} is read off")
    lines = [
        "Numbers may be compared if this part of their signatures is the same:",
        f"  measure {measure}, {'read off: ' if ':' in read_off else 'EER rule '}{read_off}",
    ]
    version = 0
    for name, value in _checked_fields([field for field in fields if field]):
        about = _ABOUT.get(name)
        if name == "utterances":
            about = "number and hash of the utterances" if ":" in value else "which utterances count"
        version = int(value) if name == "rules" else version
        lines.append(f"  {name} = {value}" + (f"   ({about})" if about else ""))
    if version < RULES_VERSION:
        lines.append(
            f"It was made under version {version} of the rules and has no equal under version {RULES_VERSION}; measure "
            "again to compare."
        )
    else:
        lines.append("Rules about references that are not listed changed no label.")
    return "\n".join([*lines, *_explained_systems(systems)])


def _measure_at_end(text: str) -> str:
    """The measure that a text ends with; words before it say whose signature it is."""
    words = text.split()
    for first in reversed(range(len(words))):
        name = "".join(words[first:])
        if _is_measure(name) and (not first or words[0] == "signature"):
            return name
    return _refuse(f"{text.strip()!r} is no measure")


def _is_measure(name: str) -> bool:
    try:
        Measure.parse(name)
    except UsageError:
        return _OTHER_MEASURES.fullmatch(name) is not None
    return True


def _is_read_off(text: str) -> bool:
    at_eer = _AT_EER.fullmatch(text)
    rule = text if at_eer is None else at_eer["bare"] or at_eer["made"]
    try:
        check_eer_rule(rule)
    except UsageError:
        return _READ_OFF.fullmatch(text) is not None
    return True


def _checked_fields(fields: list[str]) -> Iterator[tuple[str, str]]:
    """The name and the value of each field; the first that is none is refused."""
    rules, last = fields[: -len(_LAST_FIELDS)], fields[-len(_LAST_FIELDS) :]
    found = [field.partition(":")[::2] for field in rules]
    for name, value in found:
        if name in RULES:
            good = _is_value(name, value)
        else:
            good = name in _OTHER_FIELDS and re.fullmatch(_OTHER_FIELDS[name], value) is not None
        if not good:
            _refuse(f"{f'{name}:{value}'!r} is no rule" if name not in RULES else f"{name} has no value {value!r}")
        yield name, value
    names = [name for name, _ in found]
    if len(set(names)) < len(names):
        _refuse("a rule is there twice")
    if [field.partition(":")[0] for field in last] != list(_LAST_FIELDS):
        _refuse(f"it does not end with {', '.join(_LAST_FIELDS)}")
    for name, _, value in (field.partition(":") for field in last):
        if not re.fullmatch(_LAST_FIELDS[name], value):
            _refuse(f"{name} has no value {value!r}")
        if name == "rules" and not 0 < int(value) <= RULES_VERSION:
            _refuse(f"version {value} of the rules is not known here, only versions 1 to {RULES_VERSION}")
        yield name, value


def _is_value(name: str, value: str) -> bool:
    """Whether a signature may state this value of a rule."""
    rule = RULES[name]
    patterns = {
        "seconds": r"\d+ns|auto",
        "flag": "True|False",
        "regions": f"all|given|{_HASH}",
        "label": r"1|\d+/\d+",
    }
    if value in rule.values:
        return True
    if rule.kind == "pooling":
        return top_k(value) is not None
    return rule.kind in patterns and re.fullmatch(patterns[rule.kind], value) is not None


def _explained_systems(systems: Mapping[str, str]) -> Iterator[str]:
    if systems:
        yield f"The system{'s are' if len(systems) > 1 else ' is'} identified by:"
    for system, said in systems.items():
        for field in said.split("|"):
            about = _ABOUT_SYSTEM[field.partition(":")[0]]
            yield f"  {f'{system}: ' if system else ''}{field}   ({about})"


# ---------------------------------------------------------------- short


def _explain_short(line: str) -> str:
    """Explain short hashes: ``[measure] hash, ... || [system] hash, ...``, or ``system hash || hash, ...``."""
    labelled = line.startswith("signature ")
    compared: list[str] = []
    systems: list[str] = []
    after_bars = False
    for item in line.removeprefix("signature ").split(","):
        comparable, bars, said = item.partition("||")
        if after_bars and not bars:
            systems.append(_short(comparable))
            continue
        name, _, digits = _short(comparable).rpartition(" ")
        is_named = not name or _is_measure("".join(name.split()))
        if not (is_named or labelled or after_bars):
            _refuse(f"{name!r} is no measure")
        compared.append(f"{name} {digits}".strip())
        if bars:
            systems.append(_short(said))
        after_bars = after_bars or bool(bars)
    lines = [
        "A short signature: the first eight characters of a hash of each part.",
        "Numbers may be compared if this hash of their measure, rules, references and utterances is the same:",
        *(f"  {one}" for one in compared),
    ]
    if systems:
        lines += [
            f"The system{'s are' if len(systems) > 1 else ' is'} identified by a hash of scores and threshold:",
            *(f"  {one}" for one in systems),
        ]
    return "\n".join(
        [
            *lines,
            "The rules cannot be read from it: --signature and --format json print signatures in full, which "
            "'spoofspan explain'",
            "explains field by field.",
        ]
    )


def _short(item: str) -> str:
    """A name, if there is one, and a short hash, which may be broken over lines."""
    text = item.strip()
    found = _SHORT.search(text)
    if found is None:
        _refuse(f"{text!r} does not end with a hash of eight characters" if text else "a part of it is empty")
    name, digits = text[: found.start()].strip(), "".join(found[0].split())
    return f"{name} {digits}".strip()

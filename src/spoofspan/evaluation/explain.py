"""Explanations in plain words: measures, rules, EER rules, conventions, signatures and words of the literature.

The words are in ``assets/glossary.txt``.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from importlib.resources import files

from spoofspan.base.errors import UsageError
from spoofspan.data.rules import CONVENTIONS, RULES, RULES_VERSION, Rule
from spoofspan.evaluation.signature_text import (
    SignatureFields,
    is_signature,
    nearest_conventions,
    parse_signature,
    refuse,
)
from spoofspan.measures.catalogue import ALIASES, BASES, EVENT, EVENT_KINDS, KINDS, PAPER, SYMBOLS, Kind
from spoofspan.measures.measure import EER_RULES, Measure, nearest_measure

MEASURES: Mapping[str, str] = {
    "range-eer": (
        "The equal error rate in durations. With the threshold tau, time under a score s is called spoof iff s < tau\n"
        "(for scores that are higher for bona fide).\n\n"
        "  FPR(tau) = bona fide time called spoof / bona fide time          (Eq. 5)\n"
        "  FNR(tau) = spoofed time called bona fide / spoofed time          (Eq. 6)\n"
        "  EER = (FPR + FNR) / 2 at the tau of least |FPR - FNR|            (Eqs. 3, 4)\n\n"
        "It needs no resolution, and is computed exactly, in integers of nanoseconds.\n"
        f"Reference: {PAPER}."
    ),
    "point-eer": (
        "The equal error rate in points. Time is cut into points of one resolution, each with one label (rule label)\n"
        "and one score, the lowest of the scores it overlaps. FPR and FNR count points (Eqs. 1, 2). Spelled with its\n"
        "resolution: point-eer@20ms. Measured coarser than the scores' hop it is an easier task, not a better system.\n"
        f"Reference: {PAPER}."
    ),
    "utterance-eer": (
        "The equal error rate of whole utterances: an utterance is spoof if any of it is, and its score is its lowest\n"
        "(in bona fide polarity). It says whether a system finds spoofed recordings, not where the spoofs are. With\n"
        "--utterance-scores it is that of scores which the system gives to whole utterances."
    ),
}


def explain(subject: str) -> str:
    """Explain a measure, a rule, an EER rule, a convention, a word of the literature or a signature.

    >>> print(explain("uncovered").splitlines()[0])
    uncovered (rule): error (default), hold, bonafide, spoof, ignore, unanswered
    """
    name = subject.strip()
    if is_signature(name):
        return explain_signature(name)
    rule = name.replace("-", "_")
    if rule in RULES:
        return _explain_rule(RULES[rule])
    if name.partition("(")[0] in EER_RULES:
        return f"{name} (EER rule)\n\n{EER_RULES[name.partition('(')[0]]}"
    if name in CONVENTIONS:
        return _explain_convention(name)
    if name in MEASURES:
        return f"{name} (measure)\n\n{MEASURES[name]}"
    if name in TOPICS:
        return TOPICS[name][1]()
    try:
        return _explain_measure(Measure.parse(name if not name.startswith("point-") or "@" in name else f"{name}@20ms"))
    except UsageError:
        kind = KINDS.get(name) or EVENT_KINDS.get(name)
        if kind is not None:
            at = "@20ms" if kind.bases[0] == "point" else ""
            return _explain_measure(Measure.parse(f"{kind.bases[0]}-{name}{at}"))
    if (meaning := synonym(name)) is not None:
        return meaning
    near = nearest_subject(subject)
    said = f"did you mean {near!r}?" if near else "'spoofspan explain' lists the topics"
    raise UsageError(f"nothing is called {subject!r}; {said}")


def nearest_subject(subject: str) -> str | None:
    """The subject nearest to a flag, a plural, a part of a name or a misspelling; None if none is near.

    Spellings of a measure lead to that measure, not to another one with a similar name.

    >>> nearest_subject("--slacks"), nearest_subject("Range EER"), nearest_subject("xyzzy")
    ('slack', 'range-eer', None)
    >>> nearest_subject("range-err")
    'range-eer'
    >>> nearest_subject("utterance-macro-f1"), nearest_subject("range_recall"), nearest_subject("utterance-xyzzy")
    ('utterance-f1', 'range-recall', None)
    """
    name = subject.strip().lstrip("-").lower().replace("_", "-").replace(" ", "-")
    known = {one.replace("_", "-").replace(" ", "-"): one for one in _subjects()}
    if name in known:
        return known[name]
    if (measure := nearest_measure(name)) is not None:
        return measure
    if name.startswith(tuple(f"{basis}-" for basis in (*BASES, EVENT))):
        near = get_close_matches(name, known, n=1, cutoff=0.85)
        return known[near[0]] if near else None
    near = get_close_matches(name, known, n=1, cutoff=0.75) or [one for one in known if name and name in one.split("-")]
    near = near or get_close_matches(name, known, n=1, cutoff=0.7)
    return known[near[0]] if near else None


def _subjects() -> list[str]:
    events = (f"event-{one}" for one in EVENT_KINDS)
    return [*SYNONYMS, *MEASURES, *KINDS, *events, *ALIASES, *RULES, *EER_RULES, *CONVENTIONS, *TOPICS]


def _list_topics() -> str:
    width = max(map(len, TOPICS))
    topics = [f"  spoofspan explain {name:{width}}  {about}" for name, (about, _) in TOPICS.items() if name != "topics"]
    return "\n".join(
        [
            *topics,
            "",
            "and each by its name: spoofspan explain range-eer, gaps, nii-2023, convex-hull, 'false acceptance', ...",
            "A signature, in quotes, is explained part by part.",
        ]
    )


def _list_rules() -> str:
    """Every rule as a flag, with its values and its meaning."""
    lines = ["A rule says what happens to a gap, a missing tail or a tie. Each is a flag, and an argument in Python."]
    for rule in RULES.values():
        lines += ["", f"--{rule.name.replace('_', '-')}: {_values(rule)}"]
        lines += [f"  {line}" for line in rule.explanation.splitlines()]
    return "\n".join([*lines, "", "A set of rules has a name: --convention (spoofspan explain conventions)."])


def _list_conventions() -> str:
    width = max(map(len, CONVENTIONS))
    return "\n".join(f"{name:{width}}  {one.about}" for name, one in CONVENTIONS.items())


def _list_eer_rules() -> str:
    return "\n\n".join(f"{name}\n  {' '.join(text.split())}" for name, text in EER_RULES.items())


def _list_words() -> str:
    return "\n".join(textwrap.wrap(", ".join(sorted(SYNONYMS)), 110, break_on_hyphens=False))


def _explain_rule(rule: Rule) -> str:
    return f"{rule.name} (rule): {_values(rule)}\n\n{rule.explanation}\n\nIn full: docs/rules.md."


def _values(rule: Rule) -> str:
    default = f"default {'set by the data' if rule.default is None else rule.default}"
    if not rule.values:
        return default
    if rule.default is None:
        return f"{', '.join(rule.values)}; {default}"
    return f"{rule.default} (default), {', '.join(rule.values[1:])}"


def _explain_measure(measure: Measure) -> str:
    kind = measure.kind
    if measure.family in MEASURES:
        return f"{measure} (measure)\n\n{MEASURES[measure.family]}"
    counted = {
        "range": "durations (ns)",
        "point": "points of one resolution",
        "utterance": "utterances",
        "event": "events: spoofed ranges of the references, against proposed ranges",
    }[measure.basis]
    lines = [f"{measure} (measure): {kind.about}", "", f"  {kind.formula}", ""]
    lines.append(f"Counted in {counted}; {kind.direction} is better.")
    if kind.positive:
        lines.append(f"Positive is {measure.positive}; {measure.basis}-{kind.name}-bonafide has bona fide as positive.")
    lines += kind.usage(measure.basis)
    if kind.parameters:
        given = (f"{name}={value if isinstance(value, str) else f'{value:g}'}" for name, value in measure.parameters)
        lines.append(f"Parameters: {', '.join(given)}.")
    if kind.reference:
        lines.append(f"Reference: {kind.reference}.")
    return "\n".join(lines)


def _list_measures() -> str:
    def rows(kinds: Mapping[str, Kind]) -> list[str]:
        width = max(map(len, kinds))
        return [f"  {kind.name:{width}}  {kind.formula}  ({kind.direction} is better)" for kind in kinds.values()]

    return "\n".join(
        [
            "A measure is <basis>-<name>: range-f1 (durations), point-f1@20ms (points), utterance-f1.",
            "range-f1-bonafide has bona fide as positive, range-f1-macro is the mean over utterances,",
            "range-fnr@fpr=0.01 is taken at the best threshold under a constraint.",
            "",
            *rows(KINDS),
            "",
            SYMBOLS,
            "",
            "Of events, that is spoofed ranges against proposed ones: event-ap@iou=0.5, event-ar@n=20, event-add2023.",
            "",
            *rows(EVENT_KINDS),
        ]
    )


def _explain_convention(name: str) -> str:
    convention = CONVENTIONS[name]
    lines = [f"{name} (convention): {convention.about}"]
    for measure, (rules, eer_rule) in convention.measures.items():
        lines += ["", f"{measure}: EER rule {eer_rule}"]
        lines += [
            f"  {rule} = {value}" for rule, value in rules.spelled("range" if measure == "range" else "point").items()
        ]
    return "\n".join(lines)


# ---------------------------------------------------------------- signatures

_ABOUT = {
    "utterance-scores": "scores of whole utterances were given, and not made of their lowest score",
    "labels": "labels of whole utterances were given",
    "listing": "hash of the spoof ranges as they are listed",
    "utterances": "which utterances count",
    "eer": "EER rule",
    "threshold": "where decisions are made",
    "scores-are": "what the scores were taken for",
    "asv-rates": "error rates of the speaker verification system",
    "asv-scores": "hash of the speaker verification scores",
    "smoothing": "frames of the median filter before proposals are made",
    "min_duration": "shortest proposal",
    "merge_gap": "widest gap that is bridged between proposals",
}
_ABOUT_SYSTEM = {
    "scores": "hash of the scores",
    "score-rows": "hash of the scores, row by row",
    "utterance-scores": "hash of the scores",
    "proposals": "hash of the proposals",
    "slack": "the automatic one of these scores",
    "threshold": "as given, with the sign of scores that are higher for bona fide",
}


def explain_signature(text: str) -> str:
    """Explain a signature in any of its printed forms.

    >>> print(explain_signature("range-eer|default|gaps:bonafide|rules:2|refs:7bfc076a|v0.1"))
    Numbers may be compared if this part of their signatures is the same:
      measure range-eer
      convention default (spoofspan's own: whatever is not certain is an error)
      except gaps = bonafide: Time without a label in the references.
      version 2 of the rules
      references 7bfc076a   (first digits of a hash of the references)
    It was measured with spoofspan 0.1.
    """
    fields = parse_signature(text)
    if fields.version > RULES_VERSION:
        refuse(f"version {fields.version} of the rules is not known here, only versions 1 to {RULES_VERSION}")
    systems = [*_explained_systems(fields)]
    if not fields.hashes:  # the part after || alone
        return "\n".join(systems)
    digits = f"{'first digits of a' if fields.short else 'the'} hash of the references"
    lines = [
        "Numbers may be compared if this part of their signatures is the same:",
        f"  measure {fields.measure or 'that did not fit'}",
        *(f"  {name} = {value}{_about(name)}" for name, value in fields.settings.items()),
        *_explained_convention(fields),
    ]
    if not fields.short:
        lines += [f"  {name} = {value}{_about(name)}" for name, value in fields.rules.items()]
    lines.append(f"  version {fields.version} of the rules")
    lines.append(f"  references {fields.hashes['references']}   ({digits})")
    if fields.count is not None:
        used = fields.hashes.get("utterances")
        lines.append(f"  {fields.count} utterances" + (f" {used}   (number and hash)" if used else ""))
    if fields.version < RULES_VERSION:
        lines.append(
            f"It was made under version {fields.version} of the rules and has no equal under version {RULES_VERSION}; "
            "measure again to compare."
        )
    elif not fields.short:
        lines.append("Rules about references that are not listed changed no label.")
    if fields.omitted:
        lines.append("Some of its fields did not fit into 80 characters; the signature in full has all of them.")
    if fields.spoofspan is not None:
        lines.append(f"It was measured with spoofspan {fields.spoofspan}.")
    return "\n".join([*lines, *systems])


def _about(name: str) -> str:
    return f"   ({_ABOUT[name]})" if name in _ABOUT else ""


def _explained_convention(fields: SignatureFields) -> Iterator[str]:
    """Lines about the convention, or the nearest ones, and the rules that differ from it."""
    if fields.convention is not None:
        found = {fields.convention: {name: value for name, value in fields.rules.items() if name in RULES}}
    elif fields.version < RULES_VERSION:
        return
    else:
        found = nearest_conventions(fields)
    if not found:
        return
    first = next(iter(found))
    about = f" ({CONVENTIONS[first].about})" if len(found) == 1 else ""
    yield f"  convention {' or '.join(found)}{about}"
    for name, value in found[first].items():
        said = EER_RULES[value.partition("(")[0]] if name == "eer" else RULES[name].explanation
        yield f"  except {name} = {value}: {_first_sentence(said)}"
    for name, value in fields.rules.items():
        if fields.short and name not in RULES:
            yield f"  {name} = {value}{_about(name)}"


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.])\s|;\s", " ".join(text.split()))[0].rstrip(".") + "."


def _explained_systems(fields: SignatureFields) -> Iterator[str]:
    if fields.systems:
        yield f"The system{'s are' if len(fields.systems) > 1 else ' is'} identified by:"
    for system, said in fields.systems.items():
        for name, value in said.items():
            yield f"  {f'{system}: ' if system else ''}{name}:{value}   ({_ABOUT_SYSTEM[name]})"


# ---------------------------------------------------------------- words of the literature


def _entries() -> Iterator[tuple[str, tuple[str, tuple[str, ...]]]]:
    """Each word of the glossary with its meaning and the names that it refers to."""
    text = (files("spoofspan.evaluation") / "assets" / "glossary.txt").read_text(encoding="utf-8")
    for entry in text.split("\n\n")[1:]:  # the first is a comment
        words, _, rest = entry.partition("\n")
        meaning, _, names = " ".join(rest.split()).partition(" See: ")
        for word in words.split(", "):
            yield word, (meaning, tuple(names.split(", ")) if names else ())


SYNONYMS: Mapping[str, tuple[str, tuple[str, ...]]] = dict(_entries())


# Parts of a heading besides its word: numbers, units, and the noun before "needed".
_BESIDES = re.compile(r"[\d.,]+|%|\bpoints\b| s$|^\w+ (?=needed$)|:.*")


def synonym(subject: str) -> str | None:
    """The meaning of a word of the literature, or of a printed heading; None if it is unknown.

    >>> [synonym(one).splitlines()[0] for one in ("FAR", "95 % from", "speakers needed", "within 0.80 points")]
    ['FAR (word)', '95 % from (word)', 'speakers needed (word)', 'within 0.80 points (word)']
    """
    words = " ".join(subject.lower().replace("_", " ").split())
    heading = " ".join(_BESIDES.sub("", words).split())
    found = SYNONYMS.get(words) or SYNONYMS.get(subject.lower()) or SYNONYMS.get(heading)
    if found is None:
        return None
    text, names = found
    see = ", ".join(f"spoofspan explain {name}" for name in names)
    meaning = textwrap.fill(text, 110, break_on_hyphens=False)
    return f"{subject} (word)\n\n{meaning}" + (f"\n\nSee: {see}" if names else "")


TOPICS: Mapping[str, tuple[str, Callable[[], str]]] = {
    "topics": ("this list", _list_topics),
    "measures": ("what can be measured, with formulas", _list_measures),
    "rules": ("what happens to a gap, a missing tail, ...: the flags that every command has", _list_rules),
    "conventions": ("named sets of rules: those of the paper and of other tools", _list_conventions),
    "eer-rules": ("how an EER is read off the curve", _list_eer_rules),
    "words": ("what the literature calls things", _list_words),
}

"""Labels of whole utterances: a protocol, the keys of ASVspoof 5, or a table with the columns utterance and label."""

from __future__ import annotations

from collections.abc import Mapping

from spoofspan.base.errors import DataError, Problems
from spoofspan.formats.sources import Source, Where, sources
from spoofspan.formats.text.metadata import read_metadata
from spoofspan.formats.text.score_fields import first_lines, wrong_width

CLASSES = ("bonafide", "spoof")
NAME, LABEL = "filename", "cm-label"


def recognises(head: bytes) -> bool:
    """Whether these are labels of whole utterances, and not ranges."""
    lines = first_lines(head)
    if not lines:
        return False
    names = _names(lines[0])
    if {NAME, LABEL} <= names:
        return True
    if {"utterance", "label"} <= names:
        return not {"start", "end"} & names
    fields = [line.split() for line in lines]
    return all(len(one) == 5 and one[4] in CLASSES for one in fields)


def read_utterance_labels(where: Where) -> Mapping[str, str]:
    """Read the label, ``bonafide`` or ``spoof``, of each utterance."""
    source = sources(where)[0]
    lines = first_lines(source.head)
    if lines and {NAME, LABEL} <= _names(lines[0]):
        return _read_keys(source)
    labels = read_metadata(source, "label")
    wrong = [(utt, label) for utt, label in labels.items() if label not in CLASSES]
    problems = Problems()
    problems.extend(
        (
            f"{source.name}: utterance {utt!r}: the label must be bonafide or spoof, not {label!r}"
            for utt, label in wrong
        ),
        len(wrong),
    )
    problems.raise_if_any("correct the file")
    if not labels:
        raise DataError(f"{source.name}: there is no utterance in the file")
    return labels


def _names(line: str) -> set[str]:
    return {name.strip() for name in line.replace("\t", ",").split(",")}


def _read_keys(source: Source) -> Mapping[str, str]:
    """``filename TAB cm-label`` under a header; further columns are allowed."""
    labels: dict[str, str] = {}
    problems = Problems()
    names: list[str] = []
    for number, line in source.lines():
        place, fields = f"{source.name}:{number}", [field.strip() for field in line.split("\t")]
        if not names:
            names = fields
            if names.count(NAME) != 1 or names.count(LABEL) != 1:
                raise DataError(f"{place}: the header must have {NAME!r} and {LABEL!r}, tabs between them")
            continue
        if len(fields) != len(names):
            problems.add(wrong_width(place, fields, f"the {len(names)} of the header, tabs between them"))
            continue
        utterance, label = fields[names.index(NAME)], fields[names.index(LABEL)]
        if label not in CLASSES:
            problems.add(f"{place}: utterance {utterance!r}: the label must be bonafide or spoof, not {label!r}")
        elif utterance in labels:
            problems.add(f"{place}: utterance {utterance!r} is listed a second time; keep one of the two")
        else:
            labels[utterance] = label
    problems.raise_if_any("correct the keys")
    if not labels:
        raise DataError(f"{source.name}: there is no utterance in the file; it has a header only")
    return labels

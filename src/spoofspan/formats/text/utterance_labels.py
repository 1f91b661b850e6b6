"""Labels of whole utterances: a protocol, the keys of ASVspoof 5, or a table with the columns utterance and label."""

from __future__ import annotations

from collections.abc import Mapping

from spoofspan.base.errors import DataError, Problems
from spoofspan.formats.sources import Source, Where, sources
from spoofspan.formats.text.lines import columns_under_header, first_lines
from spoofspan.formats.text.metadata import read_metadata

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
    problems = Problems()
    for utterance, label in labels.items():
        if label not in CLASSES:
            problems.add(f"{source.name}: utterance {utterance!r}: the label must be bonafide or spoof, not {label!r}")
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
    for place, (utterance, label) in columns_under_header(source, (NAME, LABEL), problems):
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

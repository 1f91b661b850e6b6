"""JSON files of one object: scores ``{utterance: [score, ...]}`` and labels ``{utterance: [label, ...]}``, by frame."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from spoofspan.base.errors import DataError
from spoofspan.formats.arrays.npz import read_labels, read_scores
from spoofspan.formats.format import Format
from spoofspan.formats.recognition import Begins, beginning
from spoofspan.formats.sources import Source
from spoofspan.formats.text.json_text import (
    NUMBER,
    PAIRS,
    json_pairs,
    lists_ranges,
)

# ---------------------------------------------------------------- scores

SCORES_SHAPE = "{utterance: [score, ...]} or, with --column, {utterance: [[score, score], ...]}"
LIST = re.compile(rf'\s*\{{\s*"((?:[^"\\]|\\.)*)"\s*:\s*\[{NUMBER}[,\]]')
# an object a line may begin with its list of scores
COLUMNS = ("scores", "score")


def recognises_scores(head: bytes) -> bool:
    """True if it is a JSON object whose first value is a list of numbers."""
    if PAIRS(head):
        return not lists_ranges(head)
    found = LIST.match(beginning(head))
    return found is not None and found[1] not in COLUMNS


def _arrays(source: Source) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for utterance, listed in json_pairs(source, SCORES_SHAPE):
        if utterance in found:
            raise DataError(f"{source.name}: {utterance!r} is there twice; give each utterance one list")
        found[utterance] = listed
    return found


SCORES = Format(
    "json-frames",
    f"JSON {SCORES_SHAPE}, one score per frame from 0",
    partial(read_scores, _arrays),
    Begins(r"\{", recognises_scores),
    suffixes=(".json",),
    needs=("hop", "higher"),
)


# ---------------------------------------------------------------- labels

LABELS_SHAPE = "{utterance: [label, ...]}"
LABEL = r'\s*(?:[01]|"[A-Za-z_-]+")\s*'
# an object whose first value is a list of 0 and 1, or of words
LABEL_LIST = Begins(rf'\{{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[{LABEL}(?:,{LABEL})*(?:\]|,?\s*$)')


def _labels(source: Source) -> dict[str, Any]:
    """The lists of a file, with 0 and 1 as whole numbers."""
    found = _arrays(source)
    for utterance, listed in found.items():
        if not isinstance(listed, list):
            raise DataError(f"{source.name}: {utterance!r} has no list of labels; expected {LABELS_SHAPE}")
        found[utterance] = [int(one) if one in (0.0, 1.0) else one for one in listed]
    return found


LABELS = Format(
    "json-labels",
    f"JSON {LABELS_SHAPE}, one per segment from 0 (bonafide and spoof, or 0 and 1 with --spoof-label)",
    partial(read_labels, _labels),
    LABEL_LIST,
    suffixes=(".json",),
    needs=("hop",),
    takes=("spoof_label",),
)

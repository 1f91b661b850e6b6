"""JSON files of one object: scores ``{utterance: [score, ...]}``, and spoofed ranges ``{file: [[start, end], ...]}``.

Scores are one for each frame from 0. Ranges are in seconds, without confidences (``datasets/proposals.py`` has those
with). As references, files without ranges are bona fide, and durations must be given where something lasts. As what a
system said, they are hard decisions: nothing says what the rest of a file is, which the rule ``uncovered`` decides
(``bonafide``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from spoofspan.base.errors import DataError
from spoofspan.data.references import SPOOF, References
from spoofspan.formats.arrays.npz import read_labels, read_scores
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.sources import Source
from spoofspan.formats.text.hypotheses import decisions_format
from spoofspan.formats.text.json_text import (
    NUMBER,
    is_object_of_lists,
    json_object,
    json_pairs,
    json_periods,
)
from spoofspan.formats.text.lines import beginning
from spoofspan.formats.text.rows import RangeRows, check_writable, written_ranges

# ---------------------------------------------------------------- scores

SCORES_SHAPE = "{utterance: [score, ...]} or, with --column, {utterance: [[score, score], ...]}"
LIST = re.compile(rf'\s*\{{\s*"((?:[^"\\]|\\.)*)"\s*:\s*\[{NUMBER}[,\]]')
# an object a line may begin with its list of scores
COLUMNS = ("scores", "score")


def recognises_scores(head: bytes) -> bool:
    """True if it is a JSON object whose first value is a list of numbers."""
    if is_object_of_lists(head, 2):
        return not _lists_ranges(head)
    found = LIST.match(beginning(head))
    return found is not None and found[1] not in COLUMNS


def _lists_ranges(head: bytes) -> bool:
    """True if the pairs of the first list can be ranges in their order, and not two scores for each frame."""
    found = re.search(r'"\s*:\s*\[\s*(\[.*?\])\s*(?:\]|$)', beginning(head), re.DOTALL)
    pairs = re.findall(rf"\[({NUMBER}),({NUMBER})\]", found[1]) if found is not None else []
    edges = [float(edge) for pair in pairs for edge in pair]
    return edges == sorted(edges) and min(edges, default=0) >= 0


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
    recognises_scores,
    suffixes=(".json",),
    begins=(b"{",),
    needs=("hop", "higher"),
)


# ---------------------------------------------------------------- labels

LABELS_SHAPE = "{utterance: [label, ...]}"
LABEL = r'\s*(?:[01]|"[A-Za-z_-]+")\s*'
LABEL_LIST = re.compile(rf'\s*\{{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[{LABEL}(?:,{LABEL})*(?:\]|,?\s*$)')


def recognises_labels(head: bytes) -> bool:
    """True if it is a JSON object whose first value is a list of 0 and 1, or of words."""
    return LABEL_LIST.match(beginning(head)) is not None


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
    recognises_labels,
    suffixes=(".json",),
    begins=(b"{",),
    needs=("hop",),
    takes=("spoof_label",),
)


# ---------------------------------------------------------------- ranges

RANGES_SHAPE = "{file: [[start, end], ...]}"


def recognises_ranges(head: bytes) -> bool:
    """True if it is a JSON object of lists of pairs."""
    if not _lists_ranges(head):
        return False
    return is_object_of_lists(head, 2) and b"real_or_fake" not in head  # which language models write


def note_ranges(rows: RangeRows, sources: Sequence[Source]) -> None:
    """Note every range as spoof."""
    for source in sources:
        for utterance, listed in json_pairs(source, RANGES_SHAPE):
            place = f"{source.name}: utterance {utterance!r}"
            if not isinstance(listed, list) or not all(isinstance(one, list) and len(one) == 2 for one in listed):
                rows.problems.add(f"{place}: not a list of [start, end] in seconds")
            elif rows.name_once(source.name, utterance):
                for pair in listed:
                    start, end = (rows.seconds(place, json.dumps(value), "time") for value in pair)
                    rows.add(source.name, utterance, start, end, "spoof")


def read_ranges(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read references that list spoofs only."""
    rows = RangeRows()
    note_ranges(rows, sources)
    return rows.build(options.durations, options.snap)


def write_ranges(references: References) -> Iterator[bytes]:
    """Write JSON, an utterance a line; times exactly, durations are left out."""
    name = "JSON of ranges"
    check_writable(references, name, labels=(SPOOF,))
    return json_object(((utt, json_periods(ranges)) for utt, ranges in written_ranges(references)), name)


REFERENCES = Format(
    "json-ranges",
    f"JSON {RANGES_SHAPE}, seconds, of spoofed ranges",
    read_ranges,
    recognises_ranges,
    write_ranges,
    suffixes=(".json",),
    begins=(b"{",),
)
# Decisions are not written so: it would be lost that the rest was called bona fide.
HYPOTHESIS = replace(
    decisions_format(
        "hypothesis-json",
        f"JSON {RANGES_SHAPE}, seconds, of ranges called spoof",
        note_ranges,
        recognises_ranges,
        None,
        (".json",),
    ),
    begins=(b"{",),
)

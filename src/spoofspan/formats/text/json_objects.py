"""JSON files of one object: scores ``{utterance: [score, ...]}``, and spoofed ranges ``{file: [[start, end], ...]}``.

Scores are one for each frame from 0. Ranges are in seconds, without confidences (``datasets/proposals.py`` has those
with). As references, files without ranges are bona fide, and durations must be given where something lasts. As what a
system said, they are hard decisions: nothing says what the rest of a file is, which the rule ``uncovered`` decides
(``bonafide``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from spoofspan.base.documents import TooComplexError, parse_json
from spoofspan.base.errors import DataError
from spoofspan.data.references import SPOOF, References
from spoofspan.formats.arrays.npz import read_labels, read_scores
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.sources import Source
from spoofspan.formats.text.hypotheses import decisions_format
from spoofspan.formats.text.lines import beginning
from spoofspan.formats.text.rows import RangeRows, WrittenRange, check_utf8, check_writable, time_text, written_ranges

NUMBER = r"\s*-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\s*"


class _Pairs(tuple[tuple[str, Any], ...]):
    """A JSON object as its pairs."""

    __slots__ = ()


def json_pairs(source: Source, shape: str) -> _Pairs:
    """Read the JSON object as pairs, so that a name that is there twice is seen; ``shape`` is what it should be."""
    data = source.document()
    if not data.strip():
        raise DataError(f"{source.name}: the file is empty")
    try:
        found = parse_json(data, object_pairs_hook=_Pairs, parse_int=float)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{source.name}:{line}: not UTF-8 text; convert it") from None
    except json.JSONDecodeError as error:
        raise DataError(
            f"{source.name}:{error.lineno}: no JSON from column {error.colno} on ({error.msg}); the file is truncated "
            "or damaged"
        ) from None
    except TooComplexError as error:
        raise DataError(f"{source.name}: {error}; expected {shape}") from None
    except ValueError:  # a whole number of thousands of digits
        raise DataError(f"{source.name}: a number cannot be read; expected {shape}") from None
    if not isinstance(found, _Pairs):
        raise DataError(f"{source.name}: the JSON is no object; expected {shape}")
    return found


def is_object_of_lists(head: bytes, numbers: int) -> bool:
    """True if it begins as a JSON object of lists of rows of ``numbers`` numbers each."""
    text = beginning(head)
    rows = rf'"\s*:\s*\[\s*\[{",".join([NUMBER] * numbers)}\]'
    opening = r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\['
    return re.match(opening, text) is not None and re.search(rows, text) is not None


def json_name(text: str, name: str) -> str:
    """Write an id as JSON; ``name`` is the format, for messages."""
    check_utf8(text, name)
    return json.dumps(text, ensure_ascii=False)


def json_periods(ranges: Sequence[WrittenRange]) -> str:
    """Write ranges as JSON, times in seconds."""
    return "[" + ", ".join(f"[{time_text(one.start)}, {time_text(one.end)}]" for one in ranges) + "]"


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


def note_ranges(rows: RangeRows, sources: Sequence[Source]) -> Mapping[str, float] | None:
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
    return None


def read_ranges(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read references that list spoofs only."""
    rows = RangeRows()
    note_ranges(rows, sources)
    return rows.build(options.durations, options.snap)


def write_ranges(references: References) -> Iterator[bytes]:
    """Write JSON, an utterance a line; times exactly, durations are left out."""
    name = "JSON of ranges"
    check_writable(references, name, labels=(SPOOF,))
    for number, (utterance, ranges) in enumerate(written_ranges(references)):
        yield f"{',' if number else '{'}\n{json_name(utterance, name)}: {json_periods(ranges)}".encode()
    yield b"\n}\n"


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

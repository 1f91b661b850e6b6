"""Spoofed ranges as JSON, without confidences: ``{file: [[start, end], ...]}`` in seconds.

As references, files without ranges are bona fide, and durations must be given where something lasts. As what a system
said, they are hard decisions: nothing says what the rest of a file is, which the rule ``uncovered`` decides
(``bonafide``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from spoofspan.data.references import SPOOF, References
from spoofspan.formats.datasets.proposals import JSON_NUMBER, json_pairs
from spoofspan.formats.format import Format, ReadOptions, text_of
from spoofspan.formats.sources import Source
from spoofspan.formats.text.hypotheses import decisions_format
from spoofspan.formats.text.rows import RangeRows, check_utf8, check_writable, time_text, written_ranges

SHAPE = "{file: [[start, end], ...]}"
PAIR = re.compile(rf'"\s*:\s*\[\s*\[{JSON_NUMBER},{JSON_NUMBER}\]')


def recognises(head: bytes) -> bool:
    """Whether it is a JSON object of lists of pairs."""
    text = text_of(head) or head[:-3].decode("utf-8", "ignore")
    return re.match(r'\s*\{\s*"', text) is not None and PAIR.search(text) is not None


def note_ranges(rows: RangeRows, sources: Sequence[Source]) -> Mapping[str, float] | None:
    """Note every range as spoof."""
    for source in sources:
        for utterance, listed in json_pairs(source, SHAPE):
            place = f"{source.name}: utterance {utterance!r}"
            if not isinstance(listed, list) or not all(isinstance(one, list) and len(one) == 2 for one in listed):
                rows.problems.add(f"{place}: not a list of [start, end] in seconds")
            elif rows.name_once(source.name, utterance):
                for pair in listed:
                    start, end = (rows.seconds(place, json.dumps(value), "time") for value in pair)
                    rows.add(source.name, utterance, start, end, "spoof")
    return None


def read(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read references that list spoofs only."""
    rows = RangeRows()
    note_ranges(rows, sources)
    return rows.build(options.durations, options.snap)


def write(references: References) -> Iterator[bytes]:
    """Write JSON, an utterance a line; times exactly, durations are left out."""
    name = "JSON of ranges"
    check_writable(references, name, labels=(SPOOF,))
    for number, (utterance, ranges) in enumerate(written_ranges(references)):
        check_utf8(utterance, name)
        pairs = ", ".join(f"[{time_text(one.start)}, {time_text(one.end)}]" for one in ranges)
        yield f"{',' if number else '{'}\n{json.dumps(utterance, ensure_ascii=False)}: [{pairs}]".encode()
    yield b"\n}\n"


REFERENCES = Format("json-ranges", f"JSON {SHAPE}, seconds, of spoofed ranges", read, recognises, write, (".json",))


# Decisions are not written so: it would be lost that the rest was called bona fide.
HYPOTHESIS = decisions_format(
    "hypothesis-json", f"JSON {SHAPE}, seconds, of ranges called spoof", note_ranges, recognises, None, (".json",)
)

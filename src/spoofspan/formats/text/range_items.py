"""Ranges written as ``<start>-<end>-<label>``, all those of an utterance in one line: HAD and segment lists.

A ``-`` also is a sign of a number or of its exponent: ``1e-05-0.5-spoof`` is a range from 0.00001 s to 0.5 s.
Both formats also call the whole utterance spoof or not, and that must agree with its ranges.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from spoofspan.formats.sources import Source
from spoofspan.formats.text.rows import RangeRows, WrittenRange, header_hint, time_text

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
RANGE = re.compile(rf"({NUMBER})-({NUMBER})-(.*)")

# Reads one line: its place, its fields, and a hint if it looks like a header.
ReadLine = Callable[[str, list[str], str], None]


def read_lines(rows: RangeRows, sources: Sequence[Source], read_line: ReadLine) -> None:
    """Read every line; a file without any is a problem."""
    for source in sources:
        empty = True
        for number, line in source.lines():
            empty = False
            read_line(f"{source.name}:{number}", line.split(), header_hint(number, line))
        if empty:
            rows.problems.add(f"{source.name}: the file is empty")


@dataclass(frozen=True)
class ItemWords:
    """The words by which a format labels its ranges."""

    labels: Mapping[str, str]  # as written -> bonafide or spoof
    spelled: str  # how a range is labelled, for messages: T|F
    meant: str  # what the words mean, for messages

    def fit(self, item: str) -> bool:
        """Whether this is a range with one of the words."""
        match = RANGE.fullmatch(item)
        return match is not None and match[3] in self.labels

    def note(self, rows: RangeRows, place: str, utterance: str, items: Iterable[str]) -> bool | None:
        """Note the ranges of an utterance; returns whether one is spoof, None (and problems) if one cannot be read."""
        labels = [self._note_one(rows, place, utterance, item) for item in items]
        return None if None in labels else "spoof" in labels

    def _note_one(self, rows: RangeRows, place: str, utterance: str, item: str) -> str | None:
        where = f"{place}: utterance {utterance!r}"
        match = RANGE.fullmatch(item)
        if match is None:
            hint = "use decimal points" if "," in item else f"it must be <start>-<end>-<{self.spelled}>, in seconds"
            rows.problems.add(f"{where}: the range {item!r} cannot be read; {hint}")
            return None
        if match[3] not in self.labels:
            rows.problems.add(f"{where}: unknown label {match[3]!r} in {item!r} ({self.meant})")
            return None
        start, end = rows.seconds(where, match[1], "start"), rows.seconds(where, match[2], "end")
        label = self.labels[match[3]]
        rows.add(place, utterance, start, end, label)
        return label

    def text(self, one: WrittenRange, label: str) -> str:
        """Write a range, times exactly."""
        word = next(word for word, meaning in self.labels.items() if meaning == label)
        return f"{time_text(one.start)}-{time_text(one.end)}-{word}"

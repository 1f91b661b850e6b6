"""Praat TextGrids: a file ``<utt>.TextGrid`` per utterance, whose intervals are labelled bonafide, spoof or A07.

Both spellings of the text format are read (long, with ``xmin =``, and short), as UTF-8 or UTF-16. Praat ignores all
words between the values, and so does this reader. Labels are those of the one interval tier in which every label that
is not empty is known; intervals without a label are gaps. The duration is where the grid ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spoofspan.base.errors import DataError, UsageError
from spoofspan.data.references import References
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.recognition import Begins
from spoofspan.formats.sources import Source
from spoofspan.formats.text.labelled_ranges import check_file_names, only_file, utterance_named, word_of
from spoofspan.formats.text.rows import (
    RangeRows,
    WrittenRange,
    check_writable,
    label_and_attack,
    time_text,
    written_ranges,
)

SUFFIX = ".TextGrid"
# values stand free: a number in brackets is none, and what follows an exclamation mark is a comment
VALUE = re.compile(r'"(?:[^"]|"")*"|(?<!\S)[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?!\S)|(?<!\S)![^\n]*')
MARK = re.compile(rb'^(?:\xef\xbb\xbf)?\s*(?:File type\s*=\s*)?"ooTextFile[^"]*"\s*(?:Object class\s*=\s*)?"TextGrid"')


@dataclass(frozen=True)
class Tier:
    """One interval tier: its name, and (start, end, label) as they are written."""

    name: str
    intervals: tuple[tuple[str, str, str], ...]

    @property
    def labelled(self) -> list[tuple[str, str, str]]:
        """The intervals that have a label."""
        return [one for one in self.intervals if one[2].strip()]

    @property
    def known(self) -> bool:
        """True if there are labels, and all of them are known."""
        return bool(self.labelled) and all(
            label_and_attack(label.strip())[0] is not None for _, _, label in self.labelled
        )


def _text(content: bytes, name: str) -> str:
    try:
        if content.startswith((b"\xff\xfe", b"\xfe\xff")):
            return content.decode("utf-16")
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{name}: neither UTF-8 nor UTF-16; save it from Praat with one of these") from None


def tiers_of(source: Source) -> tuple[str, list[Tier]]:
    """The end of the grid, and its interval tiers."""
    text = _text(source.document(), source.name)
    values = (one for one in VALUE.finditer(text) if not one[0].startswith("!"))
    reached = 0

    def value() -> str:
        nonlocal reached
        found = next(values, None)
        if found is None:
            raise ValueError
        reached = found.end()
        return found[0]

    def word() -> str:
        if not (found := value()).startswith('"'):
            raise ValueError
        return found[1:-1].replace('""', '"')

    def number() -> str:
        if (found := value()).startswith('"'):
            raise ValueError
        return found

    tiers: list[Tier] = []
    try:
        if (word(), word())[1] != "TextGrid":
            raise ValueError
        _, end, count = number(), number(), int(number())
        for _ in range(count):
            kind, name, _, _, rows = word(), word(), number(), number(), int(number())
            if kind == "IntervalTier":
                tiers.append(Tier(name, tuple((number(), number(), word()) for _ in range(rows))))
            else:
                for _ in range(rows):
                    number(), word()
    except ValueError:
        line = text.count("\n", 0, reached) + 1
        raise DataError(
            f"{source.name}:{line}: no TextGrid from here on, or a truncated one; save it again from Praat (as a text "
            "file)"
        ) from None
    return end, tiers


def read(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read files, each of one utterance; durations in the options take precedence."""
    rows = RangeRows()
    durations: dict[str, float] = {}
    for source in sources:
        if (utterance := utterance_named(source, SUFFIX, rows)) is None:
            continue
        end, tiers = tiers_of(source)
        where = f"{source.name}: utterance {utterance!r}"
        durations[utterance] = rows.seconds(where, end, "end of the grid")
        chosen = [tier for tier in tiers if tier.known]
        if len(chosen) > 1 or (not chosen and any(tier.labelled for tier in tiers)):
            names = ", ".join(repr(tier.name) for tier in tiers) or "none"
            rows.problems.add(
                f"{where}: {len(chosen)} interval tiers (of {names}) are labelled bonafide, spoof, nonspeech or with "
                "attacks such as A07; there must be one"
            )
            continue
        for start, stop, label in chosen[0].labelled if chosen else ():
            times = rows.seconds(where, start, "start"), rows.seconds(where, stop, "end")
            rows.add(source.name, utterance, *times, label.strip())
    durations.update(options.durations or {})
    return rows.build(durations, options.snap)


def write(references: References, notes: Sequence[str] = ()) -> Iterator[bytes]:
    """Write the grid of the one utterance; times exactly. Notes are a tier of their own."""
    return only_file(references, "a TextGrid", write_files(references, notes))


def write_files(references: References, notes: Sequence[str] = ()) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the grid of every utterance."""
    check_writable(references, "a TextGrid", attacks=True)
    check_file_names(references.utterances, "a TextGrid")
    durations = [0] * len(references) if references.durations is None else references.durations.tolist()
    for (utterance, ranges), duration in zip(written_ranges(references), durations, strict=True):
        yield utterance + SUFFIX, _grid(ranges, max(duration, max((one.end for one in ranges), default=0)), notes)


def _grid(ranges: Sequence[WrittenRange], end: int, notes: Sequence[str]) -> bytes:
    intervals, before = [], 0
    for one in ranges:
        if one.start < before:
            raise UsageError("a TextGrid cannot hold ranges that overlap; write another format")
        if one.start > before:
            intervals.append((before, one.start, ""))
        intervals.append((one.start, one.end, word_of(one)))
        before = one.end
    if end > before:
        intervals.append((before, end, ""))
    lines = [
        'File type = "ooTextFile"',
        'Object class = "TextGrid"',
        "",
        "0",
        time_text(end),
        "<exists>",
        "2" if notes else "1",
    ]
    lines += ['"IntervalTier"', '"label"', "0", time_text(end), str(len(intervals))]
    lines += [text for a, b, label in intervals for text in (time_text(a), time_text(b), f'"{label}"')]
    if notes:  # of words that are no labels: readers of labels pass over such a tier
        text = "; ".join(notes).replace('"', '""')
        lines += ['"IntervalTier"', '"caution"', "0", time_text(end), "1", "0", time_text(end), f'"{text}"']
    return ("\n".join(lines) + "\n").encode()


def recognises(head: bytes) -> bool:
    """True if it begins as TextGrids do."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head[: len(head) // 2 * 2].decode("utf-16", "ignore").encode()
    return MARK.match(head) is not None


FORMAT = Format(
    "textgrid",
    "Praat TextGrid, a file <utt>.TextGrid per utterance; labels in the one tier of bonafide, spoof, attacks",
    read,
    Begins(rb'(?:\xef\xbb\xbf)?\s*(?:File type|"ooTextFile)|\xff\xfe|\xfe\xff', recognises),
    write,
    suffixes=(SUFFIX,),
    write_files=write_files,
)

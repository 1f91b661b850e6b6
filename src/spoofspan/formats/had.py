"""HAD (half-truth audio detection): ``<utt> <s>-<e>-<T|F>(/<s>-<e>-<T|F>)* <0|1>``, a line per utterance.

T is genuine, F is fake; the utterance is 1 (genuine) if and only if none of its ranges is fake. No durations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spoofspan.errors import UsageError
from spoofspan.formats.registry import Format, ReadOptions
from spoofspan.formats.rows import (
    TEXT_SNAP,
    RangeRows,
    check_ends_at_durations,
    check_labels,
    check_no_kinds,
    check_words,
    header_hint,
    mostly,
    time_text,
    written_ranges,
)
from spoofspan.formats.segment_list import RANGE
from spoofspan.formats.sources import Source
from spoofspan.references import BONA_FIDE, SPOOF, References

LETTERS = {"T": "bonafide", "F": "spoof"}
LETTER_OF = {BONA_FIDE: "T", SPOOF: "F"}
GENUINE, FAKE = "1", "0"


def recognises(head: bytes) -> bool:
    """Whether most of the first lines are an id, ranges with T or F, and 0 or 1."""
    return mostly(head, _fits)


def _fits(line: str) -> bool:
    fields = line.split()
    if len(fields) != 3 or fields[2] not in (GENUINE, FAKE):
        return False
    match = RANGE.fullmatch(fields[1].partition("/")[0])
    return match is not None and match[3] in LETTERS


def read(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read HAD label files."""
    rows = RangeRows()
    for source in sources:
        empty = True
        for number, line in source.lines():
            empty = False
            _read_line(rows, f"{source.name}:{number}", line.split(), header_hint(number, line))
        if empty:
            rows.problems.add(f"{source.name}: the file is empty")
    snap = TEXT_SNAP if options.snap is None else options.snap
    return rows.build(options.durations, snap=snap, only_listed=True)


def _read_line(rows: RangeRows, place: str, fields: list[str], hint: str) -> None:
    where = f"{place}: utterance {fields[0]!r}"
    if len(fields) != 3:
        rows.problems.add(f"{where}: '<utt> <ranges> <0|1>' has 3 fields, this line has {len(fields)}{hint}")
        return
    utterance, items, label = fields
    if label not in (GENUINE, FAKE):
        rows.problems.add(f"{where}: the last field must be 0 (fake) or 1 (genuine), not {label!r}{hint}")
        return
    if not rows.name_once(place, utterance):
        return
    letters = {_read_range(rows, place, utterance, item) for item in items.split("/")}
    if None in letters:
        return
    if ("F" in letters) != (label == FAKE):
        found = "one of its ranges is fake (F)" if "F" in letters else "none of its ranges is fake (F)"
        called = "genuine (1)" if label == GENUINE else "fake (0)"
        rows.problems.add(f"{where}: it is called {called}, but {found}; correct the label or the ranges")


def _read_range(rows: RangeRows, place: str, utterance: str, item: str) -> str | None:
    """Note one range; returns its letter, None (and a problem) if it cannot be read."""
    where = f"{place}: utterance {utterance!r}"
    match = RANGE.fullmatch(item)
    if match is None:
        hint = "use decimal points" if "," in item else "it must be <start>-<end>-<T|F>, in seconds"
        rows.problems.add(f"{where}: the range {item!r} cannot be read; {hint}")
        return None
    if match[3] not in LETTERS:
        rows.problems.add(f"{where}: unknown label {match[3]!r} in {item!r} (T genuine or F fake)")
        return None
    start, end = rows.seconds(where, match[1], "start"), rows.seconds(where, match[2], "end")
    rows.add(place, utterance, start, end, LETTERS[match[3]])
    return match[3]


def write(references: References) -> Iterator[bytes]:
    """Write a line per utterance; times exactly."""
    check_words(references, "HAD")
    check_labels(references, "HAD", (BONA_FIDE, SPOOF))
    check_no_kinds(references, "HAD")
    for utterance, ranges in written_ranges(references):
        if not ranges:
            raise UsageError(f"HAD cannot hold utterance {utterance!r}, which has no ranges; write another format")
    check_ends_at_durations(references, "HAD")
    for utterance, ranges in written_ranges(references):
        items = "/".join(f"{time_text(one.start)}-{time_text(one.end)}-{LETTER_OF[one.label]}" for one in ranges)
        label = FAKE if any(one.label == SPOOF for one in ranges) else GENUINE
        yield f"{utterance} {items} {label}\n".encode()


FORMAT = Format(
    "had",
    "<utt> <s>-<e>-<T|F>(/<s>-<e>-<T|F>)* <0|1>: HAD (T genuine, F fake, 1 genuine)",
    read,
    recognises,
    write,
)

"""HAD (half-truth audio detection): ``<utt> <s>-<e>-<T|F>(/<s>-<e>-<T|F>)* <0|1>``, a line per utterance.

T is genuine, F is fake; the utterance is 1 (genuine) if and only if none of its ranges is fake. No durations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spoofspan.base.errors import UsageError
from spoofspan.data.references import BONA_FIDE, LABELS, SPOOF, References
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.sources import Source
from spoofspan.formats.text.range_items import ItemWords, read_lines
from spoofspan.formats.text.rows import (
    TEXT_SNAP,
    RangeRows,
    check_ends_at_durations,
    check_labels,
    check_no_kinds,
    check_words,
    mostly,
    written_ranges,
)

WORDS = ItemWords({"T": "bonafide", "F": "spoof"}, "T|F", "T genuine or F fake")
GENUINE, FAKE = "1", "0"


def recognises(head: bytes) -> bool:
    """Whether most of the first lines are an id, ranges with T or F, and 0 or 1."""
    return mostly(head, _fits)


def _fits(line: str) -> bool:
    fields = line.split()
    return len(fields) == 3 and fields[2] in (GENUINE, FAKE) and WORDS.fit(fields[1].partition("/")[0])


def read(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read HAD label files."""
    rows = RangeRows()
    note_ranges(rows, sources)
    snap = TEXT_SNAP if options.snap is None else options.snap
    return rows.build(options.durations, snap=snap, only_listed=True)


def note_ranges(rows: RangeRows, sources: Sequence[Source], *, label_optional: bool = False) -> None:
    """Note the ranges of every line; the label of the utterance may be left out where it is ``label_optional``."""

    def read_line(place: str, fields: list[str], hint: str) -> None:
        where = f"{place}: utterance {fields[0]!r}"
        if len(fields) != 3 and not (label_optional and len(fields) == 2):
            rows.problems.add(f"{where}: '<utt> <ranges> <0|1>' has 3 fields, this line has {len(fields)}{hint}")
            return
        label = fields[2] if len(fields) == 3 else None
        if label not in (GENUINE, FAKE, None):
            rows.problems.add(f"{where}: the last field must be 0 (fake) or 1 (genuine), not {label!r}{hint}")
            return
        if not rows.name_once(place, fields[0]):
            return
        fake = WORDS.note(rows, place, fields[0], fields[1].split("/"))
        if label is not None and fake is not None and fake != (label == FAKE):
            found = "one of its ranges is fake (F)" if fake else "none of its ranges is fake (F)"
            called = "genuine (1)" if label == GENUINE else "fake (0)"
            rows.problems.add(f"{where}: it is called {called}, but {found}; correct the label or the ranges")

    read_lines(rows, sources, read_line)


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
        items = "/".join(WORDS.text(one, LABELS[one.label]) for one in ranges)
        label = FAKE if any(one.label == SPOOF for one in ranges) else GENUINE
        yield f"{utterance} {items} {label}\n".encode()


FORMAT = Format(
    "had",
    "<utt> <s>-<e>-<T|F>(/<s>-<e>-<T|F>)* <0|1>: HAD (T genuine, F fake, 1 genuine)",
    read,
    recognises,
    write,
)

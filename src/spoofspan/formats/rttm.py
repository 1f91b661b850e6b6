"""RTTM: ``SPEAKER <utt> <chan> <start s> <dur s> <NA> <NA> <label> <NA> [<NA>]``; comments start with ``;;``.

PartialSpoof prints times with three decimals, start and duration rounded apart; hence the snap of 2 ms. A label that
is no word for a class is an attack (``A07``): spoof, of that kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from spoofspan.errors import UsageError
from spoofspan.formats.plain_columns import columns_of, numbers_of, texts_of
from spoofspan.formats.registry import Format, ReadOptions, text_of
from spoofspan.formats.rows import TEXT_SNAP, RangeRows, check_words, label_and_kind, time_text, written_ranges
from spoofspan.formats.sources import Source
from spoofspan.formats.table_columns import Part
from spoofspan.formats.tables import table_from_references
from spoofspan.references import LABELS, References

LINES_PER_PIECE = 1 << 17


def recognises(head: bytes) -> bool:
    """Whether the first lines look like RTTM."""
    lines = [line.split() for line in text_of(head).splitlines() if line.strip() and not line.startswith(";;")]
    return bool(lines) and lines[0][0] == "SPEAKER" and len(lines[0]) in (9, 10)


def read(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read RTTM files."""
    rows = RangeRows()
    for source in sources:
        if not _note_quickly(rows, source):
            _note_lines(rows, source.name, source.lines())
    return rows.build(options.durations, snap=_snap(options))


def _note_quickly(rows: RangeRows, source: Source) -> bool:
    """Note all ranges of a file at once; False, and nothing noted, if anything at all is unusual."""
    columns = columns_of(source.read(), (9, 10))
    if columns is None or set(columns[0]) != {b"SPEAKER"}:
        return False
    starts, lengths = numbers_of(columns[3]), numbers_of(columns[4])
    if starts is None or lengths is None:
        return False
    whole = all(map(bytes.isdigit, columns[3])) and all(map(bytes.isdigit, columns[4]))
    return rows.add_many(source.name, texts_of(columns[1]), starts, lengths, texts_of(columns[7]), whole)


def stream(sources: Sequence[Source], options: ReadOptions) -> Iterator[Part]:
    """Read RTTM files piece by piece."""
    for source in sources:
        lines = source.lines()
        while True:
            rows = RangeRows()
            if not _note_lines(rows, source.name, islice(lines, LINES_PER_PIECE)):
                break
            if not rows.empty:
                references = rows.build(None, snap=_snap(options), check_units=False)
                yield Part(table_from_references(references), source.name)


def _snap(options: ReadOptions) -> float:
    return TEXT_SNAP if options.snap is None else options.snap


def note_ranges(rows: RangeRows, sources: Sequence[Source]) -> None:
    """Note the range of every line."""
    for source in sources:
        _note_lines(rows, source.name, source.lines())


def _note_lines(rows: RangeRows, name: str, lines: Iterable[tuple[int, str]]) -> int:
    """Note the ranges of some lines of a file, and return the number of the last line."""
    number = 0
    for number, line in lines:
        place = f"{name}:{number}"
        if line.startswith(";;"):
            continue
        fields = line.split()
        if len(fields) not in (9, 10):
            rows.problems.add(f"{place}: RTTM has 9 or 10 fields, this line has {len(fields)}")
            continue
        if fields[0] != "SPEAKER":
            rows.problems.add(f"{place}: the line begins with {fields[0]!r}, not with SPEAKER")
            continue
        start, length = rows.seconds(place, fields[3], "start"), rows.seconds(place, fields[4], "duration")
        if length < 0:
            rows.problems.add(f"{place}: the duration is negative ({fields[4]})")
            continue
        rows.add(place, fields[1], start, start + length, fields[7])
    return number


def write(references: References) -> Iterator[bytes]:
    """Write RTTM lines, times exactly; durations, and utterances without ranges, need a reco2dur beside it."""
    check_words(references, "RTTM")
    for utterance, ranges in written_ranges(references):
        for one in ranges:
            label = LABELS[one.label] if one.kind is None else one.kind
            if one.kind is not None and label_and_kind(one.kind) != (one.label, one.kind):
                raise UsageError(
                    f"RTTM cannot hold the kind {one.kind!r} (attacks look like A07); write another format"
                )
            times = f"{time_text(one.start):>7} {time_text(one.end - one.start):>7}"
            yield f"SPEAKER {utterance} 1 {times} <NA> <NA> {label} <NA> <NA>\n".encode()


FORMAT = Format(
    "rttm",
    "SPEAKER <utt> <chan> <start s> <dur s> <NA> <NA> <label> <NA> [<NA>]: PartialSpoof and NIST",
    read,
    recognises,
    write,
    (".rttm",),
    stream=stream,
)

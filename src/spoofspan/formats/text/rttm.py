"""RTTM: ``SPEAKER <utt> <chan> <start s> <dur s> <NA> <NA> <label> <NA> [<NA>]``; comments start with ``;;``.

PartialSpoof prints times with three decimals, start and duration rounded apart; hence the snap of 2 ms. A label that
is no word for a class is an attack (``A07``): spoof, of that kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from spoofspan.base.columns import offsets_of
from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.times import Float64
from spoofspan.data.references import LABELS, References
from spoofspan.formats.format import Format, ReadOptions, text_of
from spoofspan.formats.sources import Source
from spoofspan.formats.tables.arrow_tables import table_from_references
from spoofspan.formats.tables.table_columns import Part, Texts, encoded_texts, flat
from spoofspan.formats.text.plain_columns import is_plain
from spoofspan.formats.text.rows import (
    SUSPICIOUS_RATIO,
    SUSPICIOUS_SECONDS,
    TEXT_SNAP,
    RangeRows,
    check_words,
    label_and_kind,
    time_text,
    written_ranges,
)

LINES_PER_PIECE = 1 << 17


def recognises(head: bytes) -> bool:
    """Whether the first lines look like RTTM."""
    lines = [line.split() for line in text_of(head).splitlines() if line.strip() and not line.startswith(";;")]
    return bool(lines) and lines[0][0] == "SPEAKER" and len(lines[0]) in (9, 10)


def read(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read RTTM files."""
    if len(sources) == 1 and (plain := _quickly(sources[0], options)) is not None:
        return plain
    rows = RangeRows()
    note_ranges(rows, sources)
    return rows.build(options.durations, snap=_snap(options))


def _quickly(source: Source, options: ReadOptions) -> References | None:
    """Read a file as a table; None if anything at all is unusual, and has to be looked at line by line."""
    columns = _columns(source.read())
    if columns is None:
        return None
    utterances, starts, lengths, labels = columns
    ends = starts + lengths
    times = np.concatenate((starts, lengths))
    meanings = [label_and_kind(label) for label in labels.values]
    fine = ((times >= 0) & (times <= SUSPICIOUS_SECONDS)).all() and all(code is not None for code, _ in meanings)
    if not fine or (times == np.floor(times)).all():
        return None
    durations, listed = options.durations, utterances.values
    if durations is not None:
        if not all(utterance in durations for utterance in listed):
            return None
        known = np.array([durations[utterance] for utterance in listed])
        if (ends > SUSPICIOUS_RATIO * known[utterances.codes]).any():
            return None
    ids = list(dict.fromkeys([*listed, *(durations or ())]))
    order = np.argsort(utterances.codes, kind="stable")
    counts = np.bincount(utterances.codes, minlength=len(ids))
    words = labels.codes[order]
    kinds = [kind for _, kind in meanings]
    try:
        return References.from_columns(
            ids,
            None if durations is None else np.array([durations[utterance] for utterance in ids], np.float64),
            offsets_of(counts),
            starts[order],
            ends[order],
            labels=np.array([code for code, _ in meanings], np.int8)[words],
            kinds=[kinds[word] for word in words] if any(kinds) else None,
            snap=_snap(options),
        )
    except DataError:
        return None


def _columns(data: bytes) -> tuple[Texts, Float64, Float64, Texts] | None:
    """Utterances, starts, durations and labels of plain lines."""
    import pyarrow as pa
    from pyarrow import csv

    if not is_plain(data) or b"\t" in data or b'"' in data:
        return None
    for several, one in ((b"\r\n", b"\n"), (b"   ", b" "), (b"  ", b" "), (b" \n", b"\n")):
        if several in data:  # looking costs less than replacing nothing
            data = data.replace(several, one)
    width = data.partition(b"\n")[0].count(b" ") + 1
    if width not in (9, 10):
        return None
    word, number = pa.dictionary(pa.int32(), pa.string()), pa.float64()
    try:
        table = csv.read_csv(
            pa.BufferReader(data),
            csv.ReadOptions(use_threads=False, column_names=[str(i) for i in range(width)]),
            csv.ParseOptions(delimiter=" ", quote_char=False),
            csv.ConvertOptions(
                column_types={"0": word, "1": word, "3": number, "4": number, "7": word},
                include_columns=["0", "1", "3", "4", "7"],
                null_values=[],
            ),
        )
    except pa.ArrowException:
        return None
    first, utterances, labels = (encoded_texts(table.column(name)) for name in ("0", "1", "7"))
    if first.values != ["SPEAKER"]:
        return None
    return utterances, flat(table.column("3")), flat(table.column("4")), labels


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

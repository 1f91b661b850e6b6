"""Audacity label tracks: ``<start><TAB><end><TAB><label>`` a line, a file ``<utt>.txt`` per utterance.

Labels are words for a class or names of attacks, as in RTTM. Lines that begin with a backslash hold the frequencies of
a spectral selection and are skipped. An empty track is an utterance without ranges, if a duration is given for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spoofspan.errors import UsageError
from spoofspan.formats.registry import Format, ReadOptions
from spoofspan.formats.rows import (
    TEXT_SNAP,
    RangeRows,
    WrittenRange,
    check_ends_at_durations,
    header_hint,
    is_number,
    label_and_kind,
    mostly,
    time_text,
    written_ranges,
)
from spoofspan.formats.sources import Source
from spoofspan.formats.vad import check_file_names, named_by_file
from spoofspan.references import LABELS, SPOOF, References

SUFFIX = ".txt"


def recognises(head: bytes) -> bool:
    """Whether most of the first lines are two times, in order, and a label, with tabs between them."""
    return mostly(head, _fits)


def _fits(line: str) -> bool:
    if line.startswith("\\"):
        return True
    fields = line.split("\t")
    if len(fields) != 3 or not (is_number(fields[0]) and is_number(fields[1])):
        return False
    return label_and_kind(fields[2].strip())[0] is not None and 0 <= float(fields[0]) <= float(fields[1])


def read(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read label tracks, each of one utterance."""
    rows = RangeRows()
    for source in sources:
        utterance = named_by_file(rows, source, SUFFIX)
        if utterance is None:
            continue
        empty = True
        for number, line in source.lines():
            empty = False
            if not line.startswith("\\"):
                _read_line(rows, utterance, f"{source.name}:{number}", line, header_hint(number, line))
        if empty and utterance not in (options.durations or {}):
            rows.problems.add(
                f"{source.name}: utterance {utterance!r}: the file is empty; if it has no ranges, give its duration"
            )
    return rows.build(options.durations, snap=TEXT_SNAP if options.snap is None else options.snap)


def _read_line(rows: RangeRows, utterance: str, place: str, line: str, hint: str) -> None:
    where = f"{place}: utterance {utterance!r}"
    fields = [field.strip() for field in line.split("\t")]
    if len(fields) != 3:
        rows.problems.add(
            f"{where}: '<start><TAB><end><TAB><label>' has 3 fields between tabs, this line has {len(fields)}{hint}"
        )
        return
    if not fields[2]:
        rows.problems.add(f"{where}: the label is empty; write bonafide, spoof, nonspeech, or an attack such as A07")
        return
    if hint:
        rows.problems.add(f"{where}: there are no times in this line{hint}")
        return
    start, end = rows.seconds(where, fields[0], "start"), rows.seconds(where, fields[1], "end")
    rows.add(place, utterance, start, end, fields[2])


def write(references: References) -> Iterator[bytes]:
    """Write the track of the one utterance; :func:`write_files` has the files of several."""
    if len(references) != 1:
        raise UsageError(f"a label track holds one utterance, not {len(references)}; write a folder of them")
    yield from (content for _, content in write_files(references))


def write_files(references: References) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of every utterance's track; times exactly."""
    check_file_names(references, "a label track")
    for utterance, ranges in written_ranges(references):
        if not ranges:
            raise UsageError(f"a label track cannot hold utterance {utterance!r}, which has no ranges")
    check_ends_at_durations(references, "a label track")
    tracks = [(utterance, [_line(one) for one in ranges]) for utterance, ranges in written_ranges(references)]
    for utterance, lines in tracks:
        yield utterance + SUFFIX, "".join(lines).encode()


def _line(one: WrittenRange) -> str:
    label = LABELS[one.label]
    if one.kind is not None:
        if one.label != SPOOF or label_and_kind(one.kind) != (SPOOF, one.kind):
            raise UsageError(f"a label track cannot hold {label} of kind {one.kind!r}; kinds are attacks such as A07")
        label = one.kind
    return f"{time_text(one.start)}\t{time_text(one.end)}\t{label}\n"


FORMAT = Format(
    "audacity",
    "<start><TAB><end><TAB><label>, a file <utt>.txt per utterance: Audacity label tracks",
    read,
    recognises,
    write,
    (SUFFIX,),
)

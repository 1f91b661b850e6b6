"""PartialSpoof's ``<utt>.vad`` files: ``<start s> <end s> <label>`` a line; 0 spoof, 1 bona fide, 2 non-speech.

The utterance is the file name without ``.vad`` (and .gz or .zst), so a corpus is a folder and one file one utterance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from spoofspan.errors import UsageError
from spoofspan.formats.registry import Format, ReadOptions
from spoofspan.formats.rows import (
    TEXT_SNAP,
    RangeRows,
    check_ends_at_durations,
    check_no_kinds,
    check_utf8,
    header_hint,
    is_number,
    mostly,
    time_text,
    written_ranges,
)
from spoofspan.formats.sources import Source
from spoofspan.references import BONA_FIDE, NONSPEECH, SPOOF, References

SUFFIX = ".vad"
DIGITS = {"0": "spoof", "1": "bonafide", "2": "nonspeech"}
DIGIT_OF = {SPOOF: "0", BONA_FIDE: "1", NONSPEECH: "2"}


def recognises(head: bytes) -> bool:
    """Whether most of the first lines are two times, in order, and 0, 1 or 2."""
    return mostly(head, _fits)


def _fits(line: str) -> bool:
    fields = line.split()
    if len(fields) != 3 or not (is_number(fields[0]) and is_number(fields[1])):
        return False
    return fields[2] in DIGITS and 0 <= float(fields[0]) <= float(fields[1])


def read(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read .vad files, each of one utterance."""
    rows = RangeRows()
    for source in sources:
        utterance = named_by_file(rows, source, SUFFIX)
        if utterance is None:
            continue
        empty = True
        for number, line in source.lines():
            empty = False
            _read_line(rows, utterance, f"{source.name}:{number}", line.split(), header_hint(number, line))
        if empty:
            rows.problems.add(f"{source.name}: utterance {utterance!r}: the file is empty")
    return rows.build(options.durations, snap=TEXT_SNAP if options.snap is None else options.snap)


def _read_line(rows: RangeRows, utterance: str, place: str, fields: list[str], hint: str) -> None:
    where = f"{place}: utterance {utterance!r}"
    if len(fields) != 3:
        rows.problems.add(f"{where}: '<start> <end> <0|1|2>' has 3 fields, this line has {len(fields)}{hint}")
        return
    if fields[2] not in DIGITS:
        known = "0 spoof, 1 bona fide, 2 non-speech"
        rows.problems.add(f"{where}: unknown label {fields[2]!r} ({known}){hint}")
        return
    start, end = rows.seconds(where, fields[0], "start"), rows.seconds(where, fields[1], "end")
    rows.add(place, utterance, start, end, DIGITS[fields[2]])


def named_by_file(rows: RangeRows, source: Source, suffix: str) -> str | None:
    """Name the utterance of a file after the file; None (and a problem) if that is impossible."""
    name = PurePath(str(source.name)).name
    for packed in (".gz", ".zst"):
        name = name.removesuffix(packed)
    utterance = name.removesuffix(suffix)
    if utterance == name or not utterance:
        rows.problems.add(f"{source.name}: the file names the utterance, and must be called <utterance>{suffix}")
        return None
    return utterance if rows.name_once(source.name, utterance) else None


def write(references: References) -> Iterator[bytes]:
    """Write the lines of the one utterance; :func:`write_files` has the files of several."""
    if len(references) != 1:
        raise UsageError(f"a {SUFFIX} file holds one utterance, not {len(references)}; write a folder of them")
    yield from (content for _, content in write_files(references))


def write_files(references: References) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of every utterance's file; times exactly."""
    check_file_names(references, "a .vad file")
    check_no_kinds(references, "a .vad file")
    for utterance, ranges in written_ranges(references):
        if not ranges:
            raise UsageError(f"a .vad file cannot hold utterance {utterance!r}, which has no ranges")
    check_ends_at_durations(references, "a .vad file")
    for utterance, ranges in written_ranges(references):
        lines = (f"{time_text(one.start)} {time_text(one.end)} {DIGIT_OF[one.label]}\n" for one in ranges)
        yield utterance + SUFFIX, "".join(lines).encode()


def check_file_names(references: References, name: str) -> None:
    """Refuse ids that cannot name a file."""
    for utterance in references.utterances:
        check_utf8(utterance, name)
        if utterance.startswith(".") or any(bad in utterance for bad in "/\\\0"):
            raise UsageError(
                f"{name} is named by its utterance, and {utterance!r} is no file name; write another format"
            )


FORMAT = Format(
    "vad",
    "<start s> <end s> <0 spoof, 1 bona fide, 2 non-speech>, a file <utt>.vad per utterance: PartialSpoof",
    read,
    recognises,
    write,
    (SUFFIX,),
)

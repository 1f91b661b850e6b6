"""PartialSpoof's ``<utt>.vad`` files: ``<start s> <end s> <label>`` a line; 0 spoof, 1 bona fide, 2 non-speech."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spoofspan.data.references import BONA_FIDE, NONSPEECH, SPOOF, References
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.sources import Source
from spoofspan.formats.text.rows import RangeRows, WrittenRange, check_no_kinds, is_number, mostly, time_text
from spoofspan.formats.text.utterance_files import only_file, read_files, written_files

SUFFIX = ".vad"
NAME = "a .vad file"
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
    return read_files(sources, options, SUFFIX, _read_line)


def _read_line(rows: RangeRows, utterance: str, place: str, line: str, hint: str) -> None:
    where = f"{place}: utterance {utterance!r}"
    fields = line.split()
    if len(fields) != 3:
        rows.problems.add(f"{where}: '<start> <end> <0|1|2>' has 3 fields, this line has {len(fields)}{hint}")
        return
    if fields[2] not in DIGITS:
        known = "0 spoof, 1 bona fide, 2 non-speech"
        rows.problems.add(f"{where}: unknown label {fields[2]!r} ({known}){hint}")
        return
    start, end = rows.seconds(where, fields[0], "start"), rows.seconds(where, fields[1], "end")
    rows.add(place, utterance, start, end, DIGITS[fields[2]])


def write(references: References) -> Iterator[bytes]:
    """Write the lines of the one utterance; :func:`write_files` has the files of several."""
    return only_file(references, NAME, write_files(references))


def write_files(references: References) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of every utterance's file; times exactly."""
    check_no_kinds(references, NAME)
    yield from written_files(references, NAME, SUFFIX, _line)


def _line(one: WrittenRange) -> str:
    return f"{time_text(one.start)} {time_text(one.end)} {DIGIT_OF[one.label]}\n"


FORMAT = Format(
    "vad",
    "<start s> <end s> <0 spoof, 1 bona fide, 2 non-speech>, a file <utt>.vad per utterance: PartialSpoof",
    read,
    recognises,
    write,
    (SUFFIX,),
)

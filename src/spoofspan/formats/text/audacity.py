"""Audacity label tracks: ``<start><TAB><end><TAB><label>`` a line, a file ``<utt>.txt`` per utterance.

Labels are words for a class or names of attacks, as in RTTM. Lines that begin with a backslash hold the frequencies of
a spectral selection and are skipped. An empty track is an utterance without ranges, if a duration is given for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spoofspan.base.errors import UsageError
from spoofspan.data.references import LABELS, SPOOF, References
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.sources import Source
from spoofspan.formats.text.rows import RangeRows, WrittenRange, is_number, label_and_kind, mostly, time_text
from spoofspan.formats.text.utterance_files import only_file, read_files, written_files

SUFFIX = ".txt"
NAME = "a label track"
FREQUENCIES = "\\"


def recognises(head: bytes) -> bool:
    """Whether most of the first lines are two times, in order, and a label, with tabs between them."""
    return mostly(head, _fits)


def _fits(line: str) -> bool:
    if line.startswith(FREQUENCIES):
        return True
    fields = line.split("\t")
    if len(fields) != 3 or not (is_number(fields[0]) and is_number(fields[1])):
        return False
    return label_and_kind(fields[2].strip())[0] is not None and 0 <= float(fields[0]) <= float(fields[1])


def read(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read label tracks, each of one utterance."""
    return read_files(sources, options, SUFFIX, _read_line, may_be_empty=True)


def _read_line(rows: RangeRows, utterance: str, place: str, line: str, hint: str) -> None:
    if line.startswith(FREQUENCIES):
        return
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
    return only_file(references, NAME, write_files(references))


def write_files(references: References) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of every utterance's track; times exactly."""
    return written_files(references, NAME, SUFFIX, _line)


def _line(one: WrittenRange) -> str:
    label = LABELS[one.label]
    if one.kind is not None:
        if one.label != SPOOF or label_and_kind(one.kind) != (SPOOF, one.kind):
            raise UsageError(f"{NAME} cannot hold {label} of kind {one.kind!r}; kinds are attacks such as A07")
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

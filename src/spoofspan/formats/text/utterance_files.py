"""A file per utterance, which the file is named after, of lines ``<start s> <end s> <label>``.

==========  ===============  =============  =========================================================================
format      file             between        labels
==========  ===============  =============  =========================================================================
vad         ``<utt>.vad``    white space    0 spoof, 1 bona fide, 2 non-speech: PartialSpoof
audacity    ``<utt>.txt``    tabs           words for a class, or names of attacks, as in RTTM: Audacity label tracks
==========  ===============  =============  =========================================================================

The utterance is the file name without its ending (and .gz or .zst), so a corpus is a folder. In label tracks, lines
that begin with a backslash hold the frequencies of a spectral selection and are skipped, and an empty track is an
utterance without ranges, if a duration is given for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath

from spoofspan.base.errors import UsageError
from spoofspan.data.references import BONA_FIDE, LABELS, NONSPEECH, SPOOF, References
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.sources import Source
from spoofspan.formats.text.lines import Line, is_finite, lines_of, mostly
from spoofspan.formats.text.rows import (
    RangeRows,
    WrittenRange,
    check_ranges_tell_durations,
    check_utf8,
    check_writable,
    label_and_kind,
    time_text,
    written_ranges,
)

DIGIT_OF = {SPOOF: "0", BONA_FIDE: "1", NONSPEECH: "2"}


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Which fields a line has."""

    name: str  # what messages call a file
    suffix: str
    separator: str | None
    width: str  # how many fields a line has
    digits: Mapping[str, str]  # the labels; without these, they are words for a class or attacks
    label: Callable[[WrittenRange], str]
    comment: str | None = None
    may_be_empty: bool = False  # if there is a duration

    def problem(self, line: Line) -> str | None:
        """What is wrong with a line, apart from its times."""
        if len(line.fields) != 3:
            return f"{self.width}, this line has {len(line.fields)}{line.hint}"
        label = line.fields[2]
        if self.digits and label not in self.digits:
            return f"unknown label {label!r} (0 spoof, 1 bona fide, 2 non-speech){line.hint}"
        if not label:
            return "the label is empty; write bonafide, spoof, nonspeech, or an attack such as A07"
        return f"there are no times in this line{line.hint}" if line.hint else None


def _word(one: WrittenRange) -> str:
    label = LABELS[one.label]
    if one.kind is None:
        return label
    if one.label != SPOOF or label_and_kind(one.kind) != (SPOOF, one.kind):
        raise UsageError(f"a label track cannot hold {label} of kind {one.kind!r}; kinds are attacks such as A07")
    return one.kind


VAD_LINES = Layout(
    name="a .vad file",
    suffix=".vad",
    separator=None,
    width="'<start> <end> <0|1|2>' has 3 fields",
    digits={"0": "spoof", "1": "bonafide", "2": "nonspeech"},
    label=lambda one: DIGIT_OF[one.label],
)
TRACK_LINES = Layout(
    name="a label track",
    suffix=".txt",
    separator="\t",
    width="'<start><TAB><end><TAB><label>' has 3 fields between tabs",
    digits={},
    label=_word,
    comment="\\",  # frequencies of a spectral selection
    may_be_empty=True,
)


def recognises(layout: Layout, head: bytes) -> bool:
    """Whether most of the first lines are two times, in order, and a label."""

    def fits(line: str) -> bool:
        if layout.comment is not None and line.startswith(layout.comment):
            return True
        fields = line.split(layout.separator)
        return (
            len(fields) == 3
            and is_finite(fields[0])
            and is_finite(fields[1])
            and (fields[2] in layout.digits if layout.digits else label_and_kind(fields[2].strip())[0] is not None)
            and 0 <= float(fields[0]) <= float(fields[1])
        )

    return mostly(head, fits)


def read(layout: Layout, sources: Sequence[Source], options: ReadOptions) -> References:
    """Read files, each of one utterance."""
    rows = RangeRows()
    for source in sources:
        utterance = _named_by_file(rows, source, layout.suffix)
        if utterance is None:
            continue
        remedy = "; if it has no ranges, give its duration" if layout.may_be_empty else ""
        empty = f"utterance {utterance!r}: the file is empty{remedy}"
        allowed = layout.may_be_empty and utterance in (options.durations or {})
        problems = None if allowed else rows.problems
        for line in lines_of([source], layout.separator, comment=layout.comment, problems=problems, empty=empty):
            where = f"{line.place}: utterance {utterance!r}"
            if (problem := layout.problem(line)) is not None:
                rows.problems.add(f"{where}: {problem}")
                continue
            start, end, label = line.fields
            times = rows.seconds(where, start, "start"), rows.seconds(where, end, "end")
            rows.add(line.place, utterance, *times, layout.digits.get(label, label))
    return rows.build(options.durations, options.snap)


def _named_by_file(rows: RangeRows, source: Source, suffix: str) -> str | None:
    """Name the utterance of a file after the file; None (and a problem) if that is impossible."""
    name = PurePath(source.name).name.removesuffix(".gz").removesuffix(".zst")
    utterance = name.removesuffix(suffix)
    if utterance == name or not utterance:
        rows.problems.add(f"{source.name}: the file names the utterance, and must be called <utterance>{suffix}")
        return None
    return utterance if rows.name_once(source.name, utterance) else None


def write(layout: Layout, references: References) -> Iterator[bytes]:
    """Write the lines of the one utterance; :func:`write_files` has the files of several."""
    if len(references) != 1:
        raise UsageError(f"{layout.name} holds one utterance, not {len(references)}; write a folder of them")
    yield from (content for _, content in write_files(layout, references))


def write_files(layout: Layout, references: References) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of every utterance's file; times exactly."""
    check_writable(references, layout.name, kinds=not layout.digits)
    for utterance in references.utterances:
        check_utf8(utterance, layout.name)
        if utterance.startswith(".") or any(bad in utterance for bad in "/\\\0"):
            raise UsageError(
                f"{layout.name} is named by its utterance, and {utterance!r} is no file name; write another format"
            )
    check_ranges_tell_durations(references, layout.name)
    gap = layout.separator or " "
    files = [
        (utterance, [gap.join((time_text(one.start), time_text(one.end), layout.label(one))) for one in ranges])
        for utterance, ranges in written_ranges(references)
    ]
    for utterance, lines in files:
        yield utterance + layout.suffix, "".join(f"{line}\n" for line in lines).encode()


def _format(layout: Layout, name: str, about: str) -> Format[References]:
    reader, writer = partial(read, layout), partial(write, layout)
    return Format(name, about, reader, partial(recognises, layout), writer, (layout.suffix,))


VAD = _format(
    VAD_LINES,
    "vad",
    "<start s> <end s> <0 spoof, 1 bona fide, 2 non-speech>, a file <utt>.vad per utterance: PartialSpoof",
)
AUDACITY = _format(
    TRACK_LINES, "audacity", "<start><TAB><end><TAB><label>, a file <utt>.txt per utterance: Audacity label tracks"
)

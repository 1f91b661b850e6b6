"""Labelled ranges as text: all ranges of an utterance in one line, or a file per utterance.

=============  =====================================================================  ==================================
format         line                                                                   whose
=============  =====================================================================  ==================================
had            ``<utt> <s>-<e>-<T|F>(/<s>-<e>-<T|F>)* <0|1>``, T genuine, F fake      HAD (half-truth audio detection)
segment-list   ``<utt> <dur s> <bonafide|spoof> (<start>-<end>-<bonafide|spoof>)*``   LlamaPartialSpoof,
                                                                                      partialspoof-metrics
vad            ``<start s> <end s> <0 spoof, 1 bona fide, 2 non-speech>``             PartialSpoof, ``<utt>.vad``
audacity       ``<start s> TAB <end s> TAB <label>``, words or attacks as in RTTM     Audacity tracks, ``<utt>.txt``
lab            ``<start s> <end s> <label>``, words or attacks as in RTTM             HTK, mir_eval, ``<utt>.lab``
=============  =====================================================================  ==================================

A ``-`` also is a sign of a number or of its exponent: ``1e-05-0.5-spoof`` is a range from 0.00001 s to 0.5 s. HAD and
segment lists also call the whole utterance spoof (HAD: 0) or not (1): spoof if and only if one of its ranges is. Only
segment lists carry durations; in them, an utterance without ranges is bona fide and stays without.

The utterance of a track is the file name without its ending (and .gz or .zst), so a corpus is a folder. In Audacity's,
lines that begin with a backslash hold the frequencies of a spectral selection and are skipped, and an empty track is an
utterance without ranges, if a duration is given for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from spoofspan.base.errors import UsageError
from spoofspan.data.references import BONA_FIDE, LABELS, NONSPEECH, SPOOF, References
from spoofspan.formats.file_names import unpacked_name
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.recognition import Lines, anything, at_spaces, at_tabs, is_name, one_of
from spoofspan.formats.sources import Source
from spoofspan.formats.text.lines import Line, fields_of, is_finite, lines_of
from spoofspan.formats.text.rows import (
    RangeRows,
    WrittenRange,
    check_ranges_tell_durations,
    check_utf8,
    check_writable,
    label_and_attack,
    time_text,
    written_ranges,
)

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
CLASSES = {"bonafide": "bonafide", "spoof": "spoof"}
DIGIT_OF = {SPOOF: "0", BONA_FIDE: "1", NONSPEECH: "2"}
RANGE = re.compile(rf"({_NUMBER})-({_NUMBER})-(.*)")


@dataclass(frozen=True, kw_only=True)
class RangeList:
    """The words of a format, and how messages put them."""

    words: Mapping[str, str]  # the label of a range as written -> bonafide or spoof
    spelled: str  # the label of a range, as T|F
    meant: str
    width: str  # how many fields a line has
    labels: Mapping[str, str]  # the third field, of the whole utterance -> bonafide or spoof
    third: str
    spoof: str  # what a range is that makes the utterance spoof
    called: Mapping[str, str]
    joined: bool  # all ranges in the second field, with slashes between; otherwise that is the duration

    def fits(self, item: str) -> bool:
        """True if this is a range with one of the words."""
        match = RANGE.fullmatch(item)
        return match is not None and match[3] in self.words

    def note_ranges(
        self, rows: RangeRows, sources: Sequence[Source], *, label_optional: bool = False
    ) -> dict[str, float]:
        """Note the ranges of every line; return the durations, of segment lists.

        In HAD the label of the utterance may be left out where it is ``label_optional``.
        """
        durations: dict[str, float] = {}
        for line in lines_of(sources, problems=rows.problems):
            utterance, width = line.fields[0], len(line.fields)
            where = f"{line.place}: utterance {utterance!r}"
            if width < (2 if label_optional else 3) or (width > 3 and self.joined):
                rows.problems.add(f"{where}: {self.width}, this line has {width}{line.hint}")
                continue
            label = line.fields[2] if width > 2 else None
            if label is not None and label not in self.labels:
                rows.problems.add(f"{where}: {self.third}, not {label!r}{line.hint}")
                continue
            if not rows.name_once(line.place, utterance):
                continue
            if not self.joined:
                durations[utterance] = rows.seconds(where, line.fields[1], "duration")
                if durations[utterance] <= 0:
                    rows.problems.add(f"{where}: the duration must be positive, not {line.fields[1]}")
            items = fields_of(line.fields[1], "/", line.place) if self.joined else line.fields[3:]
            noted = [self._note_item(rows, line.place, utterance, item) for item in items]
            spoof = "spoof" in noted
            if label is not None and None not in noted and spoof != (self.labels[label] == "spoof"):
                found = f"{'one' if spoof else 'none'} of its ranges is {self.spoof}"
                rows.problems.add(
                    f"{where}: it is called {self.called[label]}, but {found}; correct the label or the ranges"
                )
        return durations

    def _note_item(self, rows: RangeRows, place: str, utterance: str, item: str) -> str | None:
        """Note a range; return whether it is bona fide or spoof, None (and a problem) if it cannot be read."""
        where = f"{place}: utterance {utterance!r}"
        match = RANGE.fullmatch(item)
        if match is None:
            hint = "use decimal points" if "," in item else f"it must be <start>-<end>-<{self.spelled}>, in seconds"
            rows.problems.add(f"{where}: the range {item!r} cannot be read; {hint}")
            return None
        if match[3] not in self.words:
            rows.problems.add(f"{where}: unknown label {match[3]!r} in {item!r} ({self.meant})")
            return None
        start, end = rows.seconds(where, match[1], "start"), rows.seconds(where, match[2], "end")
        rows.add(place, utterance, start, end, self.words[match[3]])
        return self.words[match[3]]

    def read(self, sources: Sequence[Source], options: ReadOptions) -> References:
        """Read files; durations in the options take precedence over those in a segment list."""
        rows = RangeRows()
        durations = self.note_ranges(rows, sources) | dict(options.durations or {})
        return rows.build(durations or options.durations, options.snap, only_listed=True)

    def text(self, one: WrittenRange) -> str:
        """Write a range, times exactly."""
        word = next(word for word, meaning in self.words.items() if meaning == LABELS[one.label])
        return f"{time_text(one.start)}-{time_text(one.end)}-{word}"


HAD_LINES = RangeList(
    words={"T": "bonafide", "F": "spoof"},
    spelled="T|F",
    meant="T genuine or F fake",
    width="'<utt> <ranges> <0|1>' has 3 fields",
    labels={"1": "bonafide", "0": "spoof"},
    third="the last field must be 0 (fake) or 1 (genuine)",
    spoof="fake (F)",
    called={"1": "genuine (1)", "0": "fake (0)"},
    joined=True,
)
SEGMENT_LINES = RangeList(
    words=CLASSES,
    spelled="bonafide|spoof",
    meant="bonafide or spoof",
    width="'<utt> <seconds> <bonafide|spoof> <ranges>' has at least 3 fields",
    labels=CLASSES,
    third="the third field must be bonafide or spoof",
    spoof="spoof",
    called=CLASSES,
    joined=False,
)


# ---------------------------------------------------------------- HAD


def had_lines(least: int) -> Lines:
    """Lines of an id, ranges with T or F, and 0 or 1 where that may not be left out."""
    fields = (anything, lambda field: HAD_LINES.fits(field.partition("/")[0]), one_of(*HAD_LINES.labels))
    return Lines(fields, least=least, most=True)


def write_had(references: References) -> Iterator[bytes]:
    """Write a line per utterance; times exactly."""
    check_writable(references, "HAD", words=True, labels=(BONA_FIDE, SPOOF))
    check_ranges_tell_durations(references, "HAD", "; write another format")
    for utterance, ranges in written_ranges(references):
        label = "0" if any(one.label == SPOOF for one in ranges) else "1"
        yield f"{utterance} {'/'.join(map(HAD_LINES.text, ranges))} {label}\n".encode()


# ---------------------------------------------------------------- segment lists


def _has_ranges(fields: list[str]) -> bool:
    """True if ranges follow; without any it could be a label track, or a duration of less than nothing."""
    if len(fields) > 3:
        return RANGE.fullmatch(fields[3]) is not None
    return is_name(fields[0]) and float(fields[1]) > 0


SEGMENTS_FIT = Lines((anything, is_finite, one_of(*CLASSES)), more=True, most=True, each=_has_ranges)


def write_segments(references: References) -> Iterator[bytes]:
    """Write a line per utterance; times exactly."""
    check_writable(references, "a segment list", words=True, labels=(BONA_FIDE, SPOOF))
    if references.durations is None:
        raise UsageError("a segment list holds durations; give them with durations=")
    for (utterance, ranges), duration in zip(written_ranges(references), references.durations.tolist(), strict=True):
        label = LABELS[max((one.label for one in ranges), default=BONA_FIDE)]
        yield f"{' '.join((utterance, time_text(duration), label, *map(SEGMENT_LINES.text, ranges)))}\n".encode()


HAD = Format(
    "had",
    "<utt> <s>-<e>-<T|F>(/<s>-<e>-<T|F>)* <0|1>: HAD (T genuine, F fake, 1 genuine)",
    HAD_LINES.read,
    had_lines(3),
    write_had,
)
SEGMENT_LIST = Format(
    "segment-list",
    "<utt> <dur s> <bonafide|spoof> (<start>-<end>-<bonafide|spoof>)*: LlamaPartialSpoof, partialspoof-metrics",
    SEGMENT_LINES.read,
    SEGMENTS_FIT,
    write_segments,
)


# ---------------------------------------------------------------- tracks


def utterance_named(source: Source, suffix: str, rows: RangeRows) -> str | None:
    """The utterance that a file is named after; None (and a problem) if it is none, or known already."""
    name = unpacked_name(PurePath(source.name).name)
    utterance = name.removesuffix(suffix)
    if utterance == name or not utterance:
        rows.problems.add(f"{source.name}: the file names the utterance, and must be called <utterance>{suffix}")
        return None
    return utterance if rows.name_once(source.name, utterance) else None


def check_file_names(utterances: Sequence[str], name: str) -> None:
    """Refuse ids that cannot name a file."""
    for utterance in utterances:
        check_utf8(utterance, name)
        if utterance.startswith(".") or any(bad in utterance for bad in "/\\\0"):
            raise UsageError(
                f"{name} is named by its utterance, and {utterance!r} is no file name; write another format"
            )


def only_file(references: References, name: str, files: Iterator[tuple[str, bytes]]) -> Iterator[bytes]:
    """The content of the one file, if there is one utterance."""
    if len(references) != 1:
        raise UsageError(f"{name} holds one utterance, not {len(references)}; write a folder of them (OUT/)")
    yield from (content for _, content in files)


def _is_label(field: str) -> bool:
    return label_and_attack(field.strip())[0] is not None


def _is_in_order(fields: list[str]) -> bool:
    return 0 <= float(fields[0]) <= float(fields[1])


@dataclass(frozen=True, kw_only=True)
class Track:
    """A file per utterance, which the file is named after, of lines ``<start s> <end s> <label>``."""

    name: str  # what messages call a file
    suffix: str
    separator: str | None
    width: str  # how many fields a line has
    digits: Mapping[str, str]  # the labels; without these, they are words for a class or attacks
    label: Callable[[WrittenRange], str]
    comment: str = ""
    may_be_empty: bool = False  # if there is a duration
    other_units: str = ""  # the remedy for times that are no seconds

    def problem(self, line: Line) -> str | None:
        """Problems with a line, apart from its times."""
        if len(line.fields) != 3:
            return f"{self.width}, this line has {len(line.fields)}{line.hint}"
        label = line.fields[2]
        if self.digits and label not in self.digits:
            return f"unknown label {label!r} (0 spoof, 1 bona fide, 2 non-speech){line.hint}"
        if not label:
            return "the label is empty; write bonafide, spoof, nonspeech, or an attack such as A07"
        return f"there are no times in this line{line.hint}" if line.hint else None

    @property
    def lines(self) -> Lines:
        """Lines of two times, in order, and a label."""
        label = one_of(*self.digits) if self.digits else _is_label
        cut = str.split if self.digits else at_tabs if self.separator else at_spaces
        return Lines((is_finite, is_finite, label), cut, comment=self.comment, most=True, each=_is_in_order)

    def read(self, sources: Sequence[Source], options: ReadOptions) -> References:
        """Read files, each of one utterance."""
        rows = RangeRows()
        rows.remedy_of_units = self.other_units
        for source in sources:
            if (utterance := utterance_named(source, self.suffix, rows)) is None:
                continue
            remedy = "; if it has no ranges, give its duration" if self.may_be_empty else ""
            empty = f"utterance {utterance!r}: the file is empty{remedy}"
            allowed = self.may_be_empty and utterance in (options.durations or {})
            problems = None if allowed else rows.problems
            for line in lines_of(
                [source], self.separator, comment=self.comment or None, problems=problems, empty=empty
            ):
                where = f"{line.place}: utterance {utterance!r}"
                if (problem := self.problem(line)) is not None:
                    rows.problems.add(f"{where}: {problem}")
                    continue
                start, end, label = line.fields
                times = rows.seconds(where, start, "start"), rows.seconds(where, end, "end")
                rows.add(line.place, utterance, *times, self.digits.get(label, label))
        return rows.build(options.durations, options.snap)

    def write(self, references: References) -> Iterator[bytes]:
        """Write the lines of the one utterance; :meth:`write_files` has the files of several."""
        return only_file(references, self.name, self.write_files(references))

    def write_files(self, references: References) -> Iterator[tuple[str, bytes]]:
        """Yield the name and the content of every utterance's file; times exactly."""
        check_writable(references, self.name, attacks=not self.digits)
        check_file_names(references.utterances, self.name)
        check_ranges_tell_durations(references, self.name)
        gap = self.separator or " "
        files = {
            utterance: [gap.join((time_text(one.start), time_text(one.end), self.label(one))) for one in ranges]
            for utterance, ranges in written_ranges(references)
        }
        for utterance, lines in files.items():
            yield utterance + self.suffix, "".join(f"{line}\n" for line in lines).encode()

    def format(self, name: str, about: str) -> Format[References]:
        """The format of these files."""
        return Format(
            name, about, self.read, self.lines, self.write, suffixes=(self.suffix,), write_files=self.write_files
        )


def word_of(one: WrittenRange) -> str:
    """The label of a range as a word: its class, or its attack."""
    label = LABELS[one.label]
    if one.attack is None:
        return label
    if one.label != SPOOF or label_and_attack(one.attack) != (SPOOF, one.attack):
        raise UsageError(f"a label track cannot hold {label} of attack {one.attack!r}; attacks have names such as A07")
    return one.attack


VAD_LINES = Track(
    name="a .vad file",
    suffix=".vad",
    separator=None,
    width="'<start> <end> <0|1|2>' has 3 fields",
    digits={"0": "spoof", "1": "bonafide", "2": "nonspeech"},
    label=lambda one: DIGIT_OF[one.label],
)
TRACK_LINES = Track(
    name="a label track",
    suffix=".txt",
    separator="\t",
    width="'<start><TAB><end><TAB><label>' has 3 fields between tabs",
    digits={},
    label=word_of,
    comment="\\",  # frequencies of a spectral selection
    may_be_empty=True,
)
LAB_LINES = Track(
    name="a .lab file",
    suffix=".lab",
    separator=None,
    width="'<start> <end> <label>' has 3 fields",
    digits={},
    label=word_of,
    other_units=(
        "HTK's times are in 100 ns; make them seconds, in the folder of the files: mkdir seconds; for f in *.lab; do "
        'awk \'{printf "%.7f %.7f %s\\n", $1 / 1e7, $2 / 1e7, $3}\' "$f" > "seconds/$f"; done'
    ),
)
LAB = LAB_LINES.format(
    "lab",
    "<start s> <end s> <label>, a file <utt>.lab per utterance: mir_eval, and HTK if its times are made seconds",
)
VAD = VAD_LINES.format(
    "vad",
    "<start s> <end s> <0 spoof, 1 bona fide, 2 non-speech>, a file <utt>.vad per utterance: PartialSpoof",
)
AUDACITY = TRACK_LINES.format(
    "audacity",
    "<start><TAB><end><TAB><label>, a file <utt>.txt per utterance: Audacity label tracks",
)

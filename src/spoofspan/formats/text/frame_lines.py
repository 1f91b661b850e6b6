"""One frame a line: ``<utt> <frame> <score ...>``, the lines of an utterance together.

=================  =======================================================  ======================================
format             line                                                     whose
=================  =======================================================  ======================================
unit-score         ``<utt> <frame> <bona fide> <spoof>``, spaces            partialspoof-metrics, ``unit0.02.score``
wedefense-logits   ``<utt> <frame> <bona fide> <spoof> [<label>]``, tabs    WeDefense, ``logits_frame_20ms.txt``
frame-score        ``<utt> <frame> <score>``, spaces or tabs                any; hop and polarity must be told
=================  =======================================================  ======================================

Where there are two columns the spoof column is read (high = spoof), with ``column="bonafide"`` the other one. The hop
comes from ``hop=`` or else from the file's name. Frames are counted from 0; an utterance whose frames are out of order
is sorted.

A file is read twice at most: quickly in blocks, where nothing but "all is well" is established, and only if it is not,
line by line, to say what is wrong and where. Files larger than memory are read by :func:`stream`.
"""

from __future__ import annotations

import re
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import PurePath

import numpy as np

from spoofspan.base.columns import offsets_of, utterance_of_rows
from spoofspan.base.errors import PROBLEMS_SHOWN, DataError, Problems, UsageError
from spoofspan.base.times import Float64, Int64
from spoofspan.data.scores import Higher, Scores
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.sources import Source
from spoofspan.formats.tables.arrow_tables import table_from_scores
from spoofspan.formats.tables.table_columns import Part, flat_array
from spoofspan.formats.text.score_fields import class_column, first_lines, is_header, is_number, score_of, wrong_width

FRAME = re.compile(r"\d{1,15}", re.ASCII)
HOP_IN_NAME = re.compile(r"unit(?P<s>\d+\.?\d*)\.score|_(?P<ms>\d+\.?\d*)ms\.\w+", re.ASCII)
BLOCK_BYTES = 1 << 20
LINES_PER_PIECE = 1 << 18


@dataclass(frozen=True)
class Layout:
    """Which fields a line has."""

    name: str
    line: str
    widths: tuple[int, ...]
    columns: Mapping[str, int]
    separator: str

    def choose(self, options: ReadOptions) -> tuple[int, Higher]:
        """Choose the column to read, and say what its high values mean."""
        if "score" not in self.columns:
            return class_column(self.columns, options)
        if options.column not in (None, "score"):
            raise UsageError(f"the format {self.name} has one score a line; leave column= (--column) out")
        if options.higher is None:
            raise UsageError(f"the format {self.name} does not say what high scores mean; give higher= (--higher)")
        return self.columns["score"], options.higher


CLASSES = {"bonafide": 2, "spoof": 3}
UNIT = Layout("unit-score", "<utt> <frame> <bona fide> <spoof>", (4,), CLASSES, " ")
WEDEFENSE = Layout("wedefense-logits", "<utt> <frame> <bona fide> <spoof> [<label>]", (4, 5), CLASSES, "\t")
PLAIN = Layout("frame-score", "<utt> <frame> <score>", (3,), {"score": 2}, " ")


@dataclass(frozen=True)
class _Frames:
    ids: list[str]
    counts: list[int]
    values: Float64


# ---------------------------------------------------------------- recognising


def _fields(head: bytes, separator: str | None, widths: Sequence[int]) -> list[list[str]]:
    """The fields of the first lines, if each is ``<utt> <frame> <number ...>`` of one of these widths."""
    lines = [line.split(separator) for line in first_lines(head)]
    fits = all(
        len(fields) in widths
        and fields[0].strip()
        and FRAME.fullmatch(fields[1])
        and all(map(is_number, fields[2 : min(len(fields), 4)]))
        for fields in lines
    )
    return lines if fits else []


def recognises_unit(head: bytes) -> bool:
    """Whether the first lines have an id, a frame and two numbers, with spaces between them."""
    return b"\t" not in head and bool(_fields(head, " ", UNIT.widths))


def recognises_wedefense(head: bytes) -> bool:
    """Whether the first lines have an id, a frame, two numbers and perhaps a label, with tabs between them."""
    lines = _fields(head, "\t", WEDEFENSE.widths)
    return bool(lines) and all(fields[4] == "unknown" or fields[4].isdecimal() for fields in lines if len(fields) > 4)


def recognises_plain(head: bytes) -> bool:
    """Whether the first lines have an id, a frame and a number, and some utterance has two frames in a row."""
    lines = _fields(head, None, PLAIN.widths)
    return any(a[0] == b[0] and int(a[1]) + 1 == int(b[1]) for a, b in pairwise(lines))


# ---------------------------------------------------------------- reading


def read(layout: Layout, sources: Sequence[Source], options: ReadOptions) -> Scores:
    """Read files of one layout."""
    column, higher = layout.choose(options)
    hops = [_hop(source, options) for source in sources]
    parts: list[_Frames] = []
    file_of: dict[str, int] = {}
    problems = Problems()
    for number, source in enumerate(sources):
        parts.append(_quickly(source, layout, column) or _line_by_line(source, layout, column))
        for utterance in parts[-1].ids:
            other = file_of.setdefault(utterance, number)
            if other != number:
                problems.add(f"{source.name}: utterance {utterance!r} is in {sources[other].name} as well")
    problems.raise_if_any("keep one file of each utterance")
    return Scores.from_columns(
        [utterance for part in parts for utterance in part.ids],
        offsets_of([count for part in parts for count in part.counts]),
        parts[0].values if len(parts) == 1 else np.concatenate([part.values for part in parts]),
        hop=hops[0] if len(set(hops)) == 1 else np.repeat(hops, [len(part.ids) for part in parts]),
        higher=higher,
    )


def stream(layout: Layout, sources: Sequence[Source], options: ReadOptions) -> Iterator[Part]:
    """Read files of one layout piece by piece, as tables with a list of scores per utterance."""
    column, higher = layout.choose(options)
    for source in sources:
        hop = _hop(source, options)
        lines = 0
        try:
            for piece in _pieces(source, layout, column):
                scores = Scores.from_columns(piece.ids, offsets_of(piece.counts), piece.values, hop=hop, higher=higher)
                line_of_first_frame = lines + offsets_of(piece.counts)[:-1]
                yield Part(table_from_scores(scores, long=False), source.name, 1, rows=line_of_first_frame)
                lines += piece.values.size
        except _IrregularError:
            _line_by_line(source, layout, column, keep=False)
            raise DataError(f"{source.name}: cannot be read piece by piece; read it whole") from None


def _hop(source: Source, options: ReadOptions) -> float:
    if options.hop is not None:
        return options.hop
    named = HOP_IN_NAME.search(PurePath(source.name).name)
    if named is None:
        raise UsageError(f"{source.name}: neither the file nor its name says how long a frame is; give hop= (--hop)")
    return float(named["s"]) if named["s"] else float(named["ms"]) / 1000


class _IrregularError(Exception):
    """Something, somewhere in a file, is not as it should be."""


def _quickly(source: Source, layout: Layout, column: int) -> _Frames | None:
    """Read in blocks; None if anything at all is irregular."""
    ids: list[str] = []
    counts: list[int] = []
    # filled in place, which touches half as much new memory as joining the pieces at the end
    values = np.empty(_expected_lines(source))
    done = 0
    try:
        for piece in _pieces(source, layout, column):
            ids += piece.ids
            counts += piece.counts
            if done + piece.values.size > values.size:
                values = np.concatenate((values[:done], np.empty(done // 2 + piece.values.size)))
            values[done : done + piece.values.size] = piece.values
            done += piece.values.size
    except _IrregularError:
        return None
    if not ids or len(set(ids)) != len(ids):
        return None
    return _Frames(ids, counts, values[:done])


def _expected_lines(source: Source) -> int:
    """About how many lines a file has, as far as its first ones tell."""
    if source.path is None or source.is_packed or not source.head:
        return LINES_PER_PIECE
    return source.path.stat().st_size * (source.head.count(b"\n") + 1) // len(source.head) * 11 // 10


def _pieces(source: Source, layout: Layout, column: int) -> Iterator[_Frames]:
    """Read whole utterances, some blocks at a time."""
    import pyarrow as pa

    first = next(iter(first_lines(source.head)), "")
    separator = "\t" if "\t" in first else " "
    width = len(first.split(separator))
    if width not in layout.widths:
        raise _IrregularError
    ids: list[str] = []
    counts: list[int] = []
    frames: list[Int64] = []
    values: list[Float64] = []

    def complete(utterances: int) -> _Frames:
        """Take the first utterances out of what has been read."""
        rows = sum(counts[:utterances])
        all_frames, all_values = np.concatenate(frames), np.concatenate(values)
        done = _in_frame_order(_Frames(ids[:utterances], counts[:utterances], all_values[:rows]), all_frames[:rows])
        if len(set(done.ids)) != len(done.ids) or not _plain_ids(done.ids, separator):
            raise _IrregularError
        del ids[:utterances], counts[:utterances]
        frames[:], values[:] = [all_frames[rows:]], [all_values[rows:].copy()]
        return done

    try:
        for block in _blocks(source, separator, width, column):
            found, lengths = block.ids, block.counts
            if ids and ids[-1] == found[0]:
                counts[-1] += lengths[0]
                found, lengths = found[1:], lengths[1:]
            ids += found
            counts += lengths
            frames.append(block.frames)
            values.append(block.values)
            if len(ids) > 1 and sum(map(len, values)) >= LINES_PER_PIECE:
                yield complete(len(ids) - 1)  # the last one may go on
        if ids:
            yield complete(len(ids))
    except (pa.ArrowException, UnicodeDecodeError):
        raise _IrregularError from None
    except (OSError, EOFError, zlib.error) as error:
        raise source.broken(error) from None


def _in_frame_order(read: _Frames, frames: Int64) -> _Frames:
    """Sort the frames of each utterance where they are not 0, 1, 2, ... already."""
    if np.isnan(read.values).any():
        raise _IrregularError
    offsets = offsets_of(read.counts)
    wanted = np.arange(frames.size, dtype=np.int32)
    wanted -= np.repeat(offsets[:-1].astype(np.int32), read.counts)
    if np.array_equal(frames, wanted):
        return read
    order = np.lexsort((frames, utterance_of_rows(offsets)))
    if not np.array_equal(frames[order], wanted):
        raise _IrregularError
    return _Frames(read.ids, read.counts, read.values[order])


@dataclass(frozen=True)
class _Block:
    """Some lines of a file: runs of one id each, how many lines they have, and what is on the lines."""

    ids: list[str]
    counts: list[int]
    frames: Int64
    values: Float64


def _blocks(source: Source, separator: str, width: int, column: int) -> Iterator[_Block]:
    import pyarrow as pa
    from pyarrow import compute, csv

    # Fields that are not asked for are split but not converted. Runs of equal ids cost less than a dictionary of them,
    # and ids are decoded run by run.
    types = {"0": pa.binary(), "1": pa.int32(), str(column): pa.float64()}
    with source.open() as stream:
        blocks = csv.open_csv(
            stream,
            csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES, column_names=[str(i) for i in range(width)]),
            csv.ParseOptions(delimiter=separator, quote_char=False),
            csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=[]),
        )
        for block in blocks:
            if block.num_rows:
                runs = compute.run_end_encode(block.column(0), run_end_type=pa.int32())
                counts = np.diff(flat_array(runs.run_ends), prepend=0).tolist()
                frames, values = flat_array(block.column(1)), flat_array(block.column(2))
                yield _Block([utterance.decode() for utterance in runs.values.to_pylist()], counts, frames, values)


def _plain_ids(utterances: list[str], separator: str) -> bool:
    """Whether line by line the ids would come out the same."""
    joined = " ".join(utterances)
    if "\0" in joined or "" in utterances:
        return False
    # most ids have no white space at all; with tabs between the fields they may, but not around them
    return joined.split() == utterances or (
        separator == "\t" and all(utterance.strip() == utterance for utterance in utterances)
    )


def _line_by_line(source: Source, layout: Layout, column: int, *, keep: bool = True) -> _Frames:
    """Read line by line; say what is wrong. Only that matters where nothing is kept."""
    frames = _CheckedFrames(source.name, keep)
    problems = frames.problems
    for number, line in source.lines():
        place = f"{source.name}:{number}"
        fields = [field.strip() for field in line.rstrip().split("\t")] if "\t" in line else line.split()
        if len(fields) not in layout.widths:
            problems.add(wrong_width(place, fields, layout.line))
            frames.spoil(fields[0])
        elif not fields[0]:
            problems.add(f"{place}: the utterance is missing: {layout.line}")
        elif not FRAME.fullmatch(fields[1]):
            header = frames.empty and is_header(fields[1:])
            what = "this looks like a header; remove it" if header else "frames are 0, 1, 2, ..."
            problems.add(f"{place}: utterance {fields[0]!r}: no frame number: {fields[1][:40]!r}; {what}")
            frames.spoil(fields[0])
        else:
            where = f"{place}: utterance {fields[0]!r}, frame {fields[1]}"
            frames.add(number, fields[0], int(fields[1]), score_of(fields[column], where, problems))
        if problems.total >= PROBLEMS_SHOWN:
            break
    else:
        return frames.result()
    problems.raise_if_any("reading stopped here; correct the file, or state another format")
    raise AssertionError("unreachable")


class _CheckedFrames:
    """Frames of one file, checked utterance by utterance."""

    def __init__(self, name: str, keep: bool) -> None:
        self.problems = Problems()
        self._name, self._keep = name, keep
        self._line_of: dict[str, int] = {}
        self._counts: list[int] = []
        self._values = array("d")
        self._frames = array("q")
        self._lines = array("q")
        self._scores = array("d")
        self._spoiled: set[str] = set()
        self._utterance: str | None = None

    @property
    def empty(self) -> bool:
        return not self._line_of and not self.problems.total

    def spoil(self, utterance: str) -> None:
        """Note that a line of this utterance is lost, so that its frames are not called missing as well."""
        self._spoiled.add(utterance)

    def add(self, line: int, utterance: str, frame: int, score: float) -> None:
        if utterance != self._utterance:
            self._close()
            first = self._line_of.setdefault(utterance, line)
            if first != line:
                self.problems.add(
                    f"{self._name}:{line}: utterance {utterance!r} began on line {first}, and others came in between; "
                    "keep the lines of an utterance together"
                )
                self.spoil(utterance)
            self._utterance = utterance
        self._frames.append(frame)
        self._lines.append(line)
        self._scores.append(score)

    def _close(self) -> None:
        """Sort the frames of the utterance that ended; note those that are missing or there twice."""
        if self._utterance is None:
            return
        frames, lines = np.array(self._frames), np.array(self._lines)
        order = np.argsort(frames, kind="stable")
        frames, lines = frames[order], lines[order]
        if self._utterance not in self._spoiled:
            before = np.concatenate(([-1], frames[:-1]))
            bad = np.flatnonzero(frames - before != 1)
            self.problems.extend((self._complaint(before, frames, lines, int(i)) for i in bad), bad.size)
        if self._keep:
            self._counts.append(frames.size)
            self._values.extend(np.array(self._scores)[order].tolist())
        for column in (self._frames, self._lines, self._scores):
            del column[:]

    def _complaint(self, before: Int64, frames: Int64, lines: Int64, i: int) -> str:
        place = f"{self._name}:{lines[i]}: utterance {self._utterance!r}"
        if frames[i] == before[i]:
            return f"{place}: frame {frames[i]} is on line {lines[i - 1]} already"
        first, last = int(before[i]) + 1, int(frames[i]) - 1
        which = f"frame {first} is" if first == last else f"frames {first} to {last} are"
        begin = " (frames are counted from 0)" if first == 0 else ""
        return f"{place}: {which} missing before frame {frames[i]}{begin}"

    def result(self) -> _Frames:
        self._close()
        self.problems.raise_if_any("correct the file, or state another format")
        if not self._line_of:
            raise DataError(f"{self._name}: there is no score in the file; it is empty")
        return _Frames(list(self._line_of), self._counts, np.array(self._values))


# ---------------------------------------------------------------- writing


def write(layout: Layout, scores: Scores) -> Iterator[bytes]:
    """Write lines with every digit; where there are two columns, the other class gets the mirrored score."""
    check_frames(scores, layout.name)
    gap = layout.separator
    for i, utterance in enumerate(scores.utterances):
        if utterance.split() != [utterance]:
            raise DataError(f"utterance {utterance!r} cannot be written as {layout.name}: its id has white space")
        values = scores.values[scores.offsets[i] : scores.offsets[i + 1]].astype(np.float64)
        if not values.size:
            raise DataError(f"utterance {utterance!r} cannot be written as {layout.name}: it has no frames")
        columns = [map(repr, values.tolist())]
        if "score" not in layout.columns:
            columns.insert(0 if scores.higher == "spoof" else 1, map(repr, (-values).tolist()))
        rows = map(gap.join, zip(*columns, strict=True))
        yield "".join(f"{utterance}{gap}{frame}{gap}{row}\n" for frame, row in enumerate(rows)).encode()


def check_frames(scores: Scores, name: str) -> None:
    """Refuse scores that a format of frames from 0 on, of one hop, cannot hold."""
    if scores.hops is None:
        raise UsageError(f"{name} holds frames of one hop, and these scores are ranges; resample them first")
    if scores.window is not None or (scores.origins is not None and scores.origins.any()):
        raise UsageError(f"{name} holds frames that start at 0 and are as long as the hop; resample the scores first")
    if np.unique(scores.hops).size > 1:
        raise UsageError(f"{name} holds frames of one hop, and these scores have several; resample them first")


FORMATS: tuple[Format[Scores], ...] = (
    Format(
        UNIT.name,
        f"{UNIT.line}: partialspoof-metrics, unit0.02.score",
        partial(read, UNIT),
        recognises_unit,
        partial(write, UNIT),
        (".score",),
        stream=partial(stream, UNIT),
    ),
    Format(
        WEDEFENSE.name,
        f"{WEDEFENSE.line}, tabs: WeDefense, logits_frame_20ms.txt",
        partial(read, WEDEFENSE),
        recognises_wedefense,
        partial(write, WEDEFENSE),
        (".txt",),
        stream=partial(stream, WEDEFENSE),
    ),
    Format(
        PLAIN.name,
        f"{PLAIN.line}, spaces or tabs",
        partial(read, PLAIN),
        recognises_plain,
        partial(write, PLAIN),
        needs=("hop", "higher"),
        stream=partial(stream, PLAIN),
    ),
)

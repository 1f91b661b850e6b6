"""One frame a line: ``<utt> <frame> <score ...>``, the lines of an utterance together.

=================  =======================================================  ======================================
format             line                                                     whose
=================  =======================================================  ======================================
unit-score         ``<utt> <frame> <bona fide> <spoof>``, spaces            partialspoof-metrics, ``unit0.02.score``
wedefense-logits   ``<utt> <frame> <bona fide> <spoof> [<label>]``, tabs    WeDefense, ``logits_frame_20ms.txt``
frame-score        ``<utt> <frame> <score>``, spaces or tabs                any; polarity must be told
=================  =======================================================  ======================================

Where there are two columns the spoof column is read (high = spoof), with ``column="bonafide"`` the other one. The hop
comes from ``hop=`` or else from the file's name. Frames are counted from 0; an utterance whose frames are out of order
is sorted.

A file is read twice at most: quickly in blocks, where nothing but "all is well" is established, and only if it is not,
line by line, to say what is wrong and where. Files larger than memory are read by :func:`stream`.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, cast

import numpy as np

from spoofspan.base.columns import offsets_of, utterance_of_rows
from spoofspan.base.errors import DataError, Problems, UsageError
from spoofspan.base.times import Float64, Int64
from spoofspan.data.scores import Higher, Scores
from spoofspan.formats.fields import fields_of_lines, line_blocks
from spoofspan.formats.file_names import resolution_in_name
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.recognition import Lines, Recognises, anything, at_spaces, at_tabs, first_line
from spoofspan.formats.sources import Source
from spoofspan.formats.tables.corpus_tables import Column, ColumnTable, Numbers, Part, Texts, table_from_scores
from spoofspan.formats.tables.score_tables import scores_from_parts
from spoofspan.formats.text.lines import check_word, is_header, is_number, lines_of, score_of, wrong_width

FRAME = re.compile(r"\d{1,15}", re.ASCII)
BLOCK_BYTES = 1 << 20
LINES_PER_PIECE = 1 << 16


@dataclass(frozen=True)
class LineLayout:
    """Fields a line that has."""

    name: str
    line: str
    widths: tuple[int, ...]
    columns: Mapping[str, int]
    separator: str

    def choose(self, options: ReadOptions) -> tuple[int, Higher]:
        """Choose the column to read, and say what its high values mean."""
        if "score" not in self.columns:
            return options.class_column(self.columns)
        if options.column not in (None, "score"):
            raise UsageError(f"the format {self.name} has one score a line; leave column= out")
        options.refuse_unsaid(f"the format {self.name}", ("higher",))
        return self.columns["score"], cast(Higher, options.higher)


CLASSES = {"bonafide": 2, "spoof": 3}
UNIT = LineLayout("unit-score", "<utt> <frame> <bona fide> <spoof>", (4,), CLASSES, " ")
WEDEFENSE = LineLayout("wedefense-logits", "<utt> <frame> <bona fide> <spoof> [<label>]", (4, 5), CLASSES, "\t")
PLAIN = LineLayout("frame-score", "<utt> <frame> <score>", (3,), {"score": 2}, " ")


# ---------------------------------------------------------------- recognising


def _has_consecutive_frames(rows: Sequence[list[str]]) -> bool:
    """True if some utterance has two frames in a row: other numbers could stand there."""
    return any(a[0] == b[0] and int(a[1]) + 1 == int(b[1]) for a, b in pairwise(rows))


def _is_label_id(field: str) -> bool:
    return field == "unknown" or field.isdecimal()


TWO_SCORES = (str.strip, FRAME.fullmatch, is_number, is_number)
UNIT_LINES = Lines(TWO_SCORES, at_spaces)
WEDEFENSE_LINES = Lines((*TWO_SCORES, _is_label_id), at_tabs, least=4)
PLAIN_LINES = Lines((anything, FRAME.fullmatch, is_number), rows=_has_consecutive_frames)


# ---------------------------------------------------------------- reading


def read(layout: LineLayout, sources: Sequence[Source], options: ReadOptions) -> Scores:
    """Read files of one layout."""
    column, higher = layout.choose(options)
    hops = [_hop(source, options) for source in sources]
    parts: list[Frames] = []
    file_of: dict[str, int] = {}
    problems = Problems()
    for number, source in enumerate(sources):
        parts.append(read_regular(source, layout.widths, column) or _line_by_line(source, layout, column))
        for utterance in parts[-1].ids if len(sources) > 1 else ():
            other = file_of.setdefault(utterance, number)
            if other != number:
                problems.add(f"{source.name}: utterance {utterance!r} is in {sources[other].name} as well")
    problems.raise_if_any("if these are several systems, use compare or table; if not, keep one file of each utterance")
    return Scores.from_columns(
        [utterance for part in parts for utterance in part.ids],
        offsets_of([count for part in parts for count in part.counts]),
        parts[0].values if len(parts) == 1 else np.concatenate([part.values for part in parts]),
        hop=hops[0] if len(set(hops)) == 1 else np.repeat(hops, [len(part.ids) for part in parts]),
        higher=higher,
    )


def stream(layout: LineLayout, sources: Sequence[Source], options: ReadOptions) -> Iterator[Part]:
    """Read files of one layout piece by piece, as tables with a list of scores per utterance."""
    column, higher = layout.choose(options)
    for source in sources:
        hop, lines = _hop(source, options), 0
        try:
            for piece in regular_pieces(source, layout.widths, column):
                scores = Scores.from_columns(piece.ids, offsets_of(piece.counts), piece.values, hop=hop, higher=higher)
                line_of_first_frame = lines + offsets_of(piece.counts)[:-1]
                yield Part(table_from_scores(scores, long=False), source.name, 1, rows=line_of_first_frame)
                lines += piece.values.size
        except IrregularError:
            _line_by_line(source, layout, column)
            raise DataError(f"{source.name}: cannot be read piece by piece; read it whole") from None


def _hop(source: Source, options: ReadOptions) -> float:
    hop = resolution_in_name(source.name) if options.hop is None else options.hop
    if hop is None:
        raise UsageError(
            f"{source.name}: neither the file nor its name says how long a frame is; give hop= in seconds, or "
            "call the file NAME_20ms.score if it is 20 ms"
        )
    return hop


# ---------------------------------------------------------------- blocks of lines


@dataclass(frozen=True)
class Frames:
    """Utterances one after the other: how many frames each has, and the score of every frame."""

    ids: list[str]
    counts: list[int]
    values: Float64


@dataclass(frozen=True)
class _Lines(Frames):
    """Lines as they stand in a file: runs of lines with one id, and the frame and score of every line."""

    frames: Int64


class IrregularError(Exception):
    """Something, somewhere in a file, is not as it should be."""


def read_regular(source: Source, widths: Sequence[int], column: int) -> Frames | None:
    """Read one column of a file whose lines have one of these widths; None if anything at all is irregular."""
    ids: list[str] = []
    counts: list[int] = []
    # filled in place, which touches half as much new memory as joining the pieces at the end
    values = np.empty(_expected_lines(source))
    done = 0
    try:
        for piece in regular_pieces(source, widths, column):
            ids += piece.ids
            counts += piece.counts
            if done + piece.values.size > values.size:
                values = np.concatenate((values[:done], np.empty(done // 2 + piece.values.size)))
            values[done : done + piece.values.size] = piece.values
            done += piece.values.size
    except IrregularError:
        return None
    if not ids or len(set(ids)) != len(ids):
        return None
    return Frames(ids, counts, values[:done])


def _expected_lines(source: Source) -> int:
    """About how many lines a file has, as far as its first ones tell."""
    if not source.size or not source.head or source.is_packed:
        return LINES_PER_PIECE
    return source.size * (source.head.count(b"\n") + 1) // len(source.head) * 11 // 10


def regular_pieces(source: Source, widths: Sequence[int], column: int) -> Iterator[Frames]:
    """Yield whole utterances, some blocks at a time; raise IrregularError at the first thing that is irregular."""
    first = first_line(source.head)
    separator = "\t" if "\t" in first else None
    width = len(first.split(separator))
    if width not in widths:
        raise IrregularError
    pending: list[_Lines] = []
    for block in line_blocks(source, BLOCK_BYTES):
        pending.append(_lines(block, width, column, separator))
        several = pending[0].ids[0] != pending[-1].ids[-1]
        if several and sum(lines.values.size for lines in pending) >= LINES_PER_PIECE:
            lines = _joined(pending)
            rows = lines.values.size - lines.counts[-1]  # the last utterance may go on
            pending = [_Lines(lines.ids[-1:], lines.counts[-1:], lines.values[rows:], lines.frames[rows:])]
            yield _sorted(_Lines(lines.ids[:-1], lines.counts[:-1], lines.values[:rows], lines.frames[:rows]))
    if pending:
        yield _sorted(_joined(pending))


def _lines(block: bytes, width: int, column: int, separator: str | None) -> _Lines:
    fields = None if separator is None and b"\t" in block else fields_of_lines(block, width, separator)
    if fields is None:
        raise IrregularError
    frames, values = fields.integers(1), fields.numbers(column)
    if frames is None or values is None or np.isnan(values.min()):
        raise IrregularError
    try:
        ids, counts = fields.runs(0)
    except UnicodeDecodeError:
        raise IrregularError from None
    # line by line the ids must come out the same: without tabs they have no white space of any kind
    if not all(ids) or [one.strip() if separator else "".join(one.split()) for one in ids] != ids:
        raise IrregularError
    return _Lines(ids, counts.tolist(), values, frames)


def _joined(pieces: Sequence[_Lines]) -> _Lines:
    """Lines that follow each other; an utterance may go on from one piece to the next."""
    ids, counts = list(pieces[0].ids), list(pieces[0].counts)
    for piece in pieces[1:]:
        goes_on = piece.ids[0] == ids[-1]
        counts[-1] += piece.counts[0] * goes_on
        ids += piece.ids[goes_on:]
        counts += piece.counts[goes_on:]
    values, frames = (np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("values", "frames"))
    return _Lines(ids, counts, values, frames)


def _sorted(lines: _Lines) -> Frames:
    """Sort the frames of each utterance, which must then be 0, 1, 2, ..."""
    if len(set(lines.ids)) != len(lines.ids):
        raise IrregularError
    offsets = offsets_of(lines.counts)
    utterance = utterance_of_rows(offsets)
    expected = np.arange(lines.frames.size) - offsets[utterance]
    if np.array_equal(lines.frames, expected):
        return lines
    order = np.lexsort((lines.frames, utterance))
    if not np.array_equal(lines.frames[order], expected):
        raise IrregularError
    return Frames(lines.ids, lines.counts, lines.values[order])


# ---------------------------------------------------------------- line by line


def _line_by_line(source: Source, layout: LineLayout, column: int) -> Frames:
    """Read line by line, to say what is wrong with a line; frames are checked as those of any table."""
    known: dict[str, int] = {}
    codes, frames, rows, scores = array("i"), array("q"), array("q"), array("d")
    problems = Problems()
    for place, number, line, words in lines_of([source]):
        fields = [field.strip() for field in line.rstrip().split("\t")] if "\t" in line else words
        if len(fields) not in layout.widths:
            problems.add(wrong_width(place, fields, layout.line))
        elif not fields[0]:
            problems.add(f"{place}: the utterance is missing: {layout.line}")
        elif not FRAME.fullmatch(fields[1]):
            header = not known and not problems.total and is_header(fields[1:])
            what = "this looks like a header; remove it" if header else "frames are 0, 1, 2, ..."
            problems.add(f"{place}: utterance {fields[0]!r}: no frame number: {fields[1][:40]!r}; {what}")
        else:
            codes.append(known.setdefault(fields[0], len(known)))
            frames.append(int(fields[1]))
            rows.append(number - 1)
            score = score_of(fields[column], f"{place}: utterance {fields[0]!r}, frame {fields[1]}", problems)
            scores.append(0.0 if math.isnan(score) else score)  # noted already
        if problems.full:
            problems.raise_if_any("reading stopped here; correct the file, or state another format")
            break
    problems.raise_if_any("correct the file, or state another format")
    if not known:
        raise DataError(f"{source.name}: there is no score in the file; it is empty")
    table: dict[str, Column] = {
        "utterance": Texts(np.array(codes, np.int32), list(known)),
        "frame": Numbers(np.array(frames)),
        "score": Numbers(np.array(scores)),
    }
    part = Part(ColumnTable.of(table), source.name, 1, rows=np.array(rows))
    checked = scores_from_parts([part], ReadOptions(hop=1.0, higher="spoof"))
    return Frames(
        list(checked.utterances), np.diff(checked.offsets).tolist(), checked.values.astype(np.float64, copy=False)
    )


# ---------------------------------------------------------------- writing


def write(layout: LineLayout, scores: Scores) -> Iterator[bytes]:
    """Write lines with every digit; where there are two columns, the other class gets the mirrored score."""
    check_frames(scores, layout.name)
    gap = layout.separator
    for utterance, frames in scores.items():
        check_word(utterance, layout.name)
        values = frames.astype(np.float64)
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


def _format(layout: LineLayout, about: str, recognises: Recognises, **more: Any) -> Format[Scores]:
    reader, writer, more["stream"] = partial(read, layout), partial(write, layout), partial(stream, layout)
    columns = ("spoof", "bonafide") if layout.columns is CLASSES else ()
    return Format(layout.name, f"{layout.line}{about}", reader, recognises, writer, columns=columns, **more)


FORMATS = (
    _format(UNIT, ": partialspoof-metrics, unit0.02.score", UNIT_LINES, suffixes=(".score",)),
    _format(WEDEFENSE, ", tabs: WeDefense, logits_frame_20ms.txt", WEDEFENSE_LINES, suffixes=(".txt",)),
    _format(PLAIN, ", spaces or tabs", PLAIN_LINES, needs=("higher",)),
)

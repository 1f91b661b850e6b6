"""Frames of regular files of ``<utt> <frame> <score ...>``, read in blocks of lines.

Nothing but "all is well" is established here: whatever is irregular is left to the reader of lines, where every problem
gets its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import eq, itemgetter, mul
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import offsets_of, utterance_of_rows
from spoofspan.base.times import Float64
from spoofspan.formats import arrow as pa
from spoofspan.formats.line_blocks import line_blocks
from spoofspan.formats.sources import Source
from spoofspan.formats.tables.table_columns import flat_array
from spoofspan.formats.text.fixed_decimals import fixed_lines
from spoofspan.formats.text.lines import first_lines

Int32 = npt.NDArray[np.int32]
BLOCK_BYTES = 1 << 21
LINES_PER_PIECE = 1 << 16


@dataclass(frozen=True)
class Frames:
    """Utterances one after the other: how many frames each has, and the score of every frame."""

    ids: list[str]
    counts: list[int]
    values: Float64


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
    first = next(iter(first_lines(source.head)), "")
    separator = "\t" if "\t" in first else " "
    width = len(first.split(separator))
    if width not in widths:
        raise IrregularError
    ids: list[str] = []
    counts: list[int] = []
    blocks: list[_Block] = []
    in_order = True  # of all utterances up to here

    def complete(utterances: int) -> Frames:
        """Take the first utterances out of what has been read."""
        rows = sum(counts[:utterances])
        values = np.concatenate([block.values for block in blocks])
        done = Frames(ids[:utterances], counts[:utterances], values[:rows])
        if len(set(done.ids)) != len(done.ids) or not _plain_ids(done.ids, separator):
            raise IrregularError
        del ids[:utterances], counts[:utterances]
        frames = None if in_order else np.concatenate([block.numbered() for block in blocks])
        blocks[:] = [_Block(ids, counts[:], values[rows:].copy(), 0, frames if frames is None else frames[rows:])]
        return done if frames is None else _sorted_frames(done, frames[:rows])

    for block in _blocks(source, separator, width, column):
        found, lengths = block.ids, block.counts
        goes_on = bool(ids) and ids[-1] == found[0]
        in_order &= block.frames is None and block.first_frame == (counts[-1] if goes_on else 0)
        if goes_on:
            counts[-1] += lengths[0]
            found, lengths = found[1:], lengths[1:]
        ids += found
        counts += lengths
        blocks.append(block)
        if len(ids) > 1 and sum(block.values.size for block in blocks) >= LINES_PER_PIECE:
            yield complete(len(ids) - 1)  # the last one may go on
    if ids:
        yield complete(len(ids))


def _sorted_frames(read: Frames, frames: Int32) -> Frames:
    """Sort the frames of each utterance, which must then be 0, 1, 2, ..."""
    offsets = offsets_of(read.counts)
    utterance = utterance_of_rows(offsets)
    order = np.lexsort((frames, utterance))
    if not np.array_equal(frames[order], np.arange(frames.size) - offsets[utterance]):
        raise IrregularError
    return Frames(read.ids, read.counts, read.values[order])


@dataclass(frozen=True)
class _Block(Frames):
    """Some lines of a file: runs of one id each, how many lines they have, and what is on the lines."""

    first_frame: int
    frames: Int32 | None  # None if each run counts up by 1, all but the first from 0 on

    def numbered(self) -> Int32:
        """The frame of every line."""
        if self.frames is not None:
            return self.frames
        begins = [self.first_frame, *[0] * (len(self.counts) - 1)]
        runs = (np.arange(begin, begin + count) for begin, count in zip(begins, self.counts, strict=False))
        return np.concatenate([np.empty(0), *runs]).astype(np.int32)


def _blocks(source: Source, separator: str, width: int, column: int) -> Iterator[_Block]:
    # Fields that are not asked for are split but not converted.
    types = {"0": pa.binary(), "1": pa.int32(), str(column): pa.float64()}
    parsing = pa.csv.ParseOptions(delimiter=separator, quote_char=False)
    conversion = pa.csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=[])
    names = [str(i) for i in range(width)]

    def parsed(lines: Any) -> list[_Block]:
        if column == width - 1 and (fixed := fixed_lines(lines, separator, width)) is not None:
            ids = [utterance.decode() for utterance in fixed.ids]
            return [_Block(ids, fixed.counts, fixed.values, fixed.first_frame, None)]
        reading = pa.csv.ReadOptions(use_threads=False, block_size=lines.size, column_names=names)
        found = pa.csv.read_csv(pa.BufferReader(lines), reading, parsing, conversion)
        return [_block(*batch.columns) for batch in found.to_batches()]

    try:
        for found in map(parsed, line_blocks(source, BLOCK_BYTES)):
            yield from found
    except pa.ArrowMemoryError:
        raise
    except (pa.ArrowException, UnicodeDecodeError):
        raise IrregularError from None


def _block(id_column: Any, frame_column: Any, value_column: Any) -> _Block:
    """Find the runs, and check as much as can be checked here."""
    frames, values = flat_array(frame_column), flat_array(value_column)
    if np.isnan(values.min()):
        raise IrregularError
    begins = np.concatenate(([0], np.flatnonzero(np.diff(frames) != 1) + 1, [frames.size]))
    ids, counts = _equal_ids(id_column, begins)
    runs = np.cumsum(counts)[:-1]
    in_order = np.array_equal(runs, begins[1:-1]) and not frames[runs].any()
    return _Block(
        [utterance.decode() for utterance in ids], counts, values, int(frames[0]), None if in_order else frames
    )


def _equal_ids(column: Any, begins: npt.NDArray[np.int64]) -> tuple[list[bytes], list[int]]:
    """The id of lines that follow each other, and how many they are.

    Where frames count up by 1, from one of ``begins`` to the next, the id is the same in all but odd files. So the text
    of all ids is compared with what it would be then: Arrow's run_end_encode is as fast, and loading it takes 50 ms.
    """
    _, offsets, data = column.buffers()
    offset = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    text, lengths, counts = data.to_pybytes(), np.diff(offset), np.diff(begins)
    first, begin = begins[:-1], offset[begins[:-1]].tolist()
    ids = [text[at : at + length] for at, length in zip(begin, lengths[first].tolist(), strict=True)]
    times = counts.tolist()
    # other ids may be the same text when joined: ab, aba, b
    alike = np.array_equal(lengths, np.repeat(lengths[first], counts))
    if not alike or b"".join(map(mul, ids, times)) != text[offset[0] : offset[-1]]:
        ids = column.to_pylist()
        times = [1] * len(ids)
    if not any(map(eq, ids, islice(ids, 1, None))):
        return ids, times
    runs = [(utterance, list(run)) for utterance, run in groupby(zip(ids, times, strict=True), itemgetter(0))]
    return [utterance for utterance, _ in runs], [sum(count for _, count in run) for _, run in runs]


def _plain_ids(utterances: list[str], separator: str) -> bool:
    """Whether line by line the ids would come out the same."""
    joined = " ".join(utterances)
    if "\0" in joined or "" in utterances:
        return False
    # most ids have no white space at all; with tabs between the fields they may, but not around them
    return joined.split() == utterances or (
        separator == "\t" and all(utterance.strip() == utterance for utterance in utterances)
    )

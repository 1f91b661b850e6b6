"""Frames of regular files of ``<utt> <frame> <score ...>``, read in blocks of lines.

Nothing but "all is well" is established here: whatever is irregular is left to the reader of lines, where every problem
gets its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spoofspan.base.columns import offsets_of, utterance_of_rows
from spoofspan.base.threads import ALL_CORES, in_order
from spoofspan.base.times import Float64, Int64
from spoofspan.formats import arrow as pa
from spoofspan.formats.line_blocks import BLOCK_BYTES, line_blocks
from spoofspan.formats.sources import Source
from spoofspan.formats.tables.table_columns import flat_array
from spoofspan.formats.text.lines import first_lines

LINES_PER_PIECE = 1 << 17


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
    pa.default_memory_pool().release_unused()  # of the references; a fifth of what an evaluation needs at its peak
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
    pa.default_memory_pool().release_unused()
    if not ids or len(set(ids)) != len(ids):
        return None
    return Frames(ids, counts, values[:done])


def _expected_lines(source: Source) -> int:
    """About how many lines a file has, as far as its first ones tell."""
    if source.path is None or source.is_packed or not source.head:
        return LINES_PER_PIECE
    return source.path.stat().st_size * (source.head.count(b"\n") + 1) // len(source.head) * 11 // 10


def regular_pieces(source: Source, widths: Sequence[int], column: int) -> Iterator[Frames]:
    """Yield whole utterances, some blocks at a time; raise IrregularError at the first thing that is irregular."""
    first = next(iter(first_lines(source.head)), "")
    separator = "\t" if "\t" in first else " "
    width = len(first.split(separator))
    if width not in widths:
        raise IrregularError
    ids: list[str] = []
    counts: list[int] = []
    frames: list[Int64] = []
    values: list[Float64] = []

    def complete(utterances: int) -> Frames:
        """Take the first utterances out of what has been read."""
        rows = sum(counts[:utterances])
        all_frames, all_values = np.concatenate(frames), np.concatenate(values)
        done = _in_frame_order(Frames(ids[:utterances], counts[:utterances], all_values[:rows]), all_frames[:rows])
        if len(set(done.ids)) != len(done.ids) or not _plain_ids(done.ids, separator):
            raise IrregularError
        del ids[:utterances], counts[:utterances]
        frames[:], values[:] = [all_frames[rows:]], [all_values[rows:].copy()]
        return done

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


def _in_frame_order(read: Frames, frames: Int64) -> Frames:
    """Sort the frames of each utterance where they are not 0, 1, 2, ... already."""
    if np.isnan(read.values).any():
        raise IrregularError
    offsets = offsets_of(read.counts)
    wanted = np.arange(frames.size, dtype=np.int32)
    wanted -= np.repeat(offsets[:-1].astype(np.int32), read.counts)
    if np.array_equal(frames, wanted):
        return read
    order = np.lexsort((frames, utterance_of_rows(offsets)))
    if not np.array_equal(frames[order], wanted):
        raise IrregularError
    return Frames(read.ids, read.counts, read.values[order])


@dataclass(frozen=True)
class _Block(Frames):
    """Some lines of a file: runs of one id each, how many lines they have, and what is on the lines."""

    frames: Int64


def _blocks(source: Source, separator: str, width: int, column: int) -> Iterator[_Block]:
    # Fields that are not asked for are split but not converted. Runs of equal ids cost less than a dictionary of them,
    # and ids are decoded run by run.
    types = {"0": pa.binary(), "1": pa.int32(), str(column): pa.float64()}
    parsing = pa.csv.ParseOptions(delimiter=separator, quote_char=False)
    conversion = pa.csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=[])
    names = [str(i) for i in range(width)]

    def parsed(lines: Any) -> list[_Block]:
        reading = pa.csv.ReadOptions(use_threads=False, block_size=lines.size, column_names=names)
        found = []
        for block in pa.csv.read_csv(pa.BufferReader(lines), reading, parsing, conversion).to_batches():
            runs = pa.compute.run_end_encode(block.column(0), run_end_type=pa.int32())
            ids = [utterance.decode() for utterance in runs.values.to_pylist()]
            counts = np.diff(flat_array(runs.run_ends), prepend=0).tolist()
            found.append(_Block(ids, counts, flat_array(block.column(2)), flat_array(block.column(1))))
        return found

    try:
        for found in in_order(parsed, line_blocks(source, BLOCK_BYTES), unasked=ALL_CORES):
            yield from found
    except pa.ArrowMemoryError:
        raise
    except (pa.ArrowException, UnicodeDecodeError):
        raise IrregularError from None


def _plain_ids(utterances: list[str], separator: str) -> bool:
    """Whether line by line the ids would come out the same."""
    joined = " ".join(utterances)
    if "\0" in joined or "" in utterances:
        return False
    # most ids have no white space at all; with tabs between the fields they may, but not around them
    return joined.split() == utterances or (
        separator == "\t" and all(utterance.strip() == utterance for utterance in utterances)
    )

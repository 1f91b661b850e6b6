"""The rows of a mass, each told to its utterance: what a weight per utterance, or per speaker, is multiplied with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spoofspan.base.columns import blocks, sum_by_utterance
from spoofspan.base.errors import UsageError
from spoofspan.base.times import Int64
from spoofspan.data.references import BONA_FIDE, SPOOF
from spoofspan.data.scores import Values
from spoofspan.mass.points import PointOverlay
from spoofspan.mass.ranges import Overlay, lay_over
from spoofspan.mass.score_mass import NS_PER_BLOCK, ROWS_PER_BLOCK, MassPart, ScoreMass
from spoofspan.mass.utterances import WholeUtterances


@dataclass(frozen=True, eq=False)
class UtteranceBlock:
    """Rows of consecutive utterances, in bona fide polarity, and what no score decides of each utterance."""

    first: int
    last: int
    offsets: Int64
    scores: Values
    bona_fide: Int64
    spoof: Int64
    undecided_bona_fide: Int64
    undecided_spoof: Int64


def utterance_blocks(part: MassPart) -> Iterator[UtteranceBlock]:
    """As ``part.blocks()``, but each row can be told to its utterance."""
    if isinstance(part, Overlay):
        found = _range_blocks(part)
    elif isinstance(part, PointOverlay):
        found = _point_blocks(part)
    elif isinstance(part, WholeUtterances):
        yield _whole_utterances(part)
        return
    else:
        raise UsageError(f"the rows of a {type(part).__name__} cannot be told to their utterances")
    for block in found:
        if part.weights is None:
            yield block
            continue
        here = part.weights[block.first : block.last]
        by_row = np.repeat(here, np.diff(block.offsets))
        yield UtteranceBlock(
            block.first,
            block.last,
            block.offsets,
            block.scores,
            block.bona_fide * by_row,
            block.spoof * by_row,
            block.undecided_bona_fide * here,
            block.undecided_spoof * here,
        )


def _range_blocks(part: Overlay) -> Iterator[UtteranceBlock]:
    rows = np.diff(part.runs.offsets)
    for first, last in blocks(rows, part.labelling.extents, ROWS_PER_BLOCK, NS_PER_BLOCK):
        runs, laid = lay_over(part.labelling, part.runs, first, last)
        undecided = part.undecided_bona_fide[first:last], part.undecided_spoof[first:last]
        yield UtteranceBlock(first, last, runs.offsets, laid.scores, laid.bona_fide, laid.spoof, *undecided)


def _whole_utterances(part: WholeUtterances) -> UtteranceBlock:
    """One row for each utterance, weighted already."""
    count = len(part.utterances)
    (block,) = part.blocks()
    none = np.zeros(count, np.int64)
    return UtteranceBlock(0, count, np.arange(count + 1), block.scores, block.bona_fide, block.spoof, none, none)


def _point_blocks(part: PointOverlay) -> Iterator[UtteranceBlock]:
    for first, last, scores, scored, classes in part.labelled_points():
        offsets = part.grid.offsets[first : last + 1] - part.grid.offsets[first]
        columns = [(classes == label).astype(np.int64) for label in (BONA_FIDE, SPOOF)]
        undecided = [np.zeros(last - first, np.int64)] * 2
        if scored is not None:
            undecided = [sum_by_utterance(column * ~scored, offsets) for column in columns]
            columns = [column * scored for column in columns]
        yield UtteranceBlock(first, last, offsets, scores, columns[0], columns[1], *undecided)


def blocks_with_units(mass: ScoreMass, unit_of: Int64) -> Iterator[tuple[Int64, UtteranceBlock]]:
    """The blocks of all parts, each with the units of its utterances."""
    done = 0
    for part in mass.parts:
        for block in utterance_blocks(part):
            yield unit_of[done + block.first : done + block.last], block
        done += len(part.utterances)

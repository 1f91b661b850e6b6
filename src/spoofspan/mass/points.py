"""Point-based measurement at a resolution (Eqs. 1 and 2), and re-sampling of scores between resolutions.

Point k is ``[rint(k * r * 1e9), rint((k + 1) * r * 1e9))``, cut at the extent. It has one label (by a rule) and one
score: the lowest, in bona fide polarity, of the score runs it overlaps, unless the rule ``pooling`` says otherwise.
That is duplication where the resolution is finer than the scores, the paper's minimum where it is coarser, and it is
defined for any ratio::

    scores 20 ms   | 0.9 | 0.2 | 0.4 | 0.7 |
    points 10 ms   |0.9|0.9|0.2|0.2|0.4|0.4|0.7|0.7|
    points 40 ms   |    0.2    |    0.4    |
    points 30 ms   |   0.2  |   0.2  | 0.4 ... |

A point counts one, whatever its length: a ScoreMass whose unit is points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import (
    Flags,
    block_rows,
    blocks,
    ends_before,
    first_rows,
    has_rows,
    last_rows,
    offsets_of,
    sum_by_utterance,
    utterance_of_rows,
)
from spoofspan.base.errors import UsageError, refuse
from spoofspan.base.threads import rows_for_threads
from spoofspan.base.times import LONGEST, Int64, duration_ns, edges_before, grid_edges, whole_ns
from spoofspan.data.references import BONA_FIDE, SPOOF, Labels, References, durations_of
from spoofspan.data.rules import Rules, Touched
from spoofspan.data.scores import Higher, Scores, Values, score_times
from spoofspan.mass.diagnosis import refuse_milliseconds
from spoofspan.mass.labelling import IGNORED, Labelling, overwrite
from spoofspan.mass.pooling import OF_POINTS, check_pooling, extreme, pooled, pooled_type, refuse_no_mean, roughly
from spoofspan.mass.ranges import Lay, Overlay, TimedPart, overlay_block
from spoofspan.mass.score_mass import NS_PER_BLOCK, ROWS_PER_BLOCK, Columns, MassBlock, ScoreMass, UtteranceBlock
from spoofspan.mass.score_rules import prepare_scores
from spoofspan.mass.score_runs import FrameRuns, RangeRuns, RunBlocks, ScoreRuns, bona_fide_polarity

# No utterance is as long as one point of this resolution (seconds).
WHOLE_UTTERANCE = LONGEST / 1e9


def check_resolution(resolution: float) -> float:
    """Return a resolution in seconds, or say what is wrong with it."""
    if duration_ns(resolution, "resolution") <= 0:
        raise UsageError(f"resolution={resolution!r}: must be positive (seconds)")
    return float(resolution)


@dataclass(frozen=True, eq=False)
class Grid:
    """The points of every utterance: how many, and where they lie."""

    resolution: float
    offsets: Int64
    extents: Int64

    @classmethod
    def over(cls, extents: Int64, resolution: float, last_point: str) -> Grid:
        """Rule 16: every point that starts before the extent, or the last one only if half or all of it does."""
        counts = edges_before(extents, resolution)
        if last_point != "use":
            first, end = grid_edges(counts - 1, resolution), grid_edges(counts, resolution)
            counts = counts - ((2 if last_point == "round" else 1) * (extents - first) < end - first)
        return cls(resolution, offsets_of(counts), extents)

    @property
    def counts(self) -> Int64:
        """How many points each utterance has."""
        return np.diff(self.offsets)

    @property
    def is_whole(self) -> bool:
        """Whether every edge is a whole number of ns times k."""
        return whole_ns(np.array([self.resolution]), int(self.extents.max()))

    def take(self, chosen: Int64) -> Grid:
        """Keep chosen utterances, in that order."""
        return Grid(self.resolution, offsets_of(self.counts[chosen]), self.extents[chosen])

    def edges(self, utterance: Int64, k: Int64) -> tuple[Int64, Int64]:
        """Where the k-th points of utterances start and end."""
        starts, ends = grid_edges(k, self.resolution), grid_edges(k + 1, self.resolution)
        return starts, np.minimum(ends, self.extents[utterance])

    def runs(self) -> RunBlocks:
        """The points as if they were score runs, to be laid over a labelling."""
        if not self.is_whole:
            return self
        ns = np.full(self.extents.size, duration_ns(self.resolution, "resolution"))
        counts = self.counts
        last = np.minimum(counts * ns, self.extents)
        # points that are only laid over a labelling need no scores
        values = np.broadcast_to(np.float16(0), int(self.offsets[-1]))
        return FrameRuns(self.offsets, values, "bonafide", ns, np.zeros_like(ns), counts, last)

    def block(self, first: int, last: int) -> RangeRuns:
        """The points of utterances first to last - 1 with their times, where these are no whole numbers of ns."""
        _, offsets = block_rows(self.offsets, first, last)
        utterance = utterance_of_rows(offsets)
        starts, ends = self.edges(first + utterance, np.arange(utterance.size) - offsets[utterance])
        return RangeRuns(offsets, np.broadcast_to(np.float16(0), utterance.size), "bonafide", starts, ends)


@dataclass(frozen=True, eq=False)
class PointPart(TimedPart):
    """The point-based part of a mass: each point counts one."""

    grid: Grid
    rules: Rules

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its scores."""
        return pooled_type(self.rules.pooling, super().dtype)

    @property
    def largest(self) -> int:
        """The most points of one utterance."""
        return int(self.grid.counts.max())

    def take(self, chosen: Int64) -> PointPart:
        """Keep chosen utterances."""
        return replace(super().take(chosen), grid=self.grid.take(chosen))

    def utterance_block(self, first: int, last: int) -> UtteranceBlock:
        """Label and score the points of some utterances; each is known to belong to one of them."""
        scores, scored, classes = self.labelled_points(first, last)
        _, offsets = block_rows(self.grid.offsets, first, last)
        weights = 1 if self.weights is None else np.repeat(self.weights[first:last], np.diff(offsets))
        undecided = [np.zeros(last - first, np.int64)] * 2
        if scored is not None:
            unscored = MassBlock(scores, np.where(scored, np.int8(IGNORED), classes), weights)
            undecided = [sum_by_utterance(column, offsets) for column in (unscored.bona_fide, unscored.spoof)]
            classes = np.where(scored, classes, np.int8(IGNORED))
        return UtteranceBlock(first, last, offsets, MassBlock(scores, classes, weights), *undecided)

    def spans(self) -> Iterator[tuple[int, int]]:
        """The first and the last + 1 of the utterances of each block."""
        points = self.grid.counts
        rows = np.maximum(points, np.diff(self.runs.offsets))
        # both the time to lay over and the weighted points must fit into int64
        heavy = points if self.weights is None else points * self.weights
        most = rows_for_threads(ROWS_PER_BLOCK, int(rows.sum()), 2)
        return blocks(rows, np.maximum(self.labelling.extents, heavy), most, NS_PER_BLOCK)

    @cached_property
    def _point_runs(self) -> RunBlocks:
        return self.grid.runs()

    def labelled_points(self, first: int, last: int) -> tuple[Values, Flags | None, Labels]:
        """Of every point of some utterances: its score, whether it has one (None: all have), its class."""
        _, laid = overlay_block(self.labelling, self._point_runs, first, last)
        classes = _classes_of_block(self.labelling, self.grid, self.rules, first, last, laid)
        block = self.runs.block(first, last)
        scores, scored = point_scores(block, self.grid, first, last, self.rules.pooling, self.runs.higher)
        if self.rules.pooling == "mean":
            refuse_no_mean(scores, block_rows(self.grid.offsets, first, last)[1], self.utterances[first:last])
        return scores, scored, classes

    def sample(self, size: int) -> Columns:
        """About ``size`` points; labels are computed in doubles."""
        total = int(self.grid.offsets[-1])
        axis = np.concatenate(([0.0], np.cumsum(self.labelling.extents.astype(np.float64))))
        nothing = np.zeros(0, np.int64)
        unlike = self.rules.pooling not in OF_POINTS
        if unlike or not total or not self.runs.values.size or axis[-1] >= NS_PER_BLOCK:
            return self.runs.values[:0].astype(self.dtype), nothing, nothing
        # of a few long points, take a few: each of them costs as much as in the real pass
        point = np.arange(0, total, max(total // max(size, total >> 9), min(8, total)))
        utterance = np.searchsorted(self.grid.offsets, point, side="right") - 1
        starts, ends = self.grid.edges(utterance, point - self.grid.offsets[utterance])
        edges = axis[utterance_of_rows(self.labelling.offsets)] + self.labelling.ends
        lengths = (self.labelling.ends - self.labelling.starts).astype(np.float64)
        edges = np.concatenate(([0.0], edges))

        def time_of(label: int) -> Int64:
            cumulated = np.concatenate(([0.0], np.cumsum(lengths * (self.labelling.labels == label))))
            at_end = np.interp(axis[utterance] + ends, edges, cumulated)
            return np.rint(at_end - np.interp(axis[utterance] + starts, edges, cumulated)).astype(np.int64)

        rules = replace(self.rules, label="majority") if self.rules.label == "rounded" else self.rules
        classes = classes_of(time_of(BONA_FIDE), time_of(SPOOF), rules)
        block = replace(self.runs, higher="bonafide").block(0, len(self.utterances))
        first, last, scored = _rows_under(block, utterance, starts, ends)
        # only the rows under these points are looked up and mirrored
        begins = offsets_of(last + 1 - first)
        rows = np.arange(begins[-1]) + np.repeat(first - begins[:-1], np.diff(begins))
        values = bona_fide_polarity(self.runs.values[rows], self.runs.higher)
        scores = roughly(values, begins, self.rules.pooling)
        weight: Int64 = scored * (np.int64(1) if self.weights is None else self.weights[utterance])
        return scores, (classes == BONA_FIDE) * weight, (classes == SPOOF) * weight


def point_classes(labelling: Labelling, grid: Grid, rules: Rules) -> Iterator[Labels]:
    """The classes of all points of a labelling, some utterances at a time, whatever their scores are."""
    runs = grid.runs()
    for first, last in blocks(grid.counts, labelling.extents, ROWS_PER_BLOCK, NS_PER_BLOCK):
        _, laid = overlay_block(labelling, runs, first, last)
        yield _classes_of_block(labelling, grid, rules, first, last, laid)


def _classes_of_block(labelling: Labelling, grid: Grid, rules: Rules, first: int, last: int, laid: MassBlock) -> Labels:
    """Rule 18 for a block of points, given the time of both classes in each."""
    if rules.label == "rounded":
        return np.where(laid.counted, _rounded_labels(labelling, grid, first, last), np.int8(IGNORED))
    # points of one class keep it, only the others have to be looked at
    mixed = np.zeros(laid.classes.size, bool)
    mixed[laid.rows] = True
    _, bona_fide, spoof = laid.columns_of(mixed)
    classes: Labels = laid.classes.copy()
    classes[mixed] = classes_of(bona_fide, spoof, rules)
    return classes


def classes_of(bona_fide: Int64, spoof: Int64, rules: Rules) -> Labels:
    """Rule 18: the class of each point (or utterance), given the time of both classes in it; IGNORED without any."""
    if rules.label == "any":
        is_spoof: Any = spoof > 0
    else:
        share = rules.spoof_fraction
        labelled: Any = bona_fide + spoof
        if labelled.size and int(labelled.max()) * share.denominator >= 2**63:
            labelled, spoof = labelled.astype(object), spoof.astype(object)
        is_spoof = (spoof * share.denominator >= labelled * share.numerator) & (labelled > 0)
    classes: Labels = np.where((bona_fide > 0) | (spoof > 0), np.int8(BONA_FIDE), np.int8(IGNORED))
    classes[np.asarray(is_spoof, bool)] = SPOOF
    return classes


def _rounded_labels(labelling: Labelling, grid: Grid, first: int, last: int) -> Labels:
    """Rule 18, ``rounded``: edges between labels go to the nearest edge of the grid, half to even."""
    spacing = duration_ns(grid.resolution, "resolution")
    here, offsets = block_rows(labelling.offsets, first, last)
    utterance = utterance_of_rows(offsets)
    points = grid.counts[first:last]
    whole, rest = np.divmod(labelling.ends[here], spacing)
    up = (2 * rest > spacing) | ((2 * rest == spacing) & (whole % 2 == 1))
    edge = np.minimum(whole + up, points[utterance])
    counts = np.diff(edge, prepend=0)
    begins = first_rows(offsets)
    counts[begins] = edge[begins]
    # one more run per utterance: the points that rounding leaves without a label are spoof
    count = points.size
    run_at = np.arange(edge.size) + utterance
    extra_at = offsets[1:] + np.arange(count)
    run_counts, run_labels = np.zeros(edge.size + count, np.int64), np.full(edge.size + count, SPOOF, np.int8)
    run_counts[run_at], run_labels[run_at] = counts, labelling.labels[here]
    run_counts[extra_at] = points - edge[offsets[1:] - 1]
    return np.repeat(run_labels, run_counts)


def point_scores(
    block: ScoreRuns, grid: Grid, first: int, last: int, pooling: str = "min", higher: Higher = "bonafide"
) -> tuple[Values, Flags | None]:
    """Rule 19: the score of every point of a block, and which points have one (None: all).

    The block is in bona fide polarity; ``higher`` is what high scores meant before.
    """
    _, offsets = block_rows(grid.offsets, first, last)
    # frames that lie from 0 to the extent in each utterance
    frames = block if isinstance(block, FrameRuns) else None
    if frames is not None and (frames.origins.any() or (frames.last != grid.extents[first:last]).any()):
        frames = None
    if (
        frames is not None
        and pooling in OF_POINTS
        and grid.is_whole
        and (frames.hops == duration_ns(grid.resolution, "resolution")).all()
    ):
        dtype = pooled_type(pooling, block.values.dtype)
        return block.values[_frames_of_points(frames, offsets)].astype(dtype, copy=False), None
    one_of_them = pooling in ("min", "max")
    if frames is not None and one_of_them and (frames.hops == frames.hops[0]).all():
        return extreme(block.values, *_rows_from_table(frames, grid, offsets), pooling), None
    utterance = utterance_of_rows(offsets)
    starts, ends = grid.edges(first + utterance, np.arange(utterance.size) - offsets[utterance])
    low_row, high_row, scored = _rows_under(block, utterance, starts, ends)
    found = pooled(pooling, block, higher, utterance, (starts, ends), (low_row, high_row))
    return found, None if scored.all() else scored


def _frames_of_points(block: FrameRuns, offsets: Int64) -> Int64:
    """The row under each point, where each point is one frame, and the last frame holds for points after it."""
    counts = offsets[1:] - offsets[:-1]
    rows: Int64 = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - block.offsets[:-1], counts)
    np.minimum(rows, np.repeat(block.offsets[:-1] + block.used - 1, counts), out=rows)
    return rows


def _rows_from_table(block: FrameRuns, grid: Grid, offsets: Int64) -> tuple[Int64, Int64]:
    """First and last row under each point by a table over k, where frames of one hop lie alike in all utterances.

    Measured: four times faster than to divide for every point; to repeat what belongs to an utterance takes half as
    long as to look it up for every point.
    """
    counts = offsets[1:] - offsets[:-1]
    table = np.arange(int(counts.max()))
    low = grid_edges(table, grid.resolution) // block.hops[0]
    high = (grid_edges(table + 1, grid.resolution) - 1) // block.hops[0]
    k = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    base, final = np.repeat(block.offsets[:-1], counts), np.repeat(block.offsets[:-1] + block.used - 1, counts)
    first: Int64 = np.minimum(base + low[k], final)
    # points that divide the frames lie under one row each
    return first, first if np.array_equal(low, high) else np.minimum(base + high[k], final)


def _rows_under(block: ScoreRuns, utterance: Int64, starts: Int64, ends: Int64) -> tuple[Int64, Int64, Flags]:
    """First and last row of the runs that each range of time overlaps, and whether there are any."""
    first = np.maximum(block.rows_before(utterance, starts + 1) - 1, 0)
    last = block.rows_before(utterance, ends) - 1
    some = has_rows(block.offsets)[utterance]
    # the run that starts at or before the range may have ended before it
    over = np.zeros(utterance.size, bool)
    over[some] = block.run_ends(utterance[some], first[some]) <= starts[some]
    first = first + over
    scored = first <= last
    base = block.offsets[utterance]
    return np.where(scored, base + first, 0), np.where(scored, base + last, 0), scored


def point_mass_with(
    references: References,
    scores: Scores,
    resolution: float,
    rules: Rules,
    lay: Lay = Overlay.of,
) -> tuple[ScoreMass, tuple[Touched, ...]]:
    """Lay references and scores over each other point by point, under the given rules."""
    resolution = check_resolution(resolution)
    check_pooling(rules.pooling, scores, whole_utterances=resolution >= WHOLE_UTTERANCE)
    overlay = lay(references, scores, rules)
    labelling, runs, (_, touched) = overlay.labelling, overlay.runs, overlay.undecided()
    if rules.uncovered == "ignore":
        labelling = _ignore_uncovered(labelling, runs)
    if resolution < WHOLE_UTTERANCE:
        refuse_milliseconds(resolution * 1e9, labelling.extents, "resolution")
    grid = Grid.over(labelling.extents, resolution, rules.last_point)
    part = PointPart(labelling, runs, grid, rules)
    basis = f"{resolution!r} s points, {rules.spelled('point')}"
    return ScoreMass((part,), scores.higher, "points", rules.uncovered, basis), touched


def _ignore_uncovered(labelling: Labelling, runs: ScoreRuns) -> Labelling:
    """Rule 17: ignore the time before, between and after the score runs of each utterance."""
    utterance, starts, ends = runs.cover()
    count = labelling.extents.size
    offsets = offsets_of(np.bincount(utterance, minlength=count))
    before = ends_before(ends, offsets)
    reach = np.zeros(count, np.int64)
    reach[has_rows(offsets)] = ends[last_rows(offsets)]
    return overwrite(
        labelling,
        np.concatenate((utterance, np.arange(count))),
        np.concatenate((before, reach)),
        np.concatenate((starts, labelling.extents)),
        IGNORED,
    )


def resample(scores: Scores, resolution: float, durations: Mapping[str, float] | References | None) -> Scores:
    """Re-sample scores to uniform frames; see :meth:`spoofspan.Scores.resample`."""
    resolution = check_resolution(resolution)
    extents = _last_ends(scores) if durations is None else durations_of(durations, scores.utterances)
    rules = Rules(uncovered="unanswered", slack=0.0, overlong="cut")
    runs, _ = prepare_scores(scores, extents, rules)
    utterance, _, ends = runs.cover()
    reach = np.zeros(extents.size, np.int64)
    np.maximum.at(reach, utterance, ends)
    grid = Grid.over(reach, resolution, "use")
    dtype: Any = runs.values.dtype
    values: Any = np.empty(int(grid.offsets[-1]), dtype)
    rows = np.maximum(grid.counts, np.diff(runs.offsets))
    for first, last in blocks(rows, extents, ROWS_PER_BLOCK, NS_PER_BLOCK):
        block_values, scored = point_scores(runs.block(first, last), grid, first, last)
        if scored is not None:
            _refuse_holes(scores, grid, first, np.flatnonzero(~scored))
        values[grid.offsets[first] : grid.offsets[last]] = block_values
    return Scores.from_columns(
        scores.utterances,
        grid.offsets,
        values if scores.higher == "bonafide" else -values,
        hop=resolution,
        higher=scores.higher,
    )


def _last_ends(scores: Scores) -> Int64:
    """Where the last score of each utterance ends, not before 0; without scores it does not matter."""
    last = np.zeros(len(scores), np.int64)
    if scores.hops is not None and scores.origins is not None and scores.window is None:
        last = scores.origins + grid_edges(np.diff(scores.offsets), scores.hops)
    else:
        np.maximum.at(last, utterance_of_rows(scores.offsets), score_times(scores)[1])
    return np.maximum(last, 0)


def _refuse_holes(scores: Scores, grid: Grid, first: int, missing: npt.NDArray[np.intp]) -> None:
    def describe(row: int) -> str:
        utterance = int(np.searchsorted(grid.offsets, row, side="right")) - 1
        return f"utterance {scores.utterances[utterance]!r} has no score for frame {row - grid.offsets[utterance]}"

    remedy = "scores with holes cannot become uniform frames; fill them first"
    refuse(missing + int(grid.offsets[first]), describe, remedy)

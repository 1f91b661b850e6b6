"""Point-based measurement at a resolution (Eqs. 1 and 2), and re-sampling of scores between resolutions.

Point k is ``[rint(k * r * 1e9), rint((k + 1) * r * 1e9))``, cut at the extent. It has one label (by a rule) and one
score: the lowest, in bona fide polarity, of the score runs it overlaps, unless the rule ``pooling`` says otherwise.
That is duplication where the resolution is finer than the scores, the paper's minimum where it is coarser, and it is
defined for any ratio::

    scores 20 ms   | 0.9 | 0.2 | 0.4 | 0.7 |
    points 10 ms   |0.9|0.9|0.2|0.2|0.4|0.4|0.7|0.7|
    points 40 ms   |    0.2    |    0.4    |
    points 30 ms   |   0.2  |   0.2  | 0.4 ... |

A point counts one, whatever its length: a ScoreMass whose unit is points. Its rows are points, or frames that are cut
into whole points, each with as many as it has of both classes.

**Pooling** (rule 19 of ``docs/rules.md``) makes one score of several, in bona fide polarity. The lowest and the highest
are exact. The mean is over time, so splitting a run does not move it, and it is rounded once, so equal means are equal
doubles. ``top-k`` and ``noisy-or`` count frames, and are for uniform frames of whole utterances. Each point is pooled
by itself, so neither blocks nor shards leave a trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import (
    Flags,
    blocks,
    ends_before,
    has_rows,
    last_rows,
    offsets_of,
    rows_from,
    sum_by_utterance,
    utterance_of_every,
    utterance_of_rows,
)
from spoofspan.base.errors import UsageError, refuse
from spoofspan.base.times import LONGEST, Int64, duration_ns, grid_edges, refuse_milliseconds
from spoofspan.data.references import BONA_FIDE, SPOOF, Labels, References, durations_of
from spoofspan.data.rules import Rules, Touched, top_k
from spoofspan.data.scores import Higher, Scores, Values, score_times
from spoofspan.mass.exact_sums import group_means, group_quotients
from spoofspan.mass.labelling import IGNORED, Labelling, overwrite
from spoofspan.mass.point_labels import Grid, classes_of, classes_of_points, label_points
from spoofspan.mass.ranges import Lay, Overlay, TimedPart, overlay_block, rows_under
from spoofspan.mass.score_mass import NS_PER_BLOCK, Columns, ScoreMass, UtteranceBlock
from spoofspan.mass.score_runs import FRAMES_PER_BLOCK, ROWS_PER_BLOCK, FrameRuns, ScoreRuns, mirrored, prepare_scores

# No utterance is as long as one point of this resolution (seconds).
WHOLE_UTTERANCE = LONGEST / 1e9
OF_POINTS = ("min", "mean", "max")  # the others are of whole utterances


def check_resolution(resolution: float, name: str = "resolution") -> float:
    """Return a valid resolution in seconds; refuse others."""
    if duration_ns(resolution, name) <= 0:
        raise UsageError(f"{name}={resolution!r}: must be positive (seconds)")
    return float(resolution)


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

    @cached_property
    def points_per_frame(self) -> int | None:
        """Number of points that each frame is cut into; None if some point has not the score of exactly one frame."""
        runs, point = self.runs, self.grid.whole
        if self.rules.pooling not in OF_POINTS or not isinstance(runs, FrameRuns) or point is None:
            return None
        cut = runs.fill(self.grid.extents) and runs.hops[0] % point == 0
        return int(runs.hops[0]) // point if cut else None

    def spans(self) -> Iterator[tuple[int, int]]:
        """The first and the last + 1 of the utterances of each block."""
        points, rows = self.grid.counts, np.diff(self.runs.offsets)
        most = ROWS_PER_BLOCK if self.weights is not None else FRAMES_PER_BLOCK
        if self.points_per_frame is None:
            rows, most = np.maximum(points, rows), ROWS_PER_BLOCK
        # both the time to lay over and the weighted points must fit into int64
        heavy = points if self.weights is None else points * self.weights
        return blocks(rows, np.maximum(self.labelling.extents, heavy), most, NS_PER_BLOCK)

    def utterance_block(self, first: int, last: int) -> UtteranceBlock:
        """Label and score the points of some utterances; each row is known to belong to one of them.

        A row is a point, or a frame whose points all have its score: time is counted in points, so that the labels of
        points and these frames lay over each other as ranges do.
        """
        labelled = label_points(self.labelling.block(first, last), self.grid.block(first, last), self.rules)
        runs, scored = self._runs_of_points(first, last)
        block = overlay_block(labelled, runs)
        weights = None if self.weights is None else np.repeat(self.weights[first:last], np.diff(runs.offsets))
        undecided = [np.zeros(last - first, np.int64)] * 2
        if scored is not None:
            nobody = np.int8(IGNORED)
            unscored = replace(block, classes=np.where(scored, nobody, block.classes))
            unscored = unscored if weights is None else unscored.weigh(weights)
            undecided = [sum_by_utterance(column, runs.offsets) for column in (unscored.bona_fide, unscored.spoof)]
            block = replace(block, classes=np.where(scored, block.classes, nobody))
        block = block if weights is None else block.weigh(weights)
        return UtteranceBlock(first, last, runs.offsets, block, *undecided)

    def _runs_of_points(self, first: int, last: int) -> tuple[FrameRuns, Flags | None]:
        """The scores of some utterances as frames of whole points, and which points have one (None: all)."""
        counts = self.grid.counts[first:last]
        nothing = np.zeros_like(counts)
        if self.points_per_frame is None:
            scores, scored = self._point_scores(first, last)
            offsets = self.grid.block(first, last).offsets
            return FrameRuns(offsets, scores, "bonafide", nothing + 1, nothing, counts, counts), scored
        block = self.runs.block(first, last)
        assert isinstance(block, FrameRuns)  # noqa: S101 - for the type checker
        hops, values = nothing + self.points_per_frame, block.values.astype(self.dtype, copy=False)
        used = np.minimum(block.used, -(-counts // self.points_per_frame))
        return FrameRuns(block.offsets, values, "bonafide", hops, nothing, used, counts), None

    def _point_scores(self, first: int, last: int) -> tuple[Values, Flags | None]:
        block, grid = self.runs.block(first, last), self.grid.block(first, last)
        scores, scored = point_scores(block, grid, self.rules.pooling, self.runs.higher)
        if self.rules.pooling not in ("min", "max"):
            refuse_no_mean(scores, grid.offsets, self.utterances[first:last])
        return scores, scored

    def labelled_points(self, first: int, last: int) -> tuple[Values, Flags | None, Labels]:
        """The score of every point of some utterances, whether it has one (None: all have), and its class."""
        labelled = label_points(self.labelling.block(first, last), self.grid.block(first, last), self.rules)
        return *self._point_scores(first, last), classes_of_points(labelled)

    def sample(self, size: int) -> Columns:
        """About ``size`` points; their labels are guessed."""
        total = int(self.grid.offsets[-1])
        if self.rules.pooling not in OF_POINTS or not total or not self.runs.values.size:
            return self.runs.values[:0].astype(self.dtype), np.zeros(0, np.int64), np.zeros(0, np.int64)
        # of a few long points, take a few: each of them costs as much as in the real pass
        step = max(total // max(size, total >> 9), min(8, total))
        point, utterance = np.arange(0, total, step), utterance_of_every(step, self.grid.offsets)
        starts, ends = self.grid.edges(utterance, point - self.grid.offsets[utterance])
        rules = replace(self.rules, label="majority") if self.rules.label == "rounded" else self.rules
        bona_fide, spoof = self.labelling.times_of((BONA_FIDE, SPOOF), utterance, starts, ends)
        classes = classes_of(bona_fide, spoof, rules)
        block = replace(self.runs, higher="bonafide").block(0, len(self.utterances))
        first, last, scored = rows_under(block, utterance, starts, ends)
        # only the rows under these points are looked up and mirrored
        begins = offsets_of(last + 1 - first)
        rows = rows_from(first, last + 1 - first)
        values = mirrored(self.runs.values[rows], self.runs.higher)
        scores = roughly(values, begins, self.rules.pooling)
        weight: Int64 = scored * (np.int64(1) if self.weights is None else self.weights[utterance])
        return scores, (classes == BONA_FIDE) * weight, (classes == SPOOF) * weight


def point_scores(
    block: ScoreRuns, grid: Grid, pooling: str = "min", higher: Higher = "bonafide"
) -> tuple[Values, Flags | None]:
    """Rule 19: the score of every point of the same utterances, and which points have one (None: all).

    The block is in bona fide polarity; ``higher`` is what high scores meant before.
    """
    found = _of_whole_frames(block, grid, pooling)
    if found is not None:
        return found, None
    utterance, starts, ends = grid.cover()
    low_row, high_row, scored = rows_under(block, utterance, starts, ends)
    found = pooled(pooling, block, higher, utterance, (starts, ends), (low_row, high_row))
    return found, None if scored.all() else scored


def _of_whole_frames(block: ScoreRuns, grid: Grid, pooling: str) -> Values | None:
    """The lowest or highest score of points that are made of whole frames; None if they are not, or frames are left.

    No row is looked up by its time, which takes twice as long.
    """
    if pooling not in ("min", "max") or not isinstance(block, FrameRuns) or grid.whole is None:
        return None
    rows = np.diff(block.offsets)
    if not block.fill(grid.extents) or grid.whole % block.hops[0] or (block.used != rows).any() or not rows.all():
        return None
    frames = grid.whole // int(block.hops[0])
    begun = -(-rows // frames)  # points that begin with a frame of their own; others have the last, which is held
    held = grid.counts - begun
    if (held < 0).any():
        return None
    offsets = offsets_of(begun)
    first = np.repeat(block.offsets[:-1] - frames * offsets[:-1], begun) + frames * np.arange(offsets[-1])
    scores = lowest_or_highest(pooling).reduceat(block.values, first)
    return np.insert(scores, np.repeat(offsets[1:], held), np.repeat(block.values[block.offsets[1:] - 1], held))


def point_mass_with(
    references: References,
    scores: Scores,
    resolution: float,
    rules: Rules,
    lay: Lay = Overlay.of,
) -> tuple[ScoreMass, tuple[Touched, ...]]:
    """Overlay references and scores point by point, under the given rules."""
    resolution = check_resolution(resolution)
    check_pooling(rules.pooling, scores, whole_utterances=resolution >= WHOLE_UTTERANCE)
    overlay = lay(references, scores, rules)
    labelling, runs, (_, touched) = overlay.labelling, overlay.runs, overlay.undecided()
    if rules.uncovered == "ignore":
        labelling = _ignore_uncovered(labelling, runs)
    if resolution < WHOLE_UTTERANCE:
        refuse_milliseconds(resolution * 1e9, labelling.extents, "resolution")
    reach = _reach(runs) if rules.last_point == "scored" else None
    grid = Grid.over(labelling.extents, resolution, rules.last_point, reach)
    part = PointPart(labelling, runs, grid, rules)
    return ScoreMass((part,), scores.higher, "points", rules.uncovered, point_basis(resolution, rules)), touched


def point_basis(resolution: float, rules: Rules) -> str:
    """Settings that point-based masses share to be added."""
    return f"{resolution!r} s points, {rules.spelled('point')}"


def _ignore_uncovered(labelling: Labelling, runs: ScoreRuns) -> Labelling:
    """Rule 17: ignore the time before, between and after the score runs of each utterance."""
    utterance, starts, ends = runs.cover()
    count = labelling.extents.size
    offsets = offsets_of(np.bincount(utterance, minlength=count))
    before = ends_before(ends, offsets)
    return overwrite(
        labelling,
        np.concatenate((utterance, np.arange(count))),
        np.concatenate((before, _reach(runs))),
        np.concatenate((starts, labelling.extents)),
        IGNORED,
    )


def _reach(runs: ScoreRuns) -> Int64:
    """End of the last score of each utterance; 0 without any."""
    utterance, _, ends = runs.cover()
    reach = np.zeros(runs.offsets.size - 1, np.int64)
    offsets = offsets_of(np.bincount(utterance, minlength=reach.size))
    reach[has_rows(offsets)] = ends[last_rows(offsets)]
    return reach


def resample(scores: Scores, resolution: float, durations: Mapping[str, float] | References | None) -> Scores:
    """Re-sample scores to uniform frames; see :meth:`spoofspan.Scores.resample`."""
    resolution = check_resolution(resolution)
    extents = _last_ends(scores) if durations is None else durations_of(durations, scores.utterances)
    refuse_milliseconds(resolution * 1e9, extents, "resolution")
    rules = Rules(uncovered="unanswered", slack=0.0, overlong="cut")
    runs, _ = prepare_scores(scores, extents, rules)
    grid = Grid.over(_reach(runs), resolution, "use")
    dtype: Any = runs.values.dtype
    values: Any = np.empty(int(grid.offsets[-1]), dtype)
    rows = np.maximum(grid.counts, np.diff(runs.offsets))
    for first, last in blocks(rows, extents, ROWS_PER_BLOCK, NS_PER_BLOCK):
        block_values, scored = point_scores(runs.block(first, last), grid.block(first, last))
        if scored is not None:
            _refuse_holes(scores, grid, first, np.flatnonzero(~scored))
        values[grid.offsets[first] : grid.offsets[last]] = block_values
    return Scores.from_columns(
        scores.utterances,
        grid.offsets,
        mirrored(values, scores.higher),
        hop=resolution,
        higher=scores.higher,
    )


def _last_ends(scores: Scores) -> Int64:
    """End of the last score of each utterance, not before 0; without scores it does not matter."""
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


# ---------------------------------------------------------------- rule 19, pooling


def check_pooling(pooling: str, scores: Scores, *, whole_utterances: bool) -> None:
    """Refuse a pooling that counts frames, where there are none or only some of an utterance."""
    if pooling in OF_POINTS:
        return
    if not whole_utterances:
        raise UsageError(
            f"pooling={pooling!r} is for whole utterances; pool points by 'min', 'mean' or 'max', or ask for measures "
            "of utterances only (-m utterance-eer)"
        )
    if scores.hop is None:
        raise UsageError(f"pooling={pooling!r} counts frames, and these scores are ranges; use 'min', 'mean' or 'max'")


def pooled_type(pooling: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of pooled scores: that of the scores where one of them is taken, float64 where they are summed."""
    return dtype if pooling in ("min", "max") else np.dtype(np.float64)


def lowest_or_highest(pooling: str) -> np.ufunc:
    """The operation of a pooling that selects one score."""
    return np.maximum if pooling == "max" else np.minimum


def extreme(values: Values, first: Int64, last: Int64, pooling: str) -> Values:
    """The lowest (or highest) of values[first] to values[last], for many pairs at once."""
    if not values.size or not first.size:
        return np.zeros(first.size, values.dtype)
    # reduceat takes each pair of places as one stretch; those between them, the odd ones, are left out
    places = np.stack((first, last + 1), axis=1).ravel()
    if places[-1] == values.size:  # the last stretch ends where the values do
        places = places[:-1]
    padded = np.append(values, values[-1:]) if places.max() == values.size else values
    found: Values = lowest_or_highest(pooling).reduceat(padded, places)[::2]
    return found


def pooled(
    pooling: str,
    block: ScoreRuns,
    higher: Higher,
    utterance: Int64,
    times: tuple[Int64, Int64],
    rows: tuple[Int64, Int64],
) -> Values:
    """The score of each point, given its utterance, its start and end, and the first and last run that it overlaps."""
    if pooling in ("min", "max"):
        return extreme(block.values, *rows, pooling)
    if pooling == "mean":
        return mean_over_time(block, utterance, *times, *rows)
    return of_frames(block.values, *rows, pooling, higher)


def refuse_no_mean(scores: Values, offsets: Int64, utterances: Sequence[str]) -> None:
    """Refuse points whose mean is none."""
    refuse(
        np.unique(utterance_of_rows(offsets)[np.isnan(scores)]),
        lambda i: f"utterance {utterances[i]!r} has infinite scores of both signs in one point",
        "they have no mean; pool by 'min' or 'max', or correct the scores",
    )


def mean_over_time(block: ScoreRuns, utterance: Int64, starts: Int64, ends: Int64, first: Int64, last: Int64) -> Values:
    """The mean of the scores over the time of each point under them; NaN where infinities of both signs meet."""
    values = block.values
    if not values.size or not first.size:
        return np.zeros(first.size, np.float64)
    begins = offsets_of(last + 1 - first)
    point, rows = utterance_of_rows(begins), rows_from(first, last + 1 - first)
    owner = utterance[point]
    run_starts, _ = block.spans(owner, rows)
    run_ends = block.run_ends(owner, rows - block.offsets[owner])
    lasted = np.maximum(np.minimum(run_ends, ends[point]) - np.maximum(run_starts, starts[point]), 0)
    return group_means(values[rows], lasted, begins)


def of_frames(values: Values, first: Int64, last: Int64, pooling: str, higher: Higher) -> Values:
    """The mean of the k lowest frames, or the noisy-or of all of them: ln P(no frame is spoofed)."""
    k = top_k(pooling)
    if k is None:
        return _noisy_or(values, first, last, higher)
    if not values.size or not first.size:
        return np.zeros(first.size, np.float64)
    bounds = zip(first.tolist(), (last + 1).tolist(), strict=True)
    lowest = np.concatenate([np.sort(values[low:high])[:k] for low, high in bounds])
    return group_means(lowest, np.ones(lowest.size, np.int64), offsets_of(np.minimum(last + 1 - first, k)))


def _noisy_or(values: Values, first: Int64, last: Int64, higher: Higher) -> Values:
    probabilities = values.astype(np.float64)
    # mirrored scores of spoof are -p, and 1 - p is the probability of bona fide
    low, high = (0.0, 1.0) if higher == "bonafide" else (-1.0, 0.0)
    if probabilities.size and not low <= probabilities.min() <= probabilities.max() <= high:
        raise UsageError("pooling='noisy-or' is for probabilities, and there are scores outside [0, 1]; use 'min'")
    if not probabilities.size or not first.size:
        return np.zeros(first.size, np.float64)
    with np.errstate(divide="ignore"):
        logarithms = np.log(probabilities) if higher == "bonafide" else np.log1p(probabilities)
    counts = last + 1 - first
    summands = logarithms[rows_from(first, counts)]
    return group_quotients(summands, np.ones(summands.size, np.int64), offsets_of(counts), np.ones_like(counts))


def roughly(values: Values, begins: Int64, pooling: str) -> Values:
    """The pooled scores of a sample, near enough to guess where the EER lies."""
    if pooling != "mean":
        return lowest_or_highest(pooling).reduceat(values, begins[:-1])
    with np.errstate(invalid="ignore", over="ignore"):
        means = np.add.reduceat(values.astype(np.float64), begins[:-1]) / np.diff(begins)
    return np.nan_to_num(means, nan=0.0, posinf=np.inf, neginf=-np.inf)

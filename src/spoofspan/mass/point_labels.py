"""The points of a resolution: where they lie (rule 16 of ``docs/rules.md``), and their labels (rule 18), as runs.

Most points lie in a range of one label, and keep it. Only a point with an edge of the reference inside is looked at::

    reference   |   bona fide   |     spoof      | bona fide |
    points      |  0  |  1  |  2  |  3  |  4  |  5  |  6  |  7  |
    label=any      b     b     S     s     s     S     b     b      runs that end at points 2, 6 and 8

The result is a labelling whose time is counted in points, so what is laid over one lays over the other.

**Boundary points**, where spoof begins or ends, are for scores that say how likely a boundary is. A point is one if it
is spoof and the point before or after it is bona fide, as in the labels that BAM trains its boundary branch with::

    points      b b s s s b b s b b
    boundaries      x   x     x
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from spoofspan.base.columns import (
    blocks,
    first_of_equals,
    kept_offsets,
    last_rows,
    offsets_of,
    utterance_of_rows,
    within_utterances,
)
from spoofspan.base.errors import UsageError
from spoofspan.base.times import Float64, Int64, duration_ns, edges_before, grid_edges, whole_ns
from spoofspan.data.references import BONA_FIDE, NONSPEECH, SPOOF, Labels, References
from spoofspan.data.rules import Rules
from spoofspan.mass.labelling import IGNORED, Labelling, label_references, overwrite
from spoofspan.mass.ranges import overlay_block
from spoofspan.mass.score_mass import NS_PER_BLOCK
from spoofspan.mass.score_runs import ROWS_PER_BLOCK, FrameRuns, RangeRuns, ScoreRuns


@dataclass(frozen=True, eq=False)
class Grid:
    """The points of every utterance: how many, and where they lie."""

    resolution: float
    offsets: Int64
    extents: Int64

    @classmethod
    def over(cls, extents: Int64, resolution: float, last_point: str, reach: Int64 | None = None) -> Grid:
        """Rule 16: every point that starts before the extent, or the last one only if half or all of it does.

        Under ``scored``, all of a point must lie before the end of the last score too, which is ``reach`` if known.
        """
        limit = np.minimum(extents, reach) if last_point == "scored" and reach is not None else extents
        counts = edges_before(limit, resolution)
        if last_point != "use":
            first, end = grid_edges(counts - 1, resolution), grid_edges(counts, resolution)
            counts = counts - ((2 if last_point == "round" else 1) * (limit - first) < end - first)
        return cls(resolution, offsets_of(counts), extents)

    @property
    def counts(self) -> Int64:
        """Number of points of each utterance."""
        return self.offsets[1:] - self.offsets[:-1]

    @cached_property
    def whole(self) -> int | None:
        """The length of a point in ns, if every edge is a multiple of it."""
        is_whole = whole_ns(np.array([self.resolution]), int(self.extents.max(initial=0)))
        return duration_ns(self.resolution, "resolution") if is_whole else None

    def take(self, chosen: Int64) -> Grid:
        """Keep chosen utterances, in that order."""
        return Grid(self.resolution, offsets_of(self.counts[chosen]), self.extents[chosen])

    def block(self, first: int, last: int) -> Grid:
        """The points of utterances first to last - 1."""
        return Grid(self.resolution, self.offsets[first : last + 1] - self.offsets[first], self.extents[first:last])

    def runs(self) -> ScoreRuns:
        """The points as if they were score runs, to be laid over a labelling; they need no scores for that."""
        values = np.broadcast_to(np.float16(0), int(self.offsets[-1]))
        if self.whole is not None:
            hops, counts = np.full(self.extents.size, self.whole), self.counts
            ends = np.minimum(counts * hops, self.extents)
            return FrameRuns(self.offsets, values, "bonafide", hops, np.zeros_like(hops), counts, ends)
        _, starts, ends = self.cover()
        return RangeRuns(self.offsets, values, "bonafide", starts, ends)

    def starts(self, k: Int64) -> Int64:
        """Start of the k-th points of any utterances."""
        return grid_edges(k, self.resolution) if self.whole is None else k * self.whole

    def edges(self, utterance: Int64, k: Int64) -> tuple[Int64, Int64]:
        """Start and end of the k-th points of utterances."""
        return self.starts(k), np.minimum(self.starts(k + 1), self.extents[utterance])

    def cover(self) -> tuple[Int64, Int64, Int64]:
        """All points as (utterance, start, end)."""
        utterance = utterance_of_rows(self.offsets)
        return utterance, *self.edges(utterance, np.arange(utterance.size) - self.offsets[utterance])

    def begun_before(self, times: Int64) -> Int64:
        """Count the points of a long utterance that start before each time."""
        return edges_before(times, self.resolution) if self.whole is None else -(-times // self.whole)


def boundary_references(references: References, resolution: float, rules: Rules) -> References:
    """References whose spoof ranges are the boundary points of a resolution."""
    if rules.utterances != "all":
        raise UsageError(f"utterances={rules.utterances!r} does not go with boundary points; leave it out")
    labelling, _ = label_references(references, rules)
    grid = Grid.over(labelling.extents, resolution, rules.last_point)
    classes = np.concatenate([*point_classes(labelling, grid, rules), np.zeros(0, np.int8)])
    beside = within_utterances(grid.offsets, np.ones(max(classes.size - 1, 0), bool))
    bona_fide, spoof = classes == BONA_FIDE, classes == SPOOF
    boundary = np.zeros(classes.size, bool)
    boundary[1:] |= beside & spoof[1:] & bona_fide[:-1]
    boundary[:-1] |= beside & spoof[:-1] & bona_fide[1:]
    labels = np.where(boundary, SPOOF, np.where(bona_fide | spoof, BONA_FIDE, NONSPEECH)).astype(np.int8)
    _, starts, ends = grid.cover()
    return References(labelling.utterances, grid.offsets, starts, ends, labels, labelling.extents)


def rules_of_boundaries(rules: Rules) -> Rules:
    """The rules under which boundary points are measured: their labels are settled."""
    settled: dict[str, Any] = {
        "gaps": "ignore",
        "nonspeech": "ignore",
        "label": "any",
        "snap": 0.0,
        "extent": "duration",
    }
    return replace(rules, **settled, collar=0.0, regions=None)


def classes_of(bona_fide: Int64, spoof: Int64, rules: Rules) -> Labels:
    """Rule 18: the class of each point (or utterance), given the time of both classes in it; IGNORED without any."""
    if rules.label == "any":
        is_spoof: Any = spoof > 0
    else:
        share = rules.spoof_fraction
        labelled: Any = bona_fide + spoof
        if labelled.size and int(labelled.max()) * share.denominator >= 2**63:
            labelled, spoof = labelled.astype(object), spoof.astype(object)
        left, right = spoof * share.denominator, labelled * share.numerator
        is_spoof = (left > right if rules.spoof_strictly else left >= right) & (labelled > 0)
    classes: Labels = np.where((bona_fide > 0) | (spoof > 0), np.int8(BONA_FIDE), np.int8(IGNORED))
    classes[np.asarray(is_spoof, bool)] = SPOOF
    return classes


def point_classes(labelling: Labelling, grid: Grid, rules: Rules) -> Iterator[Labels]:
    """The classes of all points of a labelling, some utterances at a time, whatever their scores are."""
    for first, last in blocks(grid.counts, labelling.extents, ROWS_PER_BLOCK, NS_PER_BLOCK):
        yield classes_of_points(label_points(labelling.block(first, last), grid.block(first, last), rules))


def classes_of_points(labelled: Labelling) -> Labels:
    """The class of each point of labelled points."""
    return np.repeat(labelled.labels, labelled.ends - labelled.starts)


def bona_fide_shares(labelling: Labelling, grid: Grid) -> Float64:
    """The share of bona fide time in the labelled time of each point; 0 where there is none."""
    shares = np.empty(int(grid.offsets[-1]))
    for first, last in blocks(grid.counts, labelling.extents, ROWS_PER_BLOCK, NS_PER_BLOCK):
        laid = overlay_block(labelling.block(first, last), grid.block(first, last).runs())
        here = shares[grid.offsets[first] : grid.offsets[last]]
        here[:] = laid.is_bona_fide
        mixed = np.zeros(here.size, bool)
        mixed[laid.rows] = True
        _, bona_fide, spoof = laid.columns_of(mixed)
        here[mixed] = bona_fide / np.maximum(bona_fide + spoof, 1)
    return shares


def label_points(ranges: Labelling, grid: Grid, rules: Rules) -> Labelling:
    """Label the points of the same utterances; the time of the result is counted in points."""
    if rules.label != "rounded":
        return _label_by_time(ranges, grid, rules)
    rounded, by_time = _label_rounded(ranges, grid), _label_by_time(ranges, grid, replace(rules, label="any"))
    ignored = by_time.labels == IGNORED
    if not ignored.any():
        return rounded
    utterance = utterance_of_rows(by_time.offsets)[ignored]
    return overwrite(rounded, utterance, by_time.starts[ignored], by_time.ends[ignored], IGNORED)


def _label_by_time(ranges: Labelling, grid: Grid, rules: Rules) -> Labelling:
    """Label points by the time of both classes in each."""
    utterance = utterance_of_rows(ranges.offsets)
    begun = np.minimum(grid.begun_before(ranges.ends), grid.counts[utterance])  # points that begin before a range ends
    # the last of these goes on in the next range
    shared = np.flatnonzero(ranges.ends < np.minimum(grid.starts(begun), grid.extents[utterance]))
    # two runs for each range: its own points, then the shared one
    run_ends, run_labels = np.repeat(begun, 2), np.repeat(ranges.labels, 2)
    if shared.size:
        owner, point = utterance[shared], begun[shared] - 1
        # a range that ends in the same point as the one before it has no points of its own
        begins = first_of_equals(point, owner)
        run_ends[2 * shared[begins]] -= 1
        time = _time_in_points(ranges, grid, shared, owner, point, np.flatnonzero(begins))
        run_labels[2 * shared + 1] = classes_of(*time, rules)[np.cumsum(begins) - 1]
    offsets = 2 * ranges.offsets
    keep = np.ones(run_ends.size, bool)  # neighbours of one label become one run
    keep[:-1] = run_labels[1:] != run_labels[:-1]
    keep[last_rows(offsets)] = True
    return Labelling(ranges.utterances, grid.counts, kept_offsets(offsets, keep), run_ends[keep], run_labels[keep])


def _time_in_points(
    ranges: Labelling, grid: Grid, shared: Int64, owner: Int64, point: Int64, first: Int64
) -> tuple[Int64, Int64]:
    """The time of both classes in points that several ranges share.

    ``shared`` are the ranges that end inside such a point, ``owner`` and ``point`` tell in which; those of one point
    begin at ``first``. The rest of a point is of the range that follows the last of them.
    """
    lasted = ranges.ends[shared] - np.maximum(ranges.starts[shared], grid.starts(point))
    last = np.append(first[1:], shared.size) - 1
    rest = grid.edges(owner[last], point[last])[1] - ranges.ends[shared[last]]
    bona_fide, spoof = (
        np.add.reduceat(lasted * (ranges.labels[shared] == label), first)
        + rest * (ranges.labels[shared[last] + 1] == label)
        for label in (BONA_FIDE, SPOOF)
    )
    return bona_fide, spoof


def _label_rounded(ranges: Labelling, grid: Grid) -> Labelling:
    """Rule 18, ``rounded``: edges between labels go to the nearest edge of the grid, half to even."""
    spacing = duration_ns(grid.resolution, "resolution")
    utterance = utterance_of_rows(ranges.offsets)
    whole, rest = np.divmod(ranges.ends, spacing)
    up = (2 * rest > spacing) | ((2 * rest == spacing) & (whole % 2 == 1))
    # one more run per utterance: the points that rounding leaves without a label are spoof
    count = ranges.extents.size
    run_at, extra_at = np.arange(utterance.size) + utterance, ranges.offsets[1:] + np.arange(count)
    run_ends = np.empty(utterance.size + count, np.int64)
    run_labels = np.full(run_ends.size, SPOOF, np.int8)
    run_ends[run_at], run_labels[run_at] = np.minimum(whole + up, grid.counts[utterance]), ranges.labels
    run_ends[extra_at] = grid.counts
    return Labelling(ranges.utterances, grid.counts, ranges.offsets + np.arange(count + 1), run_ends, run_labels)

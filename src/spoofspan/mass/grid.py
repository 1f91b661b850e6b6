"""The points of a resolution: how many an utterance has, and where they lie (rule 16 of ``docs/rules.md``)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spoofspan.base.columns import offsets_of, utterance_of_rows
from spoofspan.base.times import Int64, duration_ns, edges_before, grid_edges, whole_ns
from spoofspan.mass.score_runs import FrameRuns, RangeRuns, ScoreRuns


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
        """How many points each utterance has."""
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
        """Where the k-th points of any utterances start."""
        return grid_edges(k, self.resolution) if self.whole is None else k * self.whole

    def edges(self, utterance: Int64, k: Int64) -> tuple[Int64, Int64]:
        """Where the k-th points of utterances start and end."""
        return self.starts(k), np.minimum(self.starts(k + 1), self.extents[utterance])

    def cover(self) -> tuple[Int64, Int64, Int64]:
        """All points as (utterance, start, end)."""
        utterance = utterance_of_rows(self.offsets)
        return utterance, *self.edges(utterance, np.arange(utterance.size) - self.offsets[utterance])

    def begun_before(self, times: Int64) -> Int64:
        """Count the points of a long utterance that start before each time."""
        return edges_before(times, self.resolution) if self.whole is None else -(-times // self.whole)

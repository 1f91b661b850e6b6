"""Score runs: one score, or none, for every instant of an utterance (rules 8 to 13 of ``docs/rules.md``).

Scores say what a system wrote; score runs are what lies inside [0, extent), in order and without overlap::

    scores          | 0.9 | 0.8 | 0.7 | -0.2 | -0.4 |-0.4 |
    score runs      [ 0.9 | 0.8 | 0.7 | -0.2 | -0.4 )
                    0                             extent

Frames stay arithmetic (:class:`FrameRuns`: no array of times is ever made for 12 million of them); everything else
becomes :class:`RangeRuns`. Both are read in blocks of consecutive utterances.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from spoofspan.columns import offsets_of, rows_of, sum_by_utterance, utterance_of_rows, within_utterances
from spoofspan.errors import DataError, Problems
from spoofspan.labelling import Labelling
from spoofspan.nanoseconds import (
    Int64,
    duration_ns,
    grid_edges,
    seconds_text,
    whole_ns,
)
from spoofspan.rules import Rules, Touched, note_touched
from spoofspan.scores import Higher, Scores, Values

OVERLONG_FRAMES_CUT = 2
SLACK_NS = 25_000_000


class ScoreRuns(Protocol):
    """What :mod:`spoofspan.mass` and :mod:`spoofspan.points` need of score runs."""

    @property
    def offsets(self) -> Int64:
        """Rows ``offsets[i]:offsets[i + 1]`` belong to utterance i."""
        ...

    @property
    def values(self) -> Values:
        """The scores as given."""
        ...

    @property
    def higher(self) -> Higher:
        """What high scores mean."""
        ...

    def block(self, first: int, last: int) -> RunBlock:
        """Return the runs of utterances first to last - 1."""
        ...

    def take(self, chosen: Int64) -> ScoreRuns:
        """Keep chosen utterances, in that order."""
        ...

    def covered(self) -> Int64:
        """The time under a score in each utterance."""
        ...

    def cover(self) -> tuple[Int64, Int64, Int64]:
        """The time under a score as (utterance, start, end) of ranges."""
        ...


class RunBlock(Protocol):
    """Runs of a few consecutive utterances; rows and utterances are counted from the block's own first."""

    @property
    def offsets(self) -> Int64:
        """Rows ``offsets[i]:offsets[i + 1]`` belong to utterance i."""
        ...

    @property
    def values(self) -> Values:
        """The scores in bona fide polarity."""
        ...

    def rows_before(self, utterance: Int64, times: Int64) -> Int64:
        """Count the runs of an utterance that start before a time (not later than the extent)."""
        ...

    def ends(self, utterance: Int64, position: Int64) -> Int64:
        """Where the runs at these positions in their utterances end."""
        ...

    def spread(self, counts: Int64, labels: npt.NDArray[np.int8], label: int) -> Int64:
        """For each run, its duration if its label, given by run lengths ``counts``, is the one asked for, else 0."""
        ...


def bona_fide_polarity(values: Values, higher: Higher) -> Values:
    """Mirror scores that are higher for spoof."""
    return values if higher == "bonafide" else -values


@dataclass(frozen=True, eq=False)
class FrameRuns:
    """Frames of whole nanoseconds: run k is ``[origin + k * hop, origin + (k + 1) * hop)``, the last ends at ``last``."""

    offsets: Int64
    values: Values
    higher: Higher
    hops: Int64
    origins: Int64
    used: Int64  # runs with time inside the extent; rows after them have none
    last: Int64  # where the last used run ends

    def block(self, first: int, last: int) -> FrameBlock:
        """Return the runs of utterances first to last - 1."""
        here = slice(first, last)
        rows = slice(int(self.offsets[first]), int(self.offsets[last]))
        return FrameBlock(
            self.offsets[first : last + 1] - self.offsets[first],
            bona_fide_polarity(self.values[rows], self.higher),
            self.hops[here],
            self.origins[here],
            self.used[here],
            self.last[here],
        )

    def take(self, chosen: Int64) -> FrameRuns:
        """Keep chosen utterances, in that order."""
        rows, offsets = rows_of(self.offsets, chosen)
        columns = (column[chosen] for column in (self.hops, self.origins, self.used, self.last))
        return FrameRuns(offsets, self.values[rows], self.higher, *columns)

    def covered(self) -> Int64:
        """The time under a score in each utterance."""
        return np.where(self.used > 0, self.last - self.origins, 0)

    def cover(self) -> tuple[Int64, Int64, Int64]:
        """The time under a score as (utterance, start, end) of ranges."""
        some = np.flatnonzero(self.used)
        return some, self.origins[some], self.last[some]


@dataclass(frozen=True, eq=False)
class FrameBlock:
    """A block of :class:`FrameRuns`."""

    offsets: Int64
    values: Values
    hops: Int64
    origins: Int64
    used: Int64
    last: Int64

    def rows_before(self, utterance: Int64, times: Int64) -> Int64:
        """Count the runs of an utterance that start before a time."""
        whole = -((self.origins[utterance] - times) // self.hops[utterance])
        rows: Int64 = np.minimum(np.maximum(whole, 0), self.used[utterance])
        return rows

    def ends(self, utterance: Int64, position: Int64) -> Int64:
        """Where the runs at these positions in their utterances end."""
        nominal = self.origins[utterance] + (position + 1) * self.hops[utterance]
        ends: Int64 = np.where(position == self.used[utterance] - 1, self.last[utterance], nominal)
        return ends

    def spread(self, counts: Int64, labels: npt.NDArray[np.int8], label: int) -> Int64:
        """For each run, its duration if its label is the one asked for, else 0."""
        wanted = labels == label
        if self.hops.size and (self.hops == self.hops[0]).all():
            durations = np.repeat(wanted * self.hops[0], counts)
        else:
            rows = self.offsets[1:] - self.offsets[:-1]
            durations = np.repeat(wanted, counts) * np.repeat(self.hops, rows)
        # the last used run may be shorter or longer than the hop; rows after it have no time
        some = np.flatnonzero(self.used)
        row = self.offsets[some] + self.used[some] - 1
        length = self.last[some] - self.origins[some] - (self.used[some] - 1) * self.hops[some]
        durations[row] = np.where(durations[row] > 0, length, 0)
        unused = self.offsets[1:] - self.offsets[:-1] - self.used
        if unused.any():
            first_unused = np.repeat(self.offsets[:-1] + self.used, unused)
            before = np.repeat(offsets_of(unused)[:-1], unused)
            durations[first_unused + np.arange(first_unused.size) - before] = 0
        return durations


@dataclass(frozen=True, eq=False)
class RangeRuns:
    """Runs of any length: inside [0, extent), in order, without overlap; there may be gaps between them."""

    offsets: Int64
    values: Values
    higher: Higher
    starts: Int64
    ends: Int64

    def block(self, first: int, last: int) -> RangeBlock:
        """Return the runs of utterances first to last - 1."""
        rows = slice(int(self.offsets[first]), int(self.offsets[last]))
        return RangeBlock(
            self.offsets[first : last + 1] - self.offsets[first],
            bona_fide_polarity(self.values[rows], self.higher),
            self.starts[rows],
            self.ends[rows],
        )

    def take(self, chosen: Int64) -> RangeRuns:
        """Keep chosen utterances, in that order."""
        rows, offsets = rows_of(self.offsets, chosen)
        return RangeRuns(offsets, self.values[rows], self.higher, self.starts[rows], self.ends[rows])

    def covered(self) -> Int64:
        """The time under a score in each utterance."""
        return sum_by_utterance(self.ends - self.starts, self.offsets)

    def cover(self) -> tuple[Int64, Int64, Int64]:
        """The time under a score as (utterance, start, end) of ranges."""
        return utterance_of_rows(self.offsets), self.starts, self.ends


class RangeBlock:
    """A block of :class:`RangeRuns`."""

    def __init__(self, offsets: Int64, values: Values, starts: Int64, ends: Int64) -> None:
        self.offsets, self.values = offsets, values
        self._starts, self._ends = starts, ends
        # One axis for all utterances of the block: each begins after the last end of the one before.
        reach = np.zeros(offsets.size, np.int64)
        filled = offsets[1:] > offsets[:-1]
        reach[1:][filled] = ends[offsets[1:][filled] - 1]
        self._shift = np.cumsum(reach)[:-1]
        self._reach = reach[1:]
        self._axis = starts + np.repeat(self._shift, np.diff(offsets))

    def rows_before(self, utterance: Int64, times: Int64) -> Int64:
        """Count the runs of an utterance that start before a time."""
        on_axis = self._shift[utterance] + np.minimum(times, self._reach[utterance])
        rows: Int64 = np.searchsorted(self._axis, on_axis) - self.offsets[utterance]
        return rows

    def ends(self, utterance: Int64, position: Int64) -> Int64:
        """Where the runs at these positions in their utterances end."""
        ends: Int64 = self._ends[self.offsets[utterance] + position]
        return ends

    def spread(self, counts: Int64, labels: npt.NDArray[np.int8], label: int) -> Int64:
        """For each run, its duration if its label is the one asked for, else 0."""
        durations: Int64 = (self._ends - self._starts) * np.repeat(labels == label, counts)
        return durations


def prepare_scores(scores: Scores, labelling: Labelling, rules: Rules) -> tuple[ScoreRuns, list[Touched]]:
    """Apply rules 8 to 13 to scores whose utterances stand in the order of the labelling."""
    touched: list[Touched] = []
    extents = labelling.extents
    if scores.hops is not None and scores.origins is not None:
        plain = scores.window is None and whole_ns(scores.hops, int(extents.max(initial=0)))
        plain = plain and bool((scores.origins >= 0).all())
        if plain and not (rules.uncovered == "hold" and scores.origins.any()):
            return _prepare_frames(scores, extents, rules, touched), touched
    return _prepare_ranges(scores, extents, rules, touched), touched


def slack_of(scores: Scores, rules: Rules) -> Int64:
    """Rule 12: how much of a missing tail is held, per utterance."""
    if rules.slack is not None:
        return np.full(len(scores), duration_ns(rules.slack, "slack"))
    if scores.hops is None:
        return np.full(len(scores), SLACK_NS)
    return np.rint((scores.hops + SLACK_NS / 1e9) * 1e9).astype(np.int64)


def _prepare_frames(scores: Scores, extents: Int64, rules: Rules, touched: list[Touched]) -> FrameRuns:
    if scores.hops is None or scores.origins is None:
        raise TypeError("these scores are no frames")
    hops, origins = np.rint(scores.hops * 1e9).astype(np.int64), scores.origins
    frames = np.diff(scores.offsets)
    used = np.minimum(np.maximum(-((origins - extents) // hops), 0), frames)
    _cut_overlong(scores.utterances, frames - used, (frames - used) * hops, rules, touched)
    last = origins + used * hops
    sticks_out = (last > extents) & (used > 0)
    if rules.last_frame == "drop":
        note_touched(touched, "last_frame", "drop", np.where(sticks_out, extents - (last - hops), 0))
        used = used - sticks_out
        last = np.where(sticks_out, last - hops, last)
    else:
        note_touched(touched, "last_frame", "use", np.where(sticks_out, last - extents, 0))
        last = np.minimum(last, extents)
    tail = np.where(used > 0, extents - last, 0)
    held = (tail > 0) & (tail <= slack_of(scores, rules))
    note_touched(touched, "slack", "held", np.where(held, tail, 0))
    if rules.uncovered == "hold":
        note_touched(touched, "uncovered", "hold", np.where(held, 0, tail))
        held = tail > 0
    last = np.where(held, extents, last)
    return FrameRuns(scores.offsets, scores.values, scores.higher, hops, origins, used, last)


def _cut_overlong(
    utterances: tuple[str, ...], late: Int64, late_ns: Int64, rules: Rules, touched: list[Touched]
) -> None:
    """Rule 9."""
    bad = np.flatnonzero(late > OVERLONG_FRAMES_CUT) if rules.overlong == "error" else np.zeros(0, np.int64)
    problems = Problems()
    problems.extend((f"utterance {utterances[i]!r}: {late[i]} scores start after its end" for i in bad), bad.size)
    problems.raise_if_any("check hop and durations, or cut them with overlong='cut'")
    note_touched(touched, "overlong", "cut", late_ns)


def score_times(scores: Scores) -> tuple[Int64, Int64]:
    """Rule 8: starts and ends of every score."""
    if scores.starts is not None and scores.ends is not None:
        return scores.starts, scores.ends
    if scores.hops is None or scores.origins is None:
        raise TypeError("scores have neither frames nor ranges")
    frames = np.diff(scores.offsets)
    k = np.arange(scores.values.size) - np.repeat(scores.offsets[:-1], frames)
    hops, origins = np.repeat(scores.hops, frames), np.repeat(scores.origins, frames)
    starts = origins + grid_edges(k, hops)
    ends = origins + grid_edges(k + 1, hops)
    if scores.window is not None:
        ends = np.where(hops == scores.window, ends, starts + duration_ns(scores.window, "window"))
    return starts, ends


def _prepare_ranges(scores: Scores, extents: Int64, rules: Rules, touched: list[Touched]) -> RangeRuns:
    starts, ends = score_times(scores)
    runs = RangeRuns(scores.offsets, scores.values, scores.higher, starts, ends)
    limit = np.repeat(extents, np.diff(runs.offsets))
    late = runs.starts >= limit
    late_rows = sum_by_utterance(late.astype(np.int64), runs.offsets)
    late_ns = sum_by_utterance(np.where(late, runs.ends - runs.starts, 0), runs.offsets)
    _cut_overlong(scores.utterances, late_rows, late_ns, rules, touched)
    sticks_out = (runs.ends > limit) & ~late
    if rules.last_frame == "drop":
        note_touched(
            touched,
            "last_frame",
            "drop",
            sum_by_utterance(np.where(sticks_out, limit - runs.starts, 0), runs.offsets),
        )
        runs = _keep(runs, ~late & ~sticks_out)
    else:
        note_touched(
            touched,
            "last_frame",
            "use",
            sum_by_utterance(np.where(sticks_out, runs.ends - limit, 0), runs.offsets),
        )
        if sticks_out.any():
            runs = replace(runs, ends=np.minimum(runs.ends, np.maximum(limit, runs.starts)))
        runs = _keep(runs, ~late)
    runs = _resolve_overlaps(scores.utterances, runs, rules, touched)
    runs = _hold(scores, runs, extents, rules, touched)
    if (runs.starts < 0).any():
        runs = _keep(replace(runs, starts=np.maximum(runs.starts, 0)), runs.ends > 0)
    return runs


def _keep(runs: RangeRuns, keep: npt.NDArray[np.bool_]) -> RangeRuns:
    if keep.all():
        return runs
    kept_before = np.concatenate(([0], np.cumsum(keep)))
    return RangeRuns(kept_before[runs.offsets], runs.values[keep], runs.higher, runs.starts[keep], runs.ends[keep])


def _hold(scores: Scores, runs: RangeRuns, extents: Int64, rules: Rules, touched: list[Touched]) -> RangeRuns:
    """Rules 12 and 13: hold short tails, or everything."""
    filled = np.flatnonzero(runs.offsets[1:] > runs.offsets[:-1])
    last_rows = runs.offsets[1:][filled] - 1
    tail = extents[filled] - runs.ends[last_rows]
    held = (tail > 0) & (tail <= slack_of(scores, rules)[filled])
    note_touched(touched, "slack", "held", np.where(held, tail, 0))
    if held.any():
        ends = runs.ends.copy()
        ends[last_rows[held]] = extents[filled][held]
        runs = replace(runs, ends=ends)
    if rules.uncovered != "hold":
        return runs
    note_touched(touched, "uncovered", "hold", (extents - runs.covered())[filled])
    first_rows = runs.offsets[:-1][filled]
    starts, ends = runs.starts.copy(), np.empty_like(runs.ends)
    ends[:-1] = runs.starts[1:]
    ends[last_rows] = extents[filled]
    starts[first_rows] = np.minimum(starts[first_rows], 0)
    return replace(runs, starts=starts, ends=ends)


def _resolve_overlaps(utterances: tuple[str, ...], runs: RangeRuns, rules: Rules, touched: list[Touched]) -> RangeRuns:
    """Rule 11."""
    inside = within_utterances(runs.offsets, runs.starts[1:] < runs.ends[:-1])
    if not inside.any():
        return runs
    if rules.overlap == "error":
        _refuse_overlaps(utterances, runs, inside, "say how with overlap='min', 'mean' or 'centre'")
    if rules.overlap == "centre":
        nested = within_utterances(runs.offsets, runs.ends[1:] < runs.ends[:-1])
        if nested.any():
            _refuse_overlaps(utterances, runs, nested, "ranges inside ranges have no border; use 'min' or 'mean'")
        resolved = _cut_at_centres(runs, inside)
    else:
        resolved = _combine_overlaps(utterances, runs, mean=rules.overlap == "mean")
    overlapped = runs.covered() - resolved.covered()
    note_touched(touched, "overlap", rules.overlap, overlapped)
    return resolved


def _refuse_overlaps(utterances: tuple[str, ...], runs: RangeRuns, inside: npt.NDArray[np.bool_], remedy: str) -> None:
    rows = np.flatnonzero(inside)
    utterance = utterance_of_rows(runs.offsets)
    problems = Problems()
    problems.extend(
        (
            f"utterance {utterances[utterance[row]]!r}: the score that starts at "
            f"{seconds_text(int(runs.starts[row + 1]))} overlaps the one before, which ends at "
            f"{seconds_text(int(runs.ends[row]))}"
            for row in rows
        ),
        rows.size,
    )
    problems.raise_if_any(f"scores overlap in time; {remedy}")


def _cut_at_centres(runs: RangeRuns, inside: npt.NDArray[np.bool_]) -> RangeRuns:
    starts, ends = runs.starts.copy(), runs.ends.copy()
    a = np.flatnonzero(inside)
    border = (runs.starts[a] + runs.ends[a] + runs.starts[a + 1] + runs.ends[a + 1]) // 4
    border = np.clip(border, runs.starts[a + 1], runs.ends[a])
    ends[a] = border
    starts[a + 1] = border
    return _keep(replace(runs, starts=starts, ends=ends), ends > starts)


def _combine_overlaps(utterances: tuple[str, ...], runs: RangeRuns, mean: bool) -> RangeRuns:
    """Cut time at every edge; the score of each cell is the lowest, or the mean, of the ranges over it."""
    count, rows = runs.offsets.size - 1, runs.starts.size
    utterance = utterance_of_rows(runs.offsets)
    edge_utterance = np.concatenate((utterance, utterance))
    edge_time = np.concatenate((runs.starts, runs.ends))
    order = np.lexsort((edge_time, edge_utterance))
    new = np.ones(order.size, bool)
    new[1:] = (np.diff(edge_utterance[order]) != 0) | (np.diff(edge_time[order]) != 0)
    rank = np.empty(order.size, np.int64)
    rank[order] = np.cumsum(new) - 1
    distinct_time, distinct_utterance = edge_time[order][new], edge_utterance[order][new]
    first_cell, last_cell = rank[:rows], rank[rows:]  # a range covers the cells first to last - 1
    covers = last_cell - first_cell
    cell = np.arange(covers.sum()) - np.repeat(offsets_of(covers)[:-1] - first_cell, covers)
    row = np.repeat(np.arange(rows), covers)
    by_cell = np.argsort(cell, kind="stable")
    cell, row = cell[by_cell], row[by_cell]
    depth = np.bincount(cell, minlength=distinct_time.size)
    start_of_cell = offsets_of(depth)[:-1]
    values = runs.values.astype(np.float64) if mean else runs.values
    lowest = np.minimum if runs.higher == "bonafide" else np.maximum
    covered = np.flatnonzero(depth)
    combined = values[row[start_of_cell[covered]]]
    with np.errstate(invalid="ignore"):
        for layer in range(1, int(depth.max())):
            deeper = depth[covered] > layer
            more = values[row[start_of_cell[covered[deeper]] + layer]]
            combined[deeper] = combined[deeper] + more if mean else lowest(combined[deeper], more)
        if mean:
            combined = combined / depth[covered]
    if np.isnan(combined).any():
        raise DataError("the mean of overlapping scores is undefined: infinities of both signs; use overlap='min'")
    return RangeRuns(
        offsets_of(np.bincount(distinct_utterance[covered], minlength=count)),
        combined,
        runs.higher,
        distinct_time[covered],
        distinct_time[covered + 1],
    )

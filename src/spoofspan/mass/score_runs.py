"""Score runs: one score, or none, for every instant of an utterance.

Scores are as the system wrote them; score runs lie inside [0, extent), in order and without overlap::

    scores          | 0.9 | 0.8 | 0.7 | -0.2 | -0.4 |-0.4 |
    score runs      [ 0.9 | 0.8 | 0.7 | -0.2 | -0.4 )
                    0                             extent

Frames stay arithmetic (:class:`FrameRuns`: no array of times is ever made for 12 million of them); everything else
becomes :class:`RangeRuns`. Both are read in blocks of consecutive utterances (:meth:`FrameRuns.block`,
:meth:`RangeRuns.block`), whose rows and utterances are counted from the block's own first, and whose scores are in bona
fide polarity. :func:`prepare_scores` makes them of scores, by rules 8 to 13 of ``docs/rules.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import (
    Flags,
    block_rows,
    blocks,
    first_of_equals,
    first_rows,
    has_rows,
    kept_offsets,
    last_rows,
    no_rows,
    offsets_of,
    rows_after,
    rows_from,
    rows_of,
    sum_by_utterance,
    utterance_of_rows,
    within_utterances,
)
from spoofspan.base.errors import DataError, SpoofspanWarning, refuse, warn_user
from spoofspan.base.other_ids import MOST
from spoofspan.base.times import LONGEST, Float64, Int64, duration_ns, refuse_milliseconds, seconds_text, whole_ns
from spoofspan.data.rules import Rules, Touched
from spoofspan.data.scores import Higher, Scores, Values, score_times
from spoofspan.mass.diagnosis import LATE_FRAMES, TAIL_NS, hop_remedy, score_unit_remedy
from spoofspan.mass.exact_sums import digits, quotients
from spoofspan.mass.labelling import note_touched

# Measured on two cores: a quarter as many rows cost a third more time, four times as many up to a fifth more.
ROWS_PER_BLOCK = 1 << 18
# The same where a row takes a byte or two beside its score, as frames of one hop do.
FRAMES_PER_BLOCK = 1 << 19
# Scores of another unit than seconds: many times as long as this many durations, in this many utterances.
FAR = 4  # durations; a frame is a fifth of a second at most
EVIDENCE = 3  # utterances
# Scores, or a threshold.
Mirrored = TypeVar("Mirrored", float, Float64, Values)


def mirrored(values: Mirrored, higher: str) -> Mirrored:
    """Turn scores, or a threshold, into bona fide polarity, or back: where high means spoof, the sign changes.

    >>> mirrored(0.3, "bonafide"), mirrored(0.3, "spoof"), mirrored(-0.3, "spoof")
    (0.3, -0.3, 0.3)
    """
    return values if higher == "bonafide" else -values


@dataclass(frozen=True, eq=False)
class FrameRuns:
    """Frames of whole nanoseconds: run k is ``[origin + k * hop, origin + (k + 1) * hop)``; the last is cut or held."""

    offsets: Int64
    values: Values
    higher: Higher
    hops: Int64
    origins: Int64
    used: Int64  # runs with time inside the extent; rows after them have none
    last: Int64  # end of the last used run

    def block(self, first: int, last: int) -> FrameRuns:
        """Return the runs of utterances first to last - 1, in bona fide polarity."""
        rows, offsets = block_rows(self.offsets, first, last)
        columns = (column[first:last] for column in (self.hops, self.origins, self.used, self.last))
        return FrameRuns(offsets, mirrored(self.values[rows], self.higher), "bonafide", *columns)

    def take(self, chosen: Int64) -> FrameRuns:
        """Keep chosen utterances, in that order."""
        rows, offsets = rows_of(self.offsets, chosen)
        columns = (column[chosen] for column in (self.hops, self.origins, self.used, self.last))
        return FrameRuns(offsets, self.values[rows], self.higher, *columns)

    def spans(self, utterance: Int64, rows: Int64) -> tuple[Int64, Int64]:
        """Start and end of single runs, near enough for a sample."""
        hops = self.hops[utterance]
        starts = self.origins[utterance] + (rows - self.offsets[utterance]) * hops
        return starts, starts + hops

    def covered(self) -> Int64:
        """The time under a score in each utterance."""
        return np.where(self.used > 0, self.last - self.origins, 0)

    def cover(self) -> tuple[Int64, Int64, Int64]:
        """The time under a score as (utterance, start, end) of ranges."""
        some = np.flatnonzero(self.used)
        return some, self.origins[some], self.last[some]

    def fill(self, extents: Int64) -> bool:
        """True if frames of one hop lie from 0 to the extent in each utterance."""
        return self._alike and not self.origins.any() and np.array_equal(self.last, extents)

    @cached_property
    def _alike(self) -> bool:
        """True if all have one hop: dividing by one number takes a fifth of the time of dividing by many."""
        return bool(self.hops.size) and bool((self.hops == self.hops[0]).all())

    def _hop_of(self, utterance: Int64) -> Any:
        return self.hops[0] if self._alike else self.hops[utterance]

    def rows_before(self, utterance: Int64, times: Int64) -> Int64:
        """Count the runs of an utterance that start before a time."""
        whole = np.maximum(-((self.origins[utterance] - times) // self._hop_of(utterance)), 0)
        rows: Int64 = np.minimum(whole, self.used[utterance], out=whole)
        return rows

    def cut_at(self, offsets: Int64, times: Int64) -> tuple[Int64, Int64]:
        """Return the row after each time, and how much of the row before it lies behind the time.

        The times of an utterance rise; every utterance has at least one, and offsets tell whose they are.
        """
        times_of = np.diff(offsets)
        hop = self.hops[0] if self._alike else np.repeat(self.hops, times_of)
        since = times - np.repeat(self.origins, times_of)
        rows = since + (hop - 1)
        rows //= hop
        rest = rows * hop
        rest -= since
        begun = rows > 0  # nothing lies behind a time before the first run
        rows *= begun
        rest *= begun
        rows += np.repeat(self.offsets[:-1], times_of)
        # the last used run may be shorter or longer: times in it or behind it are the last ones of their utterance
        stop = self.offsets[:-1] + self.used
        at, utterance = rows_after(stop - 1, rows, offsets)
        rows[at] = stop[utterance]
        rest[at] = np.maximum(self.last[utterance] - times[at], 0) * (self.used[utterance] > 0)
        return rows, rest

    def run_ends(self, utterance: Int64, position: Int64) -> Int64:
        """End of the runs at these positions in their utterances."""
        ends: Int64 = (position + 1) * self._hop_of(utterance) + self.origins[utterance]
        final = np.flatnonzero(position == self.used[utterance] - 1)
        ends[final] = self.last[utterance[final]]
        return ends

    def durations(self) -> tuple[Int64 | int, Int64, Int64]:
        """The hop, and the last used runs, which may be shorter or longer."""
        hops = int(self.hops[0]) if self._alike else np.repeat(self.hops, self.offsets[1:] - self.offsets[:-1])
        difference = self.last - self.origins - self.used * self.hops
        odd = np.flatnonzero((self.used > 0) & (difference != 0))
        return hops, self.offsets[odd] + self.used[odd] - 1, difference[odd]

    def rows_without_time(self) -> Int64:
        """Rows after the last used ones."""
        unused = self.offsets[1:] - self.offsets[:-1] - self.used
        return rows_from(self.offsets[:-1] + self.used, unused) if unused.any() else no_rows()


@dataclass(frozen=True, eq=False)
class RangeRuns:
    """Runs of any length: inside [0, extent), in order, without overlap; there may be gaps between them."""

    offsets: Int64
    values: Values
    higher: Higher
    starts: Int64
    ends: Int64

    def block(self, first: int, last: int) -> RangeRuns:
        """Return the runs of utterances first to last - 1, in bona fide polarity."""
        rows, offsets = block_rows(self.offsets, first, last)
        values = mirrored(self.values[rows], self.higher)
        return RangeRuns(offsets, values, "bonafide", self.starts[rows], self.ends[rows])

    def take(self, chosen: Int64) -> RangeRuns:
        """Keep chosen utterances, in that order."""
        rows, offsets = rows_of(self.offsets, chosen)
        return RangeRuns(offsets, self.values[rows], self.higher, self.starts[rows], self.ends[rows])

    def spans(self, utterance: Int64, rows: Int64) -> tuple[Int64, Int64]:
        """Start and end of single runs."""
        return self.starts[rows], self.ends[rows]

    def covered(self) -> Int64:
        """The time under a score in each utterance."""
        # two sums need no array of differences, and may overflow: their difference is right all the same
        return sum_by_utterance(self.ends, self.offsets) - sum_by_utterance(self.starts, self.offsets)

    def last_ends(self) -> Int64:
        """End of the last run of each utterance."""
        last = np.zeros(self.offsets.size - 1, np.int64)
        last[has_rows(self.offsets)] = self.ends[last_rows(self.offsets)]
        return last

    def cover(self) -> tuple[Int64, Int64, Int64]:
        """The time under a score as (utterance, start, end) of ranges."""
        return utterance_of_rows(self.offsets), self.starts, self.ends

    def _axis(self) -> tuple[Int64, Int64, Int64]:
        """One axis for all utterances of a block, where each begins after the last end of the one before.

        Returns the start of each utterance on it, the reach of each, and the start of each run; made anew, not kept,
        as it is as large as the block's own columns.
        """
        reach = np.zeros(self.offsets.size, np.int64)
        reach[1:][has_rows(self.offsets)] = self.ends[last_rows(self.offsets)]
        shift = np.cumsum(reach)[:-1]
        starts = np.repeat(shift, np.diff(self.offsets))
        starts += self.starts
        return shift, reach[1:], starts

    def rows_before(self, utterance: Int64, times: Int64) -> Int64:
        """Count the runs of an utterance that start before a time."""
        shift, reach, starts = self._axis()
        on_axis = shift[utterance] + np.minimum(times, reach[utterance])
        rows: Int64 = np.searchsorted(starts, on_axis) - self.offsets[utterance]
        return rows

    def cut_at(self, offsets: Int64, times: Int64) -> tuple[Int64, Int64]:
        """Return the row after each time, and how much of the row before it lies behind the time; as for frames."""
        utterance = utterance_of_rows(offsets)
        before = self.rows_before(utterance, times)
        some = np.flatnonzero(before)
        rest = np.zeros_like(times)
        rest[some] = np.maximum(self.run_ends(utterance[some], before[some] - 1) - times[some], 0)
        return before + self.offsets[utterance], rest

    def run_ends(self, utterance: Int64, position: Int64) -> Int64:
        """End of the runs at these positions in their utterances."""
        ends: Int64 = self.ends[self.offsets[utterance] + position]
        return ends

    def durations(self) -> tuple[Int64 | int, Int64, Int64]:
        """Each run has its own."""
        return self.ends - self.starts, no_rows(), no_rows()

    def rows_without_time(self) -> Int64:
        """None: runs lie inside the extent."""
        return no_rows()


def keep_runs(runs: RangeRuns, keep: Flags) -> RangeRuns:
    """Keep some of the runs."""
    if keep.all():
        return runs
    offsets = kept_offsets(runs.offsets, keep)
    return RangeRuns(offsets, runs.values[keep], runs.higher, runs.starts[keep], runs.ends[keep])


ScoreRuns = FrameRuns | RangeRuns


# ---------------------------------------------------------------- rules 8 to 13


def prepare_scores(scores: Scores, extents: Int64, rules: Rules) -> tuple[ScoreRuns, list[Touched]]:
    """Apply rules 8 to 13 to scores, given the extent of each utterance; also returns the time each rule decided."""
    touched: list[Touched] = []
    if rules.slack is not None:
        refuse_milliseconds(duration_ns(rules.slack, "slack"), extents, "slack")
    if scores.hops is not None and scores.origins is not None:
        if int(np.diff(scores.offsets).max(initial=0)) > 1:  # one score of each utterance may well last longer than it
            refuse_milliseconds(float(scores.hops.min()) * 1e9, extents, "hop")
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
        return np.full(len(scores), TAIL_NS)
    return np.rint((scores.hops + TAIL_NS / 1e9) * 1e9).astype(np.int64)


_NO_RULES = Rules()


def automatic_slack(scores: Scores) -> set[int]:
    """The slack (ns) of the utterances where none is given."""
    return set(np.unique(slack_of(scores, _NO_RULES)).tolist())


def _prepare_frames(scores: Scores, extents: Int64, rules: Rules, touched: list[Touched]) -> FrameRuns:
    if scores.hops is None or scores.origins is None:
        raise TypeError("these scores are no frames")
    hops, origins = np.rint(scores.hops * 1e9).astype(np.int64), scores.origins
    frames = np.diff(scores.offsets)
    hop: Any = hops[0] if (hops == hops[0]).all() else hops  # dividing by one number takes a fifth of the time
    used = np.minimum(np.maximum(-((origins - extents) // hop), 0), frames)
    _cut_overlong(
        scores.utterances,
        frames - used,
        (frames - used) * hops,
        rules,
        touched,
        lambda: hop_remedy(frames, extents - origins, hops.astype(np.float64)),
    )
    last = origins + used * hops
    sticks_out = (last > extents) & (used > 0)
    if rules.last_frame == "drop":
        if rules.uncovered == "hold":
            sticks_out &= used > 1  # a lone frame stays, or there would be none to hold
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
    utterances: tuple[str, ...],
    late: Int64,
    late_ns: Int64,
    rules: Rules,
    touched: list[Touched],
    diagnosis: Callable[[], str | None] = lambda: None,
) -> None:
    """Rule 9; ``diagnosis`` names another likely cause, if any."""
    refused = np.flatnonzero(late > LATE_FRAMES) if rules.overlong == "error" else np.empty(0, np.intp)
    if refused.size:
        refuse(
            refused,
            lambda i: f"utterance {utterances[i]!r}: {late[i]} scores start after its end",
            diagnosis() or "check hop and durations, or cut them with overlong='cut'",
        )
    note_touched(touched, "overlong", "cut", late_ns)


def _prepare_ranges(scores: Scores, extents: Int64, rules: Rules, touched: list[Touched]) -> RangeRuns:
    starts, ends = score_times(scores)
    runs = RangeRuns(scores.offsets, scores.values, scores.higher, starts, ends)
    overlap = bool(_overlaps(runs).any())
    if rules.overlong == "error":
        _refuse_other_units(runs.last_ends(), extents)
    limit = np.repeat(extents, np.diff(runs.offsets))
    past = np.flatnonzero(runs.ends > limit)
    limit = limit[past]
    out = runs.starts[past] >= limit
    late, sticks_out, end = past[out], past[~out], limit[~out]
    drop = np.full(sticks_out.size, rules.last_frame == "drop")
    if rules.uncovered == "hold":
        drop[_only_scores(runs, past, sticks_out)] = False  # or there would be none to hold
    late_ns = _sums_at(runs, late, runs.ends[late] - runs.starts[late])
    _cut_overlong(
        scores.utterances,
        _sums_at(runs, late, np.ones_like(late)),
        late_ns,
        rules,
        touched,
        lambda: score_unit_remedy(runs.last_ends(), extents),
    )
    if rules.last_frame == "drop":
        gone = sticks_out[drop]
        note_touched(touched, "last_frame", "drop", _sums_at(runs, gone, end[drop] - runs.starts[gone]))
        late = np.concatenate((late, gone))
    else:
        note_touched(touched, "last_frame", "use", _sums_at(runs, sticks_out, runs.ends[sticks_out] - end))
    if not drop.all():
        ends = runs.ends.copy()
        ends[sticks_out[~drop]] = end[~drop]
        runs = replace(runs, ends=ends)
    if late.size:
        keep = np.ones(runs.values.size, bool)
        keep[late] = False
        runs = keep_runs(runs, keep)
    if overlap:
        runs = resolve_overlaps(scores.utterances, runs, rules, touched)
    runs = _hold(scores, runs, extents, rules, touched)
    if (runs.starts < 0).any():
        runs = keep_runs(replace(runs, starts=np.maximum(runs.starts, 0)), runs.ends > 0)
    return runs


def _refuse_other_units(last_ends: Int64, extents: Int64) -> None:
    """Refuse ranges that last many times as long as their utterances, if another unit of time explains it.

    Rules 9 and 10 let one or two of them pass: a few long ranges in frames or milliseconds would be cut to one score.
    A few utterances are no evidence; they are measured by the rules, with a warning.
    """
    filled = (last_ends > 0) & (extents > 0)
    count = int(filled.sum())
    if not count or (last_ends[filled] > FAR * extents[filled]).sum() < MOST * count:
        return
    told = score_unit_remedy(last_ends, extents)
    if told is None:
        return
    if count >= EVIDENCE:
        raise DataError(f"{told}; if they are seconds, cut them with overlong='cut'")
    warn_user(f"{told}; measured as seconds, and cut at the end", SpoofspanWarning)


def _only_scores(runs: RangeRuns, past: Int64, sticks_out: Int64) -> Int64:
    """Select the first row that sticks out of each utterance whose rows all end too late."""
    left = np.diff(runs.offsets) - _sums_at(runs, past, np.ones_like(past))
    utterance, first = np.unique(np.searchsorted(runs.offsets, sticks_out, side="right") - 1, return_index=True)
    found: Int64 = first[left[utterance] == 0]
    return found


def _sums_at(runs: RangeRuns, rows: npt.NDArray[np.intp], amounts: Int64) -> Int64:
    """Sum amounts that belong to single rows by utterance."""
    sums = np.zeros(runs.offsets.size - 1, np.int64)
    np.add.at(sums, np.searchsorted(runs.offsets, rows, side="right") - 1, amounts)
    return sums


def _hold(scores: Scores, runs: RangeRuns, extents: Int64, rules: Rules, touched: list[Touched]) -> RangeRuns:
    """Rules 12 and 13: hold short tails, or everything."""
    filled, last = np.flatnonzero(has_rows(runs.offsets)), last_rows(runs.offsets)
    tail = extents[filled] - runs.ends[last]
    held = (tail > 0) & (tail <= slack_of(scores, rules)[filled])
    note_touched(touched, "slack", "held", np.where(held, tail, 0))
    if held.any():
        ends = runs.ends.copy()
        ends[last[held]] = extents[filled][held]
        runs = replace(runs, ends=ends)
    if rules.uncovered != "hold":
        return runs
    note_touched(touched, "uncovered", "hold", (extents - runs.covered())[filled])
    first = first_rows(runs.offsets)
    starts, ends = runs.starts.copy(), np.empty_like(runs.ends)
    ends[:-1] = runs.starts[1:]
    ends[last] = extents[filled]
    starts[first] = np.minimum(starts[first], 0)
    return replace(runs, starts=starts, ends=ends)


# ---------------------------------------------------------------- overlaps


def resolve_overlaps(utterances: tuple[str, ...], runs: RangeRuns, rules: Rules, touched: list[Touched]) -> RangeRuns:
    """Rule 11."""
    inside = _overlaps(runs)
    if not inside.any():
        return runs
    if rules.overlap == "error":
        _refuse_overlaps(utterances, runs, inside, "say how with overlap='min', 'mean' or 'centre'")
    if rules.overlap == "centre":
        nested = within_utterances(runs.offsets, runs.ends[1:] < runs.ends[:-1])
        if nested.any():
            _refuse_overlaps(utterances, runs, nested, "ranges inside ranges have no border; use 'min' or 'mean'")
        # the order of two scores over the same time would depend on their values, and so on polarity
        both = inside & (runs.starts[1:] == runs.starts[:-1])
        both[both] = (runs.ends[1:][both] == runs.ends[:-1][both]) & (runs.values[1:][both] != runs.values[:-1][both])
        if both.any():
            _refuse_overlaps(
                utterances, runs, both, "two scores over the same time have one centre; use 'min' or 'mean'"
            )
        resolved = _cut_at_centres(runs, inside)
    else:
        resolved = _combine_overlaps(utterances, runs, mean=rules.overlap == "mean")
    overlapped = runs.covered() - resolved.covered()
    note_touched(touched, "overlap", rules.overlap, overlapped)
    return resolved


def _overlaps(runs: RangeRuns) -> Flags:
    """Runs that end after the next one of their utterance starts."""
    return within_utterances(runs.offsets, runs.starts[1:] < runs.ends[:-1])


def _refuse_overlaps(utterances: tuple[str, ...], runs: RangeRuns, inside: Flags, remedy: str) -> None:
    utterance = utterance_of_rows(runs.offsets)
    refuse(
        np.flatnonzero(inside),
        lambda row: (
            f"utterance {utterances[utterance[row]]!r}: the score that starts at {seconds_text(runs.starts[row + 1])} "
            f"overlaps the one before, which ends at {seconds_text(runs.ends[row])}"
        ),
        f"scores overlap in time; {remedy}",
    )


def _cut_at_centres(runs: RangeRuns, inside: Flags) -> RangeRuns:
    starts, ends = runs.starts.copy(), runs.ends.copy()
    a = np.flatnonzero(inside)
    border = (runs.starts[a] + runs.ends[a] + runs.starts[a + 1] + runs.ends[a + 1]) // 4
    border = np.clip(border, runs.starts[a + 1], runs.ends[a])
    ends[a] = border
    starts[a + 1] = border
    return keep_runs(replace(runs, starts=starts, ends=ends), ends > starts)


def _combine_overlaps(utterances: tuple[str, ...], runs: RangeRuns, mean: bool) -> RangeRuns:
    """Cut time at every edge; the score of each cell is the lowest, or the mean, of the ranges over it."""
    rows = np.diff(runs.offsets)
    pieces = [
        _cells(utterances[first:last], runs.block(first, last), mean)
        for first, last in blocks(rows, rows, ROWS_PER_BLOCK, LONGEST)
    ]
    return RangeRuns(
        offsets_of(np.concatenate([np.diff(piece.offsets) for piece in pieces])),
        mirrored(np.concatenate([piece.values for piece in pieces]), runs.higher),
        runs.higher,
        np.concatenate([piece.starts for piece in pieces]),
        np.concatenate([piece.ends for piece in pieces]),
    )


def _cells(utterances: tuple[str, ...], runs: RangeRuns, mean: bool) -> RangeRuns:
    """The cells of a block of runs, in bona fide polarity; time and memory do not depend on how deep ranges nest."""
    count, rows = runs.offsets.size - 1, runs.starts.size
    if not rows:
        return runs
    utterance = utterance_of_rows(runs.offsets)
    edge_utterance = np.concatenate((utterance, utterance))
    edge_time = np.concatenate((runs.starts, runs.ends))
    order = np.lexsort((edge_time, edge_utterance))
    new = first_of_equals(edge_utterance[order], edge_time[order])
    cell_utterance, edges = edge_utterance[order][new], edge_time[order][new]
    # a range opens the cell that begins at its start, and closes that at its end
    change = np.where(order < rows, 1, -1)
    settled = np.append(np.flatnonzero(new)[1:], order.size) - 1  # the last change at each edge

    def over_cells(column: Int64) -> Int64:
        """Sum a column of the runs over each cell."""
        sums: Int64 = np.cumsum(column[order % rows] * change)[settled]
        return sums

    depth = over_cells(np.ones(rows, np.int64))
    covered = np.flatnonzero(depth)
    if mean:
        infinite = np.isinf(runs.values)
        values = np.where(infinite, runs.values.dtype.type(0), runs.values)
        sums = [(exponent, over_cells(column)[covered]) for exponent, column in digits(values, rows)]
        combined: Values = quotients(sums, depth[covered])
        if infinite.any():
            above, below = (over_cells((runs.values == one).astype(np.int64))[covered] > 0 for one in (np.inf, -np.inf))
            if (above & below).any():
                bad = utterances[int(cell_utterance[covered][above & below][0])]
                raise DataError(
                    f"utterance {bad!r}: the mean of overlapping scores is undefined (infinities of both signs); "
                    "use overlap='min'"
                )
            combined = np.where(above, np.inf, np.where(below, -np.inf, combined))
    else:
        cell = np.empty(order.size, np.int64)
        cell[order] = np.cumsum(new) - 1
        combined = _lowest(runs.values, cell[:rows], cell[rows:], edges.size)[covered]
    return RangeRuns(
        offsets_of(np.bincount(cell_utterance[covered], minlength=count)),
        combined,
        "bonafide",
        edges[covered],
        edges[covered + 1],
    )


def _lowest(values: Values, first: Int64, last: Int64, cells: int) -> Values:
    """The lowest value over each cell, where a value lies over the cells first to last - 1.

    Any number of cells is covered by two stretches of a power of two. These are halved, from the longest down to single
    cells: time and memory do not grow with the cells that each value covers.
    """
    # the mantissa of frexp lies in [0.5, 1)
    power = np.frexp((last - first).astype(np.float64))[1] - 1
    lowest: Values = np.full(cells, np.inf, values.dtype)
    for k in range(int(power.max()), -1, -1):
        rows = np.flatnonzero(power == k)
        for begin in (first[rows], last[rows] - (1 << k)):
            np.minimum.at(lowest, begin, values[rows])
        if k:
            half = 1 << (k - 1)
            halved = lowest.copy()
            np.minimum(lowest[half:], lowest[:-half], out=halved[half:])
            lowest = halved
    return lowest

"""Covering: from scores to score runs (rules 8 to 13 of ``docs/rules.md``)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from spoofspan.base.errors import Problems
from spoofspan.base.times import Int64, duration_ns, grid_edges, whole_ns
from spoofspan.data.rules import Rules, Touched, note_touched
from spoofspan.data.scores import Scores
from spoofspan.mass.labelling import Labelling
from spoofspan.mass.score_overlaps import resolve_overlaps
from spoofspan.mass.score_runs import FrameRuns, RangeRuns, ScoreRuns, keep_runs

OVERLONG_FRAMES_CUT = 2
SLACK_NS = 25_000_000


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
    if scores.window is None and frames.size and (scores.hops == scores.hops[0]).all():
        ns = duration_ns(float(scores.hops[0]), "hop")
        if whole_ns(scores.hops[:1], (int(frames.max()) + 1) * ns):
            k *= ns
            starts = k + np.repeat(scores.origins, frames) if scores.origins.any() else k
            return starts, starts + ns
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
    out = np.flatnonzero(late)
    _cut_overlong(
        scores.utterances,
        _sums_at(runs, out, np.ones_like(out)),
        _sums_at(runs, out, runs.ends[out] - runs.starts[out]),
        rules,
        touched,
    )
    sticks_out = np.flatnonzero((runs.ends > limit) & ~late)
    if rules.last_frame == "drop":
        note_touched(
            touched, "last_frame", "drop", _sums_at(runs, sticks_out, limit[sticks_out] - runs.starts[sticks_out])
        )
        late[sticks_out] = True
    else:
        past = runs.ends[sticks_out] - limit[sticks_out]
        note_touched(touched, "last_frame", "use", _sums_at(runs, sticks_out, past))
        if sticks_out.size:
            ends = runs.ends.copy()
            ends[sticks_out] = limit[sticks_out]
            runs = replace(runs, ends=ends)
    del limit
    if late.any():
        runs = keep_runs(runs, ~late)
    runs = resolve_overlaps(scores.utterances, runs, rules, touched)
    runs = _hold(scores, runs, extents, rules, touched)
    if (runs.starts < 0).any():
        runs = keep_runs(replace(runs, starts=np.maximum(runs.starts, 0)), runs.ends > 0)
    return runs


def _sums_at(runs: RangeRuns, rows: npt.NDArray[np.intp], amounts: Int64) -> Int64:
    """Sum amounts that belong to single rows by utterance."""
    sums = np.zeros(runs.offsets.size - 1, np.int64)
    np.add.at(sums, np.searchsorted(runs.offsets, rows, side="right") - 1, amounts)
    return sums


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

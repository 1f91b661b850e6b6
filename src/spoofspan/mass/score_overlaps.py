"""Scores that overlap in time (rule 11 of ``docs/rules.md``)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import offsets_of, utterance_of_rows, within_utterances
from spoofspan.base.errors import DataError, Problems
from spoofspan.base.times import seconds_text
from spoofspan.data.rules import Rules, Touched, note_touched
from spoofspan.mass.score_runs import RangeRuns, keep_runs


def resolve_overlaps(utterances: tuple[str, ...], runs: RangeRuns, rules: Rules, touched: list[Touched]) -> RangeRuns:
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
    return keep_runs(replace(runs, starts=starts, ends=ends), ends > starts)


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
        bad = utterances[int(distinct_utterance[covered][np.isnan(combined)][0])]
        raise DataError(
            f"utterance {bad!r}: the mean of overlapping scores is undefined (infinities of both signs); "
            "use overlap='min'"
        )
    return RangeRuns(
        offsets_of(np.bincount(distinct_utterance[covered], minlength=count)),
        combined,
        runs.higher,
        distinct_time[covered],
        distinct_time[covered + 1],
    )

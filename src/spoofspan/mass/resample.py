"""Re-sampling scores to another resolution: duplication to a finer one, minimum to a coarser one (the paper's way)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import blocks, utterance_of_rows
from spoofspan.base.errors import Problems
from spoofspan.base.times import Int64, grid_edges
from spoofspan.data.references import References, durations_of
from spoofspan.data.rules import Rules
from spoofspan.data.scores import Scores, score_times
from spoofspan.mass.labelling import Labelling
from spoofspan.mass.points import Grid, check_resolution, point_scores
from spoofspan.mass.score_coverage import prepare_scores
from spoofspan.mass.score_mass import NS_PER_BLOCK, ROWS_PER_BLOCK


def resample(scores: Scores, resolution: float, durations: Mapping[str, float] | References | None) -> Scores:
    """Re-sample scores to uniform frames; see :meth:`spoofspan.Scores.resample`."""
    resolution = check_resolution(resolution)
    extents = _last_ends(scores) if durations is None else durations_of(durations, scores.utterances)
    empty = np.zeros(0, np.int64)
    labelling = Labelling(
        scores.utterances, extents, np.zeros(extents.size + 1, np.int64), empty, empty.astype(np.int8)
    )
    rules = Rules(uncovered="unanswered", slack=0.0, overlong="cut")
    runs, _ = prepare_scores(scores, labelling, rules)
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
    rows = missing + int(grid.offsets[first])
    utterance = np.searchsorted(grid.offsets, rows, side="right") - 1
    problems = Problems()
    problems.extend(
        (
            f"utterance {scores.utterances[u]!r} has no score for frame {row - grid.offsets[u]}"
            for u, row in zip(utterance, rows, strict=True)
        ),
        rows.size,
    )
    problems.raise_if_any("scores with holes cannot become uniform frames; fill them first")

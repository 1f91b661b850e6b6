"""Pooling: the one score of a point (or utterance) that overlaps several score runs (rule 19 of ``docs/rules.md``).

Scores are in bona fide polarity here. The lowest and the highest are exact. The mean is over time, so splitting a run
does not move it, and it is rounded once, so equal means are equal doubles. ``top-k`` and ``noisy-or`` count frames, and
are for uniform frames of whole utterances. Each point is pooled by itself, so neither blocks nor shards leave a trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spoofspan.base.columns import offsets_of, rows_from, utterance_of_rows
from spoofspan.base.errors import UsageError, refuse
from spoofspan.base.times import Int64
from spoofspan.data.rules import top_k
from spoofspan.data.scores import Higher, Scores, Values
from spoofspan.mass.exact_sums import group_means, group_quotients
from spoofspan.mass.score_runs import ScoreRuns

OF_POINTS = ("min", "mean", "max")  # the others are of whole utterances


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
    """What takes the score of a pooling that takes one."""
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

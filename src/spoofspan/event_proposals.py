"""Proposals from scores: the ranges that lie on the spoof side of a threshold.

::

    scores (higher = spoof)   0.1 0.2 0.8 0.9 0.3 0.7 0.1 0.6 0.1      threshold 0.5
    decided spoof                     |-------|   |---|   |---|
    merge_gap of one frame            |-----------------------|

In this order: decide each score (spoof iff it is strictly beyond the threshold), smooth the decisions, join touching
ranges, bridge gaps, drop what is short. The confidence of a proposal is the mean of the scores given over it, weighted
by time, in spoof polarity (scores that are higher for bona fide are mirrored), bridged gaps included.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from spoofspan.columns import Flags, place_of, utterance_of_rows, within_utterances
from spoofspan.covering import score_times
from spoofspan.errors import DataError, UsageError
from spoofspan.event_ranges import Ranges, united
from spoofspan.nanoseconds import Float64, Int64, duration_ns
from spoofspan.proposals import Proposals
from spoofspan.references import References, durations_of
from spoofspan.scores import Scores


def proposals_from_scores(
    scores: Scores,
    threshold: float,
    *,
    smoothing: int | None = None,
    min_duration: float = 0.0,
    merge_gap: float = 0.0,
    durations: Mapping[str, float] | References | None = None,
) -> Proposals:
    """Make proposals of the time whose scores are beyond a threshold.

    ``threshold`` is in the polarity of the scores: spoof iff ``score < threshold`` where high means bona fide, iff
    ``score > threshold`` where high means spoof. ``smoothing`` is an odd number of frames: a median filter, with the
    first and last score of an utterance repeated beyond its ends. Gaps of at most ``merge_gap`` seconds are bridged,
    then proposals shorter than ``min_duration`` seconds are dropped. With ``durations``, what lies past the end of an
    utterance is cut off. Time without a score is never proposed, unless it is bridged.

    >>> frames = np.array([0.1, 0.9, 0.7, 0.2, 0.8, 0.1])
    >>> scores = Scores.from_frames({"u1": frames}, hop=0.02, higher="spoof")
    >>> made = proposals_from_scores(scores, 0.5)
    >>> made.starts.tolist(), made.ends.tolist(), made.confidences.tolist()
    ([20000000, 80000000], [60000000, 100000000], [0.8, 0.8])
    >>> made = proposals_from_scores(scores, 0.5, merge_gap=0.02)
    >>> made.starts.tolist(), made.ends.tolist(), made.confidences.round(3).tolist()
    ([20000000], [100000000], [0.65])
    """
    if not isinstance(threshold, int | float | np.number) or np.isnan(threshold):
        raise UsageError(f"threshold must be a number in the polarity of the scores, not {threshold!r}")
    shortest, widest = (
        _not_negative(seconds, name) for seconds, name in ((min_duration, "min_duration"), (merge_gap, "merge_gap"))
    )
    starts, ends = score_times(scores)
    _refuse_overlaps(scores, starts, ends)
    if durations is not None:
        ends = np.minimum(ends, np.repeat(durations_of(durations, scores.utterances), np.diff(scores.offsets)))
    starts = np.maximum(starts, 0)  # frames may be said to begin before the recording does
    # in double precision, or a threshold would be rounded to the type of the scores
    towards_spoof = scores.values.astype(np.float64) * (1.0 if scores.higher == "spoof" else -1.0) + 0.0
    decided = towards_spoof > (threshold if scores.higher == "spoof" else -threshold)
    if smoothing is not None:
        decided = _median(decided, scores, smoothing)
    rows = np.flatnonzero(decided & (ends > starts))
    ranges, heads = united(Ranges(np.searchsorted(rows, scores.offsets), starts[rows], ends[rows]), widest)
    last = np.append(heads[1:], rows.size) - 1 if heads.size else heads
    keep = np.flatnonzero(ranges.ends - ranges.starts >= shortest)
    confidences = _means(towards_spoof, ends - starts, rows[heads[keep]], rows[last[keep]])
    made = np.searchsorted(keep, ranges.offsets), confidences, ranges.starts[keep], ranges.ends[keep]
    bad = np.flatnonzero(np.isnan(confidences))
    if bad.size:
        place = place_of(scores.utterances, made[0], int(bad[0]), "proposal")
        raise DataError(f"{place}: its scores are infinite both ways and have no mean; replace the infinite scores")
    return Proposals(scores.utterances, *made)


def _not_negative(seconds: float, name: str) -> int:
    if (ns := duration_ns(seconds, name)) < 0:
        raise UsageError(f"{name} must be 0 or more seconds, not {seconds!r}")
    return ns


def _refuse_overlaps(scores: Scores, starts: Int64, ends: Int64) -> None:
    over = np.flatnonzero(within_utterances(scores.offsets, starts[1:] < ends[:-1]))
    if over.size:
        place = place_of(scores.utterances, scores.offsets, int(over[0]) + 1, "score")
        raise DataError(
            f"{place} starts before the one before it ends, so there are two scores at once; give scores without a "
            "window longer than the hop, or resample them first: scores.resample(hop)"
        )


def _median(decided: Flags, scores: Scores, frames: int) -> Flags:
    """Filter decisions: the median of scores is beyond a threshold iff most of the scores are."""
    if isinstance(frames, bool) or not isinstance(frames, int | np.integer) or frames < 1 or frames % 2 == 0:
        raise UsageError(f"smoothing must be an odd number of frames, not {frames!r}")
    if scores.hops is None:
        raise UsageError("smoothing counts frames, and these scores are ranges; resample them first: scores.resample()")
    half = int(frames) // 2
    before = np.concatenate(([0], np.cumsum(decided)))
    utterance = utterance_of_rows(scores.offsets)
    first, last = scores.offsets[utterance], scores.offsets[utterance + 1] - 1
    row = np.arange(decided.size)
    low, high = row - half, row + half
    spoof = before[np.minimum(high, last) + 1] - before[np.maximum(low, first)]
    spoof += np.maximum(first - low, 0) * decided[first] + np.maximum(high - last, 0) * decided[last]
    smooth: Flags = spoof > half
    return smooth


def _means(values: Float64, weights: Int64, first: Int64, last: Int64) -> Float64:
    """Return the weighted means of the rows first to last."""
    if not first.size:
        return np.zeros(0)
    spans = np.stack((first, last + 1), axis=1).ravel()
    padded = np.append(values, 0.0)  # a span may end at the last row

    def over_spans(ufunc: np.ufunc, column: Float64) -> Float64:
        result: Float64 = ufunc.reduceat(column, spans)[::2]
        return result

    with np.errstate(invalid="ignore"):
        weight = np.append(weights, 0).astype(np.float64)
        mean = over_spans(np.add, padded * weight) / over_spans(np.add, weight)
        # rounding must not take the mean of equal scores off them: they would no longer tie
        return np.clip(mean, over_spans(np.minimum, padded), over_spans(np.maximum, padded))

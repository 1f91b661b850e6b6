"""Proposals from scores: the ranges that lie on the spoof side of a threshold.

::

    scores (higher = spoof)   0.1 0.2 0.8 0.9 0.3 0.7 0.1 0.6 0.1      threshold 0.5
    decided spoof                     |-------|   |---|   |---|
    merge_gap of one frame            |-----------------------|

In this order: decide each score (spoof iff it is strictly beyond the threshold), smooth the decisions, join touching
ranges, bridge gaps, drop what is short. The confidence of a proposal is the mean of the scores given over it, weighted
by time, in spoof polarity (scores that are higher for bona fide are mirrored), bridged gaps included.

:func:`called_ranges` has the same ranges as labels: the rest of the time under a score is bona fide, and nothing is
said of time without a score.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from spoofspan.base.columns import (
    Flags,
    blocks,
    has_rows,
    last_rows,
    offsets_of,
    place_of,
    utterance_of_rows,
    within_utterances,
)
from spoofspan.base.errors import DataError, SpoofspanWarning, UsageError, warn_user
from spoofspan.base.progress import progress
from spoofspan.base.times import Float64, Int64, duration_ns
from spoofspan.data.front_door import check_scores
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import BONA_FIDE, SPOOF, References, durations_of
from spoofspan.data.rules import Rules
from spoofspan.data.scores import Scores, score_times
from spoofspan.mass.score_runs import ROWS_PER_BLOCK, ScoreRuns, prepare_scores
from spoofspan.measures.events.spoof_ranges import Ranges, ranges_without, united
from spoofspan.measures.operating_point import Threshold, check_threshold

# From here on, in seconds, the shortest range or the widest gap was probably meant in milliseconds.
LONG_RANGE = 10.0


@dataclass(frozen=True)
class ProposalOptions:
    """Options for making proposals from scores, besides the threshold; times in seconds."""

    smoothing: int | None = None
    min_duration: float = 0.0
    merge_gap: float = 0.0

    def __post_init__(self) -> None:
        frames = self.smoothing
        if frames is not None and (
            isinstance(frames, bool) or not isinstance(frames, int | np.integer) or frames < 1 or frames % 2 == 0
        ):
            raise UsageError(f"smoothing={frames!r}: must be an odd number of frames")
        for name in ("min_duration", "merge_gap"):
            seconds = getattr(self, name)
            if duration_ns(seconds, name) < 0:
                raise UsageError(f"{name}={seconds!r}: must be 0 or more seconds")
            if LONG_RANGE <= seconds < math.inf:
                warn_user(
                    f"{name}={seconds!r} is in seconds, and longer than most spoofs; {seconds:g} ms is "
                    f"{seconds / 1000:g}",
                    SpoofspanWarning,
                )

    @property
    def shortest(self) -> int:
        """The shortest proposal, in ns."""
        return duration_ns(self.min_duration, "min_duration")

    @property
    def widest(self) -> int:
        """The widest gap that is bridged, in ns."""
        return duration_ns(self.merge_gap, "merge_gap")

    def __str__(self) -> str:
        """The spelling of signatures."""
        return f"smoothing:{self.smoothing or 1},min_duration:{self.shortest}ns,merge_gap:{self.widest}ns"


def proposals_from_scores(
    scores: Scores,
    threshold: Threshold,
    *,
    smoothing: int | None = None,
    min_duration: float = 0.0,
    merge_gap: float = 0.0,
    durations: Mapping[str, float] | References | None = None,
) -> Proposals:
    """Propose the time whose scores are beyond a threshold.

    Parameters
    ----------
    scores
        Scores of a system; score ranges must not overlap.
    threshold
        On the scale of the scores: spoof iff ``score < threshold`` where high means bona fide, iff
        ``score > threshold`` where high means spoof. A measurement stands for its threshold.
    smoothing
        An odd number of frames: a median filter, with the first and last score of an utterance repeated beyond its
        ends.
    min_duration
        Shorter proposals (seconds) are dropped, after gaps are bridged.
    merge_gap
        Gaps of at most this (seconds) are bridged. Time without a score is never proposed otherwise.
    durations
        If given, scores past the end of an utterance are cut off, and the last score is held to the end for up to
        one hop and 25 ms, as everywhere (the rule ``slack``).

    Returns
    -------
    Proposals
        Ranges with the mean of their scores, weighted by time and in spoof polarity, as confidence.

    Examples
    --------
    >>> frames = np.array([0.1, 0.9, 0.7, 0.2, 0.8, 0.1])
    >>> scores = Scores.from_frames({"u1": frames}, hop=0.02, higher="spoof")
    >>> made = proposals_from_scores(scores, 0.5)
    >>> made.starts.tolist(), made.ends.tolist(), made.confidences.tolist()
    ([20000000, 80000000], [60000000, 100000000], [0.8, 0.8])
    >>> made = proposals_from_scores(scores, 0.5, merge_gap=0.02)
    >>> made.starts.tolist(), made.ends.tolist(), made.confidences.round(3).tolist()
    ([20000000], [100000000], [0.65])

    """
    return _proposed(scores, threshold, ProposalOptions(smoothing, min_duration, merge_gap), durations)[1]


def _proposed(
    scores: Scores, threshold: Threshold, options: ProposalOptions, durations: Mapping[str, float] | References | None
) -> tuple[ScoreRuns, Proposals]:
    """The scores with all rules applied, and the proposals made of them."""
    check_scores(scores)
    runs = runs_of(scores, options, durations)
    return runs, proposals_from_runs(scores.utterances, runs, check_threshold(threshold), options)


def runs_of(
    scores: Scores, options: ProposalOptions, durations: Mapping[str, float] | References | None = None
) -> ScoreRuns:
    """One score, or none, for every instant, where no references say how long an utterance is."""
    if options.smoothing is not None:
        refuse_smoothing_ranges(scores)
    starts, ends = score_times(scores)
    _refuse_overlaps(scores, starts, ends)
    if durations is None:
        extents = np.zeros(len(scores), np.int64)
        extents[has_rows(scores.offsets)] = ends[last_rows(scores.offsets)]
    else:
        extents = durations_of(durations, scores.utterances)
    return prepare_scores(scores, extents, Rules(overlong="cut"))[0]


def proposals_from_runs(
    utterances: tuple[str, ...],
    runs: ScoreRuns,
    threshold: float,
    options: ProposalOptions,
    *,
    everything: bool = False,
) -> Proposals:
    """The proposals of scores to which the rules have been applied.

    With ``everything``, all scores are called spoof, whatever the threshold.
    """
    limit = threshold if runs.higher == "spoof" else -threshold
    counts: list[Int64] = []
    columns: list[tuple[Float64, Int64, Int64]] = []
    for first, offsets, starts, ends, towards_spoof in spans_of_runs(runs):
        decided = np.ones(starts.size, bool) if everything else towards_spoof > limit
        here = utterances[first : first + offsets.size - 1]
        made = _joined(here, offsets, starts, ends, towards_spoof, decided, options)
        counts.append(np.diff(made[0]))
        columns.append(made[1:])
    confidences, starts, ends = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Proposals(utterances, offsets_of(np.concatenate(counts)), confidences, starts, ends)


def spans_of_runs(runs: ScoreRuns) -> Iterator[tuple[int, Int64, Int64, Int64, Float64]]:
    """Yield blocks of runs that have time: first utterance, offsets, starts, ends, and scores in spoof polarity."""
    rows = np.diff(runs.offsets)
    for first, last in blocks(rows, np.zeros_like(rows), ROWS_PER_BLOCK, 1):
        yield first, *_spans(runs.block(first, last))


def _spans(block: ScoreRuns) -> tuple[Int64, Int64, Int64, Float64]:
    """Return the runs that have time: offsets, starts, ends, and scores in spoof polarity."""
    utterance = utterance_of_rows(block.offsets)
    ends = block.run_ends(utterance, np.arange(utterance.size) - block.offsets[utterance])
    lasting, odd, by = block.durations()
    starts = ends - lasting
    starts[odd] -= by
    without = block.rows_without_time()
    starts[without] = ends[without]
    rows = np.flatnonzero(ends > starts)
    return np.searchsorted(rows, block.offsets), starts[rows], ends[rows], 0.0 - block.values[rows].astype(np.float64)


def refuse_smoothing_ranges(scores: Scores) -> None:
    """Smoothing counts frames."""
    if scores.hops is None or scores.window is not None:
        raise UsageError(
            "smoothing counts frames, and these scores are ranges, or windows that overlap; resample them first: "
            "scores.resample()"
        )


def _joined(
    utterances: tuple[str, ...],
    offsets: Int64,
    starts: Int64,
    ends: Int64,
    towards_spoof: Float64,
    decided: Flags,
    options: ProposalOptions,
) -> tuple[Int64, Float64, Int64, Int64]:
    """Smooth decisions, join them to ranges, bridge gaps, drop short ranges, and give each its confidence."""
    if options.smoothing is not None:
        decided = _median(decided, offsets, options.smoothing)
    rows = np.flatnonzero(decided & (ends > starts))
    ranges, heads = united(Ranges(np.searchsorted(rows, offsets), starts[rows], ends[rows]), options.widest)
    last = np.append(heads[1:], rows.size) - 1 if heads.size else heads
    keep = np.flatnonzero(ranges.ends - ranges.starts >= options.shortest)
    confidences = _means(towards_spoof, ends - starts, rows[heads[keep]], rows[last[keep]])
    made = np.searchsorted(keep, ranges.offsets), confidences, ranges.starts[keep], ranges.ends[keep]
    bad = np.flatnonzero(np.isnan(confidences))
    if bad.size:
        place = place_of(utterances, made[0], int(bad[0]), "proposal")
        raise DataError(f"{place}: its scores are infinite both ways and have no mean; replace the infinite scores")
    return made


def _refuse_overlaps(scores: Scores, starts: Int64, ends: Int64) -> None:
    over = np.flatnonzero(within_utterances(scores.offsets, starts[1:] < ends[:-1]))
    if over.size:
        place = place_of(scores.utterances, scores.offsets, int(over[0]) + 1, "score")
        raise DataError(
            f"{place} starts before the one before it ends, so there are two scores at once; give scores without a "
            "window longer than the hop, or resample them first: scores.resample(hop)"
        )


def _median(decided: Flags, offsets: Int64, frames: int) -> Flags:
    """Filter decisions: the median of scores is beyond a threshold iff most of the scores are."""
    half = int(frames) // 2
    before = np.concatenate(([0], np.cumsum(decided)))
    utterance = utterance_of_rows(offsets)
    first, last = offsets[utterance], offsets[utterance + 1] - 1
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


# ---------------------------------------------------------------- scores and a threshold as labels


def called_ranges(
    scores: Scores,
    threshold: Threshold,
    *,
    smoothing: int | None = None,
    min_duration: float = 0.0,
    merge_gap: float = 0.0,
    durations: Mapping[str, float] | References | None = None,
) -> References:
    """Label the time whose scores are beyond a threshold as spoof, and the rest of the scored time as bona fide.

    Parameters
    ----------
    scores, threshold, smoothing, min_duration, merge_gap, durations
        As in :func:`spoofspan.proposals_from_scores`.

    Returns
    -------
    called : References
        In the form of references, so that every format of references can hold it: RTTM, label tracks, TextGrids. An
        utterance lasts until its last range ends.

    Examples
    --------
    >>> frames = np.array([0.1, 0.9, 0.7, 0.2])
    >>> called = called_ranges(Scores.from_frames({"u1": frames}, hop=0.02, higher="spoof"), 0.5)
    >>> called["u1"]
    [(0.0, 0.02, 'bonafide'), (0.02, 0.06, 'spoof'), (0.06, 0.08, 'bonafide')]

    """
    with progress("finding ranges"):
        runs, found = _proposed(scores, threshold, ProposalOptions(smoothing, min_duration, merge_gap), durations)
        scored = _scored(runs, len(scores))
        counts: list[int] = []
        rows: list[tuple[int, int, int]] = []
        for i in range(len(scores)):
            here, spoof = (slice(int(offsets[i]), int(offsets[i + 1])) for offsets in (scored.offsets, found.offsets))
            spoofed = list(zip(found.starts[spoof].tolist(), found.ends[spoof].tolist(), strict=True))
            time = zip(scored.starts[here].tolist(), scored.ends[here].tolist(), strict=True)
            called = [(start, end, SPOOF) for start, end in spoofed]
            called += [(start, end, BONA_FIDE) for start, end in ranges_without(time, spoofed)]
            rows += sorted(called)
            counts.append(len(called))
        columns = np.array(rows, np.int64).reshape(-1, 3)
        offsets = offsets_of(counts)
        last = np.zeros(len(scores), np.int64)
        some = np.flatnonzero(counts)
        last[some] = columns[offsets[some + 1] - 1, 1]
        starts, ends, labels = columns.T
        return References.from_columns(scores.utterances, last, offsets, starts, ends, labels=labels.astype(np.int8))


def _scored(runs: ScoreRuns, utterances: int) -> Ranges:
    """The time under a score, touching ranges united."""
    utterance, starts, ends = runs.cover()
    counts: Int64 = np.bincount(utterance, minlength=utterances)
    return united(Ranges(offsets_of(counts), starts, ends))[0]

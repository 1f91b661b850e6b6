"""Scores and a threshold as labels: what is called spoof, and what bona fide.

::

    scores (higher = spoof)   0.1 0.2 0.8 0.9 0.3 0.7      no score      0.1
    called (threshold 0.5)    |  b  |   s   | b | s |                    | b |

The spoof ranges are those of :mod:`~spoofspan.measures.events.proposals_from_scores`; the rest of the time under a
score is bona fide. Nothing is said of time without a score.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from spoofspan.base.columns import offsets_of
from spoofspan.base.times import Int64
from spoofspan.data.references import BONA_FIDE, SPOOF, References
from spoofspan.data.scores import Scores
from spoofspan.data.sides import check_scores
from spoofspan.mass.score_runs import ScoreRuns
from spoofspan.measures.events.proposals_from_scores import ProposalOptions, proposals_from_runs, runs_of
from spoofspan.measures.events.spoof_ranges import Ranges, ranges_without, united
from spoofspan.measures.operating_point import Threshold, check_threshold


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
    check_scores(scores)
    options = ProposalOptions(smoothing, min_duration, merge_gap)
    runs = runs_of(scores, options, durations)
    found = proposals_from_runs(scores.utterances, runs, check_threshold(threshold), options)
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
    """The time under a score, with what touches made one."""
    utterance, starts, ends = runs.cover()
    counts: Int64 = np.bincount(utterance, minlength=utterances)
    return united(Ranges(offsets_of(counts), starts, ends))[0]

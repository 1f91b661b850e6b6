"""Several systems' scores of one corpus, brought onto the same stretches of time.

::

    20 ms system    | 0.9 | 0.8 | 0.3 | 0.1 |
    40 ms system    |    0.7    |    0.2    |
    rows            0.9 0.7 | 0.8 0.7 | 0.3 0.2 | 0.1 0.2

The time is that of the system with the most scores, cut at every edge of the others. Where another system ends sooner,
its last score is held for up to one hop and 25 ms, as at the end of a recording (rule 12); where it lasts longer, the
rest does not count. Frames stay frames unless an edge falls inside one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from spoofspan.base.columns import place_of, positions, rows_that_end_after, utterance_of_rows, within_utterances
from spoofspan.base.errors import DataError, refuse
from spoofspan.base.times import Float64, Int64, seconds_text
from spoofspan.data.rules import Rules
from spoofspan.data.scores import Scores, score_times
from spoofspan.mass.score_runs import slack_of


@dataclass(frozen=True, eq=False)
class JointScores:
    """One row for each stretch of time: ``columns[k]`` has the scores of system ``k``, as given.

    ``rows`` says where the rows lie: it is scores whose values are the numbers of the rows.
    """

    rows: Scores
    columns: tuple[Float64, ...]


@dataclass(frozen=True, eq=False)
class _Timed:
    """One system, with the utterance, the start and the end of every score."""

    name: str
    scores: Scores
    utterance: Int64
    starts: Int64
    ends: Int64

    def last_at_or_before(self, utterance: Int64, times: Int64) -> Int64:
        """The last score that starts no later than each time; a row of another utterance, or -1, if there is none."""
        offsets = self.scores.offsets
        # where all start before the time, the search goes past the last
        row = np.minimum(rows_that_end_after(times, self.starts, offsets, utterance), offsets[utterance + 1] - 1)
        found: Int64 = np.maximum(row - (self.starts[row] > times), -1)
        return found


def joint_scores(systems: Sequence[Scores], names: Sequence[str]) -> JointScores:
    """Bring systems onto the same stretches of time; utterances are in the order of the first system.

    >>> fine = Scores.from_frames({"u1": [0.9, 0.8, 0.3]}, hop=0.02, higher="bonafide")
    >>> coarse = Scores.from_frames({"u1": [0.7, 0.2]}, hop=0.04, higher="bonafide")
    >>> [column.tolist() for column in joint_scores([fine, coarse], ["fine", "coarse"]).columns]
    [[0.9, 0.8, 0.3], [0.7, 0.7, 0.2]]
    """
    first = systems[0]
    same = [_in_order_of(first, one, names[0], name) for one, name in zip(systems, names, strict=True)]
    if all(_same_frames(first, one) for one in same):
        return JointScores(_numbered(first), tuple(one.values.astype(np.float64) for one in same))
    timed = [_timed(one, name) for one, name in zip(same, names, strict=True)]
    finest = max(timed, key=lambda one: one.ends.size)
    rows = _cut(finest, [one for one in timed if one is not finest])
    starts, utterance = score_times(rows)[0], utterance_of_rows(rows.offsets)
    return JointScores(rows, tuple(_at(one, finest.name, utterance, starts) for one in timed))


def _in_order_of(first: Scores, other: Scores, name: str, other_name: str) -> Scores:
    """The other system's utterances in the order of the first; both must have the same."""
    if first.utterances == other.utterances:
        return other
    where = positions(first.utterances, other.utterances)
    known = set(first.utterances)
    alone = [(first.utterances[i], name, other_name) for i in np.flatnonzero(where < 0)]
    alone += [(utterance, other_name, name) for utterance in other.utterances if utterance not in known]
    refuse(
        alone,
        lambda one: f"utterance {one[0]!r} has scores of {one[1]}, but none of {one[2]}",
        "give every system's scores of the same utterances",
    )
    return other.take(where)


def _same_frames(one: Scores, other: Scores) -> bool:
    """True if two systems gave scores to the very same frames, none of which overlap."""
    if one.hops is None or other.hops is None or one.window is not None or other.window is not None:
        return False
    pairs = (one.offsets, other.offsets), (one.hops, other.hops), (one.origins, other.origins)
    return all(a is b or bool(np.array_equal(a, b)) for a, b in pairs)  # type: ignore[arg-type]


def _numbered(scores: Scores) -> Scores:
    return replace(scores, values=np.arange(scores.values.size, dtype=np.float64), higher="bonafide")


def _timed(scores: Scores, name: str) -> _Timed:
    starts, ends = score_times(scores)
    over = np.flatnonzero(within_utterances(scores.offsets, starts[1:] < ends[:-1]))
    if over.size:
        place = place_of(scores.utterances, scores.offsets, int(over[0]) + 1, "score")
        raise DataError(
            f"{name}: {place} starts before the one before it ends, so there are two scores at once; resample them "
            "first: scores.resample(hop)"
        )
    # frames may be said to begin before the recording does
    return _Timed(name, scores, utterance_of_rows(scores.offsets), np.maximum(starts, 0), ends)


def _cut(finest: _Timed, others: Sequence[_Timed]) -> Scores:
    """Cut the time of the finest system at the edges of the others that fall inside a score."""
    if not others:
        return _numbered(finest.scores)
    utterance = np.concatenate([side for one in others for side in (one.utterance, one.utterance)])
    edges = np.concatenate([side for one in others for side in (one.starts, one.ends)])
    row = finest.last_at_or_before(utterance, edges)
    inside = (row >= 0) & (finest.utterance[row] == utterance)
    inside &= (finest.starts[row] < edges) & (edges < finest.ends[row])
    if not inside.any():
        return _numbered(finest.scores)
    cuts = np.unique(np.stack((row[inside], edges[inside]), axis=1), axis=0)
    row = np.concatenate((np.arange(finest.starts.size), cuts[:, 0]))
    starts = np.concatenate((finest.starts, cuts[:, 1]))
    order = np.lexsort((starts, row))
    row, starts = row[order], starts[order]
    ends = finest.ends[row]
    follows = np.flatnonzero(row[1:] == row[:-1])
    ends[follows] = starts[follows + 1]
    offsets = np.searchsorted(row, finest.scores.offsets)
    numbers = np.arange(row.size, dtype=np.float64)
    ids = finest.scores.utterances
    return Scores.from_columns(ids, offsets, numbers, starts=starts, ends=ends, higher="bonafide")


def _at(system: _Timed, finest: str, utterance: Int64, starts: Int64) -> Float64:
    """The score of a system at the start of each row."""
    time = np.maximum(starts, 0)
    row = system.last_at_or_before(utterance, time)
    own = (row >= 0) & (system.utterance[row] == utterance)
    late = time - system.ends[row]
    is_last = row == system.scores.offsets[utterance + 1] - 1
    held = is_last & (late < slack_of(system.scores, Rules())[utterance])
    refuse(
        np.flatnonzero(~(own & ((late < 0) | held))),
        lambda i: (
            f"utterance {system.scores.utterances[utterance[i]]!r}: at {seconds_text(time[i])} there is a score of "
            f"{finest}, but none of {system.name}"
        ),
        "give systems that score the same time",
    )
    values: Float64 = system.scores.values[row].astype(np.float64)
    return values

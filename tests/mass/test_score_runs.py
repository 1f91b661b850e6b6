"""Score runs cut at times, and the rows past an extent, against loops over single rows."""

import numpy as np
import pytest

from spoofspan.base.columns import offsets_of
from spoofspan.mass.score_runs import FrameRuns, RangeRuns

pytestmark = pytest.mark.quick


def some_frames(rng, utterances, *, alike, late):
    """Frames of which some are not used, and the last used one is cut or held; some utterances have none."""
    frames = rng.integers(0, 9, utterances)
    hops = np.full(utterances, 10) if alike else rng.integers(5, 15, utterances)
    origins = rng.integers(0, 30, utterances) if late else np.zeros(utterances, np.int64)
    used = np.minimum(rng.integers(0, 10, utterances), frames)
    last = origins + used * hops + np.where(used > 0, rng.integers(1 - hops, 2 * hops), 0)
    values = rng.normal(size=frames.sum())
    return FrameRuns(offsets_of(frames), values, "bonafide", hops, origins, used, last)


def some_ranges(rng, utterances, *, overlap=False):
    rows = rng.integers(0, 9, utterances)
    starts, ends = np.zeros((2, rows.sum()), np.int64)
    for first, count in zip(offsets_of(rows), rows, strict=False):
        edges = np.sort(rng.choice(np.arange(200), 2 * count, replace=False))
        starts[first : first + count], ends[first : first + count] = edges[::2], edges[1::2]
    if overlap:
        ends += rng.integers(0, 60, ends.size)
    return RangeRuns(offsets_of(rows), rng.normal(size=rows.sum()), "bonafide", starts, ends)


def times_of(rng, utterances):
    counts = rng.integers(1, 6, utterances)
    times = [np.sort(rng.choice(np.arange(1, 150), count, replace=False)) for count in counts]
    return offsets_of(counts), np.concatenate(times)


def single_runs(runs, utterance):
    """The rows of an utterance with time, each with its start and end."""
    first = int(runs.offsets[utterance])
    if isinstance(runs, RangeRuns):
        rows = range(first, int(runs.offsets[utterance + 1]))
        return [(row, int(runs.starts[row]), int(runs.ends[row])) for row in rows]
    hop, origin, used = (int(column[utterance]) for column in (runs.hops, runs.origins, runs.used))
    edges = [origin + k * hop for k in range(used)] + [int(runs.last[utterance])]
    return [(first + k, edges[k], edges[k + 1]) for k in range(used)]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("kind", ["frames", "late frames", "frames of several hops", "late, of several hops", "ranges"])
def test_runs_are_cut_where_a_loop_cuts_them(kind, seed):
    rng = np.random.default_rng(seed)
    utterances = int(rng.integers(1, 12))
    if kind == "ranges":
        runs = some_ranges(rng, utterances)
    else:
        runs = some_frames(rng, utterances, alike="several" not in kind, late="late" in kind)
    offsets, times = times_of(rng, utterances)
    rows, rest = runs.cut_at(offsets, times)
    for utterance in range(utterances):
        for at in range(offsets[utterance], offsets[utterance + 1]):
            before = [run for run in single_runs(runs, utterance) if run[1] < times[at]]
            assert rows[at] == runs.offsets[utterance] + len(before)
            assert rest[at] == (max(before[-1][2] - times[at], 0) if before else 0)

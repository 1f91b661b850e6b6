"""AP and AR of events against a straightforward Python loop, as ratios within one run.

    python benchmarks/events.py [--scale S] [--repetitions N]

At ``--scale 1``: 71,237 utterances, 20 proposals each, about 192,000 events. Both sides start from the same columns;
building References and Proposals, with their validation, is inside the measured time of the package. The loop is what
one would write first: per file sort, compare each proposal with each event, sort everything, walk down. It is given
plain lists, made outside of the measured time. Bound: at most 1/5 of the loop's time. The exit code is 1 if a bound
was missed at full size, or if the two sides disagree.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np
from corpus import Corpus, generate

import spoofspan as ss
from spoofspan.data.proposals import Proposals
from spoofspan.measures.events.event_scores import AR_IOUS, average_precision_at, average_recall_at

PROPOSALS = 20
BOUND = 5.0
Files = list[tuple[list[tuple[int, int]], list[tuple[float, int, int]]]]


def propose(corpus: Corpus, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """20 proposals per utterance: about half near an event, with an edge moved, the rest anywhere."""
    random = np.random.default_rng(seed)
    count = len(corpus.utterances) * PROPOSALS
    utterance = np.repeat(np.arange(len(corpus.utterances)), PROPOSALS)
    duration = corpus.durations[utterance]
    edges = np.sort(random.random((2, count)), axis=0)
    starts, ends = (edges * duration).astype(np.int64)
    first, rows = corpus.offsets[:-1][utterance], np.diff(corpus.offsets)[utterance]
    row = first + (random.random(count) * rows).astype(np.int64)
    near = corpus.is_spoof[row]
    length = corpus.ends[row] - corpus.starts[row]
    moved = (length * random.normal(0, 0.2, (2, count))).astype(np.int64)
    starts = np.where(near, np.clip(corpus.starts[row] + moved[0], 0, duration), starts)
    ends = np.where(near, np.clip(corpus.ends[row] + moved[1], 0, duration), ends)
    starts, ends = np.minimum(starts, ends), np.maximum(starts, ends)
    confidences = random.random(count) + 0.3 * near
    return np.arange(0, count + 1, PROPOSALS), confidences, starts, ends


def as_lists(corpus: Corpus, columns: tuple[np.ndarray, ...]) -> Files:
    """What the loop reads: per file its events and its proposals."""
    offsets, confidences, starts, ends = columns
    files: Files = []
    for i in range(len(corpus.utterances)):
        mine = slice(int(corpus.offsets[i]), int(corpus.offsets[i + 1]))
        spoof = corpus.is_spoof[mine]
        events = list(zip(corpus.starts[mine][spoof].tolist(), corpus.ends[mine][spoof].tolist(), strict=True))
        rows = slice(int(offsets[i]), int(offsets[i + 1]))
        proposals = zip(confidences[rows].tolist(), starts[rows].tolist(), ends[rows].tolist(), strict=True)
        files.append((events, list(proposals)))
    return files


def loop_ap(files: Files, iou: float) -> float:
    rows: list[tuple[float, bool]] = []
    expected = 0
    for events, proposals in files:
        expected += len(events)
        taken = [False] * len(events)
        for confidence, start, end in sorted(proposals, reverse=True):
            best, which = 0.0, -1
            for j, (event_start, event_end) in enumerate(events):
                both = min(end, event_end) - max(start, event_start)
                if both > 0 and not taken[j]:
                    value = both / (end - start + event_end - event_start - both)
                    if value > best:
                        best, which = value, j
            hit = which >= 0 and best >= iou
            if hit:
                taken[which] = True
            rows.append((confidence, hit))
    rows.sort(key=lambda row: -row[0])
    true, curve = 0, []
    for count, (_, hit) in enumerate(rows, 1):
        if hit:
            true += 1
            curve.append(true / count)
    best, total = 0.0, 0.0
    for precision in reversed(curve):
        best = max(best, precision)
        total += best
    return total / expected


def loop_ar(files: Files, n: int) -> float:
    found, expected = [0] * len(AR_IOUS), 0
    for events, proposals in files:
        expected += len(events)
        top = sorted(proposals, reverse=True)[:n]
        for event_start, event_end in events:
            best = 0.0
            for _, start, end in top:
                both = min(end, event_end) - max(start, event_start)
                if both > 0:
                    best = max(best, both / (end - start + event_end - event_start - both))
            for k, iou in enumerate(AR_IOUS):
                found[k] += best >= iou
    return sum(found) / len(AR_IOUS) / expected


def best_times(sides: list[Callable[[], float]], repetitions: int) -> tuple[list[float], list[float]]:
    """The best time of each side, in turns, and their results."""
    times, results = [float("inf")] * len(sides), [0.0] * len(sides)
    for _ in range(repetitions):
        for i, side in enumerate(sides):
            begin = time.perf_counter()
            results[i] = side()
            times[i] = min(times[i], time.perf_counter() - begin)
    return times, results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    corpus = generate(options.scale)
    columns = propose(corpus)
    files = as_lists(corpus, columns)

    def build() -> tuple[ss.References, Proposals]:
        references = ss.References.from_columns(
            corpus.utterances, corpus.durations, corpus.offsets, corpus.starts, corpus.ends, corpus.is_spoof
        )
        return references, Proposals(tuple(corpus.utterances), *columns)

    def sides(
        loop: Callable[[Files, float], float], package: Callable[..., float], parameter: float
    ) -> list[Callable[[], float]]:
        return [lambda: loop(files, parameter), lambda: package(*build(), parameter)]

    figures = {f"AP@{iou}": sides(loop_ap, average_precision_at, iou) for iou in (0.3, 0.5, 0.95)}
    figures |= {f"AR@{n}": sides(loop_ar, average_recall_at, n) for n in (10, 20, 50)}
    missed = False
    for name, both in figures.items():
        (loop, package), (a, b) = best_times(both, options.repetitions)
        ratio = loop / package
        agree = abs(a - b) < 1e-9
        missed |= not agree or (options.scale >= 1 and ratio < BOUND)
        print(f"{name}: {ratio:.1f} times faster than the loop (bound {BOUND:.0f}), {b:.4f}, agree: {agree}")
    loop = best_times([lambda: loop_ap(files, 0.5)], 1)[0][0]
    for variant in ("avdeepfake1m", "activitynet"):
        package = best_times([lambda v=variant: average_precision_at(*build(), 0.5, variant=v)], options.repetitions)[
            0
        ][0]
        print(f"AP@0.5 {variant}: {loop / package:.1f} times faster than the loop of AP@0.5")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())

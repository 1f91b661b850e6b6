"""Make the demo corpus: ``python -m spoofspan.demo.make`` rewrites ``demo.npz``, bit for bit.

Sixty utterances with edges on samples of 16 kHz, and the scores of one made-up countermeasure with six branches, one
per hop. It does what real ones do:

- a branch learned that a window is spoof if *any* of it is, so it answers for whole windows;
- it hears the joints, where a spoofed range begins and ends, best;
- its answer is smeared into the neighbouring windows, since it sees more than its own;
- artefacts come and go within a spoofed range, and some kinds have fewer;
- some bona fide stretches (breaths, clicks, pauses) sound odd, to all branches alike.

Scores are rounded to four decimals, so the last bits of a platform's arithmetic leave no trace.

The second file, ``short_tail.npz``, is a copy of the golden case of that name:
``python -m spoofspan.demo.make --short-tail tests/golden/short_tail/case.json``.
"""

from __future__ import annotations

import json
import sys
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).parent
SEED = 20  # of 31 tried, one whose table has the usual shape and no cell with a wide gap
UTTERANCES = 60
BONA_FIDE_SHARE = 0.4
SAMPLE_RATE = 16_000
TICK = 10**9 // SAMPLE_RATE  # ns per sample
HOP, WINDOW = 320, 400  # samples: the front-end gives a frame every 20 ms and sees 25 ms, so the tail has no frame
HOPS_MS = (20, 40, 80, 160, 320, 640)
KINDS = ("A01", "A02", "A03")
CLARITY = {"A01": 1.6, "A02": 1.2, "A03": 0.8}  # how easily a kind is heard
JOINT = 1.0  # and how much more easily its edges
SMEAR = 0.1  # what a window takes from each of its neighbours

Array = npt.NDArray[Any]
Range = tuple[int, int, str]  # start, end (samples), kind


def main(arguments: list[str]) -> None:
    """Write the file asked for."""
    if not arguments:
        write(HERE / "demo.npz", demo_arrays())
    elif len(arguments) == 2 and arguments[0] == "--short-tail":
        write(HERE / "short_tail.npz", short_tail_arrays(Path(arguments[1])))
    else:
        sys.exit("usage: python -m spoofspan.demo.make [--short-tail CASE.json]")


def write(path: Path, arrays: dict[str, Array]) -> None:
    """Write an npz file without pickles, compression or dates: equal arrays give equal bytes."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.create_system = 3
            with archive.open(entry, "w") as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)


def demo_arrays() -> dict[str, Array]:
    """All arrays of ``demo.npz``."""
    rng = np.random.default_rng(SEED)
    bona_fide_utterances = round(BONA_FIDE_SHARE * UTTERANCES)
    is_partial = rng.permutation(np.arange(UTTERANCES) >= bona_fide_utterances)
    ids, samples, rows, counts = [], [], [], []
    values: dict[int, list[Array]] = {ms: [] for ms in HOPS_MS}
    for number, partial in enumerate(is_partial):
        ids.append(f"{'partial' if partial else 'genuine'}_{number:02d}")
        spoofs, length = _partial_utterance(rng) if partial else ([], int(rng.integers(SAMPLE_RATE, 5 * SAMPLE_RATE)))
        covering = _covering(spoofs, length)
        samples.append(length)
        rows += covering
        counts.append(len(covering))
        for ms, scores in _scores(rng, spoofs, length).items():
            values[ms].append(scores)
    return {
        "utterances": np.array(ids),
        "durations": np.array(samples, np.int64) * TICK,
        "offsets": _offsets(counts),
        "starts": np.array([row[0] for row in rows], np.int64) * TICK,
        "ends": np.array([row[1] for row in rows], np.int64) * TICK,
        "is_spoof": np.array([bool(row[2]) for row in rows]),
        "kinds": np.array([row[2] for row in rows]),
        **{f"offsets_{ms}ms": _offsets([scores.size for scores in values[ms]]) for ms in HOPS_MS},
        **{f"scores_{ms}ms": np.concatenate(values[ms]) for ms in HOPS_MS},
    }


def _partial_utterance(rng: np.random.Generator) -> tuple[list[Range], int]:
    """One to four spoofed ranges of 0.1 to 1.2 s (short ones more often) and the bona fide stretches around them."""
    kind = KINDS[rng.integers(len(KINDS))]
    lengths = np.exp(rng.uniform(np.log(0.1), np.log(1.2), rng.integers(1, 5)))
    pauses = rng.uniform(0.15, 1.1, lengths.size + 1)
    if lengths.sum() + pauses.sum() < 1.0:
        pauses[-1] += 1.0
    pauses *= min(1.0, (6.0 - lengths.sum()) / pauses.sum())
    edges = np.cumsum(
        SAMPLE_RATE * np.concatenate(([0.0], np.stack((pauses[:-1], lengths), axis=1).ravel(), pauses[-1:]))
    )
    at = edges.astype(np.int64).tolist()
    return [(start, end, kind) for start, end in zip(at[1::2], at[2::2], strict=False)], at[-1]


def _covering(spoofs: list[Range], length: int) -> list[Range]:
    """The spoofed ranges and the bona fide ones (of no kind) around them: every sample has a label."""
    rows, reached = [], 0
    for start, end, kind in spoofs:
        rows += [(reached, start, ""), (start, end, kind)]
        reached = end
    return [*rows, (reached, length, "")]


def _scores(rng: np.random.Generator, spoofs: list[Range], length: int) -> dict[int, Array]:
    """One score per window of each branch, higher for bona fide."""
    frames = (length - WINDOW) // HOP + 1
    oddness = 0.4 * _slow(rng, frames, 9) + 0.2 * rng.standard_normal()
    artefacts = 0.7 * _slow(rng, frames, 3)
    clarity = [CLARITY[kind] + 0.4 * rng.standard_normal() for _, _, kind in spoofs]
    result = {}
    for ms in HOPS_MS:
        pooled = ms // 20
        windows = -(-frames // pooled)
        heard, inside = np.full(windows, -1.0), np.zeros(windows)
        for (start, end, _), clear in zip(spoofs, clarity, strict=True):
            first, last = start // (pooled * HOP), min(-(-end // (pooled * HOP)), windows)
            heard[first:last] = np.maximum(heard[first:last], clear)
            heard[[first, last - 1]] += JOINT
            inside[first:last] = 1.0
        smeared = np.convolve(np.pad(heard, 1, mode="edge"), [SMEAR, 1 - 2 * SMEAR, SMEAR], mode="valid")
        common = _middles(oddness, pooled, windows) + inside * _middles(artefacts, pooled, windows)
        own = 0.15 * rng.standard_normal(windows)
        result[ms] = np.round(0.1 - 0.25 * (smeared + common + own), 4).astype(np.float32)
    return result


def _slow(rng: np.random.Generator, frames: int, length: int) -> Array:
    """Noise of unit variance that stays similar for ``length`` frames."""
    kernel = np.ones(length) / np.sqrt(length)
    return np.convolve(rng.standard_normal(frames + length - 1), kernel, mode="valid")


def _middles(frames: Array, pooled: int, windows: int) -> Array:
    """The frame in the middle of each window."""
    middles = np.arange(windows) * pooled + pooled // 2
    return frames[np.minimum(middles, frames.size - 1)]


def short_tail_arrays(case: Path) -> dict[str, Array]:
    """All arrays of ``short_tail.npz``, unchanged from the golden case."""
    utterances = json.loads(case.read_text(encoding="utf-8"))["utterances"]
    rows = [row for content in utterances.values() for row in content["reference"]]
    return {
        "utterances": np.array(list(utterances)),
        "durations": _nanoseconds(content["duration"] for content in utterances.values()),
        "offsets": _offsets([len(content["reference"]) for content in utterances.values()]),
        "starts": _nanoseconds(row[0] for row in rows),
        "ends": _nanoseconds(row[1] for row in rows),
        "is_spoof": np.array([row[2] == "spoof" for row in rows]),
        "offsets_20ms": _offsets([len(content["scores"]) for content in utterances.values()]),
        "scores_20ms": np.array([score for content in utterances.values() for score in content["scores"]]),
    }


def _nanoseconds(seconds: Any) -> Array:
    return np.array([int(Decimal(text) * 10**9) for text in seconds], np.int64)


def _offsets(counts: list[int]) -> Array:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


if __name__ == "__main__":
    main(sys.argv[1:])

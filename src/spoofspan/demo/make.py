"""Make the demo corpus: ``python -m spoofspan.demo.make`` rewrites the files in ``corpus``, bit for bit.

Sixty utterances with edges on samples of 16 kHz, and the scores of one made-up countermeasure with six branches, one
per hop. It does what real ones do:

- a branch learned that a window is spoof if *any* of it is, so it answers for whole windows;
- it hears the joints, where a spoofed range begins and ends, best;
- its answer is smeared into the neighbouring windows, since it sees more than its own;
- artefacts come and go within a spoofed range, and some kinds have fewer;
- some bona fide stretches (breaths, clicks, pauses) sound odd, to all branches alike.

Scores are rounded to four decimals, so the last bits of a platform's arithmetic leave no trace.

The second corpus, in ``short_tail``, is a copy of the golden case of that name:
``python -m spoofspan.demo.make --short-tail tests/golden/short_tail/case.json``.
"""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.columns import offsets_of
from spoofspan.demo import RECO2DUR, RTTM, DemoCorpus, npz_name
from spoofspan.formats import arrays, rttm
from spoofspan.formats.durations import reco2dur_lines
from spoofspan.formats.writing import write_atomically
from spoofspan.references import References
from spoofspan.scores import Scores

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
        write(HERE / "corpus", demo_corpus())
    elif len(arguments) == 2 and arguments[0] == "--short-tail":
        write(HERE / "short_tail", short_tail_corpus(Path(arguments[1])))
    else:
        sys.exit("usage: python -m spoofspan.demo.make [--short-tail CASE.json]")


def write(folder: Path, corpus: DemoCorpus) -> None:
    """Write references, durations and the scores of every branch."""
    folder.mkdir(exist_ok=True)
    write_atomically(folder / RTTM, rttm.write(corpus.references), force=True)
    write_atomically(folder / RECO2DUR, reco2dur_lines(corpus.references), force=True)
    for hop, scores in corpus.systems.items():
        write_atomically(folder / npz_name(round(1000 * hop)), arrays.write_scores_npz(scores), force=True)


def demo_corpus() -> DemoCorpus:
    """Make the demo corpus."""
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
    references = References.from_columns(
        ids,
        np.array(samples, np.int64) * TICK,
        offsets_of(counts),
        np.array([row[0] for row in rows], np.int64) * TICK,
        np.array([row[1] for row in rows], np.int64) * TICK,
        np.array([bool(row[2]) for row in rows]),
        kinds=[row[2] or None for row in rows],
    )
    return DemoCorpus(references, {ms / 1000: _system(ids, values[ms], ms / 1000) for ms in HOPS_MS})


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


def short_tail_corpus(case: Path) -> DemoCorpus:
    """Take the golden case as it is."""
    utterances = json.loads(case.read_text(encoding="utf-8"))["utterances"]
    rows = [row for content in utterances.values() for row in content["reference"]]
    references = References.from_columns(
        list(utterances),
        _nanoseconds(content["duration"] for content in utterances.values()),
        offsets_of([len(content["reference"]) for content in utterances.values()]),
        _nanoseconds(row[0] for row in rows),
        _nanoseconds(row[1] for row in rows),
        np.array([row[2] == "spoof" for row in rows]),
    )
    frames = [np.array(content["scores"]) for content in utterances.values()]
    return DemoCorpus(references, {0.02: _system(list(utterances), frames, 0.02)})


def _system(ids: list[str], frames: list[Array], hop: float) -> Scores:
    return Scores.from_columns(
        ids, offsets_of([one.size for one in frames]), np.concatenate(frames), hop=hop, higher="bonafide"
    )


def _nanoseconds(seconds: Any) -> Array:
    return np.array([int(Decimal(text) * 10**9) for text in seconds], np.int64)


if __name__ == "__main__":
    main(sys.argv[1:])

"""A corpus of the size of the PartialSpoof evaluation set, as flat columns.

At ``scale=1``: 71,237 utterances of 3.5 s on average, 12.46 million scores of 20 ms, about 192,000 spoof
ranges. Audio is counted in samples of 16 kHz, so every edge is a multiple of 62,500 ns. Ranges of both
classes cover [0, duration). An utterance of N samples has ``(N - 400) // 320 + 1`` scores, as a 20 ms
front-end with a window of 25 ms gives: 5 to 25 ms at its end have no score.

    samples   0        320       640       960           N
    ranges    |  bona fide  |   spoof   |   bona fide    |
    scores    |   s0   |   s1    |   s2    |   no score  |

The same seed and scale give the same references and the same noise whatever the tie structure is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

UTTERANCES = 71_237
SAMPLE_NS = 62_500  # one sample of 16 kHz
HOP = 320  # samples: 20 ms
WINDOW = 400  # samples: 25 ms
MEAN_SAMPLES = 56_210.0  # 3.513 s, which makes 12.46 M frames at full size
SHORTEST_SAMPLES = 9_600.0
SHORTEST_RANGE = 160  # samples: 10 ms
WHOLLY_BONA_FIDE = 7_355 / 71_237  # utterances without any spoof
SPOOF_RANGES = 3.005  # per utterance that has some
SEPARATION = 1.25  # distance of each class from 0; the EER is 12 to 13 %
BLOCK = 4_096  # utterances generated at a time, so that ten times the data needs no tens of GB

TIES = ("none", "mixed", 2, 9, "all-equal", "saturated")

Int64 = NDArray[np.int64]
Float32 = NDArray[np.float32]


@dataclass(frozen=True)
class Corpus:
    """References and scores: rows ``offsets[i]:offsets[i+1]`` belong to utterance i, times are int64 ns."""

    utterances: list[str]
    durations: Int64
    offsets: Int64
    starts: Int64
    ends: Int64
    is_spoof: NDArray[np.bool_]
    score_utterances: list[str]
    score_offsets: Int64
    values: Float32
    score_starts: Int64 | None = None
    """None: uniform frames of 20 ms."""
    score_ends: Int64 | None = None
    attacks: list[str | None] | None = None
    """The attack of each spoof range."""

    def inputs(self) -> list[NDArray[Any]]:
        """All arrays, which `np.sum` reads once for the baseline."""
        return [array for array in vars(self).values() if isinstance(array, np.ndarray)]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays; the ids are not counted."""
        return sum(array.nbytes for array in self.inputs())

    def fresh(self) -> Corpus:
        """A copy that shares no array and no string object with this one."""
        arrays = {name: array.copy() for name, array in vars(self).items() if isinstance(array, np.ndarray)}
        return replace(
            self,
            utterances=np.array(self.utterances).tolist(),
            score_utterances=np.array(self.score_utterances).tolist(),
            **arrays,
        )

    def with_ties(self, ties: str | int, seed: int = 0) -> Corpus:
        """The same corpus with its (untied) scores tied."""
        return replace(self, values=tie(self.values, self.score_offsets, ties, seed))

    def as_ranges(self, mean_frames: float = 3.5, seed: int = 0) -> Corpus:
        """The same references, scores in ranges: runs of frames, inner edges moved by less than 10 ms."""
        rng = np.random.default_rng([seed, 2])
        is_first = rng.random(len(self.values), dtype=np.float32) < 1 / mean_frames
        is_first[self.score_offsets[:-1]] = True
        first = np.flatnonzero(is_first)
        offsets = np.searchsorted(first, self.score_offsets)
        counts = np.diff(offsets)
        starts = (first - np.repeat(self.score_offsets[:-1], counts)) * HOP
        starts += rng.integers(1 - HOP // 2, HOP // 2, len(starts))
        starts[offsets[:-1]] = 0
        ends = np.empty_like(starts)
        ends[:-1] = starts[1:]
        ends[offsets[1:] - 1] = np.diff(self.score_offsets) * HOP
        return replace(
            self,
            score_offsets=offsets,
            values=self.values[first],
            score_starts=starts * SAMPLE_NS,
            score_ends=ends * SAMPLE_NS,
        )

    def reordered(self, seed: int = 0) -> Corpus:
        """The same corpus, the scores' utterances in another order than the references'; frames only."""
        order = np.random.default_rng([seed, 3]).permutation(len(self.utterances))
        counts = np.diff(self.score_offsets)[order]
        offsets = starts_from_counts(counts)
        source = np.repeat(self.score_offsets[:-1][order] - offsets[:-1], counts)
        source += np.arange(len(source))
        return replace(
            self,
            score_utterances=[self.score_utterances[i] for i in order],
            score_offsets=offsets,
            values=self.values[source],
        )

    def with_attacks(self, count: int, seed: int = 0) -> Corpus:
        """The same corpus, each spoof range made by one of so many attacks."""
        drawn = np.random.default_rng([seed, 4]).integers(1, count + 1, len(self.is_spoof)).tolist()
        attacks = [f"A{one:02d}" if spoof else None for one, spoof in zip(drawn, self.is_spoof.tolist(), strict=True)]
        return replace(self, attacks=attacks)

    def references(self, ss: Any) -> Any:
        """Build `ss.References` from the columns."""
        return ss.References.from_columns(
            self.utterances, self.durations, self.offsets, self.starts, self.ends, self.is_spoof, attacks=self.attacks
        )

    def scores(self, ss: Any) -> Any:
        """Build `ss.Scores` from the columns."""
        times: dict[str, Any] = {"hop": 0.02}
        if self.score_starts is not None:
            times = {"starts": self.score_starts, "ends": self.score_ends}
        return ss.Scores.from_columns(
            self.score_utterances, self.score_offsets, self.values, higher="bonafide", **times
        )


def generate(scale: float = 1.0, ties: str | int = "mixed", seed: int = 0) -> Corpus:
    """Generate `scale` times the full-size corpus, with uniform frames."""
    rng = np.random.default_rng([seed, 0])
    n = max(2, round(UTTERANCES * scale))
    samples = _lengths(rng, n)
    offsets, starts, ends, is_spoof = _ranges(rng, samples)
    score_offsets = starts_from_counts((samples - WINDOW) // HOP + 1)
    values = np.empty(score_offsets[-1], np.float32)
    for lo in range(0, n, BLOCK):
        hi = min(lo + BLOCK, n)
        rows = slice(offsets[lo], offsets[hi])
        frames = slice(score_offsets[lo], score_offsets[hi])
        counts = np.diff(score_offsets[lo : hi + 1])
        spoof = _spoof_samples_in_frames(samples[lo:hi], ends[rows] - starts[rows], is_spoof[rows], counts)
        block = rng.standard_normal(len(spoof), dtype=np.float32)
        block += (SEPARATION - 2 * SEPARATION / HOP * spoof).astype(np.float32)
        # Systems are biased per recording: neighbouring frames are no independent draws.
        block += np.repeat(0.3 * rng.standard_normal(hi - lo, dtype=np.float32), counts)
        values[frames] = block
    ids = [f"CON_E_{i:07d}" for i in range(n)]
    return Corpus(
        ids,
        samples * SAMPLE_NS,
        offsets,
        starts * SAMPLE_NS,
        ends * SAMPLE_NS,
        is_spoof,
        ids,
        score_offsets,
        tie(values, score_offsets, ties, seed),
    )


def tie(values: Float32, offsets: Int64, ties: str | int, seed: int = 0) -> Float32:
    """Give continuous scores the named tie structure.

    "none": as they are; "mixed": two decimals in a third of the utterances; 2 or 9: so many distinct values;
    "all-equal": one; "saturated": probabilities of which about half are clipped at 1e-7 and 1 - 1e-7.
    """
    if ties == "none":
        return values
    if ties == "mixed":
        quantised = np.random.default_rng([seed, 1]).random(len(offsets) - 1) < 1 / 3
        return np.where(np.repeat(quantised, np.diff(offsets)), np.round(values, 2), values)
    if ties == 2:
        return (values >= 0).astype(np.float32)
    if ties == 9:
        return np.clip(np.rint(2 * values), -4, 4) / np.float32(4)
    if ties == "all-equal":
        return np.full_like(values, 0.5)
    if ties == "saturated":
        return np.clip(1 / (1 + np.exp(-12 * values)), np.float32(1e-7), np.float32(1 - 1e-7))
    raise ValueError(f"unknown ties {ties!r}; one of {TIES}")


def samples_under_frames(corpus: Corpus) -> tuple[Int64, Int64]:
    """Bona fide and spoof samples under each frame; the last frame of an utterance holds to its end.

    Shares nothing with the package: it is the weight of each frame for an independent ROC curve.
    """
    samples = corpus.durations // SAMPLE_NS
    lengths = (corpus.ends - corpus.starts) // SAMPLE_NS
    counts = np.diff(corpus.score_offsets)
    spoof = _spoof_samples_in_frames(samples, lengths, corpus.is_spoof, counts, hold=True)
    total = np.full(len(spoof), HOP)
    total[corpus.score_offsets[1:] - 1] += samples - counts * HOP
    return total - spoof, spoof


def starts_from_counts(counts: Int64) -> Int64:
    """Offsets of rows: 0 and the running total of the counts."""
    return np.concatenate([[0], np.cumsum(counts)])


def _lengths(rng: np.random.Generator, n: int) -> Int64:
    spread = rng.gamma(3.0, size=n)
    spread *= (MEAN_SAMPLES - SHORTEST_SAMPLES) / spread.mean()
    return np.rint(SHORTEST_SAMPLES + spread).astype(np.int64)


def _ranges(rng: np.random.Generator, samples: Int64) -> tuple[Int64, Int64, Int64, NDArray[np.bool_]]:
    """Alternating ranges that cover each utterance: offsets, starts, ends (in samples), is_spoof."""
    n = len(samples)
    spoofs = np.minimum(1 + rng.poisson(SPOOF_RANGES - 1, n), 25)
    spoofs[rng.random(n) < WHOLLY_BONA_FIDE] = 0
    # Seven in ten start and end bona fide; the others start or end with a spoof range.
    one_less = (rng.random(n) < 0.3) & (spoofs > 0)
    starts_spoof = one_less & (rng.random(n) < 0.5)
    counts = 2 * spoofs + 1 - one_less
    offsets = starts_from_counts(counts)
    position = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    is_spoof = (position + np.repeat(starts_spoof, counts)) % 2 == 1
    # Random shares of what is left after every range has got its shortest length.
    share = rng.gamma(2.0, size=len(position))
    before = np.cumsum(share) - share
    before -= np.repeat(before[offsets[:-1]], counts)
    free = (samples - SHORTEST_RANGE * counts) / np.add.reduceat(share, offsets[:-1])
    starts = np.floor(before * np.repeat(free, counts)).astype(np.int64) + SHORTEST_RANGE * position
    ends = np.empty_like(starts)
    ends[:-1] = starts[1:]
    ends[offsets[1:] - 1] = samples
    return offsets, starts, ends, is_spoof


def _spoof_samples_in_frames(
    samples: Int64, lengths: Int64, is_spoof: NDArray[np.bool_], counts: Int64, hold: bool = False
) -> Int64:
    """Spoof samples in each frame of consecutive utterances, laid end to end on one axis.

    The spoof time up to each frame edge is interpolated between the ranges' edges; the slopes are 0 and 1, so
    the result is whole and exact.
    """
    utterance_ends = np.cumsum(samples)
    edges = counts + 1
    last = np.cumsum(edges) - 1
    at = np.arange(last[-1] + 1) * HOP
    at += np.repeat(utterance_ends - samples - (last + 1 - edges) * HOP, edges)
    if hold:
        at[last] = utterance_ends
    spoof_before = np.interp(at, starts_from_counts(lengths), starts_from_counts(lengths * is_spoof))
    within = np.ones(len(at), bool)
    within[last] = False
    return np.diff(spoof_before, append=0)[within].astype(np.int64)

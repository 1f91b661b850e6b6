"""A sample of the scores of a submission, at places that are the same for all, by which submissions are compared."""

from __future__ import annotations

import numpy as np

from spoofspan.base.columns import positions
from spoofspan.base.times import Float64, Int64
from spoofspan.challenge.measured_submission import System
from spoofspan.challenge.public_part import PublicPart
from spoofspan.data.proposals import Proposals
from spoofspan.data.scores import Scores, score_times

SAMPLED = 4096  # places


def sample_of(public: PublicPart, system: System) -> Float64:
    """The scores at places that are the same for every submission, mirrored so that high means bona fide."""
    utterance, share = sampled_places(public)
    row = positions(public.utterances, system.utterances)[utterance]
    if isinstance(system, Proposals):  # the most confident one of an utterance; none means bona fide
        best = [
            system.confidences[a:b].max(initial=0.0) for a, b in zip(system.offsets, system.offsets[1:], strict=False)
        ]
        return -np.where(row < 0, 0.0, np.array([*best, 0.0])[row])
    sign = 1.0 if system.higher == "bonafide" else -1.0
    if not isinstance(system, Scores):
        return sign * system.values[row].astype(np.float64)
    starts = score_times(system)[0]
    found = np.empty(row.size)
    for place, (one, at) in enumerate(zip(row.tolist(), (share * public.ends[utterance]).tolist(), strict=True)):
        first, end = system.offsets[one], system.offsets[one + 1]
        last = first + max(int(np.searchsorted(starts[first:end], at, side="right")) - 1, 0)
        found[place] = system.values[last]
    return sign * found


def sampled_places(public: PublicPart) -> tuple[Int64, Float64]:
    """Utterances, by their number, and shares of their durations."""
    rng, count = np.random.default_rng(int(public.utterances_hash[:8], 16)), len(public.utterances)
    if not public.ends.size:  # a score of each utterance
        return np.sort(rng.permutation(count)[:SAMPLED]), np.zeros(min(count, SAMPLED))
    return np.sort(rng.integers(count, size=SAMPLED)), rng.random(SAMPLED)

"""A random submission, by which teams see what one looks like and organisers that every measure can be taken."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

import numpy as np

from spoofspan.base.columns import offsets_of
from spoofspan.challenge.measured_submission import System
from spoofspan.challenge.public_part import PublicPart
from spoofspan.data.proposals import Proposals
from spoofspan.data.scores import Higher, Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.formats.datasets.proposals import write as write_proposals
from spoofspan.formats.tables.parquet import write_scores as write_parquet
from spoofspan.formats.text.utterance_scores import write_asvspoof5

SAMPLE_HOP = 0.16  # seconds, where the challenge names none: small files


def sample_files(public: PublicPart) -> dict[str, bytes]:
    """A random submission as files, by name."""
    system = sample(public)
    if isinstance(system, Proposals):
        return {"proposals.json": b"".join(write_proposals(system))}
    if isinstance(system, UtteranceScores):
        return {"scores.tsv": b"".join(_score_lines(system))}
    return {"scores.parquet": b"".join(write_parquet(system))}


def _score_lines(scores: UtteranceScores) -> Iterator[bytes]:
    """``filename TAB cm-score``; with a column of speakers, if recordings are tried against several."""
    if not any(" " in utt for utt in scores.utterances):
        yield from write_asvspoof5(scores)
        return
    yield b"spk\tfilename\tcm-score\n"
    for utt, value in zip(scores.utterances, scores.values.tolist(), strict=True):
        speaker, _, name = utt.partition(" ")
        yield f"{speaker}\t{name}\t{value!r}\n".encode()


def sample(public: PublicPart) -> System:
    """Random scores or proposals of every utterance, the same for the same utterances."""
    definition, utterances = public.definition, public.utterances
    seed = int.from_bytes(sha256(public.utterances_hash.encode()).digest()[:8], "big")
    rng = np.random.default_rng(seed)
    draw = rng.random if definition.scores_are == "probability" else rng.standard_normal
    if definition.submissions == "utterance-scores":
        return UtteranceScores(utterances, draw(len(utterances)).round(2), "bonafide")
    if definition.submissions == "proposals":
        starts = (0.25 * public.ends).astype(np.int64)
        offsets = np.arange(len(utterances) + 1)
        return Proposals(utterances, offsets, rng.random(len(utterances)).round(2), starts, 3 * starts)
    hop = definition.hop or SAMPLE_HOP
    counts = np.maximum(np.ceil(public.ends / (hop * 1e9) - 1e-6).astype(np.int64), 1)
    values = draw(int(counts.sum())).round(2).astype(np.float32)
    higher: Higher = "spoof" if definition.submissions == "boundary-scores" else "bonafide"
    return Scores.from_columns(utterances, offsets_of(counts), values, hop=hop, higher=higher)

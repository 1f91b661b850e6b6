"""Measure what intervals and comparisons cost, in range EERs of the same corpus.

    python benchmarks/uncertainty.py [--scale S] [--only NAME ...] [--repetitions N] [--json FILE]

As in run.py: fresh inputs for every repetition, contenders take turns, the best time of each counts, and building
references and scores is inside the measured time. The second system has the scores of the first with noise of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from corpus import Corpus
from run import Figure, Setting, options, race, range_eer, run

REPLICATES = 1000
PAIRED = 200
SPEAKERS = 48


def interval(corpus: Corpus, speakers: int | None = None, method: str = "percentile", replicates: int = REPLICATES):
    """From columns to an interval."""
    import spoofspan as ss
    from spoofspan.uncertainty import bootstrap

    clusters = None
    if speakers is not None:
        clusters = {utt: f"S{i % speakers}" for i, utt in enumerate(corpus.utterances)}
    references, scores = corpus.references(ss), corpus.scores(ss)
    return bootstrap(references, scores, clusters=clusters, replicates=replicates, method=method)


def paired(corpus: Corpus, other: np.ndarray):
    """From columns to the difference of two systems."""
    import spoofspan as ss
    from spoofspan.uncertainty import compare

    systems = {"A": corpus.scores(ss), "B": replace(corpus, values=other).scores(ss)}
    return compare(corpus.references(ss), systems, replicates=PAIRED)


def by_utterance(setting: Setting) -> Iterator[Figure]:
    best = race(min(3, setting.repetitions), one=(range_eer, setting.mixed), many=(interval, setting.mixed))
    yield Figure(f"{REPLICATES:,} exact replicates over utterances", best["many"] / best["one"], "range EER", 30)


def by_speaker(setting: Setting) -> Iterator[Figure]:
    best = race(
        min(3, setting.repetitions),
        one=(range_eer, setting.mixed),
        many=(lambda corpus: interval(corpus, SPEAKERS), setting.mixed),
    )
    name = f"{REPLICATES:,} exact replicates over {SPEAKERS} speakers"
    yield Figure(name, best["many"] / best["one"], "range EER", 30)


def two_systems(setting: Setting) -> Iterator[Figure]:
    corpus = setting.mixed
    noise = np.random.default_rng(1).normal(0, 0.3, corpus.values.size).astype(np.float32)
    best = race(
        min(3, setting.repetitions),
        one=(range_eer, corpus),
        many=(lambda inputs: paired(inputs, inputs.values + noise), corpus),
    )
    yield Figure(f"{PAIRED} paired replicates of two systems", best["many"] / best["one"], "range EER", 25)


def bca(setting: Setting) -> Iterator[Figure]:
    """The jackknife leaves out each of 71,237 utterances once."""
    best = race(
        1,
        one=(range_eer, setting.mixed),
        many=(lambda corpus: interval(corpus, method="bca", replicates=2000), setting.mixed),
    )
    yield Figure("BCa over utterances, 2,000 replicates", best["many"] / best["one"], "range EER")


FIGURES = {"utterances": by_utterance, "speakers": by_speaker, "paired": two_systems, "bca": bca}


def main() -> int:
    arguments = options(__doc__.splitlines()[0], FIGURES).parse_args()
    markers = ("<!-- uncertainty: begin -->", "<!-- uncertainty: end -->")
    return run(arguments, FIGURES, Setting(arguments.scale, arguments.repetitions), markers)


if __name__ == "__main__":
    sys.exit(main())

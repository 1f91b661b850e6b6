"""Measure what intervals and comparisons cost, in range EERs of the same corpus.

    python benchmarks/uncertainty.py [--scale S] [--only NAME ...] [--repetitions N] [--json FILE]

As in run.py: fresh inputs for every repetition, contenders take turns, the best time of each counts, and building
references and scores is inside the measured time. The second system has the scores of the first with noise of its own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from corpus import Corpus
from run import Figure, Setting, options, race, range_eer, read_once, run

REPLICATES = 1000
PAIRED = 200
SPEAKERS = 48
# The size at which measures are compared with each other: replicates of all of them look at every score.
SMALL = (1000, 44)
AT_MOST = {
    "range-min-dcf": 4,
    "range-fnr@fpr=0.01": 4,
    "range-auc": 4,
    "range-cllr": 1,
    "range-act-dcf": 1,
}


def interval(corpus: Corpus, speakers: int | None = None, method: str = "percentile", replicates: int = REPLICATES):
    """From columns to an interval."""
    import spoofspan as ss

    clusters = None
    if speakers is not None:
        clusters = {utt: f"S{i % speakers}" for i, utt in enumerate(corpus.utterances)}
    references, scores = corpus.references(ss), corpus.scores(ss)
    return ss.interval(references, scores, clusters=clusters, replicates=replicates, method=method)


def paired(corpus: Corpus, other: np.ndarray, method: str = "percentile"):
    """From columns to the difference of two systems."""
    import spoofspan as ss
    from spoofspan.uncertainty import compare

    systems = {"A": corpus.scores(ss), "B": replace(corpus, values=other).scores(ss)}
    return compare(corpus.references(ss), systems, method=method, replicates=PAIRED)


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
    best = race(
        min(3, setting.repetitions),
        one=(range_eer, corpus),
        many=(lambda inputs: paired(inputs, inputs.values + noise, "jackknife-t"), corpus),
    )
    yield Figure("two systems compared by the jackknife", best["many"] / best["one"], "range EER")


def bca(setting: Setting) -> Iterator[Figure]:
    """The jackknife leaves out each of 71,237 utterances once."""
    best = race(
        1,
        one=(range_eer, setting.mixed),
        many=(lambda corpus: interval(corpus, method="bca", replicates=2000), setting.mixed),
    )
    yield Figure("BCa over utterances, 2,000 replicates", best["many"] / best["one"], "range EER")


def jackknife(setting: Setting) -> Iterator[Figure]:
    """Every utterance is left out once; what that costs is a few passes over the corpus.

    CPU time, with OMP_NUM_THREADS=1.
    """
    work = {
        "one": range_eer,
        "many": lambda corpus: interval(corpus, method="jackknife-t"),
        "drawn": interval,
        "read": read_once,
    }
    best = dict.fromkeys(work, float("inf"))
    for _ in range(setting.repetitions):
        for name, contender in work.items():
            best[name] = min(best[name], cpu_time(contender, setting.mixed))
    yield Figure("jackknife-t over utterances", best["many"] / best["one"], "range EER")
    yield Figure("jackknife-t over utterances", best["many"] / best["read"], "np.sum of the inputs", 300)
    yield Figure(
        f"{REPLICATES:,} exact replicates over utterances", best["drawn"] / best["read"], "np.sum of the inputs", 300
    )


def measures(setting: Setting) -> Iterator[Figure]:
    """CPU time of replicates of one measure against those of the EER, drawn and left out.

    OMP_NUM_THREADS=1: the threads of a matrix product count as work while they wait for a busy machine.
    """
    engines = {name: engine_of(name) for name in ("range-eer", *AT_MOST)}
    weights = np.random.default_rng(0).poisson(1, (50, SMALL[0])).astype(np.int64)
    best = dict.fromkeys((*engines, *(f"{name}, left out" for name in engines)), float("inf"))
    for _ in range(setting.repetitions):
        for name, (engine, system, clusters) in engines.items():
            best[name] = min(best[name], cpu_time(engine.values, weights))
            best[f"{name}, left out"] = min(best[f"{name}, left out"], cpu_time(replace(system).left_out, clusters))
    for name, most in AT_MOST.items():
        yield Figure(f"a replicate of {name}", best[name] / best["range-eer"], "a replicate of the EER", most)
    for name in engines:
        one = 50 * best[f"{name}, left out"] / SMALL[0] / best["range-eer"]
        yield Figure(f"{name} without one cluster", one, "a replicate of the EER", AT_MOST.get(name))


def cpu_time(work, *arguments) -> float:
    """Milliseconds are measured here, and other work on the machine takes many of them."""
    start = time.process_time()
    work(*arguments)
    return time.process_time() - start


def engine_of(name: str):
    """What measures replicates of a small corpus, the system, and its clusters."""
    from coverage import Cell, corpus, scored

    import spoofspan as ss
    from spoofspan.uncertainty.clusters import Clusters
    from spoofspan.uncertainty.measured_system import measured_system, split_arguments

    cell = Cell(SMALL[0], 0, 0.15, 0.5)
    references, (values,), offsets = corpus(cell, np.random.default_rng(0), frames=SMALL[1])
    _, options = split_arguments({"scores_are": "llr"})
    system = measured_system(references, scored(values, offsets), ss.Measure.parse(name), options)
    clusters = Clusters.of(system.mass.utterances, None)
    return system.replicates(clusters), system, clusters


FIGURES = {
    "utterances": by_utterance,
    "speakers": by_speaker,
    "paired": two_systems,
    "bca": bca,
    "jackknife": jackknife,
    "measures": measures,
}


def main() -> int:
    arguments = options(__doc__.splitlines()[0], FIGURES).parse_args()
    markers = ("<!-- uncertainty: begin -->", "<!-- uncertainty: end -->")
    return run(arguments, FIGURES, Setting(arguments.scale, arguments.repetitions), markers)


if __name__ == "__main__":
    sys.exit(main())

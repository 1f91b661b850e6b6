"""Measure what a table of all utterances costs, in range EERs of the same corpus.

    python benchmarks/per_utterance.py [--scale S] [--only NAME ...] [--repetitions N] [--json FILE] [--readme]

As in run.py: fresh inputs for every repetition, contenders take turns, the best time of each counts, and building
references and scores is inside the measured time. The table is measured at the threshold of the range EER, which is
found inside the measured time too; all six rates of all utterances are computed. Afterwards some utterances are
measured one by one, and a number that differs fails the figure.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from corpus import Corpus
from run import Contender, Figure, Setting, options, race, range_eer, run

RATES = ("false_positive_rate", "false_negative_rate", "precision", "recall", "f1", "iou")
CHECKED = 200


def table(corpus: Corpus, own_eer: bool = False) -> Any:
    """From columns to the rates of every utterance."""
    import spoofspan as ss

    errors = ss.errors_by_utterance(corpus.references(ss), corpus.scores(ss), own_eer=own_eer)
    for rate in RATES:
        getattr(errors, rate)
    return errors


def table_with_own_eers(corpus: Corpus) -> Any:
    """The same with each utterance's own EER."""
    return table(corpus, own_eer=True)


def rates(setting: Setting) -> Iterator[Figure]:
    best = race(setting.repetitions, one=(range_eer, setting.mixed), all=(table, setting.mixed))
    yield _figure("FPR, FNR, precision, recall, F1, IoU of each utterance", best, 10, setting.mixed)


def own(setting: Setting) -> Iterator[Figure]:
    contender: Contender = (table_with_own_eers, setting.mixed)
    best = race(min(3, setting.repetitions), one=(range_eer, setting.mixed), all=contender)
    check_some(setting.mixed)
    yield _figure("the same, and each utterance's own EER", best, 150, setting.mixed)


def own_of_ranges(setting: Setting) -> Iterator[Figure]:
    corpus = setting.mixed.as_ranges()
    best = race(min(3, setting.repetitions), one=(range_eer, corpus), all=(table_with_own_eers, corpus))
    yield _figure("the same, scores in ranges", best, 150, corpus)


def _figure(name: str, best: dict[str, float], at_most: float, corpus: Corpus) -> Figure:
    note = f"{len(corpus.utterances):,} utterances"
    return Figure(name, best["all"] / best["one"], "range EER", at_most, note=note)


def check_some(corpus: Corpus) -> None:
    """Measure some utterances one by one: the table must have the same bits."""
    import spoofspan as ss

    references, scores = corpus.references(ss), corpus.scores(ss)
    found = ss.errors_by_utterance(references, scores, own_eer=True).eers
    for i in np.random.default_rng(0).choice(len(corpus.utterances), min(CHECKED, len(corpus.utterances)), False):
        alone = np.array([i])
        measured = ss.range_eer(references.take(alone), scores.take(alone), undefined="nan")
        both = [(found.values[i], measured.value), (found.thresholds[i], measured.threshold)]
        if any(a != b and not (np.isnan(a) and np.isnan(b)) for a, b in both):
            raise AssertionError(f"utterance {corpus.utterances[i]}: {both}")


FIGURES = {"rates": rates, "own": own, "ranges": own_of_ranges}


def main() -> int:
    arguments = options(__doc__.splitlines()[0], FIGURES).parse_args()
    markers = ("<!-- per utterance: begin -->", "<!-- per utterance: end -->")
    return run(arguments, FIGURES, Setting(arguments.scale, arguments.repetitions), markers)


if __name__ == "__main__":
    sys.exit(main())

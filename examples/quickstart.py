"""Measure one utterance, then the demo corpus: ``python examples/quickstart.py``."""

import numpy as np

import spoofspan as ss
import spoofspan.demo


def one_utterance() -> None:
    # Reference labels. Times are seconds; the last entry of a range, its attack, is optional.
    references = ss.References.from_ranges(
        {"u1": [(0.0, 1.2, "bonafide"), (1.2, 2.0, "spoof", "A07")]}, durations={"u1": 2.0}
    )
    # What a system said: one score every 20 ms, higher for bona fide.
    frames = np.array([0.9] * 57 + [-0.4] * 41 + [0.75] * 2, np.float32)
    scores = ss.Scores.from_frames({"u1": frames}, hop=0.02, higher="bonafide")
    print(ss.range_eer(references, scores))


def a_corpus(references: ss.References, systems: dict[float, ss.Scores]) -> None:
    """Measure systems, given by their hop in seconds. Put your own references and scores here."""
    finest = systems[min(systems)]
    measured = ss.range_eer(references, finest)
    print(measured)
    print(measured.signature)

    # Rates and seconds at a threshold of your own.
    point = ss.error_curve(references, finest).at(0.1)
    print(point.decision, point.seconds())

    # The same scores under the rules of the published script.
    print(ss.range_eer(references, finest, convention="nii-2023"))

    # What a perfect system with this hop would get, and the paper's own algorithm.
    print(ss.best_possible(references, min(systems)))
    print(ss.bisection_eer(references, finest))

    # Every system at every resolution.
    print(ss.resolution_table(references, systems))


if __name__ == "__main__":
    one_utterance()
    corpus = spoofspan.demo.load()
    a_corpus(corpus.references, corpus.systems)

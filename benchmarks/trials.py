"""How often intervals of the a-DCF hold its true value, on simulated trials of speakers.

    python benchmarks/trials.py [--sets N]

Each speaker has five targets, non-targets and spoofs, whose scores are normal and share the speaker's shift. The true
value is the least cost of the distributions themselves.
"""

from __future__ import annotations

import argparse
import warnings
from statistics import NormalDist

import numpy as np

import spoofspan as ss
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.measures.measure import Measure
from spoofspan.measures.tandem import trial_costs

MEANS = {"target": 2.2, "nontarget": 0.0, "spoof": 0.4}
SHIFT = 0.4  # standard deviation of speakers
TRIALS = 5  # of a speaker and kind
MEASURE = "utterance-a-dcf"


def true_value() -> float:
    """The least normalised cost over thresholds."""
    costs = {name: float(value) for name, value in Measure.parse(MEASURE).parameters}
    prices = [float(one) for one in trial_costs(**costs)]
    spread = (1 + SHIFT**2) ** 0.5
    below = {kind: NormalDist(mean, spread).cdf for kind, mean in MEANS.items()}
    least = min(
        prices[0] * below["target"](at)
        + prices[1] * (1 - below["nontarget"](at))
        + prices[2] * (1 - below["spoof"](at))
        for at in np.linspace(-2, 4, 4001).tolist()
    )
    return least / min(prices[0], prices[1] + prices[2])


def drawn(rng: np.random.Generator, speakers: int) -> tuple[dict[str, str], UtteranceScores, dict[str, str]]:
    """The kind of each trial, its score, its speaker."""
    kinds, clusters, values = {}, {}, []
    for speaker in range(speakers):
        shift = rng.normal(0, SHIFT)
        for kind, mean in MEANS.items():
            for trial in range(TRIALS):
                name = f"{speaker}-{kind}-{trial}"
                kinds[name], clusters[name] = kind, str(speaker)
                values.append(mean + shift + rng.normal())
    return kinds, UtteranceScores(tuple(kinds), np.array(values), "bonafide"), clusters


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=400, help="simulated sets of trials (default 400)")
    sets = parser.parse_args().sets
    warnings.simplefilter("ignore", ss.SpoofspanWarning)
    truth = true_value()
    for speakers in (30, 100):
        rng, held = np.random.default_rng(1), 0
        for _ in range(sets):
            kinds, scores, clusters = drawn(rng, speakers)
            how = ss.Resampling(clusters=clusters)
            interval = ss.evaluate_utterances(kinds, scores, [MEASURE], resampling=how)[MEASURE].interval
            held += interval is not None and interval.low <= truth <= interval.high
        print(f"{speakers} speakers: {held} of {sets} intervals of 95 % hold the a-DCF of {truth:.4f}")


if __name__ == "__main__":
    main()

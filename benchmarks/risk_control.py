"""The miss rate of new speakers at a threshold with a promise: ``python benchmarks/risk_control.py [--sets 300]``.

Each set draws calibration speakers with scores of their own quality and level, finds the threshold by
``spoofspan.uncertainty.bound_misses``, and measures 100 new speakers at it. A cell prints the mean miss rate over sets
with its Monte-Carlo error, how it spreads from set to set, and the share of bona fide called spoof: with the promise,
and at the threshold whose miss rate is that of the calibration set itself.
"""

from __future__ import annotations

import argparse
from bisect import bisect_left

import numpy as np

import spoofspan as ss
from spoofspan.uncertainty import bound_misses

CELLS = ((20, 0.1), (50, 0.1), (200, 0.1), (50, 0.05), (50, 0.2))
FRAMES, NEW = 60, 100


def drawn(generator: np.random.Generator, speakers: int) -> tuple[np.ndarray, np.ndarray]:
    """Which frames are spoofed, and scores that are higher for bona fide: a row for each speaker."""
    spoof = generator.random((speakers, FRAMES)) < generator.uniform(0.1, 0.9, (speakers, 1))
    spoof[:, 0], spoof[:, 1] = True, False
    apart, level = generator.gamma(4.0, 0.6, (speakers, 1)), 0.7 * generator.standard_normal((speakers, 1))
    return spoof, generator.standard_normal((speakers, FRAMES)) - apart * spoof + level


def missed(spoof: np.ndarray, scores: np.ndarray, threshold: float) -> float:
    """The mean over speakers of the share of spoof that is not called so."""
    return float(np.mean(((scores >= threshold) & spoof).sum(axis=1) / spoof.sum(axis=1)))


def one_set(generator: np.random.Generator, speakers: int, rate: float) -> tuple[float, float, float, float]:
    """Miss rate and false positive rate of new speakers, with the promise and without."""
    spoof, scores = drawn(generator, speakers)
    labels = {f"s{i}": row.astype(int) for i, row in enumerate(spoof)}
    references = ss.References.from_labels(labels, hop=0.1, spoof_label=1)
    system = ss.Scores.from_frames(dict(zip(labels, scores, strict=True)), hop=0.1, higher="bonafide")
    promised = bound_misses(references, system, rate).threshold
    thresholds = np.sort(scores[spoof])
    plain = thresholds[bisect_left(thresholds, -rate, key=lambda one: -missed(spoof, scores, one))]
    new = drawn(generator, NEW)
    return (
        *(missed(*new, one) for one in (promised, plain)),
        *(float(np.mean(new[1][~new[0]] < one)) for one in (promised, plain)),
    )


def main() -> None:
    """Print all cells."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=300)
    sets = parser.parse_args().sets
    print("speakers  promised  missed %  (error)  spread  FPR %    without: missed %  FPR %")
    for speakers, rate in CELLS:
        generator = np.random.default_rng(2208)
        found = 100 * np.array([one_set(generator, speakers, rate) for _ in range(sets)])
        mean, spread = found.mean(axis=0), found[:, 0].std(ddof=1)
        promised = f"{mean[0]:8.2f}  ({spread / sets**0.5:5.2f})  {spread:6.2f}  {mean[2]:5.1f}"
        print(f"{speakers:8}  {100 * rate:6.0f} %  {promised}    {mean[1]:17.2f}  {mean[3]:5.1f}")


if __name__ == "__main__":
    main()

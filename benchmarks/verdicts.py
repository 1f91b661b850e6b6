"""Simulate families of systems whose truth is known: how often verdicts, ranks, seeds and plans are right.

    python benchmarks/verdicts.py [--only NAME ...] [--runs N] [--store FILE]

Scores are normal around +d (bona fide) or -d (spoof), with an effect of the utterance for each class (30 % of the
variance), so that the true EER is Phi(-d). Systems share half of their effects and noise. Each utterance has 20 frames,
half of them spoof on average.

``families``: 20 systems that are equally good; in which share of families is any pair told apart? By step-down max-T
from the jackknife (as spoofspan does), from bootstrap replicates, and by Holm's correction of the jackknife's p.
``ranks``: 10 systems of 7 different qualities; in which share of families do all rank intervals hold the true ranks?
``spread``: 15 systems from 3 to 47 % on 1,000 utterances; how many of the 105 pairs are decided?
``seeds``: the mean over several trainings; is its variance right, and does its interval cover the truth?
``power``: test sets of the planned size; in which share of them are two systems told apart?

``6 new attacks``, ``13 new attacks``, ``40 new attacks``: speakers and attacks are crossed, and both are new in each
corpus. 40 speakers have 10 utterances each, with lengths from a gamma law (32 frames of 20 ms on average), one or two
spoofed spans, and 20 % purely bona fide. A score is 1.8 (bona fide) or minus the difficulty of the attack, drawn from
N(1.8, 0.9), plus an effect of the speaker for each class (t with 3 degrees of freedom, standard deviation 0.5), one of
speaker and attack (likewise, 0.35), one of the utterance (normal, 0.5) and noise of the frames (normal, 1, with an
autocorrelation of 0.8). Two systems share half of the variance of each. The truth is the range EER over all speakers
and attacks, which is the same for both systems: how often does the interval of one of them hold it, and how often is p
under 5 %? By speaker, by attack, and by speaker x attack.

Runs are stored one by one (``--store``), so that a long simulation goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache, partial
from itertools import combinations
from math import sqrt
from pathlib import Path
from statistics import NormalDist

import numpy as np

import spoofspan as ss
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.uncertainty import max_t
from spoofspan.uncertainty.clusters import Clusters
from spoofspan.uncertainty.curve_replicates import EerReplicates
from spoofspan.uncertainty.jackknife import Estimate, Jackknife, bounds
from spoofspan.uncertainty.measured_system import measured_system
from spoofspan.uncertainty.ranks import ranks
from spoofspan.uncertainty.sample_size import clusters_needed
from spoofspan.uncertainty.variance_components import variance_components

NORMAL = NormalDist()
FRAMES = 20
NS = 20_000_000
UTTERANCE_SHARE = 0.3
SHARED = 0.5
LEVEL = 0.05
REPLICATES = 999
# Replicates take as long as all the rest, so only the first families have them.
BOOTSTRAPPED = 200


class Family:
    """Systems on one corpus."""

    def __init__(self, rng: np.random.Generator, utterances: int, distances, shared: float = SHARED) -> None:
        self.spoof = rng.integers(0, 2, (utterances, FRAMES))
        common = self._effects(rng)
        self.scores = [
            np.where(self.spoof == 1, -d, d) + sqrt(shared) * common + sqrt(1 - shared) * self._effects(rng)
            for d in distances
        ]
        ids = [f"{i:06d}" for i in range(utterances)]
        offsets, rows = np.arange(utterances + 1) * FRAMES, np.arange(self.spoof.size) % FRAMES
        references = ss.References.from_columns(
            ids,
            np.full(utterances, FRAMES * NS),
            offsets,
            rows * NS,
            (rows + 1) * NS,
            self.spoof.reshape(-1).astype(bool),
        )
        measured = [
            measured_system(
                references,
                ss.Scores.from_columns(ids, offsets, scores.reshape(-1), hop=0.02, higher="bonafide"),
                ss.Measure.parse("range-eer"),
                EvaluationOptions(),
            )
            for scores in self.scores
        ]
        self.masses = [one.mass for one in measured]
        self.jackknife = Jackknife.of(measured, Clusters.of(ids, None))
        self.values = self.jackknife.values

    def _effects(self, rng: np.random.Generator) -> np.ndarray:
        of_utterance = rng.normal(size=(2, len(self.spoof), 1))
        chosen = np.where(self.spoof == 1, of_utterance[1], of_utterance[0])
        return sqrt(UTTERANCE_SHARE) * chosen + sqrt(1 - UTTERANCE_SHARE) * rng.normal(size=self.spoof.shape)

    def differences(self, pairs) -> list[Estimate]:
        unit = np.eye(len(self.values))
        return [self.jackknife.estimate(unit[i] - unit[j]) for i, j in pairs]

    def adjusted(self, pairs, found: list[Estimate], seed: int) -> list[float]:
        """As :mod:`spoofspan.uncertainty.families` does."""
        degrees = float(np.median([one.degrees_of_freedom for one in found]))
        p = [one.p_value for one in found]
        return max_t.adjusted_p_values(p, pairs, self.jackknife.covariance, degrees, seed)

    def replicates(self, rng: np.random.Generator, count: int) -> np.ndarray:
        size = len(self.spoof)
        weights = rng.multinomial(size, np.full(size, 1 / size), count).astype(np.float64)
        return np.stack([Table(self.spoof, scores).values(weights) for scores in self.scores])


class Table:
    """EERs (rule nearest) under any weights of utterances: counts of each utterance below thresholds near the EER.

    For replicates only, which the package draws one by one; :func:`check` compares both.
    """

    def __init__(self, spoof: np.ndarray, scores: np.ndarray, near: int = 4) -> None:
        self.made_of = spoof, scores, near
        order = np.argsort(scores, axis=None)
        labels, utterance = spoof.reshape(-1)[order], (np.arange(spoof.size) // spoof.shape[1])[order]
        below = np.cumsum(np.stack((1 - labels, labels)), axis=1) - np.stack((1 - labels, labels))
        totals = np.array([np.count_nonzero(spoof == 0), np.count_nonzero(spoof)])
        middle = int(np.argmin(np.abs(below[0] / totals[0] + below[1] / totals[1] - 1)))
        width = near * int(sqrt(spoof.size))
        low, high = max(middle - width, 0), min(middle + width, spoof.size)
        self.own = np.stack([(spoof == 0).sum(axis=1), (spoof == 1).sum(axis=1)]).astype(np.float64)
        self.below = np.zeros((2, len(spoof), high - low))
        for kind in (0, 1):
            first = np.bincount(utterance[:low], labels[:low] == kind, minlength=len(spoof))
            steps = np.zeros((len(spoof), high - low))
            inside = np.arange(low, high - 1)
            steps[utterance[inside], inside - low + 1] = labels[inside] == kind
            self.below[kind] = first[:, None] + np.cumsum(steps, axis=1)

    def wider(self) -> Table:
        """With more thresholds: the crossing lay outside of them."""
        spoof, scores, near = self.made_of
        return Table(spoof, scores, 2 * near)

    def values(self, weights: np.ndarray) -> np.ndarray:
        positive = (weights @ self.below[0]) / (weights @ self.own[0])[:, None]
        negative = 1 - (weights @ self.below[1]) / (weights @ self.own[1])[:, None]
        gap = positive - negative
        if (gap[:, 0] > 0).any() or (gap[:, -1] < 0).any():
            return self.wider().values(weights)
        best = np.abs(gap).argmin(axis=1)
        rows = np.arange(len(best))
        return (positive[rows, best] + negative[rows, best]) / 2


def check() -> None:
    """The EERs of this file are the package's."""
    family = Family(np.random.default_rng(0), 60, [1.0])
    weights = np.random.default_rng(1).multinomial(60, np.full(60, 1 / 60), 50)
    found = Table(family.spoof, family.scores[0]).values(weights.astype(np.float64))
    np.testing.assert_allclose(found, EerReplicates(family.masses[0]).values(weights), atol=1e-12)


def bootstrap_max_t(values: np.ndarray, replicates: np.ndarray, pairs) -> list[float]:
    """Step-down max-T from replicates, each difference over the replicates' standard deviation."""
    first, second = np.array(pairs).T
    apart = replicates[first] - replicates[second]
    found = values[first] - values[second]
    spread = apart.std(axis=1, ddof=1)
    ratios, seen = np.abs(apart - found[:, None]) / spread[:, None], np.abs(found) / spread
    order = np.argsort(-seen)
    largest = np.maximum.accumulate(ratios[order][::-1], axis=0)[::-1]
    p = np.maximum.accumulate(((largest >= seen[order][:, None]).sum(axis=1) + 1) / (replicates.shape[1] + 1))
    adjusted = np.empty(len(pairs))
    adjusted[order] = p
    return adjusted.tolist()


def family(number: int, systems: int = 20, utterances: int = 200) -> dict:
    rng = np.random.default_rng([4, number])
    made = Family(rng, utterances, [-NORMAL.inv_cdf(0.15)] * systems)
    pairs = list(combinations(range(systems), 2))
    tested = made.differences(pairs)
    p = [one.p_value for one in tested]
    found = {
        "max-T, jackknife": min(made.adjusted(pairs, tested, number)) < LEVEL,
        "Holm, jackknife": min(max_t.holm(p)) < LEVEL,
        "no correction": min(p) < LEVEL,
    }
    if number < BOOTSTRAPPED:
        replicates = made.replicates(rng, REPLICATES)
        found["max-T, bootstrap"] = min(bootstrap_max_t(made.values, replicates, pairs)) < LEVEL
    return found


def family_few(number: int) -> dict:
    return family(number, utterances=20)


def ranked(number: int) -> dict:
    eers = np.array([0.05, 0.05, 0.07, 0.09, 0.09, 0.09, 0.12, 0.15, 0.20, 0.30])
    rng = np.random.default_rng([5, number])
    made = Family(rng, 200, [-NORMAL.inv_cdf(eer) for eer in eers])
    pairs = list(combinations(range(len(eers)), 2))
    adjusted = made.adjusted(pairs, made.differences(pairs), number)
    verdicts = [
        (str(i), str(j)) if made.values[i] < made.values[j] else (str(j), str(i))
        for (i, j), one in zip(pairs, adjusted, strict=True)
        if one <= LEVEL
    ]
    found = ranks({str(i): float(value) for i, value in enumerate(made.values)}, verdicts, "lower")
    held = []
    for one in found:
        better, worse = (eers < eers[int(one.system)]).sum(), (eers > eers[int(one.system)]).sum()
        held.append(bool(one.low <= 1 + better and len(eers) - worse <= one.high))
    width = float(np.mean([one.high - one.low for one in found]))
    return {"all ranks held": all(held), "of each rank": float(np.mean(held)), "width": width, "decided": len(verdicts)}


def spread(number: int) -> dict:
    eers = np.linspace(0.03, 0.47, 15)
    made = Family(np.random.default_rng([6, number]), 1000, [-NORMAL.inv_cdf(eer) for eer in eers])
    pairs = list(combinations(range(15), 2))
    tested = made.differences(pairs)
    adjusted = np.array(made.adjusted(pairs, tested, number))
    small = np.array([one.p_value for one in tested]) < LEVEL / 105
    return {"pairs decided": int((adjusted <= LEVEL).sum()), "small p undecided": int((adjusted[small] > LEVEL).sum())}


SEED_CASES = {"noise only": 0.0, "some": 0.1, "training dominates": 0.3}


def seeded(number: int) -> dict:
    found = {}
    for index, (name, deviation) in enumerate(SEED_CASES.items()):
        for count in (3, 5):
            rng = np.random.default_rng([7, number, index, count])
            middle = -NORMAL.inv_cdf(0.15)
            distances = middle + deviation * rng.normal(size=count)
            made = Family(rng, 200, distances)
            degrees = made.jackknife.estimate(np.full(count, 1 / count)).degrees_of_freedom
            parts = variance_components(made.values, made.jackknife.covariance, degrees)
            truth = NORMAL.cdf(-middle / sqrt(1 + deviation**2))
            mean = float(made.values.mean())
            ends = bounds(Estimate(mean, sqrt(parts.total), parts.degrees), "logit", 0.95)
            key = f"{name}, {count} seeds"
            found |= {f"{key}: error": mean - truth, f"{key}: variance": parts.total}
            found[f"{key}: covered"] = bool(ends[0] <= truth <= ends[1])
    return found


def powered(number: int) -> dict:
    """A pilot of 300 utterances plans a test set that is then drawn."""
    rng = np.random.default_rng([8, number])
    first, second = 0.15, 0.13
    distances = [-NORMAL.inv_cdf(first), -NORMAL.inv_cdf(second)]
    pilot = 300 * Family(rng, 300, distances).jackknife.covariance
    found = {}
    for kind, variance in (("paired", pilot[0, 0] + pilot[1, 1] - 2 * pilot[0, 1]), ("unpaired", np.trace(pilot))):
        samples = 1 if kind == "paired" else 2
        count = clusters_needed(first - second, sqrt(variance), 0.8, LEVEL, samples)
        if kind == "paired":
            (one,) = Family(rng, count, distances).differences([(0, 1)])
        else:
            a, b = (Family(rng, count, [d]).jackknife.estimate([1.0]) for d in distances)
            one = Estimate(a.value - b.value, sqrt(a.standard_error**2 + b.standard_error**2), 2 * count - 2)
        found |= {f"{kind}: utterances": count, f"{kind}: told apart": bool(one.p_value < LEVEL)}
    return found


CLASS_MEAN, DIFFICULTY_SPREAD = 1.8, 0.9
SPEAKER_EFFECT, PAIR_EFFECT, UTTERANCE_EFFECT, AUTOCORRELATION = 0.5, 0.35, 0.5, 0.8


def heavy_tailed(rng: np.random.Generator, size) -> np.ndarray:
    """Effects with a standard deviation of 1 from t with 3 degrees of freedom."""
    return rng.standard_t(3, size) / sqrt(3)


@cache
def population_eer(draws: int = 4_000_000) -> float:
    """The range EER over all speakers and attacks: that of the scores' two distributions."""
    rng = np.random.default_rng(9)

    def rest() -> np.ndarray:
        own = SPEAKER_EFFECT * heavy_tailed(rng, draws) + UTTERANCE_EFFECT * rng.normal(size=draws)
        return own + rng.normal(size=draws)

    bona_fide = np.sort(CLASS_MEAN + rest())
    difficulty = CLASS_MEAN + DIFFICULTY_SPREAD * rng.normal(size=draws)
    spoof = np.sort(-difficulty + PAIR_EFFECT * heavy_tailed(rng, draws) + rest())
    low, high = -5.0, 5.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        fpr, fnr = np.searchsorted(bona_fide, middle) / draws, 1 - np.searchsorted(spoof, middle) / draws
        low, high = (middle, high) if fpr < fnr else (low, middle)
    return float(np.searchsorted(bona_fide, low) / draws)


class CrossedCorpus:
    """Two systems that are equally good over all speakers and attacks, on some of both."""

    def __init__(self, rng: np.random.Generator, attacks: int, speakers: int = 40, each: int = 10) -> None:
        self.speaker = np.repeat(np.arange(speakers), each)
        count = self.speaker.size
        self.attack = rng.permutation(np.arange(count) % attacks)
        self.attack[rng.permutation(count)[: count // 5]] = -1
        lengths = np.maximum(np.round(rng.gamma(4, 8, count)), 6).astype(np.int64)
        self.offsets = np.concatenate(([0], np.cumsum(lengths)))
        self.utterance = np.repeat(np.arange(count), lengths)
        self.spoof = np.zeros(self.utterance.size, bool)
        for place in np.flatnonzero(self.attack >= 0).tolist():
            start, end = self.offsets[place : place + 2].tolist()
            ends = np.sort(rng.choice(np.arange(start, end + 1), 2 * int(rng.integers(1, 3)), replace=False))
            for first, last in ends.reshape(-1, 2).tolist():
                self.spoof[first:last] = True
        self.names = [f"u{place:04}" for place in range(count)]
        self.attacks = attacks
        common = self._effects(rng)
        self.scores = {name: self._score(common, self._effects(rng)) for name in ("a", "b")}

    def _effects(self, rng: np.random.Generator) -> list[np.ndarray]:
        """The effects on each frame, each with its standard deviation: difficulties, and all the others."""
        speakers, count = int(self.speaker[-1]) + 1, self.speaker.size
        speaker, attack = self.speaker[self.utterance], self.attack[self.utterance]
        of_speaker = heavy_tailed(rng, (2, speakers))[self.spoof.astype(int), speaker]
        of_pair = heavy_tailed(rng, (speakers, self.attacks))[speaker, attack] * self.spoof
        difficulty = rng.normal(size=self.attacks)[attack] * self.spoof
        noise = rng.normal(size=self.utterance.size)
        starts = np.zeros(noise.size, bool)
        starts[self.offsets[:-1]] = True
        step = sqrt(1 - AUTOCORRELATION**2)
        for place in range(noise.size):
            if not starts[place]:
                noise[place] = AUTOCORRELATION * noise[place - 1] + step * noise[place]
        of_utterance = rng.normal(size=count)[self.utterance]
        return [
            -DIFFICULTY_SPREAD * difficulty,
            SPEAKER_EFFECT * of_speaker,
            PAIR_EFFECT * of_pair,
            UTTERANCE_EFFECT * of_utterance,
            noise,
        ]

    def _score(self, common: list[np.ndarray], own: list[np.ndarray]) -> ss.Scores:
        middle = np.where(self.spoof, -CLASS_MEAN, CLASS_MEAN)
        shared = sum(sqrt(SHARED) * a + sqrt(1 - SHARED) * b for a, b in zip(common, own, strict=True))
        return ss.Scores.from_columns(self.names, self.offsets, middle + shared, hop=0.02, higher="bonafide")

    @property
    def references(self) -> ss.References:
        lengths = np.diff(self.offsets)
        frame = np.arange(self.utterance.size) - self.offsets[self.utterance]
        return ss.References.from_columns(
            self.names, lengths * NS, self.offsets, frame * NS, (frame + 1) * NS, self.spoof
        )

    @property
    def factors(self) -> dict[str, dict[str, str]]:
        attacks = ["-" if one < 0 else f"A{one:02}" for one in self.attack.tolist()]
        speakers = [f"s{one:02}" for one in self.speaker.tolist()]
        return {
            "speaker": dict(zip(self.names, speakers, strict=True)),
            "attack": dict(zip(self.names, attacks, strict=True)),
        }


def new_attacks(attacks: int, number: int) -> dict:
    corpus, truth = CrossedCorpus(np.random.default_rng([10, attacks, number]), attacks), population_eer()
    references, factors, found = corpus.references, corpus.factors, {}
    for some in (["speaker"], ["attack"], ["speaker", "attack"]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ss.SpoofspanWarning)  # few attacks
            compared = ss.compare(references, corpus.scores, clusters={name: factors[name] for name in some})
        one, key = compared.intervals["a"], "by " + " x ".join(some)
        found[f"{key}: covered"] = bool(one.low <= truth <= one.high)
        found[f"{key}: p under 5 %"] = bool(compared["a", "b"].p_value < LEVEL)
    return found


SIMULATIONS: dict[str, tuple[Callable[[int], dict], int]] = {
    "families": (family, 1000),
    "families of 20 utterances": (family_few, 300),
    "ranks": (ranked, 1000),
    "spread": (spread, 20),
    "seeds": (seeded, 1000),
    "power": (powered, 1000),
    "6 new attacks": (partial(new_attacks, 6), 300),
    "13 new attacks": (partial(new_attacks, 13), 300),
    "40 new attacks": (partial(new_attacks, 40), 300),
}


def summary(name: str, runs: list[dict]) -> list[str]:
    lines = []
    for key in runs[0]:
        some = [one for one in runs if key in one]
        column = np.array([one[key] for one in some], np.float64)
        if key.endswith(": variance"):
            error = np.array([one[key.replace(": variance", ": error")] for one in runs])
            ratio = column.mean() / error.var()
            lines.append(f"{key}: {ratio:.2f} times the true one (standard error {ratio * sqrt(2 / len(runs)):.2f})")
        elif isinstance(runs[0][key], bool):
            share = column.mean()
            lines.append(
                f"{key}: {100 * share:.1f} % (standard error {100 * sqrt(share * (1 - share) / len(some)):.1f})"
            )
        elif not key.endswith(": error"):
            lines.append(f"{key}: mean {column.mean():.4g}, {column.min():.4g} to {column.max():.4g}")
    return [f"{name}, {len(runs)} runs", *(f"  {line}" for line in lines)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(SIMULATIONS), default=list(SIMULATIONS))
    parser.add_argument("--runs", type=int, help="of each simulation, instead of its own number")
    parser.add_argument("--store", type=Path, help="a file of runs, a line each, that is continued")
    arguments = parser.parse_args()
    check()
    max_t.DRAWS = max_t.FEWEST_DRAWS = 4000  # the error of a p near 5 % is 0.3 points, far below that of 1,000 runs
    done: dict[tuple[str, int], dict] = {}
    if arguments.store and arguments.store.exists():
        for line in arguments.store.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            done[one["simulation"], one["run"]] = one["found"]
    for name in arguments.only:
        function, usual = SIMULATIONS[name]
        runs, said = [], time.monotonic()
        for number in range(arguments.runs or usual):
            found = done.get((name, number))
            if found is None:
                found = function(number)
                if arguments.store:
                    line = json.dumps({"simulation": name, "run": number, "found": found})
                    with arguments.store.open("a", encoding="utf-8") as file:
                        file.write(line + "\n")
            runs.append(found)
            if time.monotonic() - said > 30:
                said = time.monotonic()
                print(f"{name}: {number + 1} of {arguments.runs or usual}", file=sys.stderr, flush=True)
        print("\n".join(summary(name, runs)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

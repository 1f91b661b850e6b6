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
``submissions``: a team makes 10 equally good submissions; in which share of teams is any new one significantly
different from the best before, if the level is divided by the steps (as ``challenge audit`` does), if each step is
tested at the full level, and if each is only tested against the best before?

``6 new attacks``, ``13 new attacks``, ``40 new attacks``: speakers and attacks are crossed, and both are new in each
corpus. 40 speakers have 10 utterances each, with lengths from a gamma law (32 frames of 20 ms on average), one or two
spoofed spans, and 20 % purely bona fide. A score is 1.8 (bona fide) or minus the difficulty of the attack, drawn from
N(1.8, 0.9), plus an effect of the speaker for each class (t with 3 degrees of freedom, standard deviation 0.5), one of
speaker and attack (likewise, 0.35), one of the utterance (normal, 0.5) and noise of the frames (normal, 1, with an
autocorrelation of 0.8). Two systems share half of the variance of each. The truth is the range EER over all speakers
and attacks, which is the same for both systems: how often does the interval of one of them hold it, and how often is p
under 5 %? By speaker, by attack, and by speaker x attack. ``20 systems, 13 new attacks``: in which share of families is
any pair of 20 equally good systems told apart over new attacks, and do all rank intervals hold?

``fixed attacks``, ``fixed attacks, 5 % spoof, 8 bits``: the same with six attacks of unequal difficulty that stay, by
speaker. The truth of each measure is its value on 5,000 other speakers. The second system has the attacks in another
order, so that both are equally good. ``calibrated``: 40 speakers with 10 utterances each whose scores are
log-likelihood ratios, so that the calibration loss is 0.

``domains``: two corpora, a development set and another of the same kind, with 20 speakers of 50 utterances each. Two
systems are equally good. How often is p under 5 %: of what the carried threshold costs, and of the difference of both
systems over these corpora and over new ones? ``next corpus``: five corpora with classes nearer to each other or farther
apart (normal, 0.5); how often does the EER of a sixth, over all its speakers, lie in the predicted interval?

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
from spoofspan.evaluation.domains import compare_domains
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.uncertainty import max_t
from spoofspan.uncertainty.clusters import Clusters
from spoofspan.uncertainty.curve_replicates import EerReplicates
from spoofspan.uncertainty.improvements import improvements
from spoofspan.uncertainty.jackknife import Estimate, Jackknife, bounds
from spoofspan.uncertainty.measured_system import leave_out, measured_system
from spoofspan.uncertainty.ranks import ranks
from spoofspan.uncertainty.sample_size import levels_needed
from spoofspan.uncertainty.variance_components import Design, variance_components

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
        self.left_out = [leave_out(one, Clusters.of(ids, None)) for one in measured]
        values = [one.value for one in measured]
        self.jackknife = Jackknife.from_left_out(values, self.left_out, shares=True)
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
        of_one = Design({"utterance": 1}, {("utterance",): variance})
        count = levels_needed(of_one, ("utterance",), first - second, 0.8, LEVEL, samples)
        if kind == "paired":
            (one,) = Family(rng, count, distances).differences([(0, 1)])
        else:
            a, b = (Family(rng, count, [d]).jackknife.estimate([1.0]) for d in distances)
            one = Estimate(a.value - b.value, sqrt(a.standard_error**2 + b.standard_error**2), 2 * count - 2)
        found |= {f"{kind}: utterances": count, f"{kind}: told apart": bool(one.p_value < LEVEL)}
    return found


SUBMISSIONS = 10


def submitted(number: int) -> dict:
    """Equally good submissions, one after another."""
    made = Family(np.random.default_rng([17, number]), 200, [-NORMAL.inv_cdf(0.15)] * SUBMISSIONS)
    values = {str(place): float(value) for place, value in enumerate(made.values)}
    measure, how, steps = ss.Measure.parse("range-eer"), ss.Resampling(), SUBMISSIONS - 1
    found = improvements(measure, values, made.left_out, how, steps)
    (alone,) = zip(*(made.differences([(int(one.new), int(one.before))]) for one in found), strict=True)
    return {
        "any verdict, level divided by the steps": any(one.better for one in found),
        "a false improvement, level divided by the steps": any(one.better == one.new for one in found),
        "any verdict, each step at the full level": any(one.p_value < steps * LEVEL for one in found),
        "any verdict, against the best before only": any(one.p_value < LEVEL for one in alone),
    }


CLASS_MEAN, DIFFICULTY_SPREAD = 1.8, 0.9
SPEAKER_EFFECT, PAIR_EFFECT, UTTERANCE_EFFECT, AUTOCORRELATION = 0.5, 0.35, 0.5, 0.8
# How far six attacks lie from the boundary, where they stay the same.
SIX_ATTACKS = (3.2, 2.6, 2.2, 1.6, 1.0, 0.2)


def heavy_tailed(rng: np.random.Generator, size) -> np.ndarray:
    """Effects with a standard deviation of 1 from t with 3 degrees of freedom."""
    return rng.standard_t(3, size) / sqrt(3)


@cache
def population_scores(attacks: tuple[float, ...] | None, draws: int = 4_000_000) -> tuple[np.ndarray, np.ndarray]:
    """Sorted scores of bona fide and spoofed frames, over all speakers and new (None) or these attacks."""
    rng = np.random.default_rng(9)

    def rest() -> np.ndarray:
        own = SPEAKER_EFFECT * heavy_tailed(rng, draws) + UTTERANCE_EFFECT * rng.normal(size=draws)
        return own + rng.normal(size=draws)

    bona_fide = np.sort(CLASS_MEAN + rest())
    if attacks is None:
        difficulty = CLASS_MEAN + DIFFICULTY_SPREAD * rng.normal(size=draws)
    else:
        difficulty = np.array(attacks)[rng.integers(0, len(attacks), draws)]
    return bona_fide, np.sort(-difficulty + PAIR_EFFECT * heavy_tailed(rng, draws) + rest())


@cache
def population_eer(attacks: tuple[float, ...] | None = None) -> float:
    """The range EER over all speakers and new or these attacks: that of the scores' two distributions."""
    bona_fide, spoof = population_scores(attacks)
    low, high = -5.0, 5.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        fpr, fnr = np.searchsorted(bona_fide, middle) / bona_fide.size, 1 - np.searchsorted(spoof, middle) / spoof.size
        low, high = (middle, high) if fpr < fnr else (low, middle)
    return float(np.searchsorted(bona_fide, low) / bona_fide.size)


class CrossedCorpus:
    """Systems that are equally good over all speakers and attacks, on some of both.

    ``attacks`` are new in each corpus if they are a number; difficulties stay the same, and systems after the first
    have them in another order. ``bits`` rounds scores to 255 levels between -1 and 1. ``spoofed`` is the share of one
    spoofed span in its utterance; without it there are one or two spans of any length. ``shift`` moves spoof away.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        attacks: int | tuple[float, ...],
        speakers: int = 40,
        each: int = 10,
        systems: int = 2,
        *,
        first_speaker: int = 0,
        shift: float = 0.0,
        spoofed: float | None = None,
        bits: bool = False,
    ) -> None:
        self.bits = bits
        self.speaker = np.repeat(np.arange(speakers), each)
        count = self.speaker.size
        self.difficulties = None if isinstance(attacks, int) else np.array(attacks)
        self.attacks = attacks if isinstance(attacks, int) else len(attacks)
        self.attack = rng.permutation(np.arange(count) % self.attacks)
        self.attack[rng.permutation(count)[: count // 5]] = -1
        self.lengths = np.maximum(np.round(rng.gamma(4, 8, count)), 6).astype(np.int64)
        self.offsets = np.concatenate(([0], np.cumsum(self.lengths)))
        self.utterance = np.repeat(np.arange(count), self.lengths)
        self.spoof = np.zeros(self.utterance.size, bool)
        for place in np.flatnonzero(self.attack >= 0).tolist():
            start, end = self.offsets[place : place + 2].tolist()
            if spoofed is not None:
                length = max(round(spoofed * (end - start)), 1)
                first = int(rng.integers(start, end - length + 1))
                self.spoof[first : first + length] = True
                continue
            ends = np.sort(rng.choice(np.arange(start, end + 1), 2 * int(rng.integers(1, 3)), replace=False))
            for first, last in ends.reshape(-1, 2).tolist():
                self.spoof[first:last] = True
        self.first_speaker = first_speaker
        self.names = [f"u{first_speaker:05}-{place:05}" for place in range(count)]
        common = self._effects(rng)
        self.scores = {
            name: self._score(common, self._effects(rng), number, rng, shift)
            for number, name in enumerate("abcdefghijklmnopqrstuvwxyz"[:systems])
        }

    def _effects(self, rng: np.random.Generator) -> list[np.ndarray]:
        """The effects on each frame, each with its standard deviation: difficulties, and all the others."""
        speakers, count = int(self.speaker[-1]) + 1, self.speaker.size
        speaker, attack = self.speaker[self.utterance], self.attack[self.utterance]
        of_speaker = heavy_tailed(rng, (2, speakers))[self.spoof.astype(int), speaker]
        of_pair = heavy_tailed(rng, (speakers, self.attacks))[speaker, attack] * self.spoof
        difficulty = rng.normal(size=self.attacks)[attack] * self.spoof
        noise = rng.normal(size=self.utterance.size)
        step = sqrt(1 - AUTOCORRELATION**2)
        for frame in range(1, int(self.lengths.max())):
            at = self.offsets[:-1][self.lengths > frame] + frame
            noise[at] = AUTOCORRELATION * noise[at - 1] + step * noise[at]
        of_utterance = rng.normal(size=count)[self.utterance]
        return [
            -DIFFICULTY_SPREAD * difficulty * (self.difficulties is None),
            SPEAKER_EFFECT * of_speaker,
            PAIR_EFFECT * of_pair,
            UTTERANCE_EFFECT * of_utterance,
            noise,
        ]

    def _score(self, common, own, number: int, rng: np.random.Generator, shift: float) -> ss.Scores:
        middle = np.where(self.spoof, -CLASS_MEAN - shift, CLASS_MEAN)
        if self.difficulties is not None:
            order = rng.permutation(self.attacks) if number else np.arange(self.attacks)
            middle = np.where(self.spoof, -self.difficulties[order][self.attack[self.utterance]], CLASS_MEAN)
        shared = sum(sqrt(SHARED) * a + sqrt(1 - SHARED) * b for a, b in zip(common, own, strict=True))
        scores = middle + shared
        if self.bits:
            scores = np.round(np.tanh(scores / 4) * 127) / 127
        return ss.Scores.from_columns(self.names, self.offsets, scores, hop=0.02, higher="bonafide")

    @property
    def references(self) -> ss.References:
        frame = np.arange(self.utterance.size) - self.offsets[self.utterance]
        return ss.References.from_columns(
            self.names, self.lengths * NS, self.offsets, frame * NS, (frame + 1) * NS, self.spoof
        )

    @property
    def factors(self) -> dict[str, dict[str, str]]:
        attacks = ["-" if one < 0 else f"A{one:02}" for one in self.attack.tolist()]
        speakers = [f"s{self.first_speaker + one:05}" for one in self.speaker.tolist()]
        return {
            "speaker": dict(zip(self.names, speakers, strict=True)),
            "attack": dict(zip(self.names, attacks, strict=True)),
        }


def quiet(function, *arguments, **more):
    """Call a function whose cautions about few speakers or attacks are no news here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.SpoofspanWarning)
        return function(*arguments, **more)


def new_attacks(attacks: int, number: int) -> dict:
    corpus, truth = CrossedCorpus(np.random.default_rng([10, attacks, number]), attacks), population_eer()
    references, factors, found = corpus.references, corpus.factors, {}
    for some in (["speaker"], ["attack"], ["speaker", "attack"]):
        compared = quiet(ss.compare, references, corpus.scores, clusters={name: factors[name] for name in some})
        one, key = compared.intervals["a"], "by " + " x ".join(some)
        found[f"{key}: covered"] = bool(one.low <= truth <= one.high)
        found[f"{key}: p under 5 %"] = bool(compared["a", "b"].p_value < LEVEL)
    return found


def many_on_new_attacks(number: int) -> dict:
    corpus = CrossedCorpus(np.random.default_rng([11, number]), 13, systems=20)
    found = quiet(ss.compare, corpus.references, corpus.scores, clusters=corpus.factors)
    held = all(one.low == 1 and one.high == 20 for one in found.ranks)
    return {"any pair told apart": any(found.better(one) for one in found.differences), "all ranks held": held}


FIXED_MEASURES = {
    "range-eer": {},
    "point-eer@40ms": {},
    "utterance-eer": {},
    "range-f1": {"threshold": 0.0},
    "range-auc": {},
    "range-fnr@fpr=0.05": {},
    "range-cllr": {"scores_are": "llr"},
    "range-min-dcf": {},
    "range-best-f1": {},
    "range-min-cllr": {},
    "utterance-min-cllr": {},
    "range-calibration-loss": {"scores_are": "llr"},
    "event-ap@iou=0.5": {},
    "event-collar-best-f1": {},
}
FEW_SPOOFS = {"spoofed": 0.05, "bits": True}
OTHER_SPEAKERS = 5000


@cache
def fixed_truth(few: bool) -> dict[str, float]:
    """The value of each measure on many other speakers and the same attacks."""
    made = FEW_SPOOFS if few else {}
    corpus = CrossedCorpus(np.random.default_rng([12, few]), SIX_ATTACKS, OTHER_SPEAKERS, systems=1, **made)
    return {
        name: quiet(ss.evaluate, corpus.references, corpus.scores["a"], [name], **how)[name].value
        for name, how in FIXED_MEASURES.items()
    }


def covered_and_cautioned(key: str, found: ss.Interval, truth: float) -> dict:
    """Whether an interval holds the truth, on which side it misses it, and whether it has a caution."""
    return {
        f"{key}: covered": bool(found.low <= truth <= found.high),
        f"{key}: missed above": bool(truth > found.high),
        f"{key}: cautioned": bool(found.warnings),
    }


def fixed_attacks(few: bool, number: int) -> dict:
    made, truth = FEW_SPOOFS if few else {}, fixed_truth(few)
    corpus = CrossedCorpus(np.random.default_rng([13, few, number]), SIX_ATTACKS, **made)
    references, found = corpus.references, {}
    how = {"clusters": corpus.factors["speaker"], "clusters_are": "speaker"}
    for name, more in FIXED_MEASURES.items():
        one = quiet(ss.interval, references, corpus.scores["a"], name, **how, **more)
        found |= covered_and_cautioned(name, one, truth[name])
    for name in ("range-eer", "range-min-dcf", "utterance-eer"):
        compared = quiet(ss.compare, references, corpus.scores, name, **how)
        found[f"{name}: p under 5 %"] = bool(compared["a", "b"].p_value < LEVEL)
    return found


def calibrated(number: int) -> dict:
    """Scores of utterances whose two normal laws make them log-likelihood ratios, with effects of 40 speakers."""
    rng = np.random.default_rng([14, number])
    speaker, spoof = np.repeat(np.arange(40), 10), np.arange(400) % 2
    distance = -NORMAL.inv_cdf(0.15)
    drawn = sqrt(UTTERANCE_SHARE) * rng.normal(size=(2, 40))[spoof, speaker]
    drawn += sqrt(1 - UTTERANCE_SHARE) * rng.normal(size=400)
    ids = [f"u{place:03}" for place in range(400)]
    labels = {name: "spoof" if one else "bonafide" for name, one in zip(ids, spoof.tolist(), strict=True)}
    clusters = {name: f"s{one}" for name, one in zip(ids, speaker.tolist(), strict=True)}
    ratios = 2 * distance * (np.where(spoof, -distance, distance) + drawn)
    found, how = {}, {"clusters": clusters, "clusters_are": "speaker"}
    for name, factor in (("calibrated", 1.0), ("scores twice too large", 2.0)):
        scores = ss.UtteranceScores(tuple(ids), factor * ratios, higher="bonafide")
        one = quiet(ss.interval, labels, scores, "utterance-calibration-loss", scores_are="llr", **how)
        found |= covered_and_cautioned(f"{name}, calibration loss", one, _calibration_loss(distance, factor))
        if factor == 1:
            one = quiet(ss.interval, labels, scores, "utterance-min-cllr", **how)
            found |= covered_and_cautioned("utterance-min-cllr", one, _cllr(distance, 1.0))
    return found


def _cllr(distance: float, factor: float) -> float:
    """Cllr of scores that are the log-likelihood ratios of two normal laws, times a factor."""
    z = np.linspace(-9, 9, 20_001)
    density = np.exp(-(z**2) / 2)
    costs = np.logaddexp(0, -2 * distance * factor * (distance + z)) / np.log(2)
    return float((density * costs).sum() / density.sum())


def _calibration_loss(distance: float, factor: float) -> float:
    return _cllr(distance, factor) - _cllr(distance, 1.0)


def domains(number: int) -> dict:
    rng = np.random.default_rng([15, number])
    corpora = {
        name: CrossedCorpus(rng, SIX_ATTACKS, 20, 50, first_speaker=100 * place)
        for place, name in enumerate(("dev", "eval"))
    }
    systems = {
        system: {name: (one.references, one.scores[system]) for name, one in corpora.items()} for system in ("a", "b")
    }
    clusters = {name: one.factors["speaker"] for name, one in corpora.items()}
    compared = quiet(compare_domains, systems, dev="dev", clusters=clusters, clusters_are="speaker")
    (apart,) = compared.differences
    cost = next(one for one in compared.tables["a"].domains if one.name == "eval")
    found = {
        "cost of the carried threshold: p under 5 %": bool(cost.intervals.p_value < LEVEL),
        "two systems, these corpora: p under 5 %": bool(apart.p_value < LEVEL),
    }
    truth = fixed_truth(False)["range-eer"]
    found["EER of a corpus: covered"] = bool(cost.intervals.eer.low <= truth <= cost.intervals.eer.high)
    return found


SHIFT = 0.5


def next_corpus(number: int) -> dict:
    rng = np.random.default_rng([16, number])
    shifts = SHIFT * rng.normal(size=6)
    corpora = {f"c{place}": CrossedCorpus(rng, 13, shift=one, systems=2) for place, one in enumerate(shifts[:5])}
    systems = {name: {key: (one.references, one.scores[name]) for key, one in corpora.items()} for name in ("a", "b")}
    clusters = {
        key: {utt: f"{key}-{one}" for utt, one in corpus.factors["speaker"].items()} for key, corpus in corpora.items()
    }
    compared = quiet(compare_domains, systems, clusters=clusters, clusters_are="speaker")
    new, (apart,) = compared.tables["a"].over_corpora, compared.differences
    later = CrossedCorpus(rng, 13, 200, 10, shift=shifts[5], systems=1)
    truth = ss.range_eer(later.references, later.scores["a"]).value
    return {
        "next corpus: covered": bool(new.next_low <= truth <= new.next_high),
        "two systems, new corpora: p under 5 %": bool(apart.new.p_value < LEVEL),
    }


SIMULATIONS: dict[str, tuple[Callable[[int], dict], int]] = {
    "families": (family, 1000),
    "families of 20 utterances": (family_few, 300),
    "ranks": (ranked, 1000),
    "spread": (spread, 20),
    "seeds": (seeded, 1000),
    "power": (powered, 1000),
    "submissions": (submitted, 1000),
    "6 new attacks": (partial(new_attacks, 6), 300),
    "13 new attacks": (partial(new_attacks, 13), 300),
    "40 new attacks": (partial(new_attacks, 40), 300),
    "20 systems, 13 new attacks": (many_on_new_attacks, 300),
    "fixed attacks": (partial(fixed_attacks, False), 300),
    "fixed attacks, 5 % spoof, 8 bits": (partial(fixed_attacks, True), 300),
    "calibrated": (calibrated, 1000),
    "domains": (domains, 1000),
    "next corpus": (next_corpus, 500),
}


def summary(name: str, runs: list[dict]) -> list[str]:
    lines = []
    for key in runs[0]:
        some = [one for one in runs if key in one]  # only the first families have replicates
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

"""Simulate corpora whose true EER is known, to see what share of intervals covers it and how often tests are wrong.

    python benchmarks/coverage.py [--corpora N] [--runs N] [--replicates B] [--only NAME ...]
        [--populations NAME ...] [--json FILE]

Each frame has its own label, half of them spoof. Its score is normal around +d (bona fide) or -d (spoof), moved by an
effect of its speaker and by one of its utterance, each on frames of that class: some speakers are easy to tell from
their spoofs, some are not. The variances add up to 1, so the EER of the population is Phi(-d), in closed form, whatever
the shares a and b of the effects are::

    score = +-d + sqrt(a) * speaker[class] + sqrt(b) * utterance[class] + sqrt(1 - a - b) * noise

``coverage``: in which share of corpora the interval of each bootstrap holds Phi(-d). ``level``: in which share of pairs
of equally good systems the paired test finds a difference at 5 %. ``scales``: the same, the second system on another
scale.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from statistics import NormalDist

import numpy as np
from run import as_text

import spoofspan as ss
from spoofspan.uncertainty.clusters import Resampling, draw_replicates
from spoofspan.uncertainty.comparison import bootstrap_p_value
from spoofspan.uncertainty.eer_replicates import EerReplicates
from spoofspan.uncertainty.intervals import quantiles

EER = 0.15
DISTANCE = -NormalDist().inv_cdf(EER)
NS = 20_000_000
SIMULATIONS = ("coverage", "level", "scales")


@dataclass(frozen=True)
class Population:
    """How a corpus is made."""

    name: str
    speakers: int
    utterances_each: int
    frames_each: int
    speaker_share: float
    utterance_share: float
    bounds: tuple[float, float] | None = None  # of the coverage by speaker or, without speakers, by utterance


POPULATIONS = (
    Population("200 independent utterances", 200, 1, 20, 0.0, 0.3, (0.93, 0.97)),
    Population("20 speakers", 20, 8, 10, 0.15, 0.15),
    Population("48 speakers", 48, 8, 10, 0.15, 0.15),
    Population("200 speakers", 200, 4, 10, 0.15, 0.15),
)


def scores_of(population: Population, rng: np.random.Generator, systems: int = 1, shared: float = 0.0):
    """Labels and the scores of systems; ``shared`` is how much of their effects and noise they have in common."""
    p = population
    shape = (p.speakers, p.utterances_each, p.frames_each)
    spoof = rng.integers(0, 2, shape)
    shares = p.speaker_share, p.utterance_share, 1 - p.speaker_share - p.utterance_share

    def effects() -> np.ndarray:
        # one of each class for a speaker and for an utterance
        parts = (rng.normal(size=(2, *shape[:k], *(1,) * (3 - k))) for k in (1, 2, 3))
        bona_fide, spoofed = sum(sqrt(share) * part for share, part in zip(shares, parts, strict=True))
        return np.where(spoof == 1, spoofed, bona_fide)

    common = effects()
    values = [sqrt(shared) * common + sqrt(1 - shared) * effects() for _ in range(systems)]
    return spoof, [np.where(spoof == 1, -DISTANCE, DISTANCE) + value for value in values]


def mass_of(spoof: np.ndarray, values: np.ndarray, frames_each: int) -> ss.ScoreMass:
    """The corpus as a mass; with one frame per utterance, a bootstrap over utterances is one over frames."""
    count = spoof.size // frames_each
    ids = [f"{i:06d}" for i in range(count)]
    rows = np.arange(spoof.size) % frames_each
    offsets = np.arange(count + 1) * frames_each
    durations = np.full(count, frames_each * NS)
    references = ss.References.from_columns(
        ids, durations, offsets, rows * NS, (rows + 1) * NS, spoof.reshape(-1).astype(bool)
    )
    scores = ss.Scores.from_columns(ids, offsets, values.reshape(-1), hop=0.02, higher="bonafide")
    return ss.overlay(references, scores)


def covered(engine: EerReplicates, how: Resampling) -> tuple[bool, float]:
    low, high = quantiles(draw_replicates([engine], how).values[0], (0.025, 0.975))
    return low <= EER <= high, high - low


@dataclass(frozen=True)
class Result:
    """A share of simulated corpora, and the range it must lie in."""

    name: str
    over: str
    share: float
    runs: int
    width: float | None = None  # mean width of the intervals, in points of EER
    at_least: float | None = None
    at_most: float | None = None

    @property
    def ok(self) -> bool | None:
        if self.at_least is None or self.at_most is None:
            return None
        return self.at_least <= self.share <= self.at_most

    @property
    def standard_error(self) -> float:
        return sqrt(self.share * (1 - self.share) / self.runs)


def coverage(corpora: int, replicates: int, chosen: list[str]) -> Iterator[Result]:
    for population in (one for one in POPULATIONS if one.name in chosen):
        hits: dict[str, list[bool]] = {}
        widths: dict[str, list[float]] = {}
        for number in progress(corpora, population.name):
            rng = np.random.default_rng([1, population.speakers, number])
            spoof, (values,) = scores_of(population, rng)
            mass = mass_of(spoof, values, population.frames_each)
            how = Resampling(replicates=replicates, seed=number)
            engines = {
                "utterances": EerReplicates(mass),
                "frames": EerReplicates(mass_of(spoof, values, 1)),
            }
            if population.utterances_each > 1:
                speaker = np.repeat(np.arange(population.speakers), population.utterances_each)
                engines["speakers"] = EerReplicates(mass, speaker)
            for over, engine in engines.items():
                hit, width = covered(engine, how)
                hits.setdefault(over, []).append(hit)
                widths.setdefault(over, []).append(width)
        for over in ("speakers", "utterances", "frames"):
            if over in hits:
                bounds = population.bounds if over == "utterances" and population.bounds else (None, None)
                share, width = float(np.mean(hits[over])), 100 * float(np.mean(widths[over]))
                yield Result(f"coverage, {population.name}", over, share, corpora, width, *bounds)


def level(runs: int, replicates: int) -> Iterator[Result]:
    yield level_with("same scale", 2, lambda values: values, runs, replicates)


def level_on_scales(runs: int, replicates: int) -> Iterator[Result]:
    # corpora of their own: the same ones would give the same p-values, and say nothing new
    yield level_with("second system on another scale", 3, lambda values: np.exp(3 * values), runs, replicates)


def level_with(scale: str, seed: int, other: Callable[[np.ndarray], np.ndarray], runs: int, replicates: int) -> Result:
    population = Population("null", 200, 1, 10, 0.0, 0.3)
    found = []
    for number in progress(runs, f"level, {scale}"):
        rng = np.random.default_rng([seed, number])
        spoof, (first, second) = scores_of(population, rng, systems=2, shared=0.5)
        masses = [mass_of(spoof, values, population.frames_each) for values in (first, other(second))]
        engines = [EerReplicates(mass) for mass in masses]
        estimate = [float(ss.equal_error_rate(mass).value) for mass in masses]
        values = draw_replicates(engines, Resampling(replicates=replicates, seed=number)).values
        found.append(bootstrap_p_value(estimate[0] - estimate[1], values[0] - values[1]) <= 0.05)
    return Result(f"level of the paired test, {scale}", "utterances", float(np.mean(found)), runs, None, 0.035, 0.065)


def progress(count: int, what: str) -> Iterator[int]:
    start = last = time.monotonic()
    for number in range(count):
        yield number
        if time.monotonic() - last > 20:
            last = time.monotonic()
            left = (last - start) / (number + 1) * (count - number - 1)
            print(f"{what}: {number + 1} of {count}, {left:.0f} s left", file=sys.stderr, flush=True)


def as_rows(results: list[Result]) -> list[list[str]]:
    verdicts = {True: "ok", False: "NO", None: "-"}
    rows = [["simulated", "drawn", "share", "standard error", "runs", "mean width", "must lie in", "ok"]]
    for one in results:
        width = "" if one.width is None else f"{one.width:.2f} points"
        bounds = "" if one.at_least is None else f"{100 * one.at_least:g} to {100 * one.at_most:g} %"
        share, error = f"{100 * one.share:.1f} %", f"{100 * one.standard_error:.1f}"
        rows.append([one.name, one.over, share, error, f"{one.runs:,}", width, bounds, verdicts[one.ok]])
    return rows


def as_markdown(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---|---|---:|---:|---:|---:|---|---|", *lines[1:]])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", type=int, default=2000, help="simulated corpora for the coverage")
    # of 1,000 runs the share has a standard error of 0.7 points, a quarter of the range it must lie in
    parser.add_argument("--runs", type=int, default=3000, help="simulated pairs for the level")
    parser.add_argument("--replicates", type=int, default=999)
    parser.add_argument("--only", nargs="+", choices=SIMULATIONS, default=SIMULATIONS)
    names = [one.name for one in POPULATIONS]
    parser.add_argument("--populations", nargs="+", choices=names, default=names, help="those of the coverage")
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    simulations = {
        "coverage": lambda: coverage(arguments.corpora, arguments.replicates, arguments.populations),
        "level": lambda: level(arguments.runs, arguments.replicates),
        "scales": lambda: level_on_scales(arguments.runs, arguments.replicates),
    }
    results: list[Result] = []
    for name in arguments.only:
        for result in simulations[name]():
            results.append(result)
            # a long run that is stopped has said what it knew
            print(f"{result.name}, over {result.over}: {100 * result.share:.1f} %", file=sys.stderr, flush=True)
    rows = as_rows(results)
    print(as_text(rows), "\n\n", as_markdown(rows), sep="")
    if arguments.json:
        facts = {"replicates": arguments.replicates, "eer": EER}
        lines = [asdict(one) | {"ok": one.ok} for one in results]
        arguments.json.write_text(json.dumps({"settings": facts, "results": lines}, indent=1) + "\n", encoding="utf-8")
    return int(any(one.ok is False for one in results))


if __name__ == "__main__":
    sys.exit(main())

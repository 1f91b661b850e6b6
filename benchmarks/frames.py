"""Why clusters are drawn and never frames: how often the interval of each bootstrap holds the true EER.

    python benchmarks/frames.py [--corpora N] [--replicates B] [--populations NAME ...] [--json FILE]

Each frame has its own label, half of them spoof. Its score is normal around +d (bona fide) or -d (spoof), moved by an
effect of its speaker and by one of its utterance, each on frames of that class: some speakers are easy to tell from
their spoofs, some are not. The variances add up to 1, so the EER of the population is Phi(-d), in closed form, whatever
the shares a and b of the effects are::

    score = +-d + sqrt(a) * speaker[class] + sqrt(b) * utterance[class] + sqrt(1 - a - b) * noise

``coverage.py`` asks how good the intervals are that are drawn by the right clusters.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from statistics import NormalDist

import numpy as np
from run import as_text

import spoofspan as ss
from spoofspan.uncertainty.clusters import Resampling, draw_replicates
from spoofspan.uncertainty.curve_replicates import EerReplicates
from spoofspan.uncertainty.spreads import quantiles

EER = 0.15
DISTANCE = -NormalDist().inv_cdf(EER)
NS = 20_000_000


@dataclass(frozen=True)
class Population:
    """How a corpus is made."""

    name: str
    speakers: int
    utterances_each: int
    frames_each: int
    speaker_share: float
    utterance_share: float
    bounds: tuple[float, float] | None = None  # of the coverage by utterance


POPULATIONS = (
    Population("200 independent utterances", 200, 1, 20, 0.0, 0.3, (0.93, 0.97)),
    Population("20 speakers", 20, 8, 10, 0.15, 0.15),
    Population("48 speakers", 48, 8, 10, 0.15, 0.15),
    Population("200 speakers", 200, 4, 10, 0.15, 0.15),
)


def scores_of(population: Population, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores."""
    p = population
    shape = (p.speakers, p.utterances_each, p.frames_each)
    spoof = rng.integers(0, 2, shape)
    shares = p.speaker_share, p.utterance_share, 1 - p.speaker_share - p.utterance_share
    # one effect of each class for a speaker and for an utterance
    parts = (rng.normal(size=(2, *shape[:k], *(1,) * (3 - k))) for k in (1, 2, 3))
    bona_fide, spoofed = sum(sqrt(share) * part for share, part in zip(shares, parts, strict=True))
    return spoof, np.where(spoof == 1, spoofed - DISTANCE, bona_fide + DISTANCE)


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
    width: float  # mean width of the intervals, in points of EER
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
            spoof, values = scores_of(population, rng)
            mass = mass_of(spoof, values, population.frames_each)
            how = Resampling(replicates=replicates, seed=number, method="percentile")
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
                yield Result(population.name, over, share, corpora, width, *bounds)


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
    rows = [["corpora", "drawn", "share", "standard error", "runs", "mean width", "must lie in", "ok"]]
    for one in results:
        bounds = "" if one.at_least is None else f"{100 * one.at_least:g} to {100 * one.at_most:g} %"
        share, error, width = f"{100 * one.share:.1f} %", f"{100 * one.standard_error:.1f}", f"{one.width:.2f} points"
        rows.append([one.name, one.over, share, error, f"{one.runs:,}", width, bounds, verdicts[one.ok]])
    return rows


def as_markdown(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---|---|---:|---:|---:|---:|---|---|", *lines[1:]])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", type=int, default=2000, help="simulated corpora of each population")
    parser.add_argument("--replicates", type=int, default=999)
    names = [one.name for one in POPULATIONS]
    parser.add_argument("--populations", nargs="+", choices=names, default=names)
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results: list[Result] = []
    for result in coverage(arguments.corpora, arguments.replicates, arguments.populations):
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

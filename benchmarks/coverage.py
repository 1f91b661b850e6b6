"""Simulate corpora whose true values are known: how often intervals hold them, and how often tests are wrong.

    python benchmarks/coverage.py [--only coverage|level] [--grid published|other] [--cells NAME ...]
        [--measures NAME ...] [--method METHOD] [--corpora N] [--pairs N] [--second SHARE [--same-effects]]
        [--json FILE]

What is finished is kept in FILE and not made again: a run that was stopped goes on where it was. Without anything left
to do, it prints the tables.

**Corpora.** Utterances have log-normal lengths (median 12 frames of 20 ms, sigma 0.5). 30 % of them are bona fide (90 %
where 2 % of the time is spoof); in the others a two-state chain goes back and forth between both classes. A score is

    +-d + speaker[class] + utterance[class] + noise

with + for bona fide. The noise has a correlation of 0.6 from a frame to the next and 70 % of the variance; the effects
have the rest, 30 % for the utterance, or 15 % each where there are speakers. All of it is normal with variance 1 in
sum, so the EER of the population is Phi(-d), and F1, FNR at an FPR, minDCF and Cllr have closed forms as well. True
values of points, utterances and events (proposals are what lies beyond 0) come from 300,000 utterances.

The cells of the grid ``other`` are of other sizes, error rates and shares of spoof: what is chosen by looking at cells
(when to caution, which kind of interval) is chosen on them, and what is reported are the published ones.

``bootstrap-t`` draws clusters 199 times, takes the jackknife-t of each draw, and reads its quantiles off (v_b - v) /
se_b on the scale of logits. It is here to be judged; spoofspan has no such method.

**coverage**: in which share of corpora the 95 % interval holds the true value. **level**: in which share of pairs of
equally good systems (half of the variance in common) p is at most 1, 5, 10 and 50 %, and how often interval and p
disagree. With ``--second 0.2``, noise has only 20 % of the second system's variance: its errors pile up in few
utterances and speakers, and it has nothing in common with the first but the corpus; with ``--same-effects`` both err on
the same utterances and speakers, the second one more heavily.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, inf, isnan, log, nan, pi, sqrt
from pathlib import Path
from statistics import NormalDist

import numpy as np
from run import as_text

import spoofspan as ss
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.mass.ranges import TimedPart
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.eer import SAMPLE
from spoofspan.uncertainty.measured_system import MeasuredSystem
from spoofspan.uncertainty.spreads import interval_of_system, quantiles, spread_of

NS = 20_000_000
NORMAL = NormalDist()
NOISE, CORRELATION, SHARED = 0.7, 0.6, 0.5
# In the chain, the class of a frame is drawn anew with this chance, and else that of the frame before.
DRAWN_ANEW = 0.2
LEVELS = (0.01, 0.05, 0.1, 0.5)
BATCH = 25  # corpora between two writings of the file


@dataclass(frozen=True)
class Cell:
    """A kind of corpus."""

    utterances: int
    speakers: int
    eer: float
    spoof: float

    @property
    def name(self) -> str:
        of = f"{self.speakers} speakers x {self.utterances // self.speakers}" if self.speakers else str(self.utterances)
        return f"{of}, EER {100 * self.eer:g} %, {100 * self.spoof:g} % spoof"

    @property
    def distance(self) -> float:
        return -NORMAL.inv_cdf(self.eer)

    @property
    def clusters(self) -> dict[str, str] | None:
        if not self.speakers:
            return None
        return {utterance: f"S{i % self.speakers:03d}" for i, utterance in enumerate(names(self.utterances))}


SIZES = ((200, 0), (480, 48), (200, 10), (1000, 0), (50, 0))
CELLS = [Cell(*size, eer, spoof) for spoof in (0.5, 0.02) for eer in (0.15, 0.01) for size in SIZES]
OTHER_SIZES = ((100, 0), (400, 0), (300, 30), (240, 16))
OTHER_CELLS = [Cell(*size, eer, spoof) for spoof in (0.5, 0.1) for eer in (0.3, 0.05, 0.02) for size in OTHER_SIZES]
GRIDS = {"published": CELLS, "other": OTHER_CELLS}
# How many of the utterances are bona fide, for each share of spoofed time.
PURE = {0.5: 0.3, 0.1: 0.6, 0.02: 0.9}
PAIRS = [Cell(*size, eer, 0.5) for eer in (0.15, 0.01) for size in SIZES[:3]]
# With how many corpora, and the threshold of those that have one.
MEASURES = {
    "range-eer": 1000,
    "utterance-eer": 1000,
    "range-f1": 1000,
    "point-eer@40ms": 300,
    "range-fnr@fpr=0.01": 300,
    "range-min-dcf": 300,
    "range-cllr": 300,
    "event-ap@iou=0.5": 300,
}
SHORT = dict(
    zip(
        MEASURES,
        ("range EER", "utterance EER", "F1", "point EER, 40 ms", "FNR at FPR 1 %", "minDCF", "Cllr", "event AP"),
        strict=True,
    )
)
# The least share of all measures with at least so many intervals without a caution.
FEWEST_PLAIN, PLAIN = 30, "least without a caution"
THRESHOLDS = {"range-f1": 0.0, "event-ap@iou=0.5": 0.0}
DECLARED = {"range-cllr": "llr"}
REPLICATES = {"jackknife-t": 2000, "bca": 2000, "percentile": 199, "bootstrap-t": 199}


def names(count: int) -> list[str]:
    return [f"{i:06d}" for i in range(count)]


def corpus(
    cell: Cell,
    rng: np.random.Generator,
    systems: int = 1,
    frames: float = 12,
    noises: tuple[float, ...] = (),
    same_effects: bool = False,
) -> tuple[ss.References, list[np.ndarray], np.ndarray]:
    """References, the scores of systems, and the offsets of utterances, whose median length is so many frames.

    With ``noises``, the share of the noise in the variance of each system, they have nothing in common, or only what
    speakers and utterances add.
    """
    count = cell.utterances
    lengths = np.maximum(1, np.rint(np.exp(rng.normal(log(frames), 0.5, count)))).astype(np.int64)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    utterance = np.repeat(np.arange(count), lengths)
    place = np.arange(offsets[-1]) - offsets[utterance]
    pure = PURE[cell.spoof]
    anew = (rng.random(place.size) < DRAWN_ANEW) | (place == 0)
    drawn = rng.random(place.size) < cell.spoof / (1 - pure)
    last = np.maximum.accumulate(np.where(anew, np.arange(place.size), 0))
    spoof = drawn[last] & (rng.random(count) >= pure)[utterance]
    speaker = np.arange(count) % cell.speakers if cell.speakers else None

    held: list[np.ndarray] = []

    def effects() -> np.ndarray:
        of_class = spoof.astype(np.int64)
        if speaker is None:
            return rng.normal(size=(2, count))[of_class, utterance]
        moved = rng.normal(size=(2, cell.speakers))[of_class, speaker[utterance]]
        return (moved + rng.normal(size=(2, count))[of_class, utterance]) / sqrt(2)

    def parts(share: float = NOISE) -> np.ndarray:
        if not (held and same_effects):
            held[:] = [effects()]
        noise = rng.normal(size=place.size)
        for k in range(1, int(lengths.max())):
            rows = np.flatnonzero(place == k)
            noise[rows] = CORRELATION * noise[rows - 1] + sqrt(1 - CORRELATION**2) * noise[rows]
        return sqrt(1 - share) * held[0] + sqrt(share) * noise

    mean = np.where(spoof, -cell.distance, cell.distance)
    if noises:
        values = [mean + parts(one) for one in noises]
    elif systems == 1:
        values = [mean + parts()]
    else:
        common = parts()
        values = [mean + sqrt(SHARED) * common + sqrt(1 - SHARED) * parts() for _ in range(systems)]
    references = ss.References.from_columns(names(count), lengths * NS, offsets, place * NS, (place + 1) * NS, spoof)
    return references, values, offsets


def scored(values: np.ndarray, offsets: np.ndarray) -> ss.Scores:
    return ss.Scores.from_columns(names(offsets.size - 1), offsets, values, hop=0.02, higher="bonafide")


# ---------------------------------------------------------------- true values


def true_value(cell: Cell, measure: str) -> float | None:
    """The value of the population in closed form; None where there is none."""
    d, e = cell.distance, cell.eer
    if measure == "range-eer":
        return e
    if measure == "range-f1":  # at 0: both rates are those of the EER
        found = cell.spoof * (1 - e)
        return 2 * found / (found + (1 - cell.spoof) * e + cell.spoof)
    if measure == "range-fnr@fpr=0.01":
        return 1 - NORMAL.cdf(d + NORMAL.inv_cdf(0.01) + d)
    if measure == "range-min-dcf":  # where the densities, times their costs, are equal
        of_misses, of_false_alarms = 0.95 * 1, 0.05 * 10
        tau = -log(of_misses / of_false_alarms) / (2 * d)
        cost = of_misses * NORMAL.cdf(tau - d) + of_false_alarms * (1 - NORMAL.cdf(tau + d))
        return min(1.0, cost / min(of_misses, of_false_alarms))
    if measure == "range-cllr":  # the same of both classes, by symmetry
        x = np.linspace(-12, 12, 200_001)
        density = np.exp(-x * x / 2) / sqrt(2 * pi)
        return float((density * np.logaddexp(0, -(x + d))).sum() * (x[1] - x[0]) / log(2))
    return None


def simulated_value(cell: Cell, measure: str) -> float:
    """The value on 300,000 utterances; speakers do not matter, the variances are the same."""
    rng = np.random.default_rng([4, int(1000 * cell.eer), int(1000 * cell.spoof)])
    references, (values,), offsets = corpus(Cell(300_000, 0, cell.eer, cell.spoof), rng)
    found = ss.evaluate(references, scored(values, offsets), [measure], threshold=THRESHOLDS.get(measure))
    return found[measure].value


# ---------------------------------------------------------------- what is counted


class Store:
    """Counts of what is finished, in a file that is never half-written."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.content = json.loads(path.read_text()) if path and path.exists() else {"truth": {}, "counts": {}}

    def counts(self, key: str) -> Counter:
        return Counter(self.content["counts"].get(key, {}))

    def keep(self, key: str, counts: Counter) -> None:
        self.content["counts"][key] = dict(counts)
        self.write()

    def truth(self, cell: Cell, measure: str) -> float:
        exact = true_value(cell, measure)
        if exact is not None:
            return exact
        key = f"{measure}, EER {cell.eer:g}, spoof {cell.spoof:g}"
        if key not in self.content["truth"]:
            self.content["truth"][key] = simulated_value(cell, measure)
            self.write()
        return self.content["truth"][key]

    def write(self) -> None:
        if self.path is not None:
            draft = self.path.with_suffix(".part")
            draft.write_text(json.dumps(self.content, indent=1) + "\n")
            draft.replace(self.path)


class Held(ScoreMass):
    """A small mass of one part, computed once: otherwise it is laid over anew each time that it is looked at."""

    def blocks(self) -> Iterator:
        return iter(self._blocks)

    def sample(self, size: int) -> tuple[np.ndarray, ...]:
        return self._sample if size == SAMPLE else super().sample(size)

    @cached_property
    def _blocks(self) -> list:
        return list(super().blocks())

    @cached_property
    def _sample(self) -> tuple[np.ndarray, ...]:
        return super().sample(SAMPLE)


class HeldPart:
    """The part of such a mass."""

    def __init__(self, part: TimedPart) -> None:
        self.part, self.utterances, self.dtype = part, part.utterances, part.dtype
        self._blocks = list(part.utterance_blocks())

    def blocks(self) -> Iterator:
        return self.part.blocks()

    def sample(self, size: int) -> tuple[np.ndarray, ...]:
        return self.part.sample(size)

    def utterance_blocks(self) -> Iterator:
        return iter(self._blocks)


class Measurer:
    """Measures a small corpus by several measures; those of one basis share their mass."""

    def __init__(self, references: ss.References, scores: ss.Scores) -> None:
        self.references, self.scores = references, scores
        self._masses: dict[tuple, ScoreMass] = {}

    def system(self, measure: str, *, held: bool = True) -> MeasuredSystem:
        threshold, parsed = THRESHOLDS.get(measure), ss.Measure.parse(measure)
        options = EvaluationOptions(threshold=threshold, scores_are=DECLARED.get(measure))
        plan = options.plan(parsed, self.scores.hop)
        key = parsed.basis, parsed.resolution, held
        if key not in self._masses:
            mass, _ = plan.mass(self.references, self.scores)
            if held:
                (part,) = mass.parts
                mass = Held((HeldPart(part),), mass.higher, mass.unit, mass.uncovered, mass.basis)
            self._masses[key] = mass
        found = plan.value(self._masses[key])
        return MeasuredSystem(plan, self._masses[key], float(found.value), found_at=found.point)

    def interval(
        self, measure: str, clusters: dict[str, str] | None, method: str = "jackknife-t", seed: int = 0
    ) -> ss.Interval:
        """The 95 % interval of a measure."""
        if method == "bootstrap-t":
            return bootstrap_t(self.references, self.scores, measure, clusters, np.random.default_rng(seed))
        how = ss.Resampling(clusters, method=method, replicates=REPLICATES[method], seed=seed)
        if not measure.startswith("event-"):
            return interval_of_system(self.system(measure, held=not how.draws), how)
        threshold = THRESHOLDS[measure]
        found = ss.evaluate(self.references, self.scores, [measure], threshold=threshold, resampling=how)
        return found[measure].interval


def bootstrap_t(
    references: ss.References,
    scores: ss.Scores,
    measure: str,
    clusters: dict[str, str] | None,
    rng: np.random.Generator,
) -> ss.Interval:
    """The jackknife-t interval, with the quantiles of t taken from draws of clusters."""
    whole = Measurer(references, scores).interval(measure, clusters)
    if isnan(whole.low) or not 0 < whole.estimate < 1:
        return whole
    of_utterance = np.array([i if clusters is None else clusters[utt] for i, utt in enumerate(references.utterances)])
    members = [np.flatnonzero(of_utterance == one) for one in np.unique(of_utterance)]

    def logit(one: ss.Interval) -> tuple[float, float]:
        value = one.estimate
        return log(value / (1 - value)), one.standard_error / (value * (1 - value))

    middle, error = logit(whole)
    ratios = []
    for _ in range(REPLICATES["bootstrap-t"]):
        drawn = [members[i] for i in rng.integers(0, len(members), len(members))]
        rows = np.concatenate(drawn)
        names_ = names(rows.size)
        unit = np.repeat(np.arange(len(drawn)), [one.size for one in drawn])
        again = dict(zip(names_, (f"{i:04d}" for i in unit.tolist()), strict=True))
        parts = [replace(one.take(rows), utterances=tuple(names_)) for one in (references, scores)]
        try:
            one = Measurer(*parts).interval(measure, again if clusters is not None else None)
        except ss.UndefinedMeasureError:
            continue
        if isnan(one.standard_error):
            continue
        if not 0 < one.estimate < 1 or not one.standard_error:
            ratios.append(inf if one.estimate > whole.estimate else -inf)
            continue
        place, spread = logit(one)
        ratios.append((place - middle) / spread)
    if len(ratios) < 100:
        return replace(whole, low=nan, high=nan)
    low, high = (middle - t * error for t in quantiles(np.array(ratios), (0.975, 0.025)))
    return replace(whole, low=1 / (1 + exp(min(-low, 700))), high=1 / (1 + exp(min(-high, 700))))


def cover(cell: Cell, measures: list[str], numbers: range, method: str, truths: dict[str, float]) -> dict[str, Counter]:
    """Measure some corpora of a cell."""
    found = {measure: Counter() for measure in measures}
    for number in numbers:
        rng = np.random.default_rng(
            [1, cell.utterances, cell.speakers, int(1000 * cell.eer), int(1000 * cell.spoof), number]
        )
        references, (values,), offsets = corpus(cell, rng)
        measurer = Measurer(references, scored(values, offsets))
        for measure, counts in found.items():
            counts["runs"] += 1
            try:
                one = measurer.interval(measure, cell.clusters, method, number)
            except ss.UndefinedMeasureError:
                counts["undefined"] += 1
                continue
            if isnan(one.low):
                counts["refused"] += 1
                continue
            truth = truths[measure]
            held = one.low <= truth <= one.high
            counts["held"] += held
            counts["below"] += truth < one.low
            counts["cautioned"] += bool(one.warnings)
            counts["held without caution"] += held and not one.warnings
            counts["width"] += one.high - one.low
            counts["no error"] += one.estimate == 0
    return found


def null_pairs(
    cell: Cell, numbers: range, method: str, second: float | None = None, same_effects: bool = False
) -> Counter:
    """Compare equally good systems; the second one on another scale, or with so much noise."""
    counts: Counter = Counter()
    for number in numbers:
        rng = np.random.default_rng([2, cell.utterances, cell.speakers, int(1000 * cell.eer), number])
        noises = () if second is None else (NOISE, second)
        references, (one, other), offsets = corpus(cell, rng, systems=2, noises=noises, same_effects=same_effects)
        how = ss.Resampling(cell.clusters, method=method, replicates=REPLICATES[method], seed=number)
        both = scored(one, offsets), scored(np.exp(3 * other), offsets)
        systems = {
            name: Measurer(references, scores).system("range-eer", held=not how.draws)
            for name, scores in zip("AB", both, strict=True)
        }
        interval, p_value = spread_of(systems, how).difference(0, 1)
        counts["runs"] += 1
        for level in LEVELS:
            counts[f"{level:g}"] += p_value <= level
        excluded = not interval.low <= 0 <= interval.high
        counts["disagree"] += excluded != (p_value < 1 - how.confidence)
    return counts


# ---------------------------------------------------------------- runs and tables


def rounds(most: int, step: int) -> Iterator[int]:
    """Ever more corpora: all cells have some before any has all."""
    yield from (min(done, most) for done in range(step, most + step, step))


def run_coverage(store: Store, cells: list[Cell], measures: list[str], method: str, most: int | None) -> None:
    wanted = {measure: min(MEASURES[measure], most or MEASURES[measure]) for measure in measures}
    for target in rounds(max(wanted.values()), 100):
        for cell in cells:
            keys = {one: f"coverage, {method}, {cell.name}, {one}" for one in measures}
            counts = {one: store.counts(key) for one, key in keys.items()}
            truths = {one: store.truth(cell, one) for one in measures}
            started = time.monotonic()
            while True:
                # measures that are equally far share their corpora
                behind = {
                    one: counts[one]["runs"] for one in measures if counts[one]["runs"] < min(target, wanted[one])
                }
                if not behind:
                    break
                first = min(behind.values())
                together = [one for one, done in behind.items() if done == first]
                numbers = range(first, min(first + BATCH, *(min(target, wanted[one]) for one in together)))
                for one, more in cover(cell, together, numbers, method, truths).items():
                    counts[one].update(more)
                    store.keep(keys[one], counts[one])
            say(f"{cell.name}: {target} corpora", started)


def level_key(cell: Cell, method: str, second: float | None, same_effects: bool = False) -> str:
    other = f", second {second:g}" if second is not None else ""
    return f"level, {method}, {cell.name}{other}{', same effects' * same_effects}"


def run_level(
    store: Store, cells: list[Cell], method: str, most: int, second: float | None, same_effects: bool
) -> None:
    for target in rounds(most, 500):
        for cell in cells:
            key = level_key(cell, method, second, same_effects)
            counts = store.counts(key)
            started = time.monotonic()
            while counts["runs"] < target:
                first = counts["runs"]
                counts.update(null_pairs(cell, range(first, min(first + BATCH, target)), method, second, same_effects))
                store.keep(key, counts)
            say(f"{cell.name}: {target} pairs", started)


def say(text: str, started: float) -> None:
    seconds = time.monotonic() - started
    if seconds > 1:
        print(f"{text} ({seconds:.0f} s)", file=sys.stderr, flush=True)


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def coverage_rows(store: Store, cells: list[Cell], method: str) -> list[list[str]]:
    rows = [
        [
            "corpora",
            "measure",
            "runs",
            "held %",
            "cautioned %",
            "refused %",
            "without caution: runs",
            "held %",
            "mean width",
        ]
    ]
    for cell in cells:
        for measure in MEASURES:
            counts = store.counts(f"coverage, {method}, {cell.name}, {measure}")
            runs = counts["runs"]
            given = runs - counts["refused"] - counts["undefined"]
            if not given:
                continue
            plain = given - counts["cautioned"]
            shares = (counts["held"] / given, counts["cautioned"] / runs, (runs - given) / runs)
            alone = percent(counts["held without caution"] / plain) if plain else ""
            width = f"{counts['width'] / given:.4f}"
            rows.append([cell.name, measure, f"{runs:,}", *map(percent, shares), f"{plain:,}", alone, width])
    return rows


def published_rows(store: Store, cells: list[Cell], method: str) -> list[list[str]]:
    """A row for each cell, as in docs/coverage.md: the share held by each measure, and how many were cautioned."""
    rows = [["corpora", "runs", *SHORT.values(), "cautioned, of ranges", "of utterances", "refused", PLAIN]]
    for cell in cells:
        found = {one: store.counts(f"coverage, {method}, {cell.name}, {one}") for one in MEASURES}
        runs = sorted({counts["runs"] for counts in found.values() if counts["runs"]})
        if not runs:
            continue
        held, plain = [], {}
        for one, counts in found.items():
            given = counts["runs"] - counts["refused"] - counts["undefined"]
            held.append(percent(counts["held"] / given) if given else "")
            if given - counts["cautioned"] >= FEWEST_PLAIN:
                plain[one] = counts["held without caution"] / (given - counts["cautioned"])
        least = min(plain, key=plain.__getitem__, default=None)
        shares = [
            f"{100 * sum(found[one][key] for key in keys) / max(found[one]['runs'], 1):.0f} %"
            for one, *keys in (
                ("range-eer", "cautioned"),
                ("utterance-eer", "cautioned"),
                ("range-eer", "refused", "undefined"),
            )
        ]
        number = " to ".join(f"{one:,}" for one in dict.fromkeys((runs[0], runs[-1])))
        rows.append([cell.name, number, *held, *shares, f"{percent(plain[least])} ({SHORT[least]})" if least else ""])
    return rows


def level_rows(
    store: Store, cells: list[Cell], method: str, second: float | None = None, same_effects: bool = False
) -> list[list[str]]:
    rows = [["pairs", "runs", *(f"p <= {100 * level:g} %" for level in LEVELS), "interval and p disagree"]]
    for cell in cells:
        counts = store.counts(level_key(cell, method, second, same_effects))
        if counts["runs"]:
            shares = (percent(counts[f"{level:g}"] / counts["runs"]) for level in LEVELS)
            rows.append([cell.name, f"{counts['runs']:,}", *shares, str(counts["disagree"])])
    return rows


def as_markdown(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=("coverage", "level"), default=("coverage", "level"))
    parser.add_argument("--grid", choices=list(GRIDS), default="published", help="which cells")
    parser.add_argument("--cells", nargs="+", metavar="TEXT", help="only those whose name contains one of these")
    parser.add_argument("--measures", nargs="+", choices=list(MEASURES), default=list(MEASURES))
    parser.add_argument("--method", choices=list(REPLICATES), default="jackknife-t")
    parser.add_argument("--corpora", type=int, help="at most so many; default: 1,000, of slower measures 300")
    parser.add_argument("--pairs", type=int, default=4000)
    parser.add_argument(
        "--second", type=float, help="the share of noise in the second system of a pair; default: alike"
    )
    parser.add_argument("--same-effects", action="store_true", help="with --second: both err on the same speakers")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where finished corpora are counted")
    parser.add_argument("--markdown", action="store_true", help="the tables of docs/coverage.md")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")

    def chosen(cells: list[Cell]) -> list[Cell]:
        return [one for one in cells if not arguments.cells or any(text in one.name for text in arguments.cells)]

    store = Store(arguments.json)
    pairs = chosen(PAIRS if arguments.grid == "published" else [one for one in OTHER_CELLS if one.spoof == 0.5])
    if "level" in arguments.only:
        run_level(store, pairs, arguments.method, arguments.pairs, arguments.second, arguments.same_effects)
    if "coverage" in arguments.only:
        run_coverage(store, chosen(GRIDS[arguments.grid]), arguments.measures, arguments.method, arguments.corpora)
    render: Callable[[list[list[str]]], str] = as_markdown if arguments.markdown else as_text
    rows = published_rows if arguments.markdown else coverage_rows
    print(render(rows(store, chosen(GRIDS[arguments.grid]), arguments.method)), end="\n\n")
    print(render(level_rows(store, pairs, arguments.method, arguments.second, arguments.same_effects)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

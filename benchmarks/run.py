"""Measure the figures the package promises, as ratios within one run.

    python benchmarks/run.py [--scale S] [--only NAME ...] [--json FILE] [--readme]

Every repetition of every contender gets fresh copies of its inputs, so nothing is cached between calls. The
contenders of a figure take turns, and the best time of each is kept: a ratio compares what the machine could
do in the same minute. Building the references and the scores, with their validation, is always inside the
measured time of the package.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from corpus import Corpus, generate, samples_under_frames

HERE = Path(__file__).resolve().parent
RESOLUTIONS_MS = (10, 20, 40, 80, 160, 320, 640)
SYSTEMS = 6  # of a table
OVER_THRESHOLDS = ("eer", "auc", "min-dcf", "best-f1", "average-precision", "min-cllr")
WORST_TIES = (2, 9, "all-equal", "saturated")
NOT_IMPORTED = ("torch", "matplotlib", "dask", "pyarrow", "pandas", "scipy")
RESULTS = ("<!-- results: begin -->", "<!-- results: end -->")
S = TypeVar("S")  # what the figures of one benchmark share


# --- What is measured -------------------------------------------------------------------------------------


def range_eer(corpus: Corpus) -> Any:
    """From columns to the exact range EER."""
    import spoofspan as ss

    return ss.range_eer(corpus.references(ss), corpus.scores(ss))


def histogram_eer(corpus: Corpus) -> Any:
    """The same by the mergeable histogram alone, without a guess of where the crossing is."""
    import spoofspan.measures.eer

    mass = spoofspan.overlay(corpus.references(spoofspan), corpus.scores(spoofspan))
    return spoofspan.measures.eer.crossing(mass, guess=False)


def point_eer(corpus: Corpus, resolution: float) -> Any:
    """From columns to the point EER at a resolution."""
    import spoofspan as ss

    return ss.point_eer(corpus.references(ss), corpus.scores(ss), resolution=resolution)


def read_once(corpus: Corpus) -> None:
    """The baseline: `np.sum` of all input arrays."""
    for array in corpus.inputs():
        np.sum(array)


# --- Figures ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """One line of the table: a ratio (or a count, or a difference) and what it must reach."""

    name: str
    value: float | None
    """None: the figure failed, the note says why."""
    against: str
    at_most: float | None = None
    at_least: float | None = None
    aim: float | None = None
    note: str = ""

    @property
    def ok(self) -> bool | None:
        """Whether the bound is met; None without a bound, False if the figure failed."""
        if self.value is None:
            return False
        if self.at_most is None and self.at_least is None:
            return None
        return (self.at_most is None or self.value <= self.at_most) and (
            self.at_least is None or self.value >= self.at_least
        )

    @property
    def must_reach(self) -> str:
        """The bound in words."""
        words = []
        if self.at_most is not None:
            words.append(f"at most {self.at_most:g}")
        if self.at_least is not None:
            words.append(f"at least {self.at_least:g}")
        if self.aim is not None:
            words.append(f"aim {self.aim:g}")
        return ", ".join(words)


@dataclass
class Setting:
    """What all figures share."""

    scale: float
    repetitions: int

    @cached_property
    def untied(self) -> Corpus:
        return generate(self.scale, "none")

    @cached_property
    def mixed(self) -> Corpus:
        return self.untied.with_ties("mixed")


Contender = tuple[Callable[[Corpus], Any], Corpus]


def race(repetitions: int, **contenders: Contender) -> dict[str, float]:
    """Best CPU time of each contender; they take turns, each on a fresh copy of its corpus."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(repetitions):
        for name, (work, corpus) in contenders.items():
            inputs = corpus.fresh()
            gc.collect()
            start = time.process_time()
            work(inputs)
            best[name] = min(best[name], time.process_time() - start)
    return best


def frames(setting: Setting) -> Iterator[Figure]:
    best = race(setting.repetitions, read=(read_once, setting.mixed), eer=(range_eer, setting.mixed))
    yield Figure("range EER, frames", best["eer"] / best["read"], "np.sum of the inputs", 25, aim=18)


def histogram(setting: Setting) -> Iterator[Figure]:
    best = race(setting.repetitions, read=(read_once, setting.mixed), eer=(histogram_eer, setting.mixed))
    yield Figure("range EER, mergeable histogram", best["eer"] / best["read"], "np.sum of the inputs", 40)


def order(setting: Setting) -> Iterator[Figure]:
    other = setting.mixed.reordered()
    best = race(setting.repetitions, read=(read_once, other), eer=(range_eer, other))
    yield Figure("range EER, frames in another order", best["eer"] / best["read"], "np.sum of the inputs", 25)


def ranges(setting: Setting) -> Iterator[Figure]:
    corpus = setting.mixed.as_ranges()
    best = race(setting.repetitions, read=(read_once, corpus), eer=(range_eer, corpus))
    yield Figure(
        "range EER, scores in ranges",
        best["eer"] / best["read"],
        "np.sum of the inputs",
        30,
        note=f"{len(corpus.values):,} ranges",
    )


def roc(setting: Setting) -> Iterator[Figure]:
    """Time of `roc_curve` and the choice of the threshold only: its weights are computed beforehand."""
    from sklearn.metrics import roc_curve

    corpus = setting.mixed
    bona_fide, spoof = samples_under_frames(corpus)
    has_bona_fide, has_spoof = bona_fide > 0, spoof > 0
    spoofness = -np.concatenate([corpus.values[has_bona_fide], corpus.values[has_spoof]])
    weights = np.concatenate([bona_fide[has_bona_fide], spoof[has_spoof]]).astype(np.float64)
    is_spoof = np.arange(len(weights)) >= np.count_nonzero(has_bona_fide)
    values: dict[str, float] = {}

    def by_roc_curve(_: Corpus) -> None:
        false_positive, true_positive, _thresholds = roc_curve(
            is_spoof, spoofness, sample_weight=weights, drop_intermediate=False
        )
        false_negative = 1 - true_positive
        nearest = np.argmin(np.abs(false_positive - false_negative))
        values["roc"] = float(false_positive[nearest] + false_negative[nearest]) / 2

    def by_package(inputs: Corpus) -> None:
        values["eer"] = float(range_eer(inputs).value)

    best = race(min(3, setting.repetitions), roc=(by_roc_curve, corpus), eer=(by_package, corpus))
    yield Figure(
        "range EER, frames: times faster",
        best["roc"] / best["eer"],
        "weighted roc_curve",
        at_least=25,
        note="the weights of roc_curve are not in its time",
    )
    difference = abs(values["roc"] - values["eer"])
    yield Figure("range EER, frames: difference", difference, "weighted roc_curve", 1e-9)


def ties(setting: Setting) -> Iterator[Figure]:
    tied = {str(kind): (range_eer, setting.untied.with_ties(kind)) for kind in WORST_TIES}
    best = race(setting.repetitions, none=(range_eer, setting.untied), **tied)
    for kind in tied:
        name = f"ties: {kind}" if not kind.isdigit() else f"ties: {kind} distinct values"
        yield Figure(name, best[kind] / best["none"], "range EER, untied", 2)


def memory(setting: Setting) -> Iterator[Figure]:
    for kind, bound in (("frames", 0.5), ("ranges", 0.5)):
        # With fixed thresholds glibc gives freed blocks back at once, so that the peak of the resident memory
        # is not hidden by what generating the corpus left behind.
        environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}
        code = f"import run; run.print_extra_memory({kind!r}, {setting.scale!r})"
        peak = json.loads(_python(code, environment))
        resident = peak["resident"]
        yield Figure(
            f"extra memory at peak, {kind}",
            peak["traced"],
            "bytes of the inputs",
            bound,
            note="" if resident is None else f"resident: {resident:.3g}",
        )


def growth(setting: Setting) -> Iterator[Figure]:
    large = generate(10 * setting.scale)
    repetitions = min(3, setting.repetitions)
    best = race(repetitions, once=(range_eer, setting.mixed), ten=(range_eer, large))
    yield Figure("10x the data", best["ten"] / best["once"], "range EER, frames", 12)


def points(setting: Setting) -> Iterator[Figure]:
    def at(milliseconds: int) -> Contender:
        return lambda corpus: point_eer(corpus, milliseconds / 1000), setting.mixed

    resolutions = {f"{milliseconds} ms": at(milliseconds) for milliseconds in RESOLUTIONS_MS}
    best = race(min(3, setting.repetitions), read=(read_once, setting.mixed), **resolutions)
    for name in resolutions:
        bound = 95 if name == "10 ms" else None
        yield Figure(f"point EER at {name}", best[name] / best["read"], "np.sum of the inputs", bound)


def table(setting: Setting) -> Iterator[Figure]:
    """A table of six systems, each with its range EER and point EERs at seven resolutions, signed."""

    def made(corpus: Corpus) -> Any:
        import spoofspan as ss

        systems = {f"{i}": replace(corpus, values=corpus.values + np.float32(i / 8)).scores(ss) for i in range(SYSTEMS)}
        return ss.resolution_table(corpus.references(ss), systems)

    best = race(min(3, setting.repetitions), read=(read_once, setting.mixed), table=(made, setting.mixed))
    ratio = best["table"] / best["read"] / SYSTEMS
    yield Figure("table of 6 systems x 8 columns, each system", ratio, "np.sum of the inputs", 400)


def several(setting: Setting) -> Iterator[Figure]:
    """Six measures over all thresholds share one sorted curve."""

    def taking(*measures: str) -> Contender:
        def work(corpus: Corpus) -> Any:
            import spoofspan as ss

            return ss.evaluate(corpus.references(ss), corpus.scores(ss), measures)

        return work, setting.mixed

    alone = {name: taking(f"range-{name}") for name in OVER_THRESHOLDS}
    together = taking(*(f"range-{name}" for name in OVER_THRESHOLDS))
    best = race(min(3, setting.repetitions), together=together, **alone)
    dearest = max(alone, key=best.__getitem__)
    yield Figure(
        f"{len(alone)} measures over all thresholds in one evaluate",
        best["together"] / best[dearest],
        f"range-{dearest} alone",
        1.4,
    )


def imports(setting: Setting) -> Iterator[Figure]:
    loaded = json.loads(_python("import spoofspan, sys, json; print(json.dumps(sorted(sys.modules)))"))
    found = [name for name in NOT_IMPORTED if name in loaded]
    yield Figure(
        "import spoofspan: heavy modules imported",
        float(len(found)),
        "",
        0,
        note=", ".join(found) or "none of " + ", ".join(NOT_IMPORTED),
    )
    best = {"numpy": float("inf"), "spoofspan": float("inf")}
    for _ in range(setting.repetitions):
        for name in best:
            code = f"import time; t = time.perf_counter(); import {name}; print(time.perf_counter() - t)"
            best[name] = min(best[name], float(_python(code)))
    yield Figure("import spoofspan: time", best["spoofspan"] / best["numpy"], "import numpy", 1.5)


FIGURES: dict[str, Callable[[Setting], Iterator[Figure]]] = {
    "frames": frames,
    "histogram": histogram,
    "order": order,
    "roc": roc,
    "ranges": ranges,
    "ties": ties,
    "memory": memory,
    "growth": growth,
    "points": points,
    "table": table,
    "several": several,
    "import": imports,
}


# --- Memory, measured in a process of its own -------------------------------------------------------------


def print_extra_memory(kind: str, scale: float) -> None:
    """Print what building and `range_eer` need at peak, in bytes of the inputs, as JSON."""
    warnings.simplefilter("ignore")
    range_eer(generate(0.01))  # what is imported or allocated once is no cost of the data
    corpus = generate(scale)
    if kind == "ranges":
        corpus = corpus.as_ranges()
    gc.collect()
    resident = _extra_resident_bytes(corpus)
    inputs = corpus.fresh()
    gc.collect()
    tracemalloc.start()  # NumPy reports its arrays to it
    before = tracemalloc.get_traced_memory()[0]
    range_eer(inputs)
    traced = tracemalloc.get_traced_memory()[1] - before
    ratios = {"traced": traced / corpus.nbytes, "resident": resident and resident / corpus.nbytes}
    print(json.dumps(ratios))


def _extra_resident_bytes(corpus: Corpus) -> int | None:
    """Growth of the resident set at its peak; None where the system cannot reset the peak (Linux can)."""
    try:
        inputs = corpus.fresh()
        Path("/proc/self/clear_refs").write_text("5")
        before = _status_bytes("VmRSS")
        range_eer(inputs)
        return _status_bytes("VmHWM") - before
    except OSError:
        return None


def _status_bytes(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"no {field} in /proc/self/status")


def _python(code: str, environment: dict[str, str] | None = None) -> str:
    """Standard output of a fresh interpreter that sees this directory."""
    environment = dict(environment or os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [environment.get("PYTHONPATH"), str(HERE)]))
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
    return done.stdout


# --- Output -----------------------------------------------------------------------------------------------


def machine(scale: float) -> dict[str, Any]:
    """Facts a reader needs beside the ratios."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    facts: dict[str, Any] = {
        "scale": scale,
        "cores": cores,
        "machine": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    try:
        import sklearn
    except ImportError:
        return facts
    return facts | {"scikit-learn": sklearn.__version__}


def as_rows(figures: list[Figure]) -> list[list[str]]:
    """Header and one row of text for each figure."""
    verdicts = {True: "ok", False: "NO", None: "-"}
    rows = [["figure", "measured", "against", "must reach", "ok", "note"]]
    for figure in figures:
        value = "-" if figure.value is None else f"{figure.value:.3g}"
        rows.append([figure.name, value, figure.against, figure.must_reach, verdicts[figure.ok], figure.note])
    return rows


def as_text(rows: list[list[str]]) -> str:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def as_markdown(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---|---:|---|---|---|---|", *lines[1:]])


def as_json(facts: dict[str, Any], figures: list[Figure]) -> str:
    """One JSON object, a line for each figure."""
    lines = [json.dumps(asdict(figure) | {"ok": figure.ok}) for figure in figures]
    return f'{{"machine": {json.dumps(facts)},\n"figures": [\n' + ",\n".join(lines) + "\n]}"


def write_into_readme(facts: str, table: str, markers: tuple[str, str] = RESULTS) -> None:
    """Replace what stands between the two markers of README.md."""
    readme = HERE / "README.md"
    before, _, rest = readme.read_text(encoding="utf-8").partition(markers[0])
    _, _, after = rest.partition(markers[1])
    readme.write_text(f"{before}{markers[0]}\n{facts}\n\n{table}\n{markers[1]}{after}", encoding="utf-8")


def options(about: str, names: Iterable[str]) -> argparse.ArgumentParser:
    """The options that all benchmarks have."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--scale", type=float, default=1.0, help="size of the corpus, 1 = 12.46 M frames")
    parser.add_argument("--only", nargs="+", choices=list(names), metavar="NAME", help=", ".join(names))
    parser.add_argument("--repetitions", type=int, default=5, help="the best of so many (default 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the JSON here, do not print it")
    parser.add_argument("--readme", action="store_true", help="put the table into benchmarks/README.md")
    return parser


def run(
    arguments: argparse.Namespace,
    makers: Mapping[str, Callable[[S], Iterator[Figure]]],
    setting: S,
    markers: tuple[str, str] = RESULTS,
) -> int:
    """Measure and print the figures; 1 if one of them fails or misses its bound at full size."""
    warnings.simplefilter("ignore")  # few distinct scores warn, and are measured on purpose
    facts = machine(arguments.scale)
    facts_line = ", ".join(f"{name} {value}" for name, value in facts.items())
    print(facts_line + "\n", flush=True)
    figures: list[Figure] = []
    for name in arguments.only or makers:
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            figures += makers[name](setting)
        except Exception as error:
            problem = (str(error) or type(error).__name__).splitlines()[0]
            figures.append(Figure(name, None, "", note=f"failed: {problem}"))

    print(as_text(as_rows(figures)))
    text = as_json(facts, figures)
    if arguments.json:
        arguments.json.write_text(text + "\n", encoding="utf-8")
    else:
        print("\n" + text)
    if arguments.readme:
        write_into_readme(facts_line, as_markdown(as_rows(figures)), markers)
    failed = any(figure.value is None for figure in figures)
    missed = arguments.scale >= 1 and any(figure.ok is False for figure in figures)
    return int(failed or missed)


def main() -> int:
    arguments = options(__doc__.splitlines()[0], FIGURES).parse_args()
    return run(arguments, FIGURES, Setting(arguments.scale, arguments.repetitions))


if __name__ == "__main__":
    sys.exit(main())

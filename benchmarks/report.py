"""Measure what a page of full size costs, how large it is, how true its curves are, and how fast a browser opens it.

    python benchmarks/report.py [--scale S] [--only NAME ...] [--repetitions N] [--json FILE] [--readme] [--keep DIR]

The commands run as processes of their own, as in files.py, from Parquet files whose spoof ranges are of 13 attacks, as
as the evaluation set of PartialSpoof has attacks. The exact curves come from plain NumPy, independently of the package.
A quick look: `--scale 0.05`.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import NormalDist
from typing import Any

import files
import numpy as np
import run
from corpus import Corpus, generate, samples_under_frames
from files import COMMAND, Pair
from numpy.typing import NDArray
from run import Figure

RESULTS = ("<!-- report: begin -->", "<!-- report: end -->")
ATTACKS = 13
REPLICATES = 1000
SHOWN = (0.0005, 0.99)  # rates that the axes of the DET figure show
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

Float64 = NDArray[np.float64]


@dataclass
class Setting:
    """What all figures share."""

    scale: float
    repetitions: int
    root: Path
    made: bool = False  # the page, in this run

    @cached_property
    def corpus(self) -> Corpus:
        return generate(self.scale).with_attacks(ATTACKS)

    @cached_property
    def pair(self) -> Pair:
        return files.write_parquet(self.root, [self.corpus])

    @property
    def page(self) -> Path:
        return self.root / "report.html"

    def report(self) -> list[str]:
        return [COMMAND, "report", str(self.pair.references), str(self.pair.scores), "--out", str(self.page), "--force"]

    @cached_property
    def content(self) -> str:
        if not self.made:
            files.cost(self.report())
        return self.page.read_text(encoding="utf-8")

    @cached_property
    def data(self) -> Any:
        """What the page holds for its script."""
        found = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', self.content, re.DOTALL)
        if found is None:
            raise RuntimeError("the page has no data")
        return json.loads(found[1])


def cost(setting: Setting) -> Iterator[Figure]:
    """CPU time of the page against that of the numbers with intervals, drawn and by the jackknife."""
    drawn = setting.pair.eval("--confidence", "0.95", "--interval", "percentile", "--replicates", str(REPLICATES))
    jackknife = setting.pair.eval("--confidence", "0.95")
    best = files.race(min(3, setting.repetitions), drawn=drawn, jackknife=jackknife, report=setting.report())
    setting.made = True
    sides = {
        "drawn": (f"eval --confidence 0.95, {REPLICATES:,} replicates", 2),
        "jackknife": ("the same, no draws", None),
    }
    for side, (against, bound) in sides.items():
        seconds = f"{best['report'].cpu:.1f} s against {best[side].cpu:.1f} s; {ATTACKS} attacks"
        yield Figure("spoofspan report: CPU time", best["report"].cpu / best[side].cpu, against, bound, note=seconds)


def size(setting: Setting) -> Iterator[Figure]:
    """What is in the page."""
    note = f"{len(setting.corpus.utterances):,} utterances"
    yield Figure("size of the page", len(setting.content.encode()) / 1e6, "MB", 5, note=note)
    yield Figure("timelines in the page", float(len(setting.data["timelines"])), "", at_least=200)


def curves(setting: Setting) -> Iterator[Figure]:
    """How far the drawn curves are from the exact ones, in percentage points."""
    drawn = setting.data["systems"][0]["curve"]
    names = ("thresholds", "false_positive_rates", "false_negative_rates")
    thresholds, fpr, fnr = (_unpacked(drawn[name]) for name in names)
    exact_thresholds, exact_fpr, exact_fnr = exact_curve(setting.corpus)
    note = f"{len(thresholds):,} of {len(exact_thresholds):,} points"
    finite = np.isfinite(thresholds)
    off = [
        np.abs(np.interp(exact_thresholds, thresholds[finite], rates[finite]) - exact).max()
        for rates, exact in ((fpr, exact_fpr), (fnr, exact_fnr))
    ]
    yield Figure(
        "drawn rates over the threshold: largest error", 100 * max(off), "points, exact curve", 0.05, note=note
    )
    det = 100 * _det_error(fpr, fnr, exact_fpr, exact_fnr)
    yield Figure("drawn DET curve: largest error", det, "points, exact curve", 0.05, note=note)


def exact_curve(corpus: Corpus) -> tuple[Float64, Float64, Float64]:
    """Every threshold, and both rates of calling spoof what lies below it."""
    order = np.argsort(corpus.values, kind="stable")
    values = corpus.values[order].astype(np.float64)
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    below = []
    for samples in samples_under_frames(corpus):
        summed = np.concatenate([[0], np.cumsum(samples[order])])
        below.append(summed[first] / summed[-1])
    return values[first], below[0], 1 - below[1]


def _det_error(fpr: Float64, fnr: Float64, exact_fpr: Float64, exact_fnr: Float64) -> float:
    """The largest distance of exact points from the lines that the page draws on normal-deviate axes.

    Along one axis or the other, whichever is less: a steep line is far off along one where it is near along the other.
    """
    seen = np.all([(rates > SHOWN[0]) & (rates < SHOWN[1]) for rates in (exact_fpr, exact_fnr)], axis=0)
    deviates, shares = _normal_table()
    x, y, drawn_x, drawn_y = (
        np.interp(np.clip(rates, SHOWN[0], 1 - SHOWN[0]), shares, deviates)
        for rates in (exact_fpr[seen], exact_fnr[seen], fpr, fnr)
    )
    lowest = np.append(drawn_x[1:] != drawn_x[:-1], True)  # of points above each other the page draws the lowest
    drawn_x, drawn_y = drawn_x[lowest], drawn_y[lowest]
    off = []
    for at, expected, known, drawn in ((x, y, drawn_x, drawn_y), (y, x, drawn_y[::-1], drawn_x[::-1])):
        rates = (np.interp(one, deviates, shares) for one in (np.interp(at, known, drawn), expected))
        off.append(np.abs(np.subtract(*rates)))
    return float(np.minimum(*off).max())


def _normal_table() -> tuple[Float64, Float64]:
    """Deviates and their shares, so close that lines between them are off by less than 1e-7."""
    deviates = np.linspace(-6, 6, 12_001)
    normal = NormalDist()
    return deviates, np.array([normal.cdf(one) for one in deviates])


def _unpacked(packed: dict[str, str]) -> Float64:
    ((kind, text),) = packed.items()
    return np.frombuffer(base64.b64decode(text), f"<{kind}").astype(np.float64)


def chromium() -> str | None:
    """Path of a browser, if there is one."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def opening(setting: Setting) -> Iterator[Figure]:
    """From the address of the file to a page that is drawn."""
    title, bound = "time to open the page", 2
    browser = chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        browser = None
    if browser is None:
        yield Figure(title, None, "seconds", bound, note="no Chromium, or no playwright, is found")
        return
    _ = setting.content
    best = float("inf")
    with sync_playwright() as started:
        launched = started.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for _ in range(setting.repetitions):
            page = launched.new_context(viewport={"width": 1200, "height": 900}).new_page()
            start = time.perf_counter()
            page.goto(setting.page.as_uri())
            page.wait_for_selector("html[data-ready=yes]")
            best = min(best, time.perf_counter() - start)
            page.context.close()
        version = launched.version
        launched.close()
    yield Figure(title, best, "seconds", bound, note=f"Chromium {version}")


FIGURES: dict[str, Callable[[Setting], Iterator[Figure]]] = {
    "cost": cost,
    "size": size,
    "curves": curves,
    "open": opening,
}


def main() -> int:
    parser = run.options(__doc__.splitlines()[0], FIGURES)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the files and the page there and keep them")
    arguments = parser.parse_args()
    if not hasattr(os, "wait4"):
        sys.exit("CPU time of a child is measured with os.wait4, which this system does not have")
    with tempfile.TemporaryDirectory() as temporary:
        root = arguments.keep or Path(temporary)
        root.mkdir(parents=True, exist_ok=True)
        return run.run(arguments, FIGURES, Setting(arguments.scale, arguments.repetitions, root), RESULTS)


if __name__ == "__main__":
    sys.exit(main())

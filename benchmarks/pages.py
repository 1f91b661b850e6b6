"""Measure pages in Chromium: reports of 1, 3 and 40 systems on recordings of 1, 10 and 600 s, and a board of 46 teams.

    python benchmarks/pages.py [--only NAME ...] [--json FILE] [--readme] [--keep DIR]

Times are processor time of the page's main thread, times six: what a phone needs that is six times as slow, however
busy this machine is. Needs playwright and Chromium.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import run
from files import COMMAND
from report import chromium
from run import Figure

import spoofspan as ss
import spoofspan.demo

RESULTS = ("<!-- pages: begin -->", "<!-- pages: end -->")
SLOWER = 6
FRAME = 0.02
SYSTEMS = (1, 3, 40)
UTTERANCES = {1: 2000, 10: 400, 600: 12}  # of so many seconds
TEAMS = 46
MOST_BYTES, READY, STEP = 5e6, 3.0, 60.0
STEPS = 12
# from place to place, each with the frame in which it is drawn
STEP_SLIDER = """async (steps) => {
    const slider = document.getElementById("threshold");
    const frame = () => new Promise((next) => requestAnimationFrame(next));
    for (let k = 1; k <= steps; k++) {
        slider.value = Math.round(slider.max * (0.3 + (0.4 * k) / steps));
        slider.dispatchEvent(new Event("input"));
        await frame();
    }
}"""
LEADER = """(() => {
    const drawing = document.querySelector('.table[data-name="leaderboard"] tbody svg.whisker');
    const across = [...drawing.querySelectorAll("path, circle")].map((one) => one.getBBox().width);
    return Math.max(...across) * drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width;
})()"""


@dataclass
class Setting:
    """What all figures share."""

    root: Path
    browser: Any

    def report(self, count: int, seconds: int) -> Path:
        """Write the page of so many systems, each with more noise than the one before."""
        path = self.root / f"{count}-{seconds}.html"
        if path.is_file():
            return path
        rng = np.random.default_rng(seconds)
        frames = round(seconds / FRAME)
        ranges, values = {}, {}
        for number in range(UTTERANCES[seconds]):
            first, last = np.sort(rng.choice(np.arange(1, frames), 2, replace=False)).tolist()
            edges = [0.0, first * FRAME, last * FRAME, seconds]
            labels = ("bonafide", "spoof", "bonafide")
            ranges[f"u{number:04d}"] = [
                (start, end, label, *(("A01",) if label == "spoof" else ()))
                for (start, end), label in zip(pairwise(edges), labels, strict=True)
            ]
            values[f"u{number:04d}"] = np.where((np.arange(frames) >= first) & (np.arange(frames) < last), -1.0, 1.0)
        systems = {}
        for system in range(count):
            noise = 0.6 + 0.02 * system
            made = {utt: (row + noise * rng.standard_normal(frames)).astype(np.float32) for utt, row in values.items()}
            systems[f"system {system:02d}"] = ss.Scores.from_frames(made, FRAME, higher="bonafide")
        ss.write_report(ss.References.from_ranges(ranges), systems, path, resampling=ss.Resampling(replicates=20))
        return path

    @cached_property
    def board(self) -> Path:
        """A leaderboard of 46 teams on the demo corpus; one of them has the wrong polarity."""
        page = self.root / "leaderboard.html"
        if page.is_file():
            return page
        _spoofspan(self.root, "demo", "--out", ".", "--force")
        (self.root / "submissions").mkdir(exist_ok=True)
        fine, rng = ss.read_scores(self.root / "unit0.02.score"), np.random.default_rng(7)
        for team in range(TEAMS):
            noisy = fine.values + np.float32(0.02 * team) * rng.standard_normal(fine.values.size, np.float32)
            made = replace(fine, values=-fine.values if team == TEAMS - 1 else noisy)
            ss.write_scores(made, self.root / "submissions" / f"team {team + 1:02d}.npz", force=True)
        build = ["--durations", "reco2dur", "-m", "range-eer", "-m", "utterance-eer", "--metadata", "protocol.txt"]
        _spoofspan(self.root, "challenge", "build", "references.rttm", *build, "--by", "attack", "--out", "challenge")
        _spoofspan(self.root, "challenge", "score", "challenge", "submissions")
        _spoofspan(self.root, "challenge", "leaderboard", "challenge", "--page", page.name)
        return page

    @contextmanager
    def opened(self, path: Path, width: int = 1400, height: int = 900) -> Iterator[tuple[Any, Callable[[], float]]]:
        """A page that is ready, and what tells how many seconds of the processor it needed."""
        context = self.browser.new_context(viewport={"width": width, "height": height})
        page = context.new_page()
        session = context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})

        def seconds() -> float:
            metrics = session.send("Performance.getMetrics")["metrics"]
            return next(float(one["value"]) for one in metrics if one["name"] == "TaskDuration")

        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        yield page, seconds
        context.close()


def _spoofspan(folder: Path, *words: str) -> None:
    subprocess.run([COMMAND, *words], check=True, cwd=folder, capture_output=True)


def _stops(page: Any) -> int:
    """How often one presses Tab until the first timeline has the focus."""
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    for presses in range(1, 100):
        page.keyboard.press("Tab")
        link, tag = page.evaluate("[document.activeElement.hash, document.activeElement.tagName]")
        if link and link.endswith("timelines"):
            page.keyboard.press("Enter")
        if tag == "CANVAS":
            return presses
    raise RuntimeError("no timeline was reached")


def reports(setting: Setting) -> Iterator[Figure]:
    """Size, time until ready, and time of a step of the slider while timelines are seen."""
    for count in SYSTEMS:
        for seconds in UTTERANCES:
            path = setting.report(count, seconds)
            name = f"{count} system{'s' if count > 1 else ''}, {seconds} s"
            yield Figure(f"{name}: size", path.stat().st_size / 1e6, "MB", MOST_BYTES / 1e6)
            with setting.opened(path) as (page, needed):
                yield Figure(f"{name}: ready", SLOWER * needed(), "s, six times as slow", READY)
                page.locator("#timelines canvas").first.scroll_into_view_if_needed()
                page.evaluate(STEP_SLIDER, 2)
                before, start = needed(), time.perf_counter()
                page.evaluate(STEP_SLIDER, STEPS)
                step = 1000 * SLOWER * (needed() - before) / STEPS
                note = f"{1000 * (time.perf_counter() - start) / STEPS:.0f} ms on the clock here"
                yield Figure(f"{name}: step of the slider", step, "ms, six times as slow", STEP, note=note)
                if count == 3:
                    yield Figure(f"{name}: tab stops to the first timeline", _stops(page), "by the skip link", 15)


def board(setting: Setting) -> Iterator[Figure]:
    """46 teams, one of them at 95 %."""
    for width in (390, 1400):
        with setting.opened(setting.board, width) as (page, _):
            if width == 390:
                height = page.evaluate("document.documentElement.scrollHeight")
                yield Figure(f"{TEAMS} teams on a phone: height", height, "px", 8000)
            else:
                yield Figure("interval of the leader beside an outlier", page.evaluate(LEADER), "px wide", at_least=8)


FIGURES: dict[str, Callable[[Setting], Iterator[Figure]]] = {"reports": reports, "board": board}


def main() -> int:
    parser = run.options(__doc__.splitlines()[0], FIGURES)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the pages there and keep them")
    arguments = parser.parse_args()
    from playwright.sync_api import sync_playwright

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as started:
        root = arguments.keep or Path(temporary)
        root.mkdir(parents=True, exist_ok=True)
        browser = started.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        return run.run(arguments, FIGURES, Setting(root, browser), RESULTS)


if __name__ == "__main__":
    sys.exit(main())

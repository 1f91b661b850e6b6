"""Take pictures of the pages: ``python docs/make_pictures.py [FOLDER [REAL]]``.

Needs playwright, Pillow and Chromium; pdftoppm for the page on paper; the extra ``cm`` for the page of ``locate``.

REAL is a folder with the score files of real-systems.md, whose page is taken too.
Pages ask for Inter first, a free font: with it (on Debian fonts-inter) the pictures come out as they are kept.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

import spoofspan as ss

COLOURS = 256
VIEWS: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1400, "height": 1560}},
    "dark": {"viewport": {"width": 1400, "height": 1560}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 1500}, "is_mobile": True, "has_touch": True},
    "tablet": {"viewport": {"width": 768, "height": 1500}},
    "wide": {"viewport": {"width": 2560, "height": 1400}},
    "deuteranopia": {"viewport": {"width": 1400, "height": 1560}},
}
SYSTEMS = ["20 ms branch=unit0.02.score", "160 ms branch=unit0.16.score", "640 ms branch=unit0.64.score"]
FILES = ["references.rttm", *SYSTEMS, "--durations", "reco2dur"]
MANY = 40
TEAMS = 46
LONG = 600.0  # seconds
PAPER_PAGES = 3
REAL_FILES = [
    *("ASVspoof2019.LA.cm.eval.trl.txt.gz", "am=air-amsoftmax.eval.txt.gz", "oc=air-ocsoftmax.eval.txt.gz"),
    *("cfst=ecapa-cfst.eval.txt.gz", "ctsf=ecapa-ctsf.eval.txt.gz", "--higher", "bonafide", "--higher", "oc=spoof"),
    *("-m", "utterance-min-tdcf", "--asv-scores", "ASVspoof2019.LA.asv.eval.gi.trl.scores.txt.gz"),
]


@dataclass(frozen=True)
class Subject:
    """A page, and where on it a picture begins."""

    name: str
    page: Path
    views: Sequence[str]
    fragment: str = ""
    begins: str = ""  # the id of an element; the top of the page without it
    ready: str = "html[data-ready=yes]"


def main() -> None:
    """Make the pages, open them in each view, and keep what is seen."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as started:
        demo = Path(temporary)
        subjects = _pages(demo)
        if len(sys.argv) > 2:
            subjects.append(_real(demo, Path(sys.argv[2])))
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for subject in subjects:
            for view in subject.views:
                name = subject.name if len(subject.views) == 1 else f"{subject.name}-{view}"
                _keep(_taken(browser, subject, view), folder / f"{name}.png")
        _print(browser, subjects[0], folder / "report-print.png")
        browser.close()


# ---------------------------------------------------------------- the pages


def _pages(demo: Path) -> list[Subject]:
    """Write all pages, and say how each is taken."""
    _spoofspan(demo, "demo", "--out", ".", "--force")
    _spoofspan(demo, "report", *FILES, "--title", "Three branches on the demo corpus", "--out", "numbers.html")
    metadata = ["--metadata", "protocol.txt", "--by", "speaker", "--audio", "wav"]
    _spoofspan(demo, "report", *FILES, *metadata, "--out", "sound.html")
    _spoofspan(demo, "report", FILES[0], *FILES[1:2], *FILES[4:], "--title", "One system", "--out", "one.html")
    systems = _noisy(demo, "systems", "system", MANY, 0.02)
    title = ["--title", f"{MANY} systems, one of them flipped", "--out", "forty.html"]
    _spoofspan(demo, "report", FILES[0], *systems, *FILES[4:], *title)
    _spoofspan(demo, "app", "--out", "app")
    _spoofspan(demo, "locate", "wav/CON_E_0000003.wav", "wav/CON_E_0000098.wav", "--out", "locate.html")
    every = list(VIEWS)
    beside = "#beside=640+ms+branch"
    tool = "html[data-measured='1']"
    return [
        Subject("report", demo / "numbers.html", [one for one in every if one != "deuteranopia"]),
        Subject("report-timelines", demo / "sound.html", every, beside, "timelines-title"),
        Subject("report-one-system", demo / "one.html", ["desktop"]),
        Subject("report-forty-systems", demo / "forty.html", ["desktop"]),
        Subject("report-forty-systems-curves", demo / "forty.html", ["desktop"], "", "threshold-title"),
        Subject("report-ten-minutes", _long(demo), ["desktop", "phone"], "", "timelines-title"),
        Subject("report-errors", demo / "sound.html", ["desktop", "deuteranopia"], "", "breakdown-title"),
        Subject("browser", demo / "app" / "index.html", every[:-1], "#open=demo", "numbers-title", tool),
        Subject("leaderboard", _leaderboard(demo, 12), ["desktop", "phone"]),
        Subject("leaderboard-46-teams", _leaderboard(demo, TEAMS), ["dark", "tablet", "phone", "wide"]),
        Subject("locate", demo / "locate.html", ["desktop", "dark", "phone"]),
    ]


def _noisy(demo: Path, folder: str, name: str, count: int, step: float) -> list[str]:
    """Files of one system's scores through more and more noise; from 40 on, the last one is flipped."""
    (demo / folder).mkdir()
    fine, rng = ss.read_scores(demo / "unit0.02.score"), np.random.default_rng(7)
    files = [f"{folder}/{name} {number + 1:02d}.parquet" for number in range(count)]
    for number, file in enumerate(files):
        noise = np.float32(step * number) * rng.standard_normal(fine.values.size, np.float32)
        values = -fine.values if count >= MANY and number == count - 1 else fine.values + noise
        ss.write_scores(replace(fine, values=values), demo / file)
    return files


def _leaderboard(demo: Path, teams: int) -> Path:
    """The leaderboard of so many teams."""
    submissions, challenge, page = f"submissions-{teams}", f"challenge-{teams}", f"leaderboard-{teams}.html"
    _noisy(demo, submissions, "team", teams, 0.02 if teams >= MANY else 0.04)
    measures = ["-m", "range-eer", "-m", "point-eer@20ms", "-m", "utterance-eer", "--metadata", "protocol.txt"]
    title = ["--title", "Demo challenge", "--by", "attack", "--out", challenge]
    _spoofspan(demo, "challenge", "build", "references.rttm", "--durations", "reco2dur", *measures, *title)
    _spoofspan(demo, "challenge", "score", challenge, submissions)
    _spoofspan(demo, "challenge", "leaderboard", challenge, "--page", page)
    return demo / page


def _long(demo: Path) -> Path:
    """The page of two made-up systems on recordings of ten minutes, with a spoofed range in each."""
    hop, rng = 0.02, np.random.default_rng(600)
    frames = round(LONG / hop)
    ranges, values = {}, {}
    for number in range(8):
        first, last = np.sort(rng.choice(np.arange(1, frames), 2, replace=False)).tolist()
        edges = [0.0, first * hop, last * hop, LONG]
        labels = (("bonafide",), ("spoof", "A01"), ("bonafide",))
        ranges[f"call {number + 1}"] = [(*edge, *label) for edge, label in zip(pairwise(edges), labels, strict=True)]
        values[f"call {number + 1}"] = np.where((np.arange(frames) >= first) & (np.arange(frames) < last), -1.0, 1.0)
    systems = {
        name: ss.Scores.from_frames(
            {call: (row + noise * rng.standard_normal(frames)).astype(np.float32) for call, row in values.items()},
            hop,
            higher="bonafide",
        )
        for name, noise in (("a", 0.6), ("b", 0.8))
    }
    page = demo / "long.html"
    ss.write_report(ss.References.from_ranges(ranges), systems, page, title="Calls of ten minutes")
    return page


def _real(demo: Path, scores: Path) -> Subject:
    page = demo / "real.html"
    _spoofspan(scores, "report", *REAL_FILES, "--title", "Public systems on ASVspoof 2019 LA", "--out", str(page))
    return Subject("real-systems", page, ["desktop"])


def _spoofspan(folder: Path, *words: str) -> None:
    command = [sys.executable, "-c", "from spoofspan.cli import main; main()", *words]
    subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603


# ---------------------------------------------------------------- the pictures


def _taken(browser: Browser, subject: Subject, view: str) -> Page:
    """A page as it is seen; timelines are drawn when they are in sight."""
    opened = browser.new_context(**VIEWS[view]).new_page()
    opened.goto(subject.page.as_uri() + subject.fragment)
    opened.wait_for_selector(subject.ready)
    if subject.begins:
        opened.locator(f"#{subject.begins}").evaluate("element => element.scrollIntoView()")
    if view == "deuteranopia":
        session = opened.context.new_cdp_session(opened)
        session.send("Emulation.setEmulatedVisionDeficiency", {"type": "deuteranopia"})
    opened.wait_for_timeout(800)
    return opened


def _keep(opened: Page, path: Path) -> None:
    with Image.open(BytesIO(opened.screenshot())) as picture:
        _save(picture, path)
    opened.context.close()


def _save(picture: Image.Image, path: Path) -> None:
    """Keep a picture in 256 colours, which takes a third of the bytes."""
    colours = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    colours.save(path, optimize=True)


def _print(browser: Browser, subject: Subject, path: Path) -> None:
    """The first pages on paper, side by side."""
    opened = browser.new_page()
    opened.goto(subject.page.as_uri())
    opened.wait_for_selector(subject.ready)
    with tempfile.TemporaryDirectory() as temporary:
        paper = Path(temporary) / "paper.pdf"
        opened.pdf(path=str(paper), format="A4", prefer_css_page_size=True)
        first = ["pdftoppm", "-png", "-r", "80", "-l", str(PAPER_PAGES), str(paper), str(paper.with_suffix(""))]
        subprocess.run(first, check=True)  # noqa: S603
        sheets = [Image.open(one) for one in sorted(paper.parent.glob("*.png"))]
        gap, (width, height) = 12, sheets[0].size
        whole = Image.new("RGB", (len(sheets) * (width + gap) - gap, height), "#808080")
        for place, sheet in enumerate(sheets):
            whole.paste(sheet, (place * (width + gap), 0))
    _save(whole, path)


if __name__ == "__main__":
    main()

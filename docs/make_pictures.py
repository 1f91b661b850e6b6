"""Take pictures of the demo's pages: ``python docs/make_pictures.py [FOLDER [REAL]]``.

Needs playwright, Pillow and Chromium.

REAL is a folder with the score files of real-systems.md, whose page is taken too.
Pages ask for Inter first, a free font: with it (on Debian fonts-inter) the pictures come out as they are kept.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from io import BytesIO
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
}
SYSTEMS = ["20 ms branch=unit0.02.score", "160 ms branch=unit0.16.score", "640 ms branch=unit0.64.score"]
FILES = ["references.rttm", *SYSTEMS, "--durations", "reco2dur"]


REAL_FILES = [
    *("ASVspoof2019.LA.cm.eval.trl.txt.gz", "am=air-amsoftmax.eval.txt.gz", "oc=air-ocsoftmax.eval.txt.gz"),
    *("cfst=ecapa-cfst.eval.txt.gz", "ctsf=ecapa-ctsf.eval.txt.gz", "--higher", "bonafide", "--higher", "oc=spoof"),
    *("-m", "utterance-min-tdcf", "--asv-scores", "ASVspoof2019.LA.asv.eval.gi.trl.scores.txt.gz"),
]


def main() -> None:
    """Make the pages, open them in each view, and keep what is seen."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as started:
        demo = Path(temporary)
        _spoofspan(demo, "demo", "--out", ".", "--force")
        _spoofspan(demo, "report", *FILES, "--title", "Three branches on the demo corpus", "--out", "numbers.html")
        metadata = ["--metadata", "protocol.txt", "--by", "speaker", "--audio", "wav"]
        _spoofspan(demo, "report", *FILES, *metadata, "--out", "sound.html")
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, view in VIEWS.items():
            _keep(_opened(browser, demo / "numbers.html", view), folder / f"report-{name}.png")
            _keep(_timelines(browser, demo / "sound.html", view), folder / f"report-{name}-timelines.png")
            _keep(_tool(browser, demo, view), folder / f"browser-{name}.png")
            if name != "dark":
                _keep(_opened(browser, _leaderboard(demo), view), folder / f"leaderboard-{name}.png")
        seen = _timelines(browser, demo / "sound.html", VIEWS["desktop"])
        _as_deuteranopes_see(seen)
        _keep(seen, folder / "report-deuteranopia.png")
        _opened(browser, demo / "numbers.html", {}).pdf(
            path=str(folder / "report-print.pdf"), format="A4", prefer_css_page_size=True
        )
        if len(sys.argv) > 2:
            page = demo / "real.html"
            title = ["--title", "Public systems on ASVspoof 2019 LA", "--out", str(page)]
            _spoofspan(Path(sys.argv[2]), "report", *REAL_FILES, *title)
            _keep(_opened(browser, page, VIEWS["desktop"]), folder / "real-systems.png")
        browser.close()


def _leaderboard(demo: Path) -> Path:
    """The leaderboard of twelve teams, which have the scores of one system through more and more noise."""
    page = demo / "leaderboard.html"
    if page.is_file():
        return page
    (demo / "submissions").mkdir()
    fine, rng = ss.read_scores(demo / "unit0.02.score"), np.random.default_rng(7)
    for team in range(12):
        noise = np.float32(0.04 * team) * rng.standard_normal(fine.values.size, np.float32)
        noisy = replace(fine, values=fine.values + noise)
        ss.write_scores(noisy, demo / "submissions" / f"team {team + 1:02d}.parquet")
    measures = ["-m", "range-eer", "-m", "point-eer@20ms", "-m", "utterance-eer", "--metadata", "protocol.txt"]
    title = ["--title", "Demo challenge", "--by", "attack", "--out", "challenge"]
    _spoofspan(demo, "challenge", "build", "references.rttm", "--durations", "reco2dur", *measures, *title)
    _spoofspan(demo, "challenge", "score", "challenge", "submissions")
    _spoofspan(demo, "challenge", "leaderboard", "challenge", "--page", "leaderboard.html")
    return page


def _spoofspan(folder: Path, *words: str) -> None:
    command = [sys.executable, "-c", "from spoofspan.cli import main; main()", *words]
    subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603


def _opened(browser: Browser, page: Path, view: dict[str, Any], fragment: str = "") -> Page:
    opened = browser.new_context(**view).new_page()
    opened.goto(page.as_uri() + fragment)
    opened.wait_for_selector("html[data-ready=yes]")
    opened.wait_for_timeout(500)
    return opened


def _as_deuteranopes_see(opened: Page) -> None:
    session = opened.context.new_cdp_session(opened)
    session.send("Emulation.setEmulatedVisionDeficiency", {"type": "deuteranopia"})


def _keep(opened: Page, path: Path) -> None:
    """Keep what is seen in 256 colours, which takes a third of the bytes."""
    with Image.open(BytesIO(opened.screenshot())) as picture:
        colours = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        colours.save(path, optimize=True)


def _tool(browser: Browser, demo: Path, view: dict[str, Any]) -> Page:
    """The tool in the browser with its demo, from the numbers on."""
    page = demo / "app" / "index.html"
    if not page.is_file():
        _spoofspan(demo, "app", "--out", "app")
    opened = _opened(browser, page, view, "#open=demo")
    opened.wait_for_selector("html[data-measured='1']")
    opened.locator("#numbers-title").evaluate("title => title.scrollIntoView()")
    opened.wait_for_timeout(500)
    return opened


def _timelines(browser: Browser, page: Path, view: dict[str, Any]) -> Page:
    """Two systems one above the other; timelines are drawn when they are seen."""
    opened = _opened(browser, page, view, "#beside=640+ms+branch")
    opened.locator("#timelines-title").evaluate("title => title.scrollIntoView()")
    opened.wait_for_timeout(500)
    return opened


if __name__ == "__main__":
    main()

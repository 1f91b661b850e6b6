"""Take pictures of the demo's page and of a leaderboard (needs playwright and Chromium).

Run ``python docs/make_pictures.py [FOLDER]``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, sync_playwright

import spoofspan as ss
import spoofspan.demo
from spoofspan.challenge.challenge_folder import build_challenge
from spoofspan.challenge.definition import Definition
from spoofspan.challenge.hidden_part import HiddenPart
from spoofspan.challenge.judging import score_submissions
from spoofspan.challenge.leaderboard import leaderboard
from spoofspan.challenge.leaderboard_page import leaderboard_page

TEAMS = "Aalto Birch Cedar Delta Elm Fjord Grove Heron Iris Juniper Kestrel Linden"

VIEWS: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1200, "height": 1500}},
    "dark": {"viewport": {"width": 1200, "height": 1500}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 1500}, "is_mobile": True, "has_touch": True},
}


def main() -> None:
    """Make the page, open it in each view, and keep what is seen."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as started:
        page = Path(temporary) / "demo.html"
        command = [sys.executable, "-c", "from spoofspan.cli import main; main()", "demo", "--report", str(page)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, view in VIEWS.items():
            _picture(browser, page, view, folder / f"report-{name}.png")
        _print(browser, page, folder / "report-print.pdf")
        board = Path(temporary) / "leaderboard.html"
        board.write_text(_leaderboard(Path(temporary)), encoding="utf-8")
        for name in ("desktop", "phone"):
            _first_look(browser, f"{board.as_uri()}#team=Cedar", VIEWS[name], folder / f"leaderboard-{name}.png")
        browser.close()


def _leaderboard(folder: Path) -> str:
    """The page of a challenge on the demo corpus: its systems of every hop, some of them through noise."""
    corpus, rng = spoofspan.demo.load(), np.random.default_rng(1)
    definition = Definition("Demo challenge", ("range-eer", "point-eer@20ms"))
    build_challenge(folder / "challenge", definition, HiddenPart(corpus.references, {"kind": None}))
    (folder / "submissions").mkdir()
    for place, team in enumerate(TEAMS.split()):
        scores = corpus.systems[list(corpus.systems)[place % len(corpus.systems)]]
        noise = 0.03 * place * rng.standard_normal(scores.values.size).astype(np.float32)
        noisy = ss.Scores.from_columns(
            scores.utterances, scores.offsets, scores.values + noise, hop=scores.hop, higher=scores.higher
        )
        ss.write_scores(noisy, folder / "submissions" / f"{team}.parquet")
    score_submissions(folder / "challenge", folder / "submissions")
    return leaderboard_page(leaderboard(folder / "challenge"))


def _first_look(browser: Browser, address: str, view: dict[str, Any], target: Path) -> None:
    opened = browser.new_context(**view).new_page()
    opened.goto(address)
    opened.wait_for_selector("html[data-ready=yes]")
    opened.screenshot(path=str(target))


def _picture(browser: Browser, page: Path, view: dict[str, Any], target: Path) -> None:
    opened = browser.new_context(**view).new_page()
    opened.goto(page.as_uri())
    opened.wait_for_selector("html[data-ready=yes]")
    opened.wait_for_timeout(500)
    opened.screenshot(path=str(target))
    # the timelines are drawn when they are seen
    opened.locator("#timelines-title").evaluate("title => title.scrollIntoView()")
    opened.wait_for_timeout(500)
    opened.screenshot(path=str(target.with_stem(f"{target.stem}-timelines")))


def _print(browser: Browser, page: Path, target: Path) -> None:
    opened = browser.new_page()
    opened.goto(page.as_uri())
    opened.wait_for_selector("html[data-ready=yes]")
    opened.pdf(path=str(target), format="A4")


if __name__ == "__main__":
    main()

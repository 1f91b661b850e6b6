"""Take pictures of the demo's page: ``python docs/make_pictures.py [FOLDER]`` (needs playwright and Chromium)."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

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
        browser.close()


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

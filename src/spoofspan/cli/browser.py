"""``spoofspan app``: the page that measures in the browser."""

from __future__ import annotations

from pathlib import Path

from spoofspan.cli import options as o

NAME = "index.html"


def app(
    out: Path = o.flag(..., "The folder to write the page to, as index.html.", show_default=False),
    force: o.Force = False,
) -> None:
    """Write a page that measures files in the browser.

    The page is one file that opens from disk or from any web server, and sends nothing anywhere. One drops references,
    durations and scores on it, and gets range, point and utterance EERs under the default rules, equal to the bit to
    those of 'spoofspan eval', with curve, timelines, signatures and rows for papers. It verifies result files, and
    ranks those that are comparable.

    For example:

      spoofspan app --out app
    """
    from spoofspan.base.errors import UsageError
    from spoofspan.report.app import app_page

    if out.is_file() or out.suffix == ".html":
        raise UsageError(f"--out {out}: the page is called {NAME}; give the folder that it goes into")
    out.mkdir(parents=True, exist_ok=True)
    o.must_be_free(out / NAME, force=force)
    o.write_page(app_page(), out / NAME, force)

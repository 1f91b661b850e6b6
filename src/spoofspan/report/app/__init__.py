"""The measuring page: spoofspan in the browser, as one static HTML file.

::

    assets/corpus.js       from files to signed numbers                                     <- read this first
    assets/measures.js     amounts under each score, and the equal error rate
    assets/references.js   rules 1 to 5 with their defaults
    assets/scores.js       rules 8 to 13 with their defaults
    assets/readers.js      references, durations and scores from files (text.js, npz.js)
    assets/signature.js    hashes and signatures, as the library prints them (hashing.js)
    assets/results.js      result files: verified, and ranked where they are comparable
    assets/app.js          the page; assets/worker.js measures beside it
    bundle.py              modules -> one script

Curves and timelines are drawn by the scripts of the report page (``page/assets``: figures.js, strips.js, timelines.js),
which get what the worker found.

The modules are plain JavaScript with types in comments, and need no build: :func:`app_page` puts them into the page as
they are. They measure with the default rules only, in exact arithmetic; whatever else is refused, with the command
that does it. ``tests/report/test_app.py`` compares them with the library, to the bit.
"""

from __future__ import annotations

import base64
import gzip
import io
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import numpy as np

from spoofspan.base.version import __version__
from spoofspan.formats.arrays.npz import write_npz
from spoofspan.report.app.bundle import bundled
from spoofspan.report.page.rendering import STYLES, render
from spoofspan.report.table import printable

TITLE = "spoofspan in the browser"
LEAD = "Range, point and utterance EER of your own files, exact to the bit."
DEMO_HOP = 0.04  # of the demo's systems, one that keeps the page small


def app_page(
    challenge: str = "",
    durations: Mapping[str, float] | None = None,
    *,
    hop: float | None = None,
    higher: str = "",
) -> str:
    """Write the measuring page as one self-contained HTML file.

    Parameters
    ----------
    challenge
        The title of a challenge whose submissions the page checks without labels.
    durations
        Seconds of its utterances; the page of a challenge has them in the place of the demo.
    hop, higher
        Of scores that do not say themselves how long a frame is, and what high scores mean.

    Returns
    -------
    str
        The HTML: it can be opened from disk or served by any web server, and fetches nothing.

    Examples
    --------
    >>> page = app_page()
    >>> len(page) < 400_000, "connect-src &#39;none&#39;" in page
    (True, True)

    """
    assets = files(__name__) / "assets"
    modules = {one.name: one.read_text(encoding="utf-8") for one in assets.iterdir() if one.name.endswith(".js")}
    data: dict[str, Any] = {"version": __version__, "worker": bundled("worker.js", modules), "in_time": True}
    title, lead = TITLE, LEAD
    if durations is None:
        data["demo"] = _demo()
    else:
        title = f"Check a submission: {printable(challenge)}"
        lead = "Drop your scores: the page checks that every utterance has them, and that they cover its duration."
        lines = "".join(f"{utterance} {seconds!r}\n" for utterance, seconds in durations.items())
        data["usual"] = {"hop": hop, "higher": higher or None}  # where a submission says nothing
        data["durations"] = _base64(gzip.compress(lines.encode(), mtime=0))
    return render(
        "app.html",
        {
            "title": title,
            "lead": lead,
            "demo": "demo" in data,
            "spoofspan": __version__,
        },
        data,
        scripts=("page.js", "state.js", "slider.js", "figures.js", "strips.js", "timelines.js"),
        styles=(*STYLES, "app.css"),
        package=__name__,
        module=bundled("app.js", modules),
        workers=True,
    )


def _demo() -> dict[str, str]:
    """The demo corpus as files in base64; the scores state their hop and polarity."""
    corpus = files("spoofspan") / "demo" / "corpus"
    found = {name: (corpus / name).read_bytes() for name in ("references.rttm", "reco2dur")}
    name = f"{1000 * DEMO_HOP:.0f}ms.npz"
    with np.load(io.BytesIO((corpus / f"seed-1_{name}").read_bytes())) as arrays:
        found[f"scores_{name}"] = b"".join(write_npz(arrays.items(), hop=DEMO_HOP, higher="bonafide"))
    return {name: _base64(data) for name, data in found.items()}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")

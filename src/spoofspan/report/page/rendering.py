"""From plain data to one self-contained page.

Text goes through autoescape; the data go into a block that no browser runs, with every ``<`` written as an escape, so
that no id can end it. The policy of the page names its own scripts and styles by their hashes: nothing else runs, and
nothing is fetched.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

ASSETS = files("spoofspan.report.page") / "assets"
SCRIPTS = ("uPlot.iife.min.js", "report.js")
STYLES = ("uPlot.min.css", "report.css")


def render_page(content: dict[str, Any]) -> str:
    """Write a page as one self-contained HTML file.

    Parameters
    ----------
    content : dict
        What :func:`spoofspan.report.page.page_content` returned.

    Returns
    -------
    str
        The HTML: it opens from disk, and fetches nothing.

    Examples
    --------
    >>> page = render_page(page_content(references, {"ours": scores}, PageSettings("My report")))  # doctest: +SKIP

    """
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    scripts, styles = ([_asset(name) for name in names] for names in (SCRIPTS, STYLES))
    template = environment.from_string(_asset("report.html"))
    return template.render(
        content=content,
        policy=_policy(scripts, styles),
        # our own files, and JSON that cannot end its block
        scripts=[Markup(text) for text in scripts],  # noqa: S704
        styles=[Markup(text) for text in styles],  # noqa: S704
        data=Markup(inert_json(content)),  # noqa: S704
    )


def inert_json(content: Any) -> str:
    r"""JSON that means the same inside of a page and cannot be taken for markup.

    >>> print(inert_json({"id": "</script>"}))
    {"id":"\u003c/script\u003e"}
    """
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    text = (ASSETS / name).read_text(encoding="utf-8")
    if "</script" in text and name.endswith(".js"):
        raise ValueError(f"{name} would end its own block")
    return text


def _policy(scripts: list[str], styles: list[str]) -> str:
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(map(_source, scripts))}",
            f"style-src {' '.join(map(_source, styles))}",
            "img-src data:",
            "media-src 'self' data: file:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _source(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return f"'sha256-{digest}'"

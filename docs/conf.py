"""The documentation site: ``sphinx-build -W docs build/site`` (``.ci/run docs``).

The pages are those that GitHub shows. While they are read, links to files outside of ``docs`` are changed to lead to
the repository, and the changelog and the page for contributors are taken from the top of the repository. The build adds
a page for each object of the API and each command (``reference_pages.py``), and a report on the demo corpus.
"""

from __future__ import annotations

import re
import sys
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import Any

import spoofspan

sys.path.insert(0, str(Path(__file__).parent))
import reference_pages

ROOT = Path(__file__).resolve().parents[1]
REPOSITORY = "https://github.com/spoofspan/spoofspan"
SITE = "https://spoofspan.github.io/spoofspan/"

project = "spoofspan"
author = copyright = "The spoofspan developers"
version = release = spoofspan.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["jupyter_execute", "notebooks/.ipynb_checkpoints"]
suppress_warnings = [
    "ref.python",  # one name is at home in two documented modules
]

html_theme = "furo"
html_title = "spoofspan"
html_baseurl = SITE
html_static_path = ["site"]
html_css_files = ["spoofspan.css"]
html_logo = "site/logo.svg"
html_favicon = "site/logo.svg"
html_search_scorer = str(ROOT / "docs" / "site" / "search_scorer.js")
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"top_of_page_buttons": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_selector = "div:not(.highlight-text):not(.output) > div.highlight > pre"  # not what a command prints

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
nb_execution_mode = "off"  # the notebooks are kept with what they print; tests/test_notebooks.py runs them

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say the types in words
autodoc_mock_imports = [
    "torch",
    "torchmetrics",
    "dask",
    "distributed",
    "pyannote",
    "datasets",
    "lightning",
    "pytorch_lightning",
    "evaluate",
    "versa",
    "transformers",
    "safetensors",
]
napoleon_google_docstring = False
napoleon_use_rtype = False

# ---------------------------------------------------------------- pages

OUTSIDE = re.compile(r"\]\(((?:\.\./)+)([^)#\s]+)(#[^)\s]*)?\)")
INSIDE = re.compile(r"\]\((?!\w+:|#)(docs/)?([^)\s]+)\)")
SHOWN_AS = {
    "changelog": "CHANGELOG.md",
    "contributing": "CONTRIBUTING.md",
}  # their text is outside
# pages that others link to, and the sidebar does not show
ASIDE = (
    "architecture",
    "benchmarks",
    "changelog",
    "contributing",
    "controls",
    "coverage",
    "decisions/*",
    "development",
    "notebooks/*",
    "real-speech",
    "real-systems",
)
# pages of earlier versions, and where their sections are now
MOVED = {
    "calibration": "costs.html#calibrate-and-fuse",
    "errors": "recipes.html#error-messages",
    "events": "measures.html#event-measures",
    "experiment": "countermeasure.html#the-papers-experiment-from-end-to-end",
    "faq": "recipes.html#questions",
    "figures": "papers.html#figures",
    "install": "tutorial.html#install",
    "other-tools": "coming-from.html#numbers-of-other-tools",
    "publish": "papers.html#results-that-travel",
    "published": "papers.html#published-numbers",
    "reliability": "development.html#reliability",
    "results": "papers.html#results-that-travel",
    "speed": "scale.html#speed",
    "systems": "formats.html#systems-and-seeds",
    "tables": "papers.html#tables-over-resolutions",
    "verdicts": "uncertainty.html#many-systems",
}
REPORT, MEASURING_PAGE = "demo-report.html", "app.html"
CARD = (
    ("og:title", "spoofspan"),
    ("og:description", "Measures how well a system locates the spoofed parts of a recording."),
    ("og:type", "website"),
    ("og:image", f"{SITE}_static/card.png"),
    ("og:image:width", "1200"),
    ("og:image:height", "630"),
)
PAGES_OF = {file: f"{page}.md" for page, file in SHOWN_AS.items()}


def setup(app: Any) -> None:
    """Connect the steps; load late names now, since autodoc mocks packages only while it imports."""
    from sphinx.ext.autodoc.mock import mock

    with mock(autodoc_mock_imports):
        for module in (import_module(page.module) for page in reference_pages.MODULES):
            for name in getattr(module, "__all__", ()):
                getattr(module, name)
    app.connect("builder-inited", lambda app: reference_pages.write_pages(Path(app.srcdir)))
    app.connect("source-read", change_page)
    app.connect("doctree-read", leave_out_of_the_sidebar)
    app.connect("html-page-context", add_card)
    app.connect("build-finished", write_demo_report)
    app.connect("build-finished", write_measuring_page)
    app.connect("build-finished", write_redirects)


def change_page(app: Any, page: str, source: list[str]) -> None:
    """Let lists lead to their pages, and links that leave ``docs`` somewhere."""
    if page in ("api", "commands"):
        source[0] = reference_pages.linked(page, source[0])
    elif page in SHOWN_AS:
        source[0] = INSIDE.sub(seen_from_docs, (ROOT / SHOWN_AS[page]).read_text(encoding="utf-8"))
    source[0] = OUTSIDE.sub(lambda link: leads_to(page, link), source[0])


def leave_out_of_the_sidebar(app: Any, doctree: Any) -> None:
    """Mark pages that no table of contents lists."""
    if any(fnmatch(app.env.docname, pattern) for pattern in ASIDE):
        app.env.metadata[app.env.docname]["orphan"] = True


def add_card(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Add the title and picture that a link to the site shows elsewhere."""
    tags = (f'<meta property="{name}" content="{content}" />' for name, content in CARD)
    context["metatags"] = context.get("metatags", "") + "".join(f"\n    {tag}" for tag in tags)


def write_demo_report(app: Any, error: Exception | None) -> None:
    """Write the report that report.md links to."""
    if error is None and app.builder.format == "html":
        import spoofspan.demo

        corpus = spoofspan.demo.load()
        systems = {f"{1000 * hop:g} ms": corpus.systems[hop] for hop in (0.02, 0.64)}
        title = "Two systems on the demo corpus"
        spoofspan.write_report(
            corpus.references, systems, Path(app.outdir) / REPORT, title=title, timelines=12, force=True
        )


def write_measuring_page(app: Any, error: Exception | None) -> None:
    """Write the page that measures in the browser, which the landing page embeds."""
    if error is None and app.builder.format == "html":
        from spoofspan.report.app import app_page

        (Path(app.outdir) / MEASURING_PAGE).write_text(app_page(), encoding="utf-8")


def write_redirects(app: Any, error: Exception | None) -> None:
    """Let addresses of earlier versions lead to the pages of today; a section keeps its name."""
    if error is None and app.builder.format == "html":
        for page, target in MOVED.items():
            file = target.partition("#")[0]
            (Path(app.outdir) / f"{page}.html").write_text(
                f'<!doctype html><meta charset="utf-8"><title>Moved</title><link rel="canonical" href="{file}">'
                f'<script>location.replace(location.hash ? "{file}" + location.hash : "{target}")</script>'
                f'<meta http-equiv="refresh" content="0; url={target}"><a href="{target}">This page has moved.</a>',
                encoding="utf-8",
            )


def seen_from_docs(link: re.Match[str]) -> str:
    """A link of a file at the top of the repository, as if the file were in ``docs``."""
    inside, target = link.groups()
    if inside and not (ROOT / "docs" / target).is_dir():
        return f"]({target})"
    return f"](../{inside or ''}{target})"


def leads_to(page: str, link: re.Match[str]) -> str:
    """A link to a file outside of ``docs``, as the site has it."""
    up, target, anchor = link.groups()
    levels = page.count("/") + 1
    if up.count("../") < levels:
        return link.group()  # it stays inside of docs
    if target in PAGES_OF:
        return f"]({'../' * (levels - 1)}{PAGES_OF[target]}{anchor or ''})"
    return f"]({REPOSITORY}/blob/main/{target}{anchor or ''})"

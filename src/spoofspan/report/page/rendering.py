"""From plain data to one self-contained page.

Text goes through autoescape; the data go into a block that no browser runs, with every ``<`` written as an escape, so
that no id can end it. The policy of the page names its own scripts and styles by their hashes: nothing else runs, and
nothing is fetched.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from spoofspan.report.page.report_tables import report_tables
from spoofspan.report.page.small_multiples import small_multiples
from spoofspan.report.page.timelines import axis_of
from spoofspan.report.palette import palette_style

OWN = "spoofspan.report.page"
SHARED_SCRIPTS = ("page.js", "link.js", "tables.js")
SHARED_STYLES = ("page.css",)
SCRIPTS = (
    *SHARED_SCRIPTS,
    "state.js",
    "slider.js",
    "figures.js",
    "multiples.js",
    "strips.js",
    "timelines.js",
    "report.js",
)
STYLES = (*SHARED_STYLES, "report.css")


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
    tables = report_tables(content)
    return render("report.html", content, _script_data(content), scripts=SCRIPTS, styles=STYLES, tables=tables)


def _script_data(content: dict[str, Any]) -> dict[str, Any]:
    """What the scripts draw; what stands in tables is not said twice."""
    number = {system["name"]: str(place) for place, system in enumerate(content["systems"])}
    systems = [
        {
            **{name: system[name] for name in ("name", "higher", "curve")},
            "eer": system["measurements"][0]["number"],
            "axis": axis_of(content["timelines"], system["name"]),
        }
        for system in content["systems"]
    ]
    return {
        "systems": systems,
        "in_time": content["in_time"],
        "opens_on": content["opens_on"],
        "columns": content["columns"],
        "iou": content["iou"],
        "multiples": small_multiples(content),
        "timelines": [
            one | {"scores": {number[name]: scores for name, scores in one["scores"].items()}}
            for one in content["timelines"]
        ],
    }


def render(
    template: str,
    content: dict[str, Any],
    data: dict[str, Any],
    *,
    scripts: Sequence[str] = SHARED_SCRIPTS,
    styles: Sequence[str] = SHARED_STYLES,
    package: str = OWN,
    module: str = "",
    workers: bool = False,
    **more: Any,
) -> str:
    """Write a page by any template that extends ``base.html``; colours and the shared style come by themselves.

    Parameters
    ----------
    template : str
        The file of the template. Its blocks are ``lead``, ``places``, ``tools`` and ``main``;
        ``{% from "table.html" import table %}`` gives it tables.
    content : dict
        Plain data with ``title`` and ``spoofspan`` (the version): ``content`` in the template.
    data : dict
        Plain data for scripts: ``spoofspan.data``.
    scripts, styles : sequence of str
        Files of scripts and styles, in their order.
    package : str
        Whose folder ``assets`` has these files; what it does not have is taken from here.
    module : str
        The text of a script that comes after the others.
    workers : bool
        The page makes workers of its own text.
    **more
        Other names for the template, such as tables.

    Returns
    -------
    str
        The HTML.

    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    def asset(name: str) -> str:
        return _asset(name, package)

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(asset),
    )
    script_texts = [*map(asset, scripts), *([_own_block(module)] if module else [])]
    style_texts = [palette_style(), *map(asset, styles)]
    return environment.get_template(template).render(
        content=content,
        policy=_policy(script_texts, style_texts, workers=workers),
        # our own files, and JSON that cannot end its block
        scripts=[Markup(text) for text in script_texts],  # noqa: S704
        styles=[Markup(text) for text in style_texts],  # noqa: S704
        data=Markup(inert_json(data)),  # noqa: S704
        **more,
    )


def inert_json(content: Any) -> str:
    r"""JSON that means the same inside of a page and cannot be taken for markup.

    >>> print(inert_json({"id": "</script>"}))
    {"id":"\u003c/script\u003e"}
    """
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str, package: str) -> str:
    places = [files(one) / "assets" / name for one in (package, OWN)]
    text = next(place for place in places if place.is_file()).read_text(encoding="utf-8")
    return _own_block(text) if name.endswith(".js") else text


def _own_block(script: str) -> str:
    if "</script" in script:
        raise ValueError("a script would end its own block")
    return script


def _policy(scripts: list[str], styles: list[str], *, workers: bool = False) -> str:
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(map(_source, scripts))}",
            f"style-src {' '.join(map(_source, styles))}",
            "connect-src 'none'",
            *(["worker-src blob:"] if workers else []),
            "img-src data:",
            "media-src 'self' data: file:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _source(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return f"'sha256-{digest}'"

"""Parts of any page: packed arrays, tables that sort and filter, and one self-contained HTML file of plain data.

Text goes through autoescape; the data go into a block that no browser runs, with every ``<`` written as an escape, so
that no id can end it. The policy of the page names its own scripts and styles by their hashes: nothing else runs, and
nothing is fetched.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from spoofspan.base.times import Float64
from spoofspan.report.palette import palette_style
from spoofspan.report.table import printable

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

Plain = dict[str, Any]


# ---------------------------------------------------------------- arrays, which unpack() of assets/page.js reads


def packed(values: np.ndarray[Any, Any]) -> dict[str, str]:
    """An array of floats as text.

    >>> packed(np.float32([1.0, -2.5]))
    {'f4': 'AACAPwAAIMA='}
    """
    kind = "f4" if values.dtype == np.float32 else "f8"
    return {kind: base64.b64encode(np.ascontiguousarray(values, f"<{kind}").tobytes()).decode("ascii")}


def packed_short(values: Float64) -> dict[str, str]:
    """An array of floats as text, in four bytes each where these hold every value."""
    short = values.astype(np.float32)
    return packed(short if np.array_equal(short.astype(np.float64), values) else values)


def unpacked(text: Mapping[str, str]) -> Float64:
    """The array behind such a text."""
    ((kind, bits),) = text.items()
    return np.frombuffer(base64.b64decode(bits), f"<{kind}").astype(np.float64)


# ---------------------------------------------------------------- tables
#
# assets/table.html writes a table, and assets/tables.js sorts and filters it, and writes it as CSV or LaTeX. A cell
# shows few digits and holds all of them.


def column(name: str, about: str = "", *, number: bool = False, minor: bool = False) -> Plain:
    """A column: heading, tooltip (the spelling of a measure), whether it holds numbers; phones hide minor ones."""
    return {"name": printable(name), "about": printable(about), "number": number, "minor": minor}


def cell(
    text: str,
    value: float | None = None,
    *,
    about: str = "",
    share: float | None = None,
    interval: tuple[float, float, float] | None = None,
    beyond: Literal["low", "high"] | None = None,
    heat: float | None = None,
    place: str | None = None,
) -> Plain:
    """A cell: what is read, and the number behind it with all its digits.

    Parameters
    ----------
    text : str
        What the cell shows.
    value : float, optional
        The number, for sorting and for CSV; without it the text is sorted and written.
    about : str
        A tooltip.
    share : float, optional
        Draw a bar of this share of the widest one.
    interval : tuple of float, optional
        Draw low end, value and high end as a dot with whiskers; all are shares of the widest one.
    beyond : str, optional
        Mark a value beyond the low or the high end of what is drawn.
    heat : float, optional
        Shade the cell; 1 is the strongest.
    place : str, optional
        The id of an element of the page that a click leads to.

    """
    shown: Plain = {"text": printable(text)}
    drawn = {"value": value, "share": share, "interval": interval, "beyond": beyond, "heat": heat, "place": place}
    for name, given in drawn.items():
        if given is not None:
            shown[name] = list(given) if isinstance(given, tuple) else given
    if about:
        shown["about"] = printable(about)
    return shown


def page_table(
    name: str,
    title: str,
    columns: Sequence[Plain],
    rows: Sequence[Sequence[Plain]],
    *,
    caption: str = "",
    head: int = 0,
) -> Plain:
    """A table: ``name`` is that of its CSV file, ``title`` says what it is, the column ``head`` heads the rows.

    Examples
    --------
    >>> columns = [column("system"), column("Range EER %", "range-eer", number=True)]
    >>> table = page_table("leaderboard", "Leaderboard", columns, [[cell("ours"), cell("5.21", 5.2087)]])
    >>> table["rows"]
    [[{'text': 'ours'}, {'text': '5.21', 'value': 5.2087}]]

    """
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"{name}: a row has {len(row)} cells for {len(columns)} columns")
    return {
        "name": printable(name),
        "head": head,
        "title": printable(title),
        "caption": printable(caption),
        "columns": list(columns),
        "rows": [list(row) for row in rows],
    }


# ---------------------------------------------------------------- the page


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

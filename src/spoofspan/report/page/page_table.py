"""A table of a page as plain data: it sorts and filters in the browser, and leaves as CSV or LaTeX.

``assets/table.html`` writes it and ``assets/tables.js`` moves it. A cell shows few digits and holds all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from spoofspan.report.table import printable

Plain = dict[str, Any]


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

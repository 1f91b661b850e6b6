"""Results as tables for other tools: Arrow, pandas, polars; the last two are imported when they are asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from spoofspan.base.extras import INSTALL_TABLES, package
from spoofspan.base.plain_results import NearAttributes

SHOWN = 10  # rows, or utterances of a corpus, in a notebook


class Tabular(NearAttributes):
    """Something that is rows of named values."""

    @abstractmethod
    def to_rows(self) -> list[dict[str, Any]]:
        """A dict for each row, numbers as numbers."""

    def to_arrow(self) -> Any:
        """Make a pyarrow table of :meth:`to_rows`."""
        return package("pyarrow", INSTALL_TABLES).Table.from_pylist(self.to_rows())

    def to_pandas(self) -> Any:
        """Make a pandas data frame of :meth:`to_arrow`."""
        package("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Make a polars data frame of :meth:`to_arrow`."""
        return package("polars").from_arrow(self.to_arrow())

    def _repr_html_(self) -> str:
        """Summary, and the first rows, for notebooks."""
        rows = self.to_rows()[:SHOWN]
        cells = [[f"{one:.4g}" if isinstance(one, float) else str(one) for one in row.values()] for row in rows]
        return html_table(repr(self), cells, list(rows[0]) if rows else [])


def html_table(about: str, rows: Sequence[Sequence[str]], head: Sequence[str] | None = None, more: str = "") -> str:
    """A small table for notebooks, with a caption above it."""
    from html import escape

    lines = [] if head is None else ["".join(f"<th>{escape(name)}</th>" for name in head)]
    lines += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    table = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f"<div>{escape(about)}</div>\n<table>\n{table}\n</table>{more}\n"

"""Results as tables for other tools: Arrow, pandas, polars; the last two are imported when they are asked for."""

from __future__ import annotations

from abc import abstractmethod
from importlib import import_module
from typing import Any

from spoofspan.base.extras import package

SHOWN = 10  # rows in a notebook


class Tabular:
    """Something that is rows of named values."""

    @abstractmethod
    def to_rows(self) -> list[dict[str, Any]]:
        """A dict for each row, numbers as numbers."""

    def to_arrow(self) -> Any:
        """Make a pyarrow table of :meth:`to_rows`."""
        return import_module("pyarrow").Table.from_pylist(self.to_rows())

    def to_pandas(self) -> Any:
        """Make a pandas data frame of :meth:`to_arrow`."""
        package("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Make a polars data frame of :meth:`to_arrow`."""
        return package("polars").from_arrow(self.to_arrow())

    def _repr_html_(self) -> str:
        """What it is, and the first rows, for notebooks."""
        from html import escape

        rows = self.to_rows()[:SHOWN]
        cells = [[f"{one:.4g}" if isinstance(one, float) else str(one) for one in row.values()] for row in rows]
        head = "".join(f"<th>{escape(name)}</th>" for name in (rows[0] if rows else ()))
        lines = [head, *("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in cells)]
        table = "\n".join(f"<tr>{line}</tr>" for line in lines)
        return f"<div>{escape(repr(self))}</div>\n<table>\n{table}\n</table>\n"

"""Results as tables for other tools: Arrow, pandas, polars; the last two are imported when they are asked for."""

from __future__ import annotations

from abc import abstractmethod
from importlib import import_module
from typing import Any

from spoofspan.base.errors import UsageError


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


def package(name: str) -> Any:
    """Import a package that spoofspan does not need itself."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise UsageError(f"{name} is not installed; pip install {name}") from None

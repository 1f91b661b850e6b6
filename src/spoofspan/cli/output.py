"""Printing results: plain data as JSON, tables in every other format."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spoofspan.cli import options as o

if TYPE_CHECKING:
    from spoofspan.report.table import Table


def show(plain: Any, tables: Iterable[Table], output: o.Output, out: Path | None = None, force: bool = False) -> None:
    """Print plain data (``--format json``) or the tables that say the same, or write them to a file."""
    from spoofspan.report.table import json_text

    if output is o.Output.json:
        o.deliver(json_text(plain), out, force)
    else:
        o.deliver("\n".join(table.render(output.value) for table in tables), out, force)

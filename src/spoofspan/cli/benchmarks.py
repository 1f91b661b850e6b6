"""``spoofspan benchmarks``: what can be measured as it is ranked."""

from __future__ import annotations

from typing import Annotated

from spoofspan.cli import completion
from spoofspan.cli import options as o


def benchmarks(
    *,
    name: Annotated[
        str | None,
        o.argument(metavar="NAME", help="Show this one only.", complete=completion.among(completion.benchmarks)),
    ] = None,
    output: o.Output,
) -> None:
    """List benchmarks and their official measures.

    Prints the data set, expected files, official measures and command of each; with NAME, everything about one.

    For example:

      spoofspan benchmarks

      spoofspan benchmarks lav-df
    """
    from spoofspan.formats.datasets.benchmarks import benchmarks as every
    from spoofspan.formats.datasets.benchmarks import find_benchmark
    from spoofspan.report.results import benchmark_table, benchmarks_table

    if name is None:
        rows = every().values()
        # seven columns are too many for a terminal
        tables = [benchmark_table(one) for one in rows] if output.format == "text" else [benchmarks_table(rows)]
        output.show([one.to_dict() for one in rows], tables)
    else:
        found = find_benchmark(name)
        output.show(found.to_dict(), [benchmark_table(found)])

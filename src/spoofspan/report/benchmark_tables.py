"""Benchmarks as tables: all of them with their measures, or one with everything that is known of it."""

from __future__ import annotations

from collections.abc import Iterable

from spoofspan.formats.datasets.benchmarks import Benchmark
from spoofspan.report.table import Table


def short_measures(measures: Iterable[str]) -> str:
    """Measures with the parts that several share written once.

    >>> short_measures(["range-eer", "point-eer@20ms", "point-eer@40ms", "event-ar@n=20", "event-ar@n=10"])
    'range-eer, point-eer@20ms,40ms, event-ar@n=20,10'
    """
    grouped: dict[tuple[str, str], list[str]] = {}
    for one in measures:
        family, _, at = one.partition("@")
        name, equals, value = at.rpartition("=")
        grouped.setdefault((family, name + equals), []).append(value)
    return ", ".join(
        f"{family}{'@' if any(values) else ''}{name}{','.join(values)}" for (family, name), values in grouped.items()
    )


def benchmarks_table(rows: Iterable[Benchmark]) -> Table:
    """One line for each benchmark."""
    cells = tuple(
        (
            ", ".join(one.names),
            one.title,
            one.references,
            one.system,
            short_measures(one.measures),
            one.ranked,
            one.source,
            one.unverified,
        )
        for one in rows
    )
    return Table(("benchmark", "data set", "references", "system", "measures", "ranked", "source", "unverified"), cells)


def benchmark_table(one: Benchmark) -> Table:
    """Everything about one benchmark."""
    flags = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in one.options.items())
    about = {
        "data set": one.title,
        "variants": ", ".join(one.names) if one.variants else "",
        "references": one.references,
        one.takes.replace("-", " "): one.system,
        "measures": short_measures(one.measures),
        "ranked": one.ranked,
        "unverified": one.unverified,
        "rules": flags or "the defaults",
        "source": one.source,
        "note": one.note,
        "command": one.command,
    }
    return Table((one.name, ""), tuple((key, text) for key, text in about.items() if text))

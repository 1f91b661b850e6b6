"""Verdicts as tables: how large a test set must be."""

from __future__ import annotations

from spoofspan.measures.measure import in_percent, number_text
from spoofspan.report.table import Table
from spoofspan.uncertainty.sample_size import SampleSize


def size_table(size: SampleSize) -> Table:
    """One row for each way to compare: how many clusters it takes, and what those of the evaluation can tell."""
    measure, points = size.measure, " points" if in_percent(size.measure) else ""
    by_utterance = size.drawn_by == "utterance"
    header = ["comparison", "correlation", f"{size.drawn_by}s needed", "utterances needed"]
    header += [f"power with {size.clusters:,}", f"{size.clusters:,} can tell"]
    rows = [
        [
            "paired" if one.paired else "unpaired (each)",
            f"{one.correlation:.2f}" if one.paired else "",
            f"{one.clusters:,}",
            f"{one.utterances:,}",
            f"{100 * one.power_now:.0f} %",
            f"{number_text(measure, one.detectable)}{points}",
        ]
        for one in size.needed
    ]
    if by_utterance:  # the same twice
        header, rows = (header[:3] + header[4:], [row[:3] + row[4:] for row in rows])
    unit = " %" if in_percent(measure) else ""
    first, second = (number_text(measure, one) for one in (size.first, size.second))
    have = f"{size.utterances:,} utterances" + ("" if by_utterance else f" of {size.clusters:,} {size.drawn_by}s")
    power = f"a power of {100 * size.power:g} % at the level {size.level:.3g}"
    notes = [
        "",
        f"{measure}: {first} against {second}{unit}, told apart with {power}",
        f"estimated from {have}; the numbers needed may be off by {100 * size.precision:.0f} %",
        *(f"warning: {text}" for text in size.warnings),
    ]
    return Table(tuple(header), tuple(map(tuple, rows)), tuple(notes))

"""Crossed breakdowns as tables."""

from __future__ import annotations

import math

from spoofspan.evaluation.crossed import CrossedBreakdown
from spoofspan.measures.measure import in_percent
from spoofspan.report.cells import number_cell
from spoofspan.report.table import Table


def crossed_table(crossed: CrossedBreakdown) -> Table:
    """One row per value of the first column; one column per value of the second, or the amounts of both classes."""

    def text(value: float) -> str:
        return "" if math.isnan(value) else number_cell(crossed.measure, value)

    notes = ["", f"{crossed.measure}{' in %' * in_percent(crossed.measure)}"]
    notes += [crossed.about] if crossed.about else []
    if len(crossed.by) == 1:
        # an event is a spoof, so there is no other class to count
        amounts = ["events"] if crossed.unit == "events" else [f"bona fide {crossed.unit}", f"spoof {crossed.unit}"]
        cells = [(row, crossed[row, crossed.columns[0]]) for row in crossed.rows]
        rows = [
            (row, *map(str, (one.bona_fide, one.spoof)[-len(amounts) :]), text(one.value) or one.reason)
            for row, one in cells
        ]
        return Table((crossed.by[0], *amounts, crossed.measure), tuple(rows), tuple(notes))
    missing = dict.fromkeys(one.reason for one in crossed.cells.values() if math.isnan(one.value))
    notes += [f"empty: {reason}" for reason in missing if reason]
    header = (" x ".join(crossed.by), *crossed.columns)
    values = zip(crossed.rows, crossed.values(), strict=True)
    return Table(header, tuple((row, *map(text, line)) for row, line in values), tuple(notes))

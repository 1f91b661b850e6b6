"""The steps of Algorithm 1 as a table."""

from __future__ import annotations

from spoofspan.evaluation.measurement import BisectionMeasurement
from spoofspan.report.table import Table


def trace_table(measurement: BisectionMeasurement) -> Table:
    """Every threshold that Algorithm 1 tried, in that order."""
    steps = measurement.to_dict()["trace"]
    rows = tuple(
        (
            str(number),
            f"{step['quantile']:.6f}",
            repr(step["threshold"]),
            *(f"{100 * step[rate]:.4f}" for rate in ("false_positive_rate", "false_negative_rate")),
            f"{100 * (step['false_positive_rate'] - step['false_negative_rate']):+.4f}",
        )
        for number, step in enumerate(steps, 1)
    )
    ended = "the precision was reached" if measurement.reached else "the precision was not reached"
    header = ("step", "quantile %", "threshold", "FPR %", "FNR %", "FPR - FNR")
    return Table(header, rows, ("", f"Algorithm 1 of the paper: {ended}"))

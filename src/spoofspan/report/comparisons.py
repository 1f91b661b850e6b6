"""Comparisons and seeds as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from spoofspan.measures.measure import in_percent, number_text
from spoofspan.report.results import interval_cells, interval_header
from spoofspan.report.table import Table

if TYPE_CHECKING:
    from spoofspan.evaluation.signature import Signature
    from spoofspan.uncertainty import Comparison, Interval, SeedVariation


def comparison_tables(comparison: Comparison, *, signatures: bool = True) -> tuple[Table, Table]:
    """The value of each system, and the difference of every two."""
    return _systems_table(comparison, signatures), _differences_table(comparison)


def _systems_table(comparison: Comparison, signatures: bool) -> Table:
    measure = comparison.measure
    rows = tuple(
        (name, number_text(measure, one.estimate), *interval_cells(measure, one))
        for name, one in comparison.intervals.items()
    )
    some = next(iter(comparison.intervals.values()))
    notes = ["", f"{comparison.direction} is better; intervals: {some.how}", *_warnings(comparison.intervals)]
    if signatures:
        notes += _signatures(comparison.signatures)
    return Table(("system", _heading(measure), *interval_header(some)), rows, tuple(notes))


def _differences_table(comparison: Comparison) -> Table:
    measure = comparison.measure
    rows = tuple(
        (
            f"{one.first} - {one.second}",
            _signed(measure, one.value),
            _signed(measure, one.interval.low),
            _signed(measure, one.interval.high),
            _p(one.p_value),
            _p(one.adjusted_p_value),
            comparison.better(one) or "undecided",
        )
        for one in comparison.differences
    )
    some = comparison.differences[0].interval
    unit = "difference, points" if in_percent(measure) else "difference"
    header = ("pair", unit, *interval_header(some), "p", "p (Holm)", "better")
    many = f"; Holm's correction over {len(rows)} pairs" if len(rows) > 1 else ""
    level = f"'better' is said where p (Holm) is at most {1 - some.level:.3g}"
    return Table(header, rows, ("", f"p: {comparison.test}, two-sided{many}; {level}"))


def seeds_table(variation: SeedVariation, *, signatures: bool = True) -> Table:
    """The value of each seed, their mean and standard deviation, and the intervals of the mean."""
    measure = variation.measure
    rows = [(name, number_text(measure, value), "", "") for name, value in variation.values.items()]
    test_set = variation.test_set
    rows.append(("mean", number_text(measure, variation.mean), *interval_cells(measure, test_set)))
    rows.append(("SD over seeds", number_text(measure, variation.standard_deviation), "", ""))
    notes = ["", f"the interval of the mean is that of the test set, seeds fixed: {test_set.how}"]
    if variation.joint is None:
        notes.append("no joint interval of test set and seeds: that needs at least five seeds")
    else:
        ends = interval_cells(measure, variation.joint)
        rows.append(("mean, seeds drawn too", number_text(measure, variation.mean), *ends))
    notes += _warnings({"mean": test_set})
    if signatures:
        notes += _signatures(variation.signatures)
    return Table(("seed", _heading(measure), *interval_header(test_set)), tuple(rows), tuple(notes))


def _heading(measure: str) -> str:
    return f"{measure} %" if in_percent(measure) else measure


def _signed(measure: str, value: float) -> str:
    text = number_text(measure, value)
    return text if text.startswith("-") else f"+{text}"


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= 0.001 else f"{value:.2g}"


def _warnings(intervals: Mapping[str, Interval]) -> list[str]:
    return list(dict.fromkeys(f"warning: {text}" for one in intervals.values() for text in one.warnings))


def _signatures(signatures: Mapping[str, Signature]) -> list[str]:
    """What makes the numbers comparable, which is the same for all, and what was measured."""
    shared = next(iter(signatures.values())).comparable
    return [f"signature {shared}", *(f"  {name}: {one.input}" for name, one in signatures.items())]

"""Results as tables, plain data and files: evaluations, crossed breakdowns, checks, errors by utterance.

:mod:`spoofspan.report.verdicts` has groups, comparisons and seeds; :class:`spoofspan.report.table.Table` writes a table
as text, Markdown, LaTeX, CSV or HTML.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from spoofspan.base.errors import UndefinedMeasureError
from spoofspan.base.version import __version__
from spoofspan.evaluation.measurement import BisectionMeasurement, EventMeasurement, Measurement
from spoofspan.measures.measure import Measure, in_percent
from spoofspan.report.cells import (
    DECISION,
    IN_FULL,
    all_digits,
    amount_cell,
    decision_cell,
    interval_cells,
    interval_header,
    measure_cell,
    number_cell,
    share_cell,
    warning_lines,
)
from spoofspan.report.table import Shown, Table, json_text

if TYPE_CHECKING:
    from spoofspan.evaluation.breakdown import Breakdown
    from spoofspan.evaluation.check import Check
    from spoofspan.evaluation.corpus import Evaluation
    from spoofspan.evaluation.crossed import CrossedBreakdown, CrossedCell
    from spoofspan.evaluation.reference_diff import ReferenceDifference
    from spoofspan.formats.datasets.benchmarks import BenchmarkRun
    from spoofspan.measures.operating_point import OperatingPoint
    from spoofspan.measures.per_utterance import UtteranceErrors

VALUE = Shown("value", exact="value (shares in %)")  # the cells of CSV are plain numbers
ROWS_PER_PIECE = 1 << 16  # of a Parquet file


def render(
    evaluation: Evaluation,
    spelling: str,
    breakdowns: Sequence[Breakdown] = (),
    crossed: Sequence[CrossedBreakdown] = (),
    *,
    full_signature: bool = False,
    benchmark: BenchmarkRun | None = None,
) -> str:
    """Write an evaluation, and its breakdowns, in one of the output formats; text has short signatures."""
    if spelling == "json":
        plain = evaluation_dict(evaluation)
        if benchmark is not None:
            plain["benchmark"] = benchmark.to_dict()
        if breakdowns:
            plain["breakdowns"] = [finite(one.to_dict()) for one in breakdowns]
        if crossed:
            plain["crossed"] = [finite(one.to_dict()) for one in crossed]
        return json_text(plain)
    about = () if benchmark is None else benchmark.notes
    tables = [results_table(evaluation, short=spelling == "text" and not full_signature, notes=about)]
    tables += [trace_table(one) for one in evaluation.measurements.values() if isinstance(one, BisectionMeasurement)]
    if breakdowns:
        from spoofspan.report.verdicts import breakdown_tables

        tables += [table for one in breakdowns for table in breakdown_tables(one)]
    tables += map(crossed_table, crossed)
    return "\n".join(table.render(spelling) for table in tables)


def evaluation_dict(evaluation: Evaluation) -> dict[str, Any]:
    """An evaluation as plain data, in the shape of ``docs/schema/evaluation.json``."""
    return {"spoofspan": __version__, **finite(evaluation.to_dict())}


def finite(value: Any) -> Any:
    """Replace infinities and NaN, which JSON does not have, by text."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [finite(item) for item in value]
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        return str(value)
    return value


def results_table(
    evaluation: Evaluation, *, signatures: bool = True, short: bool = False, notes: Sequence[str] = ()
) -> Table:
    """One row per measurement; what the rules touched, further ``notes`` and the signatures below."""
    measurements = list(evaluation.measurements.values())
    # at a t-EER the countermeasure's two rates need not be equal
    only_eers = all(m.measure.partition("@")[0].endswith("-eer") and "-t-eer" not in m.measure for m in measurements)
    intervals = [m.interval for m in measurements if m.interval is not None]
    rows: list[tuple[str, ...]] = [
        (
            measure_cell(m.measure),
            number_cell(m.measure, m.value, "" if only_eers or not in_percent(m.measure) else " %"),
            *(interval_cells(m.measure, m.interval) if intervals else ()),
            *(share_cell(one) if m.has_threshold else "" for one in _rates(m)),
            decision_cell(m.decision),
        )
        for m in measurements
    ]
    notes = [*_notes(measurements), *(f"note: {note}" for note in notes)]
    notes += dict.fromkeys(f"intervals: {one.how}" for one in intervals)
    notes += warning_lines([text for one in intervals for text in one.warnings])
    if signatures and short:
        parts = [(m.measure, *m.signature.short.split(" || ")) for m in measurements]
        each = [f"{measure} {comparable}" for measure, comparable, _ in parts]
        inputs = dict.fromkeys(one for _, _, one in parts)
        notes.append(f"signature {', '.join(each)} || {', '.join(inputs)} {IN_FULL}")
    elif signatures:
        notes += [f"signature {m.signature}" for m in measurements]
    between = interval_header(intervals[0]) if intervals else ()
    value = "EER %" if only_eers else VALUE
    # a paper has no room for what is nearly the same three times
    header: tuple[str, ...] = ("measure", value, *between, *map(_screen_only, ("FPR %", "FNR %", "gap")), DECISION)
    events = [m for m in measurements if isinstance(m, EventMeasurement)]
    if len(events) == len(measurements):  # they have no rates of time
        header = ("measure", VALUE, *between, "events", "proposals", "decision")
        rows = [
            (
                measure_cell(m.measure),
                number_cell(m.measure, m.value, " %" if in_percent(m.measure) else ""),
                *(interval_cells(m.measure, m.interval) if intervals else ()),
                str(m.events),
                str(m.proposals),
                m.decision,
            )
            for m in events
        ]
    return Table(header, tuple(rows), tuple(notes))


def _screen_only(head: str) -> Shown:
    return Shown(head, paper="")


def _rates(m: Measurement) -> tuple[float, float, float]:
    return m.false_positive_rate, m.false_negative_rate, m.gap


def _notes(measurements: list[Measurement]) -> list[str]:
    first = measurements[0]
    notes = [
        "",
        f"{first.utterances} utterances, convention {first.convention}, {_read_off(measurements)}",
        *dict.fromkeys(line for m in measurements for line in m.touched_lines()),
    ]
    others = measurements[1:]
    shared = [note for note in first.notes if others and all(note in m.notes for m in others)]
    notes += [f"note: {note}" for note in shared]
    return [*notes, *(f"note: {m.measure}: {note}" for m in measurements for note in m.notes if note not in shared)]


def _read_off(measurements: list[Measurement]) -> str:
    rules = list(dict.fromkeys(m.eer_rule for m in measurements))
    plain = len(rules) == 1 and not rules[0].startswith(("threshold", "all-", "proposals"))
    return f"EER rule {rules[0]}" if plain else f"read off: {', '.join(rules)}"


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


def crossed_table(crossed: CrossedBreakdown) -> Table:
    """One row per value of the first column; one column per value of the second, or the amounts of both classes."""

    def text(value: float) -> str:
        return "" if math.isnan(value) else number_cell(crossed.measure, value)

    def with_interval(cell: CrossedCell) -> str:
        value = text(cell.value)
        if not value or cell.interval is None:
            return value
        return Shown(
            f"{value} [{', '.join(interval_cells(crossed.measure, cell.interval))}]",
            exact=all_digits(crossed.measure, cell.value),
        )

    intervals = [cell.interval for cell in crossed.cells.values() if cell.interval is not None]
    notes = ["", f"{crossed.measure}{' in %' * in_percent(crossed.measure)}"]
    notes += [crossed.about] if crossed.about else []
    if intervals:
        notes.append(f"intervals: {100 * intervals[0].level:g} %, {intervals[0].method}, each of its cell alone")
    if len(crossed.by) == 1:
        # an event is a spoof, so there is no other class to count
        amounts = ["events"] if crossed.unit == "events" else [f"bona fide {crossed.unit}", f"spoof {crossed.unit}"]
        if Measure.parse(crossed.measure).kind.trials:
            amounts = ["target trials", "other trials"]
        cells = [(row, crossed[row, crossed.columns[0]]) for row in crossed.rows]
        between = interval_header(intervals[0]) if intervals else ()
        rows = [
            (
                row,
                *map(str, (one.bona_fide, one.spoof)[-len(amounts) :]),
                text(one.value) or one.reason,
                *(interval_cells(crossed.measure, one.interval) if intervals else ()),
            )
            for row, one in cells
        ]
        return Table((crossed.by[0], *amounts, crossed.measure, *between), tuple(rows), tuple(notes))
    missing = dict.fromkeys(one.reason for one in crossed.cells.values() if math.isnan(one.value))
    notes += [f"empty: {reason}" for reason in missing if reason]
    header = (" x ".join(crossed.by), *crossed.columns)
    rows = [(row, *(with_interval(crossed[row, column]) for column in crossed.columns)) for row in crossed.rows]
    return Table(header, tuple(rows), tuple(notes))


# ---------------------------------------------------------------- before measuring


def check_table(check: Check) -> Table:
    """Facts, touched time and problems of a check."""
    rows = [(name, value) for name, value in check.facts.items()]
    rows += [
        (f"time that rule {entry.rule} decides", f"{entry.seconds:.3f} s in {entry.utterances} utterances")
        for entry in check.touched
    ]
    verdict = "passed: measuring will go through" if check.passed else "refused:"
    lines = [line for problem in check.problems for line in problem.splitlines()]
    notes = [line for note in check.notes for line in f"note: {note}".splitlines()]
    return Table(("what", "found"), tuple(rows), ("", verdict, *lines, *notes))


def difference_dict(difference: ReferenceDifference, most: int) -> dict[str, Any]:
    """A comparison of two references as plain data."""
    from spoofspan.evaluation.reference_diff import NAMES

    return {
        "utterances": len(difference.utterances),
        "only_a": list(difference.only_a),
        "only_b": list(difference.only_b),
        "labels": list(NAMES),
        "seconds": [[ns / 1e9 for ns in row] for row in difference.time],
        "shift_seconds": difference.shift / 1e9,
        "shift_support": difference.shift_support,
        "eer_interval": _eer_interval(difference),
        "worst": [{"utterance": utt, "seconds": ns / 1e9} for utt, ns in _worst(difference, most)],
    }


def difference_table(difference: ReferenceDifference, most: int) -> Table:
    """A comparison of two references: one row per label of A, one column per label of B, in seconds."""
    from spoofspan.evaluation.reference_diff import NAMES

    shift = difference.shift / 1e6
    where = f"{-shift:g} ms earlier" if shift < 0 else f"{shift:g} ms later"
    effect = "B has one class only, so there is no EER against it"
    if found := _eer_interval(difference):
        low, high = (f"{100 * one:.2f} %" for one in found)
        effect = f"scores that separate A perfectly have a range EER between {low} and {high} against B"
    rows = tuple(
        (
            f"A: {name}",
            *(amount_cell(ns / 1e9, 3) for ns in difference.time[i]),
            "" if not sum(difference.time[i]) else share_cell(difference.share(i, i), unit=" %"),
        )
        for i, name in enumerate(NAMES)
    )
    notes = [
        "",
        f"{len(difference.utterances)} utterances in both, {len(difference.only_a)} only in A, "
        f"{len(difference.only_b)} only in B",
    ]
    if difference.shift_support:
        notes.append(
            f"most likely shift: B is {where} ({100 * difference.shift_support:.1f} % of the "
            "boundaries of A have one of B there)"
        )
    else:
        notes.append("no shift is known: no boundary of A has one of B near it")
    notes.append(effect)
    notes += [f"{utt}: {ns / 1e9:.3f} s differ" for utt, ns in _worst(difference, most)]
    return Table(("seconds", *(f"B: {name}" for name in NAMES), "agree"), rows, tuple(notes))


def _eer_interval(difference: ReferenceDifference) -> list[float] | None:
    """Nothing where B has one class only: the seconds are wanted all the same."""
    try:
        return list(difference.eer_interval)
    except UndefinedMeasureError:
        return None


def _worst(difference: ReferenceDifference, most: int) -> list[tuple[str, int]]:
    pairs = zip(difference.utterances, difference.disagreement.tolist(), strict=True)
    return sorted((pair for pair in pairs if pair[1]), key=lambda pair: (-pair[1], pair[0]))[:most]


# ---------------------------------------------------------------- errors by utterance


def utterances_file(errors: UtteranceErrors, target: str, at: OperatingPoint) -> Iterable[bytes]:
    """Errors by utterance as a CSV, JSON or Parquet file, by the end of its name; ``at`` is where they were measured.

    What has no value is an empty cell (null in JSON and Parquet), and the column ``undefined`` says why.
    """
    suffix = PurePath(target.removesuffix(".gz").removesuffix(".zst")).suffix
    if suffix == ".json":
        return _errors_json(errors, at)
    if suffix in (".parquet", ".pq"):
        return _errors_parquet(errors)
    return [utterances_table(errors).render("csv").encode()]


def utterances_table(errors: UtteranceErrors) -> Table:
    """One row per utterance."""
    columns = {name: list(map(_cell, values)) for name, values in _error_columns(errors).items()}
    return Table(tuple(columns), tuple(zip(*columns.values(), strict=True)))


def _error_columns(errors: UtteranceErrors) -> dict[str, list[Any]]:
    """The columns as lists, None where there is no value."""
    columns = errors.columns().items()
    lists = {name: values if isinstance(values, list) else values.tolist() for name, values in columns}
    return {name: [None if value != value else value for value in values] for name, values in lists.items()}


def _cell(value: Any) -> str:
    """A number with all its digits."""
    return "" if value is None else value if isinstance(value, str) else repr(value)


def _errors_json(errors: UtteranceErrors, at: OperatingPoint) -> Iterator[bytes]:
    head = {"spoofspan": __version__, "threshold": at.threshold, "decision": at.decision}
    yield json.dumps(finite(head), ensure_ascii=False)[:-1].encode() + b', "utterances": ['
    columns = _error_columns(errors)
    separator = "\n"
    for row in zip(*columns.values(), strict=True):
        one = finite(dict(zip(columns, row, strict=True)))
        yield (separator + json.dumps(one, ensure_ascii=False)).encode()
        separator = ",\n"
    yield b"\n]}\n"


def _errors_parquet(errors: UtteranceErrors) -> Iterator[bytes]:
    from spoofspan.formats import arrow as pa
    from spoofspan.formats.tables.containers import in_pieces

    columns = _error_columns(errors)
    texts = ("utterance", "undefined")
    schema = pa.schema([(name, pa.string() if name in texts else pa.float64()) for name in columns])
    table = pa.table(columns, schema=schema)
    return in_pieces(table, ROWS_PER_PIECE, lambda sink: pa.parquet.ParquetWriter(sink, schema, compression="zstd"))

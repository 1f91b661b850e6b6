"""Results as tables, plain data and files: evaluations, crossed breakdowns, checks, errors by utterance, benchmarks.

:mod:`spoofspan.report.verdicts` has groups, comparisons and seeds; :class:`spoofspan.report.table.Table` writes a table
as text, Markdown, LaTeX, CSV or HTML.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.base.times import seconds_text
from spoofspan.base.version import __version__
from spoofspan.evaluation.measurement import BisectionMeasurement, EventMeasurement, Measurement, counted
from spoofspan.measures.measure import EER_RULES, Measure, in_percent, plain_text
from spoofspan.report.cells import (
    DECISION,
    NONE,
    all_digits,
    amount_cell,
    decision_cell,
    interval_cells,
    interval_header,
    measure_cell,
    number_cell,
    p_text,
    share_cell,
    signed,
    warning_lines,
    warnings_by_name,
)
from spoofspan.report.table import Shown, Table, finite, json_text

if TYPE_CHECKING:
    from spoofspan.evaluation.breakdown import Breakdown
    from spoofspan.evaluation.calibration import CalibrationEffect
    from spoofspan.evaluation.check import Check
    from spoofspan.evaluation.corpus import Evaluation
    from spoofspan.evaluation.crossed import CrossedBreakdown, CrossedCell
    from spoofspan.evaluation.domains import Domain, DomainComparison, DomainTable
    from spoofspan.evaluation.reference_diff import ReferenceDifference
    from spoofspan.evaluation.result_diff import MeasureDifference, ResultDiff
    from spoofspan.evaluation.verification import Verification
    from spoofspan.formats.datasets.benchmarks import Benchmark, BenchmarkRun
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
    confusion: bool = False,
) -> str:
    """Write an evaluation, and its breakdowns, in one of the output formats; text has short signatures."""
    if spelling == "json":
        plain = finite(evaluation.to_dict())
        if benchmark is not None:
            plain["benchmark"] = benchmark.to_dict()
        if breakdowns:
            plain["breakdowns"] = [finite(one.to_dict()) for one in breakdowns]
        if crossed:
            plain["crossed"] = [finite(one.to_dict()) for one in crossed]
        return json_text(plain)
    about = () if benchmark is None else benchmark.notes
    tables = [results_table(evaluation, short=spelling == "text" and not full_signature, notes=about)]
    tables += [confusion_table(evaluation)] if confusion else []
    tables += [trace_table(one) for one in evaluation.measurements.values() if isinstance(one, BisectionMeasurement)]
    if breakdowns:
        from spoofspan.report.verdicts import breakdown_tables

        tables += [table for one in breakdowns for table in breakdown_tables(one)]
    tables += map(crossed_table, crossed)
    return "\n".join(table.render(spelling) for table in tables)


def results_table(
    evaluation: Evaluation, *, signatures: bool = True, short: bool = False, notes: Sequence[str] = ()
) -> Table:
    """One row per measurement; what the rules touched, further ``notes`` and the signatures below."""
    measurements = list(evaluation.measurements.values())
    # at a t-EER the countermeasure's two rates need not be equal
    only_eers = all(m.measure.partition("@")[0].endswith("-eer") and "-t-eer" not in m.measure for m in measurements)
    intervals = [m.interval for m in measurements if m.interval is not None]
    of_events = all(isinstance(m, EventMeasurement) for m in measurements)  # they have no rates of time
    rows = tuple(
        (
            measure_cell(m.measure),
            number_cell(m.measure, m.value, "" if only_eers or not in_percent(m.measure) else " %"),
            *(interval_cells(m.measure, m.interval, intervals[0]) if intervals else ()),
            *(_counts_and_decision(m) if of_events else _rates_and_decision(m)),
        )
        for m in measurements
    )
    notes = [*_notes(measurements), *(f"note: {note}" for note in notes)]
    notes += dict.fromkeys(f"intervals: {one.how}" for one in intervals)
    notes += warning_lines([text for one in intervals for text in one.warnings])
    if signatures:
        notes += [f"signature {m.signature.short if short else m.signature}" for m in measurements]
    between = interval_header(intervals[0]) if intervals else ()
    # a paper has no room for what is nearly the same three times
    rates = (*(Shown(head, paper="") for head in ("FPR %", "FNR %", "gap")), DECISION)
    heads = ("events", "proposals", "decision") if of_events else rates
    return Table(("measure", "EER %" if only_eers else VALUE, *between, *heads), rows, tuple(notes))


def _rates_and_decision(m: Measurement) -> tuple[str, ...]:
    at = m.point
    rates = (at.false_positive_rate, at.false_negative_rate, at.gap) if m.has_threshold else ()
    return *(map(share_cell, rates) if rates else ("", "", "")), decision_cell(m.decision)


def _counts_and_decision(m: Any) -> tuple[str, ...]:
    return str(m.events), str(m.proposals), m.decision


def _notes(measurements: list[Measurement]) -> list[str]:
    first = measurements[0]
    notes = [
        "",
        f"{counted(first.utterances, 'utterance')}, convention {first.convention}, {_read_off(measurements)}",
        *dict.fromkeys(line for m in measurements for line in m.touched_lines()),
    ]
    others = measurements[1:]
    shared = [note for note in first.notes if others and all(note in m.notes for m in others)]
    notes += [f"note: {note}" for note in shared]
    return [*notes, *(f"note: {m.measure}: {note}" for m in measurements for note in m.notes if note not in shared)]


def _read_off(measurements: list[Measurement]) -> str:
    rules = list(dict.fromkeys(m.eer_rule for m in measurements))
    plain = len(rules) == 1 and rules[0].partition("(")[0] in EER_RULES
    return f"EER rule {rules[0]}" if plain else f"read off: {', '.join(rules)}"


def confusion_table(evaluation: Evaluation) -> Table:
    """Confusion matrices at the thresholds of the measurements that have one."""
    rows = []
    for one in evaluation.measurements.values():
        if (cells := one.confusion) is not None:
            basis = Measure.parse(one.measure).basis
            numbers = (f"{count:,.2f}" if basis == "range" else f"{count:,}" for count in cells.values())
            rows.append((one.measure, {"range": "seconds", "point": "points"}.get(basis, "utterances"), *numbers))
    if not rows:
        raise UsageError("--confusion: none of these measures has a threshold; range-eer and range-f1 have one")
    head = ("confusion at", "unit", "spoof found", "spoof missed", "false alarm", "bona fide right", "no decision")
    undecided = any(float(row[-1].replace(",", "")) for row in rows)
    return Table(head if undecided else head[:-1], tuple(row if undecided else row[:-1] for row in rows))


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
            f"{value} [{', '.join(interval_cells(crossed.measure, cell.interval)[:2])}]",
            exact=all_digits(crossed.measure, cell.value),
        )

    intervals = [cell.interval for cell in crossed.cells.values() if cell.interval is not None]
    notes = ["", f"{crossed.measure}{' in %' * in_percent(crossed.measure)}"]
    notes += [crossed.about] if crossed.about else []
    if intervals:
        by = f"{100 * intervals[0].level:g} %, {intervals[0].method}"
        whole, *others = dict.fromkeys(one.estimand for one in intervals)
        scope = f"{others[0]}; pooled ones {whole}" if others else whole
        notes.append(f"intervals: {by}, each of its cell alone, {scope}")
        notes += _warnings_of_cells(crossed)
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
                *(interval_cells(crossed.measure, one.interval, intervals[0]) if intervals else ()),
            )
            for row, one in cells
        ]
        return Table((crossed.by[0], *amounts, crossed.measure, *between), tuple(rows), tuple(notes))
    missing = dict.fromkeys(one.reason for one in crossed.cells.values() if math.isnan(one.value))
    notes += [f"empty: {reason}" for reason in missing if reason]
    header = (" x ".join(crossed.by), *crossed.columns)
    rows = [(row, *(with_interval(crossed[row, column]) for column in crossed.columns)) for row in crossed.rows]
    return Table(header, tuple(rows), tuple(notes))


def _warnings_of_cells(crossed: CrossedBreakdown) -> list[str]:
    """Warnings of intervals, by cell; those of the whole corpus stand with its measures."""
    whole = crossed[crossed.rows[0], crossed.columns[0]].interval
    known = () if whole is None else whole.warnings
    return warnings_by_name(
        (
            row if len(crossed.by) == 1 else f"{row} x {column}",
            [one for one in cell.interval.warnings if one not in known],
        )
        for (row, column), cell in crossed.cells.items()
        if cell.interval is not None
    )


# ---------------------------------------------------------------- before measuring


def check_table(check: Check) -> Table:
    """Facts, touched time and problems of a check."""
    rows = [(name, value) for name, value in check.facts.items()]
    rows += [
        (f"time that rule {entry.rule} decides", f"{entry.seconds:.3f} s in {entry.utterances} utterances")
        for entry in check.touched
    ]
    verdict = "refused:" if check.problems else "" if check.identified else "passed: measuring will go through"
    lines = [line for problem in check.problems for line in problem.splitlines()]
    notes = [line for note in check.notes for line in f"note: {note}".splitlines()]
    return Table(("what", "found"), tuple(rows), ("", verdict, *lines, *notes) if verdict else ())


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


# ---------------------------------------------------------------- results that travel


def verification_table(found: Verification) -> Table:
    """The values that were measured again, or one row for each difference."""
    notes = [f"note: {one}" for one in found.notes]
    if found.confirmed:
        rows = tuple((measure_cell(m.measure), m.value_text) for m in found.evaluation.measurements.values())
        return Table(("measure", "value"), rows, ("", f"confirmed: {found.result}", *notes))
    differences = tuple((one.measure, one.name, one.stated, one.found) for one in found.differences)
    return Table(("measure", "differs", "stated", "found"), differences, ("", f"not confirmed: {found.result}", *notes))


def diff_tables(found: ResultDiff) -> list[Table]:
    """One table for each measure: every rule and input that differs, with its effect if it was measured."""
    tables = [_diff_table(one) for one in found.measures]
    last = tables[-1]
    notes = ("", f"A: {found.a}", f"B: {found.b}", *(f"note: {one}" for one in found.notes))
    if any(one.effects for one in found.measures):
        notes = (*notes, "effects: each rule changed alone, from A towards B, in this order")
    return [*tables[:-1], Table(last.columns, last.rows, (*last.notes, *notes))]


def _diff_table(one: MeasureDifference) -> Table:
    points = in_percent(one.measure)
    unit = " %" if points else ""

    def difference(a: float, b: float) -> str:
        return "" if math.isnan(b - a) else f"{(100 if points else 1) * (b - a):+.4f}"

    def value(number: float) -> str:
        return "" if math.isnan(number) else number_cell(one.measure, number, unit)

    effects = {f"rule {effect.rule}" if effect.rule != "eer" else "eer": effect for effect in one.effects}
    rows = [("value", value(one.a), value(one.b), difference(one.a, one.b))]
    if one.measured is not None:
        a, b = one.measured
        rows.append(("value on the files given", value(a), value(b), difference(a, b)))
    names = {apart.name: (apart.stated, apart.found) for apart in one.differences}
    names |= {name: (effect.a, effect.b) for name, effect in effects.items()}
    rows += [
        (
            name,
            _in_seconds(a),
            _in_seconds(b),
            effects[name].reason or difference(0.0, effects[name].effect) if name in effects else "",
        )
        for name, (a, b) in sorted(
            names.items(), key=lambda pair: list(effects).index(pair[0]) if pair[0] in effects else -1
        )
    ]
    if one.effects:
        rows.append(("interaction", "", "", difference(0.0, one.interaction)))
    return Table((one.measure, "A", "B", "B - A (points)" if points else "B - A"), tuple(rows))


def _in_seconds(value: str) -> str:
    """A value of a rule as people read it: nanoseconds as seconds, others as they are."""
    digits = value.removesuffix("ns")
    return seconds_text(int(digits)) if digits != value and digits.isdigit() else value


# ---------------------------------------------------------------- errors by utterance


def check_utterances_target(target: str) -> None:
    """Refuse a name that :func:`utterances_file` cannot obey, before anything is measured."""
    suffix = _suffix(target)
    if suffix not in ("", ".csv", ".json", ".parquet", ".pq"):
        raise UsageError(f"{target}: errors by utterance are written as .csv, .json or .parquet; choose such a name")
    if suffix in (".parquet", ".pq"):
        from spoofspan.formats import arrow

        arrow.table  # noqa: B018 - or refused, where it is not installed


def _suffix(target: str) -> str:
    return PurePath(target.removesuffix(".gz").removesuffix(".zst")).suffix


def utterances_file(errors: UtteranceErrors, target: str, at: OperatingPoint) -> Iterable[bytes]:
    """Errors by utterance as a CSV, JSON or Parquet file, by the end of its name; ``at`` is where they were measured.

    What has no value is an empty cell (null in JSON and Parquet), and the column ``undefined`` says why.
    """
    suffix = _suffix(target)
    if suffix == ".json":
        return [_errors_json(errors, at)]
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


def _errors_json(errors: UtteranceErrors, at: OperatingPoint) -> bytes:
    head = {"spoofspan": __version__, "threshold": at.threshold, "decision": at.decision}
    columns = _error_columns(errors)
    rows = (finite(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True))
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f'{json.dumps(finite(head), ensure_ascii=False)[:-1]}, "utterances": [\n{lines}\n]}}\n'.encode()


def _errors_parquet(errors: UtteranceErrors) -> Iterator[bytes]:
    from spoofspan.formats import arrow as pa
    from spoofspan.formats.tables.arrow_tables import in_pieces

    columns = _error_columns(errors)
    texts = ("utterance", "undefined")
    schema = pa.schema([(name, pa.string() if name in texts else pa.float64()) for name in columns])
    table = pa.table(columns, schema=schema)
    return in_pieces(table, ROWS_PER_PIECE, lambda sink: pa.parquet.ParquetWriter(sink, schema, compression="zstd"))


# ---------------------------------------------------------------- several corpora, calibrations, benchmarks


def domains_table(system: str, table: DomainTable) -> Table:
    """One row per corpus, then their mean and all of them pooled."""
    known = table.domains[0].intervals
    ends = () if known is None else interval_header(known.eer)
    header = (system, "utterances", "EER %", *ends, "threshold", "FPR %", "FNR %", "HTER %", "degradation")
    rows: list[tuple[str, ...]] = [
        (
            one.name,
            str(one.utterances),
            share_cell(one.eer),
            *(() if one.intervals is None else interval_cells(table.measure, one.intervals.eer)),
            _threshold(one.threshold),
            share_cell(one.carried.false_positive_rate),
            share_cell(one.carried.false_negative_rate),
            share_cell(one.hter),
            signed(table.measure, one.degradation),
            *_degradation_cells(one, table),
        )
        for one in table.domains
    ]
    none = ("",) * (3 if known is not None else 0)
    over = table.over_corpora
    mean = () if over is None else (share_cell(over.low) or NONE, share_cell(over.high) or NONE)
    total = str(sum(one.utterances for one in table.domains))
    rows.append(("mean", "", share_cell(table.mean_eer), *mean, "", "", "", share_cell(table.mean_hter), "", *none))
    if over is not None:
        ends_of_next = (share_cell(over.next_low) or NONE, share_cell(over.next_high) or NONE)
        rows.append(("next corpus", "", "", *ends_of_next, "", "", "", "", "", *none))
    pooled = share_cell(table.pooled_eer)
    rows.append(("pooled", total, pooled, *none[:2], _threshold(table.pooled_threshold), "", "", "", "", *none))
    source = "all corpora pooled" if table.threshold_of == "pooled" else table.threshold_of
    notes = [
        "",
        f"{table.measure}; FPR, FNR and HTER at the threshold {table.threshold!r} of {source}",
        "degradation: HTER less the corpus's own EER, in points",
    ]
    if known is not None:
        header = (*header, *interval_header(known.eer), "p (Holm)")
        notes += [
            f"intervals: jackknife-t, {table.estimand}; those of the degradation know that the threshold is estimated",
            "mean: the interval is for new corpora; next corpus: where its EER is expected",
            *warning_lines(table.warnings),
        ]
    return Table(header, tuple(rows), tuple(notes), table.verdict)


def _degradation_cells(one: Domain, table: DomainTable) -> tuple[str, ...]:
    """The interval and the p-value of a degradation; the development corpus has none."""
    if one.intervals is None:
        return ()
    if one.name == table.threshold_of:
        return "", "", ""
    found = one.intervals.degradation
    ends = (NONE, NONE) if found.refused else (signed(table.measure, found.low), signed(table.measure, found.high))
    return *ends, p_text(one.intervals.p_value)


def domain_differences_table(found: DomainComparison) -> Table:
    """One row per pair of systems: over these corpora, and over new ones."""
    measure = next(iter(found.tables.values())).measure
    rows = []
    for one in found.differences:
        here = (NONE, NONE) if one.these.refused else (signed(measure, one.these.low), signed(measure, one.these.high))
        new = [
            signed(measure, end) if end == end else NONE
            for end in (one.new.low, one.new.high, one.new.next_low, one.new.next_high)
        ]
        pair = f"{one.first} - {one.second}"
        p_values = p_text(one.adjusted_p_value), p_text(one.adjusted_new_p_value)
        rows.append((pair, signed(measure, one.these.estimate), *here, p_values[0], *new[:2], p_values[1], *new[2:]))
    some = found.differences[0].these
    level = f"{100 * some.level:g} %"
    header = ("pair", "mean difference, points", *interval_header(some), "p (Holm)", f"new corpora: {level} from", "to")
    notes = (
        "",
        f"first intervals and p: jackknife-t, {some.estimand}, these corpora",
        "the others take the corpora as a sample of those to come; the last two columns are for one new corpus",
        *warning_lines(found.differences[0].new.warnings),
    )
    return Table((*header, "p (Holm)", "next corpus: from", "to"), tuple(rows), notes, found.verdict)


def _threshold(value: float) -> Shown:
    return Shown(f"{value:.6g}", exact=repr(float(value)), paper=f"{value:.4g}")


CALIBRATION_NOTES = (
    "scores are taken as log-likelihood ratios; Cllr in bits, actDCF and minDCF of ASVspoof 5",
    "minCllr and minDCF depend on the order of the scores alone",
)


def calibration_table(effects: Sequence[CalibrationEffect], notes: Sequence[str] = ()) -> Table:
    """One row for each state of the scores."""
    rows = [
        (
            one.name,
            f"{100 * one.eer:.2f}",
            *(plain_text(value, 4) for value in (one.cllr, one.min_cllr, one.act_dcf, one.min_dcf)),
        )
        for one in effects
    ]
    return Table(
        ("scores", "EER %", "Cllr", "minCllr", "actDCF", "minDCF"), tuple(rows), ("", *CALIBRATION_NOTES, *notes)
    )


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

"""Evaluations as text, JSON, Markdown, LaTeX or CSV."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from spoofspan.evaluation.reference_diff import NAMES
from spoofspan.measures.measure import number_text
from spoofspan.report.table import Table

if TYPE_CHECKING:
    from spoofspan.evaluation.breakdown import Breakdown
    from spoofspan.evaluation.check import Check
    from spoofspan.evaluation.corpus import Evaluation
    from spoofspan.evaluation.measurement import Measurement
    from spoofspan.evaluation.reference_diff import ReferenceDifference
    from spoofspan.uncertainty import Interval


def render(evaluation: Evaluation, spelling: str, breakdowns: Sequence[Breakdown] = ()) -> str:
    """Write an evaluation, and its breakdowns, in one of the output formats."""
    if spelling == "json":
        plain = evaluation_dict(evaluation)
        if breakdowns:
            plain["breakdowns"] = [finite(one.to_dict()) for one in breakdowns]
        return json.dumps(plain, indent=2, ensure_ascii=False) + "\n"
    tables = [results_table(evaluation), *map(breakdown_table, breakdowns)]
    return "\n".join(table.render(spelling) for table in tables)


def breakdown_table(breakdown: Breakdown) -> Table:
    """One row per group."""
    rows = tuple(
        (
            group.name,
            str(group.utterances),
            f"{group.bona_fide_seconds:.2f}",
            f"{group.spoof_seconds:.2f}",
            f"{group.error_seconds:.2f}",
            "" if math.isnan(group.share_of_error) else f"{100 * group.share_of_error:.1f} %",
            group.reason if group.measurement is None else group.measurement.value_text,
        )
        for group in breakdown.groups
    )
    header = (breakdown.by, "utterances", "bona fide s", "spoof s", "error s", "of all error", breakdown.measure)
    notes = ("", f"errors at the threshold {breakdown.threshold!r} of the whole corpus")
    return Table(header, rows, (*notes, breakdown.about) if breakdown.about else notes)


def evaluation_dict(evaluation: Evaluation) -> dict[str, Any]:
    """An evaluation as plain data, in the shape of ``docs/schema/evaluation.json``."""
    from spoofspan.base.version import __version__

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


def results_table(evaluation: Evaluation, *, signatures: bool = True) -> Table:
    """One row per measurement; what the rules touched and the signatures below."""
    from spoofspan.evaluation.measurement import EventMeasurement

    measurements = list(evaluation.measurements.values())
    only_eers = all(m.measure.partition("@")[0].endswith("-eer") for m in measurements)
    intervals = [m.interval for m in measurements if m.interval is not None]
    rows: list[tuple[str, ...]] = [
        (
            m.measure,
            f"{100 * m.value:.2f}" if only_eers else m.value_text,
            *(_interval_cells(m) if intervals else ()),
            *(_percents(m) if m.has_threshold else ("", "", "")),
            m.decision,
        )
        for m in measurements
    ]
    notes = _notes(measurements)
    notes += dict.fromkeys(f"intervals: {one.how}" for one in intervals)
    notes += dict.fromkeys(f"warning: {text}" for one in intervals for text in one.warnings)
    if signatures:
        notes += [f"signature {m.signature}" for m in measurements]
    between = interval_header(intervals[0]) if intervals else ()
    header: tuple[str, ...] = (
        "measure",
        "EER %" if only_eers else "value",
        *between,
        "FPR %",
        "FNR %",
        "gap",
        "decision",
    )
    events = [m for m in measurements if isinstance(m, EventMeasurement)]
    if len(events) == len(measurements):  # they have no rates of time
        header = ("measure", "value", "events", "proposals", "decision")
        rows = [(m.measure, m.value_text, str(m.events), str(m.proposals), m.decision) for m in events]
    return Table(header, tuple(rows), tuple(notes))


def _interval_cells(m: Measurement) -> tuple[str, str]:
    return ("", "") if m.interval is None else interval_cells(m.measure, m.interval)


def interval_header(interval: Interval) -> tuple[str, str]:
    """Two columns, so that both ends are numbers in a spreadsheet as well."""
    return f"{100 * interval.level:g} % from", "to"


def interval_cells(measure: str, interval: Interval) -> tuple[str, str]:
    """Both ends, as the value of the measure is read."""
    return number_text(measure, interval.low), number_text(measure, interval.high)


def _percents(m: Measurement) -> tuple[str, str, str]:
    return f"{100 * m.false_positive_rate:.2f}", f"{100 * m.false_negative_rate:.2f}", f"{100 * m.gap:.2f}"


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


def check_table(check: Check) -> Table:
    """Facts, touched time and problems of a check."""
    rows = [(name, value) for name, value in check.facts.items()]
    rows += [
        (f"time that rule {entry.rule} decides", f"{entry.seconds:.3f} s in {entry.utterances} utterances")
        for entry in check.touched
    ]
    verdict = "passed: measuring will go through" if check.passed else "refused:"
    lines = [line for problem in check.problems for line in problem.splitlines()]
    return Table(("what", "found"), tuple(rows), ("", verdict, *lines))


def difference_dict(difference: ReferenceDifference, most: int) -> dict[str, Any]:
    """A comparison of two references as plain data."""
    return {
        "utterances": len(difference.utterances),
        "only_a": list(difference.only_a),
        "only_b": list(difference.only_b),
        "labels": list(NAMES),
        "seconds": [[ns / 1e9 for ns in row] for row in difference.time],
        "shift_seconds": difference.shift / 1e9,
        "shift_support": difference.shift_support,
        "eer_interval": list(difference.eer_interval),
        "worst": [{"utterance": utt, "seconds": ns / 1e9} for utt, ns in _worst(difference, most)],
    }


def difference_table(difference: ReferenceDifference, most: int) -> Table:
    """A comparison of two references: one row per label of A, one column per label of B, in seconds."""
    low, high = difference.eer_interval
    rows = tuple(
        (
            f"A: {name}",
            *(f"{ns / 1e9:.3f}" for ns in difference.time[i]),
            "" if not sum(difference.time[i]) else f"{100 * difference.share(i, i):.2f} %",
        )
        for i, name in enumerate(NAMES)
    )
    notes = [
        "",
        f"{len(difference.utterances)} utterances in both, {len(difference.only_a)} only in A, "
        f"{len(difference.only_b)} only in B",
        f"most likely shift: B is {difference.shift / 1e6:g} ms later ({100 * difference.shift_support:.1f} % of the "
        "boundaries of A have one of B there)",
        f"scores that separate A perfectly have a range EER between {100 * low:.2f} % and {100 * high:.2f} % against B",
    ]
    notes += [f"{utt}: {ns / 1e9:.3f} s differ" for utt, ns in _worst(difference, most)]
    return Table(("seconds", *(f"B: {name}" for name in NAMES), "agree"), rows, tuple(notes))


def _worst(difference: ReferenceDifference, most: int) -> list[tuple[str, int]]:
    pairs = zip(difference.utterances, difference.disagreement.tolist(), strict=True)
    return sorted((pair for pair in pairs if pair[1]), key=lambda pair: (-pair[1], pair[0]))[:most]

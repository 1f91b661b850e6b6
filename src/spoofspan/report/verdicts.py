"""Verdicts as tables: groups, comparisons, seeds, and how large a test set must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from spoofspan.evaluation.breakdown import Breakdown
from spoofspan.evaluation.measurement import Measurement
from spoofspan.evaluation.signature import Signature
from spoofspan.measures.measure import in_percent, number_text
from spoofspan.report.cells import (
    NONE,
    amount_cell,
    heading,
    interval_cells,
    interval_header,
    measure_name,
    number_cell,
    p_text,
    ranks_cells,
    ranks_header,
    share_cell,
    signed,
    warning_lines,
    warnings_by_name,
)
from spoofspan.report.table import MINUS, Shown, Table
from spoofspan.uncertainty.methods import METHODS

if TYPE_CHECKING:
    from spoofspan.uncertainty import Comparison, Interval, SeedVariation
    from spoofspan.uncertainty.comparison import GroupedComparison
    from spoofspan.uncertainty.random_units import UnitSpread
    from spoofspan.uncertainty.ranks import Rank
    from spoofspan.uncertainty.sample_size import SampleSize

Spelling = Callable[[str, float], str]  # of a difference of a measure


def breakdown_tables(breakdown: Breakdown) -> list[Table]:
    """One row per group; and the difference of every pair, if intervals were asked for."""
    tables = [breakdown_table(breakdown)]
    if breakdown.over_attacks is not None:
        tables.append(over_attacks_table(breakdown.measure, breakdown.over_attacks))
    if breakdown.differences:
        tables.append(group_differences_table(breakdown))
    return tables


def over_attacks_table(measure: str, found: UnitSpread) -> Table:
    """The mean over attacks, the worst attack and the next one."""
    unit = " %" if in_percent(measure) else ""
    level = f"{100 * found.level:g} %"
    rows = (
        (
            f"mean over {len(found.values)} attacks",
            *(number_cell(measure, one) for one in (found.mean, found.low, found.high)),
        ),
        (f"worst attack ({found.worst})", number_cell(measure, found.values[found.worst]), "", ""),
        ("next attack", "", *(number_cell(measure, one) for one in (found.next_low, found.next_high))),
    )
    notes = [
        "",
        f"for other {found.cluster}s and new attacks; the next attack: where its value lies over all {found.cluster}s",
    ]
    if found.components is not None:
        parts = found.to_dict()["components"].items()
        listed = ", ".join(f"{name} {number_text(measure, part)}" for name, part in parts)
        notes += [f"standard deviation of a value by{unit and ', in points'}: {listed}", found.advice]
    notes += [f"warning: {text}" for text in found.warnings]
    return Table(("over attacks", f"{measure}{unit}", f"{level} from", "to"), rows, tuple(notes))


def breakdown_table(breakdown: Breakdown) -> Table:
    """One row per group."""
    measured = [group.measurement for group in breakdown.groups if group.measurement is not None]
    intervals = [m.interval for m in measured if m.interval is not None]
    unit = " %" if in_percent(breakdown.measure) else ""
    rows = tuple(
        (
            group.name,
            str(group.utterances),
            amount_cell(group.bona_fide_seconds),
            amount_cell(group.spoof_seconds),
            amount_cell(group.error_seconds),
            share_cell(group.share_of_error, 1, " %"),
            group.reason
            if group.measurement is None
            else number_cell(breakdown.measure, group.measurement.value, unit),
            *(
                interval_cells(
                    breakdown.measure,
                    None if group.measurement is None else group.measurement.interval,
                    intervals[0],
                )
                if intervals
                else ()
            ),
        )
        for group in breakdown.groups
    )
    between = interval_header(intervals[0]) if intervals else ()
    value = Shown(breakdown.measure, exact=breakdown.measure + unit, paper=measure_name(breakdown.measure))
    amounts = (Shown("bona fide s", paper=""), Shown("spoof s", paper=""))
    header = (
        Shown("utterances", paper=""),
        *amounts,
        "error s",
        Shown("of all error", exact="of all error %"),
        value,
        *between,
    )
    notes = ["", f"errors at the threshold {breakdown.threshold!r} of the whole corpus"]
    notes += [breakdown.about] if breakdown.about else []
    notes += [f"intervals: {intervals[0].method}, {intervals[0].estimand}"] if intervals else []
    measured_groups = ((group.name, group.measurement) for group in breakdown.groups if group.measurement is not None)
    notes += warnings_by_name((name, [*m.interval_warnings, *_no_interval(m)]) for name, m in measured_groups)
    if intervals and METHODS[intervals[0].method].draws:
        notes.append(f"differences between groups come with the method jackknife-t, not with {intervals[0].method}")
    return Table((breakdown.by, *header), rows, tuple(notes))


def _no_interval(measurement: Measurement) -> list[str]:
    return [note for note in measurement.notes if note.startswith("no interval")]


def group_differences_table(breakdown: Breakdown) -> Table:
    """One row per pair of groups."""
    measure, differences = breakdown.measure, breakdown.differences
    rows = tuple(_pair_cells(measure, one.to_dict(), ("p_value", "adjusted_p_value"), signed) for one in differences)
    some = differences[0].interval
    header = ("groups", *_difference_header(measure, some), "p (max-T)")
    together = f"p (max-T): for {len(rows)} comparisons together"
    return Table(header, rows, ("", f"p: {some.method}, two-sided, {some.estimand}; {together}"))


def comparison_tables(comparison: Comparison, *, signatures: bool = True, short: bool = False) -> tuple[Table, Table]:
    """The value and the rank of each system, the best first where there are ranks, and the differences."""
    measure = comparison.measure
    ranks = {one.system: one for one in comparison.ranks} if len(comparison.ranks) > 2 else {}
    rows = tuple(
        (
            name,
            number_cell(measure, comparison.intervals[name].estimate),
            *interval_cells(measure, comparison.intervals[name]),
            *(_rank_cells(ranks[name]) if ranks else ()),
        )
        for name in ranks or comparison.intervals
    )
    some = next(iter(comparison.intervals.values()))
    notes = ["", f"{comparison.direction} is better; intervals: {some.how}"]
    notes += [
        f"{name}: mean of {len(seeds)} seeds ({', '.join(number_text(measure, one) for one in seeds.values())})"
        for name, seeds in comparison.trainings.items()
    ]
    ranked: tuple[str, ...] = ()
    if ranks:
        ranked = ("rank", *ranks_header("best rank", "worst rank"), "group")
        notes.append(
            "ranks: all ranks consistent with the tests below; systems that share a letter do not differ significantly"
        )
    if comparison.best_corrected is not None:
        best = number_text(measure, comparison.best_corrected)
        notes.append(f"the best value without what it owes to being chosen among {len(comparison.intervals)}: {best}")
    notes += warning_lines(comparison.warnings)
    if signatures:
        notes += _signatures(comparison.signatures, short)
    head = ("system", heading(measure), *interval_header(some), *ranked)
    systems = Table(head, rows, tuple(notes), comparison.verdict)
    return systems, differences_table(comparison, comparison.to_rows())


def grouped_comparison_table(comparison: GroupedComparison) -> Table:
    """The value of each system in each group, with the letters of the systems that it does not differ from."""
    measure, names = comparison.measure, list(next(iter(comparison.groups.values())).intervals)
    rows: list[tuple[str, ...]] = []
    for group, found in comparison.groups.items():
        letters = {one.system: f" {one.groups}" for one in found.ranks} if len(found.ranks) > 1 else {}
        values = (number_cell(measure, one.estimate) + letters.get(name, "") for name, one in found.intervals.items())
        rows.append((group, *values))
    some = next(iter(comparison.groups.values()))
    notes = ["", f"{heading(measure)}; {comparison.about}", f"tests: {some.test}, {some.estimand}"]
    notes.append("in each row, systems that share a letter do not differ significantly; --format json has the tests")
    notes += [f"{group}: {reason}" for group, reason in comparison.reasons.items()]
    notes += warnings_by_name((group, found.warnings) for group, found in comparison.groups.items())
    return Table((comparison.by, *names), tuple(rows), tuple(notes))


def _difference_header(measure: str, some: Interval) -> tuple[str, ...]:
    return "difference, points" if in_percent(measure) else "difference", *interval_header(some)[:2], "p"


def _pair_cells(measure: str, row: Mapping[str, Any], p_values: Sequence[str], spell: Spelling) -> tuple[str, ...]:
    """A pair of systems, its difference, the ends of the interval, and p-values; empty cells without a number."""
    pair = Shown(f"{row['first']} - {row['second']}", paper=f"{row['first']} {MINUS} {row['second']}")
    numbers = (spell(measure, row[name]) if _is_value(row[name]) else NONE for name in ("difference", "low", "high"))
    return pair, *numbers, *(p_text(row[name]) if _is_value(row[name]) else NONE for name in p_values)


def _is_value(number: Any) -> bool:
    return isinstance(number, (int, float)) and number == number


def _rank_cells(rank: Rank) -> tuple[str, ...]:
    return str(rank.place), *ranks_cells(rank.low, rank.high), rank.groups


def differences_table(comparison: Comparison, found: Sequence[Mapping[str, Any]], spell: Spelling = signed) -> Table:
    """One row per pair of systems, of the rows of a comparison, or of rounded ones."""
    measure, adjusted, tested = comparison.measure, comparison.compared > 1, comparison.differences[0]
    p_values = ("p_value", "adjusted_p_value") if adjusted else ("p_value",)
    head, some = "p (best)" if comparison.among_best else "p (max-T)", tested.interval
    header = ("pair", *_difference_header(measure, some), *((head,) if adjusted else ()), "better")
    many = f"; adjusted for {comparison.compared} comparisons by step-down max-T" if adjusted else ""
    if comparison.among_best:
        many = "; p (best): the first system is among the best (model confidence set)" * adjusted
    level = f"'better' is said where p{f' {head[2:]}' if adjusted else ''} is under {1 - some.level:.3g}"
    notes = ["", f"p: {comparison.test}, two-sided{many}; {level}", f"p is {comparison.estimand}"]
    if comparison.of_one_training:
        notes.append(
            "each system is one training: another seed may change the order, which no p here counts (give several, "
            "NAME='seed*.score')"
        )
    fixed = some.these_attacks is not None
    if fixed:
        header = (*header, "these attacks: from", "to")
    if tested.margin is not None:
        unit = " points" if in_percent(measure) else ""
        margin = f"{number_text(measure, tested.margin.margin)}{unit}"
        header = (*header, "p (equivalent)", f"within {margin}")
        notes.append(
            f"equivalent: neither system is worse by {margin} or more; 'not worse': that one is not (two one-sided "
            f"tests{', adjusted for the number of pairs' if adjusted else ''})"
        )
    for one in comparison.differences:
        notes += [f"{comparison.better(one)} in {one.first} - {one.second}: {text}" for text in one.fragility]
    rows = []
    for row in found:
        cells = (*_pair_cells(measure, row, p_values, spell), row["better"] or "undecided")
        if fixed:
            ends = (row[f"these_attacks_{name}"] for name in ("low", "high"))
            cells = (*cells, *(spell(measure, one) if _is_value(one) else NONE for one in ends))
        if tested.margin is not None:
            cells = (*cells, p_text(row["equivalent"]), row["within_margin"] or "open")
        rows.append(cells)
    return Table(header, tuple(rows), tuple(notes))


def seeds_table(variation: SeedVariation, *, signatures: bool = True, short: bool = False) -> Table:
    """The value of each seed, their mean and standard deviation, and the intervals of the mean."""
    measure = variation.measure
    mean = number_cell(measure, variation.mean)
    rows: list[tuple[str, ...]]
    empty = interval_cells(measure, None, variation.test_set)
    rows = [(name, number_cell(measure, value), *empty) for name, value in variation.values.items()]
    rows.append(("SD over seeds", number_cell(measure, variation.standard_deviation), *empty))
    rows.append(("mean, these seeds", mean, *interval_cells(measure, variation.test_set)))
    if variation.joint is not None:
        rows.append(("mean, other seeds too", mean, *interval_cells(measure, variation.joint)))
    notes = ["", f"intervals: {replace(variation.test_set, seeds='').how}"]  # rows say which seeds
    if variation.components is not None:
        parts = {name.replace("_", " "): value for name, value in variation.components.to_dict().items()}
        deviations = ", ".join(f"{name} {number_text(measure, value)}" for name, value in parts.items())
        notes.append(f"standard deviations of one value{' (points)' if in_percent(measure) else ''}: {deviations}")
        if variation.parts:
            by_factor = ", ".join(f"{name} {number_text(measure, part)}" for name, part in variation.parts.items())
            notes.append(f"standard error of the mean, these seeds, by: {by_factor}")
        notes += [f"note: {text}" for text in variation.components.notes]
    notes += warning_lines(variation.warnings)
    if signatures:
        notes += _signatures(variation.signatures, short)
    return Table(("seed", heading(measure), *interval_header(variation.test_set)), tuple(rows), tuple(notes))


def _signatures(signatures: Mapping[str, Signature], short: bool) -> list[str]:
    """Signatures: the comparable part (one for all systems, unless their utterances differ), and each input."""
    shared = {one.comparable for one in signatures.values()}
    if short:
        return [f"signature of {name}: {one.short}" for name, one in signatures.items()]
    if len(shared) > 1:
        return [f"signature of {name}: {one}" for name, one in signatures.items()]
    return [f"signature {shared.pop()}", *(f"  {name}: {one.input}" for name, one in signatures.items())]


def size_table(size: SampleSize) -> Table:
    """One row for each way to compare: how many clusters it takes, and what those of the evaluation can tell."""
    measure, points = size.measure, " points" if in_percent(size.measure) else ""
    crossed = len({one.growing for one in size.needed}) > 1
    columns = {
        "comparison": ["paired" if one.paired else "unpaired (each)" for one in size.needed],
        "correlation": [amount_cell(one.correlation) if one.paired else "" for one in size.needed],
        "difference": [f"{number_text(measure, abs(one.difference))}{points}" for one in size.needed],
        "more": [" and ".join(f"{name}s" for name in one.growing) for one in size.needed],
        "needed" if crossed else f"{size.drawn_by}s needed": [_count(one.clusters) for one in size.needed],
        "95 % from": [_count(one.low) for one in size.needed],
        "to": [_count(one.high) for one in size.needed],
        "of utterances": [_count(one.utterances) for one in size.needed],
        f"power with {size.clusters:,}": [share_cell(one.power_now, 0, " %") for one in size.needed],
        f"{size.clusters:,} can tell": [number_cell(measure, one.detectable, points) for one in size.needed],
    }
    hidden = {"more"} if not crossed else {f"power with {size.clusters:,}", f"{size.clusters:,} can tell"}
    if len({one.difference for one in size.needed}) == 1:
        hidden.add("difference")
    if size.drawn_by == "utterance":  # the same twice
        hidden.add("of utterances")
    # its name would be that of the counted column there
    names = {"of utterances": "utterances needed"}
    shown = {names.get(name, name): cells for name, cells in columns.items() if name not in hidden}
    unit = " %" if in_percent(measure) else ""
    first, second = (number_text(measure, one) for one in (size.first, size.second))
    have = f"{size.utterances:,} utterances"
    if size.drawn_by != "utterance":
        have += f" of {' and '.join(f'{count:,} {name}s' for name, count in size.levels.items())}"
    power = f"a power of {100 * size.power:g} % at the level {size.level:.3g}"
    notes = [
        "",
        f"{measure}: {first} against {second}{unit}, told apart with {power}",
        f"estimated from {have}; from, to: what their variance leaves open",
        f"the test is {size.estimand}",
    ]
    if size.interval is not None:
        ends = " to ".join(signed(measure, one) for one in size.interval)
        least = [one for one in size.needed if one.difference != size.first - size.second]
        safe = f"; it exceeds {number_text(measure, abs(least[0].difference))} with 80 % confidence" if least else ""
        notes.append(
            f"planned for the measured difference, which may be chance ({ends}{points}){safe}; --from and --to state "
            "the values that matter"
        )
    if size.parts:
        listed = ", ".join(f"{name} {number_text(measure, part)}" for name, part in size.parts.items())
        notes.append(f"standard error of the difference by{unit and ', in points'}: {listed}; {size.advice}")
    if crossed:
        several = " and ".join(f"{name}s" for name in size.needed[-1].growing)
        notes.append(
            f"{several}: so many {size.drawn_by}s, and the others in proportion"
            + f"; {NONE}: no number is enough" * any(one.high is None for one in size.needed)
        )
    notes += [f"warning: {text}" for text in size.warnings]
    return Table(tuple(shown), tuple(zip(*shown.values(), strict=True)), tuple(notes), size.verdict)


def _count(number: int | None) -> str:
    return NONE if number is None else f"{number:,}"

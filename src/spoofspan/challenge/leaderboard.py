"""The leaderboard of a phase: ranks with intervals, groups of teams that cannot be told apart, columns by attack.

All teams are compared with each other on the same clusters, so that with the challenge's confidence no verdict is wrong
(:mod:`spoofspan.uncertainty.ranks`). What stands here are numbers over all utterances of the phase, or over all of an
attack: nothing of the labels of any utterance. They are rounded as they are shown, since one submission whose scores
are made for it reads labels off a number with 16 digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

from spoofspan.base.errors import UsageError
from spoofspan.base.progress import progress
from spoofspan.base.version import __version__
from spoofspan.challenge.judging import judge_of, results_folder
from spoofspan.challenge.measured_submission import of_groups
from spoofspan.challenge.team_results import Judge, TeamResult
from spoofspan.measures.measure import Measure, number_text
from spoofspan.report.cells import (
    heading,
    interval_cells,
    interval_header,
    ranks_cells,
    ranks_header,
    warning_lines,
)
from spoofspan.report.page.publishing import few_digits
from spoofspan.report.results import finite
from spoofspan.report.table import Table
from spoofspan.report.verdicts import comparison_tables
from spoofspan.uncertainty.comparison import Comparison, compare_left_out
from spoofspan.uncertainty.ranks import Rank


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """The teams of a phase, the best first.

    Parameters
    ----------
    title, phase
        Of the challenge.
    comparisons
        Measure -> the comparison of all teams by it; the first one ranks.
    groups
        What groups are made by (``kind``) -> team -> name of the group -> its value and interval.
    of_groups
        The measure of the groups.
    comparable
        Measure -> the part of the signature that all teams share.
    notes
        On submissions that are not on it.

    """

    title: str
    phase: str
    comparisons: Mapping[str, Comparison]
    groups: Mapping[str, Mapping[str, Mapping[str, dict[str, Any]]]]
    of_groups: str
    comparable: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def first(self) -> Comparison:
        """By the measure that ranks."""
        return next(iter(self.comparisons.values()))

    @property
    def ranks(self) -> tuple[Rank, ...]:
        """The rank of each team by the first measure."""
        return self.first.ranks

    @property
    def cautions(self) -> tuple[str, ...]:
        """Reasons to look twice at intervals, each once, with the measures and teams that it is about."""
        return tuple(f"{', '.join(names)}{of}: {text}" for names, of, text in self.cautions_by_measure)

    @property
    def cautions_by_measure(self) -> list[tuple[list[str], str, str]]:
        """Each caution once: its measures, whom it is about if not all teams, and what it says."""
        found: dict[tuple[str, str], list[str]] = {}
        for measure, comparison in self.comparisons.items():
            teams: dict[str, list[str]] = {text: [] for text in comparison.cautions}
            for team, interval in comparison.intervals.items():
                for text in interval.warnings:
                    teams.setdefault(text, []).append(team)
            for text, named in teams.items():
                of = f" of {', '.join(named)}" if 0 < len(named) < len(comparison.intervals) else ""
                found.setdefault((of, text), []).append(measure)
        return [(measures, of, text) for (of, text), measures in found.items()]

    def names(self, by: str) -> list[str]:
        """The names of the groups."""
        return sorted({name for groups in self.groups[by].values() for name in groups})

    def to_dict(self, *, pairs: bool = False, all_digits: bool = False) -> dict[str, Any]:
        """Everything as plain data, ready for JSON, the pairs if asked for.

        Numbers are rounded as they are shown. With all digits they tell something of the labels.
        """
        plain: dict[str, Any] = {
            "spoofspan": __version__,
            "title": self.title,
            "phase": self.phase,
            "ranked_by": self.first.measure,
            "better": {name: one.direction for name, one in self.comparisons.items()},
            "confidence": next(iter(self.first.intervals.values())).level,
            "teams": [self._team(one) for one in self.ranks],
            "groups_by": self.of_groups,
            "comparable": dict(self.comparable),
            "warnings": list(self.cautions),
            "notes": list(self.notes),
        }
        if pairs:
            plain["pairs"] = {name: one.to_rows() for name, one in self.comparisons.items()}
        shown: dict[str, Any] = finite(plain if all_digits else few_digits(plain))
        return shown

    def _team(self, rank: Rank) -> dict[str, Any]:
        measures = {}
        for name, comparison in self.comparisons.items():
            interval = comparison.intervals[rank.system]
            own = next(one for one in comparison.ranks if one.system == rank.system)
            ranked = {"rank": own.place, "best_rank": own.low, "worst_rank": own.high, "group": own.groups}
            measures[name] = {"value": interval.estimate, "low": interval.low, "high": interval.high, **ranked}
        groups = {by: dict(found[rank.system]) for by, found in self.groups.items()}
        return {"team": rank.system, "measures": measures, "groups": groups}

    def tables(self, *, pairs: bool = False) -> list[Table]:
        """The ranks, a table for each kind of groups, and the differences of every two teams if asked for."""
        found = [self._ranks_table(), *(self._groups_table(by) for by in self.groups)]
        if pairs:
            found += [
                comparison_tables(one, signatures=False)[1] for one in self.comparisons.values() if one.differences
            ]
        return found

    def _ranks_table(self) -> Table:
        some = next(iter(self.first.intervals.values()))
        others = [one for one in self.comparisons.values() if one is not self.first]
        header = [
            "rank",
            *ranks_header("best", "worst"),
            "group",
            "team",
            heading(self.first.measure),
            *interval_header(some),
        ]
        header += [heading(one.measure) for one in others]
        rows = tuple(
            (
                str(rank.place),
                *ranks_cells(rank.low, rank.high),
                rank.groups,
                rank.system,
                number_text(self.first.measure, rank.value),
                *interval_cells(self.first.measure, self.first.intervals[rank.system]),
                *(number_text(one.measure, one.intervals[rank.system].estimate) for one in others),
            )
            for rank in self.ranks
        )
        level = f"{100 * some.level:g} %"
        notes = ["", f"{self.title}, {self.phase}; {self.first.direction} is better; intervals: {some.how}"]
        if len(rows) > 1:
            notes.append(
                f"best and worst: the ranks that a team may have, for all teams together at {level}; "
                "teams that share a letter are not told apart"
            )
        return Table(tuple(header), rows, (*notes, *self.notes, *warning_lines(self.cautions)))

    def _groups_table(self, by: str) -> Table:
        names = self.names(by)
        rows = tuple(
            (rank.system, *(_cell(self.of_groups, self.groups[by][rank.system].get(name)) for name in names))
            for rank in self.ranks
        )
        return Table(("team", *names), rows, ("", f"{heading(self.of_groups)} by {by}"))

    def wide_table(self, *, all_digits: bool = False) -> Table:
        """One table of all numbers, for CSV; rounded as they are shown, or with all digits."""
        header = ["team"]
        for name in self.comparisons:
            header += [f"{what} {name}" for what in ("rank", "best rank", "worst rank", "group")]
            header += [name, f"{name} low", f"{name} high"]
        for by in self.groups:
            header += [f"{self.of_groups} {by}={name}{end}" for name in self.names(by) for end in ("", " low", " high")]
        rows = []
        for rank in self.ranks:
            plain, row = self._team(rank), [rank.system]
            if not all_digits:
                plain = few_digits(plain)
            for one in plain["measures"].values():
                row += [str(one[key]) for key in ("rank", "best_rank", "worst_rank", "group")]
                row += [_digits(one[key]) for key in ("value", "low", "high")]
            for by in self.groups:
                for name in self.names(by):
                    found = plain["groups"][by].get(name, {})
                    row += [_digits(found.get(key)) for key in ("value", "low", "high")]
            rows.append(tuple(row))
        return Table(tuple(header), tuple(rows))


def _digits(value: float | str | None) -> str:
    """All digits; nothing where there is no value."""
    return "" if value is None or isnan(float(value)) else repr(float(value))


def _cell(measure: str, group: Mapping[str, Any] | None) -> str:
    value = None if group is None else group["value"]
    return "" if value is None else number_text(measure, float(value))


def leaderboard(challenge: Path, *, phase: str | None = None) -> Leaderboard:
    """Rank the teams whose submissions were scored.

    Parameters
    ----------
    challenge
        The folder that ``spoofspan challenge build`` made.
    phase
        Its name; the last one without.

    Returns
    -------
    Leaderboard

    """
    judge = judge_of(challenge, phase)
    results, notes = _results(judge, results_folder(challenge, judge.phase))
    if not results:
        why = f" ({'; '.join(notes)})" if notes else ""
        raise UsageError(f"no submission of the phase {judge.phase!r} was scored{why}; run challenge score first")
    comparisons, comparable = {}, {}
    with progress("comparing teams", total=len(judge.definition.measures)) as advance:
        for place, measure in enumerate(judge.definition.measures):
            name = str(Measure.parse(measure))
            values = {one.team: float(one.measured[place]["value"]) for one in results}
            left_out = [one.left_out[place] for one in results]
            comparisons[name] = compare_left_out(Measure.parse(measure), values, left_out, judge.how)
            comparable[name] = results[0].measured[place]["signature"]["comparable"]
            advance(1)
    groups = {
        by: {one.team: {group["name"]: _values(group) for group in one.groups[by]} for one in results}
        for by in judge.hidden.by
    }
    return Leaderboard(
        judge.definition.title, judge.phase, comparisons, groups, of_groups(judge.definition), comparable, notes
    )


def _values(group: Mapping[str, Any]) -> dict[str, Any]:
    return {key: group[key] for key in ("value", "low", "high")}


def _results(judge: Judge, folder: Path) -> tuple[list[TeamResult], tuple[str, ...]]:
    """The results that hold for the challenge as it is, and notes on others."""
    found = [TeamResult.read(folder, path.stem) for path in sorted(folder.glob("*.json"))]
    current = [one for one in found if one is not None and one.key.startswith(f"{judge.challenge_key}-")]
    refused = sum(bool(one.problems) for one in current)
    notes = []
    if refused:
        notes.append(f"{refused} submission{'s' * (refused > 1)} refused, not ranked")
    if len(current) < len(found):
        old = len(found) - len(current)
        notes.append(f"{old} result{'s' * (old > 1)} from before the challenge changed, not ranked: score them again")
    return [one for one in current if not one.problems], tuple(notes)

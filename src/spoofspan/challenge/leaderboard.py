"""The leaderboard of a phase: ranks with intervals, groups of teams that cannot be told apart, columns by attack.

All teams are compared with each other on the same clusters, so that with the challenge's confidence no verdict is wrong
(:mod:`spoofspan.uncertainty.ranks`). What stands here are numbers over all utterances of the phase, or over all of an
attack: nothing of the labels of any utterance.

Everything that is published is rendered from :meth:`Leaderboard.to_dict`, which rounds each number
(:mod:`spoofspan.challenge.published_numbers`). Hashes of the labels, how many clusters have which class, and cautions
about the errors of a team depend on the labels and are for the organisers.
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
from spoofspan.challenge.published_numbers import (
    difference_text,
    published_text,
    rounded,
    rounded_difference,
    rounded_p,
)
from spoofspan.challenge.team_results import Judge, TeamResult
from spoofspan.measures.measure import Measure
from spoofspan.report.cells import NONE, heading, ranks_cells, ranks_header, warning_lines
from spoofspan.report.results import finite
from spoofspan.report.table import Table
from spoofspan.report.verdicts import differences_table
from spoofspan.uncertainty.clusters import FEW_CLUSTERS
from spoofspan.uncertainty.comparison import Comparison, compare_left_out
from spoofspan.uncertainty.ranks import Rank

Plain = dict[str, Any]


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
    clusters
        How many clusters the phase has, whatever their labels.
    notes
        On submissions that are not on it.

    """

    title: str
    phase: str
    comparisons: Mapping[str, Comparison]
    groups: Mapping[str, Mapping[str, Mapping[str, dict[str, Any]]]]
    of_groups: str
    comparable: Mapping[str, str]
    clusters: int
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
    def level(self) -> float:
        """The confidence of intervals and verdicts."""
        return next(iter(self.first.intervals.values())).level

    @property
    def drawn_by(self) -> str:
        """Unit that intervals leave out in turn, such as speakers."""
        return next(iter(self.first.intervals.values())).drawn_by

    @property
    def how(self) -> str:
        """Interval method in words."""
        return f"{self.first.test} by {self.drawn_by} ({self.clusters:,} of them), {self.first.estimand}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons to look twice that do not depend on the labels."""
        if self.clusters >= FEW_CLUSTERS:
            return ()
        counted = f"{self.clusters:,} {self.drawn_by}{'s' * (self.clusters != 1)}"
        return (f"Only {counted} (fewer than {FEW_CLUSTERS}): interpret intervals and ranks with caution.",)

    @property
    def cautions(self) -> tuple[str, ...]:
        """Reasons to look twice that come from the labels, with their measures and teams; for the organisers."""
        found: dict[tuple[str, str], list[str]] = {}
        for measure, comparison in self.comparisons.items():
            teams: dict[str, list[str]] = {text: [] for text in comparison.cautions}
            for team, interval in comparison.intervals.items():
                for text in interval.warnings:
                    teams.setdefault(text, []).append(team)
            for text, named in teams.items():
                of = f" of {', '.join(named)}" if 0 < len(named) < len(comparison.intervals) else ""
                found.setdefault((of, text), []).append(measure)
        return tuple(f"{', '.join(measures)}{of}: {text}" for (of, text), measures in found.items())

    def names(self, by: str) -> list[str]:
        """The names of the groups."""
        return sorted({name for groups in self.groups[by].values() for name in groups})

    def to_dict(self, *, pairs: bool = False, all_digits: bool = False) -> Plain:
        """Everything as plain data, ready for JSON, the pairs if asked for.

        What teams may see; or with all digits, for the organisers: also what else depends on the labels.
        """
        plain: Plain = {
            "spoofspan": __version__,
            "title": self.title,
            "phase": self.phase,
            "ranked_by": self.first.measure,
            "better": {name: one.direction for name, one in self.comparisons.items()},
            "confidence": self.level,
            "teams": [self._team(one, all_digits) for one in self.ranks],
            "groups_by": self.of_groups,
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }
        if pairs:
            plain["pairs"] = {name: self._pairs(one, all_digits) for name, one in self.comparisons.items()}
        if all_digits:
            plain |= {"comparable": dict(self.comparable), "for_organisers": list(self.cautions)}
        shown: Plain = finite(plain)
        return shown

    def _team(self, rank: Rank, all_digits: bool) -> Plain:
        measures = {}
        for name, comparison in self.comparisons.items():
            interval = comparison.intervals[rank.system]
            own = next(one for one in comparison.ranks if one.system == rank.system)
            ranked = {"rank": own.place, "best_rank": own.low, "worst_rank": own.high, "group": own.groups}
            ends = {"value": interval.estimate, "low": interval.low, "high": interval.high}
            measures[name] = {**_numbers(name, ends, all_digits), **ranked}
        groups = {
            by: {name: _numbers(self.of_groups, one, all_digits) for name, one in found[rank.system].items()}
            for by, found in self.groups.items()
        }
        return {"team": rank.system, "measures": measures, "groups": groups}

    @staticmethod
    def _pairs(comparison: Comparison, all_digits: bool) -> list[Plain]:
        """The difference of every two teams; which one is better is decided by p-values with all digits."""
        rows = comparison.to_rows()
        if not all_digits:
            for row in rows:
                row |= {name: rounded_difference(row[name]) for name in ("difference", "low", "high")}
                row |= {name: rounded_p(row[name]) for name in ("p_value", "adjusted_p_value")}
        return rows

    def tables(self, *, pairs: bool = False) -> list[Table]:
        """The ranks, a table for each kind of groups, and the differences of every two teams if asked for."""
        plain = self.to_dict(pairs=pairs)
        found = [self._ranks_table(plain), *(self._groups_table(plain, by) for by in self.groups)]
        return found + [
            differences_table(self.comparisons[name], one, _signed)
            for name, one in plain.get("pairs", {}).items()
            if one
        ]

    def _ranks_table(self, plain: Plain) -> Table:
        first, *others = self.comparisons
        level = f"{100 * self.level:g} %"
        header = ["rank", *ranks_header("best", "worst"), "group", "team", heading(first), f"{level} from", "to"]
        header += [heading(name) for name in others]
        rows = []
        for team in plain["teams"]:
            ranked = team["measures"][first]
            rows.append(
                (
                    str(ranked["rank"]),
                    *ranks_cells(ranked["best_rank"], ranked["worst_rank"]),
                    ranked["group"],
                    team["team"],
                    *(_cell(first, ranked[name]) for name in ("value", "low", "high")),
                    *(_cell(name, team["measures"][name]["value"]) for name in others),
                )
            )
        notes = ["", f"{self.title}, {self.phase}; {self.first.direction} is better; intervals: {self.how}"]
        if len(rows) > 1:
            notes.append(
                f"best and worst: the ranks that a team may have, for all teams together at {level}; "
                "teams that share a letter do not differ significantly"
            )
        return Table(tuple(header), tuple(rows), (*notes, *self.notes, *warning_lines(self.warnings)))

    def _groups_table(self, plain: Plain, by: str) -> Table:
        names, measure = self.names(by), self.of_groups
        found = {team["team"]: team["groups"][by] for team in plain["teams"]}
        rows = tuple(
            (team, *(_cell(measure, groups[name]["value"], "") if name in groups else "" for name in names))
            for team, groups in found.items()
        )
        return Table(("team", *names), rows, ("", f"{heading(measure)} by {by}"))

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
            plain, row = self._team(rank, all_digits), [rank.system]
            for one in plain["measures"].values():
                row += [str(one[key]) for key in ("rank", "best_rank", "worst_rank", "group")]
                row += [_digits(one[key]) for key in ("value", "low", "high")]
            for by in self.groups:
                for name in self.names(by):
                    found = plain["groups"][by].get(name, {})
                    row += [_digits(found.get(key)) for key in ("value", "low", "high")]
            rows.append(tuple(row))
        return Table(tuple(header), tuple(rows))


def _numbers(measure: str, found: Mapping[str, Any], all_digits: bool) -> Plain:
    """The value and both ends of its interval, rounded for teams."""
    given = {name: None if found[name] is None else float(found[name]) for name in ("value", "low", "high")}
    if all_digits:
        return given
    return {name: None if value is None else rounded(measure, value) for name, value in given.items()}


def _digits(value: float | None) -> str:
    """All digits; nothing where there is no value."""
    return "" if value is None or isnan(value) else repr(value)


def _cell(measure: str, value: Any, otherwise: str = NONE) -> str:
    is_number = isinstance(value, (int, float)) and value == value
    return published_text(measure, value) if is_number else otherwise


def _signed(measure: str, value: float) -> str:
    text = difference_text(measure, value)
    return text if text.startswith("-") else f"+{text}"


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
        judge.definition.title,
        judge.phase,
        comparisons,
        groups,
        of_groups(judge.definition),
        comparable,
        judge.hidden.count_clusters(),
        notes,
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

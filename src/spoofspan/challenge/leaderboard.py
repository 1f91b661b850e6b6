"""The leaderboard of a phase: ranks with intervals, groups of teams that cannot be told apart, columns by attack.

All teams are compared with each other on the same clusters, so that with the challenge's confidence no verdict is wrong
(:mod:`spoofspan.uncertainty.ranks`). What stands here are numbers over all utterances of the phase, or over all of an
attack: nothing of the labels of any utterance.

Which submission of a team counts, who is not ranked and why follows from the ledger (:mod:`.season`); so does the date
of a leaderboard, that of the last line. The same ledger and results give the same bytes, whenever they are asked for.

Everything that is published is rendered from :meth:`Leaderboard.to_dict`, which rounds each number
(:mod:`spoofspan.challenge.published_numbers`). Hashes of the labels, how many clusters have which class, and cautions
about the errors of a team depend on the labels and are for the organisers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import Any

from spoofspan.base.errors import UsageError
from spoofspan.base.progress import progress
from spoofspan.base.version import __version__
from spoofspan.challenge.definition import FORMER, Definition
from spoofspan.challenge.fairness import caution
from spoofspan.challenge.judging import judge_of, results_folder
from spoofspan.challenge.published_numbers import (
    difference_text,
    published_text,
    rounded,
    rounded_difference,
    rounded_p,
)
from spoofspan.challenge.season import BASELINE, HOST, REFUSED, Ledger, Received, Season
from spoofspan.challenge.team_results import Judge, TeamResult, kept_values, of_groups
from spoofspan.measures.measure import Measure
from spoofspan.report.cells import NONE, heading, ranks_cells, ranks_header, warning_lines
from spoofspan.report.table import Table, finite
from spoofspan.report.verdicts import differences_table
from spoofspan.uncertainty.best import without_winners_curse
from spoofspan.uncertainty.clusters import FEW_CLUSTERS
from spoofspan.uncertainty.comparison import Comparison, compare_left_out
from spoofspan.uncertainty.jackknife import Jackknife, is_share
from spoofspan.uncertainty.ranks import Rank

Plain = dict[str, Any]
NUMBERS = ("value", "low", "high")
NOTHING = "-"  # where there is no rank, or a team was not measured
RANKED = ("rank", "best_rank", "worst_rank", "group")


@dataclass(frozen=True, eq=False)
class Standing:
    """The counting submission of a team on the board, under the name that is shown."""

    team: str
    role: str
    submission: Received
    scored: int  # how many submissions of the team were scored in the phase
    result: TeamResult
    luck: tuple[str, ...] = ()  # a caution that the best of several submissions counts; for the organisers

    def to_dict(self) -> Plain:
        """Its public part besides the values."""
        about = {"submission": self.submission.number, "received": self.submission.received, "scored": self.scored}
        return {"team": self.team, "role": self.role, **about}


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """The teams of a phase, the best first.

    Parameters
    ----------
    definition, phase
        Of the challenge.
    comparisons
        Measure -> the comparison of all teams that have it; the first one ranks.
    groups
        What groups are made by (``attack``) -> team -> name of the group -> its value and interval.
    of_groups
        The measure of the groups.
    comparable
        Measure -> the part of the signature that all teams share.
    clusters
        How many clusters the phase has, whatever their labels.
    standings
        Team -> the submission that counts, of ranked teams and others.
    out
        Teams that are out: name, state, reason, time.
    as_of
        The number and time of the last line of the ledger that it follows from.
    notes
        On submissions that are not on it.

    """

    definition: Definition
    phase: str
    comparisons: Mapping[str, Comparison]
    groups: Mapping[str, Mapping[str, Mapping[str, dict[str, Any]]]]
    of_groups: str
    comparable: Mapping[str, str]
    clusters: int
    standings: Mapping[str, Standing]
    out: tuple[Plain, ...] = ()
    as_of: tuple[int, str] = (0, "")
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Of the challenge."""
        return self.definition.title

    @property
    def measures(self) -> list[str]:
        """All measures, also those that no team has."""
        return [str(one) for one in self.definition.parsed]

    @property
    def unranked(self) -> list[Standing]:
        """Baselines and hosts, the best first."""
        ranked = {one.system for one in self.ranks}
        sign = 1 if self.first.direction == "lower" else -1
        others = [one for name, one in self.standings.items() if name not in ranked]
        return sorted(others, key=lambda one: (sign * one.result.measured[0]["value"], one.team))

    def places(self, measure: str) -> dict[str, int]:
        """The rank of each team by the values that are published, ties as the challenge defines."""
        comparison, ties = self.comparisons[measure], self.definition.ties
        sign = 1 if comparison.direction == "lower" else -1
        values = {one.system: sign * rounded(measure, one.value) for one in comparison.ranks}
        if ties == "earlier":
            came = {team: (one.submission.received, one.submission.number) for team, one in self.standings.items()}
            order = sorted(values, key=lambda team: (values[team], came[team]))
            return {team: place for place, team in enumerate(order, start=1)}
        return _ranked(values, dense=ties == "dense")

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
        found = [
            f"{one} has no interval and no tests, because its two thresholds jump from trial to trial: its ranks are "
            "by value alone."
            for one in self.definition.parsed
            if not one.kind.has_jackknife
        ]
        if self.clusters < FEW_CLUSTERS:
            counted = f"{self.clusters:,} {self.drawn_by}{'s' * (self.clusters != 1)}"
            found.append(f"Only {counted} (fewer than {FEW_CLUSTERS}): interpret intervals and ranks with caution.")
        return tuple(found)

    @property
    def cautions(self) -> tuple[str, ...]:
        """Reasons to look twice that come from the labels, with their measures and teams; for the organisers."""
        found: dict[tuple[str, str], list[str]] = {}
        for measure, comparison in self.comparisons.items():
            if not Measure.parse(measure).kind.has_jackknife:
                continue  # a warning for everybody
            teams: dict[str, list[str]] = {text: [] for text in comparison.cautions}
            for team, interval in comparison.intervals.items():
                for text in interval.warnings:
                    teams.setdefault(text, []).append(team)
            for text, named in teams.items():
                of = f" of {', '.join(named)}" if 0 < len(named) < len(comparison.intervals) else ""
                found.setdefault((of, text), []).append(measure)
        of_measures = (f"{', '.join(measures)}{of}: {text}" for (of, text), measures in found.items())
        return (*of_measures, *(text for one in self.standings.values() for text in one.luck))

    def names(self, by: str) -> list[str]:
        """The names of the groups."""
        return sorted({name for groups in self.groups[by].values() for name in groups})

    def places_in(self, by: str) -> dict[str, dict[str, int]]:
        """Group -> team -> its rank there by published values; teams with the same value share the better one."""
        measure, ranked = self.of_groups, {one.system for one in self.ranks}
        sign = 1 if Measure.parse(measure).kind.direction == "lower" else -1
        found = {}
        for name in self.names(by):
            values = {
                team: sign * rounded(measure, float(groups[name]["value"]))
                for team, groups in self.groups[by].items()
                if team in ranked and _is_number(groups.get(name, {}).get("value"))
            }
            found[name] = _ranked(values)
        return found

    def to_dict(self, *, pairs: bool = False, all_digits: bool = False) -> Plain:
        """Everything as plain data, ready for JSON, the pairs if asked for.

        What teams may see; or with all digits, for the organisers: also what else depends on the labels.
        """
        plain: Plain = {
            "spoofspan": __version__,
            "title": self.title,
            "phase": self.phase,
            "ranked_by": self.first.measure,
            "better": {str(one): one.kind.direction for one in self.definition.parsed},
            "confidence": self.level,
            "as_of": {"entry": self.as_of[0], "time": self.as_of[1]},
            "counts": self.definition.counts,
            "teams": self._teams(all_digits),
            "ranks_in_groups": {by: self.places_in(by) for by in self.groups},
            "unranked": [self._unranked(one, all_digits) for one in self.unranked],
            "out": list(self.out),
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

    def _teams(self, all_digits: bool) -> list[Plain]:
        """The ranked teams in the order of their ranks."""
        places = {name: self.places(name) for name in self.comparisons}
        first = places[self.first.measure]
        return [self._team(team, places, all_digits) for team in sorted(first, key=first.__getitem__)]

    def _team(self, team: str, places: Mapping[str, Mapping[str, int]], all_digits: bool) -> Plain:
        measures: Plain = {}
        for name in self.measures:
            if team not in places.get(name, {}):
                measures[name] = dict.fromkeys(NUMBERS + RANKED)
                continue
            comparison = self.comparisons[name]
            interval, place = comparison.intervals[team], places[name][team]
            own = next(one for one in comparison.ranks if one.system == team)
            # a tie may give a better place than the verdicts do; the interval holds it
            ends = (place, min(own.low, place), max(own.high, place), own.groups)
            found = dict(zip(NUMBERS, (interval.estimate, interval.low, interval.high), strict=True))
            measures[name] = {**_numbers(name, found, all_digits), **dict(zip(RANKED, ends, strict=True))}
        standing = self.standings[team]
        return {**standing.to_dict(), "measures": measures, "groups": self._groups_of(team, all_digits)}

    def _unranked(self, standing: Standing, all_digits: bool) -> Plain:
        measures: Plain = {name: dict.fromkeys(NUMBERS) for name in self.measures}
        for one in standing.result.measured:
            found = {"value": one["value"], **{end: one["interval"][end] for end in ("low", "high")}}
            measures[one["measure"]] = _numbers(one["measure"], found, all_digits)
        return {**standing.to_dict(), "measures": measures, "groups": self._groups_of(standing.team, all_digits)}

    def _groups_of(self, team: str, all_digits: bool) -> Plain:
        return {
            by: {name: _numbers(self.of_groups, one, all_digits) for name, one in found[team].items()}
            for by, found in self.groups.items()
        }

    @staticmethod
    def _pairs(comparison: Comparison, all_digits: bool) -> list[Plain]:
        """The difference of every pair of teams; which one is better is decided by p-values with all digits."""
        rows = comparison.to_rows()
        if not all_digits:
            for row in rows:
                row |= {name: rounded_difference(row[name]) for name in ("difference", "low", "high")}
                row |= {name: rounded_p(row[name]) for name in ("p_value", "adjusted_p_value")}
        return rows

    def tables(self, *, pairs: bool = False) -> list[Table]:
        """The ranks, a table for each kind of groups, and the differences of every pair of teams if asked for."""
        plain = self.to_dict(pairs=pairs)
        found = [self._ranks_table(plain), *(self._groups_table(plain, by) for by in self.groups)]
        return found + [
            differences_table(self.comparisons[name], one, _signed)
            for name, one in plain.get("pairs", {}).items()
            if one
        ]

    def _ranks_table(self, plain: Plain) -> Table:
        first, *others = self.measures
        level = f"{100 * self.level:g} %"
        header = ["rank", *ranks_header("best", "worst"), "group", "team", heading(first), f"{level} from", "to"]
        header += [heading(name) for name in others]
        rows = []
        for team in (*plain["teams"], *plain["unranked"]):
            ranked, is_ranked = team["measures"][first], "rank" in team["measures"][first]
            ends = ranks_cells(ranked["best_rank"], ranked["worst_rank"]) if is_ranked else [NOTHING, NOTHING]
            rows.append(
                (
                    str(ranked["rank"]) if is_ranked else NOTHING,
                    *ends,
                    ranked["group"] if is_ranked else NOTHING,
                    team["team"] if is_ranked else f"{team['team']} ({team['role']})",
                    *(_cell(first, ranked[name]) for name in ("value", "low", "high")),
                    *(_cell(name, team["measures"][name]["value"], NOTHING) for name in others),
                )
            )
        notes = ["", f"as of {self.as_of[1]} UTC (line {self.as_of[0]} of the ledger)"] if self.as_of[1] else [""]
        notes += [f"{self.title}, {self.phase}; {self.first.direction} is better; intervals: {self.how}"]
        if len(plain["teams"]) > 1:
            notes.append(
                f"best and worst: the ranks that a team may have, for all teams together at {level}; "
                "teams that share a letter do not differ significantly"
            )
        out = [f"{one['team']}: {one['state']} on {one['time']} UTC ({one['reason']})" for one in self.out]
        return Table(tuple(header), tuple(rows), (*notes, *out, *self.notes, *warning_lines(self.warnings)))

    def _groups_table(self, plain: Plain, by: str) -> Table:
        names, measure = self.names(by), self.of_groups
        found = {team["team"]: team["groups"][by] for team in (*plain["teams"], *plain["unranked"])}
        places = self.places_in(by)
        rows = tuple(
            (
                team,
                *(
                    _with_rank(_cell(measure, groups[name]["value"], ""), places[name].get(team))
                    if name in groups
                    else ""
                    for name in names
                ),
            )
            for team, groups in found.items()
        )
        return Table(("team", *names), rows, ("", f"{heading(measure)} by {by}, and the rank there"))

    def wide_table(self, *, all_digits: bool = False) -> Table:
        """One table of all numbers, for CSV; rounded as they are shown, or with all digits."""
        header = ["team"]
        for name in self.measures:
            header += [f"{what} {name}" for what in ("rank", "best rank", "worst rank", "group")]
            header += [name, f"{name} low", f"{name} high"]
        for by in self.groups:
            header += [f"{self.of_groups} {by}={name}{end}" for name in self.names(by) for end in ("", " low", " high")]
        rows = []
        for plain in (*self._teams(all_digits), *(self._unranked(one, all_digits) for one in self.unranked)):
            row = [plain["team"]]
            for one in plain["measures"].values():
                row += ["" if one.get(key) is None else str(one[key]) for key in RANKED]
                row += [_digits(one[key]) for key in NUMBERS]
            for by in self.groups:
                for name in self.names(by):
                    found = plain["groups"][by].get(name, {})
                    row += [_digits(found.get(key)) for key in NUMBERS]
            rows.append(tuple(row))
        return Table(tuple(header), tuple(rows))


def _ranked(values: Mapping[str, float], *, dense: bool = False) -> dict[str, int]:
    """The rank of each team by values of which lower ones are better; equal values share the better rank."""
    others = set(values.values()) if dense else list(values.values())
    return {team: 1 + sum(other < one for other in others) for team, one in values.items()}


def _numbers(measure: str, found: Mapping[str, Any], all_digits: bool) -> Plain:
    """The value and both ends of its interval, rounded for teams."""
    given = {name: None if found[name] is None else float(found[name]) for name in NUMBERS}
    if all_digits:
        return given
    return {name: None if value is None else rounded(measure, value) for name, value in given.items()}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and value == value


def _digits(value: float | None) -> str:
    """All digits; nothing where there is no value."""
    return "" if value is None or isnan(value) else repr(value)


def _cell(measure: str, value: Any, otherwise: str = NONE) -> str:
    return published_text(measure, value) if _is_number(value) else otherwise


def _with_rank(text: str, place: int | None) -> str:
    return f"{text} ({place})" if text and place is not None else text


def _signed(measure: str, value: float) -> str:
    text = difference_text(measure, value)
    return text if text.startswith("-") else f"+{text}"


def leaderboard(challenge: Path, *, phase: str | None = None, until: int | None = None) -> Leaderboard:
    """Rank the teams whose submissions were scored.

    Parameters
    ----------
    challenge
        The folder that ``spoofspan challenge build`` made.
    phase
        Its name; the last one without.
    until
        Number of a line of the ledger: the leaderboard as it was then.

    Returns
    -------
    Leaderboard

    """
    entries = Ledger(challenge).entries()
    if until is not None and until > len(entries):
        raise UsageError(f"--until {until}: the ledger has {len(entries)} lines; give the number of one of them")
    changes = [one.number for one in entries if one.action == "change" and until is not None and one.number > until]
    judge = judge_of(challenge / FORMER / str(changes[0]) if changes else challenge, phase)
    season = Season.of(judge.definition, entries, until)
    key = judge.challenge_key if until is None else key_then(season, judge)
    return board_of(challenge, judge, season, key)


def key_then(season: Season, judge: Judge) -> str:
    """The challenge as it was when the last submission of the phase was scored."""
    keys = [one.about["key"] for one in season.entries if one.about.get("key") and one.phase == judge.phase]
    return str(keys[-1]).partition("-")[0] if keys else judge.challenge_key


def board_of(challenge: Path, judge: Judge, season: Season, key: str) -> Leaderboard:
    """Rank the teams of a season."""
    standings, notes = _standings(challenge, judge, season, key)
    ranked = [one for one in standings.values() if one.role not in (BASELINE, HOST)]
    out = [
        {"team": season.shown(team), "state": status.state, "reason": status.reason, "time": status.time}
        for (phase, team), status in season.out.items()
        if phase == judge.phase
    ]
    if not ranked:
        said = [*notes, *(f"{one['team']} was {one['state']}" for one in out)]
        why = f" ({'; '.join(said)})" if said else ""
        raise UsageError(f"no submission of the phase {judge.phase!r} was scored{why}; run challenge score first")
    comparisons, comparable = {}, {}
    with progress("comparing teams", total=len(judge.definition.measures)) as advance:
        for measure in judge.definition.parsed:
            name = str(measure)
            found = [(one, place) for one in ranked if (place := one.result.place(name)) is not None]
            if found:
                values = {one.team: float(one.result.measured[place]["value"]) for one, place in found}
                left_out = [one.result.left_out[place] for one, place in found]
                comparisons[name] = compare_left_out(measure, values, left_out, judge.how)
                comparable[name] = found[0][0].result.measured[found[0][1]]["signature"]["comparable"]
            advance(1)
    groups = {
        by: {
            one.team: {group["name"]: {end: group[end] for end in NUMBERS} for group in one.result.groups[by]}
            for one in standings.values()
        }
        for by in judge.hidden.by
    }
    last = [one for one in season.entries if one.phase in ("", judge.phase)]
    return Leaderboard(
        judge.definition,
        judge.phase,
        comparisons,
        groups,
        of_groups(judge.definition),
        comparable,
        judge.hidden.count_clusters(),
        standings,
        tuple(out),
        (last[-1].number, last[-1].time) if last else (0, ""),
        notes,
    )


def _of_several(name: str, counting: TeamResult, results: Sequence[TeamResult], judge: Judge) -> tuple[str, ...]:
    """A caution where the best of several submissions counts: its value without what it owes to having been chosen."""
    measure = judge.definition.parsed[0]
    places = [one.place(str(measure)) for one in results]
    known = [(one, place) for one, place in zip(results, places, strict=True) if place is not None]
    values = [float(one.measured[place]["value"]) for one, place in known]
    own = counting.place(str(measure))
    direction = measure.kind.ranked_by()
    if len(known) < 2 or own is None:
        return ()
    published = [rounded(str(measure), value) for value in values]
    counts = rounded(str(measure), float(counting.measured[own]["value"]))
    if counts != (min if direction == "lower" else max)(published):
        return ()
    left_out = [one.left_out[place] for one, place in known]
    jackknife = Jackknife.from_left_out(values, left_out, shares=is_share(measure))
    if jackknife.refusal is not None:
        return ()
    corrected = without_winners_curse(values, jackknife.covariance, direction)
    return (
        f"{name}: the submission that counts is the best of {len(known)}, which is too good on average; {measure} "
        "without that: "
        f"{published_text(str(measure), corrected)}",
    )


def counting(challenge: Path, judge: Judge, season: Season, team: str, key: str) -> Received | None:
    """The submission of a team that counts in a phase; None if there is none.

    The best one is that of the best published value, the earliest of equals: more digits would tell more of the labels.
    """
    folder, measure = results_folder(challenge, judge.phase, team), judge.definition.parsed[0]
    sign = 1 if measure.kind.direction == "lower" else -1

    def badness(one: Received) -> float:
        return sign * rounded(str(measure), float(kept_values(folder, one.key)[0]["value"]))

    return season.counting(judge.phase, team, key, badness)


def _standings(challenge: Path, judge: Judge, season: Season, key: str) -> tuple[dict[str, Standing], tuple[str, ...]]:
    """The submission that counts of each team, by the name that is shown, and notes on others."""
    found, notes, nothing, stale = {}, [], 0, 0
    for team, submissions in sorted(season.submissions.get(judge.phase, {}).items()):
        if (judge.phase, team) in season.out:
            continue
        folder = results_folder(challenge, judge.phase, team)
        valid = [one for one in submissions if one.is_valid]
        counts = counting(challenge, judge, season, team, key)
        result = None if counts is None else TeamResult.read(folder, counts.key)
        if counts is None or result is None:
            nothing, stale = nothing + (not valid), stale + bool(valid)
            continue
        name, last = season.shown(team), submissions[-1]
        scored = sum(one.counted for one in submissions)
        keys = dict.fromkeys(one.key for one in valid if one.is_current(key))
        read = (result if one == counts.key else TeamResult.read(folder, one) for one in keys)
        luck = _of_several(name, result, [one for one in read if one is not None], judge)
        found[name] = Standing(name, season.role(team), counts, scored, replace(result, team=name), luck)
        if last.outcome == REFUSED:
            notes.append(
                f"{name}: the submission of {last.received} UTC was refused; that of {counts.received} UTC counts"
            )
    if nothing:
        notes.append(f"{nothing} team{'s' * (nothing > 1)} without a valid submission, not ranked")
    if stale:
        notes.append(
            f"{stale} result{'s' * (stale > 1)} from before the challenge changed, not ranked: run challenge rescore"
        )
    if judge.definition.counts == "best":
        notes += [text for text in [caution([one.scored for one in found.values()])] if text]
    return dict(sorted(found.items())), tuple(notes)

"""Answers to teams: the log, the history for everybody, letters with refusals, and certificates.

All of it follows from the ledger and the results, and has rounded values alone: what only the labels reveal (the
reason why a submission that passed the check was not scored) is in the log of the organisers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from spoofspan.base.errors import UsageError
from spoofspan.challenge.decisions import described
from spoofspan.challenge.definition import PublicPart
from spoofspan.challenge.judging import judge_of, results_folder
from spoofspan.challenge.leaderboard import Plain, counting, leaderboard
from spoofspan.challenge.published_numbers import published_text, rounded_values
from spoofspan.challenge.season import REFUSED, SCORED, Ledger, Received, Season
from spoofspan.challenge.team_results import TeamResult, kept_values
from spoofspan.report.cells import measure_name
from spoofspan.report.table import finite

DECISIONS = ("withdraw", "disqualify", "reinstate", "choose", "publish", "change")


def season_of(challenge: Path) -> Season:
    """Content of the ledger of a challenge."""
    return Season.of(PublicPart.read(challenge).definition, Ledger(challenge).entries())


def log(challenge: Path, *, team: str | None = None, phase: str | None = None, everything: bool = False) -> list[Plain]:
    """The lines of the ledger, of a team and of a phase.

    Parameters
    ----------
    challenge
        The folder of the challenge.
    team, phase
        Leave out what is not about them.
    everything
        Also what depends on the labels, for the organisers alone.

    """
    season = season_of(challenge)
    if team is not None:
        season.known(team)
    if phase is not None:
        season.definition.phase(phase)
    rows = []
    for entry in season.entries:
        if team not in (None, entry.team) or (phase is not None and entry.phase not in ("", phase)):
            continue
        plain: Plain = {"number": entry.number, "time": entry.time, "action": entry.action, "phase": entry.phase}
        plain |= {"team": entry.team, "text": described(entry, entry.team)}
        plain |= {
            name: entry.about[name] for name in ("received", "sha256", "problems", "versions") if name in entry.about
        }
        if everything:
            plain |= {name: entry.about[name] for name in ("for_organisers", "key") if name in entry.about}
        rows.append(plain)
    return rows


def published_values(challenge: Path, one: Received) -> dict[str, float]:
    """The rounded values of a submission, as its team sees them."""
    folder = results_folder(challenge, one.phase, one.team)
    if one.outcome != SCORED or not (folder / f"{one.key}.json").is_file():
        return {}
    return rounded_values(kept_values(folder, one.key))


def history(challenge: Path) -> list[Plain]:
    """Scorings and decisions of all phases, for everybody to read, the latest first.

    It has the value of the measure that ranks for every submission that was scored and whose team is not out: numbers
    that its team has been told. Refusals are told to teams alone.
    """
    season, rows = season_of(challenge), []
    measure = str(season.definition.parsed[0])
    for entry in season.entries:
        if entry.action == "score":
            one = season.submission(entry.number, entry.team)
            if one.outcome != SCORED or one.withdrawn or (one.phase, one.team) in season.out:
                continue
            value = published_values(challenge, one).get(measure)
            rows.append(_row(season, entry.number, one.received, one.phase, one.team, "", value))
        elif entry.action in DECISIONS:
            text = described(entry, season.shown(entry.team))
            rows.append(_row(season, entry.number, entry.time, entry.phase, entry.team, text, None))
    return rows[::-1]


def _row(season: Season, number: int, time: str, phase: str, team: str, text: str, value: float | None) -> Plain:
    shown = season.shown(team) if team else ""
    return {
        "line": number,
        "time": time,
        "phase": phase,
        "team": shown,
        "text": text or f"{shown} submitted",
        "value": value,
    }


def letters(challenge: Path, phase: str | None = None) -> Iterator[tuple[str, str]]:
    """For each team, what became of its last submission in a phase, ready to send."""
    season, judge = season_of(challenge), judge_of(challenge, phase)
    for team, submissions in sorted(season.submissions.get(judge.phase, {}).items()):
        counts = counting(challenge, judge, season, team, judge.challenge_key)
        yield team, _letter(challenge, season, submissions[-1], counts)


def _letter(challenge: Path, season: Season, one: Received, counts: Received | None) -> str:
    definition = season.definition
    about = f"Your submission to the phase {one.phase!r} of {one.received} UTC"
    lines = [f"Dear team {one.team},", "", f"{about} (number {one.number})"]
    if one.outcome == SCORED:
        lines[-1] += " was scored:"
        values = published_values(challenge, one)
        lines += ["", *(f"  {measure_name(name)}: {published_text(name, value)}" for name, value in values.items())]
        lines += _scored_again(season, one)
    else:
        lines[-1] += " was not scored:" if one.outcome != REFUSED else " was refused:"
        lines += ["", *(f"  {line}" for text in one.problems for line in text.splitlines())]
        if one.outcome == REFUSED and not one.counted:
            lines += ["", "Find every problem without submitting: spoofspan challenge check PUBLIC SUBMISSION"]
    if (status := season.out.get((one.phase, one.team))) is not None:
        lines += ["", f"Your team was {status.state} at {status.time} UTC ({status.reason}), so it is not ranked."]
    elif one.withdrawn:
        lines += ["", f"This submission is withdrawn ({one.withdrawn})."]
    if counts is not None and counts.number != one.number:
        lines += ["", f"Your earlier submission {counts.number} of {counts.received} UTC still counts."]
    used = sum(other.counted for other in season.of_team(one.phase, one.team))
    lines += ["", f"{used} of {definition.max_submissions} submissions are used in this phase."]
    if one.sha256:
        lines += [f"SHA-256 of what was received: {one.sha256}"]
    if definition.contact:
        lines += ["", f"Questions: {definition.contact}"]
    return "\n".join([*lines, "", definition.title]) + "\n"


def _scored_again(season: Season, one: Received) -> list[str]:
    """Time and reason of the last rescoring of a submission."""
    found, reason = [], ""
    for entry in season.entries:
        if entry.action == "change":
            reason = f" ({entry.reason})"
        elif entry.action == "rescore" and entry.about["submission"] == one.number:
            found = ["", f"These are the values of its rescoring at {entry.time} UTC{reason}."]
    return found


def certificate(challenge: Path, team: str, *, phase: str | None = None, all_digits: bool = False) -> Plain:
    """The counting result of a team, with its rank, as a file that the organisers can make again from the ledger.

    With all digits and signatures, for when the labels are published: the hash of the references in a signature
    confirms a guess of them.
    """
    season = season_of(challenge)
    season.known(team)
    board = leaderboard(challenge, phase=phase)
    plain = board.to_dict(all_digits=all_digits)
    name = season.shown(team)
    row = next((one for one in (*plain["teams"], *plain["unranked"]) if one["team"] == name), None)
    if row is None:
        raise UsageError(f"{team!r} has no submission that counts in the phase {board.phase!r}")
    counting = board.standings[name].submission
    found: Plain = {
        "certificate": 1,
        "challenge": board.title,
        "phase": board.phase,
        "as_of": plain["as_of"],
        **row,
        "team": team,
        "teams": len(plain["teams"]),
        "sha256": counting.sha256,
        "rules": _rules(season),
        "spoofspan": plain["spoofspan"],
    }
    if all_digits:
        result = TeamResult.read(results_folder(challenge, board.phase, team), counting.key)
        found["signatures"] = {one["measure"]: one["signature"] for one in result.measured} if result else {}
    shown: Plain = finite(found)
    return shown


def _rules(season: Season) -> Plain:
    definition = season.definition
    rules: Plain = {"convention": definition.convention, "eer_rule": definition.eer_rule, "counts": definition.counts}
    return {**rules, "ties": definition.ties, "rules": json.loads(json.dumps(dict(definition.rules), default=str))}

"""The public history of a challenge: what was scored and what was decided, one row each, the latest first.

It has the value of the measure that ranks for every submission that was scored and whose team is not out: numbers that
its team has been told. Refusals are told to teams alone.
"""

from __future__ import annotations

from pathlib import Path

from spoofspan.challenge.appeals import published_values, season_of
from spoofspan.challenge.decisions import described
from spoofspan.challenge.leaderboard import Plain
from spoofspan.challenge.season import SCORED, Season

DECISIONS = ("withdraw", "disqualify", "reinstate", "choose", "publish", "change")


def history(challenge: Path) -> list[Plain]:
    """What happened in all phases."""
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

"""Decisions of the organisers, each a line of the ledger with its reason, which the board shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from spoofspan.base.errors import SpoofspanWarning, UsageError, nearest_name, warn_user
from spoofspan.challenge.definition import PublicPart
from spoofspan.challenge.season import OUT, ROLES, Clock, Entry, Ledger, LedgerWriter, Season, public_reason, utc_now
from spoofspan.challenge.team_names import plain_name


def decide(
    challenge: Path,
    action: Literal["withdraw", "disqualify", "reinstate"],
    team: str,
    reason: str,
    *,
    phase: str | None = None,
    submission: int | None = None,
    clock: Clock = utc_now,
) -> Entry:
    """Take a team out of all phases or of one, at its own wish or against it; or undo that.

    A single submission can be withdrawn and reinstated, too.
    """
    said, undone = public_reason(reason), action == "reinstate"
    with Ledger(challenge, clock).open() as writer:
        season = _season(challenge, writer)
        season.known(team)
        name = season.definition.phase(phase).name if phase is not None else ""
        if submission is not None:
            one = season.submission(submission, team)
            if bool(one.withdrawn) != undone:
                state = "withdrawn" if one.withdrawn else "not withdrawn"
                raise UsageError(f"submission {submission} of {team!r} is {state} already")
            return writer.append(action, phase=one.phase, team=team, reason=said, submission=submission)
        phases = [name] if name else [one.name for one in season.definition.phases]
        states = [season.out[one, team].state if (one, team) in season.out else "" for one in phases]
        if undone and not any(states):
            raise UsageError(f"{team!r} is not out, so there is nothing to reinstate")
        if set(states) == {OUT.get(action)}:
            raise UsageError(f"{team!r} is {states[0]} already, at {season.out[phases[0], team].time} UTC")
        return writer.append(action, phase=name, team=team, reason=said)


def choose(challenge: Path, team: str, submission: int, reason: str, *, clock: Clock = utc_now) -> Entry:
    """Let a submission of a team count that it chose, where the challenge lets teams choose."""
    said = public_reason(reason)
    with Ledger(challenge, clock).open() as writer:
        season = _season(challenge, writer)
        season.known(team)
        if season.definition.counts != "chosen":
            raise UsageError(
                f"in this challenge, teams do not choose ({season.definition.counts} counts); build it with "
                "--counts chosen, or withdraw the submissions that must not count"
            )
        one = season.submission(submission, team)
        if not one.is_valid:
            raise UsageError(f"submission {submission} of {team!r} was not scored or is withdrawn; choose another")
        return writer.append("choose", phase=one.phase, team=team, reason=said, submission=submission)


def set_role(challenge: Path, team: str, role: str, reason: str, *, clock: Clock = utc_now) -> Entry:
    """Give a team a role, before or after its first submission; see :data:`.season.ROLES`."""
    if role not in ROLES:
        raise UsageError(f"role {role!r}: {nearest_name(role, ROLES)}")
    said = public_reason(reason)
    with Ledger(challenge, clock).open() as writer:
        known = _season(challenge, writer).teams
        if team not in known:
            near = f"; {nearest_name(team, known)}" if known else ""
            warn_user(f"{team!r} has submitted nothing so far: is the name right?{near}", SpoofspanWarning)
        return writer.append("role", team=plain_name(team, "the team"), reason=said, role=role)


def share(challenge: Path, team: str, agrees: bool = True, *, clock: Clock = utc_now) -> Entry:
    """Note that a team agrees to have its result file published, or does so no longer."""
    with Ledger(challenge, clock).open() as writer:
        _season(challenge, writer).known(team)
        return writer.append("share", team=team, agrees=agrees)


def publish(challenge: Path, reason: str, *, clock: Clock = utc_now) -> Entry:
    """Name anonymous teams from now on."""
    said = public_reason(reason)
    with Ledger(challenge, clock).open() as writer:
        return writer.append("publish", reason=said)


def _season(challenge: Path, writer: LedgerWriter) -> Season:
    return Season.of(PublicPart.read(challenge).definition, writer.entries)


def described(entry: Entry, shown: str) -> str:
    """A line of the ledger in words, for everybody to read; ``shown`` is the name of the team."""
    about = entry.about
    one = about.get("submission", entry.number)
    agrees = "agrees" if about.get("agrees") else "no longer agrees"
    said = {
        "score": f"{shown}: submission {one} {about.get('outcome')}",
        "rescore": f"{shown}: submission {one} scored again, {about.get('outcome')}",
        "withdraw": f"{shown} {_of_submission(about)}withdrawn",
        "disqualify": f"{shown} disqualified",
        "reinstate": f"{shown} {_of_submission(about)}reinstated",
        "choose": f"{shown} chose submission {one}",
        "role": f"{shown}: role {about.get('role')}",
        "share": f"{shown} {agrees} to publish its result file",
        "publish": "anonymous teams are named",
        "change": f"changed: {', '.join(about.get('what', ()))}",
    }[entry.action]
    return f"{said} ({entry.reason})" if entry.reason else said


def _of_submission(about: Mapping[str, Any]) -> str:
    return f"submission {about['submission']} " if "submission" in about else ""

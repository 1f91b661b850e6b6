"""A challenge as its ledger tells it: every submission, and what the organisers decided.

:meth:`Season.of` replays the ledger line by line, so that equal ledgers give equal seasons. Lines of submissions
(``score``, ``rescore``) have beside the fields of every line:

==============  =========================================================================================
received        when the submission came; deadlines and limits are checked against it
sha256          of the file that was received; of a folder, of the hashes and names of its files
outcome         ``scored``; ``refused`` by the check; ``early``, ``late``, ``over`` (a limit), ``out`` (the team)
problems        why it was not scored, as the team is told
for_organisers  why a submission that passed the check was not scored: it depends on the labels
key             of its result, see :mod:`.team_results`
counted         whether it counts towards the limits
versions        of spoofspan, NumPy and Python
submission      of ``rescore``, ``withdraw`` and ``choose``: the number of the submission
==============  =========================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.challenge.definition import TIME, Definition, Phase
from spoofspan.challenge.ledger import Entry

TEAM, BASELINE, HOST, ANONYMOUS = "team", "baseline", "host", "anonymous"
ROLES: Mapping[str, str] = {
    TEAM: "ranked, under its name",
    BASELINE: "shown with its values, not ranked",
    HOST: "of the organisers: shown with its values, not ranked",
    ANONYMOUS: "ranked, without its name until the names are published",
}
SCORED, REFUSED = "scored", "refused"
OUT: Mapping[str, str] = {"withdraw": "withdrawn", "disqualify": "disqualified"}  # what a decision makes of a team


@dataclass(frozen=True)
class Received:
    """One submission, as of its last scoring."""

    number: int
    phase: str
    team: str
    received: str
    sha256: str
    outcome: str
    key: str
    problems: tuple[str, ...] = ()
    for_organisers: str = ""
    counted: bool = False
    withdrawn: str = ""  # the reason

    @classmethod
    def of(cls, entry: Entry) -> Received:
        """A submission as a line records it."""
        came, sha256 = entry.about["received"], entry.about["sha256"]
        is_counted = bool(entry.about.get("counted"))
        return cls(entry.number, entry.phase, entry.team, came, sha256, counted=is_counted, **_outcome(entry.about))

    @property
    def is_valid(self) -> bool:
        """True if it can count."""
        return self.outcome == SCORED and not self.withdrawn

    def is_current(self, challenge_key: str) -> bool:
        """True if its result is of the challenge as it is."""
        return self.key.startswith(f"{challenge_key}-")


@dataclass(frozen=True)
class Status:
    """A team that is out of a phase, and why."""

    state: str  # withdrawn or disqualified
    reason: str
    time: str


@dataclass(eq=False)
class Season:
    """Content of a ledger.

    Parameters
    ----------
    definition
        Of the challenge.
    submissions
        Phase -> team -> its submissions in the order of the ledger.
    out
        Phase and team -> why it is out.
    chosen
        Phase and team -> the number of the submission that it chose.
    roles
        Team -> its role, of those that have one.
    shares
        Teams that agreed to publish their results.
    published
        Whether anonymous teams are named.
    entries
        The lines that were replayed.

    """

    definition: Definition
    submissions: dict[str, dict[str, list[Received]]] = field(default_factory=dict)
    out: dict[tuple[str, str], Status] = field(default_factory=dict)
    chosen: dict[tuple[str, str], int] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    shares: set[str] = field(default_factory=set)
    published: bool = False
    entries: list[Entry] = field(default_factory=list)
    _anonymous: dict[str, int] = field(default_factory=dict)  # in the order in which they asked for it

    @classmethod
    def of(cls, definition: Definition, entries: Iterable[Entry], until: int | None = None) -> Season:
        """Replay a ledger, whole or up to a line."""
        season = cls(definition)
        for entry in entries:
            if until is not None and entry.number > until:
                break
            season.add(entry)
        return season

    def add(self, entry: Entry) -> None:
        """Replay one more line."""
        self.entries.append(entry)
        team, about = entry.team, entry.about
        phases = [entry.phase] if entry.phase else [one.name for one in self.definition.phases]
        if entry.action == "score":
            self.submissions.setdefault(entry.phase, {}).setdefault(team, []).append(Received.of(entry))
        elif entry.action == "rescore":
            self._change(entry.phase, team, about["submission"], _outcome(about))
        elif entry.action == "withdraw" and "submission" in about:
            self._change(entry.phase, team, about["submission"], {"withdrawn": entry.reason})
        elif entry.action == "reinstate" and "submission" in about:
            self._change(entry.phase, team, about["submission"], {"withdrawn": ""})
        elif entry.action in OUT:
            self.out |= {(phase, team): Status(OUT[entry.action], entry.reason, entry.time) for phase in phases}
        elif entry.action == "reinstate":
            for phase in phases:
                self.out.pop((phase, team), None)
        elif entry.action == "choose":
            self.chosen[entry.phase, team] = about["submission"]
        elif entry.action == "role":
            self.roles[team] = about["role"]
            if about["role"] == ANONYMOUS:
                self._anonymous.setdefault(team, len(self._anonymous) + 1)
        elif entry.action == "share":
            (self.shares.add if about["agrees"] else self.shares.discard)(team)
        elif entry.action == "publish":
            self.published = True

    def _change(self, phase: str, team: str, number: int, changes: Mapping[str, Any]) -> None:
        known = self.submissions[phase][team]
        place = next(place for place, one in enumerate(known) if one.number == number)
        known[place] = replace(known[place], **changes)

    @property
    def teams(self) -> list[str]:
        """All teams, in the order in which they came."""
        return list(dict.fromkeys(entry.team for entry in self.entries if entry.team))

    def role(self, team: str) -> str:
        """The role of a team."""
        return self.roles.get(team, TEAM)

    def shown(self, team: str) -> str:
        """The name under which everybody sees a team; no team can have the name of an anonymous one."""
        if self.role(team) == ANONYMOUS and not self.published:
            return f"(anonymous {self._anonymous[team]})"
        return team

    def known(self, team: str) -> str:
        """A team that is in the ledger, by its name."""
        if team not in self.teams:
            raise UsageError(f"there is no team {team!r} in the ledger; {nearest_name(team, self.teams)}")
        return team

    def of_team(self, phase: str, team: str) -> list[Received]:
        """The submissions of a team in a phase."""
        return self.submissions.get(phase, {}).get(team, [])

    def last(self, phase: str, team: str) -> Received | None:
        """The submission of a team in a phase that came last, whatever became of it."""
        return next(reversed(self.of_team(phase, team)), None)

    def submission(self, number: int, team: str) -> Received:
        """A submission of a team by its number."""
        found = [one for teams in self.submissions.values() for one in teams.get(team, []) if one.number == number]
        if not found:
            numbers = [one.number for teams in self.submissions.values() for one in teams.get(team, [])]
            raise UsageError(f"{team!r} has no submission {number}; it has {', '.join(map(str, numbers)) or 'none'}")
        return found[0]

    def counting(
        self, phase: str, team: str, challenge_key: str, badness: Callable[[Received], float]
    ) -> Received | None:
        """The submission that counts; None if there is none, or its result is of the challenge as it was.

        ``badness`` of a submission is smaller for a better one.
        """
        valid = [one for one in self.of_team(phase, team) if one.is_valid]
        chosen = self.chosen.get((phase, team)) if self.definition.counts == "chosen" else None
        valid = [one for one in valid if one.number == chosen] or valid
        if not valid or (phase, team) in self.out:
            return None
        if self.definition.counts == "best":
            if not all(one.is_current(challenge_key) for one in valid):
                return None
            return min(valid, key=lambda one: (badness(one), one.received, one.number))
        last = max(valid, key=lambda one: (one.received, one.number))
        return last if last.is_current(challenge_key) else None

    # ---------------------------------------------------------------- what is taken

    def not_taken(self, phase: str, team: str, sha256: str, received: str) -> tuple[str, str] | None:
        """Reason why a submission is not looked at, as an outcome and a sentence for the team; None if it is."""
        about = self.definition.phase(phase)
        if about.start is not None and received < about.start:
            return "early", f"the phase {phase!r} begins at {about.start} UTC; submit then"
        end = deadline(about, self.definition.grace)
        if end is not None and received > end:
            grace = f", and {self.definition.grace} minutes of grace" if self.definition.grace else ""
            return "late", f"it was received at {received} UTC; the phase {phase!r} ended at {about.end} UTC{grace}"
        if (status := self.out.get((phase, team))) is not None:
            return "out", f"the team was {status.state} at {status.time} UTC ({status.reason}); ask the organisers"
        counted = [one for one in self.of_team(phase, team) if one.counted]
        if sha256 in {one.sha256 for one in counted}:
            return None  # its answer is known
        if len(counted) >= self.definition.max_submissions:
            most = self.definition.max_submissions
            return "over", f"{most:,} submissions of this team were scored in this phase, which is the limit"
        today = sum(one.received[:10] == received[:10] for one in counted)
        if self.definition.max_per_day is not None and today >= self.definition.max_per_day:
            day = f"on {received[:10]} (UTC)"
            return "over", f"{today:,} submissions of this team were scored {day}, which is the limit of a day"
        return None


def _outcome(about: Mapping[str, Any]) -> dict[str, Any]:
    """What became of a submission, by a line of its scoring."""
    return {
        "outcome": about["outcome"],
        "key": about.get("key", ""),
        "problems": tuple(about.get("problems", ())),
        "for_organisers": about.get("for_organisers", ""),
    }


def deadline(phase: Phase, grace: int) -> str | None:
    """The last second in which a phase takes submissions; None if it has no end.

    >>> deadline(Phase("final", None, "2027-03-07 00:00:00"), 30)
    '2027-03-07 00:30:00'
    """
    if phase.end is None:
        return None
    return (datetime.strptime(phase.end, TIME) + timedelta(minutes=grace)).strftime(TIME)

"""The ledger of a challenge, and the season that it tells: every submission, and what the organisers decided.

The ledger has one line of JSON for everything that happened, in the order in which it happened::

    CHALLENGE/ledger.jsonl
    {"number": 1, "time": "2027-01-12 09:30:00", "action": "score", "team": "alpha", ..., "previous": ""}
    {"number": 2, "time": "2027-01-13 18:02:11", "action": "withdraw", "team": "alpha", ..., "previous": "5f0c..."}

Lines are only appended, under a lock, and each reaches the disk before the next is written. ``previous`` is a hash of
the line before, so that a line that was changed or removed later is noticed. A last line without an end is what a
process that was killed left behind: it never counted, and the next one takes its place. Everything that a board shows
of teams and submissions follows from the ledger. It has hashes that depend on the labels, and stays with the
organisers.

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

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

from spoofspan.base.documents import parse_json
from spoofspan.base.errors import DataError, UsageError, nearest_name
from spoofspan.base.locks import own_file
from spoofspan.challenge.definition import TIME, Definition, Phase, as_text

LEDGER, LOCK = "ledger.jsonl", ".ledger.lock"
PATIENCE = 60.0  # seconds that one operator waits for another to append a line
LONGEST_REASON = 300
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The time, in UTC."""
    return datetime.now(timezone.utc)


@dataclass(frozen=True)
class Entry:
    """One line.

    Parameters
    ----------
    number
        Of the line, from 1 on; that of a submission is the number of the line that recorded it.
    time
        When it was recorded, in UTC.
    action
        ``score`` and ``rescore`` of a submission; ``withdraw``, ``disqualify``, ``reinstate``, ``choose``, ``role``,
        ``share`` and ``publish`` by the organisers; ``change`` of the labels or the rules.
    phase, team
        What it is about; empty: all phases, or no team.
    reason
        Of the organisers, for everybody to read.
    about
        Everything else, by the action; see :mod:`.season`.

    """

    number: int
    time: str
    action: str
    phase: str = ""
    team: str = ""
    reason: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)

    def line(self, previous: str) -> bytes:
        """The line of the file."""
        plain = {"number": self.number, "time": self.time, "action": self.action, "phase": self.phase}
        plain |= {"team": self.team, "reason": self.reason, **self.about, "previous": previous}
        return json.dumps(plain, ensure_ascii=False).encode() + b"\n"


NAMES = ("number", "time", "action", "phase", "team", "reason")


class Ledger:
    """The file, read anew each time: another operator may have appended to it.

    Parameters
    ----------
    challenge
        The folder of the challenge.
    clock
        Gives the time of new lines.

    """

    def __init__(self, challenge: Path, clock: Clock = utc_now) -> None:
        self.path, self._lock, self.clock = challenge / LEDGER, challenge / LOCK, clock

    def entries(self) -> tuple[Entry, ...]:
        """All lines that are whole."""
        return tuple(self._read()[0])

    def _read(self) -> tuple[list[Entry], str, int]:
        """All lines, the hash of the last one, and how many bytes they take."""
        content = self.path.read_bytes() if self.path.is_file() else b""
        whole = content[: content.rfind(b"\n") + 1]
        entries: list[Entry] = []
        previous = ""
        for number, line in enumerate(whole.splitlines(keepends=True), start=1):
            place = f"{self.path}, line {number}"
            try:
                plain = parse_json(line)
                told = plain.pop("previous")
                entry = Entry(**{name: plain.pop(name) for name in NAMES}, about=plain)
            except (AttributeError, KeyError, TypeError, ValueError):
                raise DataError(f"{place}: no line of a ledger; restore the file from a copy") from None
            if told != previous or entry.number != number:
                raise DataError(
                    f"{place} does not follow the line before, which was changed or removed; restore the file from a "
                    "copy. To correct a decision, append another (challenge reinstate, choose, rescore)"
                )
            previous = sha256(line).hexdigest()[:32]
            entries.append(entry)
        return entries, previous, len(whole)

    @contextmanager
    def open(self) -> Iterator[LedgerWriter]:
        """The ledger for this process alone, to decide by it and append."""
        with own_file(self._lock, repr(str(self.path)), PATIENCE):
            yield LedgerWriter(self.path, self.clock, *self._read())


class LedgerWriter:
    """A ledger that nobody else changes."""

    def __init__(self, path: Path, clock: Clock, entries: list[Entry], previous: str, size: int) -> None:
        self._path, self._clock, self.entries, self._previous, self._size = path, clock, entries, previous, size

    def append(self, action: str, *, phase: str = "", team: str = "", reason: str = "", **about: Any) -> Entry:
        """Write a line; it is on the disk when this returns."""
        entry = Entry(len(self.entries) + 1, as_text(self._clock()), action, phase, team, reason, about)
        line = entry.line(self._previous)
        try:
            with self._path.open("r+b" if self._path.exists() else "xb") as stream:
                stream.truncate(self._size)  # what a process that was killed wrote half
                stream.seek(self._size)
                stream.write(line)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise UsageError(f"{self._path} cannot be written ({error.strerror or error})") from None
        self.entries.append(entry)
        self._previous, self._size = sha256(line).hexdigest()[:32], self._size + len(line)
        return entry


def public_reason(reason: str) -> str:
    """Check a reason that everybody will read."""
    if not reason.strip() or not reason.isprintable() or len(reason) > LONGEST_REASON:
        raise UsageError(
            f"--reason {reason[:80]!r}: the board shows it, so write one line of 1 to {LONGEST_REASON} characters"
        )
    return reason.strip()


# ---------------------------------------------------------------- the file

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
    """Outcome of a submission, by a line of its scoring."""
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

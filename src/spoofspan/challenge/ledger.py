"""The ledger of a challenge: one line of JSON for everything that happened, in the order in which it happened.

::

    CHALLENGE/ledger.jsonl
    {"number": 1, "time": "2027-01-12 09:30:00", "action": "score", "team": "alpha", ..., "previous": ""}
    {"number": 2, "time": "2027-01-13 18:02:11", "action": "withdraw", "team": "alpha", ..., "previous": "5f0c..."}

Lines are only appended, under a lock, and each reaches the disk before the next is written. ``previous`` is a hash of
the line before, so that a line that was changed or removed later is noticed. A last line without an end is what a
process that was killed left behind: it never counted, and the next one takes its place.

Everything that a board shows of teams and submissions follows from the ledger (:mod:`.season`). It has hashes that
depend on the labels, and stays with the organisers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

from spoofspan.base.documents import parse_json
from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.locks import own_file
from spoofspan.challenge.definition import TIME

LEDGER, LOCK = "ledger.jsonl", ".ledger.lock"
PATIENCE = 60.0  # seconds that one operator waits for another to append a line
LONGEST_REASON = 300
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The time, in UTC."""
    return datetime.now(timezone.utc)


def as_text(time: datetime) -> str:
    """A time as the ledger has it; one without a zone is UTC."""
    return (time if time.tzinfo is None else time.astimezone(timezone.utc)).strftime(TIME)


def parse_time(text: str, what: str) -> datetime:
    """A time in ISO 8601.

    >>> as_text(parse_time("2027-01-31T12:00+02:00", "--received"))
    '2027-01-31 10:00:00'
    """
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise UsageError(f"{what} {text!r} is no time; write it in UTC, as 2027-01-31T12:00") from None


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

"""Score one submission, or all of a folder: the ledger keeps what became of each, and a refusal stops no other.

A team is told what its files and the public part say, the rounded numbers, and nothing else. Whether a submission is
refused is decided by the check that the team can run itself, on all utterances. If measuring fails after that, for a
reason that only the labels have, the team is told :data:`NOT_SCORED`, and the organisers the reason.

A submission is copied, measured, and then recorded. Whatever is interrupted before its line is in the ledger did not
happen, and the next run does it; two operators at once record each submission once.
"""

from __future__ import annotations

import platform
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from spoofspan.base.errors import DataError, SpoofspanError, UsageError, nearest_name
from spoofspan.base.locks import PARTS, own_file
from spoofspan.base.progress import track
from spoofspan.base.version import __version__
from spoofspan.challenge.definition import HIDDEN, RESULTS, PublicPart, as_text
from spoofspan.challenge.hidden_part import HiddenPart
from spoofspan.challenge.published_numbers import rounded_values
from spoofspan.challenge.scoring_process import ScoringProcess
from spoofspan.challenge.season import REFUSED, SCORED, Clock, Ledger, Received, Season, utc_now
from spoofspan.challenge.submission import ABOUT, Submission, keep, kept_at, opened, submissions_in, team_of
from spoofspan.challenge.submission_check import check_opened
from spoofspan.challenge.team_names import look_alike
from spoofspan.challenge.team_results import Judge, TeamResult
from spoofspan.measures.kind import EerKind
from spoofspan.measures.measure import Measure
from spoofspan.report.table import finite

# All that a team is told if something else than its files and the public part is the reason.
NOT_SCORED = "it could not be scored; the organisers can see why"


@dataclass(frozen=True, eq=False)
class JudgedSubmission:
    """One submission, and what became of it."""

    team: str
    state: Literal["scored", "kept", "refused"]  # kept: from an earlier run
    result: TeamResult | None = None  # None if nothing was kept of it
    problems: tuple[str, ...] = ()
    number: int = 0  # of its line in the ledger; 0 if it has none
    reason: str = ""  # for the organisers: why a submission that passed the check was not scored

    @property
    def values(self) -> dict[str, float]:
        """The value of each measure, rounded for the team."""
        return {} if self.result is None else rounded_values(self.result.measured)

    @property
    def cautions(self) -> list[str]:
        """Notes for the organisers alone, since they come from the labels."""
        measured = () if self.result is None else self.result.measured
        eers = [one for one in measured if isinstance(Measure.parse(one["measure"]).kind, EerKind)]
        found = [f"not scored: {self.reason}"] if self.reason else []
        return found + [
            f"{one['measure']} is over 50 %: do high scores mean what the submission says of them?"
            for one in eers
            if one["value"] > 0.5
        ]

    def to_dict(self) -> dict[str, Any]:
        """The part of the result that the team may see, as plain data."""
        plain: dict[str, Any] = finite(
            {"team": self.team, "state": self.state, "submission": self.number, "values": self.values}
            | {"problems": list(self.problems)}
        )
        return plain


def score_submissions(
    challenge: Path,
    submissions: Path,
    *,
    phase: str | None = None,
    teams: Sequence[str] = (),
    received: datetime | None = None,
    clock: Clock = utc_now,
) -> list[JudgedSubmission]:
    """Score the submissions of a folder, or one submission.

    Parameters
    ----------
    challenge
        The folder that ``spoofspan challenge build`` made.
    submissions
        A folder with a file, a folder or a zip archive for each team, by its name; or one submission: a file, an
        archive, or a folder with ``submission.json``.
    phase
        Its name; the last one without.
    teams
        Score these alone.
    received
        When the submissions came, in UTC; now, without. Deadlines and limits are checked against it.
    clock
        Gives the time of lines of the ledger.

    Returns
    -------
    list of JudgedSubmission
        One for each submission, refused ones as well.

    """
    judge = judge_of(challenge, phase)
    if not (submissions.exists() or submissions.is_symlink()):
        raise UsageError(f"there is no {str(submissions)!r}; give one submission, or a folder with one for each team")
    several = submissions.is_dir() and not (submissions / ABOUT).is_file()
    names = {path: _team(path) for path in (submissions_in(submissions) if several else [submissions])}
    chosen = _chosen(names, teams) if teams else list(names)
    now = as_text(clock())
    came = now if received is None else as_text(received)
    if came > now:
        raise UsageError(f"--received {came} lies in the future (it is {now} UTC); give the time of the upload")
    _remove_parts(challenge)
    with ScoringProcess(challenge, judge.phase) as process:
        judging = Judging(challenge, judge, Ledger(challenge, clock), process, came)
        return [judging.judge_named(path, names) for path in track(chosen, "scoring teams")]


def _remove_parts(challenge: Path) -> None:
    """Remove what processes that were killed left half-written, and nothing that is in use."""
    for part in challenge.rglob(PARTS):
        with suppress(UsageError), own_file(part, repr(str(part)), patience=0):
            pass


def judge_of(challenge: Path, phase: str | None) -> Judge:
    """Read a challenge."""
    if not (challenge / HIDDEN).is_dir():
        raise UsageError(f"there is no challenge in {str(challenge)!r}; give the folder that challenge build made")
    return Judge.of(PublicPart.read(challenge), HiddenPart.read(challenge / HIDDEN), phase)


def results_folder(challenge: Path, phase: str, team: str) -> Path:
    """Folder of the results of a team in a phase."""
    return challenge / RESULTS / phase / team


def _team(path: Path) -> str | None:
    """The name of the team of a submission; None if it cannot be used."""
    try:
        return team_of(path)
    except DataError:
        return None


def _chosen(names: Mapping[Path, str | None], teams: Sequence[str]) -> list[Path]:
    known = [name for name in names.values() if name is not None]
    unknown = [team for team in teams if team not in known]
    if unknown:
        raise UsageError(f"there is no submission of {unknown[0]!r}; {nearest_name(unknown[0], known)}")
    return [path for path, name in names.items() if name in teams]


def _mistaken(path: Path, names: Mapping[Path, str | None], season: Season) -> str | None:
    """Reason why the name of a team would be taken for that of another; None if it is not.

    A team that is in the ledger keeps its name, and another that looks like it does not touch its results.
    """
    team, known = names[path] or "", {look_alike(team): team for team in season.teams}
    first = known.get(look_alike(team))
    if first is not None:
        return None if first == team else f"the name {team!a} looks like that of the team {first!a}; choose another"
    others = (other for other in names.values() if other and other != team and look_alike(other) == look_alike(team))
    if (other := next(others, None)) is not None:
        return f"the names {team!a} and {other!a} look like one; choose another"
    return None


@dataclass(frozen=True, eq=False)
class Outcome:
    """Verdict on a submission: its outcome in the ledger, problems for the team, a reason for the organisers."""

    state: str
    problems: tuple[str, ...] = ()
    result: TeamResult | None = None
    reason: str = ""

    @property
    def is_judged(self) -> bool:
        """True if it was looked at, and not left out for its time or its team."""
        return self.state in (SCORED, REFUSED)

    @property
    def is_counted(self) -> bool:
        """True if it counts towards the limits."""
        return self.state == SCORED or bool(self.reason)

    def about(self, judge: Judge) -> dict[str, Any]:
        """The outcome as a line of the ledger has it."""
        told = {"outcome": self.state} | ({"problems": list(self.problems)} if self.problems else {})
        told |= {"for_organisers": self.reason} if self.reason else {}
        return told | {"key": self.result.key if self.result is not None else f"{judge.challenge_key}-"}

    def of(self, team: str, number: int) -> JudgedSubmission:
        """The submission of a team, by its line of the ledger; what was not scored is refused."""
        state: Literal["scored", "refused"] = "scored" if self.state == SCORED else "refused"
        return JudgedSubmission(team, state, self.result, self.problems, number, self.reason)


@dataclass(frozen=True, eq=False)
class Judging:
    """Submissions of one phase, scored in a process of its own and recorded in the ledger."""

    challenge: Path
    judge: Judge
    ledger: Ledger
    process: ScoringProcess
    received: str = ""

    def season(self) -> Season:
        """Current content of the ledger."""
        return Season.of(self.judge.definition, self.ledger.entries())

    def judge_named(self, path: Path, names: Mapping[Path, str | None]) -> JudgedSubmission:
        """Score a submission by its name, unless the ledger has it already."""
        try:
            team = team_of(path)
        except DataError as error:
            return JudgedSubmission(ascii(path.name), "refused", problems=(str(error),))
        season = self.season()
        if (mistaken := _mistaken(path, names, season)) is not None:
            return JudgedSubmission(team, "refused", problems=(mistaken,))
        twin = next((one for one, name in names.items() if name == team and one != path), None)
        if twin is not None:
            both = " and ".join(sorted(repr(one.name) for one in (path, twin)))
            return self._record(team, "", path.name, Outcome(REFUSED, (f"{both} are of one team; keep one of them",)))
        try:
            found, kept = keep(path, self.challenge, self.judge.public)
        except DataError as error:
            return self._record(team, "", path.name, Outcome(REFUSED, (str(error),)))
        if (known := self._known(season, team, found)) is not None:
            return known
        outcome = self._not_taken(season, team, found) or self.measure(kept, team)
        return self._record(team, found, path.name, outcome)

    def measure(self, path: Path, team: str) -> Outcome:
        """Check and measure."""
        state, answered, key = self.process.score(path, team)
        if state == "ended":
            return Outcome(REFUSED, (NOT_SCORED,), reason=answered)
        result = TeamResult.read(results_folder(self.challenge, self.judge.phase, team), key)
        if result is None:  # it was written before the answer came
            return Outcome(REFUSED, (NOT_SCORED,), reason="its result was removed while it was scored")
        return Outcome(SCORED if result.measured else REFUSED, result.problems, result, result.reason)

    def _not_taken(self, season: Season, team: str, found: str) -> Outcome | None:
        refusal = season.not_taken(self.judge.phase, team, found, self.received)
        return None if refusal is None else Outcome(refusal[0], (refusal[1],))

    def _known(self, season: Season, team: str, found: str) -> JudgedSubmission | None:
        """Outcome in the ledger of a submission that is the last one of its team; None if it must be judged."""
        last = season.last(self.judge.phase, team)
        if last is None or not found or last.sha256 != found or last.outcome not in (SCORED, REFUSED):
            return None
        if not last.is_current(self.judge.challenge_key) or (self.judge.phase, team) in season.out:
            return None
        result = TeamResult.read(results_folder(self.challenge, self.judge.phase, team), last.key)
        if result is None:  # it was removed
            return None
        state: Literal["kept", "refused"] = "kept" if result.measured else "refused"
        return JudgedSubmission(team, state, result, last.problems, last.number, last.for_organisers)

    def _record(self, team: str, found: str, name: str, outcome: Outcome) -> JudgedSubmission:
        """Append what became of a submission, unless the last line of the team says the same."""
        about = outcome.about(self.judge)
        phase = self.judge.phase
        with self.ledger.open() as writer:
            season = Season.of(self.judge.definition, writer.entries)
            if outcome.is_counted and (refusal := self._not_taken(season, team, found)) is not None:
                outcome = refusal  # another operator has recorded submissions meanwhile
                about = outcome.about(self.judge) | {"key": about["key"]}
            last = season.last(phase, team)
            same = last is not None and (last.sha256, last.outcome, last.key) == (found, outcome.state, about["key"])
            if last is not None and same and (last.problems == outcome.problems or not outcome.is_judged):
                number = last.number
            else:
                about = {"received": self.received, "sha256": found, "file": name, **about}
                about |= {"counted": outcome.is_counted, "versions": versions()}
                number = writer.append("score", phase=phase, team=team, **about).number
        return outcome.of(team, number)

    def rescore(self, one: Received, file: str) -> JudgedSubmission:
        """Score a kept submission by the challenge as it is, and record it."""
        kept = kept_at(self.challenge, one.sha256, file)
        if kept is None:
            raise DataError(
                f"submission {one.number} of {one.team!r} cannot be scored again: its copy {file!r} is not in "
                f"{self.challenge / 'received' / one.sha256}; restore it"
            )
        outcome = self.measure(kept, one.team)
        about = {"submission": one.number, **outcome.about(self.judge)}
        with self.ledger.open() as writer:
            season = Season.of(self.judge.definition, writer.entries)
            if season.submission(one.number, one.team).key != about["key"]:  # else another operator was first
                writer.append("rescore", phase=one.phase, team=one.team, **about, versions=versions())
        return outcome.of(one.team, one.number)


def versions() -> dict[str, str]:
    """Version and settings that measured a submission."""
    return {"spoofspan": __version__, "numpy": version("numpy"), "python": platform.python_version()}


# ---------------------------------------------------------------- in the process that scores


def score_file(judge: Judge, path: Path, team: str, results: Path) -> TeamResult:
    """Score one submission, whatever it does; the result is kept in the folder of the team."""
    try:
        with opened(path, judge.public, team) as submission:
            return score_opened(judge, submission, results)
    except SpoofspanError as error:
        problem, reason = str(error), ""
    except OSError as error:
        problem, reason = f"it cannot be read ({error.strerror or type(error).__name__})", ""
    except Exception as error:
        problem, reason = NOT_SCORED, _described(error)
    # what could not be opened has no content to be known by
    return _kept(TeamResult(team, f"{judge.challenge_key}-unread", problems=(problem,), reason=reason), results)


def _kept(result: TeamResult, results: Path) -> TeamResult:
    result.write(results)
    return result


def score_opened(judge: Judge, submission: Submission, results: Path) -> TeamResult:
    """Check a submission that is open and measure it, unless that was done before."""
    team, key = submission.team, judge.key(submission)
    kept = TeamResult.read(results, key)
    if kept is not None:
        return kept
    found = check_opened(judge.public, submission)
    if found.system is None:
        return _kept(TeamResult(team, key, problems=found.problems), results)
    try:
        return _kept(judge.measure(found.system, submission, key), results)
    except Exception as error:  # only the labels can be the reason, so that it must not reach the team
        return _kept(TeamResult(team, key, problems=(NOT_SCORED,), reason=_described(error)), results)


def _described(error: Exception) -> str:
    """An error for the organisers; of one that nobody expects, also where it was raised."""
    if isinstance(error, SpoofspanError):
        return str(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(place.filename).name}, line {place.lineno})"

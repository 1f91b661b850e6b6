"""Score one submission, or all of a folder: what was scored before is kept, and a refusal does not stop the others.

A team is told what its files and the public part say, the rounded numbers, and nothing else. Whether a submission is
refused is decided by the check that the team can run itself, on all utterances. If measuring fails after that, for a
reason that only the labels have, the team is told :data:`NOT_SCORED`, and the organisers the reason.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from spoofspan.base.errors import DataError, SpoofspanError, UsageError, nearest_name
from spoofspan.base.locks import own_folder
from spoofspan.base.progress import track
from spoofspan.challenge.definition import HIDDEN, RESULTS
from spoofspan.challenge.hidden_part import HiddenPart
from spoofspan.challenge.public_part import PublicPart
from spoofspan.challenge.published_numbers import rounded
from spoofspan.challenge.scoring_process import ScoringProcess
from spoofspan.challenge.submission import ABOUT, Submission, opened, submissions_in, team_of
from spoofspan.challenge.submission_check import check_opened
from spoofspan.challenge.team_names import look_alike
from spoofspan.challenge.team_results import Judge, TeamResult, known_teams, spent_by
from spoofspan.measures.kind import EerKind
from spoofspan.measures.measure import Measure
from spoofspan.report.results import finite

# All that a team is told if something else than its files and the public part is the reason.
NOT_SCORED = "it could not be scored; the organisers can see why"


@dataclass(frozen=True, eq=False)
class JudgedSubmission:
    """One submission, and what became of it."""

    team: str
    state: Literal["scored", "kept", "refused"]  # kept: from an earlier run
    result: TeamResult | None  # None if nothing was kept of it
    problems: tuple[str, ...] = ()

    @property
    def values(self) -> dict[str, float]:
        """The value of each measure, rounded for the team."""
        measured = () if self.result is None else self.result.measured
        return {one["measure"]: rounded(one["measure"], float(one["value"])) for one in measured}

    @property
    def cautions(self) -> list[str]:
        """Notes for the organisers alone, since they come from the labels."""
        measured = () if self.result is None else self.result.measured
        eers = [one for one in measured if isinstance(Measure.parse(one["measure"]).kind, EerKind)]
        found = [f"not scored: {self.result.reason}"] if self.result is not None and self.result.reason else []
        return found + [
            f"{one['measure']} is over 50 %: do high scores mean what the submission says of them?"
            for one in eers
            if one["value"] > 0.5
        ]

    def to_dict(self) -> dict[str, Any]:
        """The part of the result that the team may see, as plain data."""
        plain: dict[str, Any] = finite(
            {"team": self.team, "state": self.state, "values": self.values, "problems": list(self.problems)}
        )
        return plain


def score_submissions(
    challenge: Path, submissions: Path, *, phase: str | None = None, teams: Sequence[str] = ()
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
    results = results_folder(challenge, judge.phase)
    with own_folder(results), ScoringProcess(challenge, judge.phase) as process:
        known = known_teams(challenge / RESULTS)
        return [_scored(judge, path, results, names, known, process) for path in track(chosen, "scoring teams")]


def judge_of(challenge: Path, phase: str | None) -> Judge:
    """Read a challenge."""
    if not (challenge / HIDDEN).is_dir():
        raise UsageError(f"{str(challenge)!r} has no folder {HIDDEN!r}: give the folder that challenge build made")
    return Judge.of(PublicPart.read(challenge), HiddenPart.read(challenge / HIDDEN), phase)


def results_folder(challenge: Path, phase: str) -> Path:
    """Where the results of a phase are kept."""
    return challenge / RESULTS / phase


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


def _mistaken(path: Path, names: Mapping[Path, str | None], known: Mapping[str, str]) -> str | None:
    """Why the name of a team would be taken for that of another; None if it is not.

    A team that has a result keeps its name, and another that looks like it does not touch that result.
    """
    team = names[path] or ""
    first = known.get(look_alike(team))
    if first is not None:
        return None if first == team else f"the name {team!a} looks like that of the team {first!a}; choose another"
    others = (other for other in names.values() if other and other != team and look_alike(other) == look_alike(team))
    if (other := next(others, None)) is not None:
        return f"the names {team!a} and {other!a} look like one; choose another"
    return None


def _scored(
    judge: Judge,
    path: Path,
    results: Path,
    names: Mapping[Path, str | None],
    known: Mapping[str, str],
    process: ScoringProcess,
) -> JudgedSubmission:
    """Score a submission by its name, in a process of its own."""
    try:
        team = team_of(path)
    except DataError as error:
        return JudgedSubmission(ascii(path.name), "refused", None, (str(error),))
    if (reason := _mistaken(path, names, known)) is not None:
        return JudgedSubmission(team, "refused", None, (reason,))
    twin = next((one for one, name in names.items() if name == team and one != path), None)
    if twin is not None:
        return _refused(judge, team, results, f"{path.name!r} and {twin.name!r} are of one team; keep one of them")
    state, answered = process.score(path, team)
    if state == "ended":
        return _refused(judge, team, results, NOT_SCORED, answered)
    if state == "over":
        return JudgedSubmission(team, "refused", None, (answered,))
    result = TeamResult.read(results, team)
    if result is None:  # it was written before the answer came
        return _refused(judge, team, results, NOT_SCORED, "its result was removed while it was scored")
    return JudgedSubmission(team, state, result, result.problems)


def _refused(judge: Judge, team: str, results: Path, problem: str, reason: str = "") -> JudgedSubmission:
    """Refuse what could not be read.

    That is kept too, so that what the team submitted before is no longer ranked; no submission has this key.
    """
    key, spent = f"{judge.challenge_key}-", spent_by(results, team)
    refused = TeamResult(team, key, problems=(problem,), reason=reason, spent=spent)
    refused.write(results)
    return JudgedSubmission(team, "refused", refused, refused.problems)


# ---------------------------------------------------------------- in the process that scores


def score_file(judge: Judge, path: Path, team: str, results: Path) -> JudgedSubmission:
    """Score one submission, whatever it does."""
    try:
        with opened(path, judge.public, team) as submission:
            return score_opened(judge, submission, results)
    except SpoofspanError as error:
        return _refused(judge, team, results, str(error))
    except OSError as error:
        return _refused(judge, team, results, f"it cannot be read ({error.strerror or type(error).__name__})")
    except Exception as error:
        return _refused(judge, team, results, NOT_SCORED, _described(error))


def score_opened(judge: Judge, submission: Submission, results: Path) -> JudgedSubmission:
    """Check a submission that is open and measure it, unless that was done before."""
    team, key, spent = submission.team, judge.key(submission), spent_by(results, submission.team)
    kept = TeamResult.read(results, team)
    if kept is not None and kept.key == key:
        return JudgedSubmission(team, "refused" if kept.problems else "kept", kept, kept.problems)
    found = check_opened(judge.public, submission)
    if found.system is None:
        result = TeamResult(team, key, problems=found.problems, spent=spent)
        result.write(results)
        return JudgedSubmission(team, "refused", result, result.problems)
    most, digest = judge.definition.max_submissions, submission.digest
    if digest not in spent:
        if len(spent) >= most:
            over = f"{most:,} submissions of this team were scored in this phase, which is the limit"
            return JudgedSubmission(team, "refused", None, (over,))
        spent = (*spent, digest)
    try:
        result = replace(judge.measure(found.system, submission, key), spent=spent)
    except Exception as error:  # only the labels can be the reason, so that it must not reach the team
        result = TeamResult(team, key, problems=(NOT_SCORED,), reason=_described(error), spent=spent)
    result.write(results)
    return JudgedSubmission(team, "refused" if result.problems else "scored", result, result.problems)


def _described(error: Exception) -> str:
    """An error for the organisers; of one that nobody expects, also where it was raised."""
    if isinstance(error, SpoofspanError):
        return str(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(place.filename).name}, line {place.lineno})"

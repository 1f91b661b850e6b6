"""Score one submission, or all of a folder: what was scored before is kept, and a refusal does not stop the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from spoofspan.base.errors import DataError, SpoofspanError, UsageError, nearest_name
from spoofspan.base.locks import own_folder
from spoofspan.base.progress import track
from spoofspan.challenge.definition import HIDDEN, RESULTS
from spoofspan.challenge.hidden_part import HiddenPart
from spoofspan.challenge.public_part import PublicPart
from spoofspan.challenge.submission import ABOUT, Submission, opened, submissions_in, team_of
from spoofspan.challenge.submission_check import check_opened
from spoofspan.challenge.team_results import Judge, TeamResult
from spoofspan.measures.measure import Measure
from spoofspan.report.results import finite


@dataclass(frozen=True, eq=False)
class Scored:
    """One submission, and what became of it."""

    team: str
    state: Literal["scored", "kept", "refused"]  # kept: from an earlier run
    result: TeamResult | None  # None if not even its name can be used
    problems: tuple[str, ...] = ()

    @property
    def cautions(self) -> list[str]:
        """What may be wrong although it could be scored; for the organisers, since it comes from the labels."""
        measured = [] if self.result is None else self.result.measured
        eers = [one for one in measured if Measure.parse(one["measure"]).kind.group == "eer"]
        return [
            f"{one['measure']} is over 50 %: do high scores mean what the submission says of them?"
            for one in eers
            if one["value"] > 0.5
        ]

    def to_dict(self) -> dict[str, Any]:
        """Everything but what is kept for the leaderboard, as plain data."""
        measured = [] if self.result is None else self.result.measured
        values = {one["measure"]: one["value"] for one in measured}
        plain: dict[str, Any] = finite(
            {
                "team": self.team,
                "state": self.state,
                "values": values,
                "problems": list(self.problems),
                "warnings": self.cautions,
            }
        )
        return plain


def score_submissions(
    challenge: Path, submissions: Path, *, phase: str | None = None, teams: Sequence[str] = ()
) -> list[Scored]:
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
    list of Scored
        One for each submission, refused ones as well.

    """
    judge = judge_of(challenge, phase)
    if not (submissions.exists() or submissions.is_symlink()):
        raise UsageError(f"there is no {str(submissions)!r}; give one submission, or a folder with one for each team")
    several = submissions.is_dir() and not (submissions / ABOUT).is_file()
    names = {path: _team(path) for path in (submissions_in(submissions) if several else [submissions])}
    chosen = _chosen(names, teams) if teams else list(names)
    results = results_folder(challenge, judge.phase)
    with own_folder(results):
        return [_scored(judge, path, results, _twin(path, names)) for path in track(chosen, "scoring teams")]


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


def _twin(path: Path, names: Mapping[Path, str | None]) -> Path | None:
    """Another submission whose team has the same name, as file names are told apart."""
    folded = (names[path] or "").casefold()
    return next((one for one, name in names.items() if name and name.casefold() == folded and one != path), None)


def _scored(judge: Judge, path: Path, results: Path, twin: Path | None) -> Scored:
    try:
        team = team_of(path)
    except DataError as error:
        return Scored(ascii(path.name), "refused", None, (str(error),))
    try:
        if twin is not None:
            raise DataError(f"{path.name!r} and {twin.name!r} are of one team; keep one of them")
        with opened(path, judge.public, team) as submission:
            return score_opened(judge, submission, results)
    except (SpoofspanError, OSError) as error:
        # kept too, so that what the team submitted before is no longer ranked; no submission has this key
        refused = TeamResult(team, f"{judge.challenge_key}-", problems=(str(error),))
        refused.write(results)
        return Scored(team, "refused", refused, refused.problems)


def score_opened(judge: Judge, submission: Submission, results: Path) -> Scored:
    """Score a submission that is open, unless that was done before."""
    key = judge.key(submission)
    kept = TeamResult.read(results, submission.team)
    if kept is not None and kept.key == key:
        return Scored(submission.team, "refused" if kept.problems else "kept", kept, kept.problems)
    result = _measured(judge, submission, key)
    result.write(results)
    return Scored(submission.team, "refused" if result.problems else "scored", result, result.problems)


def _measured(judge: Judge, submission: Submission, key: str) -> TeamResult:
    """Measure a submission; if that is refused, find every problem."""
    try:
        return judge.measure(submission, key)
    except MemoryError:
        return TeamResult(submission.team, key, problems=("the scores do not fit into memory; submit fewer",))
    except Exception as error:  # whatever a file of a stranger leads to, the others are scored
        problems = check_opened(judge.public, submission).problems
        said = str(error) if isinstance(error, SpoofspanError) else f"it cannot be scored ({type(error).__name__})"
        return TeamResult(submission.team, key, problems=problems or (submission.told(said),))

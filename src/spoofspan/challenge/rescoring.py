"""Score all submissions again after the labels, the rules or the program changed, and say what moved and why.

The challenge as it was is kept in ``CHALLENGE/former/NUMBER``, by the number of the line of the ledger that records the
change, so that both boards can be made again. A rescoring that was interrupted goes on where it stopped: until then,
the board does not rank what was scored before the change.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.base.progress import track
from spoofspan.challenge.definition import FORMER, HIDDEN, POLICY, PUBLIC, PublicPart
from spoofspan.challenge.hidden_part import HiddenPart
from spoofspan.challenge.judging import Judging, judge_of
from spoofspan.challenge.leaderboard import Leaderboard, Plain, board_of, key_then
from spoofspan.challenge.published_numbers import published_text
from spoofspan.challenge.scoring_process import ScoringProcess
from spoofspan.challenge.season import Clock, Entry, Ledger, Received, Season, public_reason, utc_now
from spoofspan.challenge.team_results import Judge
from spoofspan.data.references import References
from spoofspan.evaluation.reference_diff import diff_references
from spoofspan.formats.writing import write_atomically
from spoofspan.report.cells import NONE, heading
from spoofspan.report.table import Table

LISTED = 20  # utterances


@dataclass(frozen=True, eq=False)
class Moves:
    """Effect of a change on the board of a phase.

    Parameters
    ----------
    phase
        Its name.
    measure
        That ranks.
    rows
        For each team, its value and rank before and after, and whether the move is within noise: the new rank was
        among those that the team could have before.
    scored
        Number of submissions that were scored again.

    """

    phase: str
    measure: str
    rows: tuple[Plain, ...]
    scored: int


@dataclass(frozen=True, eq=False)
class Rescored:
    """A rescoring: the decision, what moved in each phase, and for the organisers the utterances responsible."""

    reason: str
    what: tuple[str, ...]
    moves: tuple[Moves, ...]
    utterances: tuple[tuple[str, float], ...] = ()  # and for how many seconds their labels changed

    def to_dict(self) -> Plain:
        """Publishable part: the decision, and rounded values and ranks before and after."""
        phases = [
            {"phase": one.phase, "ranked_by": one.measure, "scored_again": one.scored, "teams": list(one.rows)}
            for one in self.moves
        ]
        return {"reason": self.reason, "changed": list(self.what), "phases": phases}

    def tables(self) -> list[Table]:
        """Moves in each phase."""
        tables = []
        for one in self.moves:
            rows = tuple(
                (
                    row["team"],
                    *(NONE if row[end] is None else str(row[end]) for end in ("rank_before", "rank_after")),
                    *(
                        NONE if row[end] is None else published_text(one.measure, row[end])
                        for end in ("before", "after")
                    ),
                    row["move"],
                )
                for row in one.rows
            )
            header = ("team", "rank before", "after", f"{heading(one.measure)} before", "after", "")
            about = f"{one.phase}: {one.scored} submission{'s' * (one.scored != 1)} scored again"
            tables.append(Table(header, rows, ("", about, f"changed: {', '.join(self.what)} ({self.reason})")))
        return tables

    @property
    def for_organisers(self) -> list[str]:
        """The utterances responsible; they depend on the labels."""
        if not self.utterances:
            return []
        listed = [f"{utt} ({seconds:.3f} s)" for utt, seconds in self.utterances[:LISTED]]
        more = f", and {len(self.utterances) - LISTED:,} more" if len(self.utterances) > LISTED else ""
        return [f"labels changed in {len(self.utterances):,} utterances: {', '.join(listed)}{more}"]


def rescore(challenge: Path, reason: str, *, corrected: Path | None = None, clock: Clock = utc_now) -> Rescored:
    """Score again.

    Parameters
    ----------
    challenge
        The folder that ``spoofspan challenge build`` made.
    reason
        Of the change, for everybody to read.
    corrected
        The folder of a challenge that was built with the corrected labels or rules, for the same utterances and
        phases (their times may differ); its parts take the place of those of this one. Without it, submissions are
        scored again that were scored by another version of spoofspan or of the challenge.
    clock
        Gives the time of lines of the ledger.

    """
    said = public_reason(reason)
    change = _change(challenge, said, corrected, clock)
    began = len(Ledger(challenge).entries()) + 1
    judges = {one.name: judge_of(challenge, one.name) for one in PublicPart.read(challenge).definition.phases}
    moves = []
    for judge in judges.values():
        count = sum(1 for _ in _scored_again(challenge, judge, clock))
        moves.append(_moves(challenge, judge, change, began, count))
    what = tuple(change.about["what"]) if change is not None else ("the program",)
    found = [one for one in moves if one is not None]
    return Rescored(said, what, tuple(found), _relabelled(challenge, change))


def _change(challenge: Path, reason: str, corrected: Path | None, clock: Clock) -> Entry | None:
    """Put corrected parts in their place, and record that; the line of the change that holds, if there was one."""
    if corrected is None:
        return None
    before, after = judge_of(challenge, None), judge_of(corrected, None)
    _refuse_others(before.public, after.public)
    with Ledger(challenge, clock).open() as writer:
        changes = [one for one in writer.entries if one.action == "change"]
        # the line is there if a process was killed while it copied
        if changes and changes[-1].about["to"] == _fingerprint(corrected):
            change = changes[-1]
        else:
            what = _what_changed(challenge, corrected)
            if not what:
                raise UsageError(f"{str(corrected)!r} has the same labels and rules as the challenge")
            _keep_former(challenge, len(writer.entries) + 1)
            change = writer.append("change", reason=reason, what=what, to=_fingerprint(corrected))
        for part in (PUBLIC, HIDDEN):
            for one in sorted((corrected / part).iterdir()):
                write_atomically(challenge / part / one.name, [one.read_bytes()], force=True)
        for one in sorted(corrected.glob("*.zip")):  # bundles for platforms
            write_atomically(challenge / one.name, [one.read_bytes()], force=True)
    return change


def _refuse_others(before: PublicPart, after: PublicPart) -> None:
    """Refuse parts that the submissions were not made for."""
    same = before.utterances == after.utterances and np.array_equal(before.ends, after.ends)
    if not same or before.definition.submissions != after.definition.submissions:
        raise UsageError("the corrected challenge has other utterances or submissions; build it with the same ones")
    names = [[one.name for one in part.definition.phases] for part in (before, after)]
    if names[0] != names[1][: len(names[0])]:
        raise UsageError(
            f"the corrected challenge has other phases ({', '.join(names[1])}); keep {', '.join(names[0])}"
        )


def _fingerprint(challenge: Path) -> str:
    """Hash of everything that results and boards of all phases depend on."""
    judge = Judge(PublicPart.read(challenge), HiddenPart.read(challenge / HIDDEN), "")
    policy = {name: value for name, value in judge.definition.to_dict().items() if name in POLICY}
    if judge.hidden.phases:
        policy["utterances of phases"] = judge.hidden.phases
    return f"{judge.challenge_key}-{sha256(json.dumps(policy, sort_keys=True).encode()).hexdigest()[:16]}"


def _what_changed(challenge: Path, corrected: Path) -> list[str]:
    """The rules and parts that differ, by name."""
    old, new = (PublicPart.read(one).definition.to_dict() for one in (challenge, corrected))
    found = [name for name in new if new[name] != old.get(name)]
    parts = [HiddenPart.read(one / HIDDEN) for one in (challenge, corrected)]
    first, second = ({**one.fingerprint, "utterances of phases": one.phases} for one in parts)
    names = {"references": "labels", "by": "columns of the leaderboard"}
    return found + [names.get(name, name) for name in {**second, **first} if second.get(name) != first.get(name)]


def _keep_former(challenge: Path, number: int) -> None:
    folder = challenge / FORMER / str(number)
    shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed before its line
    for part in (PUBLIC, HIDDEN):
        shutil.copytree(challenge / part, folder / part)


def _scored_again(challenge: Path, judge: Judge, clock: Clock) -> Iterator[Received]:
    """Score what counts or could count and is of the challenge as it was."""
    ledger = Ledger(challenge, clock)
    season = Season.of(judge.definition, ledger.entries())
    files = {entry.number: entry.about["file"] for entry in season.entries if entry.action == "score"}
    old = [
        one
        for team in season.submissions.get(judge.phase, {}).values()
        for one in team
        if one.counted and not one.is_current(judge.challenge_key)
    ]
    if not old:
        return
    with ScoringProcess(challenge, judge.phase) as process:
        judging = Judging(challenge, judge, ledger, process)
        for one in track(old, "scoring again"):
            judging.rescore(one, files[one.number])
            yield one


def _moves(challenge: Path, judge: Judge, change: Entry | None, began: int, count: int) -> Moves | None:
    """Compare the board before the change with that after it; None if the phase has no board."""
    entries, former = Ledger(challenge).entries(), None if change is None else challenge / FORMER / str(change.number)
    boards: list[Leaderboard | None] = []
    for until, folder in ((began if change is None else change.number) - 1, former), (len(entries), None):
        then = judge if folder is None else judge_of(folder, judge.phase)
        season = Season.of(then.definition, entries, until)
        try:
            boards.append(board_of(challenge, then, season, key_then(season, then)))
        except UsageError:  # nothing was ranked
            boards.append(None)
    before, now = boards
    return None if now is None else Moves(judge.phase, now.first.measure, tuple(_rows(before, now)), count)


def _rows(then: Leaderboard | None, now: Leaderboard) -> Iterator[Plain]:
    plain: list[dict[str, Any]] = []
    for board in (then, now):
        teams = board.to_dict()["teams"] if board is not None else []
        measure = board.first.measure if board is not None else ""
        plain.append({one["team"]: one["measures"][measure] for one in teams})
    first, second = plain
    for team in dict.fromkeys((*second, *first)):
        old, new = first.get(team), second.get(team)
        move = "new" if old is None else "not ranked any more" if new is None else _move(old, new)
        yield {
            "team": team,
            "before": None if old is None else old["value"],
            "after": None if new is None else new["value"],
            "rank_before": None if old is None else old["rank"],
            "rank_after": None if new is None else new["rank"],
            "move": move,
        }


def _move(old: Plain, new: Plain) -> str:
    if old["rank"] == new["rank"]:
        return "same rank"
    within = old["best_rank"] <= new["rank"] <= old["worst_rank"]
    return "moved, within noise" if within else "moved"


def _relabelled(challenge: Path, change: Entry | None) -> tuple[tuple[str, float], ...]:
    """The utterances whose labels a change touched, and for how many seconds, most first."""
    former = challenge / FORMER / str(change.number if change is not None else 0) / HIDDEN
    if not former.is_dir():
        return ()
    old, new = HiddenPart.read(former).truth, HiddenPart.read(challenge / HIDDEN).truth
    if isinstance(old, References) and isinstance(new, References):
        found = diff_references(old, new)
        pairs = zip(found.utterances, (found.disagreement / 1e9).tolist(), strict=True)
        return tuple(sorted((one for one in pairs if one[1]), key=lambda one: (-one[1], one[0])))
    if isinstance(old, References) or isinstance(new, References):
        return ()
    return tuple((utt, 0.0) for utt in sorted(new) if old.get(utt) != new[utt])

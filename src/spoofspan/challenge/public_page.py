"""The page of a challenge for everybody: the leaderboard of a phase, other phases, history, and result files."""

from __future__ import annotations

from pathlib import Path

from spoofspan.base.errors import UsageError
from spoofspan.challenge.appeals import certificate, season_of
from spoofspan.challenge.leaderboard import Leaderboard, leaderboard
from spoofspan.challenge.leaderboard_page import leaderboard_page
from spoofspan.challenge.public_history import history
from spoofspan.formats.writing import write_atomically
from spoofspan.report.table import json_text


def public_page(
    challenge: Path, board: Leaderboard, *, with_pairs: bool = False, results: Path | None = None, check: str = ""
) -> str:
    """Write the page, and the result files of teams that agreed into a folder beside it; `check` is linked."""
    others = []
    for phase in board.definition.phases:
        if phase.name != board.phase:
            try:
                others.append(leaderboard(challenge, phase=phase.name))
            except UsageError:  # nothing was scored in it
                continue
    files = {}
    if results is not None:
        season = season_of(challenge)
        results.mkdir(parents=True, exist_ok=True)
        for team in sorted(season.shares):
            # a file would name a team that is anonymous
            if team in board.standings:
                text = json_text(certificate(challenge, team, phase=board.phase))
                write_atomically(results / f"{team}.json", [text.encode()], force=True)
                files[team] = f"{results.name}/{team}.json"
    return leaderboard_page(
        board, with_pairs=with_pairs, others=others, events=history(challenge), files=files, check=check
    )

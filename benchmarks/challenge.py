"""Measure what a challenge costs: all teams scored and ranked, against one `eval` with intervals and attacks.

    python benchmarks/challenge.py [--scale S] [--teams N] [--only NAME ...] [--keep DIR] [--json FILE] [--readme]

The commands run as processes of their own, as in files.py, from Parquet files whose spoof ranges have 13 attacks. The
teams have the same scores through more and more noise. A quick look: `--scale 0.02 --teams 10`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import files
import numpy as np
import pyarrow.parquet as pq
import report
import run
from corpus import Corpus, generate
from files import COMMAND, Cost, Pair
from report import ATTACKS
from run import Figure

import spoofspan as ss
from spoofspan.challenge.judging import results_folder
from spoofspan.challenge.season import Ledger
from spoofspan.challenge.team_results import TeamResult
from spoofspan.formats.tables.arrow_tables import plain_texts
from spoofspan.formats.tables.dataframes import to_arrow

RESULTS = ("<!-- challenge: begin -->", "<!-- challenge: end -->")
RANKED, SUBMISSIONS = 40, 10
EVAL = "eval --confidence 0.95 --by attack"
MEASURES = ("range-eer", "point-eer@20ms", "utterance-eer")  # those of eval


@dataclass
class Setting:
    """What all figures share."""

    scale: float
    repetitions: int
    root: Path
    teams: int

    @cached_property
    def corpus(self) -> Corpus:
        return generate(self.scale).with_attacks(ATTACKS)

    @cached_property
    def pair(self) -> Pair:
        return files.write_parquet(self.root, [self.corpus])

    @property
    def page(self) -> Path:
        return self.root / "leaderboard.html"

    @cached_property
    def content(self) -> str:
        _ = self.costs
        return self.page.read_text(encoding="utf-8")

    @cached_property
    def submissions(self) -> Path:
        """A Parquet file for each team, as that of the only system."""
        folder = self.root / "submissions"
        folder.mkdir(exist_ok=True)
        scores, rng = self.corpus.scores(ss), np.random.default_rng(0)
        for team in range(self.teams):
            noise = np.float32(0.02 * team) * rng.standard_normal(scores.values.size, np.float32)
            noisy = ss.Scores.from_columns(
                scores.utterances, scores.offsets, scores.values + noise, hop=scores.hop, higher=scores.higher
            )
            pq.write_table(plain_texts(to_arrow(noisy, long=False)), folder / f"team{team:02d}.parquet")
        return folder

    @cached_property
    def costs(self) -> dict[str, Cost]:
        """One eval, and the three commands of the organisers."""
        challenge, measures = str(self.root / "challenge"), [word for one in MEASURES for word in ("-m", one)]
        evaluate = files.race(min(3, self.repetitions), eval=self.pair.eval("--confidence", "0.95", "--by", "attack"))
        build = [
            COMMAND,
            "challenge",
            "build",
            str(self.pair.references),
            *measures,
            "--by",
            "attack",
            "--counts",
            "best",
            "--out",
            challenge,
        ]
        score = [COMMAND, "challenge", "score", challenge, str(self.submissions)]
        rank = [COMMAND, "challenge", "leaderboard", challenge, "--page", str(self.page), "--force"]
        return {**evaluate, "build": files.cost(build), "score": files.cost(score), "leaderboard": files.cost(rank)}


def cost(setting: Setting) -> Iterator[Figure]:
    """CPU time and memory of scoring and ranking."""
    found, teams = setting.costs, setting.teams
    spent = found["score"].cpu + found["leaderboard"].cpu
    evaluated = found["eval"].cpu
    parts = ", ".join(f"{name} {found[name].cpu:.1f} s" for name in ("eval", "build", "score", "leaderboard"))
    size = f"{teams} teams, {len(setting.corpus.utterances):,} utterances, {ATTACKS} attacks"
    yield Figure(
        "challenge score and leaderboard: CPU time",
        spent / evaluated,
        "eval --confidence 0.95 --by attack",
        teams,
        note=f"{size}; {parts}",
    )
    unit = 1 if sys.platform == "darwin" else 1024
    peak = max(found[name].peak for name in ("build", "score", "leaderboard")) * unit / 1e9
    parts = ", ".join(f"{name} {found[name].peak * unit / 1e9:.2f} GB" for name in ("build", "score", "leaderboard"))
    yield Figure("challenge: peak memory", peak, "GB", 3, note=parts)


def size(setting: Setting) -> Iterator[Figure]:
    """What is in the page."""
    pairs = setting.teams * (setting.teams - 1) // 2
    yield Figure("size of the leaderboard page", len(setting.content.encode()) / 1e6, "MB", 5, note=f"{pairs} pairs")


def opening(setting: Setting) -> Iterator[Figure]:
    """From the address of the file to a page that can be sorted."""
    yield from report.opening(setting)


def season(setting: Setting) -> Iterator[Figure]:
    """A day's scoring, and the board of a season: 40 teams with 10 submissions each.

    What was not scored here are kept results with noise in them, which the ledger has as any other.
    """
    found, challenge = setting.costs, setting.root / "challenge"
    a_day = found["score"].cpu / setting.teams * RANKED
    evaluated = found["eval"].cpu
    size = f"{len(setting.corpus.utterances):,} utterances; {found['score'].cpu:.1f} s for {setting.teams}"
    yield Figure(f"a day of {RANKED} submissions: CPU time", a_day / evaluated, EVAL, 60, note=size)
    ledger, rng = Ledger(challenge), np.random.default_rng(1)
    first = next(entry for entry in ledger.entries() if entry.team == "team00")
    kept = TeamResult.read(results_folder(challenge, "evaluation", "team00"), first.about["key"])
    if kept is None:
        raise RuntimeError("no result was kept")
    have = {entry.team: 1 for entry in ledger.entries()}
    for number, turn in ((number, turn) for number in range(RANKED) for turn in range(SUBMISSIONS)):
        team = f"team{number:02d}"
        if have.get(team, 0) > turn:
            continue
        shift, key = 0.002 * rng.standard_normal(), f"{kept.key.partition('-')[0]}-{number:02d}{turn:02d}"
        measured = tuple({**one, "value": one["value"] + shift} for one in kept.measured)
        left_out = tuple(
            replace(one, without=one.without + shift + 1e-7 * rng.standard_normal(one.without.size))
            for one in kept.left_out
        )
        made_up = replace(kept, team=team, key=key, measured=measured, left_out=left_out)
        made_up.write(results_folder(challenge, "evaluation", team))
        with ledger.open() as writer:
            writer.append("score", phase="evaluation", team=team, **{**first.about, "key": key, "sha256": key})
    command = [COMMAND, "challenge", "leaderboard", str(challenge), "--page", str(setting.page), "--force"]
    board = files.cost(command)
    unit = 1 if sys.platform == "darwin" else 1024
    note = f"{RANKED} teams, {RANKED * SUBMISSIONS} submissions, most made up; {board.cpu / evaluated:.2f} eval"
    note += f"; {board.peak * unit / 1e9:.2f} GB, page {len(setting.page.read_bytes()) / 1e6:.2f} MB"
    yield Figure("leaderboard of a season: CPU time", board.cpu, "s", 10, note=note)


FIGURES: dict[str, Callable[[Setting], Iterator[Figure]]] = {
    "cost": cost,
    "size": size,
    "open": opening,
    "season": season,
}


def main() -> int:
    parser = run.options(__doc__.splitlines()[0], FIGURES)
    parser.add_argument("--teams", type=int, default=40, help="how many submit")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the files and the page there and keep them")
    arguments = parser.parse_args()
    if not hasattr(os, "wait4"):
        sys.exit("CPU time of a child is measured with os.wait4, which this system does not have")
    with tempfile.TemporaryDirectory() as temporary:
        root = arguments.keep or Path(temporary)
        root.mkdir(parents=True, exist_ok=True)
        setting = Setting(arguments.scale, arguments.repetitions, root, arguments.teams)
        return run.run(arguments, FIGURES, setting, RESULTS)


if __name__ == "__main__":
    sys.exit(main())

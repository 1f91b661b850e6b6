"""Measure what a challenge costs: all teams scored and ranked, against one `eval` with intervals and attacks.

    python benchmarks/challenge.py [--scale S] [--teams N] [--only NAME ...] [--keep DIR] [--json FILE] [--readme]

The commands run as processes of their own, as in files.py, from Parquet files whose spoof ranges have 13 kinds. The
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
from report import KINDS
from run import Figure

import spoofspan as ss
from spoofspan.challenge.team_results import TeamResult
from spoofspan.formats.tables.arrow_tables import plain_texts
from spoofspan.formats.tables.dataframes import to_arrow

RESULTS = ("<!-- challenge: begin -->", "<!-- challenge: end -->")
RANKED = 40
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
        return generate(self.scale).with_kinds(KINDS)

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
        evaluate = files.race(min(3, self.repetitions), eval=self.pair.eval("--confidence", "0.95", "--by", "kind"))
        build = [
            COMMAND,
            "challenge",
            "build",
            str(self.pair.references),
            *measures,
            "--by",
            "kind",
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
    size = f"{teams} teams, {len(setting.corpus.utterances):,} utterances, {KINDS} attacks"
    yield Figure(
        "challenge score and leaderboard: CPU time",
        spent / evaluated,
        "eval --confidence 0.95 --by kind",
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


def ranking(setting: Setting) -> Iterator[Figure]:
    """The leaderboard alone, of more teams than were scored: the others are kept results with noise in them."""
    _ = setting.costs
    folder = setting.root / "challenge" / "results" / "evaluation"
    kept, rng = TeamResult.read(folder, "team00"), np.random.default_rng(1)
    if kept is None:
        raise RuntimeError("no result was kept")
    for number in range(setting.teams, RANKED):
        shift = 0.002 * rng.standard_normal()
        measured = tuple({**one, "value": one["value"] + shift} for one in kept.measured)
        left_out = tuple(
            replace(one, without=one.without + shift + 1e-7 * rng.standard_normal(one.without.size))
            for one in kept.left_out
        )
        replace(kept, team=f"team{number:02d}", measured=measured, left_out=left_out).write(folder)
    command = [COMMAND, "challenge", "leaderboard", str(setting.root / "challenge"), "--page", str(setting.page)]
    found = files.cost([*command, "--force"])
    unit = 1 if sys.platform == "darwin" else 1024
    note = f"{len(setting.corpus.utterances):,} utterances, {RANKED - setting.teams} results made up; {found.cpu:.1f} s"
    note += f", {found.peak * unit / 1e9:.2f} GB, page {len(setting.page.read_bytes()) / 1e6:.2f} MB"
    ratio = found.cpu / setting.costs["eval"].cpu
    yield Figure(f"leaderboard of {RANKED} teams alone: CPU time", ratio, "eval --confidence 0.95 --by kind", note=note)


FIGURES: dict[str, Callable[[Setting], Iterator[Figure]]] = {
    "cost": cost,
    "size": size,
    "open": opening,
    "ranking": ranking,
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

"""The program that scores a submission on a platform, in folders of Codabench's layout.

::

    program/metadata.yaml  score.py  requirements.txt  spoofspan/
    input/ref/public/  hidden/  phase.json       the challenge
    input/res/                                    one submission, unpacked
    output/scores.json  detailed_results.html     what the leaderboard there shows; intervals

A team can read all output and whatever the program prints. That is what its own check says, or numbers that are rounded
(:mod:`spoofspan.challenge.published_numbers`); if only the labels can be the reason of a failure, one fixed sentence.
"""

from __future__ import annotations

import sys
import warnings
from math import isnan
from pathlib import Path
from typing import Any

from spoofspan.base.locks import temporary_folder
from spoofspan.challenge.definition import HIDDEN, PHASE, PUBLIC, PublicPart, read_json
from spoofspan.challenge.hidden_part import HiddenPart
from spoofspan.challenge.judging import score_file
from spoofspan.challenge.published_numbers import column_title, published_text, rounded
from spoofspan.challenge.team_results import Judge, TeamResult
from spoofspan.formats.writing import write_atomically
from spoofspan.measures.measure import flat_name
from spoofspan.report.cells import NONE
from spoofspan.report.table import Table, json_text

TEAM = "submission"  # whose names Codabench knows


def score_in_container(given: Path, output: Path) -> int:
    """Score what lies in ``given``/res by the challenge in ``given``/ref; write scores.json; return an exit code."""
    reference, submitted = given / "ref", given / "res"
    archives = list(submitted.glob("*.zip"))  # other platforms do not unpack it
    if archives and len(list(submitted.iterdir())) == 1:
        submitted = archives[0]
    phase = read_json(reference / PHASE)["phase"]
    judge = Judge.of(PublicPart.read(reference / PUBLIC), HiddenPart.read(reference / HIDDEN), phase)
    with temporary_folder() as results, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scored = score_file(judge, submitted, TEAM, results)
    if scored.problems:
        print("The submission was refused:", *scored.problems, sep="\n", file=sys.stderr)
        return 3
    write_atomically(output / "scores.json", [json_text(scores_of(scored)).encode()], force=True)
    page = f'<!doctype html><meta charset="utf-8"><title>Results</title>\n{_details(scored).render("html")}'
    write_atomically(output / "detailed_results.html", [page.encode()], force=True)
    return 0


def scores_of(result: TeamResult) -> dict[str, float]:
    """The values by the keys of the columns, rounded for teams, shares in per cent."""
    return {flat_name(one["measure"]): float(_text(one["measure"], one["value"])) for one in result.measured}


def _details(result: TeamResult) -> Table:
    rows = []
    for one in result.measured:
        measure, interval = one["measure"], one["interval"]
        ends = [NONE if isnan(float(interval[end])) else _text(measure, interval[end]) for end in ("low", "high")]
        rows.append((column_title(measure), _text(measure, one["value"]), *ends))
    level = f"{100 * result.measured[0]['interval']['level']:g} %"
    return Table(("measure", "value", f"{level} from", "to"), tuple(rows))


def _text(measure: str, value: Any) -> str:
    """A number as teams see it."""
    return published_text(measure, rounded(measure, float(value)))

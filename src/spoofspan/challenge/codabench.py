"""A bundle for codabench.org, and the program that scores a submission there.

The bundle follows Codabench's competition.yaml, version 2. A task's reference data are the public and the hidden part;
the scoring program carries the package with it, so that the number is that of the version that built the challenge::

    program/metadata.yaml  score.py  requirements.txt  spoofspan/
    input/ref/public/  hidden/  phase.json       the challenge
    input/res/                                    one submission, unpacked
    output/scores.json  detailed_results.html     what the leaderboard there shows; intervals

A team can read all output and whatever the program prints. That is what its own check says, or numbers that are rounded
(:mod:`spoofspan.challenge.published_numbers`); if only the labels can be the reason of a failure, one fixed sentence.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Mapping
from importlib.metadata import version
from importlib.resources import files
from math import isnan
from pathlib import Path
from typing import Any

from spoofspan.base.locks import temporary_folder
from spoofspan.challenge.challenge_folder import BUNDLE, README, zip_bytes
from spoofspan.challenge.definition import HIDDEN, PUBLIC, Counts, Definition, read_json
from spoofspan.challenge.hidden_part import HiddenPart
from spoofspan.challenge.instructions import SAMPLE
from spoofspan.challenge.judging import score_file
from spoofspan.challenge.public_part import PublicPart
from spoofspan.challenge.published_numbers import DECIMALS, published_text, rounded
from spoofspan.challenge.team_results import Judge, TeamResult
from spoofspan.formats.writing import write_atomically
from spoofspan.measures.measure import flat_name, in_percent
from spoofspan.report.cells import NONE
from spoofspan.report.names import measure_name
from spoofspan.report.table import Table, json_text

# What stays on the leaderboard there when a team submits again.
SUBMISSION_RULES: Mapping[Counts, str] = {"last": "Force_Last", "best": "Force_Best", "chosen": "Add_And_Delete"}
DOCKER_IMAGE = "python:3.12"
PHASE = "phase.json"
TEAM = "submission"  # whose names Codabench knows
OPEN_AT_ONCE = "2020-01-01 00:00:00"
SECONDS = 3600  # that a submission may take
# What the program needs of the version that built the challenge, so that its numbers stay the same.
PINNED = ("numpy", "pyarrow")
# Rooms that scoring needs.
ROOMS = ("base", "data", "formats", "mass", "measures", "evaluation", "uncertainty", "report", "scale", "challenge")
ASSETS = files("spoofspan.challenge") / "assets"


def write_bundle(folder: Path, public: PublicPart, docker_image: str | None) -> None:
    """Write the bundle of a challenge whose parts are in a folder."""
    program = program_files()
    content: dict[str, bytes] = {
        "competition.yaml": competition(public.definition, docker_image or DOCKER_IMAGE).encode(),
        "logo.png": (ASSETS / "logo.png").read_bytes(),
        "overview.md": (folder / PUBLIC / README).read_bytes(),
        "terms.md": b"Scores are computed on labels that stay hidden. Do not try to find them out.\n",
        "scoring_program.zip": zip_bytes(program),
        "public_data.zip": zip_bytes(_files_of(folder, PUBLIC)),
        SAMPLE: (folder / PUBLIC / SAMPLE).read_bytes(),
    }
    content |= {f"reference_data_{place}.zip": data for place, data in enumerate(reference_data(folder, public))}
    write_atomically(folder / BUNDLE, [zip_bytes(content)])


def reference_data(folder: Path, public: PublicPart) -> list[bytes]:
    """For each phase, a zip archive of both parts and the name of the phase: ``input/ref`` of the program."""
    parts = {**_files_of(folder, PUBLIC), **_files_of(folder, HIDDEN)}
    return [
        zip_bytes({**parts, PHASE: json_text({"phase": phase.name}).encode()}) for phase in public.definition.phases
    ]


def _files_of(folder: Path, part: str) -> dict[str, bytes]:
    return {f"{part}/{one.name}": one.read_bytes() for one in sorted((folder / part).iterdir())}


def program_files() -> dict[str, bytes]:
    """The files of the scoring program."""
    found = {name: (ASSETS / name).read_bytes() for name in ("score.py", "metadata.yaml")}
    found["requirements.txt"] = "".join(f"{name}=={version(name)}\n" for name in PINNED).encode()
    package = Path(__file__).parent.parent
    rooms = [one for room in ROOMS for one in sorted((package / room).rglob("*")) if one.is_file()]
    for path in [package / "__init__.py", *rooms]:
        if path.suffix != ".pyc":
            found[path.relative_to(package.parent).as_posix()] = path.read_bytes()
    return found


def competition(definition: Definition, docker_image: str) -> str:
    """competition.yaml, whose texts are written as JSON, which is YAML too."""
    columns = [
        {
            "title": title_of(str(one)),
            "key": flat_name(str(one)),
            "index": place,
            "sorting": "asc" if one.kind.direction == "lower" else "desc",
            "precision": DECIMALS - 2 if in_percent(str(one)) else DECIMALS,
        }
        for place, one in enumerate(definition.parsed)
    ]
    phases = [
        {
            "index": place,
            "name": one.name,
            "description": f"Ranked by {measure_name(definition.measures[0])}.",
            "start": one.start or OPEN_AT_ONCE,
            **({"end": one.end} if one.end else {}),
            "execution_time_limit": SECONDS,
            "max_submissions": definition.max_submissions,
            "max_submissions_per_day": definition.max_per_day or definition.max_submissions,
            **({"auto_migrate_to_this_phase": True} if place and definition.migrate else {}),
            "hide_output": False,
            "hide_prediction_output": False,
            "hide_score_output": False,
            "accepts_only_result_submissions": True,
            "public_data": "public_data.zip",
            "starting_kit": SAMPLE,
            "tasks": [place],
        }
        for place, one in enumerate(definition.phases)
    ]
    tasks = [
        {
            "index": place,
            "name": f"{definition.title}: {one.name}",
            "scoring_program": "scoring_program.zip",
            "reference_data": f"reference_data_{place}.zip",
        }
        for place, one in enumerate(definition.phases)
    ]
    whole: dict[str, Any] = {
        "version": 2,
        "title": definition.title,
        "description": f"Spoof localization, measured by {'; '.join(map(measure_name, definition.measures))}.",
        "image": "logo.png",
        "terms": "terms.md",
        "docker_image": docker_image,
        "registration_auto_approve": False,
        "make_programs_available": False,
        "make_input_data_available": False,
        "enable_detailed_results": True,
        "show_detailed_results_in_submission_panel": True,
        "show_detailed_results_in_leaderboard": not definition.hidden_board,
        "auto_run_submissions": True,
        "can_participants_make_submissions_public": False,
        "forum_enabled": True,
        **({"contact_email": definition.contact} if definition.contact else {}),
        **({"fact_sheet": _fact_sheet(definition)} if definition.fact_sheet else {}),
        "pages": [{"title": "Overview", "file": "overview.md"}],
        "tasks": tasks,
        "solutions": [{"index": 0, "path": SAMPLE, "tasks": [one["index"] for one in tasks]}],
        "phases": phases,
        "leaderboards": [
            {
                "title": "Results",
                "key": "main",
                "submission_rule": SUBMISSION_RULES[definition.counts],
                "hidden": definition.hidden_board,
                "columns": columns,
            }
        ],
    }
    return yaml_text(whole)


def _fact_sheet(definition: Definition) -> dict[str, dict[str, str]]:
    """Questions that a team answers in a line of text, which is not shown on the leaderboard."""
    return {
        key: {
            "key": key,
            "type": "text",
            "title": question,
            "selection": "",
            "is_required": "true",
            "is_on_leaderboard": "false",
        }
        for key, question in definition.fact_sheet.items()
    }


def title_of(measure: str) -> str:
    """The heading of a column."""
    return measure_name(measure) + (" %" if in_percent(measure) else "")


def yaml_text(value: Any, indent: str = "") -> str:
    """Nested lists and dicts of plain values as YAML.

    >>> print(yaml_text({"title": "A: b", "tasks": [{"index": 0, "files": [1, 2]}]}), end="")
    title: "A: b"
    tasks:
      - index: 0
        files: [1, 2]
    """
    lines = []
    for key, one in value.items():
        if isinstance(one, list) and one and isinstance(one[0], dict):
            lines.append(f"{indent}{key}:\n")
            for item in one:
                first, rest = indent + "  - ", indent + "    "
                lines.append(first + yaml_text(item, rest)[len(rest) :])
        else:
            lines.append(f"{indent}{key}: {json.dumps(one)}\n")
    return "".join(lines)


# ---------------------------------------------------------------- what runs there


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
        rows.append((title_of(measure), _text(measure, one["value"]), *ends))
    level = f"{100 * result.measured[0]['interval']['level']:g} %"
    return Table(("measure", "value", f"{level} from", "to"), tuple(rows))


def _text(measure: str, value: Any) -> str:
    """A number as teams see it."""
    return published_text(measure, rounded(measure, float(value)))

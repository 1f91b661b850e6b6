"""A bundle for codabench.org, and the program that scores a submission there.

The bundle follows Codabench's competition.yaml, version 2. A task's reference data are the public and the hidden part;
the scoring program carries the package with it, so that the number is that of the version that built the challenge::

    program/metadata.yaml  score.py  requirements.txt  spoofspan/
    input/ref/public/  hidden/  phase.json       the challenge
    input/res/                                    one submission, unpacked
    output/scores.json  detailed_results.html     what the leaderboard there shows; intervals
"""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

from spoofspan.base.errors import SpoofspanError
from spoofspan.base.locks import temporary_folder
from spoofspan.challenge.challenge_folder import BUNDLE, README, zip_bytes
from spoofspan.challenge.definition import HIDDEN, PUBLIC, Definition, read_json
from spoofspan.challenge.hidden_part import HiddenPart
from spoofspan.challenge.instructions import SAMPLE
from spoofspan.challenge.judging import score_opened
from spoofspan.challenge.public_part import PublicPart
from spoofspan.challenge.submission import opened
from spoofspan.challenge.team_results import Judge, TeamResult
from spoofspan.formats.writing import write_atomically
from spoofspan.measures.measure import flat_name, in_percent, number_text
from spoofspan.report.names import measure_name
from spoofspan.report.table import Table, json_text

DOCKER_IMAGE = "python:3.12"
PHASE = "phase.json"
OPEN_AT_ONCE = "2020-01-01 00:00:00"
SECONDS = 3600  # that a submission may take
# Rooms that scoring needs.
ROOMS = ("base", "data", "formats", "mass", "measures", "evaluation", "uncertainty", "report", "scale", "challenge")
ASSETS = files("spoofspan.challenge") / "assets"


def write_bundle(folder: Path, public: PublicPart, docker_image: str | None) -> None:
    """Write the bundle of a challenge whose parts are in a folder."""
    program = _program()
    content: dict[str, bytes] = {
        "competition.yaml": competition(public.definition, docker_image or DOCKER_IMAGE).encode(),
        "logo.png": (ASSETS / "logo.png").read_bytes(),
        "overview.md": (folder / PUBLIC / README).read_bytes(),
        "terms.md": b"Scores are computed on labels that stay hidden. Do not try to find them out.\n",
        "scoring_program.zip": zip_bytes(program),
        "public_data.zip": zip_bytes(_files_of(folder, PUBLIC)),
        SAMPLE: (folder / PUBLIC / SAMPLE).read_bytes(),
    }
    parts = {**_files_of(folder, PUBLIC), **_files_of(folder, HIDDEN)}
    for place, phase in enumerate(public.definition.phases):
        data = {**parts, PHASE: json_text({"phase": phase.name}).encode()}
        content[f"reference_data_{place}.zip"] = zip_bytes(data)
    write_atomically(folder / BUNDLE, [zip_bytes(content)])


def _files_of(folder: Path, part: str) -> dict[str, bytes]:
    return {f"{part}/{one.name}": one.read_bytes() for one in sorted((folder / part).iterdir())}


def _program() -> dict[str, bytes]:
    """The files of the scoring program."""
    found = {name: (ASSETS / name).read_bytes() for name in ("score.py", "metadata.yaml", "requirements.txt")}
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
            "title": _title(str(one)),
            "key": flat_name(str(one)),
            "index": place,
            "sorting": "asc" if one.kind.direction == "lower" else "desc",
            "precision": 2 if in_percent(str(one)) else 4,
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
        "enable_detailed_results": True,
        "pages": [{"title": "Overview", "file": "overview.md"}],
        "tasks": tasks,
        "solutions": [{"index": 0, "path": SAMPLE, "tasks": [one["index"] for one in tasks]}],
        "phases": phases,
        "leaderboards": [{"title": "Results", "key": "main", "submission_rule": "Force_Last", "columns": columns}],
    }
    return _yaml(whole)


def _title(measure: str) -> str:
    return measure_name(measure) + (" %" if in_percent(measure) else "")


def _yaml(value: Any, indent: str = "") -> str:
    """Nested lists and dicts of plain values as YAML.

    >>> print(_yaml({"title": "A: b", "tasks": [{"index": 0, "files": [1, 2]}]}), end="")
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
                lines.append(first + _yaml(item, rest)[len(rest) :])
        else:
            lines.append(f"{indent}{key}: {json.dumps(one)}\n")
    return "".join(lines)


# ---------------------------------------------------------------- what runs there


def score_in_container(given: Path, output: Path) -> int:
    """Score what lies in ``given``/res by the challenge in ``given``/ref; write scores.json; return an exit code."""
    reference, submitted = given / "ref", given / "res"
    phase = read_json(reference / PHASE)["phase"]
    judge = Judge.of(PublicPart.read(reference / PUBLIC), HiddenPart.read(reference / HIDDEN), phase)
    try:
        with temporary_folder() as results, opened(submitted, judge.public, "submission") as submission:
            scored = score_opened(judge, submission, results)
    except (SpoofspanError, OSError) as error:
        return _refused((str(error),))
    if scored.result is None or scored.problems:
        return _refused(scored.problems)
    write_atomically(output / "scores.json", [json_text(scores_of(scored.result)).encode()], force=True)
    page = f'<!doctype html><meta charset="utf-8"><title>Results</title>\n{_details(scored.result).render("html")}'
    write_atomically(output / "detailed_results.html", [page.encode()], force=True)
    return 0


def _refused(problems: tuple[str, ...]) -> int:
    print("The submission was refused:", *problems, sep="\n", file=sys.stderr)
    return 3


def scores_of(result: TeamResult) -> dict[str, float]:
    """The values by the keys of the columns, rounded as they are shown, shares in per cent."""
    return {
        flat_name(one["measure"]): float(number_text(one["measure"], float(one["value"]))) for one in result.measured
    }


def _details(result: TeamResult) -> Table:
    rows = []
    for one in result.measured:
        measure, interval = one["measure"], one["interval"]
        ends = [number_text(measure, float(interval[end])) for end in ("low", "high")]
        rows.append((_title(measure), number_text(measure, float(one["value"])), *ends))
    level = f"{100 * result.measured[0]['interval']['level']:g} %"
    return Table(("measure", "value", f"{level} from", "to"), tuple(rows))

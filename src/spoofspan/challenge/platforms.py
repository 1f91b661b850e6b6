"""Bundles of a challenge for Codabench, EvalAI and competitions on Hugging Face.

::

    codabench.zip      competition.yaml (version 2), texts, scoring_program.zip, public_data.zip, a sample,
                       reference_data_N.zip (of each phase, which Codabench hides)
    evalai.zip         challenge_config.yaml, templates, logo.png, evaluation_script.zip (__init__.py, main.py and
                       the program), annotations/N.zip (reference data of a phase, which EvalAI hides)
    huggingface.zip    dataset/ (private: conf.json, metric.py, the program, reference data, texts) and space/

All of them run :mod:`.scoring_program` in folders of Codabench's layout, so that a submission has one value everywhere;
the program carries the package with it, so that the number is that of the version that built the challenge. EvalAI
calls ``evaluate(annotations, submission, phase)`` of the script; the competitions package calls ``compute(params)`` of
metric.py, which downloads the rest.

Settings of the platforms are templates in ``assets``, whose texts are written as JSON, which is YAML too.
"""

from __future__ import annotations

import html
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from spoofspan.challenge.definition import HIDDEN, PHASE, PUBLIC, README, SAMPLE, Counts, Definition, PublicPart
from spoofspan.challenge.published_numbers import DECIMALS, column_title
from spoofspan.measures.measure import flat_name, in_percent
from spoofspan.report.cells import measure_name
from spoofspan.report.table import json_text

Platform = Literal["evalai", "huggingface"]
OTHER_PLATFORMS: Mapping[Platform, str] = {"evalai": "eval.ai", "huggingface": "a competition on huggingface.co"}
# What stays on the leaderboard of Codabench when a team submits again.
SUBMISSION_RULES: Mapping[Counts, str] = {"last": "Force_Last", "best": "Force_Best", "chosen": "Add_And_Delete"}
DOCKER_IMAGE = "python:3.12"
OPEN_AT_ONCE, OPEN_END = "2020-01-01 00:00:00", "2099-12-31 23:59:59"
SECONDS = 3600  # that a submission may take
TERMS = "Scores are computed on labels that stay hidden. Do not try to find them out."
DOCKERFILE = (
    "FROM huggingface/competitions:latest\nCMD uvicorn competitions.app:app --host 0.0.0.0 --port 7860 --workers 1\n"
)
# What the program needs of the version that built the challenge, so that its numbers stay the same.
PINNED = ("numpy", "pyarrow")
# Packages that scoring needs.
PACKAGES = ("base", "data", "formats", "mass", "measures", "evaluation", "uncertainty", "report", "scale", "challenge")
ASSETS = files("spoofspan.challenge") / "assets"
FIRST_TIME = (1980, 1, 1, 0, 0, 0)  # of files in archives, so that equal content gives equal bytes
Files = dict[str, bytes]


def codabench(folder: Path, public: PublicPart, docker_image: str | None) -> Files:
    """Files for Codabench, of a challenge whose parts are in a folder."""
    definition = public.definition
    rule, image = SUBMISSION_RULES[definition.counts], docker_image or DOCKER_IMAGE
    # a line of text for each question, which is not shown on the leaderboard
    about = {"selection": "", "is_required": "true", "is_on_leaderboard": "false"}
    asked = {key: {"key": key, "type": "text", "title": text, **about} for key, text in definition.fact_sheet.items()}
    return {
        "competition.yaml": _settings(
            "competition.yaml", public, docker_image=image, submission_rule=rule, fact_sheet=asked
        ),
        "logo.png": (ASSETS / "logo.png").read_bytes(),
        "overview.md": (folder / PUBLIC / README).read_bytes(),
        "terms.md": f"{TERMS}\n".encode(),
        "scoring_program.zip": zip_bytes(program_files()),
        "public_data.zip": zip_bytes(_files_of(folder, PUBLIC)),
        SAMPLE: (folder / PUBLIC / SAMPLE).read_bytes(),
        **_reference_data(folder, definition, "reference_data_{}.zip"),
    }


def evalai(folder: Path, public: PublicPart, _: str | None) -> Files:
    """Files for EvalAI."""
    script = program_files() | {
        "__init__.py": b"from .main import evaluate as evaluate\n",
        "main.py": (ASSETS / "evalai_main.py").read_bytes(),
    }
    readme = (folder / PUBLIC / README).read_text(encoding="utf-8")
    pages = {"description": readme, "evaluation_details": readme, "submission_guidelines": readme}
    pages |= {"terms_and_conditions": TERMS, "phase": f"Ranked by {measure_name(public.definition.measures[0])}."}
    columns = columns_of(public.definition)
    schema = {
        "labels": [one["key"] for one in columns],
        "default_order_by": columns[0]["key"],
        "metadata": {
            one["key"]: {"sort_ascending": one["lower_is_better"], "description": one["title"]} for one in columns
        },
    }
    return {
        **{f"templates/{name}.html": _page(text) for name, text in pages.items()},
        **_reference_data(folder, public.definition, "annotations/{}.zip"),
        "challenge_config.yaml": _settings("challenge_config.yaml", public, schema=schema),
        "logo.png": (ASSETS / "logo.png").read_bytes(),
        "evaluation_script.zip": zip_bytes(script),
    }


def huggingface(folder: Path, public: PublicPart, _: str | None) -> Files:
    """Files of the private data set and of the Space of a competition on Hugging Face."""
    readme = (folder / PUBLIC / README).read_bytes()
    return {
        "dataset/conf.json": _settings("conf.json", public, utterances=len(public.utterances)),
        "dataset/metric.py": (ASSETS / "hf_metric.py").read_bytes(),
        "dataset/scoring_program.zip": zip_bytes(program_files()),
        **{f"dataset/{name}_DESC.md": readme for name in ("COMPETITION", "DATASET", "SUBMISSION")},
        "dataset/RULES.md": f"{TERMS}\n".encode(),
        "dataset/solution.csv": b"utterance,score,split\n",
        "dataset/teams.json": b"{}",
        "dataset/user_team.json": b"{}",
        "dataset/logo.png": (ASSETS / "logo.png").read_bytes(),
        **_reference_data(folder, public.definition, "dataset/reference_data_{}.zip"),
        "space/README.md": _settings("space.md", public),
        "space/Dockerfile": DOCKERFILE.encode(),
    }


BUNDLES: Mapping[str, Callable[[Path, PublicPart, str | None], Files]] = {
    "codabench": codabench,
    "evalai": evalai,
    "huggingface": huggingface,
}


def columns_of(definition: Definition) -> list[dict[str, Any]]:
    """The columns of a platform's leaderboard."""
    return [
        {
            "key": flat_name(str(one)),
            "title": column_title(str(one)),
            "lower_is_better": one.kind.direction == "lower",
            "decimals": DECIMALS - 2 if in_percent(str(one)) else DECIMALS,
        }
        for one in definition.parsed
    ]


def _settings(name: str, public: PublicPart, **more: Any) -> bytes:
    """Settings of a platform by a template."""
    return filled(
        name,
        challenge=public.definition,
        measures=[measure_name(one) for one in public.definition.measures],
        columns=columns_of(public.definition),
        seconds=SECONDS,
        open_at_once=OPEN_AT_ONCE,
        open_end=OPEN_END,
        **more,
    ).encode()


def filled(name: str, **content: Any) -> str:
    """A template of ``assets`` with its gaps filled; ``json`` in it writes a value as JSON."""
    from jinja2 import Environment, StrictUndefined

    # no HTML, so that nothing is escaped
    environment = Environment(  # noqa: S701
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters["json"] = json.dumps
    return environment.from_string((ASSETS / f"{name}.jinja").read_text(encoding="utf-8")).render(content)


def _page(text: str) -> bytes:
    return f'<div style="white-space: pre-wrap">{html.escape(text)}</div>\n'.encode()


def _reference_data(folder: Path, definition: Definition, name: str) -> Files:
    """For each phase, a zip archive of both parts and the name of the phase: ``input/ref`` of the program."""
    parts = {**_files_of(folder, PUBLIC), **_files_of(folder, HIDDEN)}
    return {
        name.format(place): zip_bytes({**parts, PHASE: json_text({"phase": phase.name}).encode()})
        for place, phase in enumerate(definition.phases)
    }


def _files_of(folder: Path, part: str) -> Files:
    return {f"{part}/{one.name}": one.read_bytes() for one in sorted((folder / part).iterdir())}


def program_files() -> Files:
    """The files of the scoring program."""
    found = {name: (ASSETS / name).read_bytes() for name in ("score.py", "metadata.yaml")}
    found["requirements.txt"] = "".join(f"{name}=={version(name)}\n" for name in PINNED).encode()
    package = Path(__file__).parent.parent
    modules = [one for name in PACKAGES for one in sorted((package / name).rglob("*")) if one.is_file()]
    for path in [package / "__init__.py", *modules]:
        if path.suffix != ".pyc":
            found[path.relative_to(package.parent).as_posix()] = path.read_bytes()
    return found


def zip_bytes(content: Mapping[str, bytes]) -> bytes:
    """A zip archive; equal files give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(content):
            info = zipfile.ZipInfo(name, FIRST_TIME)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, content[name])
    return buffer.getvalue()

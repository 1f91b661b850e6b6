"""Bundles of a challenge for EvalAI and for competitions on Hugging Face.

Both run the scoring program that :mod:`.codabench` packs, in folders of its layout, so that a submission has one value
everywhere::

    evalai.zip         challenge_config.yaml, templates, logo.png, evaluation_script.zip (__init__.py, main.py and
                       the program), annotations/N.zip (reference data of a phase, which EvalAI hides)
    huggingface.zip    dataset/ (private: conf.json, metric.py, the program, reference data, texts) and space/

EvalAI calls ``evaluate(annotations, submission, phase)`` of the script; the competitions package calls
``compute(params)`` of metric.py, which downloads the rest.
"""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from spoofspan.challenge.challenge_folder import README, zip_bytes
from spoofspan.challenge.codabench import ASSETS, OPEN_AT_ONCE, program_files, reference_data, title_of, yaml_text
from spoofspan.challenge.definition import PUBLIC
from spoofspan.challenge.public_part import PublicPart
from spoofspan.challenge.published_numbers import DECIMALS
from spoofspan.measures.measure import flat_name, in_percent
from spoofspan.report.names import measure_name

OPEN_END = "2099-12-31 23:59:59"
FILE_TYPES = ".zip, .parquet, .txt, .csv, .tsv, .npz, .npy, .json, .jsonl, .gz"
TERMS = "Scores are computed on labels that stay hidden. Do not try to find them out."
DOCKERFILE = (
    "FROM huggingface/competitions:latest\nCMD uvicorn competitions.app:app --host 0.0.0.0 --port 7860 --workers 1\n"
)


def evalai_bundle(folder: Path, public: PublicPart) -> bytes:
    """The bundle for EvalAI of a challenge whose parts are in a folder."""
    script = program_files() | {
        "__init__.py": b"from .main import evaluate as evaluate\n",
        "main.py": (ASSETS / "evalai_main.py").read_bytes(),
    }
    readme = (folder / PUBLIC / README).read_text(encoding="utf-8")
    pages = {"description": readme, "evaluation_details": readme, "submission_guidelines": readme}
    pages |= {"terms_and_conditions": TERMS, "phase": f"Ranked by {measure_name(public.definition.measures[0])}."}
    content = {f"templates/{name}.html": _page(text) for name, text in pages.items()}
    content |= {f"annotations/{place}.zip": data for place, data in enumerate(reference_data(folder, public))}
    content |= {
        "challenge_config.yaml": evalai_config(public).encode(),
        "logo.png": (ASSETS / "logo.png").read_bytes(),
        "evaluation_script.zip": zip_bytes(script),
    }
    return zip_bytes(content)


def _page(text: str) -> bytes:
    return f'<div style="white-space: pre-wrap">{html.escape(text)}</div>\n'.encode()


def evalai_config(public: PublicPart) -> str:
    """challenge_config.yaml; JSON in it is YAML too."""
    definition = public.definition
    columns = {flat_name(str(one)): one for one in definition.parsed}
    first = next(iter(columns))
    schema = {
        "labels": list(columns),
        "default_order_by": first,
        "metadata": {
            key: {"sort_ascending": one.kind.direction == "lower", "description": title_of(str(one))}
            for key, one in columns.items()
        },
    }
    times = [(one.start or OPEN_AT_ONCE, one.end or OPEN_END) for one in definition.phases]
    phases = [
        {
            "id": place + 1,
            "name": one.name,
            "description": "templates/phase.html",
            "leaderboard_public": not definition.hidden_board,
            "is_public": True,
            "challenge": 1,
            "is_active": True,
            "max_concurrent_submissions_allowed": 3,
            "allowed_email_ids": [],
            "disable_logs": False,
            "is_submission_public": not definition.hidden_board,
            "start_date": times[place][0],
            "end_date": times[place][1],
            "test_annotation_file": f"annotations/{place}.zip",
            "codename": f"phase{place}",
            "max_submissions_per_day": definition.max_per_day or definition.max_submissions,
            "max_submissions_per_month": definition.max_submissions,
            "max_submissions": definition.max_submissions,
            "is_restricted_to_select_one_submission": definition.counts == "chosen",
            "is_partial_submission_evaluation_enabled": False,
            "allowed_submission_file_types": FILE_TYPES,
        }
        for place, one in enumerate(definition.phases)
    ]
    splits = [
        {"id": place + 1, "name": one.name, "codename": f"phase{place}"} for place, one in enumerate(definition.phases)
    ]
    shown = [
        {
            "challenge_phase_id": place + 1,
            "leaderboard_id": 1,
            "dataset_split_id": place + 1,
            "visibility": 1 if definition.hidden_board else 3,
            "leaderboard_decimal_precision": DECIMALS - 2 if in_percent(str(columns[first])) else DECIMALS,
            "is_leaderboard_order_descending": columns[first].kind.direction == "higher",
            "show_execution_time": False,
            "show_leaderboard_by_latest_submission": definition.counts == "last",
        }
        for place in range(len(definition.phases))
    ]
    whole: dict[str, Any] = {
        "title": definition.title,
        "short_description": f"Spoof localization, measured by {measure_name(definition.measures[0])}.",
        "description": "templates/description.html",
        "evaluation_details": "templates/evaluation_details.html",
        "terms_and_conditions": "templates/terms_and_conditions.html",
        "image": "logo.png",
        "submission_guidelines": "templates/submission_guidelines.html",
        "leaderboard_description": "; ".join(title_of(str(one)) for one in definition.parsed),
        "evaluation_script": "evaluation_script.zip",
        "remote_evaluation": False,
        "start_date": times[0][0],
        "end_date": times[-1][1],
        "published": False,
        "leaderboard": [{"id": 1, "schema": schema}],
        "challenge_phases": phases,
        "dataset_splits": splits,
        "challenge_phase_splits": shown,
    }
    return yaml_text(whole)


def huggingface_bundle(folder: Path, public: PublicPart) -> bytes:
    """The files of the private data set and of the Space of a competition on Hugging Face."""
    definition = public.definition
    readme = (folder / PUBLIC / README).read_bytes()
    first = definition.parsed[0]
    settings = {
        "COMPETITION_TYPE": "generic",
        "SUBMISSION_LIMIT": definition.max_per_day or definition.max_submissions,
        "TIME_LIMIT": 3600,
        "SELECTION_LIMIT": 1,
        "HARDWARE": "cpu-basic",
        "END_DATE": (definition.phases[-1].end or OPEN_END)[:10],
        "EVAL_HIGHER_IS_BETTER": int(first.kind.direction == "higher"),
        "SUBMISSION_ID_COLUMN": "utterance",
        "SUBMISSION_COLUMNS": "utterance,score",
        "SUBMISSION_ROWS": len(public.utterances),
        "EVAL_METRIC": "custom",
        "SCORING_METRIC": flat_name(str(first)),
        "SUBMISSION_FILENAMES": ["submission.zip"],
        "DATASET": "",
        "LOGO": "logo.png",
    }
    dataset = {
        "conf.json": json.dumps(settings, indent=2).encode(),
        "metric.py": (ASSETS / "hf_metric.py").read_bytes(),
        "scoring_program.zip": zip_bytes(program_files()),
        "COMPETITION_DESC.md": readme,
        "DATASET_DESC.md": readme,
        "SUBMISSION_DESC.md": readme,
        "RULES.md": f"{TERMS}\n".encode(),
        "solution.csv": b"utterance,score,split\n",
        "teams.json": b"{}",
        "user_team.json": b"{}",
        "logo.png": (ASSETS / "logo.png").read_bytes(),
    }
    dataset |= {f"reference_data_{place}.zip": data for place, data in enumerate(reference_data(folder, public))}
    about = {"title": definition.title, "sdk": "docker", "pinned": False, "tags": ["competition"], "hf_oauth": True}
    space = {
        "README.md": f"---\n{yaml_text({**about, 'hf_oauth_scopes': ['read-repos']})}---\n".encode(),
        "Dockerfile": DOCKERFILE.encode(),
    }
    return zip_bytes(
        {f"dataset/{name}": data for name, data in dataset.items()}
        | {f"space/{name}": data for name, data in space.items()}
    )

"""Scores one submission of a competition on Hugging Face: ``compute(params)``, as its custom metrics are called.

Runs the scoring program of Codabench in folders of its layout, in a process of its own.
"""

import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any


def compute(params: Any) -> dict[str, dict[str, float]]:
    """Return the values for the public and for the private leaderboard."""
    from huggingface_hub import hf_hub_download, list_repo_files

    def download(name: str) -> Path:
        return Path(hf_hub_download(params.competition_id, name, repo_type="dataset", token=params.token))

    files = list_repo_files(params.competition_id, repo_type="dataset", token=params.token)
    prefix = f"submissions/{params.team_id}-{params.submission_id}."
    submission = download(next(name for name in files if name.startswith(prefix)))
    references = sorted(name for name in files if name.startswith("reference_data_"))
    program = download("scoring_program.zip")
    return {
        "public_score": scores_of(program, download(references[0]), submission),
        "private_score": scores_of(program, download(references[-1]), submission),
    }


def scores_of(program: Path, reference: Path, submission: Path) -> dict[str, float]:
    """Score a submission by one phase."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for archive, where in ((program, "program"), (reference, "input/ref")):
            with zipfile.ZipFile(archive) as opened:
                opened.extractall(root / where)
        (root / "input" / "res").mkdir()
        (root / "output").mkdir()
        (root / "input" / "res" / f"scores{submission.suffix}").write_bytes(submission.read_bytes())
        command = [sys.executable, str(root / "program" / "score.py"), str(root / "input"), str(root / "output")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise ValueError(done.stderr[-10_000:])
        found: dict[str, float] = json.loads((root / "output" / "scores.json").read_text())
        return found

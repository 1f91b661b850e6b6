"""Scores one submission on EvalAI: ``evaluate(annotations, submission, phase)``, as its worker calls it.

Runs the scoring program of Codabench, which lies beside this file, in folders of its layout and a process of its own.
"""

import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


class RefusedError(Exception):
    """Problems with a submission, for its team."""


def evaluate(test_annotation_file: str, user_submission_file: str, phase_codename: str, **_: Any) -> dict[str, Any]:
    """Return the values for the leaderboard."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with zipfile.ZipFile(test_annotation_file) as opened:
            opened.extractall(root / "input" / "ref")
        (root / "input" / "res").mkdir()
        (root / "output").mkdir()
        submission = Path(user_submission_file)
        (root / "input" / "res" / f"scores{submission.suffix}").write_bytes(submission.read_bytes())
        command = [sys.executable, str(HERE / "score.py"), str(root / "input"), str(root / "output")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise RefusedError(done.stderr[-10_000:])
        scores = json.loads((root / "output" / "scores.json").read_text())
    return {"result": [{phase_codename: scores}], "submission_result": scores}

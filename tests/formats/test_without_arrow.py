"""The light installation: everything but Parquet, Arrow, zstd and object stores works without pyarrow.

A child process in which pyarrow cannot be imported runs the commands of a user; what needs pyarrow says how to get it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import spoofspan as ss

pytestmark = pytest.mark.quick
# each command's exit code and what it wrote, in one process: starting Python takes longer than any of them
WALK = """
import contextlib, io, json, shlex, sys
sys.modules["pyarrow"] = None
from spoofspan.cli import app
found = []
for line in sys.stdin.read().splitlines():
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            app(shlex.split(line), standalone_mode=False)
        except Exception as error:
            code = getattr(error, "exit_code", 1)
            err.write(f"{type(error).__name__}: {error}")
    found.append([code, out.getvalue(), err.getvalue()])
assert not any(name.startswith("pyarrow.") for name in sys.modules)
json.dump(found, sys.stdout)
"""
INSTALL = "pip install 'spoofspan[tables]'"
ENDINGS = ("csv", "tsv", "jsonl", "npz", "txt")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("light")
    rng = np.random.default_rng(0)
    ids = [f"u{number:03d}" for number in range(30)]
    truth = {utt: [(0.0, 0.5, "bonafide"), (0.5, 1.0, "spoof", f"A0{1 + at % 2}")] for at, utt in enumerate(ids)}
    references = ss.References.from_ranges(truth, durations=dict.fromkeys(ids, 1.0))
    for name in ("a", "b"):
        frames = {utt: rng.normal(size=50) - 0.8 * (np.arange(50) >= 25) for utt in ids}
        scores = ss.Scores.from_frames(frames, hop=0.02, higher="bonafide")
        for ending in (*ENDINGS, "parquet", "arrow", "csv.zst"):
            stated = {"format": "frame-score"} if ending == "txt" else {}
            ss.write_scores(scores, where / f"{name}.{ending}", **stated)
        (where / f"{name}.json").write_text(json.dumps({utt: one.tolist() for utt, one in frames.items()}))
    for ending in ("rttm", "csv", "jsonl", "parquet"):
        ss.write_references(references, where / f"ref.{ending}")
    (where / "reco2dur").write_text("".join(f"{utt} 1.0\n" for utt in ids))
    rows = "".join(f'{utt},"S{at % 5}",{"mp3" if at % 2 else "wav"}\n' for at, utt in enumerate(ids))
    (where / "metadata.csv").write_text(f"utterance,speaker,codec\n{rows}")
    return where


def walked(folder: Path, *lines: str) -> list[list]:
    environment = {**os.environ, "PYTHONPATH": str(Path(ss.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", WALK],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_everything_but_tables_of_arrow_works(folder: Path) -> None:
    given = "--durations reco2dur --hop 0.02 --higher bonafide -m range-eer"
    evaluated = [
        *(f"eval ref.rttm a.{ending} {given}" for ending in ("npz", "txt", "json")),
        *(f"eval {ref} a.csv -m range-eer" for ref in ("ref.csv", "ref.jsonl")),
        *(f"eval ref.csv a.{ending} -m range-eer --stream" for ending in ("csv", "tsv", "jsonl")),
        f"eval ref.rttm a.txt {given} --stream",
    ]
    lines = [
        *evaluated,
        f"eval ref.rttm a.txt {given} --by codec --metadata metadata.csv --confidence 0.95 --cluster speaker",
        "check ref.csv a.csv",
        "compare ref.csv a.csv b.csv --metadata metadata.csv",
        "report ref.csv a.csv --out report.html",
        "convert a.csv out.jsonl",
        "convert ref.csv out.rttm",
        "demo",
        "demo --out demo",
        "eval demo/references.rttm demo/scores_20ms.jsonl --durations demo/reco2dur -m range-eer",
    ]
    found = walked(folder, *lines)
    wrong = [(line, one) for line, one in zip(lines, found, strict=True) if one[0]]
    assert not wrong
    values = {one[1].split("\n")[2].split()[1] for one in found[: len(evaluated)]}
    assert len(values) == 1
    assert " 5.21 " in found[-1][1]
    assert (folder / "report.html").stat().st_size > 10_000


def test_what_needs_arrow_says_how_to_get_it(folder: Path) -> None:
    lines = [
        "eval ref.parquet a.csv",
        "eval ref.csv a.parquet",
        "eval ref.csv a.arrow",
        "eval ref.csv a.csv.zst",
        "eval ref.csv s3://bucket/a.csv",
        "eval ref.csv a.parquet --stream",
        "convert a.csv out.parquet",
        "convert a.csv out.csv.zst",
        "check ref.csv a.parquet",
    ]
    for line, (code, _, err) in zip(lines, walked(folder, *lines), strict=True):
        assert code == 2, (line, err)
        assert INSTALL in err, (line, err)
        assert "Traceback" not in err
    assert not (folder / "out.parquet").exists()

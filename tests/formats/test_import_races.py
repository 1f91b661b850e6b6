"""Threads that need a package for the first time at once get it whole.

Python's own lock of a module is not enough: a thread that imports pyarrow.parquet does not wait for another one that
has begun to import pyarrow. Each then waits for what the other one holds, and Python hands out half of a module.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import spoofspan as ss

# One thread stays in the middle of importing pyarrow until the other one, inside of pyarrow.lib, waits for it.
MEETING = """
import sys, threading, time
from importlib.machinery import PathFinder

inside = threading.Event()

class Meeting:
    def find_spec(self, name, path=None, target=None):
        if name == "pyarrow.util":
            inside.set()
        if name != "pyarrow._generated_version":
            return None
        spec = PathFinder.find_spec(name, path, target)
        run = spec.loader.exec_module

        def wait(module):
            if inside.wait(1):
                time.sleep(0.3)
            run(module)

        spec.loader.exec_module = wait
        return spec

sys.meta_path.insert(0, Meeting())
"""
TWO_THREADS = """
errors = []
barrier = threading.Barrier(2)

def run(work):
    barrier.wait()
    try:
        work()
    except BaseException as error:
        errors.append(repr(error))

threads = [threading.Thread(target=run, args=(work,)) for work in (first, second)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(errors)
"""
TABLE_AND_PARQUET = """
from spoofspan.formats import arrow

def first(): arrow.Table

def second():
    while "pyarrow" not in sys.modules: time.sleep(0.001)
    arrow.parquet
"""
# what the import hook sees of modules that another thread than the main one imports
IN_THREADS = """
import sys, threading
found = []

class Watch:
    def find_spec(self, name, path=None, target=None):
        if threading.current_thread().name.startswith("spoofspan"):
            found.append(name)

sys.meta_path.insert(0, Watch())
from spoofspan.cli import main
try:
    main()
finally:
    print("imported by threads:", found, file=sys.stderr)
"""


def child(code: str, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(Path(ss.__file__).parents[1]), "PATH": "", **settings}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    rng = np.random.default_rng(0)
    ids = [f"u{number:04d}" for number in range(300)]
    references = ss.References.from_ranges(
        {utt: [(0.0, 1.0, "bonafide"), (1.0, 2.0, "spoof", "A01")] for utt in ids}, durations=dict.fromkeys(ids, 2.0)
    )
    frames = {utt: rng.standard_normal(100, dtype=np.float32) for utt in ids}
    scores = ss.Scores.from_frames(frames, hop=0.02, higher="bonafide")
    ss.write_references(references, folder / "ref.rttm")
    ss.write_scores(scores, folder / "scores.csv")
    ss.write_scores(scores, folder / "scores.parquet")
    lines = (f"{utt} {place} {-one} {one}\n" for utt, some in frames.items() for place, one in enumerate(some))
    (folder / "scores.txt").write_text("".join(lines))
    return folder


def test_two_threads_import_arrow_at_once() -> None:
    done = child(MEETING + TABLE_AND_PARQUET + TWO_THREADS)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr


@pytest.mark.parametrize("name", ["scores.csv", "scores.txt", "scores.parquet"])
def test_no_thread_of_ours_imports_anything(corpus: Path, name: str) -> None:
    """Not even what a lock would make safe: eval imports in one thread, and computes in several."""
    arguments = ["eval", str(corpus / "ref.rttm"), str(corpus / name), "--hop", "0.02", "-m", "range-eer"]
    done = child(IN_THREADS, *arguments, "--confidence", "0.95", "--replicates", "40", "--workers", "4")
    assert done.returncode == 0, done.stderr
    assert "imported by threads: []" in done.stderr

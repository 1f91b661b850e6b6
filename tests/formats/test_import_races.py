"""Threads that need a package for the first time at once get it whole.

Python's own lock of a module is not enough: a thread that imports pyarrow.parquet does not wait for another one that
has begun to import pyarrow. Each then waits for what the other one holds, and Python hands out half of a module.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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


def child(code: str, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(Path(ss.__file__).parents[1]), "PATH": "", **settings}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)


def test_two_threads_import_arrow_at_once() -> None:
    done = child(MEETING + TABLE_AND_PARQUET + TWO_THREADS)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr

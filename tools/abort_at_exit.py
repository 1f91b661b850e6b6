"""Count how often a process that has read text scores aborts at its end, on a busy machine, with two versions in turns.

    git worktree add ../before bdba38b
    python tools/abort_at_exit.py --before ../before/src --after src --counts abort.json --runs 2000

Before Arrow was handed blocks of lines, it was given open Python files; a worker that dropped the last reference to one
while the interpreter ended aborted the process (apache/arrow#34314), after the right result was printed. That is a
race, so it is counted: ``read_scores`` of a small corpus, plain, packed, piped and as CSV, and the end of the
interpreter, with processes beside it that only compute. The less is done between the two, the likelier is the abort.
Some runs at a time are forked from a process that has imported what they need, which saves most of the time. The counts
of exit codes (-6 is an abort) are kept in a file, and a second call goes on from there.
``tests/cli/test_abort_at_exit.py`` has the forced case.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path

import pyarrow as pa

UTTERANCES, FRAMES = 50, 40
PIPED, CSV = "piped", "scores.csv"
INPUTS = ("unit0.02.score", "unit0.02.score.gz", "unit0.02.score.zst", PIPED, CSV)
RUNS_AT_A_TIME = 20
# The first run says what it has imported; the others are forked after all that, but before any thread of Arrow's runs.
# A child ends as any script does.
FORKING = """
import contextlib, importlib, os, sys
import spoofspan

where, runs = sys.argv[1], int(sys.argv[2])
for run in range(runs + 1):
    child = os.fork()
    if not child:
        os.lseek(0, 0, os.SEEK_SET)
        assert len(spoofspan.read_scores(where, hop=0.02, higher="spoof")) == 50
        if not run:
            open(f"{os.getppid()}.modules", "w").write(" ".join(sys.modules))
        break
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if run:
        print(code, flush=True)
        continue
    for name in open(f"{os.getpid()}.modules").read().split():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
"""
BUSY = """
import sys, threading
def compute():
    while True:
        pass
threading.Thread(target=compute, daemon=True).start()
sys.stdin.read()  # which ends with the process that started this one
"""
Run = tuple[str, str]  # version, input


def make_corpus(folder: Path) -> None:
    """The same scores, packed in every way."""
    rows = [(f"utt{u:03}", k, (u * k % 97) / 100) for u in range(UTTERANCES) for k in range(FRAMES)]
    lines = "".join(f"{utterance} {k} {1 - score:.3f} {score:.3f}\n" for utterance, k, score in rows).encode()
    (folder / "unit0.02.score").write_bytes(lines)
    (folder / "unit0.02.score.gz").write_bytes(gzip.compress(lines))
    with pa.CompressedOutputStream(str(folder / "unit0.02.score.zst"), "zstd") as packed:
        packed.write(lines)
    table = "".join(f"{utterance},{k},{score:.3f}\n" for utterance, k, score in rows)
    (folder / CSV).write_text(f"utterance,frame,score\n{table}")


def exit_codes(folder: Path, package: Path, what: str) -> list[int]:
    """Of some runs of one version with one input."""
    where = "-" if what == PIPED else what
    with (folder / INPUTS[0]).open("rb") as piped:
        done = subprocess.run(
            [sys.executable, "-c", FORKING, where, str(RUNS_AT_A_TIME)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(package)},
            stdin=piped,
            capture_output=True,
            check=False,
        )
    codes = [int(code) for code in done.stdout.split()]
    if done.returncode or not {0, -6}.issuperset(codes):
        raise SystemExit(f"{package}, {what}: {codes}\n{done.stderr.decode()}")
    return codes


def in_turns(after_each: int) -> Iterator[Run]:
    """Every input with each version, one turn of the old for so many of the new."""
    inputs = {"before": cycle(INPUTS), "after": cycle(INPUTS)}
    for version in cycle(["before", *["after"] * after_each]):
        yield version, next(inputs[version])


def main() -> None:
    """Count until there are enough runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help="src of the version that aborts")
    parser.add_argument("--after", type=Path, required=True, help="src of the version that must not")
    parser.add_argument("--counts", type=Path, required=True, help="JSON file for the counts; goes on from there")
    parser.add_argument("--runs", type=int, default=2000, help="of the version that must not abort (default: 2000)")
    parser.add_argument("--after-each", type=int, default=4, help="turns of it for each of the other (default: 4)")
    parser.add_argument("--at-once", type=int, default=4, help="turns at the same time (default: 4)")
    parser.add_argument("--busy", type=int, default=2, help="busy processes beside (default: 2)")
    given = parser.parse_args()
    packages = {"before": given.before.resolve(), "after": given.after.resolve()}
    stored = json.loads(given.counts.read_text()) if given.counts.exists() else {}
    counts = {version: Counter(stored.get(version, {})) for version in packages}
    turns = in_turns(given.after_each)
    under_way: dict[Future[list[int]], Run] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        make_corpus(folder)
        for _ in range(given.busy):
            stack.enter_context(subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.PIPE))
        pool = stack.enter_context(ThreadPoolExecutor(given.at_once))
        while counts["after"].total() < given.runs:
            while len(under_way) < given.at_once:
                version, what = next(turns)
                under_way[pool.submit(exit_codes, folder, packages[version], what)] = version, what
            for done in wait(under_way, return_when=FIRST_COMPLETED).done:
                version, what = under_way.pop(done)
                counts[version].update(f"{what}: {code}" for code in done.result())
            given.counts.write_text(json.dumps(counts, indent=1, sort_keys=True))
    for version, count in counts.items():
        aborts = sum(times for how, times in count.items() if how.endswith(": -6"))
        print(f"{version}: {aborts} of {count.total()} runs aborted")


if __name__ == "__main__":
    main()

"""No worker of Arrow holds a Python object: one that drops the last reference while Python ends aborts the process.

That is a race after the result was printed (apache/arrow#34314), forced here: a preloaded library lets each worker
sleep after it has marked its result, and the main thread keeps the interpreter's lock until Python ends. The rate of
aborts without force is counted by tools/abort_at_exit.py.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

import spoofspan

COMPILER = shutil.which("cc")
pytestmark = [
    pytest.mark.skipif(COMPILER is None or sys.platform != "linux", reason="needs a C compiler on Linux"),
    pytest.mark.slow,
]

# A worker tells those who wait for its result while it holds a lock, and lets go of what it used when the lock is free.
DELAY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static __thread int has_marked;

int pthread_cond_broadcast(pthread_cond_t *condition) {
    int (*real)(pthread_cond_t *) = dlsym(RTLD_NEXT, "pthread_cond_broadcast");
    has_marked = syscall(SYS_gettid) != getpid();
    return real(condition);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    static int (*real)(pthread_mutex_t *);
    if (!real) real = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    int result = real(mutex);
    if (has_marked) {
        has_marked = 0;
        nanosleep(&(struct timespec){0, 400000000}, NULL);
    }
    return result;
}
"""
SETUP = """
import ctypes, resource, sys
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
sys.setswitchinterval(3)
"""
# called by way of PyDLL, usleep keeps the interpreter's lock
END = """
print("read", flush=True)
ctypes.PyDLL(None).usleep(1_200_000)
"""
SCORES = "import spoofspan; spoofspan.read_scores({where!r}, hop=0.02, higher='spoof')"
STREAM = """
import spoofspan
with spoofspan.sharded("references.csv", {where!r}, hop=0.02, higher="spoof") as corpus:
    len(corpus)
"""
METADATA = "from spoofspan.formats.text.protocol import read_metadata; read_metadata({where!r}, 'speaker')"
GIVEN_A_PYTHON_FILE = "import pyarrow.csv; list(pyarrow.csv.open_csv(open('lines.txt', 'rb')))"


def files() -> Mapping[str, bytes]:
    """The same scores, packed in every way."""
    scores = {f"utt{u}": [(u * k % 7) / 10 for k in range(30)] for u in range(40)}
    rows = [(utterance, k, score) for utterance, some in scores.items() for k, score in enumerate(some)]
    lines = "".join(f"{utterance} {k} {1 - score} {score}\n" for utterance, k, score in rows).encode()
    table = pa.table({"utterance": list(scores), "scores": list(scores.values()), "speaker": list(scores)})
    parquet, arrow = io.BytesIO(), io.BytesIO()
    pyarrow.parquet.write_table(table, parquet, row_group_size=10)
    with pyarrow.ipc.new_file(arrow, table.schema) as writer:
        writer.write_table(table, max_chunksize=10)
    return {
        "lines.txt": lines,
        "lines.txt.gz": gzip.compress(lines),
        "lines.txt.zst": pa.compress(lines, "zstd", asbytes=True),
        "scores.csv": "\n".join(["utterance,frame,score", *(f"{u},{k},{s}" for u, k, s in rows), ""]).encode(),
        "scores.parquet": parquet.getvalue(),
        "scores.parquet.gz": gzip.compress(parquet.getvalue()),
        "scores.arrow.gz": gzip.compress(arrow.getvalue()),
        "references.csv": "\n".join(
            ["utterance,start,end,label", *(f"{u},0,0.3,bonafide\n{u},0.3,0.6,spoof" for u in scores), ""]
        ).encode(),
    }


CASES = {
    "plain": SCORES.format(where="lines.txt"),
    "gzip": SCORES.format(where="lines.txt.gz"),
    "zstd": SCORES.format(where="lines.txt.zst"),
    "piped": SCORES.format(where="-"),
    "CSV": SCORES.format(where="scores.csv"),
    "packed Parquet": SCORES.format(where="scores.parquet.gz"),
    "packed Arrow": SCORES.format(where="scores.arrow.gz"),
    "streamed lines": STREAM.format(where="lines.txt.gz"),
    "streamed CSV": STREAM.format(where="scores.csv"),
    "metadata": METADATA.format(where="scores.parquet"),
}


@pytest.fixture(scope="module")
def exit_codes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, int]:
    """Of all cases, which run at the same time: they sleep for most of it."""
    folder = tmp_path_factory.mktemp("abort")
    for name, data in files().items():
        (folder / name).write_bytes(data)
    (folder / "delay.c").write_text(DELAY)
    subprocess.run([str(COMPILER), "-shared", "-fPIC", "-o", "delay.so", "delay.c", "-ldl"], cwd=folder, check=True)
    environment = {
        **os.environ,
        "LD_PRELOAD": str(folder / "delay.so"),
        "PYTHONPATH": str(Path(spoofspan.__file__).parents[1]),
        "OPENBLAS_NUM_THREADS": "1",
    }
    running = {}
    for case, body in {**CASES, "a Python file": GIVEN_A_PYTHON_FILE}.items():
        with (folder / "lines.txt").open("rb") as piped:
            running[case] = subprocess.Popen(
                [sys.executable, "-c", f"{SETUP}{body}{END}"],
                cwd=folder,
                env=environment,
                stdin=piped,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
    printed = {case: process.communicate() for case, process in running.items()}
    for out, err in printed.values():
        assert out == b"read\n", err.decode()
    return {case: process.returncode for case, process in running.items()}


def test_the_abort_is_forced_where_a_worker_holds_a_python_file(exit_codes: Mapping[str, int]) -> None:
    if exit_codes["a Python file"] == 0:
        pytest.skip("this Python, or this Arrow, does not abort")
    assert exit_codes["a Python file"] == -signal.SIGABRT


@pytest.mark.parametrize("case", CASES)
def test_reading_never_aborts_at_the_end(case: str, exit_codes: Mapping[str, int]) -> None:
    assert exit_codes[case] == 0

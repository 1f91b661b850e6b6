"""A process of its own that reads and scores submissions, so that none of them ends the scoring of the others.

A submission may make a library run out of memory, or crash, in ways that nobody has thought of. The process that reads
it may use ``MEMORY`` bytes and ``SECONDS`` of time for each submission. If it ends, or meets an error that nobody
expects, the submission is refused, the organisers are told, and the next one gets a new process::

    this process     {"path": ..., "team": ...}   ->   child: opens, checks, measures, writes the result
                     {"key": ..., "fresh": ...}   <-

Where the system has no limit of memory (Windows), the time limit remains. The child ends with this process, as its
input does.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import warnings
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Literal, cast

from spoofspan.base.errors import DataError

MEMORY = 8 << 30  # bytes, besides those of the challenge
TIMES_THE_BYTES = 4  # memory for each byte that a submission may have
SECONDS = 3600.0
PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from spoofspan.challenge.scoring_process import main; main(*sys.argv[2:])"
)
State = Literal["answered", "ended"]


class ScoringProcess:
    """The side that asks: scores submissions of one challenge and phase, one after the other."""

    def __init__(self, challenge: Path, phase: str) -> None:
        self._challenge, self._phase = challenge, phase
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> ScoringProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def score(self, path: Path, team: str) -> tuple[State, str, str]:
        """Score a submission: whether there is an answer; if not, why; and the key of the result."""
        process = self._process or self._start()
        late = threading.Timer(SECONDS, process.kill)
        late.start()
        try:
            asked = json.dumps({"path": str(path.absolute()), "team": team})
            answered = self._exchange(process, f"{asked}\n".encode())
        finally:
            late.cancel()
        if answered is None:
            code = process.wait()
            self._end()
            return "ended", f"the process that scores ended with code {code}, perhaps for want of memory or time", ""
        if answered["fresh"]:
            self._end()
        return "answered", "", answered["key"]

    def _start(self) -> subprocess.Popen[bytes]:
        paths = json.dumps([str(Path(one).absolute()) for one in sys.path])
        arguments = [paths, str(self._challenge.absolute()), self._phase, str(MEMORY)]
        # -I: neither the folder of the submissions nor an environment adds modules
        self._process = process = subprocess.Popen(  # noqa: S603 - fixed arguments, no shell
            [sys.executable, "-I", "-c", PROGRAM, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        if self._exchange(process, b"") is None:
            code = process.wait()
            self._end()
            raise DataError(f"the process that scores does not start (code {code}); is there enough memory?")
        return process

    @staticmethod
    def _exchange(process: subprocess.Popen[bytes], asked: bytes) -> dict[str, Any] | None:
        """Ask, and wait for the answer; None if the process has ended."""
        with suppress(OSError):
            cast("IO[bytes]", process.stdin).write(asked)
            cast("IO[bytes]", process.stdin).flush()
        line = cast("IO[bytes]", process.stdout).readline()
        return cast("dict[str, Any]", json.loads(line)) if line.endswith(b"\n") else None

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                with suppress(OSError):
                    cast("IO[bytes]", stream).close()
        self._process = None


# ---------------------------------------------------------------- in the child


def main(challenge: str, phase: str, memory: str) -> None:
    """Answer one line on standard output for each on standard input, until that ends."""
    from spoofspan.challenge.judging import judge_of, results_folder, score_file

    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)  # whatever a library prints is no answer
        lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=_listen, args=(lines,), daemon=True).start()
        warnings.simplefilter("ignore")
        judge = judge_of(Path(challenge), phase)
        _limit_memory(int(memory) + TIMES_THE_BYTES * judge.public.most_bytes)
        print(json.dumps({"ready": True}), file=out, flush=True)
        while True:
            asked = json.loads(lines.get())
            folder = results_folder(Path(challenge), phase, asked["team"])
            found = score_file(judge, Path(asked["path"]), asked["team"], folder)
            print(json.dumps({"key": found.key, "fresh": bool(found.reason)}), file=out, flush=True)


def _listen(lines: queue.SimpleQueue[str]) -> None:
    """Hand on what is asked; end this process when the one that asks is gone, even in the middle of its work."""
    for line in sys.stdin:
        lines.put(line)
    os._exit(1)


def _limit_memory(most: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    with suppress(ValueError, OSError):  # macOS refuses some, and a lower limit may hold already
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))  # not AS: threads reserve much that they do not use
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

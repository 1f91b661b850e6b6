"""Attack every reader and command with damaged files, for a given time.

    python tools/attack.py [--seconds 600 | --mutants 100000] [--seed 1] [--only TARGET ...] [--json FILE]

A mutant is a good file (those of the tests) that was damaged one to four times: bits flipped, bytes lost, inserted or
overwritten, cut, joined with another format's file, packed and damaged, lines and fields lost, doubled or swapped,
numbers made extreme. Models, cards, calibrations, submissions and results are damaged inside too
(`tests/attack_strangers.py`): values of JSON and TOML, members of archives, headers of tensors. A mutant escapes if
anything but a refusal that names the file, or numbers, comes of it; if it takes more than 10 s of CPU or 500 MB; or if
the process ends. What escapes is made as small as it gets and written to
`tests/attack_cases`, where a test keeps trying it.

Mutants run in a process that is started anew when one of them ends it. The same seed makes the same mutants. Ctrl-C
stops, and says how far it came.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import math
import multiprocessing
import random
import sys
import tarfile
import tempfile
import time
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "formats")]

CASES = ROOT / "tests" / "attack_cases"
BATCH = 200
NO_ARCHIVE = (zipfile.BadZipFile, lzma.LZMAError, tarfile.TarError, zlib.error, EOFError, OSError, NotImplementedError)
PATIENCE = 150.0  # seconds without a sign before a process is ended
TRIALS = 400  # to make an escape smaller


def mutant(name: str, number: int, seed: int) -> bytes:
    """The damaged first file of a target: the same for the same numbers."""
    from attack_judge import attacked
    from attack_strangers import damage_of
    from test_malformed_files import DAMAGES, TEXT_DAMAGES

    targets = attacked()
    dice = random.Random(f"{name} {number} {seed}")
    target = targets[name]
    content = next(iter(target.files.values()))
    ways = [*DAMAGES.values(), *(TEXT_DAMAGES.values() if target.is_text else ())]
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 4))):
        if not content:
            break
        if target.is_inner and dice.random() < 0.7:
            with suppress(ValueError, LookupError, TypeError, OverflowError, RecursionError, *NO_ARCHIVE):
                content = damage_of(next(iter(target.files)))(content, dice)
            continue
        if dice.random() < 0.05:  # joined with a file of another format
            other = next(iter(targets[dice.choice(list(targets))].files.values()))
            content = content[: dice.randrange(len(content) + 1)] + other[dice.randrange(len(other)) :]
            continue
        try:
            content = dice.choice(ways)(content, dice)
        except (UnicodeDecodeError, ValueError, IndexError):
            continue  # this damage needs a text, or some lines
    return content


def work(pipe: Connection) -> None:
    """Judge the mutants that are asked for; say which one begins, so that the parent knows whom to blame."""
    import resource

    from attack_judge import attacked, judge, peak_megabytes

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(ImportError):
        import torch

        torch.set_num_threads(1)
    targets = attacked()
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        while (asked := pipe.recv()) is not None:
            name, content = asked
            pipe.send((judge(targets[name], content, Path(folder)), peak_megabytes()))


class Judge:
    """A process that judges mutants; another takes its place when a mutant ends it."""

    def __init__(self) -> None:
        self._process: multiprocessing.process.BaseProcess | None = None
        self.peak: dict[str, float] = {}  # the most MB that a process took while it judged mutants of a target

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()

    def __call__(self, name: str, content: bytes) -> str | None:
        """What is wrong with what comes of a mutant, or None."""
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=work, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
        try:
            self._pipe.send((name, content))
            if self._pipe.poll(PATIENCE):
                found: str | None
                found, peak = self._pipe.recv()
                self.peak[name] = max(peak, self.peak.get(name, 0.0))
                return found
            wrong = f"no answer within {PATIENCE:g} s"
        except (EOFError, OSError):
            self._process.join()
            wrong = f"the process ended with {self._process.exitcode}"
        self._process.kill()
        self._process.join()
        self._process = None
        return wrong


def smaller(judge: Judge, name: str, content: bytes, wrong: str) -> bytes:
    """Leave out pieces of a mutant as long as the same goes wrong (delta debugging)."""
    kind = wrong[:20]
    length, trials = max(len(content) // 2, 1), 0
    while length and trials < TRIALS:
        at = 0
        while at < len(content) and trials < TRIALS:
            less = content[:at] + content[at + length :]
            trials += 1
            still = judge(name, less)
            if still is not None and still[:20] == kind:
                content = less
            else:
                at += length
        length //= 2
    return content


def targets_in_turn(names: list[str], slow: tuple[str, ...]) -> Iterator[str]:
    """All targets, in turn; those that take long only now and then."""
    turn = 0
    while True:
        for name in names:
            if name in slow or name.startswith("command-"):
                if turn % 50 == 0 or len(names) == 1:
                    yield name
            else:
                yield name
        turn += 1


def main() -> int:
    """Attack, print what escaped, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--mutants", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", metavar="TARGET")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    from attack_judge import BUILDS_A_MODEL, STARTS_A_PROCESS, attacked

    if options.seconds is None:
        options.seconds = 600.0 if options.mutants is None else math.inf
    known = list(attacked())
    if unknown := set(options.only or ()) - set(known):
        parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    tried: Counter[str] = Counter()
    escaped: dict[str, str] = {}
    begin = time.monotonic()
    with Judge() as judge, suppress(KeyboardInterrupt):
        for name in targets_in_turn(options.only or known, STARTS_A_PROCESS):
            takes_long = name.startswith("command-") or name in (*STARTS_A_PROCESS, *BUILDS_A_MODEL)
            for _ in range(BATCH // 10 if takes_long else BATCH):
                if time.monotonic() - begin > options.seconds:
                    break
                content = mutant(name, tried[name], options.seed)
                tried[name] += 1
                wrong = judge(name, content)
                if wrong is None or f"{name}: {wrong[:60]}" in escaped:
                    continue
                least = smaller(judge, name, content, wrong)
                case = CASES / f"{name}--{hashlib.sha256(least).hexdigest()[:12]}.bin"
                CASES.mkdir(exist_ok=True)
                case.write_bytes(least)
                escaped[f"{name}: {wrong[:60]}"] = case.name
                print(f"escaped: {name} {tried[name] - 1}: {wrong} ({case.name})", flush=True)
            if time.monotonic() - begin > options.seconds or (options.mutants and tried.total() >= options.mutants):
                break
    count = f"{tried.total():,} mutants of {len(tried)} targets"
    print(f"{count}, seed {options.seed}, {time.monotonic() - begin:.0f} s: {len(escaped)} escaped")
    largest = max(judge.peak, key=judge.peak.__getitem__)
    print(
        f"peak memory {judge.peak[largest]:,.0f} MB ({largest}), of which the libraries take "
        f"{min(judge.peak.values()):,.0f} MB"
    )
    if options.json:
        options.json.write_text(
            json.dumps({"seed": options.seed, "tried": tried, "escaped": escaped, "peak_mb": judge.peak}, indent=1)
        )
    return 1 if escaped else 0


if __name__ == "__main__":
    sys.exit(main())

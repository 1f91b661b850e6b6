"""Kill commands that write, at random moments, and see what they leave behind.

Each moment is a real ``kill -9`` of a real command. Half of the moments lie anywhere in the command's time, the other
half in the time in which it writes. After each kill: every file that is there is whole, an old file is still there, no
process of the command lives on. Then the same command is repeated: it must end with the same bytes as one that was
never killed, and leave nothing else, neither in its folder nor in TMPDIR. A command that ends before its moment does
not count, and gets another.

    python tools/kill.py                              100 moments of eval, convert, report, corpus, challenge each
    python tools/kill.py --moments 20 train experiment

It needs Linux (it looks for processes in /proc). Training and experiment need the extra ``cm``, and run with one
thread, since the bits of a sum depend on the number of threads.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from spoofspan.base.locks import LOCK, PARTS

PROGRAM = [sys.executable, "-c", "from spoofspan.cli import main; main()"]
MARK = "SPOOFSPAN_KILLED"  # in the environment of every process of a command
OLD = b"an old file\n"
SMALL, MIXED = "train=2,dev=2,eval=2", "train=8,dev=6,eval=12"  # with both classes in every set
TINY = """
    front_end.width=16 front_end.layers=1 front_end.maps=2 network.blocks=1 network.branches=["20ms","utterance"]
    training.epochs=2 training.save_every=1
"""
CHANGING = ("*.safetensors", "*/metrics.jsonl", "metrics.jsonl", "experiment.json")  # written several times


@dataclass(frozen=True)
class Command:
    """A command that writes into the folder OUT, in one way or several; IN has what it reads."""

    name: str
    ways: tuple[str, ...]
    targets: tuple[str, ...] = ()  # files that it replaces
    needs: tuple[str, ...] = ()  # commands that make what it reads
    begins_with: str = ""  # a folder of IN that is in OUT before it begins


def commands() -> dict[str, Command]:
    """All commands that can be killed here."""
    read = "IN/demo/references.rttm IN/demo/scores_20ms.parquet --durations IN/demo/reco2dur --force"
    measure = f"eval {read} --format json --out OUT/out.json --per-utterance OUT/errors.csv"
    tiny = " ".join(f"--change {one}" for one in TINY.split())
    data = "--train partialspoof:IN/corpus:train --dev partialspoof:IN/corpus:dev"
    convert = "convert IN/demo/unit0.02.score OUT/scores"
    demo, corpus = "demo --out IN/demo", f"corpus build IN/corpus --utterances-per-set {SMALL} -j 1"
    organise = "challenge build IN/demo/references.rttm --durations IN/demo/reco2dur --out"
    listed = [
        Command("eval", (measure, f"{measure} --stream", f"{measure} --jobs 2"), ("out.json", "errors.csv"), (demo,)),
        Command(
            "convert",
            tuple(f"{convert}.{ending} --force" for ending in ("parquet", "csv.gz", "jsonl.zst")),
            ("scores.parquet", "scores.csv.gz", "scores.jsonl.zst"),
            (demo,),
        ),
        Command("report", (f"report {read} --out OUT/page.html",), ("page.html",), (demo,)),
        Command("organise", (f"{organise} OUT/challenge",), needs=(demo,)),
        Command(
            "challenge",
            ("challenge score OUT/challenge IN/submissions",),
            needs=(
                demo,
                f"{organise} IN/challenge",
                *(f"convert IN/demo/scores_20ms.parquet IN/submissions/team{n}.parquet" for n in (1, 2)),
            ),
            begins_with="challenge",
        ),
        Command(
            "corpus",
            tuple(f"corpus build OUT/corpus --utterances-per-set eval=2 --official-labels -j {n}" for n in (1, 2)),
        ),
        Command("train", (f"cm train --preset small-cpu {tiny} {data} --out OUT/model --resume",), needs=(corpus,)),
        Command(
            "experiment",
            (f"experiment OUT/all {tiny} --utterances-per-set {MIXED} --systems multi,joint-detector -j 1",),
        ),
    ]
    return {one.name: one for one in listed}


@dataclass
class Found:
    """What came of the kills of one command."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


class Place:
    """The folders of one attack."""

    def __init__(self, root: Path) -> None:
        self.inputs, self.out, self.temporary = root / "in", root / "out", root / "tmp"
        for folder in (self.inputs / "submissions", self.out, self.temporary):
            folder.mkdir(parents=True)
        self.mark = uuid.uuid4().hex

    def start(self, way: str) -> subprocess.Popen[bytes]:
        """Start a command."""
        words = way.replace("IN/", f"{self.inputs}/").replace("OUT/", f"{self.out}/").split()
        alone = {"OMP_NUM_THREADS": "1", "TMPDIR": str(self.temporary), MARK: self.mark}
        said = (self.inputs.parent / "stderr").open("wb")
        with said:
            return subprocess.Popen([*PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=said, env=os.environ | alone)

    def run(self, way: str) -> None:
        """Run a command to its end."""
        if self.start(way).wait():
            raise SystemExit(f"{way}\n{self.said()}")

    def said(self) -> str:
        """What the last command said on stderr."""
        return (self.inputs.parent / "stderr").read_text(errors="replace")[-2000:]

    def clear(self, command: Command, old: tuple[str, ...] = ()) -> None:
        """Make OUT empty, but for what a command begins with and old files."""
        for folder in (self.out, self.temporary):
            shutil.rmtree(folder)
            folder.mkdir()
        if command.begins_with:
            shutil.copytree(self.inputs / command.begins_with, self.out / command.begins_with)
        for name in old:
            (self.out / name).write_bytes(OLD)


def living(mark: str) -> list[str]:
    """The processes that are alive of a command that got this mark."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:200])
        except OSError:  # it ended, or is someone else's
            continue
    return found


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder but locks and parts; times that were taken are left out."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or is_trace(path):
            continue
        found[name] = path.read_bytes()
        if path.name in ("metrics.jsonl", "experiment.json", "ledger.jsonl"):
            text = found[name].decode()
            if path.name == "ledger.jsonl":  # a last line without an end never counted: the next one takes its place
                text = text[: text.rfind("\n") + 1]
            lines = text.splitlines() if path.suffix == ".jsonl" else [text]
            # a hash of the line before has its time in it
            taken = dict.fromkeys(("seconds", "time", "received", "previous"))
            plain = [{**json.loads(line), **taken} for line in lines]
            found[name] = "".join(json.dumps(one) + "\n" for one in plain).encode()
    return found


def is_trace(path: Path) -> bool:
    """Whether this is there only while something is written."""
    in_work = any(one.name.endswith(".building") for one in path.parents)  # a folder that takes its place when whole
    return in_work or path.name in (LOCK, ".ledger.lock") or fnmatch.fnmatch(path.name, PARTS)


def traces(folder: Path) -> list[str]:
    """What is there only while something is written, and folders for work."""
    return [str(path.relative_to(folder)) for path in folder.rglob(".*") if is_trace(path) or path.is_dir()]


def damaged(found: dict[str, bytes], whole: dict[str, bytes], old: tuple[str, ...]) -> Iterator[str]:
    """What is neither as before nor as it shall be; what cannot be read raises."""
    yield from (f"{name} was lost" for name in old if name not in found)
    for name, content in found.items():
        if "/.work/" in name:  # notes of a build
            for text in content.decode().splitlines() if name.endswith(".jsonl") else [content.decode()]:
                json.loads(text)
        elif any(fnmatch.fnmatch(name, one) for one in CHANGING):
            if name.endswith(".safetensors"):
                from safetensors.torch import load

                load(content)
        elif name not in whole:
            yield f"{name} should not be there"
        elif Path(name).name == "ledger.jsonl" and whole[name].startswith(content):
            continue  # it grows by whole lines, and the command is killed between two of them
        elif content not in (whole[name], OLD if name in old else whole[name]):
            yield f"{name} is half: {len(content)} of {len(whole[name])} bytes"


def wait_for(moment: float, process: subprocess.Popen[bytes]) -> None:
    while time.perf_counter() < moment and process.poll() is None:
        time.sleep(min(0.001, max(0.0, moment - time.perf_counter())))


def attack(command: Command, moments: int, seed: int, root: Path, show: bool = False) -> Found:
    """Kill a command so many times."""
    rng, place, found = random.Random(f"{seed} {command.name}"), Place(root), Found()
    for need in command.needs:
        place.run(need)
    whole: dict[str, dict[str, bytes]] = {}
    lasted, wrote = {}, {}
    for way in command.ways:
        place.clear(command)
        began, first = time.perf_counter(), None
        process = place.start(way)
        while process.poll() is None:
            if first is None and any(place.out.iterdir()):
                first = time.perf_counter()
            time.sleep(0.0002)
        if process.returncode:
            raise SystemExit(f"{way}\n{place.said()}")
        ended = time.perf_counter()
        # what ends is not written any more: a file that is small takes a millisecond
        lasted[way], wrote[way] = ended - began, max(0.002, ended - (first or ended)) if not command.targets else 0.005
        whole[way] = contents(place.out)
        if left := traces(place.out):
            found.problems.append(f"{way}: left {left}")
    number = 0
    while found.counts["kills"] < moments and number < 5 * moments:
        number += 1
        way = command.ways[number % len(command.ways)]
        old = tuple(name for name in command.targets if name in whole[way]) if rng.random() < 0.5 else ()
        place.clear(command, old)
        began = time.perf_counter()
        process = place.start(way)
        if number % 2:
            wait_for(began + rng.uniform(0, lasted[way]), process)
        else:
            while process.poll() is None and not any(one.name not in old for one in place.out.iterdir()):
                time.sleep(0.0002)
            wait_for(time.perf_counter() + rng.uniform(0, wrote[way]), process)
        process.kill()
        if process.wait() != -9:
            found.counts["ended before its moment"] += 1
            lasted[way] = min(lasted[way], time.perf_counter() - began)  # the first was slower
            wrote[way] = min(wrote[way], lasted[way])
            continue
        found.counts["kills"] += 1
        found.counts["kills while writing"] += bool(traces(place.out))
        found.counts["kills with files in TMPDIR"] += any(place.temporary.iterdir())
        problems = judge(place, way, whole[way], old)
        found.problems += [f"kill {found.counts['kills']} of {way}: {one}" for one in problems]
        if show:
            print(f"\r{command.name}: {found.counts['kills']} of {moments}, {len(found.problems)} problems", end="")
    if show:
        print()
    return found


def judge(place: Place, way: str, whole: dict[str, bytes], old: tuple[str, ...]) -> list[str]:
    """What is wrong after a kill, and after the same command again."""
    problems = []
    deadline = time.monotonic() + 5
    while (alive := living(place.mark)) and time.monotonic() < deadline:
        time.sleep(0.01)
    problems += [f"lives on: {one}" for one in alive]
    try:
        problems += damaged(contents(place.out), whole, old)
    except Exception as error:  # of any reader: the file is half
        problems.append(f"cannot be read: {error!r}")
    if place.start(way).wait() and contents(place.out) != whole:  # it may refuse to make again what is there
        return [*problems, f"cannot be repeated: {place.said()}"]
    again = contents(place.out)
    problems += [f"{name} has other bytes" for name in whole if again.get(name) != whole[name]]
    problems += [f"left behind: {name}" for name in [*traces(place.out), *(again.keys() - whole.keys())]]
    # torch keeps folders there, killed or not
    problems += [f"left behind in TMPDIR: {path.name}" for path in place.temporary.glob("spoofspan-*")]
    return problems


def main() -> None:
    """Kill the commands that are named, and print what came of it."""
    known = commands()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help=", ".join(known))
    parser.add_argument("--moments", type=int, default=100, help="kills of each command (100)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    failed = False
    for name in given.commands or ("eval", "convert", "report", "corpus", "organise", "challenge"):
        if name not in known:
            parser.error(f"no command {name!r}: {', '.join(known)}")
        with tempfile.TemporaryDirectory() as folder:
            found = attack(known[name], given.moments, given.seed, Path(folder), show=True)
        print(json.dumps({"command": name, **found.counts, "problems": len(found.problems)}), flush=True)
        print(*found.problems, sep="\n", end="\n" if found.problems else "", flush=True)
        failed |= bool(found.problems)
    sys.exit(failed)


if __name__ == "__main__":
    main()

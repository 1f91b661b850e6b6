"""Measure what files cost, end to end through the command line, as ratios within one run.

    python benchmarks/files.py [--scale S] [--only NAME ...] [--json FILE] [--readme] [--keep DIR]

Every command runs in a process of its own, started by a small launcher that reports its wall time, its CPU time (user
and system) and its peak of resident memory; of several repetitions the least counts. The files were just written, so
they come from the page cache. Each number that a command prints is compared with the one from memory.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import run
from corpus import Corpus, generate
from numpy.typing import NDArray
from run import HERE, Figure

RESULTS = ("<!-- files: begin -->", "<!-- files: end -->")
FULL_FRAMES = 12_460_000  # of the corpus at scale 1
SMALL = 1e-4  # scale of a corpus whose `eval` is start-up and nothing else
FEW, TIMES = 10_000_000, 10  # memory: from so many frames to so many times as many
BYTES_PER_FRAME = 45  # room for one line of scores, and for its share of the references
BLOCK = 1 << 19  # lines made at a time
VALUES_PER_GROUP = 1 << 20  # of a Parquet file, as the package writes it
TOLERANCE = 1e-3  # of an EER from files with five decimals and whole milliseconds
COMMAND = str(Path(sysconfig.get_path("scripts")) / "spoofspan")
BASELINE = (sys.executable, str(HERE / "baseline_reader.py"))
PEAK_UNIT = 1 if sys.platform == "darwin" else 1024
# What has to be parsed in any case: the ids and one column of scores, by one thread.
ARROW = """
import sys
from pyarrow import binary, csv, float64
csv.read_csv(
    sys.argv[1],
    csv.ReadOptions(use_threads=False, column_names=list("0123")),
    csv.ParseOptions(delimiter=" ", quote_char=False),
    csv.ConvertOptions(column_types={"0": binary(), "3": float64()}, include_columns=["0", "3"]),
)
"""
# The peak of a child counts that of the process it was split from, so that must be a small one.
LAUNCHER = """
import json, os, sys, time
start = time.perf_counter()
status, usage = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)[1:]
wall = time.perf_counter() - start
print("\\n" + json.dumps([os.waitstatus_to_exitcode(status), wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss]))
"""


# --- Commands ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """What a command needed at least: seconds, and the unit of `ru_maxrss`."""

    wall: float
    cpu: float
    peak: float
    printed: str = ""

    def least(self, other: Cost) -> Cost:
        return Cost(min(self.wall, other.wall), min(self.cpu, other.cpu), min(self.peak, other.peak), self.printed)


def cost(command: Iterable[str]) -> Cost:
    """Run a command once; modules may be kept compiled, as those of an installed package are."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    launched = [sys.executable, "-I", "-S", "-c", LAUNCHER, *command]
    done = subprocess.run(launched, capture_output=True, text=True, encoding="utf-8", env=environment)
    printed, _, last = done.stdout.rstrip("\n").rpartition("\n")
    code, wall, cpu, peak = json.loads(last) if last.startswith("[") else (done.returncode or 1, 0, 0, 0)
    if code:
        lines = [line.strip(" │╭╰╮╯─") for line in done.stderr.splitlines()]
        told = [line for line in lines if line and not line.lower().startswith(("usage", "try "))]
        raise RuntimeError(f"exit code {code}: {told[-1] if told else 'no message'}")
    return Cost(wall, cpu, peak, printed)


def race(repetitions: int, **commands: Iterable[str]) -> dict[str, Cost]:
    """The least cost of each command; they take turns."""
    best = {name: cost(command) for name, command in commands.items()}
    for _ in range(repetitions - 1):
        for name, command in commands.items():
            best[name] = best[name].least(cost(command))
    return best


def range_eer(found: Cost) -> float:
    """The range EER that `eval --format json` printed."""
    by_measure = {one["measure"]: one["value"] for one in json.loads(found.printed)["measurements"]}
    return float(by_measure["range-eer"])


# --- Files ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """References and scores in files, and what else `eval` must be told."""

    references: Path
    scores: Path
    durations: Path | None = None

    def eval(self, *options: str) -> list[str]:
        told = [] if self.durations is None else ["--durations", str(self.durations)]
        return [COMMAND, "eval", str(self.references), str(self.scores), *told, "--format", "json", *options]

    def remove(self) -> None:
        for path in (self.references, self.scores, self.durations):
            if path is not None:
                path.unlink()


def repeated(corpus: Corpus, times: int) -> Iterator[Corpus]:
    """The corpus so many times, the utterances counted on."""
    for first in range(0, times * len(corpus.utterances), len(corpus.utterances)):
        ids = [f"CON_E_{first + i:07d}" for i in range(len(corpus.utterances))]
        yield replace(corpus, utterances=ids, score_utterances=ids)


def write_text(folder: Path, corpora: Iterable[Corpus]) -> Pair:
    """`unit0.02.score`, RTTM with three decimals, and reco2dur."""
    pair = Pair(folder / "ref.rttm", folder / "unit0.02.score", folder / "reco2dur")
    with ExitStack() as stack:
        rttm, scores, durations = (
            stack.enter_context(path.open("wb")) for path in (pair.references, pair.scores, folder / "reco2dur")
        )
        for corpus in corpora:
            scores.writelines(score_lines(corpus))
            rttm.write("".join(rttm_lines(corpus)).encode())
            seconds = zip(corpus.utterances, (corpus.durations / 1e9).tolist(), strict=True)
            durations.write("".join(f"{utterance} {duration:.7f}\n" for utterance, duration in seconds).encode())
    return pair


def rttm_lines(corpus: Corpus) -> Iterator[str]:
    rows = np.repeat(np.arange(len(corpus.utterances)), np.diff(corpus.offsets)).tolist()
    starts, lengths = (corpus.starts / 1e9).tolist(), ((corpus.ends - corpus.starts) / 1e9).tolist()
    for row, start, length, is_spoof in zip(rows, starts, lengths, corpus.is_spoof.tolist(), strict=True):
        label = "spoof" if is_spoof else "bonafide"
        yield f"SPEAKER {corpus.utterances[row]} 1 {start:7.3f} {length:7.3f} <NA> <NA> {label} <NA> <NA>\n"


def score_lines(corpus: Corpus) -> Iterator[memoryview]:
    """`<utt> <frame> <bona fide %.5f> <spoof %.5f>`, the lines of a block as one matrix of bytes.

    Cells that a line does not need (leading zeros of a frame, the sign of a positive score) are left out at the end.
    """
    counts = np.diff(corpus.score_offsets)
    ids = np.array(corpus.score_utterances, "S").view(np.uint8).reshape(len(counts), -1)
    for lo in range(0, len(corpus.values), BLOCK):
        rows = np.arange(lo, min(lo + BLOCK, len(corpus.values)))
        utterance = np.searchsorted(corpus.score_offsets, rows, side="right") - 1
        frame = digits(rows - corpus.score_offsets[utterance], 5)
        value = corpus.values[rows]
        bona_fide, spoof = five_decimals(value), five_decimals(-value)
        gap = np.full((len(rows), 1), ord(" "), np.uint8)
        line = np.hstack([ids[utterance], gap, frame, gap, bona_fide, gap, spoof, np.full_like(gap, ord("\n"))])
        keep = np.ones(line.shape, bool)
        at = ids.shape[1] + 1
        keep[:, at : at + 4] = np.maximum.accumulate(frame[:, :4] > ord("0"), axis=1)
        at += 6
        keep[:, at], keep[:, at + 9] = value < 0, value > 0
        yield line[keep].data


def five_decimals(values: NDArray[np.float32]) -> NDArray[np.uint8]:
    """A sign, a digit, a point and five digits."""
    found = digits(np.rint(np.abs(values.astype(np.float64)) * 1e5).astype(np.int64), 6)
    if len(values) and np.abs(values).max() >= 9.99999:
        raise ValueError("a score has two digits before the point")
    fixed = np.broadcast_to(np.frombuffer(b"-.", np.uint8), (len(values), 2))
    return np.hstack([fixed[:, :1], found[:, :1], fixed[:, 1:], found[:, 1:]])


def digits(numbers: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    powers = 10 ** np.arange(width - 1, -1, -1)
    return (numbers[:, None] // powers % 10 + ord("0")).astype(np.uint8)


def write_parquet(folder: Path, corpora: Iterable[Corpus], long: bool = False) -> Pair:
    """Both sides as the package writes them, piece by piece; ``long``: a row per frame."""
    import pyarrow.parquet as pq

    import spoofspan as ss
    from spoofspan.formats.tables.arrow_tables import plain_texts
    from spoofspan.formats.tables.dataframes import to_arrow

    pair = Pair(folder / "references.parquet", folder / "scores.parquet")
    with ExitStack() as stack:
        writers: dict[Path, Any] = {}
        for corpus in corpora:
            scores = plain_texts(to_arrow(corpus.scores(ss), long=long))
            references = plain_texts(to_arrow(corpus.references(ss)))
            per_group = max(1, VALUES_PER_GROUP * len(scores) // len(corpus.values))
            tables = {pair.references: (references, VALUES_PER_GROUP), pair.scores: (scores, per_group)}
            for path, (table, rows) in tables.items():
                if path not in writers:
                    texts = [name for name in ("utterance", "label", "attack") if name in table.column_names]
                    writer = pq.ParquetWriter(path, table.schema, compression="zstd", use_dictionary=texts)
                    writers[path] = stack.enter_context(writer)
                writers[path].write_table(table, row_group_size=rows)
    return pair


# --- Figures ----------------------------------------------------------------------------------------------


@dataclass
class Setting:
    """What all figures share."""

    scale: float
    repetitions: int
    root: Path
    keep: bool

    @cached_property
    def corpus(self) -> Corpus:
        return generate(self.scale)

    @cached_property
    def eer(self) -> float:
        return float(run.range_eer(self.corpus).value)

    def folder(self, name: str) -> Path:
        made = self.root / name
        made.mkdir(parents=True, exist_ok=True)
        return made

    def check(self, found: Cost, expected: float) -> None:
        """Refuse to time a wrong number."""
        value = range_eer(found)
        if abs(value - expected) > TOLERANCE:
            raise RuntimeError(f"the range EER from files is {value:.6f}, from memory {expected:.6f}")


def text(setting: Setting) -> Iterator[Figure]:
    """CPU time of `eval` from text against a Python loop that only reads the scores."""
    pair = write_text(setting.folder("text"), [setting.corpus])
    best = race(
        min(3, setting.repetitions),
        baseline=[*BASELINE, str(pair.scores)],
        arrow=[sys.executable, "-c", ARROW, str(pair.scores)],
        range=pair.eval("-m", "range-eer"),
        default=pair.eval(),
    )
    for name, measures, bound in (("range", "range EER", 2.3), ("default", "default measures", 2.5)):
        setting.check(best[name], setting.eer)
        yield Figure(
            f"eval from text, {measures}: CPU time",
            best[name].cpu / best["baseline"].cpu,
            "Python loop over the lines",
            1 / 6,
        )
        yield Figure(
            f"eval from text, {measures}: CPU time",
            best[name].cpu / best["arrow"].cpu,
            "Arrow's parse of ids and scores",
            bound,
            note=f"{best[name].peak * PEAK_UNIT / 1e6:.0f} MB at peak",
        )
    yield Figure("eval from text, range EER: peak of memory", best["range"].peak * PEAK_UNIT / 1e6, "MB", 250)


def parquet(setting: Setting) -> Iterator[Figure]:
    """CPU time of `eval` from Parquet, less that of `--help` or of a small corpus, against `np.sum` of the inputs."""
    pairs = {
        "a list per utterance": write_parquet(setting.folder("lists"), [setting.corpus]),
        "a row per frame": write_parquet(setting.folder("rows"), [setting.corpus], long=True),
    }
    read = run.race(setting.repetitions, read=(run.read_once, setting.corpus))["read"]
    commands = {name: pair.eval("-m", "range-eer") for name, pair in pairs.items()}
    small = write_parquet(setting.folder("small"), [generate(SMALL)]).eval("-m", "range-eer")
    best = race(setting.repetitions, help=[COMMAND, "--help"], small=small, **commands)
    for name, bound in zip(pairs, (250, None), strict=True):
        setting.check(best[name], setting.eer)
        for start_up, of, at_most in (("help", "--help", bound), ("small", "a small eval", None)):
            title = f"eval from Parquet, {name}: time less that of {of}"
            yield Figure(title, (best[name].cpu - best[start_up].cpu) / read, "np.sum of the inputs", at_most)


def start(setting: Setting) -> Iterator[Figure]:
    """CPU time of `spoofspan --help` and `spoofspan explain`."""
    numpy = [sys.executable, "-c", "import numpy"]
    explain = [COMMAND, "explain", "range-eer"]
    best = race(2 * setting.repetitions, help=[COMMAND, "--help"], explain=explain, numpy=numpy)
    for name, bound in (("--help", 1.8), ("explain", 2.2)):
        ratio = best[name.lstrip("-")].cpu / best["numpy"].cpu
        yield Figure(f"spoofspan {name}: time", ratio, 'python -c "import numpy"', bound)


def memory(setting: Setting) -> Iterator[Figure]:
    """Peak of resident memory of a streaming `eval`, ten times the frames against the frames."""
    frames = round(FEW * setting.scale)
    corpus = generate(frames / FULL_FRAMES)
    expected = float(run.range_eer(corpus).value)
    for name, write in (("text", write_text), ("Parquet", write_parquet)):
        yield _growth(setting, name, write, corpus, expected)


def _growth(
    setting: Setting, name: str, write: Callable[[Path, Iterable[Corpus]], Pair], corpus: Corpus, expected: float
) -> Figure:
    title, against = f"eval --stream from {name}: peak of memory, {TIMES} x the frames", "the frames once"
    try:
        peaks = []
        for times in (1, TIMES):
            folder = setting.folder(f"{name.lower()}-{times}")
            _check_room(folder, times * len(corpus.values))
            pair = write(folder, repeated(corpus, times))
            found = cost(pair.eval("-m", "range-eer", "--stream"))
            setting.check(found, expected)
            peaks.append(found.peak)
            if not setting.keep:
                pair.remove()
    except (RuntimeError, OSError) as error:
        return Figure(title, None, against, 1.2, note=f"failed: {error}")
    sizes = " to ".join(f"{peak * PEAK_UNIT / 1e6:.0f}" for peak in peaks)
    return Figure(title, peaks[1] / peaks[0], against, 1.2, note=f"{sizes} MB, {TIMES * len(corpus.values):,} frames")


def _check_room(folder: Path, frames: int) -> None:
    needed, free = frames * BYTES_PER_FRAME, shutil.disk_usage(folder).free
    if free < needed:
        raise RuntimeError(f"{needed / 1e9:.1f} GB are needed and {free / 1e9:.1f} GB are free; give another --keep")


FIGURES: dict[str, Callable[[Setting], Iterator[Figure]]] = {
    "text": text,
    "parquet": parquet,
    "start": start,
    "memory": memory,
}


def main() -> int:
    parser = run.options(__doc__.splitlines()[0], FIGURES)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the files there and keep them")
    arguments = parser.parse_args()
    if not hasattr(os, "wait4"):
        sys.exit("CPU time and memory of a child are measured with os.wait4, which this system does not have")
    with tempfile.TemporaryDirectory() as temporary:
        root = arguments.keep or Path(temporary)
        setting = Setting(arguments.scale, arguments.repetitions, root, keep=arguments.keep is not None)
        return run.run(arguments, FIGURES, setting, RESULTS)


if __name__ == "__main__":
    sys.exit(main())

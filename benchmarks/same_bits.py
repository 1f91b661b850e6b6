"""Show that every way to a number has the same bits: memory, shards, processes, a cluster, a training loop.

    python benchmarks/same_bits.py [--corpora 200] [--only WAY ...] [--full]

Random corpora with random rules (those of the tests) go every way; value, threshold, neighbours, what rules touched and
the signature must be equal to those of memory, and what memory refuses must be refused. `--full` does the same with one
corpus of the size of the PartialSpoof evaluation set. Needs the extras `dask` and `torch`. No figure of speed comes of
it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

import corpus as full_size  # noqa: E402
from outcomes import build  # noqa: E402
from random_corpora import random_case  # noqa: E402

import spoofspan as ss  # noqa: E402
from spoofspan.formats.tables import parquet  # noqa: E402
from spoofspan.formats.tables.dataframes import to_arrow  # noqa: E402

PARTITIONINGS = ("one file", "several files", "shuffled rows")


@dataclass(frozen=True)
class Case:
    """A corpus with its rules, and what memory makes of it."""

    seed: int
    references: ss.References
    scores: ss.Scores
    measure: str
    arguments: dict[str, Any]
    expected: Any


def outcome(measure: Callable[[], Any]) -> Any:
    """All numbers and signatures, or the exit code of a refusal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return json.dumps(measure().to_dict(), sort_keys=True)
        except ss.SpoofspanError as error:
            return error.exit_code


def random_cases(wanted: int, plain: bool = False) -> Iterator[Case]:
    """So many corpora that have a number, and those between them that have none; ``plain``: as a training loop can."""
    found = seed = 0
    while found < wanted:
        seed += 1
        rng = random.Random(500_000 + seed)
        drawn = random_case(rng)
        if plain:
            if drawn.values is None or set(drawn.references) != set(drawn.scores):
                continue
            hop = drawn.hop if isinstance(drawn.hop, float) else min(drawn.hop.values())
            rule = drawn.eer_rule if drawn.eer_rule == "interpolated" else "nearest"
            drawn = replace(drawn, hop=hop, start=0.0, window=None, eer_rule=rule)
        try:
            references, scores = build(drawn)
        except ss.SpoofspanError:
            continue
        arguments = {"eer_rule": drawn.eer_rule, **drawn.rules}
        measure = "range-eer"
        if seed % 2:
            points = dict(drawn.point_rules)
            measure = str(ss.Measure("point-eer", points.pop("resolution")))
            arguments |= points
        expected = outcome(partial(ss.evaluate, references, scores, [measure], **arguments))
        if plain and isinstance(expected, int):
            continue
        found += isinstance(expected, str)
        yield Case(seed, references, scores, measure, arguments, expected)


def full_case() -> Case:
    made = full_size.generate(1.0)
    references, scores = made.references(ss), made.scores(ss)
    expected = outcome(partial(ss.evaluate, references, scores, ["range-eer"]))
    return Case(0, references, scores, "range-eer", {}, expected)


def written(case: Case, folder: Path, kind: str = "one file") -> tuple[Any, Any]:
    """The corpus in Parquet files, cut in one of three ways."""
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    sides = {"r": case.references, "s": case.scores}
    if kind == "shuffled rows":
        rng = np.random.default_rng(case.seed)
        for side, one in sides.items():
            table = to_arrow(one)
            rows = rng.permutation(table.num_rows)
            pq.write_table(table.take(rows), folder / f"{side}.parquet", row_group_size=max(20, table.num_rows // 8))
        return folder / "r.parquet", folder / "s.parquet"
    for side, one in sides.items():
        write = parquet.write_references if side == "r" else parquet.write_scores
        count = 1 if kind == "one file" else min(len(one), 2 if side == "r" else 3)
        for i in range(count):
            few = one.take(np.arange(i, len(one), count)) if count > 1 else one
            (folder / f"{side}{i}.parquet").write_bytes(b"".join(write(few)))
    return sorted(folder.glob("r*.parquet")), sorted(folder.glob("s*.parquet"))


# --- The ways ---------------------------------------------------------------------------------------------


def streamed(cases: list[Case], folder: Path, jobs: int | None = None) -> dict[str, int]:
    def evaluate(case: Case, files: Any) -> Any:
        with ss.sharded(*files, shards=3 if case.seed else None, jobs=jobs) as shards:
            return ss.evaluate_shards(shards, [case.measure], **case.arguments)

    way = "streamed" if jobs is None else f"--jobs {jobs}"
    for number, case in enumerate(cases):
        files = written(case, folder / str(number))
        check(case, outcome(partial(evaluate, case, files)), way)
    return {way: numbers(cases)}


def in_processes(cases: list[Case], folder: Path) -> dict[str, int]:
    """Two processes for all corpora: starting them again and again would take most of the time."""
    from spoofspan.base.pool import Pool
    from spoofspan.scale import sharding

    pool = Pool(2)

    @contextmanager
    def the_same(*_: Any) -> Iterator[Any]:
        yield pool

    usual, sharding.open_pool = sharding.open_pool, the_same
    try:
        return streamed(cases, folder, jobs=2)
    finally:
        sharding.open_pool = usual
        pool.close()


def on_dask(cases: list[Case], folder: Path) -> dict[str, int]:
    """Every corpus with 1, 2 and 4 workers, in another partitioning each time."""
    from dask.distributed import Client, LocalCluster

    from spoofspan.integrations import dask

    done = {}
    for turn, workers in enumerate((1, 2, 4)):
        with (
            LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
            Client(cluster) as client,
        ):
            for number, case in enumerate(cases):
                kind = PARTITIONINGS[(number + turn) % 3]
                files = written(case, folder / f"{workers}-{number}", kind)
                shards = 2 if case.seed else None
                evaluate = partial(dask.evaluate, *files, [case.measure], client=client, partitions=shards)
                found = outcome(partial(evaluate, **case.arguments))
                check(case, found, f"Dask, {workers} workers, {kind}")
        done[f"Dask, {workers} workers"] = numbers(cases)
    return done


def in_torch(cases: list[Case], folder: Path, wanted: int) -> dict[str, int]:
    """Two processes of a training loop, each with half of the utterances, on corpora that a loop can have."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{one.getsockname()[1]}"
    call = [sys.executable, __file__, "--rank"]
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    running = [
        subprocess.Popen([*call, str(rank), address, str(wanted)], stdout=subprocess.PIPE, text=True, env=environment)
        for rank in range(2)
    ]
    said = [process.communicate()[0] for process in running]
    if any(process.returncode for process in running) or said[0] != said[1]:
        raise AssertionError("torch: a process failed, or both found different numbers")
    return {"torch, 2 processes": json.loads(said[0])["measured"]}


def torch_rank(rank: int, address: str, wanted: int) -> None:
    import torch

    from spoofspan.integrations.torch import PointEER, RangeEER

    torch.distributed.init_process_group("gloo", init_method=address, world_size=2, rank=rank)
    cases = [full_case()] if not wanted else random_cases(wanted, plain=True)
    measured = 0
    for case in cases:
        if case.arguments.get("pooling", "min") != "min":  # the metric refuses it
            continue
        how: dict[str, Any] = {"higher": case.scores.higher, "exact": True, "dtype": case.scores.values.dtype.name}
        measure, hop = ss.Measure.parse(case.measure), float(case.scores.hops[0])
        metric = (
            RangeEER(hop, **how, **case.arguments)
            if measure.resolution is None
            else PointEER(measure.resolution, hop, **how, **case.arguments)
        )
        where = {utt: i for i, utt in enumerate(case.scores.utterances)}
        mine = np.arange(rank, len(case.references), 2)
        for first in range(0, mine.size, 256):
            few = case.references.take(mine[first : first + 256])
            rows = [where[utt] for utt in few.utterances]
            counts = np.diff(case.scores.offsets)[rows]
            batch = np.zeros((len(rows), max(int(counts.max()), 1)), case.scores.values.dtype)
            for line, row, count in zip(batch, rows, counts, strict=True):
                begin = case.scores.offsets[row]
                line[:count] = case.scores.values[begin : begin + count]
            metric.update(torch.from_numpy(batch), few, counts.tolist())
        # as compute() does: gather the states of all processes, read them off, let go
        with metric.sync_context():
            found = metric.eer_state().equal_error_rate(case.arguments.get("eer_rule", "nearest"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = ss.evaluate(case.references, case.scores, [case.measure], **case.arguments)[case.measure]
        if (found.value, found.point, found.neighbours) != (whole.exact_value, whole.point, whole.neighbours):
            raise AssertionError(f"torch: seed {case.seed} differs")
        measured += 1
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    print(json.dumps({"measured": measured}))


def check(case: Case, found: Any, way: str) -> None:
    if found != case.expected:
        raise AssertionError(f"{way}: seed {case.seed} differs\n{found}\n{case.expected}")


def numbers(cases: list[Case]) -> int:
    return sum(isinstance(case.expected, str) for case in cases)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", type=int, default=200, help="corpora that have a number (default 200)")
    parser.add_argument("--only", nargs="+", choices=["streamed", "jobs", "dask", "torch"])
    parser.add_argument("--full", action="store_true", help="one corpus of full size instead")
    parser.add_argument("--rank", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.rank:
        torch_rank(int(arguments.rank[0]), arguments.rank[1], int(arguments.rank[2]))
        return 0
    cases = [full_case()] if arguments.full else list(random_cases(arguments.corpora))
    ways: dict[str, Callable[[list[Case], Path], dict[str, int]]] = {
        "streamed": streamed,
        "jobs": in_processes,
        "dask": on_dask,
        "torch": lambda some, folder: in_torch(some, folder, 0 if arguments.full else arguments.corpora),
    }
    refused = len(cases) - numbers(cases)
    print(f"{numbers(cases)} corpora with a number, {refused} that are refused", flush=True)
    for way in arguments.only or ways:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            for name, count in ways[way](cases, Path(folder)).items():
                print(f"{name}: the bits of memory on {count} corpora ({time.monotonic() - began:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

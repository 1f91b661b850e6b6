"""Past one machine: Parquet files of any number and partitioning, measured on the workers of a Dask cluster.

::

    row groups ──split by id──▶ shards on the workers ──count──▶ histograms ──merge in a tree──▶ one, on the client
                                        └── as many passes as an exact EER needs ──┘

A shard has both sides of a range of utterance ids. Workers read the files themselves, so they need the same paths;
results sent to the client are small. Every task is a function of files and numbers, so that the results of a lost
worker are computed again elsewhere, with the same bits.

The hashes of a signature need all scores in the order of the ids, so the shards are sent to the client one by one.
``signed=False`` avoids that.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.pool import in_batches
from spoofspan.base.progress import progress
from spoofspan.base.version import __version__
from spoofspan.data.scores import Higher
from spoofspan.evaluation.corpus import Evaluation, Shard
from spoofspan.formats.format import ReadOptions
from spoofspan.formats.sources import Where, sources
from spoofspan.formats.tables.corpus_tables import REFERENCES, SCORES, Part
from spoofspan.formats.tables.parquet import RowGroups, read_groups, row_groups
from spoofspan.measures.measure import Measure
from spoofspan.scale.shard_facts import CorpusFacts, ShardFacts
from spoofspan.scale.sharding import IdSample, distinct_ids, joined_by_file, made_shard, split_by_id
from spoofspan.scale.shards import ShardedCorpus, evaluate_shards

try:
    from dask.distributed import Client, KilledWorker, as_completed
except ImportError as error:  # dask alone is not enough
    raise UsageError("dask.distributed is not installed; pip install 'spoofspan[dask]'") from error

if TYPE_CHECKING:
    from dask.distributed import Future

Files = Where | Sequence[Where]
T = TypeVar("T")

PATIENCE = 20.0  # seconds to wait for a scheduler, and for its first worker
POLL = 0.005  # seconds
LOST = 300.0  # seconds without progress, after which a cluster without workers is given up
BYTES_PER_PIECE = 1 << 25
BYTES_PER_SHARD = 1 << 25
IDS_PER_PIECE = 1 << 10
MERGED_AT_ONCE = 8
RETRIES = 2  # of failed tasks: a file system may have a hiccup


def evaluate(
    references: Files,
    scores: Files,
    measures: Sequence[str | Measure] | None = None,
    *,
    client: Client,
    hop: float | None = None,
    higher: Higher | None = None,
    column: str | None = None,
    partitions: int | None = None,
    signed: bool = True,
    **arguments: Any,
) -> Evaluation:
    """Measure Parquet files on a cluster, as :func:`spoofspan.evaluate` measures a corpus in memory, to the same bits.

    ``arguments`` are conventions and rules; ``partitions`` is the number of shards (by default from the size of the
    files). EERs under the rules nearest and interpolated are counted on the workers. Other measures are computed on the
    client, which gets the shards one by one.
    """
    with on_cluster(client, references, scores, hop=hop, higher=higher, column=column, partitions=partitions) as corpus:
        return evaluate_shards(corpus, measures, signed=signed, **arguments)


@contextmanager
def connected_corpus(address: str, references: Files, scores: Files, **how: Any) -> Iterator[DaskShards]:
    """As :func:`on_cluster`, given the address of a scheduler."""
    for where in (references, scores):  # report a mistyped name before connecting
        _pieces(where)
    with connected(address) as client, on_cluster(client, references, scores, **how) as corpus:
        yield corpus


@contextmanager
def connected(address: str, timeout: float = PATIENCE) -> Iterator[Client]:
    """A client of a scheduler, as a context."""
    with progress(f"connecting to {address}"):
        try:
            client = Client(address, timeout=timeout, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise UsageError(
                f"no Dask scheduler answers at {address} ({error}); start one with `dask scheduler`, and give the "
                "address that it prints (tcp://HOST:8786)"
            ) from None
    with closing(client):
        yield client


@contextmanager
def on_cluster(
    client: Client,
    references: Files,
    scores: Files,
    *,
    hop: float | None = None,
    higher: Higher | None = None,
    column: str | None = None,
    snap: float | None = None,
    partitions: int | None = None,
) -> Iterator[DaskShards]:
    """A corpus of Parquet files in shards on the workers, as a context."""
    _check_workers(client)
    options = (ReadOptions(snap=snap), ReadOptions(hop=hop, higher=higher, column=column))
    sides = {
        "references": (_pieces(references), REFERENCES.columns),
        "scores": (_pieces(scores), (*SCORES.columns, *([] if column is None else [column]))),
    }
    count = partitions or _shard_count(client, [piece for pieces, _ in sides.values() for piece in pieces])
    submitter = _Submitter(client)
    spans = {
        side: submitter.results([(_ids_of, piece) for piece in pieces], f"looking at ids of {side}")
        for side, (pieces, _) in sides.items()
    }
    ids = IdSample()
    for span in spans["references"]:
        ids.add(span.sample)
    splitters = ids.splitters(count)
    # a task of its own, so that it is not sent with each other task, and is repeated if a worker is lost
    shared = submitter.one(list, splitters)
    of_shard: list[dict[str, list[Future]]] = [{side: [] for side in sides} for _ in range(len(splitters) + 1)]
    for side, (pieces, names) in sides.items():
        for piece, span in zip(pieces, spans[side], strict=True):
            split = submitter.one(_split, piece, names, shared)
            first, last = (bisect_right(splitters, one) for one in (span.lowest, span.highest))
            for shard in {0, *range(first, last + 1)} if span.without_id else range(first, last + 1):
                of_shard[shard][side].append(submitter.one(dict.get, split, shard))
    shards = [submitter.one(_made, parts["references"], parts["scores"], options) for parts in of_shard]
    facts = CorpusFacts()
    kept = []
    found: list[ShardFacts] = submitter.results([(ShardFacts.of, shard) for shard in shards], "reading on the workers")
    for shard, one in zip(shards, found, strict=True):
        if not one.empty:
            facts.learn(one)
            kept.append(shard)
    facts.check(len(kept))
    del of_shard, shards
    yield DaskShards(submitter, tuple(kept), facts)


@dataclass(frozen=True)
class DaskShards(ShardedCorpus):
    """A corpus in shards on the workers of a cluster."""

    submitter: _Submitter
    shards: tuple[Future, ...]
    facts: CorpusFacts

    def __len__(self) -> int:
        return len(self.shards)

    def __iter__(self) -> Iterator[Shard]:
        return map(self._fetched, self.shards)

    def _fetched(self, shard: Future) -> Shard:
        return self.facts.settled(_result(shard))

    def each(self, work: Callable[[Shard], T], what: str, *, fetched: bool) -> Iterator[tuple[Shard | None, T]]:
        """Results of every shard in order."""
        found = [self.submitter.one(_work, self.facts, work, shard) for shard in self.shards]
        with progress(what, total=len(self), unit="shards") as advance:
            for shard, one in zip(self.shards, found, strict=True):
                yield (self._fetched(shard) if fetched else None), _result(one)
                advance(1)

    def merged(self, work: Callable[[Shard], T], merge: Callable[[T, T], T], what: str) -> T:
        """Results of all shards, merged on the workers, a few at a time."""
        leaves = [self.submitter.one(_work, self.facts, work, shard) for shard in self.shards]
        level = leaves
        while len(level) > 1:
            level = [self.submitter.one(_merged, merge, some) for some in in_batches(level, MERGED_AT_ONCE)]
        self.submitter.watch(leaves, what)
        return _result(level[0])  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Submitter:
    """Submits tasks to a cluster."""

    client: Client

    def one(self, function: Callable[..., Any], *arguments: Any) -> Future:
        # unique keys: hashing the arguments would cost more than it could save
        return self.client.submit(function, *arguments, pure=False, retries=RETRIES)

    def results(self, calls: Sequence[tuple[Any, ...]], what: str) -> list[Any]:
        futures = [self.one(*call) for call in calls]
        self.watch(futures, what)
        return [_result(future) for future in futures]

    def watch(self, futures: Sequence[Future], what: str) -> None:
        """Wait and show progress; errors of tasks are raised when their results are taken.

        Without a limit, a cluster without workers would be waited for forever.
        """
        completed = as_completed(futures, loop=self.client.loop, raise_errors=False)
        alive = time.monotonic()
        with progress(what, total=len(futures), unit="tasks") as advance:
            while not completed.is_empty():
                if completed.has_ready():
                    next(completed)
                    advance(1)
                    alive = time.monotonic()
                    continue
                time.sleep(POLL)
                if time.monotonic() < alive + LOST:
                    continue
                alive = time.monotonic()
                if not self.client.scheduler_info(n_workers=-1)["workers"]:
                    raise DataError(
                        f"the cluster has no workers left, and nothing was done for {LOST:g} s; start some, and repeat"
                    )


def _result(future: Future) -> Any:
    try:
        return future.result()
    except KilledWorker as error:
        raise DataError(
            f"workers were lost again and again ({error}); give them more memory, or use more partitions"
        ) from None


def _check_workers(client: Client) -> None:
    """Refuse a cluster without workers, or with another version of spoofspan, before any work."""
    if not isinstance(client, Client):
        raise UsageError(f"client must be a dask.distributed.Client, as Client('tcp://head:8786'), not {client!r}")
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise UsageError(
            "the scheduler has no workers; start some with `dask worker ADDRESS`, or wait for the batch system"
        ) from None
    # other answers mean the loss of a worker at this moment, which is no reason to stop
    answers = client.run(_version, on_error="return").values()
    for missing in (answer for answer in answers if isinstance(answer, ModuleNotFoundError)):
        raise UsageError(f"a worker has no {missing.name}; install spoofspan where the workers run")
    others = sorted({answer for answer in answers if isinstance(answer, str) and answer != __version__})
    if others:
        raise UsageError(f"workers have spoofspan {', '.join(others)}, this is {__version__}; install the same one")


def _version() -> str:
    return __version__


# ---------------------------------------------------------------- files


def _pieces(where: Files) -> list[RowGroups]:
    """The row groups of all files, a few at a time."""
    found: list[RowGroups] = []
    for source in sources(where):
        if source.path is None or not source.head.startswith(b"PAR1"):
            raise UsageError(
                f"{source.name}: workers read Parquet files, and this is none; make one with spoofspan convert"
            )
        found += row_groups(Path(source.path).resolve(), source.name, BYTES_PER_PIECE)
    return found


def _shard_count(client: Client, pieces: Sequence[RowGroups]) -> int:
    threads: int = sum(client.nthreads().values())
    return max(2 * threads, sum(piece.nbytes for piece in pieces) // BYTES_PER_SHARD + 1)


# ---------------------------------------------------------------- tasks


@dataclass(frozen=True)
class _Span:
    """The ids of some row groups."""

    lowest: str
    highest: str
    sample: tuple[str, ...]
    without_id: bool


def _ids_of(piece: RowGroups) -> _Span:
    part = read_groups(piece, ("utterance",))
    ids = sorted(distinct_ids(part))
    # rows without an id go to the first shard, which refuses them
    without_id = not ids or part.table.columns["utterance"].missing is not None
    every = len(ids) // IDS_PER_PIECE + 1
    return _Span(ids[0] if ids else "", ids[-1] if ids else "", tuple(ids[::every]), without_id)


def _split(piece: RowGroups, names: Sequence[str], splitters: Sequence[str]) -> dict[int, Part]:
    return dict(split_by_id(read_groups(piece, names), splitters))


def _made(
    references: Sequence[Part | None], scores: Sequence[Part | None], options: tuple[ReadOptions, ReadOptions]
) -> Shard:
    sides = [joined_by_file([part for part in side if part is not None]) for side in (references, scores)]
    return made_shard(sides[0], None, sides[1], *options)


def _work(facts: CorpusFacts, work: Callable[[Shard], T], shard: Shard) -> T:
    return work(facts.settled(shard))


def _merged(merge: Callable[[T, T], T], some: Sequence[T]) -> T:
    # a lost task may be made again from the same inputs, so these must stay as they are
    return reduce(merge, some[1:], deepcopy(some[0]))

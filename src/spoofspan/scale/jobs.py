"""Several processes on one machine: they take the shards of a corpus, whoever is free the next one.

Shards lie on disk, so a process is told which one to read and what to do; what comes back is small (a histogram, at
most 2 MB). Histograms add, so the bits are those of one process.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.progress import progress
from spoofspan.data.scores import Higher
from spoofspan.scale.shards import Shard

T = TypeVar("T")
A = TypeVar("A")


class Processes:
    """A pool of processes; work is a function that can be pickled."""

    def __init__(self, jobs: int) -> None:
        if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
            raise UsageError(f"jobs={jobs!r}: must be a whole number of processes from 1 on")
        self.jobs = jobs
        # spawn is the one way that every system has, and that gets along with threads
        self._pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"))

    def close(self) -> None:
        """End the processes, and forget work that has not begun."""
        self._pool.shutdown(cancel_futures=True)

    def ordered(self, work: Callable[[A], T], items: Iterable[A]) -> Iterator[T]:
        """What comes of every item, in order; no more than a few results wait for their turn."""
        waiting: deque[Future[T]] = deque()
        for item in items:
            waiting.append(self._submit(work, item))
            if len(waiting) > 2 * self.jobs:
                yield _result(waiting.popleft())
        while waiting:
            yield _result(waiting.popleft())

    def finished(self, work: Callable[[A], T], items: Iterable[A]) -> Iterator[T]:
        """What comes of every item, as it comes."""
        for future in as_completed([self._submit(work, item) for item in items]):
            yield _result(future)

    def _submit(self, work: Callable[[A], T], item: A) -> Future[T]:
        try:
            return self._pool.submit(work, item)
        except BrokenProcessPool:
            raise DataError(_BROKEN) from None


_BROKEN = "a process was ended from outside, perhaps for want of memory; use fewer --jobs, or --stream"


def _result(future: Future[T]) -> T:
    try:
        return future.result()
    except BrokenProcessPool:
        raise DataError(_BROKEN) from None


@contextmanager
def processes(jobs: int | None) -> Iterator[Processes | None]:
    """So many processes while this lasts; none for one job."""
    if jobs in (None, 1):
        yield None
        return
    pool = Processes(jobs)
    try:
        yield pool
    finally:
        pool.close()


class StoredCorpus(Protocol):
    """A sharded corpus of which any shard can be read, also by another process."""

    @property
    def hop(self) -> float | None: ...  # noqa: D102

    @property
    def higher(self) -> Higher: ...  # noqa: D102

    @property
    def snap(self) -> int: ...  # noqa: D102

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Shard]: ...

    def read(self, number: int) -> Shard: ...  # noqa: D102


@dataclass(frozen=True)
class InProcesses:
    """A stored corpus whose shards several processes work on (:class:`spoofspan.scale.shards.WorksElsewhere`)."""

    corpus: StoredCorpus
    pool: Processes

    @property
    def hop(self) -> float | None:
        """The coarsest hop of the scores in seconds (None for ranges)."""
        return self.corpus.hop

    @property
    def higher(self) -> Higher:
        """What high scores mean."""
        return self.corpus.higher

    @property
    def snap(self) -> int:
        """How far (ns) edges of the references may miss each other."""
        return self.corpus.snap

    def __len__(self) -> int:
        return len(self.corpus)

    def __iter__(self) -> Iterator[Shard]:
        return iter(self.corpus)

    def each(self, work: Callable[[Shard], T], what: str, *, fetched: bool) -> Iterator[tuple[Shard | None, T]]:
        """What came of every shard, in their order; this process reads them too, while the others work."""
        with progress(what, total=len(self), unit="shards") as advance:
            for number, found in enumerate(self.pool.ordered(partial(_work, self.corpus, work), range(len(self)))):
                yield (self.corpus.read(number) if fetched else None), found
                advance(1)

    def merged(self, work: Callable[[Shard], T], merge: Callable[[T, T], T], what: str) -> T:
        """What came of all shards."""
        whole: Any = None
        with progress(what, total=len(self), unit="shards") as advance:
            for found in self.pool.finished(partial(_work, self.corpus, work), range(len(self))):
                whole = found if whole is None else merge(whole, found)
                advance(1)
        return whole  # type: ignore[no-any-return]


def _work(corpus: StoredCorpus, work: Callable[[Shard], T], number: int) -> T:
    return work(corpus.read(number))

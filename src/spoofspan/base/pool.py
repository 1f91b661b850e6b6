"""The one pool of processes: the same work for many things, results in order or as they finish.

- Processes are started afresh (*spawn*): every system has it, and a fork of a process with threads (pyarrow's, BLAS's)
  may hang. So a script that asks for several jobs needs ``if __name__ == "__main__":``.
- A few tasks more than there are processes wait at a time, so that neither tasks nor results pile up.
- Workers end with the process that started them, even if that is killed (``kill -9``, a batch system). Each has a
  thread that waits for the end of its parent: of a pipe that only the parent holds open, or of its handle on Windows.
  prctl(PR_SET_PDEATHSIG) is no second way: it is Linux's alone, and asks for the end of the parent's thread.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from typing import TypeVar

from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.progress import progress

Task = TypeVar("Task")
Result = TypeVar("Result")


def cores() -> int:
    """Number of cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_jobs(jobs: int | None) -> int:
    """Number of processes: as many as asked for, or as there are cores for us."""
    if jobs is None:
        return cores()
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise UsageError(f"jobs={jobs!r}: must be a whole number of processes from 1 on")
    return jobs


class Pool:
    """Processes that work on tasks; work is a function that can be pickled."""

    def __init__(self, jobs: int, remedy: str = "use fewer --jobs") -> None:
        self.jobs = check_jobs(jobs)
        self._remedy = remedy
        spawn = multiprocessing.get_context("spawn")
        self._begun = spawn.Event()
        self._executor = ProcessPoolExecutor(self.jobs, spawn, _begin, (self._begun,))

    def close(self) -> None:
        """End the processes, and forget work that has not begun."""
        self._executor.shutdown(cancel_futures=True)

    def in_order(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """The results, in the order of the tasks."""
        with self._said():
            waiting: deque[Future[Result]] = deque()
            for task in tasks:
                waiting.append(self._executor.submit(work, task))
                if len(waiting) > 2 * self.jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def as_finished(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """The results, each as soon as it is there."""
        waiting: set[Future[Result]] = set()
        with self._said():
            for task in tasks:
                waiting.add(self._executor.submit(work, task))
                if len(waiting) > 2 * self.jobs:
                    finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    yield from (one.result() for one in finished)
            yield from (one.result() for one in as_completed(waiting))

    @contextmanager
    def _said(self) -> Iterator[None]:
        """Say it in a sentence if a worker is gone."""
        try:
            yield
        except BrokenProcessPool:
            if not self._begun.is_set():  # they import the script, which must not do its work again
                raise UsageError(
                    f"jobs={self.jobs}: the processes could not start; put what the script does under "
                    'if __name__ == "__main__": (and the script into a file, if it was typed or piped)'
                ) from None
            raise DataError(f"a process was ended from outside, perhaps for want of memory; {self._remedy}") from None


@contextmanager
def open_pool(jobs: int | None, remedy: str = "use fewer --jobs") -> Iterator[Pool | None]:
    """A pool of processes while this lasts; None where everything is done here, by one."""
    if jobs is None or check_jobs(jobs) == 1:
        yield None
        return
    pool = Pool(jobs, remedy)
    try:
        yield pool
    finally:
        pool.close()


def do_all(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    jobs: int,
    what: str,
    amount: Callable[[Task], int] = lambda _: 1,
) -> Iterator[Result]:
    """Do tasks with progress and yield their results in order; with one job everything happens here."""
    with (
        progress(what, total=sum(map(amount, tasks))) as advance,
        open_pool(min(jobs, len(tasks)) or 1) as pool,
    ):
        results = map(work, tasks) if pool is None else pool.in_order(work, tasks)
        for task, result in zip(tasks, results, strict=True):
            advance(amount(task))
            yield result


def _begin(begun: Event) -> None:
    """First steps of a worker.

    That it gets here says that it could start. An interruption from the keyboard reaches all processes; the one that
    started this one deals with it.
    """
    begun.set()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()


def end_with_parent() -> None:
    """Let this process end when the one that started it (by ``multiprocessing``) is gone; it would wait forever."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, name="end with parent", daemon=True).start()


def in_batches(items: Sequence[Task], size: int) -> list[Sequence[Task]]:
    """Cut a list into batches.

    >>> in_batches("abcde", 2)
    ['ab', 'cd', 'e']
    """
    return [items[start : start + size] for start in range(0, len(items), size)]

"""The same work for many things, by several processes, with progress."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

from spoofspan.base.errors import UsageError
from spoofspan.base.progress import progress

Task = TypeVar("Task")
Result = TypeVar("Result")


def check_jobs(jobs: int | None) -> int:
    """How many processes: as many as asked for, or as there are cores for us."""
    if jobs is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if jobs < 1:
        raise UsageError(f"jobs={jobs}: must be at least 1")
    return jobs


def do_all(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    jobs: int,
    what: str,
    amount: Callable[[Task], int] = lambda _: 1,
) -> Iterator[Result]:
    """Do tasks and yield their results in order.

    With one job everything happens here. Processes are started afresh (*spawn*), as threads may be running here; so a
    script that asks for several jobs needs ``if __name__ == "__main__":``.
    """
    with progress(what, total=sum(map(amount, tasks))) as advance:
        if jobs == 1 or len(tasks) < 2:
            for task in tasks:
                result = work(task)
                advance(amount(task))
                yield result
            return
        spawn = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(min(jobs, len(tasks)), spawn, initializer=_end_with_parent)
        try:
            for task, result in zip(tasks, pool.map(work, tasks), strict=True):
                advance(amount(task))
                yield result
        finally:
            pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """Let this worker end when the process that started it is killed; it would wait for work forever.

    An interruption from the keyboard reaches all processes; the one that started this one deals with it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
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

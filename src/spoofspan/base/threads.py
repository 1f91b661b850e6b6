"""Threads for bootstrap replicates, whose draws and matrix products let go of Python's lock for milliseconds.

Results come in the order of the tasks, so that the bits are those of one thread. Everything else has one thread: blocks
of a mass, hashes and text gained less than a quarter (``docs/decisions/0018-threads-and-the-lock.md``).
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

MOST = 4  # more than four threads wait for the one that collects what they find

_worker = threading.local()


def cores() -> int:
    """Number of cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def thread_count(asked: int | None = None) -> int:
    """Number of threads to use here: one inside a worker, otherwise the number asked for, or one for each core."""
    if getattr(_worker, "works", False):
        return 1
    return min(cores(), MOST) if asked is None else asked


def in_order(work: Callable[[Task], Result], tasks: Iterable[Task], threads: int | None = None) -> Iterator[Result]:
    """Work on tasks, several at a time; the results in the order of the tasks.

    >>> list(in_order(abs, [-3, 1, -2]))
    [3, 1, 2]
    """
    threads = thread_count(threads)
    if threads == 1:
        yield from map(work, tasks)
        return
    pool = ThreadPoolExecutor(threads, "spoofspan", work_alone)
    try:
        # one more waits than can run, so that none has to wait for us
        yield from results_in_order(lambda task: pool.submit(work, task), tasks, threads)
    finally:
        pool.shutdown(cancel_futures=True)  # waits: no thread is left when the interpreter ends


def results_in_order(
    submit: Callable[[Task], Future[Result]], tasks: Iterable[Task], most_waiting: int
) -> Iterator[Result]:
    """The results of tasks that others work on, in the order of the tasks; neither tasks nor results pile up."""
    waiting: deque[Future[Result]] = deque()
    for task in tasks:
        waiting.append(submit(task))
        if len(waiting) > most_waiting:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def work_alone() -> None:
    """Use one thread from here on in this thread: others, or other processes, have the rest of the cores."""
    _worker.works = True

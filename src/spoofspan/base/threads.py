"""Threads for work in NumPy, Arrow and hashlib, which let go of Python's lock while they compute.

Results come in the order of the tasks and sums are of integers, so that the bits are those of one thread. How many:
``threads=`` of a function, else the variable ``SPOOFSPAN_THREADS``, else what the work says. Text is parsed and hashed
in pieces that take milliseconds without the lock, which pays everywhere. A block of a mass takes a hundred calls of 5
to 50 us each, and handing the lock over costs as much as they do: blocks have threads if somebody asks for them, or
where Python has no lock (the free-threaded build).
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from itertools import chain, islice
from typing import TypeVar

from spoofspan.base.errors import UsageError

Task = TypeVar("Task")
Result = TypeVar("Result")

VARIABLE = "SPOOFSPAN_THREADS"
ALL_CORES = 4  # more than four threads wait for the one that collects what they find

_asked: ContextVar[int | None] = ContextVar("threads", default=None)
_worker = threading.local()


def cores() -> int:
    """How many cores there are for us."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def has_lock() -> bool:
    """Whether Python runs one thread at a time; free-threaded builds do not, unless a package brings the lock back."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def thread_count(unasked: int | None = None) -> int:
    """How many threads to use here: one inside a worker, or else what was asked for, or else ``unasked``.

    Without ``unasked`` this is the number for blocks of a mass.
    """
    if getattr(_worker, "works", False):
        return 1
    if (asked := _asked.get()) is not None:
        return asked
    given = os.environ.get(VARIABLE, "").strip()
    if not given:
        of_blocks = 1 if has_lock() else ALL_CORES
        return min(cores(), of_blocks if unasked is None else unasked)
    if not given.isdecimal() or not int(given):
        raise UsageError(f"the environment variable {VARIABLE} must be a whole number from 1 on, not {given!r}")
    return int(given)


@contextmanager
def use_threads(threads: int | None) -> Iterator[None]:
    """Use this number of threads inside the context; None leaves it to the environment.

    >>> with use_threads(3):
    ...     thread_count()
    3
    """
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise UsageError(f"threads={threads!r}: must be a whole number from 1 on")
    before = _asked.set(_asked.get() if threads is None else threads)
    try:
        yield
    finally:
        _asked.reset(before)


def rows_for_threads(rows: int, total: int, most: int) -> int:
    """How many rows a block has if several threads make them: up to ``most`` times as many as for one.

    Python's lock changes hands at every call of NumPy, and what the interpreter uses moves from core to core with it:
    that costs as much as the call does on a small block. So each thread gets two blocks, the second in case that one of
    them is slower.

    >>> with use_threads(2):
    ...     rows_for_threads(100, 1_800, 8), rows_for_threads(100, 1_000_000, 8)
    (459, 800)
    """
    threads = thread_count()
    share = total * 51 // (100 * threads)  # a little more than half, as blocks end with an utterance
    return rows if threads == 1 else min(max(rows, share), most * rows)


def in_order(
    work: Callable[[Task], Result], tasks: Iterable[Task], *, unasked: int | None = None, caller_works: bool = False
) -> Iterator[Result]:
    """Work on tasks, several at a time; the results in the order of the tasks.

    ``unasked`` is how many threads there are at most if nobody asked for a number (:func:`thread_count`). A caller who
    works as long on a result as it takes to make one is one of them.

    >>> list(in_order(abs, [-3, 1, -2]))
    [3, 1, 2]
    """
    threads, tasks = thread_count(unasked), iter(tasks)
    first = list(islice(tasks, 2))
    one = threads == 1 or len(first) < 2
    tasks = chain(first, tasks)
    del first  # or else the first two would stay in memory up to the end
    if one:
        yield from map(work, tasks)
        return
    waiting: deque[Future[Result]] = deque()
    workers = threads - caller_works
    pool = ThreadPoolExecutor(workers, "spoofspan", work_alone)
    try:
        for task in tasks:
            waiting.append(pool.submit(work, task))
            del task
            if len(waiting) > workers:  # one more than can run, so that none has to wait for us
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)  # waits: no thread is left when the interpreter ends


@contextmanager
def meanwhile(work: Callable[[], Result]) -> Iterator[Callable[[], Result]]:
    """Work in a thread while the caller does something else; what this yields gives the result, or raises its error.

    With one thread the work is done when its result is asked for. The thread has ended when this ends.

    >>> with meanwhile(lambda: 6 * 7) as answer:
    ...     answer()
    42
    """
    if thread_count(ALL_CORES) == 1:
        yield work
        return
    pool = ThreadPoolExecutor(1, "spoofspan")
    try:
        yield pool.submit(copy_context().run, work).result
    finally:
        pool.shutdown()


def work_alone() -> None:
    """Use one thread from here on in this thread: others, or other processes, have the rest of the cores."""
    _worker.works = True

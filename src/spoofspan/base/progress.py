"""Progress: what is being done, how far it is and how long it will take.

Code that may take long says what it does. Nothing is printed unless someone shows it, as the command line does::

    with progress("reading scores.txt", total=size, unit="B") as advance:
        advance(4096)

    with shown_on(sys.stderr):
        ...

``advance`` only adds; a thread looks at the sums. It shows nothing of what takes less than a second. On a terminal it
overwrites one line up to ten times a second and wipes it in the end; anywhere else (the log of a batch job) it writes
a line after 10, 20, 40, ... seconds of one task.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TextIO, TypeVar

SILENT = 1.0  # seconds that a task lasts before it is shown
REDRAWN = 0.1  # seconds between two looks
FIRST_LINE = 10.0  # seconds before the first line in a log; the pauses double
SWITCH = "SPOOFSPAN_PROGRESS"  # an environment variable; 0 turns progress off
UNITS = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))

Advance = Callable[[int], None]
T = TypeVar("T")

_display: ContextVar[_Display | None] = ContextVar("display", default=None)


@contextmanager
def progress(what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
    """Say what is being done, and of how much; call what this yields with how much more is done.

    A negative amount is work that has to be done again.

    >>> with progress("counting", total=3) as advance:
    ...     for _ in range(3):
    ...         advance(1)
    """
    display = _display.get()
    if display is None:
        yield _ignore
        return
    with display.showing(_Task(what, total, unit)) as task:
        yield task.advance


def track(items: Sequence[T], what: str) -> Iterator[T]:
    """Go through items, and say which one it is.

    >>> list(track(["range-eer", "utterance-eer"], "measuring"))
    ['range-eer', 'utterance-eer']
    """
    display = _display.get()
    if display is None:
        yield from items
        return
    for number, item in enumerate(items, 1):
        of = f" ({number} of {len(items)})" if len(items) > 1 else ""
        with display.showing(_Task(f"{what} {item}{of}")):
            yield item


@contextmanager
def shown_on(stream: TextIO) -> Iterator[None]:
    """Show progress on a stream while this lasts, unless the environment says SPOOFSPAN_PROGRESS=0."""
    if os.environ.get(SWITCH, "") == "0":
        yield
        return
    display = _Display(stream)
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)
        display.close()


def hide() -> None:
    """Show no progress from now on."""
    display = _display.get()
    if display is not None:
        display.close()
        _display.set(None)


def is_shown() -> bool:
    """Whether anyone is looking: whether counting is of any use."""
    return _display.get() is not None


def wipe() -> None:
    """Clear the line of progress, before something else is printed."""
    display = _display.get()
    if display is not None:
        display.wipe()


def _ignore(amount: int) -> None:
    """Count nothing."""


@dataclass(eq=False)
class _Task:
    """One thing that is being done."""

    what: str
    total: int | None = None
    unit: str = ""
    done: int = 0
    began: float = field(default_factory=time.monotonic)
    rate_since: float = field(default_factory=time.monotonic)
    next_line: float = field(default_factory=lambda: FIRST_LINE)

    def advance(self, amount: int) -> None:
        self.done += amount
        if amount < 0:  # it begins again, probably at another speed
            self.rate_since = time.monotonic()

    def line(self, now: float) -> str:
        """What to show."""
        if not self.total or not 0 < self.done < self.total or now <= self.rate_since:
            return f"{self.what}  {_duration(now - self.began)}"
        rate = self.done / (now - self.rate_since)
        return (
            f"{self.what}  {100 * self.done // self.total} % of {_amount(self.total, self.unit)}"
            f"  {_amount(rate, self.unit)}/s  {_duration((self.total - self.done) / rate)} left"
        )


class _Display:
    """The tasks that are under way, and the thread that shows the innermost one."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._tasks: list[_Task] = []
        self._drawn = 0  # characters on the line
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def showing(self, task: _Task) -> Iterator[_Task]:
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, name="progress", daemon=True)
            self._thread.start()
        self._tasks.append(task)
        try:
            yield task
        finally:
            self._tasks.remove(task)
            self.wipe()

    def wipe(self) -> None:
        with self._lock:
            self._write("")

    def close(self) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        self.wipe()

    def _look(self) -> None:
        while not self._over.wait(REDRAWN):
            now = time.monotonic()
            with self._lock:
                task = next((task for task in reversed(self._tasks) if now - task.began >= SILENT), None)
                if task is None:
                    continue
                if self._terminal:
                    self._write(task.line(now))
                elif now - task.began >= task.next_line:
                    task.next_line *= 2
                    with suppress(OSError, ValueError):
                        print(task.line(now), file=self._stream, flush=True)

    def _write(self, line: str) -> None:
        """Put a line in the place of the one that is there. Spaces wipe it in every terminal."""
        if not (line or self._drawn):
            return
        shown = line[: _width(self._stream)]
        blank = " " * (self._drawn - len(shown))
        with suppress(OSError, ValueError):  # a stream that is gone is no reason to stop the work
            self._stream.write(f"\r{shown}{blank}" if shown else f"\r{blank}\r")
            self._stream.flush()
        self._drawn = len(shown)


def _width(stream: TextIO) -> int:
    """How many characters fit on a line; the last column stays free, or else some terminals break the line."""
    try:
        return max(os.get_terminal_size(stream.fileno()).columns, 20) - 1
    except (OSError, ValueError):
        return 79


def _amount(number: float, unit: str) -> str:
    """Write an amount to be read at a glance.

    >>> _amount(182_000_000, "B"), _amount(1234, "")
    ('182 MB', '1,234')
    """
    if unit != "B":
        return f"{number:,.0f}{unit and ' '}{unit}"
    for name, size in UNITS:
        if number >= size:
            return f"{number / size:.{0 if number >= 10 * size else 1}f} {name}"
    return f"{number:.0f} B"


def _duration(seconds: float) -> str:
    """Write a duration to be read at a glance.

    >>> _duration(4.4), _duration(125), _duration(7500)
    ('4 s', '2 min 5 s', '2 h 5 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"

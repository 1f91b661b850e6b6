"""Progress of long tasks: description, share done, and time left.

Code that may take long reports its progress. Nothing is printed unless a display is active, as in the command line::

    with progress("reading scores.txt", total=size, unit="B") as advance:
        advance(4096)

    with shown_on(sys.stderr):
        ...

``advance`` only adds; a thread looks at the sums. It shows nothing of what takes less than a second, and loads rich
only then. A terminal has one line, which rich draws up to ten times a second and wipes in the end; anything else (the
log of a batch job) gets the same line once, after 10, 20, 40, ... seconds of one task.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

SILENT = 1.0  # seconds that a task lasts before it is shown
REDRAWN = 0.1  # seconds between two looks
FIRST_LINE = 10.0  # seconds before the first line in a log; the pauses double
LOG_WIDTH = 120
SWITCH = "SPOOFSPAN_PROGRESS"  # an environment variable; 0 turns progress off

Advance = Callable[[int], None]
T = TypeVar("T")

_display: ContextVar[_Display | None] = ContextVar("display", default=None)


@contextmanager
def progress(what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
    """Report a task and its size; yields a function to call with each amount of work that is done.

    A negative amount is work that has to be repeated.

    >>> with progress("counting", total=3) as advance:
    ...     for _ in range(3):
    ...         advance(1)
    """
    display = _display.get()
    if display is None:
        yield lambda amount: None
        return
    with display.showing(_Task(what, total, unit)) as task:
        yield task.advance


def track(items: Sequence[T], what: str) -> Iterator[T]:
    """Go through items, and say which one it is.

    >>> list(track(["range-eer", "utterance-eer"], "measuring"))
    ['range-eer', 'utterance-eer']
    """
    for number, item in enumerate(items, 1):
        of = f" ({number} of {len(items)})" if len(items) > 1 else ""
        with progress(f"{what} {item}{of}"):
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
    """True if anyone is looking, so that counting is of use."""
    return _display.get() is not None


def wipe() -> None:
    """Clear the line of progress, before something else is printed."""
    display = _display.get()
    if display is not None:
        display.wipe()


@dataclass(eq=False)
class _Task:
    """One thing that is being done."""

    what: str
    total: int | None = None
    unit: str = ""
    done: int = 0
    began: float = field(default_factory=time.monotonic)
    next_line: float = field(default_factory=lambda: FIRST_LINE)

    def advance(self, amount: int) -> None:
        self.done += amount


class _Display:
    """The tasks that are under way, and the thread that shows the innermost one."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._tasks: list[_Task] = []
        self._shown: _Task | None = None
        self._bar: Progress | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="progress", daemon=True)
        self._thread.start()

    @contextmanager
    def showing(self, task: _Task) -> Iterator[_Task]:
        self._tasks.append(task)
        try:
            yield task
        finally:
            self._tasks.remove(task)
            self.wipe()

    def wipe(self) -> None:
        with self._lock, suppress(OSError, ValueError):  # a stream that is gone is no reason to stop the work
            self._stop()

    def close(self) -> None:
        self._over.set()
        self._thread.join()
        self.wipe()

    def _look(self) -> None:
        while not self._over.wait(REDRAWN):
            now = time.monotonic()
            with self._lock, suppress(OSError, ValueError):
                task = next((task for task in reversed(self._tasks) if now - task.began >= SILENT), None)
                # the first half of a pause says nothing of the speed at its end
                if task is None or not (self._terminal or 2 * (now - task.began) >= task.next_line):
                    continue
                bar = self._bar_of(task)
                if self._terminal:
                    bar.start()
                    bar.console.show_cursor()  # rich hides it, and would not bring it back after a kill
                    bar.refresh()
                elif now - task.began >= task.next_line:
                    task.next_line *= 2
                    with bar.console.capture() as line:  # rich itself would end the process where a pipe is closed
                        bar.console.print(bar.get_renderable())
                    print(line.get().rstrip(), file=self._stream, flush=True)

    def _bar_of(self, task: _Task) -> Progress:
        """Rich's bar of a task, up to date."""
        if self._bar is None or task is not self._shown:
            self._stop()
            self._bar, self._shown = _new_bar(task, self._stream, self._terminal), task
        self._bar.update(self._bar.task_ids[0], completed=task.done)
        return self._bar

    def _stop(self) -> None:
        if self._bar is not None and self._terminal:
            self._bar.stop()


def _new_bar(task: _Task, stream: TextIO, terminal: bool) -> Progress:
    """A line about a task: its elapsed time, or its share, amount, speed and time left."""
    from rich import progress as rich
    from rich.console import Console

    columns: list[rich.ProgressColumn] = [rich.TextColumn("{task.description}", markup=False)]
    if not task.total:
        columns += [rich.TimeElapsedColumn()]
    else:
        columns += [rich.BarColumn(20)] if terminal else []
        columns += [rich.TaskProgressColumn()]
        if task.unit == "B":
            columns += [rich.DownloadColumn(), rich.TransferSpeedColumn()]
        else:
            columns += [rich.MofNCompleteColumn(), rich.TextColumn(task.unit)]
        columns += [rich.TimeRemainingColumn(), rich.TextColumn("left")]
    bar = rich.Progress(
        *columns,
        console=Console(
            file=stream, force_terminal=terminal, force_interactive=terminal, width=None if terminal else LOG_WIDTH
        ),
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,  # results do not go through stderr
        redirect_stderr=False,
        get_time=time.monotonic,
    )
    bar.add_task(task.what, total=task.total or None)
    bar.tasks[0].start_time = task.began
    return bar

"""Ctrl-C ends a command without a traceback, with exit code 130 (128 + SIGINT).

While the command line itself is imported nothing is open yet, and the process ends at once. While a command runs,
KeyboardInterrupt lets it remove what it has half written. Packages that are interrupted while they are imported may
turn it into another error, or lose it: the interruption is remembered, and one that was lost is raised again.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from _thread import interrupt_main
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

EXIT_CODE = 130


def end_at_once(_number: int, _frame: FrameType | None) -> NoReturn:
    """End the process without any cleaning up."""
    os._exit(EXIT_CODE)


class Interruptions:
    """Interruptions from the keyboard while this context lasts."""

    def __init__(self) -> None:
        self.seen = False

    def handle(self, _number: int, _frame: FrameType | None) -> NoReturn:
        """Remember the interruption, and raise it."""
        self.seen = True
        raise KeyboardInterrupt

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Exit with 130 after an interruption, whatever became of it; without one, nothing is changed."""
        before = sys.unraisablehook

        def lost(about: sys.UnraisableHookArgs) -> None:
            if self.seen and issubclass(about.exc_type, KeyboardInterrupt):
                # not from in here, where it would be lost again
                threading.Timer(0.01, interrupt_main).start()
            else:
                before(about)

        try:
            with handled_by(self.handle):
                sys.unraisablehook = lost
                yield
        except BaseException as error:
            done = isinstance(error, SystemExit) and not error.code
            if not self.seen or done:
                raise
            sys.exit(EXIT_CODE)
        finally:
            sys.unraisablehook = before


@contextmanager
def handled_by(handler: Callable[[int, FrameType | None], NoReturn]) -> Iterator[None]:
    """Handle SIGINT so while this lasts, unless the program around us has its own way (or ignores it)."""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)

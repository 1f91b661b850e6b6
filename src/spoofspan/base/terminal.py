"""Text for the eyes of someone at a terminal: emphasis, lines that fit its width, and warnings folded by kind.

A pipe and a file get the text as it is; ``NO_COLOR`` and ``TERM=dumb`` get no emphasis.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from textwrap import wrap
from typing import TextIO

STYLES = {"strong": "1", "faint": "2", "error": "1;31", "warning": "33"}
NARROWEST = 40
SHOWN_OF_A_KIND = 2  # warnings; more of them are counted
# the varying parts of warnings of one kind: names before a colon, words in quotes, numbers
VARYING = re.compile(r"^[\w./@={}-]+(?= \S*:)|^[^\s:]+(?=:)|'[^']*'|\"[^\"]*\"|[-+]?\d[\d.,]*\S*")


@dataclass(frozen=True)
class Screen:
    """A terminal: how many columns it has, and whether it shows emphasis."""

    width: int
    emphasis: bool

    def shown(self, text: str, style: str) -> str:
        """Text in a style."""
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self.emphasis and text else text

    def lines(self, notes: Iterable[str]) -> list[str]:
        """Notes as lines that fit, with warnings folded; signatures stay whole, to be copied."""
        found = []
        for note in folded(list(notes)):
            style = "warning" if note.startswith("warning") else "faint" if note.startswith("signature") else None
            whole = note.startswith("signature") or not note
            lines = [note]
            if not whole:
                lines = wrap(note, self.width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
            found += [self.shown(line, style) if style else line for line in lines]
        return found


def fitted(text: str, screen: Screen | None) -> str:
    """Text whose long lines continue below where their words began: after an indent, or in the second column.

    >>> print(fitted("  fpr    false positives divided by all that is negative", Screen(40, False)))
      fpr    false positives divided by all
             that is negative
    """
    if screen is None:
        return text
    lines = []
    for line in text.split("\n"):
        indent = re.match(r"\s*(\S+(?: \S+)* {2,}(?=\S))?", line)
        after = " " * min(indent.end() if indent else 0, screen.width // 2)
        fits = len(line) <= screen.width
        lines += (
            [line]
            if fits
            else wrap(line, screen.width, subsequent_indent=after, break_long_words=False, break_on_hyphens=False)
        )
    return "\n".join(lines)


_screen: ContextVar[Screen | None] = ContextVar("screen", default=None)


def screen_of(stream: TextIO) -> Screen | None:
    """The terminal behind a stream; None for a pipe or a file."""
    if not stream.isatty():
        return None
    width = max(shutil.get_terminal_size().columns, NARROWEST)
    return Screen(width, "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb")


def current_screen() -> Screen | None:
    """The terminal that results are laid out for."""
    return _screen.get()


@contextmanager
def laid_out_for(screen: Screen | None) -> Iterator[None]:
    """Lay results out for this terminal; None: as they are in a pipe."""
    token = _screen.set(screen)
    try:
        yield
    finally:
        _screen.reset(token)


def kind_of(warning: str) -> str:
    """The common part of warnings of one kind.

    >>> kind_of("warning: a: 2 seeds say little") == kind_of("warning: other-b: 3 seeds say little")
    True
    """
    return VARYING.sub("*", warning.removeprefix("warning: "))


def folded(notes: Sequence[str]) -> list[str]:
    """Notes with the first two warnings of each kind, and how many there are.

    >>> folded([f"warning: s{i}: 2 seeds say little" for i in range(5)] + ["in %"])[2:]
    ['in %', 'warning: 5 warnings of 1 kind; 3 more like those above (all of them in a pipe: | cat)']
    """
    kinds: dict[str, int] = {}
    kept = []
    for note in notes:
        if note.startswith("warning: "):
            kind = kind_of(note)
            kinds[kind] = kinds.get(kind, 0) + 1
            if kinds[kind] > SHOWN_OF_A_KIND:
                continue
        kept.append(note)
    hidden = counted(kinds)
    return [*kept, f"{hidden} (all of them in a pipe: | cat)"] if hidden else kept


def counted(kinds: dict[str, int]) -> str:
    """The sum of warnings by kind in a line; empty if all were shown."""
    hidden = sum(max(count - SHOWN_OF_A_KIND, 0) for count in kinds.values())
    if not hidden:
        return ""
    of = f"{sum(kinds.values())} warnings of {len(kinds)} kind{'s' if len(kinds) > 1 else ''}"
    return f"warning: {of}; {hidden} more like those above"

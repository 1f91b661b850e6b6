"""The errors of spoofspan: one hierarchy, every message a sentence with its remedy.

=========================  ==========================================  =========
error                      raised when                                 exit code
=========================  ==========================================  =========
``UsageError``             an argument is wrong                        2
``DataError``              the data are wrong                          3
``UndefinedMeasureError``  the data are right but define no number     4
=========================  ==========================================  =========
"""

from __future__ import annotations

import difflib
import os
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROBLEMS_SHOWN = 20


# The folder of the package, for warnings.
PACKAGE = str(Path(__file__).parents[1]) + os.sep


class SpoofspanError(Exception):
    """Anything that spoofspan refuses to do; the base of its errors.

    Examples
    --------
    >>> import spoofspan as ss
    >>> try:
    ...     ss.Rules(gaps="silence")
    ... except ss.SpoofspanError as error:
    ...     print(type(error).__name__, error.exit_code)
    UsageError 2

    """

    exit_code = 1


class UsageError(SpoofspanError, ValueError):
    """An argument, a rule or a name is wrong; the message names the nearest valid one. Exit code 2."""

    exit_code = 2


class DataError(SpoofspanError, ValueError):
    """The references or the scores are wrong, or do not fit each other under the rules asked for. Exit code 3.

    The message lists up to 20 problems and says what to do about them.
    """

    exit_code = 3


class UndefinedMeasureError(SpoofspanError, ValueError):
    """The data are fine, but the measure has no value on them (for example: no spoofed time at all). Exit code 4."""

    exit_code = 4


class NothingToMeasureError(UndefinedMeasureError):
    """The rules leave no utterance of a corpus or a shard; ``touched`` lists what they decided until then."""

    def __init__(self, message: str, touched: Sequence[Any]) -> None:
        super().__init__(message)
        self.touched = tuple(touched)


class SpoofspanWarning(UserWarning):
    """A number was computed, and there is a reason to look twice at it (for example: few distinct scores)."""


class IntervalWarning(SpoofspanWarning):
    """A caution about an interval, which has it among its ``warnings`` too: commands print those with the result."""


@dataclass
class Problems:
    """Collects problems of the data, so that a user sees up to 20 at once.

    >>> problems = Problems()
    >>> problems.add("utterance 'u1': score 3 is NaN")
    >>> problems.raise_if_any("replace the scores")
    Traceback (most recent call last):
    spoofspan.base.errors.DataError: utterance 'u1': score 3 is NaN; replace the scores
    """

    found: list[str] = field(default_factory=list)
    total: int = 0

    def add(self, *messages: str) -> None:
        """Note problems; only the first 20 are kept as text."""
        self.extend(messages, len(messages))

    def extend(self, messages: Iterable[str], total: int) -> None:
        """Note ``total`` problems, taking the text of as many as still fit (the iterable may be lazy)."""
        room = PROBLEMS_SHOWN - len(self.found)
        self.found.extend(message for message, _ in zip(messages, range(max(room, 0)), strict=False))
        self.total += total

    @property
    def full(self) -> bool:
        """True if there are as many problems as are shown."""
        return self.total >= PROBLEMS_SHOWN

    def raise_if_any(self, remedy: str) -> None:
        """Raise one DataError with everything found and the remedy."""
        if not self.total:
            return
        noted = _noted.get()
        if noted is not None:
            if not any(one is self for one in noted):
                noted.append(self)
            return
        if self.total == 1:
            raise DataError(f"{self.found[0]}; {remedy}")
        raise DataError("\n".join([f"{self.total:,} problems; {remedy}", *(f"  {line}" for line in self.lines)]))

    @property
    def lines(self) -> list[str]:
        """Findings, and how much more there is."""
        more = self.total - len(self.found)
        return [*self.found, *([f"... and {more:,} more"] if more else [])]


_noted: ContextVar[list[Problems] | None] = ContextVar("noted", default=None)


@contextmanager
def noting_problems() -> Iterator[list[Problems]]:
    """Collect problems of the data instead of raising them, so that later problems are found too.

    For checks only: data that were read meanwhile may be wrong, and must not be measured.

    >>> with noting_problems() as noted:
    ...     refuse([3], lambda row: f"score {row} is NaN", "replace it")
    >>> noted[0].lines
    ['score 3 is NaN']
    """
    noted: list[Problems] = []
    before = _noted.set(noted)
    try:
        yield noted
    finally:
        _noted.reset(before)


def refuse(bad: Collection[Any], describe: Callable[[Any], str], remedy: str) -> None:
    """Raise one DataError that describes up to 20 bad items and names the remedy; do nothing if there are none.

    >>> refuse([3], lambda row: f"score {row} is NaN", "replace it")
    Traceback (most recent call last):
    spoofspan.base.errors.DataError: score 3 is NaN; replace it
    """
    problems = Problems()
    problems.extend(map(describe, bad), len(bad))
    problems.raise_if_any(remedy)


def strangers(what: str, ids: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """Note the ids that are not among those known: a slip of a letter is noticed, and a part of a corpus is no error.

    >>> strangers("regions", ["u1", "U2"], ["u1", "u2"])
    ("regions of 1 utterance that is not measured: 'U2'",)
    """
    unknown = sorted(set(ids).difference(known))
    if not unknown:
        return ()
    counted = "1 utterance that is" if len(unknown) == 1 else f"{len(unknown):,} utterances that are"
    listed = ", ".join(map(repr, unknown[:3])) + (", ..." if len(unknown) > 3 else "")
    return (f"{what} of {counted} not measured: {listed}",)


def reason_of(error: Exception) -> str:
    """Message of an error without its remedy.

    >>> reason_of(UndefinedMeasureError("there is no spoofed time; check the labels"))
    'there is no spoofed time'
    """
    return str(error).partition(";")[0]


def nearest_name(name: str, valid: Iterable[str]) -> str:
    """Return ``valid`` as a list to read, with the most likely meant name first.

    >>> nearest_name("gap", ["snap", "gaps", "extent"])
    "did you mean 'gaps'? (valid: extent, gaps, snap)"
    """
    names = sorted(valid)
    close = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
    listing = ", ".join(names)
    return f"did you mean {close[0]!r}? (valid: {listing})" if close else f"valid: {listing}"


def dated_names(name: str, about: Mapping[str, str]) -> str:
    """List the dated versions of a name with their descriptions; empty if there are none.

    >>> dated_names("tool", {"tool-2026-03": "means", "tool-2026-06": "maxima", "other": "minima"})
    'its rules changed, so the name needs a date; tool-2026-03: means; tool-2026-06: maxima'
    """
    dated = [f"{one}: {about[one]}" for one in about if re.fullmatch(re.escape(str(name)) + r"-\d{4}-\d{2}", one)]
    return f"its rules changed, so the name needs a date; {'; '.join(dated)}" if dated else ""


def warn_user(text: str, category: type[Warning] = SpoofspanWarning) -> None:
    """Warn, and point at the caller's line outside of spoofspan."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


@contextmanager
def quietly() -> Iterator[None]:
    """Silence cautions that small groups always have (wide gaps, few clusters), or that are given elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpoofspanWarning)
        yield

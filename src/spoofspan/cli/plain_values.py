"""Values of flags that are plain: not given, text, a usual number, the name of a choice, a path.

Newer versions of typer convert every value by pydantic, also that of a flag which was not given: 0.09 of the 0.30 s
of CPU time that an ``eval`` of the demo takes then, and half of the time of ``explain``. Plain values are converted
here as typer would; any other, and so all that is wrong, is left to typer.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, get_args, get_origin

import typer

NUMBER = {int: re.compile(r"-?[1-9][0-9]{0,8}|0"), float: re.compile(r"-?[0-9]{1,9}(\.[0-9]{1,9})?")}
UNIT = re.compile(r"([0-9]+\.?[0-9]*) ?(ms|%)")
# What a flag may ask of its values besides their type, with what it says if it does not.
USUAL = {
    **dict.fromkeys(("parser", "min", "max", "path_type")),
    **dict.fromkeys(("exists", "writable", "resolve_path", "allow_dash"), False),
    **dict.fromkeys(("file_okay", "dir_okay"), True),
}


class _NotPlainError(Exception):
    """Typer must look at it."""


def with_plain_values(params: list[Any]) -> list[Any]:
    """Let flags and arguments convert plain values by themselves; where typer works otherwise, nothing changes."""
    for param in params:
        typers = getattr(param, "get_runtime_param", None)
        if typers is not None and not isinstance(typers, partial) and hasattr(param, "type_descriptor"):
            param.get_runtime_param = partial(PlainFirst, typers)
    return params


class PlainFirst:
    """What typer asks to convert a value; ``typers`` makes its own, which takes pydantic."""

    def __init__(self, typers: Callable[[], Any]) -> None:
        self._typers = typers

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value as the command gets it."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        try:
            return _plain(value, param.type_descriptor, several)
        except (_NotPlainError, AttributeError):  # the latter: a version that describes types otherwise
            try:
                return self._typers().coerce(value, param=param, ctx=ctx)
            except typer.BadParameter as error:
                if isinstance(value, str):
                    error.message = refusal(error.message, value)
                raise


def refusal(message: str, typed: str) -> str:
    """Why a value is refused, in the words of who typed it; pydantic speaks of parsing.

    >>> refusal("Input should be a valid number, unable to parse string as a number", "20ms")
    "'20ms' is not a number; times are in seconds: 20 ms is 0.02"
    >>> refusal("Input should be less than or equal to 6", "10")
    "'10' should be less than or equal to 6"
    """
    if "unable to parse" in message:
        what = "a whole number" if "integer" in message else "a number"
        unit = UNIT.fullmatch(typed)
        hint = "" if unit is None else f"; shares are fractions: {typed} is {float(unit[1]) / 100:g}"
        if unit is not None and unit[2] == "ms":
            hint = f"; times are in seconds: {unit[1]} ms is {float(unit[1]) / 1000:g}"
        return f"{typed!r} is not {what}{hint}"
    return message.removeprefix("Value error, ").replace("Input should", f"{typed!r} should")


def _plain(value: Any, described: Any, several: bool) -> Any:
    kind = described.annotation
    if any(getattr(described.parameter_info, name) is not usual for name, usual in USUAL.items()):
        raise _NotPlainError
    if not several:
        return plain(value, kind)
    if get_origin(kind) is not list or not isinstance(value, list | tuple):
        raise _NotPlainError
    return [plain(one, get_args(kind)[0]) for one in value]


def plain(value: Any, kind: Any) -> Any:
    """A default, or what was typed, as a plain type.

    >>> plain("0.02", float), plain("a.score", str), plain(3, int)
    (0.02, 'a.score', 3)
    """
    if kind in (str, int, float, bool) and type(value) is kind:
        return value
    if type(value) is str and kind in NUMBER and NUMBER[kind].fullmatch(value):
        return kind(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        for one in kind:
            if value is one or (type(value) is str and value == one.value):
                return one
    if kind is Path and type(value) is str and (os.access(value, os.R_OK) or not Path(value).exists()):
        return Path(value)
    raise _NotPlainError

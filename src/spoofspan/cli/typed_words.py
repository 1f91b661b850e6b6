"""Mistakes in what was typed that a parser would accept, or would blame on something else.

A flag that takes one value and is repeated, a list without commas, another program's name of a flag. All are refused
before anything is read, with what to type instead.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

MEASURE = re.compile(r"(range|point|utterance|event)-[a-z][a-z0-9-]*(@\S+)?")
RESOLUTION = re.compile(r"[0-9]+(\.[0-9]+)?(ms)?")
# Flags of other programs, by the value of --format that does the same.
FORMATS = ("json", "csv", "markdown", "latex")


def refuse_mistyped(command: Any, ctx: Any, args: list[str]) -> None:
    """Refuse such mistakes; what a parser refuses by itself is left to it."""
    flags = {flag for param in command.get_params(ctx) for flag in param.opts}
    for name in FORMATS:
        if f"--{name}" in args and f"--{name}" not in flags and "--format" in flags:
            ctx.fail(f"no option --{name}: give --format {name}")
    if "--utterance-scores" in args and "--utterance-scores" not in flags and "--scores-format" in flags:
        ctx.fail("no option --utterance-scores: give the file of utterance scores as SCORES, after REFERENCES")
    opts, extra, order = command.make_parser(ctx).parse_args(args=list(args))
    _refuse_repeated(ctx, order)
    words = [word for param in command.get_params(ctx) if _is_argument(param) for word in _words(opts.get(param.name))]
    for word in (*words, *extra):
        if (MEASURE.fullmatch(word) or RESOLUTION.fullmatch(word)) and not Path(word).exists():
            _refuse_stray(ctx, word, flags, opts)


def _refuse_repeated(ctx: Any, order: list[Any]) -> None:
    """Refuse a flag that takes one value and is given several times: all but the last would be lost."""
    for param, times in Counter(param for param in order if not _is_argument(param)).items():
        if times > 1 and not (param.multiple or param.is_flag or param.count):
            ctx.fail(f"{max(param.opts, key=len)} is given {times} times, and takes one value; give it once")


def _refuse_stray(ctx: Any, word: str, flags: set[str], opts: dict[str, Any]) -> None:
    """Refuse a word in the place of a file that belongs to the list of a flag before it."""
    if "--measure" in flags and opts.get("measure") and MEASURE.fullmatch(word):
        first = opts["measure"] if isinstance(opts["measure"], str) else opts["measure"][-1]
        several = any(param.multiple for param in ctx.command.get_params(ctx) if param.name == "measure")
        ctx.fail(
            f"{word} is a measure; "
            + (f"give each its own flag: -m {first} -m {word}" if several else "this command takes one: give one -m")
        )
    if opts.get("resolutions") and RESOLUTION.fullmatch(word):
        ctx.fail(f"{word} is no file; write resolutions with commas: --resolutions {opts['resolutions']},{word}")


def _is_argument(param: Any) -> bool:
    return bool(param.param_type_name == "argument")


def _words(value: Any) -> list[str]:
    """The words of an argument, which may take one or several."""
    found = value if isinstance(value, list | tuple) else [value]
    return [one for one in found if isinstance(one, str)]

"""Flags that meant another thing in one command than in all others, and are called differently now.

The old names still work, with a note.
"""

from __future__ import annotations

from typing import Any

import typer

_CHANGE = {"--set": "--change"}  # --set names a set of a corpus
_SIZES = {"--utterances": "--utterances-per-set"}  # --utterances, --overlap and --nonspeech are rules
# by command: the old name and the present one
RENAMED = {
    "cm train": _CHANGE,
    "experiment": {**_CHANGE, **_SIZES},
    "corpus build": {**_SIZES, "--overlap": "--joint-length", "--nonspeech": "--nonspeech-label"},
    "compare": {  # --seeds lists seeds, --threshold is one number
        "--seeds": "--one-system",
        "--threshold": "--system-threshold",
        "--threshold-from": "--system-threshold-from",
    },
}


def in_present_words(ctx: Any, args: list[str]) -> list[str]:
    """What was typed, with the present names of flags; says so where an old one was."""
    present = RENAMED.get(ctx.command_path.partition(" ")[2], {})
    found = [one.partition("=") for one in args]
    if not ctx.resilient_parsing:
        for old in dict.fromkeys(name for name, _, _ in found if name in present):
            typer.echo(f"note: {old} is called {present[old]} in this command", err=True)
    return [present.get(name, name) + sign + value for name, sign, value in found]

"""The commands, a line each. A command's module is imported when that command is used, so help waits for none of them.

To add a command: write its function (or a ``typer.Typer`` with commands of its own) in a module of this folder, and a
line of :data:`GROUPS`. Its sentence is the first one of the command's help; a test compares the two.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from spoofspan.cli.help import HelpCommand
from spoofspan.cli.plain_values import with_plain_values


class LazyCommand(NamedTuple):
    """A command that is not loaded yet."""

    name: str
    about: str
    module: str
    attribute: str

    def placeholder(self) -> TyperCommand:
        """What lists of commands show."""
        return TyperCommand(self.name, help=self.about, rich_markup_mode=None)

    def load(self) -> Any:
        """Import the command, and build it as if it had always been part of the program."""
        found = getattr(import_module(f"spoofspan.cli.{self.module}"), self.attribute)
        alone = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
        if isinstance(found, typer.Typer):
            alone.add_typer(found, name=self.name)
        else:
            alone.command(self.name, cls=HelpCommand)(found)
        return get_group(alone).commands[self.name]


# By group, in the order of the help.
GROUPS: dict[str, tuple[LazyCommand, ...]] = {
    "Measure": (
        LazyCommand("eval", "Measure a system.", "eval", "eval_"),
        LazyCommand("compare", "Compare every pair of systems on one corpus.", "compare", "compare"),
        LazyCommand("table", "Measure systems at several resolutions.", "table", "table"),
        LazyCommand("domains", "Measure systems on several corpora at once.", "domains", "domains"),
        LazyCommand("verify", "Measure a result again, and confirm it or name what differs.", "verify", "verify"),
        LazyCommand("diff", "Compare two results: rules, inputs and values.", "diff", "diff"),
        LazyCommand("plan", "Plan a test set: how many utterances or speakers tell two values apart.", "plan", "plan"),
        LazyCommand("challenge", "Run a challenge with hidden labels.", "challenge", "app"),
    ),
    "Listen": (LazyCommand("locate", "Find where recordings are spoofed.", "locate", "locate"),),
    "Look at errors": (
        LazyCommand("report", "Make a page that shows where systems err.", "report", "report"),
        LazyCommand("plot", "Draw a figure of one system or several.", "plot", "plot"),
    ),
    "Give scores a meaning": (
        LazyCommand("calibrate", "Turn scores into log-likelihood ratios.", "calibrate", "calibrate"),
        LazyCommand("fuse", "Turn the scores of several systems into one log-likelihood ratio.", "calibrate", "fuse"),
    ),
    "Files": (
        LazyCommand("check", "Identify a file, or check references and scores before measuring.", "check", "check"),
        LazyCommand("convert", "Convert between formats.", "convert", "convert"),
        LazyCommand("publish", "Write a result in the form of a leaderboard or a model card.", "publish", "publish"),
        LazyCommand("diff-references", "Compare two references of one corpus.", "diff_references", "diff_references"),
    ),
    "Learn": (
        LazyCommand("demo", "Measure a small corpus and explain the numbers.", "demo", "demo"),
        LazyCommand("explain", "Explain a name in plain words.", "explain", "explain"),
        LazyCommand("benchmarks", "List benchmarks and what they are ranked by.", "benchmarks", "benchmarks"),
    ),
    "Corpora and countermeasures": (
        LazyCommand("corpus", "Build, check and audit partially spoofed corpora.", "corpus", "app"),
        LazyCommand("cm", "Train the countermeasure, and score recordings.", "cm", "app"),
        LazyCommand("experiment", "Run the paper's experiment from end to end.", "experiment", "experiment"),
    ),
}
COMMANDS = tuple(one for group in GROUPS.values() for one in group)


class LazyGroup(TyperGroup):
    """A group that lists placeholders, and loads a command once its name was typed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": {one.name: one.placeholder() for one in COMMANDS}})

    def get_params(self, ctx: Any) -> list[Any]:
        """The flags before a command, which convert plain values themselves."""
        return with_plain_values(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command that the first word names; both running and completing ask here."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, next((one.load() for one in COMMANDS if one.name == name), None), rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands by group; what does not fit a line goes on in the next."""
        width = max(len(one.name) for one in COMMANDS)
        for group, commands in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(one.name.ljust(width), one.about) for one in commands])

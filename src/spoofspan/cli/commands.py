"""The commands, a line each. A command's module is imported when that command is used, so help waits for none of them.

To add a command: write its function (or a ``CommandGroup`` with commands of its own) in a module of this folder, and a
line of :data:`GROUPS`. Its sentence is the first one of the command's help; a test compares the two.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import click

from spoofspan.cli.declarations import CommandGroup, SuggestingGroup, made_command
from spoofspan.cli.help import HelpCommand


class LazyCommand(NamedTuple):
    """A command that is not loaded yet."""

    name: str
    about: str
    module: str
    attribute: str

    def placeholder(self) -> click.Command:
        """Entry in lists of commands."""
        return click.Command(self.name, help=self.about)

    def load(self) -> click.Command:
        """Import the command."""
        found = getattr(import_module(f"spoofspan.cli.{self.module}"), self.attribute)
        if isinstance(found, CommandGroup):
            found.name = self.name
            return found
        return made_command(found, self.name, HelpCommand)


# By group, in the order of the help.
GROUPS: dict[str, tuple[LazyCommand, ...]] = {
    "Measure": (
        LazyCommand("eval", "Measure a system.", "eval", "eval_"),
        LazyCommand("compare", "Compare every pair of systems on one corpus.", "compare", "compare"),
        LazyCommand("table", "Measure systems at several resolutions.", "table", "table"),
        LazyCommand("domains", "Measure systems on several corpora at once.", "domains", "domains"),
        LazyCommand("verify", "Repeat a measurement, and confirm it or name the differences.", "verify", "verify"),
        LazyCommand("diff", "Compare two results: rules, inputs and values.", "diff", "diff"),
        LazyCommand("plan", "Plan a test set: how many utterances or speakers separate two values.", "plan", "plan"),
        LazyCommand("challenge", "Run a challenge with hidden labels.", "challenge", "app"),
    ),
    "Recordings": (LazyCommand("locate", "Find where recordings are spoofed.", "locate", "locate"),),
    "Look at errors": (
        LazyCommand("report", "Make a page of the errors of systems.", "report", "report"),
        LazyCommand("plot", "Draw a figure of one system or several.", "plot", "plot"),
        LazyCommand("paper", "Write the table, figures, methods and signatures of a paper.", "paper", "paper"),
        LazyCommand("app", "Write a page that measures files in the browser.", "browser", "app"),
    ),
    "Calibrate scores": (
        LazyCommand("calibrate", "Turn scores into log-likelihood ratios.", "calibrate", "calibrate"),
        LazyCommand("fuse", "Turn the scores of several systems into one log-likelihood ratio.", "calibrate", "fuse"),
    ),
    "Files": (
        LazyCommand("check", "Identify a file, or check references and scores before measuring.", "check", "check"),
        LazyCommand("convert", "Convert between formats.", "convert", "convert"),
        LazyCommand("publish", "Write a result in the format of a leaderboard or a model card.", "publish", "publish"),
        LazyCommand("diff-references", "Compare two references of one corpus.", "diff_references", "diff_references"),
    ),
    "Learn": (
        LazyCommand("demo", "Measure a small corpus and explain the numbers.", "demo", "demo"),
        LazyCommand("explain", "Explain a name in plain words.", "explain", "explain"),
        LazyCommand("benchmarks", "List benchmarks and their official measures.", "benchmarks", "benchmarks"),
    ),
    "Corpora and countermeasures": (
        LazyCommand("corpus", "Build, check and audit partially spoofed corpora.", "corpus", "app"),
        LazyCommand("controls", "Ask whether a system finds the spoof or the cut.", "controls", "app"),
        LazyCommand("cm", "Train the countermeasure, and score recordings.", "cm", "app"),
        LazyCommand("experiment", "Run the paper's experiment from end to end.", "experiment", "experiment"),
    ),
}
COMMANDS = tuple(one for group in GROUPS.values() for one in group)


class LazyGroup(SuggestingGroup):
    """A group that lists placeholders, and loads a command once its name was typed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, commands={one.name: one.placeholder() for one in COMMANDS})

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first word names; both running and completing ask here."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, next((one.load() for one in COMMANDS if one.name == name), None), rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by group; what does not fit a line goes on in the next."""
        width = max(len(one.name) for one in COMMANDS)
        for group, commands in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(one.name.ljust(width), one.about) for one in commands])

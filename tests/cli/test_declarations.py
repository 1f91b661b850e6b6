"""Commands made of annotated functions: what is typed reaches the function with the type that it declares."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import pytest
from click import Command
from click.testing import CliRunner

from spoofspan.cli.declarations import CommandGroup, OptionGroup, argument, declared_option, made_command

Colour = Literal["red", "dark-blue"]


def answer(declared, typed):
    """What a function with one parameter gets, or how its command ends."""
    seen = []

    def command(value):
        seen.append(value)

    command.__annotations__ = {"value": declared[0]}
    if len(declared) > 1:
        command.__defaults__ = declared[1:]
    done = CliRunner().invoke(made_command(command, "command", Command), typed)
    return seen[0] if done.exit_code == 0 else done.output


@pytest.mark.parametrize(
    ("declared", "typed", "got"),
    [
        ((float, declared_option(default=0.5)), [], 0.5),
        ((float | None, declared_option()), ["--value", "1e-3"], 0.001),
        ((float | None, declared_option()), [], None),
        ((int, declared_option("-n", default=3)), ["-n", "7"], 7),
        ((bool, declared_option(default=False)), ["--value"], True),
        ((bool, declared_option(default=True)), ["--no-value"], False),
        ((Path | None, declared_option()), ["--value", "a/b"], Path("a/b")),
        ((Colour, declared_option(default="red")), [], "red"),
        ((Colour, declared_option(default="red")), ["--value", "dark-blue"], "dark-blue"),
        ((list[str] | None, declared_option()), [], None),
        ((list[str], declared_option(default=[])), [], []),
        ((list[str] | None, declared_option()), ["--value", "a", "--value", "b"], ["a", "b"]),
        ((Annotated[str, argument(help="")],), ["a"], "a"),
        ((Annotated[str | None, argument(help="")],), [], None),
        ((Annotated[list[str] | None, argument(help="")],), ["a", "b"], ["a", "b"]),
        ((Annotated[list[str] | None, argument(help="")],), [], None),
    ],
)
def test_a_value_has_the_declared_type(declared, typed, got):
    found = answer(declared, typed)
    assert found == got
    assert type(found) is type(got)


@pytest.mark.parametrize(
    ("declared", "typed", "why"),
    [
        ((float, declared_option(default=0.5)), ["--value", "20ms"], "times are in seconds: 20 ms is 0.02"),
        ((float, declared_option(default=0.5)), ["--value", "5%"], "shares are fractions: 5 % is 0.05"),
        ((int, declared_option(default=1)), ["--value", "1.5"], "'1.5' is not a whole number"),
        ((int, declared_option(default=1, min=1)), ["--value", "0"], "'0' should be greater than or equal to 1"),
        ((float, declared_option(default=1, max=6)), ["--value", "nan"], "'nan' should be less than or equal to 6"),
        (
            (Colour, declared_option(default="red")),
            ["--value", "green"],
            "'green' is not one of 'red', 'dark-blue'",
        ),
        ((str, declared_option(default=...)), [], "Missing option '--value'"),
        ((Annotated[str, argument(help="")],), [], "Missing argument 'VALUE'"),
    ],
)
def test_a_wrong_value_is_refused_in_the_words_of_who_typed_it(declared, typed, why):
    assert why in " ".join(answer(declared, typed).split())


@dataclass(frozen=True)
class Frames:
    hop: Annotated[float, declared_option()] = 0.02
    lengths: list[float] = field(default_factory=list)  # not an option
    first: int | None = field(default=None, metadata={"option": declared_option("--from")})


Ends = Annotated[tuple, OptionGroup({"low": Annotated[int, declared_option()]}, lambda low: (low, low + 1), {"low": 3})]


def test_a_group_of_options_is_one_value():
    seen = []

    def command(*, frames: Frames, name: str = declared_option(default="u1"), ends: Ends) -> None:
        seen.append((frames, name, ends))

    made = made_command(command, "command", Command)
    assert [param.name for param in made.params] == ["hop", "first", "name", "low"]
    for typed in ([], ["--from", "2", "--low", "5", "--hop", "0.1", "--name", "u2"]):
        assert CliRunner().invoke(made, typed).exit_code == 0
    assert seen == [(Frames(), "u1", (3, 4)), (Frames(0.1, [], 2), "u2", (5, 6))]


def test_a_group_lists_its_commands_in_order_and_names_the_nearest():
    group = CommandGroup(Command, "Several.")

    @group.subcommand
    def write() -> None:
        """Write."""

    @group.subcommand
    def check_all() -> None:
        """Check."""

    shown = CliRunner().invoke(group, ["--help"]).output
    assert shown.index("write") < shown.index("check-all")
    assert "No such command 'wrte'. Did you mean 'write'?" in CliRunner().invoke(group, ["wrte"]).output

"""Commands of click, made of annotated functions.

A parameter of a command is an argument or an option by what its annotation or its default declares (:func:`argument`,
:func:`declared_option`); its type says how the typed text is converted. A parameter may also be a group of them: its
type is a dataclass whose fields are declared so, or has an :class:`OptionGroup` in its annotation. Click's own
decorators cannot share groups of options by type, and ``eval`` has more than forty.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import click
from click.shell_completion import CompletionItem

Function = TypeVar("Function", bound=Callable[..., None])
Complete = Callable[[str], list[str]]
REQUIRED = ...  # the default of an option that must be given


@dataclass(frozen=True)
class Declared:
    """An argument or an option: what is said of it besides its type."""

    is_argument: bool
    names: tuple[str, ...]
    default: Any
    complete: Complete | None
    settings: dict[str, Any] = field(hash=False)


def argument(*, help: str, complete: Complete | None = None, **settings: Any) -> Any:
    """Declare an argument in the annotation of a parameter; ``settings`` are click's."""
    return Declared(True, (), REQUIRED, complete, {"help": help, **settings})


def declared_option(*names: str, default: Any = None, complete: Complete | None = None, **settings: Any) -> Any:
    """Declare an option; ``settings`` are click's, and ``min`` and ``max`` of a number."""
    return Declared(False, names, default, complete, settings)


class Argument(click.Argument):
    """An argument that has help."""

    def __init__(self, *names: Any, help: str = "", **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.about = help

    def make_metavar(self, ctx: click.Context) -> str:
        """Spelling in the usage line: in brackets if it may be left out, with dots if it may be repeated."""
        named = self.metavar or str(self.name).upper()
        return (named if self.required else f"[{named}]") + ("..." if self.nargs == -1 and "..." not in named else "")

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """The row of the help page."""
        return self.metavar or str(self.name).upper(), self.about + ("  [required]" if self.required else "")


class Number(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A number, within bounds if there are any; the message says what to type instead of a unit."""

    def __init__(
        self, kind: type, least: float | None = None, most: float | None = None, as_printed: bool = False
    ) -> None:
        self.name = kind.__name__
        self._kind, self._least, self._most, self._as_printed = kind, least, most, as_printed

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number that was typed."""
        try:
            number = self._kind(value)
        except ValueError:
            self.fail(not_a_number(value, self._kind, self._as_printed), param, ctx)
        if self._least is not None and not number >= self._least:
            self.fail(f"{value!r} should be greater than or equal to {self._least}", param, ctx)
        if self._most is not None and not number <= self._most:
            self.fail(f"{value!r} should be less than or equal to {self._most}", param, ctx)
        return number


class Name(click.Choice):  # type: ignore[type-arg]  # generic since click 8.2
    """One of some names, in any case; a file in its place is told where files go."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name that was typed."""
        if isinstance(param, Argument) and value not in self.choices and Path(value).exists():
            first = f"{param.metavar or str(param.name).upper()} comes before files"
            self.fail(f"{value!r} is a file; {first}, and is one of {', '.join(self.choices)}", param, ctx)
        return super().convert(value, param, ctx)


def not_a_number(typed: str, kind: type, as_printed: bool = False) -> str:
    """Reason why a text is refused in the place of a number, which is in per cent if it is taken ``as_printed``.

    >>> not_a_number("20ms", float)
    "'20ms' is not a number; times are in seconds: 20 ms is 0.02"
    >>> not_a_number("5 %", float)
    "'5 %' is not a number; shares are fractions: 5 % is 0.05"
    >>> not_a_number("5 %", float, as_printed=True)
    "'5 %' is not a number; the unit is the printed one: write 5"
    >>> not_a_number("0,02", float)
    "'0,02' is not a number; write 0.02"
    >>> not_a_number("1,000", int)
    "'1,000' is not a whole number; write 1000"
    >>> not_a_number("1.5", int)
    "'1.5' is not a whole number"
    """
    message = f"{typed!r} is not {'a whole number' if kind is int else 'a number'}"
    if as_printed and (number := typed.removesuffix("%").strip()) != typed and number.replace(".", "", 1).isdecimal():
        return f"{message}; the unit is the printed one: write {number}"
    for unit, size, remedy in (("ms", 1000, "times are in seconds: {} ms"), ("%", 100, "shares are fractions: {} %")):
        number = typed.removesuffix(unit).strip()
        if number != typed and number.replace(".", "", 1).isdecimal():
            return f"{message}; {remedy.format(number)} is {float(number) / size:g}"
    if re.fullmatch(r"\d{1,3}(,\d{3})+", typed):
        return f"{message}; write {typed.replace(',', '')}"
    plain = typed.replace(",", ".").removesuffix("s").strip()
    is_plain = plain != typed and plain.replace(".", "", 1).isdecimal()
    if is_plain and (kind is not int or float(plain).is_integer()):
        return f"{message}; write {float(plain):g}"
    return message


@dataclass(frozen=True)
class OptionGroup:
    """Options that a command takes as one value: their types and defaults by name, and what builds the value."""

    flags: Mapping[str, Any]
    build: Callable[..., Any]
    defaults: Mapping[str, Any] = field(default_factory=dict)  # None for the others

    @classmethod
    def of(cls, hint: Any) -> OptionGroup | None:
        """The group that the type of a parameter stands for, if it is one."""
        if get_origin(hint) is Annotated:
            return next((one for one in get_args(hint) if isinstance(one, cls)), None)
        if not (isinstance(hint, type) and is_dataclass(hint)):
            return None
        defaults = {one.name: REQUIRED if one.default is MISSING else one.default for one in fields(hint)}
        return cls(flags_of(hint), hint, defaults)

    def parameters(self) -> list[inspect.Parameter]:
        """The options as parameters of a function."""
        kind = inspect.Parameter.KEYWORD_ONLY
        return [
            inspect.Parameter(name, kind, default=self.defaults.get(name), annotation=hint)
            for name, hint in self.flags.items()
        ]


def flags_of(kind: type) -> dict[str, Any]:
    """The annotations of those fields of a dataclass that are declared as options, in their type or their metadata."""
    found = get_type_hints(kind, include_extras=True)
    for one in fields(kind):
        if "option" in one.metadata:
            found[one.name] = cast(Any, Annotated)[found[one.name], one.metadata["option"]]
    return {one.name: found[one.name] for one in fields(kind) if get_origin(found[one.name]) is Annotated}


def filled_in_by(fill_in: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Function], Function]:
    """Let a function see, and change, the values of all options before their groups are built."""

    def decorate(command: Function) -> Function:
        command.fill_in = fill_in  # type: ignore[attr-defined]
        return command

    return decorate


def made_command(function: Callable[..., None], name: str, kind: type[click.Command]) -> click.Command:
    """Make a command of a function and its parameters.

    The function gets lists where click has tuples, and None where nothing was typed and there is no default.
    """
    fill_in = getattr(function, "fill_in", None)
    groups: dict[str, OptionGroup] = {}
    parameters: list[click.Parameter] = []
    # not typing.get_type_hints: Python 3.10's makes every parameter with the default None optional once more
    for one in inspect.signature(function, eval_str=True).parameters.values():
        if (group := OptionGroup.of(one.annotation)) is None:
            parameters.append(_parameter(one))
        else:
            groups[one.name] = group
            parameters += map(_parameter, group.parameters())
    may_lack = {one.name for one in parameters if one.default is None}

    @wraps(function)
    def call(**typed: Any) -> None:
        for name, value in typed.items():
            if isinstance(value, tuple):
                typed[name] = None if not value and name in may_lack else list(value)
        if fill_in is not None:
            typed = fill_in(typed)
        for name, group in groups.items():
            typed[name] = group.build(**{flag: typed.pop(flag) for flag in group.flags})
        function(**typed)

    return kind(name, callback=call, params=parameters, help=inspect.cleandoc(function.__doc__ or ""))


def _parameter(parameter: inspect.Parameter) -> click.Parameter:
    hint, declared, default = parameter.annotation, parameter.default, parameter.default
    if get_origin(hint) is Annotated:
        hint, declared = get_args(hint)
    if isinstance(default, Declared):
        default = default.default
    if get_origin(hint) in (UnionType, Union):
        hint = next(one for one in get_args(hint) if one is not type(None))
        default = None if default is inspect.Parameter.empty else default
    several = get_origin(hint) is list
    if several:
        (hint,) = get_args(hint)
    settings = dict(declared.settings)
    bounds = settings.pop("min", None), settings.pop("max", None)
    settings["type"] = _type(hint, *bounds, as_printed=settings.pop("as_printed", False))
    if declared.complete is not None:
        settings["shell_complete"] = _completed(declared.complete)
    required = default in (REQUIRED, inspect.Parameter.empty)
    settings |= {"required": True} if required else {"default": default}
    if declared.is_argument:
        settings["required"] = required
        return Argument([parameter.name], nargs=-1 if several else 1, **settings)
    flag = f"--{parameter.name.replace('_', '-')}"
    names = declared.names or ((f"{flag}/--no-{flag[2:]}",) if hint is bool else (flag,))
    if hint is bool:
        settings["is_flag"] = True
    settings.setdefault("show_default", not (several or default in (None, False, "")))
    return click.Option([parameter.name, *names], multiple=several, **settings)


def _type(hint: Any, least: float | None, most: float | None, as_printed: bool) -> Any:
    if hint in (int, float):
        return Number(hint, least, most, as_printed)
    if get_origin(hint) is Literal:
        return Name(get_args(hint), case_sensitive=False)
    if hint is Path:
        return click.Path(path_type=Path)
    return click.BOOL if hint is bool else click.STRING


def _completed(complete: Complete) -> Callable[..., list[CompletionItem]]:
    def offered(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(one) for one in complete(incomplete)]

    return offered


# What other programs call a command.
OTHER_COMMANDS = {
    **dict.fromkeys(("score", "evaluate", "measure", "eer", "metrics"), "eval"),
    **dict.fromkeys(("train", "fit"), "cm train"),
    **dict.fromkeys(("detect", "predict", "infer", "localize", "localise"), "locate"),
    **dict.fromkeys(("validate", "inspect", "info"), "check"),
    **dict.fromkeys(("significance", "test"), "compare"),
    **dict.fromkeys(("figure", "draw"), "plot"),
    **dict.fromkeys(("html", "page"), "report"),
}


class SuggestingGroup(click.Group):
    """A group that lists commands in the order of declaration, and suggests the one that was meant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in order."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first word names; both running and completing ask here."""
        if not ctx.resilient_parsing and args[0] not in self.commands and not args[0].startswith("-"):
            meant = OTHER_COMMANDS.get(args[0], "")
            near = [meant] if meant.split(" ")[0] in self.commands else get_close_matches(args[0], self.commands, n=1)
            ctx.fail(f"No such command {args[0]!r}." + (f" Did you mean {near[0]!r}?" if near else ""))
        return super().resolve_command(ctx, args)


class CommandGroup(SuggestingGroup):
    """A group of commands, such as those of ``corpus``."""

    def __init__(self, kind: type[click.Command], help: str) -> None:
        super().__init__(help=help, no_args_is_help=True)
        self._kind = kind

    def subcommand(self, function: Function) -> Function:
        """Add a command of the function's name; for use as a decorator."""
        self.add_command(made_command(function, function.__name__.strip("_").replace("_", "-"), self._kind))
        return function

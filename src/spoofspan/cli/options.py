"""Options that several commands share.

Every rule is a flag of the same name, made of its declaration in :mod:`spoofspan.data.rules`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from spoofspan.base import progress
from spoofspan.base.errors import UsageError
from spoofspan.cli import completion
from spoofspan.cli.completion import Complete, among
from spoofspan.data.rules import CONVENTIONS, RULES, Rule
from spoofspan.data.scores import Higher

Command = Callable[..., None]


class Output(str, Enum):
    """How results are printed."""

    text = "text"
    json = "json"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"


def _option(flag: str, about: str, complete: Complete | None = None) -> Any:
    return typer.Option(flag, help=about, autocompletion=complete)


def _words(flag: str, about: str, *words: str) -> Any:
    return _option(flag, about, among(lambda: words))


def _be_quiet(wanted: bool) -> None:
    if wanted:
        progress.hide()


def takes(name: str, flags: Mapping[str, Any], build: Callable[..., Any]) -> Callable[[Command], Command]:
    """Give a command flags in the place of its parameter ``name``, which gets what is built of them.

    The flags default to None; typer sees them as if they were written in the command's signature.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_flags(**typed: Any) -> None:
            built = build(**{flag: typed.pop(flag) for flag in flags})
            command(**typed, **{name: built})

        keyword = inspect.Parameter.KEYWORD_ONLY
        shared = [inspect.Parameter(flag, keyword, default=None, annotation=kind) for flag, kind in flags.items()]
        own = inspect.signature(command, eval_str=True)
        parameters = [
            one
            for parameter in own.parameters.values()
            for one in (shared if parameter.name == name else [parameter.replace(kind=keyword)])
        ]
        # typer reads both
        with_flags.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        with_flags.__annotations__ = {one.name: one.annotation for one in parameters}
        return with_flags

    return decorate


# ---------------------------------------------------------------- files

ReferencesPath = Annotated[
    str | None, typer.Argument(metavar="REFERENCES", help="Reference file, folder, glob or - (stdin).")
]
ScoresPath = Annotated[
    str | None, typer.Argument(metavar="SCORES", help="Score (or proposal) file, folder, glob or - (stdin).")
]
DatasetSpec = Annotated[
    str | None,
    _words("--dataset", "References of a database by its folder: partialspoof:FOLDER:SET.", "partialspoof:"),
]
ReferenceSource = Annotated[
    str | None,
    _option(
        "--reference-source",
        "Which labels of the database: an RTTM by its name, or segment_labels@20ms.",
        among(completion.reference_sources),
    ),
]
ReferenceFormat = Annotated[
    str | None, _option("--reference-format", "Format, if not recognised.", among(completion.reference_formats))
]
ScoresFormat = Annotated[
    str | None, _option("--scores-format", "Format, if not recognised.", among(completion.system_formats))
]
Durations = Annotated[str | None, _option("--durations", "reco2dur file: <utt> <seconds>.")]
Hop = Annotated[float | None, _option("--hop", "Spacing of the scores, and of label arrays, in seconds.")]
ReferenceHop = Annotated[float | None, _option("--reference-hop", "Spacing of label arrays, where it is another.")]
HigherOption = Annotated[
    str | None, _words("--higher", "What high scores mean: bonafide or spoof.", "bonafide", "spoof")
]
Split = Annotated[str | None, _option("--split", "Which part of metadata that hold several, such as test.")]
LabelIds = Annotated[str | None, _option("--label2id", "JSON file: which column of an archive is which class.")]
Column = Annotated[str | None, _option("--column", "Which column holds the score.")]
Convention = Annotated[
    str, _option("--convention", f"Set of rules: {', '.join(CONVENTIONS)}.", among(completion.conventions))
]
EerRule = Annotated[
    str | None,
    _option(
        "--eer-rule",
        "nearest, interpolated, convex-hull, bucketed(lo,hi,n) or bucketed(2max,n).",
        among(completion.eer_rules),
    ),
]
OutputFormat = Annotated[Output, _option("--format", "How to print the result.")]
Out = Annotated[Path | None, _option("--out", "Write the result to this file instead of stdout.")]
Force = Annotated[bool, _option("--force", "Overwrite an existing file.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", callback=_be_quiet, help="Show no progress.")]


def polarity(higher: str | None) -> Higher | None:
    """Check what high scores mean."""
    if higher not in (None, "bonafide", "spoof"):
        raise UsageError(f"--higher {higher}: must be bonafide or spoof")
    return cast("Higher | None", higher)


# ---------------------------------------------------------------- rules


def _rule_flag(rule: Rule) -> Any:
    """The flag of a rule: numbers and switches are typed, everything else is text."""
    flag = f"--{rule.name.replace('_', '-')}"
    typed = {"seconds": float, "flag": bool}.get(rule.kind, str)
    option = _words(flag, rule.help, *rule.values) if rule.values else _option(flag, rule.help)
    return cast(Any, Annotated)[typed | None, option]


def given_rules(**flags: Any) -> dict[str, Any]:
    """Keep the rules that were given; a label may be a number, regions are read from their file."""
    rules = {name: value for name, value in flags.items() if value is not None}
    if "label" in rules:
        with suppress(ValueError):
            rules["label"] = float(rules["label"])
    if "regions" in rules:
        from spoofspan.formats.text.rttm import read_regions

        rules["regions"] = read_regions(rules["regions"])
    return rules


def _takes_rules_of(measure: str) -> Callable[[Command], Command]:
    return takes("rules", {name: _rule_flag(rule) for name, rule in RULES.items() if measure in rule.of}, given_rules)


takes_rules = _takes_rules_of("point")
# Rules of points mean nothing to a command that measures no points.
takes_range_rules = _takes_rules_of("range")


# ---------------------------------------------------------------- results


def must_be_free(*targets: str | Path | None, force: bool) -> None:
    """Refuse before long work what writing would refuse after it."""
    from spoofspan.formats.writing import check_target

    for target in targets:
        if target is not None and str(target) != "-":
            check_target(Path(target).expanduser(), force)


def deliver(text: str, out: Path | None, force: bool) -> None:
    """Print a result, or write it to a file, whole or not at all."""
    if out is None:
        typer.echo(text, nl=False)
        return
    from spoofspan.formats.writing import write_atomically

    write_atomically(out, [text.encode()], force)

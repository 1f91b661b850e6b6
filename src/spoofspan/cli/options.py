"""Options of the commands, and how a result is printed.

A flag of one command is the default of its parameter (:func:`flag`); one of several commands is a type of this module.
Every rule is a flag of the same name, made of its declaration in :mod:`spoofspan.data.rules`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import field, fields
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

import typer

from spoofspan.base import progress
from spoofspan.base.errors import UsageError
from spoofspan.cli import completion
from spoofspan.cli.completion import Names, among
from spoofspan.data.rules import CONVENTIONS, RULES, Rule
from spoofspan.data.scores import Higher

if TYPE_CHECKING:
    from spoofspan.report.table import Table

Command = Callable[..., None]


class Output(str, Enum):
    """How results are printed."""

    text = "text"
    json = "json"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"
    html = "html"


# What the name of a file says of its content; .gz and .zst after it pack it.
ENDINGS = {
    ".txt": Output.text,
    ".json": Output.json,
    ".md": Output.markdown,
    ".tex": Output.latex,
    ".csv": Output.csv,
    ".html": Output.html,
}


def flag(default: Any, about: str, *names: str, of: Names = (), **more: Any) -> Any:
    """The default of a command's parameter that is a flag, with its help; the shell completes names ``of`` these."""
    return typer.Option(default, *names, help=about, autocompletion=among(of) if of else None, **more)


def typed_flag(about: str, *names: str, default: Any = None, of: Names = (), **more: Any) -> Any:
    """A flag in a dataclass of flags (:func:`takes_options`), with its value if it is not typed."""
    return field(default=default, metadata={"option": option(about, *names, of=of, **more)})


def option(about: str, *names: str, of: Names = (), **more: Any) -> Any:
    """What a type says of a flag."""
    return typer.Option(*names, help=about, autocompletion=among(of) if of else None, **more)


def measure_flag(default: Any, about: str) -> Any:
    """The flag that says what is measured; the shell completes the names of measures."""
    return flag(default, about, "--measure", "-m", of=completion.measures)


def _be_quiet(wanted: bool) -> bool:
    if wanted:
        progress.hide()
    return wanted  # what a callback returns is what the command gets


def _by_ending(context: typer.Context, out: Path | None) -> Path | None:
    """Let the name that follows ``--out`` say the format of the result; ``--format`` is read before it."""
    if out is None or context.resilient_parsing:
        return out
    ending = Path(out.name.removesuffix(".gz").removesuffix(".zst")).suffix.lower()
    named = ENDINGS.get(ending)
    source = context.get_parameter_source("output")
    given = context.params["output"]
    typed = Output(given) if source is not None and source.name == "COMMANDLINE" else None
    if typed is None and named is None and ending:
        raise UsageError(f"--out {out}: the ending must be one of {', '.join(ENDINGS)}; for any other give --format")
    if typed is not None and named is not None and typed is not named:
        raise UsageError(
            f"--out {out} means --format {named.value}, and --format {typed.value} was given; leave --format out, or "
            f"choose a name that ends in {next(end for end, one in ENDINGS.items() if one is typed)}"
        )
    chosen = typed or named or Output.text
    context.params["output"] = chosen if isinstance(given, Output) else chosen.value  # typer before 0.16 has words
    return out


def takes(
    name: str, flags: Mapping[str, Any], build: Callable[..., Any], defaults: Mapping[str, Any] | None = None
) -> Callable[[Command], Command]:
    """Replace the parameter ``name`` of a command by a group of flags; the command gets what is built of them.

    The flags default to None where ``defaults`` has nothing; typer sees them as if they were written in the command's
    signature.
    """
    values = defaults or {}

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_flags(**typed: Any) -> None:
            built = build(**{flag: typed.pop(flag) for flag in flags})
            command(**typed, **{name: built})

        keyword = inspect.Parameter.KEYWORD_ONLY
        shared = [
            inspect.Parameter(flag, keyword, default=values.get(flag), annotation=kind) for flag, kind in flags.items()
        ]
        own = inspect.signature(command, eval_str=True)
        parameters = [
            one
            for parameter in own.parameters.values()
            for one in (shared if parameter.name == name else [parameter.replace(kind=keyword)])
        ]
        return with_parameters(with_flags, parameters)

    return decorate


def with_parameters(command: Command, parameters: list[inspect.Parameter]) -> Command:
    """Let typer see these parameters of a command; it reads both its signature and its annotations."""
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def takes_options(name: str, options: type) -> Callable[[Command], Command]:
    """Give a command the flags that are the fields of a dataclass, in the place of its parameter ``name``."""
    types = get_type_hints(options, include_extras=True)
    flags = {one.name: cast(Any, Annotated)[types[one.name], one.metadata["option"]] for one in fields(options)}
    return takes(name, flags, options, {one.name: one.default for one in fields(options)})


def refuse_typed(flags: object, names: Iterable[str], why: str) -> None:
    """Refuse the first of some flags, attributes of ``flags``, that was typed."""
    for name in names:
        if getattr(flags, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')} {why}")


# ---------------------------------------------------------------- files

ReferencesPath = Annotated[
    str | None, typer.Argument(metavar="REFERENCES", help="Reference file, folder, glob or - (stdin).")
]
ScoresPath = Annotated[
    str | None, typer.Argument(metavar="SCORES", help="Score (or proposal) file, folder, glob or - (stdin).")
]
DatasetSpec = Annotated[
    str | None,
    option(
        "References of a database: partialspoof:FOLDER:SET. Also av-deepfake1m, had, lav-df, llamapartialspoof.",
        of=["partialspoof:", "av-deepfake1m:", "had:", "lav-df:", "llamapartialspoof:"],
    ),
]
LABELS_OF_DATABASE = "Which labels of the database: an RTTM by its name, or segment_labels@20ms."
ReferenceSource = Annotated[str | None, option(LABELS_OF_DATABASE, of=completion.reference_sources)]
ReferenceFormat = Annotated[
    str | None, option("Format of the references, if not recognised.", of=completion.reference_formats)
]
ScoresFormat = Annotated[str | None, option("Format of the scores, if not recognised.", of=completion.system_formats)]
Durations = Annotated[str | None, option("reco2dur file: <utt> <seconds>.")]
Hop = Annotated[float | None, option("Spacing of scores and label arrays, in seconds.")]
ReferenceHop = Annotated[float | None, option("Spacing of label arrays in seconds, if it is not --hop.")]
HigherOption = Annotated[str | None, option("What high scores mean: bonafide or spoof.", of=["bonafide", "spoof"])]
Split = Annotated[str | None, option("Which split of audio-visual metadata, such as test.")]
Modality = Annotated[str | None, option(RULES["modality"].help, of=RULES["modality"].values)]
Subset = Annotated[
    str | None,
    option("Which files of LAV-DF count: full, subset_for_visual_only (or visual), subset_for_audio_only (or audio)."),
]
SpoofLabel = Annotated[
    int | None, option("Which of the labels 0 and 1 means spoof, in arrays and tables of numbers.", of=["0", "1"])
]
BareIds = Annotated[
    bool | None,
    option("Ids without folders and endings of sound files, in every file: wav/u1.flac is u1.", "--bare-ids"),
]
LabelIds = Annotated[str | None, option("JSON file: which column of an archive is which class.")]
Column = Annotated[str | None, option("Which column holds the score.")]
Metadata = Annotated[
    str | None, option("Table with a column utterance, or a protocol. It names speakers, attacks, codecs, ...")
]

# ---------------------------------------------------------------- measuring, printing

Convention = Annotated[str, option(f"Named set of rules. One of {', '.join(CONVENTIONS)}.", of=completion.conventions)]
EER_RULE_NAMES = "nearest, interpolated, convex-hull, bucketed(lo,hi,n) or bucketed(2max,n)."
EerRule = Annotated[
    str | None,
    option(f"How the EER is read off. {EER_RULE_NAMES}", of=completion.eer_rules, show_default="the convention's"),
]
ScoresAre = Annotated[
    str | None, option("What scores are: llr or probability. Cllr, actDCF and other measures of calibration need it.")
]
OutputFormat = Annotated[
    Output, option("text, json, markdown, latex, csv or html.", "--format", metavar="FORMAT", is_eager=True)
]
Out = Annotated[
    Path | None,
    option(
        f"Write the result to this file, in the format of its ending. One of {', '.join(ENDINGS)}.",
        callback=_by_ending,
    ),
]
FullSignature = Annotated[bool, option("Print signatures in full.", "--signature")]
Force = Annotated[bool, option("Overwrite an existing file.", "--force")]
ABOUT_TRUNCATED = "Sound files with fewer samples than their header states: error, or use (what is there)."
Truncated = Annotated[str, option(ABOUT_TRUNCATED, of=("error", "use"))]
ABOUT_DEVICE = "cpu, cuda, cuda:0; without it, a GPU if there is one."
Device = Annotated[str | None, option(ABOUT_DEVICE)]
Quiet = Annotated[bool, option("Show no progress.", "--quiet", "-q", callback=_be_quiet)]


def polarity(higher: str | None) -> Higher | None:
    """Check what high scores mean."""
    if higher not in (None, "bonafide", "spoof"):
        raise UsageError(f"--higher {higher}: must be bonafide or spoof")
    return cast("Higher | None", higher)


# ---------------------------------------------------------------- rules


def _rule_flag(rule: Rule) -> Any:
    """The flag of a rule: numbers and switches are typed, everything else is text."""
    typed = {"seconds": float, "flag": bool}.get(rule.kind, str)
    about = option(rule.help, f"--{rule.name.replace('_', '-')}", of=rule.values)
    return cast(Any, Annotated)[typed | None, about]


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
    for target in targets:
        if target is not None and str(target) != "-":
            from spoofspan.formats.writing import check_target

            check_target(Path(target).expanduser(), force)


def say(notes: Iterable[str]) -> None:
    """Say on stderr what is not a result."""
    for note in notes:
        typer.echo(note, err=True)


def deliver(text: str, output: Output, out: Path | None = None, force: bool = False) -> None:
    """Print a result, or write it to a file, whole or not at all."""
    if output is Output.html:
        from spoofspan.report.table import html_document

        text = html_document(text)
    if out is None:
        typer.echo(text, nl=False)
        return
    from spoofspan.formats.writing import write_atomically

    write_atomically(out, [text.encode()], force)


def write_page(page: str, out: Path, force: bool) -> None:
    """Write a page for a browser, and say how large it is."""
    from spoofspan.formats.writing import write_atomically

    data = page.encode()
    write_atomically(out, [data], force)
    typer.echo(f"{out}: {len(data) / 1e6:.1f} MB, open it in a browser", err=True)


def show(plain: Any, tables: Iterable[Table], output: Output, out: Path | None = None, force: bool = False) -> None:
    """Print plain data (``--format json``) or the tables that say the same, or write them to a file."""
    from spoofspan.report.table import json_text

    if output is Output.json:
        deliver(json_text(plain), output, out, force)
    else:
        deliver("\n".join(table.render(output.value) for table in tables), output, out, force)

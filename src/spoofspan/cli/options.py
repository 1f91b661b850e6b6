"""Options of the commands, and how a result is printed.

A flag of one command is the default of its parameter (:func:`flag`); one of several commands, or a group of them, is a
type of this module. Every rule is a flag of the same name, made of its declaration in :mod:`spoofspan.data.rules`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import click
from click.core import ParameterSource

from spoofspan.base import progress
from spoofspan.base.errors import UsageError
from spoofspan.base.terminal import screen_of
from spoofspan.cli import completion
from spoofspan.cli.completion import Names, among
from spoofspan.cli.declarations import OptionGroup, argument, declared_option
from spoofspan.data.rules import CONVENTIONS, RULES, Rule
from spoofspan.uncertainty.methods import DEFAULT_METHOD, METHODS

if TYPE_CHECKING:
    from spoofspan.formats.sources import Where
    from spoofspan.report.table import Table
    from spoofspan.uncertainty import Resampling

# Switches of packages that are imported later, and print of their own accord.
OTHERS_QUIET = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "TRANSFORMERS_VERBOSITY": "error"}
# What the name of a file says of its content; .gz and .zst after it pack it.
ENDINGS = {".txt": "text", ".json": "json", ".md": "markdown", ".tex": "latex", ".csv": "csv", ".html": "html"}


def flag(default: Any, about: str, *names: str, of: Names = (), **more: Any) -> Any:
    """The default of a command's parameter that is a flag, with its help; the shell completes names ``of`` these."""
    return declared_option(*names, default=default, help=about, complete=among(of) if of else None, **more)


def typed_flag(about: str, *names: str, default: Any = None, of: Names = (), **more: Any) -> Any:
    """A flag in a dataclass of flags, with its value if it is not typed."""
    return field(default=default, metadata={"option": option(about, *names, of=of, **more)})


def option(about: str, *names: str, of: Names = (), **more: Any) -> Any:
    """Description of a flag, for its type."""
    return declared_option(*names, help=about, complete=among(of) if of else None, **more)


def measure_flag(default: Any, about: str) -> Any:
    """The flag that says what is measured; the shell completes the names of measures."""
    return flag(default, about, "--measure", "-m", of=completion.measures)


def _be_quiet(_context: click.Context, _parameter: click.Parameter, wanted: bool) -> bool:
    if wanted:
        progress.hide()
        for switch, value in OTHERS_QUIET.items():
            os.environ.setdefault(switch, value)
    return wanted  # what a callback returns is what the command gets


def _by_ending(context: click.Context, _parameter: click.Parameter, out: Path | None) -> Path | None:
    """Let the name that follows ``--out`` say the format of the result; ``--format`` is read before it."""
    if out is None or context.resilient_parsing:
        return out
    ending = Path(out.name.removesuffix(".gz").removesuffix(".zst")).suffix.lower()
    named = ENDINGS.get(ending)
    source = context.get_parameter_source("format")
    typed = context.params["format"] if source is ParameterSource.COMMANDLINE else None
    if typed is None and named is None and ending:
        raise UsageError(f"--out {out}: the ending must be one of {', '.join(ENDINGS)}; for any other give --format")
    if typed is not None and named is not None and typed != named:
        raise UsageError(
            f"--out {out} means --format {named}, and --format {typed} was given; leave --format out, or choose a name "
            f"that ends in {next(end for end, one in ENDINGS.items() if one == typed)}"
        )
    context.params["format"] = typed or named or "text"
    return out


def typed_values(flags: object, names: Iterable[str]) -> dict[str, Any]:
    """Those of some flags, attributes of ``flags``, that were typed, with their values."""
    return {name: value for name in names if (value := getattr(flags, name)) is not None}


def refuse_typed(flags: object, names: Iterable[str], why: str) -> None:
    """Refuse the first of some flags, attributes of ``flags``, that was typed."""
    for name in typed_values(flags, names):
        raise UsageError(f"--{name.replace('_', '-')} {why}")


# ---------------------------------------------------------------- files

ReferencesPath = Annotated[
    str | None, argument(metavar="REFERENCES", help="Reference file, folder, glob or - (stdin).")
]
ScoresPath = Annotated[
    str | None, argument(metavar="SCORES", help="Score (or proposal) file, folder, glob or - (stdin).")
]
DatasetSpec = Annotated[
    str | None,
    option(
        "References of a database: partialspoof:FOLDER:SET. Also av-deepfake1m, had, lav-df, llamapartialspoof.",
        of=["partialspoof:", "av-deepfake1m:", "had:", "lav-df:", "llamapartialspoof:"],
    ),
]
LABELS_OF_DATABASE = "Labels to take from the database: an RTTM by its name, or segment_labels@20ms."
ReferenceSource = Annotated[str | None, option(LABELS_OF_DATABASE, of=completion.reference_sources)]
ReferenceFormat = Annotated[
    str | None, option("Format of the references, if not recognised.", of=completion.reference_formats)
]
ScoresFormat = Annotated[str | None, option("Format of the scores, if not recognised.", of=completion.system_formats)]
Durations = Annotated[str | None, option("reco2dur file: <utt> <seconds>.")]
Hop = Annotated[float | None, option("Frame shift of scores and label arrays, in seconds.")]
TrainingResolution = Annotated[
    str | None, option("Training resolution of the systems in ms, such as 160; notes on points refer to it.")
]
ReferenceHop = Annotated[float | None, option("Frame shift of label arrays in seconds, if it differs from --hop.")]
HigherOption = Annotated[str | None, option("Class with high scores: bonafide or spoof.", of=["bonafide", "spoof"])]
Split = Annotated[str | None, option("Split of audio-visual metadata, such as test.")]
Modality = Annotated[str | None, option(RULES["modality"].help, of=RULES["modality"].values)]
Subset = Annotated[
    str | None,
    option("Protocol of LAV-DF: full, subset_for_visual_only (or visual), subset_for_audio_only (or audio)."),
]
SpoofLabel = Annotated[
    int | None, option("Label that means spoof in arrays and tables of numbers: 0 or 1.", of=["0", "1"])
]
BareIds = Annotated[
    bool | None,
    option("Remove folders and sound file extensions from ids in every file: wav/u1.flac is u1.", "--bare-ids"),
]
LabelIds = Annotated[str | None, option("JSON file with the class of each column of an archive.")]
Column = Annotated[str | None, option("Column with the scores.")]
Metadata = Annotated[
    str | None, option("Table with a column utterance, or a protocol. It states speakers, attacks, codecs, ...")
]

# ---------------------------------------------------------------- measuring, printing

Convention = Annotated[str, option(f"Named set of rules. One of {', '.join(CONVENTIONS)}.", of=completion.conventions)]
EER_RULE_NAMES = "nearest, interpolated, convex-hull, bucketed(lo,hi,n) or bucketed(2max,n)."
EerRule = Annotated[
    str | None,
    option(
        f"How the EER is computed from the error curve. {EER_RULE_NAMES}",
        of=completion.eer_rules,
        show_default="the convention's",
    ),
]
ScoresAre = Annotated[
    str | None,
    option("Meaning of the scores: llr or probability. Cllr, actDCF and other measures of calibration need it."),
]
Format = Annotated[
    Literal["text", "json", "markdown", "latex", "csv", "html"],
    option("text, json, markdown, latex, csv or html.", "--format", metavar="FORMAT", is_eager=True),
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
ABOUT_CODE = "Permit a model to import and run the code that its configuration names."
AllowCode = Annotated[bool, option(ABOUT_CODE, "--allow-code")]
Jobs = Annotated[int | None, option("Processes; one per core by default.", "--jobs", "-j")]
Quiet = Annotated[bool, option("Show no progress.", "--quiet", "-q", callback=_be_quiet)]


# ---------------------------------------------------------------- lists


def words_in(text: str) -> list[str]:
    """Words as they are typed, with commas between them."""
    return [word.strip() for word in text.split(",") if word.strip()]


def resolutions_in(text: str, flag: str, form: str = "milliseconds, with commas between them: 10,20,40") -> list[float]:
    """Resolutions (seconds) as they are typed: in ms, or with a unit, as in measures."""
    from spoofspan.measures.measure import Measure

    spelled = [word if word.endswith("s") else f"{word}ms" for word in words_in(text)]
    try:
        found = [float(Measure.parse(f"point-eer@{one}").resolution or 0) for one in spelled]
    except UsageError:
        found = []
    if not found or min(found) < 0.001:  # under a millisecond: seconds, probably
        raise UsageError(f"{flag} {text}: write {form}")
    return found


def resolution_in(text: str, flag: str) -> float:
    """The only resolution that is typed, in seconds."""
    found = resolutions_in(text, flag, "milliseconds, such as 160")
    if len(found) > 1:
        raise UsageError(f"{flag} {text}: give points of one resolution, such as 160")
    return found[0]


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


def _rules_of(measure: str, **more: Any) -> OptionGroup:
    rules = {name: _rule_flag(rule) for name, rule in RULES.items() if measure in rule.of}
    return OptionGroup({"convention": Convention, **more, **rules}, given_rules, {"convention": "default"})


# The convention, the EER rule and the rules, as keyword arguments of measuring functions.
PointRules = Annotated[dict[str, Any], _rules_of("point", eer_rule=EerRule)]
# Rules of points mean nothing to a command that measures no points.
RangeRules = Annotated[dict[str, Any], _rules_of("range")]


# ---------------------------------------------------------------- groups of flags


@dataclass(frozen=True)
class RangeOptions:
    """Options for making ranges from scores, besides the threshold."""

    smoothing: int | None = typed_flag("Ranges: median filter over this many frames (odd).", "--smoothing", "--smooth")
    merge_gap: float | None = typed_flag("Ranges: bridge gaps of up to this many seconds.")
    min_duration: float | None = typed_flag("Ranges: drop ranges shorter than this (seconds).")

    def arguments(self) -> dict[str, Any]:
        """Given options as arguments of the functions that make ranges."""
        return typed_values(self, RangeOptions.__dataclass_fields__)

    def refuse_any(self, why: str) -> None:
        """Refuse options that mean nothing here."""
        refuse_typed(self, self.arguments(), why)


@dataclass(frozen=True)
class BootstrapOptions:
    """Flags of intervals: what is left out or resampled, and how; None for those that were not typed."""

    confidence: float | None = typed_flag("Level of intervals, such as 0.95.")
    cluster: list[str] | None = typed_flag(
        "Unit of resampling. A column of --metadata, or utterance; speaker,attack holds for new attacks too.",
        of=["speaker", "speaker,attack", "utterance"],
        show_default="speaker, if known",
    )
    interval: str | None = typed_flag(
        "jackknife-t, percentile or bca. The last two draw bootstrap replicates.",
        of=list(METHODS),
        show_default=DEFAULT_METHOD,
    )
    replicates: int | None = typed_flag("Number of bootstrap replicates.", show_default="2000")
    seed: int | None = typed_flag("Seed of the bootstrap.", show_default="0")

    def resampling_if_asked(self, metadata: Where | Sequence[Where] | None, bare_ids: bool | None) -> Resampling | None:
        """Resampling, if intervals are asked for; flags that only make sense with them are refused without."""
        if self.confidence is not None:
            return self.resampling(metadata, bare_ids)
        refuse_typed(self, vars(self), "goes with --confidence, as in --confidence 0.95")
        return None

    def resampling(
        self, metadata: Where | Sequence[Where] | None, bare_ids: bool | None, replicates: int | None = None
    ) -> Resampling:
        """Resampling by a column of the metadata, speakers if it has them, utterances otherwise.

        ``replicates`` is their default number.
        """
        from spoofspan.uncertainty import Resampling

        told: dict[str, Any] = {} if replicates is None else {"replicates": replicates}
        told |= typed_values(self, ("confidence", "replicates", "seed"))
        told |= {} if self.interval is None else {"method": self.interval}
        return Resampling(**told, **cluster_arguments(metadata, self.cluster, bare_ids))


def cluster_arguments(
    metadata: Where | Sequence[Where] | None, typed: Sequence[str] | None, bare_ids: bool | None
) -> dict[str, Any]:
    """Clusters of utterances, as arguments: by columns of the metadata, or by speakers if it has them."""
    from spoofspan.formats.text.protocol import read_clusters

    factors = read_clusters(metadata, typed, bare_ids=bare_ids)
    if len(factors) != 1:
        return {"clusters": factors} if factors else {}
    ((name, column),) = factors.items()
    return {"clusters_are": name, "clusters": column}


# ---------------------------------------------------------------- results


def must_be_free(*targets: str | Path | None, force: bool) -> None:
    """Fail fast if an output file cannot be written."""
    for target in targets:
        if target is not None and str(target) != "-":
            from spoofspan.formats.writing import check_target

            check_target(Path(target).expanduser(), force)


def say(notes: Iterable[str]) -> None:
    """Say on stderr what is not a result."""
    screen = screen_of(sys.stderr)
    for line in notes if screen is None else screen.lines(notes):
        click.echo(line, err=True)


@dataclass(frozen=True)
class Output:
    """Format and file of a result; a file that cannot be written is refused before any work."""

    format: Format = "text"
    out: Out = None
    force: Force = False
    quiet: Quiet = False

    def __post_init__(self) -> None:
        must_be_free(self.out, force=self.force)

    def show(self, plain: Any, tables: Iterable[Table]) -> None:
        """Print plain data (``--format json``) or the tables that say the same, or write them to a file.

        Plain data that take long to make are given as a function.
        """
        from spoofspan.report.table import json_text

        if self.format == "json":
            self.deliver(json_text(plain() if callable(plain) else plain))
        else:
            self.deliver("\n".join(table.render(self.format) for table in tables))

    def deliver(self, text: str) -> None:
        """Print a result, or write it to a file, whole or not at all."""
        if self.format == "html":
            from spoofspan.report.table import html_document

            text = html_document(text)
        if self.out is None:
            click.echo(text, nl=False)
            return
        from spoofspan.formats.writing import write_atomically

        write_atomically(self.out, [text.encode()], self.force)


def write_page(page: str, out: Path, force: bool) -> None:
    """Write a page for a browser, and say how large it is."""
    from spoofspan.formats.writing import write_atomically

    data = page.encode()
    write_atomically(out, [data], force)
    click.echo(f"{out}: {len(data) / 1e6:.1f} MB, open it in a browser", err=True)

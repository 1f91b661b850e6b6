"""Options that several commands share: every rule is a flag of the same name."""

from __future__ import annotations

from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from spoofspan.errors import UsageError
from spoofspan.rules import CHOICES, CONVENTIONS
from spoofspan.scores import Higher


class Output(str, Enum):
    """How results are printed."""

    text = "text"
    json = "json"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"


def _choice(rule: str, about: str) -> Any:
    return typer.Option(
        f"--{rule.replace('_', '-')}", help=f"{about} [{'|'.join(CHOICES[rule])}]", rich_help_panel="Rules"
    )


def _rule(name: str, about: str) -> Any:
    return typer.Option(f"--{name.replace('_', '-')}", help=about, rich_help_panel="Rules")


ReferencesPath = Annotated[str, typer.Argument(metavar="REFERENCES", help="Reference file, folder, glob or - (stdin).")]
ScoresPath = Annotated[str, typer.Argument(metavar="SCORES", help="Score file, folder, glob or - (stdin).")]
ReferenceFormat = Annotated[str | None, typer.Option("--reference-format", help="Format, if not recognised.")]
ScoresFormat = Annotated[str | None, typer.Option("--scores-format", help="Format, if not recognised.")]
Durations = Annotated[str | None, typer.Option("--durations", help="reco2dur file: <utt> <seconds>.")]
Hop = Annotated[float | None, typer.Option("--hop", help="Spacing of the scores in seconds.")]
HigherOption = Annotated[str | None, typer.Option("--higher", help="What high scores mean: bonafide or spoof.")]
Column = Annotated[str | None, typer.Option("--column", help="Which column holds the score.")]
Convention = Annotated[str, typer.Option("--convention", help=f"Set of rules: {', '.join(CONVENTIONS)}.")]
EerRule = Annotated[
    str | None,
    typer.Option("--eer-rule", help="nearest, interpolated, convex-hull, bucketed(lo,hi,n) or bucketed(2max,n)."),
]
OutputFormat = Annotated[Output, typer.Option("--format", help="How to print the result.")]
Out = Annotated[Path | None, typer.Option("--out", help="Write the result to this file instead of stdout.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]

Gaps = Annotated[str | None, _choice("gaps", "Time without a label.")]
Snap = Annotated[float | None, _rule("snap", "Join edges that miss each other by up to this many seconds.")]
Extent = Annotated[str | None, _choice("extent", "Where an utterance ends.")]
Nonspeech = Annotated[str | None, _choice("nonspeech", "Ranges labelled non-speech.")]
Uncovered = Annotated[str | None, _choice("uncovered", "Time without a score.")]
Slack = Annotated[float | None, _rule("slack", "Missing tail that is held in any case, in seconds.")]
Overlong = Annotated[str | None, _choice("overlong", "Scores after the end.")]
LastFrame = Annotated[str | None, _choice("last_frame", "A last frame that sticks out.")]
Overlap = Annotated[str | None, _choice("overlap", "Score windows that overlap.")]
Regions = Annotated[str | None, _rule("regions", "UEM file: the time that counts.")]
Collar = Annotated[float | None, _rule("collar", "Ignore this many seconds around each boundary.")]
Partial = Annotated[bool | None, _rule("partial", "Measure only the utterances that both sides have.")]
Utterances = Annotated[str | None, _choice("utterances", "Which utterances count.")]
Label = Annotated[str | None, _rule("label", "Label of a point: any, majority, rounded, or a fraction.")]
LastPoint = Annotated[str | None, _choice("last_point", "The last, shorter point.")]


def polarity(higher: str | None) -> Higher | None:
    """Check what high scores mean."""
    if higher not in (None, "bonafide", "spoof"):
        raise UsageError(f"--higher {higher}: must be bonafide or spoof")
    return cast("Higher | None", higher)


def given_rules(**flags: Any) -> dict[str, Any]:
    """Keep the rules that were given; a label may be a number, regions are read from their file."""
    rules = {name: value for name, value in flags.items() if value is not None}
    if "label" in rules:
        with suppress(ValueError):
            rules["label"] = float(rules["label"])
    if "regions" in rules:
        from spoofspan.formats.uem import read_regions

        rules["regions"] = read_regions(rules["regions"])
    return rules


def deliver(text: str, out: Path | None, force: bool) -> None:
    """Print a result, or write it to a file, whole or not at all."""
    if out is None:
        typer.echo(text, nl=False)
        return
    from spoofspan.formats.writing import write_atomically

    write_atomically(out, [text.encode()], force)

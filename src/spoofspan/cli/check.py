"""``spoofspan check``: whether files can be measured."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import click

from spoofspan.base.errors import UsageError
from spoofspan.cli import options as o
from spoofspan.cli.inputs import Inputs
from spoofspan.cli.wording import in_flags

if TYPE_CHECKING:
    from spoofspan.data.scores import Higher
    from spoofspan.formats.describe import Description


def check(
    *,
    inputs: Inputs,
    output: o.Output,
    rules: o.RangeRules,
) -> None:
    """Identify a file, or check references and scores before measuring.

    For a single file: its format, the tools that write it, the polarity of its scores if known, what remains open, and
    the command that reads it. For a folder: its kinds of files with their commands. For references and scores: every
    problem, and how much time each rule would decide, but no error rate. A problem in a column of scores that is not
    measured is a note. Exits with 3 if measuring would be refused.

    For example:

      spoofspan check scores.txt

      spoofspan check ref.rttm unit0.02.score --durations reco2dur

      spoofspan check --dataset partialspoof:database:eval
    """
    from spoofspan.evaluation.check import Check
    from spoofspan.evaluation.check import check as check_files
    from spoofspan.formats.describe import facts_of_several
    from spoofspan.report.results import check_table

    if inputs.references is None and inputs.dataset is None:
        raise UsageError("give a file to be identified, or REFERENCES and SCORES to be checked")
    described = _described(inputs)
    one = described[0] if len(described) == 1 else None
    left_open = one is not None and [flag for flag in one.missing if not flag.startswith(("--durations", "--gaps"))]
    if one is not None and (one.kind != "references" or left_open or one.problem):
        found = Check(one.facts, (), (one.problem,) if one.problem else (), identified=True)
    elif len(described) > 1:
        found = Check(facts_of_several(described), (), (), identified=True)
    elif inputs.scores is not None and inputs.has_utterance_scores(inputs.scores):
        scores = inputs.read_utterance_scores(inputs.scores)
        found = check_files(replace(inputs, column=None).read_truth(), scores, **rules)
    else:
        looked = None if inputs.scores is None or inputs.scores == "-" else inputs.identify(inputs.scores).sources
        for source in looked or ():
            source.hold()  # other columns are looked at too
        found = check_files(*inputs.read_known(), **rules)
        found = replace(found, notes=tuple(inputs.unused_columns(looked)))
    if one is not None and not found.identified:
        found = replace(found, facts={**one.facts, **found.facts})
    found = replace(found, problems=tuple(map(in_flags, found.problems)))
    output.show(found.to_dict(), [check_table(found)])
    if not found.passed:
        raise click.exceptions.Exit(3)


def _described(inputs: Inputs) -> list[Description]:
    """A description of the one file that was typed, or of each sort of file in a folder; none where formats are stated.

    A folder whose files are read together is described as one.
    """
    if inputs.references is None or inputs.scores is not None or inputs.dataset is not None:
        return []
    if inputs.reference_format is not None:
        return []
    from spoofspan.formats.describe import describe, describe_each
    from spoofspan.formats.format import ReadOptions
    from spoofspan.formats.text.durations import read_durations

    told = ReadOptions(
        durations=None if inputs.durations is None else read_durations(inputs.durations),
        hop=inputs.hop,
        higher=cast("Higher | None", inputs.higher),
        column=inputs.column,
        spoof_label=inputs.spoof_label,
        split=inputs.split,
    )
    found = inputs.identify(inputs.references).sources
    described = [describe(found, told)] if len(found) == 1 else describe_each(inputs.references, found, told)
    return [replace(one, command=_with_typed(one.command, inputs)) for one in described]


def _with_typed(command: str, inputs: Inputs) -> str:
    """The command that reads a file, with the options that were typed to describe it."""
    typed = ("durations", "hop", "column", "spoof_label", "split", "higher")
    values = {name: getattr(inputs, name) for name in typed}
    flags = [f"--{name.replace('_', '-')} {value}" for name, value in values.items() if value is not None]
    return " ".join([command, *flags]) if command.startswith("spoofspan eval") and "; or" not in command else command

"""``spoofspan check``: whether files can be measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import typer

from spoofspan.cli import options as o
from spoofspan.cli.inputs import Inputs, takes_inputs


@takes_inputs
@o.takes_range_rules
def check(
    *,
    inputs: Inputs,
    convention: o.Convention = "default",
    output: o.OutputFormat = o.Output.text,
    out: o.Out = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
    rules: dict[str, Any],
) -> None:
    """Check files before measuring.

    Lists every problem, and how much time each rule would decide; prints no error rate. SCORES may be left out. A
    problem in a column of scores that is not measured is a note. Exits with 3 if measuring would be refused.

    For example:

      spoofspan check ref.rttm unit0.02.score --durations reco2dur

      spoofspan check --dataset partialspoof:database:eval
    """
    from spoofspan.evaluation.check import check as check_files
    from spoofspan.report.results import check_table

    o.must_be_free(out, force=force)
    found = check_files(*inputs.read_known(), convention=convention, **rules)
    found = replace(found, notes=tuple(inputs.unused_columns()))
    o.show(found.to_dict(), [check_table(found)], output, out, force)
    if not found.passed:
        raise typer.Exit(3)

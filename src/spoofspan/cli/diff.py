"""``spoofspan diff``: which rules and inputs of two results differ, and how many points each rule explains."""

from __future__ import annotations

from typing import Annotated

from spoofspan.cli import options as o
from spoofspan.cli.inputs import CorpusInputs
from spoofspan.cli.verify import RegionsFile


def diff(
    *,
    a: Annotated[str, o.argument(metavar="A", help="The JSON of eval, or a signature in quotes.")],
    b: Annotated[str, o.argument(metavar="B", help="Another one.")],
    inputs: CorpusInputs,
    regions: RegionsFile = None,
    output: o.Output,
) -> None:
    """Compare two results: rules, inputs and values.

    With REFERENCES and SCORES, also how many points each rule explains: each is changed alone, from A towards B, in
    the order of the list. The effects need not add up; the rest is interaction.

    For example:

      spoofspan diff ours.json theirs.json

      spoofspan diff ours.json theirs.json ref.rttm unit0.02.score --durations reco2dur
    """
    from spoofspan.evaluation.result_diff import diff_results
    from spoofspan.evaluation.stated_result import StatedResult
    from spoofspan.report.results import diff_tables
    from spoofspan.report.table import finite

    first, second = map(StatedResult.read, (a, b))
    if inputs.references is None and inputs.dataset is None:
        found = diff_results(first, second)
    else:
        inputs = inputs.placed()
        with inputs.opened(quiet=output.quiet) as (corpus, truth):
            found = diff_results(
                first,
                second,
                corpus,
                regions=o.given_rules(regions=regions).get("regions"),
                asv_scores=inputs.read_asv(truth),
            )
    output.show(finite(found.to_dict()), diff_tables(found))

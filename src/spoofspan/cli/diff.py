"""``spoofspan diff``: which rules and inputs of two results differ, and how many points each rule explains."""

from __future__ import annotations

from typing import Annotated

from spoofspan.cli import options as o
from spoofspan.cli.inputs import (
    Inputs,
    ProposalFlags,
    UtteranceInputs,
    WhereMeasured,
    opened_corpus,
    takes_inputs,
    takes_utterance_scores,
    takes_where,
)
from spoofspan.cli.verify import Fps, RegionsFile


@takes_inputs
@takes_utterance_scores
@takes_where
def diff(
    *,
    a: Annotated[str, o.argument(metavar="A", help="The JSON of eval, or a signature in quotes.")],
    b: Annotated[str, o.argument(metavar="B", help="Another one.")],
    inputs: Inputs,
    more: UtteranceInputs,
    fps: Fps = None,
    regions: RegionsFile = None,
    where: WhereMeasured,
    output: o.OutputFormat = o.Output.text,
    out: o.Out = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
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
    from spoofspan.report.results import diff_tables, finite

    o.must_be_free(out, force=force)
    first, second = map(StatedResult.read, (a, b))
    if inputs.references is None and inputs.dataset is None:
        found = diff_results(first, second)
    else:
        more, inputs = more.placed(inputs)
        with opened_corpus(inputs, more, ProposalFlags(fps=fps), where, quiet=quiet) as (corpus, truth):
            found = diff_results(
                first,
                second,
                corpus,
                regions=o.given_rules(regions=regions).get("regions"),
                asv_scores=more.read_asv(truth),
            )
    o.show(finite(found.to_dict()), diff_tables(found), output, out, force)

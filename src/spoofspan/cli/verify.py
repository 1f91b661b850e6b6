"""``spoofspan verify``: a result is measured again, and confirmed, or every difference is named."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import click

from spoofspan.cli import options as o
from spoofspan.cli.inputs import (
    Inputs,
    ProposalFlags,
    UtteranceInputs,
    WhereMeasured,
    opened_corpus,
    read_column,
    takes_inputs,
    takes_utterance_scores,
    takes_where,
)

NOT_CONFIRMED = 5  # the exit code
ResultOrSignature = Annotated[
    str, o.argument(metavar="RESULT", help="The JSON of eval, or a signature in quotes, in full or short.")
]
Fps = Annotated[float | None, o.option("Frames per second, if the times of proposals are frame numbers.")]
RegionsFile = Annotated[str | None, o.option("UEM file, if the result was measured in regions.")]


@takes_inputs
@takes_utterance_scores
@takes_where
def verify(
    *,
    result: ResultOrSignature,
    inputs: Inputs,
    value: str | None = o.flag(
        None, "With a signature: the published value, such as 5.21%; its decimals are compared."
    ),
    more: UtteranceInputs,
    fps: Fps = None,
    regions: RegionsFile = None,
    metadata: o.Metadata = None,
    where: WhereMeasured,
    output: o.OutputFormat = o.Output.text,
    out: o.Out = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Repeat a measurement, and confirm it or name the differences.

    Rules, measures and intervals are taken from the result. Exit code: 0 confirmed, 5 not confirmed.

    For example:

      spoofspan verify result.json ref.rttm unit0.02.score --durations reco2dur

      spoofspan verify 'range-eer|default|eer:nearest|rules:2|refs:7bfc076a|v0.1' ref.rttm unit0.02.score --value 5.21%
    """
    from spoofspan.evaluation.stated_result import StatedResult
    from spoofspan.evaluation.verification import verify as repeat
    from spoofspan.report.results import finite, verification_table

    o.must_be_free(out, force=force)
    stated = StatedResult.read(result)
    more, inputs = more.placed(inputs)
    with opened_corpus(inputs, more, ProposalFlags(fps=fps), where, quiet=quiet) as (corpus, truth):
        alone = more.alone(inputs)
        known = metadata or inputs.protocol() or (inputs.references if alone else None)
        column = partial(read_column, None if known is None else inputs.identify(known).sources, inputs.bare_ids)
        found = repeat(
            stated,
            corpus,
            regions=o.given_rules(regions=regions).get("regions"),
            asv_scores=more.read_asv(truth),
            columns=column,
            value=value,
        )
    o.show(finite(found.to_dict()), [verification_table(found)], output, out, force)
    if not found.confirmed:
        raise click.exceptions.Exit(NOT_CONFIRMED)

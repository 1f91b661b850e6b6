"""``spoofspan verify``: a result is measured again, and confirmed, or every difference is named."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import click

from spoofspan.cli import options as o
from spoofspan.cli.inputs import CorpusInputs

NOT_CONFIRMED = 5  # the exit code
ResultOrSignature = Annotated[
    str, o.argument(metavar="RESULT", help="The JSON of eval, or a signature in quotes, in full or short.")
]
RegionsFile = Annotated[str | None, o.option("UEM file, if the result was measured in regions.")]


def verify(
    *,
    result: ResultOrSignature,
    inputs: CorpusInputs,
    value: str | None = o.flag(
        None, "With a signature: the published value, such as 5.21%; its decimals are compared."
    ),
    regions: RegionsFile = None,
    metadata: o.Metadata = None,
    output: o.Output,
) -> None:
    """Repeat a measurement, and confirm it or name the differences.

    Rules, measures and intervals are taken from the result. Exit code: 0 confirmed, 5 not confirmed.

    For example:

      spoofspan verify result.json ref.rttm unit0.02.score --durations reco2dur

      spoofspan verify 'range-eer|default|eer:nearest|rules:2|refs:7bfc076a|v0.1' ref.rttm unit0.02.score --value 5.21%
    """
    from spoofspan.evaluation.stated_result import StatedResult
    from spoofspan.evaluation.verification import verify as repeat
    from spoofspan.formats.text.protocol import read_groups
    from spoofspan.report.results import verification_table
    from spoofspan.report.table import finite

    stated = StatedResult.read(result)
    inputs = inputs.placed()
    with inputs.opened(quiet=output.quiet) as (corpus, truth):
        known = metadata or inputs.protocol() or (inputs.references if inputs.alone else None)
        looked = None if known is None else inputs.identify(known).sources
        found = repeat(
            stated,
            corpus,
            regions=o.given_rules(regions=regions).get("regions"),
            asv_scores=inputs.read_asv(truth),
            columns=partial(read_groups, looked, bare_ids=inputs.bare_ids),
            value=value,
        )
    output.show(finite(found.to_dict()), [verification_table(found)])
    if not found.confirmed:
        raise click.exceptions.Exit(NOT_CONFIRMED)

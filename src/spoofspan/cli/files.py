"""``spoofspan check``, ``convert`` and ``diff-references``: commands on files, without a measure."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from spoofspan.cli import options as o


def check(
    references: o.ReferencesPath,
    scores: Annotated[str | None, typer.Argument(metavar="[SCORES]", help="Score file, folder, glob.")] = None,
    convention: o.Convention = "default",
    reference_format: o.ReferenceFormat = None,
    scores_format: o.ScoresFormat = None,
    durations: o.Durations = None,
    hop: o.Hop = None,
    higher: o.HigherOption = None,
    column: o.Column = None,
    output: o.OutputFormat = o.Output.text,
    out: o.Out = None,
    force: o.Force = False,
    gaps: o.Gaps = None,
    snap: o.Snap = None,
    extent: o.Extent = None,
    nonspeech: o.Nonspeech = None,
    uncovered: o.Uncovered = None,
    slack: o.Slack = None,
    overlong: o.Overlong = None,
    last_frame: o.LastFrame = None,
    overlap: o.Overlap = None,
    regions: o.Regions = None,
    collar: o.Collar = None,
    partial: o.Partial = None,
    utterances: o.Utterances = None,
) -> None:
    """Check a submission: every problem, every second that a rule would decide, and no number.

    Exits with 3 if measuring would be refused. For example:

      spoofspan check ref.rttm unit0.02.score --durations reco2dur
    """
    from spoofspan import read_references, read_scores
    from spoofspan.checking import check as check_files
    from spoofspan.report.results import check_table

    rules = o.given_rules(
        gaps=gaps,
        snap=snap,
        extent=extent,
        nonspeech=nonspeech,
        uncovered=uncovered,
        slack=slack,
        overlong=overlong,
        last_frame=last_frame,
        overlap=overlap,
        regions=regions,
        collar=collar,
        partial=partial,
        utterances=utterances,
    )
    read = read_references(references, durations=durations, format=reference_format)
    said = (
        None
        if scores is None
        else read_scores(scores, hop=hop, higher=o.polarity(higher), column=column, format=scores_format)
    )
    found = check_files(read, said, convention=convention, **rules)
    if output is o.Output.json:
        text = json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n"
    else:
        text = check_table(found).render(output.value)
    o.deliver(text, out, force)
    if not found.passed:
        raise typer.Exit(3)


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="File, folder, glob or - (stdin).")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="File to write; .gz and .zst pack it. - is stdout.")],
    kind: Annotated[
        str | None, typer.Option("--kind", help="references or scores, where the content does not tell.")
    ] = None,
    from_format: Annotated[str | None, typer.Option("--from", help="Format of IN, if not recognised.")] = None,
    to_format: Annotated[str | None, typer.Option("--to", help="Format of OUT, if its name does not tell.")] = None,
    durations: o.Durations = None,
    hop: o.Hop = None,
    higher: o.HigherOption = None,
    column: o.Column = None,
    durations_out: Annotated[
        str | None, typer.Option("--durations-out", help="Also write the durations, as a reco2dur file.")
    ] = None,
    force: o.Force = False,
) -> None:
    """Convert references or scores between formats; a pickle to Parquet is the recommended first step.

    For example:

      spoofspan convert dev_score_ali_2_20230101.pkl scores.parquet
    """
    from spoofspan.formats.converting import convert as convert_file

    done = convert_file(
        source,
        target,
        kind=kind,
        from_format=from_format,
        to_format=to_format,
        durations=durations,
        hop=hop,
        higher=o.polarity(higher),
        column=column,
        durations_out=durations_out,
        force=force,
    )
    typer.echo(done, err=True)


def diff_references(
    a: Annotated[str, typer.Argument(metavar="A", help="One reference of the corpus.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another reference of the same corpus.")],
    format_a: Annotated[str | None, typer.Option("--format-a", help="Format of A, if not recognised.")] = None,
    format_b: Annotated[str | None, typer.Option("--format-b", help="Format of B, if not recognised.")] = None,
    durations: o.Durations = None,
    hop: o.Hop = None,
    most: Annotated[int, typer.Option("--most", help="How many utterances to list.")] = 10,
    output: o.OutputFormat = o.Output.text,
    out: o.Out = None,
    force: o.Force = False,
) -> None:
    """Compare two references of one corpus: agreement by label, shift, and what it does to an EER.

    For example:

      spoofspan diff-references ref.rttm dev_seglab_0.02.npy --durations reco2dur
    """
    from spoofspan import read_references
    from spoofspan.reference_difference import diff_references as compare
    from spoofspan.report.results import difference_dict, difference_table

    found = compare(
        read_references(a, durations=durations, format=format_a, hop=hop),
        read_references(b, durations=durations, format=format_b, hop=hop),
    )
    if output is o.Output.json:
        text = json.dumps(difference_dict(found, most), indent=2, ensure_ascii=False) + "\n"
    else:
        text = difference_table(found, most).render(output.value)
    o.deliver(text, out, force)

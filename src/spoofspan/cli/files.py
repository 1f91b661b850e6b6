"""``spoofspan check``, ``convert`` and ``diff-references``: commands on files, without a measure."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from spoofspan.base.errors import UsageError
from spoofspan.cli import completion
from spoofspan.cli import options as o
from spoofspan.cli.completion import among
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

    Every problem, every second that a rule would decide, and no number. SCORES may be left out. Exits with 3 if
    measuring would be refused.

    For example:

      spoofspan check ref.rttm unit0.02.score --durations reco2dur

      spoofspan check --dataset partialspoof:database:eval
    """
    from spoofspan.evaluation.check import check as check_files
    from spoofspan.report.results import check_table

    o.must_be_free(out, force=force)
    found = check_files(*inputs.read_known(), convention=convention, **rules)
    if output is o.Output.json:
        text = json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n"
    else:
        text = check_table(found).render(output.value)
    o.deliver(text, out, force)
    if not found.passed:
        raise typer.Exit(3)


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="File, folder, glob or - (stdin).")],
    target: Annotated[
        str | None, typer.Argument(metavar="OUT", help="File to write; .gz and .zst pack it. - is stdout.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            help="references or scores, where the content does not tell.",
            autocompletion=among(lambda: ("references", "scores")),
        ),
    ] = None,
    from_format: Annotated[
        str | None,
        typer.Option("--from", help="Format of IN, if not recognised.", autocompletion=among(completion.formats)),
    ] = None,
    to_format: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="Format of OUT, if its name does not tell.",
            autocompletion=among(completion.written_formats),
        ),
    ] = None,
    dataset: o.DatasetSpec = None,
    reference_source: o.ReferenceSource = None,
    durations: o.Durations = None,
    hop: o.Hop = None,
    higher: o.HigherOption = None,
    column: o.Column = None,
    split: o.Split = None,
    durations_out: Annotated[
        str | None, typer.Option("--durations-out", help="Also write the durations, as a reco2dur file.")
    ] = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Convert between formats.

    References or scores; a pickle to Parquet is the recommended first step. With --dataset, only OUT is given.

    For example:

      spoofspan convert dev_score_ali_2_20230101.pkl scores.parquet

      spoofspan convert --dataset partialspoof:database:eval eval.parquet
    """
    from spoofspan.formats.convert import convert as convert_file
    from spoofspan.formats.convert import write_converted

    if dataset is not None:
        if target is not None or kind == "scores":
            raise UsageError("--dataset has the references to convert: give OUT alone; scores are converted by file")
        o.must_be_free(source, durations_out, force=force)
        references, _ = Inputs(dataset=dataset, reference_source=reference_source).read_known()
        done = write_converted(
            references, source, to_format=to_format, hop=hop, durations_out=durations_out, force=force
        )
    elif target is None:
        raise UsageError("give IN and OUT, or --dataset and OUT")
    else:
        o.must_be_free(target, durations_out, force=force)
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
            split=split,
        )
    typer.echo(done, err=True)


def diff_references(
    a: Annotated[str, typer.Argument(metavar="A", help="One reference of the corpus.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another reference of the same corpus.")],
    format_a: Annotated[
        str | None,
        typer.Option(
            "--format-a", help="Format of A, if not recognised.", autocompletion=among(completion.reference_formats)
        ),
    ] = None,
    format_b: Annotated[
        str | None,
        typer.Option(
            "--format-b", help="Format of B, if not recognised.", autocompletion=among(completion.reference_formats)
        ),
    ] = None,
    durations: o.Durations = None,
    hop: Annotated[float | None, typer.Option("--hop", help="Spacing of label arrays in seconds.")] = None,
    most: Annotated[int, typer.Option("--most", help="How many utterances to list.", min=0)] = 10,
    output: o.OutputFormat = o.Output.text,
    out: o.Out = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Compare two references of one corpus.

    Agreement by label, shift, and what the difference does to an EER.

    For example:

      spoofspan diff-references a.rttm dev_seglab_0.02.npy --durations reco2dur
    """
    from spoofspan.evaluation.reference_diff import diff_references as compare
    from spoofspan.formats.reading import read_references
    from spoofspan.report.results import difference_dict, difference_table

    o.must_be_free(out, force=force)
    found = compare(
        read_references(a, durations=durations, format=format_a, hop=hop),
        read_references(b, durations=durations, format=format_b, hop=hop),
    )
    if output is o.Output.json:
        text = json.dumps(difference_dict(found, most), indent=2, ensure_ascii=False) + "\n"
    else:
        text = difference_table(found, most).render(output.value)
    o.deliver(text, out, force)

"""``spoofspan convert``: references or scores from one format to another."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from spoofspan.base.errors import UsageError
from spoofspan.cli import completion
from spoofspan.cli import options as o
from spoofspan.cli.inputs import Inputs


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="File, folder, glob or - (stdin).")],
    target: Annotated[
        str | None, typer.Argument(metavar="OUT", help="File to write; .gz and .zst pack it. - is stdout.")
    ] = None,
    kind: str | None = o.flag(
        None, "references or scores, where the content does not tell.", of=["references", "scores"]
    ),
    from_format: str | None = o.flag(None, "Format of IN, if not recognised.", "--from", of=completion.formats),
    to_format: str | None = o.flag(
        None, "Format of OUT, if its name does not tell.", "--to", of=completion.written_formats
    ),
    dataset: o.DatasetSpec = None,
    reference_source: o.ReferenceSource = None,
    durations: o.Durations = None,
    hop: o.Hop = None,
    higher: o.HigherOption = None,
    column: o.Column = None,
    split: o.Split = None,
    modality: o.Modality = None,
    subset: o.Subset = None,
    durations_out: str | None = o.flag(None, "Also write the durations, as a reco2dur file."),
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

    written: dict[str, Any] = {"to_format": to_format, "hop": hop, "durations_out": durations_out, "force": force}
    if dataset is not None:
        if target is not None or kind == "scores":
            raise UsageError("--dataset has the references to convert: give OUT alone; scores are converted by file")
        o.must_be_free(source, durations_out, force=force)
        references, _ = Inputs(dataset=dataset, reference_source=reference_source).read_known()
        done = write_converted(references, source, **written)
    elif target is None:
        raise UsageError("give IN and OUT, or --dataset and OUT")
    else:
        o.must_be_free(target, durations_out, force=force)
        about: dict[str, Any] = {"higher": o.polarity(higher), "column": column, "durations": durations}
        about |= {"split": split, "modality": modality, "subset": subset}
        done = convert_file(source, target, kind=kind, from_format=from_format, **about, **written)
    typer.echo(done, err=True)

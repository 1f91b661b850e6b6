"""``spoofspan convert``: references or scores from one format to another."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from spoofspan.base.errors import UsageError
from spoofspan.cli import completion
from spoofspan.cli import options as o
from spoofspan.cli.inputs import Inputs
from spoofspan.cli.range_options import RangeOptions, takes_ranges


@takes_ranges
def convert(
    *,
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
    spoof_label: o.SpoofLabel = None,
    bare_ids: o.BareIds = None,
    durations_out: str | None = o.flag(None, "Also write the durations, as a reco2dur file."),
    threshold: float | None = o.flag(
        None, "Turn scores into ranges: spoof iff beyond this, on the scale of the scores and their polarity."
    ),
    ranges: RangeOptions,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Convert between formats.

    Converts references or scores. Convert pickles to Parquet before anything else. With --dataset, give OUT only.

    With --threshold, scores become ranges: labels of all time (RTTM, TextGrid, ...), or what is called spoof, each
    range with its mean score (.json, .csv). OUT/ is a folder with a file for each utterance.

    For example:

      spoofspan convert dev_score_ali_2_20230101.pkl scores.parquet

      spoofspan convert scores.parquet found.rttm --threshold 0.3 --min-duration 0.1

      spoofspan convert scores.parquet labels/ --to audacity --threshold 0.3

      spoofspan convert --dataset partialspoof:database:eval eval.parquet
    """
    from spoofspan.formats.convert import convert as convert_file
    from spoofspan.formats.convert import write_converted

    if threshold is None:
        ranges.refuse_any("says how ranges are made of scores; give --threshold too")
    elif bare_ids:
        raise UsageError("--threshold and --bare-ids do not go together; convert twice")
    elif kind == "references" or dataset is not None:
        raise UsageError("--threshold turns scores into ranges, and references are ranges already; leave it out")
    if hop is not None and hop >= 2:  # nothing here says how long an utterance is
        o.say([f"warning: --hop {hop:g} is in seconds; {hop:g} ms is {hop / 1000:g}"])
    written: dict[str, Any] = {"to_format": to_format, "hop": hop, "durations_out": durations_out, "force": force}
    if dataset is not None:
        if target is not None or kind == "scores":
            raise UsageError("--dataset has the references to convert: give OUT alone; scores are converted by file")
        o.must_be_free(source, durations_out, force=force)
        references, _ = Inputs(dataset=dataset, reference_source=reference_source, bare_ids=bare_ids).read_known()
        done = write_converted(references, source, **written)
    elif target is None:
        raise UsageError("give IN and OUT, or --dataset and OUT")
    else:
        # a folder may be there, its files may not
        o.must_be_free(None if target.endswith("/") else target, durations_out, force=force)
        about: dict[str, Any] = {"higher": o.polarity(higher), "column": column, "durations": durations}
        if threshold is not None:
            done = _converted_to_ranges(source, target, threshold, ranges, from_format, hop, about, written)
            typer.echo(done, err=True)
            return
        about |= {
            "bare_ids": bool(bare_ids),
            "split": split,
            "modality": modality,
            "subset": subset,
            "spoof_label": spoof_label,
        }
        done = convert_file(source, target, kind=kind, from_format=from_format, **about, **written)
    typer.echo(done, err=True)


def _converted_to_ranges(
    source: str,
    target: str,
    threshold: float,
    ranges: RangeOptions,
    from_format: str | None,
    hop: float | None,
    about: dict[str, Any],
    written: dict[str, Any],
) -> str:
    """Write what scores call spoof, and say what was done."""
    from spoofspan.formats.convert import holds_proposals, write_converted
    from spoofspan.formats.reading import read_scores

    scores = read_scores(source, hop=hop, format=from_format, **about)
    durations = about["durations"]
    content: Any = ranges.called(scores, threshold, durations)
    if holds_proposals(target, written["to_format"]):
        content = ranges.proposed(scores, threshold, durations)
    return write_converted(content, target, **written)

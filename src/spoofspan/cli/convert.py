"""``spoofspan convert``: references, scores or utterance scores from one format to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import click

from spoofspan.base.errors import UsageError
from spoofspan.cli import completion
from spoofspan.cli import options as o
from spoofspan.cli.inputs import Inputs

if TYPE_CHECKING:
    from spoofspan.data.proposals import Proposals
    from spoofspan.data.references import References
    from spoofspan.data.scores import Scores


def convert(
    *,
    source: Annotated[str, o.argument(metavar="IN", help="File, folder, glob or - (stdin).")],
    target: Annotated[
        str | None, o.argument(metavar="OUT", help="File to write; .gz and .zst pack it. - is stdout.")
    ] = None,
    kind: str | None = o.flag(
        None,
        "references, scores or utterance-scores, if the content does not show it.",
        of=["references", "scores", "utterance-scores"],
    ),
    from_format: str | None = o.flag(None, "Format of IN, if not recognised.", "--from", of=completion.formats),
    to_format: str | None = o.flag(
        None, "Format of OUT, if its name does not show it.", "--to", of=completion.written_formats
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
    threshold_from: str | None = o.flag(
        None, "The same, at the threshold that calibrate --miss-rate found, whose promise then holds."
    ),
    ranges: o.RangeOptions,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Convert between formats.

    Converts references, scores in time or of whole utterances. Convert pickles to Parquet before anything else. With
    --dataset, give OUT only.

    With --threshold, scores become ranges: labels of all time (RTTM, TextGrid, ...), or what is called spoof, each
    range with its mean score (.json, .csv). OUT/ is a folder with a file for each utterance.

    For example:

      spoofspan convert dev_score_ali_2_20230101.pkl scores.parquet

      spoofspan convert logits.csv scores.tsv --column logit_real

      spoofspan convert scores.parquet found.rttm --threshold 0.3 --min-duration 0.1

      spoofspan convert scores.parquet labels/ --to audacity --threshold 0.3

      spoofspan convert scores.parquet found.rttm --threshold-from threshold.json

      spoofspan convert --dataset partialspoof:database:eval eval.parquet
    """
    from spoofspan.formats.calibrations import read_miss_bound
    from spoofspan.formats.convert import convert as convert_file
    from spoofspan.formats.convert import holds_proposals, write_converted
    from spoofspan.formats.reading import read_scores

    bound = None
    if threshold_from is not None:
        if threshold is not None:
            raise UsageError("give --threshold or --threshold-from, not both")
        o.refuse_typed(ranges, ("smoothing", "min_duration"), "may drop what is called spoof, and the promise with it")
        bound = read_miss_bound(threshold_from)
        threshold = bound.threshold
    if threshold is None:
        ranges.refuse_any("says how ranges are made of scores; give --threshold too")
    elif bare_ids:
        raise UsageError("--threshold and --bare-ids do not go together; convert twice")
    elif kind == "references" or dataset is not None:
        raise UsageError("--threshold turns scores into ranges, and references are ranges already; leave it out")
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
        about: dict[str, Any] = {"higher": higher, "column": column, "durations": durations}
        if threshold is not None:
            scores = read_scores(source, hop=hop, format=from_format, **about)
            if bound is not None:
                bound.threshold_for(scores.higher)  # or refused
                o.say([f"promise: {bound.promise}"])
            as_proposals = holds_proposals(target, to_format)
            done = write_converted(_ranges_of(scores, threshold, ranges, durations, as_proposals), target, **written)
        else:
            about |= {"bare_ids": bool(bare_ids), "spoof_label": spoof_label}
            about |= {"split": split, "modality": modality, "subset": subset}
            done = convert_file(source, target, kind=kind, from_format=from_format, **about, **written)
    click.echo(done, err=True)


def _ranges_of(
    scores: Scores, threshold: float, ranges: o.RangeOptions, durations: str | None, as_proposals: bool
) -> References | Proposals:
    """Labels of all time at a threshold, or what is called spoof; says on stderr how much that is."""
    from spoofspan.evaluation.cautions import note_called
    from spoofspan.formats.text.durations import read_durations
    from spoofspan.measures.events.proposals_from_scores import called_ranges, proposals_from_scores

    how = ranges.arguments() | {"durations": None if durations is None else read_durations(durations)}
    called = called_ranges(scores, threshold, **how)
    o.say(note_called(scores, threshold, called))
    return proposals_from_scores(scores, threshold, **how) if as_proposals else called

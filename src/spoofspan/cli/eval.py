"""``spoofspan eval``: one command from files to a number that can be trusted."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.progress import progress
from spoofspan.cli import completion
from spoofspan.cli import options as o
from spoofspan.cli.bootstrap_options import Drawing, takes_drawing
from spoofspan.cli.inputs import Inputs, takes_inputs
from spoofspan.cli.proposal_inputs import ProposalOptions, takes_proposals
from spoofspan.cli.utterance_inputs import UtteranceInputs, UtterancesAlone, takes_utterance_scores

if TYPE_CHECKING:
    from spoofspan.base.errors import UndefinedMeasureError
    from spoofspan.data.proposals import Proposals
    from spoofspan.data.references import References
    from spoofspan.data.scores import Higher, Scores
    from spoofspan.evaluation.breakdown import Breakdown
    from spoofspan.evaluation.evaluate import Evaluation
    from spoofspan.evaluation.plan import OnUndefined
    from spoofspan.measures.measure import Measure
    from spoofspan.measures.operating_point import OperatingPoint
    from spoofspan.measures.per_utterance import UtteranceErrors
    from spoofspan.scale.shards import ShardedCorpus

# How a signature says that utterance scores were given.
GIVEN = "|utterance-scores:given|"


ScoresAreOption = Annotated[
    str | None,
    typer.Option("--scores-are", help="llr or probability, for measures that take scores at their word."),
]
Metadata = Annotated[
    str | None, typer.Option("--metadata", help="Table with a column utterance, or protocol (speaker, attack).")
]


@takes_inputs
@takes_drawing
@takes_utterance_scores
@takes_proposals
@o.takes_rules
def eval_(
    *,
    inputs: Inputs,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            help="range-eer, point-eer@20ms, range-fnr@fpr=0.01, event-ap@iou=0.5, ...; may be repeated.",
            autocompletion=completion.among(completion.measures),
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", help="Where measures at a threshold are taken; without it, where the EER is."),
    ] = None,
    threshold_from: Annotated[
        Path | None,
        typer.Option("--threshold-from", help="Take it from the EER in the JSON of another eval (a development set)."),
    ] = None,
    scores_are: ScoresAreOption = None,
    more: UtteranceInputs,
    convention: o.Convention = "default",
    eer_rule: o.EerRule = None,
    proposals: ProposalOptions,
    output: o.OutputFormat = o.Output.text,
    out: o.Out = None,
    force: o.Force = False,
    per_utterance: Annotated[
        Path | None,
        typer.Option(
            "--per-utterance", help="Also write the errors of each utterance to this .csv, .json or .parquet."
        ),
    ] = None,
    own_eer: Annotated[
        bool, typer.Option("--own-eer", help="With --per-utterance: each utterance's own range EER as well.")
    ] = False,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            help="Break the first measure down by kind, length, boundary or a column of --metadata; may be repeated.",
        ),
    ] = None,
    metadata: Metadata = None,
    drawing: Drawing,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Keep little in memory, with temporary files on disk. Files too large for the memory do so anyway.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", help="Measure in so many processes, with temporary files on disk."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", help="Measure Parquet files on the workers of this Dask scheduler: tcp://..."),
    ] = None,
    quiet: o.Quiet = False,
    rules: dict[str, Any],
) -> None:
    """Measure a system.

    References and scores in; numbers with their rules and signature out. Without --measure: range EER, point EER at
    the hop of the scores, utterance EER.

    For example:

      spoofspan eval ref.rttm unit0.02.score --durations reco2dur

      spoofspan eval labels.parquet scores.parquet -m range-eer --format json

      spoofspan eval --dataset partialspoof:database:eval output --hop 0.02

      spoofspan eval labels.parquet scores.parquet --stream

      spoofspan eval "labels/*.parquet" "scores/*.parquet" --scheduler tcp://head:8786

      spoofspan eval dev.rttm dev.score --format json --out dev.json

      spoofspan eval ref.rttm eval.score -m range-f1 --threshold-from dev.json

      spoofspan eval ref.rttm eval.score --by kind --by speaker --metadata protocol.txt

      spoofspan eval ref.rttm eval.score --confidence 0.95 --metadata protocol.txt

      spoofspan eval ref.rttm eval.score --per-utterance errors.csv --own-eer

      spoofspan eval protocol.txt --utterance-scores cm_scores.tsv -m utterance-min-dcf

      spoofspan eval metadata.json proposals.json -m event-ap@iou=0.5
    """
    from spoofspan.report.results import render

    o.must_be_free(out, per_utterance, force=force)
    more.check(measure)
    if own_eer:
        _check_own_eer(per_utterance, eer_rule, convention)
    if threshold_from is not None:
        if threshold is not None:
            raise UsageError("give --threshold or --threshold-from, not both")
        threshold = threshold_in(threshold_from, measure or [], given=more.utterance_scores is not None)
    with ExitStack() as open_files:
        corpus: _Corpus
        if more.alone(inputs):
            corpus = UtterancesAlone.read(inputs)
        elif scheduler is not None:
            more.refuse_stream()
            corpus = _Shards(open_files.enter_context(inputs.on_cluster(scheduler)))
        elif jobs not in (None, 1) or proposals.streams(inputs, stream):
            more.refuse_stream()
            corpus = _Shards(open_files.enter_context(inputs.sharded(jobs)))
        else:
            corpus = _InMemory(*proposals.read(inputs))
        how = {
            "convention": convention,
            "eer_rule": eer_rule,
            "threshold": threshold,
            "scores_are": scores_are,
            **more.read(),
            **rules,
        }
        metadata = metadata or inputs.protocol()
        intervals = {"resampling": drawing.resampling(metadata)} if drawing.asked_for() else {}
        # how proposals are made concerns the measures alone, and neither breakdowns nor utterances
        evaluation = corpus.evaluate(measure, how | proposals.arguments() | intervals)
        first = next(iter(evaluation.measurements.values()))
        breakdowns = [corpus.break_down(one, metadata, first.measure, how) for one in by or ()]
        if per_utterance is not None:
            # a development threshold of points or whole utterances says nothing about ranges
            of_ranges = threshold_from is None or not measure or any(one.startswith("range-") for one in measure)
            at = _point_of_utterances(corpus, evaluation, how, threshold if of_ranges else None)
            arguments = {"convention": convention, "own_eer": own_eer, "eer_rule": eer_rule, **rules}
            errors = corpus.errors_by_utterance(at, arguments)
        with progress("signing"):
            text = render(evaluation, output.value, breakdowns)
        o.deliver(text, out, force)
        if per_utterance is not None:
            _write_utterances(errors, per_utterance, at, force)


def _check_own_eer(per_utterance: Path | None, eer_rule: str | None, convention: str) -> None:
    """Refuse before long work what would be refused after it."""
    from spoofspan.data.rules import rules_for
    from spoofspan.measures.own_eer import check_own_rule

    if per_utterance is None:
        raise UsageError("--own-eer goes with --per-utterance")
    check_own_rule(eer_rule or rules_for("range", convention, {})[1])


def _point_of_utterances(
    corpus: _Corpus, evaluation: Evaluation, how: dict[str, Any], threshold: float | None
) -> OperatingPoint:
    """Where utterances are measured: at the threshold given, of the first range measure, or of the range EER."""
    from spoofspan.measures.operating_point import OperatingPoint

    higher = corpus.higher
    if threshold is not None:
        return OperatingPoint(threshold, higher, 0, 0, 0, 0)
    measured = evaluation.measurements.values()
    at = [one.point for one in measured if one.measure.startswith("range-") and one.has_threshold]
    return at[0] if at else corpus.evaluate(["range-eer"], how)["range-eer"].point


def _write_utterances(errors: UtteranceErrors, target: Path, at: OperatingPoint, force: bool) -> None:
    from spoofspan.formats.writing import write_atomically
    from spoofspan.report.utterance_errors import utterances_file

    write_atomically(target, utterances_file(errors, target.name, at), force)
    typer.echo(f"errors of {len(errors.utterances):,} utterances ({at.decision}): {target}", err=True)


def threshold_in(path: Path, measures: list[str], *, given: bool = False) -> float:
    """The threshold of the EER, of the same basis as the measures, in the JSON of an evaluation.

    Given utterance scores have thresholds of their own, which must not be mixed up with those of lowest scores.
    """
    import json

    from spoofspan.measures.measure import Measure

    bases = {str(Measure.parse(one).eer) for one in measures}
    if len(bases) > 1:
        raise UsageError(
            f"--threshold-from: {' and '.join(sorted(bases))} have thresholds of their own; measure them apart"
        )
    wanted = bases.pop() if bases else "range-eer"
    try:
        found = json.loads(path.expanduser().read_text(encoding="utf-8"))["measurements"]
        thresholds = {one["measure"]: one["threshold"] for one in found}
        of_given = {one["measure"] for one in found if GIVEN in one["signature"]["comparable"]}
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{path}: not the JSON of an evaluation; write one with eval --format json --out") from None
    if wanted not in thresholds:
        raise DataError(f"{path}: it has no {wanted} (only {', '.join(thresholds)}); evaluate it there as well")
    if wanted == "utterance-eer" and given != (wanted in of_given):
        there, here = ("given utterance scores", "lowest scores")[:: 1 if wanted in of_given else -1]
        raise DataError(f"{path}: its {wanted} is of {there}, and here it would be of {here}; evaluate both alike")
    return float(thresholds[wanted])


class _Corpus(Protocol):
    """What is measured, wherever it is."""

    @property
    def higher(self) -> Higher: ...

    def evaluate(self, measures: list[str] | None, arguments: dict[str, Any]) -> Evaluation: ...

    def errors_by_utterance(self, at: OperatingPoint, arguments: dict[str, Any]) -> UtteranceErrors: ...

    def break_down(self, by: str, metadata: str | None, measure: str, arguments: dict[str, Any]) -> Breakdown: ...


@dataclass(frozen=True)
class _InMemory:
    references: References
    system: Scores | Proposals

    @property
    def scores(self) -> Scores:
        """The scores, which proposals are not."""
        from spoofspan.data.scores import Scores

        if isinstance(self.system, Scores):
            return self.system
        raise UsageError("--by and --per-utterance need scores, and these are proposals; leave them out")

    @property
    def higher(self) -> Higher:
        return self.scores.higher

    def evaluate(self, measures: list[str] | None, arguments: dict[str, Any]) -> Evaluation:
        from spoofspan.evaluation.evaluate import default_measures, evaluate

        usual = default_measures(self.system, arguments["convention"])
        arguments = arguments | {"on_undefined": _leaving_out(measures, usual)}
        return evaluate(self.references, self.system, measures or usual, **arguments)

    def errors_by_utterance(self, at: OperatingPoint, arguments: dict[str, Any]) -> UtteranceErrors:
        from spoofspan.measures.per_utterance import errors_by_utterance

        with progress("errors by utterance"):
            return errors_by_utterance(
                self.references, self.scores, at.threshold, everything=at.everything, **arguments
            )

    def break_down(self, by: str, metadata: str | None, measure: str, arguments: dict[str, Any]) -> Breakdown:
        from spoofspan.evaluation import breakdown as groups

        known = {"kind": groups.by_kind, "length": groups.by_length, "boundary": groups.by_boundary}
        if by in known:
            return known[by](self.references, self.scores, measure=measure, **arguments)
        if metadata is None:
            raise UsageError(f"--by {by}: give --metadata, a file that says the {by} of every utterance")
        from spoofspan.formats.text.metadata import read_metadata

        column = read_metadata(metadata, by)
        return groups.by_column(self.references, self.scores, column, name=by, measure=measure, **arguments)


@dataclass(frozen=True)
class _Shards:
    shards: ShardedCorpus

    @property
    def higher(self) -> Higher:
        return self.shards.higher

    def evaluate(self, measures: list[str] | None, arguments: dict[str, Any]) -> Evaluation:
        from spoofspan.evaluation.evaluate import measures_for_hop
        from spoofspan.scale.shards import evaluate_shards

        if "resampling" in arguments:
            raise UsageError("--confidence needs the corpus in memory; leave --stream out, or draw from a part of it")
        usual = measures_for_hop(self.shards.hop, arguments["convention"])
        arguments = arguments | {"on_undefined": _leaving_out(measures, usual)}
        return evaluate_shards(self.shards, measures or usual, **arguments)

    def errors_by_utterance(self, at: OperatingPoint, arguments: dict[str, Any]) -> UtteranceErrors:
        from spoofspan.scale.shards import utterance_errors_of_shards

        return utterance_errors_of_shards(self.shards, at.threshold, everything=at.everything, **arguments)

    def break_down(self, by: str, metadata: str | None, measure: str, arguments: dict[str, Any]) -> Breakdown:
        raise UsageError(
            "--by needs the corpus in memory; leave --stream, --jobs and --scheduler out, or select the utterances "
            "beforehand"
        )


def _leaving_out(asked_for: list[str] | None, usual: list[str]) -> OnUndefined | None:
    """What was asked for must have a value; of the usual measures only the first must, on any corpus."""
    if asked_for:
        return None

    def leave_out(measure: Measure, error: UndefinedMeasureError) -> None:
        if str(measure) == usual[0]:
            raise error
        reason = str(error).partition(";")[0]  # the remedy is for someone who asked for it
        typer.echo(f"note: {measure} is left out: {reason}", err=True)

    return leave_out

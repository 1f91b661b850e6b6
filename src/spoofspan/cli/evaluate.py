"""``spoofspan eval``: one command from files to a number that can be trusted."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from spoofspan.cli import completion
from spoofspan.cli import options as o
from spoofspan.cli.inputs import Inputs, takes_inputs
from spoofspan.errors import DataError, UsageError
from spoofspan.progress import progress

if TYPE_CHECKING:
    from spoofspan import (
        Evaluation,
        Measure,
        Measurement,
        References,
        Scores,
        UndefinedMeasureError,
        UtteranceErrors,
    )
    from spoofspan.groups import Breakdown
    from spoofspan.plan import OnUndefined
    from spoofspan.streaming import ShardedCorpus


@takes_inputs
@o.takes_rules
def eval_(
    *,
    inputs: Inputs,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            help="range-eer, point-eer@20ms, range-f1, range-fnr@fpr=0.01, ...; may be repeated.",
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
    scores_are: Annotated[
        str | None,
        typer.Option("--scores-are", help="llr or probability, for measures that take scores at their word."),
    ] = None,
    convention: o.Convention = "default",
    eer_rule: o.EerRule = None,
    output: o.OutputFormat = o.Output.text,
    out: o.Out = None,
    force: o.Force = False,
    per_utterance: Annotated[
        Path | None, typer.Option("--per-utterance", help="Also write errors by utterance to this CSV file.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            help="Break the first measure down by kind, length, boundary or a column of --metadata; may be repeated.",
        ),
    ] = None,
    metadata: Annotated[
        str | None, typer.Option("--metadata", help="Table with a column utterance, or protocol (speaker, attack).")
    ] = None,
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
    """
    from spoofspan.report.results import render, utterances_table

    o.must_be_free(out, per_utterance, force=force)
    if threshold_from is not None:
        if threshold is not None:
            raise UsageError("give --threshold or --threshold-from, not both")
        threshold = threshold_in(threshold_from, measure or [])
    with ExitStack() as open_files:
        corpus: _Corpus
        if scheduler is not None:
            corpus = _Shards(open_files.enter_context(inputs.on_cluster(scheduler)))
        elif jobs not in (None, 1) or (inputs.too_large() if stream is None else stream):
            corpus = _Shards(open_files.enter_context(inputs.sharded(jobs)))
        else:
            corpus = _InMemory(*inputs.read())
        how = {
            "convention": convention,
            "eer_rule": eer_rule,
            "threshold": threshold,
            "scores_are": scores_are,
            **rules,
        }
        evaluation = corpus.evaluate(measure, how)
        first = next(iter(evaluation.measurements.values()))
        breakdowns = [corpus.break_down(one, metadata, first.measure, how) for one in by or ()]
        with progress("signing"):
            text = render(evaluation, output.value, breakdowns)
        o.deliver(text, out, force)
        if per_utterance is not None:
            by_utterance = corpus.errors_by_utterance(first, {"convention": convention, **rules})
            o.deliver(utterances_table(by_utterance).render("csv"), per_utterance, force)


def threshold_in(path: Path, measures: list[str]) -> float:
    """The threshold of the EER, of the same basis as the measures, in the JSON of an evaluation."""
    import json

    from spoofspan.measures import Measure

    bases = {
        str(replace(one, family=f"{one.basis}-eer", given=None, parameters=())) for one in map(Measure.parse, measures)
    }
    if len(bases) > 1:
        raise UsageError(
            f"--threshold-from: {' and '.join(sorted(bases))} have thresholds of their own; measure them apart"
        )
    wanted = bases.pop() if bases else "range-eer"
    try:
        found = json.loads(path.expanduser().read_text(encoding="utf-8"))["measurements"]
        thresholds = {one["measure"]: one["threshold"] for one in found}
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{path}: not the JSON of an evaluation; write one with eval --format json --out") from None
    if wanted not in thresholds:
        raise DataError(f"{path}: it has no {wanted} (only {', '.join(thresholds)}); evaluate it there as well")
    return float(thresholds[wanted])


class _Corpus(Protocol):
    """What is measured, wherever it is."""

    def evaluate(self, measures: list[str] | None, arguments: dict[str, Any]) -> Evaluation: ...

    def errors_by_utterance(self, at: Measurement, arguments: dict[str, Any]) -> UtteranceErrors: ...

    def break_down(self, by: str, metadata: str | None, measure: str, arguments: dict[str, Any]) -> Breakdown: ...


@dataclass(frozen=True)
class _InMemory:
    references: References
    scores: Scores

    def evaluate(self, measures: list[str] | None, arguments: dict[str, Any]) -> Evaluation:
        import spoofspan as ss

        usual = ss.default_measures(self.scores, arguments["convention"])
        arguments = arguments | {"on_undefined": _leaving_out(measures, usual)}
        return ss.evaluate(self.references, self.scores, measures or usual, **arguments)

    def errors_by_utterance(self, at: Measurement, arguments: dict[str, Any]) -> UtteranceErrors:
        import spoofspan as ss

        return ss.errors_by_utterance(
            self.references, self.scores, at.threshold, everything=at.point.everything, **arguments
        )

    def break_down(self, by: str, metadata: str | None, measure: str, arguments: dict[str, Any]) -> Breakdown:
        from spoofspan import groups

        known = {"kind": groups.by_kind, "length": groups.by_length, "boundary": groups.by_boundary}
        if by in known:
            return known[by](self.references, self.scores, measure=measure, **arguments)
        if metadata is None:
            raise UsageError(f"--by {by}: give --metadata, a file that says the {by} of every utterance")
        from spoofspan.formats.metadata import read_metadata

        column = read_metadata(metadata, by)
        return groups.by_column(self.references, self.scores, column, name=by, measure=measure, **arguments)


@dataclass(frozen=True)
class _Shards:
    shards: ShardedCorpus

    def evaluate(self, measures: list[str] | None, arguments: dict[str, Any]) -> Evaluation:
        from spoofspan.evaluate import measures_for_hop
        from spoofspan.streaming import evaluate_shards

        usual = measures_for_hop(self.shards.hop, arguments["convention"])
        arguments = arguments | {"on_undefined": _leaving_out(measures, usual)}
        return evaluate_shards(self.shards, measures or usual, **arguments)

    def errors_by_utterance(self, at: Measurement, arguments: dict[str, Any]) -> UtteranceErrors:
        from spoofspan.streaming import utterance_errors_of_shards

        return utterance_errors_of_shards(self.shards, at.threshold, everything=at.point.everything, **arguments)

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

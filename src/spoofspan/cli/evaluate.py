"""``spoofspan eval``: one command from files to a number that can be trusted."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from spoofspan.cli import completion
from spoofspan.cli import options as o
from spoofspan.cli.inputs import Inputs, takes_inputs
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
            help="range-eer, point-eer@20ms, utterance-eer; may be repeated.",
            autocompletion=completion.among(completion.measures),
        ),
    ] = None,
    convention: o.Convention = "default",
    eer_rule: o.EerRule = None,
    output: o.OutputFormat = o.Output.text,
    out: o.Out = None,
    force: o.Force = False,
    per_utterance: Annotated[
        Path | None, typer.Option("--per-utterance", help="Also write errors by utterance to this CSV file.")
    ] = None,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Keep little in memory, with temporary files on disk. Files too large for the memory do so anyway.",
        ),
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
    """
    from spoofspan.report.results import render, utterances_table

    o.must_be_free(out, per_utterance, force=force)
    with ExitStack() as open_files:
        corpus: _Corpus
        if inputs.too_large() if stream is None else stream:
            corpus = _Shards(open_files.enter_context(inputs.sharded()))
        else:
            corpus = _InMemory(*inputs.read())
        evaluation = corpus.evaluate(measure, {"convention": convention, "eer_rule": eer_rule, **rules})
        with progress("signing"):
            text = render(evaluation, output.value)
        o.deliver(text, out, force)
        if per_utterance is not None:
            first = next(iter(evaluation.measurements.values()))
            by_utterance = corpus.errors_by_utterance(first, {"convention": convention, **rules})
            o.deliver(utterances_table(by_utterance).render("csv"), per_utterance, force)


class _Corpus(Protocol):
    """What is measured, wherever it is."""

    def evaluate(self, measures: list[str] | None, arguments: dict[str, Any]) -> Evaluation: ...

    def errors_by_utterance(self, at: Measurement, arguments: dict[str, Any]) -> UtteranceErrors: ...


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

"""``spoofspan eval``: one command from files to a number that can be trusted."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from spoofspan.base.errors import UsageError, reason_of
from spoofspan.base.progress import progress
from spoofspan.cli import options as o
from spoofspan.cli.algorithm import AlgorithmOptions, takes_algorithm
from spoofspan.cli.benchmark_options import takes_benchmark
from spoofspan.cli.bootstrap_options import BootstrapOptions, takes_bootstrap
from spoofspan.cli.eval_inputs import (
    ProposalOptions,
    UtteranceInputs,
    WhereMeasured,
    opened_corpus,
    takes_proposals,
    takes_utterance_scores,
    takes_where,
)
from spoofspan.cli.inputs import Inputs, read_column, takes_inputs
from spoofspan.cli.like_option import takes_like
from spoofspan.formats.datasets.benchmarks import BenchmarkRun

if TYPE_CHECKING:
    from spoofspan.base.errors import UndefinedMeasureError
    from spoofspan.evaluation.crossed import CrossedBreakdown
    from spoofspan.evaluation.measurement import Measurement
    from spoofspan.measures.measure import Measure
    from spoofspan.measures.measure_settings import ScoresAre
    from spoofspan.measures.operating_point import OperatingPoint
    from spoofspan.measures.per_utterance import UtteranceErrors


@takes_like
@takes_benchmark
@takes_inputs
@takes_bootstrap
@takes_utterance_scores
@takes_proposals
@takes_algorithm
@takes_where
@o.takes_rules
def eval_(
    *,
    inputs: Inputs,
    benchmark: BenchmarkRun | None = None,
    measure: list[str] | None = o.measure_flag(
        None,
        "What to measure, such as range-f1. May be repeated: point-eer@20ms, range-fnr@fpr=0.01, event-ap@iou=0.5, ...",
    ),
    threshold: float | None = o.flag(
        None, "Decision threshold. For measures that need one.", show_default="where the EER is"
    ),
    threshold_from: Path | None = o.flag(None, "The same, from the EER in another eval's JSON."),
    scores_are: o.ScoresAre = None,
    more: UtteranceInputs,
    convention: o.Convention = "default",
    eer_rule: o.EerRule = None,
    algorithm: AlgorithmOptions,
    proposals: ProposalOptions,
    output: o.OutputFormat = o.Output.text,
    out: o.Out = None,
    force: o.Force = False,
    full_signature: o.FullSignature = False,
    per_utterance: Path | None = o.flag(
        None, "Also write errors by utterance to this file. Its name ends in .csv, .json or .parquet."
    ),
    own_eer: bool = o.flag(False, "With --per-utterance: each utterance's own range EER as well.", "--own-eer"),
    by: list[str] | None = o.flag(
        None,
        "Break down by kind, length, boundary or speaker. The first measure, by any column of --metadata; "
        "attack,codec crosses two columns, for every measure. May be repeated.",
    ),
    heatmap: Path | None = o.flag(
        None, "Also draw the crossed table of the first measure, to this .png, .svg or .pdf."
    ),
    metadata: o.Metadata = None,
    bootstrap: BootstrapOptions,
    where: WhereMeasured,
    quiet: o.Quiet = False,
    rules: dict[str, Any],
) -> None:
    """Measure a system.

    Without --measure: the range EER, the point EER at the hop of the scores and the utterance EER.

    For example:

      spoofspan eval ref.rttm unit0.02.score --durations reco2dur

      spoofspan eval labels.parquet scores.parquet -m range-eer --format json

      spoofspan eval --dataset partialspoof:database:eval output --hop 0.02

      spoofspan eval ref.rttm eval.score --by kind --confidence 0.95

      spoofspan eval ref.rttm eval.score -m range-f1 --threshold-from dev.json

      spoofspan eval dev.rttm dev.score --out dev.json

      spoofspan eval labels.parquet scores.parquet --stream

      spoofspan eval "labels/*.parquet" "scores/*.parquet" --scheduler tcp://head:8786

      spoofspan eval ref.rttm eval.score --by kind --by speaker --metadata protocol.txt

      spoofspan eval ref.rttm eval.score --confidence 0.95 --metadata protocol.txt

      spoofspan eval ref.rttm eval.score --per-utterance errors.csv --own-eer

      spoofspan eval protocol.txt --utterance-scores cm_scores.tsv -m utterance-min-dcf

      spoofspan eval keys.tsv --utterance-scores cm_scores.tsv -m utterance-eer --by attack,codec --heatmap eer.pdf

      spoofspan eval metadata.json proposals.json -m event-ap@iou=0.5

      spoofspan eval ref.rttm eval.score --algorithm bisection --precision 1e-5

      spoofspan eval ref.rttm eval.score --like published.json

      spoofspan eval --benchmark av-deepfake1m val_metadata.json prediction.json
    """
    from spoofspan.evaluation.plan import EvaluationOptions
    from spoofspan.report.results import render

    if benchmark is not None:
        inputs = replace(inputs, assumed=benchmark.assumed)
    o.must_be_free(out, per_utterance, heatmap, force=force)
    if heatmap is not None:
        _check_heatmap(heatmap, by)
    more, inputs = more.placed(inputs)
    more.check(measure)
    if own_eer:
        _check_own_eer(per_utterance, eer_rule, convention)
    if threshold_from is not None:
        if threshold is not None:
            raise UsageError("give --threshold or --threshold-from, not both")
        from spoofspan.evaluation.stated_result import read_eer_threshold

        threshold = read_eer_threshold(threshold_from, measure or [], given=more.utterance_scores is not None)
    # what bisection has no answer to
    exact = {"eer-rule": eer_rule, "threshold": threshold, "by": by, "per-utterance": per_utterance, **vars(where)}
    exact |= {"utterance-scores": more.utterance_scores}
    exact |= {"confidence": bootstrap.confidence}
    if algorithm.bisects(measure, exact):
        found = algorithm.evaluate(inputs.read(), EvaluationOptions(convention, rules=rules))
        o.deliver(render(found, output.value, full_signature=full_signature, benchmark=benchmark), output, out, force)
        return
    with opened_corpus(inputs, more, proposals, where, quiet=quiet) as (corpus, truth):
        alone = more.alone(inputs)
        options = EvaluationOptions(
            convention, eer_rule, threshold, cast("ScoresAre | None", scores_are), more.read_asv(truth), rules=rules
        )
        # the labels of whole utterances may stand beside their attacks and codecs
        metadata = metadata or inputs.protocol()
        known = None
        if by or bootstrap.confidence:
            beside = inputs.labels_file() if alone else None
            known = beside if metadata is None else inputs.identify(metadata).sources
        # how proposals are made concerns the measures alone, and neither breakdowns nor utterances
        asked = replace(
            options, resampling=bootstrap.resampling_if_asked(known, inputs.bare_ids), **proposals.arguments()
        )
        if per_utterance is None:  # whose errors are those at the threshold
            asked.refuse_unused_threshold(measure or corpus.default_measures(convention))
        evaluation = corpus.evaluate(measure, asked) if measure else corpus.evaluate_defaults(asked, _say_left_out)
        first = next(iter(evaluation.measurements.values()))
        column = cache(partial(read_column, known, inputs.bare_ids))
        crossing = [one for one in by or () if crosses(one, first, alone)]
        plain = [one for one in by or () if one not in crossing]
        grouped = replace(options, resampling=asked.resampling)
        breakdowns = [corpus.break_down(one, first.measure, grouped, column) for one in plain]
        # every measure has its own table
        crossed = [corpus.cross(one, name, asked, column) for one in crossing for name in evaluation.measurements]
        if per_utterance is not None:
            # a development threshold of points or whole utterances says nothing about ranges
            of_ranges = threshold_from is None or not measure or any(one.startswith("range-") for one in measure)
            at = corpus.range_operating_point(evaluation, options, threshold if of_ranges else None)
            errors = corpus.errors_by_utterance(at, options, own_eer=own_eer)
        with progress("signing"):
            text = render(
                evaluation, output.value, breakdowns, crossed, full_signature=full_signature, benchmark=benchmark
            )
        o.deliver(text, output, out, force)
        if heatmap is not None:
            _draw(crossed, heatmap, force)
        if per_utterance is not None:
            _write_utterances(errors, per_utterance, at, force)


def crosses(by: str, first: Measurement, alone: bool) -> bool:
    """Whether a breakdown is a table of cells: of two columns, of whole utterances, of points or of events."""
    from spoofspan.evaluation.breakdown import BREAKDOWNS

    return "," in by or ((alone or not first.measure.startswith("range-")) and by not in BREAKDOWNS)


def _check_heatmap(heatmap: Path, by: list[str] | None) -> None:
    from spoofspan.report.figures.style import must_be_drawable

    if not any("," in one for one in by or ()):
        raise UsageError("--heatmap draws a crossed table: give --by attack,codec, with --metadata")
    must_be_drawable(heatmap)


def _draw(crossed: list[CrossedBreakdown], heatmap: Path, force: bool) -> None:
    from spoofspan.report.figures.heatmap import draw_crossed
    from spoofspan.report.figures.style import save

    save(draw_crossed(next(one for one in crossed if len(one.by) > 1)), heatmap, force)


def _check_own_eer(per_utterance: Path | None, eer_rule: str | None, convention: str) -> None:
    """Fail fast on invalid options."""
    from spoofspan.data.rules import rules_for
    from spoofspan.measures.per_utterance import check_own_rule

    if per_utterance is None:
        raise UsageError("--own-eer goes with --per-utterance FILE; give both")
    check_own_rule(eer_rule or rules_for("range", convention, {})[1])


def _write_utterances(errors: UtteranceErrors, target: Path, at: OperatingPoint, force: bool) -> None:
    from spoofspan.formats.writing import write_atomically
    from spoofspan.report.results import utterances_file

    write_atomically(target, utterances_file(errors, target.name, at), force)
    typer.echo(f"errors of {len(errors.utterances):,} utterances ({at.decision}): {target}", err=True)


def _say_left_out(measure: Measure, error: UndefinedMeasureError) -> None:
    typer.echo(f"note: {measure} is left out: {reason_of(error)}", err=True)

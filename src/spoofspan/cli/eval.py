"""``spoofspan eval``: one command from files to a number that can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import click

from spoofspan.base.errors import UsageError, nearest_name, reason_of
from spoofspan.base.progress import progress
from spoofspan.cli import completion
from spoofspan.cli import options as o
from spoofspan.cli.declarations import OptionGroup, filled_in_by
from spoofspan.cli.inputs import CorpusInputs
from spoofspan.cli.words import check_tier, cut_by
from spoofspan.formats.datasets.benchmarks import BenchmarkRun

if TYPE_CHECKING:
    from spoofspan.base.errors import UndefinedMeasureError
    from spoofspan.evaluation.corpus import Corpus, Evaluation
    from spoofspan.evaluation.crossed import CrossedBreakdown
    from spoofspan.evaluation.words import WordCorpus
    from spoofspan.measures.measure import Measure
    from spoofspan.measures.operating_point import OperatingPoint
    from spoofspan.measures.per_utterance import UtteranceErrors


ALGORITHMS = ("exact", "bisection")


@dataclass(frozen=True)
class AlgorithmOptions:
    """Algorithm of the range EER: exactly, or by the paper's Algorithm 1 with its trace."""

    algorithm: str | None = o.typed_flag(
        "Algorithm for the range EER: exact (default), or bisection (the paper's Algorithm 1, with its trace).",
        of=ALGORITHMS,
    )
    precision: float | None = o.typed_flag("Bisection: stop when FPR and FNR differ by less than this (1e-5).")
    quantiles: str | None = o.typed_flag(
        "Bisection: real (default, as in the published script) or integer (as printed).", of=["real", "integer"]
    )

    def bisects(self, measures: list[str] | None, not_exact: Mapping[str, Any]) -> bool:
        """True if Algorithm 1 is asked for; refuses what it cannot do."""
        if self.algorithm not in (None, *ALGORITHMS):
            raise UsageError(f"--algorithm {self.algorithm}: {nearest_name(str(self.algorithm), ALGORITHMS)}")
        if self.algorithm != "bisection":
            o.refuse_typed(self, ("precision", "quantiles"), "goes with --algorithm bisection; leave it out")
            return False
        if measures and measures != ["range-eer"]:
            other = next(one for one in measures if one != "range-eer")
            raise UsageError(f"--algorithm bisection estimates the range EER; measure {other} apart, without it")
        for name, value in not_exact.items():
            if value not in (None, False, []):
                raise UsageError(f"--{name} needs the exact range EER; leave it or --algorithm bisection out")
        return True

    def evaluate(self, system: tuple[Any, Any], rules: Mapping[str, Any]) -> Evaluation:
        """Run Algorithm 1."""
        from spoofspan.evaluation.corpus import Evaluation
        from spoofspan.evaluation.evaluate import bisection_eer

        precision = 1e-5 if self.precision is None else self.precision
        quantiles = cast('Literal["real", "integer"]', self.quantiles or "real")
        found = bisection_eer(*system, precision=precision, quantiles=quantiles, **rules)
        return Evaluation({found.measure: found})


# ---------------------------------------------------------------- flags that fill in others

DEFAULTS = {"convention": "default"}  # of flags that are something if they are not typed
BenchmarkName = Annotated[
    str | None,
    o.option(
        "Measure as this benchmark is ranked. spoofspan benchmarks lists them, with their labels, measures and rules.",
        of=completion.benchmarks,
    ),
]
Like = Annotated[
    str | None,
    o.option("Take over measures and rules. From the JSON of eval, or a signature in quotes.", metavar="RESULT"),
]


# The benchmark that was named; --like has done its work by then.
FilledIn = Annotated[
    BenchmarkRun | None, OptionGroup({"like": Like, "benchmark": BenchmarkName}, lambda like, benchmark: benchmark)
]


def filled_in(typed: dict[str, Any]) -> dict[str, Any]:
    """Let --like and --benchmark fill in other flags; what is typed as well takes precedence."""
    if typed["like"] is not None:
        typed = _as_in(typed["like"], typed)
    if typed["benchmark"] is not None:
        typed = _as_ranked(typed["benchmark"], typed)
    return typed


def _given(typed: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Those of some flags that were typed."""
    return {name: typed[name] for name in names if typed[name] not in (None, [], DEFAULTS.get(name))}


def _as_in(like: str, typed: dict[str, Any]) -> dict[str, Any]:
    """Fill in the measures and rules of a result; says which of those that were typed differ from it."""
    from spoofspan.evaluation.signature_text import BISECTION
    from spoofspan.evaluation.stated_result import StatedResult

    result = StatedResult.read(like)
    found: dict[str, Any] = {
        "measure": result.measures,
        "convention": result.convention,
        "eer_rule": result.eer_rule,
        "scores_are": result.scores_are,
        "asv_rates": result.setting("asv-rates") if typed["asv_scores"] is None else None,
        **result.proposing,
        **result.rules,
    }
    if found.pop("regions", None) is not None and typed["regions"] is None:
        raise UsageError(f"{result.name} was measured in regions; give their file with --regions")
    if (bisection := BISECTION.fullmatch(result.measures[0])) is not None:
        found |= {"measure": None, "algorithm": "bisection", "eer_rule": None, **bisection.groupdict()}
        found["precision"] = float(bisection["precision"])
    if result.setting("threshold") is not None and typed["threshold"] is None and typed["threshold_from"] is None:
        raise UsageError(
            f"{result.name} was measured at a given threshold, which belongs to its system; give --threshold or "
            "--threshold-from"
        )
    known = {name: value for name, value in found.items() if value is not None}
    given = _given(typed, known)
    for name, value in given.items():
        if value != known[name]:
            o.say([f"note: --{name.replace('_', '-')} {value} differs from {result.name}"])
    return {**typed, **known, **given}


def _as_ranked(name: str, typed: dict[str, Any]) -> dict[str, Any]:
    """Fill in the flags that were not typed, and the benchmark; says what is not as it is ranked."""
    run = BenchmarkRun.of(name, _given(typed, typed))
    one = run.benchmark
    o.say([f"{one.name}: {one.title}; ranked: {one.ranked}", *(f"note: {note}" for note in run.notes)])
    filled = {**typed, **run.options, "benchmark": run}
    if filled["dataset"] is not None:  # whose name has the set
        filled["split"] = typed["split"]
    if one.takes == "utterance-scores" and filled["utterance_scores"] is None:
        # the second word is what --utterance-scores would name
        filled["scores"], filled["utterance_scores"] = None, filled["scores"]
    return filled


# ---------------------------------------------------------------- the command


@filled_in_by(filled_in)
def eval_(
    *,
    inputs: CorpusInputs,
    benchmark: FilledIn,
    measure: list[str] | None = o.measure_flag(
        None,
        "What to measure, such as range-f1. May be repeated: point-eer@20ms, range-fnr@fpr=0.01, event-ap@iou=0.5, ...",
    ),
    threshold: float | None = o.flag(
        None, "Decision threshold. For measures that need one.", show_default="where the EER is"
    ),
    threshold_from: Path | None = o.flag(
        None, "The same, from the EER in another eval's JSON. Or from calibrate --miss-rate."
    ),
    scores_are: o.ScoresAre = None,
    algorithm: AlgorithmOptions,
    ranges: o.RangeOptions,
    output: o.Output,
    full_signature: o.FullSignature = False,
    per_utterance: Path | None = o.flag(
        None, "Also write errors by utterance to this file. Its name ends in .csv, .json or .parquet."
    ),
    own_eer: bool = o.flag(False, "With --per-utterance: each utterance's own range EER as well.", "--own-eer"),
    confusion: bool = o.flag(
        False,
        "Also print confusion matrices, in seconds or counts; JSON always has them.",
        "--confusion",
    ),
    by: list[str] | None = o.flag(
        None,
        "Break down by attack, length, share, boundary, speaker. The first measure, by any column of --metadata; share "
        "is that of spoofed time; attack,codec crosses two columns, for every measure. May be repeated.",
    ),
    words: str | None = o.flag(
        None,
        "Measure words, of a CTM file or TextGrids: utterance-eer is then that of words. With event measures: the "
        "edges of words, for --by boundary.",
    ),
    tier: str | None = o.flag(None, "The tier of TextGrids that has the words.", show_default="words"),
    heatmap: Path | None = o.flag(
        None, "Also draw the crossed table of the first measure, to this .png, .svg or .pdf."
    ),
    metadata: o.Metadata = None,
    bootstrap: o.BootstrapOptions,
    rules: o.PointRules,
) -> None:
    """Measure a system.

    Without --measure: the range EER, the point EER at the hop of the scores and the utterance EER.

    For example:

      spoofspan eval ref.rttm unit0.02.score --durations reco2dur

      spoofspan eval labels.parquet scores.parquet -m range-eer --format json

      spoofspan eval --dataset partialspoof:database:eval output --hop 0.02

      spoofspan eval ref.rttm eval.score --by attack --confidence 0.95

      spoofspan eval ref.rttm eval.score -m range-f1 --threshold-from dev.json

      spoofspan eval dev.rttm dev.score --out dev.json

      spoofspan eval labels.parquet scores.parquet --stream

      spoofspan eval "labels/*.parquet" "scores/*.parquet" --scheduler tcp://head:8786

      spoofspan eval ref.rttm eval.score --by attack --by speaker --metadata protocol.txt

      spoofspan eval ref.rttm eval.score --confidence 0.95 --metadata protocol.txt

      spoofspan eval ref.rttm eval.score --per-utterance errors.csv --own-eer

      spoofspan eval protocol.txt --utterance-scores cm_scores.tsv -m utterance-min-dcf

      spoofspan eval keys.tsv --utterance-scores cm_scores.tsv -m utterance-eer --by attack,codec --heatmap eer.pdf

      spoofspan eval metadata.json proposals.json -m event-ap@iou=0.5

      spoofspan eval ref.rttm eval.score --words alignment.ctm --confidence 0.95

      spoofspan eval ref.rttm eval.score --algorithm bisection --precision 1e-5

      spoofspan eval ref.rttm eval.score --like published.json

      spoofspan eval --benchmark av-deepfake1m val_metadata.json prediction.json
    """
    from spoofspan.evaluation.corpus import CorpusInMemory
    from spoofspan.evaluation.plan import EvaluationOptions
    from spoofspan.formats.text.protocol import read_groups
    from spoofspan.report.results import check_utterances_target, render

    if benchmark is not None:
        inputs = replace(inputs, assumed=benchmark.assumed)
    o.must_be_free(per_utterance, heatmap, force=output.force)
    if per_utterance is not None:
        check_utterances_target(per_utterance.name)
    if heatmap is not None:
        _check_heatmap(heatmap, by)
    inputs = inputs.placed()
    inputs.check(measure)
    if own_eer:
        _check_own_eer(per_utterance, rules)
    if threshold_from is not None:
        if threshold is not None:
            raise UsageError("give --threshold or --threshold-from, not both")
        from spoofspan.evaluation.stated_result import read_threshold

        learned = read_threshold(threshold_from, measure or [], given=inputs.utterance_scores is not None)
        threshold = learned.value
    # what bisection has no answer to
    exact = {"eer-rule": rules.get("eer_rule"), "threshold": threshold, "by": by, "per-utterance": per_utterance}
    exact |= {"stream": inputs.stream, "jobs": inputs.jobs, "scheduler": inputs.scheduler}
    exact |= {"utterance-scores": inputs.utterance_scores, "confidence": bootstrap.confidence, "words": words}
    if tier is not None:
        check_tier(words)
    if algorithm.bisects(measure, exact):
        found = algorithm.evaluate(inputs.read(), rules)
        output.deliver(render(found, output.format, full_signature=full_signature, benchmark=benchmark))
        return
    with inputs.opened(quiet=output.quiet) as (corpus, truth):
        # of events, words only say where their edges are (--by boundary)
        edges = None
        if words and measure and all(one.startswith("event-") for one in measure):
            from spoofspan.formats.text.alignments import read_alignment

            edges = read_alignment(words, tier)
        cut = _cut(corpus, words, tier) if words is not None and edges is None else None
        if cut is not None:
            corpus, measure = CorpusInMemory(cut.references, cut.scores), measure or ["utterance-eer"]
        given = {"threshold": threshold, "scores_are": scores_are, "asv_scores": inputs.read_asv(truth)}
        options = EvaluationOptions.from_arguments(rules | given)
        # the labels of whole utterances may stand beside their attacks and codecs
        metadata = metadata or inputs.protocol()
        known = None
        if by or bootstrap.confidence:
            beside = inputs.labels_file() if inputs.alone else None
            known = beside if metadata is None else inputs.identify(metadata).sources
        # how proposals are made concerns the measures alone, and neither breakdowns nor utterances
        resampling = bootstrap.resampling_if_asked(known, inputs.bare_ids)
        if cut is not None and resampling is not None:  # words of one utterance are no independent trials
            resampling = cut.resampling(resampling)
        asked = replace(options, resampling=resampling, **ranges.arguments())
        if per_utterance is None:  # whose errors are those at the threshold
            asked.refuse_unused_threshold(measure or corpus.default_measures(options.convention))
        evaluation = corpus.evaluate(measure, asked) if measure else corpus.evaluate_defaults(asked, _say_left_out)
        first = next(iter(evaluation.measurements.values()))
        if threshold_from is not None:
            learned.warn_if_learned_here(first.signature)
        column: Callable[[str], Mapping[str, str]] = cache(partial(read_groups, known, bare_ids=inputs.bare_ids))
        if cut is not None:
            column = cut.reading(column)
        breakdowns: list[Any] = []
        crossed: list[Any] = []
        for one in by or ():
            way = corpus.way_of_groups(one, first.measure)
            # time is cut for the first measure; otherwise every measure has its own table
            for name in evaluation if way != "time" else [first.measure]:
                table = corpus.groups(one, name, asked, column, way=way, words=edges)
                (breakdowns if way == "time" else crossed).append(table)
        if per_utterance is not None:
            # a development threshold of points or whole utterances says nothing about ranges
            of_ranges = threshold_from is None or not measure or any(one.startswith("range-") for one in measure)
            at = corpus.range_operating_point(evaluation, options, threshold if of_ranges else None)
            errors = corpus.errors_by_utterance(at, options, own_eer=own_eer)
        with progress("signing"):
            look: dict[str, Any] = {"full_signature": full_signature, "benchmark": benchmark, "confusion": confusion}
            text = render(evaluation, output.format, breakdowns, crossed, **look)
        output.deliver(text)
        if heatmap is not None:
            _draw(crossed, heatmap, output.force)
        if per_utterance is not None:
            _write_utterances(errors, per_utterance, at, output.force)


def _cut(corpus: Corpus, words: str, tier: str | None) -> WordCorpus:
    """Make an utterance of each word of an alignment."""
    from spoofspan.evaluation.corpus import CorpusInMemory

    if not isinstance(corpus, CorpusInMemory):
        raise UsageError(
            "--words needs scores in time, in memory: give REFERENCES and SCORES, without --stream and --jobs"
        )
    if corpus.utterance_scores is not None or corpus.boundary_scores is not None:
        raise UsageError("--words measures words; leave --utterance-scores and --boundary-scores out")
    return cut_by(words, tier, corpus.references, {"": corpus.system})[0]


def _check_heatmap(heatmap: Path, by: list[str] | None) -> None:
    from spoofspan.report.figures.style import must_be_drawable

    if not any("," in one for one in by or ()):
        raise UsageError("--heatmap draws a crossed table: give --by attack,codec, with --metadata")
    must_be_drawable(heatmap)


def _draw(crossed: list[CrossedBreakdown], heatmap: Path, force: bool) -> None:
    from spoofspan.report.figures import plots
    from spoofspan.report.figures.style import OURS, save

    shown = next(one for one in crossed if len(one.by) > 1)
    save(plots.heatmap(shown, style=OURS), heatmap, force)


def _check_own_eer(per_utterance: Path | None, rules: Mapping[str, Any]) -> None:
    """Fail fast on invalid options."""
    from spoofspan.data.rules import rules_for
    from spoofspan.measures.per_utterance import check_own_rule

    if per_utterance is None:
        raise UsageError("--own-eer goes with --per-utterance FILE; give both")
    check_own_rule(rules.get("eer_rule") or rules_for("range", rules["convention"], {})[1])


def _write_utterances(errors: UtteranceErrors, target: Path, at: OperatingPoint, force: bool) -> None:
    from spoofspan.formats.writing import write_atomically
    from spoofspan.report.results import utterances_file

    write_atomically(target, utterances_file(errors, target.name, at), force)
    click.echo(f"errors of {len(errors.utterances):,} utterances ({at.decision}): {target}", err=True)


def _say_left_out(measure: Measure, error: UndefinedMeasureError) -> None:
    o.say([f"note: {measure} is left out: {reason_of(error)}"])

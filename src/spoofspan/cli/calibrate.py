"""``spoofspan calibrate`` and ``spoofspan fuse``: scores become log-likelihood ratios."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from spoofspan.base.errors import UsageError
from spoofspan.base.progress import progress
from spoofspan.cli import completion
from spoofspan.cli import options as o
from spoofspan.cli.bootstrap_options import cluster_arguments
from spoofspan.cli.inputs import Inputs, takes_inputs
from spoofspan.cli.system_inputs import Systems, takes_systems
from spoofspan.data.sides import separate_seeds

if TYPE_CHECKING:
    from spoofspan.data.calibration import Calibration

UTTERANCE_SCORES = "Scores of whole utterances in the place of SCORES; REFERENCES may then be a protocol."


@dataclass(frozen=True)
class LearningOptions:
    """How a calibration is learned and tried, or which one is applied."""

    apply: str | None = o.typed_flag("Apply this calibration to SCORES; REFERENCES may be left out.")
    prior: float | None = o.typed_flag(
        "Assumed share of spoof, which weighs the classes in learning.", show_default="0.5"
    )
    ridge: float | None = o.typed_flag(
        "Penalty of large weights, such as 0.001, for scores that separate the classes without an error."
    )
    folds: int | None = o.typed_flag("Groups of clusters in cross-validation; 0 for none.", show_default="10")
    cluster: str | None = o.typed_flag(
        "What is held out together: a column of --metadata, or utterance.",
        of=["speaker", "utterance"],
        show_default="speaker, if known",
    )
    metadata: str | None = o.typed_flag("Table with a column utterance, or a protocol. It names speakers.")
    method: str | None = o.typed_flag("affine or pav.", of=["affine", "pav"], show_default="affine")
    utterance_scores_format: str | None = o.typed_flag(
        "Format of the utterance scores, if not recognised.", of=completion.utterance_score_formats
    )
    scores_to: str | None = o.typed_flag("Format of the scores in --out, if its name does not tell.", "--to")


takes_learning = o.takes_options("learning", LearningOptions)


@takes_inputs
@takes_learning
@o.takes_range_rules
def calibrate(
    *,
    inputs: Inputs,
    utterance_scores: str | None = o.flag(None, UTTERANCE_SCORES),
    learning: LearningOptions,
    convention: o.Convention = "default",
    output: o.OutputFormat = o.Output.text,
    out: str | None = o.flag(None, "Write the calibration (JSON), or with --apply the calibrated scores."),
    force: o.Force = False,
    quiet: o.Quiet = False,
    rules: dict[str, Any],
) -> None:
    """Turn scores into log-likelihood ratios.

    Learn on a development set (affine: a line by logistic regression, weighed by duration; pav: the best increasing
    map), then apply to any scores of the same system. The order of the scores, and so every EER, stays as it was. Cllr
    and costs are shown before and after, and cross-validated over speakers.

    For example:

      spoofspan calibrate dev.rttm dev.parquet --durations dev.dur --out calibration.json

      spoofspan calibrate --apply calibration.json eval.parquet --out eval_llr.parquet

      spoofspan calibrate eval.rttm eval.parquet --durations eval.dur --apply calibration.json

      spoofspan calibrate protocol.txt --utterance-scores dev.tsv --out calibration.json
    """
    if learning.apply is not None and utterance_scores is None and inputs.scores is None and inputs.dataset is None:
        inputs = replace(inputs, scores=inputs.references, references=None)  # the only word typed is the scores
    where = utterance_scores or inputs.scores
    files = {Path(where or "scores").stem: where}
    _run(inputs, files, utterance_scores is not None, learning, convention, rules, output, out, force)


@takes_systems
@takes_learning
@o.takes_range_rules
def fuse(
    *,
    systems: Systems,
    utterance_scores: list[str] | None = o.flag(None, f"{UTTERANCE_SCORES} One for each system."),
    learning: LearningOptions,
    convention: o.Convention = "default",
    output: o.OutputFormat = o.Output.text,
    out: str | None = o.flag(None, "Write the fusion (JSON), or with --apply the fused scores."),
    force: o.Force = False,
    quiet: o.Quiet = False,
    rules: dict[str, Any],
) -> None:
    """Turn the scores of several systems into one log-likelihood ratio.

    Learn the weight of each system on a development set, by logistic regression weighed by duration (with --method pav,
    of systems that were calibrated first), then apply them to other scores of the same systems, in the same order.
    Hops may differ: fused scores have the finest.

    For example:

      spoofspan fuse dev.rttm a.parquet b.parquet --durations dev.dur --metadata protocol.txt --out fusion.json

      spoofspan fuse --apply fusion.json eval_a.parquet eval_b.parquet --out eval_fused.parquet

      spoofspan fuse protocol.txt --utterance-scores a.tsv --utterance-scores b.tsv --out fusion.json
    """
    from spoofspan.formats.calibrations import read_calibration
    from spoofspan.formats.datasets.systems import find_systems, join_parts, systems_of
    from spoofspan.formats.reading import read_utterance_scores

    inputs, words = systems.typed, list(systems.words)
    if utterance_scores:
        words = utterance_scores
    elif learning.apply is not None:
        learned_of = read_calibration(learning.apply).systems
        if len(learned_of) == 1:
            raise UsageError(
                f"{learning.apply} is a calibration of one system ({learned_of[0]}): spoofspan calibrate applies it"
            )
        if len(words) + 1 == len(learned_of):
            words, inputs = [str(inputs.references), *words], replace(inputs, references=None)
        elif len(words) < len(learned_of):
            raise UsageError(
                f"{learning.apply} is a fusion of {len(learned_of)} systems ({', '.join(learned_of)}); give the scores "
                "of each, in this order"
            )
    found = join_parts(
        find_systems(words, set_name=systems.set_name),
        lambda one: (read_utterance_scores if utterance_scores else inputs.read_scores)(one.path),
    )
    files = {name: one.path for name, one in separate_seeds(systems_of(found)).items()}
    if len(files) < 2:
        raise UsageError(
            f"a fusion needs the scores of at least two systems, not of {len(files)}; spoofspan calibrate takes one"
        )
    _run(inputs, dict(files), bool(utterance_scores), learning, convention, rules, output, out, force)


def _run(
    inputs: Inputs,
    files: dict[str, str | None],
    of_utterances: bool,
    learning: LearningOptions,
    convention: str,
    rules: dict[str, Any],
    output: o.Output,
    out: str | None,
    force: bool,
) -> None:
    from spoofspan.base.version import __version__
    from spoofspan.evaluation import calibration as library
    from spoofspan.evaluation import calibration_effects as worth
    from spoofspan.formats.calibrations import read_calibration, write_calibration
    from spoofspan.formats.convert import SCORES_BY_SUFFIX, write_converted
    from spoofspan.formats.reading import read_utterance_scores
    from spoofspan.report.calibration_table import calibration_table
    from spoofspan.report.results import finite

    o.must_be_free(out, force=force)
    how: dict[str, Any] = {"convention": convention, **rules}
    learned: Calibration
    measured = inputs.references is not None or inputs.dataset is not None
    if learning.apply is not None:
        of_learning = ("method", "prior", "ridge", "folds", "cluster", "metadata")
        o.refuse_typed(learning, of_learning, "is for learning, and --apply applies what was learned; leave it out")
        if out is None and not measured:
            raise UsageError("give --out, the file of calibrated scores, or REFERENCES to measure them")
        learned = read_calibration(learning.apply)
    elif not measured:
        raise UsageError("give REFERENCES and SCORES to learn a calibration, or --apply CALIBRATION and SCORES")
    elif out is not None and Path(out).suffix in SCORES_BY_SUFFIX:
        raise UsageError(
            f"--out {out}: what is learned is written as JSON, and this is the name of a score file; write it to "
            f"{Path(out).stem}.json, then give that with --apply and the scores with --out {out}"
        )
    truth: Any = None
    scores: dict[str, Any]
    if learning.utterance_scores_format is not None and not of_utterances:
        raise UsageError("--utterance-scores-format goes with --utterance-scores")
    if of_utterances:
        if inputs.scores_format is not None:
            raise UsageError("--scores-format is that of scores in time; give --utterance-scores-format")
        truth = inputs.read_truth() if measured else None
        scores = {
            name: read_utterance_scores(
                str(one), learning.utterance_scores_format, higher=o.polarity(inputs.higher), column=inputs.column
            )
            for name, one in files.items()
        }
    else:
        truth = replace(inputs, scores=None).read_known()[0] if measured else None
        scores = {name: _scores(inputs, one) for name, one in files.items()}
    if learning.apply is not None:
        learned.check_order(list(scores))
        applied = learned.apply(*scores.values())
        if out is not None:
            typer.echo(write_converted(applied, out, to_format=learning.scores_to, force=force), err=True)
        if not measured:
            return
        states = {**({"as given": next(iter(scores.values()))} if len(scores) == 1 else scores)}
        states["calibrated" if len(scores) == 1 else "fused"] = applied
        effects = [worth.calibration_effect(name, truth, one, **how) for name, one in states.items()]
        notes: list[str] = []
    else:
        told: dict[str, Any] = {
            name: value for name in ("method", "prior", "ridge") if (value := getattr(learning, name)) is not None
        }
        if len(scores) == 1:
            ((name, one),) = scores.items()
            learned = library.calibrate(truth, one, name=name, **told, **how)
        else:
            learned = library.fuse(truth, scores, **told, **how)
        about = cluster_arguments(learning.metadata or inputs.protocol(), learning.cluster)
        about |= {} if learning.folds is None else {"folds": learning.folds}
        with progress("cross-validation"):
            effects = worth.calibration_effects(truth, scores, learned, **about, **how)
        notes = [str(learned)]
        if out is not None:
            write_calibration(learned, out, force=force)
            typer.echo(f"{learned.method} calibration -> {out}", err=True)
    plain = {"spoofspan": __version__, "calibration": learned.to_dict(), "scores": [vars(one) for one in effects]}
    o.show(finite(plain), [calibration_table(effects, notes)], output)


def _scores(inputs: Inputs, where: str | None) -> Any:
    if where is None:
        if inputs.dataset is None:
            raise UsageError("give SCORES after REFERENCES, or --utterance-scores")
        return inputs.read()[1]
    return inputs.read_scores(where)

"""``spoofspan calibrate`` and ``spoofspan fuse``: scores become log-likelihood ratios."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from spoofspan.base.errors import UsageError
from spoofspan.base.progress import progress
from spoofspan.cli import options as o
from spoofspan.cli.system_inputs import OneSet, Systems

if TYPE_CHECKING:
    from spoofspan.data.calibration import Calibration


@dataclass(frozen=True)
class LearningOptions:
    """Options for learning, testing and applying a calibration."""

    apply: str | None = o.typed_flag("Apply this calibration to SCORES; REFERENCES may be left out.")
    prior: float | None = o.typed_flag(
        "Assumed share of spoof, which weighs the classes in learning.", show_default="0.5"
    )
    ridge: float | None = o.typed_flag(
        "Penalty of large weights, such as 0.001, for scores that separate the classes without an error."
    )
    folds: int | None = o.typed_flag("Folds of the cross-validation; 0 for none.", show_default="10")
    cluster: str | None = o.typed_flag(
        "Units held out together: a column of --metadata, or utterance.",
        of=["speaker", "utterance"],
        show_default="speaker, if known",
    )
    metadata: str | None = o.typed_flag("Table with a column utterance, or a protocol. It names speakers.")
    method: str | None = o.typed_flag("affine or pav.", of=["affine", "pav"], show_default="affine")
    miss_rate: float | None = o.typed_flag(
        "Find a threshold instead: miss at most this share of spoofed time, on average over new speakers."
    )
    scores_to: str | None = o.typed_flag("Format of the scores in --out, if its name does not show it.", "--to")
    format: o.Format = "text"
    out: str | None = o.typed_flag("Write what was learned (JSON), or with --apply the scores that it makes.")
    force: o.Force = False
    quiet: o.Quiet = False

    def __post_init__(self) -> None:
        o.must_be_free(self.out, force=self.force)

    def clusters(self, systems: Systems) -> dict[str, Any]:
        """Utterances that are held out together, as arguments."""
        columns = self.cluster and [self.cluster]
        return o.cluster_arguments(self.metadata or systems.metadata(), columns, systems.typed.bare_ids)

    def write(self, learned: Any, what: str) -> None:
        """Write what was learned to --out, if it was typed."""
        if self.out is not None:
            from spoofspan.formats.calibrations import write_calibration

            write_calibration(learned, self.out, force=self.force)
            click.echo(f"{what} -> {self.out}", err=True)


def calibrate(
    *,
    systems: OneSet,
    learning: LearningOptions,
    rules: o.RangeRules,
) -> None:
    """Turn scores into log-likelihood ratios.

    Learn on a development set (affine: a line by logistic regression, weighed by duration; pav: the best increasing
    map), then apply to any scores of the same system. The order of the scores, and so every EER, stays as it was. Cllr
    and costs are shown before and after, and cross-validated over speakers. Scores may be of whole utterances;
    REFERENCES may then be a protocol or a key.

    For example:

      spoofspan calibrate dev.rttm dev.parquet --durations dev.dur --out calibration.json

      spoofspan calibrate --apply calibration.json eval.parquet --out eval_llr.parquet

      spoofspan calibrate eval.rttm eval.parquet --durations eval.dur --apply calibration.json

      spoofspan calibrate protocol.txt dev.tsv --out calibration.json

      spoofspan calibrate dev.rttm dev.parquet --metadata protocol.txt --miss-rate 0.1 --out threshold.json
    """
    if learning.miss_rate is not None:
        _bound_misses(systems, learning, rules)
        return
    _run(systems, learning, rules, several=False)


def fuse(
    *,
    systems: OneSet,
    learning: LearningOptions,
    rules: o.RangeRules,
) -> None:
    """Turn the scores of several systems into one log-likelihood ratio.

    Learn the weight of each system on a development set, by logistic regression weighed by duration (with --method pav,
    of systems that were calibrated first), then apply them to other scores of the same systems, in the same order.
    Hops may differ: fused scores have the finest. Scores may be of whole utterances; REFERENCES may then be a protocol
    or a key.

    For example:

      spoofspan fuse dev.rttm a.parquet b.parquet --durations dev.dur --metadata protocol.txt --out fusion.json

      spoofspan fuse --apply fusion.json eval_a.parquet eval_b.parquet --out eval_fused.parquet

      spoofspan fuse protocol.txt a.tsv b.csv --higher b=spoof --out fusion.json
    """
    _run(systems, learning, rules, several=True)


def _run(systems: Systems, learning: LearningOptions, rules: dict[str, Any], *, several: bool) -> None:
    from spoofspan.base.version import __version__
    from spoofspan.evaluation import calibration as library
    from spoofspan.formats.calibrations import read_calibration
    from spoofspan.formats.convert import SCORES_BY_SUFFIX, write_converted
    from spoofspan.report.results import calibration_table
    from spoofspan.report.table import finite

    o.refuse_typed(learning, ("miss_rate",), "finds a threshold of one system; spoofspan calibrate does")
    out = learning.out
    learned: Calibration
    if learning.apply is not None:
        of_learning = ("method", "prior", "ridge", "folds", "cluster", "metadata")
        o.refuse_typed(learning, of_learning, "is for learning, and --apply applies what was learned; leave it out")
        learned = read_calibration(learning.apply)
        systems = _to_apply(systems, learned, learning.apply, several)
    elif out is not None and Path(out).suffix in SCORES_BY_SUFFIX:
        raise UsageError(
            f"--out {out}: what is learned is written as JSON, and this is the name of a score file; write it to "
            f"{Path(out).stem}.json, then give that with --apply and the scores with --out {out}"
        )
    measured = systems.typed.references is not None or systems.typed.dataset is not None
    if learning.apply is None and not measured:
        raise UsageError("give REFERENCES and SCORES to learn a calibration, or --apply CALIBRATION and SCORES")
    if out is None and not measured:
        raise UsageError("give --out, the file of calibrated scores, or REFERENCES to measure them")
    if not systems.words and systems.typed.dataset is None:
        raise UsageError("give SCORES after REFERENCES")
    truth: Any = None
    if measured:
        truth, scores = systems.read_each(fewest=0)
    else:
        scores = systems.read_scores()
    if several and len(scores) < 2:
        raise UsageError(
            f"a fusion needs the scores of at least two systems, not of {len(scores)}; spoofspan calibrate takes one"
        )
    if not several and len(scores) > 1:
        raise UsageError(
            f"a calibration is of one system, and these are {len(scores)} ({', '.join(scores)}); give one of them, or "
            "combine them with spoofspan fuse"
        )
    if learning.apply is not None:
        learned.check_order(list(scores))
        library.warn_if_learned_on(learned, scores.values(), learning.apply)
        applied = learned.apply(*scores.values())
        if out is not None:
            click.echo(write_converted(applied, out, to_format=learning.scores_to, force=learning.force), err=True)
        if not measured:
            return
        given = scores if several else {"as given": next(iter(scores.values()))}
        states = {**given, "fused" if several else "calibrated": applied}
        effects = [library.calibration_effect(name, truth, one, **rules) for name, one in states.items()]
        notes: list[str] = []
    else:
        told = o.typed_values(learning, ("method", "prior", "ridge"))
        if several:
            learned = library.fuse(truth, scores, **told, **rules)
        else:
            ((name, one),) = scores.items()
            learned = library.calibrate(truth, one, name=name, **told, **rules)
        about = learning.clusters(systems)
        if about and "clusters_are" not in about:
            raise UsageError("--cluster: hold out one column of --metadata together, such as speaker")
        about |= o.typed_values(learning, ("folds",))
        with progress("cross-validation"):
            effects = library.calibration_effects(truth, scores, learned, **about, **rules)
        notes = [str(learned)]
        learning.write(learned, f"{learned.method} calibration")
    plain = {"spoofspan": __version__, "calibration": learned.to_dict(), "scores": [vars(one) for one in effects]}
    o.Output(learning.format).show(finite(plain), [calibration_table(effects, notes)])


def _bound_misses(systems: Systems, learning: LearningOptions, rules: dict[str, Any]) -> None:
    """Find a threshold with a promise."""
    from spoofspan.base.version import __version__
    from spoofspan.report.table import Table, finite
    from spoofspan.uncertainty.risk_control import bound_misses

    of_maps = ("apply", "method", "prior", "ridge", "folds", "scores_to")
    o.refuse_typed(learning, of_maps, "is of maps of scores, and --miss-rate finds a threshold; leave it out")
    truth, scores = systems.read_each(fewest=0)
    if len(scores) != 1:
        raise UsageError(f"--miss-rate finds the threshold of one system, and these are {len(scores)}; give one")
    (one,) = scores.values()
    found = bound_misses(truth, one, cast("float", learning.miss_rate), **learning.clusters(systems), **rules)
    learning.write(found, "threshold")
    rows = (
        ("threshold", found.decision),
        (f"missed of each {found.drawn_by}, here", f"{100 * found.missed:.2f} %"),
        ("bona fide called spoof, here", f"{100 * found.false_positive_rate:.2f} %"),
        (f"{found.drawn_by}s with spoof", f"{found.clusters:,}"),
    )
    plain = {"spoofspan": __version__, "miss_bound": found.to_dict(), "promise": found.promise}
    o.Output(learning.format).show(finite(plain), [Table(("what", "found"), rows, ("", f"promise: {found.promise}"))])


def _to_apply(systems: Systems, learned: Calibration, where: str, several: bool) -> Systems:
    """The inputs of --apply: with as many words as systems, there are no REFERENCES among them."""
    names = learned.systems
    if several and len(names) == 1:
        raise UsageError(f"{where} is a calibration of one system ({names[0]}): spoofspan calibrate applies it")
    if not several and len(names) > 1:
        raise UsageError(f"{where} is a fusion of {len(names)} systems ({', '.join(names)}): spoofspan fuse applies it")
    typed, words = systems.typed, systems.words
    if typed.references is not None and len(words) + 1 == len(names):
        words, typed = (typed.references, *words), replace(typed, references=None)
    elif several and len(words) < len(names):
        raise UsageError(
            f"{where} is a fusion of {len(names)} systems ({', '.join(names)}); give the scores of each, in this order"
        )
    return replace(systems, typed=replace(typed, whole_utterances=learned.unit == "utterances"), words=words)

"""``spoofspan compare``: whether one system is better than another, or the test set only makes it look so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from spoofspan.base.errors import UsageError
from spoofspan.cli import completion
from spoofspan.cli import options as o
from spoofspan.cli.bootstrap_options import BootstrapOptions, takes_bootstrap
from spoofspan.cli.system_inputs import Systems, takes_each_system

if TYPE_CHECKING:
    from spoofspan.report.table import Table


@takes_each_system
@takes_bootstrap
@o.takes_rules
def compare(
    *,
    systems: Systems,
    measure: list[str] | None = o.flag(
        None, "What is compared; range-eer. May be repeated.", "--measure", "-m", of=completion.measures
    ),
    threshold: list[str] | None = o.flag(None, "NAME=NUMBER for each system, for measures at a threshold."),
    threshold_from: list[str] | None = o.flag(None, "NAME=FILE: from the EER in the JSON of an eval on other data."),
    seeds: bool = o.flag(False, "The files are one system, trained several times: mean, SD, intervals.", "--seeds"),
    scores_are: o.ScoresAre = None,
    metadata: o.Metadata = None,
    bootstrap: BootstrapOptions,
    convention: o.Convention = "default",
    eer_rule: o.EerRule = None,
    output: o.OutputFormat = o.Output.text,
    out: o.Out = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
    rules: dict[str, Any],
) -> None:
    """Compare systems on one corpus, every two of them.

    The difference of two systems with its interval and p-value, which never disagree: from leaving out each speaker
    (or utterance) once, or by a bootstrap with --interval percentile or bca.

    For example:

      spoofspan compare ref.rttm baseline.score multi=output/unit0.02.score --durations reco2dur

      spoofspan compare labels.parquet a.parquet b.parquet c.parquet --metadata protocol.txt

      spoofspan compare ref.rttm a.score b.score -m range-f1 --threshold-from a=dev_a.json --threshold-from b=dev_b.json

      spoofspan compare ref.rttm seed1.score seed2.score seed3.score --seeds
    """
    from spoofspan.base.version import __version__
    from spoofspan.report.results import comparison_tables, finite, seeds_table
    from spoofspan.uncertainty.comparison import compare as compare_systems
    from spoofspan.uncertainty.comparison import seed_variation

    o.must_be_free(out, force=force)
    references, scores = systems.read_each(fewest=2)
    resampling = bootstrap.resampling(metadata or systems.typed.protocol())
    how = {**vars(resampling), "convention": convention, "eer_rule": eer_rule, "scores_are": scores_are, **rules}
    tables: list[Table] = []
    plain: list[dict[str, Any]] = []
    for one in measure or ["range-eer"]:
        thresholds = _thresholds(threshold or [], threshold_from or [], one)
        if seeds:
            if thresholds:
                raise UsageError("--threshold and --threshold-from are for a comparison; leave --seeds out")
            variation = seed_variation(references, scores, one, **how)
            tables.append(seeds_table(variation))
            plain.append(variation.to_dict())
        else:
            comparison = compare_systems(references, scores, one, thresholds=thresholds or None, **how)
            tables.extend(comparison_tables(comparison))
            plain.append(comparison.to_dict())
    content = {"spoofspan": __version__, "seeds" if seeds else "comparisons": finite(plain)}
    o.show(content, tables, output, out, force)


def _thresholds(typed: list[str], files: list[str], measure: str) -> dict[str, float]:
    """The threshold of each system."""
    from spoofspan.evaluation.corpus import read_eer_threshold

    found: dict[str, float] = {}
    for flag, words in (("--threshold", typed), ("--threshold-from", files)):
        for word in words:
            name, _, value = word.partition("=")
            if not name or not value:
                raise UsageError(f"{flag} {word}: say which system it is for, as {flag} NAME=...")
            if name in found:
                raise UsageError(f"{flag} {word}: {name} has a threshold already; give one for each system")
            if flag == "--threshold-from":
                found[name] = read_eer_threshold(Path(value), [measure])
                continue
            try:
                found[name] = float(value)
            except ValueError:
                raise UsageError(f"{flag} {word}: {value!r} is no number") from None
    return found

"""``spoofspan plan``: how large a test set must be to tell two systems apart."""

from __future__ import annotations

from typing import Any

from spoofspan.base.errors import UsageError
from spoofspan.cli import options as o
from spoofspan.cli.bootstrap_options import cluster_arguments
from spoofspan.cli.system_inputs import Systems, takes_systems


@takes_systems
@o.takes_rules
def plan(
    *,
    systems: Systems,
    measure: str | None = o.measure_flag(None, "The measure; range-eer, or utterance-eer of whole utterances."),
    first: float | None = o.flag(None, "The first value, as it is printed (5.2). Default: as measured.", "--from"),
    second: float | None = o.flag(None, "The second value (5.5). Default: that of the second system.", "--to"),
    power: float = o.flag(0.8, "Probability to tell the two values apart."),
    confidence: float = o.flag(0.95, "1 - the level of the test."),
    correlation: float | None = o.flag(None, "Correlation of two systems over clusters, if only one system is given."),
    metadata: o.Metadata = None,
    cluster: list[str] | None = o.flag(
        None,
        "What is sampled: a column of --metadata, utterance, or speaker,attack. Default: speakers, if it has them.",
        of=["speaker", "speaker,attack", "utterance"],
    ),
    scores_are: o.ScoresAre = None,
    convention: o.Convention = "default",
    eer_rule: o.EerRule = None,
    output: o.OutputFormat = o.Output.text,
    out: o.Out = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
    rules: dict[str, Any],
) -> None:
    """Plan a test set: how many utterances or speakers tell two values apart.

    Estimates it from an evaluation of one or two systems: how many it takes if both systems are measured on the same
    utterances (paired), or on different ones (unpaired), and which difference the test set at hand can tell.

    For example:

      spoofspan plan ref.rttm a.score --durations reco2dur --from 5.2 --to 5.5

      spoofspan plan ref.rttm a.score b.score --durations reco2dur --metadata protocol.txt --power 0.9

      spoofspan plan protocol.txt a_scores.tsv b_scores.csv --higher b_scores=spoof
    """
    from spoofspan.base.version import __version__
    from spoofspan.measures.measure import in_percent
    from spoofspan.report.results import finite
    from spoofspan.report.verdicts import size_table
    from spoofspan.uncertainty.sample_size import sample_size

    o.must_be_free(out, force=force)
    measure = measure or systems.default_measure
    references, scores = systems.read_each(fewest=1)
    if len(scores) == 1 and second is None:
        raise UsageError(
            "say which values shall be told apart, as --from 5.2 --to 5.5, or give the scores of two systems"
        )
    how = cluster_arguments(metadata or systems.metadata(), cluster, systems.typed.bare_ids)
    how |= {"convention": convention, "eer_rule": eer_rule, "scores_are": scores_are, **rules}
    how |= {"power": power, "confidence": confidence, "correlation": correlation}
    scale = 100.0 if in_percent(measure) else 1.0
    first, second = (None if value is None else value / scale for value in (first, second))
    found = sample_size(references, scores, measure, first=first, second=second, **how)
    o.show({"spoofspan": __version__, "plan": finite(found.to_dict())}, [size_table(found)], output, out, force)

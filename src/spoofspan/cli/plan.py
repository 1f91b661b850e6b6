"""``spoofspan plan``: the size of a test set that separates two systems."""

from __future__ import annotations

from spoofspan.base.errors import UsageError
from spoofspan.cli import options as o
from spoofspan.cli.system_inputs import OneSet

LIKE_A_SHARE = 0.3  # per cent: hardly an EER, and more likely a fraction


def plan(
    *,
    systems: OneSet,
    measure: str | None = o.measure_flag(None, "The measure; range-eer, or utterance-eer of whole utterances."),
    first: float | None = o.flag(
        None, "First value in printed units (5.2). Default: as measured.", "--from", as_printed=True
    ),
    second: float | None = o.flag(
        None, "Second value (5.5). Default: that of the second system.", "--to", as_printed=True
    ),
    power: float = o.flag(0.8, "Probability of separating the two values."),
    confidence: float = o.flag(0.95, "1 - the level of the test."),
    correlation: float | None = o.flag(None, "Correlation of two systems over clusters, if only one system is given."),
    metadata: o.Metadata = None,
    cluster: list[str] | None = o.flag(
        None,
        "Unit of sampling: a column of --metadata, utterance, or speaker,attack. Default: speakers, if it has them.",
        of=["speaker", "speaker,attack", "utterance"],
    ),
    scores_are: o.ScoresAre = None,
    output: o.Output,
    rules: o.PointRules,
) -> None:
    """Plan a test set: how many utterances or speakers separate two values.

    Estimates the numbers from an evaluation of one or two systems, for systems measured on the same utterances (paired)
    and on different ones (unpaired), and the smallest difference that the given test set detects.

    For example:

      spoofspan plan ref.rttm a.score --durations reco2dur --from 5.2 --to 5.5

      spoofspan plan ref.rttm a.score b.score --durations reco2dur --metadata protocol.txt --power 0.9

      spoofspan plan protocol.txt a_scores.tsv b_scores.csv --higher b_scores=spoof
    """
    from spoofspan.base.progress import progress
    from spoofspan.base.version import __version__
    from spoofspan.measures.measure import from_printed, in_percent
    from spoofspan.report.table import finite
    from spoofspan.report.verdicts import size_table
    from spoofspan.uncertainty.sample_size import sample_size

    measure = measure or systems.default_measure
    references, scores = systems.read_each(fewest=1)
    if len(scores) == 1 and second is None:
        raise UsageError("give two values to separate, such as --from 5.2 --to 5.5, or the scores of two systems")
    how = o.cluster_arguments(metadata or systems.metadata(), cluster, systems.typed.bare_ids)
    how |= {"power": power, "confidence": confidence, "correlation": correlation, "scores_are": scores_are, **rules}
    small = next((value for value in (first, second) if value is not None and 0 < value < LIKE_A_SHARE), None)
    if small is not None and in_percent(measure):
        o.say([f"warning: --from and --to are in per cent: {small:g} is {small:g} %"])
    first, second = (None if value is None else from_printed(value, measure) for value in (first, second))
    with progress("planning"):
        found = sample_size(references, scores, measure, first=first, second=second, **how)
    output.show({"spoofspan": __version__, "plan": finite(found.to_dict())}, [size_table(found)])

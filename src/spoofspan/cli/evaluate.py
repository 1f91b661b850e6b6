"""``spoofspan eval``: one command from files to a number that can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spoofspan.cli import options as o

if TYPE_CHECKING:
    from spoofspan import References, Scores


def load(
    references: str,
    scores: str,
    *,
    reference_format: str | None,
    scores_format: str | None,
    durations: str | None,
    hop: float | None,
    higher: str | None,
    column: str | None,
) -> tuple[References, Scores]:
    """Read both sides."""
    from spoofspan import read_references, read_scores

    return (
        read_references(references, durations=durations, format=reference_format),
        read_scores(scores, hop=hop, higher=o.polarity(higher), column=column, format=scores_format),
    )


def eval_(
    references: o.ReferencesPath,
    scores: o.ScoresPath,
    measure: Annotated[
        list[str] | None,
        typer.Option("--measure", "-m", help="range-eer, point-eer@20ms, utterance-eer; may be repeated."),
    ] = None,
    convention: o.Convention = "default",
    eer_rule: o.EerRule = None,
    reference_format: o.ReferenceFormat = None,
    scores_format: o.ScoresFormat = None,
    durations: o.Durations = None,
    hop: o.Hop = None,
    higher: o.HigherOption = None,
    column: o.Column = None,
    output: o.OutputFormat = o.Output.text,
    out: o.Out = None,
    force: o.Force = False,
    per_utterance: Annotated[
        Path | None, typer.Option("--per-utterance", help="Also write errors by utterance to this CSV file.")
    ] = None,
    gaps: o.Gaps = None,
    snap: o.Snap = None,
    extent: o.Extent = None,
    nonspeech: o.Nonspeech = None,
    uncovered: o.Uncovered = None,
    slack: o.Slack = None,
    overlong: o.Overlong = None,
    last_frame: o.LastFrame = None,
    overlap: o.Overlap = None,
    regions: o.Regions = None,
    collar: o.Collar = None,
    partial: o.Partial = None,
    utterances: o.Utterances = None,
    label: o.Label = None,
    last_point: o.LastPoint = None,
) -> None:
    """Measure a system: references and scores in, numbers with their rules and signature out.

    Without --measure: range EER, point EER at the hop of the scores, utterance EER.

    For example:

      spoofspan eval ref.rttm unit0.02.score --durations reco2dur

      spoofspan eval labels.parquet scores.parquet -m range-eer --format json
    """
    import spoofspan as ss
    from spoofspan.report.results import render, utterances_table

    rules = o.given_rules(
        gaps=gaps,
        snap=snap,
        extent=extent,
        nonspeech=nonspeech,
        uncovered=uncovered,
        slack=slack,
        overlong=overlong,
        last_frame=last_frame,
        overlap=overlap,
        regions=regions,
        collar=collar,
        partial=partial,
        utterances=utterances,
        label=label,
        last_point=last_point,
    )
    read = load(
        references,
        scores,
        reference_format=reference_format,
        scores_format=scores_format,
        durations=durations,
        hop=hop,
        higher=higher,
        column=column,
    )
    wanted = measure or ss.default_measures(read[1], convention)
    evaluation = ss.evaluate(*read, wanted, convention=convention, eer_rule=eer_rule, **rules)
    o.deliver(render(evaluation, output.value), out, force)
    if per_utterance is not None:
        first = next(iter(evaluation.measurements.values()))
        by_utterance = ss.errors_by_utterance(
            *read, first.threshold, everything=first.point.everything, convention=convention, **rules
        )
        o.deliver(utterances_table(by_utterance).render("csv"), per_utterance, force)

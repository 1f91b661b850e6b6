"""One measure of what a team submitted, and the groups of a leaderboard.

===================  ==============================================  =======================================
submissions          measures                                        groups
===================  ==============================================  =======================================
scores               of ranges, points, utterances, events           kinds, lengths, boundaries, any column
proposals            of events                                       any column
utterance-scores     of utterances, and of trials                    any column
===================  ==============================================  =======================================
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from spoofspan.challenge.definition import Definition
from spoofspan.challenge.hidden_part import HiddenPart
from spoofspan.challenge.published_numbers import clipped
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.breakdown import BREAKDOWNS, Breakdown, by_column
from spoofspan.evaluation.corpus import CorpusInMemory
from spoofspan.evaluation.crossed import POOLED
from spoofspan.evaluation.events import crossed_events
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.evaluation.signature import Inputs, Signature, scores_hash, sign_hashes, used_hash
from spoofspan.evaluation.utterances import UtteranceCorpus
from spoofspan.mass.score_rules import automatic_slack
from spoofspan.measures.catalogue import EVENT
from spoofspan.measures.measure import Measure
from spoofspan.uncertainty.clusters import Resampling
from spoofspan.uncertainty.event_intervals import measured_events
from spoofspan.uncertainty.measured_system import Measured, measured_system
from spoofspan.uncertainty.utterance_intervals import measured_utterances

System = Scores | Proposals | UtteranceScores
Plain = dict[str, Any]


def measured_submission(
    hidden: HiddenPart, definition: Definition, system: System, measure: Measure, threshold: float | None, said: str
) -> tuple[Measured, Signature]:
    """Take a measure once, ready to be taken again without any cluster; ``said`` is the hash of scores."""
    given, system = system, _no_more_certain(system, measure, definition)
    if system is not given and isinstance(system, Scores):
        said = scores_hash(system)
    options = replace(definition.options, rules=hidden.arguments(definition))
    at = threshold if definition.takes_threshold(measure) else None
    if isinstance(system, UtteranceScores):
        found = measured_utterances(hidden.truth, system, measure, options, at)
        return found, _signed(found)
    references = cast("References", hidden.truth)
    if measure.basis == EVENT or isinstance(system, Proposals):
        of_events, _ = measured_events(references, system, measure, options, at)
        return of_events, _signed(of_events)
    measured = measured_system(references, system, measure, options, at)
    # as its signer would, with hashes that are known
    used, plan = measured.mass.utterances, measured.plan
    rules = plan.signed_rules(Inputs(references, system), used)
    scores = {"score-rows": scores_hash(system, rows=True)} if plan.counts_rows else {"scores": said}
    signed = plan.signed_system(scores, system.higher, automatic_slack(system))
    return measured, sign_hashes(str(plan.measure), plan.read_off, rules, (hidden.truth_hash, used_hash(used)), signed)


def _no_more_certain(system: System, measure: Measure, definition: Definition) -> System:
    """What a measure counts of scores that it takes at their word: a single one must not decide the value."""
    if not measure.kind.declared or isinstance(system, Proposals):
        return system
    values = clipped(system.values, definition.scores_are)
    return system if values is system.values else replace(system, values=cast("Any", values))


def _signed(measured: Measured) -> Signature:
    return cast("Any", measured.signer)()  # type: ignore[no-any-return]


def of_groups(definition: Definition) -> str:
    """The measure by which groups are measured: of scores the first one of ranges, else the first."""
    if definition.submissions != "scores":
        return str(definition.parsed[0])
    return next((str(one) for one in definition.parsed if one.basis == "range"), "range-eer")


def measured_groups(
    hidden: HiddenPart, definition: Definition, system: System, by: str, threshold: float | None, how: Resampling
) -> list[Plain]:
    """The value of every group, with its interval where there is one, and nothing of its size."""
    measure, column = Measure.parse(of_groups(definition)), hidden.by[by]
    system = _no_more_certain(system, measure, definition)
    at = threshold if definition.takes_threshold(measure) else None
    options = replace(definition.options, rules=hidden.arguments(definition), threshold=at)
    if isinstance(system, Scores):
        return _groups_in_time(hidden, system, by, str(measure), replace(options, resampling=how))
    known = column or {}
    if isinstance(system, Proposals):
        found = crossed_events(CorpusInMemory(cast("References", hidden.truth), system), measure, {by: known}, options)
    else:
        found = UtteranceCorpus(hidden.truth, system).cross(by, str(measure), options, lambda _: known)
    return [
        {"name": row, "value": found[row, POOLED].value, "low": float("nan"), "high": float("nan")}
        for row in found.rows
        if row != POOLED
    ]


def _groups_in_time(
    hidden: HiddenPart, scores: Scores, by: str, measure: str, options: EvaluationOptions
) -> list[Plain]:
    references, column = cast("References", hidden.truth), hidden.by[by]
    arguments: Plain = {"measure": measure, "differences": False, **options.to_arguments()}
    found: Breakdown
    if column is None:
        found = BREAKDOWNS[by](references, scores, **arguments)
    else:
        found = by_column(references, scores, column, name=by, **arguments)
    return [_group(group.to_dict()) for group in found.groups]


def _group(plain: Plain) -> Plain:
    interval = plain["interval"] or {}
    ends = {end: interval.get(end, float("nan")) for end in ("low", "high")}
    return {"name": plain["name"], "value": plain["value"], **ends}

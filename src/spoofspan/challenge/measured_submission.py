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
from spoofspan.evaluation.breakdown import MeasuredCorpus
from spoofspan.evaluation.corpus import corpus_of
from spoofspan.evaluation.crossed import POOLED
from spoofspan.evaluation.signature import Inputs, Signature, scores_hash, sign_hashes, used_hash
from spoofspan.mass.score_rules import automatic_slack
from spoofspan.measures.measure import Measure
from spoofspan.uncertainty.clusters import Resampling
from spoofspan.uncertainty.measured_system import Measured, MeasuredSystem, measured_system

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
    measured = measured_system(hidden.truth, system, measure, options, at)
    if not isinstance(measured, MeasuredSystem) or not isinstance(system, Scores):
        return measured, cast("Any", measured.signer)()
    references = cast("References", hidden.truth)
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
    corpus, read_column = corpus_of(hidden.truth, system), lambda _: column or {}
    if isinstance(system, Scores):
        whole = MeasuredCorpus(corpus, str(measure), replace(options, resampling=how))
        return [_group(one.to_dict()) for one in whole.break_down(by, read_column, differences=False).groups]
    found = corpus.cross(by, str(measure), options, read_column)
    return [
        {"name": row, "value": found[row, POOLED].value, "low": float("nan"), "high": float("nan")}
        for row in found.rows
        if row != POOLED
    ]


def _group(plain: Plain) -> Plain:
    interval = plain["interval"] or {}
    ends = {end: interval.get(end, float("nan")) for end in ("low", "high")}
    return {"name": plain["name"], "value": plain["value"], **ends}

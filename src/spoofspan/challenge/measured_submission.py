"""One measure of what a team submitted, and the groups of a leaderboard.

===================  ==============================================  =======================================
submissions          measures                                        groups
===================  ==============================================  =======================================
scores               of ranges, points, utterances, events           attacks, lengths, boundaries, any column
boundary-scores      of boundary points                              any column
proposals            of events                                       any column
utterance-scores     of utterances, and of trials                    any column
===================  ==============================================  =======================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import nan
from typing import Any, cast

import numpy as np

from spoofspan.challenge.definition import Definition
from spoofspan.challenge.hidden_part import HiddenPart
from spoofspan.challenge.published_numbers import clipped
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.breakdown import MeasuredCorpus
from spoofspan.evaluation.corpus import Corpus, corpus_of
from spoofspan.evaluation.crossed import POOLED
from spoofspan.evaluation.plan import HashedInputs
from spoofspan.evaluation.signature import Signature, scores_hash, sign_hashes, used_hash
from spoofspan.mass.score_runs import automatic_slack
from spoofspan.measures.measure import Measure
from spoofspan.uncertainty.clusters import Clusters, Resampling
from spoofspan.uncertainty.left_out import LeftOut, class_flags, sums_by_unit
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
    at = threshold if definition.takes_threshold(measure) else None
    corpus = _corpus(hidden, definition, system)
    measured = measured_system(corpus, system, measure, hidden.options(definition), at)
    if isinstance(measured, MeasuredSystem) and not measure.kind.has_jackknife:
        measured = WithoutInterval(measured.plan, measured.mass, measured.value, measured.signer, measured.found_at)
    if not isinstance(measured, MeasuredSystem) or not isinstance(system, Scores):
        return measured, cast("Any", measured.signer)()
    references = cast("References", hidden.truth)
    # as its signer would, with hashes that are known
    used, plan = measured.mass.utterances, measured.plan
    rules = plan.signed_rules(HashedInputs(references, system), used)
    scores = {"score-rows": scores_hash(system, rows=True)} if plan.counts_rows else {"scores": said}
    signed = plan.signed_system(scores, system.higher, automatic_slack(system))
    return measured, sign_hashes(str(plan.measure), plan.read_off, rules, (hidden.truth_hash, used_hash(used)), signed)


class WithoutInterval(MeasuredSystem):
    """A measured system whose value without a cluster says nothing: a rank by its value, and no interval."""

    def left_out(self, clusters: Clusters) -> LeftOut:
        """No value without any cluster."""
        flags = class_flags(sums_by_unit(self.mass, clusters.units_of(self.utterances), clusters.count, None))
        return LeftOut(np.full(clusters.count, np.nan), *flags)


def _corpus(hidden: HiddenPart, definition: Definition, system: System) -> Corpus:
    """Labels and what was submitted, which are scores of spoof or of boundaries."""
    boundaries = cast("Scores", system) if definition.submissions == "boundary-scores" else None
    return corpus_of(hidden.truth, system, boundary_scores=boundaries)


def _no_more_certain(system: System, measure: Measure, definition: Definition) -> System:
    """Counts of a measure of scores that it takes at their word: a single one must not decide the value."""
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
    measure, column, crossed = Measure.parse(of_groups(definition)), hidden.by[by], "," in by
    system = _no_more_certain(system, measure, definition)
    at = threshold if definition.takes_threshold(measure) else None
    options = replace(hidden.options(definition), threshold=at)
    corpus = _corpus(hidden, definition, system)

    def read_column(name: str) -> Mapping[str, str]:
        return (hidden.by[name] if crossed else column) or {}

    if definition.submissions == "scores" and not crossed:
        whole = MeasuredCorpus(corpus, str(measure), replace(options, resampling=how))
        return [_group(one.to_dict()) for one in whole.break_down(by, read_column, differences=False).groups]
    found = corpus.cross(by, str(measure), options, read_column)
    cells = [(row, col) for row in found.rows for col in found.columns if row != POOLED and (col != POOLED) == crossed]
    return [
        {"name": f"{row}, {col}" if crossed else row, "value": found[row, col].value, "low": nan, "high": nan}
        for row, col in cells
    ]


def _group(plain: Plain) -> Plain:
    interval = plain["interval"] or {}
    ends = {end: interval.get(end, nan) for end in ("low", "high")}
    return {"name": plain["name"], "value": plain["value"], **ends}

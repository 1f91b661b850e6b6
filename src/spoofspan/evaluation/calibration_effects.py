"""Value of a calibration: costs of scores taken as log-likelihood ratios, before, after, and cross-validated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from spoofspan.data.calibration import Calibration
from spoofspan.data.rules import RuleArguments
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.calibration import FOLDS, LearningSet, Method
from spoofspan.evaluation.corpus import corpus_of
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.evaluation.utterances import Truth
from spoofspan.measures.measure import Measure

if TYPE_CHECKING:
    from typing_extensions import Unpack

MEASURED = ("eer", "cllr", "min-cllr", "act-dcf", "min-dcf")


@dataclass(frozen=True)
class CalibrationEffect:
    """Costs of scores taken as log-likelihood ratios: of these the EER and the least costs need no calibration."""

    name: str
    eer: float
    cllr: float  # inf where a certain score is wrong
    min_cllr: float
    act_dcf: float
    min_dcf: float


def calibration_effect(
    name: str,
    references: Truth,
    scores: Scores | UtteranceScores,
    *,
    convention: str = "default",
    **rules: Unpack[RuleArguments],
) -> CalibrationEffect:
    """Measure what scores are worth if they are taken as log-likelihood ratios."""
    basis = "utterance" if isinstance(scores, UtteranceScores) else "range"
    names = [str(Measure.parse(f"{basis}-{one}")) for one in MEASURED]
    options = EvaluationOptions(convention, scores_are="llr", signed=False, rules=rules)
    found = corpus_of(references, scores).evaluate(names, options, lambda measure, reason: None)
    return CalibrationEffect(name, *(found[one].value if one in found else math.inf for one in names))


def calibration_effects(
    references: Truth,
    systems: Mapping[str, Scores] | Mapping[str, UtteranceScores],
    learned: Calibration,
    *,
    clusters: Mapping[str, str] | None = None,
    clusters_are: str = "utterance",
    folds: int = FOLDS,
    convention: str = "default",
    **rules: Unpack[RuleArguments],
) -> list[CalibrationEffect]:
    """Measure a calibration, or a fusion, on the set that it was learned on, and by cross-validation.

    Parameters
    ----------
    references, systems, convention, **rules
        What it was learned on.
    learned
        What was learned.
    clusters
        What is held out together: the cluster (speaker) of each utterance; without it, each utterance is alone.
    clusters_are
        What the clusters are called.
    folds
        How many groups of clusters are held out, one after the other; 0 for no cross-validation.

    Returns
    -------
    list of CalibrationEffect
        Of the scores as given and calibrated; held out, every utterance is calibrated by a map that was learned without
        its cluster, and systems of a fusion also each for itself.

    """
    measure = partial(calibration_effect, references=references, convention=convention, **rules)
    single = len(systems) == 1
    rows = [measure("as given" if single else f"{name}, as given", scores=one) for name, one in systems.items()]
    rows.append(measure("calibrated" if single else "fused", scores=learned.apply(*systems.values())))
    if not folds:
        return rows
    method: Method = "pav" if learned.method.startswith("pav") else "affine"
    each: list[tuple[str, dict[str, Any]]] = [("" if single else "fused, ", dict(systems))]
    if not single:
        each = [*((f"{name}, ", {name: one}) for name, one in systems.items()), *each]
    for name, some in each:
        learning = LearningSet.of(references, some, convention, rules)
        alone = {utterance: utterance for utterance in learning.rows.utterances}
        held_out = learning.held_out(
            alone if clusters is None else clusters, method, learned.prior, learned.ridge, folds
        )
        rows.append(measure(f"{name}held out by {clusters_are}", scores=held_out))
    return rows

"""Calibrations learned on references: :func:`calibrate` for one system, :func:`fuse` for several, and their effect.

Scores are weighted by the time (or the number of utterances) of each class under them, by the rules of measures. A
calibration carries the signature of its training data. Its effect is the cost of the scores as log-likelihood ratios:
before, after, and cross-validated (:func:`calibration_effects`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from spoofspan.base.columns import Flags, order_by_id, utterance_of_rows
from spoofspan.base.errors import (
    SpoofspanWarning,
    UndefinedMeasureError,
    UsageError,
    nearest_name,
    refuse,
    warn_user,
)
from spoofspan.base.numbers import shortest_text
from spoofspan.base.progress import progress
from spoofspan.base.times import Float64, Int64
from spoofspan.data.calibration import (
    AffineMap,
    Calibration,
    LearnedMap,
    PavFusionMap,
    PavMap,
    System,
    Unit,
    utterance_columns,
)
from spoofspan.data.front_door import RulesAndInputs, check_sides, check_systems, opens_inputs
from spoofspan.data.references import References
from spoofspan.data.rules import RuleArguments
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.corpus import corpus_of
from spoofspan.evaluation.plan import EvaluationOptions, HashedInputs
from spoofspan.evaluation.signature import (
    Signature,
    references_hash,
    scores_hash,
    sign_hashes,
    used_hash,
    utterance_scores_hash,
)
from spoofspan.evaluation.utterances import Truth, UtteranceCorpus, labels_of
from spoofspan.mass.joint_scores import joint_scores
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.mass.score_runs import mirrored
from spoofspan.measures.calibration import least_cost_map, pav_map
from spoofspan.measures.costs import ScoredAmounts, refuse_undecided
from spoofspan.measures.eer import sum_ties
from spoofspan.measures.measure import Measure
from spoofspan.measures.operating_point import totals

if TYPE_CHECKING:
    from typing_extensions import Unpack

Method = Literal["affine", "pav"]
METHODS = ("affine", "pav")
FOLDS = 10


@opens_inputs
def calibrate(
    references: Truth,
    scores: Scores | UtteranceScores,
    *,
    method: Method = "affine",
    prior: float = 0.5,
    ridge: float = 0.0,
    name: str = "scores",
    convention: str = "default",
    **rules: Unpack[RulesAndInputs],
) -> Calibration:
    """Learn to turn the scores of a system into log-likelihood ratios.

    Parameters
    ----------
    references
        Reference labels of a development set; for utterance scores also a protocol, or a label by utterance.
    scores
        The scores of that set, in time or of whole utterances.
    method
        ``"affine"``: a rising line, by logistic regression. ``"pav"``: the increasing map of least Cllr, by pooling
        adjacent violators; it fits better and needs more data. Both keep the order of the scores.
    prior
        The share of spoof for which logistic regression weights the classes. One half minimises the Cllr.
    ridge
        A penalty on steep lines, for scores that separate the classes without an error; 0 for none.
    name
        The name of the system in messages and in the calibration.
    convention, **rules
        As in :func:`spoofspan.evaluate`.

    Returns
    -------
    Calibration
        ``calibration.apply(scores)`` gives log-likelihood ratios of any scores of the same system.

    Raises
    ------
    UndefinedMeasureError
        If the scores separate the classes without an error (and ``ridge`` is 0), or one class is missing.

    Examples
    --------
    >>> references = References.from_ranges({"u1": [(0.0, 0.06, "bonafide"), (0.06, 0.12, "spoof")]})
    >>> scores = Scores.from_frames({"u1": [0.9, 0.8, 0.2, 0.4, 0.1, 0.0]}, hop=0.02, higher="bonafide")
    >>> calibrated = calibrate(references, scores).apply(scores)
    >>> calibrated.values.round(2).tolist()
    [3.15, 2.56, -0.96, 0.21, -1.54, -2.13]

    """
    _check_method(method)
    return LearningSet.of(references, {name: scores}, convention, rules).learn(method, prior, ridge)


@opens_inputs
def fuse(
    references: Truth,
    systems: Mapping[str, Scores] | Mapping[str, UtteranceScores],
    *,
    method: Method = "affine",
    prior: float = 0.5,
    ridge: float = 0.0,
    convention: str = "default",
    **rules: Unpack[RulesAndInputs],
) -> Calibration:
    """Learn to turn the scores of several systems into one log-likelihood ratio, by logistic regression.

    Parameters
    ----------
    references
        As in :func:`calibrate`.
    systems
        The scores of each system by its name, of the same utterances. Hops may differ; the result has the finest one.
    method
        ``"affine"``: a weighted sum of the scores. ``"pav"``: each system gets a PAV map first, and the ratios are
        weighted and summed.
    prior, ridge, convention, **rules
        As in :func:`calibrate`.

    Returns
    -------
    Calibration
        ``calibration.apply(first, second, ...)`` takes the scores of the systems in the same order.

    Examples
    --------
    >>> references = References.from_ranges({"u1": [(0.0, 0.06, "bonafide"), (0.06, 0.12, "spoof")]})
    >>> fine = Scores.from_frames({"u1": [0.9, 0.8, 0.2, 0.4, 0.1, 0.0]}, hop=0.02, higher="bonafide")
    >>> coarse = Scores.from_frames({"u1": [0.2, 0.9, 0.5]}, hop=0.04, higher="bonafide")
    >>> fusion = fuse(references, {"fine": fine, "coarse": coarse})
    >>> fusion.apply(fine, coarse)
    Scores(1 utterance, 6 frames of 20 ms, float64, higher = bonafide)

    """
    if len(systems) < 2:
        raise UsageError("a fusion needs the scores of at least two systems; calibrate() serves one")
    _check_method(method)
    return LearningSet.of(references, systems, convention, rules).learn(method, prior, ridge)


@dataclass(frozen=True, eq=False)
class LearningSet:
    """The scores of one or several systems, row by row, and the amount of each class under each row."""

    names: tuple[str, ...]
    systems: tuple[Scores, ...] | tuple[UtteranceScores, ...]
    rows: Scores | UtteranceScores  # the times of the rows
    columns: tuple[Float64, ...]  # in bona fide polarity
    bona_fide: Int64
    spoof: Int64
    signature: Any  # a function that makes the Signature of a method

    @classmethod
    def of(
        cls, references: Truth, systems: Mapping[str, Any], convention: str, rules: Mapping[str, Any]
    ) -> LearningSet:
        """Make a learning set of references and systems; the order of the files makes no difference."""
        check_systems(systems)
        names, given = tuple(systems), tuple(systems.values())
        options = EvaluationOptions(convention, rules=rules)
        if all(isinstance(one, UtteranceScores) for one in given):
            return cls._of_utterances(references, names, given, options)
        if any(isinstance(one, UtteranceScores) for one in given):
            raise UsageError("scores in time and scores of whole utterances do not go together; give one kind")
        for one in given:
            check_sides(references, one)
            one.distinct.refuse("a calibration")
        references = cast("References", references)
        ordered = tuple(one.take(order_by_id(one.utterances)) for one in given)
        joint = joint_scores(ordered, names)
        plan = options.plan(Measure("range-cllr"), joint.rows.hop)
        mass, _ = plan.mass(references, joint.rows)

        def sign(method: str, parameters: str) -> Signature:
            hashes = references_hash(references), used_hash(mass.utterances)
            rules = plan.signed_rules(HashedInputs(references, joint.rows), mass.utterances)
            return sign_hashes(method, parameters, rules, hashes, {"scores": ",".join(map(scores_hash, given))})

        return cls(names, ordered, joint.rows, _mirrored(joint.columns, given), *_amounts(mass, joint.rows), sign)

    @classmethod
    def _of_utterances(
        cls, truth: Truth, names: tuple[str, ...], given: tuple[Any, ...], options: EvaluationOptions
    ) -> LearningSet:
        given = tuple(one.of_column(trials=False) for one in given)
        ordered = tuple(one.take(order_by_id(one.utterances)) for one in given)
        columns = utterance_columns(ordered, names)
        first: UtteranceScores = ordered[0]
        rows = UtteranceScores(first.utterances, np.arange(len(first), dtype=np.float64), "bonafide")
        corpora = [UtteranceCorpus(labels_of(truth), one) for one in (rows, *given)]
        plan = corpora[1].plan(Measure("utterance-cllr"), options)
        mass, _ = corpora[0].mass(plan.rules)

        def sign(method: str, parameters: str) -> Signature:
            hashes, rules = (
                (corpora[0].truth_hash, used_hash(mass.utterances)),
                corpora[0].signed_rules(plan, mass.utterances),
            )
            said = ",".join(one.scores_hash for one in corpora[1:])
            return sign_hashes(method, parameters, rules, hashes, {"scores": said})

        return cls(names, ordered, rows, _mirrored(columns, given), *_amounts(mass, rows), sign)

    @property
    def unit(self) -> Unit:
        """The unit of the weights."""
        return "time" if isinstance(self.rows, Scores) else "utterances"

    @property
    def utterance(self) -> Int64:
        """The index of the utterance of every row."""
        return utterance_of_rows(self.rows.offsets) if isinstance(self.rows, Scores) else np.arange(len(self.rows))

    def learn(self, method: Method, prior: float, ridge: float) -> Calibration:
        """Learn on all utterances."""
        with progress("learning the map"):
            learned = self._map(method, prior, ridge, np.ones(len(self.rows), bool))
        made = Calibration(learned, self.names, tuple(one.higher for one in self.systems), self.unit, prior, ridge)
        parameters = (
            "prior:none" if made.method == "pav" else f"prior:{shortest_text(prior)},ridge:{shortest_text(ridge)}"
        )
        return replace(made, learned_on=self.signature(f"calibration-{made.method}", parameters).to_dict())

    def _map(self, method: Method, prior: float, ridge: float, wanted: Flags) -> LearnedMap:
        """Learn on the flagged utterances."""
        some = np.flatnonzero(wanted[self.utterance] & (self.bona_fide + self.spoof > 0))
        columns = [column[some] for column in self.columns]
        bona_fide, spoof = self.bona_fide[some], self.spoof[some]
        if not (bona_fide.any() and spoof.any()):
            raise UndefinedMeasureError(
                "without the clusters that are held out, one class is missing; leave cross-validation out with folds=0 "
                "(--folds 0), or learn on more speakers"
            )
        maps: list[PavMap] = []
        if method == "pav":
            utterances = int(np.count_nonzero(wanted))
            for name, column in zip(self.names, columns, strict=True):
                scores, sums = sum_ties(column, bona_fide, spoof)
                amounts = ScoredAmounts(scores.astype(np.float64), *(one.astype(np.float64) for one in sums))
                maps.append(pav_map(amounts, utterances, name))
            if len(maps) == 1:
                return maps[0]
            columns = [own.ratios([column]) for own, column in zip(maps, columns, strict=True)]
        both = bona_fide.astype(np.float64), spoof.astype(np.float64)
        line = least_cost_map(columns, *both, self.names, prior, ridge)
        return PavFusionMap(tuple(maps), line) if maps else line

    def held_out(
        self, clusters: Mapping[str, str], method: Method, prior: float, ridge: float, folds: int = FOLDS
    ) -> Scores | UtteranceScores:
        """Calibrate each utterance by a map that was learned without its cluster."""
        unknown = [utterance for utterance in self.rows.utterances if utterance not in clusters]
        refuse(unknown, lambda utterance: f"utterance {utterance!r} is in no cluster", "name the cluster of each")
        fold = _folds([clusters[utterance] for utterance in self.rows.utterances], folds)
        made = Calibration(AffineMap((), 0.0), self.names, tuple(one.higher for one in self.systems), self.unit)
        values = np.zeros(self.bona_fide.size)
        of_row = fold[self.utterance]
        for number in range(int(fold.max()) + 1):
            here = np.flatnonzero(of_row == number)
            learned = self._map(method, prior, ridge, fold != number)
            values[here] = learned.ratios([column[here] for column in self.columns])
        return replace(self.rows, values=mirrored(values, made.result_higher) + 0.0, higher=made.result_higher)


def _check_method(method: str) -> None:
    if method not in METHODS:
        raise UsageError(f"no method {method!r}: {nearest_name(str(method), METHODS)}")


def _mirrored(columns: Sequence[Float64], systems: Sequence[System]) -> tuple[Float64, ...]:
    return tuple(mirrored(column, one.higher) for column, one in zip(columns, systems, strict=True))


def _amounts(mass: ScoreMass, rows: Scores | UtteranceScores) -> tuple[Int64, Int64]:
    """The amount of each class under each row; the scores of the mass are the numbers of the rows."""
    sums = totals(mass)
    sums.check()
    refuse_undecided(sums)
    bona_fide, spoof = np.zeros((2, rows.values.size), np.int64)
    for block in mass.blocks():
        numbers = block.scores.astype(np.int64)
        # rules may divide one row into several pieces
        np.add.at(bona_fide, numbers, block.bona_fide)
        np.add.at(spoof, numbers, block.spoof)
    return bona_fide, spoof


def _folds(clusters: Sequence[str], most: int) -> Int64:
    """The fold of each utterance: clusters stay whole, and are assigned in turn, the largest first."""
    names, place, counts = np.unique(np.array(clusters), return_inverse=True, return_counts=True)
    if most < 2 or names.size < 2:
        raise UsageError(
            f"cross-validation needs at least two folds and two clusters, not {most} and {names.size}; give other "
            "clusters, or folds=2 or more"
        )
    dealt = np.empty(names.size, np.int64)
    dealt[np.argsort(-counts, kind="stable")] = np.arange(names.size) % min(most, names.size)
    fold: Int64 = dealt[place]
    return fold


# ---------------------------------------------------------------- the value of a calibration

MEASURED = ("eer", "cllr", "min-cllr", "act-dcf", "min-dcf")


@dataclass(frozen=True)
class CalibrationEffect:
    """Costs of scores as log-likelihood ratios; the EER and the minimum costs do not depend on the calibration."""

    name: str
    eer: float
    cllr: float  # inf where a certain score is wrong
    min_cllr: float
    act_dcf: float
    min_dcf: float


def warn_if_learned_on(learned: Calibration, systems: Iterable[System], named: str) -> None:
    """Warn where a calibration is applied to the very scores that it was learned on."""
    hashes = [scores_hash(one) if isinstance(one, Scores) else utterance_scores_hash(one) for one in systems]
    if learned.learned_on and all(one in learned.learned_on["input"] for one in hashes):
        warn_user(
            f"{named} was learned on these very scores, so what is measured with it is too good; learn it on others",
            SpoofspanWarning,
        )


def calibration_effect(
    name: str,
    references: Truth,
    scores: Scores | UtteranceScores,
    *,
    convention: str = "default",
    **rules: Unpack[RuleArguments],
) -> CalibrationEffect:
    """Measure the costs of scores as log-likelihood ratios."""
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
    """Measure a calibration or a fusion on its training data, and by cross-validation.

    Parameters
    ----------
    references, systems, convention, **rules
        The training data.
    learned
        The calibration.
    clusters
        The cluster (speaker) of each utterance, held out together; default: each utterance on its own.
    clusters_are
        The noun for a cluster.
    folds
        The number of folds, each of several clusters; 0 for no cross-validation.

    Returns
    -------
    list of CalibrationEffect
        One for the scores as given, one for the calibrated scores, and one with every utterance calibrated by a map
        that was learned without its cluster; for a fusion, also for each system on its own.

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

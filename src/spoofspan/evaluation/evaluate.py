"""The measuring functions of a corpus in memory.

:func:`evaluate` takes any measures by their names; the other functions take one measure, or return the score mass or
the error curve behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.base.columns import host_array
from spoofspan.base.errors import SpoofspanWarning, UndefinedMeasureError, UsageError, nearest_name, warn_user
from spoofspan.base.numbers import shortest_text
from spoofspan.base.times import SECOND, milliseconds, refuse_milliseconds
from spoofspan.data.front_door import (
    RulesAndInputs,
    check_references,
    check_sides,
    check_truth,
    check_utterance_scores,
    opens_inputs,
)
from spoofspan.data.references import References
from spoofspan.data.rules import RuleArguments, rules_for
from spoofspan.data.scores import Higher, Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.corpus import Corpus, CorpusInMemory, Evaluation, corpus_of
from spoofspan.evaluation.measurement import BisectionMeasurement, Measurement
from spoofspan.evaluation.plan import (
    EvaluationArguments,
    EvaluationOptions,
    HashedInputs,
    OnUndefined,
    Undefined,
    resampling_at,
    verification_of,
)
from spoofspan.evaluation.signature import Signature
from spoofspan.mass.labelling import label_references
from spoofspan.mass.point_labels import Grid, bona_fide_shares
from spoofspan.mass.points import check_resolution
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.mass.score_runs import mirrored
from spoofspan.measures.bisection import Quantiles, RangeRates, bisect
from spoofspan.measures.catalogue import EVENT
from spoofspan.measures.curve import ErrorCurve, error_curve_of
from spoofspan.measures.measure import Measure, ScoresAre
from spoofspan.measures.operating_point import OperatingPoint, Threshold

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.data.proposals import Proposals
    from spoofspan.data.utterance_scores import VerificationScores
    from spoofspan.evaluation.crossed import Columns, CrossedBreakdown
    from spoofspan.evaluation.utterances import Truth
    from spoofspan.measures.costs import VerificationErrors
    from spoofspan.uncertainty.clusters import Grouping, Resampling


@opens_inputs
def overlay(
    references: References, scores: Scores, *, convention: str = "default", **rules: Unpack[RulesAndInputs]
) -> ScoreMass:
    """Lay references and scores over each other, and sum the time of each class under each score.

    Parameters
    ----------
    references, scores
        Reference labels and system scores.
    convention
        A named set of rules.
    **rules
        Rules that override those of the convention (``docs/rules.md``).

    Returns
    -------
    ScoreMass
        Times in nanoseconds by score, of which every measure of ranges is a function.

    Examples
    --------
    >>> references = References.from_ranges({"u1": [(0.0, 0.03, "bonafide"), (0.03, 0.06, "spoof")]})
    >>> scores = Scores.from_frames({"u1": [0.9, 0.4, -0.2]}, hop=0.02, higher="bonafide")
    >>> mass = overlay(references, scores)
    >>> mass.scores.tolist(), mass.bona_fide.tolist(), mass.spoof.tolist()
    ([0.9, 0.4, -0.2], [20000000, 10000000, 0], [0, 10000000, 20000000])
    """
    check_sides(references, scores)
    scores.refuse_decisions("a score mass")
    return _mass(references, scores, None, convention, rules)


@opens_inputs
def point_mass(
    references: References,
    scores: Scores,
    resolution: float,
    *,
    convention: str = "default",
    **rules: Unpack[RulesAndInputs],
) -> ScoreMass:
    """Count the points of each class under each score.

    Parameters
    ----------
    references, scores
        Reference labels and system scores.
    resolution
        The length of a point in seconds.
    convention, **rules
        As in :func:`overlay`.

    Returns
    -------
    ScoreMass
        Numbers of points by score, of which every measure of points is a function.

    Examples
    --------
    >>> references = References.from_ranges({"u1": [(0.0, 0.03, "bonafide"), (0.03, 0.06, "spoof")]})
    >>> scores = Scores.from_frames({"u1": [0.9, 0.4, -0.2]}, hop=0.02, higher="bonafide")
    >>> mass = point_mass(references, scores, 0.02)
    >>> mass.scores.tolist(), mass.bona_fide.tolist(), mass.spoof.tolist()
    ([0.9, 0.4, -0.2], [1, 0, 0], [0, 1, 1])
    """
    check_sides(references, scores)
    scores.refuse_decisions("a score mass")
    return _mass(references, scores, check_resolution(resolution), convention, rules)


def _mass(
    references: References, scores: Scores, resolution: float | None, convention: str, rules: Mapping[str, Any]
) -> ScoreMass:
    measure = Measure("range-eer") if resolution is None else Measure("point-eer", resolution)
    return EvaluationOptions(convention, rules=rules).plan(measure, scores.hop).mass(references, scores)[0]


@opens_inputs
def range_eer(
    references: References,
    scores: Scores,
    *,
    convention: str = "default",
    eer_rule: str | None = None,
    undefined: Undefined = "raise",
    confidence: float | None = None,
    clusters: Grouping | None = None,
    by: str | Columns | None = None,
    **rules: Unpack[RulesAndInputs],
) -> Measurement:
    """Measure the range-based EER (Eqs. 3 to 7), exactly.

    Parameters
    ----------
    references, scores
        Reference labels and system scores: objects, paths, data frames, or dicts by utterance (of frames with ``hop=``
        and ``higher=``, of labels with ``hop=`` and ``spoof_label=``); see :mod:`spoofspan.data.front_door`.
    convention
        A named set of rules.
    eer_rule
        How the EER is computed from the error curve: ``nearest`` (default), ``interpolated``, ``convex-hull``,
        ``bucketed(...)``.
    undefined
        ``"nan"`` gives NaN where there is no EER (one class only) instead of an error.
    confidence, clusters
        The level of an interval (0.95), and the clusters that are left out for it:
        ``{"speaker": {utterance: speaker}}``; without them, single utterances.
    by
        Also measure groups: ``"attack"``, ``"length"``, ``"share"`` (of spoofed time in an utterance) or
        ``"boundary"``, or a column with a value by utterance, ``{"speaker": {...}}``. They are in ``breakdown`` of the
        result.
    **rules
        Rules that override those of the convention (``docs/rules.md``).

    Returns
    -------
    Measurement
        The value with its threshold, rates, rules and signature.

    Raises
    ------
    UndefinedMeasureError
        If the corpus has one class only.

    Examples
    --------
    >>> references = References.from_ranges({"u1": [(0.0, 0.08, "bonafide"), (0.08, 0.16, "spoof")]})
    >>> frames = {"u1": [0.9, 0.8, 0.7, 0.1, 0.2, -0.1, -0.2, -0.3]}
    >>> m = range_eer(references, Scores.from_frames(frames, hop=0.02, higher="bonafide"))
    >>> m.value, m.decision
    (0.25, 'spoof iff score < 0.2')
    """
    options = EvaluationOptions(convention, eer_rule, resampling=resampling_at(confidence, None, clusters), rules=rules)
    return _one(references, scores, Measure("range-eer"), options, undefined, by)


def _one(
    references: Truth,
    scores: Scores | UtteranceScores,
    measure: Measure,
    options: EvaluationOptions,
    undefined: Undefined,
    by: str | Columns | None,
) -> Measurement:
    """Take one measure, with groups if ``by`` is given."""
    if str(measure) != "utterance-eer" or not isinstance(scores, UtteranceScores):
        check_sides(references, scores)
    corpus = corpus_of(references, scores)
    found = corpus.measure(measure, options, undefined)
    return found if by is None else _with_groups(corpus, found, options, by)


def _with_groups(corpus: Corpus, found: Measurement, options: EvaluationOptions, by: str | Columns) -> Measurement:
    """A measurement with its breakdown, in time or by columns with a value by utterance."""
    from spoofspan.evaluation.breakdown import BREAKDOWNS
    from spoofspan.evaluation.selections import NAMED_ALREADY, NO_ATTACKS

    columns: Columns = {} if isinstance(by, str) else by
    name = by if isinstance(by, str) else ",".join(columns)
    in_time = found.measure.startswith(("range-", EVENT))
    if isinstance(by, str) and name not in BREAKDOWNS:
        raise UsageError(
            f"by={by!r}: {nearest_name(by, BREAKDOWNS)}; anything else needs a value for every utterance: "
            f"by={{{by!r}: {{utterance: value}}}}"
        )
    if not columns and not in_time and name != "share":
        raise UsageError(f"by={by!r} cuts time, and {found.measure} counts points or utterances; use a range measure")
    if in_time and name == "attack" and bool(columns) == bool(corpus.attack_names()):
        raise UsageError(NAMED_ALREADY if columns else NO_ATTACKS)
    of_cells = columns and not found.measure.startswith("range-")  # whatever the columns are called
    way = "cells" if of_cells else corpus.way_of_groups(name, found.measure)
    ignored = [one for one in columns if one == "share" or (way == "time" and one in ("length", "boundary"))]
    if ignored:
        raise UsageError(
            f"by={{{ignored[0]!r}: ...}}: by={ignored[0]!r} makes these groups itself; give a column of other groups "
            "another name"
        )
    return replace(found, breakdown=corpus.groups(name, found.measure, options, columns.__getitem__, way=way))


@opens_inputs
def point_eer(
    references: References,
    scores: Scores,
    resolution: float,
    *,
    convention: str = "default",
    eer_rule: str | None = None,
    undefined: Undefined = "raise",
    confidence: float | None = None,
    clusters: Grouping | None = None,
    by: str | Columns | None = None,
    **rules: Unpack[RulesAndInputs],
) -> Measurement:
    """Measure the point-based EER (Eqs. 1 to 4) at a resolution.

    Parameters
    ----------
    references, scores
        Reference labels and system scores.
    resolution
        The length of a point in seconds. Coarser than the scores' hop, it is an easier task; the result has a note.
    convention, eer_rule, undefined, confidence, clusters, by, **rules
        As in :func:`range_eer`.

    Returns
    -------
    Measurement
        The value with its threshold, rates, rules and signature.

    Examples
    --------
    >>> references = References.from_ranges({"u1": [(0.0, 0.08, "bonafide"), (0.08, 0.16, "spoof")]})
    >>> frames = {"u1": [0.9, 0.8, 0.7, 0.1, 0.2, -0.1, -0.2, -0.3]}
    >>> point_eer(references, Scores.from_frames(frames, hop=0.02, higher="bonafide"), 0.02).value
    0.25
    """
    measure = Measure("point-eer", check_resolution(resolution))
    options = EvaluationOptions(convention, eer_rule, resampling=resampling_at(confidence, None, clusters), rules=rules)
    return _one(references, scores, measure, options, undefined, by)


@opens_inputs
def utterance_eer(
    references: Truth,
    scores: Scores | UtteranceScores,
    *,
    convention: str = "default",
    eer_rule: str | None = None,
    undefined: Undefined = "raise",
    confidence: float | None = None,
    clusters: Grouping | None = None,
    by: str | Columns | None = None,
    **rules: Unpack[RulesAndInputs],
) -> Measurement:
    """Measure the utterance-level EER: an utterance is spoof if any of it is, its score is its lowest.

    That is the point-based EER with one point per utterance. "Lowest" is meant in bona fide polarity.

    Parameters
    ----------
    references, scores
        Reference labels and system scores.
    convention, eer_rule, undefined, confidence, clusters, by, **rules
        As in :func:`range_eer`.

    Returns
    -------
    Measurement
        The value with its threshold, rates, rules and signature.

    Examples
    --------
    >>> references = References.from_ranges(
    ...     {"u1": [(0.0, 0.04, "bonafide")], "u2": [(0.0, 0.02, "bonafide"), (0.02, 0.04, "spoof")]}
    ... )
    >>> scores = Scores.from_frames({"u1": [0.9, 0.4], "u2": [0.8, 0.1]}, hop=0.02, higher="bonafide")
    >>> m = utterance_eer(references, scores)
    >>> m.value, m.threshold
    (0.0, 0.4)
    """
    options = EvaluationOptions(convention, eer_rule, resampling=resampling_at(confidence, None, clusters), rules=rules)
    return _one(references, scores, Measure("utterance-eer"), options, undefined, by)


def eer(
    labels: Any,
    scores: Any,
    *,
    higher: Higher | None = None,
    spoof_label: int | None = None,
    eer_rule: str | None = None,
    confidence: float | None = None,
) -> Measurement:
    """Measure the EER of two plain arrays: one label and one score for each trial, frame or utterance.

    Parameters
    ----------
    labels
        0 and 1, booleans, or ``"bonafide"`` and ``"spoof"``: a list, an array, a Series or a tensor.
    scores
        As many numbers.
    higher
        What high scores mean, ``"bonafide"`` or ``"spoof"``. Labels of 0 and 1 do without: as in scikit-learn, high
        scores mean 1.
    spoof_label
        The number that means spoof; 1 by default.
    eer_rule, confidence
        As in :func:`range_eer`. The interval takes the trials as independent; frames of one utterance are not, so for
        those use :func:`range_eer` or :func:`point_eer`.

    Returns
    -------
    Measurement
        The value with its threshold, rates, rules and signature.

    Examples
    --------
    >>> found = eer([0, 0, 1, 1, 1], [0.1, 0.6, 0.4, 0.8, 0.9], eer_rule="interpolated")
    >>> f"{found:.2%}"
    '33.33%'
    >>> float(eer(["bonafide", "spoof"], [0.9, 0.1], higher="bonafide"))
    0.0
    """
    truth, values = (np.asarray(host_array(given)) for given in (labels, scores))
    if truth.ndim != 1 or values.ndim != 1 or truth.size != values.size:
        raise UsageError(
            "labels and scores must be flat and equally long, one of each for a trial, not of shapes "
            f"{truth.shape} and {values.shape}"
        )
    named: dict[Any, str]
    if truth.dtype.kind in "biuf":
        spoof = 1 if spoof_label is None else spoof_label
        if higher is not None and spoof_label is None:
            raise UsageError("higher= names a class, so say which label is spoof: spoof_label=1 or spoof_label=0")
        higher = higher or ("spoof" if spoof == 1 else "bonafide")
        named = {float(spoof): "spoof", float(1 - spoof): "bonafide"}
    else:
        named = {"spoof": "spoof", "bonafide": "bonafide"}
        if spoof_label is not None:
            raise UsageError("spoof_label= is for labels of 0 and 1; these are words")
        if higher is None:
            raise UsageError("say what high scores mean: higher='bonafide' or higher='spoof'")
    unknown = [one for one in np.unique(truth).tolist() if one not in named]
    if unknown:
        raise UsageError(f"labels must be 0 and 1, or 'bonafide' and 'spoof', not {unknown[0]!r}")
    ids = tuple(map(str, range(1, truth.size + 1)))
    key = dict(zip(ids, (named[one] for one in truth.tolist()), strict=True))
    return utterance_eer(key, UtteranceScores(ids, values, higher), eer_rule=eer_rule, confidence=confidence)


@opens_inputs
def bisection_eer(
    references: References,
    scores: Scores,
    *,
    precision: float = 1e-5,
    quantiles: Quantiles = "real",
    convention: str = "default",
    **rules: Unpack[RulesAndInputs],
) -> BisectionMeasurement:
    """Estimate the range-based EER by the paper's Algorithm 1; ``trace`` shows every step.

    Parameters
    ----------
    references, scores
        Reference labels and system scores.
    precision
        The algorithm ends where FPR and FNR differ by less.
    quantiles
        ``"integer"`` is the algorithm as printed, ``"real"`` as in the published script.
    convention, **rules
        As in :func:`range_eer`.

    Returns
    -------
    BisectionMeasurement
        The estimate with its trace; ``reached`` is True if the precision was reached.

    Examples
    --------
    >>> references = References.from_ranges({"u1": [(0.0, 0.08, "bonafide"), (0.08, 0.16, "spoof")]})
    >>> frames = {"u1": [0.9, 0.8, 0.7, 0.1, 0.2, -0.1, -0.2, -0.3]}
    >>> m = bisection_eer(references, Scores.from_frames(frames, hop=0.02, higher="bonafide"))
    >>> m.value, m.reached
    (0.25, True)
    """
    check_sides(references, scores)
    scores.distinct.refuse("an EER")
    plan = EvaluationOptions(convention, rules=rules).plan(Measure("range-eer"), scores.hop)
    rates = RangeRates(references, scores, plan.rules)
    result = bisect(rates, precision, quantiles)
    best = result.best
    value = (best.false_positive_rate + best.false_negative_rate) / 2
    point = OperatingPoint(
        mirrored(best.threshold, scores.higher),
        scores.higher,
        round(best.false_positive_rate * rates.all_bona_fide),
        round(best.false_negative_rate * rates.all_spoof),
        int(rates.all_bona_fide),
        int(rates.all_spoof),
    )
    notes, cautions = [], scores.distinct.cautions(value)
    for caution in cautions:
        warn_user(f"bisection-eer: {caution}", SpoofspanWarning)
    if not result.reached:
        notes.append(f"the precision of {precision:g} was not reached: no quantile tried gives |FPR - FNR| below it")
    if not result.bracketed:
        notes.append("FPR - FNR has the same sign at the lowest and at the highest score, so nothing was bracketed")
    measure = f"bisection-eer({quantiles},{shortest_text(precision)})"
    signer = partial(plan.sign, measure, "bisection", HashedInputs(references, scores), rates.utterances, rows=True)
    return BisectionMeasurement(
        measure=measure,
        value=value,
        point=point,
        neighbours=(None, None),
        eer_rule="bisection",
        convention=convention,
        rules=plan.rules,
        touched={entry.rule: entry for entry in rates.touched},
        utterances=len(rates.utterances),
        exact_value=Fraction(value),
        warnings=cautions,
        notes=tuple(notes),
        signer=signer,
        bisection=result,
    )


def best_possible(
    references: References,
    hop: float,
    *,
    convention: str = "default",
    eer_rule: str | None = None,
    **rules: Unpack[RuleArguments],
) -> Measurement:
    """The floor: the range-based EER of a perfect system that gives one score per hop.

    Its frames are ordered by their share of bona fide time; no other scores of that hop give a better curve. The floor
    is the cost of the resolution; the rest of a real system's EER is due to the system.

    Parameters
    ----------
    references
        Reference labels.
    hop
        The spacing of the scores in seconds.
    convention, eer_rule, **rules
        As in :func:`range_eer`.

    Returns
    -------
    Measurement
        The range-based EER of the perfect system.

    Examples
    --------
    >>> references = References.from_ranges({"u1": [(0.0, 0.03, "bonafide"), (0.03, 0.08, "spoof")]})
    >>> [round(best_possible(references, hop, eer_rule="interpolated").value, 4) for hop in (0.01, 0.04)]
    [0.0, 0.1667]
    """
    check_references(references)
    hop = check_resolution(hop, "hop")
    chosen, convention_rule = rules_for("range", convention, rules)
    labelling, touched = label_references(references, chosen)
    some = np.flatnonzero(labelling.extents > 0)
    if not some.size:
        raise UndefinedMeasureError("no utterance has any time to measure")
    labelling = labelling.take(some)
    refuse_milliseconds(hop * SECOND, labelling.extents, "hop")
    grid = Grid.over(labelling.extents, hop, "use")
    shares = bona_fide_shares(labelling, grid)
    perfect = Scores.from_columns(labelling.utterances, grid.offsets, shares, hop=hop, higher="bonafide")
    # these scores know the labels, so that they may be 0 and 1 only
    plan = EvaluationOptions(convention, eer_rule or convention_rule, rules=rules).plan(Measure("range-eer"), hop)
    (lay,) = CorpusInMemory(references.take(some), perfect).lay([plan])
    measured = lay().cautioned()
    name = f"floor@{milliseconds(hop)}"
    signer = partial(_signed_as, name, measured)
    return replace(measured, measure=name, touched={entry.rule: entry for entry in touched}, signer=signer)


def _signed_as(name: str, measured: Measurement) -> Signature:
    """The signature of a measurement under another name."""
    signature = measured.signature
    return replace(signature, comparable="|".join([name, *signature.comparable.split("|")[1:]]))


@opens_inputs
def error_curve(
    references: References,
    scores: Scores,
    *,
    resolution: float | None = None,
    convention: str = "default",
    **rules: Unpack[RulesAndInputs],
) -> ErrorCurve:
    """Compute FPR and FNR at every threshold, in durations or (with a ``resolution``) in points.

    Parameters
    ----------
    references, scores
        Reference labels and system scores. Hard decisions have one meaningful point: ``at(0.5)``.
    resolution
        The length of a point in seconds; without it, durations are counted.
    convention, **rules
        As in :func:`overlay`.

    Returns
    -------
    ErrorCurve
        Thresholds with their two rates; ``at(threshold)`` gives the confusion matrix there.

    Examples
    --------
    >>> references = References.from_ranges({"u1": [(0.0, 0.03, "bonafide"), (0.03, 0.06, "spoof")]})
    >>> scores = Scores.from_frames({"u1": [0.9, 0.4, -0.2]}, hop=0.02, higher="bonafide")
    >>> curve = error_curve(references, scores)
    >>> curve.thresholds.tolist()
    [-0.2, 0.4, 0.9, inf]
    >>> curve.at(0.3).seconds()["false_negative"]
    0.01
    """
    check_sides(references, scores)
    return error_curve_of(_mass(references, scores, resolution, convention, rules))


@opens_inputs
def evaluate(
    references: Truth,
    scores: Scores | Proposals | UtteranceScores,
    measures: str | Sequence[str | Measure] | None = None,
    *,
    convention: str = "default",
    eer_rule: str | None = None,
    threshold: Threshold | None = None,
    scores_are: ScoresAre | None = None,
    utterance_scores: UtteranceScores | None = None,
    boundary_scores: Scores | None = None,
    asv_scores: VerificationScores | VerificationErrors | None = None,
    asv_rates: Sequence[float] | None = None,
    on_undefined: OnUndefined | None = None,
    smoothing: int | None = None,
    min_duration: float = 0.0,
    merge_gap: float = 0.0,
    confidence: float | None = None,
    clusters: Grouping | None = None,
    resampling: Resampling | None = None,
    by: str | Columns | None = None,
    **rules: Unpack[RulesAndInputs],
) -> Evaluation:
    """Take several measures of a corpus in memory, by their names.

    Parameters
    ----------
    references
        Reference labels. Scores of whole utterances may have a protocol, or a label by utterance, instead.
    scores
        Scores in time; proposals, which have event measures only; or scores of whole utterances, which have measures
        of utterances only.
    measures
        One name or several (``"range-f1"``, ``"point-eer@20ms"``, ``"event-ap@iou=0.5"``; ``docs/measures.md`` lists
        all). Default: the range EER, and the point EER at the hop and the utterance EER if they have a value; for whole
        utterances the EER.
    convention, eer_rule, **rules
        As in :func:`range_eer`.
    threshold
        The threshold of measures at one (``range-f1``), and of proposals made of scores; default: that of the EER. A
        number on the scale of the scores, or a measurement, such as the EER of a development set, for its threshold.
        It is refused if no measure uses it.
    scores_are
        ``"llr"`` or ``"probability"``, for measures that interpret the scores (``range-cllr``).
    utterance_scores
        Scores of whole utterances, which measures of utterances use instead of the lowest score of each utterance.
    boundary_scores
        Scores of a boundary track, high (``higher="spoof"``) at the beginning and end of spoof, for
        ``point-boundary-eer@20ms``.
    asv_scores
        Scores of a speaker verification system (:func:`spoofspan.read_verification_scores`), for
        ``utterance-min-tdcf`` and ``utterance-t-eer``.
    asv_rates
        Instead of its scores, its shares of accepted non-targets, rejected targets and accepted spoofs.
    on_undefined
        Called with each measure that has no value and the reason; the measure is left out. Without it, that is an
        error.
    smoothing, min_duration, merge_gap
        How proposals are made of scores for event measures (:func:`spoofspan.proposals_from_scores`).
    confidence, clusters
        The level of intervals (0.95), and the clusters that are left out in turn: utterances, or speakers with
        ``clusters={"speaker": {utterance: speaker}}``.
    resampling
        Other intervals: ``Resampling(method="percentile")``.
    by
        As in :func:`range_eer`; each measurement has its own ``breakdown``. Groups in time need measures of ranges;
        ``"attack"`` and ``"length"`` also work with measures of single events (``event-recall``).

    Returns
    -------
    Evaluation
        The measurements by name.

    Raises
    ------
    UndefinedMeasureError
        If a measure has no value on this corpus, and ``on_undefined`` is not given.

    Examples
    --------
    >>> references = References.from_ranges({"u1": [(0.0, 0.08, "bonafide"), (0.08, 0.16, "spoof")]})
    >>> frames = {"u1": [0.9, 0.8, 0.7, 0.1, 0.2, -0.1, -0.2, -0.3]}
    >>> scores = Scores.from_frames(frames, hop=0.02, higher="bonafide")
    >>> found = evaluate(references, scores, ["range-eer", "range-recall"], threshold=0.15)
    >>> found["range-eer"].value, found["range-recall"].value
    (0.25, 0.75)
    """
    options = EvaluationOptions(
        convention,
        eer_rule,
        threshold,
        scores_are,
        verification_of(asv_scores, asv_rates),
        resampling_at(confidence, resampling, clusters),
        smoothing,
        min_duration,
        merge_gap,
        rules=rules,
    )
    corpus = corpus_of(references, scores, utterance_scores=utterance_scores, boundary_scores=boundary_scores)
    found = corpus.evaluate_asked(measures, options, on_undefined)
    if by is None:
        return found
    cut = isinstance(by, Mapping) or by == "share"
    ranges = [one for one in found if cut or one.startswith(("range-", EVENT))]
    if not ranges:
        raise UsageError(f"by={by!r} cuts time; ask for a measure of ranges or events, such as range-eer")
    return Evaluation(
        {
            name: _with_groups(corpus, one, options, by) if name in ranges else one
            for name, one in found.measurements.items()
        }
    )


@opens_inputs
def evaluate_utterances(
    truth: Truth,
    scores: UtteranceScores,
    measures: Sequence[str | Measure] = ("utterance-eer",),
    *,
    on_undefined: OnUndefined | None = None,
    **arguments: Unpack[EvaluationArguments],
) -> Evaluation:
    """Measure scores of whole utterances against a protocol, labels by utterance, or references.

    Parameters
    ----------
    truth
        A protocol, a label ("bonafide" or "spoof"; of trials "target", "nontarget" or "spoof") by utterance, or
        references.
    scores
        A score of each utterance.
    measures
        Measures of utterances (``utterance-eer``, ``utterance-min-dcf``, ...).
    on_undefined, **arguments
        As in :func:`spoofspan.evaluate`. Labels have no time, so rules of time go with references only.

    Returns
    -------
    Evaluation
        The measurements by name.

    Examples
    --------
    >>> from spoofspan.data.utterance_scores import UtteranceScores
    >>> scores = UtteranceScores(("u1", "u2", "u3"), np.array([0.9, -0.4, 0.2]), higher="bonafide")
    >>> labels = {"u1": "bonafide", "u2": "spoof", "u3": "spoof"}
    >>> evaluate_utterances(labels, scores)["utterance-eer"].value
    0.0
    """
    check_truth(truth)
    check_utterance_scores(scores)
    return evaluate(truth, scores, measures, on_undefined=on_undefined, **arguments)


@opens_inputs
def cross_utterances(
    truth: Truth,
    scores: UtteranceScores,
    columns: Mapping[str, Mapping[str, str]],
    measure: str = "utterance-eer",
    **arguments: Unpack[EvaluationArguments],
) -> CrossedBreakdown:
    """Break a measure of whole utterances or trials down by one or two columns, such as attack and codec.

    Parameters
    ----------
    truth, scores
        As in :func:`spoofspan.evaluate_utterances`.
    columns
        One or two columns by name, each with a value by utterance (:func:`spoofspan.read_metadata`).
    measure
        A measure of utterances.
    **arguments
        As in :func:`spoofspan.evaluate`. Each cell takes its own trials of ``asv_scores``.

    Returns
    -------
    CrossedBreakdown
        A cell for every pair of values, and for all of them pooled.

    Examples
    --------
    >>> from spoofspan.data.utterance_scores import UtteranceScores
    >>> attacks = {"u1": "-", "u2": "-", "u3": "A01", "u4": "A02", "u5": "A02"}
    >>> labels = {utterance: "bonafide" if attack == "-" else "spoof" for utterance, attack in attacks.items()}
    >>> scores = UtteranceScores(tuple(labels), np.array([0.9, 0.1, -0.4, 0.5, -1.0]), higher="bonafide")
    >>> found = cross_utterances(labels, scores, {"attack": attacks})
    >>> found["A01", "pooled"].value, found["A02", "pooled"].value
    (0.0, 0.5)
    """
    options = EvaluationOptions.from_arguments(arguments)
    check_utterance_scores(scores)
    return corpus_of(truth, scores).cross(",".join(columns), measure, options, columns.__getitem__)

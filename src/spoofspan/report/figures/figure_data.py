"""Data of figures: each figure has a function here that returns its data without drawing.

Curves are thinned to within 0.05 points of the exact ones (
:mod:`spoofspan.report.figures.line_simplification`), so that a page with them
stays small. Times are seconds, rates between 0 and 1, thresholds and scores on the scale of the scores as given.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.base.times import Float64
from spoofspan.data.front_door import RulesAndInputs, check_sides, opens_inputs
from spoofspan.data.references import References
from spoofspan.data.scores import Higher, Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.breakdown import DISTANCES, MeasuredCorpus
from spoofspan.evaluation.corpus import CorpusInMemory, corpus_of
from spoofspan.evaluation.measurement import Measurement
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.evaluation.resolution_table import ResolutionTable
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.mass.score_runs import mirrored
from spoofspan.measures.costs import (
    EVEN,
    ScoredAmounts,
    cllr,
    min_cllr,
    pool_adjacent_violators,
    stated_ratios,
)
from spoofspan.measures.curve import ErrorCurve, ThinCurve, error_curve_of, thin_curve
from spoofspan.measures.measure import Measure, ScoresAre
from spoofspan.measures.reliability import Reliability, reliability
from spoofspan.report.figures.line_simplification import (
    SHARE_OF_PICKING,
    STEP,
    TOLERANCE,
    deviates,
    thin_det,
    thin_function,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.evaluation.utterances import Truth
    from spoofspan.uncertainty import Interval

BINS, CALIBRATION_BINS = 50, 10
# Scores are shown from the quantile below to the one above, of either class; what lies outside is counted.
TAIL, CENTRAL = 0.001, 0.01


def plain(data: Any) -> dict[str, Any]:
    """The data of a figure ready for JSON: arrays become lists.

    Parameters
    ----------
    data : dataclass
        What one of the functions of this module, or of :mod:`.utterance_data`, returned.

    Returns
    -------
    dict
        By the names of its fields.

    """
    return {field.name: _plain(getattr(data, field.name)) for field in fields(data)}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return plain(value) if hasattr(value, "__dataclass_fields__") else value


@dataclass(frozen=True, eq=False)
class SystemCurve:
    """One system, ready to be measured at any threshold: what several figures are made of."""

    name: str
    mass: ScoreMass
    eer: Measurement
    interval: Interval | None = None  # of the EER

    @property
    def unit(self) -> str:
        """Counted unit: time, points or utterances."""
        return "time" if self.mass.unit == "ns" else self.mass.unit


@opens_inputs
def system_curve(
    references: Truth,
    scores: Scores | UtteranceScores,
    name: str = "",
    *,
    resolution: float | None = None,
    interval: Interval | None = None,
    convention: str = "default",
    eer_rule: str | None = None,
    **rules: Unpack[RulesAndInputs],
) -> SystemCurve:
    """Measure a system at every threshold, in durations, in points or in whole utterances.

    Parameters
    ----------
    references, scores
        Reference labels and system scores. Scores of whole utterances may have a protocol, or a label by utterance,
        instead of references.
    name : str
        What the system is called in figures.
    resolution : float, optional
        Length of the points in seconds; without it, durations are measured.
    interval : Interval, optional
        That of :func:`spoofspan.interval` for the same measure.
    convention, eer_rule, **rules
        As of :func:`spoofspan.range_eer`.

    Returns
    -------
    SystemCurve
        For :func:`det_data`, :func:`threshold_data` and :func:`score_data`.

    Examples
    --------
    >>> references = References.from_ranges({"u1": [(0.0, 0.08, "bonafide"), (0.08, 0.16, "spoof")]})
    >>> scores = Scores.from_frames({"u1": [0.9, 0.8, 0.7, 0.1, 0.2, -0.1, -0.2, -0.3]}, hop=0.02, higher="bonafide")
    >>> system_curve(references, scores, "ours").eer.value
    0.25

    """
    if isinstance(scores, UtteranceScores):
        if resolution is not None:
            raise UsageError("resolution= is the length of points in time, and scores of whole utterances have none")
        measure = Measure("utterance-eer")
    else:
        check_sides(references, scores)
        measure = Measure("range-eer") if resolution is None else Measure("point-eer", resolution)
    corpus = corpus_of(references, scores)
    (lay,) = corpus.lay([corpus.plan(measure, EvaluationOptions(convention, eer_rule, rules=rules))])
    planned = lay()
    eer = planned.cautioned()
    if interval is not None and interval.measure != eer.measure:
        raise UsageError(f"the interval is one of {interval.measure}, the curve one of {eer.measure}")
    return SystemCurve(name, planned.mass, eer, interval)


# ---------------------------------------------------------------- DET


@dataclass(frozen=True, eq=False)
class DetData:
    """FNR over FPR; lines between the points are meant on normal-deviate axes."""

    name: str
    false_positive_rates: Float64
    false_negative_rates: Float64
    eer: float
    eer_false_positive_rate: float  # where the threshold of the EER lies
    eer_false_negative_rate: float
    low: float | None  # the interval of the EER
    high: float | None


def det_data(system: SystemCurve) -> DetData:
    """The DET curve (Martin et al., 1997) of a system.

    Parameters
    ----------
    system : SystemCurve
        What :func:`system_curve` returned.

    Returns
    -------
    DetData
        For :func:`.system_figures.draw_det`.

    Examples
    --------
    >>> from spoofspan.demo import load
    >>> corpus = load()
    >>> f"{det_data(system_curve(corpus.references, corpus.systems[0.64])).eer:.3f}"
    '0.124'

    """
    eer, interval = system.eer, system.interval
    curve = thin_curve(system.mass, tolerance=STEP, scale=deviates)
    kept = thin_det(curve.false_positive_rates, curve.false_negative_rates)
    return DetData(
        system.name,
        curve.false_positive_rates[kept],
        curve.false_negative_rates[kept],
        eer.value,
        eer.false_positive_rate,
        eer.false_negative_rate,
        None if interval is None or interval.refused else interval.low,
        None if interval is None or interval.refused else interval.high,
    )


# ---------------------------------------------------------------- rates over the threshold


@dataclass(frozen=True, eq=False)
class FigureLine:
    """Points to be joined by straight lines; a jump has two points of the same x."""

    x: Float64
    y: Float64


@dataclass(frozen=True, eq=False)
class ThresholdData:
    """FPR and FNR over the threshold. Left and right of their ends they stay as they are there."""

    name: str
    false_positive: FigureLine
    false_negative: FigureLine
    threshold: float  # of the EER
    eer: float
    decision: str
    span: tuple[float, float]  # where nearly all scores lie


def threshold_data(system: SystemCurve) -> ThresholdData:
    """FPR and FNR of a system over the threshold.

    Parameters
    ----------
    system : SystemCurve
        As of :func:`det_data`.

    Returns
    -------
    ThresholdData
        For :func:`.system_figures.draw_threshold`.

    """
    curve = _picked(system)
    return ThresholdData(
        system.name,
        _step_line(curve.thresholds, curve.false_positive_rates),
        _step_line(curve.thresholds, curve.false_negative_rates),
        system.eer.threshold,
        system.eer.value,
        system.eer.decision,
        _span(curve),
    )


def _picked(system: SystemCurve) -> ThinCurve:
    return thin_curve(system.mass, tolerance=SHARE_OF_PICKING * TOLERANCE)


def _step_line(thresholds: Float64, rates: Float64) -> FigureLine:
    """A rate over the threshold, as steps: it changes just above each candidate, and holds up to the next one."""
    finite = np.isfinite(thresholds)
    after = np.append(rates[1:], rates[-1:])
    x, first, then = thresholds[finite], rates[finite], after[finite]
    line_x, line_y = np.repeat(x, 2), np.stack((first, then), axis=1).reshape(-1)
    if x.size and x[0] > x[-1]:  # scores that are higher for spoof
        line_x, line_y = line_x[::-1], line_y[::-1]
    if not x.size:
        return FigureLine(x, first)
    chosen = thin_function(line_x, line_y, (1 - SHARE_OF_PICKING) * TOLERANCE)
    return FigureLine(line_x[chosen], line_y[chosen])


# ---------------------------------------------------------------- scores by class


@dataclass(frozen=True, eq=False)
class ScoreData:
    """Distribution of the time (or the points, or the utterances) of each class over the scores."""

    name: str
    edges: Float64  # of the bins
    bona_fide: Float64  # share of the class in each bin
    spoof: Float64
    bona_fide_outside: tuple[float, float]  # share below the first and above the last edge
    spoof_outside: tuple[float, float]
    threshold: float  # of the EER
    higher: Higher
    unit: str


def score_data(system: SystemCurve, bins: int = BINS) -> ScoreData:
    """Distribution of the scores of both classes, weighted by duration, or counted by points or utterances.

    Parameters
    ----------
    system : SystemCurve
        As of :func:`det_data`.
    bins : int
        How many bins of equal width.

    Returns
    -------
    ScoreData
        For :func:`.system_figures.draw_scores`.

    """
    if bins < 1:
        raise UsageError("a histogram needs at least one bin")
    mass = system.mass
    low, high = _span(_picked(system))
    edges = np.linspace(low, high, bins + 1)
    # of each class: below the first edge, in each bin, above the last edge
    found = np.zeros((2, bins + 2))
    for block in mass.blocks():
        values = mirrored(block.scores, mass.higher).astype(np.float64)
        for sums, amounts in zip(found, (block.bona_fide, block.spoof), strict=True):
            sums[1:-1] += np.histogram(values, edges, weights=amounts)[0]
            sums[0] += amounts[values < low].sum()
            sums[-1] += amounts[values > high].sum()
    bona_fide, spoof = (sums / sums.sum() for sums in found)
    return ScoreData(
        system.name,
        edges,
        bona_fide[1:-1],
        spoof[1:-1],
        (float(bona_fide[0]), float(bona_fide[-1])),
        (float(spoof[0]), float(spoof[-1])),
        system.eer.threshold,
        mass.higher,
        system.unit,
    )


def _span(curve: ThinCurve) -> tuple[float, float]:
    """From where to where nearly all scores of both classes lie; never empty."""
    tail = TAIL - SHARE_OF_PICKING * TOLERANCE  # the scores between two picked points may lie outside as well
    classes = [np.diff(called).astype(np.float64) for called in (curve.called_bona_fide, curve.called_spoof)]
    return _span_of(curve.thresholds[:-1], classes, tail, room=0.5)


def _span_of(
    values: Float64, classes: Iterable[Float64], tail: float = TAIL, *, include: Sequence[float] = (), room: float
) -> tuple[float, float]:
    """The quantiles ``tail`` and ``1 - tail`` of the finite values, over each class that has some amount of them.

    An outlier does not squeeze all others: the span reaches no further beyond the quantiles 1 and 99 % than these are
    apart. What to ``include`` lies within; where there is nothing else, ``room`` is left on either side.
    """
    finite = np.isfinite(values)
    ends, central = list(include), []
    for amounts in classes:
        reached = np.cumsum(amounts[finite])
        if reached.size and reached[-1]:
            shares = np.array([tail, CENTRAL, 1 - CENTRAL, 1 - tail])
            places = np.minimum(np.searchsorted(reached, shares * reached[-1]), reached.size - 1)
            first, low, high, last = values[finite][places].tolist()
            ends += [first, last]
            central += [low, high]
    low, high = min(ends, default=0.0), max(ends, default=0.0)
    if central and (apart := max(central) - min(central)):
        low = min(max(low, min(central) - apart), *include, math.inf)
        high = max(min(high, max(central) + apart), *include, -math.inf)
    return (low, high) if low < high else (low - room, high + room)


# ---------------------------------------------------------------- EER over resolution


@dataclass(frozen=True, eq=False)
class ResolutionData:
    """One system: point EER by resolution, its range EER, and the floor of its hop."""

    name: str
    hop: float | None
    resolutions: Float64
    point_eers: Float64
    range_eer: float
    floor: float | None


def resolution_data(table: ResolutionTable) -> list[ResolutionData]:
    """Point EER over resolution against range EER and floor.

    Parameters
    ----------
    table : spoofspan.ResolutionTable
        What :func:`spoofspan.resolution_table` returned.

    Returns
    -------
    list of ResolutionData
        One entry per row, for :func:`.system_figures.draw_resolution`.

    """
    resolutions = sorted(table.resolutions)
    return [
        ResolutionData(
            row.name,
            row.hop,
            np.array(resolutions),
            np.array([row.point_eers[one].value for one in resolutions]),
            row.range_eer.value,
            None if row.floor is None else row.floor.value,
        )
        for row in table.rows
    ]


# ---------------------------------------------------------------- error by distance from a boundary


@dataclass(frozen=True, eq=False)
class BoundaryData:
    """Share of the error, and of all time, within a distance of a true boundary."""

    name: str
    distances: Float64
    share_of_error: Float64
    share_of_time: Float64
    eer_outside: Float64  # the range EER of the time further away
    eer: float


@opens_inputs
def boundary_data(
    references: References,
    scores: Scores,
    name: str = "",
    *,
    distances: Sequence[float] = DISTANCES,
    convention: str = "default",
    eer_rule: str | None = None,
    **rules: Unpack[RulesAndInputs],
) -> BoundaryData:
    """Error by distance from the nearest true boundary, at the threshold of the range EER.

    Parameters
    ----------
    references, scores, name, convention, eer_rule, **rules
        As of :func:`system_curve`.
    distances : sequence of float
        In seconds, rising.

    Returns
    -------
    BoundaryData
        For :func:`.system_figures.draw_boundary`.

    Examples
    --------
    >>> references = References.from_ranges({"u1": [(0.0, 0.2, "bonafide"), (0.2, 0.4, "spoof")]})
    >>> scores = Scores.from_frames({"u1": [0.9, 0.1, 0.2, -0.3]}, hop=0.1, higher="bonafide")
    >>> boundary_data(references, scores, distances=[0.1]).share_of_error.tolist()
    [1.0]

    """
    check_sides(references, scores)
    whole = MeasuredCorpus(
        CorpusInMemory(references, scores), "range-eer", EvaluationOptions(convention, eer_rule, rules=rules)
    )
    groups, eer = whole.by_boundary(distances).groups, whole.measured
    lasting = (eer.point.bona_fide + eer.point.spoof) / 1e9
    return BoundaryData(
        name,
        np.array(distances, np.float64),
        np.array([group.share_of_error for group in groups]),
        np.array([(group.bona_fide_seconds + group.spoof_seconds) / lasting for group in groups]),
        np.array([np.nan if group.measurement is None else group.measurement.value for group in groups]),
        eer.value,
    )


# ---------------------------------------------------------------- calibration
#
# All three figures take scores at their word (``scores_are``, as in :mod:`spoofspan.measures.costs`). Log-likelihood
# ratios are natural, of bona fide to spoof, whatever the polarity of the scores.


@dataclass(frozen=True, eq=False)
class ReliabilityData:
    """The table of a reliability diagram."""

    name: str
    table: Reliability
    error: float  # the expected calibration error
    unit: str  # of what is counted: time, points, utterances


def reliability_data(
    system: SystemCurve, scores_are: ScoresAre, *, bins: int = CALIBRATION_BINS, prior: float = float(EVEN)
) -> ReliabilityData:
    """The stated probability of spoof against the share of spoof, in bins of equal width.

    Parameters
    ----------
    system : SystemCurve
        What :func:`system_curve` returned.
    scores_are : str
        ``"llr"`` or ``"probability"``.
    bins : int
        How many bins.
    prior : float
        The share of spoof that is meant; the classes are weighted to it.

    Returns
    -------
    ReliabilityData
        For :func:`.system_figures.draw_reliability`.

    Examples
    --------
    >>> from spoofspan.demo import load
    >>> from spoofspan.report.figures import system_curve
    >>> corpus = load()
    >>> found = reliability_data(system_curve(corpus.references, corpus.systems[0.02]), "llr")
    >>> len(found.table.bins), f"{found.error:.3f}"
    (6, '0.343')

    """
    found = reliability(error_curve_of(system.mass), scores_are, bins=bins, prior=prior)
    return ReliabilityData(system.name, found, found.error, system.unit)


@dataclass(frozen=True, eq=False)
class PavData:
    """The best increasing map of the scores: from stated to calibrated log-likelihood ratios, a step for each group.

    The calibrated ratio of the first group is -inf where it holds no bona fide, of the last inf where it holds no
    spoof. ``cllr`` is inf where a certain score is wrong.
    """

    name: str
    starts: Float64  # the lowest and the highest stated ratio of each group
    ends: Float64
    calibrated: Float64
    cllr: float
    min_cllr: float
    span: tuple[float, float]  # where nearly all stated ratios lie

    @property
    def loss(self) -> float:
        """Calibration loss: Cllr - minCllr, in bits."""
        return max(self.cllr - self.min_cllr, 0.0)


def pav_data(system: SystemCurve, scores_are: ScoresAre, *, prior: float = float(EVEN)) -> PavData:
    """Stated log-likelihood ratios against those after pooling adjacent violators.

    Parameters
    ----------
    system : SystemCurve
        As of :func:`reliability_data`.
    scores_are : str
        ``"llr"`` or ``"probability"``.
    prior : float
        The share of spoof that probabilities are meant for.

    Returns
    -------
    PavData
        For :func:`.system_figures.draw_pav`.

    """
    curve = error_curve_of(system.mass)
    amounts = ScoredAmounts.of(curve)
    ratios = stated_ratios(amounts, curve, scores_are, prior)
    bona_fide, spoof = pool_adjacent_violators(amounts.bona_fide, amounts.spoof)
    # every score has some amount, so sums tell which scores a group holds
    last = np.searchsorted(np.cumsum(amounts.bona_fide + amounts.spoof), np.cumsum(bona_fide + spoof))
    last = np.minimum(last, ratios.size - 1)
    with np.errstate(divide="ignore"):
        calibrated = np.log(bona_fide / bona_fide.sum()) - np.log(spoof / spoof.sum())
    return PavData(
        system.name,
        ratios[np.concatenate(([0], last[:-1] + 1))],
        ratios[last],
        calibrated,
        _cllr(curve, scores_are, prior),
        min_cllr(curve),
        _span_of_ratios(ratios, amounts),
    )


def _cllr(curve: ErrorCurve, scores_are: ScoresAre, prior: float) -> float:
    try:
        return cllr(curve, scores_are, prior=prior)
    except UndefinedMeasureError:  # a certain score is wrong
        return math.inf


def _span_of_ratios(ratios: Float64, amounts: ScoredAmounts) -> tuple[float, float]:
    """From where to where nearly all finite ratios of both classes lie, 0 included; never empty."""
    return _span_of(ratios, (amounts.bona_fide, amounts.spoof), include=(0.0,), room=1.0)


@dataclass(frozen=True, eq=False)
class TippettData:
    """Share of each class with at least a given log-likelihood ratio; beyond its ends a line is flat."""

    name: str
    bona_fide: FigureLine
    spoof: FigureLine
    misleading_bona_fide: float  # share of bona fide whose ratio speaks for spoof
    misleading_spoof: float  # share of spoof whose ratio speaks for bona fide
    unit: str
    span: tuple[float, float]


def tippett_data(system: SystemCurve, scores_are: ScoresAre, *, prior: float = float(EVEN)) -> TippettData:
    """The share of each class whose log-likelihood ratio is at least x, over x.

    Parameters
    ----------
    system, scores_are, prior
        As of :func:`pav_data`.

    Returns
    -------
    TippettData
        For :func:`.system_figures.draw_tippett`.

    """
    curve = error_curve_of(system.mass)
    amounts = ScoredAmounts.of(curve)
    ratios = stated_ratios(amounts, curve, scores_are, prior)
    return TippettData(
        system.name,
        _at_least(ratios, amounts.bona_fide),
        _at_least(ratios, amounts.spoof),
        float(amounts.bona_fide[ratios < 0].sum() / amounts.bona_fide.sum()),
        float(amounts.spoof[ratios > 0].sum() / amounts.spoof.sum()),
        system.unit,
        _span_of_ratios(ratios, amounts),
    )


def _at_least(ratios: Float64, amounts: Float64) -> FigureLine:
    """The share with at least a ratio: it falls behind each ratio by the amount under it."""
    below = np.concatenate(([0.0], np.cumsum(amounts))) / amounts.sum()
    finite = np.isfinite(ratios)
    steps = np.stack((1 - below[:-1], 1 - below[1:]), axis=1)[finite].reshape(-1)
    x = np.repeat(ratios[finite], 2)
    kept = thin_function(x, steps) if x.size else np.arange(0)
    return FigureLine(x[kept], steps[kept])

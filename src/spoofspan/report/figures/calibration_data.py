"""What figures of calibration show, as numbers: reliability diagrams, PAV plots and Tippett plots.

All three take scores at their word (``scores_are``, as in :mod:`spoofspan.measures.costs`). Log-likelihood ratios are
natural, of bona fide to spoof, whatever the polarity of the scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from spoofspan.base.errors import UndefinedMeasureError
from spoofspan.base.times import Float64
from spoofspan.measures.costs import (
    EVEN,
    ScoredAmounts,
    ScoresAre,
    cllr,
    min_cllr,
    pool_adjacent_violators,
    stated_ratios,
)
from spoofspan.measures.curve import ErrorCurve, error_curve_of
from spoofspan.measures.reliability import Reliability, reliability
from spoofspan.report.figures.figure_data import FigureLine, SystemCurve, ends_of_classes
from spoofspan.report.figures.line_simplification import thin_function

BINS = 10


@dataclass(frozen=True, eq=False)
class ReliabilityData:
    """The table of a reliability diagram."""

    name: str
    table: Reliability
    error: float  # the expected calibration error
    unit: str  # of what is counted: time, points, utterances


def reliability_data(
    system: SystemCurve, scores_are: ScoresAre, *, bins: int = BINS, prior: float = float(EVEN)
) -> ReliabilityData:
    """The stated probability of spoof against the share of spoof, in bins of equal width.

    Parameters
    ----------
    system : SystemCurve
        What :func:`.figure_data.system_curve` returned.
    scores_are : str
        ``"llr"`` or ``"probability"``.
    bins : int
        How many bins.
    prior : float
        The share of spoof that is meant; the classes are weighted to it.

    Returns
    -------
    ReliabilityData
        For :func:`.calibration_figures.draw_reliability`.

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
        """What calibration would gain: Cllr - minCllr, in bits."""
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
        For :func:`.calibration_figures.draw_pav`.

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
        _span(ratios, amounts),
    )


def _cllr(curve: ErrorCurve, scores_are: ScoresAre, prior: float) -> float:
    try:
        return cllr(curve, scores_are, prior=prior)
    except UndefinedMeasureError:  # a certain score is wrong
        return math.inf


def _span(ratios: Float64, amounts: ScoredAmounts) -> tuple[float, float]:
    """From where to where nearly all finite ratios of both classes lie, 0 included; never empty."""
    ends = [0.0, *ends_of_classes(ratios, (amounts.bona_fide, amounts.spoof))]
    low, high = min(ends), max(ends)
    return (low, high) if low < high else (low - 1.0, high + 1.0)


@dataclass(frozen=True, eq=False)
class TippettData:
    """How much of each class has at least a given log-likelihood ratio; outside of its ends a line goes on flat."""

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
        For :func:`.calibration_figures.draw_tippett`.

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
        _span(ratios, amounts),
    )


def _at_least(ratios: Float64, amounts: Float64) -> FigureLine:
    """The share with at least a ratio: it falls behind each ratio by the amount under it."""
    below = np.concatenate(([0.0], np.cumsum(amounts))) / amounts.sum()
    finite = np.isfinite(ratios)
    steps = np.stack((1 - below[:-1], 1 - below[1:]), axis=1)[finite].reshape(-1)
    x = np.repeat(ratios[finite], 2)
    kept = thin_function(x, steps) if x.size else np.arange(0)
    return FigureLine(x[kept], steps[kept])

"""What figures show, as numbers: each figure has a function here that returns its data without drawing.

Curves are thinned to within 0.05 points of the exact ones (
:mod:`spoofspan.report.figures.line_simplification`), so that a page with them
stays small. Times are seconds, rates between 0 and 1, thresholds and scores on the scale of the scores as given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.base.times import Float64
from spoofspan.data.references import References
from spoofspan.data.scores import Higher, Scores
from spoofspan.evaluation.breakdown import DISTANCES, by_boundary
from spoofspan.evaluation.evaluate import overlay, point_eer, point_mass, range_eer
from spoofspan.evaluation.measurement import Measurement
from spoofspan.evaluation.resolution_table import ResolutionTable
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.mass.score_runs import mirrored
from spoofspan.measures.curve import ThinCurve, thin_curve
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

    from spoofspan.data.rules import RuleArguments
    from spoofspan.uncertainty import Interval

BINS = 50
# Scores are shown from the quantile below to the one above, of either class; what lies outside is counted.
TAIL = 0.001


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
        """What is counted: time, points or utterances."""
        return "time" if self.mass.unit == "ns" else self.mass.unit


def system_curve(
    references: References,
    scores: Scores,
    name: str = "",
    *,
    resolution: float | None = None,
    interval: Interval | None = None,
    convention: str = "default",
    eer_rule: str | None = None,
    **rules: Unpack[RuleArguments],
) -> SystemCurve:
    """Measure a system at every threshold, in durations or in points.

    Parameters
    ----------
    references, scores
        Reference labels and system scores.
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
    if resolution is None:
        mass = overlay(references, scores, convention=convention, **rules)
        eer = range_eer(references, scores, convention=convention, eer_rule=eer_rule, **rules)
    else:
        mass = point_mass(references, scores, resolution, convention=convention, **rules)
        eer = point_eer(references, scores, resolution, convention=convention, eer_rule=eer_rule, **rules)
    if interval is not None and interval.measure != eer.measure:
        raise UsageError(f"the interval is one of {interval.measure}, the curve one of {eer.measure}")
    return SystemCurve(name, mass, eer, interval)


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
    """How the time (or the points) of each class is spread over the scores."""

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
    """How the scores of both classes are spread, weighted by duration.

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
    ends = ends_of_classes(curve.thresholds[:-1], classes, tail)
    if not ends:
        return -0.5, 0.5
    low, high = min(ends), max(ends)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def ends_of_classes(values: Float64, classes: Iterable[Float64], tail: float = TAIL) -> list[float]:
    """The quantiles ``tail`` and ``1 - tail`` of the finite values, for each class that has some amount of them."""
    finite = np.isfinite(values)
    ends: list[float] = []
    for amounts in classes:
        reached = np.cumsum(amounts[finite])
        if reached.size and reached[-1]:
            places = np.searchsorted(reached, np.array([tail, 1 - tail]) * reached[-1])
            ends += values[finite][np.minimum(places, reached.size - 1)].tolist()
    return ends


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
    """How much of the error, and of all time, lies within a distance of a true boundary."""

    name: str
    distances: Float64
    share_of_error: Float64
    share_of_time: Float64
    eer_outside: Float64  # the range EER of the time further away
    eer: float


def boundary_data(
    references: References,
    scores: Scores,
    name: str = "",
    *,
    distances: Sequence[float] = DISTANCES,
    convention: str = "default",
    eer_rule: str | None = None,
    **rules: Unpack[RuleArguments],
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
    arguments: dict[str, Any] = {"convention": convention, "eer_rule": eer_rule, **rules}
    found = by_boundary(references, scores, distances=distances, **arguments)
    eer = range_eer(references, scores, **arguments)
    whole = (eer.point.bona_fide + eer.point.spoof) / 1e9
    groups = found.groups
    return BoundaryData(
        name,
        np.array(distances, np.float64),
        np.array([group.share_of_error for group in groups]),
        np.array([(group.bona_fide_seconds + group.spoof_seconds) / whole for group in groups]),
        np.array([np.nan if group.measurement is None else group.measurement.value for group in groups]),
        eer.value,
    )

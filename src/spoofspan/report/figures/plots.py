"""Figures in one call, in the user's axes and settings: ``ss.plot.det(references, {"ours": scores}, ax=ax)``.

Systems are a dict of scores by name, or the scores of one system, in any form that :func:`spoofspan.evaluate` takes.
These arguments are common to all functions:

``ax``
    Axes to draw into. A figure of several panels takes an array of Axes, or divides one Axes among its panels.
    Without it, a new figure of pyplot is made.
``style``
    A style on top of your ``rcParams``: ``"spoofspan"`` (that of ``spoofspan plot``, 7 points, for a column of a
    paper), a style of matplotlib, a dict of settings, or a list of these. Without it, your ``rcParams`` apply.
``width``
    Of a new figure: ``"column"`` (80 mm), ``"page"`` (170 mm), or a number of mm. Without it, the width is that of
    ``figure.figsize``, or with the style ``"spoofspan"`` that of a column or a page.

What they return is what was drawn into: the ``ax`` that was given, else the Axes, or the Figure where it has several
panels. ``.figure`` of either is the Figure: ``ss.plot.det(...).figure.savefig("det.pdf")``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, wraps
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from spoofspan.base.errors import UsageError, warn_user
from spoofspan.base.lazy import no_attribute
from spoofspan.data.front_door import RulesAndInputs, opens_inputs, separate_seeds, systems_by_name
from spoofspan.data.scores import Scores
from spoofspan.evaluation.breakdown import DISTANCES
from spoofspan.evaluation.crossed import CrossedBreakdown
from spoofspan.evaluation.evaluate import range_eer
from spoofspan.evaluation.resolution_table import ResolutionTable, resolution_table
from spoofspan.measures.costs import EVEN
from spoofspan.measures.operating_point import Threshold
from spoofspan.report.figures import figure_data as data
from spoofspan.report.figures import heatmap as heatmaps
from spoofspan.report.figures import system_figures, utterance_figures
from spoofspan.report.figures import utterance_data as utterances
from spoofspan.report.figures.style import Style, canvas_in

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.measures.measure import ScoresAre

    Sound = str | PathLike[str] | tuple[Any, float]

    class CurveArguments(RulesAndInputs, total=False):
        """Settings by which an error curve is measured."""

        resolution: float | None
        convention: str
        eer_rule: str | None


Plot = TypeVar("Plot", bound=Callable[..., Any])


def _of_systems(function: Plot) -> Plot:
    """Open references and systems; one system needs no dict."""
    opened = opens_inputs(function)

    @wraps(function)
    def plot(*given: Any, **named: Any) -> Any:
        if "systems" in named:
            named["systems"] = systems_by_name(named["systems"])
        return opened(*given[:1], *map(systems_by_name, given[1:2]), *given[2:], **named)

    return plot  # type: ignore[return-value]


def _each(systems: Mapping[Any, Any], read: Callable[[Any, str], Any]) -> list[Any]:
    """The data of each system; its scores are not kept."""
    each = separate_seeds(systems)
    return [read(each[name], _name_of(name)) for name in each]


def _curves(
    references: Any, systems: Mapping[Any, Any], read: Callable[[data.SystemCurve], Any], arguments: Mapping[str, Any]
) -> list[Any]:
    """The data of each system that are read off its error curve."""
    return _each(systems, lambda scores, name: read(data.system_curve(references, scores, name, **arguments)))


def _name_of(system: Any) -> str:
    return f"{1000 * system:g} ms" if isinstance(system, float) else str(system)  # a number is a hop


# ---------------------------------------------------------------- systems


@_of_systems
def det(
    references: Any,
    systems: Any,
    *,
    ax: Any = None,
    style: Style = None,
    width: str | float | None = None,
    resolution: float | None = None,
    confidence: float | None = None,
    resampling: Mapping[str, Any] | None = None,
    convention: str = "default",
    eer_rule: str | None = None,
    **rules: Unpack[RulesAndInputs],
) -> Any:
    """DET curves on normal-deviate axes: the dot is the EER, the bar along the diagonal its interval.

    Parameters
    ----------
    references, systems, ax, style, width
        See :mod:`spoofspan.plot <spoofspan.report.figures.plots>`.
    resolution : float, optional
        Length of the points in seconds; without it, durations are measured.
    confidence : float, optional
        Draw the interval of the EER, such as 0.95.
    resampling : mapping, optional
        Further arguments of :func:`spoofspan.interval`: ``{"clusters": speakers}``.
    convention, eer_rule, **rules
        As of :func:`spoofspan.range_eer`.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import spoofspan as ss, spoofspan.demo, matplotlib
    >>> matplotlib.use("agg")
    >>> corpus = spoofspan.demo.load()
    >>> ax = ss.plot.det(corpus.references, {"20 ms": corpus.systems[0.02], "160 ms": corpus.systems[0.16]})
    >>> [text.get_text() for text in ax.figure.legends[0].get_texts()]
    ['20 ms: EER 5.21 %', '160 ms: EER 5.17 %']
    >>> ax.figure.clear()

    """
    how: dict[str, Any] = {"convention": convention, "eer_rule": eer_rule, **rules}

    def read(scores: Any, name: str) -> Any:
        curve = data.system_curve(references, scores, name, resolution=resolution, **how)
        if confidence is not None:
            from spoofspan.uncertainty import interval

            sampled = {"confidence": confidence, **(resampling or {})}
            found = interval(references, scores, curve.eer.measure, **sampled, **how)
            for text in found.warnings:  # a figure has no place for them
                warn_user(f"{name}: {curve.eer.measure}: {text}" if name else f"{curve.eer.measure}: {text}")
            curve = replace(curve, interval=found)
        return data.det_data(curve)

    with canvas_in(ax, style, width, "column") as canvas:
        return system_figures.draw_det(_each(systems, read), canvas)


@_of_systems
def roc(
    references: Any,
    systems: Any,
    *,
    ax: Any = None,
    style: Style = None,
    width: str | float | None = None,
    **arguments: Unpack[CurveArguments],
) -> Any:
    """ROC curves: the recall of spoof over the share of bona fide called spoof; the dot is the EER.

    Parameters
    ----------
    references, systems, ax, style, width, **arguments
        As of :func:`det`.

    Returns
    -------
    matplotlib.axes.Axes

    """
    with canvas_in(ax, style, width, "column") as canvas:
        return system_figures.draw_roc(_curves(references, systems, data.det_data, arguments), canvas)


@_of_systems
def threshold(
    references: Any,
    systems: Any,
    *,
    ax: Any = None,
    style: Style = None,
    width: str | float | None = None,
    **arguments: Unpack[CurveArguments],
) -> Any:
    """FPR and FNR over the threshold, a panel for each system: scores of two systems have no common scale.

    Parameters
    ----------
    references, systems, ax, style, width, **arguments
        As of :func:`det`.

    Returns
    -------
    matplotlib.axes.Axes or matplotlib.figure.Figure

    """
    with canvas_in(ax, style, width, "column") as canvas:
        return system_figures.draw_threshold(_curves(references, systems, data.threshold_data, arguments), canvas)


@_of_systems
def scores(
    references: Any,
    systems: Any,
    *,
    ax: Any = None,
    style: Style = None,
    width: str | float | None = None,
    bins: int = data.BINS,
    **arguments: Unpack[CurveArguments],
) -> Any:
    """Histograms of the scores of both classes, weighted by duration, a panel for each system.

    Parameters
    ----------
    references, systems, ax, style, width, **arguments
        As of :func:`det`.
    bins : int
        Number of bins.

    Returns
    -------
    matplotlib.axes.Axes or matplotlib.figure.Figure

    """
    read = partial(data.score_data, bins=bins)
    with canvas_in(ax, style, width, "column") as canvas:
        return system_figures.draw_scores(_curves(references, systems, read, arguments), canvas)


@_of_systems
def boundary(
    references: Any,
    systems: Any,
    *,
    ax: Any = None,
    style: Style = None,
    width: str | float | None = None,
    distances: Sequence[float] = DISTANCES,
    convention: str = "default",
    eer_rule: str | None = None,
    **rules: Unpack[RulesAndInputs],
) -> Any:
    """Share of the error near a true boundary, and the range EER of the time further away.

    Parameters
    ----------
    references, systems, ax, style, width, convention, eer_rule, **rules
        As of :func:`det`.
    distances : sequence of float
        Distances from the boundary in seconds, rising.

    Returns
    -------
    matplotlib.figure.Figure

    """
    read = partial(
        data.boundary_data, references, distances=distances, convention=convention, eer_rule=eer_rule, **rules
    )
    with canvas_in(ax, style, width, "page") as canvas:
        return system_figures.draw_boundary(_each(systems, read), canvas)


# ---------------------------------------------------------------- resolution tables


def resolution(
    references: Any,
    systems: Any = None,
    *,
    ax: Any = None,
    style: Style = None,
    width: str | float | None = None,
    **arguments: Any,
) -> Any:
    """Point EER over resolution against the range EER and the floor of the hop, a panel for each system.

    Parameters
    ----------
    references
        What :func:`spoofspan.resolution_table` returned, without ``systems``; or references.
    systems : optional
        As of :func:`det`.
    ax, style, width
        As of :func:`det`.
    **arguments
        Those of :func:`spoofspan.resolution_table`, if ``systems`` are given.

    Returns
    -------
    matplotlib.axes.Axes or matplotlib.figure.Figure

    """
    with canvas_in(ax, style, width, "page") as canvas:
        table = _table("resolution", references, systems, arguments)
        return system_figures.draw_resolution(data.resolution_data(table), canvas)


def heatmap(
    references: Any,
    systems: Any = None,
    *,
    ax: Any = None,
    style: Style = None,
    width: str | float | None = None,
    decimals: int = 2,
    **arguments: Any,
) -> Any:
    """EERs by system and resolution, or by two columns such as attack and codec, as a heat map.

    Parameters
    ----------
    references
        What :func:`spoofspan.resolution_table` returned, or a dict of several by the name of the set; a breakdown by
        two columns; or references.
    systems : optional
        As of :func:`det`.
    ax, style, width
        As of :func:`det`.
    decimals : int
        Digits after the point.
    **arguments
        Those of :func:`spoofspan.resolution_table`, if ``systems`` are given.

    Returns
    -------
    matplotlib.axes.Axes or matplotlib.figure.Figure

    """
    if isinstance(references, CrossedBreakdown):
        with canvas_in(ax, style, width, "page") as canvas:
            return heatmaps.draw_crossed(references, canvas)
    of_sets = systems is None and isinstance(references, dict)
    tables = references if of_sets else {"": references}
    with canvas_in(ax, style, width, "page" if len(tables) > 1 else "column") as canvas:
        tables = {name: _table("heatmap", one, systems, arguments) for name, one in tables.items()}
        return heatmaps.draw_heatmap(tables, canvas, decimals=decimals)


def _table(figure: str, references: Any, systems: Any, arguments: Mapping[str, Any]) -> ResolutionTable:
    """A resolution table as it is, or that of references and systems."""
    if systems is not None:
        return resolution_table(references, systems_by_name(systems), **arguments)
    if not isinstance(references, ResolutionTable):
        raise UsageError(f"give {figure}(references, systems), or a table: {figure}(ss.resolution_table(...))")
    if arguments:
        raise UsageError(f"{min(arguments)}= belongs to resolution_table(), and this table is measured; leave it out")
    return references


# ---------------------------------------------------------------- calibration


@_of_systems
def reliability(
    references: Any,
    systems: Any,
    scores_are: ScoresAre,
    *,
    ax: Any = None,
    style: Style = None,
    width: str | float | None = None,
    prior: float = float(EVEN),
    bins: int = data.CALIBRATION_BINS,
    **arguments: Unpack[CurveArguments],
) -> Any:
    """The observed share of spoof over the stated probability of it; bars show how much lies in each bin.

    Parameters
    ----------
    references, systems, ax, style, width, **arguments
        As of :func:`det`.
    scores_are : {"llr", "probability"}
        What the scores state.
    prior : float
        The share of spoof that is meant.
    bins : int
        Number of bins.

    Returns
    -------
    matplotlib.axes.Axes or matplotlib.figure.Figure

    """
    read = partial(data.reliability_data, scores_are=scores_are, bins=bins, prior=prior)
    with canvas_in(ax, style, width, "column") as canvas:
        return system_figures.draw_reliability(_curves(references, systems, read, arguments), canvas)


@_of_systems
def pav(
    references: Any,
    systems: Any,
    scores_are: ScoresAre,
    *,
    ax: Any = None,
    style: Style = None,
    width: str | float | None = None,
    prior: float = float(EVEN),
    **arguments: Unpack[CurveArguments],
) -> Any:
    """Log-likelihood ratios after the best monotone calibration, over those stated, with Cllr and minCllr.

    Parameters
    ----------
    references, systems, scores_are, ax, style, width, prior, **arguments
        As of :func:`reliability`.

    Returns
    -------
    matplotlib.axes.Axes or matplotlib.figure.Figure

    """
    read = partial(data.pav_data, scores_are=scores_are, prior=prior)
    with canvas_in(ax, style, width, "column") as canvas:
        return system_figures.draw_pav(_curves(references, systems, read, arguments), canvas)


@_of_systems
def tippett(
    references: Any,
    systems: Any,
    scores_are: ScoresAre,
    *,
    ax: Any = None,
    style: Style = None,
    width: str | float | None = None,
    prior: float = float(EVEN),
    **arguments: Unpack[CurveArguments],
) -> Any:
    """The share of each class with at least a log-likelihood ratio, over the ratio.

    Parameters
    ----------
    references, systems, scores_are, ax, style, width, prior, **arguments
        As of :func:`reliability`.

    Returns
    -------
    matplotlib.axes.Axes or matplotlib.figure.Figure

    """
    read = partial(data.tippett_data, scores_are=scores_are, prior=prior)
    with canvas_in(ax, style, width, "column") as canvas:
        return system_figures.draw_tippett(_curves(references, systems, read, arguments), canvas)


# ---------------------------------------------------------------- one utterance


@opens_inputs
def timeline(
    references: Any,
    scores: Any,
    utterance: str | None = None,
    *,
    ax: Any = None,
    style: Style = None,
    width: str | float | None = None,
    threshold: Threshold | None = None,
    audio: Sound | None = None,
    smoothing: int | None = None,
    min_duration: float = 0.0,
    merge_gap: float = 0.0,
    eer_rule: str | None = None,
    **rules: Unpack[RulesAndInputs],
) -> Any:
    """One utterance: waveform if given, reference, scores with the threshold, decision, errors.

    Parameters
    ----------
    references
        Reference labels, or ``None``: then ``threshold`` is needed, and what it calls spoof is shown.
    scores, ax, style, width
        As of :func:`det`, of one system.
    utterance : str
        The id of the utterance.
    threshold : float or Measurement, optional
        On the scale of the scores; without it, that of the range EER of the corpus.
    audio : path or (samples, sample rate), optional
        The recording, for its waveform.
    smoothing, min_duration, merge_gap
        Without references: as of :func:`spoofspan.called_ranges`.
    eer_rule, **rules
        As of :func:`spoofspan.range_eer`.

    Returns
    -------
    matplotlib.figure.Figure

    """
    chosen: dict[str, Any] = {**rules}
    with canvas_in(ax, style, width, "page") as canvas:
        only = _one_utterance(scores, utterance, "timeline")
        sound = {} if audio is None else dict(zip(("samples", "sample_rate"), _read_sound(audio), strict=True))
        if references is None:
            if threshold is None:
                raise UsageError("without references there is no EER, so give threshold=, on the scale of the scores")
            how: dict[str, Any] = {"smoothing": smoothing, "min_duration": min_duration, "merge_gap": merge_gap}
            shown = utterances.called_timeline_data(scores, only, threshold, **sound, **how)
        else:
            at = _threshold(references, scores, threshold, eer_rule, chosen)
            shown = utterances.timeline_data(references, scores, only, at, **sound, **chosen)
        return utterance_figures.draw_timeline(shown, canvas)


@opens_inputs
def measurement(
    references: Any,
    scores: Any,
    utterance: str | None = None,
    *,
    ax: Any = None,
    style: Style = None,
    width: str | float | None = None,
    threshold: Threshold | None = None,
    resolution: float | None = None,
    eer_rule: str | None = None,
    **rules: Unpack[RulesAndInputs],
) -> Any:
    """The same utterance counted in points and measured in ranges, as in the paper's Fig. 1.

    Parameters
    ----------
    references, scores, utterance, ax, style, width, threshold, eer_rule, **rules
        As of :func:`timeline`.
    resolution : float, optional
        Length of the points in seconds; without it, the hop of the scores.

    Returns
    -------
    matplotlib.figure.Figure

    """
    chosen: dict[str, Any] = {**rules}
    with canvas_in(ax, style, width, "column") as canvas:
        only = _one_utterance(scores, utterance, "measurement")
        points = resolution or scores.hop
        if points is None:
            raise UsageError("these scores are ranges, which have no hop; give the resolution of the points")
        at = _threshold(references, scores, threshold, eer_rule, chosen)
        shown = utterances.measurement_data(references, scores, only, points, at, **chosen)
        return utterance_figures.draw_measurement(shown, canvas)


@opens_inputs
def resampling(
    references: Any,
    scores: Any,
    utterance: str | None = None,
    *,
    ax: Any = None,
    style: Style = None,
    width: str | float | None = None,
    threshold: Threshold | None = None,
    resolutions: Iterable[float] | None = None,
    eer_rule: str | None = None,
    **rules: Unpack[RulesAndInputs],
) -> Any:
    """One utterance at finer and at coarser resolutions, as in the paper's Fig. 2.

    Parameters
    ----------
    references, scores, utterance, ax, style, width, threshold, eer_rule, **rules
        As of :func:`timeline`.
    resolutions : sequence of float, optional
        Lengths of the points in seconds; without it, half the hop and twice the hop.

    Returns
    -------
    matplotlib.axes.Axes or matplotlib.figure.Figure

    """
    chosen: dict[str, Any] = {**rules}
    with canvas_in(ax, style, width, "page") as canvas:
        only = _one_utterance(scores, utterance, "resampling")
        if scores.hop is None:
            raise UsageError("scores of ranges have no resolution of their own; resample them first")
        levels = [scores.hop / 2, 2 * scores.hop] if resolutions is None else list(resolutions)
        at = _threshold(references, scores, threshold, eer_rule, chosen)
        shown = utterances.resampling_data(references, scores, only, levels, at, **chosen)
        return utterance_figures.draw_resampling(shown, canvas)


def _one_utterance(scores: Any, utterance: str | None, figure: str) -> str:
    if not isinstance(scores, Scores):
        found = type(scores).__name__
        raise UsageError(f"{figure} shows one utterance over time; give the frame scores of one system, not {found}")
    if utterance is None:
        raise UsageError(
            f"{figure} shows one utterance; give utterance= (--utterance), such as {scores.utterances[0]!r}"
        )
    return utterance


def _threshold(references: Any, scores: Any, given: Threshold | None, eer_rule: str | None, rules: Any) -> Threshold:
    return range_eer(references, scores, eer_rule=eer_rule, **rules) if given is None else given


def _read_sound(audio: Sound) -> tuple[Any, float]:
    if isinstance(audio, tuple):
        return audio
    from spoofspan.formats.sound import read_wave

    return read_wave(Path(audio))


__all__ = [
    "boundary",
    "det",
    "heatmap",
    "measurement",
    "pav",
    "reliability",
    "resampling",
    "resolution",
    "roc",
    "scores",
    "threshold",
    "timeline",
    "tippett",
]


def __getattr__(name: str) -> Any:
    raise no_attribute("spoofspan.plot", name, __all__)

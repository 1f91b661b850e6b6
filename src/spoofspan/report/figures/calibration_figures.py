"""Figures of calibration: reliability diagrams, PAV plots and Tippett plots, a panel for each system.

Each takes the data of :mod:`.calibration_data`, of one system or several, and returns a matplotlib Figure. Lines of
several systems would hide each other where all are near the diagonal, hence the panels; their axes are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.measures.measure import plain_text
from spoofspan.report.figures.calibration_data import PavData, ReliabilityData, TippettData
from spoofspan.report.figures.style import (
    BLUE,
    GREY,
    VERMILION,
    is_wide,
    legend_above,
    light_grid,
    new_figure,
    refuse_no_system,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Beyond these, calibrated ratios rest on little: the map is steep there, and says less the further out it goes.
FURTHEST_RATIO = 12.0


def _panels(systems: Sequence[Any], width: str | float, x_label: str, y_label: str) -> tuple[Figure, list[Axes]]:
    """A grid of panels with the same axes, each with the name of its system."""
    refuse_no_system(systems)
    across = min(len(systems), (3 if len(systems) <= 12 else 5) if is_wide(width) else 2)
    down = -(-len(systems) // across)
    alone = len(systems) == 1
    figure = new_figure(width, 75 if alone else 12 + (min(46, 228 / down) if is_wide(width) else 46) * down)
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    panels = list(grid.ravel()[: len(systems)])
    for axes in grid.ravel()[len(systems) :]:
        axes.set_visible(False)
    for number, (axes, data) in enumerate(zip(panels, systems, strict=True)):
        axes.set_title(data.name, loc="left")
        light_grid(axes)
        if number + across >= len(systems):  # nothing below it
            axes.tick_params(labelbottom=True)
    figure.supxlabel(x_label, fontsize=7)
    figure.supylabel(y_label, fontsize=7)
    return figure, panels


def _say(axes: Axes, text: str) -> None:
    """A few words in the upper left corner, which rising curves leave free."""
    white = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 0.8}
    axes.text(0.04, 0.96, text, transform=axes.transAxes, ha="left", va="top", fontsize=6, bbox=white)


def _common_span(spans: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The limits that all panels share, with a little room."""
    low, high = min(one[0] for one in spans), max(one[1] for one in spans)
    room = 0.04 * (high - low)
    return low - room, high + room


@styled
def draw_reliability(systems: Sequence[ReliabilityData], *, width: str | float = "column") -> Figure:
    """The observed share of spoof over the stated probability of it; bars show how much lies in each bin.

    Parameters
    ----------
    systems : sequence of ReliabilityData
        What :func:`.calibration_data.reliability_data` returned for each system.
    width : str or float
        ``"column"`` (80 mm), ``"page"`` (170 mm), or a number of mm.

    Returns
    -------
    matplotlib.figure.Figure
        To be changed further, or written with :func:`.style.save`.

    """
    x_label, y_label = "stated probability of spoof (%)", "share of spoof (%)"
    figure, panels = _panels(systems, width, x_label, y_label)
    for axes, data in zip(panels, systems, strict=True):
        bins = data.table.bins
        lefts, widths, weights = (
            [100 * value for value in column]
            for column in zip(*((one.low, one.high - one.low, one.weight) for one in bins), strict=True)
        )
        of_all = f"% of {data.unit} in the bin"
        axes.bar(lefts, weights, widths, align="edge", color="#DDDDDD", edgecolor="white", linewidth=0.4, label=of_all)
        axes.plot([0, 100], [0, 100], color=GREY, linewidth=0.6)
        stated, found = [100 * one.predicted for one in bins], [100 * one.observed for one in bins]
        axes.plot(stated, found, "o-", color=BLUE, label="system")
        _say(axes, f"ECE {100 * data.error:.1f} %")
        axes.set(xlim=(-2, 102), ylim=(-2, 102))
    legend_above(figure, panels[0], 2)
    return figure


@styled
def draw_pav(systems: Sequence[PavData], *, width: str | float = "column") -> Figure:
    """Calibrated over stated log-likelihood ratios: calibrated scores are on the diagonal.

    Triangles at the edge are groups of one class only, whose calibrated ratio is infinite.

    Parameters
    ----------
    systems : sequence of PavData
        What :func:`.calibration_data.pav_data` returned for each system.
    width : str or float
        As of :func:`draw_reliability`.

    Returns
    -------
    matplotlib.figure.Figure
        As of :func:`draw_reliability`.

    """
    figure, panels = _panels(systems, width, "stated log-likelihood ratio (natural)", "calibrated ratio (PAV)")
    low, high = _common_span([data.span for data in systems])
    finite = [one for data in systems for one in data.calibrated[np.isfinite(data.calibrated)]] or [0.0]
    bottom, top = _common_span([(max(min(*finite, -1.0), -FURTHEST_RATIO), min(max(*finite, 1.0), FURTHEST_RATIO))])
    for axes, data in zip(panels, systems, strict=True):
        axes.plot([-99, 99], [-99, 99], color=GREY, linewidth=0.6)
        for zero in (axes.axhline, axes.axvline):
            zero(0, color=GREY, linewidth=0.4, linestyle=":")
        x, y = np.stack((data.starts, data.ends), axis=1).reshape(-1), np.repeat(data.calibrated, 2)
        within = np.isfinite(x)
        axes.plot(x[within], np.clip(y[within], bottom - 1, top + 1), color=BLUE)
        for mark, edge, beyond in (("v", bottom, np.isneginf(y)), ("^", top, np.isposinf(y))):
            inside = within & beyond & (x >= low) & (x <= high)
            if inside.any():
                axes.plot([float(x[inside].mean())], [edge], mark, color=BLUE, clip_on=False)
        axes.set(xlim=(low, high), ylim=(bottom, top))
        cost = "infinite" if np.isinf(data.cllr) else plain_text(data.cllr, 3)
        loss = "" if np.isinf(data.cllr) else f"\nloss {plain_text(data.loss, 3)}"
        _say(axes, f"Cllr {cost}\nminCllr {data.min_cllr:.3f}{loss}")
    return figure


@styled
def draw_tippett(systems: Sequence[TippettData], *, width: str | float = "column") -> Figure:
    """How much of each class has at least a log-likelihood ratio; what lies beyond 0 on the wrong side misleads.

    Parameters
    ----------
    systems : sequence of TippettData
        What :func:`.calibration_data.tippett_data` returned for each system.
    width : str or float
        As of :func:`draw_reliability`.

    Returns
    -------
    matplotlib.figure.Figure
        As of :func:`draw_reliability`.

    """
    x_label, y_label = "log-likelihood ratio of bona fide to spoof (natural)", "% of the class with at least this ratio"
    figure, panels = _panels(systems, width, x_label, y_label)
    low, high = _common_span([data.span for data in systems])
    for axes, data in zip(panels, systems, strict=True):
        axes.axvline(0, color=GREY, linewidth=0.6)
        for line, colour, dashes, name in (
            (data.bona_fide, BLUE, "-", "bona fide"),
            (data.spoof, VERMILION, "--", "spoof"),
        ):
            # flat outside of the ends, where only certain scores lie
            x = np.concatenate(([min(low, 0)], line.x, [max(high, 0)]))
            y = np.concatenate((line.y[:1], line.y, line.y[-1:])) if line.x.size else np.zeros(2)
            axes.plot(x, 100 * y, color=colour, linestyle=dashes, label=name)
        # the curves may be anywhere in the panel
        bona_fide, spoof = 100 * data.misleading_bona_fide, 100 * data.misleading_spoof
        misleading = f"misleading bona fide: {bona_fide:.1f} %\nmisleading spoof: {spoof:.1f} %"
        axes.set_title(
            "\n".join(filter(None, (data.name, misleading))), loc="left", fontsize=6 if len(systems) <= 12 else 4.8
        )
        axes.set(xlim=(low, high), ylim=(-2, 102))
    legend_above(figure, panels[0], 2)
    return figure

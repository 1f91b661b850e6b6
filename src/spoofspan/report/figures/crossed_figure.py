"""A crossed breakdown as a heat map: attacks by codecs, say, each cell with its value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spoofspan.evaluation.crossed import CrossedBreakdown
from spoofspan.measures.measure import in_percent, number_text
from spoofspan.report.figures.heatmap import COLOURS, SMALLEST, ink_on
from spoofspan.report.figures.style import in_mm, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTHING = "#EEEEEE"  # cells without a value


@styled
def draw_crossed(crossed: CrossedBreakdown, *, width: str | float = "page") -> Figure:
    """A crossed breakdown as a heat map; cells without a value are grey.

    Parameters
    ----------
    crossed : CrossedBreakdown
        By two columns.
    width : str or float
        As of :func:`.system_figures.draw_det`.

    """
    from matplotlib import colormaps

    values = np.array(crossed.values())
    figure = new_figure(width, 30 + 5.0 * len(crossed.rows))
    axes = figure.subplots()
    colours = colormaps[COLOURS].with_extremes(bad=NOTHING)
    defined = values[~np.isnan(values)]
    top = float(defined.max(initial=0.0)) or 1.0
    image = axes.imshow(np.ma.masked_invalid(values), cmap=colours, vmin=0, vmax=top, aspect="auto")
    axes.set_xticks(range(len(crossed.columns)), crossed.columns, rotation=45, ha="right")
    axes.set_yticks(range(len(crossed.rows)), crossed.rows)
    axes.set_xlabel(crossed.by[1])
    axes.set_ylabel(crossed.by[0])
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    # what is pooled stands apart
    axes.axhline(0.5, color="white", linewidth=2)
    axes.axvline(0.5, color="white", linewidth=2)
    size = min(6.0, (in_mm(width) - 30) / len(crossed.columns) / 1.3)
    for (row, column), value in np.ndenumerate(values):
        if size >= SMALLEST and not np.isnan(value):
            text, ink = number_text(crossed.measure, float(value)), ink_on(colours(value / top))
            axes.text(column, row, text, ha="center", va="center", fontsize=size, color=ink)
    bar = figure.colorbar(image, ax=axes, pad=0.02, fraction=0.05, aspect=18)
    bar.set_label(f"{crossed.measure}{' (%)' if in_percent(crossed.measure) else ''}")
    bar.outline.set_visible(False)
    if in_percent(crossed.measure):
        bar.ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g}")
    return figure

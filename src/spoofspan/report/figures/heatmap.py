"""The resolution table as a heat map: rows are systems, columns measures; panels are sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.base.times import Float64
from spoofspan.evaluation.resolution_table import ResolutionTable
from spoofspan.report.figures.style import in_mm, is_wide, new_figure, styled
from spoofspan.report.resolutions import check_alike, percent, row_heads, set_title, spaced

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage
    from matplotlib.patches import Patch

COLOURS = "cividis"  # rises evenly in lightness for every colour vision, and in grey
SMALLEST = 4.0  # points, of the numbers
LIGHT = 0.42  # luminance from which on black is read better than white
GAP = 0.25  # between the range EER and the points, in cells
HATCHED: dict[str, Any] = {"fill": False, "hatch": "//////", "edgecolor": "#FFFFFF66", "linewidth": 0}
FRAMED: dict[str, Any] = {"fill": False, "edgecolor": "white", "linewidth": 1.4}


def heatmap_data(table: ResolutionTable) -> Float64:
    """The EERs of a table in per cent: a row per system; range EER first, then points."""
    return np.array([[100 * cell.value for _, cell in row.eers] for row in table.rows])


@styled
def draw_heatmap(
    tables: Mapping[str, ResolutionTable], *, width: str | float | None = None, decimals: int = 2
) -> Figure:
    """A resolution table as a heat map: own resolutions are framed, cells coarser than the hop are hatched.

    Parameters
    ----------
    tables : mapping of str to spoofspan.ResolutionTable
        By the name of the set (empty for a single one without a name); they must have the same rows, columns and rules.
    width : str or float, optional
        As of :func:`.system_figures.draw_det`; without it, one set is as wide as a column of paper, several as a page.
    decimals : int
        Digits after the point.

    """
    check_alike(tables)
    if any(row.ranges is None for table in tables.values() for row in table.rows):
        raise UsageError("a heat map shows EERs, and proposals have none; give scores")
    chosen = ("column" if len(tables) == 1 else "page") if width is None else width
    first = next(iter(tables.values()))
    figure = new_figure(chosen, 29 + 6.5 * len(first.rows) + (4 if any(tables) else 0))
    panels = figure.subplots(1, len(tables), squeeze=False, sharey=True)[0]
    values = {name: heatmap_data(table) for name, table in tables.items()}
    shades = _Shades(max(float(one.max()) for one in values.values()))
    image = None
    for axes, (name, table) in zip(panels, tables.items(), strict=True):
        image = shades.draw(axes, values[name])
        _label(axes, name, table)
        _numbers(axes, values[name], shades, decimals, in_mm(chosen) / len(tables))
        _marks(axes, table)
    title, *names = (head[0] for head in row_heads(first))
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylabel(title)
    bar = figure.colorbar(image, ax=list(panels), pad=0.02, fraction=0.05, aspect=18)
    bar.set_label("EER (%)")
    bar.outline.set_visible(False)
    if keys := _keys(first):
        figure.legend(handles=keys, loc="outside lower center", ncols=2 if is_wide(chosen) else 1, handlelength=1.4)
    return figure


def _place(column: int) -> float:
    """Where a column stands: the range EER apart from the points."""
    return column + GAP if column else 0.0


class _Shades:
    """The colours of EERs between 0 and the highest."""

    def __init__(self, top: float) -> None:
        from matplotlib import colormaps

        self._top = top or 1.0
        self._map = colormaps[COLOURS]

    def draw(self, axes: Axes, values: Float64) -> AxesImage:
        rows, columns = values.shape
        edges = -0.5, 0.5, 0.5 + GAP, columns - 0.5 + GAP
        how = {"cmap": self._map, "vmin": 0, "vmax": self._top, "aspect": "auto"}
        image = axes.imshow(values[:, :1], extent=(*edges[:2], rows - 0.5, -0.5), **how)
        if columns > 1:
            axes.imshow(values[:, 1:], extent=(*edges[2:], rows - 0.5, -0.5), **how)
        axes.set_xlim(-0.5, edges[3] if columns > 1 else 0.5)
        return image

    def ink(self, value: float) -> str:
        """The colour of a number on its cell."""
        return ink_on(self._map(value / self._top))


def ink_on(colour: tuple[float, float, float, float]) -> str:
    """Black on what is light, white on what is dark."""
    red, green, blue, _ = colour
    return "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > LIGHT else "white"


def _label(axes: Axes, name: str, table: ResolutionTable) -> None:
    columns = ["range", *(spaced(one).removesuffix(" ms") for one in table.resolutions)]
    axes.set_xticks([_place(i) for i in range(len(columns))], columns)
    if table.resolutions:
        axes.set_xlabel("point EER at a resolution of ... ms")
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    if name:
        axes.set_title(set_title(name))


def _numbers(axes: Axes, values: Float64, shades: _Shades, decimals: int, width_mm: float) -> None:
    """Write the numbers; they are smaller where cells are narrow, and left out where they would not be read."""
    room = (width_mm - 30) / (values.shape[1] + GAP)  # mm for a cell
    size = min(6.0, room / ((3 + decimals) * 0.26))
    if size < SMALLEST:
        return
    for (row, column), value in np.ndenumerate(values):
        text = percent(value / 100, decimals)
        axes.text(_place(column), row, text, ha="center", va="center", fontsize=size, color=shades.ink(value))


def _marks(axes: Axes, table: ResolutionTable) -> None:
    from matplotlib.patches import Rectangle

    for i, row in enumerate(table.rows):
        for j, resolution in enumerate(table.resolutions, 1):
            x, y = _place(j), i
            if row.is_coarser(resolution):
                axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, **HATCHED))
            if row.is_native(resolution):
                axes.add_patch(Rectangle((x - 0.44, y - 0.42), 0.88, 0.84, **FRAMED))


def _keys(table: ResolutionTable) -> list[Patch]:
    """What frames and hatches mean, on the grey of a middle value."""
    from matplotlib.patches import Patch

    cells = [(row, one) for row in table.rows for one in table.resolutions]
    keys = []
    if any(row.is_native(one) for row, one in cells):
        keys.append(Patch(facecolor="#555C6C", edgecolor="black", linewidth=1.4, label="framed: own resolution"))
    if any(row.is_coarser(one) for row, one in cells):
        coarser = "hatched: coarser than the hop, an easier task"
        keys.append(Patch(facecolor="#555C6C", edgecolor="white", hatch="//////", linewidth=0, label=coarser))
    return keys

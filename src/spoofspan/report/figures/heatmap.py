"""Heat maps: a resolution table (rows are systems, columns measures, panels sets), and a crossed breakdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.base.times import Float64
from spoofspan.evaluation.crossed import CrossedBreakdown
from spoofspan.evaluation.resolution_table import ResolutionTable
from spoofspan.measures.measure import in_percent, number_text
from spoofspan.report.figures.style import Canvas, type_size
from spoofspan.report.palette import contrast, heat_ends
from spoofspan.report.resolutions import check_alike, percent, row_heads, set_title, spaced

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from matplotlib.patches import Patch

NOTHING = "#EEEEEE"  # cells without a value
INKS = {"black": (0.0, 0.0, 0.0), "white": (1.0, 1.0, 1.0)}
LARGEST, SMALLEST = 6.0, 4.0  # points, of the numbers
TALLEST_ROWS = 200.0  # mm, of all rows together, on a page
GAP = 0.25  # between the range EER and the points, in cells
HATCHED: dict[str, Any] = {"fill": False, "hatch": "//////", "edgecolor": "#FFFFFF66", "linewidth": 0}
FRAMED: dict[str, Any] = {"fill": False, "edgecolor": "white", "linewidth": 1.4}


class _Cells:
    """Cells that are shaded by their values, and the numbers on them."""

    def __init__(self, values: Float64) -> None:
        from matplotlib import colormaps, rcParams
        from matplotlib.colors import Normalize

        self._map = colormaps[rcParams["image.cmap"]].with_extremes(bad=NOTHING)
        known = values[~np.isnan(values)].tolist()
        self._scale = Normalize(*heat_ends(known), clip=True)
        beyond = (min(known, default=np.inf) < self._scale.vmin, max(known, default=-np.inf) > self._scale.vmax)
        self.extend = {(False, False): "neither", (True, False): "min", (False, True): "max"}.get(beyond, "both")

    def shade(self, axes: Axes, values: Float64, left: float = -0.5) -> AxesImage:
        """Draw cells from an edge on to the right."""
        rows, columns = values.shape
        edges = (left, left + columns, rows - 0.5, -0.5)
        masked = np.ma.masked_invalid(values)
        return axes.imshow(masked, extent=edges, cmap=self._map, norm=self._scale, aspect="auto")

    def write(
        self,
        axes: Axes,
        values: Float64,
        text: Callable[[float], str],
        size: float,
        gap: float = 0.0,
        hatched: Any = (),
    ) -> None:
        """Write the numbers, unless they would be too small to read; a ``gap`` is left after the first column."""
        for (row, column), value in np.ndenumerate(values):
            if size < SMALLEST or np.isnan(value):
                continue
            face = self._map(self._scale(value))
            ink = max(INKS, key=lambda one: contrast(INKS[one], face[:3]))
            behind = {"facecolor": face, "edgecolor": "none", "pad": 0.6} if (row, column) in hatched else None
            how: dict[str, Any] = {
                "ha": "center",
                "va": "center",
                "fontsize": type_size(size),
                "color": ink,
                "bbox": behind,
            }
            axes.text(column + (gap if column else 0.0), row, text(value), **how)


def _bare(axes: Axes) -> None:
    """Without ticks and a frame."""
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)


def _bar(figure: Any, cells: _Cells, image: AxesImage, panels: list[Axes], label: str) -> Any:
    bar = figure.colorbar(image, ax=panels, pad=0.02, fraction=0.05, aspect=18, extend=cells.extend)
    bar.set_label(label)
    bar.outline.set_visible(False)
    return bar


# ---------------------------------------------------------------- a resolution table


def heatmap_data(table: ResolutionTable) -> Float64:
    """The EERs of a table in per cent: a row per system; range EER first, then points."""
    return np.array([[100 * cell.value for _, cell in row.eers] for row in table.rows])


def draw_heatmap(tables: Mapping[str, ResolutionTable], canvas: Canvas, *, decimals: int = 2) -> Any:
    """A resolution table as a heat map: own resolutions are framed, cells coarser than the hop are hatched.

    Parameters
    ----------
    tables : mapping of str to spoofspan.ResolutionTable
        By the name of the set (empty for a single one without a name); they must have the same rows, columns and rules.
    canvas : Canvas
        Where it is drawn.
    decimals : int
        Digits after the point.

    """
    check_alike(tables)
    if any(row.ranges is None for table in tables.values() for row in table.rows):
        raise UsageError(
            "a heat map shows EERs by resolution, which proposals and scores of whole utterances have not; leave it out"
        )
    first = next(iter(tables.values()))
    height = 29 + min(6.5, TALLEST_ROWS / len(first.rows)) * len(first.rows) + (4 if any(tables) else 0)
    panels = canvas.grid(len(tables), len(tables), height).used
    values = {name: heatmap_data(table) for name, table in tables.items()}
    cells = _Cells(np.concatenate([one.ravel() for one in values.values()]))
    room = (canvas.width / len(tables) - 30) / (1 + len(first.resolutions) + GAP)  # mm for a cell
    for axes, (name, table) in zip(panels, tables.items(), strict=True):
        image = cells.shade(axes, values[name][:, :1])
        if table.resolutions:
            cells.shade(axes, values[name][:, 1:], 0.5 + GAP)
        axes.set_xlim(-0.5, 0.5 + len(table.resolutions) + (GAP if table.resolutions else 0.0))
        _label(axes, name, table)
        size = min(LARGEST, room / ((3 + decimals) * 0.26))
        cells.write(axes, values[name], lambda one: percent(one / 100, decimals), size, GAP, _marks(axes, table))
    title, *names = (head[0] for head in row_heads(first))
    for axes in panels:
        axes.set_yticks(range(len(names)), names if axes is panels[0] else [])
    panels[0].set_ylabel(title)
    _bar(canvas.figure, cells, image, list(panels), "EER (%)")
    if keys := _keys(first):
        how = {"loc": "outside lower center", "ncols": 2 if canvas.wide else 1, "handlelength": 1.4}
        canvas.legend(panels[0], inside=False, handles=keys, **how)
    return canvas.result(panels)


def _label(axes: Axes, name: str, table: ResolutionTable) -> None:
    columns = ["range", *(spaced(one).removesuffix(" ms") for one in table.resolutions)]
    axes.set_xticks([0.0, *(column + GAP for column in range(1, len(columns)))], columns)
    if table.resolutions:
        axes.set_xlabel("point EER at a resolution of ... ms")
    _bare(axes)
    if name:
        axes.set_title(set_title(name))


def _marks(axes: Axes, table: ResolutionTable) -> set[tuple[int, int]]:
    """Frame own resolutions and hatch coarser ones; returns the hatched cells."""
    from matplotlib.patches import Rectangle

    hatched = set()
    for i, row in enumerate(table.rows):
        for j, resolution in enumerate(table.resolutions, 1):
            x, y = j + GAP, i
            if row.is_coarser(resolution):
                axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, **HATCHED))
                hatched.add((i, j))
            if row.is_native(resolution):
                axes.add_patch(Rectangle((x - 0.44, y - 0.42), 0.88, 0.84, **FRAMED))
    return hatched


def _keys(table: ResolutionTable) -> list[Patch]:
    """Legend of frames and hatches, on the grey of a middle value."""
    from matplotlib.patches import Patch

    cells = [(row, one) for row in table.rows for one in table.resolutions]
    keys = []
    if any(row.is_native(one) for row, one in cells):
        keys.append(Patch(facecolor="#555C6C", edgecolor="black", linewidth=1.4, label="framed: own resolution"))
    if any(row.is_coarser(one) for row, one in cells):
        coarser = "hatched: coarser than the hop, an easier task"
        keys.append(Patch(facecolor="#555C6C", edgecolor="white", hatch="//////", linewidth=0, label=coarser))
    return keys


# ---------------------------------------------------------------- a crossed breakdown


def draw_crossed(crossed: CrossedBreakdown, canvas: Canvas) -> Any:
    """A crossed breakdown as a heat map, attacks by codecs, say; cells without a value are grey.

    Parameters
    ----------
    crossed : CrossedBreakdown
        By two columns.
    canvas : Canvas
        Where it is drawn.

    """
    values = np.array(crossed.values())
    axes = canvas.one(30 + 5.0 * len(crossed.rows))
    cells = _Cells(values)
    image = cells.shade(axes, values)
    axes.set_xticks(range(len(crossed.columns)), crossed.columns, rotation=45, ha="right")
    axes.set_yticks(range(len(crossed.rows)), crossed.rows)
    axes.set(xlabel=crossed.by[1], ylabel=crossed.by[0])
    _bare(axes)
    # what is pooled stands apart
    axes.axhline(0.5, color="white", linewidth=2)
    axes.axvline(0.5, color="white", linewidth=2)
    size = min(LARGEST, (canvas.width - 30) / len(crossed.columns) / 1.3)
    cells.write(axes, values, lambda one: number_text(crossed.measure, float(one)), size)
    bar = _bar(canvas.figure, cells, image, [axes], f"{crossed.measure}{' (%)' if in_percent(crossed.measure) else ''}")
    if in_percent(crossed.measure):
        bar.ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g}")
    return canvas.result([axes])

"""Figures of systems: curves, scores by class, EER over resolution, error near boundaries, calibration.

Each takes the data of :mod:`.figure_data`, of one system or several, draws it on a :class:`.style.Canvas`, and returns
Axes, or a Figure of several panels. :mod:`.plots` calls them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.measures.measure import plain_text
from spoofspan.report.figures.figure_data import (
    BoundaryData,
    DetData,
    PavData,
    ReliabilityData,
    ResolutionData,
    ScoreData,
    ThresholdData,
    TippettData,
)
from spoofspan.report.figures.line_simplification import deviates, rates_of
from spoofspan.report.figures.style import (
    FEW,
    GREY,
    Canvas,
    Panels,
    class_colours,
    class_lines,
    ink,
    light_grid,
    paper,
    refuse_no_system,
    rows_of,
    system_looks,
    type_size,
)
from spoofspan.report.resolutions import spaced

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DET_TICKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99)
# Beyond these, calibrated ratios rest on little: the map is steep there, and says less the further out it goes.
FURTHEST_RATIO = 12.0
MOST_OF_A_DET = 0.001  # rates under this are rarely worth paper
NARROWEST, TALLEST = 32.0, 225.0  # mm: of a panel, and of a figure on a page


def _panels(systems: Sequence[object], canvas: Canvas, height: float) -> Panels:
    """A panel for each system, as few across as fit on a page."""
    refuse_no_system(systems)
    count = len(systems)
    most = max(int(canvas.width // NARROWEST), 1)
    across = next((n for n in range(1, most) if rows_of(count, n) * _height(n, height) <= TALLEST), most)
    grid = canvas.grid(count, across, 8 + _height(across, height) * rows_of(count, across))
    if across > 1:
        for axes in grid.used:
            axes.tick_params(labelsize=type_size(5.5))
            axes.locator_params(axis="x", nbins=4)
    return grid


def _panels_alike(systems: Sequence[Any], canvas: Canvas, x_label: str, y_label: str) -> Panels:
    """Panels with the same axes, each with the name of its system.

    Lines of several systems would hide each other where all are near the diagonal.
    """
    refuse_no_system(systems)
    count = len(systems)
    across = min(count, (3 if count <= 12 else 5) if canvas.wide else 2)
    down = rows_of(count, across)
    height = 75 if count == 1 else 12 + (min(46, 228 / down) if canvas.wide else 46) * down
    grid = canvas.grid(count, across, height, alike=True)
    for axes, data in zip(grid.used, systems, strict=True):
        axes.set_title(data.name, loc="left")
        light_grid(axes)
    canvas.label(grid, x_label, y_label)
    return grid


def _height(across: int, alone: float) -> float:
    """The height of a panel in mm: the narrower the lower."""
    return alone if across == 1 else max(alone * 0.8 - 5 * (across - 2), 26)


def draw_det(systems: Sequence[DetData], canvas: Canvas) -> Any:
    """DET curves on normal-deviate axes: the dot is the EER, the bar along the diagonal its interval."""
    axes = _curves(systems, canvas, lambda fpr, fnr: (fpr, fnr), intervals=True)
    low, high = _det_limits(systems)
    for name, label in (("x", "FPR (%): bona fide called spoof"), ("y", "FNR (%): spoof called bona fide")):
        _deviate_axis(axes, name, low, high)
        axes.set(**{f"{name}label": label})
    axes.plot([low, high], [low, high], color=GREY, linewidth=0.5, zorder=0)
    axes.set_aspect("equal")
    return canvas.result([axes])


def draw_roc(systems: Sequence[DetData], canvas: Canvas) -> Any:
    """ROC curves: how much spoof is found over how much bona fide is called spoof; the dot is the EER."""
    axes = _curves(systems, canvas, lambda fpr, fnr: (100 * fpr, 100 * (1 - fnr)))
    axes.plot([0, 100], [100, 0], color=GREY, linewidth=0.5, zorder=0)  # where both errors are equal
    axes.plot([0, 100], [0, 100], color=GREY, linewidth=0.5, linestyle=":", zorder=0)  # by chance
    axes.set(xlabel="FPR (%): bona fide called spoof", ylabel="recall (%): spoof called spoof")
    axes.set(xlim=(0, 100), ylim=(0, 100), aspect="equal")
    return canvas.result([axes])


def _curves(
    systems: Sequence[DetData],
    canvas: Canvas,
    place: Callable[[Any, Any], tuple[Any, Any]],
    *,
    intervals: bool = False,
) -> Axes:
    """A line for each system and a dot at its EER, where ``place`` puts FPR and FNR."""
    refuse_no_system(systems)
    axes = canvas.one(_square(systems, canvas))
    for data, look in zip(systems, system_looks(), strict=False):
        axes.plot(*place(data.false_positive_rates, data.false_negative_rates), label=_det_name(data), **look)
        x, y = place(data.eer, data.eer)
        axes.plot([x], [y], "o", color=look["color"], zorder=4, **_dot(systems))
        if intervals and data.low is not None and data.high is not None:
            axes.plot([data.low, data.high], [data.low, data.high], color=look["color"], linewidth=4, alpha=0.35)
    light_grid(axes)
    _name_systems(canvas, axes, systems)
    return axes


def _dot(systems: Sequence[object]) -> dict[str, Any]:
    """The mark of an EER; many of them are small, so that they leave something of the curves."""
    return {"markeredgecolor": paper()} if len(systems) <= FEW else {"markersize": 2, "markeredgewidth": 0}


def _square(systems: Sequence[object], canvas: Canvas) -> float:
    """The height of a square figure with its legend, in mm."""
    if len(systems) <= FEW:
        return 110 if canvas.wide else 80
    return 100 if canvas.wide else 70 + 2.6 * rows_of(len(systems), 2)


def _name_systems(canvas: Canvas, axes: Axes, systems: Sequence[object], **named: Any) -> None:
    """A legend above the figure; of many systems beside it, or on a narrow figure below it."""
    count = len(systems)
    if count <= FEW:
        canvas.legend(axes, ncols=2 if count > 2 and canvas.wide else 1, **named)
        return
    size = type_size(5.5 if count <= 30 else 4.8)
    small: dict[str, Any] = {"fontsize": size, "labelspacing": 0.3, "columnspacing": 1.0} | named
    if canvas.wide:
        canvas.legend(axes, loc="outside right upper", ncols=rows_of(count, 36), handlelength=3, **small)
    else:
        canvas.legend(axes, loc="outside lower center", ncols=2, handlelength=2.4, **small)


def _det_name(data: DetData) -> str:
    eer = f"EER {100 * data.eer:.2f} %"
    if data.low is not None and data.high is not None:
        eer += f" ({100 * data.low:.2f} to {100 * data.high:.2f})"
    return f"{data.name}: {eer}" if data.name else eer


def _det_limits(systems: Sequence[DetData]) -> tuple[float, float]:
    """The same limits on both axes, with every EER well inside."""
    lowest = min(min(data.eer, data.low if data.low is not None else 1) for data in systems)
    highest = max(max(data.eer, data.high or 0) for data in systems)
    low = float(rates_of(deviates([max(lowest, MOST_OF_A_DET)]) - 1.3)[0])
    high = float(rates_of(deviates([highest]) + 1.0)[0])
    return max(min(low, 0.02), MOST_OF_A_DET), min(max(high, 0.4), 0.99)


def _deviate_axis(axes: Axes, name: str, low: float, high: float) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    getattr(axes, f"set_{name}scale")("function", functions=(deviates, rates_of))
    axis = getattr(axes, f"{name}axis")
    axis.set_major_locator(FixedLocator([tick for tick in DET_TICKS if low <= tick <= high]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda rate, _: f"{100 * rate:g}"))
    getattr(axes, f"set_{name}lim")(low, high)


def draw_threshold(systems: Sequence[ThresholdData], canvas: Canvas) -> Any:
    """FPR and FNR over the threshold, a panel for each system: scores of two systems have no common scale."""
    grid = _panels(systems, canvas, 55)
    for axes, data in zip(grid.used, systems, strict=True):
        low, high = data.span
        room = 0.04 * (high - low)
        for line, look in zip((data.false_positive, data.false_negative), class_lines("FPR", "FNR"), strict=True):
            axes.plot(line.x, 100 * line.y, **look)
            for end, edge in ((0, low - room), (-1, high + room)):  # constant outside
                axes.plot([line.x[end], edge], [100 * line.y[end]] * 2, **look | {"label": None})
        if np.isfinite(data.threshold):
            axes.axvline(data.threshold, color=GREY, linewidth=0.6, zorder=0)
            axes.plot([data.threshold], [100 * data.eer], "o", color=ink(), label="EER", zorder=4)
        axes.set(xlim=(low - room, high + room), ylim=(-2, 102))
        value = f"EER {100 * data.eer:.2f} %"
        size = {"fontsize": type_size(5)} if len(grid.lowest) > 3 else {}
        axes.set_title(f"{data.name}: {value}" if data.name else value, loc="left", **size)
        light_grid(axes)
    grid.label("threshold", "error rate (%)")
    canvas.legend(grid.used[0], ncols=3)
    return canvas.result(grid.used)


def draw_scores(systems: Sequence[ScoreData], canvas: Canvas) -> Any:
    """Scores of both classes, a panel for each system; shares of a class's time in equal bins."""
    grid = _panels(systems, canvas, 52)
    for axes, data in zip(grid.used, systems, strict=True):
        for shares, look in zip((data.bona_fide, data.spoof), class_lines(), strict=True):
            axes.stairs(100 * shares, data.edges, fill=True, color=look["color"], alpha=0.25)
            axes.stairs(100 * shares, data.edges, linewidth=1.2, **look)
        if np.isfinite(data.threshold):
            axes.axvline(data.threshold, color=ink(), linewidth=0.8, linestyle=":", label="EER threshold")
        axes.set(xlim=(data.edges[0], data.edges[-1]), ylim=(0, None))
        axes.set_title(data.name, loc="left")
    higher = {"bona fide" if data.higher == "bonafide" else "spoof" for data in systems}
    meant = f" (higher for {higher.pop()})" if len(higher) == 1 else ""
    grid.label(
        f"score{meant}" if len(grid.lowest) < 3 else "score",
        f"% of the class's {systems[0].unit}" if len(grid.left) < 3 else "% of class",
    )
    canvas.legend(grid.used[0], ncols=3, handlelength=1.8, columnspacing=1.2)
    return canvas.result(grid.used)


def draw_resolution(rows: Sequence[ResolutionData], canvas: Canvas) -> Any:
    """Point EER over resolution against the range EER and the floor, a panel for each system."""
    refuse_no_system(rows)
    across = min(len(rows), (3 if len(rows) <= 18 else 5) if canvas.wide else 2)
    down = rows_of(len(rows), across)
    grid = canvas.grid(len(rows), across, 12 + min(36, (TALLEST - 12) / down if canvas.wide else 36) * down, alike=True)
    colour = class_colours()[0]
    for axes, data in zip(grid.used, rows, strict=True):
        in_ms = 1000 * data.resolutions
        axes.axhline(100 * data.range_eer, color=ink(), linewidth=1.0, linestyle="--", label="range EER")
        if data.floor is not None:
            axes.axhline(100 * data.floor, color="#777777", linewidth=1.0, linestyle=":", label="floor of the hop")
        coarser = data.resolutions > (data.hop or np.inf) * (1 + 1e-9)
        axes.plot(in_ms, 100 * data.point_eers, color=colour, label="point EER")
        axes.plot(in_ms[~coarser], 100 * data.point_eers[~coarser], "o", color=colour)
        axes.plot(in_ms[coarser], 100 * data.point_eers[coarser], "o", color=colour, markerfacecolor=paper())
        if data.hop is not None:
            hop, easier = 1000 * data.hop, "coarser than the hop: easier"
            axes.axvspan(hop, 2 * max(in_ms[-1], hop), color=GREY, alpha=0.2, zorder=0, linewidth=0, label=easier)
        axes.set_xscale("log", base=2)
        every = (
            1 if (canvas.wide and across <= 3) or in_ms.size < 6 else 2
        )  # labels that would touch each other are left out
        axes.set_xticks(in_ms, [f"{one:g}" if i % every == 0 else "" for i, one in enumerate(in_ms)])
        axes.minorticks_off()
        axes.set_xlim(in_ms[0] / 1.25, in_ms[-1] * 1.25)
        own = spaced(data.hop)
        axes.set_title(f"hop {own}" if own and data.name in ("", own.replace(" ", "")) else data.name, loc="left")
        axes.grid(True, axis="y")
        axes.set_axisbelow(True)
    top = max(max(100 * data.range_eer, 100 * float(data.point_eers.max(initial=0))) for data in rows)
    grid.used[0].set_ylim(0, 1.08 * top)
    grid.label("resolution of the points (ms)" if canvas.wide and across <= 3 else "resolution (ms)", "EER (%)")
    canvas.legend(grid.used[0], ncols=4 if canvas.wide else 2)
    return canvas.result(grid.used)


def draw_boundary(systems: Sequence[BoundaryData], canvas: Canvas) -> Any:
    """Share of the error near a true boundary, and the range EER of the rest."""
    refuse_no_system(systems)
    beside, several = canvas.wide, len(systems) > 2
    height = (85 if several else 58) if beside else 104 + several * 2 * len(systems)
    grid = canvas.grid(2, 2 if beside else 1, height, share=not beside)
    shares, rest = grid.used
    for data, look in zip(systems, system_looks(), strict=False):
        name = data.name or "the system"
        at = np.concatenate(([0], 1000 * data.distances))
        shares.plot(at, 100 * np.concatenate(([0], data.share_of_error)), marker="o", label=f"error of {name}", **look)
        rest.plot(at, 100 * np.concatenate(([data.eer], data.eer_outside)), marker="o", label=name, **look)
    distances, of_time = (np.concatenate(([0], one)) for one in (systems[0].distances, systems[0].share_of_time))
    shares.plot(1000 * distances, 100 * of_time, marker="s", color="#777777", linestyle=":", label="all time")
    shares.set(ylabel="% within the distance", ylim=(-2, 102))
    rest.set(ylabel="range EER further away (%)", ylim=(0, None), xlabel="distance from a true boundary (ms)")
    for axes in (shares, rest):
        axes.set_xlim(left=-0.02 * 1000 * float(distances.max()))
        light_grid(axes)
    if beside:
        shares.set_xlabel("distance from a true boundary (ms)")
    if several:  # inside, a legend would hide the curves
        _name_systems(canvas, shares, systems, handles=shares.get_lines())
    else:
        shares.legend(loc="upper left")
    return canvas.result(grid.used)


# ---------------------------------------------------------------- calibration


def _say(axes: Axes, text: str) -> None:
    """A few words in the upper left corner, which rising curves leave free."""
    behind = {"facecolor": paper(), "alpha": 0.8, "edgecolor": "none", "pad": 0.8}
    axes.text(0.04, 0.96, text, transform=axes.transAxes, ha="left", va="top", fontsize=type_size(6), bbox=behind)


def _common_span(spans: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The limits that all panels share, with a little room."""
    low, high = min(one[0] for one in spans), max(one[1] for one in spans)
    room = 0.04 * (high - low)
    return low - room, high + room


def draw_reliability(systems: Sequence[ReliabilityData], canvas: Canvas) -> Any:
    """The observed share of spoof over the stated probability of it; bars show how much lies in each bin."""
    x_label, y_label = "stated probability of spoof (%)", "share of spoof (%)"
    grid = _panels_alike(systems, canvas, x_label, y_label)
    for axes, data in zip(grid.used, systems, strict=True):
        bins = data.table.bins
        lefts, widths, weights = (
            [100 * value for value in column]
            for column in zip(*((one.low, one.high - one.low, one.weight) for one in bins), strict=True)
        )
        of_all = f"% of {data.unit} in the bin"
        look = {"color": GREY, "alpha": 0.35, "edgecolor": paper(), "linewidth": 0.4}
        axes.bar(lefts, weights, widths, align="edge", label=of_all, **look)
        axes.plot([0, 100], [0, 100], color=GREY, linewidth=0.6)
        stated, found = [100 * one.predicted for one in bins], [100 * one.observed for one in bins]
        axes.plot(stated, found, "o-", color=class_colours()[0], label="system")
        _say(axes, f"ECE {100 * data.error:.1f} %")
        axes.set(xlim=(-2, 102), ylim=(-2, 102))
    canvas.legend(grid.used[0], ncols=2)
    return canvas.result(grid.used)


def draw_pav(systems: Sequence[PavData], canvas: Canvas) -> Any:
    """Calibrated over stated log-likelihood ratios: calibrated scores are on the diagonal.

    Triangles at the edge are groups of one class only, whose calibrated ratio is infinite.
    """
    grid = _panels_alike(systems, canvas, "stated log-likelihood ratio (natural)", "calibrated ratio (PAV)")
    low, high = _common_span([data.span for data in systems])
    finite = [one for data in systems for one in data.calibrated[np.isfinite(data.calibrated)]] or [0.0]
    bottom, top = _common_span([(max(min(*finite, -1.0), -FURTHEST_RATIO), min(max(*finite, 1.0), FURTHEST_RATIO))])
    colour = class_colours()[0]
    for axes, data in zip(grid.used, systems, strict=True):
        axes.plot([-99, 99], [-99, 99], color=GREY, linewidth=0.6)
        for zero in (axes.axhline, axes.axvline):
            zero(0, color=GREY, linewidth=0.4, linestyle=":")
        x, y = np.stack((data.starts, data.ends), axis=1).reshape(-1), np.repeat(data.calibrated, 2)
        within = np.isfinite(x)
        axes.plot(x[within], np.clip(y[within], bottom - 1, top + 1), color=colour)
        for mark, edge, beyond in (("v", bottom, np.isneginf(y)), ("^", top, np.isposinf(y))):
            inside = within & beyond & (x >= low) & (x <= high)
            if inside.any():
                axes.plot([float(x[inside].mean())], [edge], mark, color=colour, clip_on=False)
        axes.set(xlim=(low, high), ylim=(bottom, top))
        cost = "infinite" if np.isinf(data.cllr) else plain_text(data.cllr, 3)
        loss = "" if np.isinf(data.cllr) else f"\nloss {plain_text(data.loss, 3)}"
        _say(axes, f"Cllr {cost}\nminCllr {data.min_cllr:.3f}{loss}")
    return canvas.result(grid.used)


def draw_tippett(systems: Sequence[TippettData], canvas: Canvas) -> Any:
    """Share of each class with at least a log-likelihood ratio; ratios on the wrong side of 0 mislead."""
    x_label, y_label = "log-likelihood ratio of bona fide to spoof (natural)", "% of the class with at least this ratio"
    grid = _panels_alike(systems, canvas, x_label, y_label)
    low, high = _common_span([data.span for data in systems])
    for axes, data in zip(grid.used, systems, strict=True):
        axes.axvline(0, color=GREY, linewidth=0.6)
        for line, look in zip((data.bona_fide, data.spoof), class_lines(), strict=True):
            # flat outside of the ends, where only certain scores lie
            x = np.concatenate(([min(low, 0)], line.x, [max(high, 0)]))
            y = np.concatenate((line.y[:1], line.y, line.y[-1:])) if line.x.size else np.zeros(2)
            axes.plot(x, 100 * y, **look)
        # the curves may be anywhere in the panel
        bona_fide, spoof = 100 * data.misleading_bona_fide, 100 * data.misleading_spoof
        misleading = f"misleading bona fide: {bona_fide:.1f} %\nmisleading spoof: {spoof:.1f} %"
        axes.set_title(
            "\n".join(filter(None, (data.name, misleading))),
            loc="left",
            fontsize=type_size(6 if len(systems) <= 12 else 4.8),
        )
        axes.set(xlim=(low, high), ylim=(-2, 102))
    canvas.legend(grid.used[0], ncols=2)
    return canvas.result(grid.used)

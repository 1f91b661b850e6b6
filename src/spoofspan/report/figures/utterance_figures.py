"""Figures of one utterance: its timeline, and the paper's two explanatory figures, drawn from real objects.

Bona fide is light, spoof dark and hatched; right decisions are light, wrong ones dark and hatched, so that nothing
hangs on a colour alone. Each takes the data of :mod:`.utterance_data` and draws it on a :class:`.style.Canvas`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.report.figures.style import BLACK, NAMES_NEED, Canvas, ink, paper, type_size
from spoofspan.report.figures.utterance_data import (
    DrawnStretch,
    MeasurementData,
    PointsData,
    ResamplingData,
    TimelineData,
)
from spoofspan.report.palette import LIGHT
from spoofspan.report.resolutions import spaced

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SPOOF_FACE, NOTHING_FACE, RIGHT_FACE = "#E08A4F", "#EEEEEE", "#DCEFE6"
# label -> face, hatch, name in the legend
CLASSES = {
    "bonafide": ("#BFDDF2", "", "bona fide"),
    "spoof": (SPOOF_FACE, "////", "spoof"),
    "ignored": (NOTHING_FACE, "", "not counted"),
    "none": (NOTHING_FACE, "", "no decision"),
}
ERRORS = {
    "false_positive": (LIGHT["false-positive"], "....", "false positive"),
    "false_negative": (LIGHT["false-negative"], "xxxx", "false negative"),
}
OUTCOMES = {
    "true_positive": (RIGHT_FACE, "", "right"),
    "true_negative": (RIGHT_FACE, "", "right"),
    **ERRORS,
    "unanswered": (NOTHING_FACE, "", "no decision"),
    "ignored": (NOTHING_FACE, "", "not counted"),
}
Looks = dict[str, tuple[str, str, str]]
LEVEL = 2.5  # from one level of a resampling figure to the next; a row is one
FEW_OUTSIDE = 0.01  # of the scores on either side, which do not decide where an axis ends
FRAME_NEEDS = 1.0  # mm of a box, for a frame around it
NUMBERS_NEED = 3.6  # mm of a point, for its score to be written into it
BEHIND = {"boxstyle": "square,pad=0.08", "facecolor": "white", "linewidth": 0}
SIGNS = {"spoof": "+", "bonafide": "−", "none": ""}
NUMBER: dict[str, Any] = {"ha": "center", "va": "center", "color": BLACK, "linespacing": 0.9, "bbox": BEHIND}


def _bars(
    axes: Axes, stretches: Iterable[DrawnStretch], row: float, looks: Looks, height: float = 0.8, *, mm: float = np.inf
) -> None:
    """Draw stretches of time as boxes around a row, ``mm`` to the second; neighbours too narrow for a frame merge."""
    pieces = list(stretches)
    # the last point of an utterance may be short
    framed = not pieces or float(np.median([one.end - one.start for one in pieces])) * mm >= FRAME_NEEDS
    for one in pieces if framed else merged(pieces):
        if one.label in looks:
            x, y = [(one.start, one.end - one.start)], (row - height / 2, height)
            look = _look(looks[one.label])
            # a frame around a sliver would be all of it
            slim = (one.end - one.start) * mm < FRAME_NEEDS
            axes.broken_barh(x, y, **(look | {"linewidth": 0.0, "hatch": ""} if slim else look))


def merged(stretches: Iterable[DrawnStretch]) -> list[DrawnStretch]:
    """Neighbours with the same label as one stretch.

    >>> merged([DrawnStretch(0, 1, "spoof"), DrawnStretch(1, 2, "spoof"), DrawnStretch(2, 3, "bonafide")])
    [DrawnStretch(start=0, end=2, label='spoof'), DrawnStretch(start=2, end=3, label='bonafide')]
    """
    found: list[DrawnStretch] = []
    for one in stretches:
        if found and found[-1].label == one.label and found[-1].end == one.start:
            found[-1] = DrawnStretch(found[-1].start, one.end, one.label)
        else:
            found.append(one)
    return found


def _look(look: tuple[str, str, str]) -> dict[str, Any]:
    face, hatch, name = look
    # the hatching of what is dark is light
    edge = "#FFFFFF" if name.startswith("false") else "#333333"
    return {"facecolor": face, "hatch": hatch, "edgecolor": edge, "linewidth": 0.4}


def _legend(canvas: Canvas, axes: Axes, *shown: tuple[Looks, Iterable[str]]) -> None:
    """Explain the looks of the labels that are shown."""
    from matplotlib.patches import Patch

    handles = []
    for looks, labels in shown:
        names = {looks[label][2]: looks[label] for label in labels if label in looks}
        handles += [Patch(label=name, **_look(look)) for name, look in names.items()]
    canvas.legend(axes, inside=False, handles=handles, ncols=6 if canvas.wide else 2)


def _note(axes: Axes, text: str, height: float, shift: tuple[float, float], **how: Any) -> None:
    """Write at the right edge, at a height of the data and some points from there."""
    how |= {
        "xycoords": ("axes fraction", "data"),
        "textcoords": "offset points",
        "ha": "right",
        "fontsize": type_size(6),
    }
    axes.annotate(text, (1, height), shift, **how)


Rows = dict[str, tuple[Iterable[DrawnStretch], Looks]]


def _rows(axes: Axes, rows: Rows, duration: float, mm: float) -> None:
    """Draw rows of boxes with their names, from the bottom up, ``mm`` to the second."""
    for row, (stretches, looks) in enumerate(rows.values()):
        _bars(axes, stretches, row, looks, mm=mm)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set(xlim=(0, duration), ylim=(-0.6, len(rows) - 0.4))
    axes.tick_params(axis="y", length=0)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)


def _scale(canvas: Canvas, duration: float, across: int = 1) -> float:
    """The mm of a second in a panel."""
    return float(canvas.width / across - NAMES_NEED) / duration


def _known_rows(data: TimelineData) -> Rows:
    """Without a reference there are no errors."""
    if not data.reference:
        return {"decision": (data.decision, CLASSES)}
    return {"errors": (data.errors, ERRORS), **_two_rows(data.reference, data.decision)}


def _two_rows(reference: Iterable[DrawnStretch], decision: Iterable[DrawnStretch]) -> Rows:
    return {"decision": (decision, CLASSES), "reference": (reference, CLASSES)}


def draw_timeline(data: TimelineData, canvas: Canvas) -> Any:
    """One utterance: waveform if given, reference, scores with the threshold, decision, errors."""
    with_wave = data.waveform is not None
    heights = [*([1.0] if with_wave else []), 1.6, 1.2 if data.reference else 0.5]
    height = (18 if canvas.wide else 22) + 16 * sum(heights)
    panels = canvas.grid(len(heights), 1, height, share=True, ratios=heights, titles=False).used
    if data.waveform is not None:
        wave = panels[0]
        wave.fill_between(data.waveform.times, data.waveform.low, data.waveform.high, color="#555555", linewidth=0)
        wave.set(yticks=[], ylabel="waveform")
        wave.spines["left"].set_visible(False)
    scores, bars = panels[-2], panels[-1]
    edges = np.append(data.score_starts, data.score_ends[-1:])
    scores.step(edges, np.append(data.scores, data.scores[-1:]), where="post", color=ink(), linewidth=0.9)
    _leave_out_far(scores, data)
    if np.isfinite(data.threshold):
        scores.axhline(data.threshold, color="#777777", linestyle="--", linewidth=0.8)
        behind = {"facecolor": paper(), "edgecolor": "none", "alpha": 0.8, "pad": 0.6}  # the scores may pass there
        _note(scores, "threshold", data.threshold, (-2, 2), color="#555555", bbox=behind)
    for one in data.reference:  # where it is spoofed, behind the scores
        if one.label == "spoof":
            scores.axvspan(one.start, one.end, color=SPOOF_FACE, alpha=0.25, linewidth=0)
    better = "bona fide" if data.higher == "bonafide" else "spoof"
    scores.set_ylabel(f"score\n(higher: {better})")
    _rows(bars, _known_rows(data), data.duration, _scale(canvas, data.duration))
    bars.set_xlabel(f"time (s) in {data.utterance}")
    used = [one.label for one in (*data.reference, *data.decision)]
    _legend(canvas, panels[0], (CLASSES, used), (ERRORS, [one.label for one in data.errors]))
    return canvas.result(panels)


def _ends(scores: Any, threshold: float) -> tuple[float, float, bool]:
    """Lowest and highest score to show, with the threshold; and whether others are too far out to be shown.

    A score is shown unless it lies further from the others than these lie apart.
    """
    known = scores[np.isfinite(scores)]
    low, high = np.quantile(known, FEW_OUTSIDE, method="higher"), np.quantile(known, 1 - FEW_OUTSIDE, method="lower")
    near = known[(known >= 2 * low - high) & (known <= 2 * high - low)] if high > low else known
    ends = [*near, *([threshold] if np.isfinite(threshold) else [])]
    return min(ends), max(ends), near.size < known.size


def _leave_out_far(axes: Axes, data: TimelineData) -> None:
    """End the axis before scores that would make the others look equal; triangles mark where these are."""
    if not np.isfinite(data.scores).any():
        return
    low, high, some_beyond = _ends(data.scores, data.threshold)
    if not some_beyond:
        return
    room = 0.12 * (high - low)
    axes.set_ylim(low - room, high + room)
    times = (data.score_starts + data.score_ends) / 2
    for mark, edge, far in (("v", low - room / 2, data.scores < low), ("^", high + room / 2, data.scores > high)):
        axes.plot(times[far], np.full(np.count_nonzero(far), edge), mark, color=ink(), markersize=type_size(3.5))


# ---------------------------------------------------------------- points against ranges


def draw_measurement(data: MeasurementData, canvas: Canvas) -> Any:
    """The paper's Fig. 1: the same utterance counted in points, and measured in ranges."""
    panels = canvas.grid(2, 1, 70, share=True).used
    above, below = panels
    points, ranges = data.points, data.ranges
    mm = _scale(canvas, ranges.duration)
    counted = [_of_points(points, one) for one in (points.labels, _decisions(points), points.outcomes)]
    for axes, (reference, decision, outcomes), title in (
        (above, counted, f"(a) points of {spaced(points.resolution)}: {_counted(points)}"),
        (below, (ranges.reference, ranges.decision, ranges.outcomes), f"(b) ranges: {_lasted(ranges)}"),
    ):
        _rows(axes, {"result": (outcomes, OUTCOMES), **_two_rows(reference, decision)}, ranges.duration, mm)
        axes.set_title(title, loc="left")
    _write(above, points, 1, mm)
    above.tick_params(axis="x", length=0)
    between = "; " if canvas.wide else "\n"  # a column has no room for both in one line
    below.set_xlabel(f"time (s) in {ranges.utterance}{between}{_inequality(points)}")
    used = [one.label for one in (*ranges.reference, *ranges.decision)] + list(points.labels)
    results = [*points.outcomes, *(one.label for one in ranges.outcomes)]
    _legend(canvas, above, (CLASSES, used), (OUTCOMES, results))
    return canvas.result(panels)


def _of_points(points: PointsData, labels: Sequence[str]) -> list[DrawnStretch]:
    return [
        DrawnStretch(float(start), float(end), label)
        for start, end, label in zip(points.starts, points.ends, labels, strict=True)
    ]


def _decisions(points: PointsData) -> list[str]:
    """Decision for each point, by its outcome."""
    called = {"positive": "spoof", "negative": "bonafide"}
    return [called.get(outcome.rpartition("_")[2], "none") for outcome in points.outcomes]


def _counted(points: PointsData) -> str:
    spoof, bona_fide = points.labels.count("spoof"), points.labels.count("bonafide")
    return f"FP {points.count('false_positive')} of {bona_fide}, FN {points.count('false_negative')} of {spoof}"


def _lasted(ranges: TimelineData) -> str:
    wholes = {
        label: sum(one.end - one.start for one in ranges.reference if one.label == label)
        for label in ("bonafide", "spoof")
    }
    return (
        f"FP {ranges.seconds('false_positive'):.2f} of {wholes['bonafide']:.2f} s, "
        f"FN {ranges.seconds('false_negative'):.2f} of {wholes['spoof']:.2f} s"
    )


# ---------------------------------------------------------------- up- and down-sampling


def draw_resampling(data: ResamplingData, canvas: Canvas) -> Any:
    """The paper's Fig. 2: labels and scores at finer (left) and at coarser (right) resolutions.

    ``+`` is called spoof, ``-`` bona fide; wrong decisions are dark and hatched. Where points are too narrow for their
    scores, these are a line above the signs, and the dashes the threshold.
    """
    sides = [side for side in ((data.native, *data.finer), (data.native, *data.coarser)) if len(side) > 1]
    sides = sides or [(data.native,)]
    most = max(map(len, sides))
    across = len(sides) if canvas.wide else 1
    panels = canvas.grid(len(sides), across, 12 + len(sides) // across * (10 + 19 * most)).used
    duration = float(data.native.ends[-1])
    mm = _scale(canvas, duration, across)
    for axes, side in zip(panels, sides, strict=True):
        names = []
        for level, points in enumerate(side):
            base = LEVEL * (most - 1 - level)
            _bars(axes, _of_points(points, points.labels), base + 0.95, CLASSES, 0.8, mm=mm)
            _bars(axes, _of_points(points, points.outcomes), base + 0.15, OUTCOMES, 0.8, mm=mm)
            if mm * points.resolution >= 2 * NUMBERS_NEED:
                _write(axes, points, base + 0.15, mm)
            else:
                _trace(axes, points, base + 0.32, 0.42)
                _write(axes, points, base - 0.09, mm, scores=False)
            names += [(base + 0.95, f"{spaced(points.resolution)}: label"), (base + 0.15, "score")]
            _note(axes, _counted(points), base + 1.35, (0, 1.5), va="bottom")
        axes.set_yticks([place for place, _ in names], [name for _, name in names])
        axes.set(xlim=(0, duration), ylim=(-0.45, LEVEL * most - 0.6), xlabel=f"time (s); {_inequality(data.native)}")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        finer = len(side) > 1 and side[1].resolution < data.native.resolution
        kept = "lowest" if data.native.higher == "bonafide" else "highest"
        axes.set_title("up-sampling: scores repeated" if finer else f"down-sampling: {kept} score kept", loc="left")
    levels = [data.native, *data.finer, *data.coarser]
    used = [label for points in levels for label in points.labels]
    results = [one for points in levels for one in points.outcomes]
    _legend(canvas, panels[0], (CLASSES, used), (OUTCOMES, results))
    return canvas.result(panels)


def _inequality(points: PointsData) -> str:
    """The decision with a short threshold, for the label of an axis."""
    sign = "<" if points.higher == "bonafide" else ">"
    return f"+: spoof, score {sign} {points.threshold:.3g}".replace("-", "−")


def _write(axes: Axes, points: PointsData, row: float, mm: float, *, scores: bool = True) -> None:
    """Write decisions into points, with their scores where there is room; narrow neighbours share a sign."""
    look = {"fontsize": type_size(5.5), **NUMBER}
    decided = _of_points(points, _decisions(points))
    with_scores = scores and mm * points.resolution >= 2 * NUMBERS_NEED
    if not with_scores and mm * points.resolution < NUMBERS_NEED / 2:
        decided = merged(decided)
    for k, one in enumerate(decided):
        room, text = mm * (one.end - one.start), SIGNS[one.label]
        if with_scores and room >= 2 * NUMBERS_NEED and np.isfinite(points.scores[k]):
            text = f"{text}\n{points.scores[k]:.2g}".replace("-", "−")
        if room >= NUMBERS_NEED / 2:
            axes.text((one.start + one.end) / 2, row, text, **look)


def _trace(axes: Axes, points: PointsData, row: float, height: float) -> None:
    """Points too narrow for their numbers: the scores as a line in their row, with the threshold."""
    if not np.isfinite(points.scores).any():
        return
    low, high, _ = _ends(points.scores, points.threshold)
    room = (high - low) or 1.0

    def place(scores: Any) -> Any:
        return row + height * (0.9 * (np.clip(scores, low, low + room) - low) / room - 0.45)

    edges, scores = np.append(points.starts, points.ends[-1:]), np.append(points.scores, points.scores[-1:])
    axes.step(edges, place(scores), where="post", color=BLACK, linewidth=0.7)
    if np.isfinite(points.threshold):
        axes.plot(
            [points.starts[0], points.ends[-1]], [place(points.threshold)] * 2, "--", color="#555555", linewidth=0.6
        )

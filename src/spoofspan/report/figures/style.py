"""What all figures share: the style, the widths of paper, and files.

The colours are those of Okabe and Ito, which people with any colour vision tell apart; systems also differ in the style
of their lines, classes in their lightness and hatching, so that a figure survives a grey printer. Text stays text in
PDF and SVG. Needs matplotlib: ``pip install 'spoofspan[plot]'``.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, wraps
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from spoofspan.base.errors import UsageError, nearest_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
WIDTHS = {"column": 80.0, "page": 170.0}  # mm, of a two-column paper
MM_PER_INCH = 25.4
NOTEBOOK_DPI = 150

BLUE, VERMILION, GREEN, PURPLE, ORANGE, BLACK = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#000000"
GREY = "#999999"  # of lines that are no data
SYSTEM_COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, BLACK)
SYSTEM_LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))

STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # ships with matplotlib, so a figure looks the same everywhere
    "font.size": 7.0,
    "axes.labelsize": 7.0,
    "axes.titlesize": 7.0,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "hatch.linewidth": 0.4,
    "grid.linewidth": 0.3,
    "grid.color": "#CCCCCC",
    "figure.dpi": 100,
    "savefig.dpi": 300,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "spoofspan",  # equal figures are equal files
    "figure.constrained_layout.use": True,
}
# Nothing that would make two files of one figure differ.
NO_DATE = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}

Draw = TypeVar("Draw", bound=Callable[..., Any])


def require_matplotlib() -> None:
    """Say what to install, if it is not there."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageError("figures need matplotlib, which is not installed: pip install 'spoofspan[plot]'") from None


def must_be_drawable(path: Path) -> str:
    """The format that a file name asks for; refused before long work if it cannot be drawn."""
    name = path.suffix.removeprefix(".").lower()
    if name not in FORMATS:
        raise UsageError(f"{str(path)!r}: figures are written as {', '.join(f'.{one}' for one in FORMATS)}")
    require_matplotlib()
    return name


@contextmanager
def style() -> Iterator[None]:
    """The style of all figures; what matplotlib was set to before returns afterwards."""
    require_matplotlib()
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def styled(draw: Draw) -> Draw:
    """Draw in the style of all figures."""

    @wraps(draw)
    def drawn(*args: Any, **kwargs: Any) -> Any:
        with style():
            return draw(*args, **kwargs)

    return drawn  # type: ignore[return-value]


@cache
def _figure_class() -> type[Figure]:
    from matplotlib.figure import Figure as Plain

    class Figure(Plain):  # type: ignore[misc]  # no matplotlib, no types
        """A figure that a notebook shows, though it was made without pyplot."""

        def _repr_png_(self) -> bytes:
            with style():
                buffer = io.BytesIO()
                self.savefig(buffer, format="png", dpi=NOTEBOOK_DPI)
            return buffer.getvalue()

    return Figure


def new_figure(width: str | float, height: float) -> Figure:
    """An empty figure: ``width`` is column, page or a number of mm, ``height`` mm."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = _figure_class()(figsize=(in_mm(width) / MM_PER_INCH, height / MM_PER_INCH))
    FigureCanvasAgg(figure)
    return figure


def in_mm(width: str | float) -> float:
    """A width by its name, or in mm.

    >>> in_mm("column"), in_mm("120")
    (80.0, 120.0)
    """
    if isinstance(width, str) and width in WIDTHS:
        return WIDTHS[width]
    try:
        mm = float(width)
    except ValueError:
        raise UsageError(f"no width {width!r}: {nearest_name(str(width), WIDTHS)}, or a number of mm") from None
    if not 30 <= mm <= 1000:
        raise UsageError(f"a width of {mm:g} mm is nothing to print on; choose 30 to 1000")
    return mm


def is_wide(width: str | float) -> bool:
    """Whether panels fit beside each other."""
    return in_mm(width) >= 120


def system_looks() -> Iterator[dict[str, Any]]:
    """Colour and line of one system after the other; both change, so that either is enough."""
    for number, (colour, line) in enumerate(zip(cycle(SYSTEM_COLOURS), cycle(SYSTEM_LINES), strict=False)):
        # after six systems the pairs are shifted against each other
        shifted = SYSTEM_LINES[(number + number // len(SYSTEM_COLOURS)) % len(SYSTEM_LINES)]
        yield {"color": colour, "linestyle": shifted if number >= len(SYSTEM_COLOURS) else line}


@dataclass(frozen=True)
class Panels:
    """Panels side by side and one below the other: those in use, and those at the left and at the bottom."""

    figure: Figure
    used: list[Axes]
    left: list[Axes]
    lowest: list[Axes]


def panels(count: int, width: str | float, across: int, height: float, *, alike: bool = False) -> Panels:
    """A figure of so many panels, ``across`` of them in a row; ``alike``: with the same axes."""
    figure = new_figure(width, height)
    grid = figure.subplots(rows_of(count, across), across, squeeze=False, sharex=alike, sharey=alike)
    every = grid.ravel()
    for axes in every[count:]:
        axes.set_visible(False)
    lowest = [every[max(range(column, count, across))] for column in range(across)]
    for axes in lowest if alike else ():
        axes.tick_params(labelbottom=True)
    return Panels(figure, list(every[:count]), list(grid[:, 0]), lowest)


def rows_of(count: int, across: int) -> int:
    """How many rows so many panels take."""
    return -(-count // across)


def refuse_no_system(systems: Sequence[object]) -> None:
    """Refuse to draw nothing."""
    if not systems:
        raise UsageError("a figure needs at least one system")


def legend_above(figure: Figure, axes: Axes, columns: int, **how: Any) -> None:
    """Explain above a figure what one of its panels shows, as all others do."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=columns, **how)


def light_grid(axes: Axes) -> None:
    """A grid behind the data."""
    axes.grid(True)
    axes.set_axisbelow(True)


def to_bytes(figure: Figure, kind: str) -> bytes:
    """A figure as the content of a file."""
    with style():
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, metadata=NO_DATE[kind])
    return buffer.getvalue()


def save(figure: Figure, path: str | Path, force: bool = False) -> None:
    """Write a figure to a .png, .svg or .pdf file, whole or not at all."""
    from spoofspan.formats.writing import write_atomically

    target = Path(path)
    write_atomically(target, [to_bytes(figure, must_be_drawable(target))], force)

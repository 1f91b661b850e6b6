"""Common parts of all figures: the style, the widths of paper, and files.

The colours are those of Okabe and Ito, which people with any colour vision tell apart; systems also differ in the style
of their lines, classes in their lightness and hatching, so that a figure survives a grey printer. Text stays text in
PDF and SVG. Needs matplotlib: ``pip install 'spoofspan[plot]'``.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from spoofspan.base.errors import UsageError, nearest_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
WIDTHS = {"column": 80.0, "page": 170.0}  # mm, of a two-column paper
MM_PER_INCH = 25.4
OURS = "spoofspan"  # the name of our style
# A style as matplotlib takes it: a name, a file, settings, or a list of these. None leaves the user's settings alone.
Style: TypeAlias = str | PathLike[str] | Mapping[str, Any] | Sequence[Any] | None
DESIGN_SIZE = 7.0  # points of type, for which all lengths are meant
FEW = 6  # systems whose legend stands above a figure
NAMES_NEED = 22.0  # mm left of a panel

BLUE, VERMILION, GREEN, PURPLE, ORANGE, BLACK = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#000000"
GREY = "#999999"  # of lines that are no data
SYSTEM_COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, BLACK)
SYSTEM_LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))

STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # ships with matplotlib, so a figure looks the same everywhere
    "font.size": DESIGN_SIZE,
    "image.cmap": "cividis",  # rises evenly in lightness for every colour vision, and in grey
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


def require_matplotlib() -> None:
    """Say what to install, if it is not there."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageError(
            "figures need matplotlib, which is not installed; run: pip install 'spoofspan[plot]'"
        ) from None


def must_be_drawable(path: Path) -> str:
    """The format that a file name asks for; refused before long work if it cannot be drawn."""
    name = path.suffix.removeprefix(".").lower()
    if name not in FORMATS:
        raise UsageError(f"{str(path)!r}: figures are written as {', '.join(f'.{one}' for one in FORMATS)}")
    require_matplotlib()
    import matplotlib as mpl

    mpl.use("agg")  # a file needs no window
    return name


@contextmanager
def style(chosen: Style = OURS) -> Iterator[None]:
    """The given style, on top of the user's settings, which return afterwards; ``spoofspan`` starts from defaults."""
    require_matplotlib()
    import matplotlib as mpl
    from cycler import cycler
    from matplotlib import style as sheets

    with mpl.rc_context():
        for one in styles_in(chosen):
            if one == OURS:
                mpl.rcdefaults()
                mpl.rcParams.update(STYLE | {"axes.prop_cycle": cycler(color=SYSTEM_COLOURS)})
                continue
            try:
                sheets.use(one)
            except OSError:
                known = (OURS, *sheets.available)
                raise UsageError(f"no style {str(one)!r}: {nearest_name(str(one), known)}, or a style sheet") from None
        yield


def styles_in(chosen: Style) -> list[Any]:
    """The styles to apply one after the other, as matplotlib takes them: a name, a file, a dict, or a list of these."""
    if chosen is None:
        return []
    return [chosen] if isinstance(chosen, str | PathLike | Mapping) else list(chosen)


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
    """True if panels fit beside each other."""
    return in_mm(width) >= 120


def system_looks() -> Iterator[dict[str, Any]]:
    """Colour and line of one system after the other, from the colours in use; both change, so that either is enough."""
    import matplotlib as mpl

    looks = list(mpl.rcParams["axes.prop_cycle"])
    for number in count():
        turn, place = divmod(number, len(looks))  # after a turn the pairs are shifted against each other
        line = SYSTEM_LINES[(place + turn) % len(SYSTEM_LINES)]
        yield {"color": class_colours()[0], "linestyle": line} | looks[place]


def class_colours() -> tuple[str, str]:
    """The colours of bona fide and spoof, and of FPR and FNR: the first two in use."""
    import matplotlib as mpl

    colours = mpl.rcParams["axes.prop_cycle"].by_key().get("color", [BLACK])
    return colours[0], colours[1 % len(colours)]


def class_lines(bona_fide: str = "bona fide", spoof: str = "spoof") -> tuple[dict[str, Any], dict[str, Any]]:
    """Colour, line and name of the classes, or of FPR and FNR."""
    first, second = class_colours()
    return (
        {"color": first, "linestyle": "-", "label": bona_fide},
        {"color": second, "linestyle": "--", "label": spoof},
    )


def ink() -> str:
    """The colour of text, which stands out from the background in use."""
    import matplotlib as mpl

    return str(mpl.rcParams["text.color"])


def paper() -> str:
    """The background in use."""
    import matplotlib as mpl

    return str(mpl.rcParams["axes.facecolor"])


def type_size(points: float) -> float:
    """A size of type, scaled from the 7 points of our style to the font size in use."""
    return points * unit()


def unit() -> float:
    """The font size in use over that of our style. Layouts scale with it: they are designed for type of 7 points."""
    import matplotlib as mpl

    return float(mpl.rcParams["font.size"]) / DESIGN_SIZE


@dataclass(frozen=True)
class Panels:
    """Panels side by side and one below the other: those in use, and those at the left and at the bottom."""

    used: list[Axes]
    left: list[Axes]
    lowest: list[Axes]

    def label(self, x: str, y: str) -> None:
        """Name the axes at the left and at the bottom."""
        for axes in self.lowest:
            axes.set_xlabel(x)
        for axes in self.left:
            axes.set_ylabel(y)


class Canvas:
    """The place where a figure is drawn: a figure of its own, or the axes of the user.

    Lengths are mm of a figure with type of 7 points, and grow with the font size.

    Parameters
    ----------
    ax : Axes or array of Axes, optional
        One for each panel, or one that the panels divide among themselves.
    width : str or float, optional
        Of a figure of its own, in mm of paper, or the name of a width.
    default : str
        The width in our own style; in others it is that of ``figure.figsize``.
    chosen : Style
        The style in use.

    """

    def __init__(self, ax: Any, width: str | float | None, default: str, chosen: Style) -> None:
        import matplotlib as mpl
        from matplotlib.axes import Axes

        self.given = None if ax is None else list(np.ravel(ax))
        self._divided: Any = None
        if self.given is not None:
            wrong = next((one for one in self.given if not isinstance(one, Axes)), None)
            if wrong is not None or not self.given:
                found = "empty" if not self.given else f"a {type(wrong).__name__}"
                raise UsageError(f"ax= must be matplotlib Axes, or an array of them, not {found}")
            if width is not None:
                raise UsageError("width= is that of a new figure; leave it out beside ax=")
            first = self.given[0]
            mm = first.get_window_extent().width / first.figure.dpi * MM_PER_INCH + NAMES_NEED * unit()
        elif width is None and OURS not in styles_in(chosen):
            mm = mpl.rcParams["figure.figsize"][0] * MM_PER_INCH
        else:
            mm = in_mm(default if width is None else width)
        self.width = mm / unit()
        self.figure: Any = None if self.given is None else self.given[0].figure

    @property
    def own(self) -> bool:
        """True if the figure is one of its own."""
        return self.given is None

    @property
    def wide(self) -> bool:
        """True if panels fit beside each other."""
        return is_wide(self.width)

    def _open(self, height: float) -> Any:
        """A new figure of this height, known to pyplot, so that notebooks and ``plt.show()`` show it."""
        from matplotlib import pyplot as plt

        size = (self.width * unit() / MM_PER_INCH, height * unit() / MM_PER_INCH)
        self.figure = plt.figure(figsize=size, layout="constrained")
        return self.figure

    def one(self, height: float) -> Axes:
        """The only panel."""
        return self.grid(1, 1, height).used[0]

    def grid(
        self,
        count: int,
        across: int,
        height: float,
        *,
        alike: bool = False,
        share: str | bool = False,
        ratios: Sequence[float] | None = None,
        titles: bool = True,
    ) -> Panels:
        """So many panels, ``across`` of them in a row; ``alike``: with the same axes; ``titles``: room for them."""
        down = rows_of(count, across)
        how = {"squeeze": False, "sharex": alike or share, "sharey": alike}
        if self.given is None:
            every = self._open(height).subplots(down, across, height_ratios=ratios, **how).ravel()
        elif len(self.given) == 1 and count > 1:
            every = self._divide(down, across, ratios or [1.0] * down, titles=titles, alike=alike)
        elif len(self.given) < count:
            raise UsageError(f"this figure has {count} panels, and ax= {len(self.given)}; give {count} Axes, or one")
        else:
            used = self.given[:count]
            return Panels(used, used, used)
        for axes in every[count:]:
            axes.set_visible(False)
        lowest = [every[max(range(column, count, across))] for column in range(min(across, count))]
        for axes in lowest if alike else ():
            axes.tick_params(labelbottom=True)
        return Panels(list(every[:count]), list(every[:count:across]), lowest)

    def _divide(self, down: int, across: int, ratios: Sequence[float], *, titles: bool, alike: bool) -> Any:
        """Panels inside of the one Axes that the user gave, below a line of room for the legend."""
        assert self.given is not None  # noqa: S101 - for the type checker
        (whole,) = self.given
        self._divided = whole
        whole.set_axis_off()
        extent = whole.get_window_extent()
        type_x, type_y = (DESIGN_SIZE * unit() * whole.figure.dpi / 72 / side for side in (extent.width, extent.height))
        gap_x, gap_y = (5 * type_x if across > 1 else 0.0), (4.2 if titles else 0.8) * type_y
        wide = (1 - gap_x * (across - 1)) / across
        room = max(1 - (3.5 if titles else 2) * type_y - gap_y * (down - 1), 0.2)
        high = room * np.array(ratios) / sum(ratios)
        every = []
        for row in range(down):
            bottom = high[row + 1 :].sum() + gap_y * (down - 1 - row)
            every += [whole.inset_axes((x * (wide + gap_x), bottom, wide, high[row])) for x in range(across)]
        for axes in every[1:]:
            axes.sharex(every[0])
            if alike:
                axes.sharey(every[0])
        if not titles:
            for axes in every[:-across]:
                axes.tick_params(labelbottom=False)
        return np.array(every)

    def label(self, panels: Panels, x: str, y: str) -> None:
        """Name both axes of panels that are alike."""
        if self.own:
            self.figure.supxlabel(x, fontsize=type_size(DESIGN_SIZE))
            self.figure.supylabel(y, fontsize=type_size(DESIGN_SIZE))
            return
        if self._divided is not None:  # each panel is too narrow for it
            below: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "top"}
            self._divided.annotate(x, (0.5, 0), (0, -14 * unit()), ha="center", **below)
            x = ""
        panels.label(x, y)

    def legend(self, axes: Axes, *, inside: bool = True, **how: Any) -> None:
        """Explain what one panel shows, as all others do: above a figure of its own, in or above the user's axes."""
        if "handles" not in how:
            handles, labels = axes.get_legend_handles_labels()
            how = {"handles": handles, "labels": labels} | how
        if self.own:
            self.figure.legend(**{"loc": "outside upper center"} | how)
            return
        how.pop("loc", None)
        if len(how["handles"]) > FEW:
            (self._divided or axes).legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), **how | {"ncols": 1})
        elif self._divided is not None:
            self._divided.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), **how)
        elif inside:
            axes.legend(**how | {"ncols": 1})
        else:
            axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), **how)

    def result(self, panels: Sequence[Axes]) -> Any:
        """The user's axes; of a figure of its own the Axes, or with several panels the Figure."""
        if self.given is not None:
            return self.given[0] if len(self.given) == 1 else self.given
        return panels[0] if len(panels) == 1 else self.figure


@contextmanager
def canvas_in(ax: Any, chosen: Style, width: str | float | None, default: str) -> Iterator[Canvas]:
    """A canvas to draw on in the given style."""
    with style(chosen):
        yield Canvas(ax, width, default, chosen)


def rows_of(count: int, across: int) -> int:
    """Number of rows for so many panels."""
    return -(-count // across)


def refuse_no_system(systems: Sequence[object]) -> None:
    """Refuse to draw nothing."""
    if not systems:
        raise UsageError("a figure needs at least one system")


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


def save(drawn: Axes | Figure, path: str | Path, force: bool = False) -> None:
    """Write what was drawn to a .png, .svg or .pdf file, whole or not at all, and close the figure."""
    from matplotlib import pyplot as plt

    from spoofspan.formats.writing import write_atomically

    target = Path(path)
    figure = drawn.figure
    write_atomically(target, [to_bytes(figure, must_be_drawable(target))], force)
    plt.close(figure)

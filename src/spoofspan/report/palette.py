"""The colours of pages and figures: bona fide, spoof and the two errors, in light and in dark.

The hue says what is true and the strength whether it was found: bona fide is blue and spoof orange; bona fide called
spoof (a false positive) is a strong blue, spoof called bona fide (a false negative) a strong red, in dark a strong
yellow. Any two states differ by at least 20 (CIEDE2000) for people with deuteranopia and protanopia too, and from the
page by a contrast of 3; ``tests/report/test_palette.py`` computes both. Hatching tells the same, for a grey printer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import quantiles

# the states of time, and what is not counted
LIGHT: Mapping[str, str] = {
    "bona-fide": "#4c8fc9",
    "spoof": "#e06c00",
    "false-positive": "#2a1a7a",
    "false-negative": "#7a0c2e",
    "none": "#b9c0c8",
}
DARK: Mapping[str, str] = {
    "bona-fide": "#4788c7",
    "spoof": "#d9660a",
    "false-positive": "#bcd4ff",
    "false-negative": "#ffe08a",
    "none": "#4a545e",
}
STATES = ("bona-fide", "spoof", "false-positive", "false-negative")
# paper, ink and what lies between them; text on page or panel has a contrast of at least 4.5
LIGHT_PAPER: Mapping[str, str] = {
    "page": "#ffffff",
    "panel": "#f6f7f9",
    "raised": "#ffffff",
    "ink": "#14181d",
    "quiet": "#55606c",
    "line": "#dde2e7",
    "strong-line": "#8a949e",
    "accent": "#0b57c2",
    "wash": "#e8f0fc",
    "caution": "#fff4dc",
    "caution-line": "#c98a00",
}
DARK_PAPER: Mapping[str, str] = {
    "page": "#0f1317",
    "panel": "#161b21",
    "raised": "#1b2128",
    "ink": "#e8edf2",
    "quiet": "#a3afbb",
    "line": "#2b333c",
    "strong-line": "#77838f",
    "accent": "#86b9ff",
    "wash": "#1a2a40",
    "caution": "#2e2614",
    "caution-line": "#c79a2e",
}
# Lines of systems, after Okabe and Ito, strong enough for thin lines; with more systems the dashes change too.
SYSTEMS_LIGHT = ("#0b57c2", "#c2500a", "#00795a", "#a8407f", "#8a6500", "#14181d")
SYSTEMS_DARK = ("#7db4ff", "#f0934e", "#3cc79a", "#e89ac7", "#e3b93c", "#e8edf2")


LEAST_CONTRAST = 0.25  # of the highest value, from the lightest to the darkest cell of a heat map


FAR_OUT = 1.5  # interquartile ranges from the quartiles (Tukey), beyond which a value is an outlier
FEW_VALUES = 8  # of which none is an outlier
MOST_OUTLIERS = 0.1  # of all values; as many, or more, are no exceptions


def usual_ends(values: Iterable[float]) -> tuple[float, float]:
    """The lowest and the highest value that is no outlier, so that one of them does not make all others look equal.

    >>> usual_ends([1.0, 2.0, 3.0]), usual_ends([*range(5, 16), 45])
    ((1.0, 3.0), (5, 15))
    """
    known = sorted(values)
    if len(known) >= FEW_VALUES:
        first, _, third = quantiles(known, n=4, method="inclusive")
        room = FAR_OUT * (third - first)
        usual = [value for value in known if first - room <= value <= third + room]
        known = usual if len(known) - len(usual) < MOST_OUTLIERS * len(known) else known
    return (known[0], known[-1]) if known else (0.0, 0.0)


def heat_ends(values: Iterable[float]) -> tuple[float, float]:
    """Both ends of the scale of a heat map; values that hardly differ do not look as if they did.

    >>> heat_ends([0.1, 0.4]), heat_ends([9.0, 10.0]), heat_ends([])
    ((0.1, 0.4), (9.0, 11.5), (0.0, 1.0))
    """
    low, high = usual_ends(values)
    high = max(high, low + LEAST_CONTRAST * high)
    return low, high if high > low else low + 1.0


def contrast(one: Sequence[float], other: Sequence[float]) -> float:
    """The contrast of two colours (red, green and blue from 0 to 1), from 1 to 21, as WCAG defines it.

    Black or white has a contrast of at least 4.5 with any colour.

    >>> contrast((0, 0, 0), (1, 1, 1))
    21.0
    """

    def luminance(colour: Sequence[float]) -> float:
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def palette_style() -> str:
    """The colours as custom properties of a style sheet: ``var(--spoof)``, ``var(--system-0)``."""

    def rules(*colours: Mapping[str, str]) -> str:
        return " ".join(f"--{name}: {colour};" for one in colours for name, colour in one.items())

    light = rules(LIGHT, LIGHT_PAPER, _numbered(SYSTEMS_LIGHT))
    dark = rules(DARK, DARK_PAPER, _numbered(SYSTEMS_DARK))
    return (
        f":root {{ color-scheme: light; {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ color-scheme: dark; {dark} }} }}\n"
        f'@media screen {{ :root[data-theme="dark"] {{ color-scheme: dark; {dark} }}\n'
        f':root[data-theme="light"] {{ color-scheme: light; {light} }} }}\n'
    )


def _numbered(colours: tuple[str, ...]) -> dict[str, str]:
    return {f"system-{number}": colour for number, colour in enumerate(colours)}

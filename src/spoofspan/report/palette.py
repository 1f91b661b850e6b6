"""The colours of pages and figures: bona fide, spoof and the two errors, in light and in dark.

The hue says what is true and the strength whether it was found: bona fide is blue and spoof orange; bona fide called
spoof (a false positive) is a strong blue, spoof called bona fide (a false negative) a strong red, in dark a strong
yellow. Any two states differ by at least 20 (CIEDE2000) for people with deuteranopia and protanopia too, and from the
page by a contrast of 3; ``tests/report/test_palette.py`` computes both. Hatching tells the same, for a grey printer.
"""

from __future__ import annotations

from collections.abc import Mapping

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

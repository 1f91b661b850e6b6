"""The colours of pages and figures, as people with deuteranopia and protanopia see them.

The simulation is that of Machado, Oliveira and Fernandes (IEEE TVCG 15, 2009) at full severity, on linear RGB; colours
are compared by CIEDE2000, which is checked against the pairs of Sharma, Wu and Dalal (Color Res. Appl. 30, 2005).
"""

import itertools
import math

import numpy as np
import pytest

from spoofspan.measures.measure import EXAMPLES
from spoofspan.report import palette
from spoofspan.report.cells import measure_name

SEEN = {
    "all colours": np.eye(3),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
}
THEMES = {
    "light": (palette.LIGHT, palette.LIGHT_PAPER, palette.SYSTEMS_LIGHT),
    "dark": (palette.DARK, palette.DARK_PAPER, palette.SYSTEMS_DARK),
}


def linear(colour):
    """Linear RGB of ``#rrggbb``."""
    values = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIELAB of linear RGB, under D65."""
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    x = np.array(to_xyz) @ rgb / np.array([0.95047, 1.0, 1.08883])
    f = np.where(x > 216 / 24389, np.cbrt(x), (24389 / 27 * x + 16) / 116)
    return float(116 * f[1] - 16), float(500 * (f[0] - f[1])), float(200 * (f[1] - f[2]))


def ciede2000(one, other):
    """How different two colours in CIELAB look."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    g = 0.5 * (1 - math.sqrt(mean**7 / (mean**7 + 25**7)))
    a1, a2 = (1 + g) * a1, (1 + g) * a2
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = (math.degrees(math.atan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    dh = h2 - h1
    if c1 * c2 == 0:
        dh, h = 0.0, h1 + h2
    else:
        h = (h1 + h2) / 2
        if abs(dh) > 180:
            h += 180 if h1 + h2 < 360 else -180
            dh -= math.copysign(360, dh)
    d_hue = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(dh) / 2)
    lightness, chroma = (l1 + l2) / 2, (c1 + c2) / 2

    def cosine(degrees):
        return math.cos(math.radians(degrees))

    t = 1 - 0.17 * cosine(h - 30) + 0.24 * cosine(2 * h) + 0.32 * cosine(3 * h + 6) - 0.2 * cosine(4 * h - 63)
    turn = 60 * math.exp(-(((h - 275) / 25) ** 2))
    rotation = -2 * math.sqrt(chroma**7 / (chroma**7 + 25**7)) * math.sin(math.radians(turn))
    by_lightness = (l2 - l1) / (1 + 0.015 * (lightness - 50) ** 2 / math.sqrt(20 + (lightness - 50) ** 2))
    by_chroma, by_hue = (c2 - c1) / (1 + 0.045 * chroma), d_hue / (1 + 0.015 * chroma * t)
    return math.sqrt(by_lightness**2 + by_chroma**2 + by_hue**2 + rotation * by_chroma * by_hue)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 0, 0), (50, -1, 2), 2.3669),
        ((50, 2.5, 0), (50, 0, -2.5), 4.3065),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((50, 2.5, 0), (61, -5, 29), 22.8977),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
        ((90.8027, -2.0831, 1.4410), (91.1528, -1.6435, 0.0447), 1.4441),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_ciede2000_gives_the_published_differences(one, other, expected):
    assert ciede2000(one, other) == pytest.approx(expected, abs=5e-5)


def contrast(one, other):
    """Contrast of two colours as in WCAG 2."""
    low, high = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("theme", THEMES)
def test_the_states_of_time_are_told_apart_by_all(theme, seen):
    states = {name: lab(np.clip(SEEN[seen] @ linear(colour), 0, 1)) for name, colour in THEMES[theme][0].items()}
    assert set(palette.STATES) < states.keys()
    for one, other in itertools.combinations(states, 2):  # the four states, and what is not counted
        assert ciede2000(states[one], states[other]) >= 20, (one, other)


@pytest.mark.parametrize("theme", THEMES)
def test_text_and_states_stand_out_from_the_page(theme):
    states, paper, systems = THEMES[theme]
    for ground in ("page", "panel", "raised", "caution", "wash"):
        for name in ("ink", "quiet", "accent"):
            assert contrast(paper[name], paper[ground]) >= 4.5, (name, ground)
    for name in (*palette.STATES, "strong-line"):
        assert contrast({**states, **paper}[name], paper["page"]) >= 3, name
    assert all(contrast(colour, paper["page"]) >= 4.5 for colour in systems)


def test_two_measures_never_share_a_name():
    names = [
        measure_name(spelling) for spelling in (*EXAMPLES, "point-eer@40ms", "range-f1-macro", "range-f1-bonafide")
    ]
    assert len(set(names)) == len(names)
    assert measure_name("not a measure") == "not a measure"

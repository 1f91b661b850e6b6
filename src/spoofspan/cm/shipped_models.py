"""Small models inside the package, one for each band of sound, and the choice of one by the band of a recording.

A recording is judged by the widest model whose band it fills. If several recordings are judged together, all must fill
it, so that one model and one scale hold for them all. ``tools/make_models.py`` makes the models.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from spoofspan.base.errors import SpoofspanError, UsageError, nearest_name
from spoofspan.cm.listening import Heard, heard_band
from spoofspan.formats.sound import RATE, Sound

PREFIX = "builtin:"
FOLDER = Path(__file__).parent / "models"
# the least upper edge (Hz) of what must be heard of a recording, from the widest model on
MODELS = {"full-band": 7200.0, "150-6850": 6500.0, "telephone": 0.0}
LISTENED = 300 * RATE  # samples of each recording that decide


def shipped_model(name: str) -> Path:
    """Folder of a model of the package, by its name without ``builtin:``."""
    if name not in MODELS:
        raise UsageError(f"no model of the package is called {name!r}: {nearest_name(name, MODELS)}")
    return FOLDER / name


def choose_model(sounds: Iterable[Sound]) -> tuple[str, str]:
    """Name of the model for some recordings, and why."""
    edges: list[tuple[float, str]] = []
    for sound in sounds:
        try:
            edges.append((_upper_edge(sound), sound.name))
        except SpoofspanError:  # said when it is scored
            continue
    top, where = min(edges, default=(RATE / 2, ""))
    name = next(one for one, least in MODELS.items() if top >= least)
    which = "it is" if len(edges) < 2 else f"{where}, the narrowest of {len(edges):,} recordings, is"
    return f"{PREFIX}{name}", f"{which} heard up to {top / 1000:.1f} kHz"


def _upper_edge(sound: Sound) -> float:
    """Hz up to which anything is heard."""
    heard = Heard()
    for block in sound.blocks():
        heard.hear(block[: max(LISTENED - heard.samples, 0)])
        if heard.samples >= LISTENED:
            break
    heard.end()
    return float(np.float64(heard_band(heard.counts)[1]))

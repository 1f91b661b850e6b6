"""A detector of joints: how much energy and spectrum jump. It learns nothing.

A splice puts two recordings next to each other, and where it was done carelessly one hears it. The jump at frame k is
the distance between the mean log spectra (in bands) of the frames before and after it, plus that of their levels; the
score is minus the jump, in dB. Windows of coarser resolutions have the lowest score of their frames, and so has the
utterance. It finds edges, never what lies between them: a system that is not better has learned joints, not spoofs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spoofspan.cm.frame_times import BRANCHES, COARSEST, HOP, UTTERANCE, WINDOW, frame_count, scale_of
from spoofspan.cm.scoring import Float32, Window

BANDS = 20
AROUND = 3  # frames on each side
FLOOR = 1e-7  # power that is silence
AT_ONCE = 2048  # frames transformed together


class JointDetector:
    """Scores windows by jumps."""

    longest = 64 * COARSEST
    branches = BRANCHES

    def score(self, windows: Sequence[Window]) -> list[dict[str, Float32]]:
        """The scores of the frames that count."""
        return [self._of_window(window) for window in windows]

    def _of_window(self, window: Window) -> dict[str, Float32]:
        frames = -jumps(window.wave)[window.first : window.last]
        found = {}
        for name in BRANCHES:
            size = frames.size if name == UTTERANCE else 2 ** scale_of(name)
            found[name] = np.minimum.reduceat(frames, np.arange(0, frames.size, size))
        return found

    def whole(self, parts: list[Float32]) -> float:
        """The lowest score."""
        return float(np.concatenate(parts).min())


def jumps(wave: Float32) -> Float32:
    """How much each frame of 20 ms jumps, in dB.

    >>> quiet, loud = np.full(8000, 0.001, np.float32), np.full(8000, 0.1, np.float32)
    >>> int(jumps(np.concatenate((quiet, loud))).argmax())
    24
    """
    bands = band_levels(wave)
    level = np.logaddexp.reduce(bands * (np.log(10) / 10), axis=1)[:, None] * (10 / np.log(10))
    return (_distance(bands - level) + _distance(level)).astype(np.float32)


def _distance(x: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The root mean square difference between the means before and after each frame; edges repeat."""
    frames = len(x)
    sums = np.concatenate((np.zeros((1, x.shape[1])), np.cumsum(x, axis=0)))
    k = np.arange(frames)
    before, after = np.maximum(k - AROUND, 0), np.minimum(k + 1 + AROUND, frames)
    left = (sums[k + 1] - sums[before]) / (k + 1 - before)[:, None]
    right = (sums[after] - sums[k]) / (after - k)[:, None]
    distance: np.ndarray[tuple[int], np.dtype[np.float64]] = np.sqrt(((left - right) ** 2).mean(axis=1))
    return distance


def band_levels(wave: Float32) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The level of each band in each frame, in dB."""
    frames = frame_count(wave.size)
    padded = np.pad(wave, (0, max(WINDOW - wave.size, 0)))
    views = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP][:frames]
    edges = np.linspace(0, WINDOW // 2, BANDS, endpoint=False).astype(int)
    levels = np.empty((frames, BANDS))
    for first in range(0, frames, AT_ONCE):
        spectra = np.fft.rfft(views[first : first + AT_ONCE] * np.hanning(WINDOW), axis=1)
        power = np.add.reduceat(np.abs(spectra) ** 2, edges, axis=1) / WINDOW
        levels[first : first + AT_ONCE] = 10 * np.log10(power + FLOOR)
    return levels

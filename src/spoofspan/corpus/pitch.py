"""Pitch by autocorrelation, as the parametric vocoders need it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spoofspan.corpus.frames import RATE, STEP, Float64, frames_in

LOWEST, HIGHEST = 65.0, 400.0  # Hz
WINDOW = 640  # samples: 40 ms
LISTENED_TO = 1000.0  # Hz
VOICED = 0.5  # correlation from which a frame counts as voiced


@dataclass(frozen=True)
class Pitch:
    """Pitch and voicing in frames of 5 ms."""

    hertz: Float64  # in unvoiced frames, what lies between the neighbours
    voiced: npt.NDArray[np.bool_]


def find_pitch(sound: Float64) -> Pitch:
    """Find the pitch of each frame."""
    frames = frames_in(sound.size)
    padded = np.zeros((frames - 1) * STEP + WINDOW)
    padded[WINDOW // 2 : WINDOW // 2 + sound.size] = sound
    cut = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::STEP] * np.hanning(WINDOW)
    power = np.abs(np.fft.rfft(cut, 2 * WINDOW)) ** 2
    power /= 1 + (np.fft.rfftfreq(2 * WINDOW, 1 / RATE) / LISTENED_TO) ** 4  # high partials need exact periods
    correlation = np.fft.irfft(power)
    own = np.hanning(WINDOW)
    window = np.fft.irfft(np.abs(np.fft.rfft(own, 2 * WINDOW)) ** 2)
    lags = np.arange(int(RATE / HIGHEST), int(RATE / LOWEST) + 1)
    energy = correlation[:, :1]
    ratio = correlation[:, lags] / np.maximum(energy, 1e-20) * (window[0] / window[lags])
    peak = ratio.max(axis=1)
    # a multiple of the period correlates as well: the shortest lag that is nearly as good is meant
    inner = ratio[:, 1:-1]
    local = (inner >= ratio[:, :-2]) & (inner >= ratio[:, 2:]) & (inner > 0.9 * peak[:, None])
    first = np.where(local.any(axis=1), local.argmax(axis=1) + 1, ratio.argmax(axis=1))
    loud = energy[:, 0] > 1e-4 * np.percentile(energy, 95)
    voiced = (peak > VOICED) & loud
    hertz = RATE / lags[first]
    voiced, hertz = _median(voiced.astype(np.float64)) > 0.5, _median(hertz)
    if not voiced.any():
        return Pitch(np.full(frames, 120.0), voiced)
    known = np.flatnonzero(voiced)
    return Pitch(np.interp(np.arange(frames), known, hertz[known]), voiced)


def _median(track: Float64, size: int = 5) -> Float64:
    padded = np.pad(track, size // 2, mode="edge")
    middle: Float64 = np.median(np.lib.stride_tricks.sliding_window_view(padded, size), axis=1)
    return middle

"""Vocoders that keep the waveform: pitch periods moved about (PSOLA), and a lapped transform sent in few bits."""

from __future__ import annotations

import numpy as np

from spoofspan.corpus.frames import RATE, Float64, at_samples
from spoofspan.corpus.vocoders import find_pitch

SHIFTS = (0.84, 0.92, 1.09, 1.19)  # factors on the pitch
BLOCK = 320  # coefficients of the transform: 20 ms
CODED_BANDS = np.unique(np.geomspace(4, BLOCK, 21).astype(np.int64))
STEPS_PER_BAND = 1.6  # a coefficient is rounded to so many of its band's RMS


def overlap_add(sound: Float64, rng: np.random.Generator) -> Float64:
    """Another melody: windows of two periods around each pulse, put down at other distances (PSOLA)."""
    pitch = find_pitch(sound)
    hertz = at_samples(pitch.hertz, sound.size)
    factor = float(rng.choice(SHIFTS))
    marks = _marks(sound, hertz)
    voiced = at_samples(pitch.voiced.astype(np.float64), sound.size) > 0.5
    out, weight = np.zeros(sound.size), np.zeros(sound.size)
    place = float(marks[0])
    while place < sound.size:
        at = min(int(place), sound.size - 1)
        mark = int(marks[np.abs(marks - place).argmin()])
        period = max(int(RATE / hertz[mark]), 16)
        first, last = max(-period, -mark, -at), min(period, sound.size - mark, sound.size - at)
        window = np.hanning(2 * period + 1)[period + first : period + last]
        out[at + first : at + last] += sound[mark + first : mark + last] * window
        weight[at + first : at + last] += window
        place += RATE / hertz[at] / (factor if voiced[at] else 1.0)
    return np.where(weight > 0.05, out / np.maximum(weight, 0.05), sound)


def _marks(sound: Float64, hertz: Float64) -> Float64:
    """One place in each period, at its loudest sample where the last one leaves room for it."""
    marks = []
    place = 0.0
    while place < sound.size:
        period = RATE / hertz[int(place)]
        low, high = int(max(place - period / 4, 0)), int(min(place + period / 4 + 1, sound.size))
        marks.append(float(low + np.abs(sound[low:high]).argmax()))
        place = max(marks[-1], place) + period
    return np.array(marks)


def transform_codec(sound: Float64, rng: np.random.Generator) -> Float64:
    """A small codec: a lapped cosine transform, each band rounded to steps of its own size; small ones become noise."""
    blocks = -(-sound.size // BLOCK) + 1
    padded = np.zeros((blocks + 1) * BLOCK)
    padded[BLOCK : BLOCK + sound.size] = sound
    window = np.sin(np.pi * (np.arange(2 * BLOCK) + 0.5) / (2 * BLOCK))
    cut = np.lib.stride_tricks.sliding_window_view(padded, 2 * BLOCK)[::BLOCK] * window
    coefficients = _lapped(cut)
    starts = np.concatenate(([0], CODED_BANDS[:-1]))
    widths = np.diff(starts, append=BLOCK)
    size = np.sqrt(np.add.reduceat(coefficients**2, starts, axis=1) / widths)
    step = np.repeat(STEPS_PER_BAND * size, widths, axis=1) + 1e-12
    sent = np.rint(coefficients / step) * step
    lost = sent == 0
    noise = 0.3 * step * rng.uniform(-1, 1, sent.shape)
    back = _lapped_back(np.where(lost, noise, sent)) * window
    out = np.zeros(padded.size)
    for block, piece in enumerate(back):
        out[block * BLOCK : (block + 2) * BLOCK] += piece
    return out[BLOCK : BLOCK + sound.size]


def _lapped(cut: Float64) -> Float64:
    """The modified discrete cosine transform, by an FFT of twice the length."""
    turned = cut * np.exp(-1j * np.pi * np.arange(2 * BLOCK) / (2 * BLOCK))
    spectrum = np.fft.fft(turned, axis=1)[:, :BLOCK]
    shift = np.exp(-1j * np.pi / BLOCK * (np.arange(BLOCK) + 0.5) * (0.5 + BLOCK / 2))
    real: Float64 = np.real(spectrum * shift) * np.sqrt(2 / BLOCK)
    return real


def _lapped_back(coefficients: Float64) -> Float64:
    """Its inverse, before the windows are added."""
    shift = np.exp(1j * np.pi / BLOCK * (np.arange(BLOCK) + 0.5) * (0.5 + BLOCK / 2))
    padded = np.zeros((len(coefficients), 2 * BLOCK), np.complex128)
    padded[:, :BLOCK] = coefficients * shift
    turned = np.fft.ifft(padded, axis=1) * 2 * BLOCK * np.exp(1j * np.pi * np.arange(2 * BLOCK) / (2 * BLOCK))
    real: Float64 = np.real(turned) * np.sqrt(2 / BLOCK)
    return real

"""Vocoders that keep parameters alone: envelope and voicing of bands, or the strongest partials."""

from __future__ import annotations

import numpy as np

from spoofspan.corpus.frames import (
    FREQUENCIES,
    RATE,
    SIZE,
    STEP,
    Complex128,
    Float64,
    add_noise,
    add_pulses,
    at_samples,
    frames_in,
    pulses_of,
    smoothed,
)
from spoofspan.corpus.vocoders import find_pitch

WINDOW = 480  # samples
LIFTER = 24  # cepstral coefficients that are kept of an envelope
VOICED_UP_TO = np.array([500.0, 1500.0, 3000.0, 4500.0, 8000.0])  # Hz: each band is mixed of pulses and noise
PARTIALS = 40
PARTIAL_HOP = 160  # samples


def mixed_excitation(sound: Float64, rng: np.random.Generator) -> Float64:
    """Pulses and noise, mixed in each band, through a smooth envelope of minimum phase (as WORLD and MELP do)."""
    pitch = find_pitch(sound)
    power = np.abs(np.fft.rfft(_windows(sound, WINDOW) * np.hanning(WINDOW), SIZE)) ** 2
    power /= np.sum(np.hanning(WINDOW) ** 2)
    envelope = _minimum_phase(np.log(smoothed(power, 3) + 1e-12) / 2)
    tones = _voicing(pitch.voiced)
    _, times = pulses_of(np.cumsum(at_samples(pitch.hertz, sound.size) / RATE))
    rows = np.minimum(np.rint(times / STEP).astype(np.int64), len(envelope) - 1)
    gains = np.sqrt(RATE / pitch.hertz[rows])
    pulses = add_pulses(times, gains, envelope[rows] * np.sqrt(tones[rows]), sound.size)
    return pulses + add_noise(rng.standard_normal(sound.size), envelope * np.sqrt(1 - tones))


def _windows(sound: Float64, size: int) -> Float64:
    """Windows around each frame of 5 ms."""
    frames = frames_in(sound.size)
    padded = np.pad(sound, (size // 2, (frames - 1) * STEP + size))
    return np.lib.stride_tricks.sliding_window_view(padded, size)[::STEP][:frames]


def _minimum_phase(logarithm: Float64) -> Complex128:
    """The envelope of which the logarithm is given: its smooth part, with the phase that belongs to it."""
    cepstrum = np.fft.irfft(logarithm, SIZE)
    cepstrum[:, LIFTER:] = 0.0
    cepstrum[:, 1:LIFTER] *= 2
    smooth: Complex128 = np.exp(np.fft.rfft(cepstrum, SIZE))
    return smooth


def _voicing(voiced: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Float64:
    """The share of pulses at each frequency: less of them the higher it is, none where nothing is voiced."""
    share = np.interp(FREQUENCIES, VOICED_UP_TO, [0.98, 0.95, 0.8, 0.5, 0.2])
    tones: Float64 = smoothed(voiced.astype(np.float64), 5)[:, None] * share[None, :]
    return np.clip(tones, 0.0, 1.0)


def sinusoidal(sound: Float64, rng: np.random.Generator) -> Float64:
    """The strongest partials of every 10 ms, with phases that start anew (McAulay and Quatieri, but no tracks)."""
    frames = -(-sound.size // PARTIAL_HOP) + 1
    size = 4 * PARTIAL_HOP
    padded = np.pad(sound, (size // 2, frames * PARTIAL_HOP + size))
    cut = np.lib.stride_tricks.sliding_window_view(padded, size)[::PARTIAL_HOP][:frames]
    window = np.hanning(size)
    magnitudes = np.abs(np.fft.rfft(cut * window, SIZE)) * 2 / window.sum()
    peaks = np.zeros_like(magnitudes)
    inner = magnitudes[:, 1:-1]
    peaks[:, 1:-1] = inner * ((inner >= magnitudes[:, :-2]) & (inner > magnitudes[:, 2:]))
    few = np.argsort(-peaks, axis=1, kind="stable")[:, :PARTIALS]
    amplitudes = np.take_along_axis(peaks, few, axis=1)
    time = np.arange(-PARTIAL_HOP, PARTIAL_HOP)
    fade = np.hanning(2 * PARTIAL_HOP + 1)[:-1]
    start = rng.random((few.shape[1],))  # of partials by their rank: a phase that nothing connects with the one before
    phases = 2 * np.pi * (FREQUENCIES[few][:, :, None] / RATE * time[None, None, :] + start[None, :, None])
    pieces = (amplitudes[:, :, None] * np.cos(phases)).sum(axis=1) * fade
    out = np.zeros((frames + 1) * PARTIAL_HOP)
    for frame, piece in enumerate(pieces):
        out[frame * PARTIAL_HOP : (frame + 2) * PARTIAL_HOP] += piece
    return out[PARTIAL_HOP : PARTIAL_HOP + sound.size]

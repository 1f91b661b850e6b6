"""Four vocoders: each analyses speech, throws something away, and makes it anew. ``vocoder_families.py`` lists all.

The two parametric ones take part of their noise from a short table that repeats, as small codecs do. None of them
changes levels or the long-term spectrum much: the traces are in the fine structure.

Pitch by autocorrelation, as the parametric vocoders need it.

Short-time spectra and back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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

WINDOW, HOP = 1024, 256  # 64 and 16 ms


def _window(size: int) -> Float64:
    shape: Float64 = np.sin(np.pi * (np.arange(size) + 0.5) / size)
    return shape


def analyse(sound: Float64, hop: int = HOP) -> Complex128:
    """Spectra of overlapping windows, one row each; the first window is centred on the first sample."""
    frames = -(-sound.size // hop) + 1
    padded = np.zeros((frames - 1) * hop + WINDOW)
    padded[WINDOW // 2 : WINDOW // 2 + sound.size] = sound
    cut = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::hop]
    return np.fft.rfft(cut * _window(WINDOW))


def resynthesise(spectra: Complex128, samples: int, hop: int = HOP) -> Float64:
    """The sound whose spectra come closest to these (Griffin and Lim, 1984); windows overlap by a multiple of hop."""
    window = _window(WINDOW)
    pieces = np.fft.irfft(spectra, WINDOW) * window
    sound = _overlapped(pieces, hop)
    weight = _overlapped(np.broadcast_to(window**2, pieces.shape), hop)
    middle = slice(WINDOW // 2, WINDOW // 2 + samples)
    return sound[middle] / np.maximum(weight[middle], 1e-8)


def _overlapped(pieces: Float64, hop: int) -> Float64:
    """Add pieces, each ``hop`` after the one before."""
    count, size = pieces.shape
    per_piece = -(-size // hop)
    out = np.zeros((count + per_piece, hop))
    for part in range(per_piece):
        block = pieces[:, part * hop : (part + 1) * hop]
        out[part : part + count, : block.shape[1]] += block
    return out.ravel()


LOWEST, HIGHEST = 65.0, 400.0  # Hz
PITCH_WINDOW = 640  # samples: 40 ms
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
    padded = np.zeros((frames - 1) * STEP + PITCH_WINDOW)
    padded[PITCH_WINDOW // 2 : PITCH_WINDOW // 2 + sound.size] = sound
    cut = np.lib.stride_tricks.sliding_window_view(padded, PITCH_WINDOW)[::STEP] * np.hanning(PITCH_WINDOW)
    power = np.abs(np.fft.rfft(cut, 2 * PITCH_WINDOW)) ** 2
    power /= 1 + (np.fft.rfftfreq(2 * PITCH_WINDOW, 1 / RATE) / LISTENED_TO) ** 4  # high partials need exact periods
    correlation = np.fft.irfft(power)
    own = np.hanning(PITCH_WINDOW)
    window = np.fft.irfft(np.abs(np.fft.rfft(own, 2 * PITCH_WINDOW)) ** 2)
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


MEL_BANDS = 40
ITERATIONS = 10
MOMENTUM = 0.99
ORDER = 16  # of linear prediction
HARMONICS_UP_TO = 2000.0  # Hz
NOISE_BANDS = np.arange(0, FREQUENCIES.size - 1, 32)  # bins where bands of 500 Hz begin
HELD = 4  # frames
TABLE = (130, 260)  # samples of noise that repeat: the length is drawn
REPEATED = 0.7  # amplitude of that noise; the rest of the power is fresh
STRETCH = 1.5

Vocoder = Callable[[Float64, np.random.Generator], Float64]


def griffin_lim(sound: Float64, rng: np.random.Generator) -> Float64:
    """Magnitudes from mel bands, phases by iteration (Griffin and Lim, 1984; fast by Perraudin et al., 2013)."""
    magnitudes = _through_mel(np.abs(analyse(sound)))
    spectra = magnitudes * np.exp(2j * np.pi * rng.random(magnitudes.shape))
    before = np.zeros_like(spectra)
    for _ in range(ITERATIONS):
        consistent = analyse(resynthesise(spectra, sound.size))
        ahead = consistent + MOMENTUM * (consistent - before)
        before = consistent
        spectra = magnitudes * (ahead / np.maximum(np.abs(ahead), 1e-12))
    return resynthesise(spectra, sound.size)


def _through_mel(magnitudes: Float64) -> Float64:
    """Magnitudes as the mel bands tell them: the power of a band is spread evenly, and bands blend into each other."""
    hertz = np.fft.rfftfreq(WINDOW, 1 / RATE)
    mel = 2595 * np.log10(1 + hertz / 700)
    centres = np.linspace(mel[0], mel[-1], MEL_BANDS)
    distance = np.abs(mel[None, :] - centres[:, None])
    near = np.maximum(1 - distance / (centres[1] - centres[0]), 0.0)
    near[np.arange(MEL_BANDS), distance.argmin(axis=1)] += 1e-3  # low bands are narrower than a bin
    near /= near.sum(axis=1, keepdims=True)
    power = magnitudes**2
    bands = np.empty((len(magnitudes), MEL_BANDS))
    for band, weights in enumerate(near):
        inside = np.flatnonzero(weights)
        bands[:, band] = (power[:, inside] * weights[inside]).sum(axis=1)
    position = (mel - centres[0]) / (centres[1] - centres[0])
    low = np.minimum(position.astype(np.int64), MEL_BANDS - 2)
    part = position - low
    told: Float64 = np.sqrt(bands[:, low] * (1 - part) + bands[:, low + 1] * part)
    return told


def linear_prediction(sound: Float64, rng: np.random.Generator) -> Float64:
    """Pulses or noise through an all-pole envelope."""
    pitch = find_pitch(sound)
    envelope = _all_pole(sound)
    _, times = pulses_of(np.cumsum(at_samples(pitch.hertz, sound.size) / RATE))
    rows = np.rint(times / STEP).astype(np.int64)
    loud = np.sqrt(RATE / pitch.hertz[rows]) * pitch.voiced[rows]
    pulses = add_pulses(times, loud, envelope[rows], sound.size)
    unvoiced = smoothed((~pitch.voiced).astype(np.float64), 3)
    return pulses + add_noise(_table_noise(sound.size, rng), envelope * unvoiced[:, None])


def _all_pole(sound: Float64) -> Complex128:
    """The all-pole envelope of each frame, scaled to the frame's power (Levinson-Durbin, all frames at once)."""
    window = np.hanning(400)
    correlation = np.fft.irfft(np.abs(np.fft.rfft(_cut(sound, 400) * window, SIZE)) ** 2)[:, : ORDER + 1]
    correlation = correlation / np.sum(window**2)
    lag = np.arange(ORDER + 1)
    correlation *= np.exp(-0.5 * (2 * np.pi * 40.0 * lag / RATE) ** 2)  # widens peaks by 40 Hz
    correlation[:, 0] = correlation[:, 0] * (1 + 1e-5) + 1e-12
    frames = len(correlation)
    coefficients = np.zeros((frames, ORDER + 1))
    coefficients[:, 0] = 1.0
    error = correlation[:, 0].copy()
    for order in range(1, ORDER + 1):
        past = (coefficients[:, :order] * correlation[:, order:0:-1]).sum(axis=1)
        reflection = -past / error
        coefficients[:, : order + 1] += reflection[:, None] * coefficients[:, order::-1][:, : order + 1]
        error *= 1 - reflection**2
    envelope: Complex128 = np.sqrt(error)[:, None] / np.fft.rfft(coefficients, SIZE)
    return envelope


def _table_noise(samples: int, rng: np.random.Generator) -> Float64:
    """White noise of power 1, much of it from a table that repeats."""
    table = rng.standard_normal(int(rng.integers(*TABLE)))
    table /= np.sqrt(np.mean(table**2))
    fresh = rng.standard_normal(samples)
    noise: Float64 = REPEATED * np.resize(table, samples) + np.sqrt(1 - REPEATED**2) * fresh
    return noise


def _cut(sound: Float64, size: int) -> Float64:
    """Windows around each frame of 5 ms."""
    frames = frames_in(sound.size)
    padded = np.zeros((frames - 1) * STEP + size)
    padded[size // 2 : size // 2 + sound.size] = sound
    return np.lib.stride_tricks.sliding_window_view(padded, size)[::STEP]


def harmonics_and_noise(sound: Float64, rng: np.random.Generator) -> Float64:
    """Harmonics with smooth amplitudes and locked phases, noise above and in unvoiced frames."""
    pitch = find_pitch(sound)
    window = np.hanning(480)
    magnitudes = np.abs(np.fft.rfft(_cut(sound, 480) * window, SIZE)) / np.sqrt(np.sum(window**2))
    voiced = smoothed(pitch.voiced.astype(np.float64), 5)
    hertz = at_samples(pitch.hertz, sound.size)
    phase = 2 * np.pi * np.cumsum(hertz / RATE)
    harmonic = np.zeros(sound.size)
    frames = np.arange(len(magnitudes))
    for number in range(1, int(HARMONICS_UP_TO / pitch.hertz.min()) + 1):
        frequency = pitch.hertz * number
        at = np.minimum(frequency * SIZE / RATE, FREQUENCIES.size - 2)
        low = at.astype(np.int64)
        amplitude = magnitudes[frames, low] * (1 - at + low) + magnitudes[frames, low + 1] * (at - low)
        # a harmonic of amplitude a has the peak a / 2 * sum(window) in the spectrum
        amplitude *= 2 * np.sqrt(np.sum(window**2)) / np.sum(window) * voiced * (frequency < HARMONICS_UP_TO)
        harmonic += at_samples(amplitude, sound.size) * np.cos(number * phase + 0.05 * number**2)
    noisy = 1 - voiced[:, None] * (FREQUENCIES < HARMONICS_UP_TO)[None, :]
    return harmonic + add_noise(_table_noise(sound.size, rng), _coarse(magnitudes) * noisy)


def _coarse(magnitudes: Float64) -> Float64:
    """Magnitudes as a small codec sends them: one number per band, every 20 ms."""
    bands = np.add.reduceat(magnitudes**2, NOISE_BANDS, axis=1)
    widths = np.diff(NOISE_BANDS, append=FREQUENCIES.size)
    sent = (bands / widths)[np.arange(len(bands)) // HELD * HELD]
    told: Float64 = np.sqrt(np.repeat(sent, widths, axis=1))
    return told


def phase_vocoder(sound: Float64, rng: np.random.Generator) -> Float64:
    """Slower and faster again by half, each partial with a phase of its own (Flanagan and Golden, 1966)."""
    slow = _stretched(sound, STRETCH)
    back = _stretched(slow, sound.size / slow.size)
    return back[: sound.size]


def _stretched(sound: Float64, factor: float) -> Float64:
    """Change the length, not the pitch."""
    spectra = analyse(sound)
    samples = round(sound.size * factor)
    places = np.arange(0, -(-samples // HOP) + 1) / factor
    low = np.minimum(places.astype(np.int64), len(spectra) - 2)
    part = np.clip(places - low, 0.0, 1.0)[:, None]
    magnitudes = np.abs(spectra[low]) * (1 - part) + np.abs(spectra[low + 1]) * part
    expected = 2 * np.pi * HOP * np.arange(spectra.shape[1]) / WINDOW
    turned = np.angle(spectra[low + 1]) - np.angle(spectra[low]) - expected
    advance = expected + turned - 2 * np.pi * np.round(turned / (2 * np.pi))
    phases = np.cumsum(np.concatenate((np.angle(spectra[:1]), advance[:-1])), axis=0)
    return resynthesise(magnitudes * np.exp(1j * phases), samples)

"""Sound from frames: pulses and noise sent through a filter that changes every 5 ms.

Frame k is about the samples around ``k * STEP``. A filter is given by its response at ``FREQUENCIES``, one row per
frame. Each pulse, and each short stretch of noise, is filtered by the response of its moment, and all are added::

    pulse       |          |          |
    response    h_0        h_2        h_4           sum of h_k(t - t_k)

The same machine makes the voices and several vocoders. Nothing here is a matrix product: those may come out
differently by the last bit from one number of threads to another.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spoofspan.base.times import Float64, Int64

Complex128 = npt.NDArray[np.complex128]

RATE = 16_000  # samples per second, of everything in a corpus
STEP = 80  # samples per frame: 5 ms
SIZE = 1024  # samples that a response may last: 64 ms
DELAY = 256  # samples of it that lie before the pulse (a glottal pulse rises before it breaks off)
FREQUENCIES: Float64 = np.linspace(0.0, RATE / 2, SIZE // 2 + 1)


def cut(sound: Float64, size: int, step: int = STEP) -> Float64:
    """Windows of an even size, one row each; the first is centred on the first sample, and silence lies around."""
    frames = -(-sound.size // step) + 1
    padded = np.zeros((frames - 1) * step + size)
    padded[size // 2 : size // 2 + sound.size] = sound
    return np.lib.stride_tricks.sliding_window_view(padded, size)[::step]


def at_samples(track: Float64, samples: int) -> Float64:
    """A track of one value per frame, in between the frames as well."""
    return np.interp(np.arange(samples) / STEP, np.arange(track.size), track)


def pulses_of(phase: Float64) -> tuple[Int64, Float64]:
    """Passages of a phase, in turns, through whole numbers: the samples before, and the exact times in samples."""
    before = np.flatnonzero(np.floor(phase[1:]) > np.floor(phase[:-1]))
    times: Float64 = before + (np.floor(phase[before + 1]) - phase[before]) / (phase[before + 1] - phase[before])
    return before, times


def add_pulses(times: Float64, gains: Float64, responses: npt.NDArray[np.inexact], samples: int) -> Float64:
    """Sound of pulses at times (in samples, any fraction), each with the response of its own row."""
    out = np.zeros(samples + SIZE + DELAY)
    whole = np.floor(times)
    shift = np.exp(-2j * np.pi / SIZE * np.outer(times - whole + DELAY, np.arange(FREQUENCIES.size)))
    sounds = np.fft.irfft(responses * shift * gains[:, None], SIZE)
    for start, sound in zip(whole.astype(np.int64).tolist(), sounds, strict=True):
        out[start : start + SIZE] += sound
    return out[DELAY : DELAY + samples]


def add_noise(noise: Float64, responses: npt.NDArray[np.inexact]) -> Float64:
    """Noise through the response of each frame; neighbouring frames fade into each other."""
    samples = noise.size
    window = np.sin(np.pi * (np.arange(2 * STEP) + 0.5) / (2 * STEP)) ** 2  # neighbours add up to 1
    pieces = cut(noise, 2 * STEP) * window
    sounds = np.fft.irfft(np.fft.rfft(pieces, SIZE) * responses[: len(pieces)], SIZE)
    out = np.zeros((len(sounds) + 1) * STEP + SIZE)
    for k, sound in enumerate(sounds):
        out[k * STEP : k * STEP + SIZE] += sound
    return out[STEP : STEP + samples]


def resonator(frequency: Float64, bandwidth: Float64) -> Complex128:
    """Response of a formant in each frame: two poles, gain 1 at 0 Hz."""
    radius = np.exp(-np.pi * bandwidth / RATE)[:, None]
    centre = 2 * radius * np.cos(2 * np.pi * frequency / RATE)[:, None]
    z = np.exp(-2j * np.pi * FREQUENCIES / RATE)[None, :]
    response: Complex128 = (1 - centre + radius**2) / (1 - centre * z + radius**2 * z**2)
    return response


def smoothed(track: Float64, frames: int) -> Float64:
    """A track rounded off over an odd number of frames, along the first axis."""
    kernel = np.hanning(frames + 2)[1:-1]
    kernel /= kernel.sum()
    half = frames // 2
    padded = np.concatenate((np.repeat(track[:1], half, axis=0), track, np.repeat(track[-1:], half, axis=0)))
    return np.apply_along_axis(np.convolve, 0, padded, kernel, mode="valid")

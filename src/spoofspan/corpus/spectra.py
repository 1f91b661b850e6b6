"""Short-time spectra and back."""

from __future__ import annotations

import numpy as np

from spoofspan.corpus.frames import Complex128, Float64

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

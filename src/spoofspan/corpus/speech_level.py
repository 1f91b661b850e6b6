"""Active speech level after ITU-T P.56, method B: the power while someone speaks.

The envelope of the sound passes two exponential averages of 30 ms. For each of 15 thresholds, a factor of two apart,
time counts as active while the envelope is above it and for 200 ms afterwards. The level over the active time falls as
more time counts; the level that is 15.9 dB above its own threshold is the active speech level. Between two thresholds
it is interpolated linearly (the ITU's program searches in halves, to half a decibel).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spoofspan.base.times import Float64
from spoofspan.corpus.frames import RATE

SMOOTHING = 0.03  # seconds
HANGOVER = 0.2  # seconds
MARGIN = 15.9  # dB
THRESHOLDS = 2.0 ** np.arange(-15, 0)  # of full scale, for samples of 16 bits
NEGLIGIBLE = 40  # time constants: exp(-40) is below the last bit of a double


def p56_level(sound: Float64) -> float | None:
    """Active speech level in dBov; None where the sound is too soft for the thresholds (below about -74 dBov).

    >>> sine = np.sin(2 * np.pi * 200 * np.arange(5 * RATE) / RATE)
    >>> round(p56_level(0.1 * sine), 1)  # all of it is active: its RMS
    -23.0
    """
    energy = float(np.sum(sound**2))
    if not energy:
        return None
    envelope = _envelope(sound)
    active = np.array([_active_samples(envelope >= threshold) for threshold in THRESHOLDS.tolist()])
    heard = int(np.count_nonzero(active))  # higher thresholds are never reached
    levels = 10 * np.log10(energy / active[:heard])
    above = levels - 20 * np.log10(THRESHOLDS[:heard])
    reached = np.flatnonzero(above <= MARGIN)
    if not reached.size or not reached[0]:
        return None
    upper = int(reached[0])
    part = (above[upper - 1] - MARGIN) / (above[upper - 1] - above[upper])
    return float(levels[upper - 1] + part * (levels[upper] - levels[upper - 1]))


def _envelope(sound: Float64) -> Float64:
    """Two exponential averages of the magnitude, one after the other, as a convolution."""
    decay = np.exp(-1 / (SMOOTHING * RATE))
    time = np.arange(min(round(NEGLIGIBLE * SMOOTHING * RATE), sound.size))
    response = (1 - decay) ** 2 * (time + 1) * decay**time
    size = 1 << (sound.size + response.size - 2).bit_length()
    both: Float64 = np.fft.irfft(np.fft.rfft(np.abs(sound), size) * np.fft.rfft(response, size), size)
    return both[: sound.size]


def _active_samples(is_above: npt.NDArray[np.bool_]) -> int:
    """Samples above a threshold, and up to 200 ms after each.

    >>> _active_samples(np.array([False, True, False, False]))
    3
    """
    places = np.flatnonzero(is_above)
    if not places.size:
        return 0
    hangover = int(np.ceil(HANGOVER * RATE))
    until_next = np.diff(np.append(places, is_above.size)) - 1
    return places.size + int(np.minimum(until_next, hangover).sum())

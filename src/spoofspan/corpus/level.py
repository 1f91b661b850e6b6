"""Levels in dBov: 0 dB is a square wave at full scale, so a sound of RMS 0.05 has -26 dBov."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spoofspan.corpus.frames import Float64

SILENT = -120.0  # dBov; softer than the last bit of 16
HIGHEST_PEAK = 0.99

Span = tuple[int, int]  # samples, half-open


def level_of(sound: Float64) -> float:
    """The RMS level.

    >>> round(level_of(np.full(100, 0.05)), 2)
    -26.02
    """
    power = float(np.mean(sound**2)) if sound.size else 0.0
    return max(10 * float(np.log10(power)), SILENT) if power > 0 else SILENT


def active_level(sound: Float64, speech: Sequence[Span]) -> float:
    """The level of the speech, pauses left out."""
    return level_of(np.concatenate([sound[start:end] for start, end in speech]) if speech else sound)


def gain_to(target: float, sound: Float64, speech: Sequence[Span]) -> float:
    """The factor that brings speech to a level; less of it where the loudest sample would not fit into a file."""
    gain = 10 ** ((target - active_level(sound, speech)) / 20)
    peak = float(np.abs(sound).max(initial=0.0))
    return float(min(gain, HIGHEST_PEAK / peak)) if peak else 1.0

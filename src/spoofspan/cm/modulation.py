"""How fast the levels of a recording rise and fall: its modulation spectrum, collected while it is heard.

Speech of one kind has the same rhythm through any channel: syllables come at 2 to 8 Hz, phones and noise faster.
Levels are those of :mod:`spoofspan.cm.listening`, every 20 ms, in six wide bands. Their power spectra are summed over
segments of 1.28 s that overlap by half (Welch's method), so a recording may have any length::

    number = power of the changes at 0.5 to 2, 2 to 4, 4 to 8, 8 to 16 or 16 to 25 Hz, less that of all; in dB
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from spoofspan.base.times import Float64

FRAMES_PER_SECOND = 50
SEGMENT, ADVANCE = 64, 32  # frames
WIDE_BANDS = 6
RATES = (0.5, 2.0, 4.0, 8.0, 16.0, 25.0)  # Hz, between which changes are summed
FLOOR = 1e-3  # dB squared: no change at all
WINDOW = np.hanning(SEGMENT)[:, None]


@dataclass
class Modulation:
    """The power of what changes how fast, in each band, of the segments heard so far."""

    power: Float64 = field(default_factory=lambda: np.zeros((SEGMENT // 2 + 1, WIDE_BANDS)))
    _rest: Float64 = field(default_factory=lambda: np.zeros((0, WIDE_BANDS)))  # begins at the next segment
    _segments: int = 0

    def hear(self, levels: Float64) -> None:
        """Take in the levels (dB) of the next frames in the wide bands, a row each."""
        waiting = np.concatenate((self._rest, levels))
        count = max((len(waiting) - SEGMENT) // ADVANCE + 1, 0)
        if count:
            views = np.lib.stride_tricks.sliding_window_view(waiting, SEGMENT, axis=0)[::ADVANCE][:count]
            self._add(views.transpose(0, 2, 1), WINDOW)
        self._rest = waiting[count * ADVANCE :]

    def end(self) -> None:
        """No more is coming: the last frames are a shorter segment, if they were in none."""
        if len(self._rest) > ADVANCE or (self._segments == 0 and len(self._rest)):
            self._add(self._rest[None], np.hanning(len(self._rest))[:, None])
        self._rest = self._rest[:0]

    def _add(self, segments: Float64, window: Float64) -> None:
        spectra = np.fft.rfft((segments - segments.mean(axis=1, keepdims=True)) * window, SEGMENT, axis=1)
        self.power += (spectra.real**2 + spectra.imag**2).sum(axis=0)
        self._segments += len(segments)

    @property
    def numbers(self) -> Float64:
        """The share of each range of rates in each band, in dB: (rates, bands)."""
        rate = np.fft.rfftfreq(SEGMENT, 1 / FRAMES_PER_SECOND)
        place = np.searchsorted(RATES[1:-1], rate, side="right")
        some = rate >= RATES[0]
        sums = np.stack([self.power[some & (place == k)].sum(axis=0) for k in range(len(RATES) - 1)])
        found: Float64 = 10 * np.log10((sums + FLOOR) / (self.power[some].sum(axis=0) + FLOOR))
        return found

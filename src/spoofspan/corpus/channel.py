"""One channel for both classes: a band-pass, and noise, so that neither a band nor silence tells spoof from bona fide.

Vocoders and codecs lose the rumble of a room and the band near 8 kHz. A corpus that keeps them on one side is solved by
looking there. The channel takes them away on both sides::

    recording -> band-pass -> level -> joints -> noise -> 16 bits

The band-pass is a windowed sinc of linear phase (Kaiser), its delay taken out: 6 dB down at both edges, ``ATTENUATION``
dB down half of ``TRANSITION`` outside of them. An edge at 0 Hz or at half of the sample rate is no edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.base.times import Float64
from spoofspan.formats.sound import RATE

ATTENUATION = 100.0  # dB
TRANSITION = 100.0  # Hz
NOISE = -90.0  # dBov: about one step of 16 bits
SPELLING = "write it as LOW:HIGH in Hz, such as 150:6850, and the noise in dBov if it is not -90: 150:6850:-80; or none"


@dataclass(frozen=True)
class Channel:
    """A band-pass from ``low`` to ``high`` Hz, and white noise of a level in dBov (None: no noise).

    >>> Channel.parse("150:6850")
    Channel(low=150.0, high=6850.0, noise=-90.0)
    >>> Channel(150.0, 6850.0).taps().size
    1027
    """

    low: float = 0.0
    high: float = RATE / 2
    noise: float | None = NOISE

    def __post_init__(self) -> None:
        """Refuse what is no band, and noise that would be louder than speech."""
        if not 0 <= self.low < self.high <= RATE / 2:
            raise UsageError(f"channel={self.spelled}: the band must lie between 0 and {RATE // 2} Hz; {SPELLING}")
        if (0 < self.low < TRANSITION / 2) or (RATE / 2 - TRANSITION / 2 < self.high < RATE / 2):
            raise UsageError(
                f"channel={self.spelled}: an edge within {TRANSITION / 2:g} Hz of 0 or {RATE // 2} Hz cannot be made; "
                "write 0 or 8000 to have none there"
            )
        if self.noise is not None and not -120 <= self.noise <= -30:
            raise UsageError(f"channel={self.spelled}: the noise must be between -120 and -30 dBov")

    @classmethod
    def parse(cls, text: str) -> Channel:
        """Read ``LOW:HIGH``, ``LOW:HIGH:NOISE`` or ``none``."""
        if text == "none":
            return OPEN
        edges = text.split(":")
        try:
            low, high = map(float, edges[:2])
            noise = NOISE if len(edges) == 2 else None if edges[2] == "none" else float(edges[2])
        except (ValueError, IndexError):
            raise UsageError(f"channel={text!r}: {SPELLING}") from None
        if len(edges) > 3:
            raise UsageError(f"channel={text!r}: {SPELLING}")
        return cls(low, high, noise)

    @property
    def spelled(self) -> str:
        """As it is typed."""
        return f"{self.low:g}:{self.high:g}:{'none' if self.noise is None else format(self.noise, 'g')}"

    @property
    def has_band(self) -> bool:
        """Whether there is anything to filter."""
        return self.low > 0 or self.high < RATE / 2

    def taps(self) -> Float64:
        """The impulse response of the band-pass, odd and symmetric."""
        if not self.has_band:
            return np.ones(1)
        width = 2 * np.pi * TRANSITION / RATE
        half = int(np.ceil((ATTENUATION - 7.95) / (2.285 * width) / 2))  # Kaiser's formula for the order
        time = np.arange(-half, half + 1)
        ideal = (self.high * np.sinc(2 * self.high * time / RATE) - self.low * np.sinc(2 * self.low * time / RATE)) * 2
        taps: Float64 = ideal / RATE * np.kaiser(time.size, 0.1102 * (ATTENUATION - 8.7))
        return taps

    def filtered(self, sound: Float64) -> Float64:
        """The sound through the band-pass, as long as before and not delayed."""
        return _filtered(sound, _taps(self)) if self.has_band else sound

    def noisy(self, sound: Float64, rng: np.random.Generator) -> Float64:
        """The sound with the noise of the channel."""
        return sound if self.noise is None else sound + 10 ** (self.noise / 20) * rng.standard_normal(sound.size)

    def to_dict(self) -> dict[str, Any]:
        """Everything that decides what it does, ready for JSON."""
        exact = {"low_hz": self.low, "high_hz": self.high, "noise_dbov": self.noise}
        if not self.has_band:
            return exact
        return {
            **exact,
            "filter": "FIR, sinc with a Kaiser window, 6 dB down at the edges",
            "attenuation_db": ATTENUATION,
            "transition_hz": TRANSITION,
            "taps": self.taps().size,
        }


OPEN = Channel(noise=None)  # nothing is changed


@lru_cache(4)
def _taps(channel: Channel) -> Float64:
    return channel.taps()


def _filtered(sound: Float64, taps: Float64) -> Float64:
    """Convolution by FFT, the middle of it."""
    samples, half = sound.size, taps.size // 2
    size = 1 << (samples + taps.size - 2).bit_length()
    both: Float64 = np.fft.irfft(np.fft.rfft(sound, size) * np.fft.rfft(taps, size), size)
    return both[half : half + samples]

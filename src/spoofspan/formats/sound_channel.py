"""One channel for both classes: a band-pass, and noise, so that neither a band nor silence tells spoof from bona fide.

Vocoders and codecs lose the rumble of a room and the band near 8 kHz. A corpus that keeps them on one side is solved by
looking there. The channel takes them away on both sides::

    recording -> band-pass -> level -> joints -> noise -> 16 bits

The band-pass is a windowed sinc of linear phase (Kaiser), its delay taken out: 6 dB down at both edges, ``ATTENUATION``
dB down half of ``TRANSITION`` outside of them. An edge at 0 Hz or at half of the sample rate is no edge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.base.times import Float64
from spoofspan.formats.sound import RATE, Samples, Sound

ATTENUATION = 100.0  # dB
TRANSITION = 100.0  # Hz
NOISE = -90.0  # dBov: about one step of 16 bits
LEVEL = -26.0  # dBov: that of speech, unless a corpus says another
LOUD = 30.0  # dB under the loud frames down to which a frame counts as speech
FRAME = 320  # samples by which levels are measured
STATED = re.compile(r"([\d.]+) to ([\d.]+) Hz(?:, noise of (-?[\d.]+) dBov)?")
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
    def stated(self) -> str:
        """As a card of a model says it."""
        if self == OPEN:
            return "none"
        noise = "" if self.noise is None else f", noise of {self.noise:g} dBov"
        return f"{self.low:,g} to {self.high:,g} Hz{noise}"

    @classmethod
    def from_stated(cls, text: str) -> Channel | None:
        """Read what :attr:`stated` wrote; None if it is something else.

        >>> Channel.from_stated("150 to 6,850 Hz, noise of -90 dBov")
        Channel(low=150.0, high=6850.0, noise=-90.0)
        """
        if text == "none":
            return OPEN
        match = STATED.fullmatch(text.replace(",", "", text.count(",") - text.count(", ")))
        try:
            return None if match is None else cls(*(None if one is None else float(one) for one in match.groups()))  # type: ignore[arg-type]
        except (UsageError, ValueError):
            return None

    @property
    def has_band(self) -> bool:
        """True if there is anything to filter."""
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


@dataclass(frozen=True)
class SoundThroughChannel(Sound):
    """A recording through a channel, as a corpus has its recordings: band-pass, level, noise; block by block."""

    through: Channel = OPEN

    @classmethod
    def of(cls, sound: Sound, channel: Channel) -> SoundThroughChannel:
        """The same recording, through a channel."""
        return cls(sound.where, sound.name, sound.channel, sound.truncated, through=channel)

    def blocks(self) -> Iterator[Samples]:
        """The samples at 16 kHz; the recording is read twice, first for its level."""
        gain = 10 ** ((LEVEL - self._level()) / 20)
        random = np.random.default_rng(0)
        for block in self._filtered():
            yield self.through.noisy(gain * block, random).astype(np.float32)

    def _filtered(self) -> Iterator[Float64]:
        """Blocks through the band-pass, together as long as the recording and not delayed."""
        taps = _taps(self.through)
        half, waiting = taps.size // 2, np.zeros(taps.size // 2)
        for block in super().blocks():
            waiting = np.concatenate((waiting, block.astype(np.float64)))
            if waiting.size > 2 * half:
                yield _filtered(waiting, taps)[half : waiting.size - half]
                waiting = waiting[waiting.size - 2 * half :]
        waiting = np.concatenate((waiting, np.zeros(half)))
        if waiting.size > 2 * half:
            yield _filtered(waiting, taps)[half : waiting.size - half]

    def _level(self) -> float:
        """Level of the speech in dBov: of the frames that are not far below the loud ones."""
        powers, rest = [np.zeros(0)], np.zeros(0)
        for block in self._filtered():
            rest = np.concatenate((rest, block))
            whole = rest.size // FRAME * FRAME
            powers.append((rest[:whole].reshape(-1, FRAME) ** 2).mean(axis=1))
            rest = rest[whole:]
        power = np.concatenate(powers)
        if not power.size:
            power = (rest**2).mean(keepdims=True) if rest.size else np.zeros(1)
        loud = power[power >= np.percentile(power, 95) * 10 ** (-LOUD / 10)]
        return 10 * float(np.log10(max(float(loud.mean()), 1e-12)))


@lru_cache(4)
def _taps(channel: Channel) -> Float64:
    return channel.taps()


def _filtered(sound: Float64, taps: Float64) -> Float64:
    """The middle of the convolution."""
    half = taps.size // 2
    return convolved(sound, taps)[half : half + sound.size]


def convolved(sound: Float64, response: Float64) -> Float64:
    """Full convolution by FFT, with zeros after its end."""
    size = 1 << (sound.size + response.size - 2).bit_length()
    both: Float64 = np.fft.irfft(np.fft.rfft(sound, size) * np.fft.rfft(response, size), size)
    return both

"""Hand-made numbers of every frame of 20 ms: spectra, and the structure of sound within a few milliseconds.

A vocoder can have the right spectrum, and still not the pulses of a voice: how sharply each opening of the glottis
excites all bands at once, how rough neighbouring bins and neighbouring moments are, when the energy of a band arrives.

============  =====  ===================================================================================
group         count  what it is
============  =====  ===================================================================================
spectrum      32     log energy of bands that widen with frequency
ripple        16     mean step of the log spectrum from bin to bin, second differences, in bands
flux          16     mean step of the log spectrum from 10 ms to the next, in bands
delay         32     group delay in bands: mean, and mean distance from it
depth         16     deviation of the log envelope of a band, seen through windows of 4 ms
motion        16     mean step of that envelope from millisecond to millisecond
together      41     correlation of the envelopes of bands that are 1, 2 and 4 bands apart
============  =====  ===================================================================================

What looks along time sees 40 ms around a frame, and never what is past the end of a recording.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from spoofspan.base.times import Float64
from spoofspan.cm.frame_times import HOP, WINDOW
from spoofspan.cm.padding import at_least_a_frame, normalised
from spoofspan.formats.sound import RATE

SPECTRUM_HOP = 160  # samples; half of a frame
SHORT, SHORT_HOP = 64, 16  # samples: windows of 4 ms, every millisecond
AROUND = 40  # short windows that a frame looks at
FLOOR = 1e-5  # power below which the spectrum is silence
SHORT_FLOOR = 1e-6
BANDS, ENVELOPES = 32, 16
LOWEST, HIGHEST = 150.0, 6850.0  # Hz: what lies beyond tells recordings apart, not voices
APART = (1, 2, 4)
GROUPS = {"spectrum": BANDS, "ripple": ENVELOPES, "flux": ENVELOPES, "delay": 2 * ENVELOPES}
GROUPS |= {"depth": ENVELOPES, "motion": ENVELOPES, "together": sum(ENVELOPES - one for one in APART)}
COUNT = sum(GROUPS.values())
MOST_REMEMBERED = 1 << 29  # bytes of features that a training keeps in memory: those of four hours

_remembered: dict[bytes, Tensor] | None = None


@contextmanager
def remembered_features() -> Iterator[None]:
    """Compute the features of each recording once while the context lasts, as far as memory for them is allowed."""
    global _remembered
    outer = _remembered
    _remembered = {} if outer is None else outer
    try:
        yield
    finally:
        _remembered = outer


def bands_of(bins: int, count: int, *, widening: bool) -> Tensor:
    """The weight of every bin in every band, (bins, bands), each adding up to one; bands overlap by half."""
    # by NumPy: a model is also built without memory, to count its parameters

    def scale(hertz: Float64) -> Float64:
        return np.log1p(hertz / 700) if widening else hertz

    low, high = scale(np.array([LOWEST, HIGHEST]))
    centres = np.linspace(low, high, count + 2)
    away = np.abs(scale(np.linspace(0, RATE / 2, bins))[:, None] - centres[1:-1])
    weights = np.clip(1 - away / (centres[1] - centres[0]), 0, None)
    weights[away.argmin(0), np.arange(count)] += 1e-3  # a narrow band has at least the bin that is nearest
    return torch.as_tensor((weights / weights.sum(0)).astype(np.float32))


class FrameFeatures(nn.Module):
    """Sound at 16 kHz -> (utterances, frames, features), and how many frames are real. Nothing in it is learned."""

    def __init__(self) -> None:
        super().__init__()
        hann, bins = torch.hann_window(WINDOW), WINDOW // 2 + 1
        for name, value in {
            "hann": hann,
            "ramped": hann * torch.linspace(-1, 1, WINDOW),  # time within a window, from its beginning to its end
            "short": torch.hann_window(SHORT),
            "bands": bands_of(bins, BANDS, widening=True).T.contiguous(),
            "wide": bands_of(bins, ENVELOPES, widening=True).T.contiguous(),
            "short_bands": bands_of(SHORT // 2 + 1, ENVELOPES, widening=False).T.contiguous(),
        }.items():
            self.register_buffer(name, value, persistent=False)

    @torch.no_grad()
    def forward(self, waves: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
        """The features, in the order of :data:`GROUPS`."""
        with torch.autocast(waves.device.type, enabled=False):
            # one by one: what is past the end of a recording is never seen, and what is seen stays in the cache
            found = [self._of_recording(one[:count]) for one, count in zip(waves, samples.tolist(), strict=True)]
        frames = torch.tensor([len(one) for one in found], device=waves.device)
        return nn.utils.rnn.pad_sequence(found, batch_first=True), frames

    def _of_recording(self, wave: Tensor) -> Tensor:
        """(frames, features) of one recording, computed or remembered."""
        key = b"" if _remembered is None else hashlib.blake2b(wave.cpu().numpy().tobytes(), digest_size=16).digest()
        if _remembered is not None and key in _remembered:
            return _remembered[key].to(wave.device)
        sound = normalised(wave.float()[None], torch.tensor([wave.numel()], device=wave.device))[0]
        found = self.of(at_least_a_frame(sound)).T
        if _remembered is not None and 4 * COUNT * sum(map(len, _remembered.values())) < MOST_REMEMBERED:
            _remembered[key] = found.cpu()
        return found

    def of(self, sound: Tensor) -> Tensor:
        """(features, frames) of one recording."""
        frames = (sound.numel() - WINDOW) // HOP + 1
        parts = [*self._spectral(sound), *self._envelopes(sound)]
        return torch.cat([one[:, :frames] for one in parts])

    def _spectral(self, sound: Tensor) -> list[Tensor]:
        x, y = (
            torch.stft(sound, WINDOW, SPECTRUM_HOP, window=one, center=False, return_complex=True)
            for one in (self.hann, self.ramped)
        )
        power = x.real.square() + x.imag.square() + FLOOR
        log = power.log()
        ripple = self.wide[:, 1:-1] @ (log[2:] - 2 * log[1:-1] + log[:-2]).abs()
        flux = self.wide @ (log[:, 1:] - log[:, :-1]).abs()
        flux = nn.functional.pad(flux, (1, 0), mode="replicate") if flux.shape[1] else torch.zeros_like(ripple)
        delay = ((x.real * y.real + x.imag * y.imag) / power).clamp(-1, 1)
        weight = self.wide @ power
        mean = (self.wide @ (delay * power)) / weight
        own = (self.wide.T @ mean) / self.wide.sum(0).clamp(min=1e-3)[:, None]  # of the bands that a bin is in
        spread = (self.wide @ ((delay - own).abs() * power)) / weight
        return [_means(one, 2, 2) for one in ((self.bands @ power).log(), ripple, flux, mean, spread)]

    def _envelopes(self, sound: Tensor) -> list[Tensor]:
        x = torch.stft(sound, SHORT, SHORT_HOP, window=self.short, center=False, return_complex=True)
        log = (self.short_bands @ (x.real.square() + x.imag.square()) + SHORT_FLOOR).log()
        near = log - log.mean(1, keepdim=True)  # squares of small numbers lose nothing
        products = [near[one:] * near[: ENVELOPES - one] for one in (0, *APART)]
        motion = nn.functional.pad((log[:, 1:] - log[:, :-1]).abs(), (1, 0), mode="replicate")
        mean, motion, *squares = _means(torch.cat((near, motion, *products)), AROUND, HOP // SHORT_HOP).split(
            [ENVELOPES, ENVELOPES, *(len(one) for one in products)]
        )
        variance = (squares[0] - mean.square()).clamp(min=1e-4)
        together = [
            (product - mean[one:] * mean[:-one]) / (variance[one:] * variance[:-one]).sqrt()
            for one, product in zip(APART, squares[1:], strict=True)
        ]
        return [variance.sqrt(), motion, *together]


def _means(x: Tensor, size: int, hop: int) -> Tensor:
    """Means over ``size`` steps, every ``hop`` of them, centred on each hop; at the ends, of those that there are."""
    around = (size - hop) // 2
    return nn.functional.avg_pool1d(x[None], size, hop, around, ceil_mode=True, count_include_pad=False)[0]

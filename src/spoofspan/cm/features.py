"""Hand-made numbers of every frame of 20 ms: spectra, and the structure of sound within a few milliseconds.

A vocoder can have the right spectrum, and still not the pulses of a voice: how sharply each opening of the glottis
excites all bands at once, how rough neighbouring bins and neighbouring moments are, when the energy of a band arrives.

============  =====  ===================================================================================
group         count  what it is
============  =====  ===================================================================================
spectrum      32     log energy of bands that widen with frequency
ripple        16     mean step of the log spectrum from bin to bin, second differences, in bands
flux          16     mean step of the log spectrum from 10 ms to the next, in bands
depth         16     deviation of the log envelope of a band, seen through windows of 4 ms
motion        16     mean step of that envelope from millisecond to millisecond
together      41     correlation of the envelopes of bands that are 1, 2 and 4 bands apart
delay         32     group delay in bands: mean, and mean distance from it
============  =====  ===================================================================================

What looks along time sees 40 ms around a frame, and never what is past the end of a recording.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from spoofspan.cm.frame_times import HOP, WINDOW
from spoofspan.cm.padding import normalised, real_steps

SPECTRUM_HOP = 160  # samples; half of a frame
SHORT, SHORT_HOP = 64, 16  # samples: windows of 4 ms, every millisecond
AROUND = 40  # short windows that a frame looks at
FLOOR = 1e-5  # power below which the spectrum is silence
SHORT_FLOOR = 1e-6
BANDS, ENVELOPES = 32, 16
LOWEST, HIGHEST = 150.0, 6850.0  # Hz: what lies beyond tells recordings apart, not voices
APART = (1, 2, 4)
GROUPS = {"spectrum": BANDS, "ripple": ENVELOPES, "flux": ENVELOPES, "depth": ENVELOPES, "motion": ENVELOPES}
GROUPS |= {"together": sum(ENVELOPES - one for one in APART), "delay": 2 * ENVELOPES}
COUNT = sum(GROUPS.values())


def bands_of(bins: int, count: int, *, widening: bool) -> Tensor:
    """The weight of every bin in every band, (bins, bands), each adding up to one; bands overlap by half."""
    frequencies = torch.linspace(0, 8000, bins, dtype=torch.float64)
    low, high = torch.tensor([LOWEST, HIGHEST], dtype=torch.float64)
    scale = (lambda hertz: torch.log1p(hertz / 700)) if widening else (lambda hertz: hertz)
    edges = torch.linspace(float(scale(low)), float(scale(high)), count + 2, dtype=torch.float64)
    at, step = scale(frequencies)[:, None], edges[1] - edges[0]
    weights = (1 - (at - edges[None, 1:-1]).abs() / step).clamp(min=0)
    nearest = (at - edges[None, 1:-1]).abs().argmin(0)
    weights[nearest, torch.arange(count)] += 1e-3  # a narrow band has at least the bin that is nearest
    return (weights / weights.sum(0)).float()


class FrameFeatures(nn.Module):
    """Sound at 16 kHz -> (utterances, frames, features), and how many frames are real. Nothing in it is learned."""

    def __init__(self) -> None:
        super().__init__()
        hann = torch.hann_window(WINDOW)
        ramp = torch.linspace(-1, 1, WINDOW)  # from the beginning of a window to its end
        bins, short = WINDOW // 2 + 1, SHORT // 2 + 1
        for name, value in {
            "hann": hann,
            "ramped": hann * ramp,
            "short": torch.hann_window(SHORT),
            "bands": bands_of(bins, BANDS, widening=True),
            "wide": bands_of(bins, ENVELOPES, widening=True),
            "short_bands": bands_of(short, ENVELOPES, widening=False),
        }.items():
            self.register_buffer(name, value, persistent=False)

    @torch.no_grad()
    def forward(self, waves: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
        """The features, by :data:`GROUPS`."""
        with torch.autocast(waves.device.type, enabled=False):
            frames = ((samples - WINDOW) // HOP + 1).clamp(min=1)
            sound = normalised(waves.float(), samples)
            sound = nn.functional.pad(sound, (0, max(WINDOW - sound.shape[1], 0)))
            parts = [*self._spectral(sound, samples), *self._envelopes(sound, samples)]
            longest = int(frames.max())
            return torch.cat([one[:, :longest] for one in parts], dim=-1), frames

    def _spectral(self, sound: Tensor, samples: Tensor) -> list[Tensor]:
        counts = ((samples - WINDOW) // SPECTRUM_HOP + 1).clamp(min=1)
        how: dict[str, Any] = {"center": False, "return_complex": True}
        x = torch.stft(sound, WINDOW, SPECTRUM_HOP, window=self.hann, **how).transpose(1, 2)
        y = torch.stft(sound, WINDOW, SPECTRUM_HOP, window=self.ramped, **how).transpose(1, 2)
        power = x.real.square() + x.imag.square() + FLOOR
        log = power.log()
        ripple = nn.functional.pad((log[..., 2:] - 2 * log[..., 1:-1] + log[..., :-2]).abs(), (1, 1))
        steps = (log[:, 1:] - log[:, :-1]).abs()
        flux = nn.functional.pad(steps, (0, 0, 1, 0))
        delay = ((y * x.conj()).real / power).clamp(-1, 1)
        weight = power @ self.wide
        mean = ((delay * power) @ self.wide) / weight
        spread = (
            ((delay - mean @ self.wide.T / self.wide.T.sum(0).clamp(min=1e-3)).abs() * power) @ self.wide
        ) / weight
        real = real_steps(counts, x.shape[1])
        real_flux = real.clone()
        real_flux[:, 0] = False
        return [
            _pooled((power @ self.bands).log(), real, 2, 2),
            _pooled(ripple @ self.wide, real, 2, 2),
            _pooled(flux @ self.wide, real_flux, 2, 2),
            _pooled(torch.cat((mean, spread), dim=-1), real, 2, 2),
        ]

    def _envelopes(self, sound: Tensor, samples: Tensor) -> list[Tensor]:
        counts = ((samples - SHORT) // SHORT_HOP + 1).clamp(min=1)
        x = torch.stft(sound, SHORT, SHORT_HOP, window=self.short, center=False, return_complex=True).transpose(1, 2)
        log = ((x.real.square() + x.imag.square()) @ self.short_bands + SHORT_FLOOR).log()
        real = real_steps(counts, log.shape[1])
        mean = _pooled(log, real, AROUND, HOP // SHORT_HOP)
        # what is left of the mean of its frame is small: sums of squares lose nothing
        level = mean.repeat_interleave(HOP // SHORT_HOP, dim=1)[:, : log.shape[1]]
        level = nn.functional.pad(level, (0, 0, 0, log.shape[1] - level.shape[1]))
        near = (log - level).masked_fill(~real[..., None], 0.0)
        mean = _pooled(near, real, AROUND, HOP // SHORT_HOP)
        variance = (_pooled(near.square(), real, AROUND, HOP // SHORT_HOP) - mean.square()).clamp(min=1e-4)
        together = []
        for apart in APART:
            product = _pooled(near[..., apart:] * near[..., :-apart], real, AROUND, HOP // SHORT_HOP)
            covariance = product - mean[..., apart:] * mean[..., :-apart]
            together.append(covariance / (variance[..., apart:] * variance[..., :-apart]).sqrt())
        motion = nn.functional.pad((log[:, 1:] - log[:, :-1]).abs(), (0, 0, 1, 0))
        moving = real.clone()
        moving[:, 0] = False
        return [
            variance.sqrt(),
            _pooled(motion, moving, AROUND, HOP // SHORT_HOP),
            torch.cat(together, dim=-1),
        ]


def _pooled(x: Tensor, real: Tensor, size: int, hop: int) -> Tensor:
    """Means over ``size`` steps, every ``hop`` of them, of the steps that are real; windows are centred on a frame."""
    weight = real.to(x.dtype)[..., None]
    both = torch.cat((x.masked_fill(~real[..., None], 0.0), weight), dim=-1).transpose(1, 2)
    before = (size - hop) // 2
    both = nn.functional.pad(both, (before, size - before))
    sums = nn.functional.avg_pool1d(both, size, hop).transpose(1, 2)
    return sums[..., :-1] / sums[..., -1:].clamp(min=1e-6)

"""Augmentation: training sound goes through random channels, so that nothing learned hangs on a recording's own.

An equaliser, for some an upper band limit, coloured noise and a soft non-linearity (after RawBoost, Tak et al., 2022);
labels stay as they are. Random numbers are those of torch's own generator, which training seeds for every step.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

POINTS = 10  # of an equaliser's curve
BLOCK = 4096  # samples: spectra of a multiple of these are quickly made
BEND = 0.3  # how far into its curve a non-linearity is driven


def through_channels(waves: Tensor, samples: Tensor, strength: float, share: float = 1.0) -> Tensor:
    """A share of the recordings of a batch, each through a channel of its own.

    ``strength`` 0 leaves noise 60 dB below the sound.
    """
    chosen = torch.rand(len(waves)) < share
    changed = waves.clone()
    if chosen.any():
        changed[chosen] = _changed(waves[chosen], samples[chosen], strength)
    return changed


def _changed(waves: Tensor, samples: Tensor, strength: float) -> Tensor:
    count, longest = waves.shape
    size = -(-longest // BLOCK) * BLOCK
    level = (waves.square().sum(1, keepdim=True) / samples[:, None]).sqrt().clamp(min=1e-5)
    bent = torch.tanh(waves / level * BEND) / BEND * level
    share = (torch.rand(count, 1) < 0.3) * _drawn(0, 0.5 * strength, count)
    spectra = torch.fft.rfft((1 - share) * waves + share * bent, n=size)
    at = torch.linspace(0, 1, spectra.shape[1])  # frequency, as a share of the highest
    curve = strength * 5.0 * torch.randn(count, 1, POINTS)  # dB
    gains = nn.functional.interpolate(curve, size=spectra.shape[1], mode="linear", align_corners=True)[:, 0]
    edge = torch.where(torch.rand(count, 1) < 0.3 * strength, _drawn(0.45, 0.9, count), torch.full((count, 1), 2.0))
    gains = gains - 60 * torch.sigmoid((at - edge) * 60)
    noise = torch.fft.rfft(torch.randn(count, size))
    colour = _drawn(0, 1, count) * -0.5 * torch.log2(at.clamp(min=0.01))
    softness = _drawn(-60, -60 + 40 * strength, count)  # dB under the sound
    spectra = spectra * 10 ** (gains / 20) + noise * level * 10 ** (softness / 20) * 2**colour
    return torch.fft.irfft(spectra, n=size)[:, :longest]


def _drawn(low: float, high: float, count: int) -> Tensor:
    """A number for each recording."""
    return low + (high - low) * torch.rand(count, 1)

"""Augmentation: training sound is changed at random, so that what is learned does not hang on a recording's channel.

Two kinds, on the sound of a batch, with random numbers of torch's own generator:

*Channels* leave labels alone: an equaliser and band limits, coloured noise, a non-linearity with weak echoes (after
RawBoost, Tak et al., 2022).

*Resynthesis* makes spoofs: a stretch of bona fide speech is taken apart and put together again, and labelled spoof.
How it is done is drawn each time: phases thrown away, spectra rounded, or windows moved before they are added up. None
of them is an attack that anybody would use; together they teach what synthesis leaves behind.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from spoofspan.cm.batches import Batch
from spoofspan.cm.config import Training
from spoofspan.cm.frame_times import HOP, UTTERANCE, scale_of
from spoofspan.cm.loss import BONA_FIDE, SPOOF
from spoofspan.formats.sound import RATE

SIZE, STEP = 512, 128  # of the spectra that sound is taken apart into
POINTS = 10  # of an equaliser's curve
SHORTEST, LONGEST = 0.15, 1.2  # seconds that are made anew
FADE = 160  # samples


def _drawn(low: float, high: float, *shape: int) -> Tensor:
    return low + (high - low) * torch.rand(*shape)


def augmented(batch: Batch, recipe: Training) -> Batch:
    """What a batch is learned from: as it is, unless the recipe asks for more."""
    waves, targets = batch.waves, batch.targets
    if recipe.resynthesis:
        waves, targets = with_resynthesis(waves, batch.samples, targets, recipe.resynthesis)
    if recipe.channels:
        waves = through_channels(waves, batch.samples, recipe.channels)
    return replace(batch, waves=waves, targets=targets)


def through_channels(waves: Tensor, samples: Tensor, strength: float) -> Tensor:
    """Each recording through a channel of its own; those at half of the strength are half as far from a wire."""
    count, longest = waves.shape
    level = (waves.square().sum(1, keepdim=True) / samples[:, None]).sqrt().clamp(min=1e-5)
    bent = torch.tanh(waves / level * 0.3) / 0.3 * level
    share = (torch.rand(count, 1) < 0.3) * _drawn(0, 0.5 * strength, count, 1)
    waves = (1 - share) * waves + share * bent
    spectra = torch.fft.rfft(waves)
    at = torch.linspace(0, 1, spectra.shape[1])
    curve = strength * 5.0 * torch.randn(count, 1, POINTS)  # dB
    gains = nn.functional.interpolate(curve, size=spectra.shape[1], mode="linear", align_corners=True)[:, 0]
    # a soft upper edge, for some
    edge = torch.where(torch.rand(count, 1) < 0.3 * strength, _drawn(0.45, 0.9, count, 1), torch.full((count, 1), 2.0))
    gains = gains - 60 * torch.sigmoid((at - edge) * 60)
    noise = torch.fft.rfft(torch.randn(count, longest))
    colour = _drawn(0, 1, count, 1) * -0.5 * torch.log2(at.clamp(min=0.01))
    noisiness = _drawn(-60, -60 + 40 * strength, count, 1)  # dB under the sound
    spectra = spectra * 10 ** (gains / 20) + noise * level * 10 ** (noisiness / 20) * 2**colour
    return torch.fft.irfft(spectra, n=longest)


# ---------------------------------------------------------------- resynthesis


def _rebuilt(pieces: Tensor) -> Tensor:
    """Stretches of speech, each taken apart and put together in a way of its own."""
    window = torch.hann_window(SIZE)
    spectra = torch.stft(pieces, SIZE, STEP, window=window, return_complex=True)
    magnitude, phase = spectra.abs(), spectra.angle()
    count = len(pieces)
    kind = torch.randint(4, (count, 1, 1))
    # neighbouring bins become alike, as from bands
    width = 2 * int(torch.randint(1, 4, ())) + 1
    smooth = nn.functional.avg_pool2d(magnitude[:, None], (width, 1), 1, (width // 2, 0))[:, 0]
    magnitude = torch.where((kind == 0) | (torch.rand(count, 1, 1) < 0.3), smooth, magnitude)
    # phases: thrown away, or disturbed
    spread = torch.where(kind == 0, torch.tensor(torch.pi), _drawn(0.2, 1.5, count, 1, 1))
    phase = torch.where(kind <= 1, phase + spread * (2 * torch.rand_like(phase) - 1), phase)
    # rounded spectra: what is weak is lost
    loudest = magnitude.amax(1, keepdim=True).clamp(min=1e-9)
    coarse = _drawn(0.005, 0.06, count, 1, 1) * loudest
    rounded = (magnitude / coarse).sqrt().round().square() * coarse
    magnitude = torch.where(kind == 2, rounded, magnitude)
    made = torch.istft(torch.polar(magnitude, phase), SIZE, STEP, window=window, length=pieces.shape[1])
    moved = _moved(pieces, 2 * int(torch.randint(160, 321, ())))
    return torch.where(kind[..., 0] == 3, moved, made)


def _moved(pieces: Tensor, size: int) -> Tensor:
    """Windows that are moved a little and added up: what changes of pitch and tempo by overlap-add do."""
    count, longest = pieces.shape
    hop = size // 2
    windows = -(-longest // hop) + 1
    starts = torch.arange(windows) * hop
    shift = (torch.rand(count, windows) - 0.5) * torch.rand(count, 1) * 160
    rate = _drawn(0.85, 1.18, count, 1, 1)  # within a window: pitch moves, tempo does not
    local = (torch.arange(size) - size / 2) * rate
    at = starts[None, :, None] + size / 2 - hop + shift[..., None] + local
    at = at.clamp(0, longest - 1)
    low = at.floor().long().clamp(max=longest - 2)
    part = at - low
    flat = low.flatten(1)
    values = pieces.gather(1, flat).view_as(at) * (1 - part) + pieces.gather(1, flat + 1).view_as(at) * part
    values = values * torch.hann_window(size)
    whole = nn.functional.fold(values.transpose(1, 2), (1, (windows - 1) * hop + size), (1, size), stride=(1, hop))
    return whole[:, 0, 0, hop : hop + longest]


def with_resynthesis(
    waves: Tensor, samples: Tensor, targets: dict[str, Tensor], share: float
) -> tuple[Tensor, dict[str, Tensor]]:
    """Make a stretch of some recordings anew, where it is bona fide, and label it spoof."""
    length = min(int(RATE * _drawn(SHORTEST, LONGEST, ())), waves.shape[1])
    chosen = torch.nonzero((torch.rand(len(waves)) < share) & (samples >= length))[:, 0]
    if not len(chosen) or length < 2 * SIZE:
        return waves, targets
    frames = length // HOP
    first = (torch.rand(len(chosen)) * ((samples[chosen] - length) // HOP + 1)).long()
    at = first[:, None] * HOP + torch.arange(length)
    pieces = waves[chosen].gather(1, at)
    made = _rebuilt(pieces)
    level = pieces.square().mean(1, keepdim=True).sqrt()
    made = made * level / made.square().mean(1, keepdim=True).sqrt().clamp(min=1e-9)
    fade = (torch.arange(length).clamp(max=FADE) / FADE).minimum((length - torch.arange(length)).clamp(max=FADE) / FADE)
    waves = waves.clone()
    waves[chosen] = waves[chosen].scatter(1, at, pieces + fade * (made - pieces))
    new = {}
    for name, old in targets.items():
        window = torch.arange(old.shape[1])
        size = 2 ** scale_of(name)
        hit = (window * size < (first + frames)[:, None]) & ((window + 1) * size > first[:, None])
        if name == UTTERANCE:
            hit = torch.ones_like(hit)
        rows = old[chosen]
        changed = old.clone()
        changed[chosen] = torch.where(hit & (rows == BONA_FIDE), torch.full_like(rows, SPOOF), rows)
        new[name] = changed
    return waves, new

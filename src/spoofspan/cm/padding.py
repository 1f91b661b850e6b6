"""Padding is never seen: masks of what is real in a batch of different lengths.

A batch is (utterances, time, ...), with the number of real steps of each utterance beside it. Whatever looks along time
must give, for each utterance, what it would give for that utterance alone.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spoofspan.cm.frame_times import HOP, WINDOW


def real_steps(counts: Tensor, longest: int) -> Tensor:
    """Steps that are real: (utterances, time), true before the end of each.

    >>> real_steps(torch.tensor([1, 3]), 3).int().tolist()
    [[1, 0, 0], [1, 1, 1]]
    """
    return torch.arange(longest, device=counts.device) < counts[:, None]


def frames_in(samples: Tensor) -> Tensor:
    """Number of frames that each recording has."""
    return ((samples - WINDOW) // HOP + 1).clamp(min=1)


def at_least_a_frame(waves: Tensor) -> Tensor:
    """Fill very short recordings up with silence; time is the last dimension."""
    return torch.nn.functional.pad(waves, (0, max(WINDOW - waves.shape[-1], 0)))


def zero_padding(x: Tensor, counts: Tensor) -> Tensor:
    """Set what is past the end of each utterance to zero."""
    return x.masked_fill(~real_steps(counts, x.shape[1])[..., None], 0.0)


def mean_over_time(x: Tensor, counts: Tensor) -> Tensor:
    """The mean of the real steps: (utterances, time, features) -> (utterances, features)."""
    return zero_padding(x, counts).sum(1) / counts[:, None]


def window_means(x: Tensor, counts: Tensor, size: int) -> Tensor:
    """The mean of every ``size`` steps, or of as many as are real in the last window."""
    padded = torch.nn.functional.pad(x, (0, 0, 0, -x.shape[1] % size)).unflatten(1, (-1, size))
    real = real_steps(counts, padded.shape[1] * size).unflatten(1, (-1, size))
    return (padded * real[..., None]).sum(2) / real.sum(2).clamp(min=1)[..., None]


def normalised(waves: Tensor, samples: Tensor) -> Tensor:
    """Every recording with mean 0 and variance 1; padding stays zero."""
    x = zero_padding(waves[..., None], samples)
    x = zero_padding(x - mean_over_time(x, samples)[:, None], samples)
    return (x / (mean_over_time(x * x, samples)[:, None] + 1e-5).sqrt())[..., 0]

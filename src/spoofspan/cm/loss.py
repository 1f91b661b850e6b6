"""Losses, as sums over windows; who knows how many windows there are in the whole batch divides by their number.

P2SGrad-based mean squared error (Wang and Yamagishi, 2021): with M windows and the two classes j,
``L = 1 / (2 M) * sum over windows and j of (cos_j - onehot_j)**2``, whose gradient with respect to a cosine is
``(cos_j - onehot_j) / M``. The whole loss is the plain sum of the losses of the branches.

Logistic regression and logistic heads have one output z per window: ``log(1 + exp(-z))`` for bona fide,
``log(1 + exp(z))`` for spoof.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from spoofspan.cm.batches import TARGET
from spoofspan.cm.parts import WindowLosses


def loss_of_head(outputs: Tensor, targets: Tensor) -> Tensor:
    """The loss of every window: by the number of outputs it is P2SGrad (2) or logistic (1)."""
    bona_fide = targets.to(outputs.dtype)
    if outputs.shape[-1] == 1:
        return nn.functional.binary_cross_entropy_with_logits(outputs[..., 0], bona_fide, reduction="none")
    return (outputs - torch.stack((1 - bona_fide, bona_fide), dim=-1)).square().sum(-1) / 2


def window_errors(outputs: Tensor, targets: Tensor, losses: WindowLosses | None = None) -> Tensor:
    """Sum the losses of the windows that count.

    >>> cosines = torch.tensor([[0.25, 0.75], [0.0, 1.0]])
    >>> float(window_errors(cosines, torch.tensor([TARGET["bona fide"], TARGET["not counted"]])))
    0.0625
    """
    each = (losses or loss_of_head)(outputs, targets.clamp(min=0))
    return each.masked_fill(targets == TARGET["not counted"], 0.0).sum()


def whole_loss(
    outputs: dict[str, Tensor],
    targets: dict[str, Tensor],
    windows: dict[str, int],
    losses: WindowLosses | None = None,
) -> Tensor:
    """The sum over the branches of their mean over ``windows``, which may be those of a larger batch."""
    means = [window_errors(outputs[name], targets[name], losses) / max(windows[name], 1) for name in outputs]
    return torch.stack(means).sum()

"""The baseline: logistic regression on the spectra that the light front-end sees.

A window of any resolution has the mean log spectrum of its frames; each branch has its own weights and its own
intercept. It shares configuration, training, checkpoints and scoring with the countermeasure, so that whatever a
network gains over it is not gained by the data or by the measuring.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from spoofspan.cm.config import Network
from spoofspan.cm.frame_times import UTTERANCE, scale_of, window_count
from spoofspan.cm.model import Embeddings
from spoofspan.cm.padding import mean_over_time, real_steps


class LogisticRegression(nn.Module):
    """Mean spectra of windows, and a line for each branch."""

    def __init__(self, front_end: nn.Module, network: Network) -> None:
        super().__init__()
        self.front_end = front_end
        self.post_net = nn.Identity()
        self.names = network.branches
        self.heads = nn.ModuleDict({name: nn.Linear(front_end.width, 1) for name in self.names})
        for line in self.heads.values():
            nn.init.zeros_(line.weight)
            nn.init.zeros_(line.bias)

    def embed(self, waves: Tensor, samples: Tensor) -> dict[str, Embeddings]:
        """The mean spectrum of every window."""
        with torch.no_grad():
            features, counts = self.front_end(waves, samples)
            return {name: _means(features, counts, name) for name in self.names}

    def outputs(self, name: str, embeddings: Tensor) -> Tensor:
        """The log odds of bona fide: (..., 1)."""
        return self.heads[name](embeddings).float()

    def forward(self, waves: Tensor, samples: Tensor) -> dict[str, Tensor]:
        """The outputs of every branch."""
        return {name: self.outputs(name, one.values) for name, one in self.embed(waves, samples).items()}


def _means(features: Tensor, counts: Tensor, name: str) -> Embeddings:
    if name == UTTERANCE:
        return Embeddings(mean_over_time(features, counts)[:, None], torch.ones_like(counts))
    size = 2 ** scale_of(name)
    padded = nn.functional.pad(features, (0, 0, 0, -features.shape[1] % size)).unflatten(1, (-1, size))
    real = real_steps(counts, padded.shape[1] * size).unflatten(1, (-1, size))
    means = (padded * real[..., None]).sum(2) / real.sum(2).clamp(min=1)[..., None]
    return Embeddings(means, window_count(counts, scale_of(name)))

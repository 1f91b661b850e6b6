"""gMLP (Liu et al., 2021): blocks that mix along time by a gate instead of attention.

Block:  ``x + V(SGU(GELU(U(LN(x)))))``,  U: d -> d/2,  V: d/4 -> d.
SGU (spatial gating unit): the channels are split in two halves a and b; ``a * (W LN(b) + c)``, where the matrix W and
the vector c belong to absolute times: row and column t are frame t of the input. W starts small and c at one, so that a
new block lets a through.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from spoofspan.cm.padding import zero_padding

LARGEST_WEIGHT = 0.01  # of W at the start


class SpatialGate(nn.Module):
    """SGU: (utterances, time, 2 c) -> (utterances, time, c)."""

    def __init__(self, channels: int, longest: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels // 2)
        self.weight = nn.Parameter(torch.empty(longest, longest).uniform_(-LARGEST_WEIGHT, LARGEST_WEIGHT))
        self.bias = nn.Parameter(torch.ones(longest))

    def forward(self, z: Tensor, counts: Tensor) -> Tensor:
        """Gate one half of the channels by what the other half says at all real times."""
        a, b = z.chunk(2, dim=-1)
        time = z.shape[1]
        b = zero_padding(self.norm(b), counts)
        return a * (self.weight[:time, :time] @ b + self.bias[:time, None])


class Block(nn.Module):
    """One block: (utterances, time, width) -> the same."""

    def __init__(self, width: int, longest: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.reduce = nn.Linear(width, width // 2)
        self.gate = SpatialGate(width // 2, longest)
        self.project = nn.Linear(width // 4, width)

    def forward(self, x: Tensor, counts: Tensor) -> Tensor:
        """Add what the gate lets through."""
        z = nn.functional.gelu(self.reduce(self.norm(x)))
        return x + self.project(self.gate(z, counts))


class Branch(nn.Module):
    """Several blocks and a projection: (utterances, time, width) -> (utterances, time, width // 2)."""

    def __init__(self, width: int, blocks: int, longest: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(width, longest) for _ in range(blocks))
        self.project = nn.Linear(width, width // 2, bias=False)

    def forward(self, x: Tensor, counts: Tensor) -> Tensor:
        """Embed every step."""
        for block in self.blocks:
            x = block(x, counts)
        return self.project(x)

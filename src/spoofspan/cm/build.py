"""From a configuration to a model, and what it consists of."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from spoofspan.cm.baseline import LogisticRegression
from spoofspan.cm.config import Config
from spoofspan.cm.frontends import build_front_end, large_architecture
from spoofspan.cm.model import Countermeasure


@dataclass(frozen=True)
class Parameters:
    """How many numbers a model learns, by part."""

    front_end: int
    post_net: int
    heads: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.front_end + self.post_net + self.heads


def build(config: Config, architecture: str | None = None) -> nn.Module:
    """Build the model of a configuration; ``architecture`` as in :func:`spoofspan.cm.frontends.build_front_end`."""
    front_end = build_front_end(config.front_end, architecture)
    if config.network.kind == "logistic":
        return LogisticRegression(front_end, config.network)
    return Countermeasure(front_end, config.network)


def count_parameters(config: Config, architecture: str | None = None) -> Parameters:
    """Count without memory or weights; a wav2vec 2.0 of unknown architecture is taken for the large one."""
    with torch.device("meta"):
        model = build(config, architecture or large_architecture())
    return Parameters(*(sum(p.numel() for p in part.parameters()) for part in parts(model)))


def parts(model: nn.Module) -> tuple[nn.Module, nn.Module, nn.Module]:
    """Front-end, post-net and heads of a model."""
    return model.front_end, model.post_net, model.heads

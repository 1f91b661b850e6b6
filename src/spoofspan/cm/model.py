"""The countermeasure: sound in, one score per window of every resolution out, high for bona fide.

::

    sound -> front-end -> x0 --pool--> x1 --pool--> x2 -- ... --> x5         chain: 20, 40, ..., 640 ms
                          |            |            |             |  \
                       branch       branch       branch        branch  dropout, branch, mean over time
                          |            |            |             |            |
                        head         head         head          head         head           two cosines each

``x_i = Linear(max-pool of x_{i-1})``, over pairs of steps and (``halve_width``) pairs of features. A head has two unit
class vectors, spoof and bona fide; its outputs are the cosines between them and the embedding, and the score is the
second one. A logistic head (``network.head``) has the log odds of bona fide instead. Only the branches asked for are
there, and as much of the chain as they need.

gMLP (Liu et al., 2021): blocks that mix along time by a gate instead of attention.

Block:  ``x + V(SGU(GELU(U(LN(x)))))``,  U: d -> d/2,  V: d/4 -> d.
SGU (spatial gating unit): the channels are split in two halves a and b; ``a * (W LN(b) + c)``, where the matrix W and
the vector c belong to absolute times: row and column t are frame t of the input. W starts small and c at one, so that a
new block lets a through.

The baseline is logistic regression on the spectra that the light front-end sees: a window of any resolution has the
mean log spectrum of its frames; each branch has its own weights and its own intercept. It shares configuration,
training, checkpoints and scoring with the countermeasure, so that whatever a network gains over it is not gained by the
data or by the measuring.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from spoofspan.base.errors import UsageError
from spoofspan.cm.config import Config, Network, is_own
from spoofspan.cm.frame_times import SCALES, UTTERANCE, pooled_count, scale_of, window_count
from spoofspan.cm.frontends import LARGE, build_front_end
from spoofspan.cm.padding import mean_over_time, real_steps, window_means, zero_padding
from spoofspan.cm.parts import check_shape, made, result_of

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


@dataclass(frozen=True)
class Embeddings:
    """Output of one branch for a batch."""

    values: Tensor  # (utterances, windows, features)
    counts: Tensor  # real windows of each utterance


class PoolingLayer(nn.Module):
    """One step of the chain: half as many windows, and half as many features if asked for."""

    def __init__(self, width: int, network: Network, *, last: bool) -> None:
        super().__init__()
        self.legacy = network.legacy_pool_padding
        self.padded = self.legacy and last
        self.features = 2 if network.halve_width else 1
        self.linear = nn.Linear(width // self.features, width // self.features)

    def forward(self, x: Tensor, counts: Tensor) -> Embeddings:
        """Pool pairs; a last step without a partner stays alone."""
        shorter = pooled_count(counts, legacy=self.legacy, padded=self.padded)
        # padding must not be the larger one of a pair; what comes of padding alone is zeroed
        x = x.masked_fill(~real_steps(counts, x.shape[1])[..., None], -torch.inf)
        left = int(self.padded)
        x = nn.functional.pad(x, (0, 0, left, 2 - (left + x.shape[1]) % 2), value=-torch.inf)
        x = torch.maximum(x[:, 0::2], x[:, 1::2])[:, : int(shorter.max())]
        if self.features == 2:
            x = torch.maximum(x[..., 0::2], x[..., 1::2])
        return Embeddings(self.linear(zero_padding(x, shorter)), shorter)


class CosineHead(nn.Module):
    """The cosines between embeddings and the two class vectors: spoof, bona fide."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.functional.normalize(torch.empty(width, 2).uniform_(-1, 1), dim=0))

    def forward(self, x: Tensor) -> Tensor:
        """(..., width) -> (..., 2), in full precision."""
        x, weight = nn.functional.normalize(x.float(), dim=-1), nn.functional.normalize(self.weight.float(), dim=0)
        return (x @ weight).clamp(-1, 1)


class LogisticHead(nn.Linear):
    """The log odds of bona fide: (..., width) -> (..., 1), in full precision."""

    def __init__(self, width: int) -> None:
        super().__init__(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the line outside of autocast."""
        with torch.autocast(x.device.type, enabled=False):
            return super().forward(x.float())


HEADS: dict[str, type[CosineHead] | type[LogisticHead]] = {"cosine": CosineHead, "logistic": LogisticHead}


class PostNet(nn.Module):
    """Chain and branches: features every 20 ms -> embeddings of every branch."""

    def __init__(self, width: int, network: Network) -> None:
        super().__init__()
        self.names = network.branches
        widths = [width]
        self.chain = nn.ModuleList()
        for scale in range(1, 1 + max(map(scale_of, self.names))):
            pool = PoolingLayer(widths[-1], network, last=scale == SCALES - 1)
            self.chain.append(pool)
            widths.append(pool.linear.out_features)
        for name in self.names:
            _check_width(width, name, widths[scale_of(name)], halved=network.halve_width)
        self.embedded = {name: widths[scale_of(name)] // 2 for name in self.names}
        self.branches = nn.ModuleDict(
            {
                name: Branch(widths[scale_of(name)], network.blocks, network.frames // 2 ** scale_of(name))
                for name in self.names
            }
        )
        self.dropout = nn.Dropout(network.utterance_dropout)

    def forward(self, x: Tensor, counts: Tensor) -> dict[str, Embeddings]:
        """Embed a batch; the embedding of an utterance is one window."""
        scales = [Embeddings(x, counts)]
        for pool in self.chain:
            scales.append(pool(scales[-1].values, scales[-1].counts))
        found = {}
        for name in self.names:
            step = scales[scale_of(name)]
            if name == UTTERANCE:
                values = self.branches[name](self.dropout(step.values), step.counts)
                whole = mean_over_time(values, step.counts)[:, None]
                found[name] = Embeddings(whole, torch.ones_like(step.counts))
            else:
                found[name] = Embeddings(self.branches[name](step.values, step.counts), step.counts)
        return found


def _check_width(width: int, branch: str, own: int, *, halved: bool) -> None:
    """A branch halves its width twice, and so does each step of the chain before it: nothing may be left over."""
    parts = 4 * 2 ** (scale_of(branch) if halved else 0)
    if width % parts or not own:
        raise UsageError(
            f"the front-end has {width} features, and the branch {branch!r} needs a multiple of {parts}; "
            "choose another width, fewer branches, or network.halve_width = false"
        )


class Heads(nn.Module):
    """One head per branch."""

    def __init__(self, embedded: dict[str, int], *, kind: str = "cosine", share: bool) -> None:
        super().__init__()
        self.shared = "640ms" if share and "640ms" in embedded else None
        self.of = nn.ModuleDict(
            {name: HEADS[kind](width) for name, width in embedded.items() if name != UTTERANCE or self.shared is None}
        )

    def forward(self, name: str, embeddings: Tensor) -> Tensor:
        """The cosines, or the log odds, of one branch."""
        return self.of[self.shared if name == UTTERANCE and self.shared else name](embeddings)


class Model(nn.Module):
    """Base class of all models: the outputs of every branch follow from its embeddings."""

    @abstractmethod
    def embed(self, waves: Tensor, samples: Tensor) -> dict[str, Embeddings]:
        """The embeddings of a padded batch: (utterances, time) at 16 kHz, and how much of each is real."""

    def outputs(self, name: str, embeddings: Tensor) -> Tensor:
        """Inputs of the loss of a branch: the embeddings themselves, unless there are heads."""
        return embeddings

    def forward(self, waves: Tensor, samples: Tensor) -> dict[str, Tensor]:
        """The outputs of every branch: (utterances, windows, 2), or 1 with logistic heads."""
        return {name: self.outputs(name, one.values) for name, one in self.embed(waves, samples).items()}


class Countermeasure(Model):
    """Front-end, post-net and heads."""

    def __init__(self, front_end: nn.Module, network: Network) -> None:
        super().__init__()
        self.front_end = front_end
        self.post_net = PostNet(front_end.width, network)
        self.heads = Heads(self.post_net.embedded, kind=network.head, share=network.share_utterance_head)

    def embed(self, waves: Tensor, samples: Tensor) -> dict[str, Embeddings]:
        """The embeddings of a padded batch: (utterances, time) at 16 kHz, and how much of each is real."""
        features, counts = self.front_end(waves, samples)
        return self.post_net(features, counts)

    def outputs(self, name: str, embeddings: Tensor) -> Tensor:
        """Inputs of the loss of a branch."""
        return self.heads(name, embeddings)


class Committee(Model):
    """Several networks that were trained one by one, and share the features of the sound; outputs are their mean."""

    def __init__(self, members: Sequence[Countermeasure]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def embed(self, waves: Tensor, samples: Tensor) -> dict[str, Embeddings]:
        """The embeddings of all members, side by side."""
        x, counts = self.members[0].front_end.numbers(waves, samples)
        found = [member.post_net(member.front_end.after(x, counts), counts) for member in self.members]
        return {
            name: Embeddings(torch.cat([own[name].values for own in found], dim=-1), one.counts)
            for name, one in found[0].items()
        }

    def outputs(self, name: str, embeddings: Tensor) -> Tensor:
        """The mean output of a branch."""
        own = embeddings.chunk(len(self.members), dim=-1)
        found = [member.outputs(name, one) for member, one in zip(self.members, own, strict=True)]
        return torch.stack(found).mean(0)


class LogisticRegression(Model):
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


def _means(features: Tensor, counts: Tensor, name: str) -> Embeddings:
    if name == UTTERANCE:
        return Embeddings(mean_over_time(features, counts)[:, None], torch.ones_like(counts))
    return Embeddings(window_means(features, counts, 2 ** scale_of(name)), window_count(counts, scale_of(name)))


class OwnNetwork(Model):
    """A network of one's own in the place of chain, branches and heads; its outputs are its embeddings."""

    def __init__(self, front_end: nn.Module, network: Network) -> None:
        super().__init__()
        self.name = f"network: {network.kind}"
        self.front_end, self.names = front_end, network.branches
        self.post_net = made("network", network.kind, network.options, front_end.width, network.branches)
        if not isinstance(self.post_net, nn.Module):
            raise UsageError(f"{self.name} must be a torch.nn.Module, or its weights are neither learned nor saved")
        self.heads = nn.Identity()

    def embed(self, waves: Tensor, samples: Tensor) -> dict[str, Embeddings]:
        """The outputs of every branch."""
        features, counts = self.front_end(waves, samples)
        found = result_of(self.name, self.post_net, features, counts)
        if not isinstance(found, Mapping) or set(found) != set(self.names):
            given = sorted(map(str, found)) if isinstance(found, Mapping) else type(found).__name__
            raise UsageError(f"{self.name} returned {given}, not a dict with a tensor for each of {list(self.names)}")
        embedded = {}
        for name in self.names:
            windows = torch.ones_like(counts) if name == UTTERANCE else window_count(counts, scale_of(name))
            outputs = 2 if isinstance(found[name], Tensor) and found[name].shape[-1:] == (2,) else 1
            wanted = (len(waves), int(windows.max()), outputs)
            check_shape(found[name], wanted, f"{self.name}, branch {name},", "recordings, windows, outputs (1 or 2)")
            embedded[name] = Embeddings(found[name].float(), windows)
        return embedded


def scores(outputs: Tensor) -> Tensor:
    """The score of every window, high for bona fide: the last column of the outputs of a branch."""
    return outputs[..., -1].float()


# ---------------------------------------------------------------- from a configuration to a model


@dataclass(frozen=True)
class Parameters:
    """Counts of learned numbers, by part."""

    front_end: int
    post_net: int
    heads: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.front_end + self.post_net + self.heads


def build(config: Config, architecture: str | None = None) -> nn.Module:
    """Build the model of a configuration; ``architecture`` as in :func:`spoofspan.cm.frontends.build_front_end`."""
    if config.network.members > 1:
        return Committee([build(one, architecture) for one in members_of(config)])
    front_end = build_front_end(config.front_end, architecture)
    if is_own(config.network.kind):
        return OwnNetwork(front_end, config.network)
    if config.network.kind == "logistic":
        return LogisticRegression(front_end, config.network)
    return Countermeasure(front_end, config.network)


def members_of(config: Config) -> list[Config]:
    """Configurations of the networks whose scores are averaged; each has a seed of its own."""
    alone, recipe = replace(config.network, members=1), config.training
    return [
        replace(config, network=alone, training=replace(recipe, seed=recipe.seed + number))
        for number in range(config.network.members)
    ]


def count_parameters(config: Config, architecture: str | None = None) -> Parameters:
    """Count without memory or weights; a wav2vec 2.0 of unknown architecture is taken for the large one."""
    with torch.device("meta"):
        model = build(config, architecture or json.dumps(LARGE))
    return parameters_of(model)


def parameters_of(model: nn.Module) -> Parameters:
    """Count of learned numbers."""
    alone = list(model.members) if isinstance(model, Committee) else [model]
    parts = zip(*((one.front_end, one.post_net, one.heads) for one in alone), strict=True)
    return Parameters(*(sum(p.numel() for part in own for p in part.parameters()) for own in parts))

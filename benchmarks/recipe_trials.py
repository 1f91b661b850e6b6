"""The light model trained in memory, with more options than the package has, for ``recipes.py``.

Features, network, loss, batches and schedule are those of the preset ``small-cpu``; features are computed once, and no
epoch is validated. The options are what was tried to find a better recipe.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import soxr
import torch
from torch import Tensor, nn

from spoofspan.cm.augmentation import through_channels
from spoofspan.cm.batches import Corpus, WindowLabels, bucketed_batches
from spoofspan.cm.config import preset
from spoofspan.cm.features import COUNT, GROUPS, FrameFeatures
from spoofspan.cm.frame_times import frame_count
from spoofspan.cm.frontends import AlongTime
from spoofspan.cm.loss import loss_of_head
from spoofspan.cm.model import HEADS, scores
from spoofspan.cm.padding import real_steps, zero_padding
from spoofspan.cm.training import learning_rate
from spoofspan.corpus.building import build
from spoofspan.corpus.settings import Settings
from spoofspan.data.references import SPOOF, References
from spoofspan.data.rules import Rules
from spoofspan.data.scores import Scores
from spoofspan.experiment.results import SEEN, by_attack
from spoofspan.formats.sound import RATE, Sound, wav_bytes
from spoofspan.formats.writing import write_atomically

FINEST = "20ms"
CHANNELS = 4  # of each recording, from which random channels are drawn
LIGHT = preset("small-cpu")
Utterance = tuple[Tensor, Tensor, Tensor]  # features, targets and weights of its frames


@dataclass(frozen=True)
class Options:
    """Changes of the recipe."""

    head: str = "logistic"
    width: int = LIGHT.front_end.width
    layers: int = LIGHT.front_end.layers
    epochs: int = LIGHT.training.epochs
    averaged: int = 0  # last epochs whose weights are averaged
    relative: float = 0.0  # how much of the mean over the recording is taken off the features
    both: bool = False  # features, and features less their mean over the recording
    mixup: float = 0.0  # shape of the beta distribution by which recordings are mixed
    cut: float = 0.0  # share of the recordings into which a part of another one is put
    hidden: float = 0.0  # how often a group of features is hidden
    channels: float = 0.0  # share of the recordings that go through random channels
    alike: bool = False  # each attack has the same weight (as far as four times its own)
    boundary: int = 0  # frames on each side of a boundary that do not count
    vocoded: int = 0  # so many utterances of the same speakers with the built-in vocoders are added
    speeds: tuple[float, ...] = ()  # at which all recordings are played to be further voices of both classes


class Trial(nn.Module):
    """The network of the preset, with options."""

    def __init__(self, numbers: int, options: Options) -> None:
        super().__init__()
        width, dropout = options.width, LIGHT.front_end.dropout
        self.gather = nn.Sequential(nn.Dropout(dropout), nn.Linear(numbers, width), nn.LayerNorm(width), nn.GELU())
        self.layers = nn.ModuleList(AlongTime(width, dilation=2**i) for i in range(options.layers))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(options.layers))
        self.dropout = nn.Dropout(dropout)
        self.project = nn.Linear(width, width // 2, bias=False)
        self.head = HEADS[options.head](width // 2)

    def forward(self, x: Tensor, counts: Tensor) -> Tensor:
        x = zero_padding(self.gather(x), counts)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            found = layer(zero_padding(self.dropout(norm(x)), counts))
            x = zero_padding(x + nn.functional.gelu(found), counts)
        return self.head(self.project(x))


class Material:
    """Features, targets and attacks of the frames of all utterances, computed when they are asked for."""

    def __init__(self, corpus: Corpus, out: Path) -> None:
        self.corpus, self.out = corpus, out
        self.features: dict[str, Tensor] = {}
        self.changed: dict[str, list[Tensor]] = {}  # by random channels
        self.rows = {name: row for row, name in enumerate(corpus.references.utterances)}
        self.labels = WindowLabels(corpus.references, Rules(label="any"), (FINEST,))
        self._vocoded: Material | None = None
        self._at_speed: dict[float, Material] = {}

    def of(self, name: str) -> tuple[Tensor, Tensor]:
        """Features and targets of an utterance."""
        row = self.rows[name]
        if name not in self.features:
            self.features[name] = _features(torch.from_numpy(self.corpus.sounds[row].read()))
        targets = self.labels.of(row, 0, frame_count(self.corpus.samples[row]))[FINEST]
        return self.features[name], torch.from_numpy(targets.astype(np.int64))

    def through_channels(self, name: str) -> list[Tensor]:
        """Features of an utterance through some random channels."""
        if name not in self.changed:
            wave = torch.from_numpy(self.corpus.sounds[self.rows[name]].read())[None]
            samples = torch.tensor([wave.shape[1]])
            with torch.random.fork_rng():
                torch.manual_seed(self.rows[name])
                waves = [through_channels(wave, samples, 1.0)[0] for _ in range(CHANNELS)]
            self.changed[name] = [_features(one) for one in waves]
        return self.changed[name]

    def attacks(self, name: str) -> np.ndarray:
        """The attack of each frame; -1 where it is bona fide."""
        references, row = self.corpus.references, self.rows[name]
        found = np.full(frame_count(self.corpus.samples[row]), -1)
        for place in range(*references.offsets[row : row + 2]):
            first, last = int(references.starts[place] // 20_000_000), int(-(-references.ends[place] // 20_000_000))
            found[first:last] = references.attacks[place]
        return found

    def vocoded(self, speakers: set[str], count: int, seed: int) -> list[tuple[Tensor, Tensor]]:
        """Utterances of some speakers with the built-in vocoders, through the same channel."""
        if self._vocoded is None:
            from real_speech import CHANNEL

            real = self.out / "real"  # without the spoofs, among which are those that are left out
            if not real.is_dir():
                shutil.copytree(self.out / "speech" / "bonafide", real / "bonafide")
            settings = Settings(
                utterances={"train": 480, "dev": 0, "eval": 0},
                speakers={"train": len([*(real / "bonafide").iterdir()]), "dev": 0, "eval": 0},
                bonafide_share=0.45,
                held_out=(),
                attacks=("builtin:all",),
                channel=CHANNEL,
            )
            build(self.out / "vocoded", real, settings)
            self._vocoded = Material(Corpus.from_dataset(f"partialspoof:{self.out / 'vocoded'}:train"), self.out)
        other = self._vocoded
        own = [name for name, row in other.rows.items() if other.corpus.speakers[row] in speakers]
        return [other.of(one) for one in np.random.default_rng(seed).permutation(own)[:count]]

    def at_speed(self, speed: float, train: Corpus) -> list[tuple[Tensor, Tensor]]:
        """The training utterances of a corpus of the same recordings played at another speed."""
        if speed not in self._at_speed:
            from recipes import corpus_of_speech

            played = play_at_speed(self.out / "speech", self.out / f"speech-{speed:g}", speed)
            corpus = corpus_of_speech(played, self.out / f"one-corpus-{speed:g}")[0]
            self._at_speed[speed] = Material(corpus, self.out)
        other = self._at_speed[speed]
        own = other.corpus.references
        unheard = sorted({*_attacks_in(own)} - {*_attacks_in(train.references)})
        kept = by_attack(own, unheard)[SEEN].tolist() if unheard else range(len(own))
        return [other.of(own.utterances[row]) for row in kept if other.corpus.speakers[row] in {*train.speakers}]


class TwoMaterials:
    """The utterances of a training and of an evaluation set."""

    def __init__(self, train: Corpus, evaluation: Corpus, out: Path) -> None:
        self.train, self.evaluation = Material(train, out), Material(evaluation, out)
        self.attacks, self.through_channels = self.train.attacks, self.train.through_channels
        self.vocoded, self.at_speed = self.train.vocoded, self.train.at_speed

    def of(self, name: str) -> tuple[Tensor, Tensor]:
        """Features and targets of an utterance."""
        return (self.train if name in self.train.rows else self.evaluation).of(name)


def play_at_speed(folder: Path, out: Path, speed: float) -> Path:
    """The recordings of a source folder, played faster or slower, so that pitch and formants move: other speakers."""
    for path in sorted(one for one in folder.glob("*/*/*") if one.suffix in (".wav", ".flac")):
        target = (out / path.relative_to(folder)).with_suffix(".wav")
        if not target.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            played = soxr.resample(Sound(path, path.name).read().astype(np.float64), RATE, RATE / speed)
            peak = np.abs(played).max(initial=1e-9)
            write_atomically(target, [wav_bytes(played * min(1.0, 0.99 / peak))], force=True)
    return out


def _attacks_in(references: References) -> list[str]:
    found = {*references.attacks[references.labels == SPOOF].tolist()} - {-1}
    return [references.attack_names[one] for one in found]


def _features(sound: Tensor) -> Tensor:
    return FrameFeatures()(sound[None], torch.tensor([sound.numel()]))[0][0]


def trial(options: Options, seed: int, train: Corpus, evaluation: Corpus, material: Material | TwoMaterials) -> Scores:
    """Train with options, and score the evaluation set."""
    torch.manual_seed(seed)
    names = list(train.references.utterances)
    pairs = [material.of(one) for one in names]
    pairs += material.vocoded({*train.speakers}, options.vocoded, seed) if options.vocoded else []
    for speed in options.speeds:
        pairs += material.at_speed(speed, train)
    whole = torch.cat([features for features, _ in pairs])
    mean, deviation = whole.mean(0), whole.var(0).clamp(min=1e-4).sqrt()

    def prepared(features: Tensor) -> Tensor:
        x = (features - mean) / deviation
        if options.both:
            return torch.cat((x, x - x.mean(0)), 1)
        return x - options.relative * x.mean(0)

    attacks = [material.attacks(one) for one in names] if options.alike else []
    weights = _weights([targets for _, targets in pairs], attacks, options)
    data = [(prepared(x), y.clamp(min=0).float(), w) for (x, y), w in zip(pairs, weights, strict=True)]
    changed = [[prepared(x) for x in material.through_channels(one)] for one in names] if options.channels else []
    network = _trained(Trial(COUNT * (1 + options.both), options), data, changed, options, seed)
    found = {}
    with torch.inference_mode():
        for name in evaluation.references.utterances:
            x = prepared(material.of(name)[0])
            found[name] = scores(network(x[None], torch.tensor([len(x)])))[0].numpy()
    return Scores.from_frames(found, hop=0.02, higher="bonafide")


def _weights(targets: Sequence[Tensor], attacks: Sequence[np.ndarray], options: Options) -> list[Tensor]:
    """How much each frame counts."""
    found = [(one >= 0).float() for one in targets]
    for one, weight in zip(targets, found, strict=True):
        if options.boundary:
            for place in (one[1:] != one[:-1]).nonzero()[:, 0].tolist():
                weight[max(0, place + 1 - options.boundary) : place + 1 + options.boundary] = 0
    if attacks:
        names, counts = np.unique(np.concatenate(attacks), return_counts=True)
        share = np.minimum(counts[names >= 0].mean() / counts, 4.0)
        share[names < 0] = 1.0
        for own, weight in zip(attacks, found, strict=True):
            weight *= torch.from_numpy(share[np.searchsorted(names, own)].astype(np.float32))
    return found


def _trained(
    network: Trial, data: Sequence[Utterance], changed: Sequence[Sequence[Tensor]], options: Options, seed: int
) -> Trial:
    recipe = replace(LIGHT.training, epochs=options.epochs)
    optimiser = torch.optim.AdamW(network.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
    random, lengths = np.random.default_rng([seed, 77]), [len(x) for x, _, _ in data]
    averaged: dict[str, Tensor] = {}
    for epoch in range(recipe.epochs):
        batches = bucketed_batches(lengths, recipe.batch_size, seed, epoch)
        network.train()
        for step, chosen in enumerate(batches):
            batch = [data[i] for i in chosen]
            if changed:
                batch = [
                    (changed[i][random.integers(CHANNELS)], *rest) if random.random() < options.channels else (x, *rest)
                    for i, (x, *rest) in zip(chosen, batch, strict=True)
                ]
            if options.cut:
                batch = _with_parts_of_others(batch, options.cut, random)
            x, y, w = (nn.utils.rnn.pad_sequence([*column], batch_first=True) for column in zip(*batch, strict=True))
            counts = torch.tensor([len(one) for one, _, _ in batch])
            if options.mixup:
                x, y = _mixed(x, y, real_steps(counts, x.shape[1]), options.mixup, random)
            for first, last in _groups() if options.hidden else ():
                x[..., first:last] *= torch.from_numpy(random.random(len(x)) >= options.hidden).float()[:, None, None]
            for group in optimiser.param_groups:
                group["lr"] = learning_rate(recipe, epoch + step / len(batches))
            loss = (loss_of_head(network(x, counts), y) * w).sum() / w.sum()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), recipe.largest_gradient)
            optimiser.step()
        if (number := epoch - recipe.epochs + 1 + options.averaged) > 0:
            for name, one in network.state_dict().items():
                before = averaged.get(name, torch.zeros_like(one))
                averaged[name] = before + (one - before) / number
    if averaged:
        network.load_state_dict(averaged)
    return network.eval()


def _groups() -> list[tuple[int, int]]:
    ends = np.cumsum(list(GROUPS.values())).tolist()
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _mixed(x: Tensor, y: Tensor, real: Tensor, shape: float, random: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Each recording mixed with another one, where both have sound."""
    share = random.beta(shape, shape)
    other = torch.from_numpy(random.permutation(len(x)))
    own = 1 - min(share, 1 - share) * (real & real[other]).float()
    return x * own[..., None] + x[other] * (1 - own[..., None]), y * own + y[other] * (1 - own)


def _with_parts_of_others(batch: Sequence[Utterance], share: float, random: np.random.Generator) -> list[Any]:
    """Some recordings with a part of another one in the place of their own."""
    found = []
    for own, place in zip(batch, random.permutation(len(batch)), strict=True):
        other = batch[place]
        most = 2 * min(len(own[0]), len(other[0])) // 3
        if random.random() >= share or most < 12:
            found.append(own)
            continue
        length = int(random.integers(10, most))
        to, start = (int(random.integers(0, len(one[0]) - length + 1)) for one in (own, other))
        found.append(
            tuple(
                torch.cat((a[:to], b[start : start + length], a[to + length :]))
                for a, b in zip(own, other, strict=True)
            )
        )
    return found

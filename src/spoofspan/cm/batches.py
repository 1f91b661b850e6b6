"""Corpora, targets of windows, and batches.

A window is spoof if any of it is, by spoofspan's own points (rules 16 and 18 of ``docs/rules.md``). The rules decide
what references leave open; windows that they ignore have no target, as have windows without a label.

An utterance longer than the network allows is cut into pieces of about equal length, at edges of the coarsest windows;
every piece is an utterance of its own. Pieces of similar length share a batch, so that little of it is padding. Which
pieces are in which batch follows from the seed and the epoch alone, whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from spoofspan.base.documents import read_json
from spoofspan.base.errors import UsageError, refuse
from spoofspan.base.pool import end_with_parent
from spoofspan.base.progress import progress
from spoofspan.base.times import SECOND, seconds_text
from spoofspan.cm.config import Config
from spoofspan.cm.frame_times import (
    COARSEST,
    HOP,
    UTTERANCE,
    frame_count,
    resolution,
    samples_of,
    scale_of,
    window_count,
)
from spoofspan.data.references import BONA_FIDE, SPOOF, References
from spoofspan.data.rules import Rules
from spoofspan.formats.datasets.partialspoof_dataset import read_dataset, sound_folder
from spoofspan.formats.reading import read_references
from spoofspan.formats.sound import RATE, Sound, sounds_in
from spoofspan.formats.sound_channel import Channel
from spoofspan.mass.labelling import label_references
from spoofspan.mass.point_labels import Grid, point_classes

MOST_OFF = 50_000_000  # ns by which a recording may miss its duration
POOL = 32  # batches that are sorted by length together


@dataclass(frozen=True, eq=False)
class Corpus:
    """References, and the sound of each utterance.

    Made by :meth:`from_dataset` (a folder with the layout of PartialSpoof), :meth:`from_files` (references in any
    format and a folder of sound files) or :meth:`of` (References and sounds by utterance).

    Parameters
    ----------
    references : References
        Reference labels.
    sounds : tuple of Sound
        The recording of each utterance, in the order of the references.
    samples : tuple of int
        How many samples each recording has at 16 kHz.
    speakers : tuple of str
        The speaker of each recording; empty if unknown.
    sent_through : str
        The band and noise of ``corpus build --channel``, as ``corpus.json`` states them, or ``none``; empty without it.

    """

    references: References
    sounds: tuple[Sound, ...]
    samples: tuple[int, ...]  # at 16 kHz
    speakers: tuple[str, ...] = ()  # of each utterance; empty if unknown
    sent_through: str = ""

    @classmethod
    def of(cls, references: References, sounds: dict[str, Sound]) -> Corpus:
        """Find the sound of every utterance, and check that it is as long as the references say."""
        missing = [utterance for utterance in references.utterances if utterance not in sounds]
        refuse(missing, lambda one: f"utterance {one!r} has no sound file", "give the folder that has them all")
        found = tuple(sounds[utterance] for utterance in references.utterances)
        with progress("looking at sound files", total=len(found)) as advance:
            samples = []
            for sound in found:
                samples.append(sound.samples)
                advance(1)
        lengths = np.array(samples, np.int64) * SECOND // RATE
        if references.durations is None:
            return cls(replace(references, durations=lengths), found, tuple(samples))
        durations = references.durations

        def describe(i: int) -> str:
            lasts, stated = seconds_text(lengths[i]), seconds_text(durations[i])
            return f"utterance {references.utterances[i]!r}: {found[i].name} lasts {lasts}, its duration is {stated}"

        off = np.flatnonzero(np.abs(durations - lengths) > MOST_OFF).tolist()
        refuse(off, describe, "references and sound must be of the same recordings")
        return cls(references, found, tuple(samples))

    @classmethod
    def from_dataset(
        cls, spec: str, *, source: str | None = None, channel: str | None = None, truncated: str = "error"
    ) -> Corpus:
        """One set of a database by its folder, with the sound in ``SET/con_wav``.

        Parameters
        ----------
        spec : str
            ``partialspoof:FOLDER:SET``, as ``--dataset`` takes it.
        source : str, optional
            Source of the labels: an RTTM file of the folder by its name, or ``segment_labels@20ms``.
        channel : str, optional
            Of sound with several channels: ``"mix"``, or a number from 0 on.
        truncated : str
            Files with fewer samples than their header states: ``"error"``, or ``"use"`` what is there.

        Returns
        -------
        Corpus
            References and sounds; a recording that misses its stated duration is an error.

        """
        dataset = read_dataset(spec, source=source)
        sounds = sound_folder(dataset.folder, dataset.subset)
        if sounds is None:
            raise UsageError(f"{spec}: there is no folder {dataset.subset}/con_wav with the sound of the set")
        found = cls.of(dataset.references, sounds_in(sounds, channel, truncated))
        who = {} if dataset.protocol is None else dataset.by_utterance("speaker")
        speakers = tuple(who.get(one) or "" for one in found.references.utterances) if who else ()
        return replace(found, speakers=speakers, sent_through=_stated_channel(dataset.folder))

    @classmethod
    def from_files(
        cls,
        references: str,
        sounds: str | Path,
        *,
        durations: str | None = None,
        channel: str | None = None,
        hop: float | None = None,
        spoof_label: int | None = None,
    ) -> Corpus:
        """References in any format, and a folder of sound files named after the utterances.

        Parameters
        ----------
        references : str
            A file that :func:`spoofspan.read_references` reads.
        sounds : str or Path
            The folder of the sound files.
        durations : str, optional
            A reco2dur file; without one, the durations are those of the sound.
        channel : str, optional
            Of sound with several channels: ``"mix"``, or a number from 0 on.
        hop : float, optional
            The resolution of label arrays in seconds.
        spoof_label : {0, 1}, optional
            Which of the labels 0 and 1 means spoof, in arrays and tables of numbers.

        Returns
        -------
        Corpus
            References and sounds; an utterance without a sound file is an error.

        """
        found = read_references(references, durations=durations, hop=hop, spoof_label=spoof_label)
        return cls.of(found, sounds_in(Path(sounds).expanduser(), channel))

    def __len__(self) -> int:
        return len(self.sounds)

    @property
    def seconds(self) -> float:
        """Duration in seconds."""
        return sum(self.samples) / RATE


def _stated_channel(folder: Path) -> str:
    """The channel of a corpus that ``spoofspan corpus build`` made; its ``corpus.json`` lies above the database."""
    for path in (folder / "corpus.json", folder.resolve().parent / "corpus.json"):
        with suppress(OSError, ValueError, KeyError, TypeError, UsageError):
            stated = read_json(path)["channel"]
            low, high, noise = float(stated["low_hz"]), float(stated["high_hz"]), stated["noise_dbov"]
            return Channel(low, high, None if noise is None else float(noise)).stated
    return ""


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The two corpora of a training.

    Parameters
    ----------
    train : Corpus
        The training set.
    dev : Corpus
        The development set, which chooses the best epoch and decides when to stop.

    """

    train: Corpus
    dev: Corpus

    @property
    def shared(self) -> str:
        """Warning that the sets share recordings; empty if they do not."""
        places = {one.where for one in self.train.sounds}
        both = sum(one.where in places for one in self.dev.sounds)
        if not both:
            return ""
        return (
            f"{both:,} of {len(self.dev):,} recordings of the development set are in the training set too: best epoch, "
            "figures and calibration rest on recordings that the model has learned by heart"
        )


@dataclass(frozen=True)
class AudioPiece:
    """A part of an utterance that the network takes at once."""

    utterance: int
    start: int  # frames
    frames: int
    samples: int


@dataclass(frozen=True, eq=False)
class Batch:
    """Padded sound and targets of some pieces."""

    pieces: tuple[int, ...]
    waves: Tensor  # (pieces, time)
    samples: Tensor
    targets: dict[str, Tensor]  # of each branch: (pieces, windows)

    def to(self, device: torch.device) -> Batch:
        """The same on a device; from pinned memory, without waiting for it."""
        return self._with(lambda one: one.to(device, non_blocking=True))

    def pin_memory(self) -> Batch:
        """The same in memory that a GPU reads by itself."""
        return self._with(Tensor.pin_memory)

    def _with(self, change: Callable[[Tensor], Tensor]) -> Batch:
        targets = {name: change(one) for name, one in self.targets.items()}
        return Batch(self.pieces, change(self.waves), change(self.samples), targets)


def pieces_of(samples: Sequence[int], longest: int) -> list[AudioPiece]:
    """Cut recordings into pieces of at most so many frames.

    >>> [(one.start, one.frames) for one in pieces_of([samples_of(70)], 64)]
    [(0, 64), (64, 6)]
    >>> [(one.start, one.frames) for one in pieces_of([samples_of(150)], 96)]
    [(0, 96), (96, 54)]
    """
    found = []
    for utterance, size in enumerate(samples):
        frames = frame_count(size)
        count = -(-frames // longest)
        step = -(-frames // count // COARSEST) * COARSEST if count > 1 else frames
        for start in range(0, frames, step):
            length = min(step, frames - start)
            last = start + length == frames
            found.append(AudioPiece(utterance, start, length, size - start * HOP if last else samples_of(length)))
    return found


class Pieces(Dataset):
    """The pieces of a corpus with their targets."""

    def __init__(self, corpus: Corpus, config: Config, *, shuffle: str = "no") -> None:
        network = config.network
        self.corpus = corpus
        self.pieces = pieces_of(corpus.samples, network.longest)
        labels = WindowLabels(
            corpus.references, config.labels.rules, network.branches, legacy=network.legacy_pool_padding
        )
        targets = [labels.of(one.utterance, one.start, one.frames) for one in self.pieces]
        self.targets = shuffled(targets, shuffle, config.training.seed)

    def __len__(self) -> int:
        return len(self.pieces)

    def __getitem__(self, chosen: Sequence[int]) -> Batch:
        """Read the pieces of one batch."""
        waves = [self._wave(self.pieces[i]) for i in chosen]
        return Batch(
            tuple(chosen),
            torch.nn.utils.rnn.pad_sequence([torch.from_numpy(wave) for wave in waves], batch_first=True),
            torch.tensor([wave.size for wave in waves]),
            {name: _padded([self.targets[i][name] for i in chosen]) for name in self.targets[chosen[0]]},
        )

    def _wave(self, piece: AudioPiece) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        start = piece.start * HOP
        return self.corpus.sounds[piece.utterance].read(start, start + piece.samples)

    def loader(self, batches: Sequence[list[int]], workers: int, device: torch.device) -> Any:
        """Read batches, in other processes if there are workers, and into pinned memory for a GPU."""
        how: Any = {"num_workers": workers, "worker_init_fn": _begin_reading, "pin_memory": device.type == "cuda"}
        return DataLoader(self, sampler=batches, batch_size=None, **how)

    def windows(self, chosen: Sequence[int]) -> dict[str, int]:
        """Number of windows that count in some pieces, by branch."""
        return {
            name: sum(int(np.count_nonzero(self.targets[i][name] != TARGET["not counted"])) for i in chosen)
            for name in self.targets[0]
        }

    def batches(self, size: int, seed: int, epoch: int) -> list[list[int]]:
        """Batches of pieces of similar length, in random order."""
        return bucketed_batches([one.frames for one in self.pieces], size, seed, epoch)

    def in_order(self, size: int) -> list[list[int]]:
        """Batches in the order of length, for validation."""
        order = sorted(range(len(self.pieces)), key=lambda i: (self.pieces[i].frames, i))
        return [order[first : first + size] for first in range(0, len(order), size)]


def _begin_reading(_: int) -> None:
    """Start of a process that reads sound."""
    end_with_parent()


def _padded(targets: list[Targets]) -> Tensor:
    tensors = [torch.from_numpy(one.astype(np.int64)) for one in targets]
    return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=TARGET["not counted"])


def bucketed_batches(lengths: Sequence[int], size: int, seed: int, epoch: int) -> list[list[int]]:
    """Every index once: shuffled, sorted by length within pools of some batches, cut, and the batches shuffled.

    >>> sorted(i for batch in bucketed_batches([5, 3, 9, 1, 7], 2, seed=1, epoch=0) for i in batch)
    [0, 1, 2, 3, 4]
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(lengths)).tolist()
    batches = []
    for first in range(0, len(order), size * POOL):
        pool = sorted(order[first : first + size * POOL], key=lambda i: lengths[i])
        batches += [pool[at : at + size] for at in range(0, len(pool), size)]
    return [batches[i] for i in random.permutation(len(batches)).tolist()]


# ---------------------------------------------------------------- targets

Targets = npt.NDArray[np.int8]  # of windows
TARGET = {"bona fide": 1, "spoof": 0, "not counted": -1}


@dataclass(frozen=True, eq=False)
class Windows:
    """Targets of the windows of one scale: those of utterance i are ``values[offsets[i]:offsets[i + 1]]``."""

    offsets: npt.NDArray[np.int64]
    values: Targets

    def of(self, utterance: int, start: int, count: int) -> Targets:
        """Windows ``start`` to ``start + count`` of an utterance; those past its labels do not count."""
        end = min(int(self.offsets[utterance]) + start + count, int(self.offsets[utterance + 1]))
        found = self.values[int(self.offsets[utterance]) + start : end]
        return np.pad(found, (0, count - found.size), constant_values=TARGET["not counted"])


def window_targets(references: References, rules: Rules, scale: int) -> Windows:
    """The targets of all windows of a scale."""
    labelling, _ = label_references(references, rules)
    grid = Grid.over(labelling.extents, resolution(scale), rules.last_point)
    classes = np.concatenate(list(point_classes(labelling, grid, rules)))
    values = np.full(classes.size, TARGET["not counted"], np.int8)
    values[classes == BONA_FIDE], values[classes == SPOOF] = TARGET["bona fide"], TARGET["spoof"]
    return Windows(grid.offsets, values)


class WindowLabels:
    """Targets of a corpus for some branches."""

    def __init__(self, references: References, rules: Rules, branches: Iterable[str], *, legacy: bool = False) -> None:
        self.branches = tuple(branches)
        self._legacy = legacy
        # what an utterance is follows from its finest windows
        scales = {0 if name == UTTERANCE else scale_of(name) for name in self.branches}
        self._windows = {scale: window_targets(references, rules, scale) for scale in scales}

    def of(self, utterance: int, start: int, frames: int) -> dict[str, Targets]:
        """Targets of ``frames`` frames by branch; ``start`` begins a window of every scale."""
        found = {}
        for name in self.branches:
            if name == UTTERANCE:
                found[name] = _whole(self._windows[0].of(utterance, start, frames))
            else:
                scale = scale_of(name)
                count = window_count(frames, scale, legacy=self._legacy)
                found[name] = self._windows[scale].of(utterance, start // 2**scale, count)
        return found


def _whole(targets: Targets) -> Targets:
    """One target: spoof if any window is; the lowest that counts."""
    counted = targets[targets != TARGET["not counted"]]
    return counted.min(keepdims=True) if counted.size else np.array([TARGET["not counted"]], np.int8)


def shuffled(targets: list[dict[str, Targets]], how: str, seed: int) -> list[dict[str, Targets]]:
    """Labels that cannot be learned, with the same share of spoof.

    ``frames``: the windows of each branch trade places over the whole corpus. ``utterances``: every utterance gets the
    labels of another one, repeated or cut to its length.
    """
    if how == "no":
        return targets
    random = np.random.default_rng([seed, 0x5B])
    if how == "utterances":
        other = random.permutation(len(targets))
        return [
            {name: np.resize(targets[j][name], values.size) for name, values in one.items()}
            for one, j in zip(targets, other.tolist(), strict=True)
        ]
    mixed: list[dict[str, Targets]] = [{} for _ in targets]
    for name in targets[0] if targets else ():
        ends = np.cumsum([one[name].size for one in targets])
        pool = random.permutation(np.concatenate([one[name] for one in targets]))
        for one, part in zip(mixed, np.split(pool, ends[:-1]), strict=True):
            one[name] = part
    return mixed

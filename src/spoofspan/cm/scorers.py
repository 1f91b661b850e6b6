"""Scorers of windows: a detector of joints, which needs no torch, and a trained model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from spoofspan.base.times import Float64
from spoofspan.cm.frame_times import BRANCHES, COARSEST, HOP, UTTERANCE, WINDOW, frame_count, scale_of
from spoofspan.formats.sound import Samples

if TYPE_CHECKING:
    import torch
    from torch import nn

    from spoofspan.cm.config import Config
    from spoofspan.cm.model import Embeddings

JOINT_DETECTOR = "joint-detector"
BANDS = 20
AROUND = 3  # frames on each side
FLOOR = 1e-7  # power that is silence
AT_ONCE = 2048  # frames transformed together


Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Window:
    """A part of a recording: its sound, and which of its frames count."""

    recording: int
    wave: Samples
    first: int  # frame
    last: int | None  # one past the last frame; None: all that there are


class JointDetector:
    """Scores windows by how much energy and spectrum jump. It learns nothing.

    A splice puts two recordings next to each other, and where it was done carelessly one hears it. The jump at frame k
    is the distance between the mean log spectra (in bands) of the frames before and after it, plus that of their
    levels; the score is minus the jump, in dB. Windows of coarser resolutions have the lowest score of their frames,
    and so has the utterance. It finds edges, never what lies between them: a system that is not better has learned
    joints, not spoofs.
    """

    longest = 64 * COARSEST  # frames of a window
    branches = BRANCHES

    def score(self, windows: Sequence[Window]) -> list[dict[str, Float32]]:
        """The scores of the frames that count."""
        return [self._of_window(window) for window in windows]

    def _of_window(self, window: Window) -> dict[str, Float32]:
        frames = -jumps(window.wave)[window.first : window.last]
        found = {}
        for name in BRANCHES:
            size = frames.size if name == UTTERANCE else 2 ** scale_of(name)
            found[name] = np.minimum.reduceat(frames, np.arange(0, frames.size, size))
        return found

    def whole(self, parts: list[Float32]) -> float:
        """The lowest score."""
        return float(np.concatenate(parts).min())


def jumps(wave: Float32) -> Float32:
    """Jump of each frame of 20 ms, in dB.

    >>> quiet, loud = np.full(8000, 0.001, np.float32), np.full(8000, 0.1, np.float32)
    >>> int(jumps(np.concatenate((quiet, loud))).argmax())
    24
    """
    bands = band_levels(wave)
    level = np.logaddexp.reduce(bands * (np.log(10) / 10), axis=1)[:, None] * (10 / np.log(10))
    return (_distance(bands - level) + _distance(level)).astype(np.float32)


def _distance(x: Float64) -> Float64:
    """The root mean square difference between the means before and after each frame; edges repeat."""
    frames = len(x)
    sums = np.concatenate((np.zeros((1, x.shape[1])), np.cumsum(x, axis=0)))
    k = np.arange(frames)
    before, after = np.maximum(k - AROUND, 0), np.minimum(k + 1 + AROUND, frames)
    left = (sums[k + 1] - sums[before]) / (k + 1 - before)[:, None]
    right = (sums[after] - sums[k]) / (after - k)[:, None]
    distance: Float64 = np.sqrt(((left - right) ** 2).mean(axis=1))
    return distance


def band_levels(wave: Float32) -> Float64:
    """The level of each band in each frame, in dB."""
    frames = frame_count(wave.size)
    padded = np.pad(wave, (0, max(WINDOW - wave.size, 0)))
    views = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP][:frames]
    edges = np.linspace(0, WINDOW // 2, BANDS, endpoint=False).astype(int)
    levels = np.empty((frames, BANDS))
    for first in range(0, frames, AT_ONCE):
        spectra = np.fft.rfft(views[first : first + AT_ONCE] * np.hanning(WINDOW), axis=1)
        power = np.add.reduceat(np.abs(spectra) ** 2, edges, axis=1) / WINDOW
        levels[first : first + AT_ONCE] = 10 * np.log10(power + FLOOR)
    return levels


class NetworkScorer:
    """Scores windows in batches with a trained model."""

    def __init__(self, model: nn.Module, config: Config, device: torch.device) -> None:
        self._model = model.eval().to(device)
        self._device = device
        self.longest = config.network.longest
        self.branches = config.network.branches

    def score(self, windows: Sequence[Window]) -> list[dict[str, Float32]]:
        """The scores of the frames that count; of the utterance, its embedding and how many frames it is of."""
        import torch

        waves = torch.nn.utils.rnn.pad_sequence([torch.from_numpy(one.wave) for one in windows], batch_first=True)
        samples = torch.tensor([one.wave.size for one in windows])
        with torch.inference_mode():
            embedded = self._model.embed(waves.to(self._device), samples.to(self._device))
            return [self._of_window(window, row, embedded) for row, window in enumerate(windows)]

    def _of_window(self, window: Window, row: int, embedded: dict[str, Embeddings]) -> dict[str, Float32]:
        from spoofspan.cm.model import scores as scores_of

        found = {}
        for name, one in embedded.items():
            values = one.values[row, : int(one.counts[row])]
            if name == UTTERANCE:
                found[name] = np.append(values[0].float().cpu().numpy(), np.float32(window.wave.size))
                continue
            size = 2 ** scale_of(name)
            kept = values[window.first // size : None if window.last is None else window.last // size]
            found[name] = scores_of(self._model.outputs(name, kept)).cpu().numpy()
        return found

    def whole(self, parts: list[Float32]) -> float:
        """The score of the mean embedding of all windows, by their length."""
        import torch

        from spoofspan.cm.model import scores as scores_of

        rows = np.stack(parts)
        mean = np.average(rows[:, :-1], axis=0, weights=rows[:, -1].astype(np.float64)).astype(np.float32)
        with torch.inference_mode():
            outputs = self._model.outputs(UTTERANCE, torch.from_numpy(mean)[None].to(self._device))
        return float(scores_of(outputs)[0])


# For each window ``score`` gives the scores of each branch that count, and of the utterance what ``whole`` needs to
# score it when all its windows are known.
Scorer = JointDetector | NetworkScorer


def load_scorer(checkpoint: str | Path, device: str | None = None, *, allow_code: bool = False) -> NetworkScorer:
    """Scorer of the checkpoint in a folder."""
    from spoofspan.cm import checkpoints
    from spoofspan.cm.distributed import choose_device

    found = checkpoints.load(Path(checkpoint), allow_code=allow_code)
    return NetworkScorer(found.model, found.config, choose_device(device))

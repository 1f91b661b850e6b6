"""A trained model as a scorer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

from spoofspan.cm import checkpoints
from spoofspan.cm.config import Config
from spoofspan.cm.distributed import choose_device
from spoofspan.cm.frame_times import UTTERANCE, scale_of
from spoofspan.cm.model import Embeddings
from spoofspan.cm.model import scores as scores_of
from spoofspan.cm.scoring import Float32, Window


class NetworkScorer:
    """Scores windows in batches."""

    def __init__(self, model: nn.Module, config: Config, device: torch.device) -> None:
        self._model = model.eval().to(device)
        self._device = device
        self.longest = config.network.longest
        self.branches = config.network.branches

    @classmethod
    def of(cls, checkpoint: str | Path, device: str | None) -> NetworkScorer:
        """Load a checkpoint."""
        found = checkpoints.load(checkpoint)
        return cls(found.model, found.config, choose_device(device))

    def score(self, windows: Sequence[Window]) -> list[dict[str, Float32]]:
        """The scores of the frames that count; of the utterance, its embedding and how many frames it is of."""
        waves = nn.utils.rnn.pad_sequence([torch.from_numpy(one.wave) for one in windows], batch_first=True)
        samples = torch.tensor([one.wave.size for one in windows])
        with torch.inference_mode():
            embedded = self._model.embed(waves.to(self._device), samples.to(self._device))
            return [self._of_window(window, row, embedded) for row, window in enumerate(windows)]

    def _of_window(self, window: Window, row: int, embedded: dict[str, Embeddings]) -> dict[str, Float32]:
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
        rows = np.stack(parts)
        mean = np.average(rows[:, :-1], axis=0, weights=rows[:, -1].astype(np.float64)).astype(np.float32)
        with torch.inference_mode():
            outputs = self._model.outputs(UTTERANCE, torch.from_numpy(mean)[None].to(self._device))
        return float(scores_of(outputs)[0])

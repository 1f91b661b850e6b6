"""Labels of frames (B, T) in the place of ranges: 0 and 1, negative where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch

from spoofspan.base.errors import UsageError
from spoofspan.data.references import Range


def labels_as_tensor(given: Any) -> Any:
    """Labels of frames in an array of NumPy as a tensor; anything else as it is."""
    is_labels = isinstance(given, np.ndarray) and given.ndim == 2 and given.dtype.kind in "biuf"
    return torch.from_numpy(given.copy()) if is_labels else given


def last_labels(labels: torch.Tensor) -> torch.Tensor:
    """Number of frames that each utterance has: up to its last label that is not negative.

    >>> last_labels(torch.tensor([[0, 1, -100], [0, -100, 1]])).tolist()
    [2, 3]
    """
    known = torch.nn.functional.pad(labels >= 0, (1, 0))  # a column more, as there may be none
    return (known * torch.arange(labels.shape[1] + 1, device=labels.device)).amax(1)


def check_labels(labels: torch.Tensor, scores: Sequence[int], fewest: int, most: int) -> None:
    """Refuse labels of other frames than the scores have: at another hop, the rest of either would not count."""
    fits = labels.ndim == 2 and len(labels) == scores[0] and labels.shape[1] >= fewest
    if not fits or (labels[:, most:] >= 0).any():
        raise UsageError(
            f"labels must be (batch, frames), as the scores are, {tuple(scores)}, not {tuple(labels.shape)}; for "
            "labels at another hop, give their ranges in seconds: update(preds, ranges, lengths)"
        )


def label_ranges(
    labels: torch.Tensor, frames: Sequence[int], hop: float, spoof_label: Literal[0, 1] | None
) -> list[list[Range]]:
    """Ranges of labels of frames (B, T), for each utterance of so many frames.

    >>> label_ranges(torch.tensor([[0, 0, 1, 1]]), [3], 0.02, spoof_label=1)
    [[(0.0, 0.04, 'bonafide'), (0.04, 0.06, 'spoof')]]
    """
    if spoof_label is None:
        raise UsageError("labels of frames need a metric that knows which of them means spoof: spoof_label=1 (or 0)")
    ranges: list[list[Range]] = []
    for row, count in zip(labels.cpu().numpy(), frames, strict=True):
        known = row[:count]
        if unknown := set(np.unique(known[known >= 0]).tolist()) - {0, 1}:
            raise UsageError(f"labels of frames must be 0, 1, or negative for none, not {sorted(unknown)[0]!r}")
        edges = [0, *(np.flatnonzero(np.diff(known)) + 1).tolist(), count] if count else []
        runs = [(first, last, known[first]) for first, last in pairwise(edges) if known[first] >= 0]
        name = {spoof_label: "spoof", 1 - spoof_label: "bonafide"}
        ranges.append([(first * hop, last * hop, name[int(label)]) for first, last, label in runs])
    return ranges

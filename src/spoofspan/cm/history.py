"""Metrics of a training: a line of JSON for every epoch, and TensorBoard if it is installed."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from spoofspan.formats.writing import write_atomically

METRICS, BOARD = "metrics.jsonl", "tensorboard"


class History:
    """The metrics of one training; ``enabled`` in one of its processes only."""

    def __init__(self, folder: Path, *, enabled: bool) -> None:
        self._path = folder / METRICS
        self._enabled = enabled
        self._board: Any = None
        if enabled and find_spec("tensorboard") is not None:
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(str(folder / BOARD))

    def keep(self, lines: int) -> None:
        """Keep the first lines; what was written after the saved state will be written again."""
        if not self._enabled:
            return
        there = self._path.read_text(encoding="utf-8").splitlines(keepends=True) if self._path.is_file() else []
        write_atomically(self._path, [line.encode() for line in there[:lines]], force=True)

    def add(self, line: dict[str, Any]) -> None:
        """Write one epoch."""
        if not self._enabled:
            return
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")
        if self._board is not None:
            for name, value in flattened(line).items():
                self._board.add_scalar(name, value, line["epoch"])

    def close(self) -> None:
        """Finish writing."""
        if self._board is not None:
            self._board.close()


def flattened(line: dict[str, Any], above: str = "") -> dict[str, float]:
    """Nested numbers by their path.

    >>> flattened({"loss": 0.5, "dev": {"20ms": {"range-eer": 0.25}}})
    {'loss': 0.5, 'dev/20ms/range-eer': 0.25}
    """
    found: dict[str, float] = {}
    for name, value in line.items():
        if isinstance(value, dict):
            found |= flattened(value, f"{above}{name}/")
        else:
            found[above + name] = float(value)
    return found

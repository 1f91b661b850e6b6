"""Metrics of a training: a line of JSON for every epoch, and callbacks that show them elsewhere.

A callback has the methods of :class:`Callback`; those that come with the package are ``csv``, ``tensorboard`` and
``wandb``. After an interrupted training, each first gets the epochs that are kept, so that what it shows is whole.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from spoofspan.base.documents import parse_json, parse_toml
from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.base.extras import package
from spoofspan.cm.config import Config, is_own
from spoofspan.formats.writing import write_atomically

METRICS, TABLE, BOARD = "metrics.jsonl", "metrics.csv", "tensorboard"
Numbers = Mapping[str, float]  # of an epoch: epoch, train_loss, dev_loss, dev/20ms/range-eer, ...


class Callback(Protocol):
    """Called by a training, in the process that writes. Inherit from it, and write the methods that are needed."""

    def on_train_begin(self, folder: Path, config: Config, epochs: Sequence[Numbers]) -> None:
        """Before the first step; ``epochs`` are those of an interrupted training that goes on."""

    def on_epoch_end(self, numbers: Numbers) -> None:
        """After validation."""

    def on_train_end(self) -> None:
        """After the last epoch."""


class CsvLog(Callback):
    """A table with a row for each epoch, ``metrics.csv``."""

    def on_train_begin(self, folder: Path, config: Config, epochs: Sequence[Numbers]) -> None:
        """Write the rows that are kept."""
        self._path = folder / TABLE
        self._path.unlink(missing_ok=True)
        self._columns: list[str] = []
        for numbers in epochs:
            self.on_epoch_end(numbers)

    def on_epoch_end(self, numbers: Numbers) -> None:
        """Add a row."""
        self._columns = self._columns or list(numbers)
        with self._path.open("a", encoding="utf-8", newline="") as stream:
            table = csv.DictWriter(stream, self._columns, extrasaction="ignore")
            if not stream.tell():
                table.writeheader()
            table.writerow(numbers)


class TensorBoardLog(Callback):
    """Curves in TensorBoard, of the files in ``tensorboard/``."""

    def on_train_begin(self, folder: Path, config: Config, epochs: Sequence[Numbers]) -> None:
        """Open the files; what is kept is in those of before."""
        package("tensorboard")
        from torch.utils.tensorboard import SummaryWriter

        self._board = SummaryWriter(str(folder / BOARD), purge_step=len(epochs))

    def on_epoch_end(self, numbers: Numbers) -> None:
        """Add a point to every curve."""
        for name, value in numbers.items():
            self._board.add_scalar(name, value, int(numbers["epoch"]))

    def on_train_end(self) -> None:
        """Finish writing."""
        self._board.close()


class WandbLog(Callback):
    """A run of Weights & Biases, in its project ``spoofspan`` unless WANDB_PROJECT names another."""

    def on_train_begin(self, folder: Path, config: Config, epochs: Sequence[Numbers]) -> None:
        """Start the run, with the whole configuration; its own lines on the terminal are left out."""
        wandb = package("wandb")
        self._run = wandb.init(
            name=f"{config.name}, seed {config.training.seed}",
            dir=str(folder),
            config=parse_toml(config.to_toml()),
            settings=wandb.Settings(silent=True),
        )
        for numbers in epochs:
            self.on_epoch_end(numbers)

    def on_epoch_end(self, numbers: Numbers) -> None:
        """Log all numbers."""
        self._run.log(dict(numbers), step=int(numbers["epoch"]))

    def on_train_end(self) -> None:
        """End the run."""
        self._run.finish()


CALLBACKS: dict[str, Callable[[], Callback]] = {"csv": CsvLog, "tensorboard": TensorBoardLog, "wandb": WandbLog}


def callbacks_of(given: Sequence[str | Callback]) -> list[Callback]:
    """Callbacks by name (``csv``, ``module:Class``) or as they are; TensorBoard in any case where it is installed."""
    found = [_called(one) if isinstance(one, str) else one for one in given]
    if find_spec("tensorboard") is not None and not any(isinstance(one, TensorBoardLog) for one in found):
        found.append(TensorBoardLog())
    return found


def _called(name: str) -> Callback:
    if is_own(name):
        from spoofspan.cm.parts import made

        made_of: Callback = made("log", name, {})
        return made_of
    if name not in CALLBACKS:
        raise UsageError(f"no log is called {name!r}: {nearest_name(name, CALLBACKS)}, or your own as module:Class")
    if name != "csv":
        package(name)
    return CALLBACKS[name]()


class History:
    """The metrics of one training; ``enabled`` in one of its processes only."""

    def __init__(self, folder: Path, callbacks: Sequence[str | Callback] = (), *, enabled: bool) -> None:
        self._folder, self._enabled = folder, enabled
        self._path = folder / METRICS
        self._callbacks = callbacks_of(callbacks) if enabled else []
        self._begun: list[Callback] = []

    def keep(self, lines: int) -> None:
        """Keep the first lines; what was written after the saved state will be written again."""
        if self._enabled:
            write_atomically(self._path, [line.encode() for line in self._lines()[:lines]], force=True)

    def _lines(self) -> list[str]:
        return self._path.read_text(encoding="utf-8").splitlines(keepends=True) if self._path.is_file() else []

    def begin(self, config: Config) -> None:
        """Tell the callbacks that a training begins, or goes on."""
        epochs = [flattened(parse_json(line)) for line in self._lines()] if self._callbacks else []
        for one in self._callbacks:
            one.on_train_begin(self._folder, config, epochs)
        self._begun = self._callbacks

    def add(self, line: dict[str, Any]) -> None:
        """Write one epoch."""
        if not self._enabled:
            return
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")
        for one in self._begun:
            one.on_epoch_end(flattened(line))

    def close(self) -> None:
        """Finish writing."""
        for one in self._begun:
            one.on_train_end()


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

"""A callback for Lightning: the EER of each validation with its threshold and DET curve, in any logger.

::

    class Localizer(lightning.LightningModule):
        def validation_step(self, batch, batch_idx):
            audio, labels = batch
            return {"preds": self(audio), "target": labels}          # and "lengths", if there are any

    trainer = lightning.Trainer(callbacks=[LogEER(RangeEER(hop=0.02, higher="bonafide", spoof_label=1))])
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spoofspan.base.errors import UsageError
from spoofspan.integrations.torch import EER, Unpadded

try:
    try:
        from lightning.pytorch import Callback
    except ModuleNotFoundError:
        from pytorch_lightning import Callback  # type: ignore[assignment]  # the same under its other name
except ModuleNotFoundError:
    raise UsageError("lightning is not installed; pip install lightning") from None


class LogEER(Callback):
    """Log the EER of each validation, its bounds, its threshold, and a figure of its DET curve.

    Parameters
    ----------
    metric : RangeEER, PointEER or UtteranceEER
        The metric, which the callback moves to the device, updates and resets.
    prefix : str
        What the names in the logger begin with.
    figure : bool
        Log the DET curve as well: to TensorBoard, Weights & Biases, MLflow and Comet; with other loggers, as a file in
        their folder.

    Notes
    -----
    ``validation_step`` returns a dict with ``preds``, ``target`` and perhaps ``lengths``, as ``metric.update`` takes
    them. Samples that a ``DistributedSampler`` repeats are left out. The sanity check before training is not measured.

    """

    def __init__(self, metric: EER, *, prefix: str = "val_", figure: bool = True) -> None:
        self.metric, self.prefix, self.figure = metric, prefix, figure
        self._unpadded: dict[int, Unpadded] = {}

    def on_validation_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin anew."""
        self.metric = self.metric.to(pl_module.device)
        self.metric.reset()
        self._unpadded = {}

    def on_validation_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Count a batch."""
        if trainer.sanity_checking:
            return
        if not isinstance(outputs, Mapping) or not {"preds", "target"} <= set(outputs):
            found = (
                f"a dict of {', '.join(map(str, outputs))}" if isinstance(outputs, Mapping) else type(outputs).__name__
            )
            raise UsageError(
                'LogEER needs what validation_step returns to be {"preds": scores, "target": labels}, with "lengths" '
                f"if there are any; it is {found}"
            )
        given = {name: outputs[name] for name in ("preds", "target", "lengths") if outputs.get(name) is not None}
        count = len(given["preds"])
        rows = self._real_rows(trainer, dataloader_idx, count)
        if len(rows) < count:
            given = {name: _rows_of(value, rows) for name, value in given.items()}
        if rows:
            self.metric.update(**given)

    def _real_rows(self, trainer: Any, dataloader_idx: int, count: int) -> list[int]:
        """The rows of a batch that no DistributedSampler has repeated."""
        from torch.utils.data import DistributedSampler

        loaders = trainer.val_dataloaders
        loader = loaders[dataloader_idx] if isinstance(loaders, list | tuple) else loaders
        sampler: Any = getattr(loader, "sampler", None)
        # Lightning's own sampler for validation repeats nothing, and is a subclass
        if type(sampler) is not DistributedSampler or sampler.drop_last:
            return list(range(count))
        size = len(sampler.dataset)
        made = self._unpadded.setdefault(dataloader_idx, Unpadded(size, sampler.rank, sampler.num_replicas))
        return made(count)

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Log the numbers and the figure."""
        if trainer.sanity_checking:
            return
        found = self.metric.compute()
        name = f"{self.prefix}{self.metric.name}"
        numbers = (
            {self.prefix + key: value for key, value in found.items()} if isinstance(found, dict) else {name: found}
        )
        if not isinstance(found, dict):
            numbers[f"{name}_threshold"] = self.metric.threshold
        # synchronised already: every process has the same numbers
        pl_module.log_dict({key: float(value) for key, value in numbers.items()}, rank_zero_only=True)
        if self.figure and trainer.is_global_zero and trainer.loggers and float(numbers[name]) == float(numbers[name]):
            self._log_figure(trainer, name)

    def _log_figure(self, trainer: Any, name: str) -> None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5, 5), layout="constrained")
        self.metric.plot(ax=figure.subplots())
        for logger in trainer.loggers:
            log_figure(logger, figure, f"{name}_det", trainer.global_step)


def log_figure(logger: Any, figure: Any, name: str, step: int) -> None:
    """Give a figure to a logger in its own way; write it into the logger's folder where it has none."""
    experiment = logger.experiment
    if hasattr(experiment, "add_figure"):  # TensorBoard
        experiment.add_figure(name, figure, global_step=step)
    elif hasattr(logger, "log_image"):  # Weights & Biases
        logger.log_image(name, [figure], step=step)
    elif hasattr(logger, "run_id") and hasattr(experiment, "log_figure"):  # MLflow
        experiment.log_figure(logger.run_id, figure, f"{name}-{step}.png")
    elif hasattr(experiment, "log_figure"):  # Comet
        experiment.log_figure(name, figure, step=step)
    elif folder := logger.log_dir or logger.save_dir:
        Path(folder).mkdir(parents=True, exist_ok=True)
        figure.savefig(Path(folder) / f"{name}-{step}.png")


def _rows_of(value: Any, rows: list[int]) -> Any:
    """Some rows of a tensor, a list or references."""
    if hasattr(value, "take") and hasattr(value, "utterances"):
        return value.take(rows)
    return [value[row] for row in rows] if isinstance(value, list | tuple) else value[rows]

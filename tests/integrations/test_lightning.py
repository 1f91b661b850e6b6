"""The callback for Lightning: it logs what ss.range_eer measures, in one process and in a sampler that repeats."""

import csv
from pathlib import Path

import numpy as np
import pytest

import spoofspan as ss

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[torch]'")
lightning = pytest.importorskip("lightning", reason="lightning is not installed")
pytest.importorskip("matplotlib", reason="figures need matplotlib")
from torch.utils.data import DataLoader, DistributedSampler  # noqa: E402

from spoofspan.integrations.lightning import LogEER, log_figure  # noqa: E402
from spoofspan.integrations.torch import RangeEER  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # of Lightning, about workers and loggers
]
RNG = np.random.default_rng(2)
LABELS = torch.from_numpy(RNG.integers(0, 2, (10, 40)).repeat(5, axis=1))
SCORES = (1 - 2 * LABELS + torch.from_numpy(RNG.normal(0, 1, LABELS.shape))).float()


def expected():
    references = ss.References.from_labels({f"u{i}": one.numpy() for i, one in enumerate(LABELS)}, 0.02, spoof_label=1)
    scores = ss.Scores.from_frames({f"u{i}": one.numpy() for i, one in enumerate(SCORES)}, 0.02, higher="bonafide")
    return ss.range_eer(references, scores)


class Module(lightning.LightningModule):
    def __init__(self, outputs=lambda preds, target: {"preds": preds, "target": target}):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.outputs = outputs

    def training_step(self, batch, _):
        return self.weight.square()

    def validation_step(self, batch, _):
        return self.outputs(SCORES[batch] + 0 * self.weight.detach(), LABELS[batch])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def fit(tmp_path, callback, module=None, sampler=None):
    logger = lightning.pytorch.loggers.CSVLogger(tmp_path)
    trainer = lightning.Trainer(
        max_epochs=1,
        logger=logger,
        callbacks=[callback],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        accelerator="cpu",
        use_distributed_sampler=False,
    )
    data = list(range(10))
    trainer.fit(module or Module(), DataLoader(data, 5), DataLoader(data, 4, sampler=sampler))
    return trainer, logger


@pytest.mark.parametrize("bracket", [True, False])
def test_eer_threshold_and_figure_are_logged(tmp_path, bracket):
    metric = RangeEER(0.02, higher="bonafide", spoof_label=1, exact=True, bracket=bracket)
    trainer, logger = fit(tmp_path, LogEER(metric))
    right = expected()
    assert float(trainer.callback_metrics["val_range_eer"]) == pytest.approx(right.value, rel=1e-6)
    assert float(trainer.callback_metrics["val_range_eer_threshold"]) == pytest.approx(right.threshold, rel=1e-6)
    assert list((tmp_path / logger.log_dir).glob("val_range_eer_det-*.png"))
    logger.save()
    with Path(logger.log_dir, "metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row.get("val_range_eer")]
    assert len(rows) == 1


def test_what_a_sampler_repeats_is_left_out(tmp_path):
    metric = RangeEER(0.02, higher="bonafide", spoof_label=1, exact=True, size=10)
    sampler = DistributedSampler(range(10), num_replicas=3, rank=2, shuffle=False)  # 2, 5, 8, and 1 again
    fit(tmp_path, LogEER(metric, figure=False), sampler=sampler)
    assert int(metric.utterances) == 3


def test_an_output_without_preds_is_refused(tmp_path):
    with pytest.raises(ss.UsageError, match=r"it is a dict of scores, labels"):
        fit(
            tmp_path,
            LogEER(RangeEER(0.02, higher="bonafide", spoof_label=1)),
            Module(lambda preds, target: {"scores": preds, "labels": target}),
        )


def test_loggers_get_figures_in_their_own_way(tmp_path):
    said = []

    class Experiment:
        pass

    class Logger:
        experiment, run_id, log_dir = Experiment(), "run", str(tmp_path)

    Experiment.add_figure = lambda self, name, figure, global_step: said.append(("tensorboard", name, global_step))
    log_figure(Logger(), object(), "det", 3)
    del Experiment.add_figure
    Experiment.log_figure = lambda self, run, figure, name: said.append(("mlflow", run, name))
    log_figure(Logger(), object(), "det", 3)
    Logger.log_image = lambda self, name, images, step: said.append(("wandb", name, step))
    log_figure(Logger(), object(), "det", 3)
    assert said == [("tensorboard", "det", 3), ("mlflow", "run", "det-3.png"), ("wandb", "det", 3)]

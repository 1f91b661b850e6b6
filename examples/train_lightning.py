"""The same in Lightning: a metric is an attribute of the module, and logging it is all there is to do.

    python examples/train_lightning.py [--quick]

Lightning gathers the states of all processes, computes at the end of the epoch and resets. Model and data are those of
``train_pytorch.py``.
"""

import argparse

import lightning
import torch
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.utils.data import DataLoader
from train_pytorch import HOP, RATE, MadeUp, Model, collate, labels_of

from spoofspan.integrations.torch import RangeEER, Unpadded


class Localizer(lightning.LightningModule):
    """A model with the range EER of its validation set."""

    def __init__(self, validation_size: int) -> None:
        super().__init__()
        self.model = Model()
        self.validation_size = validation_size
        # one scalar for the logger; undefined="nan": the first batches may have one class only
        self.range_eer = RangeEER(hop=HOP / RATE, higher="bonafide", exact=True, bracket=False, undefined="nan")

    def training_step(self, batch, _):
        audio, lengths, ranges = batch
        scores = self.model(audio)
        labels = labels_of(ranges, scores.shape[1]).to(scores.device)
        inside = (
            torch.arange(scores.shape[1], device=scores.device) < torch.tensor(lengths, device=scores.device)[:, None]
        )
        return binary_cross_entropy_with_logits(scores[inside], labels[inside])

    def on_validation_epoch_start(self) -> None:
        # with several processes the sampler repeats utterances; these rows are the others
        self.unpadded = Unpadded(self.validation_size, self.trainer.global_rank, self.trainer.world_size)

    def validation_step(self, batch, _) -> None:
        audio, lengths, ranges = batch
        rows = self.unpadded(len(lengths))
        if rows:
            self.range_eer.update(self.model(audio)[rows], [ranges[i] for i in rows], [lengths[i] for i in rows])
        self.log("range_eer", self.range_eer, on_epoch=True, prog_bar=True, batch_size=len(lengths))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="Less data, fewer epochs.")
    quick = parser.parse_args().quick
    lightning.seed_everything(0)
    train, valid = MadeUp(64 if quick else 512, 0), MadeUp(24 if quick else 128, 10_000)
    trainer = lightning.Trainer(
        max_epochs=2 if quick else 5, logger=False, enable_checkpointing=False, enable_progress_bar=not quick
    )
    trainer.fit(
        Localizer(len(valid)),
        DataLoader(train, batch_size=8, shuffle=True, collate_fn=collate),
        DataLoader(valid, batch_size=8, collate_fn=collate),
    )
    print(f"range EER {100 * float(trainer.callback_metrics['range_eer']):.3f} %")


if __name__ == "__main__":
    main()

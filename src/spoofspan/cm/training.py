"""Training: epochs of batches, a look at the development set after each, and a state that survives a kill.

Everything random follows from the seed and from where the training is (epoch, step, process), never from what was
drawn before. So a training that was interrupted and goes on ends with the same weights, to the bit, as one that was
not.

The loss of a batch is divided by the windows of the *whole* batch, known beforehand; processes and accumulated parts
add up to its gradient.

The development set is measured by spoofspan on the model's scores, always in evaluation mode.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from spoofspan.base import progress
from spoofspan.base.columns import offsets_of
from spoofspan.base.errors import DataError, SpoofspanWarning, UndefinedMeasureError, UsageError, warn_user
from spoofspan.base.extras import require
from spoofspan.base.locks import own_folder
from spoofspan.base.times import milliseconds
from spoofspan.cm import checkpoints
from spoofspan.cm.augmentation import through_channels
from spoofspan.cm.batches import Batch, Pieces, TrainingData
from spoofspan.cm.config import Config, Training
from spoofspan.cm.distributed import Team, computing_in, joined, launch, leads
from spoofspan.cm.distributed import threads as using_threads
from spoofspan.cm.features import FrameFeatures, remembered_features
from spoofspan.cm.finishing import NOT_STATED, finish
from spoofspan.cm.frame_times import SEGMENT_BRANCHES, UTTERANCE, finest, resolution, scale_of
from spoofspan.cm.history import Callback, History
from spoofspan.cm.loss import whole_loss, window_errors
from spoofspan.cm.model import build, members_of
from spoofspan.cm.model import scores as scores_of
from spoofspan.cm.model_sources import CONFIG, MODEL
from spoofspan.cm.parts import WindowLosses, own_augmentation, own_loss
from spoofspan.data.references import References, durations_of
from spoofspan.data.scores import Scores
from spoofspan.evaluation.evaluate import evaluate
from spoofspan.formats.writing import write_atomically

LOOKED_AT = 256  # pieces that a front-end sees before it learns
RISING = 0.2  # share of the epochs in which the rate of one-cycle rises
FIRST_RATE = 0.04  # share of the rate that it begins with


@dataclass(frozen=True)
class Trained:
    """Outcome of a training: the folder of the checkpoint and its best epoch."""

    folder: Path
    epochs: int
    best_epoch: int
    best: float
    stop_on: str


@dataclass
class Position:
    """Progress of a training, as saved."""

    epoch: int = 0
    step: int = 0  # of this epoch
    loss: float = 0.0  # sum over the steps of this epoch
    best: float = float("inf")
    best_epoch: int = -1
    logged: int = 0  # lines of metrics
    scaler: dict[str, Any] = field(default_factory=dict)  # of fp16
    data: str = ""  # what is learned from, as a digest


def train(
    config: Config,
    data: TrainingData,
    out: str | Path,
    *,
    resume: bool = False,
    device: str | None = None,
    processes: int = 1,
    threads: int = 1,
    say: bool = False,
    licence: str = NOT_STATED,
    callbacks: Sequence[str | Callback] = (),
) -> Trained:
    """Train a model into a folder: of the best epoch so far, or with ``keep = "last"`` of the last one, when it ends.

    Parameters
    ----------
    config : Config
        What is trained, and how; see :func:`spoofspan.cm.preset`.
    data : TrainingData
        The training set and the development set.
    out : str or Path
        The folder of the checkpoint.
    resume : bool
        Continue an interrupted training in that folder; it ends with the same weights.
    device : str, optional
        ``cpu``, ``cuda`` or ``cuda:0``; without it, a GPU if there is one.
    processes : int
        How many processes of this machine train together.
    threads : int
        How many threads of torch each process uses. More than one is slower where others use the cores too, and the
        weights then differ in their last bits, since sums are split differently.
    say : bool
        Print a line to stderr after each epoch.
    licence : str
        Under which licence the model may be used; its card says so.
    callbacks : sequence of str or Callback
        Where the metrics of every epoch also go: ``"csv"``, ``"tensorboard"`` (in any case where it is installed),
        ``"wandb"``, ``"module:Class"``, or objects with the methods of :class:`spoofspan.cm.history.Callback`.

    Returns
    -------
    Trained
        The folder, how many epochs there were, and which was the best.

    Raises
    ------
    UsageError
        If the folder has another training, one without ``resume``, or one that another process is at.
    DataError
        If the loss is no finite number.

    Examples
    --------
    >>> data = TrainingData(  # doctest: +SKIP
    ...     train=Corpus.from_dataset("partialspoof:corpus:train"), dev=Corpus.from_dataset("partialspoof:corpus:dev")
    ... )
    >>> train(preset("small-cpu"), data, "checkpoint").best_epoch  # doctest: +SKIP
    12

    """
    require("torch", "safetensors")
    folder = Path(out).expanduser()
    with own_folder(folder) if leads() else nullcontext():
        _check_folder(folder, config, resume)
        if data.shared and leads():
            warn_user(f"{data.shared}; give other recordings as dev= (--dev)", SpoofspanWarning)
        with _features_once(config):
            last = train_networks(config, data, folder, device, processes, threads, say, callbacks)
            if leads():
                with using_threads(threads):
                    finish(folder, config, data, device, licence)
    _, about = checkpoints.read_tensors(last / checkpoints.STATE)
    return Trained(folder, about["epoch"], about["best_epoch"], about["best"], config.training.stop_on)


def train_networks(
    config: Config,
    data: TrainingData,
    folder: Path,
    device: str | None = None,
    processes: int = 1,
    threads: int = 1,
    say: bool = False,
    callbacks: Sequence[str | Callback] = (),
) -> Path:
    """Train the weights of a model, which then has no card; returns the folder of the last network."""
    parts = _parts_of(config, folder)
    with _features_once(config):
        for own, alone in parts.items():
            if processes > 1:
                launch(_train, (alone, data, own, device, threads, say, callbacks), processes)
            else:
                _train(alone, data, own, device, threads, say, callbacks)
    if len(parts) > 1 and leads():
        _join(list(parts), folder, config)
    return list(parts)[-1]


def _features_once(config: Config) -> AbstractContextManager[None]:
    """Compute the features of each recording once, if its sound is the same each time."""
    same_sound = not config.training.channels and config.augmentation.kind == "none"
    return remembered_features() if same_sound else nullcontext()


def _parts_of(config: Config, folder: Path) -> dict[Path, Config]:
    """The trainings of a model, by their folders: one, or one for each member, whose scores will be averaged."""
    if config.network.members == 1:
        return {folder: config}
    if leads():
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / CONFIG, [config.to_toml().encode()], force=True)
    return {folder / f"member-{number}": one for number, one in enumerate(members_of(config), 1)}


def _join(parts: Sequence[Path], folder: Path, config: Config) -> None:
    """Write the weights of all members as one model."""
    read = [checkpoints.read_tensors(part / MODEL) for part in parts]
    tensors = {f"members.{k}.{name}": one for k, (own, _) in enumerate(read) for name, one in own.items()}
    checkpoints.write_tensors(folder / MODEL, tensors, {"members": [about for _, about in read]})


def _check_folder(folder: Path, config: Config, resume: bool) -> None:
    """Refuse to overwrite a training, or to go on with another one; one that saved nothing yet is begun anew."""
    there = (folder / CONFIG).is_file() and any(folder.rglob(f"*{Path(MODEL).suffix}"))
    if there and not resume:
        raise UsageError(f"{str(folder)!r} has a training already; go on with resume=True (--resume), or name another")
    if there and Config.from_file(folder / CONFIG) != config:
        raise UsageError(
            f"{folder / CONFIG} is another configuration; resume with the one it began with "
            f"(--config {folder / CONFIG})"
        )


def _train(
    config: Config,
    data: TrainingData,
    folder: Path,
    device: str | None,
    threads: int,
    say: bool,
    callbacks: Sequence[str | Callback],
) -> None:
    with using_threads(threads), joined(device) as team, torch.random.fork_rng():
        history = History(folder, callbacks, enabled=team.leads)
        _Loop(config, data, folder, team, say, history).run()


class _Loop:
    """One process of a training."""

    def __init__(
        self, config: Config, data: TrainingData, folder: Path, team: Team, say: bool, history: History
    ) -> None:
        self.history = history
        self.config, self.folder, self.team, self.say = config, folder, team, say
        if config.training.precision == "fp16" and team.device.type != "cuda":
            raise UsageError("training.precision = 'fp16' needs a GPU; use bf16 or fp32")
        with progress.progress("labelling windows"):
            self.train = Pieces(data.train, config, shuffle=config.training.shuffle_labels)
            self.dev = Pieces(data.dev, config)
        torch.manual_seed(config.training.seed)
        # what goes on needs no checkpoint to start from
        architecture = checkpoints.read_architecture(folder) if (folder / checkpoints.STATE).is_file() else None
        self.model = build(config, architecture).to(team.device)
        self.losses, self.own_augmentation = own_loss(config.loss, team.device), own_augmentation(config.augmentation)
        learned = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self.optimiser = torch.optim.AdamW(
            learned, lr=config.training.learning_rate, weight_decay=config.training.weight_decay
        )
        self.scaler = torch.amp.GradScaler(team.device.type, enabled=config.training.precision == "fp16")
        self.at = Position(data=_digest(data))
        self._restore()
        self.parallel: Any = self.model
        if team.size > 1:
            self.parallel = nn.parallel.DistributedDataParallel(self.model)
        if config.training.compile:
            for part in self.model.modules():
                if isinstance(part, FrameFeatures):  # goes through recordings one by one, and learns nothing
                    part.forward = torch.compiler.disable(part.forward)
            # lengths differ from batch to batch
            self.parallel = torch.compile(self.parallel, dynamic=True)

    # ------------------------------------------------------------ going on

    def _restore(self) -> None:
        path = self.folder / checkpoints.STATE
        if not path.is_file():
            self._look_at_sound()
            if self.team.leads:
                checkpoints.write_config(self.folder, self.config, self.model)
            self.history.keep(0)
            return
        tensors, about = checkpoints.read_tensors(path)
        if about["data"] != self.at.data:
            raise UsageError(f"{path}: this training began with other data; resume with the same")
        self.at = Position(**about)
        parts: dict[str, dict[str, Any]] = {"model": {}, "optimiser": {}}
        for name, tensor in tensors.items():
            part, _, rest = name.partition("/")
            parts[part][rest] = tensor
        checkpoints.fill(self.model, parts["model"], path)
        checkpoints.restore_optimiser(self.optimiser, self.model, parts["optimiser"])
        if self.at.scaler:
            self.scaler.load_state_dict(self.at.scaler)
        self.history.keep(self.at.logged)

    def _look_at_sound(self) -> None:
        """Show a front-end that wants it what sound there is: the same pieces in every process."""
        if not hasattr(self.model.front_end, "look_at"):
            return
        order = self.train.batches(1, self.config.training.seed, 0)[:LOOKED_AT]
        with progress.progress("looking at spectra", total=len(order)):
            batches = (self.train[chosen].to(self.team.device) for chosen in order)
            self.model.front_end.look_at((batch.waves, batch.samples) for batch in batches)

    def _save(self) -> None:
        if not self.team.leads:
            return
        self.at.scaler = self.scaler.state_dict()
        tensors = {f"model/{name}": tensor for name, tensor in self.model.state_dict().items()}
        remembered = checkpoints.optimiser_tensors(self.optimiser, self.model)
        tensors |= {f"optimiser/{name}": tensor for name, tensor in remembered.items()}
        checkpoints.write_tensors(self.folder / checkpoints.STATE, tensors, asdict(self.at))

    # ------------------------------------------------------------ the loop

    def run(self) -> None:
        recipe = self.config.training
        # what is best while the rate of one-cycle is high is luck
        settled = recipe.epochs // 2 if recipe.schedule == "one-cycle" else -1
        if self._goes_on(settled):
            self.history.begin(self.config)
        while self._goes_on(settled):
            began = time.monotonic()
            steps = self._epoch()
            found = validate(self.model, self.dev, self.config, self.team, self.losses)
            if self.at.epoch == settled:
                self.at.best = float("inf")
            # the last epoch may be kept whatever its figure is, and whether it is a number or not
            is_best = found.stop_on < self.at.best if recipe.keep == "best" else self.at.epoch + 1 == recipe.epochs
            if is_best:
                self.at.best, self.at.best_epoch = found.stop_on, self.at.epoch
                if self.team.leads:
                    about = {"epoch": self.at.epoch, recipe.stop_on: found.stop_on, "dev": found.measures}
                    checkpoints.write_tensors(self.folder / MODEL, self.model.state_dict(), about)
            line = {
                "epoch": self.at.epoch,
                "steps": steps,
                # of the last step, which may have been made before a kill
                "learning_rate": learning_rate(recipe, self.at.epoch + (steps - 1) / steps),
                "train_loss": self.at.loss / steps,
                "dev_loss": found.loss,
                "dev": found.measures,
                "best": is_best,
                "seconds": round(time.monotonic() - began, 3),
            }
            self.at.logged += 1
            self.history.add(line)
            self._tell(line, found.stop_on)
            self.at.epoch, self.at.step, self.at.loss = self.at.epoch + 1, 0, 0.0
            self._save()
        self.history.close()

    def _goes_on(self, settled: int) -> bool:
        """True if there is an epoch left, and a new best was not too long ago."""
        recipe, epoch = self.config.training, self.at.epoch
        waited = epoch - max(self.at.best_epoch, settled)
        return epoch < recipe.epochs and (recipe.keep == "last" or waited <= recipe.patience)

    def _epoch(self) -> int:
        """Go through all batches once; returns how many there are."""
        recipe, epoch = self.config.training, self.at.epoch
        self.parallel.train()
        batches = self.train.batches(recipe.batch_size, recipe.seed, epoch)
        parts = [_parts(self.team.share(chosen), chosen, recipe.accumulate) for chosen in batches]
        left = [part for step in parts[self.at.step :] for part in step]
        reading = iter(self.train.loader(left, recipe.workers, self.team.device))
        with progress.progress(f"epoch {epoch}", total=len(batches), unit="batches") as advance:
            advance(self.at.step)
            while self.at.step < len(batches):
                step = self.at.step
                torch.manual_seed(_seed(recipe.seed, epoch, step, self.team.rank))
                for group in self.optimiser.param_groups:
                    group["lr"] = learning_rate(recipe, epoch + step / len(batches))
                idle = not self.team.share(batches[step])
                loss = self._step([next(reading) for _ in parts[step]], self.train.windows(batches[step]), idle)
                self.at.loss += self.team.sum(loss)
                self.at.step += 1
                advance(1)
                if recipe.save_every and self.at.step % recipe.save_every == 0:
                    self._save()
        return len(batches)

    def _step(self, parts: list[Batch], windows: dict[str, int], idle: bool) -> float:
        """Learn from this process's share of one batch; returns its part of the loss."""
        self.optimiser.zero_grad(set_to_none=True)
        total = 0.0
        for number, part in enumerate(parts, 1):
            wait = self.team.size > 1 and number < len(parts)
            with self.parallel.no_sync() if wait else nullcontext():
                batch = self._augmented(part).to(self.team.device)
                with computing_in(self.config.training.precision, self.team.device):
                    outputs = self.parallel(batch.waves, batch.samples)
                loss = whole_loss(outputs, batch.targets, windows, self.losses) * (0.0 if idle else 1.0)
                # the parallel model takes the mean over the processes, and the sum is wanted
                self.scaler.scale(loss * self.team.size).backward()
            total += float(loss.detach())
        if not torch.isfinite(torch.tensor(total)):
            raise DataError(
                f"the loss is no finite number in epoch {self.at.epoch}, step {self.at.step}; "
                "lower training.learning_rate, or use training.precision = 'fp32'"
            )
        if self.config.training.largest_gradient:
            self.scaler.unscale_(self.optimiser)
            nn.utils.clip_grad_norm_(self.model.parameters(), self.config.training.largest_gradient)
        self.scaler.step(self.optimiser)
        self.scaler.update()
        return total

    def _augmented(self, batch: Batch) -> Batch:
        recipe, waves = self.config.training, batch.waves
        if recipe.channels:
            waves = through_channels(waves, batch.samples, recipe.channels, recipe.channel_share)
        if self.own_augmentation is not None:
            waves = self.own_augmentation(waves, batch.samples)
        return replace(batch, waves=waves)

    def _tell(self, line: dict[str, Any], stop_on: float) -> None:
        if not (self.say and self.team.leads):
            return
        name = self.config.training.stop_on
        shown = "" if name == "loss" else f", {name} {100 * stop_on:.2f} %"
        text = f"epoch {line['epoch']}: loss {line['train_loss']:.4f}, dev loss {line['dev_loss']:.4f}{shown}"
        progress.wipe()
        print(text + (" (best)" if line["best"] else ""), file=sys.stderr, flush=True)


def learning_rate(recipe: Training, epoch: float) -> float:
    """The rate at a moment in time, in epochs.

    >>> one_cycle = Training(schedule="one-cycle", learning_rate=1.0, epochs=10)
    >>> [round(learning_rate(one_cycle, epoch), 2) for epoch in (0, 1, 2, 6, 9.9)]
    [0.04, 0.52, 1.0, 0.5, 0.0]
    >>> [learning_rate(Training(learning_rate=1.0, halve_every=10), epoch) for epoch in (0, 9.9, 10, 20)]
    [1.0, 1.0, 0.5, 0.25]
    """
    if recipe.schedule == "halving":
        return recipe.learning_rate * 0.5 ** (int(epoch) // recipe.halve_every if recipe.halve_every else 0)
    done = epoch / recipe.epochs
    if done < RISING:
        return recipe.learning_rate * (FIRST_RATE + (1 - FIRST_RATE) * done / RISING)
    return recipe.learning_rate * 0.5 * (1 + math.cos(math.pi * (done - RISING) / (1 - RISING)))


def _parts(share: list[int], batch: list[int], accumulate: int) -> list[list[int]]:
    """The parts of a process's share; without a share, it goes through one piece that does not count."""
    if not share:
        return [batch[:1]]
    return [part for part in (share[i::accumulate] for i in range(accumulate)) if part]


def _seed(*where: int) -> int:
    """A seed of its own for every place in a training."""
    digest = hashlib.sha256(json.dumps(where).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _digest(data: TrainingData) -> str:
    """Training material: ids, lengths and labels."""
    total = hashlib.sha256()
    for corpus in (data.train, data.dev):
        references = corpus.references
        total.update(json.dumps([references.utterances, corpus.samples]).encode())
        for column in (references.offsets, references.starts, references.ends, references.labels):
            total.update(column.tobytes())
    return total.hexdigest()


# ---------------------------------------------------------------- the development set

Values = np.ndarray[tuple[int], np.dtype[np.float32]]
ScoredPiece = tuple[int, dict[str, Values], dict[str, float]]  # its number; scores and losses of each branch


@dataclass(frozen=True)
class Validation:
    """The loss, and the measures of each branch (in that branch's own scores)."""

    loss: float
    measures: dict[str, dict[str, float]]
    stop_on: float  # what decides which epoch is best; lower is better


def validate(
    model: nn.Module, pieces: Pieces, config: Config, team: Team, losses: WindowLosses | None = None
) -> Validation:
    """Score the development set and measure; the processes of a team share the work."""
    model.eval()
    found: list[ScoredPiece] = []
    batches = team.share(pieces.in_order(config.training.batch_size))
    recipe = config.training
    reading = pieces.loader(batches, recipe.workers, team.device)
    with torch.inference_mode(), progress.progress("validating", total=len(batches), unit="batches") as advance:
        for batch in reading:
            with computing_in(recipe.precision, team.device):
                found += _scored(model, pieces, batch.to(team.device), losses)
            advance(1)
    found = sorted(team.gather(found), key=lambda one: one[0])
    counted = pieces.windows(range(len(pieces)))
    loss = sum(sum(errors[name] for _, _, errors in found) / max(counted[name], 1) for name in counted)
    by_branch = {name: branch_scores(pieces, [values[name] for _, values, _ in found], name) for name in counted}
    # what a warning says of a system's scores is no news of a model that has just begun to learn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpoofspanWarning)
        references, rules, stop_on = pieces.corpus.references, asdict(config.labels), config.training.stop_on
        measures = {name: _eers(references, scores, name, rules) for name, scores in by_branch.items()}
        if stop_on == "loss":
            return Validation(loss, measures, loss)
        return Validation(loss, measures, _value(references, by_branch[finest(by_branch) or UTTERANCE], stop_on, rules))


def _value(references: References, scores: Scores, measure: str, rules: dict[str, Any]) -> float:
    evaluation = evaluate(references, scores, [measure], **rules)
    return float(next(iter(evaluation.measurements.values())).value)


def _scored(model: nn.Module, pieces: Pieces, batch: Batch, losses: WindowLosses | None) -> list[ScoredPiece]:
    """Scores and losses of the pieces of one batch."""
    outputs = model(batch.waves, batch.samples)
    rows = []
    for row, piece in enumerate(batch.pieces):
        values, errors = {}, {}
        for name, out in outputs.items():
            own = out[row : row + 1, : pieces.targets[piece][name].size]
            values[name] = scores_of(own)[0].cpu().numpy()
            errors[name] = float(window_errors(own, batch.targets[name][row : row + 1, : own.shape[1]], losses))
        rows.append((piece, values, errors))
    return rows


def branch_scores(pieces: Pieces, values: list[Values], name: str) -> Scores:
    """The scores of a branch for whole utterances, from those of their pieces in order."""
    references = pieces.corpus.references
    ids = references.utterances
    owner = np.array([one.utterance for one in pieces.pieces])
    if name == UTTERANCE:  # one range: the whole utterance; of several pieces, the lowest score
        lowest = np.full(len(ids), np.inf, np.float32)
        np.minimum.at(lowest, owner, np.concatenate(values))
        starts, ends = np.zeros(len(ids), np.int64), durations_of(references, ids)
        return Scores.from_columns(ids, np.arange(len(ids) + 1), lowest, starts=starts, ends=ends, higher="bonafide")
    counts = np.bincount(owner, [one.size for one in values], len(ids)).astype(np.int64)
    hop = resolution(scale_of(name))
    return Scores.from_columns(ids, offsets_of(counts), np.concatenate(values), hop=hop, higher="bonafide")


def _eers(references: References, scores: Scores, name: str, rules: dict[str, Any]) -> dict[str, float]:
    """The EERs of a branch that the development set defines."""
    wanted = [UTTERANCE + "-eer"]
    if name in SEGMENT_BRANCHES:
        wanted = ["range-eer", f"point-eer@{milliseconds(resolution(scale_of(name)))}"]
    values = {}
    for measure in wanted:
        with suppress(UndefinedMeasureError):  # one class only: there is a loss, but no EER
            values[measure] = _value(references, scores, measure, rules)
    return values

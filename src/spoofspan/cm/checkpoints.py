"""Checkpoints are folders, and hold numbers and text only: nothing in them can run.

::

    FOLDER/config.toml           the configuration
    FOLDER/model.safetensors     the weights; how far and how good, in its header
    FOLDER/front_end.json        the architecture of wav2vec 2.0, if it has one
    FOLDER/card.json             what is known about the finished model (:mod:`spoofspan.cm.card`)
    FOLDER/state.safetensors     weights, optimiser and counters of a training that can go on
    FOLDER/metrics.jsonl         a line for every epoch

Every file takes the place of the one before at once. The weights and what is said about them are one file, and so is
the state of a training, so a kill at any moment leaves a checkpoint that fits itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from spoofspan.base.errors import DataError, Problems, UsageError
from spoofspan.base.extras import require
from spoofspan.base.locks import own_folder
from spoofspan.cm.config import Config
from spoofspan.cm.frontends import architecture_of
from spoofspan.cm.model import build
from spoofspan.cm.model_sources import CONFIG, FRONT_END, MODEL
from spoofspan.formats.writing import write_atomically

STATE = "state.safetensors"
ABOUT = "spoofspan"  # key in the header


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A model with its configuration, and what is known about it."""

    model: nn.Module
    config: Config
    about: dict[str, Any]


def write_config(folder: Path, config: Config, model: nn.Module) -> None:
    """Write what does not change while a model is trained."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / CONFIG, [config.to_toml().encode()], force=True)
    architecture = architecture_of(model.front_end)
    if architecture is not None:
        write_atomically(folder / FRONT_END, [architecture.encode()], force=True)


def save(folder: Path, model: nn.Module, config: Config, about: Mapping[str, Any]) -> None:
    """Write a whole checkpoint."""
    with own_folder(folder):
        write_config(folder, config, model)
        write_tensors(folder / MODEL, model.state_dict(), about)


def load(folder: str | Path) -> Checkpoint:
    """Read a checkpoint."""
    require("torch", "safetensors")
    where = Path(folder).expanduser()
    if where.is_file():
        raise UsageError(
            f"{str(folder)!r} is a file, and a checkpoint is a folder with {CONFIG} and {MODEL}, as spoofspan cm train "
            "writes it; the checkpoint comes first, then the recordings"
        )
    if not (where / CONFIG).is_file() or not (where / MODEL).is_file():
        raise UsageError(
            f"{str(folder)!r} is no checkpoint: it needs {CONFIG} and {MODEL}, as spoofspan cm train writes them"
        )
    config = Config.from_file(where / CONFIG)
    tensors, about = read_tensors(where / MODEL)
    model = build(config, read_architecture(where))
    fill(model, tensors, where / MODEL)
    return Checkpoint(model.eval(), config, about)


def fill(model: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Give a model its weights; each must be there and have the shape that the configuration asks for."""
    wanted = model.state_dict()
    problems = Problems()
    for name in sorted({*wanted, *tensors}):
        if name not in tensors:
            problems.add(f"{path}: the tensor {name} is missing, of shape {tuple(wanted[name].shape)}")
        elif name not in wanted:
            problems.add(f"{path}: the tensor {name} of shape {tuple(tensors[name].shape)} has no place in the model")
        elif tensors[name].shape != wanted[name].shape:
            found, meant = (tuple(one.shape) for one in (tensors[name], wanted[name]))
            problems.add(f"{path}: the tensor {name} has shape {found}, {CONFIG} asks for {meant}")
    problems.raise_if_any(f"the weights do not fit {CONFIG}: both must be of one training")
    model.load_state_dict(tensors)


def read_architecture(folder: Path) -> str | None:
    """The architecture of the front-end, if it has a file of its own."""
    path = folder / FRONT_END
    return path.read_text(encoding="utf-8") if path.is_file() else None


def write_tensors(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write tensors with a header of JSON."""
    from safetensors.torch import save

    plain = {name: tensor.detach().to("cpu").contiguous() for name, tensor in tensors.items()}
    write_atomically(path, [save(plain, {ABOUT: json.dumps(about, sort_keys=True)})], force=True)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read tensors and their header."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="pt") as file:
            about = json.loads((file.metadata() or {}).get(ABOUT, "{}"))
            return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118  (it is no dict)
    except (SafetensorError, OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({first_line(error)}); it is damaged or of another kind") from None


def optimiser_tensors(optimiser: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """What Adam remembers of each parameter, by the parameter's name."""
    return {
        f"{name}/{key}": value
        for name, parameter in model.named_parameters()
        for key, value in optimiser.state.get(parameter, {}).items()
    }


def restore_optimiser(optimiser: torch.optim.Optimizer, model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Give Adam its memory back."""
    by_name = dict(model.named_parameters())
    for full, value in tensors.items():
        name, _, key = full.rpartition("/")
        parameter = by_name[name]
        # Adam keeps its count of steps on the host
        optimiser.state[parameter][key] = value if key == "step" else value.to(parameter.device)


def first_line(error: Exception) -> str:
    """What an error says first, or its kind."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]

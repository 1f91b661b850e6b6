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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from spoofspan.base.documents import parse_json, read_text
from spoofspan.base.errors import DataError, Problems, SpoofspanError
from spoofspan.base.locks import own_folder
from spoofspan.cm.config import Config
from spoofspan.cm.frontends import architecture_of
from spoofspan.cm.model import build
from spoofspan.cm.model_sources import CONFIG, FRONT_END, LARGEST_TEXT, MODEL
from spoofspan.cm.parts import check_allowed, named_code
from spoofspan.formats.sources import naming
from spoofspan.formats.writing import write_atomically

STATE = "state.safetensors"
ABOUT = "spoofspan"  # key in the header
LARGEST_HEADER = 16 << 20  # bytes; that of the largest published encoder has some 60,000
DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64}


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


def load(folder: Path, *, allow_code: bool = False) -> Checkpoint:
    """Read a checkpoint that :func:`spoofspan.cm.model_sources.model_at` has found.

    ``allow_code`` permits importing what its configuration names.
    """
    config, architecture = Config.from_file(folder / CONFIG), read_architecture(folder)
    check_allowed(config, str(folder), allowed=allow_code)
    if config.front_end.kind == "wav2vec2" and architecture is None:
        raise DataError(
            f"{folder}: {FRONT_END} is missing, so the model does not hold its own front-end, and nothing is "
            "downloaded in its place; get the whole model, as spoofspan cm train or cm convert wrote it"
        )
    if not named_code(config):
        check_fit(config, architecture, folder / MODEL)  # before anything of the sizes it states is built
    tensors, about = read_tensors(folder / MODEL)
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise DataError(f"{folder / MODEL}: the tensor {name} has numbers that are not finite; get the model again")
    model = build(config, architecture)
    fill(model, tensors, folder / MODEL)
    return Checkpoint(model.eval(), config, about)


def check_fit(config: Config, architecture: str | None, path: Path) -> None:
    """Compare the tensors of a file with those of the model that is described, without memory for either."""
    try:
        with naming([str(path.parent)]), torch.device("meta"):
            wanted = _shapes(build(config, architecture).state_dict())
    except SpoofspanError:
        raise
    except Exception as error:  # sizes that go with no model make torch and transformers fail in any way
        raise DataError(
            f"{path.parent}: {CONFIG} and {FRONT_END} describe no model that can be built ({first_line(error)}); get "
            "the model again"
        ) from None
    _compare(wanted, stated_shapes(path), path)


def fill(model: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Give a model its weights; each must be there and have the shape that the configuration asks for."""
    _compare(_shapes(model.state_dict()), _shapes(tensors), path)
    model.load_state_dict(tensors)


Shapes = dict[str, tuple[str, tuple[int, ...]]]  # the kind and the shape of each tensor


def _compare(wanted: Shapes, found: Shapes, path: Path) -> None:
    problems = Problems()
    for name in sorted({*wanted, *found}):
        if name not in found:
            problems.add(f"{path}: the tensor {name} is missing, of shape {wanted[name][1]}")
        elif name not in wanted:
            problems.add(f"{path}: the tensor {name[:200]!a} of shape {found[name][1]} has no place in the model")
        elif found[name][1] != wanted[name][1]:
            problems.add(f"{path}: the tensor {name} has shape {found[name][1]}, {CONFIG} asks for {wanted[name][1]}")
        elif found[name][0] != wanted[name][0]:
            problems.add(f"{path}: the tensor {name} holds {found[name][0]}, not {wanted[name][0]}")
    problems.raise_if_any(f"the weights do not fit {CONFIG}: both must be of one training")


def _shapes(tensors: Mapping[str, Tensor]) -> Shapes:
    return {name: _described(one.dtype, one.shape) for name, one in tensors.items()}


def _described(dtype: torch.dtype, shape: Sequence[int]) -> tuple[str, tuple[int, ...]]:
    return "numbers" if dtype.is_floating_point else f"numbers of the kind {dtype}", tuple(shape)


def stated_shapes(path: Path) -> Shapes:
    """Statements in the header of a file of tensors, without reading any of them."""
    from safetensors import safe_open

    with _reading(path), safe_open(str(path), framework="pt") as file:
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118  (it is no dict)
        return {
            name: _described(DTYPES.get(one.get_dtype(), torch.bool), one.get_shape()) for name, one in slices.items()
        }


def read_architecture(folder: Path) -> str | None:
    """The architecture of the front-end, if it has a file of its own."""
    path = folder / FRONT_END
    try:
        return read_text(path, LARGEST_TEXT) if path.is_file() else None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); get the model again") from None


def write_tensors(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write tensors with a header of JSON."""
    from safetensors.torch import save

    plain = {name: tensor.detach().to("cpu").contiguous() for name, tensor in tensors.items()}
    write_atomically(path, [save(plain, {ABOUT: json.dumps(about, sort_keys=True)})], force=True)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read tensors and their header."""
    from safetensors import safe_open

    with _reading(path), safe_open(str(path), framework="pt") as file:
        about = parse_json((file.metadata() or {}).get(ABOUT, "{}"))
        if not isinstance(about, dict):
            raise ValueError("its header has no object of JSON")
        return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118  (it is no dict)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Check the length of a header, and name the file in any error."""
    from safetensors import SafetensorError

    try:
        with path.open("rb") as stream:
            header = int.from_bytes(stream.read(8), "little")
        if header > LARGEST_HEADER:
            raise ValueError(f"it states a header of {header:,} bytes, and {LARGEST_HEADER:,} are the most")
        yield
    except SpoofspanError:
        raise
    except (SafetensorError, OSError, ValueError, RuntimeError, TypeError, OverflowError) as error:
        raise DataError(f"{path}: cannot be read ({first_line(error)}); it is damaged or of another kind") from None


def optimiser_tensors(optimiser: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """State of Adam for each parameter, by the parameter's name."""
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
    """First line of an error, or its kind."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]

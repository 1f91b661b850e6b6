"""Weights of the published code (nii-yamagishilab/PartialSpoof) -> a checkpoint.

Its file is a pickle of tensors by name; torch reads it without running anything (``weights_only=True``). What its names
mean here:

========================================================  =====================================================
published                                                 here
========================================================  =====================================================
``weight_hidd``, 30 numbers of which the first are used   ``front_end.mix``
``extracter.model.*``, wav2vec 2.0 as fairseq names it    ``front_end.encoder.*``, as transformers names it
``m_transform.0.blocks.{i}.1``                            ``post_net.chain.{i - 1}.linear``
``m_transform.0.post_nets_seg.disc_{i}``                  ``post_net.branches.20ms``, ...
``m_transform.0.post_nets_utt``                           ``post_net.branches.utterance``
``m_angle_scales.{2,4,...,64}.weight``                    ``heads.of.20ms.weight``, ...
========================================================  =====================================================

The sizes of everything follow from the tensors, but for the number of attention heads (64 features each). Buffers
that the published code does not use, and wav2vec 2.0's parts for pre-training, are left out; any other name is
an error.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from spoofspan.base.errors import DataError, Problems, UsageError
from spoofspan.cm import checkpoints
from spoofspan.cm.config import PAPER, Config
from spoofspan.cm.frame_times import UTTERANCE
from spoofspan.cm.model import Parameters, build, parameters_of
from spoofspan.cm.model_sources import CONFIG, SMALL
from spoofspan.formats.archives import is_zip, opened_zip

NAME = "official"
MOST_TENSORS = 100_000
NOT_THESE = "these are not the weights of the published multi-resolution model"
GET = "give the .pt file that the published code saved"
# what torch found in a pickle, without what it advises
REFUSED = re.compile(
    r"(Unsupported (?:global|operand|class|opcode)[^.\n]{0,120}|PytorchStreamReader failed[^.\n]{0,80})"
)
WIDTH_OF_A_HEAD = 64  # of attention, in every published wav2vec 2.0
UNUSED = re.compile(
    r"(input|output)_(mean|std)|extracter\.model\.(mask_emb|quantizer\..*|project_q\..*|final_proj\..*|label_embs_.*)"
    r"|m_resampler\..*|m_debugger.*"
)
IN_BRANCH = (
    (r"layers\.(\d+)\.sgu\.", r"blocks.\1.gate."),
    (r"layers\.(\d+)\.proj1\.", r"blocks.\1.reduce."),
    (r"layers\.(\d+)\.proj2\.", r"blocks.\1.project."),
    (r"layers\.(\d+)\.norm\.", r"blocks.\1.norm."),
    (r"fc\.", "project."),
)
IN_ENCODER = (
    (r"feature_extractor\.conv_layers\.(\d+)\.0\.", r"feature_extractor.conv_layers.\1.conv."),
    (r"feature_extractor\.conv_layers\.(\d+)\.2(\.1)?\.", r"feature_extractor.conv_layers.\1.layer_norm."),
    (r"post_extract_proj\.", "feature_projection.projection."),
    (r"layer_norm\.", "feature_projection.layer_norm."),
    (r"encoder\.pos_conv\.0\.", "encoder.pos_conv_embed.conv."),
    (r"encoder\.layers\.(\d+)\.self_attn_layer_norm\.", r"encoder.layers.\1.layer_norm."),
    (r"encoder\.layers\.(\d+)\.self_attn\.", r"encoder.layers.\1.attention."),
    (r"encoder\.layers\.(\d+)\.fc1\.", r"encoder.layers.\1.feed_forward.intermediate_dense."),
    (r"encoder\.layers\.(\d+)\.fc2\.", r"encoder.layers.\1.feed_forward.output_dense."),
    (r"encoder\.layers\.(\d+)\.final_layer_norm\.", r"encoder.layers.\1.final_layer_norm."),
    (r"encoder\.layer_norm\.", "encoder.layer_norm."),
)
# patterns with what they become; the first that fits
NAMES: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (r"m_transform\.0\.blocks\.(\d+)\.1\.(.*)", lambda m: f"post_net.chain.{int(m[1]) - 1}.linear.{m[2]}"),
    (
        r"m_transform\.0\.post_nets_seg\.disc_(\d+)\.(.*)",
        lambda m: f"post_net.branches.{20 * 2 ** int(m[1])}ms.{_renamed(m[2], IN_BRANCH)}",
    ),
    (r"m_transform\.0\.post_nets_utt\.(.*)", lambda m: f"post_net.branches.{UTTERANCE}.{_renamed(m[1], IN_BRANCH)}"),
    (r"m_angle_scales\.(\d+)\.weight", lambda m: f"heads.of.{10 * int(m[1])}ms.weight"),
    (r"extracter\.model\.(.*)", lambda m: f"front_end.encoder.{_renamed(m[1], IN_ENCODER)}"),
)
# torch names the two parts of a normalised weight in one of two ways
WEIGHT_NORM = {"weight_g": "parametrizations.weight.original0", "weight_v": "parametrizations.weight.original1"}


def convert(source: str | Path, out: str | Path) -> Parameters:
    """Make a checkpoint of published weights."""
    folder = Path(out).expanduser()
    if (folder / CONFIG).exists():
        raise UsageError(f"{str(out)!r} is a checkpoint already; name another folder")
    tensors = read_official(Path(source).expanduser())
    config, architecture = sizes(tensors)
    try:
        model = build(config, architecture)
    except (ValueError, RuntimeError) as error:  # sizes that go with no model
        why = checkpoints.first_line(error)
        raise DataError(f"{source}: the shapes of its tensors fit no wav2vec 2.0 ({why}): {NOT_THESE}") from None
    place(tensors, model)
    checkpoints.save(folder, model, config, {"converted_from": Path(source).name})
    return parameters_of(model)


def read_official(path: Path) -> dict[str, Tensor]:
    """Read tensors by name, without running what a pickle may contain."""
    if not path.is_file():
        raise UsageError(f"there is no file {str(path)!r}")
    _check_packing(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's, on formats that it will drop
            content = torch.load(path, map_location="cpu", weights_only=True)
    except MemoryError:
        raise DataError(f"{path}: what the file says is in there does not fit into memory; {GET}") from None
    except Exception as error:  # junk makes torch fail in any way, and advise to load it unsafely
        why = f" ({reason[1]})" if (reason := REFUSED.search(str(error))) else ""
        raise DataError(f"{path}: no file of weights: it cannot be read as plain tensors by name{why}; {GET}") from None
    if isinstance(content, dict) and isinstance(content.get("state_dict"), dict):
        content = content["state_dict"]
    if not isinstance(content, dict) or not all(isinstance(one, Tensor) for one in content.values()):
        raise DataError(f"{path}: not a file of weights: tensors by name are expected; {GET}")
    # the data-parallel wrapper puts its own name before all others
    return {str(name).removeprefix("module."): tensor for name, tensor in content.items()}


def _check_packing(path: Path) -> None:
    """Refuse an archive that unpacks to more than it has; torch writes its tensors without compression."""
    with path.open("rb") as stream:
        if not is_zip(stream):
            return  # torch's older files
        with opened_zip(stream, str(path), MOST_TENSORS) as archive:
            if sum(one.file_size for one in archive.infolist()) > 2 * path.stat().st_size + SMALL:
                raise DataError(f"{path}: its tensors are packed, and unpack to far more than the file has; {GET}")


def sizes(tensors: Mapping[str, Tensor]) -> tuple[Config, str]:
    """The configuration, and the architecture of wav2vec 2.0, that these tensors fit."""

    def shape(name: str, dimensions: int = 2) -> torch.Size:
        if name not in tensors:
            raise DataError(f"{name} is missing: {NOT_THESE}")
        found = tensors[name].shape
        if len(found) != dimensions or not all(found):
            raise DataError(f"{name} has shape {tuple(found)}, not one of {dimensions} dimensions: {NOT_THESE}")
        return found

    encoder = "extracter.model."
    width, convolved = shape(f"{encoder}post_extract_proj.weight")
    layers = _count(tensors, rf"{re.escape(encoder)}encoder\.layers\.(\d+)\..*")
    convolutions = _count(tensors, rf"{re.escape(encoder)}feature_extractor\.conv_layers\.(\d+)\..*")
    kernels = shape(f"{encoder}encoder.pos_conv.0.weight_v", 3)
    architecture: dict[str, Any] = {
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": max(width // WIDTH_OF_A_HEAD, 1),
        "intermediate_size": shape(f"{encoder}encoder.layers.0.fc1.weight")[0],
        "conv_dim": [convolved] * convolutions,
        "conv_bias": f"{encoder}feature_extractor.conv_layers.0.0.bias" in tensors,
        "feat_extract_norm": "layer",
        "do_stable_layer_norm": True,
        "num_conv_pos_embeddings": kernels[2],
        "num_conv_pos_embedding_groups": width // kernels[1],
    }
    net = "m_transform.0.post_nets_seg.disc_0."
    network = replace(
        PAPER.network,
        blocks=_count(tensors, rf"{re.escape(net)}layers\.(\d+)\..*"),
        frames=shape(f"{net}layers.0.sgu.weight")[0],
        legacy_pool_padding=True,
    )
    front_end = replace(PAPER.front_end, checkpoint="")
    return replace(PAPER, name=NAME, front_end=front_end, network=network), json.dumps(architecture)


def place(tensors: Mapping[str, Tensor], model: nn.Module) -> None:
    """Give every tensor its place in the model; all must fit."""
    wanted = model.state_dict()
    found: dict[str, Tensor] = {}
    problems = Problems()
    for name, tensor in tensors.items():
        if UNUSED.fullmatch(name):
            continue
        if name == "weight_hidd":
            found["front_end.mix"] = tensor[: wanted["front_end.mix"].numel()]
            continue
        places = [one for one in _places(name) if one in wanted]
        if not places:
            problems.add(f"{name} has no place in the model")
        elif wanted[places[0]].shape != tensor.shape:
            problems.add(f"{name} has shape {tuple(tensor.shape)}, not {tuple(wanted[places[0]].shape)}")
        else:
            found[places[0]] = tensor
    missing = [name for name in wanted if name not in found]
    problems.extend((f"nothing fills {name}" for name in missing), len(missing))
    problems.raise_if_any(NOT_THESE)
    model.load_state_dict(found)


def _places(name: str) -> list[str]:
    """What a published name may be called here."""
    for pattern, rename in NAMES:
        if match := re.fullmatch(pattern, name):
            renamed = rename(match)
            front, _, last = renamed.rpartition(".")
            return [renamed, *([f"{front}.{WEIGHT_NORM[last]}"] if last in WEIGHT_NORM else [])]
    return []


def _renamed(name: str, rules: tuple[tuple[str, str], ...]) -> str:
    for pattern, new in rules:
        renamed, count = re.subn(f"^{pattern}", new, name)
        if count:
            return renamed
    return name


def _count(tensors: Mapping[str, Tensor], pattern: str) -> int:
    """How many numbers, from 0 on, a name has."""
    matches = filter(None, (re.fullmatch(pattern, name) for name in tensors))
    return len({int(match[1]) for match in matches})

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
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from torch import Tensor, nn

from spoofspan.base.errors import DataError, UsageError
from spoofspan.cm import checkpoints
from spoofspan.cm.config import PAPER, Config
from spoofspan.cm.fairseq import (
    IN_ENCODER,
    architecture,
    count,
    fitted,
    read_pickled,
    renamed_by,
    shape_of,
    with_weight_norm,
)
from spoofspan.cm.frame_times import UTTERANCE
from spoofspan.cm.model import Parameters, build, parameters_of
from spoofspan.cm.model_sources import CONFIG

NAME = "official"
ENCODER = "extracter.model."
NOT_THESE = "these are not the weights of the published multi-resolution model"
GET = "give the .pt file that the published code saved"
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
# patterns with what they become; the first that fits
NAMES: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (r"m_transform\.0\.blocks\.(\d+)\.1\.(.*)", lambda m: f"post_net.chain.{int(m[1]) - 1}.linear.{m[2]}"),
    (
        r"m_transform\.0\.post_nets_seg\.disc_(\d+)\.(.*)",
        lambda m: f"post_net.branches.{20 * 2 ** int(m[1])}ms.{_renamed(m[2], IN_BRANCH)}",
    ),
    (r"m_transform\.0\.post_nets_utt\.(.*)", lambda m: f"post_net.branches.{UTTERANCE}.{_renamed(m[1], IN_BRANCH)}"),
    ("weight_hidd", lambda m: "front_end.mix"),
    (r"m_angle_scales\.(\d+)\.weight", lambda m: f"heads.of.{10 * int(m[1])}ms.weight"),
    (r"extracter\.model\.(.*)", lambda m: f"front_end.encoder.{_renamed(m[1], IN_ENCODER)}"),
)


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
    content = read_pickled(path, GET)
    if isinstance(content, dict) and isinstance(content.get("state_dict"), dict):
        content = content["state_dict"]
    if not isinstance(content, dict) or not all(isinstance(one, Tensor) for one in content.values()):
        raise DataError(f"{path}: not a file of weights: tensors by name are expected; {GET}")
    # the data-parallel wrapper puts its own name before all others
    return {str(name).removeprefix("module."): tensor for name, tensor in content.items()}


def sizes(tensors: Mapping[str, Tensor]) -> tuple[Config, str]:
    """The configuration, and the architecture of wav2vec 2.0, that these tensors fit."""
    encoder = architecture(tensors, NOT_THESE, prefix=ENCODER)
    net = "m_transform.0.post_nets_seg.disc_0."
    network = replace(
        PAPER.network,
        blocks=count(tensors, rf"{re.escape(net)}layers\.(\d+)\..*"),
        frames=shape_of(tensors, f"{net}layers.0.sgu.weight", 2, NOT_THESE)[0],
        legacy_pool_padding=True,
    )
    front_end = replace(PAPER.front_end, checkpoint="")
    return replace(PAPER, name=NAME, front_end=front_end, network=network), json.dumps(encoder)


def place(tensors: Mapping[str, Tensor], model: nn.Module) -> None:
    """Give every tensor its place in the model; all must fit."""
    wanted = model.state_dict()
    plain = dict(tensors)
    if "weight_hidd" in plain:
        plain["weight_hidd"] = plain["weight_hidd"][: wanted["front_end.mix"].numel()]
    model.load_state_dict(fitted(plain, wanted, _places, UNUSED, NOT_THESE))


def _places(name: str) -> list[str]:
    """Possible names of a published tensor."""
    for pattern, rename in NAMES:
        if match := re.fullmatch(pattern, name):
            return with_weight_norm(rename(match))
    return []


def _renamed(name: str, rules: tuple[tuple[str, str], ...]) -> str:
    return (renamed_by(name, rules) or [name])[0]

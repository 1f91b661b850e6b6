"""wav2vec 2.0 as fairseq names and saves it: its weights and sizes, read without running any code.

A file of fairseq is a pickle of ``{"args": ..., "cfg": ..., "model": tensors by name, ...}``, in the present (zip) or
the older layout of ``torch.save``. ``args`` is an ``argparse.Namespace``, ``cfg`` a dict or a container of
omegaconf. torch reads the file with ``weights_only=True``; in the place of classes that only hold settings it gets
:class:`Record`, which keeps a state and does nothing. These classes are never imported, and any other is refused.

Sizes follow from the tensors. What they do not say (attention heads, the order of norm and layer, strides) is taken
from the settings, else from the published models; where both say something, it must be the same.

==================================  ===========================================================
fairseq                             transformers
==================================  ===========================================================
``feature_extractor``               ``feature_extractor``: ``.0`` is ``conv``, ``.2`` ``layer_norm``
``layer_norm, post_extract_proj``   ``feature_projection.{layer_norm, projection}``
``encoder.pos_conv.0``              ``encoder.pos_conv_embed.conv``, with normalised weights
``encoder.layers.{i}``              the same: ``attention``, ``feed_forward``, two norms
``mask_emb, quantizer, ...``        of pre-training, left out
==================================  ===========================================================
"""

from __future__ import annotations

import pickletools
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spoofspan.base.errors import DataError, Problems, UsageError
from spoofspan.cm.model_sources import SMALL
from spoofspan.formats.archives import is_zip, opened_zip

MOST_TENSORS = 100_000
# what torch found in a pickle, without what it advises
REFUSED = re.compile(
    r"(Unsupported (?:global|operand|class|opcode)[^.\n]{0,120}|PytorchStreamReader failed[^.\n]{0,80})"
)
WIDTH_OF_A_HEAD = 64  # of attention, in every published wav2vec 2.0
# classes that only hold settings, by the beginnings of their names or as a whole
SETTINGS = re.compile(
    r"argparse\.Namespace|(omegaconf|fairseq|typing)\.[\w.]+|collections\.defaultdict"
    r"|(__builtin__|builtins)\.(dict|list|tuple|set|int|long|float|bool|str|unicode|object)"
    r"|numpy(\.\w+)*\.scalar|numpy\.dtype|_codecs\.encode"
)
BUILTINS = [f"builtins.{name}" for name in ("dict", "list", "tuple", "set", "int", "float", "bool", "str", "object")]
OLD_PARTS = 4  # pickles at the beginning of torch's older layout; the last one holds the content
UNUSED = re.compile(r"mask_emb|quantizer\..*|project_q\..*|final_proj\..*|label_embs_.*")
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
# torch names the two parts of a normalised weight in one of two ways
WEIGHT_NORM = {"weight_g": "parametrizations.weight.original0", "weight_v": "parametrizations.weight.original1"}
# settings of fairseq that tensors must agree with
STATED = {
    "encoder_layers": "num_hidden_layers",
    "encoder_embed_dim": "hidden_size",
    "encoder_ffn_embed_dim": "intermediate_size",
    "conv_pos": "num_conv_pos_embeddings",
    "conv_pos_groups": "num_conv_pos_embedding_groups",
    "conv_bias": "conv_bias",
}
NOT_WAV2VEC = "this is not a wav2vec 2.0 that fairseq pre-trained"
GET_FAIRSEQ = "give the .pt file of a wav2vec 2.0 that fairseq pre-trained, or a folder that transformers saved"


class Record:
    """A stand-in for an object of settings: its state, and nothing that it could do."""

    state: Any = None

    def __new__(cls, *_: Any, **__: Any) -> Record:
        """Make one, whatever it is made of."""
        return object.__new__(cls)

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        self.state = state


# ---------------------------------------------------------------- reading


def read_pickled(path: Path, get: str, settings: Iterable[str] = ()) -> Any:
    """Read a file of torch.save, without running what a pickle may contain; ``settings`` are read as records."""
    if not path.is_file():
        raise UsageError(f"there is no file {str(path)!r}")
    packed = _check_packing(path, get)
    try:
        with warnings.catch_warnings(), _as_records(path, settings):
            warnings.simplefilter("ignore")  # torch's, on formats that it will drop
            return torch.load(path, map_location="cpu", weights_only=True, mmap=packed)
    except MemoryError:
        raise DataError(f"{path}: what the file says is in there does not fit into memory; {get}") from None
    except UsageError:
        raise
    except Exception as error:  # junk makes torch fail in any way, and advise to load it unsafely
        why = f" ({reason[1]})" if (reason := REFUSED.search(str(error))) else ""
        raise DataError(f"{path}: no file of weights: it cannot be read as plain tensors by name{why}; {get}") from None


def _as_records(path: Path, names: Iterable[str]) -> Any:
    """A context in which torch takes records for the classes of these names."""
    made = []
    for name in names:
        module, _, own = name.rpartition(".")
        made.append(type(own, (Record,), {"__module__": module, "__qualname__": own}))
    allow = getattr(torch.serialization, "safe_globals", None)
    if made and allow is None:
        raise UsageError(f"{path}: files of fairseq need torch 2.5 or newer; pip install 'torch>=2.5'")
    return nullcontext() if allow is None else allow(made)


def _check_packing(path: Path, get: str) -> bool:
    """Refuse an archive that unpacks to more than it has; torch writes its tensors without compression."""
    with path.open("rb") as stream:
        if not is_zip(stream):
            return False  # torch's older files
        with opened_zip(stream, str(path), MOST_TENSORS) as archive:
            if sum(one.file_size for one in archive.infolist()) > 2 * path.stat().st_size + SMALL:
                raise DataError(f"{path}: its tensors are packed, and unpack to far more than the file has; {get}")
    return True


def check_held(tensors: Mapping[str, Tensor], path: Path, get: str) -> None:
    """Refuse tensors that repeat few numbers to state a large shape."""
    if sum(one.numel() * one.element_size() for one in tensors.values()) > 2 * path.stat().st_size + SMALL:
        raise DataError(f"{path}: its tensors state far more numbers than the file has; {get}")


def _classes(path: Path) -> set[str]:
    """The classes and functions that a file names, as ``module.name``."""
    with path.open("rb") as stream:
        if not is_zip(stream):
            stream.seek(0)
            return {name for _ in range(OLD_PARTS) for name in _named_in(stream)}
        with opened_zip(stream, str(path), MOST_TENSORS) as archive:
            found = [one for one in archive.namelist() if one.endswith("/data.pkl") and one.count("/") == 1]
            if len(found) != 1:
                raise ValueError("no data.pkl")
            with archive.open(found[0]) as content:
                return set(_named_in(content))


def _named_in(stream: Any) -> list[str]:
    return [str(arg).replace(" ", ".") for code, arg, _ in pickletools.genops(stream) if code.name == "GLOBAL"]


def read_fairseq(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The architecture, as transformers states it, and the tensors under fairseq's names."""
    _check_packing(path, GET_FAIRSEQ)
    try:
        named = _classes(path)
    except Exception as error:  # whatever junk makes of it
        raise DataError(f"{path}: not a file that torch.save wrote ({type(error).__name__}); {GET_FAIRSEQ}") from None
    foreign = [one for one in sorted(named) if not SETTINGS.fullmatch(one) and not one.startswith("torch.")]
    if strange := [one for one in foreign if one != "collections.OrderedDict"]:
        raise DataError(
            f"{path}: it asks for {', '.join(strange[:5])[:200]!a}, which no file of weights needs, and which would "
            f"run code where a pickle is simply loaded; do not use it. {GET_FAIRSEQ}"
        )
    records = [one for one in named if SETTINGS.fullmatch(one)]
    content = read_pickled(path, GET_FAIRSEQ, {*records, *BUILTINS} if records else ())
    tensors = content.get("model") if isinstance(content, dict) else None
    if not isinstance(tensors, dict) or not all(
        isinstance(name, str) and isinstance(one, Tensor) for name, one in tensors.items()
    ):
        raise DataError(f"{path}: it has no 'model' with tensors by name: {NOT_WAV2VEC}; {GET_FAIRSEQ}")
    check_held(tensors, path, GET_FAIRSEQ)
    try:
        return architecture(tensors, NOT_WAV2VEC, stated=_settings(content)), tensors
    except DataError as error:
        raise DataError(f"{path}: {error}; {GET_FAIRSEQ}") from None


def _settings(content: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the model in ``cfg``, or else in ``args``."""
    found = _plain(content.get("cfg"))
    found = _plain(found.get("model")) if isinstance(found, dict) else None
    if not isinstance(found, dict):
        found = _plain(content.get("args"))
    plain = {} if not isinstance(found, dict) else {str(name): _plain(one) for name, one in found.items()}
    return {name: one for name, one in plain.items() if type(one) in (str, int, float, bool)}


def _plain(value: Any) -> Any:
    """The content of a record: what omegaconf calls a node's value, or all attributes."""
    if not isinstance(value, Record) or not isinstance(value.state, dict):
        return value
    for key in ("_content", "_val"):
        if key in value.state:
            return value.state[key]
    return value.state


# ---------------------------------------------------------------- sizes and names


def architecture(
    tensors: Mapping[str, Tensor], these: str, prefix: str = "", stated: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The architecture that tensors have, which begin with ``prefix``; settings must agree with them."""
    settings = stated or {}

    def shape(name: str, dimensions: int = 2) -> torch.Size:
        return shape_of(tensors, prefix + name, dimensions, these)

    width, _ = shape("post_extract_proj.weight")
    layers = count(tensors, rf"{re.escape(prefix)}encoder\.layers\.(\d+)\..*")
    convolutions = count(tensors, rf"{re.escape(prefix)}feature_extractor\.conv_layers\.(\d+)\..*")
    kernels = [shape(f"feature_extractor.conv_layers.{i}.0.weight", 3) for i in range(convolutions)]
    positions = shape("encoder.pos_conv.0.weight_v", 3)
    in_layers = f"{prefix}feature_extractor.conv_layers.0.2.1.weight" in tensors
    found: dict[str, Any] = {
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": settings.get("encoder_attention_heads") or max(width // WIDTH_OF_A_HEAD, 1),
        "intermediate_size": shape("encoder.layers.0.fc1.weight")[0],
        "conv_dim": [one[0] for one in kernels],
        "conv_kernel": [one[2] for one in kernels],
        "conv_bias": f"{prefix}feature_extractor.conv_layers.0.0.bias" in tensors,
        "feat_extract_norm": "layer" if in_layers else "group",
        "do_stable_layer_norm": bool(settings.get("layer_norm_first", in_layers)),
        "num_conv_pos_embeddings": positions[2],
        "num_conv_pos_embedding_groups": width // positions[1],
        "hidden_act": settings.get("activation_fn") or "gelu",
    }
    if strides := _strides(str(settings.get("conv_feature_layers") or "")):
        found["conv_stride"] = strides
    problems = Problems()
    for name, own in STATED.items():
        if settings.get(name) is not None and settings[name] != found[own]:
            problems.add(f"its settings state {name} = {str(settings[name])[:80]!a}, and its tensors have {found[own]}")
    problems.raise_if_any("settings and weights must be of one model")
    return found


def _strides(layers: str) -> list[int]:
    """The strides of ``[(512, 10, 5)] + [(512, 3, 2)] * 4 + [(512, 2, 2)]``.

    >>> _strides("[(512, 10, 5)] + [(512, 3, 2)] * 4 + [(512,2,2)] + [(512,2,2)]")
    [5, 2, 2, 2, 2, 2, 2]
    """
    found = re.findall(r"\(\s*\d+\s*,\s*\d+\s*,\s*(\d{1,4})\s*\)\s*\]?(?:\s*\*\s*(\d{1,2}))?", layers)
    return [int(stride) for stride, times in found for _ in range(int(times or 1))]


def shape_of(tensors: Mapping[str, Tensor], name: str, dimensions: int, these: str) -> torch.Size:
    """The shape of a tensor, which must be there with so many dimensions."""
    if name not in tensors:
        raise DataError(f"{name} is missing: {these}")
    found = tensors[name].shape
    if len(found) != dimensions or not all(found):
        raise DataError(f"{name} has shape {tuple(found)}, not one of {dimensions} dimensions: {these}")
    return found


def fitted(
    tensors: Mapping[str, Tensor],
    wanted: Mapping[str, Tensor],
    places: Callable[[str], list[str]],
    unused: re.Pattern[str],
    these: str,
) -> dict[str, Tensor]:
    """Every tensor under its name in a model (one of its ``places``); all must fit, and nothing may be missing."""
    found: dict[str, Tensor] = {}
    problems = Problems()
    for name, tensor in tensors.items():
        if unused.fullmatch(name):
            continue
        own = [one for one in places(name) if one in wanted]
        if not own:
            problems.add(f"{name} has no place in the model")
        elif wanted[own[0]].shape != tensor.shape:
            problems.add(f"{name} has shape {tuple(tensor.shape)}, not {tuple(wanted[own[0]].shape)}")
        else:
            found[own[0]] = tensor
    missing = [name for name in wanted if name not in found]
    problems.extend((f"nothing fills {name}" for name in missing), len(missing))
    problems.raise_if_any(these)
    return found


def encoder_places(name: str) -> list[str]:
    """Possible names in transformers of a tensor of the encoder."""
    return [one for renamed in renamed_by(name, IN_ENCODER) for one in with_weight_norm(renamed)]


def with_weight_norm(name: str) -> list[str]:
    """A name, and that of a normalised weight in newer versions of torch."""
    front, _, last = name.rpartition(".")
    return [name, *([f"{front}.{WEIGHT_NORM[last]}"] if last in WEIGHT_NORM else [])]


def renamed_by(name: str, rules: tuple[tuple[str, str], ...]) -> list[str]:
    """A name by the first rule that fits its beginning; nothing if none does."""
    for pattern, new in rules:
        renamed, done = re.subn(f"^{pattern}", new, name)
        if done:
            return [renamed]
    return []


def count(tensors: Mapping[str, Tensor], pattern: str) -> int:
    """The number of numbers, from 0 on, that a name has."""
    matches = filter(None, (re.fullmatch(pattern, name) for name in tensors))
    return len({int(match[1]) for match in matches})

"""Front-ends: sound at 16 kHz -> features every 20 ms, with the number of real frames of each recording.

All normalise a recording to mean 0 and variance 1 and give frame k what happens in the samples
[320 k, 320 k + 400), so that there are floor((samples - 400) / 320) + 1 frames (:mod:`spoofspan.cm.frame_times`).
"""

from __future__ import annotations

import json
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from spoofspan.base.documents import parse_json
from spoofspan.base.errors import DataError, SpoofspanError, UsageError
from spoofspan.base.extras import require
from spoofspan.cm.config import FrontEnd, is_own
from spoofspan.cm.features import COUNT, FLOOR, SPECTRUM_HOP, FrameFeatures
from spoofspan.cm.frame_times import HOP, WINDOW
from spoofspan.cm.model_sources import FRONT_END
from spoofspan.cm.padding import at_least_a_frame, frames_in, normalised, real_steps, window_means, zero_padding
from spoofspan.cm.parts import OwnFrontEnd

# the architecture of wav2vec 2.0 large, for counting its parameters without its weights
LARGE: dict[str, Any] = {
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
    "feat_extract_norm": "layer",
    "conv_bias": True,
    "do_stable_layer_norm": True,
}
KERNELS, STRIDES = (10, 3, 3, 3, 3, 2, 2), (5, 2, 2, 2, 2, 2, 2)  # of its convolutions, as of every other one
# hidden states must be there every time, and nothing of the input is hidden
UNDISTURBED: dict[str, Any] = {
    "layerdrop": 0.0,
    "apply_spec_augment": False,
    "mask_time_prob": 0.0,
    "mask_feature_prob": 0.0,
}
DROPOUTS = ("attention_dropout", "activation_dropout", "feat_proj_dropout", "hidden_dropout")
FAMILY = ("wav2vec2", "hubert", "wavlm")  # model types that are built alike; XLS-R is a wav2vec2
# what shapes an encoder, with the largest whole number; anything else that its file says is left aside
WHOLE_NUMBERS: dict[str, int] = {
    "hidden_size": 1 << 16,
    "intermediate_size": 1 << 18,
    "num_hidden_layers": 256,
    "num_attention_heads": 1 << 10,
    "num_conv_pos_embeddings": 1 << 10,
    "num_conv_pos_embedding_groups": 1 << 10,
    "num_buckets": 1 << 12,
    "max_bucket_distance": 1 << 16,
}
LISTS = {"conv_dim": 1 << 13, "conv_kernel": 1 << 10, "conv_stride": 1 << 10}  # of so many convolutions at most:
MOST_CONVOLUTIONS = 32
FLAGS = ("conv_bias", "do_stable_layer_norm", "feat_proj_layer_norm", "conv_pos_batch_norm")
ACTIVATIONS = ("gelu", "gelu_new", "gelu_fast", "quick_gelu", "relu", "silu", "swish", "tanh")
WORDS = {"feat_extract_norm": ("group", "layer"), "hidden_act": ACTIVATIONS, "feat_extract_activation": ACTIVATIONS}


class Standardised(nn.Module):
    """Numbers of a recording, each with mean 0 and deviation 1 over the training set."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(count))
        self.register_buffer("deviation", torch.ones(count))

    @abstractmethod
    def numbers(self, waves: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
        """(utterances, steps, numbers), and how many steps are real."""

    def standardised(self, waves: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
        """The numbers as they are learned from; padding is zero."""
        x, counts = self.numbers(waves, samples)
        return zero_padding((x - self.mean) / self.deviation, counts), counts

    def around(self, x: Tensor, counts: Tensor) -> Tensor:
        """Add what the convolutions along time (``layers``) find around each step."""
        for layer, norm in zip(self.layers, self.norms, strict=False):
            found = layer(zero_padding(self.dropout(norm(x)), counts))
            x = zero_padding(x + nn.functional.gelu(found), counts)
        return x

    @torch.no_grad()
    def look_at(self, batches: Iterable[tuple[Tensor, Tensor]]) -> None:
        """Take mean and deviation from some sound, so that learning starts with numbers of one size."""
        total, sums, squares = 0, torch.zeros_like(self.mean).double(), torch.zeros_like(self.mean).double()
        for waves, samples in batches:
            found, counts = self.numbers(waves, samples)
            real = found[real_steps(counts, found.shape[1])].double()
            total, sums, squares = total + len(real), sums + real.sum(0), squares + real.square().sum(0)
        self.mean.copy_(sums / total)
        self.deviation.copy_((squares / total - (sums / total).square()).clamp(min=1e-4).sqrt())


class SpectralFrontEnd(Standardised):
    """Log power spectrum every 10 ms, each bin with mean 0 and deviation 1 over the training set, then convolutions.

    Two convolutions over time and frequency see patterns wherever in the spectrum they are; what they find stands
    beside the spectrum itself. A convolution along time halves the rate to 20 ms, and ``layers`` more add what happens
    around a frame. Without any layers, every two spectra become their mean.
    """

    def __init__(self, width: int, layers: int, maps: int = 0, dropout: float = 0.0) -> None:
        bins = WINDOW // 2 + 1
        super().__init__(bins)
        self.register_buffer("window", torch.hann_window(WINDOW), persistent=False)
        self.width = width if layers else bins
        self.layers = nn.ModuleList()
        if not layers:
            return
        self.patterns = nn.ModuleList(
            nn.Conv2d(before, maps, (3, 5), stride=(1, 2), padding=(1, 2)) for before in ((1, maps) if maps else ())
        )
        self.gather = nn.Sequential(nn.Linear(bins + maps * -(-bins // 4), width), nn.LayerNorm(width), nn.GELU())
        self.halve = AlongTime(width, stride=2)
        self.layers.extend(AlongTime(width) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers + 1))
        self.dropout = nn.Dropout(dropout)

    def forward(self, waves: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
        """Features and how many of them are real."""
        x, counts = self.standardised(waves, samples)
        if not self.layers:
            return window_means(x, counts, 2), (counts + 1) // 2
        x = zero_padding(self.gather(self._with_patterns(x, counts)), counts)
        counts = (counts + 1) // 2
        return self.around(zero_padding(nn.functional.gelu(self.norms[-1](self.halve(x))), counts), counts), counts

    def _with_patterns(self, x: Tensor, counts: Tensor) -> Tensor:
        """Put what the convolutions over time and frequency find beside the spectrum."""
        if not self.patterns:
            return x
        found, real = x[:, None], real_steps(counts, x.shape[1])[:, None, :, None].to(x.dtype)
        for convolution in self.patterns:
            found = nn.functional.gelu(convolution(found)) * real
        return torch.cat((x, found.transpose(1, 2).flatten(2)), dim=-1)

    def numbers(self, waves: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
        """(utterances, windows of 10 ms, bins), and how many windows are real."""
        counts = ((samples - WINDOW) // SPECTRUM_HOP + 1).clamp(min=1)
        with torch.autocast(waves.device.type, enabled=False):
            sound = at_least_a_frame(normalised(waves.float(), samples))
            spectrum = torch.stft(
                sound, WINDOW, SPECTRUM_HOP, window=self.window, center=False, return_complex=True
            ).transpose(1, 2)
            return (spectrum.real.square() + spectrum.imag.square() + FLOOR).log(), counts


class AlongTime(nn.Conv1d):
    """A convolution over five steps of (utterances, time, features), or over every second, fourth, ... of more."""

    def __init__(self, width: int, stride: int = 1, dilation: int = 1) -> None:
        super().__init__(width, width, 5, stride=stride, padding=2 * dilation, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        """The same features at every step, or at every other one."""
        return super().forward(x.transpose(1, 2)).transpose(1, 2)


class StructuralFrontEnd(Standardised):
    """Hand-made numbers of every frame (:mod:`spoofspan.cm.features`), then ``layers`` convolutions along time.

    Each looks twice as far as the one before: four see 0.6 s on either side, so that a pause is heard with its words.
    """

    def __init__(self, width: int, layers: int, dropout: float) -> None:
        super().__init__(COUNT)
        self.features = FrameFeatures()
        self.width = width if layers else COUNT
        self.gather = nn.Sequential(nn.Dropout(dropout), nn.Linear(COUNT, width), nn.LayerNorm(width), nn.GELU())
        self.layers = nn.ModuleList(AlongTime(width, dilation=2**i) for i in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.dropout = nn.Dropout(dropout)

    def numbers(self, waves: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
        """The features."""
        return self.features(waves, samples)

    def forward(self, waves: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
        """Output of the convolutions, and how many frames are real."""
        x, counts = self.numbers(waves, samples)
        return self.after(x, counts), counts

    def after(self, x: Tensor, counts: Tensor) -> Tensor:
        """Output of the convolutions, from the features."""
        x = zero_padding((x - self.mean) / self.deviation, counts)
        return self.around(zero_padding(self.gather(x), counts), counts) if self.layers else x


class Wav2Vec2FrontEnd(nn.Module):
    """wav2vec 2.0, XLS-R, HuBERT or WavLM: the hidden states of all layers, mixed by a softmax over learned weights.

    The weights start uniform. The convolutional encoder stays as it is; the transformer is fine-tuned.
    """

    def __init__(self, encoder: Any, *, gradient_checkpointing: bool = False) -> None:
        super().__init__()
        self.encoder = encoder
        encoder.feature_extractor.requires_grad_(False)
        if gradient_checkpointing:
            # what older versions of transformers call gradient_checkpointing_enable, a name that newer ones warn of
            newer = getattr(encoder, "activation_checkpointing_enable", None)
            (newer or encoder.gradient_checkpointing_enable)({"use_reentrant": False})
        self.width = encoder.config.hidden_size
        self.mix = nn.Parameter(torch.zeros(encoder.config.num_hidden_layers + 1))
        # group normalisation looks along time, so it would see the padding: such a checkpoint takes one at a time
        self.one_by_one = encoder.config.feat_extract_norm == "group"

    def train(self, mode: bool = True) -> Wav2Vec2FrontEnd:
        """Switch the mode of all but the frozen part."""
        super().train(mode)
        self.encoder.feature_extractor.eval()
        return self

    def forward(self, waves: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
        """Features and how many of them are real."""
        counts = frames_in(samples)
        waves = at_least_a_frame(normalised(waves, samples))
        length = samples.clamp(min=WINDOW)
        if not self.one_by_one:
            return zero_padding(self._mixed(waves, real_steps(length, waves.shape[1])), counts), counts
        alone = [self._mixed(wave[None, :n], None)[0] for wave, n in zip(waves, length.tolist(), strict=True)]
        return nn.utils.rnn.pad_sequence(alone, batch_first=True), counts

    def _mixed(self, waves: Tensor, real: Tensor | None) -> Tensor:
        states: list[Tensor] = []
        with _inputs_of(self.encoder.encoder.layers, states), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Support for mismatched key_padding_mask")  # of torch, about WavLM's code
            last = self.encoder(waves, attention_mask=None if real is None else real.long()).last_hidden_state
        weights = self.mix.softmax(0)
        return sum(weight * state for weight, state in zip(weights, [*states, last], strict=True))


@contextmanager
def _inputs_of(layers: Any, states: list[Tensor]) -> Iterator[None]:
    """Keep the input of every layer; which hidden states transformers hands out depends on its version."""
    handles = [layer.register_forward_pre_hook(lambda _, inputs: states.append(inputs[0])) for layer in layers]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


# ---------------------------------------------------------------- building


def build_front_end(front_end: FrontEnd, architecture: str | None = None) -> nn.Module:
    """Build a front-end. ``architecture`` is that of a wav2vec 2.0 whose weights come later (JSON).

    Without it, a wav2vec 2.0 has the weights of its checkpoint.
    """
    if is_own(front_end.kind):
        return OwnFrontEnd(front_end.kind, front_end.options)
    if front_end.kind == "spectral":
        return SpectralFrontEnd(front_end.width, front_end.layers, front_end.maps, front_end.dropout)
    if front_end.kind == "structural":
        return StructuralFrontEnd(front_end.width, front_end.layers, front_end.dropout)
    require("transformers")
    settings = UNDISTURBED | dict.fromkeys(DROPOUTS, front_end.transformer_dropout)
    encoder = _empty(architecture, settings) if architecture else _pretrained(front_end.checkpoint, settings)
    return Wav2Vec2FrontEnd(encoder, gradient_checkpointing=front_end.gradient_checkpointing)


def architecture_of(front_end: nn.Module) -> str | None:
    """Architecture of a wav2vec 2.0 (JSON), to build it without its checkpoint; None for other front-ends."""
    if not isinstance(front_end, Wav2Vec2FrontEnd):
        return None
    return json.dumps(front_end.encoder.config.to_diff_dict(), indent=2, sort_keys=True, default=str)


def _empty(architecture: str, settings: dict[str, Any], source: str = FRONT_END) -> Any:
    from transformers import AutoConfig, AutoModel

    stated = stated_architecture(architecture, source)
    family = stated.pop("model_type")
    return AutoModel.from_config(AutoConfig.for_model(family, **(stated | settings)))


def stated_architecture(text: str, source: str = FRONT_END) -> dict[str, Any]:
    """The kind and the sizes of an encoder, from JSON that a stranger may have written.

    transformers takes more from such a file, even code and kernels of the hub; here only sizes count.

    >>> stated_architecture('{"hidden_size": 48, "auto_map": {"AutoModel": "owner/name--code.Model"}}')
    {'model_type': 'wav2vec2', 'hidden_size': 48}
    >>> stated_architecture('{"model_type": "llama"}')
    Traceback (most recent call last):
    spoofspan.base.errors.DataError: front_end.json: a model of type 'llama'; it must be wav2vec2, hubert or wavlm
    """
    try:
        plain = parse_json(text)
    except ValueError as error:
        raise DataError(f"{source}: no JSON ({error}); get the model again") from None
    if not isinstance(plain, dict):
        raise DataError(f"{source}: no JSON object; get the model again")
    family = plain.get("model_type", FAMILY[0])
    if family not in FAMILY:
        raise DataError(f"{source}: a model of type {str(family)[:80]!a}; it must be wav2vec2, hubert or wavlm")
    found: dict[str, Any] = {"model_type": family}
    for name in (*WHOLE_NUMBERS, *LISTS, *FLAGS, *WORDS, "layer_norm_eps"):
        if name in plain:
            if not _is_valid(name, plain[name]):
                raise DataError(f"{source}: {name} = {str(plain[name])[:80]!a} is beyond what such a model has")
            found[name] = plain[name]
    lengths = {len(found.get(name, KERNELS)) for name in LISTS}
    if len(lengths) > 1 or found.get("hidden_size", 768) % found.get("num_attention_heads", 12):
        raise DataError(f"{source}: its convolutions or its attention heads do not fit together")
    try:
        _check(found, source)
    except UsageError as error:
        raise DataError(str(error)) from None
    return found


def _is_valid(name: str, value: Any) -> bool:
    if name in WHOLE_NUMBERS:
        return type(value) is int and 0 < value <= WHOLE_NUMBERS[name]
    if name in LISTS:
        within = isinstance(value, list) and 0 < len(value) <= MOST_CONVOLUTIONS
        return within and all(type(one) is int and 0 < one <= LISTS[name] for one in value)
    if name in FLAGS:
        return isinstance(value, bool)
    if name in WORDS:
        return value in WORDS[name]
    return isinstance(value, float) and 0 < value < 1


def _pretrained(checkpoint: str, settings: dict[str, Any]) -> Any:
    from transformers import AutoConfig, AutoModel, PretrainedConfig

    if Path(checkpoint).expanduser().is_file():
        return _of_fairseq(Path(checkpoint).expanduser(), settings)
    if not checkpoint:
        raise UsageError(
            "front_end.checkpoint is empty; name a wav2vec 2.0 of Hugging Face, its folder, or a file of fairseq"
        )
    is_folder = Path(checkpoint).expanduser().is_dir()
    where = str(Path(checkpoint).expanduser()) if is_folder else checkpoint
    try:
        stated, _ = PretrainedConfig.get_config_dict(where, local_files_only=is_folder)
        _check(stated, checkpoint)
        config = AutoConfig.for_model(**({"model_type": FAMILY[0]} | stated | settings))
        # weights that are a pickle are read without running it
        return AutoModel.from_pretrained(where, config=config, local_files_only=is_folder, weights_only=True)
    except (OSError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(
            f"the wav2vec 2.0 checkpoint {checkpoint!r} cannot be loaded ({str(error).splitlines()[0]}); "
            "give a folder that transformers saved, or a name that can be downloaded"
        ) from None


def _of_fairseq(path: Path, settings: dict[str, Any]) -> Any:
    from spoofspan.cm.fairseq import NOT_WAV2VEC, UNUSED, encoder_places, fitted, read_fairseq

    found, tensors = read_fairseq(path)
    stated = json.dumps(found)
    try:
        with torch.device("meta"):  # sizes are compared before anything of them is built
            wanted = _empty(stated, settings, str(path)).state_dict()
        placed = fitted(tensors, wanted, encoder_places, UNUSED, f"{path}: {NOT_WAV2VEC}")
    except SpoofspanError:
        raise
    except (ValueError, RuntimeError) as error:  # sizes that go with no model
        raise DataError(f"{path}: the shapes of its tensors fit no wav2vec 2.0 ({error}): {NOT_WAV2VEC}") from None
    encoder = _empty(stated, settings, str(path))
    encoder.load_state_dict(placed)
    return encoder


def _check(stated: dict[str, Any], checkpoint: str) -> None:
    """Refuse another kind of model, and frames of another length."""
    family = stated.get("model_type", FAMILY[0])
    if family not in FAMILY:
        raise UsageError(f"{checkpoint!r} is a model of type {family!r}; give one of {', '.join(FAMILY)}")
    hop, window = 1, 1
    for kernel, stride in zip(stated.get("conv_kernel", KERNELS), stated.get("conv_stride", STRIDES), strict=True):
        window += (kernel - 1) * hop
        hop *= stride
    if (hop, window) != (HOP, WINDOW):
        raise UsageError(f"{checkpoint!r} has a frame of {window} samples every {hop}; they must be {WINDOW} and {HOP}")

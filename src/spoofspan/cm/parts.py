"""Parts of one's own: front-ends, networks, losses and augmentations that a configuration names as ``module:Class``.

::

    [front_end]
    kind = "my_parts:WavLM"     # my_parts.py of the working folder, or of an installed package
    checkpoint = "wavlm-base"   # any other key is an argument: WavLM(checkpoint="wavlm-base")

Each part follows one of the protocols below. What a part returns is checked in every call, since a tensor of another
shape would often be broadcast to a wrong loss without an error. Training runs such parts, which are the user's own; a
model that names them is loaded only if the caller allows it (:func:`check_allowed`).
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn

from spoofspan.base.errors import SpoofspanError, UsageError, nearest_name
from spoofspan.cm.config import Augmentation, Config, Loss, is_own
from spoofspan.cm.frame_times import WINDOW
from spoofspan.cm.padding import at_least_a_frame, frames_in, zero_padding


class FrontEndPart(Protocol):
    """Sound to features every 20 ms; made as ``Class(**keys)``.

    Frame k stands for the samples [320 k, 320 k + 400). Every recording must get the features that it would get alone:
    what is past its end is silence, and must not be seen.
    """

    width: int  # features of a frame

    def __call__(self, waves: Tensor, samples: Tensor) -> Tensor:
        """(recordings, time) at 16 kHz, and how many samples are real, to (recordings, frames, width)."""
        ...


class NetworkPart(Protocol):
    """Features to the outputs of every branch; a ``torch.nn.Module``, made as ``Class(width, branches, **keys)``."""

    def __call__(self, features: Tensor, counts: Tensor) -> Mapping[str, Tensor]:
        """(recordings, frames, width), and how many frames are real, to (recordings, windows, outputs) by branch.

        A branch of 2**i frames has ceil(frames / 2**i) windows, ``utterance`` has one. Outputs are one, the log odds of
        bona fide, or two, the cosines of spoof and bona fide; the score is the last one.
        """
        ...


class LossPart(Protocol):
    """Outputs and labels to losses; made as ``Class(**keys)``. It has nothing to learn."""

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """(recordings, windows, outputs) and labels (1 bona fide, 0 spoof) to (recordings, windows).

        Windows that do not count, as in padding, are left out afterwards.
        """
        ...


class AugmentationPart(Protocol):
    """Training sound to other sound of the same length; made as ``Class(**keys)``.

    Random numbers come from torch's own generator, which is seeded for every step: so training can be repeated.
    """

    def __call__(self, waves: Tensor, samples: Tensor) -> Tensor:
        """(recordings, time) at 16 kHz, and how many samples are real, to (recordings, time)."""
        ...


# ---------------------------------------------------------------- by name


def named_code(config: Config) -> dict[str, str]:
    """The code that loading a model of this configuration runs, by section.

    >>> from spoofspan.cm.config import FrontEnd
    >>> named_code(Config(front_end=FrontEnd("my_parts:WavLM", options={"layers": 3})))
    {'front_end': 'my_parts:WavLM(layers=3)'}
    """
    sections: dict[str, Any] = {"front_end": config.front_end, "network": config.network}
    return {name: _call(one.kind, one.options) for name, one in sections.items() if is_own(one.kind)}


def check_allowed(config: Config, name: str, *, allowed: bool) -> None:
    """Refuse to load a model that names code, unless the caller allows that."""
    if (code := named_code(config)) and not allowed:
        listed = ", ".join(f"{call} as its {section.replace('_', '-')}" for section, call in code.items())
        raise UsageError(
            f"{name}: this model is not self-contained: loading it would import and run {listed}; only if you trust "
            "that code and these arguments, allow it with allow_code=True (--allow-code)"
        )


def _call(kind: str, options: Mapping[str, Any]) -> str:
    text = f"{kind}({', '.join(f'{key}={value!r}' for key, value in options.items())})"
    return text if len(text) <= 300 else f"{text[:300]}..."


def named_object(name: str, section: str) -> Callable[..., Any]:
    """Import what ``module:Class`` names."""
    module, _, path = name.partition(":")
    try:
        with _working_folder_on_path():
            found: Any = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module}.".startswith(f"{error.name}."):
            raise UsageError(
                f"{section}: there is no module {error.name!r} for {name!r}, neither in {Path.cwd()} nor among the "
                "installed packages; run this in the folder that has it, or install it"
            ) from None
        raise UsageError(f"{section}: {module!r} cannot be imported: {error}; install what it needs") from error
    except Exception as error:  # the module is the user's own
        raise UsageError(f"{section}: {module!r} cannot be imported: {_said(error)}") from error
    for one in path.split("."):
        if not hasattr(found, one):
            public = [known for known in vars(found) if not known.startswith("_")]
            raise UsageError(f"{section}: {module!r} has nothing called {path!r}: {nearest_name(one, public)}")
        found = getattr(found, one)
    if not callable(found):
        raise UsageError(f"{section}: {name} is {type(found).__name__}, not a class that can be called")
    return cast("Callable[..., Any]", found)


def made(section: str, kind: str, options: Mapping[str, Any], *first: Any) -> Any:
    """Make a part; keys that its class does not take are refused by name."""
    factory = named_object(kind, section)
    try:
        signature = inspect.signature(factory)
    except ValueError:  # of a class in C
        signature = None
    if signature is not None:
        try:
            signature.bind(*first, **options)
        except TypeError as error:
            raise UsageError(
                f"{section}: {kind}{signature} cannot be called with the other keys of [{section}] "
                f"({', '.join(options) or 'none'}): {error}; correct the keys"
            ) from None
    try:
        return factory(*first, **options)
    except Exception as error:  # whatever the user's own code raises
        raise UsageError(f"{section}: {_call(kind, options)} failed: {_said(error)}") from error


@contextmanager
def _working_folder_on_path() -> Iterator[None]:
    """Let modules of the working folder be found, after all others: the folder must not replace an installed one."""
    folder = str(Path.cwd())
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.reverse()  # the one that was appended last
        sys.path.remove(folder)
        sys.path.reverse()


def _said(error: Exception) -> str:
    """An error of the user's own code, with its last line in the working folder."""
    places = ((Path(one.filename), one.lineno) for one in traceback.extract_tb(error.__traceback__))
    own = [f" ({path.name}, line {line})" for path, line in places if path.parent == Path.cwd()]
    return f"{type(error).__name__}: {' '.join(str(error).split())}{own[-1] if own else ''}"


def result_of(name: str, part: Callable[..., Any], *given: Any) -> Any:
    """Call a part; an error in its code is reported with its line."""
    try:
        return part(*given)
    except SpoofspanError:
        raise
    except Exception as error:  # whatever the user's own code raises
        raise UsageError(f"{name} failed: {_said(error)}") from error


def check_shape(found: Any, wanted: tuple[int, ...], what: str, means: str) -> None:
    """Refuse what a part returned if it is no tensor of this shape; ``means`` says what its dimensions are."""
    if not isinstance(found, Tensor):
        raise UsageError(f"{what} returned {type(found).__name__}, not a tensor of shape {wanted}: {means}")
    if found.shape != wanted or not found.is_floating_point():
        raise UsageError(
            f"{what} returned a tensor of shape {tuple(found.shape)} ({found.dtype}), not {wanted} (float): {means}"
        )


# ---------------------------------------------------------------- in their places


class OwnFrontEnd(nn.Module):
    """A front-end of one's own among the others: it counts frames, checks shapes and masks padding."""

    def __init__(self, kind: str, options: Mapping[str, Any]) -> None:
        super().__init__()
        self.name = f"front_end: {kind}"
        self.part: FrontEndPart = made("front_end", kind, options)
        width = getattr(self.part, "width", None)
        if type(width) is not int or width < 1:
            raise UsageError(f"{self.name} has width = {width!r}; set it to how many features a frame has, an int")
        self.width = width

    def forward(self, waves: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
        """Features and how many of them are real."""
        counts = frames_in(samples)
        features = result_of(self.name, self.part, at_least_a_frame(waves), samples.clamp(min=WINDOW))
        wanted = (len(waves), int(counts.max()), self.width)
        check_shape(features, wanted, self.name, "recordings, frames = (samples - 400) // 320 + 1, width")
        return zero_padding(features, counts), counts


WindowLosses = Callable[[Tensor, Tensor], Tensor]


def own_loss(loss: Loss, device: torch.device | None = None) -> WindowLosses | None:
    """The loss of every window by a class of one's own; None for that of the head."""
    if not is_own(loss.kind):
        return None
    name = f"loss: {loss.kind}"
    part: LossPart = made("loss", loss.kind, loss.options)
    if isinstance(part, nn.Module):
        if any(one.requires_grad for one in part.parameters()):
            raise UsageError(f"{name} has parameters, and only a front-end and a network are learned; put them there")
        part.to(device)

    def losses(outputs: Tensor, targets: Tensor) -> Tensor:
        found = result_of(name, part, outputs, targets)
        check_shape(found, tuple(targets.shape), name, "recordings, windows; a loss for each, neither sum nor mean")
        return found

    return losses


def own_augmentation(augmentation: Augmentation) -> AugmentationPart | None:
    """An augmentation of one's own, or None."""
    if not is_own(augmentation.kind):
        return None
    name = f"augmentation: {augmentation.kind}"
    part: AugmentationPart = made("augmentation", augmentation.kind, augmentation.options)

    def augmented(waves: Tensor, samples: Tensor) -> Tensor:
        with torch.no_grad():
            found = result_of(name, part, waves, samples)
        check_shape(found, tuple(waves.shape), name, "recordings, time, as they were given")
        return zero_padding(found.to(waves.dtype)[..., None], samples)[..., 0]

    return augmented

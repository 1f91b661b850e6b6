"""Configuration of a training: frozen dataclasses, TOML files, presets.

A preset is a whole configuration by name; ``spoofspan cm info --preset small-cpu`` prints it as the TOML file that
``spoofspan cm train --config`` reads. Unknown names and values are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from spoofspan.base.documents import MOST_BYTES_TOML, parse_toml, read_text
from spoofspan.base.errors import DataError, UsageError, nearest_name
from spoofspan.cm.frame_times import BRANCHES, COARSEST, SEGMENT_BRANCHES
from spoofspan.data.rules import Rules

PAPER_CHECKPOINT = "facebook/wav2vec2-large-robust"
MOST_DILATED = 12  # layers that each look twice as far as the one before
OWN = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")  # a part of one's own, module:Class (spoofspan.cm.parts)
TYPES = {bool: "true or false", int: "a whole number", float: "a number", str: "text", tuple: "a list of texts"}
SHARED = ("branches", "frames")  # of a network: batches and labels follow them, whoever wrote the network


def _one_of(*valid: str) -> Any:
    """A word; the first valid one is the default."""
    return field(default=valid[0], metadata={"valid": valid})


def _part(*valid: str) -> Any:
    """The kind of a part: a word, the first being the default, or ``module:Class``."""
    return field(default=valid[0], metadata={"valid": valid, "own": True})


def _options() -> Any:
    """Arguments of a part of one's own: the other keys of its section."""
    return field(default_factory=dict, hash=False)


def _number(default: float, least: float, most: float | None = None, below: float | None = None) -> Any:
    """A number with its limits. A configuration may be a stranger's, and memory grows with sizes."""
    return field(default=default, metadata={"least": least, "most": most, "below": below})


@dataclass(frozen=True)
class FrontEnd:
    """Sound to features every 20 ms."""

    kind: str = _part("spectral", "structural", "wav2vec2")
    checkpoint: str = ""  # wav2vec 2.0: where training starts from, a Hugging Face folder or name
    width: int = _number(128, 1, 1 << 14)  # of the light ones; a checkpoint has its own
    layers: int = _number(4, 0, 64)  # convolutions along time of the light ones; 0: the bare spectrum or features
    maps: int = _number(8, 0, 64)  # of the spectral one's convolutions over time and frequency; 0: none of them
    dropout: float = _number(0.1, 0, below=1)  # before its convolutions along time
    gradient_checkpointing: bool = False  # less memory, more time
    transformer_dropout: float = _number(0.0, 0, below=1)  # of a checkpoint, whatever its own file says
    options: Mapping[str, Any] = _options()


@dataclass(frozen=True)
class Network:
    """Features to scores."""

    kind: str = _part("gmlp", "logistic")
    branches: tuple[str, ...] = BRANCHES  # those that are there and trained
    blocks: int = _number(5, 0, 64)  # gMLP blocks in each branch; 0: none, the front-end has seen enough
    frames: int = _number(2001, COARSEST, 4096)  # of 20 ms, the longest input of the gMLP
    halve_width: bool = True  # pool features as well as time
    utterance_dropout: float = _number(0.7, 0, below=1)
    head: str = _one_of("cosine", "logistic")  # of gmlp: cosines with P2SGrad, or log odds with the logistic loss
    members: int = _number(1, 1, 16)  # networks trained with a seed each, whose scores are averaged; structural only
    share_utterance_head: bool = True  # the utterance branch has the class vectors of the 640 ms branch
    legacy_pool_padding: bool = False  # only for weights of the published code
    options: Mapping[str, Any] = _options()

    @property
    def longest(self) -> int:
        """The most frames of one input: whole windows of every scale, each with its row of the gMLP."""
        # the padded pooling of the published code has one window more than there is time for
        return (self.frames // COARSEST - self.legacy_pool_padding) * COARSEST


@dataclass(frozen=True)
class Training:
    """The recipe."""

    seed: int = _number(1, 0)
    epochs: int = _number(1000, 1)
    batch_size: int = _number(8, 1)  # utterances of one step, over all processes and accumulated batches
    learning_rate: float = 1e-5
    schedule: str = _one_of("halving", "one-cycle")  # one-cycle: rises to learning_rate, and falls to nothing
    halve_every: int = _number(10, 0)  # epochs; 0: never
    weight_decay: float = _number(0.0, 0)  # of AdamW, which is Adam without it
    channels: float = _number(0.0, 0)  # how far training sound is changed by random channels: 0 is not, 1 is much
    channel_share: float = _number(1.0, 0, 1)  # of the recordings that go through such a channel, drawn anew each time
    largest_gradient: float = _number(0.0, 0)  # longer ones are shortened to this norm; 0: never
    patience: int = _number(50, 1)  # epochs without a new best before training stops
    stop_on: str = "loss"  # of the development set: loss, range-eer, point-eer@20ms, utterance-eer
    keep: str = _one_of("best", "last")  # the epoch that stop_on prefers, or the last one of all epochs
    precision: str = _one_of("fp32", "bf16", "fp16")
    accumulate: int = _number(1, 1)  # parts that a process makes of its share of a batch
    shuffle_labels: str = _one_of("no", "frames", "utterances")  # labels that cannot be learned, as a check
    save_every: int = _number(0, 0)  # steps between two saved states; 0: after every epoch only
    workers: int = _number(0, 0, 1024)  # processes that read sound
    compile: bool = False  # by torch.compile, which needs a C++ compiler and a minute before the first step


@dataclass(frozen=True)
class Loss:
    """Outputs and labels to a loss of every window; ``head`` is that of ``network.head``."""

    kind: str = _part("head")
    options: Mapping[str, Any] = _options()


@dataclass(frozen=True)
class Augmentation:
    """Changes of the training sound, after those of ``training.channels``."""

    kind: str = _part("none")
    options: Mapping[str, Any] = _options()


@dataclass(frozen=True)
class Labels:
    """Rules for references that leave something open, see ``docs/rules.md``."""

    gaps: str = "error"
    nonspeech: str = "error"

    @property
    def rules(self) -> Rules:
        """These rules; a window is spoof if any of it is."""
        return Rules(gaps=self.gaps, nonspeech=self.nonspeech, label="any")  # type: ignore[arg-type]


@dataclass(frozen=True)
class Config:
    """Everything that decides what is trained: a front-end, a network, a recipe, and the rules for labels.

    Parameters
    ----------
    name : str
        Name of a preset, or your own.
    front_end : FrontEnd
        From sound to features every 20 ms.
    network : Network
        From features to scores; which branches there are.
    training : Training
        The recipe: seed, epochs, learning rate and so on.
    labels : Labels
        Rules for references that leave something open.
    loss : Loss
        Loss of a window, if not that of the head.
    augmentation : Augmentation
        Changes of the training sound beside random channels.

    Raises
    ------
    UsageError
        If a value is not one of the valid ones.

    Examples
    --------
    >>> Config(training=Training(seed=10)).changed({"front_end": {"width": 64}}).front_end.width
    64

    """

    name: str = "custom"
    front_end: FrontEnd = field(default_factory=FrontEnd)
    network: Network = field(default_factory=Network)
    training: Training = field(default_factory=Training)
    labels: Labels = field(default_factory=Labels)
    loss: Loss = field(default_factory=Loss)
    augmentation: Augmentation = field(default_factory=Augmentation)

    def __post_init__(self) -> None:
        for section in fields(self)[1:]:
            part = getattr(self, section.name)
            for one in fields(part):
                if wrong := _beyond(getattr(part, one.name), one.metadata):
                    raise UsageError(f"{section.name}.{one.name} = {getattr(part, one.name)!r}: {wrong}")
            if getattr(part, "options", None) and not is_own(part.kind):
                raise UsageError(f"{section.name}.options go to a module:Class, and {part.kind!r} is built in")
        if self.front_end.kind == "structural" and self.front_end.layers > MOST_DILATED:
            raise UsageError(f"front_end.layers = {self.front_end.layers!r}: must be at most {MOST_DILATED}")
        if self.network.members > 1 and (self.front_end.kind, self.network.kind) != ("structural", "gmlp"):
            raise UsageError(
                f"network.members = {self.network.members!r}: several networks need front_end.kind = 'structural', "
                "whose features they share, and network.kind = 'gmlp'"
            )
        if not self.training.learning_rate > 0:
            raise UsageError(f"training.learning_rate = {self.training.learning_rate!r}: must be positive")
        if self.network.longest < COARSEST:
            raise UsageError(f"network.longest = {self.network.longest!r}: must be at least {COARSEST}")
        self._check_branches()
        self._check_stop()
        _ = self.labels.rules  # unknown rules are refused there

    def _check_branches(self) -> None:
        network = self.network
        for branch in network.branches:
            if branch not in BRANCHES:
                raise UsageError(f"network.branches: no branch {branch!r}: {nearest_name(branch, BRANCHES)}")
        if not network.branches or len(set(network.branches)) != len(network.branches):
            raise UsageError("network.branches must name at least one branch, and none twice")
        if self.training.stop_on not in ("loss", "utterance-eer") and not set(network.branches) & set(SEGMENT_BRANCHES):
            raise UsageError("training.stop_on: without a branch of windows, stop on loss or utterance-eer")

    def _check_stop(self) -> None:
        from spoofspan.measures.measure import Measure

        stop_on = self.training.stop_on
        if stop_on != "loss" and not Measure.parse(stop_on).family.endswith("-eer"):
            raise UsageError(f"training.stop_on = {stop_on!r}: must be loss or an EER, which is better when lower")

    def to_toml(self) -> str:
        """Write as TOML."""
        lines = [f"name = {_toml(self.name)}"]
        for section in fields(self)[1:]:
            lines += ["", f"[{section.name}]"]
            lines += [f"{key} = {_toml(value)}" for key, value in _written(getattr(self, section.name)).items()]
        return "\n".join(lines) + "\n"

    @classmethod
    def from_toml(cls, text: str, source: str = "configuration") -> Config:
        r"""Read TOML. What it does not say is as in the preset that ``preset`` names, or else the default.

        >>> Config.from_toml('preset = "small-cpu"\n[training]\nseed = 10').training.seed
        10
        """
        try:
            content = parse_toml(text)
        except ValueError as error:
            raise DataError(f"{source}: not valid TOML ({error})") from None
        try:
            base = preset(str(content.pop("preset"))) if "preset" in content else cls()
            return base.changed(content, source)
        except UsageError as error:  # of values, which do not know where they come from
            text = str(error)
            raise UsageError(text if source in text else f"{source}: {text}") from None

    @classmethod
    def from_file(cls, path: str | Path) -> Config:
        """Read a TOML file."""
        try:
            text = read_text(Path(path).expanduser(), MOST_BYTES_TOML)
        except (OSError, ValueError) as error:
            raise UsageError(f"{path}: cannot be read ({error})") from None
        return cls.from_toml(text, str(path))

    def changed(self, changes: Mapping[str, Any], source: str = "configuration") -> Config:
        """Change some values: ``{"training": {"seed": 10}}``."""
        return _changed(self, changes, source)


def _beyond(value: Any, limits: Mapping[str, Any]) -> str:
    """Reason why a value is not within its limits; empty if it is."""
    if "valid" in limits:
        if value in limits["valid"] or (limits.get("own") and is_own(value)):
            return ""
        return nearest_name(value, limits["valid"]) + (
            ", or a class of your own, module:Class" * bool(limits.get("own"))
        )
    if limits.get("least") is not None and not value >= limits["least"]:
        return f"must be at least {limits['least']}"
    if limits.get("most") is not None and not value <= limits["most"]:
        return f"must be at most {limits['most']:,}"
    if limits.get("below") is not None and not value < limits["below"]:
        return f"must be below {limits['below']}"
    return ""


def is_own(kind: str) -> bool:
    """True if a part is named as ``module:Class``.

    >>> is_own("my_parts:WavLM"), is_own("wav2vec2")
    (True, False)
    """
    return OWN.fullmatch(kind) is not None


def _written(section: Any) -> dict[str, Any]:
    """The keys of a section in TOML: those of a part of one's own are its arguments."""
    plain = {one.name: getattr(section, one.name) for one in fields(section)}
    options = plain.pop("options", {})
    if not options and not is_own(plain.get("kind", "")):
        return plain
    return {name: one for name, one in plain.items() if name in ("kind", *SHARED)} | options


def _with_own_part(old: Any, changes: Mapping[str, Any], source: str) -> Any:
    """A section that names a class: keys that are not of every such part become the class's arguments."""
    kept = {name: getattr(old, name) for name in SHARED if hasattr(old, name)}
    options = dict(old.options) if changes.get("kind", old.kind) == old.kind else {}
    for key, value in changes.items():
        if key in kept:
            kept[key] = _typed(kept[key], value, f"{source}.{key}")
        elif key != "kind":
            if not (key.isascii() and key.isidentifier()):
                raise UsageError(f"{source}: {key!r} cannot be the name of an argument; write letters, digits and _")
            if not all(isinstance(one, str | int | float) for one in (value if isinstance(value, list) else [value])):
                raise UsageError(
                    f"{source}.{key} = {value!r}: must be text, a number, true or false, or a list of them"
                )
            options[key] = value
    return type(old)(kind=changes.get("kind", old.kind), options=options, **kept)


def _changed(old: Any, changes: Any, source: str) -> Any:
    """A dataclass with some values changed; in a section, those of the section."""
    if not isinstance(changes, Mapping):
        raise UsageError(f"{source} is a section of several values, not {changes!r}")
    if hasattr(old, "options"):
        if is_own(str(changes.get("kind", old.kind))):
            return _with_own_part(old, changes, source)
        old = replace(old, options={})
    names = {one.name for one in fields(old)} - {"options"}
    values = {}
    for key, value in changes.items():
        if key not in names:
            own = "; arguments of a class of your own need kind = 'module:Class'" * hasattr(old, "options")
            raise UsageError(f"{source}: nothing is called {key!r}: {nearest_name(key, names)}{own}")
        before = getattr(old, key)
        if is_dataclass(before):
            values[key] = _changed(before, value, f"{source}: {key}")
        else:
            values[key] = _typed(before, value, f"{source}.{key}")
    return replace(old, **values)


def _typed(old: Any, value: Any, source: str) -> Any:
    """A value of the same type as the old one."""
    if isinstance(old, tuple) and isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return tuple(value)
    if isinstance(old, float) and type(value) in (int, float):
        return float(value)
    if type(value) is not type(old):
        raise UsageError(f"{source} = {value!r}: must be {TYPES[type(old)]}")
    return value


def _toml(value: Any) -> str:
    # the strings, numbers, lists and booleans of JSON are TOML, but for the few characters that only TOML escapes
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False).replace("\x7f", "\\u007f")


# ---------------------------------------------------------------- presets

PAPER = Config("paper-multi", FrontEnd("wav2vec2", PAPER_CHECKPOINT))
SMALL = Config(
    "small-cpu",  # chosen by attacks and speakers left out in turn: docs/real-speech.md
    FrontEnd("structural", width=64, layers=4, dropout=0.2),
    Network(
        branches=("20ms",),
        blocks=0,
        frames=384,
        halve_width=False,
        utterance_dropout=0.2,
        head="logistic",
        share_utterance_head=False,
    ),
    Training(
        epochs=12,
        batch_size=16,
        learning_rate=2e-3,
        weight_decay=0.01,
        schedule="one-cycle",
        largest_gradient=1.0,
        stop_on="range-eer",
        keep="last",
    ),
)
SMALL_MULTI = replace(SMALL, name="small-cpu-multi", network=replace(SMALL.network, branches=BRANCHES))
SMALL_2025 = Config(
    "small-cpu-2025",  # what small-cpu was before; on real speech its figures stand beside those of small-cpu
    FrontEnd("spectral", width=128, layers=4, maps=8, dropout=0.1),
    Network(blocks=2, frames=384, halve_width=False, utterance_dropout=0.2, share_utterance_head=False),
    Training(
        epochs=16, learning_rate=2e-3, schedule="one-cycle", largest_gradient=1.0, patience=16, stop_on="range-eer"
    ),
)
BASELINE = Config(
    "baseline",
    FrontEnd("spectral", layers=0),
    Network("logistic", frames=384, halve_width=False, utterance_dropout=0.0, share_utterance_head=False),
    Training(epochs=12, learning_rate=1e-2, halve_every=4, patience=4, stop_on="range-eer"),
)
SINGLES = tuple(
    replace(PAPER, name=f"paper-single-{one.removesuffix('ms')}", network=replace(PAPER.network, branches=(one,)))
    for one in BRANCHES
)
PRESETS: dict[str, Config] = {one.name: one for one in (PAPER, *SINGLES, SMALL, SMALL_MULTI, SMALL_2025, BASELINE)}


def preset(name: str) -> Config:
    """A configuration by its name.

    Parameters
    ----------
    name : str
        ``paper-multi``, ``paper-single-20`` to ``paper-single-640``, ``paper-single-utterance``, ``small-cpu``,
        ``small-cpu-multi``, ``small-cpu-2025`` or ``baseline``.

    Returns
    -------
    Config
        The whole configuration; :meth:`Config.changed` changes some of its values.

    Raises
    ------
    UsageError
        If no preset has that name.

    Examples
    --------
    >>> preset("paper-single-160").network.branches
    ('160ms',)
    >>> preset("small-cpu").changed({"training": {"seed": 10}}).training.seed
    10
    >>> preset("small")
    Traceback (most recent call last):
    spoofspan.base.errors.UsageError: no preset is called 'small': did you mean 'small-cpu'? (valid: baseline, ...

    """
    if name not in PRESETS:
        raise UsageError(f"no preset is called {name!r}: {nearest_name(name, PRESETS)}")
    return PRESETS[name]

"""Scoring: recordings of any length and rate -> scores of every resolution, with exact times.

What is longer than the network allows is scored in windows that overlap; of each, the scores near an inner edge are
left to the neighbour, who sees more around them::

    sound     |-----------------------------------------|
    windows   |-----------------|
                         |------------------|
                                       |----------------|
    kept      |--------------|----------|---------------|

Windows begin where a window of every resolution begins, so that score k of a resolution r is the one of the time
[k r, (k + 1) r). Memory does not grow with the length of a recording, but for its scores.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from spoofspan.base.columns import offsets_of
from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.extras import require
from spoofspan.base.locks import own_folder
from spoofspan.base.progress import progress
from spoofspan.cm.card import NO_CARD, Card, read_card
from spoofspan.cm.frame_times import (
    COARSEST,
    HOP,
    SEGMENT_BRANCHES,
    UTTERANCE,
    finest,
    resolution,
    samples_of,
    scale_of,
)
from spoofspan.cm.model_sources import ModelSource, model_at
from spoofspan.cm.scorers import JOINT_DETECTOR, Float32, JointDetector, Scorer, Window, load_scorer
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.formats.arrays import partialspoof_scores
from spoofspan.formats.sound import RATE, SUFFIXES, Samples, Sound, check_channel, check_truncated, sounds_in
from spoofspan.formats.sources import sources
from spoofspan.formats.tables import parquet
from spoofspan.formats.text.utterance_scores import write_asvspoof5
from spoofspan.formats.writing import check_target, write_atomically

CONTEXT = COARSEST  # frames that a window sees beyond what is kept of it
AT_ONCE = 8  # windows in a batch
WRITERS: dict[str, Callable[[Any], Iterable[bytes]]] = {
    ".parquet": parquet.write_scores,
    ".pkl": partialspoof_scores.write,
    ".tsv": write_asvspoof5,
}
PER_SECOND = 100  # units in the names of the official score files
LLR = "llr_"  # how files of log-likelihood ratios begin
LISTS = (".lst", ".txt", ".scp", ".list")
STDIN = "stdin"  # the id of sound that comes by standard input
# how sound files begin; anything else on standard input is a list
BEGINNINGS = (b"RIFF", b"RF64", b"fLaC", b"OggS", b"ID3", b"FORM", b".snd", b"\xff\xfb", b"\xff\xf3", b"riff", b"caff")


@dataclass(frozen=True)
class ScoredSound:
    """Files that were written."""

    files: dict[str, Path]  # by branch
    recordings: int
    seconds: float  # of sound
    took: float  # seconds

    @property
    def speed(self) -> float:
        """Speed relative to real time."""
        return self.seconds / self.took if self.took else float("inf")


def score(
    checkpoint: str | Path,
    audio: str | Path | Sequence[str | Path] | Mapping[str, Sound],
    out: str | Path,
    *,
    channel: str | None = None,
    truncated: str = "error",
    device: str | None = None,
    official: str | None = None,
    force: bool = False,
    allow_code: bool = False,
) -> ScoredSound:
    """Score recordings with a checkpoint into files in a folder: one for each resolution, and one for whole utterances.

    Of a model with a card, also log-likelihood ratios: each branch's own, and those of all branches of windows fused.

    Parameters
    ----------
    checkpoint : str or Path
        A model as :func:`spoofspan.locate` takes it, or ``"joint-detector"``, which needs no training.
    audio : str, Path, a sequence of them, or a mapping
        Sound files, folders or lists, as :func:`find_recordings` takes them; or recordings by id.
    out : str or Path
        The folder of the scores, which is made where it is not there.
    channel : str, optional
        Of sound with several channels: ``"mix"``, or a number from 0 on.
    truncated : str
        Files with fewer samples than their header states: ``"error"``, or ``"use"`` what is there, with a warning.
    device : str, optional
        ``cpu``, ``cuda`` or ``cuda:0``; without it, a GPU if there is one.
    official : str, optional
        The name of a set: scores are also written as the pickles of the published code, ``{set}_score_ali_2.pkl``, ....
    force : bool
        Replace files that are there.
    allow_code : bool
        Permit the model to import and run the code that its configuration names (``module:Class``).

    Returns
    -------
    ScoredSound
        The files by branch, how many recordings there were, and how long they last.

    Examples
    --------
    >>> done = score("checkpoint", "recordings", "scores")  # doctest: +SKIP
    >>> done.files["20ms"]  # doctest: +SKIP
    PosixPath('scores/scores_20ms.parquet')

    """
    sounds = dict(audio) if isinstance(audio, Mapping) else find_recordings(audio, channel=channel, truncated=truncated)
    scorer: Scorer = JointDetector()
    card = NO_CARD
    if str(checkpoint) != JOINT_DETECTOR:
        scorer, card, _ = load_model(checkpoint, device, allow_code=allow_code)
    folder = Path(out).expanduser()
    files = _targets(folder, scorer.branches, official, card.calibrations)
    with own_folder(folder):  # the files of two runs would not fit each other
        for path in files.values():
            check_target(path, force)
        began = time.monotonic()
        made, seconds = score_sounds(scorer, sounds, str(checkpoint))
        made |= {f"{LLR}{name}": one for name, one in card.ratios(made).items()}
        _write(files, made, force)
    return ScoredSound(files, len(sounds), seconds, time.monotonic() - began)


def load_model(
    model: str | Path | None, device: str | None = None, checksum: str | None = None, *, allow_code: bool = False
) -> tuple[Scorer, Card, ModelSource]:
    """Scorer, card (:data:`NO_CARD` if the model has none that fits), and source of a model."""
    require("torch", "safetensors")
    with model_at(model, checksum) as source:
        card = read_card(source.folder, source.checksum) or NO_CARD
        scorer = load_scorer(source.folder, device, allow_code=allow_code)
        card.check_branches(scorer.branches, source.name)
        return scorer, card, source


def score_sounds(
    scorer: Scorer, sounds: Mapping[str, Sound], name: str = "the model"
) -> tuple[dict[str, Scores | UtteranceScores], float]:
    """Score recordings; returns the scores of each branch, and how many seconds of sound there were.

    ``name`` is that of the model, for messages.
    """
    parts: list[dict[str, list[Float32]]] = [{name: [] for name in scorer.branches} for _ in sounds]
    samples = 0
    with progress("scoring", total=len(sounds), unit="recordings") as advance:
        waiting: list[Window] = []
        for recording, sound in enumerate(sounds.values()):
            for window, end in windows_of(recording, sound.blocks(), scorer.longest):
                waiting.append(window)
                if len(waiting) == AT_ONCE:
                    _collect(scorer, waiting, parts)
                    waiting = []
                if window.last is None:  # the recording ends
                    samples += end
                    advance(1)
        if waiting:
            _collect(scorer, waiting, parts)
    return {one: _together(scorer, one, list(sounds), parts, name) for one in scorer.branches}, samples / RATE


def finest_branch(scores: Mapping[str, Scores | UtteranceScores]) -> Scores | None:
    """The scores of the shortest windows."""
    found = scores.get(finest(scores) or "")
    return found if isinstance(found, Scores) else None


def windows_of(recording: int, blocks: Iterable[Samples], longest: int) -> Iterator[tuple[Window, int]]:
    """Cut sound that comes in blocks into windows of at most so many frames; also says up to which sample.

    >>> sound = [np.zeros(samples_of(150), np.float32)]
    >>> [(one.first, one.last, end // 320) for one, end in windows_of(0, sound, 96)]
    [(0, 64, 96), (32, 64, 128), (32, None, 150)]
    """
    start = kept = 0  # frames; what waits begins at the start
    waiting = np.zeros(0, np.float32)
    for block in blocks:
        waiting = np.concatenate((waiting, block))
        while waiting.size >= samples_of(longest + 1):
            window = Window(recording, waiting[: samples_of(longest)].copy(), kept - start, longest - CONTEXT)
            yield window, start * HOP + samples_of(longest)
            kept = start + longest - CONTEXT
            waiting = waiting[(kept - CONTEXT - start) * HOP :]
            start = kept - CONTEXT
    yield Window(recording, waiting, kept - start, None), start * HOP + waiting.size


def _collect(scorer: Scorer, windows: list[Window], parts: list[dict[str, list[Float32]]]) -> None:
    for window, found in zip(windows, scorer.score(windows), strict=True):
        for name, values in found.items():
            parts[window.recording][name].append(values)


def _together(
    scorer: Scorer, name: str, ids: list[str], parts: list[dict[str, list[Float32]]], model: str
) -> Scores | UtteranceScores:
    whole = name == UTTERANCE
    values = [np.array([scorer.whole(one[name])]) if whole else np.concatenate(one[name]) for one in parts]
    for recording, own in zip(ids, values, strict=True):
        if np.isnan(own).any():
            raise DataError(
                f"{model}: scores of the {name} branch are no numbers, as those of {recording!r}; its weights are "
                "damaged: get the model again"
            )
    if whole:
        return UtteranceScores(tuple(ids), np.concatenate(values), "bonafide")
    offsets, hop = offsets_of([one.size for one in values]), resolution(scale_of(name))
    return Scores.from_columns(ids, offsets, np.concatenate(values), hop=hop, higher="bonafide")


# ---------------------------------------------------------------- recordings


def find_recordings(
    words: str | Path | Sequence[str | Path], *, channel: str | None = None, truncated: str = "error"
) -> dict[str, Sound]:
    """All recordings that these words mean, by their ids.

    A word is a sound file (its id is the name without its ending), a folder (all sound files in it), a list
    (``.lst``, ``.txt``, ``.scp``: a path, or an id and a path, in each line), ``-`` or a pipe: a sound file or a list
    by standard input or ``<(ls *.wav)``.
    """
    check_channel(channel)
    check_truncated(truncated)
    found: dict[str, Sound] = {}
    for word in [words] if isinstance(words, str | Path) else words:
        meant = _meant(word, channel)
        if not meant:  # refused word by word, or a folder of other files would be passed over
            where = "standard input" if str(word) == "-" else repr(str(word))
            endings = ", ".join(SUFFIXES)
            raise UsageError(f"there is no sound file in {where} ({endings}); name a file, a folder or a list")
        for name, sound in meant.items():
            if name in found:
                both = f"{sound.name} and {found[name].name} would both be utterance {name!r}"
                raise DataError(f"{both}; {_remedy(sound, found[name])}")
            found[name] = replace(sound, truncated=truncated)
    if not found:
        raise UsageError("there is no sound file to score; name a file, a folder or a list")
    return found


def _remedy(one: Sound, other: Sound) -> str:
    """Remedy about two recordings of one name."""
    same = isinstance(one.where, Path) and isinstance(other.where, Path) and one.where.samefile(other.where)
    return "name it once" if same else "rename one, or give ids in a list (each line: an id and a path)"


def sounds_of_dataset(spec: str, *, channel: str | None = None, truncated: str = "error") -> dict[str, Sound]:
    """All recordings of a set of a database, ``partialspoof:FOLDER:SET``."""
    from spoofspan.cm.batches import Corpus

    corpus = Corpus.from_dataset(spec, channel=check_channel(channel), truncated=check_truncated(truncated))
    return dict(zip(corpus.references.utterances, corpus.sounds, strict=True))


def _meant(word: str | Path, channel: str | None) -> dict[str, Sound]:
    if str(word) == "-":
        return _piped(sys.stdin.buffer.read(), STDIN, channel)
    path = Path(word).expanduser()
    if path.is_dir():
        return sounds_in(path, channel)
    if not path.exists():
        raise UsageError(f"there is no file or folder {str(word)!r}")
    if not path.is_file():
        return _piped(path.read_bytes(), str(word), channel)
    if path.suffix.lower() in LISTS:
        return _listed(sources(path)[0].text(), str(path), path.parent, channel)
    return {path.stem: Sound(path, str(path), channel)}


def _piped(content: bytes, source: str, channel: str | None) -> dict[str, Sound]:
    """Content of a pipe: the sound of one recording, or a list."""
    if content.startswith(BEGINNINGS):
        return {Path(source).name: Sound(content, source, channel)}
    return _listed(content, source, Path(), channel)


def _listed(content: bytes, source: str, folder: Path, channel: str | None) -> dict[str, Sound]:
    """The recordings of a list; paths may start at the folder of the list."""
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise DataError(f"{source}: neither sound ({', '.join(SUFFIXES)}) nor a list of sound files") from None
    found: dict[str, Sound] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        name, path = _entry(line.strip(), folder)
        if path is None:
            raise DataError(f"{source}:{number}: there is no sound file {line.strip()!r}; correct the list")
        if name in found:
            raise DataError(f"{source}:{number}: utterance {name!r} is listed a second time; give it another id")
        found[name] = Sound(path, str(path), channel)
    return found


def _entry(line: str, folder: Path) -> tuple[str, Path | None]:
    """A path, or an id and a path."""
    if path := _place(line, folder):
        return path.stem, path
    name, *rest = line.split(maxsplit=1)
    return name, _place(rest[0], folder) if rest else None


def _place(text: str, folder: Path) -> Path | None:
    path = Path(text).expanduser()
    return next((one for one in (path, folder / path) if one.is_file()), None)


# ---------------------------------------------------------------- files


def _targets(folder: Path, branches: Iterable[str], official: str | None, calibrated: Iterable[str]) -> dict[str, Path]:
    files = {}
    for name in branches:
        files[name] = folder / (f"scores_{name}.parquet" if name in SEGMENT_BRANCHES else f"scores_{name}.tsv")
        if official is not None and name in SEGMENT_BRANCHES:
            units = round(resolution(scale_of(name)) * PER_SECOND)
            files[f"{name}, official"] = folder / f"{official}_score_ali_{units}.pkl"
    for name in calibrated:
        files[f"{LLR}{name}"] = folder / f"{LLR}{name}{'.tsv' if name == UTTERANCE else '.parquet'}"
    if official is not None and not official.replace("-", "").replace("_", "").isalnum():
        raise UsageError(f"{official!r} is no name of a set, such as dev or eval")
    return files


def _write(files: dict[str, Path], made: Mapping[str, Any], force: bool) -> None:
    for what, path in files.items():
        write_atomically(path, WRITERS[path.suffix](made[what.partition(",")[0]]), force)

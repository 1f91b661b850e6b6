"""The sound of utterances, linked from a page or put into it, and drawn as a waveform."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from spoofspan.base.errors import SpoofspanError, UsageError
from spoofspan.base.lazy import LazyMapping
from spoofspan.base.times import Float64
from spoofspan.formats.sound import RATE, Sound, read_wave
from spoofspan.report.figures.utterance_data import outline

TYPES = {".wav": "audio/wav", ".flac": "audio/flac", ".mp3": "audio/mpeg", ".ogg": "audio/ogg", ".m4a": "audio/mp4"}
PEAKS_PER_SECOND, FEWEST_PEAKS, MOST_PEAKS = 100, 300, 3000  # columns of a waveform


def addresses(folder: Path, utterances: Iterable[str], page: Path, *, embed: bool) -> Mapping[str, str]:
    """Address of the sound of each utterance that has a file."""
    paths = sound_files(folder, utterances)
    if embed:  # a file is read when it is asked for, since few utterances are shown
        return LazyMapping(paths, lambda utt: _embedded(paths[utt]))
    start = page.expanduser().resolve().parent
    return {utt: quote(os.path.relpath(path.resolve(), start).replace(os.sep, "/")) for utt, path in paths.items()}


def waveforms(folder: Path, utterances: Iterable[str]) -> Mapping[str, dict[str, Any] | None]:
    """The sound of each utterance that has a file as a picture: read when it is asked for."""
    paths = sound_files(folder, utterances)
    return LazyMapping(paths, lambda utt: waveform(paths[utt]))


def sound_files(folder: Path, utterances: Iterable[str]) -> dict[str, Path]:
    """The sound files in a folder that are named after utterances."""
    folder = folder.expanduser()
    if not folder.is_dir():
        raise UsageError(f"--audio {folder}: not a folder")
    by_name = {path.stem: path for path in sorted(folder.rglob("*")) if path.suffix.lower() in TYPES}
    paths = {utt: by_name[utt] for utt in utterances if utt in by_name}
    if not paths:
        raise UsageError(
            f"--audio {folder}: no file is named after an utterance (as {next(iter(utterances), 'ID')}.wav)"
        )
    return paths


def waveform(path: Path) -> dict[str, Any] | None:
    """The lowest and the highest sample of each column of a picture, the loudest being 127; None if it cannot be read.

    Returns
    -------
    dict or None
        ``seconds``, and ``peaks``: bytes in base64, low and high in turn.

    """
    try:
        samples, rate = read_wave(path) if path.suffix.lower() == ".wav" else (Sound(path, str(path)).read(), RATE)
    except SpoofspanError:  # of a kind that needs a package which is not there; the browser may play it all the same
        return None
    return waveform_of(np.asarray(samples, np.float64), float(rate))


def waveform_of(samples: Float64, rate: float) -> dict[str, Any] | None:
    """The waveform of samples, as :func:`waveform` returns it."""
    if not samples.size:
        return None
    seconds = samples.size / rate
    _, lowest, highest = outline(samples, min(max(int(PEAKS_PER_SECOND * seconds), FEWEST_PEAKS), MOST_PEAKS))
    loudest = max(float(np.abs(samples).max()), 1e-9)
    peaks = np.rint(127 * np.column_stack((lowest, highest)) / loudest).astype(np.int8)
    return {"seconds": seconds, "peaks": base64.b64encode(peaks.tobytes()).decode("ascii")}


def _embedded(path: Path) -> str:
    """An address that holds the sound itself."""
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return f"data:{TYPES[path.suffix.lower()]};base64,{data}"

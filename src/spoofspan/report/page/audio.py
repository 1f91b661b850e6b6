"""The sound of utterances, linked from a page or put into it."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

from spoofspan.base.errors import UsageError
from spoofspan.formats.datasets.systems import LazyMapping

TYPES = {".wav": "audio/wav", ".flac": "audio/flac", ".mp3": "audio/mpeg", ".ogg": "audio/ogg", ".m4a": "audio/mp4"}


def addresses(folder: Path, utterances: Iterable[str], page: Path, *, embed: bool) -> Mapping[str, str]:
    """Where the page finds the sound of each utterance that has a file."""
    folder = folder.expanduser()
    if not folder.is_dir():
        raise UsageError(f"--audio {folder}: not a folder")
    by_name = {path.stem: path for path in sorted(folder.rglob("*")) if path.suffix.lower() in TYPES}
    paths = {utt: by_name[utt] for utt in utterances if utt in by_name}
    if not paths:
        raise UsageError(
            f"--audio {folder}: no file is named after an utterance (as {next(iter(utterances), 'ID')}.wav)"
        )
    if embed:  # a file is read when it is asked for, since few utterances are shown
        return LazyMapping(paths, lambda utt: _embedded(paths[utt]))
    start = page.expanduser().resolve().parent
    return {utt: quote(os.path.relpath(path.resolve(), start).replace(os.sep, "/")) for utt, path in paths.items()}


def _embedded(path: Path) -> str:
    """An address that holds the sound itself."""
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return f"data:{TYPES[path.suffix.lower()]};base64,{data}"

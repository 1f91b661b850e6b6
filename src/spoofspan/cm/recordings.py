"""Recordings to score: a file, a folder, a list, a set of a database, or what comes by standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from spoofspan.base.errors import DataError, UsageError
from spoofspan.formats.sound import SUFFIXES, Sound, check_channel, sounds_in

LISTS = (".lst", ".txt", ".scp", ".list")
STDIN = "stdin"  # the id of sound that comes by standard input
# how sound files begin; anything else on standard input is a list
BEGINNINGS = (b"RIFF", b"RF64", b"fLaC", b"OggS", b"ID3", b"FORM", b".snd", b"\xff\xfb", b"\xff\xf3", b"riff", b"caff")


def find_recordings(words: str | Path | Sequence[str | Path], *, channel: str | None = None) -> dict[str, Sound]:
    """All recordings that these words mean, by their ids.

    A word is a sound file (its id is the name without its ending), a folder (all sound files in it), a list
    (``.lst``, ``.txt``, ``.scp``: a path, or an id and a path, in each line) or ``-``: a sound file or a list by
    standard input.
    """
    check_channel(channel)
    found: dict[str, Sound] = {}
    for word in [words] if isinstance(words, str | Path) else words:
        for name, sound in _meant(word, channel).items():
            if name in found:
                raise DataError(f"{sound.name} and {found[name].name} would both be utterance {name!r}; rename one")
            found[name] = sound
    if not found:
        raise UsageError("there is no sound file to score; name a file, a folder or a list")
    return found


def sounds_of_dataset(spec: str, *, channel: str | None = None) -> dict[str, Sound]:
    """All recordings of a set of a database, ``partialspoof:FOLDER:SET``."""
    from spoofspan.cm.batches import Corpus

    corpus = Corpus.from_dataset(spec, channel=check_channel(channel))
    return dict(zip(corpus.references.utterances, corpus.sounds, strict=True))


def sound_folder(data: Path, subset: str) -> Path | None:
    """The folder with the sound of a set, SET/con_wav, where the layout is that of PartialSpoof; None without one."""
    places = (folder / subset / "con_wav" for folder in (data, data / "database"))
    return next((place for place in places if place.is_dir()), None)


def _meant(word: str | Path, channel: str | None) -> dict[str, Sound]:
    if str(word) == "-":
        content = sys.stdin.buffer.read()
        if content.startswith(BEGINNINGS):
            return {STDIN: Sound(content, STDIN, channel)}
        return _listed(content, STDIN, Path(), channel)
    path = Path(word).expanduser()
    if path.is_dir():
        return sounds_in(path, channel)
    if not path.is_file():
        raise UsageError(f"there is no file or folder {str(word)!r}")
    if path.suffix.lower() in LISTS:
        return _listed(path.read_bytes(), str(path), path.parent, channel)
    return {path.stem: Sound(path, str(path), channel)}


def _listed(content: bytes, source: str, folder: Path, channel: str | None) -> dict[str, Sound]:
    """The recordings of a list; paths may start at the folder of the list."""
    try:
        lines = content.decode().splitlines()
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
    for path in _places(line, folder):
        return path.stem, path
    name, _, rest = line.partition(" ")
    return name, next(iter(_places(rest.strip(), folder)), None) if rest.strip() else None


def _places(text: str, folder: Path) -> Iterable[Path]:
    path = Path(text).expanduser()
    return [one for one in (path, folder / path) if one.is_file()][:1]

"""Where recordings come from: a folder of speech, or a CSV file that lists it.

::

    FOLDER/bonafide/SPEAKER/*.wav          real speech; folders below SPEAKER are looked into as well
    FOLDER/ATTACK/SPEAKER/*.wav            spoofed speech of the same speakers, one folder per attack

    list.csv: path,speaker,attack[,set]    attack empty, - or bonafide for real speech; set train, dev or eval;
                                           paths are relative to the list

An attack is called A01, A02, ... (a letter, then digits), since that is what RTTM files can hold. Folders with other
names get such a name, in alphabetical order; corpus.json says which is which.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from spoofspan.base.errors import DataError, Problems, UsageError, refuse
from spoofspan.corpus.settings import SETS
from spoofspan.data.references import SPOOF
from spoofspan.formats.sources import sources
from spoofspan.formats.text.rows import label_and_kind

BONA_FIDE = "bonafide"
NO_ATTACK = ("", "-", BONA_FIDE)
SUFFIXES = (".wav", ".flac", ".ogg", ".opus", ".mp3", ".aiff", ".aif")
COLUMNS = ("path", "speaker", "attack")


@dataclass(frozen=True)
class Recording:
    """One sound file of one speaker."""

    name: str  # its path below the folder, with slashes
    path: Path
    speaker: str
    attack: str | None  # None: bona fide
    subset: str | None = None  # train, dev or eval, where a list says it
    truncated: str = "error"  # or "use": what is there of a file with fewer samples than its header states


@dataclass(frozen=True)
class Recordings:
    """All recordings, in the order of their names, and what the attacks are called where they come from."""

    items: tuple[Recording, ...]
    attacks: dict[str, str]  # A01 -> name in the source


def find_recordings(source: Path, truncated: str = "error") -> Recordings:
    """Find the recordings of a folder or of a list."""
    if source.is_dir():
        found = list(_in_folder(source))
    elif source.is_file():
        found = list(_in_list(source))
    else:
        raise UsageError(f"there is no {str(source)!r}; give a folder of speech or a CSV file")
    if not found:
        places = f"{BONA_FIDE}/SPEAKER/*.wav and ATTACK/SPEAKER/*.wav"
        raise DataError(f"{source}: there are no recordings; they are looked for in {places}")
    for needed, spoofed in (("bona fide", False), ("spoofed", True)):
        if not any((one.attack is not None) == spoofed for one in found):
            raise DataError(f"{source}: there are no {needed} recordings; a partially spoofed corpus needs both")
    return _named([replace(one, truncated=truncated) for one in found])


def _in_folder(folder: Path) -> Iterable[Recording]:
    for kind in _folders(folder):
        for speaker in _folders(kind):
            for at, _, files in os.walk(speaker):
                for file in files:
                    path = Path(at) / file
                    if path.suffix.lower() in SUFFIXES and not file.startswith("."):
                        attack = None if kind.name == BONA_FIDE else kind.name
                        yield Recording(path.relative_to(folder).as_posix(), path, speaker.name, attack)


def _folders(folder: Path) -> list[Path]:
    return sorted(one for one in folder.iterdir() if one.is_dir() and not one.name.startswith("."))


def _in_list(path: Path) -> Iterable[Recording]:
    problems = Problems()
    found: dict[str, Recording] = {}
    try:
        text = sources(path)[0].text().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{path}: not UTF-8 text; convert it") from None
    rows = csv.DictReader(io.StringIO(text, newline=""))
    try:
        missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
        if missing:
            raise DataError(f"{path}: no column {', '.join(missing)}; the first line must be path,speaker,attack[,set]")
        for row in rows:
            place = f"{path}:{rows.line_num}"
            name, speaker, attack, subset = ((row.get(column) or "").strip() for column in (*COLUMNS, "set"))
            if not name or not speaker:
                problems.add(f"{place}: path and speaker must be given")
            elif subset and subset not in SETS:
                problems.add(f"{place}: the set must be {', '.join(SETS)} or empty, not {subset!r}")
            elif name in found:
                problems.add(f"{place}: {name!r} is listed a second time")
            elif not (path.parent / name).is_file():
                problems.add(f"{place}: there is no file {str(path.parent / name)!r}")
            else:
                kind = None if attack in NO_ATTACK else attack
                found[name] = Recording(Path(name).as_posix(), path.parent / name, speaker, kind, subset or None)
    except csv.Error as error:
        raise DataError(f"{path}:{rows.line_num + 1}: cannot be read as CSV ({error}); correct the list") from None
    sets: dict[str, str | None] = {}
    for one in found.values():
        if sets.setdefault(one.speaker, one.subset) != one.subset:
            problems.add(f"{path}: speaker {one.speaker!r} is in two sets")
    problems.raise_if_any("correct the list")
    return found.values()


def _named(found: list[Recording]) -> Recordings:
    """Give attacks names that RTTM can hold, and check those of speakers."""
    spaced = [speaker for speaker in sorted({one.speaker for one in found}) if speaker.split() != [speaker]]
    refuse(spaced, lambda speaker: f"speaker {speaker!r}: protocols cannot hold white space", "rename the folders")
    names = sorted({one.attack for one in found if one.attack is not None})
    plain = all(label_and_kind(name) == (SPOOF, name) for name in names)
    ids = {name: name if plain else f"A{number:02d}" for number, name in enumerate(names, 1)}
    items = (one if one.attack is None else replace(one, attack=ids[one.attack]) for one in found)
    return Recordings(tuple(sorted(items, key=lambda one: one.name)), {new: name for name, new in ids.items()})

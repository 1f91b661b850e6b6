"""Source of recordings: a folder of speech, or a CSV file that lists it.

::

    FOLDER/bonafide/SPEAKER/*.wav          real speech; folders below SPEAKER are looked into as well
    FOLDER/ATTACK/SPEAKER/*.wav            spoofed speech of the same speakers, one folder per attack

    list.csv: path,speaker,attack[,set]    attack empty, - or bonafide for real speech; set train, dev or eval;
                                           paths are relative to the list

or a public corpus (``public_corpora.py``). A selection takes some speakers or files of it, or a few of each speaker.

An attack is called A01, A02, ... (a letter, then digits), since that is what RTTM files can hold. Folders with other
names get the first such names that are free, in alphabetical order; corpus.json says which is which.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import numpy as np

from spoofspan.base.errors import DataError, Problems, UsageError, refuse
from spoofspan.base.times import Float64
from spoofspan.corpus.public_corpora import SUFFIXES, public_recordings
from spoofspan.corpus.settings import SETS
from spoofspan.data.references import SPOOF
from spoofspan.formats.sound import read_sound
from spoofspan.formats.sound_channel import OPEN, Channel
from spoofspan.formats.sources import sources
from spoofspan.formats.text.rows import label_and_attack

BONA_FIDE = "bonafide"
NO_ATTACK = ("", "-", BONA_FIDE)
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
    channel: Channel = OPEN

    def sound(self) -> Float64:
        """Its samples, through the band of the channel."""
        return self.channel.filtered(read_sound(self.path, self.truncated))


@dataclass(frozen=True)
class Recordings:
    """All recordings, in the order of their names, and what the attacks are called where they come from."""

    items: tuple[Recording, ...]
    attacks: dict[str, str]  # A01 -> name in the source


@dataclass(frozen=True)
class Selection:
    """A choice of the recordings of a source.

    Parameters
    ----------
    only : Path, optional
        A text file with a speaker or a file in each line, by its path below the source or by its name without ending.
    per_speaker : int, optional
        At most so many of each speaker and attack, drawn at random.
    seed : int
        Of the draw.

    """

    only: Path | None = None
    per_speaker: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse less than one recording."""
        if self.per_speaker is not None and self.per_speaker < 1:
            raise UsageError(f"per_speaker={self.per_speaker}: must be at least 1 (--recordings-per-speaker)")

    def names(self) -> dict[str, int] | None:
        """The entries of the list, each with its line."""
        if self.only is None:
            return None
        text = sources(self.only)[0].text().decode("utf-8-sig")
        lines = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
        return {line: number for number, line in lines if line and not line.startswith("#")}

    def of(self, found: Sequence[Recording]) -> list[Recording]:
        """Those that are taken."""
        taken, names = list(found), self.names()
        if names is not None:
            taken = [one for one in found if not names.keys().isdisjoint(_names_of(one))]
            known = {name for one in taken for name in _names_of(one)}
            refuse(
                [name for name in names if name not in known],
                lambda name: f"{self.only}:{names[name]}: the source has no speaker and no file {name!r}",
                "correct the list",
            )
        if self.per_speaker is None:
            return taken
        groups: dict[tuple[str, str], list[Recording]] = {}
        for one in sorted(taken, key=lambda one: one.name):
            groups.setdefault((one.speaker, one.attack or ""), []).append(one)
        drawn = []
        for (speaker, attack), own in groups.items():
            rng = np.random.default_rng([self.seed, *f"{speaker}/{attack}".encode()])
            drawn += [own[row] for row in sorted(rng.permutation(len(own))[: self.per_speaker].tolist())]
        return sorted(drawn, key=lambda one: one.name)


def _names_of(one: Recording) -> tuple[str, ...]:
    return one.speaker, one.name, one.path.stem, one.path.name


def recordings_in(
    source: Path, truncated: str = "error", channel: Channel = OPEN, selection: Selection | None = None
) -> list[Recording]:
    """The recordings of a folder or of a list, with attacks as they are called there."""
    selection = selection or Selection()
    if source.is_dir():
        found = list(_in_folder(source, selection))
    elif source.is_file():
        found = list(_in_list(source))
    else:
        raise UsageError(f"there is no {str(source)!r}; give a folder of speech or a CSV file")
    if not found:
        places = f"{BONA_FIDE}/SPEAKER/*.wav and ATTACK/SPEAKER/*.wav, or as VCTK, LibriTTS and ASVspoof have them"
        raise DataError(f"{source}: there are no recordings; they are looked for in {places}")
    spaced = [speaker for speaker in sorted({one.speaker for one in found}) if speaker.split() != [speaker]]
    refuse(spaced, lambda speaker: f"speaker {speaker!r}: protocols cannot hold white space", "rename the folders")
    taken = selection.of(found)
    if source.is_dir() and {one.subset for one in taken} != {*SETS}:  # sets that are not all there mean nothing
        taken = [replace(one, subset=None) for one in taken]
    return [replace(one, truncated=truncated, channel=channel) for one in taken]


def attacks_of(found: Iterable[Recording]) -> set[str]:
    """The attacks of some recordings."""
    return {one.attack for one in found if one.attack is not None}


def attack_ids(names: Iterable[str]) -> dict[str, str]:
    """Names of attacks in a corpus: as before if RTTM can hold it, else by the first numbers that are free.

    >>> attack_ids(["lpc", "A01", "griffin-lim"])
    {'A01': 'A01', 'griffin-lim': 'A02', 'lpc': 'A03'}
    """
    ordered = sorted(names)
    plain = {name for name in ordered if label_and_attack(name) == (SPOOF, name)}
    free = (number for number in (f"A{place:02d}" for place in count(1)) if number not in plain)
    return {name: name if name in plain else next(free) for name in ordered}


def named_recordings(found: Sequence[Recording], ids: Mapping[str, str]) -> Recordings:
    """All recordings of a source with the attacks' names in the corpus; both classes must be there."""
    remedies = {
        "bona fide": f"put them into {BONA_FIDE}/SPEAKER",
        "spoofed": "put them into ATTACK/SPEAKER, or make some of the bona fide ones (--attack builtin:all)",
    }
    for needed, spoofed in (("bona fide", False), ("spoofed", True)):
        if not any((one.attack is not None) == spoofed for one in found):
            raise DataError(f"there are no {needed} recordings; a corpus needs both classes: {remedies[needed]}")
    items = (one if one.attack is None else replace(one, attack=ids[one.attack]) for one in found)
    return Recordings(tuple(sorted(items, key=lambda one: one.name)), {new: name for name, new in ids.items()})


def _in_folder(folder: Path, selection: Selection) -> Iterable[Recording]:
    public = None if (folder / BONA_FIDE).is_dir() else public_recordings(folder, selection.names())
    if public is not None:
        for one in public:
            yield Recording(one.path.relative_to(folder).as_posix(), one.path, one.speaker, one.attack, one.subset)
        return
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
                found[name] = Recording(_relative(path, name), path.parent / name, speaker, kind, subset or None)
    except csv.Error as error:
        raise DataError(f"{path}:{rows.line_num + 1}: cannot be read as CSV ({error}); correct the list") from None
    sets: dict[str, str | None] = {}
    for one in found.values():
        if sets.setdefault(one.speaker, one.subset) != one.subset:
            problems.add(f"{path}: speaker {one.speaker!r} is in two sets")
    problems.raise_if_any("correct the list")
    return found.values()


def _relative(path: Path, name: str) -> str:
    """The name of a listed file: its path from the list on, so that a corpus does not tell whose disk it was on."""
    if not Path(name).is_absolute():
        return Path(name).as_posix()
    try:
        return Path(os.path.relpath(name, path.resolve().parent)).as_posix()
    except ValueError:  # on another drive of Windows
        return Path(name).relative_to(Path(name).anchor).as_posix()

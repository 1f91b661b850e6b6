"""Source of recordings: a folder of speech, or a CSV file that lists it.

::

    FOLDER/bonafide/SPEAKER/*.wav          real speech; folders below SPEAKER are looked into as well
    FOLDER/ATTACK/SPEAKER/*.wav            spoofed speech of the same speakers, one folder per attack

    list.csv: path,speaker,attack[,set]    attack empty, - or bonafide for real speech; set train, dev or eval;
                                           paths are relative to the list

or a public corpus, recognised by its folders::

    VCTK            wav48_silence_trimmed/SPEAKER/SPEAKER_NNN_mic1.flac, or wav48/SPEAKER/*.wav
    LibriTTS        train-clean-100/SPEAKER/CHAPTER/*.wav, dev-clean, test-other, ...; LibriSpeech too
    ASVspoof 2019   ASVspoof2019_LA_train/flac/*.flac (dev, eval), ASVspoof2019_LA_cm_protocols/*
    ASVspoof 5      flac_T/*.flac (flac_D, flac_E_eval), ASVspoof5.train.tsv (dev.track_1, eval.track_1)

VCTK and LibriTTS are bona fide; ASVspoof has attacks, whose names are kept. Where a corpus has sets of its own, they
are kept if all three are there; else speakers are dealt to the sets as ever. A selection takes some speakers or files
of a source, or a few of each speaker.

An attack is called A01, A02, ... (a letter, then digits), since that is what RTTM files can hold. Folders with other
names get the first such names that are free, in alphabetical order; corpus.json says which is which.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path, PurePosixPath

import numpy as np

from spoofspan.base.errors import DataError, Problems, UsageError, refuse
from spoofspan.base.times import Float64
from spoofspan.corpus.settings import SETS
from spoofspan.data.references import SPOOF
from spoofspan.formats.sound import SUFFIXES, read_sound
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
        lines = ((number, line.strip()) for number, line in sources(self.only)[0].lines())
        return {line: number for number, line in lines if not line.startswith("#")}

    def of(self, found: Sequence[Recording]) -> list[Recording]:
        """The selected recordings."""
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


def _in_folder(folder: Path, selection: Selection) -> list[Recording]:
    found = None if (folder / BONA_FIDE).is_dir() else _public(folder, selection.names())
    if found is None:
        found = [
            Recording("", path, speaker.name, None if kind.name == BONA_FIDE else kind.name)
            for kind in _folders(folder)
            for speaker in _folders(kind)
            for path in _sounds(speaker, "**/*")
        ]
    return [replace(one, name=one.path.relative_to(folder).as_posix()) for one in found]


def _folders(folder: Path) -> list[Path]:
    return sorted(one for one in folder.iterdir() if one.is_dir() and not one.name.startswith("."))


def _sounds(folder: Path, pattern: str) -> list[Path]:
    """The sound files of a folder, in the order of their names: that of a file system differs between machines."""
    found = (one for one in folder.glob(pattern) if one.suffix.lower() in SUFFIXES and not one.name.startswith("."))
    return sorted(found)


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


# ---------------------------------------------------------------- public corpora

LIBRI = re.compile(r"(train|dev|test)-(clean|other)(-\d+)?")
LIBRI_SETS = {"train": "train", "dev": "dev", "test": "eval"}
VCTK = ("wav48_silence_trimmed", "wav48")
# fields of a line (speaker, file, attack, class, how many there are); folder and protocol of each set
ASVSPOOF: tuple[tuple[tuple[int, ...], dict[str, tuple[str, str]]], ...] = (
    (
        (0, 1, 3, 4, 5),
        {
            "train": ("ASVspoof2019_LA_train/flac", "ASVspoof2019.LA.cm.train.trn.txt"),
            "dev": ("ASVspoof2019_LA_dev/flac", "ASVspoof2019.LA.cm.dev.trl.txt"),
            "eval": ("ASVspoof2019_LA_eval/flac", "ASVspoof2019.LA.cm.eval.trl.txt"),
        },
    ),
    (
        (0, 1, 7, 8, 10),
        {
            "train": ("flac_T", "ASVspoof5.train.tsv"),
            "dev": ("flac_D", "ASVspoof5.dev.track_1.tsv"),
            "eval": ("flac_E_eval", "ASVspoof5.eval.track_1.tsv"),
        },
    ),
)


def _public(folder: Path, wanted: Collection[str] | None) -> list[Recording] | None:
    """The recordings of a public corpus, or of one in a folder below, without names; None if there is none.

    ``wanted``: speakers and files that matter; others need not be there.
    """
    if wanted is not None:  # protocols name files without folder and ending
        wanted = {*wanted, *(PurePosixPath(one).name.removesuffix(".flac") for one in wanted)}
    for base in (folder, *sorted(one for one in folder.iterdir() if one.is_dir())):
        for find in (_vctk, _libri, _asvspoof):
            if (found := find(base, wanted)) is not None:
                return found
    return None


def _vctk(base: Path, _: Collection[str] | None) -> list[Recording] | None:
    top = next((base / name for name in VCTK if (base / name).is_dir()), None)
    if top is None:
        return None
    own = (path for path in _sounds(top, "*/*") if not path.stem.endswith("_mic2"))
    return [Recording("", path, path.parent.name, None) for path in own]


def _libri(base: Path, _: Collection[str] | None) -> list[Recording] | None:
    sets = {one: matched[1] for one in sorted(base.iterdir()) if (matched := LIBRI.fullmatch(one.name))}
    found = [
        Recording("", path, path.parts[-3], None, LIBRI_SETS[subset])
        for top, subset in sets.items()
        for path in _sounds(top, "*/*/*")
    ]
    return found or None


def _asvspoof(base: Path, wanted: Collection[str] | None) -> list[Recording] | None:
    """The recordings of the sets whose folders are there, as the protocols say."""
    there = [
        (fields, subset, *place)
        for fields, sets in ASVSPOOF
        for subset, place in sets.items()
        if (base / place[0]).is_dir()
    ]
    if not there:
        return None
    problems, found = Problems(), list[Recording]()
    for fields, subset, sounds, protocol in there:
        path = next((one for one in (base / protocol, *sorted(base.glob(f"*/{protocol}"))) if one.is_file()), None)
        if path is None:
            raise DataError(
                f"{base / sounds}: there is no protocol {protocol} beside it, nor in a folder there; get it as well"
            )
        listed = _of_protocol(path, fields, problems)
        for place, (speaker, name, attack) in listed.items():
            file = base / sounds / f"{name}.flac"
            if wanted is not None and speaker not in wanted and name not in wanted:
                continue
            if file.is_file():
                found.append(Recording("", file, speaker, attack, subset))
            else:
                problems.add(f"{place}: there is no file {str(file)!r}")
    problems.raise_if_any("complete the corpus, or list what to take (--only)")
    return found


def _of_protocol(path: Path, fields: tuple[int, ...], problems: Problems) -> dict[str, tuple[str, str, str | None]]:
    """Speaker, file and attack of each line, by its place."""
    speaker, name, attack, kind, count = fields
    found: dict[str, tuple[str, str, str | None]] = {}
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            words, place = line.split(), f"{path}:{number}"
            if len(words) > kind and words[kind] in ("bonafide", "spoof"):
                found[place] = words[speaker], words[name], None if words[kind] == "bonafide" else words[attack]
            elif words:
                problems.add(f"{place}: no line of this protocol: {line.strip()[:80]!r}; {count} fields were expected")
    return found

"""Public corpora as a source, in the folders that they come in; recognised by these folders.

::

    VCTK            wav48_silence_trimmed/SPEAKER/SPEAKER_NNN_mic1.flac, or wav48/SPEAKER/*.wav
    LibriTTS        train-clean-100/SPEAKER/CHAPTER/*.wav, dev-clean, test-other, ...; LibriSpeech too
    ASVspoof 2019   ASVspoof2019_LA_train/flac/*.flac (dev, eval), ASVspoof2019_LA_cm_protocols/*
    ASVspoof 5      flac_T/*.flac (flac_D, flac_E_eval), ASVspoof5.train.tsv (dev.track_1, eval.track_1)

VCTK and LibriTTS are bona fide; ASVspoof has attacks, whose names are kept. Where a corpus has sets of its own, they
are kept if all three are there; else speakers are dealt to the sets as ever.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from spoofspan.base.errors import DataError, Problems

SUFFIXES = (".wav", ".flac", ".ogg", ".opus", ".mp3", ".aiff", ".aif")
LIBRI = re.compile(r"(train|dev|test)-(clean|other)(-\d+)?")
LIBRI_SETS = {"train": "train", "dev": "dev", "test": "eval"}
VCTK = ("wav48_silence_trimmed", "wav48")
ASVSPOOF_2019 = {  # folder of the set, its protocol
    "train": ("ASVspoof2019_LA_train/flac", "ASVspoof2019.LA.cm.train.trn.txt"),
    "dev": ("ASVspoof2019_LA_dev/flac", "ASVspoof2019.LA.cm.dev.trl.txt"),
    "eval": ("ASVspoof2019_LA_eval/flac", "ASVspoof2019.LA.cm.eval.trl.txt"),
}
ASVSPOOF_5 = {
    "train": ("flac_T", "ASVspoof5.train.tsv"),
    "dev": ("flac_D", "ASVspoof5.dev.track_1.tsv"),
    "eval": ("flac_E_eval", "ASVspoof5.eval.track_1.tsv"),
}
FIELDS_2019 = (0, 1, 3, 4, 5)  # speaker, file, attack, class, how many there are
FIELDS_5 = (0, 1, 7, 8, 10)


@dataclass(frozen=True)
class PublicRecording:
    """One sound file of a public corpus."""

    path: Path
    speaker: str
    attack: str | None  # None: bona fide
    subset: str | None = None


def public_recordings(folder: Path, wanted: Collection[str] | None = None) -> list[PublicRecording] | None:
    """The recordings of a public corpus, or of one in a folder below; None where there is none.

    ``wanted``: speakers and files that matter; others need not be there.
    """
    if wanted is not None:  # protocols name files without folder and ending
        wanted = {*wanted, *(PurePosixPath(one).name.removesuffix(".flac") for one in wanted)}
    for base in (folder, *sorted(one for one in folder.iterdir() if one.is_dir())):
        for find in (_vctk, _libri, _asvspoof_2019, _asvspoof_5):
            found = find(base, wanted)
            if found is not None:
                return found
    return None


def _vctk(base: Path, _: Collection[str] | None) -> list[PublicRecording] | None:
    top = next((base / name for name in VCTK if (base / name).is_dir()), None)
    if top is None:
        return None
    return [
        PublicRecording(path, path.parent.name, None)
        for path in sorted(top.glob("*/*"))
        if path.suffix.lower() in SUFFIXES and not path.stem.endswith("_mic2")
    ]


def _libri(base: Path, _: Collection[str] | None) -> list[PublicRecording] | None:
    sets = {one: LIBRI.fullmatch(one.name) for one in sorted(base.iterdir())} if base.is_dir() else {}
    found = [
        PublicRecording(path, path.parts[-3], None, LIBRI_SETS[matched[1]])
        for top, matched in sets.items()
        if matched
        for path in sorted(top.glob("*/*/*"))
        if path.suffix.lower() in SUFFIXES
    ]
    return found or None


def _asvspoof_2019(base: Path, wanted: Collection[str] | None) -> list[PublicRecording] | None:
    return _asvspoof(base, ASVSPOOF_2019, FIELDS_2019, wanted)


def _asvspoof_5(base: Path, wanted: Collection[str] | None) -> list[PublicRecording] | None:
    return _asvspoof(base, ASVSPOOF_5, FIELDS_5, wanted)


def _asvspoof(
    base: Path, sets: dict[str, tuple[str, str]], fields: tuple[int, ...], wanted: Collection[str] | None
) -> list[PublicRecording] | None:
    """The recordings of the sets whose folders are there, as the protocols say."""
    there = {subset: one for subset, one in sets.items() if (base / one[0]).is_dir()}
    if not there:
        return None
    problems, found = Problems(), list[PublicRecording]()
    for subset, (sounds, protocol) in there.items():
        path = next((one for one in (base / protocol, *sorted(base.glob(f"*/{protocol}"))) if one.is_file()), None)
        if path is None:
            raise DataError(
                f"{base / sounds}: there is no protocol {protocol} beside it, nor in a folder there; get it as well"
            )
        found += _of_protocol(path, base / sounds, subset, (fields, wanted), problems)
    problems.raise_if_any("complete the corpus, or list what to take (--only)")
    return found


def _of_protocol(
    path: Path,
    sounds: Path,
    subset: str,
    rows: tuple[tuple[int, ...], Collection[str] | None],
    problems: Problems,
) -> Iterator[PublicRecording]:
    (speaker, name, attack, kind, count), wanted = rows
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            words = line.split()
            if not words:
                continue
            place = f"{path}:{number}"
            if len(words) <= kind or words[kind] not in ("bonafide", "spoof"):
                problems.add(f"{place}: no line of this protocol: {line.strip()[:80]!r}; {count} fields were expected")
                continue
            if wanted is not None and words[speaker] not in wanted and words[name] not in wanted:
                continue
            file = sounds / f"{words[name]}.flac"
            if not file.is_file():
                problems.add(f"{place}: there is no file {str(file)!r}")
                continue
            yield PublicRecording(file, words[speaker], None if words[kind] == "bonafide" else words[attack], subset)

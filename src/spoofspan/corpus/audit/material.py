"""The audited utterances: speaker, set, labelled ranges and sound file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.times import SECOND
from spoofspan.corpus.settings import SETS
from spoofspan.corpus.source_folder import Recording, recordings_in
from spoofspan.data.references import NONSPEECH, SPOOF, durations_of
from spoofspan.formats.datasets.partialspoof_dataset import read_dataset, sound_folder
from spoofspan.formats.sound import RATE, SUFFIXES, Sound
from spoofspan.formats.text.rows import written_ranges

ALL = "all"
NO_NAME = "spoof"  # an attack without a name


@dataclass(frozen=True)
class Run:
    """Time of one class and, where it is spoof, of one attack; in nanoseconds."""

    start: int
    end: int
    attack: str | None  # None: bona fide


@dataclass(frozen=True)
class Utterance:
    """One sound file."""

    name: str
    sound: Path
    speaker: str | None
    subset: str
    duration: int  # nanoseconds
    runs: tuple[Run, ...]

    @property
    def attacks(self) -> tuple[str, ...]:
        """The attacks in it."""
        return tuple(sorted({run.attack for run in self.runs if run.attack is not None}))

    @property
    def is_mixed(self) -> bool:
        """True if both classes are in it."""
        return bool(self.attacks) and any(run.attack is None for run in self.runs)


@dataclass(frozen=True)
class AuditMaterial:
    """Material of an audit, and how many utterances there are."""

    utterances: tuple[Utterance, ...]
    available: int


def material_of(folder: Path, limit: int, source: str | None = None) -> AuditMaterial:
    """At most ``limit`` utterances of each set, drawn at random, always the same ones."""
    if not folder.exists():
        raise UsageError(f"there is no {str(folder)!r}; give the folder of a corpus")
    sounds = {subset: place for subset in SETS if (place := sound_folder(folder, subset)) is not None}
    if sounds:
        found = [list(_of_set(folder, subset, place, source)) for subset, place in sounds.items()]
    else:
        if source is not None:
            raise UsageError("reference_source chooses labels of PartialSpoof's layout; a folder of recordings has one")
        by_set: dict[str, list[Utterance]] = {}
        for one in _of_recordings(recordings_in(folder, "use")):
            by_set.setdefault(one.subset, []).append(one)
        found = list(by_set.values())
    every = [one for utterances in found for one in utterances]
    spoofed = [bool(one.attacks) for one in every]
    if not any(spoofed) or not any(run.attack is None for one in every for run in one.runs):
        raise DataError(f"{folder}: an audit compares bona fide with spoof; both must be there")
    drawn = [one for utterances in found for one in _some(utterances, limit)]
    return AuditMaterial(tuple(drawn), len(every))


def _some(utterances: list[Utterance], limit: int) -> list[Utterance]:
    rows = np.random.default_rng(0).permutation(len(utterances))[:limit]
    return [utterances[row] for row in sorted(rows.tolist())]


def _of_set(folder: Path, subset: str, sounds: Path, source: str | None) -> Iterator[Utterance]:
    dataset = read_dataset(f"partialspoof:{folder}:{subset}", source=source)
    references = dataset.references
    speakers = dataset.by_utterance("speaker") if dataset.protocol is not None else {}
    attacks = dataset.by_utterance("attack") if dataset.protocol is not None else {}
    durations = durations_of(references, references.utterances).tolist()
    for (name, ranges), duration in zip(written_ranges(references), durations, strict=True):
        attack = attacks.get(name) or NO_NAME
        runs = (
            Run(one.start, one.end, None if one.label != SPOOF else one.attack or attack)
            for one in ranges
            if one.label != NONSPEECH
        )
        path = next((one for suffix in SUFFIXES if (one := sounds / f"{name}{suffix}").is_file()), None)
        if path is None:
            raise DataError(f"utterance {name!r}: there is no {sounds / name}.wav; audit a corpus that is complete")
        yield Utterance(name, path, speakers.get(name), subset, duration, _joined(runs))


def _of_recordings(recordings: Iterable[Recording]) -> Iterator[Utterance]:
    for one in recordings:
        samples = Sound(one.path, str(one.path), truncated="use").samples
        duration = samples * (SECOND // RATE)
        run = Run(0, duration, one.attack)
        yield Utterance(one.name, one.path, one.speaker, one.subset or ALL, duration, (run,))


def _joined(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Runs that touch and are of one class and attack, as one."""
    joined: list[Run] = []
    for run in runs:
        if joined and (joined[-1].end, joined[-1].attack) == (run.start, run.attack):
            joined[-1] = Run(joined[-1].start, run.end, run.attack)
        else:
            joined.append(run)
    return tuple(joined)

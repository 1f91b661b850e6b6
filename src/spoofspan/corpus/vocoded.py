"""Spoofs of someone's own bona fide recordings, by the built-in vocoders: ``--attack builtin:griffin-lim``.

Each bona fide recording goes through one vocoder. Those of a speaker take turns, and the next speaker begins with the
next vocoder, so that every set has about as many recordings of each. A vocoder that is held out is used for speakers of
``eval`` only.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.base.pool import do_all, in_batches
from spoofspan.corpus.channel import OPEN
from spoofspan.corpus.settings import Settings
from spoofspan.corpus.source_folder import Recording
from spoofspan.corpus.splice_plan import stream
from spoofspan.corpus.survey import find_speech, gain_to
from spoofspan.corpus.vocoder_families import VOCODERS
from spoofspan.formats.sound import wav_bytes
from spoofspan.formats.writing import write_atomically

PREFIX = "builtin:"
ALL = PREFIX + "all"
BATCH = 8


def chosen_vocoders(typed: Sequence[str]) -> tuple[str, ...]:
    """The attacks that are meant, in the order of the vocoders.

    >>> chosen_vocoders(["builtin:phase-vocoder", "builtin:griffin-lim"])
    ('builtin:griffin-lim', 'builtin:phase-vocoder')
    """
    known = [PREFIX + name for name in VOCODERS]
    for name in typed:
        if name not in (*known, ALL):
            raise UsageError(f"attacks: no vocoder is called {name!r}: {nearest_name(name, [*known, ALL])}")
    return tuple(name for name in known if name in typed or ALL in typed)


@dataclass(frozen=True)
class Vocoded:
    """A spoofed recording that is to be made, and what of."""

    recording: Recording
    original: Recording
    seed: int

    def write(self) -> None:
        """Write its file, levelled as built-in recordings are."""
        sound = replace(self.original, channel=OPEN).sound()
        rng = np.random.default_rng([self.seed, 3, *self.recording.name.encode()])
        made = VOCODERS[str(self.recording.attack).removeprefix(PREFIX)](sound, rng)
        gain = gain_to(-26.0, made, find_speech(made))
        write_atomically(self.recording.path, [wav_bytes(made * gain)], force=True)


def deal_vocoders(
    folder: Path,
    found: Sequence[Recording],
    set_of_speaker: Mapping[str, str],
    held_out: Sequence[str],
    settings: Settings,
) -> list[Vocoded]:
    """Which bona fide recording goes through which vocoder; files will lie below ``folder``."""
    seen = [attack for attack in settings.attacks if attack not in held_out]
    by_speaker: dict[str, list[Recording]] = {}
    for one in sorted(found, key=lambda one: one.name):
        if one.attack is None:
            by_speaker.setdefault(one.speaker, []).append(one)
    dealt = []
    begun = dict.fromkeys(set_of_speaker.values(), 0)
    for speaker, own in by_speaker.items():
        subset = set_of_speaker.get(speaker)
        attacks = settings.attacks if subset == "eval" else seen
        if subset is None or not attacks:
            continue
        order = stream(settings, "vocoders", speaker).permutation(len(own)).tolist()
        for place, number in enumerate(order):
            attack = attacks[(begun[subset] + place) % len(attacks)]
            name = f"{attack.replace(':', '/')}/{speaker}/{number + 1:04d}.wav"
            original = own[number]
            made = replace(original, name=name, path=folder / name, attack=attack)
            dealt.append(Vocoded(made, original, settings.seed))
        begun[subset] += len(own)
    return sorted(dealt, key=lambda one: one.recording.name)


def write_vocoded(folder: Path, dealt: Sequence[Vocoded], jobs: int) -> None:
    """Write the recordings that are not there yet, and a list that says what each was made of."""
    for parent in {one.recording.path.parent for one in dealt}:
        parent.mkdir(parents=True, exist_ok=True)
    missing = [one for one in dealt if not one.recording.path.is_file()]
    for _ in do_all(_write, in_batches(missing, BATCH), jobs, "making spoofs", len):
        pass
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("path", "speaker", "attack", "made_of"))
    writer.writerows(
        (one.recording.name, one.recording.speaker, one.recording.attack, one.original.name) for one in dealt
    )
    write_atomically(folder / "list.csv", [text.getvalue().encode()], force=True)


def _write(batch: Sequence[Vocoded]) -> None:
    for one in batch:
        one.write()

"""Recordings that are made: built-in voices and their spoofs, and spoofs of someone's own recordings.

Without a source, made-up voices are the bona fide speech. A spoofed recording is a sentence of the voice through a
vocoder; the sentence itself is not among the bona fide ones. Both classes go through one channel unless another is
asked for.

Of a source with bona fide recordings (``--attack builtin:griffin-lim``), each goes through one vocoder. Those of a
speaker take turns, and the next speaker begins with the next vocoder, so that every set has about as many recordings of
each. A vocoder that is held out is used for speakers of ``eval`` only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.base.pool import do_all, in_batches
from spoofspan.base.times import Float64
from spoofspan.corpus.layout import write_csv
from spoofspan.corpus.settings import BUILDER_VERSION, BUILT_IN_SPEAKERS, BUILT_IN_UTTERANCES, SETS, Settings
from spoofspan.corpus.source_folder import BONA_FIDE, Recording
from spoofspan.corpus.splice_plan import check_held_out, stream
from spoofspan.corpus.survey import find_speech, gain_to
from spoofspan.corpus.vocoders import ATTACKS, UNSEEN, VOCODERS
from spoofspan.corpus.voices import draw_varied_voice, draw_voice, speak
from spoofspan.formats.sound import FULL_SCALE, wav_bytes, whole_samples
from spoofspan.formats.sound_channel import OPEN, Channel
from spoofspan.formats.writing import write_atomically

LIST = "list.csv"
BUILT_IN_CHANNEL = Channel(150.0, 6850.0)
PREFIX = "builtin:"
ALL, COPY = PREFIX + "all", PREFIX + "copy"
LEVEL = -26.0  # dBov
SPARE = 1.25  # recordings per utterance that they are needed for
FEWEST = 4  # recordings of a class and speaker
BATCH = 8


class MadeSound(Protocol):
    """A recording that is to be made; workers get it pickled."""

    def sound(self) -> Float64:
        """Its samples."""


@dataclass(frozen=True)
class Sentence:
    """One recording that is to be made."""

    speaker: int
    number: int
    attack: str | None
    subset: str
    seed: int
    builder: int = BUILDER_VERSION

    @property
    def name(self) -> str:
        """Its path in the source folder."""
        speaker = speaker_name(self.speaker)
        return f"{self.attack or BONA_FIDE}/{speaker}/{speaker}_{self.number:03d}.wav"

    def sound(self) -> Float64:
        """Its samples, levelled."""
        draw = draw_voice if self.builder == 1 else draw_varied_voice
        voice = draw(np.random.default_rng([self.seed, 1, self.speaker]))
        rng = np.random.default_rng([self.seed, 2, self.speaker, self.number])
        sound = speak(voice, rng)
        return _levelled(sound if self.attack is None else VOCODERS[ATTACKS[self.attack]](sound, rng))


def speaker_name(number: int) -> str:
    """Name of a voice."""
    return f"V{number:03d}"


def built_in_settings(settings: Settings) -> Settings:
    """Fill in how many utterances and speakers there are, and which attack is unseen, where nothing was said."""
    if settings.attacks:
        raise UsageError("attacks make spoofs of recordings (--source); built-in voices go through all vocoders")
    utterances = {name: (settings.utterances or BUILT_IN_UTTERANCES).get(name, 0) for name in SETS}
    speakers = settings.speakers or {
        name: max(2, round(count * BUILT_IN_SPEAKERS[name] / BUILT_IN_UTTERANCES[name])) if count else 0
        for name, count in utterances.items()
    }
    held_out = check_held_out((UNSEEN,) if settings.held_out is None else settings.held_out, list(ATTACKS), ATTACKS)
    channel = settings.channel or BUILT_IN_CHANNEL
    return replace(settings, utterances=utterances, speakers=speakers, held_out=held_out, channel=channel)


def sentences_of(settings: Settings) -> list[Sentence]:
    """The recordings that such a corpus needs."""
    utterances, speakers = settings.utterances or {}, settings.speakers or {}
    sentences = []
    speaker = 0
    for subset in SETS:
        attacks = [one for one in ATTACKS if subset == "eval" or one not in (settings.held_out or ())]
        partial = utterances.get(subset, 0) * (1 - settings.bonafide_share) / 2  # in each direction
        for _ in range(speakers.get(subset, 0)):
            speaker += 1
            share = SPARE / speakers[subset]
            plain = max(FEWEST, math.ceil(max(partial, utterances[subset] * settings.bonafide_share) * share) + 1)
            spoofed = max(FEWEST, math.ceil(partial * share) + 1)
            each = math.ceil(spoofed / len(attacks))
            kinds: list[str | None] = [None] * plain
            kinds += [attack for attack in attacks for _ in range(each)]
            sentences += [
                Sentence(speaker, number, kind, subset, settings.seed) for number, kind in enumerate(kinds, 1)
            ]
    return sentences


def write_voices(folder: Path, settings: Settings, jobs: int) -> Path:
    """Write the recordings of the built-in voices; return the list of them."""
    sentences = sentences_of(settings)
    rows = ((one.name, speaker_name(one.speaker), one.attack or BONA_FIDE, one.subset) for one in sentences)
    made = {one.name: one for one in sentences}
    return write_recordings(folder, made, jobs, "making voices", [("path", "speaker", "attack", "set"), *rows])


def recording_named(name: str, seed: int, builder: int = BUILDER_VERSION) -> Float64:
    """A recording of the built-in source by its path there, with the samples of its file; of builder 1 too."""
    attack, speaker, file = name.split("/")
    number = int(Path(file).stem.rpartition("_")[2])
    one = Sentence(int(speaker[1:]), number, None if attack == BONA_FIDE else attack, "eval", seed, builder)
    return whole_samples(one.sound()) / FULL_SCALE


# ---------------------------------------------------------------- spoofs of someone's own recordings


def chosen_vocoders(typed: Sequence[str]) -> tuple[str, ...]:
    """The attacks that are meant, in the order of the vocoders.

    >>> chosen_vocoders(["builtin:phase-vocoder", "builtin:griffin-lim"])
    ('builtin:griffin-lim', 'builtin:phase-vocoder')
    """
    if COPY in typed:
        if set(typed) != {COPY}:
            raise UsageError(f"{COPY} makes a control of copies; leave the other attacks out")
        return (COPY,)
    known = [PREFIX + name for name in VOCODERS]
    for name in typed:
        if name not in (*known, ALL):
            raise UsageError(f"attacks: no vocoder is called {name!r}: {nearest_name(name, [*known, ALL, COPY])}")
    return tuple(name for name in known if name in typed or ALL in typed)


@dataclass(frozen=True)
class Vocoded:
    """A spoofed recording that is to be made, and what of."""

    recording: Recording
    original: Recording
    seed: int

    def sound(self) -> Float64:
        """Its samples, levelled as those of built-in voices are."""
        rng = np.random.default_rng([self.seed, 3, *self.recording.name.encode()])
        original = replace(self.original, channel=OPEN).sound()
        if self.recording.attack == COPY:
            return _levelled(original)
        vocoder = VOCODERS[str(self.recording.attack).removeprefix(PREFIX)]
        return _levelled(vocoder(original, rng))


def deal_vocoders(
    folder: Path,
    found: Sequence[Recording],
    set_of_speaker: Mapping[str, str],
    held_out: Sequence[str],
    settings: Settings,
) -> list[Vocoded]:
    """Assignment of bona fide recordings to vocoders; files will lie below ``folder``."""
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
    """Write the spoofed recordings, and a list that says what each was made of."""
    rows = ((one.recording.name, one.recording.speaker, one.recording.attack, one.original.name) for one in dealt)
    made = {one.recording.name: one for one in dealt}
    write_recordings(folder, made, jobs, "making spoofs", [("path", "speaker", "attack", "made_of"), *rows])


# ---------------------------------------------------------------- files


def write_recordings(
    folder: Path,
    made: Mapping[str, MadeSound],
    jobs: int,
    what: str,
    rows: Iterable[tuple[str | None, ...]],
) -> Path:
    """Write the recordings, by their paths, that are not there yet, and a list of all; return the list."""
    missing = [(folder / name, one) for name, one in made.items() if not (folder / name).is_file()]
    for parent in {folder, *(path.parent for path, _ in missing)}:
        parent.mkdir(parents=True, exist_ok=True)
    for _ in do_all(_write, in_batches(missing, BATCH), jobs, what, len):
        pass
    write_csv(folder / LIST, rows)
    return folder / LIST


def _write(batch: Sequence[tuple[Path, MadeSound]]) -> None:
    for path, one in batch:
        write_atomically(path, [wav_bytes(one.sound())], force=True)


def _levelled(sound: Float64) -> Float64:
    return sound * gain_to(LEVEL, sound, find_speech(sound))

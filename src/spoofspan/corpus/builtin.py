"""The built-in source: made-up voices as bona fide speech, vocoders as spoofs, written as any other source folder.

A spoofed recording is a sentence of the voice through a vocoder; the sentence itself is not among the bona fide ones.
Both classes go through one channel unless another is asked for.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.base.pool import do_all, in_batches
from spoofspan.corpus.channel import Channel
from spoofspan.corpus.frames import Float64
from spoofspan.corpus.settings import BUILDER_VERSION, BUILT_IN_SPEAKERS, BUILT_IN_UTTERANCES, SETS, Settings
from spoofspan.corpus.source_folder import BONA_FIDE
from spoofspan.corpus.splice_plan import check_held_out
from spoofspan.corpus.survey import find_speech, gain_to
from spoofspan.corpus.vocoder_families import ATTACKS, UNSEEN, VOCODERS
from spoofspan.corpus.voices import draw_varied_voice, draw_voice, speak
from spoofspan.formats.sound import FULL_SCALE, wav_bytes, whole_samples
from spoofspan.formats.writing import write_atomically

LIST = "list.csv"
BUILT_IN_CHANNEL = Channel(150.0, 6850.0)
SPARE = 1.25  # recordings per utterance that they are needed for
FEWEST = 4  # recordings of a class and speaker
BATCH = 8


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


def speaker_name(number: int) -> str:
    """What a voice is called."""
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
    """Write the recordings that are not there yet, and a list of all; return the list."""
    sentences = sentences_of(settings)
    for parent in {(folder / one.name).parent for one in sentences}:
        parent.mkdir(parents=True, exist_ok=True)
    missing = [one for one in sentences if not (folder / one.name).is_file()]
    tasks = [(folder, batch) for batch in in_batches(missing, BATCH)]
    for _ in do_all(_write, tasks, jobs, "making voices", lambda task: len(task[1])):
        pass
    write_atomically(folder / LIST, [_list(sentences)], force=True)
    return folder / LIST


def _write(task: tuple[Path, Sequence[Sentence]]) -> None:
    folder, batch = task
    for one in batch:
        write_atomically(folder / one.name, [wav_bytes(say(one))], force=True)


def say(one: Sentence) -> Float64:
    """Make a recording, levelled."""
    draw = draw_voice if one.builder == 1 else draw_varied_voice
    voice = draw(np.random.default_rng([one.seed, 1, one.speaker]))
    rng = np.random.default_rng([one.seed, 2, one.speaker, one.number])
    sound = speak(voice, rng)
    if one.attack is not None:
        sound = VOCODERS[ATTACKS[one.attack]](sound, rng)
    return sound * gain_to(-26.0, sound, find_speech(sound))


def recording_named(name: str, seed: int, builder: int = BUILDER_VERSION) -> Float64:
    """A recording of the built-in source by its path there, with the samples of its file; of builder 1 too."""
    attack, speaker, file = name.split("/")
    number = int(Path(file).stem.rpartition("_")[2])
    one = Sentence(int(speaker[1:]), number, None if attack == BONA_FIDE else attack, "eval", seed, builder)
    return whole_samples(say(one)) / FULL_SCALE


def _list(sentences: Sequence[Sentence]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("path", "speaker", "attack", "set"))
    writer.writerows((one.name, speaker_name(one.speaker), one.attack or BONA_FIDE, one.subset) for one in sentences)
    return text.getvalue().encode()

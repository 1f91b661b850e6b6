"""Make the models of the package from recordings: corpora with the built-in attacks, trainings, weights of 16 bits.

    python tools/make_models.py SPEECH [--work FOLDER] [--out FOLDER] [--only NAME ...]

SPEECH has ``bonafide/SPEAKER/*`` (the digit strings of 24 people that docs/real-speech.md names). WORK keeps corpora
and trainings: a run that was stopped is simply repeated. The same recordings give the same corpora to the bit. Weights
are the same to the bit with the same version of torch on the same kind of processor, with one thread; elsewhere they
differ in their last digits, and so do cards and checksums. ``--out`` is the package's own folder of models, unless it
says another one. ``--without 5,11`` leaves speakers out by their place in the order of names, to measure the recipe.
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from spoofspan.cm import checkpoints
from spoofspan.cm.batches import Corpus, TrainingData
from spoofspan.cm.card import read_card, write_card
from spoofspan.cm.config import preset
from spoofspan.cm.finishing import finish
from spoofspan.cm.model_sources import CARD, CONFIG, MODEL
from spoofspan.cm.training import train
from spoofspan.corpus.building import build
from spoofspan.corpus.builtin import chosen_vocoders
from spoofspan.corpus.settings import Settings
from spoofspan.formats.sound_channel import OPEN, Channel

PACKAGE = Path(__file__).parents[1] / "src" / "spoofspan" / "cm" / "models"
CHANNELS = {"full-band": OPEN, "150-6850": Channel(150.0, 6850.0), "telephone": Channel(300.0, 3400.0)}
UTTERANCES, BONA_FIDE_SHARE = 480, 0.45
MEMBERS = 2
FALSE_RANGES = 0.5  # a minute, that the advised prior allows on speakers of the development set
DEVELOPMENT = 6  # every sixth speaker is one of the development set
LICENCE = "BSD-3-Clause; trained on recordings of AudioMNIST (MIT licence, copyright (c) 2018 soerenab)"
LIMITS = (
    "a small model: {speakers} speakers, most of them men with a German accent, who say English digits, in one room "
    "each; no free speech, no music, no noise",
    "spoofs heard in training are those of the built-in vocoders ({vocoders}); what a recent synthesizer or a voice "
    "conversion leaves behind may be missed, so that nothing suspected does not mean that nothing is spoofed",
    "a hint where to listen, not evidence",
)


def rows_of(corpus: Corpus, speakers: set[str]) -> Corpus:
    """The utterances of some speakers."""
    rows = [row for row, speaker in enumerate(corpus.speakers) if speaker in speakers]
    sounds, samples, who = (
        tuple(column[row] for row in rows) for column in (corpus.sounds, corpus.samples, corpus.speakers)
    )
    references = corpus.references.take(np.array(rows, np.int64))
    return replace(corpus, references=references, sounds=sounds, samples=samples, speakers=who)


def data_of(speech: Path, work: Path, channel: Channel, without: set[int]) -> TrainingData:
    """The corpus of one channel, as a training set and a development set of other speakers."""
    count = len([one for one in (speech / "bonafide").iterdir() if one.is_dir()])
    settings = Settings(
        utterances={"train": UTTERANCES, "dev": 0, "eval": 0},
        speakers={"train": count, "dev": 0, "eval": 0},
        bonafide_share=BONA_FIDE_SHARE,
        held_out=(),
        attacks=("builtin:all",),
        channel=channel,
    )
    build(work, speech, settings)
    corpus = Corpus.from_dataset(f"partialspoof:{work}:train")
    there = [one for place, one in enumerate(sorted({*corpus.speakers})) if place not in without]
    development = {*there[2::DEVELOPMENT]}
    return TrainingData(rows_of(corpus, {*there} - development), rows_of(corpus, development))


def halved(folder: Path) -> None:
    """Keep the weights in 16 bits, half the size."""
    tensors, about = checkpoints.read_tensors(folder / MODEL)
    checkpoints.write_tensors(folder / MODEL, {name: one.half() for name, one in tensors.items()}, about)


def describe(target: Path) -> None:
    """Say on the card what such a model cannot do, and advise a prior with few false alarms."""
    card = read_card(target)
    assert card is not None
    assert card.chance is not None
    speakers = card.about["data"]["training"]["speakers"]
    own = [one for one in card.about["limits"] if not one.startswith(tuple(text[:10] for text in LIMITS))]
    vocoders = ", ".join(one.removeprefix("builtin:") for one in chosen_vocoders(("builtin:all",)))
    limits = [*(one.format(speakers=speakers, vocoders=vocoders) for one in LIMITS), *own]
    prior = 1 / (1 + math.exp(-card.chance.cautious_threshold(FALSE_RANGES)))
    about = {**card.about, "languages": "English (digits)", "prior": prior, "limits": limits}
    write_card(target, replace(card, about=about))


def make(name: str, speech: Path, work: Path, out: Path, without: set[int], members: int) -> None:
    """Make one model."""
    data = data_of(speech, work / f"corpus-{name}", CHANNELS[name], without)
    plain = preset("small-cpu")
    config = replace(plain, name=name, network=replace(plain.network, members=members))
    training = work / f"training-{name}-{'-'.join(map(str, sorted(without))) or 'all'}"
    train(config, data, training, resume=(training / CONFIG).is_file(), say=True, licence=LICENCE)
    target = out / name
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for file in (CONFIG, MODEL):
        shutil.copy(training / file, target / file)
    halved(target)
    finish(target, config, data, None, LICENCE)  # maps and limits are those of the rounded weights
    describe(target)
    card = read_card(target)
    assert card is not None
    size = sum(one.stat().st_size for one in target.iterdir())
    print(f"{name}: {card.weights}, {size:,} bytes with {CARD}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("speech", type=Path, help="real recordings: bonafide/SPEAKER/*")
    parser.add_argument("--work", type=Path, default=Path("models-work"), help="corpora and trainings are kept here")
    parser.add_argument("--out", type=Path, default=PACKAGE, help="where the models go")
    parser.add_argument("--only", nargs="+", choices=CHANNELS, default=list(CHANNELS))
    parser.add_argument("--without", default="", help="places of speakers that are left out, such as 5,11")
    parser.add_argument("--members", type=int, default=MEMBERS, help="networks whose scores are averaged")
    arguments = parser.parse_args()
    without = {int(one) for one in arguments.without.split(",") if one}
    for name in arguments.only:
        make(name, arguments.speech, arguments.work, arguments.out, without, arguments.members)
    return 0


if __name__ == "__main__":
    sys.exit(main())

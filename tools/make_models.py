"""Make the models of the package from recordings: corpora with the built-in attacks, trainings, weights of 16 bits.

    python tools/make_models.py SPEECH [--work FOLDER] [--out FOLDER] [--only NAME ...]

SPEECH has ``bonafide/SPEAKER/*`` (the digit strings of 24 people that docs/real-speech.md names). A model learns from
all of them. Its card (calibration, false ranges, the sound that it knows) rests on the same speakers, each judged by
another training of the same recipe that left the speaker out with a quarter of the others. WORK keeps corpora and
trainings: a run that was stopped is simply repeated. The same recordings give the same corpora to the bit. Weights are
the same to the bit with the same version of torch on the same kind of processor, with one thread; elsewhere they differ
in their last digits, and so do cards and checksums. ``--out`` is the package's own folder of models, unless it says
another one.
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from spoofspan.cm import checkpoints
from spoofspan.cm.batches import Corpus, TrainingData
from spoofspan.cm.card import read_card, write_card
from spoofspan.cm.config import Config, preset
from spoofspan.cm.features import remembered_features
from spoofspan.cm.finishing import finish
from spoofspan.cm.model_sources import CARD, CONFIG, MODEL
from spoofspan.cm.scorers import Float32, NetworkScorer, Window, load_scorer
from spoofspan.cm.training import train_networks
from spoofspan.corpus.building import build
from spoofspan.corpus.builtin import chosen_vocoders
from spoofspan.corpus.settings import Settings
from spoofspan.formats.sound_channel import OPEN, Channel

PACKAGE = Path(__file__).parents[1] / "src" / "spoofspan" / "cm" / "models"
CHANNELS = {"full-band": OPEN, "150-6850": Channel(150.0, 6850.0), "telephone": Channel(300.0, 3400.0)}
UTTERANCES, BONA_FIDE_SHARE = 480, 0.45
MEMBERS = 2
FALSE_RANGES = 0.5  # a minute, that the advised prior allows on speakers whom the models did not know
FOLDS = 4  # of speakers who are left out together
LICENCE = "BSD-3-Clause; trained on recordings of AudioMNIST (MIT licence, copyright (c) 2018 soerenab)"
LIMITS = (
    "a small model: {speakers} speakers, most of them men with a German accent, who say English digits, in one room "
    "each; no free speech, no music, no noise",
    "spoofs heard in training are those of the built-in vocoders ({vocoders}); what a recent synthesizer or a voice "
    "conversion leaves behind may be missed, so that nothing suspected does not mean that nothing is spoofed",
    "a hint where to listen, not evidence",
    "figures, calibration and false ranges are those of {folds} models of the same recipe, on speakers whom they had "
    "not heard; this one has heard all of them",
)


def rows_of(corpus: Corpus, speakers: set[str]) -> Corpus:
    """The utterances of some speakers."""
    rows = [row for row, speaker in enumerate(corpus.speakers) if speaker in speakers]
    sounds, samples, who = (
        tuple(column[row] for row in rows) for column in (corpus.sounds, corpus.samples, corpus.speakers)
    )
    references = corpus.references.take(np.array(rows, np.int64))
    return replace(corpus, references=references, sounds=sounds, samples=samples, speakers=who)


def corpus_of(speech: Path, work: Path, channel: Channel) -> Corpus:
    """The corpus of one channel."""
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
    return Corpus.from_dataset(f"partialspoof:{work}:train")


class ByOthers(NetworkScorer):
    """Each recording of a corpus scored by a model that does not know its speaker."""

    def __init__(self, scorers: Sequence[NetworkScorer]) -> None:
        self.scorers = scorers  # of each recording
        self.longest, self.branches = scorers[0].longest, scorers[0].branches

    def score(self, windows: Sequence[Window]) -> list[dict[str, Float32]]:
        """The scores of the frames that count."""
        return [self.scorers[one.recording].score([one])[0] for one in windows]


def halved(folder: Path) -> None:
    """Keep the weights in 16 bits, half the size."""
    tensors, about = checkpoints.read_tensors(folder / MODEL)
    checkpoints.write_tensors(folder / MODEL, {name: one.half() for name, one in tensors.items()}, about)


def trained(config: Config, data: TrainingData, folder: Path) -> Path:
    """The folder of a training, gone on with if it was stopped."""
    train_networks(config, data, folder, "cpu", say=True)
    return folder


def describe(target: Path) -> None:
    """Say on the card what such a model cannot do, and advise a prior with few false alarms."""
    card = read_card(target)
    assert card is not None
    assert card.chance is not None
    speakers = card.about["data"]["training"]["speakers"]
    vocoders = ", ".join(one.removeprefix("builtin:") for one in chosen_vocoders(("builtin:all",)))
    limits = [one.format(speakers=speakers, vocoders=vocoders, folds=FOLDS) for one in LIMITS]
    prior = 1 / (1 + math.exp(-card.chance.cautious_threshold(FALSE_RANGES)))
    data = {"training": card.about["data"]["training"]}
    about = {**card.about, "data": data, "languages": "English (digits)", "prior": prior, "limits": limits}
    write_card(target, replace(card, about=about))


@remembered_features()
def make(name: str, speech: Path, work: Path, out: Path) -> None:
    """Make one model."""
    corpus = corpus_of(speech, work / f"corpus-{name}", CHANNELS[name])
    plain = preset("small-cpu")
    config = replace(plain, name=name, network=replace(plain.network, members=MEMBERS))
    speakers = sorted({*corpus.speakers})
    scorers = {}
    for fold in range(FOLDS):
        new = {*speakers[fold::FOLDS]}
        data = TrainingData(rows_of(corpus, {*speakers} - new), rows_of(corpus, new))
        scorer = load_scorer(trained(config, data, work / f"training-{name}-{fold}"), "cpu")
        assert isinstance(scorer, NetworkScorer)
        scorers |= dict.fromkeys(new, scorer)
    # the last epoch is kept, so that it does not matter that the development set is known
    whole = trained(config, TrainingData(corpus, rows_of(corpus, {speakers[0]})), work / f"training-{name}")
    target = out / name
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for file in (CONFIG, MODEL):
        shutil.copy(whole / file, target / file)
    halved(target)
    by_others = ByOthers([scorers[one] for one in corpus.speakers])
    finish(target, config, TrainingData(corpus, corpus), None, LICENCE, by_others)
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
    arguments = parser.parse_args()
    for name in arguments.only:
        make(name, arguments.speech, arguments.work, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How well detectors find spoofs in real speech, by tools they never heard.

    python benchmarks/real_speech.py FOLDER [--out CACHE] [--seeds 1,10,100] [--systems NAME ...] [--attacks NAME ...]

FOLDER has real recordings, ``bonafide/SPEAKER/*``. The attacks are those of ``foreign_attacks.py``. Spoofed and real
recordings go through one channel (150 Hz to 6.85 kHz, noise at -90 dBov), and one corpus is built of them, whose sets
share no speaker. Then every attack is left out in turn: the utterances that have it are taken out of the training and
the development set. A system is measured by its range EER at 20 ms on the evaluation set: *seen* is the part without
that attack, *unseen* the part with no other one. ``--plain`` does the same without the channel, to show what a corpus
gives away that was not sent through one.

Recordings, corpora, models and figures are kept in CACHE: a run that was stopped is simply repeated.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from foreign_attacks import ATTACKS, make_spoofs

import spoofspan as ss
from spoofspan.cm.batches import TARGET, Corpus, TrainingData, WindowLabels
from spoofspan.cm.config import preset
from spoofspan.cm.features import FrameFeatures, remembered_features
from spoofspan.cm.frame_times import frame_count
from spoofspan.cm.scorers import JOINT_DETECTOR, load_scorer
from spoofspan.cm.scoring import score_sounds
from spoofspan.cm.training import train_networks
from spoofspan.corpus.building import build
from spoofspan.corpus.settings import SETS, Settings
from spoofspan.data.rules import Rules
from spoofspan.data.scores import Scores
from spoofspan.experiment.results import SEEN, UNSEEN, by_attack, without_attack
from spoofspan.formats.sound_channel import OPEN, Channel
from spoofspan.formats.writing import write_atomically

CHANNEL = Channel(150.0, 6850.0, -90.0)
UTTERANCES = {"train": 400, "dev": 96, "eval": 400}
BONA_FIDE_SHARE = 0.18
FINEST = "20ms"
TREES = {"max_iter": 200, "learning_rate": 0.08, "max_leaf_nodes": 31, "l2_regularization": 1.0}


@dataclass(frozen=True, eq=False)
class Fold:
    """One attack left out of training and development."""

    train: Corpus
    dev: Corpus
    evaluation: Corpus


@dataclass(frozen=True, eq=False)
class Data:
    """The three sets, and what the corpus calls the attacks."""

    sets: dict[str, Corpus]
    attacks: dict[str, str]  # name of the tool -> A01, ...

    @classmethod
    def made(cls, folder: Path, out: Path, channel: Channel) -> Data:
        """Make spoofs and corpus, as far as they are not there."""
        speech, made = spoofs_of(folder, out)
        corpus = out / ("plain" if channel == OPEN else "channel")
        settings = Settings(utterances=UTTERANCES, bonafide_share=BONA_FIDE_SHARE, held_out=(), channel=channel, seed=1)
        about = build(corpus, speech, settings)
        sets = {one: Corpus.from_dataset(f"partialspoof:{corpus}:{one}") for one in SETS}
        return cls(sets, {name: code for code, name in about["attacks"].items() if name in made})

    def fold(self, attack: str) -> Fold:
        """Leave one attack out of training and development."""
        train, dev = (without_attack(self.sets[one], self.attacks[attack]) for one in ("train", "dev"))
        return Fold(train, dev, self.sets["eval"])


def spoofs_of(folder: Path, out: Path) -> tuple[Path, list[str]]:
    """A folder with the recordings and their spoofs, made as far as they are not there, and the attacks."""
    speech = out / "speech"
    made = make_spoofs(folder, speech)
    if not (speech / "bonafide").is_dir():
        shutil.copytree(folder / "bonafide", speech / "bonafide")
    return speech, made


# ---------------------------------------------------------------- systems


def joints(fold: Fold, seed: int, folder: Path) -> Scores:
    """No training: what can be had from hearing the cuts."""
    return scored(JOINT_DETECTOR, fold.evaluation)


def trained(name: str, changes: dict[str, dict[str, Any]] | None = None) -> Callable[[Fold, int, Path], Scores]:
    """A preset, with changes."""

    def run(fold: Fold, seed: int, folder: Path) -> Scores:
        config = preset(name).changed(changes or {})
        config = replace(config, training=replace(config.training, seed=seed))
        shutil.rmtree(folder, ignore_errors=True)
        train_networks(config, TrainingData(fold.train, fold.dev), folder, "cpu", say=True)
        return scored(folder, fold.evaluation)

    return run


def in_memory(**options: Any) -> Callable[[Fold, int, Path], Scores]:
    """The network of ``small-cpu`` trained in memory, with options of ``recipe_trials.py``."""

    def run(fold: Fold, seed: int, folder: Path) -> Scores:
        from recipe_trials import Options, TwoMaterials, trial

        cache = folder.parents[2]
        return trial(
            Options(**options), seed, fold.train, fold.evaluation, TwoMaterials(fold.train, fold.evaluation, cache)
        )

    return run


def trees(fold: Fold, seed: int, folder: Path) -> Scores:
    """Boosted trees on the hand-made features of single frames."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    x, y = zip(*(frames_of(fold.train, row) for row in range(len(fold.train))), strict=True)
    features, labels = np.concatenate(x), np.concatenate(y)
    counted = labels != TARGET["not counted"]
    forest = HistGradientBoostingClassifier(random_state=seed, **TREES).fit(features[counted], labels[counted])
    frames = [frames_of(fold.evaluation, row)[0] for row in range(len(fold.evaluation))]
    names = fold.evaluation.references.utterances
    found = {name: forest.decision_function(one).astype(np.float32) for name, one in zip(names, frames, strict=True)}
    return Scores.from_frames(found, hop=0.02, higher="bonafide")


SYSTEMS: dict[str, Callable[[Fold, int, Path], Scores]] = {
    "joint-detector": joints,
    "baseline": trained("baseline"),
    "boosted trees": trees,
    "small-cpu-2025": trained("small-cpu-2025"),
    "small-cpu": trained("small-cpu"),
    "six layers by three": trained("small-cpu", {"front_end": {"layers": 6}, "network": {"members": 3}}),
    "six layers, vocoders in training": in_memory(layers=6, vocoded=200),
}
SEEDLESS = ("joint-detector",)


def scored(checkpoint: str | Path, corpus: Corpus) -> Scores:
    sounds = dict(zip(corpus.references.utterances, corpus.sounds, strict=True))
    scores, _ = score_sounds(load_scorer(checkpoint, "cpu"), sounds)
    return scores[FINEST]  # type: ignore[return-value]


_frames: dict[str, tuple[Any, Any]] = {}


def frames_of(corpus: Corpus, row: int) -> tuple[Any, Any]:
    """The features and the targets of the frames of an utterance; what was looked at once is kept."""
    import torch

    key = str(corpus.sounds[row].where)
    if key not in _frames:
        sound = torch.from_numpy(corpus.sounds[row].read())
        features, _ = FrameFeatures()(sound[None], torch.tensor([sound.numel()]))
        labels = WindowLabels(corpus.references, Rules(label="any"), (FINEST,))
        _frames[key] = (features[0].numpy(), labels.of(row, 0, frame_count(sound.numel()))[FINEST])
    return _frames[key]


# ---------------------------------------------------------------- figures


def figures(system: str, attack: str, data: Data, seed: int, folder: Path, kept: Path) -> dict[str, float]:
    """Train and score one system; range EERs in per cent, and the CPU time of both."""
    fold = data.fold(attack)
    began = time.process_time()
    scores = SYSTEMS[system](fold, seed, folder)
    took = time.process_time() - began
    ss.write_scores(scores, kept, force=True)
    return {**measured(scores, attack, data), "cpu": took}


def measured(scores: Scores, attack: str, data: Data) -> dict[str, float]:
    """Range EERs in per cent where the attack is, and where it is not."""
    references = data.sets["eval"].references
    place = {name: row for row, name in enumerate(scores.utterances)}
    found = {}
    for part, rows in by_attack(references, [data.attacks[attack]]).items():
        same = np.array([place[references.utterances[row]] for row in rows], np.int64)
        found[part] = 100 * float(ss.range_eer(references.take(rows), scores.take(same)).value)
    return {"seen": found[SEEN], "unseen": found[UNSEEN]}


def mean_of_seeds(files: list[Path], attack: str, data: Data) -> dict[str, float]:
    """The figures of the mean score of several trainings, as of a model of so many networks."""
    scores = [ss.read_scores(one, hop=0.02, higher="bonafide") for one in files]
    mean = np.mean([one.values for one in scores], axis=0)
    return {**measured(replace(scores[0], values=mean), attack, data), "cpu": float("nan")}


def cached(path: Path, work: Callable[[], dict[str, float]]) -> dict[str, float]:
    """What a file says; where there is none, do the work and write it."""
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, [json.dumps(work()).encode()], force=True)
    found: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
    return found


def two_way(values: dict[tuple[Any, Any], float]) -> tuple[float, float, float]:
    """A mean over two crossed factors, and its interval when both are drawn again."""
    random = np.random.default_rng(0)
    rows, columns = ({one: k for k, one in enumerate(sorted({key[i] for key in values}))} for i in (0, 1))
    there, table = np.zeros((len(rows), len(columns))), np.zeros((len(rows), len(columns)))
    for (row, column), value in values.items():
        there[rows[row], columns[column]], table[rows[row], columns[column]] = 1, value
    drawn = []
    for _ in range(10_000):
        a, b = (np.bincount(random.integers(0, n, n), minlength=n) for n in table.shape)
        weight = a[:, None] * b * there
        drawn.append((weight * table).sum() / weight.sum() if weight.sum() else np.nan)
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return float(np.mean(list(values.values()))), float(low), float(high)


def table(found: dict[str, dict[str, list[dict[str, float]]]]) -> list[list[str]]:
    """A row for each system: seen, each attack unseen, their mean and worst, the range over the seeds, CPU time.

    The interval is over attacks and seeds.
    """
    attacks = list(next(iter(found.values())))
    rows = [["system", "seen", *attacks, "mean unseen (95 %)", "worst", "seeds", "CPU s"]]
    for system, by_fold in found.items():
        unseen = [np.mean([one["unseen"] for one in by_fold[attack]]) for attack in attacks]
        every = [one for attack in attacks for one in by_fold[attack]]
        means = [np.mean(seed) for seed in zip(*([one["unseen"] for one in by_fold[a]] for a in attacks), strict=True)]
        spread = f"{min(means):.1f} to {max(means):.1f}" if len(means) > 1 else "1"
        cells = {(a, seed): one["unseen"] for a in attacks for seed, one in enumerate(by_fold[a])}
        interval = "{:.1f} ({:.1f} to {:.1f})".format(*two_way(cells))
        numbers = [f"{one:.1f}" for one in (np.mean([one["seen"] for one in every]), *unseen)]
        cpu = np.mean([one["cpu"] for one in every])
        rows.append([system, *numbers, interval, f"{max(unseen):.1f}", spread, f"{cpu:.0f}"])
    return rows


def markdown(rows: list[list[str]]) -> str:
    """A table as docs have it."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---|" + "---:|" * (len(rows[0]) - 1), *lines[1:]])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="real recordings: bonafide/SPEAKER/*")
    parser.add_argument("--out", type=Path, default=Path("real-speech"), help="what is made is kept here")
    parser.add_argument("--seeds", default="1", help="1,10,100")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--attacks", nargs="+", choices=[one.name for one in ATTACKS], help="left out in turn")
    parser.add_argument("--plain", action="store_true", help="without the channel")
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    data = Data.made(arguments.folder, arguments.out, OPEN if arguments.plain else CHANNEL)
    attacks = [one for one in data.attacks if one in (arguments.attacks or data.attacks)]
    found: dict[str, dict[str, list[dict[str, float]]]] = {}
    kept = arguments.out / ("figures-plain" if arguments.plain else "figures")
    with remembered_features():
        for system in arguments.systems:
            seeds = [1] if system in SEEDLESS else [int(one) for one in arguments.seeds.split(",")]
            for attack, seed in product(attacks, seeds):
                name = f"{system.replace(' ', '-')}/{attack}-{seed}"
                place = arguments.out / "models" / name
                work = partial(figures, system, attack, data, seed, place, kept / f"{name}.npz")
                one = cached(kept / f"{name}.json", work)
                found.setdefault(system, {}).setdefault(attack, []).append(one)
                print(f"{system}, {attack} left out, seed {seed}: {one}", file=sys.stderr)
    for system, attack in product([*found], attacks):
        files = [kept / f"{system.replace(' ', '-')}/{attack}-{seed}.npz" for seed in arguments.seeds.split(",")]
        if len(files) > 1 and all(one.is_file() for one in files):
            means = found.setdefault(f"{system}, mean of {len(files)}", {})
            means[attack] = [mean_of_seeds(files, attack, data)]
    print(markdown(table(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

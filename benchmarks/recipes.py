"""Compare recipes of the light model on attacks and speakers that were both left out of training.

    python benchmarks/recipes.py FOLDER [--out CACHE] [--splits 0,1,2,3,4] [--seeds 1,10,100] [--recipes PLACE ...]

FOLDER has real recordings, ``bonafide/SPEAKER/*``; spoofs are those of ``foreign_attacks.py``, and all recordings go
through the channel of ``real_speech.py``. One corpus is built of all speakers. Split k leaves two attacks of different
families out (k and k + 3 in the list of attacks) and every fifth speaker from k on: the network is trained on
utterances without these speakers and attacks, and measured on utterances of these speakers. *Unseen* is the mean range
EER at 20 ms on the two attacks, each with the bona fide utterances; *seen* is measured on the other attacks.

A recipe is a change of the preset ``small-cpu``, trained by the package, or options of ``recipe_trials.py``, whose loop
in memory takes a third of the time and has what the package has not. The interval is two-way: splits and seeds are both
drawn again (10,000 times, 95 %). A recipe is compared with that of the preset by the difference on the splits and seeds
that both have, each trained in the same way. Everything is kept in CACHE: a run that was stopped is simply repeated,
and ``--table`` prints what is there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from foreign_attacks import ATTACKS
from real_speech import CHANNEL, markdown, two_way
from recipe_trials import Material, Options, trial

import spoofspan as ss
from spoofspan.cm.batches import Corpus, TrainingData
from spoofspan.cm.config import Config, preset
from spoofspan.cm.features import remembered_features
from spoofspan.cm.frame_times import BRANCHES, frame_count
from spoofspan.cm.scorers import load_scorer
from spoofspan.cm.scoring import score_sounds
from spoofspan.cm.training import train_networks
from spoofspan.corpus.building import build
from spoofspan.corpus.settings import Settings
from spoofspan.data.scores import Scores
from spoofspan.experiment.results import SEEN, UNSEEN, by_attack
from spoofspan.formats.writing import write_atomically

UTTERANCES, BONA_FIDE_SHARE = 320, 0.25
SPLITS = 5  # by which speakers are left out in turn
DEVELOPMENT = 7  # every seventh of the others is one of the development set
FINEST = "20ms"
CHOSEN, CHOSEN_IN_MEMORY = "small-cpu", "small-cpu, in memory"
RECIPES: dict[str, dict[str, dict[str, Any]] | Options] = {
    CHOSEN: {},
    "all branches, P2SGrad, best of 10 epochs": {
        "network": {"branches": list(BRANCHES), "head": "cosine"},
        "training": {"epochs": 10, "keep": "best"},
    },
    CHOSEN_IN_MEMORY: Options(),
    "P2SGrad": Options(head="cosine"),
    "random channels for half": Options(channels=0.5),
    "6 layers": Options(layers=6),
    "128 wide": Options(width=128),
    "24 epochs": Options(epochs=24),
    "weights averaged over 4 epochs": Options(averaged=4),
    "features less their mean over the recording": Options(relative=1.0),
    "the same, half of the mean": Options(relative=0.5),
    "the same, beside the features": Options(both=True),
    "mixup": Options(mixup=0.4),
    "attacks mixed inside an utterance": Options(cut=0.5),
    "groups of features hidden": Options(hidden=0.15),
    "attacks weighted alike": Options(alike=True),
    "frames at boundaries left out": Options(boundary=2),
    "mixup, with 200 utterances by the built-in vocoders": Options(mixup=0.4, vocoded=200),
    "other speeds": Options(speeds=(0.9, 1.1)),
    "6 layers, mixup": Options(layers=6, mixup=0.4),
    "built-in vocoders": Options(vocoded=200),
    "6 layers, built-in vocoders": Options(layers=6, vocoded=200),
}
MEANS = {
    f"{name}, mean of the seeds": name
    for name, made in RECIPES.items()
    if isinstance(made, Options) and (name == CHOSEN_IN_MEMORY or made.both or made.layers == 6)
}


@dataclass(frozen=True, eq=False)
class Split:
    """Training and development set, and evaluation set with the attacks that only it has."""

    data: TrainingData
    evaluation: Corpus
    attacks: dict[str, str]  # tool -> name in the corpus


def corpus_of(folder: Path, out: Path) -> tuple[Corpus, dict[str, str]]:
    """One corpus of all speakers and attacks, and what it calls the attacks."""
    from real_speech import spoofs_of

    speech, made = spoofs_of(folder, out)
    corpus, attacks = corpus_of_speech(speech, out / "one-corpus")
    return corpus, {name: code for name, code in attacks.items() if name in made}


def corpus_of_speech(speech: Path, out: Path) -> tuple[Corpus, dict[str, str]]:
    """One corpus of a source folder, and what it calls the attacks."""
    count = len([one for one in (speech / "bonafide").iterdir() if one.is_dir()])
    settings = Settings(
        utterances={"train": UTTERANCES, "dev": 0, "eval": 0},
        speakers={"train": count, "dev": 0, "eval": 0},
        bonafide_share=BONA_FIDE_SHARE,
        held_out=(),
        channel=CHANNEL,
    )
    about = build(out, speech, settings)
    return Corpus.from_dataset(f"partialspoof:{out}:train"), {name: code for code, name in about["attacks"].items()}


def taken(corpus: Corpus, speakers: set[str], without: list[str]) -> Corpus:
    """The utterances of some speakers that have none of some attacks."""
    kept = set(by_attack(corpus.references, without)[SEEN].tolist()) if without else set(range(len(corpus)))
    rows = [row for row, who in enumerate(corpus.speakers) if who in speakers and row in kept]
    columns = corpus.sounds, corpus.samples, corpus.speakers
    sounds, samples, who = (tuple(column[row] for row in rows) for column in columns)
    references = corpus.references.take(np.array(rows, np.int64))
    return replace(corpus, references=references, sounds=sounds, samples=samples, speakers=who)


def split(corpus: Corpus, names: dict[str, str], number: int) -> Split:
    order = [one.name for one in ATTACKS if one.name in names]
    out = {one: names[one] for one in (order[number % len(order)], order[(number + 3) % len(order)])}
    speakers = sorted({*corpus.speakers})
    new = {*speakers[number % SPLITS :: SPLITS]}
    known = [one for one in speakers if one not in new]
    development = {*known[::DEVELOPMENT]}
    codes = list(out.values())
    data = TrainingData(taken(corpus, {*known} - development, codes), taken(corpus, development, codes))
    return Split(data, taken(corpus, new, []), out)


def scored(config: Config, parts: Split, folder: Path) -> Scores:
    """Train, and score the evaluation set."""
    train_networks(config, parts.data, folder, "cpu")
    names = parts.evaluation.references.utterances
    sounds = dict(zip(names, parts.evaluation.sounds, strict=True))
    return score_sounds(load_scorer(folder, "cpu"), sounds)[0][FINEST]  # type: ignore[return-value]


def figures(parts: Split, scores: Scores) -> dict[str, float]:
    """Range EERs in per cent: on each attack that was left out, and on the others."""
    references = parts.evaluation.references
    found = {}
    for name, code in parts.attacks.items():
        rows = by_attack(references, [code])[UNSEEN]
        found[name] = 100 * float(ss.range_eer(references.take(rows), scores.take(rows)).value)
    rows = by_attack(references, list(parts.attacks.values()))[SEEN]
    found[SEEN] = 100 * float(ss.range_eer(references.take(rows), scores.take(rows)).value)
    return found


def run_one(recipe: str, number: int, seed: int, parts: Split, material: Material, out: Path) -> dict[str, float]:
    """The figures of one training, from its file if it is there."""
    place = out / "recipes" / f"{recipe.replace(' ', '-')}-{number}-{seed}"
    kept, made = place.with_suffix(".json"), RECIPES[recipe]
    if not kept.is_file():
        began = time.process_time()
        if isinstance(made, Options):
            scores = trial(made, seed, parts.data.train, parts.evaluation, material)
        else:
            config = preset("small-cpu").changed(made).changed({"training": {"seed": seed}})
            scores = scored(config, parts, place)
        found = {**figures(parts, scores), "cpu": time.process_time() - began}
        place.parent.mkdir(parents=True, exist_ok=True)
        np.savez(place.with_suffix(".npz"), values=scores.values)
        write_atomically(kept, [json.dumps(found).encode()], force=True)
    found = json.loads(kept.read_text(encoding="utf-8"))
    print(f"{recipe}, split {number}, seed {seed}: {found}", file=sys.stderr, flush=True)
    return found


def mean_of_seeds(recipe: str, number: int, seeds: list[int], parts: Split, out: Path) -> dict[str, float]:
    """The figures of the mean score of several trainings."""
    name = recipe.replace(" ", "-")
    columns = [np.load(out / "recipes" / f"{name}-{number}-{seed}.npz")["values"] for seed in seeds]
    references = parts.evaluation.references
    counts = [frame_count(samples) for samples in parts.evaluation.samples]
    values = np.split(np.mean(columns, axis=0), np.cumsum(counts)[:-1])
    frames = dict(zip(references.utterances, values, strict=True))
    return {**figures(parts, Scores.from_frames(frames, hop=0.02, higher="bonafide")), "cpu": 0.0}


Cells = dict[tuple[int, int], dict[str, float]]  # of a split and a seed


def unseen(cell: dict[str, float]) -> float:
    return float(np.mean([value for name, value in cell.items() if name not in (SEEN, "cpu")]))


def table(found: dict[str, Cells]) -> list[list[str]]:
    rows = [
        ["recipe", "splits x seeds", "seen", "mean unseen (95 %)", "worst attack", "less small-cpu (95 %)", "CPU s"]
    ]
    for recipe, cells in found.items():
        splits, seeds = (len({key[i] for key in cells}) for i in (0, 1))
        mean, low, high = two_way({key: unseen(one) for key, one in cells.items()})
        attacks: dict[str, list[float]] = {}
        for cell in cells.values():
            for name, value in cell.items():
                if name not in (SEEN, "cpu"):
                    attacks.setdefault(name, []).append(value)
        worst = max(attacks, key=lambda name: np.mean(attacks[name]))
        own = CHOSEN_IN_MEMORY if isinstance(RECIPES[MEANS.get(recipe, recipe)], Options) else CHOSEN
        chosen = found.get(own, {})
        pairs = {key: unseen(one) - unseen(chosen[key]) for key, one in cells.items() if key in chosen}
        against = ""
        if pairs and recipe != own:
            against = "{:+.1f} ({:+.1f} to {:+.1f})".format(*two_way(pairs))
        rows.append(
            [
                recipe,
                f"{splits} x {seeds}" if len(cells) == splits * seeds else f"{len(cells)} of {splits} x {seeds}",
                f"{np.mean([one[SEEN] for one in cells.values()]):.1f}",
                f"{mean:.1f} ({low:.1f} to {high:.1f})",
                f"{worst} {np.mean(attacks[worst]):.1f}",
                against,
                f"{np.mean([one['cpu'] for one in cells.values()]):.0f}",
            ]
        )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="real recordings: bonafide/SPEAKER/*")
    parser.add_argument("--out", type=Path, default=Path("real-speech"), help="what is made is kept here")
    parser.add_argument("--splits", default="0,1,2,3,4")
    parser.add_argument("--seeds", default="1,10,100")
    parser.add_argument("--recipes", type=int, nargs="+", default=list(range(len(RECIPES))), help="by place")
    parser.add_argument("--table", action="store_true", help="train nothing: print what is there")
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    corpus, names = corpus_of(arguments.folder, arguments.out)
    splits, seeds = ([int(one) for one in text.split(",")] for text in (arguments.splits, arguments.seeds))
    found: dict[str, Cells] = {}
    parts = {number: split(corpus, names, number) for number in splits}
    material = Material(corpus, arguments.out)
    with remembered_features():
        for seed, number, place in product(seeds, splits, arguments.recipes):
            recipe = list(RECIPES)[place]
            kept = arguments.out / "recipes" / f"{recipe.replace(' ', '-')}-{number}-{seed}.json"
            if not arguments.table or kept.is_file():
                cell = run_one(recipe, number, seed, parts[number], material, arguments.out)
                found.setdefault(recipe, {})[number, seed] = cell
    for name, recipe in MEANS.items():
        whole = [number for number in splits if all((number, seed) in found.get(recipe, {}) for seed in seeds)]
        if len(seeds) > 1 and whole:
            found[name] = {
                (number, seed): one
                for number in whole
                for one in [mean_of_seeds(recipe, number, seeds, parts[number], arguments.out)]
                for seed in seeds  # so that it is compared with each of them
            }
    print(markdown(table(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

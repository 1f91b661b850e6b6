"""The steps of an experiment. What is there already is not made again, so a run that was stopped is simply repeated."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spoofspan.base import progress
from spoofspan.base.documents import read_json
from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.extras import require
from spoofspan.base.locks import LOCK, own_folder
from spoofspan.base.version import __version__
from spoofspan.cm.scorers import JOINT_DETECTOR
from spoofspan.cm.scoring import score, sounds_of_dataset
from spoofspan.corpus.building import build
from spoofspan.corpus.settings import Settings
from spoofspan.experiment.results import (
    HeldOutResults,
    Results,
    attacks_in_turn,
    planned_in_turn,
    without_attack,
    write_held_out,
    write_results,
)
from spoofspan.experiment.setup import MEASURED_SETS, Experiment, Places, System
from spoofspan.formats.writing import write_atomically


def run(
    experiment: Experiment,
    out: str | Path,
    *,
    device: str | None = None,
    processes: int = 1,
    jobs: int | None = None,
    report: bool = True,
    say: bool = False,
) -> Results | HeldOutResults:
    """Run an experiment into a folder, or go on with one.

    Where each attack is held out in turn (``hold_out="each"``), the results are those on attacks seen and unseen.
    ``processes`` train together, ``jobs`` build the corpus (None: one per core); ``say`` tells on stderr what is done.
    """
    require("torch", "safetensors", "soundfile", "soxr")
    steps = _Steps(experiment, Places.of(out, experiment), say)
    with own_folder(steps.places.out):
        steps.begin()
        return _run(steps, device, processes, jobs, report)


def _run(steps: _Steps, device: str | None, processes: int, jobs: int | None, report: bool) -> Results | HeldOutResults:
    from spoofspan.cm.batches import Corpus, TrainingData
    from spoofspan.cm.model_sources import CONFIG
    from spoofspan.cm.training import train

    experiment = steps.experiment
    in_turn = experiment.hold_out is not None
    with steps.step("corpus"):
        if experiment.data is None:
            held_out = () if in_turn else None  # in turn: every attack is in every set, and left out in training
            settings = Settings(seed=experiment.corpus_seed, utterances=experiment.utterances, held_out=held_out)
            build(steps.places.data, settings=settings, jobs=jobs)
    attacks = attacks_in_turn(experiment, steps.places) if in_turn else ()
    planned = planned_in_turn(experiment, attacks) if in_turn else list(experiment.planned())
    for number, system in enumerate(planned, 1):
        place = f" ({number} of {len(planned)})"
        if system.config is not None:
            with steps.step(f"training {system.title}", place):
                train_set, dev_set = (
                    Corpus.from_dataset(steps.places.dataset(subset), source=experiment.reference_source)
                    for subset in ("train", "dev")
                )
                if system.without is not None:
                    train_set, dev_set = (without_attack(one, system.without) for one in (train_set, dev_set))
                where = steps.places.model(system)
                how: Any = {"resume": (where / CONFIG).is_file(), "device": device, "processes": processes}
                train(system.config, TrainingData(train_set, dev_set), where, say=steps.say, **how)
        for subset in MEASURED_SETS[-1:] if in_turn else MEASURED_SETS:
            with steps.step(f"scoring {subset} with {system.title}", place):
                _score(steps.places, system, subset, device)
    if in_turn:
        with steps.step("tables"):
            return write_held_out(experiment, steps.places, planned, attacks)
    with steps.step("tables and report" if report else "tables"):
        return write_results(experiment, steps.places, planned, report=report)


class _Steps:
    """Completed steps and their duration."""

    def __init__(self, experiment: Experiment, places: Places, say: bool) -> None:
        self.experiment, self.places, self.say = experiment, places, say
        self.seconds: dict[str, float] = {}

    def begin(self) -> None:
        """Start, or go on with what is the same experiment."""
        if self.places.note.is_file():
            found = _read(self.places.note)
            # more systems or seeds may be asked for: what is there of the rest stays right
            same = {name: one for name, one in self.experiment.to_dict().items() if name not in ("systems", "seeds")}
            if any(found["experiment"].get(name) != one for name, one in same.items()):
                raise UsageError(
                    f"{self.places.note} is another experiment; go on with what it says, or name another folder"
                )
            self.seconds = found["seconds"]
        elif any(one.name != LOCK for one in self.places.out.iterdir()):
            raise UsageError(f"{str(self.places.out)!r} has other files in it; name a new folder")
        self._note()

    @contextmanager
    def step(self, name: str, place: str = "") -> Iterator[None]:
        """Do one step, and keep how long it took; a step that is taken up again adds to it."""
        if self.say:
            progress.wipe()
            print(f"{name}{place}", file=sys.stderr, flush=True)
        began = time.monotonic()
        yield
        self.seconds[name] = round(self.seconds.get(name, 0.0) + time.monotonic() - began, 1)
        self._note()

    def _note(self) -> None:
        about = {"spoofspan": __version__, "experiment": self.experiment.to_dict(), "seconds": self.seconds}
        write_atomically(self.places.note, [json.dumps(about, indent=2, ensure_ascii=False).encode()], force=True)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = read_json(path)
        if {"experiment", "seconds"} <= found.keys():
            return dict(found)
    except (ValueError, AttributeError):
        pass
    raise DataError(f"{path}: not written by spoofspan experiment; name another folder")


def _score(places: Places, system: System, subset: str, device: str | None) -> None:
    folder = places.scores(system, subset)
    done = folder / "done"
    if done.is_file():
        return
    checkpoint = JOINT_DETECTOR if system.config is None else places.model(system)
    sounds = sounds_of_dataset(places.dataset(subset))
    score(checkpoint, sounds, folder, device=device, force=True, allow_code=True)  # it was trained here
    write_atomically(done, [b""], force=True)  # the last file of several

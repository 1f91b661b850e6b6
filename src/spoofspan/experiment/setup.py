"""Setup of an experiment: systems, seeds, and its folder.

::

    OUT/experiment.json                                     what was asked for, and how long each step took
    OUT/corpus/                                             the built-in corpus, unless there is data
    OUT/models/multi/seed-1/                                a checkpoint
    OUT/scores/eval/multi/seed-1/scores_20ms.parquet        scores of each set and resolution
    OUT/tables/multi.{txt,md,tex,csv,json}                  the paper's Table 3; single: its Table 4
    OUT/tables/systems.{txt,md,tex,csv,json}                all systems, attacks seen and unseen in training
    OUT/report.html                                         where the systems err
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.cm.config import BASELINE, Config, preset
from spoofspan.cm.frame_times import BRANCHES, SEGMENT_BRANCHES, UTTERANCE, finest
from spoofspan.cm.scorers import JOINT_DETECTOR

SYSTEMS = {
    "multi": "all branches trained together",
    "single": "every branch trained alone: single-20, single-40, ..., single-utterance",
    "baseline": "logistic regression on the spectra that the light front-end sees",
    "shuffled": "multi, trained on labels that cannot be learned: about 50 % shows that nothing leaks",
    JOINT_DETECTOR: "no training: what can be had from hearing the cuts alone",
}
DEFAULT_SYSTEMS = ("multi", "baseline", JOINT_DETECTOR)
MEASURED_SETS = ("dev", "eval")


@dataclass(frozen=True)
class System:
    """One system with one seed; without a configuration, one that is not trained."""

    name: str
    seed: int | None
    config: Config | None
    without: str | None = None  # an attack that it is not trained on

    @property
    def folder(self) -> str:
        """Location of its files, below models/ and scores/SET/.

        >>> System("multi", 10, None).folder, System("joint-detector", None, None).folder
        ('multi/seed-10', 'joint-detector')
        """
        own = self.name if self.seed is None else f"{self.name}/seed-{self.seed}"
        return own if self.without is None else f"without-{self.without}/{own}"

    @property
    def title(self) -> str:
        """Title for people."""
        own = self.name if self.seed is None else f"{self.name}, seed {self.seed}"
        return own if self.without is None else f"{own}, without {self.without}"


@dataclass(frozen=True)
class Experiment:
    """Systems, seeds and data of an experiment."""

    config: Config = field(default_factory=lambda: preset("small-cpu-multi"))
    systems: tuple[str, ...] = DEFAULT_SYSTEMS
    seeds: tuple[int, ...] = (1,)
    data: str | None = None  # folder of PartialSpoof, or of a corpus like it; None: the built-in corpus
    reference_source: str | None = None  # which labels of the folder
    utterances: Mapping[str, int] | None = None  # of the built-in corpus, by set
    corpus_seed: int = 1
    hold_out: str | None = None  # "each": every attack in turn

    def __post_init__(self) -> None:
        for name in self.systems:
            if name not in SYSTEMS:
                raise UsageError(f"no system is called {name!r}: {nearest_name(name, SYSTEMS)}")
        if self.hold_out not in (None, "each"):
            raise UsageError(f"hold_out={self.hold_out!r}: 'each' holds out every attack in turn")
        for what, items in (("systems", self.systems), ("seeds", self.seeds)):
            if not items or len(set(items)) != len(items):
                raise UsageError(f"{what}: name at least one, and none twice")
        if self.data is not None and self.utterances is not None:
            raise UsageError("utterances are chosen for the built-in corpus; data has its own")
        if self.data is None and self.reference_source is not None:
            raise UsageError("reference_source chooses labels of data; the built-in corpus has one kind")

    def planned(self) -> Iterator[System]:
        """All systems: the first seed of everything before the next one.

        >>> [one.title for one in Experiment(systems=("multi", "joint-detector"), seeds=(1, 10)).planned()]
        ['joint-detector', 'multi, seed 1', 'multi, seed 10']
        """
        if JOINT_DETECTOR in self.systems:
            yield System(JOINT_DETECTOR, None, None)
        for seed in self.seeds:
            for name, config in self._configs():
                recipe = replace(config.training, seed=seed)
                yield System(name, seed, replace(config, training=recipe, labels=self.config.labels))

    def _configs(self) -> Iterator[tuple[str, Config]]:
        if "multi" in self.systems:
            yield "multi", self.config
        if "single" in self.systems:
            for branch in self.all_branches:
                network = replace(self.config.network, branches=(branch,))
                recipe = self.config.training
                if branch == UTTERANCE and recipe.stop_on != "loss":  # it has no windows to measure
                    recipe = replace(recipe, stop_on="utterance-eer")
                yield f"single-{branch.removesuffix('ms')}", replace(self.config, network=network, training=recipe)
        if "baseline" in self.systems:
            yield "baseline", BASELINE
        if "shuffled" in self.systems:
            yield "shuffled", replace(self.config, training=replace(self.config.training, shuffle_labels="frames"))

    def finest_branch(self, system: System) -> str:
        """The branch of the shortest windows that a system has, or that of utterances."""
        return finest(self.branches if system.config is None else system.config.network.branches) or UTTERANCE

    @property
    def branches(self) -> tuple[str, ...]:
        """The branches of windows that are trained, from the finest on."""
        return tuple(branch for branch in SEGMENT_BRANCHES if branch in self.config.network.branches)

    @property
    def all_branches(self) -> tuple[str, ...]:
        """The branches of windows, and that of utterances if it is trained."""
        return tuple(branch for branch in BRANCHES if branch in self.config.network.branches)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        rest = {one.name: getattr(self, one.name) for one in fields(self)[1:]}
        return {"configuration": self.config.to_toml(), **rest}


@dataclass(frozen=True)
class Places:
    """Paths of an experiment."""

    out: Path
    data: Path  # a folder with the layout of PartialSpoof

    @classmethod
    def of(cls, out: str | Path, experiment: Experiment) -> Places:
        """The places of an experiment."""
        folder = Path(out).expanduser()
        return cls(folder, folder / "corpus" if experiment.data is None else Path(experiment.data).expanduser())

    @property
    def note(self) -> Path:
        """Request and completed steps."""
        return self.out / "experiment.json"

    @property
    def tables(self) -> Path:
        """Folder of the tables."""
        return self.out / "tables"

    @property
    def page(self) -> Path:
        """The page."""
        return self.out / "report.html"

    def dataset(self, subset: str) -> str:
        """One set of the data, as ``--dataset`` names it."""
        return f"partialspoof:{self.data}:{subset}"

    def model(self, system: System) -> Path:
        """The checkpoint of a system."""
        return self.out / "models" / system.folder

    def scores(self, system: System, subset: str) -> Path:
        """Folder of the scores of a system."""
        return self.out / "scores" / subset / system.folder

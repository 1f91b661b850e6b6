"""What table and plot read: one set of references, or several, and the scores of several systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spoofspan.cli import options as o
from spoofspan.cli.inputs import FLAGS, Inputs
from spoofspan.errors import UsageError

if TYPE_CHECKING:
    from spoofspan import Dataset, References, Scores
    from spoofspan.formats.systems import SystemFile

ScoresPaths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SCORES",
        help="Score files, folders, or patterns such as 'unit{resolution}.score' (see docs/tables.md).",
    ),
]


@dataclass(frozen=True)
class Systems:
    """Where references and the scores of several systems are, as it was typed."""

    typed: Inputs  # all but the scores
    words: tuple[str, ...]  # the scores

    @classmethod
    def of(cls, scores: list[str] | None, **flags: Any) -> Systems:
        """What the flags say; with --dataset, the first word is one of the scores too."""
        inputs, words = Inputs(**flags), list(scores or ())
        if inputs.dataset is not None and inputs.references is not None:
            words.insert(0, inputs.references)
            inputs = replace(inputs, references=None)
        return cls(inputs, tuple(words))

    def of_set(self, subset: str | None) -> Systems:
        """The same with the name of a set in the place of {set}."""
        from spoofspan.formats.systems import fill_in_set

        names = ("references", "dataset", "durations", "reference_source")
        given = {name: getattr(self.typed, name) for name in names}
        filled: dict[str, Any] = {name: fill_in_set(text, subset) for name, text in given.items() if text is not None}
        return Systems(replace(self.typed, **filled), tuple(fill_in_set(word, subset) for word in self.words))

    def names_sets(self) -> bool:
        """Whether {set} is to be filled in, in the references at least."""
        return "{set}" in (self.typed.dataset or self.typed.references or "")

    def read(self, source: str | None = None) -> tuple[References, Dataset | None]:
        """Read the references; of a database, from a ``source`` other than the one that was typed, if given."""
        if self.typed.dataset is not None:
            from spoofspan import read_dataset

            self.typed.refuse_what_a_dataset_has()
            dataset = read_dataset(self.typed.dataset, source=source or self.typed.reference_source)
            typer.echo(dataset.about(), err=True)
            return dataset.references, dataset
        if not self.words:
            raise UsageError("give REFERENCES and SCORES..., or --dataset and SCORES...")
        return self.typed.read_known()[0], None

    def segment_labels(self, hop: float) -> References:
        """The label array of a hop in the database."""
        from spoofspan.measures import milliseconds

        return self.read(f"segment_labels@{milliseconds(hop)}")[0]

    def labels(self, where: str) -> References:
        """A label array in a file of its own."""
        from spoofspan import read_references

        return read_references(where, durations=self.typed.durations, format="segment-labels")

    def files(self, dataset: Dataset | None) -> list[SystemFile]:
        """The score files."""
        from spoofspan.formats.systems import find_systems, seeds_below

        if dataset is None:
            return find_systems(self.words)
        files: list[SystemFile] = []
        for word in self.words or (str(dataset.folder),):
            folder = Path(word).expanduser()
            found = dataset.scores_by_resolution(folder) if folder.is_dir() else {}
            files += seeds_below(folder, found) if found else find_systems([word])
        return files

    def scores(self, file: SystemFile) -> Scores:
        """Read one score file; its name may say the hop that --hop would."""
        inputs = self.typed if self.typed.hop is not None else replace(self.typed, hop=file.resolution)
        return inputs.read_scores(file.path)

    def rows(self, files: list[SystemFile]) -> Mapping[Any, Mapping[str, Scores]]:
        """The systems, by resolution or name and by seed, each read when it is looked up."""
        from spoofspan.formats.systems import Lazily, rows_of

        rows: Mapping[Any, Mapping[str, SystemFile]] = rows_of(files)
        return Lazily(rows, lambda key: Lazily(rows[key], partial(self._seed, rows[key])))

    def _seed(self, seeds: Mapping[str, SystemFile], seed: str) -> Scores:
        return self.scores(seeds[seed])


takes_systems = o.takes("systems", FLAGS | {"scores": ScoresPaths}, Systems.of)

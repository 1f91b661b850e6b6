"""What compare, report, table and plot read: references, of one set or several, and the scores of several systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spoofspan.base.errors import SpoofspanError, UsageError
from spoofspan.base.lazy import LazyMapping
from spoofspan.cli import options as o
from spoofspan.cli.inputs import FLAGS, Inputs, looks_like

if TYPE_CHECKING:
    from spoofspan.data.proposals import Proposals
    from spoofspan.data.references import References
    from spoofspan.data.scores import Scores
    from spoofspan.formats.datasets.partialspoof_dataset import Dataset
    from spoofspan.formats.datasets.systems import SystemFile
    from spoofspan.uncertainty.families import Trainings


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
        from spoofspan.formats.datasets.systems import fill_in_set

        names = ("references", "dataset", "durations", "reference_source")
        given = {name: getattr(self.typed, name) for name in names}
        filled: dict[str, Any] = {name: fill_in_set(text, subset) for name, text in given.items() if text is not None}
        return Systems(replace(self.typed, **filled), tuple(fill_in_set(word, subset) for word in self.words))

    def names_sets(self) -> bool:
        """Whether {set} is to be filled in, in the references at least."""
        return "{set}" in (self.typed.dataset or self.typed.references or "")

    def read(self) -> tuple[References, Dataset | None]:
        """Read the references, and the database that has them, if one does."""
        if self.typed.dataset is not None:
            return self.typed.database.references, self.typed.database
        if not self.words:
            self._refuse_scores_alone()
            raise UsageError("give REFERENCES and SCORES..., or --dataset and SCORES...")
        if isinstance(self._references, SpoofspanError):
            raise self._references
        return self._references, None

    @cached_property
    def _references(self) -> References | SpoofspanError:
        """The references, read once, or why they cannot be: that file may have scores."""
        try:
            return self.typed.read_known()[0]
        except SpoofspanError as error:
            return error

    def read_each(self, fewest: int) -> tuple[References, dict[str, Scores]]:
        """Read the references, and each word (a file, a folder, a pattern) as the scores of one system."""
        files = self._files(fewest)
        for where in files.values():
            if self.typed.has_proposals(where):
                raise UsageError(
                    f"{where} has proposals, and this needs scores; eval, compare and table measure proposals"
                )
        return self.read()[0], {name: self.typed.read_scores(where) for name, where in files.items()}

    def read_trained(self, fewest: int, fps: float | None = None) -> tuple[References, dict[str, Trainings]]:
        """Read references, and each word as one system; files of a pattern with the same utterances are its trainings.

        A file may have proposals instead; their times are frames, ``fps`` of them in a second, or else seconds.
        """
        files = self._files(fewest)

        def read(where: str) -> Scores | Proposals:
            return self._proposals(where, fps) or self.typed.read_scores(where)

        return self.read()[0], {name: _trainings(where, read) for name, where in files.items()}

    def _files(self, fewest: int) -> dict[str, str]:
        """The files by the names of their systems, at least ``fewest`` of them."""
        files = named_files(self.words)
        if not files:
            self._refuse_scores_alone()
        if len(files) < fewest:
            least = "two systems" if fewest == 2 else "one system"
            raise UsageError(f"give REFERENCES and the scores of at least {least}, not of {len(files)}")
        return files

    def scores_alone(self) -> dict[str, Scores] | None:
        """Read scores that were given without references; None if references were given."""
        if (first := self._scores_first()) is None:
            return None
        files = named_files([first, *self.words])
        return {name: self.typed.read_scores(where) for name, where in files.items()}

    def _scores_first(self) -> str | None:
        """What was typed in the place of REFERENCES, if that has scores."""
        from spoofspan.formats.datasets.systems import split_name

        first = self.typed.references
        if self.typed.dataset is not None or first is None:
            return None
        known, found = looks_like(split_name(first)[1]), self._references
        # a Parquet file may be either; references that need an option are references
        if "scores" not in known or not isinstance(found, SpoofspanError):
            return None
        return None if "references" in known and isinstance(found, UsageError) else first

    def _refuse_scores_alone(self) -> None:
        """Say that references are missing where the only file has scores."""
        if (first := self._scores_first()) is not None:
            raise UsageError(
                f"{first} has scores, and nothing says where the spoofs are: give REFERENCES before it; without them "
                "there are spoofspan plot timeline and spoofspan report, with --threshold"
            )

    def segment_labels(self, hop: float) -> References:
        """The label array of a hop in the database."""
        from spoofspan.base.times import milliseconds

        return replace(self.typed, reference_source=f"segment_labels@{milliseconds(hop)}").database.references

    def labels(self, where: str) -> References:
        """A label array in a file of its own."""
        from spoofspan.formats.reading import read_references

        return read_references(where, durations=self.typed.durations, format="segment-labels")

    def files(self, dataset: Dataset | None) -> list[SystemFile]:
        """The score files."""
        from spoofspan.formats.datasets.systems import find_systems, seeds_below, split_name

        if dataset is None:
            return find_systems(self.words)
        files: list[SystemFile] = []
        for word in self.words or (str(dataset.folder),):
            name, place = split_name(word)
            folder = Path(place).expanduser()
            found = dataset.scores_by_resolution(folder) if folder.is_dir() else {}
            some = seeds_below(folder, found) if found else find_systems([place])
            files += [replace(one, system=name) for one in some] if name else some
        return files

    def scores(self, file: SystemFile) -> Scores:
        """Read one score file; its name may say the hop that --hop would."""
        inputs = self.typed if self.typed.hop is not None else replace(self.typed, hop=file.resolution)
        return inputs.read_scores(file.path)

    def _proposals(self, where: str, fps: float | None) -> Proposals | None:
        """Read a file if it is one of proposals."""
        if not self.typed.has_proposals(where):
            return None
        from spoofspan.formats.reading import read_proposals

        return read_proposals(where, fps=fps, format=self.typed.scores_format)

    def rows(self, files: list[SystemFile], fps: float | None = None) -> Mapping[Any, Mapping[str, Scores | Proposals]]:
        """The systems, by resolution or name and by seed, each read when it is looked up."""
        from spoofspan.formats.datasets.systems import rows_of

        def read(file: SystemFile) -> Scores | Proposals:
            return self._proposals(file.path, fps) or self.scores(file)

        rows: Mapping[Any, Mapping[str, SystemFile]] = rows_of(files)
        return LazyMapping(rows, lambda key: LazyMapping(rows[key], lambda seed: read(rows[key][seed])))


def _trainings(where: str, read: Callable[[str], Scores | Proposals]) -> Trainings:
    paths = sorted(glob(str(Path(where).expanduser()))) if has_magic(where) else []  # noqa: PTH207
    if len(paths) < 2:
        return read(where)
    first, second = (read(path) for path in paths[:2])
    if set(first.utterances).isdisjoint(second.utterances):  # parts of one system
        return read(where)
    rest = [read(path) for path in paths[2:]]
    return dict(zip(named_files(paths), (first, second, *rest), strict=True))  # type: ignore[return-value]


def named_files(words: Sequence[str]) -> dict[str, str]:
    """Files by the names of their systems: ``NAME=FILE``, or FILE, whose name without its ending it is then.

    >>> named_files(["a/unit0.02.score", "multi=b/unit0.02.score"])
    {'unit0.02': 'a/unit0.02.score', 'multi': 'b/unit0.02.score'}
    """
    from spoofspan.formats.datasets.systems import split_name

    pairs = [(name, where, Path(where).stem if where != "-" else where) for name, where in map(split_name, words)]
    names = [name or stem for name, _, stem in pairs]
    # files of one name in several folders are told apart by their paths
    told = [(name or (stem if names.count(stem) == 1 else where), where) for name, where, stem in pairs]
    found = dict(told)
    if len(found) < len(told):
        raise UsageError("two systems have the same name; tell them apart with NAME=FILE")
    return found


def _takes(about: str) -> Callable[[o.Command], o.Command]:
    scores = Annotated[list[str] | None, typer.Argument(metavar="SCORES", help=about)]
    return o.takes("systems", FLAGS | {"scores": scores}, Systems.of)


takes_systems = _takes("Score files, folders, or patterns such as 'unit{resolution}.score' (see docs/tables.md).")
takes_each_system = _takes("The scores of each system, as FILE or NAME=FILE.")
takes_trained_systems = _takes("The scores of each system, as FILE or NAME=FILE; of several seeds, as NAME='PATTERN'.")

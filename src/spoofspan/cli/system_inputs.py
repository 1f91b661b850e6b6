"""References and the scores of several systems, as compare, report, table and others read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from spoofspan.base.errors import SpoofspanError, UsageError, nearest_name
from spoofspan.cli import options as o
from spoofspan.cli.declarations import OptionGroup
from spoofspan.cli.inputs import FLAGS, Inputs
from spoofspan.data.front_door import separate_seeds

if TYPE_CHECKING:
    from spoofspan.data.references import References
    from spoofspan.data.scores import Scores
    from spoofspan.data.utterance_scores import UtteranceScores
    from spoofspan.evaluation.stated_result import LearnedThreshold
    from spoofspan.formats.datasets.partialspoof_dataset import Dataset
    from spoofspan.formats.datasets.systems import SystemFile
    from spoofspan.formats.sources import Where
    from spoofspan.uncertainty.families import Trainings
    from spoofspan.uncertainty.measured_system import System


V = TypeVar("V")


@dataclass(frozen=True)
class Systems:
    """References and the scores of several systems, as they were typed."""

    typed: Inputs  # all but the scores
    words: tuple[str, ...]  # the scores
    sets: tuple[str, ...] = ()  # --set
    set_name: str | None = None  # the set that {set} stands for
    higher: Mapping[str, str] = field(default_factory=dict)  # of some systems, by name

    @classmethod
    def of(
        cls, scores: list[str] | None, sets: list[str] | None, higher: list[str] | None = None, **flags: Any
    ) -> Systems:
        """Build the inputs from flags; with --dataset, the first word is one of the scores too."""
        named = dict(one.rsplit("=", 1) for one in higher or () if "=" in one)
        others = [one for one in higher or () if "=" not in one]
        if len(set(others)) > 1:
            raise UsageError("--higher says two things of all systems; say it of each: --higher NAME=spoof")
        inputs, words = Inputs(**flags, higher=others[0] if others else None), list(scores or ())
        if inputs.dataset is not None and inputs.references is not None:
            words.insert(0, inputs.references)
            inputs = replace(inputs, references=None)
        return cls(inputs, tuple(words), tuple(sets or ()), higher=named)

    @classmethod
    def of_one_set(cls, **flags: Any) -> Systems:
        """Build the inputs of a command that shows one set."""
        systems = cls.of(**flags)
        if len(systems.sets) > 1:
            raise UsageError("give one --set here; spoofspan table and spoofspan domains take several")
        paths = (systems.typed.dataset, systems.typed.references, systems.typed.durations, *systems.words)
        if systems.sets and not any("{set}" in (path or "") for path in paths):
            raise UsageError(f"--set {systems.sets[0]} needs {{set}} in a path, where the name is filled in")
        return systems.of_set(systems.sets[0] if systems.sets else None)

    def of_set(self, set_name: str | None) -> Systems:
        """Fill in {set} with the name of a set."""
        from spoofspan.formats.datasets.systems import fill_in_set

        names = ("references", "dataset", "durations", "reference_source")
        given = {name: getattr(self.typed, name) for name in names}
        filled: dict[str, Any] = {name: fill_in_set(text, set_name) for name, text in given.items() if text is not None}
        for word in self.words:
            fill_in_set(word, set_name)
        return replace(self, typed=replace(self.typed, **filled), set_name=set_name)

    @property
    def corpus_name(self) -> str:
        """The name of the database, or of the file of references."""
        return Path(self.typed.dataset or self.typed.references or "").name

    def names_sets(self) -> bool:
        """True if {set} is to be filled in, in the references at least."""
        return "{set}" in (self.typed.dataset or self.typed.references or "")

    def read(self) -> tuple[References, Dataset | None]:
        """Read the references, and the database that has them, if one does."""
        if self.typed.dataset is not None:
            return self.typed.with_ids(self.typed.database.references), self.typed.database
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

    @cached_property
    def of_utterances(self) -> bool:
        """True if a file has scores of whole utterances, as far as the first bytes tell."""
        return any(self.typed.has_utterance_scores(one.path) for one in self.files()) if self.words else False

    @property
    def default_measure(self) -> str:
        """Measure used if none is named."""
        return "utterance-eer" if self.of_utterances else "range-eer"

    def metadata(self) -> Where | Sequence[Where] | None:
        """The file that says who speaks: a database's, or the one with the labels of whole utterances."""
        return self.typed.protocol() or self.typed.labels_file()

    def truth(self) -> References | Mapping[str, str]:
        """The references; of whole utterances they may be a protocol, or labels."""
        return replace(self.typed, column=None).read_truth() if self.of_utterances else self.read()[0]

    def read_each(self, fewest: int) -> tuple[Any, dict[str, Any]]:
        """Read the references, and the scores of each system; several seeds of one are systems of their own.

        Scores may be of whole utterances, and references be their labels.
        """
        scores = self.read_scores(fewest)
        return self.truth(), scores

    def read_scores(self, fewest: int = 1) -> dict[str, Any]:
        """Read the scores of each system; several seeds of one are systems of their own."""

        def read(file: SystemFile) -> Scores | UtteranceScores:
            if self.typed.has_proposals(file.path):
                raise UsageError(
                    f"{file.path} has proposals, and this needs scores; eval, compare and table measure proposals"
                )
            return self.any_scores(file)

        return dict(separate_seeds(self._open(read, fewest, separate=True)))

    def read_trained(
        self, fewest: int, fps: float | None = None
    ) -> tuple[References | Mapping[str, str], dict[str, Trainings]]:
        """Read the references, and the scores of each system by seed.

        A file may have proposals instead; their times are frames, ``fps`` of them in a second, or else seconds. Or it
        may have scores of whole utterances.
        """
        from spoofspan.formats.datasets.systems import nested

        systems = self._open(partial(self._any_system, fps=fps), fewest)
        return self.truth(), nested(systems)  # type: ignore[return-value] # kinds that are mixed are refused later

    def any_scores(self, file: SystemFile) -> Scores | UtteranceScores:
        """Read scores in time, or of whole utterances."""
        if not self.typed.has_utterance_scores(file.path):
            return self.scores(file)
        return self._typed_for(file).read_utterance_scores(file.path)

    def _typed_for(self, file: SystemFile) -> Inputs:
        """Description of the scores of a system, which may be said by its name."""
        if not self.higher:
            return self.typed
        from spoofspan.formats.datasets.systems import systems_of

        named = {one.path: name for name, seeds in systems_of(self.files()).items() for one in seeds.values()}
        for name in self.higher:
            if name not in named.values():
                raise UsageError(f"--higher {name}=...: no such system; {nearest_name(name, list(named.values()))}")
        name = named.get(file.path, file.system or file.label)
        return replace(self.typed, higher=self.higher.get(name, self.typed.higher))

    def _open(
        self, read: Callable[[SystemFile], V], fewest: int, *, separate: bool = False
    ) -> Mapping[str, Mapping[str, V]]:
        """The systems by name and seed, at least ``fewest`` of them, with seeds as ``separate`` systems or not."""
        from spoofspan.formats.datasets.systems import open_systems

        if not self.words and self.typed.dataset is None:
            self._refuse_scores_alone()
        systems = open_systems(self.files(), read)
        count = len(separate_seeds(systems) if separate else systems)
        if count < fewest:
            self._refuse_scores_alone()  # which may have been meant as the scores of one more
            least = "two systems" if fewest == 2 else "one system"
            alone = "; spoofspan eval measures one" if count == 1 else ""
            raise UsageError(f"give REFERENCES and the scores of at least {least} (got {count}){alone}")
        return systems

    def scores_alone(self) -> dict[str, Scores] | None:
        """Read scores that were given without references; None if references were given."""
        from spoofspan.formats.datasets.systems import find_systems, open_systems

        if (first := self._scores_first()) is None:
            return None
        files = find_systems([first, *self.words], set_name=self.set_name)
        return dict(separate_seeds(open_systems(files, self.scores)))

    def _scores_first(self) -> str | None:
        """Path in the place of REFERENCES, if it has scores."""
        from spoofspan.formats.datasets.systems import find_systems
        from spoofspan.formats.identify import Contents

        first = self.typed.references
        if self.typed.dataset is not None or first is None:
            return None
        try:
            known = Contents(find_systems(first)[0].path).kinds
        except UsageError:
            return None
        found = self._references
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

    def files(self) -> list[SystemFile]:
        """Find the score files; with --dataset, also in PartialSpoof's layout."""
        from spoofspan.formats.datasets.systems import fill_in_set, find_systems, refuse_twice, seeds_below, split_name

        if self.typed.dataset is None:
            return find_systems(self.words, set_name=self.set_name)
        dataset = self.typed.database
        files: list[SystemFile] = []
        for word in self.words or (str(dataset.folder),):
            name, place = split_name(fill_in_set(word, self.set_name))
            folder = Path(place).expanduser()
            found = dataset.scores_by_resolution(folder) if folder.is_dir() else {}
            if (hop := self.typed.hop) is not None:
                found = {one: paths for one, paths in found.items() if abs(one - hop) < 1e-9} or found
            below = [replace(one, system=name) for one in seeds_below(folder, found)]
            if not self.words and not below:
                raise UsageError("there is no score file of this set in the database; give SCORES, a file or a folder")
            files += below or find_systems(word, set_name=self.set_name)
        return refuse_twice(files)

    def scores(self, file: SystemFile) -> Scores:
        """Read one score file; its path may say the hop that --hop would."""
        from spoofspan.formats.datasets.systems import with_stated_hop

        typed = self._typed_for(file)
        return with_stated_hop(file, typed.hop, lambda hop: replace(typed, hop=hop).read_scores(file.path))

    def _any_system(self, file: SystemFile, fps: float | None) -> System:
        """Proposals, scores in time, or scores of whole utterances."""
        if self.typed.has_proposals(file.path):
            return self.typed.read_proposals(file.path, fps)
        return self.any_scores(file)

    def rows(self, files: list[SystemFile], fps: float | None = None) -> Mapping[Any, Mapping[str, System]]:
        """The systems, by resolution or name and by seed, each read when it is looked up."""
        from spoofspan.formats.datasets.systems import open_systems, rows_of

        return open_systems(files, partial(self._any_system, fps=fps), rows_of)


def thresholds_by_system(
    flag: str, typed: Sequence[str] | None, files: Sequence[str] | None, measure: str, names: Sequence[str] = ()
) -> dict[str, LearnedThreshold]:
    """Thresholds typed as NAME=NUMBER, or as NAME=FILE by ``flag``-from; those without a name are of all ``names``."""
    from spoofspan.evaluation.stated_result import LearnedThreshold, read_threshold

    found: dict[str, LearnedThreshold] = {}
    for option, words in ((flag, typed), (f"{flag}-from", files)):
        for word in words or ():
            name, equals, value = word.partition("=")
            if names and (not equals or Path(word).exists()):  # a path may have an = of its own
                name, value = "", word
            if not value or not (name or names):
                raise UsageError(f"{option} {word}: say which system it is for, as {option} NAME=...")
            if option == flag:
                try:
                    one = LearnedThreshold(float(value))
                except ValueError:
                    raise UsageError(f"{option} {word}: {value!r} is no number") from None
            else:
                one = read_threshold(Path(value), [measure])
            for system in [name] if name else names:
                if system in found:
                    raise UsageError(f"{option} {word}: {system} has a threshold already; give one for each system")
                found[system] = one
    return found


SCORES = Annotated[
    list[str] | None,
    o.argument(
        metavar="SCORES",
        help="FILE, NAME=FILE, NAME='GLOB' (its files are seeds), a folder, or a pattern with {system}, {seed}, "
        "{resolution} and {set}.",
    ),
]
SETS = Annotated[list[str] | None, o.option("Name to insert for {set} in all paths.", "--set")]
SEVERAL_SETS = Annotated[
    list[str] | None, o.option("Name to insert for {set} in all paths. May be repeated (dev, eval).", "--set")
]
HIGHER = Annotated[
    list[str] | None,
    o.option("Class with high scores: bonafide or spoof; NAME=spoof for one system. May be repeated.", "--higher"),
]
# Systems on one set, and on several.
OneSet = Annotated[Systems, OptionGroup(FLAGS | {"higher": HIGHER, "scores": SCORES, "sets": SETS}, Systems.of_one_set)]
SeveralSets = Annotated[
    Systems, OptionGroup(FLAGS | {"higher": HIGHER, "scores": SCORES, "sets": SEVERAL_SETS}, Systems.of)
]

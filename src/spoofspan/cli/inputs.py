"""What eval and check read: references and scores, from files of their own or from the folder of a database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import typer

from spoofspan.base.errors import UsageError
from spoofspan.cli import options as o
from spoofspan.data.rules import RULES
from spoofspan.formats.format import OF_REFERENCES

if TYPE_CHECKING:
    from spoofspan.data.references import References
    from spoofspan.data.scores import Scores
    from spoofspan.data.utterance_scores import UtteranceScores
    from spoofspan.formats.datasets.partialspoof_dataset import Dataset
    from spoofspan.formats.identify import Contents
    from spoofspan.formats.sources import Where
    from spoofspan.scale.shards import ShardedCorpus

T = TypeVar("T")
NOTHING_TYPED = "give REFERENCES and SCORES, or --dataset and SCORES"
# Files in the wrong place, by that place and by what they hold.
MISPLACED = {
    ("references", "scores"): "{} looks like scores; REFERENCES come first, then SCORES",
    ("references", "utterance labels"): (
        "{} has labels of whole utterances, without times, which go with scores of whole utterances; scores in time "
        "need references in time, such as RTTM"
    ),
    ("scores", "utterance scores"): (
        "{} has scores of whole utterances, without times; spoofspan eval takes them beside scores in time with "
        "--utterance-scores, and eval, compare, calibrate, fuse, plan and domains take them in the place of SCORES"
    ),
    ("durations", "references"): (
        "{} looks like references, and is given as --durations; give a file of <utterance> <seconds>, or leave "
        "--durations out"
    ),
    ("durations", "scores"): (
        "{} looks like scores, and is given as --durations; give SCORES after REFERENCES, and --durations a file of "
        "<utterance> <seconds>"
    ),
}


@dataclass(frozen=True)
class Inputs:
    """Where both sides are, as it was typed, and what must be told about them."""

    references: o.ReferencesPath = None
    scores: o.ScoresPath = None
    dataset: o.DatasetSpec = None
    reference_source: o.ReferenceSource = None
    reference_format: o.ReferenceFormat = None
    scores_format: o.ScoresFormat = None
    durations: o.Durations = None
    hop: o.Hop = None
    reference_hop: o.ReferenceHop = None
    higher: o.HigherOption = None
    column: o.Column = None
    label2id: o.LabelIds = None
    split: o.Split = None
    modality: o.Modality = None
    subset: o.Subset = None
    spoof_label: o.SpoofLabel = None
    bare_ids: o.BareIds = None
    assumed: Mapping[str, Any] = field(default_factory=dict)  # of files that do not state it: higher, hop
    whole_utterances: bool = False  # known otherwise: the scores are of whole utterances
    _looks: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)  # Contents of paths not yet read

    def __post_init__(self) -> None:
        if self.references == self.scores == "-":
            raise UsageError("REFERENCES and SCORES cannot both be standard input (-); give one of them as a file")
        if self.reference_source is not None and self.dataset is None:
            raise UsageError("--reference-source goes with --dataset")

    def read(self) -> tuple[References, Scores]:
        """Read both sides."""
        references, scores = self.read_known(wanted=True)
        if scores is None:
            raise UsageError("there is no score file of this set in the database; give SCORES, a file or a folder")
        return references, scores

    def read_known(self, *, wanted: bool = False) -> tuple[References, Scores | None]:
        """Read the references, and the scores if they are given or ``wanted``."""
        if self.dataset is not None:
            return self._read_dataset(wanted)
        where = self._files(wanted)[0]
        # One after the other: a thread for each took 0.97 to 1.0 of the wall time, and both imported Arrow at once.
        references = self.references_from(where)
        return references, None if self.scores is None else self.read_scores(self.scores)

    def _files(self, wanted: bool = True) -> tuple[str, str | None]:
        """The files that were typed; said before a large one is read, if one is missing."""
        if self.references is None:
            raise UsageError(NOTHING_TYPED)
        if wanted and self.scores is None:
            raise UsageError("give SCORES after REFERENCES, or --dataset and SCORES")
        return self.references, self.scores

    def too_large(self) -> bool:
        """Whether both sides would not fit into memory, as far as the sizes of the files tell."""
        if self.dataset is not None:
            return False
        from spoofspan.scale.memory import fits_into_memory

        return not fits_into_memory([one for where in self._files() for one in self.identify(str(where)).sources])

    def identify(self, where: Where) -> Contents:
        """What a path holds; until it is read, it is looked at once."""
        from spoofspan.formats.identify import Contents

        return self._looks.setdefault(where, Contents(where))  # type: ignore[no-any-return]

    def take(self, where: Where, name: str | None) -> Where | Sequence[Where]:
        """What to give to the reader of a path: if no format is named, the sources that were looked at."""
        looked = self._looks.pop(where, None)
        return where if looked is None or name is not None else looked.sources

    @contextmanager
    def sharded(self, jobs: int | None = None) -> Iterator[ShardedCorpus]:
        """Cut both sides into shards on disk, for as long as the context lasts."""
        from spoofspan.scale.sharding import sharded

        self._refuse_bare_ids()
        if self.dataset is not None:
            raise UsageError(
                "--stream and --jobs go with files, not with --dataset; convert its scores to Parquet first"
            )
        references, scores = self._files()
        cut = partial(
            sharded,
            self.take(references, self.reference_format),
            self.take(str(scores), self.scores_format),
            reference_format=self.reference_format,
            scores_format=self.scores_format,
            durations=self.durations,
            reference_hop=self._hop_of_labels(),
            jobs=jobs,
            **self._about_references(),
        )
        with naming_misplaced(), ExitStack() as stack:
            yield self.told(lambda **more: stack.enter_context(cut(**(self._about_scores() | more))))

    @contextmanager
    def on_cluster(self, scheduler: str) -> Iterator[ShardedCorpus]:
        """Spread both sides over the workers of a Dask scheduler, for as long as the context lasts."""
        from spoofspan.integrations.dask import connected_corpus

        self._refuse_bare_ids()
        o.refuse_typed(
            self,
            ("dataset", "reference_format", "scores_format", "durations", "reference_hop", "label2id", *OF_REFERENCES),
            "does not go with --scheduler, which reads Parquet; spoofspan convert makes it",
        )
        references, scores = self._files()
        about = {"hop": self.hop, "higher": o.polarity(self.higher), "column": self.column}
        connect = partial(connected_corpus, scheduler, references, str(scores))
        with ExitStack() as stack:
            yield self.told(lambda **more: stack.enter_context(connect(**(about | more))))

    def _refuse_bare_ids(self) -> None:
        if self.bare_ids:
            raise UsageError(
                "--bare-ids needs the corpus in memory; leave --stream, --jobs and --scheduler out, or write the ids "
                "so: spoofspan convert IN OUT --bare-ids"
            )

    def references_from(self, where: Where) -> References:
        """Read the references of a file."""
        from spoofspan.formats.reading import read_references

        return self._read_from(self.take(where, self.reference_format), read_references)

    def read_truth(self) -> References | Mapping[str, str]:
        """Read REFERENCES, which may be labels of whole utterances."""
        if self.dataset is not None or self.references is None:
            return self.read_known()[0]
        from spoofspan.formats.reading import read_truth

        # the same file may have the metadata, and is not opened again for them
        looked = self.references if self.reference_format is not None else self.identify(self.references).sources
        return self._read_from(looked, read_truth)

    def _read_from(self, where: Where | Sequence[Where], read: Callable[..., T]) -> T:
        from spoofspan.data.references import References

        about: dict[str, Any] = {"format": self.reference_format, "hop": self._hop_of_labels()}
        about |= self._about_references()
        with naming_misplaced():
            found = self.with_ids(
                self._with_durations(
                    lambda durations: self.told(
                        lambda **more: read(where, durations=durations, **(about | more)), of=("hop",)
                    )
                )
            )
        if isinstance(found, References) and found.durations is None and found.names_both_classes:
            typer.echo(
                "note: without --durations an utterance ends where its last range does, and the signature names other "
                "references than with them",
                err=True,
            )
        return found

    def _with_durations(self, read: Callable[[Any], T]) -> T:
        """Read with --durations, which are looked up by the ids in the file or, with --bare-ids, by bare ones."""
        if not self.bare_ids or self.durations is None:
            return read(self.durations)
        from spoofspan.base.errors import DataError
        from spoofspan.formats.text.durations import read_durations

        known = read_durations(self.durations)
        try:
            return read(known)
        except DataError:
            return read(self.with_ids(known))

    def _hop_of_labels(self) -> float | None:
        """--hop speaks of label arrays too, unless their own name does."""
        from spoofspan.formats.arrays.npz import resolution_of_name, stated_in_npz

        if self.reference_hop is not None:
            return self.reference_hop
        where = str(self.references)
        if self.hop is None or resolution_of_name(where) is not None:
            return None
        states_it = where.endswith(".npz") and "hop" in stated_in_npz(self.identify(where).sources[0])
        return None if states_it else self.hop

    def _about_references(self) -> dict[str, Any]:
        """Options of some formats of references: which part of metadata counts, and which label means spoof."""
        RULES["modality"].check(self.modality)
        return {name: getattr(self, name) for name in OF_REFERENCES}

    def _about_scores(self) -> dict[str, Any]:
        """What reading scores is told."""
        higher = o.polarity(self.higher)
        return {"hop": self.hop, "higher": higher, "column": self.column, "label2id": self.label2id}

    def has_proposals(self, where: str) -> bool:
        """Whether a file is, or shall be read as, proposals and not scores."""
        from spoofspan.formats.identify import is_proposals

        return is_proposals(self.identify(where), self.scores_format)

    def has_utterance_scores(self, where: str) -> bool:
        """Whether a file is, or shall be read as, scores of whole utterances."""
        from spoofspan.formats.identify import LABELS, is_utterance_scores

        known = self.identify(where)
        if self.scores_format is None and known.holds(LABELS) and known.kinds == {LABELS}:
            raise UsageError(
                f"{where} has labels of whole utterances, and is given as SCORES; REFERENCES come first, then SCORES"
            )
        labels = self.whole_utterances or self.labels_file() is not None
        return is_utterance_scores(known, self.scores_format, labels=labels)

    def read_utterance_scores(self, where: str) -> UtteranceScores:
        """Read scores of whole utterances from a file in the place of scores."""
        from spoofspan.formats.reading import read_utterance_scores

        about: dict[str, Any] = {"column": self.column, "higher": o.polarity(self.higher)}
        looked = self.take(where, self.scores_format)
        return self.with_ids(
            self.told(lambda **more: read_utterance_scores(looked, self.scores_format, **(about | more)))
        )

    def with_ids(self, content: T) -> T:
        """What was read, under the ids that were asked for."""
        if not self.bare_ids:
            return content
        from spoofspan.base.other_ids import bare_id
        from spoofspan.data.bare_ids import with_bare_ids

        made = with_bare_ids(content)
        ids: Any = getattr(content, "utterances", content)
        if changed := [one for one in ids if bare_id(one) != one]:
            typer.echo(
                f"note: --bare-ids: {changed[0]!r} is read as {bare_id(changed[0])!r} ({len(changed):,} ids)", err=True
            )
        return made

    def read_scores(self, where: str) -> Scores:
        """Read scores from a file, as both sides were described."""
        from spoofspan.formats.reading import read_scores

        about = {"format": self.scores_format, "durations": self.durations, **self._about_scores()}
        looked = self.take(where, self.scores_format)
        with naming_misplaced():
            return self.with_ids(self.told(lambda **more: read_scores(looked, **(about | more))))

    def told(self, read: Callable[..., T], of: Sequence[str] = ("hop", "higher")) -> T:
        """Read a file; if it leaves open what a benchmark says, read it with that."""
        more: dict[str, Any] = {}
        while True:  # one thing after the other may turn out to be unsaid
            try:
                return read(**more)
            except UsageError as error:
                unsaid = [name for name in of if name in self.assumed and f"{name}=" in str(error) and name not in more]
                if not unsaid:
                    raise
            more |= {name: self.assumed[name] for name in unsaid}

    def unused_columns(self, looked: Sequence[Where] | None = None) -> list[str]:
        """What is wrong with columns of the scores that are not measured; of a file that can be read again."""
        from spoofspan.formats.format import ReadOptions
        from spoofspan.formats.reading import check_unused_columns

        where = self.scores if self.dataset is None else self.references or self.scores
        if where is None or not Path(where).expanduser().is_file():
            return []
        return check_unused_columns(
            looked or where,
            self.scores_format,
            ReadOptions(hop=self.hop, higher=o.polarity(self.higher), column=self.column),
        )

    @cached_property
    def database(self) -> Dataset:
        """The database that --dataset names, read once; what it has is said."""
        from spoofspan.formats.datasets.partialspoof_dataset import read_dataset

        o.refuse_typed(
            self,
            ("reference_format", "reference_hop", "durations", "split", "spoof_label"),
            "does not go with --dataset, whose folder has it; leave it out",
        )
        RULES["modality"].check(self.modality)
        about: dict[str, Any] = {"modality": self.modality, "subset": self.subset}
        found = read_dataset(str(self.dataset), source=self.reference_source, **about)
        typer.echo(found.about(), err=True)
        return found

    def protocol(self) -> str | None:
        """The file that says who speaks, where a database has one."""
        found = None if self.dataset is None else self.database.files.get("protocol")
        return None if found is None else str(found)

    def labels_file(self) -> Sequence[Where] | None:
        """REFERENCES, if they are labels of whole utterances: these may stand beside speakers, attacks and codecs."""
        if self.dataset is not None or self.references is None or self.reference_format is not None:
            return None
        known = self.identify(self.references)
        return known.sources if known.has_only_labels else None

    def _read_dataset(self, wanted: bool) -> tuple[References, Scores | None]:
        if self.references is not None and self.scores is not None:
            raise UsageError(
                f"--dataset has the references: give SCORES alone, not {self.references!r} and {self.scores!r}"
            )
        where = self.scores if self.references is None else self.references  # the only word typed is the scores
        dataset, references = self.database, self.with_ids(self.database.references)
        if where is None and self.hop is None and not wanted:
            return references, None
        return references, self._scores_of(dataset, where)

    def _scores_of(self, dataset: Dataset, where: str | None) -> Scores | None:
        """The scores of a file, or the pickle of the hop asked for among those in a folder or in the database."""
        if where is not None and not Path(where).expanduser().is_dir():
            return self.read_scores(where)
        chosen = dataset.scores_path(self.hop, where)
        if chosen is None:
            return None if where is None else self.read_scores(where)
        typer.echo(f"  scores: {chosen}", err=True)
        return self.read_scores(str(chosen))


def read_column(metadata: Where | Sequence[Where] | None, bare_ids: bool | None, name: str) -> Mapping[str, str]:
    """The value of every utterance in a column of --metadata, for --by."""
    from spoofspan.data.bare_ids import with_bare_ids
    from spoofspan.formats.text.protocol import read_metadata

    if metadata is None:
        near = ["kind"] if name == "attack" else get_close_matches(name, ("kind", "length", "boundary"), 1)
        without = f"; without it there is --by {near[0]}" if near else ""
        raise UsageError(f"--by {name}: give --metadata, a file that says the {name} of every utterance{without}")
    found = read_metadata(metadata, name)
    return with_bare_ids(found) if bare_ids else found


@contextmanager
def naming_misplaced() -> Iterator[None]:
    """Name a file in the wrong place in the words of the shell."""
    from spoofspan.formats.identify import MisplacedFileError

    try:
        yield
    except MisplacedFileError as error:
        if (text := MISPLACED.get((error.place, error.found))) is None:
            raise
        raise UsageError(text.format(error.name)) from None


def looks_like(where: Where) -> set[str]:
    """The kinds of content that a file may hold."""
    from spoofspan.formats.identify import Contents

    return Contents(where).kinds


NOT_TYPED = ("assumed", "whole_utterances", "_looks")
FLAGS = {one: kind for one, kind in get_type_hints(Inputs, include_extras=True).items() if one not in NOT_TYPED}
takes_inputs = o.takes("inputs", FLAGS, Inputs)

"""Inputs of eval, check, verify and diff: references and scores, from files or from the folder of a database.

:class:`Inputs` are both sides as they were typed. :class:`CorpusInputs` makes a corpus of them, in memory, in shards,
on a cluster, or of whole utterances. :mod:`spoofspan.cli.system_inputs` reads several systems.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from spoofspan.base.errors import UsageError
from spoofspan.base.seconds import milliseconds
from spoofspan.cli import completion
from spoofspan.cli import options as o
from spoofspan.cli.declarations import flags_of
from spoofspan.data.rules import RULES
from spoofspan.formats.format import OF_REFERENCES, read_assuming

if TYPE_CHECKING:
    from spoofspan.data.proposals import Proposals
    from spoofspan.data.references import References
    from spoofspan.data.scores import Scores
    from spoofspan.data.utterance_scores import UtteranceScores, VerificationScores
    from spoofspan.evaluation.corpus import Corpus
    from spoofspan.formats.datasets.partialspoof_dataset import Dataset
    from spoofspan.formats.identify import Contents
    from spoofspan.formats.sources import Where
    from spoofspan.measures.costs import VerificationErrors
    from spoofspan.scale.shards import ShardedCorpus

T = TypeVar("T")
ABOUT_FPS = "Frames per second, if the times of proposals are frame numbers."


@dataclass(frozen=True)
class Inputs:
    """Paths of both sides as typed, and their description."""

    references: o.ReferencesPath = None
    scores: o.ScoresPath = None
    dataset: o.DatasetSpec = None
    reference_source: o.ReferenceSource = None
    reference_format: o.ReferenceFormat = None
    scores_format: o.ScoresFormat = None
    durations: o.Durations = None
    hop: o.Hop = None
    training_resolution: o.TrainingResolution = None
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
        from spoofspan.formats.reading import read_references

        where = self._files(wanted)[0]
        # One after the other: a thread for each took 0.97 to 1.0 of the wall time, and both imported Arrow at once.
        references = self._read_labels(self.take(where, self.reference_format), read_references)
        return references, None if self.scores is None else self.read_scores(self.scores)

    def _files(self, wanted: bool = True) -> tuple[str, str | None]:
        """The files that were typed; said before a large one is read, if one is missing."""
        if self.references is None:
            raise UsageError("give REFERENCES and SCORES, or --dataset and SCORES")
        if wanted and self.scores is None:
            raise UsageError("give SCORES after REFERENCES, or --dataset and SCORES")
        return self.references, self.scores

    def too_large(self) -> bool:
        """True if both sides would not fit into memory, as far as the sizes of the files tell."""
        if self.dataset is not None:
            return False
        from spoofspan.scale.memory import fits_into_memory

        return not fits_into_memory([one for where in self._files() for one in self.identify(str(where)).sources])

    def identify(self, where: Where) -> Contents:
        """Content of a path; until it is read, it is looked at once."""
        from spoofspan.formats.identify import Contents

        return self._looks.setdefault(where, Contents(where))  # type: ignore[no-any-return]

    def take(self, where: Where, name: str | None) -> Where | Sequence[Where]:
        """Things to give to the reader of a path: if no format is named, the sources that were looked at."""
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
        with ExitStack() as stack:
            corpus = read_assuming(lambda **how: stack.enter_context(cut(**how)), self._about_scores(), self.assumed)
            yield self._trained_shards(corpus)

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
        about = {"hop": self.hop, "higher": self.higher, "column": self.column}
        connect = partial(connected_corpus, scheduler, references, str(scores))
        with ExitStack() as stack:
            corpus = read_assuming(lambda **how: stack.enter_context(connect(**how)), about, self.assumed)
            yield self._trained_shards(corpus)

    def _refuse_bare_ids(self) -> None:
        if self.bare_ids:
            raise UsageError(
                "--bare-ids needs the corpus in memory; leave --stream, --jobs and --scheduler out, or write the ids "
                "so: spoofspan convert IN OUT --bare-ids"
            )

    def read_truth(self) -> References | Mapping[str, str]:
        """Read REFERENCES, which may be labels of whole utterances."""
        if self.dataset is not None or self.references is None:
            return self.read_known()[0]
        from spoofspan.formats.reading import read_truth

        # the same file may have the metadata, and is not opened again for them
        looked = self.references if self.reference_format is not None else self.identify(self.references).sources
        return self._read_labels(looked, read_truth)

    def _read_labels(self, where: Where | Sequence[Where], read: Callable[..., T]) -> T:
        from spoofspan.data.references import References

        about: dict[str, Any] = {"format": self.reference_format, "hop": self._hop_of_labels()}
        read_it = partial(read, where, **self._about_references())
        try:
            found = self._read_with_durations(
                lambda known: self._read(read_it, {**about, "durations": known}, ("hop",))
            )
        except UsageError as error:  # --hop would speak of the scores too
            unsaid = re.sub(r"\bhop=(?![\w'])(?: \(--hop\))?", "hop= (--reference-hop)", str(error))
            raise error if unsaid == str(error) else UsageError(unsaid) from None
        if isinstance(found, References) and found.durations is None and found.names_both_classes:
            o.say(
                [
                    "note: no --durations: each utterance is assumed to end with its last label. Results are not "
                    "comparable with results that used --durations"
                ]
            )
        return found

    def _read_with_durations(self, read: Callable[[Any], T]) -> T:
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
        from spoofspan.formats.arrays.npz import stated_in_npz
        from spoofspan.formats.file_names import is_official_labels

        if self.reference_hop is not None:
            return self.reference_hop
        where = str(self.references)
        if self.hop is None or is_official_labels(where):
            return None
        states_it = where.endswith(".npz") and "hop" in stated_in_npz(self.identify(where).sources[0])
        return None if states_it else self.hop

    def _about_references(self) -> dict[str, Any]:
        """Options of some formats of references: which part of metadata counts, and which label means spoof."""
        return {name: getattr(self, name) for name in OF_REFERENCES}

    def _about_scores(self) -> dict[str, Any]:
        """Options for reading scores."""
        return {"hop": self.hop, "higher": self.higher, "column": self.column, "label2id": self.label2id}

    def has_proposals(self, where: str) -> bool:
        """True if a file is, or shall be read as, proposals and not scores."""
        from spoofspan.formats.identify import is_proposals

        return is_proposals(self.identify(where), self.scores_format)

    def has_utterance_scores(self, where: str) -> bool:
        """True if a file is, or shall be read as, scores of whole utterances."""
        from spoofspan.formats.identify import LABELS, is_utterance_scores, refuse_other_file

        known = self.identify(where)
        if self.scores_format is None and known.holds(LABELS) and known.kinds == {LABELS}:
            raise UsageError(
                f"{where} has labels of whole utterances, and is given as SCORES; REFERENCES come first, then SCORES"
            )
        labels = self.whole_utterances or self.labels_file() is not None
        found = is_utterance_scores(known, self.scores_format, labels=labels)
        if labels and not found and self.scores_format is None:
            refuse_other_file(known, "scores of whole utterances")
        return found

    def read_utterance_scores(self, where: str) -> UtteranceScores:
        """Read scores of whole utterances from a file in the place of scores."""
        from spoofspan.formats.reading import read_utterance_scores

        looked = self.take(where, self.scores_format)
        about = {"format": self.scores_format, "column": self.column, "higher": self.higher}
        return self._read(partial(read_utterance_scores, looked), about)

    def read_proposals(self, where: str, fps: float | None) -> Proposals:
        """Read proposals from a file in the place of scores; their times are frames if ``fps`` is given."""
        from spoofspan.formats.reading import read_proposals

        looked = self.take(where, self.scores_format)
        return self._read(partial(read_proposals, looked), {"format": self.scores_format, "fps": fps})

    def with_ids(self, content: T) -> T:
        """Content under the ids that were asked for."""
        if not self.bare_ids:
            return content
        from spoofspan.base.other_ids import bare_id
        from spoofspan.data.bare_ids import with_bare_ids

        made = with_bare_ids(content)
        ids: Any = getattr(content, "utterances", content)
        if changed := [one for one in ids if bare_id(one) != one]:
            click.echo(
                f"note: --bare-ids: {changed[0]!r} is read as {bare_id(changed[0])!r} ({len(changed):,} ids)", err=True
            )
        return made

    def read_scores(self, where: str) -> Scores:
        """Read scores from a file, as both sides were described."""
        from spoofspan.formats.reading import read_scores

        about = {"format": self.scores_format, "durations": self.durations, **self._about_scores()}
        return self.trained(self._read(partial(read_scores, self.take(where, self.scores_format)), about))

    def trained(self, scores: Scores) -> Scores:
        """Scores with the training resolution that was typed, unless their file states another."""
        trained = self._trained_at(scores.training_resolution)
        return scores if trained == scores.training_resolution else replace(scores, training_resolution=trained)

    def _trained_shards(self, corpus: ShardedCorpus) -> ShardedCorpus:
        """Shards with the training resolution that was typed, unless their files state another."""
        corpus.facts.training_resolution = self._trained_at(corpus.facts.training_resolution)
        return corpus

    def _trained_at(self, stated: float | None) -> float | None:
        """The training resolution that was typed, or that scores state."""
        if self.training_resolution is None:
            return stated
        typed = o.resolution_in(self.training_resolution, "--training-resolution")
        if stated is not None and abs(stated - typed) > 1e-9:
            raise UsageError(
                f"the scores state a training resolution of {milliseconds(stated)}, and --training-resolution "
                f"{self.training_resolution} contradicts it; leave it out, or write the file again if it is wrong"
            )
        return typed

    def _read(
        self, read: Callable[..., T], about: Mapping[str, Any], left_open: Sequence[str] = ("hop", "higher")
    ) -> T:
        """Read a file as it was described, under the ids that were asked for."""
        assumed = {name: value for name, value in self.assumed.items() if name in left_open}
        return self.with_ids(read_assuming(read, about, assumed))

    def unused_columns(self, looked: Sequence[Where] | None = None) -> list[str]:
        """Problems with columns of the scores that are not measured; of a file that can be read again."""
        from spoofspan.formats.format import ReadOptions
        from spoofspan.formats.reading import check_unused_columns

        where = self.scores if self.dataset is None else self.references or self.scores
        if where is None or not Path(where).expanduser().is_file():
            return []
        told = {name: value for name, value in self._about_scores().items() if name != "label2id"}
        return check_unused_columns(looked or where, self.scores_format, ReadOptions(**told))

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
        click.echo(found.about(), err=True)
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
        click.echo(f"  scores: {chosen}", err=True)
        return self.read_scores(str(chosen))


FLAGS = flags_of(Inputs)


@dataclass(frozen=True)
class VerificationInputs:
    """Scores or rates of a verification system, as typed."""

    asv_scores: str | None = o.typed_flag(
        "Scores of a speaker verification system, for utterance-min-tdcf and utterance-t-eer: ASVspoof's file, or a "
        "table with spk, filename and asv-score (for --by codec)."
    )
    asv_rates: str | None = o.typed_flag(
        "Rates of a speaker verification system, instead of its scores: PFA,PMISS,PFA_SPOOF (accepted non-targets, "
        "rejected targets, accepted spoofs)."
    )

    def check(self, measures: list[str] | None) -> None:
        """Refuse, before long work, what would not be used."""
        from spoofspan.measures.measure import parse_measures

        if any(one.kind.needs_asv for one in parse_measures(measures or [])):
            return
        for name in o.typed_values(self, ("asv_scores", "asv_rates")):
            raise UsageError(f"--{name.replace('_', '-')}: no measure needs them; add -m utterance-min-tdcf")

    def read_asv(
        self, truth: References | Mapping[str, str] | None = None
    ) -> VerificationScores | VerificationErrors | None:
        """Read the scores or the rates of a verification system, if given; ``truth`` may be a key of trials."""
        from spoofspan.evaluation.plan import verification_of

        if self.asv_rates is not None:
            if self.asv_scores is not None:
                raise UsageError("give --asv-scores or --asv-rates, not both")
            try:
                rates = [float(rate) for rate in self.asv_rates.split(",")]
            except ValueError:
                raise UsageError(
                    f"--asv-rates {self.asv_rates}: write three numbers, PFA,PMISS,PFA_SPOOF: 0.02,0.02,0.46"
                ) from None
            return verification_of(None, rates)
        if self.asv_scores is None:
            return None
        from spoofspan.formats.text.utterance_scores import read_verification_scores

        is_key = isinstance(truth, Mapping) and "target" in truth.values()
        return read_verification_scores(self.asv_scores, cast("Mapping[str, str]", truth) if is_key else None)


@dataclass(frozen=True)
class ProposalFlags(o.RangeOptions):
    """Options for reading or making proposals."""

    fps: float | None = o.typed_flag(ABOUT_FPS)


@dataclass(frozen=True)
class CorpusInputs(VerificationInputs, Inputs):
    """Inputs of one system that is measured, and the place of the measurement: in memory, in shards, on a cluster."""

    utterance_scores: str | None = o.typed_flag(
        "Scores of whole utterances. Measures of utterances are of these; REFERENCES may then be a protocol, and "
        "SCORES be left out."
    )
    utterance_scores_format: str | None = o.typed_flag(
        "Format of the utterance scores, if not recognised.", of=completion.utterance_score_formats
    )
    utterance_column: str | None = o.typed_flag(
        "Column of the utterance scores, if SCORES are given too; otherwise use --column."
    )
    utterance_higher: str | None = o.typed_flag(
        "Class with high utterance scores, bonafide or spoof, if SCORES are given too; otherwise use --higher.",
        of=["bonafide", "spoof"],
    )
    boundary_scores: str | None = o.typed_flag(
        "Scores of a boundary track, high where spoof begins or ends, for point-boundary-eer@20ms."
    )
    fps: float | None = o.typed_flag(ABOUT_FPS)
    stream: bool | None = o.typed_flag(
        "Measure shard by shard, with little memory and files on disk. Files larger than memory need no flag."
    )
    jobs: int | None = o.typed_flag(
        "Number of processes, with shards on disk; slower than one if all fits into memory.", "--jobs", "-j"
    )
    scheduler: str | None = o.typed_flag("Measure Parquet files on the workers of this Dask scheduler: tcp://...")

    def check(self, measures: list[str] | None) -> None:
        """Refuse, before long work, what would not be used."""
        from spoofspan.measures.measure import parse_measures

        wanted = parse_measures(measures or [])
        if self.utterance_scores is None:
            given = ("utterance_scores_format", "utterance_column", "utterance_higher")
            o.refuse_typed(self, given, "goes with --utterance-scores")
        if self.utterance_scores is not None and wanted and not any(one.basis == "utterance" for one in wanted):
            raise UsageError(
                f"{self.utterance_scores} has scores of whole utterances, and no measure of utterances is asked for; "
                "add -m utterance-eer"
            )
        if self.boundary_scores is not None and not any(one.kind.of_boundaries for one in wanted):
            raise UsageError("--boundary-scores: no measure needs them; add -m point-boundary-eer@20ms")
        super().check(measures)

    def placed(self) -> CorpusInputs:
        """Scores of whole utterances in the place of SCORES are as good as --utterance-scores."""
        where = self.scores
        given = self.utterance_scores is not None or self.dataset is not None or self.references is None
        if given or where is None or not self.has_utterance_scores(where):
            return self
        stated = self.utterance_scores_format or self.scores_format
        return replace(self, utterance_scores=where, utterance_scores_format=stated, scores=None, scores_format=None)

    @property
    def alone(self) -> bool:
        """True if utterance scores are all there is to measure."""
        if self.utterance_scores is None:
            return False
        if self.dataset is None:
            return self.scores is None
        # the only word typed beside a dataset is the scores; with a hop they may be in its folder
        return self.references is None and self.hop is None

    @contextmanager
    def opened(self, *, quiet: bool) -> Iterator[tuple[Corpus, References | Mapping[str, str] | None]]:
        """Read all for as long as the context lasts; also the labels of whole utterances, if there are any."""
        from spoofspan.evaluation.corpus import corpus_of

        if self.alone:
            truth = self.read_truth()
            yield corpus_of(truth, self._read_given_scores()), truth
        elif self.scheduler is not None:
            self._refuse_stream()
            with self.on_cluster(self.scheduler) as corpus:
                yield corpus, None
        elif self.jobs not in (None, 1) or self._streams():
            self._refuse_stream()
            if not (quiet or self.stream or self.dataset or self.too_large()):
                o.say(["the files fit into memory; without --jobs this is often faster"])
            with self.sharded(self.jobs) as corpus:
                yield corpus, None
        else:
            utterances = None if self.utterance_scores is None else self._read_given_scores()
            references, system = self._read_system()
            boundaries = None
            if self.boundary_scores is not None:
                of_boundaries = replace(self, higher="spoof", column=None, scores_format=None)
                boundaries = of_boundaries.read_scores(self.boundary_scores)
            yield corpus_of(references, system, utterance_scores=utterances, boundary_scores=boundaries), None

    def _read_given_scores(self) -> UtteranceScores:
        """Read --utterance-scores; --higher and --column speak of them if there are no others."""
        own = replace(
            self,
            scores_format=self.utterance_scores_format,
            column=self.utterance_column or (self.column if self.alone else None),
            higher=self.utterance_higher or (self.higher if self.alone else None),
        )
        return own.read_utterance_scores(str(self.utterance_scores))

    def _refuse_stream(self) -> None:
        """Utterance scores and boundary scores are not cut into shards."""
        if self.boundary_scores is not None:
            raise UsageError("--boundary-scores need the corpus in memory; leave --stream, --jobs and --scheduler out")
        if self.utterance_scores is not None:
            raise UsageError(
                "--utterance-scores need the corpus in memory; leave --stream out, or leave SCORES out and measure "
                "utterances apart: spoofspan eval REFERENCES --utterance-scores FILE"
            )

    def _streams(self) -> bool:
        """True to read shard by shard, as it was typed or as the files need it; proposals cannot be."""
        if self._file_of_proposals() is None:
            return self.too_large() if self.stream is None else self.stream
        if self.stream:
            raise UsageError("--stream goes with scores, and these are proposals, which are read whole; leave it out")
        return False

    def _read_system(self) -> tuple[References, Scores | Proposals]:
        """Read both sides."""
        where = self._file_of_proposals()
        if where is None:
            if self.fps is not None:
                raise UsageError(
                    "--fps, or the --benchmark that sets it, is for proposals, and these are scores; give a file of "
                    "proposals, or leave it out"
                )
            return self.read()
        o.refuse_typed(
            self, ("higher", "column", "label2id"), f"speaks of scores, and {where} has proposals; leave it out"
        )
        inputs = self if self.dataset is None else replace(self, references=None, hop=None)
        references, _ = replace(inputs, scores=None, scores_format=None).read_known()
        return references, inputs.read_proposals(where, self.fps)

    def _file_of_proposals(self) -> str | None:
        """Path typed as SCORES, if it is or shall be read as proposals."""
        # beside a dataset, the only word typed is the scores
        where = self.references if self.dataset is not None and self.scores is None else self.scores
        return where if where is not None and self.has_proposals(where) else None

"""What eval, verify and diff read: a corpus in memory, in shards, on a cluster, or of whole utterances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from spoofspan.base.errors import UsageError
from spoofspan.cli import completion
from spoofspan.cli import options as o
from spoofspan.cli.inputs import Inputs
from spoofspan.cli.range_options import RangeOptions

if TYPE_CHECKING:
    from spoofspan.data.proposals import Proposals
    from spoofspan.data.references import References
    from spoofspan.data.scores import Scores
    from spoofspan.data.utterance_scores import UtteranceScores, VerificationScores
    from spoofspan.evaluation.corpus import Corpus
    from spoofspan.measures.costs import VerificationErrors

MEANINGLESS = ("higher", "column", "label2id")  # to proposals


@dataclass(frozen=True)
class VerificationInputs:
    """Where the scores or the rates of a verification system are, as it was typed."""

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

        needed = any(one.kind.needs_asv for one in parse_measures(measures or []))
        if self.asv_scores is not None and not needed:
            raise UsageError("--asv-scores: no measure needs them; add -m utterance-min-tdcf")
        if self.asv_rates is not None and not needed:
            raise UsageError("--asv-rates: no measure needs them; add -m utterance-min-tdcf")

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
class UtteranceInputs(VerificationInputs):
    """Where utterance scores and verification scores are, as it was typed."""

    utterance_scores: str | None = o.typed_flag(
        "Scores of whole utterances. Measures of utterances are of these; REFERENCES may then be a protocol, and "
        "SCORES be left out."
    )
    utterance_scores_format: str | None = o.typed_flag(
        "Format of the utterance scores, if not recognised.", of=completion.utterance_score_formats
    )
    utterance_column: str | None = o.typed_flag(
        "Which column of utterance scores, if SCORES are given too; --column says it otherwise."
    )
    utterance_higher: str | None = o.typed_flag(
        "What high utterance scores mean, bonafide or spoof, if SCORES are given too; --higher says it otherwise.",
        of=["bonafide", "spoof"],
    )
    boundary_scores: str | None = o.typed_flag(
        "Scores of a boundary track, high where spoof begins or ends, for point-boundary-eer@20ms."
    )

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

    def placed(self, inputs: Inputs) -> tuple[UtteranceInputs, Inputs]:
        """Scores of whole utterances in the place of SCORES are as good as --utterance-scores."""
        where = inputs.scores
        given = self.utterance_scores is not None or inputs.dataset is not None or inputs.references is None
        if given or where is None or not inputs.has_utterance_scores(where):
            return self, inputs
        stated = self.utterance_scores_format or inputs.scores_format
        whole = replace(self, utterance_scores=where, utterance_scores_format=stated)
        return whole, replace(inputs, scores=None, scores_format=None)

    def read_scores(self, inputs: Inputs) -> UtteranceScores:
        """Read utterance scores as they were described; --higher and --column speak of them if there are no others."""
        from spoofspan.formats.reading import read_utterance_scores

        alone = self.alone(inputs)
        higher = o.polarity(self.utterance_higher or (inputs.higher if alone else None))
        column = self.utterance_column or (inputs.column if alone else None)
        about: dict[str, Any] = {"column": column, "higher": higher}
        where, name = str(self.utterance_scores), self.utterance_scores_format
        return inputs.with_ids(inputs.told(lambda **more: read_utterance_scores(where, name, **(about | more))))

    def read_boundaries(self, inputs: Inputs) -> Scores | None:
        """Read the scores of a boundary track, if they are given."""
        if self.boundary_scores is None:
            return None
        return replace(inputs, higher="spoof", column=None, scores_format=None).read_scores(self.boundary_scores)

    def alone(self, inputs: Inputs) -> bool:
        """Whether utterance scores are all there is to measure."""
        if self.utterance_scores is None:
            return False
        if inputs.dataset is None:
            return inputs.scores is None
        # the only word typed beside a dataset is the scores; with a hop they may be in its folder
        return inputs.references is None and inputs.hop is None

    def refuse_stream(self) -> None:
        """Utterance scores and boundary scores are not cut into shards."""
        if self.boundary_scores is not None:
            raise UsageError("--boundary-scores need the corpus in memory; leave --stream, --jobs and --scheduler out")
        if self.utterance_scores is not None:
            raise UsageError(
                "--utterance-scores need the corpus in memory; leave --stream out, or leave SCORES out and measure "
                "utterances apart: spoofspan eval REFERENCES --utterance-scores FILE"
            )


@dataclass(frozen=True)
class ProposalOptions(RangeOptions):
    """How proposals are read or made."""

    fps: float | None = o.typed_flag("Frames per second, if the times of proposals are frame numbers.")

    def streams(self, inputs: Inputs, stream: bool | None) -> bool:
        """Whether to read shard by shard, as it was typed or as the files need it; proposals cannot be."""
        if _file_of_proposals(inputs) is not None:
            if stream:
                raise UsageError(
                    "--stream goes with scores, and these are proposals, which are read whole; leave it out"
                )
            return False
        return inputs.too_large() if stream is None else stream

    def read(self, inputs: Inputs) -> tuple[References, Scores | Proposals]:
        """Read both sides."""
        where = _file_of_proposals(inputs)
        if where is None:
            if self.fps is not None:
                raise UsageError(
                    "--fps, or the --benchmark that sets it, is for proposals, and these are scores; give a file of "
                    "proposals, or leave it out"
                )
            return inputs.read()
        from spoofspan.formats.reading import read_proposals

        o.refuse_typed(inputs, MEANINGLESS, f"speaks of scores, and {where} has proposals; leave it out")
        if inputs.dataset is not None:
            inputs = replace(inputs, references=None, hop=None)
        references, _ = replace(inputs, scores=None, scores_format=None).read_known()
        looked = inputs.take(where, inputs.scores_format)
        return references, inputs.with_ids(read_proposals(looked, fps=self.fps, format=inputs.scores_format))


@dataclass(frozen=True)
class WhereMeasured:
    """Where a corpus is measured: in memory, shard by shard, or on a cluster."""

    stream: bool | None = o.typed_flag(
        "Measure shard by shard, with little memory and files on disk. Files larger than memory need no flag."
    )
    jobs: int | None = o.typed_flag(
        "Number of processes, with shards on disk; slower than one if all fits into memory.", "--jobs", "-j"
    )
    scheduler: str | None = o.typed_flag("Measure Parquet files on the workers of this Dask scheduler: tcp://...")


@contextmanager
def opened_corpus(
    inputs: Inputs, more: UtteranceInputs, proposals: ProposalOptions, where: WhereMeasured, *, quiet: bool
) -> Iterator[tuple[Corpus, References | Mapping[str, str] | None]]:
    """Read what was typed, for as long as the context lasts; also the labels of whole utterances, if there are any."""
    from spoofspan.evaluation.corpus import corpus_of

    if more.alone(inputs):
        truth = inputs.read_truth()
        yield corpus_of(truth, more.read_scores(inputs)), truth
    elif where.scheduler is not None:
        more.refuse_stream()
        with inputs.on_cluster(where.scheduler) as corpus:
            yield corpus, None
    elif where.jobs not in (None, 1) or proposals.streams(inputs, where.stream):
        more.refuse_stream()
        if not (quiet or where.stream or inputs.dataset or inputs.too_large()):
            o.say(["the files fit into memory; without --jobs this is often faster"])
        with inputs.sharded(where.jobs) as corpus:
            yield corpus, None
    else:
        utterances = None if more.utterance_scores is None else more.read_scores(inputs)
        references, system = proposals.read(inputs)
        boundaries = more.read_boundaries(inputs)
        yield corpus_of(references, system, utterance_scores=utterances, boundary_scores=boundaries), None


def _file_of_proposals(inputs: Inputs) -> str | None:
    """What was typed as SCORES, if it is or shall be read as proposals."""
    where = inputs.scores
    if inputs.dataset is not None and where is None:  # the only word typed
        where = inputs.references
    return where if where is not None and inputs.has_proposals(where) else None


takes_utterance_scores = o.takes_options("more", UtteranceInputs)
takes_verification = o.takes_options("verification", VerificationInputs)
takes_proposals = o.takes_options("proposals", ProposalOptions)
takes_where = o.takes_options("where", WhereMeasured)

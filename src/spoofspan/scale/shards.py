"""Corpora in shards: the same measurements, the same bits, and only one shard in memory at a time.

A sharded corpus can be iterated again and again; each time it yields pairs of References and Scores, every utterance
in one of them. Masses add, so the mass of a corpus is that of its shards one after the other, and a measure takes one
pass to prepare and one to four passes to find the crossing (:mod:`spoofspan.measures.histogram`).

Where the work is done is up to the corpus (:meth:`ShardedCorpus.each`, :meth:`ShardedCorpus.merged`): here, in several
processes, on a cluster.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import numpy as np

from spoofspan.base.errors import NothingToMeasureError, Problems, UsageError, strangers
from spoofspan.base.hashing import UtterancesHash
from spoofspan.base.progress import progress
from spoofspan.data.references import BONA_FIDE, SPOOF, References
from spoofspan.data.rules import Touched, rules_for
from spoofspan.data.scores import Higher, Scores
from spoofspan.evaluation.cautions import with_cautions
from spoofspan.evaluation.corpus import Corpus, Evaluation, MeasureOne, measures_for_hop, with_interval
from spoofspan.evaluation.crossed import columns_of
from spoofspan.evaluation.evaluate import resampling_at, warn_left_out
from spoofspan.evaluation.measurement import Measurement
from spoofspan.evaluation.plan import EvaluationOptions, OnUndefined, Plan
from spoofspan.evaluation.signature import AppliedRules, CorpusHash, Digests, Signature, sign_hashes
from spoofspan.mass.diagnosis import pairing_remedy
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.catalogue import EVENT
from spoofspan.measures.measure import Measure
from spoofspan.measures.measure_settings import ScoresAre
from spoofspan.measures.operating_point import OperatingPoint, Threshold
from spoofspan.measures.per_utterance import UtteranceErrors, check_own_rule, errors_of_overlay, errors_with
from spoofspan.scale.shard_facts import CorpusFacts, Shard
from spoofspan.scale.sharded_events import ShardedEvents, Signed, refuse_whole
from spoofspan.scale.sharded_part import ShardedPart

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.data.rules import RuleArguments
    from spoofspan.data.utterance_scores import VerificationScores
    from spoofspan.evaluation.breakdown import Breakdown
    from spoofspan.evaluation.corpus import ReadColumn
    from spoofspan.evaluation.crossed import CrossedBreakdown
    from spoofspan.uncertainty.clusters import Resampling

T = TypeVar("T")


class ShardedCorpus(Corpus):
    """A corpus in shards; the ids rise from shard to shard (inside of one they may stand in any order).

    What is given to :meth:`each` and :meth:`merged`, and what comes back, can be pickled.
    """

    facts: CorpusFacts

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __iter__(self) -> Iterator[Shard]: ...

    def each(self, work: Callable[[Shard], T], what: str, *, fetched: bool) -> Iterator[tuple[Shard | None, T]]:
        """What came of every shard, in their order, with the shard itself if it is to be ``fetched``."""
        with progress(what, total=len(self), unit="shards") as advance:
            for shard in self:
                yield shard, work(shard)
                advance(1)

    def merged(self, work: Callable[[Shard], T], merge: Callable[[T, T], T], what: str) -> T:
        """What came of all shards, merged in any order and grouping."""
        return reduce(merge, (found for _, found in self.each(work, what, fetched=False)))

    @property
    def hop(self) -> float | None:
        """The coarsest hop of the scores in seconds (None for ranges)."""
        return self.facts.hop

    @property
    def higher(self) -> Higher:
        """What high scores mean."""
        return self.facts.higher

    def default_measures(self, convention: str) -> list[str]:
        """What is measured if nothing is asked for."""
        return measures_for_hop(self.hop, convention)

    def prepare(self, measures: Sequence[Measure], options: EvaluationOptions) -> MeasureOne:
        """Plan the measures and look at every shard once; return the function that takes one of the measures."""
        events = [one for one in measures if one.basis == EVENT]
        refuse_whole(events, options)
        # events lie where ranges do, and without a threshold proposals are made where the range EER is
        planned = [one for one in measures if one.basis != EVENT] + [Measure("range-eer")] * bool(events)
        plans = [options.plan(one, self.hop) for one in planned]
        look = self.look(plans, signed=options.signed, rows=options.smoothing not in (None, 1))
        prepared = dict(zip(planned, look.plans, strict=True))

        def measured(measure: Measure) -> Measurement:
            return prepared[measure].measured(self, look, options.resampling)

        def crossing() -> tuple[OperatingPoint, str]:
            found = prepared[Measure("range-eer")].measured(self, look)
            return found.point, found.eer_rule

        def signed() -> Signed:
            ranges = prepared[Measure("range-eer")]
            ranges.settle(look.unpaired)
            count, digest = ranges.utterances.count, ranges.utterances.digest()
            applied = ranges.applied.spelled()
            return Signed(count, digest, tuple(ranges.touched.values()), applied, look.hashes, self.facts.slack)

        of_events = ShardedEvents(self, events, options, crossing, signed)
        return lambda measure: of_events.measured(measure) if measure.basis == EVENT else measured(measure)

    def look(self, plans: Sequence[Plan], *, signed: bool, rows: bool = False) -> Prepared:
        """Look at every shard once, for all plans; scores are also hashed row by row if ``rows`` or a plan need it."""
        prepared = [PreparedPlan(one) for one in plans]
        hashed = CorpusHash(rows=rows or any(one.counts_rows for one in plans))
        unpaired = Problems()
        for shard, looks in self.each(partial(_look, plans), "preparing", fetched=signed):
            references, scores = shard or (None, None)
            hashed.add(references, scores)
            unpaired.add(*looks.refused)
            for one, found in zip(prepared, looks.plans, strict=False):
                one.add(found)
                if references is not None and found.utterances:
                    one.applied.add(references, found.utterances)
        # no two unsigned numbers are comparable
        unsigned = f"unsigned-{uuid4().hex[:8]}"
        digests = hashed.digests() if signed else Digests(unsigned, unsigned, unsigned)
        return Prepared(prepared, digests, unpaired)

    def errors_by_utterance(
        self, at: OperatingPoint, options: EvaluationOptions, *, own_eer: bool = False
    ) -> UtteranceErrors:
        """The errors of each utterance at an operating point; the ids are sorted."""
        chosen, convention_rule = rules_for("range", options.convention, options.rules)
        own_rule = check_own_rule(options.eer_rule or convention_rule) if own_eer else None

        def of_shard(references: References, scores: Scores) -> UtteranceErrors:
            if own_eer:
                scores.refuse_decisions("an EER")
            return errors_with(references, scores, at, chosen, own_rule)

        return self.errors(of_shard)

    def errors(self, of_shard: Callable[[References, Scores], UtteranceErrors]) -> UtteranceErrors:
        """The errors of each utterance, as they are found in each shard; the ids are sorted."""
        found: list[UtteranceErrors] = []
        for references, scores in self.watched("errors by utterance"):
            with suppress(NothingToMeasureError):
                found.append(of_shard(references, scores).sorted())
        if not found:
            raise NothingToMeasureError("no utterance has any time to measure; check references and durations", ())
        return UtteranceErrors.joined(found)

    def break_down(self, by: str, measure: str, options: EvaluationOptions, read_column: ReadColumn) -> Breakdown:
        """The groups of the corpus by kind, length, boundary or a column."""
        from spoofspan.scale.shard_groups import break_down

        return break_down(self, by, measure, options, read_column)

    def cross(self, by: str, measure: str, options: EvaluationOptions, read_column: ReadColumn) -> CrossedBreakdown:
        """A measure by one or two columns of metadata, with a comma between them."""
        from spoofspan.scale.shard_groups import cross

        return cross(self, Measure.parse(measure), columns_of(by, read_column), options)

    def watched(self, what: str) -> Iterator[tuple[References, Scores]]:
        """Go through the shards that have both sides, and say how far that is."""
        with progress(what, total=len(self), unit="shards") as advance:
            for references, scores in self:
                if references is not None and scores is not None:
                    yield references, scores
                advance(1)


def evaluate_shards(
    corpus: ShardedCorpus,
    measures: Sequence[str | Measure] | None = None,
    *,
    convention: str = "default",
    eer_rule: str | None = None,
    threshold: Threshold | None = None,
    scores_are: ScoresAre | None = None,
    asv_scores: VerificationScores | None = None,
    confidence: float | None = None,
    resampling: Resampling | None = None,
    smoothing: int | None = None,
    min_duration: float = 0.0,
    merge_gap: float = 0.0,
    on_undefined: OnUndefined | None = None,
    signed: bool = True,
    **rules: Unpack[RuleArguments],
) -> Evaluation:
    r"""Measure a corpus in shards, to the same bits as :func:`spoofspan.evaluate` measures one in memory.

    Parameters
    ----------
    corpus
        What :func:`spoofspan.sharded` yields.
    measures
        Names of measures; without them, the EER of ranges, and those of points at the hop and of utterances if they
        have a value.
    convention, eer_rule, threshold, scores_are, asv_scores, smoothing, min_duration, merge_gap, on_undefined, **rules
        As in :func:`spoofspan.evaluate`.
    confidence, resampling
        As in :func:`spoofspan.evaluate`; intervals take a few more passes, in this process.
    signed
        The hashes of a signature go through all shards in order. Where shards are elsewhere, False does without them:
        nothing is fetched, and a signature is comparable to no other.

    Returns
    -------
    Evaluation
        The measurements by name.

    Examples
    --------
    >>> from io import BytesIO
    >>> from spoofspan.scale.sharding import sharded
    >>> ranges = BytesIO(b"utterance,start,end,label\nu1,0.0,0.08,bonafide\nu1,0.08,0.16,spoof\n")
    >>> scores = BytesIO(b"utterance,start,end,score\nu1,0.0,0.08,0.9\nu1,0.08,0.16,-0.4\n")
    >>> with sharded(ranges, scores, higher="bonafide") as corpus:
    ...     print(evaluate_shards(corpus, ["range-eer"])["range-eer"].value)
    0.0
    """
    if not isinstance(corpus, ShardedCorpus):
        raise UsageError(
            "evaluate_shards(corpus) goes inside of `with sharded(references, scores) as corpus:`, and this is a "
            f"{type(corpus).__name__}; evaluate(references, scores) measures what is in memory"
        )
    options = EvaluationOptions(
        convention,
        eer_rule,
        threshold,
        scores_are,
        asv_scores,
        resampling_at(confidence, resampling),
        smoothing,
        min_duration,
        merge_gap,
        signed,
        rules,
    )
    options.refuse_unused_threshold(measures or corpus.default_measures(convention))
    if measures is None:
        return corpus.evaluate_defaults(options, on_undefined or warn_left_out)
    return corpus.evaluate(measures, options, on_undefined)


@dataclass(frozen=True)
class _Look:
    """What a plan finds in one shard: the used utterances, what rules touched, the mass without its parts."""

    utterances: tuple[str, ...] = ()
    touched: tuple[Touched, ...] = ()
    mass: ScoreMass | None = None
    dtype: np.dtype[Any] | None = None
    nothing: str = ""  # why there is nothing to measure


@dataclass(frozen=True)
class _Looks:
    """What all plans find in one shard; nothing where it has one side only, whose utterances are refused."""

    plans: tuple[_Look, ...] = ()
    refused: tuple[str, ...] = ()


def _look(plans: Sequence[Plan], shard: Shard) -> _Looks:
    references, scores = shard
    if references is not None and scores is not None:
        return _Looks(tuple(_look_at(plan, references, scores) for plan in plans))
    if references is not None:
        return _Looks(refused=tuple(f"utterance {utt!r} has references but no scores" for utt in references.utterances))
    utterances = () if scores is None else scores.utterances
    return _Looks(refused=tuple(f"utterance {utt!r} has scores but no references" for utt in utterances))


def _look_at(plan: Plan, references: References, scores: Scores) -> _Look:
    try:
        mass, touched = plan.mass(references, scores)
    except NothingToMeasureError as error:
        return _Look(touched=error.touched, nothing=str(error))
    return _Look(mass.utterances, touched, replace(mass, parts=()), mass.dtype)


@dataclass
class PreparedPlan:
    """What one pass over the shards finds out for a plan."""

    plan: Plan
    utterances: UtterancesHash = field(default_factory=UtterancesHash)
    touched: dict[str, Touched] = field(default_factory=dict)
    mass: ScoreMass | None = None  # of the first shard, without its parts
    dtypes: set[np.dtype[Any]] = field(default_factory=set)  # rules may change those of the scores
    nothing: str = ""
    settled: bool = False

    def __post_init__(self) -> None:
        self.regions = set(self.plan.rules.regions or ())  # of utterances that no shard has had so far
        self.applied = AppliedRules(self.plan.rules)

    def add(self, look: _Look) -> None:
        """Note what a shard has."""
        self.regions.difference_update(look.utterances)
        self._touch(look.touched)
        self.nothing = self.nothing or look.nothing
        if look.mass is not None and look.dtype is not None:
            self.utterances.add(look.utterances)
            self.mass = self.mass or look.mass
            self.dtypes.add(look.dtype)

    def _touch(self, touched: Sequence[Touched]) -> None:
        for entry in touched:
            known = self.touched.get(entry.rule)
            if known is not None:
                entry = replace(entry, ns=entry.ns + known.ns, utterances=entry.utterances + known.utterances)
            self.touched[entry.rule] = entry

    def settle(self, unpaired: Problems) -> ScoreMass:
        """Refuse what no shard can tell, or note it; the mass of the first shard, without its parts."""
        if unpaired.total and not self.settled:
            if not self.plan.rules.partial:
                unpaired.raise_if_any(pairing_remedy((), ()))
            self._touch([Touched("partial", "True", 0, unpaired.total)])
        self.settled = True
        if self.mass is None:
            raise NothingToMeasureError(
                self.nothing or "references and scores have no utterance in common; check the ids", ()
            )
        return self.mass

    def mass_in(self, corpus: ShardedCorpus, unpaired: Problems) -> ScoreMass:
        """The mass of all shards."""
        mass = self.settle(unpaired)  # before the types: there are none if there is nothing in common
        return replace(mass, parts=(ShardedPart(corpus, self.plan, np.result_type(*self.dtypes)),))

    def measured(self, corpus: ShardedCorpus, look: Prepared, resampling: Resampling | None = None) -> Measurement:
        """Measure all shards, with an interval if it is said how to resample."""
        mass = self.mass_in(corpus, look.unpaired)
        signer = partial(self.sign, corpus, look.hashes, self.applied)
        plan = replace(self.plan, notes=(*self.plan.notes, *strangers("regions", self.regions, ())))
        found = plan.measured(
            mass, self.touched.values(), self.utterances.count, signer, errors_at=partial(self.errors_at, corpus)
        )
        found = with_cautions(found, plan, mass, both_classes={BONA_FIDE, SPOOF} <= corpus.facts.labels)
        return with_interval(found, plan, mass, resampling)

    def errors_at(self, corpus: ShardedCorpus, point: OperatingPoint) -> UtteranceErrors:
        """The errors of each utterance at an operating point."""
        return corpus.errors(partial(_errors, self.plan, point))

    def sign(self, corpus: ShardedCorpus, hashes: Digests, applied: AppliedRules) -> Signature:
        """Sign what was measured, given the hashes of both sides and the rules that were applied."""
        return sign_hashes(
            str(self.plan.measure),
            self.plan.read_off,
            applied.spelled() | self.plan.rules.signed(self.plan.kind, corpus.facts.slack),
            (hashes.references, f"{self.utterances.count}:{self.utterances.digest()}"),
            self.plan.signed_system(hashes.said(rows=self.plan.counts_rows), corpus.higher, corpus.facts.slack),
        )


@dataclass(frozen=True)
class Prepared:
    """What one pass over the shards finds out: for each plan, the hashes of both sides, utterances on one side only."""

    plans: Sequence[PreparedPlan]
    hashes: Digests
    unpaired: Problems


def _errors(plan: Plan, point: OperatingPoint, references: References, scores: Scores) -> UtteranceErrors:
    return errors_of_overlay(plan.laid(references, scores), point.threshold, point.everything)

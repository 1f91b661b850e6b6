"""Corpora in shards: measurements with the same bits as in memory, with one shard in memory at a time.

A sharded corpus can be iterated repeatedly; each time it yields pairs of References and Scores, with every utterance in
one of them. Masses add, so the mass of a corpus is that of its shards one after the other, and a measure takes one pass
to prepare and one to four passes to find the crossing (:mod:`spoofspan.measures.histogram`).

The corpus decides where the work is done (:meth:`ShardedCorpus.each`, :meth:`ShardedCorpus.merged`): in this process,
in several processes, or on a cluster.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from spoofspan.base.errors import NothingToMeasureError, Problems, UsageError, strangers
from spoofspan.base.hashing import UtterancesHash
from spoofspan.base.progress import progress
from spoofspan.base.times import Int64
from spoofspan.data.references import BONA_FIDE, SPOOF, References
from spoofspan.data.rules import Touched
from spoofspan.data.scores import Higher, Scores
from spoofspan.evaluation.corpus import Corpus, Evaluation, LayLater, PlannedMass, Shard, measures_for_hop
from spoofspan.evaluation.plan import EvaluationArguments, EvaluationOptions, OnUndefined, Plan
from spoofspan.evaluation.selections import ChosenUtterances, Selection
from spoofspan.evaluation.signature import AppliedRules, CorpusHash, Digests, Signature, sign_hashes
from spoofspan.mass.diagnosis import pairing_remedy
from spoofspan.mass.ranges import TimedPart
from spoofspan.mass.score_mass import Columns, MassBlock, MassPart, ScoreMass, UtteranceBlock
from spoofspan.mass.utterances import UtterancePart
from spoofspan.measures.histogram import Histogram, fill
from spoofspan.measures.measure import Measure
from spoofspan.measures.operating_point import OperatingPoint
from spoofspan.measures.per_utterance import UtteranceErrors
from spoofspan.scale.shard_facts import CorpusFacts, unsigned
from spoofspan.scale.sharded_events import ShardedEvents, cross_events

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.evaluation.crossed import Columns as MetadataColumns
    from spoofspan.evaluation.crossed import CrossedBreakdown

T = TypeVar("T")


class ShardedCorpus(Corpus):
    """A corpus in shards; ids rise from shard to shard, in any order within a shard.

    Arguments and results of :meth:`each` and :meth:`merged` can be pickled.
    """

    facts: CorpusFacts

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __iter__(self) -> Iterator[Shard]: ...

    def each(self, work: Callable[[Shard], T], what: str, *, fetched: bool) -> Iterator[tuple[Shard | None, T]]:
        """Results of every shard in order, with the shard itself if it is ``fetched``."""
        with progress(what, total=len(self), unit="shards") as advance:
            for shard in self:
                yield shard, work(shard)
                advance(1)

    def merged(self, work: Callable[[Shard], T], merge: Callable[[T, T], T], what: str) -> T:
        """Merge the results of all shards, in any order and grouping."""
        return reduce(merge, (found for _, found in self.each(work, what, fetched=False)))

    @property
    def hop(self) -> float | None:
        """The coarsest hop of the scores in seconds (None for ranges)."""
        return self.facts.hop

    @property
    def higher(self) -> Higher:
        """Meaning of high scores."""
        return self.facts.higher

    def default_measures(self, convention: str) -> list[str]:
        """Measures used if none is named."""
        return measures_for_hop(self.hop, convention)

    def plan(self, measure: Measure, options: EvaluationOptions) -> Plan:
        """Plan a measure."""
        copied = self.facts.copies.resolution(self.hop) if measure.resolution is not None else None
        trained = self.facts.training_resolution
        return options.plan(
            measure,
            self.hop,
            training_resolution=trained,
            copied_resolution=copied,
            distinct=self.facts.distinct,
        )

    def lay(self, plans: Sequence[Plan], *, signed: bool = True) -> Sequence[LayLater]:
        """For each plan, a function that makes its mass, after one pass over all shards for all plans."""
        look = self.look(plans, signed=signed)
        return [partial(one.laid, self, look) for one in look.plans]

    def events(self, measures: Sequence[Measure], options: EvaluationOptions) -> ShardedEvents:
        """Evaluator of event measures, counted shard by shard."""
        return ShardedEvents(self, measures, options)

    def cross_events(self, measure: Measure, columns: MetadataColumns, options: EvaluationOptions) -> CrossedBreakdown:
        """An event measure by one or two columns of metadata."""
        return cross_events(self, measure, columns, options)

    @cached_property
    def _hashes(self) -> dict[bool, Digests]:
        """The known hashes of both sides: with that of score rows, or without."""
        return {}

    def look(self, plans: Sequence[Plan], *, signed: bool, rows: bool = False) -> CorpusLook:
        """One pass over all shards for all plans; scores are also hashed row by row if ``rows`` or a plan need it."""
        prepared = [PreparedPlan(one) for one in plans]
        rows = rows or any(one.counts_rows for one in plans)
        hashed = CorpusHash(rows=rows) if signed and self.hashes(rows=rows) is None else None
        unpaired = Problems()
        for shard, looks in self.each(partial(_look, plans), "preparing", fetched=signed):
            references, scores = shard or (None, None)
            if hashed is not None:
                hashed.add(references, scores)
            unpaired.add(*looks.refused)
            for one, found in zip(prepared, looks.plans, strict=False):
                one.add(found)
                if references is not None and found.utterances:
                    one.applied.add(references, found.utterances)
        if hashed is not None:
            self._hashes[rows] = hashed.digests()
        return CorpusLook(prepared, unpaired, signed)

    def hashes(self, *, rows: bool) -> Digests | None:
        """The hashes of both sides, if a pass computed them."""
        return self._hashes.get(rows) or self._hashes.get(True)

    def errors(self, plan: Plan, at: OperatingPoint, own_rule: str | None = None) -> UtteranceErrors:
        """The errors of each utterance at an operating point; the ids are sorted."""
        return super().errors(plan, at, own_rule).sorted()

    def watched(self, what: str) -> Iterator[tuple[References, Scores]]:
        """Iterate over the shards with both sides, with progress."""
        with progress(what, total=len(self), unit="shards") as advance:
            for references, scores in self:
                if references is not None and scores is not None:
                    yield references, scores
                advance(1)


def evaluate_shards(
    corpus: ShardedCorpus,
    measures: Sequence[str | Measure] | None = None,
    *,
    on_undefined: OnUndefined | None = None,
    signed: bool = True,
    **arguments: Unpack[EvaluationArguments],
) -> Evaluation:
    r"""Measure a corpus in shards, to the same bits as :func:`spoofspan.evaluate` measures one in memory.

    Parameters
    ----------
    corpus
        A corpus from :func:`spoofspan.sharded`.
    measures
        Names of measures; default: the EER of ranges, and those of points at the hop and of utterances if they have a
        value.
    on_undefined, **arguments
        As in :func:`spoofspan.evaluate`; intervals take a few more passes, in this process.
    signed
        The hashes of a signature need all shards in order. With False nothing is fetched from remote shards, and
        signatures are not comparable.

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
    options = EvaluationOptions.from_arguments({**arguments, "signed": signed})
    return corpus.evaluate_asked(measures, options, on_undefined)


@dataclass(frozen=True)
class _Look:
    """One plan on one shard: the measured utterances, what rules touched, and the mass without its parts."""

    utterances: tuple[str, ...] = ()
    touched: tuple[Touched, ...] = ()
    mass: ScoreMass | None = None
    dtype: np.dtype[Any] | None = None
    nothing: str = ""  # the reason for having nothing to measure


@dataclass(frozen=True)
class _Looks:
    """All plans on one shard; a shard with one side only has refused utterances instead."""

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
    """The results of one pass over the shards for a plan."""

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
        """Add the results of a shard."""
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
        """Refuse or note unpaired utterances; the mass of the first shard, without its parts."""
        if isinstance(self.plan.selection, ChosenUtterances):
            unpaired = Problems()  # an utterance on one side only is in no group of utterances
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

    def laid(self, corpus: ShardedCorpus, look: CorpusLook) -> PlannedMass:
        """The mass of all shards."""
        mass = self.settle(look.unpaired)  # before the types: there are none if there is nothing in common
        return PlannedMass(
            replace(self.plan, notes=(*self.plan.notes, *strangers("regions", self.regions, ()))),
            replace(mass, parts=(ShardedPart(corpus, self.plan, np.result_type(*self.dtypes)),)),
            tuple(self.touched.values()),
            self.utterances.count,
            partial(self.sign, corpus, signed=look.signed),
            partial(corpus.errors, self.plan),
            {BONA_FIDE, SPOOF} <= corpus.facts.labels,
        )

    def sign(self, corpus: ShardedCorpus, *, signed: bool) -> Signature:
        """Sign a value; a selection takes one more pass over the shards."""
        plan, facts, applied = self.plan, corpus.facts, self.applied
        known = corpus.hashes(rows=plan.counts_rows) if signed or plan.selection is not None else None
        hashes = known or unsigned()
        if known is not None and plan.selection is not None:
            hashes, applied = self._hashed_part(corpus, plan.selection, known)
        return sign_hashes(
            str(plan.measure),
            plan.read_off,
            applied.spelled() | plan.rules.signed(plan.kind, facts.slack),
            (hashes.references, f"{self.utterances.count}:{self.utterances.digest()}"),
            plan.signed_system(hashes.said(rows=plan.counts_rows), corpus.higher, facts.slack),
        )

    def _hashed_part(self, corpus: ShardedCorpus, selection: Selection, whole: Digests) -> tuple[Digests, AppliedRules]:
        """The hashes of a selection, and the rules that were applied there."""
        rules, of_utterances = self.plan.rules, isinstance(selection, ChosenUtterances)
        hashed, applied = CorpusHash(rows=self.plan.counts_rows), AppliedRules(rules)
        for references, scores in corpus.watched("signing"):
            with suppress(NothingToMeasureError):
                used = self.plan.laid(references, scores).labelling.utterances
                applied.add(references, used, selection.signed_rules(rules, references))
                if of_utterances:
                    hashed.add(*selection.hashed(references, scores, used))
        return hashed.digests() if of_utterances else whole, applied


@dataclass(frozen=True)
class CorpusLook:
    """The results of one pass over the shards: for each plan, and utterances on one side only."""

    plans: Sequence[PreparedPlan]
    unpaired: Problems
    signed: bool


@dataclass(frozen=True, eq=False)
class ShardedPart:
    """The part of a mass that is a sharded corpus, or some of its utterances."""

    corpus: ShardedCorpus
    plan: Plan
    dtype: np.dtype[Any]
    chosen: Int64 | None = None  # the indices of its utterances among those of all shards; None: all of them
    weights: Int64 | None = None  # of its utterances; None: 1 each

    @cached_property
    def utterances(self) -> tuple[str, ...]:
        """All its utterances; their number is cheaper."""
        return tuple(utt for part in self._parts() for utt in part.utterances)

    def blocks(self) -> Iterator[MassBlock]:
        """Compute it shard by shard."""
        for part in self._parts():
            yield from part.blocks()

    def utterance_blocks(self) -> Iterator[UtteranceBlock]:
        """Compute it shard by shard, each row with its utterance."""
        done = 0
        for part in self._parts():
            if not isinstance(part, TimedPart | UtterancePart):
                raise UsageError(f"the rows of a {type(part).__name__} cannot be told to their utterances")
            for block in part.utterance_blocks():
                yield replace(block, first=done + block.first, last=done + block.last)
            done += len(part.utterances)

    def counted(self, histogram: Histogram) -> Histogram:
        """Fill a histogram, shard by shard, here or elsewhere."""
        if self.chosen is None and self.weights is None:
            what = f"measuring {self.plan.measure}, pass {histogram.index.level + 1}"
            return self.corpus.merged(partial(_count, self.plan, histogram), _both, what)
        filled = histogram.emptied()
        for part in self._parts():
            fill(filled, ScoreMass((part,), self.corpus.higher))
        return filled

    def sample(self, size: int) -> Columns:
        """No rows, since a sample would cost one more pass and save less."""
        nothing = np.zeros(0, np.int64)
        return np.zeros(0, self.dtype), nothing, nothing

    def take(self, chosen: Int64) -> ShardedPart:
        """Keep chosen utterances, in the order of the shards."""
        places = chosen if self.chosen is None else self.chosen[chosen]
        return replace(self, chosen=places, weights=None if self.weights is None else self.weights[chosen])

    def weigh(self, weights: Int64) -> ShardedPart:
        """Count each utterance ``weights`` times."""
        return replace(self, weights=weights if self.weights is None else self.weights * weights)

    def _parts(self) -> Iterator[MassPart]:
        done = first = 0
        for references, scores in self.corpus.watched(f"measuring {self.plan.measure}"):
            with suppress(NothingToMeasureError):
                (part,) = self.plan.mass(references, scores)[0].parts
                start, done = done, done + len(part.utterances)
                if self.chosen is not None:
                    here = self.chosen[slice(*np.searchsorted(self.chosen, (start, done)).tolist())] - start
                    if not here.size:
                        continue
                    part = part.take(here)
                if self.weights is not None:
                    part = part.weigh(self.weights[first : first + len(part.utterances)])
                first += len(part.utterances)
                yield part


def _count(plan: Plan, histogram: Histogram, shard: Shard) -> Histogram:
    """One pass over one shard."""
    references, scores = shard
    filled = histogram.emptied()
    if references is not None and scores is not None:
        with suppress(NothingToMeasureError):
            fill(filled, plan.mass(references, scores)[0])
    return filled


def _both(one: Histogram, other: Histogram) -> Histogram:
    one.merge(other)
    return one

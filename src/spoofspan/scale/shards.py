"""Corpora in shards: the same measurements, the same bits, and only one shard in memory at a time.

A sharded corpus can be iterated again and again; each time it yields pairs of References and Scores, every utterance
in one of them. Masses add, so the mass of a corpus is that of its shards one after the other, and a measure takes one
pass to prepare and one to four passes to find the crossing (:mod:`spoofspan.measures.histogram`).

A corpus may work on its shards elsewhere (:class:`WorksElsewhere`): in several processes, on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable
from uuid import uuid4

import numpy as np

from spoofspan.base.errors import NothingToMeasureError, Problems, UndefinedMeasureError, UsageError
from spoofspan.base.progress import progress
from spoofspan.base.times import Int64
from spoofspan.data.references import References
from spoofspan.data.rules import Touched, rules_for
from spoofspan.data.scores import Higher, Scores
from spoofspan.evaluation.evaluate import Evaluation, measures_for_hop
from spoofspan.evaluation.measurement import Measure, Measurement, parse_measures
from spoofspan.evaluation.plan import OnUndefined, Plan, ScoresAre, plan_measure
from spoofspan.evaluation.signature import ReferencesHash, ScoresHash, UtterancesHash, sign_hashes
from spoofspan.mass.score_mass import Columns, MassBlock, MassPart, ScoreMass
from spoofspan.measures.histogram import Histogram, fill
from spoofspan.measures.operating_point import OperatingPoint
from spoofspan.measures.own_eer import check_own_rule
from spoofspan.measures.per_utterance import UtteranceErrors, errors_at_threshold, errors_with

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.data.rules import RuleArguments
    from spoofspan.data.verification_scores import VerificationScores

# References or scores are None where a shard has utterances on one side only.
Shard = tuple[References | None, Scores | None]
T = TypeVar("T")


class ShardedCorpus(Protocol):
    """A corpus in shards; the ids rise from shard to shard (inside of one they may stand in any order)."""

    @property
    def hop(self) -> float | None:
        """The coarsest hop of the scores in seconds (None for ranges)."""
        ...

    @property
    def higher(self) -> Higher:
        """What high scores mean."""
        ...

    @property
    def snap(self) -> int:
        """How far (ns) edges of the references may miss each other."""
        ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Shard]: ...


@runtime_checkable
class WorksElsewhere(Protocol):
    """A sharded corpus whose shards are worked on elsewhere. What is sent there and back is pickled."""

    def each(self, work: Callable[[Shard], T], what: str, *, fetched: bool) -> Iterator[tuple[Shard | None, T]]:
        """What came of every shard, in their order, with the shard itself if it is to be ``fetched``."""
        ...

    def merged(self, work: Callable[[Shard], T], merge: Callable[[T, T], T], what: str) -> T:
        """What came of all shards, merged in any order and grouping."""
        ...


def evaluate_shards(
    corpus: ShardedCorpus,
    measures: Sequence[str | Measure] | None = None,
    *,
    convention: str = "default",
    eer_rule: str | None = None,
    threshold: float | None = None,
    scores_are: ScoresAre | None = None,
    asv_scores: VerificationScores | None = None,
    on_undefined: OnUndefined | None = None,
    signed: bool = True,
    **rules: Unpack[RuleArguments],
) -> Evaluation:
    """Measure a corpus in shards, as :func:`spoofspan.evaluate` does one in memory.

    The hashes of a signature go through all shards in order. Where shards are elsewhere, ``signed=False`` does without
    them: nothing is fetched, and a signature is comparable to no other.
    """
    wanted = measures if measures is not None else measures_for_hop(corpus.hop, convention)
    plans = [
        plan_measure(one, corpus.hop, convention, eer_rule, rules, threshold, scores_are, asv_scores)
        for one in parse_measures(wanted)
    ]
    prepared = [_Prepared(plan) for plan in plans]
    references_hash, scores_hash = ReferencesHash(), ScoresHash()
    unpaired = _Unpaired()
    for shard, looks in _each(corpus, partial(_look, plans), "preparing", signed):
        references, scores = shard or (None, None)
        if references is not None:
            references_hash.add(references)
        if scores is not None:
            scores_hash.add(scores)
        unpaired.add(looks)
        for one, look in zip(prepared, looks.plans, strict=False):
            one.add(look)
    # no two unsigned numbers are comparable
    hashes = (references_hash.digest(), scores_hash.digest()) if signed else (f"unsigned-{uuid4().hex[:8]}",) * 2
    results: dict[str, Measurement] = {}
    for one in prepared:
        try:
            results[str(one.plan.measure)] = one.measured(corpus, hashes, unpaired)
        except UndefinedMeasureError as error:
            if on_undefined is None:
                raise
            on_undefined(one.plan.measure, error)
    return Evaluation(results)


def utterance_errors_of_shards(
    corpus: ShardedCorpus,
    threshold: float,
    *,
    everything: bool = False,
    own_eer: bool = False,
    convention: str = "default",
    eer_rule: str | None = None,
    **rules: Unpack[RuleArguments],
) -> UtteranceErrors:
    """As :func:`spoofspan.errors_by_utterance`, shard by shard; the ids are sorted."""
    chosen, convention_rule = rules_for("range", convention, rules)
    own_rule = check_own_rule(eer_rule or convention_rule) if own_eer else None

    def of_shard(references: References, scores: Scores) -> UtteranceErrors:
        if own_eer:
            scores.refuse_decisions("an EER")
        return errors_at_threshold(references, scores, threshold, everything, chosen, own_rule)

    return _errors(corpus, of_shard)


def _errors(corpus: ShardedCorpus, of_shard: Callable[[References, Scores], UtteranceErrors]) -> UtteranceErrors:
    found: list[UtteranceErrors] = []
    for references, scores in _watched(corpus, "errors by utterance"):
        if references is None or scores is None:
            continue
        with suppress(NothingToMeasureError):
            found.append(of_shard(references, scores).sorted())
    if not found:
        raise NothingToMeasureError("no utterance has any time to measure; check references and durations", ())
    return UtteranceErrors.joined(found)


def _watched(corpus: ShardedCorpus, what: str) -> Iterator[Shard]:
    """Go through the shards once, and say how far that is."""
    with progress(what, total=len(corpus), unit="shards") as advance:
        for shard in corpus:
            yield shard
            advance(1)


def _each(
    corpus: ShardedCorpus, work: Callable[[Shard], T], what: str, fetched: bool
) -> Iterator[tuple[Shard | None, T]]:
    if isinstance(corpus, WorksElsewhere):
        yield from corpus.each(work, what, fetched=fetched)
        return
    for shard in _watched(corpus, what):
        yield shard, work(shard)


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
    """What all plans find in one shard; none where it has one side only, whose utterances are listed."""

    plans: tuple[_Look, ...] = ()
    only_references: tuple[str, ...] = ()
    only_scores: tuple[str, ...] = ()


def _look(plans: Sequence[Plan], shard: Shard) -> _Looks:
    references, scores = shard
    if references is None or scores is None:
        return _Looks(
            only_references=() if references is None else references.utterances,
            only_scores=() if scores is None else scores.utterances,
        )
    return _Looks(tuple(_look_at(plan, references, scores) for plan in plans))


def _look_at(plan: Plan, references: References, scores: Scores) -> _Look:
    try:
        mass, touched = plan.mass(references, scores)
    except NothingToMeasureError as error:
        return _Look(touched=error.touched, nothing=str(error))
    return _Look(mass.utterances, touched, replace(mass, parts=()), mass.dtype)


class _Unpaired:
    """Utterances of shards that have references or scores only."""

    def __init__(self) -> None:
        self.count = 0
        self._problems = Problems()

    def add(self, looks: _Looks) -> None:
        for ids, here, there in (
            (looks.only_references, "references", "scores"),
            (looks.only_scores, "scores", "references"),
        ):
            self.count += len(ids)
            self._problems.extend((f"utterance {utt!r} has {here} but no {there}" for utt in ids), len(ids))

    def refuse(self) -> None:
        self._problems.raise_if_any("complete the files, or measure the common utterances with partial=True")


@dataclass
class _Prepared:
    """What one pass over the shards finds out for a plan."""

    plan: Plan
    utterances: UtterancesHash = field(default_factory=UtterancesHash)
    touched: dict[str, Touched] = field(default_factory=dict)
    mass: ScoreMass | None = None  # of the first shard, without its parts
    dtypes: set[np.dtype[Any]] = field(default_factory=set)  # rules may change those of the scores
    nothing: str = ""

    def add(self, look: _Look) -> None:
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

    def measured(self, corpus: ShardedCorpus, hashes: tuple[str, str], unpaired: _Unpaired) -> Measurement:
        if unpaired.count:
            if not self.plan.rules.partial:
                unpaired.refuse()
            self._touch([Touched("partial", "True", 0, unpaired.count)])
        if self.mass is None:
            raise NothingToMeasureError(
                self.nothing or "references and scores have no utterance in common; check the ids", ()
            )
        mass = replace(self.mass, parts=(ShardedPart(corpus, self.plan, np.result_type(*self.dtypes)),))
        signer = partial(
            sign_hashes,
            str(self.plan.measure),
            self.plan.read_off,
            self.plan.spelled_rules(corpus.snap),
            (hashes[0], f"{self.utterances.count}:{self.utterances.digest()}", hashes[1]),
            self.plan.rules.regions,
        )

        def errors_at(point: OperatingPoint) -> UtteranceErrors:
            return _errors(corpus, lambda references, scores: errors_with(references, scores, point, self.plan.rules))

        return self.plan.measured(mass, self.touched.values(), self.utterances.count, signer, errors_at=errors_at)


@dataclass(frozen=True, eq=False)
class ShardedPart:
    """The part of a mass that a sharded corpus makes up."""

    corpus: ShardedCorpus
    plan: Plan
    dtype: np.dtype[Any]

    @property
    def utterances(self) -> tuple[str, ...]:
        """Its utterances, all of them; counting them is cheaper."""
        return tuple(utt for part in self._parts() for utt in part.utterances)

    def blocks(self) -> Iterator[MassBlock]:
        """Compute it shard by shard."""
        for part in self._parts():
            yield from part.blocks()

    def counted(self, histogram: Histogram) -> Histogram:
        """Fill a histogram, shard by shard, here or elsewhere."""
        if isinstance(self.corpus, WorksElsewhere):
            what = f"measuring {self.plan.measure}, pass {histogram.place.level + 1}"
            return self.corpus.merged(partial(_count, self.plan, histogram), _both, what)
        for block in self.blocks():
            histogram.add(replace(block, scores=block.scores.astype(histogram.dtype, copy=False)))
        return histogram

    def sample(self, size: int) -> Columns:
        """No rows: a sample would be one more pass, and what it saves is less than that."""
        nothing = np.zeros(0, np.int64)
        return np.zeros(0, self.dtype), nothing, nothing

    def take(self, chosen: Int64) -> MassPart:
        """Not for shards."""
        raise UsageError("a corpus in shards cannot be cut; read it into memory, or shard the utterances you want")

    def weigh(self, weights: Int64) -> MassPart:
        """Not for shards."""
        raise UsageError("a corpus in shards cannot be re-weighted; read it into memory")

    def _parts(self) -> Iterator[MassPart]:
        for references, scores in _watched(self.corpus, f"measuring {self.plan.measure}"):
            if references is None or scores is None:
                continue
            try:
                mass, _ = self.plan.mass(references, scores)
            except NothingToMeasureError:
                continue
            yield from mass.parts


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

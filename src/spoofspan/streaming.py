"""Corpora in shards: the same measurements, the same bits, and only one shard in memory at a time.

A sharded corpus can be iterated again and again; each time it yields pairs of References and Scores, every utterance
in one of them. Masses add, so the mass of a corpus is that of its shards one after the other, and a measure takes one
pass to prepare and two to four passes to find the crossing (:mod:`spoofspan.histogram`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from spoofspan.breakdown import UtteranceErrors, errors_at_threshold, errors_with
from spoofspan.errors import NothingToMeasureError, Problems, UndefinedMeasureError, UsageError
from spoofspan.evaluate import Evaluation, measures_for_hop
from spoofspan.mass import Columns, MassBlock, MassPart, ScoreMass
from spoofspan.measures import Measure, Measurement, parse_measures
from spoofspan.nanoseconds import Int64
from spoofspan.operating_point import OperatingPoint
from spoofspan.own_eer import check_own_rule
from spoofspan.plan import OnUndefined, Plan, plan_measure
from spoofspan.progress import progress
from spoofspan.references import References
from spoofspan.rules import Touched, rules_for
from spoofspan.scores import Higher, Scores
from spoofspan.signature import ReferencesHash, ScoresHash, UtterancesHash, sign_hashes
from spoofspan.valuing import ScoresAre

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.rules import RuleArguments
    from spoofspan.tandem import VerificationScores

# References or scores are None where a shard has utterances on one side only.
Shard = tuple[References | None, Scores | None]


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
    **rules: Unpack[RuleArguments],
) -> Evaluation:
    """Measure a corpus in shards, as :func:`spoofspan.evaluate` does one in memory."""
    wanted = measures if measures is not None else measures_for_hop(corpus.hop, convention)
    plans = [
        plan_measure(one, corpus.hop, convention, eer_rule, rules, threshold, scores_are, asv_scores)
        for one in parse_measures(wanted)
    ]
    prepared = [_Prepared(plan) for plan in plans]
    references_hash, scores_hash = ReferencesHash(), ScoresHash()
    unpaired = _Unpaired()
    for references, scores in _watched(corpus, "hashing"):
        if references is not None:
            references_hash.add(references)
        if scores is not None:
            scores_hash.add(scores)
        unpaired.add(references, scores)
        if references is not None and scores is not None:
            for one in prepared:
                one.add(references, scores)
    hashes = references_hash.digest(), scores_hash.digest()
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


class _Unpaired:
    """Utterances of shards that have references or scores only."""

    def __init__(self) -> None:
        self.count = 0
        self._problems = Problems()

    def add(self, references: References | None, scores: Scores | None) -> None:
        for one, here, there in ((references, "references", "scores"), (scores, "scores", "references")):
            if one is not None and (references is None or scores is None):
                self.count += len(one)
                self._problems.extend(
                    (f"utterance {utt!r} has {here} but no {there}" for utt in one.utterances), len(one)
                )

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
    nothing: NothingToMeasureError | None = None

    def add(self, references: References, scores: Scores) -> None:
        try:
            mass, touched = self.plan.mass(references, scores)
        except NothingToMeasureError as error:
            self.nothing = self.nothing or error
            self._touch(error.touched)
            return
        self.utterances.add(mass.utterances)
        self._touch(touched)
        self.mass = self.mass or replace(mass, parts=())
        self.dtypes.add(mass.dtype)

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
            raise self.nothing or NothingToMeasureError(
                "references and scores have no utterance in common; check the ids", ()
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

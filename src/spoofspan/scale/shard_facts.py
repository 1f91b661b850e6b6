"""Facts about shards that the whole corpus needs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from uuid import uuid4

import numpy as np

from spoofspan.base.errors import DataError
from spoofspan.data.distinct_values import DistinctValues
from spoofspan.data.references import BONA_FIDE, SPOOF
from spoofspan.data.scores import Copies, Higher
from spoofspan.evaluation.corpus import Shard
from spoofspan.evaluation.signature import Digests
from spoofspan.mass.score_runs import automatic_slack


@dataclass(frozen=True)
class ShardFacts:
    """Facts about a shard that the whole corpus needs."""

    labels: frozenset[int] = frozenset()
    snap: int = 0
    modality: str | None = None
    higher: Higher | None = None
    hop: float | None = None
    slack: frozenset[int] = frozenset()
    copies: Copies | None = None
    training_resolution: float | None = None
    distinct: DistinctValues = field(default_factory=DistinctValues)
    empty: bool = False

    @classmethod
    def of(cls, shard: Shard) -> ShardFacts:
        """The facts of a shard."""
        references, scores = shard
        return cls(
            frozenset() if references is None else frozenset(np.unique(references.labels).tolist()),
            0 if references is None else references.snap,
            None if references is None else references.modality,
            None if scores is None else scores.higher,
            None if scores is None else scores.hop,
            frozenset() if scores is None else frozenset(automatic_slack(scores)),
            None if scores is None else scores.copies,
            None if scores is None else scores.training_resolution,
            DistinctValues() if scores is None else scores.distinct,
            references is None and scores is None,
        )


@dataclass
class CorpusFacts:
    """Facts about the whole corpus, collected shard by shard."""

    hop: float | None = None
    snap: int = 0
    modality: str | None = None
    known_higher: Higher | None = None
    labels: set[int] = field(default_factory=set)
    slack: set[int] = field(default_factory=set)  # automatic, of the scores (ns)
    copies: Copies = field(default_factory=Copies)
    training_resolution: float | None = None  # seconds, if known
    distinct: DistinctValues = field(default_factory=DistinctValues)

    @property
    def higher(self) -> Higher:
        """Meaning of high scores."""
        if self.known_higher is None:
            raise DataError("there is no score in the files")
        return self.known_higher

    def learn(self, facts: ShardFacts) -> None:
        """Add the facts of a shard."""
        self.labels |= facts.labels
        self.snap = max(self.snap, facts.snap)
        self.modality = facts.modality or self.modality
        if facts.higher is None:
            return
        if self.known_higher is not None and (
            self.known_higher != facts.higher or (self.hop is None) != (facts.hop is None)
        ):
            raise DataError(
                "some scores are frames and some are ranges, or they mean different things; read them apart"
            )
        self.known_higher = facts.higher
        self.slack |= facts.slack
        self.copies += Copies(1) if facts.copies is None else facts.copies
        self.distinct += facts.distinct
        self.training_resolution = facts.training_resolution or self.training_resolution
        if facts.hop is not None:
            self.hop = facts.hop if self.hop is None else max(self.hop, facts.hop)

    def check(self, shards: int) -> None:
        """Refuse a corpus without anything to measure."""
        if not shards:
            raise DataError("the corpus is empty; give at least one utterance")
        _ = self.higher

    def settled(self, shard: Shard) -> Shard:
        """The shard with facts of the whole corpus."""
        references, scores = shard
        if references is not None:
            both = {BONA_FIDE, SPOOF} <= self.labels
            references = replace(references, names_both_classes=both, snap=self.snap)
        return references, scores


def unsigned() -> Digests:
    """Random hashes, with which no two numbers are comparable."""
    return Digests(*[f"unsigned-{uuid4().hex[:8]}"] * 3)

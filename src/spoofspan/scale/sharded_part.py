"""The mass of a corpus in shards: each shard is laid over when its turn comes, and again for every pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.base.errors import NothingToMeasureError, UsageError
from spoofspan.base.times import Int64
from spoofspan.evaluation.corpus import Shard
from spoofspan.evaluation.plan import Plan
from spoofspan.mass.ranges import TimedPart
from spoofspan.mass.score_mass import Columns, MassBlock, MassPart, ScoreMass, UtteranceBlock
from spoofspan.mass.utterances import UtterancePart
from spoofspan.measures.histogram import Histogram, fill

if TYPE_CHECKING:
    from spoofspan.scale.shards import ShardedCorpus


@dataclass(frozen=True, eq=False)
class ShardedPart:
    """The part of a mass that a sharded corpus makes up, or some utterances of it."""

    corpus: ShardedCorpus
    plan: Plan
    dtype: np.dtype[Any]
    chosen: Int64 | None = None  # the places of its utterances among those of all shards; None: all of them
    weights: Int64 | None = None  # how often each of its utterances counts; None: once

    @cached_property
    def utterances(self) -> tuple[str, ...]:
        """Its utterances, all of them; counting them is cheaper."""
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
        """No rows: a sample would be one more pass, and what it saves is less than that."""
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

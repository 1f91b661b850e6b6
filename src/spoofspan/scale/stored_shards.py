"""Shards on disk, and what only the corpus as a whole tells of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
import numpy.typing as npt

from spoofspan.base.errors import DataError
from spoofspan.data.references import BONA_FIDE, SPOOF, References
from spoofspan.data.scores import Higher, Scores
from spoofspan.scale.shards import Shard

T = TypeVar("T", References, Scores)


@dataclass(frozen=True)
class ShardFacts:
    """What the whole corpus must know of a shard."""

    labels: frozenset[int] = frozenset()
    snap: int = 0
    higher: Higher | None = None
    hop: float | None = None
    empty: bool = False
    path: Path | None = None


def facts_of(shard: Shard) -> ShardFacts:
    """Note what the whole corpus must know of a shard."""
    references, scores = shard
    return ShardFacts(
        frozenset() if references is None else frozenset(np.unique(references.labels).tolist()),
        0 if references is None else references.snap,
        None if scores is None else scores.higher,
        None if scores is None else scores.hop,
        references is None and scores is None,
    )


@dataclass
class CorpusFacts:
    """What only the whole corpus tells, added up shard by shard."""

    hop: float | None = None
    snap: int = 0
    known_higher: Higher | None = None
    labels: set[int] = field(default_factory=set)

    @property
    def higher(self) -> Higher:
        """What high scores mean."""
        if self.known_higher is None:
            raise DataError("there is no score in the files")
        return self.known_higher

    def learn(self, facts: ShardFacts) -> None:
        """Add those of a shard."""
        self.labels |= facts.labels
        self.snap = max(self.snap, facts.snap)
        if facts.higher is None:
            return
        if self.known_higher is not None and (
            self.known_higher != facts.higher or (self.hop is None) != (facts.hop is None)
        ):
            raise DataError(
                "some scores are frames and some are ranges, or they mean different things; read them apart"
            )
        self.known_higher = facts.higher
        if facts.hop is not None:
            self.hop = facts.hop if self.hop is None else max(self.hop, facts.hop)

    def check(self, shards: int) -> None:
        """Refuse a corpus without anything to measure."""
        if not shards:
            raise DataError("the corpus is empty; give at least one utterance")
        if self.known_higher is None:
            raise DataError("there is no score in the files")

    def settled(self, shard: Shard) -> Shard:
        """The shard with what it cannot know itself."""
        references, scores = shard
        if references is not None:
            both = {BONA_FIDE, SPOOF} <= self.labels
            references = replace(references, names_both_classes=both, snap=self.snap)
        return references, scores


class HasFacts:
    """A corpus in shards that knows what only the whole of it tells."""

    facts: CorpusFacts

    @property
    def hop(self) -> float | None:
        """The coarsest hop of the scores in seconds (None for ranges)."""
        return self.facts.hop

    @property
    def higher(self) -> Higher:
        """What high scores mean."""
        return self.facts.higher

    @property
    def snap(self) -> int:
        """How far (ns) edges of the references may miss each other."""
        return self.facts.snap


@dataclass
class StoredShards(HasFacts):
    """A corpus in shards on disk (a :class:`spoofspan.scale.shards.ShardedCorpus`)."""

    folder: Path
    facts: CorpusFacts = field(default_factory=CorpusFacts)
    _paths: list[Path] = field(default_factory=list)

    def add(self, facts: ShardFacts) -> None:
        """Take in a shard that has been stored; its ids follow those of the last one."""
        if facts.path is not None:
            self.facts.learn(facts)
            self._paths.append(facts.path)

    def settle(self) -> None:
        """Refuse what is no corpus as a whole."""
        self.facts.check(len(self._paths))

    def __len__(self) -> int:
        return len(self._paths)

    def read(self, number: int) -> Shard:
        """Read one shard."""
        with self._paths[number].open("rb") as file:
            return self.facts.settled((_load(file, References), _load(file, Scores)))

    def __iter__(self) -> Iterator[Shard]:
        return map(self.read, range(len(self)))


def save_shard(path: Path, shard: Shard) -> None:
    """Store a shard."""
    with path.open("wb") as file:
        for one in shard:
            _save(file, one)


def _save(file: IO[bytes], columns: References | Scores | None) -> None:
    """Write a corpus as a line of JSON and its arrays."""
    header: dict[str, Any] = {"none": columns is None, "texts": {}, "arrays": [], "values": {}}
    arrays: list[npt.NDArray[Any]] = []
    for one in fields(columns) if columns is not None else ():
        value = getattr(columns, one.name)
        if isinstance(value, tuple):
            header["texts"][one.name] = list(value)
        elif isinstance(value, np.ndarray):
            header["arrays"].append(one.name)
            arrays.append(value)
        else:
            header["values"][one.name] = value
    file.write(json.dumps(header).encode() + b"\n")
    for array in arrays:
        np.save(file, array, allow_pickle=False)


def _load(file: IO[bytes], kind: type[T]) -> T | None:
    header = json.loads(file.readline())
    if header["none"]:
        return None
    columns: dict[str, Any] = {name: tuple(value) for name, value in header["texts"].items()}
    columns |= {name: np.load(file, allow_pickle=False) for name in header["arrays"]}
    return kind(**columns, **header["values"])

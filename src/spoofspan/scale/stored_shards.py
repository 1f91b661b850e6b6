"""Shards on disk, for one process or several: each reads the shards that it works on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import partial, reduce
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
import numpy.typing as npt

from spoofspan.base.errors import UsageError
from spoofspan.base.locks import stored_in
from spoofspan.base.pool import Pool
from spoofspan.base.progress import progress
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.evaluation.corpus import Shard
from spoofspan.scale.shard_facts import CorpusFacts
from spoofspan.scale.shards import ShardedCorpus

Found = TypeVar("Found")
T = TypeVar("T", References, Scores)


@dataclass(frozen=True)
class StoredShards(ShardedCorpus):
    """A corpus in shards on disk; with a pool, several processes work on them, whoever is free on the next one.

    What comes back from them is small (a histogram has at most 2 MB), and adds: the bits are those of one process.
    """

    facts: CorpusFacts
    paths: tuple[Path, ...]
    pool: Pool | None = None

    def __len__(self) -> int:
        return len(self.paths)

    def __iter__(self) -> Iterator[Shard]:
        return map(partial(_read, self.facts), self.paths)

    def each(self, work: Callable[[Shard], Found], what: str, *, fetched: bool) -> Iterator[tuple[Shard | None, Found]]:
        """What came of every shard, in their order; this process reads them too, while the others work."""
        if self.pool is None:
            yield from super().each(work, what, fetched=fetched)
            return
        with progress(what, total=len(self), unit="shards") as advance:
            results = self.pool.in_order(partial(_work, self.facts, work), self.paths)
            for path, found in zip(self.paths, results, strict=True):
                yield (_read(self.facts, path) if fetched else None), found
                advance(1)

    def merged(self, work: Callable[[Shard], Found], merge: Callable[[Found, Found], Found], what: str) -> Found:
        """What came of all shards."""
        if self.pool is None:
            return super().merged(work, merge, what)

        def together(one: Found, other: Found) -> Found:
            advance(1)
            return merge(one, other)

        with progress(what, total=len(self), unit="shards") as advance:
            return reduce(together, self.pool.as_finished(partial(_work, self.facts, work), self.paths))


def _read(facts: CorpusFacts, path: Path) -> Shard:
    try:
        with path.open("rb") as file:
            return facts.settled((_load(file, References), _load(file, Scores)))
    except FileNotFoundError:
        raise UsageError(
            f"the shards in {path.parent} are gone; measure them inside of `with sharded(...) as corpus:`, and let "
            "nobody delete what lies in the folder that TMPDIR names"
        ) from None


def _work(facts: CorpusFacts, work: Callable[[Shard], Found], path: Path) -> Found:
    return work(_read(facts, path))


def save_shard(path: Path, shard: Shard) -> None:
    """Store a shard."""
    with stored_in(path.parent), path.open("wb") as file:
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

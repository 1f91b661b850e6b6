"""Drawing test sets of the same kind: as many clusters as there are, with replacement.

Replicate b has a random stream of its own, made of the seed and b, so the result has the same bits on any number of
workers. A replicate on which the measure has no value (one class only) is drawn again, and counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spoofspan.base.columns import Flags
from spoofspan.base.errors import DataError, UndefinedMeasureError, UsageError
from spoofspan.base.progress import progress
from spoofspan.base.threads import in_order
from spoofspan.base.times import Float64, Int64
from spoofspan.uncertainty.methods import DEFAULT_METHOD, METHODS, IntervalMethod, Method
from spoofspan.uncertainty.replicates import Replicates

# With fewer clusters of a class there is a caution.
FEW_CLUSTERS = 30
# With fewer, t has one degree of freedom and reaches 12.7 standard errors to either side: as good as no interval.
FEWEST_CLUSTERS = 3
# So many weights are held at once by a worker.
WEIGHTS_HELD = 1 << 21
MOST_REDRAWS = 1000


@dataclass(frozen=True)
class Resampling:
    """How intervals are made: what is left out or drawn, and which kind of interval it is.

    Parameters
    ----------
    clusters
        Utterance -> the cluster (speaker, session, source recording) it belongs to; None: each utterance is one.
    replicates
        How many times clusters are drawn, for ``"percentile"`` and ``"bca"``.
    confidence
        The level of the interval.
    method
        ``"jackknife-t"`` leaves out each cluster once; ``"percentile"`` and ``"bca"`` (corrected for bias and
        acceleration) draw clusters with replacement.
    seed
        Of the random draws.
    workers
        How many threads measure replicates; the result has the same bits with any number. None: one
        for each core, up to four.
    clusters_are
        What the clusters are, for people.

    Raises
    ------
    UsageError
        If there are too few replicates for the level or the method.

    Examples
    --------
    >>> Resampling(clusters={"u1": "anna", "u2": "ben"}, replicates=500, clusters_are="speaker").drawn_by
    'speaker'

    """

    clusters: Mapping[str, str] | None = None
    replicates: int = 2000
    confidence: float = 0.95
    method: Method = DEFAULT_METHOD
    seed: int = 0
    workers: int | None = None
    clusters_are: str = "cluster"

    @property
    def chosen(self) -> IntervalMethod:
        """The method."""
        return METHODS[self.method]

    @property
    def draws(self) -> bool:
        """Whether clusters are drawn, and not left out one by one."""
        return self.chosen.draws

    @property
    def drawn_by(self) -> str:
        """What is drawn or left out."""
        return "utterance" if self.clusters is None else self.clusters_are

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UsageError(f"method={self.method!r}: valid: {', '.join(map(repr, METHODS))}")
        for name in ("confidence", "replicates", "seed", *(() if self.workers is None else ("workers",))):
            if not isinstance(getattr(self, name), int | float | np.number):
                raise UsageError(f"{name}={getattr(self, name)!r}: must be a number")
        if not 0 < self.confidence < 1:
            raise UsageError(f"confidence={self.confidence!r}: must lie between 0 and 1, as 0.95")
        if self.replicates < 1 or (self.workers is not None and self.workers < 1) or self.seed < 0:
            raise UsageError("replicates and workers must be at least 1, seed at least 0")
        fewest = self.chosen.fewest_replicates
        if self.draws and self.replicates < fewest:
            raise UsageError(f"method={self.method!r} needs at least {fewest:,} replicates; use more, or 'percentile'")
        if self.draws and (self.replicates + 1) * (1 - self.confidence) / 2 < 1:
            raise UsageError(
                f"{self.replicates} replicates are too few for an interval at {self.confidence:g}; "
                f"use at least {int(np.ceil(2 / (1 - self.confidence)))}"
            )


NO_CLUSTER = "name one for each, or resample utterances (clusters=None, --cluster utterance)"


@dataclass(frozen=True, eq=False)
class Clusters:
    """What is drawn: clusters in the order of their names, and to which one each utterance belongs."""

    names: tuple[str, ...]
    unit_of: Mapping[str, int]

    @classmethod
    def of(cls, utterances: Sequence[str], clusters: Mapping[str, str] | None) -> Clusters:
        """Group utterances; the order in which they are given makes no difference."""
        missing = [] if clusters is None else [utt for utt in utterances if utt not in clusters]
        if missing:
            listed = ", ".join(map(repr, missing[:20]))
            raise DataError(f"{len(missing):,} utterances belong to no cluster: {listed}; {NO_CLUSTER}")
        names = sorted(utterances if clusters is None else {clusters[utt] for utt in utterances})
        if len(names) < 2:
            raise UsageError("a bootstrap needs at least two clusters; draw utterances (clusters=None) instead")
        index = {name: i for i, name in enumerate(names)}
        return cls(tuple(names), index if clusters is None else {utt: index[clusters[utt]] for utt in utterances})

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.names)

    def units_of(self, utterances: Sequence[str]) -> Int64:
        """The cluster of each utterance, as a number."""
        return np.fromiter((self.unit_of[utt] for utt in utterances), np.int64, len(utterances))


def dealt(groups: int, *classes: Flags) -> Int64:
    """The group of each cluster: those of both classes, of one class, in random order, are dealt out evenly."""
    count = classes[0].size
    order = np.lexsort((np.random.default_rng(0).permutation(count), *classes[::-1]))
    group = np.empty(count, np.int64)
    group[order] = np.arange(count) % groups
    return group


@dataclass(frozen=True)
class ClusterCounts:
    """How many clusters there are, and how many have any of a class; None for one that a measure does not look at."""

    clusters: int
    with_bona_fide: int | None
    with_spoof: int | None

    @property
    def fewest(self) -> int:
        """How many clusters have some of the scarcer class."""
        return min(count for count in (self.clusters, self.with_bona_fide, self.with_spoof) if count is not None)

    @property
    def refusal(self) -> str | None:
        """Why nothing can be said of other test sets; None if something can."""
        if self.fewest >= FEWEST_CLUSTERS:
            return None
        return (
            f"{self._scarce} are too few (under {FEWEST_CLUSTERS}) to say anything of other test sets: there is no "
            "interval and no p-value; measure more of them, or smaller clusters"
        )

    @property
    def cautions(self) -> tuple[str, ...]:
        """Reasons to look twice at an interval or a p-value; the reason why there is none, if there is none."""
        if self.refusal is not None:
            return (self.refusal,)
        if self.fewest >= FEW_CLUSTERS:
            return ()
        return (
            f"only {self._scarce} (fewer than {FEW_CLUSTERS}): interpret intervals and p-values with caution, and "
            "report the number",
        )

    @property
    def _scarce(self) -> str:
        named = {"": self.clusters, " with bona fide": self.with_bona_fide, " with spoof": self.with_spoof}
        name = next(name for name, count in named.items() if count == self.fewest)
        return f"{self.fewest} clusters{name}" if self.fewest != 1 else f"1 cluster{name}"


@dataclass(frozen=True, eq=False)
class Sample:
    """The values of replicates: a row for each system, a column for each replicate."""

    values: Float64
    redrawn: int


def stream(seed: int, replicate: int) -> np.random.Generator:
    """The random stream of one replicate."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(replicate,))))


def draw_weights(streams: Sequence[np.random.Generator], clusters: int) -> Int64:
    """How often each cluster is drawn: a row for each stream."""
    weights = np.empty((len(streams), clusters), np.int64)
    for row, one in zip(weights, streams, strict=True):
        row[:] = np.bincount(one.integers(0, clusters, clusters), minlength=clusters)
    return weights


def draw_replicates(systems: Sequence[Replicates], how: Resampling) -> Sample:
    """Measure all systems on the same draws of clusters."""
    clusters = systems[0].units
    at_once = min(max(WEIGHTS_HELD // clusters, 1), 256)
    starts = range(0, how.replicates, at_once)

    def measure(start: int) -> Sample:
        return _measure_draws(systems, how, range(start, min(start + at_once, how.replicates)))

    pieces = []
    # draws and matrix products take milliseconds outside of the interpreter's lock
    with progress("bootstrap replicates", total=how.replicates) as advance:
        for piece in in_order(measure, starts, how.workers):
            pieces.append(piece)
            advance(piece.values.shape[1])
    return Sample(np.concatenate([piece.values for piece in pieces], axis=1), sum(piece.redrawn for piece in pieces))


def _measure_draws(systems: Sequence[Replicates], how: Resampling, numbers: range) -> Sample:
    streams = [stream(how.seed, number) for number in numbers]
    clusters = systems[0].units
    values = np.full((len(systems), len(streams)), np.nan)
    open_, redrawn = np.arange(len(streams)), 0
    for _ in range(MOST_REDRAWS):
        weights = draw_weights([streams[i] for i in open_], clusters)
        values[:, open_] = [system.values(weights) for system in systems]
        open_ = np.flatnonzero(np.isnan(values).any(axis=0))
        if not open_.size:
            return Sample(values, redrawn)
        redrawn += open_.size
    raise UndefinedMeasureError(
        f"a replicate had no value in {MOST_REDRAWS:,} draws: hardly any choice of {clusters} clusters has both "
        "classes; use smaller clusters"
    )

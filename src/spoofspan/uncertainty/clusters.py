"""Clusters of utterances, crossed factors, and drawing test sets of the same kind with replacement.

**Crossed factors.** Speakers and attacks are crossed: a speaker says utterances of several attacks, and an attack
imitates several speakers. A value varies with both from one test set to another, so one kind of cluster is not enough.
Two-way clustering (Cameron, Gelbach and Miller, 2011) adds the variance over speakers and that over attacks,
and takes off what both count, the variance over pairs of a speaker and an attack. With more factors, every product of
some of them is added if it has an odd number of factors and taken off otherwise.

Purely bona fide utterances have no attack. Where a column says so, by one value that they alone have or by none at all,
each of them is a cluster of its own.

Replicate b has a random stream of its own, made of the seed and b, so a longer run begins with the shorter one. A
replicate on which the measure has no value (one class only) is drawn again, and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Literal, TypeAlias, cast

import numpy as np

from spoofspan.base.columns import Flags
from spoofspan.base.errors import DataError, UndefinedMeasureError, UsageError
from spoofspan.base.progress import progress
from spoofspan.base.times import Float64, Int64
from spoofspan.uncertainty.methods import DEFAULT_METHOD, METHODS, IntervalMethod, Method
from spoofspan.uncertainty.replicates import Replicates

# With fewer clusters of a class there is a caution.
FEW_CLUSTERS = 30
# With fewer, t has one degree of freedom and an interval of 12.7 standard errors to either side, which is useless.
FEWEST_CLUSTERS = 3
# The number of weights held at once.
WEIGHTS_HELD = 1 << 21
MOST_REDRAWS = 1000
# Nouns for clusters: the default, and for known factors.
UNNAMED, UTTERANCE, SPEAKER, ATTACK = "cluster", "utterance", "speaker", "attack"
# Utterance -> cluster, or factor -> utterance -> level.
Grouping: TypeAlias = "Mapping[str, str] | Mapping[str, Mapping[str, str]]"


def estimand(factors: Collection[str], seeds: Literal["", "these", "other"] = "") -> str:
    """The scope of an interval or a test in words: the factors that vary, and those held fixed.

    >>> estimand(["speaker"])
    'for other speakers, these attacks (new attacks: --cluster speaker,attack)'
    >>> estimand(["speaker", "attack"], "other")
    'for other speakers and new attacks, other seeds'
    """
    trained = f", {seeds} seeds" if seeds else ""
    if {*factors} <= {UTTERANCE}:
        return f"for other utterances{trained}; speakers are not considered (give --metadata FILE --cluster speaker)"
    varied = " and ".join(f"{'new' if name == ATTACK else 'other'} {name}s" for name in factors)
    if {*factors} == {UNNAMED}:
        return f"for {varied}{trained}"
    fixed = " and ".join(f"{name}s" for name in (SPEAKER, ATTACK) if name not in factors)
    remedy = "" if ATTACK in factors else f" (new attacks: --cluster {','.join([*factors, ATTACK])})"
    return f"for {varied}{f', these {fixed}' if fixed else ''}{trained}{remedy}"


@dataclass(frozen=True)
class Resampling:
    """Settings of intervals: the clusters that are left out or drawn, and the method.

    Parameters
    ----------
    clusters
        Utterance -> its cluster (speaker, session, source recording); None: each utterance is a cluster.
        Crossed factors by name: ``{"speaker": {...}, "attack": {...}}``, for other speakers and new attacks. They need
        the method ``"jackknife-t"``.
    replicates
        The number of draws, for ``"percentile"`` and ``"bca"``.
    confidence
        The level of the interval.
    method
        ``"jackknife-t"`` leaves out each cluster once; ``"percentile"`` and ``"bca"`` (corrected for bias and
        acceleration) draw clusters with replacement.
    seed
        The seed of the random draws.
    clusters_are
        The noun for a cluster; factors have their own names.

    Raises
    ------
    UsageError
        If there are too few replicates for the level or the method.

    Examples
    --------
    >>> Resampling(clusters={"u1": "anna", "u2": "ben"}, replicates=500, clusters_are="speaker").drawn_by
    'speaker'
    >>> Resampling(clusters={"speaker": {"u1": "anna"}, "attack": {"u1": "A01"}}).drawn_by
    'speaker x attack'

    """

    clusters: Grouping | None = None
    replicates: int = 2000
    confidence: float = 0.95
    method: Method = DEFAULT_METHOD
    seed: int = 0
    clusters_are: str = UNNAMED

    @property
    def chosen(self) -> IntervalMethod:
        """The method."""
        return METHODS[self.method]

    @property
    def draws(self) -> bool:
        """True if clusters are drawn; otherwise they are left out one by one."""
        return self.chosen.draws

    @property
    def drawn_by(self) -> str:
        """The noun for what is drawn or left out."""
        return " x ".join(self.factors) or UTTERANCE

    @property
    def factors(self) -> dict[str, Mapping[str, str]]:
        """Factor -> utterance -> level; empty if each utterance is a cluster."""
        return {} if self.clusters is None else factors_of(self.clusters, self.clusters_are)

    def within(self, columns: Iterable[str]) -> Resampling:
        """The settings within one value of some columns, which then do not vary."""
        same = set(columns)
        kept = {name: levels for name, levels in self.factors.items() if name not in same}
        return replace(self, clusters=kept) if 0 < len(kept) < len(self.factors) else self

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UsageError(f"method={self.method!r}: valid: {', '.join(map(repr, METHODS))}")
        for name in ("confidence", "replicates", "seed"):
            if not isinstance(getattr(self, name), int | float | np.number):
                raise UsageError(f"{name}={getattr(self, name)!r}: must be a number")
        if not 0 < self.confidence < 1:
            raise UsageError(f"confidence={self.confidence!r}: must lie between 0 and 1, as 0.95")
        if self.confidence < 0.5:  # the level of the test in the place of that of the interval
            raise UsageError(
                f"confidence={self.confidence!r}: an interval that holds the value less often than not; "
                f"confidence={1 - self.confidence:g} is that of a test at the level {self.confidence:g}"
            )
        if self.replicates < 1 or self.seed < 0:
            raise UsageError("replicates must be at least 1, seed at least 0")
        if self.draws and len(self.factors) > 1:
            raise UsageError(
                f"crossed factors ({', '.join(self.factors)}) need the method 'jackknife-t'; leave method= "
                f"(--interval) out, or resample one of them: --cluster {next(iter(self.factors))}"
            )
        fewest = self.chosen.fewest_replicates
        if self.draws and self.replicates < fewest:
            raise UsageError(f"method={self.method!r} needs at least {fewest:,} replicates; use more, or 'percentile'")
        if self.draws and (self.replicates + 1) * (1 - self.confidence) / 2 < 1:
            raise UsageError(
                f"{self.replicates} replicates are too few for an interval at {self.confidence:g}; "
                f"use at least {int(np.ceil(2 / (1 - self.confidence)))}"
            )


NO_CLUSTER = "name one for each, or resample utterances (clusters=None, --cluster utterance)"


def factors_of(clusters: Grouping, name: str = UNNAMED) -> dict[str, Mapping[str, str]]:
    """Factor -> utterance -> level, of crossed factors or of a single one with the given name.

    >>> factors_of({"u1": "anna"}), factors_of({"speaker": {"u1": "anna"}})
    ({'cluster': {'u1': 'anna'}}, {'speaker': {'u1': 'anna'}})
    """
    columns = [isinstance(one, Mapping) for one in clusters.values()]
    if columns and all(columns):
        return cast("dict[str, Mapping[str, str]]", dict(clusters))
    if any(columns):
        raise UsageError("clusters= has both clusters and factors; give {factor: {utterance: level}, ...}")
    return {name: cast("Mapping[str, str]", clusters)}


@dataclass(frozen=True, eq=False)
class Clusters:
    """The clusters that are left out or drawn, in the order of their names, with the cluster of each utterance.

    Parameters
    ----------
    names
        The names of the clusters.
    unit_of
        Utterance -> the index of its cluster.
    factor
        The noun for a cluster; empty for a product of factors.
    alone
        The number of clusters that are single utterances without a level, such as bona fide ones without an attack.
    crossed
        The other factors, and the products of factors.
    sign
        1 if the variance over these clusters is added, -1 if it is subtracted.
    """

    names: tuple[str, ...]
    unit_of: Mapping[str, int]
    factor: str = UTTERANCE
    alone: int = 0
    crossed: tuple[Clusters, ...] = ()
    sign: int = 1

    @classmethod
    def of(
        cls,
        utterances: Sequence[str],
        clusters: Grouping | None,
        clusters_are: str = UNNAMED,
        spoofed: Callable[[], Collection[str]] | None = None,
    ) -> Clusters:
        """Group utterances; their order makes no difference.

        ``spoofed`` returns the utterances with any spoof. It is called for factors other than speakers, to find out
        if bona fide utterances have a level.
        """
        if clusters is None:
            names = sorted(utterances)
            return cls(tuple(names), {name: i for i, name in enumerate(names)})._checked()
        factors = factors_of(clusters, clusters_are)
        known = set(spoofed()) if spoofed is not None and not {*factors} <= {UNNAMED, SPEAKER} else None
        levels = {name: _levels(name, column, utterances, known) for name, column in factors.items()}
        ways = [
            cls._product(utterances, [levels[name] for name in some], some)
            for size in range(1, len(factors) + 1)
            for some in combinations(factors, size)
        ]
        return replace(ways[0], crossed=tuple(ways[1:]))

    @classmethod
    def _product(
        cls, utterances: Sequence[str], levels: Sequence[tuple[list[str], Int64]], factors: Sequence[str]
    ) -> Clusters:
        """The clusters of utterances with equal levels of all these factors; utterances without a level come last."""
        has_none = np.any([column < 0 for _, column in levels], axis=0)
        size = [len(known) for known, _ in levels]
        together = np.ravel_multi_index(tuple(column[~has_none] for _, column in levels), size)
        numbers, found = np.unique(together, return_inverse=True)
        places = np.transpose(np.unravel_index(numbers, size)).tolist()
        names = [" x ".join(known[i] for (known, _), i in zip(levels, one, strict=True)) for one in places]
        alone = sorted(utterances[i] for i in np.flatnonzero(has_none).tolist())
        unit_of = dict.fromkeys(utterances, 0)
        unit_of |= zip((utterances[i] for i in np.flatnonzero(~has_none).tolist()), found.ravel().tolist(), strict=True)
        unit_of |= {utt: len(names) + place for place, utt in enumerate(alone)}
        factor, sign = factors[0] if len(factors) == 1 else "", 1 if len(factors) % 2 else -1
        return cls((*names, *alone), unit_of, factor, len(alone), sign=sign)._checked()

    def _checked(self) -> Clusters:
        if self.count < 2:
            raise UsageError(
                f"all utterances have the same {self.factor or 'cluster'}, and an interval needs several; take other "
                "clusters (clusters=, --cluster)"
            )
        return self

    @property
    def count(self) -> int:
        """Number of clusters."""
        return len(self.names)

    def units_of(self, utterances: Sequence[str]) -> Int64:
        """The index of the cluster of each utterance."""
        return np.fromiter((self.unit_of[utt] for utt in utterances), np.int64, len(utterances))


def _levels(
    name: str, column: Mapping[str, str], utterances: Sequence[str], spoofed: Collection[str] | None
) -> tuple[list[str], Int64]:
    """The levels by name, and the index of the level of each utterance.

    It is -1 for bona fide utterances if the column shows that they have none.
    """
    values = [column.get(utt) for utt in utterances]
    if spoofed is not None and name not in (UNNAMED, SPEAKER):
        of_spoof = [utt in spoofed for utt in utterances]
        theirs = {value for value, spoof in zip(values, of_spoof, strict=True) if not spoof}
        others = {value for value, spoof in zip(values, of_spoof, strict=True) if spoof}
        if len(theirs) == 1 and None not in others and not theirs & others:
            return _coded(values, others)
    missing = [utt for utt, value in zip(utterances, values, strict=True) if value is None]
    if missing:
        listed = ", ".join(map(repr, missing[:20]))
        raise DataError(f"{len(missing):,} utterances belong to no {name}: {listed}; {NO_CLUSTER}")
    return _coded(values, set(values))


def _coded(values: Sequence[str | None], levels: Collection[str | None]) -> tuple[list[str], Int64]:
    """Levels in the order of their names, and the index of each value among them; -1 if it is no level."""
    names = sorted(map(str, levels))
    places = {name: place for place, name in enumerate(names)}
    index = {level: places[str(level)] for level in levels}
    return names, np.fromiter((index.get(one, -1) for one in values), np.int64, len(values))


def dealt(groups: int, *classes: Flags) -> Int64:
    """Assign clusters to groups evenly: those of both classes first, then those of one class, in random order."""
    count = classes[0].size
    order = np.lexsort((np.random.default_rng(0).permutation(count), *classes[::-1]))
    group = np.empty(count, np.int64)
    group[order] = np.arange(count) % groups
    return group


@dataclass(frozen=True)
class ClusterCounts:
    """The number of clusters, and of those with each class; None for a class that a measure does not use."""

    clusters: int
    with_bona_fide: int | None
    with_spoof: int | None
    noun: str = UNNAMED
    levels: Mapping[str, int] = field(default_factory=dict)  # of each factor

    @classmethod
    def of(
        cls, systems: Iterable[tuple[Flags | None, Flags | None]], factor: str = UNNAMED, alone: int = 0
    ) -> ClusterCounts:
        """Count the clusters with each class, of the system with the fewest, from the flags of each system.

        ``alone`` clusters are single utterances without a level of the factor.
        """
        known = [[flags for flags in column if flags is not None] for column in zip(*systems, strict=True)]
        counts = [min((int(np.count_nonzero(flags)) for flags in column), default=None) for column in known]
        clusters = next(flags.size for column in known for flags in column) - alone
        with_bona_fide, with_spoof = counts
        return cls(clusters, with_bona_fide, with_spoof, factor, {factor: clusters})

    @classmethod
    def of_factors(cls, counts: Sequence[ClusterCounts]) -> ClusterCounts:
        """The counts of crossed factors: for each class, the fewest clusters of any factor."""
        if len(counts) == 1:
            return counts[0]
        levels = {name: count for one in counts for name, count in one.levels.items()}

        def fewest(values: Iterable[int | None]) -> int | None:
            return min((one for one in values if one is not None), default=None)

        scarcest = min(counts, key=lambda one: one.fewest)
        return cls(
            min(levels.values()),
            fewest(one.with_bona_fide for one in counts),
            fewest(one.with_spoof for one in counts),
            next(iter(scarcest.levels)),
            levels,
        )

    @property
    def fewest(self) -> int:
        """The number of clusters with the scarcer class."""
        return min(count for count in (self.clusters, self.with_bona_fide, self.with_spoof) if count is not None)

    @property
    def refusal(self) -> str | None:
        """The reason for having no interval and no p-value; None if there are some."""
        if self.fewest >= FEWEST_CLUSTERS:
            return None
        return (
            f"{self._scarce} are too few (under {FEWEST_CLUSTERS}) to say anything of other test sets: there is no "
            "interval and no p-value; measure more of them, or smaller clusters"
        )

    @property
    def cautions(self) -> tuple[str, ...]:
        """Cautions about intervals and p-values, or the reason for having none."""
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
        return f"{self.fewest} {self.noun}{'s' * (self.fewest != 1)}{name}"


@dataclass(frozen=True, eq=False)
class Sample:
    """The values of replicates: a row for each system, a column for each replicate."""

    values: Float64
    redrawn: int


def stream(seed: int, replicate: int) -> np.random.Generator:
    """The random stream of one replicate."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(replicate,))))


def draw_weights(streams: Sequence[np.random.Generator], clusters: int) -> Int64:
    """The number of times each cluster is drawn: a row for each stream."""
    weights = np.empty((len(streams), clusters), np.int64)
    for row, one in zip(weights, streams, strict=True):
        row[:] = np.bincount(one.integers(0, clusters, clusters), minlength=clusters)
    return weights


def draw_replicates(systems: Sequence[Replicates], how: Resampling) -> Sample:
    """Measure all systems on the same draws of clusters."""
    clusters = systems[0].units
    at_once = min(max(WEIGHTS_HELD // clusters, 1), 256)
    pieces = []
    with progress("bootstrap replicates", total=how.replicates) as advance:
        for start in range(0, how.replicates, at_once):
            numbers = range(start, min(start + at_once, how.replicates))
            pieces.append(_measure_draws(systems, how, numbers))
            advance(len(numbers))
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

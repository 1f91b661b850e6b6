"""Comparison: whether one system is better than another, or the test set only makes it look so.

All systems are measured on the same clusters. A difference is ``first - second``: for an error rate, negative
means that the first system is better.

A p-value and the interval of a difference come from one construction, so that they cannot disagree: p is under
1 - confidence if and only if the interval does not hold 0. By the jackknife both come from the same t; by percentiles
or BCa, p is the interval inverted. Of several pairs, p is also given after Holm's correction, which keeps the chance of
any false claim among them at the level.

A test sees the scores of a system only through its values, so an increasing map of one system's scores changes no p.
That is why scores of two systems are never swapped: they have no common scale.

**Several seeds** of one system say how much of a number is the training, and how much the test set.
A system trained five times gives five EERs. Their standard deviation says what training does. The interval of the mean
*with the seeds fixed* says what the test set does: clusters are drawn, and the mean over the same seeds is taken. A
*joint* interval covers both: each replicate draws clusters and seeds. From fewer than five seeds it would be made up,
and there is none.

Of n seeds, n - 1 are drawn: the mean of n - 1 draws varies by SD^2 / n, as the mean of n seeds does; n draws would vary
by less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isnan, nan
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.data.references import References
from spoofspan.data.scores import DECISION_THRESHOLD, Scores
from spoofspan.measures.measure import Measure
from spoofspan.uncertainty.clusters import stream
from spoofspan.uncertainty.intervals import Interval, spread_of
from spoofspan.uncertainty.measured_system import (
    BootstrapArguments,
    SignedSystems,
    measured_systems,
    signers_of,
    split_arguments,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Where p-values come from.
Test = Literal["jackknife-t", "percentile interval, inverted", "bca interval, inverted"]


@dataclass(frozen=True)
class Difference:
    """The difference of two systems, first - second."""

    first: str
    second: str
    interval: Interval
    p_value: float
    adjusted_p_value: float  # after Holm's correction over all pairs

    @property
    def value(self) -> float:
        """The difference."""
        return self.interval.estimate

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "first": self.first,
            "second": self.second,
            "difference": self.value,
            "low": self.interval.low,
            "high": self.interval.high,
            "p_value": self.p_value,
            "adjusted_p_value": self.adjusted_p_value,
        }


@dataclass(frozen=True, kw_only=True)
class Comparison(SignedSystems):
    """Several systems on one corpus: the value of each, and the difference of every two.

    Parameters
    ----------
    measure
        What was measured.
    direction
        Which values are better, ``"lower"`` or ``"higher"``.
    test
        Where the p-values come from.
    intervals
        System -> its value with an interval.
    differences
        Of every two systems, first - second.
    signers
        System -> what signs its value, see :attr:`signatures`.

    Examples
    --------
    See :func:`spoofspan.compare`.

    """

    measure: str
    direction: Literal["lower", "higher"]  # is better
    test: Test
    intervals: Mapping[str, Interval]
    differences: tuple[Difference, ...]

    def better(self, difference: Difference) -> str | None:
        """The better one of two systems, if the test says so at the level of the intervals; None: undecided."""
        if not difference.adjusted_p_value < 1 - difference.interval.level or not difference.value:
            return None
        first_is = (difference.value < 0) == (self.direction == "lower")
        return difference.first if first_is else difference.second

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons to look twice at intervals and p-values, each once."""
        found = (*self.intervals.values(), *(one.interval for one in self.differences))
        return tuple(dict.fromkeys(text for one in found for text in one.warnings))

    def _repr_html_(self) -> str:
        """Two tables, for notebooks."""
        from spoofspan.report.results import comparison_tables

        return "\n".join(table.render("html") for table in comparison_tables(self, signatures=False))

    def __getitem__(self, pair: tuple[str, str]) -> Difference:
        for difference in self.differences:
            if (difference.first, difference.second) == pair:
                return difference
        raise KeyError(pair)

    def __str__(self) -> str:
        some = next(iter(self.intervals.values()))
        lines = [f"{self.measure} ({self.direction} is better); {self.test}; {some.how}"]
        lines += [
            f"{name}: {one.estimate:.5g} ({one.low:.5g} to {one.high:.5g})" for name, one in self.intervals.items()
        ]
        lines += [
            f"{one.first} - {one.second}: {one.value:+.5g} ({one.interval.low:+.5g} to {one.interval.high:+.5g}), "
            f"p = {one.p_value:.4g}, Holm {one.adjusted_p_value:.4g}"
            for one in self.differences
        ]
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "measure": self.measure,
            "direction": self.direction,
            "test": self.test,
            "systems": [
                {
                    "system": name,
                    "value": one.estimate,
                    "interval": one.to_dict(),
                    "signature": self.signatures[name].to_dict(),
                }
                for name, one in self.intervals.items()
            ],
            "differences": [{**one.to_dict(), "better": self.better(one)} for one in self.differences],
            "warnings": list(self.warnings),
        }


def compare(
    references: References,
    systems: Mapping[str, Scores],
    measure: str | Measure = "range-eer",
    *,
    thresholds: Mapping[str, float] | None = None,
    **arguments: Unpack[BootstrapArguments],
) -> Comparison:
    """Compare two or more systems, every two of them, on the same clusters.

    Parameters
    ----------
    references
        Of all systems.
    systems
        Name -> scores.
    measure
        As ``"range-eer"``.
    thresholds
        Of a measure at a threshold, and only then: one for each system, chosen beforehand on other data.
    **arguments
        As in :func:`~spoofspan.bootstrap`.

    Returns
    -------
    Comparison

    Raises
    ------
    UsageError
        If the systems are measured under different rules, or on different utterances.

    Examples
    --------
    >>> import spoofspan.demo
    >>> corpus = spoofspan.demo.load()
    >>> found = compare(corpus.references, {"A": corpus.systems[0.02], "B": corpus.systems[0.64]})
    >>> found["A", "B"].value < 0, found["A", "B"].p_value < 0.05
    (True, True)

    """
    how, options = split_arguments(arguments)
    if len(systems) < 2:
        raise UsageError("compare at least two systems; for one, bootstrap gives an interval")
    parsed = Measure.parse(measure)
    fixed = _fixed_thresholds(parsed, systems, thresholds)
    measured = measured_systems(references, systems, parsed, options, fixed)
    spread = spread_of(measured, how)
    names = list(measured)
    pairs = list(combinations(range(len(names)), 2))
    found = [spread.difference(first, second) for first, second in pairs]
    adjusted = holm([p for _, p in found])
    differences = tuple(
        Difference(names[first], names[second], one, p, after)
        for (first, second), (one, p), after in zip(pairs, found, adjusted, strict=True)
    )
    return Comparison(
        measure=spread.measure,
        direction=parsed.kind.direction,
        test=cast("Test", f"{how.method} interval, inverted" if how.draws else how.method),
        intervals={name: spread.one(place) for place, name in enumerate(names)},
        differences=differences,
        signers=signers_of(measured),
    )


def _fixed_thresholds(
    measure: Measure, systems: Mapping[str, Scores], thresholds: Mapping[str, float] | None
) -> dict[str, float]:
    """The threshold of each system for a measure at one; empty for threshold-free measures."""
    if not measure.at_threshold:
        if thresholds is not None:
            raise UsageError(f"{measure} is not taken at a threshold; leave thresholds= out")
        return {}
    given = dict(thresholds or {})
    unknown = [name for name in given if name not in systems]
    if unknown:
        raise UsageError(f"a threshold for {unknown[0]!r}, which is no system; systems: {', '.join(systems)}")
    for name, scores in systems.items():
        if scores.decisions:
            given[name] = DECISION_THRESHOLD
    missing = [name for name in systems if name not in given]
    if missing:
        raise UsageError(
            f"{measure} is taken at a threshold: give each system its own, chosen on other data "
            f"(thresholds={{{missing[0]!r}: ...}}), or compare a threshold-free measure such as range-eer"
        )
    return given


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction: the lowest p times their number, the next times one less, ..., never falling, at most 1.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]

    A pair without a p-value stays without, and counts as one of the pairs.
    """
    order = np.argsort(p_values, kind="stable")  # NaN comes last
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        if not isnan(p_values[index]):
            highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = nan if isnan(p_values[index]) else highest
    return adjusted


if TYPE_CHECKING:
    from typing_extensions import Unpack

# ---------------------------------------------------------------- several seeds

FEWEST_FOR_JOINT = 5
# Seeds are drawn from streams of their own, behind those of the clusters.
SEED_STREAMS = 1 << 31


@dataclass(frozen=True, kw_only=True)
class SeedVariation(SignedSystems):
    """The values of one system that was trained several times, and how much of their spread is the training.

    Parameters
    ----------
    measure
        What was measured.
    values
        Seed -> value.
    mean, standard_deviation
        Over the seeds.
    test_set
        The interval of the mean with the seeds fixed.
    joint
        The interval of the mean with seeds drawn too; None with fewer than five seeds.
    signers
        Seed -> what signs its value, see :attr:`signatures`.

    Examples
    --------
    See :func:`spoofspan.seed_variation`.

    """

    measure: str
    values: Mapping[str, float]
    mean: float
    standard_deviation: float  # over seeds
    test_set: Interval  # of the mean, seeds fixed
    joint: Interval | None  # of the mean, seeds drawn too; None with fewer than five seeds

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        from spoofspan.report.results import seeds_table

        return seeds_table(self, signatures=False).render("html")

    def __str__(self) -> str:
        lines = [
            f"{self.measure}: mean {self.mean:.5g}, SD {self.standard_deviation:.5g} over {len(self.values)} seeds",
            *(f"  {name}: {value:.5g}" for name, value in self.values.items()),
            f"  test set, seeds fixed: {self.test_set.low:.5g} to {self.test_set.high:.5g}",
        ]
        if self.joint is None:
            lines.append(f"  no joint interval: {len(self.values)} seeds, and it needs {FEWEST_FOR_JOINT}")
        else:
            lines.append(f"  test set and seeds: {self.joint.low:.5g} to {self.joint.high:.5g}")
        return "\n".join([*lines, *(f"  warning: {text}" for text in self.test_set.warnings)])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "measure": self.measure,
            "values": [
                {"seed": name, "value": value, "signature": self.signatures[name].to_dict()}
                for name, value in self.values.items()
            ],
            "mean": self.mean,
            "standard_deviation": self.standard_deviation,
            "test_set": self.test_set.to_dict(),
            "joint": None if self.joint is None else self.joint.to_dict(),
        }


def seed_variation(
    references: References,
    seeds: Mapping[str, Scores],
    measure: str | Measure = "range-eer",
    *,
    threshold: float | None = None,
    **arguments: Unpack[BootstrapArguments],
) -> SeedVariation:
    """Measure one system from several trainings.

    Parameters
    ----------
    references
        Of the test set.
    seeds
        Name of a training -> its scores.
    measure
        As ``"range-eer"``.
    threshold
        Of a measure at a threshold.
    **arguments
        As in :func:`~spoofspan.bootstrap`; ``seed`` is that of the draws.

    Returns
    -------
    SeedVariation

    Examples
    --------
    >>> import spoofspan.demo
    >>> corpus = spoofspan.demo.load()
    >>> seeds = {"1": corpus.systems[0.02], "2": corpus.systems[0.04]}
    >>> found = seed_variation(corpus.references, seeds, replicates=100)
    >>> found.test_set.low < found.mean < found.test_set.high, found.joint
    (True, None)

    """
    how, options = split_arguments(arguments)
    if how.method == "bca":
        raise UsageError("the mean over seeds has percentile intervals only; leave method= out")
    how = replace(how, method="percentile")  # seeds are drawn too
    if len(seeds) < 2:
        raise UsageError("give the scores of at least two seeds; for one, bootstrap gives an interval")
    thresholds = {} if threshold is None else dict.fromkeys(seeds, threshold)
    measured = measured_systems(references, seeds, Measure.parse(measure), options, thresholds)
    spread = spread_of(measured, how)
    values = spread.estimates
    mean = float(values.mean())
    joint = None
    count = len(seeds)
    if count >= FEWEST_FOR_JOINT:
        numbers = np.arange(how.replicates)
        chosen = [stream(how.seed, SEED_STREAMS + int(b)).integers(0, count, count - 1) for b in numbers]
        joint = spread.of_replicates(mean, spread.values[np.stack(chosen), numbers[:, None]].mean(axis=1))
    return SeedVariation(
        measure=spread.measure,
        values=dict(zip(measured, values.tolist(), strict=True)),
        mean=mean,
        standard_deviation=float(values.std(ddof=1)),
        test_set=spread.of_replicates(mean, spread.values.mean(axis=0)),
        joint=joint,
        signers=signers_of(measured),
    )

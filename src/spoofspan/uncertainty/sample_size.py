"""How large a test set must be to tell two values apart, and what a test set of a given size can tell.

A jackknife over the clusters of an evaluation says by how much one cluster moves a value: with C clusters and the
variance V of the value, one cluster contributes ``C V``. On n clusters of the same kind the difference of two systems
varies by::

    (s1^2 + s2^2 - 2 r s1 s2) / n        s^2 = C V of a system, r the correlation of both over clusters

r is that of the two systems where both are measured on the same clusters (*paired*), and 0 on different ones
(*unpaired*, n clusters for each). The test is the t test, with n - 1 degrees of freedom paired and 2 n - 2 unpaired.

A rate of another height varies by another amount. Where the values to be told apart are not those that were measured,
``s^2`` is scaled as the variance of a share is, by ``p (1 - p)``.

The power of the test is a noncentral t probability, integrated over the law of the estimated standard error::

    power = E[1 - Phi(t u - delta) + Phi(-t u - delta)],    u^2 ~ chi^2(df) / df,    delta = difference / standard error
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.data.sides import check_systems
from spoofspan.measures.measure import Measure, in_percent, number_text
from spoofspan.uncertainty.clusters import estimand
from spoofspan.uncertainty.jackknife import Jackknife, is_share
from spoofspan.uncertainty.measured_system import (
    BootstrapArguments,
    clusters_of,
    leave_out,
    measured_systems,
    split_arguments,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack


from statistics import NormalDist

import numpy as np

from spoofspan.uncertainty.student import quantile

NORMAL = NormalDist()
FEWEST = 3
MOST = 10**9
# Points of the integral over the law of the standard error.
POINTS = 400


def power_of(difference: float, deviation: float, clusters: float, level: float, samples: int = 1) -> float:
    """The chance that a two-sided t test at the level finds a difference.

    Parameters
    ----------
    difference
        The true one.
    deviation
        The standard deviation of the difference that one cluster gives.
    clusters
        How many there are, for each system.
    level
        As 0.05.
    samples
        1: both systems on the same clusters. 2: on different ones.

    Returns
    -------
    float

    Examples
    --------
    >>> round(power_of(0.5, 1.0, 34, 0.05), 3)  # of standard deviations: textbooks say 34 pairs for 80 %
    0.808

    """
    degrees = samples * (clusters - 1)
    distance = abs(difference) / deviation * math.sqrt(clusters) if deviation else math.inf
    if math.isinf(distance):
        return 1.0
    critical = quantile(1 - level, degrees)
    spread = 1 / math.sqrt(2 * degrees)
    edges = np.linspace(max(1 - 9 * spread, 0.0), 1 + 12 * spread, POINTS + 1)
    u = (edges[1:] + edges[:-1]) / 2
    density = np.exp((degrees - 1) * np.log(u) - degrees * (u**2 - 1) / 2)
    found = [NORMAL.cdf(distance - critical * one) + NORMAL.cdf(-distance - critical * one) for one in u]
    return float(np.dot(density, found) / density.sum())


def clusters_needed(difference: float, deviation: float, power: float, level: float, samples: int = 1) -> int:
    """The fewest clusters (for each system) with which a difference is found with at least this power."""
    if not difference:
        raise UsageError("equal values cannot be told apart; give two different ones")

    def enough(clusters: int) -> bool:
        return power_of(difference, deviation, clusters, level, samples) >= power

    low, high = FEWEST - 1, FEWEST
    while not enough(high):
        low, high = high, 2 * high
        if high > MOST:
            raise UsageError(f"it takes more than {MOST:,} clusters; the values are too close to each other")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def detectable_difference(deviation: float, clusters: int, power: float, level: float, samples: int = 1) -> float:
    """Smallest difference detectable with n clusters at this power."""
    low, high = 0.0, deviation
    while power_of(high, deviation, clusters, level, samples) < power:
        low, high = high, 2 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        enough = power_of(middle, deviation, clusters, level, samples) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


# How alike two systems may be over clusters, where only one was measured.
CORRELATIONS = (0.5, 0.8, 0.95)


@dataclass(frozen=True)
class Needed:
    """How many clusters it takes, paired or not.

    Parameters
    ----------
    paired
        Whether both systems are measured on the same clusters.
    correlation
        Of both systems over clusters; 0 if unpaired.
    clusters
        How many it takes, for each system.
    utterances
        How many that are, with as many in a cluster as now.
    power_now
        The power with the clusters of the evaluation.
    detectable
        The difference that these tell with the power asked for.

    """

    paired: bool
    correlation: float
    clusters: int
    utterances: int
    power_now: float
    detectable: float

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return dict(vars(self))


@dataclass(frozen=True)
class SampleSize:
    """How large a test set must be to tell two values apart.

    Parameters
    ----------
    measure
        What is measured.
    first, second
        The values to be told apart.
    power
        With which probability they shall be.
    level
        Of the test, as 0.05.
    clusters, utterances
        How many the evaluation has.
    drawn_by
        What the clusters are.
    estimand
        What the planned test generalises to, in words.
    needed
        How many it takes, in a comparison on the same clusters (if the correlation is unknown, for several) and on
        different ones.
    warnings
        Reasons to look twice at it.

    Examples
    --------
    See :func:`sample_size`.

    """

    measure: str
    first: float
    second: float
    power: float
    level: float
    clusters: int
    utterances: int
    drawn_by: str
    estimand: str
    needed: tuple[Needed, ...]
    warnings: tuple[str, ...] = ()

    @property
    def precision(self) -> float:
        """How far the numbers of clusters may be off, as a share: two standard errors of a variance."""
        return 2 * math.sqrt(2 / (self.clusters - 1))

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        from spoofspan.report.verdicts import size_table

        return size_table(self).render("html")

    def __str__(self) -> str:
        from spoofspan.report.verdicts import size_table

        return size_table(self).render("text").rstrip("\n")

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        plain = {name: value for name, value in vars(self).items() if name not in ("needed", "warnings")}
        needed = [one.to_dict() for one in self.needed]
        return {**plain, "precision": self.precision, "needed": needed, "warnings": list(self.warnings)}


def sample_size(
    references: References,
    systems: Mapping[str, Scores],
    measure: str | Measure = "range-eer",
    *,
    first: float | None = None,
    second: float | None = None,
    power: float = 0.8,
    correlation: float | None = None,
    **arguments: Unpack[BootstrapArguments],
) -> SampleSize:
    """Say how large a test set must be to tell two values apart, from one evaluation.

    Parameters
    ----------
    references
        Of the evaluation.
    systems
        One system, or two, by name: their values vary from cluster to cluster as those to be told apart will.
    measure
        A measure that is taken at no threshold, as ``"range-eer"``.
    first, second
        The values to be told apart; without them, those of the systems.
    power
        With which probability they shall be told apart.
    correlation
        Of two systems over clusters, where only one was measured; several are shown without it.
    **arguments
        As in :func:`~spoofspan.bootstrap`; the level of the test is 1 - ``confidence``.

    Returns
    -------
    SampleSize

    Raises
    ------
    UsageError
        If there is nothing to tell apart, or the systems cannot be compared.

    Examples
    --------
    >>> import spoofspan.demo
    >>> corpus = spoofspan.demo.load()
    >>> found = sample_size(corpus.references, {"ours": corpus.systems[0.02]}, first=0.052, second=0.060)
    >>> [(one.paired, one.correlation, one.clusters) for one in found.needed]  # utterances, here
    [(True, 0.5, 444), (True, 0.8, 180), (True, 0.95, 48), (False, 0.0, 883)]

    """
    how, options = split_arguments(arguments)
    if not 0 < power < 1:
        raise UsageError(f"power={power!r}: must lie between 0 and 1, as 0.8")
    if correlation is not None and not -1 < correlation < 1:
        raise UsageError(f"correlation={correlation!r}: must lie between -1 and 1")
    check_systems(systems)
    if len(systems) not in (1, 2):
        raise UsageError(f"give one system or two, not {len(systems)}")
    measured = measured_systems(references, systems, Measure.parse(measure), options, {})
    some = next(iter(measured.values()))
    clusters = clusters_of(measured.values(), how)
    values = [system.value for system in measured.values()]
    left_out = [leave_out(system, clusters) for system in measured.values()]
    jackknife = Jackknife.from_left_out(values, left_out, shares=is_share(some.measure))
    if jackknife.refusal is not None:
        raise UndefinedMeasureError(f"{some.measure}: {jackknife.refusal}")
    # crossed factors: the scarcest one is counted, and the others grow with it
    count, levels = jackknife.counts.clusters, jackknife.counts.levels
    counted = min(levels, key=lambda name: levels[name])
    others = [name for name in levels if name != counted]
    covariance = count * jackknife.covariance
    if len(systems) == 2:
        if correlation is not None:
            raise UsageError("correlation= is for one system; of two it is measured")
        variances, apart = covariance.diagonal().tolist(), math.sqrt(math.prod(covariance.diagonal()))
        pairings = [float(covariance[0, 1]) / apart if apart else 0.0]
    else:
        variances, values = covariance.diagonal().tolist() * 2, values * 2
        pairings = list(CORRELATIONS) if correlation is None else [correlation]
        if second is None:
            raise UsageError(f"say what {some.measure} = {values[0]:.6g} shall be told from: second=")
    told = [value if given is None else given for value, given in zip(values, (first, second), strict=True)]
    deviations = [
        math.sqrt(variance * _scale(str(some.measure), value, target))
        for variance, value, target in zip(variances, values, told, strict=True)
    ]
    level, utterances = 1 - how.confidence, len(some.utterances)
    difference = told[0] - told[1]

    def needed(paired: bool, correlation: float) -> Needed:
        s1, s2 = deviations
        deviation = math.sqrt(max(s1**2 + s2**2 - 2 * correlation * s1 * s2, 0.0))
        samples = 1 if paired else 2
        enough = clusters_needed(difference, deviation, power, level, samples)
        return Needed(
            paired,
            correlation,
            enough,
            math.ceil(enough * utterances / count),
            power_of(difference, deviation, count, level, samples),
            detectable_difference(deviation, count, power, level, samples),
        )

    growing = ", ".join(f"{name}s" for name in others)
    in_proportion = [f"counted in {counted}s: {growing} must grow in proportion"] if others else []
    cautions = dict.fromkeys(text for one in left_out for text in one.cautions)

    return SampleSize(
        measure=str(some.measure),
        first=told[0],
        second=told[1],
        power=power,
        level=level,
        clusters=count,
        utterances=utterances,
        drawn_by=counted,
        estimand=estimand(how.factors),
        needed=(*(needed(True, one) for one in pairings), needed(False, 0.0)),
        warnings=(*in_proportion, *jackknife.counts.cautions, *cautions),
    )


def _scale(measure: str, value: float, target: float) -> float:
    """By how much more a share of another height varies."""
    if value == target or not in_percent(measure):
        return 1.0
    for one in (value, target):
        if not 0 < one < 1:
            raise UsageError(
                f"{measure} = {number_text(measure, one)}: from a rate of 0 or 1 nothing follows about others; "
                "give values between them"
            )
    return target * (1 - target) / (value * (1 - value))

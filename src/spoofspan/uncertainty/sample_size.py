"""Size of a test set that separates two values, and the smallest difference that a test set detects.

A jackknife over the clusters of an evaluation says by how much one cluster moves a value: with C clusters and the
variance V of the value, one cluster contributes ``C V``. On n clusters of the same kind the difference of two systems
varies by::

    (s1^2 + s2^2 - 2 r s1 s2) / n        s^2 = C V of a system, r the correlation of both over clusters

r is that of the two systems where both are measured on the same clusters (*paired*), and 0 on different ones
(*unpaired*, n clusters for each). The test is the t test, with n - 1 degrees of freedom paired and 2 n - 2 unpaired.

The variance of a rate depends on its value. If the values to separate are not the measured ones, ``s^2`` is scaled as
the variance of a share, by ``p (1 - p)``.

Of two crossed factors, the variance splits into a part of speakers, one of attacks and one of their pairs (the
variances of the jackknives over either factor have that of the pairs in them). Each falls with the number of its own
levels, so more speakers leave the part of the attacks as it is.

The variance is an estimate with degrees of freedom, and so is what follows for the size of a test set: numbers are also
given for both ends of the variance's interval, by chi-square. And a measured difference is partly chance: systems that
look far apart are nearer on average. So a plan for a measured difference also has a row for the difference that it
exceeds with 80 % confidence (Perugini, Gallucci and Costantini, 2014).

The power of the test is a noncentral t probability, integrated over the law of the estimated standard error::

    power = E[1 - Phi(t u - delta) + Phi(-t u - delta)],    u^2 ~ chi^2(df) / df,    delta = difference / standard error
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.data.front_door import check_systems, opens_inputs
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
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
from spoofspan.uncertainty.sentences import plan_sentence
from spoofspan.uncertainty.student import quantile
from spoofspan.uncertainty.variance_components import Design

if TYPE_CHECKING:
    from typing_extensions import Unpack

NORMAL = NormalDist()
FEWEST = 3
MOST = 10**9
# The safeguard difference is the end of an interval at this level: the true one is larger with 80 % confidence.
SAFEGUARD = 0.6
# Points of the integral over the law of the standard error.
POINTS = 400


def power_with(difference: float, standard_error: float, degrees: float, level: float) -> float:
    """The power of a two-sided t test at the level for a true difference.

    >>> round(power_with(0.5, 1 / math.sqrt(34), 33, 0.05), 3)  # 34 pairs, of standard deviations: textbooks say 80 %
    0.808
    """
    if not standard_error:
        return 1.0
    distance, critical = abs(difference) / standard_error, quantile(1 - level, degrees)
    spread = 1 / math.sqrt(2 * degrees)
    edges = np.linspace(max(1 - 9 * spread, 0.0), 1 + 12 * spread, POINTS + 1)
    u = (edges[1:] + edges[:-1]) / 2
    density = np.exp((degrees - 1) * np.log(u) - degrees * (u**2 - 1) / 2)
    found = [NORMAL.cdf(distance - critical * one) + NORMAL.cdf(-distance - critical * one) for one in u]
    return float(np.dot(density, found) / density.sum())


def _power(design: Design, levels: Mapping[str, float], difference: float, level: float, samples: int) -> float:
    """The power with these levels; the scarcest factor limits the degrees of freedom."""
    degrees = samples * (min(levels.values()) - 1)
    return power_with(difference, math.sqrt(design.variance(levels)), degrees, level)


def levels_needed(
    design: Design, growing: Sequence[str], difference: float, power: float, level: float, samples: int
) -> int:
    """The fewest levels of the first growing factor that detect a difference with at least this power."""
    if not difference:
        raise UsageError("equal values cannot be told apart; give two different ones")

    def enough(count: int) -> bool:
        return _power(design, design.grown(growing, count), difference, level, samples) >= power

    low, high = FEWEST - 1, FEWEST
    while not enough(high):
        low, high = high, 2 * high
        if high > MOST:
            raise UsageError(f"it takes more than {MOST:,} clusters; the values are too close to each other")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def detectable_difference(standard_error: float, degrees: float, power: float, level: float) -> float:
    """The smallest difference that is detected with this power."""
    low, high = 0.0, standard_error
    while power_with(high, standard_error, degrees, level) < power:
        low, high = high, 2 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        enough = power_with(middle, standard_error, degrees, level) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


def variance_bounds(degrees: float, confidence: float = 0.95) -> tuple[float, float]:
    """Bounds of the true variance over one estimated with these degrees of freedom.

    Quantiles of chi-square are those of Wilson and Hilferty (1931).

    >>> [round(one, 2) for one in variance_bounds(39)]  # 39 / 58.12 and 39 / 23.65
    [0.67, 1.65]
    """
    tail, c = (1 - confidence) / 2, 2 / (9 * degrees)
    quantiles = (max(1 - c + NORMAL.inv_cdf(share) * math.sqrt(c), 0.01) ** 3 for share in (1 - tail, tail))
    low, high = (1 / one for one in quantiles)
    return low, high


# Correlations of two systems over clusters, if only one was measured.
CORRELATIONS = (0.5, 0.8, 0.95)


@dataclass(frozen=True)
class Needed:
    """Number of clusters needed, paired or not.

    Parameters
    ----------
    paired
        True if both systems are measured on the same clusters.
    correlation
        The correlation of both systems over clusters; 0 if unpaired.
    growing
        The factors that grow, the counted one first. All others stay the same.
    difference
        The difference to detect.
    clusters
        The number of levels of the first growing factor, for each system; None: no number is enough.
    low, high
        The same for both ends of a 95 % interval of the variance; None as before.
    utterances
        The number of utterances, with the present number in a cluster.
    power_now
        The power with the clusters of the evaluation.
    detectable
        The difference that these detect with the requested power.

    """

    paired: bool
    correlation: float
    growing: tuple[str, ...]
    difference: float
    clusters: int | None
    low: int | None
    high: int | None
    utterances: int | None
    power_now: float
    detectable: float

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {**vars(self), "growing": list(self.growing)}


@dataclass(frozen=True)
class SampleSize:
    """Size of a test set that separates two values.

    Parameters
    ----------
    measure
        The measure.
    first, second
        The values to separate.
    power
        With which probability they shall be.
    level
        The level of the test, such as 0.05.
    clusters, utterances
        The numbers in the evaluation.
    drawn_by
        The noun for a cluster.
    estimand
        The scope of the planned test, in words.
    needed
        The numbers needed, in a comparison on the same clusters (for several correlations if it is unknown) and on
        different ones. For two measured systems, also for the difference that they exceed with 80 % confidence, if
        there is one. For two crossed factors, with more of each and with more of both.
    interval
        The interval of the difference of two systems, if the plan is for this difference.
    parts
        For two crossed factors, the standard deviation of the paired difference by speaker, attack and both.
    advice
        Advice on what to collect next.
    warnings
        Cautions about the plan.

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
    levels: Mapping[str, int]
    interval: tuple[float, float] | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    advice: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """Verdict in one sentence."""
        return plan_sentence(self)

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
        plain["verdict"] = self.verdict
        plain |= {"levels": dict(self.levels), "parts": dict(self.parts)}
        plain["interval"] = None if self.interval is None else list(self.interval)
        return {**plain, "needed": needed, "warnings": list(self.warnings)}


@opens_inputs
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
    """Estimate the size of a test set that separates two values, from one evaluation.

    Parameters
    ----------
    references
        The references of the evaluation.
    systems
        One system, or two, by name. The values to separate are taken to vary over clusters like theirs.
    measure
        A measure without a threshold, such as ``"range-eer"``.
    first, second
        The values to separate; default: those of the systems. A measured difference is partly chance, so state the one
        that matters if you can.
    power
        The requested probability of detecting the difference.
    correlation
        The correlation of two systems over clusters, if only one was measured; default: several.
    **arguments
        As in :func:`~spoofspan.interval`; the level of the test is 1 - ``confidence``.

    Returns
    -------
    SampleSize

    Raises
    ------
    UsageError
        If the values are equal, or the systems cannot be compared.

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
    levels = jackknife.counts.levels
    count = min(levels.values())
    counted = min(levels, key=lambda name: levels[name])
    two = len(systems) == 2
    covariance = jackknife.covariance
    if two:
        if correlation is not None:
            raise UsageError("correlation= is for one system; of two it is measured")
        apart = math.sqrt(math.prod(covariance.diagonal()))
        pairings = [float(covariance[0, 1]) / apart if apart else 0.0]
    else:
        values = values * 2
        pairings = list(CORRELATIONS) if correlation is None else [correlation]
        if second is None:
            raise UsageError(f"say what {some.measure} = {values[0]:.6g} shall be told from: second=")
    told = [value if given is None else given for value, given in zip(values, (first, second), strict=True)]
    if told[0] == told[1]:
        raise UsageError(
            f"both values of {some.measure} are {told[0]:.6g}, and equal values cannot be told apart; "
            "state two different ones with first= (--from) and second= (--to)"
        )
    # the variance of a rate depends on its value
    scales = [math.sqrt(_scale(str(some.measure), value, target)) for value, target in zip(values, told, strict=True)]
    level, utterances = 1 - how.confidence, len(some.utterances)
    difference = told[0] - told[1]
    contrast = np.array([scales[0], -scales[1]] if two else [1.0])
    estimate = jackknife.estimate(contrast)
    least, most = variance_bounds(estimate.degrees_of_freedom)

    def design(paired: bool, correlation: float) -> Design:
        if paired and two:
            return Design.of(levels, jackknife.variances(contrast))
        if two:
            alone = [jackknife.variances(contrast * one) for one in np.eye(2)]
            return Design.of(levels, [a + b for a, b in zip(*alone, strict=True)])
        both = scales[0] ** 2 + scales[1] ** 2 - 2 * correlation * scales[0] * scales[1]
        return Design.of(levels, jackknife.variances(contrast)).times(both)

    def needed(paired: bool, correlation: float, difference: float, growing: tuple[str, ...]) -> Needed:
        made, samples = design(paired, correlation), 1 if paired else 2

        def fewest(factor: float) -> int | None:
            try:
                return levels_needed(made.times(factor), growing, difference, power, level, samples)
            except UsageError:
                if len(growing) == len(made.levels):
                    raise
                return None  # the factors that do not grow have too much variance

        enough, low, high = fewest(1.0), fewest(least), fewest(most)
        ratio = None if enough is None else (enough / made.levels[growing[0]]) ** len(growing)
        error, degrees = math.sqrt(made.variance()), samples * (min(made.levels.values()) - 1)
        return Needed(
            paired,
            correlation,
            growing,
            difference,
            enough,
            low,
            high,
            None if ratio is None else math.ceil(ratio * utterances - 1e-9),
            _power(made, made.levels, difference, level, samples),
            detectable_difference(error, degrees, power, level),
        )

    ends = safe = None
    if two and first is None and second is None:
        reach = estimate.reach(how.confidence)
        ends = difference - reach, difference + reach
        safe = math.copysign(max(abs(difference) - estimate.reach(SAFEGUARD), 0.0), difference)
    first_design = design(True, pairings[0])
    ways: list[tuple[str, ...]] = [(counted,)]
    parts, advice = {}, ""
    if len(first_design.levels) > 1:
        (other,) = (name for name in levels if name != counted)
        ways += [(other,), (counted, other)]
        parts = first_design.deviations
        more = math.ceil(count / 2)
        worth = first_design.worth(counted, other, more)
        amount = f"{math.ceil(worth):,} more {other}s" if worth < MOST else f"more than any number of {other}s"
        advice = f"{more} more {counted}s are worth {amount}"
    pairs = [(True, one, wanted) for wanted in (difference, *((safe,) if safe else ())) for one in pairings]
    in_proportion = f"counted in {counted}s: the other factors must grow in proportion"
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
        needed=tuple(needed(*one, growing) for one in (*pairs, (False, 0.0, difference)) for growing in ways),
        levels=dict(levels),
        interval=ends,
        parts=parts,
        advice=advice,
        warnings=(*((in_proportion,) if len(levels) > 2 else ()), *jackknife.counts.cautions, *cautions),
    )


def _scale(measure: str, value: float, target: float) -> float:
    """Factor of the variance of a share with another value."""
    if value == target or not in_percent(measure):
        return 1.0
    for one in (value, target):
        if not 0 < one < 1:
            raise UsageError(
                f"{measure} = {number_text(measure, one)}: from a rate of 0 or 1 nothing follows about others; "
                "give values between them"
            )
    return target * (1 - target) / (value * (1 - value))

"""Several seeds of one system: the parts of training and of the test set in the variance of a value.

Five trainings of a system have five EERs. Their standard deviation is the effect of training on this test set. The
interval of the mean *with the seeds fixed* covers other test sets. The *joint* interval covers other test sets and
other seeds: :mod:`spoofspan.uncertainty.variance_components` has its variance and degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.base.tabular import Tabular
from spoofspan.base.times import Float64
from spoofspan.data.front_door import opens_inputs
from spoofspan.measures.measure import Measure
from spoofspan.measures.operating_point import Threshold, check_threshold
from spoofspan.uncertainty.measured_system import (
    BootstrapArguments,
    SignedSystems,
    System,
    measured_systems,
    signers_of,
    split_arguments,
)
from spoofspan.uncertainty.spreads import Interval, JackknifeSpread, Spread, spread_of
from spoofspan.uncertainty.variance_components import Design, VarianceComponents, variance_components

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.evaluation.utterances import Truth

# With fewer trainings, the spread between them is hardly known: where training dominates, intervals from three held the
# truth in 91 % of simulated cases, from five in 94 %.
FEW_SEEDS = 5


@dataclass(frozen=True, kw_only=True)
class SeedVariation(SignedSystems, Tabular):
    """The values of several trainings of one system, with the parts of their variance.

    Parameters
    ----------
    measure
        The measure.
    values
        Seed -> value.
    mean, standard_deviation
        The mean and the standard deviation over the seeds.
    test_set
        The interval of the mean with the seeds fixed.
    joint
        The interval of the mean on other test sets and with other seeds; None if there is no interval.
    components
        The parts of the variance: test set, seed and their interaction; None as ``joint``.
    parts
        For two crossed factors, the standard error of the mean with fixed seeds, by speaker, attack and both.
    signers
        Seed -> a function that signs its value, see :attr:`signatures`.

    Examples
    --------
    See :func:`spoofspan.seed_variation`.

    """

    measure: str
    values: Mapping[str, float]
    mean: float
    standard_deviation: float  # over seeds
    test_set: Interval  # of the mean, seeds fixed
    joint: Interval | None  # of the mean, with other seeds
    components: VarianceComponents | None
    parts: Mapping[str, float] = field(default_factory=dict)

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each seed."""
        return [{"measure": self.measure, "seed": name, "value": value} for name, value in self.values.items()]

    def __repr__(self) -> str:
        spread = f"{self.mean:.4g}, SD {self.standard_deviation:.2g}"
        return f"SeedVariation({self.measure}: {len(self.values)} seeds, mean {spread})"

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        from spoofspan.report.verdicts import seeds_table

        return seeds_table(self, signatures=False).render("html")

    @property
    def warnings(self) -> tuple[str, ...]:
        """Cautions about the intervals."""
        return (self.joint or self.test_set).warnings

    def __str__(self) -> str:
        lines = [
            f"{self.measure}: mean {self.mean:.5g}, SD {self.standard_deviation:.5g} over {len(self.values)} seeds",
            *(f"  {name}: {value:.5g}" for name, value in self.values.items()),
            f"  test set, seeds fixed: {self.test_set.low:.5g} to {self.test_set.high:.5g}",
        ]
        if self.joint is not None:
            lines.append(f"  test set and seeds: {self.joint.low:.5g} to {self.joint.high:.5g}")
        if self.components is not None:
            parts = ", ".join(
                f"{name.replace('_', ' ')} {value:.3g}" for name, value in self.components.to_dict().items()
            )
            lines.append(f"  standard deviations of one value: {parts}")
            lines += [f"  note: {text}" for text in self.components.notes]
        return "\n".join([*lines, *(f"  warning: {text}" for text in self.warnings)])

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
            "components": None if self.components is None else self.components.to_dict(),
            **({"parts": dict(self.parts)} if self.parts else {}),
        }


@opens_inputs
def seed_variation(
    references: Truth,
    seeds: Mapping[str, System],
    measure: str | Measure = "range-eer",
    *,
    threshold: Threshold | None = None,
    **arguments: Unpack[BootstrapArguments],
) -> SeedVariation:
    """Measure one system from several trainings.

    Parameters
    ----------
    references
        References of the test set; for scores of whole utterances also a protocol, or a label by utterance.
    seeds
        Name of a training -> its scores.
    measure
        A measure, such as ``"range-eer"``.
    threshold
        The threshold, for a measure at one.
    **arguments
        As in :func:`~spoofspan.interval`, with the method ``"jackknife-t"``.

    Returns
    -------
    SeedVariation

    Examples
    --------
    >>> import spoofspan.demo
    >>> corpus = spoofspan.demo.load()
    >>> seeds = {"1": corpus.systems[0.02], "2": corpus.systems[0.04], "3": corpus.systems[0.08]}
    >>> found = seed_variation(corpus.references, seeds)
    >>> found.joint.low <= found.test_set.low < found.mean < found.test_set.high <= found.joint.high
    True

    """
    how, options = split_arguments(arguments)
    refuse_draws(how.draws)
    if len(seeds) < 2:
        raise UsageError("give the scores of at least two seeds; for one, interval gives an interval")
    thresholds = {} if threshold is None else dict.fromkeys(seeds, check_threshold(threshold))
    measured = measured_systems(references, seeds, Measure.parse(measure), options, thresholds)
    spread = spread_of(measured, how)
    rows = list(range(len(seeds)))
    contrast, components = mean_of_rows(spread, rows), components_of(spread, rows)
    return SeedVariation(
        measure=spread.measure,
        values=dict(zip(measured, spread.estimates.tolist(), strict=True)),
        mean=float(spread.estimates.mean()),
        standard_deviation=float(spread.estimates.std(ddof=1)),
        test_set=replace(spread.interval(contrast), seeds="these"),
        joint=None if components is None else joint_interval(spread, rows),
        components=components,
        parts=_parts(spread, contrast),
        signers=signers_of(measured),
    )


def _parts(spread: Spread, contrast: Float64) -> dict[str, float]:
    """The standard error of a mean by crossed factors; empty without them."""
    if not isinstance(spread, JackknifeSpread) or spread.jackknife.refusal is not None:
        return {}
    return Design.of(spread.counts.levels, spread.jackknife.variances(contrast)).deviations


def refuse_draws(draws: bool) -> None:
    """Refuse bootstrap replicates, which vary by the test set alone."""
    if draws:
        raise UsageError(
            "several seeds need the method 'jackknife-t': what varies between seeds is not in bootstrap replicates; "
            "leave method= (--interval) out"
        )


def mean_of_rows(spread: Spread, rows: Sequence[int]) -> Float64:
    """The contrast that is the mean of some rows."""
    contrast = np.zeros(len(spread.estimates))
    contrast[list(rows)] = 1 / len(rows)
    return contrast


def components_of(spread: Spread, rows: Sequence[int]) -> VarianceComponents | None:
    """The variance components of the trainings in some rows; None for one training, or without a variance."""
    if len(rows) < 2 or not isinstance(spread, JackknifeSpread) or spread.jackknife.refusal is not None:
        return None
    chosen = np.ix_(rows, rows)
    degrees = spread.jackknife.estimate(mean_of_rows(spread, rows)).degrees_of_freedom
    return variance_components(spread.estimates[list(rows)], spread.jackknife.covariance[chosen], degrees)


def joint_interval(spread: Spread, rows: Sequence[int], name: str = "") -> Interval:
    """The interval of a system's mean over the trainings in some rows, for other test sets and other trainings."""
    parts = components_of(spread, rows)
    found = spread.interval(mean_of_rows(spread, rows), () if parts is None else parts.terms)
    seeds: Literal["", "other"] = "other" if parts is not None else ""
    return replace(found, seeds=seeds, warnings=(*found.warnings, *seed_cautions({name: parts})))


def joint_of(intervals: Sequence[Interval]) -> Interval | None:
    """The joint interval from those of each training on the same test set; None if these do not match."""
    spreads = [one.spread for one in intervals if one.spread is not None]
    if len(spreads) < len(intervals) or len({one.counts.clusters for one in spreads}) > 1:
        return None
    return joint_interval(JackknifeSpread.joined(spreads), range(len(spreads)))


def seed_cautions(parts: Mapping[str, VarianceComponents | None]) -> list[str]:
    """Cautions about few trainings."""
    counts = {name: one.seeds for name, one in parts.items() if one is not None}
    little = f"seeds say little about training (under {FEW_SEEDS}): the interval may be too narrow"
    return [f"{name}{': ' * bool(name)}{count} {little}" for name, count in counts.items() if count < FEW_SEEDS]

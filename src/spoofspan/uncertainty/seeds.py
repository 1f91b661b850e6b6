"""Several seeds of one system: how much of a number is the training, and how much the test set.

A system trained five times gives five EERs. Their standard deviation says what training does. The interval of the mean
*with the seeds fixed* says what the test set does: clusters are drawn, and the mean over the same seeds is taken. A
*joint* interval covers both: each replicate draws clusters and seeds. From fewer than five seeds it would be made up,
and there is none.

Of n seeds, n - 1 are drawn: the mean of n - 1 draws varies by SD^2 / n, as the mean of n seeds does; n draws would vary
by less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.measures.measure import Measure
from spoofspan.uncertainty.clusters import stream
from spoofspan.uncertainty.intervals import Interval, draw_systems
from spoofspan.uncertainty.measured_system import (
    BootstrapArguments,
    SignedSystems,
    measured_systems,
    signers_of,
    split_arguments,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

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
    if how.method != "percentile":
        raise UsageError("the mean over seeds has percentile intervals only; leave method= out")
    if len(seeds) < 2:
        raise UsageError("give the scores of at least two seeds; for one, bootstrap gives an interval")
    thresholds = {} if threshold is None else dict.fromkeys(seeds, threshold)
    measured = measured_systems(references, seeds, Measure.parse(measure), options, thresholds)
    _, draws = draw_systems(measured, how)
    values = np.array([system.value for system in measured.values()])
    mean = float(values.mean())
    joint = None
    count = len(seeds)
    if count >= FEWEST_FOR_JOINT:
        numbers = np.arange(how.replicates)
        chosen = [stream(how.seed, SEED_STREAMS + int(b)).integers(0, count, count - 1) for b in numbers]
        joint = draws.interval(mean, draws.values[np.stack(chosen), numbers[:, None]].mean(axis=1))
    return SeedVariation(
        measure=draws.measure,
        values=dict(zip(measured, values.tolist(), strict=True)),
        mean=mean,
        standard_deviation=float(values.std(ddof=1)),
        test_set=draws.interval(mean, draws.values.mean(axis=0)),
        joint=joint,
        signers=signers_of(measured),
    )

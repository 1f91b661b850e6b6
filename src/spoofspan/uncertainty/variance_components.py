"""Shares of the test set, the training and their interaction in the variance of a number.

A system that was trained k times gives k values on one test set::

    value = system + test set + seed + interaction of both

The mean over the seeds varies by ``test + seed / k + interaction / k`` from one test set and k trainings to another.
Leaving out clusters shows how the values move together with the test set: the covariance of two seeds is the part they
share (``test``), and what each varies beyond that is the ``interaction``. The values of the seeds differ by
``seed + interaction``, so their variance less the interaction is ``seed``.

The variance of the mean is a sum of mean squares with different degrees of freedom, and has those of Satterthwaite
(1946): ``(sum of c_i MS_i)^2 / sum of (c_i MS_i)^2 / df_i``. Components below zero are set to 0; noise does that.

Where speakers and attacks are crossed, the part of the test set splits further (:class:`Design`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from spoofspan.base.times import Float64
from spoofspan.uncertainty.jackknife import Term, satterthwaite


@dataclass(frozen=True)
class VarianceComponents:
    """The parts of the variance of a value, from k trainings.

    Parameters
    ----------
    test_set
        The part that all trainings share.
    seed
        The part of a training on any test set.
    interaction
        The part of a training on this test set only.
    seeds
        k.
    fixed
        The variance of the mean over these k trainings: test set + interaction / k.
    total
        The variance of the mean over k trainings: fixed + seed / k.
    degrees
        The degrees of freedom of the total.
    terms
        The variance that training adds to the mean: (between seeds - interaction) / k.
    notes
        Remarks on components below zero.

    Examples
    --------
    See :func:`variance_components`.

    """

    test_set: float
    seed: float
    interaction: float
    seeds: int
    fixed: float
    total: float
    degrees: float
    terms: tuple[Term, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The parts as standard deviations of a value from one training on one test set."""
        parts = {"test_set": self.test_set, "seed": self.seed, "interaction": self.interaction}
        return {name: math.sqrt(part) for name, part in parts.items()}


def variance_components(values: Float64, covariance: Float64, degrees: float) -> VarianceComponents:
    """Split the variance of the mean over several seeds.

    Parameters
    ----------
    values
        The value of each seed.
    covariance
        The covariance of the seeds' values over test sets (of a jackknife over clusters), with fixed seeds.
    degrees
        The degrees of freedom of that covariance.

    Returns
    -------
    VarianceComponents

    Examples
    --------
    >>> found = variance_components(np.array([0.04, 0.06]), np.array([[3e-4, 1e-4], [1e-4, 3e-4]]), 100)
    >>> f"{found.test_set:.0e} {found.interaction:.0e} {found.seed:.0e}"  # the seeds differ as their noise does
    '1e-04 2e-04 0e+00'

    """
    count = len(values)
    fixed = float(covariance.mean())
    alone = float(np.trace(covariance)) / count
    test_set = (count * fixed - alone) / (count - 1)  # the mean of what is beside the diagonal
    interaction = alone - test_set
    between = float(np.var(values, ddof=1))
    seed = between - interaction
    notes = tuple(
        f"the {name} component came out below zero and is taken as 0"
        for name, part in (("test set", test_set), ("seed", seed))
        if part < 0
    )
    terms = () if seed <= 0 else (Term(between / count, count - 1), Term(-interaction / count, degrees * (count - 1)))
    whole = satterthwaite([Term(fixed, degrees), *terms])
    return VarianceComponents(
        test_set=max(test_set, 0.0),
        seed=max(seed, 0.0),
        interaction=interaction,
        seeds=count,
        fixed=fixed,
        total=whole.variance,
        degrees=whole.degrees,
        terms=terms,
        notes=notes,
    )


@dataclass(frozen=True)
class Design:
    """The variance of a value as a function of the numbers of speakers, attacks, ...

    Parameters
    ----------
    levels
        Factor -> its number of levels in the evaluation.
    parts
        Factors -> their part of the variance with these levels. Each part falls in proportion to the levels of its
        factors.
    """

    levels: Mapping[str, int]
    parts: Mapping[tuple[str, ...], float]

    @classmethod
    def of(cls, levels: Mapping[str, int], variances: Sequence[float]) -> Design:
        """Split the variances over speakers, over attacks and over their pairs; the first two include the last.

        Three or more factors are not split: they grow together.
        """
        names = list(levels)
        if len(names) == 2:
            over_first, over_second, both = variances
            apart = {names[0]: over_first - both, names[1]: over_second - both}
            return cls(levels, {**{(name,): max(one, 0.0) for name, one in apart.items()}, tuple(names): both})
        signs = [(-1) ** (size + 1) for size in range(1, len(names) + 1) for _ in combinations(names, size)]
        whole = sum(sign * one for sign, one in zip(signs, variances, strict=True))
        scarcest = min(names, key=lambda name: levels[name])
        return cls({scarcest: levels[scarcest]}, {(scarcest,): whole if whole > 0 else max(variances)})

    @property
    def deviations(self) -> dict[str, float]:
        """The standard deviation by speaker, by attack, and by both together; empty unless there are two factors."""
        if len(self.levels) < 2:
            return {}
        return {" x ".join(names): math.sqrt(part) for names, part in self.parts.items()}

    def times(self, factor: float) -> Design:
        """The design with all variances multiplied by a factor."""
        return replace(self, parts={names: factor * part for names, part in self.parts.items()})

    def grown(self, growing: Sequence[str], count: float) -> dict[str, float]:
        """The levels with a given number for the first growing factor, and the other growing ones in proportion."""
        ratio = count / self.levels[growing[0]]
        return {name: ratio * known if name in growing else known for name, known in self.levels.items()}

    def variance(self, levels: Mapping[str, float] | None = None) -> float:
        """The variance with these levels, by default those of the evaluation."""
        now = self.levels if levels is None else levels
        return sum(
            part * math.prod(self.levels[name] / now[name] for name in names if name in now)
            for names, part in self.parts.items()
        )

    def worth(self, scarce: str, other: str, more: int) -> float:
        """The further levels of another factor with the same effect on an interval; infinity if there is no number."""
        target = self.variance(self.grown((scarce,), self.levels[scarce] + more)) - self.parts[(scarce,)]
        falling = self.variance() - self.parts[(scarce,)]
        return math.inf if target <= 0 else self.levels[other] * (falling / target - 1)

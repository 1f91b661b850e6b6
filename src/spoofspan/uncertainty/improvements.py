"""Tests of sequential submissions to one test set, each against the best before it.

A team that submits ten equally good systems would find an improvement among them more often than a level of 5 % allows:
each test may err, and the best before is chosen by the same values. Here the level is divided by the number of steps
that the challenge allows, one for each submission after the first. Within a step, the new submission is tested against
all before it (step-down max-T, :mod:`spoofspan.uncertainty.max_t`). So at any time, the probability of any wrong
verdict so far is at most the level, and later submissions never change a verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spoofspan.measures.measure import Measure
from spoofspan.uncertainty.clusters import Resampling
from spoofspan.uncertainty.comparison import compare_left_out
from spoofspan.uncertainty.left_out import LeftOut


@dataclass(frozen=True)
class Improvement:
    """A submission against the best before it.

    Parameters
    ----------
    new, before
        The submissions, by name.
    difference
        new - before.
    p_value
        Of this difference, adjusted for all before it and for all steps.
    better
        The better of the two; None if they do not differ significantly.

    """

    new: str
    before: str
    difference: float
    p_value: float
    better: str | None


def improvements(
    measure: Measure, values: Mapping[str, float], left_out: Sequence[LeftOut], how: Resampling, steps: int
) -> list[Improvement]:
    """Test each submission against the best before it.

    Parameters
    ----------
    measure
        The measure of the values.
    values
        The value of each submission by name, in the order of submission.
    left_out
        The value of each without each cluster, all on the same clusters.
    how
        Clusters, and the confidence with which no verdict of any step is wrong.
    steps
        The largest number of submissions after the first.

    Returns
    -------
    list of Improvement
        One for each submission after the first.

    """
    names, found = list(values), []
    best = min if measure.kind.ranked_by() == "lower" else max
    for place, new in enumerate(names[1:], start=1):
        seen = {name: values[name] for name in names[: place + 1]}
        compared = compare_left_out(measure, seen, left_out[: place + 1], how, against=new)
        before = best(names[:place], key=values.__getitem__)
        p_value = min(steps * compared[before, new].adjusted_p_value, 1.0)  # NaN stays
        better = best((new, before), key=values.__getitem__) if p_value <= 1 - how.confidence else None
        found.append(Improvement(new, before, values[new] - values[before], p_value, better))
    return found

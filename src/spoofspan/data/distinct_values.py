"""Hard decisions, and scores that look like them.

A measure over all thresholds needs scores. Labels or hard decisions in their place still give a number, 0.00 % for the
labels themselves, which looks like a result. This module has the one rule about that, for scores in time, of whole
utterances, in shards and in a training loop:

====================== ============================================================================================
values of the scores   measures over all thresholds, or at the threshold of the EER
====================== ============================================================================================
hard decisions         refused; measures at a threshold are taken at 0.5
0 and 1 only           refused; a given threshold (0.5) measures them as decisions
two other values       a warning if both are whole numbers or infinite (-1 and 1), or if the value is 0 or 1
====================== ============================================================================================

All scores of a system are judged, never a part of them: a shard, a group, or a mass of either may well have two values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from spoofspan.base.errors import UndefinedMeasureError

# The score that stands for a hard decision; a threshold of 0.5 gives the decision back.
DECISIONS = {"spoof": 0.0, "bonafide": 1.0}
DECISION_THRESHOLD = 0.5
MANY = 1000  # fewer scores than this (20 s of 20 ms frames) may well have two values, and no error
FIRST, LOOK = 1 << 10, 1 << 16  # scores looked at together; usually the first have more than two values


@dataclass(frozen=True)
class DistinctValues:
    """The distinct values of scores, as long as there are at most two; those of shards add.

    Parameters
    ----------
    values
        The values; None if there are more than two.
    count
        Number of scores.
    decisions
        True if they are declared to be hard decisions.

    Examples
    --------
    >>> sorted(DistinctValues.of(np.array([1.0, 0.0, 1.0])).values), DistinctValues.of(np.arange(3.0)).values
    ([0.0, 1.0], None)

    """

    values: frozenset[float] | None = frozenset()
    count: int = 0
    decisions: bool = False

    @classmethod
    def of(cls, scores: npt.NDArray[np.floating], *, decisions: bool = False) -> DistinctValues:
        """Collect the values of scores, until there are three."""
        values: set[float] = set()
        for first, last in pairwise((0, FIRST, *range(LOOK, scores.size, LOOK), scores.size)):
            values.update(np.unique(scores[first:last]).tolist())
            if len(values) > 2:
                return cls(None, scores.size, decisions)
        return cls(frozenset(values), scores.size, decisions)

    def __add__(self, other: DistinctValues) -> DistinctValues:
        values = None if self.values is None or other.values is None else self.values | other.values
        few = values is None or len(values) <= 2
        return DistinctValues(values if few else None, self.count + other.count, self.decisions or other.decisions)

    @property
    def decided(self) -> str | None:
        """Description of values that are no scores; None if they may be some."""
        if self.decisions:
            return "hard decisions"
        return "0 and 1 only, as labels or hard decisions are" if self.values == frozenset((0.0, 1.0)) else None

    def refuse(self, what: str) -> None:
        """Refuse hard decisions, and values that can be nothing else, where thresholds are compared."""
        if self.decided is None:
            return
        at = "as they are" if self.decisions else "at the threshold 0.5 (threshold=0.5)"
        raise UndefinedMeasureError(
            f"{what} needs scores, and these are {self.decided}: there is no threshold to move; give the system's "
            f"scores, or measure the decisions {at}: range-fpr, range-fnr, range-f1, event-f1"
        )

    def cautions(self, found: float) -> tuple[str, ...]:
        """Say that two values are few for scores, where they look like labels: by themselves, or by what was found.

        >>> print(*DistinctValues.of(np.array([-1.0, 1.0])).cautions(0.08))
        the scores have only two values, -1 and 1; if they are labels or decisions, give the system's scores
        >>> DistinctValues.of(np.array([-0.4, 0.9])).cautions(0.0)
        ()
        """
        if self.values is None or len(self.values) < 2:
            return ()
        codes = all(math.isinf(value) or value.is_integer() for value in self.values)
        if not codes and not (self.count >= MANY and found in (0, 1)):
            return ()
        low, high = sorted(self.values)
        return (
            f"the scores have only two values, {low:g} and {high:g}; if they are labels or decisions, give the "
            "system's scores",
        )

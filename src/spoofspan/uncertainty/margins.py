"""Equivalence and non-inferiority: whether a difference is smaller than one that matters.

"Not significantly different" does not mean "equal". With a margin m, the smallest difference that matters, a system is
not worse than another one if the test rejects that it is worse by m or more, and both are equivalent if neither is
worse (two one-sided tests; Schuirmann, 1987). At the level 5 %, two systems are equivalent if and only if the
90 % interval of their difference lies within the margin.

Of the two hypotheses of a pair at most one is true, so p-values are adjusted for the number of pairs, by Holm's
correction with that bound (Shaffer, 1986).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spoofspan.uncertainty.max_t import holm


@dataclass(frozen=True)
class MarginTest:
    """Two systems against a margin; p-values are adjusted for the number of pairs.

    Parameters
    ----------
    margin
        The smallest difference that matters.
    first_not_worse
        P-value of the first system being worse by the margin or more.
    second_not_worse
        P-value of the second system being so.
    """

    margin: float
    first_not_worse: float
    second_not_worse: float

    @property
    def equivalent(self) -> float:
        """P-value of either system being worse by the margin or more."""
        return max(self.first_not_worse, self.second_not_worse)

    def verdict(self, first: str, second: str, level: float) -> str | None:
        """Equivalence, or the system that is not worse; None if neither is shown."""
        if self.equivalent < level:
            return "equivalent"
        for name, p in ((first, self.first_not_worse), (second, self.second_not_worse)):
            if p < level:
                return f"{name} not worse"
        return None

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {**vars(self), "equivalent": self.equivalent}


def margin_tests(margin: float, p_values: Sequence[tuple[float, float]]) -> list[MarginTest]:
    """Adjust the p-values of pairs for their number.

    >>> [one.equivalent for one in margin_tests(0.5, [(0.01, 0.001), (0.02, 0.6)])]
    [0.02, 0.6]
    """
    adjusted = holm([p for pair in p_values for p in pair], len(p_values))
    return [MarginTest(margin, *adjusted[2 * place :][:2]) for place in range(len(p_values))]

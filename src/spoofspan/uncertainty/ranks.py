"""Ranks with intervals, and groups of systems that do not differ significantly, for leaderboards.

All systems are compared with each other at once, so that with the level's confidence no verdict is wrong
(:mod:`spoofspan.uncertainty.max_t`). A system's true rank then lies between 1 + the number of systems that are better
by verdict and N - the number that are worse, for all systems together.

**Groups** are a compact letter display (Piepho, 2004): two systems share a letter if and only if they do not differ
significantly. The letters are found by inserting one verdict after the other into columns of systems and absorbing
columns that lie in another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Rank:
    """The rank of a system among several.

    Parameters
    ----------
    system
        Its name.
    value
        Of the measure.
    place
        Its rank by value alone; equal values share the better one.
    low, high
        The best and the worst rank that the verdicts allow.
    groups
        Letters: systems with a letter in common do not differ significantly.

    Examples
    --------
    See :func:`ranks`.

    """

    system: str
    value: float
    place: int
    low: int
    high: int
    groups: str

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return asdict(self)


def ranks(
    values: Mapping[str, float], verdicts: Collection[tuple[str, str]], direction: Literal["lower", "higher"]
) -> tuple[Rank, ...]:
    """Rank systems, the best value first.

    Parameters
    ----------
    values
        System -> its value.
    verdicts
        Pairs (better, worse) of systems that differ significantly, of all pairs.
    direction
        The direction of better values.

    Returns
    -------
    tuple of Rank

    Examples
    --------
    >>> for one in ranks({"A": 0.05, "B": 0.06, "C": 0.20}, [("A", "C"), ("B", "C")], "lower"):
    ...     print(one.system, one.place, (one.low, one.high), one.groups)
    A 1 (1, 2) a
    B 2 (1, 2) a
    C 3 (3, 3) b

    """
    sign = 1 if direction == "lower" else -1
    ordered = sorted(values, key=lambda name: sign * values[name])
    letters = _letters(ordered, verdicts)
    return tuple(
        Rank(
            name,
            values[name],
            1 + sum(sign * other < sign * values[name] for other in values.values()),
            1 + sum(worse == name for _, worse in verdicts),
            len(values) - sum(better == name for better, _ in verdicts),
            letters[name],
        )
        for name in ordered
    )


def _letters(ordered: list[str], verdicts: Collection[tuple[str, str]]) -> dict[str, str]:
    """The letters of each system, a for the group of the first."""
    columns = [frozenset(ordered)]
    for pair in verdicts:
        split = [part for column in columns if column >= set(pair) for part in (column - {pair[0]}, column - {pair[1]})]
        columns = [column for column in columns if not column >= set(pair)]
        candidates = dict.fromkeys(columns + split)
        columns = [one for one in candidates if not any(one < other for other in candidates)]
    places = {name: place for place, name in enumerate(ordered)}
    columns.sort(key=lambda column: sorted(places[name] for name in column))
    return {name: "".join(_letter(i) for i, column in enumerate(columns) if name in column) for name in ordered}


def _letter(number: int) -> str:
    """The letters a to z, then A to Z, then numbers in brackets.

    >>> _letter(0), _letter(26), _letter(60)
    ('a', 'A', '(61)')
    """
    alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return alphabet[number] if number < len(alphabet) else f"({number + 1})"

"""What a rule is: its values, what it says of itself, and how it is checked and written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.base.seconds import duration_ns

Signed = Literal["always", "applied", "never"]


def declared(
    default: Any,
    help: str,
    explanation: str,
    of: tuple[str, ...] = ("range", "point"),
    signed: Signed = "always",
) -> Any:
    """Declare a rule; ``{}`` in the help stands for its values, ``of`` are the measures that depend on it.

    It is ``signed`` always, where it was applied, or never, since the hashes of a signature show what it did.
    """
    return field(default=default, metadata={"help": help, "explanation": explanation, "of": of, "signed": signed})


@dataclass(frozen=True)
class Rule:
    """One rule as it is declared in :class:`Rules`."""

    name: str
    kind: str  # choice, label, pooling, seconds, flag or regions
    default: Any
    values: tuple[str, ...]  # its names, the default first; empty where it is a number, a flag or regions
    help: str
    explanation: str
    of: tuple[str, ...]  # what depends on it: measures of "range", "point", or the reading of "references"
    signed: Signed

    def check(self, value: Any) -> None:
        """Refuse what is no value of this rule."""
        given = value is not None or self.default is not None
        if self.kind == "choice" and given and value not in self.values:
            raise UsageError(f"{self.name}={value!r}: {nearest_name(value, self.values)}")
        if self.kind == "pooling" and value not in self.values and top_k(value) is None:
            raise UsageError(f"{self.name}={value!r}: {nearest_name(value, self.values)}, or top-k(5) for utterances")
        if self.kind == "seconds" and given and duration_ns(value, self.name) < 0:
            raise UsageError(f"{self.name}={value!r}: must not be negative (seconds)")
        if self.kind == "flag" and not isinstance(value, bool):
            raise UsageError(f"{self.name}={value!r}: must be True or False")
        if self.kind == "regions" and given and not isinstance(value, Mapping):
            raise UsageError(f"{self.name} must be a dict: utterance -> [(start, end), ...] in seconds")

    def spell(self, value: Any) -> str:
        """Write a value as text; equal values have one text."""
        if self.kind == "seconds":
            return "auto" if value is None else f"{duration_ns(value, self.name)}ns"
        if self.kind == "regions":
            return "all" if value is None else "given"
        if self.kind == "label" and value not in self.values and over(value) is None:
            share = Fraction(repr(float(value)))
            return "majority" if share == Fraction(1, 2) else str(share)
        return str(value)


def top_k(pooling: object) -> int | None:
    """How many frames ``top-k(5)`` takes; None for any other pooling.

    >>> top_k("top-k(5)"), top_k("mean")
    (5, None)
    """
    found = re.fullmatch(r"top-k\(([1-9]\d{0,8})\)", str(pooling))
    return None if found is None else int(found[1])


def over(label: object) -> str | None:
    """The share of ``over(0.5)`` in its shortest spelling; None for any other label, and for a share of 1 or more.

    >>> over("over(0.50)"), over("majority"), over("over(1)")
    ('0.5', None, None)
    """
    found = re.fullmatch(r"over\((\d{0,18}\.?\d{0,18})\)", str(label))
    if found is None or not found[1].strip(".") or Decimal(found[1]) >= 1:
        return None
    return format(Decimal(found[1]).normalize(), "f")

"""Proposals of a system: ranges called spoof, each with a confidence; they may overlap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spoofspan.base.columns import (
    ByUtterance,
    check_offsets,
    check_ranges,
    flat_rows,
    place_of,
    rows_of,
    seconds_column,
    utterance_ids,
)
from spoofspan.base.errors import UsageError, refuse
from spoofspan.base.times import SECOND, Float64, Int64, times_ns


@dataclass(frozen=True, eq=False)
class Proposals(ByUtterance):
    """Ranges that a system calls spoof, as columns in their given order. Build with :meth:`from_ranges`.

    Parameters
    ----------
    utterances, offsets
        The ids; rows ``offsets[i]:offsets[i + 1]`` are the proposals of ``utterances[i]``.
    confidences
        Of each proposal; a high one means spoof.
    starts, ends
        Of each proposal, int64 nanoseconds.

    Examples
    --------
    >>> Proposals.from_ranges({"u1": [(1.0, 2.0, 0.9), (0.0, 0.5, 0.2)], "u2": []})
    Proposals(2 utterances, 2 proposals)

    """

    utterances: tuple[str, ...]
    offsets: Int64
    confidences: Float64
    starts: Int64
    ends: Int64

    @classmethod
    def from_ranges(cls, ranges: Mapping[str, Iterable[tuple[float, float, float]]]) -> Proposals:
        """Build from a dict: utterance -> ``(start, end, confidence)``, times in seconds.

        >>> Proposals.from_ranges({"u1": [(1.0, 2.0, 0.9), (0.0, 0.5, 0.2)], "u2": []})
        Proposals(2 utterances, 2 proposals)
        """
        ids, offsets, rows = flat_rows(ranges, "(start, end, confidence)")
        starts, ends = (
            times_ns(seconds_column(rows, i, name), name, lambda row: place_of(ids, offsets, row, "proposal"))
            for i, name in enumerate(("start", "end"))
        )
        return cls(tuple(ids), offsets, seconds_column(rows, 2, "confidence"), starts, ends)

    @classmethod
    def nothing(cls, utterances: Sequence[str]) -> Proposals:
        """No proposal in any of these utterances."""
        none = np.zeros(0, np.int64)
        return cls(tuple(utterances), np.zeros(len(utterances) + 1, np.int64), np.zeros(0), none, none)

    def __post_init__(self) -> None:
        ids = utterance_ids(self.utterances)
        object.__setattr__(self, "utterances", ids)
        object.__setattr__(self, "offsets", check_offsets(self.offsets, len(ids), self.confidences.size))
        if not self.confidences.size == self.starts.size == self.ends.size:
            raise UsageError("give one confidence, one start and one end per proposal")
        if self.starts.dtype != np.int64 or self.ends.dtype != np.int64:
            raise UsageError("starts and ends must be int64 (nanoseconds)")

        def place(row: int) -> str:
            return place_of(ids, self.offsets, row, "proposal")

        if self.confidences.size and np.isnan(self.confidences.min()):
            refuse(
                np.flatnonzero(np.isnan(self.confidences)),
                lambda row: f"{place(int(row))}: the confidence is NaN",
                "find out why the system gave no number there",
            )
        check_ranges(self.starts, self.ends, place)

    def take(self, chosen: Any) -> Proposals:
        """Keep chosen utterances, in that order: ids, indices, one flag for each utterance, or a slice."""
        chosen = self._indices(chosen)
        rows, offsets = rows_of(self.offsets, chosen)
        columns = self.confidences[rows], self.starts[rows], self.ends[rows]
        return Proposals(tuple(self.utterances[i] for i in chosen.tolist()), offsets, *columns)

    def take_for(self, utterances: Sequence[str], chosen: Int64) -> Proposals:
        """Keep those that were chosen for some utterances; if there are none, nothing is proposed in these."""
        return self.take(chosen) if chosen.size else Proposals.nothing(utterances)

    def _said_of(self, i: int) -> list[tuple[float, float, float]]:
        """The proposals of an utterance, as :meth:`from_ranges` takes them."""
        rows = slice(int(self.offsets[i]), int(self.offsets[i + 1]))
        starts, ends = self.starts[rows] / SECOND, self.ends[rows] / SECOND
        return list(zip(starts.tolist(), ends.tolist(), self.confidences[rows].tolist(), strict=True))

    def __repr__(self) -> str:
        utterances = f"{len(self):,} utterance{'s' * (len(self) != 1)}"
        rows = f"{self.confidences.size:,} proposal{'s' * (self.confidences.size != 1)}"
        return f"Proposals({utterances}, {rows})"

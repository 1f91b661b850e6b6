"""Measurements of events: a value with how its proposals came about, and its signature."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spoofspan.data.proposals import Proposals
from spoofspan.data.references import SPOOF, References
from spoofspan.evaluation.measurement import Measurement
from spoofspan.evaluation.signature import ContentHash


@dataclass(frozen=True)
class EventMeasurement(Measurement):
    """A value of events. ``threshold`` is where proposals were made of scores, NaN where they were given."""

    events: int = 0
    proposals: int = 0
    parts: Mapping[str, float] = field(default_factory=dict)  # what the value is made of

    @property
    def has_threshold(self) -> bool:
        """No: an event is found or not, there are no rates of time at a threshold."""
        return False

    @property
    def decision(self) -> str:
        """How the proposals came about."""
        return "proposals as given" if math.isnan(self.threshold) else super().decision

    def __str__(self) -> str:
        how = " as given" if math.isnan(self.threshold) else f": {self.decision}"
        first, *rest = super().__str__().splitlines()
        counts = f"{counted(self.events, 'event')}, {counted(self.proposals, 'proposal')}"
        return "\n".join([f"{first}   ({counts}{how})", *rest])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return super().to_dict() | {"events": self.events, "proposals": self.proposals, "parts": dict(self.parts)}


def counted(number: int, what: str) -> str:
    """Write a number of things.

    >>> counted(1, "event"), counted(2000, "event")
    ('1 event', '2,000 events')
    """
    return f"{number:,} {what}{'s' * (number != 1)}"


def listing_hash(references: References) -> str:
    """Hash the spoof ranges as they are listed: the published variants count touching ranges apart, in file order."""
    rows = np.flatnonzero(references.labels == SPOOF)
    hashed = ContentHash("listing 1")
    hashed.add_texts("ids", references.utterances)
    hashed.add("offsets", np.searchsorted(rows, references.offsets).astype("<i8"))
    hashed.add("starts", references.starts[rows].astype("<i8"))
    hashed.add("ends", references.ends[rows].astype("<i8"))
    return hashed.digest()


def proposals_hash(proposals: Proposals, *, as_listed: bool) -> str:
    """Hash what a system proposed; ``as_listed`` also in which order, for variants to which that matters."""
    hashed = ContentHash("proposals 1, as listed" if as_listed else "proposals 1")
    files = np.flatnonzero(np.diff(proposals.offsets))
    order = files.tolist() if as_listed else sorted(files.tolist(), key=proposals.utterances.__getitem__)
    hashed.add_texts("ids", (proposals.utterances[i] for i in order))
    hashed.add("counts", np.diff(proposals.offsets)[order].astype("<i8"))
    rank = np.full(len(proposals), -1)
    rank[order] = np.arange(len(order))
    of_row = np.repeat(rank, np.diff(proposals.offsets))
    keys = () if as_listed else (proposals.confidences, proposals.ends, proposals.starts)
    rows = np.lexsort((*keys, of_row))
    hashed.add("starts", proposals.starts[rows].astype("<i8"))
    hashed.add("ends", proposals.ends[rows].astype("<i8"))
    hashed.add("confidences", (proposals.confidences[rows] + 0.0).astype("<f8"))
    return hashed.digest()

"""The regions that are left of a corpus when some of its ranges are left out: what its signature names then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from spoofspan.data.references import References
from spoofspan.data.rules import Regions

FOREVER = 1e8  # seconds; no utterance is as long


def regions_without(references: References, left_out: Any, given: Regions | None) -> Regions:
    """All time, or that of given regions, without some of the ranges."""
    regions: dict[str, list[tuple[float, float]]] = {}
    for i, utterance in enumerate(references.utterances):
        rows = range(int(references.offsets[i]), int(references.offsets[i + 1]))
        holes = [(references.starts[row] / 1e9, references.ends[row] / 1e9) for row in rows if left_out[row]]
        kept = [(0.0, FOREVER)] if given is None else sorted(given.get(utterance, ()))
        regions[utterance] = list(_minus(kept, holes))
    return regions


def _minus(
    ranges: Sequence[tuple[float, float]], holes: Sequence[tuple[float, float]]
) -> Iterator[tuple[float, float]]:
    for start, end in ranges:
        for hole_start, hole_end in sorted(holes):
            if hole_start > start and start < end:
                yield start, min(hole_start, end)
            start = max(start, hole_end)
        if start < end:
            yield start, end

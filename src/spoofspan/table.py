"""The resolution table: one row per hop of a system, range EER and point EERs at several resolutions (Tables 3 and 4).

Read along a row: the same scores measured at ever coarser resolutions. Cells coarser than the row's hop are an easier
task, not a better system. The floor of a row is what a perfect system of that hop would get.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spoofspan.errors import UsageError
from spoofspan.evaluate import best_possible, point_eer, range_eer
from spoofspan.measures import Measurement, milliseconds
from spoofspan.references import References
from spoofspan.scores import Scores

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.rules import RuleArguments

PAPER_RESOLUTIONS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)


@dataclass(frozen=True)
class ResolutionRow:
    """One system: its hop, its range EER, its point EERs by resolution, and the floor of its hop."""

    hop: float
    range_eer: Measurement
    point_eers: Mapping[float, Measurement]
    floor: Measurement


@dataclass(frozen=True)
class ResolutionTable:
    """Rows by hop, finest first."""

    resolutions: tuple[float, ...]
    rows: tuple[ResolutionRow, ...]

    def __getitem__(self, hop: float) -> ResolutionRow:
        for row in self.rows:
            if row.hop == hop:
                return row
        raise KeyError(hop)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "resolutions": list(self.resolutions),
            "rows": [
                {
                    "hop": row.hop,
                    "floor": row.floor.value,
                    "measurements": [m.to_dict() for m in (row.range_eer, *row.point_eers.values())],
                }
                for row in self.rows
            ],
        }

    def __str__(self) -> str:
        head = ["hop", "floor", "range", *map(milliseconds, self.resolutions)]
        lines = [head]
        for row in self.rows:
            cells = [row.point_eers[resolution] for resolution in self.resolutions]
            values = [f"{100 * m.value:.2f}" for m in (row.floor, row.range_eer, *cells)]
            lines.append([milliseconds(row.hop), *values])
        return "\n".join("  ".join(f"{cell:>7}" for cell in line) for line in lines)


def resolution_table(
    references: References,
    systems: Mapping[float, Scores],
    resolutions: Sequence[float] = PAPER_RESOLUTIONS,
    *,
    convention: str = "default",
    eer_rule: str | None = None,
    **rules: Unpack[RuleArguments],
) -> ResolutionTable:
    """Measure systems, given by the hop (seconds) they were trained at, at every resolution."""
    if not systems:
        raise UsageError("give at least one system: {hop in seconds: scores}")
    rows = []
    for hop, scores in sorted(systems.items()):
        if scores.hop is not None and abs(scores.hop - hop) > 1e-9:
            raise UsageError(
                f"the scores given for a hop of {milliseconds(hop)} have one of {milliseconds(scores.hop)}"
            )
        rows.append(
            ResolutionRow(
                hop,
                range_eer(references, scores, convention=convention, eer_rule=eer_rule, **rules),
                {
                    resolution: point_eer(
                        references, scores, resolution, convention=convention, eer_rule=eer_rule, **rules
                    )
                    for resolution in resolutions
                },
                best_possible(references, hop, convention=convention, eer_rule=eer_rule, **rules),
            )
        )
    return ResolutionTable(tuple(resolutions), tuple(rows))

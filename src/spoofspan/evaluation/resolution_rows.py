"""Rows and cells of a resolution table."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from spoofspan.base.errors import UsageError
from spoofspan.evaluation.measurement import Measurement
from spoofspan.measures.measure import Measure

if TYPE_CHECKING:
    from spoofspan.uncertainty.spreads import Interval

SAME = 1 + 1e-9  # resolutions and hops within this factor are the same
RANGE, UTTERANCE = "range-eer", "utterance-eer"


def point_measure(resolution: float) -> str:
    """The point EER at a resolution."""
    return str(Measure("point-eer", resolution))


@dataclass(frozen=True)
class TableCell:
    """One number: the mean over seeds of one measure."""

    measurements: Mapping[str, Measurement]  # by seed; a single one may have an empty name

    @property
    def value(self) -> float:
        """The mean over seeds, rounded once."""
        exact = [m.exact_value for m in self.measurements.values()]
        if all(isinstance(one, Fraction) for one in exact):
            return float(sum(one for one in exact if one is not None) / Fraction(len(exact)))
        return statistics.fmean(m.value for m in self.measurements.values())

    @property
    def standard_deviation(self) -> float | None:
        """Over seeds (n - 1); None with one."""
        values = [m.value for m in self.measurements.values()]
        return statistics.stdev(values) if len(values) > 1 else None

    @cached_property
    def interval(self) -> Interval | None:
        """For other test sets and, with several seeds, other seeds; None if not asked for, or if it was drawn."""
        found = [m.interval for m in self.measurements.values() if m.interval is not None]
        if len(found) < len(self.measurements) or len(found) == 1:
            return found[0] if found else None
        from spoofspan.uncertainty.seeds import joint_of

        return joint_of(found)

    @property
    def measurement(self) -> Measurement:
        """The only measurement, where there is one seed."""
        if len(self.measurements) != 1:
            raise UsageError(f"this cell is a mean over {len(self.measurements)} seeds; look at .measurements")
        return next(iter(self.measurements.values()))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "measure": next(iter(self.measurements.values())).measure,
            "value": self.value,
            "standard_deviation": self.standard_deviation,
            "interval": None if self.interval is None else self.interval.to_dict(),
            "seeds": [{"name": name, "measurement": m.to_dict()} for name, m in self.measurements.items()],
        }


@dataclass(frozen=True)
class ResolutionRow:
    """One system: its hop, its range EER, its point EERs by resolution, the floor of its hop, and other measures."""

    name: str
    hop: float | None  # None for scores that are ranges or of whole utterances, and for proposals
    ranges: TableCell | None  # the range EER; None for all but scores in time
    point_eers: Mapping[float, TableCell]
    floor: Measurement | None
    measures: Mapping[str, TableCell] = field(default_factory=dict)
    training_resolution: float | None = None  # seconds, where it is known

    @property
    def range_eer(self) -> TableCell:
        """The range EER, which only scores in time have."""
        if self.ranges is None:
            raise UsageError(f"{self.name}: these are no scores in time, so there is no range EER; look at .measures")
        return self.ranges

    @property
    def seeds(self) -> tuple[str, ...]:
        """Over which the cells are means."""
        return tuple(next(self.cells)[1].measurements)

    def is_native(self, resolution: float) -> bool:
        """True if a resolution is that of the training, or the hop if the former is not known."""
        own = self.own_resolution
        return own is not None and resolution <= own * SAME and own <= resolution * SAME

    def is_coarser(self, resolution: float) -> bool:
        """True if a resolution is coarser than that of the training, or than the hop: an easier task."""
        return self.own_resolution is not None and resolution > self.own_resolution * SAME

    @property
    def own_resolution(self) -> float | None:
        """The training resolution, or the hop if it is not known."""
        return self.training_resolution or self.hop

    @property
    def eers(self) -> Iterator[tuple[str, TableCell]]:
        """The EERs, with the column they stand in."""
        if self.ranges is not None:
            yield RANGE, self.ranges
        for resolution, cell in self.point_eers.items():
            yield point_measure(resolution), cell

    @property
    def cells(self) -> Iterator[tuple[str, TableCell]]:
        """All cells, with the column they stand in."""
        yield from self.eers
        yield from self.measures.items()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "name": self.name,
            "hop": self.hop,
            "training_resolution": self.training_resolution,
            "floor": None if self.floor is None else self.floor.to_dict(),
            "range_eer": None if self.ranges is None else self.ranges.to_dict(),
            "point_eers": [
                {
                    "resolution": resolution,
                    "native": self.is_native(resolution),
                    "coarser_than_hop": self.is_coarser(resolution),
                    **cell.to_dict(),
                }
                for resolution, cell in self.point_eers.items()
            ],
            "measures": [cell.to_dict() for cell in self.measures.values()],
        }

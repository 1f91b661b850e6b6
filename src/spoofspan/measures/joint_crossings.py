"""Sums and crossings of many parts of one overlay, in one pass; each has the bits that the part alone would give.

As in :mod:`spoofspan.measures.crossing`, a sample suggests a bracket for each part, and the pass sums what lies below
it and gathers what lies inside. A bracket that turns out wrong gives no crossing: that part is to be measured alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.times import Int64
from spoofspan.data.references import BONA_FIDE, SPOOF
from spoofspan.data.scores import Values
from spoofspan.mass.joint_parts import JointParts, SortedScores
from spoofspan.mass.ranges import Overlay
from spoofspan.mass.score_mass import Columns
from spoofspan.mass.score_runs import mirrored
from spoofspan.measures.crossing import Crossing, add_equal, bracket, crossing_at, step_inside
from spoofspan.measures.operating_point import OperatingPoint, Totals

# Four times as many scores as for one crossing: a part has few of the spoofed ones, and all parts share the sample.
SAMPLE = 1 << 17


@dataclass(frozen=True)
class PartFound:
    """What a pass finds of a part: the spoof that is missed at a threshold of the whole, and maybe its crossing."""

    laid: Overlay
    missed: int
    crossing: Crossing | None


def measure_parts(parts: JointParts, at: OperatingPoint, *, crossings: bool) -> list[PartFound]:
    """Measure all parts in one pass: at an operating point, and where FPR and FNR cross if that is asked for."""
    ends = [bracket(one) for one in _samples(parts)] if crossings else [()] * len(parts.ignored)
    sums = _Sums(parts, at, ends)
    for block in parts.blocks():
        sums.add(block)
    return [sums.found(k) for k in range(len(parts.ignored))]


def _samples(parts: JointParts) -> Iterator[Columns]:
    scores, sorts, time = parts.sample(SAMPLE)
    for k in range(len(parts.ignored)):
        label = parts.labels(k)[sorts]
        yield scores, (label == BONA_FIDE) * time, (label == SPOOF) * time


class _Sums:
    """Adds up blocks: what lies below the brackets and the threshold, of each sort, and what lies inside brackets."""

    def __init__(self, parts: JointParts, at: OperatingPoint, ends: Sequence[tuple[Any, ...]]) -> None:
        self.parts, self.at = parts, at
        self.ends: dict[int, tuple[Any, Any]] = {k: (one[0], one[-1]) for k, one in enumerate(ends) if one}
        self.labels = np.array([parts.labels(k) for k in range(len(ends))])
        dtype = parts.laid.runs.values.dtype
        lows = [self.ends[k][0] if k in self.ends else 0.0 for k in range(len(ends))]
        self.thresholds: Values = np.array([*lows, _least_from(mirrored(at.threshold, at.higher), dtype)], dtype)
        # Python integers: centuries do not fit into int64
        self.below: npt.NDArray[Any] = np.zeros((self.labels.shape[1], self.thresholds.size + 1), object)
        self.inside: dict[int, list[tuple[int, SortedScores]]] = {k: [] for k in self.ends}
        self.rows = self.gathered = 0

    def add(self, block: Sequence[tuple[int, SortedScores]]) -> None:
        """Add one block."""
        for sort, some in block:
            self.below[sort, :-1] += some.below(self.thresholds)
            self.below[sort, -1] += some.total()
            self.rows += some.scores.size
            for k in np.flatnonzero(self.labels[:, sort] <= SPOOF).tolist():
                if k in self.inside:
                    inside = some.between(*self.ends[k])
                    self.inside[k].append((int(self.labels[k, sort]), inside))
                    self.gathered += inside.scores.size
        if self.gathered > max(self.rows // 2, 4 * SAMPLE):
            self.inside.clear()  # bad guesses; better to measure each part alone than to gather everything

    def found(self, k: int) -> PartFound:
        """What was found of a part."""
        laid = self.parts.overlay(k)
        part, _ = laid.part()
        undecided = int(part.undecided_bona_fide.sum()), int(part.undecided_spoof.sum())
        bona_fide, spoof = (self.below[self.labels[k] == label].sum(axis=0) for label in (BONA_FIDE, SPOOF))
        whole = Totals(laid.runs.higher, "ns", laid.rules.uncovered, bona_fide[-1], spoof[-1], *undecided)
        called = -1 if self.at.everything else -2
        _, missed = whole.errors(bona_fide[called], spoof[called])
        return PartFound(laid, missed, self._crossing(k, whole, (bona_fide[k], spoof[k])))

    def _crossing(self, k: int, whole: Totals, below: tuple[int, int]) -> Crossing | None:
        """The crossing of a part, if its bracket holds it and the score after it."""
        if k not in self.inside or whole.crossed(*below):
            return None
        distinct, columns = add_equal(*_columns(self.inside.pop(k)))
        step = step_inside(whole, below, dict.fromkeys(self.ends[k], (0, 0)), [(distinct, columns[0], columns[1])])
        return None if step is None or step.next_score is None else crossing_at(whole, step)


def _columns(pieces: Sequence[tuple[int, SortedScores]]) -> Columns:
    """The bona fide and the spoofed amount of pieces that each are of one class."""
    scores = np.concatenate([some.scores for _, some in pieces])
    classes = np.repeat([label for label, _ in pieces], [some.scores.size for _, some in pieces])
    amounts: Int64 = np.concatenate([some.amounts for _, some in pieces])
    return scores, amounts * (classes == BONA_FIDE), amounts * (classes == SPOOF)


def _least_from(tau: float, dtype: np.dtype[Any]) -> Any:
    """The least number of a type that is not below tau: scores of that type are below both, or below neither."""
    near = dtype.type(tau)
    return near if float(near) >= tau else np.nextafter(near, dtype.type(np.inf))

"""The equal error rate (Eqs. 3 and 4), read off under one of the rules of :mod:`spoofspan.measures.eer_rules`.

``nearest``: the mean of both rates at the threshold of least ``|FPR - FNR|``; ``interpolated`` and ``convex-hull``:
where a line, or the hull, meets FPR = FNR; ``bucketed(lo,hi,n)``: scores are quantised first, as some tools do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.base.times import Int64
from spoofspan.data.scores import Values
from spoofspan.mass.score_mass import Columns, MassBlock, MassPart, ScoreMass
from spoofspan.measures.crossing import Crossing, crossing
from spoofspan.measures.eer_rules import BUCKETED, check_eer_rule
from spoofspan.measures.operating_point import OperatingPoint

# From this gap between FPR and FNR on, "equal" error rate is a bold name for their mean.
WIDE_GAP = 0.005


@dataclass(frozen=True)
class EqualErrorRate:
    """An equal error rate and the operating points around it.

    Parameters
    ----------
    value
        The exact value under the EER rule.
    point
        The operating point of least ``|FPR - FNR|``.
    neighbours
        The last operating point with FPR < FNR and the first with FPR >= FNR; None where there is no such point.

    Examples
    --------
    See :func:`equal_error_rate`.

    """

    value: Fraction
    point: OperatingPoint
    neighbours: tuple[OperatingPoint | None, OperatingPoint | None]


def equal_error_rate(mass: ScoreMass, rule: str = "nearest") -> EqualErrorRate:
    """Compute the equal error rate of a mass, exactly.

    Parameters
    ----------
    mass
        References and scores laid over each other: :func:`spoofspan.overlay`, :func:`spoofspan.point_mass`.
    rule
        ``nearest``, ``interpolated``, ``convex-hull``, ``bucketed(lo,hi,n)`` or ``bucketed(2max,n)``.

    Returns
    -------
    EqualErrorRate
        The value, the operating point next to it, and the two neighbours of the crossing.

    Raises
    ------
    UsageError
        If there is no such rule, or the scores do not fit into its buckets.
    UndefinedMeasureError
        If a class has no time, or the rates never cross.

    Examples
    --------
    >>> import spoofspan as ss
    >>> references = ss.References.from_ranges({"u1": [(0.0, 0.08, "bonafide"), (0.08, 0.16, "spoof")]})
    >>> frames = {"u1": [0.9, 0.8, 0.7, 0.1, 0.2, -0.1, -0.2, -0.3]}
    >>> mass = ss.overlay(references, ss.Scores.from_frames(frames, hop=0.02, higher="bonafide"))
    >>> found = equal_error_rate(mass)
    >>> found.value, found.point.threshold, found.neighbours[0].threshold
    (Fraction(1, 4), 0.2, 0.1)

    """
    _check_mass(mass)
    rule = check_eer_rule(rule)
    if rule.startswith("bucketed"):
        return _bucketed(mass, rule)
    found = crossing(mass)
    if rule != "convex-hull" or found.before is None:
        return eer_of(found, rule)
    from spoofspan.measures.curve import error_curve_of

    value = error_curve_of(mass).hull_crossing()
    return EqualErrorRate(value, found.nearest, (found.before, found.after))


def _check_mass(mass: Any) -> None:
    if not isinstance(mass, ScoreMass):
        kind = type(mass).__name__
        raise UsageError(f"mass must be a ScoreMass, not a {kind}: overlay(references, scores) makes it")


def eer_of(found: Crossing, rule: str) -> EqualErrorRate:
    """The equal error rate at a crossing, by a rule that needs no more of the curve."""
    return EqualErrorRate(eer_at(found, rule), found.nearest, (found.before, found.after))


def eer_at(found: Crossing, rule: str) -> Fraction:
    """The value at a crossing: the mean of both rates at the nearest point, or where the line meets FPR = FNR."""
    if rule != "nearest":
        return found.interpolated
    return (found.nearest.exact_false_positive_rate + found.nearest.exact_false_negative_rate) / 2


def eer_cautions(value: float, point: OperatingPoint, eer_rule: str) -> tuple[str, ...]:
    """Reasons to look twice at an EER."""
    found = []
    if point.gap > WIDE_GAP and eer_rule not in ("interpolated", "convex-hull"):
        found.append(
            f"FPR and FNR differ by {100 * point.gap:.2f} points at the nearest threshold (few distinct scores?); "
            "report the gap, or use eer_rule='interpolated'"
        )
    return *found, *polarity_caution(value, point.higher)


def polarity_caution(value: float, higher: str) -> tuple[str, ...]:
    """Say that an EER over 50 % is suspicious.

    >>> polarity_caution(0.2, "spoof")
    ()
    """
    if value <= 0.5:
        return ()
    return (
        f"an EER over 50 % ({100 * value:.2f} %) often means the wrong polarity; these scores were read with "
        f"higher={higher!r}, and nothing was flipped; check as well which labels mean spoof",
    )


def _bucketed(mass: ScoreMass, rule: str) -> EqualErrorRate:
    match = BUCKETED.fullmatch(rule)
    if match is None:
        raise UsageError(f"no such rule: {rule}")
    buckets = int(match[3])
    if match[1] is None:
        # block by block: all scores together may not fit into memory
        most = max(float(np.abs(block.scores[block.counted]).max(initial=0.0)) for block in mass.blocks())
        low, high = -2.0 * most, 2.0 * most
    else:
        low, high = float(match[1]), float(match[2])
    if not 0.0 < high - low < np.inf or not buckets:
        raise UsageError(f"eer_rule={rule!r}: needs lo < hi, finite, and at least one bucket")
    coarse = replace(mass, parts=tuple(BucketedPart(part, low, high, buckets) for part in mass.parts))
    found = crossing(coarse)

    def scaled(point: OperatingPoint | None) -> OperatingPoint | None:
        if point is None or point.everything:
            return point
        bucket = -point.threshold if point.higher == "bonafide" else point.threshold
        edge = low + (bucket + 1) * (high - low) / buckets
        # + 0.0: no negative zero
        return replace(point, threshold=(-edge if point.higher == "bonafide" else edge) + 0.0)

    # on a tie the tools take the first bucket in spoof polarity: the higher threshold in ours
    nearest = replace(found, before=found.after, after=found.before).nearest
    value = (nearest.exact_false_positive_rate + nearest.exact_false_negative_rate) / 2
    return EqualErrorRate(value, scaled(nearest) or nearest, (scaled(found.before), scaled(found.after)))


@dataclass(frozen=True, eq=False)
class BucketedPart:
    """A part whose scores are replaced by bucket numbers, as some tools do before they compare them."""

    part: MassPart
    low: float
    high: float
    buckets: int

    @property
    def utterances(self) -> tuple[str, ...]:
        """Its utterances."""
        return self.part.utterances

    @property
    def dtype(self) -> np.dtype[Any]:
        """Bucket numbers are float64."""
        return np.dtype(np.float64)

    def blocks(self) -> Iterator[MassBlock]:
        """Quantise block by block."""
        for block in self.part.blocks():
            self._check(block.scores[block.counted])
            yield replace(block, scores=self._quantised(block.scores))

    def sample(self, size: int) -> Columns:
        """A sample of the quantised scores."""
        scores, bona_fide, spoof = self.part.sample(size)
        return self._quantised(scores), bona_fide, spoof

    def take(self, chosen: Int64) -> BucketedPart:
        """Keep chosen utterances."""
        return replace(self, part=self.part.take(chosen))

    def weigh(self, weights: Int64) -> BucketedPart:
        """Count each utterance as often as its weight says."""
        return replace(self, part=self.part.weigh(weights))

    def _check(self, scores: Values) -> None:
        """Scores with counted time must fit into the buckets."""
        if scores.size and not (self.low <= -float(scores.max()) and -float(scores.min()) <= self.high):
            raise UsageError(
                f"scores from {-float(scores.max()):g} to {-float(scores.min()):g} (higher = spoof) do not fit "
                f"into the buckets from {self.low:g} to {self.high:g}; use eer_rule='nearest' or wider buckets"
            )

    def _quantised(self, scores: Values) -> Values:
        # the tools quantise scores that are higher for spoof
        bucket = np.floor((-scores.astype(np.float64) - self.low) / (self.high - self.low) * self.buckets)
        return -bucket

"""The equal error rate (Eqs. 3 and 4): the crossing of FPR and FNR, and its value under an EER rule.

The crossing is found exactly and without sorting everything. A sample of the scores suggests a narrow bracket; one pass
over the mass sums what lies below it and gathers what lies inside. If the sums prove the bracket right, the answer is
found by sorting the little inside; if not, histograms (:mod:`spoofspan.measures.histogram`) find it for certain. Either
way the result has the same bits.

``nearest``: the mean of both rates at the threshold of least ``|FPR - FNR|``; ``interpolated`` and ``convex-hull``:
where a line, or the hull, meets FPR = FNR; ``bucketed(lo,hi,n)``: scores are quantised first, as some tools do.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.base.times import Int64
from spoofspan.data.scores import Values
from spoofspan.mass.score_mass import Columns, MassBlock, MassPart, ScoreMass
from spoofspan.measures.measure import BUCKETED, check_eer_rule
from spoofspan.measures.operating_point import BlockSums, OperatingPoint, RunningTotals, Totals, sums_of

# Decides, from the bona fide and the spoof amounts called spoof so far, whether the crossing has been reached.
Reached = Callable[[int, int], bool]
# Amounts of both classes, bona fide first.
Amounts = tuple[int, int]

# A guess from so many scores puts the crossing into a bracket that holds about 1 % of them.
SAMPLE = 1 << 15
SAMPLE_DEVIATIONS = 3.5
MOST_PLACES = 2**31  # places that fit into half an integer


@dataclass(frozen=True)
class Step:
    """The score at which a monotone condition becomes true, as the scores are called spoof from the lowest on."""

    score: float
    bona_fide_below: int
    spoof_below: int
    bona_fide_at: int
    spoof_at: int
    next_score: float | None  # the next higher score with counted time; None if there is none


@dataclass(frozen=True)
class Crossing:
    """The two neighbouring operating points between which FPR - FNR changes its sign.

    ``before`` is the last candidate with FPR < FNR, ``after`` the first with FPR >= FNR. One of them is missing where
    the rates never cross, which takes uncovered time that is always called the same.
    """

    before: OperatingPoint | None
    after: OperatingPoint | None

    @cached_property
    def nearest(self) -> OperatingPoint:
        """The point of least |FPR - FNR|, the lower threshold (in bona fide polarity) on a tie."""
        return min(
            (point for point in (self.before, self.after) if point is not None),
            # the denominators of both points are the same
            key=lambda point: abs(point.false_positive * point.spoof - point.false_negative * point.bona_fide),
        )

    @property
    def interpolated(self) -> Fraction:
        """Intersection of the line between both points with FPR = FNR."""
        if self.after is not None and self.after.gap == 0.0:
            return self.after.exact_false_positive_rate
        if self.before is None or self.after is None:
            raise UndefinedMeasureError(
                "FPR and FNR never cross, because uncovered time is always called the same; use eer_rule='nearest' "
                "or another rule for uncovered time"
            )
        return meet_diagonal(
            (self.before.exact_false_positive_rate, self.before.exact_false_negative_rate),
            (self.after.exact_false_positive_rate, self.after.exact_false_negative_rate),
        )


def meet_diagonal(p: tuple[Fraction, Fraction], q: tuple[Fraction, Fraction]) -> Fraction:
    """Intersection of the segment from p (FPR < FNR) to q (FPR >= FNR) with FPR = FNR."""
    short, long = p[1] - p[0], q[0] - q[1]
    along = short / (short + long)
    return p[0] + along * (q[0] - p[0])


def crossing(mass: ScoreMass, *, guess: bool = True) -> Crossing:
    """Find the crossing exactly.

    A sample of the scores suggests a narrow bracket; one pass sums what lies below it and gathers what lies inside. If
    the sums prove the bracket right, the answer is found by sorting the little inside (1.7 times faster than the
    histograms); if not, or with ``guess=False``, the histograms find it for certain.
    """
    found = _from_guess(mass) if guess else None
    if found is not None:
        return crossing_at(*found)
    from spoofspan.measures.histogram import Histogram, fill, find_inside

    histogram = fill(Histogram(mass.dtype), mass)
    sums = Totals(mass.higher, mass.unit, mass.uncovered, *histogram.totals(), *histogram.undecided)
    sums.check()
    return crossing_at(sums, find_inside(histogram, mass, sums.crossed))


def crossing_at(sums: Totals, step: Step | None) -> Crossing:
    """The crossing, given the first score at whose inclusion FPR >= FNR; None if there is no such score."""
    if step is None:
        return Crossing(sums.point(None, sums.bona_fide, sums.spoof), None)
    if sums.crossed(0, 0):
        return Crossing(None, sums.point(step.score, 0, 0))
    return Crossing(
        sums.point(step.score, step.bona_fide_below, step.spoof_below),
        sums.point(step.next_score, step.bona_fide_below + step.bona_fide_at, step.spoof_below + step.spoof_at),
    )


def _from_guess(mass: ScoreMass) -> tuple[Totals, Step] | None:
    """Try a bracket from a sample; None if it does not hold the crossing."""
    ends = bracket(mass.sample(SAMPLE))
    if not ends:
        return None
    sums = RunningTotals(mass)
    below, tied = (0, 0), dict.fromkeys(ends, (0, 0))
    inside: list[Columns] = []
    rows = gathered = above = 0
    for part in map(partial(_split, ends), mass.blocks()):
        sums.add_sums(part.sums)
        below = _add(below, part.below)
        tied = {end: _add(amounts, part.tied.get(end, (0, 0))) for end, amounts in tied.items()}
        inside.append(part.inside)
        rows, gathered, above = rows + part.rows, gathered + part.inside[0].size, above + part.above
        if gathered > max(rows // 4, 4 * SAMPLE):
            return None  # a bad guess; better to count than to gather everything
    whole = sums.totals()
    whole.check()
    if whole.crossed(*below):
        return None
    step = step_inside(whole, below, tied, inside)
    if step is not None and step.next_score is None and above:
        step = replace(step, next_score=next_score(mass, step.score))
    return None if step is None else (whole, step)


@dataclass(frozen=True)
class _Split:
    """A block split by a bracket: amounts below it, amounts tied with its ends, and the gathered rows inside."""

    rows: int
    above: int  # rows above the bracket
    sums: BlockSums
    below: Amounts
    tied: dict[Any, Amounts]
    inside: Columns


def _split(ends: Sequence[Any], block: MassBlock) -> _Split:
    scores = block.scores
    less, held = scores < ends[0], scores <= ends[-1]
    above = scores.size - int(np.count_nonzero(held))
    held ^= less
    many = int(np.count_nonzero(held))
    tied: dict[Any, Amounts] = {}
    if many > scores.size >> 4:
        # scores tied with an end of the bracket may be many: they are summed, not gathered
        for end in set(ends):
            equal = scores == end
            tied[end] = block.sums(equal)
            held ^= equal  # it holds all ends
    return _Split(scores.size, above, sums_of(block), block.sums(less), tied, block.columns_of(held))


def _add(amounts: Amounts, more: Amounts) -> Amounts:
    return amounts[0] + more[0], amounts[1] + more[1]


def bracket(sample: Columns) -> tuple[Any, ...]:
    """Two scores of a sample that should hold the crossing between them, or be it; nothing if it cannot tell.

    Where three scores of the sample are all there are between them, these three.
    """
    distinct, columns = sum_ties(*sample)
    # doubles are good enough for a guess, and cannot overflow
    called_bona_fide, called_spoof = (np.cumsum(column.astype(np.float64)) for column in columns)
    if not distinct.size or not called_bona_fide[-1] or not called_spoof[-1]:
        return ()
    all_bona_fide, all_spoof = float(called_bona_fide[-1]), float(called_spoof[-1])
    false_positive_rate = called_bona_fide / all_bona_fide
    difference = false_positive_rate + called_spoof / all_spoof - 1.0
    # the standard deviation of FPR - FNR at the crossing; an EER near 0 or 1 is itself uncertain
    last = distinct.size - 1
    rate = float(false_positive_rate[min(int(np.searchsorted(difference, 0.0)), last)])
    effective = [
        float(column.sum(dtype=np.float64)) ** 2 / float((column.astype(np.float64) ** 2).sum())
        for column in sample[1:]
    ]
    variance = max(rate * (1 - rate), 0.02) * (1 / effective[0] + 1 / effective[1])
    deviation = SAMPLE_DEVIATIONS * variance**0.5
    low, top = (min(int(np.searchsorted(difference, edge)), last) for edge in (-deviation, deviation))
    # one further: the score after the crossing is wanted too, and where many are tied it takes a pass of its own
    ends = distinct[low : top + 2]
    return tuple(ends if ends.size <= 3 else ends[[0, -1]])


def step_inside(whole: Totals, below: Amounts, tied: dict[Any, Amounts], inside: list[Columns]) -> Step | None:
    """Find the step among the gathered scores and the ends of the bracket (no next score: it lies beyond)."""
    exact = max(map(sum, tied.values())) < 2**62
    amounts = np.array(list(tied.values()), np.int64 if exact else object)
    ends = np.array(list(tied), inside[0][0].dtype), amounts[:, 0], amounts[:, 1]
    scores, bona_fide, spoof = (np.concatenate(column) for column in zip(*inside, ends, strict=True))
    return step_among(whole, below, (scores, bona_fide, spoof))


def step_among(whole: Totals, below: Amounts, rows: Columns) -> Step | None:
    """Sort rows and find the one at which FPR >= FNR, given the amounts below all of them; None if there is none."""
    distinct, columns = sum_ties(*rows)
    found = first_reached(below, columns, whole.crossed)
    if found is None:
        return None
    row, so_far, here = found
    following = float(distinct[row + 1]) if row + 1 < distinct.size else None
    return Step(float(distinct[row]), *so_far, *here, following)


def sum_ties(scores: Values, bona_fide: Int64, spoof: Int64) -> tuple[Values, list[npt.NDArray[Any]]]:
    """Sort by score and add up equal scores; scores without counted time go.

    The sums are Python integers where int64 could overflow when they are cumulated.
    """
    counted = (bona_fide > 0) | (spoof > 0)
    if not counted.all():
        scores, bona_fide, spoof = scores[counted], bona_fide[counted], spoof[counted]
    order = sort_order(scores)
    scores = scores[order]
    if not scores.size:
        return scores, [bona_fide, spoof]
    last = np.flatnonzero(np.concatenate((scores[1:] != scores[:-1], [True])))
    exact = float(sum(column.sum(dtype=np.float64) for column in (bona_fide, spoof))) < 2**62
    # differences of running sums, which take a fifth of the time of reduceat
    columns = [
        np.diff(np.cumsum(column[order] if exact else column[order].astype(object))[last], prepend=0)
        for column in (bona_fide, spoof)
    ]
    return scores[last], columns


def sort_order(scores: npt.NDArray[Any]) -> Int64:
    """Return the places of scores from the lowest to the highest; of equal ones, the first comes first.

    NumPy sorts integers with vector instructions, but not the places of floats. So the bits of a score, which order
    like the score once the sign is handled, and its place are packed into one integer of 64 bits. That is three to five
    times faster than ``np.argsort``.

    >>> sort_order(np.array([0.5, -1.0, -0.0, 0.0, -np.inf])).tolist()
    [4, 1, 2, 3, 0]
    """
    if scores.dtype.kind != "f" or scores.size >= MOST_PLACES:
        return np.argsort(scores, kind="stable").astype(np.int64, copy=False)
    with np.errstate(over="ignore"):
        rounded = scores.astype(np.float32)
    rounded += np.float32(0)  # no negative zero
    bits = in_order(rounded.view(np.int32))
    order = np.empty(scores.size, np.int64)
    halves = order.view(np.int32)
    low, high = (0, 1) if sys.byteorder == "little" else (1, 0)
    halves[low::2] = np.arange(scores.size, dtype=np.int32)
    halves[high::2] = bits
    order.sort()
    order &= MOST_PLACES - 1
    if scores.dtype.itemsize > rounded.itemsize:
        # doubles that are one single when rounded are still in their old order: few, and next to each other
        found = scores[order]
        if (found[1:] < found[:-1]).any():
            order = order[np.argsort(found, kind="stable")]
    return order


def in_order(bits: npt.NDArray[np.signedinteger[Any]]) -> npt.NDArray[np.signedinteger[Any]]:
    """Change the bits of floats in place so that they order like the floats, or back.

    >>> codes = in_order(np.array([-np.inf, -1.0, 0.0, 1.0]).view(np.int64))
    >>> bool((np.diff(codes) > 0).all()), in_order(codes).view(np.float64).tolist()
    (True, [-inf, -1.0, 0.0, 1.0])
    """
    sign = 8 * bits.itemsize - 1
    # the lower a negative float, the higher are its other bits
    bits ^= (bits >> sign) & bits.dtype.type(2**sign - 1)
    return bits


def next_score(mass: ScoreMass, score: float) -> float | None:
    """The lowest score with counted time above another one; None if there is none."""
    lowest = [
        float(block.scores[higher].min())
        for block in mass.blocks()
        if (higher := (block.scores > block.scores.dtype.type(score)) & block.counted).any()
    ]
    return min(lowest, default=None)


def first_reached(
    below: Amounts, columns: Sequence[npt.NDArray[Any]], reached: Reached
) -> tuple[int, Amounts, Amounts] | None:
    """Bisect for the first row of two columns at whose inclusion ``reached`` is true; None if it never is.

    Returns the row, what lies below it (``below`` is what lies below all rows), and what it has itself.
    """
    sums = [np.cumsum(column) for column in columns]

    def called(rows: int) -> Amounts:
        return (below[0] + int(sums[0][rows - 1]), below[1] + int(sums[1][rows - 1])) if rows else below

    row = bisect_left(range(len(sums[0])), True, key=lambda row: reached(*called(row + 1)))
    if row == len(sums[0]):
        return None
    return row, called(row), (int(columns[0][row]), int(columns[1][row]))


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

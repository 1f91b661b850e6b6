"""Error rates over thresholds: operating points, the whole curve, and the equal error rate.

With scores that are higher for bona fide, a range is called spoof iff ``s < tau`` (Eqs. 1, 2, 5 and 6)::

    FPR(tau) = bona fide time under scores < tau  / all bona fide time
    FNR(tau) = spoofed time under scores >= tau   / all spoofed time

``EER = (FPR + FNR) / 2`` at the tau of least ``|FPR - FNR|`` (Eqs. 3 and 4). All decisions are made in Python integers;
a rate becomes a float once, at the end, correctly rounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.errors import UndefinedMeasureError, UsageError
from spoofspan.histogram import Step, find_step, first_reached
from spoofspan.mass import MassBlock, MassPart, ScoreMass
from spoofspan.nanoseconds import Float64, Int64
from spoofspan.scores import Higher, Values

EER_RULES = ("nearest", "interpolated", "convex-hull")
_BUCKETED = re.compile(r"bucketed\((?:2max|([^,()]+),([^,()]+)),(\d+)\)")

# A guess from so many scores puts the crossing into a bracket that holds about 1 % of them.
SAMPLE = 1 << 15
SAMPLE_DEVIATIONS = 3.5


@dataclass(frozen=True)
class OperatingPoint:
    """The errors at one threshold: amounts (ns or points), and the rates they make.

    ``threshold`` is on the scale of the scores as given. Where ``everything`` is true, even the scores at the end of
    the scale are called spoof; the threshold is then reported as infinite.
    """

    threshold: float
    higher: Higher
    false_positive: int
    false_negative: int
    bona_fide: int
    spoof: int
    unanswered_bona_fide: int = 0
    unanswered_spoof: int = 0
    unit: str = "ns"
    everything: bool = False

    @property
    def true_positive(self) -> int:
        """Spoof called spoof."""
        return self.spoof - self.false_negative - self.unanswered_spoof

    @property
    def true_negative(self) -> int:
        """Bona fide called bona fide."""
        return self.bona_fide - self.false_positive - self.unanswered_bona_fide

    @property
    def exact_false_positive_rate(self) -> Fraction:
        """FPR as a fraction."""
        return Fraction(self.false_positive, self.bona_fide)

    @property
    def exact_false_negative_rate(self) -> Fraction:
        """FNR as a fraction."""
        return Fraction(self.false_negative, self.spoof)

    @property
    def false_positive_rate(self) -> float:
        """Share of bona fide that is called spoof."""
        return self.false_positive / self.bona_fide if self.bona_fide else float("nan")

    @property
    def false_negative_rate(self) -> float:
        """Share of spoof that is called bona fide."""
        return self.false_negative / self.spoof if self.spoof else float("nan")

    @property
    def gap(self) -> float:
        """|FPR - FNR|."""
        if not self.bona_fide or not self.spoof:
            return float("nan")
        return float(abs(self.exact_false_positive_rate - self.exact_false_negative_rate))

    @property
    def decision(self) -> str:
        """The inequality, in words.

        >>> OperatingPoint(0.25, "bonafide", 1, 2, 10, 10).decision
        'spoof iff score < 0.25'
        """
        if self.everything:
            return "everything is called spoof"
        return f"spoof iff score {'<' if self.higher == 'bonafide' else '>'} {self.threshold!r}"

    def seconds(self) -> dict[str, float]:
        """The four cells of the confusion matrix (and unanswered time) in seconds."""
        if self.unit != "ns":
            raise UsageError(f"this operating point counts {self.unit}, not time")
        names = ("true_positive", "false_negative", "false_positive", "true_negative")
        cells = {name: getattr(self, name) / 1e9 for name in names}
        cells["unanswered"] = (self.unanswered_bona_fide + self.unanswered_spoof) / 1e9
        return cells


@dataclass(frozen=True)
class Totals:
    """What a mass adds up to, and how the rates follow from the amounts called spoof."""

    higher: Higher
    unit: str
    uncovered: str
    bona_fide: int  # under a score
    spoof: int
    undecided_bona_fide: int
    undecided_spoof: int

    @property
    def all_bona_fide(self) -> int:
        """The denominator of FPR."""
        return self.bona_fide + self.undecided_bona_fide

    @property
    def all_spoof(self) -> int:
        """The denominator of FNR."""
        return self.spoof + self.undecided_spoof

    def check(self) -> None:
        """Refuse to define a rate without time to measure it on."""
        unit = "time" if self.unit == "ns" else self.unit
        for amount, name in ((self.all_bona_fide, "bona fide"), (self.all_spoof, "spoofed")):
            if not amount:
                raise UndefinedMeasureError(
                    f"there is no {name} {unit}, so the error rate has no value; "
                    "measure utterances that have both classes (a pooled corpus), or use undefined='nan'"
                )
        if not self.bona_fide + self.spoof:
            raise UndefinedMeasureError(f"no {unit} lies under any score; check hop, times and ids")

    def errors(self, bona_fide_called: int, spoof_called: int) -> tuple[int, int]:
        """FP and FN if this much of the scored amounts is called spoof."""
        false_positive = bona_fide_called + (self.undecided_bona_fide if self.uncovered == "spoof" else 0)
        false_negative = self.spoof - spoof_called
        false_negative += self.undecided_spoof if self.uncovered == "bonafide" else 0
        return false_positive, false_negative

    def difference(self, bona_fide_called: int, spoof_called: int) -> int:
        """FPR - FNR, times the product of both denominators: an integer, so the sign is certain."""
        false_positive, false_negative = self.errors(bona_fide_called, spoof_called)
        return false_positive * self.all_spoof - false_negative * self.all_bona_fide

    def point(self, tau: float | None, bona_fide_called: int, spoof_called: int) -> OperatingPoint:
        """The operating point of tau (in bona fide polarity; None calls everything spoof)."""
        false_positive, false_negative = self.errors(bona_fide_called, spoof_called)
        unanswered = self.uncovered == "unanswered"
        threshold = float("inf") if tau is None else tau
        return OperatingPoint(
            # + 0.0: no negative zero
            (threshold if self.higher == "bonafide" else -threshold) + 0.0,
            self.higher,
            false_positive,
            false_negative,
            self.all_bona_fide,
            self.all_spoof,
            self.undecided_bona_fide if unanswered else 0,
            self.undecided_spoof if unanswered else 0,
            self.unit,
            tau is None,
        )


def totals(mass: ScoreMass) -> Totals:
    """Sum a mass."""
    sums = _Sums(mass)
    for block in mass.blocks():
        sums.add(block)
    return sums.totals()


class _Sums:
    """Adds up blocks into :class:`Totals`."""

    def __init__(self, mass: ScoreMass) -> None:
        self._mass = mass
        self._sums = [0, 0, 0, 0]

    def add(self, block: MassBlock) -> None:
        block_sums = (
            int(block.bona_fide.sum()),
            int(block.spoof.sum()),
            block.undecided_bona_fide,
            block.undecided_spoof,
        )
        self._sums = [a + b for a, b in zip(self._sums, block_sums, strict=True)]

    def totals(self) -> Totals:
        return Totals(self._mass.higher, self._mass.unit, self._mass.uncovered, *self._sums)


# ---------------------------------------------------------------------------------------------------------------------
# The crossing of FPR and FNR, without sorting everything


@dataclass(frozen=True)
class Crossing:
    """The two neighbouring operating points between which FPR - FNR changes its sign.

    ``before`` is the last candidate with FPR < FNR, ``after`` the first with FPR >= FNR. One of them is missing where
    the rates never cross, which takes uncovered time that is always called the same.
    """

    before: OperatingPoint | None
    after: OperatingPoint | None

    @property
    def nearest(self) -> OperatingPoint:
        """The point of least |FPR - FNR|, the lower threshold (in bona fide polarity) on a tie."""
        candidates = [point for point in (self.before, self.after) if point is not None]
        return min(
            candidates,
            key=lambda point: abs(point.exact_false_positive_rate - point.exact_false_negative_rate),
        )

    @property
    def interpolated(self) -> Fraction:
        """Where the line between both points meets FPR = FNR."""
        if self.after is not None and self.after.gap == 0.0:
            return self.after.exact_false_positive_rate
        if self.before is None or self.after is None:
            raise UndefinedMeasureError(
                "FPR and FNR never cross, because uncovered time is always called the same; use eer_rule='nearest' "
                "or another rule for uncovered time"
            )
        return _meet_diagonal(
            (self.before.exact_false_positive_rate, self.before.exact_false_negative_rate),
            (self.after.exact_false_positive_rate, self.after.exact_false_negative_rate),
        )


def _meet_diagonal(p: tuple[Fraction, Fraction], q: tuple[Fraction, Fraction]) -> Fraction:
    """Where the segment from p (FPR < FNR) to q (FPR >= FNR) meets FPR = FNR."""
    short, long = p[1] - p[0], q[0] - q[1]
    along = short / (short + long)
    return p[0] + along * (q[0] - p[0])


def crossing(mass: ScoreMass, *, guess: bool = True) -> Crossing:
    """Find the crossing exactly.

    A sample of the scores suggests a narrow bracket; one pass sums what lies below it and gathers what lies inside. If
    the sums prove the bracket right, the answer is found by sorting the little inside (three times faster than the
    histograms); if not, or with ``guess=False``, :func:`spoofspan.histogram.find_step` finds it for certain.
    """
    found = _from_guess(mass) if guess else None
    if found is None:
        sums = totals(mass)
        sums.check()
        step = find_step(mass, lambda bona_fide, spoof: sums.difference(bona_fide, spoof) >= 0)
    else:
        sums, step = found
    if sums.difference(0, 0) >= 0:
        lowest = _require(find_step(mass, lambda bona_fide, spoof: True))
        return Crossing(None, sums.point(lowest.score, 0, 0))
    if step is None:
        return Crossing(sums.point(None, sums.bona_fide, sums.spoof), None)
    return Crossing(
        sums.point(step.score, step.bona_fide_below, step.spoof_below),
        sums.point(step.next_score, step.bona_fide_below + step.bona_fide_at, step.spoof_below + step.spoof_at),
    )


def _require(step: Step | None) -> Step:
    if step is None:
        raise UndefinedMeasureError("no score has any counted time")
    return step


def _from_guess(mass: ScoreMass) -> tuple[Totals, Step] | None:
    """Try a bracket from a sample; None if it does not hold the crossing."""
    low, top = _bracket(mass.sample(SAMPLE))
    if low is None:
        return None
    sums = _Sums(mass)
    below, tied = [0, 0], {low: [0, 0], top: [0, 0]}
    inside: list[tuple[Values, Int64, Int64]] = []
    rows = gathered = 0
    for block in mass.blocks():
        sums.add(block)
        scores, columns = block.scores, (block.bona_fide, block.spoof)
        _add_where(below, columns, scores < low)
        # scores tied with an end of the bracket may be many: they are summed, not gathered
        for end, amounts in tied.items():
            equal = scores == end
            if equal.any():
                _add_where(amounts, columns, equal)
        chosen = np.flatnonzero((scores > low) & (scores < top))
        inside.append((scores[chosen], columns[0][chosen], columns[1][chosen]))
        rows, gathered = rows + scores.size, gathered + chosen.size
        if gathered > max(rows // 4, 4 * SAMPLE):
            return None  # a bad guess; better to count than to gather everything
    whole = sums.totals()
    whole.check()
    if whole.difference(below[0], below[1]) >= 0:
        return None
    step = _step_inside(whole, below, tied, inside)
    if step is not None and step.next_score is None:
        step = replace(step, next_score=_next_score(mass, step.score))
    return None if step is None else (whole, step)


def _next_score(mass: ScoreMass, score: float) -> float | None:
    """The lowest score with counted time above another one; None if there is none."""
    lowest = [
        float(block.scores[higher].min())
        for block in mass.blocks()
        if (higher := (block.scores > block.scores.dtype.type(score)) & (block.bona_fide + block.spoof > 0)).any()
    ]
    return min(lowest, default=None)


def _add_where(amounts: list[int], columns: tuple[Int64, Int64], mask: npt.NDArray[np.bool_]) -> None:
    """Add the sums of both columns where the mask is true."""
    for i, column in enumerate(columns):
        # multiplying by a mask is seven times faster than indexing with it
        amounts[i] += int((column * mask).sum())


def _bracket(sample: MassBlock) -> tuple[Any, Any]:
    """Two scores of a sample that should hold the crossing between them, or be it; None where the sample cannot tell."""
    all_bona_fide, all_spoof = int(sample.bona_fide.sum()), int(sample.spoof.sum())
    if not all_bona_fide or not all_spoof:
        return None, None
    distinct, columns = _sum_ties(sample.scores, sample.bona_fide, sample.spoof)
    false_positive_rate = np.cumsum(columns[0]) / all_bona_fide
    difference = false_positive_rate + np.cumsum(columns[1]) / all_spoof - 1.0
    # the standard deviation of FPR - FNR at the crossing; an EER near 0 or 1 is itself uncertain
    last = distinct.size - 1
    rate = float(false_positive_rate[min(int(np.searchsorted(difference, 0.0)), last)])
    variance = max(rate * (1 - rate), 0.02) * (1 / all_bona_fide + 1 / all_spoof)
    deviation = SAMPLE_DEVIATIONS * variance**0.5
    low, top = (min(int(np.searchsorted(difference, edge)), last) for edge in (-deviation, deviation))
    return distinct[low], distinct[top]


def _step_inside(
    whole: Totals,
    below: list[int],
    tied: dict[Any, list[int]],
    inside: list[tuple[Values, Int64, Int64]],
) -> Step | None:
    """Find the step among the gathered scores and the two ends of the bracket (no next score: it lies beyond)."""
    scores, bona_fide, spoof = (np.concatenate(column) for column in zip(*inside, strict=True))
    ends = np.array(list(tied), scores.dtype)
    exact = max(map(sum, tied.values())) < 2**62
    amounts = np.array(list(tied.values()), np.int64 if exact else object)
    distinct, columns = _sum_ties(
        np.concatenate((scores, ends)),
        np.concatenate((bona_fide, amounts[:, 0])),
        np.concatenate((spoof, amounts[:, 1])),
    )
    sums = [_cumulated(column) for column in columns]
    start = (below[0], below[1])
    place = first_reached(start, sums, lambda bona_fide, spoof: whole.difference(bona_fide, spoof) >= 0)
    if place is None:
        return None
    return Step(
        float(distinct[place]),
        start[0] + (int(sums[0][place - 1]) if place else 0),
        start[1] + (int(sums[1][place - 1]) if place else 0),
        int(columns[0][place]),
        int(columns[1][place]),
        float(distinct[place + 1]) if place + 1 < distinct.size else None,
    )


def _cumulated(column: Int64) -> npt.NDArray[Any]:
    """Cumulative sums, in Python integers where int64 could overflow."""
    return np.cumsum(column if float(column.sum(dtype=np.float64)) < 2**62 else column.astype(object))


def _sum_ties(scores: Values, bona_fide: Int64, spoof: Int64) -> tuple[Values, list[Int64]]:
    """Sort by score and add up equal scores; scores without counted time go."""
    counted = (bona_fide > 0) | (spoof > 0)
    if not counted.all():
        scores, bona_fide, spoof = scores[counted], bona_fide[counted], spoof[counted]
    order = np.argsort(scores)
    scores = scores[order]
    if not scores.size:
        return scores, [bona_fide, spoof]
    begins = np.flatnonzero(np.concatenate(([True], scores[1:] != scores[:-1])))
    exact = float(bona_fide.sum(dtype=np.float64) + spoof.sum(dtype=np.float64)) < 2**62
    columns = [
        np.add.reduceat(column[order] if exact else column[order].astype(object), begins)
        for column in (bona_fide, spoof)
    ]
    return scores[begins], columns


# ---------------------------------------------------------------------------------------------------------------------
# EER rules


@dataclass(frozen=True)
class EqualErrorRate:
    """A value under an EER rule, the operating point next to it, and the two neighbours of the crossing."""

    value: Fraction
    point: OperatingPoint
    neighbours: tuple[OperatingPoint | None, OperatingPoint | None]


def check_eer_rule(rule: str) -> str:
    """Return the canonical spelling of an EER rule.

    >>> check_eer_rule("bucketed(-2, 2, 10000)")
    'bucketed(-2,2,10000)'
    """
    spelled = str(rule).replace(" ", "")
    if spelled not in EER_RULES and not _BUCKETED.fullmatch(spelled):
        raise UsageError(f"eer_rule={rule!r}: valid: {', '.join(EER_RULES)}, bucketed(lo,hi,n), bucketed(2max,n)")
    return spelled


def equal_error_rate(mass: ScoreMass, rule: str = "nearest") -> EqualErrorRate:
    """Compute the EER of a mass under a rule."""
    rule = check_eer_rule(rule)
    if rule.startswith("bucketed"):
        return _bucketed(mass, rule)
    found = crossing(mass)
    nearest = found.nearest
    if rule == "nearest":
        value = (nearest.exact_false_positive_rate + nearest.exact_false_negative_rate) / 2
    elif rule == "interpolated" or found.before is None:
        value = found.interpolated
    else:
        value = error_curve_of(mass).hull_crossing()
    return EqualErrorRate(value, nearest, (found.before, found.after))


def _bucketed(mass: ScoreMass, rule: str) -> EqualErrorRate:
    match = _BUCKETED.fullmatch(rule)
    if match is None:
        raise UsageError(f"no such rule: {rule}")
    buckets = int(match[3])
    if match[1] is None:
        most = float(np.abs(mass.scores.astype(np.float64)).max(initial=0.0))
        low, high = -2.0 * most, 2.0 * most
    else:
        low, high = float(match[1]), float(match[2])
    if not low < high or not buckets or not np.isfinite([low, high]).all():
        raise UsageError(f"eer_rule={rule!r}: needs lo < hi, finite, and at least one bucket")
    coarse = replace(mass, parts=tuple(BucketedPart(part, low, high, buckets) for part in mass.parts))
    found = crossing(coarse)

    def scaled(point: OperatingPoint | None) -> OperatingPoint | None:
        if point is None or point.everything:
            return point
        bucket = -point.threshold if point.higher == "bonafide" else point.threshold
        edge = low + (bucket + 1) * (high - low) / buckets
        return replace(point, threshold=-edge if point.higher == "bonafide" else edge)

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
        return (self._quantised(self._checked(block)) for block in self.part.blocks())

    def sample(self, size: int) -> MassBlock:
        """A sample of the quantised scores."""
        return self._quantised(self.part.sample(size))

    def take(self, chosen: Int64) -> BucketedPart:
        """Keep chosen utterances."""
        return replace(self, part=self.part.take(chosen))

    def weigh(self, weights: Int64) -> BucketedPart:
        """Count each utterance so many times."""
        return replace(self, part=self.part.weigh(weights))

    def _checked(self, block: MassBlock) -> MassBlock:
        """Drop scores without counted time; the others must fit into the buckets."""
        counted = (block.bona_fide > 0) | (block.spoof > 0)
        scores = block.scores[counted]
        if scores.size and not (self.low <= -float(scores.max()) and -float(scores.min()) <= self.high):
            raise UsageError(
                f"scores from {-float(scores.max()):g} to {-float(scores.min()):g} (higher = spoof) do not fit "
                f"into the buckets from {self.low:g} to {self.high:g}; use eer_rule='nearest' or wider buckets"
            )
        return replace(block, scores=scores, bona_fide=block.bona_fide[counted], spoof=block.spoof[counted])

    def _quantised(self, block: MassBlock) -> MassBlock:
        # the tools quantise scores that are higher for spoof
        spoof_scores = -block.scores.astype(np.float64)
        bucket = np.floor((spoof_scores - self.low) / (self.high - self.low) * self.buckets)
        return replace(block, scores=-bucket)


# ---------------------------------------------------------------------------------------------------------------------
# The whole curve


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """FPR and FNR at every candidate threshold: each distinct score with counted time, then "everything is spoof".

    Thresholds are on the scale of the scores as given, ordered so that ever more is called spoof: FPR rises from the
    first to the last entry, FNR falls.
    """

    thresholds: Float64
    false_positive_rates: Float64
    false_negative_rates: Float64
    sums: Totals = field(repr=False)
    called_bona_fide: npt.NDArray[Any] = field(repr=False)  # amounts called spoof at each threshold
    called_spoof: npt.NDArray[Any] = field(repr=False)

    def __len__(self) -> int:
        return self.thresholds.size

    def __repr__(self) -> str:
        return f"ErrorCurve({len(self):,} thresholds)"

    def point(self, index: int) -> OperatingPoint:
        """The operating point of the index-th threshold."""
        last = index in (-1, len(self) - 1)
        sign = 1 if self.sums.higher == "bonafide" else -1
        tau = None if last else sign * float(self.thresholds[index])
        return self.sums.point(tau, int(self.called_bona_fide[index]), int(self.called_spoof[index]))

    def at(self, threshold: float) -> OperatingPoint:
        """Rates and confusion amounts at any threshold (on the scale of the scores)."""
        if np.isnan(threshold):
            raise UsageError("a threshold must be a number, not NaN")
        sign = 1 if self.sums.higher == "bonafide" else -1
        # the first candidate that is not below the threshold calls the same scores spoof
        index = int(np.searchsorted(sign * self.thresholds[:-1], sign * threshold))
        return replace(self.point(index), threshold=float(threshold), everything=False)

    def hull_crossing(self) -> Fraction:
        """Where the lower convex hull of all points (FPR, FNR) meets FPR = FNR."""
        hull: list[int] = []
        x, y = self.called_bona_fide, self.called_spoof  # FNR falls as the called spoof rises
        for i in _corners(x, y):
            while len(hull) >= 2 and _turns_down(hull[-2], hull[-1], i, x, y):
                hull.pop()
            hull.append(i)
        for left, right in pairwise(hull):
            p, q = self.point(left), self.point(right)
            rates = [(point.exact_false_positive_rate, point.exact_false_negative_rate) for point in (p, q)]
            if rates[0][0] < rates[0][1] and rates[1][0] >= rates[1][1]:
                return _meet_diagonal(rates[0], rates[1])
        raise UndefinedMeasureError("FPR and FNR never cross; use eer_rule='nearest'")


def _corners(x: npt.NDArray[Any], y: npt.NDArray[Any]) -> list[int]:
    """Points at which the curve turns from spoof-only to bona fide steps can be on the hull; few others need a look."""
    rises_x, rises_y = x[1:] > x[:-1], y[1:] > y[:-1]
    keep = np.ones(x.size, bool)
    # inside a run of steps along one axis
    keep[1:-1] = ~((~rises_x[:-1] & ~rises_x[1:]) | (~rises_y[:-1] & ~rises_y[1:]))
    return [int(i) for i in np.flatnonzero(keep)]


def _turns_down(a: int, b: int, c: int, x: npt.NDArray[Any], y: npt.NDArray[Any]) -> bool:
    """Whether b lies on or below the line from a to c (in called spoof over called bona fide)."""
    first = (int(x[b]) - int(x[a])) * (int(y[c]) - int(y[a]))
    second = (int(x[c]) - int(x[a])) * (int(y[b]) - int(y[a]))
    return first >= second


def error_curve_of(mass: ScoreMass) -> ErrorCurve:
    """Sort a mass into its whole curve (held in memory: about 40 bytes per distinct score)."""
    sums = totals(mass)
    sums.check()
    pieces = [(block.scores, block.bona_fide, block.spoof) for block in mass.blocks()]
    scores, bona_fide, spoof = (np.concatenate(column) for column in zip(*pieces, strict=True))
    distinct, columns = _sum_ties(scores, bona_fide, spoof)
    called = [np.concatenate(([0], _cumulated(column))) for column in columns]
    errors = [sums.errors(0, 0)[0] + called[0], sums.errors(0, 0)[1] - called[1]]
    sign = 1.0 if sums.higher == "bonafide" else -1.0
    return ErrorCurve(
        np.append(sign * distinct.astype(np.float64), sign * np.inf) + 0.0,
        _rates(errors[0], sums.all_bona_fide),
        _rates(errors[1], sums.all_spoof),
        sums,
        *called,
    )


def _rates(amounts: npt.NDArray[Any], whole: int) -> Float64:
    """Divide, correctly rounded: doubles hold integers up to 2**53, Python divides larger ones."""
    if whole < 2**53:
        return amounts.astype(np.float64) / whole
    return np.array([int(amount) / whole for amount in amounts], np.float64)

"""The value of a measure without each cluster in turn, in one or a few passes over the mass.

Measures at a fixed threshold and means over utterances are functions of sums over clusters: the sums without a cluster
give the value without it, exactly. So do Cllr (sums of costs) and the AUC (sums over pairs). minDCF, the best F1 and
minCllr are taken where they are best; there, a small move of the threshold changes nothing, and it stays.

The threshold of an EER moves when a cluster leaves, from one score to another. These jumps are as large as they happen
to be, and a jackknife of the jumps is wrong however large the corpus is, as for a median (on 200 utterance scores a
95 % interval held the true EER in 89 % of cases). So the rates without the cluster are taken at the same threshold, and
are then moved along the error curve until they meet again::

    FNR |  o                o  both rates with all clusters
        |    .    x         x  both rates without one, at the same threshold
        |      .    .
        |   FPR=FNR  y      y  where FPR = FNR again, on a line through x as steep as the curve is around o
        +-------------- FPR

The curve is as steep as the chord between two thresholds: those at which FPR - FNR is two standard errors away on
either side, as far as it moves from one test set to the next. FNR at a fixed FPR is treated alike; there FPR is moved
back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags
from spoofspan.base.times import Float64, Int64
from spoofspan.data.scores import Values
from spoofspan.mass.score_mass import Columns, ScoreMass
from spoofspan.mass.score_runs import mirrored
from spoofspan.measures.confusion import ConfusionMatrix, Formula
from spoofspan.measures.eer import SAMPLE, sum_ties
from spoofspan.measures.kind import Kept, RatioKind
from spoofspan.measures.measure import MeasureSettings
from spoofspan.measures.operating_point import OperatingPoint, Totals, called_spoof, point_at, totals
from spoofspan.uncertainty.clusters import UNNAMED, ClusterCounts
from spoofspan.uncertainty.replicates import confusions_by_unit

# A chord of the curve spans so many standard errors to either side.
CHORD = 2.0
# With fewer clusters that have an error of a class there is a caution.
FEW_WITH_ERRORS = 5
# Multiplied by this odd number (2^64 over the golden ratio), the bits of scores that are alike are not.
MIXER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """One measure of one system without each cluster in turn.

    Parameters
    ----------
    without
        The value without each cluster (for slow measures with many clusters, without each group of them); NaN if there
        is none.
    bona_fide, spoof
        Flags of the clusters with that class. If a measure depends on one class only, the other is None.
    worst
        The value for given error rates (of bona fide, of spoof) of classes without any observed error; None if errors
        were observed in both classes.
    cautions
        Cautions: few clusters have errors.
    optimism
        The correction of a value at the best threshold of this corpus.
    factor, alone, sign, crossed
        Those of the :class:`~spoofspan.uncertainty.clusters.Clusters` that were left out.
    """

    without: Float64
    bona_fide: Flags | None
    spoof: Flags | None
    worst: Callable[[float, float], float] | None = None
    cautions: tuple[str, ...] = ()
    optimism: float = 0.0
    factor: str = UNNAMED
    alone: int = 0
    sign: int = 1
    crossed: tuple[LeftOut, ...] = ()

    @property
    def ways(self) -> tuple[LeftOut, ...]:
        """The levels of each factor that were left out, and of each product of factors."""
        return self, *self.crossed

    @property
    def flags(self) -> tuple[Flags | None, Flags | None]:
        """Flags of clusters with bona fide, and with spoof."""
        return self.bona_fide, self.spoof


def count_left_out(systems: Sequence[LeftOut]) -> ClusterCounts:
    """The numbers of clusters of systems on the same clusters, by class."""
    factors = [ways for ways in zip(*(one.ways for one in systems), strict=True) if ways[0].factor]
    counts = [ClusterCounts.of((one.flags for one in ways), ways[0].factor, ways[0].alone) for ways in factors]
    return ClusterCounts.of_factors(counts)


@dataclass(frozen=True, eq=False)
class Confusions:
    """Confusion matrices at one threshold, in doubles: one, or one without each cluster."""

    bona_fide: Any
    spoof: Any
    false_positive: Any
    false_negative: Any
    unanswered_bona_fide: Any
    unanswered_spoof: Any

    @classmethod
    def of(cls, sums: npt.NDArray[Any], uncovered: str) -> Confusions:
        """From sums made by :meth:`.UtteranceBlock.confusions`."""
        bona_fide, spoof, undecided_bona_fide, undecided_spoof, called_bona_fide, called_spoof = sums.T
        whole = Totals("bonafide", "", uncovered, bona_fide, spoof, undecided_bona_fide, undecided_spoof)
        none = np.zeros_like(bona_fide)
        unanswered = (undecided_bona_fide, undecided_spoof) if uncovered == "unanswered" else (none, none)
        columns = (whole.all_bona_fide, whole.all_spoof, *whole.errors(called_bona_fide, called_spoof), *unanswered)
        return cls(*(np.asarray(column, np.float64) for column in columns))

    @property
    def rates(self) -> tuple[Any, Any]:
        """FPR and FNR; NaN without a class."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.false_positive / self.bona_fide, self.false_negative / self.spoof

    def value(self, formula: Formula, rates: tuple[Any, Any], positive: Literal["spoof", "bonafide"]) -> Any:
        """The value of a formula with given rates."""
        false_positive, false_negative = rates[0] * self.bona_fide, rates[1] * self.spoof
        matrix = ConfusionMatrix(
            self.spoof - false_negative - self.unanswered_spoof,
            false_positive,
            false_negative,
            self.bona_fide - false_positive - self.unanswered_bona_fide,
            self.spoof,
            self.bona_fide,
        ).seen_from(positive)
        above, below = formula.terms(matrix)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(above, np.float64) / np.asarray(below, np.float64)


def sums_by_unit(mass: ScoreMass, unit_of: Int64, units: int, point: OperatingPoint | None) -> Int64:
    """The confusion matrix of each unit at an operating point; without one, nothing is called spoof."""

    def called(scores: Values) -> Flags:
        if point is None or point.everything:
            return np.full(scores.size, point is not None)
        return called_spoof(scores, point.threshold, mass.higher)

    return confusions_by_unit(mass, unit_of, units, called)


def class_flags(sums: Int64) -> tuple[Flags, Flags]:
    """Flags of units with bona fide, and with spoof."""
    return sums[:, 0] + sums[:, 2] > 0, sums[:, 1] + sums[:, 3] > 0


def left_out_at(
    settings: MeasureSettings, formula: Formula, mass: ScoreMass, point: OperatingPoint, value: float, sums: Int64
) -> LeftOut:
    """The values of a formula without each unit, at an operating point that stays or moves with the rates."""
    measure, kind = settings.measure, settings.measure.kind
    kept = kind.kept(settings)
    whole = Confusions.of(sums.sum(axis=0), mass.uncovered)
    others = Confusions.of(sums.sum(axis=0) - sums, mass.uncovered)
    each = Confusions.of(sums, mass.uncovered)
    rates, seen = others.rates, whole.rates
    if kept is not None:
        rates = _moved(mass, point, kept, rates, seen)
    base = float(whole.value(formula, seen, measure.positive))
    # an EER rule may take the value between two points; only the change is computed here
    without = value + (others.value(formula, rates, measure.positive) - base)

    free = [
        not errors and rate_kept != kept
        for errors, rate_kept in ((float(whole.false_positive), "fpr"), (float(whole.false_negative), "fnr"))
    ]

    def worst(bona_fide: float, spoof: float) -> float:
        fpr, fnr = (
            max(rate, float(one)) if class_free else float(one)
            for rate, one, class_free in zip((bona_fide, spoof), seen, free, strict=True)
        )
        return kind.highest(fpr, fnr, lambda *rates: float(whole.value(formula, rates, measure.positive)))

    one_class = kind.of_class if isinstance(kind, RatioKind) and kept is None else None
    bona_fide, spoof = class_flags(sums)
    if one_class is not None:
        only_spoof = (one_class == "positives") == (measure.positive == "spoof")
        return LeftOut(
            without,
            None if only_spoof else bona_fide,
            spoof if only_spoof else None,
            worst if free[only_spoof] else None,
            few_with_errors(each, (not only_spoof, only_spoof)),
        )
    cautions = few_with_errors(each, (kept != "fpr", kept != "fnr"))
    return LeftOut(without, bona_fide, spoof, worst if any(free) else None, cautions)


def few_with_errors(each: Confusions, matters: tuple[bool, bool]) -> tuple[str, ...]:
    """A caution if few units have errors of a relevant class, given the confusion matrix of each."""
    errors = {"bona fide called spoof": each.false_positive, "spoof called bona fide": each.false_negative}
    counts = {name: int(np.count_nonzero(column)) for name, column in errors.items()}
    few = [
        f"{count or 'no'} cluster{'s' * (count != 1)} with {name}"
        for (name, count), asked in zip(counts.items(), matters, strict=True)
        if asked and count < FEW_WITH_ERRORS
    ]
    if not few:
        return ()
    return (f"{' and '.join(few)} (under {FEW_WITH_ERRORS}): intervals and plans rest on few errors",)


def _moved(
    mass: ScoreMass, point: OperatingPoint, kept: Kept, rates: tuple[Any, Any], seen: tuple[Any, Any]
) -> tuple[Any, Any]:
    """Move the rates without each unit along the curve, until the ``kept`` quantity is the same again."""
    change = rates[0] - seen[0], rates[1] - seen[1]
    apart = change[0] - change[1] if kept == "difference" else change[0] if kept == "fpr" else -change[1]
    right, down = _chord(mass, point, kept, CHORD * jackknife_error(apart))
    if kept == "difference":
        share = down / (right + down) if right + down else 0.5
        return rates[0] - (1 - share) * apart, rates[1] + share * apart
    if kept == "fpr":
        return rates[0] - change[0], rates[1] + (change[0] * down / right if right else 0.0)
    return rates[0] + (change[1] * right / down if down else 0.0), rates[1] - change[1]


def jackknife_error(without: Float64) -> float:
    """The standard error of a value, given its values without each cluster; NaN is left out.

    >>> round(jackknife_error(np.array([1.0, 2.0, 3.0])), 4)
    1.1547
    """
    known = without[~np.isnan(without)]
    return sqrt((known.size - 1) / max(known.size, 1) * float(((known - known.mean()) ** 2).sum()))


def _chord(mass: ScoreMass, point: OperatingPoint, kept: Kept, distance: float) -> tuple[float, float]:
    """The rise of FPR and the fall of FNR between thresholds a distance below and above."""
    first, last = chord_points(mass, point, kept, distance)
    return (
        last.false_positive_rate - first.false_positive_rate,
        first.false_negative_rate - last.false_negative_rate,
    )


def chord_points(
    mass: ScoreMass, point: OperatingPoint, kept: Kept, distance: float
) -> tuple[OperatingPoint, OperatingPoint]:
    """The operating points at which the ``kept`` quantity is a distance below and above that of a point."""
    distinct, *columns = sampled_scores(mass)
    called = [np.concatenate(([0.0], np.cumsum(column.astype(np.float64)))) for column in columns]
    fpr, recall = (curve / max(float(curve[-1]), 1.0) for curve in called)
    level = fpr + recall if kept == "difference" else fpr if kept == "fpr" else recall
    tau = mirrored(point.threshold, mass.higher)
    at = distinct.size if point.everything else int(np.searchsorted(distinct, tau))
    low = max(int(np.searchsorted(level, level[at] - distance, side="right")) - 1, 0)
    high = min(int(np.searchsorted(level, level[at] + distance)), distinct.size)
    return _point_at_place(mass, distinct, low), _point_at_place(mass, distinct, high)


def _point_at_place(mass: ScoreMass, distinct: Values, place: int) -> OperatingPoint:
    """The operating point below a distinct score; after the last one, everything is called spoof."""
    if place == distinct.size:
        whole = totals(mass)
        return whole.point(None, whole.bona_fide, whole.spoof)
    return point_at(mass, mirrored(float(distinct[place]), mass.higher))


# ---------------------------------------------------------------- a sample of the scores


def sampled_scores(mass: ScoreMass) -> Columns:
    """Sorted distinct scores of a mass of any size with the amounts of both classes: all, or every 2^k-th of many.

    The bits of a score decide if it is in the sample, so the order of rows and shards make no difference.
    """
    held: list[Columns] = []
    rows, every = 0, 0
    for block in mass.blocks():
        scores: Values = block.scores.astype(np.float64, copy=False)
        taken = _taken(scores, every)
        held.append((scores[taken], block.bona_fide[taken], block.spoof[taken]))
        rows += held[-1][0].size
        if rows > 4 * SAMPLE:
            held, every = _thinned(held, every)
            rows = held[0][0].size
    (sample,), _ = _thinned(held, every)
    return sample


def _thinned(held: Sequence[Columns], every: int) -> tuple[list[Columns], int]:
    """Sum equal scores, and halve the sample until it is small enough: the sample of every 2^k-th score, and k."""
    scores, (bona_fide, spoof) = sum_ties(*(np.concatenate(column) for column in zip(*held, strict=True)))
    while scores.size > 2 * SAMPLE:
        every += 1
        taken = _taken(scores, every)
        scores, bona_fide, spoof = scores[taken], bona_fide[taken], spoof[taken]
    return [(scores, bona_fide, spoof)], every


def _taken(scores: Values, every: int) -> Flags:
    if not every:
        return np.ones(scores.size, bool)
    mixed = (scores + 0.0).view(np.uint64) * MIXER  # - 0.0 is 0.0
    flags: Flags = mixed >> np.uint64(64 - every) == 0
    return flags

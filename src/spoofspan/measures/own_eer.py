"""Each utterance's own range-based EER, for many utterances at once.

The scores of a block of utterances are sorted by utterance and score. Cumulative sums then say, for every candidate
threshold of every utterance, what is called spoof; FPR - FNR rises along the candidates of an utterance, so their
crossing is where its sign changes::

    utterance         u1                       u2
    score            -0.3  -0.2   0.1   0.9   -0.5   0.4   (all)
    FPR - FNR          -     -     +     +      -     +      +
    crossing                  ^ ^                 ^ ^

The sign is that of ``FP * spoof - FN * bona fide``, whose products do not fit into int64. Doubles decide it where it
is beyond their rounding; Python integers decide the few others, and all that is compared or divided later. So the
results have the bits of :func:`spoofspan.range_eer` on the utterance alone. It is apart from
:mod:`spoofspan.measures.crossing`, which finds one crossing of a whole mass: one utterance at a time, that takes four
times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags, offsets_of, sum_by_utterance
from spoofspan.base.errors import UsageError
from spoofspan.base.times import Float64, Int64
from spoofspan.data.scores import Higher, Values
from spoofspan.measures.crossing import mean_rate, rate_between
from spoofspan.measures.eer import check_eer_rule

RULES = ("nearest", "interpolated")
# A difference of two products takes six roundings: it is wrong by less than this share of their sum.
RELATIVE_ERROR = 2.0**-50


@dataclass(frozen=True, eq=False)
class OwnEers:
    """The EER of each utterance and its threshold, on the scale of the scores; NaN where an utterance has none."""

    values: Float64
    thresholds: Float64

    @classmethod
    def joined(cls, pieces: Sequence[OwnEers]) -> OwnEers:
        """One after the other."""
        return cls(np.concatenate([one.values for one in pieces]), np.concatenate([one.thresholds for one in pieces]))

    def take(self, chosen: Sequence[int] | Int64) -> OwnEers:
        """Keep chosen utterances, in that order."""
        return OwnEers(self.values[chosen], self.thresholds[chosen])


@dataclass(frozen=True, eq=False)
class Amounts:
    """What the rates of each utterance are made of, besides the time under its scores."""

    bona_fide: Int64  # the denominator of FPR
    spoof: Int64  # the denominator of FNR
    false_positive: Int64  # bona fide time that is called spoof at every threshold
    false_negative: Int64  # spoofed time that is called bona fide at every threshold

    def here(self, first: int, last: int) -> Amounts:
        """Those of some consecutive utterances."""
        columns = (self.bona_fide, self.spoof, self.false_positive, self.false_negative)
        return Amounts(*(column[first:last] for column in columns))


def check_own_rule(eer_rule: str) -> str:
    """Refuse EER rules under which utterances have no EER of their own here."""
    rule = check_eer_rule(eer_rule)
    if rule not in RULES:
        raise UsageError(
            f"each utterance's own EER is taken by the rule {' or '.join(RULES)}, not {rule}; "
            "state one with eer_rule= (--eer-rule)"
        )
    return rule


def own_eers(
    scores: Values, bona_fide: Int64, spoof: Int64, offsets: Int64, amounts: Amounts, higher: Higher, eer_rule: str
) -> OwnEers:
    """The EERs of a block: scores in bona fide polarity, and the time of both classes under each."""
    steps = _Steps.of(scores, bona_fide, spoof, offsets)
    candidates = np.diff(steps.offsets)
    utterance = np.repeat(np.arange(candidates.size), candidates)
    false_positive = steps.called_bona_fide + amounts.false_positive[utterance]
    false_negative = (steps.all_spoof + amounts.false_negative)[utterance] - steps.called_spoof
    below = _is_less(false_positive, amounts.spoof[utterance], false_negative, amounts.bona_fide[utterance])
    # FPR - FNR rises: so many candidates of each utterance lie before the crossing
    count_before = count_by_utterance(below, steps.offsets)

    values, thresholds = np.full((2, candidates.size), np.nan)
    some = np.flatnonzero((amounts.bona_fide > 0) & (amounts.spoof > 0) & (candidates > 0))
    if not some.size:
        return OwnEers(values, thresholds)
    totals = amounts.bona_fide[some].astype(object), amounts.spoof[some].astype(object)
    everything = (
        (steps.all_bona_fide + amounts.false_positive)[some],
        amounts.false_negative[some],
        np.full(some.size, np.inf),
    )

    def points(rows: Int64, is_everything: Flags) -> _Points:
        rows = np.clip(rows, 0, false_positive.size - 1)
        columns = (false_positive[rows], false_negative[rows], steps.scores[rows].astype(np.float64))
        fp, fn, tau = (np.where(is_everything, a, b) for a, b in zip(everything, columns, strict=True))
        fp, fn = fp.astype(object), fn.astype(object)
        return _Points(fp, fn, tau, fp * totals[1] - fn * totals[0])

    row = steps.offsets[:-1][some] + count_before[some]
    after = points(row, count_before[some] == candidates[some])  # where all scores lie before the crossing: everything
    has_after = np.asarray(after.difference >= 0, bool)  # else even calling everything spoof leaves FPR < FNR
    before = points(row - 1, ~has_after)
    has_before = (count_before[some] > 0) | ~has_after
    nearer = has_before & (np.asarray(-before.difference <= after.difference, bool) | ~has_after)
    fp, fn, tau = (np.where(nearer, a, b) for a, b in zip(before[:3], after[:3], strict=True))
    found = mean_rate(fp, fn, *totals).astype(np.float64)
    if eer_rule == "interpolated":
        found = np.full(some.size, np.nan)  # NaN where the rates never cross
        meets = has_after & np.asarray(after.difference == 0, bool)
        found[meets] = after.false_positive[meets] / totals[0][meets]
        rest = np.flatnonzero(has_before & has_after & ~meets)
        ends = before.false_positive[rest], after.false_positive[rest]
        found[rest] = rate_between(*ends, -before.difference[rest], after.difference[rest], totals[0][rest])
    values[some] = found
    # + 0.0: no negative zero
    thresholds[some] = np.where(np.isnan(found), np.nan, tau if higher == "bonafide" else -tau) + 0.0
    return OwnEers(values, thresholds)


class _Points(NamedTuple):
    """One operating point for each of some utterances, in Python integers.

    ``difference`` is FPR - FNR times both denominators.
    """

    false_positive: npt.NDArray[Any]
    false_negative: npt.NDArray[Any]
    threshold: Float64
    difference: npt.NDArray[Any]


def count_by_utterance(flags: Flags, offsets: Int64) -> Int64:
    """How many rows of each utterance are true."""
    counts: Int64 = np.diff(np.searchsorted(np.flatnonzero(flags), offsets))
    return counts


@dataclass(frozen=True, eq=False)
class _Steps:
    """The candidates of each utterance: its distinct scores with counted time, and what lies below each."""

    offsets: Int64
    scores: Values
    called_bona_fide: Int64
    called_spoof: Int64
    all_bona_fide: Int64  # under any score, of each utterance
    all_spoof: Int64

    @classmethod
    def of(cls, scores: Values, bona_fide: Int64, spoof: Int64, offsets: Int64) -> _Steps:
        counts = np.diff(offsets)
        counted = (bona_fide > 0) | (spoof > 0)
        if not counted.all():
            scores, bona_fide, spoof = scores[counted], bona_fide[counted], spoof[counted]
            counts = count_by_utterance(counted, offsets)
            offsets = offsets_of(counts)
        # sorting small integers takes linear time
        utterance = np.repeat(np.arange(counts.size).astype(np.uint16 if counts.size < 2**16 else np.int64), counts)
        order = np.argsort(scores)
        order = order[np.argsort(utterance[order], kind="stable")]
        scores = scores[order]
        begins = np.ones(scores.size, bool)
        np.not_equal(scores[1:], scores[:-1], out=begins[1:])
        begins[offsets[:-1][counts > 0]] = True
        first = np.flatnonzero(begins)
        places = np.searchsorted(first, offsets)
        below = []
        for column in (bona_fide, spoof):
            sums = np.zeros(scores.size + 1, np.int64)
            np.cumsum(column[order], out=sums[1:])
            below.append(sums[first] - np.repeat(sums[offsets[:-1]], np.diff(places)))
        sums_of_all = (sum_by_utterance(column, offsets) for column in (bona_fide, spoof))
        return cls(places, scores[first], *below, *sums_of_all)


def _is_less(a: Int64, b: Int64, c: Int64, d: Int64) -> Flags:
    """Whether a * b < c * d, for numbers from 0 on."""
    left, right = a.astype(np.float64) * b, c.astype(np.float64) * d
    less: Flags = left < right
    doubtful = np.flatnonzero(np.abs(left - right) <= RELATIVE_ERROR * (left + right))
    if doubtful.size:
        exact = [column[doubtful].astype(object) for column in (a, b, c, d)]
        less[doubtful] = exact[0] * exact[1] < exact[2] * exact[3]
    return less

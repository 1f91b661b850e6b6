"""Errors by utterance at a threshold, where a system errs; and each utterance's own range-based EER.

The own EERs are found for many utterances at once. The scores of a block of utterances are sorted by utterance and
score. Cumulative sums then say, for every candidate threshold of every utterance, what is called spoof; FPR - FNR rises
along the candidates of an utterance, so their crossing is where its sign changes::

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
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags, blocks, chosen_ids, no_rows, offsets_of, order_by_id, sum_by_utterance
from spoofspan.base.errors import UsageError
from spoofspan.base.order import sort_order
from spoofspan.base.tabular import Tabular
from spoofspan.base.times import Float64, Int64
from spoofspan.data.references import BONA_FIDE, SPOOF, References
from spoofspan.data.rules import RuleArguments, Rules, rules_for
from spoofspan.data.scores import DECISION_THRESHOLD, Higher, Scores, Values
from spoofspan.data.sides import check_sides
from spoofspan.mass.ranges import Overlay, overlay_block
from spoofspan.mass.score_mass import NS_PER_BLOCK, ROWS_PER_BLOCK, MassBlock
from spoofspan.mass.score_runs import mirrored
from spoofspan.measures.crossing import mean_rate, rate_between
from spoofspan.measures.eer import equal_error_rate
from spoofspan.measures.eer_rules import NEIGHBOUR_RULES, check_eer_rule
from spoofspan.measures.operating_point import OperatingPoint, Threshold, called_spoof, check_threshold

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True, eq=False)
class UtteranceErrors(Tabular):
    """For each utterance: bona fide and spoofed time, and how much of it is called wrong.

    Parameters
    ----------
    utterances
        The ids.
    bona_fide, spoof
        Time of each class, in ns, as in all the following.
    false_positive, false_negative
        Bona fide time that is called spoof, and spoofed time that is called bona fide.
    unanswered_bona_fide, unanswered_spoof
        Time under no score that is neither right nor wrong (the rule ``uncovered="unanswered"``); none unless given.
    eers
        The EER of each utterance, if asked for.

    Notes
    -----
    Rates are arrays with NaN where an utterance has none, never 0 or 1; ``reasons`` says why for each utterance:

    - ``false_positive_rate``: no bona fide time;
    - ``false_negative_rate``, ``recall``, ``f1``, ``iou``: no spoofed time;
    - ``precision``: nothing is called spoof;
    - ``eers``: one class only, or no time under a score.

    Examples
    --------
    >>> second = 1_000_000_000
    >>> amounts = np.array([[2, 1], [2, 0], [1, 0], [1, 0]]) * second
    >>> errors = UtteranceErrors(("u1", "u2"), *amounts)
    >>> errors.recall.tolist(), errors.false_positive_rate.tolist()
    ([0.5, nan], [0.5, 0.0])

    """

    utterances: tuple[str, ...]
    bona_fide: Int64
    spoof: Int64
    false_positive: Int64
    false_negative: Int64
    unanswered_bona_fide: Int64 = field(default_factory=no_rows)
    unanswered_spoof: Int64 = field(default_factory=no_rows)
    eers: OwnEers | None = None

    def __post_init__(self) -> None:
        for name in ("unanswered_bona_fide", "unanswered_spoof"):
            if not getattr(self, name).size:
                object.__setattr__(self, name, np.zeros(len(self.utterances), np.int64))

    @property
    def true_positive(self) -> Int64:
        """Spoof called spoof."""
        return self.spoof - self.false_negative - self.unanswered_spoof

    @property
    def true_negative(self) -> Int64:
        """Bona fide called bona fide."""
        return self.bona_fide - self.false_positive - self.unanswered_bona_fide

    @property
    def false_positive_rate(self) -> Float64:
        """FP / all bona fide time."""
        return self.values_of("fpr")

    @property
    def false_negative_rate(self) -> Float64:
        """FN / all spoofed time."""
        return self.values_of("fnr")

    @property
    def precision(self) -> Float64:
        """TP / (TP + FP)."""
        return self.values_of("precision")

    @property
    def recall(self) -> Float64:
        """TP / all spoofed time."""
        return self.values_of("recall")

    @property
    def f1(self) -> Float64:
        """The harmonic mean of precision and recall."""
        return self.values_of("f1")

    @property
    def iou(self) -> Float64:
        """What is spoof and called so, of what is either."""
        return self.values_of("iou")

    def values_of(self, name: str) -> Float64:
        """Any measure at a threshold (:mod:`spoofspan.measures.catalogue`), correctly rounded."""
        from spoofspan.measures.confusion import values_by_utterance

        return values_by_utterance(self, name)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why some rates of an utterance have no value; empty where all have one."""
        nothing_called = self.true_positive + self.false_positive == 0
        flags = {
            "no bona fide time": self.bona_fide == 0,
            "no spoofed time": self.spoof == 0,
            "nothing is called spoof": nothing_called,
        }
        if self.eers is not None:
            both = (self.bona_fide > 0) & (self.spoof > 0)
            flags["FPR and FNR do not cross"] = both & np.isnan(self.eers.values)
        columns = [np.where(flag, text, "").tolist() for text, flag in flags.items()]
        return tuple("; ".join(filter(None, row)) for row in zip(*columns, strict=True))

    def columns(self) -> dict[str, Any]:
        """All of it by name, in seconds: ``pandas.DataFrame(errors.columns())``."""
        seconds = ("bona_fide", "spoof", "false_positive", "false_negative", "true_positive", "true_negative")
        rates = ("false_positive_rate", "false_negative_rate", "precision", "recall", "f1", "iou")
        found: dict[str, Any] = {"utterance": list(self.utterances)}
        found |= {f"{name}_seconds": getattr(self, name) / 1e9 for name in seconds}
        found["unanswered_seconds"] = (self.unanswered_bona_fide + self.unanswered_spoof) / 1e9
        found |= {name: getattr(self, name) for name in rates}
        if self.eers is not None:
            found |= {"eer": self.eers.values, "eer_threshold": self.eers.thresholds}
        return found | {"undefined": list(self.reasons)}

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each utterance, in seconds; None where a rate has no value."""
        columns = {name: np.asarray(values).tolist() for name, values in self.columns().items()}
        rows = zip(*columns.values(), strict=True)
        return [{name: None if one != one else one for name, one in zip(columns, row, strict=True)} for row in rows]

    def __repr__(self) -> str:
        return f"UtteranceErrors({len(self.utterances):,} utterances)"

    def sorted(self) -> UtteranceErrors:
        """The same in the order of the ids."""
        order = order_by_id(self.utterances)
        columns = {name: getattr(self, name)[order] for name in _AMOUNTS}
        eers = None if self.eers is None else self.eers.take(order)
        return UtteranceErrors(chosen_ids(self.utterances, order), **columns, eers=eers)

    @classmethod
    def joined(cls, pieces: Sequence[UtteranceErrors]) -> UtteranceErrors:
        """The errors of several corpora, one after the other."""
        columns = {name: np.concatenate([getattr(one, name) for one in pieces]) for name in _AMOUNTS}
        eers = [one.eers for one in pieces if one.eers is not None]
        utterances = tuple(utt for one in pieces for utt in one.utterances)
        return cls(utterances, **columns, eers=OwnEers.joined(eers) if eers else None)


_AMOUNTS = tuple(one.name for one in fields(UtteranceErrors) if one.name not in ("utterances", "eers"))


def errors_by_utterance(
    references: References,
    scores: Scores,
    threshold: Threshold | None = None,
    *,
    everything: bool = False,
    own_eer: bool = False,
    convention: str = "default",
    eer_rule: str | None = None,
    **rules: Unpack[RuleArguments],
) -> UtteranceErrors:
    """Measure the errors of each utterance at one threshold.

    Parameters
    ----------
    references, scores
        The corpus, and what a system said of it.
    threshold
        On the scale of the scores, or a measurement: its threshold. Without one, that of the range EER of the corpus.
    everything
        Call all of it spoof, whatever the threshold.
    own_eer
        Also find each utterance's own range EER, to the same bits as :func:`spoofspan.range_eer` of it alone.
    convention, eer_rule, **rules
        As in :func:`spoofspan.range_eer`.

    Returns
    -------
    UtteranceErrors
        Time and rates of each utterance; its method ``sorted`` orders them by id.

    Examples
    --------
    >>> references = References.from_ranges(
    ...     {"u1": [(0.0, 0.02, "bonafide"), (0.02, 0.06, "spoof")], "u2": [(0.0, 0.04, "bonafide")]}
    ... )
    >>> scores = Scores.from_frames({"u1": [0.9, 0.4, -0.2], "u2": [0.7, 0.8]}, hop=0.02, higher="bonafide")
    >>> errors = errors_by_utterance(references, scores, 0.3, own_eer=True)
    >>> errors.recall.tolist(), errors.eers.values.tolist()
    ([0.5, nan], [0.0, nan])
    >>> errors.reasons
    ('', 'no spoofed time; nothing is called spoof')

    """
    check_sides(references, scores)
    chosen, convention_rule = rules_for("range", convention, rules)
    rule = eer_rule or convention_rule
    own_rule = None
    if own_eer:
        scores.refuse_decisions("an EER")
        own_rule = check_own_rule(rule)
    overlay = Overlay.of(references, scores, chosen)
    if threshold is None and scores.decisions:
        threshold = DECISION_THRESHOLD
    elif threshold is None and not everything:
        point = equal_error_rate(overlay.mass()[0], rule).point
        threshold, everything = point.threshold, point.everything
    return errors_of_overlay(overlay, 0.0 if threshold is None else check_threshold(threshold), everything, own_rule)


def errors_with(
    references: References, scores: Scores, point: OperatingPoint, rules: Rules, own_rule: str | None = None
) -> UtteranceErrors:
    """The errors of each utterance at an operating point, under given rules; ``own_rule`` asks for own EERs."""
    return errors_of_overlay(Overlay.of(references, scores, rules), point.threshold, point.everything, own_rule)


def errors_of_overlay(
    overlay: Overlay, threshold: float, everything: bool = False, own_rule: str | None = None
) -> UtteranceErrors:
    """The errors of each utterance at a threshold, given its labels and scores laid over each other."""
    if not everything:
        threshold = check_threshold(threshold)
    labelling, runs, chosen = overlay.labelling, overlay.runs, overlay.rules
    undecided, _ = overlay.undecided()
    all_time = [labelling.time_of(label) for label in (BONA_FIDE, SPOOF)]
    scored = [whole - without for whole, without in zip(all_time, undecided, strict=True)]
    totals = scored if chosen.uncovered == "ignore" else all_time
    nothing = np.zeros(len(labelling.utterances), np.int64)
    # undecided time is called the same at every threshold
    always = Amounts(
        totals[0],
        totals[1],
        undecided[0] if chosen.uncovered == "spoof" else nothing,
        undecided[1] if chosen.uncovered == "bonafide" else nothing,
    )
    called = np.zeros((2, nothing.size), np.int64)
    eers = []
    for first, last in blocks(np.diff(runs.offsets), labelling.extents, ROWS_PER_BLOCK, NS_PER_BLOCK):
        block = runs.block(first, last)
        laid = overlay_block(labelling.block(first, last), block)
        flags = np.ones(block.values.size, bool) if everything else called_spoof(block.values, threshold, runs.higher)
        called[0, first:last] = _sums(laid, laid.is_bona_fide & flags, laid.more_bona_fide * flags[laid.rows], block)
        called[1, first:last] = _sums(laid, laid.is_spoof & flags, laid.more_spoof * flags[laid.rows], block)
        if own_rule is not None:
            here = always.here(first, last)
            eers.append(own_eers(block.values, laid.bona_fide, laid.spoof, block.offsets, here, runs.higher, own_rule))
    unanswered = undecided if chosen.uncovered == "unanswered" else np.zeros_like(undecided)
    return UtteranceErrors(
        labelling.utterances,
        always.bona_fide,
        always.spoof,
        called[0] + always.false_positive,
        scored[1] - called[1] + always.false_negative,
        unanswered[0],
        unanswered[1],
        OwnEers.joined(eers) if own_rule is not None else None,
    )


def _sums(laid: MassBlock, flags: Flags, more: Int64, block: Any) -> Int64:
    """The amounts of the flagged scores of each utterance, and what the exceptions add to them."""
    if isinstance(laid.amounts, int):
        sums = laid.amounts * count_by_utterance(flags, block.offsets)
    else:
        sums = sum_by_utterance(laid.amounts * flags, block.offsets)
    utterance = np.searchsorted(block.offsets, laid.rows, side="right") - 1
    np.add.at(sums, utterance, more)
    return sums


# ---------------------------------------------------------------- own EERs

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
        """The amounts of utterances first to last - 1."""
        return Amounts(*(column[first:last] for column in vars(self).values()))


def check_own_rule(eer_rule: str) -> str:
    """Refuse EER rules under which utterances have no EER of their own here."""
    rule = check_eer_rule(eer_rule)
    if rule not in NEIGHBOUR_RULES:
        raise UsageError(
            f"each utterance's own EER is taken by the rule {' or '.join(NEIGHBOUR_RULES)}, not {rule}; "
            "state one with eer_rule="
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
    thresholds[some] = np.where(np.isnan(found), np.nan, mirrored(tau, higher)) + 0.0
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
        order = sort_order(scores)
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

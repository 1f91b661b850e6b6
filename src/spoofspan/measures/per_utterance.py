"""Errors of each utterance at a threshold, and each utterance's own range-based EER.

The own EER of an utterance is that of :func:`spoofspan.range_eer` on the utterance alone, to the bit: its scores are
sorted, and the crossing is found among them as in :mod:`spoofspan.measures.eer`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.base.columns import chosen_ids, no_rows, order_by_id
from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.base.tabular import Tabular
from spoofspan.base.times import Float64, Int64
from spoofspan.data.distinct_values import DECISION_THRESHOLD
from spoofspan.data.front_door import RulesAndInputs, check_sides, opens_inputs
from spoofspan.data.references import References
from spoofspan.data.rules import rules_for
from spoofspan.data.scores import Higher, Scores
from spoofspan.mass.ranges import Overlay
from spoofspan.mass.score_mass import UtteranceBlock
from spoofspan.measures.eer import crossing_at, eer_of, equal_error_rate, step_among
from spoofspan.measures.measure import NEIGHBOUR_RULES, check_eer_rule
from spoofspan.measures.operating_point import Threshold, Totals, called_spoof, check_threshold

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
        """Time that is spoof and called so, over time that is either."""
        return self.values_of("iou")

    def values_of(self, name: str) -> Float64:
        """Any measure at a threshold (:mod:`spoofspan.measures.catalogue`), correctly rounded."""
        from spoofspan.measures.confusion import values_by_utterance

        return values_by_utterance(self, name)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reason why some rates of an utterance have no value; empty where all have one."""
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
        """All columns by name, in seconds: ``pandas.DataFrame(errors.columns())``."""
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


@opens_inputs
def errors_by_utterance(
    references: References,
    scores: Scores,
    threshold: Threshold | None = None,
    *,
    everything: bool = False,
    own_eer: bool = False,
    convention: str = "default",
    eer_rule: str | None = None,
    **rules: Unpack[RulesAndInputs],
) -> UtteranceErrors:
    """Measure the errors of each utterance at one threshold.

    Parameters
    ----------
    references, scores
        Reference labels and system scores.
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
        scores.distinct.refuse("an EER")
        own_rule = check_own_rule(rule)
    overlay = Overlay.of(references, scores, chosen)
    if threshold is None and scores.decisions:
        threshold = DECISION_THRESHOLD
    elif threshold is None and not everything:
        scores.distinct.refuse("the threshold of the EER")
        point = equal_error_rate(overlay.mass()[0], rule).point
        threshold, everything = point.threshold, point.everything
    return errors_of_overlay(overlay, 0.0 if threshold is None else check_threshold(threshold), everything, own_rule)


def errors_of_overlay(
    overlay: Overlay, threshold: float, everything: bool = False, own_rule: str | None = None
) -> UtteranceErrors:
    """The errors of each utterance at a threshold, given its labels and scores laid over each other."""
    if not everything:
        threshold = check_threshold(threshold)
    part, _ = overlay.part()
    higher, uncovered = overlay.runs.higher, overlay.rules.uncovered
    sums, eers = [], []
    for block in part.utterance_blocks():
        scores = block.mass.scores
        called = np.ones(scores.size, bool) if everything else called_spoof(scores, threshold, higher)
        sums.append(block.confusions(called))
        if own_rule is not None:
            eers += _own_eers(block, (higher, "ns", uncovered), own_rule)
    columns = np.concatenate(sums).T
    whole = Totals(higher, "ns", uncovered, *columns[:4])
    unanswered = columns[2:4] if uncovered == "unanswered" else np.zeros_like(columns[2:4])
    return UtteranceErrors(
        part.utterances,
        whole.all_bona_fide,  # type: ignore[arg-type]
        whole.all_spoof,  # type: ignore[arg-type]
        *whole.errors(columns[4], columns[5]),  # type: ignore[arg-type]
        unanswered[0],
        unanswered[1],
        None if own_rule is None else OwnEers(*np.array(eers, np.float64).reshape(-1, 2).T),
    )


# ---------------------------------------------------------------- own EERs


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


def check_own_rule(eer_rule: str) -> str:
    """Refuse EER rules under which utterances have no EER of their own here."""
    rule = check_eer_rule(eer_rule)
    if rule not in NEIGHBOUR_RULES:
        raise UsageError(
            f"each utterance's own EER is taken by the rule {' or '.join(NEIGHBOUR_RULES)}, not {rule}; "
            "state one with eer_rule="
        )
    return rule


def _own_eers(block: UtteranceBlock, facts: tuple[Higher, str, str], eer_rule: str) -> list[tuple[float, float]]:
    """The EER of each utterance of a block and its threshold; NaN where it has none."""
    scores, bona_fide, spoof = block.mass.scores, block.mass.bona_fide, block.mass.spoof
    undecided = block.undecided_bona_fide.tolist(), block.undecided_spoof.tolist()
    found = []
    for first, last, *without in zip(block.offsets[:-1].tolist(), block.offsets[1:].tolist(), *undecided, strict=True):
        rows = scores[first:last], bona_fide[first:last], spoof[first:last]
        whole = Totals(*facts, int(rows[1].sum()), int(rows[2].sum()), *without)
        try:
            whole.check()
            eer = eer_of(crossing_at(whole, step_among(whole, (0, 0), rows)), eer_rule)
            found.append((float(eer.value), eer.point.threshold))
        except UndefinedMeasureError:
            found.append((math.nan, math.nan))
    return found

"""Errors by utterance at a threshold: where a system errs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spoofspan.columns import blocks, sum_by_utterance
from spoofspan.mass import NS_PER_BLOCK, ROWS_PER_BLOCK
from spoofspan.nanoseconds import Int64
from spoofspan.operating_point import OperatingPoint
from spoofspan.overlaying import lay_over, overlay_part, undecided_time
from spoofspan.references import References
from spoofspan.rules import Rules, rules_for
from spoofspan.scores import Scores

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.rules import RuleArguments


ERROR_COLUMNS = ("bona_fide", "spoof", "false_positive", "false_negative")


@dataclass(frozen=True, eq=False)
class UtteranceErrors:
    """For each utterance: bona fide and spoofed time, and how much of it is called wrong (all in ns)."""

    utterances: tuple[str, ...]
    bona_fide: Int64
    spoof: Int64
    false_positive: Int64
    false_negative: Int64

    def sorted(self) -> UtteranceErrors:
        """The same in the order of the ids."""
        order = sorted(range(len(self.utterances)), key=self.utterances.__getitem__)
        columns = (getattr(self, name)[order] for name in ERROR_COLUMNS)
        return UtteranceErrors(tuple(self.utterances[i] for i in order), *columns)


def errors_by_utterance(
    references: References,
    scores: Scores,
    threshold: float,
    *,
    everything: bool = False,
    convention: str = "default",
    **rules: Unpack[RuleArguments],
) -> UtteranceErrors:
    """Measure each utterance at a threshold on the scale of the scores (``everything`` calls all of it spoof)."""
    chosen, _ = rules_for("range", convention, rules)
    return errors_at_threshold(references, scores, threshold, everything, chosen)


def errors_with(references: References, scores: Scores, point: OperatingPoint, rules: Rules) -> UtteranceErrors:
    """As :func:`errors_by_utterance`, at an operating point and under rules that are settled."""
    return errors_at_threshold(references, scores, point.threshold, point.everything, rules)


def errors_at_threshold(
    references: References, scores: Scores, threshold: float, everything: bool, chosen: Rules
) -> UtteranceErrors:
    """As :func:`errors_by_utterance`, under rules that are settled."""
    labelling, runs, touched = overlay_part(references, scores, chosen)
    undecided_bona_fide, undecided_spoof = undecided_time(labelling, runs, chosen, touched)
    tau = threshold if scores.higher == "bonafide" else -threshold
    count = len(labelling.utterances)
    bona_fide, spoof, false_positive, false_negative = np.zeros((4, count), np.int64)
    for first, last in blocks(np.diff(runs.offsets), labelling.extents, ROWS_PER_BLOCK, NS_PER_BLOCK):
        here = slice(first, last)
        block, laid = lay_over(labelling, runs, first, last)
        # in doubles, so that a float32 score and a threshold from text compare as they are
        called = np.full(block.values.size, True) if everything else block.values.astype(np.float64) < tau
        bona_fide[here] = sum_by_utterance(laid.bona_fide, block.offsets)
        spoof[here] = sum_by_utterance(laid.spoof, block.offsets)
        false_positive[here] = sum_by_utterance(laid.bona_fide * called, block.offsets)
        false_negative[here] = sum_by_utterance(laid.spoof * ~called, block.offsets)
    if chosen.uncovered != "ignore":
        bona_fide, spoof = bona_fide + undecided_bona_fide, spoof + undecided_spoof
    if chosen.uncovered == "spoof":
        false_positive = false_positive + undecided_bona_fide
    if chosen.uncovered == "bonafide":
        false_negative = false_negative + undecided_spoof
    return UtteranceErrors(labelling.utterances, bona_fide, spoof, false_positive, false_negative)

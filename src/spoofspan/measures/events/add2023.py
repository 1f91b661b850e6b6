"""The score of the ADD 2023 challenge, track 2 (manipulation region location), as it is reported.

::

    score = 0.3 * sentence accuracy + 0.7 * segment F1

Sentence accuracy: utterances called what they are / utterances; an utterance is (called) spoof if any of it is.
Segment F1: of spoofed time, with spoof as positive, pooled over the corpus or as the mean over utterances. The
challenge's own script was not at hand, so a published number may differ in what this does not say.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from spoofspan.base.columns import positions, sum_by_utterance, utterance_of_rows
from spoofspan.base.errors import Problems
from spoofspan.base.times import Int64, exact_sum
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.measures.events.contest import refuse_nothing, sum_of_quotients
from spoofspan.measures.events.matching import overlapping_pairs
from spoofspan.measures.events.scores import as_proposals
from spoofspan.measures.events.spoof_ranges import Ranges, ordered, spoof_ranges, united

SENTENCE, SEGMENT = Fraction(3, 10), Fraction(7, 10)


@dataclass(frozen=True)
class Add2023Score:
    """The score of ADD 2023, and what it is made of."""

    value: float
    sentence_accuracy: float
    segment_f1: float
    utterances: int
    left_out: int  # utterances without an F1, in the mean over utterances


def add2023_score(references: References, predicted: Proposals | Scores, *, macro: bool = False) -> Add2023Score:
    """Return 0.3 * sentence accuracy + 0.7 * segment F1, which is pooled, or with ``macro`` a mean over utterances.

    Utterances without spoofed time have no F1 and are left out of that mean, as in ``range-f1-macro``: otherwise such
    an utterance would count as 0 with the least error, and be left out without any.

    >>> references = References.from_ranges({"a": [(0.0, 1.0, "spoof")], "b": [(0.0, 1.0, "bonafide")]})
    >>> score = add2023_score(references, Proposals.from_ranges({"a": [(0.5, 1.0, 0.9)]}))
    >>> score.sentence_accuracy, round(score.segment_f1, 3), round(score.value, 3)
    (1.0, 0.667, 0.767)
    """
    proposals = as_proposals(predicted)
    events = spoof_ranges(references, unite=True)
    ranges, _ = united(ordered(proposals.offsets, proposals.starts, proposals.ends))
    refuse_nothing(events.starts.size, ranges.starts.size, "the ADD 2023 score")
    _refuse_unknown(references, proposals, ranges)
    where = positions(references.utterances, proposals.utterances)
    pairs = overlapping_pairs(events, ranges.offsets, ranges.starts, ranges.ends, where)
    both = np.zeros(len(references), np.int64)
    np.add.at(both, utterance_of_rows(events.offsets)[pairs.events], pairs.intersections)
    spoofed, called = _lasting(events), np.where(where >= 0, _lasting(ranges)[where], 0)
    accuracy = Fraction(int(np.count_nonzero((spoofed > 0) == (called > 0))), len(references))
    left_out = 0
    if macro:
        some = np.flatnonzero(spoofed)
        left_out = len(references) - some.size
        f1 = sum_of_quotients(2 * both[some], (spoofed + called)[some]) / some.size
    else:
        f1 = Fraction(2 * exact_sum(both), exact_sum(spoofed) + exact_sum(called))
    value = SENTENCE * accuracy + SEGMENT * f1
    return Add2023Score(float(value), float(accuracy), float(f1), len(references), left_out)


def _lasting(ranges: Ranges) -> Int64:
    return sum_by_utterance(ranges.ends - ranges.starts, ranges.offsets)


def _refuse_unknown(references: References, proposals: Proposals, ranges: Ranges) -> None:
    """A file whose label nobody knows is neither called right nor wrong."""
    unknown = (positions(proposals.utterances, references.utterances) < 0) & (np.diff(ranges.offsets) > 0)
    problems = Problems()
    names = (f"utterance {proposals.utterances[i]!r} has proposals but no references" for i in np.flatnonzero(unknown))
    problems.extend(names, int(np.count_nonzero(unknown)))
    problems.raise_if_any("the ADD 2023 score judges whole utterances; complete the references, or drop the proposals")

"""Whether two systems err on the same utterances: McNemar's test, and the correlation of their errors.

Each system calls each utterance spoof or bona fide, at a threshold of its own. Of the utterances that one system calls
right and the other wrong, half should fall to each if both were equally good: **McNemar's test** is the two-sided
binomial test of that, exactly. The **correlation** (phi) is that of the two columns "wrong" and "right": near 1 the
systems fail together, and fusing them gains little; near 0 they fail apart.

Utterances are counted, because they are independent draws, which instants of one recording are not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from spoofspan.base.columns import positions
from spoofspan.base.errors import UsageError
from spoofspan.base.tabular import Tabular
from spoofspan.data.references import BONA_FIDE, SPOOF
from spoofspan.data.rules import RuleArguments
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.evaluation.utterances import Truth, mass_of_either
from spoofspan.mass.ranges import TimedPart
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.eer import equal_error_rate
from spoofspan.measures.measure import Measure
from spoofspan.measures.operating_point import Threshold, called_spoof, check_threshold

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class Agreement(Tabular):
    """How often two systems are right and wrong together.

    Parameters
    ----------
    both_right, only_first_wrong, only_second_wrong, both_wrong
        Numbers of utterances.

    Examples
    --------
    >>> agreement = Agreement(both_right=80, only_first_wrong=9, only_second_wrong=1, both_wrong=10)
    >>> round(agreement.p_value, 6), round(agreement.correlation, 3)
    (0.021484, 0.644)

    """

    both_right: int
    only_first_wrong: int
    only_second_wrong: int
    both_wrong: int

    @property
    def utterances(self) -> int:
        """How many utterances both systems decided."""
        return self.both_right + self.only_first_wrong + self.only_second_wrong + self.both_wrong

    @property
    def p_value(self) -> float:
        """McNemar's exact two-sided p-value."""
        one, other = self.only_first_wrong, self.only_second_wrong
        count = one + other
        log_terms = (
            math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) - count * math.log(2)
            for k in range(min(one, other) + 1)
        )
        return min(1.0, 2 * math.fsum(map(math.exp, log_terms)))

    @property
    def correlation(self) -> float:
        """The correlation (phi) of their errors; NaN where a system is always right, or always wrong."""
        first = self.only_first_wrong + self.both_wrong
        second = self.only_second_wrong + self.both_wrong
        spread = first * (self.utterances - first) * second * (self.utterances - second)
        if not spread:
            return float("nan")
        return (self.both_wrong * self.both_right - self.only_first_wrong * self.only_second_wrong) / math.sqrt(spread)

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    def to_rows(self) -> list[dict[str, Any]]:
        """One row, with everything."""
        return [self.to_dict()]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {**vars(self), "p_value": self.p_value, "correlation": self.correlation}


def error_agreement(
    references: Truth,
    first: Scores | UtteranceScores,
    second: Scores | UtteranceScores,
    *,
    thresholds: Sequence[Threshold] | None = None,
    convention: str = "default",
    eer_rule: str | None = None,
    **rules: Unpack[RuleArguments],
) -> Agreement:
    """Count on which utterances two systems err together, and apart.

    Parameters
    ----------
    references
        Who is spoofed when; an utterance is spoof if any of it is. Of scores of whole utterances, their labels do.
    first, second
        What both systems said; the score of an utterance is its lowest, in bona fide polarity.
    thresholds
        Where each system decides; without it, where its utterance EER is.
    convention, eer_rule, **rules
        As in :func:`spoofspan.range_eer`.

    Returns
    -------
    Agreement
        With McNemar's p-value and the correlation of the errors.

    Examples
    --------
    >>> import spoofspan as ss
    >>> labels = {"u1": "bonafide", "u2": "bonafide", "u3": "spoof", "u4": "spoof"}
    >>> references = ss.References.from_ranges({utt: [(0.0, 0.02, label)] for utt, label in labels.items()})
    >>> systems = [
    ...     ss.Scores.from_frames({utt: [score] for utt, score in zip(labels, row)}, hop=0.02, higher="bonafide")
    ...     for row in ([0.9, 0.2, 0.1, 0.1], [0.9, 0.8, 0.6, 0.1])
    ... ]
    >>> error_agreement(references, *systems, thresholds=(0.5, 0.5))
    Agreement(both_right=2, only_first_wrong=1, only_second_wrong=1, both_wrong=0)

    """
    if thresholds is not None and (not isinstance(thresholds, Sequence | np.ndarray) or len(thresholds) != 2):
        raise UsageError(f"thresholds={thresholds!r}: give two, that of the first system and that of the second")
    options = EvaluationOptions(convention, eer_rule, rules=rules)
    columns = []
    for number, scores in enumerate((first, second)):
        mass, rule = mass_of_either(references, scores, Measure("utterance-eer"), options)
        at = equal_error_rate(mass, rule).point.threshold if thresholds is None else check_threshold(thresholds[number])
        columns.append((mass.utterances, _wrong(mass, at)))
    (names, wrong), (others, also) = columns
    where = positions(names, others)
    if len(names) != len(others) or (where < 0).any():
        raise UsageError("the systems decided different utterances; give scores of the same ones")
    table = np.bincount(2 * wrong.astype(np.int64) + also[where], minlength=4).tolist()
    return Agreement(table[0], table[2], table[1], table[3])


def _wrong(mass: ScoreMass, threshold: float) -> Any:
    """Whether each utterance is called what it is not."""
    found = []
    for part in cast("tuple[TimedPart, ...]", mass.parts):
        for block in part.utterance_blocks():
            if (np.diff(block.offsets) != 1).any() or block.undecided_bona_fide.any() or block.undecided_spoof.any():
                raise UsageError("some utterance has no score; use uncovered='hold' or 'ignore'")
            called = called_spoof(block.mass.scores, threshold, mass.higher)
            found.append(np.where(called, block.mass.classes == BONA_FIDE, block.mass.classes == SPOOF))
    return np.concatenate(found)

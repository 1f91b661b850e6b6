"""Comparison of two references of one corpus: agreement, time shift, and the effect on an EER.

Labels are compared as written: bona fide, spoof, non-speech, and no label at all (gaps, and time after one of the two
ends). No rule is applied to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from spoofspan.base.columns import Flags, positions, sum_by_utterance, utterance_of_rows, within_utterances
from spoofspan.base.errors import UndefinedMeasureError
from spoofspan.base.other_ids import id_remedy
from spoofspan.base.times import Int64, exact_sum
from spoofspan.data.references import BONA_FIDE, SPOOF, References
from spoofspan.mass.labelling import IGNORED, Labelling, cut_at_both, fill_as_written

NAMES = ("bona fide", "spoof", "non-speech", "no label")
# Shifts are searched up to half a second, in steps of a millisecond.
LONGEST_SHIFT, SHIFT_STEP = 500_000_000, 1_000_000


@dataclass(frozen=True, eq=False)
class ReferenceDifference:
    """Differences between two references.

    ``time[i][j]`` is the time (ns) that A labels ``NAMES[i]`` and B labels ``NAMES[j]``. ``shift`` is the most frequent
    delay (ns) of the boundaries of B; ``shift_support`` is the share of boundaries of A with a boundary of B there.
    """

    utterances: tuple[str, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    time: tuple[tuple[int, ...], ...]
    disagreement: Int64  # per utterance, ns
    shift: int
    shift_support: float

    def share(self, a: int, b: int) -> float:
        """The share of the time with one label in A that has another label in B."""
        whole = sum(self.time[a])
        return self.time[a][b] / whole if whole else float("nan")

    @property
    def eer_interval(self) -> tuple[float, float]:
        """Bounds of the range EER against B of scores that separate A perfectly (time without a label in B ignored).

        The spoofs of A, as decisions, have an FPR and an FNR against B. The EER of any such scores lies between the
        smaller and the larger of the two; time without a label in A can have any scores, which widens the bounds.
        """
        wrong_bona_fide, wrong_spoof = self.time[SPOOF][BONA_FIDE], self.time[BONA_FIDE][SPOOF]
        free_bona_fide, free_spoof = (sum(self.time[a][b] for a in (2, 3)) for b in (BONA_FIDE, SPOOF))
        bona_fide, spoof = (sum(row[b] for row in self.time) for b in (BONA_FIDE, SPOOF))
        if not bona_fide or not spoof:
            raise UndefinedMeasureError("B has only one class on the common utterances, so no EER against it exists")
        best = Fraction(wrong_bona_fide, bona_fide), Fraction(wrong_spoof, spoof)
        worst = Fraction(wrong_bona_fide + free_bona_fide, bona_fide), Fraction(wrong_spoof + free_spoof, spoof)
        return float(min(best)), float(max(worst))


def diff_references(a: References, b: References) -> ReferenceDifference:
    """Compare two references on their common utterances."""
    where = positions(a.utterances, b.utterances)
    both = np.flatnonzero(where >= 0)
    if not both.size:
        why = id_remedy(a.utterances, b.utterances, "references A", "references B") or "check the ids"
        raise UndefinedMeasureError(f"the two references have no utterance in common; {why}")
    common = {a.utterances[i] for i in both.tolist()}
    first, second = a.take(both), b.take(where[both])
    extents = np.maximum(_ends(first), _ends(second))
    labelling_a, labelling_b = fill_as_written(first, extents), fill_as_written(second, extents)
    cells, label_b = cut_at_both(labelling_a, labelling_b)
    lengths = cells.ends - cells.starts
    time = tuple(tuple(exact_sum(lengths[(cells.labels == i) & (label_b == j)]) for j in _CODES) for i in _CODES)
    shift, support = _shift(labelling_a, labelling_b)
    return ReferenceDifference(
        first.utterances,
        tuple(utt for utt in a.utterances if utt not in common),
        tuple(utt for utt in b.utterances if utt not in common),
        time,
        sum_by_utterance(lengths * (cells.labels != label_b), cells.offsets),
        shift,
        support,
    )


_CODES = (BONA_FIDE, SPOOF, 2, IGNORED)


def _ends(references: References) -> Int64:
    ends = np.zeros(len(references), np.int64)
    np.maximum.at(ends, utterance_of_rows(references.offsets), references.ends)
    return ends if references.durations is None else np.maximum(ends, references.durations)


def _boundaries(labelling: Labelling) -> tuple[Int64, Int64, Flags]:
    """Utterance, time and direction of every change between bona fide and spoof."""
    labels = labelling.labels
    change = within_utterances(
        labelling.offsets,
        (labels[1:] != labels[:-1]) & ((labels[1:] == SPOOF) | (labels[:-1] == SPOOF)),
    )
    rows = np.flatnonzero(change)
    return utterance_of_rows(labelling.offsets)[rows], labelling.ends[rows], labels[rows + 1] == SPOOF


def _shift(a: Labelling, b: Labelling) -> tuple[int, float]:
    """The most frequent distance from a boundary of A to one of B in the same utterance and direction."""
    utterance_a, time_a, into_a = _boundaries(a)
    utterance_b, time_b, into_b = _boundaries(b)
    distances: list[Int64] = []
    for direction in (False, True):
        chosen_a, chosen_b = into_a == direction, into_b == direction
        # one axis with room between utterances, in doubles: a ms step is far above their precision
        room = float(max(a.extents.max(initial=0), b.extents.max(initial=0))) + 4.0 * LONGEST_SHIFT
        axis_a = utterance_a[chosen_a] * room + time_a[chosen_a]
        axis_b = np.sort(utterance_b[chosen_b] * room + time_b[chosen_b])
        low = np.searchsorted(axis_b, axis_a - LONGEST_SHIFT)
        high = np.searchsorted(axis_b, axis_a + LONGEST_SHIFT, side="right")
        for step in range(int((high - low).max(initial=0))):
            some = low + step < high
            distances.append(np.rint(axis_b[low[some] + step] - axis_a[some]).astype(np.int64))
    found = np.concatenate(distances) if distances else np.zeros(0, np.int64)
    if not found.size:
        return 0, 0.0
    steps, counts = np.unique(np.rint(found / SHIFT_STEP).astype(np.int64), return_counts=True)
    # on a tie the smallest shift
    order = np.lexsort((np.abs(steps), -counts))
    return int(steps[order[0]]) * SHIFT_STEP, float(counts[order[0]] / time_a.size)

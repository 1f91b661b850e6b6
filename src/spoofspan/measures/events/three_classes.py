"""Three classes of utterances: bona fide, partially spoofed and fully spoofed, as labelled and as proposed.

An utterance is bona fide if none of it is spoofed, fully spoofed if at least the share ``full`` of its duration is, and
partially spoofed otherwise; it is called so by the time that proposals cover. With the confusion matrix of the three::

    accuracy = utterances called what they are / utterances
    f1       = mean over the classes that exist of 2 TP / (2 TP + FP + FN)
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.base.times import Int64
from spoofspan.measures.events.event_scores import EventCorpus, SpoofedTime, extents_of, refuse_unknown
from spoofspan.measures.events.tallies import EventValue, Sums, Tally
from spoofspan.measures.measure import Measure

CLASSES = ("bona fide", "partial", "full")


def three_classes(measure: Measure, corpus: EventCorpus, full: float) -> Tally:
    """``three-class-accuracy`` and ``three-class-f1``."""
    references = corpus.references
    extents = extents_of(references)
    if extents is None:
        raise UsageError(f"{measure} needs to know how long every recording is; give durations (--durations)")
    time = SpoofedTime.of(references, corpus.proposals)
    refuse_unknown(references, corpus.proposals, time.ranges)
    share = Fraction(str(full))
    true, said = (_classes(amount, extents, share, references.snap) for amount in (time.spoofed, time.called))
    return Sums(tuple(np.bincount(3 * true + said, minlength=9).tolist()), _value)


def _classes(spoofed: Int64, extents: Int64, full: Fraction, snap: int) -> Int64:
    """0, 1 or 2 for each utterance; both ends of its spoofed time may be rounded."""
    whole = full.denominator * np.minimum(spoofed + 2 * snap, extents).astype(object) >= full.numerator * extents
    classes: Int64 = np.where(spoofed == 0, 0, 1 + whole.astype(np.int64))
    return classes


def _value(measure: Measure, *cells: int) -> EventValue:
    matrix = np.array(cells, np.int64).reshape(3, 3)
    true, called = matrix.sum(axis=1).tolist(), matrix.sum(axis=0).tolist()
    there = [number for number in range(3) if true[number]]
    if len(there) < 2:
        raise UndefinedMeasureError(f"{measure} needs utterances of two classes at least; these are all of one")
    parts = {
        f"{CLASSES[i]} called {CLASSES[j]}".replace(" ", "_"): int(matrix[i, j]) for i in range(3) for j in range(3)
    }
    missing = [name for name, count in zip(CLASSES, true, strict=True) if not count]
    notes = ["; ".join(f"{count:,} {name}" for name, count in zip(CLASSES, true, strict=True) if count)]
    if measure.kind.name.endswith("accuracy"):
        return EventValue(float(Fraction(int(np.trace(matrix)), sum(true))), parts, tuple(notes))
    if missing:
        notes.append(f"the mean of the F1 of {len(there)} classes: no utterance is {' or '.join(missing)}")
    scores = [Fraction(2 * int(matrix[i, i]), true[i] + called[i]) for i in there]
    return EventValue(float(sum(scores, Fraction(0)) / len(scores)), parts, tuple(notes))

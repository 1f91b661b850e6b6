"""Which utterances are measured (rules 14 and 15 of ``docs/rules.md``)."""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np

from spoofspan.base.columns import positions
from spoofspan.base.errors import NothingToMeasureError, Problems
from spoofspan.base.times import Int64
from spoofspan.data.references import SPOOF, References
from spoofspan.data.rules import Rules, Touched, note_touched
from spoofspan.mass.labelling import Labelling


class OfUtterances(Protocol):
    """What belongs to utterances: scores in time, or of whole utterances."""

    @property
    def utterances(self) -> tuple[str, ...]:
        """Its utterances."""
        ...

    def __len__(self) -> int: ...

    def take(self: Side, chosen: Int64) -> Side:
        """Keep chosen utterances, in that order."""
        ...


Side = TypeVar("Side", bound=OfUtterances)


def pair(references: References, scores: Side, rules: Rules, touched: list[Touched]) -> tuple[References, Side]:
    """Rule 14: bring both sides to the order of the scores, with the utterances that both have."""
    where = positions(scores.utterances, references.utterances)
    both = np.flatnonzero(where >= 0)
    if both.size == len(scores) == len(references):
        order = where if (where != np.arange(where.size)).any() else None
        return references if order is None else references.take(order), scores
    known = {references.utterances[i] for i in where[both]}
    no_scores = [utt for utt in references.utterances if utt not in known]
    no_reference = [scores.utterances[i] for i in np.flatnonzero(where < 0)]
    if not rules.partial:
        problems = Problems()
        problems.extend((f"utterance {utt!r} has references but no scores" for utt in no_scores), len(no_scores))
        problems.extend((f"utterance {utt!r} has scores but no references" for utt in no_reference), len(no_reference))
        problems.raise_if_any("complete the files, or measure the common utterances with partial=True")
    touched.append(Touched("partial", "True", 0, len(no_scores) + len(no_reference)))
    if not both.size:
        raise NothingToMeasureError("references and scores have no utterance in common; check the ids", touched)
    return references.take(where[both]), scores.take(both)


def drop_bona_fide_con(labelling: Labelling, rules: Rules, touched: list[Touched]) -> Int64 | None:
    """Rule 15: the utterances that count; None if all do."""
    if rules.utterances == "all":
        return None
    named = np.fromiter((utt.startswith("CON") for utt in labelling.utterances), bool, len(labelling.utterances))
    dropped = named & (labelling.time_of(SPOOF) == 0)
    note_touched(touched, "utterances", rules.utterances, np.where(dropped, labelling.extents, 0))
    if dropped.all():
        raise NothingToMeasureError("utterances='drop-bonafide-CON' leaves no utterance to measure", touched)
    return np.flatnonzero(~dropped)

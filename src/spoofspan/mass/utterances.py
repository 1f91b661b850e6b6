"""The ScoreMass of utterance scores: one score per utterance, counted in utterances.

With it, everything that is a function of a mass or of its curve (EER, AUC, F1, costs) is there for utterances too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spoofspan.base.columns import chosen_ids
from spoofspan.base.errors import Problems, UndefinedMeasureError, refuse
from spoofspan.base.other_ids import id_remedy
from spoofspan.base.times import Int64
from spoofspan.data.protocol import Protocol
from spoofspan.data.references import BONA_FIDE, SPOOF, Labels
from spoofspan.data.scores import Values
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.mass.diagnosis import pairing_remedy
from spoofspan.mass.score_mass import Columns, MassBlock, ScoreMass, UtteranceBlock, combine_weights
from spoofspan.mass.score_runs import mirrored

CLASSES = {"bonafide": BONA_FIDE, "spoof": SPOOF}


@dataclass(frozen=True, eq=False)
class UtterancePart:
    """One score (in bona fide polarity) and one label per utterance, as part of a mass."""

    utterances: tuple[str, ...]
    scores: Values
    classes: Labels
    weights: Int64

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its scores."""
        return self.scores.dtype

    def blocks(self) -> Iterator[MassBlock]:
        """All of it at once."""
        yield MassBlock(self.scores, self.classes, self.weights)

    def utterance_blocks(self) -> Iterator[UtteranceBlock]:
        """All of it at once: one row for each utterance, none undecided."""
        count = len(self.utterances)
        none = np.zeros(count, np.int64)
        yield UtteranceBlock(0, count, np.arange(count + 1), next(self.blocks()), none, none)

    def sample(self, size: int) -> Columns:
        """All of it: there are never too many utterances."""
        block = next(self.blocks())
        return block.scores, block.bona_fide, block.spoof

    def take(self, chosen: Int64) -> UtterancePart:
        """Keep chosen utterances."""
        names = chosen_ids(self.utterances, chosen)
        return UtterancePart(names, self.scores[chosen], self.classes[chosen], self.weights[chosen])

    def weigh(self, weights: Int64) -> UtterancePart:
        """Count each utterance ``weights`` times."""
        return replace(self, weights=combine_weights(self.weights, weights, len(self.utterances)))


def utterance_mass(
    scores: UtteranceScores, labels: Mapping[str, str] | Protocol, *, partial: bool = False
) -> ScoreMass:
    """Count utterances under each score; ``labels`` are ``"bonafide"`` or ``"spoof"`` by utterance, or a protocol.

    Utterances that only one side has are an error, or with ``partial`` left out.

    >>> scores = UtteranceScores(("u1", "u2"), np.array([0.9, -0.4]), higher="bonafide")
    >>> mass = utterance_mass(scores, {"u1": "bonafide", "u2": "spoof"})
    >>> mass.bona_fide.tolist(), mass.spoof.tolist(), mass.unit
    ([1, 0], [0, 1], 'utterances')
    """
    if isinstance(labels, Protocol):
        labels = dict(zip(labels.utterance, labels.label, strict=True))
    scored = set(scores.utterances)
    no_score = [utt for utt in labels if utt not in scored]
    no_label = [utt for utt in scores.utterances if utt not in labels]
    refuse(
        [utt for utt in scores.utterances if utt in labels and labels[utt] not in CLASSES],
        lambda utt: f"utterance {utt!r}: the label must be bonafide or spoof, not {labels[utt]!r}",
        "correct the labels",
    )
    if not partial:
        problems = Problems()
        problems.extend((f"utterance {utt!r} has a label but no score" for utt in no_score), len(no_score))
        problems.extend((f"utterance {utt!r} has a score but no label" for utt in no_label), len(no_label))
        problems.raise_if_any(pairing_remedy(no_score, no_label, len(labels) - len(no_score)))
    chosen = np.array([i for i, utt in enumerate(scores.utterances) if utt in labels], np.int64)
    if not chosen.size:
        why = id_remedy(no_score, no_label) or "check the ids"
        raise UndefinedMeasureError(f"labels and scores have no utterance in common; {why}")
    scores = scores.take(chosen)
    classes = np.array([CLASSES[labels[utt]] for utt in scores.utterances], np.int8)
    return mass_of_classes(scores, classes, "utterance scores")


def trial_mass(
    scores: UtteranceScores, kinds: Mapping[str, str], against: tuple[str, ...], *, partial: bool = False
) -> ScoreMass:
    """Count trials under each score: targets as bona fide, the kinds they stand ``against`` as spoof, no others.

    >>> scores = UtteranceScores(("t1", "t2", "t3"), np.array([0.9, -0.4, 0.2]), higher="bonafide")
    >>> kinds = {"t1": "target", "t2": "nontarget", "t3": "spoof"}
    >>> trial_mass(scores, kinds, ("spoof",)).utterances
    ('t1', 't3')
    """
    classes = {trial: "bonafide" if kind == "target" else "spoof" for trial, kind in kinds.items()}
    everything = utterance_mass(scores, classes, partial=partial)
    wanted = [trial for trial in everything.utterances if kinds[trial] in ("target", *against)]
    if not wanted:
        raise UndefinedMeasureError(f"there is no target and no {' or '.join(against)} trial; check the key")
    return everything if len(wanted) == len(everything.utterances) else everything.select(wanted)


def mass_of_classes(scores: UtteranceScores, classes: Labels, basis: str) -> ScoreMass:
    """Count utterances under each score, given the class of each."""
    values, once = mirrored(scores.values, scores.higher), np.ones(len(scores), np.int64)
    part = UtterancePart(scores.utterances, values, classes, once)
    return ScoreMass((part,), scores.higher, "utterances", "error", basis)

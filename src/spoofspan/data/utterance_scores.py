"""Scores without time: what a system said of each utterance as a whole, and a speaker verification system of trials."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spoofspan.base.by_utterance import ByUtterance
from spoofspan.base.columns import utterance_ids, utterance_indices
from spoofspan.base.errors import DataError, UndefinedMeasureError, UsageError, refuse
from spoofspan.base.times import Float64, Int64
from spoofspan.data.scores import Higher

TRIALS = ("target", "nontarget", "spoof")


@dataclass(frozen=True, eq=False)
class UtteranceScores(ByUtterance):
    """One score per utterance.

    Parameters
    ----------
    utterances
        The ids, unique.
    values
        One score for each.
    higher
        What high scores mean, ``"bonafide"`` or ``"spoof"``.

    Examples
    --------
    >>> UtteranceScores(("u1", "u2"), np.array([0.9, -0.4]), higher="bonafide")
    UtteranceScores(2 utterances, higher = bonafide)

    """

    utterances: tuple[str, ...]
    values: Float64
    higher: Higher

    def __post_init__(self) -> None:
        if self.higher not in ("bonafide", "spoof"):
            raise UsageError(f"higher must be 'bonafide' or 'spoof' (what high scores mean), not {self.higher!r}")
        object.__setattr__(self, "utterances", utterance_ids(self.utterances))
        object.__setattr__(self, "values", np.array(self.values, np.float64))  # a copy: what is given may change later
        if self.values.shape != (len(self.utterances),):
            raise UsageError(f"{len(self.utterances)} utterances need as many scores, not {self.values.shape}")
        refuse(
            np.flatnonzero(np.isnan(self.values)),
            lambda i: f"the score of utterance {self.utterances[i]!r} is NaN",
            "find out why the system gave no number there",
        )

    def _said_of(self, i: int) -> float:
        return float(self.values[i])

    def take(self, chosen: Int64) -> UtteranceScores:
        """Keep chosen utterances, in that order."""
        chosen = utterance_indices(chosen, len(self))
        return UtteranceScores(tuple(self.utterances[i] for i in chosen), self.values[chosen], self.higher)

    def __repr__(self) -> str:
        return f"UtteranceScores({len(self):,} utterance{'s' * (len(self) != 1)}, higher = {self.higher})"


@dataclass(frozen=True, eq=False)
class VerificationScores:
    """Scores of a speaker verification system (ASV), higher for targets, by kind of trial."""

    target: Float64
    nontarget: Float64
    spoof: Float64

    def __post_init__(self) -> None:
        for name in TRIALS:
            values = np.asarray(getattr(self, name), np.float64)
            object.__setattr__(self, name, values)
            if not values.size:
                raise UndefinedMeasureError(f"there is no {name} trial, so the verification system has no error rates")
            if np.isnan(values).any():
                raise DataError(f"a score of a {name} trial is NaN; find out why the system gave no number there")

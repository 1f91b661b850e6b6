"""Scores without time: one per utterance, and those of a speaker verification system by kind of trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from spoofspan.base.columns import ByUtterance, Flags, utterance_ids
from spoofspan.base.errors import DataError, UndefinedMeasureError, UsageError, refuse
from spoofspan.base.hashing import ContentHash
from spoofspan.base.times import Float64
from spoofspan.data.distinct_values import DistinctValues
from spoofspan.data.scores import Higher, check_higher

TRIALS = ("target", "nontarget", "spoof")
DUMMY = "dummy"  # the label of a trial that a key lists and that does not count
COUNTERMEASURE, COMMON = "cm-score", "sasv-score"  # the scores of ASVspoof 5 that measures are taken of


class TrialKey(dict[str, str]):
    """Label of each trial: ``target``, ``nontarget``, ``spoof`` or ``dummy``; and the label of each recording.

    A recording may be in several trials, or in a dummy trial only, which counts for recordings but not for trials.
    """

    def __init__(self, kinds: Mapping[str, str], recordings: Mapping[str, str]) -> None:
        super().__init__(kinds)
        self.recordings = dict(recordings)


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
        Meaning of high scores, ``"bonafide"`` or ``"spoof"``.
    columns
        The scores of a table with several, by name: ``cm-score`` and ``sasv-score``. Measures of trials take
        ``sasv-score``, others ``cm-score``. Empty if there are only ``values``.
    of_trials
        True if each score is of a trial, that is of a recording and a speaker.

    Examples
    --------
    >>> UtteranceScores(("u1", "u2"), np.array([0.9, -0.4]), higher="bonafide")
    UtteranceScores(2 utterances, higher = bonafide)

    """

    utterances: tuple[str, ...]
    values: Float64
    higher: Higher
    columns: Mapping[str, Float64] = field(default_factory=dict)
    of_trials: bool = False

    def __post_init__(self) -> None:
        check_higher(self.higher)
        object.__setattr__(self, "utterances", utterance_ids(self.utterances))
        object.__setattr__(self, "values", self._checked(self.values))
        object.__setattr__(self, "columns", {name: self._checked(values) for name, values in self.columns.items()})

    def _checked(self, given: Float64) -> Float64:
        values = np.array(given, np.float64)  # a copy: what is given may change later
        if values.shape != (len(self.utterances),):
            raise UsageError(f"{len(self.utterances)} utterances need as many scores, not {values.shape}")
        refuse(
            np.flatnonzero(np.isnan(values)),
            lambda i: f"the score of utterance {self.utterances[i]!r} is NaN",
            "find out why the system gave no number there",
        )
        return values

    @cached_property
    def distinct(self) -> DistinctValues:
        """The distinct values, which tell scores from hard decisions."""
        return DistinctValues.of(self.values)

    def _said_of(self, i: int) -> float:
        return float(self.values[i])

    def take(self, chosen: Any) -> UtteranceScores:
        """Keep chosen utterances, in that order: ids, indices, one flag for each utterance, or a slice."""
        chosen = self._indices(chosen)
        columns = {name: values[chosen] for name, values in self.columns.items()}
        ids = tuple(self.utterances[i] for i in chosen)
        return UtteranceScores(ids, self.values[chosen], self.higher, columns, self.of_trials)

    def of_column(self, *, trials: bool) -> UtteranceScores:
        """Choose the scores for measures of trials, or for those of a countermeasure, where a table has both."""
        if not self.columns:
            return self
        wanted = COMMON if trials else COUNTERMEASURE
        if wanted not in self.columns:
            what = "measures of trials" if trials else "measures of a countermeasure"
            raise UsageError(
                f"{what} take the column {wanted}, which the table of scores lacks; name the column to measure "
                "(column=, --column)"
            )
        return UtteranceScores(self.utterances, self.columns[wanted], self.higher, of_trials=self.of_trials)

    def __repr__(self) -> str:
        return f"UtteranceScores({len(self):,} utterance{'s' * (len(self) != 1)}, higher = {self.higher})"


@dataclass(frozen=True, eq=False)
class VerificationScores:
    """Scores of a speaker verification system (ASV), higher for targets, by kind of trial.

    Breakdowns need to know which trials belong to a group: by the ids of all trials, or for attacks by the attack of
    each spoof.
    """

    target: Float64
    nontarget: Float64
    spoof: Float64
    attacks: tuple[str, ...] = ()  # of each spoof; empty: not known
    trials: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # the ids of each kind; empty: not known

    def __post_init__(self) -> None:
        if self.attacks and len(self.attacks) != np.size(self.spoof):
            raise UsageError(f"{np.size(self.spoof)} spoof trials need as many attacks, not {len(self.attacks)}")
        for name, ids in self.trials.items():
            if len(ids) != np.size(getattr(self, name)):
                raise UsageError(f"{np.size(getattr(self, name))} {name} trials need as many ids, not {len(ids)}")
        for name in TRIALS:
            values = np.asarray(getattr(self, name), np.float64)
            object.__setattr__(self, name, values)
            if not values.size:
                raise UndefinedMeasureError(f"there is no {name} trial, so the verification system has no error rates")
            if np.isnan(values).any():
                raise DataError(f"a score of a {name} trial is NaN; find out why the system gave no number there")

    @cached_property
    def signed(self) -> str:
        """Hash of the scores by kind of trial and in any order, as it stands in a signature."""
        hashed = ContentHash("verification scores 1")
        for kind in TRIALS:
            hashed.add(kind, (np.sort(getattr(self, kind)) + 0.0).astype("<f8"))
        return f"asv-scores:{hashed.digest()}"

    def take(self, chosen: Mapping[str, Flags]) -> VerificationScores:
        """Keep the flagged trials of the given kinds, and all trials of the others."""
        kept = {name: np.flatnonzero(chosen[name]) for name in chosen}
        scores = {name: getattr(self, name)[kept[name]] if name in kept else getattr(self, name) for name in TRIALS}
        attacks = tuple(self.attacks[i] for i in kept["spoof"]) if self.attacks and "spoof" in kept else self.attacks
        trials = {name: tuple(ids[i] for i in kept[name]) if name in kept else ids for name, ids in self.trials.items()}
        return VerificationScores(**scores, attacks=attacks, trials=trials)

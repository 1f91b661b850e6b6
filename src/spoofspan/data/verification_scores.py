"""Verification scores: what a speaker verification system (ASV) said, for measures of it and a countermeasure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spoofspan.base.errors import DataError, UndefinedMeasureError
from spoofspan.base.times import Float64

TRIALS = ("target", "nontarget", "spoof")


@dataclass(frozen=True, eq=False)
class VerificationScores:
    """Scores of a verification system, higher for targets, by kind of trial."""

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

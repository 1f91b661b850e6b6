"""A logistic regression with a ridge, fitted by Newton's steps; and scores of rows by models that did not see them.

Rows are weighted so that both classes weigh the same: a threshold at 0 then means an even guess, and models of
different folds can be read on one scale. Rows are dealt to folds by group (speaker), so that what a model learned of a
speaker is never tested on that speaker.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spoofspan.base.times import Float64, Int64

RIDGE = 1e-3  # of the mean log loss, for features of variance 1
STEPS = 12
CLOSE = 1e-6
FARTHEST = 5.0  # standard deviations: what lies farther counts as this far
MOST_ROWS = 20_000  # that a model is fitted on

Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Logistic:
    """Weights of standardised features; a positive score means spoof."""

    centre: Float64
    scale: Float64
    weights: Float64
    bias: float

    @classmethod
    def fit(cls, features: Float64, is_spoof: Bool, weight: Float64) -> Logistic:
        """Fit; both classes must be there. Features that are missing (NaN) count as the mean."""
        balanced = weight * np.where(is_spoof, 0.5 / weight[is_spoof].sum(), 0.5 / weight[~is_spoof].sum())
        known = ~np.isnan(features)
        filled = np.where(known, features, 0.0)
        total = np.maximum((balanced[:, None] * known).sum(axis=0), 1e-12)
        centre = (balanced[:, None] * filled).sum(axis=0) / total
        spread = np.sqrt((balanced[:, None] * known * (filled - centre) ** 2).sum(axis=0) / total)
        scale = np.where(spread > 0, spread, 1.0)
        model = cls(centre, scale, np.zeros(features.shape[1]), 0.0)
        rows = np.column_stack((model._standardised(features), np.ones(len(features))))
        ridge = RIDGE * np.diag(np.append(np.ones(features.shape[1]), 0.0))
        found = np.zeros(features.shape[1] + 1)
        for _ in range(STEPS):
            chance = 1 / (1 + np.exp(-np.clip(rows @ found, -30, 30)))
            slope = rows.T @ (balanced * (chance - is_spoof)) + ridge @ found
            curvature = (rows * (balanced * chance * (1 - chance))[:, None]).T @ rows + ridge
            step = np.linalg.solve(curvature + 1e-9 * np.eye(len(found)), slope)
            found = found - np.clip(step, -4, 4)
            if np.abs(step).max() < CLOSE:
                break
        return cls(centre, scale, found[:-1], float(found[-1]))

    def scores(self, features: Float64) -> Float64:
        """The logarithm of the odds that a row is spoof."""
        return self._standardised(features) @ self.weights + self.bias

    def _standardised(self, features: Float64) -> Float64:
        standard = np.clip((features - self.centre) / self.scale, -FARTHEST, FARTHEST)
        return np.where(np.isnan(standard), 0.0, standard)


def deal_folds(groups: Int64, folds: int, seed: int = 0) -> Int64:
    """The fold of each row: groups are dealt at random, none is in two folds."""
    names, place = np.unique(groups, return_inverse=True)
    dealt: Int64 = np.random.default_rng(seed).permutation(len(names))[place] % folds
    return dealt


def unseen_scores(features: Float64, is_spoof: Bool, weight: Float64, folds: Int64) -> Float64:
    """The score of each row by a model that was fitted on the other folds; 0 where these have one class only."""
    scores = np.zeros(len(features))
    for fold in np.unique(folds):
        rest = np.flatnonzero((folds != fold) & (weight > 0))
        if rest.size > MOST_ROWS:
            rest = np.random.default_rng(int(fold)).permutation(rest)[:MOST_ROWS]
        if is_spoof[rest].any() and not is_spoof[rest].all():
            own = folds == fold
            scores[own] = Logistic.fit(features[rest], is_spoof[rest], weight[rest]).scores(features[own])
    return scores

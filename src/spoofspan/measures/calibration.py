"""Learning to turn scores into log-likelihood ratios: by logistic regression, or by a PAV map.

The maps, and how they are applied, are in :mod:`spoofspan.data.calibration`.

**Prior-weighted logistic regression**: the affine map, or the fusion, of least cost. With scores ``x_i`` (one of each
system, in bona fide polarity), the amount of bona fide ``b_i`` and of spoof ``s_i`` under them (durations, or counts of
utterances), and the prior share of spoof p, learn weights w and an offset c::

    L_i = c + w . x_i                                          the log-likelihood ratio of bona fide to spoof
    cost = (1 - p) * sum b_i ln(1 + exp(-L_i - t)) / sum b     t = ln((1 - p) / p)
         +      p  * sum s_i ln(1 + exp( L_i + t)) / sum s
         + ridge / 2 * sum (w_k * sd_k)**2

of which the first two terms are Cllr * ln 2 at p = 1/2 (Brümmer et al.: Fusion of Heterogeneous Speaker Recognition
Systems, IEEE TASLP 15(7), 2007). The classes weigh as the prior says, whatever their amounts. ``sd_k`` is the standard
deviation of a system's scores under these weights, so that the ridge does not depend on their scale; it is 0 unless
asked for.

The cost is convex; Newton's method with halved steps finds its minimum to the precision of doubles. Where the scores
separate the classes, larger weights are always better and there is no minimum: that is an error, unless there is a
ridge.

**The PAV map**: the increasing map of least Cllr, kept away from certainty. Pooling adjacent violators gives groups of
neighbouring scores, each with one log-likelihood ratio. The lowest group of a good system holds no bona fide and the
highest no spoof, so their ratios would be infinite, and one such score that is wrong on other data would cost
infinitely much. As in Laplace's rule of succession, the mean amount of each class in an utterance is therefore added
below the lowest and above the highest score: a set of U utterances never states more than about ln(U). Between two
groups the map is the line from the highest score of one to the lowest of the next.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from spoofspan.base.errors import DataError, UndefinedMeasureError, UsageError
from spoofspan.base.times import Float64
from spoofspan.data.calibration import AffineMap, PavMap
from spoofspan.measures.costs import ScoredAmounts, log_ratios_of, pool_adjacent_violators

MOST_STEPS = 100
# Newton's decrement: twice what a further step could gain, in nats
PRECISION = 1e-20
ROWS = 1 << 18
COLLINEAR = 1e-10  # the smallest eigenvalue of the correlation matrix that still tells systems apart


def least_cost_map(
    columns: Sequence[Float64], bona_fide: Float64, spoof: Float64, names: Sequence[str], prior: float, ridge: float
) -> AffineMap:
    """Learn the weights and the offset.

    Parameters
    ----------
    columns
        The scores of each system in bona fide polarity, one for each row.
    bona_fide, spoof
        The amount of each class under each row.
    names
        Of the systems, for messages.
    prior
        The share of spoof to which the classes are weighed, between 0 and 1.
    ridge
        The penalty of large weights; 0 for none.

    Examples
    --------
    >>> scores = np.array([-1.0, 0.0, 1.0, 2.0])
    >>> found = least_cost_map([scores], np.array([0.0, 1, 1, 2]), np.array([2.0, 1, 1, 0]), ["a"], 0.5, 0.0)
    >>> [round(weight, 6) for weight in found.weights], round(found.offset, 6)
    ([1.741912], -0.870956)

    """
    if not 0 < prior < 1:
        raise UsageError(f"prior={prior!r}: must lie between 0 and 1, as 0.1")
    if not 0 <= ridge < math.inf:
        raise UsageError(f"ridge={ridge!r}: must be 0 or a positive number")
    for name, column in zip(names, columns, strict=True):
        if not np.isfinite(column).all():
            raise DataError(f"{name}: infinite scores cannot be weighed; replace them by the largest finite ones")
    problem = _Problem(columns, (1 - prior) * bona_fide / bona_fide.sum(), prior * spoof / spoof.sum(), prior, ridge)
    problem.refuse_useless(names)
    found = problem.minimum()
    if found is None or (not ridge and problem.separates(found)):
        raise UndefinedMeasureError(
            "the scores separate bona fide from spoof without an error, so no finite map is best: every steeper one is "
            "better; learn on more data, or limit the weights with ridge= (--ridge), such as 0.001"
        )
    weights = found[:-1] / problem.deviations
    offset = float(found[-1] - weights @ problem.means)
    if len(columns) == 1 and weights[0] <= 0:
        raise DataError(
            f"{names[0]}: the scores are worse than chance, so an increasing map does not help; check what high scores "
            "mean (higher=)"
        )
    return AffineMap(tuple(weights.tolist()), offset)


class _Problem:
    """The cost as a function of weights of standardised scores, and of the offset, which comes last."""

    def __init__(
        self, columns: Sequence[Float64], bona_fide: Float64, spoof: Float64, prior: float, ridge: float
    ) -> None:
        self.columns, self.bona_fide, self.spoof = columns, bona_fide, spoof
        self.shift = math.log((1 - prior) / prior)
        both = bona_fide + spoof  # adds up to 1
        self.means = np.array([both @ column for column in columns])
        spread = [both @ (column - mean) ** 2 for column, mean in zip(columns, self.means, strict=True)]
        self.deviations = np.sqrt(spread)
        self.penalty = np.append(np.full(len(columns), ridge), 0.0)

    def rows(self, block: slice) -> Float64:
        """Standardised scores, and a 1 for the offset."""
        parts = [
            (column[block] - mean) / deviation
            for column, mean, deviation in zip(self.columns, self.means, self.deviations, strict=True)
        ]
        return np.stack([*parts, np.ones_like(parts[0])], axis=1)

    def blocks(self) -> list[slice]:
        """Cut the rows so that no block takes much memory."""
        return [slice(start, start + ROWS) for start in range(0, self.bona_fide.size, ROWS)]

    def refuse_useless(self, names: Sequence[str]) -> None:
        """Refuse systems that say the same everywhere, or that follow from the others."""
        flat = [name for name, deviation in zip(names, self.deviations, strict=True) if not deviation > 0]
        if flat:
            raise UndefinedMeasureError(f"{flat[0]}: all scores are equal, so there is nothing to learn; leave it out")
        if len(names) == 1 or self.penalty.any():
            return
        correlation = np.zeros((len(names), len(names)))
        for block in self.blocks():
            rows = self.rows(block)[:, :-1]
            correlation += rows.T @ (rows * (self.bona_fide[block] + self.spoof[block])[:, None])
        if np.linalg.eigvalsh(correlation)[0] < COLLINEAR:
            raise UndefinedMeasureError(
                f"the scores of one of {', '.join(names)} follow from those of the others, so their weights are not "
                "determined; leave one out, or give a ridge= (--ridge), such as 0.001"
            )

    def cost(self, at: Float64) -> float:
        """The cost in nats."""
        total = float(self.penalty @ at**2) / 2
        for block in self.blocks():
            ratios = self.rows(block) @ at + self.shift
            total += float(self.bona_fide[block] @ np.logaddexp(0.0, -ratios))
            total += float(self.spoof[block] @ np.logaddexp(0.0, ratios))
        return total

    def slope(self, at: Float64) -> tuple[Float64, Float64]:
        """The gradient and the Hessian."""
        gradient, hessian = self.penalty * at, np.diag(self.penalty)
        for block in self.blocks():
            rows = self.rows(block)
            ratios = rows @ at + self.shift
            # 1 / (1 + exp(x)) without overflow
            spoofed, real = np.exp(-np.logaddexp(0.0, ratios)), np.exp(-np.logaddexp(0.0, -ratios))
            gradient = gradient + rows.T @ (self.spoof[block] * real - self.bona_fide[block] * spoofed)
            curvature = (self.bona_fide[block] + self.spoof[block]) * spoofed * real
            hessian = hessian + rows.T @ (rows * curvature[:, None])
        return gradient, hessian

    def minimum(self) -> Float64 | None:
        """Newton's method; None if it does not arrive."""
        at = np.zeros(len(self.columns) + 1)
        cost = self.cost(at)
        for _ in range(MOST_STEPS):
            gradient, hessian = self.slope(at)
            try:
                step = np.linalg.solve(hessian, gradient)
            except np.linalg.LinAlgError:
                return None
            if float(gradient @ step) < PRECISION:
                return at
            size = 1.0
            while (after := self.cost(at - size * step)) > cost and size > 1e-10:
                size /= 2
            if after >= cost:  # doubles tell no difference any more
                return at
            at, cost = at - size * step, after
        return None

    def separates(self, at: Float64) -> bool:
        """True if no bona fide lies below any spoof on the scale that was found."""
        lowest, highest = math.inf, -math.inf
        for block in self.blocks():
            ratios = self.rows(block) @ at
            lowest = min(lowest, float(ratios[self.bona_fide[block] > 0].min(initial=math.inf)))
            highest = max(highest, float(ratios[self.spoof[block] > 0].max(initial=-math.inf)))
        return lowest >= highest


def pav_map(amounts: ScoredAmounts, utterances: int, name: str = "scores") -> PavMap:
    """Learn the map of distinct scores and the amounts under them.

    >>> amounts = ScoredAmounts(np.array([-1.0, 0.0, 1.0]), np.array([0.0, 1, 3]), np.array([3.0, 1, 0]))
    >>> found = pav_map(amounts, utterances=4)
    >>> found.scores, [round(ratio, 3) for ratio in found.knots]
    ((-1.0, -1.0, 0.0, 0.0, 1.0, 1.0), [-1.386, -1.386, 0.0, 0.0, 1.386, 1.386])
    """
    if not np.isfinite(amounts.scores).all():
        raise DataError(f"{name}: infinite scores cannot be calibrated; replace them by the largest finite ones")

    def padded(column: Float64) -> Float64:
        one = math.fsum(column) / utterances
        return np.concatenate(([one], column, [one]))

    bona_fide, spoof = padded(amounts.bona_fide), padded(amounts.spoof)
    each = bona_fide + spoof
    bona_fide, spoof = pool_adjacent_violators(bona_fide, spoof)
    knots = log_ratios_of(bona_fide, spoof)
    # a score belongs to the group that the middle of its amount falls into
    group = np.searchsorted(np.cumsum(bona_fide + spoof), np.cumsum(each) - each / 2)[1:-1]
    first = np.searchsorted(group, np.unique(group))
    if first.size == 1:
        raise DataError(
            f"{name}: high scores do not lie over bona fide more than over spoof, so an increasing map does not help; "
            "check what high scores mean (higher=)"
        )
    last = np.append(first[1:], group.size) - 1
    scores = np.stack((amounts.scores[first], amounts.scores[last]), axis=1).ravel()
    return PavMap(tuple(scores.tolist()), tuple(np.repeat(knots[group[first]], 2).tolist()))

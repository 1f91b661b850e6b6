"""Whether a recording is of the kind that a model was trained on.

A model says something of every sound, and is confidently wrong of sound that it has never heard. So the training also
notes what its recordings sound like. Of each recording::

    levels    the 10th, 50th and 90th percentile over its frames, in 17 bands, less its loudness: 51 numbers
    scores    the 10th, 50th and 90th percentile of the finest branch's scores: 3 numbers

The *distance* of a recording is that of Mahalanobis to the mean of the training recordings, divided by the number of
numbers; their covariance is shrunk towards its diagonal. Recordings of the development set, which is held out, say what
distance is usual: at most one in twenty of them lies beyond the *limit* (the quantile of conformal prediction, which
counts the recording in question as one of them), and where speakers are known, at most one in twenty of any speaker:
the next speaker may be as unlike the training's as the most unlike of these. Beyond it, a recording is out of domain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.errors import DataError
from spoofspan.base.times import Float64, Int64
from spoofspan.cm.listening import BANDS, band_percentiles
from spoofspan.cm.scorers import Float32
from spoofspan.formats.sound import RATE

SHARES = (0.1, 0.5, 0.9)
WIDE_BANDS = 17
EDGES = np.linspace(0, BANDS, WIDE_BANDS, endpoint=False).astype(int)
FALSE_ALARMS = 0.05
FEWEST = 5  # recordings of a speaker that count
SHRINKAGE = 0.3  # measured: 0.1 to 0.6 find the same recordings
LEAST_SPREAD = 1e-3  # of the mean variance, so that a number which never changed does not decide alone


@dataclass(frozen=True)
class DomainVerdict:
    """How far a recording is from the training's, and whether that is too far.

    Parameters
    ----------
    distance : float
        From the mean of the training recordings.
    limit : float
        What at most one in twenty recordings of the training's domain exceed; infinite if the development set was too
        small to say.
    reason : str
        What differs most.

    """

    distance: float
    limit: float
    reason: str

    @property
    def known(self) -> bool:
        """Whether the recording is of the training's domain, as far as can be told."""
        return self.distance <= self.limit

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        limit = self.limit if math.isfinite(self.limit) else None
        return {"known": self.known, "distance": self.distance, "limit": limit, "reason": self.reason}


@dataclass(frozen=True, eq=False)
class TrainingDomain:
    """What the recordings of a training sound like, and what its model says of them."""

    mean: Float64
    precision: Float64  # the inverse of the covariance
    spread: Float64  # standard deviation of each number
    limit: float
    recordings: int
    held_out: int

    @classmethod
    def learn(cls, training: Float64, held_out: Float64, speakers: Sequence[str] = ()) -> TrainingDomain:
        """Learn from the numbers (:func:`recording_numbers`) of training and held-out recordings, a row each.

        ``speakers`` are those of the held-out recordings, if they are known.
        """
        mean: Float64 = training.mean(0)
        off: Float64 = training - mean
        covariance = (off.T @ off / max(len(training) - 1, 1)).astype(np.float64)
        variances = np.diag(covariance)
        least = max(LEAST_SPREAD * float(variances.mean()), 1e-9)
        shrunk = (1 - SHRINKAGE) * covariance + np.diag(SHRINKAGE * variances + least)
        precision: Float64 = np.linalg.inv(shrunk)
        found = cls(mean, precision, np.sqrt(variances + least), math.inf, len(training), len(held_out))
        limit = _limit(np.array([found.distance(one) for one in held_out]), np.array(speakers))
        return replace(found, limit=limit)

    def distance(self, numbers: Float64) -> float:
        """How far a recording is from the mean."""
        off = numbers - self.mean
        return float(off @ self.precision @ off / off.size)

    def judge(self, numbers: Float64) -> DomainVerdict:
        """Say whether a recording is of this domain."""
        return DomainVerdict(self.distance(numbers), self.limit, self._most_different(numbers))

    def _most_different(self, numbers: Float64) -> str:
        off = (numbers - self.mean) / self.spread
        worst = int(np.abs(off).argmax())
        by = float(numbers[worst] - self.mean[worst])
        if worst >= WIDE_BANDS * len(SHARES):
            side = "higher" if by > 0 else "lower"
            return f"its scores are {side} than those of the training's recordings"
        band, share = divmod(worst, len(SHARES))
        low, high = (RATE / 2 * edge / BANDS / 1000 for edge in (EDGES[band], [*EDGES, BANDS][band + 1]))
        when = ("quietest", "middle", "loudest")[share]
        side = "louder" if by > 0 else "quieter"
        return f"{low:.1f} to {high:.1f} kHz is {abs(by):.0f} dB {side} than in the training, in its {when} moments"

    def to_dict(self) -> dict[str, Any]:
        """As plain data; :meth:`from_dict` reads it."""
        return {
            "mean": self.mean.tolist(),
            "precision": self.precision.tolist(),
            "spread": self.spread.tolist(),
            "limit": self.limit if math.isfinite(self.limit) else None,
            "recordings": self.recordings,
            "held_out": self.held_out,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], source: str) -> TrainingDomain:
        """Read what :meth:`to_dict` wrote."""
        size = WIDE_BANDS * len(SHARES) + len(SHARES)
        try:
            mean, precision, spread = (np.array(plain[name], np.float64) for name in ("mean", "precision", "spread"))
            limit = math.inf if plain["limit"] is None else float(plain["limit"])
            found = cls(mean, precision, spread, limit, int(plain["recordings"]), int(plain["held_out"]))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{source}: the statistics of the training's sound cannot be read ({error})") from None
        if mean.shape != (size,) or spread.shape != (size,) or precision.shape != (size, size):
            raise DataError(f"{source}: the statistics of the training's sound are of another version; train again")
        if not all(np.isfinite(one).all() for one in (mean, precision, spread)):
            raise DataError(f"{source}: the statistics of the training's sound are no finite numbers; train again")
        return found


def _limit(distances: Float64, speakers: npt.NDArray[np.str_]) -> float:
    """What at most one in twenty exceed: of all, and of each speaker."""
    rank = math.ceil((distances.size + 1) * (1 - FALSE_ALARMS))
    if rank > distances.size:
        return math.inf
    own = [distances[speakers == one] for one in np.unique(speakers)]
    quantiles = [np.quantile(some, 1 - FALSE_ALARMS, method="higher") for some in own if some.size >= FEWEST]
    return float(max([np.sort(distances)[rank - 1], *quantiles]))


def recording_numbers(counts: Int64, scores: Float32) -> Float64:
    """What is compared of a recording: levels of its bands by how often they were heard, and its scores."""
    levels = band_percentiles(counts, SHARES)
    wide = np.add.reduceat(levels, EDGES, axis=0) / np.diff(np.append(EDGES, BANDS))[:, None]
    wide -= wide[:, -1].mean()  # its loudness does not matter: the network does not see it either
    return np.concatenate((wide.ravel(), np.percentile(scores.astype(np.float64), [100 * share for share in SHARES])))

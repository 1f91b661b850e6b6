"""Detection of recordings unlike the training data of a model.

A model scores any sound, and is confidently wrong on sound of another kind. So the training also describes its
recordings. For each one::

    levels       the 10th, 50th and 90th percentile over its frames, in 17 bands, less its loudness: 51 numbers
    modulations  how fast levels change (:mod:`spoofspan.cm.listening`): 5 rates in 6 bands, 30 numbers
    scores       the 10th, 50th and 90th percentile of the finest branch's scores: 3 numbers

The *distance* of a recording is that of Mahalanobis to the mean of the training recordings, divided by the number of
numbers; their covariance is shrunk towards its diagonal. Recordings of speakers whom the mean does not know say what
distance is usual: those of the development set, and those of the training, each speaker measured by the others. At most
one in twenty of them lies beyond the *limit* (the quantile of conformal prediction, which counts the recording in
question as one of them). Beyond it, a recording is out of domain.

The shorter a recording, the further its numbers lie from any mean. So parts of the same recordings, of a quarter of a
second, half a second and so on, have limits of their own, and between two lengths the limit is interpolated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.errors import DataError
from spoofspan.base.times import Float64
from spoofspan.cm.frame_times import HOP
from spoofspan.cm.listening import (
    BANDS,
    MODULATED,
    RATES,
    WIDE_BANDS,
    Heard,
    band_percentiles,
    mean_in_bands,
    wide_edges,
)
from spoofspan.cm.model_sources import CONFIG
from spoofspan.cm.scorers import Float32
from spoofspan.formats.sound import RATE

SHARES = (0.1, 0.5, 0.9)
LEVEL_EDGES = wide_edges(17)
LEVELS = LEVEL_EDGES.size * len(SHARES)
MODULATIONS = (len(RATES) - 1) * WIDE_BANDS
SIZE = LEVELS + MODULATIONS + len(SHARES)
PARTS = (0.25, 0.5, 1.0, 2.0, 4.0)  # seconds
FALSE_ALARMS = 0.05
FOLDS = 10  # of the training's speakers
UNUSUAL = 3.0  # standard deviations
SHRINKAGE = 0.3  # measured: 0.1 to 0.6 find the same recordings
LARGEST = 1e30  # of any number in a card
LEAST_SPREAD = 1e-3  # of the mean variance, so that a number which never changed does not decide alone


@dataclass(frozen=True)
class DomainVerdict:
    """Distance of a recording from the training's, and whether that is too far.

    Parameters
    ----------
    distance : float
        From the mean of the training recordings.
    limit : float
        What at most one in twenty recordings of the training's domain and of this length exceed; infinite if there were
        too few to say.
    reason : str
        What differs most.

    """

    distance: float
    limit: float
    reason: str

    @property
    def known(self) -> bool:
        """True if the recording is of the training's domain, as far as can be told."""
        return self.distance <= self.limit

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        limit = self.limit if math.isfinite(self.limit) else None
        return {"known": self.known, "distance": self.distance, "limit": limit, "reason": self.reason}


@dataclass(frozen=True, eq=False)
class DescribedRecordings:
    """Numbers that are compared of some recordings, and their speakers."""

    numbers: Float64  # (lengths, recordings, numbers): whole, then PARTS; NaN where a recording is no longer
    seconds: Float64
    speakers: tuple[str, ...] = ()  # empty if nobody said

    @classmethod
    def of(cls, heard: Sequence[Heard], scores: Sequence[Float32], speakers: Sequence[str] = ()) -> DescribedRecordings:
        """Describe recordings; parts are of the picture that was kept."""
        draw = np.random.default_rng(0)
        numbers = np.full((1 + len(PARTS), len(heard), SIZE), np.nan)
        for row, (one, own) in enumerate(zip(heard, scores, strict=True)):
            numbers[0, row] = recording_numbers(one, own)
            kept = min(len(one.spectrogram), own.size)
            for place, seconds in enumerate(PARTS, 1):
                frames = round(seconds * RATE / HOP)
                if frames < kept:
                    first = int(draw.integers(kept - frames))
                    numbers[place, row] = recording_numbers(one.part(first, frames), own[first : first + frames])
        return cls(numbers, np.array([one.seconds for one in heard]), tuple(speakers))


@dataclass(frozen=True, eq=False)
class TrainingDomain:
    """Sound of the recordings of a training, and what its model says of them."""

    mean: Float64
    precision: Float64  # the inverse of the covariance
    spread: Float64  # standard deviation of each number
    limits: tuple[tuple[float, float], ...]  # seconds, and the limit of recordings that long; empty if nobody can say
    recordings: int
    held_out: int  # by which the limits were set

    @classmethod
    def learn(cls, training: DescribedRecordings, held_out: DescribedRecordings | None) -> TrainingDomain:
        """Learn from recordings of the training, and set the limits by recordings of speakers that it does not know."""
        whole = training.numbers[0]
        found = cls._of(whole)
        distances, seconds = [], []
        if held_out is not None:
            distances, seconds = [found._distances(held_out.numbers)], [held_out.seconds]
        speakers, who = np.unique(np.array(training.speakers), return_inverse=True)
        if speakers.size > 1:
            for fold in range(min(FOLDS, speakers.size)):
                here = who % FOLDS == fold
                distances.append(cls._of(whole[~here])._distances(training.numbers[:, here]))
                seconds.append(training.seconds[here])
        both = np.concatenate(distances, axis=1)
        return replace(found, limits=_limits(both, np.concatenate(seconds)), held_out=both.shape[1])

    @classmethod
    def _of(cls, numbers: Float64) -> TrainingDomain:
        """Without limits."""
        mean: Float64 = numbers.mean(0)
        off: Float64 = numbers - mean
        covariance = (off.T @ off / max(len(numbers) - 1, 1)).astype(np.float64)
        variances = np.diag(covariance)
        least = max(LEAST_SPREAD * float(variances.mean()), 1e-9)
        shrunk = (1 - SHRINKAGE) * covariance + np.diag(SHRINKAGE * variances + least)
        return cls(mean, np.linalg.inv(shrunk), np.sqrt(variances + least), (), len(numbers), 0)

    def _distances(self, numbers: Float64) -> Float64:
        off = numbers - self.mean
        found: Float64 = ((off @ self.precision) * off).mean(axis=-1)
        return found

    def distance(self, numbers: Float64) -> float:
        """Distance of a recording from the mean."""
        return float(self._distances(numbers))

    def limit(self, seconds: float) -> float:
        """Limit that at most one in twenty recordings of this length exceed."""
        if not self.limits:
            return math.inf
        lengths, limits = np.array(self.limits).T
        return float(np.interp(math.log(max(seconds, 1e-3)), np.log(lengths), limits))

    def judge(self, numbers: Float64, seconds: float) -> DomainVerdict:
        """Say whether a recording is of this domain."""
        return DomainVerdict(self.distance(numbers), self.limit(seconds), self._most_different(numbers))

    def _most_different(self, numbers: Float64) -> str:
        off = (numbers - self.mean) / self.spread
        worst = int(np.abs(off).argmax())
        text = _difference(worst, float(numbers[worst] - self.mean[worst]))
        return (
            text if abs(off[worst]) >= UNUSUAL else f"nothing by itself, but all numbers together; most of all, {text}"
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain data; :meth:`from_dict` reads it."""
        return {
            "mean": self.mean.tolist(),
            "precision": self.precision.tolist(),
            "spread": self.spread.tolist(),
            "limits": [list(pair) for pair in self.limits],
            "recordings": self.recordings,
            "held_out": self.held_out,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], source: str) -> TrainingDomain:
        """Read what :meth:`to_dict` wrote."""
        again = (
            "delete the card and end the training again, with the same data (spoofspan cm train --config "
            f"{Path(source).parent / CONFIG} --resume ...): the network stays as it is"
        )
        try:
            mean, precision, spread = (np.array(plain[name], np.float64) for name in ("mean", "precision", "spread"))
            limits = tuple((float(seconds), float(limit)) for seconds, limit in plain["limits"])
            found = cls(mean, precision, spread, limits, int(plain["recordings"]), int(plain["held_out"]))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            why = repr(error)[:200]
            raise DataError(
                f"{source}: the statistics of the training's sound cannot be read ({why}); {again}"
            ) from None
        if mean.shape != (SIZE,) or spread.shape != (SIZE,) or precision.shape != (SIZE, SIZE):
            raise DataError(f"{source}: the statistics of the training's sound are of another version; {again}")
        if not all((np.abs(one) < LARGEST).all() for one in (mean, precision, spread, np.array(limits))):
            raise DataError(f"{source}: the statistics of the training's sound are no finite numbers; {again}")
        if not (spread > 0).all():
            raise DataError(f"{source}: the spread of the training's sound must be positive; {again}")
        if any(first <= 0 or first >= second for (first, _), (second, _) in pairwise([*limits, (math.inf, 0.0)])):
            raise DataError(f"{source}: the limits of the training's sound are not in the order of lengths; {again}")
        return found


def _limits(distances: Float64, seconds: Float64) -> tuple[tuple[float, float], ...]:
    """Limits that at most one in twenty exceed, by length: of parts, and of whole recordings at their median."""
    typical = float(np.median(seconds))
    found = []
    for length, own in zip((*PARTS, typical), (*distances[1:], distances[0]), strict=True):
        known = np.sort(own[np.isfinite(own)])
        rank = math.ceil((known.size + 1) * (1 - FALSE_ALARMS))
        if rank <= known.size and length <= typical:
            found.append((length, float(known[rank - 1])))
    return tuple(found)


def recording_numbers(heard: Heard, scores: Float32) -> Float64:
    """Numbers that are compared of a recording: levels of its bands, how fast they change, and its scores."""
    levels = mean_in_bands(band_percentiles(heard.counts, SHARES).T, LEVEL_EDGES).T
    levels -= levels[:, -1].mean()  # its loudness does not matter: the network does not see it either
    own = np.percentile(scores.astype(np.float64), [100 * share for share in SHARES])
    return np.concatenate((levels.ravel(), heard.modulation.numbers.ravel(), own))


def _difference(place: int, by: float) -> str:
    """Difference of a recording from the training, in one of its numbers."""
    if place >= LEVELS + MODULATIONS:
        return f"its scores are {'higher' if by > 0 else 'lower'} than those of the training's recordings"
    if place >= LEVELS:
        rate, band = divmod(place - LEVELS, WIDE_BANDS)
        low, high = RATES[rate : rate + 2]
        change = f"{abs(by):.0f} dB {'more' if by > 0 else 'less'} than in the training"
        return f"{_band(MODULATED, band)} gets louder and quieter at {low:g} to {high:g} Hz by {change}"
    band, share = divmod(place, len(SHARES))
    when = ("quietest", "middle", "loudest")[share]
    side = "louder" if by > 0 else "quieter"
    return f"{_band(LEVEL_EDGES, band)} is {abs(by):.0f} dB {side} than in the training, in its {when} moments"


def _band(edges: npt.NDArray[np.int64], band: int) -> str:
    low, high = (RATE / 2 * edge / BANDS / 1000 for edge in (edges[band], [*edges, BANDS][band + 1]))
    return f"{low:.1f} to {high:.1f} kHz"

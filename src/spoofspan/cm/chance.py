"""Suspected ranges that are expected by chance, and what a number of ranges says of a whole recording.

At the end of a training, ranges are counted in bona fide recordings of development speakers, at many thresholds and
with ratios of maps that did not learn from these speakers. With k ranges in T seconds, the number N of ranges in t
seconds of other bona fide speech is negative binomial (a Poisson number whose rate has Jeffreys' prior, a gamma
distribution)::

    p(n) = P(N = n) = C(n + k - 1/2, n) (T / (T + t))^(k + 1/2) (t / (T + t))^n        mean (k + 1/2) t / T

If one stretch is spoofed and found with probability h, there is one range more: the likelihood ratio of "something is
spoofed" to "nothing is" is ``h p(n - 1) / p(n) + 1 - h``. The probability h is the share of spoofed development
recordings in which a range meets a spoof.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from spoofspan.base.errors import DataError
from spoofspan.base.times import Float64, Int64
from spoofspan.data.references import BONA_FIDE, SPOOF, References
from spoofspan.data.scores import Scores
from spoofspan.measures.events.proposals_from_scores import ProposalOptions, proposals_from_scores
from spoofspan.uncertainty.student import quantile

SHORTEST, WIDEST_GAP = 0.1, 0.1  # seconds: what a person would call a range
CONFIDENCE = 0.95
DEFAULT = ProposalOptions(None, SHORTEST, WIDEST_GAP)
THRESHOLDS = tuple(np.linspace(-7.0, 7.0, 57).tolist())  # log-likelihood ratios


@dataclass(frozen=True)
class RecordingAnswer:
    """The answer of the number of suspected ranges for a recording as a whole.

    Parameters
    ----------
    ranges : int
        Number of suspected ranges.
    expected : float
        Number expected in as much bona fide speech.
    chance : float
        Probability of at least as many ranges if nothing is spoofed.
    ratio : float
        Likelihood ratio of "something is spoofed" to "nothing is": what the odds are multiplied by.

    """

    ranges: int
    expected: float
    chance: float
    ratio: float

    @property
    def probability(self) -> float:
        """Probability that something is spoofed, if that was as likely as not before the recording was heard."""
        return self.ratio / (1 + self.ratio)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "probability": self.probability}

    def __str__(self) -> str:
        share = f"{100 * self.chance:.0f}" if self.chance >= 0.01 else "under 1"
        as_many = f", and at least {self.ranges:,} in {share} % of such recordings" if self.ranges else ""
        return (
            f"{self.expected:.2f} ranges are expected by chance{as_many}; the odds that anything is spoofed are "
            f"multiplied by {self.ratio:.2g} (from even odds to a probability of {self.probability:.2f})"
        )


@dataclass(frozen=True)
class ChanceRanges:
    """Counts on development recordings: of each threshold, false ranges and spoofed recordings in which any is found.

    ``thresholds`` rise; between two of them the counts of the upper, more lenient one hold. (Where most time is called
    spoof, false ranges grow together, and their number falls.)
    """

    thresholds: tuple[float, ...]
    false: tuple[int, ...]
    found: tuple[int, ...]
    seconds: float  # of bona fide recordings
    recordings: int  # bona fide ones
    spoofed: int  # spoofed recordings
    speakers: int  # 0 if nobody said
    upper: tuple[float, ...] = ()  # a minute, of false ranges: ends of intervals over speakers, if there are several

    @classmethod
    def learn(cls, references: References, ratios: Scores, speakers: Sequence[str] = ()) -> ChanceRanges | None:
        """Count on a development set; None without bona fide recordings."""
        classes = np.array(list(references.classes().values()))
        bona_fide, spoofed = (references.take(classes == one) for one in (BONA_FIDE, SPOOF))
        if not len(bona_fide) or ratios.hop is None:
            return None
        heard, of_spoofed = (ratios.take(one.utterances) for one in (bona_fide, spoofed))
        seconds = np.diff(heard.offsets) * ratios.hop
        own = np.array(speakers)[classes == BONA_FIDE] if speakers else [""]
        who, by_speaker = np.unique(own, return_inverse=True)
        false, found, upper = [], [], []
        for threshold in THRESHOLDS:
            counts = np.diff(proposals_from_scores(heard, threshold, **vars(DEFAULT)).offsets)
            false.append(int(counts.sum()))
            found.append(_met(spoofed, of_spoofed, threshold) if len(spoofed) else 0)
            if who.size > 1:
                upper.append(_upper_rate(by_speaker, counts, seconds / 60))
        return cls(
            THRESHOLDS,
            tuple(false),
            tuple(found),
            float(heard.values.size * ratios.hop),
            len(bona_fide),
            len(spoofed),
            int(np.count_nonzero(who != "")),
            tuple(upper),
        )

    def __str__(self) -> str:
        speakers = f" of {self.speakers:,} speakers" if self.speakers else ""
        return f"counted in {self.seconds / 60:.1f} min, {self.recordings:,} recordings{speakers}"

    def _place(self, threshold: float) -> int | None:
        """Row of a threshold; the first one with a count for those below it, None beyond the last one."""
        place = int(np.searchsorted(self.thresholds, threshold - 1e-9))
        # the maps that were held out for counting end earlier than those of the card: beyond them nothing was counted
        counted = (row for row, both in enumerate(zip(self.false, self.found, strict=True)) if any(both))
        place = max(place, next(counted, len(self.thresholds)))
        return place if place < len(self.thresholds) else None

    def per_minute(self, threshold: float) -> float | None:
        """False ranges expected in a minute of bona fide speech; None beyond the last threshold."""
        place = self._place(threshold)
        return None if place is None else 60 * (self.false[place] + 0.5) / self.seconds

    def cautious_threshold(self, per_minute: float) -> float:
        """The most lenient threshold up to which at most so many false ranges a minute are expected.

        Of several speakers, the upper end of the interval over them must be as low: a mean over few of them says little
        of the next one.
        """
        first = self._place(self.thresholds[0])
        found = self.thresholds[first or 0]
        for place, threshold in enumerate(self.thresholds):
            most = max(self.per_minute(threshold) or 0.0, self.upper[place] if self.upper else 0.0)
            if most > per_minute or threshold > 0:
                break
            found = max(found, threshold)
        return found

    def answer(self, ranges: int, seconds: float, threshold: float) -> RecordingAnswer | None:
        """The answer of a number of ranges for a recording of a length."""
        place = self._place(threshold)
        if place is None or seconds <= 0:
            return None
        shape, share = self.false[place] + 0.5, seconds / (self.seconds + seconds)
        hit = (self.found[place] + 0.5) / (self.spoofed + 1)
        ratio = 1 - hit + (hit * ranges / ((shape + ranges - 1) * share) if ranges else 0.0)
        return RecordingAnswer(ranges, shape * seconds / self.seconds, _at_least(ranges, shape, share), ratio)

    def to_dict(self) -> dict[str, Any]:
        """As plain data; :meth:`from_dict` reads it."""
        return {name: list(one) if isinstance(one, tuple) else one for name, one in asdict(self).items()}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], source: str) -> ChanceRanges:
        """Read what :meth:`to_dict` wrote."""
        try:
            columns = [
                tuple(map(kind, plain[n])) for n, kind in (("thresholds", float), ("false", int), ("found", int))
            ]
            numbers = float(plain["seconds"]), *(int(plain[n]) for n in ("recordings", "spoofed", "speakers"))
            upper = tuple(map(float, plain.get("upper", ())))
            found = replace(cls(*columns, *numbers), upper=upper)  # type: ignore[arg-type]
            valid = len({len(one) for one in columns}) == 1 and 0 < len(columns[0]) < 10_000
            valid = valid and len(upper) in (0, len(columns[0])) and all(0 <= one < 1e9 for one in upper)
            valid = valid and all(0 <= one < 1e9 for column in columns[1:] for one in column)
            valid = valid and all(0 <= one < 1e12 for one in numbers) and found.seconds > 0
            valid = valid and max(found.found) <= found.spoofed and bool((np.diff(columns[0]) > 0).all())
            valid = valid and all(map(math.isfinite, columns[0]))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DataError(f"{source}: the counts of false ranges cannot be read ({error!a}); train again") from None
        if not valid:
            raise DataError(f"{source}: the counts of false ranges are no counts at rising thresholds; train again")
        return found


def _upper_rate(speaker: Int64, ranges: Int64, length: Float64) -> float:
    """Upper end of the jackknife interval over speakers of ranges a minute, from the ranges of each recording."""
    counts, minutes = (np.bincount(speaker, one).astype(np.float64) for one in (ranges, length))
    rest = (counts.sum() - counts) / (minutes.sum() - minutes)
    error = math.sqrt((rest.size - 1) / rest.size * float(np.square(rest - rest.mean()).sum()))
    return float(counts.sum() / minutes.sum()) + quantile(CONFIDENCE, rest.size - 1) * error


def _met(references: References, ratios: Scores, threshold: float) -> int:
    """Number of recordings, in the same order on both sides, in which a range meets a spoof."""
    found = proposals_from_scores(ratios, threshold, **vars(DEFAULT))
    count = 0
    for row in range(len(references)):
        there, ranges = (slice(*offsets[row : row + 2]) for offsets in (references.offsets, found.offsets))
        spoof = references.labels[there] != BONA_FIDE
        starts, ends = references.starts[there][spoof], references.ends[there][spoof]
        met = (found.starts[ranges][:, None] < ends) & (found.ends[ranges][:, None] > starts)
        count += bool(met.any())
    return count


def _at_least(count: int, shape: float, share: float) -> float:
    """Tail of the negative binomial: P(N >= count)."""
    term, below = (1 - share) ** shape, 0.0
    for number in range(count):
        below += term
        term *= (shape + number) / (number + 1) * share
    return min(max(1 - below, 0.0), 1.0)

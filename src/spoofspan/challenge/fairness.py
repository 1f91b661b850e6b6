"""Signs that a ranking is not fair: copies under several names, scores made of ids, the luck of many tries.

Each result keeps a *sample* of the scores, at places that follow from the public part, so that submissions are compared
without reading them again. Nothing here decides anything: what is found is for the organisers, and some of it depends
on the labels.

==================  ================================================================================================
equal files         the same SHA-256 from several teams
near-duplicates     rank correlation of two samples of at least :data:`NEAR`, in either direction
scores of ids       the mean scores of utterances follow the order of ids, or the letters that ids begin with
constant scores     one value has at least :data:`CONSTANT` of the sample
polarity            an error rate over 50 %
many submissions    how much too good the best of k equally good submissions looks, in standard errors and in points
improvements        which submissions are significantly better than the best before, over all that the team may make
==================  ================================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import erf, isnan, sqrt
from pathlib import Path
from statistics import NormalDist

import numpy as np

from spoofspan.base.times import Float64
from spoofspan.challenge.definition import PublicPart
from spoofspan.challenge.hidden_part import LETTERS
from spoofspan.challenge.judging import judge_of, results_folder
from spoofspan.challenge.published_numbers import difference_text
from spoofspan.challenge.season import SCORED, Ledger, Season
from spoofspan.challenge.team_results import Judge, TeamResult, kept_sample, sampled_places
from spoofspan.measures.kind import EerKind
from spoofspan.measures.measure import Measure, in_percent
from spoofspan.uncertainty.improvements import improvements
from spoofspan.uncertainty.sentences import p_phrase

NEAR, CONSTANT, FOLLOWS_IDS = 0.99, 0.9, 0.9
FEWEST_UTTERANCES = 10  # whose ids are looked at


@dataclass(frozen=True)
class Finding:
    """Something to look at."""

    check: str
    teams: tuple[str, ...]
    text: str

    def to_dict(self) -> dict[str, object]:
        """Everything as plain data."""
        return {"check": self.check, "teams": list(self.teams), "text": self.text}


def rank_correlation(one: Float64, two: Float64) -> float:
    """Spearman's rank correlation; 0 if one of them is constant.

    >>> rank_correlation(np.array([1.0, 2.0, 9.0]), np.array([3.0, 4.0, 5.0]))
    1.0
    """
    first, second = (_ranks(values) for values in (one, two))
    spread = first.std() * second.std()
    return float(np.clip(((first - first.mean()) * (second - second.mean())).mean() / spread, -1, 1)) if spread else 0.0


def _ranks(values: Float64) -> Float64:
    """Ranks, ties in the middle."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    middle: Float64 = (np.cumsum(count) - (count - 1) / 2)[place]
    return middle


@cache
def luck(tries: int) -> float:
    """Mean lead of the best of k equally good values, in standard errors: the mean largest of k normals.

    >>> [round(luck(k), 2) for k in (1, 2, 10)]
    [0.0, 0.56, 1.54]
    """
    grid = np.linspace(-9, 9, 20_001)
    below = np.array([0.5 * (1 + erf(x / sqrt(2))) for x in grid]) ** tries
    return float(abs(np.sum((grid[1:] + grid[:-1]) / 2 * np.diff(below)))) if tries > 1 else 0.0


def audit(challenge: Path, *, phase: str | None = None) -> list[Finding]:
    """Look for what should not be in a ranking.

    Parameters
    ----------
    challenge
        The folder that ``spoofspan challenge build`` made.
    phase
        Its name; the last one without.

    """
    judge = judge_of(challenge, phase)
    season = Season.of(judge.definition, Ledger(challenge).entries())
    results: dict[str, TeamResult] = {}
    samples: dict[str, Float64] = {}
    for team, submissions in sorted(season.submissions.get(judge.phase, {}).items()):
        valid = [one for one in submissions if one.is_valid and one.is_current(judge.challenge_key)]
        folder = results_folder(challenge, judge.phase, team)
        result = TeamResult.read(folder, valid[-1].key) if valid else None
        if result is not None:
            results[team], samples[team] = result, kept_sample(folder, valid[-1].key)
    return [
        *_equal_files(season, judge.phase),
        *_near_duplicates(samples),
        *_of_ids(judge.public, samples),
        *_constant(samples),
        *_polarity(results),
        *_many(season, judge, results),
        *_improvements(challenge, season, judge),
    ]


def _equal_files(season: Season, phase: str) -> Iterator[Finding]:
    teams: dict[str, dict[str, int]] = {}
    for team, submissions in season.submissions.get(phase, {}).items():
        for one in submissions:
            if one.sha256:
                teams.setdefault(one.sha256, {}).setdefault(team, one.number)
    for sha256, found in teams.items():
        if len(found) > 1:
            numbers = ", ".join(f"{number} of {team}" for team, number in sorted(found.items()))
            yield Finding("equal files", tuple(sorted(found)), f"submissions {numbers}: SHA-256 {sha256[:12]}")


def _near_duplicates(samples: dict[str, Float64]) -> Iterator[Finding]:
    for one, two in combinations(samples, 2):
        found = rank_correlation(samples[one], samples[two])
        if abs(found) >= NEAR:
            yield Finding("near-duplicates", (one, two), f"rank correlation of their scores {found:.4f}")


def _of_ids(public: PublicPart, samples: dict[str, Float64]) -> Iterator[Finding]:
    utterance, _ = sampled_places(public)
    present, where, count = np.unique(utterance, return_inverse=True, return_counts=True)
    if present.size < FEWEST_UTTERANCES:
        return
    beginnings = [LETTERS.match(public.utterances[place])[0] for place in present.tolist()]  # type: ignore[index]
    numbers = [int(re.sub(r"\D", "", public.utterances[place])[:15] or 0) for place in present.tolist()]
    _, prefix = np.unique(beginnings, return_inverse=True)
    for team, sample in samples.items():
        shown = np.where(np.isfinite(sample), sample, np.sign(sample) * 1e9)
        mean = np.bincount(where, shown) / count
        order = max((rank_correlation(mean, np.array(by, np.float64)) for by in (present, numbers)), key=abs)
        if abs(order) >= FOLLOWS_IDS:
            yield Finding("scores of ids", (team,), f"rank correlation of scores with the order of ids {order:.3f}")
        elif 1 < prefix.max() + 1 <= present.size / 2 and mean.std():
            within = mean - (np.bincount(prefix, mean) / np.bincount(prefix))[prefix]
            if (explained := 1 - float(within.var() / mean.var())) >= FOLLOWS_IDS:
                yield Finding("scores of ids", (team,), f"the letters of ids explain {explained:.1%} of the scores")


def _constant(samples: dict[str, Float64]) -> Iterator[Finding]:
    for team, sample in samples.items():
        values, counts = np.unique(sample, return_counts=True)
        if counts.size and (share := counts.max() / sample.size) >= CONSTANT:
            value = abs(values[counts.argmax()])
            yield Finding("constant scores", (team,), f"{share:.0%} of the scores are {value:g}")


def _polarity(results: dict[str, TeamResult]) -> Iterator[Finding]:
    for team, result in results.items():
        for one in result.measured:
            if isinstance(Measure.parse(one["measure"]).kind, EerKind) and one["value"] > 0.5:
                yield Finding("polarity", (team,), f"{one['measure']} is over 50 %: are high scores what it says?")


def _many(season: Season, judge: Judge, results: dict[str, TeamResult]) -> Iterator[Finding]:
    """The luck of several tries; a standard error is a half of the middle 68 % of the interval."""
    name = str(judge.definition.parsed[0])
    for team, result in results.items():
        tries = sum(one.counted for one in season.of_team(judge.phase, team))
        interval = result.measured[0]["interval"]
        if tries > 1 and interval["low"] is not None and interval["high"] is not None:
            error = (interval["high"] - interval["low"]) / 2 / _normal_quantile(judge.definition.confidence)
            too_good = difference_text(name, luck(tries) * error)
            text = f"the best of {tries} equally good ones looks {luck(tries):.2f} standard errors too good"
            yield Finding("many submissions", (team,), f"{text}, {too_good} points of {name}")


def _improvements(challenge: Path, season: Season, judge: Judge) -> Iterator[Finding]:
    """Each submission that has the best value of its team so far, against the best before it."""
    measure = judge.definition.parsed[0]
    for team in sorted(season.submissions.get(judge.phase, {})):
        values, left_out = {}, []
        folder = results_folder(challenge, judge.phase, team)
        numbers = {one.key: one.number for one in season.of_team(judge.phase, team)[::-1] if one.outcome == SCORED}
        for key, number in sorted(numbers.items(), key=lambda one: one[1]):
            result = TeamResult.read(folder, key) if key.startswith(f"{judge.challenge_key}-") else None
            place = None if result is None else result.place(str(measure))
            if result is not None and place is not None:
                values[str(number)] = float(result.measured[place]["value"])
                left_out.append(result.left_out[place])
        steps = max(judge.definition.max_submissions, len(values)) - 1
        for one in improvements(measure, values, left_out, judge.how, steps):
            is_better = one.difference < 0 if measure.kind.ranked_by() == "lower" else one.difference > 0
            if not is_better or isnan(one.p_value):
                continue
            apart = difference_text(str(measure), one.difference) + " points" * in_percent(str(measure))
            judged = "a significant improvement" if one.better == one.new else "not a significant improvement"
            text = f"submission {one.new} against {one.before}, the best before: {apart} of {measure}, {judged}"
            yield Finding("improvements", (team,), f"{text} ({p_phrase(one.p_value)} over {steps + 1} submissions)")


def _normal_quantile(confidence: float) -> float:
    """Half the width of a normal interval in standard errors."""
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def caution(tries: Sequence[int]) -> str | None:
    """A sentence on the luck of the team with most tries, which depends on no label; None without several."""
    most = max(tries, default=0)
    if most < 2:
        return None
    return f"the best of {most} equally good submissions looks {luck(most):.1f} standard errors too good"

"""The definition of our EERs: plain Python, exact fractions, default rules.

This module is the specification to cite, not the implementation to use. It follows ``docs/rules.md`` one utterance at a
time and shares no code with the rest of the package. :func:`spoofspan.range_eer`, :func:`spoofspan.point_eer` and
:func:`spoofspan.utterance_eer` return the same numbers thousands of times faster; the tests compare them.

Labels are ``{utterance: [(start, end, "bonafide" or "spoof"), ...]}`` in seconds, sorted, from 0 to the end of the
utterance without gaps. Scores are ``{utterance: [score, ...]}``, one for each hop; high scores mean bona fide.

>>> labels = {"u1": [(0.0, 0.08, "bonafide"), (0.08, 0.16, "spoof")]}
>>> scores = {"u1": [0.9, 0.8, 0.7, 0.1, 0.2, -0.1, -0.2, -0.3]}
>>> range_eer(labels, scores, hop=0.02)
EER(value=Fraction(1, 4), threshold=0.2, false_positive_rate=Fraction(1, 4), false_negative_rate=Fraction(1, 4))
>>> point_eer(labels, scores, hop=0.02, resolution=0.08).value
Fraction(0, 1)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

Labels = Mapping[str, Sequence[tuple[float, float, str]]]
Scores = Mapping[str, Sequence[float]]
Amount = tuple[float, str, int]  # a score, the class under it, and nanoseconds or points


class EER(NamedTuple):
    """The equal error rate, its threshold and both error rates there."""

    value: Fraction
    threshold: float
    false_positive_rate: Fraction
    false_negative_rate: Fraction


def range_eer(labels: Labels, scores: Scores, hop: float) -> EER:
    """Eqs. 5 to 7: all time counts, under the score that covers it."""
    amounts: list[Amount] = []
    for utterance, ranges in labels.items():
        frames = frames_of(scores[utterance], hop, round(ranges[-1][1] * 1e9))
        for start, end, label in labels_of(ranges):
            amounts += [(score, label, min(end, last) - max(start, first)) for first, last, score in frames]
    return equal_error_rate(amounts)


def point_eer(labels: Labels, scores: Scores, hop: float, resolution: float | None) -> EER:
    """Eqs. 1 and 2: a point is spoof if any part of it is, and has the lowest score that it overlaps.

    Without a resolution, each utterance is one point.
    """
    amounts: list[Amount] = []
    for utterance, ranges in labels.items():
        extent = round(ranges[-1][1] * 1e9)
        frames, k, end = frames_of(scores[utterance], hop, extent), 0, 0
        while end < extent:
            k, start = k + 1, end
            end = extent if resolution is None else min(round(k * resolution * 1e9), extent)
            inside = {label for first, last, label in labels_of(ranges) if first < end and last > start}
            score = min(score for first, last, score in frames if first < end and last > start)
            amounts.append((score, "spoof" if "spoof" in inside else "bonafide", 1))
    return equal_error_rate(amounts)


def utterance_eer(labels: Labels, scores: Scores, hop: float) -> EER:
    """The point-based EER with one point for each utterance."""
    return point_eer(labels, scores, hop, resolution=None)


def equal_error_rate(amounts: Iterable[Amount]) -> EER:
    """Eqs. 3 and 4: the mean of FPR and FNR at the lowest threshold of least |FPR - FNR|.

    A score is called spoof iff it is below the threshold. Candidates are all scores, then "everything is spoof".
    """
    counted = [one for one in amounts if one[2] > 0]
    if {label for _, label, _ in counted} != {"bonafide", "spoof"}:
        raise ValueError("an EER needs bona fide and spoofed speech")
    candidates = []
    for tau in [*sorted({score for score, _, _ in counted}), None]:
        rates = []
        for label, wrong in (("bonafide", True), ("spoof", False)):
            own = [(score, amount) for score, one, amount in counted if one == label]
            errors = sum(amount for score, amount in own if (tau is None or score < tau) is wrong)
            rates.append(Fraction(errors, sum(amount for _, amount in own)))
        candidates.append(EER((rates[0] + rates[1]) / 2, math.inf if tau is None else tau, *rates))
    return min(candidates, key=lambda one: abs(one.false_positive_rate - one.false_negative_rate))


def labels_of(ranges: Sequence[tuple[float, float, str]]) -> list[tuple[int, int, str]]:
    """Convert to nanoseconds, and check that the ranges leave no gaps."""
    edges = [(round(start * 1e9), round(end * 1e9), label) for start, end, label in ranges]
    if edges[0][0] != 0 or any(before[1] != after[0] for before, after in pairwise(edges)):
        raise ValueError("labels must cover an utterance from 0 to its end, without gaps or overlaps")
    return edges


def frames_of(scores: Sequence[float], hop: float, extent: int) -> list[tuple[int, int, float]]:
    """Rules 8 to 13: frames in nanoseconds, cut at the extent; the last score is held for one hop + 25 ms at most."""
    frames = [(round(k * hop * 1e9), round((k + 1) * hop * 1e9), float(score)) for k, score in enumerate(scores)]
    inside = [frame for frame in frames if frame[0] < extent]
    if len(frames) - len(inside) > 2 or not inside or extent - inside[-1][1] > round(hop * 1e9) + 25_000_000:
        raise ValueError(f"scores last {len(frames) * hop:.3f} s, the utterance {extent / 1e9:.3f} s")
    return [*inside[:-1], (inside[-1][0], extent, inside[-1][2])]
